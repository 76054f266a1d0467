"""Values limited to an interval, and tensors to a norm."""

from __future__ import annotations

from typing import Any

from ...operators import F
from . import slopes
from .handles import Handle
from .reductions import reduced_axes
from .tensor import operation, tensor


@operation("clip_by_average_norm")
def clip_by_average_norm(t: Any, clip_norm: Any) -> Any:
    """t scaled so that its norm divided by its size is at most `clip_norm`."""
    t = tensor(t)
    inverse = F.mul(slopes.rsqrt(F.sum(F.square(t))), F.sum(F.ones_like(t)))
    limit = tensor(clip_norm, t.dtype)
    return F.mul(F.mul(t, limit), slopes.minimum(inverse, F.div(1.0, limit)))


@operation("clip_by_value")
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any) -> Any:
    """t limited to an interval."""
    t = tensor(t)
    return slopes.maximum(slopes.minimum(t, tensor(clip_value_max, t.dtype)), tensor(clip_value_min, t.dtype))


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """t scaled so that its Euclidean norm is at most `clip_norm`; of `IndexedSlices` that of their values."""
    values = _clipped_by_norm(getattr(t, "values", t), clip_norm, axes, name=name)
    return t.with_values(values) if hasattr(t, "values") else values


@operation("clip_by_norm")
def _clipped_by_norm(t: Any, clip_norm: Any, axes: Any) -> Any:
    t = tensor(t)
    squares = F.sum(F.square(t), axis=tuple(range(t.ndim)) if axes is None else reduced_axes(axes, None), keepdims=True)
    limit = tensor(clip_norm, t.dtype)
    return F.div(F.mul(t, limit), slopes.maximum(slopes.norm(squares), limit))


def global_norm(t_list: Any, name: str | None = None) -> Any:
    """The Euclidean norm of all elements of several tensors; None among them are left out. Of `IndexedSlices` it takes the
    values, of which several may be for one place."""
    if isinstance(t_list, Handle) or not isinstance(t_list, (list, tuple)):
        raise TypeError("t_list should be a sequence")
    return _global_norm([getattr(t, "values", t) for t in t_list], name=name)


@operation("global_norm")
def _global_norm(t_list: Any) -> Any:
    total: Any = None
    for t in t_list:
        if t is not None:
            square = F.sum(F.square(t))
            total = square if total is None else F.add(total, square)
    return slopes.sqrt(total)


def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None) -> tuple[list[Any], Any]:
    """Tensors, or `IndexedSlices`, scaled so that the norm of all is at most `clip_norm`; and that norm before."""
    norm = global_norm(t_list) if use_norm is None else use_norm
    scale = _scale(norm, clip_norm)
    scaled = [None if t is None else _scaled(getattr(t, "values", t), scale, name=name) for t in t_list]
    return [t.with_values(s) if hasattr(t, "values") else s for t, s in zip(t_list, scaled, strict=True)], norm


@operation("mul", "Mul")
def _scaled(x: Any, scale: Any) -> Any:
    x = tensor(x)
    return F.mul(x, tensor(scale, x.dtype))


@operation("clip_scale", "Mul")
def _scale(norm: Any, clip_norm: Any) -> Any:
    """NaN for an infinite norm."""
    limit = tensor(clip_norm, norm.dtype)
    return F.add(F.mul(limit, slopes.minimum(F.div(1.0, norm), F.div(1.0, limit))), F.sub(norm, norm))
