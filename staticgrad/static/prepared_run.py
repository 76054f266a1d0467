"""Prepared runs: for a structure of fetches and a list of feeds, the program and the fast path that a session keeps.

`run_steps` is `sess.run_steps(fetches, batches)`: many runs, in native calls where the plan allows it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.communicators import Communicator, group, owners
from ..base.interpreter import rlock
from ..base.tables import Bounded
from ..base.types import Shape, UnrankedType, shape_text
from ..compiler.execute.fastcall import Spec, Steps, address, declined, fast_path, listed, numbered, places, stacked
from ..compiler.passes.specialize import FunctionalGraph, shape_leaf
from ..compiler.program import PLANS, Program, begin
from ..compiler.runtime.plan_memory import room
from ..eager.grad_mode import Mode, anomaly_begins, watches_nan
from ..errors import FeedError, GraphError, MissingFeedError, StaticgradError, UninitializedError
from ..ir import Cell, Node
from ..ir import Graph as PureGraph
from ..ops.communication import added, all_reduce_op, buckets, check_shard, communicate, from_owners, joined, parted, reduce_op
from ..ops.operators import Symbol
from .feeds import Feed, origin, rebuilder
from .graphs import SourceRun

if TYPE_CHECKING:
    from ..compiler.execute.plan import Plan
    from ..compiler.passes.rewrite import Pass
    from .graphs import Graph

CLOSED = "Attempted to use a closed Session."


class Values:
    """The state of a session: the arrays of its variables. The lock is held for every access."""

    __slots__ = ("closed", "lock", "runners", "store")

    def __init__(self) -> None:
        self.runners: weakref.WeakSet[Runner] = weakref.WeakSet()
        """All that are in use, which end with the session."""
        self.store: dict[Cell, np.ndarray] = {}
        self.lock = rlock()
        self.closed = False

    def check_open(self) -> None:
        if self.closed:
            raise GraphError(CLOSED, "make another: sg.Session()")


class FastPath(NamedTuple):
    """call: a function of fitting arrays that returns the results, or None; free: it needs no lock."""

    call: Callable[..., Any]
    free: bool


NO_FAST_PATH = FastPath(declined, True)

_runners: weakref.WeakSet[Runner] = weakref.WeakSet()


def _leave_fast_paths() -> None:
    for runner in list(_runners):
        runner.fast_path = NO_FAST_PATH


anomaly_begins.append(_leave_fast_paths)


class Runner:
    """The program of some nodes for some feeds, and the conditions of its runs.

    Raises FeedError when a placeholder that the nodes need is not among the feeds.
    """

    __slots__ = ("__weakref__", "fast_path", "feeds", "known", "program", "reads", "ready", "sources", "values", "writes")

    def __init__(
        self, values: Values, graph: PureGraph, nodes: Sequence[Node], feeds: Sequence[Node], numerics: str = "fast",
        passes: Sequence[Pass] = (), budget: int | float | None = None, sharding: Sharding | None = None,
    ):  # fmt: skip
        begin()
        fed = set(feeds)
        own: dict[Node, Callable[[SourceRun], np.ndarray]] = getattr(graph, "sources", {})
        sources = [n for n in graph.reaching(nodes, stop=fed) if n in own and n not in fed] if own else []
        gradients = [] if sharding is None else sharding.gradients(nodes)
        wanted = [*nodes, *(each.gradient for each in gradients)]
        program = Program(graph, wanted, [*feeds, *sources], numerics=numerics, passes=passes, budget=budget, kept=True)
        if sharding is not None:
            program = program.of(sharding.divided(program.prepared, gradients), None)
        prepared = program.prepared
        if prepared.needs:
            raise _unfed(prepared.needs)
        self.values = values
        self.feeds = [Feed(node, getattr(graph, "feeds_by_value", False)) for node in feeds]
        self.sources = [(Feed(node), own[node]) for node in sources]
        self.reads = [n for n in prepared.graph.nodes if n.op.leaf == "variable"]
        self.writes: list[Cell] = [cell for cell, _ in prepared.assigns]
        self.program = program
        self.ready = False
        """Whether all variables have values. No variable is ever removed or gets other memory, so it stays true."""
        self.known: Bounded[FastPath] = Bounded(PLANS)
        self.fast_path = NO_FAST_PATH
        """The fast path of the latest call's plan; none while any thread detects anomalies, which it doesn't see."""
        _runners.add(self)
        values.runners.add(self)

    def run(self, values: Iterable[Any]) -> list[Any]:
        """The results for any values, one per feed. Raises the errors of `Session.run`."""
        order = self.program.order
        arrays = [feed.accept(value, order=order) for value, feed in zip(values, self.feeds, strict=True)]
        state = self.values
        with state.lock:
            if not self.ready:
                return self._first(arrays)
            results = self.program.run(arrays, state.store, watches_nan())
            if self.program.decisive or Mode.anomalous:
                return results
            shapes = tuple([array.shape for array in arrays])
            path = self.known[shapes]
            if path is None:
                path = self.known[shapes] = self._fast_path(self.program.plan(*arrays))
            self.fast_path = path
            return results

    def _fast_path(self, plan: Plan) -> FastPath:
        """The fast path of a plan that is bound."""
        specs = [Spec(feed.dtype, kind.shape) for feed, kind in zip(self.feeds, plan.feed_types, strict=True)]
        return FastPath(fast_path(plan, specs), plan.atomic and not plan.builder.cells)

    def plan(self, arrays: list[np.ndarray]) -> Plan:
        """The plan for arrays of these shapes, bound to the variables once all of them have values."""
        with self.values.lock:
            self.values.check_open()
            self._add_sources(arrays, look=True)
            plan = self.program.plan(*arrays)
            if self.ready:
                plan.bind(self.values.store)
            return plan

    def close(self) -> None:
        self.ready, self.fast_path = False, NO_FAST_PATH

    def run_steps(self, arrays: list[np.ndarray], addresses: np.ndarray, ids: bool, before: int) -> list[np.ndarray] | None:
        """Run on arrays at `addresses` (see `execute/fastcall.py`) of the shapes of `arrays`; returns stacked results.
        Returns None, with nothing done, where runs have to be done one by one. before: number of runs already done."""
        state = self.values
        with state.lock:
            state.check_open()
            plan = self.program.plan(*arrays) if not self.sources and not self.program.decisive else None
            if plan is None or watches_nan() or not Steps.suit(plan):
                return None
            try:
                steps = Steps(plan, addresses, ids)
            except MemoryError:
                self.program.forget(plan)
                raise
            fresh = self._prepare() if not self.ready else []
            try:
                plan.alone(self._run_steps, plan, steps, before)
            except BaseException:
                if not steps.done:
                    self._forget(fresh)
                raise
            self.ready = True
            return steps.results

    def _run_steps(self, plan: Plan, steps: Steps, before: int) -> None:
        plan.bind(self.values.store)
        steps.run(before)

    def _first(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """Run after checking the state. The lock is held."""
        fresh = self._prepare()
        try:
            self._add_sources(arrays)
            result = self.program.run(arrays, self.values.store, watches_nan())
        except BaseException:
            self._forget(fresh)
            raise
        self.ready = not self.sources
        return result

    def _prepare(self) -> list[Cell]:
        """Make sure that all variables have arrays. Returns the cells of new arrays, which the run writes."""
        self.values.check_open()
        store = self.values.store
        for node in self.reads:
            _bind(node, store)
        missing = [cell for cell in self.writes if cell not in store]
        size = sum(cell.type.nbytes for cell in missing)  # variables are static
        fresh = room(
            lambda: [np.empty(cell.type.shape, cell.type.dtype) for cell in missing],
            f"the variables need {size:.1e} bytes, and there is no memory for that",
            "nothing was changed by this run",
        )
        store.update(zip(missing, fresh, strict=True))
        return missing

    def _forget(self, fresh: list[Cell]) -> None:
        for cell in fresh:
            del self.values.store[cell]
            self.program.release(cell)

    def _add_sources(self, arrays: list[np.ndarray], look: bool = False) -> None:
        """Append the values of placeholders that feed themselves. look: for a plan, not for a run."""
        run = SourceRun(look)
        for feed, source in self.sources:
            arrays.append(feed.accept(source(run), order=self.program.order))


class PreparedCall:
    """Calling it with an iterable of values, one per feed, returns the values of the fetches in their structure."""

    __slots__ = ("_operations", "_order", "_rebuild", "_runner", "_scalars")

    def __init__(self, runner: Runner, nodes: Sequence[Node], leaves: Sequence[Node], structure: Any):
        """nodes: of the runner, each once; leaves: of the structure."""
        self._runner = runner
        self._rebuild = rebuilder(structure)
        self._order = None if len(nodes) == len(leaves) else [list(nodes).index(leaf) for leaf in leaves]
        self._operations = tuple(i for i, leaf in enumerate(leaves) if leaf.op.effect == "group")
        values = [(i, leaf.type) for i, leaf in enumerate(leaves) if i not in self._operations]
        self._scalars = tuple(i for i, kind in values if isinstance(kind, UnrankedType) or not kind.shape)
        """Results without axes, or perhaps so: `[()]` makes a number of those, and leaves others as they are."""

    def __call__(self, values: Iterable[Any]) -> Any:
        runner = self._runner
        path = runner.fast_path
        if path.free:
            results = path.call(*values)
        else:
            with runner.values.lock:
                results = path.call(*values)
        if results is None:
            results = runner.run(values)
        return self._built(results)

    def _built(self, results: list[Any]) -> Any:
        if self._order is not None:
            results = [results[i].copy() for i in self._order]
        for i in self._scalars:
            results[i] = results[i][()]
        for i in self._operations:
            results[i] = None
        return self._rebuild(results)

    def stacked(self, values: Iterable[Any]) -> Any:
        """One run per index of the values' first axis; stacked results. Raises FeedError for different extents."""
        arrays = [feed.accept(value, stacked=True) for value, feed in zip(values, self._runner.feeds, strict=True)]
        counts = {len(array) for array in arrays}
        if len(counts) != 1:
            shapes = ", ".join(shape_text(array.shape) for array in arrays)
            raise FeedError(f"run_steps: stacked feeds need one leading extent, got shapes {shapes or 'of nothing'}")
        (count,) = counts
        first = [array[0] if count else np.zeros(array.shape[1:], array.dtype) for array in arrays]
        feeds = np.stack([places(array) for array in arrays], axis=1)

        def together(before: int) -> Any:
            return self._runner.run_steps(first, feeds[before:], False, before)

        def joined(ones: list[Any], rest: Any) -> Any:
            if not ones:
                return rest
            found = [np.stack(values) for values in zip(*ones, strict=True)]
            return found if rest is None else [np.concatenate(parts) for parts in zip(found, rest, strict=True)]

        results = stacked(count, together, lambda k: self._one([array[k] for array in arrays], k), joined)
        if self._order is not None:
            results = [results[i].copy() for i in self._order]
        for i in self._operations:
            results[i] = None
        return self._rebuild(results)

    def listed(self, batches: Sequence[list[np.ndarray]], before: int) -> list[Any] | None:
        """One run per batch, all of the same shapes; the list of the results, None where they have to be run one by one."""
        feeds = np.array([[address(array) for array in batch] for batch in batches], np.int64).reshape(len(batches), -1)
        results = self._runner.run_steps(batches[0], feeds, False, before)
        if results is None:
            return None
        return [self._built([np.array(result[k]) for result in results]) for k in range(len(batches))]

    def single(self, values: list[np.ndarray], number: int) -> Any:
        """The result of one run of many."""
        return self._built(self._one(values, number))

    def _one(self, values: list[np.ndarray], number: int) -> list[Any]:
        try:
            return self._runner.run(values)
        except StaticgradError as error:
            raise numbered(error, number) from None

    def plan(self, values: Iterable[Any]) -> Plan:
        """The plan for values of these shapes."""
        return self._runner.plan(self.accept(values))

    def accept(self, values: Iterable[Any]) -> list[np.ndarray]:
        """The arrays to run with."""
        order = self._runner.program.order
        return [feed.accept(value, order=order) for value, feed in zip(values, self._runner.feeds, strict=True)]


