"""The guard of a form: whether a tape has it, and where its values are.

A guard is straight-line Python, generated for its form: it takes 0.2 us a record, where a walk that finds out the form takes
1 us and the rules of an op 4 us. It reads of a tape whatever the form says of it: another op, attribute, operand, shape or
dtype, a hook, a saved value that was changed since, and the guard declines. Values are not read.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir import NO_ATTRS
from ..ir.op import arity
from .calls.composite_records import PART
from .tape import FreedTensor, Record, changed
from .tape_form import Form, Kind, Row
from .tensor import Tensor

if TYPE_CHECKING:
    from .backward_graphs import Backward, Source

Guard = Callable[..., Any]


class Guards:
    """match(roots, seeds, targets): (arrays that are fed, records, leaves) of a tape of the form, or None.

    free(records, leaves): what `Record.free` does, for the records that a plan has passed. source: the text of both."""

    def __init__(self, form: Form, backward: Backward, code: bytes = b""):
        """code: as `code` was for such a form, since Python takes long to compile it."""
        written = _Writer(form, backward)
        self.source = written.text()
        self._compiled = marshal.loads(code) if code else compile(self.source, "<guard of a tape>", "exec")
        exec(self._compiled, written.names)
        self.match: Guard = written.names["match"]
        self.free: Guard = written.names["free"]

    @property
    def code(self) -> bytes:
        """The source, compiled by this Python."""
        return marshal.dumps(self._compiled)


class _Writer:
    def __init__(self, form: Form, backward: Backward):
        self.form, self.backward = form, backward
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"moved": _moved, "new": object.__new__, "FreedTensor": FreedTensor, "NO_ATTRS": NO_ATTRS}
        self.constants: dict[tuple[type, Any], str] = {}
        self.fed = set(backward.sources)
        self.met: set[str] = set()
        """Names of records and leaves that are bound."""

    def constant(self, prefix: str, value: Any) -> str:
        """A name for an object; equal shapes share one."""
        key = value.__class__, value if value.__class__ is tuple or isinstance(value, np.dtype) else id(value)
        if key not in self.constants:
            self.constants[key] = f"{prefix}{len(self.constants)}"
            self.names[self.constants[key]] = value
        return self.constants[key]

    def unless(self, condition: str) -> None:
        """Decline unless a condition holds."""
        self.lines.append(f"    if not ({condition}): return")

    def decline(self, condition: str) -> None:
        self.lines.append(f"    if {condition}: return")

    def text(self) -> str:
        form = self.form
        self.lines = ["def match(roots, seeds, targets):"]
        self.unpack("x", len(form.roots), "roots")
        for i, root in enumerate(form.roots):
            self.decline(f"x{i}._history")
            self.record(f"x{i}._record", root)
        for number, row in enumerate(form.rows):
            self.visit(number, row)
        if form.targets is not None:
            self.unpack("y", len(form.targets), "targets")
            for i, target in enumerate(form.targets):
                self.decline(f"y{i}._record is not r{target}" if target >= 0 else f"y{i} is not l{~target}")
            # a sum over the occurrences of a value is its gradient, but the gradient of one occurrence is not
            self.distinct([f"l{i}" for i in range(len(form.leaves))])
            if any(target >= 0 for target in form.targets):
                self.distinct([f"r{i}" for i in range(len(form.rows))])
        for number in sorted({number for kind, number, _ in self.fed if kind == "result"}):
            self.decline(f"r{number}.memory and r{number}.memory.changed > r{number}.clock")
        arrays = self.tuple_of([self.array(source) for source in self.backward.sources])
        for number in sorted({number for kind, number, _ in self.fed if kind == "value"}):
            self.decline(f"any(memory.changed > r{number}.clock for _, memory in r{number}.values.values())")
        records = self.tuple_of([f"r{i}" for i in range(len(form.rows))])
        leaves = self.tuple_of([f"l{i}" for i in range(len(form.leaves))])
        self.lines.append(f"    return {arrays}, {records}, {leaves}")
        self.release()
        return "\n".join(self.lines) + "\n"

    @staticmethod
    def tuple_of(names: Sequence[str]) -> str:
        return f"({', '.join(names)},)" if names else "()"

    def unpack(self, prefix: str, count: int, source: str) -> None:
        if count:
            self.lines.append(f"    {self.tuple_of([f'{prefix}{i}' for i in range(count)])} = {source}")

    def record(self, source: str, number: int, reader: str = "") -> None:
        """Bind the name of a record, or compare it with the record of that name. It is older than the record that reads its
        result, or the operand has got another maker since."""
        name = f"r{number}"
        if name in self.met:
            self.decline(f"{source} is not {name}")
        else:
            self.met.add(name)
            self.lines.append(f"    {name} = {source}")
            self.decline(f"{name} is None")
        if reader:
            self.decline(f"{name}.clock > {reader}.clock")

    def distinct(self, names: list[str]) -> None:
        if len(names) > 1:
            self.decline(f"len({{{', '.join(f'id({name})' for name in names)}}}) < {len(names)}")

    def visit(self, number: int, row: Row) -> None:
        """Compare a record and its operands with the form."""
        r, operands = f"r{number}", [f"t{number}_{i}" for i in range(len(row.operands))]
        self.decline(f"{r}.op is not {self.constant('op', row.op)} or {r}.hooks")
        if row.op is PART:
            self.decline(f"{r}.output_nr != {row.part}")
            self.record(f"{r}.call", row.operands[0])  # type: ignore[arg-type]
            return
        if row.call is not None:
            self.decline(f"{r}.saved is not {self.constant('call', row.call)}")
        elif row.attrs:
            attrs = self.constant("attrs", row.attrs)
            self.decline(f"{r}.attrs is not {attrs} and {r}.attrs != {attrs}")
            if _has_zero(row.attrs):
                self.decline(f"repr({r}.attrs) != {repr(row.attrs)!r}")  # 0.0 == -0.0
        else:
            self.decline(f"{r}.attrs is not NO_ATTRS and {r}.attrs")
        least, most = arity(row.op) if row.call is None else (len(operands), None)
        if least != most:
            self.decline(f"len({r}.inputs) != {len(operands)}")
        self.lines.append(f"    {self.tuple_of(operands)} = {r}.inputs")
        for position, (t, operand) in enumerate(zip(operands, row.operands, strict=True)):
            if operand in row.operands[:position] and isinstance(operand, int):
                same = row.operands.index(operand)
                self.decline(f"{t} is not t{number}_{same}")
            elif isinstance(operand, Kind):
                self.other(t, operand, number, position)
            elif operand < 0:
                self.leaf(t, ~operand, number)
            else:
                self.record(f"{t}._record", operand, r)
                if ("result", operand, 0) in self.fed or self.form.rows[operand].op.aliases:  # fed, or a view of what is fed
                    out = f"r{operand}.out"
                    shared = f"{t}._data is not {out} or r{operand}.memory is not None or {t}._base is not None"
                    self.decline(f"({shared}) and moved({t}, {r}, {out})")

    def other(self, t: str, kind: Kind, number: int, position: int) -> None:
        """An operand through which no gradient flows. Fast calls look at the shapes and dtypes of what they are fed."""
        array = f"{t}._data"
        self.decline(f"{t}._history" if kind.tracked else f"{t}._history or {t}._tracked")
        if ("operand", number, position) in self.fed:
            self.unchanged(t, number, array)
        elif kind.number is None:
            self.unless(self.of_kind(array, kind))
        else:
            self.unless(f"{t} is {self.constant('number', kind.number)} or {self.of_kind(array, kind)}")

    def of_kind(self, array: str, kind: Kind) -> str:
        shape, dtype = self.constant("shape", kind.shape), self.constant("dtype", kind.dtype)
        return f"{array}.shape == {shape} and {array}.dtype is {dtype}"

    def leaf(self, t: str, number: int, reader: int) -> None:
        name, r = f"l{number}", f"r{reader}"
        if name in self.met:
            self.decline(f"{t} is not {name} or {name}_since >= {r}.clock")
        else:
            self.met.add(name)
            self.lines.append(f"    {name}, {name}_since = {t}, {t}._since")
            self.decline(f"{t}._history or {t}._hooks or {t}._record is not None or not {t}._tracked")
            self.decline(f"{name}_since >= {r}.clock")
            if ("leaf", number, 0) not in self.fed:
                self.unless(self.of_kind(f"{t}._data", self.form.leaves[number]))
        if ("leaf", number, 0) in self.fed:
            self.unchanged(t, reader, f"{t}._data")

    def unchanged(self, t: str, number: int, array: str) -> None:
        """Decline where a value that is fed was changed since this record read it."""
        self.decline(f"({t}._memory is not None or {t}._base is not None) and moved({t}, r{number}, {array})")

    def array(self, source: Source) -> str:
        kind, number, position = source
        return {
            "seed": f"seeds[{number}]._data", "result": f"r{number}.out", "leaf": f"l{number}._data",
            "operand": f"t{number}_{position}._data", "kept": f"r{number}.kept[{position}]",
            "value": f"r{number}.values[{position}][0]",
        }[kind]  # fmt: skip

    # freeing ----------------------------------------------------------------------------------------------------------

    def release(self) -> None:
        """Write `free`. The stand-ins of values through which no gradient flows are the same for all tapes of the form."""
        form = self.form
        self.lines.append("def free(records, leaves):")
        self.unpack("r", len(form.rows), "records")
        self.unpack("l", len(form.leaves), "leaves")
        made: set[str] = set()
        for number in sorted(self.backward.planned):
            row, names = form.rows[number], []
            if row.op is PART:  # it saved nothing
                continue
            for operand in row.operands:
                if isinstance(operand, Kind):
                    names.append(self.gone(operand.shape, operand.dtype))
                    continue
                name = f"g{operand}" if operand >= 0 else f"h{~operand}"
                if name not in made:
                    made.add(name)
                    kind = form.rows[operand] if operand >= 0 else form.leaves[~operand]
                    record, leaf = (f"r{operand}", "None") if operand >= 0 else ("None", f"l{~operand}")
                    shape, dtype = self.constant("shape", kind.shape), self.constant("dtype", kind.dtype)
                    self.lines.append(f"    {name} = n = new(FreedTensor)")
                    self.lines.append(f"    n.shape = {shape}; n.dtype = {dtype}; n.record = {record}; n.leaf = {leaf}")
                names.append(name)
            self.lines.append(f"    r{number}.inputs = {self.tuple_of(names)}")
            self.lines.append(f"    r{number}.out = {self.gone(row.shape, row.dtype)}")
            if row.call is not None:
                self.lines.append(f"    r{number}.kept = (); r{number}.values = {{}}")

    def gone(self, shape: tuple[int, ...], dtype: np.dtype) -> str:
        key = FreedTensor, (shape, dtype)
        if key not in self.constants:
            self.constants[key] = f"gone{len(self.constants)}"
            self.names[self.constants[key]] = FreedTensor(shape, dtype)
        return self.constants[key]


def _moved(tensor: Tensor, record: Record, array: np.ndarray) -> bool:
    """Whether an operand was changed after a record read it, or is not this array any more."""
    return changed(tensor) > record.clock or tensor._data is not array


def _has_zero(value: Any) -> bool:
    """Whether a float in an attribute is 0."""
    if isinstance(value, dict):
        return any(map(_has_zero, value.values()))
    return any(map(_has_zero, value)) if isinstance(value, tuple) else isinstance(value, float) and value == 0
