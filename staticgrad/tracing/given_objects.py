"""Objects among the arguments of a function of which each call may bring another one: a batch, a closure, a partial.

An object is part of a key by its identity. Once a function has been traced for two objects of one *form* (a class; the code of
a function), objects of this form are taken apart: what traces read of them are arguments in their turn, and the trace gets a
stand-in of the same form. What no trace reads is no part of the key. Attributes that a function writes, runs write to the
object of their call, which they also return or keep. A function that needs the object itself, because it tells its identity or
changes its `__dict__`, has that form taken by identity again.
"""

from __future__ import annotations

import collections
import enum
import functools
import types
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .containers import ATOMS, ByIdentity, native_class
from .containers import key as plain_key
from .guards import MISSING, Read, namespace, static
from .numbers import VALUES
from .observer.access_log import AccessLog
from .observer.python_types import IGNORED, is_heap_type, origin_of_class
from .outputs import container, is_record
from .segments.runs import Again

NAMED = ("attribute", "item", "lookup", "method", "contains", "type of attribute", "type of item")
"""Kinds of reads of one attribute, from the object or its `__dict__`."""


class ObjectsRead(Again):
    """A trace read more of its stand-ins than the key has. The next one has it."""


class ObjectsRefused(Again):
    """A trace needs its objects of some forms themselves. The next one has them."""

    def __init__(self, forms: Collection[Hashable]):
        self.forms = forms


class Apart(NamedTuple):
    """An object that is taken apart: its form, the part of a key that it is, and its members by name."""

    form: Hashable
    key: Hashable
    names: list[str]
    members: Sequence[Any]


def form_of(x: Any) -> Hashable:
    """What is the same for objects that can take each other's place in a trace; None for one that is taken by identity."""
    kind: Any = type(x)
    if kind is types.FunctionType:
        plain = not x.__dict__ and not x.__kwdefaults__
        return (x.__code__, id(x.__globals__)) if plain else None  # guards on globals keep these alive
    if kind is types.MethodType:
        return kind, ByIdentity(x.__func__)
    if kind is functools.partial:
        return None if x.__dict__ else (kind, len(x.args), tuple(x.keywords))
    if kind is types.SimpleNamespace:
        return kind
    own = is_heap_type(kind) and kind.__new__ is object.__new__ and origin_of_class(kind) is not IGNORED
    if (
        not (own or hasattr(kind, "parts_of_trace"))
        or hasattr(kind, "structure")
        or hasattr(kind, "__del__")
        or issubclass(kind, enum.Enum)
    ):
        return None
    return kind if kind.__getattribute__ is object.__getattribute__ else None


class GivenObjects:
    """The forms of one function's arguments that are taken apart."""

    def __init__(self) -> None:
        self.fields: dict[Hashable, set[str]] = {}
        """By form, the attributes that traces read."""
        self.traced: dict[Hashable, dict[Hashable, Any]] = {}
        """The objects that were traced, by form and key, of forms that are not taken apart."""
        self.refused: set[Hashable] = set()

    def varied(self, others: Iterable[tuple[int, Any]], reads: Callable[[], Iterator[Read]]) -> bool:
        """Note the objects of a call that is to be traced; whether there are more forms that are taken apart now. reads: those
        of earlier traces."""
        found = False
        for _, x in others:
            form = form_of(x)
            if form is None or form in self.refused or form in self.fields:
                continue
            key = plain_key(x)
            traced = self.traced.setdefault(form, {})
            traced[key] = x
            if len(traced) > (1 if _has_identity(key) else VALUES):
                holders = {id(part) for other in traced.values() for part in (other, namespace(other))}
                self.fields[form] = {*getattr(form, "parts_of_trace", ())} or names_read(reads(), holders)
                del self.traced[form]  # they need not live longer
                found = True
        return found

    def forms_in(self, value: Any, reads: Sequence[Read]) -> dict[Hashable, set[str]]:
        """By form of the objects in a value that could be taken apart and are not yet, the attributes that were read."""
        found: dict[Hashable, set[str]] = {}
        seen: set[int] = set()
        stack = [value]
        while stack:
            x = stack.pop()
            if id(x) in seen or isinstance(x, ATOMS):
                continue
            seen.add(id(x))
            if issubclass(type(x), (tuple, list, dict, collections.deque)):
                stack += native_class(x).values(x) if issubclass(type(x), dict) else x
                continue
            form = form_of(x)
            if form is None or form in self.refused:
                continue
            if form not in self.fields:
                found.setdefault(form, set()).update(names_read(reads, {id(x), id(namespace(x))}))
            stack += apart(x, form, self.fields.get(form, found.get(form, ()))).members
        return found

    def form(self, x: Any) -> Hashable:
        """The form of an object that is taken apart, or None."""
        if not self.fields:
            return None
        form = form_of(x)
        return form if form in self.fields else None

    def refuse(self, forms: Iterable[Hashable]) -> None:
        """Take objects of these forms by identity from now on."""
        for form in forms:
            self.fields.pop(form, None)
            self.refused.add(form)


