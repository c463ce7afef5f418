"""Networks as people have them: biases, layers of unequal width, an activation a layer, the standard parametrisation, state
dicts of PyTorch. Everything against plain NumPy that shares no code with the library."""
import json
from pathlib import Path

import numpy as np
import pytest

PHI = {"tanh": (np.tanh, lambda a: 1 - np.tanh(a) ** 2),
       "relu": (lambda a: np.maximum(a, 0), lambda a: (a > 0) * 1.0)}


def forward(layers, X, phis):
    """outputs, and (input, pre-activation) of every layer; layers: [(weight (out, in), bias or None)], all scales in them"""
    seen, h = [], X
    for i, (V, b) in enumerate(layers):
        a = h @ V.T + (0 if b is None else b)
        seen.append((h, a))
        h = a if i == len(layers) - 1 else PHI[phis[i]][0](a)
    return h, seen


def kernel(layers, X, phis, weight=None, bias=None):
    """K[x, y, i, j] = sum over parameters of df_i(x) df_j(y); weight, bias: squared factors of the parametrisation"""
    n, Z, L = len(X), len(layers[-1][0]), len(layers)
    F, seen = forward(layers, X, phis)
    K = np.zeros((n, n, Z, Z))
    B = np.repeat(np.eye(Z)[None], n, 0)  # df_i / da of the last layer
    for l in reversed(range(L)):
        h, a = seen[l]
        gram = (1 if weight is None else weight[l]) * (h @ h.T)
        if layers[l][1] is not None:
            gram = gram + (1 if bias is None else bias[l])
        K += gram[:, :, None, None] * np.einsum("xim,yjm->xyij", B, B)
        if l:
            B = (B @ layers[l][0]) * PHI[phis[l - 1]][1](seen[l - 1][1])[:, None, :]
    return K


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def refused(ep):
    """Runs the program, which must refuse with one line -> the line."""

    def run(*args):
        result = ep(*args)
        assert result.code == 2 and result.err.count("\n") == 1, result
        return result.err

    return run


@pytest.fixture
def torch_file(save, rng):
    """weights of Linear(5, 7), Tanh, Linear(7, 4, bias=False), Tanh, Linear(4, 3) as PyTorch names them"""
    shapes = [(7, 5), (4, 7), (3, 4)]
    layers = [[rng.normal(size=s) / np.sqrt(s[1]), rng.normal(size=s[0])] for s in shapes]
    layers[1][1] = None
    arrays = {}
    for i, (V, b) in enumerate(layers):
        arrays[f"net.{2 * i}.weight"] = V
        if b is not None:
            arrays[f"net.{2 * i}.bias"] = b
    np.savez("state.npz", **arrays)
    return [tuple(v) for v in layers]


def test_ntk_of_a_state_dict(good, torch_file, save, rng, tmp_path):
    """The tangent kernel of what somebody trained, biases only where it has them, to rounding."""
    X = rng.normal(size=(6, 5))
    save(x=X)
    good("ntk", "--data", "x.npy", "--init", "state.npz", "--activation", "tanh", "--precision", "double", "--out", "K.npy")
    np.testing.assert_allclose(np.load("K.npy"), kernel(torch_file, X, ["tanh", "tanh"]), rtol=1e-11, atol=1e-11)


def test_embedding_of_a_state_dict(good, torch_file, save, rng):
    """embed takes it as a model; relu unless a config says otherwise."""
    X = rng.normal(size=(6, 5))
    save(x=X)
    good("embed", "--data", "x.npy", "--model", "state.npz", "--precision", "double", "--out", "E.npy")
    np.testing.assert_allclose(np.load("E.npy"), forward(torch_file, X, ["relu", "relu"])[0], rtol=1e-12, atol=1e-12)


def test_training_goes_on_from_a_state_dict(good, torch_file, save, rng):
    """fit --init keeps its biases, trains them, writes them; no epoch changes nothing."""
    X = rng.normal(size=(30, 5))
    save(x=X)
    common = ["--data", "x.npy", "--augment", "noise:0.1", "--init", "state.npz", "--activation", "tanh", "--precision",
              "double", "--method", "gd"]
    good("fit", *common, "--epochs", 0, "--out", "same.npz")
    same = np.load("same.npz")
    (V1, b1), (V2, _), (V3, b3) = torch_file
    for name, value in {"V1": V1, "b1": b1, "V2": V2, "W": V3.T, "c": b3}.items():
        np.testing.assert_array_equal(same[name], value)
    assert "b2" not in same and json.loads(same["config"].item())["parametrisation"] == "standard"
    good("fit", *common, "--epochs", 3, "--rate", 0.1, "--out", "moved.npz")
    moved = np.load("moved.npz")
    assert all(np.abs(moved[n] - same[n]).max() > 0 for n in ["V1", "b1", "V2", "W", "c"])
    good("embed", "--data", "x.npy", "--model", "moved.npz", "--precision", "double", "--out", "E.npy")
    layers = [(moved["V1"], moved["b1"]), (moved["V2"], None), (moved["W"].T, moved["c"])]
    np.testing.assert_allclose(np.load("E.npy"), forward(layers, X, ["tanh", "tanh"])[0], rtol=1e-12, atol=1e-12)


