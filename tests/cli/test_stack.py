"""`--features stack:..` as a user runs it: fit, embed, probe; what is refused."""
import json

import numpy as np
import pytest

SMALL = ["--method", "whitened", "--features", "stack:48x5,near=2,keep=16,pool=3", "--views", 2, "--augment",
         "shift:2,rotate:10", "--scale", "raw", "--outputs", 24, "--eigen-tolerance", "0.001"]


def accuracy(good, train, train_labels, test, test_labels):
    out = json.loads(good("probe", "--embedding", train, "--labels", train_labels, "--test-embedding", test,
                          "--test-labels", test_labels, "--probe", "linear", "--json"))
    return out["accuracy"]


def test_the_smallest_setting(good, tmp_path):
    """Fit, embed, probe on the embedded digits: ahead of the pixels themselves by far."""
    out = good("fit", "--data", "digits", "--samples", 600, *SMALL, "--explain")
    assert "features stack:48x5,near=2,keep=16,pool=3: 784 -> 144 -> 24" in out
    assert "layer 1  1 x 28 x 28: 48 filters of 5 x 5 pixels" in out and "Mflop an image" in out
    for part, n in [("digits", 600), ("digits:test", 500)]:
        name = part.replace(":", "-")
        good("embed", "--data", part, "--samples", n, "--out", f"{name}.npy", "--labels-out", f"{name}-l.npy")
    ours = accuracy(good, "digits.npy", "digits-l.npy", "digits-test.npy", "digits-test-l.npy")
    for part, n in [("digits", 600), ("digits:test", 500)]:
        name = part.replace(":", "-")
        good("data", "convert", "--data", part, "--samples", n, "--out", f"{name}.npy")
    assert ours > 0.9 > accuracy(good, "digits.npy", "digits-l.npy", "digits-test.npy", "digits-test-l.npy") + 0.02


def test_same_bits_and_little_memory(good, tmp_path):
    """Two fits give one file; embedding in blocks within a small cap gives the same numbers."""
    args = ["fit", "--data", "digits", "--samples", 100, *SMALL]
    good(*args, "--out", "a.npz")
    good(*args, "--out", "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    good("embed", "--model", "a.npz", "--data", "digits", "--samples", 90, "--out", "e.npy")
    good("embed", "--model", "a.npz", "--data", "digits", "--samples", 90, "--out", "f.npy", "--memory", "20M")
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), np.load(tmp_path / "f.npy"), atol=1e-5)


@pytest.mark.parametrize("features, word", [
    ("stack:32x40", "do not fit images of 28 x 28"), ("stack:32x5,near=30,keep=4", "do not fit images of 28 x 28"),
    ("stack:32", "KxP"), ("stack:32x5,colour", "'colour' is wrong"), ("stack:32x5,pool=4/8x6", "do not fit images of 4 x 4"),
])
def test_bad_stacks(ep, features, word):
    """Images smaller than patches and slips of the pen: one line that says what is wrong."""
    code, out, err = ep("fit", "--data", "digits", "--samples", 20, "--method", "whitened", "--features", features)
    assert (code, out) == (2, "") and word in err and err.count("\n") == 1


def test_vectors_are_no_images(ep, save, rng):
    save(x=rng.normal(size=(30, 12)))
    code, out, err = ep("fit", "--data", "x.npy", "--method", "whitened", "--features", "stack:4x3")
    assert (code, out) == (2, "") and "--image" in err


def test_a_spoilt_model_is_refused(ep, good, tmp_path):
    """A file whose layers do not fit together is an error, not a crash."""
    good("fit", "--data", "digits", "--samples", 60, *SMALL, "--out", "m.npz")
    with np.load(tmp_path / "m.npz") as z:
        arrays = {k: z[k] for k in z.files}
    for name in ("zca1", "F1", "E1", "shift1", "W"):
        np.savez(tmp_path / "bad.npz", **dict(arrays, **{name: arrays[name][:, :-1]}))
        code, out, err = ep("embed", "--model", "bad.npz", "--data", "digits", "--samples", 5)
        assert (code, out) == (2, "") and err.count("\n") == 1, name
    np.savez(tmp_path / "bad.npz", **dict(arrays, zca1=0 * arrays["zca1"]))
    code, out, err = ep("embed", "--model", "bad.npz", "--data", "digits", "--samples", 5)
    assert (code, out) == (2, "") and "zca1 is no whitening" in err and err.count("\n") == 1
    config = json.loads(arrays["config"].item())
    for change in ({"stack": "stack:9999x5"}, {"stack": 3}, {"stack_levels": []}, {"image_shape": [1, 2, 2]}):
        np.savez(tmp_path / "bad.npz", **dict(arrays, config=np.array(json.dumps(dict(config, **change)))))
        code, out, err = ep("embed", "--model", "bad.npz", "--data", "digits", "--samples", 5)
        assert (code, out) == (2, "") and err.count("\n") == 1, change


# ---- settings that choose themselves

AUTO = ["--data", "digits", "--samples", 300, "--method", "whitened", "--width", 60, "--views", 2]


def test_ridge_and_outputs_auto(good, tmp_path):
    """What was chosen and why is printed; the model has those numbers and embeds."""
    out = good("fit", *AUTO, "--ridge", "auto", "--outputs", "auto", "--explain")
    assert "note     ridge " in out and "outputs: what two views share" in out
    assert out.count("cross-view correlation of 30 held-out anchors") == 5
    r = json.loads(good("fit", *AUTO, "--ridge", "auto", "--outputs", "auto", "--json"))
    with np.load(tmp_path / "model.npz") as z:
        config, W = json.loads(z["config"].item()), z["W"]
    assert r["config"]["ridge"] == "auto" and r["config"]["outputs"] == "auto"
    assert config["ridge"] == r["ridge_share"] in (1e-4, 1e-3, 1e-2, 0.1, 1.0)
    assert config["outputs"] == W.shape[1] == len(r["eigenvalues"]) < 60
    good("embed", "--data", "digits", "--samples", 20, "--out", "e.npy")
    assert np.load(tmp_path / "e.npy").shape == (20, W.shape[1])


