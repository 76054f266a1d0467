"""Other names of functions, and the small namespaces `tf.bitwise` and `tf.manip`."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...operators import F
from . import arrays, gathering, math
from .control import map_fn
from .nn import windows
from .tensor import operation, pair, tensor

QUANTIZED_DTYPES: frozenset[Any] = frozenset()


def vectorized_map(fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """`map_fn`, which is compiled to native loops."""
    return map_fn(fn, elems)


def arg_max(input: Any, dimension: Any, output_type: Any = np.int64, name: str | None = None) -> Any:
    return math.argmax(input, dimension, output_type=output_type, name=name or "ArgMax")


def arg_min(input: Any, dimension: Any, output_type: Any = np.int64, name: str | None = None) -> Any:
    return math.argmin(input, dimension, output_type=output_type, name=name or "ArgMin")


@operation("SelectV2")
def where_v2(condition: Any, x: Any = None, y: Any = None) -> Any:
    """x where the condition holds, else y, all broadcast together; the positions of true elements without x and y."""
    if x is None and y is None:
        return gathering.where_true(condition).symbol
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    x, y = pair(x, y, "SelectV2")
    return F.where(tensor(condition), x, y)


# namespaces -----------------------------------------------------------------------------------------------------------


def _bits(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        return function(*pair(x, y, name))

    return operation(name)(call)


def _invert(x: Any) -> Any:
    return F.bitwise_not(tensor(x))


bitwise = SimpleNamespace(
    bitwise_and=_bits("BitwiseAnd", F.bitwise_and), bitwise_or=_bits("BitwiseOr", F.bitwise_or),
    bitwise_xor=_bits("BitwiseXor", F.bitwise_xor), left_shift=_bits("LeftShift", F.bitwise_left_shift),
    right_shift=_bits("RightShift", F.bitwise_right_shift), invert=operation("Invert")(_invert),
)  # fmt: skip
"""`tf.bitwise`."""
manip = SimpleNamespace(
    batch_to_space_nd=windows.batch_to_space_nd, gather_nd=gathering.gather_nd, reshape=arrays.reshape,
    reverse=arrays.reverse, roll=gathering.roll, scatter_nd=gathering.scatter_nd,
    space_to_batch_nd=windows.space_to_batch_nd, tile=arrays.tile,
)  # fmt: skip
"""`tf.manip`."""
lin_space, reverse_v2 = arrays.linspace, arrays.reverse

PUBLIC = (
    "QUANTIZED_DTYPES", "arg_max", "arg_min", "bitwise", "lin_space", "manip", "reverse_v2", "vectorized_map", "where_v2",
)  # fmt: skip
"""Names at the top of the dialect."""
