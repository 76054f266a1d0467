"""PyTorch's paths of modules whose contents are in other modules here: `staticgrad.distributions.categorical`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType


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
