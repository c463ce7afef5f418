"""Docstrings are there, and their examples hold; types and style where the tools are installed."""
import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re
import shutil
import subprocess
import sys

import eigenpair as ep
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ["eigenpair", *(f"eigenpair.{m.name}" for m in pkgutil.iter_modules(ep.__path__) if m.name != "_library")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_everything_public_has_an_example():
    without = {"ConvergenceWarning", "NumericalError", "__version__", "from_torch", "to_torch"}
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


@pytest.mark.parametrize("tool, arguments", [("mypy", []), ("ruff", ["check"])])
def test_tools(tool, arguments):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    paths = [str(ROOT / "python/eigenpair")] if tool == "mypy" else \
        [str(ROOT / p) for p in ("python", "setup.py", "tests/python", "examples/python", "bench/python.py")]
    done = subprocess.run([tool, *arguments, *paths], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_the_wheel():
    assert "site-packages" in ep.__file__ and sys.prefix != sys.base_prefix
