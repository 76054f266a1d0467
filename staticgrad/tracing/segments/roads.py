"""The roads that runs of a function have taken: a tree of operations, with a plan where a run was cut.

A run walks down the tree while its operations are those of an earlier one. Where it takes another branch, another road begins.
Every segment begins at the root, so an iteration of a loop finds the segment of the one before. A number that differs between
two runs becomes an argument of the plan. The road that begins there is compared with the one that it leaves, so that all
numbers that differ between the two runs become arguments at once.
"""

from __future__ import annotations

import functools
import itertools
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any

import numpy as np

from ...base.types import TensorType
from ...compiler.execute.fastcall import Spec, declined, fast_path
from ...compiler.plan_store import Templates
from ...compiler.program import Program
from ...eager.calls.kernels import copied_as_it_lies
from ...eager.pending import at_once
from ...eager.sparse_gradients import SparseGradient, sparse_gradient_of
from ...errors import Where
from ...ir import REGISTRY, Graph, Layout, Native, Node, OpDef, Range, Reduction, View, over_types
from ...ir.graph import evaluate
from ...ops.operators import OpenNumbers, Symbol, append, in_layout, layout_of, promotion
from ...ops.operators.symbols import reshaped
from ..containers import same

NUMBERS = (bool, int, float)
ABSENT = object()
NO_VARIABLES: dict[Any, np.ndarray] = {}


class RoadNode:
    """An operation, or an input, of a road. node: its result in the graph; nodes: all that it added there; recorded: the
    operation as the tape has it, that over complex numbers where there are some.

    refs: the operand nodes, and the numbers. numbers: dtypes of the numbers among its operands, by position; free: whether
    these are inputs, so that any number will do. flags: which operands are
    on the tape, and how; flows: whether a gradient can flow through it then, None before that was found out. view: the result
    shares the memory of the first operand. regions, calls: see `regions.py` and `calls.py`. opening: of one whose integers
    among the attributes are inputs. former: the same operation on the road that this one left, where a number differed.
    """

    __slots__ = (
        "attrs", "calls", "children", "flags", "flows", "former", "free", "inputs", "latest", "node", "nodes", "numbers",
        "op", "opening", "parent", "plans", "recorded", "refs", "regions", "view",
    )  # fmt: skip

    def __init__(self, parent: RoadNode | None, node: Node | None = None, nodes: Sequence[Node] = ()):
        self.parent, self.node, self.nodes = parent, node, tuple(nodes)
        self.op: OpDef | None = None
        self.recorded: OpDef | None = None
        self.refs: tuple[Any, ...] = ()
        self.attrs: Mapping[str, Any] = {}
        self.numbers: dict[int, np.dtype] = {}
        self.free = False
        self.flags = 0
        self.flows: bool | None = None
        self.view = False
        self.opening: Opening | None = None
        self.former: RoadNode | None = None
        self.regions: dict[Any, Any] = {}
        self.calls: dict[Any, Any] = {}
        self.children: list[RoadNode] = []
        self.latest: RoadNode | None = None
        self.inputs: dict[Any, RoadNode] = {}
        self.plans: dict[tuple[Node, ...], Segment | None] = {}

    def counterpart(self, op: OpDef, refs: Sequence[Any], attrs: Mapping[str, Any], flags: int) -> RoadNode | None:
        """The step after this one that is an operation of another road but for the values of numbers."""
        for child in self.children:
            known = child.op is op and child.flags == flags and len(refs) == len(child.refs) and child.opening is None
            if known and alike(child.attrs, attrs) and all(map(_same_kind, refs, child.refs)):
                return child
        return None

    def matches(self, op: OpDef, refs: Sequence[Any], attrs: Mapping[str, Any], flags: int) -> bool:
        """Whether an operation is this one."""
        if op is not self.op or flags != self.flags or len(refs) != len(self.refs):
            return False
        if not all(map(is_, refs, self.refs)):
            for ref, mine in zip(refs, self.refs, strict=True):
                if ref is not mine and not (mine.__class__ is ref.__class__ in NUMBERS and (self.free or equal(mine, ref))):
                    return False
        if self.opening is not None:
            return self.opening.fed(attrs) is not None
        return attrs is self.attrs or not (attrs or self.attrs) or alike(self.attrs, attrs)


