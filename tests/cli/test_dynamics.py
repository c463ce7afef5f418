"""`eigenpair dynamics` and `fit --method linear` against NumPy: C from pairs, a fine Runge-Kutta, network descent."""
import json
import signal
import subprocess

import numpy as np
import pytest
from conftest import wait_until_at_work


def contrast(X, signs):
    """C = -1/N sym sum_nq a_q x_n x_nq', X (1+Q, N, D)."""
    T = -sum(a * X[0].T @ P for a, P in zip(signs, X[1:])) / X.shape[1]
    return (T + T.T) / 2


def eigenbasis(C):
    lam, U = np.linalg.eigh(C)
    return lam, U * np.sign(U[np.abs(U).argmax(0), np.arange(len(C))])


def slope(q, lam):
    L = lam[:, None] * q
    return -2 * (2 * L - L @ q.T @ q - q @ (q.T @ L))


def runge_kutta(q, lam, time, steps=4000):
    h = time / steps
    for _ in range(steps):
        k1 = slope(q, lam)
        k2 = slope(q + h / 2 * k1, lam)
        k3 = slope(q + h / 2 * k2, lam)
        k4 = slope(q + h * k3, lam)
        q = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return q


@pytest.fixture
def dynamics(good, tmp_path):
    """-> q(T), result."""

    def run(*args):
        result = json.loads(good("dynamics", "--json", "--out", "q.npy", *args))
        return np.load(tmp_path / "q.npy"), result

    return run


@pytest.fixture
def problem(save, rng):
    """C.npy and q0.npy -> C, q0, eigenvalues, eigenvectors."""

    def make(d=8, z=3, scale=0.6):
        A = rng.normal(size=(d, d))
        C = (A + A.T) / 4
        q0 = scale * np.linalg.qr(rng.normal(size=(d, z)))[0]
        save(C=C, q0=q0)
        return (C, q0, *eigenbasis(C))

    return make


@pytest.mark.parametrize("z", [1, 2, 3, 8])
def test_flow(dynamics, problem, z):
    C, q0, lam, _ = problem(z=z)
    q, result = dynamics("--matrix", "C.npy", "--q0", "q0.npy", "--outputs", z, "--time", 3)
    assert q.dtype == np.float64 and q.shape == (8, z)
    expected = runge_kutta(q0, lam, 3)
    np.testing.assert_allclose(q, expected, atol=1e-7)
    np.testing.assert_allclose(result["eigenvalues"], lam, atol=1e-13)
    assert result["loss"] == pytest.approx(np.trace(q.T @ (lam[:, None] * q)), rel=1e-12)
    np.testing.assert_allclose(result["singular_values"], np.linalg.svd(q, compute_uv=False), atol=1e-12)
    P = np.linalg.svd(q, full_matrices=False)[0]
    np.testing.assert_allclose(result["projections"], np.linalg.norm(P[:z], axis=1), atol=1e-9)
    negative = lam[lam < 0]
    assert result["negative"] == len(negative) and result["optimum"] == pytest.approx(negative[:z].sum())


def test_ways_agree(dynamics, problem):
    problem(z=1)
    args = ["--matrix", "C.npy", "--q0", "q0.npy", "--time", 2, "--way"]
    flow, exact = dynamics(*args, "flow")[0], dynamics(*args, "exact")[0]
    np.testing.assert_allclose(flow, exact, atol=1e-8)
    coarse, fine = (np.abs(dynamics(*args, "steps", "--rate", r)[0] - exact).max() for r in (0.01, 0.005))
    assert 1.9 < coarse / fine < 2.1


def test_trajectory_and_basis(dynamics, problem, tmp_path, save, rng):
    C, q0, lam, U = problem()
    X = rng.normal(size=(5, 8))
    save(new=X)
    q, result = dynamics("--matrix", "C.npy", "--q0", "q0.npy", "--times", "0.5,1.5", "--time", 2.5, "--trajectory",
                         "t.npy", "--basis", "U.npy", "--embed", "new.npy", "--embedding", "e.npy")
    T = np.load(tmp_path / "t.npy")
    assert T.shape == (3, 8, 3)
    for at, time in zip(T, (0.5, 1.5, 2.5)):
        np.testing.assert_allclose(at, runge_kutta(q0, lam, time), atol=1e-7)
    np.testing.assert_array_equal(T[-1], q)
    np.testing.assert_allclose(np.load(tmp_path / "U.npy"), U, atol=1e-12)
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), X @ U @ q, atol=1e-12)
    assert [r["time"] for r in result["rows"]] == [0, 0.5, 1.5, 2.5]


