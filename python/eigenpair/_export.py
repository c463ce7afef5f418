"""A model elsewhere: as a list of plain operations, and from these as NumPy source, as ONNX, as a PyTorch module.

What can go: networks, patches. What cannot: models that are a kernel's (kernel, infinite) or a linearised network's."""
from __future__ import annotations

import base64
import math
import os
import struct
from typing import Any, NamedTuple

import numpy as np
from eigenpair._model import Model


class Step(NamedTuple):
    """unit: x / |x|; matmul: x @ A; add: x + a; phi: an activation; patches: (n, c h w) -> (n, places, K) responses; cells:
    (n, places, K) -> (n, cells K) means over the cells of a grid."""

    kind: str
    arrays: dict[str, np.ndarray] = {}
    name: str = ""
    number: float = 0.0


def _activation(text: str) -> Step:
    name, _, parameter = text.partition(":")
    default = {"leaky": 0.01, "monomial": 2.0}.get(name, 0.0)
    return Step("phi", name=name, number=float(parameter) if parameter else default)


def _activations(config: dict[str, Any], depth: int) -> list[str]:
    """Of each hidden layer: `layers` (512,256:tanh) before `activation`."""
    one = str(config.get("activation", "relu"))
    listed = [w for w in str(config.get("layers", "")).split(",") if w]
    return [w.partition(":")[2] or one for w in listed] if len(listed) == depth else [one] * depth


def _scales(config: dict[str, Any], widths: list[int], inputs: int) -> tuple[list[float], list[float]]:
    """s and t of every layer and of the outputs (network.h)."""
    first = 1 / math.sqrt(inputs) if config.get("input_scale") else 1.0
    depth = len(widths)
    if config.get("parametrisation") == "standard":
        return [1.0] * (depth + 1), [1.0] * (depth + 1)
    w, o = float(config.get("weight_variance", 1)), float(config.get("last_variance", 1))
    b, last = float(config.get("bias_variance", 0)), float(config.get("last_bias_variance", 0))
    s = [first * math.sqrt(w), *(math.sqrt(w / m) for m in widths[:-1]), math.sqrt(o / widths[-1])]
    return s, [math.sqrt(b) if b > 0 else 1.0] * depth + [math.sqrt(last) if last > 0 else 1.0]


def _network(arrays: dict[str, np.ndarray], config: dict[str, Any]) -> list[Step]:
    single = "V" in arrays
    depth = 1 if single else sum(n[0] == "V" for n in arrays)
    V = [arrays["V" if single else f"V{i + 1}"] for i in range(depth)]
    b = [arrays.get("b" if single else f"b{i + 1}") for i in range(depth)] + [arrays.get("c")]
    s, t = _scales(config, [len(v) for v in V], V[0].shape[1])
    phi = _activations(config, depth)
    steps: list[Step] = []
    for i, A in enumerate([*(v.T for v in V), arrays["W"]]):
        steps.append(Step("matmul", {"A": np.ascontiguousarray(A * A.dtype.type(s[i]))}))
        bias = b[i]
        if bias is not None:
            steps.append(Step("add", {"a": (bias.reshape(-1) * bias.dtype.type(t[i]))}))
        if i < depth:
            steps.append(_activation(phi[i]))
    return steps


