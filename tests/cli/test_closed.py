"""Closed forms as a user runs them: pca, infinite, whitened; grassmann and iterate; embed --normalise."""
import json
import signal
import subprocess

import numpy as np
import pytest
from conftest import wait_until_at_work

SMALL = ["--width", 60, "--outputs", 4, "--precision", "double"]


@pytest.fixture
def pairs(rng, save):
    """Ready triplets of 40 anchors -> anchors, positives, negatives."""
    A = rng.normal(size=(40, 6))
    P, N = A + 0.3 * rng.normal(size=A.shape), rng.normal(size=A.shape)
    save(a=A, p=P, n=N)
    return A, P, N


READY = ["--anchors", "a.npy", "--positives", "p.npy", "--negatives", "n.npy"]


@pytest.fixture
def fit(good, tmp_path):
    def run(*args):
        result = json.loads(good("fit", *SMALL, "--out", "m.npz", "--json", *args))
        return result, np.load(tmp_path / "m.npz")

    return run


@pytest.fixture
def embed(good, tmp_path):
    def run(*args):
        good("embed", "--model", "m.npz", "--precision", "double", "--out", "e.npy", *args)
        return np.load(tmp_path / "e.npy")

    return run


def psi(X, V, delta=0.01):
    H = np.maximum(X @ V.T, 0)
    return H / (np.linalg.norm(H, axis=1, keepdims=True) + np.sqrt(len(V)) * delta)


def top(C, Z=4):
    w, U = np.linalg.eigh(C)
    return w[::-1][:Z], U[:, ::-1][:, :Z]


@pytest.mark.parametrize("path", ["auto", "primal", "free", "dual"])
def test_pca_is_numpys(fit, embed, pairs, save, path):
    """Eigenvalues, W and both embeddings against C formed in NumPy."""
    result, m = fit("--method", "pca", "--path", path, *READY)
    A, P, N = (psi(X, m["V"]) for X in pairs)
    C = A.T @ (P - N) / len(A)
    w, U = top((C + C.T) / 2)
    np.testing.assert_allclose(result["eigenvalues"], w, atol=1e-9 * w[0])
    np.testing.assert_allclose(m["W"].T @ m["W"], np.eye(4), atol=1e-12)
    np.testing.assert_allclose(np.abs(U.T @ m["W"]), np.eye(4), atol=1e-7)
    assert (m["W"][np.abs(m["W"]).argmax(0), range(4)] > 0).all()
    assert result["status"] == "converged" and abs(result["loss"] + w.sum()) < 1e-9
    assert result["path"] in ("primal", "free", "dual") and path in ("auto", result["path"])
    save(x=pairs[0])
    np.testing.assert_allclose(embed("--data", "x.npy"), np.maximum(pairs[0] @ m["V"].T, 0) @ m["W"] / 60 ** .5, atol=1e-12)
    np.testing.assert_allclose(embed("--data", "x.npy", "--normalise"), A @ m["W"], atol=1e-12)


def kappa(X, Y, delta=0.01):
    """relu, one hidden layer"""
    a, b = (np.linalg.norm(Z, axis=1) for Z in (X, Y))
    c = np.clip(X @ Y.T / np.outer(a, b), -1, 1)
    t = np.arccos(c)
    L = np.outer(a, b) * (np.sin(t) + (np.pi - t) * c) / (2 * np.pi)
    return L / np.outer(a / 2 ** .5 + delta, b / 2 ** .5 + delta)


def test_infinite_is_numpys(fit, embed, pairs, save, rng):
    """Eigenvalues of S G; y'Gy = 1; a new point embeds as Y' kappa(X, x)."""
    result, m = fit("--method", "infinite", *READY)
    X, n = np.concatenate(pairs), len(pairs[0])
    assert m["X"].shape == X.shape and m["Y"].shape == (3 * n, 4)
    np.testing.assert_allclose(m["X"], X)
    G, S = kappa(X, X), np.zeros((3 * n, 3 * n))
    i = np.arange(n)
    S[i, n + i] = S[n + i, i] = 1 / (2 * n)
    S[i, 2 * n + i] = S[2 * n + i, i] = -1 / (2 * n)
    w = np.sort(np.linalg.eigvals(S @ G).real)[::-1][:4]
    np.testing.assert_allclose(result["eigenvalues"], w, atol=1e-7 * w[0])
    np.testing.assert_allclose(m["Y"].T @ G @ m["Y"], np.eye(4), atol=1e-6)
    new = rng.normal(size=(9, 6))
    save(new=new)
    np.testing.assert_allclose(embed("--data", "new.npy"), kappa(new, X) @ m["Y"], atol=1e-6)


