"""A data-dependent loop, differentiated twice.

    python examples/newton_while.py
    python examples/newton_while.py --report report.html    # the modes side by side

Kepler's equation E - e sin(E) = M has no solution in closed form. Newton's method finds E in a number of steps that depends on
the values, so it is a `sg.while_loop`: under `@sg.compile`, one native loop. Its gradient is a loop too, which runs over the
same steps in reverse, and can itself be differentiated. The implicit function theorem gives the exact derivatives:

    dE/dM = 1 / (1 - e cos E)        d2E/dM2 = -e sin E / (1 - e cos E)^3
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from reporting import add_option

import staticgrad as sg

TOLERANCE = 1e-14


def anomaly(mean: Any, e: Any) -> tuple[Any, Any]:
    """The eccentric anomaly E of a mean anomaly M, and the number of Newton's steps; float64, of one shape."""

    def unsolved(solution: Any, steps: Any) -> Any:
        return (sg.abs(solution - e * sg.sin(solution) - mean) > TOLERANCE).any() & (steps < 50)

    def step(solution: Any, steps: Any) -> tuple[Any, Any]:
        miss = solution - e * sg.sin(solution) - mean
        return solution - miss / (1 - e * sg.cos(solution)), steps + 1

    return sg.while_loop(unsolved, step, (mean + 0.85 * e, np.int64(0)))


@sg.compile
def derivatives(mean: Any, e: Any) -> tuple[Any, Any, Any, Any]:
    """E, dE/dM, d2E/dM2, steps."""
    solution, steps = anomaly(mean, e)
    (first,) = sg.grad(solution.sum(), [mean], create_graph=True)
    (second,) = sg.grad(first.sum(), [mean])
    return solution, first, second, steps


def expected(solution: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both derivatives by the implicit function theorem."""
    slope = 1 - e * np.cos(solution)
    return 1 / slope, -e * np.sin(solution) / slope**3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    report = parser.parse_args().report
    print("eccentricity  steps        E     dE/dM   d2E/dM2   largest error of the derivatives")
    for eccentricity in (0.0167, 0.2056, 0.5, 0.9):  # Earth, Mercury, a comet or two
        mean = sg.tensor(np.linspace(0.3, 2.8, 6), requires_grad=True)
        e = np.full(6, eccentricity)
        solution, first, second, steps = (x.detach().numpy() for x in derivatives(mean, e))
        pairs = zip((first, second), expected(solution, e), strict=True)
        error = max(float(np.abs(found - wanted).max()) for found, wanted in pairs)
        print(f"{eccentricity:12.4f}  {steps:5d}  {solution[0]:7.4f}  {first[0]:8.4f}  {second[0]:8.4f}   {error:.1e}")
    print(f"traced {len(derivatives.recompiles)} time, host calls: {derivatives.plan.host_calls}")
    if report:
        sg.compare(anomaly, np.linspace(0.3, 2.8, 6), np.full(6, 0.5)).to_html(report)


if __name__ == "__main__":
    main()
