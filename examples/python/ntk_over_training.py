"""How far does training move the tangent kernel? A PyTorch network on a toy problem, its kernel every few steps, two widths."""
import eigenpair as ep
import numpy as np
from figure import arguments, axes, save


def train(width, steps, every):
    """-> steps and |K_t - K_0| / |K_0| of a network in the standard parametrisation"""
    import torch
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 20, dtype=torch.float64)[:, None]
    y = torch.sin(3 * x)
    net = torch.nn.Sequential(torch.nn.Linear(1, width), torch.nn.Tanh(), torch.nn.Linear(width, 1)).double()
    optimiser = torch.optim.SGD(net.parameters(), lr=2 / width)  # in this parametrisation the kernel grows with the width
    start, at, drift = ep.ntk(net, x, layout="trace"), [], []
    for step in range(steps + 1):
        if step % every == 0:
            K = ep.ntk(net, x, layout="trace")
            at.append(step)
            drift.append(np.linalg.norm(K - start) / np.linalg.norm(start))
        optimiser.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        optimiser.step()
    return at, drift


def main():
    args = arguments()
    figure, ax = axes()
    for width in (30, 300) if args.quick else (100, 1000, 10000):
        at, drift = train(width, *(40, 10) if args.quick else (2000, 50))
        print(f"width {width}: the kernel moved by {100 * drift[-1]:.1f} %")
        ax.plot(at, drift, label=f"width {width}")
    ax.set(xlabel="step", ylabel="|K(t) - K(0)| / |K(0)|", title="The tangent kernel of a PyTorch network in training")
    ax.legend()
    save(figure, args, "ntk_over_training.png")


if __name__ == "__main__":
    main()
