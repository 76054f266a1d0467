"""Sparse tensors in PyTorch's coordinate layout: the places and values of the entries that may differ from 0.

The engine knows none. A `SparseTensor` takes over the functions that are called on it (`__torch_function__`). Each is written
here in dense operations on indices and values, so gradients, graphs and compiled functions have it by these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from ..base.dtypes import TENSOR_NAMES, as_dtype
from ..base.types import as_shape, get_default_dtype, int64, normalize_axes, normalize_axis, shape_text
from ..errors import ArgumentError, ArgumentTypeError, DTypeError, IndexRangeError, ShapeError, UnsupportedError
from .data_dependent import made
from .operators import F, Operators, Tensor, frontends, is_tensor, torch_function
from .operators.dispatch import Size

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}
"""What a function or method makes of sparse tensors, by its name."""
SPARSE: dict[str, Any] = {}
"""The names of PyTorch's `torch.sparse`."""
LAYOUT = "torch.sparse_coo"


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Enter a rule under its own name, or these."""

    def enter(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names or (function.__name__.strip("_"),), function))
        return function

    return enter


class SparseTensor:
    """A tensor whose entries are stored: `indices` (axes, n) and `values` (n, further extents). Entries with one place are
    summed, unless it is `coalesced`: then places are different and in order."""

    layout = LAYOUT
    is_sparse = True
    is_sparse_csr = is_cuda = is_quantized = is_meta = is_mkldnn = False
    _is_tensor = True
    parts_of_trace = ("_places", "_entries", "shape", "_coalesced")
    """What a compiled function takes of an argument; its reads in this package are not observed."""
    __hash__ = object.__hash__

    def __init__(self, indices: Any, values: Any, shape: Sequence[int], coalesced: bool = False):
        self._places, self._entries, self.shape, self._coalesced = indices, values, Size(shape), coalesced

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return called(func.__name__, *args, **(kwargs or {}))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or (name not in RULES and not callable(getattr(frontends.tensor_class, name, None))):
            raise AttributeError(f"a sparse tensor has no attribute {name!r}")
        return lambda *args, **named: called(name, self, *args, **named)

    def _with(self, values: Any) -> SparseTensor:
        """The same places with other values."""
        return self.of_parts(self._places, values)

    @property
    def parts(self) -> tuple[Any, Any]:
        """Its two tensors."""
        return self._places, self._entries

    def of_parts(self, places: Any, values: Any) -> SparseTensor:
        """One like this of other tensors."""
        return SparseTensor(places, values, self.shape, self._coalesced)

    # facts

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self._entries.dtype

    @property
    def device(self) -> Any:
        """The CPU."""
        return self._entries.device

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def requires_grad(self) -> bool:
        """Whether the values do."""
        return bool(self._entries.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._entries.requires_grad_(value)

    @property
    def is_leaf(self) -> bool:
        """Whether the values are a leaf."""
        return bool(self._entries.is_leaf)

    @property
    def grad_fn(self) -> Any:
        """What made the values."""
        return self._entries.grad_fn

    @property
    def grad(self) -> Any:
        """The gradient at the places of the entries; None while there is none."""
        found = self._entries.grad
        if found is None or self._coalesced:
            return found if found is None else self._with(found)
        kept, number = F.unique(self._numbers(range(self.sparse_dim())), return_inverse=True)
        one = F.index_put(
            found.new_zeros((kept.shape[0], *found.shape[1:])), (number,), found
        )  # entries of one place have the same
        return SparseTensor(unraveled(kept, self.shape[: self.sparse_dim()]), one, self.shape, True)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._entries.grad = None if value is None else value._entries

    @property
    def data(self) -> SparseTensor:
        """See `detach`."""
        return self._with(self._entries.detach())

    @property
    def T(self) -> Any:
        """The axes in reverse order."""
        return called("permute", self, tuple(reversed(range(self.ndim))))

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one extent of it."""
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        """Zeros: there are no strides."""
        return 0 if dim is not None else (0,) * self.ndim

    def dim(self) -> int:
        """The number of axes."""
        return self.ndim

    ndimension = dim

    def numel(self) -> int:
        """The product of the extents."""
        return math.prod(self.shape)

    nelement = numel

    def sparse_dim(self) -> int:
        """How many axes the indices name."""
        return int(self._places.shape[0])

    def dense_dim(self) -> int:
        """How many axes the values have beside the first."""
        return self.ndim - self.sparse_dim()

    def _nnz(self) -> int:
        return int(self._entries.shape[0])

    def is_coalesced(self) -> bool:
        """Whether places are known to be different and in order."""
        return self._coalesced

    def is_floating_point(self) -> bool:
        """Whether the values are floats."""
        return bool(self._entries.is_floating_point())

    def is_complex(self) -> bool:
        """Whether the values are complex."""
        return bool(self._entries.is_complex())

    def type(self, dtype: Any = None) -> Any:
        """The name of PyTorch's class of it, or the values in a dtype."""
        return (
            self._entries.type().replace("torch.", "torch.sparse.") if dtype is None else self._with(self._entries.type(dtype))
        )

    # parts

    def _indices(self) -> Any:
        return self._places

    def _values(self) -> Any:
        return self._entries

    def indices(self) -> Any:
        """The places. Raises ArgumentError unless the tensor is coalesced."""
        return self._checked("indices")._places

    def values(self) -> Any:
        """The values. Raises ArgumentError unless the tensor is coalesced."""
        return self._checked("values")._entries

    def _checked(self, name: str) -> SparseTensor:
        if not self._coalesced:
            raise ArgumentError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
        return self

    def coalesce(self) -> SparseTensor:
        """The same tensor with one entry for each place, in order."""
        if self._coalesced:
            return self
        kept, number = F.unique(self._numbers(range(self.sparse_dim())), return_inverse=True)
        values = F.index_add(self._entries.new_zeros((kept.shape[0], *self._entries.shape[1:])), 0, number, self._entries)
        return SparseTensor(unraveled(kept, self.shape[: self.sparse_dim()]), values, self.shape, True)

    def _numbers(self, axes: Sequence[int]) -> Any:
        """The number of each entry's place, counted over these axes alone."""
        found = self._places.new_zeros((self._nnz(),))
        for axis in axes:
            found = found * self.shape[axis] + self._places[axis]
        return found

    # conversions

    def to_dense(self, dtype: Any = None, *, masked_grad: bool = True) -> Any:
        """The tensor with its zeros."""
        values = self._entries if dtype is None else self._entries.to(dtype)
        if not self.sparse_dim():
            return F.sum(values, 0)
        return F.index_put(values.new_zeros(self.shape), tuple(self._places), values, accumulate=True)

    def to_sparse(self, *args: Any, **named: Any) -> SparseTensor:
        """The tensor itself."""
        return self

    def to_sparse_coo(self) -> SparseTensor:
        """The tensor itself."""
        return self

    def detach(self) -> SparseTensor:
        """The same entries, from which no gradient flows."""
        return self.data

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Let the values require grad, or not."""
        self._entries.requires_grad_(requires_grad)
        return self

    def retain_grad(self) -> None:
        """Keep the gradient of the values."""
        self._entries.retain_grad()

    def type_as(self, other: Any) -> SparseTensor:
        """The values in the dtype of another tensor."""
        return self._with(self._entries.to(other.dtype))

    def cpu(self) -> SparseTensor:
        """The tensor itself."""
        return self

    def share_memory_(self) -> SparseTensor:
        """Move its parts to memory that processes share."""
        self._places.share_memory_()
        self._entries.share_memory_()
        return self

    def numpy(self, *, force: bool = False) -> Any:
        """Raises ArgumentTypeError."""
        raise ArgumentTypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    # Python's protocols

    def __len__(self) -> int:
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        raise ArgumentError("Boolean value of Tensor with more than one value is ambiguous", "compare x.to_dense()")

    def __getitem__(self, key: Any) -> Any:
        return called("getitem", self, key)

    def __repr__(self) -> str:
        parts = [
            f"indices={_indented(self._places, 'tensor(indices=')}",
            f"values={_indented(self._entries, '       values=')}",
        ]
        count = self._entries.shape[0]  # None in a graph, where the run decides it
        parts += [f"size={tuple(self.shape)}", f"nnz={'?' if count is None else count}"]
        parts += [] if self.dtype in (get_default_dtype(), int64) else [f"dtype={self.dtype!r}"]
        return f"tensor({f',{chr(10)}       '.join(parts[:3])}, {', '.join([*parts[3:], f'layout={LAYOUT}'])})"


def _indented(x: Any, before: str) -> str:
    return repr(x.detach()).replace("\n", "\n" + " " * len(before))


def called(name: str, *args: Any, **named: Any) -> Any:
    """Call a function of sparse tensors. Raises UnsupportedError where sparse tensors have no such function."""
    found = RULES.get(name.strip("_") if name.startswith("__") else name)
    if found is None:
        raise UnsupportedError(
            f"{name} is not there for sparse tensors", f"call it on x.to_dense(); there are {', '.join(sorted(RULES))}"
        )
    return found(*args, **named)


def _operator(name: str, swapped: bool = False) -> Any:
    def operate(self: Any, other: Any) -> Any:
        return called(name, other, self) if swapped else called(name, self, other)

    return operate


def unraveled(numbers: Any, extents: Sequence[int]) -> Any:
    """The places, (axes, n), that numbers stand for."""
    rows = []
    for extent in reversed(extents):
        rows.append(numbers % max(extent, 1))
        numbers = numbers // max(extent, 1)
    return F.stack(rows[::-1]) if rows else numbers.new_zeros((0, numbers.shape[0]))


def sparse(x: Any) -> bool:
    """Whether it is a sparse tensor."""
    return isinstance(x, SparseTensor)


# making ------------------------------------------------------------------------------------------------------------------


@torch_function(method=False)
def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, check_invariants: bool | None = None, is_coalesced: bool | None = None,
) -> Tensor:  # fmt: skip
    """A sparse tensor of the values (n, ...) at the places `indices`, (axes, n); without both an empty one. Raises ShapeError,
    and IndexRangeError for places outside.

    Examples:
        >>> a = sg.sparse_coo_tensor([[0, 1], [1, 0]], [3.0, 4.0], (2, 2))
        >>> a.to_dense()
        tensor([[0., 3.],
                [4., 0.]])
        >>> a @ sg.ones(2, 1)
        tensor([[3.],
                [4.]])
    """
    if values is None:
        size = as_shape(indices if size is None else size)
        indices, values = (
            np.zeros((len(size), 0), int64),
            np.zeros((0,), get_default_dtype() if dtype is None else as_dtype(dtype)),
        )
        is_coalesced = True
    indices, given = _tensor(indices), values
    values = _tensor(values)
    values = values if dtype is None or as_dtype(dtype) == values.dtype else values.to(dtype)
    indices = indices if indices.dtype == int64 else indices.to(int64)
    if indices.ndim != 2:
        raise ShapeError(f"indices must be sparse_dim x nnz, but got: {shape_text(indices.shape)}")
    if not values.ndim and indices.shape[1] == 1:
        values = values.reshape(1)
    if not values.ndim or values.shape[0] != indices.shape[1]:
        raise ShapeError(
            f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, nnz from values: "
            f"{values.shape[0] if values.ndim else 0}"
        )
    known = indices.numpy() if hasattr(indices, "_data") else None
    axes = indices.shape[0]
    if size is None:
        if known is None:
            raise ShapeError("sparse_coo_tensor: the size follows from indices that have no values here", "give size=")
        size = (*(known.max(1) + 1 if known.shape[1] else [0] * axes), *values.shape[1:])
    size = as_shape(size)
    if len(size) != axes + values.ndim - 1 or size[axes:] != tuple(values.shape[1:]):
        raise ShapeError(
            f"number of dimensions must be sparse_dim ({axes}) + dense_dim ({values.ndim - 1}), but got {len(size)}",
            f"indices are {shape_text(indices.shape)}, values {shape_text(values.shape)}, the size is {shape_text(size)}",
        )
    for axis, row in enumerate(() if known is None or not known.size else known):
        if row.min() < 0 or row.max() >= size[axis]:
            far = row.min() if row.min() < 0 else row.max()
            raise IndexRangeError(
                f"size is inconsistent with indices: for dim {axis}, size is {size[axis]} but found index {far}"
            )
    if requires_grad:
        values = (values.detach() if values is given else values).requires_grad_()
    return cast("Tensor", SparseTensor(indices, values, size, bool(is_coalesced)))


def _tensor(x: Any) -> Any:
    return x if is_tensor(x) else frontends.tensor_class(x)


def to_sparse(self: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None) -> Tensor:
    """The elements that are not 0, as a sparse tensor; of `sparse_dim` axes where given, of slices along the others. Raises
    UnsupportedError for other layouts.

    Examples:
        >>> sg.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse().indices()
        tensor([[0, 1],
                [1, 0]])
    """
    sparse_dim = None if sparse_dim == LAYOUT else sparse_dim
    if layout not in (None, LAYOUT) or isinstance(sparse_dim, str):
        raise UnsupportedError(f"to_sparse: there is one sparse layout, {LAYOUT}", "leave layout out")
    axes = self.ndim if sparse_dim is None else sparse_dim
    rest = tuple(range(axes, self.ndim))
    stored = self.detach() != 0
    places = F.nonzero(F.any(F.reshape(stored, (*self.shape[:axes], -1)), -1) if rest else stored)
    indices = F.t(places)
    values = self[tuple(indices)] if axes else F.unsqueeze(self, 0)
    return cast("Tensor", SparseTensor(indices, values, self.shape, True))


def sparse_mask(self: Any, mask: Any) -> Tensor:
    """The elements at the places of a sparse tensor."""
    if not sparse(mask):
        raise ArgumentTypeError(
            f"sparse_mask: the mask has to be a sparse tensor, got {type(mask).__name__}", "x[mask] takes a dense one"
        )
    return cast("Tensor", mask._with(self[tuple(mask._places)]))


def _typed(dtype: Any) -> Callable[..., Any]:
    def make(*args: Any, **options: Any) -> Any:
        """An older spelling of `sparse_coo_tensor(indices, values, size)`, or of an empty one of a size."""
        if len(args) > 1 and is_tensor(args[0]):
            return F.sparse_coo_tensor(*args, dtype=dtype, **options)
        return F.sparse_coo_tensor(size=as_shape(args[0] if len(args) == 1 else args), dtype=dtype, **options)

    return make


for _name, _dtype in TENSOR_NAMES.items():
    if _name != "BoolTensor":  # PyTorch has none of booleans
        SPARSE[_name] = _typed(_dtype)
        SPARSE[_name].__name__ = SPARSE[_name].__qualname__ = _name


# values that change by themselves -----------------------------------------------------------------------------------------

ZERO_TO_ZERO = (
    "abs", "absolute", "angle", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan", "atanh", "ceil", "conj",
    "conj_physical", "deg2rad", "erf", "erfinv", "expm1", "floor", "frac", "isinf", "isnan", "isneginf", "isposinf", "log1p",
    "nan_to_num", "rad2deg", "relu", "round", "sgn", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
"""Functions with f(0) = 0. Entries of one place are summed first."""
LINEAR = (
    "bool", "byte", "char", "clone", "contiguous", "cuda", "double", "float", "int", "long", "neg", "negative", "pin_memory",
    "positive", "short", "to",
)  # fmt: skip
"""Those that treat each entry alone."""


def _by_values(name: str, first: bool) -> Rule:
    def change(x: SparseTensor, *args: Any, **named: Any) -> Any:
        x = x.coalesce() if first else x
        function = getattr(x._entries, name)
        return x._with(function(*args, **named))

    return change


RULES.update({name: _by_values(name, True) for name in ZERO_TO_ZERO} | {name: _by_values(name, False) for name in LINEAR})


@rule()
def pow(x: Any, exponent: Any) -> Any:
    """A power of each element: of a positive number."""
    if not sparse(x) or is_tensor(exponent) or not exponent > 0:
        raise UnsupportedError("pow: of a sparse tensor there are powers to positive numbers", "call it on x.to_dense()")
    x = x.coalesce()
    return x._with(x._entries**exponent)


@rule()
def zeros_like(x: SparseTensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **format: Any) -> Any:
    """A sparse tensor without entries."""
    return F.sparse_coo_tensor(size=x.shape, dtype=x.dtype if dtype is None else dtype, requires_grad=requires_grad)


@rule()
def norm(x: SparseTensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The norm of all elements."""
    if dim is not None:
        raise UnsupportedError("norm: of a sparse tensor there is that of all elements", "call it on x.to_dense()")
    return F.norm(x.coalesce()._entries, 2 if p == "fro" else p)


