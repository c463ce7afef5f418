"""`eigenpair ntk` at infinite width: against published numbers, NumPy, and wide networks."""
import numpy as np
import pytest
from conftest import ACTIVATIONS, assert_kernel, close

PUBLISHED = {  # relu, weight variance 2, unit vectors at correlation 0, 1/2, 1
    1: (0.318309886, 0.942331114, 2),
    2: (0.685708636, 1.351479561, 3),
    3: (1.060388107, 1.737844679, 4),
    4: (1.430390497, 2.107112538, 5),
}


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("depth", PUBLISHED)
def test_published_relu(ntk, save, depth, precision):
    save(x=np.array([[1.0, 0]]), y=np.array([[0, 1.0], [0.5, 0.75**0.5], [1, 0]]))
    args = ["--kernel", "analytic", "--depth", depth, "--weight-variance", 2]
    K = ntk("--data", "x.npy", "--data2", "y.npy", *args, precision=precision)
    np.testing.assert_allclose(K, [PUBLISHED[depth]], rtol=0, atol=1e-9 if precision == "double" else 1e-6)
    assert ntk("--data", "x.npy", *args)[0, 0] == pytest.approx(depth + 1, abs=1e-12)


def arc_cosine(X, Y, depth, w=1.0, b=0.0, s=1.0, last=1.0):
    """NNGP and NTK of relu by the formula of section 4 -> two matrices"""
    C, A, B = w * s * s * X @ Y.T + b, *(w * s * s * (Z * Z).sum(1) + b for Z in (X, Y))
    theta = C
    for l in range(depth):
        root = np.sqrt(np.outer(A, B))
        c = np.clip(C / np.where(root > 0, root, 1), -1, 1)
        t = np.arccos(c)
        S, slope = root * (np.sin(t) + (np.pi - t) * c) / (2 * np.pi), (np.pi - t) / (2 * np.pi)
        k, bias = (last, 0) if l == depth - 1 else (w, b)
        theta, C, A, B = k * (S + theta * slope) + bias, k * S + bias, k * A / 2 + bias, k * B / 2 + bias
    return C, theta


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("more", [
    {}, {"w": 2.0}, {"w": 1.5, "b": 0.3}, {"s": 6**-0.5, "last": 0.7}, {"w": 2.0, "b": 0.1, "s": 6**-0.5, "last": 3.0},
], ids=["default", "w", "w,b", "s,o", "all"])
def test_relu_is_its_formula(ntk, save, rng, depth, more):
    """Both kernels, with a zero point, a repeated one, and norms from 1e-3 to 1e3."""
    X, Y = rng.normal(size=(20, 6)), rng.normal(size=(15, 6))
    X *= 10 ** rng.uniform(-3, 3, size=(20, 1))
    X[7], Y[4] = 0, X[3]
    save(x=X, y=Y)
    names = {"w": "--weight-variance", "b": "--bias-variance", "last": "--last-variance"}
    args = [v for k, n in names.items() if k in more for v in (n, more[k])] + ["--input-scale"] * ("s" in more)
    for kernel, want in zip(("nngp", "analytic"), arc_cosine(X, Y, depth, **more)):
        got = ntk("--data", "x.npy", "--data2", "y.npy", "--kernel", kernel, "--depth", depth, *args)
        scale = np.sqrt(np.outer((X * X).sum(1) + 1e-3, (Y * Y).sum(1) + 1e-3))  # arccos in NumPy: 1e-8 near 1
        assert np.abs((got - want) / scale).max() < 1e-7
        far = np.ones_like(got, bool)
        far[3, 4] = False
        assert np.abs((got - want) / scale)[far].max() < 1e-12


def test_linear_is_the_gram_matrix(ntk, save, rng):
    X = rng.normal(size=(8, 3))
    save(x=X)
    for depth in 1, 4:
        args = ["--data", "x.npy", "--activation", "linear", "--depth", depth]
        close(ntk(*args, "--kernel", "nngp"), X @ X.T, 1e-13)
        close(ntk(*args, "--kernel", "analytic"), (depth + 1) * X @ X.T, 1e-13)


