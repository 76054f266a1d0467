"""`sg.autograd`: gradients of eager tensors, under PyTorch's names."""

from .eager import backward, detect_anomaly, enable_grad, grad, is_grad_enabled, no_grad, set_grad_enabled

__all__ = ["backward", "detect_anomaly", "enable_grad", "grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]
