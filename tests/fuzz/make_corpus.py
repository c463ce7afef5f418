#!/usr/bin/python3
"""Writes the seeds of the fuzz targets to corpus/<target>/, a few small files each."""
import base64
import gzip
import io
import json
import pathlib
import struct
import zipfile
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent / "corpus"


def put(target, name, data):
    folder = HERE / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), version=version)
    return out.getvalue()


def idx(kind, array, dtype):
    array = np.asarray(array)
    head = struct.pack(">BBBB", 0, 0, kind, array.ndim)
    return head + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(dtype).tobytes()


def npz(members, method):
    """A fixed date, so that running this twice gives the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in members.items():
            z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, compress_type=method)
    return out.getvalue()


small = np.arange(6).reshape(2, 3)
for name, dtype in [("f4", "<f4"), ("f8", "<f8"), ("u1", "|u1"), ("i4", "<i4"), ("i8", "<i8")]:
    put("npy", name, npy(small.astype(dtype)))
put("npy", "fortran", npy(np.asfortranarray(small.astype("<f4"))))
put("npy", "big_endian", npy(small.astype(">f8")))
put("npy", "scalar", npy(np.float64(1.5)))
put("npy", "empty", npy(np.zeros((0, 3))))
put("npy", "version2", npy(small.astype("<f4"), (2, 0)))
put("npy", "version3", npy(small.astype("<f4"), (3, 0)))
put("npy", "text", npy(np.array('{"width": 10, "name": "é€😀"}')))
put("npy", "bytes", npy(np.array(b"abc")))
put("npy", "records", npy(np.zeros(2, [("a", "<f8"), ("b", "<i4")])))

put("idx", "u8", idx(0x08, small, ">u1"))
put("idx", "i16", idx(0x0B, small, ">i2"))
put("idx", "i32", idx(0x0C, small, ">i4"))
put("idx", "f32", idx(0x0D, small, ">f4"))
put("idx", "f64", idx(0x0E, small, ">f8"))
put("idx", "labels", idx(0x08, [1, 2, 3], ">u1"))
put("idx", "cut", idx(0x08, small, ">u1")[:-1])
put("idx", "huge", struct.pack(">BBBB3I", 0, 0, 0x0E, 3, 2**32 - 1, 2**32 - 1, 2**32 - 1))

put("csv", "comma", b"1,2\n3,4\n")
put("csv", "header", b"a,b\r\n1.5e3;2\r\n")
put("csv", "blank", b"# note\n 1  -2.5\n\n3 4e-3")
put("csv", "tab", b"x\ty\n1\tnan\n-inf\t2\n")
put("csv", "quotes", b'"a";"b"\n"1";" 2 "\n')
put("csv", "digits", b"3.14159265358979323846264338327950288\n1e-320\n9007199254740993\n")
put("csv", "ragged", b"1,2,3,4\n5\n6,7\n")

# the first byte chooses options
put("table", "mixed", b"0a,b,c\n1,x,2020-01-01\n2,y,2020-01-02\n3,x,\n")
put("table", "commas", b'1y;n;t\nu;1,5;"a; b"\nv;2.000,25;NA\n')
put("table", "large", b"0x,2e303,y\n")
put("table", "missing", b"2a\tb\n1\t\n?\t3\n4\t5\n")
put("table", "quotes", b'4"a","a",\n"1","2","x ""y""\nz"\n3,4,w\n')

PLAN = {"columns": [{"name": "a", "kind": "number", "mean": 2.5, "deviation": 1.1}, {"name": "d", "kind": "date", "mean": 1.0, "deviation": 0.0},
                    {"name": "b", "kind": "text", "categories": ["x", "y"], "shares": [0.5, 0.5]}],
        "scale": "standard", "missing": "mean", "label": "c", "classes": ["u", "v"]}
for first in b"89":  # 8: a plan, a zero, the table
    put("table", f"plan{first - 48}", bytes([first]) + json.dumps(PLAN).encode() + b"\0a,b,c,d\n1,x,u,2020-01-01\n2,z,w,\n")
put("table", "plan_raw", b"8" + json.dumps({"columns": PLAN["columns"][:1], "scale": "raw"}).encode() + b"\0a\n1\n2\n")

record = bytes([3]) + bytes(range(256)) * 12
put("cifar", "one", record)
put("cifar", "label10", bytes([10]) + record[1:])
put("cifar", "idx", idx(0x08, small, ">u1"))
put("cifar", "csv", b"1,2\n3,4\n")
put("cifar", "npy", npy(small.astype("<f4")))

put("lines", "three", "one\nzwei, drei\r\n\u20ac \U0001f600".encode())
put("lines", "mark", "\ufeffa\n\nb\n".encode())
put("lines", "latin", b"caf\xe9\nb\n")
put("lines", "packed", gzip.compress(b"a\nb\n", mtime=0))
put("words", "three", b'{"size":3,"dimensions":2,"words":["a","7","\\u00e9"],"vectors":{"7":[3,-4.5,5,1],"a":[0.5,1e-2,1,0],'
    b'"\\u00e9":[1,2,3,2]},"unkVector":[0,0]}')
put("words", "row", b'{"size":1,"dimensions":1,"words":["a"],"vectors":{"a":[1,1,5]}}')
put("words", "cut", b'{"size":1,"dimensions":1,"words":["a"],"vectors":{"a":[1,')

members = {"X.npy": npy(small.astype("<f4")), "config.npy": npy(np.array("{}"))}
put("npz", "stored", b"0" + npz(members, zipfile.ZIP_STORED))
put("npz", "deflated", b"0" + npz(members, zipfile.ZIP_DEFLATED))
put("npz", "several", b"0" + npz({"V.npy": npy(small), "W.npy": npy(small)}, zipfile.ZIP_STORED))
put("npz", "note", b"0" + npz({"note.txt": b"hello"}, zipfile.ZIP_DEFLATED))


def png(array, kind):
    """8-bit PNG: kind 0 grey, 2 RGB, 6 RGB with alpha."""
    rows = b"".join(b"\0" + row.tobytes() for row in array)
    head = struct.pack(">IIBBBBB", array.shape[1], array.shape[0], 8, kind, 0, 0, 0)
    out = b"\x89PNG\r\n\x1a\n"
    for name, data in [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]:
        out += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return out


# 12 x 10 pixels of one colour, by libjpeg
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMU"
    "FRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU"
    "FBQUFBQUFBT/wAARCAAKAAwDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAf/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QA"
    "FQEBAQAAAAAAAAAAAAAAAAAAAwj/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCSACWW/9k=")
GREY_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMU"
    "FRUVDA8XGBYUGBIUFRT/wAALCAAKAAwBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAABv/EAB4QAAAEBwAAAAAAAAAAAAAAAAAEBnQD"
    "BQc1NrS1/9oACAEBAAA/ACynuCkeVD14YLq3KzrOVcomFCnuCkeVD14YLq3KzrOVcomP/9k=")
pixels = np.arange(7 * 5 * 4, dtype=np.uint8).reshape(5, 7, 4)
put("picture", "grey", png(pixels[..., 0], 0))
put("picture", "rgb", png(pixels[..., :3], 2))
put("picture", "alpha", png(pixels, 6))
put("picture", "jpeg", JPEG)
put("picture", "grey_jpeg", GREY_JPEG)
put("picture", "cut_jpeg", JPEG[:-20])


def entry(kind, name, data=b""):
    """A file or folder of a description, see fuzz_folder.c."""
    return bytes([kind, len(name)]) + struct.pack("<H", len(data)) + name + data


grey, rgb = png(pixels[..., 0], 0), png(pixels[..., :3], 2)
put("folder", "plain", b"\0" + entry(0, b"1", grey) + entry(0, b"2", rgb))
put("folder", "labels", b"\1" + entry(1, b"1", grey) + entry(2, b"1", rgb) + entry(3, b"9", JPEG) + entry(1, b"none", b"text"))
put("folder", "strict", b"\x0a" + entry(1, b"1", grey) + entry(1, b"2", rgb[:40]))
put("folder", "mixed", b"\2" + entry(0, b"1", grey) + entry(1, b"1", grey))
put("folder", "no_picture", b"\0" + entry(8, b"notes.txt", b"text") + entry(4, b"folder") + entry(12, b"b"))

put("labels", "numbers", b"3\n1\n2\n")
put("labels", "words", b"kind\ncat\ndog\ncat\n")
put("labels", "quotes", b'"a, b"\n"c ""d"""\n7\n')
put("labels", "half", b"0.5\n1\n")
put("labels", "missing", b"a\n\nb\nNA\n")
put("labels", "two_columns", b"a,b\nc,d\n")
put("labels", "npy", npy(np.array([0, 1, 2], "<i8")))

