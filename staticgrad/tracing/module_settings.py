"""The attributes of modules that staticgrad's own code reads. Eager modules ask, so this imports nothing of the tracer."""

from __future__ import annotations

import types
from typing import Any

_settings: dict[type, frozenset[str]] = {}


class _EveryName(frozenset[str]):
    def __contains__(self, name: object) -> bool:
        return True


def settings_of(kind: type) -> frozenset[str]:
    """The names of attributes of a module that staticgrad's code may read, where traces see no reads: `training`, and all names
    in the code of staticgrad's layers among its classes. Of a layer that looks attributes up by other names, as those of a
    ParameterDict, each name is one."""
    known = _settings.get(kind)
    if known is not None:
        return known
    found = {"training"}
    for base in kind.__mro__:
        if base.__module__.startswith("staticgrad.") and base.__name__ != "Module":
            found.update(vars(base))
            for member in vars(base).values():
                function = getattr(member, "fget", getattr(member, "__func__", member))
                found |= _names_in(getattr(function, "__code__", None))
    return _settings.setdefault(kind, _EveryName() if "getattr" in found else frozenset(found))


def _names_in(code: Any) -> set[str]:
    """The names and texts in a code, and in the functions that it makes."""
    if isinstance(code, str):
        return {code}
    if isinstance(code, (tuple, frozenset)):
        return set().union(*map(_names_in, code))
    return {*code.co_names, *_names_in(code.co_consts)} if isinstance(code, types.CodeType) else set()
