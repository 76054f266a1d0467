"""The structure of the elements of a data set, and their types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ....base.types import TensorType, UnrankedType
from ....ops import pytree
from ..shapes import TensorShape

Element = Any
"""Arrays in a nest of tuples and dicts."""
Values = dict[Any, np.ndarray]
"""Of the tensors that a data set was made of, by their nodes: known when its iterator is initialized."""


def rule(value: Any) -> pytree.Container | None:
    """Tuples and dicts have components; a list is an array."""
    return None if isinstance(value, list) else pytree.ordered(value)


class Spec:
    """The structure of elements, and the dtype and shape of each component."""

    def __init__(self, structure: Any, kinds: Sequence[tuple[np.dtype, TensorShape]]):
        self.structure, self.kinds = structure, list(kinds)

    @staticmethod
    def of(element: Element) -> Spec:
        leaves, structure = pytree.flatten(element, rule)
        return Spec(structure, [(a.dtype, TensorShape(a.shape)) for a in map(np.asarray, leaves)])

    def each(self, change: Callable[[TensorShape], TensorShape]) -> Spec:
        return Spec(self.structure, [(dtype, change(shape)) for dtype, shape in self.kinds])

    def types(self) -> list[TensorType]:
        return [_type(dtype, shape) for dtype, shape in self.kinds]

    def nest(self, values: Iterable[Any]) -> Any:
        return pytree.unflatten(self.structure, values)


def _type(dtype: np.dtype, shape: TensorShape) -> TensorType:
    return UnrankedType(dtype) if shape.dims is None else TensorType(tuple(shape.as_list()), dtype)


def leaves_of(element: Element) -> list[Any]:
    return pytree.flatten(element, rule)[0]


def components_of(item: Any, structure: Any) -> tuple[list[Any], Any]:
    """The leaves of an element that Python gave, in which a list may stand for a tuple."""
    if structure is pytree.LEAF:
        return [item], structure
    return pytree.flatten(tuple(item) if isinstance(item, list) else item, rule)


def shapes_in(shapes: Any) -> list[Any]:
    """The shapes in a nest, where a list, a TensorShape, or a tuple of numbers is a shape."""
    if isinstance(shapes, dict):
        return [s for value in shapes.values() for s in shapes_in(value)]
    if isinstance(shapes, tuple) and not all(n is None or isinstance(n, (int, np.integer)) for n in shapes):
        return [s for value in shapes for s in shapes_in(value)]
    return [shapes]


def shapes_of(shapes: Any, spec: Spec) -> list[TensorShape]:
    found = [shapes] if spec.structure is pytree.LEAF else shapes_in(shapes)
    if len(found) != len(spec.kinds):
        raise ValueError(f"{len(spec.kinds)} shapes are needed, one per component, got {shapes!r}")
    return [TensorShape([None if d == -1 else d for d in s] if isinstance(s, (list, tuple)) else s) for s in found]
