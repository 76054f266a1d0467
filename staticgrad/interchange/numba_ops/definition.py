"""`sg.njit_op`: functions that users compile with Numba, as ops of all modes.

A definition makes one op record for each combination of dtypes. Its `eval` and its `emit` call the same machine code. A
function of numbers that can't raise becomes part of kernels; any other is called by a kernel of its own, for one item of the
batch after the other. Several results are one value, one after another, of which each is a part.
"""

from __future__ import annotations

import ctypes
import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, Literal, NamedTuple

import numpy as np

from ...autodiff.batching import Samples
from ...base.dtypes import SHORT, SUPPORTED
from ...base.tables import Bounded
from ...base.types import TensorType, bool_, broadcast_shapes, get_default_dtype, is_scalar, shape_text, type_of
from ...eager import no_grad
from ...eager.conversion import as_tensor
from ...errors import (
    ArgumentError,
    CompileError,
    DTypeError,
    GradientError,
    ShapeError,
    StaticgradError,
    UnknownExtentError,
    Where,
)
from ...ir import REGISTRY, Native, OpDef, Pointwise, Routine
from ...namespaces.func import vmap
from ...ops.operators import F, Tensor, apply
from ...ops.rules import with_axes
from . import branches

Axis = str | int
"""An axis by its letter, or an extent."""
Shape = tuple[int, ...]
CORE = r"\(\s*(?:\w+(?:\s*,\s*\w+)*\s*,?)?\s*\)"
FORM = re.compile(rf"\s*({CORE}(?:\s*,\s*{CORE})*)\s*->\s*({CORE}(?:\s*,\s*{CORE})*)\s*")


class Signature(NamedTuple):
    """The axes of one item of each operand and of each result. Further axes in front are those of a batch, and broadcast.
    rule: where it is given, the function of the operands' shapes that gives those of the results."""

    operands: tuple[tuple[Axis, ...], ...]
    results: tuple[tuple[Axis, ...], ...]
    rule: Callable[..., Any] | None = None

    @property
    def elementwise(self) -> bool:
        """Whether an item of everything is a number."""
        return not any((*self.operands, *self.results))

    def batch(self, shapes: Sequence[Shape], name: str) -> Shape:
        """The shape of the batch. Raises ShapeError."""
        leads = []
        for shape, core in zip(shapes, self.operands, strict=True):
            if len(shape) < len(core):
                raise ShapeError(f"{name}: an operand {text(core)} has at least {len(core)} axes, got {shape_text(shape)}")
            leads.append(shape[: len(shape) - len(core)])
        return broadcast_shapes(*leads)

    def extents(self, shapes: Sequence[Shape], name: str) -> dict[Axis, Any]:
        """The extent of each axis, None where it is unknown. Raises ShapeError."""
        found: dict[Axis, Any] = {}
        for shape, core in zip(shapes, self.operands, strict=True):
            for axis, extent in zip(core, shape[len(shape) - len(core) :], strict=True):
                known = axis if isinstance(axis, int) else found.get(axis)
                if known is None or extent is None:
                    found[axis] = extent if known is None else known
                elif known != extent:
                    raise ShapeError(f"{name}: {axis} is {known} and {extent} in {', '.join(map(shape_text, shapes))}")
                else:
                    found[axis] = known
        if self.rule is not None:
            for core, shape in zip(self.results, shapes_by(self.rule, shapes, name), strict=True):
                found.update(zip(core, shape, strict=True))
        found.update({axis: axis for core in self.results for axis in core if isinstance(axis, int)})
        return found

    def reverse(self) -> Signature:
        """That of the derivative: from the cotangents of the results and the operands to the cotangents of the operands."""
        return Signature((*self.results, *self.operands), self.operands)

    def __str__(self) -> str:
        return f"{','.join(map(text, self.operands))}->{','.join(map(text, self.results))}"


def text(core: Sequence[Axis]) -> str:
    """The axes of an item."""
    return f"({','.join(map(str, core))})"


