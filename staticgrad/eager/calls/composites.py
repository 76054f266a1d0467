"""Functions that are made of several ops, as one operation of eager mode.

`composite` marks a function of tensors that has no effects. Where kernels are on and ready, a call is one plan and one record
of the tape. The plan computes the result, and values that the backward plan reads and that cost too much to compute again. Both
are parts of one graph: that of the function and, by symbolic reverse mode, of its gradient. Where it has no plan, as one of
LAPACK's routines, a call takes a route. Elsewhere the function runs as it is written, op by op; so it does when its gradient is
to be recorded (`create_graph`).
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...autodiff.pull import by_rules
from ...autodiff.requests import freed, output_text
from ...base import types
from ...base.interpreter import module
from ...ir import REGISTRY, Expand, OpDef
from ...ops.operators import (
    NOBODY,
    ORDINARY,
    Operators,
    Symbol,
    append,
    frontends,
    intercepted,
    misuse,
    rounded_once,
    routed,
    state,
    taken,
)
from ...ops.operators.node_names import node_of
from ..backward import grad
from ..backward_hooks import Cotangents
from ..execution import own
from ..grad_mode import INFERRED, Mode, modes
from ..saved import check_kept
from ..tape import FreedTensor, Overwritten, Record, memory_of, places_of_change, tick
from ..tensor import PublicTensor, Tensor, record_of, wrap
from .composite_records import OPEN, CompositeRecord, Form, PartRecord, RulesRecord, Saved, refused
from .kernels import NONE, OFF, USES, Maker, PlannedCall, requests, uses_of
from .op_calls import family_of
from .signature import INTEGERS, ITSELF, SEQUENCES, Signature, join

Function = TypeVar("Function", bound=Callable[..., Any])
PYTORCH = {
    "layer_norm": "NativeLayerNormBackward0", "group_norm": "NativeGroupNormBackward0", "linear": "AddmmBackward0",
    "cross_entropy": "NllLossBackward0", "scaled_dot_product_attention": "ScaledDotProductFlashAttentionForCpuBackward0",
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "conv_transpose2d", "conv_transpose3d"), "ConvolutionBackward0"),
    "max_pool2d": "MaxPool2DWithIndicesBackward0", "_dropped": "MulBackward0",
    "_linalg_cholesky": "LinalgCholeskyExBackward0",
    **dict.fromkeys(("_by_batch", "_by_batch_alone", "_standardized"), "NativeBatchNormBackward0"),
    "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogitsBackward0",
}  # fmt: skip
"""PyTorch's names of the derivatives of functions, where they don't follow from the function's name."""
REFUSED = object()


def check_operands(*operands: Any) -> None:
    """Raises GradientError where one of these, all of which PyTorch's operation saves, is of `inference_mode`, and the call is
    recorded. For functions whose parts need other values."""
    if INFERRED and modes.now.grad:
        tensors = [x for x in operands if isinstance(x, Operators)]
        if any(x.requires_grad for x in tensors) and any(x.is_inference() for x in tensors):
            raise misuse.inference_saved()


