"""Data that do not fit --memory: read and augmented when asked for, from one file or several, to the same answers."""
import json
import os
import zipfile

import numpy as np
import pytest
from conftest import less, shipped_only, watched


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """6,000 points of 500 numbers (12 MB) whole and in three shards of uneven size -> their folder."""
    folder, rng = tmp_path_factory.mktemp("made"), np.random.default_rng(7)
    x = (rng.normal(size=(6000, 30)) @ rng.normal(size=(30, 500))).astype("f4")
    np.save(folder / "x.npy", x)
    for i, part in enumerate(np.split(x, [2000, 2001])):
        np.save(folder / f"part-{i}.npy", part)
    return folder


@pytest.fixture
def files(made, tmp_path):
    for path in made.iterdir():
        os.link(path, tmp_path / path.name)


SMALL = ["--memory", "22M", "--threads", 2]
PAIRS = ["--augment", "noise:0.3", "--outputs", 4, "--seed", 3]


@pytest.mark.parametrize("method,more", [("pca", ["--width", 50]), ("pca", ["--width", 50, "--path", "free"]),
                                         ("whitened", ["--width", 50]),
                                         ("infinite", ["--landmarks", 100]), ("gd", ["--width", 50, "--batch", 256, "--epochs", 1])])
def test_the_same_with_little_memory(good, files, tmp_path, method, more):
    """All in memory, streamed from a file, streamed from shards."""
    for name, args in ("all", ["--data", "x.npy", "--memory", "2G"]), ("file", ["--data", "x.npy", *SMALL]), \
            ("shards", ["--data", "part-*.npy", *SMALL]):
        good("fit", "--method", method, *PAIRS, *more, *args, "--out", f"{name}.npz", timeout=300)
        good("embed", "--model", f"{name}.npz", "--data", "part-*.npy", *SMALL, "--out", f"{name}.npy")
    E = {name: np.load(tmp_path / f"{name}.npy") for name in ("all", "file", "shards")}
    assert np.array_equal(E["file"], E["shards"])
    gap = np.abs(E["all"] - E["file"]).max() / np.abs(E["all"]).max()
    assert gap < 2e-3, gap  # sums over other blocks


def test_embed_of_shards_in_order(good, files, tmp_path):
    good("fit", "--data", "x.npy", "--samples", 100, "--method", "pca", "--width", 20, "--outputs", 3)
    good("embed", "--data", "x.npy", "--out", "whole.npy")
    good("embed", "--data", "part-?.npy", *SMALL, "--out", "parts.npy")
    a, b = np.load(tmp_path / "whole.npy"), np.load(tmp_path / "parts.npy")
    assert np.abs(a - b).max() < 1e-6 * np.abs(a).max()


def test_labels_of_shards(good, save, rng, tmp_path):
    for i in range(3):
        save(**{f"p{i}": rng.normal(size=(10, 4)) + i})
        np.save(tmp_path / f"l{i}.npy", np.full(10, i))
    good("fit", "--data", "p*.npy", "--method", "pca", "--width", 10, "--outputs", 2)
    good("embed", "--data", "p*.npy", "--labels", "l*.npy", "--labels-out", "y.npy")
    assert np.array_equal(np.load(tmp_path / "y.npy"), np.repeat([0, 1, 2], 10))


@pytest.mark.parametrize("method", ["kernel", "linearised", "grassmann", "gd", "linear"])
def test_methods_that_need_all_points_say_so(ep, files, method):
    r = ep("fit", "--data", "x.npy", "--method", method, "--width", 20, "--epochs", 2, *SMALL)
    assert r.code == 2 and "do not fit --memory" in r.err and r.err.count("\n") == 1


def test_bad_shards(ep, save, rng, tmp_path):
    save(s1=rng.normal(size=(5, 3)), s2=rng.normal(size=(5, 4)))
    assert "dimension 4" in ep("fit", "--data", "s*.npy").err
    assert "no file is called like" in ep("fit", "--data", "nothing-*.npy").err
    x = rng.normal(size=(6000, 500)).astype("f4")
    x[5500, 77] = np.nan
    save(big=x)
    r = ep("fit", "--data", "big.npy", "--method", "pca", "--width", 20, *SMALL)
    assert r.code == 2 and "big.npy: row 5501, column 78: is NaN" in r.err


def peak(call, *args):
    done, most = watched(call(*args))
    assert done.code == 0, done.err
    return most


@pytest.mark.parametrize("how", [["--kernel", "analytic"], ["--layout", "full", "--width", 20, "--outputs", 2],
                                 ["--kernel", "nngp", "--depth", 2], ["--layout", "trace", "--width", 20, "--outputs", 2]])
