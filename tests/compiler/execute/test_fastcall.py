"""Fast calls: the arguments that they take, their results, and the owners of the memory."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler.backend import abi as t
from staticgrad.compiler.execute import fastcall
from staticgrad.compiler.execute.fastcall import LARGE, Spec, fast_call
from staticgrad.compiler.runtime.plan_memory import disjoint
from staticgrad.ir import REGISTRY
from staticgrad.operators import F, apply
from staticgrad.tracing.step_loop import FALLBACK, tensors
from tests.compiler.helpers import Bench
from tests.helpers import assert_close

MODE = object()
BIG = LARGE // 4  # float32 elements of a result that is used again


def opened(b: Bench, *fetches: Any, specs: list[Spec] | None = None, **options: Any) -> Any:
    """(a fast call of the plan, the plan), bound to the bench's variables."""
    plan = b.plan(*fetches)
    plan.bind(b.store)
    given = [Spec(a.dtype, a.shape) for a in b.arrays] if specs is None else specs
    return fast_call(plan.control, given, **options), plan


# arguments ----------------------------------------------------------------------------------------------------------

X, INDEX = np.arange(12, dtype=np.float32).reshape(3, 4), np.array([2, 0])


class Sub(np.ndarray):
    pass


TAKEN: dict[str, tuple[Any, ...]] = {
    "the same kinds": (X, INDEX, MODE),
    "a view": (np.arange(20, dtype=np.float32)[4:16].reshape(3, 4), INDEX, MODE),
    "a read-only array": (np.broadcast_to(X, (1, 3, 4))[0], INDEX, MODE),
    "one array twice": (X, INDEX[:2], MODE),
}
DECLINED: dict[str, tuple[Any, ...]] = {
    "another shape": (X[:2], INDEX, MODE),
    "another number of axes": (X.reshape(12), INDEX, MODE),
    "more axes": (X[None], INDEX, MODE),
    "another dtype": (X.astype(np.float64), INDEX, MODE),
    "another byte order": (X.astype(">f4"), INDEX, MODE),
    "columns first": (np.asfortranarray(X), INDEX, MODE),
    "steps": (np.zeros((6, 4), np.float32)[::2], INDEX, MODE),
    "a subclass": (X.view(Sub), INDEX, MODE),
    "a list": (X.tolist(), INDEX, MODE),
    "a tensor where none is expected": (sg.tensor(X), INDEX, MODE),
    "None": (None, INDEX, MODE),
    "another object": (X, INDEX, object()),
    "an array for the object": (X, INDEX, X),
    "too few": (X, INDEX),
    "too many": (X, INDEX, MODE, MODE),
    "none": (),
    "a bad index": (X, np.array([2, 3]), MODE),
}


def taker() -> tuple[Any, Any]:
    b = Bench()
    y = F.take(b.feed(value=X), b.feed(value=INDEX), 0) * 2
    return opened(b, y, specs=[Spec(X.dtype, X.shape), Spec(INDEX.dtype, INDEX.shape), Spec(None, (), MODE)])


@pytest.mark.parametrize("name", TAKEN)
def test_arguments_that_fit(name: str):
    call, _ = taker()
    x, index, _ = TAKEN[name]
    (result,) = call(*TAKEN[name])
    assert_close(result, x[index] * 2, None)


@pytest.mark.parametrize("name", DECLINED)
def test_arguments_that_are_declined(name: str):
    """Without an effect: the next call is as good as any."""
    call, _ = taker()
    assert call(*DECLINED[name]) is None
    (result,) = call(X, INDEX, MODE)
    assert_close(result, X[INDEX] * 2, None)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "complex64", "complex128"])
def test_numbers_of_every_kind_are_taken(kind: str):
    step = sg.compile(lambda x: (x * x + 1, x.sum(0)))
    x = sg.tensor([[1.0, 2.0, 3.0]], dtype=kind)
    step(x)
    for _ in range(3):
        found = step.latest.fast_call((x,))
        assert found is not FALLBACK
        assert [y.tolist() for y in found] == [[[2.0, 5.0, 10.0]], [1.0, 2.0, 3.0]]
        assert [y.dtype for y in found] == [x.dtype] * 2
    others = {"float16": sg.bfloat16, "bfloat16": sg.float16, "complex64": sg.float64, "complex128": sg.complex64}
    assert step.latest.fast_call((x.real.to(others[kind]),)) is FALLBACK


