"""The arguments of a call: arrays, which are run-time values, and the rest, which is part of a trace's key."""

from __future__ import annotations

import array
import collections
import inspect
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from ..base.dtypes import SUPPORTED
from ..base.types import check_unmasked, shape_text
from ..eager.calls.kernels import row_major
from ..eager.grad_mode import modes
from ..eager.tensor import PublicTensor, Tensor
from ..errors import TraceError
from ..ops.operators import Symbol, as_array
from ..ops.operators.unknown_numbers import NUMBERS
from .containers import blank, native_class, refill, same_members, snapshot
from .containers import key as plain_key
from .effects import Former
from .given_objects import Apart, GivenObjects, StandIns, apart, blank_like, filled
from .numbers import ArgumentNumbers, NumberKey, StateNumbers
from .observer.access_log import AccessLog
from .tracer import Tracer

ndarray = np.ndarray
CONTAINERS = (tuple, list, dict, set, collections.deque, bytearray, array.array)
"""Containers whose members are arguments themselves."""
RAW = (bytearray, array.array)
"""Those of them that hold bytes, which are part of the key as a whole."""


class ArrayKey(NamedTuple):
    """The properties of an array that a trace depends on. hooks: of the tensor; same: the index of an array that is the same
    tensor; parameter: it is an `nn.Parameter`; taped: it is a result on a tape; tensor: it is a tensor's; inference: see
    `inference`."""

    dtype: int
    shape: tuple[int, ...]
    requires_grad: bool
    hooks: tuple[int, ...] = ()
    same: int = -1
    parameter: bool = False
    taped: bool = False
    tensor: bool = True
    inference: int = 0


def inference(x: Any) -> int:
    """0; for a tensor of `inference_mode` 1, and 2 inside of that."""
    return 0 if getattr(x, "_inference", None) is None else 1 if modes.now.inference is None else 2


INFERENCE = "no tensor of inference_mode", "a tensor of inference_mode", "a tensor of inference_mode inside of that"
"""The same in words."""


class KeyedArgument:
    """An argument that is part of the key: an immutable one by its value, any other by identity, whatever its `__eq__` says."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any):
        self.value = value
        self.key = plain_key(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyedArgument) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return repr(self.value)


class Keywords:
    """Stands among the arguments of a call in front of those that are given by name, in the order of `names`."""

    __slots__ = ("names",)

    def __init__(self, names: tuple[str, ...]):
        self.names = names

    def __repr__(self) -> str:
        return f"arguments named {', '.join(self.names)}"


def spread(args: Sequence[Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arguments by position, and those by name."""
    for i, arg in enumerate(args):
        if type(arg) is Keywords:
            return args[:i], dict(zip(arg.names, args[i + 1 :], strict=True))
    return args, {}


class _Symbols(NamedTuple):
    """What stands for the arguments of a call in its trace, in their order. known: (stand-in of a container or an object, its
    label) by id of the argument."""

    tracer: Tracer
    arrays: Iterator[np.ndarray]
    others: Iterator[tuple[int, Any]]
    numbers: Iterator[int]
    known: dict[int, tuple[Any, str]]


