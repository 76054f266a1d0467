"""The tape: one Record per operation that needs a gradient, and its checks against in-place changes.

One clock counts records and in-place changes. A record keeps the tick of its birth, memory the tick of its last change;
a saved value is usable as long as its memory did not change after the record was made. The ticks are an order of the
tape as well: a record is younger than those that made its operands, so the backward pass visits them by falling ticks.
"""

from __future__ import annotations

import sys
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

import numpy as np

from ..autodiff import requests
from ..base.types import TensorType
from ..errors import ArgumentError, Position, Where, internal, line_of, position_of, user_position
from ..ir import OpDef
from ..ops.operators import FormerNode, check_change, frontends
from .grad_mode import modes

if TYPE_CHECKING:
    from .tensor import Tensor

getframe = sys._getframe
new = object.__new__
tick: Callable[[], int] = count(1).__next__
"""The next time of this process's clock."""


class Record(FormerNode):
    """One operation of the tape; PyTorch's name for it is `grad_fn`.

    inputs: the operand tensors (freed tensors after a backward pass); out: the result's array, not its tensor, so that tape
    and tensor form no cycle; memory: the result's, once it is shared or changed; clock: the tick of its creation;
    position: the user's line that made it, where lines are noted. `tensor.record_of` makes records without `__init__`.
    """

    __slots__ = ("__weakref__", "attrs", "clock", "hooks", "inputs", "memory", "named", "op", "out", "position")

    memory: Memory | None
    hooks: dict[int, Hook] | None
    position: Position | None
    named: Named | None
    """The function that made it, where that is one node to users."""
    output_nr = 0
    """Which of the results of `node` it stands for."""
    opaque = False
    """Whether its rule is a function of the user's: of its saved values only that function knows."""
    result_types: tuple[tuple[tuple[int, ...], np.dtype] | None, ...] = ()
    """Of one that is opaque, shapes and dtypes of the results; None for one that is no tensor."""

    def __init__(self, op: OpDef, inputs: tuple[Any, ...], attrs: Mapping[str, Any], out: np.ndarray):
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.out: Any = out
        self.clock = tick()
        self.memory = None
        self.hooks = None
        self.named = None
        self.position = user_position(2) if modes.now.notes_line() else None

    @property
    def where(self) -> Where | None:
        """The user's line that made it; None where that is not known."""
        return None if self.position is None else line_of(self.position)

    @property
    def node(self) -> Any:
        """What users see as `grad_fn`."""
        return frontends.node_of(self)

    @property
    def place(self) -> int:
        """Which of the results of `node` it is."""
        return self.output_nr if self.named is None else self.named.output_nr

    @property
    def began(self) -> int:
        """The tick at which the call began that is one node."""
        return self.clock - 1 if self.named is None or self.named.start == ALONE else self.named.start

    def name(self) -> str:
        """The name PyTorch shows: `AddBackward0`."""
        return self.op.grad_name(self) if self.named is None else self.named.name

    @property
    def freed(self) -> bool:
        """Whether a backward pass has freed the saved values."""
        return self.out.__class__ is FreedTensor

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that made the operands: AccumulateGrad for a leaf, None where no gradient flows. Operands without a
        derivative, as indices, have no place."""
        return tuple([next_node(*edge(self.inputs[i], self.clock)) for i in self.places()])

    def places(self) -> list[int]:
        """The operands that `next_functions` tells of."""
        found = [i for i in range(len(self.inputs)) if self.leads_to(i)]
        if self.name() in OF_NUMBERS:
            return [i for i in found if not i or edge(self.inputs[i], self.clock) != (None, None)]
        return found

    def siblings(self) -> list[Record | None]:
        """The records of the results of `node`; None for a result that is gone or has no gradient."""
        if self.named is None or not self.named.makers:
            return [self]
        return [None if maker is None else maker() for maker in self.named.makers]

    def __call__(self, *cotangents: Any) -> Any:
        """The gradients for `next_functions` from those of the results of `node`: a tensor, or a tuple of several. Raises
        TypeError for another number of gradients."""
        return frontends.derivatives_at(self.node, cotangents)

    def _sequence_nr(self) -> int:
        """The place of the operation in the order of all."""
        return self.clock

    @property
    def requires_grad(self) -> bool:
        """True: only what requires grad has a node."""
        return True

    @property
    def _input_metadata(self) -> list[Any]:
        """The shapes and dtypes of the results of `node`."""
        return [None if x is None else x.out for x in self.siblings()]

    def leads_to(self, position: int) -> bool:
        """Whether a gradient can flow to an operand."""
        return self.op.vjp_for(position) is not None

    def result(self, number: int) -> Record:
        """The record of one of the results of `node`."""
        return self

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's notes."""
        return _notes.setdefault(self, {})

    def add_hook(self, hook: Hook) -> Handle:
        """A function that gets the cotangent of the result and may replace it, or one of the classes below."""
        if self.hooks is None:
            self.hooks = {}
        return Handle(self.hooks, hook)

    def register_hook(self, fn: Callable[[Any, Any], Any]) -> Handle:
        """Call `fn(grad_inputs, grad_outputs)`, two tuples, once the gradients of the operands are computed; a tuple that it
        returns replaces grad_inputs."""
        return self._add_node_hook(AfterNode(fn))

    def register_prehook(self, fn: Callable[[Any], Any]) -> Handle:
        """Call `fn(grad_outputs)`, a tuple, before the gradients of the operands are computed; a tuple that it returns
        replaces it."""
        return self._add_node_hook(BeforeNode(fn))

    def _add_node_hook(self, hook: BeforeNode | AfterNode) -> Handle:
        """Enter a hook of `node`: each of its results has it."""
        handle = self.add_hook(hook)
        for record in self.siblings():
            if record is not None and handle.id not in (hooks := record.hooks or {}):
                record.hooks = hooks
                hooks[handle.id] = hook
                handle.extra.append(hooks)
        return handle

    def __getattr__(self, name: str) -> Any:
        """`_saved_self`, `_saved_other`, ..., `_saved_result`: the values that its gradient needs, and attributes.
        `_raw_saved_self` and so on take hooks."""
        if name.startswith(("_saved_", "_raw_saved_")):
            found = frontends.saved_values(self)
            if name in found:
                return found[name]
        raise AttributeError(f"{self.name()!r} object has no attribute {name!r}")

    def free(self) -> None:
        """Drop saved values and keep the edges: operations that save nothing can be differentiated again."""
        if self.out.__class__ is FreedTensor:
            return
        freed, clock, tracing = [], self.clock, frontends.tracing
        for tensor in self.inputs:
            if tensor._history or tracing:  # a pending tensor has no array
                freed.append(FreedTensor(former_shape(tensor, clock), tensor.dtype, *edge(tensor, clock)))
                continue
            gone, data = new(FreedTensor), tensor._data
            gone.shape = data.shape
            gone.dtype = data.dtype
            gone.leaf = None
            if tensor._tracked:
                gone.record = maker = tensor._record
                if maker is None and tensor._since < clock:
                    gone.leaf = tensor
            else:
                gone.record = None
            freed.append(gone)
        self.inputs = tuple(freed)
        out = self.out
        self.out = gone = new(FreedTensor)
        gone.shape, gone.dtype = out.shape, out.dtype
        gone.record = gone.leaf = None

    def __repr__(self) -> str:
        return f"<{self.name()} object at {hex(id(self))}>"


