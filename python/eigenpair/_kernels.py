"""Kernels as matrices: of finite networks, and of infinitely wide ones."""
from __future__ import annotations

from typing import Any

import numpy as np
from eigenpair import _options
from eigenpair._core import NumericalError, all_finite, check, ffi, finite, lib, matrix, points, work
from eigenpair._model import pixels, run_config
from eigenpair._network import model_of


def rows(X: Any, name: str) -> np.ndarray:
    """Points as rows of floats: float32 and float64 as they are."""
    given = points(X, name)
    return finite(pixels(given.reshape(len(given), -1)), name)


def _pair(X: Any, Y: Any) -> tuple[np.ndarray, Any]:
    x = rows(X, "X")
    y = None if Y is None else np.ascontiguousarray(rows(Y, "Y").astype(x.dtype, copy=False))
    if y is not None and y.shape[1] != x.shape[1]:
        raise ValueError(f"X has points of dimension {x.shape[1]}, Y of {y.shape[1]}")
    return x, y


def index_of(names: str, what: str, value: str) -> int:
    """The number of a name in a list of the library's, such as ep_layout_name."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, not {value!r}")
    out = ffi.new("int *")
    check(lib.ep_options_name(out, ffi.NULL, what.encode(), value.encode(), ffi.addressof(lib, names)))
    return out[0]


def ntk(net: Any, X: Any, Y: Any = None, layout: str = "full", *, verbose: bool = False, **run: Any) -> np.ndarray:
    """The tangent kernel of a finite network, J(x) J(y)'.

    Parameters
    ----------
    net : a fitted model, a model.npz, weights as {"V": (M, D), "W": (M, Z), "activation": ..}, or a torch.nn.Sequential
    X : (n, D); float32 is computed in single precision, float64 in double
    Y : (m, D), or None: X
    layout : "full", "diagonal" or "trace" (the mean over outputs)
    run : threads, memory

    Returns
    -------
    (n, m, Z, Z), (n, m, Z) or (n, m), of the type of X

    Examples
    --------
    >>> import numpy as np, eigenpair as ep
    >>> rng = np.random.default_rng(0)
    >>> net = {"V": rng.normal(size=(100, 5)), "W": rng.normal(size=(100, 3)), "activation": "tanh"}
    >>> X = rng.normal(size=(7, 5))
    >>> ep.ntk(net, X).shape, ep.ntk(net, X, X[:2], layout="trace").shape
    ((7, 7, 3, 3), (7, 2))
    """
    _options.RUN.check_names(run, "ntk")
    given = points(X)
    model = model_of(net, np.float64 if given.dtype == np.float64 else np.float32)
    x, y = model.prepared(given), None if Y is None else model.prepared(Y, "Y")
    n, m, Z = len(x), len(x) if y is None else len(y), model.n_components

    def body(run: Any) -> np.ndarray:
        which = index_of("ep_layout_name", "layout", layout)
        K = np.empty((n, m, Z, Z)[:4 - which], x.dtype)
        check(lib.ep_ntk_empirical(ffi.NULL, matrix(K), model.net, matrix(x), ffi.NULL if y is None else matrix(y), which,
                                   lib.ep_run_room()))
        return K

    return _finite_kernel(work(body, run_config(run), verbose))


def _finite_kernel(K: np.ndarray) -> np.ndarray:
    if not all_finite(K):
        raise NumericalError("the kernel is not finite: the data are too large for it")
    return K


def analytic_kernel(X: Any, Y: Any = None, kind: str = "ntk", depth: int = 1, activation: str = "relu", *,
                    input_scale: bool = False, layers: Any = "", verbose: bool = False, **options: Any) -> np.ndarray:
    """The kernel of an infinitely wide network.

    Parameters
    ----------
    X : (n, D)
    Y : (m, D), or None: X
    kind : "ntk", the tangent kernel, or "nngp", that of the Gaussian process
    depth : hidden layers
    activation : "relu", "tanh", "leaky:0.1", ..
    input_scale : the first layer is divided by sqrt(D)
    layers : an activation a layer in the place of depth and activation: "1:relu,1:tanh"; the widths do not matter
    options : weight_variance, bias_variance, last_variance, last_bias_variance; threads, memory

    Returns
    -------
    (n, m), of the type of X; with float32 an error of about 5e-7 of sqrt(K_ii K_jj), on raw images up to 2e-6

    Examples
    --------
    >>> import numpy as np, eigenpair as ep
    >>> X = np.eye(3)
    >>> ep.analytic_kernel(X, kind="nngp").round(3)
    array([[0.5  , 0.159, 0.159],
           [0.159, 0.5  , 0.159],
           [0.159, 0.159, 0.5  ]])
    """
    x, y = _pair(X, Y)
    kinds = {"ntk": lib.EP_NTK, "nngp": lib.EP_NNGP}
    if not isinstance(kind, str) or kind not in kinds:
        raise ValueError(f"kind {kind!r} is not known; choose one of: ntk, nngp")
    _TABLE.check_names(options, "analytic_kernel")

    def body(run: Any) -> np.ndarray:
        a, net, variances = ffi.new("ep_analytic *"), ffi.new("ep_net_config *"), ffi.new("ep_variance_config *")
        _options.fill(lib.ep_variance_options, variances, options)
        _options.fill(lib.ep_net_options, net, {"depth": depth, "activation": activation, "input_scale": input_scale,
                                                "layers": layers})
        check(lib.ep_analytic_from(a, net, variances, x.shape[1], kinds[kind]))
        K = np.empty((len(x), len(x) if y is None else len(y)), x.dtype)
        check(lib.ep_analytic_kernel(ffi.NULL, matrix(K), a, kinds[kind], matrix(x), ffi.NULL if y is None else matrix(y)))
        return K

    return work(body, run_config(options), verbose)  # the library looks at every entry


_TABLE = _options.Table([*_options.read_table(lib.ep_variance_options), *_options.read_table(lib.ep_run_options)])