def test_a_bare_argument_is_no_tensor():
    b = Bench()
    y = b.feed(value=X) * 2
    for bare in (None, True, False):
        call, _ = opened(b, y, specs=[Spec(X.dtype, X.shape, bare=bare)], box=tensors())
        for x, declined in ((X, bare is False), (sg.tensor(X), bare is True)):
            found = call(x)
            assert (found is None) is declined
            if not declined:
                assert_close(found[0], X * 2, None)


def test_a_function_keeps_what_it_reads(monkeypatch: pytest.MonkeyPatch):
    """Threads that make the first functions at the same time may each make the table of C functions and the method."""
    found = []
    for name in ("api", "_method"):
        make = getattr(fastcall, name).__wrapped__
        monkeypatch.setattr(fastcall, name, lambda make=make: found.append(weakref.ref(made := make())) or made)
    call, _ = taker()
    gc.collect()
    assert found
    assert all(ref() is not None for ref in found)
    assert call(X, INDEX, MODE) is not None


def test_a_plan_in_use_declines():
    call, plan = taker()
    assert plan.alone(call, X, INDEX, MODE) is None
    assert call(X, INDEX, MODE) is not None


def test_memory_that_arguments_must_not_share():
    b = Bench()
    whole = np.arange(40, dtype=np.float32)
    y = b.feed(value=whole[:8]) * 1
    at = whole.ctypes.data
    call, _ = opened(b, y, apart=[(at + 80, at + 100), (at + 32, at + 40), (at + 36, at + 48)])
    free = [i for i in range(33) if call(whole[i : i + 8]) is not None]
    taken = {*range(8, 12), *range(20, 25)}
    assert free == [i for i in range(33) if not taken.intersection(range(i, i + 8))]


@pytest.mark.parametrize("field", ["DATA_OFFSET", "NDIM", "BASE", "DTYPE", "FLAGS", "WEAK", "TYPE"])
def test_fields_that_lie_elsewhere_are_noticed(field: str, monkeypatch: pytest.MonkeyPatch):
    t.check_headers()
    monkeypatch.setattr(t, field, t.REFERENCES)
    with pytest.raises(ImportError, match="this NumPy keeps the fields of its arrays elsewhere"):
        t.check_headers()


def test_disjoint_ranges():
    assert disjoint([(5, 7), (1, 3), (2, 4), (7, 9), (20, 21)]) == [(1, 4), (5, 9), (20, 21)]


# results ------------------------------------------------------------------------------------------------------------

RESULTS: dict[str, tuple[Callable[[Bench], list[Any]], bool]] = {
    "written by the rows": (lambda b: [F.exp(x := b.feed(4, 5)), F.sum(x), F.sum(x, 0)], True),
    "twice and as views": (lambda b: [y := F.exp(b.feed(4, 5)), y, y.T, y[1:, ::2]], True),
    "variables and constants": (lambda b: [b.variable(4, 5), F.zeros_like(b.feed(2, 3))], True),
    "a variable's old and new value": (lambda b: [w := b.variable(3), b.assign(w, w * b.feed(3)), w[1:]], True),
    "nothing": (lambda b: [b.feed(0, 3) * 2], True),
    "no axes": (lambda b: [b.feed(value=np.float32(2)) * 3, F.argmax(b.feed(5), 0)], True),
    "draws": (lambda b: [F.exp(b.feed(4, 5))], True),
    "feeds": (lambda b: [x := b.feed(4, 5), x[1:], F.exp(x)], False),
    "of the host": (lambda b: [apply(REGISTRY["linalg_svdvals"], b.feed(4, 5))], False),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name: str):
    """As `Plan.run` returns them: fresh, in arrays of their own."""
    write, native = RESULTS[name]
    b = Bench()
    plan = b.plan(*write(b))
    stores = [{cell: array.copy() for cell, array in b.store.items()} for _ in range(2)]
    expected = [plan.run(b.arrays, stores[0]) for _ in range(3)]
    plan.bind(stores[1])
    assert bool(plan.simple and not plan.results.late) == native
    if native:
        call = fast_call(plan.control, [Spec(a.dtype, a.shape) for a in b.arrays])
        for results, values in zip([call(*b.arrays) for _ in range(3)], expected, strict=True):
            assert type(results) is list
            for result, value in zip(results, values, strict=True):
                assert type(result) is np.ndarray
                assert result.dtype == value.dtype
                assert result.flags.num == np.empty(value.shape, value.dtype).flags.num
                np.testing.assert_array_equal(result, value)


