"""`eigenpair compare`: verdict, table, drifts, report; interrupted and run again."""
import json
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import less

SMALL = ["--data", "digits", "--samples", 30, "--widths", "30,120", "--runs", 2, "--epochs", 20, "--outputs", 4,
         "--test-samples", 200, "--threads", 1]  # of more digits whitened takes seconds


pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture
def compare(good):
    def run(*args, out="c"):
        return json.loads(good("compare", *SMALL, "--out", out, "--json", *args, timeout=300))

    return run


@pytest.fixture(scope="module")
def whole(run_in, tmp_path_factory):
    """One run, with its drawings -> folder, result."""
    folder = tmp_path_factory.mktemp("whole")
    code, out, err = run_in(folder, "compare", *SMALL, "--out", "c", "--json")
    assert (code, err) == (0, "")
    return folder / "c", json.loads(out)


def without_times(x):
    if isinstance(x, dict):
        return {k: without_times(v) for k, v in x.items() if k not in ("seconds", "cheaper", "sentence", "words")}
    return [without_times(v) for v in x] if isinstance(x, list) else x


def test_everything_is_there(whole):
    """The contract: table, verdict with the tolerance, exponents, widths, report."""
    folder, r = whole
    rows = {(row["method"], row["width"]) for row in r["table"]}
    methods = ["gd", "kernel", "kernel, analytic", "grassmann", "pca", "iterate"]
    free = ["infinite", "whitened", "raw inputs", "PCA of inputs"]
    assert rows == {(m, w) for m in methods for w in (30, 120)} | {(m, None) for m in free}
    scores = [row["accuracy"] for row in r["table"]]
    assert scores == sorted(scores, reverse=True) and [row["best"] for row in r["table"]] == [True] + [False] * (len(scores) - 1)
    for name in "same_function", "as_good", "cheaper":
        for v in [r["verdict"]] + list(r["verdict"]["methods"].values()):
            assert v[name]["answer"] in ("yes", "no", "no answer") and isinstance(v[name]["number"], float)
    use = r["verdict"]["use"]
    assert use["answer"] == "yes" and use["words"].startswith(f"Use {use['method']}: ") and use["number"] in scores
    assert use["command"].startswith("eigenpair fit --method ") and use["command"] in use["words"]
    log = (folder / "log.txt").read_text().splitlines()
    assert len(log) == 32 and log[0].startswith("job 1 of 32: gd, width 30, seed 0; ") and log[31].startswith("job 32 of 32")
    assert all(0 <= row["accuracy"] <= 1 and row["seconds"] >= 0 and row["memory"] > 0 for row in r["table"])
    for name in "kernel", "pca":
        v = r["verdict"][name]
        assert v["answer"] in ("holds", "fails") and v["holds"] == (v["answer"] == "holds") and v["tolerance"] == 0.1
    for name in "ntk", "kernel_difference", "c", "pca_difference":
        d = r["drift"][name]
        assert d["exponent_low"] <= d["exponent"] <= d["exponent_high"] and d["exponent"] < 0 and d["mean"][1] < d["mean"][0]
    for file in "report.html", "result.json", "figures/drift-width.csv", "figures/embedding.csv", "figures/angles.csv":
        assert (folder / file).stat().st_size > 0
    assert all(csv.with_suffix(".svg").exists() for csv in (folder / "figures").glob("*.csv"))
    assert json.loads((folder / "result.json").read_text()) == r


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


def test_killed_and_run_again(call, compare, whole, tmp_path):
    """Killed half way, the same command goes on and gives the same result."""
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
    assert without_times(part) == without_times(whole[1])
    assert all((jobs / name).stat().st_mtime_ns == t for name, t in done.items())  # taken over, not made again
    assert not list(jobs.glob("*.npz"))


def test_jobs_go_by_what_the_data_hold(good, save, rng, tmp_path):
    """The same points by another name: finished jobs are taken over."""
    X = rng.normal(size=(20, 4))
    save(one=X, two=X, three=2 * X)
    for name, jobs in ("one", 2), ("two", 2), ("three", 4):
        good("compare", "--data", f"{name}.npy", "--widths", "10,20", "--methods", "gd,pca", "--runs", 1, "--epochs", 2, "--out", "c",
             "--outputs", 2, "--threads", 1)
        assert len(list((tmp_path / "c/jobs").glob("*.json"))) == jobs


