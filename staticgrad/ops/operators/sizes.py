"""`x.size`: a number as in NumPy, a method as in PyTorch."""

from __future__ import annotations

import math
from typing import Any, NoReturn, cast, overload

from ...base.types import Shape, normalize_axis, shape_text
from ...errors import UnknownExtentError

item = tuple.__getitem__


class Size(tuple[Any, ...]):
    """The shape of a tensor, as PyTorch's `torch.Size`: a tuple that knows the number of elements and is printed as PyTorch
    prints it. Slices and sums of it are sizes, too.

    Examples:
        >>> shape = sg.zeros(2, 3).shape
        >>> shape, shape.numel(), shape == (2, 3)
        (torch.Size([2, 3]), 6, True)
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements. Raises UnknownExtentError where an extent is unknown."""
        return math.prod(self) if None not in self else int(count_of(self))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __getitem__(self, index: Any) -> Any:
        found = item(self, index)
        return Size(found) if index.__class__ is slice else found

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


Size.__module__ = "staticgrad"


class Count(int):
    """A number of elements that gives the shape when it is called."""

    extents: Shape

    @overload
    def __call__(self, dim: None = None) -> Size: ...
    @overload
    def __call__(self, dim: int) -> int: ...
    def __call__(self, dim: int | None = None) -> Any:
        return Size(self.extents) if dim is None else self.extents[normalize_axis(dim, len(self.extents))]


class UnknownCount:
    """The same where extents are unknown: the shape has None for those; neither they nor the number can be computed with."""

    def __init__(self, extents: Shape):
        self.extents = extents

    def __call__(self, dim: int | None = None) -> Any:
        if dim is None:
            return Size(self.extents)
        extent = self.extents[normalize_axis(dim, len(self.extents))]
        return self._unknown(f"extent {dim}") if extent is None else extent

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


class SymbolicCount:
    """The same where extents are symbols of a trace. Operators compute with the number of elements, which is a symbol, too."""

    def __init__(self, extents: Shape, count: Any):
        self.extents, self.count = extents, count

    __call__ = Count.__call__

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self.count.unfollowed("NumPy computes with a number of elements")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"a number of elements has no {name}")
        return getattr(self.count, name)

    def __hash__(self) -> int:
        raise self.count.unfollowed("a number of elements is a key")


def _of_count(name: str) -> Any:
    return lambda self, *others: getattr(self.count, name)(*others)


for _name in dir(int):  # Python looks the names of operators up in the class
    if _name.startswith("__") and _name not in (*dir(object), *vars(SymbolicCount)):
        setattr(SymbolicCount, _name, _of_count(_name))
for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__", "__str__", "__format__"):
    setattr(SymbolicCount, _name, _of_count(_name))


def count_of(extents: Shape) -> Count:
    """`x.size` of a tensor of this shape."""
    if None in extents:
        return cast("Count", UnknownCount(extents))  # which refuses to be computed with
    count = 1
    for extent in extents:
        count *= extent
    if type(count) is not int:
        return cast("Count", SymbolicCount(extents, count))
    number = Count(count)
    number.extents = extents
    return number
