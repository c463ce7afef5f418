#!/usr/bin/env python3
"""The numerical tests and the papers' claims on other processors than this one, as far as one machine can tell: BLAS kernels
of several processors (OPENBLAS_CORETYPE), one and two threads, several seeds. Nothing may depend on them.

    tools/test_matrix.py BUILD            all of it: hours
    tools/test_matrix.py BUILD --claims linear wide-fig3    these alone, without the tests
    tools/test_matrix.py BUILD --short    the oldest kernels on one thread, a few claims: minutes
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CORES = ["Prescott", "Nehalem", "Haswell", "Zen", "SkylakeX"]
NEEDS = {"Haswell": "avx2", "Zen": "avx2", "SkylakeX": "avx512f"}
SHORT = ["wide-fig3", "wide-prop18", "wide-open-start", "linear-fig4", "tangent-nngp", "optima-exact"]


def cores():
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return [c for c in CORES if NEEDS.get(c, "") in flags]


def environment(core, threads):
    return dict(os.environ, OPENBLAS_CORETYPE=core, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive")


def run_tests(build, core, threads):
    """Every C test; those that fail."""
    failed = []
    for test in sorted((build / "tests").glob("*_test_*")):
        if test.is_file() and os.access(test, os.X_OK):
            done = subprocess.run([test], env=environment(core, threads), capture_output=True, text=True)
            if done.returncode:
                failed.append(test.name)
                sys.stdout.write(done.stdout[-2000:] + done.stderr[-2000:])
    return failed


def outcomes(build, core, threads, seed, claims):
    """Outcome of every claim at the quick size."""
    with tempfile.TemporaryDirectory() as out:
        command = [build / "eigenpair", "reproduce", *claims, "--quick", "--seed", str(seed), "--json", "--out", out]
        done = subprocess.run(command, env=environment(core, threads), capture_output=True, text=True)
        return {c["id"]: c.get("outcome", "pass" if c["pass"] else "fail") for c in json.loads(done.stdout)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--claims", nargs="+", default=[], help="ids or papers: these alone, and no tests")
    args = parser.parse_args()
    build, bad, seen = args.build.resolve(), 0, {}
    names = cores()[:1] if args.short else cores()
    for core in names:
        for threads in (1,) if args.short else (1, 2):
            failed = [] if args.claims else run_tests(build, core, threads)
            bad += len(failed)
            print(f"{core:10} {threads} threads: tests {'failed: ' + ' '.join(failed) if failed else 'pass'}", flush=True)
            for seed in (0, 1) if args.short else range(5):
                got = outcomes(build, core, threads, seed, args.claims or (SHORT if args.short else []))
                for claim, outcome in got.items():
                    first = seen.setdefault(claim, (outcome, core, threads, seed))
                    if first[0] != outcome:
                        bad += 1
                        print(f"  {claim}: {outcome} with {core}, {threads} threads, seed {seed}; "
                              f"{first[0]} with {first[1]}, {first[2]} threads, seed {first[3]}", flush=True)
            print(f"{core:10} {threads} threads: {len(got)} claims looked at", flush=True)
    print("matrix: nothing depends on processor, threads or seed" if not bad else f"matrix: {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
