"""What Python does while a function is traced: which state it reads, which it writes, and what it may not ask for.

A trace is a function of what it reads. So every read of an object that was there before becomes a guard (`guards.py`), and
every write to one is an `Effect`, which each run repeats. What can be neither - random numbers of other generators, files,
clocks - raises TraceError.

The reads are those of the user's frames, and of other libraries' frames that these call: before each instruction the operands
are looked at (`frames.py`). staticgrad's own frames are left out; modules and optimizers tell what they depend on themselves.
"""

from __future__ import annotations

import collections
import dis
import functools
import gc
import itertools
import operator
import os
import random
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any, NoReturn, TypeVar

import numpy as np

from .. import types as sg_types
from ..eager.tensor import Tensor
from ..errors import PACKAGE_DIR, TraceError, Where
from ..operators import Symbol
from .effects import BLIND, MOVING, Effect, restore, snapshot
from .frames import NULL, Operands, Step, code_of, function_of, places
from .frames import watch as watch_frame
from .guards import MISSING, Guards, Read, static
from .plain import Same
from .plain import key as plain_key

STDLIB = sysconfig.get_path("stdlib") + os.sep
SITE = (sysconfig.get_path("purelib") + os.sep, sysconfig.get_path("platlib") + os.sep)
OWN, OUTSIDE, NEVER = "the user's", "of a library", "not looked at"
SILENT = ("numpy", "scipy", "numba", "llvmlite", "networkx", "opt_einsum", "threadpoolctl", "_pytest", "pluggy")
"""Packages whose frames are not looked at."""
Result = TypeVar("Result")
OBJECT: Any = object
"""Its methods are compared with those of classes; to type checkers a bound and an unbound method are never the same."""

MACHINERY = ("importlib", "threading.py", "warnings.py", "traceback.py", "linecache.py", "logging", "inspect.py", "abc.py")
CONTAINERS = (list, dict, set, frozenset, tuple, collections.deque, bytearray, types.MappingProxyType)
VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
ITERATORS = "__next__"
DUNDERS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul", "&": "and",
    "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
COMPARED = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}
CLOCKS = frozenset(
    [
        "time",
        "time_ns",
        "monotonic",
        "monotonic_ns",
        "perf_counter",
        "perf_counter_ns",
        "process_time",
        "process_time_ns",
        "thread_time",
        "thread_time_ns",
        "localtime",
        "gmtime",
        "ctime",
        "asctime",
        "strftime",
        "sleep",
        "clock_gettime",
        "clock_gettime_ns",
    ]
)
HARMLESS_OS = frozenset(["fspath", "cpu_count", "getpid"])
FILES = frozenset(["load", "loadtxt", "genfromtxt", "fromfile", "memmap", "save", "savez", "savetxt", "open_memmap"])
PURE = frozenset(["id", "callable", "repr", "hash", "print", "super", "issubclass", "__build_class__", "locals", "globals"])
GETTERS = frozenset(
    [
        "getattr",
        "get",
        "next",
        "pop",
        "popleft",
        "popitem",
        "setdefault",
        "__getitem__",
        "__getattribute__",
        "__next__",
    ]
)


