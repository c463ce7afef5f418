"""Killed, interrupted, gone on: the bytes of an uninterrupted run."""
import os
import random
import re
import resource
import shlex
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import wait_until_at_work

CASES = {
    "full": ["--data", "x.npy"],
    "full, tracked": ["--data", "x.npy", "--track", "weights,rank"],
    "rotated": ["--data", "few.npy", "--track", "weights"],
    "batches": ["--data", "x.npy", "--batch", 7],
    "batches, tracked": ["--data", "x.npy", "--batch", 7, "--track", "weights"],
    "double, deep": ["--data", "x.npy", "--precision", "double", "--depth", 2, "--pairs", "2+3", "--loss", "softmax"],
}
OPTIONS = ["--width", 24, "--outputs", 4, "--rate", 0.05, "--threads", 2, "--seed", 3]
EPOCHS = 300


@pytest.fixture(autouse=True)
def data(save, rng):
    save(x=rng.normal(size=(30, 4)), few=rng.normal(size=(6, 60)))


@pytest.fixture
def results(tmp_path):
    """Bytes of a model and a history."""
    return lambda name: tuple((tmp_path / f"{name}.{end}").read_bytes() for end in ("npz", "csv"))


@pytest.fixture
def whole(good, results):
    """The uninterrupted run -> its bytes."""

    def run(case, epochs=EPOCHS):
        good("fit", *CASES[case], *OPTIONS, "--epochs", epochs, "--out", "whole.npz", "--history", "whole.csv")
        return results("whole")

    return run


@pytest.fixture
def launch(call):
    """Starts a run that saves every epoch; ended at the latest with the test."""
    running = []

    def begin(*args):
        p = subprocess.Popen(**call("fit", *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(p)
        return p

    yield begin
    for p in running:
        if p.poll() is None:
            p.kill()
        p.communicate()


def wait_for_change(path, process, then=None):
    """Until the checkpoint is there, or another than `then`, or the run is over."""
    end = time.monotonic() + 60
    stamp = lambda: os.stat(path).st_mtime_ns if os.path.exists(path) else None
    while stamp() in (None, then) and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.001)
    return stamp()


def advice(err):
    """The words of the command that the line on standard error tells to go on with."""
    return shlex.split(re.search(r"go on with: eigenpair (fit .*)$", err.strip()).group(1))


FILES = ["--checkpoint", "ck.npz", "--every", 1, "--out", "part.npz", "--history", "part.csv"]


@pytest.mark.parametrize("case", CASES)
def test_killed_again_and_again(launch, whole, results, tmp_path, case):
    """SIGKILL at any moment costs at most the work since the last checkpoint, and not one bit."""
    expected, rng = whole(case), random.Random(case)
    args, kills = [*CASES[case], *OPTIONS, "--epochs", EPOCHS], 0
    while True:
        before = os.stat(tmp_path / "ck.npz").st_mtime_ns if kills else None
        p = launch(*args, *FILES)
        if kills < 5:
            wait_for_change(tmp_path / "ck.npz", p, before)
            time.sleep(rng.uniform(0, 0.02))
            p.kill()
        out, err = p.communicate(timeout=100)
        if p.returncode == 0:
            break
        assert p.returncode == -signal.SIGKILL, err
        kills, args = kills + 1, ["--resume", "ck.npz"]
    assert kills >= 2
    assert results("part") == expected


def test_every_checkpoint_is_whole(launch, tmp_path, ref):
    """Whenever one looks, the checkpoint is a complete file."""
    p = launch(*CASES["full"], *OPTIONS, "--epochs", 100, *FILES)
    wait_for_change(tmp_path / "ck.npz", p)
    epochs = []
    while p.poll() is None and len(epochs) < 50:
        epochs.append(ref.load(tmp_path / "ck.npz")["state"][0])
    assert epochs == sorted(epochs) and epochs[-1] > epochs[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
@pytest.mark.parametrize("case", ["full", "batches", "rotated"])
def test_interrupted(launch, ep, whole, results, tmp_path, number, case):
    """Exit 130, one line that says how to go on, work saved; going on gives the same bytes."""
    epochs = 20000
    p = launch(*CASES[case], *OPTIONS, "--epochs", epochs, "--every", 5, "--out", "part.npz", "--history", "part.csv")
    ck = tmp_path / "part.npz.checkpoint.npz"
    wait_for_change(ck, p)
    p.send_signal(number)
    out, err = p.communicate(timeout=100)
    assert (p.returncode, out) == (130, "") and err.count("\n") == 1 and err.startswith("eigenpair fit: ")
    assert not (tmp_path / "part.npz").exists() and not list(tmp_path.glob("*.tmp"))
    with np.load(ck) as z:
        done = int(z["state"][0])
    assert 0 < done < epochs
    result = ep(*advice(err), "--history", "part.csv", "--epochs", done + 10)
    assert result.code == 0 and result.err == ""
    assert results("part") == whole(case, done + 10)


def test_advice_keeps_the_history(launch, ep, tmp_path):
    """Following the line to the letter also writes the history that was asked for."""
    p = launch(*CASES["full"], *OPTIONS, "--epochs", 20000, "--every", 5, "--out", "part.npz", "--history", "part.csv")
    wait_for_change(tmp_path / "part.npz.checkpoint.npz", p)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=100)
    assert ep(*advice(err), "--epochs", 1).code == 0
    assert (tmp_path / "part.csv").exists()


def test_interrupted_without_every(launch, ep, whole, results, tmp_path):
    """Ctrl-C saves even when no checkpoints were asked for, in the place asked for."""
    p = launch(*CASES["full"], *OPTIONS, "--epochs", 1000000, "--checkpoint", "my place.npz", "--out", "part.npz")
    wait_until_at_work(p)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=100)
    assert p.returncode == 130 and "my place.npz" in err
    with np.load(tmp_path / "my place.npz") as z:
        done = int(z["state"][0])
    assert ep("fit", "--resume", "my place.npz", "--epochs", done + 10, "--out", "part.npz", "--history", "part.csv").code == 0
    assert results("part") == whole("full", done + 10)


