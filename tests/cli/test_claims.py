"""Every figure and claim of the papers at the quick size: one run of `eigenpair reproduce --quick`, looked at from all
sides."""
import json
import time

import pytest

IDS = """wide-fig1 wide-fig2 wide-prop10 wide-fig3 wide-fig4l wide-fig4m wide-fig4r wide-fig5l wide-fig5m wide-fig5r wide-fig7
wide-bounds wide-prop18 wide-open wide-open-losses wide-open-depth wide-open-data wide-open-start
linear-fig1 linear-fig2 linear-fig3 linear-fig4 linear-fig5 linear-fig6 linear-prop1 linear-prop2 linear-prop3
linear-noncontrastive tangent-lee tangent-rate tangent-nngp tangent-nofreelunch tangent-predict
optima-exact optima-fig1 optima-linear optima-count optima-stability optima-limit""".split()


@pytest.fixture(scope="module")
def run(run_in, tmp_path_factory):
    """The whole set -> folder, list of claims by id, seconds."""
    folder = tmp_path_factory.mktemp("claims")
    begin = time.monotonic()
    result = run_in(folder, "reproduce", "--quick", "--json", "--out", "out")
    claims = json.loads(result.out)
    assert result.code == (0 if all(c["pass"] for c in claims) else 1), result.err
    return folder / "out", {c["id"]: c for c in claims}, time.monotonic() - begin


def test_all_of_them_in_time(run):
    """claims.md has these; under five minutes on two cores."""
    folder, claims, seconds = run
    assert list(claims) == IDS and seconds < 300
    assert not list((folder / "jobs").glob("*.parts"))


@pytest.mark.parametrize("id", IDS)
def test_claim(run, id):
    """It ran, measured, and came out; its figures are drawn and are in the page of its paper."""
    folder, claims, _ = run
    claim = claims[id]
    assert "error" not in claim and claim["measured"] and claim["criterion"] and claim["says"] and claim["notes"]
    if id != "linear-fig5":  # times, which a busy machine spoils
        assert claim["pass"], claim["measured"]
    paper = folder / id.split("-")[0]
    drawn = list((paper / "figures").glob(f"{id}-*.svg"))
    assert drawn and all("<svg" in f.read_text() and f.with_suffix(".csv").exists() for f in drawn)
    page = (paper / "report.md").read_text()
    assert all(f"](figures/{f.name})" in page for f in drawn if f"{id}-" in f.name)
    section = page.split(f"\n## {id}: ")[1].split("\n## ")[0]
    assert "The paper says" in section and "Criterion" in section and "What was done" in section


def test_findings(run):
    """Open problems first, each answered with numbers; a row a claim."""
    folder, claims, _ = run
    text = (folder / "findings.md").read_text()
    questions = text.split("## Open problems")[1].split("\n## ")[0]
    for id, claim in claims.items():
        assert f"\n| {id} | {'pass' if claim['pass'] else 'fail'} |" in text
        assert all(s.replace("|", "\\|") in text or s in text for s in claim["found"])
    for id in IDS:
        assert (f"| {id} |" in questions) == id.startswith("wide-open")
        assert not id.startswith("wide-open") or claims[id]["found"]


def measured(run, id):
    return run[1][id]["measured"]


def test_numbers_beyond_the_criterion(run):
    """What claims.md says a prototype measured, and what must hold whatever the criterion."""
    assert measured(run, "wide-prop10")["blow_up_error"] < 2e-3
    assert measured(run, "wide-bounds")["held"] == measured(run, "wide-bounds")["checked"] >= 40
    assert measured(run, "wide-fig3")["drift_exponent_low"] < measured(run, "wide-fig3")["drift_exponent_high"] < 0
    assert measured(run, "linear-fig2")["relu_exponent"] > -0.3  # the finding: relu does not become linear
    assert measured(run, "linear-fig5")["largest_difference_of_accuracy"] <= 0.02
    assert measured(run, "linear-prop3")["plain_qr_gap"] > 10 * measured(run, "linear-prop3")["problem_4_gap"]
    assert abs(measured(run, "tangent-lee")["exponent_parameters"] + 0.5) < 0.1
    exact = measured(run, "optima-exact")
    assert exact["summation_found"] == exact["summation_maximal"] == 6 and exact["summation_maximal_at_0.1"] == 7
    assert measured(run, "optima-fig1")["degrees_at_0.15"] < 2.5
