"""Dtypes and devices: methods such as `x.to(...)`, precision of functions, and the options of factories of tensors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, TypedDict, TypeVar, overload

import numpy as np

from ...base.devices import CPU, Device, check_device, is_device, is_meta
from ...base.dtypes import ANY_DTYPE, HALF, SHORT_NAMES, TENSOR_NAMES, DType, bfloat16
from ...base.types import FLOATING, INEXACT, DTypeLike, float32, float64, int8, uint8
from ...errors import ArgumentError, DTypeError, ShapeError
from .annotations import Tensor
from .dispatch import NOBODY, ORDINARY, F, frontends, state, taken
from .lifted import on_meta
from .methods import Operators
from .symbols import PRESERVING, as_operands, in_order, order_in_memory, order_of, with_axes_in

__all__ = [
    "autocasting", "autocasts", "factory", "LikePlacement", "Options", "Placement", "rounded_once", "to_precision",
    "weight_in",
]  # fmt: skip

NAMES = {dtype.name: f"torch.{name}" for name, dtype in TENSOR_NAMES.items()}
NAMES |= {"complex64": "torch.ComplexFloatTensor", "complex128": "torch.ComplexDoubleTensor"}
NAMES |= {f"uint{bits}": f"torch.UInt{bits}Tensor" for bits in (16, 32, 64)}


def parse_to(
    *args: Any, device: Any = None, dtype: Any = None, non_blocking: bool = False, copy: bool = False, memory_format: Any = None
) -> tuple[Any, Any, bool, bool, Any]:
    """device, dtype, non_blocking, copy and memory_format of a call of `to`. Raises DeviceError for a device other than the
    CPU and meta."""
    flags = 0
    for given in args:
        if isinstance(given, Operators):
            dtype = given.dtype
        elif isinstance(given, bool):  # non_blocking, then copy
            non_blocking, copy = non_blocking or (given and not flags), copy or (given and flags > 0)
            flags += 1
        elif given is None or is_device(given) or isinstance(given, int):
            device = given
        else:
            dtype = given
    if not is_meta(device):
        check_device(device)
    return device, dtype, non_blocking, copy, memory_format


def to(
    self: Any, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """This tensor in another dtype, on a device, or in the dtype of another tensor: `to(dtype)`, `to(device)`,
    `to(device, dtype)`, `to(other)`. On device meta it has no values. Raises DeviceError for other devices."""
    if len(args) == 1 and device is None and args[0].__class__ is DType:  # the usual call
        dtype = args[0]
    else:
        place, dtype, _, copy, _ = parse_to(*args, device=device, dtype=dtype, copy=copy)
        if place is not None:
            self = on_meta(self) if is_meta(place) else self.cpu()
    result = self if dtype is None else F.astype(self, dtype)
    if memory_format not in PRESERVING and not result.is_contiguous(memory_format):
        return F.clone(result, memory_format=memory_format)
    return F.clone(result) if copy and result is self else result


@overload
def type_(self: Any, dtype: None = None, non_blocking: bool = False) -> str: ...
@overload
def type_(self: Any, dtype: Any, non_blocking: bool = False) -> Tensor: ...
def type_(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """This tensor in another dtype; without one, PyTorch's name of its kind: "torch.FloatTensor"."""
    return NAMES[self.dtype.name] if dtype is None else F.astype(self, dtype)


def type_as(self: Any, other: Any) -> Tensor:
    """This tensor in the dtype of another. Raises DTypeError for an object that is no tensor."""
    if not hasattr(other, "dtype"):
        raise DTypeError(f"type_as(): argument 'other' must be Tensor, not {other.__class__.__name__}", "use x.to(dtype)")
    return F.astype(self, other.dtype)


def _cast(name: str, dtype: np.dtype) -> Callable[[Any], Any]:
    def method(self: Any, memory_format: Any = None) -> Tensor:
        return self if self.dtype == dtype else F.astype(self, dtype)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"This tensor in {dtype}."
    return method


def chalf(self: Any, memory_format: Any = None) -> Tensor:
    """Raises DTypeError: there is no complex32."""
    raise DTypeError("chalf(): dtype complex32 is not supported", "use x.cfloat() or x.cdouble()")


def cpu(self: Any, memory_format: Any = None) -> Tensor:
    """This tensor: all tensors are in the CPU's memory."""
    return self


