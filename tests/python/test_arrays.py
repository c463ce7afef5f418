"""Arrays in and out; what is no array, or a bad one; the process around them."""
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import eigenpair as ep
import numpy as np
import pytest


def small(**options):
    return ep.Contrastive(**{"method": "pca", "n_components": 2, "width": 30, **options})


def test_layouts_and_types(X):
    """Every kind of array gives the bits of its plain copy; the type of the input is kept."""
    model = small().fit(X)
    expected = model.transform(X)
    assert expected.dtype == np.float64 and model.transform(X.astype(np.float32)).dtype == np.float32
    wide = np.zeros((60, 30))
    wide[:, ::2][:, :12] = X
    for same in (np.asfortranarray(X), wide[:, ::2][:, :12], X.tolist(), X.astype(">f8"), X.astype(object)):
        np.testing.assert_array_equal(small().fit(same).transform(same), expected)
    whole = np.round(10 * X)
    np.testing.assert_array_equal(small().fit(whole.astype(np.int32)).transform(whole.astype(np.int8)),
                                  small().fit(whole).transform(whole))


def test_memory_map_and_read_only(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(small(scale="unit").fit(mapped).transform(mapped),
                                  small(scale="unit").fit(X).transform(X))


def test_input_is_left_alone(X):
    before = X.copy()
    small(scale="unit").fit(X).transform(X)
    ep.Contrastive(width=20, epochs=2).fit(X)
    np.testing.assert_array_equal(X, before)


class Capsule:
    """DLPack, and nothing else."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, stream=None):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def test_dlpack(X):
    np.testing.assert_array_equal(small().fit(Capsule(X)).transform(Capsule(X)), small().fit(X).transform(X))


def with_value(X, value):
    X = X.copy()
    X[3, 4] = value
    return X


BAD = {
    "nan": (lambda X: with_value(X, np.nan), ValueError, r"NaN \(first at \(3, 4\)\)"),
    "inf": (lambda X: with_value(X, np.inf), ValueError, r"infinity"),
    "1d": (lambda X: X[0], ValueError, "Expected 2D array"),
    "0d": (lambda X: 3.0, ValueError, "Expected 2D array"),
    "5d": (lambda X: X.reshape(60, 1, 1, 3, 4), ValueError, "5 dimensions"),
    "empty": (lambda X: X[:0], ValueError, "0 sample"),
    "one": (lambda X: X[:1], ValueError, "1 sample"),
    "no columns": (lambda X: X[:, :0], ValueError, "0 feature"),
    "complex": (lambda X: X + 1j, ValueError, "Complex data not supported"),
    "text": (lambda X: np.full((5, 3), "a"), ValueError, "could not convert"),
    "objects": (lambda X: np.full((5, 3), object()), TypeError, "float"),
    "ragged": (lambda X: [[1, 2], [3]], ValueError, "."),
    "none": (lambda X: None, (ValueError, TypeError), "."),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays(case, X):
    make, error, message = BAD[case]
    with pytest.raises(error, match=message):
        small().fit(make(X))
    if case != "one":
        with pytest.raises(error, match=message):
            small().fit(X).transform(make(X))
    small().fit(X)


def test_sparse(X):
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="sparse"):
        small().fit(sparse.csr_matrix(X))


@pytest.mark.parametrize("options, message", [
    (dict(n_components=500), "outputs|n_components|500"),
    (dict(method="whitened", image_shape=(3, 5)), "image_shape 3x5 makes 15 pixels"),
    (dict(augment="crop"), "crop"),
    (dict(features="patches:8,3,2"), "patches|image"),
    (dict(method="pca", track="ntk"), "track"),
    (dict(pairs="positives", views=3), "pairs or views, not both"),
    (dict(method="whitened", pairs="triplet"), "views R or pairs positives"),
    (dict(init={"V": np.zeros((3, 12))}), "W is not there"),
    (dict(init={"V": np.zeros((3, 12)), "W": np.zeros((4, 2))}), "layer 1 has 3 units, but the next one takes 4"),
    (dict(init={"V": np.zeros((3, 12)), "W": np.zeros((3, 2)), "q": 1}), "no q"),
    (dict(activation="leaky:x"), "leaky"),
    (dict(memory="1K"), "memory"),
])
def test_bad_settings(options, message, X):
    with pytest.raises((ValueError, MemoryError), match=message):
        small(**options).fit(X)


def test_bad_groups_and_pairs(X):
    with pytest.raises(ValueError, match="one group a row"):
        small().fit(X, groups=[1, 2])
    with pytest.raises(ValueError, match="no group has two rows"):
        small().fit(X, groups=np.arange(60))
    with pytest.raises(ValueError, match="do not go with groups"):
        small(augment="noise:0.1").fit(X, groups=np.arange(60) // 2)
    with pytest.raises(ValueError, match="row by row"):
        small().fit_pairs(X[:10], X[:9])
    with pytest.raises(ValueError, match="need positives"):
        small().fit_pairs(X[:10], None)


def test_files(tmp_path, X):
    with pytest.raises(FileNotFoundError, match="nosuch.npz"):
        ep.load(tmp_path / "nosuch.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK nothing")
    with pytest.raises(ValueError, match="bad.npz"):
        ep.load(tmp_path / "bad.npz")
    with pytest.raises((OSError, ValueError), match="no/such"):
        small().fit(X).save(tmp_path / "no/such/model.npz")


def test_divergence_is_a_warning(X):
    with pytest.warns(ep.ConvergenceWarning, match="diverged at epoch .*: lower rate"):
        model = ep.Contrastive(rate=1e12, epochs=50, width=20, loss="spectral").fit(100 * X)
    assert model.status_ == "diverged" and np.isfinite(model.transform(X)).all()


# ---- the process

def hear_interrupts():
    """Also where the tests run behind a script, whose shell has them ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_python(code, **more):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, preexec_fn=hear_interrupts,
                          **more)


