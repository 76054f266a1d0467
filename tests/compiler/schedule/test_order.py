"""The order of a plan's rows, writes to variables, and the memory they share."""

from __future__ import annotations

import random
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest

from staticgrad.compiler.execute.plan import Plan
from staticgrad.compiler.schedule.order import ScheduleNode, Waits
from staticgrad.errors import IndexRangeError
from staticgrad.ir.walks import digraph
from staticgrad.operators import F, Symbol
from tests.compiler.helpers import Bench, on_host

# variables --------------------------------------------------------------------------------------------------------

IN_PLACE = "written in place by the kernel that computes"


def update(b: Bench, write: Callable[[Bench, Symbol], Symbol], *shape: int) -> Plan:
    w = b.variable(*shape)
    b.assign(w, write(b, w))
    return b.check()


WRITES: dict[str, tuple[Callable[[Bench, Symbol], Symbol], tuple[int, ...], str]] = {
    "elementwise": (lambda b, w: w - b.feed(4, 5) * 0.1, (4, 5), f"{IN_PLACE} sub"),
    "without the old value": (lambda b, w: F.exp(b.feed(4, 5)), (4, 5), f"{IN_PLACE} exp"),
    "a row operand": (lambda b, w: w * b.feed(5), (4, 5), f"{IN_PLACE} mul"),
    "a product": (lambda b, w: b.feed(4, 3) @ b.feed(3, 5), (4, 5), f"{IN_PLACE} matmul"),
    "a scalar": (lambda b, w: w * 2 + 1, (), f"{IN_PLACE} add"),
    "a scalar made of a sum": (lambda b, w: F.sum(b.feed(4, 5)) + w, (), f"{IN_PLACE} add"),
    "a column sum": (lambda b, w: F.sum(b.feed(4, 5), 0), (5,), f"{IN_PLACE} sum"),
    "rows read twice": (
        lambda b, w: F.softmax(w),
        (4, 5),
        "copied at the end, because the kernel walks each row more than once",
    ),
    "other places": (
        lambda b, w: w.T + 1,
        (5, 5),
        "copied at the end, because the kernel reads the variable at other places than it writes",
    ),
    "other places by broadcasting": (
        lambda b, w: w + w[0],
        (4, 5),
        "copied at the end, because the kernel reads the variable at other places than it writes",
    ),
    "its own sum": (
        lambda b, w: F.sum(F.expand_dims(w, 0) + b.feed(4, 5), 0),
        (5,),
        "copied at the end, because the kernel reads the variable while it accumulates",
    ),
    "a product with itself": (
        lambda b, w: w @ w,
        (5, 5),
        "copied at the end, because matmul reads it while it writes",
    ),
    "read by an earlier kernel": (lambda b, w: w + F.sum(F.exp(w)), (4, 5), f"{IN_PLACE} add"),
    "a feed": (lambda b, w: b.feed(4, 5), (4, 5), "copied at the end, because its value is not computed in this run"),
    "a part": (
        lambda b, w: F.exp(b.feed(6, 5))[:4],
        (4, 5),
        "copied at the end, because its value is a view",
    ),
    "a part of a product": (
        lambda b, w: (b.feed(8, 3) @ b.feed(3, 5))[::2],
        (4, 5),
        "copied at the end, because its value is a view",
    ),
    "on the host": (
        lambda b, w: on_host(b.feed(4, 5), 1),
        (4, 5),
        "copied at the end, because running sum on the host is not a fused kernel",
    ),
    "itself, turned": (lambda b, w: F.flip(w, 0), (4, 5), "copied at the end, because its value is not computed in this run"),
}


@pytest.mark.parametrize("name", WRITES)
def test_in_place_or_copied_with_the_reason(name: str):
    write, shape, note = WRITES[name]
    b = Bench()
    plan = update(b, write, *shape)
    assert plan.notes == [f"w: {note}"]
    assert note in plan.explain()


def test_a_value_that_goes_to_two_variables_is_copied_once():
    b = Bench()
    v, w = b.variable(4, name="v"), b.variable(4)
    y = F.exp(b.feed(4))
    b.assign(v, y)
    b.assign(w, y)
    assert b.check().notes == [
        f"v: {IN_PLACE} exp",
        "w: copied at the end, because its value goes to two variables",
    ]


