"""The estimator: every method of the library in the habits of scikit-learn."""
from __future__ import annotations

import errno
import inspect
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from eigenpair import _core, _options
from eigenpair._core import array, check, ffi, finite, json_of, lib, points, text_of, work
from eigenpair._model import Model, load, run_config
from eigenpair._network import model_of
from eigenpair._probe import codes_of
from eigenpair._sums import Sums, of_sums

if TYPE_CHECKING:  # written from the tables when the wheel is built
    from eigenpair._parameters import Parameters
    from typing_extensions import Unpack

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.exceptions import NotFittedError
except ImportError:  # the estimator works without scikit-learn, alone
    from eigenpair._plain import BaseEstimator, ClassNamePrefixFeaturesOutMixin, NotFittedError, TransformerMixin


# ---- options: those of a fit, but what a function call says in another way
HIDDEN = {"data", "strict", "label_column", "columns", "drop", "missing", "labels", "samples", "anchors", "positives",
          "negatives", "out", "history"}
OWN = {"verbose": (False, "True: progress, by tqdm where it is installed.")}
FOUND = ("model_", "loss_", "n_iter_", "status_", "history_", "numbers_", "explained_", "notes_", "eigenvalues_",
         "components_")
FIRST = ("method", "n_components", "width", "random_state")


class Pairs(NamedTuple):
    """What method auto asks of pairs: are they there already (not drawn), and have they negatives?"""

    ready: bool
    negatives: bool


DRAWN, GROUPED = Pairs(False, False), Pairs(True, False)


def _groups(setup: Any) -> list[tuple[str, Any, Any]]:
    groups = ffi.new(f"ep_option_group[{lib.EP_SETUP_GROUPS + 1}]")
    lib.ep_setup_groups(groups, setup)
    tables = [lib.ep_fit_auto_options if text_of(g.table[0].name) == "method" else g.table for g in groups if g.table]
    return [(text_of(g.title), table, g.config) for g, table in zip(groups, tables)]


def _table() -> _options.Table:
    setup = ffi.new("ep_setup *")
    rows = [o for title, table, _ in _groups(setup) for o in _options.read_table(table, title)]
    # the precision is that of the data unless it is given
    return _options.Table(rows, HIDDEN, {"precision": None}, OWN)


TABLE = _table()