def cuda(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raises DeviceError: tensors are in the CPU's memory."""
    check_device("cuda" if device is None else device)
    return self


def pin_memory(self: Any, device: Any = None) -> Tensor:
    """This tensor: memory is pinned for other devices."""
    return self


def get_device(self: Any) -> int:
    """-1, the number of the CPU."""
    return -1


def is_floating_point(self: Any) -> bool:
    """Whether the dtype is floating."""
    return bool(self.dtype.kind in FLOATING)


def is_complex(self: Any) -> bool:
    """Whether the dtype is complex."""
    return bool(self.dtype.kind == "c")


def _no(self: Any) -> bool:
    """False: tensors are dense, computed when they are written, and in the CPU's memory."""
    return False


def _yes(self: Any) -> bool:
    """True: all tensors are on the CPU."""
    return True


def _device(self: Any) -> Device:
    """Where the numbers are: the CPU."""
    return CPU


def _itemsize(self: Any) -> int:
    """Bytes of one element."""
    return int(self.dtype.itemsize)


def _nbytes(self: Any) -> int:
    """Bytes of all elements."""
    return int(self.dtype.itemsize * self.numel())


def _layout(self: Any) -> str:
    """`strided`, as of all tensors but sparse ones."""
    return "torch.strided"


def ndimension(self: Any) -> int:
    """The number of axes."""
    return len(self.shape)


def is_same_size(self: Any, other: Any) -> bool:
    """Whether both have the same shape."""
    if not isinstance(other, Operators):
        raise DTypeError(f"is_same_size(): expected a Tensor, got {type(other).__name__}")
    if None in self.shape or None in other.shape:
        raise ShapeError("is_same_size: extents are unknown", "give the placeholder known extents")
    return bool(self.shape == other.shape)


def is_signed(self: Any) -> bool:
    """Whether the dtype has negative numbers."""
    return bool(self.dtype.kind in "ifc")


def is_nonzero(self: Any) -> bool:
    """Whether the one element is not 0. Raises ShapeError for any other number of elements."""
    return bool(self)


def real(self: Any) -> Tensor:
    """The real parts; of real numbers, this tensor itself."""
    return F.real(self)


def imag(self: Any) -> Tensor:
    """The imaginary parts. Raises DTypeError for real numbers."""
    return F.imag(self)


def adjoint(self: Any) -> Tensor:
    """The last two axes swapped, and the conjugate."""
    return F.conj(F.swapaxes(self, -1, -2))


def transposed_conjugate(self: Any) -> Tensor:
    """The transpose of a matrix, and the conjugate."""
    return F.conj(F.t(self))


def element_count(self: Any) -> int:
    """The number of elements."""
    return int(self.numel())


def polygamma(self: Any, n: int) -> Tensor:
    """The n-th derivative of `digamma`."""
    return F.polygamma(n, self)


def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool = True) -> Tensor:
    """This tensor, in a dtype: tensors are dense."""
    return self if dtype is None else to(self, dtype)


def hardshrink(self: Any, lambd: float = 0.5) -> Tensor:
    """This tensor, with 0 within [-lambd, lambd]."""
    return F.where(F.abs(self) <= lambd, F.zeros_like(self), self)


def _without(name: str, instead: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **named: Any) -> Any:
        raise ArgumentError(f"{name}: memory here is that of NumPy's arrays", instead)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"Refused: {instead}. Raises ArgumentError."
    return method


setattr(Operators, "storage_type", _without("storage_type", "x.type() names the kind of tensor"))  # noqa: B010 - a checker has the stub's


CASTS = {**SHORT_NAMES, "byte": uint8, "char": int8, "bfloat16": bfloat16}
for _name, _dtype in CASTS.items():
    setattr(Operators, _name, _cast(_name, _dtype))
for _function in (
    to, type_as, cpu, cuda, pin_memory, get_device, is_floating_point, ndimension, is_same_size, is_signed,
    is_nonzero, is_complex, polygamma, hardshrink, to_dense, chalf,
):  # fmt: skip
    setattr(Operators, _function.__name__, _function)
for _name in ("is_pinned", "is_shared", "is_conj", "is_neg", "is_inference", "is_distributed"):
    setattr(Operators, _name, _no)
_members: dict[str, Any] = {
    "type": type_,
    "nelement": element_count,
    "device": property(_device),
    "H": property(transposed_conjugate),
    "mH": property(adjoint),
    "real": property(real),
    "imag": property(imag),
    "itemsize": property(_itemsize),
    "nbytes": property(_nbytes),
    "layout": property(_layout),
    "is_cpu": property(_yes),
}
for _name, _member in _members.items():
    setattr(Operators, _name, _member)
for _name in (
    "is_cuda",
    "is_sparse",
    "is_quantized",
    "is_meta",
    "is_mps",
    "is_xpu",
    "is_mkldnn",
    "is_nested",
    "is_sparse_csr",
    "is_vulkan",
    "is_xla",
    "is_ipu",
    "is_maia",
    "is_mtia",
):
    setattr(Operators, _name, property(_no))


# in which precision functions compute --------------------------------------------------------------------------------

