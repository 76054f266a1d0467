"""The version of PyTorch whose names and meanings this library follows."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

TORCH = "2.13.0+staticgrad"
"""What `torch.__version__` is under the torch front: PyTorch's version, and who answers."""


class TorchVersion(str):
    """A version that compares as versions do, with strings and tuples too: "2.13.0" comes after "2.5".

    Numbers are compared as numbers; what follows them ("rc1", "+cpu") is left out, as for PyTorch's releases.
    """

    def _compared(self, other: Any) -> int:
        own, theirs = _numbers(self), _numbers(other)
        pairs = [*zip_longest(own, theirs, fillvalue=0)]
        return next((1 if a > b else -1 for a, b in pairs if a != b), 0)

    def __lt__(self, other: Any) -> bool:
        return self._compared(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._compared(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._compared(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._compared(other) >= 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (str, tuple, list)) and self._compared(other) == 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def _numbers(version: Any) -> list[int]:
    if isinstance(version, (tuple, list)):
        return [part for part in version if isinstance(part, int)]
    found = re.match(r"\s*v?(\d+(?:\.\d+)*)", str(version))
    return [int(part) for part in found[1].split(".")] if found else []


VERSION = {"__version__": TORCH, "cuda": None, "hip": None, "xpu": None, "debug": False, "git_version": "staticgrad"}
"""The names of `torch.version`."""

__all__ = ["TorchVersion"]
