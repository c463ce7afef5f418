#!/usr/bin/python3
"""attack.py BUILD [--short] [--again] [--minutes=N] [--write | --page] [PART...]: runs the attacks of tests/attack on the program in BUILD,
in full or in short, all parts or some, two at a time. Every test that ends is a line of BUILD/attack/PART-FORM.log with its counts and revision;
one that passed with this very program and this very test is not run again, so that what was broken off (or ended by
--minutes, before its next test) goes on; --again: from the beginning. --write: docs/reliability.md from what is there, and from
the last runs of the fuzz targets; --page: that alone; a row whose part was not run here stays as it is on the page. Every row says which revision it
is of."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PARTS = {
    "allocations": ("a", "every n-th allocation fails once, ours, jansson's, libzip's, OpenSSL's",
                    "exit 0 only with the same bits; otherwise one line, exit 1"),
    "kills": ("b", "SIGKILL at random moments: fit by six methods, compare, reproduce, accumulate", "the same bits at the end, no stray file"),
    "writes": ("c, d", "open, fallocate, mmap, msync, fsync, rename, unlink fail; the power goes before and after each, with what "
               "was not synced lost; a write fails (EIO) or stops half way; the disk is full at byte n", "the old or the new file, whole"),
    "memory": ("e", "resident size under caps from 30M to 1G", "within the cap, or the floor of 40 MB, or refused"),
    "numbers": ("f", "32 data sets at the edge through 42 commands", "every number finite, or one line"),
    "bad_inputs": ("g", "bad options, files and combinations (tests/attack/bad_inputs.tsv)", "one line that says what, exit status, no file"),
    "together": ("h", "two processes in one folder", "each ends as it does alone"),
}


def revision():
    """The commit, with a + behind it where files differ from it."""
    git = lambda *words: subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True).stdout.strip()
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def key(build, part):
    """What a result is of: program, test and its table, and how much of (a)."""
    files = sorted((ROOT / "tests/attack").glob(f"*{part}.*"))
    parts = [(build / "eigenpair").read_bytes(), *(p.read_bytes() for p in files), os.environ.get("EP_ATTACK_MOST", "").encode()]
    return hashlib.sha256(b"".join(hashlib.sha256(p).digest() for p in parts)).hexdigest()[:16]


def run(build, part, form, again, end):
    log = build / f"attack/{part}-{form}.log"
    if again:
        log.unlink(missing_ok=True)
    env = dict(os.environ, EIGENPAIR=str(build / "eigenpair"), PYTHONDONTWRITEBYTECODE="1", EP_ATTACK=form,
               EP_ATTACK_LOG=str(log), EP_ATTACK_KEY=key(build, part), EP_ATTACK_REVISION=revision(), EP_ATTACK_END=str(end),
               EP_FAILING_MALLOC=str(build / "tests/libep_failing_malloc.so"),
               EP_FAILING_FILES=str(build / "tests/libep_failing_files.so"))
    words = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / f"tests/attack/test_{part}.py")]
    with open(log.with_suffix(".out"), "w") as out:
        done = subprocess.run(words, env=env, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT).returncode
    print(f"== {part}\n" + log.with_suffix(".out").read_text(), end="", flush=True)
    return done not in (0, 5) and not (done == 2 and time.time() > end)  # 5: nothing was left to do; 2: ended by the time


class Result:
    """What one part counted, in its longest form that was run: of every test its last run."""

    def __init__(self, build, part):
        self.form = next((f for f in ("long", "short") if (build / f"attack/{part}-{f}.log").exists()), None)
        lines = (build / f"attack/{part}-{self.form}.log").read_text().splitlines() if self.form else []
        tests = list({t["test"]: t for t in map(json.loads, lines)}.values())
        self.failed = sum(not t["passed"] for t in tests)
        self.seconds = sum(t["seconds"] for t in tests)
        self.values = [(name, value) for t in tests for name, value in t["counts"]]
        self.revisions = ", ".join(dict.fromkeys(t["revision"] for t in tests))

    def counts(self):
        sums = {}
        for name, value in self.values:
            sums[name] = sums.get(name, 0) + int(value)
        return ", ".join(f"{v:,} {k}" for k, v in sums.items())


def page():
    """Cells of the rows of tables on the page as it is."""
    path = ROOT / "docs/reliability.md"
    lines = path.read_text().splitlines() if path.exists() else []
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]


def row(cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def kept(first, columns):
    """The row of the page that begins so and has so many cells."""
    return row(next((r for r in page() if r[0] == first and len(r) == columns), [first] + ["-"] * (columns - 1)))


def attacks(build):
    rows = ["| | what is done | what must hold | how often | form | seconds | failed | revision |", "|---|---|---|---|---|---|---|---|"]
    for part, (letter, what, holds) in PARTS.items():
        r = Result(build, part)
        if not r.form:
            rows.append(kept(letter, 8))
            continue
        counts = f"{len(r.values)} pairs of case and cap" if part == "memory" else r.counts()
        rows.append(f"| {letter} | {what} | {holds} | {counts} | {r.form} | {r.seconds:.0f} | {r.failed} | {r.revisions} |")
    return rows


def memory(build):
    """Case, cap -> MB; what was not run here as the page has it."""
    caps = ["30M", "60M", "100M", "300M", "1G"]
    table = {r[0]: dict(zip(caps, r[1:])) for r in page() if len(r) == 6 and r[0]}
    for name, value in Result(build, "memory").values:
        case, cap = name.rsplit(", ", 1)
        table.setdefault(case, {})[cap] = str(value)
    return [row(["", *caps]), "|---|" + "---|" * len(caps), *(row([case, *(r.get(c, "") for c in caps)]) for case, r in table.items())]


def fuzz():
    """Reader -> runs, seconds, found, revision."""
    rows = []
    for name in sorted(p.name for p in (ROOT / "tests/fuzz/corpus").iterdir()):
        log = ROOT / f"build/fuzz/corpus/{name}.log"
        text = log.read_text(errors="replace") if log.exists() else ""
        numbers = lambda pattern: [int(n) for n in re.findall(pattern, text)]
        runs, rates = numbers(r"number_of_executed_units: *(\d+)"), numbers(r"average_exec_per_sec: *(\d+)")
        found = len(list(log.parent.glob(f"{name}-*")))
        if not runs and not found:
            rows.append(kept(name, 5))
            continue
        seconds = round(sum(n / max(1, rate) for n, rate in zip(runs, rates)))
        revisions = ", ".join(dict.fromkeys(re.findall(r"^revision: (\S+)", text, re.M)))
        rows.append(f"| {name} | {sum(runs):,} | {seconds:,} | {found} | {revisions} |")
    count = lambda k: sum(int(re.sub(r"\D", "", r.strip("| ").split(" | ")[k]) or 0) for r in rows)
    return ["| reader | runs | seconds | found | revision |", "|---|---|---|---|---|", *rows,
            f"| all | {count(1):,} | {count(2):,} | {count(3):,} | |"]


def write(build):
    text = (ROOT / "tools/reliability.in.md").read_text()
    for name, rows in ("ATTACKS", attacks(build)), ("MEMORY", memory(build)), ("FUZZ", fuzz()):
        text = text.replace(f"@{name}@", "\n".join(rows))
    (ROOT / "docs/reliability.md").write_text(text)


def main():
    words = sys.argv[1:]
    build, form = pathlib.Path(words.pop(0)).resolve(), "short" if "--short" in words else "long"
    minutes = next((float(w.split("=")[1]) for w in words if w.startswith("--minutes=")), 1e6)
    parts = [w for w in words if not w.startswith("--")] or ([] if "--page" in words else list(PARTS))
    (build / "attack").mkdir(exist_ok=True)
    end = time.time() + 60 * minutes
    with concurrent.futures.ThreadPoolExecutor(2) as pool:  # the first takes half of the time
        results = pool.map(lambda p: run(build, p, form, "--again" in words, end), parts)
    failed = [p for p, bad in zip(parts, results) if bad]
    if "--write" in words or "--page" in words:
        write(build)
    print(f"attack: {', '.join(failed) or 'nothing'} failed" if parts else "attack: docs/reliability.md is written")
    return bool(failed)


sys.exit(main())
