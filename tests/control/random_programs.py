"""Random programs with loops and branches, nested, that use tensors from around them."""

from __future__ import annotations

from random import Random
from typing import Any

import staticgrad as sg
from tests.control.programs import Case
from tests.helpers import real

UNARY = {
    "tanh": sg.tanh,
    "sin": sg.sin,
    "exp": lambda v: sg.exp(sg.tanh(v)),
    "relu": sg.relu,
    "square": lambda v: sg.tanh(v) ** 2,
    "half": lambda v: v * 0.5,
    "mean": lambda v: v - v.mean(0),
    "rows": lambda v: v.sum(1).reshape(2, 1) * v,
    "softmax": lambda v: v.softmax(1),
    "turned": lambda v: v.T.reshape(2, 3),
    "part": lambda v: sg.concatenate([v[1:], v[:1]]),
    "stopped": lambda v: v * v.detach() if hasattr(v, "detach") else v * sg.stop_gradient(v),
}
BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: sg.tanh(a) * b,
    "maximum": sg.maximum,
    "where": lambda a, b: sg.where(a > b, a, b * 0.3),
    "weighted": lambda a, b: a * (b * b).sum() * 0.1,
}
MATRIX = {
    "product": lambda v, w: v @ w,
    "of tanh": lambda v, w: v @ sg.tanh(w),
    "turned product": lambda v, w: v @ w.T,
    "of a product": lambda v, w: v @ (w * w.sum()) * 0.1,
}

Step = tuple[Any, ...]


def block(rng: Random, size: int, depth: int) -> list[Step]:
    """Steps over a pool of `size` values; each adds one."""
    steps: list[Step] = []
    for _ in range(rng.randint(1, 4)):
        n = size + len(steps)
        kind = rng.choice(["unary", "binary", "matrix", "cond", "scan", "while"] if depth else ["unary", "binary", "matrix"])
        a, b = rng.randrange(n), rng.randrange(n)
        if kind == "unary":
            steps.append((kind, rng.choice(list(UNARY)), a))
        elif kind == "binary":
            steps.append((kind, rng.choice(list(BINARY)), a, b))
        elif kind == "matrix":
            steps.append((kind, rng.choice(list(MATRIX)), a))
        elif kind == "cond":
            bound = rng.choice([-2.0, 0.0, 2.0])
            steps.append((kind, a, bound, block(rng, n, depth - 1), block(rng, n, depth - 1)))
        elif kind == "scan":
            items = rng.choice(["operand", "values", "none"])
            options = rng.random() < 0.3, rng.choice([None, None, 2]), rng.choice(["last", "ys", "both"])
            steps.append((kind, a, items, b, *options, block(rng, n + 2, depth - 1)))
        else:
            steps.append((kind, a, rng.randint(0, 3), rng.choice([None, None, 2]), block(rng, n + 1, depth - 1)))
    return steps


def execute(steps: list[Step], pool: list[Any], w: Any, x: Any) -> list[Any]:
    pool = list(pool)
    for kind, *rest in steps:
        if kind == "unary":
            value = UNARY[rest[0]](pool[rest[1]])
        elif kind == "binary":
            value = BINARY[rest[0]](pool[rest[1]], pool[rest[2]])
        elif kind == "matrix":
            value = MATRIX[rest[0]](pool[rest[1]], w)
        elif kind == "cond":
            a, bound, yes, no = rest
            value = sg.cond(
                pool[a].sum() > bound,
                lambda yes=yes: execute(yes, pool, w, x)[-1],
                lambda no=no: execute(no, pool, w, x)[-1],
            )
        elif kind == "scan":
            value = _scan(pool, w, x, *rest)
        else:
            a, count, every, inner = rest
            value, _ = sg.while_loop(
                lambda v, i, count=count: i < count,
                lambda v, i, inner=inner: (sg.tanh(execute(inner, [*pool, v], w, x)[-1]), i + 1.0),
                (pool[a], pool[a].sum() * 0),
                checkpoint_every=every,
            )
        pool.append(value)
    return pool


def _scan(
    pool: list[Any], w: Any, x: Any, a: int, items: str, b: int, reverse: bool, every: Any, result: str, inner: list[Step]
) -> Any:
    def body(h: Any, v: Any) -> Any:
        found = execute(inner, [*pool, h, h if v is None else v], w, x)
        return sg.tanh(found[-1]), found[len(found) // 2]

    xs = {"operand": x, "values": sg.stack([pool[b], pool[a], pool[b]]), "none": None}[items]
    length = 2 if xs is None else None
    last, ys = sg.scan(body, pool[a], xs, length=length, reverse=reverse, checkpoint_every=every)
    return {"last": last, "ys": ys.mean(0), "both": last * ys.sum(0)}[result]


def random_case(seed: int) -> Case:
    """A loss of values (2, 3), a matrix and a stack, by steps that the seed decides."""
    rng = Random(seed)
    steps = block(rng, 2, 2)
    while not any(step[0] in ("cond", "scan", "while") for step in steps):
        steps = block(rng, 2, 2)
    used = rng.sample(range(2, 2 + len(steps)), rng.randint(1, len(steps)))

    def loss(c: Any, w: Any, x: Any) -> Any:
        pool = execute(steps, [c, sg.sin(c)], w, x)
        total = (pool[-1] ** 2).sum()
        for i in used:
            total = total + (pool[i] * c).sum()
        return total

    return Case(loss, (real(2, 3), real(3, 3, low=-0.7, high=0.7), real(3, 2, 3)))
