"""The program under mpirun: the answers of one process on 1 to 4 ranks, the same bits for the same number of them."""
import json

import numpy as np
import pytest
from ranks import *  # noqa: F401,F403  fixtures
from ranks import DATA, fails, fitted, single, span

CLOSED = {"whitened": ["--width", 60], "patches": ["--features", "patches:9,5,2", "--views", 3],
          "landmarks": ["--kernel", "analytic", "--landmarks", 30],
          "pca": ["--method", "pca", "--width", 60, "--path", "primal"],
          "free": ["--method", "pca", "--width", 60, "--path", "free", "--pairs", "2+1"],
          "all": ["--method", "pca", "--width", 60, "--path", "free", "--pairs", "all"],
          "infinite": ["--method", "infinite"], "nystrom": ["--method", "infinite", "--landmarks", 50]}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(run, tmp_path, name):
    """Eigenvalues to 1e-10, spans to 1e-8, against one process; the same bits for the same number of ranks."""
    how = CLOSED[name] + ([] if "--method" in CLOSED[name] else ["--method", "whitened"])
    alone, A = fitted(tmp_path, *DATA, *how, "--threads", 1)
    for ranks in 2, 3, 4:
        result = json.loads(run(ranks, "fit", *DATA, *how, "--json", "--out", "n.npz"))
        assert result["machine"]["ranks"] == ranks and result["machine"]["threads"] == 1
        a, b = np.array(alone["eigenvalues"]), np.array(result["eigenvalues"])
        assert np.abs(a - b).max() < 1e-10 * a.max()
        B = span(tmp_path, "n")
        assert np.linalg.norm(A - B @ (B.T @ A)) < 1e-8
    first = (tmp_path / "n.npz").read_bytes()
    run(4, "fit", *DATA, *how, "--out", "n.npz")
    assert (tmp_path / "n.npz").read_bytes() == first
    for ranks in (2, 3, 4) if name in ("whitened", "infinite") else (3,):  # a map's rows and a kernel's, then a share of each kind
        run(ranks, "embed", "--model", "n.npz", "--data", "digits:test", "--precision", "double", "--out", "r.npy")
        one, shared = np.load(tmp_path / "n.npy"), np.load(tmp_path / "r.npy")
        assert one.shape == shared.shape and np.abs(one - shared).max() < 1e-10 * np.abs(one).max()


MANY, FEW = ["--width", 61, "--outputs", 5], ["--width", 330, "--outputs", 2]


@pytest.mark.parametrize("solver, ranks, shape", [("scalapack", 1, MANY), ("scalapack", 2, MANY), ("scalapack", 3, MANY),
                                                  ("scalapack", 4, MANY), ("elpa", 2, MANY), ("elpa", 4, MANY),
                                                  ("scalapack", 2, FEW), ("scalapack", 4, FEW)])
def test_eigenproblems_spread_over_ranks(run, once, tmp_path, solver, ranks, shape):
    """All eigenpairs of the reduced matrix, and block Krylov by its factors: those of one process; the same bits again."""
    how = [*DATA, "--method", "whitened", "--views", 3, *shape]
    _, (alone, A) = once(fitted, *how, "--threads", 1)
    result = json.loads(run(ranks, "fit", *how, "--solver", solver, "--json", "--out", "n.npz"))
    name = "ELPA" if solver == "elpa" else "ScaLAPACK"
    assert result["solver"].startswith(name) and "BLAS of /" in result["solver"]
    a, b = np.array(alone["eigenvalues"]), np.array(result["eigenvalues"])
    assert np.abs(a - b).max() < 1e-10 * a.max() and abs(alone["gap"] - result["gap"]) < 1e-9
    assert result["residual"] < 1e-9
    B = span(tmp_path, "n")
    assert np.linalg.norm(A - B @ (B.T @ A)) < 1e-8
    first = (tmp_path / "n.npz").read_bytes()
    run(ranks, "fit", *how, "--solver", solver, "--out", "n.npz")
    assert (tmp_path / "n.npz").read_bytes() == first


def test_spread_where_it_does_not_fit(run, ep, tmp_path):
    """Covariances that one process cannot hold: ranks spread them by themselves, within --memory."""
    how = ["--data", "digits", "--samples", 60, "--method", "whitened", "--width", 3000, "--outputs", 2, "--ridge", 1,
           "--memory", "250M"]
    alone = ep("fit", *how)
    assert alone.code == 2 and "two covariances of 3000 features" in alone.err
    result = json.loads(run(2, "fit", *how, "--json"))
    assert result["solver"].startswith("ScaLAPACK on 1 x 2 ranks") and result["peak_memory"] < 250 * 2**20
    assert result["status"] == "converged"
    fails(tmp_path, 2, "fit", *how, "--memory", "60M", code=2, words=["a rank, more than --memory: take more ranks"])