def _bind(node: Node, store: dict[Cell, np.ndarray]) -> None:
    """Make sure that a variable which is read has an array. Raises UninitializedError."""
    cell = node.attrs["cell"]
    if cell in store:
        return
    if cell.stream is not None:
        store[cell] = np.array(cell.stream, np.int64)
        return
    if cell.tensor is not None:  # a graph of the eager tape: the tensor's own buffer is the storage
        store[cell] = cell.tensor._data
        return
    raise UninitializedError(
        f"Attempting to use uninitialized value {cell.name}",
        *origin(node),
        "initialize it in this session: sess.run(sg.global_variables_initializer())",
    )


def _unfed(needs: Sequence[Node]) -> FeedError:
    first = needs[0]
    more = ", ".join(f"'{n.name or n.op.name}'" for n in needs[1:])
    shape = "" if isinstance(first.type, UnrankedType) else f" and shape {shape_text(first.type.shape)}"
    return MissingFeedError(
        f"You must feed a value for placeholder tensor '{first.name or first.op.name}' with dtype {first.type.dtype}{shape}",
        *origin(first),
        *([f"and for {more}"] if more else []),
        "feed it: sess.run(fetches, {placeholder: value})",
    )


Batch = tuple[PreparedCall, list[np.ndarray]]


# many runs in native calls --------------------------------------------------------------------------------------------


