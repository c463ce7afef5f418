"""The methods that descend with a frozen kernel: against each other, gradient descent and NumPy; stopped and resumed."""
import re
import shlex
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import close, d_linear_loss

# pairs, similarity, loss and a rate at which the loss falls smoothly: beyond it descent with the cosine is chaotic, and
# a start that is off by 1e-15 is elsewhere after 30 epochs
OBJECTIVES = [
    (1, 1, "cosine", "linear", 0.02), (1, 1, "dot", "linear", 0.003), (2, 3, "cosine", "linear", 0.02),
    (1, 1, "cosine", "softmax", 0.02), (1, 2, "dot", "softmax", 0.003), (1, 0, "cosine", "ntxent", 0.02),
    (1, 1, "dot", "spectral", 0.001), (1, 1, "cosine", "spectral", 0.02), (1, 0, "cosine", "noncontrastive", 0.02),
    (1, 0, "dot", "noncontrastive", 0.003),
]
SIZES = {"free": (10, 4, 6), "formed": (3, 40, 100)}  # rows, dim, width: products with J, or K itself


@pytest.fixture
def embed(good, tmp_path):
    def run(X, model="model.npz", precision="double"):
        np.save(tmp_path / "new.npy", X)
        good("embed", "--model", model, "--data", "new.npy", "--out", "e.npy", "--precision", precision)
        return np.load(tmp_path / "e.npy")

    return run


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("p, n, similarity, loss, rate", OBJECTIVES, ids=lambda v: str(v))
def test_kernel_is_linearised(fit, embed, pairs, start, rng, p, n, similarity, loss, rate, depth, size):
    """The two ways to train the same Taylor model: history and embeddings of new points."""
    rows, dim, width = SIZES[size]
    data = pairs(rows=rows, dim=dim, positives=p, negatives=n, scale=2 / np.sqrt(dim))
    start(dim=dim, width=width, depth=depth)
    args = [*data.flags, "--init", "init.npz", "--activation", "tanh" if depth == 3 else "relu", "--epochs", 50,
            "--rate", rate, "--similarity", similarity, "--loss", loss]
    X = np.concatenate([rng.normal(size=(6, dim)), np.zeros((1, dim)), data.X[0]])
    history, E = {}, {}
    for method in "kernel", "linearised":
        r = fit("--method", method, *args)
        assert r.result["status"] == "done" and len(r.history["loss"]) == 51
        history[method], E[method] = r.history["loss"], embed(X)
    a, b = history["kernel"], history["linearised"]
    assert a[-1] < a[0] - 1e-3
    close(a, b, 1e-8)
    close(E["kernel"], E["linearised"], 1e-8)


@pytest.mark.parametrize("method", ["kernel", "linearised"])
@pytest.mark.parametrize("depth", [1, 3])
def test_first_step_is_that_of_gd(fit, pairs, start, method, depth):
    """After one step the network is off its tangent at second order of the rate."""
    p = pairs()
    start(depth=depth, width=40)
    gap = []
    for rate in 1e-2, 1e-3:
        args = [*p.flags, "--init", "init.npz", "--activation", "tanh", "--epochs", 1, "--rate", rate]
        gd, frozen = (fit("--method", m, *args).history["loss"] for m in ("gd", method))
        assert gd[0] == pytest.approx(frozen[0], rel=1e-13)
        gap.append(abs(gd[1] - frozen[1]))
    assert gap[1] > 1e-14 and 80 < gap[0] / gap[1] < 125


def loss_of(E, data, ref):
    return ref.linear_loss(E.reshape(*data.X.shape[:2], -1), data.signs)


