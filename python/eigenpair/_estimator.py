"""The estimator: every method of the library in the habits of scikit-learn."""
from __future__ import annotations

import inspect
import os
from typing import Any

import numpy as np

from eigenpair import _core, _options
from eigenpair._core import array, check, ffi, finite, json_of, lib, points, text_of, work
from eigenpair._model import Model, load, run_config
from eigenpair._network import model_of

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.exceptions import NotFittedError
except ImportError:  # the estimator works without scikit-learn, alone
    from eigenpair._plain import BaseEstimator, ClassNamePrefixFeaturesOutMixin, NotFittedError, TransformerMixin


# ---- options: those of a fit, but what a function call says in another way
HIDDEN = {"data", "strict", "labels", "samples", "anchors", "positives", "negatives", "out", "history"}
OWN = {"verbose": (False, "True: progress, by tqdm where it is installed.")}
FIRST = ("method", "n_components", "width", "random_state")


def _groups(setup: Any) -> list[tuple[str, Any, Any]]:
    groups = ffi.new(f"ep_option_group[{lib.EP_SETUP_GROUPS + 1}]")
    lib.ep_setup_groups(groups, setup)
    return [(text_of(g.title), g.table, g.config) for g in groups if g.table]


def _table() -> _options.Table:
    setup = ffi.new("ep_setup *")
    rows = [o for title, table, _ in _groups(setup) for o in _options.read_table(table, title)]
    # the precision is that of the data unless it is given
    return _options.Table(rows, HIDDEN, {"precision": None}, OWN)


TABLE = _table()


