"""The limits of dtypes, as PyTorch tells them: plain numbers, of dtypes too that tensors don't have here."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentTypeError
from .dtypes import DType, as_dtype
from .types import INEXACT, get_default_dtype

LIMITS = {
    "float16": (16, 2.0**-10, 2.0**-14, 65504.0, 1e-3),
    "bfloat16": (16, 2.0**-7, 2.0**-126, (2 - 2.0**-7) * 2.0**127, 1e-2),
    "float8_e4m3fn": (8, 2.0**-3, 2.0**-6, 448.0, 1.0),
    "float8_e4m3fnuz": (8, 2.0**-3, 2.0**-7, 240.0, 1.0),
    "float8_e5m2": (8, 2.0**-2, 2.0**-14, 57344.0, 1.0),
    "float8_e5m2fnuz": (8, 2.0**-3, 2.0**-15, 57344.0, 1.0),
    "float8_e8m0fnu": (8, 1.0, 2.0**-127, 2.0**127, 1.0),
}
"""bits, eps, tiny, max and resolution of floating dtypes of 16 bits, and of those that tensors don't have here."""


class finfo:
    """The limits of a floating dtype, by default of the default one, or of the parts of a complex one.

    bits; eps: the distance from 1 to the next number; max, min; tiny, smallest_normal: the least positive one with all digits;
    resolution: of decimal digits; dtype: its name. Raises TypeError for other dtypes.

    Examples:
        >>> sg.finfo(sg.float32).eps
        1.1920928955078125e-07
    """

    def __init__(self, type: Any = None):
        limits: tuple[int, float, float, float, float] | None
        if isinstance(type, DType) and (type.name in LIMITS or type.numpy is None):
            self.dtype = "float16" if type.is_complex else type.name
            limits = LIMITS.get(self.dtype)
        else:
            kind = get_default_dtype() if type is None else as_dtype(type)
            self.dtype = str(kind)
            limits = LIMITS.get(self.dtype)
            if limits is None and kind.kind in INEXACT:
                own = np.finfo(kind)
                self.dtype = str(own.dtype)
                limits = own.bits, float(own.eps), float(own.tiny), float(own.max), float(str(own.resolution))
        if limits is None:
            raise ArgumentTypeError("finfo() requires a floating point input type", f"use iinfo for {self.dtype}")
        self.bits, self.eps, self.tiny, self.max, self.resolution = limits
        self.min = self.tiny if self.dtype == "float8_e8m0fnu" else -self.max  # which has no sign
        self.smallest_normal = self.tiny

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.dtype, self.eps))

    def __repr__(self) -> str:
        words = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{word}={getattr(self, word):g}' for word in words)}, dtype={self.dtype})"


class iinfo:
    """The limits of an integer dtype: bits, min, max, and its name as dtype. Raises TypeError for other dtypes.

    Examples:
        >>> sg.iinfo(sg.int16).max
        32767
    """

    def __init__(self, type: Any):
        kind = type if isinstance(type, DType) else as_dtype(type)
        if kind.kind not in "iu" or getattr(kind, "numpy", kind) is None:
            raise ArgumentTypeError("iinfo() requires an integer input type", f"use finfo for {kind}")
        limits = np.iinfo(kind)
        self.dtype, self.bits, self.min, self.max = str(limits.dtype), limits.bits, int(limits.min), int(limits.max)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
