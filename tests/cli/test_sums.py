"""accumulate, merge, fit --from: the model of a fit on everything, the same bits in any order, all else refused by name."""
import itertools
import json
import signal
import subprocess

import numpy as np
import pytest
from conftest import wait_until_at_work

MAPS = {"dense": ["--width", 60, "--depth", 2], "pca": ["--method", "pca", "--width", 60],
        "patches": ["--features", "patches:12,5,2"], "landmarks": ["--kernel", "analytic", "--landmarks", 40],
        "views": ["--width", 50, "--views", 3, "--similarity", "cosine"]}
DATA = ["--data", "digits", "--samples", 300, "--seed", 4]


def options(name):
    return [*DATA, *MAPS[name]] + ([] if name == "pca" else ["--method", "whitened"])


def parts(good, name, n, *more, first=1):
    for i in range(first, first + n):
        good("accumulate", *options(name), "--shard", f"{i}/{n}", "--out", f"part{i}.npz", *more)
    return [f"part{i}.npz" for i in range(first, first + n)]


@pytest.mark.parametrize("precision, rounding", [("double", 1.2e-16), ("single", 6e-8)])
@pytest.mark.parametrize("name", MAPS)
def test_the_model_of_everything(good, tmp_path, name, precision, rounding):
    """Eigenvalues and span: sums differ by roundings, which whitening magnifies by at most |B| / ridge <= M / 0.01."""
    end = ["--precision", precision, "--outputs", 4, "--json"]
    whole = json.loads(good("fit", *options(name), *end, "--path", "primal", "--out", "whole.npz"))
    good("merge", *parts(good, name, 3, "--precision", precision))
    apart = json.loads(good("fit", "--from", "sums.npz", "--outputs", 4, "--json", "--out", "apart.npz"))
    a, b = np.array(whole["eigenvalues"]), np.array(apart["eigenvalues"])
    tolerance = 10 * rounding * (1 if name == "pca" else 60 / 0.01) * a.max()
    assert np.abs(a - b).max() < tolerance
    assert apart["anchors"] == whole["anchors"] == 300 and apart["status"] == "converged"
    for model in "whole", "apart":
        good("embed", "--model", f"{model}.npz", "--data", "digits:test", "--precision", "double", "--out", f"{model}.npy")
    A, B = (np.linalg.qr(np.load(tmp_path / f"{m}.npy"))[0] for m in ("whole", "apart"))
    assert np.linalg.norm(A - B @ (B.T @ A)) < 1e-6 * (precision == "single") + 20 * tolerance / whole["gap"]


def test_any_order_and_any_tree(good, tmp_path):
    """One set of bits, whatever the order of the files, and in stages."""
    files = parts(good, "dense", 4, "--precision", "single")
    seen = set()
    for k, order in enumerate(itertools.permutations(files)):
        if k % 5 == 0:
            good("merge", *order, "--out", "sums.npz")
            seen.add((tmp_path / "sums.npz").read_bytes())
    good("merge", files[3], files[0], "--partial", "--out", "a.npz")
    good("merge", files[1], files[2], "--partial", "--out", "b.npz")
    good("merge", "b.npz", "a.npz", "--out", "sums.npz")
    seen.add((tmp_path / "sums.npz").read_bytes())
    assert len(seen) == 1


