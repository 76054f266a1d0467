"""The op record.

One op is one record in one place (`staticgrad/ops/`). The engine reads records; it knows no op by name.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from types import FrameType
from typing import Any, ParamSpec

import numpy as np

from ..base.dtypes import DERIVED, HALF
from ..base.tables import LateTable, record
from ..base.types import StackType, TensorType, TupleType
from ..errors import PACKAGE_DIR, ArgumentError, DTypeError, GraphError
from .lowering import Effect, Emit, Layout, Leaf, Native, Pointwise, Region, Result, View

__all__ = [
    "Attribute", "built_in", "define", "derivation", "enter", "lasting", "node_name", "OpDef", "over", "over_types",
    "OverComplex", "Range", "REGISTRY",
]  # fmt: skip


@record()
class OverComplex:
    """How an op computes with complex numbers, where that does not follow from its record; see `ops/over_complex.py`."""

    rule: str
    """"linear": the cotangent rules hold as they are, because their coefficients are real. "holomorphic": they hold for the
    conjugates, because the op has a complex derivative. "own": the record itself is written for complex numbers, and so are
    the fields below."""
    infer: Callable[..., TensorType] | None = None
    eval: Callable[..., Any] | None = None
    vjp: Any = None
    jvp: Callable[..., Any] | None = None
    parts: Callable[..., Any] | None = None
    """How kernels compute it: `(node, *operands)` in this library's ops over real numbers. A complex operand or result is a
    pair (real parts, imaginary parts). None: it follows where the op is linear in all its complex operands, or in each of
    them; the host computes others."""
    emit: Any = None
    """How plans compute it, where native code or other ops take complex numbers as a whole; see `OpDef.emit`."""


@record()
class Attribute:
    """The constraint on an attribute: `holds(value, types of the operands)`, and the same in words for errors."""

    what: str
    holds: Callable[[Any, Sequence[TensorType]], bool]
    optional: bool = False
    shifted: Callable[[Any], Any] | None = None
    """Of one that names axes: the value where every operand has one more axis in front."""
    numeric: bool = False
    """Whether it is a number of class float."""


Fields = ParamSpec("Fields")
Range = tuple[int, int] | None
"""The least and the largest integer that a value can hold; None where nothing is known."""

Promote = Callable[[Sequence[Any]], Sequence[np.dtype | None]]


@record(eq=False)
class OpDef:
    """One op, for every mode.

    infer(*types, **attrs) -> TensorType
        The result's type; raises ShapeError, DTypeError or ArgumentError. Extents may be None.
    eval(*arrays, **attrs) -> ndarray
        The meaning in NumPy, used by eager mode, the interpreter and the plan's fallback.
    vjp
        One function per input, `(g, node, out, *inputs) -> cotangent`, written in this library's ops: it runs on eager
        tensors or appends to a graph, and differentiates again. An entry None means that no gradient flows to this
        input. For a variadic op: a function of the input's position that returns such a function. None for the op:
        its result does not depend smoothly on anything (comparisons, argmax).
    emit
        How it looks in a plan; None: the plan calls `eval` from the host.
    promote(operands) -> dtypes
        The dtypes to which inputs are cast before `infer` (None: no cast). Operands are TensorTypes or plain numbers.
    """

    def __reduce__(self) -> Any:
        """A record of the table by its name, one over other dtypes by that of which it was made."""
        if self in BASES:
            key = next(key for (key, _), made in OVER.items() if made is self)
            return over, (BASES[self], next(dtype for dtype in DERIVED if key == ("half" if dtype in HALF else dtype.kind)))
        if REGISTRY.get(self.name) is not self:
            raise GraphError(f"the operation {self.name} belongs to this process, and can't be pickled")
        return _of_name, (self.name,)

    name: str
    infer: Callable[..., TensorType]
    eval: Callable[..., Any]
    vjp: Any = None
    emit: Emit = None
    promote: Promote | None = None
    symbol: str = ""
    """The symbol between two operands in error messages: `@` for matmul."""
    doc: str = field(default="", repr=False)
    vjp_all: Callable[..., Any] | None = None
    """`(g, node, wanted, *inputs) -> cotangents`: all cotangents at once, where they share work. `wanted`: for which
    inputs; None where there is none. `vjp` then only says where gradients flow."""
    vjp_add: Callable[..., None] | None = None
    """`(total, g, node)`: adds the cotangent of the first operand, which is 0 except in a part, to an array in place. For
    eager mode, where many parts of one tensor would each bring an array of its size."""
    shape_only: tuple[int, ...] = ()
    """Inputs of which only the shape is read: no value has to exist for them."""
    equals: int | None = None
    """The input to which the result is equal except for rounding: fast numerics use it, and drop the others."""
    sparse: bool = False
    """Whether most of the result is 0: its operands are smaller and hold the same information."""
    attrs: Mapping[str, Attribute] = field(default_factory=dict, repr=False)
    """The constraints on its attributes. `typed` refuses other values, so that `eval` and kernels can rely on them."""
    indexes: Callable[[Sequence[TensorType], Mapping[str, Any]], Sequence[tuple[int, int, int]]] | None = None
    """`indexes(types, attrs)`: (number of an operand, number of another, axis) where native code takes the integers of the
    first as positions along that axis of the second. The compiler checks those that it can't prove to be in range; see
    `compiler/passes/specialize.py`."""
    range: Callable[..., Range] | None = None
    """`range(types, attrs, *ranges of the operands)`: the range of integers in the result."""
    fails: bool | None = None
    """Whether it may raise an error for the values of operands that it accepts, so that no compiled function may drop it. None:
    as its native code has a check; an op that the host computes may."""
    stateful: bool = False
    """Whether `eval` does more than compute its result, as printing: a node is never merged with another of its kind."""
    exchanges: bool = False
    """Whether it exchanges values with other processes: all perform such operations in the same order."""
    sized: bool = False
    """Whether extents of the result depend on values: its type leaves them open, and the run decides them."""
    draws: bool = False
    """Whether the first operand is the (seed, draw) of a random generator, and every element of the result a function of it."""
    backward: str | Callable[[Any], str] = ""
    """PyTorch's name of its derivative, where that does not follow from `name`: `UnsqueezeBackward0`; or a function that finds
    it from a node, or a record of the tape."""
    prepared: Callable[[Any], Callable[..., Any]] | None = None
    """`prepared(node)`: `eval` as a function of operands of the node's types alone. For views, checks and searches, whose
    `eval` takes longer to find out what to do than to do it. It computes nothing of which NumPy could warn."""
    batch: Callable[..., Any] | None = None
    """The batching rule: `(samples, node, *operands) -> result`, the op on many samples at once. Operands that
    `samples.flags` marks have an axis of samples in front of the axes that `node` knows, and so has the result, unless it is
    the same for all. None: the rule follows from `emit` and `attrs`; see `ops/rules.py`."""
    jvp: Callable[..., Any] | None = None
    """The forward-mode rule: `(node, out, primals, tangents) -> tangent`; a tangent that is None is 0. None: the rule
    follows from `emit` and `vjp`; see `autodiff/forward.py`."""
    written: Callable[..., Any] | None = None
    """Of an op whose result in eager mode is a view that no `View` describes, because its elements are parts of the
    operand's: `(operand, value)`, the operand whose view has that value."""
    opened: Callable[..., Any] | None = None
    """`opened(operand, attrs)`: for attributes with numbers of Python in them that each run finds anew, an equal value, which
    is no view, and attributes without such numbers that give a result of the same layout; None where the numbers can't be
    followed."""
    complex: OverComplex | None = None
    """How it computes with complex numbers. None: it follows from `emit` and `jvp`, or the op refuses them."""
    stored: bool | Callable[..., Any] = False
    """How it computes with dtypes that kernels only load and store, see `ops/over_complex.py`. True: the record holds for them
    as it is, because it only moves values; a function: with this `eval`. False: in float32, or by the host."""
    memory: str | Callable[[tuple[int, ...], Sequence[Layout]], Layout] = ""
    """Where eager mode has the result: "rows", in row-major order; "operands", in the order of axes that the operands have, as
    NumPy's ufuncs; "shared" with the operand; or a function of the result's shape and the layouts of the operands. "": for an
    elementwise op "operands", for another one "rows"; a view has its own rule."""
    identity: str = field(default="", repr=False)
    """Of an op of the user's: all that its results follow from, the same in each process. "": plans with it are not kept."""
    plain: OpDef = field(init=False, repr=False)
    """The record itself; of one that `over` made, the record that it was made of."""
    aliases: bool = field(init=False, repr=False, default=False)
    """Whether the result shares the operand's memory in eager mode."""
    leaf: str = field(init=False, repr=False, default="")
    """The kind of a leaf, "" for other ops."""
    effect: str = field(init=False, repr=False, default="")
    """The kind of an effect, "" for other ops."""
    eager_least: int = field(init=False, repr=False, compare=False, default=0)
    """The number of elements of the first operand from which eager mode looks for a kernel; see
    `eager/calls/op_calls.py`. 0: not determined yet."""
    numeric: bool = field(init=False, repr=False, default=False)
    """Whether an attribute is a number of class float, of which 0.0 and -0.0 are two values that Python calls equal."""
    by_rules: bool = field(init=False, repr=False, default=False)
    """Whether `vjp` alone says what a backward pass does: there is neither `vjp_all` nor `vjp_add`."""
    product: bool = field(init=False, repr=False, default=False)
    """Whether it is a product of matrices. Where one of them is a vector, NumPy calls the BLAS routine, sooner than a kernel
    is called."""
    copies: bool = field(init=False, repr=False, default=False)
    """Whether it copies its operand to memory of its own."""
    pure: bool = field(init=False, repr=False, default=True)
    """Whether the result depends only on inputs and attributes, so that the node may be interned, moved or dropped."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "plain", self)
        put(self, "aliases", isinstance(self.emit, View) or self.written is not None)
        put(self, "leaf", self.emit.kind if isinstance(self.emit, Leaf) else "")
        put(self, "effect", self.emit.kind if isinstance(self.emit, Effect) else "")
        put(self, "numeric", any(kind.numeric for kind in self.attrs.values()))
        put(self, "by_rules", self.vjp_all is None and self.vjp_add is None)
        put(self, "product", isinstance(self.emit, Native) and self.emit.scales)
        put(self, "copies", "row_major" in self.attrs)
        if not self.memory:
            put(self, "memory", "operands" if isinstance(self.emit, Pointwise) else "rows")
        if self.fails is None:
            put(self, "fails", self.emit is None or (isinstance(self.emit, Native) and self.emit.check is not None))
        put(self, "pure", self.leaf in ("", "constant", "shape") and not self.effect and not self.stateful)

    def vjp_for(self, i: int) -> Callable[..., Any] | None:
        """The cotangent function of input `i`, or None when no gradient flows there."""
        if self.vjp is None:
            return None
        return self.vjp(i) if callable(self.vjp) else self.vjp[i]

    @property
    def checks(self) -> bool:
        """Whether the result is the first operand, checked: an index, say."""
        return self.vjp is None and isinstance(self.emit, Native) and self.emit.check is not None

    def typed(self, types: Sequence[TensorType], attrs: Mapping[str, Any]) -> TensorType:
        """The result's type, after a check of all that `eval` and kernels rely on: the number of operands, their dtypes,
        every attribute, the size of the result. Raises ArgumentError, DTypeError, ShapeError."""
        self.check_arity(len(types))
        for t in types:
            if isinstance(t, (StackType, TupleType)) and self.equals is None and not isinstance(self.emit, (Region, Result)):
                raise ArgumentError(f"{self.name} can't take {t}", "only loops, branches and their results can")
        self.check_attrs(types, attrs)
        if self.promote is not None:
            for i, (t, dtype) in enumerate(zip(types, self.promote(types), strict=True)):
                if dtype is not None and t.dtype != dtype:
                    raise DTypeError(f"{self.name}: operand {i} has to be {dtype} here, got {t.dtype}", "cast it first")
        result = self.infer(*types, **attrs)
        result.check_size()
        return result

    def check_arity(self, given: int) -> None:
        """Raises ArgumentError unless the op takes so many operands."""
        least, most = arity(self)
        if given < least or (most is not None and given > most):
            takes = f"{least}" if most == least else f"{least} or more" if most is None else f"{least} to {most}"
            raise ArgumentError(f"{self.name} takes {takes} operand{'' if takes == '1' else 's'}, got {given}")

    def check_attrs(self, types: Sequence[TensorType], attrs: Mapping[str, Any]) -> None:
        """Raises ArgumentError for an attribute that is absent, unknown, or against the record's constraint."""
        for name, kind in self.attrs.items():
            if name not in attrs:
                if not kind.optional:
                    raise ArgumentError(f"{self.name}: the attribute {name} is missing", f"it is {kind.what}")
            elif not kind.holds(attrs[name], types):
                raise ArgumentError(f"{self.name}: {name} has to be {kind.what}, got {_short(attrs[name])}")
        for name in attrs:
            if name not in self.attrs:
                raise ArgumentError(f"{self.name} has no attribute {_short(name)}")

    def grad_name(self, node: Any) -> str:
        """The name that PyTorch shows for the derivative of a node, or of a record of the tape: `AddBackward0`."""
        return self.backward(node) if callable(self.backward) else self.backward or node_name(self.name)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def node_name(name: str) -> str:
    """PyTorch's name of the derivative of a function: that of `log1p` is `Log1PBackward0`."""
    return name.title().replace("_", "") + "Backward0"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


