"""Python's operators, NumPy's protocols, the methods that every tensor has, and PyTorch's names that none has."""

from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...base.dtypes import DType
from ...errors import DTypeError
from .dispatch import ORDINARY, F, Size, numpy_twin_of, takes_over
from .misuse import warn_former

if TYPE_CHECKING:
    from .annotations import Index, TensorLike
    from .interface import Tensor
else:
    Tensor = object


class Operators(Tensor):
    """Python's operators and the methods of tensors. Subclasses have `shape` and `dtype`."""

    __slots__ = ()
    __array_priority__ = 1000

    def __init_subclass__(cls) -> None:
        if not takes_over(cls):
            ORDINARY.add(cls)

    shape: Size
    dtype: DType

    @property
    def _ranked(self) -> bool:
        """Whether the number of axes is known."""
        return True

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def T(self) -> Tensor:
        """Axes reversed."""
        return F.permute(self)

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped."""
        return F.swapaxes(self, -1, -2)

    @property
    def creator(self) -> Any:
        """The former name of `grad_fn`."""
        warn_former("`creator` is deprecated. Use `grad_fn` instead.")
        return self.grad_fn

    @property
    def volatile(self) -> bool:
        """False. Nothing computed from a volatile tensor was recorded; `with no_grad():` says that today."""
        warn_former("volatile was removed (Variable.volatile is always False)", UserWarning)
        return False

    def _storage(self, offset: int | None, extents: Sequence[int], steps: Sequence[int]) -> tuple[Tensor, int]:
        """The memory that `as_strided` takes elements of, as one axis, and the place of the first of them there. A tensor
        without a value has no memory but its elements, row-major."""
        return F.reshape(self, (-1,)), offset or 0

    def _dense(self) -> Tensor | None:
        """The elements in the order of memory, as one axis; None where there are gaps between them, or elements that meet."""
        strides = self.stride()
        order = sorted(range(len(strides)), key=lambda axis: (-strides[axis], -self.shape[axis]))
        whole = F.permute(self, order)
        return F.reshape(whole, (-1,)) if whole.is_contiguous() else None

    def _is_view(self) -> bool:
        """Whether it shares memory with another tensor of the same tape."""
        return self.is_view

    @property
    def output_nr(self) -> int:
        """Which of the results of `grad_fn` it is; 0 for a leaf."""
        return 0

    def where(self, condition: TensorLike, other: TensorLike) -> Tensor:
        """self where the condition holds, else `other`."""
        return F.where(condition, self, other)

    def dim(self) -> int:
        """How many axes there are."""
        return self.ndim

    def __neg__(self) -> Tensor:
        return F.neg(self)

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return F.abs(self)

    __hash__ = object.__hash__

    def __invert__(self) -> Tensor:
        return F.bitwise_not(self) if self.dtype.kind in "iu" else F.logical_not(_boolean(self, "~"))

    def __getitem__(self, index: Index) -> Tensor:
        return F.getitem(self, index)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        twin = numpy_twin_of(ufunc)
        if method == "__call__" and twin is not None and not kwargs:
            return twin(*inputs)
        name = f"numpy.{ufunc.__name__}" + (f".{method}" if method != "__call__" else "")
        return self._by_numpy(name, getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        twin = numpy_twin_of(function)
        call = None if twin is None else fitted(function, twin, args, kwargs)
        if twin is None or call is None:
            return self._by_numpy(f"numpy.{function.__name__}", function, args, kwargs)
        return twin(*call[0], **call[1])

    def _by_numpy(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        """A function of NumPy that has no twin for these arguments: values are needed. Raises the error for it."""
        if function in WRITERS:
            return function(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})
        raise DTypeError(
            f"{name} can't be differentiated here" + (f" with {', '.join(kwargs)}" if kwargs else ""),
            "use the function of the same name in staticgrad, or x.detach().numpy() for the plain array",
        )


OPERANDS = (Operators, int, float, complex, np.generic, numbers.Number)
"""The usual ones first: whether an object is a `numbers.Number` takes longer to find out."""


def foreign(x: Any) -> bool:
    """Whether an operator leaves its other operand to that one's class: it is no tensor, array or number."""
    return not (isinstance(x, OPERANDS) or hasattr(x, "__array__") or takes_over(x.__class__))