CATEGORIES = ["Smileys & Emotion", "Flags", "Objects", "Symbols", "Component"]
emoji = [{"category": CATEGORIES[i % 5], "short_name": f"e{i}", "sheet_x": i % 3, "sheet_y": i % 2, "has_img_google": True,
          "has_img_twitter": True, "has_img_facebook": i != 3} for i in range(8)]
put("emoji", "eight", json.dumps(emoji).encode())
put("emoji", "few", json.dumps(emoji[:3]).encode())
put("emoji", "off_the_sheet", json.dumps([*emoji, {**emoji[0], "sheet_x": 66}]).encode())
put("emoji", "no_list", b"{}")

# sums: two nodes of three shards of a network of three units, by hand
config = {"method": "whitened", "precision": "single", "width": 3, "outputs": 2, "version": "0.1.0", "terms": ["network"],
          "unit": False, "normalise": False, "cosine": False,
          "sums": {"shards": 3, "total": 9.0, "prints": [],
                   "nodes": [{"first": f, "count": 1, "anchors": 3.0, "views": 6.0, "pairs": 6.0} for f in (0, 2)]}}
eye = np.eye(3)
members = {"sample": small.astype("<f4"), "V": eye.astype("<f4"), "W": eye[:, :2].astype("<f4"),
           "config": np.array(json.dumps(config))}
