#!/usr/bin/python3
"""Time of fits on 1, 2 and 4 ranks against `eigenpair plan`, the points growing with the ranks: a table in Markdown.

    tools/scale_check.py build/mpi/eigenpair [points a rank [methods]]

Times are medians of five turns. A turn: one rank; K ranks with K times the points; K programs that know nothing of each
other, each with one rank's points. Efficiency is the time of one rank over that of K ranks, the median of the turns' ratios: a
machine whose speed drifts from minute to minute drifts for both. The column beside it, of the K programs, is what the machine
leaves to K busy cores. More ranks than cores share them, so K ranks on c cores can reach c / K at most. Seconds to read and
augment a view are measured by a fit with few features."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
EACH = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
RANKS = 1, 2, 4
TURNS = 5
CLOSED = ["--width", "1500", "--outputs", "32"]
SHAPE = {"accumulate": CLOSED, "whitened": CLOSED, "pca": CLOSED, "gd": ["--width", "1000", "--outputs", "10", "--epochs", "5"]}


def call(*args, ranks=1):
    bound = "core" if ranks <= os.cpu_count() else "none"
    how = ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", bound] if ranks > 1 else []
    out = subprocess.run([*how, PROGRAM, *map(str, args)], env=ENV, check=True, capture_output=True, text=True, cwd=FOLDER)
    return json.loads(out.stdout)


def fit(method, points, ranks, *more):
    """Seconds. accumulate: the sums of whitened, without the eigenproblem, in a file."""
    command, method = ("accumulate", "whitened") if method == "accumulate" else ("fit", method)
    pairs = ["--pairs", "positives"] if method != "gd" else []
    return call(command, "--data", "x.npy", "--samples", points, "--method", method, *pairs, *more, "--threads", 1, "--json",
                *(["--path", "primal"] if method == "pca" else []), ranks=ranks)["seconds"]


def side_by_side(method, points, count, *more):
    """Seconds of the slowest of so many programs at once."""
    with ThreadPoolExecutor(count) as pool:
        return max(pool.map(lambda _: fit(method, points, 1, *more), range(count)))


with tempfile.TemporaryDirectory() as FOLDER:
    cores = os.cpu_count()
    rng = np.random.default_rng(0)  # images of which four in five pixels are blank, as digits are
    np.save(f"{FOLDER}/x.npy", rng.integers(0, 256, (4 * EACH, 28, 28), np.uint8) * (rng.random((4 * EACH, 28, 28)) < 0.2))
    view = fit("whitened", EACH, 1, "--width", "8", "--outputs", "2") / (2 * EACH)
    print(f"{cores} cores, {EACH} points a rank, {view * 1e6:.1f} us to read and augment a view\n")
    print("| method | ranks | measured s | model s | measured / model | efficiency | of programs apart |\n" + "|---" * 7 + "|")
    for method in sys.argv[3:] or SHAPE:
        shape = SHAPE[method]
        turns = [([fit(method, EACH * ranks, ranks, *shape) for ranks in RANKS],
                  [side_by_side(method, EACH, ranks, *shape) for ranks in RANKS[1:]]) for _ in range(TURNS)]
        for k, ranks in enumerate(RANKS):
            seconds = statistics.median(ours[k] for ours, _ in turns)
            efficiency = statistics.median(ours[0] / ours[k] for ours, _ in turns)
            apart = statistics.median(ours[0] / others[k - 1] for ours, others in turns) if k else 1
            plan = call("plan", "--method", "whitened" if method == "accumulate" else method, "--points", EACH * ranks,
                        *shape, "--ranks", min(ranks, cores),
                        "--view-cost", 0 if method == "gd" else view, "--json")
            model = plan["seconds"] - (plan["solve"] if method == "accumulate" else 0)
            print(f"| {method} | {ranks} | {seconds:.2f} | {model:.2f} | {seconds / model:.2f} | {efficiency:.2f} | {apart:.2f} |",
                  flush=True)
