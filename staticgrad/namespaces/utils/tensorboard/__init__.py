"""`SummaryWriter` with PyTorch's methods: event files for TensorBoard."""

from .writer import SummaryWriter

__all__ = ["SummaryWriter"]
