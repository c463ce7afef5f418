"""Three journeys, each command as it is typed into a shell, counted."""
import csv
import json
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("EIGENPAIR", ROOT / "build/release/eigenpair")).resolve()
MOST = 3


class Shell:
    """A shell in an empty environment that counts what is typed."""

    def __init__(self, folder, **env):
        self.folder, self.typed = folder, []
        self.env = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C", **env}

    def __call__(self, line):
        self.typed.append(line)
        assert len(self.typed) <= MOST, self.typed
        done = subprocess.run(["sh", "-c", line], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout


@pytest.fixture
def shell(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/eigenpair").symlink_to(PROGRAM)
    return Shell(tmp_path)


def test_a_table_with_words_to_a_page(shell, tmp_path):
    """A practitioner: a CSV as a spreadsheet saves it, with a text label, a date, missing values; to a page with the names in it."""
    rng = np.random.default_rng(1)
    kinds = {"adelie": (38, 18, 190), "gentoo": (47, 15, 217), "chinstrap": (49, 18, 196)}
    with open(tmp_path / "birds.csv", "w", newline="") as f:
        out = csv.writer(f, delimiter=";")
        out.writerow(["species", "seen on", "bill length", "bill depth", "flipper"])
        for i in range(240):
            kind = list(kinds)[i % 3]
            values = np.array(kinds[kind]) + rng.normal(size=3) * [2, 0.9, 5]
            row = [f"{v:.1f}".replace(".", ",") for v in values]
            if i % 40 == 7:
                row[1] = ""
            out.writerow([kind, f"2009-11-{1 + i % 28:02}", *row])
    shell("eigenpair fit birds.csv --label-column species --outputs 4 --out birds.npz")
    shell("eigenpair embed birds.csv --model birds.npz --label-column species --out birds.npy")
    said = shell("eigenpair explore birds.csv --label-column species --embedding birds.npy --out birds.html")
    page = (tmp_path / "birds.html").read_text()
    assert all(kind in page for kind in kinds) and "http-equiv" in page and re.search(r"\bsrc=.?https?:", page) is None
    E = np.load(tmp_path / "birds.npy")
    assert E.shape == (240, 4) and np.isfinite(E).all()
    # the closed form keeps what tells the species apart: the nearest centre of a third of the points finds most of the rest
    y = np.arange(240) % 3
    centres = np.array([E[:80][y[:80] == k].mean(0) for k in range(3)])
    found = ((E[80:, None] - centres) ** 2).sum(-1).argmin(1)
    assert (found == y[80:]).mean() > 0.8 and "birds.html" in said


TRAIN = """
import numpy as np
rng = np.random.default_rng(0)
X = rng.normal(size=(20, 5)); Y = np.sin(X[:, :2]); np.save("x.npy", X)
try:
    import torch
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(5, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2)).double()
    steps = torch.optim.SGD(net.parameters(), 0.1)
    for epoch in range(4):
        np.savez(f"epoch-{epoch}.npz", **{k: v.numpy() for k, v in net.state_dict().items()})
        for _ in range(25):
            steps.zero_grad(); ((net(torch.tensor(X)) - torch.tensor(Y)) ** 2).mean().backward(); steps.step()
except ImportError:  # the same network and the same file, by hand
    a, b = rng.uniform(-1, 1, (64, 5)) / 5 ** 0.5, rng.uniform(-1, 1, 64) / 5 ** 0.5
    c, d = rng.uniform(-1, 1, (2, 64)) / 8, rng.uniform(-1, 1, 2) / 8
    for epoch in range(4):
        np.savez(f"epoch-{epoch}.npz", **{"0.weight": a, "0.bias": b, "2.weight": c, "2.bias": d})
        for _ in range(25):
            h = np.tanh(X @ a.T + b); r = 2 * (h @ c.T + d - Y) / Y.size; g = (r @ c) * (1 - h * h)
            a, b, c, d = a - 0.1 * g.T @ X, b - 0.1 * g.sum(0), c - 0.1 * r.T @ h, d - 0.1 * r.sum(0)
"""


def kernel(state, X):
    """The tangent kernel of Linear, Tanh, Linear by the definition: the Jacobian times itself."""
    a, b, c, d = (state[k].astype(float) for k in ("0.weight", "0.bias", "2.weight", "2.bias"))
    J = []
    for x in X:
        h = np.tanh(a @ x + b)
        B = c * (1 - h * h)
        J.append([np.concatenate([np.outer(B[z], x).ravel(), B[z], np.outer(np.eye(2)[z], h).ravel(), np.eye(2)[z]]) for z in range(2)])
    J = np.array(J)
    return np.einsum("xip,yjp->xyij", J, J)


def test_a_network_to_its_kernel_over_training(shell, tmp_path):
    """A researcher: a PyTorch network with biases, saved at every epoch by her own script, to how far its tangent kernel moves."""
    (tmp_path / "train.py").write_text(TRAIN)
    shell("/usr/bin/python3 train.py")
    said = json.loads(shell("eigenpair ntk --drift epoch-*.npz --data x.npy --activation tanh --precision double --json"))
    shell("eigenpair ntk x.npy --init epoch-3.npz --activation tanh --precision double --out K.npy")
    X = np.load(tmp_path / "x.npy")
    K = [kernel(np.load(tmp_path / f"epoch-{i}.npz"), X) for i in range(4)]
    np.testing.assert_allclose(np.load(tmp_path / "K.npy"), K[3], rtol=1e-10, atol=1e-10)
    drifts = [r["relative_frobenius"] for r in said["drifts"]]
    np.testing.assert_allclose(drifts, [np.linalg.norm(k - K[0]) / np.linalg.norm(K[0]) for k in K[1:]], rtol=1e-9)
    assert 0 < drifts[0] < drifts[2]


@pytest.mark.parametrize("env, want", [
    ({}, "the eigenpair authors"),
    ({"DEBFULLNAME": "Ada Lovelace", "DEBEMAIL": "ada@example.org"}, "Ada Lovelace <ada@example.org>"),
    ({"DEBEMAIL": "ada@example.org"}, "<ada@example.org>"),
])
def test_a_package_names_who_built_it(tmp_path, env, want):
    contact = re.search(r'CPACK_PACKAGE_CONTACT "(.*?)"', (ROOT / "CMakeLists.txt").read_text()).group(1)
    (tmp_path / "p.cmake").write_text(f'set(CPACK_PACKAGE_CONTACT "{contact}")\ninclude({ROOT}/tools/cpack.cmake)\n'
                                      'message("${CPACK_PACKAGE_CONTACT}")\n')
    done = subprocess.run(["cmake", "-P", "p.cmake"], cwd=tmp_path, env={"PATH": "/usr/bin:/bin", **env},
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == want + "\n", done


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The .tar.gz as `make packages` makes it."""
    if not (PROGRAM.parent / "CPackConfig.cmake").exists():
        pytest.skip("no package without a build folder")
    folder = tmp_path_factory.mktemp("package")
    # what is built is packed: the generator named is one that builds nothing before
    subprocess.run(["cpack", "-G", "TGZ", "-D", "CPACK_CMAKE_GENERATOR=Ninja", "-B", str(folder), "--config", str(PROGRAM.parent / "CPackConfig.cmake")], check=True,
                   cwd=PROGRAM.parent, capture_output=True, timeout=300)
    return next(folder.glob("*.tar.gz"))


def test_a_c_program_from_a_package(archive, tmp_path):
    """A C programmer: a package, a source file, nothing else of ours on the machine."""
    (tmp_path / "embed.c").write_bytes((ROOT / "examples/embed.c").read_bytes())
    shell = Shell(tmp_path)
    name = archive.name[:-len(".tar.gz")]
    shell(f"tar xzf {archive}")
    shell(f"cc embed.c -o embed $(PKG_CONFIG_PATH={name}/lib/pkgconfig pkg-config --cflags --libs eigenpair) -lm -Wl,-rpath,$PWD/{name}/lib")
    assert "the two views of a point agree" in shell("./embed")
    loaded = subprocess.run(["ldd", "./embed"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert re.search(rf"libeigenpair.so.0 => \S*{name}/lib/libeigenpair", loaded)
    assert re.search(rf"liblapacke.so.3 => \S*{name}/lib/eigenpair/", loaded) and "not found" not in loaded
    # and the program beside it needs nothing from outside of the folder but libc
    outside = subprocess.run(["ldd", f"{name}/bin/eigenpair"], cwd=tmp_path, capture_output=True, text=True).stdout
    paths = re.findall(r"=> (\S+)", outside)
    assert all(name in p or re.search(r"/lib(c|m|dl|pthread|rt)\.so", p) for p in paths) and len(paths) > 10
