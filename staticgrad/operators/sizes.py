"""`x.size`: a number as in NumPy, a method as in PyTorch."""

from __future__ import annotations

import math
from typing import Any, NoReturn, cast, overload

from ..errors import UnknownExtentError
from ..types import Shape, normalize_axis, shape_text


class _EveryTuple(type):
    """The metaclass of `Extents`: every tuple is one."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, tuple)


class Extents(tuple[Any, ...], metaclass=_EveryTuple):
    """`sg.Size`: a shape, as `x.size()` gives it. `x.shape` is a plain tuple, and an instance too."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __add__(self, other: tuple[Any, ...]) -> Extents:
        return Extents(tuple(self) + tuple(other))

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Extents(found) if isinstance(index, slice) else found


class Size(int):
    """A number of elements that gives the shape when it is called."""

    extents: Shape

    @overload
    def __call__(self, axis: None = None) -> Shape: ...
    @overload
    def __call__(self, axis: int) -> int: ...
    def __call__(self, axis: int | None = None) -> Any:
        return Extents(self.extents) if axis is None else self.extents[normalize_axis(axis, len(self.extents))]


class UnknownSize:
    """The same where extents are unknown: the shape has None for those; neither they nor the number can be computed with."""

    def __init__(self, extents: Shape):
        self.extents = extents

    def __call__(self, axis: int | None = None) -> Any:
        if axis is None:
            return Extents(self.extents)
        extent = self.extents[normalize_axis(axis, len(self.extents))]
        return self._unknown(f"extent {axis}") if extent is None else extent

    def _unknown(self, what: str = "the number of elements") -> NoReturn:
        raise UnknownExtentError(
            f"{what} of a tensor of shape {shape_text(self.extents)} is unknown until the graph runs",
            "write -1 in reshape, average with mean(), or give the placeholder known extents; x.shape has None there",
        )

    def __index__(self) -> int:
        self._unknown()

    __int__ = __index__
    __hash__ = object.__hash__

    def _refuse(self, other: Any) -> Any:
        self._unknown()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __repr__(self) -> str:
        return f"<size of {shape_text(self.extents)}>"


class SymbolicSize:
    """The same where extents are symbols of a trace. Operators compute with the number of elements, which is a symbol, too."""

    def __init__(self, extents: Shape, count: Any):
        self.extents, self.count = extents, count

    __call__ = Size.__call__

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self.count.unfollowed("NumPy computes with a number of elements")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.count, name)

    def __hash__(self) -> int:
        raise self.count.unfollowed("a number of elements is a key")


def _of_count(name: str) -> Any:
    return lambda self, *others: getattr(self.count, name)(*others)


for _name in dir(int):  # Python looks the names of operators up in the class
    if _name.startswith("__") and _name not in (*dir(object), *vars(SymbolicSize)):
        setattr(SymbolicSize, _name, _of_count(_name))
for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__", "__str__", "__format__"):
    setattr(SymbolicSize, _name, _of_count(_name))


def size_of(extents: Shape) -> Size:
    """`x.size` of a tensor of this shape."""
    if None in extents:
        return cast("Size", UnknownSize(extents))  # which refuses to be computed with
    count = 1
    for extent in extents:
        count *= extent
    if type(count) is not int:
        return cast("Size", SymbolicSize(extents, count))
    size = Size(count)
    size.extents = extents
    return size