@pytest.mark.parametrize("positives, negatives", [(1, 1), (1, 0), (2, 3)])
def test_matrix_of_pairs(dynamics, pairs, positives, negatives, save, rng, tmp_path):
    """C from anchors, positives and negatives, and with it q(T)."""
    p = pairs(rows=40, dim=5, positives=positives, negatives=negatives)
    q0 = 0.5 * np.linalg.qr(rng.normal(size=(5, 2)))[0]
    save(q0=q0)
    C = contrast(p.X, p.signs)
    lam, U = eigenbasis(C)
    q, result = dynamics(*p.flags, "--q0", "q0.npy", "--time", 1, "--basis", "U.npy")
    np.testing.assert_allclose(result["eigenvalues"], lam, atol=1e-13)
    np.testing.assert_allclose(np.load(tmp_path / "U.npy"), U, atol=1e-11)
    np.testing.assert_allclose(q, runge_kutta(q0, lam, 1), atol=1e-7)


@pytest.mark.parametrize("layers", [2, 4])
@pytest.mark.parametrize("retraction", ["qr", "polar"])
def test_descent_follows(dynamics, layers, retraction):
    _, result = dynamics("--data", "moons", "--times", "1,10", "--compare", "--layers", layers, "--width", 12,
                         "--retraction", retraction, "--rate", 0.005)
    for row in result["rows"]:
        assert row["difference"] < 0.01 and row["descent_loss"] == pytest.approx(row["loss"], abs=0.01)  # O(rate)


def test_collapse(dynamics):
    """No constraint: rank 1 and divergence; Frobenius: rank 1; orthonormal: rank 2 stays."""
    end = {}
    for kind in "none", "frobenius", "grassmann", "scaled":
        _, result = dynamics("--data", "moons", "--time", 30, "--rate", 0.05, "--compare", "--constraint", kind)
        end[kind] = result["rows"][-1]["descent_rank"]
        assert result["diverged"] == (kind == "none")
    assert end["none"] < 1.01 and end["frobenius"] < 1.01 and min(end["grassmann"], end["scaled"]) > 1.8


def test_same_seed_same_bits(good, tmp_path):
    for out in "a.npy", "b.npy":
        good("dynamics", "--data", "moons", "--time", 2, "--seed", 3, "--out", out)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
    good("dynamics", "--data", "moons", "--time", 2, "--seed", 4, "--out", "b.npy")
    assert (tmp_path / "a.npy").read_bytes() != (tmp_path / "b.npy").read_bytes()


def test_text(good):
    out = good("dynamics", "--data", "moons", "--times", "1,10")
    assert "negative eigenvalues" in out and "optimum" in out and len(out.splitlines()) < 20


