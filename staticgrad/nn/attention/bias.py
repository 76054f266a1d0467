"""Causal masks by the corner that they begin in, for queries and keys of different numbers."""

from __future__ import annotations

import numpy as np

from ...eager.creation import tensor
from ...ops.operators import Tensor

__all__ = ["causal_lower_right", "causal_upper_left"]


def causal_upper_left(*size: int) -> Tensor:
    """A mask (queries, keys): query i looks at keys 0 to i.

    Examples:
        >>> sg.nn.attention.bias.causal_upper_left(2, 3)
        tensor([[ True, False, False],
                [ True,  True, False]])
    """
    queries, keys = size
    return tensor(np.tri(queries, keys, dtype=bool))


def causal_lower_right(*size: int) -> Tensor:
    """A mask (queries, keys): the last query looks at all keys, the one before it at all but the last.

    Examples:
        >>> sg.nn.attention.bias.causal_lower_right(2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
    """
    queries, keys = size
    return tensor(np.tri(queries, keys, keys - queries, dtype=bool))
