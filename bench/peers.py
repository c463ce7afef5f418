#!/usr/bin/python3
"""One epoch of gradient descent in PyTorch, float32, to hold eigenpair's against: all triplets at
once, relu network of one hidden layer, cosine similarity, linear loss. Two ways to write it:
`separate` calls the network for anchors, positives and negatives; `concatenated` puts them into one
matrix beforehand and calls it once. A JSON line for each width: milliseconds an epoch.
"""
import argparse
import json
import math
import statistics
import time

import numpy as np
import torch

DELTA = 0.01


def network(x, V, W):
    return torch.relu(x @ V.T) @ W / math.sqrt(V.shape[0])


def cosine(f, g):
    return (f * g).sum(1) / ((f.norm(dim=1) + DELTA) * (g.norm(dim=1) + DELTA))


def separate(triplets, V, W):
    a, p, n = (network(x, V, W) for x in triplets)
    return (cosine(a, n) - cosine(a, p)).mean()


def concatenated(points, V, W):
    a, p, n = network(points, V, W).chunk(3)
    return (cosine(a, n) - cosine(a, p)).mean()


def epoch(loss, points, V, W, rate):
    loss(points, V, W).backward()
    with torch.no_grad():
        for w in V, W:
            w -= rate * w.grad
            w.grad = None


def measure(loss, points, start, rate, seconds, least=3, warm_up=2):
    V, W = (w.clone().requires_grad_() for w in start)
    for _ in range(warm_up):
        epoch(loss, points, V, W, rate)
    times = []
    end = time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        begin = time.perf_counter()
        epoch(loss, points, V, W, rate)
        times.append(1e3 * (time.perf_counter() - begin))
    return {"best_ms": min(times), "median_ms": statistics.median(times), "epochs": len(times)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for part in "anchors", "positives", "negatives":
        parser.add_argument(f"--{part}", required=True, help="matrix (N, D), .npy")
    parser.add_argument("--widths", default="100,1000,10000", help="default %(default)s")
    parser.add_argument("--outputs", type=int, default=10, help="default %(default)s")
    parser.add_argument("--rate", type=float, default=1, help="default %(default)s")
    parser.add_argument("--seconds", type=float, default=5, help="of each way, default %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="default %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="of the weights, default %(default)s")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    triplets = [torch.from_numpy(np.load(f).astype(np.float32))
                for f in (options.anchors, options.positives, options.negatives)]
    if len({x.shape for x in triplets}) != 1 or triplets[0].ndim != 2:
        parser.error(f"shapes differ: {[tuple(x.shape) for x in triplets]}")
    together = torch.cat(triplets)
    anchors, inputs = triplets[0].shape
    for width in map(int, options.widths.split(",")):
        torch.manual_seed(options.seed)
        start = torch.randn(width, inputs), torch.randn(width, options.outputs)
        result = {"peer": f"torch {torch.__version__}", "threads": torch.get_num_threads(),
                  "anchors": anchors, "inputs": inputs, "outputs": options.outputs, "width": width}
        for loss, points in (separate, triplets), (concatenated, together):
            result[loss.__name__] = measure(loss, points, start, options.rate, options.seconds)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