def run_steps(step_of: Callable[[Mapping[Any, Any]], PreparedCall], batches: Any) -> Any:
    """See `Session.run_steps`. step_of: the step of a feed dict."""
    if isinstance(batches, Mapping):
        return step_of(batches).stacked(batches.values())
    if not isinstance(batches, Iterable):
        raise FeedError(f"run_steps: batches are a feed dict of stacked values, or feed dicts, got {type(batches).__name__}")
    return _listed(step_of, batches)


def _listed(step_of: Callable[[Mapping[Any, Any]], PreparedCall], batches: Iterable[Any]) -> list[Any]:
    held = isinstance(batches, Sequence)

    def prepare(feed_dict: Any) -> tuple[Batch, int]:
        step = step_of(feed_dict)
        arrays = step.accept(feed_dict.values())
        if not held:  # an iterator may write its next batch into the same arrays before this one is used
            arrays = [array.copy() for array in arrays]
        return (step, arrays), sum(array.nbytes for array in arrays)

    return listed(batches, prepare, _together, lambda batch, number: batch[0].single(batch[1], number))


def _together(batches: Sequence[Batch], before: int) -> list[Any]:
    """The results of the first batches, as far as they have the same shapes."""
    kind, step = _kind(batches[0]), batches[0][0]
    alike = [arrays for _, arrays in takewhile(lambda batch: _kind(batch) == kind, batches)]
    found = step.listed(alike, before)
    return [step.single(arrays, before + k) for k, arrays in enumerate(alike)] if found is None else found


