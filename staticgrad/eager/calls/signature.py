"""The signature of a call: equal for two calls only if one route or plan serves both.

Every table of eager calls is keyed by signatures, and `WAYS` says how each kind of value is part of one. Values that Python
calls equal are told apart where operations tell them apart: 1, 1.0 and True, 0.0 and -0.0. NaN is equal to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from types import EllipsisType, NoneType
from typing import Any

from ...base.dtypes import CLASSES
from ...ir import OpDef
from ...ops.operators import Size
from ..tensor import PublicTensor, Tensor

Signature = list[Any]
"""Of each value its class and what stands for it there, and the words of named ones."""

ITSELF = frozenset({
    int, bool, str, NoneType, EllipsisType, type, type(PublicTensor), OpDef, *CLASSES,
})  # fmt: skip
"""Classes of values that stand for themselves."""
INTEGERS = frozenset({int})
SEQUENCES = frozenset({tuple, list, Size})
ENDS = frozenset({int, NoneType})
"""Classes of the ends of slices."""


def join(values: Iterable[Any], key: Signature, tensors: list[Tensor] | None = None) -> bool:
    """Add values to a signature, with the shapes and dtypes of tensors, which are collected. False if one is no part of any:
    without `tensors` no tensor is, for it would be kept alive."""
    for a in values:
        kind = a.__class__
        if kind is PublicTensor:
            if tensors is None:
                return False
            data = a._data
            key.append(data.shape)
            key.append(data.dtype)
            tensors.append(a)
            continue
        key.append(kind)
        if kind in ITSELF:
            key.append(a)
        elif kind is float:
            key.append(a if a and a == a else repr(a))
        elif kind in SEQUENCES:
            if kind is tuple and INTEGERS.issuperset(map(type, a)):
                key.append(a)
                continue
            key.append(len(a))
            if not join(a, key, tensors):
                return False
        elif kind not in WAYS or not WAYS[kind](a, key):
            return False
    return True


def _join_slice(value: slice, key: Signature) -> bool:
    ends = value.start, value.stop, value.step
    key.append(ends)
    return ENDS.issuperset([end.__class__ for end in ends])


WAYS: dict[type, Callable[[Any, Signature], bool]] = {slice: _join_slice}
"""How values of the other classes follow their class in a signature; whether they do."""


def token(value: Any) -> Hashable:
    """One value as a part of a signature. Raises TypeError where it is none."""
    key: Signature = []
    if not join((value,), key):
        raise TypeError(f"{value!r} is no part of a signature")
    return tuple(key)


def attributes(op: OpDef, attrs: Mapping[str, Any]) -> Iterable[Hashable]:
    """The attributes of an op as parts of a signature. A record states of which class each is, so that those that are no
    numbers stand for themselves."""
    return [token(a) if a.__class__ is float else a for a in attrs.values()] if op.numeric else attrs.values()