class ContainerPlace:
    """The place of a container, or of an object that is taken apart, among those of a call."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number

    def now(self, containers: Sequence[Any]) -> Any:
        return containers[self.number]

    original = now


class CallArguments:
    """The arguments of one call.

    key: the cache key of their trace, in parts; arrays: C-contiguous, of supported dtypes; sources: these before copies were
    made; given: the objects that they came from; containers: those that can change, and objects that are taken apart, each
    once; others: (number of the part, argument) for arguments that are neither arrays nor containers. bound: tensors and
    containers that are compared by identity, by id. own: number of positional arguments that the user's function takes; state
    follows them. varying: positions of parts whose numbers are run-time values: `numbers`, at `places` among the parts.
    objects: the forms of objects that are taken apart; apart: those objects, by id. distinct: the key tells which arrays are
    one.
    """

    def __init__(
        self, names: Callable[[], list[str]], args: tuple[Any, ...], kwargs: dict[str, Any], bound: Mapping[int, Any],
        own: int | None = None, varying: Set[int] = frozenset(), objects: GivenObjects | None = None, distinct: bool = False,
    ):  # fmt: skip
        self.args, self.kwargs = args, kwargs
        self.distinct = distinct
        self.own = len(args) if own is None else own
        self.names = names
        self.bound = bound
        self.varying = varying
        self.objects = objects
        self.apart: dict[int, Apart] = {}
        self.numbers: list[Any] = []
        self.places: list[int] = []
        self.parts: list[Hashable] = []
        self.arrays: list[np.ndarray] = []
        self.sources: list[np.ndarray] = []
        self.given: list[Any] = []
        self.containers: dict[int, Any] = {}
        self.others: list[tuple[int, Any]] = []
        for arg in args:
            self._add(arg)
        for name in sorted(kwargs):
            self.parts.append(name)
            self._add(kwargs[name])
        self.key = tuple(self.parts)

    def again(self) -> CallArguments:
        """The same call, after more tensors were bound."""
        return CallArguments(
            self.names, self.args, self.kwargs, self.bound, self.own, self.varying, self.objects, self.distinct
        )

    def _add(self, arg: Any) -> None:
        if isinstance(arg, Tensor):
            if id(arg) in self.bound:
                self.parts.append(("tensor", id(arg)))
                return
            data = arg._data  # which gives a tensor that segments put off its class, too
            if type(arg) is not PublicTensor and isinstance(arg, PublicTensor):
                raise TraceError(
                    f"a compiled function gets a tensor of class {type(arg).__name__}: in a trace it has none",
                    "pass x.as_subclass(sg.Tensor), or keep the tensor in an attribute of a module",
                )
            self._array(arg, data)
        elif isinstance(arg, Symbol):
            raise TraceError(
                f"a compiled function takes values, got {arg.describe()} of a graph", "run it in a Session, or pass an array"
            )
        elif hasattr(arg, "__array__") and not isinstance(arg, np.generic):
            if id(arg) in self.bound:
                self.parts.append(("array", id(arg)))
            else:
                self._array(arg, as_array(arg))
        elif isinstance(arg, CONTAINERS) and id(arg) not in self.bound:
            if id(arg) in self.containers:
                self.parts.append(("the same as container", [*self.containers].index(id(arg))))
                return
            if not isinstance(arg, tuple):
                self.containers[id(arg)] = arg
            form, members = taken_apart(arg)
            self.parts.append(form)
            for part in members:
                self._add(part)
        elif self.objects is not None and (kind := self.objects.form(arg)) is not None:
            self._object(arg, kind, self.objects.fields[kind])
        else:
            place = len(self.parts)
            self.others.append((place, arg))
            if place in self.varying and type(arg) in NUMBERS:
                self.numbers.append(arg)
                self.places.append(place)
                self.parts.append(NumberKey(type(arg)))
            elif id(arg) in self.bound:
                self.parts.append(("container", id(arg)))
            else:
                self.parts.append(KeyedArgument(arg))

    def _object(self, given: Any, form: Hashable, fields: Set[str]) -> None:
        if id(given) in self.apart:
            self.parts.append(("the same object", [*self.apart].index(id(given))))
            return
        self.apart[id(given)] = found = apart(given, form, fields)
        self.containers[id(given)] = given
        self.parts.append(found.key)
        for member in found.members:
            self._add(member)

    def _array(self, given: Any, array: np.ndarray) -> None:
        self.sources.append(array)
        check_unmasked(array)
        array = row_major(array)
        tracked = isinstance(given, Tensor) and given._tracked
        same = next((i for i, other in enumerate(self.given) if other is given), -1) if tracked or self.distinct else -1
        if tracked:
            hooks = (*(given._hooks or ()), *(given._accumulated or ()))
            taped = given._record is not None
            self.parts.append(ArrayKey(array.dtype.num, array.shape, True, hooks, same, given._parameter, taped))
        elif isinstance(given, Tensor) and given._parameter:
            self.parts.append(ArrayKey(array.dtype.num, array.shape, False, same=same, parameter=True))
        else:
            kind = type(given) is not ndarray
            self.parts.append(ArrayKey(array.dtype.num, array.shape, False, (), same, False, False, kind, inference(given)))
        self.arrays.append(array)
        self.given.append(given)

    # for tracing ------------------------------------------------------------------------------------------------------

    def labels(self) -> list[str]:
        """The label of each part of the key: `x`, `batch[0]`, `options['lr']`."""
        names = self.names()
        result: list[str] = []
        known = set(self.bound)
        for i, arg in enumerate(self.args):
            self._label(arg, names[i] if i < len(names) else f"argument {i}", result, known)
        for name in sorted(self.kwargs):
            result.append(name)
            self._label(self.kwargs[name], name, result, known)
        return result

    def array_labels(self) -> list[str]:
        """The label of each array."""
        return [label for part, label in zip(self.parts, self.labels(), strict=True) if isinstance(part, ArrayKey)]

    def referenced(self) -> list[tuple[str, Any]]:
        """(label, argument) for arguments that are neither arrays nor containers: objects that they refer to can be guarded."""
        labels = self.labels()
        return [(labels[i], x) for i, x in self.others]

    def symbols(
        self, tracer: Tracer, kept: StateNumbers, log: AccessLog, stand_ins: StandIns, extents: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with placeholders for the arrays, and what stands for run-time numbers, in their order. Containers have
        stand-ins, which the log learns of. kept: the numbers of the function's state; stand_ins: gets those of objects;
        extents: what stands for numbers that are extents."""
        tracer.distinct = self.distinct
        if self.numbers or extents:
            texts = self.labels()
            tracer.given_numbers = ArgumentNumbers(self.numbers, [texts[place] for place in self.places], kept, extents)
        symbols = _Symbols(tracer, iter(self.arrays), iter(self.others), iter(range(len(self.numbers))), {})
        labels = self.names()
        args = [self._symbol(arg, symbols, labels[i] if i < len(labels) else f"arg{i}") for i, arg in enumerate(self.args)]
        named = {name: self._symbol(self.kwargs[name], symbols, name) for name in sorted(self.kwargs)}
        for number, key in enumerate(self.containers):
            made, label = symbols.known[key]
            log.see(made, label)
            log.stand_ins[id(made)] = made
            log.formers[id(made)] = Former(ContainerPlace(number))
        for key, found in self.apart.items():
            stand_ins.made.append((symbols.known[key][0], found.form, symbols.known[key][1]))
        return args, named

    def _symbol(self, arg: Any, symbols: _Symbols, name: str) -> Any:
        if isinstance(arg, Tensor):
            return arg if id(arg) in self.bound else symbols.tracer.argument(arg, next(symbols.arrays), name)
        if hasattr(arg, "__array__") and not isinstance(arg, np.generic):
            if id(arg) in self.bound:
                return arg
            return symbols.tracer.argument(arg, next(symbols.arrays), name)
        if isinstance(arg, CONTAINERS) and id(arg) not in self.bound:
            return stand_in(
                arg, names_of(arg), taken_apart(arg)[1], symbols.known, name,
                lambda x, n: self._symbol(x, symbols, f"{name}_{n}"),
            )  # fmt: skip
        if id(arg) in self.apart:
            found = self.apart[id(arg)]
            return stand_in(
                arg, found.names, found.members, symbols.known, name, lambda x, n: self._symbol(x, symbols, f"{name}_{n}")
            )
        place, _ = next(symbols.others)
        if isinstance(self.parts[place], NumberKey):
            return symbols.tracer.given_numbers.number(next(symbols.numbers))
        return arg

    def _label(self, arg: Any, name: str, result: list[str], known: set[int]) -> None:
        """known: ids of containers and objects that are one part of the key."""
        result.append(name)
        if isinstance(arg, Tensor) or id(arg) in known:
            return
        if id(arg) in self.apart:
            known.add(id(arg))
            for key, part in zip(self.apart[id(arg)].names, self.apart[id(arg)].members, strict=True):
                self._label(part, f"{name}.{key}", result, known)
        if hasattr(arg, "__array__") or not isinstance(arg, CONTAINERS):
            return
        if not isinstance(arg, tuple):
            known.add(id(arg))
        names, members, more = names_of(arg), taken_apart(arg)[1], len(attributes(arg))
        for i, (key, part) in enumerate(zip(names, members, strict=True)):
            self._label(part, f"{name}.{key}" if i >= len(names) - more else f"{name}[{key!r}]", result, known)