def _kind(batch: Batch) -> Any:
    step, arrays = batch
    return id(step), [array.shape for array in arrays]


# `session(shard=)` ----------------------------------------------------------------------------------------------------

# `Session(shard=)`: the state of a graph's optimizers is divided among the processes, as `ops/communication.py` says.
#
# A run is rewritten once it is pure: gradients are averaged before an update reads them, what belongs to another process alone
# drops out, and the new value of a trained variable comes from its owner. All decisions follow from the graph, which all
# processes have, so each of them makes the same exchanges in the same order.


class Update(NamedTuple):
    """A gradient in a pure graph, its shape, and the process that owns what it updates; None for several."""

    gradient: Node
    shape: Shape
    owner: int | None


class Sharding:
    """Of a session: which process owns a variable. Raises DistError before `init_process_group`, ArgumentError for another
    `shard`."""

    def __init__(self, graph: Graph, shard: str):
        self.graph, self.shard = graph, check_shard("Session", shard)
        self.members: Communicator = group(0)
        self.variables: dict[Cell, int] = {}
        """The owner of each variable that is trained. It stays when the graph gets more of them."""

    def owner(self) -> dict[Cell, int]:
        """The owner of each variable that is trained, and of each slot: the process that keeps it."""
        trained = self.graph.trained
        fresh = [v.cell for v in self.graph.variables if (v.trainable or v.node in trained) and v.cell not in self.variables]
        sizes = [cell.type.size for cell in fresh]
        self.variables.update(zip(fresh, owners(sizes, self.members.size), strict=True))
        slots = {cell: self.variables[node.attrs["cell"]] for node, each in trained.items() for cell in each.slots}
        return {**slots, **self.variables}

    def gradients(self, nodes: Sequence[Node]) -> list[Update]:
        """The gradients that these nodes need."""
        needed, owner = set(self.graph.reaching(nodes)), self.owner()
        return [
            Update(gradient, variable.type.shape, owner[variable.attrs["cell"]])
            for variable, each in self.graph.trained.items()
            for gradient in each.gradients
            if gradient in needed
        ]

    def divided(self, prepared: FunctionalGraph, updates: Sequence[Update]) -> FunctionalGraph:
        """The run of this process. Its last fetches are these gradients."""
        count = len(prepared.fetches) - len(updates)
        found: dict[Node, Update] = {}
        for node, update in zip(prepared.fetches[count:], updates, strict=True):
            same = node not in found or found[node].owner == update.owner
            found[node] = Update(node, update.shape, update.owner if same else None)
        waiting = [found[node] for node in prepared.graph.nodes if node in found and not _averaged(node)]
        pure = replace(prepared, fetches=prepared.fetches[:count])
        return _Rewrite(pure, waiting, self).result()