def _has_identity(key: Hashable) -> bool:
    """Whether a key is that of one object, or has parts that are."""
    return isinstance(key, ByIdentity) or (isinstance(key, tuple) and any(map(_has_identity, key)))


def names_read(reads: Iterable[Read], holders: Collection[int]) -> set[str]:
    return {read.key for read in reads if read.kind in NAMED and id(read.holder) in holders and type(read.key) is str}


def apart(x: Any, form: Hashable, fields: Collection[str]) -> Apart:
    """An object of a form, taken apart. fields: the attributes that are read of it."""
    kind = type(x)
    if kind is types.FunctionType:
        cells, defaults = [_content(cell) for cell in x.__closure__ or ()], x.__defaults__ or ()
        names = [*x.__code__.co_freevars, *[f"default {i}" for i in range(len(defaults))]]
        return Apart(form, (form, len(defaults)), names, [*cells, *defaults])
    if kind is types.MethodType:
        return Apart(form, form, ["__self__"], [x.__self__])
    if kind is functools.partial:
        names = ["func", *[f"args[{i}]" for i in range(len(x.args))], *x.keywords]
        return Apart(form, form, names, [x.func, *x.args, *x.keywords.values()])
    found = {name: value for name in sorted(fields) if (value := _own(x, name)) is not MISSING}
    return Apart(form, (form, tuple(found)), [*found], [*found.values()])


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _own(x: Any, name: str) -> Any:
    """An attribute that the object has itself, read without code of the user's."""
    space = namespace(x)
    if space is not None and name in space:
        return space[name]
    found = static(type(x), name)
    if isinstance(found, types.MemberDescriptorType):
        try:
            return found.__get__(x)
        except AttributeError:
            return MISSING
    return MISSING


def blank_like(x: Any) -> Any:
    """What is going to be a stand-in of an object; None for those that are made of their members."""
    kind = type(x)
    if kind is types.FunctionType:
        cells = tuple([types.CellType() for _ in x.__closure__ or ()])
        made: Any = types.FunctionType(x.__code__, x.__globals__, x.__name__, x.__defaults__, cells)
        made.__qualname__, made.__module__ = x.__qualname__, x.__module__
        return made
    if kind in (types.MethodType, functools.partial):
        return None
    made = types.SimpleNamespace() if kind is types.SimpleNamespace else object.__new__(kind)
    if (space := namespace(x)) is not None:
        namespace(made).update(space)
    for base in kind.__mro__:
        for slot in vars(base).values():
            if isinstance(slot, types.MemberDescriptorType):
                try:
                    slot.__set__(made, slot.__get__(x))
                except AttributeError:
                    continue
    return made


def filled(x: Any, made: Any, names: Sequence[str], members: Sequence[Any]) -> Any:
    """The stand-in with these members. made: see `blank_like`."""
    kind: Any = type(x)
    if kind is types.FunctionType:
        cells = made.__closure__ or ()
        for cell, value in zip(cells, members, strict=False):
            if value is not MISSING:
                cell.cell_contents = value
        made.__defaults__ = tuple(members[len(cells) :]) or None
        return made
    if kind is types.MethodType:
        return types.MethodType(x.__func__, members[0])
    if kind is functools.partial:
        first, fn = 1 + len(x.args), members[0]
        return functools.partial(fn, *members[1:first], **dict(zip(x.keywords, members[first:], strict=True)))
    for name, value in zip(names, members, strict=True):
        if name in (namespace(made) or ()):
            namespace(made)[name] = value
        else:
            slot: Any = static(kind, name)
            slot.__set__(made, value)
    return made


