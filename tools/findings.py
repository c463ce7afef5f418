#!/usr/bin/env python3
"""docs/findings.md with the papers of a newer run: `findings.py OLD NEW` prints OLD with the sections that NEW has in their
place, each with NEW's first lines (who made it, its size), and with NEW's rows in the table of open problems."""
import sys


def parts(text):
    """head, {title: body} in order"""
    head, *rest = text.split("\n## ")
    return head, {section.split("\n", 1)[0]: section.split("\n", 1)[1] for section in rest}


def rows(section):
    """lines of a table by what is in their first cell; the two lines of its head first"""
    return {line.split("|")[1].strip() or str(i): line for i, line in enumerate(section.splitlines()) if line.startswith("|")}


def merge(old, new):
    """A paper is NEW's where NEW has it, and says by what run; the head is OLD's."""
    (head, before), (by, after) = parts(old), parts(new)
    made = "\n" + by.split("\n\n", 1)[1].splitlines()[0] + "\n" if by != head else ""
    after = {title: body if title == "Open problems" else made + body for title, body in after.items()}
    papers = {row.split("-")[0] for section in after.values() for row in rows(section)}
    kept = {id: line for id, line in rows(before.get("Open problems", "")).items() if id.split("-")[0] not in papers}
    table = rows(after.get("Open problems", before.get("Open problems", "")))
    table = {**{id: line for id, line in table.items() if id in ("claim", "---")}, **kept, **table}
    out = {**before, **after, "Open problems": "\n" + "\n".join(table.values()) + "\n"}
    order = ["Open problems"] + [title for title in before if title != "Open problems"] + [t for t in after if t not in before]
    return head + "".join(f"\n## {title}\n{out[title]}" for title in dict.fromkeys(order))


if __name__ == "__main__":
    old, new = (open(path).read() for path in sys.argv[1:3])
    sys.stdout.write(merge(old, new))
