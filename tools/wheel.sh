#!/bin/sh
# wheel.sh BUILD [VENV]: the wheel of the library and the program in BUILD, as build/eigenpair-*.whl, with Debian's packages
# alone; and a virtual environment VENV with it installed (Debian's own NumPy, cffi and scikit-learn show through).
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
python=${PYTHON:-/usr/bin/python3}
rm -rf build/eigenpair-*.whl build/python/lib* build/python/bdist* build/python/*.egg-info
EIGENPAIR_BUILD=$build $python -m pip wheel . --no-build-isolation --no-deps --disable-pip-version-check -q -w build
ls build/eigenpair-*.whl
[ $# -gt 1 ] || exit 0
rm -rf "$2"
$python -m venv --system-site-packages --without-pip "$2"
$python -m pip --python "$2/bin/python" install -q --no-deps --no-index --disable-pip-version-check build/eigenpair-*.whl
