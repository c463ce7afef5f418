"""`eigenpair learnability` against NumPy: kernels, spectra, prediction, regression from drawn sets."""
import json
import re

import numpy as np
import pytest
from conftest import refuse


@pytest.fixture
def learn(good):
    """`eigenpair learnability --json` -> the result."""
    return lambda *args: json.loads(good("learnability", "--json", *args), parse_constant=refuse)


def relu_ntk(X, depth=1, bias=0.0):
    P = X @ X.T + bias
    T = P.copy()
    for layer in range(depth):
        n = np.sqrt(np.diag(P))
        c = np.clip(P / np.outer(n, n), -1, 1)
        t = np.arccos(c)
        np.fill_diagonal(t, 0)  # where arccos has half the digits
        b = bias if layer < depth - 1 else 0
        S, slope = np.outer(n, n) * (np.sin(t) + (np.pi - t) * c) / (2 * np.pi), (np.pi - t) / (2 * np.pi)
        P, T = S + b, S + T * slope + b
    return T


def cube(d):
    return np.array([[1.0 if i >> j & 1 else -1.0 for j in range(d)] for i in range(2**d)])


def predict(values, power, n, ridge=0.0, variance=0.0):
    """kappa by bisection, learnabilities, E, plainly."""
    low, high = -700.0, 50.0
    for _ in range(300):
        k = np.exp((low + high) / 2)
        total = (values / (values + k)).sum() + ridge / k
        low, high = ((low + high) / 2, high) if total > n else (low, (low + high) / 2)
    L = values / (values + k)
    return k, L, n / (n - (L**2).sum()) * (((1 - L) ** 2 * power).sum() + variance)


def test_cube_as_published(learn):
    r = learn("--data", "cube:8", "--train", 32)
    assert len(r["eigenvalues"]) == len(r["learnability"]) == 256
    assert r["kappa"] == pytest.approx(0.0069837531, abs=5e-11)
    by_degree = [0.1912546689, 0.0625, 0.0087732537, 0, 0.0007250203, 0, 0.0004281137, 0, 0.0003556219]
    assert [x["eigenvalue"] for x in r["levels"]] == pytest.approx(by_degree, abs=5e-11)
    assert [x["multiplicity"] for x in r["levels"]] == [1, 8, 28, 56, 70, 56, 28, 8, 1]
    assert [r["learnability"][i] for i in (0, 1, 9)] == pytest.approx([0.964771, 0.899491, 0.556784], abs=5e-7)
    assert r["overfitting"] == pytest.approx(2.105077, abs=5e-7)
    assert sum(r["learnability"]) == pytest.approx(32, abs=1e-9)
    assert r["eigenvalues"] == sorted(r["eigenvalues"], reverse=True)


@pytest.mark.parametrize("ridge, noise", [(0, 0), (0.3, 0.5)])
def test_kernel_matrix(learn, save, rng, ridge, noise):
    """Eigenvalues of K/M, kappa, learnability, error with any K and f."""
    K = relu_ntk(rng.normal(size=(50, 4)), 2, 0.1)
    f = rng.normal(size=50)
    save(K=K, f=f)
    r = learn("--kernel-matrix", "K.npy", "--train", 20, "--target", "f.npy", "--ridge", ridge, "--noise", noise)
    values, U = np.linalg.eigh(K / 50)
    power = (U.T @ f) ** 2 / 50
    kappa, L, mse = predict(values, power, 20, ridge, noise**2)
    np.testing.assert_allclose(r["eigenvalues"], values[::-1], rtol=1e-9)
    np.testing.assert_allclose(r["learnability"], L[::-1], rtol=1e-8)
    assert r["kappa"] == pytest.approx(kappa, rel=1e-9) and r["predicted_mse"] == pytest.approx(mse, rel=1e-9)
    assert r["target_learnability"] == pytest.approx((L * power).sum() / power.sum(), rel=1e-9)
    assert r["predicted_train_mse"] == pytest.approx((ridge / (20 * kappa)) ** 2 * mse, rel=1e-8)
    assert r["target_norm2"] == pytest.approx((f**2).mean())


def test_flat(learn, save):
    """L = n/M, error 1 - n/M, predicted and measured, for any function."""
    save(K=3 * np.eye(40), f=np.arange(40.0) / np.sqrt((np.arange(40.0) ** 2).mean()))
    for target in [], ["--target", "f.npy"]:
        r = learn("--kernel-matrix", "K.npy", "--train", 10, "--measure", 200, *target)
        assert r["learnability"] == pytest.approx([0.25] * 40) and r["predicted_mse"] == pytest.approx(0.75)
        assert r["measured"]["mse"] == pytest.approx(0.75, abs=0.03)
        assert r["measured"]["sum"] == pytest.approx(10, abs=1e-8)


