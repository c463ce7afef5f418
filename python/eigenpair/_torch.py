"""Networks of PyTorch, both ways. PyTorch is imported when one of these is called, not before."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from eigenpair._export import Step, steps_of
from eigenpair._model import Model
from eigenpair._network import from_arrays


def _activation_name(layer: Any) -> Any:
    """The library's word for a layer of torch.nn; None: it is none."""
    kind = type(layer).__name__
    plain = {"ReLU": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Identity": "linear"}
    if kind in plain:
        return plain[kind]
    if kind == "LeakyReLU":
        return f"leaky:{layer.negative_slope!r}"
    if kind == "GELU" and getattr(layer, "approximate", "none") == "none":
        return "gelu"
    return None


def _flat(module: Any) -> list[Any]:
    """Layers of nested Sequentials, in order."""
    if type(module).__name__ == "Sequential":
        return [layer for child in module.children() for layer in _flat(child)]
    return [module]


def _read(module: Any) -> tuple[list[Any], list[str]]:
    """Linear layers, and the activation behind each but the last."""
    linear: list[Any] = []
    phi: list[str] = []
    for place, layer in enumerate(_flat(module)):
        kind = type(layer).__name__
        name = _activation_name(layer)
        if kind == "Linear":
            if len(phi) < len(linear):
                phi.append("linear")
            linear.append(layer)
        elif kind == "Flatten" and not linear and layer.start_dim == 1:
            continue
        elif name is not None and len(phi) == len(linear) - 1:
            phi.append(name)
        elif name == "linear":
            continue
        else:
            what = f"GELU(approximate={layer.approximate!r})" if kind == "GELU" else kind
            raise ValueError(f"layer {place} is {what}: from_torch reads a Sequential of Flatten, Linear, and one of ReLU, "
                             "LeakyReLU, Tanh, Sigmoid, GELU or Identity between two Linear")
    if len(linear) < 2 or len(phi) != len(linear) - 1:
        raise ValueError("a network has a hidden layer at least, and no activation behind the last Linear: "
                         f"here are {len(linear)} Linear and {len(phi)} activations")
    return linear, phi


def from_torch(module: Any) -> Model:
    """Reads a torch.nn.Sequential of Linear, activations and Flatten, in the standard parametrisation.

    Parameters
    ----------
    module : with float32 or float64 parameters; biases and any widths

    Returns
    -------
    Model: `embed` computes what the module does, `eigenpair.ntk` its tangent kernel with respect to its parameters

    Examples
    --------
    >>> import torch, eigenpair as ep
    >>> module = torch.nn.Sequential(torch.nn.Linear(5, 30), torch.nn.Tanh(), torch.nn.Linear(30, 2))
    >>> model = ep.from_torch(module)
    >>> model.n_features_in, model.n_components
    (5, 2)
    """
    linear, phi = _read(module)
    kind = str(linear[0].weight.dtype)
    if kind not in ("torch.float32", "torch.float64"):
        raise ValueError(f"parameters are {kind}: from_torch reads float32 and float64 (module.float() makes them so)")
    first = linear[0].weight.detach().cpu().numpy()
    weights: dict[str, Any] = {"parametrisation": "standard"}
    for i, layer in enumerate(linear):
        last = i == len(linear) - 1
        w = layer.weight.detach().cpu().numpy()
        weights["W" if last else f"V{i + 1}"] = w.T if last else w
        if layer.bias is not None:
            weights["c" if last else f"b{i + 1}"] = layer.bias.detach().cpu().numpy()
    weights["layers"] = ",".join(f"{layer.out_features}:{name}" for layer, name in zip(linear, phi))
    if len(linear) == 2:
        for name in ("V", "b"):
            if f"{name}1" in weights:
                weights[name] = weights.pop(f"{name}1")
    return from_arrays(weights, first.dtype, phi[0])


def to_torch(model: Any) -> Any:
    """A torch.nn.Module that computes what a model does.

    Parameters
    ----------
    model : a Model or a fitted estimator: a network, patches or a stack

    Returns
    -------
    torch.nn.Module: (n, d) -> (n, n_components), with the model's numbers as parameters in the model's precision

    Examples
    --------
    >>> import numpy as np, torch, eigenpair as ep
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> model = ep.Contrastive(method="pca", n_components=2, width=20).fit(X)
    >>> Z = ep.to_torch(model)(torch.from_numpy(X))
    >>> bool(np.allclose(Z.detach().numpy(), model.transform(X), rtol=1e-8))
    True
    """
    import torch

    return torch.nn.Sequential(torch.nn.Flatten(), *_layers(torch, steps_of(model)))


def _layers(torch: Any, steps: Any) -> list[Any]:
    layers: list[Any] = []
    i = 0
    while i < len(steps):
        step = steps[i]
        if step.kind == "matmul":
            bias = steps[i + 1].arrays["a"] if i + 1 < len(steps) and steps[i + 1].kind == "add" else None
            layers.append(_linear(torch, step.arrays["A"], bias))
            i += bias is not None
        else:
            layers.append(_layer(torch, step))
        i += 1
    return layers


def _tensor(torch: Any, a: np.ndarray) -> Any:
    return torch.from_numpy(np.array(a))


def _linear(torch: Any, A: np.ndarray, bias: Any) -> Any:
    out = torch.nn.Linear(*A.shape, bias=bias is not None, dtype=getattr(torch, A.dtype.name))
    with torch.no_grad():
        out.weight.copy_(_tensor(torch, A.T))
        if bias is not None:
            out.bias.copy_(_tensor(torch, bias))
    return out


def _layer(torch: Any, step: Step) -> Any:
    nn = torch.nn
    if step.kind == "phi" and step.name in ("relu", "tanh", "sigmoid", "gelu", "linear", "leaky"):
        return {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU, "linear": nn.Identity,
                "leaky": lambda: nn.LeakyReLU(step.number)}[step.name]()

    class Layer(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            for name, a in step.arrays.items():
                self.register_buffer(name, _tensor(torch, a), persistent=True)
            self.parts = nn.ModuleList(nn.Sequential(*_layers(torch, part)) for part in step.parts)

        def forward(self, x: Any) -> Any:
            return _apply(torch, self, step, x)

        def extra_repr(self) -> str:
            return step.name or step.kind

    return Layer()


def _apply(torch: Any, layer: Any, step: Step, x: Any) -> Any:
    if step.kind == "unit":
        length = x.norm(dim=-1, keepdim=True)
        return x / torch.where(length > 0, length, torch.ones_like(length))
    if step.kind == "psi":
        return x / (x.norm(dim=-1, keepdim=True) + step.number)
    if step.kind == "add":
        return x + layer.a
    if step.kind == "contrast":
        x = x - x.mean(-1, keepdim=True)
        return x / ((x * x).mean(-1, keepdim=True) + step.number).sqrt()
    if step.kind == "sides":
        return torch.cat([x, -x], -1)
    if step.kind == "windows":
        c, h, w, p = step.shape
        return torch.nn.functional.unfold(x.reshape(len(x), c, h, w), p).transpose(1, 2)
    if step.kind == "cells":
        y = layer.P @ x
        return (y.transpose(1, 2) if step.name == "channels" else y).flatten(1)
    if step.kind == "beside":
        return torch.cat([part(x) for part in layer.parts], 1)
    return {"erf": torch.erf, "sin": torch.sin, "cos": torch.cos, "exp": torch.exp,
            "monomial": lambda a: a**step.number,
            "csoftplus": lambda a: 2 * (torch.nn.functional.softplus(a) - math.log(2))}[step.name](x)