class Contrastive(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    __doc__ = f"""A representation learned from pairs, by training or in closed form.

    Parameters are the options of `eigenpair fit`, by the same names; `n_components` is its --outputs, `random_state` its
    --seed, `image_shape` its --image. `precision` is that of the data unless it is given (the program: single).

    Parameters
    ----------
    {TABLE.document().replace(chr(10), chr(10) + '    ')}

    Attributes
    ----------
    model_ : Model
    n_features_in_ : int
    loss_ : float, the last one (NaN where a method has none)
    n_iter_ : int, epochs done
    status_ : done, converged or diverged
    history_ : structured array, a row an epoch: epoch, loss, and what `track` asked for
    eigenvalues_ : falling, of the closed forms
    components_ : (n_components, n_features_in_), of method linear: transform(X) = X @ components_.T
    numbers_ : dict, what the method tells of itself
    explained_ : list of str, how it was computed, and why
    notes_ : list of str, what a user should know

    Examples
    --------
    >>> import numpy as np, eigenpair as ep
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> Z = ep.Contrastive(method="whitened", n_components=3, width=100).fit_transform(X)
    >>> Z.shape
    (60, 3)
    """
    n_features_in_: int

    def __init__(self, **options: Any):
        TABLE.check_names(options, type(self).__name__)
        for name, default in TABLE.defaults.items():
            setattr(self, name, options.get(name, default))

    # ---- fitting

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> "Contrastive":
        """Learns from the rows of X and their views.

        Parameters
        ----------
        X : (n, d), or images (n, h, w), (n, c, h, w); uint8 are pixels. float32 and float64 are used as they are
        y : ignored
        groups : (n,), rows of one group are views of one thing; None: views are made by `augment`

        Returns
        -------
        self
        """
        x = finite(points(X, least=2))
        self._note_features(X, x, reset=True)
        if groups is None:
            return self._fit(x, lambda a, s, default, out: lib.ep_points_draw(
                out, a, self._address(s, "data"), self._address(s, "pair"), default, self._address(s, "run")))
        codes = _group_codes(groups, len(x))
        return self._fit(x, lambda a, s, default, out: lib.ep_points_group(
            out, a, ffi.from_buffer("ptrdiff_t[]", codes), self._address(s, "data"), self._address(s, "pair"), default,
            self._address(s, "run")))

    def fit_pairs(self, anchors: Any, positives: Any, negatives: Any = None) -> "Contrastive":
        """Learns from ready pairs, row by row.

        Parameters
        ----------
        anchors : (n, d)
        positives : (n, d), or several of them in a list
        negatives : (n, d), a list of them, or None

        Returns
        -------
        self
        """
        first = finite(points(anchors, "anchors"), "anchors")
        lists = [_several(positives, "positives", first), _several(negatives, "negatives", first)]
        if not lists[0]:
            raise ValueError("ready pairs need positives")
        everything = [first, *lists[0], *lists[1]]
        self._note_features(anchors, first, reset=True)
        arrays = ffi.new("ep_array[]", [array(a)[0] for a in everything])
        return self._fit(first, lambda a, s, default, out: lib.ep_points_pair(
            out, arrays, len(everything), len(lists[0]), self._address(s, "data"), self._address(s, "run")))

    @staticmethod
    def _address(setup: Any, member: str) -> Any:
        return ffi.addressof(setup, member)

    def _setup(self, dtype: np.dtype) -> Any:
        """The ep_setup of the parameters; within `work`."""
        setup = ffi.new("ep_setup *")
        lib.ep_setup_default(setup)
        values = {name: getattr(self, name) for name in TABLE.rows}
        values["random_state"] = self._seed
        values["precision"] = "double" if self._dtype(dtype) == np.float64 else "single"
        if not isinstance(self.init, (str, os.PathLike)):
            values["init"] = ""
        for _, table, config in _groups(setup):
            for option in _options.read_table(table):
                if option.name in values and values[option.name] is not None:
                    check(_options.set_option(table, config, option, values[option.name]))
        setup.files.out = b""
        return setup

    def _dtype(self, given: np.dtype) -> np.dtype:
        """In which the work is done: of `precision`, or of the data."""
        names = {"single": np.float32, "double": np.float64, None: np.float64 if given == np.float64 else np.float32}
        if self.precision not in names:
            raise ValueError(f"precision {self.precision!r} is not known; choose one of: single, double")
        return np.dtype(names[self.precision])

    def _draw_seed(self) -> int:
        """random_state as scikit-learn has it: a number, None (another one each time), or a RandomState."""
        state = self.random_state
        if state is None:
            state = np.random.mtrand._rand
        if isinstance(state, np.random.RandomState):
            return int(state.randint(0, 2**31 - 1))
        if isinstance(state, np.random.Generator):
            return int(state.integers(0, 2**31 - 1))
        return state

    def _default_pairs(self, setup: Any) -> bytes:
        """As the program chooses: positives for methods and losses that take no negatives."""
        objective = ffi.new("ep_objective *")
        check(lib.ep_objective_parse(objective, ffi.addressof(setup, "objective")))
        alone = lib.ep_objective_positives_only(objective) or lib.ep_method_takes_views(setup.fit.method)
        return b"positives" if alone else b"triplet"

    def _fit(self, x: np.ndarray, make_points: Any) -> "Contrastive":
        self._seed = self._draw_seed()
        options = {n: getattr(self, n) for n in ("threads", "memory")}
        found: dict[str, Any] = {}
        start = None
        if self.init is not None and not isinstance(self.init, (str, os.PathLike)):
            start = model_of(self.init, self._dtype(x.dtype), str(self.activation))

        def body(run: Any) -> None:
            setup = self._setup(x.dtype)
            rows, info, model = ffi.new("ep_points *"), ffi.new("ep_fit_info *"), ffi.new("ep_model **")
            lent = ffi.new("ep_fit_lent *", {"start": start.net if start is not None else ffi.NULL})
            check(make_points(array(x), setup, self._default_pairs(setup), rows))
            try:
                check(lib.ep_fit_from(run, model, info, rows, setup, lent))
                found.update(_facts(info), model=Model(model[0], self._dtype(x.dtype)))
            finally:
                lib.ep_fit_info_free(info)
                lib.ep_points_free(rows)

        work(body, run_config(options), self.verbose)
        self._keep(found)
        return self

    def _keep(self, found: dict[str, Any]) -> None:
        """What a fit leaves on the estimator."""
        numbers = found["numbers"]
        self.model_: Model = found["model"]
        self.loss_, self.n_iter_, self.status_ = found["loss"], found["epochs"], found["status"]
        self.history_, self.numbers_ = found["history"], numbers
        self.explained_, self.notes_ = found["explain"], found["notes"]
        for name in ("eigenvalues_", "components_"):
            if hasattr(self, name):
                delattr(self, name)
        if "eigenvalues" in numbers:
            self.eigenvalues_ = np.array(numbers["eigenvalues"])
        if self.method == "linear":
            w = self.model_.weights()
            self.components_ = w["W"].T @ w["V"] / np.sqrt(len(w["V"]))
        if self.status_ == "diverged":
            _core.warn(f"diverged at epoch {self.n_iter_}: lower --rate; the model holds the last finite weights")

    # ---- using

    def transform(self, X: Any) -> np.ndarray:
        """Embeds new points.

        Parameters
        ----------
        X : (n, n_features_in_)

        Returns
        -------
        (n, n_components), of the type of X
        """
        self._check_fitted()
        x = points(X)
        self._note_features(X, x, reset=False)
        return self.model_.embed(x, threads=self.threads, memory=self.memory, verbose=self.verbose)

    def fit_transform(self, X: Any, y: Any = None, groups: Any = None) -> np.ndarray:
        """fit(X, groups=groups), then transform(X)."""
        return self.fit(X, groups=groups).transform(X)

    def save(self, path: Any) -> None:
        """Writes model.npz, for `eigenpair.load` and the program."""
        self._check_fitted()
        self.model_.save(path)

    @classmethod
    def load(cls, path: Any) -> "Contrastive":
        """An estimator of a model.npz, fitted, with the settings in it."""
        model = load(path)
        config = model.config
        known = {o.field: o.name for o in TABLE.rows.values()}
        given = {known[k]: v for k, v in config.items() if k in known}
        self = cls(**given)
        self.model_, self.n_features_in_ = model, model.n_features_in
        self.numbers_, self.explained_, self.notes_ = {}, [], []
        return self

    # ---- scikit-learn

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate "
                                 "arguments before using this estimator.")

    @property
    def _n_features_out(self) -> int:
        return self.model_.n_components

    def _note_features(self, given: Any, x: np.ndarray, reset: bool) -> None:
        """n_features_in_ and the names of columns: kept in fit, checked afterwards."""
        count = int(np.prod(x.shape[1:]))
        if not reset and count != self.n_features_in_:
            raise ValueError(f"X has {count} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                             "features as input")
        _check_names(self, given, reset)
        if reset:
            self.n_features_in_ = count

    def _more_tags(self) -> dict[str, Any]:
        return {"preserves_dtype": [np.float64, np.float32], "requires_fit": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


Contrastive.__init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *TABLE.parameters(FIRST)])


