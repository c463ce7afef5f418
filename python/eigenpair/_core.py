"""The door to the C library: loading it, calling it, its errors, its runs, arrays of ours as its matrices."""
from __future__ import annotations

import errno
import json
import os
import queue
import re
import signal
import sys
import threading
import warnings
import weakref
from typing import Any, Callable, Optional

import numpy as np


def _load() -> Any:
    """The extension. OpenMP reads how long its threads spin when it is loaded: briefly, unless the environment says."""
    words = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    quiet = not any(w in os.environ for w in words)
    if quiet:
        os.environ["GOMP_SPINCOUNT"] = "2000"
    try:
        from eigenpair import _library
    finally:
        if quiet:
            del os.environ["GOMP_SPINCOUNT"]
    return _library


_library = _load()
ffi, lib = _library.ffi, _library.lib

# what an option of the program is called here, where the name differs
PYTHON_NAMES = {"outputs": "n_components", "seed": "random_state", "image": "image_shape"}


class ConvergenceWarning(UserWarning):
    """A fit diverged, or a probe did not converge within its iterations."""


class NumericalError(ArithmeticError):
    """A numerical routine failed: the data are too large, or a matrix is not what it has to be."""


def text_of(pointer: Any) -> str:
    return ffi.string(pointer).decode("utf-8", "replace") if pointer else ""


def _in_python(message: str) -> str:
    """--input-scale in a message of the library is input_scale here."""
    def name(match: re.Match[str]) -> str:
        word = match[1].replace("-", "_")
        return PYTHON_NAMES.get(word, word)

    return re.sub(r"(?<![\w-])--([a-z][a-z-]*)", name, message)


def no_file(message: str) -> bool:
    """The library says why by the system's words, which are the same for all that it reads and writes."""
    return os.strerror(errno.ENOENT) in message


def _error(status: int, message: str) -> BaseException:
    message = _in_python(message)
    if no_file(message):
        return FileNotFoundError(message)
    if status == lib.EP_ERR_NOMEM:
        return MemoryError(message)
    if status == lib.EP_ERR_NUMERIC:
        return NumericalError(message)
    if status == lib.EP_ERR_IO:
        return OSError(message)
    if status == lib.EP_ERR_INTERRUPTED:
        return KeyboardInterrupt(message)
    return ValueError(message)


def check(status: int) -> None:
    """Raises what the library says; in the thread that called it."""
    if status:
        raise _error(status, text_of(lib.ep_last_error()))


# ---- runs

class Progress:
    """Hears how far the library is; shows it with tqdm where that is there."""

    def __init__(self, verbose: bool):
        self.bar: Any = None
        self.what = ""
        self.make: Any = None
        if verbose:
            try:
                from tqdm.auto import tqdm
                self.make = tqdm
            except ImportError:
                self.make = _PlainBar

    def __call__(self, what: str, done: float, total: float) -> None:
        if self.make is None:
            return
        if self.bar is None or what != self.what:
            self.close()
            self.what, self.bar = what, self.make(total=total or None, desc=what, unit="")
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        self.bar = None


class _PlainBar:
    """A line on standard error at most every half second, where there is no tqdm."""

    def __init__(self, total: Optional[float], desc: str, unit: str):
        self.total, self.desc, self.n, self.last = total, desc, 0.0, 0.0

    def update(self, more: float) -> None:
        import time
        self.n += more
        if time.monotonic() - self.last > 0.5:
            self.last = time.monotonic()
            print(f"{self.desc}: {self.n:g}" + (f" of {self.total:g}" if self.total else ""), file=sys.stderr)

    def close(self) -> None:
        pass


@ffi.def_extern(name="eigenpair_progress")
def _progress(user: Any, what: Any, done: float, total: float) -> None:
    ffi.from_handle(user)(text_of(what), done, total)


