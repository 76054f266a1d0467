"""Fast paths of common operations on float32 and float64 tensors, and on such a tensor and a plain number.

Each is equivalent to `execution.run` for these operands, and passes all others to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.types import ALL_AXES, DTypeLike, ShapeLike, int64, normalize_axes
from ...ir import NO_ATTRS, REGISTRY, Reduction
from ...ops.indexing import PLAIN, bounds
from ...ops.operators import NOBODY, F, copied, foreign, frontends, routed, taken, takes_over
from ...ops.operators import Tensor as AnyTensor
from ...ops.operators.node_names import NAMES
from ...ops.reductions import chosen, kept
from ..execution import FLOATS, number, result
from ..grad_mode import INFERRING, mark_inference, modes
from ..tape import ALONE, Named
from ..tensor import PublicTensor, Tensor, new
from .kernels import MOVED, flat_for
from .op_calls import Bound

BINARY = {
    "add": "__add__", "sub": "__sub__", "mul": "__mul__", "div": "__truediv__", "matmul": "__matmul__",
    "eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__",
    "maximum": "maximum", "minimum": "minimum",
}  # fmt: skip
KNOWN = frozenset({PublicTensor, np.ndarray, int, float, bool, complex})
"""Classes of operands that no operator leaves to them."""
OTHERWISE = {"sub": "__rsub__", "div": "__rdiv__"}
"""Methods that a reflected operator is for `__torch_function__`, where it is not that of the operator."""
REFLECTED = {"add": "__radd__", "sub": "__rsub__", "mul": "__rmul__", "div": "__rtruediv__"}
UNARY = ("exp", "log", "log1p", "expm1", "sqrt", "square", "sin", "cos", "tanh", "sigmoid", "relu", "erf", "sign")
UNARY_OPERATORS = {"neg": "__neg__", "abs": "__abs__"}


def written(name: str) -> Callable[..., Any]:
    """A public function as it is defined, for arguments that its method leaves to it; see `by_method`."""
    return getattr(F, name).__wrapped__


def _describe(method: Any, name: str, general: Any) -> None:
    """Give a method its name, which errors of wrong arguments tell, and the docstring of the function that it is."""
    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", general.__doc__


def binary(name: str, *, reflected: bool = False, operator: bool = False, function: bool = False) -> Callable[[Any, Any], Any]:
    """The op of a tensor and a tensor of the same floating dtype, or int64, or a plain number of its kind. operator: it is one
    of Python's, which leaves operands of other kinds to their classes. function: it is called as a function, not as a method.
    """
    op, elementwise = REGISTRY[name], name != "matmul"
    general = written(name) if elementwise else routed(written(name))
    ufunc: Any = op.eval if elementwise else np.matmul  # of two matrices
    differentiable, kernel = op.vjp is not None, Bound(op, NO_ATTRS)
    made = isinstance(ufunc, np.ufunc)
    kinds = FLOATS if name in ("div", "matmul") else (*FLOATS, int64)

    def elsewhere(self: Tensor, other: Any) -> Any:
        if other.__class__ not in KNOWN:
            if takes_over(other.__class__):
                called = F if function else PublicTensor
                answer = taken(getattr(called, OTHERWISE.get(name, name) if reflected else name), (self, other), {})
                if answer is not NOBODY:
                    return answer
            if operator and foreign(other):
                return NotImplemented
        return general(other, self) if reflected else general(self, other)

    def method(self: Tensor, other: Any) -> Any:
        if frontends.tracing or (dtype := self._data.dtype) not in kinds:
            return elsewhere(self, other)
        first = self._data
        if other.__class__ is PublicTensor:
            if other._data.dtype is not dtype or not (elementwise or first.ndim == 2 == other._data.ndim):
                return general(self, other)
        elif (other.__class__ is int or (other.__class__ is float and dtype is not int64)) and elementwise:
            other = number(other, dtype)
        else:
            return elsewhere(self, other)
        x, y = (other, self) if reflected else (self, other)
        mode = modes.now
        if op.eager_least <= first.size >= mode.least and (
            found := (kernel.mode is mode and kernel.run(x._data, y._data)) or kernel.value(x._data, y._data)
        ):
            data = found[0]
        else:
            try:
                data = mode.quiet(ufunc, x._data, y._data)
            except (ValueError, RuntimeError, MemoryError):
                return general(x, y)  # raises the error that names shapes and line, or runs an op inside another op
        return result(op, (x, y), data, mode if differentiable and (x._tracked or y._tracked) else None, NO_ATTRS, made)

    _describe(method, f"__r{name}__" if reflected else "__eq__" if name == "eq" else name, general)
    return method


def unary(name: str) -> Callable[[Any], Any]:
    """The op of a floating tensor."""
    op, general = REGISTRY[name], written(name)
    function = op.eval
    ufunc, kernel = isinstance(function, np.ufunc), Bound(op, NO_ATTRS)

    def method(self: Tensor) -> Any:
        if frontends.tracing or self._data.dtype not in FLOATS:
            return general(self)
        mode, data = modes.now, self._data
        size = data.size
        if op.eager_least <= size >= (mode.least if ufunc else mode.heavy) and (
            found := (kernel.mode is mode and kernel.run(data)) or kernel.value(data)
        ):
            value = found[0]
        else:
            try:
                value = mode.quiet(function, data)
            except (RuntimeError, MemoryError):
                return general(self)
        return result(op, (self,), value, mode if self._tracked else None, NO_ATTRS, ufunc)

    _describe(method, name, general)
    return method


def reduction(name: str, record: str = "") -> Callable[..., Any]:
    """A reduction of a floating tensor."""
    op, general = REGISTRY[record or name], routed(written(name))
    assert isinstance(op.emit, Reduction)
    fold = op.emit.fold
    of_axes: dict[tuple[tuple[int, ...], bool], Bound] = {}
    """By the axes, and whether they are kept."""

    def method(
        self: Tensor, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool = False, dtype: Any = None,
        out: AnyTensor | None = None,
    ) -> Any:  # fmt: skip
        if dim is not None or keepdim:
            axis, keepdims = chosen(name, axis, dim), kept(name, keepdims, keepdim)
        if frontends.tracing or (data := self._data).dtype not in FLOATS or dtype is not None or out is not None:
            return general(self, axis, keepdims, dtype=dtype, out=out)
        axes = ALL_AXES[data.ndim] if axis is None else normalize_axes(axis, data.ndim)
        mode, which = modes.now, (axes, bool(keepdims))
        kernel = of_axes.get(which)
        if kernel is None:
            kernel = of_axes[which] = Bound(op, {"axis": axes, "keepdims": which[1]})
        attrs = kernel.attrs
        if op.eager_least <= data.size >= mode.heavy and (
            found := (kernel.mode is mode and kernel.run(data)) or kernel.value(data)
        ):
            value = found[0]
        else:
            try:
                value = mode.quiet(fold, data, axes, None, None, keepdims)
                if value.ndim > 1 and not value.flags.c_contiguous:
                    value = copied(value, row_major=True)
            except (ValueError, RuntimeError, MemoryError):
                return general(self, axis, keepdims)
        return result(op, (self,), value, mode if self._tracked else None, attrs)

    _describe(method, name, general)
    return method


def scaled(name: str, function: bool = False) -> Callable[..., Any]:
    """`add` or `sub`, of `alpha` times the other operand if that is given."""
    fast, general = binary(name, function=True) if function else getattr(Tensor, name), written(name)

    def method(self: Tensor, other: Any, *former: Any, alpha: Any = 1, out: AnyTensor | None = None) -> Any:
        if alpha == 1 and out is None and not former:
            return fast(self, other)
        return general(self, other, *former, **({"out": out} if former else {"alpha": alpha, "out": out}))

    _describe(method, name, general)
    return method


def rounded(function: bool = False) -> Callable[..., Any]:
    """`div`, rounded if a mode is given."""
    fast, general = binary("div", function=True) if function else Tensor.div, written("div")

    def method(self: Tensor, other: Any, *, rounding_mode: str | None = None, out: AnyTensor | None = None) -> Any:
        if rounding_mode is None and out is None:
            return fast(self, other)
        return general(self, other, rounding_mode=rounding_mode, out=out)

    _describe(method, "div", general)
    return method


def along(name: str) -> Callable[..., Any]:
    """An op of a floating tensor that keeps its shape and works along axes."""
    op, general = REGISTRY[name], written(name)
    function = op.eval
    of_axis: dict[tuple[int, int], Bound] = {}
    """By the number of axes and the axis."""

    def method(self: Tensor, *args: Any, **named: Any) -> Any:
        if len(args) == 2 and args[1] is None:  # the dtype, where `==` would take float64 for None
            args = args[:1]
        if frontends.tracing or named or len(args) > 1 or (data := self._data).dtype not in FLOATS:
            return general(self, *args, **named)
        axis = args[0] if args else -1
        mode, kernel = modes.now, of_axis.get((data.ndim, axis)) if axis.__class__ is int else None
        if kernel is None:
            kernel = Bound(op, {"axis": normalize_axes(axis, data.ndim)})
            if axis.__class__ is int:
                of_axis[data.ndim, axis] = kernel
        attrs = kernel.attrs
        if op.eager_least <= data.size >= mode.heavy and (
            found := (kernel.mode is mode and kernel.run(data)) or kernel.value(data)
        ):
            value = found[0]
        else:
            try:
                value = mode.quiet(function, data, **attrs)
            except (RuntimeError, MemoryError):
                return general(self, axis)
        return result(op, (self,), value, mode if self._tracked else None, attrs)

    _describe(method, name, general)
    return method


REVERSED = tuple(axes[::-1] for axes in ALL_AXES)
PERMUTE, RESHAPE, SLICE, IDENTITY, EXPAND = (
    REGISTRY[name] for name in ("permute", "reshape", "slice", "identity", "expand_dims")
)
AT_FRONT = {"axis": (0,)}


def transposed(self: Tensor) -> Any:
    """Axes reversed."""
    if frontends.tracing:
        return F.permute(self)
    data = self._data
    return result(PERMUTE, (self,), data.T, modes.now if self._tracked else None, {"axes": REVERSED[data.ndim]})


def reshape(self: Tensor, *extents: Any, shape: Any = None) -> AnyTensor:
    """This tensor in another shape, row-major; one extent may be -1. Raises ShapeError when the sizes differ."""
    if frontends.tracing or shape is not None or (extents and extents[0] is None):  # NumPy would accept it
        return F.reshape(self, *extents, shape=shape)
    try:
        data = self._data
        data = (data if data.size < MOVED else flat_for(data, extents)).reshape(*extents)
    except (TypeError, ValueError):
        return F.reshape(self, *extents)  # raises the error that names shapes and line
    return result(RESHAPE, (self,), data, modes.now if self._tracked else None, {"shape": data.shape})


SWAPPED = tuple((*axes[:-2], *axes[:-3:-1]) for axes in ALL_AXES)
TRANSPOSED = Named(str(NAMES["swapaxes"].name), ALONE)


def last_swapped(self: Tensor) -> Any:
    """The last two axes swapped."""
    if frontends.tracing or (data := self._data).ndim < 2:  # a pending tensor has no array
        return F.swapaxes(self, -1, -2)
    mode = modes.now if self._tracked else None
    out = result(PERMUTE, (self,), data.swapaxes(-1, -2), mode, {"axes": SWAPPED[data.ndim]})
    if (record := out._record) is not None:
        record.named = TRANSPOSED
    return out


def clone(self: Tensor, *, memory_format: object = None) -> AnyTensor:
    """A copy in memory of its own, in this order of axes; gradients flow through."""
    mode = modes.now
    if memory_format is not None or frontends.tracing or (data := self._data).dtype not in FLOATS or data.size >= mode.least:
        return F.clone(self, memory_format=memory_format)
    array = data.copy() if data.flags.c_contiguous else copied(data)
    return result(IDENTITY, (self,), array, mode if self._tracked else None, NO_ATTRS, True)


def view(self: Tensor, *shape: ShapeLike | DTypeLike, dtype: DTypeLike | None = None) -> AnyTensor:
    if frontends.tracing or dtype is not None or (shape and shape[0] is None):  # NumPy would accept it
        return _view(self, *shape, dtype=dtype)
    data = self._data
    extents: Any = shape
    try:
        found = data.reshape(*extents)
    except (TypeError, ValueError):
        return _view(self, *shape)  # also views of another dtype
    if found.base is not data and (found.base is None or found.base is not data.base):  # a copy
        return _view(self, *shape)
    return result(RESHAPE, (self,), found, modes.now if self._tracked else None, {"shape": found.shape})


def transpose(self: Tensor, *axes: Any, **named: Any) -> AnyTensor:
    """See `staticgrad.transpose`."""
    return F.swapaxes(self, *axes) if len(axes) == 2 and not named else _transpose(self, *axes, **named)


_view, _transpose = Tensor.view, F.transpose
indexed = routed(F.getitem)


def getitem(self: Tensor, key: Any) -> Any:
    """self[key], see `staticgrad.getitem`."""
    if not frontends.tracing:
        try:
            if key.__class__ is int:
                data = self._data[key, ...]
                return result(SLICE, (self,), data, modes.now if self._tracked else None, {"slices": (key,)})
            if key.__class__ is slice:
                data = self._data[key]
                return result(SLICE, (self,), data, modes.now if self._tracked else None, {"slices": (bounds(key),)})
            if key.__class__ is tuple and PLAIN.issuperset([k.__class__ for k in key]):
                data = self._data[(*key, ...)]
                slices = tuple([k if k.__class__ is int else bounds(k) for k in key])
                return result(SLICE, (self,), data, modes.now if self._tracked else None, {"slices": slices})
            if key is None:
                return result(EXPAND, (self,), self._data[None], modes.now if self._tracked else None, AT_FRONT)
        except (IndexError, TypeError, ValueError):
            pass  # the general path raises the error that names index and line
    if takes_over(key.__class__) and (answer := taken(getitem, (self, key), {})) is not NOBODY:
        return answer
    return indexed(self, key)


getitem.__name__ = "__getitem__"


def around(data: np.ndarray) -> Tensor:
    """A tensor around a new array."""
    out = new(PublicTensor)
    out._data = data
    out._record = out._base = out._views = None
    out._tracked = False
    if INFERRING:
        mark_inference(out)
    return out


_method: Any
for _name, _dunder in BINARY.items():
    setattr(Tensor, _dunder, binary(_name, operator=_name != _dunder))
    setattr(Tensor, _name, binary(_name) if _name != _dunder else getattr(Tensor, _dunder))
for _name, _dunder in REFLECTED.items():
    setattr(Tensor, _dunder, binary(_name, reflected=True, operator=True))
for _name in (*UNARY, *UNARY_OPERATORS):
    _method = unary(_name)
    setattr(Tensor, _name, _method)
    setattr(Tensor, UNARY_OPERATORS.get(_name, _name), _method)
for _name, _record in (("sum", ""), ("amax", "max"), ("amin", "min")):
    setattr(Tensor, _name, reduction(_name, _record))
for _name in ("add", "sub"):
    setattr(Tensor, _name, scaled(_name))
Tensor.div = rounded()  # type: ignore[method-assign]
for _name in ("softmax", "log_softmax"):
    setattr(Tensor, _name, along(_name))
frontends.methods = {
    **{name: getattr(Tensor, name) for name in (*UNARY, *UNARY_OPERATORS, "sum", "amax", "amin", "softmax", "log_softmax")},
    **{name: binary(name, function=True) for name in BINARY},
    **{name: scaled(name, function=True) for name in ("add", "sub")}, "div": rounded(function=True),
}  # fmt: skip
frontends.around = around
Tensor.T = property(transposed)  # type: ignore[assignment]
Tensor.clone = clone  # type: ignore[method-assign]
Tensor.mT = property(last_swapped)  # type: ignore[assignment]
view.__doc__ = Tensor.view.__doc__
Tensor.view = view  # type: ignore[method-assign]
Tensor.transpose = transpose  # type: ignore[method-assign, assignment]
Tensor.reshape = reshape  # type: ignore[method-assign, assignment]
Tensor.__getitem__ = getitem  # type: ignore[method-assign, assignment]
