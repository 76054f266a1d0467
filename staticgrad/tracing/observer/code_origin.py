"""Whose code a file holds: the user's, a library's, or code whose frames are not observed."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig

from ...errors import PACKAGE_DIR

STDLIB = sysconfig.get_path("stdlib") + os.sep
SITE = (sysconfig.get_path("purelib") + os.sep, sysconfig.get_path("platlib") + os.sep)
USER, LIBRARY, IGNORED = "user", "library", "ignored"
IGNORED_PACKAGES = (
    "numpy",
    "scipy",
    "llvmlite",
    "networkx",
    "opt_einsum",
    "einops",
    "threadpoolctl",
    "_pytest",
    "pluggy",
)
IGNORED_STDLIB = (
    "importlib", "threading.py", "warnings.py", "traceback.py", "linecache.py", "logging", "inspect.py", "abc.py",
)  # fmt: skip


@functools.cache
def origin_of(file: str) -> str:
    """USER, LIBRARY or IGNORED."""
    if file.startswith((PACKAGE_DIR, "<frozen importlib", "<__array_function__", "<guards>")):
        return IGNORED
    for site in SITE:
        if file.startswith(site):
            package = file[len(site) :].split(os.sep)[0].removesuffix(".py")
            return IGNORED if package in IGNORED_PACKAGES else LIBRARY
    if file.startswith("<frozen "):
        return IGNORED if file == "<frozen abc>" else LIBRARY
    if file.startswith(STDLIB):
        return IGNORED if file[len(STDLIB) :].startswith(IGNORED_STDLIB) else LIBRARY
    return USER


def origin_of_class(kind: type) -> str:
    """The origin of the module that defines a class; USER where no file is known."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return USER if file is None else origin_of(file)
