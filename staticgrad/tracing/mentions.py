"""What a function mentions, found without running it: in globals, cells, defaults, attributes, containers and classes.

`sg.compare` asks for modules, optimizers and tensors before the first run. The portable watcher of a trace
(`observer/state_watcher.py`) asks for all state that the function may read: each place becomes a guard, and what can't be
told from outside is an error.
"""

from __future__ import annotations

import abc
import builtins
import collections
import dis
import enum
import functools
import os
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..base import interpreter
from ..base.devices import device
from ..base.dtypes import ANY_DTYPE
from ..base.types import finfo, iinfo
from ..eager.tensor import Tensor
from ..errors import PACKAGE_DIR, TraceError, Where
from ..ops.operators import F, Symbol
from ..ops.operators.dispatch import Size
from .containers import each, pairs
from .guards import MISSING, asks_user, body_of, has, is_a, look_up, namespace, order_of, own_value, static
from .observer.access_log import AccessLog
from .observer.arrays import read_array
from .observer.attribute_reads import GETTERS
from .observer.container_reads import read_class_attribute, read_contents
from .observer.python_types import (
    CONTAINERS,
    IGNORED,
    IGNORED_STDLIB,
    LIBRARY,
    USER,
    is_heap_type,
    is_native_function,
    origin_of,
    origin_of_class,
)
from .observer.refused_calls import NUMPY_FILES, package_setting
from .state_inputs import Structure

