"""Under mpirun: one message and an end for all when a rank fails, is killed or asked to stop; nothing wrong merged."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from ranks import *  # noqa: F401,F403  fixtures
from ranks import DATA, PROGRAM, fails, mpi, processor_seconds, single


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
