"""`eigenpair views`: what augmentations keep, on points held out."""
import json

import numpy as np
import pytest

DIGITS = ["views", "--data", "digits", "--samples", 300, "--features", "patches:12,7,2", "--outputs", 12]


def test_little_noise_keeps_more(good):
    """Of one augmentation the weaker keeps more; the ranking is by what is shared, above its noise."""
    r = json.loads(good(*DIGITS, "--augment", "noise:0.5", "--augment", "noise:0.02", "--augment", "shift:2,rotate:10", "--json"))
    by = {c["augment"]: c for c in r["candidates"]}
    assert set(by) == {"noise:0.5", "noise:0.02", "shift:2,rotate:10"}
    assert by["noise:0.02"]["mean"] > by["noise:0.5"]["mean"] and by["noise:0.02"]["mean"] > 0.9
    for c in r["candidates"]:
        rho = np.array(c["correlations"])
        assert len(rho) == 12 and (np.diff(rho) <= 0).all() and (np.abs(rho) <= 1).all()
        assert c["held_out"] == 30 and c["noise"] == pytest.approx(3 / np.sqrt(30))
        assert c["mean"] == pytest.approx(rho.mean()) and c["above"] == (rho > c["noise"]).sum()
        assert c["shared"] == pytest.approx(np.maximum(rho - c["noise"], 0).sum())
    shared = [c["shared"] for c in r["candidates"]]
    assert shared == sorted(shared, reverse=True)


def test_usual_candidates_and_page(good, tmp_path):
    out = good(*DIGITS, "--report", "page")
    assert "crop:0.5-1" in out and "shift:2,rotate:10" in out and "jitter" not in out
    doc = json.loads((tmp_path / "page/document.json").read_text())
    figure = doc["sections"][0]["figures"][0]
    assert len(figure["series"]) == len(doc["result"]["candidates"]) == len(doc["sections"][0]["tables"][0]["rows"]) > 5
    assert figure["series"][0]["y"] == doc["result"]["candidates"][0]["correlations"]


def test_vectors(good, save, rng):
    """Of vectors other augmentations are usual, and features are a random network's."""
    save(x=rng.normal(size=(200, 5)).astype(np.float32))
    r = json.loads(good("views", "--data", "x.npy", "--outputs", 5, "--json"))
    assert "corrupt:0.3" in {c["augment"] for c in r["candidates"]}


@pytest.mark.parametrize("words", [["--augment", "crop:2"], ["--augment", "smear"], ["--samples", 50], ["--ridge", "auto"],
                                   ["--views", 1], ["--features", "stack:5x99"]])
def test_refused(ep, words):
    code, out, err = ep(*DIGITS, *words)
    assert (code, out) == (2, "") and err.count("\n") == 1


def test_no_data(ep):
    code, out, err = ep("views")
    assert (code, out) == (2, "") and "--data" in err
