#!/usr/bin/python3
"""Writes gd.npz: gradient descent by PyTorch's autograd in float64, the reference of
tests/cli/test_reference.py. It shares no code and no derivative with the C library.

Keys are CASE__NAME. NAME is activation, similarity, loss, rate; anchors (N, D), positives0.. and
negatives0.. (N, D); start_V (or start_V1..), start_W; history, the loss after 0 .. EPOCHS steps;
final_V .., final_W. Theory: sections 2 and 3.
"""
import math
import pathlib

import numpy as np
import torch

EPOCHS = 20
N, D, M, Z = 7, 9, 13, 4
DELTA, TAU, EPSILON = 0.01, 0.5, 1.0
ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


# ---- network and similarities


def network(weights, x, phi):
    *V, W = weights
    h = phi(x @ V[0].T)
    for v in V[1:]:
        h = phi(h @ v.T / math.sqrt(M))
    return h @ W / math.sqrt(M)


def norm(f):
    """|f| of each row; its gradient is 0 where f = 0, where sqrt's would be infinite."""
    square = (f * f).sum(1)
    zero = square == 0
    return square.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


def dot(f, g):
    return (f * g).sum(1)


def cosine(f, g):
    return dot(f, g) / ((norm(f) + DELTA) * (norm(g) + DELTA))


# ---- losses: f of the anchors, lists of f of the positives and of the negatives, similarity s


def linear(f, positives, negatives, s):
    return (sum(s(f, g) for g in negatives) - sum(s(f, g) for g in positives)).mean()


def softmax(f, positives, negatives, s):
    p = torch.stack([s(f, g) for g in positives]) / TAU
    n = torch.stack([s(f, g) for g in negatives]) / TAU
    return (torch.log(EPSILON * p.exp().sum(0) + n.exp().sum(0)) - p.mean(0)).mean()


def ntxent(f, positives, negatives, s):
    views = torch.cat([f, positives[0]])
    total = 0
    for i in range(2 * N):
        others = [j for j in range(2 * N) if j != i]
        e = s(views[i].expand(2 * N - 1, Z), views[others]) / TAU
        total = total + torch.log(e.exp().sum()) - e[others.index((i + N) % (2 * N))]
    return total / (2 * N)


def spectral(f, positives, negatives, s):
    return (-2 * s(f, positives[0]) + s(f, negatives[0]) ** 2).mean()


def noncontrastive(f, positives, negatives, s):
    return -sum(s(f, g) for g in positives).mean()


def off_diagonal(c):
    return c[~torch.eye(Z, dtype=torch.bool)]


def barlow(f, positives, negatives, s):
    def standard(y):
        return (y - y.mean(0)) / torch.sqrt(y.var(0, unbiased=False) + 1e-5)

    c = standard(f).T @ standard(positives[0]) / N
    return ((1 - torch.diagonal(c)) ** 2).sum() + 0.005 * (off_diagonal(c) ** 2).sum()


def vicreg(f, positives, negatives, s):
    loss = 25 * torch.nn.functional.mse_loss(f, positives[0])
    for y in f, positives[0]:
        y = y - y.mean(0)
        loss = loss + 25 * torch.relu(1 - torch.sqrt(y.var(0) + 1e-4)).mean() / 2
        loss = loss + (off_diagonal(y.T @ y / (N - 1)) ** 2).sum() / Z
    return loss


# ---- cases


def draw(seed, depth, positives, negatives):
    r = np.random.default_rng(seed)
    anchors = r.normal(size=(N, D)) / math.sqrt(D)
    shapes = [(M, D)] + [(M, M)] * (depth - 1) + [(M, Z)]
    return {
        "anchors": anchors,
        "positives": [anchors + 0.2 * r.normal(size=(N, D)) for _ in range(positives)],
        "negatives": [r.normal(size=(N, D)) / math.sqrt(D) for _ in range(negatives)],
        "weights": [r.normal(size=s) for s in shapes],
    }


def zero_point(case):
    """One positive is all zero, so f = 0 there, and no weight depends on it."""
    case["positives"][0][3] = 0


