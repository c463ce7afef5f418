#!/usr/bin/python3
"""The tangent kernel of one set of points in PyTorch, float32, to hold `eigenpair ntk` against: functorch's
Jacobian contraction (its neural tangent kernel tutorial): the Jacobian by vmap(jacrev) of a functional model, then
one einsum a layer of parameters. Kinder than the tutorial: the points are one set, so there is one Jacobian, not two.

  two   16 points of dimension 784, one hidden relu layer of 10,000, 10 outputs
  deep  16 points of dimension 3072, three hidden relu layers of 2048, 8 outputs

One JSON line: seconds (best of the runs) and the peak of the process's memory in MB.
"""
import argparse
import json
import math
import resource
import time
import warnings

import torch
from functorch import jacrev, vmap

CASES = {"two": dict(points=16, inputs=784, width=10000, depth=1, outputs=10),
         "deep": dict(points=16, inputs=3072, width=2048, depth=3, outputs=8)}


def network(theta, x):
    """NTK parametrisation: the first layer unscaled, the others over the square root of the width."""
    *V, W = theta
    h = torch.relu(V[0] @ x)
    for v in V[1:]:
        h = torch.relu(v @ h / math.sqrt(len(v)))
    return h @ W / math.sqrt(len(W))


def kernel(theta, X):
    """(n, n, Z, Z)"""
    jacobian = vmap(jacrev(network), (None, 0))(theta, X)
    total = 0
    for J in jacobian:
        J = J.flatten(2)
        total = total + torch.einsum("xip,yjp->xyij", J, J)
    return total


def check():
    """Against autograd, a row of the Jacobian at a time."""
    torch.manual_seed(1)
    theta, X = start(points=3, inputs=5, width=7, depth=3, outputs=2)
    leaves = [w.requires_grad_() for w in theta]
    rows = [torch.cat([g.flatten() for g in torch.autograd.grad(network(leaves, x)[i], leaves)])
            for x in X for i in range(2)]
    J = torch.stack(rows).reshape(3, 2, -1)
    want = torch.einsum("xip,yjp->xyij", J, J)
    got = kernel(tuple(w.detach() for w in theta), X)
    assert torch.allclose(got, want, rtol=1e-4, atol=1e-5 * float(want.abs().max()))


def start(points, inputs, width, depth, outputs):
    shapes = [(width, inputs)] + [(width, width)] * (depth - 1) + [(width, outputs)]
    return tuple(torch.randn(s) for s in shapes), torch.randn(points, inputs) / math.sqrt(inputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=CASES, required=True)
    parser.add_argument("--runs", type=int, default=3, help="default %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="default %(default)s")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(options.threads)
    check()
    torch.manual_seed(0)
    theta, X = start(**CASES[options.case])
    seconds = []
    for _ in range(options.runs):
        begin = time.perf_counter()
        K = kernel(theta, X)
        seconds.append(time.perf_counter() - begin)
        assert torch.isfinite(K).all()
        del K
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"case": options.case, "seconds": round(min(seconds), 3), "peak_mb": round(peak),
                      "peer": f"torch {torch.__version__} functorch", "threads": torch.get_num_threads(),
                      "all_seconds": [round(s, 3) for s in seconds], **CASES[options.case]}), flush=True)


if __name__ == "__main__":
    main()
