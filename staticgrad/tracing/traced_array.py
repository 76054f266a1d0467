"""Arrays of NumPy among the arguments of a traced function.

To the user's code they are arrays, as in eager mode: attributes, operators, methods and NumPy's functions have NumPy's meaning,
and their results are arrays again, or NumPy's scalars. Where one meets a tensor, or a function of this package, it is an
operand. What operations can't express - memory, text, writes - cuts the trace, so that code runs on the array itself.

NumPy decides dtype, shape and class of each result, on arrays of ones. Operations with other results can't stand for NumPy's.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from ..base.dtypes import SUPPORTED
from ..compiler.passes.symbolic_extents import SymbolicExtent, now
from ..errors import StaticgradError, TraceError
from ..ir import Graph, Node
from ..ops.operators import F, Operators, Symbol, is_tensor, numpy_twin_of
from ..ops.operators.methods import fitted
from ..ops.operators.unknown_numbers import Expression, UnknownNumber
from .numbers import RunNumber
from .traced import Traced, each_part, met

ndarray = np.ndarray
FUNCTIONS = (
    "all", "any", "argmax", "argmin", "argsort", "clip", "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min",
    "prod", "ravel", "repeat", "round", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var",
)  # fmt: skip
"""Methods of arrays that are NumPy's functions of the same name, with the same arguments."""
FLOATING = frozenset([np.mean, np.std, np.var])
"""Functions that compute with integers in float64."""
INTEGER_DIVISIONS = frozenset([np.floor_divide, np.remainder, np.fmod, np.power, np.left_shift, np.right_shift])
"""Functions of integers that have no result, or one of NumPy's own, for some second operands."""
WEAK = (int, float, complex)
"""Python's classes of numbers, which take the dtype of an array that they meet."""
ADVICE = "make it a tensor first (x = sg.as_tensor(x)), or compute it outside and pass the result"


