"""The tape: one Record per operation that needs a gradient, and what keeps it honest under in-place changes.

A global clock counts in-place changes. A record keeps the clock of its birth, a tensor the clock of its last change; a
saved value is usable as long as the tensor did not change after the record was made. No per-operation version counter is
copied, so the ordinary path costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..errors import GradientError, Where
from ..ir import OpDef

if TYPE_CHECKING:
    from .tensor import Tensor

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)
MODIFIED = (
    "one of the variables needed for gradient computation has been modified by an inplace operation"
)


class Clock:
    """Counts in-place changes in this process."""

    now = 0


class Record:
    """One operation of the tape; what PyTorch calls a `grad_fn`.

    inputs: the operand tensors (ghosts once freed); out: the result's array, not its tensor, so that tape and tensor don't
    form a cycle; clock: when it was made.
    """

    hooks: dict[int, Callable[[Any], Any]] | None = None
    where: Where | None = None
    freed = False

    def __init__(self, op: OpDef, inputs: tuple[Any, ...], attrs: Mapping[str, Any], out: np.ndarray):
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.out: Any = out
        self.clock = Clock.now

    def name(self) -> str:
        """The name PyTorch shows: `AddBackward0`."""
        return "".join(part.capitalize() for part in self.op.name.split("_")) + "Backward0"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The records that made the operands: AccumulateGrad for a leaf, None where no gradient flows."""
        result = []
        for tensor in self.inputs:
            record = source(tensor, self.clock)
            if record is not None:
                result.append((record, 0))
            else:
                leaf = leaf_of(tensor)
                result.append((AccumulateGrad(leaf) if leaf is not None else None, 0))
        return tuple(result)

    def register_hook(self, hook: Callable[[Any], Any]) -> Handle:
        """Call `hook(cotangent of the result)` during backward; a returned tensor replaces it."""
        if self.hooks is None:
            self.hooks = {}
        return Handle(self.hooks, hook)

    def free(self) -> None:
        """Drop saved values, keep the edges: operations that save nothing can be walked again."""
        if not self.freed:
            self.freed = True
            self.inputs = tuple(Ghost(t, FREED, self.clock) for t in self.inputs)
            self.out = _StandIn(self.out.shape, self.out.dtype)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {hex(id(self))}>"


class AccumulateGrad:
    """The end of the tape at a leaf: adds to `variable.grad`."""

    def __init__(self, variable: Tensor):
        self.variable = variable

    next_functions: tuple[Any, ...] = ()

    def name(self) -> str:
        return "AccumulateGrad"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        return id(self.variable)

    def __repr__(self) -> str:
        return f"<AccumulateGrad object for {tuple(self.variable.shape)} leaf>"


class Handle:
    """Removes a hook; also a context manager."""

    _next = 0

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]):
        Handle._next += 1
        self.hooks, self.key = hooks, Handle._next
        hooks[self.key] = hook

    def remove(self) -> None:
        self.hooks.pop(self.key, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


class _StandIn:
    """Shape and dtype of an array that is gone."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        self.shape, self.dtype = shape, dtype


class Ghost:
    """A saved operand whose value is gone or changed: it has a shape, and says why it has no value when asked."""

    def __init__(self, tensor: Any, reason: str, clock: int, detail: str = ""):
        self.shape: tuple[int, ...] = tensor.shape
        self.dtype: np.dtype = tensor.dtype
        self.reason = reason
        self.detail = detail
        self.record = source(tensor, clock)
        self.leaf = leaf_of(tensor) if self.record is None else None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def shape_array(self) -> np.ndarray:
        """An array of this shape that occupies no memory, for ops that read only the shape."""
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)

    def refuse(self) -> NoReturn:
        raise GradientError(self.reason, *((self.detail,) if self.detail else ()))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array_"):  # NumPy probes these
            raise AttributeError(name)
        self.refuse()

    def _refuse(self, *operands: Any) -> NoReturn:
        self.refuse()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __neg__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __abs__ = __getitem__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _refuse
    __eq__ = __ne__ = _refuse  # type: ignore[assignment]
    __hash__ = object.__hash__


def changed(tensor: Any) -> int:
    """The clock of a tensor's last in-place change; a view changes with its base."""
    base = tensor._base
    return tensor._changed if base is None else max(tensor._changed, base._changed)


def source(tensor: Any, clock: int) -> Record | None:
    """The record that made the value a tensor had at `clock`."""
    if isinstance(tensor, Ghost):
        return tensor.record
    for until, record in tensor._history:
        if clock < until:
            return record
    return tensor._record


def leaf_of(tensor: Any) -> Any:
    """The leaf whose `grad` takes this operand's cotangent, or None. Asked where `source` is None."""
    if isinstance(tensor, Ghost):
        return tensor.leaf
    return tensor if tensor._tracked and (tensor._record is None) else None
