"""Checks and reductions that losses and layers share. Unknown extents of a graph are taken to fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.interpreter import warn
from ...base.types import Shape
from ...eager import Tensor as EagerTensor
from ...errors import ArgumentError, DTypeError
from ...ops.operands import operand, size_text
from ...ops.operators import F, Tensor, TensorLike, misuse, state

REDUCTIONS = ("mean", "sum", "none")


def check_reduction(reduction: str) -> None:
    """Raises ArgumentError for anything but "mean", "sum" and "none"."""
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"{reduction!r} is not a valid value for reduction", f"use one of {', '.join(REDUCTIONS)}")


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction by PyTorch's older arguments where one of them is given. Raises ArgumentError."""
    if size_average is None and reduce is None:
        check_reduction(reduction)
        return reduction
    for name, given in (("size_average", size_average), ("reduce", reduce)):
        if given is not None and not isinstance(given, (bool, int)):
            raise ArgumentError(
                f"{name} has to be True, False or None, got {given!r}", "write reduction='mean', 'sum' or 'none'"
            )
    misuse.warn_former(
        "size_average and reduce args will be deprecated, please use reduction="
        f"'{'none' if reduce is False else 'mean' if size_average is None or size_average else 'sum'}' instead.",
        UserWarning,
    )
    if reduce is not None and not reduce:
        return "none"
    return "sum" if size_average is not None and not size_average else "mean"


def warn_of_widened(weight: Tensor, x: Tensor) -> None:
    """A warning, once, where a float64 array, as NumPy makes them, has weights of float32 compute in float64."""
    global _widened
    if not _widened and x.dtype == np.float64 and weight.dtype == np.float32:
        _widened = True
        warn(
            "the input is float64 and the weights are float32, so this layer and those after it compute in float64, at half "
            'the speed: write .astype("float32") where the data are loaded, or model.double()'
        )


_widened = False
"""There was a warning in this process."""


def fitting(a: Shape, b: Shape) -> bool:
    """Equal as far as the extents are known."""
    return a == b or (len(a) == len(b) and all(m == n or m is None or n is None for m, n in zip(a, b, strict=True)))


def check_floating(name: str, role: str, x: Any, kinds: str = "f") -> None:
    """Raises DTypeError. kinds: of the dtypes that are taken."""
    if x.dtype.kind not in kinds:
        raise DTypeError(f"{name}: the {role} must be floating, got {x.dtype}", "cast it: x.astype(sg.float32)")


def value_of(x: Any) -> np.ndarray | None:
    """The array of an eager operand. None of a graph or while tracing: a run may have other values."""
    if state.tracer is not None or state.inside:
        return None
    found = x._data if isinstance(x, EagerTensor) else x
    return found if isinstance(found, np.ndarray) else None


def regression_pair(name: str, input: TensorLike, target: TensorLike, kinds: str = "f") -> tuple[Tensor, Tensor]:
    """The operands of an elementwise regression loss, of one shape: broadcasting here is nearly always a mistake, so there
    is a warning."""
    input, target = operand(input), operand(target)
    check_floating(name, "input", input, kinds)
    if not fitting(input.shape, target.shape):
        misuse.warn_former(
            f"Using a target size (torch.Size({size_text(target.shape)})) that is different to the input size "
            f"(torch.Size({size_text(input.shape)})). This will likely lead to incorrect results due to broadcasting. Please "
            "ensure they have the same size.",
            UserWarning,
        )
        input, target = F.broadcast_tensors(input, target)
    return input, target


def reduced(loss: Any, reduction: str) -> Tensor:
    """The mean, the sum, or the loss itself."""
    return F.mean(loss) if reduction == "mean" else F.sum(loss) if reduction == "sum" else loss
