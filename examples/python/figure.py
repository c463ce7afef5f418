"""What the scripts share: their arguments, and where a figure goes."""
import argparse
import pathlib


def arguments(**more):
    """--quick, --out, and what else a script takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a small size")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="folder of the figure")
    for name, (default, text) in more.items():
        parser.add_argument(f"--{name}", default=default, help=text)
    return parser.parse_args()


def axes(**more):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    return plt.subplots(figsize=(6, 4), layout="constrained", **more)


def save(figure, args, name):
    args.out.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out / name, dpi=150)
    print(f"figure: {args.out / name}")
