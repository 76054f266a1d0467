"""Switches between TensorFlow's versions, and questions about the state of the library: this dialect is TensorFlow 1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import ArgumentError
from .graph import get_seed as get_seed
from .handles import Handle


def _accepted() -> None:
    """Accepted: it is so already."""


disable_eager_execution = disable_v2_behavior = disable_v2_tensorshape = disable_resource_variables = _accepted
disable_tensor_equality = disable_control_flow_v2 = _accepted


def _refused(name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> None:
        raise ArgumentError(
            f"{name}: this dialect is TensorFlow 1's graph mode",
            "for eager code use staticgrad itself, which is PyTorch's dialect",
        )

    call.__name__, call.__doc__ = name, "Refused: eager code is staticgrad's own dialect."
    return call


enable_eager_execution, enable_v2_behavior = _refused("enable_eager_execution"), _refused("enable_v2_behavior")


def enable_resource_variables() -> None:
    """Accepted."""


enable_control_flow_v2 = enable_resource_variables


def executing_eagerly() -> bool:
    return False


executing_eagerly_outside_functions = executing_eagerly


def resource_variables_enabled() -> bool:
    return False


def is_tensor(x: Any) -> bool:
    return isinstance(x, Handle)


@contextmanager
def init_scope() -> Iterator[None]:
    """Leave control dependencies."""
    from ... import static

    with static.control_dependencies(None):
        yield


@contextmanager
def container(container_name: str) -> Iterator[None]:
    """Accepted."""
    yield


@contextmanager
def colocate_with(op: Any, ignore_existing: bool = False) -> Iterator[None]:
    """Accepted: everything runs on the CPU."""
    yield


def dimension_value(dimension: Any) -> int | None:
    """The integer of a dimension; None for an unknown one."""
    found: int | None = getattr(dimension, "value", dimension)
    return found


def dimension_at_index(shape: Any, index: int) -> Any:
    return shape[index]


def no_regularizer(_: Any) -> None:
    """No regularization, for a scope inside of one that has some."""
