#!/bin/sh
# Every symbol that the shared library exports is ep_, declared in an installed header and on the list tools/symbols.txt, and
# nothing of the list is missing: check_symbols.sh libeigenpair.so [--write: the list anew]
set -eu
library=$1 list=tools/symbols.txt
case $library in /*) ;; *) library=$PWD/$library ;; esac
cd "$(dirname "$0")/.."
export LC_ALL=C
exported=$(nm -D --defined-only "$library" | awk '$2 ~ /[TDRBVW]/ {print $3}' | sort)
[ "${2:-}" != --write ] || printf '%s\n' "$exported" >$list
bad=0 count=0
declared=$(cat include/eigenpair/*.h | tr -c 'a-z0-9_' '\n' | sort -u)
for s in $exported; do
  case $s in ep_*) count=$((count + 1)) ;; *) echo "$s is exported: not an ep_ symbol"; bad=1; continue ;; esac
  printf '%s\n' "$declared" | grep -qx "$s" || { echo "$s is exported, but no header of include/eigenpair declares it"; bad=1; }
done
remedy="if that is meant: tools/check_symbols.sh LIBRARY --write, and a line in CHANGELOG.md"
for s in $(printf '%s\n' "$exported" | comm -13 - $list); do
  echo "$s is on $list, but no longer exported: programs that call it break; $remedy"; bad=1
done
for s in $(printf '%s\n' "$exported" | comm -23 - $list); do
  echo "$s is exported, but not on $list; $remedy"; bad=1
done
[ $count -lt 150 ] || { echo "$count symbols are exported: 150 are too many; what users do not call belongs into src/private"; bad=1; }
[ $bad = 0 ] && echo "symbols: $count exported, all declared and on the list"
exit $bad
