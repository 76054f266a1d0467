"""Work that handlers of signals don't interrupt."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from staticgrad.base import interpreter
from staticgrad.base.interpreter import module, uninterrupted
from staticgrad.errors import StaticgradError


def test_the_result_and_the_error_of_the_work_are_those_of_the_call():
    assert uninterrupted(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        uninterrupted(lambda: 1 // 0)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, TimeoutError, RuntimeError])
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("handlers", [True, False])
def test_what_a_handler_raises_comes_unchanged_after_the_work(raised: type[BaseException], fails: bool, handlers: bool):
    done = []

    def handler(number, frame):
        raise raised("of the handler")

    def work():
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.05)
        done.append(True)
        if fails:
            raise ValueError("of the work")

    former = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(raised, match="of the handler"):
            uninterrupted(work, handlers=handlers)
    finally:
        signal.signal(signal.SIGUSR1, former)
    assert done


@pytest.mark.parametrize("handlers", [True, False])
def test_handlers_run_meanwhile_or_wait(handlers: bool):
    order = []

    def work():
        order.append("begins")
        for _ in range(5):
            signal.pthread_kill(main, signal.SIGUSR1)
            time.sleep(0.02)
        order.append("ends")
        return 3

    main = threading.get_ident()
    former = signal.signal(signal.SIGUSR1, lambda number, frame: order.append("handler"))
    try:
        assert uninterrupted(work, handlers=handlers) == 3
    finally:
        signal.signal(signal.SIGUSR1, former)
    assert order.count("handler") >= 1
    assert ("handler" in order[: order.index("ends")]) == handlers


@pytest.mark.parametrize("handlers", [True, False])
def test_many_signals(handlers: bool):
    """None is lost between the thread that works and the one that waits, whenever it comes."""
    seen = []
    former = signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
    try:
        assert [uninterrupted(lambda i=i: i, handlers=handlers) for i in range(300)] == [*range(300)]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert seen


def test_other_threads_do_the_work_themselves():
    found = []
    thread = threading.Thread(target=lambda: found.append(uninterrupted(threading.get_ident)))
    thread.start()
    ident = thread.ident
    thread.join()
    assert found == [ident]


@pytest.mark.parametrize("handlers", [True, False])
def test_where_no_thread_can_be_started_the_work_is_done_all_the_same(monkeypatch: pytest.MonkeyPatch, handlers: bool):
    def refuse(*args):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(interpreter, "start_new_thread", refuse)
    assert uninterrupted(lambda: 3, handlers=handlers) == 3


def test_errors_name_the_line_of_the_user():
    def work():
        raise StaticgradError("wrong")

    with pytest.raises(StaticgradError) as caught:
        uninterrupted(work)
    assert caught.value.where.file == __file__


def test_a_module_is_imported_as_a_whole():
    sys.modules.pop("colorsys", None)
    assert module("colorsys").__name__ == "colorsys"
    assert module("colorsys") is sys.modules["colorsys"]
