"""The program as a user runs it: how to run it, small data, and a plain NumPy reference."""
import csv
import json
import os
import pathlib
import subprocess
import sys
import time
import types
from collections import namedtuple

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("EIGENPAIR", ROOT / "build/release/eigenpair")).resolve()
Result = namedtuple("Result", "code out err")
SANITIZED = b"__asan_init" in PROGRAM.read_bytes()
less = lambda usual, sanitized: sanitized if SANITIZED else usual  # noqa: E731  of a size: the same code, several times as slow there
# a sanitizer maps terabytes of addresses for itself, and holds several times the memory
shipped_only = pytest.mark.skipif(SANITIZED, reason="limits on addresses and resident memory are for the program as it is shipped")


def environment(folder):
    """No data set of this machine's user is seen; absurd sizes fail under a sanitizer as they do elsewhere;
    waiting threads sleep, for the cores may be shared with other tests."""
    env = dict(os.environ, EIGENPAIR_DATA=str(folder / "sets"), LC_ALL="C")
    env.setdefault("ASAN_OPTIONS", "allocator_may_return_null=1")
    env.setdefault("OMP_WAIT_POLICY", "passive")
    return env


def how_to_call(folder, *args):
    return dict(args=[str(PROGRAM), *map(str, args)], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL)


WATCH = """import os, sys
_, state, used = os.wait4(os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:]), 0)
sys.stderr.write(f"\\n{used.ru_maxrss * 1024}")
sys.exit(os.waitstatus_to_exitcode(state))"""


def watched(how):
    """What `how_to_call` says is run -> its result, and the most bytes it had resident, everything included. A small process
    watches it, for a fork counts the size of who forks."""
    done = subprocess.run(**{**how, "args": [sys.executable, "-c", WATCH, *how["args"]]}, capture_output=True, text=True)
    err, _, peak = done.stderr.rpartition("\n")
    return Result(done.returncode, done.stdout, err), int(peak)


@pytest.fixture
def call(tmp_path):
    """Arguments -> keywords for subprocess that run the program in tmp_path."""
    return lambda *args: how_to_call(tmp_path, *args)


