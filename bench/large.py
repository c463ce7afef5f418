#!/usr/bin/python3
"""More data than memory on one machine: digits, moved and with noise, as 1,000,000 images in a file, through `whitened` with
--memory 1G. Seconds should grow with the points, the peak should not.

    bench/large.py build/release/eigenpair [points] [folder]      (784 bytes a point on disk)"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
MOST = int(float(sys.argv[2])) if len(sys.argv) > 2 else 1000000
DIGITS = pathlib.Path(__file__).resolve().parents[1] / "data/digits"


def digits():
    path = os.environ.get("EIGENPAIR_DIGITS") or next(p for p in sorted(DIGITS.rglob("*")) if "train" in p.name and "image" in p.name)
    raw = gzip.open(path).read()
    return np.frombuffer(raw, np.uint8, offset=16).reshape(-1, 28, 28)


def write(path, count):
    """Each image: one of the digits, moved by up to 3 pixels, with noise of 8 grey levels where it is not blank."""
    source, rng = digits(), np.random.default_rng(0)
    out = np.lib.format.open_memmap(path, "w+", np.uint8, (count, 28, 28))
    for first in range(0, count, 10000):
        n = min(10000, count - first)
        x = source[rng.integers(0, len(source), n)].astype(np.int16)
        x = np.where(x > 0, np.clip(x + rng.integers(-8, 9, x.shape, np.int16), 1, 255), 0)
        for k, (dy, dx) in enumerate(rng.integers(-3, 4, (n, 2))):
            out[first + k] = np.roll(x[k], (dy, dx), (0, 1))
    out.flush()


with tempfile.TemporaryDirectory(dir=sys.argv[3] if len(sys.argv) > 3 else None) as folder:
    write(f"{folder}/x.npy", MOST)
    print("| points | seconds | us a point | peak GiB, accounted | peak GiB, resident |\n|---|---|---|---|---|")
    for n in (MOST // 100, MOST // 10, MOST):
        np.lib.format.open_memmap(f"{folder}/part.npy", "w+", np.uint8, (n, 28, 28))[:] = np.load(f"{folder}/x.npy", "r")[:n]
        done = subprocess.run([PROGRAM, "fit", "--data", "part.npy", "--method", "whitened", "--width", "256", "--outputs", "16",
                               "--augment", "shift:2", "--memory", "1G", "--json"], cwd=folder, check=True, capture_output=True, text=True)
        r = json.loads(done.stdout)
        print(f"| {n:,} | {r['seconds']:.2f} | {1e6 * r['seconds'] / n:.1f} | {r['peak_memory'] / 2**30:.3f} | "
              f"{r['peak_resident'] / 2**30:.3f} |", flush=True)
