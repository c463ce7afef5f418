"""reproduce: the papers' claims as jobs, their report, and going on after a stop."""
import json
import signal
import subprocess
import time

import pytest

FAST = ["linear-prop1", "linear-fig4"]
pytestmark = pytest.mark.usefixtures("undrawn")  # test_claims.py has the drawings of all


@pytest.fixture
def reproduce(ep):
    """Runs claims at quick size -> (exit code, list of claims, standard error)."""

    def run(*args):
        code, out, err = ep("reproduce", *args, "--quick", "--json")
        return code, json.loads(out) if out else None, err

    return run


def test_list_of_the_contract(reproduce, tmp_path):
    """Each claim has id, pass, measured, criterion; files are where they are said to be."""
    code, claims, err = reproduce(*FAST, "--out", "out")
    assert (code, err) == (0, "")
    assert sorted(c["id"] for c in claims) == sorted(FAST)
    for c in claims:
        assert c["pass"] is True and c["outcome"] == "pass" and c["measured"] and c["criterion"] and c["source"] and c["says"]
        assert c["seconds"] > 0 and "error" not in c and "figures" not in c
    out = tmp_path / "out"
    for page in [out / "report.html", out / "linear" / "report.html"]:
        assert "linear-prop1" in page.read_text()
    assert not (out / "optima").exists()
    assert list((out / "linear" / "figures").glob("linear-fig4-*.csv"))
    findings = (out / "findings.md").read_text()
    assert all(f"| {c} | pass |" in findings for c in FAST)
    assert json.loads((out / "result.json").read_text())["passed"] == 2


def test_text_for_a_person(good, tmp_path):
    """Without --json a line a claim, and the way to the report."""
    out = good("reproduce", "linear-prop1", "--quick", "--out", "out")
    assert out.split()[:2] == ["PASS", "linear-prop1"] and "1 passed, 0 failed" in out and "out/report.html" in out


def test_finished_claims_are_kept(reproduce, tmp_path):
    """A second run takes finished claims from their files; another seed does not; a broken file is made again."""
    first = reproduce("linear-prop1", "--out", "out")[1]
    job, = (tmp_path / "out" / "jobs").glob("*-linear-prop1.json")
    kept = json.loads(job.read_text())
    kept["measured"]["mark"] = 1
    job.write_text(json.dumps(kept))
    assert reproduce("linear-prop1", "--out", "out")[1][0]["measured"]["mark"] == 1
    assert "mark" not in reproduce("linear-prop1", "--out", "out", "--seed", 1)[1][0]["measured"]
    for broken in job.read_text()[:100], "{}", "[]", '{"id": "linear-prop1", "measured": {}}':
        job.write_text(broken)
        assert reproduce("linear-prop1", "--out", "out")[1][0]["measured"] == first[0]["measured"]
    job.write_text(job.read_text()[:100])
    again = reproduce("linear-prop1", "--out", "out")[1]
    assert again[0]["measured"] == first[0]["measured"]


def test_results_outlive_the_build(reproduce, ep, tmp_path):
    """--kept takes a result whichever program made it, says so, and never writes over another question's."""
    first = reproduce("linear-prop1", "--out", "out", "--kept", "kept")[1][0]
    path = tmp_path / "kept/linear-prop1.json"
    job = json.loads(path.read_text())
    assert job["asked"]["size"] == "quick" and job["measured"] == first["measured"] and "build" in job["made"]
    path.write_text(json.dumps(dict(job, made="another machine", measured=dict(job["measured"], mark=1))))
    again = {c["id"]: c for c in reproduce(*FAST, "--out", "new", "--kept", "kept")[1]}["linear-prop1"]
    assert again["measured"]["mark"] == 1 and again["made"] == "another machine"
    assert sorted(f.name for f in (tmp_path / "kept").iterdir()) == sorted(f"{word}.json" for word in FAST)
    assert "another machine" in (tmp_path / "new/linear/report.md").read_text()
    before = path.read_bytes()
    code, out, err = ep("reproduce", "linear-prop1", "--quick", "--out", "new", "--kept", "kept", "--seed", "1")
    assert (code, out) == (2, "") and "kept/linear-prop1.json is not a result of this criterion" in err and err.count("\n") == 1
    assert path.read_bytes() == before
    path.write_text("{")
    assert ep("reproduce", "linear-prop1", "--quick", "--out", "new", "--kept", "kept")[0] == 2
    assert path.read_text() == "{"


