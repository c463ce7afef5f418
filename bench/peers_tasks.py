#!/usr/bin/env python3
"""One measurement, in a process of its own: `peers_tasks.py WHO TASK SETTINGS OUT`. SETTINGS are JSON; the numbers that were
computed go to OUT (.npy), for the errors. Prints JSON: seconds (the best of some), peak memory, versions.

WHO is eigenpair or a peer; a task is a function WHO_TASK(settings) -> (what to time, what to make of its result, repeats)."""
import json
import math
import resource
import sys
import time
import types

import numpy as np


def points(s):
    """(n, d) in float32, |x|^2 about d, so that kernels scale as networks like it"""
    return np.random.default_rng(0).normal(size=(s["n"], s["d"])).astype(np.float32)


def weights(s):
    """V1 .. VL and W of a network in the NTK parametrisation"""
    rng = np.random.default_rng(1)
    shapes = [(s["width"], s["d"])] + [(s["width"],) * 2] * (s["depth"] - 1) + [(s["width"], s["outputs"])]
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


# ---- training: all triplets at once, cosine similarity, linear loss; seconds an epoch

def eigenpair_train(s):
    import eigenpair as ep
    parts = [points({**s, "n": 3 * s["n"]})[i::3] for i in range(3)]
    options = dict(method="gd", width=s["width"], n_components=s["outputs"], scale="raw", loss="linear", similarity="cosine")

    def fit(epochs):
        return ep.Contrastive(**options, epochs=epochs).fit_pairs(*parts)

    fit(1)
    start = time.perf_counter()
    fit(0)
    empty = time.perf_counter() - start
    return lambda: fit(s["epochs"]), lambda m: m.history_["loss"][-1:], lambda t: max(t - empty, 1e-6) / s["epochs"]


def torch_train(s):
    import peers
    import torch
    torch.set_num_threads(s["threads"])
    parts = torch.cat([torch.from_numpy(points({**s, "n": 3 * s["n"]})[i::3].copy()) for i in range(3)])
    torch.manual_seed(0)
    V, W = (torch.randn(s["width"], k).requires_grad_() for k in (s["d"], s["outputs"]))

    def fit():
        for _ in range(s["epochs"]):
            peers.epoch(peers.concatenated, parts, V, W, 1.0)

    return fit, lambda _: np.zeros(1), lambda t: t / s["epochs"]


# ---- the tangent kernel of a finite network, (n, n, Z, Z)

def eigenpair_ntk(s):
    import eigenpair as ep
    *V, W = weights(s)
    names = ["V"] if len(V) == 1 else [f"V{i + 1}" for i in range(len(V))]
    net = {**dict(zip(names, V)), "W": W, "activation": s["activation"]}
    model = ep.Contrastive(method="gd", epochs=0, init=net, scale="raw", activation=s["activation"],
                           n_components=s["outputs"]).fit(points(s)[:2]).model_
    X = points(s)
    return lambda: ep.ntk(model, X, layout=s["layout"]), np.asarray, None


def torch_ntk(s):
    import peers_ntk
    import torch
    torch.set_num_threads(s["threads"])
    theta, X = tuple(map(torch.from_numpy, weights(s))), torch.from_numpy(points(s))
    return lambda: peers_ntk.kernel(theta, X), lambda K: K.numpy(), None


def tangents():
    """neural-tangents without its part for TensorFlow, which it imports and we do not use"""
    sys.modules["neural_tangents.experimental"] = types.ModuleType("neural_tangents.experimental")
    import jax
    import neural_tangents as nt
    return jax, nt


def neural_tangents_ntk(s):
    jax, nt = tangents()
    theta = [jax.numpy.asarray(w) for w in weights(s)]
    X = jax.numpy.asarray(points(s))
    phi = {"relu": jax.nn.relu, "tanh": jax.numpy.tanh, "erf": jax.scipy.special.erf}[s["activation"]]

    def f(parameters, x):
        *V, W = parameters
        h = phi(x @ V[0].T)
        for v in V[1:]:
            h = phi(h @ v.T / math.sqrt(len(v)))
        return h @ W / math.sqrt(len(W))

    axes = () if s["layout"] == "full" else (-1,)
    kernel = nt.empirical_ntk_fn(f, vmap_axes=0, trace_axes=axes, implementation=s["implementation"])
    batch = s.get("batch")  # blocks of so many points a side, as its users do where one block does not fit
    kernel = nt.batch(kernel, batch_size=batch, device_count=0) if batch else jax.jit(kernel)
    return lambda: np.asarray(kernel(X, None, theta)), np.asarray, None


