"""An eager step of an optimizer as one plan: all parameters and slots are updated in place by one native call.

The plan is made from the optimizer's rule, as the operation of `minimize` in a graph is. It is used while the optimizer's
structure is that for which it was made; hyper-parameters are read at each step.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.types import type_of
from ..eager import Tensor
from ..eager.calls.array_plans import ArrayPlan
from ..eager.calls.kernels import OFF, Computation, Maker, Waiting, program_of, requests, uses_of
from ..eager.calls.op_calls import placeholders
from ..eager.grad_mode import modes
from ..eager.sparse_gradients import DeferredGradient, SparseGradient
from ..eager.tape import touch_all
from ..eager.tensor import Structure
from ..ir import REGISTRY, Cell, Graph, Pointwise
from ..ops.control.subgraph_tracing import copied
from ..ops.operators import F, Operators, Symbol, append, frontends, intercepted
from .groups import Member, ParamGroup

if TYPE_CHECKING:
    from ..compiler.execute.plan import Plan
    from .optimizer import Optimizer

Gradients = dict[int, list[tuple[Tensor, Any]]]
"""Parameters with their gradients, by position of the group."""


class NativeStep:
    """The plan of one structure of an optimizer. places: the tensors that it changes."""

    def __init__(self, facts: Hashable, places: list[Tensor], maker: Callable[[list[Cell]], Maker], row: int):
        """row: how many steps came before, which made the slots."""
        self.facts, self.places, self.numpy, self.row = facts, places, modes.now.numpy, row
        self.changes = -1
        """`_changes` when the structure was last compared."""
        self.members: tuple[Hashable, ...] = ()
        """Ids of the parameters that have gradients; for a gradient that is read in parts, how these are computed."""
        self.cells = [Cell(f"place {i}", type_of(place._data)) for i, place in enumerate(places)]
        self.run: Any = None
        self.prepared: tuple[list[tuple[int, int]], Any] | None = None
        """The places' memory, and what is to be `run` while they have that."""
        self.key = object()
        self.make = maker(self.cells)

    def ready(self) -> bool | None:
        """Whether the plan is there, bound to the arrays: False while it waits, None where there is none. Until then nothing
        here refers to them."""
        if self.run is None:
            call = modes.now.calls[self.key]
            if call is None:
                last = uses_of(max([p._data.size for p in self.places]))
                call = requests.begin(self.key, last, steps=True, row=self.row)
            if call.waits:
                call = requests.call(self.key, call, self.make)
            plan = call.plan
            if plan is None:
                if isinstance(call, Waiting) and call.asked and self.prepared is None and not self.numpy:
                    asked = requests.plans[self.key]
                    if asked is not None and asked.plan is not None and not asked.plan.waits:
                        self._prepare(asked.plan)  # the step that asks is slow in any case
                return False if call.waits else None
            requests.forget(self.key)  # the plan holds the parameters, and lives as long as this step
            arrays = [place._data for place in self.places]
            plan.bind(dict(zip(self.cells, arrays, strict=True)))
            if isinstance(plan, ArrayPlan):
                self.run = plan.call
                return True
            self.run = self._prepare(plan)
        return True

    def _prepare(self, plan: Plan) -> Callable[..., Any]:
        """What runs the plan, which may not be bound yet."""
        from ..compiler.execute.fastcall import Spec, fast_path

        ranges = _ranges([place._data for place in self.places])
        if self.prepared is None or self.prepared[0] != ranges:
            specs = [Spec(f.dtype, f.shape, bare=True) for f in plan.feed_types]
            self.prepared = ranges, fast_path(plan, specs, apart=ranges)
        return self.prepared[1]


KEPT = 4
"""Plans of an optimizer whose gradients come in several ways, as those of tables in batches of several sizes do."""
_steps: weakref.WeakKeyDictionary[Optimizer, NativeStep] = weakref.WeakKeyDictionary()
"""The latest step of an optimizer."""
_ways: weakref.WeakKeyDictionary[Optimizer, dict[Hashable, NativeStep]] = weakref.WeakKeyDictionary()
"""The steps with the facts of the latest one, by the ways in which gradients are made."""
_refused: weakref.WeakKeyDictionary[Optimizer, int] = weakref.WeakKeyDictionary()
"""`_changes` for which an optimizer can't have a plan."""