def test_kernels_of_points_that_stay_in_their_file(good, ep, save, rng, tmp_path, how):
    """1500 x 400 and 30 points, and 1500 with themselves, in tiles: the kernel from memory. Images are brought to the sphere."""
    save(x=rng.integers(0, 256, size=(1500, 20, 40), dtype="u1"), y=rng.integers(0, 256, size=(30, 20, 40), dtype="u1"))
    for other in ["--data2", "y.npy"], ([] if "trace" in how or "nngp" in how else ["--data2", "x.npy"]):
        args = ["ntk", "--data", "x.npy", *other, *how, "--threads", 1, "--precision", "double"]
        good(*args, "--memory", "2G", "--out", "a.npy")
        said = ep(*args, "--memory", "18M", "--explain", "--out", "b.npy")
        assert said.code == 0 and "which stay in their file" in said.err
        a, b = np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy")
        assert a.shape == b.shape and np.abs(a - b).max() < 1e-9 * np.abs(a).max()


@pytest.fixture
def embedded(save, rng):
    """(6300, 200) in single precision, 5 MB, of three classes; its bytes; positives; in double."""
    y = np.arange(6300) % 3
    x = (rng.normal(size=(6300, 200)) + 0.35 * rng.normal(size=(3, 200))[y]).astype("f4")
    save(e=x, p=x + 0.1, y=y, b=np.clip(128 + 30 * x, 0, 255).astype("u1"), d=x.astype("f8"))


@pytest.mark.parametrize("name, cap", [("e", "18M"), ("b", "4600K"), ("d", "36M")])
def test_probes_of_embeddings_that_stay_in_their_file(good, embedded, name, cap):
    """The same numbers, to the last bit, as from memory: metrics, and all probes that can."""
    how = ["--embedding", f"{name}.npy", "--labels", "y.npy", "--probe", "linear,ridge,knn", "--uniformity-points", 500,
           "--iterations", 8, "--holdout", 0.02, "--threads", 1, "--json"]
    how += ["--positives", "p.npy"] if name == "e" else []
    whole, streamed = (json.loads(good("probe", *how, "--memory", m)) for m in ("1G", cap))
    drop = ("config", "peak_memory", "machine", "peak_resident")
    assert {k: v for k, v in whole.items() if k not in drop} == {k: v for k, v in streamed.items() if k not in drop}
    assert streamed["peak_memory"] < whole["peak_memory"]


def test_a_probe_that_needs_its_points_in_memory_says_so(ep, embedded, tmp_path):
    how = ["--embedding", "e.npy", "--labels", "y.npy", "--memory", "15M"]
    r = ep("probe", *how, "--probe", "svm")
    assert r.code == 2 and "--probe linear, ridge or knn" in r.err and r.err.count("\n") == 1
    x = np.load(tmp_path / "e.npy")
    x[6200, 7] = np.inf
    np.save(tmp_path / "e.npy", x)
    r = ep("probe", *how, "--probe", "ridge")
    assert r.code == 2 and "e.npy: row 6201, column 8" in r.err and r.err.count("\n") == 1


@shipped_only
def test_peak_stays(call, save, rng, tmp_path):
    """63 MB of bytes, as numbers with their views 0.5 GB: the whole process stays below its cap of 60 MB."""
    np.save(tmp_path / "bytes.npy", rng.integers(0, 256, size=(80000, 28, 28), dtype="u1"))
    size = peak(call, "fit", "--data", "bytes.npy", "--augment", "flip", "--method", "whitened", "--views", 2, "--width", 100,
                "--outputs", 8, "--memory", "60M", "--out", "m.npz")
    assert size < 60e6, size
    size = peak(call, "embed", "--model", "m.npz", "--data", "bytes.npy", "--memory", "60M", "--out", "e.npy")
    assert size < 60e6, size


MAPS = {"network": ["--width", 60], "landmarks": ["--kernel", "analytic", "--landmarks", 40],
        "patches": ["--features", "patches:9,5,2"], "stack": ["--features", "stack:16x5,near=2,keep=8,pool=3"],
        "ridge auto": ["--width", 60, "--ridge", "auto"]}


@pytest.mark.parametrize("name", MAPS)
def test_peak_does_not_grow_with_the_points(good, save, rng, name):
    """whitened reads every view once, in blocks: four times the points, also where all would fit, take not a tenth more. What
    lays its points out and lists its pairs, as pca does, grows with them."""
    save(small=rng.integers(0, 256, (2500, 20, 20), dtype="u1"), large=rng.integers(0, 256, (less(10000, 6000), 20, 20), dtype="u1"))

    def peaks(*how):
        return [json.loads(good("fit", "--data", f"{x}.npy", "--augment", "flip", "--outputs", 4, "--memory", "1G", *how, "--json"))
                ["peak_memory"] for x in ("small", "large")]

    few, many = peaks("--method", "whitened", *MAPS[name])
    assert many < 1.1 * few, (few, many)
    if name == "network":
        few, many = peaks("--method", "pca", *MAPS[name])
        assert many > less(2, 1.5) * few, (few, many)


