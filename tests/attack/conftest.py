"""What every attack needs: the program, small inputs, counts for the table of docs/reliability.md."""
import json
import os
import pathlib
import struct
import subprocess
import time
import zlib

import numpy as np
import pytest

PROGRAM = os.environ["EIGENPAIR"]
LONG = os.environ.get("EP_ATTACK") == "long"
FREE = ("second", "peak", "memory", "time", "rate")  # what differs between two runs


# ---- the log of tools/attack.py, by which what was broken off goes on

LOG = os.environ.get("EP_ATTACK_LOG")
OF = {"key": os.environ.get("EP_ATTACK_KEY"), "revision": os.environ.get("EP_ATTACK_REVISION")}


def pytest_collection_modifyitems(config, items):
    """Leaves out what passed already, with this program and this test."""
    lines = pathlib.Path(LOG).read_text().splitlines() if LOG and os.path.exists(LOG) else []
    last = {t["test"]: t for t in map(json.loads, lines)}
    done = lambda item: item.nodeid in last and last[item.nodeid]["passed"] and last[item.nodeid]["key"] == OF["key"]
    config.hook.pytest_deselected(items=[i for i in items if done(i)])
    items[:] = [i for i in items if not done(i)]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if not LOG or report.skipped or not (report.when == "call" or report.failed):
        return
    with open(LOG, "a") as f:
        f.write(json.dumps({"test": item.nodeid, "passed": report.passed, "seconds": round(report.duration, 2),
                            "counts": report.user_properties, **OF}) + "\n")


def pytest_runtest_teardown(item):
    if time.time() > float(os.environ.get("EP_ATTACK_END", "inf")):
        item.session.shouldstop = "the time is over; the rest is for the next call"


def settled(value):
    """A result without what differs between two runs."""
    if isinstance(value, dict):
        return {k: settled(v) for k, v in value.items() if not any(f in k for f in FREE)}
    return [settled(v) for v in value] if isinstance(value, list) else value


def environment(**more):
    env = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive", LC_ALL="C")
    env.update({k: str(v) for k, v in more.items()})
    return env


def start(args, folder, env=None, **more):
    return subprocess.Popen([PROGRAM, *map(str, args)], cwd=folder, env=env or environment(), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def run(args, folder, env=None, timeout=300, **more):
    return subprocess.run([PROGRAM, *map(str, args)], cwd=folder, env=env or environment(), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=timeout, **more)


def contents(folder, leave_out=()):
    """Name -> bytes of all files below a folder; of JSON its values."""
    files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    return {k: settled(json.loads(v)) if k.endswith(".json") else v for k, v in files.items() if k not in leave_out}


def png(array):
    """8-bit PNG of (H, W)."""
    rows = b"".join(b"\0" + row.tobytes() for row in array)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", *array.shape[::-1], 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    out = [struct.pack(">I", len(b)) + name + b + struct.pack(">I", zlib.crc32(name + b)) for name, b in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(out)


def more_inputs(folder):
    """words.csv (numbers, texts, a gap, labels), names.txt, colour.csv, setup.json, pictures/{a,b}/.."""
    rng = np.random.default_rng(1)
    line = lambda i: f"{i % 7},{'' if i == 5 else i * 0.5},{('red', 'green', 'blue')[i % 3]},{('cat', 'dog')[i % 2]}\n"
    (folder / "words.csv").write_text("size,weight,colour,kind\n" + "".join(map(line, range(24))))
    (folder / "names.txt").write_text("".join(f"point {i}\n" for i in range(24)))
    (folder / "colour.csv").write_text("age,town\n" + "".join(f"{i},{'AB'[i % 2]}\n" for i in range(24)))
    (folder / "setup.json").write_text('{"width": 16, "outputs": 2, "method": "pca"}')
    for i in range(6):
        (folder / "pictures" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        (folder / "pictures" / "ab"[i % 2] / f"{i}.png").write_bytes(png(rng.integers(0, 256, (8, 9), dtype="u1")))


@pytest.fixture
def inputs(tmp_path):
    """x, y, C .npy, x, m .npz and t.csv -> the folder."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 4))
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", np.arange(24) % 3)
    np.save(tmp_path / "C.npy", X.T @ X / 24)
    np.savez_compressed(tmp_path / "x.npz", X=X)
    np.savez(tmp_path / "m.npz", V=rng.normal(size=(8, 4)), W=rng.normal(size=(8, 2)), config="{}")
    np.savetxt(tmp_path / "t.csv", X, delimiter=",")
    return tmp_path


@pytest.fixture
def tally(record_property):
    """tally("runs", 12): the numbers of an attack, for the table."""
    return lambda name, number: record_property(name, number)


def has_command(name):
    return subprocess.run([PROGRAM, "help", name], capture_output=True).returncode == 0
