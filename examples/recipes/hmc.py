"""A Hamiltonian Monte Carlo sampler for a Bayesian regression.

    python examples/recipes/hmc.py [--samples 2000] [--folder hmc]

A line is fitted to points with outliers: a Student's t likelihood, and priors for slope, offset and the size of the noise. One
iteration draws a momentum, follows the gradient of the posterior for some leapfrog steps, and accepts or rejects the end. It
is one compiled function, with its draws and its `where` inside, so nothing leaves native code between two samples.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import staticgrad as sg
from staticgrad import distributions as dist

TRUE = 2.0, -1.0, 0.3
"""Slope, offset, noise."""


def observations(count: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, count)
    y = TRUE[0] * x + TRUE[1] + TRUE[2] * rng.standard_t(3, count)
    return sg.tensor(x), sg.tensor(y)  # float64


def main(arguments: list[str] | None = None) -> np.ndarray:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--warmup", type=int, default=500)
    parser.add_argument("--folder", default="hmc", help="of the picture and the samples")
    options = parser.parse_args(arguments)
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    x, y = observations(200)

    def log_posterior(z: Any) -> Any:
        """z: slope, offset, logarithm of the noise."""
        noise = sg.exp(z[2])
        prior = dist.Normal(0.0, 3.0).log_prob(z).sum()
        return prior + dist.StudentT(3.0, z[0] * x + z[1], noise).log_prob(y).sum()

    def slope(z: Any) -> Any:
        z = z.detach().requires_grad_()
        (found,) = sg.grad(log_posterior(z), z)
        return found

    @sg.compile
    def iterate(z: Any) -> tuple[Any, Any]:
        momentum = sg.randn(3, dtype=sg.float64)
        begin = log_posterior(z) - (momentum**2).sum() / 2
        q, p = z, momentum + SIZE / 2 * slope(z)
        for i in range(LEAPS):
            q = q + SIZE * p
            p = p + (SIZE if i < LEAPS - 1 else SIZE / 2) * slope(q)
        end = log_posterior(q) - (p**2).sum() / 2
        accepted = sg.log(sg.rand((), dtype=sg.float64)) < end - begin
        return sg.where(accepted, q, z).detach(), accepted

    sg.manual_seed(0)
    z, accepted, samples = sg.zeros(3, dtype=sg.float64), [], []
    for i in progress(options.warmup + options.samples):
        z, took = iterate(z)
        if i >= options.warmup:
            samples.append(z.numpy())
            accepted.append(bool(took))
    found = np.array(samples)
    found[:, 2] = np.exp(found[:, 2])
    sg.save({"samples": found}, folder / "samples.safetensors")
    print(f"{np.mean(accepted):.0%} accepted")
    for name, own, true in zip(("slope", "offset", "noise"), found.T, TRUE, strict=True):
        low, middle, high = np.percentile(own, (5, 50, 95))
        print(f"{name:6s} {middle:6.3f}, 90% in [{low:.3f}, {high:.3f}]; true {true}")
    draw(found, folder / "posterior.png")
    return found


LEAPS, SIZE = 8, 0.02
"""Leapfrog steps of an iteration, and their size."""


def progress(count: int) -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return range(count)
    return tqdm(range(count), unit=" samples")


def draw(samples: np.ndarray, file: Path) -> None:
    figure = Figure(figsize=(9, 3), layout="constrained")
    for axes, own, name, true in zip(figure.subplots(1, 3), samples.T, ("slope", "offset", "noise"), TRUE, strict=True):
        axes.hist(own, 40)
        axes.axvline(true, color="black")
        axes.set(title=name)
    figure.savefig(file)


if __name__ == "__main__":
    main()
