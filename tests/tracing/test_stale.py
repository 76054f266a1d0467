"""Kinds of Python state x ways to change it: after each change a compiled function gives what the eager one gives.

A row makes a step and its changes from nothing; it runs once eagerly and once compiled, with two calls after every change. What
the step returns, and the state that it writes, has to be the same each time.
"""

from __future__ import annotations

import abc
import argparse
import builtins
import collections
import contextvars
import copy
import dataclasses
import datetime
import enum
import functools
import itertools
import logging
import operator
import os
import random
import sys
import threading
import time  # noqa: F401  (the refused expressions name it)
import types
import uuid  # noqa: F401  (likewise)
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.errors import TraceError
from staticgrad.tracing import mentions
from tests.helpers import assert_same
from tests.tracing.helpers import watched_by

pytestmark = pytest.mark.usefixtures("refusing")

X = np.arange(1, 4, dtype=np.float32)
SCALE = 2.0
COUNT = 0
OTHER = types.ModuleType("other")
OTHER.scale = 2.0


def setter(holder: Any, name: str, *values: Any) -> list[Any]:
    return [lambda value=value: setattr(holder, name, value) for value in values]


def putter(holder: Any, key: Any, *values: Any) -> list[Any]:
    return [lambda value=value: holder.__setitem__(key, value) for value in values]


class Point:
    kind = 2.0

    def __init__(self, a: float = 2.0):
        self.a = a

    def scale(self, x: Any) -> Any:
        return x * self.a

    @property
    def double(self) -> float:
        return 2 * self.a

    @staticmethod
    def fixed(x: Any) -> Any:
        return x * 2

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return x * cls.kind

    @functools.cached_property
    def cached(self) -> float:
        return 3 * self.a


class Slots:
    __slots__ = ("a",)

    def __init__(self, a: float):
        self.a = a


@dataclasses.dataclass(slots=True)
class Record:
    a: float
    b: tuple[int, ...] = (1, 2)


class Items:
    def __init__(self, *items: float):
        self.items = list(items)

    def __getitem__(self, i: int) -> float:
        return self.items[i]

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, x: float) -> bool:
        return x in self.items

    def __iter__(self) -> Any:
        return iter(self.items)

    def __rmul__(self, x: Any) -> Any:
        return x * self.items[0]

    def __bool__(self) -> bool:
        return self.items[0] > 0

    def __call__(self, x: Any) -> Any:
        return x + self.items[0]

    def __enter__(self) -> float:
        return self.items[0]

    def __exit__(self, *error: Any) -> None:
        pass


class Dynamic:
    def __init__(self) -> None:
        self.table = {"a": 2.0}

    def __getattr__(self, name: str) -> Any:
        if name == "table":
            raise AttributeError(name)
        return self.table[name]


class Meta(type):
    level = 2.0

    @property
    def now(cls) -> float:
        return cls.level


class Kind(enum.Enum):
    A = 2.0
    B = 3.0


class Scaled(nn.Module):
    factor = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.by = 2.0
        self.many = [1.0, 2.0]

    def forward(self, x: Any) -> Any:
        return self.part(x) * self.by * self.factor * len(self.many)

    def part(self, x: Any) -> Any:
        return x + 1


class Derived(Scaled):
    def forward(self, x: Any) -> Any:
        return super().forward(x) + 1


def fresh(kind: type) -> Any:
    """A class of its own, which a row may change."""
    return type(kind)(
        kind.__name__, kind.__bases__, {k: v for k, v in vars(kind).items() if k not in ("__dict__", "__weakref__")}
    )


ROWS: dict[str, Any] = {}


def row(make: Any) -> Any:
    ROWS[make.__name__.strip("_")] = make
    return make


# attributes -------------------------------------------------------------------------------------------------------------


@row
def simple_namespace():
    s = types.SimpleNamespace(a=2.0)
    return lambda x: x * s.a, setter(s, "a", 3.0, 3, True, -0.0, 0.0)


@row
def argparse_namespace():
    s = argparse.Namespace(a=2.0)
    return lambda x: x * s.a, setter(s, "a", 3.0)


@row
def slots():
    s = Slots(2.0)
    return lambda x: x * s.a, setter(s, "a", 3.0)


@row
def slotted_dataclass():
    s = Record(2.0)
    return lambda x: x * s.a + len(s.b), [*setter(s, "a", 3.0), *setter(s, "b", (1,), (1, 2, 3))]


@row
def class_attribute_through_an_instance():
    kind = fresh(Point)
    p = kind()
    return lambda x: x * p.kind, [*setter(kind, "kind", 3.0), *setter(p, "kind", 5.0), lambda: delattr(p, "kind")]


@row
def attribute_of_a_base():
    base = fresh(Point)
    kind = type("Sub", (base,), {})
    p = kind()
    return lambda x: x * p.kind, [*setter(base, "kind", 3.0), *setter(kind, "kind", 4.0)]


@row
def method_of_a_class():
    kind = fresh(Point)
    p = kind()
    return lambda x: p.scale(x), [*setter(kind, "scale", lambda self, x: x + self.a), *setter(p, "a", 5.0)]


@row
def method_of_an_instance():
    p = Point()
    return lambda x: p.scale(x), [*setter(p, "scale", lambda x: x + 9), lambda: delattr(p, "scale")]


@row
def class_of_an_instance():
    p, other = Point(), type("Other", (), {"scale": lambda self, x: x - self.a})
    return lambda x: p.scale(x), setter(p, "__class__", other, Point)


@row
def property_():
    kind = fresh(Point)
    p = kind()
    return lambda x: x * p.double, [*setter(p, "a", 3.0), *setter(kind, "double", property(lambda self: 7.0))]


