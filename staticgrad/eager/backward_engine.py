"""A backward pass over the tape: see `autodiff/pull.py`. It names no op."""

from __future__ import annotations

import contextvars
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any

import numpy as np

from ..autodiff import requests
from ..autodiff.pull import between, by_rules
from ..errors import AnomalyError, GradientError
from ..ops.operators import check_change, frontends, state
from ..ops.sparse_rows import carry, noted, rows_of
from .backward_hooks import Cotangents, Held, Hooked
from .calls.kernels import OFF
from .calls.op_calls import cotangents as kernel_cotangents
from .calls.op_calls import least_of
from .function_nodes import DerivativeNodes
from .grad_mode import Mode, modes
from .gradient_sources import Found
from .pending import PendingValue, saved_result
from .saved import Packed
from .tape import (
    ALONE,
    AccumulateGrad,
    AfterNode,
    BeforeNode,
    FreedTensor,
    GradientEdge,
    Overwritten,
    Record,
    changed,
    edge,
    of_leaf,
    overwritten_operand,
    places_of_change,
)
from .tensor import PublicTensor, Tensor, ndarray, wrap

Edge = tuple[int, Any, Any]
"""(position of the operand, the record that made it or the id of the leaf that it is, that leaf)"""
clock_of = attrgetter("clock")


def edges_of(record: Record) -> list[Edge]:
    """The operands through which gradients flow."""
    found: list[Edge] = []
    clock = record.clock
    for position, tensor in enumerate(record.inputs):
        if tensor._history:
            maker, leaf = edge(tensor, clock)
        elif not tensor._tracked:
            continue
        else:
            maker = tensor._record
            leaf = tensor if maker is None and tensor._since < clock else None
        if maker is not None:
            found.append((position, maker, None))
        elif leaf is not None:
            found.append((position, id(leaf), leaf))
    return found


def reached_from(roots: Sequence[Tensor]) -> dict[Record, list[Edge]]:
    """The records on which the roots depend, with their edges."""
    found: dict[Record, list[Edge]] = {}
    stack = [root._record for root in roots if root._record is not None]
    while stack:
        record = stack.pop()
        if record not in found:
            found[record] = edges = edges_of(record)
            for _, maker, leaf in edges:
                if leaf is None and maker not in found:
                    stack.append(maker)
    return found