def test_numbers_from_zero(good, tmp_path):
    """0/n is another name of n/n: shards 0 .. n - 1 are all of them too."""
    good("merge", *parts(good, "dense", 3), "--out", "a.npz")
    for i in range(3):
        good("accumulate", *options("dense"), "--shard", f"{i}/3", "--out", f"z{i}.npz")
    good("merge", "z0.npz", "z1.npz", "z2.npz", "--out", "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_numpy_reads_them(good, tmp_path):
    good("merge", *parts(good, "views", 2, "--precision", "double"))
    z = np.load(tmp_path / "sums.npz")
    config = json.loads(z["config"].item())
    assert config["sums"]["nodes"] == [{"first": 0, "count": 2, "anchors": 300.0, "views": 900.0, "pairs": 1800.0}]
    B = np.triu(z["sum_B"])
    assert z["sum_C"].shape == B.shape == (50, 50) and z["sum_psi"].shape == (1, 50)
    assert np.trace(B) <= 900 and np.linalg.eigvalsh(B + np.triu(B, 1).T)[0] > -1e-9 * np.trace(B)


def test_what_may_still_be_chosen(good, tmp_path):
    """Outputs, ridge and power belong to the eigenproblem, not to the sums."""
    good("merge", *parts(good, "dense", 2, "--precision", "double"))
    more = ["--outputs", 7, "--ridge", 0.3, "--power", 0.5]
    good("fit", "--from", "sums.npz", *more, "--out", "a.npz")
    good("fit", *options("dense"), "--precision", "double", *more, "--out", "b.npz")
    a, b = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
    assert a["W"].shape == (60, 7) and np.abs(a["W"] - b["W"]).max() < 1e-8 * np.abs(b["W"]).max()
    assert json.loads(a["config"].item())["ridge"] == 0.3


def test_ready_pairs_and_shards_of_files(good, save, rng, tmp_path):
    x = rng.normal(size=(60, 5))
    save(a=x, p=x + 0.1 * rng.normal(size=x.shape), n=rng.normal(size=x.shape))
    pairs = ["--anchors", "a.npy", "--positives", "p.npy", "--negatives", "n.npy", "--method", "pca", "--width", 20,
             "--precision", "double"]
    for i in 1, 2:
        good("accumulate", *pairs, "--shard", f"{i}/2", "--out", f"part{i}.npz")
    good("merge", "part1.npz", "part2.npz")
    good("fit", "--from", "sums.npz", "--outputs", 3, "--out", "a.npz")
    good("fit", *pairs, "--path", "primal", "--outputs", 3, "--out", "b.npz")
    a, b = np.load(tmp_path / "a.npz")["W"], np.load(tmp_path / "b.npz")["W"]
    assert np.abs(a - b).max() < 1e-10


# ---- bad luck


def bad(ep, *args, words, code=2):
    result = ep(*args)
    assert result.code == code and result.err.count("\n") == 1, result
    assert all(w in result.err for w in words), result.err


def test_refused_by_name(good, ep, save, rng, tmp_path):
    files = parts(good, "dense", 3)
    bad(ep, "merge", *files[:2], words=["missing", "3/3"])
    bad(ep, "merge", *files, files[1], words=["part2.npz", "shard 2/3", "already"])
    bad(ep, "fit", "--from", "part1.npz", words=["missing", "2/3, 3/3"])
    good("accumulate", *options("dense"), "--seed", 5, "--shard", "3/3", "--out", "seed.npz")
    bad(ep, "merge", *files[:2], "seed.npz", words=["seed.npz", "--seed is 5", "4"])
    good("accumulate", *options("pca"), "--shard", "3/3", "--out", "pca.npz")
    bad(ep, "merge", *files[:2], "pca.npz", words=["pca.npz", "another setup"])
    good("accumulate", *options("dense"), "--shard", "3/4", "--out", "four.npz")
    bad(ep, "merge", *files[:2], "four.npz", words=["four.npz", "cut alike"])
    bad(ep, "fit", "--from", "part1.npz", "--data", "digits", words=["--data", "--from"])
    bad(ep, "fit", "--from", "nothing.npz", words=["nothing.npz"])
    bad(ep, "accumulate", *options("dense"), "--shard", "5/4", words=["--shard '5/4'"])
    bad(ep, "accumulate", *options("dense"), "--shard", "1/301", words=["301 shards"])
    bad(ep, "accumulate", *DATA, "--method", "gd", words=["pca and whitened"])
    bad(ep, "accumulate", *options("pca"), "--pairs", "all", words=["--pairs all"])
    bad(ep, "merge", words=["eigenpair merge part*.npz"])
    bad(ep, "merge", *files, "--out", "part2.npz", words=["part2.npz", "overwritten"])
    bad(ep, "embed", "--model", "part1.npz", "--data", "digits", words=["fit --from part1.npz"])
    good("merge", *files)  # the finished parts stay usable
    bad(ep, "fit", "--from", "sums.npz", "--width", 9, words=["--width is 9"])
    assert not (tmp_path / "model.npz").exists()


def test_other_data_under_the_same_name(good, ep, save, rng):
    """The paths may differ between machines; what is in them may not."""
    x = rng.normal(size=(90, 6))
    save(x=x, same=x, y=x + (np.arange(90) > 80)[:, None])
    how = ["--width", 20, "--shard"]
    good("accumulate", "--data", "x.npy", *how, "1/2", "--out", "1.npz")
    good("accumulate", "--data", "same.npy", *how, "2/2", "--out", "2.npz")
    good("merge", "1.npz", "2.npz")
    good("accumulate", "--data", "y.npy", *how, "2/2", "--out", "3.npz")
    bad(ep, "merge", "1.npz", "3.npz", words=["3.npz", "other data"])


def test_other_data_in_one_row(good, ep, save, rng):
    """A single number of 3000 points differs, in a row that belongs to the first shard: the second names it."""
    x = rng.normal(size=(3000, 6))
    y = x.copy()
    y[1234, 2] += 0.5
    save(x=x, y=y)
    how = ["--width", 20, "--shard"]
    good("accumulate", "--data", "x.npy", *how, "1/2", "--out", "1.npz")
    good("accumulate", "--data", "y.npy", *how, "2/2", "--out", "2.npz")
    bad(ep, "merge", "1.npz", "2.npz", words=["2.npz", "other data"])


def table(path, rng, n=60):
    kinds, sizes = rng.choice(["oak", "elm", "fir"], n), rng.normal(1000, 300, n)
    rows = [f"{k},{s:.2f},{rng.normal():.4f},{'big' if s > 1000 else 'small'}" for k, s in zip(kinds, sizes)]
    path.write_text("\n".join(["kind,size,other,label", *rows]) + "\n")


def test_tables_go_through_sums(ep, rng, tmp_path):
    """Categories and scales are those of all rows in every part, and of the model: it embeds a table as a fit's does."""
    def fine(*args):  # with notes on the columns
        assert ep(*args).code == 0

    table(tmp_path / "t.csv", rng)
    how = ["--data", "t.csv", "--label-column", "label", "--width", 30, "--precision", "double"]
    for i in 1, 2:
        fine("accumulate", *how, "--shard", f"{i}/2", "--out", f"{i}.npz")
    fine("merge", "1.npz", "2.npz")
    fine("fit", "--from", "sums.npz", "--outputs", 3, "--out", "a.npz")
    fine("fit", *how, "--method", "whitened", "--outputs", 3, "--out", "b.npz")
    for m in "ab":
        fine("embed", "--model", f"{m}.npz", "--data", "t.csv", "--label-column", "label", "--precision", "double", "--out", f"{m}.npy")
    a, b = (np.load(tmp_path / f"{m}.npy") for m in "ab")
    assert np.abs(a - b).max() < 1e-8 * np.abs(b).max()
    table(tmp_path / "t.csv", rng)
    fine("accumulate", *how, "--shard", "2/2", "--out", "3.npz")
    bad(ep, "merge", "1.npz", "3.npz", words=["3.npz", "other"])


def test_other_weights(good, ep, save, rng, tmp_path):
    save(x=rng.normal(size=(40, 6)))
    for k in range(2):
        np.savez(tmp_path / f"w{k}.npz", V=rng.normal(size=(10, 6)), W=rng.normal(size=(10, 2)))
        good("accumulate", "--data", "x.npy", "--init", f"w{k}.npz", "--shard", f"{k + 1}/2", "--out", f"{k}.npz")
    bad(ep, "merge", "0.npz", "1.npz", words=["1.npz", "another map"])


def test_two_versions(good, ep, tmp_path):
    files = parts(good, "dense", 2)
    z = dict(np.load(tmp_path / files[1]))
    config = json.loads(z["config"].item())
    np.savez(tmp_path / "old.npz", **{**z, "config": np.array(json.dumps({**config, "version": "0.0.7"}))})
    bad(ep, "merge", files[0], "old.npz", words=["old.npz", "version 0.0.7"])


def test_parts_cut_short_or_damaged(good, ep, tmp_path):
    files = parts(good, "dense", 2)
    whole = (tmp_path / files[1]).read_bytes()
    for length in 0, 10, len(whole) // 3, len(whole) - 30:
        (tmp_path / "cut.npz").write_bytes(whole[:length])
        bad(ep, "merge", files[0], "cut.npz", words=["cut.npz"])
    place = whole.index(b"sum_B") + 2000
    (tmp_path / "cut.npz").write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1:])
    bad(ep, "merge", files[0], "cut.npz", words=["cut.npz"])
    assert not (tmp_path / "sums.npz").exists()
    good("merge", *files)


