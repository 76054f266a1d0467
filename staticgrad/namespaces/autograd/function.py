"""`autograd.Function`: operations whose gradients the user writes, under PyTorch's names and rules.

Eagerly a call is one record of the tape, `FunctionRecord`, made after `forward` ran unrecorded. Each of several results has a
record of its own, `ResultRecord`, that hands its cotangent on to that one. Of tensors of a graph, and in a trace, a call is a
node (`ops/custom_gradient.py`), so `forward` and `backward` have to be made of operations of this library.
"""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from ...autodiff import requests
from ...autodiff.forward import DualLevel
from ...base.types import INEXACT, shape_text
from ...eager.backward_hooks import Cotangents
from ...eager.calls.composite_records import PartRecord
from ...eager.conversion import is_tensor
from ...eager.grad_mode import modes, no_grad
from ...eager.inplace import record_change
from ...eager.saved import Packed
from ...eager.tape import FreedTensor, Handle, Record, changed, edge, tick
from ...eager.tensor import UNRECORDED, Tensor, check_inplace, note_parent, wrap
from ...errors import ArgumentError, GradientError, ShapeError, TraceError, user_position
from ...ir import OpDef
from ...ops.custom_gradient import call_symbols
from ...ops.operators import F, FormerNode, Operators, Symbol, frontends, misuse, state, top_level

Method = TypeVar("Method", bound=Callable[..., Any])


class FunctionCtx(FormerNode):
    """What `forward` leaves for `backward`: the `ctx` of both, and `grad_fn` of the results. Users may set any attribute."""

    _forward_cls: Any
    _call: weakref.ref[FunctionRecord] | None = None
    """The call's record, which has the ctx; None where it is not on the tape."""
    _asked: FunctionRecord | None = None
    """The same, once somebody has asked for `grad_fn`, which keeps the tape."""

    needs_input_grad: tuple[bool, ...] = ()
    """For each argument of `forward`, whether it is a tensor that requires grad."""
    materialize_grads = True
    to_save: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    _saved: Callable[[], tuple[Any, ...]] | None = None
    _kept: tuple[Any, ...] | None = None
    """What `save_for_backward` got, once the call is on the tape; None again after a backward pass freed it."""

    _for_forward: tuple[Any, ...] | None = None
    """What `save_for_forward` got, until `jvp` was called."""

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for `backward`, as `saved_tensors`. Called in `forward` or `setup_context`, once."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for `jvp`, as `saved_tensors` there. Without, it gets those of `save_for_backward`."""
        self._for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Arguments that `forward` changed in place, and returns."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Results through which no gradient flows."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros, or None, for a result that has no gradient."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors of `save_for_backward`. Raises GradientError once a backward pass freed them, and for one that was
        changed in place since."""
        return self.to_save if self._saved is None else self._saved()

    saved_variables = saved_tensors

    # the node

    @property
    def _record(self) -> FunctionRecord:
        found = self._asked if self._asked is not None or self._call is None else self._call()
        if found is None:
            raise AttributeError(f"a call of {self._forward_cls.__name__} that is not on the tape is no node")
        return found

    def name(self) -> str:
        """The name PyTorch shows: `ExpBackward`."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that made the tensor arguments."""
        return Record.next_functions.__get__(self._record)

    def result(self, number: int) -> Record:
        """The record of one of the results."""
        return self._record.result(number)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's notes."""
        return self._record.metadata

    def apply(self, *cotangents: Any) -> Any:
        """What the `backward` of the Function returns."""
        return self._forward_cls.backward(self, *cotangents)

    def _sequence_nr(self) -> int:
        """See `Record._sequence_nr`."""
        return self._record.clock

    def register_hook(self, fn: Callable[[Any, Any], Any]) -> Handle:
        """See `Record.register_hook`."""
        return self._record.register_hook(fn)

    def register_prehook(self, fn: Callable[[Any], Any]) -> Handle:
        """See `Record.register_prehook`."""
        return self._record.register_prehook(fn)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {hex(id(self))}>"


