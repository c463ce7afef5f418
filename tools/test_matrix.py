#!/usr/bin/env python3
"""The numerical tests and the papers' claims on other processors than this one, as far as one machine can tell: kernels of
several processors, BLAS's (OPENBLAS_CORETYPE) and ours (EP_KERNELS), one and two threads, several seeds. Nothing may depend
on them.

    tools/test_matrix.py BUILD            all of it: hours
    tools/test_matrix.py BUILD --claims linear wide-fig3    these alone, without the tests
    tools/test_matrix.py BUILD --claims tangent --thin --keep FOLDER    each of BLAS's kernels with each seed, on one and two threads in
                                          turn; results stay in FOLDER, and what is there is not run again. JOBS=2: two settings at once
    tools/test_matrix.py BUILD --tests    the tests alone
    tools/test_matrix.py BUILD --short    each of our kernels once, with one of BLAS's, and a few claims: a minute or two; not those
                                          that this processor gets, which `make test` goes through
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

BLAS = ["Prescott", "Nehalem", "Haswell", "Zen", "SkylakeX"]
OURS = ["plain", "v2", "v3", "v4"]
NEEDS = {"Haswell": "avx2", "Zen": "avx2", "SkylakeX": "avx512f", "v3": "avx2", "v4": "avx512vl"}
SHORT = [("Prescott", "plain", 1), ("Nehalem", "v2", 2), ("Haswell", "v3", 2), ("SkylakeX", "v4", 2)]
CLAIMS = ["wide-fig3", "wide-prop18", "wide-open-start", "linear-fig4", "tangent-nngp", "optima-exact"]
NO_NUMBERS = """array augment colour explore figure file formats lend options pictures report reproduce run synthetic table
verdict""".split()  # of the tests, what the short form leaves out


def possible(*names):
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return all(NEEDS.get(n, "") in flags for n in names)


def rows(short):
    """(BLAS's kernels, ours, threads); an empty name: what the processor would get"""
    every = [(b, "", t) for b in BLAS for t in (1, 2)] + [("", o, t) for o in OURS for t in (1, 2)]
    able = [r for r in (SHORT if short else every) if possible(*r[:2])]
    return able[:-1] or able if short else able


def environment(blas, ours, threads):
    more = {"OPENBLAS_CORETYPE": blas, "EP_KERNELS": ours, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    return dict(os.environ, **{k: v for k, v in more.items() if v})


def run_tests(build, row, short):
    """C tests, several at a time -> those that fail, how many there are."""
    tests = [t for t in sorted((build / "tests").glob("*_test_*")) if t.is_file() and os.access(t, os.X_OK)]
    tests = [t for t in tests if not (short and t.name.split("_test_")[1] in NO_NUMBERS)]
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count()))) as pool:
        done = list(pool.map(lambda t: subprocess.run([t], env=environment(*row), capture_output=True, text=True), tests))
    for d in done:
        if d.returncode:
            sys.stdout.write(d.stdout[-2000:] + d.stderr[-2000:])
    return [t.name for t, d in zip(tests, done) if d.returncode], len(tests)


def outcomes(build, row, seed, claims, keep):
    """Outcome of every claim at the quick size; from `keep` if it is there."""
    name = "-".join([row[0] or "own", row[1] or "own", str(row[2]), str(seed), *claims]) + ".json"
    if not keep or not (keep / name).exists():
        with tempfile.TemporaryDirectory() as out:
            command = [build / "eigenpair", "reproduce", *claims, "--quick", "--seed", str(seed), "--json", "--out", out]
            env = dict(environment(*row), PATH="/none")  # nothing is drawn
            text = subprocess.run(command, env=env, capture_output=True, text=True).stdout
        if keep:
            json.loads(text)
            (keep / name).write_text(text)
    else:
        text = (keep / name).read_text()
    return {c["id"]: c.get("outcome", "pass" if c["pass"] else "fail") for c in json.loads(text)}


def compare(build, settings, claims, keep):
    """Claims in (row, seed) settings, JOBS of them at once -> how many outcomes differ from the first of their claim."""
    bad, seen = 0, {}
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", 1))) as pool:
        for (row, seed), got in zip(settings, pool.map(lambda s: outcomes(build, *s, claims, keep), settings)):
            for claim, outcome in got.items():
                first = seen.setdefault(claim, (outcome, said(row), seed))
                if first[0] != outcome:
                    bad += 1
                    print(f"  {claim}: {outcome} with {said(row)}, seed {seed}; {first[0]} with {first[1]}, seed {first[2]}", flush=True)
            print(f"{said(row)}: seed {seed}, {len(got)} claims looked at", flush=True)
    return bad


def said(row):
    return f"BLAS for {row[0] or 'this processor'}, ours {row[1] or 'as chosen'}, {row[2]} threads"


def settings_of(todo, args):
    """(row, seed) of the claims that are to be run."""
    if args.tests:
        return []
    if args.short:
        return [(row, k) for k, row in enumerate(todo) if k in (0, len(todo) - 1)]
    if args.thin:
        kernels = [b for b in BLAS if possible(b)]
        return [((b, "", 1 + (k + seed) % 2), seed) for seed in range(5) for k, b in enumerate(kernels)]
    return [(row, seed) for row in todo for seed in range(5)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--thin", action="store_true")
    parser.add_argument("--tests", action="store_true", help="no claims")
    parser.add_argument("--claims", nargs="+", default=[], help="ids or papers: these alone, and no tests")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the results of claims")
    args = parser.parse_args()
    build, bad, begin, todo = args.build.resolve(), 0, time.time(), rows(args.short)
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
    for row in [] if args.claims else todo:
        failed, count = run_tests(build, row, args.short)
        bad += len(failed)
        print(f"{said(row)}: {count} test programs {'failed: ' + ' '.join(failed) if failed else 'pass'}", flush=True)
    bad += compare(build, settings_of(todo, args), args.claims or (CLAIMS if args.short else []), args.keep)
    print(f"matrix: {f'{bad} differences' if bad else 'nothing depends on processor, threads or seed'}; {time.time() - begin:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
