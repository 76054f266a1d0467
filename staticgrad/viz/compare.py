"""One function in every mode, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ..base.interpreter import is_installed
from ..errors import ArgumentError, GradientError, StaticgradError
from .compared_modes import Case, Found, leaves_of, restored, run_compiled, run_eager, run_session, timed
from .comparison import Comparison, Mode, differences
from .subjects import compiled_function

# A function written in another framework, run beside ours: PyTorch, JAX, or anything that takes NumPy arrays.

PACKAGES = {"torch": "torch", "pytorch": "torch", "jax": "jax"}
"""Names of peers, in lower case, and the packages whose tensors they take."""


def run_peer(name: str, twin: Callable[..., Any], case: Case, repeats: int) -> Mode:
    """Raises StaticgradError where the peer's package is missing."""
    package = PACKAGES.get(name.lower())
    if package is not None and not is_installed(package):
        raise StaticgradError(f"{package} is not installed", f"pip install {package}, or leave the peer out")
    mode = (_torch if package == "torch" else _jax if package == "jax" else _numpy)(name, twin, case, repeats)
    mode.name = name
    return mode


def _values(result: Any) -> dict[str, np.ndarray]:
    found = {name: _plain(x) for name, x in leaves_of(result)}
    return {name: array for name, array in found.items() if array.dtype.kind in "biufc"}


def _plain(x: Any) -> np.ndarray:
    return np.array(x.detach().numpy() if hasattr(x, "detach") else x)


def _wanted(case: Case) -> list[str]:
    """The arguments that are differentiated by."""
    return [name for name in case.arrays if case.differentiate and name in case.leaves]


def _numpy(name: str, twin: Callable[..., Any], case: Case, repeats: int) -> Mode:
    def prepare() -> list[Any]:
        return case.arguments(lambda _, array: array.copy())

    mode = timed(name, prepare, lambda args: (twin(*args), {}), _values, repeats)
    mode.values_only = case.differentiate and not case.own_gradients
    return mode


# PyTorch ----------------------------------------------------------------------------------------------------------------


def _torch(name: str, twin: Callable[..., Any], case: Case, repeats: int) -> Mode:
    import torch

    wanted = _wanted(case)

    def prepare() -> tuple[list[Any], dict[str, Any]]:
        leaves: dict[str, Any] = {}

        def make(key: str, array: np.ndarray) -> Any:
            leaves[key] = torch.from_numpy(array.copy()).requires_grad_(key in wanted)
            return leaves[key]

        return case.arguments(make), leaves

    def total_of(result: Any) -> Any:
        parts = [x.sum() for _, x in leaves_of(result) if isinstance(x, torch.Tensor) and x.requires_grad]
        return sum(parts[1:], parts[0]) if parts else None

    def first(given: Any, create_graph: bool = False) -> tuple[Any, Any]:
        args, leaves = given
        result = twin(*args)
        total = total_of(result)
        if not wanted or total is None:
            return result, [None for _ in wanted]
        own = [leaves[key] for key in wanted]
        return result, torch.autograd.grad(total, own, create_graph=create_graph, allow_unused=True)

    def call(given: Any) -> Found:
        result, found = first(given)
        return result, {} if case.own_gradients else _by_name(found)

    def _by_name(found: Any) -> dict[str, Any]:
        return {key: None if g is None else g.numpy() for key, g in zip(wanted, found, strict=True)}

    mode = timed(name, prepare, call, _values, repeats)
    if case.order == 2 and wanted and not case.own_gradients:
        given = prepare()
        _, found = first(given, create_graph=True)
        squares = [(g * g).sum() for g in found if g is not None and g.requires_grad]
        leaves = [given[1][key] for key in wanted]
        second = torch.autograd.grad(sum(squares) * 0.5, leaves, allow_unused=True) if squares else [None for _ in wanted]
        mode.seconds = _by_name(second)
    return mode


# JAX --------------------------------------------------------------------------------------------------------------------


def _jax(name: str, twin: Callable[..., Any], case: Case, repeats: int) -> Mode:
    jax: Any = import_module("jax")  # its functions are typed in part
    jnp = jax.numpy

    wanted = _wanted(case)

    def result_and_total(own: list[Any], others: dict[str, Any]) -> tuple[Any, Any]:
        known = {**others, **dict(zip(wanted, own, strict=True))}
        result = twin(*case.arguments(lambda key, _: known[key]))
        arrays = [x for x in jax.tree.leaves(result) if hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.floating)]
        return sum((x.sum() for x in arrays), jnp.zeros(())), result

    def first(own: list[Any], others: dict[str, Any]) -> tuple[Any, Any]:
        if not wanted:
            return result_and_total(own, others)[1], []
        (_, result), found = jax.value_and_grad(result_and_total, has_aux=True)(own, others)
        return result, found

    def squares(own: list[Any], others: dict[str, Any]) -> Any:
        return 0.5 * sum((g * g).sum() for g in first(own, others)[1])

    def prepare() -> tuple[list[Any], dict[str, Any]]:
        arrays = {key: jnp.asarray(array) for key, array in case.arrays.items()}
        return [arrays[key] for key in wanted], {key: array for key, array in arrays.items() if key not in wanted}

    wide = any(array.dtype.itemsize == 8 and array.dtype.kind in "fiu" for array in case.arrays.values())
    enable_x64 = (jax if hasattr(jax, "enable_x64") else import_module("jax.experimental")).enable_x64  # it moved
    with enable_x64(wide):
        given, begin = prepare(), time.perf_counter()
        step = jax.jit(first).lower(*given).compile()

        def call(given: Any) -> Found:
            result, found = jax.block_until_ready(step(*given))
            return result, {} if case.own_gradients else dict(zip(wanted, found, strict=True))

        mode = timed(name, prepare, call, _values, repeats, begin)
        mode.gradients = {key: None if g is None else np.array(g) for key, g in mode.gradients.items()}
        if case.order == 2 and wanted and not case.own_gradients:
            mode.seconds = dict(zip(wanted, map(np.array, jax.jit(jax.grad(squares))(*given)), strict=True))
        memory = step.memory_analysis()
        if memory is not None:
            mode.peak_bytes = int(memory.temp_size_in_bytes + memory.output_size_in_bytes)
    return mode


MODES = ("eager", "session", "compiled")


def compare(
    fn: Callable[..., Any], *args: Any, modes: Sequence[str] = MODES, order: int = 2,
    peers: Mapping[str, Callable[..., Any]] | None = None, repeats: int = 50, seed: int | None = None,
) -> Comparison:  # fmt: skip
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
    Raises ArgumentError where `fn` is no function, for an unknown mode, another order or
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
    if not (found[0].values or case.own_gradients or case.changed):
        raise ArgumentError(
            f"compare: {case.name} returned no tensor and changed none", "return what is to be compared, as a loss"
        )
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
