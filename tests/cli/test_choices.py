"""What the program chooses when nobody says, arrays of any type and order, options from a file."""
import json
import re

import numpy as np
import pytest
from conftest import ROOT

RNG = np.random.default_rng(4)


@pytest.fixture
def x(tmp_path):
    X = RNG.normal(size=(30, 5))
    np.save(tmp_path / "x.npy", X)
    return X


def method(text):
    result = json.loads(text)
    return result["config"]["method"], result.get("chosen", "")


@pytest.mark.parametrize("args, name", [
    ([], "whitened"), (["--outputs", 3], "whitened"), (["--ridge", 0.1, "--width", 20], "whitened"),
    (["--epochs", 2, "--width", 16], "gd"), (["--width", 16, "--epochs", 1], "gd"), (["--loss", "linear", "--width", 16, "--epochs", 1], "gd"),
    (["--history", "h.csv", "--width", 16, "--epochs", 1], "gd"), (["--pairs", "triplet"], "infinite"), (["--pairs", "2+0"], "whitened"),
])
def test_the_method_is_chosen_and_said(good, x, args, name):
    """A closed form for the pairs; what speaks of training trains, as 0.1 did."""
    chosen, why = method(good("fit", "x.npy", *args, "--json"))
    assert chosen == name and why.startswith(name) and "--method" in why
    assert f"chosen   {name}" in good("fit", "x.npy", *args)
    assert method(good("fit", "x.npy", *args, "--method", "pca", "--pairs", "triplet", "--json")) [1] == ""


def test_a_width_alone_still_trains(good, x):
    """As 0.1 did; that pca and whitened have a width, too, is said."""
    chosen, why = method(good("fit", "x.npy", "--width", 8, "--depth", 1, "--json", "--rate", 0.1))
    assert chosen == "gd" and "since --rate is given" in why
    chosen, why = method(good("fit", "x.npy", "--width", 8, "--json"))
    assert chosen == "gd" and "since --width is given: a network is trained unless a method is named; pca and whitened have one" in why
    assert "or gd where training or a network is spoken of" in " ".join(good("help", "fit").split())


def test_every_option_is_thought_of(good):
    """Of each option past data, pairs and the run, cli/choose.c says to which fits it speaks, or it is one that every fit looks at."""
    every = {"method", "outputs", "batch", "track", "out", "resume"}  # batch, track: a fit they do not go with refuses them
    rows = re.findall(r'\{"(\w+)", \w+,', (ROOT / "cli/choose.c").read_text())
    groups = re.split(r"^(Data|Pairs|Network|Infinite width|Objective|Method|Features|Closed forms|Eigensolver|Run|Files|Explanation)$",
                      good("help", "fit"), flags=re.M)
    text = {name: body for name, body in zip(groups[1::2], groups[2::2])}
    assert len(text) == 12
    options = [o.replace("-", "_") for g in text if g not in ("Data", "Pairs", "Run", "Explanation")
               for o in re.findall(r"^  --([\w-]+)", text[g], flags=re.M)]
    assert sorted(rows + sorted(every)) == sorted(options)


def test_ready_pairs(good, x, tmp_path):
    np.save(tmp_path / "p.npy", x + 0.1)
    np.save(tmp_path / "n.npy", x[::-1].copy())
    ready = ["fit", "--anchors", "x.npy", "--positives", "p.npy", "--json"]
    assert method(good(*ready))[0] == "whitened"
    assert method(good(*ready, "--negatives", "n.npy"))[0] == "infinite"


def test_options_for_nothing_are_named(good, x):
    notes = json.loads(good("fit", "x.npy", "--method", "whitened", "--loss", "barlow", "--epochs", 9, "--json"))["notes"]
    assert any("--loss means nothing to method whitened" in n for n in notes)
    assert any("--epochs means nothing to method whitened" in n for n in notes)
    notes = json.loads(good("fit", "x.npy", "--method", "gd", "--ridge", 0.1, "--width", 8, "--json"))["notes"]
    assert any("--ridge means nothing to method gd" in n for n in notes)


