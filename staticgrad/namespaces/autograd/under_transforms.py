"""`autograd.Function` in functions that run under `vmap`, `jvp` or `grad` of `sg.func`, by PyTorch's rules.

The transform's own derivative of a call is the user's: `backward` under `grad`, `jvp` under `jvp`. The call itself is repeated
on what the tensors stand for, so transforms further out see a call of the same Function. Under `vmap` the user computes all
samples in the static method `vmap`, or says that `forward` and `backward` may be mapped, by `generate_vmap_rule`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...autodiff.batching import Batched, Vmap
from ...autodiff.forward import Dual, Forward, Recorded, Recording, TapeEntry
from ...base.types import INEXACT, TensorType, bool_, type_of
from ...errors import TransformError
from ...ir import OpDef
from ...ops.operands import Parts
from ...ops.operators import Application, F, Level, Operators


def _refused(*types: Any, **attrs: Any) -> Any:
    raise AssertionError("a call under a transform is a step of its tape, and no node")


def _call_vjp(g: Any, node: Application, wanted: Sequence[bool], *operands: Any) -> list[Any]:
    found = node.attrs["rule"](g)
    return [cotangent if wants else None for cotangent, wants in zip(found, wanted, strict=True)]


CALL = OpDef("function_call", _refused, _refused, vjp=lambda i: _refused, vjp_all=_call_vjp)
RESULT = OpDef(
    "function_result", _refused, _refused,
    vjp=(lambda g, node, out, call, value: Parts({node.attrs["index"]: g}), None),
)  # fmt: skip
"""A call as a step of the tape of a transform, and each of its results."""


class VmapInfo(NamedTuple):
    """What the static method `vmap` is told of the transform."""

    batch_size: int | None
    randomness: str


def apply_lifted(function: Any, cls: Any, level: Level, args: tuple[Any, ...], gradients: Callable[..., list[Any]]) -> Any:
    """A call of `cls` with tensors of a transform. function: the base class `Function`; gradients(ctx, cotangents, args): the
    cotangents of the arguments. Raises TransformError for a Function that doesn't say what the transform needs."""
    if cls.setup_context is function.setup_context:
        raise TransformError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
            "the setup_context staticmethod.",
            f"write {cls.__name__}.forward(*args) without ctx, and setup_context(ctx, inputs, output)",
        )
    if isinstance(level, Vmap):
        return _mapped(function, cls, level, args, gradients)
    values = tuple([x.value if isinstance(x, (Recorded, Dual)) and x.level is level else x for x in args])
    output = cls.apply(*values)
    ctx = prepared(cls, values, output, [isinstance(x, (Recorded, Dual)) and x.level is level for x in args])
    results = list(output) if isinstance(output, tuple) else [output]
    if isinstance(level, Forward):
        made = _pushed(cls, ctx, level, args, results)
    else:
        assert isinstance(level, Recording)
        made = _recorded(cls, ctx, level, args, values, results, gradients)
    return tuple(made) if isinstance(output, tuple) else made[0]


def apply_pushed(cls: Any, level: Forward, args: tuple[Any, ...], run: Callable[[Any, tuple[Any, ...]], Any]) -> Any:
    """A call of `cls`, whose `forward` prepares its ctx, with tensors of `forward_ad`. run(ctx, values): the call without."""
    ctx = cls._ctx_class()
    output = run(ctx, tuple([x.value if isinstance(x, Dual) and x.level is level else x for x in args]))
    results = list(output) if isinstance(output, tuple) else [output]
    made = _pushed(cls, ctx, level, args, results)
    return tuple(made) if isinstance(output, tuple) else made[0]


def prepared(cls: Any, inputs: tuple[Any, ...], output: Any, needs: Sequence[bool]) -> Any:
    """A ctx as after `forward`."""
    ctx = cls._ctx_class()
    ctx.needs_input_grad = tuple(needs)
    cls.setup_context(ctx, inputs, output)
    ctx._saved = lambda: ctx.to_save
    return ctx


