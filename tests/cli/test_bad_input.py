"""Bad input: one clear line on standard error, the right exit status, and no file left behind."""
import gzip
import json
import os
import resource
import signal
import struct
import subprocess

import numpy as np
import pytest

MATRIX = np.random.default_rng(0).normal(size=(6, 4))
NINE = np.arange(24).reshape(6, 4) == 9
SMALL = ["--width", 16, "--outputs", 2, "--epochs", 1]


def idx(shape, kind=8, size=None):
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, kind, len(shape), *shape) + bytes(
        int(np.prod(shape)) if size is None else size)


def npy(descr="<f8", order="False", shape="(6, 4)", values=bytes(192), version=1):
    head = f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(head)) + head + values


@pytest.fixture
def files(tmp_path):
    return lambda: sorted(str(p) for p in tmp_path.rglob("*"))


@pytest.fixture
def refused(ep, files):
    """Runs what must be refused -> the line on standard error."""

    def run(*args, code=2, **more):
        before = files()
        result = ep(*args, **more)
        assert result.code == code, result
        assert result.out == ""
        assert result.err.endswith("\n") and result.err.count("\n") == 1, result.err
        assert result.err.startswith(f"eigenpair {args[0]}: ")
        assert files() == before
        return result.err

    return run


@pytest.fixture(autouse=True)
def good_files(save, tmp_path):
    """x, a, p, n are good; init.npz fits them; model.npz is a model."""
    save(x=MATRIX, a=MATRIX, p=MATRIX + 1, n=-MATRIX, short=MATRIX[:5], wide=np.ones((6, 5)), y=np.arange(6))
    np.savez(tmp_path / "init.npz", V=np.ones((3, 4)), W=np.ones((3, 2)))
    np.savez(tmp_path / "model.npz", V=np.ones((3, 4)), W=np.ones((3, 2)), config="{}")


# ---- files that are not what they should be

BAD_FILES = {
    "missing": None,
    "empty": b"",
    "noise": bytes(range(256)) * 3,
    "npy cut in its values": npy()[:-8],
    "npy cut in its header": npy()[:40],
    "npy cut in its magic": npy()[:7],
    "npy of version 9": npy(version=9),
    "npy without a shape": b"\x93NUMPY\x01\x00\x20\x00{'descr': '<f8'}" + b" " * 16 + bytes(192),
    "npy of no points": npy(shape="(0, 4)", values=b""),
    "npy of no dimensions": npy(shape="()", values=bytes(8)),
    "npy of points without numbers": npy(shape="(6, 0)", values=b""),
    "npy too large for a size": npy(shape="(99999999999999999999, 4)"),
    "npy whose product overflows": npy(shape="(4294967296, 4294967296)"),
    "npy larger than memory": npy(shape="(100000000000, 1000000)"),
    "npy of a negative size": npy(shape="(-6, 4)"),
    "npy of objects": npy(descr="|O"),
    "npy of text": npy(descr="<U4"),
    "npy of complex": npy(descr="<c16", values=bytes(384)),
    "npy big-endian": npy(descr=">f8"),
    "npy with NaN": npy(values=np.where(NINE, np.nan, MATRIX).tobytes()),
    "npy with infinity": npy(values=np.where(NINE, -np.inf, MATRIX).tobytes()),
    "npy too large for single": npy(values=np.where(NINE, 1e300, MATRIX).tobytes()),
    "idx cut short": idx((6, 2, 2))[:-1],
    "idx cut in its header": idx((6, 2, 2))[:9],
    "idx too long": idx((6, 2, 2)) + b"x",
    "idx whose product overflows": idx((2 ** 32 - 1,) * 3, size=64),
    "idx of an unknown type": idx((6, 2, 2), kind=7),
    "idx of no points": idx((0, 2, 2)),
    "gz cut short": gzip.compress(npy())[:-20],
    "gz damaged": gzip.compress(npy())[:20] + b"\xff\x00\xff" + gzip.compress(npy())[23:],
    "gz of nothing": gzip.compress(b""),
    "csv with a ragged row": b"1,2,3\n4,5\n",
    "csv with a word": b"1,2,3\n4,five,6\n",
    "csv with NaN": b"1,2,3\n4,nan,6\n",
    "csv with only a header": b"a,b,c\n",
}


