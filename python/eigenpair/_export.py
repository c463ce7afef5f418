"""A model elsewhere: as a list of plain operations, and from these as NumPy source, as ONNX, as a PyTorch module.

What can go: networks, patches, stacks. What cannot: models that are a kernel's (kernel, infinite) or a linearised network's."""
from __future__ import annotations

import base64
import math
import os
import struct
from typing import Any, NamedTuple

import numpy as np
from eigenpair._model import Model


class Step(NamedTuple):
    """Rows are (n, k), or (n, places, k) between `windows` and `cells`.

    unit: x / |x|, 0 stays; psi: x / (|x| + number); matmul: x @ A; add: x + a; phi: an activation; contrast: (x - mean) /
    sqrt(variance + number); sides: x and -x beside each other; windows: (n, c h w) -> (n, places, c p p); cells: means over
    the cells of a grid, (n, places, K) -> (n, cells K), or (n, K cells) by the name of `channels`; beside: what each of
    `parts` makes of x, side by side."""

    kind: str
    arrays: dict[str, np.ndarray] = {}
    name: str = ""
    number: float = 0.0
    shape: tuple[int, ...] = ()
    parts: tuple[Any, ...] = ()


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


def _last(W: np.ndarray, scale: float, config: dict[str, Any]) -> list[Step]:
    """Features h -> W'psi: psi = s h, or s h / (s |h| + delta) where outputs are normalised."""
    if not (config.get("normalise") and config.get("cosine")):
        return [Step("matmul", {"A": np.ascontiguousarray(W * W.dtype.type(scale))})]
    return [Step("psi", number=float(config.get("delta", 0.01)) / scale), Step("matmul", {"A": W})]


def _network(arrays: dict[str, np.ndarray], config: dict[str, Any]) -> list[Step]:
    single = "V" in arrays
    depth = 1 if single else sum(n[0] == "V" for n in arrays)
    V = [arrays["V" if single else f"V{i + 1}"] for i in range(depth)]
    b = [arrays.get("b" if single else f"b{i + 1}") for i in range(depth)]
    s, t = _scales(config, [len(v) for v in V], V[0].shape[1])
    steps: list[Step] = []
    for i, phi in enumerate(_activations(config, depth)):
        steps.append(Step("matmul", {"A": np.ascontiguousarray(V[i].T * V[i].dtype.type(s[i]))}))
        steps += _added(b[i], t[i])
        steps.append(_activation(phi))
    steps += _last(arrays["W"], s[-1], config)
    return steps if steps[-2].kind == "psi" else steps + _added(arrays.get("c"), t[-1])


def _added(bias: Any, scale: float) -> list[Step]:
    return [] if bias is None else [Step("add", {"a": bias.reshape(-1) * bias.dtype.type(scale)})]


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
    return [Step("windows", shape=(c, h, w, p)), Step("matmul", {"A": np.ascontiguousarray(F.T)}), *_added(theta, -1),
            Step("phi", name="relu"), Step("cells", {"P": _cells((h - p + 1, w - p + 1), g, F.dtype)}),
            *_last(W, 1 / math.sqrt(len(W)), config)]


def _coder(arrays: dict[str, np.ndarray], number: int, words: list[str], shape: tuple[int, ...],
           level: tuple[float, float]) -> tuple[list[Step], tuple[int, ...]]:
    """A layer of whitened patches (coder_real.c) and the shape of what comes out."""
    mean, zca, F = (arrays[f"{name}{number}"] for name in ("mean", "zca", "F"))
    c, h, w = shape
    p = int(words[0].split("x")[1])
    g = int(next((word[5:] for word in words if word.startswith("pool=")), "3"))
    steps = [Step("windows", shape=(c, h, w, p)), Step("contrast", number=level[0]), *_added(mean, -1),
             Step("matmul", {"A": zca}), Step("unit"), Step("matmul", {"A": np.ascontiguousarray(F.T)})]
    codes = len(F) if "one" in words else 2 * len(F)
    if codes > len(F):
        steps.append(Step("sides"))
    steps += [*_added(np.full(codes, level[1], F.dtype), -1), Step("phi", name="relu")]
    if f"E{number}" in arrays:
        steps += [Step("matmul", {"A": arrays[f"E{number}"]}), *_added(arrays[f"shift{number}"], -1), Step("unit")]
        codes = arrays[f"E{number}"].shape[1]
    steps.append(Step("cells", {"P": _cells((h - p + 1, w - p + 1), g, F.dtype)}, name="channels"))
    return steps, (codes, g, g)


