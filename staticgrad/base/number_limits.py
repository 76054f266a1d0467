"""The limits of dtypes, as PyTorch tells them: plain numbers, of dtypes too that tensors don't have here."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentTypeError
from .types import AbsentDType, as_dtype, get_default_dtype

BITS = {"float16": (10, -14, 15, 3), "bfloat16": (7, -126, 127, 2), "complex32": (10, -14, 15, 3)}
"""Of floating dtypes that tensors don't have here: bits of the mantissa, the least and the largest exponent, decimal digits."""


class finfo:
    """The limits of a floating dtype, by default of the default one, or of the parts of a complex one.

    bits; eps: the distance from 1 to the next number; max, min; tiny, smallest_normal: the least positive one with all digits;
    resolution: of decimal digits; dtype: its name. Raises TypeError for other dtypes.

    Examples:
        >>> sg.finfo(sg.float32).eps
        1.1920928955078125e-07
    """

    def __init__(self, type: Any = None):
        if isinstance(type, AbsentDType):
            digits, least, largest, decimal = BITS[type.name]
            self.dtype, self.bits, self.eps = type.name.replace("complex32", "float16"), 16, 2.0**-digits
            self.max, self.tiny, self.resolution = (2.0 - self.eps) * 2.0**largest, 2.0**least, 10.0**-decimal
        else:
            kind = get_default_dtype() if type is None else as_dtype(type)
            if kind.kind not in "fc":
                raise ArgumentTypeError("finfo() requires a floating point input type", f"use iinfo for {kind}")
            limits = np.finfo(kind)
            self.dtype, self.bits, self.eps = str(limits.dtype), limits.bits, float(limits.eps)
            self.max, self.tiny, self.resolution = float(limits.max), float(limits.tiny), float(str(limits.resolution))
        self.min, self.smallest_normal = -self.max, self.tiny

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
        kind = type if isinstance(type, AbsentDType) else as_dtype(type)
        if isinstance(kind, AbsentDType) or kind.kind not in "iu":
            raise ArgumentTypeError("iinfo() requires an integer input type", f"use finfo for {kind}")
        limits = np.iinfo(kind)
        self.dtype, self.bits, self.min, self.max = str(limits.dtype), limits.bits, int(limits.min), int(limits.max)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
