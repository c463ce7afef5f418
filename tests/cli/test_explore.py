"""`eigenpair explore`: what stands in its page, judged by NumPy."""
import base64
import json
import re
import struct
import zlib

import numpy as np
import pytest

from conftest import refuse

KINDS = {"u16": "<u2", "u32": "<u4", "f32": "<f4"}


def page(path):
    """The document in a page, its arrays by name."""
    text = re.search(r'id="document">(.*?)</script>', path.read_text(), re.S).group(1)
    d = json.loads(text, parse_constant=refuse)
    data = zlib.decompress(base64.b64decode(d["numbers"]["bytes"]))
    d["array"] = {name: np.frombuffer(data, KINDS[a["type"]], a["count"], a["at"])
                  for name, a in d["numbers"]["arrays"].items()}
    d["column"] = {c["title"]: d["array"][c["array"]] for c in d["columns"]}
    return d


def png(data):
    """Grey or RGB, 8 bits, no filter -> array (h, w) or (h, w, 3)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(name + body)
        chunks[name] = body
        at += 12 + size
    w, h, bits, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    c = {0: 1, 2: 3}[kind]
    raw = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(h, w * c + 1)
    assert bits == 8 and not raw[:, 0].any() and b"IEND" in chunks
    return raw[:, 1:].reshape((h, w) if c == 1 else (h, w, 3))


def cosine_distances(X):
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    D = ((U[:, None] - U[None]) ** 2).sum(-1) / 2
    np.fill_diagonal(D, np.inf)
    return D


def places(d, name):
    return d["array"][name].reshape(-1, 2).astype(float) - 32768


def same_up_to_scale(P, Q):
    """Both centred on the middle of their ranges, on one scale for both axes."""
    Q = Q - (Q.min(0) + Q.max(0)) / 2
    return np.abs(P - 32767 * Q / np.abs(Q).max()).max()


@pytest.fixture
def clouds(rng, save):
    """Four clouds in six dimensions; the data behind them in ten."""
    c = rng.integers(0, 4, 400)
    E = rng.normal(size=(4, 6))[c] * 4 + rng.normal(size=(400, 6))
    X = rng.normal(size=(4, 10))[c] + rng.normal(size=(400, 10))
    save(e=E, x=X, y=10 * c)
    return E, X, c


@pytest.fixture
def explore(good, tmp_path):
    """Runs it -> page, result"""

    def run(*args):
        out = good("explore", "--json", *args)
        result = json.loads(out, parse_constant=refuse)
        return page(tmp_path / result["page"]), result

    return run


ALL = ["--embedding", "e.npy", "--data", "x.npy", "--labels", "y.npy"]


def test_neighbours_maps_and_columns(explore, clouds):
    E, X, c = clouds
    d, result = explore(*ALL, "--neighbours", 8)
    D = cosine_distances(E)
    near, raw = np.argsort(D, 1)[:, :8], np.argsort(cosine_distances(X), 1)[:, :8]
    assert np.array_equal(d["array"]["near"].reshape(-1, 8), near)
    assert np.array_equal(d["array"]["raw"].reshape(-1, 8), raw)
    assert np.array_equal(d["column"]["label"], c)
    assert d["columns"][0]["names"] == ["0", "10", "20", "30"]
    assert np.allclose(d["column"]["agreement"], (c[near] == c[:, None]).mean(1))
    kept = [len(set(a) & set(b)) / 8 for a, b in zip(near, raw)]
    assert np.allclose(d["column"]["neighbours kept"], kept) and abs(result["neighbours_kept"] - np.mean(kept)) < 1e-6
    assert np.allclose(d["column"]["distance"], np.sort(D, 1)[:, 7], rtol=1e-5)
    assert np.allclose(d["column"]["length"], np.linalg.norm(E, axis=1), rtol=1e-6)
    assert np.allclose(d["column"]["data 10"], X[:, 9], rtol=1e-6)  # a small table gives its columns
    assert [m["name"] for m in d["maps"]] == ["PCA", "spectral", "neighbours"]


def test_pca_and_spectrum(explore, clouds):
    E, _, _ = clouds
    d, _ = explore("--embedding", "e.npy")
    A = E - E.mean(0)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    assert np.allclose(d["spectrum"], s**2 / len(E), rtol=1e-9)
    V = Vt[:2].T
    V = V * np.sign(V[np.abs(V).argmax(0), [0, 1]])
    assert same_up_to_scale(places(d, "PCA"), A @ V) <= 1


def test_spectral_map(explore, clouds):
    """The second and third eigenvector of the graph of 15 neighbours, by a dense decomposition."""
    E, _, _ = clouds
    d, _ = explore("--embedding", "e.npy")
    n = len(E)
    A = np.zeros((n, n))
    np.put_along_axis(A, np.argsort(cosine_distances(E), 1)[:, :15], 1, 1)
    W = (A + A.T) / 2
    degree = W.sum(1)
    tie = 0.01 * degree.mean()
    s = 1 / np.sqrt(degree + tie)
    values, vectors = np.linalg.eigh(s[:, None] * (W + tie / n) * s)
    assert abs(values[-1] - 1) < 1e-12 and values[-3] - values[-4] > 1e-4
    Y = s[:, None] * vectors[:, [-2, -3]]
    V = vectors[:, [-2, -3]]
    Y = Y * np.sign(V[np.abs(V).argmax(0), [0, 1]])
    assert same_up_to_scale(places(d, "spectral"), Y) < 0.01 * 32767


def test_neighbour_map_keeps_neighbours(explore, clouds):
    """Clouds stay apart and near points near: most of the 15 nearest on the map are of the same cloud, where a map
    without a memory of the graph would have a quarter."""
    _, _, c = clouds
    d, _ = explore("--embedding", "e.npy")
    P = places(d, "neighbours")
    D = ((P[:, None] - P[None]) ** 2).sum(-1)
    np.fill_diagonal(D, np.inf)
    on_map = np.argsort(D, 1)[:, :10]
    near = d["array"]["near"].reshape(-1, 10)
    assert (c[on_map] == c[:, None]).mean() > 0.9
    shared = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(on_map, near)])
    assert shared > 0.25  # by chance: 10 of 399


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_clusters(explore, clouds, metric):
    """Every point is with the nearest mean, clusters come by size, and clouds far apart are found."""
    E, _, c = clouds
    d, _ = explore("--embedding", "e.npy", "--metric", metric, "--clusters", 4, "--seed", 3)
    k = d["column"]["cluster"]
    X = E / np.linalg.norm(E, axis=1, keepdims=True) if metric == "cosine" else E
    M = np.array([X[k == j].mean(0) for j in range(4)])
    assert np.array_equal(((X[:, None] - M[None]) ** 2).sum(-1).argmin(1), k)
    sizes = np.bincount(k, minlength=4)
    assert (np.diff(sizes) <= 0).all()
    purity = sum(np.bincount(c[k == j]).max() for j in range(4)) / len(c)
    assert purity > 0.6
    D = cosine_distances(E) if metric == "cosine" else np.sqrt(((E[:, None] - E[None]) ** 2).sum(-1) + np.diag([np.inf] * 400))
    tenth = np.sort(D, 1)[:, 9]
    for entry in d["dense"]:
        own = np.flatnonzero(k == entry["cluster"] - 1)
        assert entry["size"] == len(own) and entry["row"] == own[tenth[own].argmin()]


def expected_doubts(near, y):
    """Rows whose label most neighbours contradict, the clearest first -> (row, own votes, other votes, other label)"""
    votes = np.array([[(y[row] == l).sum() for l in range(4)] for row in near])
    own = votes[np.arange(len(y)), y]
    votes[np.arange(len(y)), y] = -1
    rows = sorted(np.flatnonzero(2 * votes.max(1) > near.shape[1]), key=lambda i: (own[i] - votes[i].max(), i))
    return [(int(i), int(own[i]), int(votes[i].max()), str(10 * votes[i].argmax())) for i in rows]


@pytest.mark.parametrize("k", [10, 7])
def test_doubtful_labels(explore, save, rng, k):
    """Two clouds that touch: the list is that of the votes, halves and all."""
    y = rng.integers(0, 2, 600)
    save(e=rng.normal(size=(600, 4)) + 0.8 * y[:, None], y=10 * y)
    d, result = explore("--embedding", "e.npy", "--labels", "y.npy", "--neighbours", k)
    near = d["array"]["near"].reshape(-1, k)
    expected = expected_doubts(near, y)
    assert result["doubtful_labels"] == len(expected) > 20
    assert [(s["row"], s["own"], s["other"], s["label"]) for s in d["doubts"]] == expected[:200]
    if k == 10:  # half of them is not most of them
        assert ((y[near] != y[:, None]).sum(1) == 5).any()


def test_wrong_labels_are_found(explore, clouds, save):
    E, _, c = clouds
    wrong, changed = c.copy(), [5, 77, 201, 399]
    wrong[changed] = (c[changed] + 1) % 4
    save(y=10 * wrong)
    d, _ = explore(*ALL)
    near, raw = d["array"]["near"].reshape(-1, 10), d["array"]["raw"].reshape(-1, 10)
    clear = [i for i in changed if (c[near[i]] == c[i]).mean() > 0.6]
    assert clear and set(clear) <= {s["row"] for s in d["doubts"]}
    assert all(s["raw"] == (10 * wrong[raw[s["row"]]] == int(s["label"])).sum() for s in d["doubts"])


def test_scores_and_probes_are_those_of_probe(explore, good, clouds):
    d, result = explore(*ALL, "--seed", 5)
    plain = {s: json.loads(good("probe", "--json", "--embedding", f"{s}.npy", "--labels", "y.npy", "--probe", "linear,knn",
                                "--seed", 5)) for s in "ex"}
    for name in ("rankme", "effective_rank", "uniformity", "dead_dimensions", "collapse"):
        assert result["scores"][name] == plain["e"][name]
    for p, e, x in zip(result["probes"], plain["e"]["probes"], plain["x"]["probes"]):
        assert p["probe"] == e["probe"] and p["accuracy"] == e["accuracy"]
        assert abs(p["raw"] - x["accuracy"]) <= 1 / 80  # the data are read in single, the embedding as it is stored
    assert d["result"]["probes"] == result["probes"] and d["result"]["points"] == 400
    assert explore(*ALL, "--probe", "none")[1]["probes"] == []


def test_probes_on_a_draw(explore, clouds, save):
    """A draw of the points keeps rows and labels together."""
    E, _, c = clouds
    save(e=np.eye(4)[c] + 0.01 * E[:, :4], x=np.eye(4)[c][:, ::-1])  # easy, where rows and labels belong together
    for seed in range(3):
        _, result = explore(*ALL, "--probe-points", 100, "--seed", seed)
        for p in result["probes"]:
            assert (p["train_points"], p["test_points"]) == (80, 20) and p["accuracy"] > 0.9 and p["raw"] > 0.9
    assert explore(*ALL)[1]["probes"][0]["test_points"] == 80


def test_pictures(explore, save, rng):
    """Every image in its place, to the pixel; large ones and colours too."""
    images = rng.integers(0, 256, (30, 7, 5), dtype=np.uint8)
    save(e=rng.normal(size=(30, 3)), i=images)
    d, _ = explore("--embedding", "e.npy", "--data", "i.npy", "--images")
    p = d["pictures"]
    sheet = png(base64.b64decode(p["png"]))
    assert (p["width"], p["height"]) == (5, 7)
    for i in range(30):
        y, x = i // p["columns"] * 7, i % p["columns"] * 5
        assert np.array_equal(sheet[y:y + 7, x:x + 5], images[i])
    large = rng.random((6, 3, 128, 96))
    save(e=rng.normal(size=(6, 3)), i=2 * large - 1)
    d, _ = explore("--embedding", "e.npy", "--data", "i.npy", "--images")
    p = d["pictures"]
    sheet = png(base64.b64decode(p["png"])).astype(float)
    assert (p["width"], p["height"]) == (48, 64)
    small = large.reshape(6, 3, 64, 2, 48, 2).mean((3, 5)).transpose(0, 2, 3, 1)
    y, x = 4 // p["columns"] * 64, 4 % p["columns"] * 48
    assert np.abs(sheet[y:y + 64, x:x + 48] - 255 * (small[4] - large.min()) / (large.max() - large.min())).max() <= 0.6


def test_text_and_colours(explore, save, rng, tmp_path):
    save(e=rng.normal(size=(7, 3)))
    lines = ["one", "", "</script><b>", "日本", 'a "quote", b', "six", "seven"]
    (tmp_path / "t.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "c.csv").write_text('"age",height cm\n' + "".join(f"{i},{i * i / 3}\n" for i in range(7)))
    d, _ = explore("--embedding", "e.npy", "--text", "t.txt", "--colour", "c.csv", "--out", "own.html")
    assert d["text"] == lines
    assert np.allclose(d["column"]["age"], range(7)) and np.allclose(d["column"]["height cm"], np.arange(7) ** 2 / 3)
    assert "</script><b>" not in (tmp_path / "own.html").read_text()
    save(c=np.arange(14.0).reshape(7, 2))
    d, _ = explore("--embedding", "e.npy", "--colour", "c.npy")
    assert np.allclose(d["column"]["column 2"], np.arange(7) * 2 + 1)


def test_digits_by_name(explore, good):
    """Data by name, drawn: the same points as embed drew, with their labels; and a summary to read."""
    draw = ["--data", "digits", "--samples", 60, "--seed", 4]
    good("fit", *draw, "--width", 20, "--outputs", 4, "--epochs", 1)
    good("embed", *draw, "--labels-out", "y.npy")
    d, result = explore("--embedding", "embedding.npy", *draw, "--images")
    same, _ = explore("--embedding", "embedding.npy", "--labels", "y.npy")
    assert np.array_equal(d["column"]["label"], same["column"]["label"]) and d["columns"][0]["names"] == same["columns"][0]["names"]
    assert result["config"]["samples"] == 60 and d["command"].startswith("eigenpair explore")
    out = good("explore", "--embedding", "embedding.npy", *draw)
    assert "60 points in 4 dimensions" in out and "raw" in out and "map.html" in out


def test_same_bits(good, clouds, tmp_path):
    for out in ("a.html", "b.html"):
        good("explore", *ALL, "--out", out, "--threads", 2)
    a, b = (page(tmp_path / out)["numbers"]["bytes"] for out in ("a.html", "b.html"))
    assert a == b


def test_few_and_equal_points(explore, save):
    """Five points, one dimension, all the same: nothing to see, and no failure."""
    for E in (np.arange(5.0)[:, None], np.ones((5, 2)), np.zeros((6, 3))):
        save(e=E)
        d, _ = explore("--embedding", "e.npy")
        assert len(d["array"]["PCA"]) == 2 * len(E)


@pytest.mark.parametrize("args, words", [
    ([], "--embedding"),
    (["--embedding", "none.npy"], "none.npy"),
    (["--embedding", "four.npy"], "a map needs 5"),
    (["--embedding", "many.npy"], "a page holds 100000"),
    (["--embedding", "e.npy", "--images"], "--images needs --data"),
    (["--embedding", "e.npy", "--data", "e.npy", "--images"], "--image HxW"),
    (["--embedding", "e.npy", "--data", "four.npy"], "the data must be those that were embedded"),
    (["--embedding", "e.npy", "--labels", "four.npy"], "labels"),
    (["--embedding", "e.npy", "--text", "t.txt"], "2 lines for 20 points"),
    (["--embedding", "e.npy", "--text", "bad.txt"], "line 2 is not UTF-8"),
    (["--embedding", "e.npy", "--colour", "four.npy"], "4 rows for 20 points"),
    (["--embedding", "e.npy", "--labels", "y.npy", "--probe", "lnear"], "lnear"),
    (["--embedding", "e.npy", "--samples", 5], "--samples goes with --data"),
    (["--embedding", "e.npy", "--out", "no/such/map.html"], "no/such"),
])
def test_refusals(ep, save, rng, tmp_path, args, words):
    save(e=rng.normal(size=(20, 3)), four=rng.normal(size=(4, 3)), many=np.zeros((100001, 1), np.float32),
         y=np.arange(20) % 3)
    (tmp_path / "t.txt").write_text("a\nb\n")
    (tmp_path / "bad.txt").write_bytes(b"a\n\xff\n" + 18 * b"c\n")
    before = sorted(tmp_path.iterdir())
    result = ep("explore", *args)
    assert result.code == 2 and result.out == "" and words in result.err and result.err.count("\n") == 1, result
    assert sorted(tmp_path.iterdir()) == before


def test_any_column_colours(ep, save, rng, tmp_path):
    """Numbers as they are in the file, texts as classes, what is missing as a class of its own."""
    n = 60
    save(e=rng.normal(size=(n, 3)))
    city = [["Rome", "Berlin", ""][i % 3] for i in range(n)]
    (tmp_path / "c.csv").write_text("age,city,born\n" + "".join(f"{20 + i},{city[i]},2024-03-{i % 28 + 1:02}\n" for i in range(n)))

    def explore(*args):
        result = ep("explore", "--embedding", "e.npy", *args)
        assert result.code == 0, result.err  # what the table is made of is said aloud
        return page(tmp_path / "map.html")

    d = explore("--colour", "c.csv")
    assert np.array_equal(d["column"]["age"], 20 + np.arange(n))
    names = next(c for c in d["columns"] if c["title"] == "city")["names"]
    assert [names[k] for k in d["column"]["city"]] == [c or "missing" for c in city]
    assert next(c for c in d["columns"] if c["title"] == "born")["kind"] == "date"
    assert np.array_equal(d["column"]["born"], 19783 + np.arange(n) % 28)  # days since 1970
    # the table that was embedded: its own units, though it was scaled to be learnt from
    d = explore("--data", "c.csv", "--scale", "standard")
    assert np.allclose(d["column"]["age"], 20 + np.arange(n), rtol=1e-5)
    assert next(c for c in d["columns"] if c["title"] == "city")["kind"] == "class"


def test_missing_numbers_have_no_colour(ep, save, rng, tmp_path):
    """They are learnt from as their column's mean, and shown as what they are: missing."""
    n = 60
    there = np.where(np.arange(n) % 7 == 3, np.nan, 20. + np.arange(n))
    save(e=rng.normal(size=(n, 3)), few=rng.normal(size=(20, 3)))
    (tmp_path / "c.csv").write_text("age,high\n" + "".join(f"{'' if np.isnan(v) else v},{i % 5}\n"
                                                          for i, v in enumerate(there)))
    colour = ep("explore", "--embedding", "e.npy", "--colour", "c.csv")
    assert colour.code == 0 and "mean of their column" not in colour.err, colour
    assert np.array_equal(page(tmp_path / "map.html")["column"]["age"], there.astype(np.float32), equal_nan=True)
    data = ep("explore", "--embedding", "e.npy", "--data", "c.csv", "--scale", "standard")
    assert data.code == 0 and "9 missing values became the mean of their column" in data.err, data
    assert np.allclose(page(tmp_path / "map.html")["column"]["age"], there, rtol=1e-5, equal_nan=True)
    drawn = ep("explore", "--embedding", "few.npy", "--data", "c.csv", "--samples", 20)  # holes go where their rows go
    assert drawn.code == 0, drawn.err
    column = page(tmp_path / "map.html")["column"]
    rows = np.rint(column["age"] - 20)
    assert 0 < np.isnan(rows).sum() < 9
    assert all(int(r) % 5 == round(float(h)) for r, h in zip(rows, column["high"]) if not np.isnan(r))