@row
def cached_property():
    p = Point()
    p.cached  # noqa: B018
    return lambda x: x * p.cached, [lambda: p.__dict__.update(cached=5.0)]


@row
def static_and_class_methods():
    kind = fresh(Point)
    p = kind()

    def change():
        kind.fixed = staticmethod(lambda x: x * 5)

    return lambda x: p.fixed(x) + p.of_class(x) + kind.of_class(x), [
        *setter(kind, "kind", 3.0), change, lambda: setattr(kind, "of_class", classmethod(lambda cls, x: x)),
    ]  # fmt: skip


@row
def getattr_with_a_name():
    p, names = Point(), ["a"]
    return lambda x: x * getattr(p, names[0]), [*setter(p, "a", 3.0), *putter(names, 0, "kind")]


@row
def getattr_with_a_default():
    p = Point()
    return lambda x: x * getattr(p, "late", 2.0), [*setter(p, "late", 3.0), lambda: delattr(p, "late")]


@row
def hasattr_():
    p = Point()
    return lambda x: x * 2 if hasattr(p, "late") else x, [*setter(p, "late", 3.0), lambda: delattr(p, "late")]


@row
def missing_attribute_caught():
    p = Point()

    def step(x):
        try:
            return x * p.late
        except AttributeError:
            return x

    return step, [*setter(p, "late", 3.0), lambda: delattr(p, "late")]


@row
def vars_of_an_object():
    p = Point()
    return lambda x: x * vars(p)["a"], setter(p, "a", 3.0)


@row
def dict_of_an_object():
    p = Point()
    return lambda x: x * p.__dict__["a"] + len(p.__dict__), [*setter(p, "a", 3.0), *setter(p, "b", 1)]


@row
def all_of_vars():
    p = Point()
    return lambda x: sum(x * v for v in vars(p).values()), [*setter(p, "a", 3.0), *setter(p, "b", 1.0)]


@row
def dynamic_attributes():
    d = Dynamic()
    return lambda x: x * d.a, [*putter(d.table, "a", 3.0), *setter(d, "a", 4.0)]


@row
def attribute_of_a_function():
    def f():
        pass

    f.a = 2.0
    return lambda x: x * f.a, setter(f, "a", 3.0)


@row
def attribute_of_a_module():
    return lambda x: x * OTHER.scale, [*setter(OTHER, "scale", 3.0), *setter(OTHER, "scale", 2.0)]


@row
def metaclass():
    meta = fresh(Meta)
    kind = meta("Some", (), {})
    return lambda x: x * kind.now * kind.level, setter(meta, "level", 3.0)


@row
def enum_members():
    s = types.SimpleNamespace(kind=Kind.A)
    return lambda x: x * s.kind.value if s.kind is Kind.A else x - s.kind.value, setter(s, "kind", Kind.B, Kind.A)


@row
def isinstance_of_a_changed_class():
    p = Point()
    return lambda x: x if isinstance(p, Point) else x * 2, setter(p, "__class__", type("Other", (), {}))


@row
def through_two_objects():
    s = types.SimpleNamespace(p=Point(2.0))
    return lambda x: x * s.p.a, [*setter(s, "p", Point(3.0)), *setter(s.p, "a", 9.0)]


# items ------------------------------------------------------------------------------------------------------------------


@row
def long_list():
    items = [1.0] * 80
    return lambda x: x * sum(items), [*putter(items, 70, 5.0), lambda: items.append(2.0)]


@row
def item_of_a_long_list():
    items = [1.0] * 80
    return lambda x: x * items[70] + items[-1], [*putter(items, 70, 5.0), lambda: items.append(2.0)]


@row
def long_dict():
    items = dict.fromkeys(range(80), 1.0)
    return lambda x: x * items[70] + sum(items.values()), [*putter(items, 70, 5.0), *putter(items, 99, 5.0)]


@row
def deque():
    items = collections.deque([1.0, 2.0])
    return lambda x: x * items[0] + len(items), [lambda: items.appendleft(3.0), items.pop, lambda: items.rotate(1)]


@row
def dicts_of_all_kinds():
    a, b = collections.OrderedDict(a=1.0), collections.defaultdict(float, a=2.0)
    both = collections.ChainMap({}, a, b)
    return lambda x: x * a["a"] + b["a"] + both["a"], [*putter(a, "a", 3.0), *putter(b, "a", 4.0), *putter(both, "a", 5.0)]


@row
def order_of_a_dict():
    items = {"a": 1.0, "b": 2.0}

    def turn():
        items["a"] = items.pop("a")

    def step(x):
        for value in items.values():
            x = x * value + 1
        return x

    return step, [turn]


@row
def dict_get_and_in():
    items = {"a": 1.0}
    return lambda x: x * items.get("b", 7.0) + ("c" in items) + ("c" not in items), [
        *putter(items, "b", 2.0), *putter(items, "c", 2.0), lambda: items.pop("b"),
    ]  # fmt: skip


@row
def sets():
    items = {1, 2}
    return lambda x: x * len(items) + (3 in items) + sum(items), [lambda: items.add(3), lambda: items.discard(1)]


@row
def items_of_objects():
    s = Items(2.0, 3.0)
    return lambda x: x * s[0] + len(s) + (5.0 in s) + sum(s), [*putter(s.items, 0, 5.0), lambda: s.items.append(1.0)]


