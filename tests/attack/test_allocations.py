"""Every n-th allocation fails once (our own, jansson's, libzip's): exit 0 only with the same result, never a crash, and out of
memory says so. Defect 6. A sample of the n by default; EP_ATTACK=long takes all of them up to 2,000 a command, and 2,000 evenly
spread where there are more; EP_ATTACK_MOST=1000000 all."""
import json
import os

import pytest

from conftest import LONG, contents, environment, more_inputs, run, settled

FAILING = os.environ.get("EP_FAILING_MALLOC", "")
pytestmark = pytest.mark.skipif(not os.path.exists(FAILING), reason="no library that fails allocations")

PART = ["accumulate", "--data", "x.npy", "--width", 8, "--outputs", 2, "--shard"]
COMMANDS = {
    "learnability": ["learnability", "--data", "circle:32", "--train", 4, "--measure", 2, "--json", "--out", "l.json"],
    "regress": ["regress", "--data", "x.npy", "--targets", "y.npy", "--ridge", 1, "--variance", "v.npy", "--out", "p.npy", "--json"],
    "probe": ["probe", "--embedding", "x.npy", "--labels", "y.npy", "--probe", "all", "--json"],
    "list": ["data", "list", "--json"],
    "describe": ["data", "describe", "x.npy", "--json"],
    "convert": ["data", "convert", "x.npz", "--out", "new.npy", "--json"],
    "embed": ["embed", "--model", "m.npz", "--data", "x.npy", "--out", "e.npy", "--json"],
    "ntk": ["ntk", "--data", "x.npy", "--kernel", "analytic", "--out", "K.npy", "--json"],
    "dynamics": ["dynamics", "--matrix", "C.npy", "--outputs", 2, "--time", 1, "--out", "q.npy", "--json"],
    "optima": ["optima", "--data", "x.npy", "--starts", 3, "--out", "o.npy", "--json"],
    "neighbours": ["neighbours", "--embedding", "x.npy", "-k", 3, "--out", "n.npy", "--json"],
    "version": ["version", "--json"],
    "pca": ["fit", "--data", "x.npy", "--method", "pca", "--width", 16, "--outputs", 2, "--out", "f.npz", "--json"],
    "linear": ["fit", "--data", "x.npy", "--method", "linear", "--similarity", "dot", "--outputs", 2, "--out", "f.npz", "--json"],
    **{m: ["fit", "--data", "x.npy", "--method", m, "--epochs", 2, "--width", 16, "--outputs", 2, "--out", "f.npz", "--json"]
       for m in ("gd", "alpha", "kernel", "linearised", "grassmann", "iterate", "infinite", "whitened")},
    "resume": ["fit", "--resume", "k.npz", "--epochs", 5, "--out", "f.npz", "--json"],
    "accumulate": [*PART, "1/2", "--out", "p.npz", "--json"],
    "merge": ["merge", "p1.npz", "p2.npz", "--out", "s.npz", "--json"],
    "from": ["fit", "--from", "p0.npz", "--outputs", 2, "--out", "f.npz", "--json"],
    "explore": ["explore", "--embedding", "x.npy", "--labels", "y.npy", "--out", "map.html", "--json"],
    "explore, text and colour": ["explore", "--embedding", "x.npy", "--labels", "y.npy", "--text", "names.txt", "--colour", "colour.csv",
                                 "--steps", 20, "--out", "map.html", "--json"],
    "explore, labels in words": ["explore", "--embedding", "x.npy", "--labels", "words.csv", "--label-column", "kind", "--steps", 20,
                                 "--out", "map.html", "--json"],
    "views": ["views", "--data", "moons:100", "--augment", "noise:0.1", "--outputs", 2, "--json"],
    "completion": ["completion", "bash"],
    "table": ["data", "convert", "words.csv", "--label-column", "kind", "--out", "new.npy", "--labels-out", "l.npy", "--json"],
    "table, fit": ["fit", "--data", "words.csv", "--label-column", "kind", "--method", "pca", "--width", 16, "--outputs", 2,
                   "--out", "f.npz", "--json"],
    "table, embed": ["embed", "--model", "t.npz", "--data", "words.csv", "--out", "e.npy", "--labels-out", "l.npy", "--json"],
    "pictures": ["data", "convert", "pictures", "--image", "4x4", "--out", "new.npy", "--labels-out", "l.npy", "--json"],
    "config": ["fit", "--config", "setup.json", "--data", "x.npy", "--out", "f.npz", "--json"],
    "config of a model": ["fit", "--config", "t.npz", "--data", "x.npy", "--out", "f.npz", "--json"],
    "make": ["data", "make", "moons:10", "--out", "d.npy", "--labels-out", "l.npy", "--json"],
    "plan": ["plan", "--points", "1e6", "--json"],
    "compare": ["compare", "--data", "x.npy", "--widths", 6, "--runs", 1, "--epochs", 2, "--outputs", 2, "--methods", "gd,pca",
                "--out", "c", "--json"],
    "report": ["report", "doc/document.json", "--out", "again", "--json"],
    "reproduce": ["reproduce", "linear-fig1" if LONG else "linear-prop1", "--quick", "--out", "r", "--json"],
}
PREPARE = {
    "resume": [["fit", "--data", "x.npy", "--epochs", 3, "--width", 16, "--outputs", 2, "--every", 2, "--checkpoint", "k.npz"]],
    "merge": [[*PART, "1/2", "--out", "p1.npz"], [*PART, "2/2", "--out", "p2.npz"]],
    "from": [[*PART, "1/1", "--out", "p0.npz"]],
    "report": [["learnability", "--data", "circle:32", "--train", 4, "--report", "doc"]],
    "table, embed": [["fit", "--data", "words.csv", "--label-column", "kind", "--method", "pca", "--width", 16, "--outputs", 2,
                      "--out", "t.npz"]],
    "config of a model": [["fit", "--data", "x.npy", "--method", "pca", "--width", 16, "--outputs", 2, "--out", "t.npz"]],
}
MOST = {"reproduce": 100, "optima": 300, "plan": 30}  # places of the long form, where a run takes long or they are many
ALL = int(os.environ.get("EP_ATTACK_MOST", "2000"))
MODULES = {"own and jansson": "", "libzip": "libzip"}  # library and JSON allocate in the program itself
LIBRARIES = [("convert", "libcrypto"), ("gd", "libcrypto")]  # SUNDIALS would not survive it: test_trust.py, defect 15