class Opening:
    """The integers among the attributes of a step that are inputs. form: the attributes without integers; fixed: those that are
    the same each time, and None in the places of the inputs; feeds: what is fed for inputs, None for those of another road;
    nodes: the inputs."""

    def __init__(
        self, form: Any, fixed: Sequence[int | None], feeds: Callable[[Sequence[Any]], list[np.ndarray] | None],
        nodes: Sequence[Node],
    ):  # fmt: skip
        self.form, self.fixed, self.feeds, self.nodes = form, fixed, feeds, nodes

    def fed(self, attrs: Mapping[str, Any]) -> list[np.ndarray] | None:
        """What the plan is fed for attributes; None for those of another step."""
        integers: list[int] = []
        if not alike(self.form, split(attrs, integers)):
            return None
        if any(mine is not None and mine != other for mine, other in zip(self.fixed, integers, strict=True)):
            return None
        return self.feeds([other for mine, other in zip(self.fixed, integers, strict=True) if mine is None])


def split(value: Any, integers: list[int]) -> Any:
    """Attributes with the class in the places of integers, which `integers` gets."""
    kind = value.__class__
    if kind is int:
        integers.append(value)
        return int
    if kind is tuple or kind is list:
        return kind([split(x, integers) for x in value])
    return {name: split(x, integers) for name, x in value.items()} if kind is dict else value


def joined(form: Any, integers: Iterator[Any]) -> Any:
    """Attributes with other integers: the inverse of `split`."""
    if form is int:
        return next(integers)
    if form.__class__ is tuple or form.__class__ is list:
        return form.__class__([joined(x, integers) for x in form])
    return {name: joined(x, integers) for name, x in form.items()} if form.__class__ is dict else form


def equal(a: Any, b: Any) -> bool:
    """Whether two numbers are the same, the sign of 0 included."""
    return bool(a == b) if a.__class__ is not float else struct.pack("d", a) == struct.pack("d", b)


def alike(a: Any, b: Any) -> bool:
    """Whether attributes are the same, the types of numbers included."""
    if a is b:
        return True
    kind = a.__class__
    if kind is not b.__class__:
        return False
    if kind is int or kind is str or kind is bool:
        return bool(a == b)
    if kind is tuple or kind is list:
        return len(a) == len(b) and (all(map(is_, a, b)) or all(map(alike, a, b)))
    if kind is dict:
        if len(a) != len(b):
            return False
        for name, x in a.items():
            y = b.get(name, ABSENT)
            if x is not y and not alike(x, y):
                return False
        return True
    return same(a, b)


