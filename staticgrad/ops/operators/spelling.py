"""PyTorch's and NumPy's words for the same argument, and the registry of functions that are methods too."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any, TypeVar, get_overloads, overload

import numpy as np

from ...base import types
from ...base.interpreter import module
from ...base.tables import LateMethod
from ...errors import ArgumentError, DTypeError, StaticgradError
from ...ir import REGISTRY
from .dispatch import LATE, NOBODY, ORDINARY, SEQUENCES, SPECIAL, frontends, numpy_twin, public, state, taken
from .methods import Operators
from .misuse import FORMER_ORDERS, in_former_order
from .node_names import node_of

__all__ = [
    "as_it_is", "Cached", "enter_as", "enter_late", "INPLACE", "NONE", "one_node", "respelled", "spelled", "tensor_method",
    "torch_function", "with_example",
]  # fmt: skip

PACKAGE = __package__.partition(".")[0]
SAME = (
    ("dim", "axis"), ("dims", "axes"), ("keepdim", "keepdims"), ("input", "x", "self", "a", "A", "tensor"),
    ("other", "y", "B", "b"), ("correction", "ddof"), ("n", "k"), ("size", "shape"), ("tensors", "xs", "arrays"),
    ("split_size_or_sections", "split_size"),
    ("indices_or_sections", "tensor_indices_or_sections", "split_size_or_sections", "indices", "sections"),
)  # fmt: skip
"""Names of one argument: a function that has one of them takes the others for it."""
SYNONYMS = {word: [w for group in SAME if word in group for w in group if w != word] for group in SAME for word in group}

NONE: Mapping[str, str] = MappingProxyType({})

INPLACE: dict[str, None] = {}
"""Functions with a method that ends in "_", which changes the tensor."""

Function = TypeVar("Function", bound=Callable[..., Any])


def with_example(doc: str, example: str) -> str:
    """A docstring with an example: "call -> the result as it is printed"."""
    call, _, result = example.partition(" -> ")
    return f"{doc}\n\nExamples:\n    >>> {call}\n    {result}"


def meant(
    function: str, words: tuple[str, ...], synonyms: Mapping[str, str], args: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any]:
    """Named arguments by the function's words. Raises ArgumentError when one is given twice."""
    result: dict[str, Any] = {}
    given: dict[str, str] = dict.fromkeys(words[: len(args)], "a positional argument")
    for name, value in named.items():
        word = synonyms.get(name, name)
        if word in given:
            raise ArgumentError(f"{function}: {word!r} is given twice, as {given[word]} and as {name!r}", "give one of them")
        given[word] = repr(name)
        result[word] = value
    return result


