"""`eigenpair ntk` of finite networks: against explicit Jacobians of PyTorch (tests/reference/ntk.npz, written by
make_ntk.py) and NumPy; in little memory; drift."""
import collections
import json
import os
import re
import signal
import subprocess

import numpy as np
import pytest
from conftest import ACTIVATIONS, ROOT, as_matrix, assert_kernel, close, wait_until_at_work


def load_cases():
    cases = collections.defaultdict(dict)
    with np.load(ROOT / "tests/reference/ntk.npz") as file:
        for key in file.files:
            case, name = key.split("__")
            cases[case][name] = file[key]
    return cases


CASES = load_cases()
LAYOUTS = {
    "full": lambda K: K,
    "diagonal": lambda K: np.einsum("xyii->xyi", K),
    "trace": lambda K: np.einsum("xyii->xy", K) / K.shape[-1],
}


@pytest.fixture
def case(tmp_path, save):
    """Files x.npy, y.npy, init.npz of a case -> its arrays."""

    def make(name):
        c = CASES[name]
        save(x=c["x"], y=c["y"])
        np.savez(tmp_path / "init.npz", **{k: v for k, v in c.items() if k[0] in "VW"})
        return c

    return make


def flags(c):
    """What weights without a config do not say."""
    return ["--activation", str(c["activation"])] + ["--input-scale"] * int(c["input_scale"])


# ---- finite networks: explicit Jacobians by autograd


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CASES)
def test_empirical_is_autograd(ntk, case, name, layout):
    """One set of points and two, in the shapes of interface.md."""
    c = case(name)
    n, n2, z = len(c["x"]), len(c["y"]), c["W"].shape[1]
    args = ["--init", "init.npz", *flags(c), "--layout", layout, "--data", "x.npy"]
    one, two = ntk(*args), ntk(*args, "--data2", "y.npy")
    tail = {"full": (z, z), "diagonal": (z,), "trace": ()}[layout]
    assert one.shape == (n, n) + tail and two.shape == (n, n2) + tail and one.dtype == two.dtype == np.float64
    close(one, LAYOUTS[layout](c["K_xx"]))
    close(two, LAYOUTS[layout](c["K_xy"]))
    assert_kernel(one)
    assert not one[2].any() and not two[:, 1].any()  # the zero rows: phi(0) = 0 in all cases


@pytest.mark.parametrize("name", CASES)
def test_second_set_is_like_the_first(ntk, case, name):
    """--data2 with the same file, and the two sets swapped."""
    c = case(name)
    args = ["--init", "init.npz", *flags(c)]
    close(ntk(*args, "--data", "x.npy", "--data2", "x.npy"), c["K_xx"])
    close(ntk(*args, "--data", "y.npy", "--data2", "x.npy"), c["K_xy"].transpose(1, 0, 3, 2))


def test_weights_by_hand_are_relu(ntk, case):
    """Without a config and without --activation."""
    c = case("relu_depth1")
    close(ntk("--init", "init.npz", "--data", "x.npy"), c["K_xx"])
    c = case("tanh_depth1")
    relu = ntk("--init", "init.npz", "--data", "x.npy")
    np.testing.assert_array_equal(relu, ntk("--init", "init.npz", "--data", "x.npy", "--activation", "relu"))
    close(ntk("--init", "init.npz", "--data", "x.npy", "--activation=tanh"), c["K_xx"])


@pytest.mark.parametrize("name", CASES)
def test_model_says_its_activation(ntk, case, tmp_path, name):
    """The config of a model stands in for --activation and --input-scale; --activation overrules it."""
    c = case(name)
    arrays = {k: v for k, v in c.items() if k[0] in "VW"}
    config = {"activation": str(c["activation"]), "input_scale": bool(c["input_scale"])}
    np.savez(tmp_path / "model.npz", config=json.dumps(config), **arrays)
    close(ntk("--init", "model.npz", "--data", "x.npy"), c["K_xx"])
    np.savez(tmp_path / "model.npz", config=json.dumps({**config, "activation": "erf"}), **arrays)
    close(ntk("--init", "model.npz", "--data", "x.npy", "--activation", c["activation"]), c["K_xx"])