def _cells(places: tuple[int, int], grid: int, dtype: Any) -> np.ndarray:
    """(g^2, places): the mean over the places of each cell."""
    down, across = places
    P = np.zeros((grid, grid, down, across), dtype)
    for u in range(grid):
        for v in range(grid):
            rows = slice(u * down // grid, (u + 1) * down // grid)
            columns = slice(v * across // grid, (v + 1) * across // grid)
            P[u, v, rows, columns] = 1 / P[u, v, rows, columns].size
    return P.reshape(grid * grid, down * across)


def _patches(arrays: dict[str, np.ndarray], config: dict[str, Any]) -> list[Step]:
    c, h, w = config["image_shape"]
    p, g = config["patch_size"], config["patch_grid"]
    F, theta, W = arrays["F"], arrays["theta"], arrays["W"]
    shape = np.array([c, h, w, p], np.int64)
    return [Step("patches", {"F": F.reshape(len(F), c, p, p), "theta": theta.reshape(-1), "shape": shape}),
            Step("phi", name="relu"),
            Step("cells", {"P": _cells((h - p + 1, w - p + 1), g, F.dtype)}),
            Step("matmul", {"A": W * W.dtype.type(1 / math.sqrt(len(W)))})]


def steps_of(model: Any) -> list[Step]:
    """The operations of a Model or a fitted estimator, in order."""
    model = getattr(model, "model_", model)
    if not isinstance(model, Model):
        raise TypeError(f"a fitted model is wanted, not {type(model).__name__}")
    arrays = model.arrays()
    import json
    config = json.loads(arrays.pop("config").item()) if "config" in arrays else {}
    terms = config.get("terms", ["network"])
    if config.get("normalise"):
        raise NotImplementedError("a model whose outputs are normalised is not exported")
    if terms == ["network"]:
        steps = _network(arrays, config)
    elif terms == ["patches"]:
        steps = _patches(arrays, config)
    else:
        raise NotImplementedError(f"models of terms {', '.join(terms)} are not exported: networks and patches are")
    if model.unit:
        steps.insert(0, Step("unit"))
    if "offset" in arrays:
        steps.append(Step("add", {"a": -arrays["offset"].reshape(-1).astype(model.dtype)}))
    return steps


# ---- NumPy

NUMPY_PHI = {"relu": "np.maximum(x, 0)", "leaky": "np.where(x > 0, x, {p!r} * x)", "tanh": "np.tanh(x)",
             "sigmoid": "1 / (1 + np.exp(-x))", "erf": "erf(x)", "linear": "x", "gelu": "x * (1 + erf(x / np.sqrt(2))) / 2",
             "sin": "np.sin(x)", "cos": "np.cos(x)", "monomial": "x ** {p:g}", "exp": "np.exp(x)",
             "csoftplus": "2 * (np.logaddexp(0, x) - np.log(2))"}


def _numpy_line(step: Step, i: int) -> list[str]:
    if step.kind == "unit":
        return ["length = np.sqrt((x * x).sum(1, keepdims=True))", "x = x / np.where(length > 0, length, 1)"]
    if step.kind == "matmul":
        return [f"x = x @ A{i}"]
    if step.kind == "add":
        return [f"x = x + a{i}"]
    if step.kind == "phi":
        return ["x = " + NUMPY_PHI[step.name].format(p=step.number)]
    if step.kind == "patches":
        c, h, w, p = step.arrays["shape"].tolist()
        return [f"x = x.reshape(len(x), {c}, {h}, {w})",
                f"x = np.lib.stride_tricks.sliding_window_view(x, ({p}, {p}), axis=(2, 3))",
                f"x = np.einsum('nchwab,kcab->nhwk', x, F{i}, optimize=True) - theta{i}",
                "x = x.reshape(len(x), -1, x.shape[-1])"]
    return [f"x = (P{i} @ x).reshape(len(x), -1)"]


def to_numpy_source(model: Any) -> str:
    """A Python file that needs NumPy alone and computes the embedding.

    Parameters
    ----------
    model : a Model or a fitted estimator: a network or patches

    Returns
    -------
    the text of the file, which has a function embed(X)

    Examples
    --------
    >>> import numpy as np, eigenpair as ep
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> model = ep.Contrastive(method="pca", n_components=2, width=20).fit(X)
    >>> space = {}
    >>> exec(ep.to_numpy_source(model), space)
    >>> bool(np.allclose(space["embed"](X), model.transform(X), rtol=1e-10))
    True
    """
    steps = steps_of(model)
    dtype = getattr(model, "model_", model).dtype
    lines = ['"""An embedding, by eigenpair.to_numpy_source. embed(X): (n, d) -> (n, z)."""', "import base64", "",
             "import numpy as np", "", "",
             "def array(text, shape, kind):",
             "    return np.frombuffer(base64.b64decode(text), kind).reshape(shape)", "", ""]
    if any(s.name in ("erf", "gelu") for s in steps):
        lines += ["erf = np.vectorize(__import__('math').erf, otypes=[float])", ""]
    body: list[str] = []
    for i, step in enumerate(steps):
        for name, a in step.arrays.items():
            if name != "shape":
                text = base64.b64encode(np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<")).tobytes()).decode()
                lines.append(f"{name}{i} = array({text!r}, {a.shape}, {'<' + a.dtype.str[1:]!r})")
        body += _numpy_line(step, i)
    lines += ["", "", "def embed(X):", f"    x = np.asarray(X, dtype=np.{dtype.name}).reshape(len(X), -1)",
              *("    " + line for line in body), f"    return np.asarray(x, dtype=np.{dtype.name})", ""]
    return "\n".join(lines)


# ---- ONNX: its protocol buffers, as far as they are needed here

def _varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append((n & 127) | (128 if n > 127 else 0))
        n >>= 7
        if not n:
            return bytes(out)


def _field(number: int, value: Any) -> bytes:
    """A field of a message: a whole number, a float, a text, or bytes (a message)."""
    if isinstance(value, bool) or isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


ONNX_TYPES = {"float32": 1, "float64": 11, "int64": 7}


def _tensor(name: str, a: np.ndarray) -> bytes:
    """TensorProto: dims 1, data_type 2, name 8, raw_data 9."""
    raw = np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<")).tobytes()
    return b"".join(_field(1, int(d)) for d in a.shape) + _field(2, ONNX_TYPES[a.dtype.name]) + _field(8, name) + \
        _field(9, raw)


def _node(op: str, inputs: list[str], output: str, **attributes: Any) -> bytes:
    """NodeProto: input 1, output 2, op_type 4, attribute 5 (name 1, f 2, i 3, ints 8, type 20)."""
    out = b"".join(_field(1, i) for i in inputs) + _field(2, output) + _field(4, op)
    for name, value in attributes.items():
        if isinstance(value, float):
            body = _field(1, name) + _field(2, value) + _field(20, 1)
        elif isinstance(value, int):
            body = _field(1, name) + _field(3, value) + _field(20, 2)
        else:
            body = _field(1, name) + b"".join(_field(8, int(v)) for v in value) + _field(20, 7)
        out += _field(5, body)
    return out


def _value(name: str, kind: str, width: int) -> bytes:
    """ValueInfoProto of an (n, width) tensor."""
    shape = _field(1, _field(2, "n")) + _field(1, _field(1, width))
    return _field(1, name) + _field(2, _field(1, _field(1, ONNX_TYPES[kind]) + _field(2, shape)))


class _Graph:
    """Nodes and constants, one behind the other."""

    def __init__(self, dtype: Any):
        self.dtype = np.dtype(dtype)
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []
        self.last = "x"

    def constant(self, a: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(_tensor(name, np.asarray(a)))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.array(value, self.dtype))

    def add(self, op: str, *more: str, of: Any = None, **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(_node(op, [of or self.last, *more], name, **attributes))
        self.last = name
        return name


ONNX_PHI = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "erf": "Erf", "sin": "Sin", "cos": "Cos", "exp": "Exp",
            "linear": "Identity"}


def _onnx_phi(g: _Graph, step: Step) -> None:
    start = g.last
    if step.name in ONNX_PHI:
        g.add(ONNX_PHI[step.name])
    elif step.name == "leaky":
        g.add("LeakyRelu", alpha=float(step.number))
    elif step.name == "gelu":
        g.add("Mul", g.number(1 / math.sqrt(2)))
        g.add("Erf")
        g.add("Add", g.number(1.0))
        g.add("Mul", g.number(0.5))
        g.add("Mul", start)
    elif step.name == "csoftplus":
        g.add("Softplus")
        g.add("Sub", g.number(math.log(2)))
        g.add("Mul", g.number(2.0))
    else:
        for _ in range(int(step.number) - 1):
            g.add("Mul", start)


def _onnx_step(g: _Graph, step: Step) -> None:
    a = step.arrays
    if step.kind == "unit":
        start = g.last
        g.add("Mul", start)
        g.add("ReduceSum", g.constant(np.array([1], np.int64)), keepdims=1)
        length = g.add("Sqrt")
        zero = g.add("Equal", g.number(0.0), of=length)
        g.nodes.append(_node("Where", [zero, g.number(1.0), length], f"{length}w"))
        g.add("Div", f"{length}w", of=start)
    elif step.kind == "matmul":
        g.add("MatMul", g.constant(a["A"]))
    elif step.kind == "add":
        g.add("Add", g.constant(a["a"]))
    elif step.kind == "phi":
        _onnx_phi(g, step)
    elif step.kind == "patches":
        c, h, w, p = a["shape"].tolist()
        K = len(a["F"])
        g.add("Reshape", g.constant(np.array([-1, c, h, w], np.int64)))
        g.add("Conv", g.constant(a["F"]), g.constant(-a["theta"]), kernel_shape=[p, p])
        g.add("Reshape", g.constant(np.array([-1, K, (h - p + 1) * (w - p + 1)], np.int64)))
        g.add("Transpose", perm=[0, 2, 1])
    else:
        cells = g.constant(a["P"])
        g.nodes.append(_node("MatMul", [cells, g.last], f"t{len(g.nodes)}"))
        g.last = f"t{len(g.nodes) - 1}"
        g.add("Flatten", axis=1)


def to_onnx(model: Any, path: Any) -> None:
    """Writes a model as ONNX (opset 13): input x (n, d), output z (n, n_components), in the model's precision.

    Parameters
    ----------
    model : a Model or a fitted estimator: a network or patches
    path : of the file

    Examples
    --------
    >>> import numpy as np, eigenpair as ep, tempfile, os
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> model = ep.Contrastive(method="pca", n_components=2, width=20).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ep.to_onnx(model, os.path.join(folder, "model.onnx"))
    ...     os.path.getsize(os.path.join(folder, "model.onnx")) > 1000
    True
    """
    steps = steps_of(model)
    own = getattr(model, "model_", model)
    graph = _Graph(own.dtype)
    for step in steps:
        _onnx_step(graph, step)
    graph.nodes.append(_node("Identity", [graph.last], "z"))
    kind = own.dtype.name
    body = b"".join(_field(1, n) for n in graph.nodes) + _field(2, "eigenpair") + \
        b"".join(_field(5, c) for c in graph.constants) + _field(11, _value("x", kind, own.n_features_in)) + \
        _field(12, _value("z", kind, own.n_components))
    data = _field(1, 7) + _field(2, "eigenpair") + _field(7, body) + _field(8, _field(1, "") + _field(2, 13))
    temporary = f"{os.fspath(path)}.tmp"
    with open(temporary, "wb") as file:
        file.write(data)
    os.replace(temporary, path)
