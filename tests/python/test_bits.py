"""The same options give the same bits, from Python, from the program and from C."""
import pathlib
import subprocess

import eigenpair as ep
import numpy as np
import pytest
from conftest import PROGRAM, ROOT

CASES = {
    "auto": dict(n_components=2),
    "auto-trains": dict(width=40, n_components=3),
    "auto-closed": dict(width=40, ridge=0.1, n_components=3),
    "auto-negatives": dict(pairs="2+3", n_components=3),
    "gd": dict(method="gd", width=64, epochs=5, loss="softmax", temperature=0.3, n_components=3),
    "gd-deep": dict(method="gd", width=32, depth=3, activation="tanh", epochs=3, n_components=4, batch=16),
    "alpha": dict(method="alpha", width=32, epochs=3, n_components=3, weights="infonce:0.5"),
    "kernel": dict(method="kernel", width=50, epochs=3, n_components=2),
    "kernel-analytic": dict(method="kernel", kernel="analytic", epochs=3, n_components=2),
    "linearised": dict(method="linearised", width=50, epochs=3, n_components=2),
    "grassmann": dict(method="grassmann", width=50, epochs=3, n_components=2),
    "iterate": dict(method="iterate", width=50, epochs=2, n_components=2),
    "pca": dict(method="pca", width=80, n_components=5),
    "infinite": dict(method="infinite", n_components=4),
    "whitened": dict(method="whitened", width=80, n_components=4, views=3, ridge=0.1),
    "linear": dict(method="linear", n_components=3, epochs=5, rate=0.1),
}
NAMES = {"n_components": "outputs", "random_state": "seed", "image_shape": "image"}


def flags(options):
    out = []
    for name, value in options.items():
        flag = "--" + NAMES.get(name, name).replace("_", "-")
        value = "x".join(map(str, value)) if isinstance(value, tuple) else value
        out += [flag] if value is True else [flag, str(value)]
    return out


def compare(tmp_path, program, model, options, data, new):
    """Weights, history and embedding of the program's fit, to the bit."""
    history = ["--history", "h.csv"] if "method" in options else []  # which speaks of training
    told = program("fit", *data, *flags(options), "--out", "m.npz", *history)
    ours, theirs = model.model_.arrays(), np.load(tmp_path / "m.npz")
    assert set(ours) == set(theirs.files)
    for name in theirs.files:
        if name != "config":
            assert ours[name].dtype == theirs[name].dtype
            np.testing.assert_array_equal(ours[name], theirs[name])
    assert told["status"] == model.status_ and told["epochs"] == model.n_iter_
    if told["loss"] is not None:
        assert told["loss"] == model.loss_
    precision = "double" if new.dtype == np.float64 else "single"
    np.save(tmp_path / "new.npy", new)
    program("embed", "--model", "m.npz", "--data", "new.npy", "--precision", precision, "--out", "e.npy")
    np.testing.assert_array_equal(model.transform(new), np.load(tmp_path / "e.npy"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
def test_every_method(tmp_path, program, X, case, dtype):
    x, new = X[:8 if case == "auto" else 60].astype(dtype), (2 * X[::-1][:20]).astype(dtype)  # auto has 1000 features
    np.save(tmp_path / "x.npy", x)
    options = dict(CASES[case], random_state=3)
    model = ep.Contrastive(**options).fit(x)
    precision = "double" if dtype == np.float64 else "single"
    compare(tmp_path, program, model, dict(options, precision=precision), ["--data", "x.npy"], new)


@pytest.fixture(scope="module")
def in_c(tmp_path_factory):
    """The program of in_c.c, with the library that the wheel was made of."""
    out = tmp_path_factory.mktemp("c") / "in_c"
    here, build = pathlib.Path(__file__).parent, PROGRAM.parent
    jansson = subprocess.run(["pkg-config", "--cflags", "jansson"], capture_output=True, text=True, check=True).stdout.split()
    subprocess.run(["cc", "-Wall", "-Werror", str(here / "in_c.c"), f"-I{ROOT}/include", *jansson, f"-L{build}", "-leigenpair",
                    f"-Wl,-rpath,{build}", "-o", str(out)], check=True)
    return out


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("case", ["gd", "gd-deep", "grassmann", "iterate", "pca"])
def test_in_c(tmp_path, in_c, X, case, precision):
    """A fit, the embedding and the tangent kernel, to the bit."""
    x = X.astype(np.float32 if precision == "single" else np.float64)
    np.save(tmp_path / "x.npy", x)
    options = dict(CASES[case], random_state=3)
    words = [f"{NAMES.get(name, name)}={value}" for name, value in dict(options, precision=precision).items()]
    subprocess.run([str(in_c), "x.npy", "e", "k", *words], cwd=tmp_path, check=True)
    model = ep.Contrastive(**options).fit(x)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "e", x.dtype), model.transform(x).ravel())
    np.testing.assert_array_equal(np.fromfile(tmp_path / "k", x.dtype), ep.ntk(model, x, layout="trace").ravel())


