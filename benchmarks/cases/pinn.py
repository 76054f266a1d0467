"""A physics-informed network 1-32-32-1, tanh, for u'' = -pi^2 sin(pi x) with u(0) = u(1) = 0: a training step on 256 fresh
points with second derivatives in the loss, Adam, float32."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..frameworks import JAX, OURS, batches, jax_for, session_variants, torch_for, torch_variants
from ..registry import Arrays, Case, Job, add_cases, implements
from ..training import jax_training, our_training, pytensor_training, session_training, torch_compiled_adam, torch_training

SIZES, POINTS, RATE = (1, 32, 32, 1), 256, 1e-3
LAYERS = (0, 2, 4)
PARAMETERS = tuple(f"{layer}.{kind}" for layer in LAYERS for kind in ("weight", "bias"))


def arrays() -> Arrays:
    """x (8, 256, 1) points, f (8, 256, 1) = pi^2 sin(pi x), and the parameters in PyTorch's layout (out, in)."""
    rng = np.random.default_rng(0)
    x = rng.random((8, POINTS, 1), np.float32)
    data = {"x": x, "f": (math.pi**2 * np.sin(math.pi * x)).astype(np.float32)}
    for layer, fan_in, fan_out in zip(LAYERS, SIZES[:-1], SIZES[1:], strict=True):
        bound = 1 / math.sqrt(fan_in)
        data[f"{layer}.weight"] = rng.uniform(-bound, bound, (fan_out, fan_in)).astype(np.float32)
        data[f"{layer}.bias"] = rng.uniform(-bound, bound, fan_out).astype(np.float32)
    return data


CASES = add_cases(Case("pinn", "PINN 1-32-32-1, 256 points, second derivatives, Adam, float32", arrays, target=2.5))


@implements(CASES, *OURS)
def ours(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg
    from staticgrad import nn

    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    model.load_state_dict({name: data[name].copy() for name in PARAMETERS})
    optimizer = sg.optim.Adam(model.parameters(), lr=RATE)

    def loss_of(x: Any, f: Any) -> Any:
        x.requires_grad_()
        u = x * (1 - x) * model(x)
        (du,) = sg.grad(u.sum(), x, create_graph=True)
        (d2u,) = sg.grad(du.sum(), x, create_graph=True)
        return ((d2u + f) ** 2).mean()

    return our_training(dict(model.named_parameters()), optimizer, loss_of, batches(data, "x", "f"), backend)


@implements(CASES, "session", variants=session_variants)
def in_session(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    graph = sg.Graph()
    with graph.as_default():
        x, f = (sg.placeholder("float32", (None, 1)) for _ in range(2))
        variables = {name: sg.Variable(data[name].copy(), name=name) for name in PARAMETERS}
        w1, b1, w2, b2, w3, b3 = variables.values()
        u = x * (1 - x) * (sg.tanh(sg.tanh(x @ w1.T + b1) @ w2.T + b2) @ w3.T + b3)
        (du,) = sg.gradients(u, x)
        (d2u,) = sg.gradients(du, x)
        loss = sg.mean((d2u + f) ** 2)
        train = sg.optim.Adam(lr=RATE).minimize(loss)
    return session_training(graph, loss, train, [x, f], variables, batches(data, "x", "f"), variant)


@implements(CASES, "jax", variants=(*JAX, "sync, tree", "sync, jet", "sync, reverse"))
def jax(data: Arrays, backend: str, variant: str) -> Job:
    """Second derivatives forward over forward, by Taylor series, or forward over reverse."""
    jax, jnp = jax_for(variant)

    def solution(p: Any, x: Any) -> Any:
        h = jnp.tanh(x @ p["0.weight"].T + p["0.bias"])
        h = jnp.tanh(h @ p["2.weight"].T + p["2.bias"])
        return x * (1 - x) * (h @ p["4.weight"].T + p["4.bias"])

    def second(u: Any, x: Any) -> Any:
        ones = jnp.ones_like(x)
        if "jet" in variant:
            from jax.experimental.jet import jet

            return jet(u, (x,), ((ones, jnp.zeros_like(x)),))[1][1]
        if "reverse" in variant:
            return jax.jvp(jax.grad(lambda x: u(x).sum()), (x,), (ones,))[1]
        return jax.jvp(lambda x: jax.jvp(u, (x,), (ones,))[1], (x,), (ones,))[1]

    def loss_of(p: Any, x: Any, f: Any) -> Any:
        return jnp.mean((second(lambda x: solution(p, x), x) + f) ** 2)

    return jax_training(data, PARAMETERS, loss_of, RATE, batches(data, "x", "f"), variant)


@implements(CASES, "torch", variants=torch_variants)
def torch(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    nn, grad = torch.nn, torch.autograd.grad
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    model.load_state_dict({name: torch.from_numpy(data[name]) for name in PARAMETERS})
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)

    def loss_of(x: Any, f: Any) -> Any:
        x = x.detach().requires_grad_()
        u = x * (1 - x) * model(x)
        (du,) = grad(u.sum(), x, create_graph=True)
        (d2u,) = grad(du.sum(), x, create_graph=True)
        return ((d2u + f) ** 2).mean()

    batch = batches(data, "x", "f", place=torch.from_numpy)
    return torch_training(dict(model.named_parameters()), optimizer, loss_of, batch)


@implements(CASES, "torch.compile", variants=torch_variants)
def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    parameters = {name: torch.from_numpy(data[name].copy()) for name in PARAMETERS}
    F, jvp = torch.nn.functional, torch.func.jvp

    def solution(p: Any, x: Any) -> Any:
        h = torch.tanh(F.linear(x, p["0.weight"], p["0.bias"]))
        h = torch.tanh(F.linear(h, p["2.weight"], p["2.bias"]))
        return x * (1 - x) * F.linear(h, p["4.weight"], p["4.bias"])

    def loss_of(p: Any, x: Any, f: Any) -> Any:
        ones = torch.ones_like(x)
        d2u = jvp(lambda x: jvp(lambda x: solution(p, x), (x,), (ones,))[1], (x,), (ones,))[1]
        return ((d2u + f) ** 2).mean()

    return torch_compiled_adam(parameters, loss_of, RATE, batches(data, "x", "f", place=torch.from_numpy))


@implements(CASES, "pytensor")
def pytensor(data: Arrays, backend: str, variant: str) -> Job:
    import pytensor.tensor as pt

    def loss_of(p: Any, x: Any, f: Any) -> Any:
        h = pt.tanh(x @ p["0.weight"].T + p["0.bias"])
        h = pt.tanh(h @ p["2.weight"].T + p["2.bias"])
        u = x * (np.float32(1) - x) * (h @ p["4.weight"].T + p["4.bias"])
        d2u = pt.grad(pt.grad(u.sum(), x).sum(), x)
        return ((d2u + f) ** 2).mean()

    inputs = [pt.tensor(name, dtype="float32", shape=(None, 1)) for name in "xf"]
    return pytensor_training(data, PARAMETERS, inputs, loss_of, RATE, batches(data, "x", "f"))
