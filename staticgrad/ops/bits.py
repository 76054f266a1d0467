"""Functions of integers and of their bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.types import promote
from ..errors import DTypeError
from .host_functions import host
from .rules import Rule, elementwise_op


def _bits(operands: Sequence[Any]) -> list[np.dtype]:
    dtype = promote(operands)
    if dtype.kind == "f":
        raise DTypeError(f"bitwise operations are for integers and booleans, got {dtype}")
    return [dtype] * len(operands)


def _integers(operands: Sequence[Any]) -> list[np.dtype]:
    dtype = promote(operands)
    if dtype.kind not in "iu":
        raise DTypeError(f"only integers are taken here, got {dtype}")
    return [dtype] * len(operands)


for _name, _ufunc, _sign in (
    ("bitwise_and", np.bitwise_and, "&"), ("bitwise_or", np.bitwise_or, "|"), ("bitwise_xor", np.bitwise_xor, "^"),
):  # fmt: skip
    elementwise_op(_name, _ufunc, promote=_bits, doc=f"x {_sign} y, of integers or booleans.")
host("bitwise_not", np.invert, promote=_bits, doc="~x, of integers or booleans.")


def _shift(left: bool) -> Rule:
    def evaluate(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """A shift by no less than the bits there are leaves 0, or the sign."""
        bits = x.dtype.itemsize * 8
        fits = (y >= 0) & (y < bits)
        safe = np.where(fits, y, 0)
        if left:
            return np.where(fits, np.left_shift(x, safe), 0).astype(x.dtype)
        return np.where(fits, np.right_shift(x, safe), np.where(x < 0, -1, 0)).astype(x.dtype)

    return evaluate


for _name, _left in (("bitwise_left_shift", True), ("bitwise_right_shift", False)):
    host(_name, _shift(_left), arity=2, promote=_integers, doc="x shifted by y bits.")
for _name, _divisor in (("gcd", np.gcd), ("lcm", np.lcm)):
    host(_name, _divisor, promote=_integers, doc=f"The {_name} of two integers.")