def _stack(arrays: dict[str, np.ndarray], config: dict[str, Any]) -> list[Step]:
    """stack:A/B+C: layers one behind the other, such rows side by side."""
    number, scales = 0, []
    for scale in str(config["stack"]).partition(":")[2].split("+"):
        steps: list[Step] = []
        shape = tuple(config["image_shape"])
        for layer in scale.split("/"):
            more, shape = _coder(arrays, number + 1, layer.split(","), shape, config["stack_levels"][number])
            steps += more
            number += 1
        scales.append(tuple(steps))
    features = list(scales[0]) if len(scales) == 1 else [Step("beside", parts=tuple(scales))]
    return [*features, *_last(arrays["W"], 1 / math.sqrt(len(arrays["W"])), config)]


MAPS = {"network": _network, "patches": _patches, "stack": _stack}


def steps_of(model: Any) -> list[Step]:
    """The operations of a Model or a fitted estimator, in order."""
    model = getattr(model, "model_", model)
    if not isinstance(model, Model):
        raise TypeError(f"a fitted model is wanted, not {type(model).__name__}")
    arrays = model.arrays()
    import json
    config = json.loads(arrays.pop("config").item()) if "config" in arrays else {}
    terms = config.get("terms", ["network"])
    if len(terms) != 1 or terms[0] not in MAPS:
        raise NotImplementedError(f"models of terms {', '.join(terms)} are not exported: networks, patches and stacks are")
    steps = MAPS[terms[0]](arrays, config)
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