class BackwardEngine(Hooked):
    """One backward pass: the walk over the records of the tape, and over leaves by their ids.

    Without `create` the rules compute on bare arrays, at a third of the cost of tensors. With it they compute on tensors, so
    that the pass itself is recorded. `found` collects the cotangents of the leaves (or of `targets`) by id of the tensor, each
    with its tensor.
    """

    age = clock_of
    visited: Record | None = None
    """While anomalies are detected: the record whose rules are computing."""
    accumulates = False
    """Whether gradients of leaves are added to their `grad`."""
    depth = 0
    """In how many other passes this one runs, as of a rule that calls `backward`."""
    ends: Collection[Any] = ()
    """The targets: ids of tensors, and records."""
    needed: dict[Record, Sequence[Edge]] | None = None
    """With targets: the records on a path to one, with the operands that their cotangents go to."""

    def __init__(
        self, roots: list[Tensor], seeds: list[Tensor], create: bool, targets: list[Tensor] | None, waits: bool = False,
        inside: bool = False,
    ):  # fmt: skip
        """waits: a plan will do such passes, for which the kernels of single records would have no use. inside: it is a part of
        another pass, the one through a call: it ends at the targets, and calls no hooks."""
        super().__init__()
        self.create = create or (frontends.tracing > 0 and state.deferral is not None)
        """Whether the rules compute on tensors."""
        self.recorded = create
        mode = modes.now
        self.anomaly = mode.anomaly
        self.checked = mode.anomaly and mode.check_nan
        """Whether a NaN is an error."""
        alone = waits or self.anomaly or self.create != create
        self.heavy = OFF.heavy if alone else mode.whole if create else mode.heavy
        """The least size of a cotangent for which kernels are looked for."""
        self.roots = roots
        self.seeds = seeds
        self.inside = inside
        self.done: list[Record] = []
        self.passed: list[Found] = []
        """The parts of the pass that plans have done."""
        self.callbacks: list[Callable[[], Any]] = []
        self.retained: list[tuple[Tensor, Any]] = []
        self.owned: set[Any] = set()
        """Records, and ids of leaves, whose cotangent so far is an array that this pass made and nobody else holds."""
        self.summed: set[Any] = set()
        """Records, and ids of leaves, to whose cotangent parts have been added in place."""
        self.held = Held(seeds, self.create)
        self.derivatives = DerivativeNodes(self.cotangents, self.found) if create else None
        if targets is not None:
            self.targets: dict[Record, Tensor] = {t._record: t for t in targets if t._record is not None}
            self.ends = {*map(id, targets), *self.targets}
            edges = reached_from(roots)
            self.needed = between(sorted(edges, key=clock_of), edges.__getitem__, self.ends)
            if inside:
                for record in self.targets:
                    self.needed.pop(record, None)

    def run(self, retain: bool, found: Found | None = None) -> None:
        """Raises GradientError; the tape is as it was when it does. found: the beginning of the pass, by a plan."""
        mode = modes.now
        self.depth = 0 if mode.engine is None else mode.engine.depth + 1
        if self.depth and not self.depth % DEEPEST:
            in_another_thread(mode, lambda: self._run(modes.now, retain, found))
        else:
            self._run(mode, retain, found)

    def _run(self, mode: Mode, retain: bool, found: Found | None) -> None:
        done = self.done
        saved = mode.grad, mode.arrays, mode.engine
        mode.grad, mode.arrays, mode.engine = self.recorded, not self.create, self
        try:
            with np.errstate(all="ignore"):
                if found is None:
                    for root, seed in zip(self.roots, self.seeds, strict=True):
                        self._begin(root, seed if self.create else seed._data)
                else:
                    self._go_on(found)
                self.walk()
                if self.derivatives is not None:
                    self.derivatives.leave()
                for key, (leaf, g) in () if self.inside else self.found.items():
                    if leaf._record is None and leaf._hooks:
                        self.found[key] = (leaf, self.after_hooks(of_leaf(leaf._hooks, self.accumulates), g))
        finally:
            mode.grad, mode.arrays, mode.engine = saved
        if not retain:
            for passed in (*done, *self.passed):
                passed.free()

    def call_back(self) -> None:
        """Call what hooks queued during the pass, now that it has ended."""
        while self.callbacks:
            self.callbacks.pop(0)()

    def walk(self) -> None:
        """As `Pull.walk`. Records that need nothing but their rules are visited in this loop: a list of edges and a few calls
        would cost as much as a rule."""
        heap, cotangents, found, done, heavy = self.heap, self.cotangents, self.found, self.done, self.heavy
        plain, derivatives, targets, needed, leading = not self.create, self.derivatives, self.targets, self.needed, None
        anomaly, visit = self.anomaly, self.watched if self.anomaly else self.visit
        special = self.create or needed is not None
        if needed is not None:
            leading = {*needed, *self.ends}
        while heap:
            record = heappop(heap)[1]
            g = cotangents.pop(record, None)
            if g is None:
                continue
            done.append(record)
            op = record.op
            if anomaly or record.hooks or not op.by_rules or (
                op.eager_least <= (g.size if plain else g._data.size if g.__class__ is PublicTensor else 0) >= heavy
                and not (plain and op.product and 1 in g.shape[-2:])
            ):  # fmt: skip
                visit(record, g)
                continue
            if special:
                if targets and record in targets:
                    self.note(record, g)
                if needed is not None and record not in needed:
                    continue
                if derivatives is not None:
                    derivatives.visit(record, self.edges)
            rules, operands, clock, inputs = op.vjp, None, record.clock, record.inputs
            for position, tensor in enumerate(inputs):
                leaf = tensor
                if tensor._history:
                    maker, leaf = edge(tensor, clock)
                    if maker is leaf:  # None
                        continue
                elif not tensor._tracked:
                    continue
                else:
                    maker = tensor._record
                    if maker is None and tensor._since >= clock:
                        continue
                if leading is not None and (id(leaf) if maker is None else maker) not in leading:
                    continue
                rule = rules[position] if rules.__class__ is tuple else rules(position)
                if rule is None:
                    continue
                if operands is None:
                    out = record.out
                    if out.__class__ is not ndarray or record.memory is not None or not plain:
                        out = self._saved_out(record)
                    if plain:
                        operands = [
                            t._data if t._base is None and t._memory is None else self._saved(t, record) for t in inputs
                        ]
                    else:
                        operands = [self._saved(t, record) for t in inputs]
                cotangent = rule(g, record, out, *operands)
                if maker is not None:
                    known = cotangents.get(maker)
                    if known is None:
                        cotangents[maker] = cotangent
                        heappush(heap, (-maker.clock, maker))
                    else:
                        cotangents[maker] = self.total(maker, known, cotangent)
                else:
                    key = id(leaf)
                    former = found.get(key)
                    found[key] = leaf, cotangent if former is None else self.total(key, former[1], cotangent)

    def _go_on(self, begun: Found) -> None:
        """Take over from a plan, which goes on where this has visited what the plan doesn't pass."""
        found: Found | None = begun
        while found is not None:
            self.passed.append(found)
            for leaf, g in found.leaves:
                self.pass_on((0, id(leaf), leaf), g)
                if id(g) not in found.shared:
                    self.owned.add(id(leaf))
            for record, g in found.rest:
                self.add(record, g)
                if id(g) not in found.shared:
                    self.owned.add(record)
            for record in found.visited:
                g = self.cotangents.pop(record, None)
                if g is not None:
                    self.done.append(record)
                    self.visit(record, g)
            found = found.following(self.cotangents)

    def _begin(self, root: Tensor, g: Any) -> None:
        """Add to the cotangent of a tensor, if it is a way to a target."""
        record = root._record
        if record is None:
            if self.needed is None or id(root) in self.ends:
                self.pass_on((0, id(root), root), g)
        elif self.needed is None or record in self.needed or record in self.ends:
            self.add(record, g)

    def edges(self, record: Record) -> Sequence[Edge]:
        return edges_of(record) if self.needed is None else self.needed.get(record, ())

    def pass_on(self, way: Any, g: Any) -> None:
        _, key, leaf = way
        if leaf is None:
            self.add(key, g)
        else:
            known = self.found.get(key)
            self.found[key] = (leaf, g if known is None else self.total(key, known[1], g))

    def note(self, record: Record, g: Any) -> None:
        target = self.targets[record]
        self.found[id(target)] = (target, g)

    def _add_part(self, record: Record, way: Edge, g: Any) -> bool:
        """Add a cotangent that is 0 except for a part, in place: the cost of many parts of one tensor is that of the parts.
        Returns whether that was possible."""
        assert record.op.vjp_add is not None
        _, key, leaf = way
        known = self.cotangents.get(key) if leaf is None else self.found.get(key, (leaf, None))[1]
        if known is None:
            self.owned.add(key)  # the rule makes a new array
            return False
        if key not in self.owned or known.__class__ is not np.ndarray or rows_of(known) is not None:
            return False
        if key not in self.summed:
            self.summed.add(key)
            known += 0.0  # adding the zeros around a part would turn -0.0 into 0.0
        record.op.vjp_add(known, g, record)
        return True

    def total(self, key: Any, known: Any, g: Any) -> Any:
        """The sum of two parts of a cotangent, in the memory of the first if that is an array of this pass."""
        if (
            key in self.owned and known.__class__ is np.ndarray and g.__class__ is np.ndarray
            and known.shape == g.shape and known.dtype is g.dtype and rows_of(known) is None
        ):  # fmt: skip
            known += g
            return known
        self.owned.add(key)
        total = known + g
        return carry(total, known, g) if noted and isinstance(known, ndarray) and isinstance(g, ndarray) else total

    def watched(self, record: Record, g: Any) -> None:
        """As `visit`, while anomalies are detected: errors come with a warning that names the line of the forward pass."""
        self.visited = record
        try:
            self.visit(record, g)
        except Exception:
            warn_of_error(record)
            raise
        finally:
            self.visited = None

    def visit(self, record: Record, g: Any) -> None:
        named = record.named if record.hooks and not self.inside else None
        if named is not None and named.start != ALONE and any(node_hooks(record)):
            self._visit_call(record, g)
        else:
            super().visit(record, g)

    def hooked(self, record: Record, g: Any) -> Any:
        if not record.hooks or self.inside:
            return g
        g = self.after_hooks(record.hooks.values(), g)
        before, _ = node_hooks(record)
        if before:
            several = g.__class__ is Cotangents
            found = self.called(before, self._results(g, record))
            g = Cotangents({i: value for i, value in enumerate(found) if value is not None}) if several else found[0]
        return g

    def _visit_call(self, record: Record, g: Any) -> None:
        """As `visit` for all operations of a call that is one node, whose hooks see the gradients of all its results and of
        all that it read. It is done at the first of its results: operations that read the others are younger than all."""
        before, after = node_hooks(record)
        records = record.siblings()
        cotangents: list[Any] = []
        for sibling in records:
            known = g if sibling is record else None if sibling is None else self.cotangents.pop(sibling, None)
            if known is not None and sibling is not None and sibling.hooks:
                known = self.after_hooks(sibling.hooks.values(), known)
            cotangents.append(known)
        cotangents = self.called(before, cotangents)
        for sibling, known in zip(records, cotangents, strict=True):
            if sibling in self.targets and known is not None:
                self.note(sibling, known)
        outs = self._as_tensors(cotangents)
        places, inner = through(record.node, outs, self.create, self.recorded)
        found = [None if x is None else inner.found.get(id(x), (x, None))[1] for x in places]
        self.done.extend([r for r in inner.done if r not in inner.targets])
        for x, cotangent in zip(places, self.called(after, found, outs), strict=True):
            if x is not None and cotangent is not None:
                if self.checked:
                    _check_nan(cotangent, record, 0)
                self._begin(x, cotangent)

    def rules(self, record: Record, g: Any, edges: Sequence[Edge]) -> Iterable[Any]:
        op, positions = record.op, [position for position, _, _ in edges]
        found: Iterable[Any] | None = None
        if self.derivatives is not None:
            self.derivatives.visit(record, self.edges)
        after = node_hooks(record)[1] if record.hooks and not self.inside else []
        if after:
            together = self.together(record, g, positions)
            leading = [i for i in range(len(together)) if record.leads_to(i)]
            results = self._as_tensors(self._results(g, record))
            replaced = self.called(after, [together[i] for i in leading], results)
            found = [replaced[leading.index(position)] if position in leading else None for position in positions]
        elif self.create:
            if g.__class__ is PublicTensor and op.eager_least <= g._data.size >= self.heavy and op.vjp_all is None:
                found = self._by_composite(record, g, positions)
        elif op.vjp_add is not None and not self.anomaly:
            if len(edges) == 1 and self._add_part(record, edges[0], g):
                return [None]
        elif op.vjp_all is None and op.eager_least <= g.size >= self.heavy and not (op.product and 1 in g.shape[-2:]):
            found = self._by_kernels(record, g, edges)
        if found is None:
            found = self._by_rules(record, g, positions)
        return _without_nan(record, positions, found) if self.checked else found

    def _by_rules(self, record: Record, g: Any, positions: Sequence[int]) -> Iterable[Any]:
        operands = [self._saved(t, record) for t in record.inputs]
        out = None if record.op.vjp_all is not None else self._saved_out(record)
        return by_rules(record.op, positions, g, record, out, operands)

    def together(self, record: Record, g: Any, positions: Sequence[int]) -> list[Any]:
        """The cotangents of all operands of a record; None for those at other positions."""
        found = dict(zip(positions, self._by_rules(record, g, positions), strict=True))
        return [found.get(position) for position in range(len(record.inputs))]

    def _by_kernels(self, record: Record, g: np.ndarray, edges: Sequence[Edge]) -> Iterable[Any] | None:
        """The cotangents that kernels compute, and the others by the rules; None where kernels compute none."""

        def saved(position: int) -> Any:
            return self._saved_out(record) if position < 0 else self._saved(record.inputs[position], record)

        positions = tuple([position for position, _, _ in edges])
        found = kernel_cotangents(record, g, positions, saved)
        if found is None:
            return None
        known = dict(zip(*found, strict=True))
        for position, key, leaf in edges:
            if leaf is None and position in known and key not in self.cotangents:
                self.owned.add(key)
        if len(known) < len(edges):
            rest = [position for position in positions if position not in known]
            known.update(zip(rest, self._by_rules(record, g, rest), strict=True))
        return [known[position] for position in positions]

    def _by_composite(self, record: Record, g: Tensor, positions: Sequence[int]) -> Iterable[Any] | None:
        """The cotangents in a pass that is recorded, as one operation of the tape; None where there is no such operation."""
        if g._data.size < (record.op.eager_least or least_of(record.op)):
            return None
        values = [self._saved_out(record), *[self._saved(t, record) for t in record.inputs]]
        return frontends.recorded_rules(record, tuple(positions), g, values)

    def _saved(self, tensor: Any, record: Record) -> Any:
        """An operand for a rule: the value itself, or a freed tensor where it was overwritten."""
        if changed(tensor) > record.clock:
            return overwritten_operand(tensor, record)
        if isinstance(tensor, Packed) and self.create:
            return tensor.tensor()
        return tensor if self.create else tensor._data

    def _saved_out(self, record: Record) -> Any:
        out = record.out
        if not isinstance(out, np.ndarray):
            if isinstance(out, PendingValue):
                if record.memory is not None and record.memory.changed > record.clock:
                    text = requests.output_text(record.name())
                    return Overwritten(text, out, places=places_of_change(record, record.memory))
                return saved_result(out, record, self.create)
            if isinstance(out, Packed):
                return out.tensor(record) if self.create else out.unpack()
            return out
        if record.memory is not None and record.memory.changed > record.clock:
            return Overwritten(requests.output_text(record.name()), out, places=places_of_change(record, record.memory))
        return wrap(out, record) if self.create else out

    def reaches(self, tensors: Sequence[Tensor]) -> list[bool]:
        """Whether this pass computes the gradient of each tensor."""
        records = reached_from(self.roots)
        leaves = {key for edges in records.values() for _, key, leaf in edges if leaf is not None}
        leaves.update(id(root) for root in self.roots)
        return [id(x) in leaves if x._record is None else x._record in records for x in tensors]


