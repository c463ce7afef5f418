"""`eigenpair optima` and `fit --method alpha`: judged by NumPy."""
import json
import re
import signal
import subprocess

import numpy as np
import pytest
from conftest import wait_until_at_work

KEYS = {"w", "lambda", "gap", "roughness", "stable", "basin"}
SLOPE = {"relu": lambda a: (a > 0) * 1.0, "leaky:0.2": lambda a: np.where(a > 0, 1, 0.2), "linear": np.ones_like,
         "monomial:3": lambda a: 3 * a**2}
VALUE = {"relu": lambda a: np.maximum(a, 0), "leaky:0.2": lambda a: np.where(a > 0, a, 0.2 * a), "linear": lambda a: a,
         "monomial:3": lambda a: a**3}


def alpha(weights, F, F2=None):
    """N x N weights of features F (N, m), from the definition."""
    name, _, tau = weights.partition(":")
    d = ((F[:, None] - F[None]) ** 2).sum(-1) / 2
    twin = ((F - F2) ** 2).sum(-1) / 2 if F2 is not None else np.zeros(len(F))
    if name == "uniform":
        return np.ones_like(d)
    if name == "gaussian":
        return np.exp(-d / float(tau))
    if name == "triplet":
        return (twin[:, None] - d + float(tau) > 0) * (1 - np.eye(len(F)))
    tau, epsilon = (list(map(float, tau.split(","))) + [0])[:2]
    e = np.exp(-d / tau) * (1 - np.eye(len(F)))
    return e / (e.sum(1) + epsilon * np.exp(-twin / tau))[:, None]


def covariance(a, Z, Z2=None):
    """1/(2N^2) sum_ij alpha_ij [(z_i-z_j)(z_i-z_j)' - (z_i-z'_i)(z_i-z'_i)']"""
    D = Z[:, None] - Z[None]
    C = np.einsum("ij,ijp,ijq->pq", a, D, D)
    if Z2 is not None:
        C -= np.einsum("i,ip,iq->pq", a.sum(1), Z - Z2, Z - Z2)
    return C / (2 * len(Z) ** 2)


@pytest.fixture
def optima(good):
    def run(*args):
        def refuse(word):
            raise ValueError(word)
        return json.loads(good("optima", "--json", *args), parse_constant=refuse)
    return run


@pytest.mark.parametrize("activation", SLOPE)
@pytest.mark.parametrize("weights", ["uniform", "gaussian:0.5", "infonce:0.5", "infonce:0.5,1", "triplet:0.5"])
def test_numbers_of_each_optimum(optima, save, rng, activation, weights):
    """lambda, gap and residual are those of A(w) by NumPy; the shares add up."""
    X = rng.normal(size=(60, 3)) + 0.3
    save(x=X)
    r = optima("--data", "x.npy", "--activation", activation, "--weights", weights, "--starts", 20,
               "--iterations", 300)
    assert r["starts"] == 20 and r["points"] == 60 and r["dimension"] == 3
    ends = r["optima"] + r["other_ends"]
    assert sum(o["count"] for o in ends) + r["dead"] + r["unsettled"] == 20
    for kind in r["optima"], r["other_ends"]:
        assert [o["basin"] for o in kind] == sorted((o["basin"] for o in kind), reverse=True)
    assert [r[k] for k in ("maximal", "nearly_maximal")] == [sum(o[k] for o in ends) for k in ("maximal", "nearly_maximal")]
    for o in ends:
        assert KEYS <= set(o)
        w = np.array(o["w"])
        s = X @ w
        A = covariance(alpha(weights, VALUE[activation](s)[:, None]), SLOPE[activation](s)[:, None] * X)
        values = np.linalg.eigvalsh(A)
        scale = abs(values).max()
        np.testing.assert_allclose(np.linalg.norm(w), 1, atol=1e-12)
        np.testing.assert_allclose(o["lambda"], w @ A @ w, atol=1e-11 * scale)
        np.testing.assert_allclose(o["gap"], values[-1] - values[-2], atol=1e-11 * scale)
        np.testing.assert_allclose(o["residual"], np.linalg.norm(A @ w - (w @ A @ w) * w) / np.linalg.norm(A @ w),
                                   atol=1e-9)
        assert o["basin"] == o["count"] / 20 and o["basin_low"] <= o["basin"] <= o["basin_high"]
        assert o["theorem1"] == (o["maximal"] and o["gap"] > o["roughness"])
        jumps = activation in ("relu", "leaky:0.2")
        assert o["touching"] == (jumps and (abs(s) <= 1e-6 * np.linalg.norm(X, axis=1)).sum())
        assert (o in r["optima"]) == (o["maximal"] or o["nearly_maximal"] or o["touching"] < 3)
        if o["maximal"]:  # Definition 3, whatever jumps
            assert o["alignment"] > 1 - 1e-6 and o["residual"] < 1e-6
        if o["nearly_maximal"]:
            assert o["alignment"] > 0.99 and o["touching"] and not o["maximal"]
        if o["roughness_bound"] is not None:
            assert o["roughness"] <= o["roughness_bound"] + 1e-12


