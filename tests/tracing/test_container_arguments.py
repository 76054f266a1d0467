"""Tuples, lists and dicts among the arguments: the fast call takes those of the trace's form, and declines all others."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.tracing.function import CompiledFunction

Pair = collections.namedtuple("Pair", ["x", "y"])
Other = collections.namedtuple("Other", ["x", "y"])


class Named(dict):
    pass


def members(found):
    """The tensors in a nesting, in order."""
    if isinstance(found, dict):
        found = list(found.values())
    return [found] if not isinstance(found, (tuple, list)) else [x for part in found for x in members(part)]


def total(batch, scale=1.0):
    parts = [x for x in members(batch) if x is not None]
    return sum(((i + 1) * x.sum() for i, x in enumerate(parts)), sg.zeros(())) * scale


@pytest.fixture
def slow(monkeypatch):
    """The calls that take the slower path."""
    found = []
    call = CompiledFunction._call
    monkeypatch.setattr(CompiledFunction, "_call", lambda self, given: (found.append(given), call(self, given))[1])
    return found


x, y, z = (sg.tensor(np.arange(3.0, dtype="float32") + i) for i in range(3))
FORMS = {
    "tuple": lambda x, y: (x, y),
    "named tuple": lambda x, y: Pair(x, y),
    "list": lambda x, y: [x, y],
    "dict": lambda x, y: {"x": x, "y": y},
    "nested": lambda x, y: ({"a": [x, None]}, (y, (x,)), []),
    "one twice": lambda x, y: [x, y, x],
}


@pytest.mark.parametrize("form", FORMS)
def test_calls_of_one_form_are_fast(form, slow):
    step = sg.compile(total)
    for a, b in [(x, y), (y, z), (z, x), (z, z)]:
        assert step(FORMS[form](a, b)).item() == total(FORMS[form](a, b)).item()
    assert len(slow) == 1
    assert step.recompiles == ["first call"]


TURNS = [
    [(x, y), (x, y, z), (x, y)],
    [(x, y), [x, y], Pair(x, y), Other(x, y)],
    [{"x": x, "y": y}, {"y": y, "x": x}, {"x": x}, {"x": x, "z": y}, Named(x=x, y=y)],
    [(x, None), (x, y), (None, x), (x, None)],
    [([x], [y]), ([x, y], []), ((x, y),), (x, y)],
    [(x, y), x, (x.numpy(), y), (sg.ones(2), y), (x, sg.ones(3, dtype=sg.float64))],
    [{1: x, "y": y}, {1: y, "y": x}],
    [[once := {"x": x}, once], [{"x": x}, {"x": x}]],
]


@pytest.mark.parametrize("turns", TURNS)
def test_another_form_is_another_trace(turns):
    step = sg.compile(total)
    for batch in (*turns, *turns):
        assert step(batch).item() == total(batch).item()
    many = sg.compile(lambda *batches: total(batches))
    for count in (1, 2, 1, 3):
        assert many(*[(x, y)] * count).item() == total([(x, y)] * count).item()


def test_identity_of_lists_decides():
    """One list twice is another argument than two, and so is a list that the function also captures."""
    kept = [x, y]

    @sg.compile
    def same(a, b):
        return (a[0] if a is b else a[0] + b[1]) + (10.0 if a is kept else 0.0) + kept[1]

    one, two = [x, y], [y, z]
    for a, b in [(one, two), (one, two), (two, two), (one, two), (kept, two), (two, kept), (one, two), (kept, kept)]:
        assert same(a, b).tolist() == same.fn(a, b).tolist()


def test_a_list_may_change_between_calls():
    step = sg.compile(total)
    batch = [x, y]
    for change in (lambda: None, lambda: batch.append(z), lambda: batch.pop(0), lambda: batch.reverse(), batch.clear):
        change()
        for _ in range(3):
            assert step(batch).item() == total(batch).item()


def test_changes_of_a_list_by_the_function():
    @sg.compile
    def grown(batch):
        batch.append(batch[-1] * 2)
        return batch[0] + 1

    batch = [x]
    for n in range(2, 6):
        assert grown(batch).tolist() == (x + 1).tolist()
        assert len(batch) == n
        assert batch[-1].tolist() == (x * 2 ** (n - 1)).tolist()


def test_members_that_share_memory_with_what_a_step_writes_are_copied(slow):
    w = sg.ones(3)

    @sg.compile
    def moved(batch):
        w.add_(batch[0])
        return w * batch[1]

    expected = np.ones(3, "float32")
    for a in (x, y, x):
        expected = expected + a.numpy()
        np.testing.assert_array_equal(moved((a, z)).numpy(), expected * z.numpy())
    assert len(slow) == 1
    view = w[:2]
    with pytest.raises(sg.ShapeError):
        moved((view, z))
    found = moved((w.view(3), w.view(3)))
    np.testing.assert_array_equal(found.numpy(), 4 * expected**2)


def test_a_gradient_is_asked_for_by_the_slower_path():
    leaf = x.clone().requires_grad_()
    step = sg.compile(total)
    for batch in [(x, y), (leaf, y), (x, leaf), (x, y), (leaf, leaf)]:
        assert step(batch).requires_grad == any(a is leaf for a in batch)


def test_numbers_beside_containers():
    step = sg.compile(total)
    for scale in (1.0, 2.0, 3.0, 4.0, 5.0):
        assert step((x, y), scale).item() == total((x, y), scale).item()


def test_steps_of_a_loop():
    step = sg.compile(lambda batch: total(batch))
    batches = [((x, y),), ((y, z),), ((z, x),)]
    assert [found.item() for found in step.loop(batches)] == [total(*batch).item() for batch in batches]
