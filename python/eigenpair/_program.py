"""What the program does beyond the library, from Python: comparisons, the papers' claims, and the theory's commands. The wheel
carries the program; arrays go to it as files of a temporary folder, its --json comes back."""
from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
import tempfile
from typing import Any, Optional

import numpy as np
from eigenpair._core import PYTHON_NAMES, NumericalError, _in_python, finite, no_file, numbers, points
from eigenpair._options import shape_text
from eigenpair._probe import Result, codes_of

FLAGS = {python: flag for flag, python in PYTHON_NAMES.items()}


def program() -> str:
    """The path of the program: that of the wheel, or what EIGENPAIR_PROGRAM names."""
    return os.environ.get("EIGENPAIR_PROGRAM") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "program")


def _words(options: dict[str, Any], folder: str) -> list[str]:
    """Options as flags; arrays as files."""
    out: list[str] = []
    for name, value in options.items():
        flag = "--" + FLAGS.get(name, name).replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(flag)
            continue
        if name == "image_shape" and not isinstance(value, str):
            value = shape_text(value)
        elif isinstance(value, np.ndarray) and value.ndim > 0 and name not in ("widths", "trains", "times"):
            path = os.path.join(folder, f"{name}.npy")
            np.save(path, value)
            value = path
        elif isinstance(value, (list, tuple, np.ndarray)):
            value = ",".join(str(v) for v in value)
        out += [flag, repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)]
    return out


def call(command: str, *words: str, folder: str, verbose: bool = False, accept: tuple[int, ...] = (0,),
         **options: Any) -> Any:
    """eigenpair COMMAND WORDS --options --json -> what it says; its errors are exceptions."""
    line = [program(), command, *words, *_words(options, folder), "--json", *(["--progress"] if verbose else [])]
    process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=None if verbose else subprocess.PIPE, text=True)
    try:
        out, err = process.communicate()
    except BaseException:  # Ctrl-C went to the program too; others have to tell it
        process.terminate()
        process.wait()
        raise
    if process.returncode in accept and out:  # it ends with 1 for a claim that fails, and where it could not work
        return json.loads(_ours(out, folder))
    raise _error(command, process.returncode, _sentence((err or "").strip().split("\n")[-1], folder))


# what a file of ours is called in a signature, where the name differs
ARGUMENTS = {"data": "X", "anchors": "X", "kernel_matrix": "K", "target": "y"}


def _sentence(line: str, folder: str) -> str:
    """The program's message in the caller's words: options and arguments, no flags and no files that are ours."""
    return _in_python(_ours(re.sub(r"^eigenpair( \w+)?: ", "", line), folder))


def _ours(text: str, folder: str) -> str:
    """Files of the temporary folder, by the names of the arguments that they hold."""
    files = re.escape(folder + os.sep) + r"(\w+)\.npy"
    return re.sub(files, lambda m: ARGUMENTS.get(m[1], m[1]), text)


def _error(command: str, status: int, message: str) -> BaseException:
    """As the library's status codes are exceptions; the program ends with 2 for bad input, with 1 for the others."""
    unknown = re.match(r"no option (\w+)(; did you mean (\w+)\?)?", message)
    if status == 2 and unknown:
        near = unknown[3] or next(iter(difflib.get_close_matches(unknown[1], FLAGS, 1)), "")
        return TypeError(f"{command} has no option {unknown[1]!r}" + (f"; did you mean {near!r}?" if near else ""))
    if no_file(message):
        return FileNotFoundError(message)
    if status == 130:
        return KeyboardInterrupt(message)
    if status == 1 and message:
        if re.search(r"cannot be (written|made|read|opened|closed|synced)|is not a folder", message):
            return OSError(message)
        return MemoryError(message) if "memory" in message else NumericalError(message)
    return ValueError(message) if status == 2 else RuntimeError(message or f"eigenpair {command} ended with status {status}")


def _table(rows: Any) -> Any:
    return [dict(row) for row in rows]


class Report(Result):
    """A result with the folder of its report, which lives as long as it does."""

    def __init__(self, values: dict[str, Any], folder: Any):
        super().__init__(values)
        object.__setattr__(self, "_folder", folder)

    @property
    def folder(self) -> str:
        """With report.html, result.json, figures."""
        f = self.__dict__["_folder"]
        return f if isinstance(f, str) else f.name

    def save(self, path: Any) -> None:
        """Writes the report: a page (.html), Markdown (.md), the numbers (.json), or the whole folder (no suffix)."""
        path = os.fspath(path)
        kind = os.path.splitext(path)[1]
        if not kind:
            shutil.copytree(self.folder, path, dirs_exist_ok=True)
            return
        source = {".html": "report.html", ".md": "report.md", ".json": "result.json"}.get(kind)
        if source is None:
            raise ValueError(f"a report is saved as .html, .md, .json or a folder, not as {kind!r}")
        inside = os.path.join(self.folder, source)
        if not os.path.exists(inside):
            raise FileNotFoundError(f"this report has no {source}")
        shutil.copyfile(inside, path)

    def __reduce__(self) -> Any:
        return (Result, (dict(self),))


