"""A function run eagerly, in a Session and compiled: results, gradients to second order, times, and what was built."""

from __future__ import annotations

import inspect
import os
import re
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from ..autodiff import requests
from ..base.types import INEXACT
from ..compiler.backend.kernel_cache import Counters
from ..compiler.execute.plan import Plan
from ..compiler.passes.specialize import FunctionalGraph
from ..compiler.runtime.plan_memory import give_up_spare
from ..eager import Tensor, generator, grad, manual_seed
from ..eager.tape import touch
from ..eager.tape_graph import graph_of
from ..errors import GradientError, StaticgradError, TraceError
from ..ir import REGISTRY, Cell, Node
from ..ir import Graph as IRGraph
from ..ops.operators import Operators, Symbol, append, frontends
from ..ops.pytree import flatten, ordered, paths, unflatten
from ..static import Graph, Operation, Session, Variable, constant, global_variables_initializer, gradients, group, placeholder
from ..tracing import CompiledFunction, compile
from ..tracing.arguments import parameter_names
from ..tracing.mentions import Mentions
from .comparison import AFTER, Mode

# A training step as a graph for a Session: of a function that calls `backward`, which no graph does, its trace is taken.
#
# The trace's graph has the gradients as nodes. Placeholders feed the arguments, variables hold the tensors that the step reads
# or changes, and one operation assigns what the step leaves in them.


class DefinedStep(NamedTuple):
    """A step in a graph: its result, gradients by the names of the tensors that are `wanted`, variables by the id of the tensor
    that they stand for, and the operation that changes them, where the function returns none."""

    graph: Graph
    inputs: dict[str, Symbol]
    result: Any
    gradients: dict[str, Symbol | None]
    variables: Mapping[int, Node | Variable]
    update: Operation | None
    wanted: dict[str, Any]


def traced_step(case: Case, args: list[Any], leaves: dict[str, Any]) -> DefinedStep:
    """The graph of a step that calls `backward`. args: tensors, `leaves` by name. Raises TraceError for a function that needs
    values while it is traced, and whose trace is no single graph."""
    wanted = {**{name: leaf for name, leaf in leaves.items() if leaf.requires_grad}, **case.parameters}
    numbers = {id(leaf): i for i, leaf in enumerate(leaves.values())}

    def step(*args: Any) -> Any:
        result = case.fn(*args)
        given = [x for arg in args for _, x in leaves_of(arg) if hasattr(x, "requires_grad")]
        return result, [(given[numbers[id(x)]] if id(x) in numbers else x).grad for x in wanted.values()]

    traced = compile(step, on_break="error").specialization_of(*args)
    prepared: FunctionalGraph = traced.program.prepared
    made = {cell for binding in traced.bindings.values() for cell in binding.cells}
    graph = Graph()
    with graph.as_default():
        inputs = {
            name: placeholder(leaf.dtype, leaf.shape, name=re.sub(r"\W+", "_", name).strip("_") or "input")
            for name, leaf in leaves.items()
        }
        cells, copies = _copied(graph, prepared, [x.node for x in inputs.values()])
        symbols = [Symbol(graph, copies[node]) for node in prepared.fetches]
        result, gradients = traced.results.build(symbols, [*inputs.values()])  # type: ignore[arg-type]
        assigns = []
        for cell, value in prepared.assigns:
            if cell not in made:
                variable = _variable(cell) if cell not in cells else cells[cell]
                cells[cell] = variable
                assigns.append(append(graph, REGISTRY["assign"], (variable.node, copies[value]), {}))
        update = group(*assigns, name="update") if assigns else None
    variables = {id(cell.tensor): variable for cell, variable in cells.items()}
    return DefinedStep(graph, inputs, result, dict(zip(wanted, gradients, strict=True)), variables, update, wanted)


