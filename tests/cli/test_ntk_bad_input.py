"""`eigenpair ntk` and the frozen methods on bad input: one line, exit 2, no file left behind."""

import numpy as np
import pytest


@pytest.fixture
def refused(ep, tmp_path, save, start, rng):
    save(x=rng.normal(size=(6, 4)), wide=rng.normal(size=(6, 5)))
    start(), start(dim=5, name="wide.npz"), start(outputs=2, name="two.npz")
    files = lambda: sorted(p.name for p in tmp_path.iterdir())

    def run(*args, code=2, **more):
        before = files()
        result = ep(*args, **more)
        assert result.code == code, result
        assert result.out == ""
        assert result.err.count("\n") == 1 and result.err.startswith(f"eigenpair {args[0]}: "), result.err
        assert files() == before
        return result.err

    return run


X, INIT, ANALYTIC = ["--data", "x.npy"], ["--init", "init.npz"], ["--kernel", "analytic"]
BAD = {
    "unknown layout": ([*X, "--layout", "half"], "layout"),
    "unknown kernel": ([*X, "--kernel", "rbf"], "kernel"),
    "unknown activation": ([*X, "--activation", "swish"], "activation"),
    "unknown activation of weights": ([*X, *INIT, "--activation", "swish"], "activation"),
    "unknown activation at infinite width": ([*X, *ANALYTIC, "--activation", "swish"], "activation"),
    "unknown option": ([*X, "--method", "gd"], "--method"),
    "stray word": ([*X, "y.npy"], ""),
    "model of another dimension": ([*X, "--init", "wide.npz"], "dimension"),
    "two sets of different dimension": ([*X, *INIT, "--data2", "wide.npy"], "dimension"),
    "two sets of different dimension, analytic": ([*X, *ANALYTIC, "--data2", "wide.npy"], "dimension"),
    "no data": ([*INIT], "--data"),
    "missing data": (["--data", "none.npy"], "none.npy"),
    "missing second data": ([*X, "--data2", "none.npy"], "none.npy"),
    "missing model": ([*X, "--init", "none.npz"], "none.npz"),
    "missing model, analytic": ([*X, *ANALYTIC, "--init", "none.npz"], "none.npz"),
    "model that is none": ([*X, "--init", "x.npy"], "x.npy"),
    "missing folder": ([*X, *INIT, "--out", "no/K.npy"], "no/K.npy"),
    "drift of one model": (["--drift", "init.npz", *X], "--drift"),
    "drift of no model": ([*X, "--drift"], "--drift"),
    "drift of a third that is missing": (["--drift", "init.npz", "init.npz", "third.npz", *X], "third.npz"),
    "data twice": (["x.npy", *X], "give one"),
    "two words": (["x.npy", "y.npy"], "y.npy"),
    "drift of a missing model": (["--drift", "init.npz", "none.npz", *X], "none.npz"),
    "drift of models of another dimension": (["--drift", "init.npz", "wide.npz", *X], "dimension"),
    "drift of models of other outputs": (["--drift", "init.npz", "two.npz", *X], "outputs"),
    "drift on data of another dimension": (["--drift", "wide.npz", "wide.npz", *X], "dimension"),
    "drift without data": (["--drift", "init.npz", "init.npz"], "--data"),
    "analytic kernel larger than the disk": (["--data", "cube:20", *ANALYTIC], "disk"),
    "nngp kernel larger than the disk": (["--data", "cube:20", "--kernel", "nngp", "--precision", "double"], "disk"),
    "empirical kernel larger than the disk": (["--data", "cube:20", "--width", 10], "disk"),
    "kernel larger than any disk": (["--data", "cube:20", "--width", 1, "--outputs", 1000000], "disk"),
    "drift larger than memory": (["--drift", "init.npz", "init.npz", "--data", "x.npy", "--memory", "1K"], "--memory"),
    "memory too small": ([*X, "--width", 100000, "--memory", "100K"], "--memory"),
    "memory too small for a point": ([*X, "--width", 1000, "--depth", 2, "--memory", "4000K"], "--memory"),
    "negative variance": ([*X, *ANALYTIC, "--weight-variance", -1], "--weight-variance"),
    "no width": ([*X, "--width", 0], "--width"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input(refused, what):
    args, word = BAD[what]
    assert word in refused("ntk", *args, timeout=60)


def test_large_drift_is_refused_soon(refused, start):
    """Two full kernels of 2^16 points: more than memory, said before the work."""
    start(dim=16, name="a.npz")
    assert "--memory" in refused("ntk", "--drift", "a.npz", "a.npz", "--data", "cube:16")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_that_is_not_finite(refused, save, bad):
    A = np.ones((3, 4))
    A[1, 2] = bad
    save(bad=A)
    for kernel in "empirical", "analytic":
        assert "bad.npy" in refused("ntk", "--data", "bad.npy", "--kernel", kernel)


def test_numbers_too_large(refused, save):
    """A kernel that overflows is not written."""
    save(huge=np.full((3, 4), 1e200))
    for kernel in "empirical", "analytic", "nngp":
        line = refused("ntk", "--data", "huge.npy", "--kernel", kernel, "--precision", "double", "--width", 8, code=1)
        assert "finite" in line or "infinite" in line


def test_infinite_model_holds_no_network(refused, fit):
    fit("--data", "x.npy", "--method", "kernel", "--kernel", "analytic", "--epochs", 1, "--outputs", 3)
    assert "no network" in refused("ntk", "--data", "x.npy", "--init", "model.npz")
    assert "no network" in refused("ntk", "--data", "x.npy", "--drift", "init.npz", "model.npz")


@pytest.mark.parametrize("method", [["kernel"], ["kernel", *ANALYTIC], ["linearised"]], ids=" ".join)
def test_frozen_methods_refuse(refused, method):
    """Batches, and what stays as it is."""
    args = ["fit", "--data", "x.npy", "--width", 8, "--outputs", 2, "--epochs", 2, "--method", *method]
    assert "--batch" in refused(*args, "--batch", 2)
    assert "--track" in refused(*args, "--track", "ntk")
    assert "--track" in refused(*args, "--track", "weights")
    assert "kernel" in refused(*args[:-len(method)], "kernel", "--kernel", "nngp")
    assert "integrator" in refused(*args, "--integrator", "rk4")


def test_model_of_points_without_a_network(refused, tmp_path):
    """X and Y alone do not say which kernel."""
    np.savez(tmp_path / "model.npz", X=np.ones((3, 4)), Y=np.ones((3, 2)))
    assert "model.npz" in refused("embed", "--model", "model.npz", "--data", "x.npy")
    np.savez(tmp_path / "model.npz", X=np.ones((3, 4)), Y=np.ones((2, 2)), V=np.ones((3, 4)), W=np.ones((3, 2)))
    assert "model.npz" in refused("embed", "--model", "model.npz", "--data", "x.npy")