_notes: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
"""`metadata`, by record."""


class BeforeNode:
    """A hook of `grad_fn.register_prehook`."""

    def __init__(self, function: Callable[[Any], Any]):
        self.function = _checked(function)


class AfterNode:
    """A hook of `grad_fn.register_hook`."""

    def __init__(self, function: Callable[[Any, Any], Any]):
        self.function = _checked(function)


class AtLeaf:
    """A hook of the node at a leaf: called after those of the tensor, where gradients are added to `grad`."""

    def __init__(self, function: Callable[..., Any]):
        self.function = _checked(function)


class BeforeLeaf(AtLeaf):
    """One that gets the gradient before it is added."""

    def __call__(self, gradient: Any) -> Any:
        replaced = self.function((gradient,))
        return None if replaced is None else replaced[0]


class AfterLeaf(AtLeaf):
    """One that is called when it was added."""

    def __call__(self, leaf: Any) -> None:
        self.function((), (leaf.grad,))


def of_leaf(hooks: Mapping[int, Any], accumulates: bool = True) -> list[Any]:
    """The hooks of a leaf in their order. accumulates: its gradient is added to `grad`."""
    of_node = [hook for hook in hooks.values() if isinstance(hook, AtLeaf)]
    return [hook for hook in hooks.values() if not isinstance(hook, AtLeaf)] + (of_node if accumulates else [])


def _checked(hook: Any) -> Any:
    if not callable(hook):
        raise ArgumentError(f"a hook is a function, got {type(hook).__name__}")
    return hook


ALONE = sys.maxsize
"""The beginning of a call that made one record: nothing else is inside of it."""