def spelled(function: Function, further: Mapping[str, str] = NONE) -> Function:
    """The function, which takes PyTorch's and NumPy's names of its arguments. Positional calls cost one more call.

    It asks the classes of its arguments first, unless the function does: one with a list `public` learns who is to be called.

    further: names that it takes beside those, each with its own. `f(x, *sizes)` takes `sizes=` too, as one argument.
    """
    words, star = _parameters(function)
    synonyms = {s: word for word in words for s in SYNONYMS.get(word, ()) if s not in words} | dict(further)
    known = frozenset(words) - {star}
    name = function.__name__.rstrip("_")
    node = None if getattr(function, "one_node", False) else node_of(function.__name__)
    asks = not hasattr(function, "public")
    tensors = len([word for word in words if word not in FORMER_ORDERS[name]]) if name in FORMER_ORDERS else None

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if asks:
            for a in (*args, *named.values()) if named else args:
                kind = a.__class__
                if kind not in ORDINARY and (kind not in SEQUENCES or not ORDINARY.issuperset(map(type, a))):
                    if (answer := taken(call, args, named)) is not NOBODY:
                        return answer
                    break
        if named and not known.issuperset(named):
            if "out" in named and "out" not in known:
                return written_to(call, name, args, named)
            named = meant(name, words, synonyms, args, named)
            if star in named:
                before = words[len(args) : words.index(star)]
                args = (*args, *(named.pop(word) for word in before), named.pop(star))
        if tensors is not None and len(args) > tensors:
            today = in_former_order(name, args, tensors)
            if today is not None:
                return call(*today[0], **today[1], **named)
        try:
            if frontends.tracing and state.tracer is not None:
                return state.tracer.called(function, args, named)
            if node is None:
                return function(*args, **named)
            start = frontends.tick()
            out = function(*args, **named)
            frontends.called(node, start, args, named, out)
            return out
        except AttributeError as error:
            given = getattr(error, "obj", None)
            if isinstance(error, StaticgradError) or not any(given is a for a in (*args, *named.values())):
                raise
            raise DTypeError(f"{name}(): expected a Tensor, got {type(given).__name__}", "write tensor(...)") from None

    if not asks:  # the function asks for it
        function.public.append(call)  # type: ignore[attr-defined]
    call.synonyms = synonyms  # type: ignore[attr-defined]
    call.takes_out = "out" not in known  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def written_to(function: Callable[..., Any], name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The call of a function that has no `out=` of its own: its results are then written there."""
    out = named.pop("out")
    return function(*args, **named) if out is None else frontends.into(out, name, function, args, named)


def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, ...], str | None]:
    """The names of a function's parameters, and that of `*args`. Most are read from its code: `inspect.signature` of all
    functions is a tenth of the time of `import staticgrad`."""
    inner = inspect.unwrap(function, stop=lambda f: hasattr(f, "__signature__"))
    if not isinstance(inner, FunctionType) or hasattr(inner, "__signature__"):
        parameters = inspect.signature(inner).parameters
        return tuple(parameters), next((word for word, p in parameters.items() if p.kind is p.VAR_POSITIONAL), None)
    code = inner.__code__
    names, first = code.co_varnames, code.co_argcount
    last = first + code.co_kwonlyargcount
    stars = [names[last]] if code.co_flags & inspect.CO_VARARGS else []
    after = last + len(stars)
    others = names[after : after + bool(code.co_flags & inspect.CO_VARKEYWORDS)]
    return (*names[:first], *stars, *names[first:last], *others), stars[0] if stars else None


def one_node(function: Function) -> Function:
    """The function; its calls are one node of the tape where PyTorch has one, and ask the classes of its arguments first.
    `spelled` does both, too."""
    node = node_of(function.__name__)

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        for a in (*args, *named.values()) if named else args:
            kind = a.__class__
            if kind not in ORDINARY and (kind not in SEQUENCES or not ORDINARY.issuperset(map(type, a))):
                if (answer := taken(call, args, named)) is not NOBODY:
                    return answer
                break
        if node is None or (frontends.tracing and state.tracer is not None):
            return function(*args, **named)
        start = frontends.tick()
        out = function(*args, **named)
        frontends.called(node, start, args, named, out)
        return out

    return call  # type: ignore[return-value]


def respelled(function: Callable[..., Any], name: str) -> None:
    """Give a function that is made inside another one its public name, and its overloads, too."""
    for variant in get_overloads(function):
        variant.__name__ = variant.__qualname__ = name
        overload(variant)
    function.__name__ = function.__qualname__ = name


Cached = Callable[[Any], Any]


def as_it_is(function: Function) -> Function:
    """The function, whose calls are not cached."""
    return function


def torch_function(
    *twins: Callable[..., Any], method: bool = True, inplace: bool = False, names: tuple[str, ...] = (),
    words: Mapping[str, str] = NONE, cached: Cached = as_it_is,
) -> Callable[[Function], Function]:  # fmt: skip
    """Make a function public under PyTorch's name: spelled, a method of every tensor, and what NumPy's functions reach.

    inplace: there is a method of the same name with "_", too. names: PyTorch's further names of it; see `enter_as`. words:
    further names of its arguments, each with the function's own. cached: `routed` or `viewed`, see below.
    """

    def enter(function: Function) -> Function:
        made: Function = cached(spelled(function, words))
        for name in (function.__name__.rstrip("_"), *names):
            enter_as(name, made, method=method, inplace=inplace)
        return numpy_twin(*twins)(made)

    return enter


def tensor_method(
    *, inplace: bool = False, names: tuple[str, ...] = (), cached: Cached = as_it_is
) -> Callable[[Function], Function]:
    """As `torch_function`, of a function that takes its arguments by their own names alone."""

    def enter(function: Function) -> Function:
        if cached is not as_it_is or node_of(function.__name__) is not None:  # elsewhere it would be one more call
            function = cached(one_node(function))
        for name in (function.__name__.rstrip("_"), *names):
            enter_as(name, function, inplace=inplace)
        return function

    return enter


def enter_late(names: Mapping[str, str]) -> None:
    """Lead from the names that modules enter to those that are not imported yet; see `ops/late_names.py`."""

    def method_of(place: str) -> Callable[[str], Any]:
        def method(name: str) -> Any:
            module(place)
            return vars(Operators)[name]

        return method

    tables = {"r": REGISTRY.late, "s": SPECIAL.late, "f": LATE}
    for below, text in names.items():
        place = f"{PACKAGE}.{below}"
        if place in sys.modules:
            continue
        make = method_of(place)
        for word in text.split():
            name, _, marks = word.partition(":")
            for mark in marks:
                if mark == "m":
                    setattr(Operators, name, LateMethod(name, make))
                elif mark == "i":
                    INPLACE[name] = None
                else:
                    tables[mark][name] = place


def enter_as(name: str, function: Callable[..., Any], *, method: bool = True, inplace: bool = False) -> None:
    """Make a function public under a name; one that begins with "special." is a name in `staticgrad.special` alone."""
    if name.startswith("special."):
        SPECIAL[name.removeprefix("special.")] = function
        return
    public(function, name)
    if method:
        setattr(Operators, name, function)
    if inplace:
        INPLACE[name] = None


# functions whose calls eager mode may cache ---------------------------------------------------------------------------

# `routed` and `viewed` say so where a function is defined: it has no effects, draws nothing, and does the same for
# symbols as for tensors. So eager mode can find out once to which ops the calls of one kind come down, see
# `eager/calls/routes.py`.


def no_route(*tensors: Any) -> Any:
    """Of calls that have no route."""
    raise AssertionError("the function itself is called")


no_route.moves = False  # type: ignore[attr-defined]


def routed(function: Function) -> Function:
    """Let calls on eager tensors take routes."""
    node = node_of(function.__name__)

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if frontends.tracing:
            return function(*args, **named)
        tensor_class = frontends.public_class
        tensors: list[Any] = []
        key: list[Any] = [function, types.default_float]
        for a in args:  # as `frontends.join`, without a call for the most frequent ones
            kind = a.__class__
            if kind is tensor_class:
                data = a._data
                key.append(data.shape)
                key.append(data.dtype)
                tensors.append(a)
            elif kind is int:
                key.append(int)
                key.append(a)
            elif kind is list:
                key.append(list)
                key.append(len(a))
                for x in a:
                    if x.__class__ is tensor_class:
                        data = x._data
                        key.append(data.shape)
                        key.append(data.dtype)
                        tensors.append(x)
                    elif not frontends.join((x,), key, tensors):
                        return function(*args, **named)
            elif not frontends.join((a,), key, tensors):
                return function(*args, **named)
        if named:
            if "out" in named:
                return function(*args, **named)
            key += named
            if not frontends.join(named.values(), key, tensors):
                return function(*args, **named)
        route = frontends.calls[signature := tuple(key)]
        if route is None:
            route = frontends.route(function, node, signature, args, named, tensors)
        if route is no_route:
            return function(*args, **named)
        return route(*tensors)

    def ready(*args: Any) -> Callable[..., Any] | None:
        """The route of a call, if there is one."""
        key: list[Any] = [function, types.default_float]
        return frontends.calls[tuple(key)] if frontends.join(args, key, []) else None

    call.route = ready  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def viewed(function: Function) -> Function:
    """As `routed`, for a function whose result is a view: the route of a tensor and integers is found by shape, dtype
    and integers."""
    general = routed(function)

    @functools.wraps(function)
    def call(x: Any = no_route, /, *others: Any, **named: Any) -> Any:
        if named or frontends.tracing or x.__class__ is not frontends.public_class:
            return general(*others, **named) if x is no_route else general(x, *others, **named)
        for a in others:
            if a.__class__ is not int:
                return general(x, *others)
        data = x._data
        route = frontends.calls[function, data.shape, data.dtype, others]
        if route is not None:
            return route(x)
        out = general(x, *others)
        found = general.route(x, *others)  # type: ignore[attr-defined]
        if found is not None and found.moves:
            frontends.calls[function, data.shape, data.dtype, others] = found
        return out

    return call  # type: ignore[return-value]


def by_method(function: Function) -> Function:
    """Let a call on an eager tensor be one of the tensor's method, which is written for speed: it does what the function does,
    and calls that for other arguments; see `eager/calls/fast_ops.py`."""
    name = function.__name__.rstrip("_")
    method: Callable[..., Any] | None = None

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        nonlocal method
        if not named and args and args[0].__class__ is frontends.public_class:
            if method is None:
                method = frontends.methods[name]
            return method(*args)
        return function(*args, **named)

    return call  # type: ignore[return-value]


def filled_by(make: Callable[[tuple[int, ...], np.dtype], np.ndarray]) -> Callable[[Function], Function]:
    """Let a call on an eager tensor alone return a tensor around `make(its shape, its dtype)`."""

    def enter(function: Function) -> Function:
        @functools.wraps(function)
        def call(input: Any, *args: Any, **named: Any) -> Any:
            if args or named or frontends.tracing or input.__class__ is not frontends.public_class:
                return function(input, *args, **named)
            data = input._data
            if not data.flags.c_contiguous:  # its order of axes is that of the result
                return function(input)
            try:
                return frontends.around(make(data.shape, data.dtype))
            except MemoryError:
                return function(input)  # raises the error that names the line

        return call  # type: ignore[return-value]

    return enter