def test_categorical(optima, good, tmp_path):
    """Every pattern and nothing else; dead starts apart."""
    good("data", "make", "--data", "categorical:5,400", "--precision", "double", "--out", "x.npy", "--seed", 3)
    X = np.load(tmp_path / "x.npy")
    U, counts = np.unique(X.round(12), axis=0, return_counts=True)
    r = optima("--data", "categorical:5,400", "--seed", 3, "--starts", 200, "--out", "w.npy")
    W = np.array([o["w"] for o in r["optima"]])
    assert len(W) == 5 and not r["other_ends"] and r["dead"] > 0 and r["unsettled"] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "w.npy"), W)
    which = (W @ U.T).argmax(1)
    assert sorted(which) == list(range(5))
    np.testing.assert_allclose((W @ U.T).max(1), 1, atol=1e-8)
    p = counts[which] / 400
    np.testing.assert_allclose([o["lambda"] for o in r["optima"]], p * (1 - p), atol=1e-8)
    assert all(o["stable"] for o in r["optima"])


def test_summation(optima, good, tmp_path):
    """Every pattern u_m, and for few patterns one more: all of them off, w = -sum u_m / sqrt m."""
    good("data", "make", "--data", "summation:4,4000,0.15", "--precision", "double", "--out", "x.npy")
    X = np.load(tmp_path / "x.npy")
    off = X[np.unique(X.round(9), axis=0, return_inverse=True)[1] ==
            np.bincount(np.unique(X.round(9), axis=0, return_inverse=True)[1]).argmax()][0]
    r = optima("--data", "x.npy", "--starts", 100)
    best = r["optima"]
    assert len(best) == 5 and all(o["stable"] for o in best)
    best.sort(key=lambda o: -o["lambda"])
    for o in best[:4]:  # sampling error of 4,000 points
        assert abs(o["lambda"] - 0.85**2) < 0.1 and abs(o["gap"] - (0.85**2 - 0.15)) < 0.15
    assert np.array(best[4]["w"]) @ off / np.linalg.norm(off) > 0.999
    W = np.array([o["w"] for o in best[:4]])
    np.testing.assert_allclose(W @ W.T, np.eye(4), atol=0.1)


