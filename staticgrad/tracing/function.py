"""Compiled functions: traced per types of their arguments and what they reach, run as one plan."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..compiler.program import Program
from ..eager.tensor import Structure, Tensor, wrap
from ..errors import TraceError
from ..ir import REGISTRY, Cell
from ..operators import Symbol, append, as_array, frontends, state
from ..types import SUPPORTED, shape_text
from .reach import Reach
from .tracer import Traced, Tracer

ndarray = np.ndarray


class _Buffers(dict[Cell, np.ndarray]):
    """The arrays of cells that eager tensors own."""

    def __missing__(self, cell: Cell) -> np.ndarray:
        return cell.tensor._data


BUFFERS = _Buffers()
NUMBERS = frozenset(dtype.num for dtype in SUPPORTED)


class Entry:
    """One trace: its program, what it relies on, and what has to be done around a run."""

    def __init__(self, key: tuple[Any, ...], tracer: Tracer, feeds: list[Any], result: Any, reach: Reach):
        self.key = key
        self.reach = reach
        self.template, leaves = _flatten_result(result)
        graph = tracer.graph
        self.argument_grads = [
            (feeds.index(a), g) for a in tracer.arguments if (g := tracer.grads.get(id(a), (a, None))[1]) is not None
        ]
        assigns = [(t, tracer.values[k]) for k, t in tracer.assigned.items()]
        self.grads: list[tuple[Tensor, Tensor | None]] = []
        for tensor, g in tracer.grads.values():
            if isinstance(tensor, Traced):
                continue
            if g is None:
                self.grads.append((tensor, None))
                continue
            entry = tracer.grad_entry.get(id(tensor), (tensor, None))[1]
            home = entry if entry is not None else Tensor(np.zeros(tensor.shape, tensor.dtype))
            assigns.append((home, g))
            self.grads.append((tensor, home))
        self.grad_entry = list(tracer.grad_entry.values())
        effects = []
        for tensor, value in assigns:
            leaf = tracer.leaves[id(tensor)][1] if id(tensor) in tracer.leaves else tracer._leaf(tensor, False).node
            effects.append(append(graph, REGISTRY["assign"], (leaf, value), {}).node)
        fetches = [leaf.node for leaf in leaves] + [g.node for _, g in self.argument_grads]
        self.results = len(leaves)
        self.program = Program(graph, fetches, [f.node for f in feeds], effects)
        self.tensors = [t for t, _ in tracer.leaves.values()]
        self.facts = [(t, t._tracked, t.shape, t.dtype) for t in self.tensors]
        self.written = [t for t, _ in assigns]
        _check_sharing(self.written, self.tensors)
        self.plan: Any = None
        self.structure = -1
        self.written_ids: frozenset[int] = frozenset()

    def holds(self) -> bool:
        """Whether what the trace relied on is as it was."""
        for tensor, tracked, shape, dtype in self.facts:
            if tensor._tracked != tracked or tensor.shape != shape or tensor.dtype != dtype:
                return False
        return self.reach.holds()

    def bind(self) -> None:
        """Point the plan at the tensors' buffers, after something may have moved."""
        self.plan.bind(BUFFERS)
        ids: set[int] = set()
        for tensor in self.written:
            data = tensor._data
            ids.update(id(a) for a in (data, data.base) if a is not None)
        self.written_ids = frozenset(ids)
        self.structure = Structure.changes