class Named(NamedTuple):
    """A call of a function that is one node: its name, the tick at which it began (`ALONE` for one that made one record), which
    of its results a record made.

    arguments: its floating tensors, by the id of what made them or, of a leaf, their own; 0 for one without a gradient. order,
    kept: see `NodeName`. makers: of several results, their records.
    """

    name: str
    start: int
    output_nr: int = 0
    arguments: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    kept: tuple[str, str] = ("", "")
    makers: Sequence[weakref.ref[Record] | None] = ()


class AccumulateGrad(FormerNode):
    """The end of the tape at a leaf: adds to `variable.grad`."""

    __slots__ = ("__weakref__", "variable")

    def __init__(self, variable: Tensor):
        self.variable = variable

    next_functions: tuple[Any, ...] = ()

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's notes."""
        return _notes.setdefault(self, {})

    def register_hook(self, fn: Callable[[Any, Any], Any]) -> Handle:
        """Call `fn((), grad_outputs)` when a gradient was added to the leaf's `.grad`."""
        return self.variable.register_post_accumulate_grad_hook(AfterLeaf(fn))

    def register_prehook(self, fn: Callable[[Any], Any]) -> Handle:
        """Call `fn(grad_outputs)` before a gradient is added; a tuple that it returns replaces it."""
        return self.variable.register_hook(BeforeLeaf(fn))

    def __call__(self, cotangent: Any) -> tuple[()]:
        """Add a gradient to `variable.grad`."""
        frontends.backward(self.variable, cotangent)
        return ()

    def name(self) -> str:
        """The name that PyTorch gives it."""
        return "torch::autograd::AccumulateGrad"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        return id(self.variable)

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {hex(id(self))}>"


class GradientEdge(NamedTuple):
    """A place of the tape that gradients flow to: a result of a node."""

    node: Any
    output_nr: int
    ownership_token: Any = None


_accumulators: weakref.WeakValueDictionary[int, AccumulateGrad] = weakref.WeakValueDictionary()
"""By id of the leaf, which they keep alive."""


def accumulator(leaf: Any) -> AccumulateGrad:
    """The end of the tape at a leaf: one object as long as somebody holds it."""
    found = _accumulators.get(id(leaf))
    if found is None:
        found = _accumulators[id(leaf)] = AccumulateGrad(leaf)
    return found


OF_NUMBERS = frozenset({"PowBackward0", "RemainderBackward0", "FmodBackward0", "ClampBackward1"})
"""Operations of a tensor and plain numbers, which are no operands in PyTorch."""


def next_node(maker: Record | None, leaf: Any) -> tuple[Any, int]:
    """The node at an edge, and which of its results the operand is."""
    if maker is None:
        return (None if leaf is None else accumulator(leaf)), 0
    return maker.node, maker.place


class RemovableHandle:
    """Removes an item from a dict of hooks; also a context manager.

    Whoever makes one enters the hook: `hooks[handle.id] = hook`. extra_dict: other dicts, one or a list, of which an item of
    this number is removed too.
    """

    _next = count(1).__next__

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None):
        self.hooks, self.id = hooks_dict, RemovableHandle._next()
        self.extra: Any = [] if extra_dict is None else extra_dict if isinstance(extra_dict, list) else [extra_dict]

    def remove(self) -> None:
        if self.id in self.hooks:
            check_change(self.hooks, "a hook is removed")
            del self.hooks[self.id]
        for other in self.extra:
            other.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


class Handle(RemovableHandle):
    """Removes a hook, which it enters."""

    def __init__(self, hooks: dict[int, Any], hook: Any):
        if not callable(hook) and not isinstance(hook, (Retain, BeforeNode, AfterNode)):
            raise ArgumentError(f"a hook is a function, got {type(hook).__name__}")
        super().__init__(hooks)
        hooks[self.id] = hook


class Memory:
    """The in-place changes of an array that several tensors share: the tick and the place of the last, and their number."""

    __slots__ = ("changed", "count", "position")

    def __init__(self) -> None:
        self.changed = 0
        self.count = 0
        self.position: Position | None = None

    @property
    def where(self) -> Where | None:
        """The user's line of the last change."""
        return None if self.position is None else line_of(self.position)


class Retain:
    """The hook of `retain_grad`: the backward pass adds the cotangent to `tensor().grad`, after all other hooks."""

    def __init__(self, tensor: Tensor):
        self.tensor = weakref.ref(tensor)


Hook = Callable[[Any], Any] | Retain | BeforeNode | AfterNode


