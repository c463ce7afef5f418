"""A loss, a method and a map by one row each: CONTRIBUTING.md, "How to add"."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROWS = {  # table: (file, its first line, the row), in the words of the table
    "loss": ("src/objective/loss.h", "#define EP_LOSSES(X)",
             '  X(logistic, pair, logistic, "- sum log sigmoid(a s)", .slope = 1, .similarity = EP_SIMILARITY_COSINE, .other = true) \\'),
    "method": ("src/method/methods.h", "#define EP_METHODS(X)",
               '  X(first, "the first features as they are", .closed = true, .stands_for = "gd", .rotated = true) \\'),
    "map": ("src/map/map.h", "#define EP_MAPS(X)", "  X(raw) \\"),
}


def add_rows(tree):
    for path, head, row in ROWS.values():
        lines = (tree / path).read_text().split("\n")
        at = [i for i, line in enumerate(lines) if line.startswith(head)]
        assert len(at) == 1, f"{path}: {head}"
        lines.insert(at[0] + 1, row)
        (tree / path).write_text("\n".join(lines))
    with open(tree / "src/objective/pair_losses.c", "a") as f:
        f.write((HERE / "logistic.c").read_text())
    shutil.copy(HERE / "first.c", tree / "src/method/first.c")
    shutil.copy(HERE / "raw.c", tree / "src/map/raw.c")


@pytest.fixture(scope="session")
def program():
    """The program with the three rows, in ROWS_BUILD."""
    folder = Path(os.environ["ROWS_BUILD"])
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", "build", "docs", "tests", "python"))
    add_rows(tree)
    jobs, build = os.environ.get("JOBS", "2"), tree / "build" / "release"
    # as `make check` builds it, and at the same place of the tree: ccache then has what the rows do not touch
    for command in (["cmake", "-S", tree, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DEP_WERROR=ON", "-DEP_REPORT=OFF",
                     "-DEP_BUILD_TESTS=OFF"], ["cmake", "--build", build, "-j", jobs, "--target", "ep_program"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return build / "eigenpair"


@pytest.fixture
def run(program, tmp_path):
    def call(*words):
        done = subprocess.run([program, *map(str, words)], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return call


def cosine(a, b):
    return np.sum(a * b, 1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def test_a_loss(run, tmp_path):
    """Its value at the start is that of its formula; descent along its derivative lowers it."""
    rng = np.random.default_rng(1)
    sets = {name: rng.normal(size=(30, 4)) for name in ("anchors", "positives", "negatives")}
    files = []
    for name, x in sets.items():
        np.save(tmp_path / f"{name}.npy", x)
        files += [f"--{name}", f"{name}.npy"]
    common = [*files, "--loss", "logistic", "--width", 20, "--outputs", 3, "--precision", "double", "--delta", 1e-12]
    losses = [json.loads(run("fit", *common, "--method", "gd", "--rate", 1e-4, "--epochs", epochs, "--out", f"{epochs}.npz", "--json"))
              ["loss"] for epochs in (0, 1)]
    f = {}
    for name in sets:
        run("embed", "--model", "0.npz", "--data", f"{name}.npy", "--precision", "double", "--out", "e.npy")
        f[name] = np.load(tmp_path / "e.npy")
    plus, minus = cosine(f["anchors"], f["positives"]), cosine(f["anchors"], f["negatives"])
    value = np.mean(np.log1p(np.exp(-plus)) + np.log1p(np.exp(minus)))
    assert losses[0] == pytest.approx(value, rel=1e-10)
    assert losses[1] < losses[0]
    assert "logistic" in run("help", "fit")


def test_a_method(run):
    """It is in compare's table and verdict, held against what its row says it stands for."""
    out = json.loads(run("compare", "--data", "digits", "--samples", 60, "--methods", "gd,first", "--widths", "20", "--runs", 1,
                         "--outputs", 4, "--epochs", 5, "--test-samples", 60, "--threads", 1, "--json"))
    assert "first" in [row["method"] for row in out["table"]]
    answers = out["verdict"]["methods"]["first"]
    assert {"same_function", "as_good", "cheaper"} <= set(answers)
    assert isinstance(answers["same_function"]["number"], float)
    assert [row["loss_gap"] for row in out["table"] if row["method"] == "first"] != []


def test_a_map(run, tmp_path):
    """pca over it is the eigenproblem of the points themselves; the model is written, read and described."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(40, 5)), rng.normal(size=(40, 5))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    run("fit", "--anchors", "x.npy", "--positives", "y.npy", "--method", "pca", "--features", "raw", "--similarity", "dot",
        "--outputs", 2, "--precision", "double", "--out", "m.npz")
    run("embed", "--model", "m.npz", "--data", "x.npy", "--precision", "double", "--out", "e.npy")
    C = x.T @ y
    values, vectors = np.linalg.eigh(C + C.T)
    top = vectors[:, np.argsort(values)[::-1][:2]]
    E = np.load(tmp_path / "e.npy") * np.sqrt(5)
    for k in range(2):
        assert abs(np.dot(E[:, k], x @ top[:, k])) == pytest.approx(np.linalg.norm(E[:, k]) * np.linalg.norm(x @ top[:, k]), rel=1e-9)
    assert "raw" in run("help", "fit")
