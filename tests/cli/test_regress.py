"""`eigenpair regress` against NumPy: ridge regression and its variance, gradient flow, descent, on a user's own data."""
import json

import numpy as np
import pytest
from conftest import refuse

N, M, D, Z = 14, 9, 3, 2


@pytest.fixture
def problem(rng, save):
    """x, y, new and their targets, as files and arrays."""
    a = dict(x=rng.normal(size=(N, D)), y=rng.normal(size=(N, Z)), t=rng.normal(size=(M, D)), y2=rng.normal(size=(M, Z)))
    save(**a)
    return a


@pytest.fixture
def regress(good, tmp_path):
    """`eigenpair regress --json` -> the result, predictions, variance."""

    def run(*args):
        r = json.loads(good("regress", "--json", *args), parse_constant=refuse)
        v = np.load(tmp_path / "v.npy") if "--variance" in args else None
        return r, np.load(tmp_path / "predictions.npy"), v

    return run


POINTS = ["--data", "x.npy", "--targets", "y.npy", "--test", "t.npy", "--test-targets", "y2.npy"]


def kernels(ntk, kind="analytic", *more):
    """K, Kx and the diagonal of the new points, by `eigenpair ntk`."""
    one = ["--kernel", kind, *more]
    return ntk("--data", "x.npy", *one), ntk("--data", "t.npy", "--data2", "x.npy", *one), np.diag(ntk("--data", "t.npy", *one))