def test_a_matrix_without_labels(good, save, rng):
    """No labels: no accuracy, the rest all the same."""
    save(x=rng.normal(size=(30, 8)))
    r = json.loads(good("compare", "--data", "x.npy", "--widths", "20,40", "--runs", 1, "--epochs", 5, "--outputs", 3,
                        "--threads", 1, "--json"))
    assert all(row["accuracy"] is None for row in r["table"]) and r["verdict"]["pca"]["answer"]
    assert all(0 <= row["recall"] <= 1 and row["rankme"] >= 1 for row in r["table"])
    assert r["verdict"]["score"] == "recall of positives" and r["scored_on"] == "new views of the data"
    assert r["verdict"]["use"]["number"] in [row["recall"] for row in r["table"]]


def test_the_text(good):
    """Table, laws, verdict and the report's place."""
    out = good("compare", *SMALL, "--methods", "gd,kernel", "--runs", 1)
    assert out.startswith("Use ") and out.splitlines()[2].split()[:2] == ["method", "width"]
    assert "raw inputs" in out and "Is it the same function? " in out and "frozen kernel: " in out and "width^" in out and "report: compare/report.html" in out


ASKS = ["Is the drift of the tangent kernel small? ", "Does the drift of the tangent kernel fall with width? ",
        "Is the drift of C small? ", "Does the drift of C fall with width? "]


def test_the_theory_is_always_asked(good, tmp_path):
    """One width: small is answered, falling is not, and what would answer it is said; on the page no row of dashes."""
    quick = ["compare", "--data", "digits", "--samples", 30, "--test-samples", 100, "--widths", 25, "--threads", 1, "--epochs", 12, "--quick"]
    lines = good(*quick).splitlines()
    said = [next(line[len(q):] for line in lines if line.startswith(q)) for q in ASKS]
    assert said[0].startswith(("Yes: ", "No: ")) and "at width 25" in said[0]
    assert said[1].startswith("No answer: 1 width and 1 seed") and "Try --widths 25,75,250 --runs 3." in said[1]
    assert all(s.startswith("No answer: it was not measured. Try --methods grassmann,pca.") for s in said[2:])
    assert not any("width^" in line for line in lines)
    tables = [t for s in json.loads((tmp_path / "compare/document.json").read_text())["sections"] for t in s.get("tables", [])]
    asked = next(t for t in tables if t["title"] == "What the theory asks")
    assert [r[0] + " " for r in asked["rows"]] == ASKS and [r[2] for r in asked["rows"]] == said
    assert not any(t["title"].startswith("Power laws") for t in tables)
    theory = json.loads((tmp_path / "compare/result.json").read_text())["verdict"]["theory"]
    assert theory["kernel"]["falls"]["answer"] == "no answer" and theory["kernel"]["small"]["answer"] != "no answer"


def test_intervals_that_contain_zero(good, tmp_path):
    """They are marked in the table, and the words say what to run; those that do not are answers."""
    out = good("compare", *SMALL, "--widths", "30,33,36", "--methods", "gd,kernel,grassmann,pca")
    result = json.loads((tmp_path / "compare/result.json").read_text())
    tables = [t for s in json.loads((tmp_path / "compare/document.json").read_text())["sections"] for t in s.get("tables", [])]
    law = {r[0]: r for r in next(t for t in tables if t["title"].startswith("Power laws"))["rows"]}
    marked = 0
    for d in result["drift"].values():
        none = d["exponent_low"] < 0 < d["exponent_high"]
        marked += none
        line = next(x for x in out.splitlines() if x.startswith(d["what"]) and "width^" in x)
        assert (law[d["what"]][4] == "no answer: it contains 0") == none == line.endswith("try --runs 5, or a wider range of --widths")
    assert marked
    for v in result["verdict"]["theory"].values():
        f = v["falls"]
        assert (f["answer"] == "no answer") == (f["low"] < 0 < f["high"]) == ("which contains 0). Try --runs 5" in f["words"])