def test_import_brings_little():
    """Heavy packages are imported by those who use them (how long it takes is in bench/python.py)."""
    heavy = ["torch", "pandas", "matplotlib", "tqdm", "onnx"]
    code = f"import sys, eigenpair; print([m for m in {heavy} if m in sys.modules])"
    assert run_python(code).stdout.strip() == "[]"


def test_threads_do_not_meet(X):
    """Fits in several threads at once give what they give alone."""
    seeds = list(range(4))
    alone = [ep.Contrastive(width=40, epochs=20, random_state=s).fit_transform(X) for s in seeds]
    found = [None] * 4

    def one(s):
        found[s] = ep.Contrastive(width=40, epochs=20, random_state=s).fit_transform(X)

    threads = [threading.Thread(target=one, args=(s,)) for s in seeds]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for a, b in zip(alone, found):
        np.testing.assert_array_equal(a, b)


def test_the_lock_is_free(X):
    """Another thread of Python goes on while the library works."""
    turns = []
    thread = threading.Thread(target=lambda: ep.Contrastive(width=500, epochs=60).fit(np.tile(X, (5, 1))))
    thread.start()
    while thread.is_alive():
        turns.append(time.monotonic())
        time.sleep(0.001)
    assert len(turns) > 10


def test_a_thread_stays(X):
    """Calls one after the other go to one thread of ours, which holds nothing of theirs."""
    def ours():
        return sum(t.name == "eigenpair" for t in threading.enumerate())

    ep.analytic_kernel(X)
    before = ours()
    points = np.ones((20, 3))
    found = weakref.ref(points)
    for _ in range(5):
        ep.analytic_kernel(points)
        ep.ntk(ep.Contrastive(width=5, epochs=1).fit(X), X)
    assert ours() == before >= 1
    del points
    gc.collect()
    assert found() is None


def test_fork(X):
    """A forked process works, after its parent has."""
    expected = small().fit(X).transform(X)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, b"1" if (small().fit(X).transform(X) == expected).all() else b"0")
        finally:
            os._exit(0)
    os.close(write)
    assert os.read(read, 1) == b"1"
    os.waitpid(child, 0)


def test_interrupt(tmp_path):
    """Ctrl-C is a KeyboardInterrupt, and leaves a checkpoint that a fit goes on from to the same bits."""
    options = dict(method="gd", width=100, epochs=1500, n_components=3)
    where = str(tmp_path / "c.npz")
    code = f"""
import os, signal, time
import numpy as np, eigenpair as ep
def slow(self, what, done, total):  # an epoch cannot be the last before the signal has come
    if done:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
ep._core.Progress.__call__ = slow
X = np.random.default_rng(0).normal(size=(100, 10))
try:
    ep.Contrastive(**{options}, checkpoint={where!r}, verbose=True).fit(X)
except KeyboardInterrupt:
    print("stopped", flush=True)
    os._exit(0)
"""
    done = run_python(code)
    assert done.stdout == "stopped\n", done.stderr
    X = np.random.default_rng(0).normal(size=(100, 10))
    resumed = ep.Contrastive(**options, resume=where).fit(X)
    whole = ep.Contrastive(**options).fit(X)
    np.testing.assert_array_equal(resumed.transform(X), whole.transform(X))
    np.testing.assert_array_equal(resumed.history_, whole.history_)