def test_advice_with_blanks_in_it(launch, ep, tmp_path):
    """The line that says how to go on can be pasted, also when a path has a blank in it."""
    p = launch(*CASES["full"], *OPTIONS, "--epochs", 1000000, "--every", 5, "--out", "my model.npz")
    wait_for_change(tmp_path / "my model.npz.checkpoint.npz", p)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=100)
    assert ep(*advice(err), "--epochs", 1).code == 0 and (tmp_path / "my model.npz").exists()


def test_interrupted_and_the_disk_is_full(call, tmp_path):
    """When the work cannot be saved, it is not said to be saved: status 1."""
    def small_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))  # as much as the OpenMP of clang needs

    p = subprocess.Popen(**call("fit", *CASES["full"], *OPTIONS, "--epochs", 1000000), stderr=subprocess.PIPE,
                         text=True, preexec_fn=small_disk)
    wait_until_at_work(p)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=100)
    assert p.returncode == 1 and err.count("\n") == 1 and "go on with" not in err
    assert not list(tmp_path.glob("*.tmp")) and not list(tmp_path.glob("*checkpoint*"))


@pytest.mark.parametrize("case", ["full", "batches"])
def test_more_epochs(good, whole, results, case):
    """A finished run goes on to more epochs as if they had been asked for at once."""
    good("fit", *CASES[case], *OPTIONS, "--epochs", 20, *FILES)
    good("fit", "--resume", "ck.npz", "--epochs", 35, *FILES[4:])
    assert results("part") == whole(case, 35)


def test_finished_run_resumed(good, whole, results):
    """Going on from the last checkpoint of a finished run changes nothing."""
    good("fit", *CASES["full"], *OPTIONS, "--epochs", EPOCHS, *FILES)
    first = results("part")
    good("fit", "--resume", "ck.npz", *FILES[4:])
    assert results("part") == first == whole("full")


def test_options_repeated_are_fine(good, whole, results):
    """The first command line with --resume added to it is also a way to go on."""
    good("fit", *CASES["full"], *OPTIONS, "--epochs", 20, *FILES)
    good("fit", *CASES["full"], *OPTIONS, "--epochs", 35, *FILES, "--resume", "ck.npz")
    assert results("part") == whole("full", 35)


def test_resumed_pairs_from_files(good, results, pairs, save):
    """Several files of negatives come back from the checkpoint."""
    p = pairs(positives=2, negatives=3)
    good("fit", *p.flags, *OPTIONS, "--epochs", 20, *FILES)
    good("fit", "--resume", "ck.npz", "--epochs", 35, *FILES[4:])
    resumed = results("part")
    good("fit", *p.flags, *OPTIONS, "--epochs", 35, *FILES[4:])
    assert resumed == results("part")


def test_converged_run_resumed(good, ep, results):
    """A run that had converged is still converged after going on from its checkpoint."""
    args = [*CASES["full"], *OPTIONS, "--epochs", 3000, "--tolerance", 0.05, "--patience", 5]
    assert "converged" in good("fit", *args, *FILES)
    first = results("part")
    assert "converged" in good("fit", "--resume", "ck.npz", *FILES[4:])
    assert results("part") == first


def test_no_checkpoint_without_need(good, tmp_path):
    """A run that ends by itself leaves no checkpoint unless asked for."""
    good("fit", *CASES["full"], *OPTIONS, "--epochs", 5)
    assert not list(tmp_path.glob("*checkpoint*"))
