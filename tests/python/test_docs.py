"""Docstrings are there, and their examples hold; types and style where the tools are installed."""
import doctest
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
import tarfile

import eigenpair as ep
import pytest
from eigenpair import _estimator

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ["eigenpair", *(f"eigenpair.{m.name}" for m in pkgutil.iter_modules(ep.__path__) if m.name != "_library")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    if name == "eigenpair._torch":
        pytest.importorskip("torch")
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_everything_public_has_an_example():
    without = {"ConvergenceWarning", "NumericalError", "__version__"}
    for name in ep.__all__:
        text = inspect.getdoc(getattr(ep, name)) or ""
        assert text, name
        if name not in without:
            assert ">>>" in text, name
    assert set(dir(ep)) >= set(ep.__all__)
    with pytest.raises(AttributeError, match="nosuch"):
        ep.nosuch  # noqa: B018


def test_document_names_what_is_there():
    """docs/python.md speaks of functions and parameters that exist."""
    text = (ROOT / "docs/python.md").read_text()
    named = set(re.findall(r"\bep\.(\w+)", text))
    assert named <= set(ep.__all__) and len(named) > 10
    assert {n for n in ep.__all__ if n not in ("__version__", "Model")} <= named


def need(tool, least=(0,)):
    """Skips where the tool is not installed in this environment, or too old to know the types we use."""
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed")
    version = importlib.metadata.version(tool)
    if tuple(int(n) for n in re.findall(r"\d+", version)[:2]) < least:
        pytest.skip(f"{tool} {version} is too old: {least} has the types of keyword arguments")


MYPY = (1, 5)


@pytest.mark.parametrize("tool, arguments", [("mypy", ["--ignore-missing-imports"]), ("ruff", ["check"])])
def test_tools(tool, arguments, tmp_path):
    need(tool, MYPY if tool == "mypy" else (0,))
    paths = ["-p", "eigenpair"] if tool == "mypy" else \
        [str(ROOT / p) for p in ("python", "setup.py", "tests/python", "examples/python", "bench/python.py",
                                 "bench/peers_table.py", "bench/peers_tasks.py")]
    done = subprocess.run([sys.executable, "-m", tool, *arguments, *paths], capture_output=True, text=True,
                          cwd=tmp_path if tool == "mypy" else ROOT,
                          env={**os.environ, "MYPY_CACHE_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_of_parameters(tmp_path):
    """What a user writes is checked against the option tables: names, and kinds of values."""
    need("mypy", MYPY)
    lines = ["import eigenpair as ep", "a: ep.Contrastive = ep.Contrastive(method='pca', width=30, n_components='auto')",
             "ep.Contrastive(widht=3)", "ep.Contrastive(width='many')", "ep.ntk({}, [[1.0]], layout=3)"]
    (tmp_path / "user.py").write_text("\n".join(lines) + "\n")
    done = subprocess.run([sys.executable, "-m", "mypy", "--ignore-missing-imports", "user.py"], capture_output=True,
                          text=True, cwd=tmp_path)
    wrong = {int(n) for n in re.findall(r"^user.py:(\d+): error", done.stdout, re.M)}
    assert wrong == {3, 4, 5}, done.stdout + done.stderr


def test_parameters_stub():
    """Written when the wheel is built; a line for every parameter."""
    text = (pathlib.Path(ep.__file__).parent / "_parameters.pyi").read_text()
    assert re.findall(r"^    (\w+): ", text, re.M) == list(_estimator.TABLE.defaults)


def test_no_wheel_without_the_extension():
    code = "import sys, runpy; sys.modules['cffi'] = None; runpy.run_path('setup.py', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode != 0 and "cffi" in done.stderr


def test_it_is_the_wheel():
    assert "site-packages" in ep.__file__ and sys.prefix != sys.base_prefix


def test_source_distribution(tmp_path):
    """An sdist has every file that the wheel is built of."""
    pytest.importorskip("setuptools")
    line = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path), "sdist", "-d", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    wanted = {str(p.relative_to(ROOT)) for folder in ("src", "include", "cli", "data", "report", "python")
              for p in (ROOT / folder).rglob("*") if p.is_file() and p.suffix != ".pyc"}
    assert {"CMakeLists.txt", "setup.py", "pyproject.toml", "README.md", "LICENSE"} <= names
    assert not wanted - names, sorted(wanted - names)[:5]


def test_bench():
    """bench/python.py calls the library as it is today."""
    line = [sys.executable, str(ROOT / "bench/python.py"), "100"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT.parent)
    assert done.returncode == 0 and done.stdout.count("ratio") == 2, done.stderr