class FunctionRecord(Record):
    """A call of a Function on the tape. results: how many there are."""

    __slots__ = ("function", "makers", "parts", "result_types")

    opaque = True
    function: Any
    """The ctx."""
    makers: list[weakref.ref[Record] | None]
    """The records of the results."""
    parts: tuple[int, ...]
    """The places of its operands among the arguments of `forward`."""

    @property
    def results(self) -> int:
        return len(self.result_types)

    def name(self) -> str:
        return f"{type(self.function)._name}Backward"

    @property
    def node(self) -> Any:
        self.function._asked = self
        return self.function

    @property
    def freed(self) -> bool:
        return self.function._kept is None

    def free(self) -> None:
        """Drop what the ctx saved; a Function that saved nothing can be differentiated again."""
        if self.function._kept:
            self.function._kept = None

    def siblings(self) -> list[Record | None]:
        return [self]

    def result(self, number: int) -> Record:
        if self.results == 1:
            return self
        reference = self.makers[number]
        found = None if reference is None else reference()
        if found is None:
            found = ResultRecord(self, number, _nothing(self.result_types[number]))
            self.makers[number] = weakref.ref(found)
        return found


class ResultRecord(PartRecord):
    """One of several results of a Function."""

    __slots__ = ()

    @property
    def node(self) -> Any:
        return self.call.node


def _refused(*types: Any, **attrs: Any) -> Any:
    raise ArgumentError("a call of an autograd.Function is no operation of a graph")


CALL = OpDef("function", _refused, _refused, vjp=lambda i: _refused, vjp_all=lambda *args: _run_backward(*args))


class Kept:
    """A tensor of `save_for_backward`; result: its number among the results, None for an argument or another tensor."""

    __slots__ = ("data", "form", "result", "tensor", "tick")

    def __init__(self, tensor: Tensor, result: int | None):
        self.result = result
        self.tick = tick()
        self.tensor: Any = tensor if result is None else tensor.detach()
        self.form: Packed | None = None

    def value(self, name: str, call: FunctionRecord | None) -> Tensor:
        """call: None where it is on no tape any more."""
        maker = None if self.result is None or call is None else call.result(self.result)
        if self.form is not None:
            return self.form.tensor(maker)
        if changed(self.tensor) > self.tick:
            memory = self.tensor._memory if self.tensor._base is None else self.tensor._base._memory
            raise requests.modified(
                requests.operand_text(self.tensor, name), None if call is None else call.where, memory.where
            )
        if self.result is None:
            return cast("Tensor", self.tensor)
        shown = wrap(self.tensor._data, maker)
        shown._memory = self.tensor._memory
        return shown