def parsed(given: str) -> Signature:
    """The signature of a text. Raises ArgumentError."""
    found = FORM.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise ArgumentError(f"no signature: {given!r}", 'write one as "(n,m),(m)->(n)"; () is a number')
    operands, results = (tuple(map(_axes, re.findall(CORE, side))) for side in found.groups())
    unknown = {axis for core in results for axis in core if isinstance(axis, str)}.difference(*operands)
    if unknown:
        raise ArgumentError(
            f"no operand has the axis {min(unknown)} of {given!r}", "write its extent, or give shape= instead of a signature"
        )
    return Signature(operands, results)


def _axes(core: str) -> tuple[Axis, ...]:
    return tuple(int(axis) if axis.isdigit() else axis for axis in re.findall(r"\w+", core))


def of_numbers(operands: int, results: int = 1) -> Signature:
    """That of a function of numbers."""
    return Signature(((),) * operands, ((),) * results)


def by_rule(rule: Callable[..., Any], shapes: Sequence[Shape], name: str) -> Signature:
    """The signature for operands of such ranks, where a function gives the shape of the result, or a list of several. Raises
    ShapeError."""
    operands = tuple(tuple(f"{name}{i}" for i in range(len(shape))) for name, shape in zip(_letters("x"), shapes, strict=False))
    found = shapes_by(rule, shapes, name)
    results = tuple(tuple(f"{name}{i}" for i in range(len(shape))) for name, shape in zip(_letters("y"), found, strict=False))
    return Signature(operands, results, rule)


def _letters(letter: str) -> Iterator[str]:
    return (f"{letter}{i}_" for i in count())


def shapes_by(rule: Callable[..., Any], shapes: Sequence[Shape], name: str) -> list[Shape]:
    """The shapes of the results by a function of the user's. Raises ShapeError."""
    if any(None in shape for shape in shapes):
        raise UnknownExtentError(f"{name}: extents are unknown", "give the placeholders known extents")
    found = rule(*shapes)
    results = found if isinstance(found, list) else [found]
    for shape in results:
        if not isinstance(shape, tuple) or not all(isinstance(extent, int) and extent >= 0 for extent in shape):
            raise ShapeError(f"{name}: shape= has to give a tuple of extents, or a list of tuples, got {found!r}")
    return results


# definitions ----------------------------------------------------------------------------------------------------------

