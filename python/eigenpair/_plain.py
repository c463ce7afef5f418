"""What the estimator takes from scikit-learn, where that is not installed: parameters, and little else."""
from __future__ import annotations

import inspect
from typing import Any


class NotFittedError(ValueError, AttributeError):
    """The estimator is used before it is fitted."""


class BaseEstimator:
    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(n for n in inspect.signature(cls.__init__).parameters if n != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {n: getattr(self, n) for n in self._get_param_names()}

    def set_params(self, **params: Any) -> Any:
        known = self._get_param_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {known}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [f"{n}={v!r}" for n, v in self.get_params().items() if v != defaults[n].default]
        return f"{type(self).__name__}({', '.join(changed)})"


class TransformerMixin:
    pass


class ClassNamePrefixFeaturesOutMixin:
    def get_feature_names_out(self, input_features: Any = None) -> Any:
        import numpy as np
        prefix = type(self).__name__.lower()
        count: int = self._n_features_out  # type: ignore[attr-defined]
        return np.array([f"{prefix}{i}" for i in range(count)], dtype=object)