def test_measured_by_numpy(learn, save):
    """n = M - 1: every set leaves one point out, so the measurement is the mean over some of M known outcomes."""
    X = cube(3) / np.sqrt(3)
    f = np.array([1.0, -2, 0.5, 3, 1, 1, -1, 0])
    save(f=f)
    K = relu_ntk(X, 2)
    outcomes = []
    for out in range(8):
        D = [i for i in range(8) if i != out]
        h = K[:, D] @ np.linalg.solve(K[np.ix_(D, D)], f[D])
        outcomes.append(((h - f) ** 2).mean())
    r = learn("--data", "cube:3", "--depth", 2, "--train", 7, "--target", "f.npy", "--measure", 1)
    assert min(abs(r["measured"]["mse"] - np.array(outcomes))) < 1e-12
    r = learn("--data", "cube:3", "--depth", 2, "--train", 7, "--target", "f.npy", "--measure", 3000)
    assert r["measured"]["mse"] == pytest.approx(np.mean(outcomes), abs=4 * r["measured"]["mse_error"])
    assert r["measured"]["predicted_mse"] == r["measured"]["mse"]
    assert sum(r["measured"]["learnability"]) == pytest.approx(7, abs=1e-8)


@pytest.mark.parametrize("data, depth", [("cube:8", 2), ("sphere:8", 2), ("cube:8", 1), ("sphere:8", 1)])
def test_prediction_within_ten_percent(learn, data, depth):
    r = learn("--data", data, "--depth", depth, "--trains", "32,64", "--target", "degree:1,2", "--measure", 100)
    for at in r["curve"]:
        assert at["predicted_mse"] == pytest.approx(at["measured"]["mse"], rel=0.1)
        assert at["target_learnability"] == pytest.approx(at["measured"]["target_learnability"], abs=0.03)


@pytest.mark.parametrize("data", ["circle:40", "circle:41", "cube:5"])
def test_symmetry_is_the_dense_problem(learn, good, save, tmp_path, rng, data):
    M = {"circle:40": 40, "circle:41": 41, "cube:5": 32}[data]
    a = 2 * np.pi * np.arange(M) / M
    X = cube(5) / np.sqrt(5) if data == "cube:5" else np.stack([np.cos(a), np.sin(a)], 1)
    save(K=relu_ntk(X, 2), f=rng.normal(size=(M, 2)))
    args = ["--train", 12, "--ridge", 0.01, "--target", "f.npy", "--measure", 3, "--seed", 4]
    r, q = learn("--data", data, "--depth", 2, *args), learn("--kernel-matrix", "K.npy", *args)
    np.testing.assert_allclose(r["eigenvalues"], q["eigenvalues"], rtol=1e-9, atol=1e-15)
    for key in "kappa", "predicted_mse", "target_learnability", "predicted_train_mse", "predicted_unseen_mse":
        assert r[key] == pytest.approx(q[key], rel=1e-9)
    for key in "mse", "kappa", "target_learnability", "train_mse", "unseen_mse", "gcv_mse", "sum", "rank":
        assert r["measured"][key] == pytest.approx(q["measured"][key], rel=1e-8)


def test_a_million_points(learn):
    for data in "circle:1048576", "cube:20":
        r = learn("--data", data, "--depth", 2, "--train", 100, "--target", "degree:2", "--modes", 1000)
        assert r["points"] == 1048576 and len(r["eigenvalues"]) == 1000
        assert r["sum"] == pytest.approx(100) and 0 < r["predicted_mse"] < 1


def test_scale_raw(learn):
    """The corners of {-1, 1}^d as they are: the kernel of relu grows with |x|^2."""
    unit, raw = (learn("--data", "cube:5", "--train", 8, "--scale", s) for s in ("unit", "raw"))
    np.testing.assert_allclose(raw["eigenvalues"], 5 * np.array(unit["eigenvalues"]), atol=1e-13)
    same = learn("--data", "cube:5", "--train", 8, "--scale", "raw", "--input-scale")
    np.testing.assert_allclose(same["eigenvalues"], unit["eigenvalues"], atol=1e-14)


@pytest.mark.parametrize("phi", ["relu", "leaky", "tanh", "sigmoid", "erf", "linear", "gelu", "sin", "cos", "monomial",
                                 "exp", "csoftplus"])
@pytest.mark.parametrize("kernel", ["analytic", "nngp"])
def test_every_activation(learn, phi, kernel):
    for data in "cube:4", "sphere:3", "circle:20":
        r = learn("--data", data, "--train", 5, "--activation", phi, "--kernel", kernel, "--depth", 2, "--measure", 2,
                  "--ridge", 0.01, "--modes", 500)
        assert r["kappa"] > 0 and min(r["eigenvalues"]) >= 0 and r["measured"]["mse"] > 0


