"""eigenpair: positive pairs in, eigenpairs out. Wide contrastive and self-supervised models: training, tangent kernels at
finite and infinite width, closed forms that replace training, and how good the replacement is. docs/python.md has the tour.

>>> import numpy as np, eigenpair as ep
>>> X = np.random.default_rng(0).normal(size=(50, 6))
>>> ep.Contrastive(method="pca", n_components=4, width=200, random_state=0).fit(X).transform(X).shape
(50, 4)
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any


def _refuse_subinterpreters() -> None:
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError("eigenpair works in the main interpreter of a process, not in a subinterpreter")
        return


_refuse_subinterpreters()
from eigenpair._core import ConvergenceWarning, NumericalError, lib, text_of  # noqa: E402

if TYPE_CHECKING:
    from eigenpair._data import data as data
    from eigenpair._estimator import Contrastive as Contrastive
    from eigenpair._export import to_numpy_source as to_numpy_source
    from eigenpair._export import to_onnx as to_onnx
    from eigenpair._kernels import analytic_kernel as analytic_kernel
    from eigenpair._kernels import ntk as ntk
    from eigenpair._model import Model as Model
    from eigenpair._model import load as load
    from eigenpair._probe import metrics as metrics
    from eigenpair._probe import neighbours as neighbours
    from eigenpair._probe import probe as probe
    from eigenpair._program import compare as compare
    from eigenpair._program import learnability as learnability
    from eigenpair._program import linear_dynamics as linear_dynamics
    from eigenpair._program import optima as optima
    from eigenpair._program import reproduce as reproduce
    from eigenpair._torch import from_torch as from_torch
    from eigenpair._torch import to_torch as to_torch

__version__ = text_of(lib.ep_version())

# what takes time to import is imported when it is asked for
_WHERE = {
    "Contrastive": "_estimator",
    "Model": "_model", "load": "_model", "data": "_data",
    "ntk": "_kernels", "analytic_kernel": "_kernels",
    "probe": "_probe", "metrics": "_probe", "neighbours": "_probe",
    "compare": "_program", "reproduce": "_program", "learnability": "_program",
    "optima": "_program", "linear_dynamics": "_program",
    "from_torch": "_torch", "to_torch": "_torch",
    "to_numpy_source": "_export", "to_onnx": "_export",
}
__all__ = ["ConvergenceWarning", "NumericalError", "__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'eigenpair' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"eigenpair.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
