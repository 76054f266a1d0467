"""Settings and layouts that all poolings share: over one, two and three axes, with batches or without.

The records of `ops/pooling.py` work on two axes. Pooling along one axis is pooling of planes of one row. The pools of a box
are those of planes, and then of what they give along the first axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ArgumentError, ShapeError
from ..operators import F
from ..ops.settings import operand, size_text, whole_numbers

Sizes = int | None | Sequence[int | None]


def settings_of(kernel_size: Any, stride: Any, padding: Any, axes: int) -> tuple[Any, Any, Any]:
    kernel = whole_numbers("kernel_size", kernel_size, axes)
    steps = kernel if stride is None or stride == () or stride == [] else whole_numbers("stride", stride, axes)
    pads = whole_numbers("padding", padding, axes)
    if any(k <= 0 for k in kernel):
        raise ArgumentError(f"kernel size should be greater than zero, but got {kernel_size}")
    if any(s <= 0 for s in steps):
        raise ArgumentError("stride should be greater than zero, but got " + str(stride))
    return kernel, steps, pads


def _lacking(name: str, x: Any, axes: int) -> list[int]:
    """The axes to put in for (n, c, ...) of at least two further axes. Raises ShapeError."""
    if len(x.shape) not in (axes + 1, axes + 2) or 0 in x.shape[-axes - 1 :]:
        raise ShapeError(
            f"non-empty {axes + 1}D or {axes + 2}D (batch mode) tensor expected for input",
            f"{name}: the input has shape {tuple(x.shape)}",
        )
    extra = [0] if len(x.shape) == axes + 1 else []
    return [*extra, 2] if axes == 1 else extra


def pooled(name: str, x: Any, axes: int, pool: Callable[[Any], Any]) -> Any:
    """`pool` on x as (n, c, ...), with the missing axes put in and taken out again."""
    x = operand(x)
    extra = _lacking(name, x, axes)
    if not extra:
        return pool(x)
    found = pool(F.expand_dims(x, tuple(extra)))
    if isinstance(found, tuple):
        return tuple(F.squeeze(part, tuple(extra)) for part in found)
    return F.squeeze(found, tuple(extra))


def planes_of(x: Any) -> Any:
    """(n, c, d, h, w) as (n, c d, h, w)."""
    n, c, d, h, w = known_extents(x)
    return F.reshape(x, (n, c * d, h, w))


def columns_of(x: Any, depth: int) -> Any:
    """(n, c d, h, w) as (n, c, d, h w), in which windows along the depth are columns."""
    n, cd, h, w = known_extents(x)
    return F.reshape(x, (n, cd // depth, depth, h * w))


def known_extents(x: Any) -> tuple[int, ...]:
    """The extents, of which the first may be unknown. Raises ShapeError."""
    if None in x.shape[1:]:
        raise ShapeError("pooling over three axes needs known extents but the first", f"got {size_text(x.shape)}")
    return tuple(-1 if d is None else d for d in x.shape)


def adaptive_extents(name: str, output_size: Any, axes: int) -> list[int | None]:
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * axes
    given = given * axes if len(given) == 1 else given
    extents = [None if d is None else whole_numbers("output_size", d, 1)[0] for d in given]
    if len(extents) != axes or any(d is not None and d < 0 for d in extents):
        raise ArgumentError(f"{name}: output_size must be {axes} extents >= 0, got {output_size}")
    return extents


def check_adaptive(name: str, x: Any, axes: int) -> Any:
    x = operand(x)
    if len(x.shape) not in (axes + 1, axes + 2):
        raise ShapeError(f"{name}(): Expected {axes + 1}D or {axes + 2}D tensor, but got {list(x.shape)}")
    return x
