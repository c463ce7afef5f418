"""The program under mpirun: the answers of one process on 1 to 4 ranks, the same bits for the same number of them; one
message and an end for all when a rank fails. `make test-mpi`."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from conftest import *  # noqa: F401,F403,E402  the program's own fixtures
from conftest import PROGRAM, environment, processor_seconds  # noqa: E402


def mpi(folder, ranks, *args, bind=("--bind-to", "none"), **more):
    env = dict(environment(folder), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1",
               OMPI_MCA_btl_vader_single_copy_mechanism="none",
               OMPI_MCA_pml="ob1", OMPI_MCA_btl="self,vader",  # what it takes on one node, without a look at all the others
               TMPDIR="/tmp", **more)
    env.pop("OMP_NUM_THREADS", None) if "OMP_NUM_THREADS" not in more else None
    return dict(args=["mpirun", "-n", str(ranks), "--oversubscribe", *bind, str(PROGRAM), *map(str, args)], cwd=folder,
                env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def single(folder, *args):
    """The program as one process, which must succeed and say nothing on standard error -> standard output."""
    done = subprocess.run([str(PROGRAM), *map(str, args)], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """What one process makes of it, run once for all tests that hold it against ranks -> its folder, what it returned."""
    kept = {}

    def call(make, *args):
        key = repr((make.__name__, args))
        if key not in kept:
            folder = tmp_path_factory.mktemp("once")
            kept[key] = folder, make(folder, *args)
        return kept[key]

    return call


def span(folder, name):
    """An orthonormal basis of what a model makes of the test points."""
    single(folder, "embed", "--model", f"{name}.npz", "--data", "digits:test", "--precision", "double", "--out", f"{name}.npy")
    return np.linalg.qr(np.load(folder / f"{name}.npy"))[0]


def fitted(folder, *how):
    return json.loads(single(folder, "fit", *how, "--json", "--out", "1.npz")), span(folder, "1")


@pytest.fixture
def run(tmp_path):
    def call(ranks, *args, **more):
        done = subprocess.run(timeout=120, **mpi(tmp_path, ranks, *args, **more))
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


DATA = ["--data", "digits", "--samples", 203, "--outputs", 4, "--precision", "double", "--seed", 3]
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


# ---- bad luck


def fails(tmp_path, ranks, *args, code, words, **more):
    done = subprocess.run(timeout=60, **mpi(tmp_path, ranks, *args, **more))
    ours = [line for line in done.stderr.splitlines() if line.startswith("eigenpair ")]
    assert done.returncode == code and len(ours) == 1, done.stderr
    assert all(w in ours[0] for w in words), ours


def test_one_message(tmp_path):
    """What every rank finds wrong is said once."""
    fails(tmp_path, 3, "fit", "--data", "nothing.npy", code=2, words=["rank 0", "nothing.npy"])
    fails(tmp_path, 2, "compare", "--data", "digits", code=2, words=["one process"])
    fails(tmp_path, 2, "fit", "--data", "digits", "--width", "x", code=2, words=["--width"])


def test_threads_that_are_not_bound(tmp_path):
    """Two threads on one core took hundreds of times as long: refused, with how to bind."""
    fails(tmp_path, 2, "fit", *DATA, "--threads", 2, code=2, words=["2 threads on 1 core", "PE=2"],
          bind=("--bind-to", "core", "--map-by", "slot"))
    fails(tmp_path, 2, "fit", *DATA, "--threads", 400, code=2, words=["400 threads"])


def test_what_was_chosen_is_said(tmp_path):
    """How many ranks, threads of each, cores it may use."""
    done = subprocess.run(timeout=60, **mpi(tmp_path, 2, "fit", *DATA, "--method", "pca", "--width", 20))
    assert done.returncode == 0 and "ranks    2, 2 on this node, each of 1 thread, on " in done.stderr and "cores" in done.stderr


def apart(tmp_path, ranks, *args):
    """Rank 1 alone runs in the folder `other`."""
    (tmp_path / "other").mkdir(exist_ok=True)
    script = tmp_path / "rank.sh"
    script.write_text(f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 1 ] && cd other\nexec {PROGRAM} "$@"\n')
    script.chmod(0o755)
    how = mpi(tmp_path, ranks, *args)
    how["args"][how["args"].index(str(PROGRAM))] = str(script)
    return how


OTHERS = {"fit": ["fit", "--data", "x.npy", "--width", 20, "--epochs", 2],
          "pairs": ["fit", "--anchors", "x.npy", "--positives", "x.npy", "--width", 20, "--epochs", 2],
          "accumulate": ["accumulate", "--data", "x.npy", "--width", 20, "--shard", "1/1"],
          "embed": ["embed", "--data", "same.npy", "--model", "m.npz"],
          "probe": ["probe", "--embedding", "x.npy", "--labels", "y.npy", "--probe", "ridge"],
          "sums": ["fit", "--from", "s.npz", "--solver", "scalapack"]}


def two_nodes(folder, shape):
    """Files under the same names in the folders `other` and `same`, of other data."""
    for where, size in ("other", shape), ("same", (50, 4)):
        here = folder / where
        here.mkdir()
        x = np.random.default_rng(size[0] + (where == "other")).normal(size=size)
        for path, array in ("x.npy", x), ("same.npy", np.ones((50, 4))), ("y.npy", np.arange(len(x)) % 3):
            np.save(here / path, array)
        single(here, "fit", "--data", "x.npy", "--method", "pca", "--width", 20, "--outputs", 2, "--out", "m.npz")
        single(here, "accumulate", "--data", "x.npy", "--width", 20, "--outputs", 2, "--shard", "1/1", "--out", "s.npz")


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("shape", [(50, 4), (49, 4)], ids=["other values", "other rows"])
def test_other_data_on_one_node(tmp_path, once, name, shape):
    """Another file under the same name: one line names it and the rank, and nothing is written. The same file: as ever."""
    folder, _ = once(two_nodes, shape)
    other = tmp_path / "other"
    shutil.copytree(folder / "same", tmp_path, dirs_exist_ok=True)
    shutil.copytree(folder / "other", other)
    args = [*OTHERS[name], *([] if name == "probe" else ["--out", "out.npy" if name == "embed" else "out.npz"])]
    done = subprocess.run(timeout=60, **apart(tmp_path, 3, *args))
    ours = [line for line in done.stderr.splitlines() if line.startswith("eigenpair ")]
    assert done.returncode == 2 and len(ours) == 1 and "another file for rank 1 than for rank 0" in ours[0], done.stderr
    assert {"embed": "m.npz", "sums": "s.npz"}.get(name, "x.npy") in ours[0] and not list(tmp_path.glob("**/out.np*"))
    if shape == (50, 4):  # the files of rank 0 are of this shape: once is enough
        shutil.copytree(folder / "same", other, dirs_exist_ok=True)
        assert subprocess.run(timeout=60, **apart(tmp_path, 3, *args)).returncode == 0


def test_a_rank_that_fails_ends_all(tmp_path):
    """The data are not there on one node: rank 1 alone runs in a folder without them."""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(50, 4)))
    how = apart(tmp_path, 3, "fit", "--data", "x.npy", "--width", 20, "--epochs", 5)
    done = subprocess.run(timeout=60, **how)
    ours = [line for line in done.stderr.splitlines() if line.startswith("eigenpair ")]
    assert done.returncode == 2 and len(ours) == 1 and "rank 1" in ours[0] and "x.npy" in ours[0], done.stderr
    assert not (tmp_path / "model.npz").exists()


def test_two_ranks_that_fail(tmp_path):
    """All but the first: the lower of them says so, and is not ended by the other before it has."""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(50, 4)))
    how = apart(tmp_path, 3, "fit", "--data", "x.npy", "--width", 20, "--epochs", 5)
    script = tmp_path / "rank.sh"
    script.write_text(script.read_text().replace("= 1", "!= 0"))
    done = subprocess.run(timeout=60, **how)
    ours = [line for line in done.stderr.splitlines() if line.startswith("eigenpair ")]
    assert done.returncode == 2 and len(ours) == 1 and "rank 1" in ours[0] and "x.npy" in ours[0], done.stderr


def ranks_of(process):
    """Process numbers of the program's ranks, children of mpirun, once both have begun their work."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for _ in range(300):
        found = [int(p) for p in children.read_text().split()]
        if len(found) == 2 and all(b"eigenpair" in pathlib.Path(f"/proc/{p}/cmdline").read_bytes() for p in found):
            return found
        time.sleep(0.1)
    raise AssertionError("mpirun did not start")


