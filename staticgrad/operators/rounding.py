"""In which precision functions compute: functions of several ops round once, as one op does, and `autocast` chooses for some.

Inside `autocast`, products compute in a dtype of 16 bits, and losses and what loses digits in float32: `PRODUCTS` and `EXACT`,
which are PyTorch's lists for the CPU. Everything else computes in the dtypes of its operands.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..base.dtypes import ANY_DTYPE, HALF
from ..base.types import INEXACT, float32, float64
from .dispatch import F, state
from .methods import Operators

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
