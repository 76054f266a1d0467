"""Guards: conditions on Python's state under which a trace is valid.

A `Read` is one access to one object: an attribute, an item, a variable, a length. A trace is valid as long as each of them
gives the same value. Together they form one generated expression, which every call evaluates: mostly `holder.name is value`.
Modules and optimizers count changes of their members and settings in `Structure`; these are compared when the count changed.
"""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from keyword import iskeyword
from operator import is_
from typing import Any, NamedTuple, TypeGuard, TypeVar, overload

import numpy as np

from ..base.dtypes import ANY_DTYPE
from ..eager.tensor import Tensor, all_attributes
from .containers import each, native_class, pairs, same, size
from .containers import key as plain_key

Instance = TypeVar("Instance")
MISSING: Any = type("MISSING", (), {"__repr__": lambda self: "MISSING", "__bool__": lambda self: False})()


class AccessKind(NamedTuple):
    """A kind of access to an object."""

    text: str
    """The expression that holds while nothing has changed: {h} the object, {k} the key, {v} the value; {n} is a name."""
    now: Callable[[Any, Any], Any]
    """(object, key) -> the value now, or MISSING."""
    cost: int


def _item(holder: Any, key: Any) -> Any:
    try:
        return dict.get(holder, key, MISSING) if isinstance(holder, dict) else native_class(holder).__getitem__(holder, key)
    except (IndexError, KeyError):
        return MISSING


def _method(holder: Any, name: str) -> Any:
    found = look_up(holder, name)
    return found.__func__ if type(found) is types.MethodType else MISSING


