"""`eigenpair probe`: classifiers on an embedding and numbers without labels; judged by NumPy."""
import json
import re
import signal
import struct
import subprocess

import numpy as np
import pytest

from conftest import refuse, wait_until_at_work

LABELS = np.array([-3, 4, 70])


@pytest.fixture
def probe(good):
    return lambda *args: json.loads(good("probe", "--json", *args), parse_constant=refuse)


@pytest.fixture
def clouds(rng, save):
    """Three clouds that overlap, in e.npy, y.npy and t.npy, ty.npy."""

    def make(n=240, m=90, dim=6, noise=1.0, dtype=float):
        centres = rng.normal(size=(3, dim)) * 1.2
        c, d = rng.integers(0, 3, n), rng.integers(0, 3, m)
        X = (centres[c] + noise * rng.normal(size=(n, dim)) + 5).astype(dtype)
        T = (centres[d] + noise * rng.normal(size=(m, dim)) + 5).astype(dtype)
        save(e=X, y=LABELS[c], t=T, ty=LABELS[d])
        return X, c, T, d

    return make


TEST = ["--embedding", "e.npy", "--labels", "y.npy", "--test-embedding", "t.npy", "--test-labels", "ty.npy"]


# ---- references

def logistic(X, c, ridge, classes=3):
    """Newton on the mean cross entropy + ridge/2 |W|^2, a last column of ones without a penalty."""
    A = np.c_[X, np.ones(len(X))]
    n, d = A.shape
    W, Y = np.zeros((classes, d)), np.eye(classes)[c]
    R = ridge * np.diag(np.r_[np.ones(d - 1), 0.0])
    for _ in range(50):
        S = A @ W.T
        P = np.exp(S - S.max(1, keepdims=True))
        P /= P.sum(1, keepdims=True)
        G = (P - Y).T @ A / n + W @ R
        curve = P[:, :, None] * (np.eye(classes) - P[:, None, :])
        H = np.einsum("nij,na,nb->iajb", curve, A, A, optimize=True).reshape(classes * d, classes * d) / n
        W = W - np.linalg.lstsq(H + np.kron(np.eye(classes), R), G.ravel(), rcond=1e-12)[0].reshape(classes, d)
    return lambda T: (np.c_[T, np.ones(len(T))] @ W.T).argmax(1)


def svm(X, c, cost, classes=3):
    """Newton on 1/2 |w|^2 + cost sum max(0, 1 - y w'x)^2, one class against the rest."""
    A, W = np.c_[X, np.ones(len(X))], []
    for k in range(classes):
        y, w = np.where(c == k, 1.0, -1.0), np.zeros(X.shape[1] + 1)
        for _ in range(100):
            on = y * (A @ w) < 1
            g = w - 2 * cost * A[on].T @ (y[on] - A[on] @ w)
            w = w - np.linalg.solve(np.eye(len(w)) + 2 * cost * A[on].T @ A[on], g)
        W.append(w)
    return lambda T: (np.c_[T, np.ones(len(T))] @ np.array(W).T).argmax(1)


def unit(X):
    norm = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norm > 0, norm, 1)


def knn(X, c, k, temperature, T, own=False, classes=3):
    S = unit(T) @ unit(X).T
    if own:
        np.fill_diagonal(S, -2)
    near = np.argsort(-S, axis=1, kind="stable")[:, :k]
    votes = np.zeros((len(T), classes))
    for i, row in enumerate(near):
        np.add.at(votes[i], c[row], np.exp(S[i, row] / temperature))
    return votes.argmax(1)


def standard(X, T):
    sd = X.std(0)
    scale = np.where(sd > 0, 1 / np.where(sd > 0, sd, 1), 0)
    return (X - X.mean(0)) * scale, (T - X.mean(0)) * scale


def confusion(d, found, classes=3):
    C = np.zeros((classes, classes), int)
    np.add.at(C, (d, found), 1)
    return C.tolist()


# ---- classifiers