@pytest.mark.parametrize("what", BAD_FILES)
@pytest.mark.parametrize("args", [
    ["fit", *SMALL, "--out", "new.npz", "--history", "new.csv", "--data", "bad"],
    ["fit", *SMALL, "--out", "new.npz", "--history", "new.csv", "--anchors", "a.npy", "--positives", "bad"],
    ["embed", "--out", "new.npy", "--data", "bad"],
    ["data", "convert", "--out", "new.npy", "--data", "bad"],
], ids=["data", "positives", "embed", "convert"])
def test_file(refused, tmp_path, what, args):
    """A damaged or foreign file is named, whichever way it comes in."""
    if BAD_FILES[what] is not None:
        (tmp_path / "bad").write_bytes(BAD_FILES[what])
    assert "bad" in refused(*args).split(": ", 1)[1]


@pytest.mark.parametrize("place", ["nan", "inf"])
def test_not_finite_says_where(refused, save, place):
    """NaN and infinity are found with row and column, counted from 1."""
    X = MATRIX.copy()
    X[4, 2] = float(place)
    save(x=X)
    assert "row 5, column 3" in refused("fit", "--data", "x.npy", *SMALL, "--out", "new.npz")


def zipped(tmp_path, cut=None, **arrays):
    np.savez(tmp_path / "bad.npz", **arrays)
    if cut:
        whole = (tmp_path / "bad.npz").read_bytes()
        (tmp_path / "bad.npz").write_bytes(whole[:int(cut * len(whole))])


BAD_NETS = {
    "cut short": dict(V=np.ones((3, 4)), W=np.ones((3, 2)), cut=0.7),
    "without W": dict(V=np.ones((3, 4))),
    "without V": dict(W=np.ones((3, 2))),
    "without arrays": dict(config="{}"),
    "with a gap": dict(V1=np.ones((3, 4)), V3=np.ones((3, 3)), W=np.ones((3, 2))),
    "of two widths": dict(V=np.ones((3, 4)), W=np.ones((5, 2))),
    "of two widths, deep": dict(V1=np.ones((3, 4)), V2=np.ones((3, 5)), W=np.ones((3, 2))),
    "of another dimension": dict(V=np.ones((3, 7)), W=np.ones((3, 2))),
    "of vectors": dict(V=np.ones(3), W=np.ones(3)),
    "of no units": dict(V=np.ones((0, 4)), W=np.ones((0, 2))),
    "with NaN": dict(V=np.full((3, 4), np.nan), W=np.ones((3, 2))),
    "of objects": dict(V=np.array([[None] * 4] * 3), W=np.ones((3, 2))),
    "of text": dict(V=np.array([["a"] * 4] * 3), W=np.ones((3, 2))),
}


@pytest.mark.parametrize("what", BAD_NETS)
@pytest.mark.parametrize("args", [
    ["fit", "--data", "x.npy", *SMALL, "--out", "new.npz", "--init", "bad.npz"],
    ["embed", "--data", "x.npy", "--out", "new.npy", "--model", "bad.npz"],
], ids=["init", "model"])
def test_network(refused, tmp_path, what, args):
    """Weights that are no network, or not for these points, are refused by name."""
    zipped(tmp_path, **BAD_NETS[what])
    assert "bad.npz" in refused(*args)


@pytest.mark.parametrize("init", ["x.npy", "gone.npz", "."])
def test_init_that_is_no_npz(refused, init):
    """--init wants an .npz that is there."""
    assert init in refused("fit", "--data", "x.npy", *SMALL, "--out", "new.npz", "--init", init)


@pytest.mark.parametrize("config", ["{", "[1]", '{"activation": "nonsense"}', '{"activation": 3}', '{"width": "many"}'])
def test_model_with_a_bad_config(refused, tmp_path, config):
    """A config that cannot be understood is refused, not guessed at."""
    zipped(tmp_path, V=np.ones((3, 4)), W=np.ones((3, 2)), config=config)
    refused("embed", "--data", "x.npy", "--out", "new.npy", "--model", "bad.npz")


# ---- data that do not fit together