def test_active_auto(good, tmp_path):
    """The share of active responses is the best of three on points held out; the model is that of the share itself."""
    words = ["--data", "digits", "--samples", 200, "--scale", "raw", "--method", "whitened", "--views", 2, "--outputs", 8, "--ridge", 0.1]
    out = good("fit", *words, "--features", "stack:8x7,active=auto,pool=2+8x9,active=auto,pool=2,root", "--explain")
    means = {s: float(out.split(f"active   {s:<5g} cross-view correlation of held-out anchors: mean ")[1].split()[0]) for s in (0.05, 0.1, 0.2)}
    best = max(means, key=means.get)
    assert f"note     active={best:g}: the best of 3" in out and len(set(means.values())) == 3
    with np.load(tmp_path / "model.npz") as z:
        chosen = {k: z[k] for k in z if k != "config"}
        features = json.loads(z["config"].item())["features"]
    assert features == f"stack:8x7,active={best:g},pool=2+8x9,active={best:g},pool=2,root"
    good("fit", *words, "--features", features)
    with np.load(tmp_path / "model.npz") as z:
        assert all((z[k] == chosen[k]).all() for k in chosen)


@pytest.mark.parametrize("command", ["views", "accumulate"])
def test_active_auto_where_nothing_chooses(ep, command):
    code, out, err = ep(command, "--data", "digits", "--samples", 200, "--method" if command == "accumulate" else "--outputs",
                        "whitened" if command == "accumulate" else 4, "--features", "stack:8x7,active=auto")
    assert (code, out) == (2, "") and err.count("\n") == 1 and "active=auto goes with a fit" in err


@pytest.mark.parametrize("words", [["--method", "gd", "--outputs", "auto"], ["--method", "pca", "--ridge", "auto"],
                                   ["--samples", 50, "--ridge", "auto"], ["--ridge", "automatic"], ["--width", "auto"]])
def test_auto_where_nothing_chooses(ep, words):
    code, out, err = ep("fit", *AUTO, *words)
    assert (code, out) == (2, "") and err.count("\n") == 1 and "auto" in err or "too few" in err


def test_ntk_takes_no_auto(ep):
    code, out, err = ep("ntk", "--data", "digits", "--samples", 5, "--outputs", "auto")
    assert (code, out) == (2, "") and "whitened" in err


def test_features_auto(good, tmp_path):
    """The recipe is printed with its reason, is the model's, depends on time, memory and points, and is the same again."""
    args = ["fit", "--data", "digits", "--samples", 200, "--method", "whitened", "--views", 2, "--augment", "shift:1", "--scale", "raw",
            "--outputs", 8, "--features", "auto", "--eigen-tolerance", "0.01"]
    out = good(*args)
    assert "note     features stack:" in out and "(--time 10m)" in out
    name = out.split("note     features ")[1].split(":")[1]
    with np.load(tmp_path / "model.npz") as z:
        config = json.loads(z["config"].item())
    assert config["features"] == config["stack"] == f"stack:{name}"
    assert f"stack:{name}:" in good(*args, "--time", "1000m")  # two hundred points know no more
    assert "stack:32x6,zca=1,pool=3,root:" in good(*args, "--time", "0.1s")
    assert "stack:32x6,zca=1,pool=3,root,mirror:" in good(*args[:-6], "--augment", "shift:1,flip", *args[-6:], "--time", "0.1s")
    good("embed", "--data", "digits", "--samples", 10, "--out", "e.npy")
    assert np.load(tmp_path / "e.npy").shape == (10, 8)


def test_features_auto_alone(good, ep, tmp_path):
    """One word: views, augmentation, scale, outputs and power follow, but for what is given; without it nothing does."""
    words = ["fit", "--data", "digits", "--samples", 120, "--time", "0.1s", "--json"]
    auto = json.loads(good(*words, "--features", "auto"))["config"]
    assert (auto["method"], auto["views"], auto["augment"], auto["scale"], auto["outputs"], auto["power"]) == (
        "whitened", 3, "auto", "raw", 256, 1)
    own = json.loads(good(*words, "--features", "auto", "--views", 2, "--outputs", 5, "--power", 0, "--augment", "shift:1"))["config"]
    assert (own["views"], own["augment"], own["scale"], own["outputs"], own["power"]) == (2, "shift:1", "raw", 5, 0)
    plain = json.loads(good(*words, "--features", "patches:8,7,2", "--method", "whitened", "--outputs", 5))["config"]
    assert (plain["scale"], plain["power"], plain["augment"]) == ("auto", 0, "")
    good("embed", "--data", "digits", "--samples", 10, "--out", "e.npy")


def test_features_auto_of_vectors(good, save, rng):
    save(x=rng.normal(size=(60, 12)))
    assert "features dense: the points are no images" in good(
        "fit", "--data", "x.npy", "--method", "whitened", "--features", "auto", "--width", 30, "--outputs", 3)


@pytest.mark.parametrize("words", [["--time", "soon"], ["--time", "-3s"], ["--time", "10 m"], ["--method", "pca"]])
def test_features_auto_refused(ep, words):
    code, out, err = ep("fit", "--data", "digits", "--samples", 30, "--method", "whitened", "--features", "auto", *words)
    assert (code, out) == (2, "") and err.count("\n") == 1 and ("--time" in err or "whitened" in err)
