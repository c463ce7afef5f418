"""Every n-th allocation fails once (our own, jansson's, libzip's): exit 0 only with the same result, never a crash, and out of
memory says so. Defect 6. A sample of the n by default; EP_ATTACK=long takes all."""
import json
import os
import subprocess

import numpy as np
import pytest

FAILING = os.environ.get("EP_FAILING_MALLOC", "")
LONG = os.environ.get("EP_ATTACK") == "long"
PROGRAM = os.environ["EIGENPAIR"]
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
    "pca": ["fit", "--data", "x.npy", "--method", "pca", "--width", 16, "--outputs", 2, "--out", "f.npz", "--json"],
    "gd": ["fit", "--data", "x.npy", "--epochs", 2, "--width", 16, "--outputs", 2, "--out", "f.npz", "--json"],
}
MODULES = {"own and jansson": "", "libzip": "libzip"}  # library and JSON allocate in the program itself
FREE = ("second", "peak", "memory", "time")  # what differs between two runs


def settled(value):
    if isinstance(value, dict):
        return {k: settled(v) for k, v in value.items() if not any(f in k for f in FREE)}
    return [settled(v) for v in value] if isinstance(value, list) else value


@pytest.fixture
def attack(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 4))
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", np.arange(24) % 3)
    np.save(tmp_path / "C.npy", X.T @ X / 24)
    np.savez_compressed(tmp_path / "x.npz", X=X)
    np.savez(tmp_path / "m.npz", V=rng.normal(size=(8, 4)), W=rng.normal(size=(8, 2)), config="{}")
    before = {p.name for p in tmp_path.iterdir()}

    def run(args, module, n):
        env = dict(os.environ, LD_PRELOAD=FAILING, EP_FAIL_AT=str(n), EP_FAIL_IN=module, EP_FAIL_LOG=str(tmp_path / "count"),
                   OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive", LC_ALL="C")
        done = subprocess.run([PROGRAM, *map(str, args)], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
        seen = int((tmp_path / "count").read_text())
        (tmp_path / "count").unlink()
        files = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.name not in before}
        for name in files:
            (tmp_path / name).unlink()
        texts = {k: settled(json.loads(v)) if k.endswith(".json") else v for k, v in files.items()}
        return done, seen, texts

    return run


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("command", COMMANDS)
def test_failed_allocation(attack, command, module):
    """Defect 6: a failed allocation is either made good or ends with status 1 and one line that says so."""
    good, count, files = attack(COMMANDS[command], MODULES[module], 0)
    assert good.returncode == 0, good.stderr
    want = settled(json.loads(good.stdout))
    step = 1 if LONG else max(1, count // 12)
    for n in range(1, count + 1, step):
        done, _, made = attack(COMMANDS[command], MODULES[module], n)
        where = f"{command}, {module}, allocation {n} of {count}: "
        if done.returncode == 0:
            assert settled(json.loads(done.stdout)) == want, where + "another result with exit 0"
            assert made == files, where + "another file with exit 0"
        else:
            assert done.returncode == 1, where + f"{done.returncode} {done.stderr}"
            assert done.stderr.count("\n") == 1 and "memory" in done.stderr, where + done.stderr
            assert not [f for f in made if f.endswith(".tmp")], where + "a temporary file stayed"