@pytest.mark.parametrize("kind", ["linearised", "empirical", "analytic", "analytic, flow", "analytic from a network"])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_points_of_the_training_set(fit, embed, pairs, start, ref, kind, precision):
    """They embed as the outputs that were trained: the loss of their embeddings is the history's last."""
    data = pairs(positives=2, negatives=2)
    start()
    more = {"linearised": ["--method", "linearised", "--width", 30],
            "empirical": ["--method", "kernel", "--width", 30],
            "analytic": ["--method", "kernel", "--kernel", "analytic"],
            "analytic, flow": ["--method", "kernel", "--kernel", "analytic", "--integrator", "flow"],
            "analytic from a network": ["--method", "kernel", "--kernel", "analytic", "--init", "init.npz"]}[kind]
    r = fit(*data.flags, "--outputs", 3, "--rate", 0.2, "--epochs", 20, *more, precision=precision)
    E = embed(data.X.reshape(-1, 4), precision=precision)
    assert loss_of(E, data, ref) == pytest.approx(r.history["loss"][-1], abs=1e-9 if precision == "double" else 1e-4)


def test_close_points_in_single_precision(fit, embed, rng, save):
    """Positives near their anchors make Y0 large and of both signs: the sums still need more than single precision."""
    a = rng.normal(size=(300, 4))
    save(a=a, p=a + 1e-3 * rng.normal(size=a.shape), n=rng.normal(size=a.shape))
    fit("--anchors", "a.npy", "--positives", "p.npy", "--negatives", "n.npy", "--method", "kernel", "--kernel",
        "analytic", "--outputs", 3, "--epochs", 1, precision="single")
    close(embed(a, precision="single"), embed(a), 1e-3)


def test_analytic_from_a_deep_network(fit, embed, pairs, start, ref):
    """--init gives the depth: of the kernel too, in the fit and in the model."""
    data = pairs()
    start(depth=3)
    args = [*data.flags, "--method", "kernel", "--kernel", "analytic", "--init", "init.npz", "--epochs", 5]
    r = fit(*args)
    E = embed(data.X.reshape(-1, 4))
    assert loss_of(E, data, ref) == pytest.approx(r.history["loss"][-1], abs=1e-9)
    np.testing.assert_array_equal(r.history["loss"], fit(*args, "--depth", 3).history["loss"])


def test_empirical_model_by_hand(fit, embed, ntk, pairs, start, ref, rng, save):
    """f_0(x) + sum K(x, x_p) y_p with the kernel of `ntk`, and Y by NumPy's descent."""
    data, net = pairs(positives=2, negatives=1), start()
    m = fit(*data.flags, "--method", "kernel", "--init", "init.npz", "--rate", 0.3, "--epochs", 8)
    X, new = data.X.reshape(-1, 4), rng.normal(size=(5, 4))
    np.testing.assert_array_equal(m.model["X"], X)
    np.testing.assert_array_equal(m.model["V"], net[0])
    save(x=X, y=new)
    K = ntk("--data", "x.npy", "--init", "init.npz")
    F0, Y, losses = ref.outputs(net, X), np.zeros((len(X), 3)), []
    for t in range(9):
        F = (F0 + np.einsum("xyij,yj->xi", K, Y)).reshape(*data.X.shape[:2], 3)
        losses.append(ref.linear_loss(F, data.signs))
        if t < 8:
            Y = Y - 0.3 * d_linear_loss(F, data.signs).reshape(len(X), 3)
    close(m.history["loss"], np.array(losses))
    close(m.model["Y"], Y)
    Kx = ntk("--data", "y.npy", "--data2", "x.npy", "--init", "init.npz")
    close(embed(new), ref.outputs(net, new) + np.einsum("xyij,yj->xi", Kx, Y))


