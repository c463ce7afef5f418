"""Networks as the library has them, from weights in arrays, from models, from PyTorch."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from eigenpair._core import as_numpy, check, ffi, finite, keep, lib
from eigenpair._model import Model, load


def _own(shape: Any, dtype: Any) -> Any:
    """A network of zeros; freed with the pointer."""
    net = ffi.gc(ffi.new("ep_net *"), lib.ep_net_free)
    check(lib.ep_net_new(net, shape, lib.EP_SINGLE if dtype == np.float32 else lib.EP_DOUBLE))
    return net


def _fill(mat: Any, values: np.ndarray) -> None:
    kind = np.float32 if mat.prec == lib.EP_SINGLE else np.float64
    raw = np.frombuffer(ffi.buffer(mat.data, mat.rows * mat.cols * np.dtype(kind).itemsize), kind)
    raw.reshape(mat.rows, mat.cols)[:] = values


def _layers(weights: dict[str, Any]) -> list[np.ndarray]:
    """V (or V1, V2, ..) of a dictionary, as matrices."""
    names = ["V"] if "V" in weights else [f"V{i + 1}" for i in range(sum(k[0] == "V" for k in weights))]
    for name in [*names, "W"]:
        if name not in weights:
            raise ValueError(f"a network has V (or V1, V2, ..) and W; {name} is not there")
    return [finite(np.asarray(as_numpy(weights[n], n)), n) for n in names]


def from_arrays(weights: dict[str, Any], dtype: Any, activation: str = "relu", input_scale: float = 1.0) -> Any:
    """{"V": (M, D), "W": (M, Z)}, or V1 (M, D), V2.. (M, M), W -> ep_net *. Within `work`."""
    V, W = _layers(weights), finite(np.asarray(as_numpy(weights["W"], "W")), "W")
    extra = set(weights) - {"V", "W", "config", "activation", "input_scale"} - {f"V{i + 1}" for i in range(len(V))}
    if extra:
        raise ValueError(f"this version of the library knows no {', '.join(sorted(extra))} of a network")
    if any(v.ndim != 2 for v in V) or W.ndim != 2:
        raise ValueError("V and W are matrices")
    M = len(W)
    for i, v in enumerate(V):
        if v.shape[0] != M or (i and v.shape[1] != M):
            raise ValueError(f"layer {i + 1} has shape {v.shape}, but W {W.shape}: hidden layers have one width M")
    shape = ffi.new("ep_net_shape *", {"inputs": V[0].shape[1], "width": M, "outputs": W.shape[1], "depth": len(V),
                                       "input_scale": input_scale})
    check(lib.ep_activation_parse(ffi.addressof(shape, "phi"), activation.encode()))
    net = _own(shape, dtype)
    for i, v in enumerate(V):
        _fill(net.V[i], v)
    _fill(net.W, W)
    return net


def network_of(net: Any, dtype: Any, activation: str = "relu") -> Any:
    """An ep_net * in this precision of whatever a user calls a network: a Model, a fitted estimator, arrays, a file, a
    torch.nn.Sequential. Within `work`."""
    if isinstance(net, (str, os.PathLike)):
        net = load(net, dtype)
    if hasattr(net, "model_"):
        net = net.model_
    if isinstance(net, Model):
        own = net.net
        if own is None:
            raise ValueError("this model holds no network")
        if net.dtype == dtype:
            return keep(ffi.new("ep_net *", own[0]), net)
        copy = _own(ffi.new("ep_net_shape *", own.shape), dtype)
        lib.ep_mat_copy(ffi.addressof(copy, "theta"), ffi.addressof(own, "theta"))
        return copy
    if isinstance(net, dict):
        return from_arrays(net, dtype, net.get("activation", activation), net.get("input_scale", 1.0))
    raise TypeError("a network is a fitted model, a model.npz, weights as {'V': .., 'W': ..} or a torch.nn.Sequential, "
                    f"not {type(net).__name__}")
