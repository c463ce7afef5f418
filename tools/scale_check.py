#!/usr/bin/python3
"""Time of fits on 1, 2 and 4 ranks against `eigenpair plan`, the points growing with the ranks: a table in Markdown.

    tools/scale_check.py build/mpi/eigenpair [points a rank]

Every time is the least of three, taken in turns with those of other numbers of ranks. Efficiency is the time of one rank over
that of K ranks with K times the points; more ranks than cores share them, so K ranks on c cores can reach c / K at most. Seconds to read and augment a view are measured by a fit with few features."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
EACH = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
RANKS = 1, 2, 4
CLOSED = ["--width", "1500", "--outputs", "32"]
SHAPE = {"accumulate": CLOSED, "whitened": CLOSED, "pca": CLOSED, "gd": ["--width", "1000", "--outputs", "10", "--epochs", "5"]}


def call(*args, ranks=1):
    how = ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none"] if ranks > 1 else []
    out = subprocess.run([*how, PROGRAM, *map(str, args)], env=ENV, check=True, capture_output=True, text=True, cwd=FOLDER)
    return json.loads(out.stdout)


def fit(method, points, ranks, *more):
    """Seconds. accumulate: the sums of whitened, without the eigenproblem, in a file."""
    command, method = ("accumulate", "whitened") if method == "accumulate" else ("fit", method)
    pairs = ["--pairs", "positives"] if method != "gd" else []
    return call(command, "--data", "x.npy", "--samples", points, "--method", method, *pairs, *more, "--threads", 1, "--json",
                *(["--path", "primal"] if method == "pca" else []), ranks=ranks)["seconds"]


with tempfile.TemporaryDirectory() as FOLDER:
    cores = os.cpu_count()
    rng = np.random.default_rng(0)  # images of which four in five pixels are blank, as digits are
    np.save(f"{FOLDER}/x.npy", rng.integers(0, 256, (4 * EACH, 28, 28), np.uint8) * (rng.random((4 * EACH, 28, 28)) < 0.2))
    view = fit("whitened", EACH, 1, "--width", "8", "--outputs", "2") / (2 * EACH)
    print(f"{cores} cores, {EACH} points a rank, {view * 1e6:.1f} us to read and augment a view\n")
    print("| method | ranks | measured s | model s | measured / model | efficiency |\n|---|---|---|---|---|---|")
    for method, shape in SHAPE.items():
        turns = [[fit(method, EACH * ranks, ranks, *shape) for ranks in RANKS] for _ in range(3)]
        least = dict(zip(RANKS, map(min, zip(*turns))))
        for ranks, seconds in least.items():
            plan = call("plan", "--method", "whitened" if method == "accumulate" else method, "--points", EACH * ranks,
                        *shape, "--ranks", min(ranks, cores),
                        "--view-cost", 0 if method == "gd" else view, "--json")
            model = plan["seconds"] - (plan["solve"] if method == "accumulate" else 0)
            print(f"| {method} | {ranks} | {seconds:.2f} | {model:.2f} | {seconds / model:.2f} | "
                  f"{least[1] / seconds:.2f} |", flush=True)
