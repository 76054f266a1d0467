"""`sg.autograd`: gradients of eager and traced tensors, under PyTorch's names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...eager import Tensor, enable_grad, grad, is_grad_enabled, no_grad, set_grad_enabled
from ...eager.backward import at_edges
from ...eager.backward_engine import queue_callback
from ...eager.grad_mode import detect_anomaly, inference_mode, set_detect_anomaly
from ...errors import GradientError
from ...ops.operators import TensorLike, Tensors, frontends, is_tensor, retained, warn_former
from ..lookup.modules import enter, refusing
from . import anomaly_mode, grad_mode
from .function import Function

if TYPE_CHECKING:
    from ... import profiler
    from . import forward_ad, functional, graph
    from .gradient_checks import gradcheck, gradgradcheck


def backward(
    tensors: Tensors, grad_tensors: TensorLike | Iterable[TensorLike | None] | None = None, retain_graph: bool | None = None,
    create_graph: bool = False, grad_variables: TensorLike | Iterable[TensorLike | None] | None = None, inputs: Any = None, *,
    retain_variables: bool | None = None,
) -> None:  # fmt: skip
    """`Tensor.backward` for one or several roots at once, in any iterable.

    grad_tensors: a gradient for each root, None for one of one element. inputs: tensors, in any iterable or a dict, whose
    `grad` alone is added to. grad_variables and retain_variables are the former names of grad_tensors and retain_graph. Raises
    GradientError; no `grad` is changed when it does.
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise GradientError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
                "`grad_tensors`."
            )
        grad_tensors = grad_variables
    if isinstance(inputs, dict):
        inputs = list(inputs.values())
    inputs = None if inputs is None else at_edges(inputs)
    retain = retained(retain_graph, retain_variables)
    frontends.backward(at_edges(tensors), grad_tensors, retain, create_graph, inputs)


class _EveryVariable(type):
    """The metaclass of `Variable`: every tensor is one."""

    def __call__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        if volatile:
            warn_former("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", UserWarning)
        made = data.detach() if is_tensor(data) else Tensor(data)
        return made.requires_grad_(True) if requires_grad else made

    def __instancecheck__(cls, x: Any) -> bool:
        return is_tensor(x)


class _ExecutionEngine:
    """PyTorch's name of what runs backward passes."""

    queue_callback = staticmethod(queue_callback)


class Variable(metaclass=_EveryVariable):
    """`Variable(data, requires_grad=False, volatile=False)`: a tensor of `data` that shares its memory. Tensors were called so
    before PyTorch 0.4, and each of them is an instance.

    volatile: without effect, and a UserWarning; nothing computed from the tensor was recorded, for which PyTorch has
    `with no_grad():` today. Raises DTypeError for integers that
    are to require grad.
    """

    _execution_engine = _ExecutionEngine


class set_multithreading_enabled:
    """A context, or a statement, that changes nothing: a backward pass runs in the thread that asks for it."""

    def __init__(self, mode: bool):
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


enter("autograd.gradcheck")

__all__ = [
    "Function", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "forward_ad", "functional", "grad",
    "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_grad_enabled", "no_grad", "profiler",
    "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip

__getattr__ = refusing(
    "staticgrad.autograd",
    __all__,
    "AUTOGRAD_REPLACED",
    {
        "forward_ad": "staticgrad.autograd.forward_ad",
        "functional": "staticgrad.autograd.functional",
        "gradcheck": "staticgrad.autograd.gradient_checks",
        "gradgradcheck": "staticgrad.autograd.gradient_checks",
        "graph": "staticgrad.autograd.graph",
        "profiler": "staticgrad.profiler",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
