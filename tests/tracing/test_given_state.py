"""Captured state that each call finds another value in: one trace serves values of one structure, wherever they lie."""

from __future__ import annotations

import array
import collections
import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.tracing import state_inputs
from tests.helpers import assert_same

CALLS = 12
W = sg.tensor(np.linspace(-1, 1, 6).reshape(2, 3), dtype=sg.float32)
MODES: dict[str, dict[str, Any]] = {
    "compiled": {}, "strict": {"numerics": "strict"}, "segments": {"on_break": "split"},
}  # fmt: skip


@dataclasses.dataclass
class Batch:
    x: Any
    k: int = 0
    name: str = ""

    def scaled(self, w: Any) -> Any:
        return w * self.x


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any


@dataclasses.dataclass(slots=True)
class Slots:
    x: Any


class Plain:
    def __init__(self, x: Any):
        self.x = x


class Pair(NamedTuple):
    x: Any
    y: Any


def drawn(i: int) -> np.ndarray:
    return np.random.default_rng(i).standard_normal((2, 3)).astype(np.float32)


def tensor(i: int) -> Any:
    return sg.tensor(drawn(i))


def closure(i: int) -> Callable[[], Any]:
    t = tensor(i)
    return lambda: t * 2


def with_default(i: int) -> Callable[..., Any]:
    def run(t: Any = tensor(i)) -> Any:
        return t * 2

    return run


KINDS: dict[str, tuple[Callable[[int], Any], Callable[[Any], Any], int]] = {
    "tensor": (tensor, lambda v: W * v, 2),
    "array": (drawn, lambda v: W * sg.tensor(v), 2),
    "array as an operand": (drawn, lambda v: W * v, 2),
    "array that shares memory": (drawn, lambda v: W * sg.from_numpy(v), 2),
    "array of NumPy's": (drawn, lambda v: W * sg.tensor(np.exp(v).sum(0)), 2),
    "object of a tensor": (lambda i: Plain(tensor(i)), lambda v: W * v.x, 2),
    "object of an array": (lambda i: Plain(drawn(i)), lambda v: W * sg.tensor(v.x), 2),
    "dataclass": (lambda i: Batch(tensor(i), i, str(i)), lambda v: W * v.x, 2),
    "dataclass with a number": (lambda i: Batch(tensor(i), i, str(i)), lambda v: W * v.x * v.k, 3),
    "frozen dataclass": (lambda i: Frozen(tensor(i)), lambda v: W * v.x, 2),
    "slots": (lambda i: Slots(tensor(i)), lambda v: W * v.x, 2),
    "objects in a list in an object": (lambda i: Plain([Batch(tensor(i), i)]), lambda v: W * v.x[0].x, 2),
    "closure": (closure, lambda v: W * v(), 2),
    "closure over a number": (lambda i: lambda: i + 1, lambda v: W * v(), 3),
    "function with a default": (with_default, lambda v: W * v(), 2),
    "partial": (lambda i: functools.partial(sg.mul, tensor(i)), lambda v: v(W), 2),
    "method": (lambda i: Batch(tensor(i)).scaled, lambda v: v(W), 2),
    "named tuple of tensors": (lambda i: Pair(tensor(i), tensor(i + 1)), lambda v: W * v.x + v.y, 2),
    "named tuple of arrays": (lambda i: Pair(drawn(i), drawn(i + 1)), lambda v: W * sg.tensor(v.x) + sg.tensor(v.y), 2),
    "named tuple of integers": (lambda i: Pair(i, i + 1), lambda v: W * v.x + v.y, 3),
    "list of integers": (lambda i: [i, i + 1, i + 2], lambda v: W * v[1] + v[2], 3),
    "list of equal integers": (lambda i: [2, 3], lambda v: W * v[1], 2),
    "list of integers as a tensor": (lambda i: [i, i + 1, i + 2], lambda v: W * sg.tensor(v), 3),
    "list of numbers as a tensor": (lambda i: [i / 3, i + 1.0, 2], lambda v: W * sg.as_tensor(v), 3),
    "list of integers as an index": (lambda i: [i % 2, (i + 1) % 2], lambda v: W[v], 3),
    "tuple of integers": (lambda i: (i, i + 1), lambda v: W * v[1] + v[0], 3),
    "dict of tensors": (lambda i: {"x": tensor(i)}, lambda v: W * v["x"], 2),
    "dict of arrays": (lambda i: {"x": drawn(i)}, lambda v: W * sg.tensor(v["x"]), 2),
    "dict of numbers": (lambda i: {"k": i}, lambda v: W * v["k"], 3),
    "ordered dict": (lambda i: collections.OrderedDict(x=tensor(i)), lambda v: W * v["x"], 2),
    "deque of tensors": (lambda i: collections.deque([tensor(i), tensor(i + 1)]), lambda v: W * v[0] + v[1], 2),
    "number": (lambda i: i, lambda v: W * v, 3),
    "number of NumPy's": (lambda i: np.float32(i / 3), lambda v: W * v, 3),
    "array.array": (lambda i: array.array("i", [i, i + 1]), lambda v: W * v[1], CALLS),  # its members are no objects
}  # fmt: skip
"""How a value is made for a call, how it is used, and the most traces of all calls."""