def test_orthonormal_patterns_and_nothing_else(optima, good, tmp_path):
    """At q = 0.2 the optima are the six u_m; where A(w) jumps starts may settle too, and are listed apart."""
    good("data", "make", "--data", "summation:6,20000,0.2", "--precision", "double", "--out", "x.npy", "--seed", 1)
    X = np.load(tmp_path / "x.npy")
    r = optima("--data", "x.npy", "--starts", 60)
    W = np.array([o["w"] for o in r["optima"]])
    assert W.shape == (6, 6) and all(o["stable"] and o["maximal"] for o in r["optima"])
    np.testing.assert_allclose(W @ W.T, np.eye(6), atol=0.06)
    on = (X @ W.T > 0).astype(float)  # u_m'x has the sign of b_m
    np.testing.assert_allclose(on.mean(0), 0.2, atol=0.01)
    for o in r["other_ends"]:
        assert o["residual"] > 1e-3 and o["touching"] > 6


def test_noisy_patterns(optima, good, tmp_path):
    """With noise the optima lie where A(w) jumps: every start settles, next to a pattern."""
    good("data", "make", "--data", "categorical:6,2000", "--precision", "double", "--out", "u.npy")
    U = np.unique(np.load(tmp_path / "u.npy").round(12), axis=0)
    r = optima("--data", "categorical:6,2000,0.1", "--starts", 60)
    W = np.array([o["w"] for o in r["optima"]])
    assert len(W) == 6 and r["unsettled"] == 0 and not r["other_ends"] and r["maximal"] + r["nearly_maximal"] == 6
    np.testing.assert_allclose(np.sort((W @ U.T).max(0)), 1, atol=0.01)


def test_nearly_orthogonal_patterns(optima):
    """|U'U - I| = 0.15: still one optimum for each u_m (OPTIMA Fig. 1 right)."""
    r = optima("--data", "summation:6,20000,0.2,0.15", "--starts", 60)
    W = np.array([o["w"] for o in r["optima"] if o["maximal"]])
    assert len(W) == 6 and np.abs(W @ W.T - np.eye(6)).max() < 0.25


def test_linear_has_one(optima):
    r = optima("--data", "clusters:4,300,6", "--activation", "linear", "--starts", 50)
    assert len(r["optima"]) == 1 and r["optima"][0]["basin"] == 1


def test_views(optima, save, rng):
    """Ready pairs: A(w) has the second term; --augment draws two views."""
    X = rng.normal(size=(50, 3))
    X2 = X + 0.5 * rng.normal(size=X.shape)
    save(a=X, p=X2)
    for weights in "uniform", "infonce:0.5,1":
        r = optima("--anchors", "a.npy", "--positives", "p.npy", "--starts", 10, "--weights", weights,
                   "--iterations", 300)
        for o in r["optima"] + r["other_ends"]:
            w = np.array(o["w"])
            a, b = np.maximum(X @ w, 0), np.maximum(X2 @ w, 0)
            A = covariance(alpha(weights, a[:, None], b[:, None]), (a > 0)[:, None] * X, (b > 0)[:, None] * X2)
            np.testing.assert_allclose(o["lambda"], w @ A @ w, atol=1e-12)
    r = optima("--data", "a.npy", "--augment", "noise:0.1", "--starts", 5, "--iterations", 100)
    assert r["starts"] == 5


def test_given_weights(optima, save, rng):
    """Weights 1 are uniform weights."""
    X = rng.normal(size=(30, 3))
    save(x=X, ones=np.ones((30, 30)))
    a = optima("--data", "x.npy", "--starts", 10)
    b = optima("--data", "x.npy", "--starts", 10, "--weights", "given", "--alpha", "ones.npy")
    assert len(a["optima"]) == len(b["optima"])
    for p, q in zip(a["optima"], b["optima"]):
        np.testing.assert_allclose(p["lambda"], q["lambda"], atol=1e-6)


def test_same_bits_on_any_threads(good):
    args = ["optima", "--data", "clusters:4,150,6", "--starts", 70, "--iterations", 200, "--json"]
    texts = [json.loads(good(*args, "--threads", t)) for t in (1, 2)]
    assert texts[0]["optima"] == texts[1]["optima"]


