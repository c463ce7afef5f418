"""Files are there whole, old or new, whatever happens while they are written: a call that fails, a power cut before or after
it that takes what was not synced, a disk that is full at any byte. Some places by default; EP_ATTACK=long takes all."""
import json
import os
import resource
import signal

import pytest

from conftest import LONG, environment, run, settled

FAULTS = os.environ.get("EP_FAILING_FILES", "")
pytestmark = pytest.mark.skipif(not os.path.exists(FAULTS), reason="no library that fails files")

FIT = ["fit", "--data", "x.npy", "--width", 16, "--outputs", 2]
# what is run, and what it writes; each file is there already, in an older form
WRITERS = {
    "model": ([*FIT, "--epochs", 3, "--out", "m1.npz", "--history", "h.csv"], ["m1.npz", "h.csv"]),
    "checkpoint": ([*FIT, "--epochs", 3, "--every", 1, "--checkpoint", "k.npz", "--out", "m1.npz"], ["m1.npz", "k.npz"]),
    "embedding": (["embed", "--model", "m.npz", "--data", "x.npy", "--out", "e.npy"], ["e.npy"]),
    "mapped kernel": (["ntk", "--data", "x.npy", "--kernel", "analytic", "--out", "K.npy"], ["K.npy"]),
    "json": (["learnability", "--data", "circle:32", "--train", 4, "--out", "l.json"], ["l.json"]),
    "data": (["data", "make", "moons:50", "--out", "d.npy", "--labels-out", "dl.npy"], ["d.npy", "dl.npy"]),
    "neighbours": (["neighbours", "--embedding", "x.npy", "-k", 3, "--out", "n.npy"], ["n.npy"]),
    "dynamics": (["dynamics", "--matrix", "C.npy", "--outputs", 2, "--time", 1, "--out", "q.npy"], ["q.npy"]),
}
FREE = {"checkpoint": ["k.npz"]}  # has the seconds in it: whole is enough
OLD = b"what was there before"


def same(name, a, b):
    try:
        return settled(json.loads(a)) == settled(json.loads(b)) if name.endswith(".json") else a == b
    except ValueError:
        return False


class Attack:
    def __init__(self, folder, writer):
        self.folder, (self.args, self.names), self.free = folder, WRITERS[writer], FREE.get(writer, [])
        self.inputs = {p.name for p in folder.iterdir()}
        done, self.calls = self.attempt(0, "fail")
        assert done.returncode == 0, done.stderr
        self.new = {n: (folder / n).read_bytes() for n in self.names}

    def attempt(self, n, how, **more):
        for name in self.names:
            (self.folder / name).write_bytes(OLD)
        log = self.folder / "log"
        env = environment(LD_PRELOAD=FAULTS, EP_FILE_AT=n, EP_FILE_HOW=how, EP_FILE_LOG=log)
        done = run(self.args, self.folder, env, **more)
        seen = int(log.read_text().split()[0]) if log.exists() else 0
        log.unlink(missing_ok=True)
        return done, seen

    def check(self, where, done, killed=False):
        for name in self.names:
            now = (self.folder / name).read_bytes()
            whole = same(name, now, self.new[name]) or (name in self.free and now[:2] == b"PK" and b"PK\x05\x06" in now[-200:])
            assert now == OLD or whole, f"{where}: {name} is neither old nor new ({len(now)} bytes)"
            assert whole or done.returncode != 0, f"{where}: exit 0, but {name} is the old one"
        assert killed or (done.returncode in (0, 1, 2) and (done.returncode == 0 or done.stderr.count("\n") == 1)), where
        strays = {p.name for p in self.folder.iterdir()} - self.inputs - set(self.names)
        if killed:
            self.attempt(0, "fail")  # the next run sweeps
            strays = {p.name for p in self.folder.iterdir()} - self.inputs - set(self.names)
        assert not strays, f"{where}: {strays} stayed"


def sample(most, few):
    return range(1, most + 1) if LONG or most <= few else sorted({1 + i * (most - 1) // (few - 1) for i in range(few)})


@pytest.mark.parametrize("how", ["fail", "before", "after"])
@pytest.mark.parametrize("writer", WRITERS)
def test_calls_that_go_wrong(inputs, tally, writer, how):
    """(c) every call that makes a file last fails, or the power goes before or after it."""
    attack = Attack(inputs, writer)
    assert attack.calls >= 3
    which = sample(attack.calls, 6)
    for n in which:
        done, _ = attack.attempt(n, how)
        assert how == "fail" or done.returncode == -signal.SIGKILL
        if how == "fail" and done.returncode != 0 and "unlink" not in done.stderr:
            assert "No space" in done.stderr or "cannot" in done.stderr, done.stderr
        try:
            attack.check(f"{writer}, {how} at call {n} of {attack.calls}", done, how != "fail")
        except AssertionError as e:
            # an unlink that fails leaves its file behind; the next run sweeps it
            if how != "fail" or "stayed" not in str(e):
                raise
            attack.check(f"{writer}, after a failed removal", attack.attempt(0, "fail")[0])
    tally("calls failed" if how == "fail" else "power cuts", len(which))


@pytest.mark.parametrize("writer", WRITERS)
def test_full_disk(inputs, tally, writer):
    """(d) no file can grow past byte n: the old file stays, whole, and the program says so."""
    attack = Attack(inputs, writer)
    most = max(len(b) for b in attack.new.values())
    bytes_ = range(1, most, max(1, most // (300 if LONG else 10)))

    def full(n):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))

    for n in bytes_:
        done, _ = attack.attempt(0, "fail", preexec_fn=lambda: full(n))
        attack.check(f"{writer}, full at byte {n} of {most}", done)
        assert done.returncode == 0 or "cannot be written" in done.stderr or "too large" in done.stderr, done.stderr
    tally("full disks", len(bytes_))
