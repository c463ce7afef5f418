#!/usr/bin/env python3
"""eigenpair beside what a user would run instead: seconds, ratios, errors, memory, in one run (`make bench-peers`, which sets
the environment up; PEERS=--quick: a few minutes). Every measurement is a process of its own (peers_tasks.py); those that are
compared run one behind the other.

  peers_table.py [--quick] [--only PART,..] [--least POINTS] [--most POINTS] [--activations NAME,..]
  parts: train, ntk, analytic, embed, map, python"""
import argparse
import importlib.metadata
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
PEERS = ["eigenpair", "torch", "jax", "jaxlib", "neural-tangents", "scikit-learn", "umap-learn", "numpy"]


# what is asked of a part, and of which peer: so many times as fast, and not less accurate
ASKED = {"ntk": (10, "neural-tangents"), "analytic": (4, "neural-tangents"), "embed": (3, "KernelPCA")}


def limit_memory():
    """A peer that takes too much fails by itself, and nothing else on the machine does."""
    most = int(0.9 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.ratios, self.peers = options, folder, {}, {}
        self.threads = options.threads

    def one(self, who, task, **settings):
        """-> seconds, peak MB, numbers; None where it failed, or was too long"""
        out = f"{self.folder}/{who}-{task}.npy"
        line = [sys.executable, str(HERE / "peers_tasks.py"), who, task, json.dumps({"threads": self.threads, **settings}), out]
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": str(self.threads), "TF_CPP_MIN_LOG_LEVEL": "3"}
        try:
            done = subprocess.run(line, capture_output=True, text=True, env=environment, timeout=self.options.timeout,
                                  preexec_fn=limit_memory)
        except subprocess.TimeoutExpired:
            return None, f"not done after {self.options.timeout:g} s, its start and one run to warm up included"
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1][:100]
        told = json.loads(done.stdout.splitlines()[-1])
        return (told["seconds"], told["peak_mb"], np.load(out)), ""

    def once(self, who, task, **settings):
        """A peer that several ways of ours are held against is measured once."""
        key = json.dumps([who, task, settings], sort_keys=True)
        if key not in self.peers:
            self.peers[key] = self.one(who, task, **settings)
        return self.peers[key]

    def note(self, name, peer, comparison, ratio):
        """Of several ways of ours that are as good as the peer, the fastest counts."""
        found = self.ratios.setdefault((name.split()[0], peer), {})
        found[comparison] = max(ratio, found.get(comparison, 0))

    def row(self, name, ours, theirs, error=None, equal=lambda a, b: True, beside=""):
        """ours, theirs: (who, task, settings); error(ours, theirs): how far the numbers are apart; equal: are ours as good;
        beside: what several rows have in common that are ways to do the same"""
        if not self.options.least <= ours[2]["n"] <= self.options.most:
            return None
        for_us, why = self.one(*ours[:2], **ours[2])
        if for_us is None:
            return print(f"{name:<62} eigenpair failed: {why}")
        for who, task, settings in theirs:
            them, why = (self.once if beside else self.one)(who, task, **settings)
            label = settings.get("label", who.replace("_", "-"))
            peer, comparison = settings.get("family", who.replace("_", "-")), f"{beside or name}, {label}"
            if them is None:
                print(f"{name:<46} {label:<26} {1e3 * for_us[0]:10.1f} {'-':>10} {'-':>7}  {why}", flush=True)
                continue
            ratio = them[0] / for_us[0]
            if equal(for_us[2], them[2]):
                self.note(name, peer, comparison, ratio)
            print(f"{name:<46} {label:<26} {1e3 * for_us[0]:10.1f} {1e3 * them[0]:10.1f} {ratio:7.1f}  "
                  f"{for_us[1]:6.0f} {them[1]:6.0f}  {error(for_us[2], them[2]) if error else ''}", flush=True)


def apart(a, b):
    return f"error {np.abs(a - b).max() / np.abs(b).max():.1e}"


def accuracies(a, b):
    return f"kNN accuracy {100 * a[0]:.1f}, {100 * b[0]:.1f} %"


def as_accurate(a, b):
    return a[0] >= b[0]


def train(b, quick):
    for width in (1000,) if quick else (100, 1000, 10000):
        s = dict(n=1000, d=784, width=width, outputs=10, epochs=5 if width > 1000 else 20)
        b.row(f"train epoch, {width} wide", ("eigenpair", "train", s), [("torch", "train", s)])


METHODS = {1: "Jacobian contraction", 2: "NTK-vector products", 3: "structured derivatives"}