def _copied(graph: Graph, prepared: FunctionalGraph, feeds: list[Node]) -> tuple[dict[Cell, Variable], dict[Node, Node]]:
    """Write a trace into a static graph. Returns variables by the trace's cells, and the copies of nodes."""
    if len(feeds) != len(prepared.feeds):
        raise TraceError("the step reads gradients that its arguments have already", "pass tensors without .grad")
    copies = dict(zip(prepared.feeds, feeds, strict=True))
    cells: dict[Cell, Variable] = {}
    for node in prepared.graph.nodes:
        if node in copies:
            continue
        if node.op.leaf == "variable":
            cell = node.attrs["cell"]
            cells[cell] = _variable(cell)
            copies[node] = cells[cell].node
            continue
        inputs = tuple(copies[x] for x in node.inputs)
        name = graph.unique_name(node.name) if node.name else ""
        copies[node] = graph.add(node.op, inputs, node.attrs, node.type, name, node.where)
        if node.op.leaf == "generator":
            graph.generator = Symbol(graph, copies[node])
    graph.draws = prepared.draws
    return cells, copies


def _variable(cell: Cell) -> Variable:
    """A variable that starts from the value of the tensor that a trace's cell stands for."""
    tensor = cell.tensor
    data = np.zeros(cell.type.shape, cell.type.dtype) if tensor is None else tensor._data
    return Variable(constant(data.copy()), trainable=cell.trainable, name=cell.name or "variable")


Found = tuple[Any, dict[str, Any]]
"""The result of a call, and gradients by name."""


def timed(
    name: str, prepare: Callable[[], Any], call: Callable[[Any], Found], values: Callable[[Any], dict[str, np.ndarray]],
    repeats: int, begin: float | None = None, ready: Callable[[], None] = lambda: None,
) -> Mode:  # fmt: skip
    """The mode with the values and gradients of the first call, its time (since `begin`), and that of later ones.

    prepare: makes the arguments of a call, which is not timed. ready: waits for kernels.
    """
    compiled, loaded = Counters.compiled, Counters.from_disk
    given = prepare()
    begin = time.perf_counter() if begin is None else begin
    result, found = call(given)
    mode = Mode(name, first_ms=(time.perf_counter() - begin) * 1e3)
    mode.values = values(result)
    mode.gradients = {key: None if g is None else plain(g) for key, g in found.items()}
    mode.losses += _loss(result)
    ready()
    mode.ready_ms = (time.perf_counter() - begin) * 1e3
    mode.compiled, mode.loaded = Counters.compiled - compiled, Counters.from_disk - loaded
    for _ in range(repeats):
        given = prepare()
        begin = time.perf_counter()
        result, _ = call(given)
        mode.times_us.append((time.perf_counter() - begin) * 1e6)
        mode.losses += _loss(result)
    return mode


def _loss(result: Any) -> list[float]:
    """The first scalar of a result, if it is a floating one."""
    for _, x in leaves_of(result):
        if is_value(x) or hasattr(x, "detach"):
            value = plain(x) if is_value(x) else np.asarray(x.detach())
            return [float(value)] if value.shape == () and value.dtype.kind == "f" else []
    return []


def _squares(found: Sequence[Any]) -> Any:
    """Half the sum of the squares of gradients, whose gradient is the Hessian times the gradient. None without any."""
    known = [g for g in found if g is not None]
    total = total_of([g * g for g in known])
    return None if total is None else total * 0.5


# eager ------------------------------------------------------------------------------------------------------------------


def fresh(case: Case) -> tuple[list[Any], dict[str, Tensor]]:
    """The arguments as tensors with memory of their own, and their tensors by name."""
    leaves: dict[str, Tensor] = {}

    def make(name: str, array: np.ndarray) -> Tensor:
        leaves[name] = Tensor(array.copy(), requires_grad=name in case.leaves)
        leaves[name].name = name
        return leaves[name]

    return case.arguments(make), leaves