# two tensors --------------------------------------------------------------------------------------------------------------


def _check_shapes(name: str, a: Any, b: Any) -> None:
    if tuple(a.shape) != tuple(b.shape):
        raise ShapeError(f"{name}: expected sizes of 'self' and 'other' to match, but {tuple(a.shape)} != {tuple(b.shape)}")


@rule("add", "radd", "iadd")
def add(a: Any, b: Any, alpha: Any = 1) -> Any:
    """The sum of two sparse tensors; that of a dense and a sparse one is dense."""
    if not sparse(b) or not (is_tensor(a) or sparse(a)):
        raise ArgumentError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.", "or x.to_dense()")
    _check_shapes("add", a, b)
    values = b._entries if alpha == 1 else b._entries * alpha
    if not sparse(a):
        return a + b._with(values).to_dense()
    if a.sparse_dim() != b.sparse_dim():
        raise ShapeError(
            "add: one sparse tensor has more axes with indices than the other", "make both by one call of to_sparse"
        )
    return SparseTensor(F.cat([a._places, b._places], 1), F.cat([a._entries, values]), a.shape)


@rule("sub", "subtract", "isub")
def sub(a: Any, b: Any, alpha: Any = 1) -> Any:
    """The difference of two sparse tensors; that of a dense and a sparse one is dense."""
    return add(a, b, alpha=-alpha)


