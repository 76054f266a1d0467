"""Effects: the writes of a function to Python's state, which each run performs in the order of the trace."""

from __future__ import annotations

import collections
import contextlib
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .containers import refill
from .guards import MISSING, has, order_of, slot
from .observer.python_types import IGNORED, origin_of
from .settings import settings_of

BLIND = frozenset((
    "append", "appendleft", "extend", "extendleft", "add", "update", "clear", "discard", "__setitem__", "__ior__", "__iadd__",
))  # fmt: skip
"""Methods whose effect does not depend on the contents."""
MOVING = frozenset((
    "pop", "popleft", "popitem", "insert", "remove", "sort", "reverse", "rotate", "setdefault", "move_to_end", "subtract",
    "intersection_update", "difference_update", "symmetric_difference_update",
    "__delitem__", "__iand__", "__isub__", "__ixor__", "__imul__",
))  # fmt: skip
"""Methods whose effect depends on the contents."""


class Former:
    """The container that is in a place when a run begins: an argument, or state which a run changes before it puts another
    container there."""

    __slots__ = ("place", "value")

    def __init__(self, place: Any):
        self.place = place
        self.value: Any = None

    def find(self, containers: Sequence[Any]) -> None:
        """containers: among the arguments of the call."""
        self.value = self.place.now(containers)


class Effect:
    """A write to `holder`. kind: "attribute", "item", "cell", "method" (named `key`), "contents" (of a container), "function"
    (which is `key`), "no attribute", "print", "count"."""

    __slots__ = ("args", "build", "done", "holder", "key", "kind", "kwargs")

    def __init__(self, kind: str, holder: Any, key: Any, args: Sequence[Any], kwargs: Mapping[str, Any] = {}):
        self.kind, self.holder, self.key, self.args, self.kwargs = kind, holder, key, args, kwargs
        self.done = kind == "print"
        """Whether the trace did it already, so that the first run does not repeat it."""
        self.build: Callable[[Any, Any], Any] | None = None
        """(tensors of the run, arguments) -> the values written, where each run makes new ones."""

    @property
    def values(self) -> tuple[Any, ...]:
        """The values written: those given by position, and those given by name."""
        return (*self.args, *self.kwargs.values())

    def again(self, number: Callable[[Any], Any], first: bool) -> Effect:
        """The same write for other extents; number: of an extent. first: for the call that was traced."""
        new = Effect(
            self.kind,
            self.holder,
            number(self.key),
            [*map(number, self.args)],
            {name: number(value) for name, value in self.kwargs.items()},
        )
        new.done, new.build = self.done and first, self.build
        return new

    def run(self, tensors: Any, given: Any) -> None:
        if self.done:
            self.done = False
            return
        args, kwargs = self.args, self.kwargs
        if self.build is not None:
            built = self.build(tensors, given)
            args, kwargs = built[: len(args)], dict(zip(kwargs, built[len(args) :], strict=True))
        kind, holder, key = self.kind, self.holder, self.key
        if type(holder) is Former:
            holder = holder.value
        if kind == "count":
            count(holder, key, args)
        elif kind == "attribute":
            put(holder, key, args[0])
        elif kind == "item":
            native(holder, "__setitem__")(key, args[0])
        elif kind == "cell":
            holder.cell_contents = args[0]
        elif kind == "method":
            native(holder, key)(*args, **kwargs)
        elif kind == "contents":
            refill(holder, args[0])
        elif kind == "function":
            key(*args, **kwargs)
        elif kind == "no attribute":
            (delattr if has(type(holder), "structure") else delete)(holder, key)
        else:
            print(*args, **kwargs)


def count(holder: Any, where: tuple[str, Any], args: Sequence[Any]) -> None:
    """Perform a counter update such as `holder.name += 1`."""
    kind, key = where
    operation, value = args
    if kind == "attribute":
        put(holder, key, operation(getattr(holder, key), value))
    elif kind == "cell":
        holder.cell_contents = operation(holder.cell_contents, value)
    else:
        holder[key] = operation(holder[key], value)


def native(holder: Any, name: str) -> Any:
    """The method of the built-in class. An override by the user is Python code, whose own effects are recorded, the call of
    this method among them; one of this library is not observed."""
    if isinstance(holder, (dict, list, set, bytearray, collections.deque)) and type(holder).__module__ != "builtins":
        for kind in order_of(type(holder)):
            found = vars(kind).get(name)
            if found is not None and not is_observed(found):
                return found.__get__(holder)
    return getattr(holder, name)


def is_observed(method: Any) -> bool:
    """Whether a method is Python code whose instructions are observed."""
    return isinstance(method, types.FunctionType) and origin_of(method.__code__.co_filename) is not IGNORED


def put(holder: Any, name: str, value: Any) -> None:
    """Set an attribute as the user's statement does. A module counts it only where staticgrad's code may read it."""
    kind = type(holder)
    if has(kind, "named_modules"):
        read = name in settings_of(kind) and kind._role(holder, name) is None
        (setattr if read else object.__setattr__)(holder, name, value)
    elif has(kind, "add_param_group") and (name in ("state", "param_groups") or has(kind, name)):
        setattr(holder, name, value)  # which an optimizer's own code reads, and counts
    else:
        slot(holder, "__setattr__")(name, value)


def delete(holder: Any, name: str) -> None:
    """Delete an attribute past the code of the object's class."""
    slot(holder, "__delattr__")(name)


def restore(kind: str, holder: Any, key: Any, value: Any) -> None:
    """Restore the value that a place had before the first write."""
    if kind == "copy":
        refill(holder, value)
    elif kind == "item":
        if isinstance(holder, types.MappingProxyType):
            return
        if value is MISSING:
            holder.pop(key, None)
        else:
            native(holder, "__setitem__")(key, value)
    elif kind == "attribute":
        if value is not MISSING:
            slot(holder, "__setattr__")(key, value)
        else:
            with contextlib.suppress(AttributeError):
                delete(holder, key)
    elif kind == "cell":
        if value is MISSING:
            del holder.cell_contents
        else:
            holder.cell_contents = value
    elif kind == "cache":
        holder.cache_clear()
    elif kind == "context" and value is not MISSING:
        holder.reset(value)
