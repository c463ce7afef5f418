"""(g) One table of what can be wrong, bad_inputs.tsv: exit status, command, part of the message. Every line is run: one line on
standard error, nothing on standard output, no file made."""
import gzip
import os
import pathlib
import shlex

import numpy as np
import pytest

from conftest import environment, run

TABLE = pathlib.Path(__file__).with_name("bad_inputs.tsv")


def make_inputs(folder):
    """The files that the table speaks of, good and bad."""
    rng = np.random.default_rng(0)
    X, V, W = rng.normal(size=(24, 4)), rng.normal(size=(8, 4)), rng.normal(size=(8, 2))
    save = lambda name, a: np.save(folder / name, a)
    save("x.npy", X), save("y.npy", np.arange(24) % 3), save("C.npy", X.T @ X / 24)
    save("wide.npy", rng.normal(size=(24, 9))), save("short.npy", X[:5]), save("half.npy", np.full(24, 0.5))
    save("empty.npy", np.zeros((0, 4))), save("three.npy", np.zeros((2, 3, 4))), save("text.npy", np.array(["a", "b"]))
    save("complex.npy", X + 1j), save("objects.npy", np.array([{}, 1], dtype=object))
    save("nan.npy", np.where(X > 1, np.nan, X)), save("inf.npy", np.where(X > 1, np.inf, X))
    write = lambda name, b: (folder / name).write_bytes(b)
    whole = (folder / "x.npy").read_bytes()
    write("cut.npy", whole[:-9]), write("cut.gz", gzip.compress(whole, mtime=0)[:-20])
    write("text.txt", b"To be or not to be\n"), write("bad.idx", b"\0\0\x08\x01\0\0\0\x09abc"), write("bad.bin", b"\x0b" + bytes(3072))
    write("ragged.csv", b"1,2,3\n4,5\n"), write("words.csv", b"a,b\n1,2\n3,four\n"), write("empty.csv", b"")
    write("bad.json", b'{"title": 1}'), write("list.json", b"[]")
    model = lambda name, **arrays: np.savez(folder / name, **arrays)
    model("m.npz", V=V, W=W, config="{}"), model("x.npz", X=X), model("two.npz", a=X, b=X), model("noconfig.npz", V=V)
    model("badv.npz", V=V[:, 0], W=W), model("badconfig.npz", V=V, W=W, config="{"), model("emptyv.npz", V=V[:0], W=W[:0])
    model("mismatch.npz", V=V, W=W[:3]), model("nanw.npz", V=V, W=W * np.nan)
    write("cut.npz", (folder / "m.npz").read_bytes()[:-30])
    (folder / "folder").mkdir()
    os.mkfifo(folder / "fifo")


ROWS = [line.split("\t") for line in TABLE.read_text().splitlines() if not line.startswith("#")] if TABLE.exists() else []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    make_inputs(folder)
    return folder


def test_bad_inputs(folder, tally):
    before = {p.name: p.lstat().st_mtime_ns for p in folder.iterdir()}
    wrong = []
    for status, command, says in ROWS:
        done = run(shlex.split(command), folder, environment(EIGENPAIR_DATA=folder / "sets"), timeout=60)
        if (done.returncode, done.stdout, done.stderr.count("\n")) != (int(status), "", 1) or says not in done.stderr:
            wrong.append(f"{command}: {done.returncode}, not {status}; {done.stderr!r} has no {says!r}")
        made = {p.name for p in folder.iterdir()} - set(before)
        if made:
            wrong.append(f"{command}: left {made}")
            for name in made:
                p = folder / name
                p.unlink() if p.is_file() else None
    assert not wrong, "\n".join(wrong)
    assert before == {p.name: p.lstat().st_mtime_ns for p in folder.iterdir()}
    tally("bad inputs", len(ROWS))


def test_there_are_250():
    assert len({command for _, command, _ in ROWS}) >= 250
