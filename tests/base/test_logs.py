"""The logger "staticgrad"."""

from __future__ import annotations

import logging

import pytest

import staticgrad as sg
from staticgrad.base import interpreter
from tests.processes import ended, start


def test_traces_and_their_reasons_are_logged(caplog):
    @sg.compile
    def doubled(x):
        return x + x

    with caplog.at_level(logging.DEBUG, "staticgrad"):
        doubled(sg.ones(2))
        doubled(sg.ones(3))
        sg.wait_for_kernels()
        doubled(sg.ones(3))
    told = [record.getMessage() for record in caplog.records]
    assert any(text.startswith("doubled: first call") for text in told)
    assert any(text.startswith("doubled: x: shape (3,) instead of (2,)") for text in told)
    assert {record.name for record in caplog.records} == {"staticgrad"}


def test_plans_of_eager_operations_are_details(caplog):
    model = sg.nn.Sequential(sg.nn.Linear(3, 7), sg.nn.GELU(), sg.nn.Linear(7, 11))
    optimizer = sg.optim.Adam(model.parameters())
    with caplog.at_level(logging.DEBUG, "staticgrad"), sg.eager_kernels(wait=True):
        for _ in range(3):
            optimizer.zero_grad()
            (model(sg.ones(5, 3)) ** 2).mean().backward()
            optimizer.step()
    assert any("plan" in record.getMessage() for record in caplog.records)
    assert {record.levelname for record in caplog.records} == {"DEBUG"}


def test_a_warning_is_logged_once_and_not_printed_by_the_logger(caplog, capfd):
    with pytest.warns(RuntimeWarning, match="too often"):
        interpreter.warn("too often", 1)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert capfd.readouterr().err == ""
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("staticgrad").handlers)


def test_events_that_nobody_can_have_asked_for_import_no_logging(monkeypatch):
    monkeypatch.setenv("STATICGRAD_TIERS", "1")  # other tests' processes compile for themselves, with Numba, which logs
    program = """
        import sys
        import staticgrad as sg
        from staticgrad.base import interpreter as logs
        sg.compile(lambda x: x + 1)(sg.ones(2))
        assert "logging" not in sys.modules
        import logging
        logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
        sg.compile(lambda x: x + 2)(sg.ones(2))
    """
    out, err = ended(start(program))
    assert err == ""
    assert "first call" in out
