"""`autograd.forward_ad`: tensors with tangents, made by hand inside a level."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from ..base.types import INEXACT, shape_text
from ..errors import ArgumentError, DTypeError, ShapeError, TransformError
from ..operators import F, Operators, Tensor, state
from .forward import Dual, Forward


class DualLevel(Forward):
    """A level that the user enters by hand."""

    name = "forward_ad"


def _current() -> DualLevel | None:
    return next((level for level in reversed(state.levels) if isinstance(level, DualLevel)), None)


class UnpackedDualTensor(NamedTuple):
    """A tensor without its tangent, and the tangent; None where there is none."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begin a level, which `exit_dual_level` ends; returns its number. Raises TransformError inside another one."""
    if _current() is not None:
        raise TransformError("Nested forward mode AD is not supported at the moment", "use func.jvp, which nests")
    DualLevel().__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level. Tensors with tangents can't be computed with afterwards. Raises TransformError without one."""
    current = _current()
    if current is None or level not in (None, 0):
        raise TransformError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    current.__exit__()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """`tensor` with a tangent of its shape and dtype. Raises TransformError outside of a level, DTypeError and ShapeError.

    Examples:
        >>> import staticgrad.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(sg.tensor(2.0), sg.tensor(1.0))
        ...     fwAD.unpack_dual(x**3).tangent
        tensor(12.)
    """
    current = _current()
    if current is None:
        raise TransformError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.",
            "with forward_ad.dual_level(): ...",
        )
    for name, x in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(x, Operators):
            raise ArgumentError(f"Expected {name} to be a tensor, but got: {type(x).__name__}")
        if x.dtype.kind not in INEXACT:
            raise DTypeError(f"Expected {name} to be floating point or complex, but got: {x.dtype}")
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise ShapeError(
            f"make_dual: a tangent of shape {shape_text(tangent.shape)} for a tensor of {shape_text(tensor.shape)}"
        )
    made: Any = Dual(current, tensor, F.astype(tangent, tensor.dtype))
    return made  # type: ignore[no-any-return]


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor and its tangent, which is None for a tensor that has none, and outside of a level."""
    if isinstance(tensor, Dual) and tensor.level is _current():
        return UnpackedDualTensor(tensor.value, tensor.tangent)
    return UnpackedDualTensor(tensor, None)


class dual_level:
    """A level of tensors with tangents, as a context manager or decorator."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        exit_dual_level()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call