def test_a_variable_read_by_a_later_kernel_is_copied():
    """A host call separates the kernels: the second reads the old value and needs the new one."""
    b = Bench()
    w = b.variable(4)
    new = F.exp(w)
    b.assign(w, new)
    plan = b.check(on_host(new) * w)
    assert plan.notes == ["w: copied at the end, because the old value is read afterwards"]


def test_the_old_value_can_be_read_in_the_kernel_that_writes_the_new_one():
    b = Bench()
    w, x = b.variable(4), b.feed(4)
    b.assign(w, F.exp(x) * 2)
    plan = b.check(F.exp(x) + w * 3)
    assert plan.notes == [f"w: {IN_PLACE} mul"]


def test_two_variables_of_one_kernel_read_each_other():
    b = Bench()
    v, w = b.variable(4, name="v"), b.variable(4)
    both = F.exp(v + w)
    b.assign(v, both * w)
    b.assign(w, both * v)
    plan = b.check()
    assert [note.split(":")[0] for note in plan.notes] == ["v", "w"]


def test_a_check_that_fails_later_keeps_a_variable_as_it_was():
    """The index is computed from the new value, so the check comes after it."""
    b = Bench()
    w = b.variable(value=np.float32([0.5, 1.5, 2.5]))
    new = w * 2
    b.assign(w, new)
    table = b.feed(4, 2)
    picked = F.take(table, F.astype(new, np.int64), 0)
    plan = b.plan(picked)
    assert plan.notes == ["w: copied at the end, because a check that may fail comes afterwards"]
    store = {cell: array.copy() for cell, array in b.store.items()}
    with pytest.raises(IndexRangeError, match="index 5 is out of range for axis 0 with extent 4"):
        plan.run(b.arrays, store)
    np.testing.assert_array_equal(*[list(s.values())[0] for s in (store, b.store)])


def test_swap():
    b = Bench()
    v, w = b.variable(4, name="v"), b.variable(4)
    b.assign(v, w)
    b.assign(w, v)
    plan = b.check()
    assert [row.kind for row in plan.instructions] == ["copy"] * 4
    assert plan.notes == [f"{x}: copied at the end, because its value is not computed in this run" for x in "vw"]


def test_a_ring_of_three():
    b = Bench()
    u, v, w = (b.variable(4, name=name) for name in "uvw")
    b.assign(u, v)
    b.assign(v, w)
    b.assign(w, u * 2)
    b.check(u, w)


def test_the_old_value_is_fetched_as_it_was():
    b = Bench()
    w = b.variable(4)
    b.assign(w, w + 1)
    plan = b.check(w, w[1:], F.expand_dims(w, 0))
    assert plan.notes == [f"w: {IN_PLACE} add"]
    assert [row.kind for row in plan.instructions] == ["copy"] * 3 + ["kernel"]


def test_x_equals_x_does_nothing():
    b = Bench()
    w = b.variable(4)
    b.assign(w, w)
    plan = b.check()
    assert plan.instructions == []
    plan = b.check(w)
    assert len(plan.instructions) == 1


def test_a_view_of_the_new_value_is_fetched_from_the_variable():
    b = Bench()
    w = b.variable(4, 5)
    new = w * 2
    b.assign(w, new)
    b.check(new, new[1:], new.T)


# order ------------------------------------------------------------------------------------------------------------


def kinds(plan: Plan) -> list[str]:
    return [row.kind for row in plan.instructions]


def test_checks_come_first_and_writes_last():
    b = Bench()
    w, x, index = b.variable(4), b.feed(5, 4), b.feed(value=np.array([0, 3]))
    b.assign(w, w - 1)
    plan = b.check(F.exp(x @ b.feed(4, 3)), F.take(w, index, 0))
    assert kinds(plan)[0] == "check"
    assert plan.instructions[-1].nodes[-1].op.name == "sub"


def test_host_calls_come_before_writes():
    """They may raise: nothing has been changed then."""
    b = Bench()
    w, x = b.variable(4), b.feed(4)
    b.assign(w, w - 1)
    plan = b.check(on_host(x))
    assert kinds(plan) == ["host", "kernel"]