class Holder:
    v: Any = None


class Slotted:
    __slots__ = ("v",)


class Module(sg.nn.Module):
    def __init__(self, use: Callable[[Any], Any]):
        super().__init__()
        self.use, self.v = use, None

    def forward(self) -> Any:
        return self.use(self.v)


SPACE: dict[str, Any] = {}
Put = Callable[[Any], None]


def in_attribute(use: Callable[[Any], Any]) -> tuple[Callable[[], Any], Put]:
    holder = Holder()
    return lambda: use(holder.v), lambda v: setattr(holder, "v", v)


def in_slot(use: Callable[[Any], Any]) -> tuple[Callable[[], Any], Put]:
    holder = Slotted()
    return lambda: use(holder.v), lambda v: setattr(holder, "v", v)


def in_class(use: Callable[[Any], Any]) -> tuple[Callable[[], Any], Put]:
    class Own(Holder):
        v = None

    return lambda: use(Own.v), lambda v: setattr(Own, "v", v)


def in_module(use: Callable[[Any], Any]) -> tuple[Callable[[], Any], Put]:
    module = Module(use)
    return module.forward, lambda v: setattr(module, "v", v)


def in_cell(use: Callable[[Any], Any]) -> tuple[Callable[[], Any], Put]:
    held = None

    def put(v: Any) -> None:
        nonlocal held
        held = v

    return lambda: use(held), put


def in_global(use: Callable[[Any], Any]) -> tuple[Callable[[], Any], Put]:
    space: dict[str, Any] = {"use": use, "v": None, "__name__": "given"}
    exec("def run(): return use(v)", space)
    return space["run"], lambda v: space.__setitem__("v", v)


def in_list(use: Callable[[Any], Any]) -> tuple[Callable[[], Any], Put]:
    held = [None, 1]
    return lambda: use(held[0]), lambda v: held.__setitem__(0, v)


def in_loop(use: Callable[[Any], Any]) -> tuple[Callable[[], Any], Put]:
    held = [None]
    return lambda: sum(use(v) for v in held), lambda v: held.__setitem__(0, v)


def in_dict(use: Callable[[Any], Any]) -> tuple[Callable[[], Any], Put]:
    held: dict[str, Any] = {}
    return lambda: use(held["v"]), lambda v: held.__setitem__("v", v)


PLACES = {f.__name__[3:]: f for f in (
    in_attribute, in_slot, in_class, in_module, in_cell, in_global, in_list, in_loop, in_dict,
)}  # fmt: skip


FEW = ("array", "dataclass with a number", "closure", "list of integers", "named tuple of arrays")
"""Kinds of values for all places."""


@pytest.mark.parametrize(
    ("kind", "place"),
    [*((kind, "attribute") for kind in KINDS), *((kind, place) for place in PLACES for kind in FEW if place != "attribute")],
)
def test_one_trace_serves_all(kind, place):
    make, use, most = KINDS[kind]
    fn, put = PLACES[place](use)
    step = sg.compile(fn)
    for i in range(CALLS):
        put(make(i))
        assert_same(step(), use(make(i)) * 1, f"call {i}", 1e-5)
    assert step.traces <= most, step.recompiles
    assert step.segmented is None


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "compiled"])
@pytest.mark.parametrize("kind", FEW)
def test_modes(kind, mode):
    make, use, _ = KINDS[kind]
    fn, put = in_attribute(use)
    step = sg.compile(fn, **MODES[mode])
    for i in range(6):
        put(make(i))
        for _ in range(2):
            assert_same(step(), use(make(i)) * 1, f"call {i}", 1e-5)