class TracedArray(Symbol):
    """An array, or a scalar of NumPy's, in a trace. tensor: that of its elements."""

    __slots__ = ("scalar", "tensor")
    _is_tensor = False
    _is_array = True

    def __init__(self, tensor: Any, scalar: bool = False):
        self.tensor, self.scalar = tensor, scalar

    def __getattribute__(self, name: str) -> Any:
        if name[0] == "_" or name in OWN:
            return object.__getattribute__(self, name)
        if hasattr(ndarray, name):
            self.needed(f"x.{name}")
        kind = f"numpy.{self.dtype.type.__name__}" if self.scalar else "numpy.ndarray"
        advice = f"; a tensor has: {ADVICE}" if hasattr(Symbol, name) else ""
        raise AttributeError(f"'{kind}' object has no attribute '{name}'{advice}", name=name, obj=self)

    def needed(self, what: str) -> NoReturn:
        """Python needs the array itself: cuts the trace."""
        tracer = self.tensor.tracer
        refuse = tracer.refuse if tracer.observer is None else tracer.observer.log.refuse
        refuse(f"{self.describe()} is traced: Python can't have {what} of an array before the compiled function runs", ADVICE)
        raise AssertionError

    # as a value of the trace ------------------------------------------------------------------------------------------

    @property
    def node(self) -> Node:  # type: ignore[override]
        return self.tensor.node

    @property
    def graph(self) -> Graph:  # type: ignore[override]
        return self.tensor.graph

    def operand(self) -> Node:
        return self.tensor.operand()

    def describe(self) -> str:
        return self.tensor.describe()

    def _met(self) -> Any:
        """What operations with tensors take: a scalar is a number to them."""
        return self.tensor.tracer.number(self.tensor) if self.scalar and self.dtype.kind in "fiu" else self.tensor

    # attributes -------------------------------------------------------------------------------------------------------

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Functions that take arrays take it. What takes one through C asks for its memory, which cuts the trace."""
        return self.dtype.type if self.scalar else ndarray

    @property
    def shape(self) -> Any:
        return tuple(self.node.type.shape)

    @shape.setter
    def shape(self, value: Any) -> None:
        self.needed("another shape")

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.node.type.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Any:
        return math.prod(self.shape)

    @property
    def device(self) -> str:  # type: ignore[override]
        """NumPy's name of the only one that it has."""
        return "cpu"

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        return self.size * self.itemsize

    @property
    def T(self) -> Any:
        return self if self.scalar else TracedArray(F.permute(self.tensor))

    @property
    def mT(self) -> Any:
        return TracedArray(F.swapaxes(self.tensor, -1, -2)) if self.ndim > 1 else self.needed("x.mT")

    @property
    def real(self) -> Any:
        return self if self.dtype.kind != "c" else self.needed("x.real")

    # NumPy's functions ------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if _has_tensor((inputs, kwargs)):
            return getattr(ufunc, method)(*met(inputs), **met(kwargs))
        if method != "__call__" or kwargs:
            if (ufunc, method, len(inputs)) == (np.add, "reduce", 2) and not kwargs:
                return self._function(np.sum, inputs, kwargs)
            self.needed(f"numpy.{ufunc.__name__}.{method}")
        return self._ufunc(ufunc, inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if _has_tensor((args, kwargs)):
            return function(*met(args), **met(kwargs))
        if function in (np.shape, np.ndim, np.size) and len(args) == 1 and not kwargs:
            return getattr(self, function.__name__)
        return self._function(function, args, kwargs)

    def _ufunc(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """A function of elements, on operands of the dtypes that NumPy computes in."""
        kinds = [*map(_kind, inputs)]
        if ufunc in INTEGER_DIVISIONS and all(kind is int or getattr(kind, "kind", "f") in "biu" for kind in kinds):
            other = inputs[1]
            if type(other) is not int or other < 0 or (other == 0 and ufunc is not np.power) or self.dtype.kind == "b":
                self.needed(f"numpy.{ufunc.__name__} of integers")
        try:
            dtypes = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
            operands = [self._cast(x, dtype) for x, dtype in zip(inputs, dtypes, strict=False)]
        except (TypeError, ValueError, ArithmeticError):
            self.needed(f"numpy.{ufunc.__name__}")
        twin = None if ufunc is np.sign else numpy_twin_of(ufunc)  # the sign of nan is a number to tensors
        return self._result(ufunc, inputs, {}, twin, operands, {})

    def _cast(self, x: Any, dtype: np.dtype) -> Any:
        """An operand of this dtype."""
        if dtype not in SUPPORTED:
            raise TypeError
        if isinstance(x, UnknownNumber):
            return x.cast(dtype)
        if type(x) in WEAK or type(x) is bool:
            return np.array(x, dtype)
        if type(x) is SymbolicExtent:
            return x
        x = x.tensor if type(x) is TracedArray else self.tensor.tracer.array(np.asarray(x))
        return x if x.dtype == dtype else F.astype(x, dtype)

    def _function(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], own: Any = None) -> Any:
        """A function of NumPy's. own: what computes it; the operation that stands for it elsewhere if None."""
        given = args
        if function in FLOATING and args[0] is self and self.dtype.kind in "biu":
            given = (self.astype(np.float64), *args[1:])
        twin = numpy_twin_of(function) if own is None else own
        call = None if twin is None else (given, kwargs) if own is not None else fitted(function, twin, given, kwargs)
        if call is None:
            self.needed(f"numpy.{function.__name__}")
        return self._result(function, args, kwargs, twin, *call)

    def _result(self, function: Any, args: Any, kwargs: Any, twin: Any, given: Any, named: Mapping[str, Any]) -> Any:
        """The result of a function of NumPy's, as the operation `twin` gives it."""
        try:
            with np.errstate(all="ignore"):
                like = function(*sample(args), **sample(kwargs))
            if twin is None or not (type(like) is ndarray or isinstance(like, np.generic)):
                raise TypeError
            found = twin(*elements(given), **elements(named))
            if not isinstance(found, Traced) or found.dtype != like.dtype or tuple(map(now, found.shape)) != like.shape:
                raise TypeError
        except TraceError:
            raise
        except (TypeError, ValueError, ArithmeticError, LookupError, StaticgradError) as error:
            self.needed(f"the result of {function.__name__}{f' ({error})' if str(error) else ''}")
        return TracedArray(found, isinstance(like, np.generic))

    def __getitem__(self, key: Any) -> Any:
        if self.scalar or _is_mask(key):
            self.needed("elements by a mask")
        return self._function(operator.getitem, (self, key), {}, lambda x, key: F.getitem(x, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.scalar or _is_mask(key) or not isinstance(value, (ndarray, np.generic, *WEAK)):
            self.needed("a change of elements")
        try:
            value = self._cast(value, self.dtype)
        except (TypeError, ValueError, ArithmeticError):
            self.needed("a change of elements")
        self.tensor.tracer.memory.assign_item(self.tensor, elements(key), value)

    def fill(self, value: Any) -> None:  # type: ignore[override]
        self[...] = value

    # methods ----------------------------------------------------------------------------------------------------------

    def reshape(self, *shape: Any, **named: Any) -> Any:
        return self._function(np.reshape, (self, shape[0] if len(shape) == 1 else shape), named)

    def transpose(self, *axes: Any) -> Any:  # type: ignore[override]
        axes = axes[0] if len(axes) == 1 else axes
        return self._function(np.transpose, (self, axes), {}) if axes else self.T

    def astype(self, dtype: Any, *args: Any, **named: Any) -> Any:
        wanted = np.dtype(dtype)
        if wanted not in SUPPORTED or args or named.keys() - {"copy"} or self.dtype.kind == "c":
            self.needed("x.astype")
        if wanted == self.dtype:
            return self.copy() if named.get("copy", True) else self
        return TracedArray(F.astype(self.tensor, wanted), self.scalar)

    def copy(self, order: str = "C") -> Any:
        return TracedArray(self.tensor.tracer.own(self.tensor), self.scalar)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def flatten(self, order: str = "C") -> Any:  # type: ignore[override]
        return self.reshape(-1).copy() if order == "C" else self.needed("x.flatten")

    def item(self, *args: Any) -> Any:
        return self.tensor.item() if self._single() and not args else self.needed("x.item")

    def tolist(self) -> Any:
        return self.item() if not self.shape else self.needed("a list")

    def _single(self) -> bool:
        return all(now(extent) == 1 for extent in self.shape)

    # Python asks for a value ------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        return self.tensor.__bool__() if self._single() else self.needed("its truth value")

    def __len__(self) -> int:
        return len(self.tensor) if self.shape else self.needed("its length")

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))

    def _value(self, *args: Any, **named: Any) -> NoReturn:
        self.needed("its values")

    __float__ = __int__ = __complex__ = __index__ = __contains__ = __array__ = __str__ = __repr__ = __format__ = _value
    __reduce__ = __getstate__ = __delitem__ = __dlpack__ = __dlpack_device__ = __hash__ = _value

    def __pos__(self) -> Any:
        return TracedArray(self.copy().tensor, not self.shape) if self.dtype.kind != "b" else self.needed("+x")

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


def _operator(name: str, ufunc: Any) -> None:
    """Define an operator, the reflected one, and the one that changes in place."""
    for dunder, swapped in ((f"__{name}__", False), (f"__r{name}__", True)):
        base = vars(Operators).get(dunder)

        def method(self: TracedArray, other: Any, base: Any = base, swapped: bool = swapped) -> Any:
            if _has_tensor(other):
                return base(self._met(), other)
            if not isinstance(other, (ndarray, np.generic, *WEAK, UnknownNumber)):
                self.needed(f"numpy.{ufunc.__name__} with a {type(other).__name__}")
            return self._ufunc(ufunc, (other, self) if swapped else (self, other))

        if base is not None:
            setattr(TracedArray, dunder, method)

    def changed(self: TracedArray, other: Any) -> Any:
        value = getattr(self, f"__{name}__")(other)
        if self.scalar or type(value) is not TracedArray:  # a new object, as of tensors
            return value
        if not np.can_cast(value.dtype, self.dtype, "same_kind") or value.shape != self.shape:
            self.needed("a change in place")
        self.tensor.tracer.memory.assign(self.tensor, F.astype(value.tensor, self.dtype))
        return self

    setattr(TracedArray, f"__i{name}__", changed)


def _unary(name: str, ufunc: Any) -> None:
    setattr(TracedArray, f"__{name}__", lambda self: self._ufunc(ufunc, (self,)))


def _method(function: Any) -> None:
    def method(self: TracedArray, *args: Any, **named: Any) -> Any:
        return self._function(function, (self, *args), named)

    setattr(TracedArray, function.__name__, method)


for _name, _ufunc in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}.items():  # fmt: skip
    _operator(_name, _ufunc)