def test_interrupted_again_and_again():
    """However often Ctrl-C is pressed, the library's work is waited for: it may be writing a checkpoint."""
    done = run_python("""
import os, signal, time
import eigenpair as ep
ended = []
def body():
    for _ in range(2000):
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)
    ended.append(True)
stop = ep._core.ffi.new("int *")
asked = ep._core._wait(body, stop)
print(asked, stop[0], ended)
""")
    assert done.stdout == "True 1 [True]\n", done.stderr


LONG = {
    "gd": 'ep.Contrastive(method="gd", width=6000, epochs=10).fit(X)',  # seconds an epoch
    "linearised": 'ep.Contrastive(method="linearised", width=6000, epochs=10).fit(X)',
    "whitened": 'ep.Contrastive(method="whitened", width=6000, n_components=32).fit(X)',
    "infinite": 'ep.Contrastive(method="infinite", n_components=32).fit(X)',
    "ntk": 'ep.ntk({"V": X[:3000], "W": X[:3000, :10]}, X, layout="trace")',
    "analytic_kernel": 'ep.analytic_kernel(X, depth=9, activation="tanh")',
    "neighbours": '[ep.neighbours(X, 10) for _ in range(100)]',
}


@pytest.fixture(scope="module")
def interrupted():
    """Each of them asked to stop, in one process -> seconds of the processor that it took, as text; the process."""
    done = run_python(f"""
import os, signal, threading, time
import numpy as np, eigenpair as ep
X = np.random.default_rng(0).normal(size=(6000, 784)).astype(np.float32)
def ask(asked):
    time.sleep(0.7)
    asked.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
for what, work in {LONG}.items():
    asked = []
    asking = threading.Thread(target=ask, args=[asked])
    asking.start()
    try:
        while True:
            exec(work)
    except KeyboardInterrupt:
        print(what, time.process_time() - asked[0], flush=True)
    asking.join()
""")
    return dict(line.split() for line in done.stdout.splitlines()), done


@pytest.mark.parametrize("what", LONG)
def test_interrupt_is_prompt(interrupted, what):
    """Also in the middle of an epoch or a product of many seconds: after a second and a half of the processor's time at most,
    which is this process's own however busy the machine is."""
    seconds, done = interrupted
    assert what in seconds and float(seconds[what]) < 1.5, done