@pytest.mark.parametrize("args, words", [
    (["--positives", "short.npy"], ["short.npy", "5", "6"]),
    (["--positives", "wide.npy"], ["wide.npy", "5", "4"]),
    (["--positives", "p.npy", "--negatives", "short.npy"], ["short.npy"]),
    (["--positives", "p.npy", "--negatives", "n.npy", "--negatives", "wide.npy"], ["wide.npy"]),
    (["--positives", "p.npy", "--negatives", "gone.npy"], ["gone.npy"]),
])
def test_pairs_of_different_shape(refused, args, words):
    """Ready pairs agree in rows and dimension, or the odd file is named with its size."""
    err = refused("fit", "--anchors", "a.npy", *args, *SMALL, "--out", "new.npz")
    assert all(w in err for w in words)


@pytest.mark.parametrize("labels, words", [
    (np.arange(5), ["5", "6"]), (np.arange(7), ["7", "6"]), (np.full(6, 0.5), ["0.5"]), (np.full(6, np.nan), ["nan"]),
    (np.full(6, 1e12), []), (np.ones((6, 2)), []), (np.array(["a"] * 6), ["text"]),
])
def test_labels(refused, save, labels, words):
    """Labels are as many whole numbers as there are points."""
    save(bad=labels)
    err = refused("data", "convert", "--data", "x.npy", "--labels", "bad.npy", "--out", "new.npy", "--labels-out", "l.npy")
    assert "bad.npy" in err and all(w in err.lower() for w in words)


def test_folder_with_too_few_labels(refused, tmp_path):
    """An IDX folder whose images and labels differ in number is refused."""
    (tmp_path / "set").mkdir()
    (tmp_path / "set/train-images-idx3-ubyte").write_bytes(idx((6, 2, 2)))
    (tmp_path / "set/train-labels-idx1-ubyte").write_bytes(idx((5,)))
    err = refused("fit", "--data", "set", *SMALL, "--out", "new.npz")
    assert "labels" in err and "5" in err and "6" in err
    assert "t10k" in refused("fit", "--data", "set:test", *SMALL, "--out", "new.npz")


def test_data_not_fetched(refused):
    """A known set that is not on the machine: the line says how to get it."""
    assert "eigenpair data fetch mnist" in refused("fit", "--data", "mnist", *SMALL, "--out", "new.npz")


@pytest.mark.parametrize("spec", ["circle:0", "circle:x", "circle:1.5", "circle:3,4", "cube:40", "sphere:3,-1", "moons:",
                                  "moons:1e300", "summation:6,10,1", "categorical:6,10,nan", "cube:test", "digits:tset"])
@pytest.mark.parametrize("args", [["data", "make", "--out", "new.npy"], ["fit", *SMALL, "--out", "new.npz"]])
def test_made_up_sets(refused, spec, args):
    """Parameters out of range, or too many, of a set by formula."""
    assert spec.split(":")[0] in refused(*args, "--data", spec)


# ---- options

@pytest.mark.parametrize("args", [
    ["--width", "0"], ["--width", "-3"], ["--width", "1e30"], ["--width", "many"], ["--width", "1.5"], ["--width", ""],
    ["--width", "nan"], ["--width", "10000000", "--depth", "32"], ["--depth", "0"], ["--depth", "33"], ["--outputs", "0"],
    ["--outputs", "1e7"], ["--rate", "0"], ["--rate", "-1"], ["--rate", "inf"], ["--rate", "1x"], ["--rate", "nan"],
    ["--epochs", "-1"], ["--epochs", "1e10"], ["--batch", "-1"], ["--tolerance", "2"], ["--tolerance", "-0.1"],
    ["--patience", "0"], ["--delta", "0"], ["--delta", "-1"], ["--temperature", "0"], ["--seed", "-1"],
    ["--seed", "1e300"], ["--threads", "-1"], ["--threads", "1e6"], ["--memory", "-1"], ["--memory", "4Q"],
    ["--memory", "lots"], ["--samples", "-1"], ["--samples", "7"], ["--every", "-1"], ["--precision", "half"],
    ["--loss", "hinge"], ["--similarity", "euclid"], ["--activation", "swish"], ["--activation", "leaky:x"],
    ["--activation", "leaky:99"], ["--activation", "relu:2"], ["--activation", "monomial:0"],
    ["--activation", "monomial:1.5"], ["--method", "magic"], ["--scale", "big"], ["--pairs", "0+1"], ["--pairs", "2+"],
    ["--pairs", "quads"], ["--pairs", "1+-1"], ["--pairs", "2+3+4"], ["--pairs", "99999+1"], ["--augment", "spin"],
    ["--augment", "noise:-1"], ["--augment", "noise:x"], ["--augment", "crop"], ["--augment", "noise:0.1,,"],
    ["--image", "3x3"], ["--image", "2"], ["--image", "2x2x"], ["--image", "-2x-2"], ["--track", "colour"],
    ["--track", "rank,rank"], ["--loss", "linear:3"], ["--similarity", "dot:1"], ["--precision", "double:1"],
], ids=" ".join)
def test_option(refused, args):
    """Negative, absurd, non-numeric or unknown: refused, and the line names the option or the value."""
    err = refused("fit", "--data", "x.npy", *SMALL, *args, "--out", "new.npz")
    assert args[0].strip("-") in err or (args[1] and args[1].split(":")[0] in err) or "x.npy" in err


