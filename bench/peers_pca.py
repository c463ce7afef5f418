#!/usr/bin/python3
"""Contrastive PCA as one would write it with NumPy and SciPy, float32: features, C, the largest eigenpairs.

  peers_pca.py FOLDER     a.npy, p.npy, n.npy: anchors, positives, negatives; init.npz: V

One JSON line: seconds without reading the files, and the eigenvalues.
"""
import json
import sys
import time

import numpy as np
from scipy.sparse.linalg import eigsh

folder = sys.argv[1]
A, P, N = (np.load(f"{folder}/{name}.npy") for name in "apn")
V = np.load(f"{folder}/init.npz")["V"]
begin = time.perf_counter()


def psi(X):
    H = np.maximum(X @ V.T, 0)
    return H / (np.linalg.norm(H, axis=1, keepdims=True) + np.float32(0.01 * len(V) ** 0.5))


C = psi(A).T @ (psi(P) - psi(N)) / len(A)
values, vectors = eigsh((C + C.T) / 2, k=64, which="LA")
print(json.dumps({"seconds": time.perf_counter() - begin, "eigenvalues": values[::-1].tolist()}))