for end in "", ".1":
    members |= {f"sum_C{end}": eye, f"sum_B{end}": eye, f"sum_psi{end}": eye[:1]}
members = {f"{name}.npy": npy(a) for name, a in members.items()}
put("sums", "whitened", b"0" + npz(members, zipfile.ZIP_STORED))
put("sums", "packed", b"0" + npz(members, zipfile.ZIP_DEFLATED))

put("gzip", "text", gzip.compress(b"1,2\n3,4\n", mtime=0))
put("gzip", "two", gzip.compress(b"one", mtime=0) + gzip.compress(b"two" * 100, mtime=0))
put("gzip", "stored", gzip.compress(bytes(range(64)), compresslevel=0, mtime=0))
put("gzip", "cut", gzip.compress(b"1,2\n3,4\n" * 50, mtime=0)[:-9])

# ---- descriptions of archives (archive.h), from the models of 0.1.0

NAMES = ["config", "V", "W", "V1", "V2", "X", "Y", "Y0", "dV", "dW", "F", "theta", "dV1", "b", "offset", "filters", "c", "b1"]
STATE = ["theta", "history", "state", "config"]
KEPT = ("terms", "unit", "normalise", "cosine", "activation", "depth", "features", "method", "kernel", "delta", "loss")


def member(names, name, kind, rows, cols, data):
    return bytes([names.index(name), kind, rows, cols]) + struct.pack("<H", len(data)) + data


def array(names, name, a):
    a = np.atleast_1d(a)
    kind = {"f4": 0, "f8": 1, "u1": 2}[a.dtype.str[1:]] + (128 if a.ndim == 1 else 0)
    return member(names, name, kind, a.shape[0], a.shape[1] if a.ndim == 2 else 0, a.tobytes()[:512])


