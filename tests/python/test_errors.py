"""What is wrong is said by an exception of the right kind, which names the argument; the interpreter lives on."""
import json
import os

import eigenpair as ep
import numpy as np
import pytest
from scipy import sparse

Y = np.arange(60) % 3
NET = {"V": np.ones((20, 12)), "W": np.ones((20, 2)), "activation": "tanh"}


def small(**options):
    return ep.Contrastive(**{"method": "pca", "n_components": 2, "width": 30, **options})


# every function that takes an array, by the name of the argument that gets the bad one
TAKERS = {
    "fit X": lambda bad, X: small().fit(bad),
    "partial_fit X": lambda bad, X: small().partial_fit(bad),
    "fit_pairs anchors": lambda bad, X: small().fit_pairs(bad, X),
    "fit_pairs positives": lambda bad, X: small().fit_pairs(X, bad),
    "ntk X": lambda bad, X: ep.ntk(NET, bad),
    "ntk Y": lambda bad, X: ep.ntk(NET, X, bad),
    "ntk V": lambda bad, X: ep.ntk({"V": bad, "W": np.ones((60, 2))}, X),
    "analytic_kernel X": lambda bad, X: ep.analytic_kernel(bad),
    "analytic_kernel Y": lambda bad, X: ep.analytic_kernel(X, bad),
    "probe Z": lambda bad, X: ep.probe(bad, Y),
    "metrics Z": lambda bad, X: ep.metrics(bad),
    "neighbours Z": lambda bad, X: ep.neighbours(bad),
    "compare X": lambda bad, X: ep.compare(bad, widths=[10]),
    "learnability K": lambda bad, X: ep.learnability(bad),
    "optima X": lambda bad, X: ep.optima(bad),
    "linear_dynamics X": lambda bad, X: ep.linear_dynamics(bad),
}
BAD = {
    "nan": (lambda X: np.where(X > 1.5, np.nan, X), ValueError, "contains NaN"),
    "inf": (lambda X: np.where(X > 1.5, -np.inf, X), ValueError, "contains infinity"),
    "complex": (lambda X: X + 1j, ValueError, "Complex data"),
    "dates": (lambda X: np.zeros((60, 12), "M8[s]"), TypeError, "dates or times"),
    "objects": (lambda X: np.full((60, 12), object()), TypeError, "not made of numbers"),
    "text": (lambda X: np.full((60, 12), "a"), ValueError, "not made of numbers"),
    "a set": (lambda X: {1, 2}, TypeError, "not made of numbers"),
    "sparse": (lambda X: sparse.csr_matrix(X), TypeError, "is a sparse matrix"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("taker", TAKERS)
def test_bad_arrays_everywhere(taker, case, X):
    make, error, message = BAD[case]
    with pytest.raises(error, match=message) as e:
        TAKERS[taker](make(X), X)
    assert taker.split()[1] in str(e.value)


@pytest.mark.parametrize("call, wrong, near", [
    (lambda X: ep.ntk(NET, X, treads=2), "treads", "threads"),
    (lambda X: small().fit(X).model_.embed(X, memry=1), "memry", "memory"),
    (lambda X: ep.neighbours(X, 2, thread=1), "thread", "threads"),
    (lambda X: ep.analytic_kernel(X, wieght_variance=1), "wieght_variance", "weight_variance"),
    (lambda X: ep.probe(X, Y, riddge=1), "riddge", "ridge"),
    (lambda X: ep.metrics(X, uniformity_point=5), "uniformity_point", "uniformity_points"),
    (lambda X: ep.data("digits", sample=5), "sample", "samples"),
    (lambda X: ep.compare(X, widht=[10]), "widht", "widths"),
    (lambda X: ep.learnability(np.eye(5), trian=3), "trian", "train"),
    (lambda X: ep.optima(X, strats=3), "strats", "starts"),
    (lambda X: ep.linear_dynamics(X, n_component=3), "n_component", "n_components"),
    (lambda X: ep.reproduce(["wide-fig3"], random_stat=1), "random_stat", "random_state"),
])
def test_unknown_options(call, wrong, near, X):
    with pytest.raises(TypeError, match=f"no option '{wrong}'; did you mean '{near}'"):
        call(X)


@pytest.mark.parametrize("call", [
    lambda X, here: ep.load(here / "nosuch.npz"),
    lambda X, here: small(method="gd", init=here / "nosuch.npz").fit(X),
    lambda X, here: small(method="gd", resume=here / "nosuch.npz").fit(X),
    lambda X, here: small(method="gd", checkpoint=here / "nosuch/c.npz").fit(X),
    lambda X, here: ep.data(str(here / "nosuch.npy")),
    lambda X, here: ep.ntk(here / "nosuch.npz", X),
    lambda X, here: ep.compare(str(here / "nosuch.npy"), widths=[10]),
    lambda X, here: small().fit(X).save(here / "nosuch/model.npz"),
    lambda X, here: ep.to_onnx(small().fit(X), here / "nosuch/model.onnx"),
])
def test_files_that_are_not_there(call, X, tmp_path):
    with pytest.raises(FileNotFoundError, match="nosuch"):
        call(X, tmp_path)


@pytest.mark.parametrize("call, error, message", [
    (lambda X: ep.ntk(NET, X, layout=3), TypeError, "layout is a text"),
    (lambda X: ep.neighbours(X, 2, metric=3), TypeError, "metric is a text"),
    (lambda X: ep.probe(X, Y, kind=3), TypeError, "kind is a text"),
    (lambda X: ep.analytic_kernel(X, kind=[]), ValueError, "kind"),
    (lambda X: small(precision=[]).fit(X), ValueError, "precision"),
    (lambda X: ep.neighbours(X, 1.5), ValueError, "k is a whole number"),
    (lambda X: ep.neighbours(X, -1), ValueError, "k is a whole number"),
    (lambda X: ep.neighbours(X, 100), ValueError, "only 59 other points"),
    (lambda X: small().fit_pairs(X, []), ValueError, "need positives"),
    (lambda X: small().fit(X, groups=[object() for _ in X]), TypeError, "groups: names or numbers"),
    (lambda X: ep.probe(X, [object() for _ in X]), TypeError, "y: names or numbers"),
    (lambda X: small(method="infinite", n_components=1000).fit(X), ValueError, "n_components 1000 is more than the"),
    (lambda X: ep.learnability(X), ValueError, "^K: a kernel is a square matrix"),
    (lambda X: ep.learnability(X @ X.T, Y + 1j), ValueError, "Complex data not supported: y"),
    (lambda X: ep.learnability(X @ X.T, ["a"] * 60), ValueError, "y is not made of numbers"),
    (lambda X: small().fit(X, groups=np.where(Y == 1, np.nan, Y)), ValueError, "groups contains NaN"),
    (lambda X: ep.compare(X, labels=np.where(Y == 1, np.nan, Y), widths=[10]), ValueError, "labels contains NaN"),
    (lambda X: small(image_shape=(3.5, 4)).fit(X), TypeError, "image_shape is whole numbers"),
    (lambda X: small(augment="noise:0.1\0,").fit(X), ValueError, "augment has a character 0"),
    (lambda X: small().fit(X).save("a\0b.npz"), ValueError, "name of a file has a character 0"),
    (lambda X: small().fit(np.ma.masked_greater(X, 1.5)), ValueError, "X has masked entries"),
    (lambda X: small().partial_fit(X).merge(3), TypeError, "merge takes another Contrastive, not int"),
    (lambda X: ep.reproduce(["wide-prop18"], size=[]), ValueError, "size"),
    (lambda X: ep.optima(X, X[:3]), ValueError, "^positives has 3 rows, but X has 60"),
    (lambda X: ep.compare(1e300 * X, widths=[10, 20], methods="gd,pca", runs=1, epochs=1), ep.NumericalError, "not finite"),
])
def test_wrong_arguments(call, error, message, X):
    with pytest.raises(error, match=message):
        call(X)


def test_none_is_the_default(X):
    """Also for method auto, which looks at what was given."""
    X = X[:8]  # of 1000 features, quickly
    plain = ep.Contrastive(n_components=2).fit(X)
    none = ep.Contrastive(n_components=2, method=None, width=None, epochs=None, init=None, threads=None, memory=None).fit(X)
    assert none.numbers_["chosen"] == plain.numbers_["chosen"]
    np.testing.assert_array_equal(none.transform(X), plain.transform(X))


@pytest.mark.parametrize("dtype", ["int8", "float16", "complex64", "int64", object])
def test_types_that_a_model_cannot_have(X, tmp_path, dtype):
    """Two there are; of others nothing is begun."""
    model = small().fit(X).model_
    model.save(tmp_path / "m.npz")
    for call in (lambda: model.astype(dtype), lambda: ep.load(tmp_path / "m.npz", dtype=dtype),
                 lambda: model.__setstate__({"bytes": model.to_bytes(), "dtype": dtype})):
        with pytest.raises(ValueError, match="dtype is float32 or float64"):
            call()
    assert np.isfinite(model.embed(X)).all()


def test_weights_of_another_type(X, tmp_path):
    """A file without a config, its weights of a type that no model has, is read as float32."""
    np.savez(tmp_path / "m.npz", V=np.ones((8, X.shape[1]), "f2"), W=np.ones((8, 2), "f2"))
    try:
        model = ep.load(tmp_path / "m.npz")
    except ValueError:
        return
    assert model.dtype == np.float32 and model.embed(X).shape == (len(X), 2)


def test_a_model_names_no_file(X, tmp_path):
    """Defect 17: settings of a stranger's model: no file is written or read, no memory or threads taken by them."""
    small(method="gd", epochs=1).fit(X).save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as z:
        arrays = dict(z)
    config = json.loads(arrays["config"].item())
    config.update(checkpoint=str(tmp_path / "taken.npz"), every=1, epochs=2, init=str(tmp_path / "none.npz"), threads=64,
                  memory=1.0)
    np.savez(tmp_path / "m.npz", **{**arrays, "config": json.dumps(config)})
    again = ep.Contrastive.load(tmp_path / "m.npz")
    assert (again.epochs, again.checkpoint, again.every, again.init, again.threads) == (2, "", 0, "", ep.Contrastive().threads)
    again.fit(X)
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]


def test_a_pipe_is_no_model(tmp_path):
    os.mkfifo(tmp_path / "m.npz")
    with pytest.raises(ValueError, match="not a regular file"):
        ep.load(tmp_path / "m.npz")
