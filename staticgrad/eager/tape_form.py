"""The form of a tape: what the tapes of a program's iterations have in common.

A form holds no tensor, but for shared plain numbers: records are numbered, and operands name records and leaves by number, or
are described by shape and dtype. Tapes of one form have backward passes that are one program of their values.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ..ir import OpDef, lasting
from .calls.composite_records import CompositeRecord, PartRecord
from .calls.op_calls import FLOATS
from .calls.signature import attributes
from .grad_mode import modes
from .tape import Record
from .tensor import Tensor, ndarray

MOST = 2000
"""Records of the longest tape that has a form: the program of a longer one would take seconds to compile."""


class Kind(NamedTuple):
    """An operand through which no gradient flows, or a leaf. number: the tensor of a plain number, which tapes share."""

    shape: tuple[int, ...]
    dtype: np.dtype
    tracked: bool = False
    """It may require grad, since the op's result does not depend on it smoothly."""
    number: Tensor | None = None


class Row(NamedTuple):
    """A record. operands: the number of the record that made it, `~number` of a leaf, or a `Kind`; call: of a call of several
    ops, where its backward plan finds what it reads; part: of a result of such a call, its number."""

    op: OpDef
    attrs: Mapping[str, Any]
    operands: tuple[int | Kind, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    call: Any = None
    part: int = 0


class Form(NamedTuple):
    """order: the numbers of the records, the youngest first. roots: numbers of records; targets: numbers of records, and
    `~number` of leaves; None for all leaves."""

    rows: list[Row]
    leaves: list[Kind]
    roots: tuple[int, ...]
    targets: tuple[int, ...] | None
    order: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of elements of the largest value."""
        shapes = [row.shape for row in self.rows] + [leaf.shape for leaf in self.leaves]
        shapes += [x.shape for row in self.rows for x in row.operands if isinstance(x, Kind)]
        return max(map(math.prod, shapes))


def form_of(roots: Sequence[Tensor], targets: Sequence[Tensor] | None) -> tuple[Hashable, Form] | Literal[False] | None:
    """The form of the tape under some roots, and a key; None for a tape that has none, False for one that will have another: a
    composite function whose plan waits was recorded op by op. Forms of one key are equal but for collisions of hashes."""
    began, ended = modes.now.passing
    records: list[Record] = []
    numbers: dict[Record, int] = {}
    leaves: dict[int, int] = {}
    kinds: list[Kind] = []
    rows: list[Row] = []
    tokens: list[Hashable] = []
    for root in roots:
        record = root._record
        if record is None or root._history:
            return None
        if record not in numbers:
            numbers[record] = len(records)
            records.append(record)
        tokens.append(numbers[record])
    for record in records:
        op, clock, out, call = record.op, record.clock, record.out, None
        if began < clock < ended:
            return False
        if isinstance(record, CompositeRecord):
            call = record.saved
        elif record.__class__ is PartRecord:
            if record.hooks or out.dtype not in FLOATS:
                return None
            maker = record.call
            if maker not in numbers:
                numbers[maker] = len(records)
                records.append(maker)
            part = record.output_nr
            rows.append(Row(op, {}, (numbers[maker],), out.shape, out.dtype, part=part))
            tokens += (op, numbers[maker], part)
            continue
        elif record.__class__ is not Record or not lasting(op):
            return None
        if record.hooks or out.__class__ is not ndarray or out.dtype not in FLOATS:
            return None
        rules, operands = op.vjp, []
        for position, tensor in enumerate(record.inputs):
            if tensor._history:
                return None
            operand: int | Kind
            flows = tensor._tracked and (rules[position] if rules.__class__ is tuple else rules(position)) is not None
            maker = tensor._record
            if flows and maker is not None:
                if maker not in numbers:
                    numbers[maker] = len(records)
                    records.append(maker)
                operand = numbers[maker]
                tokens.append(operand)
            else:
                data = tensor._data
                leaf = flows and tensor._since < clock
                if leaf:
                    if data.dtype not in FLOATS:
                        return None
                    operand = ~leaves.setdefault(id(tensor), len(leaves))
                    tokens.append(operand)
                    if ~operand == len(kinds):
                        kinds.append(Kind(data.shape, data.dtype))
                        tokens += (data.shape, data.dtype)
                else:
                    if flows or data.dtype.kind == "c":
                        return None
                    number = tensor if data.ndim == 0 and not data.flags.writeable else None
                    operand = Kind(data.shape, data.dtype, tensor._tracked, number)
                    tokens += (data.shape, data.dtype)
            operands.append(operand)
        attrs = record.attrs
        rows.append(Row(op, attrs, tuple(operands), out.shape, out.dtype, call))
        tokens += (op, len(operands))
        if call is not None:
            tokens.append(id(call))
        elif attrs:
            tokens += attributes(op, attrs)
        if len(records) > MOST:
            return None
    wanted: list[int] | None = None
    if targets is not None:
        wanted = []
        for target in targets:
            at = leaves.get(id(target)) if target._record is None else numbers.get(target._record)
            if at is None or target._history:
                return None
            wanted.append(~at if target._record is None else at)
        inner = [at for at in wanted if at >= 0]
        if len({*inner}) < len(inner):
            return None
        tokens += ("targets", *wanted)
    order = sorted(range(len(records)), key=lambda i: -records[i].clock)
    try:
        key = "backward of a tape", hash(tuple(tokens))
    except TypeError:  # attributes that can't be hashed
        return None
    places = tuple([numbers[root._record] for root in roots])  # type: ignore[index]
    return key, Form(rows, kinds, places, None if wanted is None else tuple(wanted), tuple(order))
