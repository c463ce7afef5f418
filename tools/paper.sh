#!/bin/sh
# The claims at the papers' own sizes, a part at a time: days on two cores. `tools/paper.sh CLAIM..` runs those (none: only the
# pages are made anew) and keeps their results in docs/reproduce/paper/claims, where another machine and a later build go on: with claims that are finished, and
# with the histories of long fits (CLAIM.json.parts/*.json) of those that are not.
set -eu
cd "$(dirname "$0")/.."
export PATH="$PWD/build/release:$PATH"
out=build/paper docs=docs/reproduce/paper
run() { # a claim that failed is a finding
  eigenpair reproduce "$@" --paper --out "$out" --kept "$docs/claims" --progress || [ $? -eq 1 ]
}
mkdir -p "$docs/claims"
[ $# -eq 0 ] || run "$@"
kept=$(cd "$docs/claims" && ls -d -- *.json | sed 's/\.json$//')
# shellcheck disable=SC2086 # one word a claim
run $kept
cp "$out/report.md" "$docs/README.md"
sed -i 's|: \([a-z]*\)/report\.html$|: [\1](\1/README.md)|' "$docs/README.md"
for paper in wide linear tangent optima; do
  case " $(echo $kept) " in *" $paper-"*) ;; *) continue ;; esac
  rm -rf "${docs:?}/$paper"
  mkdir -p "$docs/$paper/figures"
  cp "$out/$paper/report.md" "$docs/$paper/README.md"
  cp "$out/$paper"/figures/*.svg "$docs/$paper/figures/"
done
{
  printf '\n## Not run yet at this size\n\n'
  eigenpair reproduce --list --json | python3 -c '
import json, sys
left = [c["id"] for c in json.load(sys.stdin) if c["id"] not in sys.argv[1:]]
print(", ".join(left) + "." if left else "Nothing: all claims were.")' $kept
} >> "$docs/README.md"