class StandIns:
    """The stand-ins of one trace."""

    def __init__(self, given: GivenObjects):
        self.given = given
        self.made: list[tuple[Any, Hashable, str]] = []
        """(stand-in, form, label)"""

    def _parts(self) -> Iterator[tuple[Any, Hashable]]:
        """The stand-ins, their cells and namespaces."""
        for made, form, _ in self.made:
            yield made, form
            if isinstance(made, types.FunctionType):
                yield from ((cell, form) for cell in made.__closure__ or ())
            elif isinstance(form, type) and (space := namespace(made)) is not None:
                yield space, form

    def enter(self, log: AccessLog) -> None:
        """Let the log name the stand-ins, and leave them out of the guards."""
        for made, _, label in self.made:
            log.see(made, label)
        for part, _ in self._parts():
            log.stand_ins[id(part)] = part

    def check(self, log: AccessLog, result: Any) -> None:
        """After a trace. Raises ObjectsRefused where it needs a stand-in's object itself: where it told its identity, changed
        it otherwise than by attributes, or put it into what runs don't make anew; ObjectsRead where it read attributes that are
        no part of the key."""
        known = {id(part): form for part, form in self._parts()}
        whole = {id(made) for made, _, _ in self.made if id(made) in log.formers}
        kept = [result, *(x for effect in log.effects for x in effect.values)]
        ids = {*map(id, held(kept, whole))} - (whole & {*map(id, made_anew(kept, whole))})
        ids |= log.identities | {id(effect.holder) for effect in log.effects} - whole
        forms = {form for part, form in known.items() if part in ids}
        reads = [*log.reads.values()]
        forms.update(self._reached(reads, known))
        before = {form: len(fields) for form, fields in self.given.fields.items()}
        for read in reads:
            form = known.get(id(read.holder))
            if not isinstance(form, type) or read.kind == "type":
                continue
            if read.kind not in NAMED or type(read.key) is not str:
                forms.add(form)  # all attributes, by their number and order
                continue
            self.given.fields[form].add(read.key)
            _, former = log.before.get(("attribute", id(read.holder), read.key), (None, read.holder))
            own = _own(read.holder, read.key) if former is read.holder else former
            if read.kind == "method" or (read.holder.__class__ is form and own is MISSING):
                log.read("static", form, read.key, static(form, read.key), f"{form.__name__}.{read.key}")
        if forms:
            raise ObjectsRefused(forms)
        if before != {form: len(fields) for form, fields in self.given.fields.items()}:
            raise ObjectsRead

    def _reached(self, reads: Iterable[Read], known: Mapping[int, Hashable]) -> Iterator[Hashable]:
        """The forms of objects that the trace also found elsewhere: code may ask whether they are those that it was given."""
        forms = {form for _, form, _ in self.made}
        for read in reads:
            for x in (*_each(read.value), *_each(read.key)):
                if not isinstance(x, ATOMS) and id(x) not in known and (form := form_of(x)) in forms:
                    yield form
            yield from (known[id(x)] for x in _each(read.key) if id(x) in known)  # it was looked up


def _each(value: Any) -> Sequence[Any]:
    return value if type(value) is tuple else (value,)


def made_anew(values: Any, ends: Collection[int]) -> Iterator[Any]:
    """The values, and what they hold in containers and records, which each run makes anew. ends: ids of those that are not
    looked into."""
    seen: set[int] = set()
    stack = [values]
    while stack:
        x = stack.pop()
        if id(x) not in seen and not isinstance(x, ATOMS):
            seen.add(id(x))
            yield x
            if id(x) not in ends:
                found = container(x)
                stack += found.items if found is not None else vars(x).values() if is_record(x) else ()


def held(values: Any, ends: Collection[int]) -> Iterator[Any]:
    """The values, and all that they hold. ends: see `made_anew`."""
    seen: set[int] = set()
    stack = [values]
    while stack:
        x = stack.pop()
        if id(x) in seen or isinstance(x, (*ATOMS, type, types.ModuleType)) or hasattr(type(x), "structure"):
            continue
        seen.add(id(x))
        yield x
        if id(x) in ends:
            continue
        if isinstance(x, dict):
            stack += [*dict.keys(x), *dict.values(x)]
        elif isinstance(x, (tuple, list, set, frozenset)):
            stack += x
        elif isinstance(x, types.FunctionType):
            stack += [_content(cell) for cell in x.__closure__ or ()]
        elif isinstance(x, types.MethodType):
            stack.append(x.__self__)
        elif isinstance(x, functools.partial):
            stack += [x.func, *x.args, *x.keywords.values()]
        stack += (namespace(x) or {}).values()
