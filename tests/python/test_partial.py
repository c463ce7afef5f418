"""partial_fit and merge: sums in parts are those of one fit."""
import pickle

import eigenpair as ep
import numpy as np
import pytest

CASES = {"pca": dict(method="pca", width=40, n_components=3), "whitened": dict(method="whitened", width=40, n_components=3),
         "cosine": dict(method="pca", width=40, n_components=3, activation="tanh", similarity="dot")}


@pytest.fixture
def groups():
    return np.arange(60) // 3


def same(a, b, X, tolerance=1e-9):
    """Equal up to the signs of nearly equal entries: eigenvalues, and embeddings."""
    np.testing.assert_allclose(a.eigenvalues_, b.eigenvalues_, rtol=tolerance)
    np.testing.assert_allclose(a.transform(X), b.transform(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_parts_are_the_whole(X, groups, case):
    """Ready views, so that nothing is drawn: parts of 9, 21 and 30 rows."""
    options = dict(CASES[case], pairs="positives")
    whole = ep.Contrastive(**options).fit(X, groups=groups)
    parts = ep.Contrastive(**options)
    for rows in (slice(0, 9), slice(9, 30), slice(30, 60)):
        parts.partial_fit(X[rows], groups=groups[rows])
    assert parts.sums_.anchors == 20
    same(parts, whole, X)


def test_one_part_is_a_fit(X):
    one = ep.Contrastive(method="whitened", width=40, n_components=3).partial_fit(X)
    same(one, ep.Contrastive(method="whitened", width=40, n_components=3).fit(X), X)


@pytest.mark.parametrize("case", CASES)
def test_merge(X, groups, case):
    options = dict(CASES[case], pairs="positives")
    a = ep.Contrastive(**options).partial_fit(X[:30], groups=groups[:30])
    b = ep.Contrastive(**options).partial_fit(X[30:], groups=groups[30:])
    whole = ep.Contrastive(**options).fit(X, groups=groups)
    merged = a.merge(pickle.loads(pickle.dumps(b)))
    assert merged is a
    same(a, whole, X)


def test_patches_share_their_map(images):
    X = images.reshape(40, 64) / 255
    options = dict(method="whitened", features="patches:8,3,2", n_components=2, image_shape=(8, 8))
    a = ep.Contrastive(**options).partial_fit(X[:20])
    other = ep.Contrastive(**options).partial_fit(X[20:])
    with pytest.raises(ValueError):
        a.merge(other)
    assert a.sums_.anchors == 20
    b = a.empty_copy(1).partial_fit(X[20:])
    a.merge(b)
    assert a.sums_.anchors == 40 and a.transform(X).shape == (40, 2)


def test_views_differ_from_part_to_part(X):
    """The same rows twice are seen in other views the second time."""
    a = ep.Contrastive(method="whitened", width=20, n_components=2)
    first = a.partial_fit(X).eigenvalues_.copy()
    assert (a.partial_fit(X).eigenvalues_ != first).any()


def test_the_model_follows(X):
    a = ep.Contrastive(method="pca", width=20, n_components=2).partial_fit(X[:30])
    Z = a.transform(X)
    a.partial_fit(X[30:])
    assert (a.transform(X) != Z).any()
    a.set_params(n_components=3)
    again = pickle.loads(pickle.dumps(a))
    np.testing.assert_array_equal(again.transform(X), a.transform(X))
    assert not hasattr(a.fit(X), "sums_")


def test_who_has_it(X):
    for method in ("gd", "infinite", "kernel"):
        assert not hasattr(ep.Contrastive(method=method), "partial_fit")
        with pytest.raises(AttributeError, match="closed forms pca and whitened"):
            ep.Contrastive(method=method).partial_fit(X)
    with pytest.raises(ValueError, match="partial_fit"):
        ep.Contrastive(method="pca").merge(ep.Contrastive(method="pca"))
    a = ep.Contrastive(method="pca", width=20, n_components=2).partial_fit(X)
    with pytest.raises(ValueError, match="expecting 12"):
        a.partial_fit(X[:, :5])
    b = ep.Contrastive(method="pca", width=21, n_components=2).partial_fit(X)
    with pytest.raises(ValueError):
        a.merge(b)


def test_auto_is_whitened_of_patches():
    """Where nothing speaks of training, auto has sums; images are seen by patches, in one fit or in parts. Of few images, for
    they have 4096 features."""
    X = np.random.default_rng(0).uniform(size=(8, 144))
    a = ep.Contrastive(n_components=2, image_shape=(12, 12), augment="shift:1")
    assert hasattr(a, "partial_fit") and not hasattr(ep.Contrastive(epochs=3), "partial_fit")
    parts = set(a.partial_fit(X[:4]).partial_fit(X[4:]).model_.arrays())
    assert parts == set(a.fit(X).model_.arrays()) >= {"F", "theta", "W"}
    assert a.numbers_["chosen"].startswith("whitened")
    assert ep.Contrastive(n_components=2).fit_pairs(X, X + 0.1).model_.config["method"] == "whitened"
    assert ep.Contrastive(n_components=2).fit_pairs(X, X + 0.1, X[::-1]).model_.config["method"] == "infinite"
    assert ep.Contrastive(n_components=2).fit(X, groups=np.arange(8) // 2).model_.config["method"] == "whitened"