for _name, _ufunc in {"neg": np.negative, "abs": np.absolute, "invert": np.invert}.items():
    _unary(_name, _ufunc)
for _name in FUNCTIONS:
    _method(getattr(np, _name))

OWN = frozenset(vars(TracedArray))
"""The attributes that it has itself. Tensors have more, which arrays don't have."""


def _kind(x: Any) -> Any:
    """The dtype of an operand; of a number of Python's its class."""
    kind = type(x.sample()) if type(x) is RunNumber else x.__class__  # the class that extents and numbers of the state tell
    return kind if kind in WEAK else x.dtype if hasattr(x, "dtype") else np.dtype(kind)


def elements(x: Any) -> Any:
    """A value with tensors in the place of arrays."""
    return each_part(lambda part: part.tensor if type(part) is TracedArray else part, x)


def sample(x: Any) -> Any:
    """A value of the same form, which NumPy can compute with."""
    return each_part(_sample, x)


def _sample(x: Any) -> Any:
    if type(x) is TracedArray:
        one = np.zeros((), x.dtype) if x.dtype.kind in "iu" else np.ones((), x.dtype)  # an integer may be an index
        return one[()] if x.scalar else np.broadcast_to(one, [*map(now, x.shape)])
    if isinstance(x, UnknownNumber):
        return x.value if isinstance(x, Expression) else x.sample()
    return now(x)


def _is_mask(key: Any) -> bool:
    """Whether there is a mask in an index."""
    parts = key if type(key) is tuple else (key,)
    return any(
        np.asarray(part).dtype == np.bool_ if type(part) in (bool, list) else getattr(part, "dtype", None) == np.bool_
        for part in parts
    )


def _has_tensor(x: Any) -> bool:
    """Whether there is a tensor among values."""
    if type(x) in (list, tuple):
        return any(map(_has_tensor, x))
    if type(x) is dict:
        return any(map(_has_tensor, x.values()))
    return is_tensor(x) and type(x) is not TracedArray
