"""`eigenpair report`: a saved document -> page, result, figures."""
import csv
import json
import os
import pathlib
import subprocess

import pytest
from conftest import PROGRAM, environment

SAMPLE = pathlib.Path(__file__).resolve().parents[1] / "page/sample.json"
DOCUMENT = json.loads(SAMPLE.read_text())
FIGURES = {f["name"]: f for s in DOCUMENT["sections"] for f in s.get("figures", [])}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The sample's report, made once -> its folder, what was said."""
    folder = tmp_path_factory.mktemp("report")
    said = subprocess.run([PROGRAM, "report", SAMPLE, "--out", "a/b"], cwd=folder, env=environment(folder), check=True,
                          capture_output=True, text=True)
    assert said.stderr == ""
    return folder / "a/b", said.stdout


def test_files(made):
    """Everything the help promises is there, and the document comes back as it went in."""
    folder, said = made
    assert "a/b/report.html" in said and f"{len(FIGURES)} as CSV, {len(FIGURES)} as SVG" in said
    assert json.loads((folder / "result.json").read_text()) == DOCUMENT["result"]
    assert json.loads((folder / "document.json").read_text()) == DOCUMENT
    names = sorted(p.name for p in (folder / "figures").iterdir())
    assert names == sorted(f"{n}.{end}" for n in FIGURES for end in ("csv", "svg", "png"))
    assert all((folder / "figures" / f"{n}.png").read_bytes().startswith(b"\x89PNG") for n in FIGURES)


def test_again_is_the_same(made, good, tmp_path):
    """A report made from a report's document has the same bytes."""
    good("report", made[0] / "document.json", "--out", "second")
    for name in ["report.html", "result.json", "document.json", "figures/drift.csv", "figures/drift.svg"]:
        assert (made[0] / name).read_bytes() == (tmp_path / "second" / name).read_bytes(), name


def test_svg_shows_every_point(made):
    """A symbol a point, a title an axis, the words of the legend and of the rule; panels side by side."""
    svg = (made[0] / "figures/drift.svg").read_text()
    for words in ["width M", "largest change", "tangent kernel", "theory: slope −1/2", "tolerance", "10,000"]:
        assert words in svg
    assert "stroke-dasharray" in svg and "var(" not in svg
    scatter = (made[0] / "figures/embedding.svg").read_text()
    assert all(f">{panel}</text>" in scatter for panel in ("gd", "kernel", "pca"))
    assert scatter.count("<path") >= sum(len(s["x"]) for s in FIGURES["embedding"]["series"])


def test_csv_has_the_numbers(made):
    """A row a point, every double exact."""
    for name, figure in FIGURES.items():
        with open(made[0] / f"figures/{name}.csv", newline="") as f:
            rows = list(csv.DictReader(f))
        number = lambda text: float(text) if text else None
        at = iter(rows)
        for s in figure["series"]:
            for i, x in enumerate(s["x"]):
                row = next(at)
                assert (row["series"], row["panel"]) == (s["name"], s["panel"])
                want = [x] + [s[c][i] if c in s else None for c in ("y", "low", "high", "label")]
                assert [number(row[c]) for c in ("x", "y", "low", "high", "label")] == want
        assert next(at, None) is None


def test_json_and_no_node(good, tmp_path):
    """Without node there is all but the drawings, and the result says so."""
    env = dict(os.environ, PATH="/nowhere")
    shown = json.loads(good("report", SAMPLE, "--out", "r", "--json", env=env))
    assert (shown["report"], shown["figures"], shown["svg"], shown["png"]) == ("r/report.html", len(FIGURES), 0, 0)
    assert "needs node" in good("report", SAMPLE, "--out", "r", env=env)
    assert (tmp_path / "r/report.html").exists() and not list(tmp_path.glob("r/figures/*.svg"))


@pytest.mark.parametrize("text, words", [
    ('{"title": "t",\n "sections" []}', ["bad.json", "line 2"]),
    ('{"title": "t", "title": "u"}', ["bad.json", "duplicate"]),
    ('{"title": "t", "sections": [{"titel": "x"}], "result": {}}', ["sections[0]", "title"]),
    ("", ["bad.json"]),
    (None, ["bad.json"]),
])
def test_refuses(ep, tmp_path, text, words):
    """One line that names the place, status 2, and no file."""
    if text is not None:
        (tmp_path / "bad.json").write_text(text)
    code, out, err = ep("report", "bad.json", "--out", "r")
    assert (code, out) == (2, "") and err.count("\n") == 1 and err.startswith("eigenpair report: ")
    assert all(w in err for w in words) and not (tmp_path / "r").exists()


def test_needs_a_document(ep):
    """No document, or two."""
    assert ep("report").code == 2
    assert ep("report", "a.json", "b.json").code == 2