def test_a_variable_with_another_array():
    b = Bench()
    w = b.variable(3)
    call, plan = opened(b, w, w * 2)
    for value in (1, 2):
        plan.bind({cell: np.full(3, value, np.float32) for cell in b.store})
        assert [r.tolist() for r in call()] == [[value] * 3, [2 * value] * 3]


def test_nothing_is_leaked():
    b = Bench()
    x = b.feed(4, 5)
    call, plan = opened(b, F.exp(x), F.sum(x), y := F.tanh(x), y[1:])
    watched = [None, b.arrays[0], b.arrays[0].dtype, np.ndarray, call, plan.control, sg.Tensor, False]
    large = np.zeros((4, 6), np.float32)

    def counts() -> list[int]:
        for _ in range(1000):
            call(*b.arrays)
            call(large)
        gc.collect()
        return [sys.getrefcount(o) for o in watched]

    counts()
    for before, after in zip(counts(), counts(), strict=True):
        assert abs(after - before) < 100


def test_tensors_are_made_as_wrap_makes_them():
    step = sg.compile(lambda x: (x * 2, x + 1))
    for _ in range(3):
        y, z = step(sg.tensor(X))
    for tensor in (y, z):
        assert type(tensor) is sg.Tensor
        assert (tensor._record, tensor._tracked, tensor._base, tensor._views) == (None, False, None, None)
        assert tensor.__dict__ == {}
        tensor.note = 1
        assert tensor.requires_grad_() is tensor
    (y * z).sum().backward()
    np.testing.assert_array_equal(y.grad, X + 1)
    gone = weakref.ref(y)
    del y, z, tensor
    gc.collect()
    assert gone() is None


# memory that is used again ------------------------------------------------------------------------------------------

KEPT: dict[str, Callable[[Any], Any]] = {
    "the tensor": lambda y: y,
    "its array": lambda y: y.numpy(),
    "a view": lambda y: y.numpy()[3:5],
    "a view of a view": lambda y: y.numpy().reshape(2, -1)[1][3:],
    "a tensor's slice": lambda y: y[5:9],
    "detached": lambda y: y.detach(),
    "a transposed view": lambda y: y.numpy().reshape(2, -1).T,
    "a memoryview": lambda y: memoryview(y.numpy()),
    "an array of its buffer": lambda y: np.frombuffer(memoryview(y.numpy()), np.float32),
    "DLPack": lambda y: np.from_dlpack(y.numpy()),
    "an iterator": lambda y: y.numpy().flat,
    "a weak reference": lambda y: weakref.ref(y._data),
    "the interface": lambda y: np.asarray(Interface(y.numpy())),
    "a list": lambda y: [y],
    "a leaf of a tape": lambda y: y.requires_grad_() * y,
}


class Interface:
    """An object that gives its memory by NumPy's protocol."""

    def __init__(self, array: np.ndarray):
        self.array = array
        self.__array_interface__ = array.__array_interface__


def value_of(kept: Any) -> Any:
    if isinstance(kept, weakref.ref):
        kept = kept()
    if isinstance(kept, sg.Tensor) and kept.requires_grad:
        (g,) = sg.autograd.grad(kept.sum(), [kept._record.inputs[0]], retain_graph=True)  # reads what the tape saved
        return g.numpy() / 2
    return np.array(kept[0] if isinstance(kept, list) else kept)


@pytest.mark.parametrize("name", KEPT)
def test_what_the_user_holds_never_changes(name: str):
    step = sg.compile(lambda x: x + 1)
    x = np.zeros(BIG, np.float32)
    kept = []
    for i in range(8):
        x[:] = i
        kept.append(KEPT[name](step(sg.from_numpy(x))))
        for j, one in enumerate(kept[-3:], max(i - 2, 0)):
            assert (value_of(one) == j + 1).all()


def addresses(results: list[Any]) -> list[int]:
    return [r.numpy().ctypes.data for r in results]


def test_memory_is_used_again():
    step = sg.compile(lambda x: (x + 1, x * 2))
    x = sg.zeros(BIG)
    step(x)
    found = {tuple(addresses(step(x))) for _ in range(10)}
    assert len(found) == 1
    held = [step(x) for _ in range(10)]
    assert len({a for pair in held for a in addresses(pair)}) == 20