@rule("mul", "multiply", "rmul", "imul")
def mul(a: Any, b: Any) -> Any:
    """The product with a number, or element by element."""
    if not sparse(a):
        a, b = b, a
    if not sparse(b):
        if not is_tensor(b) or not b.ndim:
            return a._with(a._entries * b)
        factors = F.expand(b, tuple(a.shape))[tuple(a._places)]
        return a._with(a._entries * factors)
    _check_shapes("mul", a, b)
    a, b = a.coalesce(), b.coalesce()
    axes = range(a.sparse_dim())
    if a.sparse_dim() != b.sparse_dim() or not b._nnz():
        return SparseTensor(a._places[:, :0], a._entries[:0], a.shape, True) if not b._nnz() else a * b.to_dense()
    numbers, others = a._numbers(axes), b._numbers(axes)
    at = F.clamp(F.searchsorted(others, numbers), max=b._nnz() - 1)
    kept = F.squeeze(F.nonzero(others[at] == numbers), 1)
    return SparseTensor(a._places[:, kept], a._entries[kept] * b._entries[at[kept]], a.shape, True)


@rule("div", "divide", "true_divide", "truediv", "itruediv")
def div(a: Any, b: Any, *, rounding_mode: str | None = None) -> Any:
    """The quotient of a sparse tensor and a number."""
    if not sparse(a) or sparse(b) or (is_tensor(b) and b.ndim):
        raise ArgumentError("Sparse division requires a scalar or zero-dim dense tensor divisor", "call it on x.to_dense()")
    return a._with(F.div(a._entries, b, rounding_mode=rounding_mode))