PLAIN = (
    bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented), range, slice, device, Size, Structure,
    np.finfo, np.iinfo, finfo, iinfo,
)  # fmt: skip
UNIQUE = (*PLAIN, type, enum.Enum, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, *ANY_DTYPE)
"""Classes of objects for which no other object stands in a trace."""
MANY = 64
"""Members of a container that `sg.compare` searches; longer ones are data."""
MOST = 1024
"""Members of a container that every call may compare."""
LARGE = 1 << 16
"""Bytes of an array that every call may compare."""
PURE_BUILTINS = frozenset(
    [
        "abs", "all", "any", "bin", "callable", "chr", "divmod", "format", "hash", "hex", "id", "isinstance", "issubclass",
        "iter", "len", "max", "min", "next", "oct", "ord", "pow", "repr", "round", "sorted", "sum", "__build_class__",
    ]
)  # fmt: skip
PURE_MODULES = frozenset(
    ["math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "_collections", "collections", "numpy"]
)  # fmt: skip
"""Modules whose functions of C read nothing but their arguments."""
BASES: tuple[Any, ...] = (
    object, tuple, list, dict, collections.OrderedDict, collections.defaultdict, collections.deque, set, frozenset, int, float,
    str, types.SimpleNamespace, typing.Generic, abc.ABC,
)  # fmt: skip
"""Classes of C whose objects have no state beside their contents and their namespace."""
ASKING = frozenset(
    [
        "__dict__", "__doc__", "__module__", "__getattribute__", "__setattr__", "__delattr__", "__dir__", "__reduce__",
        "__reduce_ex__", "__getstate__", "__subclasshook__",
    ]
)  # fmt: skip
OPERATORS = frozenset(name for kind in (object, int, list, dict, set) for name in dir(kind)) - ASKING
OPERATORS |= frozenset(["__call__", "__enter__", "__exit__", "__match_args__", "__name__", "__qualname__"])
"""Special names that code may mention. Others ask Python about itself."""
IMMUTABLE = 1 << 8
"""CPython's Py_TPFLAGS_IMMUTABLETYPE, of classes of C."""
UNCALLED = frozenset(["__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__replace__", "__sizeof__", "__dir__"])
"""Special methods that nothing calls which code may mention."""
METACLASSES = (type, abc.ABCMeta, enum.EnumMeta)
CONSTRUCTORS = frozenset(["__init__", "__new__", "__post_init__", "__set_name__", "__init_subclass__", "__del__"])
TRANSPARENT = ("reprlib.py", "contextlib.py", "functools.py", "enum.py", "abc.py", "typing.py", "dataclasses.py")
"""Files of the standard library whose functions read nothing but what they are made of."""
LOAD_NAMES = frozenset(["LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"])
LOAD_ATTRIBUTES = frozenset(["LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"])
OF_BODIES = frozenset(["STORE_NAME", "DELETE_NAME"])
"""Instructions of the bodies of classes, for their own names."""
OF_PROCESS = frozenset(file.removesuffix(".py") for file in IGNORED_STDLIB) - {"abc"}
"""Packages and modules of the standard library that read or change the process."""
FORMATTED = re.compile(r"\{[^{}:!.]*((?:\.\w+|\[[^\]]*\])+)")
"""A field of `str.format` that reads attributes."""
ADVICE = "run it on a Python whose instructions are watched (see the page on programs that compile), or keep state in tensors"


class UnknownState(TraceError):
    """A function may read or change state that only an interpreter whose instructions are watched would show.

    Broken, on such a Python, where another setting of STATICGRAD_WATCHER is in force, or under a debugger::

        @sg.compile(on_break="error")
        def step(x):
            self.count = len(seen)

    Fixed: the state in a tensor, or without `on_break="error"`, in segments.
    """


class Mentions:
    """What `fn` mentions beside its array arguments. arguments: its other arguments, by name; log: gets the places that the
    function may read, and raises TraceError for what can't be known."""

    def __init__(self, fn: Callable[..., Any], arguments: Sequence[tuple[str, Any]] = (), log: AccessLog | None = None):
        self.log = log
        self.structured: list[tuple[str, Any]] = []
        """Modules and optimizers."""
        self.tensors: list[tuple[str, Tensor]] = []
        """Tensors that are not in a module."""
        self.seen: dict[int, Any] = {}
        """All that was found, by id."""
        self.functions: list[types.FunctionType] = []
        self.spaces: dict[int, dict[str, Any]] = {}
        """Namespaces of objects and modules, by id."""
        self._attributes: set[str] = set()
        """All names that follow a dot in the code."""
        self._holders: list[tuple[str, Any]] = []
        self._classes: dict[int, tuple[type, set[str]]] = {}
        """(class, names of its body that were looked at), by id."""
        self._by_class = False
        """Whether there are class methods, which may make objects."""
        self._constructed: set[int] = set()
        """Classes that the function mentions itself."""
        self._read: set[tuple[int, str]] = set()
        self._visit(getattr(fn, "__name__", "function"), fn)
        for name, value in arguments:
            self._visit(name, value)
        done = -1
        while done != (done := sum(map(len, (self._attributes, self._holders, self._read, self._classes, self.seen)))):
            for label, holder in list(self._holders):
                self._read_attributes(label, holder)
            for kind, known in list(self._classes.values()):
                self._read_class(kind, known)
        self.modules = [(label, x) for label, x in self.structured if not hasattr(x, "param_groups")]
        self.optimizers = [(label, x) for label, x in self.structured if hasattr(x, "param_groups")]

    def _unknown(self, what: str, code: types.CodeType | None = None) -> None:
        """Raises TraceError where somebody asks for all state."""
        if self.log is not None:
            where = None if code is None else Where(code.co_filename, code.co_firstlineno)
            raise UnknownState(f"without watching Python's instructions, {what}", ADVICE, where=where)

    # values ---------------------------------------------------------------------------------------------------------

    def _visit(self, label: str, value: Any) -> None:
        kind = type(value)
        if kind is str:
            self._attributes |= _formatted(value)
        if kind in PLAIN or is_a(value, (np.generic, *ANY_DTYPE, Symbol)) or id(value) in self.seen:
            return
        if value is F:  # modules enter their functions in it when they are imported, which no run takes back
            return
        self.seen[id(value)] = value
        if self.log is not None:
            self.log.see(value, label)
        if is_a(value, types.FunctionType):
            self._function(label, value)
        elif is_a(value, types.MethodType):
            self._visit("self", value.__self__)
            self._visit(label, value.__func__)
        elif is_a(value, functools.partial):
            self._visit(label, value.func)
            self._members(label, value.args)
            self._members(label, value.keywords)
        elif is_a(value, (staticmethod, classmethod)):
            self._by_class |= is_a(value, classmethod)
            self._visit(label, value.__func__)
        elif is_a(value, functools.cached_property):
            self._visit(label, value.func)
        elif is_a(value, GETTERS):
            make, given = value.__reduce__()
            given = (*given, *make.args, *make.keywords.values()) if is_a(make, functools.partial) else given
            for part in given:
                self._visit(label, part)
                self._attributes.update(part.split(".") if is_a(part, str) else ())
        elif is_a(value, property):
            for part in (value.fget, value.fset, value.fdel):
                self._visit(label, part)
        elif is_a(value, Tensor):
            self.tensors.append((label, value))
            if self.log is not None:
                self._holders.append((label, value))  # a user's attributes
                self._hooks_of(label, value)
        elif is_a(value, type):
            self._class(label, value)
        elif is_a(value, types.ModuleType):
            if self.log is not None or _is_own(value.__name__):
                self._hold(label, value)
        elif has(kind, "structure"):
            self._structured(label, value)
        elif is_a(value, np.ndarray):
            self._array(label, value)
        elif is_a(value, functools._lru_cache_wrapper):
            self._unknown(f"it can't be told what {label}, a cached function, keeps")
            self._visit(label, value.__wrapped__)
        elif is_native_function(value):
            self._native(label, value)
        elif is_a(value, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            pass  # the objects that have such an attribute hold its value
        else:
            self._object(label, value)

    def _array(self, label: str, value: np.ndarray) -> None:
        if self.log is not None:
            if type(value) is not np.ndarray or value.dtype.hasobject or value.nbytes > LARGE:
                self._unknown(f"it can't be told whether {label}, an array of {value.nbytes} bytes, has changed")
            read_array(self.log, value)

    def _structured(self, label: str, value: Any) -> None:
        self.structured.append((label, value))
        if not has(type(value), "named_modules"):
            if origin_of_class(type(value)) is USER:
                self._unknown(f"it can't be told what {label}, an optimizer of a class of its own, reads")
            self._replaceable(type(value), ("step", "zero_grad"))
            if self.log is not None:
                self._holders.append((label, value))
            return
        for path, module in value.named_modules():
            self.seen[id(module)] = module
            name = f"{label}.{path}" if path else label
            self._replaceable(type(module), ("forward", "__call__"))
            self._hold(name, module)
            self._add_class(type(module))
            for key, hooks in namespace(module).items() if self.log is not None else ():
                if key.endswith("hooks") and is_a(hooks, dict):
                    self._members(f"{name}.{key}", hooks)
            for key, parameter in module._parameters.items() if self.log is not None else ():
                if is_a(parameter, Tensor):
                    self._hooks_of(f"{name}.{key}", parameter)

    def _hooks_of(self, label: str, tensor: Tensor) -> None:
        if tensor._hooks:
            self._members(f"{label}.hooks", tensor._hooks)

    def _replaceable(self, kind: type, names: Sequence[str]) -> None:
        """Methods of classes of this package, which a user may replace."""
        for name in names:
            if self.log is not None and is_a(found := static(kind, name), types.FunctionType):
                read_class_attribute(self.log, kind, name)
                self._visit(f"{kind.__name__}.{name}", found)

    def _function(self, label: str, fn: types.FunctionType) -> None:
        code = fn.__code__
        if origin_of(code.co_filename) is IGNORED:
            module = fn.__module__ or ""
            of_process = module.partition(".")[0] in OF_PROCESS or package_setting(fn)
            if of_process or module.startswith("numpy.random") or (module.startswith("numpy") and fn.__name__ in NUMPY_FILES):
                self._unknown(f"it can't be told what {label} reads")
            return
        if self.log is None and not _is_own(fn.__module__ or ""):
            return
        self.functions.append(fn)
        names, attributes, odd = _mentioned(code)
        hidden = [] if self.log is None else sorted(x for x in attributes if x.startswith("__") and x not in OPERATORS)
        if hidden:
            odd = odd or f"reads by the name of {hidden[0]}"
        if origin_of(code.co_filename) is LIBRARY and os.path.basename(code.co_filename) in TRANSPARENT:
            names = names & {"getattr"} if code.co_filename.endswith("dataclasses.py") else set()  # `asdict` reads all fields
        elif odd or (self.log is not None and origin_of(code.co_filename) is USER and self._compares(fn)):
            self._unknown(f"it can't be told what {fn.__name__} {odd or 'compares by `is`'}", code)
        self._attributes |= attributes
        self._globals(fn, names)
        for name, cell in zip(code.co_freevars, fn.__closure__ if fn.__closure__ else (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                value = MISSING
            if self.log is not None:
                self.seen[id(cell)] = cell
                self.log.read("cell", cell, None, value, name)
            if value is not MISSING:
                self._visit(name, value)
        for value in (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()):
            self._visit(label, value)
        if fn.__dict__ or self.log is not None:
            self._hold(label, fn)

    def _compares(self, fn: types.FunctionType) -> bool:
        """Whether a function asks, in a way that can't be told, which object it has: another call's may stand in its place."""
        space = fn.__globals__
        if fn.__name__ == "__eq__" and fn.__code__.co_filename == "<string>":  # a dataclass': an object equals itself
            return False
        for base, attribute in _identified(fn.__code__):
            value = space.get(base, vars(builtins).get(base, MISSING))
            if attribute and is_a(value, (type, types.ModuleType)):
                value = static(value, attribute) if is_a(value, type) else own_value(value, attribute)
            elif attribute:
                return True
            if type(value) is not object and not is_a(value, UNIQUE):
                return True
        return False

    def _globals(self, fn: types.FunctionType, names: set[str]) -> None:
        space, shared = fn.__globals__, getattr(fn, "__builtins__", vars(builtins))
        for name in sorted(names):
            if name in space:
                self._visit_item(space, space, name, name)
            elif self.log is not None:
                value = shared.get(name, MISSING)
                self.log.read("item", space, name, MISSING, name)
                self.log.read("item", shared, name, value, name)
                if value is not MISSING:
                    self._visit(name, value)
        self.spaces[id(space)] = space

    def _native(self, label: str, fn: Any) -> None:
        """A function of C."""
        owner = getattr(fn, "__self__", None)
        module = str(owner.__name__ if is_a(owner, types.ModuleType) else getattr(fn, "__module__", None) or "")
        if owner is not None and not is_a(owner, types.ModuleType):
            self._visit(label, owner)
        elif module == "builtins":
            if fn.__name__ not in PURE_BUILTINS:
                self._unknown(f"it can't be told what {label}() reads or changes")
        elif (
            module.startswith("numpy.random")
            or (
                module.partition(".")[0] not in PURE_MODULES
                and not is_a(fn, (np.ufunc, types.MethodDescriptorType, types.WrapperDescriptorType))
            )
            or (is_a(fn, np.ufunc) and {*"".join(fn.types)} <= {*"O->"})
        ):  # of a function of Python's
            self._unknown(f"it can't be told what {label}, of {module or 'an unknown module'}, reads or changes")
        elif module.startswith("numpy") and fn.__name__ in NUMPY_FILES:
            self._unknown(f"it can't be told what {label} reads")

    def _members(self, label: str, value: Any) -> None:
        members = pairs(value) if is_a(value, dict) else tuple(value.items()) if _is_proxy(value) else tuple(each(value))
        count = len(members) // 2 if is_a(value, dict) else len(members)
        if self.log is None and count > MANY:
            return
        if self.log is not None:
            if count > MOST:
                self._unknown(f"{label} has too many members to compare them in every call")
            read_contents(self.log, value, label)
        if is_a(value, dict):
            for key, part in zip(members[:count], members[count:], strict=True):
                self._visit(label, key)
                self._visit(f"{label}[{key!r}]" if type(key) in PLAIN else label, part)
        else:
            for i, part in enumerate(members):
                self._visit(f"{label}[{i}]", part)

    # objects and classes ----------------------------------------------------------------------------------------------

    def _visit_item(self, owner: Any, space: Any, name: Any, label: str) -> None:
        """Visit `space[name]`, where space is the namespace of `owner`."""
        if (id(owner), name) in self._read:
            return
        self._read.add((id(owner), name))
        value = space[name]
        if self.log is not None:
            if space is owner or is_a(owner, types.ModuleType):
                self.log.read("item", space, name, value, label)
            else:
                self.log.read("attribute", owner, name, value, label)
        self._visit(label, value)

    def _hold(self, label: str, holder: Any) -> None:
        """Look for mentioned attributes of an object."""
        self._holders.append((label, holder))
        space = namespace(holder)
        if space is not None:
            self.spaces[id(space)] = space
            if self.log is not None and not is_a(holder, types.ModuleType):
                self.log.read("names", space, None, frozenset(space), f"vars({label})")

    def _object(self, label: str, value: Any) -> None:
        kind = type(value)
        fn = getattr(value, "fn", None) if origin_of_class(kind) is IGNORED else None
        if has(kind, "specialization_of"):  # a compiled function
            self._visit(label, fn)
            return
        if self.log is None:
            if is_a(value, (list, tuple, dict, set)):
                self._members(label, value)
            elif getattr(value, "__wrapped__", None) is not None or (_is_own(kind.__module__) and namespace(value) is not None):
                self._hold(label, value)
                self._add_class(kind)
                self._visit(label, getattr(value, "__wrapped__", None))
            return
        known = kind in CONTAINERS or kind in BASES
        if not known and (not _of_python(kind) or origin_of_class(kind) is IGNORED or asks_user(kind)):
            self._unknown(f"it can't be told whether {label}, a {kind.__name__}, has changed")
        odd = [base for base in order_of(kind) if not _of_python(base) and base not in BASES]
        if not known and odd:
            self._unknown(f"it can't be told whether {label}, a {odd[0].__name__}, has changed")
        if is_a(value, bytearray):
            self._unknown(f"it can't be told whether {label}, a bytearray, has changed")
        if is_a(value, CONTAINERS):
            self._members(label, value)
        if is_a(kind, enum.EnumMeta):
            self._attributes.add("_value_")  # which its property reads
        if is_heap_type(kind) or kind is types.SimpleNamespace:
            self.log.read("type", value, None, kind, f"the class of {label}")
            self._hold(label, value)
            self._add_class(kind)

    def _class(self, label: str, kind: type) -> None:
        """A class that the function mentions itself."""
        if _of_python(kind) and origin_of_class(kind) is not IGNORED:
            if type(kind) not in METACLASSES:
                self._unknown(f"it can't be told what the class of {label} does")
            if type(kind) is abc.ABCMeta and self.log is not None:
                self.log.read("thread", abc.get_cache_token, None, abc.get_cache_token(), "the classes of abstract ones")
            self._constructed.add(id(kind))
            self._add_class(kind)
            if is_a(kind, enum.EnumMeta):
                self._members(label, tuple(kind))
        elif kind.__module__.partition(".")[0] not in (*PURE_MODULES, "builtins", "types", "enum", "staticgrad", "typing"):
            self._unknown(f"it can't be told what {label}, a class of {kind.__module__}, reads")
        elif kind in GETTERS or kind.__module__.startswith("numpy.random"):
            self._unknown(f"it can't be told what {label} reads")

    def _add_class(self, kind: type) -> None:
        for base in order_of(kind):
            own = (
                is_heap_type(base) and origin_of_class(base) is not IGNORED and base.__module__ not in ("enum", "abc", "typing")
            )
            if own and id(base) not in self._classes:
                self._classes[id(base)] = base, set()
                if self.log is not None:
                    self.seen[id(base)] = base
                    self.log.read("names", base.__dict__, None, frozenset(body_of(base)), f"the names in {base.__name__}")
                    self.log.read("attribute", base, "__bases__", look_up(base, "__bases__"), f"the bases of {base.__name__}")
            if id(kind) in self._constructed:
                self._constructed.add(id(base))

    def _read_class(self, kind: type, known: set[str]) -> None:
        """Visit what the code may read in the body of a class: mentioned names, special methods, methods that code of this
        package calls."""
        constructed = id(kind) in self._constructed or id(type) in self.seen or "__class__" in self._attributes
        for name in ("__name__", "__qualname__"):
            if self.log is not None and name in self._attributes:
                self.log.read("attribute", kind, name, look_up(kind, name), f"{kind.__name__}.{name}")
        for name, value in list(body_of(kind).items()):
            special = name.startswith("__") and is_a(value, (types.FunctionType, classmethod, staticmethod))
            if name == "__match_args__" and is_a(value, tuple):
                self._attributes.update(value)
            if special and name in CONSTRUCTORS and not constructed and not self._by_class:
                continue
            if name in UNCALLED or name.startswith("__annotate"):
                continue
            above = any(name in body_of(base) for base in order_of(kind) if origin_of_class(base) is IGNORED)
            if name in known or not (special or name in self._attributes or (above and not name.startswith("_"))):
                continue
            known.add(name)
            if self.log is not None:
                read_class_attribute(self.log, kind, name)
            self._visit(f"{kind.__name__}.{name}", value)

    def _read_attributes(self, label: str, holder: Any) -> None:
        """Visit the attributes of an object that the code mentions."""
        space = namespace(holder)
        members = self.log is None and space is not None and "_parameters" in space
        for name in sorted(self._attributes & space.keys() if space is not None else ()):
            counted = members and (type(holder)._role(holder, name) or is_a(space[name], (*PLAIN, Tensor)))
            if not counted:
                self._visit_item(holder, space, name, f"{label}.{name}")
        for name in sorted(self._attributes & _slots(type(holder))):
            if self.log is not None and (id(holder), name) not in self._read:
                self._read.add((id(holder), name))
                value = look_up(holder, name)
                self.log.read("attribute", holder, name, value, f"{label}.{name}")
                if value is not MISSING:
                    self._visit(f"{label}.{name}", value)
        if self.log is not None and is_a(holder, types.FunctionType):
            for name in self._attributes & {"__name__", "__qualname__"}:
                self.log.read("attribute", holder, name, getattr(holder, name), f"{label}.{name}")
        elif self.log is not None and is_a(holder, types.ModuleType) and _is_own(holder.__name__):
            if "__getattr__" in space:
                self._unknown(f"it can't be told what {label}.__getattr__ reads")
            for name in sorted({"__getattr__", *self._attributes} - space.keys()):
                self.log.read("item", space, name, MISSING, f"{label}.{name}")


_warned: set[str] = set()


def warn_of_unknown_state(name: str, error: UnknownState) -> None:
    """Say once in a process that functions run slower than they would."""
    if not _warned:
        _warned.add(name)
        what = str(error).partition("\n")[0]
        interpreter.warn(
            f"{name} runs in segments, with its Python in each call: {what}. So do other functions of which that holds", 5
        )


def _of_python(kind: type) -> bool:
    """Whether a class was made by a class statement of Python, not by a module of C."""
    if not is_heap_type(kind) or kind.__flags__ & IMMUTABLE or kind.__module__ in sys.builtin_module_names:
        return False
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is None or not file.endswith((".so", ".pyd"))


def _is_proxy(x: Any) -> bool:
    return type(x) is types.MappingProxyType


def _slots(kind: type) -> set[str]:
    """The names of a class's slots."""
    return {
        name for base in order_of(kind) for name, value in body_of(base).items() if is_a(value, types.MemberDescriptorType)
    } if is_heap_type(kind) else set()  # fmt: skip


def _is_own(module: str) -> bool:
    """Whether a module holds the user's code."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if module.partition(".")[0] in ("builtins", "__main__"):
        return True
    if module in sys.builtin_module_names:
        return False
    return file is None or (origin_of(file) is USER and not file.startswith(PACKAGE_DIR) and "site-packages" not in file)


def _mentioned(code: types.CodeType) -> tuple[set[str], set[str], str]:
    """(global names that the code loads, names that follow a dot, what can't be told of it), with the code of nested functions.
    Of an instruction that nobody knows, nothing can be told."""
    names: set[str] = set()
    attributes = set(code.co_names)
    odd = ""
    before: Any = None
    for instruction in dis.get_instructions(code):
        op, name = instruction.opname, instruction.argval
        of_new = op == "STORE_ATTR" and (
            name in ("grad", "data") or (code.co_name in CONSTRUCTORS and _loads_first(before, code))
        )
        before = instruction
        if op == "MATCH_CLASS":
            attributes.add("__match_args__")
            attributes |= {name for x in code.co_consts if isinstance(x, tuple) for name in x if isinstance(name, str)}
        if instruction.opcode not in dis.hasname:
            continue
        if op in LOAD_NAMES:
            names.add(name)
        elif not (of_new or op in LOAD_ATTRIBUTES or op in OF_BODIES):
            verb = "imports" if op.startswith("IMPORT") else "changes" if op.startswith(("STORE", "DELETE")) else "does"
            odd = odd or f"{verb} by the name of {name}"
    for constant in code.co_consts:
        if isinstance(constant, str):
            attributes |= _formatted(constant)
        elif isinstance(constant, types.CodeType):
            more, further, doubt = _mentioned(constant)
            names |= more
            attributes |= further
            odd = odd or doubt
    return names, attributes, odd


def _identified(code: types.CodeType) -> Iterator[tuple[str, str]]:
    """(a global name, an attribute of it or nothing) of what `is` has on its right, ("", "") for anything but constants; with
    the code of nested functions."""
    last: list[Any] = [None, None]
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IS_OP":
            base, right = (("", "") if x is None else (x.opname, x.argval) for x in last)
            if right[0] == "LOAD_GLOBAL":
                yield right[1], ""
            elif right[0] == "LOAD_ATTR" and base[0] == "LOAD_GLOBAL":
                yield base[1], right[1]
            elif right[0] != "LOAD_CONST":
                yield "", ""
        last = [last[1], instruction]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _identified(constant)


def _formatted(text: str) -> set[str]:
    """Names of attributes that `str.format` reads."""
    return {name for field in FORMATTED.findall(text) for name in re.findall(r"\.(\w+)", field)}


def _loads_first(instruction: Any, code: types.CodeType) -> bool:
    """Whether the last thing that an instruction loads is the first parameter: the object that a constructor makes."""
    if instruction is None or "LOAD_FAST" not in instruction.opname or not code.co_argcount:
        return False
    loaded = instruction.argval[-1] if isinstance(instruction.argval, tuple) else instruction.argval
    return bool(loaded == code.co_varnames[0])
