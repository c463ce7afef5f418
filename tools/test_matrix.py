#!/usr/bin/env python3
"""The numerical tests and the papers' claims on other processors than this one, as far as one machine can tell: kernels of
several processors, BLAS's (OPENBLAS_CORETYPE) and ours (EP_KERNELS), one and two threads, several seeds. Nothing may depend
on them.

    tools/test_matrix.py BUILD            all of it: hours
    tools/test_matrix.py BUILD --claims linear wide-fig3    these alone, without the tests
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


def outcomes(build, row, seed, claims):
    """Outcome of every claim at the quick size."""
    with tempfile.TemporaryDirectory() as out:
        command = [build / "eigenpair", "reproduce", *claims, "--quick", "--seed", str(seed), "--json", "--out", out]
        env = dict(environment(*row), PATH="/none")  # nothing is drawn
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        return {c["id"]: c.get("outcome", "pass" if c["pass"] else "fail") for c in json.loads(done.stdout)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--tests", action="store_true", help="no claims")
    parser.add_argument("--claims", nargs="+", default=[], help="ids or papers: these alone, and no tests")
    args = parser.parse_args()
    build, bad, seen, begin = args.build.resolve(), 0, {}, time.time()
    for k, row in enumerate(todo := rows(args.short)):
        name = f"BLAS for {row[0] or 'this processor'}, ours {row[1] or 'as chosen'}, {row[2]} threads"
        if not args.claims:
            failed, count = run_tests(build, row, args.short)
            bad += len(failed)
            print(f"{name}: {count} test programs {'failed: ' + ' '.join(failed) if failed else 'pass'}", flush=True)
        seeds = [] if args.tests else range(5) if not args.short else [k] if k in (0, len(todo) - 1) else []
        for seed in seeds:
            got = outcomes(build, row, seed, args.claims or (CLAIMS if args.short else []))
            for claim, outcome in got.items():
                first = seen.setdefault(claim, (outcome, name, seed))
                if first[0] != outcome:
                    bad += 1
                    print(f"  {claim}: {outcome} with {name}, seed {seed}; {first[0]} with {first[1]}, seed {first[2]}", flush=True)
            print(f"{name}: seed {seed}, {len(got)} claims looked at", flush=True)
    said = f"{bad} differences" if bad else "nothing depends on processor, threads or seed"
    print(f"matrix: {said}; {time.time() - begin:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