def _averaged(node: Node) -> bool:
    """Whether a gradient is a sum over the processes that at most constants have changed since."""
    while node.op is not all_reduce_op:
        operands = [each for each in node.inputs if each.op.leaf != "constant"]
        if len(operands) != 1:
            return False
        (node,) = operands
    return True


class _Rewrite:
    """One run of one process."""

    def __init__(self, pure: FunctionalGraph, updates: Sequence[Update], of: Sharding):
        self.pure, self.members, self.reduce = pure, of.members, of.shard == "gradients"
        self.owner = owner = of.owner()
        self.trained = {cell: value for cell, value in pure.assigns if cell in of.variables}
        """The trained variables that the run assigns, with their new values."""
        graph = pure.graph
        updated = [value for cell, value in pure.assigns if cell in owner]
        self.inside = set(graph.reaching(updated))
        """What updates are computed from: it reads the averages of gradients, all else those of this process."""
        self.new = PureGraph(intern=graph.intern)
        self.copies: dict[Node, Node] = {}
        self.averages: dict[Node, Node] = {}
        self.bucket_of: dict[Node, list[Update]] = {}
        each = [*reversed(updates)]  # buckets begin with the last one
        kinds = [(u.gradient.type.dtype, u.owner if self.reduce else None) for u in each]
        for bucket in buckets([prod(u.shape) * kind.itemsize for u, (kind, _) in zip(each, kinds, strict=True)], kinds):
            chosen = [each[i] for i in bucket]
            self.bucket_of.update((u.gradient, chosen) for u in chosen)
        self.roots = self._roots() if self.reduce else {}

    def _roots(self) -> dict[Node, int]:
        """The sums over processes that are read for what one process owns alone, with its rank."""
        graph, found = self.pure.graph, dict[Node, set[int | None]]()
        ends: dict[Node, set[int | None]] = {node: {None} for node in self.pure.fetches}
        for cell, value in self.pure.assigns:
            ends.setdefault(value, set()).add(self.owner.get(cell))
        for node in reversed(graph.nodes):
            found[node] = set(ends.get(node, ()))
            for user in graph.succ[node]:
                if user.op.exchanges:
                    found[node] |= {None} if user.inputs[0] is node else set()
                else:
                    found[node] |= found[user]
        return {
            node: next(iter(owner))  # type: ignore[misc]
            for node, owner in found.items()
            if node.op is all_reduce_op and node.attrs["reduction"] in ("sum", "avg") and len(owner) == 1 and owner != {None}
        }

    def result(self) -> FunctionalGraph:
        """The rewritten run."""
        pure, new = self.pure, self.new
        read_inside = {value for value in self.trained.values() if value.inputs and pure.graph.succ[value]}
        for node in pure.graph.nodes:
            self._place(node)
            if node in self.bucket_of and all(u.gradient in self.copies for u in self.bucket_of[node]):
                self._exchange(self.bucket_of[node])
            if node in read_inside:  # as the variable's new value, in this run
                cell = next(cell for cell, value in self.trained.items() if value is node)
                self.copies[node] = self._from_owners([cell])[cell]
        for bucket in list(self.bucket_of.values()):
            self._exchange(bucket)
        later = {cell: value for cell, value in self.trained.items() if value not in read_inside}
        values_of = self._from_owners(list(later))
        fetched = {value: values_of[cell] for cell, value in later.items() if value.inputs}
        mine = [(cell, value) for cell, value in pure.assigns if self._keeps(cell)]
        assigns = [(cell, values_of.get(cell) or self._inside(value)) for cell, value in mine]
        fetches = [fetched.get(node) or self.copies[node] for node in pure.fetches]
        feeds = [self.copies[node] for node in pure.feeds]
        exchanges = [node for node in new.nodes if node.op.exchanges]
        new.prune([*feeds, *fetches, *(value for _, value in assigns), *exchanges])
        needs = [node for node in pure.needs if node in new]
        return FunctionalGraph(new, feeds, fetches, assigns, pure.draws, needs)

    def _keeps(self, cell: Cell) -> bool:
        """Whether this process has the variable: all have those that are trained."""
        return cell in self.trained or self.owner.get(cell, self.members.rank) == self.members.rank

    def _from_owners(self, cells: Sequence[Cell]) -> dict[Cell, Node]:
        """The new values of variables, in all processes."""
        mine = [self.owner[cell] == self.members.rank for cell in cells]
        nodes = [
            self._inside(self.trained[cell]) if own else shape_leaf(self.new, cell.type)
            for cell, own in zip(cells, mine, strict=True)
        ]
        found = from_owners([self._symbol(node) for node in nodes], [self.owner[cell] for cell in cells], self.members)
        return {cell: each.node for cell, each in zip(cells, found, strict=True)}

    def _symbol(self, node: Node) -> Symbol:
        return Symbol(self.new, node)

    def _inside(self, node: Node) -> Node:
        """The value that an update reads."""
        if node in self.bucket_of:
            self._exchange(self.bucket_of[node])
        return self.averages.get(node) or self.copies[node]

    def _place(self, node: Node) -> None:
        """Append a node to the new graph."""
        inputs = tuple([self._inside(i) if node in self.inside else self.copies[i] for i in node.inputs])
        if not node.op.exchanges:
            placed = self.new.add(node.op, inputs, node.attrs, node.type, node.name, node.where) if inputs else node
            self.copies[node] = self.new.append(placed)
            return
        attrs, op = dict(node.attrs), node.op
        if node in self.roots:
            attrs, op = {**attrs, "root": self.roots[node]}, reduce_op
        self.copies[node] = communicate(op, self._symbol(inputs[0]), **attrs).node

    def _exchange(self, bucket: Iterable[Update]) -> None:
        """Average the gradients of a bucket that are there and have not been exchanged. They are divided before: products of
        matrices do it as they write them."""
        ready = [u for u in bucket if u.gradient in self.copies and u.gradient in self.bucket_of]
        for u in ready:
            del self.bucket_of[u.gradient]
        if ready:
            owner, shapes = ready[0].owner if self.reduce else None, [u.shape for u in ready]
            values = [self._symbol(self.copies[u.gradient]) / self.members.size for u in ready]
            for u, part in zip(ready, parted(added(joined(values), owner, self.members), shapes), strict=True):
                self.averages[u.gradient] = part.node
