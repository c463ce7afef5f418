"""Writes sample.json beside it: a document with everything a report can hold, its numbers made up by formula."""
import json
import math
import pathlib
import random

random.seed(5)
WIDTHS = [100, 300, 1000, 3000, 10000]
METHODS = [("gd", 0.8125, 41.27, 181e6), ("grassmann", 0.809375, 44.9, 183e6), ("kernel", 0.80625, 3.81, 96e6),
           ("pca", 0.784375, 0.0625, 42e6), ("infinite", 0.790625, 0.211, 17e6)]


def spread(values, share):
    return {"low": [v * (1 - share) for v in values], "high": [v * (1 + share) for v in values]}


def drift():
    ntk = [2.1 * m ** -0.52 * math.exp(random.gauss(0, 0.05)) for m in WIDTHS]
    c = [0.4 * m ** -0.48 * math.exp(random.gauss(0, 0.05)) for m in WIDTHS]
    return {"name": "drift", "kind": "line", "title": "Drift of the tangent kernel and of C",
            "alt": "Both drifts fall as one over the square root of the width, along the dashed line of the theory.",
            "x": {"title": "width M", "log": True}, "y": {"title": "largest change", "log": True},
            "series": [{"name": "tangent kernel", "panel": "", "dashed": False, "x": WIDTHS, "y": ntk, **spread(ntk, 0.25)},
                       {"name": "C", "panel": "", "dashed": False, "x": WIDTHS, "y": c, **spread(c, 0.2)},
                       {"name": "theory: slope −1/2", "panel": "", "dashed": True, "x": [100, 10000],
                        "y": [1.5 * m ** -0.5 for m in (100, 10000)]}],
            "rules": [{"axis": "y", "value": 0.02, "text": "tolerance"}]}


def over_time():
    t = list(range(0, 201))
    y = [0.03 * (1 - math.exp(-i / 60)) for i in t]
    return {"name": "drift-time", "kind": "line", "title": "Drift over time",
            "alt": "The kernel moves early and then stays; from epoch 150 on nothing changes.",
            "x": {"title": "epoch", "log": False}, "y": {"title": "change since the start", "log": True},
            "series": [{"name": "M = 100", "panel": "", "dashed": False, "x": t, "y": y},
                       {"name": "M = 10,000", "panel": "", "dashed": False, "x": t, "y": [v / 9 for v in y]}],
            "rules": []}


def embedding():
    series = []
    for k, panel in enumerate(["gd", "kernel", "pca"]):
        x, y, label = [], [], []
        for i in range(300):
            d = i % 10
            angle = 2 * math.pi * d / 10 + 0.1 * k
            x.append(round((1 + k) * math.cos(angle) + random.gauss(0, 0.16), 4))
            y.append(round((1 + k) * math.sin(angle) + random.gauss(0, 0.16), 4))
            label.append(d)
        series.append({"name": panel, "panel": panel, "dashed": False, "x": x, "y": y, "label": label})
    return {"name": "embedding", "kind": "scatter", "title": "Embeddings of the test digits",
            "alt": "Ten clusters, one a digit, in the same order for training, frozen kernel and PCA.",
            "x": {"title": "first direction", "log": False}, "y": {"title": "second direction", "log": False},
            "series": series, "rules": []}


def spectrum():
    value = [8.0, 6.1, 5.2, 4.4, 3.9, 3.1, 2.8, 2.5, 2.2, 2.0] + [0.6 * 0.9 ** i for i in range(20)] + [None]
    return {"name": "spectrum", "kind": "line", "title": "Spectrum of C(0)",
            "alt": "Ten eigenvalues stand above a gap; below it they fall geometrically.",
            "x": {"title": "index", "log": False}, "y": {"title": "eigenvalue", "log": True},
            "series": [{"name": "C(0)", "panel": "", "dashed": False, "x": list(range(1, 32)), "y": value}],
            "rules": [{"axis": "x", "value": 10.5, "text": "gap"}]}


table = {"title": "Methods at width 10,000, means of 3 seeds",
         "columns": [{"name": "method"}, {"name": "accuracy", "format": ".1%"}, {"name": "time", "unit": "s", "format": ".3~r"},
                     {"name": "memory", "unit": "bytes", "format": ".3~s"}, {"name": "training"}],
         "rows": [[*m, "none" if m[0] in ("pca", "infinite") else "200 epochs"] for m in METHODS]}
document = {
    "title": "May a closed form replace this contrastive model? Digits, cosine, linear loss",
    "verdict": [
        {"question": "May I replace training by the frozen kernel?", "answer": "holds",
         "words": "From width 1,000 on the kernel changes by less than 2 % and the embeddings agree to 0.6 %; accuracy differs by "
                  "0.6 points, at a tenth of the time."},
        {"question": "May I replace training by PCA?", "answer": "fails",
         "words": "At width 10,000 the largest angle between the trained W and the leading eigenvectors of C(0) is 31°; the "
                  "tolerance is 10°."}],
    "sections": [
        {"title": "Methods", "tables": [table]},
        {"title": "Drift", "text": ["How far the tangent kernel and the contrastive covariance C move in training, against the "
                                    "width. Bars: smallest and largest of three seeds."], "figures": [drift(), over_time()]},
        {"title": "Embeddings and spectrum", "figures": [embedding(), spectrum()]},
        {"title": "wide-lemma9", "badge": "pass",
         "facts": [["Paper", "WIDE Lemma 9"], ["Says", "The kernel of a wide network stays near its start."],
                   ["Criterion", "fitted exponent at most −0.4"],
                   ["Measured", {"exponent": -0.5213, "exponent_low": -0.56, "exponent_high": -0.48, "drift": [0.19, 0.061, 1.9e-05]}],
                   ["Notes", ["The paper does not say the rate; we took 1.", "<script>alert(1)</script> is text & stays text."]]],
         "figures": [{**spectrum(), "name": "claim", "title": "Drift again, beside its claim"}]}],
    "settings": {"data": "digits", "samples": 1000, "widths": WIDTHS, "similarity": "cosine", "loss": "linear", "rate": 1.0,
                 "epochs": 200, "seed": 0, "runs": 3, "precision": "single", "init": "", "network": {"depth": 1, "activation": "relu"}},
    "command": "eigenpair compare --data digits --samples 1000 --methods gd,grassmann,kernel,pca,infinite --widths "
               "100,300,1000,3000,10000 --runs 3 --out 'my report'",
    "version": "0.1.0", "machine": {"cores": 2, "threads": 2, "memory": 8589934592},
    "result": {"methods": [dict(zip(("name", "accuracy", "seconds", "bytes"), m)) for m in METHODS],
               "text": "</script><!--<script>", "third": 1 / 3, "small": 5e-324, "large": 1.7976931348623157e308}}
path = pathlib.Path(__file__).with_name("sample.json")
path.write_text(json.dumps(document, ensure_ascii=False, allow_nan=False).replace(', "', ',\n"') + "\n")
