"""Tensors under transforms whose in-place changes are new values."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import TransformError
from ..ir import View
from ..operators import Application, F, Level, Lifted, apply
from ..ops.communication import communicate

PRUNE = frozenset(2**n for n in range(4, 40))
"""Lengths of the list of views at which dead references are dropped."""


def perform(node: Application, operands: Sequence[Any]) -> Any:
    """The result of an op on what stands for its operands. An exchange comes after those before it in a graph."""
    return (communicate if node.op.exchanges else apply)(node.op, *operands, **node.attrs)


class Changeable(Lifted):
    """A tensor that an in-place operation gives another value.

    Views follow as in eager mode: a change of a view changes the tensor that it is of, and all views of a tensor that was
    changed are read again. Arguments of the function are not changed, because that would have to change the caller's tensor.
    """

    __slots__ = ("given", "origin", "views")

    given: bool
    """It is an argument of the function."""
    origin: tuple[Changeable, Application] | None
    """For a view: the tensor that it is of, and the op that made it."""
    views: list[weakref.ref[Changeable]]

    def __init__(self, level: Level, value: Any, *, given: bool = False):
        super().__init__(level, value)
        self.given, self.origin, self.views = given, None, []

    def _take(self, value: Any) -> None:
        """Get another value, and all that belongs to it."""
        raise NotImplementedError

    def view_of(self, node: Application, operands: Sequence[Any]) -> None:
        """Note, of the result of an op, whether it is a view of an operand."""
        if not node.op.aliases:
            return
        base = operands[0]
        if isinstance(base, Changeable) and base.level is self.level:
            self.origin = base, node
            if len(base.views) in PRUNE:
                base.views = [view for view in base.views if view() is not None]
            base.views.append(weakref.ref(self))

    def assign(self, value: Any, name: str) -> None:
        if self.given:
            raise TransformError(
                f"{name}: {self.describe()} is an argument of the function: a change would be one of the caller's tensor",
                f"change a clone(): y = x.clone(); y.{name}(...)",
            )
        if self.origin is None:
            self._change(value)
            return
        base, node = self.origin
        if node.op.written is not None:
            base.assign(node.op.written(base, value), name)
            return
        rule = node.op.vjp_for(0)
        assert rule is not None
        if isinstance(node.op.emit, View) and node.op.emit.overlaps(node, node.types[0].shape):
            raise TransformError(
                f"{name}: more than one element of the written-to tensor refers to a single memory location: {self.describe()}",
                "change a clone()",
            )
        places = F.ne(rule(F.ones_like(self), node, self, base), 0)
        base.assign(F.where(places, rule(value, node, self, base), base), name)

    def _change(self, value: Any) -> None:
        self._take(value)
        for reference in self.views:
            view = reference()
            if view is not None:
                assert view.origin is not None
                node = view.origin[1]
                view._change(apply(node.op, self, **node.attrs))


class Valued(Changeable):
    """A tensor under `grad` or `jvp`: it has the value of one tensor of the surroundings, which Python may read."""

    __slots__ = ()


VALUES = ("item", "__bool__", "__float__", "__int__", "__index__", "tolist", "__format__", "__contains__")


def _delegated(name: str) -> Callable[..., Any]:
    def method(self: Valued, *args: Any) -> Any:
        return getattr(self.value, name)(*args)

    method.__name__ = name
    return method


for _name in VALUES:
    setattr(Valued, _name, _delegated(_name))
