"""How good a representation is: what simple classifiers make of it, and numbers that need no labels."""
from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from eigenpair import _core, _options
from eigenpair._core import check, ffi, lib, matrix, text_of, work
from eigenpair._kernels import index_of
from eigenpair._kernels import rows as _rows
from eigenpair._model import run_config


class Result(dict):
    """Numbers by name: r["accuracy"] and r.accuracy are the same."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self})


def _labels(y: Any, n: int, name: str) -> np.ndarray:
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"{name} has shape {y.shape} for {n} points: one label a point")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError(f"{name} contains NaN or infinity: labels are names or numbers")
    return y


def codes_of(names: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
    """The different names, sorted, and the number of each row's."""
    if names.dtype.kind in "fcO" and (names != names).any():  # NaN, which is not even itself
        raise ValueError(f"{what} contains NaN: names or numbers are wanted")
    try:
        different, codes = np.unique(names, return_inverse=True)
    except TypeError:  # objects that have no order
        raise TypeError(f"{what}: names or numbers are wanted, all of one kind") from None
    return different, codes.reshape(-1)


def probe(Z: Any, y: Any, Z_test: Any = None, y_test: Any = None, kind: str = "linear", *, verbose: bool = False,
          **options: Any) -> Result:
    """Trains a classifier on an embedding and judges it.

    Parameters
    ----------
    Z : (n, d)
    y : (n,) labels: numbers or names
    Z_test, y_test : test points; None: a part of the points is held out (`holdout`, drawn with `random_state`)
    kind : "linear", "svm" or "knn"
    options : of `eigenpair probe`: {names}; random_state, threads, memory

    Returns
    -------
    Result: accuracy, train_accuracy, train, test (points), unseen, converged, iterations, labels, confusion (true class,
    class found), class_accuracy, held_out, standardised

    Examples
    --------
    >>> import numpy as np, eigenpair as ep
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> Z = rng.normal(size=(200, 3)) + 6 * y[:, None]
    >>> ep.probe(Z, y).accuracy
    1.0
    """
    _PROBE.check_names(options, "probe")
    if not isinstance(kind, str):
        raise TypeError(f"kind is a text, not {kind!r}")
    train = _rows(Z, "Z")
    names = [_labels(y, len(train), "y")]
    test = None
    if (Z_test is None) != (y_test is None):
        raise ValueError("Z_test and y_test go together")
    if Z_test is not None:
        test = _rows(Z_test, "Z_test")
        names.append(_labels(y_test, len(test), "y_test"))
        if test.shape[1] != train.shape[1]:
            raise ValueError(f"Z_test has {test.shape[1]} dimensions, Z has {train.shape[1]}")
    labels, codes = codes_of(np.concatenate(names), "y")
    codes = np.ascontiguousarray(codes, dtype=np.intc)

    def body(run: Any) -> Result:
        config, out = ffi.new("ep_probe_config *"), ffi.new("ep_probe_result *")
        _options.fill(lib.ep_probe_options, config, options)
        all_codes = ffi.from_buffer("int[]", codes)
        mats = [matrix(train), None if test is None else matrix(test)]
        sets = [ffi.new("ep_labelled *", {"X": mats[0], "labels": all_codes}), ffi.NULL]
        if test is not None:
            sets[1] = ffi.new("ep_labelled *", {"X": mats[1], "labels": all_codes + len(train)})
        check(lib.ep_probe_run(ffi.NULL, out, kind.encode(), sets[0], sets[1], config, run_config(options)))
        try:
            return _read(out, labels)
        finally:
            lib.ep_probe_result_free(out)

    result = work(body, run_config(options), verbose)
    if not result.converged:
        _core.warn(f"the {kind} probe did not converge in {result.iterations} iterations: raise --iterations")
    return result


