"""The records of functions that are made of several ops; see `composites.py`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...autodiff import requests
from ...base.types import INEXACT
from ...errors import GradientError
from ...ir import Expand, OpDef
from ...ops.operators.node_names import node_of
from ..backward_hooks import Cotangents
from ..tape import FreedTensor, Memory, Named, Record, edge
from ..tensor import PublicTensor
from .op_calls import NEVER, Kinds
from .signature import WAYS, Signature, join

if TYPE_CHECKING:
    from .kernels import PlannedCall

NAMED: Any = Record.__dict__["named"]


OPEN = PublicTensor
"""What stands for a tensor in a form and in a key."""


class _Parts(NamedTuple):
    function: Callable[..., Any]
    args: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]


class Form(_Parts):
    """A call of a function with some arguments left open: those that are tensors, in this order."""

    @cached_property
    def signature(self) -> Signature | None:
        """The form as a part of a signature; None where it is none."""
        key = [self.function, len(self.args), *[name for name, _ in self.named]]
        return key if join((*self.args, *[a for _, a in self.named]), key) else None

    def __getstate__(self) -> None:
        """What was found out is not pickled."""

    def __call__(self, *tensors: Any) -> Any:
        args, named = self.filled(tensors)
        return self.function(*args, **named)

    def filled(self, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with these tensors."""
        given = iter(tensors)
        args = tuple([next(given) if a is OPEN else a for a in self.args])
        return args, {name: next(given) if a is OPEN else a for name, a in self.named}


def _join_form(form: Form, key: Signature) -> bool:
    found = form.signature
    key += found or ()
    return found is not None


WAYS[Form] = _join_form


class Unread:
    """A part of a call's `use` that is not kept. Where the call was read, it is made again for it. name: of the part."""

    def __init__(self, value: Any, name: str, made: Callable[[], PlannedCall] | None = None):
        self._value, self.name, self.made = value, name, made

    @property
    def value(self) -> Any:
        if self._value is None and self.made is not None:
            self._value = getattr(self.made().use, self.name).value
        return self._value


class Steps(NamedTuple):
    """An array among those that are fed, and views to take of it, as (function, attributes)."""

    feed: int
    views: tuple[tuple[Any, dict[str, Any]], ...]

    def __call__(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        array = arrays[self.feed]
        for function, attrs in self.views:
            array = function(array, **attrs)
        return array


class Saved(NamedTuple):
    """How the backward plan of a call gets its operands: the cotangents of the results first, then operands of the call and its
    results, by their positions, results as negative ones from the last; then what is kept. positions: the operands of which it
    computes the cotangents. results: how many there are, 0 for one that is no tuple; kinds: their shapes and dtypes; smooth:
    the numbers of those that are floating, which have cotangents."""

    reverse: PlannedCall
    """The backward plan."""
    reads: tuple[int, ...]
    positions: tuple[int, ...]
    results: int
    kinds: Kinds
    attrs: dict[str, Any]
    name: str = ""
    """PyTorch's name of the last operation."""
    smooth: tuple[int, ...] = ()
    views: Mapping[int, Steps] = MappingProxyType({})
    """The cotangents that are views of those of results, by the operand: functions of what the backward plan is fed with."""
    backward: Unread = Unread(((), ()), "backward")
    """The nodes of all cotangents, and those that the backward plan is fed with."""

    numbers: tuple[int, ...] = ()
    """Which of the open numbers the backward plan reads, after what is kept."""
    whole: Any = ...
    """What the plans follow from; `...` for a call with open numbers, which other processes would not know."""

    @property
    def calls(self) -> tuple[PlannedCall, ...]:
        """See `PlannedCall.calls`."""
        return (self.reverse,)

    @property
    def computes(self) -> bool:
        """Whether there is a backward plan: not all cotangents are views."""
        return len(self.views) < len(self.positions)


class CompositeRecord(Record):
    """A call on the tape. kept: arrays that the backward plan reads; saved: in which places; parts: the records of its results,
    where it has several; values: by number, those of these results that the backward plan reads, with their changes."""

    __slots__ = ("kept", "parts", "saved", "values")

    kept: Sequence[np.ndarray]
    saved: Saved
    values: dict[int, tuple[np.ndarray, Memory]]
    parts: dict[int, weakref.ref[PartRecord]]

    @property
    def named(self) -> Named | None:
        """See `Record.named`: it is made when somebody asks."""
        try:
            found: Named | None = NAMED.__get__(self)
        except AttributeError:
            found = self._named()
            NAMED.__set__(self, found)
        return found

    @named.setter
    def named(self, named: Named | None) -> None:
        NAMED.__set__(self, named)

    def _named(self) -> Named | None:
        name, order, kept = self._node()
        if not name:
            return None
        ends = [edge(x, self.clock) for x in self.inputs if x.dtype.kind in INEXACT]
        read = [0 if maker is leaf else id(leaf if maker is None else maker) for maker, leaf in ends]
        return Named(name, self.clock - 1, 0, tuple(read), order, kept)

    def _node(self) -> Any:
        """The node that PyTorch has for the call: its name, empty where there is none, its order, and what it keeps."""
        form = self.attrs["call"]
        name, order, kept = node_of(form.function.__name__) or ("", (), ())
        if not isinstance(name, str):
            args, words = form.filled(self.inputs)
            name = name(args, words, self.out)
        return name, order, kept

    def name(self) -> str:
        """See `Record.name`: where PyTorch has no node for the call, that of its last operation."""
        try:
            found = NAMED.__get__(self)
        except AttributeError:
            name = self._node()[0]
        else:
            name = found and found.name
        return name or (self.op.grad_name(self) if self.op.backward else self.saved.name)

    @property
    def results(self) -> int:
        """How many there are."""
        return max(self.saved.results, 1)

    def result(self, number: int) -> Record:
        """See `Record.result`."""
        if not self.saved.results:
            return self
        found = self.parts[number]()
        if found is None:
            raise requests.freed()
        return found

    def free(self) -> None:
        """See `Record.free`."""
        super().free()
        self.kept, self.values = (), {}


class RulesRecord(CompositeRecord):
    """The call of an op's rules on the tape of a recorded backward pass."""

    __slots__ = ()

    def leads_to(self, position: int) -> bool:
        """See `Record.leads_to`. Rules get more values than they read."""
        return position == 0 or position in self.saved.positions


class PartRecord(Record):
    """One of several results of a call."""

    __slots__ = ("call", "output_nr")

    def __init__(self, call: Record, number: int, out: np.ndarray):
        self.call, self.output_nr = call, number
        super().__init__(PART, (FreedTensor(out.shape, out.dtype, call),), {}, out)

    call: Any

    def name(self) -> str:
        return str(self.call.name())

    @property
    def node(self) -> Any:
        return self.call

    def free(self) -> None:
        """It saved nothing."""


def _part_cotangent(g: Any, record: Any, out: Any, call: Any) -> Any:
    return Cotangents({record.output_nr: g})


def refused(*args: Any, **attrs: Any) -> Any:
    raise GradientError("a call of several ops has no value or gradient of its own")


PART = OpDef("composite_result", refused, refused, vjp=(_part_cotangent,), emit=Expand(lambda node, call: call[node.output_nr]))
object.__setattr__(PART, "eager_least", NEVER)  # its rule moves nothing
CALL = OpDef("composite_call", refused, refused, emit=Expand(lambda node: node))
"""What stands for the op of a call in the form of a tape: the call says all."""