@row
def operators_of_objects():
    kind = fresh(Items)
    s = kind(2.0)

    def step(x):
        with s as value:
            return 3.0 * s * x + s(x) + value + (1 if s else 0)

    return step, [
        *putter(s.items, 0, -5.0), *setter(kind, "__rmul__", lambda self, x: x), *setter(kind, "__call__", lambda self, x: x),
        *setter(kind, "__bool__", lambda self: True), *setter(kind, "__enter__", lambda self: 9.0),
    ]  # fmt: skip


@row
def truth_and_length():
    items: list[float] = []
    return lambda x: x * 2 if items else x, [lambda: items.append(1.0), items.clear]


@row
def unpacked():
    items, options = [2.0, 3.0], {"a": 4.0}

    def inner(x, b, c, a):
        return x * b + c * a

    def step(x):
        first, *_ = items
        return inner(x, *items, **options) + first

    return step, [*putter(items, 0, 5.0), *putter(options, "a", 6.0)]


@row
def slices_and_comprehensions():
    items = [1.0, 2.0, 3.0]
    return lambda x: x * sum(i for i in items[1:]) + sum([2 * i for i in items]), [*putter(items, 2, 5.0)]


@row
def sorted_and_nested():
    items = [[3.0, 1.0], [2.0]]
    return lambda x: x * sorted(items[0])[0] + max(items)[0] + len(str(items)), [
        *putter(items[0], 1, 2.5), *putter(items[1], 0, 10.25),
    ]  # fmt: skip


@row
def matched():
    s = types.SimpleNamespace(shape={"kind": "a", "by": 2.0})

    def step(x):
        match s.shape:
            case {"kind": "a", "by": by}:
                return x * by
            case {"kind": "b"}:
                return x
        return -x

    return step, [*putter(s.shape, "by", 3.0), *putter(s.shape, "kind", "b"), *putter(s.shape, "kind", "c")]


# functions --------------------------------------------------------------------------------------------------------------


@row
def defaults():
    def inner(x, by=2.0, *, more=1.0):
        return x * by + more

    def change(value):
        inner.__kwdefaults__["more"] = value

    return lambda x: inner(x), [
        *setter(inner, "__defaults__", (3.0,)), *setter(inner, "__kwdefaults__", {"more": 4.0}), lambda: change(5.0),
        *setter(inner, "__code__", (lambda x, by=2.0, *, more=1.0: x - by).__code__),
    ]  # fmt: skip


@row
def defaults_of_the_step():
    def step(x, by=2.0):
        return x * by

    return step, [*setter(step, "__defaults__", (3.0,)), *setter(step, "__code__", (lambda x, by=2.0: x - by).__code__)]


@row
def closures_and_lambdas():
    scale = 2.0

    def change(value):
        nonlocal scale
        scale = value

    def step(x):
        return (lambda y: [y * scale for _ in range(1)][0])(x) + next(scale for _ in range(1))

    return step, [lambda: change(3.0), lambda: change(3)]


@row
def generators():
    items = [1.0, 2.0]

    def each():
        for item in items:
            yield item * items[0]

    return lambda x: x * sum(each()), [*putter(items, 0, 3.0), lambda: items.append(2.0)]


@row
def partials():
    p = Point()
    part = functools.partial(lambda q, x, by: x * q.a * by, p, by=2.0)
    return lambda x: part(x), [*setter(p, "a", 3.0), lambda: part.keywords.update(by=5.0)]


@row
def cached_function():
    box = [2.0]

    @functools.lru_cache
    def scale():
        return box[0]

    return lambda x: x * scale(), [*putter(box, 0, 3.0), scale.cache_clear, *putter(box, 0, 4.0), scale.cache_clear]


@row
def callbacks():
    box = [2.0]
    return lambda x: functools.reduce(lambda a, b: a * box[0] + b, (i * box[0] for i in [1.0, 2.0]), x), putter(box, 0, 3.0)


@row
def globals_():
    return lambda x: x * SCALE * globals()["SCALE"], [lambda: globals().update(SCALE=3.0), lambda: globals().update(SCALE=2.0)]


@row
def a_global_before_a_builtin():
    def undo():
        del globals()["abs"]

    return lambda x: x * abs(-2.0), [lambda: globals().update(abs=lambda x: 5.0), undo]


@row
def copied_settings():
    p = Point()
    return lambda x: x * copy.copy(p).a + copy.deepcopy(p).a, setter(p, "a", 3.0)


@row
def context_variables():
    var = contextvars.ContextVar("var", default=2.0)
    return lambda x: x * var.get(), [lambda: var.set(3.0), lambda: var.set(4.0)]


@row
def environment():
    os.environ["STATICGRAD_STALE"] = "2"
    return lambda x: x * float(os.environ["STATICGRAD_STALE"]) + float(os.getenv("STATICGRAD_STALE")), [
        lambda: os.environ.update(STATICGRAD_STALE="3")
    ]


@row
def environment_that_is_not_there():
    os.environ.pop("STATICGRAD_STALE", None)
    return lambda x: x * float(os.environ.get("STATICGRAD_STALE", "2")), [
        lambda: os.environ.update(STATICGRAD_STALE="3"), lambda: os.environ.pop("STATICGRAD_STALE"),
    ]  # fmt: skip


@row
def another_thread():
    s = types.SimpleNamespace(a=2.0)

    def change():
        thread = threading.Thread(target=lambda: setattr(s, "a", 3.0))
        thread.start()
        thread.join()

    return lambda x: x * s.a, [change]


@row
def seeded_generators():
    s = types.SimpleNamespace(seed=1)
    return lambda x: x * np.random.default_rng(s.seed).random() + random.Random(s.seed).random(), setter(s, "seed", 2)


# arrays -----------------------------------------------------------------------------------------------------------------


