"""Every figure and claim of the papers at the quick size: one run of `eigenpair reproduce --quick`, looked at from all
sides."""
import collections
import json
import shutil
import subprocess
import time

import pytest
from conftest import how_to_call

IDS = """wide-fig1 wide-lemma9 wide-fig2 wide-prop10 wide-fig3 wide-fig4l wide-fig4m wide-fig4r wide-lemma17 wide-timescale wide-remark15
wide-eq9 wide-fig5l wide-fig5m wide-fig5r wide-fig7 wide-cifar wide-bounds wide-theorem13 wide-prop18 wide-open wide-open-losses wide-open-depth wide-open-data wide-open-start
linear-fig1 linear-fig2 linear-conj1 linear-fig3 linear-fig4 linear-fig5 linear-fig6 linear-prop1 linear-prop2 linear-prop3
linear-noncontrastive linear-lemma1 linear-prop1-wide linear-remark2 linear-remark3 linear-mean linear-riccati linear-ntk
tangent-lee tangent-bounds tangent-rate tangent-loss tangent-target tangent-nngp tangent-ensemble
tangent-nofreelunch tangent-general tangent-modes tangent-predict tangent-finite tangent-slips
optima-exact optima-fig1 optima-linear optima-count optima-joint optima-ticket optima-basins optima-stability optima-weights
optima-theorem2 optima-theorem3 optima-kernel optima-limit""".split()


FAILS = []  # at this size; a claim that does not hold belongs here, its criterion stays