@pytest.mark.parametrize("phi, depth", [("relu", 1), ("erf", 3), ("tanh", 2)])
def test_analytic_model_by_hand(fit, embed, ntk, pairs, ref, rng, save, phi, depth):
    """X, Y, Y0 in the file; F(0) = NNGP Y0, F = F(0) + NTK Y, Y by NumPy's descent."""
    data, new = pairs(), rng.normal(size=(5, 4))
    net = ["--activation", phi, "--depth", depth]
    m = fit(*data.flags, "--method", "kernel", "--kernel", "analytic", *net, "--outputs", 3, "--rate", 0.3,
            "--epochs", 8, "--seed", 2)
    X = data.X.reshape(-1, 4)
    assert {k: v.shape for k, v in m.model.items()} == {"X": (30, 4), "Y": (30, 3), "Y0": (30, 3), "config": ()}
    save(x=X, y=new)
    K, G = (ntk("--data", "x.npy", *net, "--kernel", k) for k in ("analytic", "nngp"))
    F0, Y, losses = G @ m.model["Y0"], np.zeros((30, 3)), []
    for t in range(9):
        F = (F0 + K @ Y).reshape(*data.X.shape[:2], 3)
        losses.append(ref.linear_loss(F, data.signs))
        if t < 8:
            Y = Y - 0.3 * d_linear_loss(F, data.signs).reshape(30, 3)
    close(m.history["loss"], np.array(losses), 1e-8)
    close(m.model["Y"], Y, 1e-8)
    Kx, Gx = (ntk("--data", "y.npy", "--data2", "x.npy", *net, "--kernel", k) for k in ("analytic", "nngp"))
    close(embed(new), Kx @ Y + Gx @ m.model["Y0"], 1e-8)


def test_analytic_start_is_a_gaussian_process(fit, pairs, ntk, save, rng):
    """At the start the outputs are drawn with the NNGP as their covariance."""
    data = pairs(rows=2, positives=1, negatives=0)
    X = data.X.reshape(-1, 4)
    save(x=X)
    G = ntk("--data", "x.npy", "--kernel", "nngp")
    m = fit(*data.flags, "--method", "kernel", "--kernel", "analytic", "--loss", "noncontrastive", "--outputs", 20000,
            "--epochs", 0).model
    F = G @ m["Y0"]
    close(F @ F.T / F.shape[1], G, 0.05)


def test_analytic_has_no_width(fit, pairs):
    """A width whose network no memory holds costs nothing and changes nothing."""
    data = pairs()
    args = [*data.flags, "--method", "kernel", "--kernel", "analytic", "--depth", 3, "--outputs", 3, "--epochs", 20]
    a, b = (fit(*args, "--width", w) for w in (1, 10000000))
    np.testing.assert_array_equal(a.history["loss"], b.history["loss"])
    for name in "X", "Y", "Y0":
        np.testing.assert_array_equal(a.model[name], b.model[name])
    assert a.history["loss"][-1] < a.history["loss"][0]


@pytest.mark.parametrize("kernel", ["empirical", "analytic"])
def test_flow_is_descent_at_a_tiny_rate(fit, pairs, kernel):
    """Same total time; the distance is of first order in the rate."""
    data = pairs()
    args = [*data.flags, "--method", "kernel", "--kernel", kernel, "--width", 20, "--outputs", 3, "--activation",
            "tanh"]
    flow = fit(*args, "--integrator", "flow", "--rate", 0.1, "--epochs", 4).history["loss"]
    assert len(flow) == 5 and (np.diff(flow) < 0).all()
    error = []
    for steps in 50, 100:
        euler = fit(*args, "--rate", 0.1 / steps, "--epochs", 4 * steps).history["loss"]
        error.append(np.abs(euler[::steps] - flow).max())
    assert error[0] < 1e-2 and 1.8 < error[0] / error[1] < 2.2
    fine = fit(*args, "--integrator", "flow", "--rate", 0.1, "--epochs", 4, "--flow-tolerance", 1e-12).history["loss"]
    close(flow, fine, 1e-6)
    one = fit(*args, "--integrator", "flow", "--rate", 0.4, "--epochs", 1).history["loss"]
    assert one[-1] == pytest.approx(flow[-1], abs=1e-6)


@pytest.mark.parametrize("method", ["kernel", "linearised"])
def test_single_precision_training(fit, pairs, method):
    data = pairs()
    args = [*data.flags, "--method", method, "--width", 50, "--outputs", 3, "--rate", 0.3, "--epochs", 30]
    start = fit(*args, "--epochs", 0).model
    assert start["W"].dtype == np.float64
    single, double = (fit(*args, precision=p) for p in ("single", "double"))
    close(single.history["loss"], double.history["loss"], 1e-3)


