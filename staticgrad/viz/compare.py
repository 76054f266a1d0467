"""One function in every mode, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiler.backend.kernel_cache import Counters
from ..compiler.execute.plan import Plan
from ..eager import Tensor, grad
from ..errors import ArgumentError, GradientError, StaticgradError
from ..operators import Symbol
from ..static import Graph, Operation, Session, global_variables_initializer, gradients, placeholder
from ..tracing import CompiledFunction, compile
from ..types import INEXACT
from .comparison_case import Case, equal, is_value, leaves_of, plain, restored, total_of, unchanged
from .draw import compiled_function
from .report import Comparison, Mode, differences

MODES = ("eager", "session", "compiled")


def compare(
    fn: Callable[..., Any],
    *args: Any,
    grad: bool = True,
    repeats: int = 20,
    seed: int | None = None,
    modes: Sequence[str] = MODES,
) -> Comparison:
    """Run `fn(*args)` eagerly, in a Session and compiled, and report how values, gradients and times differ.

    args: arrays and tensors (of any shape, in lists, tuples and dicts too) become fresh tensors, in a Session placeholders
    of their shapes; numbers, modules and optimizers are passed as they are.
    grad: compare gradients: of the sum of all floating results, with respect to the floating arguments and to whatever
    tensors the function reaches that require grad. For a function that calls `backward` itself, a training step, they
    are the values it leaves in `.grad`, which a Session does not have.
    repeats: timed calls per mode. seed: of the random draws; all modes start from the same state of the generator,
    and so draw the same numbers.

    Nothing outlives the comparison: the generator, the tensors that the function changes, their gradients and the state
    of optimizers are put back after each mode. A mode that can't run the function says why in `error`.
    Raises ArgumentError for an unknown mode or repeats < 1, and whatever `fn` raises eagerly.

    Examples:
        >>> result = sg.compare(lambda x, w: sg.tanh(x @ w).sum(), np.ones((4, 3)), np.ones((3, 2)), repeats=1)
        >>> [mode.name for mode in result.modes], result.agree()
        (['eager', 'session', 'compiled'], True)
    """
    for name in modes:
        if name not in MODES:
            raise ArgumentError(f"compare: unknown mode {name!r}", f"use one of {', '.join(MODES)}")
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise ArgumentError(f"compare: repeats must be at least 1, got {repeats}")
    made = compiled_function(fn)
    case = Case(fn if made is None else made.fn, args, grad)
    found = []
    with restored(case, seed):
        found.append(_eager(case, repeats))
    for name, run in (("session", _session), ("compiled", _compiled)):
        if name in modes:
            with restored(case, seed):
                found.append(_attempt(name, run, case, repeats))
    for mode in found[1:]:
        if not mode.error:
            mode.differences = list(differences(mode, found[0]))
    return Comparison(case.name, found)


def _fresh(case: Case) -> tuple[list[Any], dict[str, Tensor]]:
    """The arguments as tensors with memory of their own, and those that gradients are wanted of, by name."""
    leaves: dict[str, Tensor] = {}

    def make(name: str, array: np.ndarray) -> Tensor:
        leaves[name] = Tensor(array.copy(), requires_grad=case.differentiate and array.dtype.kind in INEXACT)
        return leaves[name]

    args = case.arguments(make)
    return args, {name: tensor for name, tensor in leaves.items() if tensor.requires_grad}


def _eager(case: Case, repeats: int) -> Mode:
    before = {name: tensor._data.copy() for name, tensor in case.tensors.items()}
    held = {name: tensor._grad for name, tensor in case.tensors.items()}
    content = {name: None if g is None else g._data.copy() for name, g in held.items()}

    def call() -> tuple[Any, dict[str, Any]]:
        args, wanted = _fresh(case)
        result = case.fn(*args)
        if not case.differentiate:
            return result, {}
        own = {name: tensor._grad for name, tensor in (*wanted.items(), *case.parameters.items())}
        if case.own_gradients or any(not unchanged(g, held.get(name), content.get(name)) for name, g in own.items()):
            case.own_gradients = True
            return result, own
        wanted = {**wanted, **case.parameters}
        total = total_of([x for _, x in leaves_of(result) if isinstance(x, Tensor) and x.requires_grad])
        if total is None or not wanted:
            return result, dict.fromkeys(wanted)
        return result, dict(zip(wanted, grad(total, list(wanted.values()), allow_unused=True), strict=True))

    def values(result: Any) -> dict[str, np.ndarray]:
        case.changed = [name for name, data in before.items() if not equal(case.tensors[name]._data, data)]
        return case.values(result)

    return _timed("eager", call, values, repeats)


def _session(case: Case, repeats: int) -> Mode:
    begin = time.perf_counter()
    graph = Graph()
    inputs: dict[str, Symbol] = {}

    def make(name: str, array: np.ndarray) -> Symbol:
        inputs[name] = placeholder(array.dtype, array.shape, name=name)
        return inputs[name]

    with graph.as_default():
        result = case.fn(*case.arguments(make))
        leaves = leaves_of(result)
        symbolic = [x for _, x in leaves if isinstance(x, Symbol)]
        wanted = {**{name: x for name, x in inputs.items() if x.dtype.kind in INEXACT}, **case.parameters}
        found: dict[str, Any] = {}
        if case.differentiate and not case.own_gradients:
            total = total_of([x for x in symbolic if x.dtype.kind in INEXACT])
            known = [None] * len(wanted) if total is None else gradients(total, list(wanted.values()))
            found = dict(zip(wanted, known, strict=True))
        initializer = global_variables_initializer()
    variables = {name: graph.standing_for(tensor) for name, tensor in case.tensors.items() if name in case.changed}
    if any(node is None for node in variables.values()) or (variables and not any(isinstance(x, Operation) for _, x in leaves)):
        raise GradientError(
            f"it changes {', '.join(case.changed)} in place, which a graph can't do",
            "return the operation that does: optimizer.minimize(loss), or an assign",
        )
    fetches = {
        "leaves": [x for _, x in leaves if isinstance(x, (Symbol, Operation))],
        "gradients": {name: g for name, g in found.items() if g is not None},
    }
    with Session(graph) as session:
        session.run(initializer)
        feeds = {inputs[name]: array for name, array in case.arrays.items()}

        def call() -> tuple[Any, dict[str, Any]]:
            results = session.run(fetches, feeds)
            return results["leaves"], {name: results["gradients"].get(name) for name in found}

        def values(results: list[Any]) -> dict[str, np.ndarray]:
            fetched = iter(results)
            known = [(name, next(fetched) if isinstance(x, (Symbol, Operation)) else x) for name, x in leaves]
            after = {f"{name} after": session.run(node) for name, node in variables.items()}
            return {**{name: plain(x) for name, x in known if is_value(x)}, **after}

        mode = _timed("session", call, values, repeats, begin)
        plan = session.plan(fetches, feeds)
    return _with_plan(mode, plan)


def _compiled(case: Case, repeats: int) -> Mode:
    derive = case.differentiate and not case.own_gradients

    def function(*args: Any) -> tuple[Any, list[Any]]:
        result = case.fn(*args)
        if not derive:
            return result, []
        total = total_of([x for _, x in leaves_of(result) if getattr(x, "requires_grad", False)])
        wanted: list[Any] = [x for arg in args for _, x in leaves_of(arg) if isinstance(x, Symbol) and x.dtype.kind in INEXACT]
        wanted += list(case.parameters.values())
        if total is None:
            return result, [None for _ in wanted]
        return result, list(grad(total, wanted, allow_unused=True))

    function.__name__ = case.name
    step: CompiledFunction[..., Any] = compile(function)

    def call() -> tuple[Any, dict[str, Any]]:
        args, wanted = _fresh(case)
        result, found = step(*args)
        wanted = {**wanted, **case.parameters}
        if not derive:
            return result, {name: tensor._grad for name, tensor in wanted.items()} if case.differentiate else {}
        return result, dict(zip(wanted, found, strict=True))

    return _with_plan(_timed("compiled", call, case.values, repeats), step.plan)


def _attempt(name: str, run: Callable[[Case, int], Mode], case: Case, repeats: int) -> Mode:
    """The mode, or why it can't run the function: an operation that it lacks, Python that needs values."""
    try:
        return run(case, repeats)
    except Exception as error:
        text = error.summary if isinstance(error, StaticgradError) else str(error)
        return Mode(name, f"{type(error).__name__}: {text}")


def _timed(
    name: str,
    call: Callable[[], tuple[Any, dict[str, Any]]],
    values: Callable[[Any], dict[str, np.ndarray]],
    repeats: int,
    begin: float | None = None,
) -> Mode:
    """The mode with the values and gradients of the first call, its time (since `begin`), and that of later ones."""
    compiled, loaded = Counters.compiled, Counters.from_disk
    begin = time.perf_counter() if begin is None else begin
    result, found = call()
    mode = Mode(name, first_ms=(time.perf_counter() - begin) * 1e3)
    mode.values = values(result)
    mode.gradients = {key: None if g is None else plain(g) for key, g in found.items()}
    mode.compiled, mode.loaded = Counters.compiled - compiled, Counters.from_disk - loaded
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e6)
    mode.call_us = float(np.median(times))
    return mode


def _with_plan(mode: Mode, plan: Plan) -> Mode:
    mode.kernels, mode.host_calls, mode.arena_bytes = plan.kernels, plan.host_calls, plan.memory.arena
    return mode
