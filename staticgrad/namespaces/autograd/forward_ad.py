"""`sg.autograd.forward_ad`: forward mode by hand, with PyTorch's names. `sg.func.jvp` nests, and has the whole function."""

from ...autodiff.forward import UnpackedDualTensor, dual_level, enter_dual_level, exit_dual_level, make_dual, unpack_dual

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
