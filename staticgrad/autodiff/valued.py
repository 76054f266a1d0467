"""Tensors under `grad` and `jvp`: each stands for one tensor of the surroundings, and has its value."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import TransformError
from ..ir import View
from ..operators import Application, F, Level, Lifted, apply

VALUES = ("item", "__bool__", "__float__", "__int__", "__index__", "tolist", "__format__", "__contains__")
"""Methods by which Python reads a value: they are those of the surroundings' tensor."""


class Valued(Lifted):
    """A tensor with the value of one of the surroundings.

    Values don't change: an in-place operation gives the tensor another one. Views follow as in eager mode: a change of a view
    changes the tensor that it is of, and all views of a tensor that was changed are read again.
    """

    __slots__ = ("origin", "views")

    origin: tuple[Valued, Application] | None
    """For a view: the tensor that it is of, and the op that made it."""
    views: list[weakref.ref[Valued]]

    def __init__(self, level: Level, value: Any):
        super().__init__(level, value)
        self.origin = None
        self.views = []

    def _take(self, value: Any) -> None:
        """Get another value, and all that belongs to it."""
        raise NotImplementedError

    def view_of(self, node: Application, operands: Sequence[Any]) -> None:
        """Note, of the result of an op, whether it is a view of an operand."""
        if isinstance(node.op.emit, View) and isinstance(operands[0], Valued) and operands[0].level is self.level:
            base = operands[0]
            self.origin = base, node
            base.views = [view for view in base.views if view() is not None]
            base.views.append(weakref.ref(self))

    def assign(self, value: Any, name: str) -> None:
        if self.origin is None:
            self._change(value)
            return
        base, node = self.origin
        rule = node.op.vjp_for(0)
        assert rule is not None
        if node.type.size > node.types[0].size:
            raise TransformError(
                f"{name}: {self.describe()} has elements that share memory: more than one of its elements refers to a single "
                "memory location",
                "change a clone()",
            )
        places = F.ne(rule(F.ones_like(self.value), node, self.value, base.value), 0)
        base.assign(F.where(places, rule(value, node, self, base), base), name)

    def _change(self, value: Any) -> None:
        self._take(value)
        for reference in self.views:
            view = reference()
            if view is not None:
                assert view.origin is not None
                node = view.origin[1]
                view._change(apply(node.op, self, **node.attrs))


def _delegated(name: str) -> Callable[..., Any]:
    def method(self: Valued, *args: Any) -> Any:
        return getattr(self.value, name)(*args)

    method.__name__ = name
    return method


for _name in VALUES:
    setattr(Valued, _name, _delegated(_name))