def _operator(function: str | Callable[[Any, Any], Tensor], reflected: bool) -> Callable[..., Tensor]:
    """function: or the name of a public one."""

    def method(self: Tensor, other: TensorLike) -> Tensor:
        if not isinstance(other, OPERANDS) and foreign(other):
            return NotImplemented
        apply: Any = function if public is None else getattr(F, public)
        return apply(other, self) if reflected else apply(self, other)

    public = function if isinstance(function, str) else None
    return method


ARITHMETIC = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "pow": "pow",
    "matmul": "matmul", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
"""Python's operators, and the public functions that they are."""
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def _bind_operators() -> None:
    logic: dict[str, str | Callable[[Any, Any], Tensor]] = {
        "and": functools.partial(_bitwise, "and", "&"), "or": functools.partial(_bitwise, "or", "|"),
        "xor": functools.partial(_bitwise, "xor", "^"),
    }  # fmt: skip
    for name, function in (ARITHMETIC | logic).items():
        _bind(f"__{name}__", _operator(function, False))
        _bind(f"__r{name}__", _operator(function, True))
    for name in COMPARISONS:  # elementwise, as in NumPy and PyTorch
        _bind(f"__{name}__", _operator(name, False))
    for name in COMPARISONS[:2]:
        vars(Operators)[f"__{name}__"].__annotations__["other"] = "Any"  # as of any object
    _bind("__rdiv__", vars(Operators)["__rtruediv__"])


def _bind(name: str, method: Callable[..., Tensor]) -> None:
    method.__name__ = name
    method.__qualname__ = f"Operators.{name}"
    setattr(Operators, name, method)


def is_tensor(x: Any) -> bool:
    """Whether x is a tensor of any mode, or a variable."""
    return isinstance(x, Operators)