def check(r, name, found, own, c, d):
    assert r["probe"] == name
    assert r["confusion"] == confusion(d, found)
    assert r["accuracy"] == pytest.approx(np.mean(found == d), abs=1e-12)
    assert r["train_accuracy"] == pytest.approx(np.mean(own == c), abs=1e-12)
    assert r["labels"] == LABELS.tolist() and r["converged"] and not r["held_out"]
    for k in range(3):
        assert r["class_accuracy"][k] == pytest.approx(np.mean(found[d == k] == k))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_linear_is_newtons_optimum(probe, clouds, save, dtype):
    """The classes are those of the exact minimum, on standardised points, one of whose dimensions is constant."""
    X, c, T, d = clouds(dtype=dtype)
    X[:, 2] = T[:, 2] = 0.1
    save(e=X, t=T)
    r = probe(*TEST, "--probe", "linear", "--ridge", 0.01, "--tolerance", 1e-6)
    A, B = standard(X.astype(float), T.astype(float))
    A[:, 2] = B[:, 2] = 0
    f = logistic(A, c, 0.01)
    check(r, "linear", f(B), f(A), c, d)
    assert r["standardised"] and 0 < r["iterations"] < 200


def test_svm_is_newtons_optimum(probe, clouds):
    X, c, T, d = clouds()
    r = probe(*TEST, "--probe", "svm", "--cost", 0.3, "--tolerance", 1e-6)
    A, B = standard(X, T)
    f = svm(A, c, 0.3)
    check(r, "svm", f(B), f(A), c, d)
    assert r["standardised"] and 0.5 < r["accuracy"] < 1


@pytest.mark.parametrize("k, temperature", [(1, 0.07), (20, 0.07), (15, 3.0), (10000, 0.5)])
@pytest.mark.parametrize("standardise", ["auto", "on"])
def test_knn(probe, clouds, k, temperature, standardise):
    """Votes of the nearest in angle; a training point is not its own neighbour."""
    X, c, T, d = clouds()
    r = probe(*TEST, "--probe", "knn", "--neighbours", k, "--temperature", temperature, "--standardise", standardise)
    A, B = standard(X, T) if standardise == "on" else (X, T)
    check(r, "knn", knn(A, c, k, temperature, B), knn(A, c, min(k, len(A) - 1), temperature, A, own=True), c, d)


def test_several_probes(probe, clouds):
    """The first one's results stand at the top; `probes` has them all in the order asked for."""
    clouds()
    r = probe(*TEST, "--probe", "knn,linear")
    alone = [probe(*TEST, "--probe", name) for name in ("knn", "linear")]
    assert [p["probe"] for p in r["probes"]] == ["knn", "linear"]
    for p, a in zip(r["probes"], alone):
        assert p["accuracy"] == a["accuracy"] and p["confusion"] == a["confusion"]
    assert r["accuracy"] == alone[0]["accuracy"] and r["train_accuracy"] == alone[0]["train_accuracy"]
    assert [p["probe"] for p in probe(*TEST, "--probe", "all")["probes"]] == ["linear", "svm", "knn", "ridge"]


def test_held_out_part(probe, good, clouds):
    """Without test points a share is kept for testing, by seed, and that is said."""
    clouds(n=200)
    args = ["--embedding", "e.npy", "--labels", "y.npy"]
    a, b, c = probe(*args), probe(*args), probe(*args, "--seed", 1)
    assert a["held_out"] and (a["train_points"], a["test_points"]) == (160, 40)
    assert a["confusion"] == b["confusion"] != c["confusion"]
    assert (probe(*args, "--holdout", 0.5)["test_points"]) == 100
    assert "tested on 40 held out with seed 0" in good("probe", *args)


def test_unseen_label(probe, good, clouds, save):
    """A label that no training point has is wrong, and said."""
    _, _, _, d = clouds()
    before = probe(*TEST)
    y = LABELS[d]
    y[:5] = 12
    save(ty=y)
    r = probe(*TEST)
    assert r["unseen_labels"] == 5 and np.sum(r["confusion"]) == len(d) - 5
    assert r["accuracy"] == pytest.approx(np.trace(r["confusion"]) / len(d))
    assert r["accuracy"] <= before["accuracy"]
    assert "5 test points have a label that no training point has" in good("probe", *TEST)


def test_digits(good, probe):
    """A set of images by name on both sides: raw pixels of digits are mostly told apart."""
    good("data", "convert", "--data", "digits", "--out", "x.npy")
    good("data", "convert", "--data", "digits:test", "--out", "t.npy")
    r = probe("--embedding", "x.npy", "--labels", "digits", "--test-embedding", "t.npy", "--test-labels", "digits:test",
              "--probe", "linear,knn")
    assert r["labels"] == list(range(10)) and r["converged"]
    assert all(0.85 < p["accuracy"] < 0.97 for p in r["probes"])
    assert not r["collapsed"]