@pytest.mark.parametrize("args", [
    ["--data", "moons", "--time", 1e9],
    ["--data", "moons", "--compare", "--activation", "tanh", "--width", 1000, "--times", "1,1000"],
], ids=["equation", "descent"])
def test_interrupted(call, tmp_path, args):
    """Work of many minutes ends soon: exit 130, one line, no file."""
    p = subprocess.Popen(**call("dynamics", *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until_at_work(p)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
    finally:
        if p.poll() is None:
            p.kill()
            p.communicate()
    assert (p.returncode, out) == (130, "") and err.count("\n") == 1 and err.startswith("eigenpair dynamics: ")
    assert not list(tmp_path.iterdir())


C = ["--matrix", "C.npy"]
BAD = {
    "no pairs": ([], "--data"),
    "both": ([*C, "--data", "moons"], "--matrix"),
    "missing matrix": (["--matrix", "none.npy"], "none.npy"),
    "not square": (["--matrix", "q0.npy"], "square"),
    "not symmetric": (["--matrix", "odd.npy"], "symmetric"),
    "q0 of another dimension": ([*C, "--q0", "long.npy"], "rows"),
    "q0 of other outputs": ([*C, "--q0", "q0.npy", "--outputs", 2], "outputs"),
    "q0 too large": ([*C, "--q0", "big.npy"], "singular value"),
    "times that fall": ([*C, "--times", "2,1"], "--times"),
    "times that are none": ([*C, "--times", "1,x"], "--times"),
    "time before the last": ([*C, "--times", "1,2", "--time", 1.5], "--time"),
    "negative time": ([*C, "--time", -1], "--time"),
    "exact for two outputs": ([*C, "--way", "exact"], "one output"),
    "narrow network": ([*C, "--width", 3], "width"),
    "compare from q0": ([*C, "--q0", "q0.npy", "--compare"], "--q0"),
    "nonlinear on a matrix": ([*C, "--compare", "--activation", "tanh"], "--matrix"),
    "unknown constraint": ([*C, "--compare", "--constraint", "box"], "constraint"),
    "memory": ([*C, "--memory", "1K"], "--memory"),
    "missing folder": ([*C, "--out", "no/q.npy"], "no/q.npy"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input(ep, problem, save, tmp_path, what):
    C, q0, _, _ = problem()
    odd = C.copy()
    odd[0, 1] += 1
    save(odd=odd, long=np.ones((9, 2)) / 9, big=2 * q0)
    before = sorted(tmp_path.iterdir())
    args, word = BAD[what]
    code, out, err = ep("dynamics", *args)
    assert (code, out) == (2, ""), err
    assert err.count("\n") == 1 and err.startswith("eigenpair dynamics: ") and word in err
    assert sorted(tmp_path.iterdir()) == before


# ---- fit --method linear


def test_fit_reaches_the_optimum(fit, pairs, good, tmp_path, save):
    """B spans the most negative eigenvectors; the model embeds as B'x; the loss is what the pairs say."""
    p = pairs(rows=60, dim=6)
    lam, U = eigenbasis(contrast(p.X, p.signs))
    z = 2
    assert (lam[:z] < 0).all()
    m = fit(*p.flags, "--method", "linear", "--outputs", z, "--width", 20, "--epochs", 200)
    B = m.model["V"].T
    np.testing.assert_allclose(m.model["W"], np.sqrt(z) * np.eye(z), atol=1e-15)
    np.testing.assert_allclose(B @ B.T, U[:, :z] @ U[:, :z].T, atol=1e-6)
    assert m.result["loss"] == pytest.approx(lam[:z].sum(), abs=1e-9)
    assert len(m.history["loss"]) == 201 and (np.diff(m.history["loss"]) < 1e-9).all()  # --flow-tolerance
    good("embed", "--model", "model.npz", "--data", "a.npy", "--precision", "double", "--out", "e.npy")
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), p.X[0] @ B, atol=1e-12)


def test_fit_is_the_equation(fit, pairs, tmp_path, dynamics):
    """rate x epochs is the time, however it is cut up."""
    p = pairs(rows=30, dim=5)
    args = [*p.flags, "--method", "linear", "--outputs", 2, "--width", 9, "--seed", 3, "--flow-tolerance", 1e-11]
    few = fit(*args, "--rate", 1, "--epochs", 2)
    many = fit(*args, "--rate", 0.1, "--epochs", 20)
    np.testing.assert_allclose(few.model["V"], many.model["V"], atol=1e-8)
    q, result = dynamics(*p.flags, "--outputs", 2, "--width", 9, "--seed", 3, "--time", 2, "--basis", "U.npy")
    np.testing.assert_allclose(few.model["V"].T, np.load(tmp_path / "U.npy") @ q, atol=1e-8)
    assert few.result["loss"] == pytest.approx(result["loss"], abs=1e-9)


def test_fit_noncontrastive_and_rank(fit, rng, save):
    save(x=rng.normal(size=(50, 6)))
    m = fit("--data", "x.npy", "--method", "linear", "--loss", "noncontrastive", "--outputs", 3, "--epochs", 60,
            "--track", "rank")
    assert m.result["loss"] < -2 and 2.5 < m.history["rank"][-1] <= 3


def test_fit_resumes_to_the_same_bits(good, fit, pairs, tmp_path):
    p = pairs(rows=30, dim=5)
    args = ["--method", "linear", *p.flags, "--outputs", 2, "--precision", "double"]
    good("fit", *args, "--epochs", 8, "--out", "all.npz")
    good("fit", *args, "--epochs", 4, "--every", 4, "--checkpoint", "ck.npz", "--out", "part.npz")
    good("fit", "--resume", "ck.npz", "--epochs", 8, "--out", "part.npz")
    for name in "V", "W":
        a, b = (np.load(tmp_path / f)[name] for f in ("all.npz", "part.npz"))
        assert (a == b).all()


@pytest.mark.parametrize("args, word", [
    (["--loss", "softmax"], "softmax"), (["--similarity", "cosine"], "dot"), (["--batch", 3], "--batch"),
    (["--init", "x.npz"], "--q0"), (["--track", "ntk"], "--track"),
])
def test_fit_refuses(ep, pairs, args, word):
    p = pairs()
    code, out, err = ep("fit", "--method", "linear", *p.flags, *args)
    assert code == 2 and err.count("\n") == 1 and word in err
