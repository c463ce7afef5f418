"""Options as the library's tables have them: names, defaults, ranges, help. Nothing of it is written here a second time."""
from __future__ import annotations

import difflib
import inspect
import numbers
import operator
from typing import Any, Iterable, NamedTuple, Optional

import numpy as np
from eigenpair._core import PYTHON_NAMES, check, lib, text_of


class Option(NamedTuple):
    """A row of a table: `name` here, `field` in the library (the program's flag)."""

    name: str
    field: str
    kind: str
    default: Any
    low: float
    high: float
    choices: tuple[str, ...]
    help: str
    group: str


KINDS = ("INT", "REAL", "BYTES", "FLAG", "CHOICE", "NAME", "TEXT", "LIST")


def _default(kind: str, text: str, choices: tuple[str, ...]) -> Any:
    if kind == "FLAG":
        return False
    if text in choices:
        return text
    if kind == "INT":
        return int(float(text))
    if kind in ("REAL", "BYTES"):
        return float(text)
    return text


def _choices(row: Any) -> tuple[str, ...]:
    out: list[str] = []
    while row.names and row.names(len(out)):
        out.append(text_of(row.names(len(out))))
    return tuple(out)


def read_table(table: Any, group: str = "") -> list[Option]:
    """A table of ep_option, ended by a row without a name."""
    rows, i = [], 0
    while table[i].name:
        row, i = table[i], i + 1
        kind, field = KINDS[row.kind], text_of(row.name)
        choices = _choices(row)
        default = _default(kind, text_of(getattr(row, "def")), choices)
        rows.append(Option(PYTHON_NAMES.get(field, field), field, kind, default, row.lo, row.hi, choices,
                           text_of(row.help), group))
    return rows


def shape_text(shape: Any) -> str:
    """(3, 32, 32) as the command line has it."""
    try:
        return "x".join(str(operator.index(v)) for v in shape)
    except TypeError:
        raise TypeError(f"image_shape is whole numbers, such as (28, 28), not {shape!r}") from None


def c_text(text: str, name: str) -> bytes:
    """For the library, whose texts end at the first zero."""
    if "\0" in text:
        raise ValueError(f"{name} has a character 0 in it: {text!r}")
    return text.encode()


def text_value(option: Option, value: Any) -> str:
    """A value as the command line would have it; what is of the wrong type is a TypeError."""
    if option.name == "image_shape" and isinstance(value, (tuple, list, np.ndarray)):
        return shape_text(value)
    if option.kind == "FLAG":
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{option.name} is True or False, not {value!r}")
        return "true" if value else "false"
    if isinstance(value, str) and value in option.choices:  # auto, for numbers that may be left to the library
        return value
    if option.kind in ("INT", "REAL") and not (isinstance(value, numbers.Real) and not isinstance(value, bool)):
        raise TypeError(f"{option.name} is a {'whole number' if option.kind == 'INT' else 'number'}, not {value!r}")
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if option.kind in ("TEXT", "NAME") and isinstance(value, (list, tuple)):
        return ",".join(str(v) for v in value)
    if hasattr(value, "__fspath__"):
        return str(value.__fspath__())
    if not isinstance(value, str):
        raise TypeError(f"{option.name} is a text, not {value!r}")
    return value


class Table:
    """Options of one function or class, of several of the library's tables with their structs."""

    def __init__(self, rows: Iterable[Option], hidden: Iterable[str] = (), defaults: Optional[dict[str, Any]] = None,
                 own: Optional[dict[str, tuple[Any, str]]] = None):
        hidden = set(hidden)
        self.rows = {r.name: r for r in rows if r.field not in hidden}
        self.defaults = {n: r.default for n, r in self.rows.items()}
        self.defaults.update(defaults or {})
        self.own = own or {}
        self.defaults.update({n: d for n, (d, _) in self.own.items()})

    def parameters(self, first: Iterable[str] = ()) -> list[inspect.Parameter]:
        names = [*first, *(n for n in self.defaults if n not in set(first))]
        return [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=self.defaults[n]) for n in names]

    def check_names(self, names: Iterable[str], who: str) -> None:
        for name in names:
            if name in self.defaults:
                continue
            near = difflib.get_close_matches(name, self.defaults, 1) or \
                [PYTHON_NAMES[w] for w in difflib.get_close_matches(name, PYTHON_NAMES, 1)]
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{who} has no option {name!r}{hint}")

    def document(self) -> str:
        """The parameters as a docstring has them."""
        lines: list[str] = []
        for name, default in self.defaults.items():
            lines.append(f"{name} : default {default!r}")
            if name in self.own:
                lines.append(f"    {self.own[name][1]}")
                continue
            row = self.rows[name]
            more = f" One of: {', '.join(row.choices)}." if row.choices else ""
            if row.kind in ("INT", "REAL"):
                more = f" From {row.low:g} to {row.high:g}."
            lines.append(f"    {row.help}.{more}")
        return "\n".join(lines)


TYPES = {"INT": "int", "REAL": "float", "BYTES": "float | str", "FLAG": "bool", "CHOICE": "str", "NAME": "str",
         "TEXT": "str | Sequence[Any] | PathLike[str]", "LIST": "str | Sequence[Any]"}
OTHER_TYPES = {"random_state": "int | RandomState | Generator | None", "image_shape": "str | Sequence[int]", "init": "Any",
               "precision": "Literal['single', 'double'] | None", "verbose": "bool"}


def stub(table: Table, name: str) -> str:
    """The text of a .pyi with the parameters as a TypedDict, for type checkers and editors."""
    lines = ['"""Written by setup.py from the option tables of the library."""', "from collections.abc import Sequence",
             "from os import PathLike", "from typing import Any, Literal, TypedDict", "",
             "from numpy.random import Generator, RandomState", "", f"class {name}(TypedDict, total=False):"]
    for option in table.defaults:
        row = table.rows.get(option)
        kind = OTHER_TYPES.get(option) or (TYPES[row.kind] if row else "Any")
        if row and row.choices and row.kind in ("INT", "REAL"):
            kind += f" | Literal[{', '.join(map(repr, row.choices))}]"
        text = row.help if row else table.own[option][1]
        lines += [f"    {option}: {kind}", f'    """{text}"""']
    return "\n".join(lines) + "\n"


def set_option(table: Any, config: Any, option: Option, value: Any) -> int:
    """Writes one option into its struct -> status; the message is the library's."""
    row = lib.ep_options_find(table, option.field.encode())
    return lib.ep_options_set(row, config, c_text(text_value(option, value), option.name))


def fill(table: Any, config: Any, options: dict[str, Any]) -> None:
    """Defaults, then what is given and not None, of one table into its struct. Within `work`."""
    lib.ep_options_default(table, config)
    for option in read_table(table):
        if options.get(option.name) is not None:
            check(set_option(table, config, option, options[option.name]))


RUN = Table(read_table(lib.ep_run_options), {"precision", "seed"})  # what every function takes: threads, memory
