"""The types of public signatures. `Tensor` is the tensor of any mode, as `interface.pyi` declares it."""

from __future__ import annotations

from collections.abc import Iterable
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from .interface import Tensor
else:
    from .methods import Operators as Tensor

Array: TypeAlias = "Tensor | np.ndarray"
"""What has a shape and a dtype."""
TensorLike: TypeAlias = "Tensor | np.ndarray | np.generic | complex | list[Any] | tuple[Any, ...]"
"""What operations take: tensors of any mode, arrays, numbers (real ones are complex to type checkers), and lists of those."""
Index: TypeAlias = "Tensor | np.ndarray | slice | EllipsisType | int | list[Any] | tuple[Any, ...] | None"
"""What stands between the brackets of x[...]."""

Tensors: TypeAlias = "Tensor | Iterable[Tensor]"
"""One tensor, or several."""

MaybeNone: TypeAlias = Any
"""In a union: None, which few programs have to expect. Type checkers then accept the other type's operations without a test."""

Carry = TypeVar("Carry")
"""What a loop hands from iteration to iteration: tensors in a nested structure."""
Output = TypeVar("Output")
"""What a function of the user's returns."""

__all__ = ["Array", "Carry", "Index", "MaybeNone", "Output", "Tensor", "TensorLike", "Tensors"]