def test_of_a_fitted_model(ntk, fit, case):
    """A model as fit writes it."""
    c = case("tanh_depth3_input_scale")
    fit("--anchors", "x.npy", "--positives", "x.npy", "--init", "init.npz", *flags(c), "--epochs", 0, "--loss",
        "noncontrastive")
    close(ntk("--init", "model.npz", "--data", "x.npy"), c["K_xx"])


def test_fresh_network_is_that_of_fit(ntk, fit, save, rng):
    """--width, --depth, --outputs, --seed give the network that fit starts from."""
    save(x=rng.normal(size=(6, 5)))
    net = ["--width", 30, "--depth", 2, "--outputs", 3, "--seed", 4, "--activation", "tanh", "--input-scale"]
    fit("--data", "x.npy", *net, "--epochs", 0)
    K = ntk("--data", "x.npy", *net)
    assert K.shape == (6, 6, 3, 3)
    np.testing.assert_array_equal(K, ntk("--data", "x.npy", "--init", "model.npz"))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("depth", [1, 3])
def test_single_precision(ntk, save, rng, layout, depth):
    """float32 result near the double one; still exactly symmetric."""
    X = rng.normal(size=(14, 7))
    X[11] = 0
    save(x=X)
    args = ["--data", "x.npy", "--width", 64, "--depth", depth, "--outputs", 3, "--layout", layout]
    single, double = ntk(*args, precision="single"), ntk(*args)
    assert single.dtype == np.float32
    close(single, double, 1e-5)
    assert_kernel(single, "single")
    assert_kernel(double)


@pytest.mark.parametrize("phi", ACTIVATIONS)
def test_every_activation_empirical(ntk, save, rng, phi):
    X = rng.normal(size=(9, 4)) / 2
    X[3] = 0
    save(x=X)
    K = ntk("--data", "x.npy", "--width", 40, "--depth", 2, "--outputs", 2, "--activation", phi)
    assert np.isfinite(K).all() and K.any()
    assert_kernel(K)


def test_many_zeros(ntk, case, tmp_path, rng, save):
    """Points that are mostly zero take another way through the first layer."""
    X = rng.normal(size=(30, 200)) * (rng.uniform(size=(30, 200)) < 0.05)
    X[:, 60:] *= rng.uniform(size=140) < 0.1  # whole columns of zeros
    V, W = rng.normal(size=(50, 200)), rng.normal(size=(50, 2))
    save(x=X)
    np.savez(tmp_path / "init.npz", V=V, W=W)
    A = X @ V.T
    H, S = np.maximum(A, 0), (A > 0) * 1.0
    want = (np.einsum("xy,ij->xyij", H @ H.T, np.eye(2)) +
            np.einsum("xy,mi,mj,xm,ym->xyij", X @ X.T, W, W, S, S, optimize=True)) / 50
    close(ntk("--data", "x.npy", "--init", "init.npz"), want)


@pytest.mark.parametrize("threads", [1, 2])
def test_same_bits(ntk, save, rng, threads):
    save(x=rng.normal(size=(50, 6)))
    args = ["--data", "x.npy", "--width", 70, "--depth", 2, "--outputs", 3, "--threads", threads]
    np.testing.assert_array_equal(ntk(*args, precision="single"), ntk(*args, precision="single"))


# ---- memory


def blocks(err):
    return tuple(map(int, re.search(r"blocks +(\d+) x (\d+)", err).groups()))