@pytest.mark.parametrize("args", [
    ["--width"], ["--json=yes"], ["--json", "extra"], ["extra"], ["-w", "3"], ["--augment", "line\nbreak"],
    ["--data", "x" * 5000], ["--out", "x" * 5000], ["--negatives", "n" * 9000], ["--out", ""], ["--out="],
], ids=lambda a: a[-1][:12].replace("\n", " "))
def test_command_line(refused, args):
    """Words the command line has no place for."""
    refused("fit", "--data", "x.npy", *SMALL, "--out", "new.npz", *args)


@pytest.mark.parametrize("args, words", [
    ([], ["--data"]),
    (["--data", "x.npy", "--anchors", "a.npy", "--positives", "p.npy"], ["--data", "--anchors"]),
    (["--anchors", "a.npy"], ["--positives"]),
    (["--positives", "p.npy"], ["--anchors"]),
    (["--negatives", "n.npy"], ["--anchors"]),
    (["--anchors", "a.npy", "--positives", "p.npy", "--samples", "3"], ["--samples"]),
    (["--anchors", "a.npy", "--positives", "p.npy", "--pairs", "all"], ["--pairs"]),
    (["--anchors", "a.npy", "--positives", "p.npy", "--augment", "noise:1"], ["--augment"]),
    (["--anchors", "a.npy", "--positives", "p.npy", "--negatives", "n.npy", "--loss", "noncontrastive"], ["noncontrastive"]),
    (["--data", "x.npy", "--loss", "noncontrastive", "--pairs", "triplet"], ["noncontrastive"]),
    (["--data", "x.npy", "--loss", "noncontrastive", "--pairs", "all"], ["noncontrastive"]),
    (["--data", "x.npy", "--loss", "softmax", "--pairs", "positives"], ["softmax", "--pairs"]),
    (["--data", "x.npy", "--loss", "spectral", "--pairs", "2+0"], ["spectral", "--pairs"]),
    (["--anchors", "a.npy", "--positives", "p.npy", "--loss", "softmax"], ["softmax"]),
    (["--data", "x.npy", "--loss", "ntxent", "--similarity", "dot"], ["ntxent", "--similarity"]),
    (["--data", "x.npy", "--samples", "7"], ["--samples", "7", "6"]),
    (["--data", "x.npy", "--samples", "1"], []),
    (["--data", "x.npy", "--samples", "1", "--pairs", "all"], []),
    (["--data", "x.npy", "--samples", "1", "--loss", "barlow"], ["barlow"]),
    (["--data", "x.npy", "--labels", "short.npy"], ["short.npy"]),
], ids=lambda a: " ".join(a)[:60])
def test_contradiction(refused, args, words):
    """Options that cannot be meant together: the line names what is in the way."""
    err = refused("fit", *args, *SMALL, "--out", "new.npz")
    assert all(w in err for w in words)


def test_init_and_a_width_that_differs(refused, ep, tmp_path):
    """--init gives the shape: another --width is refused, or at least not written into the model as its own."""
    result = ep("fit", "--data", "x.npy", "--init", "init.npz", "--width", 64, "--outputs", 5, "--epochs", 1, "--out", "new.npz")
    if result.code == 0:
        config = json.loads(np.load(tmp_path / "new.npz")["config"].item())
        assert (config["width"], config["outputs"]) == (3, 2)
    else:
        assert result.code == 2 and result.err.count("\n") == 1


# ---- where results go