def test_parts_take_what_a_fit_takes(good, save, rng):
    """Pairs that are not listed, of ready pairs too, are those that are: shards add up to the fit. Pairs by label are listed."""
    save(a=rng.normal(size=(4000, 30)), p=rng.normal(size=(4000, 30)), y=np.arange(4000) % 5)
    ready = ["--anchors", "a.npy", "--positives", "p.npy", "--width", 30, "--outputs", 3, "--precision", "double"]
    whole = json.loads(good("fit", "--method", "whitened", *ready, "--json"))
    for k in 1, 2, 3:
        good("accumulate", *ready, "--shard", f"{k}/3", "--out", f"{k}.npz")
    good("merge", "1.npz", "2.npz", "3.npz")
    parts = json.loads(good("fit", "--from", "sums.npz", "--json"))
    assert np.allclose(whole["eigenvalues"], parts["eigenvalues"], rtol=1e-9) and whole["anchors"] == parts["anchors"] == 4000
    result = json.loads(good("fit", "--data", "a.npy", "--labels", "y.npy", "--pairs", "labels:1+0", "--method", "whitened", "--width", 30,
                             "--outputs", 3, "--json"))
    assert result["anchors"] == result["points"] == 4000


# ---- arrays of a .npz that stay in their file

@pytest.mark.parametrize("kind", ["f4", "f8", "u1", "fortran"])
def test_npz_is_read_where_it_stands(good, rng, tmp_path, kind):
    """The same bits as of .npy, alone, beside another array by its name, and as shards."""
    x = rng.integers(0, 256, size=(3000, 500)) if kind == "u1" else rng.normal(size=(3000, 500))
    x = np.asfortranarray(x, "f4") if kind == "fortran" else x.astype(kind)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x)
    np.savez(tmp_path / "two.npz", other=np.ones((3, 2)), points=x)
    for i, part in enumerate(np.split(x, [1300])):
        np.savez(tmp_path / f"p-{i}.npz", part)
    for i, data in enumerate(["x.npy", "x.npz", "two.npz:points", "p-*.npz"]):
        good("fit", "--method", "whitened", *PAIRS, "--width", 30, "--data", data, "--out", f"m{i}.npz")
        good("embed", "--model", f"m{i}.npz", "--data", data, "--out", f"e{i}.npy")
    first = np.load(tmp_path / "e0.npy")
    assert all(np.array_equal(first, np.load(tmp_path / f"e{i}.npy")) for i in (1, 2, 3))


def test_npz_with_little_memory(good, ep, made, tmp_path):
    """12 MB of points within 15 MB; packed ones are refused with what to do."""
    x = np.load(made / "x.npy")
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x)
    np.savez_compressed(tmp_path / "packed.npz", x)
    small = ["--memory", "15M", "--threads", 1]
    for name in "npy", "npz":
        good("fit", "--method", "whitened", *PAIRS, "--width", 20, "--data", f"x.{name}", *small, "--out", f"{name}.model", timeout=300)
        good("embed", "--model", f"{name}.model", "--data", f"x.{name}", *small, "--out", f"{name}.e.npy")
    assert np.array_equal(np.load(tmp_path / "npy.e.npy"), np.load(tmp_path / "npz.e.npy"))
    r = ep("embed", "--model", "npz.model", "--data", "packed.npz", "--memory", "10M", "--threads", 1)
    assert r.code == 2 and "np.savez" in r.err and "data convert" in r.err and r.err.count("\n") == 1


@pytest.fixture
def patched(rng, tmp_path):
    """bad.npz with bytes of the second array's header changed: {place: bytes}."""
    def write(changes):
        np.savez(tmp_path / "bad.npz", other=np.ones((3, 2)), points=rng.normal(size=(3000, 50)))
        with zipfile.ZipFile(tmp_path / "bad.npz") as z:
            start = z.getinfo("points.npy").header_offset
        with open(tmp_path / "bad.npz", "r+b") as f:
            for at, new in changes.items():
                f.seek(start + at)
                f.write(new)
    return write


@pytest.mark.parametrize("at,new", [(0, b"PX"), (8, b"\x08"), (14, b"\1\2"), (26, b"\0\0"), (26, b"\xff\xff"), (28, b"\0\0"), (28, b"\xff\xff"),
                                    (18, b"\7"), (22, b"\7"), (900000, b"\1\2\3")])
def test_npz_with_a_bad_header(ep, patched, at, new):
    """Signature, method, checksum, lengths of name and extra field, sizes, a value."""
    patched({at: new})
    r = ep("fit", "--data", "bad.npz:points", "--method", "pca", "--width", 20, "--outputs", 2)
    assert r.code == 2 and r.err.startswith("eigenpair fit: bad.npz") and "damaged" in r.err and r.err.count("\n") == 1, r.err


def test_npz_with_sizes_in_the_extra_field(good, ep, patched):
    """As of arrays past 4 GB: behind 'points.npy' and 4 bytes."""
    fit = ["fit", "--data", "bad.npz:points", "--method", "pca", "--width", 20, "--outputs", 2]
    patched({18: b"\xff" * 8})
    good(*fit)
    for wrong in {44: b"\7"}, {52: b"\7"}, {40: b"\2"}, {42: b"\x08"}:
        patched({18: b"\xff" * 8, **wrong})
        r = ep(*fit)
        assert r.code == 2 and "bad.npz:points: its header is damaged" in r.err