LONG = ["fit", *DATA, "--width", 200, "--epochs", 1000000, "--rate", 0.01, "--every", 10]


def started(tmp_path):
    process = subprocess.Popen(**mpi(tmp_path, 2, *LONG))
    found = ranks_of(process)
    for _ in range(600):
        if (tmp_path / "model.npz.checkpoint.npz").exists():
            return process, found
        time.sleep(0.1)
    raise AssertionError("no checkpoint was written")


def test_a_killed_rank(tmp_path):
    """SIGKILL of one rank ends the others soon; what was saved stays whole."""
    process, found = started(tmp_path)
    os.kill(found[1], signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode != 0 and not (tmp_path / "model.npz").exists()
    assert np.load(tmp_path / "model.npz.checkpoint.npz")["theta"].ndim == 1


def first_part(folder, *how):
    """The first of two shards, by two ranks."""
    done = subprocess.run(timeout=120, **mpi(folder, 2, *how, "--shard", "1/2", "--out", "a.npz"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_part_that_is_not_finished(tmp_path, once, run, good, number):
    """A rank that is killed, or asked to stop, in the middle of a shard: all end, no part is there; the one that was finished stays
    usable, and the shard can be made again on another number of ranks."""
    how = ["accumulate", *DATA, "--width", 40]
    shutil.copy(once(first_part, *how)[0] / "a.npz", tmp_path)
    first = (tmp_path / "a.npz").read_bytes()
    process = subprocess.Popen(**mpi(tmp_path, 2, "accumulate", "--data", "digits", "--views", 1000, "--width", 300, "--shard", "1/1",
                                     "--out", "b.npz"))
    found = ranks_of(process)
    while process.poll() is None and processor_seconds(found[1]) < 0.5:  # in the middle, on a busy machine too
        time.sleep(0.01)
    os.kill(found[1], number)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0 and not list(tmp_path.glob("b.npz*")) and (tmp_path / "a.npz").read_bytes() == first, err
    ours = [line for line in err.splitlines() if line.startswith("eigenpair ")]
    assert len(ours) == 1 and "interrupted" in ours[0], err  # by the signal, or by mpirun because the other was killed
    assert number != signal.SIGKILL or "rank 1" in err and "signal 9" in err, err
    run(3, *how, "--shard", "2/2", "--out", "b.npz")
    good("merge", "a.npz", "b.npz")


@pytest.mark.parametrize("how", ["Ctrl-C at mpirun", "SIGTERM to a rank"])
def test_interrupted_and_resumed_on_another_number_of_ranks(tmp_path, run, good, ref, how):
    """One or all ranks are asked to stop: all save and stop together; 1 and 3 ranks go on from there to the same."""
    process, found = started(tmp_path)
    if how == "SIGTERM to a rank":
        os.kill(found[1], signal.SIGTERM)
    else:
        process.send_signal(signal.SIGINT)  # which mpirun passes on
    _, err = process.communicate(timeout=60)
    assert process.returncode in ([130] if how == "SIGTERM to a rank" else [130, 1]) and "--resume" in err, err
    epoch = int(np.load(tmp_path / "model.npz.checkpoint.npz")["state"][0])
    saved = (tmp_path / "model.npz.checkpoint.npz").read_bytes()
    losses = []
    for ranks in 1, 3:
        (tmp_path / "c.npz").write_bytes(saved)
        run(ranks, "fit", "--resume", "c.npz", "--epochs", epoch + 5, "--history", "h.csv", "--out", "r.npz")
        losses.append(ref.columns(tmp_path / "h.csv")["loss"])
    assert len(losses[0]) == epoch + 6 and np.abs(losses[0] - losses[1]).max() < 1e-10


def test_a_full_disk_on_one_node(tmp_path, once, run, good):
    """The disk of rank 0, which writes, holds 16 kB: one line says so and ends all; parts that were finished stay usable, and
    the shard can be made again."""
    inside = 'mount -t tmpfs -o size=16k none full && exec "$0" "$@"'
    (tmp_path / "full").mkdir()
    if subprocess.run(["unshare", "-rm", "sh", "-c", inside, "true"], cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("no small disk can be mounted here")
    how = ["accumulate", *DATA, "--width", 40]
    shutil.copy(once(first_part, *how)[0] / "a.npz", tmp_path)
    script = tmp_path / "rank.sh"
    script.write_text(f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec unshare -rm sh -c \'{inside}\' {PROGRAM} "$@"\n'
                      f'exec {PROGRAM} "$@"\n')
    script.chmod(0o755)
    full = mpi(tmp_path, 2, *how, "--shard", "2/2", "--out", "full/b.npz")
    full["args"][full["args"].index(str(PROGRAM))] = str(script)
    done = subprocess.run(timeout=60, **full)
    ours = [line for line in done.stderr.splitlines() if line.startswith("eigenpair ")]
    assert done.returncode != 0 and len(ours) == 1 and "full/b.npz" in ours[0] and "space" in ours[0], done.stderr
    run(2, *how, "--shard", "2/2", "--out", "b.npz")
    good("merge", "a.npz", "b.npz")


def test_a_build_without_mpi_says_so(tmp_path):
    """Two copies of all the work, writing one file, are not started."""
    other = pathlib.Path(str(PROGRAM).replace("build/mpi", "build/release"))
    if other == PROGRAM or not other.exists():
        pytest.skip("there is no build without MPI")
    how = mpi(tmp_path, 2, "fit", *DATA)
    how["args"][how["args"].index(str(PROGRAM))] = str(other)
    done = subprocess.run(timeout=60, **how)
    assert done.returncode == 2 and "cmake --preset mpi" in done.stderr