FIXTURES = HERE.parents[1] / "fixtures/v0.1.0"
for path in sorted(FIXTURES.glob("*.npz")):
    with np.load(path) as z:
        config = z["config"].item()
        if all(n in NAMES for n in z.files) and all(max(z[n].shape, default=0) < 256 for n in z.files):
            text = json.dumps({k: v for k, v in json.loads(config).items() if k in KEPT}).encode()
            put("model", path.stem, member(NAMES, "config", 3, 0, 0, text) +
                b"".join(array(NAMES, n, z[n]) for n in z.files if n != "config"))
        if path.stem == "gd":
            settings = json.loads(config)
put("model", "by_hand", array(NAMES, "V", np.ones((3, 4), "f4")) + array(NAMES, "W", np.ones((3, 2), "f4")))
state = array(STATE, "theta", np.ones((1, 8), "f4")) + array(STATE, "history", np.ones((1, 2))) + array(STATE, "state", np.ones((1, 4)))
put("checkpoint", "even", state + bytes(len(state) % 2))
put("checkpoint", "odd", state + member(STATE, "config", 3, 0, 0, b"{}") + bytes((len(state) + 1) % 2))

# an odd first byte: a description
ZIP = ["X", "W", "arr_0", "config", "a/b", "X without .npy", "note.txt", "../X"]
eight = np.arange(8, dtype="f4").reshape(2, 4)
put("npz", "described", b"1" + array(ZIP, "X", eight) + array(ZIP, "W", eight[0]) + member(ZIP, "config", 3, 0, 0, b"{}"))
for fault in range(1, 10):  # of archive.h
    put("npz", f"fault{fault}", b"1" + bytes([8 * fault]) + array(ZIP, "X", eight)[1:] + array(ZIP, "arr_0", eight))
SUMS = ["sample", "V", "W", "sum_C", "sum_B", "sum_psi", "sum_C.1", "sum_B.1", "sum_psi.1", "F", "X", "config"]
eye = np.eye(3)
parts = {"sample": np.ones((2, 3), "f4"), "V": eye.astype("f4"), "W": eye[:, :2].astype("f4"), "sum_C": eye, "sum_B": eye, "sum_psi": eye[:1]}
described = b"".join(array(SUMS, n, a) for n, a in parts.items())
more = b"".join(array(SUMS, n + ".1", parts[n]) for n in ("sum_C", "sum_B", "sum_psi"))
#       odd, method, term, shards 2, total 6.0; first 0, count 1, anchors 3, views 6, pairs 6; first 1, ..; prints, nodes
head = [1, 0, 0, 1, 6, 3, 0, 2, 6, 6, 0, 0, 2, 6, 6, 0]
put("sums", "one_node", bytes(head + [0]) + described)
put("sums", "two_nodes", bytes(head + [1]) + described + more)
put("sums", "pca", bytes([1, 1] + head[2:] + [1]) + described + more)

put("config", "gd", json.dumps(settings).encode())
put("config", "empty", b"{}")
put("config", "types", b'{"width": "10", "rate": 1, "data": 5, "precision": null, "memory": -1, "seed": 1e300}')
put("options", "gd", "".join(f"{k} {v}\n" for k, v in settings.items()).encode())
put("options", "limits", b"width 10000001\nmemory 4G\nmemory 1e400\nseed 0x10\nrate nan\nactivation leaky:0.5\nloss softmax\n")
put("jobs", "small", json.dumps({"width": 100, "seed": 0, "spectrum": [0.5, 0.25], "methods": {
    m: {"method": m, "analytic": m == "kernel", "loss": -0.5, "status": "done", "epochs": 3, "seconds": 0.1, "memory": 1e6, "accuracy": 0.5}
    for m in ("gd", "kernel", "pca", "grassmann")}}).encode())
put("jobs", "empty", b'{"width": 1, "seed": 0, "methods": {"gd": {"method": "gd"}}}')
sample = json.loads((HERE.parents[1] / "page/sample.json").read_text())
for section in sample["sections"]:
    for figure in section.get("figures", []):
        for series in figure["series"]:
            for k in ("x", "y", "low", "high", "label"):
                if k in series:
                    series[k] = series[k][:3]
put("document", "sample", json.dumps(sample).encode())
put("document", "least", b'{"title": "t", "sections": [], "result": {}}')
