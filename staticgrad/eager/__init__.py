"""Define-by-run: tensors that have values, the tape of their operations, and the backward pass."""

from typing import TYPE_CHECKING

from .. import ops  # noqa: F401 - fills the op table that the front end reads
from ..ops.operators import frontends
from . import execution, function_nodes, inplace_methods, python_functions  # noqa: F401 - fill the front end's tables
from .backward import backward, grad
from .calls import composites, fast_ops  # noqa: F401 - as these
from .creation import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
    arange,
    asarray,
    empty,
    empty_permuted,
    empty_strided,
    eye,
    full,
    linspace,
    logspace,
    ones,
    scalar_tensor,
    tensor,
    zeros,
)
from .generator import dropout, generator, manual_seed, rand, randint, randn, randperm
from .grad_mode import detect_anomaly, eager_kernels, enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .subclasses import branded
from .tape import Record
from .tensor import Tensor

if TYPE_CHECKING:  # functions return tensors of any mode, so that is what `sg.Tensor` means to type checkers
    from ..ops.operators import Tensor as PublicTensor
else:
    from .tensor import PublicTensor


frontends.late("autodiff.reverse", "gradients")
frontends.late("eager.out_arguments", "into")
frontends.late("eager.tape_graph", "replay")
frontends.late("eager.calls.routes", "route")

__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "PublicTensor", "Record", "ShortTensor", "Tensor", "arange", "asarray", "backward", "branded",
    "detect_anomaly", "dropout", "eager_kernels", "empty", "empty_permuted", "empty_strided", "enable_grad", "eye",
    "full", "generator", "grad", "is_grad_enabled", "linspace", "logspace", "manual_seed", "no_grad", "ones", "rand",
    "randint", "randn", "randperm", "scalar_tensor", "set_grad_enabled", "tensor", "zeros",
]  # fmt: skip