def test_landmarks_say_their_error(fit, pairs):
    """Fewer landmarks than points: a model of that size, the share of the trace that is lost, a note."""
    result, m = fit("--method", "infinite", "--landmarks", 25, *READY)
    X = np.concatenate(pairs)
    K, L = kappa(X, m["X"]), kappa(m["X"], m["X"])
    left = np.trace(kappa(X, X) - K @ np.linalg.solve(L, K.T)) / np.trace(kappa(X, X))
    assert m["X"].shape == (25, 6) and abs(result["gram_error"] - left) < 1e-6
    assert "25 landmarks" in result["notes"][0]


def test_whitened_is_numpys(fit, embed, pairs, save):
    """W'(B + rI)W = I, A W = (B + rI) W Lambda; outputs are centred."""
    result, m = fit("--method", "whitened", "--ridge", 0.1, *READY[:4])
    F = [np.maximum(X @ m["V"].T, 0) / 60 ** .5 for X in pairs[:2]]
    mean = np.concatenate(F).mean(0)
    a, b = F[0] - mean, F[1] - mean
    A = (a.T @ b + b.T @ a) / (2 * len(a))
    B = (a.T @ a + b.T @ b) / (2 * len(a))
    B += 0.1 * np.trace(B) / 60 * np.eye(60)
    np.testing.assert_allclose(m["W"].T @ B @ m["W"], np.eye(4), atol=1e-9)
    np.testing.assert_allclose(A @ m["W"], B @ m["W"] * result["eigenvalues"], atol=1e-9)
    save(x=np.concatenate(pairs[:2]))
    E = embed("--data", "x.npy")
    np.testing.assert_allclose(E, np.concatenate([a, b]) @ m["W"], atol=1e-9)
    np.testing.assert_allclose(E.mean(0), 0, atol=1e-9)


def test_whitened_power(fit, pairs):
    """--power scales outputs by eigenvalue^power."""
    plain = fit("--method", "whitened", *READY[:4])
    scaled = fit("--method", "whitened", "--power", 0.5, *READY[:4])
    np.testing.assert_allclose(scaled[1]["W"], plain[1]["W"] * np.sqrt(plain[0]["eigenvalues"]), atol=1e-12)


def test_views_of_images(fit, embed):
    """Patches and views on the embedded digits; rows of the embedding as in the data."""
    result, m = fit("--method", "whitened", "--features", "patches:16,5,3", "--views", 3, "--data", "digits",
                    "--samples", 60)
    assert m["F"].shape == (16, 25) and m["theta"].shape == (1, 16) and m["W"].shape == (144, 4)
    assert result["points"] <= 180 and 0 < result["eigenvalues"][3] <= result["eigenvalues"][0] < 1
    assert embed("--data", "digits:test", "--samples", 10).shape == (10, 4)


@pytest.mark.parametrize("retraction", ["qr", "polar"])
def test_frozen_grassmann_reaches_pca(fit, pairs, retraction):
    """Descent on W alone ends in the top eigenvectors of C(0)."""
    result, pca = fit("--method", "pca", *READY)
    W = pca["W"]
    done, m = fit("--method", "grassmann", "--frozen", "--retraction", retraction, "--epochs", 3000,
                  "--rate", 0.4 / result["eigenvalues"][0], *READY)
    assert (m["V"] == pca["V"]).all() and done["orthogonality"] < 1e-10
    sine = np.linalg.norm(m["W"] - W @ (W.T @ m["W"]), 2)
    assert sine < 1e-6 and abs(done["loss"] - result["loss"]) < 1e-9


def test_the_cosine_itself(fit, pairs):
    """--norms outputs: the loss is that of cosines of f, and a step of V goes down it (central differences)."""
    start, zero = fit("--method", "grassmann", "--norms", "outputs", "--epochs", 0, *READY)
    _, one = fit("--method", "grassmann", "--norms", "outputs", "--epochs", 1, "--rate", 0.5, *READY)
    W = zero["W"]

    def loss(V, u=lambda F, H: F / (np.linalg.norm(F, axis=1, keepdims=True) + 0.01)):
        H = [np.maximum(X @ V.T, 0) / 60 ** .5 for X in pairs]
        a, p, n = (u(h @ W, h) for h in H)
        return np.mean(np.sum(a * (n - p), axis=1))

    lower = loss(zero["V"], lambda F, H: F / (np.linalg.norm(H, axis=1, keepdims=True) + 0.01))
    assert abs(start["loss"] - loss(zero["V"])) < 1e-12 < abs(start["loss"] - lower)
    for i, j in [(0, 0), (7, 3), (33, 5), (59, 2)]:
        E = np.zeros_like(zero["V"])
        E[i, j] = 1e-6
        slope = (loss(zero["V"] + E) - loss(zero["V"] - E)) / 2e-6
        assert abs((zero["V"] - one["V"])[i, j] / 0.5 - slope) < 1e-8
    assert np.abs(one["W"].T @ one["W"] - np.eye(4)).max() < 1e-12