# Functions of several ops round once, as one op does, and `autocast` chooses for some.
#
# Inside `autocast`, products compute in a dtype of 16 bits, and losses and what loses digits in float32: `PRODUCTS` and
# `EXACT`, which are PyTorch's lists for the CPU. Everything else computes in the dtypes of its operands.

Function = TypeVar("Function", bound=Callable[..., Any])

PRODUCTS = frozenset({
    "addbmm", "addmm", "baddbmm", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "linear", "matmul", "prelu", "recurrence", "scaled_dot_product_attention", "vecdot",
})  # fmt: skip
EXACT = frozenset({
    "adaptive_avg_pool3d", "avg_pool3d", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist", "cholesky",
    "cholesky_ex", "cholesky_inverse", "cholesky_solve", "cond", "cosine_embedding_loss", "cross_entropy", "ctc_loss", "det",
    "eig", "eigh", "eigvals", "eigvalsh", "geqrf", "grid_sample", "hinge_embedding_loss", "householder_product", "huber_loss",
    "inv", "inv_ex", "kl_div", "l1_loss", "lstsq", "lu_factor", "lu_solve", "margin_ranking_loss", "matrix_rank",
    "max_pool3d", "max_unpool2d", "max_unpool3d", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
    "nanquantile", "nll_loss", "ormqr", "pinv", "poisson_nll_loss", "prod", "qr", "quantile", "slogdet", "smooth_l1_loss",
    "soft_margin_loss", "solve", "svd", "svdvals", "tensorinv", "tensorsolve", "trace", "triplet_margin_loss",
})  # fmt: skip

PLAIN = frozenset({"bilinear", "dot", "mv", "vdot"})
"""Products that are in neither of PyTorch's lists."""

SOMETIMES: dict[str, Callable[..., bool]] = {
    "pad": lambda input, pad, mode="constant", value=None: mode == "replicate" or (mode == "reflect" and len(pad) < 6)
}
"""Functions with whose arguments PyTorch calls one of the list for float32, or another one."""

NORMS = frozenset({"_by_batch", "_by_batch_alone", "_by_sample", "_standardized", "group_norm", "layer_norm", "rms_norm"})
"""Functions whose first operand may be of 16 bits beside weights and statistics in float32: the result has its dtype."""


def autocasting() -> bool:
    """Whether `autocast` is on in this thread."""
    return state.autocast is not None


def autocasts(function: Function) -> Function:
    """The function, whose floating operands are cast inside `autocast` if its name is in the lists; float64 stays."""
    name = function.__name__
    decides = SOMETIMES.get(name)
    if name not in PRODUCTS and name not in EXACT and name not in PLAIN and decides is None:
        return function

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        chosen = state.autocast
        if chosen is None or (decides is not None and not decides(*args, **named)):
            return function(*args, **named)
        state.autocast = None
        try:
            if name not in PLAIN:
                kind = chosen if name in PRODUCTS else float32
                args = tuple([to_precision(kind, a) for a in args])
                named = {word: to_precision(kind, a) for word, a in named.items()}
            return function(*args, **named)
        finally:
            state.autocast = chosen

    return call  # type: ignore[return-value]


def to_precision(kind: Any, x: Any) -> Any:
    """Floating tensors but those of float64 in a dtype; anything else as it is."""
    if isinstance(x, Operators):
        return F.astype(x, kind) if x.dtype.is_floating_point and x.dtype != float64 else x
    return x.__class__([to_precision(kind, part) for part in x]) if x.__class__ in (tuple, list) else x


def rounded_once(function: Function) -> Function:
    """The function, which computes in float32 for floats of 16 bits and rounds its results once, as PyTorch's kernels do. It is
    called as it is where an operand is a float of more bits, unless it is in `NORMS`, or the dtype of the result is given."""
    norm = function.__name__ in NORMS

    @autocasts
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        kinds = {a.dtype for a in (*args, *named.values()) if isinstance(a, Operators)}
        if kinds.isdisjoint(HALF):
            return function(*args, **named)
        floating = [kind for kind in kinds if kind.kind in INEXACT]
        narrow, shape = floating[0], None
        if norm and len(floating) > 1 and args[0].dtype in HALF:
            narrow, shape = args[0].dtype, args[0].shape
        elif len(floating) > 1 or any(isinstance(a, ANY_DTYPE) for a in (*args, *named.values())):
            return function(*args, **named)
        words = {name: _recast(narrow, float32, a) for name, a in named.items()}
        return _recast(float32, narrow, function(*[_recast(narrow, float32, a) for a in args], **words), shape)

    return call  # type: ignore[return-value]