def zero_output(case):
    """One positive has f = 0 at the start as two units cancel: the weights do depend on it."""
    case["positives"][0][3] = 0
    case["positives"][0][3, D - 1] = 1
    V, W = case["weights"]
    V[:, D - 1] = 0
    V[:2, D - 1] = 0.5
    W[0] = 1, -1, 1, 1
    W[1] = -W[0]


def descend(case, activation, similarity, loss, rate):
    phi, s = ACTIVATIONS[activation], {"dot": dot, "cosine": cosine}[similarity]
    anchors = torch.tensor(case["anchors"])
    positives = [torch.tensor(x) for x in case["positives"]]
    negatives = [torch.tensor(x) for x in case["negatives"]]
    theta = [torch.tensor(w, requires_grad=True) for w in case["weights"]]
    history = []
    for epoch in range(EPOCHS + 1):
        f = network(theta, anchors, phi)
        value = loss(f, [network(theta, x, phi) for x in positives],
                     [network(theta, x, phi) for x in negatives], s)
        history.append(value.item())
        if epoch < EPOCHS:
            gradient = torch.autograd.grad(value, theta)
            theta = [(w - rate * g).detach().requires_grad_() for w, g in zip(theta, gradient)]
    return history, [w.detach().numpy() for w in theta]


def layers(weights):
    depth = len(weights) - 1
    return ["V"] * (depth == 1) + [f"V{i + 1}" for i in range(depth)] * (depth > 1) + ["W"]


def cases():
    """name, activation, similarity, loss, rate, depth, positives, negatives, change of the data"""
    for a in ACTIVATIONS:
        for s, rate in ("dot", 0.02), ("cosine", 0.3):
            for loss in linear, softmax:
                yield f"{a}_{s}_{loss.__name__}", a, s, loss, rate, 1, 1, 1, zero_point
        yield f"{a}_cosine_linear_depth3", a, "cosine", linear, 0.3, 3, 1, 1, zero_point
        yield f"{a}_cosine_linear_zero_output", a, "cosine", linear, 0.3, 1, 1, 1, zero_output
        yield f"{a}_cosine_softmax_2+3", a, "cosine", softmax, 0.3, 1, 2, 3, zero_point
        yield f"{a}_cosine_ntxent", a, "cosine", ntxent, 0.3, 1, 1, 0, zero_point
        yield f"{a}_dot_spectral", a, "dot", spectral, 0.02, 1, 1, 1, zero_point
        yield f"{a}_cosine_noncontrastive", a, "cosine", noncontrastive, 0.3, 1, 1, 0, zero_point
        yield f"{a}_dot_barlow", a, "dot", barlow, 0.01, 1, 1, 0, None
        yield f"{a}_dot_vicreg", a, "dot", vicreg, 0.01, 1, 1, 0, None


def main():
    torch.set_num_threads(1)
    out = {}
    for seed, (name, activation, similarity, loss, rate, depth, p, n, change) in enumerate(cases()):
        case = draw(seed, depth, p, n)
        if change:
            change(case)
        history, final = descend(case, activation, similarity, loss, rate)
        moved = max(abs(b - a).max() for a, b in zip(case["weights"], final))
        assert np.isfinite(history).all() and moved > 1e-3, name
        print(f"{name:32} loss {history[0]:9.5f} -> {history[-1]:9.5f}, moved {moved:.3f}")
        entries = {"activation": activation, "similarity": similarity, "loss": loss.__name__,
                   "rate": rate, "anchors": case["anchors"], "history": history}
        for part in "positives", "negatives":
            entries |= {f"{part}{i}": x for i, x in enumerate(case[part])}
        for when, weights in ("start", case["weights"]), ("final", final):
            entries |= {f"{when}_{layer}": w for layer, w in zip(layers(weights), weights)}
        out |= {f"{name}__{key}": np.asarray(value) for key, value in entries.items()}
    np.savez_compressed(pathlib.Path(__file__).resolve().parent / "gd.npz", **out)


if __name__ == "__main__":
    main()