@row
def numbers_of_an_array():
    a = np.array([1.0, 2.0])
    return lambda x: x * float(a[0]) + a.sum() + a.tolist()[1] + len(a), [*putter(a, 0, 3.0), *putter(a, 1, -0.0)]


@row
def functions_of_an_array():
    a = np.array([[1.0, 2.0]], np.float32)
    return lambda x: x * np.mean(a) + float(np.sum(a * 2)) + a.T[0, 0] + a[0].max(), [
        *putter(a, (0, 0), 3.0),
        lambda: a.fill(2.0),
    ]


@row
def array_in_a_list():
    a = [np.array([1.0, 2.0, 3.0], np.float32)]
    return lambda x: x * a[0] + a[0][0], [*putter(a[0], 0, 3.0), *putter(a, 0, np.ones(3, np.float32))]


@row
def columns():
    a = np.asfortranarray(np.ones((3, 3), np.float32))
    return lambda x: x * a, [*putter(a, (0, 1), 3.0)]


@row
def shape_of_an_array():
    s = types.SimpleNamespace(a=np.ones((2, 3)))
    return lambda x: x * s.a.shape[0] + s.a.size, setter(s, "a", np.ones((3, 3)))


# modules and optimizers -------------------------------------------------------------------------------------------------


@row
def forward_of_a_module():
    net = nn.ReLU()
    return lambda x: net(x - 2), [*setter(net, "forward", lambda x: x * 5), lambda: delattr(net, "forward")]


@row
def method_of_our_class():
    net, old = nn.ReLU(), nn.ReLU.forward
    return lambda x: net(x - 2), [*setter(nn.ReLU, "forward", lambda self, x: x * 5), *setter(nn.ReLU, "forward", old)]


@row
def function_of_our_module():
    old = F.relu
    return lambda x: F.relu(x - 2), [*setter(F, "relu", lambda x: x * 5), *setter(F, "relu", old)]


@row
def module_of_the_user():
    kind = fresh(Scaled)
    kind.__init__ = lambda self: (nn.Module.__init__(self), setattr(self, "by", 2.0), setattr(self, "many", [1.0, 2.0]))[0]
    net = kind()
    return lambda x: net(x), [
        *setter(net, "by", 3.0), *setter(kind, "factor", 3.0), lambda: net.many.append(1), *setter(net, "many", [1.0]),
        *setter(net, "factor", 9.0), *setter(kind, "part", lambda self, x: x), *setter(net, "part", lambda x: x * 2),
        lambda: vars(net).update(by=11.0), *setter(kind, "forward", lambda self, x: x),
    ]  # fmt: skip


@row
def module_with_super():
    net = Derived()
    return lambda x: net(x), setter(net, "by", 3.0)


@row
def module_class_named_in_the_step():
    net = Scaled()
    return lambda x: net(x) if isinstance(net, Scaled) else Scaled.part(net, x), setter(net, "by", 3.0)


@row
def state_of_an_optimizer():
    w = sg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    opt = optim.Adam([w], lr=0.1)

    def step(x):
        opt.zero_grad()
        (w * w * x).sum().backward()
        opt.step()
        return w * 1

    return step, [opt.state.clear, *setter(opt, "lr", 0.5), lambda: opt.state[w].clear(), lambda: opt.state.pop(w)]


# what the step writes ---------------------------------------------------------------------------------------------------


@row
def counter():
    p = Point(0)

    def step(x):
        p.a += 1
        return x * p.a

    return step, setter(p, "a", 10)


@row
def counter_in_forward():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, x):
            self.n += 1
            return x * self.n

    net = Counting()
    return lambda x: net(x), setter(net, "n", 10)


@row
def counter_that_is_not_read():
    p, d = Point(0), {"n": 0}

    def step(x):
        p.a += 1
        d["n"] += 2
        return x * 2

    return step, setter(p, "a", 10), lambda: (p.a, d)


@row
def global_counter():
    globals()["COUNT"] = 0

    def step(x):
        global COUNT
        COUNT += 1
        return x * 2

    return step, [lambda: globals().update(COUNT=0)], lambda: COUNT


@row
def nonlocal_counter():
    n = 0

    def step(x):
        nonlocal n
        n += 1
        return x * (n % 2)

    return step, [], lambda: n


@row
def constants_of_the_package():
    p = types.SimpleNamespace(device=sg.device("cpu"), size=sg.ones(3, 1).shape, info=sg.finfo(sg.float32))
    return lambda x: x * sg.ones(1, device=p.device) * len(p.size) * p.info.bits, [
        *setter(p, "size", sg.ones(3).shape), *setter(p, "info", sg.finfo(sg.float64)),
        *setter(p, "device", sg.device("cpu", 0)),
    ]  # fmt: skip


@row
def records_of_a_log():
    records: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())
    log = logging.Logger("records")
    log.addHandler(handler)

    def step(x):
        log.info("a call")
        return x * 2

    return step, [records.clear], lambda: list(records)


@row
def history():
    kept: list[Any] = []
    seen: set[str] = set()
    last: dict[str, Any] = {}

    def step(x):
        y = x * 2
        kept.append(float(len("abc")))
        seen.add("a")
        last["shape"] = y.shape
        last.setdefault("first", 1)
        return y

    return step, [kept.clear, seen.clear, last.clear], lambda: (list(kept), set(seen), dict(last))


@row
def tensors_that_are_kept():
    p, kept = Point(), []

    def step(x):
        p.last = x * 2
        p.parts = {"a": [x + 1, 3], "n": 1}
        kept.append(p.last)
        return p.last.sum()

    return step, [kept.clear], lambda: (p.last.numpy(), p.parts["a"][0].numpy(), [k.numpy() for k in kept])


