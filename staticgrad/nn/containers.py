"""Modules that hold modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentError, IndexRangeError
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

    def __getitem__(self, index: Any) -> Any:
        """The module at a position; for a slice, the same kind of container over the same modules."""
        if isinstance(index, slice):
            chosen = type(self).__new__(type(self))
            Module.__init__(chosen)
            for name, module in list(self._own(MODULE))[index]:
                chosen.add_module(name, module)
            return chosen
        return self.__dict__[self._name_at(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        self.add_module(self._name_at(index), module)

    def append(self, module: Module) -> Any:
        """Add at the end, under the first free number."""
        place = len(self)
        while str(place) in self._roles:
            place += 1
        self.add_module(str(place), module)
        return self


class Sequential(_Chain):
    """Modules applied one after another: `Sequential(a, b)`, or `Sequential({"first": a, "second": b})`.

    Indexable and iterable; a slice is a Sequential over the same modules. Raises ArgumentError for what is no Module.
    """

    def __init__(self, *modules: Any):
        super().__init__()
        named = modules[0].items() if len(modules) == 1 and isinstance(modules[0], Mapping) else enumerate(modules)
        for name, module in named:
            if not isinstance(module, Module):
                raise ArgumentError(f"{type(module).__name__} is not a Module subclass", f"it is argument {name}")
            self.add_module(str(name), module)

    def forward(self, x: Any) -> Any:
        for module in self:
            x = module(x)
        return x


class ModuleList(_Chain):
    """A list whose modules are registered; it has no forward of its own."""

    def __init__(self, modules: Iterable[Module] = ()):
        super().__init__()
        for module in modules:
            self.append(module)
