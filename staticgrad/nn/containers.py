"""Modules that hold modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, cast, overload

import numpy as np

from ..errors import ArgumentError, IndexRangeError
from ..operators import Tensor, TensorLike
from .module import MODULE, Module


class _Chain(Module):
    """Modules in order, under the names "0", "1", ..."""

    def __len__(self) -> int:
        return sum(1 for _ in self._own(MODULE))

    def __iter__(self) -> Iterator[Module]:
        return (module for _, module in self._own(MODULE))

    def _name_at(self, index: Any) -> str:
        names = [name for name, _ in self._own(MODULE)]
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
            raise ArgumentError(f"an index into {type(self).__name__} is an integer or a slice, got {index!r}")
        if not -len(names) <= index < len(names):
            raise IndexRangeError(f"index {index} is out of range", f"{type(self).__name__} has {len(names)} modules")
        return names[index]

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Module:
        """The module at a position; for a slice, the same kind of container over the same modules."""
        if isinstance(index, slice):
            chosen = type(self).__new__(type(self))
            Module.__init__(chosen)
            for name, module in list(self._own(MODULE))[index]:
                chosen.add_module(name, module)
            return chosen
        found: Module = self.__dict__[self._name_at(index)]
        return found

    def __setitem__(self, index: int, module: Module) -> None:
        self.add_module(self._name_at(index), module)

    def append(self, module: Module) -> Self:
        """Add at the end, under the first free number."""
        place = len(self)
        while str(place) in self._roles:
            place += 1
        self.add_module(str(place), module)
        return self


class Sequential(_Chain):
    """Modules applied one after another: `Sequential(a, b)`, or `Sequential({"first": a, "second": b})`.

    Indexable and iterable; a slice is a Sequential over the same modules. Raises ArgumentError for an item that is no Module.

    Examples:
        >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        >>> len(model), model(sg.zeros((2, 4))).shape
        (3, (2, 3))
    """

    def __init__(self, *modules: Module | Mapping[str, Module]):
        super().__init__()
        named: Iterable[tuple[Any, Any]]
        named = modules[0].items() if len(modules) == 1 and isinstance(modules[0], Mapping) else enumerate(modules)
        for name, module in named:
            if not isinstance(module, Module):
                raise ArgumentError(f"{type(module).__name__} is not a Module subclass", f"it is argument {name}")
            self.add_module(str(name), module)

    def forward(self, x: TensorLike) -> Tensor:
        out: Any = x
        for module in self:
            out = module(out)
        return cast("Tensor", out)


class ModuleList(_Chain):
    """A list whose modules are registered; it has no forward of its own."""

    def __init__(self, modules: Iterable[Module] = ()):
        super().__init__()
        if not isinstance(modules, Iterable):
            raise ArgumentError(f"ModuleList: expected modules, one after another, got {type(modules).__name__}")
        for module in modules:
            self.append(module)


class ModuleDict(Module):
    """Modules under names of their own, registered; it has no forward of its own."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()):
        super().__init__()
        self.update(modules)

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add or replace several, from a mapping or pairs."""
        for name, module in modules.items() if isinstance(modules, Mapping) else modules:
            self[name] = module

    def __getitem__(self, name: str) -> Module:
        module: Module = self.__dict__[self._present(name)]
        return module

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        delattr(self, self._present(name))

    def _present(self, name: str) -> str:
        if name not in self:
            raise KeyError(name)
        return name

    def __contains__(self, name: str) -> bool:
        return self._roles.get(name) == MODULE

    def __len__(self) -> int:
        return len(list(self._own(MODULE)))

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._own(MODULE))

    def keys(self) -> list[str]:
        return list(self)

    def values(self) -> list[Module]:
        return [module for _, module in self._own(MODULE)]

    def items(self) -> list[tuple[str, Module]]:
        return list(self._own(MODULE))

    def pop(self, name: str) -> Module:
        """Remove a module and return it. Raises KeyError."""
        module = self[name]
        del self[name]
        return module

    def clear(self) -> None:
        """Remove all modules."""
        for name in self.keys():
            del self[name]
