"""`fit --method gd` against PyTorch's autograd: losses and weights of tests/reference/gd.npz
(written by tests/reference/make_gd.py)."""
import collections
import os
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("EIGENPAIR", str(ROOT / "build/release/eigenpair"))
TOLERANCE = 1e-9  # of the largest entry of what is compared; the two differ in rounding only


def load():
    cases = collections.defaultdict(dict)
    with np.load(ROOT / "tests/reference/gd.npz") as file:
        for key in file.files:
            case, name = key.split("__")
            cases[case][name] = file[key]
    return cases


CASES = load()


def fit(case, folder, *more):
    """Runs the program on the case; the losses and the weights by name."""
    np.savez(folder / "start.npz", **{k[6:]: v for k, v in case.items() if k.startswith("start_")})
    pairs = []
    for part in "anchors", "positives", "negatives":
        for name in sorted(k for k in case if k.startswith(part)):
            np.save(folder / f"{name}.npy", case[name])
            pairs += [f"--{part}", folder / f"{name}.npy"]
    options = ["--epochs", str(len(case["history"]) - 1)]
    for name in "loss", "similarity", "activation", "rate":
        options += [f"--{name}", str(case[name])]
    subprocess.run(
        [PROGRAM, "fit", "--method", "gd", "--precision", "double", "--init", folder / "start.npz",
         *pairs, *options, *more, "--history", folder / "h.csv", "--out", folder / "m.npz"],
        check=True, timeout=60)
    history = np.genfromtxt(folder / "h.csv", delimiter=",", names=True)
    assert np.array_equal(history["epoch"], np.arange(len(case["history"])))
    with np.load(folder / "m.npz") as model:
        return history["loss"], {k: model[k] for k in model.files if k[0] in "VW"}


def close(got, want, what):
    assert got.shape == want.shape and got.dtype == want.dtype, what
    error = np.abs(got - want).max() / np.abs(want).max()
    assert error <= TOLERANCE, f"{what}: relative error {error:.2e}"


@pytest.mark.parametrize("threads", [[], ["--threads", "1"]], ids=["all_threads", "one_thread"])
@pytest.mark.parametrize("name", CASES)
def test_gd_is_autograd(name, threads, tmp_path):
    case = CASES[name]
    losses, weights = fit(case, tmp_path, *threads)
    final = {k[6:]: v for k, v in case.items() if k.startswith("final_")}
    close(losses, case["history"], "losses")
    assert set(weights) == set(final)
    for layer in final:
        close(weights[layer], final[layer], layer)
