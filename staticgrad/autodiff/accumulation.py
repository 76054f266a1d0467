"""Gradients on their way to `.grad`: hooks, and the sum with a gradient that is there already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import messages
from .requests import Differentiable, Mode

T = TypeVar("T", bound=Differentiable)


def hooked(mode: Mode[T], hook: Callable[[T], Any], g: T) -> T:
    """A cotangent after one hook, which may replace it. Raises GradientError for a replacement of another shape."""
    replaced = hook(g)
    if replaced is None:
        return g
    tensor = mode.tensor(replaced)
    if tensor is None or tensor.shape != g.shape:
        raise messages.wrong_hook(g.shape, replaced)
    return tensor if tensor.dtype == g.dtype else mode.cast(tensor, g.dtype)


def adds_in_place(known_requires_grad: bool, create_graph: bool) -> bool:
    """Whether a gradient is added into the memory of the gradient that is there. A recorded one stays as its tape read it."""
    return not create_graph and not known_requires_grad
