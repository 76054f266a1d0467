"""How an error that nothing catches is printed: the user's frames and the last one of this package, and what a wrong name of an
argument should have been.

A call passes several frames of ours before one of them raises, and a reader looks for the line that he wrote. The errors
themselves keep all frames: debuggers, loggers and tests see what they always saw. `STATICGRAD_TRACEBACK=full` prints them all.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import inspect
import linecache
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

from ..errors import PACKAGE_DIR, StaticgradError, VerifyError, is_internal

SETTING = "STATICGRAD_TRACEBACK"
PACKAGE = __name__.partition(".")[0]
LIBRARY = os.path.dirname(os.__file__) + os.sep
UNKNOWN = re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>staticgrad[\w.]*)'")
WRONG_CALL = re.compile(
    r"(?P<name>\S+)\(\) (got an unexpected keyword argument '(?P<wrong>\w+)'$|missing \d+ required|takes (from )?\d+ )"
)
TWINS = (
    ("lr", "learning_rate"), ("dim", "axis"), ("keepdim", "keepdims"), ("bias", "use_bias"), ("p", "rate"), ("eps", "epsilon"),
)  # fmt: skip
"""Names that PyTorch and other libraries have for one argument, which don't look alike."""


def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """`sys.excepthook`: print an error that nothing caught."""
    if os.environ.get(SETTING) == "full" or not isinstance(error, Exception):
        sys.__excepthook__(kind, error, traceback)
        return
    whole = {each: each.__traceback__ for each in _chain(error)}
    try:
        for each in whole:
            with suppress(Exception):  # an error in here must not hide the user's
                _explain(each)
                each.__traceback__ = shortened(each.__traceback__)
        sys.__excepthook__(kind, error, error.__traceback__)
        if whole[error] is not error.__traceback__:
            print(f"frames of staticgrad are left out; {SETTING}=full shows them", file=sys.stderr)
    finally:
        for each, former in whole.items():  # debuggers open `sys.last_exc` later
            each.__traceback__ = former


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and those that led to it."""
    waiting, found = [error], set()
    while waiting:
        each = waiting.pop()
        if id(each) not in found:
            found.add(id(each))
            yield each
            waiting += [other for other in (each.__cause__, each.__context__) if other is not None]


def shortened(traceback: TracebackType | None) -> TracebackType | None:
    """The same without frames of this package but the last. The whole one where a frame or none would be left out, or where
    there is no frame of anybody else."""
    entries = _entries(traceback)
    ours = [entry for entry in entries if is_internal(entry.tb_frame)]
    between = _between(entries)
    if len(between) < 2 or len(between) == len(entries):
        return entries[0] if entries else None
    shown = None
    for entry in reversed(entries):
        if entry is ours[-1] or entry not in between:
            shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return shown


def _entries(traceback: TracebackType | None) -> list[TracebackType]:
    found = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found


def _between(entries: Sequence[TracebackType]) -> list[TracebackType]:
    """The frames of this package, and those of Python's library that it called."""
    found: list[TracebackType] = []
    for before, entry in zip((None, *entries), entries, strict=False):
        file = entry.tb_frame.f_code.co_filename
        called = before in found and file.startswith(LIBRARY) and "site-packages" not in file
        if is_internal(entry.tb_frame) or called:
            found.append(entry)
    return found


def _explain(error: BaseException) -> None:
    """Add to an error of a call or an attribute what was meant, and to one of the compiler's own how to report it."""
    if _is_defect(error):
        error.add_note(DEFECT)
    if isinstance(error, AttributeError) and error.name and _is_ours(type(error.obj)):
        near = difflib.get_close_matches(error.name, dir(error.obj), 1, 0.75)
        if near:
            error.add_note(f"  did you mean .{near[0]}?")
        error.name = None  # or CPython adds its own guess, which may be far from it
    elif isinstance(error, AttributeError) and re.search("; (the nearest name is|it is in sg)", str(error)):
        error.name = None
    if isinstance(error, ImportError) and (found := UNKNOWN.match(str(error))):
        near = difflib.get_close_matches(found["name"], dir(sys.modules.get(found["module"])), 1, 0.75)
        if near:
            error.add_note(f"  did you mean {near[0]}?")
            error.name_from = None  # type: ignore[attr-defined] # or CPython adds its own guess
    entries = _entries(error.__traceback__)
    between = _between(entries)
    users = next((entry for entry in reversed(entries) if entry not in between), None)
    if users is None or not isinstance(error, (TypeError, ValueError)) or isinstance(error, StaticgradError):
        return
    function, words = called_at(users.tb_frame, users.tb_lasti)
    found = WRONG_CALL.match(str(error)) if isinstance(error, TypeError) else None
    if found is None:
        if entries[-1] in between and (_is_ours(function) or _is_ours(type(getattr(function, "__self__", None)))):
            error.add_note(_meant(function, None) or f"  in {_written(function)}()")  # Python's error of an argument in there
        return
    if function is None:
        function = _public(found["name"])
    called = found["name"].rpartition(".")[2].strip("_")
    if not hasattr(function, "__name__"):  # an object that is called: a module, whose forward takes the arguments
        function = getattr(function, called, function)
    its_own = called in ("init", "method", getattr(function, "__name__", "").strip("_"))
    if found["wrong"] not in words and not its_own:  # a function of the user's, called by ours
        return
    if _is_ours(function) or _is_ours(type(getattr(function, "__self__", None))):
        error.args = (str(error).replace(found["name"], _written(function), 1), *error.args[1:])
        if note := _meant(function, found["wrong"]):
            error.add_note(note)


