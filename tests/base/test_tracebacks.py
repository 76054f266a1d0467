"""Which frames of an error are printed."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback

import pytest

import staticgrad as sg
from staticgrad.base.tracebacks import shortened


def printed(code, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, *arguments, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, timeout=100
    )
    return done.stderr


def test_frames_of_the_user_and_the_last_one_of_the_package():
    with pytest.raises(sg.ShapeError) as caught:
        sg.vmap(lambda a: a @ sg.ones(7))(sg.ones(3, 4))
    whole = caught.value.__traceback__
    files = [frame.filename for frame in traceback.extract_tb(shortened(whole))]
    assert files[:-1] == [__file__, __file__]  # this test and its lambda, between which there are frames of ours
    assert files[-1] != __file__
    assert caught.value.__traceback__ is whole
    assert len(traceback.extract_tb(whole)) > 3


def test_errors_of_others_are_as_they_are():
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018
    assert shortened(caught.value.__traceback__) is caught.value.__traceback__
    assert shortened(None) is None


@pytest.mark.parametrize("setting", ["", "full"])
def test_a_program_prints_them(setting):
    error = printed("import staticgrad as sg\nsg.ones(2, 3) @ sg.ones(2, 3)", STATICGRAD_TRACEBACK=setting)
    assert "ShapeError: matmul: inner sizes differ" in error
    assert (error.count("File ") > 2) is (setting == "full")
    assert ("STATICGRAD_TRACEBACK=full" in error) is (setting == "")


def test_a_hook_of_the_program_stays():
    own = "import sys\nsys.excepthook = lambda *error: print('mine', file=sys.stderr)\n"
    assert printed(f"{own}import staticgrad as sg\nsg.ones(2) @ sg.ones(3)") == "mine\n"


def test_errors_that_led_to_others():
    error = printed(
        "import staticgrad as sg\ntry:\n    sg.ones(2)[5]\nexcept IndexError as e:\n    raise KeyError('it') from e"
    )
    assert "KeyError: 'it'" in error
    assert "direct cause" in error
    assert error.count("/staticgrad/") == 1
