"""Functions that users have an optimizer call: before and after a step, and as its state is saved and loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..eager.tape import Handle
from ..errors import ArgumentError
from ..nn.members import Hooks
from ..nn.module_hooks import HookHandle
from ..operators import check_change

if TYPE_CHECKING:
    from .optimizer import Optimizer


class Hooked:
    """Base of `Optimizer`: hooks by the event that calls them, in order of registration."""

    _hooks: Mapping[str, dict[int, Callable[..., Any]]] = {}

    def _register(self, event: str, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        check_change(self, "a hook of an optimizer is registered")
        if event in ("step_pre", "step_post"):
            self.step = self._step_with_hooks
        if "_hooks" not in vars(self):
            self._hooks = {}
        hooks = dict(self._hooks)
        if not isinstance(hooks.get(event), Hooks):
            hooks[event] = Hooks({}, hooks.get(event))
        self._hooks = hooks
        return HookHandle(hooks[event], hook, prepend)

    def _called(self, event: str) -> list[Callable[..., Any]]:
        return list(self._hooks.get(event, {}).values())

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` before each `step`. A pair that it returns replaces the arguments, the first of
        which is the optimizer."""
        return self._register("step_pre", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` after each `step`."""
        return self._register("step_post", hook)

    def register_state_dict_pre_hook(self, hook: Callable[[Optimizer], None], prepend: bool = False) -> Handle:
        """Call `hook(optimizer)` before `state_dict`."""
        return self._register("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[[Optimizer, dict[str, Any]], dict[str, Any] | None], prepend: bool = False
    ) -> Handle:
        """Call `hook(optimizer, state_dict)` with the result of `state_dict`, which a dict that it returns replaces."""
        return self._register("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[[Optimizer, dict[str, Any]], dict[str, Any] | None], prepend: bool = False
    ) -> Handle:
        """Call `hook(optimizer, state_dict)` before `load_state_dict`, which loads a dict that it returns instead."""
        return self._register("load_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[[Optimizer], None], prepend: bool = False) -> Handle:
        """Call `hook(optimizer)` after `load_state_dict`."""
        return self._register("load_post", hook, prepend)

    def _step_with_hooks(self, *given: Any, **named: Any) -> Any:
        """`step`, where a hook is registered: an attribute of the optimizer, so that those without hooks pay nothing."""
        args: tuple[Any, ...] = (self, *given)
        for hook in self._called("step_pre"):
            changed = hook(self, args, named)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise ArgumentError(
                        f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {changed}.",
                    )
                args, named = changed
        result = type(self).step(*args, **named)  # type: ignore[misc]
        for hook in self._called("step_post"):
            hook(self, args, named)
        return result