def nearest(A, P):
    """Share of rows of A whose row of P is the nearest by cosine."""
    unit = lambda X: X / np.linalg.norm(X, axis=1, keepdims=True)
    return ((unit(A) @ unit(P).T).argmax(axis=1) == np.arange(len(A))).mean()


def test_ready_pairs_without_labels(good, save, rng, tmp_path):
    """Every fifth pair is kept back, and the scores are of those: raw inputs by NumPy; a model from the other pairs."""
    A = rng.normal(size=(60, 5))
    P = A + 0.7 * rng.normal(size=A.shape)
    out = np.arange(60) % 5 == 4
    save(a=A, p=P, a1=A[~out], p1=P[~out], q=np.concatenate([A[out], P[out]]))
    more = ["--loss", "vicreg", "--rate", 0.01, "--outputs", 3, "--precision", "double", "--threads", 1]
    r = json.loads(good("compare", "--anchors", "a.npy", "--positives", "p.npy", "--methods", "gd,kernel", "--widths", 40,
                        "--runs", 1, "--epochs", 15, "--json", *more))
    rows = {row["method"]: row for row in r["table"]}
    assert r["scored_on"] == "held-out pairs" and rows["raw inputs"]["recall"] == pytest.approx(nearest(A[out], P[out]))
    X, mean = np.concatenate([A[~out], P[~out]]), np.concatenate([A[~out], P[~out]]).mean(axis=0)
    V = np.linalg.eigh(np.cov(X.T))[1][:, -3:]
    assert rows["PCA of inputs"]["recall"] == pytest.approx(nearest((A[out] - mean) @ V, (P[out] - mean) @ V))
    E = {}
    for name, method, epochs in ("gd", "gd", 15), ("kernel", "kernel", 15), ("start", "gd", 0):
        good("fit", "--method", method, "--anchors", "a1.npy", "--positives", "p1.npy", "--width", 40, "--epochs", epochs,
             *more, "--out", "m.npz")
        good("embed", "--model", "m.npz", "--data", "q.npy", "--precision", "double", "--out", "e.npy")
        E[name] = np.load(tmp_path / "e.npy")
    assert rows["gd"]["recall"] == pytest.approx(nearest(E["gd"][:12], E["gd"][12:]))
    apart = lambda a, b: (np.linalg.norm(E[a] - E[b], axis=1) / np.linalg.norm(E[b], axis=1)).mean()
    np.testing.assert_allclose(rows["kernel"]["difference"], apart("kernel", "gd"), rtol=1e-9)
    np.testing.assert_allclose(r["verdict"]["methods"]["kernel"]["same_function"]["number"], apart("kernel", "gd"), rtol=1e-9)
    fits = [job for job in r["jobs"] if job["width"]][0]["methods"]
    np.testing.assert_allclose(fits["gd"]["moved"], apart("gd", "start"), rtol=1e-9)


def test_ready_pairs_with_labels(good, save, rng):
    """Labels of the anchors, a labelled test set; the score is that of the probe."""
    label, more = np.arange(80) % 2, np.arange(40) % 2
    A, T = (rng.normal(size=(len(y), 4)) + 6 * y[:, None] for y in (label, more))
    save(a=A, p=A + 0.1 * rng.normal(size=A.shape), l=label, t=T, tl=more)
    ready = ["--anchors", "a.npy", "--positives", "p.npy", "--labels", "l.npy", "--test", "t.npy"]
    rest = ["--loss", "vicreg", "--methods", "gd", "--widths", 30, "--runs", 1, "--epochs", 5, "--outputs", 2, "--json"]
    r = json.loads(good("compare", *ready, "--test-labels", "tl.npy", *rest))
    assert r["scored_on"] == "test points" and r["verdict"]["score"] == "accuracy"
    assert {row["method"]: row["accuracy"] for row in r["table"]}["raw inputs"] == 1


