"""`sg.func`: transforms of functions, under PyTorch's names. They nest, and work in all modes.

A transform runs its function on tensors of its own kind (`ops/operators/lifted.py`), so Python's control flow works as far as
the surroundings have values: in eager mode under `grad` and `jvp`, not on mapped values under `vmap`.
"""

from ..lookup.modules import refusing
from .derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp
from .mapping import vmap
from .modules import functional_call, functionalize, replace_all_batch_norm_modules_, stack_module_state

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "replace_all_batch_norm_modules_", "stack_module_state", "value_and_grad", "vjp", "vmap",
]  # fmt: skip

__getattr__ = refusing("staticgrad.func", __all__, "FUNC_REPLACED")