def test_text_and_report(good, undrawn, tmp_path):
    out = good("optima", "--data", "categorical:4,100", "--starts", 50, "--report", "out")
    assert re.search(r"optima +4, of which 4 are", out) and re.search(r"starts +50: \d+ dead", out)
    assert "out/report.html" in out and "Where one node can end" in (tmp_path / "out" / "report.html").read_text()
    section, = json.loads((tmp_path / "out" / "document.json").read_text())["sections"]
    assert [len(t["rows"]) for t in section["tables"]] == [4]
    figure = {f["name"]: f for f in section["figures"]}
    curves, slices, gap = figure["convergence"], figure["map"], figure["gap"]
    assert gap["x"]["log"] and gap["y"]["log"] and len(section["figures"]) == 3
    assert len(curves["series"]) == 4 and curves["y"]["log"]
    for s in curves["series"]:
        assert len(s["x"]) == len(s["y"]) > 3 and s["y"][-1] < 1e-6
    starts, found = slices["series"]
    assert slices["kind"] == "scatter" and set(starts["label"]) <= set(range(-1, 5)) and len(found["x"]) >= 3
    assert len(json.loads((tmp_path / "out" / "result.json").read_text())["optima"]) == 4


def test_roughness_that_is_rounding(good, undrawn, tmp_path):
    """It is 0 in the table, and its dot does not push the others into a corner."""
    good("optima", "--data", "summation:4,400,0.2", "--starts", 30, "--report", "out")
    section, = json.loads((tmp_path / "out" / "document.json").read_text())["sections"]
    found = json.loads((tmp_path / "out" / "result.json").read_text())["optima"]
    tiny = [o["roughness"] < 1e-12 * o["lambda"] for o in found]
    assert any(tiny) and not all(tiny) and [row[6] == 0 for row in section["tables"][0]["rows"]] == tiny
    gap = next(f for f in section["figures"] if f["name"] == "gap")
    dots = [s for s in gap["series"] if not s.get("dashed")]
    assert len(dots) == len(found) and min(s["x"][0] for s in dots) == pytest.approx(1e-6 * max(s["y"][0] for s in dots))


def test_ball(optima):
    r = optima("--data", "categorical:3,90", "--starts", 20, "--ball")
    assert all(o["irregularity"] is not None and o["ball"] is not None for o in r["optima"])


