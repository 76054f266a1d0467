"""The observer of a trace: reads that Python's lookup makes through descriptors."""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import threading

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.base import interpreter
from staticgrad.tracing.frames import WORD, code_of, places, trace_instructions, word
from staticgrad.tracing.observer.python_types import ObjectAges

X = np.ones(3, np.float32)


class Scale:
    def __init__(self) -> None:
        self.factor = 2.0

    @functools.cached_property
    def squared(self) -> float:
        return self.factor**2


def test_a_cached_property_that_the_trace_computes_first():
    scale = Scale()

    @sg.compile
    def step(x):
        return x * scale.squared

    for _ in range(3):
        np.testing.assert_array_equal(step(X), 4 * X)
    assert step.recompiles == ["first call", "same arguments, but scale.squared is new"]
    del scale.__dict__["squared"]
    scale.factor = 3.0
    np.testing.assert_array_equal(step(X), 9 * X)


def test_an_object_at_the_address_of_one_that_ended_is_new():
    """Such a list was returned itself, with values of the trace."""
    ages, young = ObjectAges(), [[i] for i in range(20)]
    before = set(map(id, young))
    interpreter.pause()
    try:
        ages.start()
        young.clear()
        made, same = [], []
        while not same and len(made) < 1_000_000:  # the allocator may give other free memory first
            made.append([len(made)])
            same = [x for x in made[-1:] if id(x) in before]
        ages.stop()
        assert same
        assert not any(map(ages.is_old, same))
    finally:
        interpreter.resume()


def test_a_collection_meanwhile_does_not_make_objects_old():
    ages = ObjectAges()
    interpreter.pause()
    try:
        before = [[i] for i in range(20)]
        ages.start()
        made = [[i] for i in range(20)]
        gc.collect()
        later = [[i] for i in range(20)]
        gc.collect()
        assert all(map(ages.is_new, made + later))
        ages.stop()
        assert not any(map(ages.is_old, made + later))
        assert all(map(ages.is_old, before))
    finally:
        interpreter.resume()
    assert ages._collection not in gc.callbacks


def test_another_thread_collects_garbage_while_a_function_is_traced():
    kept, over = Scale(), threading.Event()

    def collect():
        while not over.is_set():
            gc.collect()

    thread = threading.Thread(target=collect)
    thread.start()
    try:
        for _ in range(5):

            @sg.compile(on_break="error")
            def step(x):
                kept.parts = {"a": [x + i for i in range(20)], "n": [1]}
                return [x * 2, kept.parts["a"]]

            for i in range(2):
                result = step(sg.tensor(X + i))
                np.testing.assert_array_equal(kept.parts["a"][1].numpy(), X + i + 1)
                np.testing.assert_array_equal(result[1][2].numpy(), X + i + 2)
    finally:
        over.set()
        thread.join()


def numbers(n):
    while n:
        got = yield n
        n -= 1 if got is None else got


def statements(x, items, point):
    """Statements whose instructions differ from one CPython to the next."""
    total, found = 0, {}
    for i, (a, b) in enumerate(zip(items, reversed(items), strict=True)):
        total += a * b if i % 2 else -a
        found[f"{i}{a!r:>3}"] = [*items[i:], *(y for y in items if y > a)]
    try:
        with contextlib.suppress(KeyError), contextlib.nullcontext(point) as p:
            p.factor += found["none"][0]
    except ValueError as error:
        total = str(error)
    finally:
        point.factor -= 1
    for n in numbers(3):
        if n == 2:
            continue
        found[n] = {y: [y] * n for y in items}
    match items:
        case [first, *rest] if first:
            found |= {"first": first, "rest": rest}
        case {"a": _} | Scale(factor=_):
            found.clear()
    del found["first"]
    while total and not isinstance(total, str) and total > -(10**3):
        total -= 100
    return sorted(map(str, found), key=lambda key: (len(key), key), reverse=bool(total)), (x if x else None), f"{x!s}{total:5}"


@pytest.mark.skipif(sys.version_info < (3, 14), reason="frames say how high their stacks are from CPython 3.14 on")
def test_the_depth_of_the_stack_before_each_instruction():
    """Beside the stack pointer that the interpreter keeps in the frame."""
    wrong, seen = [], 0

    def local(frame, event, arg):
        nonlocal seen
        code = code_of(frame.f_code)
        step = code.steps.get(frame.f_lasti) if event == "opcode" else None
        if step is not None:
            start = word(id(frame) + places().inner).value + places().locals
            depth = (word(start - 2 * WORD).value - start) // WORD - code.locals
            seen += 1
            if depth != step.depth:
                wrong.append((frame.f_code.co_name, step, depth))
        return local

    def enter(frame, event, arg):
        return trace_instructions(frame, local) if frame.f_code.co_filename == __file__ else None

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True
    sys.settrace(enter)
    try:
        statements(1.5, [3, 1, 2], Scale())
    finally:
        sys.settrace(before)
    assert seen > 300
    assert wrong == []


def test_a_name_that_is_imported_late_is_no_reason_to_trace_again():
    vars(sg).pop("cumsum", None)
    fn = sg.compile(lambda x: sg.cumsum(x, 0).sum())
    for _ in range(3):
        assert fn(sg.ones(3)).item() == 6
    assert fn.traces == 1


def test_attributes_of_none_are_looked_up():
    def f(x, other=None):
        width = getattr(other, "shape", (3,))[0]
        return x * width + hasattr(other, "left")

    for value in (None, sg.ones(5)):
        assert sg.compile(f)(sg.ones(2), value).tolist() == f(sg.ones(2), value).tolist()