def same_spans(tmp_path, alone, A, result):
    a, b = np.array(alone["eigenvalues"]), np.array(result["eigenvalues"])
    assert len(a) == len(b) and np.abs(a - b).max() < 1e-10 * a.max()
    B = span(tmp_path, "n")
    assert np.linalg.norm(A - B @ (B.T @ A)) < 1e-8


OPEN = {"ridge": ["--width", 61, "--ridge", "auto"], "outputs": ["--features", "patches:9,5,2", "--outputs", "auto"],
        "both": ["--width", 40, "--ridge", "auto", "--outputs", "auto"]}


@pytest.mark.parametrize("solver, ranks", [("local", 2), ("local", 4), ("scalapack", 1), ("scalapack", 2), ("scalapack", 3),
                                           ("scalapack", 4), ("elpa", 2)])
@pytest.mark.parametrize("name", OPEN)
def test_what_is_chosen_does_not_depend_on_ranks(run, once, tmp_path, name, solver, ranks):
    """Ridge and outputs by points that are held out, from sums that every rank has or that are spread: one answer."""
    how = [*DATA, "--method", "whitened", "--views", 3, "--augment", "shift:1", *OPEN[name]]
    _, (alone, A) = once(fitted, *how, "--threads", 1)
    result = json.loads(run(ranks, "fit", *how, "--solver", solver, "--json", "--out", "n.npz"))
    assert result["ridge_share"] == alone["ridge_share"] and result["ridge"] == pytest.approx(alone["ridge"], rel=1e-12)
    assert ("solver" in result) == (solver != "local")
    same_spans(tmp_path, alone, A, result)


def summed(folder, *how):
    """sums.npz of two shards, and the model of it."""
    for k in 1, 2:
        single(folder, "accumulate", *DATA, *how, "--shard", f"{k}/2", "--out", f"part{k}.npz")
    single(folder, "merge", "part1.npz", "part2.npz", "--out", "sums.npz")
    return fitted(folder, "--from", "sums.npz")


@pytest.mark.parametrize("solver, ranks, shape", [("scalapack", 1, MANY), ("scalapack", 2, MANY), ("scalapack", 3, MANY),
                                                  ("scalapack", 4, MANY), ("elpa", 2, MANY), ("scalapack", 3, FEW)])
def test_sums_of_files_spread_over_ranks(run, once, tmp_path, solver, ranks, shape):
    """Every rank reads its part of B and C: the model of one process; the same bits again."""
    folder, (alone, A) = once(summed, "--views", 3, *shape)
    sums = folder / "sums.npz"
    result = json.loads(run(ranks, "fit", "--from", sums, "--solver", solver, "--json", "--out", "n.npz"))
    assert result["solver"].startswith("ELPA" if solver == "elpa" else "ScaLAPACK")
    same_spans(tmp_path, alone, A, result)
    first = (tmp_path / "n.npz").read_bytes()
    run(ranks, "fit", "--from", sums, "--solver", solver, "--out", "n.npz")
    assert (tmp_path / "n.npz").read_bytes() == first


def test_sums_that_one_process_cannot_hold(run, ep, good, tmp_path):
    """64 MB of sums: two ranks of 80 MB read their halves by themselves, one is told; the file is whole or refused."""
    good("accumulate", "--data", "digits", "--samples", 60, "--width", 2000, "--outputs", 2, "--shard", "1/1", "--out", "s.npz")
    how = ["fit", "--from", "s.npz", "--memory", "80M"]
    alone = ep(*how)
    assert alone.code == 2 and "two covariances of 2000 features" in alone.err
    result = json.loads(run(2, *how, "--json"))
    assert result["solver"].startswith("ScaLAPACK on 1 x 2 ranks") and result["peak_memory"] < 80 * 2**20
    with open(tmp_path / "s.npz", "r+b") as file:
        file.seek(20_000_000)
        file.write(b"\1" * 64)
    fails(tmp_path, 2, *how, code=2, words=["s.npz:sum_", "damaged"])


def test_what_is_not_spread(ep, good, tmp_path):
    assert "under mpirun" in ep("fit", *DATA, "--method", "whitened", "--solver", "scalapack").err
    good("accumulate", *DATA, "--method", "pca", "--width", 30, "--shard", "1/1", "--out", "s.npz")
    fails(tmp_path, 2, "fit", "--from", "s.npz", "--solver", "elpa", code=2, words=["s.npz", "--solver elpa", "of pca"])