def work(function: Callable[[Any], Any], config: Any = None, verbose: bool = False) -> Any:
    """function(run) in a thread of ours, which enters a run with this ep_run_config; raises what went wrong.

    The interpreter's lock is free while the library works, and the caller's thread only waits: so Ctrl-C asks the work to
    stop at once, and the caller never has a team of OpenMP threads, which a process that it forks could not use."""
    stop = ffi.new("int *")
    outcome: dict[str, Any] = {}
    progress = Progress(verbose)

    def body() -> None:
        run = ffi.new("ep_run **")
        try:
            check(lib.ep_run_new(run, config if config is not None else ffi.NULL))
            handle = ffi.new_handle(progress)
            hooks = ffi.new("ep_run_hooks *", {"stop": stop})
            if verbose:
                hooks.progress, hooks.user = lib.eigenpair_progress, handle
            lib.ep_run_set_hooks(run[0], hooks)
            scope = ffi.new("ep_run_scope *", lib.ep_run_enter(run[0]))
            try:
                outcome["value"] = function(run[0])
            finally:
                lib.ep_run_leave(scope)
        except BaseException as e:  # it is raised again in the caller's thread
            outcome["error"] = e
        finally:
            progress.close()
            lib.ep_run_free(run[0])

    interrupted = _wait(body, stop)
    if "error" in outcome:
        raise outcome["error"]
    if interrupted:  # it was done before it could stop
        raise KeyboardInterrupt
    return outcome["value"]


_idle: list[_Worker] = []  # whoever needs one takes it away
os.register_at_fork(after_in_child=_idle.clear)  # their threads are the parent's


class _Worker:
    """A thread that stays, and its team of OpenMP threads with it: a new team takes milliseconds to spread over the cores."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], None], threading.Event]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="eigenpair", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._one(*self._jobs.get())  # no name here holds what the job holds

    def _one(self, body: Callable[[], None], done: threading.Event) -> None:
        try:
            body()
            _idle.append(self)
        finally:
            done.set()

    def give(self, body: Callable[[], None], done: threading.Event) -> None:
        self._jobs.put((body, done))


def _worker() -> _Worker:
    try:
        return _idle.pop()
    except IndexError:
        return _Worker()


def _wait(body: Callable[[], None], stop: Any) -> bool:
    """body() in another thread, to its end; whether Ctrl-C was pressed, which sets *stop, on which the library comes to an end
    by itself. Python's own answer to Ctrl-C, an exception, could come while another is dealt with, and nobody would wait for
    that end: so it is replaced as long as this takes."""
    done = threading.Event()  # Thread.join takes a thread for ended when it is interrupted (Python 3.10 to 3.12)
    asked = False

    def ask(*_: Any) -> None:
        nonlocal asked
        stop[0], asked = 1, True

    usual = signal.default_int_handler
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is usual
    if ours:
        signal.signal(signal.SIGINT, ask)
    try:
        _worker().give(body, done)
        while not done.is_set():
            try:
                done.wait()
            except KeyboardInterrupt:  # from a handler that the caller has set
                ask()
    finally:
        if ours:
            signal.signal(signal.SIGINT, usual)
    return asked


# ---- files

def file_name(path: Any) -> bytes:
    """As the library takes it: its texts end at the first zero."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError(f"the name of a file has a character 0 in it: {path!r}")
    return name


# ---- arrays

DTYPES = {"float32": "EP_F32", "float64": "EP_F64", "uint8": "EP_U8", "int32": "EP_I32", "int64": "EP_I64"}


def as_numpy(X: Any, name: str = "X") -> np.ndarray:
    """Any array-like (NumPy, memory map, DLPack, pandas, nested lists) as an ndarray, not copied where it is one."""
    if type(X).__module__.split(".")[0] == "scipy" or hasattr(X, "tocsr"):
        if hasattr(X, "toarray"):
            raise TypeError(f"{name} is a sparse matrix, but dense data is required. Use X.toarray() to convert it")
    if not isinstance(X, np.ndarray) and hasattr(X, "__dlpack__") and not hasattr(X, "__array__"):
        X = np.from_dlpack(X)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(f"{name} has masked entries: fill them in first, with X.filled(..)")
    return np.asarray(X)