def test_labels_of_data(learn, good):
    """Digits: labels are the target, predictions within 10 %, accuracy far above chance, a sentence."""
    r = learn("--data", "digits", "--samples", 400, "--trains", "20,50,100,200", "--measure", 10)
    assert [c["train"] for c in r["curve"]] == [20, 50, 100, 200] and r["train"] == 200
    for c in r["curve"]:
        assert c["predicted_mse"] == pytest.approx(c["measured"]["mse"], rel=0.1)
    errors = [c["predicted_unseen_mse"] for c in r["curve"]]
    assert errors == sorted(errors, reverse=True)
    assert r["measured"]["accuracy"] > 0.75 and "labels right" in r["answer"]
    assert {f["name"] for f in r["figures"]} == {"accuracy", "learning-curve", "learnability"}
    text = good("learnability", "--data", "digits", "--samples", 200, "--measure", 2)
    assert re.search(r"^From \d+ points the kernel learns .* of the labels", text, re.M)


def test_beyond_the_data(learn, good, tmp_path):
    """From 300 digits what 1,200 would bring. At all 300 the error on new points is GCV's, by NumPy; E(2M)^2 / E(4M) is that.
    What 1,200 do bring, at 800 others, is measured by NumPy too."""
    r = learn("--data", "digits", "--samples", 300, "--trains", "100,600,1200")
    near, far = r["curve"][1:]
    assert r["train"] == 100 and "beyond" not in r["curve"][0] and r["curve"][0]["target_learnability"] > 0
    assert far["target_learnability"] is None and far["beyond"]["low"] < far["predicted_unseen_mse"] < far["beyond"]["high"]
    assert far["kappa"] < near["kappa"] < r["kappa"] and " from 1200 (" in r["answer"] and "by the law" in r["answer"]
    for samples, name in (300, "few"), (0, "all"):
        good("data", "convert", "--data", "digits", "--samples", samples, "--out", f"{name}.npy", "--labels-out", f"{name}y.npy")
    def points(name):
        X = np.load(tmp_path / f"{name}.npy").astype(float).reshape(-1, 784)
        F = np.eye(10)[np.load(tmp_path / f"{name}y.npy")]
        return relu_ntk(X / np.linalg.norm(X, axis=1, keepdims=True)), F - F.mean(axis=0)
    K, F = points("few")
    A = np.linalg.inv(K)
    assert near["predicted_mse"] ** 2 / far["predicted_mse"] == pytest.approx(300 * ((A @ F) ** 2).sum() / np.trace(A) ** 2, rel=1e-6)
    K, F = points("all")
    P = K[1200:, :1200] @ np.linalg.solve(K[:1200, :1200], F[:1200])
    assert far["predicted_unseen_mse"] == pytest.approx(((P - F[1200:]) ** 2).sum(axis=1).mean(), rel=0.15)
    text = good("learnability", "--data", "digits", "--samples", 100, "--trains", "50,200")
    assert re.search(r"^ +200 +- .* beyond the data: ", text, re.M)


def test_labels_of_files(learn, save, rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60, dtype=np.int32) % 2
    X[:, 0] += 3 * y
    save(x=X, y=y, K=relu_ntk(X, 1, 0))
    a = learn("--data", "x.npy", "--labels", "y.npy", "--train", 20, "--measure", 5)
    b = learn("--kernel-matrix", "K.npy", "--labels", "y.npy", "--train", 20, "--measure", 5)
    assert a["measured"]["accuracy"] > 0.75
    assert a["target_norm2"] == pytest.approx(0.5) and a["predicted_mse"] == pytest.approx(b["predicted_mse"])
    assert a["measured"]["accuracy"] == b["measured"]["accuracy"]


def test_same_seed_same_bits_and_file(good, tmp_path):
    args = ["learnability", "--json", "--data", "sphere:4", "--train", 20, "--measure", 3, "--modes", 500, "--threads", 1,
            "--out", "r.json"]
    first = good(*args)
    assert first == good(*args) == (tmp_path / "r.json").read_text() + "\n"
    assert first != good(*args, "--seed", 1)


def test_rank_deficient(learn, good):
    """More points than rank: the sum of learnabilities is the rank, and the answer says so."""
    args = ["--data", "cube:6", "--train", 50, "--measure", 5]
    r = learn(*args)
    assert r["rank"] == 38 and r["kappa"] == 0 and r["sum"] == 38
    assert r["measured"]["sum"] == pytest.approx(r["measured"]["rank"], abs=1e-8)
    assert r["measured"]["rank"] < 38.5 and "singular" in r["answer"]


