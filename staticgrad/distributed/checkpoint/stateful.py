"""What `save` and `load` take in place of a dict of tensors."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """An object with state: a module, an optimizer, or one of the program's own."""

    def state_dict(self) -> dict[str, Any]:
        """The state, as nested dicts."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over such a state."""


def state_of(found: Stateful) -> dict[str, Any]:
    """The state of an object; this process's part of one whose state is divided."""
    return getattr(found, "sharded_state_dict", found.state_dict)()