@pytest.fixture(scope="module")
def run_in():
    """Runs the program in a folder, for work that many tests look at -> (exit code, standard output, standard error)."""

    def run(folder, *args, timeout=900):
        how = how_to_call(folder, *args)
        done = subprocess.run(**how, capture_output=True, text=True, timeout=timeout)
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def ep(call):
    """Runs the program in tmp_path -> (exit code, standard output, standard error)."""

    def run(*args, timeout=120, **more):
        how = dict(call(*args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        done = subprocess.run(timeout=timeout, **{**how, **more})
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def undrawn(monkeypatch):
    """Reports without drawings: Node is not found. It takes most of the time of a small one; test_report.py looks at them."""
    monkeypatch.setenv("PATH", "/none")


def processor_seconds(pid):
    """What a process has used so far; a busy machine does not matter to it."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_at_work(process, seconds=0.3):
    """Until it has used so much of the processor: it is far beyond its start, on a fast and on a busy machine."""
    while process.poll() is None and processor_seconds(process.pid) < seconds:
        time.sleep(0.01)


@pytest.fixture
def good(ep):
    """Runs the program, which must succeed and say nothing on standard error -> standard output."""

    def run(*args, **more):
        result = ep(*args, **more)
        assert result.code == 0, result.err
        assert result.err == ""
        return result.out

    return run


@pytest.fixture
def fit(good, tmp_path):
    """`eigenpair fit` in double -> model (dict of arrays), history (dict of columns), result (JSON)."""

    def run(*args, precision="double", out="model.npz"):
        text = good("fit", "--json", "--precision", precision, "--out", out, "--history", "history.csv", *args)
        return types.SimpleNamespace(model=load(tmp_path / out), result=json.loads(text, parse_constant=refuse),
                                     history=columns(tmp_path / "history.csv"))

    return run


@pytest.fixture
def ntk(good, tmp_path):
    """`eigenpair ntk` in double -> the kernel."""

    def run(*args, precision="double"):
        good("ntk", "--precision", precision, "--out", "kernel.npy", *args)
        return np.load(tmp_path / "kernel.npy")

    return run


def refuse(word):
    raise ValueError(f"{word} is not JSON")


def load(path):
    with np.load(path, allow_pickle=False) as z:
        return {name: z[name] for name in z.files}


def columns(path):
    with open(path, newline="") as f:
        rows = list(csv.reader(f))
    values = np.array(rows[1:], dtype=float).reshape(-1, len(rows[0]))
    return dict(zip(rows[0], values.T))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def save(tmp_path):
    """save(x=array, ...) -> x.npy, ... in tmp_path."""

    def write(**arrays):
        for name, a in arrays.items():
            np.save(tmp_path / f"{name}.npy", a)

    return write


@pytest.fixture
def pairs(save, rng):
    """Ready pairs a, p, n (and p2, n2) of N rows in R^D in files -> flags, and matrices for the reference."""

    def make(rows=10, dim=4, positives=1, negatives=1, scale=1.0):
        count = 1 + positives + negatives
        X = scale * rng.normal(size=(count, rows, dim))
        names = ["a"] + [f"p{i}" for i in range(positives)] + [f"n{i}" for i in range(negatives)]
        flags = ["--anchors"] + ["--positives"] * positives + ["--negatives"] * negatives
        save(**dict(zip(names, X)))
        args = [word for f, n in zip(flags, names) for word in (f, f"{n}.npy")]
        return types.SimpleNamespace(flags=args, X=X, signs=[1] * positives + [-1] * negatives)

    return make


@pytest.fixture
def start(tmp_path, rng):
    """Weights by NumPy in init.npz -> list V1 .. VL, W."""

    def make(dim=4, width=6, outputs=3, depth=1, name="init.npz"):
        sizes = [dim] + [width] * depth
        net = [rng.normal(size=(width, d)) for d in sizes[:-1]] + [rng.normal(size=(width, outputs))]
        names = (["V"] if depth == 1 else [f"V{i + 1}" for i in range(depth)]) + ["W"]
        np.savez(tmp_path / name, **dict(zip(names, net)))
        return net

    return make


# ---- kernels

ACTIVATIONS = ["relu", "leaky", "tanh", "sigmoid", "erf", "linear", "gelu", "sin", "cos", "monomial", "exp",
               "csoftplus"]


def close(got, want, tolerance=1e-10):
    """Largest difference over the largest entry."""
    assert got.shape == want.shape
    error = np.abs(got - want).max() / np.abs(want).max()
    assert error <= tolerance, f"relative error {error:.2e}"


def as_matrix(K):
    """(n, n, Z, Z) -> (n Z, n Z); (n, n, Z) -> Z of (n, n); (n, n) -> itself"""
    if K.ndim == 4:
        return [K.transpose(0, 2, 1, 3).reshape(K.shape[0] * K.shape[2], -1)]
    return [K[..., i] for i in range(K.shape[2])] if K.ndim == 3 else [K]


def assert_kernel(K, precision="double"):
    """Symmetric to the bit, and no eigenvalue below zero but by rounding."""
    for A in as_matrix(K):
        np.testing.assert_array_equal(A, A.T)
        values = np.linalg.eigvalsh(A.astype(float))
        assert values[0] >= -{"double": 1e-12, "single": 1e-6}[precision] * values[-1]


# ---- the reference: NTK parametrisation, section 2 and 3 of the theory

PHI = {
    "relu": (lambda a: np.maximum(a, 0), lambda a: (a > 0) * 1.0),
    "linear": (lambda a: a, np.ones_like),
    "tanh": (np.tanh, lambda a: 1 - np.tanh(a) ** 2),
}


def layers(net, X, phi="relu", s=1.0):
    """a_1 = s V_1 x, a_{l+1} = M^{-1/2} V_{l+1} phi(a_l) -> list of A_l (points x M)."""
    A = [s * X @ net[0].T]
    for V in net[1:-1]:
        A.append(PHI[phi][0](A[-1]) @ V.T / np.sqrt(len(V)))
    return A


def outputs(net, X, phi="relu", s=1.0):
    """f(x) = M^{-1/2} W' phi(a_L), a row a point."""
    return PHI[phi][0](layers(net, X, phi, s)[-1]) @ net[-1] / np.sqrt(len(net[-1]))


def directions(F, similarity, delta=0.01):
    return F if similarity == "dot" else F / (np.linalg.norm(F, axis=-1, keepdims=True) + delta)


def similarities(F, similarity, delta=0.01):
    """F (1+Q, N, Z) -> s_nq (Q, N)."""
    U = directions(F, similarity, delta)
    return (U[1:] * U[0]).sum(-1)


def linear_loss(F, signs, similarity="cosine", delta=0.01):
    return -(np.array(signs)[:, None] * similarities(F, similarity, delta)).sum() / F.shape[1]


def d_linear_loss(F, signs, similarity="cosine", delta=0.01):
    """dL/dF of the linear loss, F (1+Q, N, Z)."""
    a, n = np.array(signs)[:, None, None], F.shape[1]
    U = directions(F, similarity, delta)
    dU = -np.concatenate([(a * U[1:]).sum(0, keepdims=True), a * U[0]]) / n
    if similarity == "dot":
        return dU
    norm = np.linalg.norm(F, axis=-1, keepdims=True)
    c = 1 / (norm + delta)
    along = np.where(norm > 0, (F * dU).sum(-1, keepdims=True) * c * c / np.where(norm > 0, norm, 1), 0)
    return c * dU - along * F


def gradient(net, X, dF, phi="relu"):
    """Backward pass by hand -> list like net."""
    value, slope = PHI[phi]
    A, root = layers(net, X, phi), 1 / np.sqrt(len(net[-1]))
    grads = [root * value(A[-1]).T @ dF]
    dA = root * dF @ net[-1].T * slope(A[-1])
    for l in range(len(A) - 1, 0, -1):
        grads.append(root * dA.T @ value(A[l - 1]))
        dA = root * dA @ net[l] * slope(A[l - 1])
    return [dA.T @ X] + grads[::-1]


def descend(net, X, signs, rate, epochs, similarity="cosine", phi="relu"):
    """Gradient descent on all weights, X (1+Q, N, D) -> weights, losses of epochs 0 .. T."""
    flat, losses = X.reshape(-1, X.shape[-1]), []
    for t in range(epochs + 1):
        F = outputs(net, flat, phi).reshape(*X.shape[:2], -1)
        losses.append(linear_loss(F, signs, similarity))
        if t == epochs:
            return net, losses
        dF = d_linear_loss(F, signs, similarity).reshape(len(flat), -1)
        net = [w - rate * g for w, g in zip(net, gradient(net, flat, dF, phi))]


def rankme(F):
    sigma = np.linalg.svd(F, compute_uv=False)
    p = sigma[sigma > 0] / sigma.sum()
    return np.exp(-(p * np.log(p)).sum())


def weights(model):
    """Arrays of a model file -> list V1 .. VL, W."""
    names = ["V"] if "V" in model else sorted(n for n in model if n[0] == "V")
    return [model[n] for n in names + ["W"]]


@pytest.fixture(scope="session")
def ref():
    return types.SimpleNamespace(layers=layers, outputs=outputs, linear_loss=linear_loss, descend=descend,
                                 directions=directions, similarities=similarities, rankme=rankme, weights=weights,
                                 load=load, columns=columns)