def _fresh(case: Case) -> tuple[list[Any], dict[str, Tensor]]:
    """Likewise, with those tensors alone that gradients are wanted of. Each call begins without the gradients of earlier ones,
    as the first does."""
    args, leaves = fresh(case)
    for tensor in case.bare:
        tensor.grad = None
    return args, {name: tensor for name, tensor in leaves.items() if tensor.requires_grad}


def run_eager(case: Case, repeats: int) -> Mode:
    before = {name: tensor._data.copy() for name, tensor in case.tensors.items()}
    held = {name: tensor._gradient for name, tensor in case.tensors.items()}
    content = {name: None if g is None else g._data.copy() for name, g in held.items()}

    def call(given: tuple[list[Any], dict[str, Tensor]]) -> Found:
        args, wanted = given
        result = case.fn(*args)
        if not case.differentiate:
            return result, {}
        wanted = {**wanted, **case.parameters}
        own = {name: tensor._gradient for name, tensor in wanted.items()}
        if case.own_gradients or any(not unchanged(g, held.get(name), content.get(name)) for name, g in own.items()):
            case.own_gradients = True
            return result, own
        total = _total(result)
        if total is None or not wanted:
            return result, dict.fromkeys(wanted)
        try:
            found = grad(total, list(wanted.values()), allow_unused=True)
        except GradientError as error:
            if error.summary != requests.freed().summary:
                raise
            case.own_gradients, case.differentiate = True, False  # it called `grad`, which freed the tape
            return result, {}
        return result, dict(zip(wanted, found, strict=True))

    def values(result: Any) -> dict[str, np.ndarray]:
        case.changed = [name for name, data in before.items() if not equal(case.tensors[name]._data, data)]
        return case.values(result)

    with case.untouched():
        graph, seconds, error = _tape(case)
    mode = timed("eager", lambda: _fresh(case), call, values, repeats)
    mode.graph = graph
    if case.order == 2 and not case.own_gradients:
        mode.seconds, mode.second_error = seconds, error
    mode.peak_bytes = _allocated(lambda: call(_fresh(case)))
    return mode


def _total(result: Any) -> Any:
    return total_of([x for _, x in leaves_of(result) if isinstance(x, Tensor) and x.requires_grad])


def _tape(case: Case) -> tuple[IRGraph | None, dict[str, Any], str]:
    """The tape of one call, taken where the function calls `backward` itself, else at its end; and second gradients, with the
    reason why there are none."""
    args, wanted = _fresh(case)
    found: list[IRGraph] = []
    original = frontends.backward

    def recording(tensors: Any, *others: Any) -> None:
        if not found and isinstance(tensors, Tensor):
            found.extend(_graphs(tensors))
        original(tensors, *others)

    frontends.backward = recording
    try:
        result = case.fn(*args)
    finally:
        frontends.backward = original
    if found:
        return found[0], {}, ""
    total = _total(result)
    roots = [x for _, x in leaves_of(result) if isinstance(x, Tensor)] if total is None else [total]
    graph = next(iter(_graphs(*roots)), None)
    wanted = {**wanted, **case.parameters}
    if total is None or case.order < 2 or not wanted:
        return graph, {}, ""
    try:
        first = grad(total, list(wanted.values()), create_graph=True, allow_unused=True)
        squares = _squares([g for g in first if g is not None and g.requires_grad])
        second = [None] * len(wanted) if squares is None else grad(squares, list(wanted.values()), allow_unused=True)
    except StaticgradError as error:
        return graph, {}, error.summary
    return graph, {name: None if g is None else plain(g) for name, g in zip(wanted, second, strict=True)}, ""


def _graphs(*tensors: Tensor) -> list[IRGraph]:
    """The graph of tensors, if there is a tape of them."""
    try:
        graph = graph_of(*tensors) if tensors else IRGraph()
    except StaticgradError:
        return []
    return [graph] if any(not node.op.leaf for node in graph.nodes) else []