@pytest.mark.parametrize("kind, options", [("analytic", ["--activation", "erf", "--depth", 2]), ("nngp", ["--bias-variance", 0.3])])
def test_ridge_and_posterior(regress, ntk, problem, kind, options):
    """Mean and variance of the Gaussian process; the error of each point by all the others, taken literally."""
    r, F, V = regress(*POINTS, "--kernel", kind, *options, "--noise", 0.4, "--variance", "v.npy")
    K, Kx, d = kernels(ntk, kind, *options)
    y, A = problem["y"], np.linalg.inv(K + 0.16 * np.eye(N))
    np.testing.assert_allclose(F, Kx @ A @ y, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(V, np.repeat((d - np.einsum("ij,jk,ik->i", Kx, A, Kx))[:, None], Z, 1), rtol=1e-8)
    assert r["mse"] == pytest.approx(((F - problem["y2"]) ** 2).sum() / M) and r["shape"] == [M, Z]
    assert r["train_mse"] == pytest.approx(((K @ A @ y - y) ** 2).sum() / N)
    assert r["norm"] == pytest.approx(np.sqrt(np.trace(y.T @ A @ y))) and r["rank"] == r["order"] == N
    left = 0
    for i in range(N):
        rest = np.arange(N) != i
        c = np.linalg.solve(K[np.ix_(rest, rest)] + 0.16 * np.eye(N - 1), y[rest])
        left += ((K[i, rest] @ c - y[i]) ** 2).sum() / N
    assert r["leave_one_out_mse"] == pytest.approx(left, rel=1e-9)


def test_without_a_ridge(regress, problem):
    """The training points are met; the new points are the training points where none are given."""
    r, F, V = regress("--data", "x.npy", "--targets", "y.npy", "--depth", 2, "--variance", "v.npy")
    np.testing.assert_allclose(F, problem["y"], atol=1e-9)
    assert r["mse"] < 1e-16 and V.max() < 1e-9 and r["mse_of_the_mean"] == pytest.approx(problem["y"].var(0).sum())


def test_given_kernel(regress, good, save, problem, tmp_path):
    """A kernel of the user's own; a singular one by its pseudo-inverse."""
    x, t, y = problem["x"], problem["t"], problem["y"]
    save(K=x @ x.T, Kx=t @ x.T, d=(t**2).sum(1))
    own = ["--kernel-matrix", "K.npy", "--targets", "y.npy", "--test-kernel", "Kx.npy"]
    r, F, V = regress(*own, "--ridge", 0.5, "--test-diagonal", "d.npy", "--variance", "v.npy")
    B = np.linalg.solve(x.T @ x + 0.5 * np.eye(D), x.T @ y)
    np.testing.assert_allclose(F, t @ B, atol=1e-11)
    np.testing.assert_allclose(V[:, 0], 0.5 * np.einsum("ij,jk,ik->i", t, np.linalg.inv(x.T @ x + 0.5 * np.eye(D)), t), atol=1e-11)
    r, F, _ = regress(*own)
    np.testing.assert_allclose(F, t @ np.linalg.lstsq(x, y, rcond=None)[0], atol=1e-9)
    assert (r["rank"], r["order"], r["leave_one_out_mse"]) == (D, N, None)
    assert r["train_mse"] == pytest.approx(((x @ np.linalg.lstsq(x, y, rcond=None)[0] - y) ** 2).sum() / N)
    assert "rank 3 of 14" in good("regress", *own)


def decay(K, t):
    values, U = np.linalg.eigh(K)
    return (U * np.exp(-values * t)) @ U.T


def test_flow_at_infinite_width(regress, ntk, problem):
    """f = Theta_x Theta^-1 (1 - e^{-Theta t}) Y, and the variance of trained networks (Lee 2019, eq. 16)."""
    r, F, V = regress(*POINTS, "--method", "flow", "--time", 0.7, "--depth", 2, "--variance", "v.npy")
    K, Kx, _ = kernels(ntk, "analytic", "--depth", 2)
    G, Gx, g = kernels(ntk, "nngp", "--depth", 2)
    B = Kx @ np.linalg.solve(K, np.eye(N) - decay(K, 0.7))
    np.testing.assert_allclose(F, B @ problem["y"], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(V[:, 1], g - 2 * np.einsum("ij,ij->i", B, Gx) + np.einsum("ij,jk,ik->i", B, G, B), rtol=1e-8)
    assert r["largest_eigenvalue"] == pytest.approx(np.linalg.eigvalsh(K)[-1])
    end = regress(*POINTS, "--method", "flow", "--depth", 2)[1]
    np.testing.assert_allclose(end, Kx @ np.linalg.solve(K, problem["y"]), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("zero", [[], ["--from-zero"]])
def test_flow_of_a_network(regress, ntk, problem, tmp_path, rng, zero):
    """The linearised network of two outputs, coupled by its kernel; --from-zero takes the random start away."""
    V, W = rng.normal(size=(20, D)), rng.normal(size=(20, Z))
    np.savez(tmp_path / "net.npz", V=V, W=W)
    _, F, _ = regress(*POINTS, "--method", "flow", "--kernel", "empirical", "--time", 0.3, "--activation", "tanh", "--init",
                      "net.npz", *zero)
    net = ["--init", "net.npz", "--activation", "tanh", "--layout", "full"]
    flat = lambda K: K.transpose(0, 2, 1, 3).reshape(K.shape[0] * Z, -1)
    K, Kx = flat(ntk("--data", "x.npy", *net)), flat(ntk("--data", "t.npy", "--data2", "x.npy", *net))
    f = lambda x: 0 if zero else (np.tanh(x @ V.T) @ W / np.sqrt(20)).ravel()
    residual = problem["y"].ravel() - f(problem["x"])
    want = f(problem["t"]) + Kx @ np.linalg.solve(K, (np.eye(N * Z) - decay(K, 0.3)) @ residual)
    np.testing.assert_allclose(F.ravel(), want, rtol=1e-7, atol=1e-9)


def test_descent(regress, problem, tmp_path, rng):
    """Steps on the network by hand; the rate that is chosen is safe; too large a one is an outcome."""
    V, W = rng.normal(size=(20, D)), rng.normal(size=(20, Z))
    np.savez(tmp_path / "net.npz", V=V, W=W)
    net = ["--method", "descent", "--init", "net.npz", "--activation", "tanh"]
    r, F, _ = regress(*POINTS, *net, "--rate", 0.02, "--epochs", 25)
    for _ in range(25):
        H = np.tanh(problem["x"] @ V.T)
        R = (H @ W / np.sqrt(20) - problem["y"]) / np.sqrt(20)
        V, W = V - 0.02 * ((R @ W.T) * (1 - H**2)).T @ problem["x"], W - 0.02 * H.T @ R
    np.testing.assert_allclose(F, np.tanh(problem["t"] @ V.T) @ W / np.sqrt(20), rtol=1e-9, atol=1e-11)
    assert r["status"] == "done" and r["train_mse"] == pytest.approx(2 * r["loss"] / N)
    auto = regress(*POINTS, *net, "--epochs", 200)[0]
    assert auto["rate"] == pytest.approx(1 / auto["largest_eigenvalue"]) and auto["loss"] < r["loss"]


def test_too_fast(good, problem, tmp_path):
    """A descent that diverges says so, names the rate it can take and writes nothing."""
    out = good("regress", *POINTS, "--method", "descent", "--activation", "linear", "--rate", 50, "--epochs", 100, "--width", 50)
    assert "diverged at rate 50: it has to be below about" in out and "not written" in out
    assert not (tmp_path / "predictions.npy").exists()


def test_wide_networks_come_close_to_their_limit(regress, problem):
    """The mean over networks, from zero, tends to the flow at infinite width: a second way to everything above."""
    one = [*POINTS, "--method", "flow", "--time", 1.5, "--activation", "erf"]
    limit = regress(*one)[1]
    far = []
    for width in (100, 6400):
        F = regress(*one, "--kernel", "empirical", "--width", width, "--from-zero")[1]
        far.append(np.linalg.norm(F - limit) / np.linalg.norm(limit))
    assert far[1] < 0.1 and far[1] < far[0] / 3


def test_labels(good, regress):
    """Digits: labels become columns, predictions are near them, the text says how good they are."""
    args = ["--data", "digits", "--samples", 200, "--test", "digits:test", "--test-samples", 100, "--ridge", 0.01]
    r, F, _ = regress(*args)
    assert F.shape == (100, 10) and r["accuracy"] > 0.8 and r["mse"] < r["mse_of_the_mean"] / 2
    np.testing.assert_allclose(F.sum(1), 1, atol=1e-9)  # columns sum to 1, as those of the labels do
    assert f"accuracy {100 * r['accuracy']:.4g} %" in good("regress", *args)


def test_centre(regress, save, problem):
    """A constant is learnt exactly with --centre, and not without."""
    save(y=problem["y"] + 1000)
    with_it, without = (regress("--data", "x.npy", "--targets", "y.npy", "--test", "t.npy", "--ridge", 1, *more)[1]
                        for more in (["--centre"], []))
    plain = np.abs(with_it - 1000).max()
    assert plain < 10 < np.abs(without - 1000).max()


@pytest.mark.parametrize("args, word", [
    ([], "--data"),
    (["--data", "x.npy"], "--targets"),
    (["--data", "x.npy", "--targets", "short.npy"], "13 rows for 14"),
    (["--data", "x.npy", "--targets", "y.npy", "--test", "wide.npy"], "dimension 4"),
    (["--data", "x.npy", "--targets", "y.npy", "--test", "t.npy", "--test-targets", "y.npy"], "new points"),
    (["--data", "x.npy", "--targets", "y.npy", "--ridge", 1, "--noise", 1], "give one of them"),
    (["--data", "x.npy", "--targets", "y.npy", "--method", "flow", "--ridge", 1], "no ridge"),
    (["--data", "x.npy", "--targets", "y.npy", "--time", 1], "--method flow"),
    (["--data", "x.npy", "--targets", "y.npy", "--epochs", 5], "--method descent"),
    (["--data", "x.npy", "--targets", "y.npy", "--from-zero"], "--from-zero"),
    (["--data", "x.npy", "--targets", "y.npy", "--method", "descent", "--variance", "v.npy"], "no variance"),
    (["--data", "x.npy", "--targets", "y.npy", "--method", "flow", "--kernel", "empirical", "--variance", "v.npy"], "no variance"),
    (["--data", "x.npy", "--targets", "y.npy", "--kernel", "empirical", "--outputs", 3], "2 columns"),
    (["--data", "x.npy", "--targets", "y.npy", "--kernel-matrix", "K.npy"], "one of them"),
    (["--data", "x.npy", "--targets", "y.npy", "--test-kernel", "K.npy"], "--kernel-matrix"),
    (["--kernel-matrix", "K.npy", "--targets", "y.npy"], "--test-kernel"),
    (["--kernel-matrix", "K.npy", "--targets", "y.npy", "--test-kernel", "x.npy"], "3 columns"),
    (["--kernel-matrix", "x.npy", "--targets", "y.npy", "--test-kernel", "x.npy"], "square"),
    (["--kernel-matrix", "skew.npy", "--targets", "y.npy", "--test-kernel", "K.npy"], "symmetric"),
    (["--kernel-matrix", "minus.npy", "--targets", "y.npy", "--test-kernel", "K.npy"], "negative eigenvalues"),
    (["--kernel-matrix", "K.npy", "--targets", "y.npy", "--test-kernel", "K.npy", "--method", "descent"], "--data"),
    (["--kernel-matrix", "K.npy", "--targets", "y.npy", "--test-kernel", "K.npy", "--variance", "v.npy"], "--test-diagonal"),
    (["--data", "x.npy", "--targets", "nan.npy"], "nan.npy"),
    (["--data", "x.npy", "--targets", "y.npy", "--out", "y.npy"], "overwritten"),
    (["--data", "x.npy", "--targets", "y.npy", "--ridge", -1], "--ridge"),
    (["--data", "digits", "--memory", "10M"], "--samples"),
])
def test_bad_input(ep, save, problem, args, word):
    """One line that says what is wrong and what to do; status 2."""
    nan = problem["y"].copy()
    nan[3, 1] = np.nan
    save(short=problem["y"][1:], wide=np.ones((5, 4)), K=np.eye(N), skew=np.triu(np.ones((N, N))), nan=nan,
         minus=np.diag(np.arange(N) - 5.0))
    code, out, err = ep("regress", *args)
    assert (code, out) == (2, "") and err.count("\n") == 1 and err.startswith("eigenpair regress: ") and word in err


@pytest.mark.parametrize("more", [["--ridge", 0.1], ["--method", "flow", "--time", 1], ["--method", "descent", "--width", 300]],
                         ids=lambda m: m[-1])
def test_same_for_any_thread_count(good, more, tmp_path):
    """The same predictions to rounding with one thread and with two; the same bits with the same number of them."""
    seen = []
    for threads, name in ((1, "a"), (2, "b"), (2, "c")):
        good("regress", "--data", "digits", "--samples", 60, "--test", "digits:test", "--test-samples", 20, *more, "--threads", threads,
             "--out", f"{name}.npy", *(["--epochs", 20] if "descent" in more else []))
        seen.append(np.load(tmp_path / f"{name}.npy"))
    np.testing.assert_allclose(seen[0], seen[1], atol=1e-9)
    assert np.array_equal(seen[1], seen[2])
