"""Files of strangers, and names that mean more than one file: what came after the first list of defects (its numbers)."""
import json
import os

import numpy as np
import pytest
from conftest import SANITIZED, watched

X = np.random.default_rng(0).normal(size=(40, 4)).astype("f4")
SMALL = ["--width", 8, "--outputs", 2]


def resaved(path, **changes):
    """The archive again, its config changed."""
    with np.load(path) as z:
        arrays = dict(z)
    config = json.loads(arrays["config"].item())
    np.savez(path, **{**arrays, "config": json.dumps({**config, **changes})})


def test_sums_name_no_file_to_write(good, tmp_path):
    """Defect 17: sums, which may be another's, write nothing where the command line does not say so."""
    np.save(tmp_path / "x.npy", X)
    good("accumulate", "--data", "x.npy", *SMALL, "--out", "s.npz")
    resaved(tmp_path / "s.npz", out="taken.npz", history="taken.csv", checkpoint="taken-c.npz")
    good("fit", "--from", "s.npz", "--outputs", 2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.npz", "s.npz", "x.npy"]


def picture(path):
    """A grey PNG of 8 x 8, by hand."""
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(np.random.default_rng(len(str(path))).integers(0, 255, 8, dtype="u1")) for _ in range(8))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


@pytest.fixture
def inputs(good, tmp_path):
    """One of everything that can be read."""
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "C.npy", -np.eye(3))
    for i in range(2):
        np.save(tmp_path / f"part-{i}.npy", X)
        (tmp_path / f"photos/{i}").mkdir(parents=True)
        for k in range(3):
            picture(tmp_path / f"photos/{i}/{k}.png")
    good("fit", "--data", "x.npy", "--method", "pca", *SMALL, "--out", "m.npz")
    good("accumulate", "--data", "x.npy", *SMALL, "--out", "s.npz")
    good("fit", "--data", "x.npy", *SMALL, "--method", "gd", "--epochs", 2, "--every", 1, "--checkpoint", "k.npz", "--out", "g.npz")
    (tmp_path / "c.json").write_text('{"width": 8, "outputs": 2}')
    return tmp_path


@pytest.mark.parametrize("command, victim", [
    ("embed --model m.npz --data part-*.npy --out part-1.npy", "part-1.npy"),
    ("embed --model m.npz --data part-[01].npy --out ./part-0.npy", "part-0.npy"),
    ("data convert --data photos --image 8x8 --out photos/0/1.png", "photos/0/1.png"),
    ("fit --data photos --image 8x8 --width 8 --outputs 2 --out photos/../photos/1/1.png", "photos/1/1.png"),
    ("fit --from s.npz --outputs 2 --out s.npz", "s.npz"),
    ("fit --data x.npy --config c.json --out c.json", "c.json"),
    ("fit --data x.npy --config c.json --history c.json", "c.json"),
    ("fit --resume k.npz --checkpoint k2.npz --every 1 --epochs 3 --out k.npz", "k.npz"),
    ("embed --model m.npz --data x.npy --config c.json --out c.json", "c.json")])
def test_inputs_are_not_overwritten(ep, inputs, command, victim):
    """Defect 13: nor those that a pattern, a folder or a config names."""
    before = (inputs / victim).read_bytes()
    code, out, err = ep(*command.split())
    assert (code, out) == (2, "") and err.count("\n") == 1 and "would be overwritten" in err
    assert (inputs / victim).read_bytes() == before


def test_what_is_in_a_folder_beside_its_pictures(good, inputs):
    """Defect 13, the other side: a model may stand among pictures, and be replaced."""
    for _ in range(2):
        good("fit", "--data", "photos", "--image", "8x8", *SMALL, "--method", "pca", "--out", "photos/m.npz")


@pytest.mark.parametrize("name", ["report.html", "./report.md", "result.json", "document.json"])
def test_outputs_and_the_page(ep, inputs, name):
    """Defect 13: two outputs of one file, one of them of the report."""
    code, out, err = ep("dynamics", "--matrix", "C.npy", "--outputs", 1, "--time", 1, "--report", ".", "--out", name)
    assert (code, out) == (2, "") and err.count("\n") == 1 and "--report writes" in err


def bomb(count):
    """JSON that takes 45 times its text."""
    return '{"x": [' + "[]," * count + "1]}"


@pytest.mark.parametrize("command", ["embed --model b.npz --data x.npy --out e.npy", "fit --data x.npy --config b.npz",
                                     "fit --data x.npy --config b.json"])
@pytest.mark.parametrize("count", [200000, 3000000])
def test_json_is_within_the_cap(call, tmp_path, command, count):
    """Defect 7: however little a file is, what its JSON becomes is within --memory."""
    np.save(tmp_path / "x.npy", X)
    np.savez_compressed(tmp_path / "b.npz", V=np.ones((8, 4), "f4"), W=np.ones((8, 2), "f4"), config=bomb(count))
    (tmp_path / "b.json").write_text(bomb(count))
    (code, out, err), peak = watched(call(*command.split(), "--memory", "100M"))
    assert (code, out) == (2, "") and err.count("\n") == 1 and "bytes" in err
    assert SANITIZED or peak < 100e6


def test_a_report_of_much_json(call, tmp_path):
    """Defect 7: a document that may not fit is not begun."""
    (tmp_path / "d.json").write_text(bomb(3000000))
    (code, out, err), peak = watched(call("report", "d.json", "--out", "again", "--memory", "300M"))
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert SANITIZED or peak < 100e6


@pytest.mark.parametrize("name", ["k\x1b]0;pwned\x07", "l\nsecond", "m\x9b1m"])
def test_names_of_folders_without_escapes(good, inputs, name):
    """Defect 14: a folder's name is a class's; one that would speak to the terminal goes by its number."""
    os.rename(inputs / "photos/1", inputs / "photos" / name)
    good("data", "convert", "--data", "photos", "--image", "8x8", "--out", "p.npy", "--labels-out", "l.npy")
    out = good("probe", "--embedding", "p.npy", "--labels", "photos", "--probe", "linear")
    assert not [c for c in out if (ord(c) < 32 or 127 <= ord(c) < 160) and c != "\n"] and "second" not in out


@pytest.mark.parametrize("scale", [1e19, 1e30])
def test_infinite_sums_are_not_written(ep, tmp_path, scale):
    """Exit 0 means finite numbers: sums that overflow are refused where they are made."""
    large = X.copy()
    large[1, 3] = scale
    np.save(tmp_path / "x.npy", large)
    code, out, err = ep("accumulate", "--data", "x.npy", *SMALL, "--scale", "raw", "--out", "s.npz")
    if code == 0:
        with np.load(tmp_path / "s.npz") as z:
            assert all(np.isfinite(z[n]).all() for n in z.files if z[n].dtype.kind == "f")
    else:
        assert code == 1 and err.count("\n") == 1 and "not finite" in err and not (tmp_path / "s.npz").exists()


def test_data_that_are_too_large(ep, tmp_path):
    """The line speaks of the data, not of a factorisation's number."""
    large = X.copy()
    large[1, 3] = 1e30
    np.save(tmp_path / "x.npy", large)
    code, _, err = ep("fit", "--data", "x.npy", "--method", "whitened", *SMALL, "--scale", "raw")
    assert code == 1 and err.count("\n") == 1 and "too large" in err