def _allocated(work: Callable[[], Any]) -> int | None:
    """The most bytes that `work` holds beyond those before it. None where somebody else traces allocations."""
    if tracemalloc.is_tracing():
        return None
    give_up_spare()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


# session ----------------------------------------------------------------------------------------------------------------


def run_session(case: Case, repeats: int) -> Mode:
    begin = time.perf_counter()
    step = _traced_step(case) if case.own_gradients else _defined_step(case)
    graph, inputs, found = step.graph, step.inputs, step.gradients if case.differentiate else {}
    leaves = leaves_of(step.result)
    variables = {name: step.variables.get(id(case.tensors[name])) for name in case.changed}
    operations = [x for _, x in leaves if isinstance(x, Operation)]
    if any(node is None for node in variables.values()) or (variables and not operations and step.update is None):
        raise GradientError(
            f"it changes {', '.join(case.changed)} in place, which a graph can't do",
            "return the operation that does: return loss, optimizer.minimize(loss), or an assign",
        )
    with graph.as_default():
        initializer = global_variables_initializer()
    fetches = {
        "leaves": [x for _, x in leaves if isinstance(x, (Symbol, Operation))],
        "gradients": {name: g for name, g in found.items() if g is not None},
        "update": [] if step.update is None else [step.update],
    }
    defined = _defined(graph, fetches)
    with Session(graph) as session:
        session.run(initializer)
        feeds = {inputs[name]: array for name, array in case.arrays.items()}

        def call(_: None) -> Found:
            results = session.run(fetches, feeds)
            return results["leaves"], {name: results["gradients"].get(name) for name in found}

        def values(results: list[Any]) -> dict[str, np.ndarray]:
            fetched = iter(results)
            known = [(name, next(fetched) if isinstance(x, (Symbol, Operation)) else x) for name, x in leaves]
            after = {f"{name}{AFTER}": session.run(node) for name, node in variables.items()}
            return {**{name: plain(x) for name, x in known if is_value(x)}, **after}

        def ready() -> None:
            session.plan(fetches, feeds).wait()

        mode = timed("session", lambda: None, call, values, repeats, begin, ready)
        plan = session.plan(fetches, feeds)
        if case.order == 2 and found and not case.own_gradients:
            try:
                mode.seconds = _session_seconds(graph, session, found, step.wanted, feeds)
            except StaticgradError as error:
                mode.second_error = error.summary
    mode.graph = defined
    return _with_plan(mode, plan)


def _defined_step(case: Case) -> DefinedStep:
    """The function called with placeholders, and the gradients of its results."""
    graph = Graph()
    inputs: dict[str, Symbol] = {}

    def make(name: str, array: np.ndarray) -> Symbol:
        inputs[name] = placeholder(array.dtype, array.shape, name=name)
        return inputs[name]

    with graph.as_default():
        result = case.fn(*case.arguments(make))
        symbolic = [x for _, x in leaves_of(result) if isinstance(x, Symbol)]
        wanted = {**{name: x for name, x in inputs.items() if name in case.leaves}, **case.parameters}
        found: dict[str, Any] = {}
        if case.differentiate:
            total = total_of([x for x in symbolic if x.dtype.kind in INEXACT])
            known = [None] * len(wanted) if total is None or not wanted else gradients(total, list(wanted.values()))
            found = dict(zip(wanted, known, strict=True))
    nodes = {id(tensor): graph.standing_for(tensor) for tensor in case.tensors.values()}
    variables = {key: node for key, node in nodes.items() if node is not None}
    return DefinedStep(graph, inputs, result, found, variables, None, wanted)


def _traced_step(case: Case) -> DefinedStep:
    """The trace of a function that calls `backward`, as a graph."""
    args, leaves = fresh(case)
    with case.untouched():
        return traced_step(case, args, leaves)


