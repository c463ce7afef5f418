"""bench/quality.py, the smallest setting from fit to probe."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_digits(tmp_path, call):
    """Candidates are compared on training points, the best one on test points, and the numbers are those of its table."""
    env = dict(call()["env"], EIGENPAIR=call()["args"][0])
    done = subprocess.run([ROOT / "bench/quality.py", "digits", "--samples", "400", "--test-samples", "300", "--memory", "1G",
                           "--json", tmp_path / "q.json"], capture_output=True, text=True, env=env, timeout=600)
    assert done.returncode == 0, done.stderr
    [result] = json.loads((tmp_path / "q.json").read_text())
    [row] = result["test"]
    assert f"| {row['knn']:.2f} | {row['linear']:.2f} | {row['ridge']:.2f} |" in done.stdout
    assert result["chosen"]["features"] in done.stdout and done.stdout.count("| digits |") == 3
    assert min(row["knn"], row["linear"], row["ridge"]) > 80


def test_unknown_set():
    done = subprocess.run([ROOT / "bench/quality.py", "nonsense"], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 2 and "nonsense" in done.stderr
