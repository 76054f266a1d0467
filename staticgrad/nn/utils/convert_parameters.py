"""Parameters as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ...eager import no_grad
from ...errors import ArgumentError, ShapeError
from ...operators import F, Operators


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All elements, parameter after parameter, as one vector; recorded."""
    parts = [F.reshape(p, (-1,)) for p in parameters]
    return F.concatenate(parts, 0)


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Write the elements of a vector into parameters, in their memory. Raises ArgumentError unless it is a tensor, and
    ShapeError, before anything is written, for a vector that is too short."""
    if not isinstance(vec, Operators):
        raise ArgumentError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    places = list(parameters)
    sizes = [math.prod(p.shape) for p in places]
    if sum(sizes) > vec.shape[0]:
        raise ShapeError(f"vector_to_parameters: {sum(sizes)} elements are needed, the vector has {vec.shape[0]}")
    begin = 0
    with no_grad():
        for place, size in zip(places, sizes, strict=True):
            place.copy_(F.reshape(vec[begin : begin + size], place.shape))
            begin += size
