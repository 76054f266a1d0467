"""Objects and containers among the arguments, new in each call, which the function reads, changes, returns and keeps."""

from __future__ import annotations

import array
import collections
import dataclasses
import types
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import staticgrad as sg

MODES = {
    "default": {},
    "strict": {"numerics": "strict"},
    "split": {"on_break": "split"},
    "one plan": {"on_break": "error"},
}


@dataclass
class Batch:
    x: Any
    k: int = 1
    notes: list[Any] = field(default_factory=list)


@dataclass
class Nested:
    inner: Any
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Frozen:
    x: Any
    k: int = 1

    def scaled(self, factor):
        return dataclasses.replace(self, x=self.x * factor)


@dataclass(slots=True)
class Slotted:
    x: Any
    k: int = 1


class Counting:
    made = 0

    def __init__(self, x):
        self.x = x

    @property
    def double(self):
        return self.x * 2

    def step(self):
        self.made += 1
        return self.x * self.made


def write(c, x):
    c.y = c.x + x
    c.x = c.x * 2
    return c.y


def count(c, x):
    c.k += 1
    c.k *= 2
    return x * c.k + c.x


def delete(c, x):
    x = x + c.x
    del c.k
    return x * 2


def rewrite_twice(c, x):
    c.x = c.x + 1
    first = c.x * 1
    c.x = x
    return first + c.x


def in_place(c, x):
    c.x.add_(x)
    c.notes.append(c.x.sum())
    return c.x * 1


def write_array(c, x):
    c.x[0] = 7
    c.k = float(c.x[1])
    return sg.from_numpy(c.x) + x


def view_array(c, x):
    part = c.x[1:]
    part *= 2
    c.notes.append(part)
    return sg.as_tensor(c.x) * x


def set_by_name(c, x):
    c.z = x * 2
    return c.z + c.x + hasattr(c, "k")


def keep(c, x):
    KEPT.append(c)
    c.k = 5
    return c.x + x


def swapped(c, x):
    c.inner, c.extra["former"] = Batch(c.inner.x + x), c.inner
    return c.inner.x * 1


def nested(c, x):
    c.inner.x = c.inner.x + x
    c.extra["k"] = c.inner.k
    return c.inner.x * 1


KEPT: list[Any] = []
NAMESPACE = types.SimpleNamespace


def TENSOR(k):
    return sg.tensor([1.0, 2.0, 3.0], dtype=sg.float64) * k


def ARRAY(k):
    return np.array([1.0, 2.0, 3.0]) * k


def twice(k):
    batch = Batch(TENSOR(k), k)
    return Nested(batch, {"b": batch})


CASES = {
    "write": (lambda k: Batch(TENSOR(k), k), write),
    "write to a namespace": (lambda k: NAMESPACE(x=TENSOR(k), k=k), write),
    "count": (lambda k: Batch(TENSOR(k), k), count),
    "count in a namespace": (lambda k: NAMESPACE(x=TENSOR(k), k=k), count),
    "count in slots": (lambda k: Slotted(TENSOR(k), k), count),
    "delete": (lambda k: Batch(TENSOR(k), k), delete),
    "delete from a namespace": (lambda k: NAMESPACE(x=TENSOR(k), k=k), delete),
    "rewrite": (lambda k: Batch(TENSOR(k), k), rewrite_twice),
    "in place": (lambda k: Batch(TENSOR(k), k), in_place),
    "write to an array": (lambda k: Batch(ARRAY(k), k), write_array),
    "view of an array": (lambda k: Batch(ARRAY(k), k), view_array),
    "by name": (lambda k: Batch(TENSOR(k), k), set_by_name),
    "return": (lambda k: Batch(TENSOR(k), k), lambda c, x: (c, c.x + x)),
    "return changed": (lambda k: Batch(TENSOR(k), k), lambda c, x: (write(c, x), {"c": [c]})),
    "return a namespace": (lambda k: NAMESPACE(x=TENSOR(k), k=k), lambda c, x: (write(c, x), c)),
    "keep": (lambda k: Batch(TENSOR(k), k), keep),
    "frozen": (lambda k: Frozen(TENSOR(k), k), lambda c, x: c.scaled(2).x + x * c.k),
    "frozen, replaced": (lambda k: Frozen(TENSOR(k), k), lambda c, x: (c.scaled(3), dataclasses.replace(c, k=9))),
    "frozen, by force": (lambda k: Frozen(TENSOR(k), k), lambda c, x: (object.__setattr__(c, "x", x), c.x * 2)[1]),
    "nested": (lambda k: Nested(Batch(TENSOR(k), k)), nested),
    "nested, array": (lambda k: Nested(Batch(ARRAY(k), k)), lambda c, x: write_array(c.inner, x)),
    "nested, swapped": (lambda k: Nested(Batch(TENSOR(k), k)), swapped),
    "nested twice": (twice, lambda c, x: write(c.extra["b"], x) + c.inner.x),
    "two of a kind": (lambda k: [Batch(TENSOR(k), k), Batch(TENSOR(2), 3)], lambda c, x: (write(c[0], x), write(c[1], c[0].x))),
    "one twice": (lambda k: (lambda b: [b, b])(Batch(TENSOR(k), k)), lambda c, x: (write(c[0], x), c[1].x * 1)),
    "method": (lambda k: Counting(TENSOR(k)), lambda c, x: c.step() + c.step() + c.double + x),
    "compare a namespace": (lambda k: NAMESPACE(x=[k]), lambda c, x: x * (c == NAMESPACE(x=[2])) + (c != NAMESPACE(x=[3]))),
    "text of a namespace": (lambda k: NAMESPACE(x=10**k), lambda c, x: x * len(repr(c)) + len(f"{c}")),
    "attributes of a namespace": (lambda k: NAMESPACE(x=TENSOR(k), y=TENSOR(2)), lambda c, x: sum(vars(c).values()) + x),
    "UserDict": (lambda k: collections.UserDict(x=TENSOR(k)), lambda c, x: (c.update(y=x * 2), c["x"] + c["y"])[1]),
    "UserList": (lambda k: collections.UserList([TENSOR(k)]), lambda c, x: (c.append(x * 2), c[0] + c[-1])[1]),
    "ChainMap": (lambda k: collections.ChainMap({"x": TENSOR(k)}, {"k": 3}), lambda c, x: (c.update(y=x), c["x"] * c["k"])[1]),
}  # fmt: skip
CONTAINERS = {
    "set": (lambda k: {1, 2}, lambda c, x: (c.add(5), c.discard(1), x * sum(c))[2]),
    "set of texts": (lambda k: {"a", "b", "c"}, lambda c, x: (c.update("de"), x * len(c) + ("b" in c))[1]),
    "set of tensors": (lambda k: {TENSOR(k)}, lambda c, x: (c.add(x), sum(c))[1]),
    "set inside": (lambda k: {"s": {1, 2}, "t": [TENSOR(k)]}, lambda c, x: (c["s"].add(7), c["t"][0] * len(c["s"]))[1]),
    "one set twice": (lambda k: (lambda s: [s, s, TENSOR(k)])({1}), lambda c, x: (c[0].add(2), c[2] * len(c[1]))[1]),
    "bytearray": (lambda k: bytearray([1, 2]), lambda c, x: (c.append(9), c.__setitem__(0, 3), x * c[0] * c[-1])[2]),
    "array": (lambda k: array.array("d", [1, 2]), lambda c, x: (c.append(9), c.__setitem__(0, 3), x * c[0] * c[-1])[2]),
    "array of bytes": (lambda k: array.array("B", [1, 2]), lambda c, x: (c.extend([3]), x * sum(c))[1]),
}  # fmt: skip