class Segment:
    """The operations from one cut to the next as a plan. fetches: the nodes whose values live on. where: the user's line of the
    cut; reason: what asked for a value there. after: the segment that ran before this one when it was first met. elements: of
    the results of all operations. sparse: how sparse gradients among the fetches are made, of parts that the plan computes
    instead: eager mode knows their rows. make: its program."""

    def __init__(
        self, make: Callable[[], Program], operations: int, elements: int, where: Where | None, reason: str,
        after: Segment | None = None, sparse: Sequence[SparseGradient | None] = (),
    ):  # fmt: skip
        self._make, self.operations, self.where, self.reason, self.after = make, operations, where, reason, after
        self.elements, self.sparse = elements, sparse if any(sparse) else ()
        self.runs = 0
        self.fast: Any = declined
        """Runs the plan, where it is the only one: a road fixes the shapes. None where it declines."""

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The values of the fetches."""
        results = self._run(arrays)
        if not self.sparse:
            return results
        rest = iter(results)
        return [next(rest) if how is None else how.make([next(rest) for _ in how.parts]) for how in self.sparse]

    def _run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        self.runs += 1
        found: list[np.ndarray] | None = self.fast(*arrays)
        if found is not None:
            return found
        try:
            results = self.program.run(arrays, NO_VARIABLES)
        except MemoryError:
            self.fast = declined
            raise
        if self.fast is declined and not self.program.decisive and self.plan is not None:
            self.fast = fast_path(self.plan, [Spec(f.dtype, f.shape, bare=True) for f in self.plan.feed_types])
        return results

    @functools.cached_property
    def program(self) -> Program:
        """Made for the first run, or for an inspection."""
        return self._make()

    @property
    def plan(self) -> Any:
        """The plan of the latest run, or the one that a run would have; None where that depends on values."""
        known = next(reversed(self.program.plans.values()), None)
        if known is None and not self.program.decisive:
            known = self.program.plan(*[np.zeros(feed.type.shape, feed.type.dtype) for feed in self.program.prepared.feeds])
        return known


class Roads:
    """The tree of one function."""

    def __init__(self, numerics: str, passes: Sequence[Any], most: int):
        self.graph = Graph()
        self.root = RoadNode(None)
        self.numerics, self.passes, self.most = numerics, passes, most
        self.strict = numerics == "strict"
        self.templates = Templates()
        self.segments: list[Segment] = []
        self.ranges: dict[Node, Range] = {}
        """Of integers for which they were asked."""
        self.layouts: dict[Node, Layout | None] = {}
        """Those of eager mode, of the values for which they were asked."""

    def copy(self, array: np.ndarray) -> np.ndarray:
        """A copy for a plan."""
        return copied_as_it_lies(array) if self.strict else array.copy("C")

    def input(self, at: RoadNode, array: np.ndarray, tracked: bool) -> RoadNode:
        """The step that takes an array of this type and layout."""
        key = array.shape, array.dtype.num, tracked, None if array.flags.c_contiguous else array.strides
        step = at.inputs.get(key)
        if step is None:
            kind = TensorType(array.shape, array.dtype)
            node = append(self.graph, REGISTRY["placeholder"], (), {"type": kind}).node
            step = at.inputs[key] = RoadNode(at, node, (node,))
            step.former = None if at.former is None else at.former.inputs.get(key)
            if not array.flags.c_contiguous:
                self.layouts[node] = Layout(array.shape, tuple([s // array.itemsize for s in array.strides]), 0)
        return step

    def layout(self, node: Node) -> Layout:
        """The layout that a value has in eager mode."""
        found = self.layouts[node] if node in self.layouts else layout_of(node, self.layouts)
        assert found is not None  # every extent is known
        return found

    def _shares(self, node: Node) -> bool:
        """Whether a view has the memory of its operand: a reshape may have to copy."""
        emit = node.op.plain.emit
        if not isinstance(emit, View) or not emit.keeps_order:
            return True
        below = self.layout(node.inputs[0])
        return emit.rule(node, below) is not None or reshaped(below, node.type.shape) is not None

    def laid_out(self, node: Node, array: np.ndarray) -> np.ndarray:
        """The array of a value that a plan has computed, in eager mode's order."""
        layout = self.layout(node)
        return array if layout.is_contiguous else in_layout(array, layout)

    def find(self, at: RoadNode, op: OpDef, refs: Sequence[Any], attrs: Mapping[str, Any], flags: int) -> RoadNode | None:
        """The step after `at` that is this operation."""
        for child in at.children:
            if child.matches(op, refs, attrs, flags):
                at.latest = child
                return child
        return None

    def add(self, at: RoadNode, op: OpDef, refs: Sequence[Any], attrs: dict[str, Any], flags: int) -> RoadNode | None:
        """Enter a step; None for an operation that a plan can't have, or that fails."""
        graph, first = self.graph, len(self.graph.nodes)
        alike_ones = (child for child in at.children if child.op is op and child.flags == flags)
        twins = [child for child in alike_ones if _differ_in_numbers(child, refs, attrs)]
        former = twins[0] if twins else None if at.former is None else at.former.counterpart(op, refs, attrs, flags)
        free = former is not None and (former.free or not all(map(_same_operand, refs, former.refs)))
        operands = [ref if ref.__class__ in NUMBERS else Symbol(graph, ref) for ref in refs]
        try:
            targets = promotion(op, [x.node if isinstance(x, Symbol) else x for x in operands])
            numbers = {i: np.dtype(targets[i]) for i, ref in enumerate(refs) if ref.__class__ in NUMBERS}
            if any(t is not None and i not in numbers and t != refs[i].type.dtype for i, t in enumerate(targets)):
                return None  # a cast that eager mode records
            if free:
                for i, dtype in numbers.items():
                    operands[i] = append(graph, REGISTRY["placeholder"], (), {"type": TensorType((), dtype)})
            node = append(graph, op, operands, attrs).node
        except Exception:  # eager mode raises it, or has a result of another kind
            return None
        if not isinstance(node.type, TensorType) or not node.type.static or type(node.type) is not TensorType:
            return None
        made = graph.nodes[first:]
        opening = None
        if op.opened is not None:
            opening, opened = self._opened(at, op, refs, attrs, flags, node)
            if opening is not None:
                made = graph.nodes[first + len(made) :]
        view = is_view(node) and self._shares(node)
        if view and len(node.inputs) > 1:
            return None  # eager mode finds out which operands it reads
        step = RoadNode(at, node if opening is None else opened, made)
        step.opening = opening
        step.op, step.refs, step.attrs, step.numbers, step.free = op, tuple(refs), attrs, numbers, free
        step.flags, step.view, step.former = flags, view, former
        types = [node.type, *(x.node.type for x in operands if isinstance(x, Symbol))]
        step.recorded = over_types(op, types)
        at.children = [*(child for child in at.children if child not in twins), step] if twins else [*at.children, step]
        if opening is not None:
            at.children = [step, *[child for child in at.children if child is not step]]
        if twins:
            at.children += twins
        return step

    def _opened(
        self, at: RoadNode, op: OpDef, refs: Sequence[Any], attrs: dict[str, Any], flags: int, node: Node
    ) -> tuple[Opening | None, Node]:
        """An equal node for other integers among the attributes, too, where another run had others. node: the operation's."""
        integers: list[int] = []
        form = split(attrs, integers)
        for child in at.children:
            theirs: list[int] = []
            known = child.op is op and child.flags == flags and child.opening is None and len(child.refs) == len(refs)
            if not known or not all(map(is_, child.refs, refs)) or not alike(split(child.attrs, theirs), form):
                continue
            fixed = [a if a == b else None for a, b in zip(integers, theirs, strict=True)]
            numbers = OpenNumbers([a for a, b in zip(integers, fixed, strict=True) if b is None], whole=False)
            open_numbers = map(numbers.number, range(len(numbers.values)))
            values = joined(form, iter([next(open_numbers) if b is None else b for b in fixed]))
            operands = [Symbol(self.graph, ref) for ref in refs]
            with at_once():
                found = numbers.call(self.graph, lambda *given, op=op, values=values: op.opened(*given, **values), operands)
            if found is not None and found[0].node.type == node.type:
                self.layouts[found[0].node] = self.layout(node)
                return Opening(form, fixed, numbers.feeds(), [*numbers.nodes.values()]), found[0].node
        return None, node

    def segment(self, at: RoadNode, fetches: tuple[Node, ...], where: Any, after: Segment | None = None) -> Segment | None:
        """The plan for the road to `at`; None where there are too many. where: gives the user's line and the reason. after: the
        segment that ran before."""
        if fetches not in at.plans:
            if len(self.segments) >= self.most:
                return None
            feeds: list[Node] = []
            operations = elements = 0
            step: RoadNode | None = at
            while step is not None and step.node is not None:
                if step.op is not None:
                    operations += 1
                    elements += math.prod(step.node.type.shape)
                feeds += [node for node in reversed(step.nodes) if node.op.leaf == "placeholder"]
                step = step.parent
            sparse = [sparse_gradient_of(node) for node in fetches]
            computed = [[node] if how is None else how.parts for node, how in zip(fetches, sparse, strict=True)]
            make = functools.partial(
                Program, self.graph, [*itertools.chain(*computed)], feeds[::-1], numerics=self.numerics, passes=self.passes,
                templates=self.templates, kept=True,
            )  # fmt: skip
            place, reason = where()
            at.plans[fetches] = Segment(make, operations, elements, place, reason, after, sparse)
            self.segments.append(at.plans[fetches])  # type: ignore[arg-type]
        return at.plans[fetches]

    def interpret(self, at: RoadNode, arrays: Sequence[np.ndarray]) -> dict[Node, np.ndarray]:
        """The values of all operations of a road, computed one by one."""
        nodes: list[Node] = []
        step: RoadNode | None = at
        while step is not None and step.node is not None:
            nodes += reversed(step.nodes)
            step = step.parent
        nodes.reverse()
        fed = zip((node for node in nodes if node.op.leaf == "placeholder"), arrays, strict=True)
        with np.errstate(all="ignore"):
            return evaluate(nodes, dict(fed))