@pytest.mark.parametrize("args, word", [
    (["--data", "x.npy", "--activation", "tanh"], "tanh"), (["--data", "x.npy", "--weights", "gaussian:-1"], "tau"),
    (["--data", "x.npy", "--weights", "cosine"], "weights"), (["--data", "x.npy", "--weights", "given"], "--alpha"),
    (["--data", "x.npy", "--weights", "given", "--alpha", "x.npy"], "square"), (["--data", "none.npy"], "none.npy"),
    (["--data", "x.npy", "--starts", 0], "--starts"), (["--data", "one.npy"], "two points"), ([], "--data"),
    (["--data", "x.npy", "--out", "no/w.npy"], "no/w.npy"), (["--anchors", "x.npy"], "--positives"),
    (["--data", "x.npy", "--memory", "1K"], "--memory"), (["--data", "nan.npy"], "nan.npy"),
])
def test_bad_input(ep, save, rng, tmp_path, args, word):
    save(x=rng.normal(size=(10, 3)), one=np.ones((1, 3)), nan=np.full((4, 3), np.nan))
    before = sorted(p.name for p in tmp_path.iterdir())
    code, out, err = ep("optima", *args)
    assert (code, out) == (2, "") and err.count("\n") == 1 and word in err, err
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_interrupted(call, tmp_path):
    """Ctrl-C: one line, status 130, no file."""
    p = subprocess.Popen(**call("optima", "--data", "summation:8,4000,0.38", "--starts", 100000, "--out", "w.npy"),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until_at_work(p)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
    finally:
        if p.poll() is None:
            p.kill()
            p.communicate()
    assert (p.returncode, out) == (130, "") and err.count("\n") == 1 and not (tmp_path / "w.npy").exists()


# ---- several nodes


def joint(weights, X, W, X2=None, activation="relu"):
    """Row k: A_k w_k with weights of all outputs together; half the gradient of tr C_alpha."""
    h = VALUE[activation]
    a = alpha(weights, h(X @ W.T), None if X2 is None else h(X2 @ W.T))
    gate = lambda x, w: SLOPE[activation](x @ w)[:, None] * x
    return np.array([covariance(a, gate(X, w), None if X2 is None else gate(X2, w)) @ w for w in W])


@pytest.mark.parametrize("weights", ["infonce:1", "infonce:2,1", "gaussian:1"])
def test_nodes_end_where_their_gradient_does(good, save, rng, tmp_path, weights):
    """One layer, its nodes in different places: the tangent part of every row of the joint gradient is 0. A cubic
    activation has no jumps."""
    X = np.concatenate([rng.normal(size=(30, 3)) * 0.2 + 1.2 * u for u in np.eye(3)])
    save(x=X)
    r = json.loads(good("optima", "--data", "x.npy", "--nodes", 3, "--starts", 1, "--weights", weights, "--json",
                        "--out", "w.npy", "--activation", "monomial:3", "--seed", 3))
    W = np.array([o["w"] for o in r["optima"]])
    assert r["nodes"] == 3 and r["layers"] == 1 and r["distinct"] == [3] and r["dead"] == r["unsettled"] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "w.npy"), W)
    Y = joint(weights, X, W, activation="monomial:3")
    rest = Y - (Y * W).sum(1, keepdims=True) * W
    assert (np.linalg.norm(rest, axis=1) < 1e-6 * np.linalg.norm(Y, axis=1)).all()
    alone = np.array([joint(weights, X, W[k:k + 1], activation="monomial:3")[0] for k in range(3)])
    rest = alone - (alone * W).sum(1, keepdims=True) * W
    assert (np.linalg.norm(rest, axis=1) > 1e-4 * np.linalg.norm(alone, axis=1)).any()  # they do see each other


def test_nodes_with_uniform_weights_are_alone(optima):
    """Layers of K nodes find what K single starts find; the numbers add up."""
    args = ["--data", "categorical:5,400", "--seed", 3]
    single, layers = optima(*args, "--starts", 60), optima(*args, "--starts", 12, "--nodes", 5)
    assert len(layers["optima"]) == len(single["optima"]) == 5 and layers["dead"] == single["dead"]
    assert layers["distinct_low"] < layers["distinct_mean"] == np.mean(layers["distinct"]) < layers["distinct_high"]
    assert sum(o["layers"] for o in layers["optima"]) == sum(layers["distinct"])
    assert [o["share"] for o in layers["optima"]] == [o["layers"] / 12 for o in layers["optima"]]


def test_nodes_text_report_threads(good, undrawn, tmp_path):
    args = ["optima", "--data", "summation:4,80,0.2", "--nodes", 4, "--starts", 6, "--weights", "infonce:2"]
    text = good(*args, "--report", "out")
    assert re.search(r"layers +6 of 4 nodes", text) and "a layer holds" in text
    assert "Where the nodes of a layer end" in (tmp_path / "out" / "report.html").read_text()
    a, b = (json.loads(good(*args, "--json", "--threads", t)) for t in (1, 2))
    assert a["optima"] == b["optima"] and a["distinct"] == b["distinct"]


# ---- fit --method alpha


def energy(F, F2, a):
    return np.trace(covariance(a, F, F2))