class Function:
    """An operation with a gradient of the user's own.

    A subclass defines the static methods `forward(ctx, *args)`, or `forward(*args)` and `setup_context(ctx, inputs, output)`,
    and `backward(ctx, *grad_outputs)`, which returns one gradient, or None, for each argument. It is called by `apply`.

    Examples:
        >>> class Cube(sg.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**3
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return 3 * x**2 * grad
        >>> x = sg.tensor(2.0, requires_grad=True)
        >>> y = Cube.apply(x)
        >>> y
        tensor(8., grad_fn=<CubeBackward>)
        >>> sg.grad(y, x)
        (tensor(12.),)
    """

    generate_vmap_rule = False
    _ctx_class: type[FunctionCtx]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._ctx_class = type(
            f"{cls.__name__}Backward",
            (FunctionCtx,),
            {"__module__": getattr(cls, "__module__", __name__), "_name": cls.__name__, "_forward_cls": cls},
        )

    def __init__(self, *args: Any, **kwargs: Any):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them "
            "on the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises GradientError: functions are called by `apply`."""
        raise GradientError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method.",
            f"call {type(self).__name__}.apply(...)",
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The result, one value or a tuple."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Prepare `ctx`, where `forward` takes none."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any, **kwargs: Any) -> Any:  # so checkers accept any arguments in subclasses
        """The gradient of each argument of `forward`, from those of the results."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any, **kwargs: Any) -> Any:
        """The tangents of the results, from those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and record it where a positional argument requires grad."""
        if cls.forward is Function.forward:
            cls.forward()
        if cls.setup_context is not Function.setup_context:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        level = top_level(args)
        if level is not None:
            from .under_transforms import apply_lifted, apply_pushed  # with the transforms, which are running

            if cls.setup_context is Function.setup_context and isinstance(level, DualLevel):
                return apply_pushed(cls, level, args, lambda ctx, values: _apply_eager(cls, ctx, values, kwargs))
            return apply_lifted(Function, cls, level, args, _gradients_fitted)
        ctx = cls._ctx_class()
        tracing = frontends.tracing and state.tracer is not None
        if tracing or any(isinstance(x, Symbol) for x in args):
            return _apply_symbols(cls, ctx, args, kwargs)
        made = _apply_eager(cls, ctx, args, kwargs)
        ctx._for_forward = None  # `jvp` is called under transforms alone
        return made


def _run_forward(cls: Any, ctx: FunctionCtx, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    with no_grad():
        if cls.setup_context is Function.setup_context:
            return cls.forward(ctx, *args, **named)
        output = cls.forward(*args, **named)
        cls.setup_context(ctx, args, output)
        return output


def _check_saved(ctx: FunctionCtx) -> None:
    for i, x in enumerate(ctx.to_save):
        if x is not None and not is_tensor(x):
            raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type(x).__name__}")
        made_there = x._inference if isinstance(x, Tensor) else isinstance(x, Operators) and x.is_inference()
        if made_there and not modes.now.inference:
            raise misuse.inference_saved()


# eagerly ------------------------------------------------------------------------------------------------------------------


def _apply_eager(cls: Any, ctx: FunctionCtx, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    tensors = [(i, x) for i, x in enumerate(args) if isinstance(x, Tensor)]
    recorded = modes.now.grad and any(x._tracked for _, x in tensors)
    ctx.needs_input_grad = tuple(isinstance(x, Tensor) and x._tracked for x in args)
    now = tick()
    operands = tuple(FreedTensor(x.shape, x.dtype, *edge(x, now)) for _, x in tensors) if recorded else ()
    output = _run_forward(cls, ctx, args, named)
    _check_saved(ctx)
    results: list[Any] = list(output) if isinstance(output, tuple) else [output]
    _check_dirty(ctx, args, results, recorded)
    if recorded:
        results = _recorded(ctx, args, tensors, operands, results)
    else:
        results = [_unrecorded(x, args, ctx) for x in results]
        ctx._saved = lambda: ctx.to_save
    return tuple(results) if isinstance(output, tuple) else results[0]


def _check_dirty(ctx: FunctionCtx, args: tuple[Any, ...], results: list[Any], recorded: bool) -> None:
    for i, x in enumerate(ctx.dirty_tensors):
        if not isinstance(x, Tensor):
            raise TypeError(f"mark_dirty can only accept variables, but argument {i} is of type {type(x).__name__}")
        if not any(x is arg for arg in args):
            warnings.warn(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
                "passed to ctx.mark_dirty().",
                UserWarning,
                stacklevel=4,
            )
            continue
        if not any(x is result for result in results):
            raise GradientError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                "modified inplace must all be outputs of the Function."
            )
        if recorded and x._tracked and x._record is None:
            raise GradientError(
                "a leaf Variable that requires grad has been used in an in-place operation.", "change a clone() of it"
            )
        if recorded:
            check_inplace(x)
            if x._base is not None and sum(isinstance(result, Operators) for result in results) > 1:
                raise GradientError(
                    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
                    "more than one Tensor. This is not supported by the current autograd engine. You should either make sure "
                    "the input is not a view (using .clone() for example) or make your Function only return one Tensor "
                    "(potentially splitting it into two Functions: one doing the inplace that returns a single Tensor and a "
                    "second one that does the other operations)."
                )


def _unrecorded(x: Any, args: tuple[Any, ...], ctx: FunctionCtx) -> Any:
    alias = isinstance(x, Tensor) and any(x is arg for arg in args) and not any(x is d for d in ctx.dirty_tensors)
    return x.detach() if alias else x


@functools.lru_cache(256)
def _nothing(kind: tuple[Any, Any] | None) -> np.ndarray:
    """An array of a shape and dtype, whose elements are not read."""
    return np.zeros(()) if kind is None else np.broadcast_to(np.zeros((), kind[1]), kind[0])


def _recorded(
    ctx: FunctionCtx, args: tuple[Any, ...], tensors: Sequence[tuple[int, Any]], operands: tuple[Any, ...], results: list[Any]
) -> list[Any]:
    call = FunctionRecord.__new__(FunctionRecord)
    call.op, call.inputs, call.attrs, call.memory, call.hooks, call.named = CALL, operands, {}, None, None, None
    call.clock = tick()
    call.position = user_position(3)
    note_parent(call, modes.now)
    call.function = ctx
    ctx._call = weakref.ref(call)
    call.parts = tuple(i for i, _ in tensors)
    call.result_types = tuple((x.shape, x.dtype) if isinstance(x, Tensor) else None for x in results)
    call.makers = [None] * len(results)
    (kind,) = call.result_types if call.results == 1 else (None,)
    call.out = _nothing(kind)
    ctx._kept = ()
    passed, dirty, fixed = ({*map(id, xs)} for xs in (args, ctx.dirty_tensors, ctx.non_differentiable))
    given: list[Any] = list(results)
    first = {id(x): i for i, x in reversed([*enumerate(results)])}
    doubles = {  # one tensor returned several times; an argument is a view of itself each time
        i: first[id(x)] for i, x in enumerate(results) if first[id(x)] != i and id(x) not in passed
    }
    last = {i: i for i in range(len(results))} | {first: i for i, first in doubles.items()}
    for number, x in enumerate(results):
        if not isinstance(x, Tensor):
            continue
        if id(x) in fixed or x.dtype.kind not in INEXACT:
            given[number] = wrap(x._data) if id(x) in passed else x
        elif id(x) in dirty:
            record_change(x, wrap(x._data, call.result(number)), ctx._name)  # type: ignore[attr-defined]
        else:
            if number in doubles:
                given[number] = given[doubles[number]]
                continue
            if id(x) in passed:
                given[number] = shown = wrap(x._data)
                shown._base, x = (x if x._base is None else x._base), shown
            elif x._tracked or x._record is not None:
                given[number] = x = wrap(x._data)
            if x._base is not None:  # the rules of views would pass the Function's own gradient by
                x._views, x._refusal = UNRECORDED, refusal_of_view(ctx._name, number, call.results)  # type: ignore[attr-defined]
            x._record, x._tracked = call.result(last[number]), True
    numbers = {id(x): i for i, x in enumerate(results) if id(x) not in passed}
    numbers.update({id(x): first[id(x)] for x in ctx.dirty_tensors})
    ctx._kept = tuple(Kept(x, numbers.get(id(x))) if isinstance(x, Tensor) else x for x in ctx.to_save)  # else a sparse one
    ctx.to_save = ()
    reference, of_ctx = weakref.ref(call), weakref.ref(ctx)
    ctx._saved = lambda: _saved_of(of_ctx(), reference())
    saver = modes.now.saver
    if saver is not None:
        for kept in ctx._kept:
            if isinstance(kept, Kept):
                shown = kept.tensor
                source = (None, None) if kept.result is not None else edge(shown, call.clock)
                kept.form = Packed(shown.shape, shown.dtype, saver.keep(shown), *source)
                kept.tensor = None
    return given


def _saved_of(ctx: Any, call: FunctionRecord | None) -> tuple[Any, ...]:
    """See `FunctionCtx.saved_tensors`."""
    if ctx._kept is None:
        raise requests.freed()
    return tuple(x.value(f"{ctx._name}Backward", call) if isinstance(x, Kept) else x for x in ctx._kept)


def _run_backward(g: Any, call: FunctionRecord, wanted: Sequence[bool], *operands: Any) -> list[Any]:
    """The cotangents of the tensor arguments."""
    ctx = call.function
    mode = modes.now
    arrays, mode.arrays = mode.arrays, False
    try:
        given = g if isinstance(g, Cotangents) else {0: g}
        cotangents = [_materialized(ctx, given.get(i), kind) for i, kind in enumerate(call.result_types)]
        needs = list(ctx.needs_input_grad)
        found = _gradients_of(ctx, cotangents, len(needs))
        result: list[Any] = []
        for place, operand, want in zip(call.parts, operands, wanted, strict=True):
            value = found[place]
            value = _fitted(ctx, place, value, operand) if want and value is not None else None
            result.append(value if value is None or not arrays else value._data)
        for place, value in enumerate(found):
            if value is not None and place not in call.parts:
                raise GradientError(
                    f"function {ctx._name}Backward returned a gradient different than None at position {place + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
        return result
    finally:
        mode.arrays = arrays


def _materialized(ctx: FunctionCtx, g: Any, kind: tuple[tuple[int, ...], np.dtype] | None) -> Any:
    """The cotangent of a result as `backward` gets it."""
    if kind is None:
        return None
    if g is None:
        return wrap(np.zeros(*kind)) if ctx.materialize_grads else None
    return g if isinstance(g, Operators) else wrap(np.asarray(g))


def _gradients_of(ctx: Any, cotangents: Sequence[Any], count: int) -> list[Any]:
    """What the user's `backward` returns, as a list of `count`."""
    cls = ctx._forward_cls
    own = cls.vjp is not Function.vjp
    if own and cls.backward is not Function.backward:
        raise GradientError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
            "them."
        )
    backward = cls.vjp if own else cls.backward
    returned = backward(ctx, *cotangents)
    found = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    while len(found) > count and found[-1] is None:
        found.pop()
    if len(found) != count:
        raise GradientError(
            f"function {ctx._name}Backward returned an incorrect number of gradients (expected {count}, got {len(found)})"
        )
    for i, value in enumerate(found):
        if value is not None and not isinstance(value, Operators):
            raise GradientError(
                f"expected Variable or None (got {type(value).__name__})", f"it is gradient {i} of {ctx._name}Backward"
            )
    return found