def weight_in(dtype: Any, number: Any) -> Any:
    """A number by which operands of a dtype are weighted: PyTorch takes it in their dtype where that has 16 bits."""
    return float(dtype.type(number)) if dtype in HALF else number


def _recast(of: Any, to: Any, x: Any, shape: Any = None) -> Any:
    """Tensors of one dtype, and of one shape if that is given, in another dtype; anything else as it is."""
    if isinstance(x, Operators):
        return F.astype(x, to) if x.dtype == of and shape in (None, x.shape) else x
    return tuple([_recast(of, to, part, shape) for part in x]) if x.__class__ is tuple else x


# the options that PyTorch's factories of tensors share ---------------------------------------------------------------

Factory = TypeVar("Factory", bound=Callable[..., Any])


class Placement(TypedDict, total=False):
    """Where PyTorch lets a factory of tensors place its result. Checked; on the CPU they change nothing."""

    device: Any
    layout: Any
    out: Any
    pin_memory: bool


class LikePlacement(TypedDict, total=False):
    """The same of a factory that takes its shape from another tensor."""

    device: Any
    layout: Any
    memory_format: Any


class FactoryOptions(TypedDict, total=False):
    """What else a factory takes by keyword."""

    dtype: DTypeLike | None
    requires_grad: bool


class Options(FactoryOptions, Placement, total=False):
    """The keyword arguments of a factory that takes no more than extents or numbers by position."""


DEFAULTS = {"pin_memory": False, "requires_grad": False}
"""Of options that are not None by default."""


def factory(record: type) -> Callable[[Factory], Factory]:
    """Let a function whose last parameter is `**options: Unpack[record]` check its options and list them in its signature.

    `out=` is no business of the function: its result is written there, in the dtype of that tensor unless one is given.
    """
    kinds = {name: getattr(kind, "__forward_arg__", kind) for name, kind in record.__annotations__.items()}

    def described(function: Factory) -> Factory:
        signature = inspect.signature(function)
        own = list(signature.parameters.values())[:-1]
        named = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS.get(name), annotation=kind)
            for name, kind in kinds.items()
        ]
        known = {parameter.name for parameter in (*own, *named)}
        placed = record is not LikePlacement

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            if args and args[0].__class__ not in ORDINARY and (answer := taken(call, args, options)) is not NOBODY:
                return answer
            if frontends.tracing and state.on_meta is not None:
                if not placed or options.get("device") is not None:  # it doesn't ask for the default device
                    with CPU:
                        return call(*args, **options)
                check_options(call.__name__, options, known)
                return on_meta(function(*args, **options))
            if options:
                if is_meta(options.get("device")):
                    with Device("meta"):
                        return on_meta(call(*args, **{**options, "device": None}))
                check_options(call.__name__, options, known)
                out = options.pop("out", None)
                if out is not None:
                    if options.get("dtype") is None and "dtype" in known:
                        options["dtype"] = getattr(out, "dtype", None)
                    return frontends.into(out, call.__name__.rstrip("_"), function, args, options, warns=False)
                if options.get("memory_format") not in PRESERVING:
                    return _laid_out(function(*args, **options), options["memory_format"])
            made = function(*args, **options)
            return made if placed or not args else _like(made, args[0])

        call.__signature__ = signature.replace(parameters=[*own, *named])  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return described


def _laid_out(made: Any, memory_format: Any) -> Any:
    """A new tensor whose elements lie in the order of a format."""
    order = order_of(made, memory_format)
    return made if order is None or made.is_contiguous(memory_format) else _in_order(made, order)


def _in_order(made: Any, order: Sequence[int]) -> Any:
    """A new tensor with its axes in this order in memory."""
    if made.__class__ is not frontends.public_class or frontends.tracing:
        return in_order(made, order)
    return frontends.around(with_axes_in(made._data, order)).requires_grad_(made.requires_grad)


def _like(made: Any, template: Any) -> Any:
    """A new tensor whose elements lie in the order in which those of another one do, of its shape."""
    if template.__class__ is frontends.public_class and template._data.flags.c_contiguous:
        return made
    known = getattr(type(template), "_known_layout", None)  # a tensor whose memory was freed has none
    layout = None if known is None else known(template)
    if layout is None or (layout := as_operands(layout.shape, [layout])).is_contiguous:
        return made
    return _in_order(made, order_in_memory(layout))


def check_options(function: str, options: Mapping[str, Any], known: Container[str]) -> None:
    """Raises TypeError for an unknown option, and DeviceError or ArgumentError for one that only other devices or layouts would
    make sense of."""
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        if value is None:
            continue
        if name == "device":
            check_device(value)
        elif name == "layout" and str(value) not in ("strided", "torch.strided"):
            raise ArgumentError(f"{function}: layout has to be strided, got {value!r}")
