"""The logger "staticgrad": plans, kernels, warnings."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.logs import warn


def test_what_is_logged(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG, "staticgrad"):
        triple = sg.compile(lambda x: sg.sinh(x) * 3, wait=True)
        triple(np.ones(3, np.float32))
        with pytest.warns(RuntimeWarning, match="beware"):
            warn("beware", stacklevel=2)
    texts = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert ("INFO", "new plan of 1 instructions for [(3,)]") in texts
    assert any(
        level == "INFO" and text.startswith("<lambda>: new specialization, 1 instructions: first call") for level, text in texts
    )
    assert ("WARNING", "beware") in texts


def test_nothing_is_shown_by_itself(capsys: pytest.CaptureFixture[str]):
    with pytest.warns(RuntimeWarning):
        warn("beware", stacklevel=2)
    assert capsys.readouterr().err == ""