class CompiledFunction:
    """A function under `@sg.compile`. Calls run natively; `recompiles` says why traces were made.

    plan, explain(), source(), profile(): of the latest call's plan.
    """

    def __init__(self, fn: Callable[..., Any]):
        self.fn = fn
        functools.update_wrapper(self, fn)
        self.entries: dict[tuple[Any, ...], list[Entry]] = {}
        self.recompiles: list[str] = []
        self.latest: Entry | None = None
        self.lock = threading.RLock()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: the instance is the first argument."""
        if instance is None:
            return self
        bound = self.__dict__.setdefault("bound", {})
        if id(instance) not in bound:
            bound[id(instance)] = (instance, CompiledFunction(self.fn.__get__(instance, owner)))
        return bound[id(instance)][1]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if frontends.tracing and state.tracer is not None:
            return self.fn(*args, **kwargs)  # inside another trace: a part of it
        key: list[Any] = []
        arrays: list[np.ndarray] = []
        for arg in args:
            if arg.__class__ is ndarray:
                array, tracked = arg, False
            elif arg.__class__ is Tensor:
                array, tracked = arg._data, arg._tracked
            else:
                _flatten_argument(arg, key, arrays)
                continue
            dtype = array.dtype
            if dtype.num in NUMBERS and dtype.isnative and array.flags.c_contiguous:
                key.append((dtype.num, array.shape, tracked))
                arrays.append(array)
            else:
                _flatten_argument(arg, key, arrays)
        if kwargs:
            for name in sorted(kwargs):
                key.append(name)
                _flatten_argument(kwargs[name], key, arrays)
        signature = tuple(key)
        with self.lock:
            entry = self._entry(signature, args, kwargs, arrays)
            return self._run(entry, args, kwargs, arrays)

    def _entry(self, signature: tuple[Any, ...], args: Any, kwargs: Any, arrays: list[np.ndarray]) -> Entry:
        try:
            known = self.entries.get(signature)
        except TypeError:
            raise TraceError(
                f"{self.fn.__name__}: arguments that are not tensors have to be hashable, they are part of the cache key",
                "pass numbers, strings, tuples, or tensors",
            ) from None
        for entry in known if known is not None else ():
            if entry.structure == Structure.changes and entry.reach.current():
                if all(t._grad is g for t, g in entry.grad_entry):
                    return entry
            elif entry.holds() and all(t._grad is g for t, g in entry.grad_entry):
                entry.bind()
                return entry
        return self._trace(signature, args, kwargs, arrays)

    def _run(self, entry: Entry, args: Any, kwargs: Any, arrays: list[np.ndarray]) -> Any:
        written = entry.written_ids
        for i, array in enumerate(arrays):
            if written and (id(array) in written or id(array.base) in written):
                arrays[i] = array.copy()  # an argument that shares memory with what the step writes
        plan = entry.plan
        with plan.lock:
            plan.execute(arrays)
            results = plan.results(arrays)
        self.latest = entry
        for tensor, home in entry.grads:
            if tensor._grad is not home:
                tensor._grad = home
        if entry.argument_grads:
            _accumulate_arguments(entry, args, kwargs, results)
        return entry.template(results)

    def _trace(self, signature: tuple[Any, ...], args: Any, kwargs: Any, arrays: list[np.ndarray]) -> Entry:
        tracer = Tracer()
        feeds: list[Traced] = []
        frontends.tracing += 1
        saved, state.tracer = state.tracer, tracer
        reach = Reach(self.fn)
        try:
            symbols = [_symbols(arg, tracer, feeds, f"arg{i}") for i, arg in enumerate(args)]
            named = {name: _symbols(kwargs[name], tracer, feeds, name) for name in sorted(kwargs)}
            result = self.fn(*symbols, **named)
            entry = Entry(signature, tracer, feeds, result, reach)
        finally:
            state.tracer = saved
            frontends.tracing -= 1
        entry.plan = entry.program.plan(*arrays)
        reach.freeze()
        entry.bind()
        self.recompiles.append(self._why(signature, entry))
        self.entries.setdefault(signature, []).append(entry)
        return entry

    def _why(self, signature: tuple[Any, ...], entry: Entry) -> str:
        """The difference from the nearest earlier trace."""
        if not self.entries:
            return "first call"
        best: list[str] | None = None
        for key, entries in self.entries.items():
            if key == signature:
                return "same arguments, but " + entries[-1].reach.difference(entry.reach, entries[-1].facts)
            changes = _key_difference(key, signature)
            if best is None or len(changes) < len(best):
                best = changes
        assert best is not None
        return "; ".join(best)

    # looking ------------------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Any:
        """The plan of the latest call. Raises TraceError before the first."""
        if self.latest is None:
            raise TraceError(f"{self.fn.__name__} has not been called yet, so there is no plan")
        return self.latest.plan

    def explain(self) -> str:
        return self.plan.explain()

    def source(self, number: int | None = None) -> str:
        return self.plan.source(number)

    def profile(self, repeats: int = 200) -> Any:
        return self.plan.profile(repeats)

    def loop(self, batches: Iterable[Any]) -> list[Any]:
        """Call the function for each batch (a tuple of arguments, or one argument); returns the list of results."""
        return [self(*batch) if isinstance(batch, tuple) else self(batch) for batch in batches]


def compile(fn: Callable[..., Any] | None = None) -> Any:
    """Compile an eager function: traced at the first call with new argument types, then run as one native plan.

    The same text runs eagerly without the decorator. Array arguments are run-time values; a new shape repeats the Python
    passes but compiles no kernel. Other arguments, and flags of the modules and optimizers that the function uses, are part
    of the key; learning rates and the like are read at every call. Results are tensors without a tape: call `backward`
    inside. Side effects of Python (prints, lists) happen only while tracing.
    """
    if fn is None:
        return compile
    if not callable(fn):
        raise TraceError(f"compile needs a function, got {type(fn).__name__}")
    return CompiledFunction(fn)


# arguments and results ----------------------------------------------------------------------------------------------------


def _flatten_argument(arg: Any, key: list[Any], arrays: list[np.ndarray]) -> None:
    if isinstance(arg, Tensor):
        array = arg._data
    elif isinstance(arg, ndarray):
        array = as_array(arg)
    elif isinstance(arg, (list, tuple)):
        key.append((type(arg), len(arg)))
        for part in arg:
            _flatten_argument(part, key, arrays)
        return
    elif isinstance(arg, dict):
        key.append((dict, tuple(arg)))
        for part in arg.values():
            _flatten_argument(part, key, arrays)
        return
    elif isinstance(arg, Symbol):
        raise TraceError(
            f"a compiled function takes values, got {arg.describe()} of a graph", "run it in a Session, or pass an array"
        )
    else:
        key.append((type(arg), arg))
        return
    array = np.ascontiguousarray(array).reshape(array.shape)
    key.append((array.dtype.num, array.shape, isinstance(arg, Tensor) and arg._tracked))
    arrays.append(array)


def _symbols(arg: Any, tracer: Tracer, feeds: list[Traced], name: str) -> Any:
    """The argument with symbols in place of arrays, in the order of `_flatten_argument`."""
    if isinstance(arg, (Tensor, ndarray)):
        array = arg._data if isinstance(arg, Tensor) else as_array(arg)
        feeds.append(tracer.argument(array, name, isinstance(arg, Tensor) and arg._tracked))
        return feeds[-1]
    if isinstance(arg, (list, tuple)):
        parts = [_symbols(part, tracer, feeds, f"{name}_{i}") for i, part in enumerate(arg)]
        return type(arg)(*parts) if hasattr(arg, "_fields") else type(arg)(parts)
    if isinstance(arg, dict):
        return {k: _symbols(part, tracer, feeds, f"{name}_{k}") for k, part in arg.items()}
    return arg


def _flatten_result(result: Any) -> tuple[Callable[[list[np.ndarray]], Any], list[Any]]:
    """A function from fetched arrays to what the user's function returned, and the symbols to fetch."""
    leaves: list[Any] = []

    def walk(part: Any) -> Callable[[list[np.ndarray]], Any]:
        if isinstance(part, Symbol):
            position = len(leaves)
            leaves.append(part)
            return lambda arrays: wrap(arrays[position])
        if isinstance(part, (list, tuple)):
            parts = [walk(p) for p in part]
            kind = type(part)
            if hasattr(part, "_fields"):
                return lambda arrays: kind(*(p(arrays) for p in parts))
            return lambda arrays: kind(p(arrays) for p in parts)
        if isinstance(part, dict):
            fields = {k: walk(p) for k, p in part.items()}
            return lambda arrays: {k: p(arrays) for k, p in fields.items()}
        return lambda arrays: part

    return walk(result), leaves