DEFECT = """\
  this looks like a defect of staticgrad. STATICGRAD_RECORD=folder python program.py records what is compiled, and
  staticgrad replay folder compiles and runs it alone; please report it with that and staticgrad doctor --report"""


def _is_defect(error: BaseException) -> bool:
    """Whether an error says nothing of the user's program: the compiler raised it, and not on purpose."""
    if isinstance(error, StaticgradError):
        return isinstance(error, VerifyError)
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    unmeant = not isinstance(error, (MemoryError, OSError, Warning))
    return unmeant and entry is not None and entry.tb_frame.f_code.co_filename.startswith(f"{PACKAGE_DIR}compiler{os.sep}")


def _is_ours(x: Any) -> bool:
    return str(getattr(x, "__module__", None)).partition(".")[0] == PACKAGE


def _public(name: str) -> Any:
    """A method by its name and that of a public class."""
    owner, _, method = name.partition(".")
    for room in ("", ".nn", ".optim"):
        found = getattr(vars(sys.modules.get(PACKAGE + room, builtins)).get(owner), method, None)
        if found is not None:
            return found
    return None


def _written(function: Any) -> str:
    """The name of a function as its caller knows it; that of Python's error may be one of those inside."""
    if inspect.isclass(function):
        return f"{function.__name__}.__init__"
    owner = getattr(function, "__self__", None)
    name: str = function.__qualname__.rpartition(">.")[2]
    return f"{type(owner).__name__}.{function.__name__}" if _is_ours(type(owner)) else name


def _meant(function: Any, wrong: str | None) -> str:
    """The name of the argument that comes nearest to a wrong one; else how the function is called, unless it passes on what
    it gets."""
    signature = inspect.signature(function)
    named = [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    words = {twin: name for name in named for pair in TWINS if name in pair for twin in pair}
    taken = inspect.unwrap(function, stop=lambda inner: hasattr(inner, "synonyms"))
    words |= {name: name for name in (*getattr(taken, "synonyms", ()), *named)}
    near = difflib.get_close_matches(wrong or "", words, 1)
    if near:
        return f"  did you mean {words[near[0]]}=?"
    if any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        return ""
    shown = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name != "self"]
    return f"  call it as {function.__name__}{signature.replace(parameters=shown, return_annotation=signature.empty)}"


def called_at(frame: FrameType, instruction: int) -> tuple[Any, list[str | None]]:
    """The function that an instruction calls, where the source names it by names and attributes alone; else None. And the
    names of arguments that are written there."""
    line, end_line, column, end_column = list(frame.f_code.co_positions())[instruction // 2]
    if line is None or end_line is None or column is None or end_column is None:
        return None, []
    lines = [linecache.getline(frame.f_code.co_filename, i).encode() for i in range(line, end_line + 1)]
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]  # after the end, which may be in the same line
    call = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    return (_value(call.func, frame), [word.arg for word in call.keywords]) if isinstance(call, ast.Call) else (None, [])


def _value(expression: ast.expr, frame: FrameType) -> Any:
    if isinstance(expression, ast.Attribute):
        return getattr(_value(expression.value, frame), expression.attr, None)
    if not isinstance(expression, ast.Name):
        return None
    for names in (frame.f_locals, frame.f_globals, vars(builtins)):
        if expression.id in names:
            return names[expression.id]
    return None