@pytest.mark.parametrize("kind", ["csv", "idx", "npz"])
def test_label_files(probe, clouds, rng, save, tmp_path, kind):
    """Labels come in any format that the readers know."""
    clouds()
    y = np.load(tmp_path / "y.npy")
    y[y < 0] = 0
    save(y=y)
    expected = probe("--embedding", "e.npy", "--labels", "y.npy")
    name = f"labels.{kind}"
    if kind == "csv":
        (tmp_path / name).write_text("".join(f"{v}\n" for v in y))
    elif kind == "idx":
        (tmp_path / name).write_bytes(struct.pack(">BBBBI", 0, 0, 8, 1, len(y)) + y.astype(np.uint8).tobytes())
    else:
        np.savez(tmp_path / name, y=y, z=y)
        name += ":y"
    assert probe("--embedding", "e.npy", "--labels", name)["confusion"] == expected["confusion"]


# ---- metrics

def effective_rank(F):
    v = np.linalg.svd(F - F.mean(0), compute_uv=False) ** 2
    p = v[v > 0] / v.sum()
    return np.exp(-(p * np.log(p)).sum())


def uniformity(E):
    U = unit(E)
    D = ((U[:, None] - U[None]) ** 2).sum(-1)[np.triu_indices(len(U), 1)]
    return np.log(np.exp(-2 * D).mean())


@pytest.mark.parametrize("dtype, tol", [(np.float32, 1e-6), (np.float64, 1e-11)])
def test_metrics(probe, rng, save, ref, dtype, tol):
    """Every number against its definition, without labels."""
    E = (rng.normal(size=(300, 5)) @ rng.normal(size=(5, 5)) + 0.3).astype(dtype)
    P = (E + 0.2 * rng.normal(size=E.shape)).astype(dtype)
    E[17] = 0
    save(e=E, p=P)
    r = probe("--embedding", "e.npy", "--positives", "p.npy")
    E, P = E.astype(float), P.astype(float)
    C = np.abs(np.corrcoef(E.T)[np.triu_indices(5, 1)])
    expected = {"rankme": ref.rankme(E), "effective_rank": effective_rank(E), "uniformity": uniformity(E),
                "alignment": ((unit(E) - unit(P)) ** 2).sum(1).mean(), "correlation": C.mean(),
                "points": 300, "dimensions": 5, "dead_dimensions": 0, "uniformity_error": 0, "uniformity_points": 300}
    for name, value in expected.items():
        assert r[name] == pytest.approx(value, abs=tol), name
    sd = E.std(0)
    assert [r["spread"][k] for k in ("min", "median", "max")] == pytest.approx([sd.min(), np.median(sd), sd.max()], abs=tol)
    assert "accuracy" not in r and r["probes"] == [] and not r["collapsed"]


def test_no_positives_no_alignment(probe, clouds):
    clouds()
    r = probe(*TEST)
    assert "alignment" not in r and r["uniformity"] < 0


def test_drawn_uniformity(probe, good, rng, save):
    """Many points: a draw, with its error."""
    E = rng.normal(size=(2000, 3))
    save(e=E)
    args = ["--embedding", "e.npy", "--uniformity-points", 400]
    r, s = probe(*args), probe(*args, "--seed", 5)
    whole = probe("--embedding", "e.npy")["uniformity"]
    assert r["uniformity_points"] == 400 and r["uniformity"] != s["uniformity"]
    assert 0 < r["uniformity_error"] < 0.1
    for x in (r, s):
        assert abs(x["uniformity"] - whole) < 4 * x["uniformity_error"]
    assert "standard error" in good("probe", *args)


@pytest.mark.parametrize("case, says", [
    ("constant", "all points are the same"), ("zero", "all points are the same"),
    ("line", "collapsed in dimension"), ("full", "not collapsed")])
def test_collapse_is_said(probe, good, rng, save, case, says):
    E = {"constant": np.full((50, 8), 0.1), "zero": np.zeros((50, 8)),
         "line": rng.normal(size=(50, 1)) * rng.normal(size=8) + 1, "full": rng.normal(size=(50, 8))}[case]
    save(e=E, y=np.arange(50) % 2)
    r = probe("--embedding", "e.npy", "--labels", "y.npy", "--probe", "all")
    assert says in r["collapse"] and r["collapsed"] == (case != "full")
    assert f"collapse     {r['collapse']}" in good("probe", "--embedding", "e.npy")
    assert all(0 <= p["accuracy"] <= 1 for p in r["probes"])


# ---- what is printed and written

