#!/bin/sh
# Runs every fuzz target for SECONDS_EACH (60) on top of its corpus, and those of FILES, the formats that come from strangers and
# take microseconds, for SECONDS_FILES (the same), JOBS (2) at a time, with the same SEED (1) unless told otherwise (0: another
# one each time); fails if one finds something. What is found, and the last lines of each run, go to build/fuzz/corpus.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/fuzz/corpus
FILES="npy npz idx csv cifar picture"

one() {
  name=$(basename "$1" | sed 's/fuzz_//')
  found=build/fuzz/corpus/$name
  mkdir -p "$found"
  seconds=${SECONDS_EACH:-60}
  case " $FILES " in *" $name "*) seconds=${SECONDS_FILES:-$seconds} ;; esac
  if ! "$1" -seed="${SEED:-1}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
    -artifact_prefix="$found-" "$found" "tests/fuzz/corpus/$name" >"$found.log" 2>&1; then
    tail -n 40 "$found.log"
    echo "fuzz $name: found something, see build/fuzz/corpus"
    exit 1
  fi
  echo "fuzz $name: $(sed -n 's/.*number_of_executed_units: *//p' "$found.log") runs, nothing found"
}

if [ $# = 1 ]; then one "$1"; exit; fi
for target in build/fuzz/tests/fuzz/fuzz_*; do
  if [ -f "$target" ] && [ -x "$target" ]; then echo "$target"; fi
done | OMP_NUM_THREADS=1 xargs -n 1 -P "${JOBS:-2}" "$0"
echo "fuzz: $(cat build/fuzz/corpus/*.log | sed -n 's/.*number_of_executed_units: *//p' | awk "{n += \$1} END {print n}") runs in all"
