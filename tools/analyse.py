#!/usr/bin/python3
"""analyse.py BUILD: static analysis of core, data and cli, as they are compiled there: gcc -fanalyzer, and clang-tidy with what
.clang-tidy names. A finding that is none is marked where it stands, with its reason (NOLINT, or a pragma for gcc)."""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("src/core/", "src/data/", "cli/")
LEFT_OUT = ("-D_FORTIFY_SOURCE=2", "-O3", "-fopenmp")  # of the compiler's own doing, which is not what is looked at


def sources(build):
    """Path -> the words it is compiled with, once a file: hot loops, compiled eight times from one source, as they are first."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""
        if name.startswith(FOLDERS):
            commands.setdefault(name, [w for w in shlex.split(entry["command"]) if w not in LEFT_OUT])
    return commands


def flags(words):
    """The words between the compiler, which may stand behind ccache, and the files."""
    begin = next((i + 1 for i, w in enumerate(words) if w.endswith("ccache")), 0)
    return words[begin + 1:words.index("-o")]


def gcc(name, words):
    return ["gcc", *flags(words), "-O1", "-fanalyzer", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused-parameter",
            "-Wno-unused-function", "-c", str(ROOT / name), "-o", os.devnull]


def tidy(name, words):
    return ["clang-tidy", "--quiet", "--warnings-as-errors=*", str(ROOT / name), "--", *flags(words), "-Wno-unknown-pragmas",
            "-Wno-unknown-warning-option", "-Wno-unused-parameter", "-Wno-unused-function"]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    commands, bad = sources(build), 0
    for title, tool in ("gcc -fanalyzer", gcc), ("clang-tidy", tidy):
        begin = time.time()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            done = list(pool.map(lambda c: subprocess.run(tool(*c), cwd=build, capture_output=True, text=True), commands.items()))
        failed = [d for d in done if d.returncode]
        for d in failed:
            print((d.stdout or d.stderr).strip())
        bad += len(failed)
        print(f"{title}: findings in {len(failed)} of {len(done)} files, {time.time() - begin:.0f} s", flush=True)
    return bad > 0


sys.exit(main())
