"""Derivatives over tensors that stand for others under a transform: forward mode and reverse mode. No op is named.

The rule of an op is that of its record, or follows from it:

- linear combinations: the same combination of the tangents; products of two operands: the product rule;
- other elementwise ops: the reverse rule with the tangent for a cotangent, because their Jacobian is diagonal;
- views: the view of the tangent;
- everything else: the reverse rule differentiated once more. It is linear in the cotangent, so its own reverse rule, applied
  to the tangent, is the transpose of a transpose.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import count
from operator import attrgetter
from typing import Any, NamedTuple

from ..base.types import INEXACT, shape_text
from ..errors import ArgumentError, DTypeError, ShapeError, TransformError
from ..ir import OpDef, Pointwise, View
from ..ir.walks import reached
from ..ops.communication import communicate
from ..ops.control.vjp import joined
from ..ops.operators import Application, F, Level, Lifted, Operators, Tensor, apply, frontends, lines_of, state
from ..ops.rules import compared, elementwise, linear, multilinear
from .pull import Edge, Pull, between, by_rules

# tensors under transforms whose in-place changes are new values ------------------------------------------------------

PRUNE = frozenset(2**n for n in range(4, 40))
"""Lengths of the list of views at which dead references are dropped."""


def perform(node: Application, operands: Sequence[Any]) -> Any:
    """The result of an op on what stands for its operands. An exchange comes after those before it in a graph."""
    return (communicate if node.op.exchanges else apply)(node.op, *operands, **node.attrs)


class Changeable(Lifted):
    """A tensor that an in-place operation gives another value.

    Views follow as in eager mode: a change of a view changes the tensor that it is of, and all views of a tensor that was
    changed are read again. Arguments of the function are not changed, because that would have to change the caller's tensor.
    """

    __slots__ = ("given", "origin", "views")

    given: bool
    """It is an argument of the function."""
    origin: tuple[Changeable, Application] | None
    """For a view: the tensor that it is of, and the op that made it."""
    views: list[weakref.ref[Changeable]]

    def __init__(self, level: Level, value: Any, *, given: bool = False):
        super().__init__(level, value)
        self.given, self.origin, self.views = given, None, []

    def _take(self, value: Any) -> None:
        """Get another value, and all that belongs to it."""
        raise NotImplementedError

    def view_of(self, node: Application, operands: Sequence[Any]) -> None:
        """Note, of the result of an op, whether it is a view of an operand."""
        if not node.op.aliases:
            return
        base = operands[0]
        if isinstance(base, Changeable) and base.level is self.level:
            self.origin = base, node
            if len(base.views) in PRUNE:
                base.views = [view for view in base.views if view() is not None]
            base.views.append(weakref.ref(self))

    def assign(self, value: Any, name: str) -> None:
        if self.given:
            raise TransformError(
                f"{name}: {self.describe()} is an argument of the function: a change would be one of the caller's tensor",
                f"change a clone(): y = x.clone(); y.{name}(...)",
            )
        if self.origin is None:
            self._change(value)
            return
        base, node = self.origin
        if node.op.written is not None:
            base.assign(node.op.written(base, value), name)
            return
        rule = node.op.vjp_for(0)
        assert rule is not None
        if isinstance(node.op.emit, View) and node.op.emit.overlaps(node, node.types[0].shape):
            raise TransformError(
                f"{name}: more than one element of the written-to tensor refers to a single memory location: {self.describe()}",
                "change a clone()",
            )
        places = F.ne(rule(F.ones_like(self), node, self, base), 0)
        base.assign(F.where(places, rule(value, node, self, base), base), name)

    def _change(self, value: Any) -> None:
        self._take(value)
        for reference in self.views:
            view = reference()
            if view is not None:
                assert view.origin is not None
                node = view.origin[1]
                view._change(apply(node.op, self, **node.attrs))


class Valued(Changeable):
    """A tensor under `grad` or `jvp`: it has the value of one tensor of the surroundings, which Python may read."""

    __slots__ = ()


VALUES = ("item", "__bool__", "__float__", "__int__", "__index__", "tolist", "__format__", "__contains__")


def _delegated(name: str) -> Callable[..., Any]:
    def method(self: Valued, *args: Any) -> Any:
        return getattr(self.value, name)(*args)

    method.__name__ = name
    return method


for _name in VALUES:
    setattr(Valued, _name, _delegated(_name))


# reverse mode over tensors of any kind -------------------------------------------------------------------------------

# Eager ones, those of a graph, and those under other transforms. It names no op.
#
# `func.grad` and `func.vjp` run their function on `Recorded` tensors. Each op on them is computed on their values and noted in
# a `Step`; `pull` then applies the rules of the records from the results back to the arguments. Eager mode and graphs have
# backward passes of their own (`eager/backward.py`, `reverse.py`), which are faster but know their own tensors only.

_number = count().__next__


class TapeEntry:
    """A value on the tape: an op of the function, or an argument (whose `node` is None).

    primals: the values of the operands; sources: the steps that made them, None where no gradient flows.
    """

    __slots__ = ("node", "number", "out", "primals", "sources")

    def __init__(self, node: Application | None, primals: Sequence[Any], sources: Sequence[TapeEntry | None], out: Any):
        self.node, self.primals, self.sources, self.out = node, primals, sources, out
        self.number = _number()


class Recording(Level):
    """One call of a function whose gradients are taken. always: also inside `no_grad`, for rules that differentiate rules."""

    name = "grad"

    def __init__(self, name: str = "grad", *, always: bool = False):
        super().__init__()
        self.name, self.always = name, always

    def leaf(self, value: Any) -> Recorded:
        return Recorded(self, value, TapeEntry(None, (), (), value), given=True)

    def process(self, node: Application, operands: list[Any]) -> Any:
        mine = [isinstance(x, Recorded) and x.level is self for x in operands]
        primals = [x.value if m else x for x, m in zip(operands, mine, strict=True)]
        out = perform(node, primals)
        rules = node.op.vjp
        if rules is None or node.type.dtype.kind not in INEXACT or not (self.always or frontends.recording()):
            return out
        sources = [x.step if m and node.op.vjp_for(i) is not None else None
                   for i, (x, m) in enumerate(zip(operands, mine, strict=True))]  # fmt: skip
        if not any(s is not None for s in sources):
            return out
        made = Recorded(self, out, TapeEntry(node, primals, sources, out))
        made.view_of(node, operands)
        return made


class Recorded(Valued):
    """A tensor whose operations are on the tape. step: where its value was made."""

    __slots__ = ("step",)

    def __init__(self, level: Recording, value: Any, step: TapeEntry, *, given: bool = False):
        super().__init__(level, value, given=given)
        self.step = step

    @property
    def requires_grad(self) -> bool:
        return True

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def _take(self, value: Any) -> None:
        if isinstance(value, Recorded) and value.level is self.level:
            self.value, self.step = value.value, value.step
        else:
            self.value, self.step = value, TapeEntry(None, (), (), value)


class _Pull(Pull[TapeEntry]):
    """The walk over the steps of a function."""

    def __init__(self, ends: Iterable[TapeEntry], leaves: Collection[TapeEntry]):
        super().__init__(leaves)
        self.needed = between(in_order(ends), _sources, leaves)

    age = attrgetter("number")

    def edges(self, step: TapeEntry) -> Sequence[Edge]:
        return self.needed.get(step, ())

    def rules(self, step: TapeEntry, g: Any, edges: Sequence[Edge]) -> Iterator[Any]:
        node: Any = step.node
        return by_rules(node.op, [edge[0] for edge in edges], g, node, step.out, step.primals)

    def total(self, value: Any, known: Any, g: Any) -> Any:
        return joined(known, g)

    def back(self, step: TapeEntry, g: Any, edges: Sequence[Edge]) -> None:
        assert step.node is not None
        with lines_of(step.node.where):
            super().back(step, g, edges)


def pull(ends: Sequence[tuple[TapeEntry, Any]], leaves: Sequence[TapeEntry]) -> list[Any]:
    """The cotangents of the leaves for those of the ends; None where no end depends on one."""
    walk = _Pull([step for step, _ in ends], leaves)
    for step, g in ends:
        if step in walk.needed or step in walk.targets:
            walk.add(step, g)
    walk.walk()
    return [walk.found.get(leaf) for leaf in leaves]


def _sources(step: TapeEntry) -> list[Edge]:
    return [(position, source) for position, source in enumerate(step.sources) if source is not None]


def in_order(ends: Iterable[TapeEntry]) -> list[TapeEntry]:
    """The steps from which the ends are made, these included, each after its operands."""
    return sorted(reached(ends, lambda step: filter(None, step.sources)), key=lambda step: step.number)


# forward mode --------------------------------------------------------------------------------------------------------


class Forward(Level):
    """One call of a function under `jvp`."""

    name = "jvp"

    def lift(self, value: Any, tangent: Any) -> Dual:
        return Dual(self, value, tangent, given=True)

    loops = True

    def parts(self, x: Any) -> list[Any]:
        mine = isinstance(x, Dual) and x.level is self
        value = x.value if mine else x
        if x.dtype.kind not in INEXACT:
            return [value]
        return [value, x.tangent if mine else F.zeros_like(x)]

    def whole(self, parts: Sequence[Any]) -> Any:
        return parts[0] if len(parts) == 1 else Dual(self, *parts)

    def process(self, node: Application, operands: list[Any]) -> Any:
        mine = [isinstance(x, Dual) and x.level is self for x in operands]
        primals = [x.value if m else x for x, m in zip(operands, mine, strict=True)]
        tangents = [x.tangent if m else None for x, m in zip(operands, mine, strict=True)]
        out = perform(node, primals)
        tangent = push(node, out, primals, tangents)
        if tangent is None:
            return out
        made = Dual(self, out, tangent)
        made.view_of(node, operands)
        return made


class Dual(Valued):
    """A value with a tangent."""

    __slots__ = ("tangent",)

    def __init__(self, level: Forward, value: Any, tangent: Any, *, given: bool = False):
        super().__init__(level, value, given=given)
        self.tangent = tangent

    def _take(self, value: Any) -> None:
        if isinstance(value, Dual) and value.level is self.level:
            self.value, self.tangent = value.value, value.tangent
        else:
            self.value, self.tangent = value, F.zeros_like(value)


def push(node: Application, out: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The tangent of a result for those of the operands, of which None is 0; None where it is 0 for any of them."""
    op = node.op
    if op.vjp is None or node.type.dtype.kind not in INEXACT:
        return None
    given = [t if t is not None and op.vjp_for(i) is not None else None for i, t in enumerate(tangents)]
    if all(t is None for t in given):
        return None
    rule = op.jvp if op.jvp is not None else RULES[rule_of(op)]
    tangent = rule(node, out, primals, given)
    return tangent if tangent.shape == out.shape or None in out.shape else F.broadcast_like(tangent, out)


