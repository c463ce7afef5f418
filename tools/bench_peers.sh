#!/bin/sh
# bench_peers.sh BUILD [--quick ..]: bench/peers_table.py in a virtual environment of its own under build/python/bench: PyTorch,
# JAX with neural-tangents, scikit-learn, umap-learn from PyPI, and the wheel. neural-tangents 0.6.5, the newest, asks for a JAX
# that still has jax.random.KeyArray's kin: 0.4.25 is the newest that works with it, which wants NumPy 1 and SciPy < 1.13.
# TensorFlow, which it names as a dependency, is for a part of it that is not used here.
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
venv=build/python/bench
tools/wheel.sh "$build" >/dev/null
[ -x $venv/bin/python ] || ${PYTHON:-/usr/bin/python3} -m venv $venv
$venv/bin/pip install -q torch==2.13.0 jax==0.4.25 jaxlib==0.4.25 'numpy<2' 'scipy<1.13' frozendict absl-py cffi scikit-learn umap-learn
$venv/bin/pip install -q --no-deps neural-tangents==0.6.5
$venv/bin/pip install -q --no-deps --no-index --force-reinstall build/eigenpair-*.whl
exec $venv/bin/python bench/peers_table.py "$@"