@row
def attribute_of_a_tensor():
    w = sg.ones(3)
    w.gain = 2.0
    return lambda x: x * w * w.gain, setter(w, "gain", 3.0, 4)


class WithGain(sg.Tensor):
    """A class of tensors that a user derives."""


@row
def attribute_of_a_derived_tensor():
    w = sg.ones(3).as_subclass(WithGain)
    w.gain = 2.0
    return lambda x: x * w.gain, setter(w, "gain", 3.0, 4)


@row
def vars_of_a_derived_tensor():
    w = sg.ones(3).as_subclass(WithGain)
    w.gain = 2.0
    return lambda x: x * vars(w)["gain"] * len(w.__dict__), setter(w, "gain", 3.0, 4)


@row
def hidden_state():
    p = Point()
    p.h = sg.zeros(3)

    def step(x):
        p.h = p.h * 0.5 + x
        return p.h * 1

    return step, setter(p, "h", sg.ones(3)), lambda: p.h.numpy()


@row
def new_objects_each_time():
    p = Point()

    def step(x):
        p.log = []
        p.log.append(1)
        p.config = {"a": [2]}
        return x * len(p.log)

    return step, [lambda: p.log.append(5), lambda: p.config["a"].append(3)], lambda: (list(p.log), copy.deepcopy(p.config))


@row
def moved_containers():
    queue = collections.deque([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    stack = [1.0] * 9

    def step(x):
        queue.append(queue.popleft())
        return x * queue[0] + stack.pop()

    return step, [lambda: queue.append(9.0)], lambda: (list(queue), list(stack))


@row
def an_array_written():
    a = np.zeros(3)

    def step(x):
        a[1] = 5.0
        return x * 2

    return step, [lambda: a.fill(0.0)], lambda: a.copy()


@row
def deleted():
    p = Point()

    def step(x):
        p.tmp = 1
        del p.tmp
        return x * hasattr(p, "tmp")

    return step, setter(p, "tmp", 3), lambda: hasattr(p, "tmp")


# names that no instruction has --------------------------------------------------------------------------------------------


@row
def getters():
    p = Point()
    p.other = Point()
    p.first, p.second = operator.attrgetter("far"), operator.attrgetter("other.close")
    scaled = operator.methodcaller("scale", 2.0)
    p.far = p.other.close = 2.0
    return lambda x: x * p.first(p) + p.second(p) * scaled(p), [
        *setter(p, "far", 3.0), *setter(p.other, "close", 3.0), *setter(p, "scale", lambda x: x * 5.0),
    ]  # fmt: skip


@row
def getter_made_in_the_function():
    p = Point()
    p.far = 2.0
    return lambda x: x * operator.attrgetter("far")(p), setter(p, "far", 3.0)


@row
def property_of_a_getter():
    class Holder:
        far = property(operator.attrgetter("hidden"))

    p = Holder()
    p.hidden = 2.0
    return lambda x: x * p.far, setter(p, "hidden", 3.0)


@row
def matched_names():
    p = Point()
    p.far = 2.0

    def step(x):
        match p:
            case Point(far=2.0):
                return x * 2
            case Point(far=other):
                return x * other * 5

    return step, setter(p, "far", 3.0, 2.0)


@row
def matched_positions():
    record = Record(2.0)

    def step(x):
        match record:
            case Record(2.0):
                return x * 2
            case Record(other):
                return x * other * 5

    return step, setter(record, "a", 3.0, 2.0)


@row
def fields_of_a_dataclass():
    p = Thawed(2.0)
    return lambda x: x * dataclasses.asdict(p)["by"] + dataclasses.astuple(p)[0], setter(p, "by", 3.0)


def constructors():
    level = [2.0]

    class Made:
        def __init__(self):
            self.a = level[0]

        @classmethod
        def again(cls):
            return cls()

    return Made(), putter(level, 0, 3.0)


@row
def object_of_the_type_of_another():
    p, changes = constructors()
    return lambda x: x * type(p)().a, changes


@row
def object_of_the_class_of_another():
    p, changes = constructors()
    return lambda x: x * p.__class__().a, changes


@row
def object_of_a_class_method():
    p, changes = constructors()
    return lambda x: x * p.again().a, changes


@row
def names_of_functions_and_classes():
    class Named:
        pass

    def named():
        pass

    p = Named()
    return lambda x: x * len(named.__name__) * len(type(p).__name__), [
        *setter(Named, "__name__", "Other"), *setter(named, "__name__", "other"),
    ]  # fmt: skip


@row
def subclasses_of_abstract_classes():
    class Abstract(abc.ABC):  # noqa: B024  (classes are registered with it)
        pass

    class Concrete:
        pass

    p = Concrete()
    return lambda x: x * (2 if isinstance(p, Abstract) else 3), [lambda: Abstract.register(Concrete) and None]


@row
def function_by_class():
    @functools.singledispatch
    def level(p):
        return 2.0

    p = Point()
    return lambda x: x * level(p), [lambda: level.register(Point, lambda p: 3.0) and None]


@row
def partial_method():
    class Partly(Point):
        twice = functools.partialmethod(Point.scale, 2.0)

    p = Partly()
    return lambda x: x * p.twice(), setter(p, "a", 3.0)


@row
def bases_of_a_class():
    first, second = fresh(Point), fresh(Point)
    second.kind = 3.0
    derived = type("Derived", (first,), {})
    p = derived()
    return lambda x: x * p.kind, setter(derived, "__bases__", (second,), (first,))


@row
def subscript_of_a_class():
    class Subscripted:
        level = 2.0

        def __class_getitem__(cls, i):
            return cls.level

    return lambda x: x * Subscripted[0], setter(Subscripted, "level", 3.0)


@row
def function_of_numpys_making():
    level = [2.0]
    scaled = np.frompyfunc(lambda v: v * level[0], 1, 1)
    return lambda x: x * float(scaled(2.0)), putter(level, 0, 3.0)


@row
def attribute_of_an_array():
    class Array(np.ndarray):
        pass

    a = np.ones(3, np.float32).view(Array)
    a.level = 2.0
    return lambda x: x * a.level, setter(a, "level", 3.0)


@row
def masked_array():
    m = np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1])
    return lambda x: x * float(m.sum()), [lambda: m.mask.__setitem__(1, True), *setter(m, "mask", [0, 0, 0])]


