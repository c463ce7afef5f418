#!/usr/bin/env python3
"""docs/papers/PAPER.md from `eigenpair reproduce --list --all --json` on standard input: every statement of a paper."""
import json
import sys


def page(rows):
    """The statements of one paper as Markdown."""
    name = rows[0]["paper"]
    lines = [f"# {name.upper()}, statement by statement", "",
             f"Made by `eigenpair reproduce {name} --list --all` (tools/papers.py). Outcomes are those of the committed run",
             "(docs/findings.md has its size), but where a row names another size and its data;",
             "*defined*: nothing to check, used by what is named; *answered*: a question.", "",
             "| statement | claim or command | outcome | |", "|---|---|---|---|"]
    cell = lambda text: text.replace("|", "\\|")
    lines += [f"| {cell(r['where'])} | `{r['by']}` | {r['outcome']} | {cell(r['note'])} |" for r in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page(json.load(sys.stdin)))
