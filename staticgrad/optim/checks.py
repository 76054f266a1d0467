"""Hyper-parameters that make no sense, in PyTorch's words."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..operators import Symbol


def at_least_zero(what: str, value: Any) -> None:
    """Raises ArgumentError: "Invalid learning rate: -1". A symbolic value is not known yet."""
    if not isinstance(value, Symbol) and not value >= 0.0:
        raise ArgumentError(f"Invalid {what}: {value}")


def above_zero(what: str, value: Any) -> None:
    """Raises ArgumentError unless it is positive."""
    if not isinstance(value, Symbol) and not value > 0.0:
        raise ArgumentError(f"Invalid {what}: {value}")


def below_one(what: str, value: Any) -> None:
    """Raises ArgumentError unless 0 <= value < 1."""
    if not isinstance(value, Symbol) and not 0.0 <= value < 1.0:
        raise ArgumentError(f"Invalid {what}: {value}")


def two_below_one(betas: tuple[Any, ...]) -> None:
    """Raises ArgumentError unless there are two of these numbers, each below one."""
    if len(betas) != 2:
        raise ArgumentError(f"betas are two numbers, got {betas}")
    for i, beta in enumerate(betas):
        below_one(f"beta parameter at index {i}", beta)