# what is not there --------------------------------------------------------------------------------------------------------


def absent(holder: Any, name: str) -> list[Any]:
    return [lambda: setattr(holder, name, 3.0), lambda: delattr(holder, name)]


@row
def no_variable():
    def step(x):
        try:
            return x * NOT_THERE  # type: ignore[name-defined]
        except NameError:
            return x

    module = [*putter(globals(), "NOT_THERE", 3.0), lambda: globals().pop("NOT_THERE") and None]
    return step, [*module, *absent(builtins, "NOT_THERE")]


@row
def no_slot():
    p = Slots(2.0)
    del p.a

    def step(x):
        try:
            return x * p.a
        except AttributeError:
            return x

    return step, absent(p, "a")


@row
def no_attribute_of_a_module():
    module = types.ModuleType("module")

    def step(x):
        try:
            return x * module.level
        except AttributeError:
            return x

    return step, [*absent(module, "level"), *setter(module, "__getattr__", lambda name: 5.0, lambda name: 6.0)]


@row
def attributes_that_a_module_finds():
    module, level = types.ModuleType("module"), [2.0]
    module.__getattr__ = lambda name: level[0]
    return lambda x: x * module.level, putter(level, 0, 3.0)


@row
def no_attribute_of_a_function():
    def scaled(x):
        return x * 2

    def step(x):
        try:
            return scaled(x) * scaled.level
        except AttributeError:
            return scaled(x)

    return step, absent(scaled, "level")


def history_of(make: Any, wrap: Any, rows: Iterable[int] | None = None) -> tuple[list[Any], Any]:
    """rows: how many copies of X each call gets; None: X itself."""
    step, changes, *more = make()
    run = wrap(step)
    counts = None if rows is None else iter(rows)
    found = []
    for change in (lambda: None, *changes):
        change()
        for _ in range(2 if counts is None else 3):
            result = run(sg.tensor(X if counts is None else np.tile(X, (next(counts), 1))))
            found.append((result.detach().numpy().copy(), *(copy.deepcopy(look()) for look in more)))
    return found, run


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
def test_state_and_change(make):
    expected, _ = history_of(make, lambda f: f)
    actual, run = history_of(make, sg.compile)
    for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
        assert_same(a, b, f"call {i}, {run.recompiles}", rtol=2e-6, signs=True)


BREAKS = {"strict": "error", "portable": "split"}


ONLY_WATCHED = {
    "all_of_vars", "an_array_written", "argparse_namespace", "attribute_of_an_array", "attributes_that_a_module_finds",
    "cached_function", "context_variables", "copied_settings", "counter", "counter_in_forward", "counter_that_is_not_read",
    "deleted", "dict_of_an_object", "dicts_of_all_kinds", "dynamic_attributes", "environment",
    "environment_that_is_not_there", "fields_of_a_dataclass", "function_by_class", "function_of_numpys_making",
    "getattr_with_a_default", "getattr_with_a_name", "getter_made_in_the_function", "global_counter", "globals", "hasattr",
    "hidden_state", "history", "masked_array", "metaclass", "moved_containers", "new_objects_each_time",
    "no_attribute_of_a_module", "nonlocal_counter", "records_of_a_log", "seeded_generators", "tensors_that_are_kept",
    "vars_of_a_derived_tensor", "vars_of_an_object",
}  # fmt: skip
"""Rows whose state only the instructions show: without watching these, the step runs in segments."""


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("on_break", ["split", "eager"])
@pytest.mark.parametrize("name", ROWS)
def test_state_and_change_without_watching_instructions(name, on_break, monkeypatch):
    watched_by("portable", monkeypatch)
    expected, _ = history_of(ROWS[name], lambda f: f)
    actual, run = history_of(ROWS[name], lambda f: sg.compile(f, on_break=on_break))
    for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
        assert_same(a, b, f"call {i}, {run.recompiles}", rtol=2e-6, signs=True)
    assert (run.segmented is not None) == (name in ONLY_WATCHED), run.segmented and str(run.segmented.why)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("unknown", [*sorted([*mentions.LOAD_NAMES, *mentions.LOAD_ATTRIBUTES]), "STORE_ATTR", "STORE_GLOBAL"])
def test_state_and_change_with_an_instruction_that_nobody_knows(unknown, monkeypatch):
    """As on a Python that is to come: what such an instruction does can't be told."""
    watched_by("portable", monkeypatch)
    instructions = mentions.dis.get_instructions

    def renamed(code):
        return [i._replace(opname="OTHER") if i.opname == unknown else i for i in instructions(code)]

    monkeypatch.setattr(mentions, "dis", types.SimpleNamespace(get_instructions=renamed, hasname=mentions.dis.hasname))
    for name, make in ROWS.items():
        expected, _ = history_of(make, lambda f: f)
        actual, run = history_of(make, lambda f: sg.compile(f, on_break="split"))
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            assert_same(a, b, f"{name}, call {i}, {run.recompiles}", rtol=2e-6, signs=True)