def ntk_peers(s):
    """neural-tangents by its three methods, in blocks of `batch` points where that is set; PyTorch where J fits"""
    parameters = s["width"] * (s["d"] + s["outputs"] + (s["depth"] - 1) * s["width"])
    peers = []
    for i, method in METHODS.items():
        # a block of Jacobians of a gigabyte is its users' choice too; the other methods hold less
        batch = s.get("batch", 0) and (max(8, s["batch"] // 4) if i == 1 else s["batch"])
        peers.append(("neural_tangents", "ntk", {**s, "implementation": i, "label": f"nt: {method}", "batch": batch}))
    if s["layout"] == "full" and 4 * s["n"] * s["outputs"] * parameters < 4e9:
        peers.append(("torch", "ntk", {**s, "label": "torch.func"}))
    return peers


def ntk(b, quick):
    one, three = dict(d=784, width=1000, depth=1, outputs=10), dict(d=784, width=1024, depth=3, outputs=10)
    cases = [dict(one, n=64, layout="full", activation="relu"), dict(three, n=32, layout="full", activation="relu")]
    if not quick:
        cases += [dict(one, n=1000, layout="full", activation="relu", batch=100),
                  dict(one, n=1000, layout="trace", activation="erf", batch=100),
                  dict(three, n=1000, layout="trace", activation="tanh", batch=100),
                  dict(one, n=3000, layout="trace", activation="relu", batch=100),
                  dict(one, n=10000, layout="trace", activation="relu", batch=100)]
    for s in cases:
        s["repeats"] = 3 if s["n"] < 100 else 1
        name = f"ntk n={s['n']} {s['depth']}x{s['width']} Z=10 {s['layout']} {s['activation']}"
        b.row(name, ("eigenpair", "ntk", s), ntk_peers(s), apart)


def analytic(b, quick):
    for n in (1000,) if quick else (1000, 5000, 10000):
        for activation in b.options.activations.split(","):
            if activation == "tanh" and n > 1000:  # by quadrature there: 7 GB at 1,000 points
                continue
            for kind in ("ntk", "nngp"):
                s = dict(n=n, d=784, depth=3, activation=activation, kind=kind, repeats=30)
                peers = [("neural_tangents", "analytic", s)]
                if activation != "tanh" and n < 10000:  # in double its error is that of ours
                    peers.append(("neural_tangents", "analytic", {**s, "x64": True, "label": "nt in double",
                                                                  "family": "neural-tangents in double"}))
                b.row(f"analytic {kind} n={n} 3x {activation}", ("eigenpair", "analytic", s), peers, apart)


def data_of(n):
    """MNIST where it is on this machine"""
    import eigenpair as ep
    try:
        ep.data("mnist", samples=10)
        return "mnist", n
    except ValueError:
        return "digits", min(n, 2000)


def embed(b, quick):
    patches = dict(method="whitened", views=2, ridge=0.001, eigen_tolerance=0.01)
    ways = {"pca": dict(method="pca", width=2000, augment="shift:2,rotate:10"),
            "8 patches": dict(patches, features="patches:8,7,4", augment="shift:2"),
            "64 patches": dict(patches, features="patches:64,7,4", augment="shift:2,rotate:10")}
    for n in (2000,) if quick else (2000, 5000, 20000, 60000):
        data, points = data_of(n)
        if points < n:
            print(f"embed n={n}: MNIST is not here (eigenpair data fetch mnist)")
            continue
        s = dict(data=data, n=points, test=1000, outputs=64, repeats=1, warm=False)
        peers = [("sklearn", "nystroem", {**s, "label": "Nystroem + PCA"})]
        for solver in ("auto", "randomized"):
            if solver == "auto" and n > 5000:  # all eigenpairs of an n x n matrix: hours
                continue
            peers.append(("sklearn", "kernelpca", {**s, "solver": solver, "label": f"KernelPCA {solver}",
                                                   "family": "KernelPCA"}))
        for way, options in ways.items():
            if way == "pca" and n > 5000:
                continue
            ours = ("eigenpair", "embed", {**s, "options": options})
            b.row(f"embed {data} n={n} {way}", ours, peers, accuracies, as_accurate,
                  f"embed {data} n={n}")


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
    parser.add_argument("--activations", default="relu,erf,tanh", help="of the analytic kernels, default %(default)s")
    parser.add_argument("--least", type=int, default=0, help="leaves out rows of fewer points than this")
    parser.add_argument("--most", type=int, default=10**9, help="leaves out rows of more points than this")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all")
    parser.add_argument("--timeout", type=float, default=600, help="seconds of a measurement, default %(default)g")
    options = parser.parse_args()
    print(", ".join(f"{p} {importlib.metadata.version(p)}" for p in PEERS) + f"; {options.threads} threads, best of some runs")
    print(f"{'':<46} {'peer':<26} {'ours ms':>10} {'theirs ms':>10} {'ratio':>7}  {'MB':>6} {'MB':>6}")
    with tempfile.TemporaryDirectory(prefix="eigenpair-peers-") as folder:
        bench = Bench(options, folder)
        for part in options.only.split(","):
            PARTS[part](bench, options.quick)
    for (part, peer), found in bench.ratios.items():
        least, asked = min((ratio, what) for what, ratio in found.items()), ASKED.get(part, (0, ""))
        said = f"; asked {asked[0]}: {'met' if least[0] >= asked[0] else 'not met'}" if asked[1] == peer else ""
        print(f"{part} over {peer}: at least {least[0]:.1f} ({least[1]}){said}")


if __name__ == "__main__":
    main()
