"""`eigenpair ntk`, and the methods that descend with a frozen kernel: against explicit Jacobians of PyTorch
(tests/reference/ntk.npz, written by make_ntk.py), published numbers, and NumPy."""
import collections
import json
import os
import re
import shlex
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import ROOT, d_linear_loss

ACTIVATIONS = ["relu", "leaky", "tanh", "sigmoid", "erf", "linear", "gelu", "sin", "cos", "monomial", "exp"]


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
def ntk(good, tmp_path):
    """`eigenpair ntk` in double -> the kernel."""

    def run(*args, precision="double"):
        good("ntk", "--precision", precision, "--out", "kernel.npy", *args)
        return np.load(tmp_path / "kernel.npy")

    return run


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
        time.sleep(0.3)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=5)
    finally:
        if p.poll() is None:
            p.kill()
            p.communicate()
    assert (p.returncode, out) == (130, "") and err.count("\n") == 1 and err.startswith("eigenpair ntk: ")
    assert not list(tmp_path.iterdir())


# ---- infinite width

PUBLISHED = {  # relu, weight variance 2, unit vectors at correlation 0, 1/2, 1
    1: (0.318309886, 0.942331114, 2),
    2: (0.685708636, 1.351479561, 3),
    3: (1.060388107, 1.737844679, 4),
    4: (1.430390497, 2.107112538, 5),
}


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("depth", PUBLISHED)
def test_published_relu(ntk, save, depth, precision):
    save(x=np.array([[1.0, 0]]), y=np.array([[0, 1.0], [0.5, 0.75**0.5], [1, 0]]))
    args = ["--kernel", "analytic", "--depth", depth, "--weight-variance", 2]
    K = ntk("--data", "x.npy", "--data2", "y.npy", *args, precision=precision)
    np.testing.assert_allclose(K, [PUBLISHED[depth]], rtol=0, atol=1e-9 if precision == "double" else 1e-6)
    assert ntk("--data", "x.npy", *args)[0, 0] == pytest.approx(depth + 1, abs=1e-12)


def arc_cosine(X, Y, depth, w=1.0, b=0.0, s=1.0, last=1.0):
    """NNGP and NTK of relu by the formula of section 4 -> two matrices"""
    C, A, B = w * s * s * X @ Y.T + b, *(w * s * s * (Z * Z).sum(1) + b for Z in (X, Y))
    theta = C
    for l in range(depth):
        root = np.sqrt(np.outer(A, B))
        c = np.clip(C / np.where(root > 0, root, 1), -1, 1)
        t = np.arccos(c)
        S, slope = root * (np.sin(t) + (np.pi - t) * c) / (2 * np.pi), (np.pi - t) / (2 * np.pi)
        k, bias = (last, 0) if l == depth - 1 else (w, b)
        theta, C, A, B = k * (S + theta * slope) + bias, k * S + bias, k * A / 2 + bias, k * B / 2 + bias
    return C, theta


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("more", [
    {}, {"w": 2.0}, {"w": 1.5, "b": 0.3}, {"s": 6**-0.5, "last": 0.7}, {"w": 2.0, "b": 0.1, "s": 6**-0.5, "last": 3.0},
], ids=["default", "w", "w,b", "s,o", "all"])
def test_relu_is_its_formula(ntk, save, rng, depth, more):
    """Both kernels, with a zero point, a repeated one, and norms from 1e-3 to 1e3."""
    X, Y = rng.normal(size=(20, 6)), rng.normal(size=(15, 6))
    X *= 10 ** rng.uniform(-3, 3, size=(20, 1))
    X[7], Y[4] = 0, X[3]
    save(x=X, y=Y)
    names = {"w": "--weight-variance", "b": "--bias-variance", "last": "--last-variance"}
    args = [v for k, n in names.items() if k in more for v in (n, more[k])] + ["--input-scale"] * ("s" in more)
    for kernel, want in zip(("nngp", "analytic"), arc_cosine(X, Y, depth, **more)):
        got = ntk("--data", "x.npy", "--data2", "y.npy", "--kernel", kernel, "--depth", depth, *args)
        scale = np.sqrt(np.outer((X * X).sum(1) + 1e-3, (Y * Y).sum(1) + 1e-3))  # arccos in NumPy: 1e-8 near 1
        assert np.abs((got - want) / scale).max() < 1e-7
        far = np.ones_like(got, bool)
        far[3, 4] = False
        assert np.abs((got - want) / scale)[far].max() < 1e-12