@pytest.mark.parametrize("two", [False, True], ids=["one_set", "two_sets"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_small_memory(ep, ntk, save, rng, tmp_path, layout, two):
    """Several blocks, the same kernel, within the cap; --explain tells, on standard error."""
    save(x=rng.normal(size=(60, 5)), y=rng.normal(size=(45, 5)))
    args = ["--data", "x.npy", *(["--data2", "y.npy"] if two else []), "--width", 300, "--depth", 2, "--outputs", 3,
            "--layout", layout, "--precision", "double"]
    whole = ntk(*args)
    result = ep("ntk", *args, "--memory", "2M", "--explain", "--json", "--out", "small.npy")
    small = np.load(tmp_path / "small.npy")
    assert result.code == 0 and min(blocks(result.err)) > 1 and "block by block" in result.err
    assert json.loads(result.out)["peak_memory"] <= 2 << 20
    close(small, whole, 1e-13)
    for A in as_matrix(small) if not two else []:
        np.testing.assert_array_equal(A, A.T)
    result = ep("ntk", *args, "--explain", "--out", "small.npy")
    assert blocks(result.err) == (1, 1) and "one block" in result.err and "in memory" in result.err


@pytest.mark.parametrize("kernel", ["empirical", "analytic", "nngp"])
def test_result_larger_than_memory(ep, ntk, save, rng, tmp_path, kernel):
    """It goes to disk, and is right; nothing else is left there."""
    finite = kernel == "empirical"
    save(x=rng.normal(size=(90 if finite else 900, 5)))
    args = ["--data", "x.npy", "--width", 40, "--outputs", 10, "--kernel", kernel, "--precision", "double"]
    whole = ntk(*args)
    assert whole.nbytes > 6e6
    os.remove(tmp_path / "kernel.npy")
    result = ep("ntk", *args, "--memory", "3M" if finite else "6M", "--explain", "--json", "--out", "disk.npy")
    assert result.code == 0, result.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["disk.npy", "x.npy"]
    disk = np.load(tmp_path / "disk.npy")
    assert disk.dtype == whole.dtype
    close(disk, whole, 1e-13)
    for A in as_matrix(disk):
        np.testing.assert_array_equal(A, A.T)
    assert json.loads(result.out)["peak_memory"] <= (3 if finite else 6) << 20
    if finite:
        assert "on disk" in result.err


def test_report(good, save, rng, tmp_path):
    """Text for people, JSON for scripts, kernel.npy unless told otherwise."""
    save(x=rng.normal(size=(4, 3)))
    out = good("ntk", "--data", "x.npy", "--width", 8, "--outputs", 2)
    assert "(4, 4, 2, 2)" in out and "kernel.npy" in out and (tmp_path / "kernel.npy").exists()
    r = json.loads(good("ntk", "--data", "x.npy", "--kernel", "nngp", "--json", "--out", "k.npy"))
    assert (r["kernel"], r["out"], r["shape"]) == ("nngp", "k.npy", [4, 4]) and r["version"]


@pytest.mark.parametrize("args", [
    ["--data", "sphere:50,1000", "--width", 20000, "--layout", "diagonal", "--memory", "150M", "--threads", 1],
    ["--data", "sphere:50,6000", "--kernel", "analytic", "--activation", "tanh", "--depth", 3, "--threads", 1],
], ids=["empirical", "analytic"])
def test_interrupted(call, tmp_path, args):
    """A kernel of many seconds ends soon: exit 130, one line, no file."""
    p = subprocess.Popen(**call("ntk", *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until_at_work(p)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
    finally:
        if p.poll() is None:
            p.kill()
            p.communicate()
    assert (p.returncode, out) == (130, "") and err.count("\n") == 1 and err.startswith("eigenpair ntk: ")
    assert not list(tmp_path.iterdir())


# ---- drift


@pytest.mark.parametrize("phi, depth", [("relu", 1), ("tanh", 3)])
def test_drift(good, ntk, start, save, rng, phi, depth):
    """The distance of the program's own two kernels."""
    save(x=rng.normal(size=(12, 4)))
    start(depth=depth, name="a.npz"), start(depth=depth, name="b.npz")
    A, B = (ntk("--data", "x.npy", "--init", f, "--activation", phi) for f in ("a.npz", "b.npz"))
    args = ["--data", "x.npy", "--activation", phi, "--precision", "double"]
    d = json.loads(good("ntk", "--drift", "a.npz", "b.npz", *args, "--json"))
    assert d["max"] == pytest.approx(np.abs(A - B).max(), rel=1e-12)
    assert d["frobenius"] == pytest.approx(np.linalg.norm(A - B), rel=1e-12)
    assert d["relative_frobenius"] == pytest.approx(np.linalg.norm(A - B) / np.linalg.norm(A), rel=1e-12)
    none = json.loads(good("ntk", "--drift", "a.npz", "a.npz", *args, "--json"))
    assert none["max"] == none["frobenius"] == none["relative_frobenius"] == 0
    assert "max" in good("ntk", "--drift", "a.npz", "b.npz", *args)
    course = json.loads(good("ntk", "--drift", "a.npz", "a.npz", "b.npz", *args, "--json"))
    assert course["max"] == d["max"] and [r["model"] for r in course["drifts"]] == ["a.npz", "b.npz"]
    assert [r["frobenius"] for r in course["drifts"]] == [0, d["frobenius"]]
    assert good("ntk", "--drift", "a.npz", "a.npz", "b.npz", *args).count("\n") == 2


def test_the_first_word_is_the_data(good, ntk, start, save, rng, tmp_path):
    """As in the other commands."""
    save(x=rng.normal(size=(5, 4)))
    start(name="a.npz")
    K = ntk("--data", "x.npy", "--init", "a.npz")
    good("ntk", "x.npy", "--init", "a.npz", "--precision", "double", "--out", "word.npy")
    assert np.array_equal(np.load(tmp_path / "word.npy"), K)


def test_drift_of_input_scale(good, ntk, start, save, rng):
    """--input-scale holds for weights without a config, here too."""
    save(x=rng.normal(size=(12, 4)))
    start(name="a.npz"), start(name="b.npz")
    args = ["--data", "x.npy", "--activation", "tanh", "--input-scale"]
    A, B = (ntk("--init", f, *args) for f in ("a.npz", "b.npz"))
    d = json.loads(good("ntk", "--drift", "a.npz", "b.npz", *args, "--precision", "double", "--json"))
    assert d["frobenius"] == pytest.approx(np.linalg.norm(A - B), rel=1e-12)


@pytest.mark.parametrize("dim", [4, 90])
@pytest.mark.parametrize("phi", ["relu", "tanh"])
def test_track_ntk_is_drift(fit, good, ntk, pairs, start, save, ref, tmp_path, phi, dim):
    """The history's columns, all points and the first few, points rotated (D > P) or not."""
    p = pairs(dim=dim)
    start(dim=dim)
    args = [*p.flags, "--init", "init.npz", "--activation", phi, "--rate", 0.3, "--epochs", 6, "--track", "ntk"]
    h = fit(*args, "--track-points", 1000).history
    assert list(h) == ["epoch", "loss", "ntk_max", "ntk_frobenius"]
    assert h["ntk_max"][0] == h["ntk_frobenius"][0] == 0
    X = p.X.reshape(-1, dim)
    for count in 30, 7:
        save(x=X[:count])
        d = json.loads(good("ntk", "--drift", "init.npz", "model.npz", "--data", "x.npy", "--activation", phi,
                            "--precision", "double", "--json"))
        h = fit(*args, "--track-points", count).history
        assert h["ntk_max"][-1] == pytest.approx(d["max"], rel=1e-9) and d["max"] > 0
        assert h["ntk_frobenius"][-1] == pytest.approx(d["frobenius"], rel=1e-9)
    often = h["ntk_max"]
    seldom = fit(*args, "--track-points", 7, "--track-every", 4).history["ntk_max"]
    np.testing.assert_array_equal(seldom, often[[0, 0, 0, 0, 4, 4, 6]])
