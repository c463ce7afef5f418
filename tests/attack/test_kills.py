"""(b) SIGKILL at random moments, again and again, until the work is done: the same bits as without, and no stray file. A few
kills each by default; EP_ATTACK=long: a hundred each."""
import json
import random
import time

import numpy as np
import pytest

from conftest import LONG, contents, has_command, run, settled, start

KILLS = 100 if LONG else 3
FIT = ["--data", "moons:60", "--width", 32, "--outputs", 2, "--seed", 5]
METHODS = ["gd", "grassmann", "iterate", "kernel", "linearised", "alpha"]


def kill_at_random(args, folder, dice, most):
    """Starts it and kills it within `most` seconds -> was it killed?"""
    process = start(args, folder)
    time.sleep(dice.random() * most)
    process.kill()
    process.communicate()
    return process.returncode == -9


def strays(folder):
    return [p.name for p in folder.rglob(".eigenpair-*")]


@pytest.mark.parametrize("method", METHODS)
def test_fit_is_killed(tmp_path, tally, method):
    whole, broken, dice = tmp_path / "whole", tmp_path / "broken", random.Random(method)
    whole.mkdir(), broken.mkdir()
    epochs = 4000 if LONG else 600
    args = ["fit", *FIT, "--method", method, "--epochs", epochs, "--out", "m.npz", "--history", "h.csv"]
    begin = time.time()
    done = run([*args, "--every", 20, "--checkpoint", "k.npz"], whole)
    assert done.returncode == 0, done.stderr
    most, kills, rounds = time.time() - begin, 0, 0
    while kills < KILLS:
        rounds += 1
        resumed = (broken / "k.npz").exists()
        kills += kill_at_random([*args, *(["--resume", "k.npz"] if resumed else ["--every", 20, "--checkpoint", "k.npz"])],
                                broken, dice, most)
        if rounds % 20 == 0:  # what was done so far has to be right; begin again
            (broken / "k.npz").unlink(missing_ok=True)
    for p in broken.glob("k.npz"):
        with np.load(p) as z:  # whole, whenever it was killed
            assert z["state"].size == 4
    resumed = (broken / "k.npz").exists()
    done = run([*args, *(["--resume", "k.npz"] if resumed else ["--every", 20, "--checkpoint", "k.npz"])], broken)
    assert done.returncode == 0, done.stderr
    assert contents(broken, ["k.npz"]) == contents(whole, ["k.npz"])
    assert not strays(broken)
    tally("kills", kills)


STUDIES = {
    "compare": ["compare", "--data", "moons:40", "--widths", "8,16", "--runs", 2, "--epochs", 30, "--outputs", 2, "--out", "c"],
    "reproduce": ["reproduce", "linear-fig1", "--quick", "--out", "c"],
    "accumulate": ["accumulate", "--data", "moons:2000", "--width", 200, "--outputs", 2, "--out", "c/part.npz"],
}


@pytest.mark.parametrize("study", STUDIES)
def test_study_is_killed(tmp_path, tally, study):
    if not has_command(study):
        pytest.skip(f"there is no {study} in this program")
    whole, broken, dice = tmp_path / "whole", tmp_path / "broken", random.Random(study)
    for folder in (whole, broken):
        (folder / "c").mkdir(parents=True)
    begin = time.time()
    done = run(STUDIES[study], whole, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    most, kills = time.time() - begin, 0
    for _ in range(KILLS):
        kills += kill_at_random(STUDIES[study], broken, dice, most)
        if LONG and kills % 10 == 0:  # from the beginning
            for p in sorted((broken / "c").rglob("*"), reverse=True):
                p.rmdir() if p.is_dir() else p.unlink()
    again = run(STUDIES[study], broken, timeout=600)
    assert again.returncode == done.returncode, again.stderr
    name = "c/part.npz" if study == "accumulate" else "c/result.json"
    a, b = ((f / name).read_bytes() for f in (whole, broken))
    of = lambda text: settled(json.loads(text)["jobs"] if study == "compare" else json.loads(text))  # its verdict has prices in it
    assert a == b if study == "accumulate" else of(a) == of(b)
    assert not strays(broken)
    tally("kills", kills)
