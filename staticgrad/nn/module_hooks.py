"""Hooks of modules: around `forward`, and around the gradients that pass through a module, as in PyTorch.

A module with backward hooks lets its arguments and its results pass through a `Function` that returns them as they are. Their
backward passes see the gradients, in a compiled function too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ..eager import is_grad_enabled
from ..eager.tape import Handle
from ..errors import GradientError
from ..namespaces.autograd.function import Function
from ..ops.operators import check_change, is_tensor, warn_former
from .state_dict import BUFFER, MODULE, PARAMETER, TABLES, Hooks


class HookHandle(Handle):
    """Removes a hook of a module."""

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any], prepend: bool = False):
        check_change(hooks, "a hook of a module is registered")
        super().__init__(hooks, hook)
        for key in [key for key in hooks if key != self.id] if prepend else ():
            dict.__setitem__(hooks, key, dict.pop(hooks, key))


class OptionHandle(HookHandle):
    """Removes a hook with options. options: the dicts that have a True for it."""

    def __init__(self, hooks: dict[int, Any], hook: Any, prepend: bool, options: Sequence[dict[int, bool]]):
        super().__init__(hooks, hook, prepend)
        self.extra = options
        for option in options:
            option[self.id] = True


class WithModule:
    """A hook before state is loaded that gets the module, too."""

    def __init__(self, hook: Callable[..., Any]):
        self.hook = hook

    def __call__(self, *args: Any) -> Any:
        return self.hook(*args)


EVERY: dict[int, None] = {}
"""The hooks of all modules: a call looks whether there are any."""


class EveryModule:
    """Hooks of all modules, under the names of those of one."""

    _forward_pre_hooks, _forward_hooks, _backward_pre_hooks, _backward_hooks = (Hooks(EVERY) for _ in range(4))
    _forward_hooks_with_kwargs: ClassVar[dict[int, bool]] = {}
    _forward_hooks_always_called: ClassVar[dict[int, bool]] = {}
    _forward_pre_hooks_with_kwargs: ClassVar[dict[int, bool]] = {}


_global_forward_pre_hooks, _global_forward_hooks = EveryModule._forward_pre_hooks, EveryModule._forward_hooks
_global_backward_pre_hooks, _global_backward_hooks = EveryModule._backward_pre_hooks, EveryModule._backward_hooks
"""PyTorch's names of these."""


REGISTERED: dict[str, dict[int, Callable[..., Any]]] = {role: {} for role in TABLES}
"""Hooks that are called when a module gets a member, by its role."""


def registered(module: Any, name: str, value: Any, role: str) -> Any:
    """A new member of a module after the hooks of registrations, which may replace it."""
    for hook in tuple(REGISTERED[role].values()):
        replaced = hook(module, name, value)
        value = value if replaced is None else replaced
    return value


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`module.forward(*args, **kwargs)` with all hooks."""
    for place in (EveryModule, module):
        for key, hook in tuple(place._forward_pre_hooks.items()):
            if key in place._forward_pre_hooks_with_kwargs:
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
    after = [(place, key, hook) for place in (EveryModule, module) for key, hook in place._forward_hooks.items()]
    called = 0
    output: Any = None

    def call(place: Any, key: int, hook: Any) -> Any:
        return hook(module, args, kwargs, output) if key in place._forward_hooks_with_kwargs else hook(module, args, output)

    try:
        output = module.forward(*args, **kwargs)
        for each in after:
            called += 1
            replaced = call(*each)
            if replaced is not None:
                output = replaced
    except BaseException:
        for each in after[called:]:
            if each[1] in each[0]._forward_hooks_always_called:
                try:
                    call(*each)
                except Exception as error:
                    warnings.warn(f"module forward hook with always_call=True raised an exception: {error}", stacklevel=3)
        raise
    return output if gradients is None else gradients.outputs(output)


def backward_hook(module: Any, hook: Any, prepend: bool, full: bool) -> HookHandle:
    """Register a hook of the gradients of a module. full: which of the two kinds it is. Raises GradientError for the other kind
    than the module's."""
    if module._is_full_backward_hook is not None and module._is_full_backward_hook is not full:
        raise GradientError(
            "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
        )
    made = HookHandle(module._backward_hooks, hook, prepend)
    module.__dict__["_is_full_backward_hook"] = full
    return made


WITHOUT_INPUTS = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require gradients."
    " See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)


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
        hooks = [*EveryModule._backward_hooks.values(), *module._backward_hooks.values()]
        before = [*EveryModule._backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
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

        passed = BackwardHookFunction.apply(gradients, zeros, *(values[i] for i in places))
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
        if self.hooks:
            warn_former(WITHOUT_INPUTS, UserWarning)
        for hook in self.hooks:
            replaced = hook(self.module, (None,) * self.count, grads)
            if replaced is not None and not (isinstance(replaced, tuple) and all(g is None for g in replaced)):
                raise GradientError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for all "
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


class BackwardHookFunction(Function):
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
    return HookHandle(EveryModule._forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> HookHandle:
    """`Module.register_forward_hook` of all modules."""
    options = [EveryModule._forward_hooks_with_kwargs] * with_kwargs + [EveryModule._forward_hooks_always_called] * always_call
    return OptionHandle(EveryModule._forward_hooks, hook, False, options)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> HookHandle:
    """`Module.register_full_backward_hook` of all modules."""
    return HookHandle(EveryModule._backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> HookHandle:
    """`Module.register_full_backward_pre_hook` of all modules."""
    return HookHandle(EveryModule._backward_pre_hooks, hook)


register_module_backward_hook = register_module_full_backward_hook


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> HookHandle:
    """Call `hook(module, name, parameter)` when a module gets a parameter; a value that it returns takes its place."""
    return HookHandle(REGISTERED[PARAMETER], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> HookHandle:
    """The same for buffers."""
    return HookHandle(REGISTERED[BUFFER], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> HookHandle:
    """The same for children."""
    return HookHandle(REGISTERED[MODULE], hook)


__all__ = [
    "register_module_buffer_registration_hook", "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]  # fmt: skip
