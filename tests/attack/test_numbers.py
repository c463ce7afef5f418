"""(f) Numbers at the edge: every data set of the table through every command, 460 and more. It ends with a result in which
every number is one, or says in one line what is wrong; it never crashes, never hangs, never writes NaN. A sample by default;
EP_ATTACK=long takes all."""
import json
import re

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
SUMS = ["accumulate", "--data", "x.npy", "--width", 8, "--out", "out.npz", "--json"]
REGRESS = ["regress", "--data", "x.npy", "--targets", "y.npy", "--out", "out.npy", "--json"]
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
    "accumulate": [*SUMS, "--method", "whitened"],
    "accumulate, pca": [*SUMS, "--method", "pca"],
    "accumulate, analytic": [*SUMS, "--kernel", "analytic"],
    "regress": REGRESS,
    "regress, variance": [*REGRESS, "--kernel", "nngp", "--noise", 0.1, "--variance", "v.npy"],
    "regress, flow": [*REGRESS, "--method", "flow", "--time", 2],
    "regress, descent": [*REGRESS, "--method", "descent", "--width", 8, "--epochs", 3],
    "regress, targets at the edge": ["regress", "--data", "plain.npy", "--targets", "x.npy", "--ridge", 1, "--out", "out.npy", "--json"],
    "explore": ["explore", "--embedding", "x.npy", "--labels", "y.npy", "--neighbours", 1, "--steps", 20, "--out", "out.html", "--json"],
    "explore, euclidean": ["explore", "--embedding", "x.npy", "--metric", "euclidean", "--neighbours", 1, "--steps", 20, "--out", "out.html",
                           "--json"],
    "learnability": ["learnability", "--data", "x.npy", "--train", 1, "--measure", 2, "--out", "out.json", "--json"],
    "learnability, raw": ["learnability", "--data", "x.npy", "--scale", "raw", "--trains", "1,2", "--noise", 0.1, "--out", "out.json", "--json"],
    "learnability, target": ["learnability", "--data", "plain.npy", "--target", "x.npy", "--train", 2, "--out", "out.json", "--json"],
    "embed": ["embed", "--model", "m.npz", "--data", "x.npy", "--out", "out.npy", "--json"],
    "embed, weights at the edge": ["embed", "--model", "edge.npz", "--data", "plain.npy", "--out", "out.npy", "--json"],
    "embed, normalise": ["embed", "--model", "m.npz", "--data", "x.npy", "--normalise", "--out", "out.npy", "--json"],
    "views": ["views", "--data", "many.npy", "--outputs", 2, "--augment", "noise:0.1", "--json"],
}
CASES = [(c, d) for c in COMMANDS for d in DATA]


def not_a_number(word):
    raise ValueError(word)


def inputs(folder, x):
    """x.npy and y.npy; many.npy: x again and again; plain.npy: as many points without an edge; models."""
    np.save(folder / "x.npy", x), np.save(folder / "y.npy", np.arange(len(x)) % 2)
    np.save(folder / "many.npy", np.tile(x, (-(-120 // max(1, len(x))), 1)))
    np.save(folder / "plain.npy", np.random.default_rng(4).normal(size=(max(1, len(x)), max(1, x.shape[1]))))
    W = np.random.default_rng(5).normal(size=(8, 2))
    np.savez(folder / "m.npz", V=np.resize(X, (8, max(1, x.shape[1]))), W=W, config="{}")
    np.savez(folder / "edge.npz", V=x, W=np.resize(W, (len(x), 2)), config="{}")


def arrays(path):
    if not path.exists():
        return []
    if path.suffix in (".json", ".html"):
        text = path.read_text()
        parts = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.S) if path.suffix == ".html" else [text]
        assert parts
        for part in parts:
            json.loads(part, parse_constant=not_a_number)
        return []
    with np.load(path, allow_pickle=False) if path.suffix == ".npz" else open(path, "rb") as z:
        return [z[n] for n in z.files] if path.suffix == ".npz" else [np.load(z)]


def attempt(folder, command, name):
    inputs(folder, DATA[name])
    outs = [folder / out for out in ("out.npz", "out.npy", "v.npy", "out.html", "out.json")]
    for out in outs:
        out.unlink(missing_ok=True)
    done = run(COMMANDS[command], folder, timeout=120)
    where = f"{command}, {name}: {done.returncode} {done.stderr}"
    assert done.returncode in (0, 1, 2), where
    if done.returncode:
        assert done.stderr.count("\n") == 1 and done.stdout == "", where
        assert not any(out.exists() for out in outs), where
        return
    json.loads(done.stdout, parse_constant=not_a_number)
    for a in [a for out in outs for a in arrays(out)]:
        assert a.dtype.kind in "US" or np.isfinite(a).all(), where
    assert name not in ("NaN", "infinite", "minus infinite", "no point", "no dimension"), where + " was taken"


@pytest.mark.parametrize("command", COMMANDS)
def test_numbers(tmp_path, tally, command):
    which = list(DATA) if LONG else list(DATA)[len(command) % 5::5]
    for name in which:
        attempt(tmp_path, command, name)
    tally("cases", len(which))


def test_there_are_460():
    assert len(CASES) >= 460
