"""Kernels, probes and the program's other commands from Python: the program's bits, and plain references."""
import json
import pickle

import eigenpair as ep
import numpy as np
import pytest

RNG = np.random.default_rng(5)


def network(M=40, D=12, Z=3, depth=1, phi="tanh"):
    net = {"V" if depth == 1 else f"V{i + 1}": RNG.normal(size=(M, D if i == 0 else M)) for i in range(depth)}
    return {**net, "W": RNG.normal(size=(M, Z)), "activation": phi}


def jacobian(net, x):
    """df/d(V, W) of f = M^{-1/2} W' tanh(V x), as rows of outputs"""
    V, W = net["V"], net["W"]
    h, root = np.tanh(V @ x), np.sqrt(len(V))
    rows = []
    for z in range(W.shape[1]):
        dV = np.outer(W[:, z] * (1 - h**2) / root, x)
        dW = np.zeros_like(W)
        dW[:, z] = h / root
        rows.append(np.concatenate([dV.ravel(), dW.ravel()]))
    return np.array(rows)


def test_ntk_is_the_jacobians(X):
    net, x, y = network(), X[:6], X[6:10]
    full = np.einsum("xip,yjp->xyij", [jacobian(net, a) for a in x], [jacobian(net, b) for b in y])
    np.testing.assert_allclose(ep.ntk(net, x, y), full, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ep.ntk(net, x, y, layout="diagonal"), np.einsum("xyii->xyi", full), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ep.ntk(net, x, y, layout="trace"), np.einsum("xyii->xy", full) / 3, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("layout", ["full", "diagonal", "trace"])
def test_ntk_bits(tmp_path, program, X, dtype, depth, layout):
    x, net = X.astype(dtype), network(depth=depth)
    arrays = {k: np.asarray(v, dtype) for k, v in net.items() if k != "activation"}
    np.savez(tmp_path / "net.npz", config=np.array(json.dumps({"activation": "tanh"})), **arrays)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", x[:7])
    precision = "double" if dtype == np.float64 else "single"
    for more, y in (([], None), (["--data2", "y.npy"], x[:7])):
        program("ntk", "--data", "x.npy", *more, "--init", "net.npz", "--layout", layout, "--precision", precision, "--out",
                "K.npy")
        K = np.load(tmp_path / "K.npy")
        ours = ep.ntk(net, x, y, layout=layout)
        assert ours.dtype == K.dtype == dtype and ours.shape == K.shape
        np.testing.assert_array_equal(ours, K)


def test_ntk_of_a_model(tmp_path, program, images):
    model = ep.Contrastive(width=30, epochs=2, n_components=2).fit(images)
    assert model.model_.unit
    model.save(tmp_path / "m.npz")
    np.save(tmp_path / "x.npy", images)
    program("ntk", "--data", "x.npy", "--init", "m.npz", "--layout", "trace", "--out", "K.npy")
    expected = np.load(tmp_path / "K.npy")
    for net in (model, model.model_, tmp_path / "m.npz"):
        np.testing.assert_array_equal(ep.ntk(net, images, layout="trace"), expected)


@pytest.mark.parametrize("kind, flag", [("ntk", "analytic"), ("nngp", "nngp")])
def test_analytic_bits(tmp_path, program, X, kind, flag):
    np.save(tmp_path / "x.npy", X)
    program("ntk", "--data", "x.npy", "--kernel", flag, "--depth", 3, "--activation", "erf", "--bias-variance", 0.1,
            "--input-scale", "--precision", "double", "--out", "K.npy")
    K = ep.analytic_kernel(X, kind=kind, depth=3, activation="erf", bias_variance=0.1, input_scale=True)
    np.testing.assert_array_equal(K, np.load(tmp_path / "K.npy"))
    assert ep.analytic_kernel(X.astype(np.float32)).dtype == np.float32
    part = ep.analytic_kernel(X, X[:5], kind=kind, depth=3, activation="erf", bias_variance=0.1, input_scale=True)
    np.testing.assert_allclose(K[:, :5], part, rtol=1e-13, atol=1e-14)


def test_relu_kernel_by_hand():
    """Depth 1, relu, unit vectors: NNGP = (sin t + (pi - t) cos t) / 2 pi, NTK = NNGP + x'y (pi - t) / 2 pi."""
    t = np.linspace(0, np.pi, 9)
    X = np.stack([np.cos(t), np.sin(t)], 1)
    nngp = (np.sin(t) + (np.pi - t) * np.cos(t)) / (2 * np.pi)
    np.testing.assert_allclose(ep.analytic_kernel(X, kind="nngp")[0], nngp, atol=1e-15)
    np.testing.assert_allclose(ep.analytic_kernel(X)[0], nngp + np.cos(t) * (np.pi - t) / (2 * np.pi), atol=1e-15)


BAD = [
    (lambda X: ep.ntk(network(), X[:, :5]), ValueError, "X has 5 features, but the model is expecting 12"),
    (lambda X: ep.ntk(network(), X, X[:, :5]), ValueError, "Y has 5 features, but the model is expecting 12"),
    (lambda X: ep.ntk(network(), X, layout="trance"), ValueError, "layout 'trance' is not known"),
    (lambda X: ep.ntk(3, X), TypeError, "a network is"),
    (lambda X: ep.ntk("nosuch.npz", X), FileNotFoundError, "nosuch"),
    (lambda X: ep.ntk(network(phi="nosuch"), X), ValueError, "nosuch"),
    (lambda X: ep.ntk(network(), np.where(X == X[0, 0], np.nan, X)), ValueError, "NaN"),
    (lambda X: ep.ntk({"V": np.full((3, 12), np.nan), "W": np.ones((3, 2))}, X), ValueError, "V contains NaN"),
    (lambda X: ep.ntk({"V": np.full((3, 12), 1e300), "W": np.full((3, 2), 1e300), "activation": "linear"}, X),
     ArithmeticError, "not finite"),
    (lambda X: ep.ntk(network(), X, memory="1K"), (ValueError, MemoryError), "memory"),
    (lambda X: ep.analytic_kernel(X, kind="ntkk"), ValueError, "choose one of: ntk, nngp"),
    (lambda X: ep.analytic_kernel(X, depth=0), ValueError, "depth 0 is out of range"),
    (lambda X: ep.analytic_kernel(X, weight_varianc=1), TypeError, "did you mean 'weight_variance'"),
    (lambda X: ep.ntk(ep.Contrastive(method="infinite", n_components=2).fit(X), X), ValueError, "holds no network"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_kernels(case, X):
    call, error, message = BAD[case]
    with pytest.raises(error, match=message):
        call(X)


# ---- probes

@pytest.fixture
def labelled():
    y = RNG.integers(0, 3, 150)
    return RNG.normal(size=(150, 6)) + 1.5 * np.eye(3, 6)[y], y


@pytest.mark.parametrize("kind", ["linear", "svm", "knn"])
def test_probe_bits(tmp_path, program, labelled, kind):
    Z, y = labelled
    np.save(tmp_path / "z.npy", Z)
    np.save(tmp_path / "y.npy", y.astype(np.int32))
    told = program("probe", "--embedding", "z.npy", "--labels", "y.npy", "--probe", kind, "--seed", 3)
    r = ep.probe(Z, y, kind=kind, random_state=3)
    assert (r.accuracy, r.train_accuracy, r.train, r.test) == \
        (told["accuracy"], told["train_accuracy"], told["train_points"], told["test_points"])
    np.testing.assert_array_equal(r.confusion, told["confusion"])
    assert r.labels.tolist() == told["labels"]
    names = np.array(["ant", "bee", "cat"])[y]
    again = ep.probe(Z, names, kind=kind, random_state=3)
    assert again.accuracy == r.accuracy and again.labels.tolist() == ["ant", "bee", "cat"]
    metrics = ep.metrics(Z, random_state=3)
    for name in ("rankme", "effective_rank", "uniformity", "collapse"):
        assert metrics[name] == told[name]


def test_probe_with_test_points(labelled):
    Z, y = labelled
    r = ep.probe(Z[:100], y[:100], Z[100:], y[100:], kind="linear", ridge=0.01)
    assert r.test == 50 and not r.held_out and r.confusion.sum() == 50
    with pytest.warns(ep.ConvergenceWarning, match="raise iterations"):
        ep.probe(Z, y, iterations=1, tolerance=1e-9)


@pytest.mark.parametrize("call, message", [
    (lambda Z, y: ep.probe(Z, y[:5]), "one label a point"),
    (lambda Z, y: ep.probe(Z, y, Z), "go together"),
    (lambda Z, y: ep.probe(Z, y, Z[:, :2], y), "dimensions"),
    (lambda Z, y: ep.probe(Z, 0 * y), "class"),
    (lambda Z, y: ep.probe(Z, y, kind="nosuch"), "nosuch"),
    (lambda Z, y: ep.probe(Z, y, holdout=2), "holdout 2 is out of range"),
    (lambda Z, y: ep.metrics(Z, Z[:3]), "row by row"),
    (lambda Z, y: ep.neighbours(Z, k=1000), "1000|neighbours"),
])
def test_bad_probes(labelled, call, message):
    with pytest.raises(ValueError, match=message):
        call(*labelled)


def test_neighbours(labelled):
    Z, _ = labelled
    d = np.linalg.norm(Z[:, None] - Z[None], axis=2)
    np.fill_diagonal(d, np.inf)
    distance, who = ep.neighbours(Z, k=4, metric="euclidean")
    np.testing.assert_array_equal(who, np.argsort(d, axis=1)[:, :4])
    np.testing.assert_allclose(distance, np.sort(d, axis=1)[:, :4], rtol=1e-12)


# ---- what the program does

def test_learnability(tmp_path, program, X):
    K, f = ep.analytic_kernel(X), np.sign(X[:, 0])
    np.save(tmp_path / "K.npy", K)
    np.save(tmp_path / "f.npy", f)
    told = program("learnability", "--kernel-matrix", "K.npy", "--target", "f.npy", "--train", 20, "--ridge", 0.1)
    r = ep.learnability(K, f, train=20, ridge=0.1)
    assert r.predicted_mse == told["predicted_mse"] and r.kappa == told["kappa"]
    np.testing.assert_array_equal(r.eigenvalues, told["eigenvalues"])
    assert ep.learnability(K, (X[:, 0] > 0).astype(int), train=20).predicted_mse > 0
    assert ep.learnability("cube:6", train=10, target="degree:1").kappa > 0
    with pytest.raises(ValueError, match="there are 60 points"):
        ep.learnability(K, f, train=100)


def test_optima_and_dynamics(X):
    r = ep.optima(X, starts=8, random_state=1)
    assert r.W.shape[1] == 12 and np.allclose(np.linalg.norm(r.W, axis=1), 1)
    pairs = ep.optima(X[:30], X[30:], starts=4)
    assert pairs.points == 30
    C = np.diag([-3.0, -1.0, 2.0])
    d = ep.linear_dynamics(matrix=C, q0=np.eye(3)[:, :1] * 0.5 + 0.1, times=[0.5, 1.0], time=40)
    assert d.trajectory.shape == (3, 3, 1)
    np.testing.assert_allclose(d.loss, -3, atol=1e-6)
    np.testing.assert_allclose(d.basis @ np.diag(d.eigenvalues) @ d.basis.T, C, atol=1e-12)
    with pytest.raises(ValueError, match="one of them"):
        ep.linear_dynamics()


def test_compare(tmp_path, X):
    y = (X[:, 0] > 0).astype(int)
    r = ep.compare(X, labels=y, widths=[20, 40], methods=["gd", "kernel", "pca"], runs=1, epochs=3, n_components=3)
    assert {row["method"] for row in r.table} >= {"gd", "kernel", "pca"} and "kernel" in r.verdict
    r.save(tmp_path / "report.md")
    assert (tmp_path / "report.md").stat().st_size > 100
    r.save(tmp_path / "all")
    assert (tmp_path / "all" / "result.json").exists()
    with pytest.raises(ValueError, match="saved as"):
        r.save(tmp_path / "report.doc")
    assert pickle.loads(pickle.dumps(r)).table == r.table
    with pytest.raises(TypeError, match="compare has no option 'nosuch'"):
        ep.compare(X, nosuch=3)


def test_compare_goes_on(tmp_path, X):
    """The same call takes over what is finished, though its arrays were in other files."""
    for _ in range(2):
        r = ep.compare(X, out=tmp_path / "c", widths=[20, 40], methods="gd,pca", runs=1, epochs=3, n_components=3)
    assert len(list((tmp_path / "c/jobs").glob("*.json"))) == 2
    assert "/eigenpair-" not in json.dumps(dict(r)) and r.config["data"] == "X"


def test_files_of_the_callers_folder(tmp_path, X, monkeypatch):
    """Names of files are the caller's, also for what the program does; it leaves nothing there."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    assert ep.optima("x.npy", starts=2).W.shape[1] == 12
    assert ep.linear_dynamics("x.npy", n_components=2, embed=X[:5]).embedding.shape == (5, 2)
    assert ep.compare("x.npy", widths=[10, 20], methods="gd,pca", runs=1, epochs=1).table
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy"]


def test_reproduce():
    r = ep.reproduce("wide-prop18", size="quick")
    assert [c["id"] for c in r.claims] == ["wide-prop18"] and r.claims[0]["pass"] is True
    with pytest.raises(ValueError, match="size"):
        ep.reproduce("wide-prop18", size="huge")
    with pytest.raises(ValueError, match="nosuch"):
        ep.reproduce(["nosuch"])
    with pytest.raises(OSError, match="/dev/null"):
        ep.reproduce(["wide-prop18"], size="quick", out="/dev/null/r")