def _changes() -> int:
    """A count of the changes that an optimizer's structure depends on: it steps all that has a gradient, whether it requires
    one or not."""
    return Structure.changes - Structure.flags


def native_step(optimizer: Optimizer, gradients: Gradients) -> bool | None:
    """Do one step natively. Returns whether it was done: False where later ones will be, None where none will; then nothing has
    happened."""
    mode = modes.now
    if mode.whole is OFF.whole or (frontends.tracing and intercepted()) or _refused.get(optimizer) == _changes():
        return None
    members = tuple([
        (id(p), g.pending[0]) if g.__class__ is DeferredGradient else id(p) for pairs in gradients.values() for p, g in pairs
    ])  # fmt: skip
    step = _steps.get(optimizer)
    if step is None or step.numpy is not mode.numpy or step.changes != _changes() or step.members != members:
        if sum(p.numel() for pairs in gradients.values() for p, _ in pairs) < max(mode.whole, 1):
            return None
        step = _prepared(optimizer, gradients, step)
        if step is None:
            _refused[optimizer] = _changes()
            return None
        step.changes, step.members = _changes(), members
    if step.run is None and not (ready := step.ready()):
        return ready
    arrays: list[np.ndarray] = []
    for pairs in gradients.values():
        for _, g in pairs:
            if g.__class__ is DeferredGradient:
                arrays += [part._data for part in g.pending[1]]
            else:
                arrays.append(g._data)
    if step.run(*arrays) is None:
        return None
    touch_all(step.places, 3)
    return True


def _prepared(optimizer: Optimizer, gradients: Gradients, old: NativeStep | None) -> NativeStep | None:
    plain = all(isinstance(p, Tensor) and isinstance(g, Tensor) for pairs in gradients.values() for p, g in pairs)
    if not plain or any(isinstance(v, Operators) for group in optimizer.param_groups for v in _numbers(group)):
        return None
    cohorts: list[tuple[int, Any, list[Member]]] = []
    for i, pairs in gradients.items():
        group = optimizer.param_groups[i]
        counts = ("step",) if optimizer.counts(group) else ()
        for p, _ in pairs:
            slots = optimizer.state.get(p, {})
            if not all(isinstance(slots.get(name), Tensor) for name in (*optimizer.kept(group, p), *counts)):
                return None  # a first step makes them
        if pairs:
            cohorts += [(i, step, members) for step, members in optimizer._cohorts(group, pairs)]
    places: list[Tensor] = []
    for i, step, members in cohorts:
        places += [] if step is None else [step]
        for member in members:
            kept = optimizer.kept(optimizer.param_groups[i], member.parameter)
            places += [member.parameter, *[member.slots[name] for name in kept]]
    arrays = [place._data for place in places]
    if not all(a.flags.c_contiguous and a.flags.writeable and a.size for a in arrays) or _overlap(arrays):
        return None
    ways = [_way(m.parameter, m.gradient) for _, _, members in cohorts for m in members]
    order = [m.parameter for _, _, members in cohorts for m in members]
    if None in ways or [*map(id, order)] != [id(p) for pairs in gradients.values() for p, _ in pairs]:
        return None
    facts = modes.now.numpy, optimizer.structure(), tuple(map(id, places)), tuple(map(id, arrays))
    steps = _ways.setdefault(optimizer, {})
    if old is None or old.facts != facts:
        steps.clear()
    found = steps.get(tuple(ways))
    if found is None:
        while len(steps) >= KEPT:
            del steps[next(iter(steps))]
        row = int(_refused.pop(optimizer, None) is not None)
        found = steps[tuple(ways)] = NativeStep(facts, places, _maker(weakref.ref(optimizer), cohorts), row)
    _steps[optimizer] = found
    return found