def test_interrupt_in_the_middle(tmp_path):
    """Stopped anywhere, also within an epoch, the checkpoint is that of the last whole step: going on gives the same bits."""
    X = np.random.default_rng(0).normal(size=(1500, 300)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    options = dict(method="gd", width=1500, epochs=6, n_components=3)
    whole = ep.Contrastive(**options).fit(X)
    done = run_python(f"""
import os, signal, threading, time
import numpy as np, eigenpair as ep
X = np.load("x.npy")
stopped = 0
for i, wait in enumerate([*np.linspace(0.05, 0.5, 6), 1, 2, 4, 8]):  # longer ones for machines with other work
    if stopped and i >= 6:
        break
    model = ep.Contrastive(**{options}, checkpoint=f"c{{i}}.npz")
    asking = threading.Thread(target=lambda: (time.sleep(wait), os.kill(os.getpid(), signal.SIGINT)))
    asking.start()
    try:
        model.fit(X)
        asking.join()
        time.sleep(1)
    except KeyboardInterrupt:
        pass
    asking.join()
    stopped += os.path.exists(f"c{{i}}.npz")  # not before the first step, nor after the last
""", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    left = sorted(tmp_path.glob("c*.npz"))
    for where in left:
        resumed = ep.Contrastive(**options, resume=str(where)).fit(X)
        np.testing.assert_array_equal(resumed.transform(X), whole.transform(X))
        np.testing.assert_array_equal(resumed.history_, whole.history_)
    assert left


@pytest.mark.parametrize("first", ["import numpy; numpy.ones((300, 300)) @ numpy.ones((300, 300))", "import eigenpair"])
def test_beside_numpys_blas(first):
    code = f"""
{first}
import numpy as np, eigenpair as ep, os
X = np.random.default_rng(0).normal(size=(300, 20))
for _ in range(3):
    Z = ep.Contrastive(method="pca", width=300, n_components=3).fit_transform(X)
    A = X.T @ X
    np.linalg.eigh(A)
print(len(os.listdir("/proc/self/task")) <= 2 * os.cpu_count() + 2, np.isfinite(Z).all())
"""
    done = run_python(code)
    assert done.stdout == "True True\n", done.stderr


def test_memory_is_given_back():
    """Many fits, embeddings and failures leave nothing behind."""
    code = """
import numpy as np, eigenpair as ep, gc
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
X = np.random.default_rng(0).normal(size=(500, 50))
def once():
    m = ep.Contrastive(method="pca", width=1000, n_components=3).fit(X)
    m.transform(X)
    try:
        ep.Contrastive(method="pca", width=1000, n_components=3, pairs="nonsense").fit(X)
    except ValueError:
        pass
def after(fits):
    for _ in range(fits):
        once()
    gc.collect()
    return resident()
before = after(10)
for _ in range(3):  # a pool of the allocator may be full at one look
    grown = after(10) - before
    if grown < 25e6:
        break
print(grown)
"""
    grown = float(run_python(code).stdout)
    assert grown < 25e6, "a model has 1000 x 50 doubles and features of 500 x 1000: a leak of one would be 40 MB"


def test_memory_that_is_not_there():
    """An allocation that the system refuses is a MemoryError, and the interpreter lives on."""
    done = run_python("""
import resource, numpy as np, eigenpair as ep
X = np.random.default_rng(0).normal(size=(30, 300))
ep.Contrastive(method="pca", width=20, n_components=2, threads=1).fit(X)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + 2**31, resource.RLIM_INFINITY))
try:
    ep.Contrastive(width=10**7, memory="1000G", threads=1).fit(X)
except MemoryError as e:
    print("MemoryError", bool(str(e)))
print(ep.Contrastive(method="pca", width=20, n_components=2, threads=1).fit(X).status_)
""")
    assert done.stdout == "MemoryError True\nconverged\n", done


def test_subinterpreters_are_refused():
    done = run_python("""
import eigenpair
try:
    import _interpreters as sub  # since Python 3.13, where what went wrong is handed back
except ImportError:
    import _xxsubinterpreters as sub
one = sub.create()
try:
    wrong = sub.exec(one, "import eigenpair") if hasattr(sub, "exec") else sub.run_string(one, "import eigenpair")
    print("refused: " + wrong.formatted if wrong else "imported")
except Exception as e:
    print("refused:", e)
print(eigenpair.Contrastive(width=5, epochs=1).fit([[1.0], [2.0]]).status_)
""")
    lines = done.stdout.splitlines()
    assert lines and lines[0].startswith("refused:") and "main interpreter of a process" in lines[0], done
    assert lines[1] == "done"


TQDM = """
class tqdm:
    def __init__(self, total, desc, unit):
        self.n, self.total, self.desc = 0, total, desc
    def update(self, more):
        self.n += more
    def close(self):
        print(self.desc, self.n <= self.total, flush=True)
"""


@pytest.mark.parametrize("there", [True, False])
def test_progress(there, tmp_path):
    """verbose shows progress by tqdm where it can be imported, by plain lines elsewhere, and without it nothing."""
    (tmp_path / "tqdm").mkdir()
    (tmp_path / "tqdm/__init__.py").write_text("" if there else "raise ImportError")
    (tmp_path / "tqdm/auto.py").write_text(TQDM)
    code = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import numpy as np, eigenpair as ep
X = np.random.default_rng(0).normal(size=(50, 6))
for verbose in False, True:
    ep.Contrastive(method="gd", width=20, epochs=20, n_components=2, verbose=verbose).fit(X)
    print("fitted", file=sys.stderr, flush=True)
"""
    done = run_python(code)
    before, after = done.stderr.split("fitted\n")[:2]
    assert done.returncode == 0 and before == "", done.stderr
    if there:
        assert "True" in done.stdout and "False" not in done.stdout
    else:
        assert ": " in after and not done.stdout