def scaled(m, config, depth):
    """a model's layers with the factors of its parametrisation in them, and the squares of those factors"""
    names = ["V"] if depth == 1 else [f"V{i + 1}" for i in range(depth)]
    biases = [n.replace("V", "b") for n in names] + ["c"]
    layers, weight, bias = [], [], []
    for l, name in enumerate(names + ["W"]):
        V = m[name] if l < depth else m[name].T
        last = l == depth
        w = config["last_variance" if last else "weight_variance"] / (V.shape[1] if l else 1)
        t = config["last_bias_variance" if last else "bias_variance"]
        if config["parametrisation"] == "standard":
            w = t = 1
        b = np.sqrt(t) * m[biases[l]] if biases[l] in m else None
        layers.append((np.sqrt(w) * V, b))
        weight.append(w)
        bias.append(t)
    return layers, weight, bias


@pytest.mark.parametrize("words", [
    ["--layers", "7:tanh,4:relu", "--bias-variance", 0.3, "--last-bias-variance", 0.2, "--weight-variance", 1.5],
    ["--layers", "7:tanh,4:relu", "--parametrisation", "standard", "--biases"],
    ["--width", 6, "--depth", 2, "--activation", "tanh", "--bias-variance", 0.1, "--last-variance", 2],
], ids=["ntk", "standard", "one-width"])
def test_drawn_networks(good, save, rng, words):
    """fit, embed, ntk and drift know the same network."""
    X = rng.normal(size=(20, 5))
    save(x=X)
    phis = ["tanh", "tanh"] if "--width" in words else ["tanh", "relu"]
    good("fit", "--data", "x.npy", "--augment", "noise:0.1", "--method", "gd", "--outputs", 3, "--epochs", 4, "--rate", 0.2,
         "--precision", "double", "--track", "ntk,weights", *words)
    m = np.load("model.npz")
    layers, weight, bias = scaled(m, json.loads(m["config"].item()), 2)
    good("embed", "--data", "x.npy", "--precision", "double", "--out", "E.npy")
    np.testing.assert_allclose(np.load("E.npy"), forward(layers, X, phis)[0], rtol=1e-12, atol=1e-12)
    good("ntk", "--data", "x.npy", "--init", "model.npz", "--precision", "double", "--out", "K.npy")
    K = kernel(layers, X, phis, weight, bias)
    # B of the NumPy kernel holds the factors of the layers above already
    np.testing.assert_allclose(np.load("K.npy"), K, rtol=1e-10, atol=1e-11)
    good("fit", "--data", "x.npy", "--augment", "noise:0.1", "--method", "gd", "--outputs", 3, "--epochs", 0, "--precision",
         "double", "--out", "start.npz", *words)
    start = np.load("start.npz")
    first = scaled(start, json.loads(start["config"].item()), 2)
    d = json.loads(good("ntk", "--drift", "start.npz", "model.npz", "--data", "x.npy", "--precision", "double", "--json"))
    assert d["max"] == pytest.approx(np.abs(K - kernel(first[0], X, phis, *first[1:])).max(), rel=1e-8)


@pytest.mark.parametrize("method", ["pca", "whitened", "grassmann", "iterate", "linearised", "kernel"])
@pytest.mark.parametrize("words", [["--bias-variance", 0.3, "--last-bias-variance", 0.5, "--layers", "30:tanh,20"],
                                   ["--parametrisation", "standard", "--biases", "--layers", "30:tanh,20"]], ids=["ntk", "standard"])
def test_every_method_takes_them(good, save, rng, words, method):
    """What is kept is the network that was drawn; embedding by hand gives what embed gives."""
    X = rng.normal(size=(40, 5))
    save(x=X)
    good("fit", "--data", "x.npy", "--augment", "noise:0.1", "--method", method, "--outputs", 3, "--epochs", 2, "--rate", 0.1,
         "--precision", "double", *words)
    good("embed", "--data", "x.npy", "--precision", "double", "--out", "E.npy")
    E, m = np.load("E.npy"), np.load("model.npz")
    assert E.shape == (40, 3) and np.isfinite(E).all()
    if method in ("linearised", "kernel"):
        return
    layers, _, _ = scaled(m, json.loads(m["config"].item()), 2)
    F = forward(layers, X, ["tanh", "relu"])[0] - (m["offset"] if "offset" in m else 0)
    np.testing.assert_allclose(E, F, rtol=1e-9, atol=1e-10)
    assert np.abs(m["c"]).max() == 0


def test_analytic_kernel_is_the_limit(good, save, rng):
    """Empirical kernels of wide networks with biases come close to the analytic one of the same options."""
    save(x=rng.normal(size=(5, 6)))
    words = ["--data", "x.npy", "--bias-variance", 0.4, "--last-bias-variance", 0.3, "--weight-variance", 1.5, "--precision", "double"]
    good("ntk", *words, "--kernel", "analytic", "--layers", "9:tanh,9:relu", "--out", "A.npy")
    gaps = []
    for width in 64, 4096:
        K = []
        for seed in range(4):
            good("ntk", *words, "--layers", f"{width}:tanh,{width}:relu", "--outputs", 2, "--layout", "trace", "--seed", seed, "--out", "K.npy")
            K.append(np.abs(np.load("K.npy") - np.load("A.npy")).mean() / np.abs(np.load("A.npy")).mean())
        gaps.append(np.mean(K))
    assert gaps[1] < 0.04 and gaps[1] < gaps[0] / 3