@pytest.mark.parametrize("change", [{"shards": 0}, {"shards": -5}, {"nodes": []}, {"total": -1}, {"prints": 3},
                                    {"nodes": [{"first": 1, "count": 2, "anchors": 1.0, "views": 2.0, "pairs": 2.0}]},
                                    {"nodes": [{"first": 0, "count": 1, "anchors": 0.5, "views": 2.0, "pairs": 2.0}]}])
def test_nonsense_about_shards(good, ep, tmp_path, change):
    files = parts(good, "dense", 2)
    z = dict(np.load(tmp_path / files[0]))
    config = json.loads(z["config"].item())
    config["sums"].update(change)
    np.savez(tmp_path / "odd.npz", **{**z, "config": np.array(json.dumps(config))})
    bad(ep, "merge", "odd.npz", files[1], words=["odd.npz"])


def test_sums_that_do_not_fit_the_map(good, ep, tmp_path):
    files = parts(good, "dense", 2)
    z = dict(np.load(tmp_path / files[0]))
    for name in "sum_C", "sum_B", "sum_psi", "sample":
        np.savez(tmp_path / "odd.npz", **{**z, name: z[name][:, :-1]})
        bad(ep, "merge", "odd.npz", files[1], words=["odd.npz", name])
    np.savez(tmp_path / "odd.npz", **{**z, "sum_C": z["sum_C"] + np.nan})
    bad(ep, "merge", "odd.npz", files[1], words=["odd.npz", "NaN"])


def test_killed_in_the_middle(call, ep, good, tmp_path):
    """SIGKILL leaves no part behind, SIGINT says so; the shard can be made again."""
    args = ["accumulate", "--data", "digits", "--views", 200, "--width", 400, "--threads", 1, "--shard", "1/1"]
    for number, code in (signal.SIGKILL, -9), (signal.SIGINT, 130):
        process = subprocess.Popen(**call(*args), stderr=subprocess.PIPE, text=True)
        wait_until_at_work(process)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert process.returncode == code and not (tmp_path / "part.npz").exists()
        assert code != 130 or "interrupted" in err
    good("accumulate", *options("dense"))


def test_little_memory(ep, good, tmp_path):
    bad(ep, "accumulate", *options("dense"), "--width", 3000, "--memory", "120M", words=["3000 features", "--memory"])
