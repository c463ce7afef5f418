#!/bin/sh
# Runs every fuzz target for SECONDS (60) on top of its corpus.
set -eu
cd "$(dirname "$0")/.."
for target in build/fuzz/tests/fuzz/fuzz_*; do
  [ -x "$target" ] && [ ! -d "$target" ] || continue
  name=$(basename "$target" | sed 's/fuzz_//')
  mkdir -p "build/fuzz/corpus/$name"
  echo "fuzz $name"
  "$target" -max_total_time="${SECONDS_EACH:-60}" -verbosity=0 -print_final_stats=1 \
    "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" 2>&1 | grep -E 'number_of_executed|ERROR|SUMMARY' || true
done
