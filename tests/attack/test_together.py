"""(h) Two processes in one folder: each ends as it would alone. Defects 4 and 12."""
import json

from conftest import LONG, contents, environment, run, settled, start

NO_NODE = environment(PATH="/none")  # nothing is drawn
COMPARE = ["compare", "--data", "moons:40", "--widths", "8,16", "--runs", 1, "--epochs", 20, "--outputs", 2, "--json"]
FIT = ["fit", "--data", "moons:60", "--width", 32, "--outputs", 2, "--epochs", 300, "--every", 5, "--checkpoint", "k.npz",
       "--out", "m.npz"]


def both(first, second, folder):
    processes = [start(args, folder, NO_NODE) for args in (first, second)]
    ends = [p.communicate(timeout=600) for p in processes]
    assert [p.returncode for p in processes] == [0, 0], ends
    return [out for out, _ in ends]


def test_two_comparisons_in_one_folder(tmp_path, tally):
    """Defect 4: two runs with other settings do not exchange weights; each has the numbers that it has alone."""
    rounds = 5 if LONG else 1
    for k in range(rounds):
        args = [[*COMPARE, "--seed", seed, "--methods", "gd,kernel,pca"] for seed in (1, 2)]
        alone = [json.loads(run([*a, "--out", f"alone{i}-{k}"], tmp_path, NO_NODE).stdout) for i, a in enumerate(args)]
        together = both(*([*a, "--out", f"one{k}"] for a in args), tmp_path)
        for a, b in zip(alone, map(json.loads, together)):
            assert settled(a["jobs"]) == settled(b["jobs"])
    tally("pairs of processes", rounds)


def test_two_fits_of_one_file(tmp_path, tally):
    """Defect 12: one model and one checkpoint, whole, from two that write it at once; nothing else stays."""
    rounds = 20 if LONG else 2
    alone = tmp_path / "alone"
    together = tmp_path / "together"
    alone.mkdir(), together.mkdir()
    assert run(FIT, alone).returncode == 0
    for _ in range(rounds):
        both(FIT, FIT, together)
        assert contents(together, ["k.npz"]) == contents(alone, ["k.npz"])
        assert run([*FIT, "--resume", "k.npz"], together).returncode == 0
    tally("pairs of processes", rounds)