def test_text(good, clouds):
    """A person sees accuracies, where they come from, the confusion matrix and the collapse sentence."""
    clouds()
    out = good("probe", *TEST, "--probe", "all")
    for name in ("linear", "svm", "knn"):
        assert re.search(rf"^{name} +\d+\.\d\d % +\d+\.\d\d %", out, re.M)
        assert f"{name}: rows are true labels, columns found ones" in out
    assert "trained on 240 points, tested on 90; 3 classes" in out and "RankMe" in out and "collapse " in out


def test_many_classes_are_not_printed(good, probe, rng, save):
    save(e=rng.normal(size=(120, 4)), y=np.arange(120) % 30)
    args = ["--embedding", "e.npy", "--labels", "y.npy"]
    assert "rows are true labels" not in good("probe", *args)
    assert len(probe(*args)["confusion"]) == 30


def test_out(good, probe, clouds, tmp_path):
    """--out holds what --json prints, with the settings."""
    clouds()
    good("probe", *TEST, "--out", "r.json", "--neighbours", 7)
    r = json.loads((tmp_path / "r.json").read_text())
    assert r["config"]["neighbours"] == 7 and r["config"]["embedding"] == "e.npy"
    assert r["accuracy"] == probe(*TEST, "--neighbours", 7)["accuracy"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", r["version"]) and r["machine"]["cores"] >= 1


def test_not_converged_is_said(good, probe, clouds):
    clouds()
    assert not probe(*TEST, "--iterations", 1)["converged"]
    assert "NOT converged" in good("probe", *TEST, "--iterations", 1)


def test_same_bits(good, clouds):
    clouds()
    strip = lambda text: re.sub(r'"peak_memory".*', "", text)
    a, b = (strip(good("probe", *TEST, "--probe", "all", "--json")) for _ in range(2))
    assert a == b


def test_interrupted(call, rng, save):
    """SIGINT ends long work with status 130."""
    save(e=rng.normal(size=(40000, 200)).astype(np.float32), y=np.arange(40000) % 2)
    p = subprocess.Popen(**call("probe", "--embedding", "e.npy", "--labels", "y.npy", "--probe", "knn", "--threads", 1),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until_at_work(p, 0.5)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    assert (p.returncode, out) == (130, "") and "interrupted" in err


# ---- bad input

@pytest.mark.parametrize("args, says", [
    (["--labels", "y.npy"], "--embedding"),
    (["--embedding", "e.npy", "--probe", "linear"], "--probe needs --labels"),
    (["--embedding", "e.npy", "--labels", "short.npy"], "short.npy: 5 labels for the 240 points of e.npy"),
    (["--embedding", "e.npy", "--labels", "nothing.npy"], "nothing.npy"),
    (["--embedding", "nothing.npy"], "nothing.npy"),
    (["--embedding", "nan.npy", "--labels", "y.npy"], "nan.npy: row 4, column 2: is NaN"),
    (["--embedding", "e.npy", "--labels", "one.npy"], "all training points have the label 6"),
    (["--embedding", "e.npy", "--labels", "half.npy"], "whole numbers"),
    (["--embedding", "e.npy", "--labels", "circle"], "circle"),
    (["--embedding", "e.npy", "--labels", "y.npy", "--test-embedding", "t.npy"], "go together"),
    (["--embedding", "e.npy", "--labels", "y.npy", "--test-labels", "ty.npy"], "go together"),
    (["--embedding", "e.npy", "--test-embedding", "t.npy", "--test-labels", "ty.npy"], "needs --labels"),
    (["--embedding", "e.npy", "--labels", "y.npy", "--test-embedding", "wide.npy", "--test-labels", "ty.npy"],
     "wide.npy has 7 dimensions, e.npy has 6"),
    ([*TEST[:7], "y.npy"], "240 labels for the 90 points of t.npy"),
    (["--embedding", "e.npy", "--positives", "t.npy"], "positives are 90 x 6"),
    ([*TEST, "--probe", "forest"], "choose one of: linear, svm, knn"),
    ([*TEST, "--probe", ""], "choose one of"),
    ([*TEST, "--probe", "knn,knn,knn,knn,knn,knn,knn,knn,knn"], "at most 8"),
    ([*TEST, "--holdout", "1"], "out of range"),
    ([*TEST, "--neighbours", "0"], "out of range"),
    ([*TEST, "--out", "no/such/folder/r.json"], "cannot be written"),
    (["--embedding", "single.npy"], "two points"),
    (["--embedding", "empty.npy"], "holds no points"),
])
def test_bad_input(ep, clouds, save, tmp_path, args, says):
    """One line, status 2, nothing written."""
    X, *_ = clouds()
    bad = X.copy()
    bad[3, 1] = np.nan
    save(short=np.arange(5), nan=bad, one=np.full(240, 6), half=np.full(240, 0.5), wide=np.ones((90, 7)),
         single=np.ones((1, 3)), empty=np.ones((0, 3)))
    before = sorted(tmp_path.iterdir())
    code, out, err = ep("probe", *args)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("eigenpair probe: ") and says in err
    assert sorted(tmp_path.iterdir()) == before


def test_svm_keeps_to_memory(probe, clouds):
    """Defect 15: with and without room for a copy of the points the same machines come out."""
    clouds(n=4000)
    wide, narrow = (probe(*TEST, "--probe", "svm", "--memory", m)["probes"][0] for m in ("1G", "1M"))
    assert wide["converged"] and {k: v for k, v in wide.items() if k != "seconds"} == {k: v for k, v in narrow.items() if k != "seconds"}


# ---- ridge, and penalties that are chosen

def blobs(rng, n, d=12, classes=4):
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, d)) + 1.2 * np.eye(d)[y], y