class FreedTensor:
    """A saved value that a backward pass freed. It has a shape; reading the value raises GradientError.

    record, leaf: the destination of its cotangent, as from `edge`.
    """

    __slots__ = ("dtype", "leaf", "record", "shape")

    __array_ufunc__ = None  # NumPy returns NotImplemented for `array * freed`
    _history: Any = (None,)  # not empty, so that `edge` is called
    _shapes = ()
    _memory = None
    _base = None
    _inference = None

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, record: Record | None = None, leaf: Any = None):
        self.shape = shape
        self.dtype = dtype
        self.record = record
        self.leaf = leaf

    @property
    def _data(self) -> FreedTensor:
        return self

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def shape_array(self) -> np.ndarray:
        """An array of this shape that occupies no memory, for ops that read only the shape."""
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)

    def refuse(self) -> NoReturn:
        raise requests.freed()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python and NumPy probe these
            raise AttributeError(name)
        self.refuse()

    def _refuse(self, *operands: Any) -> NoReturn:
        self.refuse()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __neg__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __abs__ = __getitem__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _refuse
    __eq__ = __ne__ = _refuse
    __hash__ = object.__hash__


class Overwritten(FreedTensor):
    """A saved value that was changed in place since. description: its text in the error; places: in the program, where it was
    saved and where it was changed."""

    __slots__ = ("description", "places")

    def __init__(
        self, description: str, data: Any, record: Record | None = None, leaf: Any = None,
        places: tuple[Position | None, ...] = (),
    ):  # fmt: skip
        super().__init__(data.shape, data.dtype, record, leaf)
        self.description = description
        self.places = places

    def refuse(self) -> NoReturn:
        modes.now.note_lines()
        raise requests.modified(self.description, *(None if place is None else line_of(place) for place in self.places))


def places_of_change(record: Record, memory: Memory | None) -> tuple[Position | None, Position | None]:
    """Where a record saved a value, and where the value was changed since. They hold no record: the tape has no cycles."""
    return record.position, None if memory is None else memory.position


def former_shape(tensor: Any, clock: int) -> tuple[int, ...]:
    """The shape that a tensor had at this tick."""
    shapes = tensor._shapes
    if shapes and clock < shapes[-1][0]:
        return shapes[bisect_right(shapes, clock, key=_until)][1]
    return tuple(tensor.shape)


def overwritten_operand(tensor: Tensor, record: Record) -> Overwritten:
    """The stand-in for an operand of `record` that was changed after it was read."""
    memory = tensor._memory if tensor._base is None else tensor._base._memory
    text = requests.operand_text(tensor, record.name())
    kind = TensorType(former_shape(tensor, record.clock), tensor.dtype)
    return Overwritten(text, kind, *edge(tensor, record.clock), places_of_change(record, memory))


def changed(tensor: Any) -> int:
    """The tick of the last in-place change of a tensor's memory, 0 for none."""
    memory = tensor._memory if tensor._base is None else tensor._base._memory
    return 0 if memory is None else memory.changed


def memory_of(tensor: Any) -> Memory:
    """The change counter that a tensor shares with its views and detached aliases; made at the first use."""
    owner = tensor if tensor._base is None else tensor._base
    if owner._memory is None:
        owner._memory = Memory()
        if owner._record is not None:
            owner._record.memory = owner._memory
    return owner._memory


def touch(tensor: Any, depth: int = 1) -> int:
    """Record an in-place change of a tensor's memory; returns the tick. depth: so many frames up, the user's frame has not been
    passed. The line is noted as long as records note theirs."""
    memory = memory_of(tensor)
    memory.changed = tick()
    memory.count += 1
    memory.position = _line(depth + 1) if modes.now.watched else None
    return memory.changed


def touch_all(tensors: Iterable[Any], depth: int = 1) -> None:
    """As `touch`, of tensors that one operation changes."""
    now, position = tick(), _line(depth + 1) if modes.now.watched else None
    for tensor in tensors:
        memory = memory_of(tensor)
        memory.changed, memory.position = now, position
        memory.count += 1


def _line(depth: int) -> Position:
    """The place in the program that is running. depth: see `touch`."""
    frame = getframe(depth)
    code = frame.f_code
    return (code, frame.f_lasti) if internal.get(code.co_filename) is False else position_of(frame)


_until = itemgetter(0)


def edge(tensor: Any, clock: int) -> tuple[Record | None, Any]:
    """The destination of the cotangent of an operand recorded at `clock`: (record that made it, None), (None, leaf) or none.

    It is determined by the tensor's state at that time: `_history` keeps the states before in-place changes and changes of
    `requires_grad`.
    """
    if isinstance(tensor, FreedTensor):
        return tensor.record, tensor.leaf
    record, tracked = tensor._record, tensor._tracked
    history = tensor._history
    if history and clock < history[-1][0]:
        _, record, tracked = history[bisect_right(history, clock, key=_until)]
    if record is not None:
        return record, None
    return None, tensor if tracked and tensor._since < clock else None
