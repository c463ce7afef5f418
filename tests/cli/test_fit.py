"""`eigenpair fit`: pairs -> model.npz, history, JSON; judged by NumPy."""
import json
import re

import numpy as np
import pytest

LOSSES = ["linear", "softmax", "ntxent", "spectral", "barlow", "vicreg", "noncontrastive"]
SIMILARITIES = ["dot", "cosine"]
ACTIVATIONS = ["relu", "leaky", "tanh", "sigmoid", "erf", "linear", "gelu", "sin", "cos", "monomial", "exp",
               "csoftplus"]
SMALL = ["--width", 16, "--outputs", 4]


def assert_nets_equal(found, expected, atol):
    assert len(found) == len(expected)
    for f, e in zip(found, expected):
        np.testing.assert_allclose(f, e, rtol=0, atol=atol)


def points(rng, save, rows=20, dim=4):
    X = rng.normal(size=(rows, dim))
    save(x=X)
    return X


# ---- what is written

@pytest.mark.parametrize("precision, dtype", [("single", np.float32), ("double", np.float64)])
@pytest.mark.parametrize("depth, shapes", [
    (1, {"V": (12, 4), "W": (12, 3)}),
    (3, {"V1": (12, 4), "V2": (12, 12), "V3": (12, 12), "W": (12, 3)}),
])
def test_model_arrays(fit, rng, save, precision, dtype, depth, shapes):
    """numpy.load finds the arrays of interface.md, in the precision asked for."""
    points(rng, save)
    m = fit("--data", "x.npy", "--width", 12, "--outputs", 3, "--depth", depth, "--epochs", 1, precision=precision).model
    assert {k: v.shape for k, v in m.items() if k != "config"} == shapes
    assert all(v.dtype == dtype and np.isfinite(v).all() for k, v in m.items() if k != "config")


def test_config_is_the_options(fit, rng, save):
    """The model says how it was made, as JSON text; so does the result."""
    points(rng, save)
    asked = {"data": "x.npy", "width": 12, "outputs": 3, "depth": 2, "activation": "leaky:0.2", "loss": "softmax",
             "similarity": "dot", "temperature": 0.7, "rate": 0.25, "epochs": 2, "seed": 5, "batch": 7,
             "pairs": "2+3", "scale": "unit", "augment": "noise:0.2"}
    r = fit("--input-scale", *[w for k, v in asked.items() for w in (f"--{k}", v)])
    config = json.loads(r.model["config"].item())
    assert r.model["config"].shape == ()
    for name, value in {**asked, "input_scale": True, "precision": "double"}.items():
        assert config[name] == value and r.result["config"][name] == value, name
    assert re.fullmatch(r"\d+\.\d+\.\d+", config["version"])


def test_json_result(fit, rng, save):
    """Scripts read loss, epochs, seconds, status; the loss is the history's last."""
    points(rng, save)
    r = fit("--data", "x.npy", *SMALL, "--epochs", 4)
    assert r.result["loss"] == r.history["loss"][-1] and r.result["epochs"] == 4
    assert r.result["status"] == "done" and r.result["seconds"] > 0
    assert r.result["version"] and r.result["machine"]["cores"] >= 1


def test_text_result(good, rng, save, tmp_path):
    """Without --json a person reads the loss, the status and where the model is."""
    points(rng, save)
    out = good("fit", "--data", "x.npy", *SMALL, "--epochs", 4)
    assert "in 4 epochs" in out and "done" in out and "model.npz" in out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.npz", "x.npy"]


@pytest.mark.parametrize("batch", [0, 7])
@pytest.mark.parametrize("track, header", [
    ("", ["epoch", "loss"]), ("weights", ["epoch", "loss", "w_change", "v_change"]), ("rank", ["epoch", "loss", "rank"]),
    ("weights,rank", ["epoch", "loss", "w_change", "v_change", "rank"]),
])
def test_history_columns_and_rows(fit, rng, save, batch, track, header):
    """One header, row 0 the start, one row an epoch."""
    points(rng, save)
    h = fit("--data", "x.npy", *SMALL, "--epochs", 5, "--batch", batch, *(["--track", track] if track else [])).history
    assert list(h) == header
    np.testing.assert_array_equal(h["epoch"], range(6))


