"""eigenpair: positive pairs in, eigenpairs out. Wide contrastive and self-supervised models: training, tangent kernels at
finite and infinite width, closed forms that replace training, and how good the replacement is. docs/python.md has the tour.

>>> import numpy as np, eigenpair as ep
>>> X = np.random.default_rng(0).normal(size=(50, 6))
>>> ep.Contrastive(method="pca", n_components=4, width=200, random_state=0).fit(X).transform(X).shape
(50, 4)
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eigenpair._core import ConvergenceWarning, NumericalError, lib, text_of

if TYPE_CHECKING:
    from eigenpair._estimator import Contrastive as Contrastive
    from eigenpair._model import Model as Model, load as load

__version__ = text_of(lib.ep_version())

# what takes time to import is imported when it is asked for
_WHERE = {"Contrastive": "_estimator", "Model": "_model", "load": "_model"}
__all__ = ["ConvergenceWarning", "NumericalError", "__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'eigenpair' has no attribute {name!r}")
    import importlib
    value = getattr(importlib.import_module(f"eigenpair.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
