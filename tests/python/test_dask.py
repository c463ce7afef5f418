"""partial_fit on a real cluster of processes: shards are summed by workers and merged along a tree."""
import copy
import os

import eigenpair as ep
import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="no Dask: python3-dask and python3-distributed are in packages.txt")
distributed = pytest.importorskip("distributed", reason="no Dask: python3-dask and python3-distributed are in packages.txt")
SHARDS = 5


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two worker processes of one thread each, on this machine alone."""
    folder = tmp_path_factory.mktemp("dask")
    with dask.config.set({"temporary-directory": str(folder), "distributed.comm.timeouts.connect": "60s"}):
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                                      host="127.0.0.1") as nodes, distributed.Client(nodes) as client:
            yield client


def tree(parts):
    """Neighbours are merged, then those, until one is left."""
    add = dask.delayed(lambda a, b: copy.deepcopy(a).merge(b))  # what a worker holds may be asked for again
    while len(parts) > 1:
        parts = [add(*parts[i:i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0]


def shards(n):
    edges = np.linspace(0, n, SHARDS + 1).astype(int)
    return list(zip(edges[:-1], edges[1:]))


@pytest.mark.parametrize("method", ["pca", "whitened"])
def test_shards_are_the_whole(cluster, method):
    """Ready views, so that nothing is drawn: a fit on everything, to rounding; the same bits a second time."""
    X, groups = np.random.default_rng(1).normal(size=(100, 12)), np.arange(100) // 2
    options = dict(method=method, width=40, n_components=3, pairs="positives", random_state=3)
    whole = ep.Contrastive(**options).fit(X, groups=groups)

    def work(a, b):
        return ep.Contrastive(**options).partial_fit(X[a:b], groups=groups[a:b]), os.getpid()

    def run():
        both = [dask.delayed(work, nout=2)(2 * (a // 2), 2 * (b // 2)) for a, b in shards(100)]
        return dask.compute(tree([estimator for estimator, _ in both]), *[who for _, who in both])

    merged, *workers = run()
    assert os.getpid() not in workers and len(set(workers)) == 2
    assert merged.sums_.anchors == 50
    np.testing.assert_allclose(merged.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(merged.transform(X), whole.transform(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(run()[0].transform(X), merged.transform(X))


def test_one_map_for_all_workers(cluster, images):
    """Patches come from the points: the first shard makes the map, empty copies of it go out."""
    X = images.reshape(40, 64) / 255
    first, *rest = shards(40)
    options = dict(method="whitened", features="patches:8,3,2", n_components=2, image_shape=(8, 8))
    start = ep.Contrastive(**options).partial_fit(X[slice(*first)])
    parts = [dask.delayed(lambda e, x: e.partial_fit(x))(start.empty_copy(i + 1), X[slice(*rows)])
             for i, rows in enumerate(rest)]
    merged = tree([dask.delayed(start), *parts]).compute()
    alone = copy.deepcopy(start)
    for i, rows in enumerate(rest):
        alone.merge(start.empty_copy(i + 1).partial_fit(X[slice(*rows)]))
    assert merged.sums_.anchors == 40
    np.testing.assert_allclose(merged.eigenvalues_, alone.eigenvalues_, rtol=1e-9)


def test_a_shard_that_comes_twice(cluster):
    """A worker's result that is merged twice is refused, and what was merged before stays usable."""
    X = np.random.default_rng(2).normal(size=(40, 6))
    one = dask.delayed(lambda x: ep.Contrastive(method="whitened", width=20, n_components=2).partial_fit(x))(X).compute()
    with pytest.raises(ValueError, match="already"):
        copy.deepcopy(one).merge(one)
    assert one.transform(X).shape == (40, 2)