def _check_names(estimator: Any, given: Any, reset: bool) -> None:
    if hasattr(estimator, "_check_feature_names"):  # scikit-learn before 1.6
        estimator._check_feature_names(given, reset=reset)
        return
    try:
        from sklearn.utils.validation import _check_feature_names
    except ImportError:
        return
    _check_feature_names(estimator, given, reset=reset)


def _group_codes(groups: Any, n: int) -> np.ndarray:
    """Any labels -> whole numbers, equal where they are."""
    names = np.asarray(groups)
    if names.shape != (n,):
        raise ValueError(f"groups has shape {names.shape}, but X has {n} rows: one group a row")
    return np.ascontiguousarray(np.unique(names, return_inverse=True)[1].reshape(n), dtype=np.intp)


def _several(given: Any, name: str, first: np.ndarray) -> list[np.ndarray]:
    """One matrix or several -> a list, of the type of the anchors."""
    if given is None:
        return []
    many = given if isinstance(given, (list, tuple)) and np.ndim(given[0]) >= 2 else [given]
    out = []
    for one in many:
        x = finite(points(one, name), name)
        if x.shape != first.shape:
            raise ValueError(f"{name} has shape {x.shape}, but anchors {first.shape}: pairs are row by row")
        out.append(np.ascontiguousarray(x.astype(first.dtype, copy=False)))
    return out


def _facts(info: Any) -> dict[str, Any]:
    """ep_fit_info as Python's own."""
    h = info.history
    names = [text_of(h.name[i]) for i in range(h.columns)]
    values = np.frombuffer(ffi.buffer(h.value, 8 * h.rows * h.columns)) if h.rows else np.zeros(0)
    history = np.zeros(h.rows, [(n, np.int64 if n == "epoch" else np.float64) for n in names or ["epoch"]])
    for i, name in enumerate(names):
        history[name] = values.reshape(h.rows, h.columns)[:, i]
    return {"loss": info.loss, "epochs": int(info.epochs), "status": text_of(lib.ep_outcome_name(info.outcome)),
            "seconds": info.seconds, "history": history, "numbers": json_of(info.numbers) or {},
            "notes": json_of(info.notes) or [], "explain": json_of(info.explain) or []}