class _Source:
    """Constants and lines of a function, one behind the other."""

    def __init__(self) -> None:
        self.constants: list[str] = []
        self.lines: list[str] = []

    def constant(self, a: np.ndarray) -> str:
        name = f"A{len(self.constants)}"
        text = base64.b64encode(np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<")).tobytes()).decode()
        self.constants.append(f"{name} = array({text!r}, {a.shape}, {'<' + a.dtype.str[1:]!r})")
        return name

    def of(self, step: Step) -> list[str]:
        """The lines that do it."""
        a = step.arrays
        if step.kind == "unit":
            return ["length = np.sqrt((x * x).sum(-1, keepdims=True))", "x = x / np.where(length > 0, length, 1)"]
        if step.kind == "psi":
            return [f"x = x / (np.sqrt((x * x).sum(-1, keepdims=True)) + {step.number!r})"]
        if step.kind == "matmul":
            return [f"x = x @ {self.constant(a['A'])}"]
        if step.kind == "add":
            return [f"x = x + {self.constant(a['a'])}"]
        if step.kind == "phi":
            return ["x = " + NUMPY_PHI[step.name].format(p=step.number)]
        if step.kind == "contrast":
            return ["x = x - x.mean(-1, keepdims=True)",
                    f"x = x / np.sqrt((x * x).mean(-1, keepdims=True) + {step.number!r})"]
        if step.kind == "sides":
            return ["x = np.concatenate([x, -x], axis=-1)"]
        if step.kind == "windows":
            c, h, w, p = step.shape
            return [f"x = np.lib.stride_tricks.sliding_window_view(x.reshape(-1, {c}, {h}, {w}), ({p}, {p}), axis=(2, 3))",
                    f"x = x.transpose(0, 2, 3, 1, 4, 5).reshape(-1, {(h - p + 1) * (w - p + 1)}, {c * p * p})"]
        if step.kind == "cells":
            turned = ".transpose(0, 2, 1)" if step.name == "channels" else ""
            return [f"x = ({self.constant(a['P'])} @ x){turned}.reshape(len(x), -1)"]
        return self.beside(step)

    def beside(self, step: Step) -> list[str]:
        out = ["image, parts = x, []"]
        for part in step.parts:
            out += ["x = image", *(line for one in part for line in self.of(one)), "parts.append(x)"]
        return [*out, "x = np.concatenate(parts, axis=1)"]


def to_numpy_source(model: Any) -> str:
    """A Python file that needs NumPy alone and computes the embedding.

    Parameters
    ----------
    model : a Model or a fitted estimator: a network, patches or a stack

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
    source = _Source()
    for step in steps:
        source.lines += source.of(step)
    lines += [*source.constants, "", "", "def embed(X):", f"    x = np.asarray(X, dtype=np.{dtype.name}).reshape(len(X), -1)",
              *("    " + line for line in source.lines), f"    return np.asarray(x, dtype=np.{dtype.name})", ""]
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


def _onnx_length(g: _Graph, axis: int = -1) -> tuple[str, str]:
    """-> x and |x|"""
    start = g.last
    g.add("Mul", start)
    g.add("ReduceSum", g.constant(np.array([axis], np.int64)), keepdims=1)
    return start, g.add("Sqrt")


def _onnx_step(g: _Graph, step: Step) -> None:
    a = step.arrays
    if step.kind == "unit":
        start, length = _onnx_length(g)
        zero = g.add("Equal", g.number(0.0), of=length)
        g.add("Div", g.add("Where", g.number(1.0), length, of=zero), of=start)
    elif step.kind == "psi":
        start, _ = _onnx_length(g)
        g.add("Div", g.add("Add", g.number(step.number)), of=start)
    elif step.kind == "matmul":
        g.add("MatMul", g.constant(a["A"]))
    elif step.kind == "add":
        g.add("Add", g.constant(a["a"]))
    elif step.kind == "phi":
        _onnx_phi(g, step)
    elif step.kind == "contrast":
        _onnx_contrast(g, step.number)
    elif step.kind == "sides":
        start = g.last
        g.add("Concat", g.add("Neg"), of=start, axis=-1)
    elif step.kind == "windows":
        c, h, w, p = step.shape
        every = np.eye(c * p * p, dtype=g.dtype).reshape(-1, c, p, p)  # a window is the responses of one filter a pixel
        g.add("Reshape", g.constant(np.array([-1, c, h, w], np.int64)))
        g.add("Conv", g.constant(every), kernel_shape=[p, p])
        g.add("Reshape", g.constant(np.array([-1, c * p * p, (h - p + 1) * (w - p + 1)], np.int64)))
        g.add("Transpose", perm=[0, 2, 1])
    elif step.kind == "cells":
        g.add("MatMul", g.last, of=g.constant(a["P"]))
        if step.name == "channels":
            g.add("Transpose", perm=[0, 2, 1])
        g.add("Flatten", axis=1)
    else:
        _onnx_beside(g, step)


def _onnx_contrast(g: _Graph, floor: float) -> None:
    x = g.last
    start = g.add("Sub", g.add("ReduceMean", axes=[-1], keepdims=1), of=x)
    g.add("Mul", start)
    g.add("ReduceMean", axes=[-1], keepdims=1)
    g.add("Add", g.number(floor))
    g.add("Div", g.add("Sqrt"), of=start)


def _onnx_beside(g: _Graph, step: Step) -> None:
    image, ends = g.last, []
    for part in step.parts:
        g.last = image
        for one in part:
            _onnx_step(g, one)
        ends.append(g.last)
    g.add("Concat", *ends[1:], of=ends[0], axis=1)


def to_onnx(model: Any, path: Any) -> None:
    """Writes a model as ONNX (opset 13): input x (n, d), output z (n, n_components), in the model's precision.

    Parameters
    ----------
    model : a Model or a fitted estimator: a network, patches or a stack
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
