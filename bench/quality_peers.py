#!/usr/bin/python3
"""Accuracy at equal time: our closed form beside what one would run instead, on the same images, cores and probes.

    bench/quality_peers.py [--data cifar10] [--seconds 30,60,120,300,600] [--only simclr,ours] [--json FILE] [--picture FILE]

simclr    a small convolutional network (Debian's PyTorch) trained by NT-Xent on two views, looked at when so many seconds are over
pca       of pixels;  kernelpca, nystroem (and PCA): scikit-learn's, of more and more points or landmarks
patches   random whitened patches as filters, rectified and pooled, then PCA: scikit-learn's patches, NumPy's products
ours      eigenpair fit --method whitened with more and more filters

Every method sees all training images without their labels, takes as many threads as there are cores, and gives 256 numbers an image
(pixels: all of them). Seconds are of fit and of embedding both parts; probes (eigenpair probe: knn, linear) are beside that."""
import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

import numpy as np

from quality import COLOUR, CLOTH, PROGRAM, SETS, Trial, run, show

OUTPUTS = 256


class Bench:
    """The images of a set, (n, channels, height, width) between 0 and 1, a folder for embeddings, and the rows that were found."""

    def __init__(self, folder, data, args):
        self.folder, self.data, self.args, self.rows = pathlib.Path(folder), data, args, []
        channels = [int(x) for x in SETS[data]["image"].split("x")]
        self.shape = tuple(channels if len(channels) == 3 else [1, *channels])
        self.X = [self.read(part, n).reshape(-1, *self.shape) for part, n in (("", args.samples), (":test", args.test_samples))]

    def read(self, part, n):
        name = self.folder / f"x{part[1:]}.npy"
        run("data", "convert", "--data", self.data + part, "--scale", "raw", *(["--samples", n] if n else []), "--out", name,
            "--labels-out", self.folder / f"y{part[1:]}.npy")
        X = np.load(name).astype(np.float32)
        return X / X.max()

    def judge(self, method, setting, seconds, train, test):
        """a row: embeddings as arrays, or files that are there"""
        for name, Z in (("train", train), ("test", test)):
            if Z is not None:
                np.save(self.folder / f"{name}.npy", np.asarray(Z, dtype=np.float32))
        f = self.folder
        out = run("probe", "--embedding", f / "train.npy", "--labels", f / "y.npy", "--test-embedding", f / "test.npy", "--test-labels",
                  f / "ytest.npy", "--ridge", "auto", "--probe", "knn,linear", "--memory", SETS[self.data]["memory"])
        found = {p["probe"]: 100 * p["accuracy"] for p in out["probes"]}
        self.rows.append(dict(method=method, setting=setting, seconds=seconds, **found))
        show(f"| {method} | {setting} | {seconds:.0f} | {found['knn']:.1f} | {found['linear']:.1f} |")

    def timed(self, method, setting, fit):
        """fit(training images, flat) -> what embeds such images"""
        flat, begin = [x.reshape(len(x), -1) for x in self.X], time.monotonic()
        transform = fit(flat[0])
        Z = [transform(x) for x in flat]
        self.judge(method, setting, time.monotonic() - begin, *Z)


# ---- scikit-learn

def median_gamma(X):
    """one over the median of squared distances"""
    a, b = X[:1000], X[1000:2000] if len(X) >= 2000 else X[:1000][::-1]
    return 1 / float(np.median(((a[:len(b)] - b[:len(a)]) ** 2).sum(1)))


def pixels(bench):
    bench.judge("pixels", "as they are", 0, *(x.reshape(len(x), -1) for x in bench.X))


def pca(bench):
    from sklearn.decomposition import PCA
    bench.timed("pca", "of pixels", lambda X: PCA(OUTPUTS, random_state=0).fit(X).transform)


def kernelpca(bench):
    from sklearn.decomposition import KernelPCA
    for n in (1000, 3000, 6000):
        def fit(X, n=n):
            return KernelPCA(min(OUTPUTS, n), kernel="rbf", gamma=median_gamma(X), eigen_solver="randomized",
                             random_state=0).fit(X[:n]).transform
        bench.timed("kernelpca", f"of {n} points", fit)


