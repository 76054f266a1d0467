"""The gradient of a differential equation's solution, in two ways.

    python examples/ode_adjoint.py
    python examples/ode_adjoint.py --report report.html    # the modes side by side

A Lotka-Volterra system (prey x, predators y) is solved by the Runge-Kutta method of Dormand and Prince. Its step size adapts to
the error and the number of steps depends on the values, so the solver is a `sg.while_loop`. The gradient of the last state with
respect to the parameters is computed

    through the solver   by differentiating the loop: this keeps the values of each step, and is exact for the steps taken
    by the adjoint       by solving another equation backwards in time (Chen et al., "Neural ordinary differential
                         equations", 2018): this keeps nothing, and is as exact as that solution

Both run compiled, as one native call each.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from reporting import add_option

import staticgrad as sg

NODES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0)
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
)
FIFTH = (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525)
"""Of the fourth-order solution, without its last stage, whose share is added below."""
LAST = -1 / 40


def combined(weights: tuple[float, ...], slopes: list[Any]) -> Any:
    return sum(w * k for w, k in zip(weights, slopes, strict=True) if w)


def solve(f: Callable[[Any], Any], state: Any, duration: float, tolerance: float = 1e-9) -> tuple[Any, Any]:
    """(the state after `duration`, the number of steps that were tried) of state' = f(state)."""

    def going(t: Any, h: Any, y: Any, steps: Any) -> Any:
        return (t < duration) & (steps < 10_000)

    def step(t: Any, h: Any, y: Any, steps: Any) -> tuple[Any, Any, Any, Any]:
        h = sg.minimum(h, duration - t)
        slopes = [f(y)]
        for weights in STAGES:
            slopes.append(f(y + h * combined(weights, slopes)))
        ahead = y + h * combined(FIFTH, slopes)
        error = h * (combined(ERROR, slopes) + LAST * f(ahead))
        worst = (sg.abs(error) / (tolerance * (1 + sg.abs(y)))).max() + 1e-10
        accepted = worst <= 1
        factor = sg.clip(0.9 * sg.exp(-0.2 * sg.log(worst)), 0.2, 5.0)
        t, y = sg.where(accepted, t + h, t), sg.where(accepted, ahead, y)
        return t, sg.stop_gradient(h * factor), y, steps + 1  # the size of steps is chosen, not differentiated

    start = (np.zeros(()), np.full((), 0.01), state, np.int64(0))
    _, _, last, steps = sg.while_loop(going, step, start)
    return last, steps


def populations(state: Any, p: Any) -> Any:
    """x' = a x - b x y, y' = d x y - c y, for p = (a, b, c, d)."""
    x, y = state[0], state[1]
    return sg.stack([p[0] * x - p[1] * x * y, p[3] * x * y - p[2] * y])


def loss(state: Any) -> Any:
    return (state**2).sum()


@sg.compile
def through_the_solver(state: Any, p: Any, duration: float) -> tuple[Any, Any, Any]:
    last, steps = solve(lambda s: populations(s, p), state, duration)
    value = loss(last)
    return value, sg.grad(value, [p])[0], steps


@sg.compile
def by_the_adjoint(state: Any, p: Any, duration: float) -> tuple[Any, Any, Any]:
    """The state, its cotangent and the gradient, run back in time together: 2 + 2 + 4 numbers."""
    last, _ = solve(lambda s: populations(s, p), state, duration)
    value = loss(last)
    (cotangent,) = sg.grad(value, [last])

    def backwards(z: Any) -> Any:
        s, a = z[:2].detach().requires_grad_(), z[2:4].detach()  # partial derivatives: z itself depends on p
        slope = populations(s, p)
        by_state, by_p = sg.grad((slope * a).sum(), [s, p])
        return sg.concatenate([-slope, by_state, by_p])

    begin = sg.concatenate([last, cotangent, np.zeros(4)])
    z, steps = solve(backwards, begin, duration)
    return value, z[4:], steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    report = parser.parse_args().report
    parameters, state = np.array([1.5, 1.0, 3.0, 1.0]), np.array([1.0, 1.0])
    print("duration  way         steps      loss   gradient with respect to a, b, c, d")
    for duration in (1.0, 5.0, 10.0):
        found = []
        for name, way in (("through", through_the_solver), ("adjoint", by_the_adjoint)):
            p = sg.tensor(parameters, requires_grad=True)
            value, gradient, steps = way(sg.tensor(state), p, duration)
            found.append(gradient.detach().numpy())
            numbers = "  ".join(f"{g:12.6f}" for g in found[-1])
            print(f"{duration:8.1f}  {name:10s}  {steps.item():5d}  {value.item():8.4f}   {numbers}")
        print(f"{'':8s}  difference {np.abs(found[0] - found[1]).max() / np.abs(found[0]).max():.1e}")
    if report:

        def last_populations(p: Any) -> Any:
            return loss(solve(lambda s: populations(s, p), state, 1.0)[0])

        sg.compare(last_populations, parameters, order=1, repeats=20).to_html(report)


if __name__ == "__main__":
    main()
