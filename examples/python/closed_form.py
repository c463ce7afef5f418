"""Closed form or training? Whitened patches, solved at once, beside a network that descends on NT-Xent, on CIFAR-10 where it
is on this machine (`eigenpair data fetch cifar10`), else on the embedded digits."""
import time

import eigenpair as ep
from figure import arguments, axes, save


def load(quick):
    """-> name, training and test points with labels, image shape"""
    for name, shape in (("cifar10", (3, 32, 32)), ("digits", (28, 28))):
        try:
            sizes = (300, 200) if quick else (2000, 1000)
            train, test = ep.data(name, samples=sizes[0]), ep.data(f"{name}:test", samples=sizes[1])
            return name, train, test, shape
        except ValueError as e:
            print(e)
    raise SystemExit("no data")


def main():
    args = arguments()
    name, (X, y), (X_test, y_test), shape = load(args.quick)
    filters = 32 if args.quick else 256
    ways = {
        "closed form": dict(method="whitened", features=f"patches:{filters},6,2", views=2, augment="crop:0.5-1,flip",
                            ridge=0.1),
        "training": dict(method="gd", loss="ntxent", augment="crop:0.5-1,flip", width=200 if args.quick else 1000,
                         epochs=5 if args.quick else 100, rate=1.0, pairs="positives"),
    }
    figure, ax = axes()
    for i, (way, options) in enumerate(ways.items()):
        start = time.perf_counter()
        model = ep.Contrastive(n_components=16 if args.quick else 64, image_shape=shape, **options).fit(X)
        seconds = time.perf_counter() - start
        r = ep.probe(model.transform(X), y, model.transform(X_test), y_test)
        print(f"{way:>12} on {name}: {100 * r.accuracy:.1f} % in {seconds:.1f} s")
        ax.bar(i, 100 * r.accuracy)
        ax.annotate(f"{seconds:.1f} s", (i, 100 * r.accuracy), ha="center", va="bottom")
    ax.set(xticks=range(len(ways)), xticklabels=ways, ylabel="accuracy of a linear probe, %", title=f"{name}, no labels used")
    save(figure, args, "closed_form.png")


if __name__ == "__main__":
    main()
