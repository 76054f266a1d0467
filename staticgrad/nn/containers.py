"""Modules that hold modules."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self, cast, overload

import numpy as np

from ..errors import ArgumentError, ArgumentTypeError, IndexRangeError
from ..ops.operators import Tensor, TensorLike, check_change
from .module import Module
from .parameter import Parameter


class _Chain(Module):
    """Modules in order, under the names "0", "1", ..."""

    _numbered = False
    """Whether the modules of a slice have names of their own."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _name_at(self, index: Any) -> str:
        names: list[str] = list(self._modules)
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
            for i, (name, module) in enumerate(list(self._modules.items())[index]):
                chosen.add_module(str(i) if self._numbered else name, module)
            return chosen
        return self._modules[self._name_at(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        self.add_module(self._name_at(index), module)

    def append(self, module: Module) -> Self:
        """Add at the end, under the first free number."""
        place = len(self)
        while str(place) in self._modules:
            place += 1
        self.add_module(str(place), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add several at the end. Raises ArgumentError."""
        if not isinstance(modules, Iterable):
            kind = type(modules).__name__
            raise ArgumentTypeError(f"{type(self).__name__}.extend should be called with an iterable, but got {kind}")
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Add before the module at `index`; those after it move on."""
        own = list(self)
        own.insert(index, module)
        self._modules.clear()
        return self.extend(own)

    def __delitem__(self, index: Any) -> None:
        kept = list(self)
        del kept[index]
        self._modules.clear()
        self.extend(kept)

    def pop(self, index: int = -1) -> Module:
        """Remove the module at a position and return it."""
        module = self[index]
        del self[index]
        return module

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        self.extend(modules)
        return self

    def __add__(self, modules: Iterable[Module]) -> Self:
        """The modules of both in a new container."""
        joined = self[:]
        joined.extend(modules)
        return joined


class Sequential(_Chain):
    """Modules applied one after another: `Sequential(a, b)`, or `Sequential({"first": a, "second": b})`.

    Indexable and iterable; a slice is a Sequential over the same modules. Raises ArgumentError for an item that is no Module.

    Examples:
        >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        >>> len(model), model(sg.zeros((2, 4))).shape
        (3, torch.Size([2, 3]))
    """

    def __init__(self, *modules: Module | Mapping[str, Module]):
        super().__init__()
        named: Iterable[tuple[Any, Any]]
        named = modules[0].items() if len(modules) == 1 and isinstance(modules[0], Mapping) else enumerate(modules)
        for name, module in named:
            self.add_module(str(name), module)

    def __mul__(self, count: int) -> Self:
        """The same modules, `count` times one after another. Raises ArgumentError unless that is positive."""
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ArgumentError(f"Sequential: it is repeated a positive number of times, got {count!r}")
        repeated = self[:]
        for _ in range(count - 1):
            repeated.extend(self)
        return repeated

    __rmul__ = __mul__

    def forward(self, input: TensorLike) -> Tensor:
        out: Any = input
        for module in self:
            out = module(out)
        return cast("Tensor", out)


class ModuleList(_Chain):
    """A list whose modules are registered; it has no forward of its own.

    Examples:
        >>> layers = nn.ModuleList([nn.Linear(2, 3), nn.Linear(3, 1)])
        >>> len(layers), len(list(layers.parameters()))
        (2, 4)
    """

    _numbered = True

    def __init__(self, modules: Iterable[Module | None] | None = None):
        super().__init__()
        modules = () if modules is None else modules
        if not isinstance(modules, Iterable):
            raise ArgumentError(f"ModuleList: expected modules, one after another, got {type(modules).__name__}")
        for module in modules:
            self.append(cast("Module", module))

    def __repr__(self) -> str:
        """Equal neighbors are one line: `(0-2): 3 x Linear(...)`."""
        texts = [repr(module) for module in self]
        if not texts:
            return f"{self._get_name()}()"
        lines, first = [], 0
        for i, text in enumerate(texts):
            if i + 1 == len(texts) or texts[i + 1] != text:
                place = f"({i}): " if i == first else f"({first}-{i}): {i + 1 - first} x "
                lines.append("  " + (place + text).replace("\n", "\n  "))
                first = i + 1
        return f"{self._get_name()}(\n" + "\n".join(lines) + "\n)"


class ModuleDict(Module):
    """Modules under names of their own, registered; it has no forward of its own.

    Examples:
        >>> nn.ModuleDict({"first": nn.Linear(2, 3)})["first"].weight.shape
        torch.Size([3, 2])
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add or replace several, from a mapping, another ModuleDict or pairs. Raises ArgumentError for anything else."""
        if not isinstance(modules, Iterable):
            kind = type(modules).__name__
            raise ArgumentTypeError(f"ModuleDict.update should be called with an iterable of key/value pairs, but got {kind}")
        pairs: Any = modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules
        for i, pair in enumerate(pairs):
            if not isinstance(pair, Iterable):
                raise ArgumentTypeError(f"ModuleDict update sequence element #{i} should be Iterable; is{type(pair).__name__}")
            name, *module = pair
            if len(module) != 1:
                raise ArgumentError(f"ModuleDict update sequence element #{i} has length {1 + len(module)}; 2 is required")
            self[name] = module[0]

    def __getitem__(self, name: str) -> Module:
        return self._modules[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def keys(self) -> KeysView[str]:
        """The names, in order."""
        return self._modules.keys()

    def values(self) -> ValuesView[Module]:
        """The values, in order."""
        return self._modules.values()

    def items(self) -> ItemsView[str, Module]:
        """Pairs of names and values, in order."""
        return self._modules.items()

    def pop(self, name: str) -> Module:
        """Remove a module and return it. Raises KeyError."""
        module = self[name]
        del self[name]
        return module

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()


class ParameterList(Module):
    """A list of parameters, registered under "0", "1", ...; plain tensors become parameters, anything else stays as it is.

    Examples:
        >>> len(nn.ParameterList([sg.zeros(2), sg.ones(3)]))
        2
    """

    def __init__(self, values: Iterable[Any] | None = None):
        super().__init__()
        self._size = 0
        self.extend(() if values is None else values)

    def _place(self, index: int) -> str:
        if not -self._size <= index < self._size:
            raise IndexRangeError(f"index {index} is out of range", f"ParameterList has {self._size} members")
        return str(index % self._size)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return ParameterList([self[i] for i in range(*index.indices(self._size))])
        return getattr(self, self._place(index))

    def __setitem__(self, index: int, value: Any) -> None:
        check_change(self, "a member of a ParameterList is set")
        setattr(self, self._place(index), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self._size))

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Add at the end."""
        check_change(self, "a member is added to a ParameterList")
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add several at the end."""
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({i}): {_member_text(value, getattr(getattr(value, 'dtype', None), 'name', ''))}"
            for i, value in enumerate(self)
        )


class ParameterDict(Module):
    """Parameters under names, registered; plain tensors become parameters, anything else stays as it is."""

    def __init__(self, parameters: Any = None):
        super().__init__()
        self._keys: dict[str, None] = {}
        self.update(() if parameters is None else parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        check_change(self, "a member of a ParameterDict is set")
        setattr(self, key, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        check_change(self, "a member of a ParameterDict is removed")
        del self._keys[key]
        delattr(self, key)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def keys(self) -> list[str]:
        """The names, in order."""
        return list(self._keys)

    def values(self) -> list[Any]:
        """The values, in order."""
        return [self[key] for key in self._keys]

    def items(self) -> list[tuple[str, Any]]:
        """Pairs of names and values, in order."""
        return [(key, self[key]) for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The member under a name, or the default."""
        return getattr(self, key) if key in self._keys else default

    def pop(self, key: str) -> Any:
        """Remove a member and return it. Raises KeyError."""
        value = self[key]
        del self[key]
        return value

    def update(self, parameters: Any) -> None:
        """Add or replace several, from a mapping or pairs. As in PyTorch, those of a plain dict come in the order of their
        names, which is that of `parameters()`, and so of an optimizer's state; an OrderedDict and pairs keep their order."""
        ordered = isinstance(parameters, (OrderedDict, ParameterDict))
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        for key, value in sorted(pairs) if isinstance(parameters, Mapping) and not ordered else pairs:
            self[key] = value

    def clear(self) -> None:
        """Remove all members."""
        for key in self.keys():
            del self[key]

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The member under a name, which becomes the default where there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Remove the last member and return its name and itself. Raises KeyError."""
        key = next(reversed(self._keys), None)
        if key is None:
            raise KeyError("ParameterDict is empty")
        return key, self.pop(key)

    def copy(self) -> ParameterDict:
        """Another dict of the same members."""
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dict with the default under each name."""
        return ParameterDict((key, default) for key in keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __or__(self, other: Any) -> ParameterDict:
        copied = self.copy()
        copied.update(other)
        return copied

    def __ror__(self, other: Any) -> ParameterDict:
        copied = ParameterDict(other)
        copied.update(self)
        return copied

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"  ({key}): {_member_text(value, '')}" for key, value in self.items())


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _member_text(value: Any, kind: str) -> str:
    """kind: the name of the dtype; "" for that of the class of such tensors."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(map(str, value.shape))
    return f"Parameter containing: [{f'torch.{kind}' if kind else value.type()} of size {size}]"


# a module under sg.compile --------------------------------------------------------------------------------------------


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