def _cell(cell: Any, _: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def contents(array: np.ndarray) -> Any:
    """The properties by which arrays are compared: shape, dtype and bytes."""
    return array.shape, array.dtype, array.tobytes() if not array.dtype.hasobject else tuple(map(plain_key, array.flat))


order_of = type.__dict__["__mro__"].__get__
"""The method resolution order of a class, whatever its metaclass says."""
body_of = type.__dict__["__dict__"].__get__
"""The namespace of a class, likewise."""


module_of = type.__dict__["__module__"].__get__
"""The name of the module of a class, likewise."""


def static(kind: type, name: str) -> Any:
    """The value of a name in the body of a class or of its bases, without calling descriptors; MISSING for none."""
    for base in order_of(kind):
        space = body_of(base)
        if name in space:
            return space[name]
    return MISSING


def has(kind: type, name: str) -> bool:
    """`hasattr` of a class without its metaclass."""
    return static(kind, name) is not MISSING


@overload
def is_a(x: Any, kinds: type[Instance]) -> TypeGuard[Instance]: ...
@overload
def is_a(x: Any, kinds: tuple[Any, ...]) -> TypeGuard[Any]: ...
def is_a(x: Any, kinds: Any) -> bool:
    """`isinstance` by the type alone: the built-in function also asks for `x.__class__`, which may be the user's code."""
    return issubclass(type(x), kinds)


def runs_code(found: Any) -> bool:
    """Whether a value in the body of a class is a descriptor that is read by Python code."""
    return is_a(found, property) or is_a(static(type(found), "__get__"), types.FunctionType)


def python_method(kind: type, name: str) -> bool:
    """Whether a class has a special method that is Python code."""
    return is_a(static(kind, name), types.FunctionType)


def asks_user(kind: type) -> bool:
    """Whether looking an attribute up may run code of the user's."""
    found = static(kind, "__getattr__")
    of_module = is_a(found, types.FunctionType) and found.__module__ == "staticgrad.nn.module"  # which finds members alone
    return (found is not MISSING and not of_module) or python_method(kind, "__getattribute__")


def slot(x: Any, name: str) -> Any:
    """A special method of `x` as the innermost class defines it that is written in C: it passes the user's code."""
    for base in order_of(type(x)):
        found = body_of(base).get(name)
        if type(found) is types.WrapperDescriptorType:
            return found.__get__(x) if x is not None else partial(found, x)  # a descriptor takes None for no object
    return MISSING


def namespace(x: Any) -> Any:
    """`x.__dict__` without running the user's code; None for an object without one. Tensors have all of their attributes in it,
    though those of derived classes show the user's."""
    if is_a(x, Tensor):
        return all_attributes(x)
    try:
        return None if runs_code(static(type(x), "__dict__")) else slot(x, "__getattribute__")("__dict__")
    except AttributeError:
        return None


def look_up(x: Any, name: str) -> Any:
    """The value of an attribute as far as no code of the user's is run for it; MISSING for none."""
    space = namespace(x) if is_a(x, types.ModuleType) or runs_code(static(type(x), name)) else None
    if space is not None:
        return space.get(name, MISSING)
    if is_a(x, type) and runs_code(found := static(x, name)):
        return found
    try:
        return slot(x, "__getattribute__")(name)
    except AttributeError:
        return MISSING


def own_value(x: Any, name: str) -> Any:
    """The value that an object itself has under a name, in a slot or in its namespace; MISSING for none."""
    found = static(type(x), name)
    if is_a(found, (types.MemberDescriptorType, types.GetSetDescriptorType)):
        return look_up(x, name)
    space = namespace(x)
    return MISSING if space is None else space.get(name, MISSING)


KINDS = {
    "item": AccessKind("{h}[{k}] is {v}", _item, 1),
    "lookup": AccessKind("get({h}, {k}, MISSING) is {v}", _item, 2),
    "attribute": AccessKind("{h}.{n} is {v}", look_up, 0),
    "method": AccessKind("{h}.{n}.__func__ is {v}", _method, 3),
    "cell": AccessKind("{h}.cell_contents is {v}", _cell, 1),
    "type": AccessKind("type({h}) is {v}", lambda holder, _: type(holder), 1),
    "length": AccessKind("len({h}) == {v}", lambda holder, _: size(holder), 1),
    "members": AccessKind("len({h}) == {v}.__len__() and all(map(is_, {h}, {v}))", lambda holder, _: tuple(each(holder)), 5),
    "pairs": AccessKind(
        "len({h}) * 2 == {v}.__len__() and all(map(is_, chain({h}.keys(), {h}.values()), {v}))",
        lambda holder, _: pairs(holder), 6,
    ),
    "names": AccessKind("{h}.keys() == {v}", lambda holder, _: frozenset(holder), 4),
    "contents": AccessKind("contents({h}) == {v}", lambda holder, _: contents(holder), 9),
    "values": AccessKind("contents({h}._data) == {v}", lambda holder, _: contents(holder._data), 9),
    "bytes": AccessKind("bytes({h}) == {v}", lambda holder, _: bytes(holder), 8),
    "static": AccessKind("static({h}, {k}) is {v}", static, 7),
    "call": AccessKind("{h}(*{k}) is {v}", lambda holder, args: holder(*args), 8),
    "thread": AccessKind("{h}() == {v}", lambda holder, _: holder(), 2),
    "context": AccessKind("{h}.get(*{k}) is {v}", lambda holder, args: holder.get(*args), 4),
    "type of attribute": AccessKind("type({h}.{n}) is {v}", lambda holder, name: type(look_up(holder, name)), 1),
    "type of item": AccessKind("type({h}[{k}]) is {v}", lambda holder, key: type(_item(holder, key)), 2),
    "type of cell": AccessKind("type({h}.cell_contents) is {v}", lambda cell, _: type(_cell(cell, None)), 2),
    "contains": AccessKind("({k} in {h}) is {v}", lambda holder, key: key in holder, 2),
}  # fmt: skip
GONE = {
    "item": "{k} not in {h}", "lookup": "{k} not in {h}", "attribute": "look_up({h}, {k}) is {v}",
    "cell": "cell({h}, None) is {v}", "method": "method({h}, {k}) is {v}",
    "type of attribute": "type(look_up({h}, {k})) is {v}",
}  # fmt: skip
"""The expressions for places that had no value, and for objects whose lookup of attributes runs the user's code."""
DERIVED = {
    "item": "item({h}, {k}) is {v}", "type of item": "type(item({h}, {k})) is {v}",
    "length": "size({h}) == {v}", "members": "size({h}) == {v}.__len__() and all(map(is_, each({h}), {v}))",
    "pairs": "size({h}) * 2 == {v}.__len__() and all(map(is_, pairs({h}), {v}))",
}  # fmt: skip
"""The expressions for containers of classes that may define these methods anew."""


class Read:
    """An access to `holder` that gave `value`."""

    __slots__ = ("holder", "key", "kind", "label", "value")

    def __init__(self, kind: str, holder: Any, key: Any, value: Any, label: str):
        self.kind, self.holder, self.key, self.value, self.label = kind, holder, key, value, label

    def now(self) -> Any:
        try:
            return KINDS[self.kind].now(self.holder, self.key)
        except Exception:
            return MISSING

    def difference(self) -> str | None:
        """The change since the trace, in words; None for none."""
        old, now = self.value, self.now()
        if now is old:
            return None
        if now is MISSING:
            return f"{self.label} is gone"
        if old is MISSING:
            return f"{self.label} is new"
        if self.kind == "members" and isinstance(now, tuple):
            return self._of_members(old, now)
        if self.kind == "pairs":
            n, m = len(old) // 2, len(now) // 2
            if not _all_same(old[:n], now[:m]):
                return f"{self.label} has other keys" if n == m else f"{self.label} has {m} members instead of {n}"
            for k, a, b in zip(old, old[n:], now[m:], strict=False):
                if not same(a, b):
                    return worded(f"{self.label}[{k!r}]", a, b)
            return None
        if self.kind in ("contents", "values") and old != now:
            return f"{self.label} has other values"
        if self.kind == "length":
            return None if old == now else f"{self.label} has {now} members instead of {old}"
        return None if same(old, now) else worded(self.label, old, now)

    def _of_members(self, old: tuple[Any, ...], now: tuple[Any, ...]) -> str | None:
        if len(now) != len(old):
            return f"{self.label} has {len(now)} members instead of {len(old)}"
        for i, (a, b) in enumerate(zip(old, now, strict=True)):
            if not same(a, b):
                return worded(f"{self.label}[{i}]", a, b)
        return None


def _module(read: Read) -> Any:
    """The module in whose namespace a read looked up a variable: Python has a fast path for `module.name`."""
    if read.kind != "item" or not isinstance(read.key, str) or not read.key.isidentifier() or iskeyword(read.key):
        return None
    if type(read.holder) is not dict or read.value is MISSING:
        return None
    module = sys.modules.get(dict.get(read.holder, "__name__", ""))
    return module if type(module) is types.ModuleType and vars(module) is read.holder else None


def _all_same(old: Sequence[Any], now: Sequence[Any]) -> bool:
    return len(old) == len(now) and all(map(same, old, now))


def worded(label: str, old: Any, now: Any) -> str:
    """A change of a value, in words."""
    if _plain(old) and _plain(now) and _short(old) != _short(now):
        return f"{label} is {_short(now)} instead of {_short(old)}"
    return f"{label} is another {type(now).__name__}"


def _plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, str, bytes, type(None), np.generic, *ANY_DTYPE, tuple, frozenset))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class TensorFact(tuple[Any, ...]):
    """What a structure says of a tensor: its id first, then what a trace could learn of it without its values."""

    __slots__ = ()


