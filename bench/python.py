#!/usr/bin/env python3
"""What Python adds to the C call: transform and ntk of 10,000 x 784 beside the library's functions on the same arrays, in
turns, in one process; and the import. Ratios of medians; below 1.05 is what is asked."""
import statistics
import subprocess
import sys
import time

import eigenpair as ep
import numpy as np
from eigenpair._core import check, ffi, lib, matrix, work
from eigenpair._model import run_config
from eigenpair._network import from_arrays


def race(name, ours, plain, turns=31):
    times = ([], [])
    for _ in range(turns):
        for which, call in enumerate((ours, plain)):
            start = time.perf_counter()
            call()
            times[which].append(time.perf_counter() - start)
    a, b = map(statistics.median, times)
    print(f"{name:<28} {1e3 * a:9.1f} ms  C call {1e3 * b:9.1f} ms  ratio {a / b:.3f}")


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    X = np.random.default_rng(0).normal(size=(n, 784)).astype(np.float32)
    model = ep.Contrastive(method="pca", n_components=64, width=1000).fit(X[:2000])

    def into(columns, call):
        """call(result) with a matrix of its own, as Python's has: its pages are met for the first time"""
        result = ffi.new("ep_mat *")
        check(lib.ep_mat_new(result, lib.EP_SINGLE, n, columns))
        check(call(result))
        lib.ep_mat_free(result)

    def embed(run):
        into(64, lambda E: lib.ep_model_embed(run, E, model.model_._pointer, matrix(X)))

    def kernel(run):
        into(m, lambda K: lib.ep_ntk_empirical(run, K, own.net, matrix(X), matrix(X[:m]), lib.EP_TRACE, lib.ep_run_room()))

    race(f"transform {n} x 784", lambda: model.transform(X), lambda: work(embed, run_config({})))
    net = {"V": np.random.default_rng(1).normal(size=(500, 784)).astype(np.float32),
           "W": np.random.default_rng(2).normal(size=(500, 10)).astype(np.float32)}
    own = from_arrays(net, np.float32)
    m = n // 5
    race(f"ntk {n} x {m}, trace", lambda: ep.ntk(own, X, X[:m], layout="trace"), lambda: work(kernel, run_config({})))
    code = "import numpy, time; t = time.perf_counter(); import eigenpair; print(time.perf_counter() - t)"
    seconds = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))
    print(f"import, NumPy aside          {seconds:.3f} s")


if __name__ == "__main__":
    main()
