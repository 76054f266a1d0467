"""Whose code a file holds: the user's, the standard library's, or code whose frames are not observed.

Everything that is neither this package, nor the standard library, nor a package that is known to be pure, is the user's code,
wherever it lies: in a file beside the program or in an installed package.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig

from ...errors import PACKAGE_DIR

STDLIB = sysconfig.get_path("stdlib") + os.sep
INSTALLED = ("site-packages", "dist-packages")
"""Folders of the standard library's that hold packages of others."""
USER, LIBRARY, IGNORED = "user", "library", "ignored"
PURE_PACKAGES = (
    "numpy",
    "scipy",
    "llvmlite",
    "numba",
    "networkx",
    "opt_einsum",
    "einops",
    "threadpoolctl",
    "_pytest",
    "pluggy",
)
"""Packages whose results depend on their arguments, and pytest, whose frames surround the program's."""
IGNORED_STDLIB = (
    "importlib", "warnings.py", "_py_warnings.py", "traceback.py", "linecache.py", "logging", "inspect.py", "abc.py",
)  # fmt: skip


@functools.cache
def origin_of(file: str) -> str:
    """USER, LIBRARY or IGNORED. LIBRARY is the standard library, whose frames are observed where observed frames call them."""
    if file.startswith((PACKAGE_DIR, "<frozen importlib", "<__array_function__", "<guards>")):
        return IGNORED
    if file.startswith("<frozen "):
        return IGNORED if file == "<frozen abc>" else LIBRARY
    if any(file.startswith(path) for name in PURE_PACKAGES if (path := _path_of(name))):
        return IGNORED
    if file.startswith(STDLIB) and not file[len(STDLIB) :].startswith(INSTALLED):
        return IGNORED if file[len(STDLIB) :].startswith(IGNORED_STDLIB) else LIBRARY
    return USER


def _path_of(name: str) -> str:
    """The folder of a package, or the file of a module, wherever it was imported from; empty for one that was not."""
    file: str | None = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return ""
    return os.path.dirname(file) + os.sep if os.path.basename(file).startswith("__init__.") else file


def origin_of_class(kind: type) -> str:
    """The origin of the module that defines a class; USER where no file is known."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return USER if file is None else origin_of(file)