def test_a_table_is_tested_as_it_was_learnt(ep, rng, tmp_path):
    """Units, categories and classes of the test table are those of the first, though it has fewer of them, in another order."""
    def write(name, rows):
        (tmp_path / name).write_text("kind,site,a,b\n" + "".join(
            f"{k},{site},{3 * (k == 'cat') + rng.normal() / 4:.3f},{1000 * (k == 'dog') + 9 * rng.normal():.1f}\n" for k, site in rows))
    write("t.csv", [("cat dog eel".split()[i % 3], "abc"[i % 2]) for i in range(90)])
    write("u.csv", [("eel cat".split()[i % 2], "b") for i in range(40)])
    code, out, err = ep("compare", "t.csv", "--label-column", "kind", "--test", "u.csv", "--methods", "gd", "--widths", 30, "--runs", 1,
                        "--epochs", 5, "--outputs", 2, "--json")
    assert code == 0 and err.count("note: ") == err.count("\n"), err
    r = json.loads(out)
    rows = {row["method"]: row["accuracy"] for row in r["table"]}
    assert r["scored_on"] == "test points" and rows["raw inputs"] == 1 and rows["whitened"] > 0.8
    assert shown(tmp_path / "compare") == ["eel", "cat"] * 20


def shown(folder):
    """Names of the classes of the scatter plot, and how often each of them is in its first series."""
    document = json.loads((folder / "document.json").read_text())
    figure = next(f for s in document["sections"] for f in s.get("figures", []) if f["name"] == "embedding")
    names = {c["label"]: c["name"] for c in figure["classes"]}
    return [names[k] for k in figure["series"][0]["label"]]


def test_labels_that_are_words(ep, save, rng, tmp_path):
    """From a file, for points and for ready pairs; the test points lack the first of them."""
    y = np.arange(120) % 3
    X = 4 * np.eye(5)[y] + 0.1 * rng.normal(size=(120, 5))
    some = y[y > 0]
    save(x=X, p=X + 0.1, t=X[y > 0])
    words = np.array(["cat", "dog", "eel"])
    (tmp_path / "w.txt").write_text("\n".join(words[y]) + "\n")
    (tmp_path / "t.txt").write_text("\n".join(words[some]) + "\n")
    (tmp_path / "n.txt").write_text("\n".join(map(str, some)) + "\n")
    few = ["--methods", "gd", "--widths", 20, "--runs", 1, "--epochs", 2, "--outputs", 3, "--threads", 1, "--json"]
    test = ["--test", "t.npy", "--test-labels"]
    for data in (["x.npy"], ["--anchors", "x.npy", "--positives", "p.npy"]):
        code, out, err = ep("compare", *data, "--labels", "w.txt", *few, "--out", "c")
        assert (code, err) == (0, ""), err
        assert shown(tmp_path / "c") == list(words[y])
        code, out, err = ep("compare", *data, "--labels", "w.txt", *test, "t.txt", *few, "--out", "c")
        assert (code, err) == (0, ""), err
        assert shown(tmp_path / "c") == list(words[some])
        assert {row["method"]: row["accuracy"] for row in json.loads(out)["table"]}["raw inputs"] == 1
    code, out, err = ep("compare", "x.npy", "--labels", "w.txt", *test, "n.txt", *few, "--out", "c")
    assert code == 2 and "words in one" in err


def test_raw_inputs_that_are_best_are_the_choice(good, save, rng):
    """Nobody is sent to a method that the inputs themselves beat; the best of the methods is named with its command."""
    y = np.arange(240) % 6
    save(x=3 * np.eye(8)[y] + 0.3 * rng.normal(size=(240, 8)), y=y)
    args = ["compare", "x.npy", "--labels", "y.npy", "--methods", "gd,pca", "--widths", 50, "--epochs", 20, "--runs", 1, "--outputs", 1]
    first = good(*args).split("\n")[0]
    use = json.loads(good(*args, "--json"))["verdict"]["use"]
    assert first.startswith("Use raw inputs: 100.0 % (training ") and ", better than any method. The best of these is " in first
    assert use["method"] == "raw inputs" and use["number"] == 1 and use["width"] is None and use["answer"] == "yes"
    assert use["fit"]["number"] < 0.99 and use["command"].startswith(f"eigenpair fit --method {use['fit']['method']} ")