def _way(p: Tensor, g: Any) -> SparseGradient | bool | None:
    """How a gradient is made, where it is made when it is read; True for an array. None for one that does not fit, whose rows
    would not be those of the parameter."""
    if g.__class__ is not DeferredGradient:
        return True
    how: SparseGradient = g.pending[0]
    kind = how.node.type
    return how if (kind.shape, kind.dtype) == (p._data.shape, p._data.dtype) else None


def _numbers(group: Any) -> list[Any]:
    found: list[Any] = []
    for key, value in group.items():
        if key != "params":
            found += value if isinstance(value, (tuple, list)) else [value]
    return found


def _ranges(arrays: list[np.ndarray]) -> list[tuple[int, int]]:
    begins = [a.__array_interface__["data"][0] for a in arrays]
    return [(begin, begin + a.nbytes) for begin, a in zip(begins, arrays, strict=True)]


def _overlap(arrays: list[np.ndarray]) -> bool:
    ordered = sorted(_ranges(arrays))
    return any(begin < end for (_, end), (begin, _) in itertools.pairwise(ordered))


def _maker(owner: weakref.ref[Optimizer], cohorts: list[tuple[int, Any, list[Member]]]) -> Callable[[list[Cell]], Maker]:
    """A function of the places' cells that tells how the program of the step is made."""
    slots = [[(i, [name for name in m.slots if name != "step"]) for m in members] for i, _, members in cohorts]
    counted = [step is not None for _, step, _ in cohorts]
    kinds = [
        [(m.parameter._data.shape, m.parameter._data.dtype, _way(m.parameter, m.gradient)) for m in members]
        for _, _, members in cohorts
    ]

    def make(cells: list[Cell]) -> tuple[Computation, None] | None:
        optimizer = owner()
        if optimizer is None:
            return None
        graph = Graph()
        left = iter(cells)

        def gradient(shape: tuple[int, ...], dtype: np.dtype, how: Any) -> Symbol:
            if how is True:
                (g,) = placeholders(graph, [(shape, dtype)])
                feeds.append(g.node)
                return g
            parts = placeholders(graph, [(part.type.shape, part.type.dtype) for part in how.parts])
            given = {part: symbol.node for part, symbol in zip(how.parts, parts, strict=True)}
            feeds.extend(given.values())
            return Symbol(graph, *copied(graph, [how.node], given, lean=True))

        def variable() -> Symbol:
            cell = next(left)
            return Symbol(graph, graph.add(REGISTRY["variable"], (), {"cell": cell}, cell.type, cell.name))

        feeds: list[Any] = []
        assigns: list[Any] = []
        for members, shapes, counts in zip(slots, kinds, counted, strict=True):
            group = optimizer.param_groups[members[0][0]]
            step = variable() if counts else None
            given = []
            for (_, names), kind in zip(members, shapes, strict=True):
                p = variable()
                g = gradient(*kind)
                own = optimizer.kept(group, p)
                assert set(own) <= set(names)
                given.append(Member(p, g, {name: variable() for name in own}))
            joint = Joint(optimizer, group, step, given) if modes.now.numpy else None
            for place, value in optimizer.updates(group, step, given if joint is None else joint.members, graph):
                for part, own_value in [(place, value)] if joint is None else joint.parts(place, value):
                    assigns.append(append(graph, REGISTRY["assign"], [part, own_value], {}).node)
        return program_of(graph, [], feeds, effects=assigns), None

    def whole(cells: list[Cell]) -> Hashable:
        """All that the program follows from."""
        optimizer: Any = owner()
        own = [x for x in vars(optimizer).items() if callable(x[1]) or x[1].__class__ in (int, float, bool, str)]
        groups = [tuple([fact for fact in group.structure() if fact[0] != "params"]) for group in optimizer.param_groups]
        types = tuple([cell.type for cell in cells])
        gradients = tuple(
            [(*kind, how.described() if isinstance(how, SparseGradient) else how) for each in kinds for *kind, how in each]
        )
        return "step", type(optimizer), tuple(own), tuple(groups), str(slots), str(counted), gradients, types

    def bound(cells: list[Cell]) -> tuple[list[Cell], list[Any]]:
        optimizer = owner()
        return cells, [] if optimizer is None else optimizer.param_groups

    return lambda cells: Maker(partial(make, cells), whole=lambda key: whole(cells), bound=partial(bound, cells))


