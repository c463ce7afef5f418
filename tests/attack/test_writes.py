"""Files are there whole, old or new, whatever happens while they are written: a call that fails, a power cut before or after
it that takes what was not synced, a write that fails or stops half way, a disk that is full at any byte. Some places by default; EP_ATTACK=long takes all."""
import json
import os
import resource
import shutil
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
    "sums": (["accumulate", "--data", "x.npy", "--width", 8, "--out", "part.npz"], ["part.npz"]),
    "merged sums": (["merge", "p1.npz", "p2.npz", "--out", "sums.npz"], ["sums.npz"]),
    "regress": (["regress", "--data", "x.npy", "--targets", "y.npy", "--ridge", 1, "--out", "p.npy", "--variance", "v.npy"],
                ["p.npy", "v.npy"]),
    "probe": (["probe", "--embedding", "x.npy", "--labels", "y.npy", "--out", "pr.json"], ["pr.json"]),
    "idx": (["data", "convert", "digits", "--samples", 20, "--out", "d-idx3-ubyte", "--labels-out", "l-idx1-ubyte"],
            ["d-idx3-ubyte", "l-idx1-ubyte"]),
    "packed idx": (["data", "convert", "digits", "--samples", 20, "--out", "d.idx.gz"], ["d.idx.gz"]),
    "csv": (["embed", "--model", "m.npz", "--data", "x.npy", "--out", "e.csv"], ["e.csv"]),
    "page": (["explore", "--embedding", "x.npy", "--labels", "y.npy", "--steps", 20, "--out", "map.html"], ["map.html"]),
    "report": (["report", "document.json", "--out", "r"], ["r/report.html", "r/report.md", "r/document.json", "r/result.json",
                                                          "r/figures/learnability.csv", "r/figures/learning-curve.csv"]),
    "drawn report": (["report", "document.json", "--out", "r"], [f"r/figures/{name}.{end}" for name in ("learnability", "learning-curve")
                                                                for end in ("svg", "png")]),
}
PART = ["accumulate", "--data", "x.npy", "--width", 8, "--shard"]
REPORT = [["learnability", "--data", "circle:32", "--train", 4, "--report", "."]]
PREPARE = {"merged sums": [[*PART, "1/2", "--out", "p1.npz"], [*PART, "2/2", "--out", "p2.npz"]], "report": REPORT, "drawn report": REPORT}
DRAWN = ["drawn report"]  # by node, which takes a second; old drawings go before new numbers are written
FREE = {"checkpoint": ["k.npz"]}  # has the seconds in it: whole is enough
OLD = b"what was there before"


def same(name, a, b):
    try:
        return settled(json.loads(a)) == settled(json.loads(b)) if name.endswith(".json") else a == b
    except ValueError:
        return False


class Attack:
    def __init__(self, folder, writer, how="fail"):
        self.folder, (self.args, self.names), self.free = folder, WRITERS[writer], FREE.get(writer, [])
        self.drawn = writer in DRAWN
        self.more = {} if self.drawn else {"PATH": "/none"}
        if self.drawn and not (shutil.which("node") and shutil.which("rsvg-convert")):
            pytest.skip("no node, or no rsvg-convert")
        for words in PREPARE.get(writer, []):
            assert run(words, folder, environment(PATH="/none")).returncode == 0, words
        self.inputs = self.files()
        done, self.calls = self.attempt(0, how)
        assert done.returncode == 0, done.stderr
        self.beside = self.files() - self.inputs - set(self.names)  # other files of a report
        self.new = {n: (folder / n).read_bytes() for n in self.names}

    def files(self):
        return {str(p.relative_to(self.folder)) for p in self.folder.rglob("*") if p.is_file()}

    def strays(self):
        return self.files() - self.inputs - set(self.names) - self.beside

    def attempt(self, n, how, **more):
        for name in self.names:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(OLD)
        log = self.folder / "log"
        env = environment(LD_PRELOAD=FAULTS, EP_FILE_AT=n, EP_FILE_HOW=how, EP_FILE_LOG=log, **self.more)
        done = run(self.args, self.folder, env, **more)
        seen = int(log.read_text().split()[0]) if log.exists() else 0
        log.unlink(missing_ok=True)
        return done, seen

    def check(self, where, done, killed=False):
        for name in self.names:
            if self.drawn and not (self.folder / name).exists():
                assert done.returncode != 0, f"{where}: exit 0 without {name}"
                continue
            now = (self.folder / name).read_bytes()
            whole = same(name, now, self.new[name]) or (name in self.free and now[:2] == b"PK" and b"PK\x05\x06" in now[-200:])
            assert now == OLD or whole, f"{where}: {name} is neither old nor new ({len(now)} bytes)"
            assert whole or done.returncode != 0, f"{where}: exit 0, but {name} is the old one"
        assert killed or (done.returncode in (0, 1, 2) and (done.returncode == 0 or done.stderr.count("\n") == 1)), where
        if killed:
            self.attempt(0, "fail")  # the next run sweeps
        assert not self.strays(), f"{where}: {self.strays()} stayed"


def sample(most, few):
    return range(1, most + 1) if LONG or most <= few else sorted({1 + i * (most - 1) // (few - 1) for i in range(few)})


@pytest.mark.parametrize("how", ["fail", "before", "after"])
@pytest.mark.parametrize("writer", WRITERS)
def test_calls_that_go_wrong(inputs, tally, writer, how):
    """(c) every call that makes a file last fails, or the power goes before or after it."""
    attack = Attack(inputs, writer)
    assert attack.calls >= 3
    which = sample(attack.calls, 6)[::4 if writer in DRAWN else 1]
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


@pytest.mark.parametrize("how", ["error", "half"])
@pytest.mark.parametrize("writer", [w for w in WRITERS if w not in ("mapped kernel", "drawn report")])
def test_writes_that_go_wrong(inputs, tally, writer, how):
    """(c) every write fails as a broken disk does, and the program says so; or it stops half way, and the rest is written."""
    attack = Attack(inputs, writer, how)
    assert attack.calls >= 1
    which = sample(attack.calls, 6)
    for n in which:
        where, (done, _) = f"{writer}, {how} at write {n} of {attack.calls}", attack.attempt(n, how)
        attack.check(where, done)
        if how == "half":
            assert done.returncode == 0, f"{where}: {done.stderr}"
        else:
            assert done.returncode == 1 and "cannot be written" in done.stderr, f"{where}: {done.returncode} {done.stderr}"
    tally("writes failed" if how == "error" else "short writes", len(which))


@pytest.mark.parametrize("writer", WRITERS)
def test_full_disk(inputs, tally, writer):
    """(d) no file can grow past byte n: the old file stays, whole, and the program says so."""
    attack = Attack(inputs, writer)
    most = max(len(b) for b in attack.new.values())
    bytes_ = range(1, most, max(1, most // ((30 if LONG else 3) if writer in DRAWN else 300 if LONG else 10)))

    def full(n):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))

    for n in bytes_:
        done, _ = attack.attempt(0, "fail", preexec_fn=lambda: full(n))
        attack.check(f"{writer}, full at byte {n} of {most}", done)
        assert done.returncode == 0 or "cannot be written" in done.stderr or "too large" in done.stderr, done.stderr
    tally("full disks", len(bytes_))