def test_a_failed_claim_is_status_1(reproduce, tmp_path):
    """FAIL is reported with its numbers, and the exit status says so."""
    reproduce("linear-prop1", "--out", "out")
    job, = (tmp_path / "out" / "jobs").glob("*-linear-prop1.json")
    job.write_text(job.read_text().replace('"pass": true', '"pass": false'))
    code, claims, err = reproduce(*FAST, "--out", "out")
    assert code == 1 and [c["pass"] for c in claims].count(False) == 1
    assert err == "eigenpair reproduce: 1 of 2 claims did not pass\n"
    assert "| linear-prop1 | fail |" in (tmp_path / "out" / "findings.md").read_text()


def test_error_comes_after_the_text(call, ep, tmp_path):
    """Where both streams go to one file, the lines of the claims stay whole and come first."""
    words = ["reproduce", *FAST, "--quick", "--out", "out"]
    ep(*words)
    job, = (tmp_path / "out" / "jobs").glob("*-linear-prop1.json")
    job.write_text(job.read_text().replace('"pass": true', '"pass": false'))
    text = subprocess.run(**call(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    assert text.startswith("PASS") and text.splitlines()[-1] == "eigenpair reproduce: 1 of 2 claims did not pass"


def test_a_claim_that_cannot_run(ep, tmp_path):
    """Without MNIST its claim is an error with a message, not passed; the others go on; it is tried again next time."""
    code, out, err = ep("reproduce", "linear-fig5", "linear-prop1", "--paper", "--out", "out", "--json")
    claims = {c["id"]: c for c in json.loads(out)}
    assert code == 1 and err.count("\n") == 1
    assert claims["linear-prop1"]["pass"] is True
    assert claims["linear-fig5"]["pass"] is False and "mnist" in claims["linear-fig5"]["error"]
    assert [p.name.split("-", 1)[1] for p in (tmp_path / "out" / "jobs").iterdir()] == ["linear-prop1.json"]
    assert "mnist" in (tmp_path / "out" / "linear" / "report.html").read_text()


def test_interrupted_run_goes_on(call, ep, tmp_path):
    """Ctrl-C: status 130, what was finished is there, the same command finishes the rest."""
    words = ["reproduce", "linear-fig1", "linear-prop1", "linear-fig4", "optima-linear", "--quick", "--out", "out"]
    process = subprocess.Popen(**call(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    jobs = tmp_path / "out" / "jobs"
    for _ in range(20000):
        if jobs.exists() and list(jobs.glob("*.json")):
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130 and "goes on from there" in err and err.count("\n") == 1
    done = len(list(jobs.glob("*.json")))
    assert 1 <= done < 4 and not (tmp_path / "out" / "report.html").exists()
    assert ep(*words, "--json").code == 0 and len(list(jobs.glob("*.json"))) == 4


def test_histories_of_fits_outlive_the_build(call, ep, tmp_path):
    """A claim that was stopped takes the histories that are whole, whichever build made them, and does the other fits again."""
    words = ["reproduce", "wide-fig3", "--quick", "--out", "out", "--kept", "kept"]
    process = subprocess.Popen(**call(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    parts = tmp_path / "kept" / "wide-fig3.json.parts"
    for _ in range(20000):
        if len(list(parts.glob("M*.json"))) > 1:
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130 and not (tmp_path / "kept" / "wide-fig3.json").exists()
    lost, spoilt = sorted(parts.glob("M*.json"))[:2]
    history = json.loads(lost.read_text())
    assert history["columns"][:2] == ["epoch", "loss"] and len(history["rows"]) == history["epochs"] + 1
    lost.write_text(json.dumps(dict(history, outcome=2)))
    spoilt.write_text("{")
    code, out, err = ep(*words, "--json")
    assert code == 1 and json.loads(out)[0]["measured"]["diverged"] == 1
    assert [f.name for f in (tmp_path / "kept").iterdir()] == ["wide-fig3.json"]


@pytest.mark.parametrize("words, says", [
    (["wide-fig99"], "no claim 'wide-fig99'"), (["linear", "nothing"], "no claim 'nothing'"),
    (["--quick", "--paper"], "exclude each other"), (["linear-prop1", "--out", ""], "--out"),
])
def test_wrong_words(ep, words, says):
    """One line and status 2, before any work."""
    code, out, err = ep("reproduce", *words)
    assert (code, out) == (2, "") and err.count("\n") == 1 and says in err


def test_list_shows_every_paper(good):
    """--list runs nothing and has the claims of all papers, each id once."""
    claims = json.loads(good("reproduce", "--list", "--json"))
    ids = [c["id"] for c in claims]
    assert len(ids) == len(set(ids)) and {i.split("-")[0] for i in ids} >= {"linear", "tangent", "optima"}
    assert "linear-fig2  (LINEAR Fig. 2" in good("reproduce", "--list", "linear")
