#!/usr/bin/python3
"""How good are representations made without labels and without training, in minutes on a CPU.

    bench/quality.py [SET[:RECIPE] ...] [--seeds 0,1,2] [--json FILE]         the recipes of docs/representations.md on test points
    bench/quality.py [SET ...] --choose N [--ablations]                       how they were chosen: no test point is looked at
    bench/quality.py [SET ...] --views N                                      `eigenpair views` beside the accuracies it cannot see

A recipe is fitted to all training points without their labels; both parts are embedded, and `eigenpair probe` is asked: knn,
linear (logistic) and ridge, standardised, penalties chosen on held-out training points. Times are of the whole way: fit, both
embeddings, probes. --choose fits to N training points and probes on others that the fit has not seen; --ablations then changes one
thing of each recipe at a time."""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = os.environ.get("EIGENPAIR", str(ROOT / "build/release/eigenpair"))

COLOUR = "crop:0.5-1,flip,jitter:0.4,grey:0.2"
DIGIT = "shift:2,rotate:10"
CLOTH = "crop:0.7-1,flip,light:0.3"
USUAL = dict(ridge=0.01, power=1, tolerance=0.001)
# a set: its points, the memory it may take, small features (--views), its recipes, what else was tried in their place (--choose)
SETS = {
    "digits": dict(train=2000, test=1000, image="28x28", memory="1G", views="patches:32,7,3",
                   recipes={"first": dict(features="stack:64x7,zca=1,pool=3,root", augment=DIGIT, views=3, outputs=48)},
                   others=[dict(features="patches:128,7,4", augment=DIGIT, views=3, outputs=48)]),
    "mnist": dict(train=60000, test=10000, image="28x28", memory="4G", views="stack:64x7,zca=1,pool=3,root",
                  recipes={"first": dict(features="stack:192x7,zca=1,pool=3,root+160x11,zca=3,pool=3,root", augment=DIGIT, views=2,
                                         outputs=64)},
                  others=[dict(features="stack:192x7,zca=1,pool=3,root", augment=DIGIT, views=3, outputs=64),
                          dict(features="patches:256,7,4", augment=DIGIT, views=3, outputs=64, ridge=0.001)]),
    "fashion": dict(train=60000, test=10000, image="28x28", memory="4G", views="stack:64x6,pool=3,root",
                    recipes={"first": dict(features="stack:192x6,pool=3,root,mirror", augment=CLOTH, views=2, outputs=512)},
                    others=[dict(features="stack:256x6,pool=3", augment=CLOTH, views=3, outputs=256)]),
    "cifar10": dict(train=50000, test=10000, image="3x32x32", memory="8G", views="stack:64x6,pool=2,root",
                    recipes={"long": dict(features="stack:768x6,pool=2,root,mirror", augment=COLOUR, views=2, outputs=2048),
                             "short": dict(features="stack:128x6,pool=2,root,mirror", augment=COLOUR, views=2, outputs=512)},
                    others=[dict(features="stack:512x6,near=3,keep=128,pool=3", augment=COLOUR, views=3, outputs=512)]),
}


