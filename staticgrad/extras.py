"""Libraries that only some uses need: the error that names the extra which installs them."""

from __future__ import annotations

import importlib.util

from .errors import StaticgradError


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