def attributes(arg: Any) -> dict[str, Any]:
    """The attributes of a container of a class that the user derived from that of a list, dict or deque."""
    return {} if type(arg) in CONTAINERS or isinstance(arg, tuple) else getattr(arg, "__dict__", {})


def taken_apart(arg: Any) -> tuple[tuple[Any, ...], Sequence[Any]]:
    """The form of a container, as a part of a key, and its members: those of a dict in the order of its keys, then its
    attributes."""
    kind = type(arg)
    if kind is list or kind is tuple:
        return (kind, len(arg)), arg
    if kind is dict:
        return (kind, tuple(map(KeyedArgument, arg))), [*arg.values()]
    form: tuple[Any, ...] = (kind, len(arg))
    members: Sequence[Any] = arg
    if isinstance(arg, dict):
        native = native_class(arg)
        form, members = (kind, tuple(map(KeyedArgument, native.keys(arg)))), [*native.values(arg)]
    elif isinstance(arg, RAW):
        form, members = (kind, getattr(arg, "typecode", "B"), bytes(arg)), ()
    elif isinstance(arg, set):
        members = snapshot(arg)
    more = attributes(arg)
    if more:
        form, members = (*form, tuple(more)), [*members, *more.values()]
    for name in ("default_factory", "maxlen"):
        if hasattr(kind, name):
            form = (*form, KeyedArgument(getattr(arg, name)))
    return form, members


