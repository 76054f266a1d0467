"""What a workload is: its data, and its loss in PyTorch's dialect and in JAX. The step is the same for all: Adam, float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...frameworks import OURS, THREADS, batches, jax_batches, torch_for
from ...registry import Arrays, Case, Job, add_cases, implements
from ...training import jax_training, our_training, torch_compiled_adam, torch_training


def workload(
    name: str,
    about: str,
    arrays: Callable[[], Arrays],
    loss: Callable[..., Any],
    jax_loss: Callable[..., Any],
    *,
    group: int,
    inputs: tuple[str, ...],
    constants: tuple[str, ...] = (),
    rate: float = 1e-3,
) -> None:
    """Register it with all peers.

    arrays(): inputs have an axis of four batches in front; constants are what a model has beside parameters, such as the edges
    of a graph; all others are parameters. loss(torch, p, c, *inputs): in PyTorch's dialect, torch is PyTorch or this library,
    p and c have parameters and constants by name. jax_loss(jax, p, c, *inputs): the same.
    """
    cases = add_cases(Case(f"unseen-{name}", about, arrays, steps=10, unseen=group))

    def parameters_of(data: Arrays) -> tuple[str, ...]:
        return tuple(n for n in data if n not in (*inputs, *constants))

    def in_dialect(torch: Any, data: Arrays) -> tuple[dict[str, Any], Callable[..., Any]]:
        """The parameters and loss(p, *batch)."""
        c = {n: torch.from_numpy(_long(data[n])) for n in constants}
        p = {n: torch.from_numpy(data[n].copy()) for n in parameters_of(data)}
        return p, lambda p, *batch: loss(torch, p, c, *batch)

    @implements(cases, *OURS)
    def ours(data: Arrays, backend: str, variant: str) -> Job:
        import staticgrad as sg

        p, loss_of = in_dialect(sg, data)
        optimizer = sg.optim.Adam([x.requires_grad_() for x in p.values()], lr=rate)
        batch = batches({n: _long(data[n]) for n in inputs}, *inputs)
        return our_training(p, optimizer, lambda *batch: loss_of(p, *batch), batch, backend)

    @implements(cases, "torch", variants=THREADS)
    def torch(data: Arrays, backend: str, variant: str) -> Job:
        torch = torch_for(variant)
        p, loss_of = in_dialect(torch, data)
        optimizer = torch.optim.Adam([x.requires_grad_() for x in p.values()], lr=rate, fused=True)
        batch = batches({n: _long(data[n]) for n in inputs}, *inputs, place=torch.from_numpy)
        return torch_training(p, optimizer, lambda *batch: loss_of(p, *batch), batch)

    @implements(cases, "torch.compile", variants=THREADS)
    def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
        torch = torch_for(variant)
        p, loss_of = in_dialect(torch, data)
        batch = batches({n: _long(data[n]) for n in inputs}, *inputs, place=torch.from_numpy)
        return torch_compiled_adam(p, loss_of, rate, batch)

    @implements(cases, "jax", variants=("sync, placed", "sync, placed, tree", "async, placed, tree"))
    def in_jax(data: Arrays, backend: str, variant: str) -> Job:
        import jax

        c = {n: jax.numpy.asarray(data[n]) for n in constants}
        batch = jax_batches(variant, data, *inputs)
        return jax_training(data, parameters_of(data), lambda p, *b: jax_loss(jax, p, c, *b), rate, batch, variant)


def _long(array: np.ndarray) -> np.ndarray:
    """Indices are int32 in the data, as in JAX; PyTorch wants int64."""
    return array.astype(np.int64) if array.dtype == np.int32 else array


def scan(torch: Any, cell: Callable[..., Any], carry: Any, xs: Any = None, length: int | None = None) -> tuple[Any, Any]:
    """`sg.scan`, and a loop in PyTorch, which has none that can be differentiated on a CPU.

    cell(carry, x) -> (carry, y); xs: a tuple of tensors."""
    if torch.__name__ == "staticgrad":
        return torch.scan(cell, carry, xs, length)
    ys = []
    for x in [None] * (length or 0) if xs is None else list(zip(*(x.unbind(0) for x in xs), strict=True)):
        carry, y = cell(carry, x)
        ys.append(y)
    return carry, None if y is None else torch.stack(ys)


def weights(rng: np.random.Generator, **shapes: tuple[int, ...]) -> Arrays:
    """Layers' weights (out, in) and their `_bias`; what is named `_gain` is 1."""
    found: Arrays = {}
    for name, shape in shapes.items():
        if name.endswith("_bias"):
            found[name] = np.zeros(shape, np.float32)
        elif name.endswith("_gain"):
            found[name] = np.ones(shape, np.float32)
        else:
            bound = 1 / math.sqrt(np.prod(shape[1:]))
            found[name] = rng.uniform(-bound, bound, shape).astype(np.float32)
    return found