@cache
def arity(op: OpDef) -> tuple[int, int | None]:
    """The least and the largest number of operands; None for any."""
    if isinstance(op.emit, Leaf):
        return 0, 0
    if isinstance(op.vjp, tuple):
        return len(op.vjp), len(op.vjp)
    if isinstance(op.eval, np.ufunc):
        return op.eval.nin, op.eval.nin
    given = inspect.signature(op.infer).parameters.values()
    least = sum(p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in op.attrs for p in given)
    return least, None if any(p.kind is p.VAR_POSITIONAL for p in given) else least


REGISTRY: LateTable[OpDef] = LateTable()
derivation: LateTable[Callable[[OpDef], OpDef]] = LateTable()
"""The functions that make records over other dtypes, by the kind of these; `ops/over_complex.py` enters
them."""
OVER: dict[tuple[str, OpDef], OpDef] = {}
"""The records that were needed so far."""
BASES: dict[OpDef, OpDef] = {}
"""Of each record that was made, the one that it was made of."""
OWN: set[OpDef] = set()
"""The records of the table that a module of the package enters while it is imported, whoever imports it, and when."""


def _of_name(name: str) -> OpDef:
    return REGISTRY[name]


def over(op: OpDef, dtype: np.dtype) -> OpDef:
    """The record of the same op over one of the dtypes in `DERIVED`. Raises DTypeError where there is none.

    It is a record of its own, so rules of rewriting, kernels and everything else that is made for the op over numbers with
    which kernels compute leave it alone.
    """
    if op in BASES:  # complex numbers come first: no kernel has them
        return over(BASES[op], dtype) if dtype.kind == "c" else op
    key = "half" if dtype in HALF else dtype.kind, op
    made = OVER.get(key)
    if made is None:
        made = OVER[key] = derivation[key[0]](op)
        if made is not op:
            BASES[made] = op
            if made.plain is made:
                object.__setattr__(made, "plain", op)
    return made


