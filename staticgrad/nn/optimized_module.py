"""`sg.compile` of a module: a module whose one child is the module itself, and whose call is compiled."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from .module import Module


class OptimizedModule(Module):
    """A module under `sg.compile`: its one child is the module, `_orig_mod`, so names of parameters begin with "_orig_mod.".
    All other members are those of the module, and where it has none of a name, those of the compiled function: `explain()`,
    `plan`, `recompiles`, `loop`. Hooks of the module are traced with it.

    forward: the compiled function.
    """

    def __init__(self, module: Module, forward: Any):
        super().__init__()
        del self.__dict__["training"]
        self.__dict__["forward"] = forward
        self._modules.enter(self, "_orig_mod", module)

    @property
    def training(self) -> bool:
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_orig_mod" not in own or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        try:
            return getattr(own["_orig_mod"], name)
        except AttributeError:
            if hasattr(own["forward"], name):
                return getattr(own["forward"], name)
            raise

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name) or name in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if hasattr(type(self), name) or name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: Any) -> Any:
        return self._orig_mod[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._orig_mod)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __deepcopy__(self, memo: dict[int, Any]) -> OptimizedModule:
        module = copy.deepcopy(self._orig_mod, memo)
        copied = OptimizedModule(module, self.__dict__["forward"].of(module))
        memo[id(self)] = copied
        return copied


class ScriptModule(Module):
    """PyTorch's base of modules in TorchScript: a module as any other, which Python runs. `jit.script` gives a module as it is,
    so that is an instance only where its class is derived from this one."""


RecursiveScriptModule = ScriptModule


class ScriptFunction:
    """PyTorch's class of functions in TorchScript. `jit.script` gives functions as they are, so there is no instance."""


__all__ = ["OptimizedModule", "ScriptModule"]