def _session_seconds(graph: Graph, session: Session, found: Any, wanted: Any, feeds: Any) -> dict[str, Any]:
    with graph.as_default():
        squares = _squares(list(found.values()))
        known = [None] * len(wanted) if squares is None else gradients(squares, list(wanted.values()))
    second = dict(zip(wanted, known, strict=True))
    values = session.run({name: g for name, g in second.items() if g is not None}, feeds)
    return {name: None if g is None else plain(values[name]) for name, g in second.items()}


def _defined(graph: Graph, fetches: Any) -> IRGraph:
    """The part of a graph that is run, with named results."""
    outputs = {f"result {i}" if i else "result": x.node for i, x in enumerate(fetches["leaves"])}
    outputs |= {f"grad/{name}": g.node for name, g in fetches["gradients"].items()}
    outputs |= {x.name: x.node for x in fetches["update"]}
    return part_of(graph, outputs)


def part_of(graph: Any, outputs: dict[str, Node]) -> IRGraph:
    """The nodes of a graph that named results need."""
    part = IRGraph()
    for node in graph.reaching(outputs.values()):
        part.append(node)
    part.outputs = outputs
    return part


# compiled ---------------------------------------------------------------------------------------------------------------


def run_compiled(case: Case, repeats: int) -> Mode:
    derive = case.differentiate and not case.own_gradients

    def first(args: Sequence[Any], create_graph: bool) -> tuple[Any, list[Any], list[Any]]:
        result = case.fn(*args)
        if not derive:
            return result, [], []
        total = total_of([x for _, x in leaves_of(result) if getattr(x, "requires_grad", False)])
        wanted: list[Any] = [x for arg in args for _, x in leaves_of(arg) if getattr(x, "requires_grad", False)]
        wanted += list(case.parameters.values())
        if total is None:
            return result, [None for _ in wanted], wanted
        return result, list(grad(total, wanted, create_graph=create_graph, allow_unused=True)), wanted

    def function(*args: Any) -> tuple[Any, list[Any]]:
        return first(args, False)[:2]

    def second(*args: Any) -> list[Any]:
        _, found, wanted = first(args, True)
        squares = _squares([g for g in found if g is not None and g.requires_grad])
        return [None for _ in wanted] if squares is None else list(grad(squares, wanted, allow_unused=True))

    function.__name__ = case.name
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD  # names of placeholders, and in reasons of traces
    names = [re.sub(r"\W+", "_", name).strip("_") for name, _ in case.args]
    if len({*names}) == len(names) and all(name.isidentifier() for name in names):
        parameters = [inspect.Parameter(name, kind) for name in names]
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    step: CompiledFunction[..., Any] = compile(function)

    def call(given: tuple[list[Any], dict[str, Tensor]]) -> Found:
        args, wanted = given
        result, found = step(*args)
        wanted = {**wanted, **case.parameters}
        if not derive:
            return result, {name: tensor._gradient for name, tensor in wanted.items()} if case.differentiate else {}
        return result, dict(zip(wanted, found, strict=True))

    mode = timed("compiled", lambda: _fresh(case), call, case.values, repeats, ready=lambda: _wait(step))
    mode.cuts, mode.recompiles = _cuts(step), list(step.recompiles)
    plan = step.plan
    if case.order == 2 and derive:
        args, wanted = _fresh(case)
        try:
            found = compile(second)(*args)
            by_name = zip({**wanted, **case.parameters}, found, strict=True)
            mode.seconds = {name: None if g is None else plain(g) for name, g in by_name}
        except StaticgradError as error:
            mode.second_error = error.summary
    return _with_plan(mode, plan, _segments(step))


def _segments(step: CompiledFunction[..., Any]) -> list[Any]:
    return [] if step.segmented is None else step.segmented.roads.segments


def _wait(step: CompiledFunction[..., Any]) -> None:
    """Until all kernels are compiled."""
    for plan in [segment.plan for segment in _segments(step)] or [step.plan]:
        if plan is not None:
            plan.wait()


def _cuts(step: CompiledFunction[..., Any]) -> int:
    """The places at which the function is cut, its end not counted."""
    return len({(segment.where, segment.reason) for segment in _segments(step) if segment.where is not None})


