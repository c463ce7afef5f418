"""(g) One table of what can be wrong, bad_inputs.tsv: exit status, command, part of the message. Every line is run: one line on
standard error, nothing on standard output, no file made."""
import gzip
import os
import pathlib
import re
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
    write("broken.json", b'{"width":'), write("negative.json", b'{"width": -1}'), write("word.json", b'{"width": "wide"}')
    write("long.json", b'{"width": 1e400}'), write("twice.json", b'{"width": 4, "width": 5}')
    write("lines.txt", b"one\ntwo\n"), write("gap.csv", b"a,b\n1,\n3,4\n5,6\n")
    (folder / "folder").mkdir(), (folder / "pictures" / "a").mkdir(parents=True)
    (folder / "pictures" / "a" / "1.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    make_sums(folder)
    os.mkfifo(folder / "fifo")


def make_sums(folder):
    """Parts of sums: two that belong together, and what does not belong to them."""
    part = lambda name, *words: run(["accumulate", "--data", "x.npy", "--width", 8, *words, "--out", name], folder).check_returncode()
    part("p1.npz", "--shard", "1/2"), part("p2.npz", "--shard", "2/2"), part("whole.npz"), part("p13.npz", "--shard", "1/3")
    part("seed.npz", "--shard", "2/2", "--seed", 1), part("pca.npz", "--shard", "2/2", "--method", "pca")
    part("other.npz", "--data", "wide.npy", "--shard", "2/2")
    arrays = dict(np.load(folder / "p2.npz"))
    np.savez(folder / "nansum.npz", **{**arrays, "sum_C": arrays["sum_C"] * np.nan})
    np.savez(folder / "shape.npz", **{**arrays, "sum_C": arrays["sum_C"][:5]})
    (folder / "cutp.npz").write_bytes((folder / "p2.npz").read_bytes()[:-30])


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


def test_every_command_is_there():
    """No command without rows of its own; version has next to nothing that could be wrong."""
    count = lambda name: sum(command.split()[:1] == [name] for _, command, _ in ROWS)
    names = set(re.findall(r"^  eigenpair (\w+) ", run(["--help"], ".").stdout, re.M))
    few = {name: count(name) for name in names if name != "version" and count(name) < 5}
    assert len(names) >= 20 and not few, few
