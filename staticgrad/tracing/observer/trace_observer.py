"""The observer of one trace: it runs the traced function under `sys.settrace`, and reads the operands of each instruction.

Observed are the user's frames, those of installed packages among them, and frames of the standard library that these call.
Frames of staticgrad itself are not: its modules and optimizers report their own state (`structure`).
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, TypeVar

from ...base import interpreter
from ...errors import PACKAGE_DIR, DataDependentError, TraceError
from ..decisions import RoadRaises
from ..frames import (
    Operands,
    ask_for_instructions,
    code_of,
    function_of,
    leave_instructions,
    places,
    readable,
    trace_instructions,
)
from ..guards import MISSING, body_of, has, is_a, order_of, static
from ..settings import watcher_setting
from .calls import observe_call
from .container_reads import read_class_attribute
from .instructions import HANDLERS, SEPARATE_PRECALL
from .python_types import IGNORED, LIBRARY, USER, ObjectAges, defining_class, is_heap_type, origin_of
from .state_watcher import PortableWatcher, StateWatcher
from .state_writes import FrameScope

Result = TypeVar("Result")

METHOD_FILES = (PACKAGE_DIR + "nn" + os.sep, PACKAGE_DIR + "optim" + os.sep)
REPLACEABLE = frozenset(["__call__", "forward", "step", "zero_grad", "rule", "updates"])
"""Methods of modules and optimizers that a user may replace in staticgrad's own classes."""
NOTED = (TraceError, DataDependentError, RoadRaises)
"""Errors that end the trace also where the user's code catches them."""
IMPORTS = "<frozen importlib"
"""How the names of the files begin that execute the code of imported modules."""
GENERATED = ("namedtuple_", "staticgrad.")
"""Names of modules that hold the generated methods of named tuples and dataclasses."""