def test_kernel_in_little_memory(fit, pairs):
    """A kernel that does not fit is not formed; the training is the same."""
    data = pairs(rows=60, dim=150)
    args = [*data.flags, "--method", "kernel", "--width", 150, "--outputs", 4, "--rate", 0.3, "--epochs", 40]
    close(fit(*args, "--memory", "4M").history["loss"], fit(*args).history["loss"], 1e-10)


# ---- work saved

FROZEN = {
    "kernel, free": ["--method", "kernel", "--data", "x.npy"],
    "kernel, formed": ["--method", "kernel", "--data", "few.npy"],
    "analytic": ["--method", "kernel", "--kernel", "analytic", "--data", "x.npy", "--depth", 2],
    "analytic, flow": ["--method", "kernel", "--kernel", "analytic", "--data", "x.npy", "--integrator", "flow"],
    "linearised": ["--method", "linearised", "--data", "x.npy", "--track", "rank"],
    "linearised, double": ["--method", "linearised", "--data", "few.npy", "--precision", "double", "--depth", 2],
}
OPTIONS = ["--width", 24, "--outputs", 3, "--rate", 0.05, "--threads", 2, "--seed", 3]
FILES = ["--checkpoint", "ck.npz", "--every", 1, "--out", "part.npz", "--history", "part.csv"]


@pytest.fixture
def frozen(save, rng, good, tmp_path):
    """Data for the cases; whole(case, epochs) runs without a break -> bytes of model and history."""
    save(x=rng.normal(size=(30, 4)), few=rng.normal(size=(5, 60)))

    def whole(case, epochs):
        good("fit", *FROZEN[case], *OPTIONS, "--epochs", epochs, "--out", "whole.npz", "--history", "whole.csv")
        return results("whole")

    def results(name):
        return tuple((tmp_path / f"{name}.{end}").read_bytes() for end in ("npz", "csv"))

    whole.results = results
    return whole


@pytest.mark.parametrize("case", FROZEN)
def test_frozen_goes_on(good, frozen, tmp_path, case):
    """From the last checkpoint of a finished run to more epochs: the bytes of a run without a break."""
    good("fit", *FROZEN[case], *OPTIONS, "--epochs", 10, *FILES)
    shutil.copy(tmp_path / "ck.npz", tmp_path / "then.npz")
    good("fit", "--resume", "ck.npz", "--epochs", 17, *FILES[4:])
    assert frozen.results("part") == frozen(case, 17)
    good("fit", "--resume", "then.npz", "--epochs", 10, *FILES[4:])
    assert frozen.results("part") == frozen(case, 10)


@pytest.mark.parametrize("case", FROZEN)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda s: s.name)
def test_frozen_is_stopped(call, ep, frozen, tmp_path, case, number):
    """Interrupted or killed at any moment: going on gives the same bytes."""
    epochs = 100000
    args = [*FROZEN[case], *OPTIONS, "--epochs", epochs, *FILES[:2], "--every", 3, *FILES[4:]]
    p = subprocess.Popen(**call("fit", *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "ck.npz").exists() and p.poll() is None and time.monotonic() < end:
            time.sleep(0.001)
        time.sleep(0.01)
        p.send_signal(number)
        out, err = p.communicate(timeout=60)
    finally:
        if p.poll() is None:
            p.kill()
            p.communicate()
    with np.load(tmp_path / "ck.npz") as z:
        done = int(z["state"][0])
    assert 0 < done < epochs and not (tmp_path / "part.npz").exists()
    words = ["fit", "--resume", "ck.npz", *FILES[4:]]
    if number == signal.SIGINT:
        assert (p.returncode, out) == (130, "") and err.count("\n") == 1
        words = shlex.split(re.search(r"go on with: eigenpair (fit .*)$", err.strip()).group(1))
    result = ep(*words, "--epochs", done + 4)
    assert result.code == 0 and result.err == ""
    assert frozen.results("part") == frozen(case, done + 4)


def test_another_method_cannot_go_on(good, ep, frozen):
    good("fit", *FROZEN["kernel, free"], *OPTIONS, "--epochs", 3, *FILES)
    result = ep("fit", "--resume", "ck.npz", "--method", "linearised")
    assert result.code == 2 and "--method" in result.err and result.err.count("\n") == 1
