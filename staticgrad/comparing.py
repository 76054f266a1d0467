"""`sg.compare`: one function in every mode, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .compiler.jit import Counters
from .eager import Tensor, generator, grad, no_grad
from .errors import ArgumentError, GradientError, StaticgradError
from .operators import Symbol
from .static import Graph, Session, global_variables_initializer, gradients, placeholder
from .tracing import CompiledFunction, compile

MODES = ("eager", "session", "compiled")


@dataclass
class Difference:
    """How far a value is from the eager one: largest absolute, and largest in units of the last place."""

    what: str
    absolute: float
    ulps: float


@dataclass
class Mode:
    """One mode's run. `error` says why it could not be run; the figures are None then.

    first_ms: the first call, building, tracing and compiling included; call_us: the median of later calls; compiled:
    kernels that were compiled (0 where the disk cache had them); host_calls, arena_bytes: of the plan.
    """

    name: str
    values: list[np.ndarray] = field(default_factory=list, repr=False)
    gradients: list[np.ndarray | None] = field(default_factory=list, repr=False)
    differences: list[Difference] = field(default_factory=list)
    first_ms: float | None = None
    call_us: float | None = None
    compiled: int | None = None
    host_calls: int | None = None
    arena_bytes: int | None = None
    error: str = ""


@dataclass
class Comparison:
    """What `compare` found. `print` it for a table; `as_dict()` for data."""

    function: str
    modes: list[Mode]

    def __getitem__(self, name: str) -> Mode:
        for mode in self.modes:
            if mode.name == name:
                return mode
        raise ArgumentError(f"there is no mode {name!r}", f"use one of {', '.join(MODES)}")

    @property
    def ok(self) -> bool:
        """Every mode could be run."""
        return not any(mode.error for mode in self.modes)

    def agree(self, rtol: float = 1e-5, atol: float = 1e-6) -> bool:
        """Whether all modes ran, and gave the eager values and gradients within the tolerance (NaN equals NaN)."""
        reference = self.modes[0]
        for mode in self.modes:
            if mode.error:
                return False
            pairs = [*zip(mode.values, reference.values, strict=True)]
            pairs += [
                (a, b)
                for a, b in zip(mode.gradients, reference.gradients, strict=True)
                if a is not None and b is not None
            ]
            if not all(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True) for a, b in pairs):
                return False
        return True

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data, without the arrays."""
        data = asdict(self)
        for mode in data["modes"]:
            del mode["values"], mode["gradients"]
        return data

    def __str__(self) -> str:
        names = f"{'mode':10s} {'first ms':>10s} {'call us':>10s} {'kernels':>8s} {'host':>5s} {'arena B':>10s}"
        head = f"{names}  difference from eager"
        lines = [f"{self.function}", head]
        for mode in self.modes:
            if mode.error:
                lines.append(f"{mode.name:10s} not run: {mode.error}")
                continue
            worst = max(mode.differences, key=lambda d: d.absolute, default=None)
            said = "-" if worst is None else f"{worst.absolute:.2e} ({worst.ulps:.1f} ULP) at {worst.what}"
            lines.append(
                f"{mode.name:10s} {_number(mode.first_ms, 10, 2)} {_number(mode.call_us, 10, 1)} "
                f"{_number(mode.compiled, 8)} {_number(mode.host_calls, 5)} {_number(mode.arena_bytes, 10)}  {said}"
            )
        return "\n".join(lines)


def compare(fn: Callable[..., Any], *args: Any, repeats: int = 20, modes: Sequence[str] = MODES) -> Comparison:
    """Run `fn(*args)` eagerly, through a Session and compiled, and report how values, gradients and times differ.

    args: arrays, tensors and numbers become tensors; gradients of the sum of all floating results are taken with
    respect to the floating arrays and tensors among them. Random draws start from the same generator state in each
    mode, which is left as it was; tensors that the function changes (a training step) are put back. A mode that can't
    run the function says why in `error`. repeats: timed calls per mode. Raises ArgumentError for an unknown mode, and
    whatever `fn` raises eagerly.
    """
    for name in modes:
        if name not in MODES:
            raise ArgumentError(f"compare: unknown mode {name!r}", f"use one of {', '.join(MODES)}")
    if repeats < 1:
        raise ArgumentError(f"compare: repeats must be at least 1, got {repeats}")
    arrays = [_array(a) for a in args]
    try:
        found = [_eager(fn, arrays, repeats, differentiate=True)]
    except GradientError:  # the function walks its own tape: a training step
        found = [_eager(fn, arrays, repeats, differentiate=False)]
    differentiate = any(g is not None for g in found[0].gradients)
    for name in modes:
        if name != "eager":
            found.append(_attempt(name, fn, arrays, repeats, differentiate))
    for mode in found[1:]:
        if not mode.error:
            mode.differences = _differences(mode, found[0])
    return Comparison(getattr(fn, "__name__", repr(fn)), found)


