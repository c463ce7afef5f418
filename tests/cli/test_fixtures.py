"""Models that version 0.1.0 wrote, one of each kind, still load and embed to the numbers they gave then."""
import json
import pathlib
import zipfile

import numpy as np
import pytest

OLD = pathlib.Path(__file__).resolve().parents[1] / "fixtures/v0.1.0"
MODELS = sorted(p.stem for p in OLD.glob("*.npz"))


def close(a, b):
    return a.shape == b.shape and np.abs(a - b).max() <= 2e-5 * max(1, np.abs(b).max())


def data_of(model):
    return OLD / ("new_images.npy" if "patches" in model else "new.npy")


@pytest.mark.parametrize("model", MODELS)
def test_it_embeds_as_it_did(good, tmp_path, model):
    """Also in double precision."""
    for precision in "single", "double":
        good("embed", "--model", OLD / f"{model}.npz", "--data", data_of(model), "--precision", precision)
        assert close(np.load(tmp_path / "embedding.npy"), np.load(OLD / f"{model}.expected.npy"))


@pytest.mark.parametrize("model", ["pca", "whitened"])
def test_normalised(good, tmp_path, model):
    good("embed", "--model", OLD / f"{model}.npz", "--data", OLD / "new.npy", "--normalise")
    assert close(np.load(tmp_path / "embedding.npy"), np.load(OLD / f"{model}.normalised.npy"))


def test_every_kind_is_there():
    """Kinds by what a file holds: a new kind needs a fixture of the version that brings it."""
    kinds = set()
    for model in MODELS:
        with zipfile.ZipFile(OLD / f"{model}.npz") as f:
            kinds.add(frozenset(n.removesuffix(".npy") for n in f.namelist()) - {"config", "offset"})
    want = ["V W", "V1 V2 V3 W", "V W dV dW", "V W X Y", "X Y", "X Y Y0", "F theta W"]
    assert kinds == {frozenset(w.split()) for w in want}


def test_a_model_names_its_terms(good, save, rng, tmp_path):
    """Which maps a model is a sum of stands in its config; a name that is not known is an error, not a guess."""
    save(x=rng.normal(size=(12, 4)))
    want = {"gd": ["network"], "linearised": ["network", "tangent"], "kernel": ["network", "empirical"],
            "infinite": ["kappa"], "pca": ["network"]}
    for method, terms in want.items():
        good("fit", "--data", "x.npy", "--method", method, "--width", 10, "--outputs", 2, "--epochs", 3)
        assert json.loads(np.load(tmp_path / "model.npz")["config"].item())["terms"] == terms
    good("fit", "--data", "x.npy", "--method", "kernel", "--kernel", "analytic", "--outputs", 2, "--epochs", 3)
    arrays = dict(np.load(tmp_path / "model.npz"))
    config = json.loads(arrays["config"].item())
    assert config["terms"] == ["ntk", "nngp"]


@pytest.mark.parametrize("terms,word", [(["sorcery"], "sorcery"), ([], "0 terms"), (["tangent"], "needs V and W"),
                                        ([3], "no names"), (["network", "network", "network"], "3 terms"),
                                        (["network", "nngp"], "no array 'X'")])
def test_wrong_terms(ep, tmp_path, terms, word):
    arrays = dict(np.load(OLD / "gd.npz"))
    config = dict(json.loads(arrays["config"].item()), terms=terms)
    np.savez(tmp_path / "m.npz", **dict(arrays, config=np.array(json.dumps(config))))
    result = ep("embed", "--model", "m.npz", "--data", OLD / "new.npy")
    assert result.code == 2 and word in result.err and result.err.count("\n") == 1
