"""What modules answer to: PyTorch's paths of contents that are in other modules here (`staticgrad.distributions.categorical`),
names that are imported when they are first asked for, and names that are missing."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from ..errors import PACKAGE_DIR


def enter_paths(package: str, paths: Mapping[str, ModuleType]) -> None:
    """Let each path below a package name a module, so that `import`, `from` and attributes find it.

    The import system looks into `sys.modules` again after it has imported the package.
    """
    for path, module in paths.items():
        full = f"{package}.{path}"
        parent, _, name = full.rpartition(".")
        sys.modules[full] = module
        setattr(sys.modules[parent], name, module)


def share(module: ModuleType, source: ModuleType) -> None:
    """Let a module have the public names of another one, beside its own."""
    for name in source.__all__:
        if not hasattr(module, name):
            setattr(module, name, getattr(source, name))


class Elsewhere(ModuleType):
    """A module whose contents are in another one, which is imported when they are first asked for."""

    def __init__(self, path: str, target: str):
        super().__init__(path)
        self.__target = target

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        module = importlib.import_module(self.__target)
        if name == "__all__":
            return getattr(module, name, [public for public in vars(module) if not public.startswith("_")])
        return getattr(module, name)

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__target))


def enter_lazily(path: str, target: str) -> ModuleType:
    """Let `import path` succeed, for a module of that name that is an attribute of the package on demand."""
    made = sys.modules[path] = Elsewhere(path, target)
    return made


def is_module(name: str) -> bool:
    """Whether this package has a module of this name."""
    place = os.path.join(PACKAGE_DIR, name)
    return os.path.isdir(place) or os.path.exists(f"{place}.py")


def refusing(
    module: str, names: Iterable[str], replaced: str | Mapping[str, str] = "", lazy: Mapping[str, str] = MappingProxyType({})
) -> Callable[[str], Any]:
    """The `__getattr__` of a module: an AttributeError that says what to write instead. replaced: a table of `missing.py` by
    its name, or another one. lazy: the modules of the names that are imported when they are first asked for, or that name such
    a module itself."""

    def __getattr__(name: str) -> Any:
        if name in lazy:
            found = importlib.import_module(lazy[name])
            value = vars(sys.modules[module])[name] = getattr(found, name, found)
            return value
        from . import missing  # large tables, for errors alone

        table: Mapping[str, str] = getattr(missing, replaced or "NONE") if isinstance(replaced, str) else replaced
        raise AttributeError(f"module {module!r} has no attribute {name!r}{missing.advice(name, names, table)}")

    return __getattr__