@pytest.mark.parametrize("how", [[], ["--batch", 50], ["--loss", "vicreg", "--depth", 2], ["--loss", "ntxent", "--batch", 60],
                                 ["--method", "grassmann"], ["--method", "alpha"],
                                 ["--method", "kernel"], ["--method", "kernel", "--kernel", "analytic"]],
                         ids=lambda h: "-".join(map(str, h)) or "gd")
def test_descent(run, good, ref, tmp_path, how):
    """Losses that mix all points as well: every epoch's loss, and the outputs."""
    how = [*DATA, "--width", 40, "--epochs", 4, *how]
    good("fit", *how, "--threads", 1, "--history", "1.csv", "--out", "1.npz")
    good("embed", "--model", "1.npz", "--data", "digits:test", "--precision", "double", "--out", "1.npy")
    one = np.load(tmp_path / "1.npy")
    for ranks in 2, 4:
        run(ranks, "fit", *how, "--history", "n.csv", "--out", "n.npz")
        a, b = (ref.columns(tmp_path / f"{f}.csv")["loss"] for f in "1n")
        assert np.abs(a - b).max() < 1e-11 * np.abs(a).max()
        good("embed", "--model", "n.npz", "--data", "digits:test", "--precision", "double", "--out", "n.npy")
        assert np.abs(np.load(tmp_path / "n.npy") - one).max() < 1e-9 * np.abs(one).max()


def test_fewer_rows_than_ranks(run, good, save, rng, tmp_path):
    save(x=rng.normal(size=(2, 5)))
    how = ["--data", "x.npy", "--width", 8, "--outputs", 2, "--epochs", 3, "--precision", "double"]
    good("fit", *how, "--out", "1.npz")
    run(4, "fit", *how, "--out", "n.npz")
    run(4, "embed", "--model", "n.npz", "--data", "x.npy", "--out", "e.npy")
    a, b = np.load(tmp_path / "1.npz"), np.load(tmp_path / "n.npz")
    assert np.abs(a["V"] - b["V"]).max() < 1e-12 and np.load(tmp_path / "e.npy").shape == (2, 2)


@pytest.mark.parametrize("kernel", ["empirical", "analytic", "nngp"])
@pytest.mark.parametrize("layout", ["full", "trace"])
def test_kernels(run, good, save, rng, tmp_path, kernel, layout):
    if kernel != "empirical" and layout == "full":
        pytest.skip("one layout")
    save(x=rng.normal(size=(17, 6)), y=rng.normal(size=(5, 6)))
    for more in [], ["--data2", "y.npy"]:
        how = ["ntk", "--data", "x.npy", *more, "--kernel", kernel, "--layout", layout, "--width", 20, "--outputs", 3,
               "--precision", "double"]
        good(*how, "--out", "1.npy")
        run(3, *how, "--out", "n.npy")
        a, b = np.load(tmp_path / "1.npy"), np.load(tmp_path / "n.npy")
        assert a.shape == b.shape and np.abs(a - b).max() < 1e-12 * np.abs(a).max()


def test_accumulate_under_mpirun(run, good, tmp_path):
    """Shards by ranks: the parts are those of one process, to rounding, and merge with them."""
    how = [*DATA, "--width", 40]
    run(2, "accumulate", *how, "--shard", "1/2", "--out", "a.npz")
    good("accumulate", *how, "--shard", "2/2", "--out", "b.npz")
    good("merge", "a.npz", "b.npz")
    good("fit", "--from", "sums.npz", "--out", "m.npz")
    good("fit", *how, "--method", "whitened", "--out", "1.npz")
    a, b = np.load(tmp_path / "m.npz")["W"], np.load(tmp_path / "1.npz")["W"]
    assert np.abs(a - b).max() < 1e-8 * np.abs(b).max()


def test_probes(run, good, save, rng):
    """Shares of the points, of the queries, of the loss: the answers of one process."""
    y = np.arange(700) % 3
    save(e=rng.normal(size=(700, 5)) + rng.normal(size=(3, 5))[y], l=y)
    how = ["probe", "--embedding", "e.npy", "--labels", "l.npy", "--probe", "all", "--json"]
    alone = json.loads(good(*how, "--threads", 1))
    for ranks in 2, 3:
        result = json.loads(run(ranks, *how))
        assert result["machine"]["ranks"] == ranks and abs(alone["rankme"] - result["rankme"]) < 1e-12
        for a, b in zip(alone["probes"], result["probes"]):
            for key in "accuracy", "train_accuracy", "confusion", "converged":
                assert a[key] == b[key], (a["probe"], key)
