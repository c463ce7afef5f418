"""Networks as the library has them, from weights in arrays, from models, from PyTorch. Arrays become a network by way of the
file that `numpy.savez` would write: what stands in such a file is the contract, not the library's structs."""
from __future__ import annotations

import json
import os
import tempfile
from typing import Any

import numpy as np
from eigenpair._core import finite, numbers
from eigenpair._model import Model, load

SETTINGS = {"activation", "input_scale", "parametrisation", "layers", "config"}


def _names(weights: dict[str, Any]) -> list[str]:
    """V (or V1, V2, ..), W, and biases b (or b1, b2, ..), c where they are."""
    depth = 1 if "V" in weights else sum(n[0] == "V" and n[1:].isdigit() for n in weights)
    layers = ["V"] if "V" in weights else [f"V{i + 1}" for i in range(depth)]
    for name in [*layers, "W"]:
        if name not in weights or not layers:
            raise ValueError(f"a network has V (or V1, V2, ..) and W; {name} is not there")
    biases = ["b"] if "V" in weights else [f"b{i + 1}" for i in range(depth)]
    known = [*layers, "W", *biases, "c"]
    extra = set(weights) - set(known) - SETTINGS
    if extra:
        raise ValueError(f"a network has no {', '.join(sorted(extra))}: it has V (or V1, V2, ..), W, b (or b1, ..), c")
    return [n for n in known if n in weights]


def _check_shapes(arrays: dict[str, np.ndarray]) -> None:
    layers = [arrays[n] for n in arrays if n[0] == "V"]
    for name, a in arrays.items():
        if a.ndim != (1 if name[0] in "bc" else 2):
            raise ValueError(f"{name} has shape {a.shape}: V and W are matrices, b and c vectors")
    for i, (v, after) in enumerate(zip(layers, [*layers[1:], arrays["W"].T])):
        if after.shape[1] != len(v):
            raise ValueError(f"layer {i + 1} has {len(v)} units, but the next one takes {after.shape[1]}")


def from_arrays(weights: dict[str, Any], dtype: Any, activation: str = "relu") -> Model:
    """{"V": (M, D), "W": (M, Z)}, deeper V1 (M1, D), V2 (M2, M1), .., W; biases b or b1.., c; and, if wished, "activation",
    "input_scale", "parametrisation", "layers" -> Model."""
    names = _names(weights)
    arrays: dict[str, Any] = {
        n: np.ascontiguousarray(finite(numbers(weights[n], n).astype(dtype, copy=False), n)) for n in names}
    _check_shapes(arrays)
    config: dict[str, Any] = {"activation": activation,
                              "precision": "single" if np.dtype(dtype) == np.float32 else "double"}
    config.update({k: weights[k] for k in SETTINGS - {"config"} if k in weights})
    with tempfile.TemporaryDirectory(prefix="eigenpair-") as folder:
        path = os.path.join(folder, "weights.npz")
        np.savez(path, config=np.array(json.dumps(config)), **arrays)
        return load(path, dtype)


def model_of(net: Any, dtype: Any, activation: str = "relu") -> Model:
    """A Model in this precision of whatever a user calls a network: a Model, a fitted estimator, arrays, a file, a
    torch.nn.Sequential."""
    if hasattr(net, "model_"):
        net = net.model_
    if isinstance(net, dict):
        net = from_arrays(net, dtype, activation)
    elif isinstance(net, (str, os.PathLike)):
        net = load(net, dtype)
    elif type(net).__module__.split(".")[0] == "torch" or hasattr(net, "named_parameters"):
        from eigenpair._torch import from_torch
        net = from_torch(net)
    if not isinstance(net, Model):
        raise TypeError("a network is a fitted model, a model.npz, weights as {'V': .., 'W': ..} or a torch.nn.Sequential, "
                        f"not {type(net).__name__}")
    if net.net is None:
        raise ValueError("this model holds no network")
    return net if net.dtype == np.dtype(dtype) else net.astype(dtype)
