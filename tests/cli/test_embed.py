"""`eigenpair embed`: a model and data -> embedding.npy."""
import json

import numpy as np
import pytest

TOLERANCE = {"double": 1e-12, "single": 1e-5}


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.fixture
def model(tmp_path, start):
    """Weights with a config, as fit writes them -> list V1 .. VL, W."""

    def make(config=None, **shape):
        net = start(**shape)
        arrays = dict(np.load(tmp_path / "init.npz"))
        np.savez(tmp_path / "model.npz", config=json.dumps(config or {}), **arrays)
        return net

    return make


@pytest.fixture
def embed(good, tmp_path):
    def run(*args, precision="double"):
        good("embed", "--precision", precision, "--out", "e.npy", *args)
        return np.load(tmp_path / "e.npy")

    return run


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("phi", ["relu", "tanh"])
def test_equals_numpy(model, embed, ref, save, rng, precision, depth, phi):
    """f(x) = M^{-1/2} W' phi(..), row by row, in both precisions."""
    net, X = model({"activation": phi}, dim=5, width=40, outputs=3, depth=depth), rng.normal(size=(30, 5))
    save(x=X)
    E = embed("--data", "x.npy", precision=precision)
    assert E.dtype == {"double": np.float64, "single": np.float32}[precision] and E.shape == (30, 3)
    np.testing.assert_allclose(E, ref.outputs(net, X, phi), atol=TOLERANCE[precision] * 10, rtol=TOLERANCE[precision])


def test_input_scale(model, embed, ref, save, rng):
    """A model fitted with --input-scale divides the first layer by sqrt(D)."""
    net, X = model({"input_scale": True, "activation": "tanh"}, dim=5), rng.normal(size=(8, 5))
    save(x=X)
    np.testing.assert_allclose(embed("--data", "x.npy"), ref.outputs(net, X, "tanh", 5 ** -0.5), atol=1e-12)


def test_weights_by_hand(start, embed, ref, save, rng):
    """Weights from numpy.savez without a config are a relu network."""
    net, X = start(dim=5), rng.normal(size=(8, 5))
    save(x=X)
    np.testing.assert_allclose(embed("--model", "init.npz", "--data", "x.npy"), ref.outputs(net, X), atol=1e-12)


@pytest.mark.parametrize("depth", [1, 2])
def test_of_a_fitted_model(fit, embed, ref, save, rng, depth):
    """What fit writes, embed reads: shapes, activation and weights arrive."""
    X = rng.normal(size=(20, 4))
    save(x=X)
    m = fit("--data", "x.npy", "--width", 16, "--depth", depth, "--activation", "tanh", "--epochs", 3).model
    np.testing.assert_allclose(embed("--data", "x.npy"), ref.outputs(ref.weights(m), X, "tanh"), atol=1e-12)


@pytest.mark.parametrize("fitted, given, scaled", [
    ("unit", [], True), ("raw", [], False), ("unit", ["--scale", "raw"], False), ("raw", ["--scale", "unit"], True),
])
def test_scale_is_the_models(fit, embed, ref, save, rng, fitted, given, scaled):
    """Points are scaled as they were for the fit, unless --scale says otherwise."""
    X = 3 * rng.normal(size=(20, 4))
    save(x=X)
    m = fit("--data", "x.npy", "--width", 16, "--epochs", 2, "--scale", fitted).model
    expected = ref.outputs(ref.weights(m), unit(X) if scaled else X)
    np.testing.assert_allclose(embed("--data", "x.npy", *given), expected, atol=1e-12)


def test_zero_row_stays_zero_on_the_sphere(model, embed, save):
    """A blank image has no direction; it must not become NaN."""
    model({"unit": True}, dim=3)
    save(x=np.array([[0, 0, 0], [3.0, 0, 4]]))
    E = embed("--data", "x.npy")
    assert np.isfinite(E).all() and (E[0] == 0).all() and (E[1] != 0).any()


