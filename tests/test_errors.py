"""Errors: the user's line, the text, and what pickling keeps."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

import staticgrad as sg
from staticgrad import errors
from staticgrad.errors import StaticgradError, Where, user_line

pytestmark = pytest.mark.usefixtures("refusing")

CLASSES = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, StaticgradError)]


def this_line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_user_line_is_the_innermost_one_outside_the_package():
    where, line = user_line(), this_line()
    assert where == Where(__file__, line)
    assert where.short == f"test_errors.py:{line}"
    assert where.text == "where, line = user_line(), this_line()"
    assert str(where) == f"{where.short}   {where.text}"


def test_an_error_from_deep_inside_names_the_line_that_was_written():
    x = sg.ones(2, 3)
    line = this_line() + 2
    with pytest.raises(sg.ShapeError) as caught:
        sg.softmax(x @ x)
    assert caught.value.where == Where(__file__, line)


def test_lines_of_strings_have_no_text():
    where = {}
    exec(compile("\nwhere['it'] = user_line()", "<string>", "exec"), {"user_line": user_line, "where": where})
    assert where["it"] == Where("<string>", 2)
    assert where["it"].text == ""
    assert str(where["it"]) == "<string>:2"


def test_the_machinery_of_imports_is_nobodys_line():
    where = {}
    code = compile("where['it'] = user_line()", "<frozen importlib._bootstrap>", "exec")
    line = this_line() + 1
    exec(code, {"user_line": user_line, "where": where})
    assert where["it"] == Where(__file__, line)


def test_text():
    error = sg.ShapeError("matmul: inner sizes differ", "h (32, 784)", "w (128, 10)", where=Where("gone.py", 12))
    assert str(error) == "matmul: inner sizes differ\n  gone.py:12\n  h (32, 784)\n  w (128, 10)"
    assert (error.summary, error.details) == ("matmul: inner sizes differ", ("h (32, 784)", "w (128, 10)"))
    assert error.args == (error.summary,)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("twin", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_pickling_keeps_details_and_line(cls, twin):
    error = cls("what", "detail", where=Where("a.py", 3))
    again = twin(error)
    assert type(again) is cls
    assert (again.summary, again.details, again.where) == ("what", ("detail",), Where("a.py", 3))
    assert isinstance(again.where, Where)
    assert str(again) == str(error)


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (sg.ShapeError, ValueError),
        (sg.DTypeError, TypeError),
        (sg.ArgumentError, ValueError),
        (sg.IndexRangeError, IndexError),
        (sg.GradientError, RuntimeError),
        (sg.AnomalyError, RuntimeError),
        (sg.GraphError, ValueError),
        (sg.FeedError, ValueError),
        (sg.UninitializedError, RuntimeError),
        (sg.TraceError, TypeError),
        (sg.VerifyError, AssertionError),
        (sg.CompileError, RuntimeError),
    ],
    ids=lambda cls: cls.__name__,
)
def test_errors_are_caught_by_what_pytorch_and_tensorflow_users_write(cls, builtin):
    assert issubclass(cls, StaticgradError)
    assert issubclass(cls, builtin)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_error_is_public_and_shows_broken_and_fixed_code(cls):
    assert getattr(sg, cls.__name__) is cls
    if cls not in (StaticgradError, sg.VerifyError, sg.CompileError):  # no line of the user's breaks or fixes those
        assert "broken:" in cls.__doc__
        assert "fixed:" in cls.__doc__
