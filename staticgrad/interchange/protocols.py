"""Protocols of other libraries that tensors of all modes follow, beyond NumPy's: the array API standard's, and `einops`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..base.devices import check_device
from ..errors import ArgumentError
from ..ops.operators import Operators, Tensor

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""The editions of the array API standard whose functions there are."""


def array_namespace(self: Any, /, *, api_version: str | None = None) -> ModuleType:
    """The functions of the array API standard. Raises ArgumentError for an edition that is unknown."""
    if api_version is not None and api_version not in VERSIONS:
        raise ArgumentError(f"__array_namespace__: version {api_version!r} is unknown", f"one of {', '.join(VERSIONS)}")
    return importlib.import_module("staticgrad.interchange.array_api")


def to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """This tensor. Raises DeviceError for a device other than the CPU."""
    check_device(device)
    return self


class _Watch:
    """A finder that calls a function after the first import of a module, and its loader meanwhile."""

    def __init__(self, module: str, then: Callable[[], None]):
        self.module, self.then = module, then
        self.loader: Any = None

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self.module:
            return None
        for finder in sys.meta_path:  # it stays: a program may ask for the spec and import the module later, or never
            spec: Any = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                self.loader, spec.loader = spec.loader, self
                return spec
        return None

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        sys.meta_path.remove(self)
        module.__loader__ = module.__spec__.loader = self.loader  # type: ignore[union-attr]
        self.loader.exec_module(module)
        self.then()


def after_import(module: str, then: Callable[[], None]) -> None:
    """Call a function now if a module is imported, or else right after it is."""
    if module in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _Watch(module, then))


def enter() -> None:
    """Give tensors the protocols' methods."""
    for name, method in {"__array_namespace__": array_namespace, "to_device": to_device}.items():
        setattr(Operators, name, method)
    after_import("einops", lambda: importlib.import_module("staticgrad.interchange.einops_backend").register())
    after_import("einops.layers", lambda: importlib.import_module("staticgrad.interchange.einops_layers").register())
