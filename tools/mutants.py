#!/usr/bin/env python3
"""Every claim names a change of the program under which its test goes red (`eigenpair reproduce --list`). This tries them:
the sources are copied, the change is made, the program is built, the claim runs at its quick size and must not pass.

    tools/mutants.py FOLDER                 all of them; FOLDER keeps copy and build
    tools/mutants.py FOLDER linear wide-fig3   these alone

Prints a line a claim; exit status 1 if one is not seen.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORM = re.compile(r"(\S+): `(.+)` becomes `(.*)`$")


def build(folder):
    """The program, or None if it does not compile."""
    done = subprocess.run(["cmake", "--build", folder, "--target", "ep_program", "-j", os.environ.get("JOBS", "2")],
                          capture_output=True, text=True)
    if done.returncode:
        sys.stdout.write(done.stdout[-2000:] + done.stderr[-2000:])
    return None if done.returncode else folder / "eigenpair"


def run(program, ids, out):
    """Claims by id at the quick size."""
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run([program, "reproduce", *ids, "--quick", "--json", "--out", out], capture_output=True, text=True)
    try:
        return {c["id"]: c for c in json.loads(done.stdout)}
    except json.JSONDecodeError:  # it died: that is seen, too
        return {id: {"pass": False, "outcome": f"exit {done.returncode}"} for id in ids}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("claims", nargs="*")
    args = parser.parse_args()
    folder = args.folder.resolve()
    copy = folder / "source"
    made = copy / "build/release"  # as in this tree, so that a cache of objects helps
    copy.mkdir(parents=True, exist_ok=True)
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.split("\n")
    for name in filter(None, files):
        to, text = copy / name, (ROOT / name).read_bytes()
        to.parent.mkdir(parents=True, exist_ok=True)
        if not to.exists() or to.read_bytes() != text:  # times stay, so that little is built again
            to.write_bytes(text)
    subprocess.run(["cmake", "-S", copy, "-B", made, "-DCMAKE_BUILD_TYPE=Release"], capture_output=True, check=True)
    program = build(made)
    listed = subprocess.run([program, "reproduce", *args.claims, "--list", "--json"], capture_output=True, text=True,
                            check=True).stdout
    groups, unseen = {}, 0
    for claim in json.loads(listed):
        if claim["mutation"]:
            groups.setdefault(claim["mutation"], []).append(claim["id"])
        else:
            print(f"{claim['id']:24} names none", flush=True)
    for mutation, ids in groups.items():
        name, old, new = FORM.match(mutation).groups()
        path = copy / name
        text = path.read_text()
        if text.count(old) != 1:
            print(f"{' '.join(ids)}: `{old}` is {text.count(old)} times in {name}", flush=True)
            unseen += len(ids)
            continue
        path.write_text(text.replace(old, new))
        changed = build(made)
        got = run(changed, ids, folder / "out") if changed else {}
        path.write_text(text)
        for id in ids:
            red = id in got and not got[id]["pass"]
            unseen += not red
            print(f"{id:24} {got[id]['outcome'] if id in got else 'not built':8} {'' if red else 'NOT SEEN  '}{mutation}", flush=True)
    print("mutants: every one is seen" if not unseen else f"mutants: {unseen} not seen")
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
