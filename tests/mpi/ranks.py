"""How to run the program under mpirun, and what one process makes of the same."""
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from conftest import *  # noqa: F401,F403,E402  the program's own fixtures
from conftest import PROGRAM, environment  # noqa: E402


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


def fails(tmp_path, ranks, *args, code, words, **more):
    """One line of ours, with these words in it."""
    done = subprocess.run(timeout=60, **mpi(tmp_path, ranks, *args, **more))
    ours = [line for line in done.stderr.splitlines() if line.startswith("eigenpair ")]
    assert done.returncode == code and len(ours) == 1, done.stderr
    assert all(w in ours[0] for w in words), ours


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
