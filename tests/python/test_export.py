"""Models elsewhere: NumPy source, ONNX. What needs PyPI is in peers/."""
import os
import subprocess
import sys

import eigenpair as ep
import numpy as np
import pytest
from conftest import EXPORTED, exported
from eigenpair import _export


def test_numpy_source():
    seen = 0
    for name, model, x in exported():
        space = {}
        exec(ep.to_numpy_source(model), space)
        tolerance = 2e-5 if x.dtype == np.float32 else 1e-10
        expected = model.transform(x)
        found = space["embed"](x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max(), err_msg=name)
        seen += 1
    assert seen == EXPORTED


def test_source_needs_numpy_alone(tmp_path, X):
    model = ep.Contrastive(method="pca", n_components=2, width=20, scale="unit").fit(X)
    (tmp_path / "embedding.py").write_text(ep.to_numpy_source(model))
    np.save(tmp_path / "x.npy", X)
    code = ("import sys, numpy as np; sys.path.insert(0, '.'); from embedding import embed; "
            "np.save('z.npy', embed(np.load('x.npy'))); assert 'eigenpair' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), model.transform(X), rtol=1e-10, atol=1e-12)


def fields(data):
    """A message of protocol buffers -> [(field number, value)]"""
    at, out = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            out.append((key >> 3, varint()))
        else:
            size = 4 if key & 7 == 5 else varint()
            out.append((key >> 3, data[at:at + size]))
            at += size
    return out


def test_onnx_is_a_message(tmp_path):
    """As far as it can be seen without onnxruntime: graph, constants, and every input of a node made before it."""
    for name, model, _ in exported():
        path = tmp_path / "model.onnx"
        ep.to_onnx(model, path)
        graph = dict(fields(path.read_bytes()))[7]
        parts = fields(graph)
        made = {"x", *(dict(fields(v))[8].decode() for k, v in parts if k == 5)}
        for k, node in parts:
            if k == 1:
                inside = fields(node)
                assert {v.decode() for n, v in inside if n == 1} <= made, name
                made |= {v.decode() for n, v in inside if n == 2}
        assert "z" in made
        assert not os.path.exists(f"{path}.tmp")


def test_what_cannot_go(X):
    for options in (dict(method="infinite"), dict(method="kernel", epochs=1, width=20), dict(method="linearised", epochs=1)):
        model = ep.Contrastive(n_components=2, **options).fit(X)
        with pytest.raises(NotImplementedError, match="networks, patches and stacks are"):
            ep.to_numpy_source(model)
    with pytest.raises(TypeError, match="a fitted model"):
        ep.to_numpy_source(3)


class Layer:
    """As a module of PyTorch looks to from_torch."""

    def __init__(self, **values):
        self.__dict__.update(values)


def layer(kind, **values):
    return type(kind, (Layer,), {})(**values)


def test_unknown_layers():
    conv = layer("Sequential", children=lambda: [layer("Conv2d")])
    with pytest.raises(ValueError, match="layer 0 is Conv2d"):
        ep.from_torch(conv)
    with pytest.raises(ValueError, match="a hidden layer at least"):
        ep.from_torch(layer("Sequential", children=lambda: [layer("Linear")]))


def test_grids_of_unequal_cells():
    P = _export._cells((7, 5), 3, np.float64)
    assert P.shape == (9, 35) and np.allclose(P.sum(1), 1) and np.allclose((P > 0).sum(0), 1)
