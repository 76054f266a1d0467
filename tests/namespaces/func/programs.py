"""Programs of function transforms that PyTorch runs too: functions of a namespace (`staticgrad` or `torch`) and tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Program(NamedTuple):
    """One program: run(namespace, *tensors) on tensors of these shapes."""

    name: str
    run: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]

    def arrays(self) -> list[np.ndarray]:
        rng = np.random.default_rng(len(self.name))
        return [rng.uniform(-1, 1, shape) for shape in self.shapes]


def mlp(t: Any, w1: Any, w2: Any, x: Any) -> Any:
    return t.tanh(x @ w1) @ w2


def mse(t: Any, params: Any, x: Any, y: Any) -> Any:
    return ((mlp(t, params[0], params[1], x) - y) ** 2).mean()


def per_sample(t: Any, w1: Any, w2: Any, x: Any, y: Any) -> Any:
    return t.vmap(t.func.grad(lambda p, x, y: mse(t, p, x, y)), in_dims=((None, None), 0, 0))((w1, w2), x, y)


def maml(t: Any, w1: Any, w2: Any, x: Any, y: Any) -> Any:
    """Each task takes a step of its own; the gradient is that of the losses after it."""

    def after(params: Any, x: Any, y: Any) -> Any:
        slopes = t.func.grad(lambda p: mse(t, p, x[:2], y[:2]))(params)
        return mse(t, tuple(p - 0.1 * g for p, g in zip(params, slopes, strict=True)), x[2:], y[2:])

    def total(params: Any) -> Any:
        return t.vmap(lambda x, y: after(params, x, y))(x, y).mean()

    return t.func.grad_and_value(total)((w1, w2))


def hessian_of_mlp(t: Any, w1: Any, w2: Any, x: Any) -> Any:
    return t.func.hessian(lambda w: mlp(t, w, w2, x).sum())(w1)


def per_layer_hessians(t: Any, w1: Any, w2: Any, x: Any) -> Any:
    return t.func.hessian(lambda a, b: mlp(t, a, b, x).sum(), argnums=(0, 1))(w1, w2)


def ensemble(t: Any, w1: Any, w2: Any, x: Any) -> Any:
    return t.vmap(lambda a, b: mlp(t, a, b, x))(w1, w2), t.vmap(lambda a, b, x: mlp(t, a, b, x))(w1, w2, x)


def jacobians(t: Any, w: Any, x: Any) -> Any:
    def f(x: Any) -> Any:
        return t.sin(w @ x), (x * x).sum()

    return t.func.jacrev(f)(x), t.func.jacfwd(f)(x), t.func.jacrev(lambda w, x: w @ x, argnums=(0, 1))(w, x)


def batched_jacobian(t: Any, x: Any) -> Any:
    return t.vmap(t.func.jacrev(lambda v: t.stack([v[0] * v[1], t.exp(v[2]), v.sum()])))(x)


def hessian_vector(t: Any, w1: Any, w2: Any, x: Any, v: Any) -> Any:
    def f(w: Any) -> Any:
        return t.tanh(mlp(t, w, w2, x)).sum()

    return t.func.jvp(t.func.grad(f), (w1,), (v,))


def reverse_over_forward(t: Any, x: Any, v: Any) -> Any:
    return t.func.grad(lambda x: t.func.jvp(lambda y: (y**3).sum(), (x,), (v,))[1])(x)


def pullbacks(t: Any, w: Any, x: Any, g: Any) -> Any:
    out, pull = t.func.vjp(lambda w, x: t.sigmoid(w @ x), w, x)
    return out, pull(g[0]), t.vmap(pull)(g)


def pushforwards(t: Any, w: Any, x: Any, v: Any) -> Any:
    return t.vmap(lambda v: t.func.jvp(lambda x: t.softmax(w @ x, -1), (x,), (v,))[1])(v)


def nested_vmaps(t: Any, x: Any, y: Any) -> Any:
    return t.vmap(t.vmap(lambda a, b: (a * b).sum(), in_dims=(None, 0)), in_dims=(0, None))(x, y)


def dims(t: Any, x: Any, y: Any) -> Any:
    def f(d: Any, z: Any) -> Any:
        return {"s": d["a"] + d["b"][0] * z, "p": (d["a"], z.sum())}

    mapped = t.vmap(f, in_dims=({"a": 1, "b": (-1,)}, None), out_dims={"s": 1, "p": (0, None)})
    return mapped({"a": x, "b": (x,)}, y)


def chunks(t: Any, x: Any, y: Any) -> Any:
    return t.vmap(lambda a, b: t.outer(a, b), chunk_size=2)(x, y), t.func.jacrev(lambda a: a @ y.T, chunk_size=3)(x)


def shared_and_indexed(t: Any, x: Any, y: Any) -> Any:
    def f(row: Any, other: Any) -> Any:
        top = row.max(0)
        order = t.argsort(row)
        return row[order], top.values * other, t.where(row > 0, row, other), t.cat([row, other]), row[t.argmax(other)]

    return t.vmap(f)(x, y), t.vmap(f, in_dims=(0, None))(x, y[0])


def in_place(t: Any, x: Any, y: Any) -> Any:
    def f(a: Any, b: Any) -> Any:
        c = a.clone()
        c.mul_(2).add_(b)
        c[0] = b[1] * a[2]
        c[1:].sub_(a[0])
        return c

    return t.vmap(f)(x, y), t.func.jacrev(f)(x[0], y[0]), t.func.jacfwd(f)(x[0], y[0])


def linear_algebra(t: Any, a: Any, b: Any) -> Any:
    def f(m: Any, v: Any) -> Any:
        s = m @ m.T + 3 * t.eye(3, dtype=m.dtype)
        return t.linalg.solve(s, v), t.linalg.det(s), t.linalg.cholesky(s), t.linalg.inv(s)

    return t.vmap(f)(a, b), t.func.jacfwd(lambda m: f(m, b[0])[1])(a[0]), t.func.jacrev(lambda m: f(m, b[0])[0])(a[0])


def convolutions(t: Any, x: Any, w: Any) -> Any:
    F = t.functional if hasattr(t.functional, "conv2d") else t.nn.functional
    conv = F.conv2d
    both = t.vmap(lambda x, w: conv(x, w, padding=1))
    weights = t.vmap(lambda w: conv(x[0], w, stride=2))(w)
    slopes = t.vmap(t.func.grad(lambda w, x: (conv(x, w) ** 2).sum()), in_dims=(None, 0))(w[0], x)
    return both(x, w), weights, slopes, t.vmap(lambda x: F.max_pool2d(x, 2))(x)


def linearized(t: Any, w: Any, x: Any, v: Any) -> Any:
    out, push = t.func.linearize(lambda x: t.tanh(w @ x), x)
    return out, push(v)


def custom_function(t: Any, x: Any, y: Any) -> Any:
    """Its gradient is not that of its value, so results show whose rules were used."""

    class Cube(t.autograd.Function):  # type: ignore[misc, name-defined]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x**3 * y, x.sum()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            x, y = ctx.saved_tensors
            return 30 * x**2 * y * g + h, 10 * x**3 * g

        @staticmethod
        def jvp(ctx: Any, dx: Any, dy: Any) -> Any:
            x, y = ctx.saved_tensors
            return 30 * x**2 * y * dx + 10 * x**3 * dy, dx.sum()

    def f(x: Any, y: Any) -> Any:
        cubes, total = Cube.apply(x, y)
        return cubes + total

    def total(x: Any, y: Any) -> Any:
        return f(x, y).sum()

    return (
        t.func.jacrev(f, argnums=(0, 1))(x[0], y),
        t.vmap(f, in_dims=(0, None))(x, y),
        t.vmap(t.func.grad(total), in_dims=(0, None))(x, y),
        t.func.grad(lambda y: t.vmap(f, in_dims=(0, None))(x, y).sum())(y),
        t.func.jvp(f, (x[0], y), (y, x[0])),
        t.func.hessian(lambda x: total(x, y))(x[0]),
    )


PROGRAMS = [
    Program("per-sample gradients", per_sample, ((4, 8), (8, 2), (5, 4), (5, 2))),
    Program("maml", maml, ((3, 6), (6, 1), (4, 5, 3), (4, 5, 1))),
    Program("hessian of an mlp", hessian_of_mlp, ((3, 4), (4, 2), (5, 3))),
    Program("hessians of two layers", per_layer_hessians, ((3, 4), (4, 2), (5, 3))),
    Program("ensemble", ensemble, ((5, 3, 4), (5, 4, 2), (5, 3))),
    Program("jacobians", jacobians, ((5, 3), (3,))),
    Program("batched jacobian", batched_jacobian, ((4, 3),)),
    Program("hessian-vector product", hessian_vector, ((3, 4), (4, 2), (5, 3), (3, 4))),
    Program("reverse over forward", reverse_over_forward, ((4,), (4,))),
    Program("pullbacks", pullbacks, ((5, 3), (3,), (4, 5))),
    Program("pushforwards", pushforwards, ((5, 3), (3,), (4, 3))),
    Program("nested vmaps", nested_vmaps, ((3, 4), (5, 4))),
    Program("dims", dims, ((3, 4), (3,))),
    Program("chunks", chunks, ((5, 3), (5, 3))),
    Program("ordering and indexing", shared_and_indexed, ((4, 3), (4, 3))),
    Program("in place", in_place, ((4, 3), (4, 3))),
    Program("linear algebra", linear_algebra, ((4, 3, 3), (4, 3))),
    Program("convolutions", convolutions, ((3, 2, 4, 5, 5), (3, 6, 4, 3, 3))),
    Program("custom function", custom_function, ((4, 3), (3,))),
    Program("linearize", linearized, ((5, 3), (3,), (3,))),
]