def test_from_torch(good, refused, torch_file, save, rng):
    """--init FILE --from torch: a state dict as before, and nothing else; --from FILE goes on meaning sums."""
    save(x=rng.normal(size=(6, 5)))
    np.savez("ours.npz", V=np.ones((7, 5)), W=np.ones((7, 3)))
    for command, out in (["ntk"], "K.npy"), (["fit", "--method", "gd", "--augment", "noise:0.1", "--epochs", 2], "m.npz"):
        for more in [], ["--from", "torch"]:
            good(*command, "--data", "x.npy", "--init", "state.npz", *more, "--out", f"{len(more)}{out}")
        assert Path("0" + out).read_bytes() == Path("2" + out).read_bytes()
        assert "no state dict" in refused(*command, "--data", "x.npy", "--init", "ours.npz", "--from", "torch")
        assert "give --init" in refused(*command, "--data", "x.npy", "--from", "torch")
    assert "torch.npz" in refused("fit", "--from", "torch.npz")


def test_flags_beside_a_state_dict(good, refused, torch_file, save, rng):
    """fit and ntk alike: what its weights contradict is refused, what they are is not."""
    save(x=rng.normal(size=(6, 5)))
    np.savez("all.npz", **{"0.weight": np.ones((7, 5)), "0.bias": np.ones(7), "2.weight": np.ones((3, 7)), "2.bias": np.ones(3)})
    for command, out in ((["fit", "--method", "gd", "--epochs", 0], "m.npz"), (["ntk"], "m.npy")):
        command += ["--data", "x.npy", "--out", out]
        assert "a state dict of PyTorch is standard" in refused(*command, "--init", "all.npz", "--parametrisation", "ntk")
        assert "state.npz, whose layer 2 has none" in refused(*command, "--init", "state.npz", "--biases")
        made = []
        for more in [], ["--biases"], ["--parametrisation", "standard"], ["--parametrisation", "standard", "--biases"]:
            good(*command, "--init", "all.npz", *more)
            with np.load(out) if out == "m.npz" else open(out, "rb") as f:
                made.append([f[k].tobytes() for k in f.files if k != "config"] if out == "m.npz" else f.read())
        assert all(m == made[0] for m in made)


@pytest.mark.parametrize("words, part", [
    (["--init", "more.npz"], "holds scale"),
    (["--init", "odd.npz"], "no part of a chain of Linear layers"),
    (["--init", "state.npz", "--width", 500], "--width 500 does not go with state.npz"),
    (["--init", "state.npz", "--depth", 7], "--depth 7 does not go with"),
    (["--init", "state.npz", "--layers", "7,5"], "other widths"),
    (["--init", "chain.npz"], "takes 6 numbers, the layer before it gives 7"),
    (["--init", "bias.npz"], "should be 1 x 7"),
    (["--init", "one.npz"], "one layer"),
    (["--layers", "5,relu"], "'relu' is no layer"),
    (["--biases"], "--bias-variance"),
    (["--kernel", "analytic", "--parametrisation", "standard"], "grows with the width"),
])
def test_bad_networks(refused, torch_file, save, rng, words, part):
    """One line that says what is wrong; nothing in a file is passed over in silence."""
    save(x=rng.normal(size=(4, 5)))
    V, W, b = np.ones((7, 5)), np.ones((7, 3)), np.ones(6)
    np.savez("more.npz", V=V, W=W, scale=b)
    np.savez("odd.npz", **{"0.weight": V, "1.running_mean": b, "2.weight": W.T})
    np.savez("chain.npz", **{"0.weight": V, "2.weight": np.ones((3, 6))})
    np.savez("bias.npz", V=V, W=W, b=b)
    np.savez("one.npz", **{"0.weight": V})
    assert part in refused("ntk", "--data", "x.npy", *words)


def test_settings_of_init_hold(good, save, rng):
    """fit --init takes activation and parametrisation from the model it begins with, unless flags say otherwise."""
    X = rng.normal(size=(20, 5))
    save(x=X)
    first = ["--data", "x.npy", "--augment", "noise:0.1", "--method", "gd", "--epochs", 0, "--precision", "double"]
    good("fit", *first, "--activation", "tanh", "--width", 6, "--outputs", 2, "--parametrisation", "standard", "--biases", "--out", "a.npz")
    good("fit", *first, "--init", "a.npz", "--out", "b.npz")
    config = json.loads(np.load("b.npz")["config"].item())
    assert config["activation"] == "tanh" and config["parametrisation"] == "standard"
    good("fit", *first, "--init", "a.npz", "--activation", "erf", "--out", "c.npz")
    assert json.loads(np.load("c.npz")["config"].item())["activation"] == "erf"