class Guards:
    """All guards of a trace, except those on its arguments and captured tensors.

    reads: compared at every call; counted: members of modules, compared when `Structure` has counted a change; structured:
    (label, module or optimizer); skipped: labels of their facts that a run itself changes; replaced: labels of tensors that a
    run replaces without having read their values, so that any tensor of the same type will do.
    """

    def __init__(
        self, reads: Sequence[Read], counted: Sequence[Read] = (), structured: Sequence[tuple[str, Any]] = (),
        skipped: frozenset[str] = frozenset(), replaced: frozenset[str] = frozenset(),
    ):  # fmt: skip
        self.reads = sorted(reads, key=lambda read: KINDS[read.kind].cost)
        self.counted = list(counted)
        self.structured, self.skipped, self.replaced = list(structured), skipped, replaced
        self.snapshot = dict(self._facts())
        self.space: dict[str, Any] = {
            "MISSING": MISSING, "is_": is_, "chain": itertools.chain, "contents": contents, "static": static,
            "look_up": look_up, "method": _method, "cell": _cell, "get": dict.get, "item": _item, "size": size, "each": each,
            "pairs": pairs,
        }  # fmt: skip
        self._codes: dict[str, types.CodeType] = {}
        self.cells: dict[str, types.CellType] = {}
        """Cells of free variables, by their names in the expression."""
        self.text = self._text()
        self._check: Callable[[], bool] = self.function(f" return {self.text}\n")

    def function(self, body: str, head: str = "", **variables: Any) -> Any:
        """A function whose body may contain the expression, `text`. Its free variables are the cells of the user's functions,
        and `variables`, by name; head: its parameters."""
        cells = {**self.cells, **{name: types.CellType(value) for name, value in variables.items()}}
        known = self._codes.get(body)
        if known is None:
            scope: dict[str, Any] = {}
            around = ", ".join(cells)
            inner = "".join(f"  {line}\n" for line in body.splitlines())
            exec(compile(f"def around({around}):\n def run({head}):\n{inner} return run\n", "<guards>", "exec"), scope)
            known = self._codes[body] = next(c for c in scope["around"].__code__.co_consts if isinstance(c, types.CodeType))
        return types.FunctionType(known, self.space, "run", None, tuple(cells[name] for name in known.co_freevars))

    def _text(self) -> str:
        """The expression; `space` gets the objects that it names."""
        names: dict[int, str] = {}
        terms: dict[str, None] = {}

        def named(value: Any, letter: str) -> str:
            name = names.get(id(value))
            if name is None:
                name = names[id(value)] = f"{letter}{len(names)}"
                self.space[name] = value
            return name

        for i, read in enumerate(self.reads):
            if read.kind == "cell" and read.value is not MISSING:
                self.cells[f"c{i}"] = read.holder
                self.space[f"v{i}"] = read.value
                terms[f"c{i} is v{i}"] = None
                continue
            text = KINDS[read.kind].text
            module = _module(read)
            if module is not None:
                self.space[f"v{i}"] = read.value
                terms[f"{named(module, 'm')}.{read.key} is v{i}"] = None
                continue
            if read.value is MISSING or ("{n}" in text and (not read.key.isidentifier() or iskeyword(read.key))):
                text = GONE.get(read.kind, text)
            elif "{n}" in text and asks_user(type(read.holder)):
                found = namespace(read.holder)
                own = found is not None and read.key in found and not python_method(type(read.holder), "__getattribute__")
                text = f"{{k}} in {{h}}.__dict__ and {text}" if own else GONE[read.kind]
            elif module_of(type(read.holder)) not in ("builtins", "collections"):
                text = DERIVED.get(read.kind, text)
            holder = named(read.holder, "h")
            self.space[f"v{i}"] = read.value
            term = text.format(
                h=holder, k=named(read.key, "k") if "{k}" in text else "", v=f"v{i}", n=read.key if "{n}" in text else ""
            )
            terms[term] = None
        return " and ".join(terms) if terms else "True"

    def freeze(self) -> None:
        """Take the present facts of modules and optimizers: the trace itself made the optimizers' slots."""
        self.snapshot = dict(self._facts())

    def _facts(self) -> Iterator[tuple[str, Any]]:
        for label, value in self.structured:
            for path, fact in value.structure():
                full = f"{label}.{path}" if path else label
                if full not in self.skipped:
                    yield full, fact[1:] if full in self.replaced and isinstance(fact, TensorFact) else fact

    def current(self) -> bool:
        """Whether every read gives the same object. Other objects of equal value are accepted and remembered."""
        try:
            if self._check():
                return True
        except Exception:  # an object that the expression reads is gone
            pass
        for read in self.reads:
            if read.difference() is not None:
                return False
        for i, read in enumerate(self.reads):
            read.value = self.space[f"v{i}"] = read.now()
        return True

    def holds(self) -> bool:
        """Whether the guards hold, those on modules and optimizers included."""
        if not self.current() or any(read.difference() is not None for read in self.counted):
            return False
        return dict(self._facts()) == self.snapshot

    def changed(self) -> Read | None:
        """The first read that gives another value."""
        return next((read for read in (*self.reads, *self.counted) if read.difference() is not None), None)

    def difference(self) -> str | None:
        """The first change since the trace, in words; None for none."""
        for read in (*self.reads, *self.counted):
            changed = read.difference()
            if changed is not None:
                return changed
        now = dict(self._facts())
        for label, fact in now.items():
            if label not in self.snapshot:
                return f"{label} is new"
            if self.snapshot[label] != fact:
                return worded(label, self.snapshot[label], fact)
        return next((f"{label} is gone" for label in self.snapshot if label not in now), None)