# ---- kernels of infinite width

def eigenpair_analytic(s):
    import eigenpair as ep
    X = points(s)
    return lambda: ep.analytic_kernel(X, kind=s["kind"], depth=s["depth"], activation=s["activation"],
                                      input_scale=True), np.asarray, None


def neural_tangents_analytic(s):
    jax, nt = tangents()
    jax.config.update("jax_enable_x64", s.get("x64", False))
    stax = nt.stax
    phi = {"relu": stax.Relu, "erf": stax.Erf, "gelu": stax.Gelu,
           "tanh": lambda: stax.ElementwiseNumerical(jax.numpy.tanh, deg=25)}[s["activation"]]
    layers = [part for _ in range(s["depth"]) for part in (stax.Dense(1), phi())]
    kernel = jax.jit(stax.serial(*layers, stax.Dense(1))[2], static_argnums=2)
    X = jax.numpy.asarray(points(s).astype(np.float64 if s.get("x64") else np.float32))
    return lambda: kernel(X, None, s["kind"]).block_until_ready(), np.asarray, None


# ---- representations: fit and embed; the embedding of training and test points goes on to a probe

def images(s):
    """training and test points with labels: MNIST where it is, else the embedded digits"""
    import eigenpair as ep
    name = s["data"]
    X, y = ep.data(name, samples=s["n"])
    X_test, y_test = ep.data(f"{name}:test", samples=s["test"])
    return X, y, X_test, y_test


def embedding(fit_transform, s):
    X, y, X_test, y_test = images(s)

    def run():
        model = fit_transform(X)
        return model.transform(X), model.transform(X_test)

    def judged(found):
        import eigenpair as ep
        return np.array([ep.probe(found[0], y, found[1], y_test, kind="knn").accuracy])

    return run, judged, None


def eigenpair_embed(s):
    from eigenpair import Contrastive  # as theirs: what is imported is not timed
    return embedding(lambda X: Contrastive(n_components=s["outputs"], image_shape=(28, 28), **s["options"]).fit(X), s)


def sklearn_kernelpca(s):
    from sklearn.decomposition import KernelPCA
    return embedding(lambda X: KernelPCA(s["outputs"], kernel="rbf", gamma=0.03, eigen_solver=s["solver"],
                                         random_state=0).fit(X), s)


def sklearn_nystroem(s):
    from sklearn.decomposition import PCA
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    return embedding(lambda X: make_pipeline(Nystroem(gamma=0.03, n_components=min(1000, s["n"]), random_state=0),
                                             PCA(s["outputs"])).fit(X), s)


# ---- the map of an embedding

def map_points(s):
    import eigenpair as ep
    X, y = ep.data(s["data"], samples=s["n"])
    return X, y


def eigenpair_map(s):
    import subprocess
    import tempfile

    from eigenpair._program import program
    X, _ = map_points(s)
    folder = tempfile.mkdtemp()
    np.save(f"{folder}/e.npy", X)
    line = [program(), "explore", "--embedding", f"{folder}/e.npy", "--probe", "none", "--out", f"{folder}/map.html", "--json"]
    return lambda: subprocess.run(line, check=True, capture_output=True), lambda _: np.zeros(1), None


def umap_map(s):
    import umap
    X, _ = map_points(s)
    return lambda: umap.UMAP(metric="cosine", random_state=0, n_jobs=1).fit_transform(X), lambda _: np.zeros(1), None


def main():
    who, task, settings, out = sys.argv[1:5]
    s = json.loads(settings)
    run, result, scaled = globals()[f"{who}_{task}"](s)
    if s.get("warm", True):
        run()  # compiled, threads awake
    times = []
    while len(times) < s.get("repeats", 3) and sum(times) < 10:
        start = time.perf_counter()
        found = run()
        times.append(time.perf_counter() - start)
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    peak = max(resource.getrusage(kind).ru_maxrss for kind in kinds) / 1024
    np.save(out, result(found))
    seconds = min(times) if scaled is None else scaled(min(times))
    print(json.dumps({"seconds": seconds, "peak_mb": peak}))


if __name__ == "__main__":
    main()
