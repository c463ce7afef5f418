"""`eigenpair neighbours`: the nearest points, exactly; judged by NumPy."""
import json

import numpy as np
import pytest

from conftest import refuse


def distances(Q, X, metric):
    """All of them, by differences."""
    Q, X = Q.astype(float), X.astype(float)
    if metric == "cosine":
        unit = lambda A: A / np.where(np.linalg.norm(A, axis=1, keepdims=True) > 0, np.linalg.norm(A, axis=1, keepdims=True), 1)
        q, x = unit(Q), unit(X)
        D = ((q[:, None] - x[None]) ** 2).sum(-1) / 2
        D[~Q.any(1)] = 1
        D[:, ~X.any(1)] = 1
        return D
    return np.sqrt(((Q[:, None] - X[None]) ** 2).sum(-1))


def first(D, k):
    """By distance, then by index."""
    return np.argsort(D, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_against_numpy(good, save, rng, tmp_path, metric, dtype):
    """More than one tile each way, an offset far beyond the spread, points without a direction."""
    X, Q = rng.normal(size=(1100, 7)), rng.normal(size=(530, 7))
    if metric == "euclidean":
        offset = 1e3 if dtype is np.float32 else 1e7  # squares lose all digits of the differences
        X, Q = X + offset, Q + offset
    X, Q = X.astype(dtype), Q.astype(dtype)
    X[5], Q[3] = 0, 0
    save(x=X, q=Q)
    good("neighbours", "--embedding", "x.npy", "--query", "q.npy", "-k", 9, "--metric", metric, "--out", "n.npy",
         "--distances", "d.npy")
    N, D, want = np.load(tmp_path / "n.npy"), np.load(tmp_path / "d.npy"), distances(Q, X, metric)
    assert N.shape == D.shape == (530, 9) and N.dtype == np.int64
    assert np.allclose(D, np.sort(want, 1)[:, :9], rtol=1e-12, atol=1e-14)
    rows = np.delete(np.arange(530), 3)  # of a query without a direction all points are as far
    assert np.array_equal(N[rows], first(want, 9)[rows])
    assert np.array_equal(N[3], first(want, 9)[3])


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_points_among_themselves(good, save, rng, tmp_path, metric):
    """No point is its own neighbour, twins are, and all others can be asked for."""
    X = rng.normal(size=(300, 5))
    X[7] = X[250]
    save(x=X)
    D = distances(X, X, metric)
    np.fill_diagonal(D, np.inf)
    for k in (1, 299):
        good("neighbours", "--embedding", "x.npy", "--k", k, "--metric", metric)
        N = np.load(tmp_path / "neighbours.npy")
        if k == 1:
            assert np.array_equal(N[:, 0], D.argmin(1)) and N[7] == 250 and N[250] == 7
        else:
            assert all(sorted([i, *row]) == list(range(300)) for i, row in enumerate(N))
            assert (np.diff(np.take_along_axis(D, N, 1)) >= -1e-12).all()


def test_order_that_products_cannot_see(good, save, rng, tmp_path):
    """Far clumps of six: squares are 1e16 times the differences within, which decide."""
    X = np.repeat(1e8 * rng.normal(size=(40, 5)), 6, axis=0) + rng.normal(size=(240, 5))
    save(x=X)
    good("neighbours", "--embedding", "x.npy", "-k", 3, "--metric", "euclidean", "--distances", "d.npy")
    D = distances(X, X, "euclidean")
    np.fill_diagonal(D, np.inf)
    assert np.array_equal(np.load(tmp_path / "neighbours.npy"), first(D, 3))
    assert np.allclose(np.load(tmp_path / "d.npy"), np.sort(D, 1)[:, :3], rtol=1e-12)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_many_dimensions(good, save, rng, tmp_path, metric):
    """Panels are as narrow as they can be: three of them, the last one short."""
    X, Q = rng.normal(size=(600, 2100)), rng.normal(size=(4, 2100))
    save(x=X, q=Q)
    good("neighbours", "--embedding", "x.npy", "--query", "q.npy", "-k", 5, "--metric", metric, "--out", "n.npy")
    assert np.array_equal(np.load(tmp_path / "n.npy"), first(distances(Q, X, metric), 5))


def test_equal_points_come_in_order(good, save, tmp_path):
    save(x=np.array([[1.0, 2], [3, 4], [1, 2], [1, 2], [0, 5]]), q=np.array([[1.0, 2]]))
    good("neighbours", "--embedding", "x.npy", "--query", "q.npy", "-k", 3, "--metric", "euclidean")
    assert np.load(tmp_path / "neighbours.npy").tolist() == [[0, 2, 3]]


def test_a_memory_cap_changes_nothing(good, ep, save, rng, tmp_path):
    X = rng.normal(size=(12000, 3))  # several panels of points and many tiles of queries
    save(x=X)
    args = ["neighbours", "--embedding", "x.npy", "-k", 20, "--threads", 2, "--json"]
    free = json.loads(good(*args, "--out", "free.npy"), parse_constant=refuse)
    tight = json.loads(good(*args, "--out", "tight.npy", "--memory", "7M"), parse_constant=refuse)
    assert tight["peak_memory"] < 7 * 2**20 < free["peak_memory"]
    assert (tmp_path / "free.npy").read_bytes() == (tmp_path / "tight.npy").read_bytes()
    some = rng.permutation(12000)[:40]
    D = distances(X[some], X, "cosine")
    D[np.arange(40), some] = np.inf
    assert np.array_equal(np.load(tmp_path / "free.npy")[some], first(D, 20))
    assert {"queries": 12000, "points": 12000, "k": 20, "metric": "cosine", "neighbours": "tight.npy"}.items() <= tight.items()
    result = ep(*args, "--memory", "1M")
    assert result.code == 1 and "--memory" in result.err and result.err.count("\n") == 1


@pytest.mark.parametrize("args, words", [
    ([], "--embedding"),
    (["--embedding", "x.npy", "-k", 6], "only 5 other points"),
    (["--embedding", "x.npy", "--query", "q.npy", "-k", 7], "only 6 points"),
    (["--embedding", "x.npy", "--query", "wide.npy", "-k", 1], "dimensions"),
    (["--embedding", "none.npy"], "none.npy"),
    (["--embedding", "x.npy", "--metric", "cosin"], "cosin"),
    (["--embedding", "x.npy", "-j", 1], "no option"),
    (["--embedding", "x.npy", "-k", 2, "--out", "n.npy", "--distances", "n.npy"], "two outputs"),
])
def test_refusals(ep, save, rng, args, words, tmp_path):
    X = rng.normal(size=(6, 4))
    save(x=X, q=X, wide=np.ones((2, 5)))
    before = sorted(tmp_path.iterdir())
    result = ep("neighbours", *args)
    assert result.code == 2 and result.out == "" and words in result.err and result.err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before
