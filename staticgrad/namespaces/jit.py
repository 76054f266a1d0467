"""`sg.jit`: PyTorch's TorchScript. Functions and modules stay as they are and run as Python; `sg.compile` makes them fast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import ArgumentError
from .lookup.modules import refusing

Scripted = TypeVar("Scripted")

COMPILES = "sg.compile(f) compiles a function or a module; sg.save(module.state_dict(), path) saves it"


def script(obj: Scripted, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Scripted:
    """The function, class or module itself: Python runs it, with the values that TorchScript would compute.

    Examples:
        >>> @sg.jit.script
        ... def double(x):
        ...     return x * 2
        >>> double(sg.tensor([1.0, 2.0]))
        tensor([2., 4.])
    """
    return obj


def trace(
    func: Scripted, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True,
    check_inputs: Any = None, check_tolerance: float = 1e-5, strict: bool = True, example_kwarg_inputs: Any = None,
) -> Scripted:  # fmt: skip
    """The function or module itself, after a call with the example: branches are taken anew in each call, where PyTorch
    repeats those of the example. Raises what the call raises."""
    if example_kwarg_inputs is not None:
        func(**example_kwarg_inputs)  # type: ignore[operator]
    elif example_inputs is not None:
        given = example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
        func(*given)  # type: ignore[operator]
    return func


def trace_module(
    mod: Scripted, inputs: dict[str, Any], optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
    check_tolerance: float = 1e-5, strict: bool = True, example_inputs_is_kwarg: bool = False,
) -> Scripted:  # fmt: skip
    """The module itself, after a call of each method that `inputs` names."""
    for name, given in inputs.items():
        method = getattr(mod, name)
        if example_inputs_is_kwarg:
            method(**given)
        else:
            method(*(given if isinstance(given, tuple) else (given,)))
    return mod


def _same(function: Scripted) -> Scripted:
    """The function itself: nothing is scripted, so nothing has to be left out."""
    return function


export = unused = script_if_tracing = script_method = interface = _same


def ignore(drop: Any = False, **named: Any) -> Any:
    """The function itself, as a decorator with or without arguments."""
    return drop if callable(drop) else _same


_overload = _overload_method = _same
"""Signatures that TorchScript reads: a function stays as it is."""


def freeze(mod: Scripted, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Scripted:
    """The module itself. Raises ArgumentError for a module in training mode, as PyTorch does."""
    if getattr(mod, "training", False):
        raise ArgumentError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before "
            "freezing."
        )
    return mod


def optimize_for_inference(mod: Scripted, other_methods: Any = None) -> Scripted:
    """The module itself."""
    return mod


def is_scripting() -> bool:
    """False: code runs as Python."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


def annotate(the_type: Any, the_value: Scripted) -> Scripted:
    """The value."""
    return the_value


def Attribute(value: Scripted, type: Any) -> Scripted:
    """The value."""
    return value


class Future:
    """The result of `fork`."""

    def __init__(self, value: Any):
        self._value = value

    def wait(self) -> Any:
        """The result."""
        return self._value

    value = wait

    def done(self) -> bool:
        """True."""
        return True


def fork(func: Callable[..., Any], *args: Any, **named: Any) -> Future:
    """The result of a call, which is made at once."""
    return Future(func(*args, **named))


def wait(future: Future) -> Any:
    """The result of a `fork`."""
    return future.wait()


__all__ = [
    "Attribute", "Future", "annotate", "export", "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing",
    "optimize_for_inference", "script", "script_if_tracing", "script_method", "trace", "trace_module", "unused", "wait",
]  # fmt: skip

__getattr__ = refusing(
    "staticgrad.jit",
    __all__,
    dict.fromkeys(("save", "load", "CompilationUnit"), COMPILES),
    dict.fromkeys(("ScriptModule", "RecursiveScriptModule", "ScriptFunction"), "staticgrad.nn.containers"),
)
