#!/usr/bin/env python3
"""Two builds of the program side by side: bench/sides.py OLD NEW [--rounds 5] [--threads 2].

Each command is run by the two in turns; printed are the medians of time and peak resident size and what is new over what
is old. Only commands that 0.1.0 has too."""
import argparse
import os
import statistics
import subprocess
import tempfile
import time

COMMANDS = {
    "fit gd, M = 100": "fit --data digits --method gd --width 100 --outputs 10 --epochs 200 --out m.npz",
    "fit gd, M = 1,000": "fit --data digits --method gd --width 1000 --outputs 10 --epochs 40 --out m.npz",
    "fit gd, tanh, depth 2": "fit --data digits --method gd --width 300 --depth 2 --activation tanh --outputs 10 --epochs 40 --out m.npz",
    "fit grassmann": "fit --data digits --method grassmann --width 300 --outputs 10 --epochs 40 --out m.npz",
    "fit kernel": "fit --data digits --samples 200 --method kernel --width 500 --outputs 5 --epochs 300 --out m.npz",
    "fit pca": "fit --data digits --method pca --width 2000 --outputs 64 --out m.npz",
    "fit infinite": "fit --data digits --method infinite --outputs 64 --out m.npz",
    "fit whitened": "fit --data digits --method whitened --features patches:128,7,4 --views 2 --augment shift:2,rotate:10 "
                    "--ridge 0.01 --outputs 64 --out m.npz",
    "embed": "embed --model old.npz --data digits:test --out e.npy",
    "ntk, empirical": "ntk --data digits --samples 100 --width 4000 --outputs 10 --out K.npy",
    "ntk, analytic": "ntk --data digits --kernel analytic --depth 3 --out K.npy",
    "optima": "optima --data digits --samples 300 --starts 50 --json",
}


def run(program, words, folder, threads):
    """-> seconds, peak resident MB"""
    begin = time.perf_counter()
    done = subprocess.Popen([program, *words.split(), "--threads", str(threads)], cwd=folder, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)
    message = done.stderr.read().decode()
    _, status, usage = os.wait4(done.pid, 0)
    if status:
        raise SystemExit(f"{program} {words}: {message}")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("old")
    p.add_argument("new")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_args()
    print(f"{'':24}{'old s':>9}{'new s':>9}{'new/old':>9}{'old MB':>9}{'new MB':>9}{'new/old':>9}")
    with tempfile.TemporaryDirectory() as folder:
        run(os.path.abspath(a.old), COMMANDS["fit whitened"].replace("m.npz", "old.npz"), folder, a.threads)  # for embed
        for name, words in COMMANDS.items():
            seen = {side: [] for side in ("old", "new")}
            for turn in range(a.rounds + 1):  # the first is for the caches
                for side in ("old", "new") if turn % 2 else ("new", "old"):
                    one = run(os.path.abspath(getattr(a, side)), words, folder, a.threads)
                    if turn:
                        seen[side].append(one)
            t = {side: statistics.median(x[0] for x in seen[side]) for side in seen}
            m = {side: statistics.median(x[1] for x in seen[side]) for side in seen}
            print(f"{name:24}{t['old']:9.3f}{t['new']:9.3f}{t['new'] / t['old']:9.2f}"
                  f"{m['old']:9.1f}{m['new']:9.1f}{m['new'] / m['old']:9.2f}", flush=True)


main()