def over_types(op: OpDef, types: Iterable[Any]) -> OpDef:
    """The record of an op for operands and results of these types; it is another one where a dtype is in `DERIVED`."""
    for kind in types:
        if kind.dtype in DERIVED:
            op = over(op, kind.dtype)
    return op


def lasting(op: OpDef) -> bool:
    """Whether a record means the same to whoever meets it later: it is in the table, or has an identity of its own, or was made
    of such a one. Others belong to one call."""
    return REGISTRY.get(op.name) is op or op.identity != "" or (op in BASES and lasting(BASES[op]))


def enter(op: OpDef) -> OpDef:
    """Enter a record in the table. Raises ArgumentError when the name is taken."""
    if op.name in REGISTRY:
        raise ArgumentError(f"an op named {op.name!r} is defined already")
    REGISTRY[op.name] = op
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE_DIR):  # users call helpers of the package, too
        if frame.f_code.co_name == "<module>":
            OWN.add(op)
            break
        frame = frame.f_back
    return op


def built_in(op: OpDef) -> bool:
    """Whether a record is the package's own, which its version describes, or made of such a one, and not one that users
    define."""
    return op in OWN or (op in BASES and built_in(BASES[op]))


def _entering(make: Callable[Fields, OpDef]) -> Callable[Fields, OpDef]:
    def define(*args: Fields.args, **fields: Fields.kwargs) -> OpDef:
        """Make a record of these fields and enter it in the table. Raises ArgumentError when the name is taken."""
        return enter(make(*args, **fields))

    return define


define = _entering(OpDef)
