"""Errors of values inside of the user's try blocks, in compiled functions."""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import DataDependentError, TraceError

INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])


def factor(x, jitter):
    try:
        return sg.linalg.cholesky(x)
    except RuntimeError:
        return sg.linalg.cholesky(x + jitter * sg.eye(2, dtype=x.dtype))


def finally_only(x):
    try:
        return sg.linalg.cholesky(x @ x.mT)
    finally:
        x = x + 1


def in_a_context(x):
    with contextlib.ExitStack():
        return sg.linalg.cholesky(x @ x.mT)


def indexed(x, at):
    try:
        return x[at]
    except IndexError:
        return x[0]


@pytest.mark.parametrize("on_break", ["split", "eager"])
def test_a_handler_sees_the_error(on_break):
    compiled = sg.compile(factor, on_break=on_break)
    for x, jitter in ((np.eye(2), 1.0), (INDEFINITE, 4.0), (INDEFINITE, 5.0), (np.eye(2) * 3, 1.0)):
        x = sg.tensor(x)
        np.testing.assert_allclose(compiled(x, jitter).numpy(), factor(x, jitter).numpy())
    assert compiled.segmented is not None


def test_a_handler_sees_the_error_after_a_call_that_was_noted_outside():
    def step(x, guarded):
        float(x.sum())
        if not guarded:
            return sg.linalg.cholesky(x)
        return factor(x, 4.0)

    compiled = sg.compile(step)
    for x, guarded in ((np.eye(2), False), (np.eye(2), True), (INDEFINITE, True)):
        np.testing.assert_allclose(compiled(sg.tensor(x), guarded).numpy(), step(sg.tensor(x), guarded).numpy())


def test_a_handler_sees_a_bad_index():
    compiled, x = sg.compile(indexed), sg.arange(4.0)
    for at in (1, 7, 2):
        assert compiled(x, sg.tensor([at])).tolist() == indexed(x, sg.tensor([at])).tolist()


class Answer:
    """A context manager whose `__exit__` returns a value."""

    def __init__(self, answer):
        self.answer = answer

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return self.answer


class Silent(Answer):
    def __exit__(self, *error):
        self.answer = None


@contextlib.contextmanager
def handled():
    try:
        yield
    except RuntimeError:
        return


@contextlib.contextmanager
def suppressed():
    with contextlib.suppress(RuntimeError):
        yield


@contextlib.contextmanager
def cleaned():
    try:
        yield
    finally:
        pass


def stacked():
    stack = contextlib.ExitStack()
    stack.enter_context(contextlib.suppress(RuntimeError))
    return stack


SUPPRESSING = [
    lambda: contextlib.suppress(RuntimeError),
    lambda: Answer(True),
    lambda: Answer(False),
    handled,
    suppressed,
    stacked,
]
OTHERS = [contextlib.nullcontext, contextlib.ExitStack, lambda: Silent(True), cleaned, sg.no_grad, threading.Lock]


@pytest.mark.parametrize("context", SUPPRESSING)
def test_a_block_that_suppresses_exceptions_sees_the_error(context):
    def factor_or_negative(x):
        with context():
            return sg.linalg.cholesky(x)
        return -x

    def outcome(function, x):
        try:
            return function(x).tolist()
        except RuntimeError as error:
            return str(error).splitlines()[0]

    compiled = sg.compile(factor_or_negative)
    for x in (np.eye(2), INDEFINITE, np.eye(2)):
        assert outcome(compiled, sg.tensor(x)) == outcome(factor_or_negative, sg.tensor(x))


@pytest.mark.parametrize("context", OTHERS)
def test_other_context_managers_are_no_handlers(context):
    def within(x):
        with context():
            return sg.linalg.cholesky(x)

    x = sg.tensor(np.eye(2))
    assert sg.compile(within, on_break="error")(x).tolist() == within(x).tolist()


@pytest.mark.parametrize("function", [finally_only, in_a_context])
def test_other_blocks_are_no_handlers(function):
    compiled, x = sg.compile(function, on_break="error"), sg.tensor(np.eye(2) * 2)
    np.testing.assert_allclose(compiled(x).numpy(), function(x).numpy())


def test_the_error_of_a_trace():
    with pytest.raises(TraceError, match="linalg_cholesky may fail inside of a try block"):
        sg.compile(factor, on_break="error")(sg.tensor(np.eye(2)), 1.0)


def number_of(x):
    try:
        return x * float(x.sum())
    except Exception:
        return x * -1


def kept(x):
    with contextlib.suppress(TypeError):
        return x[x > 0] * 2
    return x


@pytest.mark.parametrize("function", [number_of, kept])
def test_a_handler_does_not_hide_that_a_trace_needs_a_value(function):
    compiled, x = sg.compile(function), sg.tensor([1.0, -2.0, 4.0])
    for _ in range(2):
        assert compiled(x).tolist() == function(x).tolist()
    with pytest.raises((TraceError, DataDependentError)):
        sg.compile(function, on_break="error")(x)


@sg.compile
def factor_of(x):
    return sg.linalg.cholesky(x)


def within_another(x):
    try:
        return factor_of(x)
    except sg.StaticgradError:
        return x * 0


@pytest.mark.parametrize("on_break", [None, "split"])
def test_a_compiled_function_within_a_try_block(on_break):
    compiled = sg.compile(within_another, on_break=on_break)
    for sign in (1, -1, 1, -1):
        assert compiled(sg.tensor(np.eye(2) * sign)).tolist() == within_another(sg.tensor(np.eye(2) * sign)).tolist()


def decides_within(i):
    y = sg.arange(4) * 1.0
    y = y[i] * 2
    try:
        return y + 1 if y > 3 else y - 1
    except IndexError:
        return y * 0


def test_a_decision_within_a_try_block_is_no_operation_that_fails():
    compiled = sg.compile(decides_within)
    assert [float(compiled(sg.tensor(i))) for i in (1, 3, 1, 3)] == [1, 7, 1, 7]
    with pytest.raises(IndexError):
        compiled(sg.tensor(9))
    assert compiled.segmented is None
