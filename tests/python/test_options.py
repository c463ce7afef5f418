"""Parameters are the library's own options: names, defaults, ranges, help, as the program prints them."""
import inspect
import re
import subprocess

import eigenpair as ep
import pytest
from conftest import PROGRAM
from eigenpair import _core, _estimator, _options

NAMES = {"n_components": "outputs", "random_state": "seed", "image_shape": "image"}
NOT_HERE = {"data", "strict", "label_column", "columns", "drop", "missing", "labels", "samples", "anchors", "positives",
            "negatives", "out", "history"}  # said in another way, or of files alone


def help_of_fit():
    text = subprocess.run([str(PROGRAM), "fit", "--help"], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"^  --([a-z-]+) *(.*(?:\n {26}.*)*)", text, re.M))


def test_every_option_of_the_program_is_a_parameter():
    """But those that are of the command line alone, which the library's tables do not have."""
    program = {name.replace("-", "_") for name in help_of_fit()}
    ours = {NAMES.get(n, n) for n in inspect.signature(ep.Contrastive).parameters} - {"verbose"}
    assert ours | NOT_HERE <= program and len(ours) > 50
    assert program - ours - NOT_HERE <= {"from", "explain", "json", "progress"} | command_line_alone()


def command_line_alone():
    tables = {o.field for _, table, _ in _estimator._groups(_core.ffi.new("ep_setup *")) for o in _options.read_table(table)}
    return {name.replace("-", "_") for name in help_of_fit()} - tables


def test_defaults_and_help_are_those_of_the_program():
    text = help_of_fit()
    for name, parameter in inspect.signature(ep.Contrastive).parameters.items():
        if name == "verbose":
            continue
        flag = NAMES.get(name, name).replace("_", "-")
        row = _estimator.TABLE.rows[name]
        assert row.help in re.sub(r"\s+", " ", text[flag])
        assert row.help in ep.Contrastive.__doc__
        stated = re.search(r"\(default ([^()]*)\)\s*$", text[flag].split("\n")[0])
        if name == "precision":
            assert parameter.default is None
        elif stated and row.kind in ("INT", "REAL", "BYTES") and stated[1] not in row.choices:
            assert float(stated[1]) == parameter.default
        elif stated and row.choices:
            assert stated[1] == parameter.default
        for choice in row.choices:
            assert choice in text[flag]


@pytest.mark.parametrize("name", [n for n, r in _estimator.TABLE.rows.items() if r.kind in ("INT", "REAL")])
def test_ranges(name, X):
    row = _estimator.TABLE.rows[name]
    for value in (row.low - 1, 2 * row.high + 1):
        with pytest.raises(ValueError, match=f"{name} .*out of range"):
            ep.Contrastive(**{name: int(value) if row.kind == "INT" else value}).fit(X)


@pytest.mark.parametrize("name", [n for n, r in _estimator.TABLE.rows.items() if r.kind == "NAME"])
def test_names(name, X):
    with pytest.raises(ValueError, match=f"{name} 'nosuch' is not known; choose one of: .*"):
        ep.Contrastive(**{name: "nosuch"}).fit(X)


def test_unknown_names():
    with pytest.raises(TypeError, match="no option 'widht'; did you mean 'width'"):
        ep.Contrastive(widht=3)
    with pytest.raises(TypeError, match="no option 'outputs'; did you mean 'n_components'"):
        ep.Contrastive(outputs=3)
    with pytest.raises(TypeError, match="no option 'xyzzy'$"):
        ep.Contrastive(xyzzy=3)


@pytest.mark.parametrize("wrong", [dict(width="many"), dict(width=True), dict(width=2.5), dict(rate="fast"),
                                   dict(input_scale=1), dict(method=3), dict(memory="4X"), dict(rate=float("nan"))])
def test_wrong_types(wrong, X):
    with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
        ep.Contrastive(**wrong).fit(X)


def test_values_as_a_user_writes_them(X):
    import numpy as np
    a = ep.Contrastive(width=np.int64(30), rate=np.float32(0.5), epochs=2, memory="1G", track=["ntk", "rank"]).fit(X)
    b = ep.Contrastive(width=30, rate=0.5, epochs=2, memory=2.0**30, track="ntk,rank").fit(X)
    assert (a.transform(X) == b.transform(X)).all() and a.history_.dtype == b.history_.dtype
    shapes = [ep.Contrastive(method="pca", n_components=2, width=20, augment="shift:1", image_shape=shape).fit_transform(X)
              for shape in ((3, 4), [3, 4], "3x4", np.array([3, 4]))]
    assert all((shape == shapes[0]).all() for shape in shapes)