class Contrastive(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    __doc__ = f"""A representation learned from pairs, by training or in closed form.

    Parameters are the options of `eigenpair fit`, by the same names; `n_components` is its --outputs, `random_state` its
    --seed, `image_shape` its --image. `precision` is that of the data unless it is given (the program: single). Method auto
    looks, as the program does, at what was given: here, parameters that differ from their defaults.

    Parameters
    ----------
    {TABLE.document().replace(chr(10), chr(10) + '    ')}

    Attributes
    ----------
    model_ : Model
    sums_ : of partial_fit, what the model is made of
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
    model_: Model
    sums_: Sums

    def __init__(self, **options: Unpack[Parameters]):
        TABLE.check_names(options, type(self).__name__)
        given: dict[str, Any] = {**options}
        for name, default in TABLE.defaults.items():
            setattr(self, name, given.get(name, default))

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

        Examples
        --------
        >>> import numpy as np, eigenpair as ep
        >>> X = np.random.default_rng(0).normal(size=(60, 8))
        >>> ep.Contrastive(method="whitened", n_components=3, width=50).fit(X, groups=np.arange(60) // 2).status_
        'converged'
        """
        x = finite(points(X, least=2))
        self._note_features(X, x, reset=True)
        return self._fit(x.dtype, _source(x, groups), DRAWN if groups is None else GROUPED)

    @of_sums
    def partial_fit(self, X: Any, y: Any = None, groups: Any = None) -> "Contrastive":
        """Adds rows to what has been learned so far: for the closed forms pca and whitened, whose sums over the rows of all
        calls are what one fit has (to rounding; views are drawn anew in every call). Patches are drawn from the first rows.
        The model is made when it is first asked for.

        Parameters
        ----------
        X, groups : as in fit

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np, eigenpair as ep
        >>> X = np.random.default_rng(0).normal(size=(60, 8))
        >>> a = ep.Contrastive(method="pca", n_components=3, width=50)
        >>> a.partial_fit(X[:30]).partial_fit(X[30:]).transform(X).shape
        (60, 3)
        """
        x = finite(points(X, least=2))
        first = not hasattr(self, "sums_")
        self._note_features(X, x, reset=first)
        if first:
            self._seed, self._part, self._sums_dtype = self._draw_seed(), 0, self._dtype(x.dtype)
        self._add(x, _source(x, groups), DRAWN if groups is None else GROUPED)
        self._part += 1
        self._forget()
        return self

    @of_sums
    def merge(self, other: "Contrastive") -> "Contrastive":
        """Adds what another estimator of the same settings has summed up by partial_fit, here or on another machine (they can
        be pickled).

        Parameters
        ----------
        other : with the same map: dense features of one random_state, or an `empty_copy` of this one that was fitted

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np, eigenpair as ep
        >>> X = np.random.default_rng(0).normal(size=(60, 8))
        >>> a, b = (ep.Contrastive(method="pca", n_components=3, width=50).partial_fit(part) for part in (X[:30], X[30:]))
        >>> a.merge(b).sums_.anchors
        60
        """
        if not isinstance(other, Contrastive):
            raise TypeError(f"merge takes another Contrastive, not {type(other).__name__}")
        for one in (self, other):
            if not hasattr(one, "sums_"):
                raise NotFittedError("merge adds up what partial_fit has summed: call that first")
        self.sums_.merge(other.sums_)
        self._forget()
        return self

    @of_sums
    def empty_copy(self, part: int) -> "Contrastive":
        """An estimator with the map of this one and no rows, for partial_fit elsewhere and merge back here.

        Parameters
        ----------
        part : 1, 2, ..: a number of its own for each, so that its views are others
        """
        if not hasattr(self, "sums_"):
            raise NotFittedError("the map is made by partial_fit: call that first")
        copy = type(self)(**self.get_params())
        copy.sums_, copy.n_features_in_ = self.sums_.empty_copy(), self.n_features_in_
        copy._seed, copy._part, copy._sums_dtype = self._seed, int(part) << 20, self._sums_dtype
        copy._sums_setup = self._sums_setup
        return copy

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

        Examples
        --------
        >>> import numpy as np, eigenpair as ep
        >>> A = np.random.default_rng(0).normal(size=(60, 8))
        >>> ep.Contrastive(method="pca", n_components=3, width=50).fit_pairs(A, A + 0.1, A[::-1]).transform(A).shape
        (60, 3)
        """
        first = finite(points(anchors, "anchors"), "anchors")
        lists = [_several(positives, "positives", first), _several(negatives, "negatives", first)]
        if not lists[0]:
            raise ValueError("ready pairs need positives")
        everything = [first, *lists[0], *lists[1]]
        self._note_features(anchors, first, reset=True)
        arrays = ffi.new("ep_array[]", [array(a)[0] for a in everything])
        return self._fit(first.dtype, lambda s, default, out: lib.ep_points_pair(
            ffi.NULL, out, arrays, len(everything), len(lists[0]), _part_of(s, "data"), _part_of(s, "run")),
            Pairs(True, bool(lists[1])))

    def _value(self, name: str) -> Any:
        """A parameter; None is its default."""
        value = getattr(self, name)
        return TABLE.defaults[name] if value is None else value

    def _given(self) -> Any:
        """Names of parameters that differ from their defaults, as the library's char *[]."""
        names = [row.field for name, row in TABLE.rows.items()
                 if (value := self._value(name)) is not TABLE.defaults[name] and not _same(value, TABLE.defaults[name])]
        texts = [ffi.new("char[]", name.encode()) for name in names]
        return _core.keep(ffi.new("const char *[]", [*texts, ffi.NULL]), *texts)

    def _chosen(self, pairs: Pairs = DRAWN) -> str:
        """The method, also where it is auto."""
        if self._value("method") != "auto":
            return str(self.method)
        setup, why = ffi.new("ep_setup *"), ffi.new("char[200]")
        lib.ep_setup_default(setup)
        setup.fit.method = b"auto"
        setup.pair.pairs = str(self._value("pairs")).encode()[:60]
        lib.ep_fit_choose(setup, why, self._given(), *pairs)
        return text_of(setup.fit.method)

    def _setup(self, dtype: np.dtype, pairs: Pairs = DRAWN) -> Any:
        """The ep_setup of the parameters, and why this method (empty where it was given); within `work`."""
        setup = ffi.new("ep_setup *")
        lib.ep_setup_default(setup)
        values = {name: self._value(name) for name in TABLE.rows}
        values["random_state"] = self._seed
        values["precision"] = "double" if self._dtype(dtype) == np.float64 else "single"
        if not isinstance(values["init"], (str, os.PathLike)):
            values["init"] = ""
        for _, table, config in _groups(setup):
            for option in _options.read_table(table):
                if option.name in values:
                    check(_options.set_option(table, config, option, values[option.name]))
        setup.files.out = b""
        why = ffi.new("char[200]")
        lib.ep_fit_choose(setup, why, self._given(), *pairs)
        return setup, text_of(why)

    def _dtype(self, given: np.dtype) -> np.dtype:
        """In which the work is done: of `precision`, or of the data."""
        names = {"single": np.float32, "double": np.float64, None: np.float64 if given == np.float64 else np.float32}
        if not (self.precision is None or isinstance(self.precision, str)) or self.precision not in names:
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

    def _work(self, body: Any) -> Any:
        return work(body, run_config({n: getattr(self, n) for n in ("threads", "memory")}), self.verbose)

    def _fit(self, dtype: np.dtype, make_points: Any, pairs: Pairs) -> "Contrastive":
        self.__dict__.pop("sums_", None)
        _check_place(self._value("checkpoint"))
        self._seed = self._draw_seed()
        start = None
        if not isinstance(self._value("init"), (str, os.PathLike)):
            start = model_of(self.init, self._dtype(dtype), str(self._value("activation")))

        def body(run: Any) -> dict[str, Any]:
            (setup, why), rows = self._setup(dtype, pairs), ffi.new("ep_points *")
            lent = ffi.new("ep_fit_lent *", {"start": start.net if start is not None else ffi.NULL})
            check(make_points(setup, self._default_pairs(setup), rows))
            try:
                if why:
                    lib.ep_fit_choose_features(setup, rows, self._given())
                found = _found(lambda model, info: lib.ep_fit_from(run, model, info, rows, setup, lent), self._dtype(dtype))
                if why:
                    found["numbers"]["chosen"] = _core._in_python(why)
                return found
            finally:
                lib.ep_points_free(rows)

        self._keep(self._work(body))
        return self

    # ---- sums

    def _add(self, x: np.ndarray, make_points: Any, pairs: Pairs) -> None:
        """Rows into sums_, which are made of the first ones."""
        sums = self.__dict__.get("sums_")

        def body(run: Any) -> Any:
            (setup, why), rows, new = self._setup(self._sums_dtype, pairs), ffi.new("ep_points *"), ffi.new("ep_sums **")
            drawn = ffi.new("ep_setup *", setup[0])
            drawn.run.seed = (setup.run.seed + 0x9E3779B1 * self._part) % 2**53
            check(make_points(drawn, self._default_pairs(setup), rows))
            try:
                if why:
                    lib.ep_fit_choose_features(setup, rows, self._given())
                self._sums_setup = (pairs, ffi.string(setup.feature.features))
                if sums is None:
                    check(lib.ep_sums_new(run, new, rows, setup))
                mine = sums if sums is not None else Sums(new[0])
                check(lib.ep_sums_add(run, mine._pointer, rows, ffi.new("ep_shard *")[0]))
                return mine
            finally:
                lib.ep_points_free(rows)

        self.sums_ = self._work(body)

    def _forget(self) -> None:
        """The model is out of date: it is made again when it is asked for."""
        for name in FOUND:
            self.__dict__.pop(name, None)

    def _finish(self) -> None:
        def body(run: Any) -> dict[str, Any]:
            pairs, features = self._sums_setup
            setup, why = self._setup(self._sums_dtype, pairs)
            if why:
                setup.feature.features = features
            return _found(lambda model, info: lib.ep_fit_sums(run, model, info, self.sums_._pointer, setup), self._sums_dtype)

        self._keep(self._work(body))

    def __getattr__(self, name: str) -> Any:
        if name in FOUND and "sums_" in self.__dict__ and "model_" not in self.__dict__:
            self._finish()
            if name in self.__dict__:
                return self.__dict__[name]
        if isinstance(vars(Contrastive).get(name), of_sums):
            raise AttributeError(vars(Contrastive)[name].reason(self))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _keep(self, found: dict[str, Any]) -> None:
        """What a fit leaves on the estimator."""
        numbers = found["numbers"]
        self.model_ = found["model"]
        self.loss_, self.n_iter_, self.status_ = found["loss"], found["epochs"], found["status"]
        self.history_, self.numbers_ = found["history"], numbers
        self.explained_, self.notes_ = found["explain"], found["notes"]
        for name in ("eigenvalues_", "components_"):
            self.__dict__.pop(name, None)
        if "eigenvalues" in numbers:
            self.eigenvalues_ = np.array(numbers["eigenvalues"])
        if self._chosen() == "linear":
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
        """An estimator of a model.npz, fitted, with the settings in it but for the names of files, threads and memory:
        these are the caller's, a model may be a stranger's."""
        model = load(path)
        config = model.config
        own = {"init", "checkpoint", "every", "resume", *_options.RUN.rows}
        known = {o.field: o.name for o in TABLE.rows.values() if o.name not in own}
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
    try:
        from sklearn.utils.validation import _check_feature_names
    except ImportError:
        if hasattr(estimator, "_check_feature_names"):  # scikit-learn before 1.6
            estimator._check_feature_names(given, reset=reset)
        return
    _check_feature_names(estimator, given, reset=reset)


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray):
        return False
    try:
        return bool(value == default)
    except (TypeError, ValueError):  # arrays and the like
        return False


