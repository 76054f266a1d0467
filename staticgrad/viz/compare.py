"""One function in every mode, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import ArgumentError, GradientError, StaticgradError
from .compared_modes import run_compiled, run_eager, run_session
from .comparison import Comparison, Mode, differences
from .comparison_case import Case, restored
from .peers import run_peer
from .subjects import compiled_function

MODES = ("eager", "session", "compiled")


def compare(
    fn: Callable[..., Any],
    *args: Any,
    modes: Sequence[str] = MODES,
    order: int = 2,
    peers: Mapping[str, Callable[..., Any]] | None = None,
    repeats: int = 50,
    seed: int | None = None,
) -> Comparison:
    """Run `fn(*args)` eagerly, in a Session and compiled, and report how values, gradients and times differ.

    args: arrays and tensors (of any shape, in lists, tuples and dicts too) become fresh tensors, in a Session placeholders
    of their shapes; numbers, modules and optimizers are passed as they are.
    modes: of "eager", "session" and "compiled"; eager mode is always run, because the others are compared with it.
    order: 0 compares values, 1 gradients too: of the sum of all floating results, with respect to the floating arguments and
    to whatever tensors the function reaches that require grad; 2 also the gradients of half the sum of their squares. For a
    function that calls `backward` itself, a training step, gradients are the values that it leaves in `.grad`, and a Session
    runs the graph of its trace. A step that ends in `return loss, optimizer.minimize(loss)` defines its graph itself.
    peers: the function in other frameworks. "torch" gets tensors of PyTorch's, "jax" arrays of JAX's and is jitted; a function
    of another name gets NumPy arrays. Gradients are compared with respect to the arguments.
    repeats: timed calls per mode. seed: of the random draws; all modes start from the same state of the generator,
    and so draw the same numbers.

    The time of a call is that of the step as it is written: of its values, and of the first gradients with respect to what
    requires them; it is taken once all kernels are compiled. Gradients with respect to other floating arguments are compared
    by further calls, unless the function differentiates by itself.
    Nothing outlives the comparison: the generator, the tensors that the function changes, their gradients and the state
    of optimizers are put back after each mode. A mode that can't run the function says why in `error`.
    Raises ArgumentError for what is no function, an unknown mode, another order or
    repeats < 1, and whatever `fn` raises eagerly.

    Examples:
        >>> result = sg.compare(lambda x, w: sg.tanh(x @ w).sum(), np.ones((4, 3)), np.ones((3, 2)), repeats=1)
        >>> [mode.name for mode in result.modes], result.agree()
        (['eager', 'session', 'compiled'], True)
    """
    if not callable(fn):
        raise ArgumentError(
            f"compare needs a function, got {type(fn).__name__}", "it is called with the arguments in each mode"
        )
    for name in modes:
        if name not in MODES:
            raise ArgumentError(f"compare: unknown mode {name!r}", f"use one of {', '.join(MODES)}")
    if isinstance(order, bool) or order not in (0, 1, 2):
        raise ArgumentError(f"compare: order must be 0, 1 or 2, got {order!r}", "2 compares first and second gradients")
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise ArgumentError(f"compare: repeats must be at least 1, got {repeats}")
    for name in peers or {}:
        if name in MODES:
            raise ArgumentError(f"compare: {name!r} is a mode, and can't be the name of a peer", 'use another, such as "torch"')
    compiled = compiled_function(fn)
    fn = fn if compiled is None else compiled.fn
    case, found = Case(fn, args, order), []
    further = Case(fn, args, order, every=True) if case.further else None
    try:
        with restored(case, seed):
            found.append(run_eager(case, repeats))
    except GradientError:  # it calls `backward`, and the arguments are what it differentiates by
        if further is None:
            raise
        case, further = further, None
        with restored(case, seed):
            found.append(run_eager(case, repeats))
    if case.own_gradients:
        further = None
    if further is not None:
        with restored(further, seed):
            _add_gradients(found[0], run_eager(further, 0))
    runs: list[tuple[str, Callable[[Case, int], Mode]]] = [("session", run_session), ("compiled", run_compiled)]
    runs = [(name, run) for name, run in runs if name in modes]
    runs += [(name, _peer(name, twin)) for name, twin in (peers or {}).items()]
    for name, run in runs:
        with restored(case, seed):
            found.append(_attempt(name, run, case, repeats))
        if further is not None and not found[-1].error:
            with restored(further, seed):
                _add_gradients(found[-1], _attempt(name, run, further, 0))
    for mode in found[1:]:
        if not mode.error:
            mode.differences = list(differences(mode, found[0]))
    return Comparison(case.name, found)


def _add_gradients(mode: Mode, other: Mode) -> None:
    """Take the gradients from another run, whose time is not that of the step that the caller wrote."""
    mode.error, mode.gradients = other.error, other.gradients
    mode.seconds, mode.second_error = other.seconds, other.second_error
    mode.graph = mode.graph if mode.graph is not None and len(mode.graph.nodes) else other.graph


def _peer(name: str, twin: Callable[..., Any]) -> Callable[[Case, int], Mode]:
    return lambda case, repeats: run_peer(name, twin, case, repeats)


def _attempt(name: str, run: Callable[[Case, int], Mode], case: Case, repeats: int) -> Mode:
    """The mode, or why it can't run the function: an operation that it lacks, Python that needs values."""
    try:
        return run(case, repeats)
    except Exception as error:
        text = error.summary if isinstance(error, StaticgradError) else str(error).strip().partition("\n")[0]
        return Mode(name, f"{type(error).__name__}: {text}")