def _smooth(ctx: Any, x: Any) -> bool:
    """Whether a gradient flows through a result."""
    return isinstance(x, Operators) and x.dtype.kind in INEXACT and not any(x is other for other in ctx.non_differentiable)


def _type(x: Any) -> TensorType:
    return type_of(x) if isinstance(x, Operators) else TensorType((), bool_)


def _recorded(
    cls: Any, ctx: Any, level: Recording, args: Sequence[Any], values: Sequence[Any], results: list[Any],
    gradients: Callable[..., list[Any]],
) -> list[Any]:  # fmt: skip
    kinds = list(map(_type, results))
    places = [i for i, x in enumerate(values) if isinstance(x, Operators)]

    def rule(cotangents: Parts) -> list[Any]:
        given = [cotangents.get(i) for i in range(len(results))]
        filled = [
            None if not isinstance(x, Operators) else F.zeros_like(x) if g is None and ctx.materialize_grads else g
            for x, g in zip(results, given, strict=True)
        ]
        found = gradients(ctx, filled, values)
        return [found[i] for i in places]

    types = [_type(values[i]) for i in places]
    node = Application(CALL, types, {"rule": rule}, kinds[0])
    given = [args[i] for i in places]
    mine = [isinstance(x, Recorded) and x.level is level and x.dtype.kind in INEXACT for x in given]
    sources = [x.step if m else None for x, m in zip(given, mine, strict=True)]
    call = TapeEntry(node, [values[i] for i in places], sources, None)
    made = list(results)
    for i, x in enumerate(results):
        if _smooth(ctx, x):
            result = Application(RESULT, [kinds[i], kinds[i]], {"index": i}, kinds[i])
            made[i] = Recorded(level, x, TapeEntry(result, (None, x), (call, None), x))
    return made


def _jvp(cls: Any, ctx: Any, tangents: Sequence[Any]) -> Any:
    """What the user's `jvp` returns, which sees what `save_for_forward` got; `backward` sees what `save_for_backward` got."""
    kept, saved = ctx._for_forward, ctx._saved
    if kept is not None:
        ctx._saved = lambda: kept
    try:
        return cls.jvp(ctx, *tangents)
    finally:
        ctx._saved, ctx._for_forward = saved, None


def _pushed(cls: Any, ctx: Any, level: Forward, args: Sequence[Any], results: list[Any]) -> list[Any]:
    tangents = [
        x.tangent if isinstance(x, Dual) and x.level is level
        else F.zeros_like(x) if isinstance(x, Operators) and x.dtype.kind in INEXACT and ctx.materialize_grads else None
        for x in args
    ]  # fmt: skip
    found = _jvp(cls, ctx, tangents)
    pushed = list(found) if isinstance(found, tuple) else [found]
    if len(pushed) != len(results):
        raise TransformError(
            f"{cls.__name__}.jvp returned {len(pushed)} tangents for {len(results)} results", "return one for each, or None"
        )
    return [Dual(level, x, t) if t is not None and _smooth(ctx, x) else x for x, t in zip(results, pushed, strict=True)]


# vmap -----------------------------------------------------------------------------------------------------------------


def _mapped(function: Any, cls: Any, level: Vmap, args: tuple[Any, ...], gradients: Callable[..., list[Any]]) -> Any:
    flags = [isinstance(x, Batched) and x.level is level for x in args]
    values = [x.value if flag else x for x, flag in zip(args, flags, strict=True)]
    own = getattr(cls, "vmap", None)
    if cls.generate_vmap_rule:
        if own is not None:
            raise TransformError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overriden vmap "
                "staticmethod. Please set generate_vmap_rule=False or delete the overriden vmap staticmethod to avoid "
                "ambiguity.",
            )
        output = _of_samples(function, cls, level, flags, gradients).apply(*values)
        outputs = list(output) if isinstance(output, tuple) else [output]
        made = [Batched(level, x) if isinstance(x, Operators) else x for x in outputs]
        return tuple(made) if isinstance(output, tuple) else made[0]
    if own is None:
        raise TransformError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True.",
        )
    with level.suspended():
        output, out_dims = own(VmapInfo(level.size, level.randomness), tuple(0 if f else None for f in flags), *values)
    outputs = list(output) if isinstance(output, tuple) else [output]
    axes = list(out_dims) if isinstance(out_dims, (tuple, list)) else [out_dims] * len(outputs)
    made = [
        x if axis is None or not isinstance(x, Operators) else Batched(level, x if axis == 0 else F.movedim(x, axis, 0))
        for x, axis in zip(outputs, axes, strict=True)
    ]
    return tuple(made) if isinstance(output, tuple) else made[0]


