#!/bin/sh
# docs/findings.md and docs/reproduce: the default run of `eigenpair reproduce` (Fashion-MNIST and MNIST are fetched first),
# as text with drawings and numbers. About 20 minutes on two cores.
set -eu
cd "$(dirname "$0")/.."
export PATH="$PWD/build/release:$PATH"
out=build/reproduce
rm -rf "$out" # results of an older program
eigenpair data fetch mnist
eigenpair data fetch fashion
eigenpair reproduce --out "$out" --progress || [ $? -eq 1 ] # a claim that failed is a finding
[ -f "$out/findings.md" ]
rm -rf docs/reproduce
mkdir -p docs/reproduce
cp "$out/findings.md" docs/findings.md
for paper in . wide linear tangent optima; do
  mkdir -p "docs/reproduce/$paper"
  cp "$out/$paper/report.md" "docs/reproduce/$paper/README.md"
  [ "$paper" = . ] && continue
  cp "$out/$paper/result.json" "docs/reproduce/$paper/"
  mkdir -p "docs/reproduce/$paper/figures"
  cp "$out/$paper"/figures/*.svg "docs/reproduce/$paper/figures/"
done
for paper in wide tangent optima; do # those with a table of statements
  eigenpair reproduce "$paper" --list --all --json | python3 tools/papers.py > "docs/papers/$paper.md"
done
sed -i 's|: \([a-z]*\)/report\.html$|: [\1](\1/README.md)|' docs/reproduce/README.md