@pytest.fixture(scope="module")
def run(run_in, tmp_path_factory):
    """The whole set -> folder, claims by id. Two halves at once do the work, the whole takes over what they have done. Node draws, but
    there is no rsvg-convert, which takes several times as long."""
    folder = tmp_path_factory.mktemp("claims")
    (folder / "node").symlink_to(shutil.which("node"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/none")
        halves = [subprocess.Popen(**how_to_call(folder, "reproduce", *papers, "--quick", "--out", papers[0]), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL) for papers in (("wide", "optima"), ("linear", "tangent"))]
        assert all(half.wait() in (0, 1) for half in halves)
        (folder / "out" / "jobs").mkdir(parents=True)
        for job in folder.glob("*/jobs/*.json"):
            job.rename(folder / "out" / "jobs" / job.name)
        patch.setenv("PATH", str(folder))
        result = run_in(folder, "reproduce", "--quick", "--json", "--out", "out")
    claims = json.loads(result.out)
    assert result.code == (0 if all(c["pass"] for c in claims) else 1), result.err
    return folder / "out", {c["id"]: c for c in claims}


def test_all_of_them(run):
    """claims.md has these; no part of the work stays behind."""
    folder, claims = run
    assert list(claims) == IDS
    assert not list((folder / "jobs").glob("*.parts"))


def is_open(claim):
    """A question of the paper."""
    return "(open)" in claim["source"]


@pytest.mark.parametrize("id", IDS)
def test_claim(run, id):
    """It ran, measured, and came out as it is known to; its figures are drawn and are in the page of its paper."""
    folder, claims = run
    claim = claims[id]
    assert "error" not in claim and claim["measured"] and claim["criterion"] and claim["says"] and claim["notes"]
    assert claim["pass"] == (id not in FAILS), claim["measured"]
    assert claim["outcome"] == ("fail" if id in FAILS else "answered" if is_open(claim) else "pass")
    paper = folder / id.split("-")[0]
    whole, = (c for c in json.loads((paper / "result.json").read_text())["claims"] if c["id"] == id)
    section = (paper / "report.md").read_text().split(f"\n## {id}: ")[1].split("\n## ")[0]
    assert whole["figures"]
    for figure in whole["figures"]:
        name = f"{id}-{figure['name']}"
        assert "<svg" in (paper / "figures" / f"{name}.svg").read_text() and f"](figures/{name}.svg)" in section
        for s in figure["series"]:
            assert len(s["x"]) == len(s["y"]) > 0 and len(s.get("low") or s["y"]) == len(s["y"])
            assert any(y is not None for y in s["y"]) or "diverged" in str(claim["found"])
    asked = "The question" if is_open(claim) else "The paper says"
    assert asked in section and "Criterion" in section and "What was done" in section
    assert ("Must fail" in section) == (claim["control"] is not None)
    assert "Goes red with" in section and f"eigenpair reproduce {id} --quick" in section


def test_findings(run):
    """Open problems first, each answered with numbers; a row a claim."""
    folder, claims = run
    text = (folder / "findings.md").read_text()
    questions = text.split("## Open problems")[1].split("\n## ")[0]
    for id, claim in claims.items():
        assert f"\n| {id} | {claim['outcome']} |" in text
        assert all(s.replace("|", "\\|") in text or s in text for s in claim["found"])
    for id in IDS:
        assert (f"| {id} |" in questions) == is_open(claims[id])
        assert not is_open(claims[id]) or claims[id]["found"]


def test_header_says_the_precision_used(run):
    """TANGENT and OPTIMA compute in double, whatever --precision says, and some claims of WIDE."""
    wide = "single (double in wide-lemma9, wide-prop10, wide-prop18, wide-open-start)"
    for paper, precision in (("wide", wide), ("tangent", "double"), ("optima", "double")):
        assert f"precision {precision}" in (run[0] / paper / "report.md").read_text().split("## All claims")[0]


def test_figures_show_something(run):
    """Both axes are named, and points do not lie on top of each other: at most a quarter of those of a figure at one place,
    but for figures of a few points."""
    for paper in ("wide", "linear", "tangent", "optima"):
        for claim in json.loads((run[0] / paper / "result.json").read_text())["claims"]:
            for figure in claim["figures"]:
                name = f"{claim['id']} {figure['name']}"
                assert figure["x"]["title"] and figure["y"]["title"], name
                points = collections.Counter((x, y, s.get("panel")) for s in figure["series"] for x, y in zip(s["x"], s["y"])
                                             if y is not None)
                assert max(points.values(), default=0) <= max(2, sum(points.values()) / 4), name


def test_divergence_is_marked(run):
    """Rates at which descent diverges lie on a line that says so, not at the last number that could be drawn."""
    claims = json.loads((run[0] / "tangent" / "result.json").read_text())["claims"]
    figure, = next(c for c in claims if c["id"] == "tangent-rate")["figures"]
    height, = (r["value"] for r in figure["rules"] if r["text"] == "diverged")
    linear = next(s for s in figure["series"] if s["name"] == "linear model")
    assert [y == height for y in linear["y"]] == [x > 1 for x in linear["x"]]
    assert max(y for s in figure["series"] for y in s["y"]) == height


def measured(run, id):
    return run[1][id]["measured"]


def test_numbers_beyond_the_criterion(run):
    """What claims.md says a prototype measured, and what must hold whatever the criterion."""
    assert measured(run, "wide-prop10")["blow_up_error"] < 2e-3
    assert measured(run, "wide-bounds")["held"] == measured(run, "wide-bounds")["checked"] >= 40
    assert measured(run, "wide-bounds")["vacuous"] == measured(run, "wide-bounds")["judged"] == 40
    assert measured(run, "wide-bounds")["steps_within_lemma_11"] == 400
    assert measured(run, "wide-theorem13")["log10_b_cubed"][0] > 12  # the theorem's M > b^3 is out of reach
    assert measured(run, "wide-eq9")["pairs_against_the_sign"] == 0
    losses = measured(run, "wide-open-losses")  # the control is lost at every width
    assert losses["dot product, linear: runs lost"] == 8 and losses["softmax: runs lost"] == 0
    assert losses["dot product, linear, rate 0.01: share of the last quarter"] > 0.1
    assert measured(run, "wide-fig3")["drift_exponent_low"] < measured(run, "wide-fig3")["drift_exponent_high"] < 0
    for id, name, low in (("linear-fig4", "control_distance_on_clusters", 0.5), ("linear-fig6", "control_least_lag_of_eq11", 0.2),
                          ("linear-prop1", "control_second_over_first_at_end", 0.9),  # eq. 8 makes both singular values 1
                          ("linear-prop2", "control_second_over_first_at_end", 0.3),
                          ("linear-noncontrastive", "control_distance_with_C_as_printed", 0.9),
                          ("linear-riccati", "least_error_of_Ojas_slope", 0.03)):
        assert measured(run, id)[name] > low, id
    assert measured(run, "linear-fig1")["control_second_over_first"] < 1e-3  # bounded norms collapse (Prop. 2)
    fig2, conj1 = measured(run, "linear-fig2"), measured(run, "linear-conj1")
    assert fig2["relu_long_outside_exponent"] > -0.2 > fig2["tanh_long_outside_exponent"]  # relu does not become linear
    assert 0.1 < conj1["csoftplus_outside_at_the_end"][-1] < 0.2  # a prototype measured 12 % at h = 1,000
    assert abs(measured(run, "linear-lemma1")["linear_first_layer_share"] - 0.5) < 0.05  # K_11 = 2 x'x'
    assert measured(run, "linear-remark2")["InfoNCE (softmax) on digits: RankMe at the end"] > 3
    assert measured(run, "linear-ntk")["change_at_the_end"] > 0.5
    assert measured(run, "linear-fig5")["largest_difference_of_accuracy"] <= 0.02
    assert measured(run, "linear-prop3")["plain_qr_gap_axis_aligned_and_rotated"][1] > 1e-3
    assert measured(run, "linear-prop3")["plain_qr_gap"] > 10 * measured(run, "linear-prop3")["problem_4_gap"]
    lee = measured(run, "tangent-lee")
    assert abs(lee["exponent parameters erf, 3 layers"] + 0.5) < 0.1 < lee["exponent outputs control"] + 0.25
    bounds = measured(run, "tangent-bounds")
    assert bounds["N of eq 92"] > 1e9 and bounds["f_lin as printed less f"] > 10 * bounds["f_lin less f"]
    assert measured(run, "linear-remark3")["equal_components_apart_after_10_steps_random_A"] > 0.05
    assert measured(run, "tangent-nofreelunch")["least over largest eigenvalue, erf, no two opposite"] > 1e-3
    finite = measured(run, "tangent-finite")  # a narrow network beats its limit, its linearisation does not
    assert finite["two standard errors above, degree 2, networks"][0] < 1 < finite["error over that of the limit, degree 2, their linearisations"][0]
    slips = measured(run, "tangent-slips")  # as printed off, as corrected not, each of them
    assert len(slips) == 8 and all(printed > 1 >= corrected for printed, corrected in slips.values())
    assert abs(slips["eq. 127 and 128 printed and corrected"][0] - 50) < 1  # half of the change, in units of 1 %
    for phi, excess in (("erf", 1.68), ("tanh", 1.88), ("relu", 15)):  # 3 (E h^4/(E h^2)^2 - 1)
        assert abs(measured(run, "tangent-nngp")[f"kurtosis {phi} H=1"][2] - excess) < 0.01
    assert measured(run, "tangent-general")["falls eigenfunctions"] == 0 < measured(run, "tangent-general")["falls random functions"]
    assert measured(run, "tangent-loss")["sup at largest width cross-entropy"] > 5 * measured(run, "tangent-loss")["sup at largest width squared loss"]
    exact = measured(run, "optima-exact")
    assert exact["summation_found"] == exact["summation_maximal"] == 6 and exact["summation_maximal_at_0.1"] == 7
    fig1 = measured(run, "optima-fig1")
    assert fig1["summation_next_to_at_0.15"] == fig1["patterns"] == 80 and fig1["summation_largest_degrees_at_0.15"] < 5
    assert fig1["printed_iterations_at_0.15"] < fig1["summation_iterations_at_0.15"]  # the shift costs steps
    assert abs(measured(run, "optima-weights")["tau_maximal"] - 0.805) < 5e-4
    joint = measured(run, "optima-joint")  # a prototype measured 4.1, 4.9, 5.4 of 6 with six nodes
    assert [round(joint[f"coverage_{w}"][1]) for w in ("uniform", "infonce:2", "infonce:1")] == [4, 5, 5]


# ---- killed


def again(ep, id, out):
    """The claim of a run that finishes."""
    return json.loads(ep("reproduce", id, "--quick", "--json", "--out", out).out)[0]


def kill(call, tmp_path, id, parts):
    """Starts a claim, kills it when so many parts are there -> the first of them."""
    process = subprocess.Popen(**call("reproduce", id, "--quick", "--out", "out"), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    found = []
    for _ in range(3000):
        found = list(tmp_path.glob("out/jobs/*.parts/*.npz"))
        if len(found) >= parts:
            break
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert found and not list(tmp_path.glob("out/jobs/*.json"))
    return found[0]


def test_killed_in_the_middle_of_a_claim(call, ep, run, undrawn, tmp_path):
    """SIGKILL while a long fit is under way: the claim goes on from its parts, to the same numbers, and leaves none."""
    whole = measured(run, "wide-fig3")
    part = kill(call, tmp_path, "wide-fig3", 1)
    kept = part.read_bytes()
    part.write_bytes(kept[:len(kept) // 2])  # it is read: a broken one is an error, and is not thrown away
    assert "error" in again(ep, "wide-fig3", "out") and part.exists()
    part.write_bytes(kept)
    assert again(ep, "wide-fig3", "out")["measured"] == whole
    assert [p.suffix for p in (tmp_path / "out" / "jobs").iterdir()] == [".json"]


def test_killed_with_a_start_of_its_own(call, ep, run, undrawn, tmp_path):
    """The same for fits that start from weights of the claim's own making."""
    whole = measured(run, "wide-open-start")
    kill(call, tmp_path, "wide-open-start", 3)
    assert again(ep, "wide-open-start", "out")["measured"] == whole