def _leaf_arguments(arg: Any) -> Iterator[Any]:
    if isinstance(arg, (Tensor, ndarray)):
        yield arg
    elif isinstance(arg, (list, tuple)):
        for part in arg:
            yield from _leaf_arguments(part)
    elif isinstance(arg, dict):
        for part in arg.values():
            yield from _leaf_arguments(part)


def _accumulate_arguments(entry: Entry, args: Any, kwargs: Any, results: list[np.ndarray]) -> None:
    """Gradients of arguments that require grad are added to their `.grad`."""
    given = [*_leaf_arguments(args), *(leaf for k in sorted(kwargs) for leaf in _leaf_arguments(kwargs[k]))]
    for (position, _), g in zip(entry.argument_grads, results[entry.results :], strict=True):
        tensor = given[position]
        if tensor._grad is None:
            tensor._grad = wrap(g)
        else:
            tensor._grad = tensor._grad + wrap(g)


def _check_sharing(written: list[Tensor], reached: list[Tensor]) -> None:
    """Kernels assume that different tensors don't overlap where one is written. Raises TraceError."""
    for tensor in written:
        for other in reached:
            if other is not tensor and np.may_share_memory(other._data, tensor._data):
                raise TraceError(
                    f"the compiled function changes a tensor of shape {shape_text(tensor.shape)} that shares memory with "
                    f"another one of shape {shape_text(other.shape)} which it uses",
                    "use one tensor for both, or a clone()",
                )


def _key_difference(old: tuple[Any, ...], new_key: tuple[Any, ...]) -> list[str]:
    if len(old) != len(new_key):
        return [f"{len(new_key)} argument parts instead of {len(old)}"]
    changes = []
    for i, (a, b) in enumerate(zip(old, new_key, strict=True)):
        if a == b:
            continue
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) == 3:
            if a[0] != b[0]:
                changes.append(f"argument {i}: dtype {_dtype(b[0])} instead of {_dtype(a[0])}")
            if a[1] != b[1]:
                changes.append(f"argument {i}: shape {shape_text(b[1])} instead of {shape_text(a[1])}")
            if a[2] != b[2]:
                changes.append(f"argument {i}: requires_grad {b[2]} instead of {a[2]}")
        else:
            changes.append(f"argument {i}: {_value(b)} instead of {_value(a)}")
    return changes


def _dtype(num: int) -> str:
    return next(str(d) for d in SUPPORTED if d.num == num)


def _value(part: Any) -> str:
    return repr(part[1]) if isinstance(part, tuple) and len(part) == 2 else repr(part)