def test_a_tie_with_raw_inputs(good, save, rng, tmp_path):
    """What is as good and free is proposed, and has the mark of the best."""
    label = np.arange(80) % 2
    A = rng.normal(size=(80, 4)) + 8 * label[:, None]
    save(a=A, p=A + 0.1 * rng.normal(size=A.shape), l=label)
    out = good("compare", "--anchors", "a.npy", "--positives", "p.npy", "--labels", "l.npy", "--quick", "--epochs", 10, "--threads", 1)
    assert out.startswith("Use raw inputs: 100.0 % (training ") and ", as good as any method, and free. The best of these is " in out
    table = json.loads((tmp_path / "compare/result.json").read_text())["table"]
    assert table[0]["method"] == "raw inputs" and table[0]["best"] and max(r["score"] for r in table[1:]) == 1


def test_training_that_does_not_move(compare):
    """At a rate of nothing the frozen kernel is training, but that says nothing: no answer, and what to do."""
    r = compare("--methods", "gd,kernel", "--rate", 1e-9, "--widths", 30, "--runs", 1)
    v = r["verdict"]["methods"]["kernel"]["same_function"]
    assert v["answer"] == "no answer" and v["number"] < 1e-3 and "not moved" in v["words"] and "--epochs" in v["words"]


def test_too_few_epochs(compare):
    """Nine epochs have no last tenth: whether training has settled nobody can tell, and yes is no answer."""
    few = ["--widths", 40, "--methods", "gd,kernel,pca", "--runs", 2]
    answers = [(e, v) for e in less((9, 3), (9,)) for m in compare(*few, "--epochs", e)["verdict"]["methods"].values()
               for v in (m["same_function"], m["as_good"])]
    assert all(v["answer"] != "yes" for _, v in answers)
    assert any("Too few epochs" in v["words"] and "--epochs 100" in v["words"] for _, v in answers)


def test_training_that_diverges(good, save, rng):
    """No score of training, a choice all the same."""
    save(x=rng.normal(size=(30, 8)))
    r = json.loads(good("compare", "--data", "x.npy", "--methods", "gd,pca", "--widths", 20, "--runs", 1, "--epochs", 60,
                        "--rate", 1e6, "--similarity", "dot", "--outputs", 3, "--threads", 1, "--json"))
    assert {row["method"]: row["diverged"] for row in r["table"]}["gd"] == 1
    assert r["verdict"]["use"]["fit"]["method"] in ("pca", "whitened") and "training diverged" in r["verdict"]["use"]["words"]


def test_quick(good):
    """Few fits, one seed; what is given stays."""
    r = json.loads(good("compare", "--data", "digits", "--samples", 30, "--test-samples", 100, "--widths", 25, "--threads", 1,
                        "--epochs", 5, "--json", "--quick"))
    assert r["config"]["runs"] == 1 and r["config"]["widths"] == "25" and r["config"]["samples"] == 30
    assert {row["method"] for row in r["table"]} == {"gd", "pca", "infinite", "whitened", "raw inputs", "PCA of inputs"}


def test_the_command_is_that_fit(good, tmp_path):
    """What the first line proposes runs, and gives the loss in the table."""
    out = json.loads(good("compare", "--data", "digits", "--samples", 30, "--methods", "gd,pca", "--widths", 25, "--runs", 2,
                          "--epochs", 5, "--outputs", 4, "--test-samples", 100, "--threads", 1, "--seed", 3, "--json"))
    words, method = out["verdict"]["use"]["command"].split(), out["verdict"]["use"]["fit"]["method"]
    fit = json.loads(good(*words[1:], "--threads", 1, "--json"))
    first = [job for job in out["jobs"] if job["seed"] == 3 and method in job["methods"]][0]
    assert fit["loss"] == pytest.approx(first["methods"][method]["loss"], rel=1e-6)


@pytest.mark.parametrize("args, word", [
    (["--widths", "100,x"], "--widths"), (["--widths", "100,50"], "--widths"), (["--methods", "gd,pda"], "--methods"),
    (["--methods", ""], "--methods"), (["--init", "w.npz"], "--init"), (["--out", ""], "--out"),
    (["--test", "nowhere.npy"], "nowhere.npy"), (["--holdout", 0.9], "--holdout"), (["--width", 100], "--widths"),
])
def test_refusals(ep, args, word):
    """One line that names the option."""
    code, out, err = ep("compare", *SMALL, *args)
    assert code == 2 and out == "" and err.count("\n") == 1 and word in err
