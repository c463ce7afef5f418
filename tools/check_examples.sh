#!/bin/sh
# Installs the build into a folder of its own, builds every program of examples/ against it with pkg-config, and runs them.
set -eu
build=$1 compiler=${2:-cc}
cd "$(dirname "$0")/.."
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix" >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name eigenpair.pc)")
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export LD_LIBRARY_PATH
for example in examples/*.c; do
  # shellcheck disable=SC2046
  "$compiler" -std=c11 -Wall -Wextra -Werror -O1 -o "$prefix/example" "$example" $(pkg-config --cflags --libs eigenpair) -lm
  echo "== $example"
  "$prefix/example"
done