def test_no_epochs(fit, rng, save, start, pairs):
    """--epochs 0 hands the start back to the bit, also when the points would be rotated."""
    for dim in (4, 90):
        net, p = start(dim=dim), pairs(dim=dim)
        r = fit(*p.flags, "--init", "init.npz", "--epochs", 0)
        np.testing.assert_array_equal(r.model["V"], net[0])
        np.testing.assert_array_equal(r.model["W"], net[1])
        assert len(r.history["loss"]) == 1 and r.result["epochs"] == 0


# ---- values of the loss

@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("scaled", [False, True])
def test_first_loss(fit, pairs, start, ref, similarity, depth, scaled):
    """Row 0 is NumPy's loss of NumPy's forward pass, several positives and negatives."""
    p, net = pairs(positives=2, negatives=3), start(depth=depth)
    r = fit(*p.flags, "--init", "init.npz", "--epochs", 0, "--similarity", similarity, "--delta", 0.3,
            *(["--input-scale"] if scaled else []))
    F = ref.outputs(net, p.X, s=0.5 if scaled else 1.0)
    assert r.history["loss"][0] == pytest.approx(ref.linear_loss(F, p.signs, similarity, 0.3), abs=1e-12)


def softmax(s, signs, tau, eps):
    a, e = np.array(signs), np.exp(s / tau)
    return np.log(eps * e[a > 0].sum(0) + e[a < 0].sum(0)) - s[a > 0].mean(0) / tau


def ntxent(U, tau):
    """SimCLR: every view against the 2N - 2 views of other anchors and its twin."""
    n, Y = U.shape[1], U[:2].reshape(-1, U.shape[-1])
    S = np.exp(Y @ Y.T / tau)
    twin = np.exp((U[0] * U[1]).sum(-1) / tau)
    return np.mean(np.log(S.sum(1) - np.diag(S)) - np.log(np.tile(twin, 2))) * (n > 1)


def barlow(F, off):
    Y = [(f - f.mean(0)) / np.sqrt(f.var(0) + 1e-5) for f in F[:2]]
    C = Y[0].T @ Y[1] / F.shape[1]
    return ((1 - np.diag(C)) ** 2).sum() + off * (C ** 2).sum() - off * (np.diag(C) ** 2).sum()


def vicreg(F, invariance, variance, covariance):
    total = invariance * ((F[0] - F[1]) ** 2).mean()
    for f in F[:2]:
        C = np.cov(f.T)
        total += variance / 2 * np.maximum(0, 1 - np.sqrt(np.diag(C) + 1e-4)).mean()
        total += covariance / len(C) * ((C ** 2).sum() - (np.diag(C) ** 2).sum())
    return total


VALUES = {
    "softmax": (2, 3, ["--temperature", 0.4, "--epsilon", 0.3],
                lambda ref, F, a: softmax(ref.similarities(F, "cosine"), a, 0.4, 0.3).mean()),
    "spectral": (1, 2, [], lambda ref, F, a: np.mean(
        -2 * ref.similarities(F, "dot")[0] + (ref.similarities(F, "dot")[1:] ** 2).mean(0))),
    "ntxent": (1, 0, ["--temperature", 0.4], lambda ref, F, a: ntxent(ref.directions(F, "cosine"), 0.4)),
    "noncontrastive": (2, 0, [], lambda ref, F, a: ref.linear_loss(F, a)),
    "barlow": (1, 0, ["--off-diagonal", 0.1], lambda ref, F, a: barlow(F, 0.1)),
    "vicreg": (1, 0, ["--invariance", 2, "--variance", 3, "--covariance", 4], lambda ref, F, a: vicreg(F, 2, 3, 4)),
}


@pytest.mark.parametrize("loss", VALUES)
def test_first_loss_of(fit, pairs, start, ref, loss):
    """Each loss is the one of the papers, and its weights arrive from the command line."""
    positives, negatives, args, value = VALUES[loss]
    p, net = pairs(positives=positives, negatives=negatives), start()
    r = fit(*p.flags, "--init", "init.npz", "--epochs", 0, "--loss", loss, *args)
    assert r.history["loss"][0] == pytest.approx(value(ref, ref.outputs(net, p.X), p.signs), rel=1e-11)


def test_scale_unit(fit, pairs, start, ref):
    """--scale unit puts ready pairs on the sphere before anything else."""
    p, net = pairs(scale=5), start()
    r = fit(*p.flags, "--init", "init.npz", "--epochs", 0, "--scale", "unit")
    X = p.X / np.linalg.norm(p.X, axis=-1, keepdims=True)
    assert r.history["loss"][0] == pytest.approx(ref.linear_loss(ref.outputs(net, X), p.signs), abs=1e-12)
    assert json.loads(r.model["config"].item())["unit"] is True


