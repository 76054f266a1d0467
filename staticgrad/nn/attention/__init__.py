"""PyTorch's ways to compute attention. There is one here, which gives what all of them would."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from . import bias, flex_attention

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "bias", "flex_attention", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.Enum):
    """PyTorch's implementations of attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Checks its argument; the implementation stays the one that there is. Raises TypeError.

    Examples:
        >>> with sg.nn.attention.sdpa_kernel(sg.nn.attention.SDPBackend.MATH):
        ...     F.scaled_dot_product_attention(sg.ones(1, 2, 3), sg.ones(1, 2, 3), sg.ones(1, 2, 3)).shape
        torch.Size([1, 2, 3])
    """
    listed = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not all(isinstance(backend, SDPBackend) for backend in listed):
        raise TypeError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    yield
