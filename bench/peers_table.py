#!/usr/bin/env python3
"""eigenpair beside what a user would run instead: seconds, ratios, errors, memory, in one run (`make bench-peers`, which sets
the environment up; PEERS=--quick: a few minutes). Every measurement is a process of its own (peers_tasks.py); those that are
compared run one behind the other.

  peers_table.py [--quick] [--only PART,..]     parts: train, ntk, analytic, embed, map, python"""
import argparse
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
PEERS = ["eigenpair", "torch", "jax", "jaxlib", "neural-tangents", "scikit-learn", "umap-learn", "numpy"]


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.ratios = options, folder, {}
        self.threads = options.threads

    def one(self, who, task, **settings):
        """-> seconds, peak MB, numbers; None where it failed, or was too long"""
        out = f"{self.folder}/{who}-{task}.npy"
        line = [sys.executable, str(HERE / "peers_tasks.py"), who, task, json.dumps({"threads": self.threads, **settings}), out]
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": str(self.threads), "TF_CPP_MIN_LOG_LEVEL": "3"}
        try:
            done = subprocess.run(line, capture_output=True, text=True, env=environment, timeout=self.options.timeout)
        except subprocess.TimeoutExpired:
            return None, f"more than {self.options.timeout} s"
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1][:100]
        told = json.loads(done.stdout.splitlines()[-1])
        return (told["seconds"], told["peak_mb"], np.load(out)), ""

    def row(self, name, ours, theirs, error=None):
        """ours, theirs: (who, task, settings); error(ours, theirs): how far the numbers are apart"""
        for_us, why = self.one(*ours[:2], **ours[2])
        if for_us is None:
            return print(f"{name:<62} eigenpair failed: {why}")
        for who, task, settings in theirs:
            them, why = self.one(who, task, **settings)
            label = settings.get("label", who.replace("_", "-"))
            if them is None:
                print(f"{name:<46} {label:<22} {1e3 * for_us[0]:10.1f} {'-':>10} {'-':>7}  {why}", flush=True)
                continue
            ratio = them[0] / for_us[0]
            self.ratios.setdefault(name.split()[0], []).append((ratio, f"{name}, {label}"))
            print(f"{name:<46} {label:<22} {1e3 * for_us[0]:10.1f} {1e3 * them[0]:10.1f} {ratio:7.1f}  "
                  f"{for_us[1]:6.0f} {them[1]:6.0f}  {error(for_us[2], them[2]) if error else ''}", flush=True)


def apart(a, b):
    return f"error {np.abs(a - b).max() / np.abs(b).max():.1e}"


def accuracies(a, b):
    return f"kNN accuracy {100 * a[0]:.1f}, {100 * b[0]:.1f} %"


def train(b, quick):
    for width in (1000,) if quick else (100, 1000, 10000):
        s = dict(n=1000, d=784, width=width, outputs=10, epochs=5 if width > 1000 else 20)
        b.row(f"train epoch, {width} wide", ("eigenpair", "train", s), [("torch", "train", s)])


def ntk(b, quick):
    cases = [dict(n=64, d=784, width=1000, depth=1, outputs=10, layout="full"),
             dict(n=32, d=784, width=1024, depth=3, outputs=10, layout="full")]
    if not quick:
        cases += [dict(n=500, d=784, width=1000, depth=1, outputs=10, layout="trace")]
    methods = {1: "Jacobian contraction", 2: "NTK-vector products", 3: "structured derivatives"}
    for s in cases:
        s = {**s, "activation": "relu"}
        peers = [("neural_tangents", "ntk", {**s, "implementation": i, "label": f"nt: {m}"}) for i, m in methods.items()]
        if s["layout"] == "full":
            peers.append(("torch", "ntk", {**s, "label": "torch.func"}))
        b.row(f"ntk n={s['n']} {s['depth']}x{s['width']} Z=10 {s['layout']}", ("eigenpair", "ntk", s), peers, apart)


def analytic(b, quick):
    for n in (1000,) if quick else (1000, 3000, 10000):
        for activation in ("relu", "erf", "tanh"):
            for kind in ("ntk", "nngp"):
                if n > 1000 and activation == "tanh" and kind == "nngp":
                    continue
                s = dict(n=n, d=784, depth=3, activation=activation, kind=kind, repeats=2)
                if activation == "tanh" and n > 3000:  # by quadrature there: hours
                    continue
                b.row(f"analytic {kind} n={n} 3x {activation}", ("eigenpair", "analytic", s),
                      [("neural_tangents", "analytic", s)], apart)


def data_of(n):
    """MNIST where it is on this machine"""
    import eigenpair as ep
    try:
        ep.data("mnist", samples=10)
        return "mnist", n
    except ValueError:
        return "digits", min(n, 2000)


def embed(b, quick):
    ways = {"pca": dict(method="pca", width=2000, augment="shift:2,rotate:10"),
            "whitened": dict(method="whitened", features="patches:64,7,4", views=2, augment="shift:2,rotate:10", ridge=0.001,
                             eigen_tolerance=0.01)}
    for n in (2000,) if quick else (2000, 5000, 20000, 60000):
        data, points = data_of(n)
        if points < n:
            print(f"embed n={n}: MNIST is not here (eigenpair data fetch mnist)")
            continue
        s = dict(data=data, n=points, test=1000, outputs=64, repeats=1, warm=False)
        peers = [("sklearn", "nystroem", {**s, "label": "Nystroem + PCA"})]
        if n <= 5000:  # an n x n matrix of doubles, and its eigenproblem
            peers.insert(0, ("sklearn", "kernelpca", {**s, "label": "KernelPCA"}))
        for way, options in ways.items():
            b.row(f"embed {data} n={n} {way}", ("eigenpair", "embed", {**s, "options": options}), peers, accuracies)


def map_(b, quick):
    data, n = data_of(2000 if quick else 10000)
    s = dict(data=data, n=n, repeats=1, warm=False)
    b.row(f"map {data} n={n} (whole page)", ("eigenpair", "map", s), [("umap", "map", {**s, "label": "umap-learn"})])


def python(b, quick):
    print(subprocess.run([sys.executable, str(HERE / "python.py"), *(["2000"] if quick else [])], capture_output=True,
                         text=True, check=True).stdout, end="", flush=True)


PARTS = {"train": train, "ntk": ntk, "analytic": analytic, "embed": embed, "map": map_, "python": python}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the smallest size of everything")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all")
    parser.add_argument("--timeout", type=float, default=600, help="seconds of a measurement, default %(default)g")
    options = parser.parse_args()
    print(", ".join(f"{p} {importlib.metadata.version(p)}" for p in PEERS) + f"; {options.threads} threads, best of some runs")
    print(f"{'':<46} {'peer':<22} {'ours ms':>10} {'theirs ms':>10} {'ratio':>7}  {'MB':>6} {'MB':>6}")
    with tempfile.TemporaryDirectory(prefix="eigenpair-peers-") as folder:
        bench = Bench(options, folder)
        for part in options.only.split(","):
            PARTS[part](bench, options.quick)
    for part, found in bench.ratios.items():
        least = min(found)
        print(f"least ratio of {part}: {least[0]:.1f} ({least[1]})")


if __name__ == "__main__":
    main()
