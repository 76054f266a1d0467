"""Nodes of the tape as users see them: of operations, and of calls of functions that are made of several operations.

The records of the operations are as they are: each result's record notes the function and the time at which the call began
(`Record.named`). All that it depends on and that was made since then is inside of the call.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ..base.types import INEXACT
from ..ops.operators import frontends
from ..ops.operators.node_names import DERIVATIVES, NodeName
from .pending import Pending
from .tape import ALONE, Named, Record, edge, next_node, tick
from .tensor import PublicTensor, Tensor

new_tuple = tuple.__new__


class FunctionNode(Record):
    """The node of an operation or of a call; its class has the node's name. record: of one of its results; hooks, saved values
    and notes are those of the record."""

    __slots__ = ("record", "records")

    def __init__(self, record: Record):
        self.record = record
        self.records: dict[int, Record] = {}
        """By number of the result."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.record, name)

    @property
    def node(self) -> Any:
        return self

    def name(self) -> str:
        return self.record.name()

    @property
    def metadata(self) -> dict[Any, Any]:
        return self.record.metadata

    def add_hook(self, hook: Any) -> Any:
        return self.record.add_hook(hook)

    def result(self, number: int) -> Record:
        return self.records.get(number, self.record)

    def siblings(self) -> list[Record | None]:
        return self.record.siblings()

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that made the arguments of the call, and then what else it read."""
        named = self.record.named
        if named is None:
            return self.record.next_functions
        read = {id(leaf if maker is None else maker): (maker, leaf) for maker, leaf in _read(self.record, named)}
        edges = [read.pop(key, None) if key else (None, None) for key in named.arguments]
        found = [next_node(*e) for e in (*edges, *read.values()) if e is not None]
        return tuple([found[i] for i in named.order] if len(found) == len(named.order) else found)


def _read(record: Record, named: Named) -> Iterator[tuple[Record | None, Any]]:
    """The edges that lead out of a call, in the order of its operations."""
    kept, name = named.kept
    for i, tensor in enumerate(record.inputs):
        if not record.leads_to(i):
            continue
        maker, leaf = edge(tensor, record.clock)
        if maker is not None and maker.clock > named.start and maker.op.name != kept:
            yield from _read(maker, named)
        elif maker is not None or leaf is not None:
            if maker is not None and maker.op.name == kept:
                maker.named = Named(name, maker.clock - 1)
            yield maker, leaf


_nodes: weakref.WeakValueDictionary[tuple[int, str], FunctionNode] = weakref.WeakValueDictionary()
"""By the time at which the call began, and its name: calls inside of others may begin with them."""


def _node(record: Record) -> Record:
    named = record.named
    name, key = record.name(), record.clock if named is None or named.start == ALONE else named.start
    found = _nodes.get((key, name))
    if found is None:
        found = _nodes[key, name] = _class(name)(record)
    found.records[0 if named is None else named.output_nr] = record
    return found


@cache
def _class(name: str) -> type[FunctionNode]:
    """Programs that draw the tape read the name of the class."""
    return type(name, (FunctionNode,), {"__slots__": (), "__module__": "staticgrad"})


def called(node: NodeName, start: int, args: tuple[Any, ...], named: Mapping[str, Any], out: Any) -> None:
    """Make what a function recorded since `start` one node, under PyTorch's name."""
    if out.__class__ is PublicTensor or out.__class__ is Pending:
        record = out._record
        if record is None or record.clock <= start:
            return
        name, order, kept = node
        if name.__class__ is not str:
            name = name(args, named, out)  # type: ignore[operator]
            if not name:
                return
        several = named or (len(args) > 1 and isinstance(args[1], Tensor))
        read = _makers((*args, *named.values())) if several else ()
        record.named = new_tuple(Named, (name, start, 0, read, order, kept, ()))
    elif isinstance(out, (tuple, list)):
        records = [x._record if isinstance(x, Tensor) else None for x in out]
        makers = tuple([
            None if record is None or record.clock <= start else weakref.ref(record)
            for x, record in zip(out, records, strict=True)
            if not isinstance(x, Tensor) or x.dtype.kind in INEXACT
        ])  # fmt: skip
        for i, record in enumerate(records):
            if record is not None and record.clock > start:
                name = node.name if node.name.__class__ is str else node.name(args, named, out)  # type: ignore[operator]
                record.named = Named(name, start, i, makers=makers)


def _makers(given: tuple[Any, ...]) -> tuple[int, ...]:
    """See `Named.arguments`."""
    return tuple([
        id(x._record) if x._record is not None else id(x) if x._tracked else 0
        for x in given
        if isinstance(x, Tensor) and (x._data if x.__class__ is PublicTensor else x).dtype.kind in INEXACT
    ])  # fmt: skip


class DerivativeNodes:
    """The names of what a recorded backward pass computes: PyTorch has the derivatives of many functions as one operation,
    whose own derivative is a node such as `TanhBackwardBackward0`.

    cotangents, found: those of records, and of leaves by their id, that the pass has so far.
    """

    def __init__(self, cotangents: dict[Record, Any], found: dict[int, tuple[Any, Any]]):
        self.cotangents, self.found = cotangents, found
        self.name = ""
        """Of the derivative of the call that the pass is in; it began at the tick `start`, and its derivative at `begin`."""
        self.start = self.begin = 0
        self.first: dict[Any, None] = {}
        """The records and the ids of leaves that have their first cotangent from this call."""

    def visit(self, record: Record, edges: Callable[[Record], Sequence[tuple[int, Any, Any]]]) -> None:
        """Called before the rules of a record are. edges: those of a record through which gradients flow."""
        if self.name and record.clock <= self.start:
            self.leave()
        if not self.name:
            self.name = DERIVATIVES.get(record.name(), "")
            if not self.name:
                return
            self.start = record.began
            self.begin = tick()
        for _, key, leaf in edges(record):
            known = self.cotangents if leaf is None else self.found
            if key not in known and (leaf is not None or key.clock <= self.start):
                self.first[key] = None

    def leave(self) -> None:
        """The pass has left the call: its results are those of one node."""
        for key in self.first:
            value = self.found[key][1] if key in self.found else self.cotangents.get(key)
            record = value._record if isinstance(value, Tensor) else None
            if record is not None and record.clock > self.begin:
                record.named = Named(self.name, self.begin)
        self.name = ""
        self.first = {}


frontends.node_of = _node
frontends.called = called
frontends.tick = tick
