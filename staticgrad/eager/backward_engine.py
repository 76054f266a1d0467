"""A backward pass over the tape. It names no op."""

from __future__ import annotations

import contextvars
import threading
import warnings
from collections.abc import Callable, Collection, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any

import numpy as np

from ..autodiff import messages
from ..errors import AnomalyError, GradientError
from ..operators import frontends, state
from ..ops.sparse_rows import carry, noted, rows_of
from .backward_hooks import Cotangents, Held, Hooked
from .calls.kernels import OFF
from .calls.op_calls import cotangents as kernel_cotangents
from .calls.op_calls import least_of
from .function_nodes import DerivativeNodes
from .grad_mode import Mode, modes
from .gradient_sources import Found
from .pending import Value, saved_result
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
    overwritten_operand,
    places_of_change,
)
from .tensor import PublicTensor, Tensor, ndarray, wrap

# The ways of gradients along a tape: which operands of a record they flow to, and which records lie between roots and
# targets.

Edge = tuple[int, Record | None, Any]
"""(position of the operand, the record that made it, or the leaf that it is)"""
clock_of = attrgetter("clock")


def edges_of(record: Record) -> list[Edge]:
    """The operands through which gradients flow."""
    found: list[Edge] = []
    clock = record.clock
    for position, tensor in enumerate(record.inputs):
        if tensor._history:
            maker, leaf = edge(tensor, clock)
            if maker is not None or leaf is not None:
                found.append((position, maker, leaf))
        elif tensor._tracked:
            if (maker := tensor._record) is not None:
                found.append((position, maker, None))
            elif tensor._since < clock:
                found.append((position, None, tensor))
    return found


def reached_from(roots: Sequence[Tensor]) -> dict[Record, list[Edge]]:
    """The records on which the roots depend, with their edges."""
    found: dict[Record, list[Edge]] = {}
    stack = [root._record for root in roots if root._record is not None]
    while stack:
        record = stack.pop()
        if record not in found:
            found[record] = edges = edges_of(record)
            for _, maker, _ in edges:
                if maker is not None and maker not in found:
                    stack.append(maker)
    return found


def paths(roots: Sequence[Tensor], targets: Collection[Any]) -> dict[Record, list[Edge]]:
    """The records between the roots and a target, with their edges towards one. targets: ids of leaves, and records."""
    leading: set[Any] = {*targets}
    """The targets, and the records on a path to one."""
    needed: dict[Record, list[Edge]] = {}
    reached = reached_from(roots)
    for record in sorted(reached, key=clock_of):  # a record comes before those that read its result
        edges, others = reached[record], False
        for _, maker, leaf in edges:
            if (id(leaf) if maker is None else maker) in leading:
                needed[record] = edges
            else:
                others = True
        if record in needed:
            leading.add(record)
            if others:
                needed[record] = [e for e in edges if (id(e[2]) if e[1] is None else e[1]) in leading]
    return needed