def node_hooks(record: Record) -> tuple[list[Any], list[Any]]:
    """The hooks of a record's node: those that are called before its rules, and those after them."""
    hooks = (record.hooks or {}).values()
    before = [hook.function for hook in hooks if isinstance(hook, BeforeNode)]
    return before, [hook.function for hook in hooks if isinstance(hook, AfterNode)]


def at_edge(edge: GradientEdge) -> Tensor:
    """A tensor whose gradient is the one at an edge; its value is not there any more."""
    if isinstance(edge.node, AccumulateGrad):
        return edge.node.variable
    return _of_record(edge.node.result(edge.output_nr))


def _of_record(record: Record) -> Tensor:
    out = record.out
    return wrap(out.shape_array() if isinstance(out, FreedTensor) else out, record)


def through(node: Any, cotangents: Sequence[Any], create: bool, recorded: bool) -> tuple[list[Tensor | None], BackwardEngine]:
    """Where the `next_functions` of a call that is one node are, None for those without a gradient, and the pass to them from
    the cotangents of its results."""
    places = [None if maker is None else at_edge(GradientEdge(maker, number)) for maker, number in node.next_functions]
    pairs = [(r, g) for r, g in zip(node.siblings(), cotangents, strict=True) if r is not None and g is not None]
    roots = [_of_record(r) for r, _ in pairs]
    targets = [x for x in places if x is not None]
    engine = BackwardEngine(roots, [g for _, g in pairs], create, targets, inside=True)
    engine.recorded = recorded
    engine.run(True)
    return places, engine