SMALL = 1 << 11
"""Elements up to which parameters are joined."""
TOGETHER = 1 << 13
"""Elements of parameters that are joined: NumPy's temporaries of so many stay in the cache."""


class Joint:
    """Members of a step of which small ones with the same slots are one: NumPy takes longer to call a function than to compute
    some thousand elements. That is the same where the rule is elementwise, and does the same for all shapes."""

    def __init__(self, optimizer: Optimizer, group: ParamGroup, step: Any, members: Sequence[Member]):
        self.optimizer, self.group, self.step = optimizer, group, step
        self.members: list[Member] = []
        self.cuts: dict[int, list[Any]] = {}
        """The places, as flat views, that are joined in one value, by its id."""
        self.forms: dict[Any, Any] = {}
        groups: dict[Any, list[list[Member]]] = {}
        for member in members:
            p, size = member.parameter, member.parameter.node.type.size
            if size > SMALL or not self._any_shape(member):
                self.members.append(member)
                continue
            parts = groups.setdefault((p.dtype, *member.slots), [[]])
            if sum(x.parameter.node.type.size for x in parts[-1]) + size > TOGETHER:
                parts.append([])
            parts[-1].append(member)
        for parts in groups.values():
            self.members += [self._join(part) if len(part) > 1 else part[0] for part in parts]

    def _any_shape(self, member: Member) -> bool:
        """Whether the rule does the same for a member in any shape, element by element."""
        p, g, slots = member
        shape, dtype = p.node.type.shape, p.dtype
        if dtype.kind != "f" or any((x.node.type.shape, x.dtype) != (shape, dtype) for x in (g, *slots.values())):
            return False
        form = self._form(shape, dtype, tuple(slots))
        return form is not None and bool(form == self._form((p.node.type.size,), dtype, tuple(slots)))

    def _form(self, shape: tuple[int, ...], dtype: np.dtype, names: tuple[str, ...]) -> Any:
        """The operations of the rule, by number, for a member of this shape; None where one is not elementwise."""
        key = shape, dtype, names
        if key not in self.forms:
            graph = Graph()
            p, g, *slots = placeholders(graph, [(shape, dtype)] * (2 + len(names)))
            step = None if self.step is None else placeholders(graph, [((), self.step.dtype)])[0]
            found = self.optimizer.updates(self.group, step, [Member(p, g, dict(zip(names, slots, strict=True)))], graph)
            numbers = {node: i for i, node in enumerate(graph.nodes)}
            rows = [
                (n.op, [numbers[x] for x in n.inputs], dict(n.attrs))
                for n in graph.nodes
                if n.op is not REGISTRY["placeholder"]
            ]
            alone = all(isinstance(n.op.emit, Pointwise) for n in graph.nodes if any(x.type.shape for x in n.inputs))
            self.forms[key] = (rows, [(numbers[a.node], numbers[b.node]) for a, b in found]) if alone else None
        return self.forms[key]

    def _join(self, members: Sequence[Member]) -> Member:
        slots = {name: self._value([m.slots[name] for m in members]) for name in members[0].slots}
        return Member(self._value([m.parameter for m in members]), self._value([m.gradient for m in members]), slots)

    def _value(self, values: Sequence[Any]) -> Any:
        flat: list[Any] = [F.reshape(x, (-1,)) for x in values]
        whole = F.concatenate(flat)
        self.cuts[id(whole)] = flat
        return whole

    def parts(self, place: Any, value: Any) -> Iterator[tuple[Any, Any]]:
        """The places that are joined, with the parts of the value."""
        flat = self.cuts.get(id(place))
        if flat is None:
            yield place, value
            return
        begin = 0
        for x in flat:
            end = begin + x.node.type.size
            yield x, value[begin:end]
            begin = end
