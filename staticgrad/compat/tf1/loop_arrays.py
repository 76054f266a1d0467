"""Arrays among the variables of a loop: tensors stand for them, and dynamic ones get the size that the loop needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .tensor_array import Counted, TensorArray, counted, grown


def mapped_arrays(change: Callable[..., Any], value: Any, *others: Any) -> Any:
    """A nest with arrays changed; change(array, *what others have in its place)."""
    if isinstance(value, TensorArray):
        return change(value, *others)
    if isinstance(value, (list, tuple)):
        items = [mapped_arrays(change, *each) for each in zip(value, *others, strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _grows(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_grows(item) for item in value)
    return isinstance(value, TensorArray) and value.dynamic_size and not isinstance(value, Counted)


def large_enough(given: list[Any], loop: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """The loop variables with dynamic arrays of the size that the loop writes. loop: of variables, their last values."""
    if not _grows(given):
        return given
    last = loop(mapped_arrays(lambda array: counted(array) if _grows(array) else array, given))
    return mapped_arrays(lambda array, after: grown(array, after._size) if _grows(array) else array, given, last)  # type: ignore[no-any-return]


def buffers(value: Any) -> Any:
    """A nest with the tensors of its arrays in their places."""
    return mapped_arrays(lambda array: array.carried(), value)


def arrays(value: Any, like: Any) -> Any:
    """A nest with arrays over the tensors that stand where `like` has arrays."""
    if isinstance(like, TensorArray):
        return like.over(value)
    if isinstance(like, (list, tuple)) and isinstance(value, (list, tuple)):
        items = [arrays(item, other) for item, other in zip(value, like, strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def on_buffers(fn: Callable[..., Any], like: list[Any]) -> Callable[..., Any]:
    return lambda *args: buffers(fn(*arrays(list(args), like)))


def with_elements(body: Callable[..., Any], given: list[Any]) -> list[Any]:
    """The loop variables, with arrays whose elements have a shape: that of the body's first write where there is none yet."""

    def blank(array: TensorArray) -> bool:
        return not isinstance(array, Counted) and array.element_shape.dims is None

    found = []
    mapped_arrays(lambda array: found.append(blank(array)), given)
    if not any(found):
        return given
    written = body(*given)
    after = list(written) if isinstance(written, (list, tuple)) and len(written) == len(given) else [written]
    return mapped_arrays(lambda array, other: array.empty_like(other) if blank(array) else array, given, after)  # type: ignore[no-any-return]
