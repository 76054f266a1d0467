"""The modes of recording, under PyTorch's module name; see `eager/grad_mode.py`."""

from ...eager.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]
