"""What runs and on what, and the kernels of other processors."""
import json
import pathlib
import subprocess

import numpy as np
import pytest
from conftest import wait_until_at_work

LEVELS = ["plain", "v2", "v3", "v4"]


@pytest.fixture
def at_level(call, ep):
    """Runs the program with EP_KERNELS."""
    return lambda level, *args: ep(*args, env=dict(call()["env"], EP_KERNELS=level))


def levels_here(at_level):
    return [level for level in LEVELS if at_level(level, "version").code == 0]


def test_says_what_runs(good):
    text, told = good("version"), json.loads(good("version", "--json"))
    assert set(told) == {"version", "processor", "kernels", "blas", "blas_core", "threads"}
    assert good("--version") == f"eigenpair {told['version']}\n"
    for key in told:
        assert str(told[key]) in text
    assert told["kernels"] in LEVELS
    assert "OpenBLAS" in told["blas"] and told["threads"] >= 1


def test_the_best_level_is_taken(good, at_level):
    """Without EP_KERNELS, and with an empty one, the highest that can be forced; `plain` always can."""
    here = levels_here(at_level)
    assert here == LEVELS[:len(here)] and here
    env_free = json.loads(at_level("", "version", "--json").out)["kernels"]
    assert env_free == here[-1]
    for level in here:
        assert json.loads(at_level(level, "version", "--json").out)["kernels"] == level


def test_blas_knows_the_processor(call, ep, at_level):
    """OpenBLAS gives processors younger than itself the products of 2004; they get those of what they can do. A wish is kept."""
    free = {k: v for k, v in call()["env"].items() if k != "OPENBLAS_CORETYPE"}
    core = json.loads(ep("version", "--json", env=free).out)["blas_core"]
    level = levels_here(at_level)[-1]
    if level in ("v3", "v4"):
        assert core in ("Haswell", "Zen", "Excavator", "SkylakeX", "Cooperlake", "SapphireRapids")
    if level != "plain":
        told = json.loads(ep("version", "--json", env={**free, "OPENBLAS_CORETYPE": "Prescott"}).out)
        assert told["blas_core"] == "Prescott"


@pytest.mark.parametrize("command", [["version"], ["fit", "--data", "digits", "--samples", "10", "--epochs", "1"]])
def test_a_level_that_is_none(at_level, command):
    for level in ["v9", "V3", "avx2"] + [x for x in LEVELS if x not in levels_here(at_level)]:
        result = at_level(level, *command)
        assert result.code == 2 and result.out == ""
        assert result.err.count("\n") == 1
        assert f"EP_KERNELS is '{level}'" in result.err and "plain" in result.err


@pytest.mark.parametrize("precision, tolerance", [("single", 2e-4), ("double", 1e-11)])
def test_levels_agree(at_level, tmp_path, precision, tolerance):
    """Ten epochs on digits, packed and through tanh: the same model to rounding."""
    models = []
    for level in levels_here(at_level):
        result = at_level(level, "fit", "--data", "digits", "--samples", "60", "--width", "70", "--epochs", "10",
                          "--activation", "tanh", "--precision", precision, "--out", f"{level}.npz")
        assert result.code == 0, result.err
        models.append(np.load(tmp_path / f"{level}.npz"))
    for model in models[1:]:
        for name in ["V", "W"]:
            assert np.abs(model[name] - models[0][name]).max() < tolerance * np.abs(models[0][name]).max()


def test_no_other_words(ep):
    result = ep("version", "--frobnicate")
    assert result.code == 2 and "frobnicate" in result.err


@pytest.mark.parametrize("given, runs_with", [({}, {"GOMP_SPINCOUNT": "2000"}), ({"GOMP_SPINCOUNT": "7"}, {"GOMP_SPINCOUNT": "7"}),
                                              ({"OMP_WAIT_POLICY": "active"}, {"OMP_WAIT_POLICY": "active"})], ids=str)
def test_waiting_threads_sleep_unless_the_user_has_chosen(call, given, runs_with):
    """The program starts itself again with a short spin; what the user says of it stays as it is."""
    how = call("optima", "--data", "summation:8,4000,0.38", "--starts", 100000)
    names = "GOMP_SPINCOUNT", "OMP_WAIT_POLICY"
    how["env"] = {**{k: v for k, v in how["env"].items() if k not in names}, **given}
    process = subprocess.Popen(**how, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_at_work(process)
        words = dict(w.split("=", 1) for w in pathlib.Path(f"/proc/{process.pid}/environ").read_text().split("\0") if "=" in w)
    finally:
        process.kill()
        process.wait()
    assert {k: words[k] for k in names if k in words} == runs_with
