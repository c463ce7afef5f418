#!/bin/sh
# Runs every fuzz target for SECONDS_EACH (60) on top of its corpus; fails with the first one that finds something.
set -eu
cd "$(dirname "$0")/.."
for target in build/fuzz/tests/fuzz/fuzz_*; do
  [ -f "$target" ] && [ -x "$target" ] || continue
  name=$(basename "$target" | sed 's/fuzz_//')
  found=build/fuzz/corpus/$name
  mkdir -p "$found"
  if ! "$target" -max_total_time="${SECONDS_EACH:-60}" -verbosity=0 -print_final_stats=1 -artifact_prefix="$found-" \
    "$found" "tests/fuzz/corpus/$name" >"$found.log" 2>&1; then
    tail -n 40 "$found.log"
    echo "fuzz $name: found something, see build/fuzz/corpus"
    exit 1
  fi
  echo "fuzz $name: $(sed -n 's/.*number_of_executed_units: *//p' "$found.log") runs, nothing found"
done