def composite(function: Function, record_type: type[CompositeRecord] = CompositeRecord) -> Function:
    """Let calls on eager tensors be one operation. The function has no effects; its result is a tensor, or a tuple of some.
    record_type: of the calls' records."""
    name = function.__name__
    if record_type is CompositeRecord:
        function = rounded_once(function)
    op = OpDef(
        name.strip("_"), refused, refused, lambda i: refused, vjp_all=_cotangents, emit=Expand(_written),
        backward=PYTORCH.get(name, ""),
    )  # fmt: skip

    node = node_of(name)
    recent: tuple[list[Any], PlannedCall, Any] = [], NONE, None
    """The signature of the call before, its plan, and the table where that is. The plan declines arrays of other shapes and
    dtypes, so a call with that signature needs no key."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        nonlocal recent
        mode = modes.now
        if mode.whole is OFF.whole or mode.arrays or mode.apart or (frontends.tracing and intercepted()):
            return asked(args, named)
        signature: Signature = [types.default_float]
        tensors: list[Tensor] = []
        tracked, grad = False, mode.grad
        for a in (*args, *named.values()) if named else args:
            kind = a.__class__
            if kind is PublicTensor:
                wants = grad and a._tracked
                signature.append(wants)
                tensors.append(a)
                tracked |= wants
            elif (
                kind in ITSELF or (kind is float and a > 0) or (kind is tuple and INTEGERS.issuperset(map(type, a)))
            ):  # as `join`, without a call
                signature += (kind, a)
            elif not join((a,), signature):
                return other(args, named)
        signature += named
        if not tensors or tensors[0]._data.size < mode.whole:
            return written(args, named)
        arrays = [t._data for t in tensors]
        former, ready, owner = recent
        numbers = None
        found = ready.run(*arrays) if owner is mode.calls and former == signature else None
        if found is None:
            whole = (op, *signature, *[a.shape for a in arrays], *[a.dtype for a in arrays])
            known, opened = mode.calls[whole], None
            if known is None or known.waits:
                open_calls = module("staticgrad.eager.calls.open_calls")
                values, rest = open_calls.numbers_of(signature)
                if values:
                    form = form_of(function, args, named)
                    opened = open_calls.open_call(op, form, values, rest, tensors, grad)
            if opened is not None:
                ready, numbers = opened
                arrays += numbers
            else:
                ready = known or requests.begin(whole, uses_of(max([a.size for a in arrays]), soon(args)), steps=True)
                if ready.waits:
                    ready = requests.call(whole, ready, make, args, named, tensors, grad)
                    if ready.waits:  # the operations inside will have no use for kernels of their own
                        return by_numpy(mode, args, named, tracked)
                if ready.plan is None:
                    return written(args, named) if frontends.tracing else by_route(*args, **named)
            found = ready.run(*arrays) or ready.in_any_layout(*arrays)
            if found is None:
                return written(args, named)
            if opened is None:
                recent = signature, ready, mode.calls
        places: Saved = ready.use
        if not tracked:
            return wrap(found[0]) if not places.results else tuple([wrap(x) for x in found[: places.results]])
        attrs = places.attrs if numbers is None else {"call": form}
        record: CompositeRecord = record_of(op, tuple(tensors), attrs, found[0], mode, record_type)
        record.saved = places
        record.kept = found[places.results or 1 :]
        if INFERRED and (places.reads or len(record.kept)):
            check_kept(tensors)
        if numbers is not None:
            record.kept = [*record.kept, *[numbers[i] for i in places.numbers]]
        if not places.results:
            return wrap(record.out, record)
        parts = {i: PartRecord(record, i, found[i]) for i in places.smooth}
        record.parts = {i: weakref.ref(part) for i, part in parts.items()}
        record.values = {}
        outs = tuple([wrap(x, parts.get(i)) for i, x in enumerate(found[: places.results])])
        for i in places.reads:
            if i < 0:
                record.values[i + places.results] = outs[i]._data, memory_of(outs[i])
        if node is not None:
            frontends.called(node, record.clock - 1, args, named, outs)
        return outs

    def made(args: tuple[Any, ...], named: dict[str, Any], tensors: list[Tensor], grad: bool) -> Any:
        """See `kernels.Make`."""
        form = form_of(function, args, named)
        return module("staticgrad.eager.calls.composite_plans").program(form, tensors, grad)

    def family(key: Any, args: tuple[Any, ...], named: dict[str, Any], tensors: list[Tensor], grad: bool) -> Any:
        tracked = tuple([grad and t._tracked for t in tensors])
        return form_of(function, args, named), tracked, family_of([(t._data.shape, t._data.dtype) for t in tensors])

    make = Maker(made, family, lambda key, *args: (function, *key[1:]), keyed=True)

    def by_numpy(mode: Mode, args: tuple[Any, ...], named: dict[str, Any], tracked: bool) -> Any:
        """The call op by op, without kernels. tracked: it is recorded."""
        kernels, mode.kernels = mode.kernels, OFF
        start = tick() if tracked else 0
        try:
            return written(args, named)
        finally:
            mode.kernels = kernels
            if tracked:
                mode.passing = start, tick()

    @routed
    @functools.wraps(function)
    def by_route(*args: Any, **named: Any) -> Any:
        return written(args, named)

    def written(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The call op by op, as one node to users."""
        if frontends.tracing and state.tracer is not None:
            return state.tracer.called(function, args, named)
        start = tick()
        deferral = state.deferral if frontends.tracing else None
        out = function(*args, **named) if deferral is None else deferral.call(function, args, named)
        if node is not None:
            frontends.called(node, start, args, named, out)
        return out

    def asked(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call op by op, at whose arguments nobody has looked."""
        for a in (*args, *named.values()):
            if a.__class__ not in ORDINARY and (answer := taken(public[-1] if public else call, args, named)) is not NOBODY:
                return answer
        return written(args, named)

    def other(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call with arguments that are no part of a key: with others that mean the same, or op by op."""
        if (answer := taken(public[-1] if public else call, args, named)) is not NOBODY:
            return answer
        given, words = [keyed(a) for a in args], {name: keyed(a) for name, a in named.items()}
        if any(a is REFUSED for a in (*given, *words.values())):
            return written(args, named)
        try:
            return call(*given, **words)
        except ArithmeticError:  # of Python's numbers, in the place of NumPy's, which have infinities
            return written(args, named)

    call.one_node = True  # type: ignore[attr-defined]
    call.public = public = []  # type: ignore[attr-defined, var-annotated]  # see `spelled`
    return call  # type: ignore[return-value]


def soon(args: tuple[Any, ...]) -> int:
    """The call in which the plan of a function takes over: the first one where it gives gradients of another function, which
    has its plan. They recur with it, and what is made of them is the next plan."""
    return 1 if args and args[0].__class__ is Form else USES


def keyed(a: Any) -> Any:
    """An argument as a part of a signature; `REFUSED` where there is none."""
    kind = a.__class__
    if kind in SEQUENCES:
        inner = tuple([keyed(x) for x in a])
        return inner if join(inner, []) else REFUSED
    if isinstance(a, np.integer):
        return int(a)
    if kind is np.float64:
        return float(a)
    if kind is np.ndarray and a.dtype.kind in "fiub":
        return wrap(own(a) if modes.now.grad else a)  # as `tensors_of` does
    return a if kind is PublicTensor or join((a,), []) else REFUSED


def form_of(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Form:
    """The call without its tensors."""
    return Form(
        function,
        tuple([OPEN if isinstance(a, Tensor) else lasting(a) for a in args]),
        tuple([(name, OPEN if isinstance(a, Tensor) else lasting(a)) for name, a in named.items()]),
    )


def lasting(a: Any) -> Any:
    """An argument that nobody can change."""
    return tuple([lasting(x) for x in a]) if a.__class__ in SEQUENCES else a


def _written(node: Any, *operands: Any) -> Any:
    return node.attrs["call"](*operands)


# gradients ------------------------------------------------------------------------------------------------------------


def _cotangents(g: Any, record: Any, wanted: Sequence[bool], *operands: Any) -> Sequence[Any]:
    """The cotangents of all operands; see `OpDef.vjp_all`."""
    given = dict(g) if isinstance(g, Cotangents) else {0: g}
    create = any(isinstance(x, Operators) for x in given.values())
    if not create:
        given = {i: np.asarray(x) for i, x in given.items()}  # NumPy gives scalars in place of 0-d arrays
    if isinstance(record, CompositeRecord):
        if record.freed:
            raise freed()
        if not create:
            found = _by_plan(given, record, operands)
            if found is not None:
                return found
    return _by_composition(given, create, record, wanted, operands)


def _by_plan(g: dict[int, np.ndarray], record: CompositeRecord, operands: Sequence[Any]) -> list[Any] | None:
    places = record.saved
    call = places.reverse
    call.arrive()
    if call.plan is None and places.computes:
        return None
    arrays: list[Any] = [_seed(g, record, i) for i in places.smooth]
    for i in places.reads:
        value = operands[i] if i >= 0 else _result(record, i + max(places.results, 1))
        if isinstance(value, FreedTensor):
            value = value._data
            if isinstance(value, FreedTensor):
                value.refuse()
        arrays.append(value)
    arrays += record.kept
    found = call.run(*arrays) or call.in_any_layout(*arrays) if places.computes else ()
    if found is None:
        return None
    cotangents: list[Any] = [None] * len(operands)
    views, computed = places.views, iter(found)
    for i in places.positions:
        cotangents[i] = views[i](arrays) if i in views else next(computed)
    return cotangents


def _result(record: CompositeRecord, number: int) -> Any:
    """The value of a result, or what stands for one that was changed since."""
    if not record.saved.results:
        engine = modes.now.engine
        return record.out if engine is None else engine._saved_out(record)
    value, memory = record.values[number]
    if memory.changed <= record.clock:
        return value
    return Overwritten(output_text(record.name()), value, places=places_of_change(record, memory))


def _seed(g: Any, record: CompositeRecord, number: int) -> Any:
    found = g.get(number)
    if found is not None:
        return found
    shape, dtype = record.saved.kinds[number]
    return np.zeros(shape, dtype)


def _by_composition(g: dict[int, Any], create: bool, record: Any, wanted: Sequence[bool], operands: Sequence[Any]) -> list[Any]:
    """The gradients of the function as it is written, recorded with `create`. g: the results' cotangents, by number."""
    if record.attrs["call"].function is not _rules:  # rules refuse what they read by themselves
        for x in operands:
            if isinstance(x, FreedTensor):
                x.refuse()
    if create:
        if isinstance(record, CompositeRecord):  # a result need not depend on all operands
            wanted = [wants and i in record.saved.positions for i, wants in enumerate(wanted)]
            if True not in wanted:
                return [None] * len(operands)
        found = gradient(record.attrs["call"], tuple(wanted), tuple(g), *g.values(), *operands)
        given = iter(found if isinstance(found, tuple) else (found,))
        return [next(given) if wants else None for wants in wanted]
    tensors = [
        x if isinstance(x, FreedTensor) else Tensor(x, requires_grad=wants) for x, wants in zip(operands, wanted, strict=True)
    ]
    return [x if x is None else x._data for x in _composed(record.attrs["call"], g, wanted, tensors, False)]


def _composed(form: Form, g: dict[int, Any], wanted: Sequence[bool], tensors: Sequence[Any], create: bool) -> list[Any]:
    """The gradients of a function by a backward pass through its operations; None where none is wanted."""
    mode = modes.now
    around = mode.kernels, mode.arrays, mode.grad
    mode.kernels, mode.arrays, mode.grad = OFF, False, True
    try:
        out = form(*tensors)
        targets = [x for x, wants in zip(tensors, wanted, strict=True) if wants]
        outs = out if isinstance(out, tuple) else (out,)
        seeds = [x if create else wrap(x) for x in g.values()]
        found: Any = iter(grad([outs[i] for i in g], targets, seeds, create_graph=create, allow_unused=True))
    finally:
        mode.kernels, mode.arrays, mode.grad = around
    return [next(found) if wants else None for wants in wanted]


@composite
def gradient(form: Form, wanted: tuple[bool, ...], numbers: tuple[int, ...], *tensors: Any) -> Any:
    """The gradients of a composite function with respect to the operands that `wanted` marks: itself one, so that a recorded
    backward pass runs kernels too. form: of the call; numbers: of the results whose cotangents are given, which come first
    among the tensors; then the operands. One gradient, or a tuple of several."""
    n = len(numbers)
    g, operands = dict(zip(numbers, tensors[:n], strict=True)), tensors[n:]
    if any(isinstance(x, Symbol) for x in tensors):
        out = form(*operands)
        outs = out if isinstance(out, tuple) else (out,)
        targets = [x for x, wants in zip(operands, wanted, strict=True) if wants]
        found = frontends.gradients([outs[i] for i in numbers], targets, list(g.values()))
    else:  # each gradient stops at its operand, also where one operand depends on another
        inner = [
            wrap(x._data, Record(REGISTRY["identity"], (x,), {}, x._data)) if wants else x
            for x, wants in zip(operands, wanted, strict=True)
        ]
        found = [x for x, wants in zip(_composed(form, g, wanted, inner, True), wanted, strict=True) if wants]
    return found[0] if len(found) == 1 else tuple(found)


def _rules(op: tuple[OpDef, tuple[tuple[str, Any], ...]], positions: tuple[int, ...], *tensors: Any) -> Any:
    """The cotangents of operands of an op by its rules. op: with its attributes; tensors: the cotangent of the result, the
    result, the operands. One cotangent, or a tuple of several."""
    (record, attrs), (g, out, *operands) = op, tensors
    node: Any = Applied(tuple(operands), dict(attrs))
    if isinstance(g, Symbol):
        node = append(g.graph, record, operands, node.attrs).node
    found = [*by_rules(record, positions, g, node, out, operands)]
    return found[0] if len(found) == 1 else tuple(found)


rules = composite(_rules, RulesRecord)


class Applied(NamedTuple):
    """What a rule reads of a record besides values."""

    inputs: tuple[Any, ...]
    attrs: dict[str, Any]


def _recorded_rules(record: Record, positions: tuple[int, ...], g: Tensor, values: Sequence[Any]) -> Sequence[Any] | None:
    """See `Frontends.recorded_rules`."""
    op = record.op
    if any(x.__class__ is not PublicTensor for x in values):
        return None
    wanted = tuple([i for i in positions if op.vjp_for(i) is not None])
    if not wanted:
        return None
    found = rules((op, tuple(record.attrs.items())), wanted, g, *values)
    given = iter(found if isinstance(found, tuple) else (found,))
    return [next(given) if i in wanted else None for i in positions]


frontends.recorded_rules = _recorded_rules
frontends.composite = composite
