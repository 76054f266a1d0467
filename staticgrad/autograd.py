"""`sg.autograd`: gradients of eager tensors, under PyTorch's names."""

from __future__ import annotations

from typing import Any

from .eager import Tensor, backward, detect_anomaly, enable_grad, grad, is_grad_enabled, no_grad, set_grad_enabled
from .operators import Tensor as AnyTensor
from .operators import is_tensor


def Variable(data: Any, requires_grad: bool = False, volatile: bool = False) -> AnyTensor:
    """A tensor of `data` that shares its memory: what tensors were called before PyTorch 0.4.

    volatile: nothing computed from it was recorded; write `with no_grad():` for that now. Raises DTypeError for integers
    that are to require grad.
    """
    made = data.detach() if is_tensor(data) else Tensor(data)
    return made.requires_grad_(True) if requires_grad and not volatile else made


__all__ = [
    "Variable", "backward", "detect_anomaly", "enable_grad", "grad", "is_grad_enabled", "no_grad", "set_grad_enabled",
]  # fmt: skip
