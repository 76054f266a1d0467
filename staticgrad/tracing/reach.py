"""What a traced function reaches beside its arguments: globals, closure, modules and optimizers."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

from ..eager.tensor import Tensor

PLAIN = (bool, int, float, str, bytes, type(None))


class Reach:
    """The names a function reads from outside, and the structure of the modules and optimizers behind them.

    `current()` is checked at every call and costs a dictionary look-up per name; `holds()` compares structures, after
    `Structure.changes` moved.
    """

    def __init__(self, fn: Callable[..., Any]):
        self.owner = getattr(fn, "__self__", None)
        plain = getattr(fn, "__func__", fn)
        code = getattr(plain, "__code__", None)
        self.names: list[tuple[dict[str, Any], str, Any]] = []
        self.cells: list[tuple[Any, str, Any]] = []
        self.roots: list[tuple[str, Any]] = [("self", self.owner)] if self.owner is not None else []
        if code is None:
            self.roots.append(("function", fn))
        else:
            self._collect(plain, code)
        self.snapshot: list[tuple[str, Any]] = []

    def _collect(self, fn: Any, code: types.CodeType) -> None:
        names = set(code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):  # lambdas and comprehensions inside
                names |= set(constant.co_names)
        for name in sorted(names):
            if name in fn.__globals__:
                value = fn.__globals__[name]
                if not isinstance(value, (types.ModuleType, types.BuiltinFunctionType, type)):
                    self.names.append((fn.__globals__, name, value))
                    self.roots.append((name, value))
        for cell, name in zip(fn.__closure__ if fn.__closure__ is not None else (), code.co_freevars, strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self.cells.append((cell, name, value))
            self.roots.append((name, value))

    def freeze(self) -> None:
        """Remember the structures as they are after the trace (which makes the optimizer's slots)."""
        self.snapshot = list(self._structures())

    def current(self) -> bool:
        """The names still mean the same objects (for plain values: equal ones)."""
        for scope, name, value in self.names:
            found = scope.get(name, self)
            if found is not value and not (isinstance(value, PLAIN) and type(found) is type(value) and found == value):
                return False
        for cell, _, value in self.cells:
            found = cell.cell_contents
            if found is not value and not (isinstance(value, PLAIN) and type(found) is type(value) and found == value):
                return False
        return True

    def holds(self) -> bool:
        return self.current() and list(self._structures()) == self.snapshot

    def _structures(self) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for name, value in self.roots:
            yield from _structures(name, value, seen, 0)

    def difference(self, other: Reach, facts: list[Any]) -> str:
        """What has changed since this trace, in words."""
        for (_, name, old), (_, _, new) in zip(self.names, other.names, strict=False):
            if old is not new:
                return f"global {name} is {new!r} instead of {old!r}" if isinstance(old, PLAIN) else f"global {name} is another object"
        for (_, name, old), (_, _, new) in zip(self.cells, other.cells, strict=False):
            if old is not new:
                return f"{name} is {new!r} instead of {old!r}" if isinstance(old, PLAIN) else f"{name} is another object"
        before, after = dict(self.snapshot), dict(other.snapshot)
        for name in after:
            if before.get(name) != after[name]:
                return f"{name} changed: {_short(before.get(name))} -> {_short(after[name])}"
        for tensor, tracked, shape, dtype in facts:
            if tensor._tracked != tracked:
                return f"requires_grad of {tensor.name if tensor.name else 'a tensor'} is {tensor._tracked} instead of {tracked}"
            if tensor.shape != shape or tensor.dtype != dtype:
                return f"a tensor has shape {tensor.shape} {tensor.dtype} instead of {shape} {dtype}"
        return "the gradients that it starts from are others"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _structures(name: str, value: Any, seen: set[int], depth: int) -> Iterator[tuple[str, Any]]:
    """(path, structure) of modules, optimizers and tensors behind a value."""
    if id(value) in seen or isinstance(value, (*PLAIN, types.FunctionType, types.ModuleType, type)):
        return
    seen.add(id(value))
    if isinstance(value, Tensor):
        yield name, (id(value), value._tracked)
    elif hasattr(value, "named_modules"):
        seen.update(id(module) for _, module in value.named_modules())
        yield from ((f"{name}.{path}" if path else name, fact) for path, fact in value.structure())
    elif hasattr(value, "structure") and hasattr(value, "param_groups"):
        yield from ((f"{name}.{path}", fact) for path, fact in value.structure())
    elif isinstance(value, (list, tuple)):
        yield f"{name}.length", len(value)
        for i, part in enumerate(value):
            yield from _structures(f"{name}[{i}]", part, seen, depth)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _structures(f"{name}[{key!r}]", part, seen, depth)
    elif hasattr(value, "__dict__") and depth < 2 and not callable(value):
        for key, part in vars(value).items():
            if isinstance(part, PLAIN):
                yield f"{name}.{key}", part
            else:
                yield from _structures(f"{name}.{key}", part, seen, depth + 1)