def fitted(function: Any, twin: Any, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """A call of NumPy's function as a call of its twin: arguments by name where the names are the same, by position where
    ours has another name. None where the twin has no such argument, or NumPy's own error is to be raised."""
    ours = _signature(twin)
    assert ours is not None
    if len(args) == 1 and _takes(twin, 1, tuple(kwargs)):
        return args, kwargs
    theirs, words = _signature(function), _words(function, len(args), tuple(kwargs))
    if not words or theirs is None:
        return (args, kwargs) if words == () and _takes(twin, len(args), tuple(kwargs)) else None
    names = list(ours.parameters)
    variadic = any(p.kind is p.VAR_POSITIONAL for p in ours.parameters.values())
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for i, (name, value) in enumerate(sorted(zip(words, (*args, *kwargs.values()), strict=True), key=_order(theirs))):
        if name == "out" and value is not None:
            return None
        if i == 0 or (i == 1 and variadic):
            positional.append(value)
        elif name in names and not variadic:
            named[name] = value
        elif value is theirs.parameters[name].default:
            continue
        elif i == len(positional) < len(names) and names[i] not in theirs.parameters:
            positional.append(value)
        else:
            return None
    return (tuple(positional), named) if _takes(twin, len(positional), tuple(named)) else None


def _order(signature: inspect.Signature) -> Callable[[tuple[str, Any]], int]:
    names = list(signature.parameters)
    return lambda argument: names.index(argument[0])


@functools.cache
def _words(function: Any, number: int, named: tuple[str, ...]) -> tuple[str, ...] | None:
    """The names of a call's arguments; () where NumPy has none, None where it refuses the call."""
    signature = _signature(function)
    if signature is None or any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
        return ()
    if not _takes(function, number, named):
        return None
    return (*list(signature.parameters)[:number], *named)


@functools.cache
def _takes(function: Any, number: int, named: tuple[str, ...]) -> bool:
    """Whether a function takes so many arguments by position, and these by name."""
    signature = _signature(function)
    assert signature is not None
    try:
        signature.bind(*(None,) * number, **dict.fromkeys(named))
    except TypeError:
        return False
    return True


@functools.cache
def _signature(function: Any) -> inspect.Signature | None:
    """None where C code keeps it to itself."""
    try:
        return inspect.signature(function)
    except ValueError:
        return None


WRITERS = frozenset({np.save, np.savez, np.savez_compressed, np.savetxt})
"""NumPy's functions that write arrays to files: tensors are written as their values, with or without a tape."""


def _plain(value: Any) -> Any:
    if not isinstance(value, Operators):
        return value
    detach = getattr(value, "detach", None)  # of a tensor; a symbol has no values to write, and says so
    return np.asarray(value if detach is None else detach())


def _bitwise(name: str, sign: str, x: Any, y: Any) -> Tensor:
    """x sign y: of booleans logical, of integers by bits. Raises DTypeError for floats."""
    kinds = [getattr(v, "dtype", np.dtype(type(v)) if isinstance(v, (bool, int, float)) else None) for v in (x, y)]
    if all(k is not None and k.kind in "biu" for k in kinds) and any(k is not None and k.kind != "b" for k in kinds):
        return getattr(F, f"bitwise_{name}")(x, y)
    return getattr(F, f"logical_{name}")(_boolean(x, sign), _boolean(y, sign))


def _boolean(value: Any, sign: str) -> Any:
    dtype = getattr(value, "dtype", None)
    if dtype != np.bool_ and not isinstance(value, (bool, np.bool_)):
        raise DTypeError(f"{sign} is for booleans, got {dtype or type(value).__name__}", "write (x > 0) & (y > 0)")
    return value


_bind_operators()


# attributes of PyTorch's tensors that tensors of no mode have here ---------------------------------------------------

WHOLE = "tensors are not quantized"
ALONE = "it is of another device: tensors are in the CPU's memory"
TENSOR_REPLACED = {
    **dict.fromkeys(
        ("to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc", "row_indices", "col_indices", "crow_indices",
         "ccol_indices"),
        "there is one sparse layout: use x.to_sparse()",
    ),
    **dict.fromkeys(
        ("sparse_resize_", "sparse_resize_and_clear_", "resize_as_sparse_", "coalesce", "indices", "values", "sparse_dim",
         "dense_dim", "is_coalesced"),
        "it is of sparse tensors: use x.to_sparse()",
    ),
    **dict.fromkeys(("smm", "sspaddmm"), "use x.mm or sg.addmm"),
    **dict.fromkeys(
        ("dequantize", "int_repr", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points", "q_scale",
         "q_zero_point", "qscheme"),
        WHOLE,
    ),
    **dict.fromkeys(("ipu", "xpu", "mtia", "to_mkldnn", "record_stream"), ALONE),
    "prelu": "use sg.prelu(x, weight)",
    "const_data_ptr": "use x.data_ptr()",
    "dim_order": "use x.stride()",
    "resize": "PyTorch removed it: use x.reshape(size)",
    "resize_as": "PyTorch removed it: use x.reshape(other.shape)",
    "reinforce": "PyTorch removed it: use distributions.Categorical(p).log_prob(action)",
    "eig": "PyTorch removed it: use sg.linalg.eig(x)",
    "symeig": "PyTorch removed it: use sg.linalg.eigh(x)",
    "solve": "PyTorch removed it: use sg.linalg.solve(A, b)",
    "lstsq": "PyTorch removed it: use sg.linalg.lstsq(A, b)",
    "to_padded_tensor": "tensors are not nested: use nn.utils.rnn.pad_sequence(tensors)",
}  # fmt: skip
"""Attributes of PyTorch's tensors that ours don't have, and what to write instead."""


class Absent:
    """A class attribute in place of a name that PyTorch's class has: reading it raises an AttributeError with advice.

    `hasattr` says no. A `__getattr__` would say the same, but a class that has one is slower at every attribute.
    """

    def __init__(self, name: str, advice: str):
        self.name, self.advice = name, advice

    def __get__(self, x: Any, kind: type) -> NoReturn:
        raise AttributeError(f"{kind.__name__!r} object has no attribute {self.name!r}; {self.advice}", name=self.name)


def names_of(self: object) -> list[str]:
    """Names that exist, as `dir(x)` lists them. Python compares a misspelt one with them, if they are fewer than 750."""
    return [name for name in object.__dir__(self) if name not in TENSOR_REPLACED]


Operators.__dir__ = names_of  # type: ignore[method-assign]
for _name, _advice in TENSOR_REPLACED.items():
    setattr(Operators, _name, Absent(_name, _advice))