def _check_place(path: Any) -> None:
    """Of a checkpoint, before hours of work: it is first written when they are interrupted."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        return
    folder = os.path.dirname(os.fspath(path)) or os.curdir
    wrong = errno.ENOENT if not os.path.isdir(folder) else errno.EISDIR if os.path.isdir(path) else \
        errno.EACCES if not os.access(folder, os.W_OK) else 0
    if wrong:
        raise OSError(wrong, os.strerror(wrong), os.fspath(path))


def _part_of(setup: Any, member: str) -> Any:
    return ffi.addressof(setup, member)


def _source(x: np.ndarray, groups: Any) -> Any:
    """What makes points of rows: (setup, default pairs, ep_points *) -> status."""
    lent = array(x)
    if groups is None:
        return lambda s, default, out: lib.ep_points_draw(ffi.NULL, out, lent, _part_of(s, "data"), _part_of(s, "pair"),
                                                          default, _part_of(s, "run"))
    codes = _group_codes(groups, len(x))
    return lambda s, default, out: lib.ep_points_group(
        ffi.NULL, out, lent, ffi.from_buffer("ptrdiff_t[]", codes), _part_of(s, "data"), _part_of(s, "pair"), default,
        _part_of(s, "run"))


def _found(fit: Any, dtype: Any) -> dict[str, Any]:
    """fit(ep_model **, ep_fit_info *) -> the model and what is known of it."""
    info, model = ffi.new("ep_fit_info *"), ffi.new("ep_model **")
    try:
        check(fit(model, info))
        return {**_facts(info), "model": Model(model[0], dtype)}
    finally:
        lib.ep_fit_info_free(info)


def _group_codes(groups: Any, n: int) -> np.ndarray:
    """Any labels -> whole numbers, equal where they are."""
    names = np.asarray(groups)
    if names.shape != (n,):
        raise ValueError(f"groups has shape {names.shape}, but X has {n} rows: one group a row")
    return np.ascontiguousarray(codes_of(names, "groups")[1], dtype=np.intp)


def _several(given: Any, name: str, first: np.ndarray) -> list[np.ndarray]:
    """One matrix or several -> a list, of the type of the anchors."""
    if given is None:
        return []
    many = given if isinstance(given, (list, tuple)) and (not given or np.ndim(given[0]) >= 2) else [given]
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
