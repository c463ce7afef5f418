"""A fitted model, whoever fitted it: what `eigenpair fit` writes and `eigenpair embed` reads."""
from __future__ import annotations

import errno
import json
import os
import tempfile
from typing import Any, Optional

import numpy as np
from eigenpair._core import check, ffi, file_name, finite, json_of, lib, matrix, points, text_of, work
from eigenpair._options import RUN, fill


def run_config(options: dict[str, Any], precision: Optional[str] = None) -> Any:
    """An ep_run_config of the options that are the run's."""
    config = ffi.new("ep_run_config *")
    given = dict(options)
    if precision is not None:
        given["precision"] = precision
    fill(lib.ep_run_options, config, given)
    return config


def pixels(X: np.ndarray, dtype: Any = None) -> np.ndarray:
    """Bytes are pixels in [0, 1], as in a file; `dtype` converts once."""
    if X.dtype == np.uint8:
        X = (X * (1 / 255.0)).astype(np.float32 if dtype is None else dtype)
    return np.ascontiguousarray(X if dtype is None else X.astype(dtype, copy=False))


class Model:
    """A map of points that the library owns.

    Get one from `eigenpair.load` or as `model_` of a fitted estimator. It can be pickled and copied.

    Examples
    --------
    >>> import numpy as np, eigenpair as ep
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> model = ep.Contrastive(method="pca", n_components=2, width=50).fit(X).model_
    >>> model.embed(X).shape
    (40, 2)
    """

    def __init__(self, pointer: Any, dtype: Any):
        self._pointer = ffi.gc(pointer, lib.ep_model_free)
        self.dtype: np.dtype = _real(dtype)  #: in which it embeds

    # ---- what it is

    @property
    def n_features_in(self) -> int:
        """Numbers a point."""
        return int(lib.ep_model_inputs(self._pointer))

    @property
    def n_components(self) -> int:
        """Dimensions of the representation."""
        return int(lib.ep_model_outputs(self._pointer))

    @property
    def unit(self) -> bool:
        """Points are put on the unit sphere before they are embedded."""
        return bool(lib.ep_model_is_unit(self._pointer))

    @property
    def config(self) -> dict[str, Any]:
        """The settings it was made with, by the program's names."""
        return json_of(lib.ep_model_config(self._pointer)) or {}

    def __repr__(self) -> str:
        text = ffi.new(f"char[{lib.EP_DESCRIPTION}]")
        lib.ep_model_describe(text, self._pointer)
        return f"<eigenpair model: {' '.join(text_of(text).split())}>"

    # ---- what it does

    def prepared(self, X: Any, name: str = "X") -> np.ndarray:
        """Points as the model takes them: (n, n_features_in) in its precision, scaled as those were that it was made from."""
        given = points(X, name)
        rows = pixels(given.reshape(len(given), -1), self.dtype)
        if rows.shape[1] != self.n_features_in:
            raise ValueError(f"{name} has {rows.shape[1]} features, but the model is expecting {self.n_features_in} features "
                             "as input")
        finite(rows, name)
        table = self.config.get("table")
        if table:
            columns = table["columns"]
            if any(c.get("kind", "number") == "text" for c in columns):
                raise ValueError("this model was made from a table with columns of text: embed tables with the program")
            if table.get("scale") == "standard":
                mean, deviation = (np.array([c[what] for c in columns]) for what in ("mean", "deviation"))
                inverse = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
                rows = ((rows.astype(np.float64) - mean) * inverse).astype(self.dtype)
        if self.unit:
            rows = rows.copy() if np.may_share_memory(rows, given) else rows
            work(lambda run: lib.ep_scale_to_unit(matrix(rows)))
        return rows

    def embed(self, X: Any, *, verbose: bool = False, **run: Any) -> np.ndarray:
        """Embeds points.

        Parameters
        ----------
        X : (n, n_features_in), or images (n, h, w), (n, c, h, w)
        run : threads, memory

        Returns
        -------
        (n, n_components), of the type of X (float32 or float64; others: that of the model)
        """
        RUN.check_names(run, "embed")
        given = points(X)
        rows = self.prepared(given)
        out = np.empty((len(rows), self.n_components), rows.dtype)
        work(lambda handle: check(lib.ep_model_embed(handle, matrix(out), self._pointer, matrix(rows))), run_config(run),
             verbose)
        return out.astype(given.dtype, copy=False) if given.dtype.kind == "f" else out

    # ---- files

    def save(self, path: Any) -> None:
        """Writes model.npz, as `eigenpair fit` does: whole or not at all."""
        name = file_name(path)
        work(lambda run: check(lib.ep_model_save(name, self._pointer)))

    def arrays(self) -> dict[str, np.ndarray]:
        """What stands in its file: V and W (or V1.., X, Y, F, ..), config."""
        import io
        with np.load(io.BytesIO(self.to_bytes())) as file:
            return {name: file[name] for name in file.files}

    def to_bytes(self) -> bytes:
        """The bytes of its file."""
        with tempfile.TemporaryDirectory(prefix="eigenpair-") as folder:
            path = os.path.join(folder, "model.npz")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    def __getstate__(self) -> dict[str, Any]:
        return {"bytes": self.to_bytes(), "dtype": self.dtype.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(_from_bytes(state["bytes"], state["dtype"]).__dict__)

    # ---- the network in it

    @property
    def net(self) -> Any:
        """The ep_net in it, the model's own; None where there is none."""
        net = lib.ep_model_net(self._pointer)
        return net if net else None

    def weights(self) -> dict[str, np.ndarray]:
        """V (or V1, V2, ..), W and, where it has them, biases of its network; copies."""
        if self.net is None:
            raise ValueError("this model holds no network")
        return {n: a for n, a in self.arrays().items() if n[0] in "VWbc" and n != "config"}

    def astype(self, dtype: Any) -> "Model":
        """The same model in another precision."""
        return _from_bytes(self.to_bytes(), dtype)


def _real(dtype: Any) -> np.dtype:
    """One of the two types that the library computes in."""
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype is float32 or float64, not {kind.name}")
    return kind


def _read(path: Any, dtype: Any) -> Any:
    """-> ep_model *, in this precision."""
    precision = lib.EP_SINGLE if _real(dtype) == np.float32 else lib.EP_DOUBLE
    out = ffi.new("ep_model **")
    name = file_name(path)
    work(lambda run: check(lib.ep_model_load(out, name, precision)))
    return out[0]


def _from_bytes(data: bytes, dtype: Any) -> Model:
    with tempfile.TemporaryDirectory(prefix="eigenpair-") as folder:
        path = os.path.join(folder, "model.npz")
        with open(path, "wb") as file:
            file.write(data)
        return Model(_read(path, dtype), dtype)


def _stored(path: Any) -> str:
    """The precision its config names; that of its weights where there is none."""
    try:
        with np.load(path) as file:
            if "config" in file.files:
                return "float64" if json.loads(file["config"].item()).get("precision") == "double" else "float32"
            return "float64" if file["W" if "W" in file.files else "Y"].dtype == np.float64 else "float32"
    except Exception:  # the library says better what is wrong with it
        return "float32"


def load(path: Any, dtype: Any = None) -> Model:
    """Reads model.npz, as `fit` of the program, the library or `save` here wrote it.

    Parameters
    ----------
    path : of the file
    dtype : float32 or float64; None: as it was made

    Returns
    -------
    Model

    Examples
    --------
    >>> import numpy as np, eigenpair as ep, tempfile, os
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> a = ep.Contrastive(method="pca", n_components=2, width=50).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     a.save(os.path.join(folder, "model.npz"))
    ...     b = ep.load(os.path.join(folder, "model.npz"))
    >>> bool((b.embed(X) == a.transform(X)).all())
    True
    """
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    if not os.path.isfile(path):
        raise ValueError(f"{os.fspath(path)}: not a regular file")
    kind = _stored(path) if dtype is None else dtype
    return Model(_read(path, kind), kind)
