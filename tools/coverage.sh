#!/bin/sh
# Lines executed, a file a line, from gcov's notes in build/coverage.
set -eu
cd "$(dirname "$0")/../build/coverage"
find . -name '*.gcda' | xargs gcov -n 2>/dev/null |
  awk "/^File '.*src\\//{f=\$2} /^Lines executed/&&f{split(\$0,a,\":\");split(a[2],b,\"% of \");n[f]=b[2];if(b[1]*b[2]>c[f])c[f]=b[1]*b[2];f=\"\"}
  END{for(f in n){t+=n[f];s+=c[f];printf \"%6.1f %% %5d %s\\n\",c[f]/n[f],n[f],f};printf \"%6.1f %% of %d lines\\n\",s/t,t}" | sort -n
