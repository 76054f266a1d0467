"""Libraries that only some uses need: the error that names the extra which installs them, and SciPy's extension modules.

Those are loaded without the packages around them: importing `scipy.linalg` costs 0.1 s.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from functools import cache
from types import ModuleType
from typing import Any

from ..errors import StaticgradError
from .interpreter import uninterrupted


class MissingExtra(StaticgradError, ImportError):
    """A library is not installed that an optional part of this package needs.

    Examples:
        `sg.onnx.load("model.onnx")` without the package `onnx`; `pip install "staticgrad[onnx]"` installs it.
    """


def is_installed(library: str) -> bool:
    """Whether a library can be imported; a bare folder of its name, such as `examples/torch`, is none."""
    spec = importlib.util.find_spec(library)
    return spec is not None and spec.origin is not None


def need(library: str, extra: str) -> None:
    """Raises MissingExtra unless a library is installed."""
    if not is_installed(library):
        raise MissingExtra(f"{library} is not installed", f'pip install "staticgrad[{extra}]"')


BY_VALUE = "cloudpickle", "joblib.externals.cloudpickle"
"""Libraries that pickle functions of the program's own file, and such without a name, by value."""


def by_value() -> Any:
    """That of them which the program has imported; None for none."""
    return next((sys.modules[name] for name in BY_VALUE if name in sys.modules), None)


def folders() -> list[str]:
    """SciPy's folders, found without importing it."""
    package = importlib.util.find_spec("scipy")
    places = package.submodule_search_locations if package is not None else None
    return [*places] if places is not None else []


@cache
def extension(name: str) -> ModuleType:
    """An extension module by its full name. Some can be loaded only once, so it is entered where an import looks for it."""
    return uninterrupted(lambda: _loaded(name))


def _loaded(name: str) -> ModuleType:
    if name in sys.modules:
        return sys.modules[name]
    _, *inner, last = name.split(".")
    for folder in folders():
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            file = os.path.join(folder, *inner, f"{last}{suffix}")
            if os.path.exists(file):
                spec = importlib.util.spec_from_file_location(name, file)
                assert spec is not None
                assert spec.loader is not None
                made = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(made)
                sys.modules[name] = made
                return made
    return importlib.import_module(name)
