"""Tables as people have them: text, dates, quotes, semicolons, decimal commas, missing values, labels that are words."""
import csv
import datetime
import io
import json

import numpy as np
import pytest

N = 60


def people(n=N, seed=0):
    """Rows of a table in which species follows from weight and city; some values are missing."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        species = ["cat", "dog", "emu, large"][rng.integers(3)]
        weight = {"cat": 4.0, "dog": 25.0, "emu, large": 60.0}[species] + rng.normal()
        city = {"cat": "Bonn", "dog": 'Köln "Süd"', "emu, large": "Ulm"}[species] if rng.random() < 0.8 else "Aachen"
        day = datetime.date(2020, 1, 1) + datetime.timedelta(days=int(rng.integers(700)))
        rows.append({"name": f"pet {i}", "born": day.isoformat(), "weight": f"{weight:.3f}", "city": city,
                     "height": f"{rng.normal(170, 3):.2f}", "species": species})
    rows[3]["weight"] = ""
    rows[7]["city"] = "NA"
    rows[11]["height"] = "?"
    return rows


def write(path, rows, separator=",", decimal="."):
    out = io.StringIO()
    w = csv.DictWriter(out, list(rows[0]), delimiter=separator)
    w.writeheader()
    for r in rows:
        w.writerow({k: v.replace(".", decimal) if k in ("weight", "height") else v for k, v in r.items()})
    path.write_text(out.getvalue(), encoding="utf-8")


def reference(rows, learnt=None, standard=True):
    """The points by plain Python: born and numbers to mean 0 and spread 1, a column of 0 and 1 for each city."""
    def value(r, key):
        if r[key] in ("", "NA", "?"):
            return np.nan
        return (datetime.date.fromisoformat(r[key]) - datetime.date(1970, 1, 1)).days if key == "born" else float(r[key])

    learnt = learnt or rows
    columns = []
    for key in ["born", "weight", "city", "height"]:
        if key == "city":
            there = [r["city"] for r in learnt if r["city"] != "NA"]
            for c in sorted(set(there), key=str.encode):
                share = there.count(c) / len(there)
                columns.append([share if r["city"] == "NA" else float(r["city"] == c) for r in rows])
            continue
        known = np.array([value(r, key) for r in learnt])
        mean, deviation = np.nanmean(known), np.nanstd(known)
        x = np.array([value(r, key) for r in rows])
        x[np.isnan(x)] = mean
        columns.append((x - mean) / deviation if standard else x)
    return np.array(columns).T


@pytest.fixture
def points(ep, tmp_path):
    """The points that the program makes of a table -> matrix, what it said."""
    def run(*args):
        code, out, err = ep("data", "convert", *args, "--precision", "double", "--out", "x.npy")
        assert code == 0, err
        return np.load(tmp_path / "x.npy"), err
    return run


@pytest.mark.parametrize("separator, decimal", [(",", "."), (";", ","), ("\t", "."), (";", ".")])
def test_points_are_those_of_the_reference(points, tmp_path, separator, decimal):
    rows = people()
    write(tmp_path / "t.csv", rows, separator, decimal)
    X, said = points("t.csv", "--label-column", "species", "--drop", "name")
    np.testing.assert_allclose(X, reference(rows), rtol=1e-12, atol=1e-12)
    assert "different units" in said and "--scale raw" in said and "3 missing values" in said
    X, said = points("t.csv", "--label-column", "species", "--scale", "raw")
    np.testing.assert_allclose(X, reference(rows, standard=False), rtol=1e-12)
    assert "column name has 60 different texts" in said and "units" not in said


def test_columns_missing_and_numbers_of_columns(points, ep, tmp_path):
    rows = people()
    write(tmp_path / "t.csv", rows)
    full = reference(rows)
    X, _ = points("t.csv", "--columns", "height,born")
    np.testing.assert_allclose(X, full[:, [-1, 0]], atol=1e-12)
    assert np.array_equal(points("t.csv", "--columns", "5,2")[0], X)
    X, said = points("t.csv", "--missing", "drop", "--drop", "name,species")
    keep = [i for i in range(N) if i not in (3, 7, 11)]
    np.testing.assert_allclose(X, full[keep], atol=1e-12)
    assert "3 rows with missing values are left out" in said
    code, _, err = ep("fit", "t.csv", "--missing", "error", "--drop", "name", "--epochs", 1)
    assert code == 2 and "line 5, column weight: is missing" in err and "--missing mean" in err


def test_a_plain_table_stays_as_it_is(good, points, tmp_path):
    """Numbers of one unit, with a header or without: raw, as matrices are, and nothing is said."""
    X = np.random.default_rng(1).normal(size=(20, 3))
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", header="a,b,c", comments="")
    got, said = points("x.csv")
    np.testing.assert_allclose(got, X, rtol=1e-15)
    assert said == ""
    np.savetxt(tmp_path / "y.csv", X, delimiter=",")
    assert np.array_equal(points("y.csv")[0], got)


def test_standard_scale_of_a_matrix(points, good, ep, tmp_path):
    X = np.random.default_rng(2).normal(size=(30, 4)) * [1, 10, 100, 0] + 5
    np.save(tmp_path / "m.npy", X)
    want = (X - X.mean(0)) / np.where(X.std(0) > 1e-9, X.std(0), 1)
    np.testing.assert_allclose(points("m.npy", "--scale", "standard")[0], want, atol=1e-12)
    good("fit", "m.npy", "--scale", "standard", "--method", "pca", "--width", 30, "--outputs", 2, "--precision", "double")
    np.save(tmp_path / "n.npy", X[:7])
    for name in "n", "m":
        good("embed", f"{name}.npy", "--out", f"e{name}.npy", "--precision", "double")
    np.testing.assert_allclose(np.load(tmp_path / "en.npy"), np.load(tmp_path / "em.npy")[:7], rtol=1e-12)


def test_a_model_treats_a_new_table_as_its_own(ep, good, tmp_path):
    """Means, scales, categories and classes are those of the training table, whatever the new one has."""
    rows = people()
    write(tmp_path / "t.csv", rows)
    args = ["--label-column", "species", "--drop", "name", "--method", "pca", "--width", 40, "--outputs", 3, "--precision", "double"]
    assert ep("fit", "t.csv", *args).code == 0
    config = json.loads(np.load(tmp_path / "model.npz")["config"].item())
    table = config["table"]
    assert table["classes"] == ["cat", "dog", "emu, large"] and table["scale"] == "standard"
    assert [c["name"] for c in table["columns"]] == ["born", "weight", "city", "height"]
    assert ep("embed", "t.csv", "--out", "all.npy", "--labels-out", "y.npy", "--precision", "double").code == 0
    y = np.load(tmp_path / "y.npy")
    assert [table["classes"][k] for k in y] == [r["species"] for r in rows]
    # other columns, another order, a city that was never seen, one class only
    few = [dict(reversed(list(r.items())), extra="1") for r in rows[20:30] if r["species"] == "dog"]
    write(tmp_path / "new.csv", few, ";", ".")
    code, _, err = ep("embed", "new.csv", "--out", "few.npy", "--labels-out", "z.npy", "--precision", "double")
    assert code == 0, err
    which = [i for i in range(20, 30) if rows[i]["species"] == "dog"]
    np.testing.assert_allclose(np.load(tmp_path / "few.npy"), np.load(tmp_path / "all.npy")[which], rtol=1e-12)
    assert (np.load(tmp_path / "z.npy") == 1).all()
    few[0]["city"] = "Rom"
    write(tmp_path / "new.csv", few)
    code, _, err = ep("embed", "new.csv", "--out", "few.npy")
    assert code == 0 and "column city: 1 texts that the model has not seen" in err
    write(tmp_path / "new.csv", [{k: v for k, v in r.items() if k != "weight"} for r in few])
    code, _, err = ep("embed", "new.csv", "--out", "few.npy")
    assert code == 2 and "no column 'weight'" in err
    np.save(tmp_path / "x.npy", np.ones((3, 4)))
    code, _, err = ep("embed", "x.npy", "--out", "few.npy")
    assert code == 2 and "made from a table" in err


def test_classes_by_name(ep, tmp_path):
    """Probes and pages call classes by their names, also where the test table lacks one."""
    write(tmp_path / "train.csv", people(120))
    write(tmp_path / "test.csv", [r for r in people(80, seed=5) if r["species"] != "cat"])
    args = ["--label-column", "species"]
    assert ep("fit", "train.csv", *args, "--drop", "name", "--method", "whitened", "--width", 100, "--outputs", 4).code == 0
    for name in "train", "test":
        assert ep("embed", f"{name}.csv", "--out", f"{name}.npy").code == 0
    probe = ["probe", "--embedding", "train.npy", "--labels", "train.csv", "--test-embedding", "test.npy", "--test-labels", "test.csv",
             *args, "--drop", "name"]
    result = ep(*probe, "--json")
    assert result.code == 0, result.err
    result = json.loads(result.out)
    assert result["classes"] == ["cat", "dog", "emu, large"] and result["accuracy"] > 0.9
    assert "emu, large" in ep(*probe).out
    # the words alone, one a line
    (tmp_path / "y.csv").write_text("species\n" + "".join(f'"{r["species"]}"\n' for r in people(120)))
    alone = json.loads(ep("probe", "--embedding", "train.npy", "--labels", "y.csv", "--json").out)
    assert alone["classes"] == result["classes"]
    assert json.loads(ep("probe", "train.csv", "--embedding", "train.npy", *args, "--json").out)["accuracy"] == alone["accuracy"]


def test_labels_of_drawn_points(good, tmp_path):
    """probe --labels NAME --samples N --seed S has the labels of the points that embed drew."""
    good("fit", "digits", "--samples", 50, "--method", "pca", "--width", 50, "--outputs", 5)
    good("embed", "digits", "--samples", 300, "--seed", 3, "--labels-out", "y.npy")
    by_name, by_file = (json.loads(good("probe", "--embedding", "embedding.npy", "--labels", *how, "--seed", 3, "--probe", "knn", "--json"))
                        for how in (["digits", "--samples", 300], ["y.npy"]))
    assert by_name["confusion"] == by_file["confusion"]


def test_two_columns_of_one_name(ep, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,a\n" + "".join(f"{i % 2},{i * i % 7},{'xyz'[i % 3]}\n" for i in range(12)))
    said = ep("fit", "t.csv", "--label-column", "a", "--epochs", 1, "--width", 8).err
    assert "several columns are called a: labels are in the first, the second is a.2" in said
    assert "several columns" not in ep("fit", "t.csv", "--label-column", "b", "--epochs", 1, "--width", 8).err
    assert "labels: a.2" in ep("fit", "t.csv", "--label-column", "a.2", "--epochs", 1, "--width", 8).err


def test_a_column_that_sounds_like_labels(ep, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,class\n" + "".join(f"{i},{i * i % 7},{i % 2}\n" for i in range(12)))
    said = ep("fit", "t.csv", "--epochs", 1, "--width", 8).err
    assert "column class sounds like labels" in said and "--label-column class" in said
    assert "sounds like" not in ep("fit", "t.csv", "--label-column", "class", "--epochs", 1, "--width", 8).err


@pytest.mark.parametrize("text, args, says", [
    ("a,b\n1,2\n3,x\n5,6\n", [], "line 3, column b: 'x' is not a number"),
    ("a,b\n1,2\n3\n", [], "line 3 has 1 fields"),
    ("a,b\nx,2e303\ny,2e303\n", [], "values of column b are too large"),
    ('a,b\n1,"2\n3,4\n', [], "quote that begins in line 2 is not closed"),
    ("a,b\n1,2\n3,4\n", ["--label-column", "c"], "--label-column c: no such column"),
    ("a,b\n1,2\n3,4\n", ["--drop", "a,b"], "no column is left"),
    ("a,b\n1,2\n3,4\n", ["--columns", "z"], "--columns z: no such column"),
    ("a,b\n1,inf\n3,4\n", [], "line 2, column b: 'inf' is not a finite number"),
    ("a,b\n1,\n3,\n", [], "column b has no value"),
    ("a,b\n1,0.5\n3,1.5\n", ["--label-column", "b"], "labels are whole numbers or words"),
    ("a,b\nx,é\n1,2\n", [], "UTF-8"),
])
def test_bad_tables(ep, tmp_path, text, args, says):
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1" if says == "UTF-8" else "utf-8"))
    code, out, err = ep("fit", "t.csv", *args, "--epochs", 1, "--width", 8, "--out", "new.npz")
    last = err.strip().splitlines()[-1]
    assert code == 2 and says in last and not (tmp_path / "new.npz").exists()


def test_only_tables_have_columns(ep, tmp_path):
    np.save(tmp_path / "x.npy", np.eye(4))
    code, _, err = ep("fit", "x.npy", "--label-column", "y", "--epochs", 1)
    assert code == 2 and "is no table" in err


def test_data_without_its_flag(ep, good, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(20, 4)))
    args = ["--width", 8, "--epochs", 2]
    good("fit", "x.npy", *args, "--out", "a.npz")
    good("fit", *args, "--out", "b.npz", "--data", "x.npy")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert "both say" in ep("fit", "x.npy", "--data", "x.npy").err
    assert "is not an option" in ep("fit", "x.npy", "y.npy").err


@pytest.mark.parametrize("command, ending", [(["fit", "x.npy"], ".npz"), (["ntk", "x.npy"], ".npy"), (["neighbours", "--embedding", "x.npy"], ".npy")])
def test_an_array_is_not_called_a_table(ep, tmp_path, command, ending):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(20, 4)))
    code, _, err = ep(*command, "--out", "e.csv")
    assert code == 2 and f"e.csv: what is written is no CSV: name it {ending}" in err and not (tmp_path / "e.csv").exists()


@pytest.mark.parametrize("option", ["--label-column", "--columns", "--drop"])
def test_columns_that_were_meant(ep, tmp_path, option):
    (tmp_path / "t.csv").write_text("weight,height,kind\n1,2,a\n3,4,b\n")
    code, _, err = ep("fit", "t.csv", option, "heigth")
    assert code == 2 and f"{option} heigth: no such column; did you mean height?" in err


@pytest.mark.parametrize("word, meant", [("digts", "digits"), ("mnist:tset", "mnist:test"), ("mons", "moons"), ("fashon:train", "fashion:train")])
def test_names_that_were_meant(ep, word, meant):
    code, _, err = ep("fit", word)
    assert code == 2 and f"did you mean {meant}?" in err
