#!/bin/sh
# docs/findings.md and docs/reproduce: the default run of `eigenpair reproduce` (Fashion-MNIST and MNIST are fetched first),
# as text with drawings and numbers. About 20 minutes on two cores. `tools/docs.sh PAPER.. [--quick]`: these alone, the rest stays.
set -eu
cd "$(dirname "$0")/.."
export PATH="$PWD/build/release:$PATH"
out=build/reproduce
rm -rf "$out" # results of an older program
papers=
for word; do case "$word" in --*) ;; *) papers="$papers $word" ;; esac; done
case " ${papers:-wide} " in *" wide "*)
  eigenpair data fetch mnist
  eigenpair data fetch fashion ;;
esac
eigenpair reproduce "$@" --out "$out" --progress || [ $? -eq 1 ] # a claim that failed is a finding
[ -f "$out/findings.md" ]
if [ -n "$papers" ]; then
  python3 tools/findings.py docs/findings.md "$out/findings.md" > "$out/merged.md"
else
  cp "$out/findings.md" "$out/merged.md"
  rm -rf docs/reproduce
  mkdir -p docs/reproduce
  cp "$out/report.md" docs/reproduce/README.md
  sed -i 's|: \([a-z]*\)/report\.html$|: [\1](\1/README.md)|' docs/reproduce/README.md
fi
cp "$out/merged.md" docs/findings.md
for paper in ${papers:-wide linear tangent optima}; do
  rm -rf "docs/reproduce/$paper"
  mkdir -p "docs/reproduce/$paper/figures"
  cp "$out/$paper/report.md" "docs/reproduce/$paper/README.md"
  cp "$out/$paper/result.json" "docs/reproduce/$paper/"
  cp "$out/$paper"/figures/*.svg "docs/reproduce/$paper/figures/"
done
for paper in wide linear tangent optima; do # docs/papers/README.md has no table of statements
  eigenpair reproduce "$paper" --list --all --json | python3 tools/papers.py > "docs/papers/$paper.md"
done
