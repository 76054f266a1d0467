"""A simulation step written by hand with Numba, inside a training loop.

    python examples/numba_simulation.py
    python examples/numba_simulation.py --steps 50 --quick

A chain of masses hangs between two walls on springs that harden as they are stretched, in a fluid that slows them. Where the
masses are after some time was observed; the stiffness of each spring and the friction are not known. Training simulates the
chain from where it was, compares, and corrects them by the gradient of all that.

One step of time, and the cotangents of what it reads, are two functions under `@njit`: loops over the masses. `sg.njit_op`
makes them one operation, so the compiled training step - the simulated time, its backward pass and the optimizer - is one
native plan that calls both. The same functions are called by `jax.pure_callback` in a compiled function of JAX's, and by an
`autograd.Function` of PyTorch's; a library that is not installed is left out.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import staticgrad as sg
from staticgrad import optim

MASSES, TIMES, DT, HARDENING = 64, 25, 0.05, 4.0
RATE = 0.02


@numba.njit
def advance(q, v, stiffness, friction):
    """Positions (n) and velocities (n) after a step of time. stiffness (n + 1): of the springs, friction: a number."""
    n = q.shape[0]
    new_q, new_v = np.empty_like(q), np.empty_like(v)
    for i in range(n):
        left = q[i] - (q[i - 1] if i > 0 else 0.0)
        right = (q[i + 1] if i + 1 < n else 0.0) - q[i]
        force = stiffness[i + 1] * (right + HARDENING * right**3) - stiffness[i] * (left + HARDENING * left**3)
        new_v[i] = v[i] + DT * (force - friction * v[i])
        new_q[i] = q[i] + DT * new_v[i]
    return new_q, new_v


@numba.njit
def advance_vjp(gq, gv, q, v, stiffness, friction):
    """The cotangents of what `advance` reads, for those of its results."""
    n = q.shape[0]
    dq, dv, dk, df = np.zeros_like(q), np.zeros_like(v), np.zeros_like(stiffness), 0.0
    for i in range(n):
        left = q[i] - (q[i - 1] if i > 0 else 0.0)
        right = (q[i + 1] if i + 1 < n else 0.0) - q[i]
        g = gv[i] + DT * gq[i]  # of the new velocity
        force = DT * g
        dq[i] += gq[i]
        dv[i] += g * (1 - DT * friction)
        df -= DT * g * v[i]
        dk[i + 1] += force * (right + HARDENING * right**3)
        dk[i] -= force * (left + HARDENING * left**3)
        by_right = force * stiffness[i + 1] * (1 + 3 * HARDENING * right**2)
        by_left = -force * stiffness[i] * (1 + 3 * HARDENING * left**2)
        dq[i] += by_left - by_right
        if i > 0:
            dq[i - 1] -= by_left
        if i + 1 < n:
            dq[i + 1] += by_right
    return dq, dv, dk, df


step_of_time = sg.njit_op(advance, signature="(n),(n),(m),()->(n),(n)", vjp=advance_vjp)

Losses = Callable[[], float]
"""A training step, which gives its loss."""


def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the chain begins, and where it was observed after `TIMES` steps of time: positions and velocities (n)."""
    start = np.sin(np.linspace(0, 3 * np.pi, MASSES + 2))[1:-1]
    q, v = start, np.zeros(MASSES)
    for _ in range(TIMES):
        q, v = advance(q, v, 1 + np.linspace(0, 3, MASSES + 1), 0.3)
    return start, q, v


