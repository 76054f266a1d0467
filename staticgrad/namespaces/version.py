"""`sg.version`: what this library was built with, as PyTorch has it."""

from __future__ import annotations

__version__ = "1.0.0rc1"
cuda: str | None = None
hip: str | None = None
xpu: str | None = None
debug = False

__all__ = ["__version__", "cuda", "debug", "hip", "xpu"]