Rule = Callable[..., Any]
Kinds = tuple[tuple[np.dtype, int], ...]
"""(dtype, rank of an item) of each operand."""
Derivative = Callable[..., Any] | Literal["code"] | None
RECENT = 64
"""The combinations of dtypes that are told by one look."""
CODE: Literal["code"] = "code"
"""The derivative follows from the function's code."""
CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Definition:
    """A function under `@njit` as an op. signature: of the items, None where `rule` gives shapes."""

    def __init__(self, function: Any, signature: Signature | None, rule: Rule | None, vjp: Any, *, cotangents: bool = False):
        """cotangents: the results are of the floating dtype of the operands, whatever the function gives."""
        from ...compiler.backend import numba_functions

        self.numba = numba_functions
        self.function, self.signature, self.rule, self.vjp, self.cotangents = function, signature, rule, vjp, cotangents
        self.made: dict[Kinds, Any] = {}
        self.recent: Bounded[Record] = Bounded(RECENT)
        """By the dtypes of the operands, or the classes of numbers."""
        self.records: dict[tuple[Kinds, Signature], Record] = {}
        self.name = function.py_func.__name__
        code = function.py_func.__code__
        self.where = Where(code.co_filename, code.co_firstlineno)
        self.declared = self._checked(lambda: numba_functions.declared(function))
        if signature is not None:
            for kinds in self.declared:
                if [kind.rank for kind in kinds] != [*map(len, signature.operands)]:
                    raise ShapeError(
                        f"{self.name} is declared for operands of {[kind.rank for kind in kinds]} axes, and its signature is "
                        f"{signature}", where=self.where
                    )  # fmt: skip
                self.record([kind.dtype for kind in kinds], signature)

    # calls --------------------------------------------------------------------------------------------------------------

    def __call__(self, operands: Sequence[Any]) -> Any:
        """The op on tensors, arrays and numbers."""
        key = (get_default_dtype(), *[x.dtype if isinstance(x, (Tensor, np.ndarray)) else x.__class__ for x in operands])
        record = self.recent.get(key)
        if record is not None:
            return record.call(operands)
        values, _, record = self.found(operands)
        if self.rule is None and all(map(operator.is_, values, operands)):
            self.recent[key] = record
        return record.call(values)

    def check(self, operands: Sequence[Any]) -> None:
        """Raises what calls with such operands would raise before anything is computed."""
        values, dtypes, record = self.found(operands)
        record.op.infer(*(TensorType(_shape(x), dtype) for x, dtype in zip(values, dtypes, strict=True)))

    def found(self, operands: Sequence[Any]) -> tuple[list[Any], list[np.dtype], Record]:
        """The operands as tensors, arrays and numbers, their dtypes, and the op for them."""
        values = [x if is_scalar(x) or isinstance(x, (Tensor, np.ndarray)) else as_tensor(x) for x in operands]
        signature = self.signature
        if signature is None:
            assert self.rule is not None
            signature = by_rule(self.rule, [*map(_shape, values)], self.name)
        dtypes = self.dtypes([None if is_scalar(x) else np.dtype(x.dtype) for x in values], values)
        return values, dtypes, self.record(dtypes, signature)

    def dtypes(self, given: Sequence[np.dtype | None], values: Sequence[Any]) -> list[np.dtype]:
        """The dtypes of the operands: floats are promoted together, and numbers to them; others keep theirs."""
        floats = [dtype for dtype in given if dtype is not None and dtype.kind == "f"]
        real = max(floats, key=lambda dtype: dtype.itemsize) if floats else get_default_dtype()
        found = []
        for dtype, value in zip(given, values, strict=True):
            kind = np.asarray(value).dtype.kind if dtype is None else dtype.kind
            if kind not in "fiub":
                raise DTypeError(f"{self.name}: an operand is {dtype}", "operands are real numbers, integers or booleans")
            found.append(real if kind == "f" else dtype if dtype is not None else np.dtype(bool if kind == "b" else np.int64))
        if not self.declared:
            return found
        for kinds in self.declared:
            if all(np.can_cast(a, kind.dtype, "same_kind") for a, kind in zip(found, kinds, strict=True)):
                return [kind.dtype for kind in kinds]
        declared = " or ".join(_dtypes_text([kind.dtype for kind in kinds]) for kinds in self.declared)
        raise DTypeError(
            f"{self.name} is declared for {declared}, and got {_dtypes_text(found)}",
            "declare it for these dtypes too, or leave its signature out",
        )

    def record(self, dtypes: Sequence[np.dtype], signature: Signature) -> Record:
        """The op for operands of these dtypes. Raises CompileError."""
        kinds = tuple((dtype, len(core)) for dtype, core in zip(dtypes, signature.operands, strict=True))
        if signature.elementwise:
            signature = of_numbers(len(kinds), len(self._checked(lambda: self.compiled(kinds)).results))
        key = kinds, signature
        if key not in self.records:
            self.records[key] = self._checked(lambda: Record(self, kinds, signature))
        return self.records[key]

    def compiled(self, kinds: Kinds) -> Any:
        """The function for operands of these kinds."""
        if kinds not in self.made:
            self.made[kinds] = self.numba.Compiled(self.function, [self.numba.OperandType(*kind) for kind in kinds], self.name)
        return self.made[kinds]

    def _checked(self, make: Callable[[], Any]) -> Any:
        """What `make` returns. Numba's errors name the user's line."""
        try:
            return make()
        except StaticgradError:
            raise
        except self.numba.Unsupported as why:
            raise CompileError(f"{self.name}: {why}", where=self.where) from None
        except self.numba.ERRORS as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            advice = ["operands can't be written: return what is new"] if "Cannot modify readonly array" in str(error) else []
            raise CompileError(f"{self.name} does not compile", *advice, *lines, where=self.where) from error


def _dtypes_text(dtypes: Sequence[np.dtype]) -> str:
    return f"({', '.join(map(str, dtypes))})"


def _shape(x: Any) -> Shape:
    return () if is_scalar(x) else tuple(x.shape)