def test_single_precision_kernel(learn, good, save):
    """A kernel from `ntk` in single precision: rank by its rounding, not by that of double."""
    save(x=cube(6) / np.sqrt(6))
    good("ntk", "--data", "x.npy", "--kernel", "analytic", "--out", "K.npy")
    assert learn("--kernel-matrix", "K.npy", "--train", 10)["rank"] == 38


BAD = {
    "nothing": ([], "--data"),
    "both": (["--data", "cube:3", "--kernel-matrix", "K.npy"], "--kernel-matrix"),
    "not square": (["--kernel-matrix", "wide.npy"], "square"),
    "not symmetric": (["--kernel-matrix", "odd.npy", "--train", 2], "symmetric"),
    "not positive": (["--kernel-matrix", "minus.npy", "--train", 2], "positive"),
    "not finite": (["--kernel-matrix", "nan.npy", "--train", 2], "nan.npy"),
    "missing kernel": (["--kernel-matrix", "none.npy"], "none.npy"),
    "zero kernel": (["--kernel-matrix", "zero.npy", "--train", 1], "kernel"),
    "missing target": (["--data", "cube:3", "--train", 2, "--target", "none.npy"], "none.npy"),
    "target of another size": (["--data", "cube:3", "--train", 2, "--target", "f.npy"], "target"),
    "target of the sphere": (["--data", "sphere:3", "--train", 2, "--target", "f.npy"], "sphere"),
    "target of zeros": (["--data", "cube:2", "--train", 2, "--target", "zeros.npy"], "target"),
    "degree past the last": (["--data", "cube:3", "--train", 2, "--target", "degree:4"], "degree"),
    "degree twice": (["--data", "cube:3", "--train", 2, "--target", "degree:1,1"], "degree"),
    "degree that is none": (["--data", "cube:3", "--train", 2, "--target", "degree:x"], "degree"),
    "no degree": (["--data", "cube:3", "--train", 2, "--target", "degree:"], "degree"),
    "degree of data": (["--data", "moons", "--train", 2, "--target", "degree:1"], "degree"),
    "more than all points": (["--data", "cube:3", "--train", 9], "9"),
    "more than a whole domain": (["--data", "cube:3", "--trains", 9], "9"),
    "more than a random function has": (["--data", "few.npy", "--trains", 9], "9"),
    "more than so few tell": (["--data", "few.npy", "--target", "K.npy", "--trains", 9], "too few"),
    "bad trains": (["--data", "cube:3", "--trains", "2,x"], "--trains"),
    "half a point": (["--data", "cube:3", "--trains", "2.5"], "2.5"),
    "negative ridge": (["--data", "cube:3", "--train", 2, "--ridge", -1], "--ridge"),
    "unknown kernel": (["--data", "cube:3", "--kernel", "rbf"], "kernel"),
    "unknown activation": (["--data", "cube:3", "--train", 2, "--activation", "swish"], "activation"),
    "cube too large": (["--data", "cube:31", "--train", 2], "31"),
    "sphere too small": (["--data", "sphere:1", "--train", 2], "sphere"),
    "too many points for memory": (["--data", "digits", "--memory", "1M"], "--memory"),
    "too many training points": (["--data", "cube:20", "--train", 100000, "--measure", 1], "--memory"),
    "circle too large for memory": (["--data", "circle:10000000", "--train", 2, "--memory", "100M"], "--memory"),
    "labels of another size": (["--kernel-matrix", "K.npy", "--labels", "y.npy", "--train", 2], "labels"),
    "missing folder": (["--data", "cube:3", "--train", 2, "--out", "no/r.json"], "no/r.json"),
    "stray word": (["--data", "cube:3", "--train", 2, "cube:4"], "cube:4"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input(ep, save, tmp_path, what):
    nan, odd = np.eye(4), np.eye(4)
    nan[1, 1], odd[1, 2] = np.nan, 1
    save(few=np.eye(4), K=np.eye(4), wide=np.ones((3, 4)), odd=odd, minus=-np.eye(4), nan=nan, zero=np.zeros((4, 4)), f=np.ones(5),
         zeros=np.zeros(4), y=np.arange(3, dtype=np.int32))
    args, word = BAD[what]
    before = sorted(p.name for p in tmp_path.iterdir())
    code, out, err = ep("learnability", *args)
    assert (code, out) == (2, "") and err.count("\n") == 1, (code, out, err)
    assert err.startswith("eigenpair learnability: ") and word in err
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_the_sum_is_the_rank_on_the_sphere(good):
    """A linear kernel on the sphere of R^5 has rank 5, however many points it is given; an invertible one has their
    number."""
    for activation, want in ("linear", 5), ("relu", 20):
        r = json.loads(good("learnability", "--data", "sphere:5", "--activation", activation, "--train", 20, "--measure", 5,
                            "--modes", 500, "--json"))
        assert r["measured"]["rank"] == want and abs(r["measured"]["sum"] - want) < 1e-6
