"""Gradients on their way to `.grad`: hooks, and the sum with a gradient that is there already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import messages
from .requests import Differentiable, Mode

T = TypeVar("T", bound=Differentiable)


def hooked(mode: Mode[T], hook: Callable[[T], Any], g: T) -> T:
    """A cotangent after one hook, which may replace it. Raises GradientError for a replacement of another shape or dtype, and
    for one that is no tensor."""
    return replacement(mode, hook, hook(g), g)


def replacement(mode: Mode[T], hook: Callable[..., Any], replaced: Any, g: T) -> T:
    """What a hook returned in the place of a cotangent, checked."""
    if replaced is None:
        return g
    tensor = mode.tensor(replaced)
    if tensor is None:
        raise messages.hook_of_no_tensor(replaced)
    if tensor.shape != g.shape:
        raise messages.hook_of_other_size(hook, g.shape, tensor.shape)
    if tensor.dtype != g.dtype:
        raise messages.hook_of_other_type(hook, g.dtype, tensor.dtype)
    return tensor


def check_returns_nothing(returned: Any) -> None:
    """Raise GradientError for what a hook of accumulated gradients returns."""
    if returned is not None:
        raise messages.hook_of_no_tensor(returned)


def adds_in_place(known_requires_grad: bool, create_graph: bool) -> bool:
    """Whether a gradient is added into the memory of the gradient that is there. A recorded one stays as its tape read it."""
    return not create_graph and not known_requires_grad
