"""(b) SIGKILL at random moments, again and again, until the work is done: the same bits as without, and no stray file. A few
kills each by default; EP_ATTACK=long: a hundred each."""
import json
import random
import subprocess
import time

import numpy as np
import pytest

from conftest import LONG, contents, environment, has_command, run, settled, start

KILLS = 100 if LONG else 3
FIT = ["--data", "moons:60", "--width", 32, "--outputs", 2, "--seed", 5]
NO_NODE = environment(PATH="/none")  # pictures are drawn by another program, and take a hundred times as long
METHODS = ["gd", "grassmann", "iterate", "kernel", "linearised", "alpha"]


def kill_at_random(args, folder, dice, most):
    """Starts it and kills it within `most` seconds -> was it killed, or done before?"""
    process = start(args, folder, NO_NODE)
    try:
        process.wait(dice.random() * most)
    except subprocess.TimeoutExpired:
        process.kill()
    _, err = process.communicate()
    assert process.returncode in (0, 1, -9), err
    return process.returncode == -9


def strays(folder):
    return [p.name for p in folder.rglob(".eigenpair-*")]


def clear(folder):
    for p in sorted(folder.rglob("*"), reverse=True):
        p.rmdir() if p.is_dir() else p.unlink()


@pytest.mark.parametrize("method", METHODS)
def test_fit_is_killed(tmp_path, tally, method):
    whole, broken, dice = tmp_path / "whole", tmp_path / "broken", random.Random(method)
    whole.mkdir(), broken.mkdir()
    args = ["fit", *FIT, "--method", method, "--epochs", 600, "--out", "m.npz", "--history", "h.csv"]
    first, again = [*args, "--every", 20, "--checkpoint", "k.npz"], [*args, "--resume", "k.npz"]
    begin = time.time()
    done = run(first, whole)
    assert done.returncode == 0, done.stderr
    most, kills, ends = time.time() - begin, 0, 0
    while kills < KILLS or ends == 0:
        resumed = (broken / "k.npz").exists()
        if resumed:
            with np.load(broken / "k.npz") as z:  # whole, whenever it was killed
                assert z["state"].size == 4
        if kills < KILLS and kill_at_random(again if resumed else first, broken, dice, most):
            kills += 1
            continue
        if kills == KILLS:
            assert run(again if resumed else first, broken).returncode == 0
        assert contents(broken, ["k.npz"]) == contents(whole, ["k.npz"])  # it is done: right, and begun again
        assert not strays(broken)
        clear(broken)
        ends += 1
    tally("kills", kills)
    tally("ends after kills", ends)


STUDIES = {
    "compare": ["compare", "--data", "moons:40", "--widths", "8,16", "--runs", 2, "--epochs", 30, "--outputs", 2, "--out", "c"],
    "reproduce": ["reproduce", "linear-fig1", "--quick", "--out", "c"],
    "accumulate": ["accumulate", "--data", "moons:2000", "--width", 200, "--outputs", 2, "--out", "c/part.npz"],
}


def result_of(folder, study):
    if study == "accumulate":
        return (folder / "c/part.npz").read_bytes()
    result = json.loads((folder / "c/result.json").read_text())
    return settled(result["jobs"] if study == "compare" else result)  # its verdict has prices in it


@pytest.mark.parametrize("study", STUDIES)
def test_study_is_killed(tmp_path, tally, study):
    if not has_command(study):
        pytest.skip(f"there is no {study} in this program")
    whole, broken, dice = tmp_path / "whole", tmp_path / "broken", random.Random(study)
    for folder in (whole, broken):
        (folder / "c").mkdir(parents=True)
    begin = time.time()
    done = run(STUDIES[study], whole, NO_NODE, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    most, kills, ends, since = time.time() - begin, 0, 0, 0
    while kills < KILLS or ends == 0:
        if kills < KILLS and since < 8 and kill_at_random(STUDIES[study], broken, dice, most):
            kills, since = kills + 1, since + 1
            continue
        assert run(STUDIES[study], broken, NO_NODE, timeout=600).returncode == done.returncode
        assert result_of(broken, study) == result_of(whole, study)
        assert not strays(broken)
        clear(broken / "c")  # from the beginning
        ends, since = ends + 1, 0
    tally("kills", kills)
    tally("ends after kills", ends)