class Attack:
    def __init__(self, folder, command, module):
        self.folder, self.args, self.module = folder, COMMANDS[command], MODULES.get(module, module)
        more_inputs(folder)
        for words in PREPARE.get(command, []):
            assert run(words, folder).returncode == 0
        self.before = set(contents(folder))

    def attempt(self, n):
        """-> how it ended, allocations seen, files made"""
        log = self.folder / "count"
        env = environment(LD_PRELOAD=FAILING, EP_FAIL_AT=n, EP_FAIL_IN=self.module, EP_FAIL_LOG=log, PATH="/none")  # no node
        done = run(self.args, self.folder, env, timeout=120)
        seen = int(log.read_text()) if log.exists() else 0  # a crash writes none
        log.unlink(missing_ok=True)
        made = contents(self.folder, self.before)
        for name in made:
            (self.folder / name).unlink()
        return done, seen, made


def result(done):
    """What it printed: JSON, or a script."""
    return settled(json.loads(done.stdout)) if done.stdout.startswith("{") else done.stdout


def agrees(value, a, b):
    """Is it what two undisturbed runs gave, wherever these agree? (Prices and measured rates are in some.)"""
    if a == b or type(value) is not type(a):
        return value == a
    if isinstance(a, dict):
        return value.keys() == a.keys() and all(agrees(value[k], a[k], b[k]) for k in a)
    return not isinstance(a, list) or (len(value) == len(a) == len(b) and all(map(agrees, value, a, b)))


def places(count, most):
    """Which of so many allocations fail: at most about so many, evenly spread."""
    return range(1, count + 1, max(1, -(-count // most) if LONG else count // 12))


@pytest.mark.parametrize("command, module", [(c, m) for c in COMMANDS for m in MODULES] + LIBRARIES)
def test_failed_allocation(inputs, tally, command, module):
    """Defects 6 and 15: a failed allocation, ours or a library's, is either made good or ends with status 1 and one line that says so."""
    attack = Attack(inputs, command, module)
    good, count, files = attack.attempt(0)
    twin, _, twins = attack.attempt(0) if count else (good, count, files)
    assert good.returncode == 0, good.stderr
    want, also = result(good), result(twin)
    for n in (which := places(count, min(MOST.get(command, ALL), ALL))):
        done, _, made = attack.attempt(n)
        where = f"{command}, {module}, allocation {n} of {count}: "
        if done.returncode == 0:
            assert agrees(result(done), want, also), where + "another result with exit 0"
            assert agrees(made, files, twins), where + "another file with exit 0"
        else:
            assert done.returncode == 1, where + f"{done.returncode} {done.stderr}"
            said = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
            assert len(said) == 1 and "memory" in said[0], where + done.stderr
            assert not [f for f in made if f.endswith(".tmp")], where + "a temporary file stayed"
    tally("failed allocations", len(which))
    tally("places in all", count)
