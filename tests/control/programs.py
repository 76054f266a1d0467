"""Programs with loops and branches, and their three modes: eager, which is an ordinary Python loop, Session, compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import staticgrad as sg
from staticgrad.tracing import CompiledFunction
from tests.helpers import Arg, assert_close, integer, real, rng_of

RTOL = {np.dtype(np.float32): 2e-4, np.dtype(np.float64): 1e-11}


class Case(NamedTuple):
    """`fn(*operands)` is a scalar loss; operands that are floating are differentiated."""

    fn: Callable[..., Any]
    operands: tuple[Arg, ...]
    smooth: bool = True
    """The second gradient exists and is not 0."""


def both(last: Any, ys: Any) -> Any:
    return (last**2).sum() + (ys**2).sum()


def rnn(c: Any, w: Any, x: Any) -> Any:
    def cell(h: Any, v: Any) -> Any:
        h = sg.tanh(h @ w + v)
        return h, h * 2.0

    return both(*sg.scan(cell, c, x))


def rnn_reversed(c: Any, w: Any, x: Any) -> Any:
    return both(*sg.scan(lambda h, v: (sg.tanh(h @ w + v), h.sum()), c, x, reverse=True))


def projected(c: Any, w: Any, x: Any) -> Any:
    """Products of items before the loop, of stacked values behind it."""
    return both(*sg.scan(lambda h, v: (sg.sin((v * 2.0) @ w) * h, h @ w), c, x))


def no_items(c: Any, w: Any) -> Any:
    return both(*sg.scan(lambda h, _: (sg.tanh(h @ w), h.sum()), c, length=7))


def nested_structures(c: Any, x: Any) -> Any:
    def body(carry: Any, item: Any) -> Any:
        a, rest = carry["a"], carry["rest"]
        new = {"a": sg.tanh(a * item[0]) + rest[0], "rest": (rest[0] * 0.5, None)}
        return new, [a.sum(), {"y": a * item[1]}]

    last, ys = sg.scan(body, {"a": c, "rest": (c * 2, None)}, (x, x * 0.5))
    return (last["a"] * last["rest"][0]).sum() + (ys[0] ** 2).sum() + (ys[1]["y"] ** 3).sum()


def exchanged(c: Any, x: Any) -> Any:
    (a, b), ys = sg.scan(lambda h, v: ((h[1], h[0] * v), h[0]), (c, c * 2), x)
    return (a * 2 + b**2).sum() + (ys**2).sum()


def only_stacked(c: Any, x: Any) -> Any:
    """No carry at all, and an item handed on as it is."""
    _, (a, b) = sg.scan(lambda h, v: (None, (v * c, v)), None, x)
    return (a**2 * b).sum()


def halving(c: Any) -> Any:
    return (sg.while_loop(lambda v: (v**2).sum() > 0.1, lambda v: sg.sin(v) * 0.7, c) ** 2).sum()


def two_variables(c: Any, w: Any) -> Any:
    v, s = sg.while_loop(lambda v, s: (s < 6.0).all(), lambda v, s: (sg.tanh(v @ w) * s, s + 1.0), [c, (c * 0).sum() + 1.0])
    return (v**2).sum() * s


def never(c: Any) -> Any:
    return (sg.while_loop(lambda v: (v**2).sum() < -1.0, lambda v: v * 2, c) ** 2).sum()


def at_most(c: Any) -> Any:
    return (sg.while_loop(lambda v: (v**2).sum() > 0.01, lambda v: sg.sin(v) * 0.7, c, max_steps=2) ** 2).sum()


def chosen(c: Any, w: Any) -> Any:
    yes = sg.cond(c.sum() > -100, lambda: (sg.tanh(c @ w) ** 2).sum(), lambda: (c**3).sum() + w.sum())
    no = sg.cond(c.sum() > 100, lambda: (sg.tanh(c @ w) ** 2).sum(), lambda: (c**3).sum() + (w**3).sum())
    return yes + no


def chosen_operands(c: Any, w: Any) -> Any:
    a, b = sg.cond(c.sum() > 0, lambda p, q: (sg.tanh(p @ q), p), lambda p, q: (p @ q, sg.sin(p)), c, w)
    return (a * b).sum()


def scan_of_cond(c: Any, x: Any) -> Any:
    def body(h: Any, v: Any) -> Any:
        return sg.cond((h * v).sum() > 0, lambda: h * v, lambda: sg.tanh(h + v)), h.sum()

    return both(*sg.scan(body, c, x))


def scan_of_scan(c: Any, x: Any) -> Any:
    def body(h: Any, v: Any) -> Any:
        inner, ys = sg.scan(lambda a, b: (sg.tanh(a * b) + a, a.sum()), h, sg.stack([v, v * 2, h]))
        return inner, ys

    return both(*sg.scan(body, c, x))


def scan_of_while(c: Any, x: Any) -> Any:
    def body(h: Any, v: Any) -> Any:
        return sg.while_loop(lambda a: (a**2).sum() > 1.0, lambda a: sg.tanh(a * v) * 0.5, h + 1), h.sum()

    return both(*sg.scan(body, c, x))


def while_of_scan(c: Any, x: Any) -> Any:
    def body(v: Any, i: Any) -> Any:
        return sg.scan(lambda h, item: (sg.tanh(h * item), None), v, x)[0], i + 1

    return (sg.while_loop(lambda v, i: i < 3, body, (c, np.int64(0)))[0] ** 2).sum()


def cond_of_loops(c: Any, x: Any) -> Any:
    return sg.cond(c.sum() > -100, lambda: both(*sg.scan(lambda h, v: (sg.tanh(h * v), h), c, x)), lambda: (c**2).sum())


def gathered(c: Any, i: Any) -> Any:
    return both(*sg.scan(lambda h, v: (sg.tanh(h + sg.take(c, v, 0)), h * 2), c, i))


def inner_gradient(c: Any, x: Any) -> Any:
    """Steps of gradient descent inside the body."""

    def body(h: Any, v: Any) -> Any:
        point = h * 1.0
        energy = (sg.sin(point * v)).sum()
        (g,) = sg.grad(energy, [point], create_graph=True) if type(c) is sg.Tensor or hasattr(c, "tracer") else (
            sg.gradients(energy, point)
        )  # fmt: skip
        return h - 0.1 * g, energy

    return both(*sg.scan(body, c, x))


C, W, X = real(2, 3), real(3, 3, low=-0.7, high=0.7), real(5, 2, 3)
CASES = {
    "rnn": Case(rnn, (C, W, X)),
    "rnn reversed": Case(rnn_reversed, (C, W, X)),
    "rnn, no iteration": Case(rnn, (C, W, real(0, 2, 3))),
    "rnn, one iteration": Case(rnn, (C, W, real(1, 2, 3))),
    "rnn, two iterations": Case(rnn, (C, W, real(2, 2, 3))),
    "products in and out": Case(projected, (C, W, X)),
    "no items": Case(no_items, (C, W)),
    "nested structures": Case(nested_structures, (C, X)),
    "exchanged carries": Case(exchanged, (C, X)),
    "only stacked": Case(only_stacked, (C, X)),
    "while": Case(halving, (C,)),
    "while, two variables": Case(two_variables, (C, W)),
    "while, no iteration": Case(never, (C,)),
    "while, at most": Case(at_most, (C,)),
    "cond": Case(chosen, (C, W)),
    "cond with operands": Case(chosen_operands, (C, W)),
    "scan of cond": Case(scan_of_cond, (C, X)),
    "scan of scan": Case(scan_of_scan, (C, X)),
    "scan of while": Case(scan_of_while, (C, X)),
    "while of scan": Case(while_of_scan, (C, X)),
    "cond of loops": Case(cond_of_loops, (C, X)),
    "gather": Case(gathered, (C, integer(3, 2, low=0, high=2))),
    "gradient in the body": Case(inner_gradient, (C, X)),
}


def total(gradients: Sequence[Any]) -> Any:
    result = None
    for g in gradients:
        if g is not None:
            result = (g**2).sum() if result is None else result + (g**2).sum()
    return result


def derived(case: Case, operands: Sequence[Any]) -> list[Any]:
    """The loss, its gradients, and the gradients of the sum of their squares."""
    wanted = [x for x in operands if x.dtype.kind == "f"]
    loss = case.fn(*operands)
    if type(loss) is sg.Tensor or hasattr(loss, "tracer"):
        first = sg.grad(loss, wanted, create_graph=True, allow_unused=True)
        second = sg.grad(total(first), wanted, allow_unused=True) if case.smooth else []
    else:
        first = sg.gradients(loss, wanted)
        second = sg.gradients(total(first), wanted) if case.smooth else []
    return [loss, *first, *second]


def tensors(arrays: Sequence[np.ndarray]) -> list[sg.Tensor]:
    return [sg.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]


def drawn(name: str, case: Case, dtype: Any) -> list[np.ndarray]:
    rng = rng_of(name)
    return [operand.draw(rng, dtype) for operand in case.operands]


def in_session(case: Case, arrays: Sequence[np.ndarray], *, known: bool = False) -> list[Any]:
    with sg.Graph().as_default():
        inputs = [sg.placeholder(a.dtype, a.shape if known else [None] * a.ndim) for a in arrays]
        fetches = derived(case, inputs)
        with sg.Session() as session:
            found = session.run([f for f in fetches if f is not None], dict(zip(inputs, arrays, strict=True)))
    values = iter(found)
    return [None if f is None else next(values) for f in fetches]


def compiled(case: Case, arrays: Sequence[np.ndarray]) -> tuple[list[Any], CompiledFunction]:
    step = sg.compile(lambda *operands: derived(case, operands))
    step(*tensors(arrays))
    return step(*tensors(arrays)), step


def agree(found: Sequence[Any], expected: Sequence[Any], dtype: Any, what: str) -> None:
    """Values within the tolerance of the dtype; a gradient that one mode knows to be none may be 0 in another."""
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        left, right = (None if x is None else np.asarray(x.detach().numpy() if isinstance(x, sg.Tensor) else x) for x in (a, b))
        if left is None or right is None:
            assert left is right or not np.any(right if left is None else left), f"{what}, value {i}"
        else:
            assert_close(left, right, RTOL[np.dtype(dtype)], what=f"{what}, value {i}")