def _of_samples(function: Any, cls: Any, outer: Vmap, flags: Sequence[bool], gradients: Callable[..., list[Any]]) -> Any:
    """The Function of all samples, whose `forward`, `backward` and `jvp` are those of one under `vmap`."""

    def again() -> Vmap:
        return Vmap(outer.size, outer.sample, outer.randomness)

    def lifted(level: Vmap, values: Sequence[Any], which: Sequence[bool]) -> tuple[Any, ...]:
        return tuple([Batched(level, x) if flag else x for x, flag in zip(values, which, strict=True)])

    def lowered(level: Vmap, output: Any) -> Any:
        if isinstance(output, tuple):
            return tuple([level.of(x) if isinstance(x, Operators) else x for x in output])
        return level.of(output) if isinstance(output, Operators) else output

    def forward(*values: Any) -> Any:
        with again() as level:
            return lowered(level, cls.forward(*lifted(level, values, flags)))

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        with again() as level:
            results = output if isinstance(output, tuple) else (output,)
            tensors = lifted(level, results, [isinstance(x, Operators) for x in results])
            given = lifted(level, inputs, flags)
            inner = prepared(cls, given, tensors if isinstance(output, tuple) else tensors[0], ctx.needs_input_grad)
            pairs = list(zip((*given, *tensors), (*inputs, *results), strict=True))

            def flat(saved: Sequence[Any]) -> tuple[list[bool], list[Any]]:
                own = [isinstance(x, Batched) and x.level is level for x in saved]
                return own, [
                    next((plain for seen, plain in pairs if seen is x), x.value if mine else x)
                    for x, mine in zip(saved, own, strict=True)
                ]

            ctx.own, kept = flat(inner.to_save)
            ctx.save_for_backward(*kept)
            ctx.own_in_jvp = ctx.own
            if inner._for_forward is not None:
                ctx.own_in_jvp, kept = flat(inner._for_forward)
                ctx.save_for_forward(*kept)
                inner._for_forward = None
            marked = [plain for seen, plain in pairs if any(seen is x for x in inner.non_differentiable)]
            ctx.mark_non_differentiable(*marked)
            ctx.set_materialize_grads(inner.materialize_grads)
            ctx.inner, ctx.types = inner, [type_of(x) if isinstance(x, Operators) else None for x in given]

    def entered(ctx: Any, level: Vmap, own: Sequence[bool]) -> Any:
        saved = lifted(level, ctx.saved_tensors, own)
        ctx.inner._saved = lambda: saved
        return ctx.inner

    def backward(ctx: Any, *cotangents: Any) -> Any:
        with again() as level:
            seeds = lifted(level, cotangents, [isinstance(g, Operators) for g in cotangents])
            found = gradients(entered(ctx, level, ctx.own), seeds, ctx.types)
            made = []
            for g, flag in zip(found, flags, strict=True):
                total = None if g is None else level.of(g)
                made.append(total if total is None or flag else F.sum(total, 0))
        return tuple(made)

    def jvp(ctx: Any, *tangents: Any) -> Any:
        with again() as level:
            which = [flag and isinstance(t, Operators) for t, flag in zip(tangents, flags, strict=True)]
            return lowered(level, cls.jvp(entered(ctx, level, ctx.own_in_jvp), *lifted(level, tangents, which)))

    body: dict[str, Any] = {name: staticmethod(made) for name, made in (
        ("forward", forward), ("setup_context", setup_context), ("backward", backward), ("jvp", jvp),
    )}  # fmt: skip
    body["generate_vmap_rule"] = True  # a transform further out maps it in turn
    return type(f"Vmapped{cls.__name__}", (function,), body)