def test_ridge_is_least_squares(probe, save, rng):
    """Weights by numpy.linalg.solve find the same classes."""
    X, y = blobs(rng, 300)
    T, yt = blobs(rng, 200)
    save(x=X, y=y, t=T, yt=yt)
    args = ["--embedding", "x.npy", "--labels", "y.npy", "--test-embedding", "t.npy", "--test-labels", "yt.npy"]
    r = probe(*args, "--probe", "ridge", "--penalty", "0.05", "--precision", "double")
    mean, sd = X.mean(0), X.std(0)
    Z, Zt = (np.c_[(a - mean) / sd, np.ones(len(a))] for a in (X, T))
    P = np.diag([0.05 * len(Z)] * 12 + [0])
    W = np.linalg.solve(Z.T @ Z + P, Z.T @ (2.0 * (y[:, None] == np.arange(4)) - 1))
    found = (Zt @ W).argmax(1)
    assert r["accuracy"] == pytest.approx((found == yt).mean(), abs=1e-12) and 0.5 < r["accuracy"] < 1
    assert r["penalty"] == 0.05 and r["train_accuracy"] == pytest.approx(((Z @ W).argmax(1) == y).mean(), abs=1e-12)


@pytest.mark.parametrize("name, option", [("ridge", "--penalty"), ("linear", "--ridge")])
def test_a_chosen_penalty(probe, save, rng, name, option):
    """auto is one of the grid; on few points in many dimensions of noise it beats the smallest one."""
    X, y = blobs(rng, 160, 100)
    T, yt = blobs(rng, 6000, 100)
    save(x=X, y=y, t=T, yt=yt)
    args = ["--embedding", "x.npy", "--labels", "y.npy", "--test-embedding", "t.npy", "--test-labels", "yt.npy"]
    chosen = probe(*args, "--probe", name, option, "auto")
    least = probe(*args, "--probe", name, option, "1e-6")
    assert chosen["penalty"] in [10.0 ** k for k in range(-6, 1)] or any(
        chosen["penalty"] == pytest.approx(10.0 ** k) for k in range(-6, 1))
    assert chosen["penalty"] > 1e-4 and chosen["accuracy"] > least["accuracy"]


def test_a_penalty_is_chosen_by_loss(probe, save, rng):
    """Classes far apart: every penalty has every held-out point right, and the smaller, the smaller the loss."""
    y = np.arange(300) % 3
    X = 50 * np.eye(3)[y] + rng.normal(size=(300, 3))
    save(x=X, y=y)
    r = probe("--embedding", "x.npy", "--labels", "y.npy", "--test-embedding", "x.npy", "--test-labels", "y.npy", "--ridge", "auto")
    assert r["accuracy"] == 1 and r["penalty"] == pytest.approx(1e-6)


def test_ridge_memory(ep, save, rng):
    """A cap that is kept, and a remedy."""
    save(x=rng.normal(size=(60, 900)), y=rng.integers(0, 2, 60))
    code, out, err = ep("probe", "--embedding", "x.npy", "--labels", "y.npy", "--probe", "ridge", "--memory", "10M")
    assert (code, out) == (2, "") and "--memory" in err
