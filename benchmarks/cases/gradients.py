"""Losses with kernels of other kinds than those of networks, and their gradients: reductions along both axes of a matrix, a
mixture of densities, a stencil in a loop, an autoencoder with draws, causal attention.

A loss is written once, in the words that its framework has for it. Arrays go in, a float and arrays come out at every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..frameworks import JAX, OURS, THREADS, jax_for, mode, session, session_variants, torch_compiled, torch_for
from ..registry import Arrays, Case, Job, add_cases, implements

COMPONENTS, HEAT, STEPS, LATENT = 16, 64, 50, 20


class Words(NamedTuple):
    """Functions of a framework. `pick(z, y)`: z[i, y[i]]; `pad`: zeros around a matrix; `repeat(cell, x, times)`."""

    exp: Callable[[Any], Any]
    tanh: Callable[[Any], Any]
    softplus: Callable[[Any], Any]
    logsumexp: Callable[[Any, int], Any]
    pick: Callable[[Any, Any], Any]
    pad: Callable[[Any], Any]
    repeat: Callable[[Callable[[Any], Any], Any, int], Any]
    attention: Callable[[Any, Any, Any], Any]


def both_axes() -> Arrays:
    """z (1024, 1024) float32, y (1024,) int64"""
    rng = np.random.default_rng(0)
    return {"z": rng.standard_normal((1024, 1024), np.float32), "y": rng.integers(0, 1024, 1024)}


def mixture() -> Arrays:
    """x (20000, 8), means and logarithms of scales (16, 8), logits (16,), float64"""
    rng = np.random.default_rng(0)
    names = {"means": (COMPONENTS, 8), "scales": (COMPONENTS, 8), "logits": (COMPONENTS,)}
    return {"x": rng.standard_normal((20_000, 8))} | {name: 0.5 * rng.standard_normal(s) for name, s in names.items()}


def heat() -> Arrays:
    """u (64, 64), k () float32"""
    return {"u": np.random.default_rng(0).standard_normal((HEAT, HEAT), np.float32), "k": np.array(0.1, np.float32)}


def autoencoder() -> Arrays:
    """x (128, 784) from 0 to 1, noise (128, 20), and four layers, float32"""
    rng, shapes = np.random.default_rng(0), ((784, 400), (400, 2 * LATENT), (LATENT, 400), (400, 784))
    data = {"x": rng.random((128, 784), np.float32), "noise": rng.standard_normal((128, LATENT), np.float32)}
    for i, shape in enumerate(shapes):
        data |= {f"w{i}": rng.standard_normal(shape, np.float32) / np.float32(math.sqrt(shape[0]))}
        data |= {f"b{i}": np.zeros(shape[1], np.float32)}
    return data


def tokens() -> Arrays:
    """q, k, v (4, 4, 512, 64) float32"""
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal((4, 4, 512, 64), np.float32) for name in ("q", "k", "v")}


CASES = add_cases(
    Case("both-axes", "cross-entropy of 1024x1024 logits and of their transpose, float32", both_axes, target=1.3, large=True),
    Case("mixture", "log-likelihood of 16 Gaussians in 8 dimensions, 20,000 points, float64", mixture, target=1.3, large=True),
    Case("heat", "heat equation on 64x64 points, 50 steps in a loop, float32", heat, target=1.3),
    Case("autoencoder", "variational autoencoder 784-400-20, batch 128, float32", autoencoder, target=1.3, large=True),
    Case("causal-attention", "causal attention, 4 x 4 heads, 512 positions of 64, float32", tokens, target=1.3, large=True),
)
FIXED = {"y", "x", "noise"}
"""Arrays for which there is no gradient."""


def loss_both_axes(w: Words, z: Any, y: Any) -> Any:
    return sum((w.logsumexp(m, 1) - w.pick(m, y)).mean() for m in (z, z.T))


def loss_mixture(w: Words, x: Any, means: Any, scales: Any, logits: Any) -> Any:
    d = (x[:, None, :] - means[None]) * w.exp(-scales)[None]
    density = -0.5 * (d * d).sum(-1) - scales.sum(-1) + logits - w.logsumexp(logits, 0)
    return -w.logsumexp(density, 1).mean()


def loss_heat(w: Words, u: Any, k: Any) -> Any:
    def cell(c: Any) -> Any:
        p = w.pad(c)
        return c + k * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * c)

    return (w.repeat(cell, u, STEPS) ** 2).mean()


def loss_autoencoder(w: Words, x: Any, noise: Any, *p: Any) -> Any:
    code = w.tanh(x @ p[0] + p[1]) @ p[2] + p[3]
    mean, log_variance = code[:, :LATENT], code[:, LATENT:]
    z = mean + w.exp(0.5 * log_variance) * noise
    logits = w.tanh(z @ p[4] + p[5]) @ p[6] + p[7]
    divergence = -0.5 * (1 + log_variance - mean * mean - w.exp(log_variance)).sum()
    return ((w.softplus(logits) - x * logits).sum() + divergence) / len(x)


def loss_attention(w: Words, q: Any, k: Any, v: Any) -> Any:
    return (w.attention(q, k, v) ** 2).mean()


LOSSES: dict[str, Callable[..., Any]] = {
    "both-axes": loss_both_axes, "mixture": loss_mixture, "heat": loss_heat, "autoencoder": loss_autoencoder,
    "causal-attention": loss_attention,
}  # fmt: skip


def of_case(data: Arrays) -> tuple[Callable[..., Any], list[int]]:
    """The loss of a case, which its arrays tell, and the positions of the arrays to differentiate with respect to."""
    (case,) = (case for case in CASES if case.arrays().keys() == data.keys())
    return LOSSES[case.name], [i for i, name in enumerate(data) if name not in FIXED]


def repeated(cell: Callable[[Any], Any], x: Any, times: int) -> Any:
    for _ in range(times):
        x = cell(x)
    return x


def our_words() -> Words:
    import staticgrad as sg
    import staticgrad.functional as F

    return Words(
        sg.exp, sg.tanh, F.softplus, sg.logsumexp, lambda z, y: sg.gather(z, 1, y[:, None])[:, 0],
        lambda x: F.pad(x, (1, 1, 1, 1)),
        lambda cell, x, times: sg.scan(lambda c, _: (cell(c), None), x, length=times)[0],
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    )  # fmt: skip


@implements(CASES, *OURS)
def ours(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    words = our_words()
    loss_of, positions = of_case(data)

    def function(*values: Any) -> Any:
        wanted = [values[i].requires_grad_() for i in positions]
        loss = loss_of(words, *values)
        return loss, *sg.grad(loss, wanted)

    call, values = mode(function, backend), list(data.values())

    def step() -> Any:
        loss, *gradients = call(*values)
        return float(loss), *(g.numpy() for g in gradients)

    return Job(step)


@implements(CASES, "session", variants=session_variants)
def in_session(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    loss_of, positions = of_case(data)
    graph = sg.Graph()
    with graph.as_default():
        inputs = [sg.placeholder(str(v.dtype), v.shape) for v in data.values()]
        loss = loss_of(our_words(), *inputs)
        fetches = [loss, *sg.gradients(loss, [inputs[i] for i in positions])]
    _, call = session(graph, fetches, inputs, variant)
    values = list(data.values())
    return Job(lambda: call(*values))


@implements(CASES, "jax", variants=(*JAX, "sync, placed"))
def jax(data: Arrays, backend: str, variant: str) -> Job:
    loss_of, positions = of_case(data)
    jax, jnp = jax_for(variant, float64="means" in data)

    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        return jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), -1) @ v

    words = Words(
        jnp.exp, jnp.tanh, jax.nn.softplus, jax.nn.logsumexp, lambda z, y: z[jnp.arange(len(y)), y], lambda x: jnp.pad(x, 1),
        lambda cell, x, times: jax.lax.scan(lambda c, _: (cell(c), None), x, length=times)[0], attention,
    )  # fmt: skip
    call = jax.jit(jax.value_and_grad(lambda *values: loss_of(words, *values), tuple(positions)))
    values = [jnp.asarray(v) if "placed" in variant else v for v in data.values()]

    def step() -> Any:
        loss, gradients = call(*values)
        return float(loss), *map(np.asarray, gradients)

    return Job(step)


def torch_words(torch: Any) -> Words:
    F = torch.nn.functional
    return Words(
        torch.exp, torch.tanh, F.softplus, torch.logsumexp, lambda z, y: z.gather(1, y[:, None])[:, 0],
        lambda x: F.pad(x, (1, 1, 1, 1)), repeated, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    )  # fmt: skip


@implements(CASES, "torch", variants=THREADS)
def torch(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    words, (loss_of, positions) = torch_words(torch), of_case(data)

    def step() -> Any:
        values = [torch.from_numpy(v) for v in data.values()]
        wanted = [values[i].requires_grad_() for i in positions]
        loss = loss_of(words, *values)
        return loss.item(), *(g.numpy() for g in torch.autograd.grad(loss, wanted))

    return Job(step)


@implements(CASES, "torch.compile", variants=THREADS)
def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    words, (loss_of, positions) = torch_words(torch), of_case(data)
    call = torch_compiled(torch.func.grad_and_value(lambda *values: loss_of(words, *values), tuple(positions)))

    def step() -> Any:
        gradients, loss = call(*map(torch.from_numpy, data.values()))
        return loss.item(), *(g.numpy() for g in gradients)

    return Job(step)