def numbers(X: Any, name: str = "X") -> np.ndarray:
    """As as_numpy, and real numbers: what is none is an error that names the argument."""
    X = as_numpy(X, name)
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has type {X.dtype}")
    if X.dtype.kind in "mM":
        raise TypeError(f"{name} has dates or times ({X.dtype}), not numbers")
    if X.dtype.kind not in "OUSV":
        return X
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError) as e:
        raise type(e)(f"{name} is not made of numbers: {e}") from None


def points(X: Any, name: str = "X", least: int = 1) -> np.ndarray:
    """Rows of numbers, C-contiguous, float32, float64 or uint8 (pixels); other types are converted to float64 once."""
    X = numbers(X, name)
    if X.ndim == 0 or X.ndim == 1:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: {name} has shape {X.shape}. Reshape your data "
                         "with X.reshape(-1, 1) if it has one feature, or X.reshape(1, -1) if it is one sample")
    if X.ndim > 4:
        raise ValueError(f"{name} has {X.ndim} dimensions: rows are vectors (n, d) or images (n, h, w), (n, c, h, w)")
    if X.shape[0] < least:
        raise ValueError(f"Found array with {X.shape[0]} sample(s) (shape={X.shape}) while a minimum of {least} is "
                         f"required: n_samples = {X.shape[0]}")
    if 0 in X.shape[1:]:
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if X.dtype.name not in ("float32", "float64", "uint8"):
        X = X.astype(np.float32 if X.dtype == np.float16 else np.float64)
    X = np.ascontiguousarray(X.astype(X.dtype.newbyteorder("="), copy=False))
    return X


def all_finite(X: np.ndarray) -> bool:
    """By the sum, which needs no array of its own; it may overflow without any such entry, so that is looked at again."""
    if X.dtype.kind != "f":
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(X)) or np.isfinite(X).all())


def finite(X: np.ndarray, name: str = "X") -> np.ndarray:
    if not all_finite(X):
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(X))[0])
        what = "NaN" if np.isnan(X[place]) else "infinity"
        raise ValueError(f"{name} contains {what} (first at {place}): NaN and inf are not allowed")
    return X


def matrix(X: np.ndarray) -> Any:
    """An ep_mat that views X (float32 or float64, C-contiguous, any number of dimensions behind the first)."""
    precision = lib.EP_SINGLE if X.dtype == np.float32 else lib.EP_DOUBLE
    columns = int(np.prod(X.shape[1:], dtype=np.int64))
    view = ffi.new("ep_mat *", lib.ep_mat_view(precision, X.shape[0], columns, ffi.from_buffer(X)))
    return keep(view, X)


def array(X: np.ndarray) -> Any:
    """An ep_array that views X."""
    kind = getattr(lib, DTYPES[X.dtype.name])
    shape = list(X.shape) + [0] * (lib.EP_MAX_DIMS - X.ndim)
    out = ffi.new("ep_array *", {"dtype": kind, "ndim": X.ndim, "shape": shape,
                                 "data": ffi.cast("const unsigned char *", ffi.from_buffer(X))})
    return keep(out, X)


_kept: Any = weakref.WeakKeyDictionary()


def keep(pointer: Any, *owners: Any) -> Any:
    """`pointer`, with what it points to kept alive as long as it is."""
    _kept[pointer] = owners
    return pointer


def json_of(pointer: Any) -> Any:
    """A json_t as Python's own; None for NULL."""
    if not pointer:
        return None
    words = lib.json_dumps(pointer, 17 << 11)  # JSON_REAL_PRECISION(17)
    if not words:
        raise MemoryError("no memory for a result as JSON")
    try:
        return json.loads(text_of(words))
    finally:
        lib.free(words)


def warn(message: str) -> None:
    warnings.warn(_in_python(message), ConvergenceWarning, stacklevel=3)
