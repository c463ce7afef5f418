#!/bin/sh
# Runs every fuzz target for SECONDS_EACH (60) on top of its corpus, JOBS (2) at a time, with the same SEED (1) unless told
# otherwise (0: another one each time); those of FILES, the formats that come from strangers and take microseconds, for
# SECONDS_FILES (the same), half of it on inputs of at most 256 bytes, which are many times as fast. Fails if one finds
# something. What is found, and the last lines of each run, go to build/fuzz/corpus. ADD=1: counts are added to those that are
# there. fuzz.sh TARGET: one alone, such as build/fuzz/tests/fuzz/fuzz_npz.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/fuzz/corpus
FILES="npy npz idx csv cifar picture"

runs() { awk '/number_of_executed_units/ {n += $NF} END {printf "%d\n", n}' "$@"; }

# run TARGET SECONDS OPTIONS..
run() {
  target=$1 seconds=$2
  shift 2
  if ! "$target" -seed="${SEED:-1}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
    -artifact_prefix="$found-" "$@" "$found" "tests/fuzz/corpus/$name" >>"$found.log" 2>&1; then
    tail -n 40 "$found.log"
    echo "fuzz $name: found something, see build/fuzz/corpus"
    exit 1
  fi
}

one() {
  name=$(basename "$1" | sed 's/fuzz_//')
  found=build/fuzz/corpus/$name
  seconds=${SECONDS_EACH:-60}
  mkdir -p "$found"
  if [ -z "${ADD:-}" ]; then : >"$found.log"; fi
  echo "revision: $(git describe --always --dirty=+ --exclude='*' 2>/dev/null || echo unknown)" >>"$found.log"
  case " $FILES " in *" $name "*)
    seconds=$(((${SECONDS_FILES:-$seconds} + 1) / 2)) # 0 would be for ever
    run "$1" "$seconds" -max_len=256 ;;
  esac
  run "$1" "$seconds"
  echo "fuzz $name: $(runs "$found.log") runs, nothing found"
}

if [ $# = 1 ]; then one "$1"; exit; fi
for target in build/fuzz/tests/fuzz/fuzz_*; do
  if [ -f "$target" ] && [ -x "$target" ]; then echo "$target"; fi
done | OMP_NUM_THREADS=1 xargs -n 1 -P "${JOBS:-2}" "$0"
echo "fuzz: $(runs build/fuzz/corpus/*.log) runs in all"
