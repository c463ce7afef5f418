#!/bin/sh
# docs/drift.svg: how far the tangent kernel moves during training, for three widths, from the program's histories.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/picture
for width in 100 1000 10000; do
  build/release/eigenpair fit --data digits --samples 100 --width $width --epochs 300 --track ntk --track-every 5 \
    --history build/picture/$width.csv --out build/picture/$width.npz >/dev/null
done
/usr/bin/python3 tools/picture.py build/picture >docs/drift.svg
