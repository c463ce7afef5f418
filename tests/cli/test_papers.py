"""`reproduce --list`: the claims with their controls and outcomes, and every statement of the papers."""
import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
OUTCOMES = {"pass", "fail", "answered"}


@pytest.fixture
def listed(good):
    return lambda *words: json.loads(good("reproduce", *words, "--list", "--json"))


def test_list_of_the_contract(listed, good):
    """id, source, says, criterion, control, outcome of the committed run; questions have a control, too."""
    claims = listed()
    assert len({c["id"] for c in claims}) == len(claims) >= 40
    for c in claims:
        assert {"id", "source", "says", "criterion", "control", "mutation", "outcome"} <= set(c) and c["outcome"] in OUTCOMES
        assert c["command"] == f"eigenpair reproduce {c['id']} [--quick]"
        assert len(c["control"]) > 20, c["id"]
        assert "(open)" in c["source"] or c["outcome"] != "answered"
    text = good("reproduce", "optima-stability", "--list")
    assert text.startswith("optima-stability  (OPTIMA Theorem 1)  pass") and "must fail  ratio 0.95" in text
    assert "repeat     eigenpair reproduce optima-stability [--quick]" in text


def test_mutations(listed):
    """Every claim names a change of the program, which can still be made (tools/mutants.py makes it)."""
    for c in listed():
        file, old, new = re.fullmatch(r"(\S+): `(.+)` becomes `(.+)`", c["mutation"]).groups()
        assert (ROOT / file).read_text().count(old) == 1 and old != new, c["id"]


def test_outcomes_of_the_committed_run(listed):
    """docs/findings.md has every claim, and the same of each: it is made anew with the claims. A quick run has no CIFAR-10, but
    points of a sphere in its place."""
    text = (ROOT / "docs/findings.md").read_text()
    rows = dict(re.findall(r"^\| ([a-z0-9-]+) \| (pass|fail|answered) \|", text, re.M))
    outcomes = {c["id"]: c["outcome"] for c in listed()}
    assert rows.keys() == outcomes.keys()
    if "size quick" in text:
        del rows["wide-cifar"], outcomes["wide-cifar"]
    assert rows == outcomes


NUMBERED = {  # what each paper numbers
    "wide": [f"Assumption {i}" for i in range(1, 7)] + [f"Lemma {i}" for i in (7, 8, 9, 11, 12, 16, 17)] + ["Prop. 10", "Prop. 18"] +
    ["Theorem 13", "Remark 14", "Remark 15"] + [f"Eq. {i}" for i in (1, 2, 3, 5, 6, 7, 8, 9, 10)] + [f"Figure {i}" for i in range(1, 8)],
    "linear": [f"Figure {i}" for i in range(1, 7)] + [f"Eq. {i}" for i in (1, 2, 3, 4, 6, 10, 11, 12)] + ["eq. 7", "eq. 8", "eq. 9"] +
    ["Lemma 1", "Lemma 2", "Remark 1", "Remark 2", "Remark 3", "Conjecture 1", "Conjecture 2", "Definition 1", "Example 1"] +
    [f"Prop. {i}" for i in (1, 2, 3)] + [f"Theorem {i}" for i in (1, 2, 3)] + ["Open problem"],
    "optima": [f"Lemma {i}" for i in range(1, 9)] + [f"Definition {i}" for i in range(1, 5)] +
    [f"Theorem {i}" for i in range(1, 4)] + ["Corollary 1", "Corollary 2", "Assumption 1", "Figure 1"],
    "tangent": ["Theorem 2.1", "Theorem 2.2", "Lemma 4.1", "Lemma B.1", "Theorem B.2", "Theorem B.3", "Lemma 1 (a)", "Lemma 1 (e)"],
}


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_statement_has_an_entry(listed, good, paper):
    """A claim of the paper or a command, an outcome, a sentence; every claim is named by a statement; a line each."""
    rows, claims = listed(paper, "--all"), {c["id"]: c for c in listed(paper)}
    assert len(rows) >= 40 and len({r["where"] for r in rows}) == len(rows)
    for r in rows:
        assert r["paper"] == paper and r["by"] in claims or r["by"].startswith("eigenpair "), r
        assert r["outcome"] in OUTCOMES | {"defined"} and r["note"].endswith((".", ").")), r
    assert {r["by"] for r in rows} >= set(claims)
    assert len(good("reproduce", paper, "--list", "--all").splitlines()) == len(rows)
    numbered = " ".join(r["where"] for r in rows)
    for word in NUMBERED[paper]:
        assert word in numbered, word


def test_every_paper_is_listed(listed):
    assert {r["paper"] for r in listed("--all")} == {"wide", "linear", "tangent", "optima"}


@pytest.mark.parametrize("paper, last, elsewhere", [("tangent", 164, {55, 56}), ("optima", 138, set())])
def test_every_equation(listed, paper, last, elsewhere):
    """Each in one row or a range of them; 55 and 56 are Lemma B.1."""
    seen = set(elsewhere)
    for row in listed(paper, "--all"):
        for first, word, second in re.findall(r"[Ee]q\. (\d+)(?: (to|and) (\d+))?", row["where"]):
            ends = int(first), int(second or first)
            seen |= set(ends) | (set(range(ends[0], ends[1] + 1)) if word == "to" else set())
    assert seen == set(range(1, last + 1))


@pytest.mark.parametrize("paper", NUMBERED)
def test_page_of_the_statements(good, paper):
    """docs/papers/PAPER.md is made from the table."""
    text = good("reproduce", paper, "--list", "--all", "--json")
    page = subprocess.run([sys.executable, ROOT / "tools/papers.py"], input=text, capture_output=True, text=True, check=True)
    assert page.stdout == (ROOT / f"docs/papers/{paper}.md").read_text()


def test_all_goes_with_list(ep):
    code, out, err = ep("reproduce", "--all")
    assert (code, out) == (2, "") and "--list" in err and err.count("\n") == 1