def warn_of_error(record: Record) -> None:
    """Warn of an error in the backward pass at a record: where its operation was called, and where those were called of whose
    derivatives it is a part."""
    text = f"Error detected in {record.name()}. "
    if record.where is None:
        text += "No forward pass information available. Enable detect anomaly during forward pass for more information."
    else:
        text += f"Traceback of forward call that caused the error:\n  {record.where}"
    warnings.warn(text, UserWarning, stacklevel=2)
    while (parent := record.metadata.get("parent_")) is not None:
        warnings.warn(
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call that induced the previous "
            f"calculation:\n  {parent.where}",
            UserWarning,
            stacklevel=2,
        )
        record = parent


DEEPEST = 40
"""So many passes inside each other have a stack together."""


def in_another_thread(mode: Mode, work: Callable[[], None]) -> None:
    """Do something in a thread with a new stack, in this thread's mode, and wait for it."""
    errors: list[BaseException] = []
    context = contextvars.copy_context()

    def run() -> None:
        with mode.taken_over():
            try:
                context.run(work)
            except BaseException as error:
                errors.append(error)

    thread = threading.Thread(target=run, name="staticgrad-backward")
    thread.start()
    thread.join()
    if errors:
        raise errors.pop()


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call a function once the backward pass that is running has ended. Raises GradientError outside of one."""
    check_change(None, "queue_callback")
    engine = modes.now.engine
    if engine is None:
        raise GradientError("Final callbacks can only be installed during backward pass.", "call it in a hook")
    engine.callbacks.append(callback)


def _without_nan(record: Record, positions: Sequence[int], cotangents: Iterable[Any]) -> Iterator[Any]:
    for position, cotangent in zip(positions, cotangents, strict=True):
        if cotangent is not None:
            _check_nan(cotangent, record, position)
        yield cotangent


def _check_nan(cotangent: Any, record: Record, position: int) -> None:
    data = cotangent._data if isinstance(cotangent, Tensor) else cotangent
    if np.isnan(data).any():
        raise AnomalyError(
            f"Function '{record.name()}' returned nan values in its {position}th output.",
            f"forward: {record.where}" if record.where else "forward ran outside detect_anomaly: line unknown",
        )
