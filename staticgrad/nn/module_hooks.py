"""Hooks of modules: around `forward`, and around the gradients that pass through a module, as in PyTorch.

A module with backward hooks lets its arguments and its results pass through a `Function` that returns them as they are. Their
backward passes see the gradients, in a compiled function too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ..autograd.function import Function
from ..eager import is_grad_enabled
from ..eager.tape import Handle
from ..eager.tensor import Structure
from ..errors import GradientError
from ..operators import check_change, is_tensor


class HookHandle(Handle):
    """Removes a hook of a module."""

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any], prepend: bool = False):
        check_change(hooks, "a hook of a module is registered")
        others = list(hooks.items())
        super().__init__(hooks, hook)
        if prepend:
            for key, other in others:
                del hooks[key]
                hooks[key] = other
        Structure.changes += 1

    def remove(self) -> None:
        known = self.key in self.hooks
        super().remove()
        Structure.changes += known


class Entry:
    """A hook with options. kind: "forward" (before or after it, by the dict that holds it), "backward" or "backward_pre"."""

    def __init__(self, hook: Callable[..., Any], kind: str = "forward", with_kwargs: bool = False, always_call: bool = False):
        self.hook, self.kind, self.with_kwargs, self.always_call = hook, kind, with_kwargs, always_call

    def __call__(self, *args: Any) -> Any:
        return self.hook(*args)


def entry(hook: Any, kind: str = "forward", with_kwargs: bool = False, always_call: bool = False) -> Any:
    """The hook itself where it has no options. What can't be called is left to `Handle` to refuse."""
    plain = kind == "forward" and not with_kwargs and not always_call
    return hook if plain or not callable(hook) else Entry(hook, kind, with_kwargs, always_call)


EVERY_BEFORE: dict[int, Any] = {}
"""Hooks of all modules before `forward`, and of their gradients."""
EVERY_AFTER: dict[int, Any] = {}


def _forward(hooks: dict[int, Any]) -> Iterator[Any]:
    return (hook for hook in tuple(hooks.values()) if not isinstance(hook, Entry) or hook.kind == "forward")