def _matrix(name: str, x: Any) -> None:
    if sparse(x) and (x.ndim != 2 or x.dense_dim()):
        raise ShapeError(f"{name}: expected a sparse matrix, got {x.sparse_dim()} sparse and {x.dense_dim()} dense dimensions")


@rule("matmul", "mm", "spmm", "mv")
def matmul(a: Any, b: Any) -> Any:
    """The product of matrices: dense, unless both are sparse; or of a sparse matrix and a vector."""
    _matrix("matmul", a)
    _matrix("matmul", b)
    if a.dtype != b.dtype:
        raise DTypeError(f"expected m1 and m2 to have the same dtype, but got: {a.dtype} != {b.dtype}", "convert one of them")
    if b.ndim > 2 or not b.ndim or (b.ndim == 1 and sparse(b)) or a.ndim != 2:
        raise ShapeError(
            f"matmul: a sparse matrix is multiplied by a matrix or vector, got {tuple(a.shape)} and {tuple(b.shape)}"
        )
    if a.shape[1] != b.shape[0]:
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({shape_text(a.shape)} and {shape_text(b.shape)})",
            f"the inner extents {a.shape[1]} and {b.shape[0]} differ",
        )
    if not sparse(a):
        return F.t(matmul(RULES["t"](b), F.t(a)))
    if sparse(b):
        return _sparse_product(a.coalesce(), b.coalesce())
    rows, columns = a._places
    parts = b[columns] * (a._entries if b.ndim == 1 else F.unsqueeze(a._entries, 1))
    return F.index_add(b.new_zeros((a.shape[0], *b.shape[1:])), 0, rows, parts)


