#!/usr/bin/python3
"""attack.py BUILD [--short] [--write] [PART...]: runs the attacks of tests/attack on the program in BUILD, in full or in short,
all parts or some; counts go to BUILD/attack. --write: docs/reliability.md from the counts that are there, and from the last
runs of the fuzz targets; nothing is said that was not run."""
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[1]
PARTS = {
    "allocations": ("a", "every n-th allocation fails once, ours, jansson's, libzip's, OpenSSL's",
                    "exit 0 only with the same bits; otherwise one line, exit 1"),
    "kills": ("b", "SIGKILL at random moments: fit by six methods, compare, reproduce, accumulate", "the same bits at the end, no stray file"),
    "writes": ("c, d", "open, fallocate, mmap, msync, fsync, rename, unlink fail; the power goes before and after each, with what "
               "was not synced lost; the disk is full at byte n", "the old or the new file, whole"),
    "memory": ("e", "resident size under caps from 30M to 1G", "within the cap, or the floor of 40 MB, or refused"),
    "numbers": ("f", "32 data sets at the edge through 25 commands", "every number finite, or one line"),
    "bad_inputs": ("g", "bad options, files and combinations (tests/attack/bad_inputs.tsv)", "one line that says what, exit status, no file"),
    "together": ("h", "two processes in one folder", "each ends as it does alone"),
}


def run(build, part, form):
    env = dict(os.environ, EIGENPAIR=str(build / "eigenpair"), PYTHONDONTWRITEBYTECODE="1", EP_ATTACK=form,
               EP_FAILING_MALLOC=str(build / "tests/libep_failing_malloc.so"),
               EP_FAILING_FILES=str(build / "tests/libep_failing_files.so"))
    out = build / f"attack/{part}-{form}.xml"
    return subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={out}",
                           str(ROOT / f"tests/attack/test_{part}.py")], env=env, cwd=ROOT).returncode


class Result:
    """What one part counted, in its longest form that was run."""

    def __init__(self, build, part):
        self.form = next((f for f in ("long", "short") if (build / f"attack/{part}-{f}.xml").exists()), None)
        suite = xml.parse(build / f"attack/{part}-{self.form}.xml").getroot()[0] if self.form else None
        number = lambda name: int(suite.get(name)) if self.form else 0
        self.tests, self.failed = number("tests"), number("failures") + number("errors")
        self.seconds = float(suite.get("time")) if self.form else 0
        self.values = [(p.get("name"), p.get("value")) for p in suite.iter("property")] if self.form else []

    def counts(self):
        sums = {}
        for name, value in self.values:
            sums[name] = sums.get(name, 0) + int(value)
        return ", ".join(f"{v:,} {k}" for k, v in sums.items())


def attacks(build):
    rows = ["| | what is done | what must hold | how often | form | seconds | failed |", "|---|---|---|---|---|---|---|"]
    for part, (letter, what, holds) in PARTS.items():
        r = Result(build, part)
        counts = f"{len(r.values)} pairs of case and cap" if part == "memory" else r.counts()
        rows.append(f"| {letter} | {what} | {holds} | {counts if r.form else ''} | {r.form or 'not run'} | {r.seconds:.0f} | {r.failed} |")
    return rows


def memory(build):
    table, caps = {}, []
    for name, value in Result(build, "memory").values:
        case, cap = name.rsplit(", ", 1)
        caps += [cap] if cap not in caps else []
        table.setdefault(case, {})[cap] = value
    return [f"| | {' | '.join(caps)} |", "|---|" + "---|" * len(caps)] + [
        f"| {case} | " + " | ".join(row.get(c, "") for c in caps) + " |" for case, row in table.items()]


def fuzz():
    rows, all_runs, all_seconds, all_found = ["| reader | runs | seconds | found |", "|---|---|---|---|"], 0, 0, 0
    for log in sorted((ROOT / "build/fuzz/corpus").glob("*.log")):
        text = log.read_text(errors="replace")
        numbers = lambda pattern: [int(n) for n in re.findall(pattern, text)]
        runs, rates = numbers(r"number_of_executed_units: *(\d+)"), numbers(r"average_exec_per_sec: *(\d+)")
        seconds = round(sum(n / max(1, rate) for n, rate in zip(runs, rates)))
        found = len(list(log.parent.glob(f"{log.stem}-*")))
        all_runs, all_seconds, all_found = all_runs + sum(runs), all_seconds + seconds, all_found + found
        rows.append(f"| {log.stem} | {sum(runs):,} | {seconds:,} | {found} |" if runs else f"| {log.stem} | ended early | | {found} |")
    return rows + [f"| all | {all_runs:,} | {all_seconds:,} | {all_found} |"]


def write(build):
    text = (ROOT / "tools/reliability.in.md").read_text()
    for name, rows in ("ATTACKS", attacks(build)), ("MEMORY", memory(build)), ("FUZZ", fuzz()):
        text = text.replace(f"@{name}@", "\n".join(rows))
    (ROOT / "docs/reliability.md").write_text(text)


def main():
    words = sys.argv[1:]
    build, form = pathlib.Path(words.pop(0)).resolve(), "short" if "--short" in words else "long"
    parts = [w for w in words if not w.startswith("--")] or ([] if words == ["--write"] else list(PARTS))
    (build / "attack").mkdir(exist_ok=True)
    failed = [p for p in parts if run(build, p, form)]
    if "--write" in words:
        write(build)
    print(f"attack: {', '.join(failed) or 'nothing'} failed" if parts else "attack: docs/reliability.md is written")
    return bool(failed)


sys.exit(main())
