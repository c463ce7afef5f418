"""(f) Numbers at the edge: every data set of the table through every command, 460 and more. It ends with a result in which
every number is one, or says in one line what is wrong; it never crashes, never hangs, never writes NaN. A sample by default;
EP_ATTACK=long takes all."""
import json

import numpy as np
import pytest

from conftest import LONG, run

rng = np.random.default_rng(3)
X = rng.normal(size=(12, 4))
TINY = np.finfo("f4").smallest_subnormal
DATA = {
    "plain": X,
    "zeros": np.zeros((12, 4)),
    "ones": np.ones((12, 4)),
    "one point": X[:1],
    "two points": X[:2],
    "two equal points": np.repeat(X[:1], 2, axis=0),
    "all points equal": np.repeat(X[:1], 12, axis=0),
    "opposite points": np.concatenate([X[:6], -X[:6]]),
    "one dimension": X[:, :1],
    "many dimensions": rng.normal(size=(6, 200)),
    "one zero row": np.concatenate([X[:11], np.zeros((1, 4))]),
    "one zero column": X * [1, 1, 1, 0],
    "rank one": X[:, :1] * X[:1],
    "times 1e-30": X * 1e-30,
    "times 1e-19": X * 1e-19,
    "times 1e10": X * 1e10,
    "times 1e18": X * 1e18,
    "times 1e19": X * 1e19,
    "times 1e38": X / np.abs(X).max() * 3e38,
    "times 1e200": X * 1e200,
    "subnormal": np.full((12, 4), TINY, "f4"),
    "subnormal in double": X * 1e-310,
    "columns of other size": X * [1e-20, 1, 1e10, 1e18],
    "rows of other size": X * np.logspace(-20, 20, 12)[:, None],
    "one huge entry": np.where(np.arange(48).reshape(12, 4) == 7, 1e30, X),
    "NaN": np.where(np.arange(48).reshape(12, 4) == 7, np.nan, X),
    "infinite": np.where(np.arange(48).reshape(12, 4) == 7, np.inf, X),
    "minus infinite": np.where(np.arange(48).reshape(12, 4) == 7, -np.inf, X),
    "minus zero": X * 0 * -1,
    "bytes": rng.integers(0, 256, size=(12, 4), dtype="u1"),
    "no point": np.zeros((0, 4)),
    "no dimension": np.zeros((12, 0)),
}
FIT = ["fit", "--data", "x.npy", "--width", 8, "--outputs", 2, "--epochs", 3, "--out", "out.npz", "--json"]
NTK = ["ntk", "--data", "x.npy", "--width", 8, "--outputs", 2, "--out", "out.npy", "--json"]
COMMANDS = {
    **{m: [*FIT, "--method", m] for m in ("gd", "grassmann", "iterate", "kernel", "linearised", "alpha", "pca", "infinite",
                                          "whitened", "linear")},
    "gd, dot": [*FIT, "--similarity", "dot"],
    "gd, huge rate": [*FIT, "--rate", "1e30"],
    "gd, softmax of 1e-6": [*FIT, "--loss", "softmax", "--temperature", "1e-6"],
    "gd, barlow": [*FIT, "--loss", "barlow"],
    "gd, depth 3, double": [*FIT, "--depth", 3, "--precision", "double"],
    "gd, exp": [*FIT, "--activation", "exp"],
    "gd, unit": [*FIT, "--scale", "unit"],
    "empirical": NTK,
    "analytic": [*NTK, "--kernel", "analytic"],
    "analytic, tanh, depth 3": [*NTK, "--kernel", "analytic", "--activation", "tanh", "--depth", 3],
    "nngp": [*NTK, "--kernel", "nngp"],
    "probe": ["probe", "--embedding", "x.npy", "--labels", "y.npy", "--probe", "all", "--json"],
    "neighbours": ["neighbours", "--embedding", "x.npy", "-k", 1, "--out", "out.npy", "--json"],
    "optima": ["optima", "--data", "x.npy", "--starts", 2, "--out", "out.npy", "--json"],
    "dynamics": ["dynamics", "--data", "x.npy", "--outputs", 1, "--time", 1, "--out", "out.npy", "--json"],
}
CASES = [(c, d) for c in COMMANDS for d in DATA]


def not_a_number(word):
    raise ValueError(word)


def arrays(path):
    if not path.exists():
        return []
    with np.load(path, allow_pickle=False) if path.suffix == ".npz" else open(path, "rb") as z:
        return [z[n] for n in z.files] if path.suffix == ".npz" else [np.load(z)]


@pytest.mark.parametrize("command", COMMANDS)
def test_numbers(tmp_path, tally, command):
    which = list(DATA) if LONG else list(DATA)[len(command) % 5::5]
    for name in which:
        np.save(tmp_path / "x.npy", DATA[name])
        np.save(tmp_path / "y.npy", np.arange(len(DATA[name])) % 2)
        outs = [tmp_path / "out.npz", tmp_path / "out.npy"]
        for out in outs:
            out.unlink(missing_ok=True)
        done = run(COMMANDS[command], tmp_path, timeout=120)
        where = f"{command}, {name}: {done.returncode} {done.stderr}"
        assert done.returncode in (0, 1, 2), where
        if done.returncode:
            assert done.stderr.count("\n") == 1 and done.stdout == "", where
            assert not any(out.exists() for out in outs), where
            continue
        json.loads(done.stdout, parse_constant=not_a_number)
        for a in [a for out in outs for a in arrays(out)]:
            assert a.dtype.kind in "US" or np.isfinite(a).all(), where
        assert name not in ("NaN", "infinite", "minus infinite", "no point", "no dimension"), where + " was taken"
    tally("cases", len(which))


def test_there_are_460():
    assert len(CASES) >= 460
