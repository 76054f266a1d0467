"""`autograd.backward` with PyTorch's arguments."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from .. import eager
from ..eager.backward import at_edges
from ..errors import GradientError
from ..operators import TensorLike, Tensors, frontends, retained


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


grad = eager.grad