class Watch:
    """One trace's reads and writes. roots: (name, object) that the function is given."""

    def __init__(self, name: str, roots: Iterable[tuple[str, Any]] = ()):
        self.name = name
        self.reads: dict[tuple[Any, ...], Read] = {}
        self.effects: list[Effect] = []
        self.arrays: dict[int, np.ndarray] = {}
        """Arrays that were there before, by id: a run reads them anew."""
        self.structured: list[tuple[str, Any]] = []
        self.made: dict[int, Any] = {}
        """Objects that the trace is known to have made, by id."""
        self.untracked: dict[int, Any] = {}
        """Dicts that the garbage collector did not know when they were seen first: their age does not show."""
        self.spaces: dict[int, tuple[Any, Any]] = {}
        """(namespace of an object, that object) by id of the namespace."""
        self.before: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        """What was written to, as it was before the first write: (object, its value or a copy of its contents)."""
        self.moved: set[tuple[Any, ...]] = set()
        """Places whose present value follows from that before the call."""
        self.labels: dict[int, tuple[str, Any]] = {}
        self.error: TraceError | None = None
        self._modules: set[int] = set()
        self._files: dict[str, str] = {}
        self._functions: set[int] = set()
        self._methods: dict[tuple[int, int], Any] = {}
        self.read("item", vars(sg_types), "_default_float", sg_types.get_default_dtype(), "the default dtype")
        for label, value in roots:
            self.saw(value, label)

    # the time in which it looks ---------------------------------------------------------------------------------------

    def active(self, work: Callable[[], Result]) -> Result:
        """What `work` returns, while this thread is watched. Its writes are undone by `close` or `rewind`: each run does them.

        No context manager: a signal's handler that raises on the way in or out would leave the thread watched.
        """
        places()
        self._young = _youngest()
        enabled, before = gc.isenabled(), sys.gettrace()
        try:
            gc.disable()
            sys._getframe().f_trace_opcodes = True  # CPython 3.12 asks for one before it gives any frame's
            sys.settrace(self._start)
            result = work()
            sys.settrace(before)
            if self.error is not None:  # the user's code caught it
                raise self.error
            self._fresh = _youngest() - self._young
            self.effects = [effect for effect in self.effects if effect.holder is None or self.old(effect.holder)]
            return result
        except BaseException:
            sys.settrace(before)
            self.rewind()
            raise
        finally:
            sys.settrace(before)
            if enabled:
                gc.enable()

    def close(self) -> Guards:
        """What was read of objects that were there before. Takes back what was written to them: each run writes it."""
        reads = [read for read in self.reads.values() if self.old(read.holder)]
        structured = [(label, x) for label, x in self.structured if self.old(x)]
        counted = [read for read in reads if _counts(read)]
        skipped = self._skipped(structured)
        self.rewind()
        known = set(map(id, counted))
        return Guards([read for read in reads if id(read) not in known], counted, structured, skipped)

    def _skipped(self, structured: list[tuple[str, Any]]) -> frozenset[str]:
        changed = {
            (id(e.holder), e.key[1] if e.kind == "count" else e.key) for e in self.effects if e.kind in ("attribute", "count")
        }
        found = set()
        for label, value in structured:
            for path, module in value.named_modules() if hasattr(value, "named_modules") else ():
                for name in vars(module):
                    if (id(module), name) in changed and not _counted_class(type(module)):
                        found.add(".".join(x for x in (label, path, name) if x))
        return frozenset(found)

    def rewind(self) -> None:
        """Take back what the trace wrote to objects that were there before."""
        for (kind, _, key), (holder, value) in reversed(self.before.items()):
            restore(kind, holder, key, value)
        for values in (self.reads, self.before, self.made, self.untracked, self.spaces, self.labels, self._young):
            values.clear()

    def old(self, x: Any) -> bool:
        """Whether an object was there before the trace. Only after it."""
        if id(x) in self.spaces:
            return self.old(self.spaces[id(x)][1])
        if id(x) in self.made:
            return False
        if id(x) in self.untracked or not gc.is_tracked(x):
            return True
        return id(x) not in self._fresh

    def fresh_now(self, x: Any) -> bool:
        """Whether the trace made an object. During the trace; it takes time."""
        if id(x) in self.made:
            return True
        if not gc.is_tracked(x) or id(x) in self.untracked:
            return False
        return id(x) not in self._young and id(x) in _youngest()

    def make(self, x: Any) -> None:
        self.made[id(x)] = x

    # frames -----------------------------------------------------------------------------------------------------------

    def _start(self, frame: FrameType, event: str, arg: Any) -> Any:
        file = frame.f_code.co_filename
        kind = self._files.get(file)
        if kind is None:
            kind = self._files[file] = _kind_of(file)
        if kind is NEVER:
            if "self" in frame.f_code.co_varnames[:1] and file.startswith(METHODS):
                name = frame.f_code.co_name
                if name in RULES:
                    self._method(frame, name)
            return None
        if file == "<string>" and frame.f_globals.get("__name__", "").startswith(("namedtuple_", "staticgrad.")):
            return None  # what named tuples and dataclasses generate
        back = frame.f_back
        if kind is OWN and back is not None and self._files.get(back.f_code.co_filename) is NEVER:
            self._method(frame)
        if kind is OUTSIDE and (back is None or self._files.get(back.f_code.co_filename) is NEVER or back.f_trace is None):
            return None
        return watch_frame(frame, self._local(frame))

    def _method(self, frame: FrameType, name: str = "") -> None:
        """A method that code of ours calls, which somebody may replace in its class; its name there, where that is known."""
        function = function_of(frame)
        if function is None or not function.__code__.co_argcount:
            return
        kind = type(Operands(frame, code_of(frame.f_code)).local(0))
        if (
            not kind.__flags__ & 1 << 9
            or (id(kind), id(function)) in self._methods
            or (name and (not hasattr(kind, "structure") or issubclass(kind, dict)))
        ):
            return
        self._methods[id(kind), id(function)] = kind, function
        names = [name] if name else [n for base in kind.__mro__ for n, v in vars(base).items() if v is function]
        for name in names:
            if static(kind, name) is function:
                self.static(kind if name != "__call__" else _home(kind, name), name)

    def _local(self, frame: FrameType) -> Callable[..., Any]:
        """What is called before each instruction of a frame."""
        code = code_of(frame.f_code)
        operands = Operands(frame, code)
        steps = code.steps
        handlers = {op: getattr(self, name) for op, name in HANDLERS.items()}
        after: Any = None
        function = function_of(frame)
        if function is not None and id(function) not in self._functions:
            self._functions.add(id(function))
            self._function(function)
        scope = _Scope(frame, code, operands)

        def local(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal after
            if event != "opcode":
                if event == "return":
                    scope.frame = None  # which keeps this function, and would stay alive with its locals
                return local
            step = steps.get(frame.f_lasti)
            if step is None:
                return local
            if after is not None and not (PRECALLS and step.op == "CALL"):
                done, offset = after
                after = None
                done(operands.top(step.depth, 1)[0] if offset == frame.f_lasti and step.depth else MISSING)
            handler = handlers.get(step.op)
            if handler is not None:
                found = handler(scope, step)
                if found is not None:
                    behind = step.next
                    if step.op == "PRECALL":
                        behind = steps[behind].next
                    after = found, behind
            return local

        return local

    def _function(self, f: types.FunctionType) -> None:
        label = self.label(f, f.__name__)
        self.read("attribute", f, "__code__", f.__code__, f"{label}.__code__")
        if f.__defaults__ is not None:
            self.read("attribute", f, "__defaults__", f.__defaults__, f"{label}.__defaults__")
            names = f.__code__.co_varnames[: f.__code__.co_argcount][-len(f.__defaults__) :]
            for name, value in zip(names, f.__defaults__, strict=False):
                self.saw(value, name)
        if f.__kwdefaults__ is not None:
            self.read("attribute", f, "__kwdefaults__", f.__kwdefaults__, f"{label}.__kwdefaults__")
            self.content(f.__kwdefaults__, f"{label}.__kwdefaults__")

    def refuse(self, what: str, *advice: str) -> NoReturn:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _kind_of(frame.f_code.co_filename) is not OWN:
            frame = frame.f_back
        where = None if frame is None else Where(frame.f_code.co_filename, frame.f_lineno)
        self.error = TraceError(what, *advice, where=where)
        raise self.error

    # values -----------------------------------------------------------------------------------------------------------

    def label(self, x: Any, otherwise: str = "") -> str:
        known = self.labels.get(id(x))
        return known[0] if known is not None else (otherwise if otherwise else f"a {type(x).__name__}")

    def saw(self, value: Any, label: str) -> None:
        """An object that was there before, under a name."""
        if value is None or isinstance(value, (bool, int, float, str)) or id(value) in self.labels:
            return
        if isinstance(value, type) and value.__module__ == "builtins":
            return
        self.labels[id(value)] = label, value
        if isinstance(value, np.ndarray):
            if id(value) not in self.made:
                self.arrays[id(value)] = value
        elif type(value) is dict and not gc.is_tracked(value):
            self.untracked[id(value)] = value
        elif not isinstance(value, type) and hasattr(type(value), "structure"):
            if hasattr(value, "param_groups"):
                self.structured.append((label, value))
                for i, p in enumerate(value.parameters()):
                    self.labels.setdefault(id(p), (f"{label}.parameters[{i}]", p))
                self.read("length", value.param_groups, None, len(value.param_groups), f"{label}.param_groups")
            elif hasattr(value, "named_modules") and id(value) not in self._modules:
                self.structured.append((label, value))
                for path, module in value.named_modules():
                    self._modules.add(id(module))
                    self.labels.setdefault(id(module), (f"{label}.{path}" if path else label, module))
        elif isinstance(value, functools.partial):
            self.saw(value.func, label)
            for part in (*value.args, *value.keywords.values()):
                self.saw(part, label)
        elif isinstance(value, types.MethodType):
            self.saw(value.__self__, label.rpartition(".")[0] or "self")

    def read(self, kind: str, holder: Any, key: Any, value: Any, label: str) -> None:
        """Take note of a look at `holder`, unless the trace itself has written there."""
        if isinstance(value, Symbol):
            return
        place = kind, id(holder), _place(key)
        if place in self.reads:
            return
        written = self.before.get(("attribute" if kind == "attribute" else kind, id(holder), place[2]))
        if written is not None:
            if (kind, id(holder), place[2]) not in self.moved:
                return
            value = written[1]
        self.reads[place] = Read(kind, holder, key, value, label)
        self.saw(value, label)

    # looking ----------------------------------------------------------------------------------------------------------

    def item(self, holder: Any, key: Any, label: str) -> None:
        """`holder[key]` of a built-in container."""
        if ("copy", id(holder), None) in self.before:
            _, holder_before = self.before["copy", id(holder), None]
            places = self._written_items.get(id(holder))
            if places is not None and isinstance(holder, dict):
                if _place(key) in places and ("item", id(holder), _place(key)) not in self.moved:
                    return
                value = holder_before.get(key, MISSING)
                self.reads.setdefault(
                    ("item", id(holder), _place(key)),
                    Read("item" if type(holder) is dict else "lookup", holder, key, value, label),
                )
                self.saw(value, label)
                return
            self.content(holder, label)
            return
        if isinstance(holder, dict):
            value = dict.get(holder, key, MISSING)
            self.read("item" if type(holder) is dict else "lookup", holder, key, value, label)
        else:
            value = holder[key] if -len(holder) <= key < len(holder) else MISSING
            if type(holder) is tuple:
                self.saw(value, label)
            elif value is MISSING:
                self.length(holder)
            else:
                self.read("item", holder, key, value, label)

    @functools.cached_property
    def _written_items(self) -> dict[int, set[Any]]:
        """Keys that were set in dicts to which nothing else was done."""
        return {}

    def length(self, holder: Any) -> None:
        if isinstance(holder, VIEWS):
            holder = _behind(holder)
        if isinstance(holder, (tuple, str, bytes, range, frozenset, Tensor, Symbol)):
            return
        if ("copy", id(holder), None) in self.before or isinstance(holder, np.ndarray):
            self.content(holder, self.label(holder))
        elif isinstance(holder, CONTAINERS):
            self.read("length", holder, None, len(holder), self.label(holder))
        else:
            self.dunder(holder, "__len__")

    def content(self, holder: Any, label: str = "", deep: bool = False, arrays: bool = True) -> None:
        """All of a container, or of an array that Python computes with."""
        if holder is None or isinstance(holder, (bool, int, float, str, bytes, Symbol, Tensor)):
            return
        label = label if label else self.label(holder)
        if isinstance(holder, VIEWS):
            holder = _behind(holder)
        if isinstance(holder, types.MappingProxyType):
            holder = _behind(holder)
        if isinstance(holder, np.ndarray):
            if arrays:
                self.array(holder)
            return
        if isinstance(holder, (bytearray, memoryview)) or type(holder).__name__ == "array":
            self.read("bytes", holder, None, bytes(holder), label)
            return
        if not isinstance(holder, CONTAINERS):
            return
        if isinstance(holder, (tuple, frozenset)):
            members = tuple(holder)
        else:
            kind = "pairs" if isinstance(holder, dict) else "members"
            known = self.before.get(("copy", id(holder), None))
            now = known[1] if known is not None else holder
            value = (*dict.keys(now), *dict.values(now)) if isinstance(now, dict) else tuple(now)
            place = kind, id(holder), None
            if place in self.reads and not deep:
                return
            self.reads.setdefault(place, Read(kind, holder, None, value, label))
            members = tuple(dict.values(holder)) if isinstance(holder, dict) else tuple(holder)
        names = list(holder) if isinstance(holder, dict) else range(len(members))
        for name, member in zip(names, members, strict=False):
            if isinstance(member, Symbol):
                continue
            self.saw(member, f"{label}[{name!r}]")
            if deep and (isinstance(member, (CONTAINERS, np.ndarray))):
                self.content(member, f"{label}[{name!r}]", deep, arrays)

    def array(self, array: np.ndarray) -> None:
        """The values of an array that was there before, in Python's hands."""
        for x in (array, array.base):
            if isinstance(x, np.ndarray) and id(x) in self.arrays:
                known = self.before.get(("copy", id(x), None))
                from .guards import contents

                value = contents(known[1] if known is not None else x)
                self.reads.setdefault(("contents", id(x), None), Read("contents", x, None, value, self.label(x, "an array")))
                return

    def dunder(self, x: Any, *names: str) -> None:
        """The special methods that an operator finds in the class of an object."""
        kind = type(x)
        if not kind.__flags__ & 1 << 9 or isinstance(x, (Symbol, Tensor)) or kind.__module__.startswith("numpy"):
            return
        if not hasattr(kind, "named_modules"):  # a module counts a change of its class
            self.read("type", x, None, kind, f"the class of {self.label(x)}")
        elif names == ("__call__",):
            kind = _home(kind, "__call__")
        for name in names:
            self.static(kind, name)

    def static(self, kind: type, name: str) -> None:
        """`kind.name`, as its bodies have it."""
        value = static(kind, name)
        label = f"{kind.__name__}.{name}"
        plain = isinstance(value, types.FunctionType) or (value is not MISSING and not hasattr(type(value), "__get__"))
        if type(kind) is type and plain:
            self.read("attribute", kind, name, value, label)
        else:
            self.read("static", kind, name, value, label)
        if isinstance(value, np.ndarray):
            self.saw(value, label)

    def attribute(self, x: Any, name: str) -> None:
        """`x.name`: what it finds where."""
        if isinstance(x, Symbol) or x is NULL:
            return
        kind = type(x)
        label = f"{self.label(x)}.{name}"
        if isinstance(x, types.ModuleType):
            space = vars(x)
            self.spaces[id(space)] = space, x
            if name in space or "__getattr__" in space:
                self.read("item", space, name, space.get(name, MISSING), label)
            return
        if kind is super:
            self._super(x.__thisclass__, type(x.__self__) if not isinstance(x.__self__, type) else x.__self__, name)
            return
        if isinstance(x, type):
            self._of_class(x, name, label)
            return
        if name == "__dict__":
            members = getattr(x, "__dict__", None)
            if isinstance(members, dict):
                self.spaces[id(members)] = members, x
                self.labels.setdefault(id(members), (label, members))
            return
        if name == "__class__":
            self.read("type", x, None, kind, label)
            return
        if isinstance(x, np.ndarray):
            self._of_array(x, name)
            return
        found = static(kind, name)
        if kind.__getattribute__ is not OBJECT.__getattribute__:
            how = static(kind, "__getattribute__")
            if isinstance(how, types.FunctionType):
                self.dunder(x, "__getattribute__")
                return
        described = found is not MISSING and hasattr(type(found), "__get__")
        if described and hasattr(type(found), "__set__"):
            if isinstance(found, (types.MemberDescriptorType, types.GetSetDescriptorType)):
                self._value(x, name, label)
            elif not isinstance(x, Tensor):
                self.dunder(x, name)
            return
        if isinstance(x, Tensor) and found is not MISSING:
            return
        if described and isinstance(static(type(found), "__get__"), types.FunctionType):  # as cached_property has it
            own = getattr(x, "__dict__", None)
            if isinstance(own, dict) and name in own:
                self._value(x, name, label)
            else:
                self.dunder(x, name)
                if isinstance(space, dict):
                    self.spaces[id(space)] = space, x
                    self.read("item", space, name, MISSING, label)
            return
        if not kind.__flags__ & 1 << 9 and found is not MISSING:
            if not isinstance(
                found, (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)
            ):
                self._value(x, name, label)
            return
        self._value(x, name, label, found)

    def _value(self, x: Any, name: str, label: str, found: Any = MISSING) -> None:
        """An attribute that can be looked up without running anybody's code."""
        try:
            value = object.__getattribute__(x, name)
        except AttributeError:
            try:  # of a type with ways of its own: types.ModuleType, threading.local
                value = getattr(x, name) if not type(x).__flags__ & 1 << 9 or not _is_python(x) else MISSING
            except AttributeError:
                value = MISSING
        if value is MISSING:
            if static(type(x), "__getattr__") is not MISSING:
                self.dunder(x, "__getattr__")
                space = getattr(x, "__dict__", None)
                if isinstance(space, dict):
                    self.spaces[id(space)] = space, x
                    self.read("item", space, name, MISSING, label)
                return
            self.read("attribute", x, name, MISSING, label)
        elif isinstance(value, types.MethodType) and found is not MISSING and value.__func__ in (found, _inner(found)):
            if hasattr(type(x), "structure"):  # it counts a method of its own
                self.static(type(x), name)
            else:
                self.read("method", x, name, value.__func__, label)
        elif isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)) and found is not MISSING:
            self.static(type(x), name)
        else:
            self.read("attribute", x, name, value, label)

    def _of_class(self, kind: type, name: str, label: str) -> None:
        meta = static(type(kind), name)
        if type(kind) is not type and meta is not MISSING and hasattr(type(meta), "__set__"):
            self.dunder(kind, name)
            return
        found = static(kind, name)
        if found is MISSING:
            if type(kind) is not type:
                self.dunder(kind, name, "__getattr__")
            if name != "__dict__":
                self.read("static", kind, name, MISSING, label)
            return
        if not kind.__flags__ & 1 << 9:
            return
        self.static(kind, name)
        if isinstance(found, staticmethod):
            self.saw(found.__func__, label)
        else:
            self.saw(found, label)

    def _super(self, this: type, kind: type, name: str) -> None:
        order = kind.__mro__
        for base in order[order.index(this) + 1 :]:
            space = type.__dict__["__dict__"].__get__(base)
            if name in space:
                if base.__flags__ & 1 << 9:
                    self.static(base, name)
                return

    def _of_array(self, x: np.ndarray, name: str) -> None:
        if name in ("T", "real", "imag", "flat", "base", "mT"):
            value = getattr(x, name)
            if isinstance(value, np.ndarray) and id(x) in self.arrays:
                self.arrays[id(value)] = value
                self.labels.setdefault(id(value), (self.label(x), value))
        elif name in ("shape", "dtype", "ndim", "size", "strides", "nbytes", "itemsize") and id(x) in self.arrays:
            self.read("call", functools.partial(getattr, x), (name,), getattr(x, name), f"{self.label(x)}.{name}")

    # instructions -----------------------------------------------------------------------------------------------------

    def counts(self, scope: Any, step: Step, kind: str, holder: Any, key: Any, value: Any, label: str) -> bool:
        """Whether `value` is only read to be moved on by a number, as in `x.n += 1`: each run does that with the number that is
        there, of which just the type matters."""
        found = type(value) in (int, float) and _counted(scope.code.steps, step)
        if not found:
            return False
        scope.count = found
        place = (kind, id(holder), _place(key))
        if place not in self.before and place[1:] not in self.moved:
            self.read(f"type of {kind}", holder, key, type(value), f"the type of {label}")
        if place not in self.before and not (kind == "item" and place[2] in self._written_items.get(id(holder), ())):
            self.moved.add(place)
        return True

    def on_global(self, scope: Any, step: Step) -> None:
        space = scope.frame.f_globals
        if step.value in space and self.counts(scope, step, "item", space, step.value, space[step.value], step.value):
            return
        self.variable(scope.frame.f_globals, step.value, scope.frame.f_builtins)

    def on_name(self, scope: Any, step: Step) -> None:
        if scope.frame.f_locals is not scope.frame.f_globals and step.value in scope.frame.f_locals:
            return
        self.on_global(scope, step)

    def variable(self, space: dict[str, Any], name: str, builtins: Mapping[str, Any]) -> None:
        if name in space or ("item", id(space), name) in self.before:
            self.read("item", space, name, space.get(name, MISSING), name)
        else:
            self.read("item", space, name, MISSING, name)
            if name in builtins:
                self.read("item", builtins, name, builtins[name], name)

    def on_deref(self, scope: Any, step: Step) -> None:
        if step.arg < scope.code.free:
            return
        cell = scope.operands.local(step.arg)
        try:
            value = cell.cell_contents
        except ValueError:
            value = MISSING
        if not self.counts(scope, step, "cell", cell, None, value, scope.code.names[step.arg]):
            self.read("cell", cell, None, value, scope.code.names[step.arg])

    def on_attribute(self, scope: Any, step: Step) -> None:
        (x,) = scope.operands.top(step.depth, 1)
        if step.op == "LOAD_ATTR" and _is_settled(x, step.value):
            value = object.__getattribute__(x, step.value)
            if self.counts(scope, step, "attribute", x, step.value, value, f"{self.label(x)}.{step.value}"):
                return
        self.attribute(x, step.value)

    def on_super(self, scope: Any, step: Step) -> None:
        _, this, x = scope.operands.top(step.depth, 3)
        self._super(this, x if isinstance(x, type) else type(x), step.value)

    def on_item(self, scope: Any, step: Step) -> Any:
        holder, key = scope.operands.top(step.depth, 2)
        known = type(holder) is dict and _simple(key) and key in holder
        if known and self.counts(scope, step, "item", holder, key, holder[key], f"{self.label(holder)}[{key!r}]"):
            return None
        return self.subscript(holder, key)

    def on_slice(self, scope: Any, step: Step) -> Any:
        holder = scope.operands.top(step.depth, 3)[0]
        return self.subscript(holder, slice(0, 0))

    def subscript(self, holder: Any, key: Any) -> Any:
        label = f"{self.label(holder)}[{key!r}]" if not isinstance(key, (Symbol, Tensor, np.ndarray)) else self.label(holder)
        if isinstance(holder, np.ndarray):
            return self.computed(holder)
        getter = static(type(holder), "__getitem__")
        if isinstance(getter, types.FunctionType):
            self.dunder(holder, "__getitem__")
        elif isinstance(holder, dict):
            if _simple(key):
                self.item(holder, key, label)
                if not dict.__contains__(holder, key):
                    self.dunder(holder, "__missing__")
                    if isinstance(holder, collections.defaultdict):
                        self.attribute(holder, "default_factory")
                        self.mutate(holder, "setdefault", None)
                        return self._filled(holder, key)
            else:
                self.content(holder)
        elif isinstance(holder, (list, tuple, collections.deque)):
            if isinstance(key, (int, np.integer)):
                self.item(holder, int(key), label)
            else:
                self.content(holder)
        elif not isinstance(holder, (str, bytes, range, type)):
            self.content(holder)
        return None

    def _filled(self, holder: Any, key: Any) -> Callable[[Any], None]:
        """An item that a defaultdict makes."""

        def done(value: Any) -> None:
            if value is not MISSING:
                self.effects.append(Effect("item", holder, key, (value,)))
                self._written_items.setdefault(id(holder), set()).add(_place(key))

        return done

    def computed(self, *operands: Any, getter: bool = False) -> Any:
        """What NumPy makes of arrays: a view of one that was there before is one, too; other results have its values."""
        arrays = [x for x in operands if isinstance(x, np.ndarray) and (id(x) in self.arrays or id(x.base) in self.arrays)]

        def done(result: Any) -> None:
            if isinstance(result, (Symbol, Tensor)):
                return
            if isinstance(result, np.ndarray):
                if any(
                    result is x or (result.base is not None and (result.base is x or result.base is x.base)) for x in arrays
                ):
                    self.arrays[id(result)] = result
                    self.labels.setdefault(id(result), (self.label(arrays[0]), result))
                    return
                if not getter:
                    self.make(result)
            elif (isinstance(result, dict) or hasattr(type(result), "__next__")) and not getter:
                self.make(result)
            for x in arrays:
                self.array(x)

        return done

    def on_contains(self, scope: Any, step: Step) -> None:
        item, holder = scope.operands.top(step.depth, 2)
        if isinstance(static(type(holder), "__contains__"), types.FunctionType):
            self.dunder(holder, "__contains__")
        elif isinstance(holder, (dict, set)) and _simple(item) and ("copy", id(holder), None) not in self.before:
            self.read("contains", holder, item, item in holder, f"{item!r} in {self.label(holder)}")
        elif isinstance(holder, (VIEWS, CONTAINERS, np.ndarray)):
            self.content(holder)
        else:
            self.dunder(holder, "__contains__", "__iter__", "__getitem__")

    def on_iterate(self, scope: Any, step: Step) -> Any:
        (x,) = scope.operands.top(step.depth, 1)
        return self.iterated(x)

    def iterated(self, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            self.array(x)
        elif hasattr(type(x), "__next__"):
            self.consumed(x)
            return None
        elif isinstance(static(type(x), "__iter__"), types.FunctionType):
            self.dunder(x, "__iter__")
        else:
            self.content(x)
            if not isinstance(x, (*CONTAINERS, *VIEWS)):
                self.dunder(x, "__iter__", "__getitem__", "__len__")
        return self.computed()

    def on_next(self, scope: Any, step: Step) -> None:
        (x,) = scope.operands.top(step.depth, 1)
        self.consumed(x)

    def consumed(self, x: Any) -> None:
        """An iterator that is asked for its next item."""
        if id(x) in self.made or not hasattr(type(x), "__next__"):
            return
        if isinstance(static(type(x), "__next__"), types.FunctionType):
            self.dunder(x, "__next__")
        elif self.fresh_now(x):
            self.make(x)
        else:
            self.refuse(
                f"an iterator from outside ({self.label(x, type(x).__name__)}) is used up inside a compiled function, which "
                "would happen only while tracing",
                "call next() outside, and pass the item as an argument",
            )

    def on_content(self, scope: Any, step: Step) -> None:
        (x,) = scope.operands.top(step.depth, 1)
        self.content(x)
        if hasattr(type(x), "__next__"):
            self.consumed(x)

    def on_truth(self, scope: Any, step: Step) -> None:
        (x,) = scope.operands.top(step.depth, 1)
        if isinstance(x, (CONTAINERS, np.ndarray)):
            self.length(x)
        elif x is not None and not isinstance(x, (bool, int, float, str)):
            self.dunder(x, "__bool__", "__len__")

    def on_length(self, scope: Any, step: Step) -> None:
        self.length(scope.operands.top(step.depth, 1)[0])

    def on_match(self, scope: Any, step: Step) -> None:
        subject, *rest = scope.operands.top(step.depth, 3 if step.op == "MATCH_CLASS" else 2)
        if step.op == "MATCH_CLASS":
            kind, names = rest
            for name in (*getattr(kind, "__match_args__", ()), *names):
                self.attribute(subject, name)
            self.dunder(subject)
        else:
            self.content(subject)

    def on_binary(self, scope: Any, step: Step) -> Any:
        left, right = scope.operands.top(step.depth, 2)
        symbol = dis._nb_ops[step.arg][1] if step.op == "BINARY_OP" else ""  # type: ignore[attr-defined]
        if symbol == "[]":
            return self.subscript(left, right)
        name = DUNDERS.get(symbol.rstrip("=") if symbol not in ("<=", ">=") else symbol, "")
        in_place = symbol.endswith("=")
        names = (f"__{name}__", f"__r{name}__", *([f"__i{name}__"] if in_place else []))
        if not name:
            names = tuple(f"__{x}__" for x in COMPARED.values())
        result = None
        for x in (left, right):
            if x is None or isinstance(x, (bool, int, float, str, Symbol)):
                continue
            if isinstance(x, np.ndarray):
                result = self.computed(left, right)
            elif isinstance(x, (*CONTAINERS, *VIEWS)):
                result = self.computed()
                if not (in_place and x is left and isinstance(x, (list, set, dict, collections.deque))):
                    self.content(x)
            else:
                self.dunder(x, *names)
        if in_place and isinstance(left, (list, dict, set, collections.deque, np.ndarray, bytearray)):
            if isinstance(left, np.ndarray):
                if isinstance(right, Symbol):
                    return None
                self.array(left)
            self.mutate(left, f"__i{name}__", (right,), blind=isinstance(left, list) and symbol == "+=")
        return result

    def on_unary(self, scope: Any, step: Step) -> Any:
        (x,) = scope.operands.top(step.depth, 1)
        if isinstance(x, np.ndarray):
            return self.computed(x)
        if x is not None and not isinstance(x, (bool, int, float, str)):
            self.dunder(x, "__neg__", "__pos__", "__invert__", "__bool__", "__len__")
            if step.op == "UNARY_NOT" and isinstance(x, CONTAINERS):
                self.length(x)
        return None

    def on_with(self, scope: Any, step: Step) -> None:
        (x,) = scope.operands.top(step.depth, 1)
        self.dunder(x, "__enter__", "__exit__")

    def on_build(self, scope: Any, step: Step) -> Any:
        return self.make

    def on_import(self, scope: Any, step: Step) -> None:
        if step.value in sys.modules:
            self.read("item", sys.modules, step.value, sys.modules[step.value], f"the module {step.value}")

    # writing ----------------------------------------------------------------------------------------------------------

    def remember(self, kind: str, holder: Any, key: Any, value: Any) -> None:
        """What was in a place before the first write."""
        self.before.setdefault((kind, id(holder), key), (holder, value))

    def mutate(self, holder: Any, name: str, args: Any, blind: bool = False, kwargs: Any = None) -> None:
        """A method changes a built-in container."""
        if not blind:
            self.content(holder)
        self.remember("copy", holder, None, None if ("copy", id(holder), None) in self.before else snapshot(holder))
        self._written_items.pop(id(holder), None) if args is not None else None
        if args is not None:
            self.effects.append(Effect("method", holder, name, args, kwargs if kwargs else {}))

    def on_set_attribute(self, scope: Any, step: Step) -> None:
        value, x = scope.operands.top(step.depth, 2)
        count, scope.count = scope.count, None
        if count is None:
            self.moved.discard(("attribute", id(x), step.value))
        self.set_attribute(x, step.value, value, count)

    def set_attribute(self, x: Any, name: str, value: Any, count: Any = None) -> None:
        if isinstance(x, (Symbol, Tensor)) and static(type(x), name) is not MISSING:
            return
        how = static(type(x), "__setattr__")
        if isinstance(how, types.FunctionType) and not hasattr(type(x), "named_modules"):
            self.dunder(x, "__setattr__")
            return
        found = static(type(x), name)
        if found is not MISSING and hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType):
            self.dunder(x, name)
            if not isinstance(found, types.GetSetDescriptorType):
                return
        if isinstance(x, (types.ModuleType, type)):
            space = vars(x)
            self.spaces.setdefault(id(space), (space, x))
            old = space.get(name, MISSING)
            self.remember("item", space, name, old)
        elif name == "__dict__":
            old = x.__dict__
        else:
            try:
                old = object.__getattribute__(x, name)
                if isinstance(old, types.MethodType) or (found is not MISSING and name not in getattr(x, "__dict__", (name,))):
                    old = MISSING
            except AttributeError:
                old = MISSING
        self.remember("attribute", x, name, old)
        self._wrote("attribute", x, name, value, count)

    def on_delete_attribute(self, scope: Any, step: Step) -> None:
        (x,) = scope.operands.top(step.depth, 1)
        if isinstance(x, (Symbol, Tensor)):
            return
        self.attribute(x, step.value)
        self.remember("attribute", x, step.value, getattr(x, step.value, MISSING))
        self.effects.append(Effect("no attribute", x, step.value, ()))

    def on_set_item(self, scope: Any, step: Step) -> None:
        value, holder, key = scope.operands.top(step.depth, 3)
        count, scope.count = scope.count, None
        if count is None:
            self.moved.discard(("item", id(holder), _place(key)))
        self.set_item(holder, key, value, count)

    def on_set_slice(self, scope: Any, step: Step) -> None:
        value, holder, start, stop = scope.operands.top(step.depth, 4)
        self.set_item(holder, slice(start, stop), value)

    def _wrote(self, kind: str, holder: Any, key: Any, value: Any, count: Any) -> None:
        if count is None:
            self.effects.append(Effect(kind, holder, key, (value,)))
        else:
            self.effects.append(Effect("count", holder, (kind, key), count))

    def set_item(self, holder: Any, key: Any, value: Any, count: Any = None) -> None:
        if isinstance(holder, (Symbol, Tensor)):
            return
        if isinstance(static(type(holder), "__setitem__"), types.FunctionType):
            self.dunder(holder, "__setitem__")
            return
        if isinstance(holder, np.ndarray) and isinstance(value, Symbol):
            return
        first = ("copy", id(holder), None) not in self.before
        self.remember("copy", holder, None, snapshot(holder) if first else None)
        if isinstance(holder, dict) and _simple(key):
            if first:
                self._written_items[id(holder)] = set()
            if id(holder) in self._written_items:
                self._written_items[id(holder)].add(_place(key))
        elif isinstance(value, CONTAINERS):
            self.content(value)
        self._wrote("item", holder, key, value, count)

    def on_delete_item(self, scope: Any, step: Step) -> None:
        holder, key = scope.operands.top(step.depth, 2)
        if isinstance(holder, CONTAINERS):
            self.mutate(holder, "__delitem__", (key,))
        else:
            self.dunder(holder, "__delitem__")

    def on_set_global(self, scope: Any, step: Step) -> None:
        (value,) = scope.operands.top(step.depth, 1)
        space = scope.frame.f_globals
        count, scope.count = scope.count, None
        if count is None:
            self.moved.discard(("item", id(space), step.value))
        self.remember("item", space, step.value, space.get(step.value, MISSING))
        self._wrote("item", space, step.value, value, count)

    def on_delete_global(self, scope: Any, step: Step) -> None:
        space = scope.frame.f_globals
        self.remember("item", space, step.value, space.get(step.value, MISSING))
        self.effects.append(Effect("method", space, "__delitem__", (step.value,)))

    def on_set_deref(self, scope: Any, step: Step) -> None:
        if step.arg < scope.code.free:
            return
        (value,) = scope.operands.top(step.depth, 1)
        cell = scope.operands.local(step.arg)
        try:
            old = cell.cell_contents
        except ValueError:
            old = MISSING
        count, scope.count = scope.count, None
        if count is None:
            self.moved.discard(("cell", id(cell), _place(None)))
        self.remember("cell", cell, _place(None), old)
        self._wrote("cell", cell, None, value, count)

    # calls ------------------------------------------------------------------------------------------------------------

    def on_call(self, scope: Any, step: Step) -> Any:
        op, count = step.op, step.arg
        names: tuple[str, ...] = ()
        if op == "CALL_FUNCTION_EX":
            more = count & 1
            _, *rest = scope.operands.top(step.depth, 3 + more)
            if sys.version_info >= (3, 13):
                fn, _, *rest = scope.operands.top(step.depth, 3 + more)
                rest = [fn, *rest]
            fn, args = rest[0], rest[1]
            kwargs = rest[2] if more else {}
            self.content(args)
            if more:
                self.content(kwargs)
            if not isinstance(args, (tuple, list)) or not isinstance(kwargs, dict):
                return None
            return self.call(fn, tuple(args), dict(kwargs))
        if op == "CALL_KW":
            names = scope.operands.top(step.depth, 1)[0]
            found = scope.operands.top(step.depth - 1, count + 2)
        else:
            found = scope.operands.top(step.depth, count + 2)
            names, scope.names = scope.names, ()
        first, second, *args = found
        if first is NULL:
            fn = second
        elif second is NULL:
            fn = first
        else:
            fn, args = first, [second, *args]
        kwargs = dict(zip(names, args[len(args) - len(names) :], strict=True)) if names else {}
        return self.call(fn, tuple(args[: len(args) - len(names)]), kwargs)

    def on_keywords(self, scope: Any, step: Step) -> None:
        scope.names = scope.frame.f_code.co_consts[step.arg]

    def call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call, before it is done; returns what looks at its result."""
        if isinstance(fn, types.MethodType):
            args, fn = (fn.__self__, *args), fn.__func__
        if isinstance(fn, functools.partial):
            self.content(fn.keywords, self.label(fn))
            return self.call(fn.func, (*fn.args, *args), {**fn.keywords, **kwargs})
        if isinstance(fn, types.FunctionType):
            return self._python_call(fn, args, kwargs)
        if isinstance(fn, type):
            return self._class_call(fn, args, kwargs)
        if isinstance(fn, functools._lru_cache_wrapper):
            return self._cached_call(fn, args, kwargs)
        name = getattr(fn, "__name__", "")
        if not isinstance(name, str) or not _is_native(fn):
            if static(type(fn), "__call__") is not MISSING:
                self.dunder(fn, "__call__")
            for x in (*args, *kwargs.values()):
                self.content(x, deep=True, arrays=False)
            return self.computed()
        return self._native_call(fn, name, args, kwargs)

    def _python_call(self, fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        file = fn.__code__.co_filename
        kind = _kind_of(file)
        if kind is not NEVER:
            if "logging" in file or file.endswith("warnings.py"):
                pass
            return self.computed()
        numpy = "numpy" in (fn.__module__ or "")
        if numpy and fn.__name__ in FILES:
            self._io(f"numpy.{fn.__name__}")
        for x in (*args, *kwargs.values()):
            self.content(x, deep=True, arrays=False)
            if hasattr(type(x), "__next__"):
                self.consumed(x)
        return self.computed(*args, *kwargs.values()) if numpy else self.computed()

    def _class_call(self, fn: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if fn.__module__.startswith("numpy.random") or issubclass(fn, random.Random):
            if not [x for x in (*args, *kwargs.values()) if x is not None]:
                self._random(fn.__name__)
            return self.make
        if fn.__flags__ & 1 << 9 and _kind_of_class(fn) is not NEVER:
            if type(fn) is not type:
                self.dunder(fn, "__call__")
            self.static(fn, "__init__")
            self.static(fn, "__new__")
            if static(fn, "__init__") is not object.__init__:
                return self.computed()
        if fn is type and len(args) == 1:
            self.dunder(args[0])
            return None
        if fn in (super, property, staticmethod, classmethod, functools.partial):
            return None
        for x in (*args, *kwargs.values()):
            self.content(x, deep=True, arrays=False)
            if hasattr(type(x), "__next__"):
                self.consumed(x)
            elif not isinstance(x, (*CONTAINERS, *VIEWS)):
                self.dunder(x, "__len__", "__iter__", "__float__", "__int__", "__bool__", "__str__", "__index__")
        return self.computed(*args, *kwargs.values())

    def _cached_call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """functools.lru_cache: what it remembers is asked at every call, as eagerly."""

        def done(result: Any) -> None:
            if result is not MISSING and not kwargs and not isinstance(result, Symbol) and all(map(_simple, args)):
                self.read("call", fn, args, result, f"{self.label(fn, fn.__name__)}{args!r}")

        return done

    def _random(self, what: str) -> NoReturn:
        self.refuse(
            f"{what} draws a random number inside a compiled function: every run would get the one of the time of tracing",
            "draw with staticgrad (sg.rand, sg.randn, sg.bernoulli), or outside, and pass the number as an argument",
        )

    def _io(self, what: str) -> NoReturn:
        self.refuse(
            f"{what} reads or writes files inside a compiled function, which would happen only while tracing",
            "do it outside, and pass the values as arguments",
        )

    def _native_call(self, fn: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        owner = getattr(fn, "__self__", None)
        bound = owner is not None and not isinstance(owner, types.ModuleType)
        if bound and not isinstance(owner, type):
            args = (owner, *args)
        module = owner.__name__ if isinstance(owner, types.ModuleType) else getattr(fn, "__module__", None)
        first = args[0] if args else None
        self._check_allowed(fn, name, module, first, args)
        if isinstance(first, (Tensor, Symbol)) and name not in ("getattr", "setattr", "hasattr"):
            for x in args[1:]:
                self.content(x, deep=True, arrays=False)
            return self.computed()
        special = getattr(self, f"call_{name.strip('_')}", None)
        if special is not None and (
            module == "builtins" or bound or isinstance(fn, (types.WrapperDescriptorType, types.MethodDescriptorType))
        ):
            result = special(*args, **kwargs)
            if result is not NotImplemented:
                return result
        if (name in BLIND or name in MOVING) and isinstance(first, (list, dict, set, collections.deque, bytearray)):
            for x in args[1:]:
                if isinstance(x, CONTAINERS) and name not in ("append", "appendleft", "add"):
                    self.content(x)
                if hasattr(type(x), "__next__") and name in ("extend", "update", "extendleft"):
                    self.consumed(x)
            self.mutate(first, name, args[1:], name in BLIND, kwargs)
            return None if name in BLIND else self.computed(getter=True)
        if name in PURE and module == "builtins":
            return None
        writes = isinstance(first, np.ndarray) and name in (
            "sort",
            "fill",
            "put",
            "partition",
            "resize",
            "itemset",
            "setfield",
            "setflags",
        )
        out = kwargs.get("out")
        for x in (first if writes else None, *(out if isinstance(out, tuple) else (out,))):
            if isinstance(x, np.ndarray) and id(x) in self.arrays:
                self.array(x)
                if x is first and writes:
                    self.mutate(x, name, args[1:], True, kwargs)
                else:
                    self.refuse(
                        f"an array from outside is the out= of {name} inside a compiled function",
                        "compute a new array, or change a staticgrad tensor in place",
                    )
        for x in (*args, *kwargs.values()):
            self.content(x, deep=True, arrays=False)
            if hasattr(type(x), "__next__"):
                self.consumed(x)
            elif name in ("__reduce_ex__", "__reduce__", "dumps", "__getstate__", "__dir__", "dir"):
                self.all_attributes(x)
        if name == "default_rng":
            return self.make
        return self.computed(*args, *kwargs.values(), getter=name in GETTERS)

    def _check_allowed(self, fn: Any, name: str, module: Any, first: Any, args: tuple[Any, ...]) -> None:
        kind = type(first)
        home = kind.__module__
        if (home.startswith("numpy.random") or home in ("random", "_random")) and not self.fresh_now(first):
            self._random(f"{'np.random' if home.startswith('numpy') else 'random'}.{name}")
        if str(module).startswith("numpy.random") and not home.startswith("numpy.random") and name != "default_rng":
            self._random(f"np.random.{name}")
        if name == "default_rng" and (not args or args[0] is None):
            self._random("np.random.default_rng")
        if module in ("_random", "_secrets"):
            self._random(name)
        if module == "time" and name in CLOCKS:
            self._clock(f"time.{name}")
        if (
            name in ("now", "today", "utcnow")
            and isinstance(getattr(fn, "__self__", None), type)
            and fn.__self__.__module__ == "datetime"
        ):
            self._clock(f"{fn.__self__.__name__}.{name}")
        if module in ("posix", "nt") and name in ("urandom", "getrandom"):
            self._random(f"os.{name}")
        if module in ("posix", "nt", "_socket", "select", "_posixsubprocess", "fcntl", "mmap") and name not in HARMLESS_OS:
            self._io(f"{'os' if module in ('posix', 'nt') else module.strip('_')}.{name}")
        if module in ("io", "_io") or (module == "builtins" and name == "input"):
            self._io(name)
        console = name in ("isatty", "fileno", "flush") or first is sys.stdout or first is sys.stderr
        if home == "_io" and not console and not self.fresh_now(first):
            self._io(f"{kind.__name__}.{name}")

    def _clock(self, what: str) -> NoReturn:
        self.refuse(
            f"{what} reads the clock inside a compiled function: every run would get the time of tracing",
            "read it outside, and pass it as an argument",
        )

    def all_attributes(self, x: Any) -> None:
        space = getattr(x, "__dict__", None)
        if isinstance(space, dict) and not isinstance(x, (type, types.ModuleType, Tensor, Symbol)):
            self.spaces[id(space)] = space, x
            self.content(space, self.label(x), deep=True)
        for base in type(x).__mro__:
            for name in getattr(base, "__slots__", ()):
                if isinstance(name, str) and not name.startswith("__"):
                    self.attribute(x, name)

    # built-in functions and methods with a meaning of their own -------------------------------------------------------

    def call_getattr(self, x: Any, name: Any, *default: Any) -> Any:
        if isinstance(name, str):
            self.attribute(x, name)
        return self.computed(getter=True)

    call_hasattr = call_getattribute = call_getattr

    def call_setattr(self, x: Any, name: Any, value: Any) -> Any:
        if type(x).__setattr__ is OBJECT.__setattr__ or not isinstance(static(type(x), "__setattr__"), types.FunctionType):
            self.set_attribute(x, name, value)
        elif sys._getframe(2).f_code.co_name:
            self._bare_set(x, name, value)

    def _bare_set(self, x: Any, name: str, value: Any) -> None:
        """`object.__setattr__`, from a `__setattr__` of the user; `setattr`, which calls one."""
        self.remember("attribute", x, name, getattr(x, "__dict__", {}).get(name, MISSING))
        self.effects.append(Effect("attribute", x, name, (value,)))

    def call_delattr(self, x: Any, name: Any) -> Any:
        self.attribute(x, name)
        self.remember("attribute", x, name, getattr(x, name, MISSING))
        self.effects.append(Effect("no attribute", x, name, ()))

    def call_vars(self, *args: Any) -> Any:
        if args:
            self.attribute(args[0], "__dict__")
            if isinstance(args[0], types.ModuleType):
                self.spaces[id(vars(args[0]))] = vars(args[0]), args[0]
        return None if args else self.make

    def call_len(self, x: Any) -> Any:
        self.length(x)

    def call_isinstance(self, x: Any, kinds: Any) -> Any:
        if not isinstance(x, (Symbol, Tensor, type)) and type(x).__flags__ & 1 << 9 and not hasattr(x, "named_modules"):
            self.read("type", x, None, type(x), f"the class of {self.label(x)}")

    def call_iter(self, x: Any, *more: Any) -> Any:
        return self.iterated(x)

    def call_next(self, x: Any, *default: Any) -> Any:
        self.consumed(x)
        return self.computed(getter=True)

    def call_get(self, x: Any, *args: Any) -> Any:
        if isinstance(x, dict) and args and _simple(args[0]):
            self.item(x, args[0], f"{self.label(x)}[{args[0]!r}]")
            return self.computed(getter=True)
        if type(x).__name__ == "ContextVar":

            def done(result: Any) -> None:
                if ("context", id(x)) not in self.moved and result is not MISSING:
                    self.read("context", x, args, result, x.name)

            return done
        return NotImplemented

    def call_set(self, x: Any, *args: Any) -> Any:
        if type(x).__name__ == "ContextVar":
            old = x.get(MISSING)
            self.remember("context", x, None, old)
            self.moved.add(("context", id(x)))
            self.effects.append(Effect("method", x, "set", args))
            return None
        return NotImplemented

    def call_setitem(self, x: Any, key: Any, value: Any) -> Any:
        if isinstance(x, (list, dict, np.ndarray, collections.deque)):
            self.set_item(x, key, value)
            return None
        return NotImplemented

    def call_getitem(self, x: Any, key: Any) -> Any:
        if isinstance(static(type(x), "__getitem__"), types.FunctionType) and isinstance(x, dict):
            self.item(x, key, f"{self.label(x)}[{key!r}]")
            return self.computed(getter=True)
        return self.subscript(x, key)

    def call_print(self, *args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(x, Symbol) for x in args) and kwargs.get("file") in (None, sys.stdout, sys.stderr):
            self.effects.append(Effect("print", None, None, args, kwargs))


class _Scope:
    """A frame, what is known of its code, and where its operands are."""

    __slots__ = ("code", "count", "frame", "names", "operands")

    def __init__(self, frame: FrameType, code: Any, operands: Operands):
        self.frame: Any = frame
        self.code, self.operands = code, operands
        self.names: tuple[str, ...] = ()
        self.count: tuple[Any, Any] | None = None
        """(operation, number) of a statement like `x.n += 1` that is under way."""


PRECALLS = "PRECALL" in dis.opmap
"""CPython 3.11 makes a call of two instructions. The operands are in order before the first."""
RULES = frozenset(["__call__", "forward", "step", "zero_grad", "rule", "updates"])
"""Methods of modules and optimizers that somebody may replace in our own classes."""
METHODS = (PACKAGE_DIR + "nn" + os.sep, PACKAGE_DIR + "optim" + os.sep)
TRUTHS = {op: "on_truth" for op in dis.opmap if ("IF_TRUE" in op or "IF_FALSE" in op) and not op.startswith("INSTRUMENTED")}
HANDLERS = {
    **TRUTHS, "TO_BOOL": "on_truth",
    "LOAD_GLOBAL": "on_global", "LOAD_NAME": "on_name",
    "LOAD_DEREF": "on_deref", "LOAD_CLASSDEREF": "on_deref", "LOAD_FROM_DICT_OR_DEREF": "on_deref",
    "LOAD_ATTR": "on_attribute", "LOAD_METHOD": "on_attribute", "IMPORT_FROM": "on_attribute", "LOAD_SUPER_ATTR": "on_super",
    "BINARY_SUBSCR": "on_item", "BINARY_SLICE": "on_slice", "BINARY_OP": "on_binary", "COMPARE_OP": "on_binary",
    "CONTAINS_OP": "on_contains", "GET_ITER": "on_iterate", "FOR_ITER": "on_next", "UNPACK_SEQUENCE": "on_content",
    "UNPACK_EX": "on_content", "LIST_EXTEND": "on_content", "SET_UPDATE": "on_content", "DICT_UPDATE": "on_content",
    "DICT_MERGE": "on_content", "FORMAT_VALUE": "on_content", "FORMAT_SIMPLE": "on_content", "CONVERT_VALUE": "on_content",
    "GET_LEN": "on_length", "MATCH_KEYS": "on_match", "MATCH_CLASS": "on_match",
    "UNARY_NEGATIVE": "on_unary", "UNARY_POSITIVE": "on_unary", "UNARY_INVERT": "on_unary", "UNARY_NOT": "on_unary",
    "BEFORE_WITH": "on_with", "BUILD_MAP": "on_build", "BUILD_CONST_KEY_MAP": "on_build", "IMPORT_NAME": "on_import",
    "STORE_ATTR": "on_set_attribute", "DELETE_ATTR": "on_delete_attribute", "STORE_SUBSCR": "on_set_item",
    "STORE_SLICE": "on_set_slice", "DELETE_SUBSCR": "on_delete_item", "STORE_GLOBAL": "on_set_global",
    "DELETE_GLOBAL": "on_delete_global", "STORE_DEREF": "on_set_deref", "CALL_KW": "on_call", "CALL_FUNCTION_EX": "on_call",
    "KW_NAMES": "on_keywords", ("PRECALL" if PRECALLS else "CALL"): "on_call",
}  # fmt: skip


@functools.cache
def _kind_of(file: str) -> str:
    """Whose frames these are."""
    if file.startswith((PACKAGE_DIR, "<frozen importlib", "<__array_function__", "<guards>")):
        return NEVER
    for site in SITE:
        if file.startswith(site):
            return NEVER if file[len(site) :].split(os.sep)[0].removesuffix(".py") in SILENT else OUTSIDE
    if file.startswith("<frozen "):
        return OUTSIDE if file not in ("<frozen abc>",) else NEVER
    if file.startswith(STDLIB):
        return NEVER if file[len(STDLIB) :].startswith(MACHINERY) else OUTSIDE
    return OWN


def _youngest() -> set[int]:
    """The ids of the objects that the garbage collector has not looked at yet.

    One call of C code, in which no other thread runs: nothing may hold a tuple that is half made, as Python refuses to go on
    with one that somebody else refers to.
    """
    return set(map(id, itertools.chain.from_iterable(map(gc.get_objects, (0,)))))


def _kind_of_class(kind: type) -> str:
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    return OWN if file is None else _kind_of(file)


OPERATIONS = {"+=": operator.add, "-=": operator.sub, "*=": operator.mul}


def _counted(steps: dict[int, Step], step: Step) -> tuple[Any, Any] | None:
    """(operation, number) where the instructions behind a load move the value on by a number and store it where it was."""
    number = steps.get(step.next)
    if number is None or number.op != "LOAD_CONST" or type(number.value) not in (int, float):
        return None
    binary = steps.get(number.next)
    operation = OPERATIONS.get(dis._nb_ops[binary.arg][1]) if binary is not None and binary.op == "BINARY_OP" else None  # type: ignore[attr-defined]
    store = steps.get(binary.next) if binary is not None else None
    while store is not None and store.op == "SWAP":
        store = steps.get(store.next)
    wanted = STORES.get(step.op)
    if operation is None or store is None or store.op != wanted or (step.op != "BINARY_SUBSCR" and store.value != step.value):
        return None
    return operation, number.value


STORES = {
    "LOAD_ATTR": "STORE_ATTR",
    "LOAD_GLOBAL": "STORE_GLOBAL",
    "LOAD_DEREF": "STORE_DEREF",
    "BINARY_SUBSCR": "STORE_SUBSCR",
}


def _is_settled(x: Any, name: str) -> bool:
    """Whether an object itself has the attribute, in plain places."""
    if not type(x).__flags__ & 1 << 9 or isinstance(x, (type, types.ModuleType, Symbol, Tensor)):
        return isinstance(x, types.SimpleNamespace) and name in vars(x)
    if type(x).__getattribute__ is not OBJECT.__getattribute__:
        return False
    if isinstance(static(type(x), "__setattr__"), types.FunctionType) and not hasattr(type(x), "named_modules"):
        return False
    found = static(type(x), name)
    if isinstance(found, types.MemberDescriptorType):
        return getattr(x, name, MISSING) is not MISSING
    return not hasattr(type(found), "__set__") and name in getattr(x, "__dict__", ())


def _place(key: Any) -> Any:
    return key if isinstance(key, str) else plain_key(key)


def _home(kind: type, name: str) -> type:
    """The class in whose body a name is found."""
    return next(base for base in kind.__mro__ if name in vars(base))


def _behind(view: Any) -> Any:
    """The dict of a view."""
    return gc.get_referents(view)[0]


def _simple(key: Any) -> bool:
    """A key that is looked up without anybody's code."""
    return not isinstance(plain_key(key), Same) or type(key).__hash__ in (OBJECT.__hash__, type.__hash__)


def _inner(found: Any) -> Any:
    return getattr(found, "__func__", None)


def _is_python(x: Any) -> bool:
    return isinstance(static(type(x), "__getattribute__"), types.FunctionType)


def _is_native(fn: Any) -> bool:
    return isinstance(
        fn,
        (
            types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
            types.ClassMethodDescriptorType, np.ufunc,
        ),
    ) or "cython" in type(fn).__name__ or type(fn).__name__ == "_ArrayFunctionDispatcher"  # fmt: skip


def _counted_class(kind: type) -> bool:
    """A class of ours whose settings our own code reads, or one of the user that is based on it."""
    return any(base.__module__.startswith("staticgrad.") and base.__name__ != "Module" for base in kind.__mro__)


def _counts(read: Read) -> bool:
    """Whether `Structure` counts changes: of tensors and modules that are members of a module."""
    return (
        read.kind == "attribute"
        and hasattr(type(read.holder), "named_modules")
        and (isinstance(read.value, Tensor) or hasattr(type(read.value), "named_modules"))
    )