@pytest.mark.parametrize("weights", ["uniform", "gaussian:0.5", "infonce:0.5", "infonce:0.5,1", "triplet:0.5"])
@pytest.mark.parametrize("depth", [1, 2])
def test_alpha_is_ascent(fit, pairs, start, ref, weights, depth):
    """One step is eta times the gradient of tr C_alpha with alpha constant, by central differences."""
    p, net = pairs(rows=7, negatives=0), start(depth=depth)
    r = fit(*p.flags, "--method", "alpha", "--weights", weights, "--init", "init.npz", "--depth", depth, "--epochs", 1,
            "--rate", 0.1)
    after = ref.weights(r.model)
    F, F2 = (ref.outputs(net, x) for x in p.X)
    a = alpha(weights, F, F2)
    np.testing.assert_allclose(r.history["loss"][0], -energy(F, F2, a), atol=1e-12)
    moved = lambda: energy(*(ref.outputs(net, x) for x in p.X), a)
    for W, new in zip(net, after):
        for k in (0, W.size // 2, W.size - 1):
            at, keep, step = np.unravel_index(k, W.shape), W.flat[k], 1e-6
            W.flat[k] = keep + step
            up = moved()
            W.flat[k] = keep - step
            down = moved()
            W.flat[k] = keep
            np.testing.assert_allclose(new[at] - keep, 0.1 * (up - down) / (2 * step), atol=1e-8)


def test_alpha_batches_and_given(fit, save, rng):
    save(x=rng.normal(size=(20, 4)), a=np.ones((20, 20)))
    small = ["--data", "x.npy", "--method", "alpha", "--width", 8, "--outputs", 2, "--epochs", 3, "--rate", 0.01]
    uniform, given = fit(*small), fit(*small, "--weights", "given", "--alpha", "a.npy")
    np.testing.assert_allclose(uniform.history["loss"], given.history["loss"], atol=1e-12)
    assert len(fit(*small, "--batch", 6).history["loss"]) == 4


@pytest.mark.parametrize("weights", ["uniform", "infonce:1,1", "gaussian:1"])
def test_alpha_with_unit_rows(fit, pairs, start, weights):
    """One layer relu(V x), rows of length 1: projected ascent by NumPy; W stays sqrt(K) I. Gaussian weights are of the
    first views here."""
    p, net = pairs(rows=9, dim=12, negatives=0), start(dim=12, width=3, outputs=3)
    r = fit(*p.flags, "--method", "alpha", "--rows", "unit", "--weights", weights, "--init", "init.npz", "--epochs", 5,
            "--rate", 0.2)
    V = net[0] / np.linalg.norm(net[0], axis=1, keepdims=True)
    for _ in range(5):
        V = V + 0.4 * joint(weights, p.X[0], V, p.X[1])
        V /= np.linalg.norm(V, axis=1, keepdims=True)
    np.testing.assert_allclose(r.model["V"], V, atol=1e-12)
    np.testing.assert_allclose(r.model["W"], np.sqrt(3) * np.eye(3), atol=1e-15)
    assert len(fit(*p.flags, "--method", "alpha", "--rows", "unit", "--init", "init.npz", "--epochs", 2, "--batch", 4,
                   "--rate", 0.1).history["loss"]) == 3


@pytest.mark.parametrize("args, word", [
    (["--rows", "unit"], "--width 10"), (["--rows", "unit", "--outputs", 8, "--depth", 2], "--depth 1"),
    (["--pairs", "triplet"], "positive"), (["--loss", "softmax", "--pairs", "triplet"], "alpha"),
    (["--loss", "barlow"], "--weights"), (["--batch", 1], "--batch"), (["--weights", "infonce:0"], "tau"),
    (["--weights", "given", "--alpha", "a.npy"], "20"), (["--weights", "given", "--alpha", "b.npy", "--batch", 5], "--batch"),
])
def test_alpha_refuses(ep, save, rng, args, word):
    save(x=rng.normal(size=(20, 4)), a=np.ones((5, 5)), b=np.ones((20, 20)))
    code, out, err = ep("fit", "--data", "x.npy", "--method", "alpha", "--width", 8, *args)
    assert (code, out) == (2, "") and err.count("\n") == 1 and word in err, err
