#!/usr/bin/python3
"""Writes ntk.npz: tangent kernels from explicit Jacobians by PyTorch's autograd in float64, the
reference of tests/cli/test_ntk.py. It shares no code and no derivative with the C library.

Keys are CASE__NAME. NAME is activation; input_scale (0 or 1); x (6, D), y (4, D), each with a zero
row; V (or V1..), W; K_xx (6, 6, Z, Z) and K_xy (6, 4, Z, Z) with K[x, y, i, j] the inner product of
df_i(x)/dtheta and df_j(y)/dtheta; f_x, f_y the outputs. Theory: sections 2 and 4.
"""
import math
import pathlib

import numpy as np
import torch

D, M, Z = 5, 8, 3
ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh, "linear": lambda a: a}


def network(weights, x, phi, scale):
    *V, W = weights
    h = phi(scale * (V[0] @ x))
    for v in V[1:]:
        h = phi(v @ h / math.sqrt(M))
    return W.T @ h / math.sqrt(M)


def jacobian(weights, points, phi, scale):
    """(n, Z, parameters), one backward pass an output and a point; and the outputs (n, Z)"""
    theta = [w.clone().requires_grad_() for w in weights]
    rows, values = [], []
    for x in points:
        f = network(theta, x, phi, scale)
        values.append(f.detach())
        for i in range(Z):
            g = torch.autograd.grad(f[i], theta, retain_graph=True)
            rows.append(torch.cat([a.reshape(-1) for a in g]))
    return torch.stack(rows).reshape(len(points), Z, -1), torch.stack(values)


def draw(seed, depth):
    r = np.random.default_rng(seed)
    x, y = r.normal(size=(6, D)), r.normal(size=(4, D))
    x[2] = 0
    y[1] = 0
    y[3] = x[4]  # one point is in both sets
    return x, y, [r.normal(size=s) for s in [(M, D)] + [(M, M)] * (depth - 1) + [(M, Z)]]


def names(depth):
    return (["V"] if depth == 1 else [f"V{i + 1}" for i in range(depth)]) + ["W"]


def cases():
    for activation in ACTIVATIONS:
        for depth in 1, 3:
            yield f"{activation}_depth{depth}", activation, depth, False
    yield "tanh_depth3_input_scale", "tanh", 3, True


def main():
    torch.set_num_threads(1)
    out = {}
    for seed, (name, activation, depth, scaled) in enumerate(cases()):
        x, y, weights = draw(seed, depth)
        scale = 1 / math.sqrt(D) if scaled else 1.0
        (Jx, fx), (Jy, fy) = (jacobian([torch.tensor(w) for w in weights], torch.tensor(p),
                                       ACTIVATIONS[activation], scale) for p in (x, y))
        K_xx = torch.einsum("xip,yjp->xyij", Jx, Jx)
        K_xy = torch.einsum("xip,yjp->xyij", Jx, Jy)
        assert torch.isfinite(K_xx).all() and (K_xx[4, 4] - K_xy[4, 3]).abs().max() < 1e-12
        print(f"{name:26} |K| {K_xx.norm():10.4f}, zero row {K_xx[2].abs().max():.4f}")
        entries = {"activation": activation, "input_scale": int(scaled), "x": x, "y": y,
                   "f_x": fx.numpy(), "f_y": fy.numpy(), "K_xx": K_xx.numpy(), "K_xy": K_xy.numpy()}
        entries |= dict(zip(names(depth), weights))
        out |= {f"{name}__{key}": np.asarray(value) for key, value in entries.items()}
    np.savez_compressed(pathlib.Path(__file__).resolve().parent / "ntk.npz", **out)


if __name__ == "__main__":
    main()
