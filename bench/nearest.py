#!/usr/bin/python3
"""What is nearest, before and after a closed form: the tables of docs/representations.md.

    bench/nearest.py words [--count 20000]          word vectors; a pair is a word and one of its nearest
    bench/nearest.py emoji                          pictures; a pair is the same thing drawn by two hands, a third is looked up
    bench/nearest.py emoji --choose                 how its setting was chosen: on a fifth of the training part

Numbers are of what the fit has not seen: words in no pair, emoji of the test part by a hand that no pair has."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = os.environ.get("EIGENPAIR", str(ROOT / "build/release/eigenpair"))

ASKED = ["cat", "paris", "piano", "physics", "monday", "river", "laughed", "blue", "bread", "jupiter", "guitar", "because"]
DRAWN = ["umbrella", "helicopter", "penguin", "banana", "microscope", "taxi", "crab", "trumpet", "teapot", "flag-jm", "grin",
         "two_hearts"]


def run(*words):
    """A command of the program -> what it printed as JSON."""
    done = subprocess.run([PROGRAM, *map(str, words), "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"nearest: eigenpair {' '.join(map(str, words))}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def names_of(data, part=""):
    folder = run("data", "fetch", data)["folder"]
    name = "words.txt" if data == "words" else f"names{part}.txt"
    return (pathlib.Path(folder) / name).read_text().splitlines()


class Folder:
    """Matrices go to files of a temporary folder, results come back from there."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def put(self, name, X):
        np.save(self.path / f"{name}.npy", np.ascontiguousarray(X))
        return self.path / f"{name}.npy"

    def points(self, data, *more):
        run("data", "convert", "--data", data, "--scale", "raw", "--out", self.path / "x.npy", *more)
        return np.load(self.path / "x.npy")

    def embed(self, data):
        run("embed", "--model", self.path / "m.npz", "--data", data, "--out", self.path / "e.npy")
        return np.load(self.path / "e.npy")

    def nearest(self, E, k, Q=None, metric="cosine"):
        query = [] if Q is None else ["--query", self.put("q", Q)]
        run("neighbours", "--embedding", self.put("all", E), *query, "-k", k, "--metric", metric, "--out", self.path / "n.npy")
        return np.load(self.path / "n.npy")


def recall(found, wanted):
    """In how many rows the wanted one is first, among the first five: per cent."""
    hits = found == np.asarray(wanted)[:, None]
    return 100 * hits[:, 0].mean(), 100 * hits[:, :5].any(1).mean()


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print(flush=True)


# ---- words

def words_fit(f, X, near, seen, args, setting):
    """Pairs of a word and its nearest, both seen."""
    rows = [(i, j) for i in np.flatnonzero(seen) for j in near[i, :args.pairs] if seen[j]]
    a, p = np.array(rows).T
    run("fit", "--method", "whitened", "--anchors", f.put("a", X[a]), "--positives", f.put("p", X[p]), "--scale", "raw", *setting,
        "--out", f.path / "m.npz")
    return f.embed(f.put("x", X))


def plurals(names, held):
    """(word, the same with an s), the first held out."""
    place = {w: i for i, w in enumerate(names)}
    return np.array([(i, place[w + "s"]) for w, i in place.items() if held[i] and len(w) > 2 and w.isalpha() and w + "s" in place])


def hubs(near):
    """Among the ten nearest of how many others is the word that is there most often; share of words that are nobody's."""
    count = np.bincount(near[:, :10].ravel(), minlength=len(near))
    return count.max(), 100 * (count == 0).mean()


def words(f, args):
    names, X = names_of("words")[:args.count], f.points(f"words:{args.count}", "--precision", "double")
    held = np.arange(len(X)) % 5 == 4
    held |= np.isin(names, ASKED)
    raw = f.nearest(X, 10)
    linear = ["--features", "dense", "--activation", "linear", "--width", 100, "--outputs", 100]
    dense = ["--features", "dense", "--activation", "relu", "--width", 1000, "--outputs", 100]
    found = {"as they are": raw, "centred": f.nearest(X - X.mean(0), 10)}
    for name, setting in (("linear, power 0", linear), ("linear, power 0.5", linear + ["--power", 0.5]),
                          ("linear, power 1", linear + ["--power", 1]), ("relu, power 0.5", dense + ["--power", 0.5])):
        found[name] = f.nearest(words_fit(f, X, raw, ~held, args, setting), 10)
    singular, plural = plurals(names, held).T
    print(f"{len(singular):,} held-out words whose plural is there too, among {len(X):,}\n")
    table(["vectors", "plural first", "among five", "most popular", "nobody's nearest"],
          [(name, *(f"{r:.1f}" for r in recall(n[singular], plural)), "%d" % hubs(n)[0], "%.1f" % hubs(n)[1])
           for name, n in found.items()])
    both = ["as they are", "linear, power 1"]
    table(["word", *both], [(w, *(", ".join(names[j] for j in found[b][names.index(w), :5]) for b in both))
                            for w in args.show or ASKED if w in names])


