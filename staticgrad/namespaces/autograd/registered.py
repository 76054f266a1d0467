"""`torch.library` and `torch.ops`: operations that programs register under names of their own, `package::name`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from ...errors import ArgumentError, GradientError
from ..lookup.advice import absent
from .function import Function

REGISTERED: dict[str, CustomOpDef] = {}
"""Operations by their full name."""


class CustomOpDef:
    """An operation, `op(*args)`: a function whose own operations are not recorded. Without a backward pass of its own it raises
    GradientError where a gradient is asked for."""

    def __init__(self, name: str, fn: Callable[..., Any]):
        functools.update_wrapper(self, fn)
        self.name, self.kernel, self.signature = name, fn, inspect.signature(fn)
        self.backward: Callable[..., Any] = self._no_gradient
        self.setup: Callable[..., Any] | None = None
        op = self

        class Operation(Function):
            @staticmethod
            def forward(ctx: Any, *args: Any) -> Any:
                result = op.kernel(*args)
                if op.setup is not None:
                    op.setup(ctx, args, result)
                return result

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                return op.backward(ctx, *grads)

        Operation.__name__ = name.replace("::", "_")
        self.function = Operation

    def _no_gradient(self, ctx: Any, *grads: Any) -> NoReturn:
        raise GradientError(
            f"Trying to backward through {self.name}.default but no autograd formula was registered",
            "call register_autograd on the operation",
        )

    @property
    def default(self) -> CustomOpDef:
        """The operation itself: it has no other overloads."""
        return self

    def __call__(self, *args: Any, **named: Any) -> Any:
        bound = self.signature.bind(*args, **named)
        bound.apply_defaults()
        return self.function.apply(*bound.arguments.values())

    def register_fake(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Accepted: a trace runs the function itself, so it needs no other one for shapes."""
        return fn

    def register_kernel(self, device_types: Any, fn: Any = None) -> Any:
        """Let the function be the operation where the devices include the CPU."""
        if fn is None:
            return lambda fn: self.register_kernel(device_types, fn)
        if device_types is None or "cpu" in ([device_types] if isinstance(device_types, str) else device_types):
            self.kernel = fn
        return fn

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None) -> None:
        """Let `backward(ctx, *grads)` give the gradients; `setup_context(ctx, inputs, output)` keeps what it needs."""
        self.backward, self.setup = backward, setup_context


def custom_op(
    name: str, fn: Any = None, /, *, mutates_args: Any, device_types: Any = None, schema: str | None = None, tags: Any = None
) -> Any:
    """Register a function as the operation `package::name`; without a function, a decorator. Raises ArgumentError for a name
    without a package."""
    if fn is None:
        return lambda fn: custom_op(name, fn, mutates_args=mutates_args, device_types=device_types, schema=schema)
    if "::" not in name:
        raise ArgumentError(f"custom_op: expected a name like 'package::name', got {name!r}")
    REGISTERED[name] = CustomOpDef(name, fn)
    return REGISTERED[name]


def _operation(op: Any) -> CustomOpDef:
    """The operation of a name. Raises ArgumentError for one that isn't registered."""
    if isinstance(op, CustomOpDef):
        return op
    if op not in REGISTERED:
        raise ArgumentError(f"operator {op} does not exist", "register it with custom_op")
    return REGISTERED[op]


def register_fake(op: Any, func: Any = None, /, **options: Any) -> Any:
    """Accepted, of any operation: a trace runs the function itself, so it needs no other one for shapes."""
    return (lambda func: func) if func is None else func


def register_kernel(op: Any, device_types: Any, func: Any = None, /, **options: Any) -> Any:
    """Let a function be the operation on these devices. Raises ArgumentError for an operation that isn't registered."""
    return _operation(op).register_kernel(device_types, func)


def register_autograd(op: Any, backward: Any, /, *, setup_context: Any = None, lib: Any = None) -> None:
    """Let `backward(ctx, *grads)` give the gradients of an operation. Raises ArgumentError for one that isn't registered."""
    _operation(op).register_autograd(backward, setup_context=setup_context)


class _Package:
    """The operations of a package."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = REGISTERED.get(f"{self._name}::{name}")
        if found is None and self._name not in ("aten", "prim", "prims"):  # whose every name is PyTorch's
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        return absent(f"torch.ops.{self._name}.{name}") if found is None else found


def load_library(path: Any) -> NoReturn:
    """Raises OSError: a library for PyTorch's own binary interface can't be loaded here."""
    raise OSError(f"{path} is a library for PyTorch's own binary interface, which can't be loaded here")


class _Packages(dict[str, Any]):
    """`torch.ops`: packages of operations by name, each of which there is."""

    def get(self, name: str, default: Any = None) -> Any:
        """The package of a name."""
        return self[name] if name in self else default if name.startswith("__") else self.setdefault(name, _Package(name))


OPS = _Packages(load_library=load_library)
__all__ = ["CustomOpDef", "custom_op", "register_autograd", "register_fake", "register_kernel"]
