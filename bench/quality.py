#!/usr/bin/python3
"""How good are representations made without labels and without training, in minutes on a CPU.

    bench/quality.py [SET ...] [--samples N] [--test-samples N] [--seeds 0,1,2] [--ablations] [--memory 8G] [--json FILE]

Settings are chosen on training data alone: every candidate of a set is fitted, its embedding of the training points is probed
with a fifth of them held out, and only the best goes on to the test points. The probes are those of `eigenpair probe`: knn,
linear (logistic) and ridge, standardised, penalties chosen on held-out training points. Times are of the whole way: fit, both
embeddings, probes. --ablations changes one thing of the best candidate at a time, still on held-out training data."""
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

COLOUR = "crop:0.5-1,flip,jitter:0.5,grey:0.2"
DIGIT = "shift:2,rotate:10"
CLOTH = "crop:0.6-1,flip,light:0.3"
# candidates: features, augmentation, views, outputs; ridge and power hold for all
SETS = {
    "digits": dict(train=2000, test=1000, candidates=[
        dict(features="stack:64x6,near=2,keep=24,pool=4", augment=DIGIT, views=3, outputs=48),
        dict(features="patches:128,7,4", augment=DIGIT, views=3, outputs=48)]),
    "mnist": dict(train=60000, test=10000, candidates=[
        dict(features="patches:256,7,4", augment=DIGIT, views=2, outputs=64, ridge=0.001),
        dict(features="stack:256x7,one,pool=4", augment=DIGIT, views=2, outputs=64, ridge=0.001),
        dict(features="stack:256x7,near=2,keep=96,pool=4", augment=DIGIT, views=2, outputs=64, ridge=0.001)]),
    "fashion": dict(train=60000, test=10000, candidates=[
        dict(features="stack:256x6,pool=3", augment=CLOTH, views=2, outputs=256),
        dict(features="stack:512x6,near=2,keep=160,pool=4", augment=CLOTH, views=2, outputs=256)]),
    "cifar10": dict(train=50000, test=10000, candidates=[
        dict(features="stack:512x6,pool=2", augment=COLOUR, views=3, outputs=512),
        dict(features="stack:1024x6,near=3,keep=256,pool=3", augment=COLOUR, views=3, outputs=512)]),
}
USUAL = dict(ridge=0.01, power=1, tolerance=0.001)