# options of a fit: a value beside which the default is another, and what has to stand with it for it to matter
WIDE = ["--width", 300, "--path", "free"]
VALUES = {
    "rate": [0.7], "epochs": [1], "batch": [8], "weights": ["gaussian:0.7"], "rows": ["unit"], "kernel": ["analytic"], "integrator": ["flow"],
    "flow_tolerance": [1e-2], "tolerance": [0.9, "--epochs", 40], "patience": [3, "--epochs", 40, "--tolerance", 0.5],
    "width": [17], "depth": [2], "outputs": [3], "activation": ["tanh"], "input_scale": [None], "layers": ["13:tanh"], "parametrisation": ["standard"],
    "biases": [None], "weight_variance": [2], "bias_variance": [0.5], "last_variance": [2], "last_bias_variance": [0.5],
    "loss": ["noncontrastive"], "similarity": ["dot"], "delta": [0.5], "temperature": [0.2], "epsilon": [0.3], "off_diagonal": [0.1],
    "invariance": [3], "variance": [3], "covariance": [3],
    "block": [7, *WIDE], "krylov": [3, *WIDE], "restarts": [1, *WIDE], "eigen_tolerance": [0.1, *WIDE],
    "features": ["dense"], "time": ["1s"], "filters": ["gaussian"], "path": ["free", "--width", 50, "--landmarks", 20], "landmarks": [7], "ridge": [0.3], "power": [0.5],
    "solver": ["local"], "retraction": ["polar"], "frozen": [None], "norms": ["outputs"], "precision": ["double"], "seed": [3],
    "history": ["h.csv"], "checkpoint": ["ck.npz"], "every": [2], "track": ["rank"], "track_points": [5], "track_every": [3], "alpha": ["x.npy"]}
DATA = "strict image data samples labels scale label_column columns drop missing standardise anchors positives negatives pairs augment views threads memory".split()
FILES = "history checkpoint every track track_points track_every".split()
EXCEPTIONS = {  # method, option: why neither the bits change nor a word is said
    **{(m, o): "about files beside the model" for m in ["gd", "alpha", "kernel", "linearised", "grassmann", "iterate", "linear"] for o in FILES},
    **{(m, "features"): "dense is what it is by default" for m in ["pca", "whitened"]},
    **{("whitened", o): "of many features: few are solved whole" for o in ["block", "krylov", "restarts", "eigen_tolerance"]},
    **{(m, o): "of many points: few are solved at once" for m in ["pca", "infinite", "iterate"] for o in ["restarts", "eigen_tolerance"]},
    ("whitened", "similarity"): "dot is what it is by default", ("whitened", "solver"): "for several machines",
    ("linear", "width"): "a start of more units than inputs and outputs"}


def of_fit(ep, folder, args):
    """-> arrays of the model, notes; None: refused."""
    code, out, err = ep("fit", "x.npy", "--threads", 1, "--json", "--out", "m.npz", *args)
    if code:
        assert code == 2 and err.count("\n") == 1
        return None, []
    with np.load(folder / "m.npz") as z:
        return {k: z[k].tobytes() for k in z.files if k != "config"}, json.loads(out).get("notes", [])


@pytest.mark.parametrize("name", "gd alpha kernel linearised grassmann iterate pca infinite whitened linear".split())
def test_no_option_is_ignored_in_silence(ep, x, tmp_path, name):
    """Of every method and option: the model changes, or the option is refused, or a line says that it means nothing."""
    def flags(option):
        value, *beside = VALUES[option]
        flag = "--" + option.replace("_", "-")
        return beside, [flag] if value is None else [flag, value]
    base = dict(zip(["--method", "--width", "--outputs", "--epochs"], [name, 12, 2, 5]))
    if name == "alpha":
        base["--rate"] = 0.01  # it grows without end
    silent, known = [], {}
    for option in VALUES:
        beside, own = flags(option)
        plain = {**base, **dict(zip(beside[::2], beside[1::2]))}
        if option == "layers":
            del plain["--width"]
        given = {k: v for k, v in plain.items() if k != own[0]}
        lists = [[w for pair in d.items() for w in pair] for d in (plain, given)]
        key = str(lists[0])
        known[key] = known.get(key) or of_fit(ep, tmp_path, lists[0])[0]
        bits, notes = of_fit(ep, tmp_path, lists[1] + own)
        said = any(n.startswith(own[0] + " means nothing to ") for n in notes)
        if bits is not None and bits == known[key] and not said and (name, option) not in EXCEPTIONS:
            silent.append(option)
        assert bits is None or option == "layers" or bits == known[key] or not said, f"{option} is not for nothing"
    assert silent == []


def test_the_options_are_all_tried(good, x):
    config = json.loads(good("fit", "x.npy", "--method", "pca", "--json"))["config"]
    assert set(config) - set(VALUES) - set(DATA) <= {"method", "init"}, set(config) - set(VALUES) - set(DATA)
    assert {o for _, o in EXCEPTIONS} <= set(VALUES)