@pytest.mark.parametrize("kind", ["tensor", "array", "object of a tensor", "closure", "named tuple of arrays"])
def test_gradients(kind):
    make, use, most = KINDS[kind]

    def slopes(w: Any, v: Any) -> Any:
        (first,) = sg.autograd.grad(((w * use(v)) ** 3).sum(), w, create_graph=True)
        (second,) = sg.autograd.grad((first**2).sum(), w)
        return first, second

    w, holder = sg.tensor(drawn(50), requires_grad=True), Holder()
    step = sg.compile(lambda w: slopes(w, holder.v))
    for i in range(CALLS):
        holder.v = make(i)
        for found, expected in zip(step(w), slopes(w, make(i)), strict=True):
            assert_same(found.detach(), expected.detach(), f"call {i}", 1e-5)
    assert step.traces <= most


LAST, ARRAY, LIST = Batch(tensor(5)), drawn(5), [tensor(5)]


def counts(h: Any) -> Any:
    h.b.k += 1
    return W * h.b.x * h.b.k


def replaces(h: Any) -> Any:
    h.b.x = h.b.x * 2
    return W * h.b.x


def changes_tensor(h: Any) -> Any:
    h.b.x.mul_(2)
    return W * h.b.x


def changes_array(h: Any) -> Any:
    h.a[0] = 7
    return W * sg.tensor(h.a)


def changes_one_of_two(h: Any) -> Any:
    h.a *= 2
    return W * sg.tensor(h.c)


def notes(h: Any) -> Any:
    h.b.x.append(1)
    return W * len(h.b.x)


def appends(h: Any) -> Any:
    h.a.append(h.a[0] * 2)
    return W * h.a[1]


def keeps(h: Any) -> Any:
    h.c = h.b
    return W * h.b.x


def renews(h: Any) -> Any:
    h.b = Batch(h.b.x + 1, h.b.k + 1)
    return W * h.b.x * h.b.k


def counter(i: int) -> Callable[[], Any]:
    t, n = tensor(i), 0

    def run() -> Any:
        nonlocal n
        n += 1
        return t * n

    return run


def put(h: Any, **values: Any) -> None:
    for name, value in values.items():
        setattr(h, name, value)


def twice(i: int, make: Callable[[int], Any]) -> dict[str, Any]:
    first = make(i)
    return {"a": first, "c": first if i % 2 else make(i + 50)}