PLACES = [
    ["fit", "--data", "x.npy", *SMALL, "--out", "PLACE"],
    ["fit", "--data", "x.npy", *SMALL, "--out", "new.npz", "--history", "PLACE"],
    ["fit", "--data", "x.npy", *SMALL, "--out", "new.npz", "--every", 1, "--checkpoint", "PLACE"],
    ["embed", "--data", "x.npy", "--out", "PLACE"],
    ["embed", "--data", "x.npy", "--labels", "y.npy", "--out", "new.npy", "--labels-out", "PLACE"],
    ["data", "make", "moons:10", "--out", "PLACE"],
    ["data", "make", "moons:10", "--out", "new.npy", "--labels-out", "PLACE"],
]


@pytest.mark.parametrize("place", ["gone/file.npy", "folder", "x.npy/file", "/dev/null/file", "gone/file.gz"])
@pytest.mark.parametrize("args", PLACES, ids=["model", "history", "checkpoint", "embedding", "labels", "data", "data labels"])
def test_place(refused, tmp_path, args, place):
    """A place that cannot be written to is known before any work is done, and nothing else is written."""
    (tmp_path / "folder").mkdir()
    assert place in refused(*[place if a == "PLACE" else a for a in args])


@pytest.mark.parametrize("args", [
    ["fit", "--data", "x.npy", *SMALL, "--out", "same", "--history", "same"],
    ["embed", "--data", "x.npy", "--labels", "y.npy", "--out", "same", "--labels-out", "same"],
    ["data", "make", "moons:10", "--out", "same", "--labels-out", "same"],
], ids=lambda a: " ".join(map(str, a[-4:])))
def test_one_place_for_two_things(refused, args):
    """Two results in one file would lose one of them while both are announced."""
    refused(*args)


@pytest.mark.parametrize("args", [
    ["fit", "--data", "moons:400", "--width", 64, "--epochs", 1, "--out", "new.npz"],
    ["fit", "--data", "moons:400", "--width", 64, "--epochs", 2, "--every", 1, "--checkpoint", "c.npz", "--out", "new.npz"],
    ["fit", "--data", "x.npy", "--width", 4, "--outputs", 2, "--epochs", 400, "--out", "new.npz", "--history", "h.csv"],
    ["embed", "--data", "many.npy", "--out", "new.npy"],
    ["ntk", "--data", "moons:400", "--kernel", "analytic", "--out", "new.npy"],
    ["data", "make", "moons:400", "--out", "new.npy"],
    ["data", "convert", "--data", "many.npy", "--labels", "many labels.npy", "--out", "new.idx", "--labels-out", "l.npy"],
    ["data", "convert", "--data", "digits", "--samples", 100, "--out", "new.gz"],
    ["data", "convert", "--data", "digits", "--samples", 100, "--out", "new.idx"],
], ids=["model", "checkpoint", "history", "embedding", "kernel", "npy", "labels", "gz", "idx"])
def test_full_disk(ep, save, files, args):
    """A disk that fills up is status 1, one line, and no half-written file."""
    save(**{"many": np.ones((2000, 1 if "l.npy" in args else 4)), "many labels": np.ones(2000)})

    def small_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # as a shell's ulimit -f leaves it
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    before = files()
    code, out, err = ep(*args, preexec_fn=small_disk)
    assert code == 1 and err.count("\n") == 1 and err.startswith(f"eigenpair {args[0]}: ")
    left = [f for f in files() if f not in before]
    assert not [f for f in left if f.endswith(".tmp") or os.path.getsize(f) == 4096], left


@pytest.mark.parametrize("args", [
    ["data", "list"], ["data", "list", "--json"], ["data", "describe", "x.npy"], ["data", "describe", "x.npy", "--json"],
    ["fit", "--data", "x.npy", *SMALL, "--json"], ["fit", "--data", "x.npy", *SMALL],
    ["embed", "--data", "x.npy"], ["help", "fit"], ["--version"],
], ids=lambda a: " ".join(map(str, a[:3])))
def test_standard_output_that_is_full(ep, args):
    """Results that nobody got are a failure."""
    with open("/dev/full", "w") as full:
        code, _, err = ep(*args, stdout=full)
    assert code == 1 and err.count("\n") == 1