def compare(X: Any, *, labels: Any = None, out: Any = None, verbose: bool = False, **options: Any) -> Report:
    """May training be replaced, from which width on, and what does it cost? Runs `eigenpair compare`.

    Parameters
    ----------
    X : (n, d), images (n, h, w), or the name of a data set ("digits")
    labels : (n,) whole numbers, or None
    out : folder of the report; finished jobs stay there, and the same call goes on from them. None: a temporary one
    options : of `eigenpair compare`: widths, methods, runs, epochs, random_state, ..

    Returns
    -------
    Report: verdict, table (a dict a row), drift, ..; save("report.html")

    Examples
    --------
    >>> import numpy as np, eigenpair as ep
    >>> X = np.random.default_rng(0).normal(size=(30, 5))
    >>> r = ep.compare(X, widths=[20, 40], methods="gd,kernel", runs=1, epochs=3)
    >>> sorted({row["width"] for row in r.table if row["method"] == "gd"})
    [20, 40]
    """
    with tempfile.TemporaryDirectory(prefix="eigenpair-") as folder:
        given = _data(X, labels, folder)
        home: Any = os.path.abspath(os.fspath(out)) if out is not None else \
            tempfile.TemporaryDirectory(prefix="eigenpair-compare-")
        where = home if isinstance(home, str) else home.name
        values = call("compare", folder=folder, verbose=verbose, **given, out=where, **options)
    values["table"] = _table(values["table"])
    return Report(values, home)


def _data(X: Any, labels: Any, folder: str) -> dict[str, Any]:
    """--data and --labels of arrays or of a name."""
    if isinstance(X, str):
        return {"data": X} if labels is None else {"data": X, "labels": labels}
    given: dict[str, Any] = {"data": finite(points(X))}
    given["precision"] = "double" if given["data"].dtype == np.float64 else "single"
    if labels is not None:
        y = np.asarray(labels)
        if y.shape != (len(given["data"]),):
            raise ValueError(f"labels has shape {y.shape} for {len(given['data'])} points")
        given["labels"] = codes_of(y, "labels")[1].astype(np.int32)
    return given


def reproduce(ids: Any = (), *, size: str = "default", out: Any = None, verbose: bool = False, **options: Any) -> Report:
    """The papers' figures and claims, each measured against its criterion. Runs `eigenpair reproduce`.

    Parameters
    ----------
    ids : names of claims or papers (`eigenpair reproduce --list`); none: all of them
    size : "quick", "default" or "paper"
    out : folder of the report, or None
    options : threads, memory, random_state

    Returns
    -------
    Report: claims, a list with id, pass, measured, criterion; save("report.html")

    Examples
    --------
    >>> import eigenpair as ep
    >>> r = ep.reproduce(["wide-prop18"], size="quick")
    >>> [(c["id"], c["pass"]) for c in r.claims]
    [('wide-prop18', True)]
    """
    sizes: dict[str, list[str]] = {"quick": ["--quick"], "default": [], "paper": ["--paper"]}
    if not isinstance(size, str) or size not in sizes:
        raise ValueError(f"size {size!r} is not known; choose one of: {', '.join(sizes)}")
    names: list[str] = [ids] if isinstance(ids, str) else list(ids)
    with tempfile.TemporaryDirectory(prefix="eigenpair-") as folder:
        home: Any = os.path.abspath(os.fspath(out)) if out is not None else \
            tempfile.TemporaryDirectory(prefix="eigenpair-reproduce-")
        where = home if isinstance(home, str) else home.name
        values = call("reproduce", *names, *sizes[size], folder=folder, verbose=verbose, accept=(0, 1), out=where,
                      **options)
    return Report({"claims": values} if isinstance(values, list) else {**values, "claims": values.get("claims", [])}, home)


