"""The members of a module that have one role, as a dict that changes the module."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .module import Module


class Members(MutableMapping[str, Any]):
    """PyTorch's `module._parameters`, `_buffers` and `_modules`. Values are not checked, as there: `_parameters` takes a tensor
    that is computed from others.

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

    def __init__(self, module: Module, role: str):
        self._module, self._role = module, role

    def _names(self) -> list[str]:
        return [name for name, role in self._module._roles.items() if role == self._role]

    def __getitem__(self, name: str) -> Any:
        if self._module._roles.get(name) != self._role:
            raise KeyError(name)
        return self._module.__dict__[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._module._put(name, value, self._role)

    def __delitem__(self, name: str) -> None:
        if self._module._roles.get(name) != self._role:
            raise KeyError(name)
        delattr(self._module, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __repr__(self) -> str:
        return repr(dict(self))

    def copy(self) -> dict[str, Any]:
        """A dict of the present members."""
        return dict(self)
