"""How many labels will I need? The test error that a kernel will have, before any label but a few is there."""
import eigenpair as ep
import numpy as np
from figure import arguments, axes, save


def main():
    args = arguments()
    n = 150 if args.quick else 1000
    X, y = ep.data("digits", samples=n)
    K = ep.analytic_kernel(X / np.linalg.norm(X, axis=1, keepdims=True), depth=2)
    trains = [10, 20, 50] if args.quick else [10, 20, 50, 100, 200, 500]
    r = ep.learnability(K.astype(float), y, trains=trains, measure=2 if args.quick else 10)
    curve = r.curve
    for point in curve:
        print(f"{point['train']:6.0f} labels: error {point['predicted_mse']:.4f} predicted, "
              f"{point['measured']['mse']:.4f} measured")
    figure, ax = axes()
    ax.plot([p["train"] for p in curve], [p["predicted_mse"] for p in curve], "-", label="predicted")
    ax.plot([p["train"] for p in curve], [p["measured"]["mse"] for p in curve], "o", label="measured")
    ax.set(xscale="log", xlabel="labels", ylabel="mean squared error", title="A learning curve before the labels")
    ax.legend()
    save(figure, args, "learning_curve.png")


if __name__ == "__main__":
    main()