class UnpackedArguments:
    """The arguments with members in the places of containers, for the fast call. parts: of the key; values: the arguments;
    places: where later calls have them, as text over `args`; checks: what holds of calls with such containers, in order;
    space: names in the texts."""

    def __init__(self, call: CallArguments):
        """Raises TypeError for containers that need the slower path."""
        self.values: list[Any] = []
        self.places: list[str] = []
        self.checks: list[str] = []
        self.space: dict[str, Any] = {"bound": call.bound}
        parts: Iterator[Any] = iter(call.parts)
        self.parts: list[Any] = []
        self._changeable: list[str] = []
        for i, arg in enumerate(call.args):
            self._add(arg, f"args[{i}]", parts, call.bound)
        if len(self._changeable) > 1:
            self.checks.append(f"len({{{', '.join(self._changeable)}}}) == {len(self._changeable)}")
        if self.checks:
            self.checks.insert(0, f"len(args) == {len(call.args)}")

    def take(self) -> list[Any]:
        """The arguments, which are not kept."""
        values, self.values = self.values, []
        return values

    def _add(self, arg: Any, place: str, parts: Iterator[Any], bound: Mapping[int, Any]) -> None:
        part = next(parts)
        if not isinstance(arg, CONTAINERS) or id(arg) in bound:
            self.values.append(arg)
            self.places.append(place)
            self.parts.append(part)
            return
        kind = type(arg)
        name = f"kind{len(self.space)}"
        self.space[name] = kind
        self.checks.append(f"{place}.__class__ is {name}")
        if kind is dict and part[0] is dict and all(type(key) is str for key in arg):
            self.checks.append(f"[*{place}] == {[*arg]}")
        elif isinstance(arg, (tuple, list)) and part == (kind, len(arg)):
            self.checks.append(f"len({place}) == {len(arg)}")
        else:
            raise TypeError(f"a {kind.__name__} as a part {part!r}")
        if not isinstance(arg, tuple):
            self._changeable.append(f"id({place})")
            self.checks.append(f"id({place}) not in bound")
        for key in arg if kind is dict else range(len(arg)):
            self._add(arg[key], f"{place}[{key!r}]", parts, bound)


def names_of(arg: Any) -> list[Any]:
    """The names of the members of a container, in the order of `taken_apart`."""
    own = native_class(arg).keys(arg) if isinstance(arg, dict) else range(0 if isinstance(arg, RAW) else len(arg))
    return [*own, *attributes(arg)]


