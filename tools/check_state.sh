#!/bin/sh
# Library and lab keep nothing between two calls: no variable outlives one, but for those below: check_state.sh libep_inside.a libep_all.a
set -eu
export LC_ALL=C
# crew.c: what is to be done when a thread that has helpers ends; the helpers themselves are their thread's
# factor.c: larger factorisations wait for one another, since OpenBLAS has one thread count for all (docs/architecture.md)
# machine.c: what processor and build these are, found out once; the level of the hot loops, chosen when the library starts
# mem.c: the account of work outside of any run; allocations that tests let fail
known="crew.c:at_exit crew.c:prepared factor.c:one_at_a_time machine.c:best machine.c:build machine.c:ep_level machine.c:known machine.c:processor
machine.c:refused mem.c:ep_alloc_fail_after mem.c:no_run"
found=$(objdump -t "$@" | awk '/file format/ {file = $1; sub(/\.o:$/, "", file)}
  $0 ~ /\.(bss|data)/ && $0 ~ / O / && $0 !~ /\.data\.rel\.ro/ {print file ":" $NF}' | sort -u)
bad=0 count=0
for s in $found; do
  count=$((count + 1))
  case " $(echo $known) " in *" $s "*) ;; *) echo "$s outlives a call: put it into a struct of the caller's, or say here why it may"; bad=1 ;; esac
done
[ $count -gt 0 ] || { echo "$*: nothing was found, which cannot be"; bad=1; }
[ $bad = 0 ] && echo "state: $count variables of the process, all known"
exit $bad
