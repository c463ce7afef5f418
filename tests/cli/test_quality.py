"""bench/quality.py, the smallest setting from fit to probe."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def quality(call, tmp_path, *words):
    env = dict(call()["env"], EIGENPAIR=call()["args"][0])
    done = subprocess.run([ROOT / "bench/quality.py", "digits", *words, "--json", tmp_path / "q.json"], capture_output=True,
                          text=True, env=env, timeout=600)
    assert done.returncode == 0, done.stderr
    [result] = json.loads((tmp_path / "q.json").read_text())
    return result, done.stdout


def test_recipe(tmp_path, call):
    """On test points; the numbers are those of its table."""
    result, out = quality(call, tmp_path, "--samples", "400", "--test-samples", "300")
    [row] = result["test"]
    assert f"| {row['knn']:.2f} | {row['linear']:.2f} | {row['ridge']:.2f} |" in out and out.count("| digits |") == 1
    assert min(row["knn"], row["linear"], row["ridge"]) > 80


def test_choosing(tmp_path, call):
    """On training points: the recipe and what was tried in its place."""
    result, out = quality(call, tmp_path, "--choose", "300")
    assert out.count("| digits |") == len(result["held_out"]) == 2
    assert min(min(r["knn"], r["linear"]) for r in result["held_out"]) > 80


def test_unknown_set():
    done = subprocess.run([ROOT / "bench/quality.py", "nonsense"], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 2 and "nonsense" in done.stderr