def test_a_closed_form_writes_no_history(good, x, tmp_path):
    out = good("fit", "x.npy", "--method", "pca", "--width", 12, "--history", "h.csv")
    assert "--history means nothing to method pca, which does not train" in out and not (tmp_path / "h.csv").exists()


@pytest.mark.parametrize("args, note", [
    (["gd", "--temperature", 0.2], "--temperature means nothing to loss linear: it is for --loss softmax, ntxent"),
    (["gd", "--loss", "softmax", "--temperature", 0.2], None), (["gd", "--kernel", "analytic"], "--kernel means nothing to method gd: it is for kernel, whitened"),
    (["whitened", "--similarity", "cosine", "--delta", 0.3], None), (["whitened", "--delta", 0.3], "--delta means nothing to method whitened"),
    (["whitened", "--kernel", "analytic", "--landmarks", 9], None), (["kernel", "--integrator", "flow", "--flow-tolerance", 1e-3], None),
    (["gd", "--loss", "vicreg", "--variance", 3, "--rate", 1e-3], None),
])
def test_what_an_option_is_for(good, x, args, note):
    notes = json.loads(good("fit", "x.npy", "--width", 12, "--outputs", 2, "--epochs", 2, "--json", "--method", *args)).get("notes", [])
    about = [n for n in notes if "means nothing" in n and "--epochs" not in n]
    assert about == [] if note is None else len(about) == 1 and about[0].startswith(note)


def test_a_loss_that_does_not_fall_is_said(good, x):
    def said(*args):
        return json.loads(good("fit", "x.npy", "--width", 16, "--json", "--threads", 1, *args)).get("notes", [])
    assert any("hardly moved" in n for n in said("--rate", 1e-9, "--epochs", 3))
    assert not any("hardly moved" in n or "rose" in n for n in said("--rate", 1, "--epochs", 20))


@pytest.mark.parametrize("word, is_here", [("PCA", "pca"), ("Training", "gd")])
def test_other_names(ep, x, word, is_here):
    code, out, err = ep("fit", "x.npy", "--method", word, "--width", 16, "--json")
    assert code == 0 and json.loads(out)["config"]["method"] == is_here and f"{word} is {is_here} here" in err


# ---- arrays

