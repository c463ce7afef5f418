"""Sums of a closed form, made in parts: what partial_fit adds to and merge adds up."""
from __future__ import annotations

from typing import Any

from eigenpair._core import check, ffi, lib, work

METHODS = ("pca", "whitened")  # sums over anchors, then an eigenproblem


class Sums:
    """Owned by the library; can be pickled and copied.

    Examples
    --------
    >>> import numpy as np, eigenpair as ep
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> a = ep.Contrastive(method="pca", n_components=2, width=30)
    >>> a.partial_fit(X[:30]).partial_fit(X[30:]).sums_.anchors
    60
    """

    def __init__(self, pointer: Any):
        self._pointer = ffi.gc(pointer, lib.ep_sums_free)

    @property
    def anchors(self) -> int:
        """Summed so far."""
        return int(lib.ep_sums_anchors(self._pointer))

    def empty_copy(self) -> "Sums":
        """Of the same setup and map, with nothing in them."""
        out = ffi.new("ep_sums **")
        work(lambda run: check(lib.ep_sums_like(out, self._pointer)))
        return Sums(out[0])

    def merge(self, other: "Sums") -> None:
        work(lambda run: check(lib.ep_sums_merge(self._pointer, other._pointer)))

    def __getstate__(self) -> dict[str, Any]:
        data, size = ffi.new("unsigned char **"), ffi.new("size_t *")
        work(lambda run: check(lib.ep_sums_to_bytes(data, size, self._pointer)))
        try:
            return {"bytes": bytes(ffi.buffer(data[0], size[0]))}
        finally:
            lib.ep_bytes_free(data[0])

    def __setstate__(self, state: dict[str, Any]) -> None:
        out, data = ffi.new("ep_sums **"), state["bytes"]
        work(lambda run: check(lib.ep_sums_from_bytes(out, ffi.from_buffer(data), len(data), b"pickled sums")))
        self.__init__(out[0])  # type: ignore[misc]


class of_sums:
    """A method that is there for closed forms alone: hasattr says so, as scikit-learn asks."""

    def __init__(self, function: Any):
        self.function = function
        self.__doc__ = function.__doc__

    def reason(self, estimator: Any) -> str:
        return (f"{self.function.__name__} is for the closed forms {' and '.join(METHODS)}, not for method "
                f"{estimator._chosen()!r}")

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        if estimator is None:
            return self.function
        if estimator._chosen() not in METHODS:
            raise AttributeError(self.reason(estimator))
        return self.function.__get__(estimator, owner)
