"""PyTorch's module name for `nn.Module`."""

from . import module

__all__ = ["module"]