def test_images(tmp_path, program, images):
    np.save(tmp_path / "x.npy", images)
    options = dict(method="whitened", features="patches:16,3,2", views=2, augment="shift:1,rotate:10", n_components=4,
                   ridge=0.1)
    model = ep.Contrastive(**options).fit(images)
    compare(tmp_path, program, model, options, ["--data", "x.npy"], (images[:9] / 255).astype(np.float32).reshape(9, -1))
    rows = images.reshape(40, 64)
    again = ep.Contrastive(**options, image_shape=(8, 8)).fit(rows)
    np.testing.assert_array_equal(again.transform(rows), model.transform(images))


def test_standard_scale(tmp_path, program, X):
    x = X * np.arange(1, 13) + 5
    x[:, 3] = 2
    np.save(tmp_path / "x.npy", x)
    options = dict(method="pca", width=40, n_components=3, scale="standard")
    for dtype, precision in ((np.float64, "double"), (np.float32, "single")):
        np.save(tmp_path / "x.npy", x.astype(dtype))
        model = ep.Contrastive(**options).fit(x.astype(dtype))
        compare(tmp_path, program, model, dict(options, precision=precision), ["--data", "x.npy"], (x[:9] + 1).astype(dtype))


def test_ready_pairs(tmp_path, program, X):
    a, p, n1, n2 = X[:20], X[20:40], X[40:60], X[5:25]
    for name, m in zip("apnm", (a, p, n1, n2)):
        np.save(tmp_path / f"{name}.npy", m)
    options = dict(method="gd", width=40, epochs=4, n_components=3, scale="unit")
    model = ep.Contrastive(**options).fit_pairs(a, p, [n1, n2])
    compare(tmp_path, program, model, dict(options, precision="double"),
            ["--anchors", "a.npy", "--positives", "p.npy", "--negatives", "n.npy", "--negatives", "m.npy"], X)


def test_groups_are_ready_pairs(X):
    """Groups of two rows are what pairs of them are."""
    options = dict(method="whitened", width=40, n_components=3)
    pairs = ep.Contrastive(**options).fit_pairs(X[:30], X[30:])
    names = np.array([f"thing {i % 30}" for i in range(60)])
    groups = ep.Contrastive(**options).fit(X, groups=names)
    np.testing.assert_array_equal(groups.transform(X), pairs.transform(X))


def test_history(tmp_path, program, X):
    np.save(tmp_path / "x.npy", X)
    options = dict(method="gd", width=40, epochs=4, n_components=3, track="ntk,weights,rank", precision="double")
    model = ep.Contrastive(**options).fit(X)
    program("fit", "--data", "x.npy", *flags(options), "--out", "m.npz", "--history", "h.csv")
    theirs = np.genfromtxt(tmp_path / "h.csv", delimiter=",", names=True)
    assert model.history_.dtype.names == theirs.dtype.names
    for name in theirs.dtype.names:
        np.testing.assert_allclose(model.history_[name], theirs[name], rtol=1e-12)
    assert model.history_["epoch"].tolist() == list(range(5))


def test_a_model_of_the_program(tmp_path, program, X):
    np.save(tmp_path / "x.npy", X)
    program("fit", "--data", "x.npy", "--method", "pca", "--width", 50, "--outputs", 3, "--scale", "unit", "--out", "m.npz")
    program("embed", "--model", "m.npz", "--data", "x.npy", "--out", "e.npy")
    np.testing.assert_array_equal(ep.load(tmp_path / "m.npz").embed(X.astype(np.float32)), np.load(tmp_path / "e.npy"))
    back = ep.Contrastive.load(tmp_path / "m.npz")
    assert (back.method, back.width, back.n_components, back.scale) == ("pca", 50, 3, "unit")
    np.testing.assert_array_equal(back.transform(X.astype(np.float32)), np.load(tmp_path / "e.npy"))


def test_init(X):
    """Weights given as arrays, a model or a file are where a fit starts: none moves in no epoch."""
    rng = np.random.default_rng(0)
    w = {"V": rng.normal(size=(20, 12)), "W": rng.normal(size=(20, 4))}
    still = ep.Contrastive(init=w, epochs=0).fit(X)
    np.testing.assert_array_equal(still.model_.weights()["V"], w["V"])
    np.testing.assert_array_equal(still.model_.weights()["W"], w["W"])
    expected = np.maximum(X @ w["V"].T, 0) @ w["W"] / np.sqrt(20)
    np.testing.assert_allclose(still.transform(X), expected, rtol=1e-12, atol=1e-13)
    again = ep.Contrastive(init=still.model_, epochs=0).fit(X)
    np.testing.assert_array_equal(again.transform(X), still.transform(X))
