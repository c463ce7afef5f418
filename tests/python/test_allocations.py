"""An allocation that fails anywhere in the library is a MemoryError, and the interpreter lives on."""
import os
import subprocess
import sys

import pytest

FAILING = os.path.abspath(os.environ.get("EP_FAILING_MALLOC", "none"))  # processes are started elsewhere
pytestmark = pytest.mark.skipif(not os.path.exists(FAILING), reason="EP_FAILING_MALLOC: the library that fails allocations")

CODE = """
import ctypes, os, sys, tempfile
import numpy as np, eigenpair as ep
failing = ctypes.CDLL(os.environ["EP_FAILING_MALLOC"])
failing.ep_failing_seen.restype = ctypes.c_long
rng = np.random.default_rng(0)
X = rng.uniform(size=(30, 144))
y = np.arange(30) % 3
net = {"V": rng.normal(size=(20, 144)), "W": rng.normal(size=(20, 2)), "activation": "tanh"}
model = ep.Contrastive(method="pca", n_components=2, width=20).fit(X)
Z = model.transform(X)
images = dict(n_components=2, image_shape=(12, 12), views=2, augment="shift:1")
path = os.path.join(tempfile.mkdtemp(), "m.npz")
model.save(path)
ACTS = {
    "fit gd": lambda: ep.Contrastive(method="gd", n_components=2, width=20, epochs=2, track="ntk,rank").fit(X),
    "fit pca": lambda: ep.Contrastive(method="pca", n_components=2, width=20).fit(X),
    "fit kernel": lambda: ep.Contrastive(method="kernel", n_components=2, width=20, epochs=2).fit(X),
    "fit infinite": lambda: ep.Contrastive(method="infinite", n_components=2).fit(X),
    "fit linear": lambda: ep.Contrastive(method="linear", n_components=2, epochs=2, rate=0.1).fit(X),
    "fit patches": lambda: ep.Contrastive(method="whitened", features="patches:6,3,2", **images).fit(X),
    "fit stack": lambda: ep.Contrastive(method="whitened", features="stack:6x3,near=1,keep=3,pool=2", **images).fit(X),
    "partial_fit": lambda: ep.Contrastive(method="pca", n_components=2, width=20).partial_fit(X).eigenvalues_,
    "groups": lambda: ep.Contrastive(method="pca", n_components=2, width=20).fit(X, groups=y),
    "pairs": lambda: ep.Contrastive(method="pca", n_components=2, width=20).fit_pairs(X, X + 1, X[::-1]),
    "transform": lambda: model.transform(X),
    "ntk": lambda: ep.ntk(net, X),
    "analytic_kernel": lambda: ep.analytic_kernel(X, depth=2, activation="tanh"),
    "probe linear": lambda: ep.probe(Z, y),
    "probe knn": lambda: ep.probe(Z, y, kind="knn"),
    "metrics": lambda: ep.metrics(Z),
    "neighbours": lambda: ep.neighbours(Z, 3),
    "data": lambda: ep.data("digits", samples=20),
    "save": lambda: model.save(path),
    "load": lambda: ep.load(path),
}
def attack(act):
    act()
    failing.ep_failing_arm(0, b"libeigenpair")
    act()
    total = failing.ep_failing_seen()
    places = sorted({round(1 + i * (total - 1) / 39) for i in range(40)}) if total > 40 else range(1, total + 1)
    wrong = []
    for place in places:
        failing.ep_failing_arm(place, b"libeigenpair")
        try:
            act()
            if failing.ep_failing_seen() >= place:
                wrong.append((place, "nothing was said"))
        except MemoryError as e:
            if not str(e):
                wrong.append((place, "no message"))
        except BaseException as e:
            wrong.append((place, repr(e)))
        failing.ep_failing_arm(0, b"libeigenpair")
    act()
    return f"{total} {len(places)} {wrong}"
for name in sys.argv[1:]:
    print(name, attack(ACTS[name]), sep="\\t", flush=True)
"""
ACTS = ["fit gd", "fit pca", "fit kernel", "fit infinite", "fit linear", "fit patches", "fit stack", "partial_fit", "groups",
        "pairs", "transform", "ntk", "analytic_kernel", "probe linear", "probe knn", "metrics", "neighbours", "data", "save",
        "load"]


@pytest.fixture(scope="module")
def attacked():
    """All acts in one process, or in another one after each that ends it -> what is said of each; "": it ended the process."""
    environment = {**os.environ, "LD_PRELOAD": FAILING, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    said = {}
    while len(said) < len(ACTS):
        rest = [act for act in ACTS if act not in said]
        done = subprocess.run([sys.executable, "-c", CODE, *rest], capture_output=True, text=True, env=environment, timeout=600)
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        said.update({act: (words, "") for act, words in lines})
        if done.returncode or len(lines) < len(rest):
            said[rest[min(len(lines), len(rest) - 1)]] = ("", f"{done.returncode} {done.stderr[-2000:]}")
    return said


@pytest.mark.parametrize("act", ACTS)
def test_everywhere(attacked, act):
    words, end = attacked[act]
    assert words and not end, end
    total, places, wrong = words.split(" ", 2)
    assert int(total) > 0 and int(places) > 0 and wrong == "[]", words


def test_of_the_program(tmp_path):
    """compare and its like are run by the program: what it says of memory is a MemoryError too."""
    from eigenpair._program import program
    script = tmp_path / "eigenpair"
    # with a policy of its own the program does not start itself again, and loses the library on the way
    words = f"OMP_WAIT_POLICY=passive LD_PRELOAD={FAILING} EP_FAIL_IN= EP_FAIL_AT=$AT exec {program()}"
    script.write_text(f"#!/bin/sh\n{words} \"$@\"\n")
    script.chmod(0o755)
    code = """
import numpy as np, eigenpair as ep
X = np.random.default_rng(0).normal(size=(20, 4))
try:
    ep.compare(X, widths=[10, 20], methods="gd,pca", runs=1, epochs=1)
    print("done")
except MemoryError as e:
    print("MemoryError")
"""
    said = set()
    for at in (3, 40, 120):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "EIGENPAIR_PROGRAM": str(script), "AT": str(at)})
        assert done.returncode == 0, (at, done.stderr[-1000:])
        said.add(done.stdout)
    assert "MemoryError\n" in said