class TraceObserver(StateWatcher):
    """The watcher that sees every instruction of CPython."""

    def __init__(self, name: str, roots: Iterable[tuple[str, Any]] = ()):
        super().__init__(name, roots, ObjectAges())
        self._files: dict[str, str] = {}
        self._functions: set[int] = set()
        self._methods: dict[tuple[int, int], Any] = {}
        self._importing = False

    def call(self, fn: Callable[..., Any]) -> None:
        """The traced function is about to be called."""
        observe_call(self.log, fn, (), {})

    def observe(self, work: Callable[[], Result]) -> Result:
        """Run `work` under observation and return its result. `close` or `rewind` undo its writes, which each run repeats.

        Not a context manager: a signal handler that raises in `__enter__` or `__exit__` would leave the trace function set.
        """
        places()
        log = self.log
        before = sys.gettrace()
        interpreter.pause()
        try:
            log.ages.start()
            ask_for_instructions()
            sys.settrace(self._enter_frame)
            result = work()
            sys.settrace(before)
            if log.error is not None:  # the user's code caught it
                raise log.error
            log.ages.stop()
            log.effects = [effect for effect in log.effects if effect.holder is None or self.existed(effect.holder)]
            return result
        except BaseException as error:
            sys.settrace(before)
            self.rewind()
            if log.error is not None and is_a(error, Exception) and not is_a(error, NOTED):
                raise log.error from None  # the user's code caught it, and raised another one
            raise
        finally:
            sys.settrace(before)
            log.ages.stop()
            interpreter.resume()

    # frames -----------------------------------------------------------------------------------------------------------

    def _enter_frame(self, frame: FrameType, event: str, arg: Any) -> Any:
        """The trace function: a frame begins."""
        if self._importing:
            return None
        file = frame.f_code.co_filename
        origin = self._files.get(file)
        if origin is None:
            origin = self._files[file] = origin_of(file)
        if origin is IGNORED:
            if "self" in frame.f_code.co_varnames[:1] and file.startswith(METHOD_FILES):
                name = frame.f_code.co_name
                if name in REPLACEABLE:
                    self._read_method(frame, name)
            return None
        if file == "<string>" and frame.f_globals.get("__name__", "").startswith(GENERATED):
            return None
        back = frame.f_back
        if frame.f_code.co_name == "<module>" and back is not None and back.f_code.co_filename.startswith(IMPORTS):
            return self._import(frame)
        if origin is USER and back is not None and self._files.get(back.f_code.co_filename) is IGNORED:
            self._read_method(frame)
        if origin is LIBRARY and (back is None or origin_of(back.f_code.co_filename) is IGNORED or back.f_trace is None):
            return None
        if origin is LIBRARY and file.endswith(("_weakrefset.py", "weakref.py")) and _is_ending(frame.f_code):
            return None
        return trace_instructions(frame, self._instruction_tracer(frame))

    def _import(self, frame: FrameType) -> Callable[..., Any]:
        """The trace function of a module that is imported. The state that its code makes stays, so it is as old as what existed
        before the trace: nothing of it is observed but that it ends."""
        self._importing = True
        end = self.log.ages.older()
        frame.f_trace_lines = False

        def local(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "return":
                self._importing = False
                end()
            return local

        return local

    def _read_method(self, frame: FrameType, name: str = "") -> None:
        """Guard a method that staticgrad calls and that a user may replace in its class. name: its name there, where known."""
        function = function_of(frame)
        if function is None or not function.__code__.co_argcount:
            return
        kind = type(Operands(frame, code_of(frame.f_code)).local(0))
        if (
            not is_heap_type(kind)
            or (id(kind), id(function)) in self._methods
            or (name and (not has(kind, "structure") or issubclass(kind, dict)))
        ):
            return
        self._methods[id(kind), id(function)] = kind, function
        names = [name] if name else [n for base in order_of(kind) for n, v in body_of(base).items() if v is function]
        for name in names:
            if static(kind, name) is function:
                read_class_attribute(self.log, kind if name != "__call__" else defining_class(kind, name), name)

    def _instruction_tracer(self, frame: FrameType) -> Callable[..., Any]:
        """The function that runs before each instruction of a frame."""
        code = code_of(frame.f_code)
        log = self.log
        operands = Operands(frame, code)
        steps = code.steps
        pending: Any = None  # (callback, offset at which the result is on the stack)
        function = function_of(frame)
        if function is not None and id(function) not in self._functions:
            self._functions.add(id(function))
            self.read_function(function)
        scope = FrameScope(frame, code, operands)

        def local(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal pending
            if event != "opcode":
                if event == "return":
                    leave_instructions(frame)
                    scope.frame = None  # the frame refers to this function, and would stay alive with its locals
                elif event == "exception":
                    if pending is not None:
                        callback, pending = pending[0], None
                        callback(MISSING)
                    if log.error is None and is_a(arg[1], NOTED):
                        log.error = arg[1]  # which a handler of this frame may catch
                return local
            step = steps.get(frame.f_lasti)
            if step is None:
                return local
            if pending is not None and not (SEPARATE_PRECALL and step.op == "CALL"):
                callback, offset = pending
                pending = None
                callback(operands.top(step.depth, 1)[0] if offset == frame.f_lasti and step.depth else None)
            handler = HANDLERS.get(step.op)
            if handler is not None:
                callback = handler(log, scope, step)
                if callback is not None:
                    following = step.next
                    if step.op == "PRECALL":
                        following = steps[following].next
                    pending = callback, following
            return local

        return local


def _is_ending(code: types.CodeType) -> bool:
    """Whether it is a function of a weak container that Python calls wherever an object ends, not where the code says so; the
    methods of that name have a `self`."""
    return code.co_name in ("_remove", "remove") and code.co_varnames[:1] != ("self",)


# which watcher a trace gets -------------------------------------------------------------------------------------------


def is_strict() -> bool:
    """Whether the next trace sees Python's instructions. Raises ImportError where it has to, and can't."""
    setting = watcher_setting()
    if setting == "strict":
        places()
        return True
    return setting == "auto" and sys.gettrace() is None and readable()


def watcher(name: str, roots: Iterable[tuple[str, Any]]) -> StateWatcher:
    """The watcher of one trace. roots: (label, object) that the function is given."""
    return TraceObserver(name, roots) if is_strict() else PortableWatcher(name, roots)
