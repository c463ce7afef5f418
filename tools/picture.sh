#!/bin/sh
# docs/training.svg: loss against epoch on 1,000 digits for three widths, from the program's histories.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/picture
for width in 100 1000 10000; do
  build/release/eigenpair fit --data digits --samples 1000 --width $width --epochs 200 \
    --history build/picture/$width.csv --out build/picture/$width.npz >/dev/null
done
/usr/bin/python3 tools/picture.py build/picture >docs/training.svg
