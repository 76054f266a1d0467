"""`sg.print`: prints in every run of a compiled function, without a cut."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

from ..eager.grad_mode import no_grad
from ..eager.tensor import Tensor
from ..ops.operators import F, frontends, state
from .effects import Effect
from .outputs import container
from .traced import Traced


def print(*values: Any, **options: Any) -> None:
    """Print values as Python's `print` does. In a compiled function every run prints them at its end, as they were at the call,
    and stays one plan; there a tensor's text does not name its `grad_fn`.

    Examples:
        >>> @sg.compile
        ... def double(x):
        ...     y = 2 * x
        ...     sg.print("y:", y)
        ...     return y
        >>> _ = double(sg.ones(2))
        y: tensor([2., 2.])
    """
    tracer = state.tracer if frontends.tracing else None
    if tracer is None or tracer.observer is None:
        builtins.print(*values, **options)
        return
    effect = Effect("print", None, None, [_at_this_point(value, tracer) for value in values], options)
    effect.done = False  # the trace has no values to print
    tracer.observer.effects.append(effect)


@dataclass(frozen=True)
class TensorText:
    """Prints as a tensor with a value that it had during the run. leaf: as a leaf that requires grad."""

    value: Any
    leaf: bool

    def __repr__(self) -> str:
        return repr(self.value.detach().requires_grad_(self.leaf))


def _at_this_point(value: Any, tracer: Any) -> Any:
    """The value, with tensors that what follows in the run does not change."""
    if isinstance(value, (Tensor, Traced)):
        x = tracer.operand(value)
        with no_grad():
            return TensorText(F.clone(x), x.is_leaf and x.requires_grad)
    found = container(value) if isinstance(value, (tuple, list, dict)) else None
    if found is None:
        return value
    return found.make(found.like, found.keys, [_at_this_point(item, tracer) for item in found.items])