def _with_plan(mode: Mode, plan: Plan, segments: Sequence[Any] = ()) -> Mode:
    plans = [segment.plan for segment in segments if segment.plan is not None] or [plan]
    mode.plan, mode.segments = plan, segments
    mode.kernels = len(set().union(*(each.sources() for each in plans)))
    mode.host_calls = sum(each.host_calls for each in plans)
    mode.arena_bytes = sum(each.memory.arena for each in plans)
    mode.peak_bytes = mode.arena_bytes + sum(buffer.nbytes for each in plans for buffer in each.fetches)
    if mode.cuts is None:
        mode.cuts = 0
    return mode


# the subject of a comparison ------------------------------------------------------------------------------------------

# The subject of a comparison: a function, its arguments, and the state that it reaches, which is restored.


class Case:
    """The function, its arguments by name, and the tensors that it reaches."""

    def __init__(self, fn: Callable[..., Any], args: Sequence[Any], order: int, *, every: bool = False):
        """order: of the gradients that are compared. every: all floating arguments are differentiated by, and not only those
        that require gradients."""
        self.fn, self.order = fn, order
        self.name: str = getattr(fn, "__name__", type(fn).__name__)
        code = getattr(fn, "__code__", None)
        if self.name == "<lambda>" and code is not None:
            self.name = f"lambda at {os.path.basename(code.co_filename)}:{code.co_firstlineno}"
        self.args = [*zip(_names(fn, len(args)), args, strict=True)]
        self.arrays: dict[str, np.ndarray] = {}
        self.leaves: set[str] = set()
        """The arguments that are differentiated by."""
        for name, arg in self.args:
            _mapped(name, arg, self._keep)
            self.leaves.update(path for path, leaf in leaves_of(arg, name) if isinstance(leaf, Tensor) and leaf.requires_grad)
        floating = {name for name, array in self.arrays.items() if array.dtype.kind in INEXACT}
        self.further = order > 0 and floating != self.leaves
        """Some floating arguments require no gradients."""
        self.leaves = floating if every else self.leaves
        self.differentiate = order > 0
        """Gradients are compared."""
        self.own_gradients = False
        """The function differentiates by itself: it leaves gradients in `.grad`, or calls `grad`, and then there are none that
        could be compared. Found out by the eager run."""
        self.changed: list[str] = []
        """The tensors that the function changes, found out likewise."""
        mentions = Mentions(fn, [(name, arg) for name, arg in self.args if not isinstance(arg, Operators)])
        self.optimizers = [optimizer for _, optimizer in mentions.optimizers]
        tensors = [*mentions.tensors]
        for label, module in mentions.modules:
            prefix = "" if len(mentions.modules) == 1 else f"{label}."
            tensors += [(prefix + name, t) for name, t in (*module.named_parameters(), *module.named_buffers())]
        for label, optimizer in mentions.optimizers:
            tensors += [(p.name or f"{label}[{i}]", p) for i, p in enumerate(optimizer.parameters())]
        self.tensors: dict[str, Tensor] = {}
        ids: set[int] = set()
        for name, tensor in tensors:
            if isinstance(tensor, Tensor) and id(tensor) not in ids and tensor.is_leaf:
                ids.add(id(tensor))
                self.tensors[name if name not in self.tensors else f"{name} ({len(ids)})"] = tensor
        self.bare = [tensor for tensor in self.tensors.values() if tensor.requires_grad and tensor._gradient is None]
        """The tensors that have no gradient before a call."""

    def _keep(self, name: str, array: np.ndarray) -> np.ndarray:
        self.arrays[name] = array
        return array

    def arguments(self, make: Callable[[str, np.ndarray], Any]) -> list[Any]:
        """The arguments with `make(name, array)` in place of arrays and tensors."""
        return [_mapped(name, arg, make) for name, arg in self.args]

    def untouched(self) -> AbstractContextManager[None]:
        """Put back after a further call what it changes."""
        return restored(self, None)

    @property
    def parameters(self) -> dict[str, Tensor]:
        """The tensors that the function reaches and that require gradients."""
        return {name: tensor for name, tensor in self.tensors.items() if tensor.requires_grad}

    def values(self, result: Any) -> dict[str, np.ndarray]:
        """The values in a result, and those of the tensors that the function changes, by name."""
        found = {name: plain(x) for name, x in leaves_of(result) if is_value(x)}
        return {**found, **{f"{name}{AFTER}": plain(self.tensors[name]) for name in self.changed}}