class BackwardEngine(Hooked):
    """One backward pass.

    Without `create` the rules compute on bare arrays, at a third of the cost of tensors. With it they compute on tensors, so
    that the pass itself is recorded. `found` collects the cotangents of the leaves (or of `targets`) by id of the tensor.
    """

    def __init__(
        self, roots: list[Tensor], seeds: list[Tensor], create: bool, targets: list[Tensor] | None, waits: bool = False,
        inside: bool = False,
    ):  # fmt: skip
        """waits: a plan will do such passes, for which the kernels of single records would have no use. inside: it is a part of
        another pass, the one through a call: it ends at the targets, and calls no hooks."""
        self.create = create or (frontends.tracing > 0 and state.deferral is not None)
        """Whether the rules compute on tensors."""
        self.recorded = create
        mode = modes.now
        self.anomaly = mode.anomaly
        self.checked = mode.anomaly and mode.check_nan
        """Whether a NaN is an error."""
        self.visited: Record | None = None
        """While anomalies are detected: the record whose rules are computing."""
        alone = waits or self.anomaly or self.create != create
        self.heavy = OFF.heavy if alone else mode.whole if create else mode.heavy
        """The least size of a cotangent for which kernels are looked for."""
        self.roots = roots
        self.seeds = seeds
        self.inside = inside
        self.found: dict[int, tuple[Tensor, Any]] = {}
        self.done: list[Record] = []
        self.callbacks: list[Callable[[], Any]] = []
        self.depth = 0
        """In how many other passes this one runs, as of a rule that calls `backward`."""
        self.retained: list[tuple[Tensor, Any]] = []
        self.cotangents: dict[Record, Any] = {}
        self.heap: list[tuple[int, Record]] = []
        """The records with a cotangent, the youngest first: a record is younger than those that made its operands, so its
        cotangent is complete when its turn comes."""
        self.owned: set[Any] = set()
        """Records, and ids of leaves, whose cotangent so far is an array that this pass made and nobody else holds."""
        self.summed: set[Any] = set()
        """Records, and ids of leaves, to whose cotangent parts have been added in place."""
        self.held = Held(seeds, self.create)
        self.derivatives = DerivativeNodes(self.cotangents, self.found) if create else None
        self.wanted: dict[int, Tensor] | None = None
        self.wanted_records: dict[Record, Tensor] = {}
        self.needed: dict[Record, list[Edge]] | None = None
        """With targets: the records on a path to one, with the operands that their cotangents go to."""
        if targets is not None:
            self.wanted = {id(t): t for t in targets}
            self.wanted_records = {t._record: t for t in targets if t._record is not None}
            self.needed = paths(roots, [*self.wanted, *self.wanted_records])

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
                        self._seed(root, seed if self.create else seed._data)
                else:
                    self._go_on(found)
                self._pass()
                if self.derivatives is not None:
                    self.derivatives.leave()
                for key, (leaf, g) in () if self.inside else self.found.items():
                    if leaf._record is None and leaf._hooks:
                        self.found[key] = (leaf, self._hooked(leaf._hooks, g))
        finally:
            mode.grad, mode.arrays, mode.engine = saved
        if not retain:
            for record in done:
                record.free()
            if found is not None:
                found.free()

    def call_back(self) -> None:
        """Call what hooks queued during the pass, now that it has ended."""
        while self.callbacks:
            self.callbacks.pop(0)()

    def _pass(self) -> None:
        """Visit the records with a cotangent. Those that need nothing but their rules, on arrays, are visited here: a call for
        each record and a list of its edges would cost as much as a rule."""
        heap, cotangents, found, done, heavy = self.heap, self.cotangents, self.found, self.done, self.heavy
        special = self.create or self.anomaly or self.needed is not None
        while heap:
            record = heappop(heap)[1]
            g = cotangents.pop(record, None)
            if g is None:
                continue
            done.append(record)
            op = record.op
            if special or record.hooks or not op.by_rules or (
                op.eager_least <= g.size >= heavy and not (op.product and 1 in g.shape[-2:])
            ):  # fmt: skip
                if self.anomaly:
                    self._visit_watched(record, g)
                else:
                    self._visit(record, g)
                continue
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
                rule = rules[position] if rules.__class__ is tuple else rules(position)
                if rule is None:
                    continue
                if operands is None:
                    out = record.out
                    if out.__class__ is not ndarray or record.memory is not None:
                        out = self._saved_out(record)
                    operands = [t._data if t._base is None and t._memory is None else self._saved(t, record) for t in inputs]
                cotangent = rule(g, record, out, *operands)
                if maker is not None:
                    known = cotangents.get(maker)
                    if known is None:
                        cotangents[maker] = cotangent
                        heappush(heap, (-maker.clock, maker))
                    else:
                        cotangents[maker] = self._total(maker, known, cotangent)
                else:
                    key = id(leaf)
                    former = found.get(key)
                    found[key] = leaf, cotangent if former is None else self._total(key, former[1], cotangent)

    def _go_on(self, found: Found) -> None:
        """Take over from a plan."""
        for leaf, g in found.leaves:
            self._add_at_leaf(leaf, g)
            if id(g) not in found.shared:
                self.owned.add(id(leaf))
        for record, g in found.rest:
            self._add_at_record(record, g)
            if id(g) not in found.shared:
                self.owned.add(record)

    def _seed(self, root: Tensor, g: Any) -> None:
        record = root._record
        if record is None:
            if self.wanted is None or id(root) in self.wanted:
                self._add_at_leaf(root, g)
        elif self.needed is None or record in self.needed or record in self.wanted_records:
            self._add_at_record(record, g)

    def _add_at_record(self, record: Record, g: Any) -> None:
        """Add to the cotangent of a record's result."""
        known = self.cotangents.get(record)
        if known is None:
            self.cotangents[record] = g
            heappush(self.heap, (-record.clock, record))
        else:
            self.cotangents[record] = self._total(record, known, g)

    def _add_at_leaf(self, leaf: Tensor, g: Any) -> None:
        key = id(leaf)
        known = self.found.get(key)
        self.found[key] = (leaf, g if known is None else self._total(key, known[1], g))

    def _add_part(self, record: Record, maker: Record | None, leaf: Any, g: Any) -> bool:
        """Add a cotangent that is 0 except for a part, in place: the cost of many parts of one tensor is that of the parts.
        Returns whether that was possible."""
        assert record.op.vjp_add is not None
        known = self.cotangents.get(maker) if maker is not None else self.found.get(id(leaf), (leaf, None))[1]
        key = id(leaf) if maker is None else maker
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

    def _total(self, key: Any, known: Any, g: Any) -> Any:
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

    def _visit_watched(self, record: Record, g: Any) -> None:
        """As `_visit`, while anomalies are detected: errors come with a warning that names the line of the forward pass."""
        self.visited = record
        try:
            self._visit(record, g)
        except Exception:
            warn_of_error(record)
            raise
        finally:
            self.visited = None

    def _visit(self, record: Record, g: Any) -> None:
        """Pass a record's cotangent on to its operands."""
        after: list[Any] = []
        if record.hooks and not self.inside:
            before, after = node_hooks(record)
            if (before or after) and record.named is not None and record.named.start != ALONE:
                self._visit_call(record, g, before, after)
                return
            g = self._hooked(record.hooks, g)
            if before:
                several = g.__class__ is Cotangents
                found = self._called(before, self._results(g, record))
                g = Cotangents({i: value for i, value in enumerate(found) if value is not None}) if several else found[0]
        if self.wanted_records and record in self.wanted_records:
            target = self.wanted_records[record]
            self.found[id(target)] = (target, g)
            if self.inside:
                return
        edges = edges_of(record) if self.needed is None else self.needed.get(record)
        if edges is None:
            return
        op = record.op
        if self.derivatives is not None:
            self.derivatives.visit(record, edges)
        if after or op.vjp_all is not None:
            self._visit_all(record, g, edges, after)
            return
        rules, operands, plain, out = op.vjp, None, not self.create, record.out
        cotangents, heap = self.cotangents, self.heap
        adds = op.vjp_add is not None and plain and not self.anomaly
        if plain:
            if not adds and op.eager_least <= g.size >= self.heavy and not (op.product and 1 in g.shape[-2:]):
                edges = self._by_kernels(record, g, edges)
        elif g.__class__ is PublicTensor and op.eager_least <= g._data.size >= self.heavy:
            edges = self._by_composite(record, g, edges)
        for position, maker, leaf in edges:
            rule = rules[position] if rules.__class__ is tuple else rules(position)
            if rule is None:
                continue
            if adds and self._add_part(record, maker, leaf, g):
                continue
            if operands is None:
                if out.__class__ is not ndarray or record.memory is not None or not plain:
                    out = self._saved_out(record)
                operands = [
                    t._data if plain and t._base is None and t._memory is None else self._saved(t, record)
                    for t in record.inputs
                ]
            cotangent = rule(g, record, out, *operands)
            if self.checked:
                _check_nan(cotangent, record, position)
            if maker is not None:
                known = cotangents.get(maker)
                if known is None:
                    cotangents[maker] = cotangent
                    heappush(heap, (-maker.clock, maker))
                else:
                    cotangents[maker] = self._total(maker, known, cotangent)
            else:
                self._add_at_leaf(leaf, cotangent)

    def _by_kernels(self, record: Record, g: np.ndarray, edges: list[Edge]) -> list[Edge]:
        """Pass on the cotangents that kernels compute; returns the edges of the others."""

        def saved(position: int) -> Any:
            return self._saved_out(record) if position < 0 else self._saved(record.inputs[position], record)

        found = kernel_cotangents(record, g, tuple([position for position, _, _ in edges]), saved)
        if found is None:
            return edges
        computed, values = found
        left: list[Edge] = []
        if len(computed) < len(edges):
            left = [e for e in edges if e[0] not in computed]
            edges = [e for e in edges if e[0] in computed]
        for (_, maker, leaf), cotangent in zip(edges, values, strict=True):
            if maker is None:
                self._add_at_leaf(leaf, cotangent)
                continue
            known = self.cotangents.get(maker)
            if known is None:
                self.owned.add(maker)
                self.cotangents[maker] = cotangent
                heappush(self.heap, (-maker.clock, maker))
            else:
                self.cotangents[maker] = self._total(maker, known, cotangent)
        return left

    def _by_composite(self, record: Record, g: Tensor, edges: list[Edge]) -> list[Edge]:
        """As `_by_kernels` for a pass that is recorded: the rules of an op are one operation of the tape."""
        if not edges or g._data.size < (record.op.eager_least or least_of(record.op)):
            return edges
        values = [self._saved_out(record), *[self._saved(t, record) for t in record.inputs]]
        found = recorded_rules[0](record, tuple([position for position, _, _ in edges]), g, values)
        if found is None:
            return edges
        for (_, maker, leaf), cotangent in zip(edges, found, strict=True):
            if cotangent is None:
                continue
            if maker is None:
                self._add_at_leaf(leaf, cotangent)
            else:
                self._add_at_record(maker, cotangent)
        return []

    def _visit_call(self, record: Record, g: Any, before: list[Any], after: list[Any]) -> None:
        """As `_visit` for all operations of a call that is one node, whose hooks see the gradients of all its results and of
        all that it read. It is done at the first of its results: operations that read the others are younger than all."""
        records = record.siblings()
        cotangents: list[Any] = []
        for sibling in records:
            known = g if sibling is record else None if sibling is None else self.cotangents.pop(sibling, None)
            if known is not None and sibling is not None and sibling.hooks:
                known = self._hooked(sibling.hooks, known)
            cotangents.append(known)
        cotangents = self._called(before, cotangents)
        for sibling, known in zip(records, cotangents, strict=True):
            if sibling in self.wanted_records and known is not None:
                target = self.wanted_records[sibling]
                self.found[id(target)] = (target, known)
        outs = self._as_tensors(cotangents)
        places, inner = through(record.node, outs, self.create, self.recorded)
        found = [None if x is None else inner.found.get(id(x), (x, None))[1] for x in places]
        self.done.extend([r for r in inner.done if r not in inner.wanted_records])
        for x, cotangent in zip(places, self._called(after, found, outs), strict=True):
            if x is None or cotangent is None:
                continue
            if self.checked:
                _check_nan(cotangent, record, 0)
            maker = x._record
            if maker is None:
                if self.wanted is None or id(x) in self.wanted:
                    self._add_at_leaf(x, cotangent)
            elif self.needed is None or maker in self.needed or maker in self.wanted_records:
                self._add_at_record(maker, cotangent)

    def _visit_all(self, record: Record, g: Any, edges: list[Edge], after: list[Any]) -> None:
        """As `_visit`, for an op that computes the cotangents of all operands at once, or whose node has hooks that see them
        all."""
        if not edges:
            return
        together = self.together(record, g, edges)
        if after:
            leading = [i for i in range(len(record.inputs)) if record.leads_to(i)]
            results = self._as_tensors(self._results(g, record))
            found = self._called(after, [together[i] for i in leading], results)
            together = [*together]
            for i, cotangent in zip(leading, found, strict=True):
                together[i] = cotangent
        for position, maker, leaf in edges:
            cotangent = together[position]
            if cotangent is None:
                continue
            if self.checked:
                _check_nan(cotangent, record, position)
            if maker is not None:
                self._add_at_record(maker, cotangent)
            else:
                self._add_at_leaf(leaf, cotangent)

    def together(self, record: Record, g: Any, edges: list[Edge]) -> Sequence[Any]:
        """The cotangents of all operands of a record; None for those without an edge."""
        wanted = [False] * len(record.inputs)
        for position, _, _ in edges:
            wanted[position] = True
        operands = [self._saved(t, record) for t in record.inputs]
        if record.op.vjp_all is not None:
            return [*record.op.vjp_all(g, record, wanted, *operands)]
        out = self._saved_out(record)
        rules = [record.op.vjp_for(i) if wants else None for i, wants in enumerate(wanted)]
        return [None if rule is None else rule(g, record, out, *operands) for rule in rules]

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
            if isinstance(out, Value):
                if record.memory is not None and record.memory.changed > record.clock:
                    text = messages.output_text(record.name())
                    return Overwritten(text, out, places=places_of_change(record, record.memory))
                return saved_result(out, record, self.create)
            if isinstance(out, Packed):
                return out.tensor(record) if self.create else out.unpack()
            return out
        if record.memory is not None and record.memory.changed > record.clock:
            return Overwritten(messages.output_text(record.name()), out, places=places_of_change(record, record.memory))
        return wrap(out, record) if self.create else out

    def reaches(self, tensors: Sequence[Tensor]) -> list[bool]:
        """Whether this pass computes the gradient of each tensor."""
        reached = reached_from(self.roots)
        leaves = {id(leaf) for edges in reached.values() for _, _, leaf in edges}
        leaves.update(id(root) for root in self.roots)
        return [id(x) in leaves if x._record is None else x._record in reached for x in tensors]


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
    engine = modes.now.engine
    if engine is None:
        raise GradientError("Final callbacks can only be installed during backward pass.", "call it in a hook")
    engine.callbacks.append(callback)


recorded_rules: list[Callable[..., Any]] = []
"""The cotangents of a record's operands at given positions as one operation, or None; `composites.py` enters it."""


def _check_nan(cotangent: Any, record: Record, position: int) -> None:
    data = cotangent._data if isinstance(cotangent, Tensor) else cotangent
    if np.isnan(data).any():
        raise AnomalyError(
            f"Function '{record.name()}' returned nan values in its {position}th output.",
            f"forward: {record.where}" if record.where else "forward ran outside detect_anomaly: line unknown",
        )
