"""The dicts of a module: of its parameters, buffers and children, and of its hooks. Whoever changes one changes the module."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Self

from ..eager.tensor import Structure

if TYPE_CHECKING:
    from .module import Module

PARAMETER, BUFFER, MODULE = "parameter", "buffer", "child module"
TABLES = {PARAMETER: "_parameters", BUFFER: "_buffers", MODULE: "_modules"}
"""By role, the attribute of a module that has the dict of its members."""
ROLES = {table: role for role, table in TABLES.items()}
MISSING = object()


class Watched(dict[Any, Any]):
    """A dict that sets and deletes its items by two methods only."""

    __slots__ = ()

    def pop(self, key: Any, *default: Any) -> Any:
        if key not in self and default:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[Any, Any]:
        key = next(reversed(self), MISSING)
        if key is MISSING:
            raise KeyError("popitem(): dictionary is empty")
        return key, self.pop(key)

    def clear(self) -> None:
        for key in list(self):
            del self[key]

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, other: Any = (), /, **named: Any) -> None:
        for key, value in dict(other, **named).items():
            self[key] = value

    def __ior__(self, other: Any) -> Self:  # type: ignore[misc]
        self.update(other)
        return self

    def move_to_end(self, key: Any, last: bool = True) -> None:
        """As that of an OrderedDict."""
        value = dict.__getitem__(self, key)
        rest = [] if last else [(k, v) for k, v in self.items() if k != key]
        for k, v in ((key, value), *rest):
            dict.__delitem__(self, k)
            dict.__setitem__(self, k, v)

    def __reduce__(self) -> Any:
        return dict, (), None, None, iter(self.items())


class Members(Watched):
    """PyTorch's `module._parameters`, `_buffers` and `_modules`. Values are not checked, as there: `_parameters` takes a tensor
    that is computed from others.

    A member is an entry of the module's `__dict__` too, so that it is read as fast as any attribute, unless the class has an
    attribute of this name, which comes first as in PyTorch.

    Examples:
        >>> net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        >>> net._modules["1"] = nn.Tanh()
        >>> net
        Sequential(
          (0): Linear(in_features=2, out_features=2, bias=True)
          (1): Tanh()
        )
    """

    __slots__ = ("_module", "_role")

    def __new__(cls, *given: Any, **named: Any) -> Any:
        """Called with one mapping, as code that copies containers calls their class, it makes a plain dict."""
        return dict(*given, **named) if len(given) == 1 else super().__new__(cls)

    def __init__(self, module: Module, role: str, members: Mapping[str, Any] | None = None):
        self._module, self._role = weakref.ref(module), role
        for name, value in () if members is None else members.items():
            self.enter(module, name, value)

    def __setitem__(self, name: str, value: Any) -> None:
        module = self._module()
        if module is None:
            dict.__setitem__(self, name, value)
        else:
            module._put(name, value, self._role)

    def __delitem__(self, name: str) -> None:
        module = self._module()
        if module is None:
            dict.__delitem__(self, name)
        else:
            module._drop(self, name)

    def enter(self, module: Module, name: str, value: Any) -> None:
        """Set an item, and the attribute of the module."""
        dict.__setitem__(self, name, value)
        if hasattr(type(module), name):
            module.__dict__.pop(name, None)
        else:
            module.__dict__[name] = value

    def leave(self, module: Module, name: str) -> None:
        """Delete an item, and the attribute of the module."""
        value = dict.pop(self, name)
        own = module.__dict__
        if name in own and own[name] is value:
            del own[name]


class Hooks(Watched):
    """Hooks of a module at one event, by the id of their handle. Compiled steps depend on which there are: changes are counted.

    present: the ids of the hooks of all its events, which one look tells to be empty.
    """

    __slots__ = ("present",)

    def __init__(self, present: dict[int, None], hooks: Mapping[int, Callable[..., Any]] | None = None):
        super().__init__({} if hooks is None else hooks)
        self.present = present
        present.update(dict.fromkeys(self))

    def __setitem__(self, key: int, hook: Callable[..., Any]) -> None:
        dict.__setitem__(self, key, hook)
        self.present[key] = None
        Structure.changes += 1

    def __delitem__(self, key: int) -> None:
        dict.__delitem__(self, key)
        self.present.pop(key, None)
        Structure.changes += 1


def refuse_unexpected(module: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> NoReturn:
    """Raise TypeError for arguments of `Module.__init__`, which takes none."""
    name = type(module).__name__
    if named:
        raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(named))}'")
    raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