def nystroem(bench):
    from sklearn.decomposition import PCA
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    for n in (1000, 3000, 6000):
        def fit(X, n=n):
            return make_pipeline(Nystroem(gamma=median_gamma(X), n_components=n, random_state=0),
                                 PCA(OUTPUTS, random_state=0)).fit(X).transform
        bench.timed("nystroem", f"{n} landmarks, PCA", fit)


def patches(bench):
    """Coates and Ng, with PCA in the place of their classifier"""
    from sklearn.decomposition import PCA
    from sklearn.feature_extraction.image import PatchExtractor
    size = 6

    def rows_of(images):  # (n, places, numbers), contrast-normalised
        n, c, h, w = images.shape
        view = np.lib.stride_tricks.sliding_window_view(images, (size, size), axis=(2, 3))
        P = view.transpose(0, 2, 3, 1, 4, 5).reshape(n, (h - size + 1) * (w - size + 1), c * size * size)
        P = P - P.mean(2, keepdims=True)
        return P / np.sqrt(P.var(2, keepdims=True) + 0.01)

    for K in (64, 256, 1024):
        def fit(X, K=K):
            images = X.reshape(-1, *bench.shape)
            drawn = PatchExtractor(patch_size=(size, size), max_patches=10, random_state=0).transform(
                np.ascontiguousarray(images[:5000].transpose(0, 2, 3, 1)))
            D = rows_of(np.ascontiguousarray(drawn.reshape(len(drawn), size, size, -1).transpose(0, 3, 1, 2)))[:, 0]
            mean = D.mean(0)
            values, vectors = np.linalg.eigh(np.cov((D - mean).T))
            zca = (vectors / np.sqrt(values + 0.01 * values.mean())) @ vectors.T
            F = (D[:K] - mean) @ zca
            F = (zca @ (F / np.linalg.norm(F, axis=1, keepdims=True)).T).astype(np.float32)
            half = mean.astype(np.float32) @ F

            def features(X):
                images, out = X.reshape(-1, *bench.shape), []
                side = images.shape[2] - size + 1, images.shape[3] - size + 1
                for i in range(0, len(images), 100):
                    R = np.maximum(rows_of(images[i:i + 100]).astype(np.float32) @ F - half - 1, 0).reshape(-1, *side, K)
                    cut = side[0] // 2, side[1] // 2
                    out.append(np.concatenate([R[:, a, b].mean((1, 2)) for a in (slice(None, cut[0]), slice(cut[0], None))
                                               for b in (slice(None, cut[1]), slice(cut[1], None))], 1))
                return np.concatenate(out)

            seen = features(X)
            model = PCA(min(OUTPUTS, 4 * K), whiten=True, random_state=0).fit(seen)
            known = {id(X): seen}
            return lambda Y: model.transform(known[id(Y)] if id(Y) in known else features(Y))
        bench.timed("patches", f"{K} filters, PCA", fit)


# ---- PyTorch

def simclr(bench):
    """Two views a step: crops, flips, and for colour jitter and grey, drawn for each image on the CPU as tensors."""
    import torch
    import torch.nn.functional as F
    torch.manual_seed(0)
    torch.set_num_threads(os.cpu_count())
    X, channels = torch.from_numpy(bench.X[0]), bench.shape[0]

    def block(a, b, stride):
        return [torch.nn.Conv2d(a, b, 3, stride=stride, padding=1, bias=False), torch.nn.BatchNorm2d(b), torch.nn.ReLU()]

    net = torch.nn.Sequential(*block(channels, 32, 1), *block(32, 64, 2), *block(64, 128, 2), *block(128, 256, 2),
                              torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    head = torch.nn.Sequential(torch.nn.Linear(OUTPUTS, OUTPUTS), torch.nn.ReLU(), torch.nn.Linear(OUTPUTS, 64))
    steps = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-3, weight_decay=1e-6)

    def views(x):
        n = len(x)
        scale, flip = 0.5 + 0.5 * torch.rand(n), 1 - 2 * (torch.rand(n) < 0.5).float()
        theta = torch.zeros(n, 2, 3)  # of its area a half or more, as our crop:0.5-1
        side = scale.sqrt()
        theta[:, 0, 0], theta[:, 1, 1] = side * flip, side
        theta[:, :, 2] = (2 * torch.rand(n, 2) - 1) * (1 - side)[:, None]
        x = F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False, padding_mode="reflection")
        change = 1 + 0.4 * (2 * torch.rand(3, n, 1, 1, 1) - 1)
        x = x * change[0]
        x = (x - x.mean((2, 3), keepdim=True)) * change[1] + x.mean((2, 3), keepdim=True)
        if channels == 3:
            grey = x.mean(1, keepdim=True)
            x = grey + (x - grey) * change[2] * (torch.rand(n, 1, 1, 1) >= 0.2).float()
        return x

    def embedded():
        net.eval()
        with torch.no_grad():
            Z = [torch.cat([net(torch.from_numpy(x[i:i + 500])) for i in range(0, len(x), 500)]).numpy() for x in bench.X]
        net.train()
        return Z

    batch, used, epochs = 256, 0.0, 0.0
    for most in bench.args.seconds:
        begin = time.monotonic()
        while used + time.monotonic() - begin < most:
            x = X[torch.randint(len(X), (batch,))]
            z = F.normalize(head(net(torch.cat([views(x), views(x)]))))
            s = (z @ z.T / 0.2).masked_fill(torch.eye(2 * batch, dtype=torch.bool), float("-inf"))
            loss = F.cross_entropy(s, torch.cat([torch.arange(batch, 2 * batch), torch.arange(batch)]))
            steps.zero_grad()
            loss.backward()
            steps.step()
            epochs += batch / len(X)
        used += time.monotonic() - begin
        begin = time.monotonic()
        Z = embedded()
        bench.judge("simclr", f"{epochs:.1f} epochs of training", used + time.monotonic() - begin, *Z)