# the modes ------------------------------------------------------------------------------------------------------------


def _eager(fn: Callable[..., Any], arrays: list[Any], repeats: int, *, differentiate: bool) -> Mode:
    def call() -> tuple[list[Any], list[Any]]:
        tensors = _tensors(arrays)
        outputs = _leaves(fn(*tensors))
        wanted = [t for t in tensors if isinstance(t, Tensor) and t.requires_grad]
        total = _total([o for o in outputs if isinstance(o, Tensor) and o.requires_grad]) if differentiate else None
        return outputs, _eager_gradients(total, wanted)

    with _unchanged(fn):
        (outputs, grads), mode = _timed("eager", call, repeats)
    mode.values = [_plain(o) for o in outputs]
    mode.gradients = [None if g is None else _plain(g) for g in grads]
    return mode


def _attempt(name: str, fn: Callable[..., Any], arrays: list[Any], repeats: int, differentiate: bool) -> Mode:
    run = _session if name == "session" else _compiled
    try:
        with _unchanged(fn):
            return run(fn, arrays, repeats, differentiate)
    except StaticgradError as error:
        return Mode(name, error=f"{type(error).__name__}: {error.summary}")


def _session(fn: Callable[..., Any], arrays: list[Any], repeats: int, differentiate: bool) -> Mode:
    before = Counters.compiled
    begin = time.perf_counter()
    graph = Graph()
    with graph.as_default():
        inputs = [
            placeholder(a.dtype, a.shape, name=f"arg{i}") if isinstance(a, np.ndarray) else a
            for i, a in enumerate(arrays)
        ]
        outputs = _leaves(fn(*inputs))
        wanted = [i for i in inputs if isinstance(i, Symbol) and i.dtype.kind == "f"]
        total = _total([o for o in outputs if isinstance(o, Symbol) and o.dtype.kind == "f"])
        given = differentiate and total is not None and wanted
        grads = gradients(total, wanted) if given else [None for _ in wanted]
        initializer = global_variables_initializer()
    fetches = [o for o in outputs if isinstance(o, Symbol)]
    symbolic = [g for g in grads if g is not None]
    feeds = {i: a for i, a in zip(inputs, arrays, strict=True) if isinstance(i, Symbol)}
    with Session(graph=graph) as session:
        session.run(initializer)
        state = generator.state
        results, mode = _timed("session", lambda: session.run([*fetches, *symbolic], feeds), repeats, begin)
        generator.state = state
    mode.compiled = Counters.compiled - before
    values = iter(results)
    mode.values = [np.asarray(next(values)) if isinstance(o, Symbol) else _plain(o) for o in outputs]
    mode.gradients = [None if g is None else np.asarray(next(values)) for g in grads]
    return mode


def _compiled(fn: Callable[..., Any], arrays: list[Any], repeats: int, differentiate: bool) -> Mode:
    def with_gradients(*tensors: Any) -> tuple[Any, Any]:
        outputs = _leaves(fn(*tensors))
        wanted = [t for t in tensors if isinstance(t, Symbol) and t.requires_grad]  # type: ignore[attr-defined]
        total = _total([o for o in outputs if isinstance(o, Symbol) and o.requires_grad])  # type: ignore[attr-defined]
        if not differentiate or total is None or not wanted:
            return outputs, [None for _ in wanted]
        return outputs, list(grad(total, wanted, allow_unused=True))

    before = Counters.compiled
    step: CompiledFunction = compile(with_gradients)
    (outputs, grads), mode = _timed("compiled", lambda: step(*_tensors(arrays)), repeats)
    mode.compiled = Counters.compiled - before
    mode.host_calls, mode.arena_bytes = step.plan.host_calls, step.plan.builder.peak
    mode.values = [_plain(o) for o in outputs]
    mode.gradients = [None if g is None else _plain(g) for g in grads]
    return mode


def _timed(name: str, call: Callable[[], Any], repeats: int, begin: float | None = None) -> tuple[Any, Mode]:
    """The first call's result; the time of that call (or since `begin`) and the median of the later ones."""
    state = generator.state
    begin = time.perf_counter() if begin is None else begin
    result = call()
    mode = Mode(name, first_ms=(time.perf_counter() - begin) * 1e3)
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e6)
    mode.call_us = float(np.median(times))
    generator.state = state
    return result, mode


