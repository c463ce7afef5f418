"""The installed module, small data, and the program beside it."""
import json
import os
import pathlib
import subprocess

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