def test_the_cosine_itself_is_no_pca(ep, pairs):
    code, _, err = ep("fit", *SMALL, "--method", "iterate", "--norms", "outputs", *READY)
    assert code == 2 and "--method grassmann" in err and err.count("\n") == 1


def test_track_c(fit, pairs, tmp_path):
    """--track c is |C(t) - C(0)|_F; row 0 is 0."""
    start = fit("--method", "pca", *READY)[1]["V"]
    _, m = fit("--method", "grassmann", "--epochs", 4, "--track", "c", "--history", "h.csv", *READY)
    h = np.genfromtxt(tmp_path / "h.csv", delimiter=",", names=True)

    def C(V):
        A, P, N = (psi(X, V) for X in pairs)
        C = A.T @ (P - N) / len(A)
        return (C + C.T) / 2

    drift = np.linalg.norm(C(m["V"]) - C(start))
    assert h["c_frobenius"][0] == 0 and abs(h["c_frobenius"][4] - drift) < 1e-10 and drift > 1e-6


def test_iterate(fit, pairs):
    """More iterations, lower loss; zero iterations are pca."""
    pca = fit("--method", "pca", *READY)[0]
    losses = [fit("--method", "iterate", "--epochs", t, *READY)[0]["loss"] for t in (0, 2, 5)]
    assert abs(losses[0] - pca["loss"]) < 1e-12 and losses[0] > losses[1] > losses[2]


def test_explain(good, pairs):
    """--explain names the path and what the others would have cost."""
    out = good("fit", "--method", "pca", "--explain", *SMALL, *READY)
    assert "path     " in out and all(f"\n{p} " in out for p in ("primal", "free", "dual"))
    assert "path     " not in good("fit", "--method", "pca", *SMALL, *READY)


@pytest.mark.parametrize("args, word", [
    (["--method", "pca", "--loss", "softmax"], "loss softmax has no closed form"),
    (["--method", "pca", "--loss", "spectral"], "loss spectral has its closed form in --method whitened"),
    (["--method", "pca", "--loss", "barlow"], "loss barlow has its closed form in --method whitened"),
    (["--method", "pca", "--outputs", 61], "--outputs"),
    (["--method", "pca", "--features", "patches"], "--image"),
    (["--method", "pca", "--features", "patches:9,9,9,9"], "patches"),
    (["--method", "pca", "--track", "rank"], "--track"),
    (["--method", "pca", "--views", 2], "--views"),
    (["--method", "infinite", "--outputs", 60], "--outputs"),
    (["--method", "whitened"], "--views"),
])
def test_refusals(ep, pairs, tmp_path, args, word):
    """One line, what is wrong and what to do; no model left behind."""
    code, out, err = ep("fit", *SMALL, *READY, "--out", "none.npz", *args)
    assert code == 2 and out == "" and err.count("\n") == 1 and word in err
    assert not (tmp_path / "none.npz").exists()


def test_memory_is_kept(ep, good, rng, save):
    """A cap below what all features take: streamed, the same eigenvalues, and the cap holds."""
    save(x=rng.normal(size=(4000, 10)).astype(np.float32))
    args = ["fit", "--method", "pca", "--data", "x.npy", "--width", 900, "--outputs", 3, "--json", "--path"]
    free = json.loads(good(*args, "free"))
    tight = json.loads(good(*args, "free", "--memory", "14M"))
    assert tight["peak_memory"] <= 14 * 2 ** 20 < free["peak_memory"]
    np.testing.assert_allclose(tight["eigenvalues"], free["eigenvalues"], rtol=1e-4)


def test_interrupted(call, tmp_path, save, rng):
    """Ctrl-C in a closed form: 130, one line, no file."""
    save(x=rng.normal(size=(60000, 30)).astype(np.float32))
    run = subprocess.Popen(stderr=subprocess.PIPE, text=True, **call(
        "fit", "--method", "pca", "--data", "x.npy", "--width", 3000, "--outputs", 64, "--path", "free", "--out", "m.npz"))
    wait_until_at_work(run)
    run.send_signal(signal.SIGINT)
    err = run.communicate()[1]
    assert run.returncode == 130 and "interrupted" in err and err.count("\n") == 1
    assert not (tmp_path / "m.npz").exists()
