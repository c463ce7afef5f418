#!/bin/sh
# Every header of the house, private and public, in one file, forwards and backwards: no two of them claim a name.
# check_headers.sh COMPILER FOLDER_OF_HEADERS...
set -eu
compiler=$1
shift
cd "$(dirname "$0")/.."
folders=$(printf -- '-isystem %s ' "$@")
all=$(ls src/[!p]*/*.h src/pr[!i]*/*.h src/private/eigenpair/*.h include/eigenpair/*.h | sed 's,^src/private/\|^src/\|^include/,,' | sort -u)
bad=0
for order in sort 'sort -r'; do
  printf '%s\n' "$all" | $order | sed 's/.*/#include "&"/' |
    "$compiler" -std=c11 -fsyntax-only -fopenmp -D_GNU_SOURCE -DEP_LEVEL=plain -Isrc/private -Iinclude -Isrc $folders -x c - || bad=1
done
[ $bad = 0 ] && echo "headers: $(printf '%s\n' "$all" | wc -l), all of them together"
exit $bad