def test_one_warning_says_that_instructions_are_not_watched(monkeypatch):
    monkeypatch.setenv("STATICGRAD_WATCHER", "portable")
    monkeypatch.setattr(mentions, "_warned", set())
    p = Point()

    def step(x):
        p.a += 1
        return x * p.a

    with pytest.warns(RuntimeWarning, match=r"runs in segments, .*step changes by the name of a"):
        assert sg.compile(step, on_break="split")(sg.tensor(X)).tolist() == (X * 3).tolist()
    assert sg.compile(step, on_break="split")(sg.tensor(X)).tolist() == (X * 4).tolist()  # a warning would be an error
    with pytest.raises(TraceError, match="it can't be told what step changes by the name of a"):
        sg.compile(step)(sg.tensor(X))
    assert p.a == 4


def test_a_debugger_keeps_the_trace_function(monkeypatch):
    """It sees the lines of a function that is compiled, which is watched without instructions then."""
    lines, p = set(), Point()

    def debugger(frame, event, arg):
        if frame.f_code is step.__code__:
            lines.add(frame.f_lineno - step.__code__.co_firstlineno)
            return debugger
        return None

    def step(x):
        y = x * p.a
        return y + 1

    run, before = sg.compile(step), sys.gettrace()
    sys.settrace(debugger)
    try:
        found = run(sg.tensor(X)).tolist()
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(before)
    assert found == (X * 2 + 1).tolist()
    assert lines == {0, 1, 2}
    p.a = 5.0
    assert run(sg.tensor(X)).tolist() == (X * 5 + 1).tolist()


KEEP_A_SHAPE = {"columns", "hidden_state"}
"""Rows whose state has the shape of their argument."""


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("watcher", ["strict", "portable"])
@pytest.mark.parametrize("make", [ROWS[name] for name in sorted({*ROWS} - KEEP_A_SHAPE)], ids=sorted({*ROWS} - KEEP_A_SHAPE))
def test_state_and_change_while_each_call_has_another_shape(make, watcher, monkeypatch):
    """Traces over symbolic extents are as valid as others: until their guards say no."""
    watched_by(watcher, monkeypatch)
    expected, _ = history_of(make, lambda f: f, itertools.count(2))
    actual, run = history_of(make, lambda f: sg.compile(f, on_break=BREAKS[watcher]), itertools.count(2))
    for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
        assert_same(a, b, f"call {i}, {run.recompiles}", rtol=2e-6, signs=True)


# arguments --------------------------------------------------------------------------------------------------------------


class Equal:
    """Equal to all others of its class."""

    def __init__(self, by: float):
        self.by = by

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal)

    def __hash__(self) -> int:
        return 1


@dataclasses.dataclass(frozen=True)
class Frozen:
    by: float


@dataclasses.dataclass
class Thawed:
    by: float


# (function, arguments in turn, traces)
ARGUMENTS = {
    "equal objects": (lambda x, o: x * o.by, [Equal(2.0), Equal(3.0)], 2),
    "equal values in frozen dataclasses": (lambda x, o: x * o.by, [Frozen(2.0), Frozen(2.0), Frozen(3.0)], 2),
    "numbers of two types in them": (
        lambda x, o: x / o.by if o.by is True else x * 3,
        [Frozen(1), Frozen(True), Frozen(1.0)],
        3,
    ),
    "objects without a hash": (lambda x, o: x * o.by, [Thawed(2.0), Thawed(3.0)], 2),
    "frozensets": (lambda x, o: x * 2 if True in [i is True for i in o] else x * 3, [frozenset({1}), frozenset({True})], 2),
    "NumPy's zeros": (lambda x, o: x * o, [np.float32(0.0), np.float32(-0.0), np.float64(0.0)], 3),
    "zeros": (lambda x, o: x * o, [0.0, -0.0, 0, False, 0j.real, -0.0], 4),
    "nan": (lambda x, o: x * o, [float("nan"), float("nan"), np.float32("nan"), np.float32("nan")], 2),
    "keys of dicts": (lambda x, o: x * 2 if [*o][0] is True else x * 3, [{1: 2.0}, {True: 2.0}], 2),
    "slices": (lambda x, o: x[o], [slice(0, 1), slice(0, 2), slice(0, 1)], 2),
    "named by type": (lambda x, o: x * 2 if type(o[0]) is bool else x * 3, [(1,), (True,)], 2),
    "ranges and dates": (lambda x, o: x * len(str(o)), [range(2), range(2), datetime.date(2024, 1, 1)], 2),
}


