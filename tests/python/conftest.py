"""The installed module, small data, and the program beside it."""
import json
import os
import pathlib
import subprocess

import eigenpair as ep
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("EIGENPAIR", ROOT / "build/release/eigenpair")).resolve()


@pytest.fixture
def program(tmp_path):
    """Runs the program in tmp_path with --json -> what it says."""

    def run(*args):
        done = subprocess.run([str(PROGRAM), *map(str, args), "--json"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def X():
    return np.random.default_rng(1).normal(size=(60, 12))


@pytest.fixture
def images():
    """(40, 8, 8) bytes: blobs at different places."""
    rng = np.random.default_rng(2)
    y, x = np.mgrid[:8, :8]
    centres = rng.uniform(1, 7, size=(40, 2))
    return np.array([255 * np.exp(-((y - a) ** 2 + (x - b) ** 2) / 4) for a, b in centres]).astype(np.uint8)


PHI = ["relu", "leaky:0.2", "tanh", "sigmoid", "erf", "linear", "gelu", "sin", "cos", "monomial:3", "exp", "csoftplus"]
STACKS = ["stack:8x3,pool=2", "stack:8x3,one,near=1,keep=4,pool=2", "stack:6x3,near=1,keep=5,pool=4/7x2,pool=2",
          "stack:6x3,pool=2+5x2,one,pool=3/4x2,near=1,keep=3,pool=2"]


def exported():
    """(name, estimator, points): a model of every kind that can leave, in both precisions."""
    rng = np.random.default_rng(1)
    X, pixels = rng.normal(size=(60, 12)), rng.uniform(size=(50, 128))
    for phi in PHI:
        yield phi, ep.Contrastive(method="pca", n_components=3, width=20, activation=phi).fit(X), X
    yield "deep", ep.Contrastive(method="gd", width=16, depth=3, epochs=2, n_components=3, input_scale=True).fit(X), X
    yield "biases", ep.Contrastive(method="gd", layers="9:tanh,7", biases=True, bias_variance=0.5, epochs=2,
                                   n_components=3).fit(X), X
    yield "whitened", ep.Contrastive(method="whitened", width=30, n_components=3, scale="unit").fit(X), X
    yield "line", ep.Contrastive(method="linear", n_components=3, epochs=2, rate=0.1).fit(X), X
    single = X.astype(np.float32)
    yield "single", ep.Contrastive(method="gd", width=16, epochs=2, n_components=3).fit(single), single
    for features in ["patches:12,3,2", *STACKS]:
        for similarity in ("cosine", "dot"):
            images = ep.Contrastive(method="whitened", features=features, n_components=3, image_shape=(2, 8, 8),
                                    similarity=similarity, scale="raw")
            yield f"{features} {similarity}", images.fit(pixels), pixels
        yield f"single {features}", images.fit(pixels.astype(np.float32)), pixels.astype(np.float32)


EXPORTED = len(PHI) + 5 + 3 * 5