@pytest.mark.parametrize("kind", ["f2", "i1", "i2", "u2", "u4", "u8", "b1", "i4", "f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_orders(good, tmp_path, kind, order):
    """The same points, whatever type and order they are saved in."""
    X = RNG.integers(0, 2 if kind == "b1" else 100, size=(7, 3, 2))
    np.save(tmp_path / "a.npy", np.array(X, dtype=kind, order=order))
    np.savez(tmp_path / "a.npz", x=np.array(X, dtype=kind, order=order))
    for name in "a.npy", "a.npz":
        good("data", "convert", name, "--out", "b.npy", "--precision", "double")
        assert np.array_equal(np.load(tmp_path / "b.npy").reshape(7, 3, 2), X)


def test_halves_exactly(good, tmp_path):
    X = np.array([[0, -0.0, 1, -2, 65504, 6e-8, 1e-5, 0.333]], dtype="f2").T
    np.save(tmp_path / "h.npy", X)
    good("data", "convert", "h.npy", "--out", "b.npy", "--precision", "double")
    assert np.array_equal(np.load(tmp_path / "b.npy"), X.astype(float))


@pytest.mark.parametrize("shape, channels", [((6, 8, 7, 3), 3), ((6, 3, 8, 7), 3), ((6, 8, 7, 1), 1)])
@pytest.mark.parametrize("n", [6, 3000])
def test_images_with_channels_last(good, tmp_path, shape, channels, n):
    """Small arrays, and large ones that are read where they stand."""
    X = RNG.normal(size=(n, *shape[1:]))
    np.save(tmp_path / "a.npy", X)
    good("data", "convert", "a.npy", "--out", "b.npy", "--precision", "double")
    want = np.moveaxis(X, 3, 1) if shape[1] == 8 else X
    assert np.array_equal(np.load(tmp_path / "b.npy"), want.reshape(n, -1))
    assert f"{channels} x 8 x 7" in good("data", "describe", "a.npy") or channels == 1


def test_embedding_as_csv(good, x, tmp_path):
    good("fit", "x.npy", "--outputs", 3)
    good("embed", "x.npy", "--out", "e.csv")
    good("embed", "x.npy", "--out", "e.npy")
    assert np.array_equal(np.genfromtxt(tmp_path / "e.csv", delimiter=",", names=True).view("f8").reshape(30, 3).astype("f4"),
                          np.load(tmp_path / "e.npy"))


# ---- options from a file

def test_config_repeats_a_run(good, ep, x, tmp_path):
    (tmp_path / "r.json").write_text(good("fit", "x.npy", "--width", 8, "--epochs", 3, "--seed", 7, "--out", "a.npz", "--json"))
    for source in "r.json", "a.npz":
        good("fit", "--config", source, "--out", "b.npz")
        assert (tmp_path / "b.npz").read_bytes() == (tmp_path / "a.npz").read_bytes()
    assert json.loads(good("fit", "--config", "r.json", "--epochs", 1, "--json"))["epochs"] == 1
    (tmp_path / "bad.json").write_text("{")
    code, _, err = ep("fit", "--config", "bad.json")
    assert code == 2 and "bad.json" in err and err.count("\n") == 1


REPEATED = [
    ["ntk", "x.npy", "--width", 7, "--outputs", 2, "--activation", "tanh", "--seed", 3, "--layout", "trace", "--precision", "double"],
    ["ntk", "x.npy", "--init", "state.npz", "--activation", "tanh", "--samples", 9],
    ["ntk", "x.npy", "--init", "a.npz", "--activation", "relu"],  # the file says tanh
    ["ntk", "--drift", "a.npz", "b.npz", "state.npz", "--data", "x.npy", "--samples", 8],
    ["neighbours", "--embedding", "x.npy", "--query", "q.npy", "-k", 3, "--metric", "euclidean", "--precision", "single"],
    ["embed", "x.npy", "--model", "a.npz", "--samples", 11, "--seed", 2],
    ["accumulate", "x.npy", "--width", 9, "--views", 2, "--shard", "1/2", "--seed", 5],
    ["merge", "p1.npz", "p2.npz"],
]


@pytest.mark.parametrize("args", REPEATED, ids=lambda a: " ".join(map(str, a[:3])))
def test_a_result_repeats_its_run(good, x, tmp_path, args):
    """Its config holds every option and word: the same file again, but for what the machine and the clock say."""
    np.save(tmp_path / "q.npy", x[:4] + 0.1)
    np.savez(tmp_path / "state.npz", **{"0.weight": RNG.normal(size=(6, 5)), "2.weight": RNG.normal(size=(2, 6))})
    for name, seed in ("a", 0), ("b", 1):
        good("fit", "x.npy", "--method", "gd", "--width", 6, "--outputs", 2, "--epochs", 2, "--activation", "tanh", "--seed", seed, "--out", f"{name}.npz")
    for i in 1, 2:
        good("accumulate", "x.npy", "--width", 9, "--views", 2, "--shard", f"{i}/2", "--out", f"p{i}.npz")
    out = "o.npz" if args[0] in ("accumulate", "merge") else "o.npy"
    made = []
    drift = "--drift" in args
    for words in args, [args[0], "--config", "r.json"], [args[0], "--config", "r.json"]:
        text = good(*words, "--json", *([] if drift else ["--out", out]))
        (tmp_path / "r.json").write_text(text)
        result = json.loads(text)
        if out == "o.npz":
            with np.load(tmp_path / out) as z:
                bits = {k: z[k].tobytes() for k in z.files}
        else:
            bits = json.loads(text)["drifts"] if drift else (tmp_path / out).read_bytes()
        made.append((bits, result["config"]))
    assert made[1] == made[0] and made[2] == made[0]


def test_reproduce_repeats_its_claims(good, undrawn, tmp_path):
    """Those that were named, at their size, and no others."""
    first = json.loads(good("reproduce", "linear-prop1", "tangent-nofreelunch", "--quick", "--json", "--out", "a"))
    for file in "a/result.json", "a/linear/result.json":
        again = json.loads(good("reproduce", "--config", file, "--json", "--out", "b"))
        assert [c["id"] for c in again] == [c["id"] for c in first] == ["linear-prop1", "tangent-nofreelunch"]
        assert [c["measured"] for c in again] == [c["measured"] for c in first]
    listed = json.loads(good("reproduce", "linear-prop1", "--config", "a/result.json", "--list", "--json"))
    assert [c["id"] for c in listed] == ["linear-prop1"]


def test_resume_keeps_its_files(good, x, tmp_path):
    args = ["--width", 8, "--every", 2, "--checkpoint", "ck.npz", "--history", "h.csv", "--out", "mine.npz"]
    good("fit", "x.npy", *args, "--epochs", 2)
    good("fit", "--resume", "ck.npz", "--epochs", 5)
    assert len((tmp_path / "h.csv").read_text().splitlines()) == 7 and not (tmp_path / "model.npz").exists()