def test_linear_is_the_gram_matrix(ntk, save, rng):
    X = rng.normal(size=(8, 3))
    save(x=X)
    for depth in 1, 4:
        args = ["--data", "x.npy", "--activation", "linear", "--depth", depth]
        close(ntk(*args, "--kernel", "nngp"), X @ X.T, 1e-13)
        close(ntk(*args, "--kernel", "analytic"), (depth + 1) * X @ X.T, 1e-13)


@pytest.mark.parametrize("kernel", ["analytic", "nngp"])
@pytest.mark.parametrize("phi", ACTIVATIONS)
def test_every_activation_at_infinite_width(ntk, save, rng, phi, kernel):
    """Zero, repeated and opposite points: finite, symmetric, positive; two sets agree with one."""
    X = rng.normal(size=(24, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[5], X[9], X[13] = 0, X[2], -X[2]
    save(x=X)
    args = ["--data", "x.npy", "--kernel", kernel, "--activation", phi]
    for depth in 1, 2 if phi == "exp" else 3:  # the third exponential of an exponential is too large
        K = ntk(*args, "--depth", depth)
        assert K.shape == (24, 24) and np.isfinite(K).all() and K.any()
        assert_kernel(K)
        np.testing.assert_allclose(K[9], K[2], rtol=1e-12, atol=1e-14)
        assert K[9, 2] == pytest.approx(K[2, 2], rel=1e-12)
        close(ntk(*args, "--depth", depth, "--data2", "x.npy"), K, 1e-12)
        close(ntk(*args, "--depth", depth, precision="single"), K, 1e-5 if phi == "exp" else 1e-6)


@pytest.mark.parametrize("kernel", ["analytic", "nngp"])
def test_points_of_note(ntk, save, kernel):
    """relu: nothing at zero and at antipodes, twice the norm is twice the kernel."""
    u = np.array([0.6, 0, 0.8])
    save(x=np.array([u, u, -u, 0 * u, 2 * u, 1e150 * u, -1e150 * u]))
    K = ntk("--data", "x.npy", "--kernel", kernel)
    own = {"analytic": 1.0, "nngp": 0.5}[kernel]
    assert np.isfinite(K).all() and not K[3].any()
    np.testing.assert_allclose(K[:2, :2], own, rtol=1e-14)
    np.testing.assert_allclose(K[0, [2, 4, 5]], [0, 2 * own, 1e150 * own], rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(K[5, 5], 1e300 * own, rtol=1e-14)
    assert abs(K[5, 6]) < 1e285


@pytest.mark.parametrize("phi", ["relu", "leaky", "tanh", "sigmoid", "erf", "linear", "gelu", "sin", "cos"])
def test_huge_norms(ntk, save, rng, phi):
    """Bounded activations saturate, the others grow with the norm; all stay finite."""
    X = rng.normal(size=(6, 4)) * 10.0 ** np.array([0, 3, 6, 9, 12, 15])[:, None]
    save(x=X)
    for kernel in "analytic", "nngp":
        for precision in "double", "single":
            K = ntk("--data", "x.npy", "--kernel", kernel, "--activation", phi, "--depth", 2, precision=precision)
            assert np.isfinite(K).all()
            np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize("phi", ["relu", "tanh"])
def test_wide_networks_tend_to_infinite_width(ntk, save, rng, phi):
    X = rng.normal(size=(6, 4)) / 2
    save(x=X)
    args = ["--data", "x.npy", "--activation", phi]
    limit = ntk(*args, "--kernel", "analytic")
    miss = {m: np.mean([np.abs(ntk(*args, "--width", m, "--outputs", 2, "--seed", s, "--layout", "full") -
                               limit[:, :, None, None] * np.eye(2)).max() for s in range(3)]) for m in (200, 20000)}
    assert miss[20000] < miss[200] / 3 and miss[20000] < 0.1 * limit.max()


def test_depth_of_a_wide_network(ntk, save, rng):
    """Three layers, NTK and the covariance of outputs alike: closer than at one or five."""
    save(x=rng.normal(size=(6, 4)))
    K = np.mean([ntk("--data", "x.npy", "--width", 1000, "--depth", 3, "--layout", "trace", "--seed", s)
                 for s in range(2)], axis=0)
    error = {d: np.abs(K - ntk("--data", "x.npy", "--kernel", "analytic", "--depth", d)).max() for d in (2, 3, 4)}
    assert min(error, key=error.get) == 3 and error[3] < 0.2 * K.max()


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


# ---- descent with a frozen kernel

# pairs, similarity, loss and a rate at which the loss falls smoothly: beyond it descent with the cosine is chaotic, and
# a start that is off by 1e-15 is elsewhere after 30 epochs
OBJECTIVES = [
    (1, 1, "cosine", "linear", 0.02), (1, 1, "dot", "linear", 0.003), (2, 3, "cosine", "linear", 0.02),
    (1, 1, "cosine", "softmax", 0.02), (1, 2, "dot", "softmax", 0.003), (1, 0, "cosine", "ntxent", 0.02),
    (1, 1, "dot", "spectral", 0.001), (1, 1, "cosine", "spectral", 0.02), (1, 0, "cosine", "noncontrastive", 0.02),
    (1, 0, "dot", "noncontrastive", 0.003),
]
SIZES = {"free": (10, 4, 6), "formed": (3, 40, 100)}  # rows, dim, width: products with J, or K itself


@pytest.fixture
def embed(good, tmp_path):
    def run(X, model="model.npz", precision="double"):
        np.save(tmp_path / "new.npy", X)
        good("embed", "--model", model, "--data", "new.npy", "--out", "e.npy", "--precision", precision)
        return np.load(tmp_path / "e.npy")

    return run


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("p, n, similarity, loss, rate", OBJECTIVES, ids=lambda v: str(v))
def test_kernel_is_linearised(fit, embed, pairs, start, rng, p, n, similarity, loss, rate, depth, size):
    """The two ways to train the same Taylor model: history and embeddings of new points."""
    rows, dim, width = SIZES[size]
    data = pairs(rows=rows, dim=dim, positives=p, negatives=n, scale=2 / np.sqrt(dim))
    start(dim=dim, width=width, depth=depth)
    args = [*data.flags, "--init", "init.npz", "--activation", "tanh" if depth == 3 else "relu", "--epochs", 50,
            "--rate", rate, "--similarity", similarity, "--loss", loss]
    X = np.concatenate([rng.normal(size=(6, dim)), np.zeros((1, dim)), data.X[0]])
    history, E = {}, {}
    for method in "kernel", "linearised":
        r = fit("--method", method, *args)
        assert r.result["status"] == "done" and len(r.history["loss"]) == 51
        history[method], E[method] = r.history["loss"], embed(X)
    a, b = history["kernel"], history["linearised"]
    assert a[-1] < a[0] - 1e-3
    close(a, b, 1e-8)
    close(E["kernel"], E["linearised"], 1e-8)


@pytest.mark.parametrize("method", ["kernel", "linearised"])
@pytest.mark.parametrize("depth", [1, 3])
def test_first_step_is_that_of_gd(fit, pairs, start, method, depth):
    """After one step the network is off its tangent at second order of the rate."""
    p = pairs()
    start(depth=depth, width=40)
    gap = []
    for rate in 1e-2, 1e-3:
        args = [*p.flags, "--init", "init.npz", "--activation", "tanh", "--epochs", 1, "--rate", rate]
        gd, frozen = (fit("--method", m, *args).history["loss"] for m in ("gd", method))
        assert gd[0] == pytest.approx(frozen[0], rel=1e-13)
        gap.append(abs(gd[1] - frozen[1]))
    assert gap[1] > 1e-14 and 80 < gap[0] / gap[1] < 125


def loss_of(E, data, ref):
    return ref.linear_loss(E.reshape(*data.X.shape[:2], -1), data.signs)


@pytest.mark.parametrize("kind", ["linearised", "empirical", "analytic", "analytic, flow", "analytic from a network"])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_points_of_the_training_set(fit, embed, pairs, start, ref, kind, precision):
    """They embed as the outputs that were trained: the loss of their embeddings is the history's last."""
    data = pairs(positives=2, negatives=2)
    start()
    more = {"linearised": ["--method", "linearised", "--width", 30],
            "empirical": ["--method", "kernel", "--width", 30],
            "analytic": ["--method", "kernel", "--kernel", "analytic"],
            "analytic, flow": ["--method", "kernel", "--kernel", "analytic", "--integrator", "flow"],
            "analytic from a network": ["--method", "kernel", "--kernel", "analytic", "--init", "init.npz"]}[kind]
    r = fit(*data.flags, "--outputs", 3, "--rate", 0.2, "--epochs", 20, *more, precision=precision)
    E = embed(data.X.reshape(-1, 4), precision=precision)
    assert loss_of(E, data, ref) == pytest.approx(r.history["loss"][-1], abs=1e-9 if precision == "double" else 1e-4)


def test_close_points_in_single_precision(fit, embed, rng, save):
    """Positives near their anchors make Y0 large and of both signs: the sums still need more than single precision."""
    a = rng.normal(size=(300, 4))
    save(a=a, p=a + 1e-3 * rng.normal(size=a.shape), n=rng.normal(size=a.shape))
    fit("--anchors", "a.npy", "--positives", "p.npy", "--negatives", "n.npy", "--method", "kernel", "--kernel",
        "analytic", "--outputs", 3, "--epochs", 1, precision="single")
    close(embed(a, precision="single"), embed(a), 1e-3)


def test_analytic_from_a_deep_network(fit, embed, pairs, start, ref):
    """--init gives the depth: of the kernel too, in the fit and in the model."""
    data = pairs()
    start(depth=3)
    args = [*data.flags, "--method", "kernel", "--kernel", "analytic", "--init", "init.npz", "--epochs", 5]
    r = fit(*args)
    E = embed(data.X.reshape(-1, 4))
    assert loss_of(E, data, ref) == pytest.approx(r.history["loss"][-1], abs=1e-9)
    np.testing.assert_array_equal(r.history["loss"], fit(*args, "--depth", 3).history["loss"])


def test_empirical_model_by_hand(fit, embed, ntk, pairs, start, ref, rng, save):
    """f_0(x) + sum K(x, x_p) y_p with the kernel of `ntk`, and Y by NumPy's descent."""
    data, net = pairs(positives=2, negatives=1), start()
    m = fit(*data.flags, "--method", "kernel", "--init", "init.npz", "--rate", 0.3, "--epochs", 8)
    X, new = data.X.reshape(-1, 4), rng.normal(size=(5, 4))
    np.testing.assert_array_equal(m.model["X"], X)
    np.testing.assert_array_equal(m.model["V"], net[0])
    save(x=X, y=new)
    K = ntk("--data", "x.npy", "--init", "init.npz")
    F0, Y, losses = ref.outputs(net, X), np.zeros((len(X), 3)), []
    for t in range(9):
        F = (F0 + np.einsum("xyij,yj->xi", K, Y)).reshape(*data.X.shape[:2], 3)
        losses.append(ref.linear_loss(F, data.signs))
        if t < 8:
            Y = Y - 0.3 * d_linear_loss(F, data.signs).reshape(len(X), 3)
    close(m.history["loss"], np.array(losses))
    close(m.model["Y"], Y)
    Kx = ntk("--data", "y.npy", "--data2", "x.npy", "--init", "init.npz")
    close(embed(new), ref.outputs(net, new) + np.einsum("xyij,yj->xi", Kx, Y))


@pytest.mark.parametrize("phi, depth", [("relu", 1), ("erf", 3), ("tanh", 2)])
def test_analytic_model_by_hand(fit, embed, ntk, pairs, ref, rng, save, phi, depth):
    """X, Y, Y0 in the file; F(0) = NNGP Y0, F = F(0) + NTK Y, Y by NumPy's descent."""
    data, new = pairs(), rng.normal(size=(5, 4))
    net = ["--activation", phi, "--depth", depth]
    m = fit(*data.flags, "--method", "kernel", "--kernel", "analytic", *net, "--outputs", 3, "--rate", 0.3,
            "--epochs", 8, "--seed", 2)
    X = data.X.reshape(-1, 4)
    assert {k: v.shape for k, v in m.model.items()} == {"X": (30, 4), "Y": (30, 3), "Y0": (30, 3), "config": ()}
    save(x=X, y=new)
    K, G = (ntk("--data", "x.npy", *net, "--kernel", k) for k in ("analytic", "nngp"))
    F0, Y, losses = G @ m.model["Y0"], np.zeros((30, 3)), []
    for t in range(9):
        F = (F0 + K @ Y).reshape(*data.X.shape[:2], 3)
        losses.append(ref.linear_loss(F, data.signs))
        if t < 8:
            Y = Y - 0.3 * d_linear_loss(F, data.signs).reshape(30, 3)
    close(m.history["loss"], np.array(losses), 1e-8)
    close(m.model["Y"], Y, 1e-8)
    Kx, Gx = (ntk("--data", "y.npy", "--data2", "x.npy", *net, "--kernel", k) for k in ("analytic", "nngp"))
    close(embed(new), Kx @ Y + Gx @ m.model["Y0"], 1e-8)


def test_analytic_start_is_a_gaussian_process(fit, pairs, ntk, save, rng):
    """At the start the outputs are drawn with the NNGP as their covariance."""
    data = pairs(rows=2, positives=1, negatives=0)
    X = data.X.reshape(-1, 4)
    save(x=X)
    G = ntk("--data", "x.npy", "--kernel", "nngp")
    m = fit(*data.flags, "--method", "kernel", "--kernel", "analytic", "--loss", "noncontrastive", "--outputs", 20000,
            "--epochs", 0).model
    F = G @ m["Y0"]
    close(F @ F.T / F.shape[1], G, 0.05)


def test_analytic_has_no_width(fit, pairs):
    """A width whose network no memory holds costs nothing and changes nothing."""
    data = pairs()
    args = [*data.flags, "--method", "kernel", "--kernel", "analytic", "--depth", 3, "--outputs", 3, "--epochs", 20]
    a, b = (fit(*args, "--width", w) for w in (1, 10000000))
    np.testing.assert_array_equal(a.history["loss"], b.history["loss"])
    for name in "X", "Y", "Y0":
        np.testing.assert_array_equal(a.model[name], b.model[name])
    assert b.result["seconds"] < 5 and a.history["loss"][-1] < a.history["loss"][0]


@pytest.mark.parametrize("kernel", ["empirical", "analytic"])
def test_flow_is_descent_at_a_tiny_rate(fit, pairs, kernel):
    """Same total time; the distance is of first order in the rate."""
    data = pairs()
    args = [*data.flags, "--method", "kernel", "--kernel", kernel, "--width", 20, "--outputs", 3, "--activation",
            "tanh"]
    flow = fit(*args, "--integrator", "flow", "--rate", 0.1, "--epochs", 4).history["loss"]
    assert len(flow) == 5 and (np.diff(flow) < 0).all()
    error = []
    for steps in 50, 100:
        euler = fit(*args, "--rate", 0.1 / steps, "--epochs", 4 * steps).history["loss"]
        error.append(np.abs(euler[::steps] - flow).max())
    assert error[0] < 1e-2 and 1.8 < error[0] / error[1] < 2.2
    fine = fit(*args, "--integrator", "flow", "--rate", 0.1, "--epochs", 4, "--flow-tolerance", 1e-12).history["loss"]
    close(flow, fine, 1e-6)
    one = fit(*args, "--integrator", "flow", "--rate", 0.4, "--epochs", 1).history["loss"]
    assert one[-1] == pytest.approx(flow[-1], abs=1e-6)


@pytest.mark.parametrize("method", ["kernel", "linearised"])
def test_single_precision_training(fit, pairs, method):
    data = pairs()
    args = [*data.flags, "--method", method, "--width", 50, "--outputs", 3, "--rate", 0.3, "--epochs", 30]
    start = fit(*args, "--epochs", 0).model
    assert start["W"].dtype == np.float64
    single, double = (fit(*args, precision=p) for p in ("single", "double"))
    close(single.history["loss"], double.history["loss"], 1e-3)


def test_kernel_in_little_memory(fit, pairs):
    """A kernel that does not fit is not formed; the training is the same."""
    data = pairs(rows=60, dim=150)
    args = [*data.flags, "--method", "kernel", "--width", 150, "--outputs", 4, "--rate", 0.3, "--epochs", 40]
    close(fit(*args, "--memory", "4M").history["loss"], fit(*args).history["loss"], 1e-10)


# ---- work saved

FROZEN = {
    "kernel, free": ["--method", "kernel", "--data", "x.npy"],
    "kernel, formed": ["--method", "kernel", "--data", "few.npy"],
    "analytic": ["--method", "kernel", "--kernel", "analytic", "--data", "x.npy", "--depth", 2],
    "analytic, flow": ["--method", "kernel", "--kernel", "analytic", "--data", "x.npy", "--integrator", "flow"],
    "linearised": ["--method", "linearised", "--data", "x.npy", "--track", "rank"],
    "linearised, double": ["--method", "linearised", "--data", "few.npy", "--precision", "double", "--depth", 2],
}
OPTIONS = ["--width", 24, "--outputs", 3, "--rate", 0.05, "--threads", 2, "--seed", 3]
FILES = ["--checkpoint", "ck.npz", "--every", 1, "--out", "part.npz", "--history", "part.csv"]


@pytest.fixture
def frozen(save, rng, good, tmp_path):
    """Data for the cases; whole(case, epochs) runs without a break -> bytes of model and history."""
    save(x=rng.normal(size=(30, 4)), few=rng.normal(size=(5, 60)))

    def whole(case, epochs):
        good("fit", *FROZEN[case], *OPTIONS, "--epochs", epochs, "--out", "whole.npz", "--history", "whole.csv")
        return results("whole")

    def results(name):
        return tuple((tmp_path / f"{name}.{end}").read_bytes() for end in ("npz", "csv"))

    whole.results = results
    return whole


@pytest.mark.parametrize("case", FROZEN)
def test_frozen_goes_on(good, frozen, case):
    """From the last checkpoint of a finished run to more epochs: the bytes of a run without a break."""
    good("fit", *FROZEN[case], *OPTIONS, "--epochs", 10, *FILES)
    good("fit", "--resume", "ck.npz", "--epochs", 17, *FILES[4:])
    assert frozen.results("part") == frozen(case, 17)
    good("fit", "--resume", "ck.npz", "--epochs", 10, *FILES[4:])
    assert frozen.results("part") == frozen(case, 10)


@pytest.mark.parametrize("case", FROZEN)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda s: s.name)
def test_frozen_is_stopped(call, ep, frozen, tmp_path, case, number):
    """Interrupted or killed at any moment: going on gives the same bytes."""
    epochs = 100000
    args = [*FROZEN[case], *OPTIONS, "--epochs", epochs, *FILES[:2], "--every", 3, *FILES[4:]]
    p = subprocess.Popen(**call("fit", *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "ck.npz").exists() and p.poll() is None and time.monotonic() < end:
            time.sleep(0.001)
        time.sleep(0.01)
        p.send_signal(number)
        out, err = p.communicate(timeout=60)
    finally:
        if p.poll() is None:
            p.kill()
            p.communicate()
    with np.load(tmp_path / "ck.npz") as z:
        done = int(z["state"][0])
    assert 0 < done < epochs and not (tmp_path / "part.npz").exists()
    words = ["fit", "--resume", "ck.npz", *FILES[4:]]
    if number == signal.SIGINT:
        assert (p.returncode, out) == (130, "") and err.count("\n") == 1
        words = shlex.split(re.search(r"go on with: eigenpair (fit .*)$", err.strip()).group(1))
    result = ep(*words, "--epochs", done + 4)
    assert result.code == 0 and result.err == ""
    assert frozen.results("part") == frozen(case, done + 4)


def test_another_method_cannot_go_on(good, ep, frozen):
    good("fit", *FROZEN["kernel, free"], *OPTIONS, "--epochs", 3, *FILES)
    result = ep("fit", "--resume", "ck.npz", "--method", "linearised")
    assert result.code == 2 and "--method" in result.err and result.err.count("\n") == 1


# ---- bad input: one line, exit 2, no file left behind


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
    "drift of three models": (["--drift", "init.npz", "init.npz", "init.npz", *X], ""),
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
    begin = time.monotonic()
    assert "--memory" in refused("ntk", "--drift", "a.npz", "a.npz", "--data", "cube:16")
    assert time.monotonic() - begin < 10


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
