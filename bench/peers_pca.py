#!/usr/bin/python3
"""Contrastive PCA as one would write it with NumPy and SciPy: features, C, the largest eigenpairs.

  peers_pca.py FOLDER TYPE   a.npy, p.npy, n.npy: anchors, positives, negatives; init.npz: V
                             float64: weights as NumPy draws them; float32: all in single precision, as ours

One JSON line: seconds without reading the files, and the eigenvalues.
"""
import json
import sys
import time

import numpy as np
from scipy.sparse.linalg import eigsh

folder = sys.argv[1]
A, P, N = (np.load(f"{folder}/{name}.npy") for name in "apn")
V = np.load(f"{folder}/init.npz")["V"].astype(sys.argv[2])
begin = time.perf_counter()


def psi(X):
    H = np.maximum(X @ V.T, 0)
    return H / (np.linalg.norm(H, axis=1, keepdims=True) + V.dtype.type(0.01 * len(V) ** 0.5))


C = psi(A).T @ (psi(P) - psi(N)) / len(A)
values, vectors = eigsh((C + C.T) / 2, k=64, which="LA")
seconds = time.perf_counter() - begin
resident = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"seconds": seconds, "peak_resident": resident, "eigenvalues": values[::-1].tolist()}))