def test_bytes_are_pixels(model, embed, ref, save, rng):
    """uint8 is an image in [0, 1], here left off the sphere."""
    net, X = model(dim=12), rng.integers(0, 256, size=(6, 3, 4), dtype=np.uint8)
    save(x=X)
    E = embed("--data", "x.npy", "--scale", "raw")
    np.testing.assert_allclose(E, ref.outputs(net, X.reshape(6, 12) / 255), atol=1e-12)


def test_labels_out(fit, good, tmp_path):
    """Labels come out in the order of the embedding: each is that of its own image."""
    fit("--data", "digits", "--samples", 50, "--width", 16, "--epochs", 1)
    more = ["--data", "digits:test", "--samples", 40, "--seed", 3, "--labels-out", "y.npy"]
    shown = json.loads(good("embed", "--out", "e.npy", "--json", *more))
    assert (shown["rows"], shown["outputs"], shown["embedding"]) == (40, 10, "e.npy")
    good("data", "convert", "--data", "digits:test", "--samples", 40, "--seed", 3, "--out", "x.npy",
         "--labels-out", "z.npy")
    y = np.load(tmp_path / "y.npy")
    assert y.shape == (40,) and len(set(y)) > 5
    np.testing.assert_array_equal(y, np.load(tmp_path / "z.npy"))
    assert np.load(tmp_path / "e.npy").shape == (40, 10)


def test_blocks_change_nothing(model, embed, save, rng):
    """A memory cap that forces blocks gives the same rows."""
    model(dim=6, width=60, depth=3)
    save(x=rng.normal(size=(50, 6)))
    whole = embed("--data", "x.npy", "--threads", 1)
    parts = embed("--data", "x.npy", "--threads", 1, "--memory", 660 * 1024)
    np.testing.assert_allclose(parts, whole, atol=1e-13)


@pytest.mark.parametrize("args, words", [
    (["--data", "wide.npy"], ["wide.npy", "5", "4"]),
    (["--data", "x.npy", "--labels-out", "y.npy"], ["x.npy has no labels"]),
    (["--data", "x.npy", "--model", "gone.npz"], ["gone.npz"]),
    (["--data", "gone.npy"], ["gone.npy"]),
    ([], ["--data"]),
    (["--data", "x.npy", "--memory", "1000"], ["--memory"]),
    (["--data", "x.npy", "--out", "gone/e.npy"], ["gone/e.npy"]),
    (["--data", "digits", "--labels-out", "gone/y.npy"], ["gone/y.npy"]),
])
def test_refuses(model, ep, save, rng, tmp_path, args, words):
    """One line that names what is wrong, status 2, and no file."""
    model(dim=4)
    save(x=rng.normal(size=(8, 4)), wide=rng.normal(size=(8, 5)))
    before = sorted(tmp_path.rglob("*"))
    code, out, err = ep("embed", *args)
    assert (code, out) == (2, "") and err.count("\n") == 1 and err.startswith("eigenpair embed: ")
    assert all(w in err for w in words)
    assert sorted(tmp_path.rglob("*")) == before


def test_overflow_within_is_not_hidden(ep, save, tmp_path):
    """inf - inf inside the network must not come out as the 0 of a relu: right, or an error."""
    np.savez(tmp_path / "model.npz", V=[[2.0, -1.9]], W=[[1e-30]])
    save(x=[[3e38, 3e38]])
    if ep("embed", "--data", "x.npy").code == 0:
        np.testing.assert_allclose(np.load(tmp_path / "embedding.npy"), [[3e7]], rtol=1e-4)


def test_outputs_that_overflow(model, ep, save, tmp_path):
    """An embedding that is not finite is an error of the work, not a file full of infinities."""
    model(dim=4)
    save(x=np.array([[3e38] * 4, [-3e38] * 4]))
    code, out, err = ep("embed", "--data", "x.npy")
    assert (code, out) == (1, "") and err.count("\n") == 1 and "finite" in err
    assert not (tmp_path / "embedding.npy").exists()
