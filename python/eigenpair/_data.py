"""Data sets of the library as arrays."""
from __future__ import annotations

from typing import Any

import numpy as np
from eigenpair import _options
from eigenpair._core import check, ffi, lib, work
from eigenpair._model import run_config


def data(name: str, *, dtype: Any = np.float32, **options: Any) -> tuple[np.ndarray, Any]:
    """A data set by name, file or folder, as `--data` of the program reads it.

    Parameters
    ----------
    name : "digits", "mnist:test", "moons:200", "x.npy", ..
    dtype : float32 or float64
    options : samples, labels (a file), image_shape, random_state, ..

    Returns
    -------
    X : (n, d), pixels in [0, 1], not scaled
    y : (n,) labels, or None

    Examples
    --------
    >>> import eigenpair as ep
    >>> X, y = ep.data("digits", samples=100)
    >>> X.shape, y.shape
    ((100, 784), (100,))
    """
    _TABLE.check_names(options, "data")

    def body(run: Any) -> tuple[np.ndarray, Any]:
        config, out = ffi.new("ep_data_config *"), ffi.new("ep_dataset *")
        _options.fill(lib.ep_data_options, config, {**options, "data": str(name)})
        precision = "double" if np.dtype(dtype) == np.float64 else "single"
        check(lib.ep_dataset_load(ffi.NULL, out, config, run_config(options, precision)))
        try:
            n, d = out.X.rows, out.X.cols
            X = np.frombuffer(ffi.buffer(out.X.data, n * d * np.dtype(dtype).itemsize), dtype).reshape(n, d).copy()
            y = np.frombuffer(ffi.buffer(out.labels, n * ffi.sizeof("int")), np.intc).copy() if out.labels else None
            return X, y
        finally:
            lib.ep_dataset_free(out)

    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype is float32 or float64, not {dtype!r}")
    return work(body, run_config(options))


_TABLE = _options.Table([*_options.read_table(lib.ep_data_options), *_options.read_table(lib.ep_run_options)],
                        {"data", "scale", "precision"})
