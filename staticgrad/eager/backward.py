"""The backward pass over the tape. It names no op."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Any, Literal, cast, overload

import numpy as np

from ..errors import AnomalyError
from ..operators import F, TensorLike, Tensors, as_array, frontends, listed, misuse, state
from ..operators import Tensor as AnyTensor
from ..ops.sparse_rows import carry, rows_of
from .grad_mode import modes
from .tape import Overwritten, Record, Retain, changed, edge, overwritten_operand, touch
from .tensor import Tensor, wrap


def backward(
    tensors: Tensors,
    gradients: TensorLike | Iterable[TensorLike | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """`Tensor.backward` for one or several roots at once. Raises GradientError; no `grad` is changed when it does."""
    if frontends.tracing and state.tracer is not None:
        state.tracer.backward(tensors, gradients, retain_graph, create_graph, inputs)
        return
    roots, seeds = _roots(tensors, gradients)
    targets = None if inputs is None else _targets(inputs, "backward")
    walk = BackwardEngine(roots, seeds, create_graph, targets)
    walk.run(create_graph if retain_graph is None else retain_graph)
    retained = [(tensor, g) for tensor, g in walk.retained if id(tensor) not in walk.found]
    for tensor, g in (*walk.found.values(), *retained):
        if tensor._tracked:
            _accumulate(tensor, g, walk)


@overload
def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: TensorLike | Iterable[TensorLike | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: Literal[False] = False,
) -> tuple[AnyTensor, ...]: ...
@overload
def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: TensorLike | Iterable[TensorLike | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[AnyTensor | None, ...]: ...
def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: TensorLike | Iterable[TensorLike | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Any, ...]:
    """The gradients of sum(grad_outputs * outputs) with respect to `inputs`, without touching any `.grad`.

    outputs, inputs: a tensor, or several in any iterable. Returns a tuple, one tensor per input; None for an unused one with
    `allow_unused`. Raises GradientError.
    """
    if frontends.tracing and state.tracer is not None:
        traced: tuple[Any, ...] = state.tracer.grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused)
        return traced
    roots, seeds = _roots(outputs, grad_outputs)
    targets = _targets(inputs, "grad")
    walk = BackwardEngine(roots, seeds, create_graph, targets)
    walk.run(create_graph if retain_graph is None else retain_graph)
    result = []
    for i, target in enumerate(targets):
        found = walk.found.get(id(target))
        if found is None and not allow_unused:
            raise misuse.unused(i, target.shape)
        result.append(None if found is None else walk.own(found[1]))
    return tuple(result)


def _targets(inputs: Any, function: str) -> list[Tensor]:
    targets = listed(inputs)
    if not targets:
        raise misuse.no_inputs(function)
    for target in targets:
        if not isinstance(target, Tensor) or not target._tracked:
            raise misuse.not_differentiable()
    return targets


def _roots(tensors: Any, gradients: Any) -> tuple[list[Tensor], list[Tensor]]:
    roots = listed(tensors)
    given = [None] * len(roots) if gradients is None else listed(gradients)
    if len(given) != len(roots):
        raise misuse.other_number(len(roots), len(given))
    seeds = []
    for i, (root, seed) in enumerate(zip(roots, given, strict=True)):
        if not isinstance(root, Tensor):
            raise misuse.no_root(root)
        if not root._tracked:
            raise misuse.no_history(
                i,
                "make a leaf with requires_grad=True, and compute outside sg.no_grad()",
                "results of a compiled function carry no tape: call backward() inside it",
            )
        if seed is None:
            data = root._data
            if data.size != 1:
                raise misuse.not_scalar(root.shape)
            seeds.append(wrap(np.ones(data.shape, data.dtype)))
        else:
            seeds.append(_seed(i, root, seed))
    return roots, seeds


def _seed(i: int, root: Tensor, seed: Any) -> Tensor:
    if not isinstance(seed, Tensor):
        as_array(seed)  # refuses what has no supported dtype; the values go straight to that of the root
        seed = Tensor(np.asarray(seed, root.dtype))
    misuse.check_seed(i, root, seed)
    return seed if seed.dtype == root.dtype else cast("Tensor", F.astype(seed, root.dtype))


class BackwardEngine:
    """One backward pass.

    Without `create` the rules compute on bare arrays, which costs a third of what tensors do; with it, on tensors, so
    that the pass is recorded itself. `found` collects the cotangents of the leaves (or of `targets`) by id of the
    tensor.
    """

    def __init__(self, roots: list[Tensor], seeds: list[Tensor], create: bool, targets: list[Tensor] | None):
        self.create = create
        self.anomaly = modes.now.anomaly
        self.roots = roots
        self.seeds = seeds
        self.found: dict[int, tuple[Tensor, Any]] = {}
        self.retained: list[tuple[Tensor, Any]] = []
        self.cotangents: dict[Record, Any] = {}
        self.heap: list[tuple[int, Record]] = []
        self.own_sums: set[Any] = set()
        """Records, and ids of leaves, whose cotangent so far is an array that this walk made and nobody else has."""
        self.partial_sums: set[Any] = set()
        """Those to which parts have been added."""
        self.taken = {id(seed._data) for seed in seeds}
        """Ids of arrays that somebody else may hold: seeds, what hooks saw, gradients given away."""
        self.wanted: dict[int, Tensor] | None = None
        self.needed: set[Record] = set()
        if targets is not None:
            self.wanted = {id(t): t for t in targets}
            self.wanted_records = {t._record: t for t in targets if t._record is not None}
            self.needed = self._leading_to_targets()

    def run(self, retain: bool) -> None:
        """Raises GradientError; the tape is as it was when it does."""
        done: list[Record] = []
        saved, modes.now.grad = modes.now.grad, self.create
        modes.now.arrays, around = not self.create, modes.now.arrays
        try:
            with np.errstate(all="ignore"):
                for root, seed in zip(self.roots, self.seeds, strict=True):
                    g = seed if self.create else seed._data
                    if root._record is None:
                        self._reach_leaf(root, g)
                    elif self.wanted is None or root._record in self.needed or root._record in self.wanted_records:
                        self._reach(root._record, g)
                while self.heap:
                    record = heappop(self.heap)[1]
                    self._visit(record, self.cotangents.pop(record))
                    done.append(record)
                for key, (leaf, g) in self.found.items():
                    if leaf._record is None and leaf._hooks:
                        self.found[key] = (leaf, self._hooked(leaf._hooks, g))
        finally:
            modes.now.grad, modes.now.arrays = saved, around
        if not retain:
            for record in done:
                record.free()

    def _reach(self, record: Record, g: Any) -> None:
        """Add to the cotangent of a record's result."""
        known = self.cotangents.get(record)
        if known is None:
            self.cotangents[record] = g
            heappush(self.heap, (-record.clock, record))  # all that read it are younger: they come first
        else:
            self.cotangents[record] = known + g
            self.own_sums.add(record)

    def _reach_leaf(self, leaf: Tensor, g: Any) -> None:
        if self.wanted is None or id(leaf) in self.wanted:
            known = self.found.get(id(leaf))
            self.found[id(leaf)] = (leaf, g if known is None else self._sum(known[1], g))
            if known is not None:
                self.own_sums.add(id(leaf))

    def _added(self, record: Record, maker: Record | None, leaf: Any, g: Any) -> bool:
        """Adds a cotangent that is 0 but for a part where it belongs: what many parts of one tensor bring costs no more than
        the parts have. Returns whether that is done."""
        assert record.op.vjp_add is not None
        known = self.cotangents.get(maker) if maker is not None else self.found.get(id(leaf), (leaf, None))[1]
        key = id(leaf) if maker is None else maker
        if known is None:
            self.own_sums.add(key)  # the rule makes a new array
            return False
        if key not in self.own_sums or known.__class__ is not np.ndarray or rows_of(known) is not None:
            return False
        if key not in self.partial_sums:
            self.partial_sums.add(key)
            known += 0.0  # the zeros around a part would make a sum of -0.0 a 0.0
        record.op.vjp_add(known, g, record)
        return True

    def _sum(self, a: Any, b: Any) -> Any:
        return a + b if self.create else carry(a + b, a, b)

    def _visit(self, record: Record, g: Any) -> None:
        """One record's cotangent, passed on to its operands."""
        if record.hooks:
            g = self._hooked(record.hooks, g)
        if self.wanted is not None:
            target = self.wanted_records.get(record)
            if target is not None:
                self.found[id(target)] = (target, g)
            if record not in self.needed:
                return
        if record.op.vjp_all is not None:
            self._visit_all(record, g)
            return
        rules, operands, inputs, clock, plain = record.op.vjp, None, record.inputs, record.clock, not self.create
        adds = plain and record.op.vjp_add is not None and not self.anomaly
        for position, tensor in enumerate(inputs):
            if tensor._history:
                maker, leaf = edge(tensor, clock)
            elif tensor._tracked:
                maker = tensor._record
                leaf = tensor if maker is None and tensor._since < clock else None
            else:
                continue
            if (maker is None and leaf is None) or (self.wanted is not None and not self._leads(maker, leaf)):
                continue
            rule = rules[position] if rules.__class__ is tuple else rules(position)
            if rule is None:
                continue
            if adds and self._added(record, maker, leaf, g):
                continue
            if operands is None:
                out = self._saved_out(record)
                operands = [
                    t._data if plain and t._base is None and t._memory is None else self._saved(t, record)
                    for t in inputs
                ]
            cotangent = rule(g, record, out, *operands)
            if self.anomaly:
                _check_nan(cotangent, record, position)
            if maker is not None:
                self._reach(maker, cotangent)
            else:
                self._reach_leaf(leaf, cotangent)

    def _visit_all(self, record: Record, g: Any) -> None:
        """The same for an op that gives the cotangents of all operands at once."""
        ways: list[tuple[Record | None, Any] | None] = []
        for tensor in record.inputs:
            maker, leaf = edge(tensor, record.clock) if tensor._tracked or tensor._history else (None, None)
            leads = (maker is not None or leaf is not None) and (self.wanted is None or self._leads(maker, leaf))
            ways.append((maker, leaf) if leads else None)
        wanted = [way is not None for way in ways]
        if not any(wanted):
            return
        assert record.op.vjp_all is not None
        together = record.op.vjp_all(g, record, wanted, *(self._saved(t, record) for t in record.inputs))
        for position, (way, cotangent) in enumerate(zip(ways, together, strict=True)):
            if way is None or cotangent is None:
                continue
            if self.anomaly:
                _check_nan(cotangent, record, position)
            if way[0] is not None:
                self._reach(way[0], cotangent)
            else:
                self._reach_leaf(way[1], cotangent)

    def _saved(self, tensor: Any, record: Record) -> Any:
        """An operand for a rule: the value itself, or a ghost when it is gone."""
        if changed(tensor) > record.clock:
            return overwritten_operand(tensor, record)
        return tensor if self.create else tensor._data

    def _saved_out(self, record: Record) -> Any:
        out = record.out
        if not isinstance(out, np.ndarray):
            return out
        if record.memory is not None and record.memory.changed > record.clock:
            return Overwritten(f"the output of {record.name()}", out)
        return wrap(out, record) if self.create else out

    # hooks and ownership -----------------------------------------------------------------------------------------

    def _hooked(self, hooks: dict[int, Any] | None, g: Any) -> Any:
        """The cotangent after its hooks, which get tensors and may replace it; those of `retain_grad` come last."""
        modes.now.arrays, around = False, modes.now.arrays
        retained = []
        try:
            for hook in tuple(hooks.values()) if hooks else ():
                if isinstance(hook, Retain):
                    retained.append(hook.tensor())
                    continue
                tensor: Any = g if self.create else wrap(np.asarray(g))
                self.taken.add(id(tensor._data))
                replaced = hook(tensor)
                if replaced is not None:
                    if not isinstance(replaced, Tensor) or replaced.shape != tensor.shape:
                        raise misuse.wrong_hook(tensor.shape, replaced)
                    tensor = replaced if replaced.dtype == tensor.dtype else F.astype(replaced, tensor.dtype)
                    self.taken.add(id(tensor._data))
                g = tensor if self.create else tensor._data
        finally:
            modes.now.arrays = around
        self.retained.extend((tensor, g) for tensor in retained if tensor is not None)
        return g

    def own(self, g: Any) -> Tensor:
        """A found cotangent as a tensor whose memory nobody else holds (a recorded one is given as it is)."""
        if self.create:
            return cast("Tensor", g)
        data = np.asarray(g)
        if data.base is not None or not data.flags.writeable or id(data) in self.taken:
            data = carry(data.copy(), data)
        self.taken.add(id(data))
        return wrap(data)

    # targets -----------------------------------------------------------------------------------------------------

    def _leads(self, maker: Record | None, leaf: Any) -> bool:
        """Whether a wanted tensor lies this way."""
        assert self.wanted is not None
        if maker is None:
            return id(leaf) in self.wanted
        return maker in self.needed or maker in self.wanted_records

    def _leading_to_targets(self) -> set[Record]:
        """The records on a path from the roots to a wanted tensor, its own excluded."""
        stack = [root._record for root in self.roots if root._record is not None]
        seen = set(stack)
        while stack:
            record = stack.pop()
            for tensor in record.inputs:
                maker, _ = edge(tensor, record.clock)
                if maker is not None and maker not in seen:
                    seen.add(maker)
                    stack.append(maker)
        self.needed = set()
        for record in sorted(seen, key=lambda r: r.clock):
            if any(self._leads(*edge(t, record.clock)) for t in record.inputs):
                self.needed.add(record)
        return self.needed


def _check_nan(cotangent: Any, record: Record, position: int) -> None:
    data = cotangent._data if isinstance(cotangent, Tensor) else cotangent
    if np.isnan(data).any():
        raise AnomalyError(
            f"Function '{record.name()}' returned nan values in its {position}th output.",
            f"forward: {record.where}" if record.where else "forward ran outside detect_anomaly: line unknown",
        )


def _accumulate(leaf: Tensor, g: Any, walk: BackwardEngine) -> None:
    """Add to `grad`. The first gradient is taken over when nobody else holds its memory, else copied."""
    known = leaf._grad
    if known is None:
        leaf._grad = walk.own(g)
    elif walk.create or known._tracked or not known._data.flags.writeable:
        leaf._grad = cast("Tensor", known + (g if walk.create else wrap(np.asarray(g))))
    else:
        data = known._data
        data += g
        carry(data, data, np.asarray(g))
        touch(known)