def test_a_result_as_the_next_argument():
    """The array that is read is held, so two take turns."""
    step = sg.compile(lambda x: x * 2 + 1)
    x, found = sg.zeros(BIG), set()
    for i in range(12):
        x = step(x)
        found.add(x.numpy().ctypes.data)
        assert (x.numpy() == 2 ** (i + 1) - 1).all()
    assert len(found) == 2


@pytest.mark.parametrize("change", ["shape", "flags", "dtype"])
def test_an_array_that_was_changed_is_not_used_again(change: str):
    step = sg.compile(lambda x: x + 1)
    x = sg.zeros(BIG)
    for _ in range(5):
        y = step(x).numpy()
        assert y.shape == (BIG,)
        assert y.dtype == np.float32
        assert y.flags.writeable
        y[:] = -1
        if change == "shape":
            y.resize((2, BIG // 2), refcheck=False)
        elif change == "flags":
            y.flags.writeable = False
        else:
            y.setfield(0, np.float32)
        del y
        assert (step(x).numpy() == 1).all()


def test_small_results_are_not_pooled():
    b = Bench()
    _, plan = opened(b, F.exp(b.feed(BIG - 1)), F.exp(b.feed(BIG)))
    words = [plan.results.words(i) for i in range(2)]
    assert [w[t.POOLED] > 0 for w in words] == [False, True]


def test_memory_goes_with_the_plan():
    step = sg.compile(lambda x: x + 1)
    y = step(sg.zeros(BIG)).numpy()
    plan = weakref.ref(step.plan.results.pools[0])
    expected = y.copy()
    del step
    gc.collect()
    assert plan() is None
    np.testing.assert_array_equal(y, expected)


def test_session_results_are_used_again_when_nobody_holds_them():
    with sg.Graph().as_default(), sg.Session() as sess:
        x = sg.placeholder(sg.float32, [None])
        run = sess.make_callable([x * 2, sg.sum(x)], [x])
        value = np.zeros(BIG, np.float32)
        for _ in range(3):
            run(value)
        assert len({run(value)[0].ctypes.data for _ in range(10)}) == 1
        held = []
        for i in range(6):
            value[:] = i
            held.append(run(value)[0])
        assert [h[0] for h in held] == [0, 2, 4, 6, 8, 10]


# threads, and Python code in the middle -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, BIG, 4 * BIG])
def test_calls_of_many_threads(size: int):
    """Without a lock for short plans; each result is of its own call."""
    step = sg.compile(lambda x: (sg.exp(x * 0) + x, x.sum()))
    step(np.zeros(size, np.float32))
    wrong: list[Any] = []

    def work(number: int) -> None:
        x = np.full(size, number, np.float32)
        held = []
        for i in range(60):
            y, total = step(x)
            held = [*held[-3:], y]
            if i % 10 == 0:
                step(x[:2])  # another plan
            if any((h.numpy() != number + 1).any() for h in held) or total.item() != number * size:
                wrong.append(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_calls_from_the_collector():
    """An object's end may call the function while results are made."""
    step = sg.compile(lambda x: (x + 1, x * 2))
    a, b = np.zeros(5, np.float32), np.ones(5, np.float32)
    step(a)
    found = []

    class Last:
        def __init__(self) -> None:
            self.me = self  # only the collector finds it

        def __del__(self) -> None:
            found.append([r.tolist() for r in step(b)])

    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(100):
            Last()
            y, z = step(a)
            assert (y.tolist(), z.tolist()) == ([1] * 5, [0] * 5)
    finally:
        gc.set_threshold(*threshold)
    assert len(found) > 50
    assert all(pair == [[2] * 5, [2] * 5] for pair in found)


def test_a_warm_call_makes_its_result_once():
    """The result is filled in by native code, so what a constructor had put into it would never be freed."""
    function, x = sg.compile(lambda x: x * 2 + 1), sg.ones(3)
    for _ in range(10):
        function(x)
    called = []
    sys.setprofile(lambda frame, event, arg: called.append(frame.f_code.co_name) if event == "call" else None)
    try:
        out = function(x)
    finally:
        sys.setprofile(None)
    assert type(out) is sg.Tensor
    assert not {"__new__", "_new", "__init__"} & {*called}
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            function(x)
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()
