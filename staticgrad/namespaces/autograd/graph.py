"""`autograd.graph`: the nodes of the tape, and hooks on the values that operations save, under PyTorch's names."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from ...eager.grad_mode import modes
from ...eager.saved import SavedTensorHooks
from ...eager.tape import AccumulateGrad, GradientEdge, Record, accumulator, touch
from ...errors import ArgumentError, GradientError
from ...ops.operators import Symbol, check_change, listed

Node = Record
"""A node of the tape, `grad_fn`."""


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The place of the tape at which a tensor's gradient is. Raises GradientError for one that doesn't require grad."""
    if not tensor.requires_grad:
        raise GradientError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    if isinstance(tensor, Symbol):
        tensor._no_value("a place on a tape", "take the gradient edge outside")
    record = tensor._record
    if record is None:
        return GradientEdge(accumulator(tensor), 0)
    return GradientEdge(record.node, record.place)


def increment_version(tensor: Any) -> None:
    """Count an in-place change of a tensor, or of several, that was made where it can't be seen."""
    for x in listed(tensor):
        touch(x)


class _Disabled(threading.local):
    text: str | None = None


_disabled = _Disabled()


class saved_tensors_hooks:
    """Inside it, `pack_hook(tensor)` is called with each value that an operation saves for its gradient, and its result is
    kept instead; `unpack_hook` gets that when a backward pass needs the value, and gives the tensor again.

    Examples:
        >>> x = sg.tensor([1.0, 2.0], requires_grad=True)
        >>> with sg.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().copy(), sg.from_numpy):
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 4.])
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]):
        self.saver = SavedTensorHooks(pack_hook, unpack_hook)
        self.around: list[Any] = []

    def __enter__(self) -> None:
        if _disabled.text is not None:
            raise GradientError(_disabled.text)
        check_change(None, "hooks of saved tensors are set")
        self.around.append(modes.now.saver)
        modes.now.saver = self.saver

    def __exit__(self, *error: Any) -> None:
        modes.now.saver = self.around.pop()


class save_on_cpu(saved_tensors_hooks):
    """Saved values are kept in the CPU's memory, where all tensors are: copies of them."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(lambda tensor: tensor.clone(), lambda packed: packed)


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Inside it, values that operations save for their gradients may be changed in place: backward passes get the values from
    before, of which operations keep copies.

    Examples:
        >>> x = sg.tensor([1.0, 2.0], requires_grad=True)
        >>> with sg.autograd.graph.allow_mutation_on_saved_tensors():
        ...     h = x * 1
        ...     y = (h * h).sum()
        ...     _ = h.detach().zero_()
        >>> y.backward()
        >>> x.grad
        tensor([2., 4.])
    """

    def __init__(self) -> None:
        super().__init__(lambda tensor: tensor.clone(), lambda packed: packed)


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Nothing: there are no streams."""


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside it, `saved_tensors_hooks` raises GradientError with this text."""
    saved, _disabled.text = _disabled.text, error_message
    try:
        yield
    finally:
        _disabled.text = saved


class MultiGradHandle:
    """Removes the hooks of `register_multi_grad_hook`."""

    def __init__(self, handles: Sequence[Any]):
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> MultiGradHandle:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[[Any], None], *, mode: Literal["all", "any"] = "all"
) -> MultiGradHandle:
    """Call `fn` in each backward pass: with the gradients of all `tensors` (None for one without) once they are all there, or
    with mode="any" with the first one. Raises ArgumentError for another mode."""
    if mode not in ("all", "any"):
        raise ArgumentError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    watched = list(tensors)
    last = _Pass(None)

    def arrived(number: int) -> Callable[[Any], None]:
        def hook(g: Any) -> None:
            nonlocal last
            engine = modes.now.engine
            if last.engine() is not engine:
                last = _Pass(engine)
                last.expected = 1 if mode == "any" else sum(engine.reaches(watched))
            last.known[number] = g
            if len(last.known) == last.expected:
                fn(g if mode == "any" else [last.known.get(i) for i in range(len(watched))])

        return hook

    return MultiGradHandle([x.register_hook(arrived(i)) for i, x in enumerate(watched)])


class _Pass:
    """The gradients that one backward pass has computed so far."""

    def __init__(self, engine: Any):
        self.engine: Any = (lambda: None) if engine is None else weakref.ref(engine)
        self.known: dict[int, Any] = {}
        self.expected = 0


__all__ = [
    "AccumulateGrad", "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
    "set_warn_on_accumulate_grad_stream_mismatch",
]  # fmt: skip