# ---- ours

def ours(bench):
    colour, args = bench.shape[0] == 3, bench.args

    def points(part, n):
        return ["--data", bench.data + part, "--scale", "raw", *(["--samples", n] if n else [])]

    grid = 2 if colour else 3
    for K in (16, 32, 64, 128, 256):
        setting = dict(features=f"stack:{K}x6,pool={grid},root,mirror", augment=COLOUR if colour else CLOTH, views=2,
                       outputs=min(OUTPUTS, 2 * K * grid ** 2))
        trial = Trial(bench.folder, points("", args.samples), points(":test", args.test_samples), setting, 0, SETS[bench.data]["memory"])
        bench.judge("ours", f"{K} filters", trial.seconds, None, None)


METHODS = dict(pixels=pixels, pca=pca, kernelpca=kernelpca, nystroem=nystroem, patches=patches, simclr=simclr, ours=ours)


def picture(rows, file, data):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for axis, probe, name in zip(axes, ("knn", "linear"), ("nearest neighbours", "linear probe")):
        for method in METHODS:
            mine = sorted((r["seconds"], r[probe]) for r in rows if r["method"] == method)
            if method == "pixels" and mine:
                axis.axhline(mine[0][1], color="grey", linestyle=":")
                axis.annotate("pixels", (axis.get_xlim()[0], mine[0][1]))
            elif mine:
                line, = axis.plot(*zip(*mine), marker="o", linewidth=2.5 if method == "ours" else 1.2)
                axis.annotate(" " + method, mine[-1], color=line.get_color(), va="center")
        axis.set(xscale="log", xlabel="seconds of fit and embedding, two cores", title=f"{data}: {name}")
        axis.margins(x=0.2)
    axes[0].set_ylabel("test accuracy, per cent")
    figure.savefig(file, dpi=120)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", default="cifar10", choices=[d for d in SETS if d != "digits"])
    p.add_argument("--seconds", type=lambda s: sorted(float(x) for x in s.split(",")), default=[30, 60, 120, 300, 600])
    p.add_argument("--only", type=lambda s: s.split(","), default=list(METHODS))
    p.add_argument("--samples", type=int, default=0, help="training points; 0: all")
    p.add_argument("--test-samples", type=int, default=0)
    p.add_argument("--json", help="the rows, for machines")
    p.add_argument("--picture", help="accuracy against time, as .png or .svg")
    args = p.parse_args()
    for method in args.only:
        if method not in METHODS:
            p.error(f"'{method}' is none of: {', '.join(METHODS)}")
    if not os.access(PROGRAM, os.X_OK):
        sys.exit(f"quality_peers: {PROGRAM} is not there: make build")
    show(f"{args.data}, test accuracy in per cent\n\n| method | setting | seconds | knn | linear |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, args.data, args)
        for method in args.only:
            METHODS[method](bench)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(bench.rows, indent=2))
    if args.picture:
        picture(bench.rows, args.picture, args.data)


if __name__ == "__main__":
    main()