def with_staticgrad() -> Losses:
    start, seen_q, seen_v = (sg.tensor(x) for x in problem())
    stiffness = sg.ones(MASSES + 1, dtype=sg.float64, requires_grad=True)
    friction = sg.tensor(0.1, dtype=sg.float64, requires_grad=True)
    optimizer = optim.Adam([stiffness, friction], lr=RATE)

    @sg.compile
    def train() -> Any:
        q, v = start, sg.zeros_like(start)
        for _ in range(TIMES):
            q, v = step_of_time(q, v, stiffness, friction)
        loss = ((q - seen_q) ** 2).mean() + ((v - seen_v) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return lambda: float(train())


def with_torch() -> Losses:
    import torch

    class Advance(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, q: Any, v: Any, stiffness: Any, friction: Any) -> Any:
            ctx.save_for_backward(q, v, stiffness, friction)
            new_q, new_v = advance(q.numpy(), v.numpy(), stiffness.detach().numpy(), friction.item())
            return torch.from_numpy(new_q), torch.from_numpy(new_v)

        @staticmethod
        def backward(ctx: Any, gq: Any, gv: Any) -> Any:
            q, v, stiffness, friction = ctx.saved_tensors
            *found, df = advance_vjp(
                gq.numpy(), gv.numpy(), q.detach().numpy(), v.detach().numpy(), stiffness.detach().numpy(), friction.item()
            )
            return (*map(torch.from_numpy, found), torch.tensor(df))

    start, seen_q, seen_v = map(torch.from_numpy, problem())
    stiffness = torch.ones(MASSES + 1, dtype=torch.float64, requires_grad=True)
    friction = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([stiffness, friction], lr=RATE, foreach=True)

    def train() -> float:
        q, v = start, torch.zeros_like(start)
        for _ in range(TIMES):
            q, v = Advance.apply(q, v, stiffness, friction)
        loss = ((q - seen_q) ** 2).mean() + ((v - seen_v) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return train


def with_jax() -> Losses:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def on_host(function: Any, *operands: Any) -> Any:
        return tuple(np.asarray(x) for x in function(*map(np.asarray, operands[:-1]), float(operands[-1])))

    def types(*operands: Any) -> Any:
        return tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in operands)

    @jax.custom_vjp
    def apply(q: Any, v: Any, stiffness: Any, friction: Any) -> Any:
        return jax.pure_callback(lambda *x: on_host(advance, *x), types(q, v), q, v, stiffness, friction)

    def backward(operands: Any, g: Any) -> Any:
        return jax.pure_callback(lambda *x: on_host(advance_vjp, *x), types(*operands), *g, *operands)

    apply.defvjp(lambda *operands: (apply(*operands), operands), backward)
    start, seen_q, seen_v = map(jnp.asarray, problem())
    parameters = jnp.ones(MASSES + 1), jnp.asarray(0.1)
    moments = jax.tree.map(lambda p: (jnp.zeros_like(p), jnp.zeros_like(p)), parameters)

    def loss_of(parameters: Any) -> Any:
        q, v = start, jnp.zeros_like(start)
        for _ in range(TIMES):
            q, v = apply(q, v, *parameters)
        return ((q - seen_q) ** 2).mean() + ((v - seen_v) ** 2).mean()

    def adam(p: Any, g: Any, moments: Any, t: Any) -> Any:
        m, s = 0.9 * moments[0] + 0.1 * g, 0.999 * moments[1] + 0.001 * g * g
        return p - RATE * (m / (1 - 0.9**t)) / (jnp.sqrt(s / (1 - 0.999**t)) + 1e-8), (m, s)

    @jax.jit
    def update(parameters: Any, moments: Any, t: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(parameters)
        new = [adam(p, g, m, t) for p, g, m in zip(parameters, gradients, moments, strict=True)]
        return loss, tuple(p for p, _ in new), tuple(m for _, m in new)

    state: list[Any] = [parameters, moments, 0]

    def train() -> float:
        state[2] += 1
        loss, state[0], state[1] = update(*state)
        return float(loss)

    return train


LIBRARIES = {
    "staticgrad": ("njit_op in a compiled step", with_staticgrad),
    "jax": ("jax.pure_callback in jax.jit", with_jax),
    "torch": ("torch.autograd.Function", with_torch),
}


def check_gradient() -> bool:
    """Whether the derivative that was written by hand is that of differences."""
    random = np.random.default_rng(1)
    operands = [sg.tensor(random.normal(size=n) * 0.3, requires_grad=True) for n in (5, 5, 6, ())]
    return sg.autograd.gradcheck(step_of_time, operands)


def compared(steps: int, rounds: int) -> dict[str, tuple[list[float], list[float]]]:
    """By library: the losses of its first steps, and the seconds that a step took in each round. The libraries take turns."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    trainers = {}
    for name, (_, make) in LIBRARIES.items():
        try:
            trainers[name] = make()
        except ImportError as error:
            print(f"without {name}: {error}")
            continue
        found[name] = [trainers[name]() for _ in range(steps)], []
    for _ in range(rounds):
        for name, train in trainers.items():
            begin = time.perf_counter()
            for _ in range(steps):
                train()
            found[name][1].append((time.perf_counter() - begin) / steps)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100, help="training steps in each round")
    parser.add_argument("--quick", action="store_true", help="one round")
    given = parser.parse_args()
    print(f"{MASSES} masses, {TIMES} steps of time; the gradient agrees with differences: {check_gradient()}")
    found = compared(given.steps, 1 if given.quick else 10)
    own = statistics.median(found["staticgrad"][1])
    print(f"{'':28s} first loss  loss after {given.steps:4d}   us a step")
    for name, (losses, seconds) in found.items():
        took = statistics.median(seconds)
        print(f"{LIBRARIES[name][0]:28s} {losses[0]:10.6f} {losses[-1]:15.6f} {1e6 * took:11.0f}   {took / own:4.1f}x")


if __name__ == "__main__":
    main()