def _read(r: Any, labels: np.ndarray) -> Result:
    k = r.classes
    confusion = np.array([r.confusion[i] for i in range(k * k)], dtype=np.intp).reshape(k, k)
    with_label = labels[[r.label[i] for i in range(k)]]
    return Result(accuracy=r.accuracy, train_accuracy=r.train_accuracy, train=int(r.train), test=int(r.test),
                  unseen=int(r.unseen), judged=int(r.judged), held_out=bool(r.held_out),
                  standardised=bool(r.standardised), converged=bool(r.converged), iterations=int(r.iterations),
                  labels=with_label, confusion=confusion,
                  class_accuracy=np.array([lib.ep_probe_class_accuracy(r, i) for i in range(k)]), probe=text_of(r.name))


def metrics(Z: Any, positives: Any = None, **options: Any) -> Result:
    """What an embedding says of itself, without labels.

    Parameters
    ----------
    Z : (n, d)
    positives : (n, d), the positive of each row: gives `alignment`
    options : uniformity_points, random_state, threads, memory

    Returns
    -------
    Result: rankme, effective_rank, uniformity, alignment (NaN without positives), spread_min, spread_median, spread_max,
    dead, correlation, collapsed, collapse (a sentence)

    Examples
    --------
    >>> import numpy as np, eigenpair as ep
    >>> bool(ep.metrics(np.random.default_rng(0).normal(size=(500, 4))).rankme > 3.9)
    True
    """
    _METRICS.check_names(options, "metrics")
    e = _rows(Z, "Z")
    p = None if positives is None else np.ascontiguousarray(_rows(positives, "positives").astype(e.dtype, copy=False))
    if p is not None and p.shape != e.shape:
        raise ValueError(f"positives has shape {p.shape}, but Z {e.shape}: row by row")

    def body(run: Any) -> Result:
        config, m = ffi.new("ep_metrics_config *"), ffi.new("ep_metrics *")
        _options.fill(lib.ep_metrics_options, config, options)
        check(lib.ep_metrics_of(ffi.NULL, m, matrix(e), ffi.NULL if p is None else matrix(p), config, run_config(options)))
        fields = [name for name, _ in ffi.typeof("ep_metrics").fields]
        values = {f: getattr(m, f) for f in fields}
        return Result({f: text_of(v) if f == "collapse" else v for f, v in values.items()})

    return work(body, run_config(options))


def neighbours(Z: Any, k: int = 10, queries: Any = None, metric: str = "cosine", **run: Any) -> tuple[np.ndarray, np.ndarray]:
    """The nearest points, exactly.

    Parameters
    ----------
    Z : (n, d)
    k : how many
    queries : (m, d), or None: the points themselves, none being its own neighbour
    metric : "cosine" or "euclidean"
    run : threads, memory

    Returns
    -------
    distances (m, k) and indices (m, k), nearest first

    Examples
    --------
    >>> import numpy as np, eigenpair as ep
    >>> ep.neighbours(np.array([[0.0], [1.0], [5.0]]), k=1, metric="euclidean")[1].ravel().tolist()
    [1, 0, 1]
    """
    _options.RUN.check_names(run, "neighbours")
    if not isinstance(k, numbers.Integral) or k < 1:
        raise ValueError(f"k is a whole number from 1 on, not {k!r}")
    z = _rows(Z, "Z")
    q = None if queries is None else np.ascontiguousarray(_rows(queries, "queries").astype(z.dtype, copy=False))
    m = len(z) if q is None else len(q)
    who, distance = np.empty((m, int(k)), np.intp), np.empty((m, int(k)))

    def body(handle: Any) -> None:
        which = index_of("ep_metric_name", "metric", metric)
        check(lib.ep_neighbours(handle, ffi.from_buffer("ptrdiff_t[]", who, require_writable=True),
                                ffi.from_buffer("double[]", distance, require_writable=True),
                                ffi.NULL if q is None else matrix(q), matrix(z), int(k), which))

    work(body, run_config(run))
    return distance, who


_RUN = _options.read_table(lib.ep_run_options)
_PROBE = _options.Table([*_options.read_table(lib.ep_probe_options), *_RUN], {"precision"})
_METRICS = _options.Table([*_options.read_table(lib.ep_metrics_options), *_RUN], {"precision"})
probe.__doc__ = (probe.__doc__ or "").replace("{names}", ", ".join(o.name for o in _options.read_table(lib.ep_probe_options)))