def learnability(K: Any, y: Any = None, train: Optional[int] = None, *, verbose: bool = False, **options: Any) -> Result:
    """What a kernel can learn from n points. Runs `eigenpair learnability`.

    Parameters
    ----------
    K : (M, M), the kernel of all points; or a domain by name, "circle:1000", "cube:8", "sphere:5"
    y : (M,) or (M, Z) target values (floats), or (M,) labels (whole numbers); None: a random function
    train : training points; None: a curve
    options : of `eigenpair learnability`: trains, ridge, noise, measure (so many drawn training sets), ..

    Returns
    -------
    Result: eigenvalues, kappa, learnability (arrays), predicted_mse, curve, ..

    Examples
    --------
    >>> import numpy as np, eigenpair as ep
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> r = ep.learnability(ep.analytic_kernel(X), np.sign(X[:, 0]), train=20)
    >>> bool(0 < r.predicted_mse < 1)
    True
    """
    with tempfile.TemporaryDirectory(prefix="eigenpair-") as folder:
        given: dict[str, Any] = {"data": K} if isinstance(K, str) else {"kernel_matrix": finite(points(K, "K"), "K")}
        if y is not None:
            target = numbers(y, "y")
            labels = target.ndim == 1 and target.dtype.kind in "iub"
            given["labels" if labels else "target"] = target.astype(np.int32 if labels else np.float64)
        values = call("learnability", folder=folder, verbose=verbose, **given, train=train, **options)
    for name in ("eigenvalues", "learnability"):
        if isinstance(values.get(name), list):
            values[name] = np.array(values[name], dtype=float)
    return Result(values)


def optima(X: Any, positives: Any = None, *, verbose: bool = False, **options: Any) -> Result:
    """The local optima of one layer of contrastive learning. Runs `eigenpair optima`.

    Parameters
    ----------
    X : (n, d), or the name of a data set ("summation:6")
    positives : (n, d), second views row by row, or None
    options : of `eigenpair optima`: activation, weights, starts, nodes, augment, random_state, ..

    Returns
    -------
    Result: optima, a list with w, lambda, gap, roughness, stable, basin; W (k, d), the same vectors as an array

    Examples
    --------
    >>> import eigenpair as ep
    >>> r = ep.optima("summation:3,500,0.2", starts=20)
    >>> len(r.optima) == len(r.W)
    True
    """
    with tempfile.TemporaryDirectory(prefix="eigenpair-") as folder:
        given: dict[str, Any] = {"data": X} if isinstance(X, str) else \
            {"data" if positives is None else "anchors": finite(points(X))}
        if positives is not None:
            given["positives"] = finite(points(positives, "positives"), "positives")
        values = call("optima", folder=folder, verbose=verbose, **given, **options)
    values["W"] = np.array([o["w"] for o in values["optima"]], dtype=float)
    return Result(values)


def linear_dynamics(X: Any = None, *, matrix: Any = None, q0: Any = None, time: Optional[float] = None, times: Any = None,
                    verbose: bool = False, **options: Any) -> Result:
    """Linear self-supervised learning over time. Runs `eigenpair dynamics`.

    Parameters
    ----------
    X : (n, d), or the name of a data set ("moons"); or None with
    matrix : (d, d), C of the loss Tr(B'CB)
    q0 : (d, z), the start in the eigenbasis of C; None: a random orthogonal network's
    time, times : the end, and times on the way
    options : of `eigenpair dynamics`: n_components, compare, constraint, augment, random_state, ..

    Returns
    -------
    Result: q (d, z) at the end, trajectory (times, d, z), basis U (d, d), eigenvalues (ascending), loss, rows, ..;
    embedding (n, z) of new points, embed=(n, d)

    Examples
    --------
    >>> import numpy as np, eigenpair as ep
    >>> r = ep.linear_dynamics(matrix=np.diag([-2.0, -1.0, 1.0]), n_components=2, time=50)
    >>> round(r.loss, 6), r.q.shape
    (-3.0, (3, 2))
    """
    if (X is None) == (matrix is None):
        raise ValueError("give X or matrix, one of them")
    with tempfile.TemporaryDirectory(prefix="eigenpair-") as folder:
        given: dict[str, Any] = {"matrix": None if matrix is None else finite(points(matrix, "matrix"), "matrix"),
                                 "data": X if X is None or isinstance(X, str) else finite(points(X)),
                                 "q0": None if q0 is None else finite(points(q0, "q0"), "q0"), "time": time, "times": times}
        kept = ["out", "trajectory", "basis", *(["embedding"] if options.get("embed") is not None else [])]
        files: dict[str, Any] = {n: os.path.join(folder, f"{n}_out.npy") for n in kept}
        values = call("dynamics", folder=folder, verbose=verbose, **given, **files, **options)
        values.update({{"out": "q"}.get(name, name): np.load(path) for name, path in files.items()})
    values["eigenvalues"] = np.array(values["eigenvalues"], dtype=float)
    return Result(values)
