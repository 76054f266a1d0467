"""`utils.checkpoint`: values that a function saves for its gradient are dropped, and computed again in the backward pass.

The tape keeps the operations of the function without their values. The first one that a backward pass needs runs the function
again, with the random numbers of the first time; each value is dropped once it was read. In a graph or a compiled function the
function simply runs: a plan lays out its memory itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from ...eager import Record, Tensor, backward, enable_grad, generator
from ...eager.grad_mode import modes
from ...eager.saved import replaced
from ...errors import GradientError, StaticgradError
from ...ops.operators import Symbol, frontends, state
from ..autograd import Function

Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]


class CheckpointError(StaticgradError, RuntimeError):
    """A function did something else when it ran again.

    broken:  checkpoint(lambda x: x.exp() if next(coin) else x.sin(), x, use_reentrant=False)
    fixed:   a function of its arguments
    """


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Two contexts that do nothing."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, context_fn: Contexts = noop_context_fn,
    determinism_check: str = "default", debug: bool = False, early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """`function(*args, **kwargs)`, whose intermediate values are computed again in the backward pass instead of kept.

    use_reentrant: False for gradients by the tape itself; True for a backward pass inside the backward pass, to which only
    tensors among `args` carry gradients (PyTorch's default, with a warning). preserve_rng_state (default True): it draws the
    same random numbers again. context_fn: gives a context for the first run, and one for the second. determinism_check: "none"
    leaves out the comparison of shapes and dtypes. Raises CheckpointError in the backward pass where the function saves
    other values than it did.

    Examples:
        >>> from staticgrad.utils.checkpoint import checkpoint
        >>> x = sg.tensor([1.0, 2.0], requires_grad=True)
        >>> checkpoint(lambda x: (x * x).sum(), x, use_reentrant=False).backward()
        >>> x.grad
        tensor([2., 4.])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant is None:
        _warn("checkpoint")
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    symbolic = (frontends.tracing and state.tracer is not None) or any(isinstance(x, Symbol) for x in args)
    if symbolic or not modes.now.grad:
        return function(*args, **kwargs)
    if use_reentrant:
        if not any(isinstance(x, Tensor) and x.requires_grad for x in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
        return _Reentrant.apply(function, preserve, *args)
    first, second = context_fn()
    frame = Frame(function, args, kwargs, preserve, second, determinism_check != "none", early_stop)
    with first, _saver(frame):
        return function(*args, **kwargs)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """A chain of functions, or an `nn.Sequential`, in `segments` parts, of which all but the last are checkpointed."""
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant is None:
        _warn("checkpoint_sequential")
        use_reentrant = True
    chain: Sequence[Any] = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(chain) // segments
    start = 0
    for _ in range(segments - 1):
        part = _Chain(chain[start : start + size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        start += size
    return _Chain(chain[start:])(input)


def _warn(name: str) -> None:
    warnings.warn(
        f"torch.utils.checkpoint.{name}: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
        "recommended; the default is use_reentrant=True.",
        stacklevel=3,
    )


class _Chain:
    def __init__(self, functions: Sequence[Any]):
        self.functions = functions

    def __call__(self, x: Any) -> Any:
        for function in self.functions:
            x = function(x)
        return x


@contextmanager
def _saver(saver: Any) -> Iterator[None]:
    now = modes.now
    around, now.saver = now.saver, saver
    try:
        yield
    finally:
        now.saver = around


@contextmanager
def _draws(first: tuple[int, int] | None) -> Iterator[None]:
    """Random numbers from a state of the generator on; the present one is there again afterwards."""
    if first is None:
        yield
        return
    present, generator.state = generator.state, first
    try:
        yield
    finally:
        generator.state = present


class Frame:
    """One call of a checkpointed function: what it saved, by number, and how to compute it again."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], preserve: bool,
        context: AbstractContextManager[Any], checked: bool, early_stop: bool,
    ):  # fmt: skip
        self.function, self.args, self.kwargs, self.context = function, args, kwargs, context
        self.checked, self.early_stop = checked, early_stop
        self.draws = generator.state if preserve else None
        self.kinds: list[tuple[tuple[int, ...], np.dtype]] = []
        """Shapes and dtypes of the saved values."""
        self.values: dict[int, np.ndarray] = {}
        """Those computed again and not read since."""

    def save(self, record: Record) -> None:
        replaced(record, self.keep)

    def keep(self, tensor: Tensor) -> Callable[[], np.ndarray]:
        number = len(self.kinds)
        self.kinds.append((tensor.shape, tensor.dtype))
        return lambda: self.value(number)

    def value(self, number: int) -> np.ndarray:
        if number not in self.values:
            self.values = self._again()
        return self.values.pop(number)

    def _again(self) -> dict[int, np.ndarray]:
        now = modes.now
        arrays, now.arrays = now.arrays, False
        second = SecondRun(self)
        try:
            with enable_grad(), _draws(self.draws), self.context, _saver(second):
                self.function(*self.args, **self.kwargs)
        except Complete:
            pass
        finally:
            now.arrays = arrays
        if len(second.values) != len(self.kinds):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                "recomputation.",
                f"Number of tensors saved during forward: {len(self.kinds)}",
                f"Number of tensors saved during recomputation: {len(second.values)}.",
            )
        for i, (kind, value) in enumerate(zip(self.kinds, second.values, strict=True)):
            if self.checked and kind != (value.shape, value.dtype):
                raise CheckpointError(
                    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                    "the forward pass.",
                    f"tensor {i}: {kind[0]} {kind[1]} at first, then {value.shape} {value.dtype}",
                )
        return dict(enumerate(second.values))


class Complete(BaseException):
    """All values are there: ends a second run."""


class SecondRun:
    """Collects what the function saves when it runs again."""

    def __init__(self, frame: Frame):
        self.count, self.early_stop = len(frame.kinds), frame.early_stop
        self.values: list[np.ndarray] = []

    def save(self, record: Record) -> None:
        replaced(record, self.keep)

    def keep(self, tensor: Tensor) -> Callable[[], np.ndarray]:
        if len(self.values) == self.count:
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward "
                "pass."
            )
        data = tensor._data
        self.values.append(data)
        if self.early_stop and len(self.values) == self.count:
            raise Complete
        return lambda: data


class _Reentrant(Function):
    """A call with use_reentrant=True."""

    @staticmethod
    def forward(ctx: Any, function: Any, preserve: bool, *args: Any) -> Any:
        ctx.function, ctx.args = function, args
        ctx.draws = generator.state if preserve else None
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if modes.now.engine is not None and modes.now.engine.needed is not None:
            raise GradientError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter "
                "to .backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without "
                "passing the `inputs` argument."
            )
        points = [x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in ctx.args]
        with enable_grad(), _draws(ctx.draws):
            outputs = ctx.function(*points)
        listed = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(y, g) for y, g in zip(listed, grads, strict=True) if isinstance(y, Tensor) and y.requires_grad]
        if not pairs:
            raise GradientError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([y for y, _ in pairs], [g for _, g in pairs])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in points))


__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn"]