def _gradients_fitted(ctx: Any, cotangents: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """The same, in the shapes and dtypes of the arguments. args: these, or their types; None for one that is no tensor."""
    found = _gradients_of(ctx, cotangents, len(ctx.needs_input_grad))
    return [g if g is None or args[i] is None else _fitted(ctx, i, g, args[i]) for i, g in enumerate(found)]


def _fitted(ctx: Any, place: int, value: Any, like: Any) -> Any:
    """A gradient in the shape and dtype of its argument. Raises ShapeError."""
    if value.shape != like.shape:
        lead = len(value.shape) - len(like.shape)
        fits = lead >= 0 and all(b in (1, a) for a, b in zip(value.shape[lead:], like.shape, strict=True))
        if not fits:
            raise ShapeError(
                f"Function {ctx._name}Backward returned an invalid gradient at index {place} - got {shape_text(value.shape)} "
                f"but expected shape compatible with {shape_text(like.shape)}"
            )
        axes = tuple(i for i in range(len(value.shape)) if i < lead or like.shape[i - lead] != value.shape[i])
        value = F.reshape(F.sum(value, axes), like.shape)
    return value if value.dtype == like.dtype else F.astype(value, like.dtype)


def refusal_of_view(name: str, number: int, results: int) -> str:
    """Why a view that a Function returned can't be changed in place."""
    if results > 1:
        why = misuse.SEVERAL_VIEWS
    else:
        why = (
            "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
            "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
            "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
        )
    return f"Output {number} of {name} is a view and {{}}. {why}"


# symbols ------------------------------------------------------------------------------------------------------------------


def _apply_symbols(cls: Any, ctx: FunctionCtx, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A call in a graph or a trace: `forward` becomes nodes there, and so does `backward` once a gradient is taken."""
    tracer = state.tracer if frontends.tracing else None
    given = [tracer.value(x) if tracer is not None and isinstance(x, Tensor) else x for x in args]
    ctx.needs_input_grad = tuple(
        isinstance(x, Operators) and x.dtype.kind in INEXACT and (tracer is None or bool(x.requires_grad)) for x in given
    )
    try:
        output = _run_forward(cls, ctx, tuple(given), named)
    except TraceError as error:
        raise TraceError(
            error.summary,
            *error.details,
            f"{cls.__name__}.forward needs values: in a graph or a compiled function it has to be made of operations of this "
            "library",
            where=error.where,
        ) from None
    _check_saved(ctx)
    results: list[Any] = list(output) if isinstance(output, tuple) else [output]
    _check_dirty(ctx, tuple(given), results, False)
    if ctx.dirty_tensors:
        raise TraceError(
            f"{cls.__name__}: mark_dirty is not supported in a graph or a compiled function",
            "return a new tensor from forward there",
        )
    if not modes.now.grad or not any(ctx.needs_input_grad) or not any(isinstance(x, Operators) for x in results):
        ctx._saved = lambda: ctx.to_save
        return output

    kept_whole, ctx.to_save = ctx.to_save, ()
    saved = [part for x in kept_whole if x is not None for part in ((x,) if isinstance(x, Operators) else x.parts)]
    kinds = [(x.shape, x.dtype) if isinstance(x, Operators) else None for x in results]
    taken = [isinstance(x, Operators) for x in given]
    values: list[Any] = []

    def rule(cotangents: Sequence[Any], operands: Sequence[Any], kept: Sequence[Any]) -> list[Any]:
        filled = [
            None if kind is None else (_zeros(kind) if ctx.materialize_grads else None) if g is None else g
            for g, kind in zip(cotangents, kinds, strict=True)
        ]
        values[:] = kept
        try:
            found = _gradients_of(ctx, filled, len(taken))
        finally:
            values.clear()
        like = iter(operands)
        return [
            None if found[place] is None else _fitted(ctx, place, found[place], operand)
            for place, operand in ((place, next(like)) for place, tensor in enumerate(taken) if tensor)
        ]

    def saved_tensors() -> tuple[Any, ...]:
        rest = iter(values)
        return tuple(
            x if x is None else next(rest) if isinstance(x, Operators) else x.of_parts(next(rest), next(rest))
            for x in kept_whole
        )

    ctx._saved = saved_tensors
    tensors = [x for x in given if isinstance(x, Operators)]
    smooth = [
        i for i, x in enumerate(results)
        if isinstance(x, Operators) and x.dtype.kind in INEXACT and not any(x is other for other in ctx.non_differentiable)
    ]  # fmt: skip
    made = call_symbols(cls.__name__, results, smooth, tensors, saved, rule)
    return tuple(made) if isinstance(output, tuple) else made[0]


def _zeros(kind: tuple[Any, np.dtype]) -> Any:
    shape, dtype = kind
    return F.broadcast_to(np.zeros((), dtype), shape)


class InplaceFunction(Function):
    """A Function with an option to change its argument in place, `inplace`, which `forward` gets as any argument."""

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace


BackwardCFunction = FunctionCtx
FunctionMeta = type(Function)


# decorators -----------------------------------------------------------------------------------------------------------------


def once_differentiable(fn: Method) -> Method:
    """For a `backward` that is not made of differentiable operations: differentiating its gradients raises GradientError."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        recording = modes.now.grad
        with no_grad():
            outputs = fn(ctx, *args)
        if not recording or not any(isinstance(x, Operators) and x.requires_grad for x in args):
            return outputs
        listed = outputs if isinstance(outputs, tuple) else (outputs,)
        found = tuple(_Undifferentiable.apply(x, *args) if isinstance(x, Operators) else x for x in listed)
        return found if isinstance(outputs, tuple) else found[0]

    return cast("Method", wrapper)


class _Undifferentiable(Function):
    """A gradient of `once_differentiable`."""

    @staticmethod
    def forward(ctx: Any, x: Any, *sources: Any) -> Any:
        return F.clone(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise GradientError("trying to differentiate twice a function that was marked with @once_differentiable")