def run(*words):
    """A command of the program -> what it printed as JSON."""
    done = subprocess.run([PROGRAM, *map(str, words), "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"quality: eigenpair {' '.join(map(str, words))}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


class Trial:
    """A setting, fitted to the points of --data words `train`, embedded with those of `test`. `labels`: files of theirs."""

    def __init__(self, folder, train, test, setting, seed, memory):
        self.folder, self.common = pathlib.Path(folder), ["--seed", seed, "--memory", memory]
        self.seconds = self.cpu = 0
        s = {**USUAL, **setting}
        model = self.folder / "m.npz"
        self.fit = self.timed("fit", "--method", "whitened", *train, "--features", s["features"], "--augment", s["augment"],
                              "--views", s["views"], "--outputs", s["outputs"], "--ridge", s["ridge"], "--power", s["power"],
                              "--eigen-tolerance", s["tolerance"], "--out", model, *self.common)
        self.peak = self.fit["peak_resident"] / 2 ** 20
        for part, words in (("train", train), ("test", test)):
            self.timed("embed", "--model", model, *words, "--out", self.folder / f"{part}.npy", "--labels-out",
                       self.folder / f"{part}-labels.npy", *self.common)

    def timed(self, *words):
        clock, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        out = run(*words)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds += time.monotonic() - clock
        self.cpu += after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        return out

    def probe(self, *probes):
        f = self.folder
        out = self.timed("probe", "--embedding", f / "train.npy", "--labels", f / "train-labels.npy", "--test-embedding",
                         f / "test.npy", "--test-labels", f / "test-labels.npy", "--ridge", "auto", "--probe", ",".join(probes),
                         *self.common)
        return {p["probe"]: 100 * p["accuracy"] for p in out["probes"]}


def text(setting):
    return " ".join(f"--{k} {v}" for k, v in {**USUAL, **setting}.items() if k != "tolerance")


def show(line):
    print(line, flush=True)


def measure(folder, data, name, args):
    """A recipe on test points, a row a seed."""
    rows, about = [], SETS[data]
    for seed in args.seeds:
        def points(part, n):
            return ["--data", data if part == "train" else f"{data}:test", "--scale", "raw",
                    *(["--samples", n] if n and n < about[part] else [])]
        trial = Trial(folder, points("train", args.samples), points("test", args.test_samples), about["recipes"][name], seed,
                      about["memory"])
        found = trial.probe("knn", "linear", "ridge")
        rows.append(dict(seed=seed, seconds=trial.seconds, cpu=trial.cpu, peak=trial.peak, **found))
        show(f"| {data} | {name} | {seed} | {found['knn']:.2f} | {found['linear']:.2f} | {found['ridge']:.2f} | "
             f"{trial.seconds:.0f} | {trial.cpu:.0f} | {trial.peak:.0f} |")
    return dict(set=data, recipe=name, setting=about["recipes"][name], test=rows)


def split(folder, data, n, seed):
    """Training points in two files: n to fit to, half as many (5,000 at most) to judge by."""
    import numpy as np
    folder, held = pathlib.Path(folder), min(n // 2, 5000)
    if n + held > SETS[data]["train"]:
        sys.exit(f"quality: {data} has {SETS[data]['train']} training points: too few for {n} and {held} others")
    run("data", "convert", "--data", data, "--scale", "raw", "--samples", n + held, "--seed", seed, "--out", folder / "all.npy",
        "--labels-out", folder / "labels.npy")
    X, y = np.load(folder / "all.npy"), np.load(folder / "labels.npy")
    words = []
    for part, rows in (("fit", slice(0, n)), ("held", slice(n, None))):
        np.save(folder / f"{part}.npy", X[rows])
        np.save(folder / f"{part}-y.npy", y[rows])
        words.append(["--data", folder / f"{part}.npy", "--labels", folder / f"{part}-y.npy", "--image", SETS[data]["image"],
                      "--scale", "raw"])
    return words


def ablations(setting):
    """One thing changed at a time."""
    usual, features = {**USUAL, **setting}, setting["features"]
    for ridge in (usual["ridge"] / 10, usual["ridge"] * 10):
        yield f"ridge {ridge:g}", dict(setting, ridge=ridge)
    yield "power 0", dict(setting, power=0)
    for views in (2, 3, 5):
        if views != setting["views"]:
            yield f"{views} views", dict(setting, views=views)
    yield "half of the outputs", dict(setting, outputs=setting["outputs"] // 2)
    if not features.startswith("stack:"):
        return
    words = features.split(",")
    for gone in ("root", "mirror"):
        if gone in words:
            yield f"without {gone}", dict(setting, features=",".join(w for w in words if w != gone))
    for word in ("one", "active=0.05", "active=0.2", "zca=0.001", "zca=0.1", "zca=1", "pool=2", "pool=3", "pool=4"):
        if word not in words:
            yield word, dict(setting, features=features + "," + word)


def choose(folder, data, args):
    """Recipes, what was tried in their place, and what a change does: on training points that the fit has not seen."""
    about, rows = SETS[data], []
    parts = split(folder, data, args.choose, args.seeds[0])

    def row(what, setting):
        trial = Trial(folder, *parts, setting, args.seeds[0], about["memory"])
        found = trial.probe("knn", "linear")
        rows.append(dict(what=what, setting=setting, cpu=trial.cpu, **found))
        show(f"| {data} | {what} | {found['knn']:.2f} | {found['linear']:.2f} | {trial.cpu:.0f} |")

    for name, setting in about["recipes"].items():
        row(f"{name}: {text(setting)}", setting)
    for setting in about["others"]:
        row(text(setting), setting)
    for name, setting in about["recipes"].items() if args.ablations else ():
        for change, changed in ablations(setting):
            row(f"{name}: {change}", changed)
    return dict(set=data, points=args.choose, held_out=rows)


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    return [order.index(i) for i in range(len(values))]


def rank_correlation(x, y):
    n, a, b = len(x), ranks(x), ranks(y)
    return 1 - 6 * sum((i - j) ** 2 for i, j in zip(a, b)) / (n * (n * n - 1))


def views(folder, data, args):
    """What the usual augmentations keep, without labels, and how well their representations do, on training points not seen."""
    about, rows = SETS[data], []
    parts, setting = split(folder, data, args.views, args.seeds[0]), next(iter(about["recipes"].values()))
    small = dict(setting, features=about["views"], outputs=64)
    found = run("views", *parts[0], "--features", small["features"], "--outputs", 64, "--views", small["views"], "--memory",
                about["memory"], "--seed", args.seeds[0])
    for c in found["candidates"]:
        acc = Trial(folder, *parts, dict(small, augment=c["augment"]), args.seeds[0], about["memory"]).probe("knn", "ridge")
        rows.append(dict(augment=c["augment"], shared=c["shared"], mean=c["mean"], **acc))
        show(f"| {data} | {c['augment']} | {c['shared']:.1f} | {c['mean']:.3f} | {acc['knn']:.2f} | {acc['ridge']:.2f} |")
    with_knn = rank_correlation([r["shared"] for r in rows], [r["knn"] for r in rows])
    show(f"| {data} | rank correlation of shared and knn: {with_knn:.2f} | | | | |")
    return dict(set=data, points=args.views, features=small["features"], views=rows, rank_correlation=with_knn)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sets", nargs="*", default=["digits"], help="of: " + ", ".join(SETS) + "; SET:RECIPE for one of its recipes")
    p.add_argument("--choose", type=int, default=0, metavar="N", help="N training points, judged by others")
    p.add_argument("--ablations", action="store_true", help="with --choose: one thing changed at a time")
    p.add_argument("--views", type=int, default=0, metavar="N", help="augmentations of N training points, with and without labels")
    p.add_argument("--samples", type=int, default=0, help="training points; 0: all")
    p.add_argument("--test-samples", type=int, default=0)
    p.add_argument("--seeds", type=lambda s: [int(x) for x in s.split(",")], default=[0])
    p.add_argument("--json", help="the numbers, for machines")
    args = p.parse_args()
    asked = []
    for word in args.sets:
        data, _, name = word.partition(":")
        if data not in SETS or (name and name not in SETS[data]["recipes"]):
            p.error(f"'{word}' is none of: {', '.join(s + ':' + r for s in SETS for r in SETS[s]['recipes'])}")
        asked += [(data, r) for r in SETS[data]["recipes"] if name in ("", r)]
    if args.views:
        show("| set | augmentation | shared | mean | knn | ridge |\n|---|---|---|---|---|---|")
    elif args.choose:
        show("| set | on training points that the fit has not seen | knn | linear | CPU s |\n|---|---|---|---|---|")
    else:
        show("| set | recipe, on test points | seed | knn | linear | ridge | s | CPU s | peak MiB |\n|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        if args.views:
            results = [views(folder, data, args) for data in dict(asked)]
        elif args.choose:
            results = [choose(folder, data, args) for data in dict(asked)]
        else:
            results = [measure(folder, data, name, args) for data, name in asked]
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