# ---- emoji

def emoji_fit(f, setting, *pairs):
    return run("fit", "--method", "whitened", *pairs, *setting, "--scale", "raw", "--image", "3x64x64", "--eigen-tolerance", 1e-3,
               "--out", f.path / "m.npz")


SETTING = ["--features", "stack:64x12,pool=4,root", "--outputs", 256, "--ridge", 0.1, "--power", 1]


def emoji(f, args):
    """Google's of the test part look for facebook's, among all; fitted to the training part, never to facebook's."""
    train, test = names_of("emoji"), names_of("emoji", "-test")
    names, wanted = train + test, range(len(train), len(train) + len(test))

    def both(read):
        """The queries, and what they look among."""
        return read("emoji:google:test"), np.vstack([read("emoji:facebook"), read("emoji:facebook:test")])

    def look(read, metric="cosine"):
        queries, among = both(read)
        return f.nearest(among, 10, queries, metric)

    found = {"pixels": look(lambda d: 1 - f.points(d)), "pixels, euclidean": look(f.points, "euclidean")}
    emoji_fit(f, SETTING, "--data", "emoji:google", "--views", 2, "--augment", "crop:0.7-1,jitter:0.4")
    found["google's, augmented"] = look(f.embed)
    fitted = emoji_fit(f, SETTING, "--anchors", "emoji:google", "--positives", "emoji:twitter")
    found["google's and twitter's"] = look(f.embed)
    print(f"{len(test)} drawings by google, each looked for among {len(names):,} by facebook; fit {fitted['seconds']:.0f} s\n")
    table(["views", "first", "among five"], [(k, *(f"{r:.1f}" for r in recall(n, wanted))) for k, n in found.items()])
    shown = ("pixels", "google's and twitter's")
    table(["emoji", *shown], [(w, *(", ".join(names[j] for j in found[k][test.index(w), :4]) for k in shown))
                              for w in args.show or DRAWN if w in test])


def choose(f, args):
    """The same within the training part: four fifths to fit, the fifth of google's looked for among all of twitter's."""
    X = {v: f.points(f"emoji:{v}") for v in ("google", "twitter")}
    held = np.arange(len(X["google"])) % 5 == 4
    files = {v: f.put(v, x[~held]) for v, x in X.items()}
    everything = {v: f.put(f"{v}-all", x) for v, x in X.items()}
    rows = []
    for features in args.features:
        for ridge in args.ridge:
            setting = ["--features", features, "--outputs", args.outputs, "--ridge", ridge, "--power", 0]
            fitted = emoji_fit(f, setting, "--anchors", files["google"], "--positives", files["twitter"])
            values = np.array(fitted["eigenvalues"])
            E = {v: f.embed(everything[v]) for v in X}
            for power in (0, 0.5, 1, 2):
                P = {v: e * values ** power for v, e in E.items()}
                r = recall(f.nearest(P["twitter"], 5, P["google"][held]), np.flatnonzero(held))
                rows.append((f"`{features}`", ridge, power, *(f"{x:.1f}" for x in r)))
                print(*rows[-1], file=sys.stderr, flush=True)
    table(["features", "ridge", "power", "first", "among five"], rows)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("data", choices=["words", "emoji"])
    a.add_argument("--count", type=int, default=20000, help="so many of the most frequent words")
    a.add_argument("--pairs", type=int, default=5, help="nearest words that a word is paired with")
    a.add_argument("--show", nargs="*", help="which rows to print")
    a.add_argument("--choose", action="store_true")
    a.add_argument("--features", nargs="*", default=["stack:64x8,pool=4,root", "stack:64x12,pool=4,root"],
                   help="--choose: among these")
    a.add_argument("--ridge", nargs="*", type=float, default=[0.1, 1], help="--choose: among these")
    a.add_argument("--outputs", type=int, default=256, help="--choose: so many")
    args = a.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        {"words": words, "emoji": choose if args.choose else emoji}[args.data](Folder(folder), args)


if __name__ == "__main__":
    main()