# ---- the descent

def test_one_step_by_hand(fit, pairs, start):
    """F = M^{-1/2} X V'W, L = -1/N sum f_a.(f_+ - f_-): one step of exactly this gradient."""
    p, (V, W) = pairs(), start(width=5)
    r = fit(*p.flags, "--init", "init.npz", "--epochs", 1, "--rate", 0.1, "--activation", "linear",
            "--similarity", "dot")
    a, plus, minus = p.X
    # L = -1/(N M) tr(W W' V S V'), S = 1/2 (C + C'), C = a'(plus - minus)
    C = a.T @ (plus - minus) / (len(a) * 5)
    S = (C + C.T) / 2
    assert r.history["loss"][0] == pytest.approx(-np.trace(W.T @ V @ S @ V.T @ W), abs=1e-12)
    np.testing.assert_allclose(r.model["V"], V + 0.1 * 2 * W @ W.T @ V @ S, rtol=0, atol=1e-12)
    np.testing.assert_allclose(r.model["W"], W + 0.1 * 2 * V @ S @ V.T @ W, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dim", [3, 36, 100])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("similarity, phi", [("cosine", "relu"), ("dot", "tanh")])
def test_five_epochs(fit, pairs, start, ref, dim, depth, similarity, phi):
    """Five epochs are NumPy's, few points in high dimension (rotated) as well as many in low."""
    p, net = pairs(rows=12, dim=dim, scale=dim ** -0.5), start(dim=dim, depth=depth, width=10)
    r = fit(*p.flags, "--init", "init.npz", "--epochs", 5, "--rate", 0.5, "--similarity", similarity,
            "--activation", phi)
    net, losses = ref.descend(net, p.X, p.signs, 0.5, 5, similarity, phi)
    np.testing.assert_allclose(r.history["loss"], losses, rtol=0, atol=1e-11)
    assert_nets_equal(ref.weights(r.model), net, 1e-10)


def test_padding_with_zeros_changes_nothing(fit, pairs, start, save, tmp_path):
    """The same points in R^4 and, with zeros behind, in R^100: the same training."""
    p, (V, W) = pairs(), start()
    low = fit(*p.flags, "--init", "init.npz", "--epochs", 8)
    save(**{f: np.pad(x, ((0, 0), (0, 96))) for f, x in zip(["a", "p0", "n0"], p.X)})
    np.savez(tmp_path / "init.npz", V=np.pad(V, ((0, 0), (0, 96)), constant_values=2.5), W=W)
    high = fit(*p.flags, "--init", "init.npz", "--epochs", 8)
    np.testing.assert_allclose(high.history["loss"], low.history["loss"], rtol=0, atol=1e-11)
    np.testing.assert_allclose(high.model["W"], low.model["W"], rtol=0, atol=1e-11)
    np.testing.assert_allclose(high.model["V"][:, :4], low.model["V"], rtol=0, atol=1e-11)
    np.testing.assert_allclose(high.model["V"][:, 4:], 2.5, rtol=0, atol=1e-11)


@pytest.mark.parametrize("dim", [4, 100])
def test_zero_and_repeated_rows(fit, pairs, start, save, ref, dim):
    """Zero points and points in several parts: stored once, counted as often as they occur."""
    p, net = pairs(dim=dim, scale=dim ** -0.5), start(dim=dim)
    p.X[0, 0] = p.X[2, 3] = 0
    p.X[1, 1] = p.X[0, 1]
    p.X[2] = p.X[0, ::-1]
    save(a=p.X[0], p0=p.X[1], n0=p.X[2])
    r = fit(*p.flags, "--init", "init.npz", "--epochs", 5)
    net, losses = ref.descend(net, p.X, p.signs, 1, 5)
    np.testing.assert_allclose(r.history["loss"], losses, rtol=0, atol=1e-11)
    assert_nets_equal(ref.weights(r.model), net, 1e-10)
    assert r.result["points"] == len(np.unique(p.X.reshape(-1, dim), axis=0))


@pytest.mark.parametrize("batch", [0, 4])
def test_track_looks_at_the_end_of_a_converged_fit(fit, pairs, start, ref, batch):
    """A fit that settles between two looks is looked at where it ends: its weights against the start's."""
    p, net = pairs(rows=8), start(depth=1)
    r = fit(*p.flags, "--init", "init.npz", "--epochs", 500, "--batch", batch, "--track", "weights", "--track-every", 499,
            "--tolerance", 0.5, "--patience", 3, "--rate", 1e-3)
    assert r.result["status"] == "converged" and 3 <= r.result["epochs"] < 499
    V, W = net
    v, w = ref.weights(r.model)
    np.testing.assert_allclose(r.history["w_change"][-1], np.linalg.norm(w - W) / np.linalg.norm(W), rtol=1e-10)
    np.testing.assert_allclose(r.history["v_change"][-1], np.linalg.norm(v - V) / np.linalg.norm(V), rtol=1e-10)
    assert r.history["w_change"][-2] == 0


@pytest.mark.parametrize("dim", [4, 100])
@pytest.mark.parametrize("depth", [1, 2])
def test_track(fit, pairs, start, save, ref, dim, depth):
    """w_change, v_change and rank of every epoch are NumPy's, over the distinct points."""
    p, net = pairs(dim=dim, scale=dim ** -0.5), start(dim=dim, depth=depth)
    p.X[1, :5] = p.X[0, :5]
    save(p0=p.X[1])
    h = fit(*p.flags, "--init", "init.npz", "--epochs", 4, "--track", "weights,rank").history
    X = np.unique(p.X.reshape(-1, dim), axis=0)
    change = lambda now, then: (sum(((a - b) ** 2).sum() for a, b in zip(now, then))
                                / sum((b ** 2).sum() for b in then)) ** 0.5
    for t in range(5):
        now, _ = ref.descend(net, p.X, p.signs, 1, t)
        expected = [change(now[-1:], net[-1:]), change(now[:-1], net[:-1]), ref.rankme(ref.outputs(now, X))]
        np.testing.assert_allclose([h[c][t] for c in ("w_change", "v_change", "rank")], expected, rtol=1e-7, atol=1e-12)


def test_rank_of_batches_is_that_of_all_points(fit, pairs, start, ref):
    """With --batch the rank column still speaks of all distinct points: its last row is the model's."""
    p, _ = pairs(), start()
    r = fit(*p.flags, "--init", "init.npz", "--epochs", 3, "--batch", 4, "--rate", 1e-6, "--track", "rank")
    F = ref.outputs(ref.weights(r.model), p.X.reshape(-1, 4))
    assert r.history["rank"][-1] == pytest.approx(ref.rankme(F), rel=1e-4)


# ---- the same again

@pytest.mark.parametrize("more", [["--data", "digits", "--samples", 50], ["--data", "x.npy", "--batch", 7]])
def test_same_seed_same_bytes(good, rng, save, tmp_path, more):
    """Same seed, options and threads: the same bits, in the model and in the history; else others."""
    points(rng, save)

    def run(seed):
        good("fit", *more, *SMALL, "--epochs", 3, "--track", "weights,rank", "--seed", seed, "--threads", 2,
             "--history", "history.csv")
        return (tmp_path / "model.npz").read_bytes(), (tmp_path / "history.csv").read_bytes()

    first, second, other = run(1), run(1), run(2)
    assert first == second
    assert first[0] != other[0] and first[1] != other[1]


def test_threads_agree(fit, rng, save, ref):
    """The numbers drawn do not depend on the threads, and the sums only in the last digits."""
    points(rng, save)
    one, two = (fit("--data", "x.npy", *SMALL, "--epochs", 5, "--threads", k) for k in (1, 2))
    assert_nets_equal(ref.weights(one.model), ref.weights(two.model), 1e-12)


def test_single_is_double_rounded(fit, rng, save, ref):
    """Both precisions train the same network on the same points."""
    points(rng, save)
    s, d = (fit("--data", "x.npy", *SMALL, "--epochs", 5, precision=p) for p in ("single", "double"))
    assert_nets_equal(ref.weights(s.model), ref.weights(d.model), 1e-4)
    assert s.result["loss"] == pytest.approx(d.result["loss"], abs=1e-5)
    assert s.result["loss"] != d.result["loss"]


# ---- pairs and batches

@pytest.mark.parametrize("pairs_, copies", [("triplet", 2), ("positives", 2), ("all", 2), ("2+3", 3), ("1+0", 2)])
def test_pairs_drawn(fit, rng, save, pairs_, copies):
    """Each way to draw pairs makes the points it says and can be learned from."""
    points(rng, save)
    r = fit("--data", "x.npy", "--pairs", pairs_, *SMALL, "--epochs", 5, "--rate", 0.05)
    assert (r.result["anchors"], r.result["points"]) == (20, 20 * copies)
    assert r.history["loss"][-1] < r.history["loss"][0]


def test_triplet_is_the_default(fit, rng, save):
    """--pairs left out is triplet, but positives where the loss takes no negatives."""
    points(rng, save)
    for loss, pairs_ in [("linear", "triplet"), ("noncontrastive", "positives"), ("barlow", "positives")]:
        common = ["--data", "x.npy", "--loss", loss, *SMALL, "--epochs", 1]
        np.testing.assert_array_equal(fit(*common).history["loss"], fit(*common, "--pairs", pairs_).history["loss"])


def test_all_is_every_other_view(fit, start, save, rng, ref):
    """--pairs all with softmax: 2N - 2 negatives an anchor, by NumPy (the positives equal the points)."""
    X, net = points(rng, save, rows=6), start()
    r = fit("--data", "x.npy", "--augment", "none", "--pairs", "all", "--loss", "softmax", "--init", "init.npz",
            "--epochs", 0)
    U = ref.directions(ref.outputs(net, X), "cosine")
    E = np.exp(U @ U.T / 0.5)
    expected = np.mean(np.log(2 * E.sum(1) - np.diag(E)) - np.log(np.diag(E)))
    assert r.history["loss"][0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("batch", [1, 4, 10])
def test_batch_covers_every_anchor(fit, pairs, start, batch):
    """Row 0 is the mean over the batches at the start; for the linear loss that of all pairs."""
    p, _ = pairs(), start()
    whole, parts = (fit(*p.flags, "--init", "init.npz", "--epochs", 3, "--rate", 0.05, "--batch", b) for b in (0, batch))
    assert parts.history["loss"][0] == pytest.approx(whole.history["loss"][0], abs=1e-12)
    assert len(parts.history["loss"]) == 4 and parts.history["loss"][-1] < parts.history["loss"][0]


def test_batch_of_all_is_no_batch(fit, pairs, start, ref):
    """A batch as large as the pairs, or larger, is the full gradient."""
    p, _ = pairs(), start()
    nets = [ref.weights(fit(*p.flags, "--init", "init.npz", "--epochs", 3, "--batch", b).model) for b in (0, 10, 999)]
    assert_nets_equal(nets[1], nets[0], 0)
    assert_nets_equal(nets[2], nets[0], 0)


def test_batch_steps_are_small_gradients(fit, pairs, start, ref):
    """Batches of one for one epoch at a tiny rate add up to N times the full step."""
    p, net = pairs(), start()
    r = fit(*p.flags, "--init", "init.npz", "--epochs", 1, "--batch", 1, "--rate", 1e-7)
    full, _ = ref.descend(net, p.X, p.signs, 1e-6, 1)
    for found, then, now in zip(ref.weights(r.model), net, full):
        np.testing.assert_allclose((found - then) / 1e-6, (now - then) / 1e-6, rtol=0, atol=1e-4)


@pytest.mark.parametrize("loss", ["ntxent", "barlow", "vicreg"])
def test_a_last_batch_of_one(ep, rng, save, loss):
    """9 anchors in batches of 4: losses over a batch work, or name --batch as what is in the way."""
    points(rng, save, rows=9)
    code, _, err = ep("fit", "--data", "x.npy", "--loss", loss, "--batch", 4, *SMALL, "--epochs", 2)
    assert code == 0 or (code == 2 and "--batch" in err)


# ---- every choice

@pytest.mark.parametrize("option, names", [
    ("loss", LOSSES), ("similarity", ["auto"] + SIMILARITIES), ("activation", ACTIVATIONS), ("method", ["auto", "gd", "alpha", "kernel", "linearised", "grassmann", "iterate", "pca",
                                                                  "infinite", "whitened", "linear"]),
])
def test_choices_are_all_tested(good, option, names):
    """A new loss, similarity, activation or method must come into the tables of this file."""
    line = re.search(rf"^  --{option} .*\n +(\S+)$", good("help", "fit"), re.M)
    assert line.group(1).split("|") == names


@pytest.mark.parametrize("loss, similarity", [(l, s) for l in LOSSES for s in ["auto"] + SIMILARITIES
                                               if (l, s) != ("ntxent", "dot")])
def test_loss_falls(fit, rng, save, loss, similarity):
    """Every loss with every similarity goes down, epoch by epoch, for a small rate."""
    points(rng, save)
    h = fit("--data", "x.npy", "--loss", loss, "--similarity", similarity, *SMALL, "--epochs", 5, "--rate", 0.002).history
    assert (np.diff(h["loss"]) < 0).all()


@pytest.mark.parametrize("activation", ACTIVATIONS + ["leaky:0.3", "monomial:3"])
@pytest.mark.parametrize("depth", [1, 2])
def test_activation_falls(fit, rng, save, activation, depth):
    """Every activation goes down, epoch by epoch, for a small rate."""
    points(rng, save)
    h = fit("--data", "x.npy", "--activation", activation, "--scale", "unit", "--depth", depth, *SMALL,
            "--epochs", 5, "--rate", 0.002).history
    assert (np.diff(h["loss"]) < 0).all()


# ---- how a fit ends

def test_tolerance(fit, rng, save):
    """A loss that has settled stops the descent early, and the status says so."""
    points(rng, save)
    r = fit("--data", "x.npy", *SMALL, "--epochs", 5000, "--rate", 0.5, "--tolerance", 1e-3, "--patience", 5)
    loss = r.history["loss"]
    assert r.result["status"] == "converged" and r.result["epochs"] == len(loss) - 1
    assert 5 <= r.result["epochs"] < 5000
    assert loss[-5:].min() > loss[:-5].min() - 1e-3 * abs(loss[:-5].min())
    assert loss[-1] < loss[0] - 0.1


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("more", [["--rate", 1e6], ["--rate", 1e12], ["--rate", 30, "--epochs", 500], ["--rate", 1e6, "--batch", 7],
                                  ["--rate", 1e6, "--track", "weights,rank"], ["--rate", 1e6, "--depth", 3],
                                  ["--rate", 1e6, "--loss", "spectral", "--activation", "exp"]])
def test_divergence_is_an_outcome(fit, rng, save, more, precision):
    """A rate far too large ends with status diverged, exit 0, and only finite numbers anywhere."""
    points(rng, save)
    r = fit("--data", "x.npy", *SMALL, "--similarity", "dot", "--epochs", 50, *more, precision=precision)
    assert r.result["status"] == "diverged" and r.result["epochs"] < 500
    assert all(np.isfinite(v).all() for k, v in r.model.items() if k != "config")
    assert all(np.isfinite(column).all() for column in r.history.values())
    assert len(r.history["loss"]) >= 1 and np.isfinite(r.result["loss"])


def test_divergence_tells_a_person(good, rng, save):
    """The summary says what to do about it."""
    points(rng, save)
    out = good("fit", "--data", "x.npy", *SMALL, "--similarity", "dot", "--rate", 1e9)
    assert "diverged" in out and "--rate" in out and "nan" not in out.lower()


def test_a_start_that_cannot_be_evaluated(ep, save, tmp_path):
    """Points so large that the first loss overflows: no made-up loss in the result, nothing infinite."""
    save(x=1e38 * np.ones((5, 3)) * np.arange(1, 4))
    code, out, err = ep("fit", "--data", "x.npy", *SMALL, "--similarity", "dot", "--augment", "none", "--json")
    if code == 0:
        result = json.loads(out)
        assert result["status"] == "diverged" and result["loss"] is None and result["start_loss"] is None
    else:
        assert code == 2 and err.count("\n") == 1 and not (tmp_path / "model.npz").exists()


# ---- memory

@pytest.mark.parametrize("depth", [1, 3])
def test_blocks_give_the_same_model(fit, pairs, start, ref, depth):
    """A cap that forces several blocks changes nothing but the last digits."""
    p, _ = pairs(rows=20, dim=8), start(dim=8, width=60, depth=depth)
    common = [*p.flags, "--init", "init.npz", "--epochs", 4, "--threads", 1, "--track", "weights,rank"]
    whole = fit(*common)
    assert whole.result["block"] == 60
    cap, parts = int(whole.result["peak_memory"]), whole
    while parts.result["block"] > 25:
        cap -= 2048
        parts = fit(*common, "--memory", cap)
    np.testing.assert_allclose(parts.history["loss"], whole.history["loss"], rtol=0, atol=1e-12)
    assert_nets_equal(ref.weights(parts.model), ref.weights(whole.model), 1e-12)


@pytest.mark.parametrize("more", [["--outputs", 64], ["--outputs", 16, "--pairs", "all", "--loss", "softmax"],
                                  ["--outputs", 16, "--batch", 20]])
@pytest.mark.parametrize("share", [0.98, 0.9, 0.8, 0.7])
def test_memory_cap_is_kept(ep, rng, save, more, share):
    """A cap below what the work would like is kept or refused: the peak the program reports is not above it."""
    points(rng, save, rows=60, dim=50)
    args = ["fit", "--data", "x.npy", "--width", 64, "--epochs", 2, "--precision", "double", "--threads", 1, "--json", *more]
    cap = int(share * json.loads(ep(*args).out)["peak_memory"])
    code, out, err = ep(*args, "--memory", cap)
    if code == 0:
        assert json.loads(out)["peak_memory"] <= cap
    else:
        assert code == 2 and "--memory" in err


@pytest.mark.parametrize("cap", ["1", "1K", "200K"])
def test_memory_too_small(ep, rng, save, tmp_path, cap):
    """A cap that not even one point fits into is refused in one line."""
    points(rng, save)
    code, out, err = ep("fit", "--data", "x.npy", *SMALL, "--memory", cap, "--threads", 2)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("eigenpair fit: ") and "--memory" in err
    assert [f.name for f in tmp_path.iterdir()] == ["x.npy"]


# ---- images and other files

def test_images_are_on_the_sphere(fit, save, rng, start, ref):
    """(n, h, w) arrays are images: unit norm by default, crops for positives."""
    X, net = rng.random(size=(10, 5, 6)), start(dim=30)
    save(x=X)
    r = fit("--data", "x.npy", "--augment", "none", "--pairs", "positives", "--init", "init.npz", "--epochs", 0)
    F = ref.outputs(net, (lambda Y: Y / np.linalg.norm(Y, axis=1, keepdims=True))(X.reshape(10, 30)))
    assert r.history["loss"][0] == pytest.approx(ref.linear_loss(np.stack([F, F]), [1]), abs=1e-12)
    moved = fit("--data", "x.npy", "--pairs", "positives", "--init", "init.npz", "--epochs", 0)
    assert moved.history["loss"][0] > r.history["loss"][0]


@pytest.mark.parametrize("write", ["x.csv", "x.npz", "x.npz:b", "x32.npy"])
def test_formats_are_the_same_points(fit, tmp_path, rng, write):
    """CSV, .npz, one array of a .npz and float32 give the training of the same .npy."""
    X = rng.integers(-8, 8, size=(10, 3)) / 4
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "x32.npy", X.astype(np.float32))
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    np.savez(tmp_path / "x.npz", **({"b": X, "c": X + 1} if ":" in write else {"b": X}))
    one, two = (fit("--data", d, *SMALL, "--epochs", 2).history["loss"] for d in ("x.npy", write))
    np.testing.assert_array_equal(one, two)


def test_pairs_by_label(good, ep, save, rng, tmp_path):
    """--pairs labels:P+Q (supervised contrastive): labels come apart more than with crops; bad uses are one line."""
    def apart(*words):
        good("fit", "--data", "digits", "--samples", 60, "--width", 50, "--outputs", 5, "--loss", "softmax", "--epochs", 60,
             "--rate", 10, "--out", "m.npz", *words)
        good("embed", "--model", "m.npz", "--data", "digits", "--samples", 60, "--out", "e.npy", "--labels-out", "l.npy")
        E, labels = np.load(tmp_path / "e.npy"), np.load(tmp_path / "l.npy")
        S = np.corrcoef(E)
        same = labels[:, None] == labels
        return S[same].mean() - S[~same].mean()
    assert apart("--pairs", "labels:3+6") > apart() + 0.1
    save(x=rng.normal(size=(8, 3)))
    for words in (["--data", "x.npy", "--pairs", "labels:2+2"], ["--data", "digits", "--pairs", "labels:all"],
                  ["--data", "digits", "--pairs", "labels:2+2", "--augment", "flip"]):
        code, out, err = ep("fit", *words, "--out", "bad.npz")
        assert (code, out) == (2, "") and "labels" in err and err.count("\n") == 1