def _sparse_product(a: SparseTensor, b: SparseTensor) -> Any:
    """Each entry of `a` meets those in one row of `b`, which lie one after another."""
    counts = F.bincount(b._places[0], minlength=b.shape[0])
    begins = F.cumsum(counts, 0) - counts
    met = counts[a._places[1]]
    of_a = F.repeat_interleave(made(np.arange(a._nnz())), met)
    first = F.cumsum(met, 0) - met
    of_b = (begins[a._places[1]] - first)[of_a] + made(np.arange(of_a.shape[0]))
    places = F.stack([a._places[0][of_a], b._places[1][of_b]])
    return SparseTensor(places, a._entries[of_a] * b._entries[of_b], (a.shape[0], b.shape[1])).coalesce()


@rule()
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    product = matmul(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    return add(product, input) if sparse(input) else (input if beta == 1 else input * beta) + product


@rule()
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias`."""
    product = matmul(input, RULES["t"](weight) if sparse(weight) else F.t(weight))
    return product if bias is None else product + bias


# sums ---------------------------------------------------------------------------------------------------------------------


@rule()
def sum(input: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of all elements, or along axes: sparse, where an axis with indices is left."""
    x = input if dtype is None else input._with(input._entries.to(dtype))
    if dim is None:
        return F.sum(x._entries)
    gone = normalize_axes(dim, x.ndim)
    axes = x.sparse_dim()
    inner = tuple(axis - axes + 1 for axis in gone if axis >= axes)
    values = F.sum(x._entries, inner, keepdim=keepdim) if inner else x._entries
    kept = [axis for axis in range(axes) if axis not in gone]
    shape = [1 if axis in gone else n for axis, n in enumerate(x.shape) if keepdim or axis not in gone]
    if not kept and not keepdim:
        return F.sum(values, 0)
    rows = [x._places[axis] * (0 if axis in gone else 1) for axis in (range(axes) if keepdim else kept)]
    return SparseTensor(F.stack(rows), values, shape).coalesce()


def _softmax(input: SparseTensor, dim: int, dtype: Any, log: bool) -> Any:
    x = input.coalesce()
    values = x._entries if dtype is None else x._entries.to(dtype)
    dim = normalize_axis(dim, x.ndim)
    if dim >= x.sparse_dim():
        return x._with((F.log_softmax if log else F.softmax)(values, dim - x.sparse_dim() + 1))
    others = [axis for axis in range(x.sparse_dim()) if axis != dim]
    count = math.prod(x.shape[axis] for axis in others)
    line = x._numbers(others)
    zeros = values.new_zeros((count, *values.shape[1:]))
    index = F.broadcast_to(F.reshape(line, (-1, *[1] * (values.ndim - 1))), tuple(values.shape))
    top = F.scatter_reduce(zeros, 0, index, values.detach(), "amax", include_self=False)
    shifted = values - top[line]
    powers = F.exp(shifted)
    total = F.index_add(zeros, 0, line, powers)[line]
    return x._with(shifted - F.log(total) if log else powers / total)


@rule()
def softmax(input: SparseTensor, dim: int, dtype: Any = None) -> Any:
    """Softmax of the entries along an axis: what isn't there counts as minus infinity."""
    return _softmax(input, dim, dtype, False)


@rule()
def log_softmax(input: SparseTensor, dim: int, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return _softmax(input, dim, dtype, True)


# places that move ---------------------------------------------------------------------------------------------------------


@rule()
def permute(x: SparseTensor, *dims: Any) -> Any:
    """Other orders of the axes that have indices."""
    given = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = tuple([normalize_axis(axis, x.ndim) for axis in given])
    axes = x.sparse_dim()
    if sorted(order[:axes]) != [*range(axes)] or order[axes:] != tuple(range(axes, x.ndim)):
        raise UnsupportedError("permute: axes with indices change places among each other", "call it on x.to_dense()")
    if order == tuple(range(x.ndim)):
        return x
    rows = F.stack([x._places[axis] for axis in order[:axes]])
    return SparseTensor(rows, x._entries, [x.shape[axis] for axis in order])


@rule("transpose", "swapaxes", "swapdims")
def transpose(x: SparseTensor, dim0: int, dim1: int) -> Any:
    """Two axes swapped."""
    order = [*range(x.ndim)]
    a, b = normalize_axis(dim0, x.ndim), normalize_axis(dim1, x.ndim)
    order[a], order[b] = b, a
    return permute(x, order)


@rule()
def t(x: SparseTensor) -> Any:
    """The transpose of a matrix."""
    if x.ndim > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D")
    return transpose(x, 0, 1) if x.ndim == 2 else x


@rule()
def unsqueeze(x: SparseTensor, dim: int) -> Any:
    """One more axis of extent 1, before the dense ones."""
    dim = normalize_axis(dim, x.ndim + 1)
    shape = (*x.shape[:dim], 1, *x.shape[dim:])
    if dim > x.sparse_dim():
        return SparseTensor(x._places, F.unsqueeze(x._entries, dim - x.sparse_dim() + 1), shape, x._coalesced)
    places = F.cat([x._places[:dim], x._places.new_zeros((1, x._nnz())), x._places[dim:]])
    return SparseTensor(places, x._entries, shape, x._coalesced)


@rule("cat", "concat", "concatenate")
def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Sparse tensors one after another along an axis."""
    first = tensors[0]
    if not all(sparse(x) and x.sparse_dim() == first.sparse_dim() for x in tensors):
        raise ArgumentError("Concatenating sparse tensors, but a dense tensor was found", "call to_dense() or to_sparse()")
    dim, begin, places, values = normalize_axis(dim, first.ndim), 0, [], []
    if dim >= first.sparse_dim():
        raise UnsupportedError("cat: along an axis that has indices", "call it on x.to_dense()")
    for x in tensors:
        shift = x._places.new_zeros((x.sparse_dim(), 1))
        shift[dim] = begin
        places.append(x._places + shift)
        values.append(x._entries)
        begin += x.shape[dim]
    return SparseTensor(F.cat(places, 1), F.cat(values), (*first.shape[:dim], begin, *first.shape[dim + 1 :]))


@rule()
def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Sparse tensors along a new axis."""
    return cat([unsqueeze(x, dim) for x in tensors], dim)


@rule()
def select(x: SparseTensor, dim: int, index: int) -> Any:
    """One place of an axis."""
    dim = normalize_axis(dim, x.ndim)
    index = range(x.shape[dim])[index]
    if dim >= x.sparse_dim():
        return SparseTensor(
            x._places,
            F.select(x._entries, dim - x.sparse_dim() + 1, index),
            (*x.shape[:dim], *x.shape[dim + 1 :]),
            x._coalesced,
        )
    kept = F.squeeze(F.nonzero(x._places[dim] == index), 1)
    if x.sparse_dim() == 1:
        return F.sum(x._entries[kept], 0)
    places = F.cat([x._places[:dim], x._places[dim + 1 :]])[:, kept]
    return SparseTensor(places, x._entries[kept], (*x.shape[:dim], *x.shape[dim + 1 :]), x._coalesced)


@rule()
def index_select(x: SparseTensor, dim: int, index: Any) -> Any:
    """Places of an axis that has indices, in the order of `index`."""
    dim = normalize_axis(dim, x.ndim)
    if dim >= x.sparse_dim():
        return SparseTensor(
            x._places, F.index_select(x._entries, dim - x.sparse_dim() + 1, index),
            (*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :]), x._coalesced,
        )  # fmt: skip
    at, new = F.nonzero(F.unsqueeze(x._places[dim], 1) == index, as_tuple=True)
    places = F.cat([x._places[:dim][:, at], F.unsqueeze(new, 0), x._places[dim + 1 :][:, at]])
    return SparseTensor(places, x._entries[at], (*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :]))


@rule()
def getitem(x: SparseTensor, key: Any) -> Any:
    """Integers, one for each of the first axes; or one tensor of them."""
    keys = key if isinstance(key, tuple) else (key,)
    if len(keys) == 1 and is_tensor(key) and key.ndim == 1 and key.dtype == int64:
        return index_select(x, 0, key)
    if not all(isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in keys):
        raise UnsupportedError("a sparse tensor has no slices", "index x.to_dense(), or call index_select")
    for k in keys:
        x = select(x, 0, int(k)) if sparse(x) else x[int(k)]
    return x


# entering -----------------------------------------------------------------------------------------------------------------

for _name in ("add", "sub", "mul", "truediv", "matmul", "pow"):
    setattr(SparseTensor, f"__{_name}__", _operator(_name))
    setattr(SparseTensor, f"__r{_name}__", _operator(_name, swapped=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "mod", "floordiv"):
    setattr(SparseTensor, f"__{_name}__", _operator(_name))
for _name in ("neg", "abs"):
    setattr(SparseTensor, f"__{_name}__", RULES[_name])
SPARSE |= {name: RULES[name] for name in ("mm", "sum", "addmm", "softmax", "log_softmax")}
for _function in (to_sparse, sparse_mask):
    setattr(Operators, _function.__name__, _function)
Operators.to_sparse_coo = Operators.to_sparse  # type: ignore[method-assign]
