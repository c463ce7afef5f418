#!/bin/sh
# The closing line of a test run: all cases of all programs, from ctest's log in the build folder given.
set -eu
awk '/^\[  PASSED  \] [0-9]+ test/ {passed += $4}
     /^\[  FAILED  \] [0-9]+ test/ {failed += $4}
     /^[0-9]+ (passed|failed).* in [0-9.]+s/ {
       for (i = 1; i < NF; i++) {
         if ($(i + 1) ~ /^passed/) passed += $i
         if ($(i + 1) ~ /^failed/) failed += $i
         if ($(i + 1) ~ /^skipped/) skipped += $i
       }
     }
     /^# pass [0-9]+/ {passed += $3}
     /^# fail [0-9]+/ {failed += $3}
     /^# skipped [0-9]+/ {skipped += $3}
     END {printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped}' "$1/Testing/Temporary/LastTest.log"