# values ---------------------------------------------------------------------------------------------------------------


def _array(arg: Any) -> Any:
    if isinstance(arg, Tensor):
        return arg.detach().numpy()
    return arg if not isinstance(arg, (list, float)) else Tensor(arg).numpy()


def _tensors(arrays: list[Any]) -> list[Any]:
    """Tensors of their own memory for the arrays; floating ones require grad."""
    return [Tensor(a.copy(), requires_grad=a.dtype.kind == "f") if isinstance(a, np.ndarray) else a for a in arrays]


def _leaves(result: Any) -> list[Any]:
    if isinstance(result, dict):
        return [leaf for part in result.values() for leaf in _leaves(part)]
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in _leaves(part)]
    return [] if result is None else [result]


def _total(outputs: list[Any]) -> Any:
    total = None
    for output in outputs:
        part = output.sum()
        total = part if total is None else total + part
    return total


def _eager_gradients(total: Any, wanted: list[Tensor]) -> list[Any]:
    if total is None or not wanted:
        return [None for _ in wanted]
    return list(grad(total, wanted, allow_unused=True))


def _plain(value: Any) -> np.ndarray:
    return np.array(value.detach().numpy()) if isinstance(value, Tensor) else np.asarray(value)


def _differences(mode: Mode, reference: Mode) -> list[Difference]:
    found = []
    for i, (mine, theirs) in enumerate(zip(mode.values, reference.values, strict=True)):
        found.append(_difference(f"output {i}", mine, theirs))
    for i, (g, h) in enumerate(zip(mode.gradients, reference.gradients, strict=True)):
        if g is not None and h is not None:
            found.append(_difference(f"gradient {i}", g, h))
    return found


def _difference(what: str, mine: np.ndarray, theirs: np.ndarray) -> Difference:
    """Where one of them is NaN or infinite and the other differs, the difference is infinite."""
    a, b = np.atleast_1d(mine).astype(np.float64), np.atleast_1d(theirs).astype(np.float64)
    if a.shape != b.shape:
        return Difference(f"{what}, whose shape is {mine.shape} and not {theirs.shape}", np.inf, np.inf)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        absolute = np.where(same, 0.0, np.abs(a - b))
        absolute = np.where(np.isnan(absolute), np.inf, absolute)
        if theirs.dtype.kind == "f":
            spacing = np.spacing(np.abs(np.atleast_1d(theirs))).astype(np.float64)
            ulps = np.where(same, 0.0, absolute / spacing)
            ulps = np.where(np.isnan(ulps), np.inf, ulps)
        else:
            ulps = absolute
    return Difference(what, float(absolute.max(initial=0)), float(ulps.max(initial=0)))


@contextmanager
def _unchanged(fn: Callable[..., Any]) -> Iterator[None]:
    """Put back the generator and the tensors that a function reaches and changes."""
    state = generator.state
    saved = [(t, t._data.copy(), t._grad) for t in _reached(fn)]
    optimizers = [(o, o.state_dict()) for o in _roots(fn) if hasattr(o, "param_groups")]
    try:
        yield
    finally:
        generator.state = state
        with no_grad():
            for tensor, data, gradient in saved:
                tensor._data[...] = data
                tensor._grad = gradient
        for optimizer, before in optimizers:
            optimizer.load_state_dict(before)


def _roots(fn: Callable[..., Any]) -> list[Any]:
    from .tracing.reach import Reach

    reach = Reach(fn)
    found = [*(value for _, value in reach.structured), *(value for _, _, value in reach.names)]
    return [*found, *(value for _, value in reach.cells)]


def _reached(fn: Callable[..., Any]) -> list[Tensor]:
    """Tensors behind the names that the function reads: directly, and in modules."""
    found: dict[int, Tensor] = {}
    for value in _roots(fn):
        if isinstance(value, Tensor):
            found[id(value)] = value
        elif hasattr(value, "state_dict") and hasattr(value, "parameters"):
            for tensor in (*value.parameters(), *getattr(value, "buffers", list)()):
                found[id(tensor)] = tensor
    return [t for t in found.values() if isinstance(t, Tensor) and t._data.flags.writeable]


def _number(value: float | None, width: int, digits: int = 0) -> str:
    return f"{'-':>{width}s}" if value is None else f"{value:>{width},.{digits}f}"
