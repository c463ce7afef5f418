"""eigenpair plan: the model's identities, and its memory against what a run takes. Times depend on the machine: their
comparison with runs is tools/scale_check.py."""
import json

import pytest


@pytest.fixture
def plan(good):
    return lambda *args: json.loads(good("plan", "--json", *args))


def test_operations_by_the_formula(plan):
    """N R f + N (R + 1) M^2, and what every rank solves: M^3 / 3 + 14 (Z + 8) 4 M^2."""
    p = plan("--points", 1e7, "--views", 3, "--width", 500, "--dimension", 60, "--outputs", 10, "--nodes", 4, "--ranks", 8)
    f = 2 * 60 * 500
    assert p["features"] == 500 and p["flops"] == f
    solve = 500**3 / 3 + 14 * 18 * 4 * 500**2
    assert p["operations"] == pytest.approx(1e7 * 3 * f + 1e7 * 4 * 500**2 + 32 * solve)
    assert p["sums"] == pytest.approx(1e7 * 4 * 500**2 / (32 * p["rates"]["product"]))
    assert p["bytes"] == pytest.approx(2 * 16 * 500**2 * 31 / 32)
    assert p["seconds"] == pytest.approx(sum(p[k] for k in ("views", "map", "sums", "solve", "traffic")))


@pytest.mark.parametrize("method", ["whitened", "pca", "gd"])
def test_alone_nothing_travels(plan, method):
    p = plan("--method", method, "--ranks", 1, "--width", 100)
    assert p["bytes"] == p["traffic"] == 0 and p["seconds"] > 0


def test_what_can_be_afforded(plan):
    """So many points take the hours there are, at the rates that this very run has measured."""
    p = plan("--width", 300, "--hours", 0.5, "--ranks", 2, "--points", 1e6)
    times = p["affordable_points"] / 1e6
    assert times * (p["views"] + p["map"] + p["sums"]) + p["solve"] + p["traffic"] == pytest.approx(1800, rel=1e-6)
    small = plan("--points", 1e9, "--width", 20000, "--memory", "8G", "--ranks", 4)
    assert not small["fits"] and small["affordable_features"] < 20000


def test_memory_of_a_run(plan, good):
    """The model is what the program holds, to a quarter."""
    how = ["--width", 700, "--outputs", 8]
    p = plan(*how, "--points", 2000, "--ranks", 1)
    run = json.loads(good("accumulate", "--data", "digits", "--samples", 2000, *how, "--json"))
    assert 0.75 < run["peak_memory"] / p["memory"] < 1.25, (run["peak_memory"], p["memory"])


def test_spread_over_ranks(plan, good):
    """Whole matrices take 24 M^2 bytes a rank; 64 ranks of 4 GiB have their parts of 60,000 features, and share the solve."""
    how = ["--points", 1e6, "--views", 2, "--dimension", 60, "--width", 60000, "--outputs", 10, "--nodes", 64, "--ranks", 1]
    whole, parts = plan(*how), plan(*how, "--memory", "4G")
    assert not whole["spread"] and parts["spread"] and parts["fits"] and whole["memory"] > 24 * 60000**2
    solve = 60000**3 / 3 + 14 * 18 * 4 * 60000**2
    assert parts["solve"] == pytest.approx(solve / (64 * parts["rates"]["solve"]))
    assert parts["sums"] == pytest.approx(2 * 1e6 * 3 * 60000**2 / (64 * parts["rates"]["product"]))
    assert parts["bytes"] == pytest.approx(1e6 * 2 * 60000 * 4 * 63 / 64)
    assert 24 * 60000**2 / 64 < parts["memory"] < 4 * 2**30
    assert "scalapack, B and C spread over 64 ranks: 0.838 GiB of 53.6, which do not fit" in good("plan", *how, "--memory", "4G")
    assert not plan(*how, "--memory", "4G", "--method", "pca")["spread"]


@pytest.mark.parametrize("ranks", [4, 16, 64])
def test_the_solver_that_is_asked_for(plan, good, ranks):
    """--solver: of 24 M^2 bytes whole a rank has its share, whatever --memory is; the line says which is planned."""
    M, how = 20000, ["--points", 1e5, "--dimension", 60, "--width", 20000, "--outputs", 10, "--ranks", ranks]
    local, spread, elpa = (plan(*how, "--solver", s) for s in ("local", "scalapack", "elpa"))
    assert (local["solver"], spread["solver"], elpa["solver"]) == ("local", "scalapack", "elpa")
    assert not local["spread"] and spread["spread"] and elpa["memory"] == spread["memory"]
    rest = spread["memory"] - 24 * M**2 / ranks
    assert 0 < rest < 0.1 * 24 * M**2 and local["memory"] > 24 * M**2
    assert spread["solve"] * spread["rates"]["solve"] == pytest.approx(local["solve"] * local["rates"]["solve"] / ranks)
    small = plan(*how, "--solver", "local", "--memory", "8G")
    assert not small["spread"] and not small["fits"] and plan(*how, "--memory", "8G")["spread"]
    assert "solver    local: whole matrices of 5.96 GiB on every rank" in good("plan", *how)
    assert f"solver    elpa, B and C spread over {ranks} ranks" in good("plan", *how, "--solver", "elpa")


def test_memory_does_not_grow_with_views(plan):
    """whitened lists no pairs; pca does, 25 bytes a point with its view."""
    few, many = (plan("--width", 100, "--points", n) for n in (1e6, 1e9))
    assert few["memory"] == many["memory"]
    few, many = (plan("--width", 100, "--points", n, "--method", "pca") for n in (1e6, 1e9))
    assert many["memory"] - few["memory"] == pytest.approx(25 * (1e9 - 1e6))


def test_words_for_a_person(good, ep):
    text = good("plan", "--points", 1e9, "--width", 5000, "--ranks", 1, "--hours", 0.001)
    assert "sample: --samples" in text and "afford" in text
    assert "does not fit" in good("plan", "--points", 100, "--width", 3000, "--ranks", 4, "--memory", "100M")
    bad = ep("plan", "--features", "patches:9,5,2")
    assert bad.code == 2 and "--image" in bad.err