def test_closed_pipe(call):
    """A reader that went away ends the program quietly."""
    process = subprocess.Popen(**call("data", "describe", "digits"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    process.stdout.close()
    err = process.stderr.read().decode()
    assert process.wait(timeout=60) in (1, -signal.SIGPIPE) and err.count("\n") <= 1


# ---- resume

@pytest.fixture
def checkpoint(good, tmp_path):
    """A real checkpoint ck.npz of a fit of six epochs on x.npy."""
    good("fit", "--data", "x.npy", *SMALL[:4], "--epochs", 6, "--every", 4, "--checkpoint", "ck.npz", "--out", "done.npz")
    return tmp_path / "ck.npz"


@pytest.mark.parametrize("what", ["gone.npz", "x.npy", "model.npz", "init.npz", "."])
def test_resume_from_something_else(refused, what):
    """Only a checkpoint can be gone on from."""
    assert what in refused("fit", "--resume", what, "--out", "new.npz")


@pytest.mark.parametrize("args", [
    ["--width", 5], ["--outputs", 3], ["--depth", 2], ["--rate", 2], ["--seed", 1], ["--loss", "softmax"],
    ["--similarity", "dot"], ["--activation", "tanh"], ["--batch", 2], ["--precision", "double"], ["--track", "rank"],
    ["--data", "wide.npy"], ["--pairs", "all"], ["--augment", "noise:0.3"], ["--scale", "unit"], ["--delta", 0.1],
    ["--init", "init.npz"], ["--input-scale"],
], ids=lambda a: " ".join(map(str, a)))
def test_resume_with_other_options(refused, checkpoint, args):
    """Options that would make another fit of it are named and refused."""
    assert args[0] in refused("fit", "--resume", "ck.npz", "--out", "new.npz", *args)


def test_resume_with_other_data(refused, checkpoint, save):
    """The same file name with other numbers in it is noticed."""
    save(x=MATRIX + 1e-3)
    assert "data" in refused("fit", "--resume", "ck.npz", "--out", "new.npz")


def test_resume_with_other_init(ep, save, tmp_path, refused):
    """The same --init with other weights in it is noticed: they are part of the model."""
    rng = np.random.default_rng(1)
    save(x=rng.normal(size=(3, 40)))
    np.savez(tmp_path / "i.npz", V=rng.normal(size=(3, 40)), W=np.ones((3, 2)))
    assert ep("fit", "--data", "x.npy", "--init", "i.npz", "--epochs", 6, "--every", 4, "--checkpoint", "ck.npz", "--out",
              "done.npz").code == 0
    np.savez(tmp_path / "i.npz", V=rng.normal(size=(3, 40)), W=np.ones((3, 2)))
    refused("fit", "--resume", "ck.npz", "--out", "new.npz")


@pytest.mark.parametrize("name, change", [
    ("theta", lambda a: a[:-1]), ("theta", lambda a: np.full_like(a, np.nan)), ("theta", lambda a: a.astype("U8")),
    ("state", lambda a: a[:-1]), ("state", lambda a: -a - 1), ("state", lambda a: a * np.nan), ("state", lambda a: a + 1e12),
    ("history", lambda a: a[:, :1]), ("history", lambda a: a[:0]), ("history", lambda a: a[:-2]), ("config", lambda a: "{}"),
    ("config", lambda a: "nonsense"), ("theta", lambda a: np.stack([a.ravel()] * 2)), ("theta", lambda a: a.reshape(1, -1)[:0]),
    ("state", lambda a: np.stack([a] * 2)), ("state", lambda a: a.reshape(1, -1)[:0]),
], ids=["theta short", "theta nan", "theta text", "state short", "state negative", "state nan", "state huge",
        "history narrow", "history empty", "history short", "config empty", "config nonsense",
        "theta twice", "theta empty", "state twice", "state empty"])
def test_resume_from_a_damaged_checkpoint(refused, ref, checkpoint, name, change):
    """A checkpoint with a part missing or absurd is refused, not gone on from."""
    arrays = ref.load(checkpoint)
    arrays[name] = change(arrays[name])
    np.savez(checkpoint, **arrays)
    refused("fit", "--resume", "ck.npz", "--out", "new.npz")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_resume_from_a_cut_checkpoint(refused, checkpoint, share):
    """A checkpoint cut short is refused."""
    whole = checkpoint.read_bytes()
    checkpoint.write_bytes(whole[:int(share * len(whole))])
    assert "ck.npz" in refused("fit", "--resume", "ck.npz", "--out", "new.npz")