@cache
def rule_of(op: OpDef) -> str:
    """Which rule an op has: "own", "combination", "product", "diagonal", "view" or "reverse"."""
    if op.jvp is not None:
        return "own"
    emit = op.plain.emit
    if isinstance(emit, Pointwise) and emit.linear:
        return "combination"
    if isinstance(emit, Pointwise) and emit.bilinear:
        return "product"
    if isinstance(emit, Pointwise) or op.infer in (elementwise, compared):
        return "diagonal"
    return "view" if isinstance(emit, View) else "reverse"


def _combination(node: Application, out: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    emit = node.op.plain.emit
    assert isinstance(emit, Pointwise)
    total: Any = None
    for coefficient, t in zip(emit.linear, tangents, strict=True):
        if t is not None:
            part = t if coefficient == 1 else -t if coefficient == -1 else t * coefficient
            total = part if total is None else total + part
    return total


def _diagonal(node: Application, out: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    total: Any = None
    for i, t in enumerate(tangents):
        if t is None:
            continue
        rule = node.op.plain.vjp_for(i)  # over complex numbers, too, a tangent is multiplied by the derivative itself
        assert rule is not None
        alike = [F.broadcast_like(x, out) if p == i else x for p, x in enumerate(primals)]
        part = rule(F.broadcast_like(t, out), node, out, *alike)
        total = part if total is None else total + part
    return total


def _transposed(node: Application, out: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    with Recording("jvp", always=True) as level:
        g = level.leaf(F.zeros_like(out))
        moved = [i for i, t in enumerate(tangents) if t is not None]
        back = [*by_rules(node.op, moved, g, node, out, primals)]
    mine = [(h, tangents[i]) for i, h in zip(moved, back, strict=True) if isinstance(h, Recorded) and h.level is level]
    (found,) = pull([(h.step, t) for h, t in mine], [g.step])
    return F.zeros_like(out) if found is None else found


RULES = {"combination": _combination, "product": multilinear, "diagonal": _diagonal, "view": linear, "reverse": _transposed}
"""The rules that follow from the rest of a record."""


def push_steps(ends: Sequence[TapeEntry | None], tangents: dict[TapeEntry, Any]) -> list[Any]:
    """The tangents of recorded values for those of the arguments; None where it is 0. The values are not computed again."""
    found: dict[TapeEntry, Any] = dict(tangents)
    for step in in_order(filter(None, ends)):
        if step.node is not None:
            found[step] = push(step.node, step.out, step.primals, [None if s is None else found.get(s) for s in step.sources])
    return [None if step is None else found.get(step) for step in ends]


# `autograd.forward_ad`: tensors with tangents, made by hand inside a level -------------------------------------------


class DualLevel(Forward):
    """A level that the user enters by hand."""

    name = "forward_ad"


def _current() -> DualLevel | None:
    return next((level for level in reversed(state.levels) if isinstance(level, DualLevel)), None)


class UnpackedDualTensor(NamedTuple):
    """A tensor without its tangent, and the tangent; None where there is none."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begin a level, which `exit_dual_level` ends; returns its number. Raises TransformError inside another one."""
    if _current() is not None:
        raise TransformError("Nested forward mode AD is not supported at the moment", "use func.jvp, which nests")
    DualLevel().__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level. Tensors with tangents can't be computed with afterwards. Raises TransformError without one."""
    current = _current()
    if current is None or level not in (None, 0):
        raise TransformError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    current.__exit__()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """`tensor` with a tangent of its shape and dtype. Raises TransformError outside of a level, DTypeError and ShapeError.

    Examples:
        >>> import staticgrad.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(sg.tensor(2.0), sg.tensor(1.0))
        ...     fwAD.unpack_dual(x**3).tangent
        tensor(12.)
    """
    current = _current()
    if current is None:
        raise TransformError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.",
            "with forward_ad.dual_level(): ...",
        )
    for name, x in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(x, Operators):
            raise ArgumentError(f"Expected {name} to be a tensor, but got: {type(x).__name__}")
        if x.dtype.kind not in INEXACT:
            raise DTypeError(f"Expected {name} to be floating point or complex, but got: {x.dtype}")
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise ShapeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {shape_text(tensor.shape)} while the given forward gradient is of size "
            f"{shape_text(tangent.shape)}."
        )
    return Dual(current, tensor, F.astype(tangent, tensor.dtype))


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor and its tangent, which is None for a tensor that has none, and outside of a level."""
    if isinstance(tensor, Dual) and tensor.level is _current():
        return UnpackedDualTensor(tensor.value, tensor.tangent)
    return UnpackedDualTensor(tensor, None)


class dual_level:
    """A level of tensors with tangents, as a context manager or decorator."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        exit_dual_level()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call
