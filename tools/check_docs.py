#!/usr/bin/env python3
"""What documents say of the source is there: sections of docs/theory.md that the source refers to, the places and tests of
CONTRIBUTING.md's table, a README in every folder, every file that a document names, and options that the source lists by name."""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = [p for d in "src include cli tests bench examples".split() for p in sorted((ROOT / d).rglob("*"))
        if p.suffix in (".c", ".h", ".py", ".cc")]
bad = []


def check(good, message):
    if not good:
        bad.append(message)


def theory():
    """'Theory: sections 4 and 10', over the ends of lines too -> how many there are; each has its heading."""
    sections = set(re.findall(r"^## (\d+)\. ", (ROOT / "docs/theory.md").read_text(), re.M))
    count = 0
    for path in CODE:
        text = re.sub(r"\s+(\* )?", " ", path.read_text())
        for numbers in re.findall(r"[Tt]heory(?:\.md)?:? sections? (\d+(?:(?:,| and|, and) \d+)*)", text):
            count += 1
            for n in re.findall(r"\d+", numbers):
                check(n in sections, f"{path.relative_to(ROOT)}: docs/theory.md has no section {n}")
    check(count >= 20, f"only {count} references to the theory were found: the pattern is not that of the source")
    return count


def contributing():
    """Rows of the table: `file` (`string`), the file is there and has the string; NAME: its folder is there."""
    rows = [r for r in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if re.match(r"\| an? ", r)]
    check(len(rows) >= 11, f"CONTRIBUTING.md: only {len(rows)} rows of the table were found")
    for row in rows:
        what, places, tests = (cell.strip() for cell in row.strip("|").split("|"))
        for cell in places, tests:
            found = re.findall(r"`([\w./]+/[\w.]+)`(?: \(`([^`]+)`\))?", cell)
            check(found, f"CONTRIBUTING.md, {what}: names no file")
            for name, string in found:
                path = ROOT / name
                if "NAME" in name:
                    check(path.parent.is_dir(), f"CONTRIBUTING.md, {what}: there is no folder {path.parent}")
                elif not path.is_file():
                    check(False, f"CONTRIBUTING.md, {what}: there is no {name}")
                else:
                    check(string, f"CONTRIBUTING.md, {what}: does not say what to look for in {name}")
                    check(string in path.read_text(), f"CONTRIBUTING.md, {what}: {name} has no '{string}'")
    return len(rows)


def option_lists():
    """Options that are listed by name, outside their tables: each is in a table."""
    tables = "".join(p.read_text() for p in CODE if p.suffix in (".c", ".h"))
    options = set(re.findall(r"\bX\(S, \w+, (\w+),|EP_OPT_ROW\(\w+, \w+, (\w+),", tables))
    options = {a or b for a, b in options}
    for name, pattern in (("src/method/methods.h", r'\.options = "([\w ]+)"'), ("src/objective/loss.h", r'\.options = "([\w ]+)"'),
                          ("cli/choose.c", r'\{"(\w+)", \w+, ')):
        found = re.findall(pattern, (ROOT / name).read_text())
        check(found, f"{name} names no options")
        for option in " ".join(found).split():
            check(option in options, f"{name}: there is no option '{option}'")


def defects():
    """Rows `| 7 | .. | `file` (`test`, `test`), .. |` of docs/reliability.md: every test is in its file, and one that is written
    for defects alone says so: Defect 7."""
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|$", (ROOT / "docs/reliability.md").read_text(), re.M)
    check([int(n) for n, _ in rows] == list(range(1, len(rows) + 1)) and len(rows) >= 15, "docs/reliability.md: defects are missing")
    for number, cell in rows:
        for name, tests in re.findall(r"`([\w./]+/[\w.]+)`(?: \(([^)]+)\))?", cell):
            text = (ROOT / name).read_text() if (ROOT / name).is_file() else ""
            check(text, f"docs/reliability.md, defect {number}: there is no {name}")
            for test in re.findall(r"`(\w+)`", tests):
                found = re.search(rf"def {test}\(.*\n +\"\"\"(.*)", text) if name.endswith(".py") else re.search(rf"\b{test}\b", text)
                check(found, f"docs/reliability.md, defect {number}: {name} has no {test}")
                said = re.findall(r"\d+", found[1].split(":")[0]) if found and name.endswith(".py") else [number]
                check(number in said, f"docs/reliability.md, defect {number}: {test} does not say so")
    return len(rows)


# written by programs, or explained by the README above them
NO_README = ("src/private/eigenpair", "docs/reproduce/", "docs/pages", "tests/fuzz/corpus/", "tests/fixtures/", "examples/python/figures")


def folders():
    """Each with more than two files of its own, each layer and kind of test, and what is at the top: a README that fits a screen."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    files = listed.stdout.split("\n") if listed.returncode == 0 else [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file()]
    count = collections.Counter(str(pathlib.PurePath(f).parent) for f in files if f and f.split("/")[0] not in ("build", ".git"))
    names = {n for n in count if count[n] > 2 or re.fullmatch(r"(src|tests)/\w+", n)} | {"data"}
    names = sorted(n for n in names - {"."} if not n.startswith(NO_README))
    check(len(names) > 30, f"only {len(names)} folders were found")
    for name in names:
        readme = ROOT / name / "README.md"
        check(readme.is_file(), f"{name} has no README.md")
        check(not readme.is_file() or len(readme.read_text().splitlines()) <= 25, f"{name}/README.md is long")
    return names


def named_files(names):
    """`path/file.c` in a README or a page of docs/, from the root, src/ or its folder; `file.c` alone: in any folder."""
    documents = [ROOT / name / "README.md" for name in names] + sorted((ROOT / "docs").glob("*.md"))
    documents += [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    everywhere = [p for name in names + ["docs"] for p in (ROOT / name).rglob("*")]
    for document in filter(pathlib.Path.is_file, documents):
        text = re.sub(r"\(`[^`]+`\)", "", document.read_text())  # what to look for
        for name in re.findall(r"`(\w[\w./*-]*\.(?:c|h|py|sh|js|mjs|cmake|md|cc))`", text):
            if "NAME" in name or name == "report.md":  # what the program writes
                continue
            there = (any(any(p.glob(name)) for p in (ROOT, ROOT / "src", document.parent)) if "/" in name else
                     any(p.match(name) for p in everywhere))
            check(there, f"{document.relative_to(ROOT)}: there is no {name}")


def papers():
    """Every page of statements stands in the site's contents and in the bibliography."""
    for page in sorted(set((ROOT / "docs/papers").glob("*.md")) - {ROOT / "docs/papers/README.md"}):
        check(f'"papers/{page.name}"' in (ROOT / "tools/site.py").read_text(), f"tools/site.py: NAV lacks papers/{page.name}")
        check(f"(papers/{page.name})" in (ROOT / "docs/bibliography.md").read_text(), f"docs/bibliography.md: no link to papers/{page.name}")


references, rows, listed, names = theory(), contributing(), defects(), folders()
option_lists()
named_files(names)
papers()
print("\n".join(bad) if bad else
      f"docs: {references} references to the theory, {rows} ways to add, {listed} defects, {len(names)} folders: all there")
sys.exit(bool(bad))
