"""Settings of `sg.compile` that PyTorch's function of this name has, and attributes of modules that this library reads."""

from __future__ import annotations

import os
import types
from collections.abc import Mapping
from typing import Any

from ..errors import ArgumentError

BACKENDS = ("inductor", "eager", "aot_eager")
MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


WATCHERS = ("auto", "strict", "portable")
BREAKS = ("split", "eager", "error")
default_break = "split"
"""For functions that don't say it."""


def watcher_setting() -> str:
    """The environment variable STATICGRAD_WATCHER: `strict` and `portable` name the watcher of traces. By default they are
    watched strictly where this Python's frames are as they were probed, and nobody else has its trace function."""
    found = os.environ.get("STATICGRAD_WATCHER", "auto")
    if found not in WATCHERS:
        raise ArgumentError(f"STATICGRAD_WATCHER is one of {', '.join(WATCHERS)}, got {found!r}")
    return found


def check_settings(backend: Any, mode: Any, options: Mapping[str, Any] | None, on_break: Any, fullgraph: bool) -> str | None:
    """What happens where Python needs a value, None for the default. Raises ArgumentError for a setting that PyTorch would
    refuse, and for a backend of the user's."""
    if backend not in BACKENDS:
        given = repr(backend) if isinstance(backend, str) else getattr(backend, "__name__", type(backend).__name__)
        raise ArgumentError(
            f"Invalid backend: {given}: this library compiles by itself",
            f"leave it out, or write one of {', '.join(map(repr, BACKENDS))}; passes= takes functions of the graph",
        )
    if mode not in MODES:
        raise ArgumentError(f"Unrecognized mode={mode}, should be one of: {', '.join(str(m) for m in MODES if m)}")
    if mode is not None and options is not None:
        raise ArgumentError("Either mode or options can be specified, but both can't be specified at the same time.")
    if on_break is not None and on_break not in BREAKS:
        raise ArgumentError(f"on_break is one of {', '.join(map(repr, BREAKS))}, got {on_break!r}")
    if fullgraph and on_break not in (None, "error"):
        raise ArgumentError(f"fullgraph=True refuses what on_break={on_break!r} allows", "leave one of them out")
    if fullgraph:
        return "error"
    return None if on_break is None else str(on_break)


# the attributes of modules that staticgrad's own code reads ----------------------------------------------------------

# Eager modules ask, so this imports nothing of the tracer.

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
