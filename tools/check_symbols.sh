#!/bin/sh
# Every symbol that the shared library exports is ep_ and declared in an installed header: check_symbols.sh libeigenpair.so
set -eu
library=$1
cd "$(dirname "$0")/.."
bad=0 count=0
declared=$(cat include/eigenpair/*.h | tr -c 'a-z0-9_' '\n' | sort -u)
for s in $(nm -D --defined-only "$library" | awk '$2 ~ /[TDRBVW]/ {print $3}'); do
  case $s in ep_*) count=$((count + 1)) ;; *) echo "$s is exported: not an ep_ symbol"; bad=1; continue ;; esac
  printf '%s\n' "$declared" | grep -qx "$s" || { echo "$s is exported, but no header of include/eigenpair declares it"; bad=1; }
done
[ $count -lt 150 ] || { echo "$count symbols are exported: 150 are too many; what users do not call belongs into src/private"; bad=1; }
[ $bad = 0 ] && echo "symbols: $count exported, all declared"
exit $bad