def is_view(node: Node) -> bool:
    """Whether eager mode's result of an operation shares the memory of its first operand."""
    if isinstance(node.op.emit, View):
        return True
    if isinstance(node.op.emit, (Native, Reduction)) or isinstance(node.op.eval, np.ufunc) or not node.op.pure:
        return False
    if node.op.shape_only:  # expanded over another operand's shape: nobody can write it
        return False
    operands = [np.zeros(n.type.shape, n.type.dtype) for n in node.inputs]
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(node.op.eval(*operands, **node.attrs))
    except Exception:  # of zeros
        return False
    return result is operands[0] or result.base is operands[0]


def _differ_in_numbers(step: RoadNode, refs: Sequence[Any], attrs: Mapping[str, Any]) -> bool:
    """Whether an operation is that of a step but for the values of numbers."""
    return len(refs) == len(step.refs) and not step.free and alike(step.attrs, attrs) and all(
        ref is mine or (ref.__class__ is mine.__class__ in NUMBERS) for ref, mine in zip(refs, step.refs, strict=True)
    )  # fmt: skip


def _same_kind(ref: Any, other: Any) -> bool:
    """Whether operands of two roads are numbers of one class, or tensors of one type."""
    return ref.__class__ is other.__class__ and (ref.__class__ is not Node or ref.type == other.type)


def _same_operand(ref: Any, other: Any) -> bool:
    """Whether operands of two roads are the same number, or both tensors."""
    return ref.__class__ is Node or equal(ref, other)