LOG = dict(x={"title": "x", "log": True}, y={"title": "y", "log": True})
ODD = [
    dict(series=[]),
    dict(series=[{"name": "s", "x": [], "y": []}]),
    dict(series=[{"name": "s", "x": [1, 2], "y": [None, None]}]),
    dict(series=[{"name": "s", "x": [None, 2], "y": [1, 2]}]),
    dict(series=[{"name": "s", "x": [0, -1], "y": [0, -2]}], **LOG),
    dict(series=[{"name": "s", "x": [1], "y": [2], "low": [-1], "high": [3]}], **LOG),
    dict(series=[{"name": "s", "x": [1], "y": [2], "low": [None], "high": [3]}]),
    dict(series=[{"name": "s", "x": [1e-300, 1e300], "y": [1e-300, 1e300]}], **LOG),
    dict(series=[{"name": "s", "x": [1, 1.02], "y": [1, 1.03]}], **LOG),
    dict(series=[{"name": "s", "x": [1, 2], "y": [1, 2], "dashed": True}]),
    dict(series=[{"name": "s", "x": [1, 2], "y": [1, 2], "label": [None, 3]}], kind="scatter"),
    dict(series=[{"name": "s", "x": [], "y": []}], kind="scatter"),
    dict(series=[{"name": "s", "x": [1, 2], "y": [1, 2]}], rules=[{"axis": "y", "value": None, "text": "t"}]),
    dict(series=[], rules=[{"axis": "y", "value": 1, "text": "t"}], **LOG),
    dict(series=[{"name": "", "x": [1], "y": [1]}], x={"title": ""}, title="", alt=""),
    dict(series=[{"name": "a.b[c]'\"\\", "panel": "p.q", "x": [1], "y": [1]},
                 {"name": "t", "panel": "r", "x": [1], "y": [1]}]),
]


def test_odd_figures_are_drawn(good, tmp_path):
    """Nothing to show, nothing that fits the axis, one point, all doubles: a drawing all the same."""
    whole = dict(kind="line", title="T", alt="A.", x={"title": "x"}, y={"title": "y"})
    figures = [{**whole, **f, "name": f"odd-{i}"} for i, f in enumerate(ODD)]
    (tmp_path / "d.json").write_text(json.dumps(dict(title="t", sections=[dict(title="s", figures=figures)], result={})))
    good("report", "d.json", "--out", "r")
    for i, f in enumerate(ODD):
        svg = (tmp_path / f"r/figures/odd-{i}.svg").read_text()
        assert svg.startswith("<svg") and not any(w in svg for w in ("NaN", "undefined", "Infinity")), f


@pytest.mark.parametrize("args", [["dynamics", "--data", "moons"], ["learnability", "--data", "cube:5"],
                                  ["optima", "--data", "summation:8,4000,0.38", "--starts", 1000000]])
def test_report_that_cannot_be_made(ep, tmp_path, args):
    """A file where the folder should be: one line before the work (the last one would take hours), the file untouched."""
    (tmp_path / "taken").write_text("mine")
    code, out, err = ep(*args, "--report", "taken", timeout=30)
    assert code and out == "" and err.count("\n") == 1 and "taken" in err
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize("args, title, figures", [
    (["dynamics", "--data", "moons", "--outputs", 2, "--time", 10, "--compare"], "Linear self-supervised dynamics",
     {"loss", "spans"}),
    (["learnability", "--data", "cube:5", "--target", "degree:1", "--trains", "5,10,20", "--measure", 5],
     "What this kernel learns", {"learning-curve", "learnability"}),
    (["optima", "--data", "moons:60", "--starts", 20, "--iterations", 300], "Where one node can end", {"convergence", "map", "gap"}),
])
def test_commands_with_a_report(good, tmp_path, args, title, figures):
    """--report: a page with figures, settings and the command that makes it again, its result the one of --json."""
    result = json.loads(good(*args, "--report", "out", "--json", env=dict(environment(tmp_path), PATH="/none")))  # one of them is drawn
    assert "out/report.html" in good(*args, "--report", "out")
    document = json.loads((tmp_path / "out" / "document.json").read_text())
    drawn = {f["name"] for s in document["sections"] for f in s["figures"]}
    assert document["title"] == title and drawn == figures
    assert document["command"].startswith(f"eigenpair {args[0]}") and document["settings"]
    kept = json.loads((tmp_path / "out" / "result.json").read_text())
    assert set(kept) == set(result)
    text = (tmp_path / "out" / "report.md").read_text()
    assert f"# {title}" in text and all(f"figures/{name}.svg" in text and (tmp_path / f"out/figures/{name}.svg").exists() for name in figures)
