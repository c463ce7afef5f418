"""Folders of PNG and JPEG pictures as data sets."""
import base64
import json
import struct
import zlib

import numpy as np
import pytest

# 12 x 10 pixels of (200, 40, 90), by libjpeg
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMU"
    "FRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU"
    "FBQUFBQUFBT/wAARCAAKAAwDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAf/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QA"
    "FQEBAQAAAAAAAAAAAAAAAAAAAwj/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCSACWW/9k=")


def png(array):
    """8-bit PNG of (H, W) or (H, W, 3)."""
    rows = b"".join(b"\0" + row.tobytes() for row in array)
    out = b"\x89PNG\r\n\x1a\n"
    head = struct.pack(">IIBBBBB", array.shape[1], array.shape[0], 8, 2 if array.ndim == 3 else 0, 0, 0, 0)
    for name, data in [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]:
        out += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return out


@pytest.fixture
def photos(tmp_path, rng):
    """photos/{b,a}/0.png .. of 8 x 9 pixels, three each; -> the pixels in the order of the names, a before b."""
    X = rng.integers(0, 256, (6, 8, 9, 3), dtype=np.uint8)
    for k, label in enumerate("aaabbb"):
        (tmp_path / "photos" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "photos" / label / f"{k}.PNG").write_bytes(png(X[k]))
    return X


def convert(good, tmp_path, *args):
    good("data", "convert", "--out", "x.npy", "--precision", "double", *args)
    return np.load(tmp_path / "x.npy")


def test_folder(good, photos, tmp_path):
    """Pictures of one size come as they are, channel after channel; sub-folders are labels."""
    X = convert(good, tmp_path, "--data", "photos", "--labels-out", "y.npy")
    np.testing.assert_allclose(X, photos.transpose(0, 3, 1, 2).reshape(6, -1) / 255, atol=1e-15)
    assert list(np.load(tmp_path / "y.npy")) == [0, 0, 0, 1, 1, 1]
    assert json.loads(good("data", "describe", "photos", "--json"))["image"] == [3, 8, 9]


def test_folders_are_classes_by_name(good, photos, save, tmp_path):
    """Also where a second folder lacks the first class: the names count, not the order."""
    save(e=np.repeat(np.eye(2), 3, axis=0), t=np.eye(2)[[1]])
    (tmp_path / "other/b").mkdir(parents=True)
    (tmp_path / "other/b/0.png").write_bytes(png(photos[5]))
    r = json.loads(good("probe", "--embedding", "e.npy", "--labels", "photos", "--test-embedding", "t.npy", "--test-labels", "other",
                        "--probe", "knn", "--json"))
    assert r["classes"] == ["a", "b"] and r["accuracy"] == 1
    good("explore", "--embedding", "e.npy", "--data", "photos", "--images", "--neighbours", 1, "--out", "map.html")
    assert '"names": ["a", "b"]' in (tmp_path / "map.html").read_text() or '"names":["a","b"]' in (tmp_path / "map.html").read_text()


def test_size_and_grey(good, photos, tmp_path):
    """--image HxW resizes and crops, 1xHxW makes grey; the largest central box is kept."""
    assert convert(good, tmp_path, "--data", "photos", "--image", "4x4").shape == (6, 3 * 16)
    grey = convert(good, tmp_path, "--data", "photos", "--image", "1x8x8")
    luma = np.rint(photos @ np.array([0.299, 0.587, 0.114]))
    centre = 0.5 * (photos[:, :, :-1] + photos[:, :, 1:].astype(float)) @ np.array([0.299, 0.587, 0.114])
    assert grey.shape == (6, 64) and luma.shape == (6, 8, 9)
    np.testing.assert_allclose(grey, centre.reshape(6, -1) / 255, atol=0.6 / 255)


def test_jpeg_and_large(good, tmp_path):
    """A folder without sub-folders has no labels; large pictures come as 64 pixels a side."""
    (tmp_path / "p").mkdir()
    (tmp_path / "p/1.jpeg").write_bytes(JPEG)
    X = convert(good, tmp_path, "--data", "p").reshape(3, 10, 12) * 255
    np.testing.assert_allclose(X.mean((1, 2)), [200, 40, 90], atol=3)
    assert json.loads(good("data", "describe", "p", "--json"))["labels"] is False
    (tmp_path / "p/0.png").write_bytes(png(np.full((300, 200), 77, np.uint8)))
    np.testing.assert_allclose(convert(good, tmp_path, "--data", "p")[0], 77 / 255, atol=1e-12)
    assert json.loads(good("data", "describe", "p", "--json"))["image"] == [1, 64, 64]


def test_parts(ep, good, photos, tmp_path):
    """photos:test is the sub-folder test of it."""
    (tmp_path / "photos").rename(tmp_path / "train")
    (tmp_path / "set").mkdir()
    (tmp_path / "train").rename(tmp_path / "set/train")
    assert convert(good, tmp_path, "--data", "set:train").shape == (6, 216)
    code, out, err = ep("data", "describe", "set:test")
    assert (code, out) == (2, "") and "test" in err and err.count("\n") == 1


def test_corrupt_pictures_are_named(ep, photos, tmp_path):
    """What cannot be read is skipped and named; --strict makes it an error."""
    (tmp_path / "photos/a/broken.jpg").write_bytes(JPEG[:-30])
    (tmp_path / "photos/b/text.png").write_bytes(b"no picture")
    code, out, err = ep("data", "describe", "photos", "--json")
    assert code == 0 and json.loads(out)["points"] == 6
    assert "skipped photos/a/broken.jpg: " in err and "skipped photos/b/text.png: " in err and "2 of 8" in err
    code, out, err = ep("data", "describe", "photos", "--strict")
    assert (code, out) == (2, "") and "photos/a/broken.jpg" in err and err.count("\n") == 1


def test_all_corrupt(ep, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p/a.jpg").write_bytes(JPEG[:40])
    for image in ([], ["--image", "3x8x8"]):
        code, out, err = ep("data", "describe", "p", *image)
        assert (code, out) == (2, "") and "p/a.jpg" in err or "none of its 1" in err


def test_no_pictures(ep, tmp_path):
    """A folder without images says what was looked for."""
    (tmp_path / "empty/sub").mkdir(parents=True)
    code, out, err = ep("data", "describe", "empty")
    assert (code, out) == (2, "") and "PNG" in err and err.count("\n") == 1


def test_mixed_folder(ep, photos, tmp_path):
    (tmp_path / "photos/x.png").write_bytes(png(photos[0]))
    code, out, err = ep("data", "describe", "photos")
    assert (code, out) == (2, "") and "labels" in err


@pytest.mark.parametrize("image", ["4", "2x4x4", "0x4", "4x-1", "x", "3x4x4x4"])
def test_wrong_size(ep, photos, image):
    code, out, err = ep("data", "describe", "photos", "--image", image)
    assert (code, out) == (2, "") and "--image" in err


def test_fit_and_embed(good, photos, tmp_path):
    """A folder goes where any data set goes, with augmentations of colour."""
    good("fit", "--data", "photos", "--method", "pca", "--width", 20, "--outputs", 2, "--augment", "jitter,grey,pad:1")
    good("embed", "--data", "photos", "--out", "e.npy")
    assert np.load(tmp_path / "e.npy").shape == (6, 2)


def test_colour_augmentation_of_grey_images(ep):
    """Grey images to a colour recipe: one line that names what to use instead."""
    code, out, err = ep("fit", "--data", "digits", "--samples", 20, "--method", "pca", "--augment", "jitter")
    assert (code, out) == (2, "") and "light" in err and err.count("\n") == 1
