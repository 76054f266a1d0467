"""The modules, optimizers and tensors that a function mentions, found without running it: in globals, cells, attributes.

`sg.compare` needs them before the first run. The state that a compiled function reads is observed during its trace
(`observer/`).
"""

from __future__ import annotations

import dis
import functools
import inspect
import os
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..eager.tensor import Tensor
from ..errors import PACKAGE_DIR

PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)
MANY = 64
"""Members of a container that is searched; longer ones are data."""
FOREIGN = (PACKAGE_DIR, sysconfig.get_path("stdlib") + os.sep, sysconfig.get_path("purelib") + os.sep)
"""Code in these folders does not depend on state that a user changes."""


class Mentions:
    """What `fn` mentions beside its array arguments. arguments: its other arguments, by name."""

    def __init__(self, fn: Callable[..., Any], arguments: Sequence[tuple[str, Any]] = ()):
        self.structured: list[tuple[str, Any]] = []
        """Modules and optimizers."""
        self.tensors: list[tuple[str, Tensor]] = []
        """Tensors that are not in a module."""
        self._seen: set[int] = set()
        self._attributes: set[str] = set()
        """All names that follow a dot in the code."""
        self._holders: list[tuple[str, Any]] = []
        self._read: set[tuple[int, str]] = set()
        self._visit(getattr(fn, "__name__", "function"), fn)
        for name, value in arguments:
            self._visit(name, value)
        done = -1
        while done != (done := len(self._attributes) + len(self._holders) + len(self._read)):
            for label, holder in list(self._holders):
                self._read_attributes(label, holder)
        self.modules = [(label, x) for label, x in self.structured if not hasattr(x, "param_groups")]
        self.optimizers = [(label, x) for label, x in self.structured if hasattr(x, "param_groups")]

    # following ------------------------------------------------------------------------------------------------------

    def _visit(self, label: str, value: Any) -> None:
        if isinstance(value, PLAIN) or id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, types.FunctionType):
            self._function(label, value)
        elif isinstance(value, types.MethodType):
            self._visit("self", value.__self__)
            self._visit(label, value.__func__)
        elif isinstance(value, functools.partial):
            self._visit(label, value.func)
            self._members(label, value.args)
            self._members(label, value.keywords)
        elif isinstance(value, (list, tuple, dict, set)):
            self._members(label, value)
        elif isinstance(value, Tensor):
            self.tensors.append((label, value))
        elif not isinstance(value, type) and hasattr(value, "structure") and hasattr(value, "param_groups"):
            self.structured.append((label, value))
        elif not isinstance(value, type) and hasattr(value, "structure") and hasattr(value, "named_modules"):
            self.structured.append((label, value))
            for path, module in value.named_modules():
                self._seen.add(id(module))
                self._holders.append((f"{label}.{path}" if path else label, module))
        elif _is_own(value):
            self._holders.append((label, value))
            self._visit(label, getattr(value, "__wrapped__", None))

    def _function(self, label: str, fn: types.FunctionType) -> None:
        if not _own_code(fn.__code__):
            return
        names, attributes = _mentioned(fn.__code__)
        self._attributes |= attributes
        for name in sorted(names & fn.__globals__.keys()):
            self._visit_item(fn.__globals__, fn.__globals__, name, name)
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ if fn.__closure__ else (), strict=True):
            if not _is_empty(cell):
                self._visit(name, cell.cell_contents)
        for value in (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()):
            self._visit(label, value)

    def _visit_item(self, owner: Any, scope: Any, name: Any, label: str) -> None:
        """Visit `scope[name]`, where scope is the namespace of `owner`."""
        if (id(owner), name) in self._read:
            return
        self._read.add((id(owner), name))
        self._visit(label, scope[name])

    def _members(self, label: str, value: Any) -> None:
        if len(value) > MANY:
            return
        if isinstance(value, dict):
            for key in value:
                self._visit_item(value, value, key, f"{label}[{key!r}]")
        else:
            for i, part in enumerate(value):
                self._visit(f"{label}[{i}]", part)

    def _read_attributes(self, label: str, holder: Any) -> None:
        """Visit the attributes of an object that the code mentions, and the methods among them."""
        own = vars(holder)
        structured = not isinstance(holder, type) and hasattr(holder, "named_modules")
        for name in sorted(self._attributes & own.keys()):
            counted = structured and (name in own["_roles"] or isinstance(own[name], (*PLAIN, Tensor)))
            if not counted:
                self._visit_item(holder, own, name, f"{label}.{name}")
        if isinstance(holder, types.ModuleType):
            return
        kind = holder if isinstance(holder, type) else type(holder)
        for name in (*sorted(self._attributes), "forward", "__call__"):
            found = inspect.getattr_static(kind, name, None)
            found = found.fget if isinstance(found, property) else found
            found = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
            if isinstance(found, types.FunctionType):
                self._visit(f"{label}.{name}", found)


def _is_empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def _is_own(value: Any) -> bool:
    """Whether a value is an object, class or module of the user, with attributes."""
    if isinstance(value, types.ModuleType):
        return _own_file(getattr(value, "__file__", None))
    kind = value if isinstance(value, type) else type(value)
    if not isinstance(getattr(value, "__dict__", None), Mapping):
        return False
    if getattr(value, "__wrapped__", None) is not None:
        return True
    module = sys.modules.get(kind.__module__)
    return module is None or module.__name__ in ("__main__", "builtins") or _own_file(getattr(module, "__file__", None))


def _own_file(file: str | None) -> bool:
    return file is not None and not file.startswith(FOREIGN) and "site-packages" not in file


def _own_code(code: types.CodeType) -> bool:
    return _own_file(code.co_filename)


def _mentioned(code: types.CodeType) -> tuple[set[str], set[str]]:
    """(global names that the code loads, names that follow a dot), with the code of nested functions."""
    names, attributes = set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.add(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            attributes.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _mentioned(constant)
            names |= inner[0]
            attributes |= inner[1]
    return names, attributes
