"""scikit-learn's own checks, and what its users do with an estimator."""
import pickle
import warnings

import eigenpair as ep
import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils import estimator_checks  # noqa: E402

SMALL = dict(width=50, epochs=5)
KINDS = [ep.Contrastive(), ep.Contrastive(**SMALL), ep.Contrastive(method="pca", n_components=1, width=50),
         ep.Contrastive(method="whitened", n_components=1, width=50)]


def all_checks(estimator):
    """Those of check_estimator, one by one; how they are listed has changed in 1.6."""
    if hasattr(estimator_checks, "estimator_checks_generator"):
        return estimator_checks.estimator_checks_generator(estimator)
    return estimator_checks.check_estimator(estimator, generate_only=True)


def checks():
    for kind in KINDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for estimator, check in all_checks(kind):
                name = getattr(check, "func", check).__name__
                yield pytest.param(estimator, check, id=f"{kind._chosen()}-{name}")
        for name in ("check_set_output_transform", "check_transformer_get_feature_names_out",
                     "check_set_output_transform_pandas",
                     "check_transformer_get_feature_names_out_pandas"):
            check = getattr(estimator_checks, name, None)
            if check is not None:
                yield pytest.param(clone(kind), lambda e, c=check: c(type(e).__name__, e), id=f"{kind.method}-{name}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator, check", list(checks()))
def test_check_estimator(estimator, check):
    try:
        check(estimator)
    except Exception as e:
        if type(e).__name__ == "SkipTest":
            pytest.skip(str(e))
        raise


@pytest.fixture
def classes():
    """Two blobs in ten dimensions -> X, y"""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    return rng.normal(size=(120, 10)) + 2.0 * y[:, None], y


def test_pipeline_and_search(classes):
    X, y = classes
    pipe = make_pipeline(StandardScaler(), ep.Contrastive(method="pca", n_components=3, width=60), LogisticRegression())
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.9
    search = GridSearchCV(pipe, {"contrastive__n_components": [2, 3], "contrastive__method": ["pca", "whitened"]}, cv=2)
    assert search.fit(X, y).score(X, y) > 0.9


def test_columns(classes):
    X, y = classes
    parts = ColumnTransformer([("a", ep.Contrastive(method="pca", n_components=2, width=30), [0, 1, 2]),
                               ("b", "passthrough", [3])])
    assert parts.fit_transform(X).shape == (120, 3)
    assert parts.get_feature_names_out().tolist() == ["a__contrastive0", "a__contrastive1", "b__x3"]


def test_clone_pickle_repr(classes):
    X, _ = classes
    model = ep.Contrastive(method="pca", n_components=2, width=30, random_state=5)
    assert clone(model).get_params() == model.get_params()
    assert repr(model) == "Contrastive(method='pca', n_components=2, random_state=5, width=30)"
    assert "Contrastive" in model._repr_html_()
    model.fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(again.eigenvalues_, model.eigenvalues_)
    assert not hasattr(clone(model), "model_")


def test_attributes(classes):
    X, _ = classes
    closed = ep.Contrastive(method="whitened", n_components=4, width=60).fit(X)
    assert (np.diff(closed.eigenvalues_) <= 0).all() and len(closed.eigenvalues_) == 4
    assert closed.n_features_in_ == 10 and closed.explained_
    line = ep.Contrastive(method="linear", n_components=2, epochs=3, rate=0.01).fit(X)
    np.testing.assert_allclose(line.transform(X), X @ line.components_.T, rtol=1e-10, atol=1e-12)
    assert not hasattr(line.fit(X).set_params(method="pca").fit(X), "components_")


def test_random_state(classes):
    X, _ = classes
    make = lambda s: ep.Contrastive(method="pca", n_components=2, width=30, random_state=s).fit_transform(X)  # noqa: E731
    np.testing.assert_array_equal(make(1), make(1))
    assert (make(1) != make(2)).any() and (make(None) != make(None)).any()
    np.testing.assert_array_equal(make(np.random.RandomState(3)), make(np.random.RandomState(3)))