def _names(fn: Callable[..., Any], count: int) -> list[str]:
    """Names of positional arguments: those of the parameters, `batch[0]`, ... for `*batch`."""
    names = parameter_names(fn)
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
    others = [f"{rest}[{i}]" if rest else f"argument {i}" for i in range(count)]
    return [names[i] if i < len(names) else others[i - len(names)] if rest else others[i] for i in range(count)]


def _mapped(name: str, arg: Any, make: Callable[[str, np.ndarray], Any]) -> Any:
    """An argument with `make(name, array)` in place of arrays and tensors."""
    leaves, structure = flatten(arg, ordered)
    return unflatten(structure, [_made(path, leaf, make) for path, leaf in zip(paths(structure, name), leaves, strict=True)])


def _made(name: str, leaf: Any, make: Callable[[str, np.ndarray], Any]) -> Any:
    if isinstance(leaf, Tensor):
        return make(name, leaf._data)
    if hasattr(leaf, "__array__") and not isinstance(leaf, np.generic):
        return make(name, np.asarray(leaf))
    return leaf


def leaves_of(result: Any, name: str = "result") -> list[tuple[str, Any]]:
    """The leaves of a result, by name."""
    leaves, structure = flatten(result, ordered)
    return [*zip(paths(structure, name), leaves, strict=True)]


def is_value(x: Any) -> bool:
    return isinstance(x, (Tensor, np.ndarray, np.generic, bool, int, float))


def plain(value: Any) -> np.ndarray:
    return np.array(value._data if isinstance(value, Tensor) else value)


def total_of(outputs: list[Any]) -> Any:
    total = None
    for output in outputs:
        part = output.sum()
        total = part if total is None else total + part
    return total


def unchanged(g: Tensor | None, before: Tensor | None, content: np.ndarray | None) -> bool:
    return g is before and (g is None or content is None or equal(g._data, content))


def equal(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in INEXACT)


@contextmanager
def restored(case: Case, seed: int | None) -> Iterator[None]:
    """Put back the generator, tensors, gradients and the state of optimizers."""
    generator_state = generator.state
    # weakly: an array that somebody else holds is changed in place at once, which cuts a step
    data = [(tensor, ref(tensor._data), tensor._data.copy()) for tensor in case.tensors.values()]
    grads = [(tensor, g, None if g is None else g._data.copy()) for tensor in case.tensors.values() for g in [tensor._gradient]]
    slots = [{p: dict(own) for p, own in optimizer.state.items()} for optimizer in case.optimizers]
    contents = [(slot, slot._data.copy()) for state in slots for own in state.values() for slot in own.values()]
    if seed is not None:
        manual_seed(seed)
    try:
        yield
    finally:
        generator.state = generator_state
        for tensor, reference, before in data:
            array = reference()
            if array is None:
                tensor.data = before
                continue
            if tensor._data is not array:
                tensor.data = array
            if array.flags.writeable and not equal(array, before):
                array[...] = before
                touch(tensor)
        for tensor, g, content in grads:
            tensor.grad = g
            if g is not None and g._data.flags.writeable:
                g._data[...] = content
        for optimizer, state in zip(case.optimizers, slots, strict=True):
            optimizer.state = state
        for slot, content in contents:
            slot._data[...] = content