AS_EAGERLY: dict[str, tuple[Callable[[Any], Any], Callable[[int], dict[str, Any]]]] = {
    "a counter in it": (counts, lambda i: {"b": Batch(tensor(i), i)}),
    "a tensor in it is replaced": (replaces, lambda i: {"b": Batch(tensor(i))}),
    "a tensor in it is changed": (changes_tensor, lambda i: {"b": Batch(tensor(i))}),
    "a list in it is changed": (notes, lambda i: {"b": Batch([i])}),
    "an array is changed": (changes_array, lambda i: {"a": drawn(i)}),
    "one array in two places is changed": (changes_one_of_two, lambda i: twice(i, drawn)),
    "a view of an array is changed": (
        changes_one_of_two, lambda i: {"a": (a := drawn(i)), "c": a[:] if i % 2 else drawn(i + 9)}
    ),
    "a list is changed": (appends, lambda i: {"a": [tensor(i)]}),
    "it is kept": (keeps, lambda i: {"b": Batch(tensor(i))}),
    "it is renewed": (renews, lambda i: {"b": Batch(tensor(i), i)} if i % 3 == 0 else {}),
    "a closure that counts": (lambda h: W * h.a(), lambda i: {"a": counter(i)}),
    "an object is compared": (lambda h: W * (2.0 if h.b is LAST else 1.0), lambda i: {"b": LAST if i % 3 == 2 else Batch(i)}),
    "an array is compared": (
        lambda h: W * sg.tensor(h.a) * (2.0 if h.a is ARRAY else 1.0), lambda i: {"a": ARRAY if i % 3 == 2 else drawn(i)}
    ),
    "a list is compared": (
        lambda h: W * h.a[0] * (2.0 if h.a is LIST else 1.0), lambda i: {"a": LIST if i % 3 == 2 else [tensor(i)]}
    ),
    "a list in a tuple is compared": (
        lambda h: W * h.a[1][0] * (2.0 if h.a[1] is LIST else 1.0), lambda i: {"a": (i, LIST if i % 3 == 2 else [tensor(i)])}
    ),
    "two places of an object": (
        lambda h: W * h.a.x * (2.0 if h.a is h.c else 1.0), lambda i: twice(i, lambda j: Batch(tensor(j)))
    ),
    "two places of an array": (
        lambda h: sg.tensor(h.a) * (2.0 if h.a is h.c else 1.0) + sg.tensor(h.c), lambda i: twice(i, drawn)
    ),
    "two places of a tensor": (lambda h: h.a * (2.0 if h.a is h.c else 1.0) + h.c, lambda i: twice(i, tensor)),
    "a branch by a number": (lambda h: W * h.b.x * (2.0 if h.b.k > 3 else 1.0), lambda i: {"b": Batch(tensor(i), i)}),
    "a number of steps": (lambda h: sum((W * j for j in range(h.b.k)), h.b.x), lambda i: {"b": Batch(tensor(i), i % 4)}),
    "a number as an extent": (lambda h: h.b.x * sg.ones(h.b.k + 1).sum(), lambda i: {"b": Batch(tensor(i), i)}),
    "a text": (lambda h: W * len(h.b.name), lambda i: {"b": Batch(None, 0, "a" * i)}),
    "all attributes": (lambda h: W * len(vars(h.b)), lambda i: {"b": Batch(None)}),
    "dataclasses that are equal": (lambda h: W * (2.0 if h.b == Batch(None, 3) else 1.0), lambda i: {"b": Batch(None, i % 5)}),
    "kinds of numbers": (
        lambda h: sg.tensor([1, 2]) * h.b.k, lambda i: {"b": Batch(None, [1, 2, 3, 4.5, 5, True, 6.5, -0.0, 0.0][i])}
    ),
    "other shapes": (lambda h: sg.tensor(h.a).sum() * h.a.shape[0], lambda i: {"a": np.ones((1 + i % 3, 2), np.float32)}),
    "other dtypes": (lambda h: sg.tensor(h.a).sum() + W, lambda i: {"a": np.ones(2, np.float32 if i % 2 else np.float64)}),
    "columns of an array": (lambda h: W * sg.tensor(h.a), lambda i: {"a": np.asfortranarray(drawn(i))}),
    "a value of an array": (lambda h: W * float(h.a[0, 0]), lambda i: {"a": drawn(i)}),
    "a branch by an array": (lambda h: W * (2.0 if h.a[0, 0] > 0 else 1.0), lambda i: {"a": drawn(i)}),
    "an array of texts": (lambda h: W * len(h.a[0]), lambda i: {"a": np.array(["a" * (i + 1), "b"])}),
    "an array of objects": (lambda h: W * h.a[0], lambda i: {"a": np.array([i, None], object)}),
    "other keys": (lambda h: W * sum(h.a.values()), lambda i: {"a": {k: tensor(i) for k in "abc"[: 1 + i % 3]}}),
    "other lengths": (lambda h: W * sum(h.a), lambda i: {"a": [tensor(i + j) for j in range(1 + i % 3)]}),
    "sorted numbers": (lambda h: W * sorted(h.a)[0], lambda i: {"a": [i, 5 - i, 2]}),
    "numbers among others": (lambda h: W * (2.0 if 3 in h.a else 1.0), lambda i: {"a": [i, 5 - i, 2]}),
    "a text of numbers": (lambda h: W * len(str(h.a)), lambda i: {"a": [i * 7, 5 - i, 2]}),
    "None at times": (lambda h: W if h.b is None else W * h.b.x, lambda i: {"b": Batch(tensor(i)) if i % 3 else None}),
}  # fmt: skip


def world(h: Any) -> Any:
    """What a call may have changed."""
    found = [h.a, *([h.c.x] if isinstance(h.c, Batch) else [h.c]), *(vars(h.b).values() if isinstance(h.b, Batch) else [])]
    return [[*x] if isinstance(x, list) else x for x in found if isinstance(x, (sg.Tensor, np.ndarray, list, int))]


class Three:
    a = b = c = None


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("mode", ["compiled", "segments"])
@pytest.mark.parametrize("name", AS_EAGERLY)
def test_as_eagerly(name, mode):
    fn, make = AS_EAGERLY[name]
    mine, other = Three(), Three()
    step = sg.compile(lambda: fn(mine), **MODES[mode])
    for i in range(9):
        given = make(i)
        put(mine, **given)
        put(other, **(given if "compared" in name else make(i)))
        for again in range(2):
            assert_same(step(), fn(other) * 1, f"call {i}, {again}", 1e-5)
            for a, b in zip(world(mine), world(other), strict=True):
                assert_same(a, b, f"call {i}, {again}", 1e-5)
    if name == "it is kept":
        assert mine.c is mine.b


def test_an_object_that_is_returned_is_the_one_that_lies_there():
    holder = Holder()
    step = sg.compile(lambda: (holder.v, W * holder.v.x))
    for i in range(6):
        holder.v = Batch(tensor(i))
        assert step()[0] is holder.v


def test_an_object_that_is_an_argument_too():
    holder = Holder()
    step = sg.compile(lambda b: b.x * (2.0 if b is holder.v else 1.0))
    for i in range(9):
        holder.v = Batch(tensor(i))
        b = holder.v if i % 3 == 2 else Batch(tensor(i + 50))
        assert_same(step(b), b.x * (2.0 if b is holder.v else 1.0), f"call {i}")