@pytest.mark.parametrize("kernel", ["analytic", "nngp"])
@pytest.mark.parametrize("phi", ACTIVATIONS)
def test_every_activation_at_infinite_width(ntk, save, rng, phi, kernel):
    """Zero, repeated and opposite points: finite, symmetric, positive; two sets agree with one."""
    X = rng.normal(size=(24, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[5], X[9], X[13] = 0, X[2], -X[2]
    save(x=X)
    args = ["--data", "x.npy", "--kernel", kernel, "--activation", phi]
    for depth in 1, 2 if phi == "exp" else 3:  # the third exponential of an exponential is too large
        K = ntk(*args, "--depth", depth)
        assert K.shape == (24, 24) and np.isfinite(K).all() and K.any()
        assert_kernel(K)
        np.testing.assert_allclose(K[9], K[2], rtol=1e-12, atol=1e-14)
        assert K[9, 2] == pytest.approx(K[2, 2], rel=1e-12)
        close(ntk(*args, "--depth", depth, "--data2", "x.npy"), K, 1e-12)
        close(ntk(*args, "--depth", depth, precision="single"), K, 1e-5 if phi == "exp" else 1e-6)


@pytest.mark.parametrize("kernel", ["analytic", "nngp"])
def test_points_of_note(ntk, save, kernel):
    """relu: nothing at zero and at antipodes, twice the norm is twice the kernel."""
    u = np.array([0.6, 0, 0.8])
    save(x=np.array([u, u, -u, 0 * u, 2 * u, 1e150 * u, -1e150 * u]))
    K = ntk("--data", "x.npy", "--kernel", kernel)
    own = {"analytic": 1.0, "nngp": 0.5}[kernel]
    assert np.isfinite(K).all() and not K[3].any()
    np.testing.assert_allclose(K[:2, :2], own, rtol=1e-14)
    np.testing.assert_allclose(K[0, [2, 4, 5]], [0, 2 * own, 1e150 * own], rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(K[5, 5], 1e300 * own, rtol=1e-14)
    assert abs(K[5, 6]) < 1e285


@pytest.mark.parametrize("phi", ["relu", "leaky", "tanh", "sigmoid", "erf", "linear", "gelu", "sin", "cos", "csoftplus"])
def test_huge_norms(ntk, save, rng, phi):
    """Bounded activations saturate, the others grow with the norm; all stay finite."""
    X = rng.normal(size=(6, 4)) * 10.0 ** np.array([0, 3, 6, 9, 12, 15])[:, None]
    save(x=X)
    for kernel in "analytic", "nngp":
        for precision in "double", "single":
            K = ntk("--data", "x.npy", "--kernel", kernel, "--activation", phi, "--depth", 2, precision=precision)
            assert np.isfinite(K).all()
            np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize("phi", ["relu", "tanh"])
def test_wide_networks_tend_to_infinite_width(ntk, save, rng, phi):
    X = rng.normal(size=(6, 4)) / 2
    save(x=X)
    args = ["--data", "x.npy", "--activation", phi]
    limit = ntk(*args, "--kernel", "analytic")
    miss = {m: np.mean([np.abs(ntk(*args, "--width", m, "--outputs", 2, "--seed", s, "--layout", "full") -
                               limit[:, :, None, None] * np.eye(2)).max() for s in range(3)]) for m in (200, 20000)}
    assert miss[20000] < miss[200] / 3 and miss[20000] < 0.1 * limit.max()


def test_depth_of_a_wide_network(ntk, save, rng):
    """Three layers, NTK and the covariance of outputs alike: closer than at one or five."""
    save(x=rng.normal(size=(6, 4)))
    K = np.mean([ntk("--data", "x.npy", "--width", 1000, "--depth", 3, "--layout", "trace", "--seed", s)
                 for s in range(2)], axis=0)
    error = {d: np.abs(K - ntk("--data", "x.npy", "--kernel", "analytic", "--depth", d)).max() for d in (2, 3, 4)}
    assert min(error, key=error.get) == 3 and error[3] < 0.2 * K.max()
