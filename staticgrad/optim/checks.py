"""Hyper-parameters that make no sense, in PyTorch's words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..base.types import is_number
from ..errors import ArgumentError
from ..operators import Symbol


def is_one_number(value: Any) -> bool:
    """Whether this is a real number, or a tensor, array or symbol of one."""
    return is_number(value) and all(d in (1, None) for d in getattr(value, "shape", ()))


LEARNING_RATE = "learning rate"


def _check(what: str, value: Any, holds: Callable[[Any], Any]) -> None:
    if what == LEARNING_RATE and is_number(value) and not is_one_number(value):
        raise ArgumentError("Tensor lr must be 1-element", f"got {value!r}")
    if not is_one_number(value):
        raise ArgumentError(f"Invalid {what}: {value!r}", "it has to be a number, or a tensor of one element")
    if not isinstance(value, Symbol) and not (math.isfinite(value) and holds(value)):
        raise ArgumentError(f"Invalid {what}: {value}")


def any_number(what: str, value: Any) -> None:
    """Raises ArgumentError unless it is a finite number. A symbolic value is not known yet, here and below."""
    _check(what, value, lambda x: True)


def flag(what: str, value: Any) -> None:
    """Raises ArgumentError unless it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"Invalid {what}: {value!r}", "it has to be True or False")


def at_least_zero(what: str, value: Any) -> None:
    """Raises ArgumentError: "Invalid learning rate: -1"."""
    _check(what, value, lambda x: x >= 0.0)


def above_zero(what: str, value: Any) -> None:
    """Raises ArgumentError unless it is positive."""
    _check(what, value, lambda x: x > 0.0)


def below_one(what: str, value: Any) -> None:
    """Raises ArgumentError unless 0 <= value < 1."""
    _check(what, value, lambda x: 0.0 <= x < 1.0)


def only_real(name: str, group: Mapping[str, Any]) -> None:
    """Raises ArgumentError for complex parameters of a group."""
    if any(p.dtype.kind == "c" for p in group.get("params", ())):
        raise ArgumentError(f"{name} does not support complex parameters", "optimize view_as_real(p)")


def check_switches(group: Mapping[str, Any]) -> None:
    """Raises ArgumentError for a flag that is none, and for what this library can't do.

    `foreach`, `fused` and `capturable` choose between implementations in PyTorch. Here a step has one, so they change nothing.
    """
    for name in ("maximize", "capturable", "differentiable"):
        flag(name, group.get(name, False))
    for name in ("foreach", "fused"):
        if group.get(name) is not None:
            flag(name, group[name])
    if group.get("foreach") and group.get("fused"):
        raise ArgumentError("`fused` and `foreach` cannot be `True` together.")
    if group.get("differentiable"):
        raise ArgumentError(
            "differentiable=True: steps are not recorded",
            "write the update with sg.grad(loss, params, create_graph=True): p = p - lr * g",
        )


def as_tuple(betas: Any) -> Any:
    """Several numbers as a tuple; anything else as it is, for `two_below_one` to refuse."""
    return tuple(betas) if isinstance(betas, Iterable) and getattr(betas, "shape", None) != () else betas


def two_below_one(betas: Any) -> None:
    """Raises ArgumentError unless there are two of these numbers, each below one."""
    if not isinstance(betas, tuple) or len(betas) != 2:
        raise ArgumentError(f"betas are two numbers, got {betas!r}")
    for i, beta in enumerate(betas):
        below_one(f"beta parameter at index {i}", beta)
