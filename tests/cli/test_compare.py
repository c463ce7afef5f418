"""`eigenpair compare`: verdict, table, drifts, report; interrupted and run again."""
import json
import signal
import subprocess
import time

import numpy as np
import pytest

SMALL = ["--data", "digits", "--samples", 40, "--widths", "30,120", "--runs", 2, "--epochs", 20, "--outputs", 4,
         "--test-samples", 200, "--threads", 1]


@pytest.fixture
def compare(good):
    def run(*args, out="c"):
        return json.loads(good("compare", *SMALL, "--out", out, "--json", *args, timeout=300))

    return run


def without_times(x):
    if isinstance(x, dict):
        return {k: without_times(v) for k, v in x.items() if k not in ("seconds", "memory")}
    return [without_times(v) for v in x] if isinstance(x, list) else x


def test_everything_is_there(compare, tmp_path):
    """The contract: table, verdict with the tolerance, exponents, widths, report."""
    r = compare()
    rows = {(row["method"], row["width"]) for row in r["table"]}
    methods = ["gd", "kernel", "kernel, analytic", "grassmann", "pca", "iterate"]
    assert rows == {(m, w) for m in methods for w in (30, 120)} | {("infinite", None)}
    assert all(0 <= row["accuracy"] <= 1 and row["seconds"] >= 0 and row["memory"] > 0 for row in r["table"])
    for name in "kernel", "pca":
        v = r["verdict"][name]
        assert v["answer"] in ("holds", "fails") and v["holds"] == (v["answer"] == "holds") and v["tolerance"] == 0.1
    for name in "ntk", "kernel_difference", "c", "pca_difference":
        d = r["drift"][name]
        assert d["exponent_low"] <= d["exponent"] <= d["exponent_high"] and d["exponent"] < 0 and d["mean"][1] < d["mean"][0]
    for file in "report.html", "result.json", "figures/drift-width.csv", "figures/embedding.csv", "figures/angles.csv":
        assert (tmp_path / "c" / file).stat().st_size > 0
    assert json.loads((tmp_path / "c/result.json").read_text()) == r


def test_numbers_are_those_of_fit(good, save, rng, tmp_path):
    """Losses, differences and drifts of one job, from fit, embed, ntk and NumPy, on ready triplets."""
    A = rng.normal(size=(15, 6))
    P, N = A + 0.2 * rng.normal(size=A.shape), rng.normal(size=A.shape)
    save(a=A, p=P, n=N, x=np.concatenate([A, P, N]), few=np.concatenate([A, P])[:20])
    ready = ["--anchors", "a.npy", "--positives", "p.npy", "--negatives", "n.npy"]
    net = ["--outputs", 3, "--precision", "double", "--threads", 1]
    r = json.loads(good("compare", *ready, *net, "--widths", "30", "--runs", 1, "--epochs", 15, "--json",
                        "--methods", "gd,kernel,grassmann,pca"))
    job, history, E, V = r["jobs"][0], {}, {}, {}
    for method, more in ("gd", ["--track", "ntk"]), ("kernel", []), ("grassmann", ["--track", "c"]), ("pca", []):
        files = ["--out", f"{method}.npz", "--history", f"{method}.csv"]
        out = json.loads(good("fit", "--method", method, *ready, *net, "--width", 30, "--epochs", 15, "--json", *files, *more))
        assert out["loss"] == job["methods"][method]["loss"]
        if method != "pca":
            history[method] = np.genfromtxt(tmp_path / f"{method}.csv", delimiter=",", names=True)
    close = dict(rtol=1e-9)
    for method in "gd", "kernel":
        good("embed", "--model", f"{method}.npz", "--data", "x.npy", *net[2:], "--out", "e.npy")
        E[method] = np.load(tmp_path / "e.npy")
    d = np.linalg.norm(E["kernel"] - E["gd"], axis=1) / np.linalg.norm(E["gd"], axis=1)
    np.testing.assert_allclose([job["kernel_difference"][k] for k in ("mean", "max")], [d.mean(), d.max()], **close)
    good("ntk", "--data", "few.npy", "--width", 30, *net, "--out", "K.npy")
    K = np.linalg.norm(np.load(tmp_path / "K.npy"))
    np.testing.assert_allclose(job["ntk_drift"], history["gd"]["ntk_frobenius"][-1] / K, **close)
    V = np.load(tmp_path / "pca.npz")["V"]

    def psi(X):
        H = np.maximum(X @ V.T, 0)
        return H / (np.linalg.norm(H, axis=1, keepdims=True) + 0.01 * 30 ** 0.5)

    C = psi(A).T @ (psi(P) - psi(N)) / 15
    C = np.linalg.norm((C + C.T) / 2)
    np.testing.assert_allclose(job["c_drift"], history["grassmann"]["c_frobenius"][-1] / C, **close)
    # PCA of C at the end, from grassmann's V; both W'psi at all points, rotated
    good("fit", "--method", "pca", "--init", "grassmann.npz", *ready, *net, "--out", "last.npz")
    for model in "pca", "last":
        good("embed", "--model", f"{model}.npz", "--normalise", "--data", "x.npy", *net[2:], "--out", "e.npy")
        E[model] = np.load(tmp_path / "e.npy")
    U, _, Wt = np.linalg.svd(E["last"].T @ E["pca"])
    gap = np.linalg.norm(E["last"] @ U @ Wt - E["pca"]) / np.linalg.norm(E["pca"])
    np.testing.assert_allclose(job["pca_difference"]["relative"], gap, rtol=1e-6)