GLOBAL, ITEMS = sg.ones(3), np.ones(3, np.float32)


def pair(make: Callable[[], Any], one: bool) -> tuple[Any, Any]:
    first = make()
    return first, first if one else make()


COMPARED: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "a tensor and a global": (lambda x: x * (2.0 if x is GLOBAL else 1.0), lambda i: (GLOBAL if i % 2 else sg.ones(3),)),
    "not that tensor": (lambda x: x * (2.0 if x is not GLOBAL else 1.0), lambda i: (GLOBAL if i % 2 else sg.ones(3),)),
    "an array and a global": (
        lambda x: sg.tensor(x) * (2.0 if x is ITEMS else 1.0), lambda i: (ITEMS if i % 2 else np.ones(3, np.float32),)
    ),
    "a list and a global": (lambda x: x[0] * (2.0 if x is LIST else 1.0), lambda i: (LIST if i % 2 else [tensor(i)],)),
    "an item of a list": (lambda x: x[0] * (2.0 if x[0] is GLOBAL else 1.0), lambda i: ([GLOBAL if i % 2 else sg.ones(3)],)),
    "two tensors": (lambda x, y: x + y * (2.0 if x is y else 1.0), lambda i: pair(lambda: sg.ones(3), i % 2 == 1)),
    "two arrays": (
        lambda x, y: sg.tensor(x) + sg.tensor(y) * (2.0 if x is y else 1.0),
        lambda i: pair(lambda: np.ones(3, np.float32), i % 2 == 1),
    ),
    "a default": (
        lambda x, y=GLOBAL: x * (1.0 if y is GLOBAL else 2.0) + y,
        lambda i: (sg.ones(3), *[(), (GLOBAL,), (sg.ones(3),)][i % 3]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", COMPARED)
def test_arguments_that_are_compared(name, mode):
    """`is` says what it says eagerly, in each call."""
    fn, make = COMPARED[name]
    step = sg.compile(fn, **MODES[mode])
    for i in range(8):
        given = make(i)
        assert_same(step(*given), fn(*given), f"call {i}")
    assert step.traces <= 3, step.recompiles


LISTS: dict[str, Callable[[int], Any]] = {
    "a number": lambda k: W * sg.tensor(k),
    "a list": lambda k: W[:, :2] * sg.tensor([k, k + 1]),
    "a dtype": lambda k: W[:, :2] * sg.tensor([k, 1], dtype=sg.float64),
    "nested": lambda k: W[:, :2] * sg.as_tensor([[k, 1], [2, k * 2]]),
    "kinds": lambda k: sg.tensor([k / 2, 1]),
    "powers": lambda k: sg.tensor([2 ** (k - 2), 1]),
    "an index": lambda k: W[[k % 2, -1]],
    "two indices": lambda k: W[[k % 2, 1], [0, k % 3]],
    "take": lambda k: sg.take(W, [k % 3, 1], 1),
    "an operand": lambda k: sg.add(W[:, :2], sg.tensor((k, k))),
    "a narrow dtype": lambda k: sg.tensor([k * 40], dtype=sg.int8) * 1,
    "values of tensors": lambda k: sg.tensor([W[0, k % 3].item(), 1.0]) * 2,
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(("place", "mode"), [("argument", "compiled"), ("state", "compiled"), ("state", "segments")])
def test_lists_of_numbers(name, place, mode):
    fn, holder = LISTS[name], Holder()
    step = sg.compile(fn if place == "argument" else lambda: fn(holder.v), **MODES[mode])
    for k in (1, 2, 3, 4, 5, 0, 3, 2):
        holder.v = k
        given = (k,) if place == "argument" else ()
        try:
            expected = fn(k)
        except Exception as error:
            with pytest.raises(type(error)):
                step(*given)
        else:
            found = step(*given)
            assert_same(found, expected, f"of {k}")
            assert found.dtype == expected.dtype
    assert step.traces <= 5, step.recompiles


@pytest.mark.filterwarnings("ignore:.*was traced anew in each of its latest 16 calls")
def test_structures_are_bounded(monkeypatch):
    monkeypatch.setattr(state_inputs, "MOST", 8)
    holder = Holder()
    step = sg.compile(lambda: W * len(holder.v))
    for i in range(20):
        holder.v = ["a"] if i < 3 else ["a"] * i
        assert_same(step(), W * len(holder.v))
    assert 1 < len(step.state.structures) <= 8