def stand_in(
    arg: Any, names: Sequence[Any], members: Sequence[Any], known: dict[int, tuple[Any, str]], label: str,
    visit: Callable[[Any, Any], Any],
) -> Any:  # fmt: skip
    """A container or an object like another one. visit: (member, its name) -> what stands for it; known: stand-ins, with their
    labels, by id of what they stand for."""
    if id(arg) in known:
        return known[id(arg)][0]
    container = isinstance(arg, CONTAINERS)
    made = None if isinstance(arg, tuple) else blank(arg) if container else blank_like(arg)
    if not isinstance(arg, tuple):
        known[id(arg)] = made, label  # before its members: it may be one of them
    found = [visit(x, n) for n, x in zip(names, members, strict=True)]
    made = put_together(arg, found, made) if container else filled(arg, made, names, found)
    if not isinstance(arg, tuple):
        known[id(arg)] = made, label
    return made


def put_together(arg: Any, members: Sequence[Any], stand_in: Any) -> Any:
    """A container like another one, with other members; of a tuple a new one, of others the stand-in filled with them."""
    if isinstance(arg, tuple):
        return type(arg)(*members) if hasattr(arg, "_fields") else type(arg)(members)
    more = attributes(arg)
    own = members[: len(members) - len(more)]
    if isinstance(arg, RAW):
        own = snapshot(arg)
    if isinstance(arg, set) and same_members(own, snapshot(arg)):
        set.update(stand_in, arg)  # in the order of its table
    else:
        refill(stand_in, dict(zip(snapshot(arg), own, strict=True)) if isinstance(arg, dict) else own)
    if isinstance(arg, set) and not same_members(snapshot(stand_in), tuple(own)):
        raise TraceError("the order of a set's members can't be repeated in a compiled function", "pass a list")
    if more:
        vars(stand_in).update(zip(more, members[len(members) - len(more) :], strict=True))
    return stand_in


def difference(old: tuple[Any, ...], now: tuple[Any, ...], labels: list[str]) -> list[str]:
    """The differences between two keys, in words."""
    if len(old) != len(now):
        return [f"the arguments have {len(now)} parts instead of {len(old)}"]
    changes = []
    for a, b, label in zip(old, now, labels, strict=True):
        if a == b:
            continue
        if isinstance(a, ArrayKey) and isinstance(b, ArrayKey):
            told = {
                "dtype": f"dtype {_dtype(b.dtype)} instead of {_dtype(a.dtype)}",
                "shape": f"shape {shape_text(b.shape)} instead of {shape_text(a.shape)}",
                "requires_grad": f"requires_grad {b.requires_grad} instead of {a.requires_grad}",
                "hooks": "other hooks",
                "taped": "a result on a tape" if b.taped else "a leaf",
                "tensor": "a tensor instead of an array" if b.tensor else "an array instead of a tensor",
                "parameter": f"{'an' if b.parameter else 'no'} nn.Parameter",
                "same": "the same tensor twice" if b.same >= 0 else "a tensor of its own",
                "inference": INFERENCE[b.inference],
            }
            changes += [f"{label}: {text}" for name, text in told.items() if getattr(a, name) != getattr(b, name)]
        else:
            changes.append(f"{label}: {_value(b)} instead of {_value(a)}")
    return changes


def _dtype(num: int) -> str:
    return next(str(d) for d in SUPPORTED if d.num == num)


def _value(part: Any) -> str:
    if isinstance(part, ArrayKey):
        return f"an array {shape_text(part.shape)} {_dtype(part.dtype)}"
    if isinstance(part, NumberKey):
        return repr(part)
    if isinstance(part, tuple) and part[0] in ("tensor", "array", "container"):
        return f"a {part[0]} that the function reaches itself"
    if isinstance(part, tuple) and len(part) == 2 and part[0] in (list, tuple, dict):
        return f"a {part[0].__name__} of {part[1]}"
    return repr(part[1]) if isinstance(part, tuple) and len(part) == 2 else repr(part)


def own_code(fn: Callable[..., Any]) -> CodeType | None:
    """The code that takes the arguments of a function or a method. `inspect.signature` tells the parameters of the function
    that a decorator wraps."""
    function = fn.__func__ if inspect.ismethod(fn) else fn
    return function.__code__ if isinstance(function, FunctionType) else None


def parameter_names(fn: Callable[..., Any]) -> list[str]:
    """The names of the positional parameters, of a module those of its `forward`; none for a function without a signature."""
    try:
        parameters = inspect.signature(fn if inspect.isroutine(fn) else getattr(fn, "forward", fn)).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
