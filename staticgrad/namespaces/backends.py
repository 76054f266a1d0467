"""`sg.backends`: PyTorch's questions about its libraries, answered. Flags can be set and change nothing."""

from __future__ import annotations

from types import ModuleType

from .lookup.modules import refusing


class Backend(ModuleType):
    """A library that is not used here. What is set on it is kept, and read by nothing."""

    def __init__(self, name: str, **flags: object):
        super().__init__(f"{__name__}.{name}", self.__doc__)
        self.name = name
        for flag, value in flags.items():
            setattr(self, flag, value)

    def is_available(self) -> bool:
        """False."""
        return False

    def is_built(self) -> bool:
        """False."""
        return False

    def __repr__(self) -> str:
        return f"<backend {self.name}: not used>"


cudnn = Backend("cudnn", enabled=False, benchmark=False, deterministic=True, allow_tf32=False)
cuda = Backend("cuda", matmul=Backend("cuda.matmul", allow_tf32=False))
mps = Backend("mps")
mkl = Backend("mkl")
mkldnn = Backend("mkldnn", enabled=False)
openmp = Backend("openmp")
__all__ = ["Backend", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]

__getattr__ = refusing("staticgrad.backends", __all__)