@pytest.mark.parametrize("watcher", ["strict", "portable"])
@pytest.mark.parametrize(("fn", "values", "traces"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments(fn, values, traces, watcher, monkeypatch):
    watched_by(watcher, monkeypatch)
    step = sg.compile(fn, on_break=BREAKS[watcher])
    for value in values * 2:
        assert_same(step(sg.tensor(X), value), fn(sg.tensor(X), value), repr(value), rtol=2e-6, signs=True)
    assert watcher == "portable" or len(step.recompiles) == traces


def test_an_argument_that_changes():
    step = sg.compile(lambda x, o: x * o.by)
    argument = Equal(2.0)
    for by in (2.0, 3.0, 3.0):
        argument.by = by
        np.testing.assert_array_equal(step(X, argument), X * np.float32(by))
    assert step.recompiles[1:] == ["same arguments, but o.by is 3.0 instead of 2.0"]


# what can be neither guarded nor repeated -------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
PYTHON_RNG = random.Random(0)
NUMBERS = itertools.count()


def of_generator():
    yield 1.0
    yield 2.0


GENERATOR = of_generator()
RANDOM = "draws a random number inside a compiled function"
CLOCK = "reads the clock inside a compiled function"
IO = "reads or writes files inside a compiled function"
# expression -> text
REFUSED = {
    "random.random()": RANDOM, "random.randint(1, 3)": RANDOM, "random.choice([1.0, 2.0])": RANDOM,
    "random.shuffle([1.0, 2.0])": RANDOM, "PYTHON_RNG.gauss(0, 1)": RANDOM, "random.Random().random()": RANDOM,
    "random.seed(1)": RANDOM, "np.random.rand()": RANDOM, "np.random.randn(3)": RANDOM, "np.random.seed(0)": RANDOM,
    "np.random.permutation(3)": RANDOM, "RNG.normal()": RANDOM, "RNG.integers(3)": RANDOM, "RNG.shuffle([1])": RANDOM,
    "np.random.default_rng().random()": RANDOM, "np.random.RandomState().rand()": RANDOM, "os.urandom(2)": RANDOM,
    "uuid.uuid4().int": RANDOM, "time.time()": CLOCK, "time.perf_counter()": CLOCK, "time.sleep(0)": CLOCK,
    "datetime.datetime.now().year": CLOCK, "datetime.date.today().year": CLOCK, "open(os.devnull).read()": IO,
    "os.listdir('.')": IO, "os.path.exists('.')": IO, "np.load('nothing.npy')": IO, "next(NUMBERS)": "an iterator from outside",
    "max([Point()], key=operator.attrgetter('a')).a": "where a trace can't see it",
    "[*map(operator.methodcaller('scale', 2), [Point()])]": "where a trace can't see it",
    "'{0.a}'.format(Point())": "reads an attribute", "'{p.a}'.format_map({'p': Point()})": "reads an attribute",
    "next(GENERATOR)": "an iterator from outside", "[i for i in GENERATOR]": "an iterator from outside",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "watcher"), [*((x, "strict") for x in REFUSED), *((x, "portable") for x in REFUSED if "format" not in x)]
)
def test_refused(text, watcher, monkeypatch):
    watched_by(watcher, monkeypatch)
    state = random.getstate(), np.random.get_state()[2], RNG.bit_generator.state
    scope = {**globals()}
    exec(compile(f"def step(x):\n    y = x * 2\n    return y, {text}\n", __file__ + "x", "exec"), scope)
    step = sg.compile(scope["step"])
    with pytest.raises(sg.TraceError, match=REFUSED[text] if watcher == "strict" else "without watching") as caught:
        step(X)
    if watcher == "strict":
        assert caught.value.where is not None
        assert (caught.value.where.file, caught.value.where.line) == (__file__ + "x", 3)
        assert "outside" in str(caught.value)
    assert step.recompiles == []
    assert state == (random.getstate(), np.random.get_state()[2], RNG.bit_generator.state)


def test_a_refusal_can_not_be_caught():
    @sg.compile
    def step(x):
        try:
            return x * random.random()
        except TypeError:
            return x

    with pytest.raises(sg.TraceError, match=RANDOM):
        step(X)


def test_what_a_failing_trace_wrote_is_undone():
    p, items, table, n = Point(), [1.0, 2.0], {"a": 1.0}, 0

    @sg.compile(on_break="error")
    def step(x):
        nonlocal n
        n += 1
        p.a, p.new = 5.0, 1
        items.append(3.0)
        items.sort(reverse=True)
        table["b"] = table.pop("a")
        return np.median(x)

    with pytest.raises(TraceError, match=r"numpy\.median of an array"):
        step(X)
    assert (n, vars(p), items, table) == (0, {"a": 2.0}, [1.0, 2.0], {"a": 1.0})


def test_traces_leave_tracing_and_the_collector_as_they_were():
    import gc

    def tracer(frame, event, arg):
        return None

    step = sg.compile(lambda x: x * SCALE)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        step(X)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert gc.isenabled()


def test_output_is_repeated(capsys):
    @sg.compile
    def step(x):
        print("shape", x.shape, end="!\n")
        return x * 2

    for _ in range(3):
        step(X)
    assert capsys.readouterr().out == "shape (3,)!\n" * 3


def test_a_plain_step_is_traced_once():
    """Reads that give what they gave are no reason for another trace."""
    net = Scaled()
    opt = optim.Adam([sg.tensor(1.0, requires_grad=True)])
    p, d = Point(0), {"n": 0}

    @sg.compile
    def step(x, by=2.0):
        p.a += 1
        d["n"] += 1
        opt.zero_grad()
        return net(x) * by + [len(net.many) for _ in range(2)][0]

    for _ in range(4):
        step(X)
    assert (p.a, d["n"]) == (4, 4)
    assert step.recompiles == ["first call"]


def test_classes_of_modules_are_no_modules():
    """What a function mentions is found without a run, too: `sg.compare` asks for it."""
    from staticgrad.tracing.mentions import Mentions

    net = Scaled()
    mentions = Mentions(lambda x: net(x) if isinstance(net, Scaled) else Scaled)
    assert [module for _, module in mentions.modules] == [net]


def test_a_number_that_the_step_reads_and_moves_is_warned_of(monkeypatch):
    monkeypatch.setattr("staticgrad.tracing.specialization_cache.MOVING", 2)
    p = Point(0)

    @sg.compile
    def step(x):
        p.a += 1
        return x * int(p.a)

    step(X)
    step(X)
    with pytest.warns(RuntimeWarning, match=r"reads state that it changes itself .*p\.a \+ 1\) is 3 instead of 2.*in a tensor"):
        step(X)
