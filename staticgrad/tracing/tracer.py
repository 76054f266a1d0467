"""Tracing: the user's eager code runs once on symbols, and its operations become a graph.

Eager tensors that the code captures become variables bound to their own buffers. Their `.grad`, their in-place updates and
the optimizer's are symbols during the trace, and assignments of the step at its end. A trace changes no eager tensor,
whether it succeeds or raises.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar, cast

import numpy as np

from ..base.types import INEXACT, Shape, TensorType, check_unmasked, int64, shape_text, type_of
from ..eager.grad_mode import modes, set_grad_enabled
from ..eager.saved import positions_read
from ..eager.tape import FreedTensor, Record
from ..eager.tensor import Tensor, wrap
from ..errors import TraceError
from ..ir import REGISTRY, Cell, Graph, Layout, Node, OpDef, Region
from ..ops.leaves import constant_of
from ..ops.operators import F, Symbol, append, dispatch, flows, misuse, promotion, state, top_level
from ..ops.operators.node_names import PARTED, node_of
from ..ops.operators.unknown_numbers import UnknownNumber, closed
from ..ops.reductions import count
from . import traced_backward
from .handlers import caught
from .numbers import RunNumber, has_number, listed, magnitude
from .observer.arrays import ArrayMemory, owner_of
from .segments.runs import Again, FlagChange
from .sharing import MemoryUse, PositionInBase, SharedView
from .trace_memory import TraceMemory
from .traced import Alias, Leaf, LostValue, Traced, met
from .traced_array import TracedArray, elements
from .views import TracedView

Result = TypeVar("Result")

ADDRESSES = 1 << 48
"""More elements than an array has."""
FIXED = 1 << 16
"""The most bytes of a tensor whose values a trace may depend on; each call compares them."""


class ArgumentReached(Again):
    """A tensor or a container that was passed as an argument is also captured by the function: it is state, not input.

    Ends the trace. The next one binds it by its identity.
    """

    def __init__(self, argument: Any):
        self.argument = argument


class Tracer:
    """The state of one trace: the graph, the captured tensors, and their symbolic values.

    name: of the function. arrays: knows those that existed before; every run reads them again. places: of arguments
    that share memory, by number. observer: of Python's state, told where values of arrays become constants. shapes: of the
    arguments, with symbolic extents; None: those of their arrays.
    """

    def __init__(
        self, name: str, arrays: ArrayMemory, places: Mapping[int, PositionInBase] | None = None, observer: Any = None,
        shapes: Sequence[Shape] | None = None,
    ):  # fmt: skip
        self.name = name
        self.shapes = shapes
        self.places: Mapping[int, PositionInBase] = {} if places is None else places
        self.graph = Graph()
        self.graph.sized = True
        self.memory = TraceMemory(self)
        self.opens = False
        """Whether extents of a value are known in the run only."""
        self.arrays = arrays
        self.observer = observer
        self.tracked: set[Node] = set()
        """Nodes that require grad."""
        self.leaves: dict[Node, Any] = {}
        """Leaves that require grad, eager or traced tensors, by the nodes of all their versions."""
        self.taped: set[Node] = set()
        """Of these, arguments that are results on a tape outside: gradients end there, but they are no leaves."""
        self.arguments: list[tuple[Any, Leaf | SharedView]] = []
        """(argument, its placeholder)"""
        self.distinct = False
        """Whether arguments that are one tensor or array are one in the trace, too."""
        self.arrays_of: dict[int, TracedArray] = {}
        """The arrays that stand for arguments, by id of the tensors of their elements."""
        self.bases: dict[int, Leaf] = {}
        """Arguments into whose memory earlier arguments are views, by number."""
        self.captured: dict[int, tuple[Tensor, Leaf]] = {}
        """By id of the eager tensor."""
        self.wrappers: dict[int, tuple[Any, Tensor]] = {}
        """(array or detached tensor, a tensor around its memory), by id."""
        self.grads: dict[int, tuple[Any, Any]] = {}
        """(tensor, its gradient: traced, an eager tensor, or None), by id of the tensor."""
        self.initial_grads: dict[int, tuple[Any, Leaf | None]] = {}
        """Gradients at the start of the step, as far as it reads them."""
        self.hooks: dict[Node, dict[int, Callable[[Any], Any]]] = {}
        self.accumulated: dict[int, dict[int, Callable[[Any], Any]]] = {}
        """Hooks of `register_post_accumulate_grad_hook`, by id of the traced leaf."""
        self.retained: dict[Node, Traced] = {}
        self.freed: set[Node] = set()
        """Operations whose saved values a backward pass freed."""
        self.differentiating = False
        self.put_off: list[Any] = []
        """What calls at the end of the run are going to change."""
        self.numbers = False
        """Whether Python has numbers whose values are not known yet."""
        self.given_numbers: Any = None
        """`ArgumentNumbers` of the call."""
        self.decisions: Any = None
        """`Decisions` of a trace that may decide by values; None for one that may not."""
        self.undo: list[Callable[[], None]] = []
        """Undoes the preparations of a trace that fails."""

    def active(self, work: Callable[[], Result]) -> Result:
        """Run `work` while the operations of this thread go to the tracer, and return its result.

        Not a context manager: a signal handler that raises in `__enter__` or `__exit__` would leave the tracer active.
        """
        mode, outer = modes.now, state.tracer
        grad = mode.grad
        try:
            dispatch.begin(self)
            state.tracer = self
            result = work()
            if mode.grad is not grad:
                self.refuse(
                    "grad mode is switched by a compiled function, which would happen only while tracing", "do it outside"
                )
            return result
        finally:
            mode.grad = grad
            state.tracer = outer
            dispatch.end(self)

    def close(self) -> None:
        """Drop the values, which refer to the tracer, and the arrays of the arguments."""
        self.memory.close()
        for values in (
            self.arguments, self.arrays_of, self.captured, self.wrappers, self.grads, self.initial_grads, self.hooks,
            self.retained, self.bases, self.leaves, self.taped, self.tracked, self.freed,
        ):  # fmt: skip
            values.clear()

    def refuse(self, what: str, *advice: str) -> NoReturn:
        raise TraceError(what, *advice)

    def check_change(self, holder: Any, what: str) -> None:
        """Raises TraceError for a change by this package's own code, which is not observed, of an object that existed before
        the trace: runs would not repeat it. holder: the object; None for state of the process."""
        if self.observer is not None and (holder is None or not self.observer.log.ages.is_new(holder)):
            self.refuse(f"{what} inside a compiled function, which would happen only while tracing", "do it outside")

    def check_hook(self, x: Traced) -> None:
        """Raises TraceError for a hook of an argument, which the caller's tensor would have after the call."""
        if any(leaf is x and isinstance(given, Tensor) for given, leaf in self.arguments):
            self.check_change(None, "a hook of an argument is registered")

    def set_attribute(self, holder: Any, name: str, value: Any) -> None:
        """This package's own code is about to set an attribute: runs repeat it, as if it were the user's statement."""
        if self.observer is not None:
            self.observer.set_attribute(holder, name, value)

    def keeps(self, x: Any) -> None:
        """An object that this package's own code has made stays after the trace: changes of it are the function's."""
        if self.observer is not None:
            self.observer.keeps(x)

    def keeps_flag(self) -> NoReturn:
        what = "requires_grad can't be changed inside a compiled function"
        raise FlagChange(what, "do it before the call, or use x.detach()")

    # values -----------------------------------------------------------------------------------------------------------

    def argument(self, given: Any, array: np.ndarray, name: str) -> Any:
        """What stands for an argument: its placeholder, or the view of another tensor's memory; or an array of its elements."""
        found = self._argument(given, array, name)
        if type(given) is not np.ndarray:
            return found
        return self.arrays_of.setdefault(id(found), TracedArray(found))

    def _argument(self, given: Any, array: np.ndarray, name: str) -> Leaf | SharedView:
        number = len(self.arguments)
        shape = array.shape if self.shapes is None else self.shapes[number]
        leaf = self.bases[number] if number in self.bases else self._placeholder(TensorType(shape, array.dtype), name)
        leaf._parameter = isinstance(given, Tensor) and given._parameter
        if isinstance(given, Tensor) and given._inference:
            self.memory.inferred.add(leaf.node)
        passed = given._data if isinstance(given, Tensor) else given
        if isinstance(passed, np.ndarray) and not passed.flags.c_contiguous:
            steps = tuple([step // passed.itemsize for step in passed.strides])
            self.memory.layouts[leaf.node] = Layout(passed.shape, steps, 0)
        place = self.places.get(number)
        if place is not None:
            view = SharedView(self, self._base(place), place, leaf.node)
            self.memory.shared_views.append(view)
            self.arguments.append((given, view))
            return view
        tracked = isinstance(given, Tensor) and given._tracked
        for other, first in self.arguments if tracked or self.distinct else ():
            if other is given:  # passed twice: one leaf; the second placeholder is not read
                self.arguments.append((None, leaf))
                return first
        if tracked:
            self.track(leaf.node, leaf)
            if given._record is not None:
                self.taped.add(leaf.node)
        self.arguments.append((given, leaf))
        return leaf

    def _placeholder(self, kind: TensorType, name: str) -> Leaf:
        return Leaf(self, append(self.graph, REGISTRY["placeholder"], (), {"type": kind}, name=name).node)

    def _base(self, place: PositionInBase) -> Leaf:
        """The tensor whose memory a view shares: another argument, a captured tensor, or the gradient of one."""
        if isinstance(place.base, Tensor):
            return self.value(place.base)
        if isinstance(place.base, tuple):  # a gradient
            (owner,) = place.base
            return self.get_grad(owner if isinstance(owner, Tensor) else self.arguments[owner][1])
        if place.base < len(self.arguments):
            base = self.arguments[place.base][1]
            assert isinstance(base, Leaf)
            return base
        if place.base not in self.bases:
            self.bases[place.base] = self._placeholder(type_of(place.array), f"arg{place.base}")
        return self.bases[place.base]

    def members(self, sources: Sequence[np.ndarray], labels: Sequence[str]) -> list[MemoryUse]:
        """The memory that the step reads and writes; sources: the arrays of the arguments."""
        found = []
        for number, ((given, leaf), array, label) in enumerate(zip(self.arguments, sources, labels, strict=True)):
            if given is not None:
                tensor = given if isinstance(given, Tensor) else None
                found.append(MemoryUse(array, number, label, leaf.changed, leaf.node.where, tensor))
        for tensor, leaf in self.captured.values():
            label, leaf = tensor.name if tensor.name else "a tensor that it reaches", self.memory.at_start(leaf)
            found.append(MemoryUse(tensor._data, tensor, label, leaf.changed, leaf.node.where, tensor))
        for key, gradient in self.initial_grads.values():
            if gradient is not None and isinstance(key, Tensor):
                label = f"the gradient of {key.name if key.name else 'a tensor that it reaches'}"
                own: Any = key._gradient
                found.append(MemoryUse(own._data, (key,), label, gradient.changed, gradient.node.where, own))
            elif gradient is not None:
                number = next(i for i, (_, argument) in enumerate(self.arguments) if argument is key)
                grad = self.arguments[number][0]._gradient
                label = f"the gradient of {labels[number]}"
                found.append(MemoryUse(grad._data, (number,), label, gradient.changed, gradient.node.where, grad))
        return found

    def constant(self, array: np.ndarray, requires_grad: bool = False) -> Traced:
        """A tensor made inside the function: `sg.zeros(3)`."""
        result = Traced(self, append(self.graph, REGISTRY["constant"], (), constant_of(array)).node)
        if modes.now.inference:
            self.memory.inferred.add(result.node)
        return result.requires_grad_(True) if requires_grad else result

    def filled(self, number: np.ndarray, shape: Shape, requires_grad: bool = False) -> Traced:
        """A tensor of one number, made inside the function, whose shape has symbolic extents."""
        result = self.own(F.broadcast_to(self.constant(number), shape))
        return result.requires_grad_(True) if requires_grad else result

    def array(self, array: np.ndarray) -> Traced:
        """An array as a tensor. Every run reads an array that existed before the trace again."""
        found = self.operand(array)
        return found if isinstance(found, Traced) else self.constant(found)

    def shared(self, array: Any) -> Traced:
        """A tensor of its own that shares an array's memory."""
        if type(array) is TracedArray:
            return self.own(array.tensor) if array.scalar else cast("Traced", array.tensor.detach())
        if self.arrays.existed(array):
            self.arrays.feed(array)
            return cast("Traced", self.wrapped(array, array).detach())
        made = self.constant(array.copy())
        owner = owner_of(array)
        self.arrays.shared[id(owner)] = owner
        self.memory.shared_arrays.append((made, made.node, array, array.copy()))
        return made

    def called(self, function: Callable[..., Result], args: Sequence[Any], named: Mapping[str, Any]) -> Result:
        """The result of a function of the package. Arrays that existed before the trace are tensors to it, so that it leaves no
        value of theirs in the trace; integers may be extents, but not as the first argument."""
        inputs = [self._read_anew(met(x), "f" if i else "fiub") for i, x in enumerate(args)]
        out = function(*inputs, **{name: self._read_anew(met(x), "f") for name, x in named.items()})
        if out.__class__ is tuple and (node := node_of(function.__name__)) is not None:
            made = node.name if isinstance(node.name, str) else node.name(tuple(args), named, out)
            if made in PARTED:
                for i, x in enumerate(cast("tuple[Any, ...]", out)):
                    if isinstance(x, TracedView):
                        x.part = made, i
        return out

    def _read_anew(self, x: Any, kinds: str) -> Any:
        known = isinstance(x, np.ndarray) and x.dtype.kind in kinds and self.arrays.existed(x)
        return self.array(x) if known else x

    listed = staticmethod(listed)

    def copied(self, x: Any, dtype: np.dtype | None, requires_grad: bool) -> Traced:
        """`sg.tensor(x)` of a tensor or an array: a copy without the tape."""
        x = elements(x)
        result = self.own(F.stop_gradient(x if dtype is None else F.astype(x, dtype)))
        return result.requires_grad_(True) if requires_grad else result

    def changes(self, tensor: Tensor) -> bool:
        """Whether the function has changed a tensor from before the trace."""
        known = self.captured.get(id(tensor))
        return known is not None and known[1].changed

    def fixed(self, tensor: Tensor) -> np.ndarray:
        """The values of a small tensor from before the trace, which holds for these alone: a mask that chooses rows."""
        if self.observer is None or tensor._data.nbytes > FIXED or self.changes(tensor):
            self.no_value(tensor, "an array")
        self._check_not_argument(tensor)
        self.observer.read_values(tensor)
        return tensor._data.copy()

    def no_value(self, tensor: Tensor, what: str) -> NoReturn:
        """Raises TraceError for code that needs the value of a tensor, which may differ at each run."""
        self.refuse(
            f"a tensor of shape {shape_text(tensor.shape)}{f' ({tensor.name})' if tensor.name else ''} is read by a compiled "
            f"function: Python can't have {what} of it, which would be that of the time of tracing",
            "compute with the tensor, or pass the value as an argument",
        )

    def value(self, tensor: Tensor) -> Leaf:
        """The variable that stands for an eager tensor."""
        known = self.captured.get(id(tensor))
        if known is not None:
            return known[1]
        self._check_not_argument(tensor)
        if tensor._record is not None:
            self.refuse(
                f"a tensor of shape {shape_text(tensor.shape)} with a tape of its own ({tensor._record.name()}) can't enter "
                "a compiled function",
                "compute it inside the function, or use x.detach()",
            )
        leaf = self.variable(tensor, tensor.name if tensor.name else f"tensor{len(self.captured)}")
        self.captured[id(tensor)] = tensor, leaf
        if tensor._tracked:
            self.track(leaf.node, tensor)
        if tensor._inference:
            self.memory.inferred.add(leaf.node)
        return leaf

    def _check_not_argument(self, tensor: Tensor) -> None:
        if any(given is tensor for given, _ in self.arguments):
            raise ArgumentReached(tensor)

    def variable(self, tensor: Tensor, name: str, kind: TensorType | None = None) -> Leaf:
        """A variable whose storage is the tensor's. kind: its type, with symbolic extents."""
        if not tensor._data.flags.c_contiguous:
            self.refuse(
                f"a tensor of shape {shape_text(tensor.shape)} does not lie in memory in row-major order, so a compiled "
                "function can't be bound to it",
                "make it outside: x = x.contiguous(), or x.data = x.data.contiguous()",
            )
        cell = Cell(name, type_of(tensor) if kind is None else kind, tensor=tensor)
        return Leaf(self, append(self.graph, REGISTRY["variable"], (), {"cell": cell}, name=name).node)

    def wrapped(self, owner: Any, array: np.ndarray) -> Leaf:
        """The variable for the memory of an array, or of a detached tensor, that existed before."""
        if id(owner) not in self.wrappers:
            self.wrappers[id(owner)] = owner, wrap(array)
        return self.value(self.wrappers[id(owner)][1])

    def track(self, node: Node, key: Any) -> None:
        self.tracked.add(node)
        self.leaves[node] = key

    def is_leaf(self, node: Node) -> bool:
        """Whether a value that requires grad is that of a leaf."""
        return node in self.leaves and node not in self.taped

    def check_own_tape(self, x: Traced, what: str) -> None:
        """Raises TraceError for an argument with a tape of its own, to which a trace can't give something."""
        if x.node in self.taped:
            self.refuse(
                f"{x.describe()} is an argument with a tape of its own, which a trace doesn't have: Python can't have {what}",
                "compute it inside the function, or pass its detach()",
            )

    def make_leaf(self, x: Traced) -> None:
        """x requires grad from here on."""
        self.track(x.node, x)

    def apply(self, op: OpDef, args: Sequence[Any], attrs: dict[str, Any]) -> Traced:
        """Append an op. Eager operands enter as variables."""
        if state.levels and (level := top_level(args)) is not None:
            return level.apply(op, args, attrs)
        if op.fails and caught():
            self.refuse(
                f"{op.name} may fail inside of a try block, or of a with block that suppresses exceptions, and neither would "
                "see the error of a plan",
                "put the block around the call of the compiled function",
            )
        operands = [
            self._shape(a, p in op.shape_only) if isinstance(a, LostValue) else self.operand(a) for p, a in enumerate(args)
        ]
        if op.opened is not None and has_number(attrs) and (part := self._opened(op, args[0], attrs)) is not None:
            return part
        made = self._appended(op, operands, attrs)
        if op.aliases and not self.differentiating and op.vjp_for(0) is not None:
            base = args[0] if isinstance(args[0], Traced) else self.value(args[0]) if isinstance(args[0], Tensor) else None
            if base is not None:
                view = TracedView(self, base, made)
                self.memory.aliases.append(weakref.ref(view))
                return view
        return Traced(self, made)

    def _opened(self, op: OpDef, x: Any, attrs: Mapping[str, Any]) -> Traced | None:
        """An equal value for a view at a position that differs between runs. It shares no memory, so the trace must not show
        that: changes of either, results and offsets are refused, and the next trace has the numbers' values."""
        assert op.opened is not None
        base = self.value(x) if isinstance(x, Tensor) else x
        opened = op.opened(base, **attrs) if isinstance(base, Traced) and not state.inside else None
        if opened is None:
            return None
        found: Traced = opened[0]
        if op.aliases:
            self.memory.picked[found.node] = append(self.graph, op, (base.node,), opened[1]).node
        return found

    def number(self, x: Traced) -> Any:
        """The number of a tensor of one element."""
        kind = {"f": float, "i": int, "u": int}.get(x.dtype.kind)
        if x.dtype.kind == "b" and x.node.type.static and self.decisions is not None:
            return self.decisions.take(x)
        if kind is None or x.dtype.itemsize > 8 or x.dtype == np.uint64 or not x.node.type.static:
            return float(x)  # which says what to do
        self.numbers = True
        with set_grad_enabled(False):
            whole = F.stop_gradient(F.reshape(x, ()))
            value = F.astype(whole, np.dtype(np.float64 if kind is float else np.int64))
            return RunNumber(value, kind, x, limit=1 if kind is float else magnitude(x.node))

    def extent(self, x: Traced, axis: int) -> Any:
        """The number of elements along an axis, which the run decides."""
        found = self.number(self.apply_plainly(count, [x], {"axis": (axis,), "dtype": int64}))
        found.limit = ADDRESSES
        return found

    def truth(self, x: Traced) -> bool:
        """Whether a tensor of one element is not 0, on the road that the trace takes. Raises TraceError where it takes none."""
        if self.decisions is None or not x.node.type.static:
            x.no_truth()
        return self.decisions.take(x)

    def truth_of(self, tensor: Tensor) -> bool:
        """`truth` of a tensor from before the trace."""
        if self.decisions is None:
            self.no_value(tensor, "its truth value")
        return self.truth(self.value(tensor))

    def number_of(self, tensor: Tensor) -> Any:
        """`number` of a tensor from before the trace."""
        if self.decisions is None:
            self.no_value(tensor, "a number")
        return self.number(self.value(tensor))

    def plain(self, node: Node) -> Traced:
        """The tensor of a node."""
        return Traced(self, node)

    def _with_numbers(self, op: OpDef, operands: Sequence[Any]) -> list[Any]:
        """The operands, with numbers as tensors of the dtypes that Python's numbers would be cast to."""
        kinds = [x.sample() if isinstance(x, UnknownNumber) else x.operand() if isinstance(x, Symbol) else x for x in operands]
        targets = promotion(op, kinds)
        return [
            x.cast(dtype) if isinstance(x, UnknownNumber) and dtype is not None else x
            for x, dtype in zip(operands, targets, strict=True)
        ]

    def apply_plainly(self, op: OpDef, args: Sequence[Any], attrs: Mapping[str, Any]) -> Traced:
        """As `apply`; the result is no view of an operand."""
        return Traced(self, self._appended(op, [self.operand(a) for a in args], dict(attrs)))

    def _appended(self, op: OpDef, operands: Sequence[Any], attrs: dict[str, Any]) -> Node:
        if any(True for x in operands if isinstance(x, UnknownNumber)):
            operands = self._with_numbers(op, operands)
        if attrs:
            attrs = closed(attrs)
        first = len(self.graph.nodes)
        node = append(self.graph, op, operands, attrs).node
        self.opens = self.opens or op.sized
        if modes.now.grad:
            self.tracked.update(new for new in self.graph.nodes[first:] if flows(new, self.tracked.__contains__))
        if modes.now.inference:
            self.memory.inferred.update(self.graph.nodes[first:])
        elif self.memory.inferred:
            for new in self.graph.nodes[first:]:
                if new in self.tracked and any(self.memory.is_inference(i) for i in new.inputs):
                    self._check_kept(new)
        return node

    def _check_kept(self, node: Node) -> None:
        """Raises GradientError for an operation that saves a tensor of `inference_mode`."""
        kinds = [i.type for i in (*node.inputs, node)]
        if isinstance(node.op.emit, Region) or not all(type(k) is TensorType and {*map(type, k.shape)} <= {int} for k in kinds):
            self.refuse(
                f"{node.op.name} of a tensor of inference_mode requires grad", "take a clone() of it, or make it under no_grad"
            )
        operands = [
            FreedTensor(k.shape, k.dtype, leaf=i in self.tracked or None) for i, k in zip(node.inputs, kinds, strict=False)
        ]
        result: Any = FreedTensor(node.type.shape, node.type.dtype)
        reads, _ = positions_read(Record(node.op, tuple(operands), node.attrs, result))
        if any(self.memory.is_inference(node.inputs[i]) for i in reads):
            raise misuse.inference_saved()

    def operand(self, x: Any) -> Any:
        if isinstance(x, Tensor):
            return self.value(x)
        if isinstance(x, UnknownNumber):
            return x
        if type(x) in (list, tuple):
            return listed(x)
        if type(x) is TracedArray:
            return x._met()
        if isinstance(x, Alias):
            x.node  # noqa: B018 - its present value is read from its base in a mode of its own
        check_unmasked(x)
        if isinstance(x, np.ndarray):
            if not self.arrays.existed(x):
                return x.copy()  # which Python may change later
            if x.flags.c_contiguous and x.dtype.isnative:
                self.arrays.feed(x)
                return self.own(self.wrapped(x, x))
            self.observer.read_array(x)  # its values become a constant of the graph
        return x

    def _shape(self, x: LostValue, enough: bool) -> Node:
        """The operand for a lost value. enough: the op reads only its shape. Raises GradientError otherwise."""
        return x.node if enough else x.operand()

    def check_active(self, x: Traced) -> None:
        """Raises TraceError for a value of another trace, or of one that has ended."""
        if state.tracer is not self:
            self.refuse(
                f"a value of the trace of {self.name} is used outside of it: {x.describe()}",
                "return it from the compiled function; what Python stores elsewhere while tracing has no value",
            )

    # subgraphs of loops and branches -----------------------------------------------------------------------------------

    @property
    def acts(self) -> bool:
        """Whether the step has changed a tensor, or drawn random numbers, so far."""
        leaves = [leaf for _, leaf in (*self.arguments, *self.captured.values())]
        return bool(self.grads or self.graph.draws or any(leaf.changed for leaf in leaves))

    def marks(self) -> Any:
        """State that a subgraph must not change: values from before, and gradients. Compared before and after."""
        self.memory.settle()
        leaves = [leaf for _, leaf in (*self.arguments, *self.captured.values())]
        changed = frozenset((id(leaf), leaf.node) for leaf in leaves if leaf.changed)
        return changed, frozenset((key, id(value)) for key, (_, value) in self.grads.items())

    def follow(self, params: Sequence[Traced]) -> None:
        """Floating parameters of a subgraph require grad: whether a gradient is needed depends on the operands."""
        if modes.now.grad:
            self.tracked.update(p.node for p in params if p.dtype.kind in INEXACT)

    def keep_retained(self, former: Node, node: Node) -> None:
        """`retain_grad` of a tensor holds for the value that an in-place change gave it."""
        kept = self.retained.pop(former, None)
        if kept is not None:
            self.retained[node] = kept

    def own(self, value: Any) -> Traced:
        """The value in a node of its own: in eager mode it would have memory of its own."""
        return self.apply(REGISTRY["identity"], (value,), {})

    # gradients ----------------------------------------------------------------------------------------------------------

    def get_grad(self, x: Any) -> Any:
        """`x.grad`: traced, or an eager tensor that was set, or None."""
        known = self.grads.get(id(x))
        if known is not None:
            return known[1]
        if id(x) not in self.initial_grads:
            if isinstance(x, Tensor):
                self._check_not_argument(x)
            self.initial_grads[id(x)] = x, self._initial_grad(x)
        return self.initial_grads[id(x)][1]

    def _initial_grad(self, x: Any) -> Leaf | None:
        tensor = x if isinstance(x, Tensor) else next((given for given, leaf in self.arguments if leaf is x), None)
        before = tensor._gradient if isinstance(tensor, Tensor) else None
        if before is None:
            return None
        if before._record is not None:
            self.refuse(
                f"a gradient of shape {shape_text(before.shape)} that has a tape of its own can't enter a compiled function",
                "set it to None, or to its detach(), before the call",
            )
        if tensor is x:
            return self.variable(before, f"{tensor.name if tensor.name else 'tensor'}.grad")
        kind = type_of(before._data)
        return self._placeholder(x.origin.type if kind == x.origin.type else kind, f"{x.name}.grad")

    def set_grad(self, x: Any, value: Any) -> None:
        """`x.grad = value`. Raises as the eager setter does."""
        if isinstance(x, Tensor):
            self._check_not_argument(x)
        misuse.check_grad(x, value, isinstance(value, (Tensor, Traced)))
        self.grads[id(x)] = x, value

    def backward(self, tensors: Any, seeds: Any, retain: bool | None, create: bool, inputs: Any) -> None:
        """`backward` of one or several roots. Raises GradientError; no gradient is changed when it does."""
        traced_backward.backward(self, tensors, seeds, retain, create, inputs)

    def grad(
        self, outputs: Any, inputs: Any, seeds: Any, retain: bool | None, create: bool, allow_unused: bool
    ) -> tuple[Any, ...]:
        """`sg.grad` while tracing."""
        return traced_backward.grad(self, outputs, inputs, seeds, retain, create, allow_unused)
