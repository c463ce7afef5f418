"""Every n-th allocation fails once (our own, jansson's, libzip's): exit 0 only with the same result, never a crash, and out of
memory says so. Defect 6. A sample of the n by default; EP_ATTACK=long takes all."""
import json
import os

import pytest

from conftest import LONG, contents, environment, run, settled

FAILING = os.environ.get("EP_FAILING_MALLOC", "")
pytestmark = pytest.mark.skipif(not os.path.exists(FAILING), reason="no library that fails allocations")

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
    "gd": ["fit", "--data", "x.npy", "--epochs", 2, "--width", 16, "--outputs", 2, "--out", "f.npz", "--json"],
}
MODULES = {"own and jansson": "", "libzip": "libzip"}  # library and JSON allocate in the program itself
LIBRARIES = [("convert", "libcrypto"), ("gd", "libcrypto")]  # SUNDIALS would not survive it: test_trust.py, defect 15


@pytest.fixture
def attack(inputs):
    before = {p.name for p in inputs.iterdir()}

    def one(args, module, n):
        env = environment(LD_PRELOAD=FAILING, EP_FAIL_AT=n, EP_FAIL_IN=module, EP_FAIL_LOG=inputs / "count")
        done = run(args, inputs, env, timeout=120)
        seen = int((inputs / "count").read_text())
        (inputs / "count").unlink()
        made = contents(inputs, before)
        for name in made:
            (inputs / name).unlink()
        return done, seen, made

    return one


@pytest.mark.parametrize("command, module", [(c, m) for c in COMMANDS for m in MODULES] + LIBRARIES)
def test_failed_allocation(attack, tally, command, module):
    """Defects 6 and 15: a failed allocation, ours or a library's, is either made good or ends with status 1 and one line that says so."""
    good, count, files = attack(COMMANDS[command], MODULES.get(module, module), 0)
    assert good.returncode == 0, good.stderr
    want = settled(json.loads(good.stdout))
    which = range(1, count + 1, 1 if LONG else max(1, count // 12))
    for n in which:
        done, _, made = attack(COMMANDS[command], MODULES.get(module, module), n)
        where = f"{command}, {module}, allocation {n} of {count}: "
        if done.returncode == 0:
            assert settled(json.loads(done.stdout)) == want, where + "another result with exit 0"
            assert made == files, where + "another file with exit 0"
        else:
            assert done.returncode == 1, where + f"{done.returncode} {done.stderr}"
            assert done.stderr.count("\n") == 1 and "memory" in done.stderr, where + done.stderr
            assert not [f for f in made if f.endswith(".tmp")], where + "a temporary file stayed"
    tally("failed allocations", len(which))
