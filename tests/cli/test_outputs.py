"""What is written, and what stays whole: defects 2, 12 and 13 of the list in docs/reliability.md."""
import fcntl
import os
import shutil
import socket
import stat
import subprocess
import time

import numpy as np
import pytest
from conftest import shipped_only


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


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_output_to_a_stream(ep, good, tmp_path, name):
    """Defect 2: standard output where a stream makes sense: the CSV of embed, and nothing else, with its words elsewhere."""
    embed = ["embed", "--model", "m.npz", "--data", "moons:20", "--out"]
    good(*at("model", "m.npz"))
    good(*embed, "e.csv")
    code, out, err = ep(*embed, name)
    assert (code, out) == (0, (tmp_path / "e.csv").read_text()) and "20 points in" in err and not (tmp_path / "-").exists()
    code, out, err = ep(*embed, name, "--json")
    assert (code, out) == (2, "") and err.count("\n") == 1 and "give one of them" in err
    for writer in WRITERS:
        code, out, err = ep(*at(writer, name))
        assert (code, out) == (2, "") and err.count("\n") == 1 and "only embed writes to standard output" in err
    good(*at("kernel", "./-"))  # a file may be called so
    assert (tmp_path / "-").exists()


def test_full_stream(ep):
    """Defect 2: numbers that do not arrive are an error."""
    ep(*at("model", "m.npz"))
    with open("/dev/full", "w") as full:
        code, _, err = ep("embed", "--model", "m.npz", "--data", "moons:20", "--out", "-", stdout=full)
    assert code == 1 and "standard output cannot be written" in err


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
