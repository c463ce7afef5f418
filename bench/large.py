#!/usr/bin/python3
"""More data than memory on one machine: digits, moved and with noise, as 1,000,000 images in a file, with --memory 1G.

    bench/large.py build/release/eigenpair [--points 1e6] [--folder DIR] [--only growth|pca,embed,..] [--floats]

784 bytes a point, or as many floats.

Two tables: `whitened` on a hundredth, a tenth and all of them, whose seconds should grow with the points and whose peak should
not; and every command that reads such a file. Peaks are the most the process had resident, all included."""
import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "data/digits"
SMALL = ["--width", "256", "--outputs", "16"]
COMMANDS = {
    "pca": ["fit", "--data", "x.npy", "--method", "pca", *SMALL, "--out", "pca.npz"],
    "whitened": ["fit", "--data", "x.npy", "--method", "whitened", *SMALL, "--augment", "shift:2", "--out", "whitened.npz"],
    "infinite": ["fit", "--data", "x.npy", "--method", "infinite", "--landmarks", "256", "--outputs", "16", "--out", "i.npz"],
    "gd": ["fit", "--data", "x.npy", "--method", "gd", *SMALL, "--batch", "256", "--epochs", "1", "--out", "gd.npz"],
    "embed": ["embed", "--data", "x.npy", "--model", "pca.npz", "--out", "e.npy"],
    "analytic": ["ntk", "--data", "x.npy", "--data2", "q.npy", "--kernel", "analytic", "--out", "k.npy"],
    "empirical": ["ntk", "--data", "x.npy", "--data2", "q.npy", "--layout", "trace", *SMALL, "--out", "k.npy"],
    "ridge": ["probe", "--embedding", "x.npy", "--labels", "y.npy", "--probe", "ridge"],
    "linear": ["probe", "--embedding", "x.npy", "--labels", "y.npy", "--probe", "linear", "--iterations", "20"],
    "knn": ["probe", "--embedding", "x.npy", "--labels", "y.npy", "--test-embedding", "q.npy",
            "--test-labels", "qy.npy", "--probe", "knn"],
}

WATCH = """import os, sys, time
start = time.perf_counter()
_, status, used = os.wait4(os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:]), 0)
sys.stderr.write(f"{time.perf_counter() - start} {used.ru_utime + used.ru_stime} {used.ru_maxrss * 1024}")
sys.exit(status != 0)"""


def digits():
    own = (p for p in sorted(DIGITS.rglob("*")) if "train" in p.name and "image" in p.name)
    path = os.environ.get("EIGENPAIR_DIGITS") or next(own)
    raw = gzip.open(path).read()
    return np.frombuffer(raw, np.uint8, offset=16).reshape(-1, 28, 28)


def write(folder, count, dtype):
    """Each image: one of the digits, moved by up to 3 pixels, with noise of 8 grey levels where it is not blank. Its label: how
    far down it is, in tenths of the points. 200 of them are queries."""
    source, rng = digits(), np.random.default_rng(0)
    out = np.lib.format.open_memmap(f"{folder}/x.npy", "w+", dtype, (count, 28, 28))
    place = np.zeros(count)
    for first in range(0, count, 10000):
        n = min(10000, count - first)
        x = source[rng.integers(0, len(source), n)].astype(np.int16)
        x = np.where(x > 0, np.clip(x + rng.integers(-8, 9, x.shape, np.int16), 1, 255), 0)
        for k, (dy, dx) in enumerate(rng.integers(-3, 4, (n, 2))):
            out[first + k] = np.roll(x[k], (dy, dx), (0, 1))
        block = out[first:first + n].astype(float)
        if dtype == np.float32:
            out[first:first + n] /= 255
        place[first:first + n] = block.sum(1) @ np.arange(28) / block.sum((1, 2))
    out.flush()
    y = np.searchsorted(np.quantile(place, np.arange(1, 10) / 10), place)
    np.save(f"{folder}/y.npy", y)
    np.save(f"{folder}/q.npy", out[::count // 200][:200])
    np.save(f"{folder}/qy.npy", y[::count // 200][:200])


def run(folder, args):
    """Seconds, those of processors, and most resident bytes of one command; a small process watches it, because a fork counts
    the size of who forks."""
    with open(f"{folder}/out.json", "w") as out:
        done = subprocess.run([sys.executable, "-c", WATCH, PROGRAM, *args, "--memory", "1G", "--json"], cwd=folder, stdout=out,
                              stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(args)}: {done.stderr}")
    return map(float, done.stderr.split("\n")[-1].split())


def growth(folder, most):
    print("| points | seconds | of processors | us of them a point | peak MiB, accounted | peak MiB, resident |")
    print("|---|---|---|---|---|---|")
    for n in (most // 100, most // 10, most):
        np.lib.format.open_memmap(f"{folder}/part.npy", "w+", DTYPE, (n, 28, 28))[:] = np.load(f"{folder}/x.npy", "r")[:n]
        _, busy, peak = run(folder, ["part.npy" if a == "x.npy" else a for a in COMMANDS["whitened"]])
        r = json.load(open(f"{folder}/out.json"))
        print(f"| {n:,} | {r['seconds']:.2f} | {busy:.2f} | {1e6 * busy / n:.1f} | {r['peak_memory'] / 2**20:.1f} | "
              f"{peak / 2**20:.1f} |", flush=True)


def commands(folder, names):
    print("\n| command | seconds | of processors | peak GiB, resident |\n|---|---|---|---|")
    for name in names:
        seconds, busy, peak = run(folder, COMMANDS[name])
        print(f"| `{' '.join(a for a in COMMANDS[name])}` | {seconds:.0f} | {busy:.0f} | {peak / 2**30:.2f} |", flush=True)


def main(folder, a):
    if not os.path.exists(f"{folder}/x.npy"):
        write(folder, int(a.points), DTYPE)
    if not a.only or a.only == "growth":
        growth(folder, int(a.points))
    if a.only != "growth":
        commands(folder, a.only.split(",") if a.only else COMMANDS)


parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--points", type=float, default=1e6)
parser.add_argument("--folder", help="keeps its files, and uses those that are there")
parser.add_argument("--only", default="")
parser.add_argument("--floats", action="store_true", help="a file of float32 in the place of bytes")
given = parser.parse_args()
DTYPE = np.float32 if given.floats else np.uint8
PROGRAM = str(pathlib.Path(given.program).resolve())
if given.folder:
    main(given.folder, given)
else:
    with tempfile.TemporaryDirectory() as own:
        main(own, given)