def run(*words):
    """A command of the program -> what it printed as JSON."""
    done = subprocess.run([PROGRAM, *map(str, words), "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"quality: eigenpair {' '.join(map(str, words))}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


class Trial:
    """A candidate, fitted on part of a data set."""

    def __init__(self, folder, data, setting, args, seed):
        self.folder, self.data, self.args, self.seed = pathlib.Path(folder), data, args, seed
        self.setting = {**USUAL, **setting}
        self.seconds = self.cpu = 0
        s = self.setting
        self.fit = self.timed("fit", "--method", "whitened", *self.points("train"), "--features", s["features"], "--augment",
                              s["augment"], "--views", s["views"], "--outputs", s["outputs"], "--ridge", s["ridge"], "--power",
                              s["power"], "--eigen-tolerance", s["tolerance"], "--out", self.folder / "m.npz")
        self.embed("train")

    def points(self, part):
        n = self.args.samples if part == "train" else self.args.test_samples
        size = SETS[self.data][part]
        name = self.data if part == "train" else f"{self.data}:test"
        return ["--data", name, "--scale", "raw", "--seed", self.seed, "--memory", self.args.memory,
                *(["--samples", n] if n and n < size else [])]

    def timed(self, *words):
        clock, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        out = run(*words)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds += time.monotonic() - clock
        self.cpu += after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        return out

    def embed(self, part):
        self.timed("embed", "--model", self.folder / "m.npz", *self.points(part), "--out", self.folder / f"{part}.npy",
                   "--labels-out", self.folder / f"{part}-labels.npy")

    def probe(self, *probes, test=False):
        f = self.folder
        words = ["--embedding", f / "train.npy", "--labels", f / "train-labels.npy", "--seed", self.seed, "--memory",
                 self.args.memory, "--ridge", "auto"]
        if test:
            words += ["--test-embedding", f / "test.npy", "--test-labels", f / "test-labels.npy"]
        out = self.timed("probe", *words, "--probe", ",".join(probes))
        return {p["probe"]: 100 * p["accuracy"] for p in out["probes"]}


def text(setting):
    return " ".join(f"--{k} {v}" for k, v in setting.items() if k != "tolerance")


def choose(folder, data, args):
    """The candidate whose embedding the held-out training points like best (knn and ridge together)."""
    scores = []
    for setting in SETS[data]["candidates"]:
        trial = Trial(folder, data, setting, args, args.seeds[0])
        found = trial.probe("knn", "ridge")
        scores.append((sum(found.values()), setting))
        show(f"| {data} | {text(setting)} | {found['knn']:.2f} | {found['ridge']:.2f} | {trial.seconds:.0f} | {trial.cpu:.0f} |")
    return max(scores, key=lambda x: x[0])[1]


def ablations(setting):
    """One thing changed at a time."""
    yield "as chosen", setting
    for ridge in (0.001, 0.1):
        yield f"ridge {ridge}", dict(setting, ridge=ridge)
    yield "power 0", dict(setting, power=0)
    yield "two views", dict(setting, views=2)
    yield "five views", dict(setting, views=5)
    yield "half of the outputs", dict(setting, outputs=setting["outputs"] // 2)
    if setting["features"].startswith("stack:"):
        for word in ("one", "active=0.05", "active=0.2", "zca=0.001", "zca=0.1", "pool=2"):
            yield word, dict(setting, features=setting["features"] + "," + word)
        if "near=" in setting["features"]:
            words = [w for w in setting["features"].split(",") if not w.startswith(("near=", "keep="))]
            yield "without neighbours", dict(setting, features=",".join(words))


def show(line):
    print(line, flush=True)


def measure(folder, data, args):
    show(f"\n## {data}\n\n| set | candidate, on held-out training points | knn | ridge | s | CPU s |\n|---|---|---|---|---|---|")
    best = choose(folder, data, args)
    rows = []
    show("\n| set | chosen, on test points | seed | knn | linear | ridge | s | CPU s | peak MiB |\n|---|---|---|---|---|---|---|---|---|")
    for seed in args.seeds:
        trial = Trial(folder, data, best, args, seed)
        trial.embed("test")
        found = trial.probe("knn", "linear", "ridge", test=True)
        peak = trial.fit["peak_resident"] / 2 ** 20
        rows.append(dict(seed=seed, seconds=trial.seconds, cpu=trial.cpu, peak=peak, **found))
        show(f"| {data} | {text(best)} | {seed} | {found['knn']:.2f} | {found['linear']:.2f} | {found['ridge']:.2f} | "
             f"{trial.seconds:.0f} | {trial.cpu:.0f} | {peak:.0f} |")
    changed = []
    if args.ablations:
        show("\n| set | changed | knn | ridge | (held-out training points) |\n|---|---|---|---|---|")
        for name, setting in ablations(best):
            found = Trial(folder, data, setting, args, args.seeds[0]).probe("knn", "ridge")
            changed.append(dict(changed=name, **found))
            show(f"| {data} | {name} | {found['knn']:.2f} | {found['ridge']:.2f} | |")
    return dict(set=data, chosen=best, test=rows, ablations=changed)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sets", nargs="*", default=["digits"], help="of: " + ", ".join(SETS))
    p.add_argument("--samples", type=int, default=0, help="training points; 0: all")
    p.add_argument("--test-samples", type=int, default=0)
    p.add_argument("--seeds", type=lambda s: [int(x) for x in s.split(",")], default=[0])
    p.add_argument("--memory", default="8G")
    p.add_argument("--ablations", action="store_true")
    p.add_argument("--json", help="the numbers, for machines")
    args = p.parse_args()
    for data in args.sets:
        if data not in SETS:
            p.error(f"'{data}' is none of: {', '.join(SETS)}")
    with tempfile.TemporaryDirectory() as folder:
        results = [measure(folder, data, args) for data in args.sets]
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