def _option(hook: Any, name: str) -> bool:
    return isinstance(hook, Entry) and bool(getattr(hook, name))


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`module.forward(*args, **kwargs)` with all hooks."""
    for hook in (*_forward(EVERY_BEFORE), *_forward(module._forward_pre_hooks)):
        if _option(hook, "with_kwargs"):
            replaced = hook(module, args, kwargs)
            if replaced is not None:
                if not isinstance(replaced, tuple) or len(replaced) != 2:
                    raise GradientError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                    )
                args, kwargs = replaced
        else:
            replaced = hook(module, args)
            if replaced is not None:
                args = replaced if isinstance(replaced, tuple) else (replaced,)
    gradients = GradientHooks.of(module)
    if gradients is not None:
        args = gradients.inputs(args)
    after = [*_forward(EVERY_AFTER), *_forward(module._forward_hooks)]
    called = 0
    output: Any = None
    try:
        output = module.forward(*args, **kwargs)
        for hook in after:
            called += 1
            replaced = _after(hook, module, args, kwargs, output)
            if replaced is not None:
                output = replaced
    except BaseException:
        for hook in after[called:]:
            if _option(hook, "always_call"):
                try:
                    _after(hook, module, args, kwargs, output)
                except Exception as error:
                    warnings.warn(f"module forward hook with always_call=True raised an exception: {error}", stacklevel=3)
        raise
    return output if gradients is None else gradients.outputs(output)


def _after(hook: Any, module: Any, args: Any, kwargs: Any, output: Any) -> Any:
    return hook(module, args, kwargs, output) if _option(hook, "with_kwargs") else hook(module, args, output)


class GradientHooks:
    """The backward hooks of one call of a module, and the gradients of its results once they are known."""

    def __init__(self, module: Any, hooks: list[Any], before: list[Any]):
        self.module, self.hooks, self.before = module, hooks, before
        self.grad_outputs: Any = None
        self.count = 0
        self.has_inputs = False

    @classmethod
    def of(cls, module: Any) -> GradientHooks | None:
        """Those of a module; None for a module without any."""
        entries = [x for hooks in (EVERY_BEFORE, module._forward_pre_hooks) for x in hooks.values() if isinstance(x, Entry)]
        hooks = [x.hook for x in entries if x.kind == "backward"]
        before = [x.hook for x in entries if x.kind == "backward_pre"]
        return cls(module, hooks, before) if hooks or before else None

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.count = len(args)
        self.has_inputs = is_grad_enabled() and any(is_tensor(x) and x.requires_grad for x in args)
        return self._through(self._after_inputs, args, True) if self.has_inputs and self.hooks else args

    def outputs(self, output: Any) -> Any:
        listed = output if isinstance(output, tuple) else (output,)
        if not is_grad_enabled() or not any(is_tensor(x) and x.requires_grad for x in listed):
            return output
        made = self._through(self._after_outputs, listed, False)
        if not isinstance(output, tuple):
            return made[0]
        return type(output)(*made) if hasattr(output, "_fields") else made

    def _through(
        self, seen: Callable[[tuple[Any, ...]], tuple[Any, ...]], values: tuple[Any, ...], zeros: bool
    ) -> tuple[Any, ...]:
        """Values that pass their gradients to `seen`, which returns those that go on. zeros: for those that are not there."""
        places = [i for i, x in enumerate(values) if is_tensor(x)]

        def gradients(given: tuple[Any, ...]) -> tuple[Any, ...]:
            padded: list[Any] = [None] * len(values)
            for place, g in zip(places, given, strict=True):
                padded[place] = g
            found = seen(tuple(padded))
            return tuple(found[place] for place in places)

        passed = Boundary.apply(gradients, zeros, *(values[i] for i in places))
        result = list(values)
        for place, x in zip(places, passed, strict=True):
            result[place] = x
        return tuple(result)

    def _after_outputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.before:
            replaced = hook(self.module, grads)
            if replaced is not None:
                listed = replaced if isinstance(replaced, tuple) else (replaced,)
                if len(listed) != len(grads):
                    raise GradientError(
                        f"Backward pre hook returned an invalid number of grad_output, got {len(listed)}, but expected "
                        f"{len(grads)}"
                    )
                grads = listed
        if self.has_inputs:
            self.grad_outputs = grads
            return grads
        for hook in self.hooks:  # no argument has a gradient
            if hook(self.module, (None,) * self.count, grads) is not None:
                raise GradientError(
                    "backward hook for Modules where no input requires gradient should always return None or None for all "
                    "gradients."
                )
        return grads

    def _after_inputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_outputs is None:
            return grads
        for hook in self.hooks:
            replaced = hook(self.module, grads, self.grad_outputs)
            if replaced is not None:
                listed = replaced if isinstance(replaced, tuple) else (replaced,)
                if len(listed) != len(grads):
                    raise GradientError(
                        f"Backward hook returned an invalid number of grad_input, got {len(listed)}, but expected {len(grads)}"
                    )
                grads = listed
        self.grad_outputs = None
        return grads


class Boundary(Function):
    """Its arguments as they are; their gradients go through a function."""

    @staticmethod
    def forward(ctx: Any, gradients: Any, zeros: bool, *values: Any) -> Any:
        ctx.gradients = gradients
        ctx.set_materialize_grads(zeros)
        ctx.mark_non_differentiable(*(x for i, x in enumerate(values) if not ctx.needs_input_grad[i + 2]))
        return values

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        found = zip(ctx.gradients(grads), ctx.needs_input_grad[2:], strict=True)
        return (None, None, *(g if needed else None for g, needed in found))


# all modules ----------------------------------------------------------------------------------------------------------------


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> HookHandle:
    """`Module.register_forward_pre_hook` of all modules."""
    return HookHandle(EVERY_BEFORE, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> HookHandle:
    """`Module.register_forward_hook` of all modules."""
    return HookHandle(EVERY_AFTER, entry(hook, "forward", with_kwargs, always_call))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> HookHandle:
    """`Module.register_full_backward_hook` of all modules."""
    return HookHandle(EVERY_BEFORE, entry(hook, "backward"))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> HookHandle:
    """`Module.register_full_backward_pre_hook` of all modules."""
    return HookHandle(EVERY_BEFORE, entry(hook, "backward_pre"))
