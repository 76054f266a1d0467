"""`sg.compare`: one function in every mode, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .compiler.jit import Counters
from .compiler.plan import Plan
from .eager import Tensor, generator, grad, manual_seed
from .eager.inplace import touch
from .errors import ArgumentError, GradientError, StaticgradError
from .operators import Operators, Symbol
from .static import Graph, Operation, Session, global_variables_initializer, gradients, placeholder
from .tracing import CompiledFunction, compile
from .tracing.arguments import parameter_names
from .tracing.reach import Reach

MODES = ("eager", "session", "compiled")


@dataclass
class Difference:
    """How far a value is from the eager one: largest absolute, and largest in units of the last place of the eager
    value. Both are infinite where the shapes differ, or one is NaN or infinite and the other is not."""

    what: str
    absolute: float
    ulps: float


@dataclass
class Mode:
    """One mode's run of the function.

    error: why it could not be run; everything else is empty then.
    values: the floating, integer and boolean results by name, and `w after` for each tensor w that the function changes.
    gradients: by the name of what they are with respect to; None where nothing depends on it.
    differences: from the eager mode, for each value and gradient.
    first_ms: the first call, building, tracing and compiling included; call_us: the median of later calls.
    compiled, loaded: kernels that were compiled, and those that came from the disk cache.
    kernels, host_calls, arena_bytes: of the plan: distinct generated kernels, operations without native code, memory for
    intermediate values. None in eager mode.
    """

    name: str
    error: str = ""
    values: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    gradients: dict[str, np.ndarray | None] = field(default_factory=dict, repr=False)
    differences: list[Difference] = field(default_factory=list)
    first_ms: float | None = None
    call_us: float | None = None
    compiled: int | None = None
    loaded: int | None = None
    kernels: int | None = None
    host_calls: int | None = None
    arena_bytes: int | None = None


@dataclass
class Comparison:
    """What `compare` found. `print` it for tables; `as_dict()` is the data; `comparison["compiled"]` is one mode."""

    function: str
    modes: list[Mode]

    def __getitem__(self, name: str) -> Mode:
        for mode in self.modes:
            if mode.name == name:
                return mode
        raise ArgumentError(f"there is no mode {name!r}", f"use one of {', '.join(mode.name for mode in self.modes)}")

    @property
    def ok(self) -> bool:
        """Every mode could be run."""
        return not any(mode.error for mode in self.modes)

    def agree(self, rtol: float = 1e-5, atol: float = 1e-6) -> bool:
        """Whether the modes that could be run gave the eager values and gradients: shapes and dtypes are equal, and
        differences at most atol + rtol * |eager value| (NaN equals NaN). False when no other mode could be run."""
        eager, *others = self.modes
        others = [mode for mode in others if not mode.error]
        return bool(others) and all(
            _close(mode.values, eager.values, rtol, atol)
            and _close(mode.gradients, {name: eager.gradients[name] for name in mode.gradients}, rtol, atol)
            for mode in others
        )

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data, without the arrays."""
        data = asdict(self)
        for mode in data["modes"]:
            del mode["values"], mode["gradients"]
        return data

    def __str__(self) -> str:
        columns = (
            f"{'mode':10s} {'first call':>12s} {'per call':>12s} {'compiled':>9s} {'loaded':>7s} {'kernels':>8s} "
            f"{'host':>5s} {'arena':>12s}"
        )
        lines = [self.function, "", columns]
        for mode in self.modes:
            if mode.error:
                lines.append(f"{mode.name:10s} could not be run: {mode.error}")
                continue
            lines.append(
                f"{mode.name:10s} {_figure(mode.first_ms, 9, 'ms', 2)} {_figure(mode.call_us, 9, 'us', 1)} "
                f"{_figure(mode.compiled, 9)} {_figure(mode.loaded, 7)} {_figure(mode.kernels, 8)} "
                f"{_figure(mode.host_calls, 5)} {_figure(mode.arena_bytes, 10, 'B')}"
            )
        others = [mode for mode in self.modes[1:] if not mode.error]
        if others and others[0].differences:
            lines += ["", *_difference_table(others)]
        return "\n".join(lines)


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
    are what it leaves in `.grad`, which a Session does not have.
    repeats: timed calls per mode. seed: of the random draws; all modes start from the same state of the generator,
    and so draw the same numbers.

    Nothing outlives the comparison: the generator, the tensors that the function changes, their gradients and the state
    of optimizers are put back after each mode. A mode that can't run the function says why in `error`.
    Raises ArgumentError for an unknown mode or repeats < 1, and whatever `fn` raises eagerly.
    """
    for name in modes:
        if name not in MODES:
            raise ArgumentError(f"compare: unknown mode {name!r}", f"use one of {', '.join(MODES)}")
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise ArgumentError(f"compare: repeats must be at least 1, got {repeats}")
    case = Case(getattr(fn, "fn", fn) if isinstance(fn, CompiledFunction) else fn, args, grad)
    found = []
    with _restored(case, seed):
        found.append(_eager(case, repeats))
    for name, run in (("session", _session), ("compiled", _compiled)):
        if name in modes:
            with _restored(case, seed):
                found.append(_attempt(name, run, case, repeats))
    for mode in found[1:]:
        if not mode.error:
            mode.differences = list(_differences(mode, found[0]))
    return Comparison(case.name, found)


class Case:
    """What is compared: the function, its arguments by name, and the tensors that it reaches."""

    def __init__(self, fn: Callable[..., Any], args: Sequence[Any], differentiate: bool):
        self.fn = fn
        self.name: str = getattr(fn, "__name__", type(fn).__name__)
        names = parameter_names(fn)
        self.args = [(names[i] if i < len(names) else f"argument {i}", arg) for i, arg in enumerate(args)]
        self.arrays: dict[str, np.ndarray] = {}
        for name, arg in self.args:
            _mapped(name, arg, self._keep)
        self.differentiate = differentiate
        self.own_gradients = False
        """The function leaves gradients in `.grad`: it calls `backward` itself. Found out by the eager run."""
        self.changed: list[str] = []
        """The tensors that the function changes, found out likewise."""
        reach = Reach(fn, [(name, arg) for name, arg in self.args if not isinstance(arg, Operators)])
        self.optimizers = [optimizer for _, optimizer in reach.optimizers]
        tensors = [*reach.tensors]
        for label, module in reach.modules:
            prefix = "" if len(reach.modules) == 1 else f"{label}."
            tensors += [(prefix + name, t) for name, t in (*module.named_parameters(), *module.named_buffers())]
        for label, optimizer in reach.optimizers:
            tensors += [(p.name or f"{label}[{i}]", p) for i, p in enumerate(optimizer.parameters())]
        self.tensors: dict[str, Tensor] = {}
        ids: set[int] = set()
        for name, tensor in tensors:
            if isinstance(tensor, Tensor) and id(tensor) not in ids and tensor.is_leaf:
                ids.add(id(tensor))
                self.tensors[name if name not in self.tensors else f"{name} ({len(ids)})"] = tensor

    def _keep(self, name: str, array: np.ndarray) -> np.ndarray:
        self.arrays[name] = array
        return array

    def arguments(self, make: Callable[[str, np.ndarray], Any]) -> list[Any]:
        """The arguments with `make(name, array)` in place of arrays and tensors."""
        return [_mapped(name, arg, make) for name, arg in self.args]

    @property
    def parameters(self) -> dict[str, Tensor]:
        """What the function reaches and may be differentiated by."""
        return {name: tensor for name, tensor in self.tensors.items() if tensor.requires_grad}


# the modes ------------------------------------------------------------------------------------------------------------


def _fresh(case: Case) -> tuple[list[Any], dict[str, Tensor]]:
    """The arguments as tensors with memory of their own, and those that gradients are wanted of, by name."""
    leaves: dict[str, Tensor] = {}

    def make(name: str, array: np.ndarray) -> Tensor:
        leaves[name] = Tensor(array.copy(), requires_grad=case.differentiate and array.dtype.kind == "f")
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
        if case.own_gradients or any(not _unchanged(g, held.get(name), content.get(name)) for name, g in own.items()):
            case.own_gradients = True
            return result, own
        wanted = {**wanted, **case.parameters}
        total = _total([x for _, x in _leaves(result) if isinstance(x, Tensor) and x.requires_grad])
        if total is None or not wanted:
            return result, dict.fromkeys(wanted)
        return result, dict(zip(wanted, grad(total, list(wanted.values()), allow_unused=True), strict=True))

    def values(result: Any) -> dict[str, np.ndarray]:
        case.changed = [name for name, data in before.items() if not _equal(case.tensors[name]._data, data)]
        return _values(case, result)

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
        leaves = _leaves(result)
        symbolic = [x for _, x in leaves if isinstance(x, Symbol)]
        wanted = {**{name: x for name, x in inputs.items() if x.dtype.kind == "f"}, **case.parameters}
        found: dict[str, Any] = {}
        if case.differentiate and not case.own_gradients:
            total = _total([x for x in symbolic if x.dtype.kind == "f"])
            known = [None] * len(wanted) if total is None else gradients(total, list(wanted.values()))
            found = dict(zip(wanted, known, strict=True))
        initializer = global_variables_initializer()
    variables = {name: graph.standing_for(tensor) for name, tensor in case.tensors.items() if name in case.changed}
    if any(node is None for node in variables.values()) or (
        variables and not any(isinstance(x, Operation) for _, x in leaves)
    ):
        raise GradientError(
            f"it changes {', '.join(case.changed)} in place, which a graph does not run",
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
            return {**{name: _plain(x) for name, x in known if _is_value(x)}, **after}

        mode = _timed("session", call, values, repeats, begin)
        plan = session.plan(fetches, feeds)
    return _with_plan(mode, plan)


def _compiled(case: Case, repeats: int) -> Mode:
    derive = case.differentiate and not case.own_gradients

    def function(*args: Any) -> tuple[Any, list[Any]]:
        result = case.fn(*args)
        if not derive:
            return result, []
        total = _total([x for _, x in _leaves(result) if getattr(x, "requires_grad", False)])
        wanted: list[Any] = [x for arg in args for _, x in _leaves(arg) if isinstance(x, Symbol) and x.dtype.kind == "f"]
        wanted += list(case.parameters.values())
        if total is None:
            return result, [None for _ in wanted]
        return result, list(grad(total, wanted, allow_unused=True))

    function.__name__ = case.name
    step: CompiledFunction = compile(function)

    def call() -> tuple[Any, dict[str, Any]]:
        args, wanted = _fresh(case)
        result, found = step(*args)
        wanted = {**wanted, **case.parameters}
        if not derive:
            return result, {name: tensor._grad for name, tensor in wanted.items()} if case.differentiate else {}
        return result, dict(zip(wanted, found, strict=True))

    return _with_plan(_timed("compiled", call, lambda result: _values(case, result), repeats), step.plan)


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
    mode.gradients = {key: None if g is None else _plain(g) for key, g in found.items()}
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


# values -----------------------------------------------------------------------------------------------------------------


def _mapped(name: str, arg: Any, make: Callable[[str, np.ndarray], Any]) -> Any:
    """An argument with `make(name, array)` in place of arrays and tensors."""
    if isinstance(arg, Tensor):
        return make(name, arg._data)
    if hasattr(arg, "__array__") and not isinstance(arg, np.generic):
        return make(name, np.asarray(arg))
    if isinstance(arg, (list, tuple)):
        parts = [_mapped(f"{name}[{i}]", part, make) for i, part in enumerate(arg)]
        return type(arg)(*parts) if hasattr(arg, "_fields") else type(arg)(parts)
    if type(arg) is dict:
        return {key: _mapped(f"{name}[{key!r}]", part, make) for key, part in arg.items()}
    return arg


def _leaves(result: Any, name: str = "result") -> list[tuple[str, Any]]:
    """What a result consists of, by name."""
    if isinstance(result, dict):
        return [leaf for key, part in result.items() for leaf in _leaves(part, f"{name}[{key!r}]")]
    if isinstance(result, (list, tuple)):
        return [leaf for i, part in enumerate(result) for leaf in _leaves(part, f"{name}[{i}]")]
    return [(name, result)]


def _values(case: Case, result: Any) -> dict[str, np.ndarray]:
    found = {name: _plain(x) for name, x in _leaves(result) if _is_value(x)}
    return {**found, **{f"{name} after": _plain(case.tensors[name]) for name in case.changed}}


def _is_value(x: Any) -> bool:
    return isinstance(x, (Tensor, np.ndarray, np.generic, bool, int, float))


def _plain(value: Any) -> np.ndarray:
    return np.array(value._data if isinstance(value, Tensor) else value)


def _total(outputs: list[Any]) -> Any:
    total = None
    for output in outputs:
        part = output.sum()
        total = part if total is None else total + part
    return total


def _unchanged(g: Tensor | None, before: Tensor | None, content: np.ndarray | None) -> bool:
    return g is before and (g is None or content is None or _equal(g._data, content))


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


@contextmanager
def _restored(case: Case, seed: int | None) -> Iterator[None]:
    """Put back the generator, tensors, gradients and the state of optimizers."""
    generator_state = generator.state
    data = [(tensor, tensor._data, tensor._data.copy()) for tensor in case.tensors.values()]
    grads = [(tensor, g, None if g is None else g._data.copy()) for tensor in case.tensors.values() for g in [tensor._grad]]
    slots = [{p: dict(own) for p, own in optimizer.state.items()} for optimizer in case.optimizers]
    contents = [(slot, slot._data.copy()) for state in slots for own in state.values() for slot in own.values()]
    if seed is not None:
        manual_seed(seed)
    try:
        yield
    finally:
        generator.state = generator_state
        for tensor, array, before in data:
            if tensor._data is not array:
                tensor.data = array
            if array.flags.writeable and not _equal(array, before):
                array[...] = before
                touch(tensor)
        for tensor, g, content in grads:
            tensor._grad = g
            if g is not None and g._data.flags.writeable:
                g._data[...] = content
        for optimizer, state in zip(case.optimizers, slots, strict=True):
            optimizer.state = state
        for slot, content in contents:
            slot._data[...] = content


# differences ------------------------------------------------------------------------------------------------------------


def _differences(mode: Mode, eager: Mode) -> Iterator[Difference]:
    for what, expected in eager.values.items():
        yield _difference(what, mode.values.get(what), expected)
    for name, g in mode.gradients.items():
        yield _difference(f"gradient of {name}", g, eager.gradients[name])


def _difference(what: str, mine: np.ndarray | None, theirs: np.ndarray | None) -> Difference:
    if mine is None or theirs is None:
        far = 0.0 if mine is theirs else np.inf
        return Difference(what if mine is theirs else f"{what}, which one of them lacks", far, far)
    if mine.shape != theirs.shape:
        return Difference(f"{what}, whose shape is {mine.shape} and not {theirs.shape}", np.inf, np.inf)
    a, b = mine.astype(np.float64), theirs.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        absolute = np.where(same, 0.0, np.abs(a - b))
        spacing = np.spacing(np.abs(theirs)).astype(np.float64) if theirs.dtype.kind == "f" else 1.0
        ulps = np.where(same, 0.0, absolute / spacing)
    worst = [float(np.where(np.isnan(x), np.inf, x).max(initial=0.0)) for x in (absolute, ulps)]
    return Difference(what, *worst)


def _close(mine: dict[str, Any], theirs: dict[str, Any], rtol: float, atol: float) -> bool:
    for what, expected in theirs.items():
        actual = mine.get(what)
        if actual is None or expected is None:
            if actual is not expected:
                return False
            continue
        same_kind = actual.shape == expected.shape and actual.dtype == expected.dtype
        if not same_kind or not np.allclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True):
            return False
    return True


# text -------------------------------------------------------------------------------------------------------------------


def _figure(value: float | None, width: int, unit: str = "", digits: int = 0) -> str:
    suffix = f" {unit}" if unit else ""
    return f"{'-':>{width}s}{' ' * len(suffix)}" if value is None else f"{value:>{width},.{digits}f}{suffix}"


def _difference_table(modes: list[Mode]) -> list[str]:
    names = [difference.what for difference in modes[0].differences]
    width = max(34, *map(len, names))
    lines = [f"{'largest difference from eager':{width}s}" + "".join(f"  {mode.name:>22s}" for mode in modes)]
    for i, name in enumerate(names):
        cells = [f"{mode.differences[i].absolute:.2e} ({mode.differences[i].ulps:.1f} ULP)" for mode in modes]
        lines.append(f"{name:{width}s}" + "".join(f"  {cell:>22s}" for cell in cells))
    return lines