def test_dot_product_fails(compare):
    """With the dot product the kernel runs away: the verdict must be able to say no."""
    r = compare("--similarity", "dot", "--methods", "gd,kernel", "--epochs", 60, "--runs", 1)
    assert r["verdict"]["kernel"]["answer"] == "fails" and r["verdict"]["kernel"]["words"].startswith("No")


def test_convergence_fails_pca(compare):
    """Trained for long at a large rate, W has followed C, and PCA of C(0) no longer describes it."""
    r = compare("--methods", "grassmann,pca", "--widths", "30,60", "--rate", 5, "--epochs", 6000, "--runs", 1,
                "--outputs", 3)
    assert r["verdict"]["pca"]["answer"] == "fails" and r["verdict"]["pca"]["difference"] > 0.5
    assert r["verdict"]["trained"]["angle_last"] < 45 < 60 < r["verdict"]["trained"]["angle_first"]


def test_killed_and_run_again(call, compare, tmp_path):
    """Killed half way, the same command goes on and gives the same result."""
    whole = compare(out="whole")
    for how, code in (signal.SIGKILL, -9), (signal.SIGINT, 130):
        run = subprocess.Popen(stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                               **call("compare", *SMALL, "--out", "part"))
        jobs = tmp_path / "part/jobs"
        before, until = len(list(jobs.glob("*.json"))), time.time() + 60
        while time.time() < until and run.poll() is None and len(list(jobs.glob("*.json"))) <= before:
            time.sleep(0.02)
        run.send_signal(how)
        err = run.communicate()[1]
        if run.returncode != 0:  # it may have been quick
            assert run.returncode == code and (how == signal.SIGKILL or "same command" in err)
    done = {f.name: f.stat().st_mtime_ns for f in jobs.glob("*.json")}
    assert done
    part = compare(out="part")
    assert without_times(part) == without_times(whole)
    assert all((jobs / name).stat().st_mtime_ns == t for name, t in done.items())  # taken over, not made again
    assert not list(jobs.glob("*.npz"))


def test_a_matrix_without_labels(good, save, rng):
    """No labels: no accuracy, the rest all the same."""
    save(x=rng.normal(size=(30, 8)))
    r = json.loads(good("compare", "--data", "x.npy", "--widths", "20,40", "--runs", 1, "--epochs", 5, "--outputs", 3,
                        "--threads", 1, "--json"))
    assert all(row["accuracy"] is None for row in r["table"]) and r["verdict"]["pca"]["answer"]


def test_the_text(good):
    """Table, laws, verdict and the report's place."""
    out = good("compare", *SMALL, "--methods", "gd,kernel", "--runs", 1)
    assert "method" in out and "frozen kernel: " in out and "width^" in out and "report: compare/report.html" in out


@pytest.mark.parametrize("args, word", [
    (["--widths", "100,x"], "--widths"), (["--widths", "100,50"], "--widths"), (["--methods", "gd,pda"], "--methods"),
    (["--methods", ""], "--methods"), (["--init", "w.npz"], "--init"), (["--out", ""], "--out"),
    (["--test", "nowhere.npy"], "nowhere.npy"), (["--width", 100], "--widths"),
])
def test_refusals(ep, args, word):
    """One line that names the option."""
    code, out, err = ep("compare", *SMALL, *args)
    assert code == 2 and out == "" and err.count("\n") == 1 and word in err
