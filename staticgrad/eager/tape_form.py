"""The form of a tape: what the tapes of a program's iterations have in common.

A form holds no tensor: records are numbered, and operands name records and leaves by number, or
are described by shape and dtype. Tapes of one form have backward passes that are one program of their values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..base.dtypes import FLOATS
from ..ir import NO_ATTRS, OpDef, lasting
from ..ir.op import arity
from .calls.composite_records import CALL, PART, CompositeRecord, Steps
from .calls.signature import attributes
from .grad_mode import modes
from .tape import FreedTensor, Record, changed, edge
from .tensor import Tensor, ndarray

if TYPE_CHECKING:
    from .backward_graphs import Rows

MOST = 2000
"""Records of the longest tape that has a form: the program of a longer one would take seconds to compile."""


class FormOperand(NamedTuple):
    """An operand through which no gradient flows, or a leaf."""

    shape: tuple[int, ...]
    dtype: np.dtype
    tracked: bool = False
    """It may require grad, since the op's result does not depend on it smoothly."""


class FormRecord(NamedTuple):
    """A record. operands: the number of the record that made it, `~number` of a leaf, or a `FormOperand`; call: of a call of
    several ops, whose op is `CALL`, where its backward plan finds what it reads; part: of a result of such a call, its number;
    results: see `Record.result_types`."""

    op: OpDef
    attrs: Mapping[str, Any]
    operands: tuple[int | FormOperand, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    call: Any = None
    part: int = 0
    results: tuple[Any, ...] = ()


class Form(NamedTuple):
    """order: the numbers of the records, the youngest first. roots: numbers of records; targets: numbers of records, and
    `~number` of leaves; None for all leaves."""

    rows: list[FormRecord]
    leaves: list[FormOperand]
    roots: tuple[int, ...]
    targets: tuple[int, ...] | None
    order: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of elements of the largest value."""
        shapes = [row.shape for row in self.rows] + [leaf.shape for leaf in self.leaves]
        shapes += [x.shape for row in self.rows for x in row.operands if isinstance(x, FormOperand)]
        return max(map(math.prod, shapes))

    def opaque(self, number: int) -> bool:
        """Whether a record is a call of the user's function, or a result of one: the record has no value."""
        row = self.rows[number]
        call = row.operands[0] if row.op is PART else number
        return isinstance(call, int) and bool(self.rows[call].results)


Source = tuple[str, int, int]
"""What is fed: ("seed", number of the root, 0), ("result", record, 0), ("leaf", number, 0), ("operand", record, position), or
of a call of several ops ("kept", record, number) and ("value", record, number of the result); ("pending", record, number of the
result or -1), a cotangent that the engine has."""
Place = tuple[int, int | None]
"""Where a cotangent belongs: the number of a record, or `~number` of a leaf; of a call, the number of its result."""


class Passes(NamedTuple):
    """How a plan does the backward pass of a form, or a part of it. sources: where the tape has what it is fed with; computes:
    not all cotangents are views of that; places: where each of the first results belongs; moved: cotangents that are such
    views; rows: gradients of which only parts are computed, by further results; planned: the records whose cotangents it
    passes on; shapes: sources of which it reads only the shape; left: the records that the engine visits then, the youngest
    first."""

    sources: list[Source]
    computes: bool
    places: list[Place]
    moved: list[tuple[Place, Steps]]
    rows: list[Rows]
    planned: set[int]
    shapes: set[Source]
    left: list[int]


def form_of(roots: Sequence[Tensor], targets: Sequence[Tensor] | None) -> tuple[Hashable, Form] | Literal[False] | None:
    """The form of the tape under some roots, and a key; None for a tape that has none, False for one that will have another: a
    composite function whose plan waits was recorded op by op. Forms of one key are equal but for collisions of hashes."""
    began, ended = modes.now.passing
    records: list[Record] = []
    numbers: dict[Record, int] = {}
    leaves: dict[int, int] = {}
    kinds: list[FormOperand] = []
    rows: list[FormRecord] = []
    for root in roots:
        record = root._record
        if record is None or root._history:
            return None
        if record not in numbers:
            numbers[record] = len(records)
            records.append(record)
    for record in records:
        op, clock, out, call, attrs = record.op, record.clock, record.out, None, record.attrs
        if began < clock < ended:
            return False
        if isinstance(record, CompositeRecord):
            op, call, attrs = CALL, record.saved, NO_ATTRS
        elif op is PART:
            if record.hooks or out.dtype not in FLOATS:
                return None
            maker = record.call
            if maker not in numbers:
                numbers[maker] = len(records)
                records.append(maker)
            rows.append(FormRecord(op, NO_ATTRS, (numbers[maker],), out.shape, out.dtype, part=record.output_nr))
            continue
        elif not (record.opaque or (record.__class__ is Record and lasting(op))):
            return None
        if record.hooks or out.__class__ is not ndarray or out.dtype not in FLOATS:
            return None
        rules, operands = record.op.vjp, []
        for position, tensor in enumerate(record.inputs):
            operand: int | FormOperand
            history = tensor._history
            source, ends = edge(tensor, clock) if history else (tensor._record, tensor if tensor._tracked else None)
            if record.opaque and ends is not None:
                tensor, history = ends, ends._history
            flows = (source is not None or ends is not None) and (
                rules[position] if rules.__class__ is tuple else rules(position)
            ) is not None
            if flows and source is not None:
                if source not in numbers:
                    numbers[source] = len(records)
                    records.append(source)
                operand = numbers[source]
            elif record.opaque and not flows:
                operand = FormOperand(tensor.shape, tensor.dtype)
            else:
                data = tensor._data
                if data.__class__ is not ndarray or (flows and history):
                    return None
                if flows and tensor._since < clock:
                    if data.dtype not in FLOATS:
                        return None
                    operand = ~leaves.setdefault(id(tensor), len(leaves))
                    if ~operand == len(kinds):
                        kinds.append(FormOperand(data.shape, data.dtype))
                elif flows or data.dtype.kind == "c":
                    return None
                else:
                    operand = FormOperand(data.shape, data.dtype, source is not None or ends is not None)
            operands.append(operand)
        rows.append(FormRecord(op, attrs, tuple(operands), out.shape, out.dtype, call, 0, record.result_types))
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
    places = tuple([numbers[root._record] for root in roots])  # type: ignore[index]
    form = Form(rows, kinds, places, None if wanted is None else tuple(wanted), order_of(records))
    try:
        return key_of(form), form
    except TypeError:  # attributes that can't be hashed
        return None


def order_of(records: Sequence[Record]) -> tuple[int, ...]:
    """See `Form.order`."""
    return tuple(sorted(range(len(records)), key=lambda i: -records[i].clock))


def key_of(form: Form) -> Hashable:
    """A key of this process; see `form_of`."""
    tokens: list[Hashable] = [*form.roots]
    for row in form.rows:
        tokens += (row.op, row.part, row.results, id(row.call), *attributes(row.op, row.attrs))
        for x in row.operands:
            tokens += (x,) if x.__class__ is int else (None,) if row.results else (x.shape, x.dtype)  # type: ignore[union-attr]
    for leaf in form.leaves:
        tokens += (leaf.shape, leaf.dtype)
    return "backward of a tape", hash((*tokens, form.targets))


# the guard of a form --------------------------------------------------------------------------------------------------

# The guard of a form: whether a tape has it, and where its values are.
#
# A guard is straight-line Python, generated for its form: it takes 0.2 us a record, where a walk that finds out the form
# takes 1 us and the rules of an op 4 us. It compares the tape with everything that the form states, and declines where an op,
# attribute, operand, shape or dtype differs, where there is a hook, and where a saved value was changed. It reads no values.

Guard = Callable[..., Any]


class Guards:
    """match(roots, seeds, targets): (records, leaves, arrays that are fed to the first part of the pass, to the second, ...) of
    a tape of the form, or None. Pending cotangents are None among them.

    free[i](records, leaves): what `Record.free` does, for the records that a part of the pass has passed; changed[i](records,
    leaves, clock): whether a value that the part after it is fed with was changed since."""

    def __init__(self, form: Form, parts: Sequence[Passes], code: CodeType | None = None):
        """code: the text that was compiled for such a form, since it takes long to write and to compile it."""
        self.code = code or compile(_Writer(form, parts).text(), "<guard of a tape>", "exec")
        self.names = names = _names(form)
        exec(self.code, names)
        self.match: Guard = names["match"]
        self.free: list[Guard] = [names[f"free{i}"] for i in range(len(parts))]
        self.changed: list[Guard] = [names[f"changed{i}"] for i in range(1, len(parts))]

    def meet(self, form: Form, records: Sequence[Record]) -> None:
        """Let what the tapes of this process share be known by its identity: attributes, and the tensors of plain numbers."""
        for i, (row, record) in enumerate(zip(form.rows, records, strict=True)):
            if row.op is PART or row.results:
                continue
            self.names[f"attrs{i}"] = record.attrs
            for position, x in enumerate(row.operands):
                tensor = record.inputs[position]
                if isinstance(x, FormOperand) and not x.shape and not tensor._data.flags.writeable:
                    self.names[f"number{i}_{position}"] = tensor


def _names(form: Form) -> dict[str, Any]:
    """What the text of a guard names: the parts of the form, by the numbers of records and leaves and the positions of
    operands, so that the text is the same in another process."""
    names: dict[str, Any] = {
        "moved": _moved, "changed": changed, "edge": edge, "new": object.__new__, "FreedTensor": FreedTensor,
        "NO_ATTRS": NO_ATTRS, "Composite": CompositeRecord,
    }  # fmt: skip

    def kind(of: Any, at: str) -> None:
        names["shape" + at], names["dtype" + at], names["gone" + at] = of.shape, of.dtype, FreedTensor(of.shape, of.dtype)

    for i, row in enumerate(form.rows):
        at = str(i)
        names["op" + at], names["attrs" + at] = row.op, row.attrs
        names["call" + at], names["results" + at] = row.call, row.results
        kind(row, at)
        for position, operand in enumerate(row.operands):
            if operand.__class__ is FormOperand:
                kind(operand, f"{i}_{position}")
                names[f"number{i}_{position}"] = None
    for i, leaf in enumerate(form.leaves):
        kind(leaf, f"_{i}")
    return names


class _Writer:
    def __init__(self, form: Form, parts: Sequence[Passes]):
        self.form, self.parts = form, parts
        self.lines: list[str] = []
        self.fed = {source for passes in parts for source in passes.sources if source not in passes.shapes}
        """What is read: its values have to be those that they were."""
        self.met: set[str] = set()
        """Names of records and leaves that are bound."""

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
        arrays = [self.tuple_of([self.array(source) for source in passes.sources]) for passes in self.parts]
        for number in sorted({number for kind, number, _ in self.fed if kind == "value"}):
            self.decline(f"any(memory.changed > r{number}.clock for _, memory in r{number}.values.values())")
        records = self.tuple_of([f"r{i}" for i in range(len(form.rows))])
        leaves = self.tuple_of([f"l{i}" for i in range(len(form.leaves))])
        self.lines.append(f"    return {records}, {leaves}, {', '.join(arrays)}")
        for i, passes in enumerate(self.parts):
            self.release(i, passes)
            if i:
                self.watch(i, passes)
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

    def visit(self, number: int, row: FormRecord) -> None:
        """Compare a record and its operands with the form."""
        r, operands = f"r{number}", [f"t{number}_{i}" for i in range(len(row.operands))]
        other = f"not isinstance({r}, Composite)" if row.op is CALL else f"{r}.op is not op{number}"
        self.decline(f"{other} or {r}.hooks")
        if row.results:
            self.decline(f"{r}.result_types != results{number}")
        if row.op is PART:
            self.decline(f"{r}.output_nr != {row.part}")
            self.record(f"{r}.call", row.operands[0])  # type: ignore[arg-type]
            return
        if row.call is not None:
            self.decline(f"{r}.saved is not call{number}")
        elif row.attrs:
            self.decline(f"{r}.attrs is not attrs{number} and {r}.attrs != attrs{number}")
            if _has_zero(row.attrs):
                self.decline(f"repr({r}.attrs) != {repr(row.attrs)!r}")  # 0.0 == -0.0
        else:
            self.decline(f"{r}.attrs is not NO_ATTRS and {r}.attrs")
        least, most = arity(row.op) if row.call is None else (len(operands), None)
        if least != most:
            self.decline(f"len({r}.inputs) != {len(operands)}")
        self.lines.append(f"    {self.tuple_of(operands)} = {r}.inputs")
        for position, (t, operand) in enumerate(zip(operands, row.operands, strict=True)):
            if row.results:  # what it saved is known to the user's function alone; its operands are stand-ins
                self.end(t, operand, number)
            elif operand in row.operands[:position] and isinstance(operand, int):
                same = row.operands.index(operand)
                self.decline(f"{t} is not t{number}_{same}")
            elif isinstance(operand, FormOperand):
                self.other(t, operand, number, position)
            elif operand < 0:
                self.leaf(t, ~operand, number)
            else:
                self.record(f"(edge({t}, {r}.clock)[0] if {t}._history else {t}._record)", operand, r)
                if ("operand", number, position) in self.fed:
                    self.unchanged(t, number, f"{t}._data")
                elif self.is_read(operand):
                    out = f"r{operand}.out"
                    shared = f"{t}._data is not {out} or r{operand}.memory is not None or {t}._base is not None"
                    self.decline(f"({shared}) and moved({t}, {r}, {out})")

    def end(self, t: str, operand: int | FormOperand, number: int) -> None:
        """An operand of a record that only the engine passes: the place to which its cotangent goes."""
        if isinstance(operand, FormOperand):
            self.decline(f"{t}.record is not None or {t}.leaf is not None")
        elif operand >= 0:
            self.record(f"{t}.record", operand, f"r{number}")
        else:
            self.lines.append(f"    {t} = {t}.leaf")
            self.decline(f"{t} is None")
            self.leaf(t, ~operand, number)

    def is_read(self, number: int) -> bool:
        """Whether the value of a record is fed, or it is a view of one that is."""
        source: Source = "result", number, 0
        while source not in self.fed and source[0] == "result" and (row := self.form.rows[source[1]]).op.aliases:
            first = row.operands[0]
            if isinstance(first, FormOperand) or (first >= 0 and self.form.opaque(first)):
                source = "operand", source[1], 0
            else:
                source = ("result", first, 0) if first >= 0 else ("leaf", ~first, 0)
        return source in self.fed

    def other(self, t: str, kind: FormOperand, number: int, position: int) -> None:
        """An operand through which no gradient flows. Fast calls look at the shapes and dtypes of what they are fed."""
        array, at = f"{t}._data", f"{number}_{position}"
        if not kind.tracked:
            self.decline(f"edge({t}, r{number}.clock) != (None, None) if {t}._history else {t}._tracked")
        if ("operand", number, position) in self.fed:
            self.unchanged(t, number, array)
        elif kind.shape:
            self.unless(self.of_kind(array, at))
        else:
            self.unless(f"{t} is number{at} or {self.of_kind(array, at)}")

    @staticmethod
    def of_kind(array: str, at: str) -> str:
        return f"{array}.shape == shape{at} and {array}.dtype is dtype{at}"

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
                self.unless(self.of_kind(f"{t}._data", f"_{number}"))
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
            "pending": "None",
        }[kind]  # fmt: skip

    # freeing ----------------------------------------------------------------------------------------------------------

    def watch(self, part: int, passes: Passes) -> None:
        """Write `changed`."""
        self.lines.append(f"def changed{part}(records, leaves, clock):")
        self.unpack("r", len(self.form.rows), "records")
        self.unpack("l", len(self.form.leaves), "leaves")
        questions = []
        for kind, number, position in (source for source in passes.sources if source not in passes.shapes):
            if kind == "result":
                questions.append(f"(r{number}.memory and r{number}.memory.changed > clock)")
            elif kind in ("leaf", "operand"):
                questions.append(f"changed({f'l{number}' if kind == 'leaf' else f'r{number}.inputs[{position}]'}) > clock")
            elif kind == "value":
                questions.append(f"any(memory.changed > clock for _, memory in r{number}.values.values())")
        self.lines.append(f"    return {' or '.join(questions) or False}")

    def release(self, part: int, passes: Passes) -> None:
        """Write `free`. The stand-ins of values through which no gradient flows are the same for all tapes of the form."""
        form = self.form
        self.lines.append(f"def free{part}(records, leaves):")
        self.unpack("r", len(form.rows), "records")
        self.unpack("l", len(form.leaves), "leaves")
        made: set[str] = set()
        for number in sorted(passes.planned):
            row, names = form.rows[number], []
            if row.op is PART:  # it saved nothing
                continue
            for position, operand in enumerate(row.operands):
                if isinstance(operand, FormOperand):
                    names.append(f"gone{number}_{position}")
                    continue
                name = f"g{operand}" if operand >= 0 else f"h{~operand}"
                if name not in made:
                    made.add(name)
                    at = f"{operand}" if operand >= 0 else f"_{~operand}"
                    record, leaf = (f"r{operand}", "None") if operand >= 0 else ("None", f"l{~operand}")
                    self.lines.append(f"    {name} = n = new(FreedTensor)")
                    self.lines.append(f"    n.shape = shape{at}; n.dtype = dtype{at}; n.record = {record}; n.leaf = {leaf}")
                names.append(name)
            self.lines.append(f"    r{number}.inputs = {self.tuple_of(names)}")
            self.lines.append(f"    r{number}.out = gone{number}")
            if row.call is not None:
                self.lines.append(f"    r{number}.kept = (); r{number}.values = {{}}")


def _moved(tensor: Tensor, record: Record, array: np.ndarray) -> bool:
    """Whether an operand was changed after a record read it, or is not this array any more. The record of a change in place has
    an array of its own, which is equal to the memory until the next change."""
    last, history = changed(tensor), tensor._history
    if last > record.clock or isinstance(tensor, FreedTensor):
        return True
    return tensor._data is not array and not (history and history[-1][0] == last)


def _has_zero(value: Any) -> bool:
    """Whether a float in an attribute is 0."""
    if isinstance(value, dict):
        return any(map(_has_zero, value.values()))
    return any(map(_has_zero, value)) if isinstance(value, tuple) else isinstance(value, float) and value == 0
