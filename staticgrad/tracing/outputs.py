"""The results of a run, in the structure that the user's function returned."""

from __future__ import annotations

import collections
import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..eager.tensor import Tensor, wrap
from ..errors import TraceError
from ..operators import F, Symbol, frontends, state
from .traced import Traced

Build = Callable[[Sequence[Tensor], Sequence[Any]], Any]
"""(tensors of the run, objects that were passed as arguments) -> the result."""


class Results:
    """The structure of a result, without its traced values. fetches: the traced tensors in it, each once, until the
    specialization is made; build: see `Build`; single: it is one tensor; flat: it is a tuple of tensors.

    arguments: their numbers by id of the placeholder. An argument that is returned comes back itself, as it does eagerly.
    """

    def __init__(self, result: Any, arguments: Mapping[int, int]):
        self.fetches: list[Traced] = []
        self.arguments = arguments
        self.uses_given = False
        self._known: dict[int, Build] = {}
        self.build = self._walk(result)
        self._form = isinstance(result, Traced), [id(part) for part in result] if type(result) is tuple else None
        self.seal()

    def seal(self) -> None:
        """All fetches are known now."""
        one, parts = self._form
        self.single = one and len(self.fetches) == 1
        """The result is one tensor of the run."""
        self.flat = parts is not None and parts == [id(fetch) for fetch in self.fetches]
        """It is a tuple of the tensors of the run, in their order."""

    def kept(self, args: Sequence[Any], old: Callable[[Any], bool]) -> Build | None:
        """The builder of values that the function stores in Python's state. old: whether an object existed before the trace.
        None where every run stores the same objects."""
        if all(not isinstance(x, Symbol) and ((type(x).__hash__ is not None and _plain(x)) or old(x)) for x in args):
            return None
        self._old = old
        try:
            return self._walk(tuple(args))
        finally:
            self._old = None

    _old: Callable[[Any], bool] | None = None

    def _walk(self, part: Any) -> Build:
        if self._old is not None and not isinstance(part, (Symbol, tuple)) and (_plain(part) or self._old(part)):
            return lambda tensors, given: part
        if isinstance(part, Symbol):
            if id(part) not in self._known:
                self._known[id(part)] = self._tensor(part)
            return self._known[id(part)]
        if self._old is not None:
            if id(part) in self._known:
                return self._known[id(part)]
            if isinstance(part, (list, dict, set)):
                self._known[id(part)] = _once(self._parts(part))
                return self._known[id(part)]
        return self._parts(part)

    def _parts(self, part: Any) -> Build:
        if isinstance(part, (list, tuple)):
            parts = [self._walk(p) for p in part]
            kind = type(part)
            if hasattr(part, "_fields"):
                return lambda tensors, given: kind(*[p(tensors, given) for p in parts])
            return lambda tensors, given: kind([p(tensors, given) for p in parts])
        changeable = self._old is not None and isinstance(part, (set, collections.deque))
        if changeable and not any(isinstance(x, Symbol) for x in part):
            return lambda tensors, given: copy.copy(part)
        if isinstance(part, collections.deque):
            members, most = [self._walk(p) for p in part], part.maxlen
            return lambda tensors, given: collections.deque([p(tensors, given) for p in members], most)
        if isinstance(part, dict):
            fields = {k: self._walk(p) for k, p in part.items()}
            form = _dict(part, dict.fromkeys(part))
            return lambda tensors, given: _dict(form, {k: p(tensors, given) for k, p in fields.items()})
        if dataclasses.is_dataclass(part) and not isinstance(part, type):
            fields = {f.name: self._walk(getattr(part, f.name)) for f in dataclasses.fields(part)}
            blank = _record(part, dict.fromkeys(fields))
            return lambda tensors, given: _record(blank, {k: p(tensors, given) for k, p in fields.items()})
        if self._old is not None and _is_record(part):
            fields = {name: self._walk(value) for name, value in vars(part).items()}
            blank = _record(part, dict.fromkeys(fields))
            return lambda tensors, given: _record(blank, {k: p(tensors, given) for k, p in fields.items()})
        held = part if isinstance(part, (set, frozenset)) else vars(part).values() if hasattr(part, "__dict__") else ()
        if any(isinstance(value, Traced) for value in held):
            does = "keeps" if self._old is not None else "returns"
            raise TraceError(
                f"a compiled function {does} a {type(part).__name__} that holds what it computed, and has no value",
                "return tensors, and tuples, lists, dicts or dataclasses of them",
            )
        return lambda tensors, given: part

    def _tensor(self, x: Any) -> Build:
        at = self.arguments.get(id(x))
        if at is not None:
            self.uses_given = True
            return lambda tensors, given: given[at]
        position = len(self.fetches)
        self.fetches.append(x)
        return lambda tensors, given: tensors[position]


def _plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, str, bytes, type(None), type, Tensor, np.generic, np.ndarray))


def _is_record(value: Any) -> bool:
    """Whether an object consists of its attributes alone, so that each run can make another."""
    kind: Any = type(value)
    own = bool(kind.__flags__ & 1 << 9) and hasattr(value, "__dict__")
    return own and not callable(value) and kind.__new__ is object.__new__


def _once(build: Build) -> Build:
    """A builder that makes one object per run, however often the run stores it."""
    last: list[Any] = [None, None]

    def made(tensors: Sequence[Tensor], given: Sequence[Any]) -> Any:
        if last[0] is not tensors:
            last[:] = tensors, build(tensors, given)
        return last[1]

    return made


def _dict(like: dict[Any, Any], items: dict[Any, Any]) -> dict[Any, Any]:
    if type(like) is dict:
        return items
    result = copy.copy(like)
    result.update(items)
    return result


def _record(like: Any, values: dict[str, Any]) -> Any:
    result = copy.copy(like)
    for name, value in values.items():
        object.__setattr__(result, name, value)
    return result


def stacked(ones: Sequence[Any], rest: Any = None) -> Any:
    """Results of single steps, and stacked results of the steps after them, in one structure. Tensors and arrays are stacked;
    objects that are the same in every step, and other values, stay as they are."""
    part = ones[0]
    if isinstance(part, (Tensor, Traced, np.ndarray)):
        if all(one is part for one in ones) and (rest is part or (rest is None and len(ones) > 1)):
            return part
        if not isinstance(part, np.ndarray) and frontends.tracing and state.tracer is not None:
            return F.stack(ones)
        arrays = [one._data if isinstance(one, Tensor) else one for one in (*ones, *([] if rest is None else [rest]))]
        whole = np.stack(arrays) if rest is None else np.concatenate([np.stack(arrays[:-1]), arrays[-1]])
        return wrap(whole) if isinstance(part, Tensor) else whole
    if isinstance(part, (list, tuple)):
        parts = [stacked([one[i] for one in ones], None if rest is None else rest[i]) for i in range(len(part))]
        return type(part)(*parts) if hasattr(part, "_fields") else type(part)(parts)
    if isinstance(part, dict):
        return _dict(part, {k: stacked([one[k] for one in ones], None if rest is None else rest[k]) for k in part})
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        names = [f.name for f in dataclasses.fields(part)]
        get = {n: ([getattr(one, n) for one in ones], None if rest is None else getattr(rest, n)) for n in names}
        return _record(part, {name: stacked(*pair) for name, pair in get.items()})
    return part