def test_a_reader_of_the_old_value_comes_before_the_write():
    b = Bench()
    w, x = b.variable(5, 4), b.feed(4, 3)
    b.assign(w, w - 1)
    plan = b.check(w @ x)
    assert kinds(plan) == ["gemm", "kernel"]


# memory -----------------------------------------------------------------------------------------------------------


def arena(plan: Plan) -> list[tuple[int, int, int, int]]:
    """(begin, end, first row, last row) of every buffer in the arena."""
    slots = dict.fromkeys(slot for row in plan.instructions for slot, _ in row.buffers if slot.kind == "arena")
    return [(s.offset, s.offset + s.nbytes, s.first, s.last) for s in slots]


def overlapping(plan: Plan) -> list[tuple]:
    buffers = [x for x in arena(plan) if x[1] > x[0]]
    return [
        (a, b)
        for i, a in enumerate(buffers)
        for b in buffers[:i]
        if a[0] < b[1] and b[0] < a[1] and a[2] <= b[3] and b[2] <= a[3]
    ]


def chain(b: Bench, length: int) -> Symbol:
    y = b.feed(64, 64)
    for _ in range(length):
        y = F.relu(y @ b.feed(64, 64))
    return y


def test_a_chain_needs_two_buffers_at_a_time():
    b = Bench()
    y = chain(b, 10)
    plan = b.check(y, rtol=1e-3)
    assert not overlapping(plan)
    size = 64 * 64 * 4
    assert plan.memory == (2 * size, 2 * size)
    assert sum(end - begin for begin, end, _, _ in arena(plan)) == 19 * size, "the last is the result's own"


def test_every_buffer_lives_from_its_first_to_its_last_use():
    b = Bench()
    x = b.feed(16, 16)
    early = on_host(x, 0)
    late = on_host(on_host(on_host(early, 1) * 2, 0) * 3, 1) @ early
    plan = b.check(late, rtol=1e-4)
    assert not overlapping(plan)
    for i, row in enumerate(plan.instructions):
        for slot, _ in row.buffers:
            assert slot.kind != "arena" or slot.first <= i <= slot.last


def test_fetches_live_until_the_end():
    b = Bench()
    x = b.feed(16, 16)
    first = on_host(x, 0)
    plan = b.check(first, on_host(on_host(first, 1), 0), rtol=1e-4)
    assert not overlapping(plan)
    assert plan.fetches[0].root.last == len(plan.instructions)


def test_buffers_are_aligned():
    b = Bench()
    plan = b.check(on_host(F.exp(b.feed(3)) * 2) + on_host(b.feed(5))[:3])
    buffers = [buffer for each in plan.instructions for buffer, _ in each.buffers if buffer.kind == "arena"]
    assert all(buffer.memory.ctypes.data % 64 == 0 for buffer in buffers)


def test_saved_values_outlive_the_writes():
    b = Bench()
    v, w = b.variable(16, 16, name="v"), b.variable(16, 16)
    b.assign(v, w)
    b.assign(w, v @ b.feed(16, 16))
    plan = b.check(v, w, on_host(v @ w, 0), rtol=1e-4)
    assert not overlapping(plan)


@pytest.mark.parametrize("seed", range(6))
def test_waiting_is_a_path_of_networkx(seed: int):
    """Also for what was ordered by hand; the search from both ends is written out, as compilations don't import networkx."""
    rng = random.Random(seed)
    units = [ScheduleNode("kernel", [], set(), i) for i in range(16)]
    for i, unit in enumerate(units):
        unit.after.update(rng.sample(units[:i], min(i, rng.randrange(3))))
    waits = Waits(units, ())
    for _ in range(4):
        first, later = sorted(rng.sample(range(16), 2))
        units[later].after.add(units[first])
        waits.come_before(units[later], [units[first]])
    dag = digraph({unit: unit.after for unit in units})
    for _ in range(200):
        first, later = rng.choice(units), set(rng.sample(units, 3))
        assert waits.reached(first, later) is any(nx.has_path(dag, first, unit) for unit in later)
