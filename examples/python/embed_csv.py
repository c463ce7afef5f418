"""Embed your own CSV: rows of numbers -> two dimensions, without labels and without training.

    python embed_csv.py --csv table.csv
"""
import eigenpair as ep
import numpy as np
from figure import arguments, axes, save


def example(n):
    """Three kinds of rows in ten columns of different units."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, n)
    return (rng.normal(size=(n, 10)) + 3 * np.eye(3, 10)[kind]) * 10.0 ** rng.integers(-2, 3, 10), kind


def main():
    args = arguments(csv=(None, "a file of numbers with a header line; none: made up"))
    X, kind = example(200 if args.quick else 2000)
    if args.csv:
        X, kind = np.genfromtxt(args.csv, delimiter=",", skip_header=1), None
    model = ep.Contrastive(method="whitened", scale="standard", augment="noise:0.3", n_components=2, width=500).fit(X)
    Z = model.transform(X)
    print(f"{len(X)} rows of {X.shape[1]} columns; RankMe {ep.metrics(Z).rankme:.2f} of 2")
    if kind is not None:
        print(f"nearest neighbours know the kind of {100 * ep.probe(Z, kind, kind='knn').accuracy:.0f} % of the rows")
    figure, ax = axes()
    ax.scatter(*Z.T, s=4, c=kind)
    ax.set(xlabel="z1", ylabel="z2", title="Rows of a table, embedded")
    save(figure, args, "embed_csv.png")


if __name__ == "__main__":
    main()
