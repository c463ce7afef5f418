"""PyTorch, both ways, and onnxruntime: packages of PyPI (make test-python-peers)."""
import eigenpair as ep
import numpy as np
import pytest
from conftest import EXPORTED, exported

torch = pytest.importorskip("torch")
nn = torch.nn
PHI = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU, "leaky": lambda: nn.LeakyReLU(0.2),
       "linear": nn.Identity}
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


def nets(dtype):
    torch.manual_seed(0)
    for name, phi in PHI.items():
        yield name, nn.Sequential(nn.Linear(12, 30), phi(), nn.Linear(30, 3)).to(dtype)
    yield "no biases", nn.Sequential(nn.Linear(12, 30, bias=False), nn.Tanh(), nn.Linear(30, 3, bias=False)).to(dtype)
    yield "deep", nn.Sequential(nn.Flatten(), nn.Linear(12, 20), nn.Tanh(), nn.Sequential(nn.Linear(20, 7), nn.ReLU()),
                                nn.Linear(7, 11, bias=False), nn.GELU(), nn.Linear(11, 2)).to(dtype)


def functional_ntk(module, x, y):
    """As functorch has it: Jacobians with respect to every parameter, summed."""
    parameters = {k: v.detach() for k, v in module.named_parameters()}

    def f(p, a):
        return torch.func.functional_call(module, p, a.unsqueeze(0)).squeeze(0)

    jx = torch.func.vmap(torch.func.jacrev(f), (None, 0))(parameters, x)
    jy = torch.func.vmap(torch.func.jacrev(f), (None, 0))(parameters, y)
    return sum(torch.einsum("xip,yjp->xyij", jx[k].flatten(2), jy[k].flatten(2)) for k in parameters).numpy()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_from_torch(dtype):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(9, 12))).to(dtype)
    y = torch.from_numpy(rng.normal(size=(5, 12))).to(dtype)
    for name, module in nets(dtype):
        model, tolerance = ep.from_torch(module), TOLERANCE[dtype]
        with torch.no_grad():
            expected = module(x).numpy()
        np.testing.assert_allclose(model.embed(x), expected, rtol=tolerance, atol=tolerance, err_msg=name)
        K = functional_ntk(module, x, y)
        for net in (model, module):
            np.testing.assert_allclose(ep.ntk(net, x, y), K, rtol=0, atol=tolerance * np.abs(K).max(), err_msg=name)
        trace = ep.ntk(model, x, y, layout="trace")
        np.testing.assert_allclose(trace, np.einsum("xyii->xy", K) / K.shape[2], rtol=0, atol=tolerance * np.abs(K).max())


@pytest.mark.parametrize("module", [nn.Sequential(nn.Conv2d(1, 2, 3)), nn.Linear(3, 2),
                                    nn.Sequential(nn.Linear(3, 4), nn.ReLU()),
                                    nn.Sequential(nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 2)),
                                    nn.Sequential(nn.Linear(3, 4), nn.GELU(approximate="tanh"), nn.Linear(4, 2))])
def test_unknown_layers(module):
    with pytest.raises(ValueError, match="from_torch reads|a hidden layer at least"):
        ep.from_torch(module)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_other_precisions(dtype):
    with pytest.raises(ValueError, match=f"{dtype}.*float32 and float64"):
        ep.from_torch(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).to(dtype))


def test_to_torch():
    seen = 0
    for name, model, X in exported():
        with torch.no_grad():
            found = ep.to_torch(model)(torch.from_numpy(X)).numpy()
        expected = model.transform(X)
        assert found.dtype == expected.dtype
        tolerance = 2e-5 if X.dtype == np.float32 else 1e-10
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max(), err_msg=name)
        seen += 1
    assert seen == EXPORTED


def test_to_torch_has_gradients():
    _, model, X = next(exported())
    module = ep.to_torch(model)
    module(torch.from_numpy(X)).sum().backward()
    assert all(p.grad is not None for p in module.parameters()) and len(list(module.parameters())) == 2


def test_tensors_are_arrays():
    X = np.random.default_rng(0).normal(size=(30, 4))
    model = ep.Contrastive(method="pca", n_components=2, width=20)
    np.testing.assert_array_equal(model.fit(torch.from_numpy(X)).transform(torch.from_numpy(X)), model.fit_transform(X))


def test_onnx(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    seen = 0
    for name, model, X in exported():
        path = tmp_path / "model.onnx"
        ep.to_onnx(model, path)
        try:
            session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        except Exception as e:
            # the runtime has no kernels in double for some functions: the model in single has to do
            assert "NOT_IMPLEMENTED" in str(e) and X.dtype == np.float64, (name, e)
            single = model.model_.astype(np.float32)
            ep.to_onnx(single, path)
            session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            X = X.astype(np.float32)
        expected = model.transform(X)
        tolerance = 5e-5 if X.dtype == np.float32 else 1e-10
        found = session.run(None, {"x": X})[0]
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max(), err_msg=name)
        seen += 1
    assert seen == EXPORTED


@pytest.mark.parametrize("order", [("torch", "eigenpair"), ("eigenpair", "torch")])
def test_import_orders(order):
    """Two OpenMPs and two BLAS in one process: right numbers, and threads that do not multiply."""
    import subprocess
    import sys
    code = f"""
import {order[0]}
import {order[1]}
import numpy as np, torch, eigenpair as ep, os
X = np.random.default_rng(0).normal(size=(400, 30))
for _ in range(3):
    a = torch.from_numpy(X) @ torch.from_numpy(X).T
    torch.linalg.eigh(a)
    Z = ep.Contrastive(method="pca", width=300, n_components=3).fit_transform(X)
    np.linalg.eigh(X @ X.T)
print(len(os.listdir("/proc/self/task")) <= 4 * os.cpu_count() + 4, np.isfinite(Z).all())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "True True\n", done.stderr
