"""The observer of one trace: it runs the traced function under `sys.settrace`, and reads the operands of each instruction.

Observed are the user's frames, those of installed packages among them, and frames of the standard library that these call.
Frames of staticgrad itself are not: its modules and optimizers report their own state (`structure`).
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from ... import garbage
from ... import types as sg_types
from ...eager.tensor import Tensor
from ...errors import PACKAGE_DIR, DataDependentError, TraceError
from ..decisions import RoadRaises
from ..effects import Effect, settings_of
from ..frames import Operands, code_of, function_of, places, trace_instructions
from ..guards import MISSING, Guards, Read, body_of, contents, has, is_a, order_of, static
from ..sharing import MemoryUse
from ..state_inputs import without_inputs
from .access_log import AccessLog
from .arrays import read_array
from .calls import observe_call
from .class_reads import read_class_attribute
from .code_origin import IGNORED, LIBRARY, USER, origin_of
from .container_reads import read_contents
from .counter_updates import FrameScope
from .instructions import HANDLERS, SEPARATE_PRECALL
from .python_types import defining_class, is_heap_type
from .state_writes import set_attribute

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


class TraceObserver:
    """Fills an `AccessLog` while the traced function runs. roots: (label, object) that the function is given."""

    def __init__(self, name: str, roots: Iterable[tuple[str, Any]] = ()):
        self.name = name
        self.log = AccessLog()
        self.conditions: list[Read] = []
        """Guards on numbers that are arguments."""
        self._files: dict[str, str] = {}
        self._functions: set[int] = set()
        self._methods: dict[tuple[int, int], Any] = {}
        self._importing = False
        self.log.read("item", vars(sg_types), "default_float", sg_types.get_default_dtype(), "the default dtype")
        for label, value in roots:
            self.log.see(value, label)

    @property
    def effects(self) -> list[Effect]:
        return self.log.effects

    def existed(self, x: Any) -> bool:
        """Whether an object existed before the trace. Valid after `observe`."""
        return self.log.ages.is_old(x)

    def read_array(self, array: np.ndarray) -> None:
        """The trace depends on the values of an array."""
        read_array(self.log, array)

    def check_arrays(self, members: Sequence[MemoryUse]) -> None:
        """Raises TraceError for arrays whose writes, or reads, can't be followed. members: see `ArrayMemory.check`."""
        read = [read.holder for read in self.log.reads.values() if read.kind == "contents"]
        read += [read.holder._data for read in self.log.reads.values() if read.kind == "values"]
        buffers = [x for (kind, _, _), (x, _) in self.log.before.items() if kind == "copy" and type(x) is bytearray and x]
        views = {id(view): (view, None) for view in [np.frombuffer(x, np.uint8) for x in buffers]}
        self.log.arrays.written.update(views)  # an array may share their memory
        try:
            self.log.arrays.check(read, members, self.log)
        finally:  # a bytearray with views can't get its former length back
            for key in views:
                del self.log.arrays.written[key]
            views.clear()

    def read_values(self, tensor: Tensor) -> None:
        """The trace depends on the values of a tensor."""
        label = self.log.label(tensor, tensor.name if tensor.name else "a tensor")
        self.log.read("values", tensor, None, contents(tensor._data), label)

    def set_attribute(self, holder: Any, name: str, value: Any) -> None:
        """An attribute of an object is about to be set, to another value of Python, by code that is not observed."""
        former = [e for e in self.log.effects if e.holder is holder and (e.kind, e.key) == ("attribute", name)]
        self.log.effects = [effect for effect in self.log.effects if effect not in former]  # nobody reads it in between
        set_attribute(self.log, holder, name, value)

    def keeps(self, x: Any) -> None:
        """An object that the package has made stays after the trace: changes of it are effects."""
        self.log.ages.keep(x)

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
        garbage.pause()
        try:
            log.ages.start()
            sys._getframe().f_trace_opcodes = True  # CPython 3.12 wants one frame with it before it gives opcode events of any
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
            garbage.resume()

    def close(self, captured: frozenset[int] = frozenset()) -> Guards:
        """The guards on all that was read of objects that existed before. Undoes the writes of the trace. captured: ids of the
        tensors whose values it reads."""
        log = self.log
        old = [read for place, read in log.reads.items() if place not in log.inputs and self.existed(read.holder)]
        reads = [part for read in old for part in without_inputs(read, log.inputs) if id(part.holder) not in log.stand_ins]
        structured = [(label, x) for label, x in log.structured if self.existed(x)]
        reads += self.conditions
        counted = [read for read in reads if _is_counted(read)]
        skipped, replaced = self._changed_settings(structured, captured)
        self.rewind()
        known = set(map(id, counted))
        return Guards([read for read in reads if id(read) not in known], counted, structured, skipped, replaced)

    def rewind(self) -> None:
        """Undo the writes of the trace to objects that existed before it."""
        self.log.rewind()

    def _changed_settings(
        self, structured: list[tuple[str, Any]], captured: frozenset[int]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Labels of settings that the function itself changes: those of the user's modules, whose reads are guarded by
        themselves, and tensors in staticgrad's layers whose former values it does not read."""
        changed = {
            (id(e.holder), e.key[1] if e.kind == "count" else e.key) for e in self.effects if e.kind in ("attribute", "count")
        }
        skipped, replaced = set(), set()
        for label, value in structured:
            for path, module in value.named_modules() if has(type(value), "named_modules") else ():
                own = settings_of(type(module))
                for name in vars(module):
                    if (id(module), name) in changed:
                        full = ".".join(x for x in (label, path, name) if x)
                        _, before = self.log.before.get(("attribute", id(module), name), (module, None))
                        if name not in own:
                            skipped.add(full)
                        elif before is MISSING or (is_a(before, Tensor) and id(before) not in captured):
                            replaced.add(full)
        return frozenset(skipped), frozenset(replaced)

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
            self._read_function(function)
        scope = FrameScope(frame, code, operands)

        def local(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal pending
            if event != "opcode":
                if event == "return":
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

    def _read_function(self, f: types.FunctionType) -> None:
        """Guard the code and the defaults of a function that runs."""
        log = self.log
        label = log.label(f, f.__name__)
        log.read("attribute", f, "__code__", f.__code__, f"{label}.__code__")
        if f.__defaults__ is not None:
            log.read("attribute", f, "__defaults__", f.__defaults__, f"{label}.__defaults__")
            names = f.__code__.co_varnames[: f.__code__.co_argcount][-len(f.__defaults__) :]
            for name, value in zip(names, f.__defaults__, strict=False):
                log.see(value, name)
        if f.__kwdefaults__ is not None:
            log.read("attribute", f, "__kwdefaults__", f.__kwdefaults__, f"{label}.__kwdefaults__")
            read_contents(log, f.__kwdefaults__, f"{label}.__kwdefaults__")


def _is_ending(code: types.CodeType) -> bool:
    """Whether it is a function of a weak container that Python calls wherever an object ends, not where the code says so; the
    methods of that name have a `self`."""
    return code.co_name in ("_remove", "remove") and code.co_varnames[:1] != ("self",)


def _is_counted(read: Read) -> bool:
    """Whether `Structure` counts changes of the value read: a parameter or module that is a member of a module. Other tensors
    there may be replaced by a compiled function, which is not counted."""
    return (
        read.kind == "attribute"
        and has(type(read.holder), "named_modules")
        and ((is_a(read.value, Tensor) and read.value._parameter) or has(type(read.value), "named_modules"))
    )
