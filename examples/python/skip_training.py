"""May I skip training? The frozen kernel and PCA of random features beside gradient descent, over widths."""
import eigenpair as ep
import numpy as np
from figure import arguments, axes, save


def main():
    args = arguments()
    X, y = ep.data("digits", samples=60 if args.quick else 200)
    widths = [20, 60] if args.quick else [100, 300, 1000]
    r = ep.compare(X, labels=y, widths=widths, methods=["gd", "kernel", "pca"], runs=1 if args.quick else 3,
                   epochs=5 if args.quick else 100, n_components=5, image_shape=(28, 28))
    for row in r.table:
        print(f"{row['method']:>18} {row['width'] or 'infinite':>8} accuracy {row['accuracy'] or float('nan'):.3f}")
    figure, ax = axes()
    for method in ("gd", "kernel", "pca"):
        rows = [row for row in r.table if row["method"] == method and row["width"]]
        ax.plot([row["width"] for row in rows], [row["accuracy"] or np.nan for row in rows], "o-", label=method)
    ax.set(xscale="log", xlabel="width", ylabel="accuracy of a linear probe", title="Training, and what may replace it")
    ax.legend()
    save(figure, args, "skip_training.png")
    r.save(args.out / "skip_training.json")


if __name__ == "__main__":
    main()