def contents(x, seen):
    """Values, structure and identities; seen: objects so far."""
    if isinstance(x, (sg.Tensor, np.ndarray, np.generic)):
        return type(x).__name__, np.asarray(x).tolist()
    if isinstance(x, (int, float, str, bytes, type(None))):
        return repr(x)
    if id(x) in seen:
        return "again", list(seen).index(id(x))
    seen[id(x)] = x
    if isinstance(x, dict):
        return {key: contents(part, seen) for key, part in x.items()}
    if isinstance(x, set):
        return "set", sorted([contents(part, seen) for part in x], key=repr)  # tensors come in the order of their addresses
    if isinstance(x, (list, tuple, collections.deque)):
        return type(x).__name__, [contents(part, seen) for part in x]
    if isinstance(x, (bytearray, array.array)):
        return type(x).__name__, list(x)
    names = [*getattr(x, "__dict__", {}), *getattr(type(x), "__slots__", ())]
    return type(x).__name__, {name: contents(getattr(x, name), seen) for name in names if hasattr(x, name)}


def outcomes(step, make):
    found = []
    KEPT.clear()
    for k in (1, 2, 3, 4, 5, 6):
        given, x = make(k), TENSOR(10)
        found.append(contents([step(given, x), given, x], {}))
    return [*found, contents(KEPT, {})]


WHOLE = ("compare a namespace", "text of a namespace", "attributes of a namespace")
"""Steps that read all attributes of an object, which is taken by its identity then."""
WRITTEN = ("write to an array", "view of an array", "nested, array")
"""Writes to an array that is an argument cut the trace."""


@pytest.mark.parametrize(
    ("name", "mode"),
    [(name, mode) for name in (*CASES, *CONTAINERS) for mode in MODES if not (mode == "one plan" and name in WRITTEN)],
)
def test_the_object_of_each_call_is_read_and_changed(name, mode):
    make, step = {**CASES, **CONTAINERS}[name]
    f = sg.compile(lambda c, x: step(c, x), **MODES[mode])
    assert outcomes(f, make) == outcomes(step, make)
    assert mode != "one plan" or name in WHOLE or len(f.recompiles) <= 5, f.recompiles


@pytest.mark.parametrize("mode", MODES)
def test_a_namespace_that_is_reached_is_compared_as_it_is_now(mode):
    kept = NAMESPACE(x=[1])
    f = sg.compile(lambda x: x * (kept == NAMESPACE(x=[2])) + len(repr(kept)), **MODES[mode])
    for k in (1, 2, 30, 2):
        kept.x[0] = k
        assert f(sg.ones(1)).tolist() == [(k == 2) + len(repr(kept))]