class Record:
    """An op of a definition, for operands of these dtypes and ranks."""

    def __init__(self, definition: Definition, kinds: Kinds, signature: Signature):
        self.of, self.kinds, self.signature = definition, kinds, signature
        self.name = definition.name
        self.compiled = definition.compiled(kinds)
        self._check_results()
        self.dtype = self._dtype()
        letters = [*dict.fromkeys(axis for core in (*signature.operands, *signature.results) for axis in core)]
        self.letters = {axis: i for i, axis in enumerate(letters)}
        axes = [[self.letters[axis] for axis in core] for core in (*signature.operands, *signature.results)]
        self.several = len(signature.results) > 1
        self.checked = self.compiled.raises or any(signature.results)
        self.kernel = self.compiled.kernel(self.dtype, axes, self.checked)
        self.smooth = self.dtype.kind == "f"
        self.op = self._record()

    def _check_results(self) -> None:
        found, expected = self.compiled.results, self.signature.results
        if len(found) != len(expected) or [kind.rank for kind in found] != [*map(len, expected)]:
            ranks = ", ".join("a number" if not kind.rank else f"an array of {kind.rank} axes" for kind in found)
            raise ShapeError(
                f"{self.name} gives {ranks}, and the signature is {self.signature}",
                "without a signature, a function takes and gives numbers" if self.signature.elementwise else "",
                where=self.of.where,
            )

    def _dtype(self) -> np.dtype:
        """The dtype of the results: where both are floats, that of the operands."""
        floats = [dtype for dtype, _ in self.kinds if dtype.kind == "f"]
        results = {kind.dtype for kind in self.compiled.results}
        real = floats[0] if floats else None
        if real is not None and (self.of.cotangents or all(dtype.kind == "f" for dtype in results)):
            return real
        if len(results) > 1:
            raise DTypeError(
                f"{self.name} gives results of several dtypes: {', '.join(sorted(map(str, results)))}",
                "give results of one dtype, or make two operations",
                where=self.of.where,
            )
        dtype: np.dtype = next(iter(results))
        if dtype not in SUPPORTED or dtype.kind == "c":
            raise DTypeError(f"{self.name} gives a result of {dtype}, which an operation of Numba's can't", where=self.of.where)
        return dtype

    # the record -----------------------------------------------------------------------------------------------------------

    def _record(self) -> OpDef:
        dtypes = [dtype for dtype, _ in self.kinds]
        symbol = self.compiled.symbol
        fused = self.compiled.inline(self.dtype) if self.signature.elementwise and not self.several else ""
        emit: Pointwise | Native
        if fused:
            suffix = SHORT[dtypes[-1]] if dtypes[-1].kind in "fb" else "int"
            types = ["np.bool_" if dtype == bool_ else f"np.{dtype.name}" for dtype in (self.dtype, *dtypes)]
            code = f"{symbol}_{suffix} = linked({symbol!r}, {types[0]}, ({', '.join(types[1:])},), '''\n{fused}''')\n"
            emit = Pointwise(symbol, self.compiled.cost, code=code)
        else:
            emit = Native(self._plan, check=self._failed if self.checked else None, again=self._again if self.checked else None)
        vjp, vjp_all = self._vjp()
        return OpDef(
            name=f"{self.name}_njit" if self.name in REGISTRY else self.name, infer=self._infer, eval=self._eval, vjp=vjp,
            vjp_all=vjp_all, emit=emit, promote=lambda operands: dtypes, identity=self.kernel.symbol,
            doc=f"{self.name} of {self.of.where.short}, compiled by Numba.", batch=None if fused else self._batch,
        )  # fmt: skip

    def _infer(self, *types: TensorType) -> TensorType:
        shapes = [t.shape for t in types]
        batch, extents = self.signature.batch(shapes, self.name), self.signature.extents(shapes, self.name)
        if not self.several:
            return TensorType((*batch, *(extents[axis] for axis in self.signature.results[0])), self.dtype)
        sizes = self._sizes(batch, extents)
        return TensorType((None if None in sizes else sum(sizes),), self.dtype)

    def _sizes(self, batch: Shape, extents: dict[Any, Any]) -> list[Any]:
        """The elements of each result."""
        found = []
        for core in self.signature.results:
            shape = (*batch, *(extents[axis] for axis in core))
            found.append(None if None in shape else math.prod(shape))
        return found

    def call(self, values: Sequence[Any]) -> Any:
        """The op, and its results."""
        if isinstance(self.op.emit, Pointwise):
            return apply(self.op, *values)
        shapes = [*map(_shape, values)]
        batch = self.signature.batch(shapes, self.name)
        whole = apply(self.op, *self._spread(values, shapes, batch))
        return self._parts(whole, batch, self.signature.extents(shapes, self.name)) if self.several else whole

    def _spread(self, values: Sequence[Any], shapes: Sequence[Shape], batch: Shape) -> list[Any]:
        """The operands with all axes of the batch, or none."""
        found = []
        for x, shape, core in zip(values, shapes, self.signature.operands, strict=True):
            lead = shape[: len(shape) - len(core)]
            if lead and lead != batch:
                if None in (*batch, *shape):
                    raise UnknownExtentError(
                        f"{self.name}: extents of the batch are unknown", "give the placeholders known extents"
                    )
                x = F.broadcast_to(x, (*batch, *shape[len(lead) :]))
            found.append(x)
        return found

    def _unknown_parts(self, whole: Any, batch: Shape) -> tuple[Any, ...]:
        """The results of a function of numbers, where an extent is unknown."""
        count, shape = len(self.signature.results), tuple(-1 if extent is None else extent for extent in batch)
        rows = F.reshape(whole, (count, -1))
        return tuple(F.reshape(rows[i], shape) for i in range(count))

    def _parts(self, whole: Any, batch: Shape, extents: dict[Any, Any]) -> tuple[Any, ...]:
        """The results, from the value that holds one after another."""
        found, at = [], 0
        for core, size in zip(self.signature.results, self._sizes(batch, extents), strict=True):
            if size is None and self.signature.elementwise and batch.count(None) == 1:
                return self._unknown_parts(whole, batch)
            if size is None:
                raise UnknownExtentError(
                    f"{self.name}: extents are unknown, and it has several results", "give the placeholders known extents"
                )
            found.append(F.reshape(whole[at : at + size], (*batch, *(extents[axis] for axis in core))))
            at += size
        return tuple(found)

    # values -----------------------------------------------------------------------------------------------------------------

    def _arguments(self, shapes: Sequence[Shape]) -> tuple[Shape, list[Any]]:
        """The batch, and the sizes that the kernel gets."""
        batch, extents = self.signature.batch(shapes, self.name), self.signature.extents(shapes, self.name)
        steps = [
            0 if len(shape) == len(core) else math.prod(shape[len(shape) - len(core) :])
            for shape, core in zip(shapes, self.signature.operands, strict=True)
        ]
        starts = [0]
        for size in self._sizes(batch, extents)[:-1]:
            starts.append(starts[-1] + size)
        return batch, [*steps, *starts, *(extents[axis] for axis in self.letters)]

    def _eval(self, *arrays: np.ndarray) -> np.ndarray:
        out_type = self._infer(*map(type_of, arrays))
        batch = self.signature.batch([x.shape for x in arrays], self.name)
        given = []
        for x, core in zip(arrays, self.signature.operands, strict=True):
            lead = x.ndim - len(core)
            if lead and x.shape[:lead] != batch:
                x = np.broadcast_to(x, (*batch, *x.shape[lead:]))
            given.append(np.ascontiguousarray(x).reshape(x.shape))
        _, sizes = self._arguments([x.shape for x in given])
        out, status = np.empty(out_type.shape, self.dtype), np.zeros(4, np.int64)
        addresses = np.array([x.ctypes.data for x in (*given, out, status)], np.int64)
        numbers = np.array(sizes, np.int64)
        CALL(self.kernel.address())(addresses.ctypes.data, numbers.ctypes.data, 0, math.prod(batch))
        if status[0]:
            raise self._again(addresses.tolist(), sizes, int(status[1]))
        return out

    def _plan(self, node: Any, layouts: Any) -> list[Routine]:
        shapes = [x.type.shape for x in node.inputs]
        batch, sizes = self._arguments(shapes)
        span = math.prod(batch)
        item = max([1, *[math.prod(shape[len(shape) - rank :]) for shape, (_, rank) in zip(shapes, self.kinds, strict=True)]])
        why = "which may raise an exception" if self.compiled.raises else "which takes or gives arrays"
        work = 0 if self.compiled.alone else span * item * self.compiled.cost
        return [
            Routine(
                "", self.kernel.symbol, span, tuple(sizes), work, name=self.name, chunked=False,
                why=f"a function of {self.of.where.short} {why}",
            )
        ]  # fmt: skip

    def _failed(self, node: Any, number: int) -> StaticgradError:
        return CompileError(f"{self.name} failed", where=self.of.where)

    def _again(self, addresses: Sequence[int], sizes: Sequence[int], number: int) -> Exception:
        """The exception that the function raises for an item of the batch."""
        count, results = len(self.kinds), len(self.signature.results)
        extents = dict(zip(self.letters, sizes[count + results :], strict=True))
        items = []
        for address, step, (dtype, _), core in zip(addresses, sizes, self.kinds, self.signature.operands, strict=False):
            shape = tuple(extents[axis] for axis in core)
            size = math.prod(shape) * dtype.itemsize
            memory = (ctypes.c_char * size).from_address(address + step * number * dtype.itemsize)
            item = np.frombuffer(bytes(memory), dtype).reshape(shape)
            items.append(item if shape else item[()])
        try:
            found = self.compiled.function(*items)
        except Exception as error:
            error.add_note(
                f"in {self.name} ({self.of.where.short}), item {number} of the batch; nothing was changed by this run"
            )
            return error
        given = found if isinstance(found, tuple) else (found,)
        shapes = ", ".join(shape_text(np.shape(x)) for x in given)
        expected = ", ".join(shape_text(tuple(extents[axis] for axis in core)) for core in self.signature.results)
        return ShapeError(f"{self.name} gives shape {shapes}, and it is declared as {expected}", where=self.of.where)

    def _batch(self, samples: Samples, node: Any, *operands: Any) -> Any:
        if self.signature.rule is not None:
            return samples.one_by_one(node, operands)
        shapes = [t.shape for t in node.types]
        batch = self.signature.batch(shapes, self.name)
        given = []
        for x, flag, core, t in zip(operands, samples.flags, self.signature.operands, node.types, strict=True):
            given.append(with_axes(x, flag, t.ndim, len(batch) + len(core)))
        found = self.call(given)
        if not self.several:
            return found
        return F.concat([F.reshape(part, (samples.known(), -1)) for part in found], 1)

    # derivatives --------------------------------------------------------------------------------------------------------------

    def _vjp(self) -> tuple[Any, Any]:
        """`OpDef.vjp` and `OpDef.vjp_all`."""
        vjp = self.of.vjp
        if not self.smooth or vjp is None:
            return None, None
        smooth = [dtype.kind == "f" for dtype, _ in self.kinds]

        def one(i: int) -> Rule | None:
            wanted = [p == i for p in range(len(smooth))]
            return (lambda g, node, out, *operands: together(g, node, wanted, *operands)[i]) if smooth[i] else None

        def together(g: Any, node: Any, wanted: Sequence[bool], *operands: Any) -> list[Any]:
            if not any(isinstance(x, np.ndarray) for x in (g, *operands)):
                found = self._cotangents(g, operands, wanted)
            else:  # in a backward pass on arrays
                with branches.on_tensors(), no_grad():
                    tensors = [as_tensor(x) if isinstance(x, np.ndarray) else x for x in (g, *operands)]
                    found = [x if x is None else x._data for x in self._cotangents(tensors[0], tensors[1:], wanted)]
            return [x if wants else None for x, wants in zip(found, wanted, strict=True)]

        return tuple(one(i) for i in range(len(smooth))), together

    def _cotangents(self, g: Any, operands: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
        shapes = [tuple(x.shape) for x in operands]
        batch, extents = self.signature.batch(shapes, self.name), self.signature.extents(shapes, self.name)
        gs = self._parts(g, batch, extents) if self.several else (g,)
        if self.of.vjp == CODE:
            if not self.signature.elementwise:
                raise GradientError(
                    f"{self.name} has no derivative",
                    "give vjp=, a function of the cotangents and the operands; with vjp=None no gradient flows",
                    where=self.of.where,
                )
            return self._by_code(gs, operands, wanted)
        if self.of.numba.is_compiled(self.of.vjp):
            found = self._derivative()([*gs, *operands])
        elif batch and not self.signature.elementwise:
            found = self._of_items(gs, operands, batch)
        else:
            found = self.of.vjp(*gs, *operands)
        cotangents = list(found) if isinstance(found, (tuple, list)) else [found]
        where = _where(self.of.vjp)
        if len(cotangents) != len(operands):
            raise GradientError(
                f"{self.name}: vjp= gives {len(cotangents)} cotangents for {len(operands)} operands",
                "give one for each operand, None where there is none", where=where,
            )  # fmt: skip
        return [
            None if c is None or self.kinds[i][0].kind != "f" else self._fitted(c, x, i, where)
            for i, (c, x) in enumerate(zip(cotangents, operands, strict=True))
        ]

    def _fitted(self, cotangent: Any, x: Any, i: int, where: Where | None) -> Any:
        """A cotangent with the shape and dtype of its operand: summed over axes along which that was broadcast."""
        c = F.astype(cotangent if isinstance(cotangent, Tensor) else as_tensor(cotangent), x.dtype)
        given, shape = tuple(c.shape), tuple(x.shape)
        if given == shape and None not in shape:
            return c
        if None not in (*given, *shape) and not broadcasts(shape, given):
            if not broadcasts(given, shape):
                shapes = f"of shape {shape_text(given)} for operand {i} of shape {shape_text(shape)}"
                raise GradientError(f"{self.name}: vjp= gives a cotangent {shapes}", where=where)
            return F.broadcast_to(c, shape)
        return apply(REGISTRY["sum_to"], c, x)

    def _derivative(self) -> Definition:
        """The op that `vjp` is, another function under `@njit`."""
        if not hasattr(self, "_made"):
            rule = self.signature.reverse()
            self._made = Definition(self.of.vjp, rule, None, CODE, cotangents=True)
        return self._made

    def _of_items(self, gs: Sequence[Any], operands: Sequence[Any], batch: Shape) -> Any:
        """The cotangents by a function that is written for one item."""
        values = [*gs, *operands]
        cores = (*self.signature.results, *self.signature.operands)
        axes = tuple([0 if len(x.shape) > len(core) else None for x, core in zip(values, cores, strict=True)])
        rule = self.of.vjp
        for _ in batch:
            rule = vmap(rule, in_dims=axes)
        return rule(*values)

    def _by_code(self, gs: Sequence[Any], operands: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
        """The cotangents by derivatives that follow from the function's code."""
        if not hasattr(self, "_slopes"):
            trees = branches.traced(self.of.function.py_func, len(operands), len(gs), self.name)
            count, symbol = len(operands), self.kernel.symbol
            self._slopes = [
                [
                    branches.operation(branches.derivative(tree, i), count, self.name, f"{symbol} {result} by {i}")
                    for result, tree in enumerate(trees)
                ]
                for i in range(count)
            ]
        found: list[Any] = []
        for i, x in enumerate(operands):
            if self.kinds[i][0].kind != "f" or not wanted[i]:
                found.append(None)
                continue
            total: Any = None
            for g, slope in zip(gs, self._slopes[i], strict=True):
                part = g * slope(*operands)
                total = part if total is None else total + part
            found.append(self._fitted(total, x, i, None))
        return found


def broadcasts(shape: Shape, target: Shape) -> bool:
    """Whether a shape broadcasts to another one."""
    try:
        return broadcast_shapes(shape, target) == target
    except ShapeError:
        return False


def _where(function: Any) -> Where | None:
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    return None if code is None else Where(code.co_filename, code.co_firstlineno)
