"""Tracing: the user's eager code runs once on symbols, and its operations become a graph.

Eager tensors that the code captures become variables bound to their own buffers. Their `.grad`, their in-place updates and
the optimizer's are symbols during the trace, and assignments of the step at its end. A trace changes no eager tensor,
whether it succeeds or raises.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar, cast

import numpy as np

from ..base.types import INEXACT, Shape, TensorType, check_unmasked, shape_text, type_of
from ..eager.grad_mode import modes, set_grad_enabled
from ..eager.inplace import check_writeable
from ..eager.saved import positions_read
from ..eager.tape import FreedTensor, Record
from ..eager.tensor import Tensor, wrap
from ..errors import TraceError, Where, user_line
from ..ir import REGISTRY, Cell, Graph, Layout, Node, OpDef, Region
from ..operators import F, Symbol, append, dispatch, flows, layout_of, misuse, promotion, state, top_level
from ..operators.node_names import PARTED, node_of
from ..operators.unknown_numbers import UnknownNumber, closed
from ..ops.leaves import constant_of
from . import traced_backward
from .guards import contents
from .handlers import caught
from .numbers import RunNumber, has_number, listed, magnitude
from .observer.arrays import ArrayMemory, owner_of
from .segments.runs import Again, FlagChange
from .sharing import ADVICE, MemoryUse, PositionInBase, SharedView
from .traced import Alias, DataAlias, Leaf, LostValue, Traced, memory_node, met, no_extent
from .traced_array import TracedArray, elements
from .views import TracedView, assign_item, memory_of

Result = TypeVar("Result")

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
        self.shared_views: list[SharedView] = []
        self.shared_arrays: list[tuple[Traced, Node, np.ndarray, np.ndarray]] = []
        """(tensor, its node, the array that was made in the trace and whose memory it shares, a copy of that)"""
        self.graph = Graph()
        self.graph.sized = True
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
        self.distinct = False
        """Whether arguments that are one tensor or array are one in the trace, too."""
        self.arrays_of: dict[int, TracedArray] = {}
        """The arrays that stand for arguments, by id of the tensors of their elements."""
        """(argument, its placeholder)"""
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
        self.cut: set[Node] = set()
        """Stopped values that alias no other: of tensors that were detached in place, or given other data."""
        self.overwritten: dict[Node, Where | None] = {}
        """Values that in-place changes replaced, with the lines of these."""
        self.followed: dict[Node, Node] = {}
        """Values that changes replaced, with the next ones, where there is an `x.data`: eager mode counts its changes apart, so
        backward passes that saved x compute with the values that they find, and the other way round."""
        self.counted_apart: set[Node] = set()
        """Values of `x.data`."""
        self.picked: dict[Node, Node] = {}
        """Values that stand for views at positions which differ between runs, with views of the same memory, in the same
        layout, at a position that is known."""
        self.counted: set[int] = set()
        """Leaves with counted changes, by id."""
        self.rebound: dict[Node, Where | None] = {}
        """Values of tensors that got other memory (`x.data = value`), with the lines."""
        self.moves: dict[int, tuple[Traced, Alias]] = {}
        """(tensor that got other memory, that memory), by id of the tensor, in the order in which they got the last."""
        self.given_up: dict[int, Leaf] = {}
        """What stands for the memory that a tensor from outside had at the start, by id of one that got other memory."""
        self.writers: dict[Node, Node] = {}
        """Operations whose results replaced an operand, and that operand, which they saved before."""
        self.passed_on: set[Node] = set()
        """Gradients that eager mode has in the memory of another one or of a seed, and these."""
        self.freed: set[Node] = set()
        """Operations whose saved values a backward pass freed."""
        self.versions: dict[Node, int | None] = {}
        """Number of in-place changes of a value's memory; None where it depends on the run."""
        self.layouts: dict[Node, Layout | None] = {}
        """Layouts in eager mode, as far as the function reads them."""
        self.inferred: set[Node] = set()
        """Memory of tensors of `inference_mode`."""
        self.asks_inference = False
        """Whether Python has asked which these are."""
        self.changes_inference = False
        """Whether one of these is changed, which only `inference_mode` allows."""
        self.ordered = False
        """Whether a layout was read: the trace then depends on which arguments are row-major."""
        self.aliases: list[weakref.ref[Alias]] = []
        self.recorded: list[weakref.ref[Alias]] = []
        """Those that have a tape of their own, by a recorded change."""
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
        for values in (
            self.arguments,
            self.arrays_of,
            self.captured,
            self.wrappers,
            self.grads,
            self.initial_grads,
            self.hooks,
            self.retained,
        ):
            values.clear()
        self.shared_views.clear()
        self.moves.clear()
        self.given_up.clear()
        self.shared_arrays.clear()
        self.bases.clear()
        self.overwritten.clear()
        self.followed.clear()
        self.rebound.clear()
        self.counted_apart.clear()
        self.picked.clear()
        for nodes in (
            self.leaves,
            self.taped,
            self.tracked,
            self.cut,
            self.writers,
            self.passed_on,
            self.freed,
            self.versions,
            self.layouts,
            self.inferred,
        ):
            nodes.clear()

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
            self.inferred.add(leaf.node)
        passed = given._data if isinstance(given, Tensor) else given
        if isinstance(passed, np.ndarray) and not passed.flags.c_contiguous:
            steps = tuple([step // passed.itemsize for step in passed.strides])
            self.layouts[leaf.node] = Layout(passed.shape, steps, 0)
        place = self.places.get(number)
        if place is not None:
            view = SharedView(self, self._base(place), place, leaf.node)
            self.shared_views.append(view)
            self.arguments.append((given, view))
            return view
        tracked = isinstance(given, Tensor) and given._tracked
        for other, first in self.arguments if tracked or self.distinct else ():
            if other is given:  # passed twice: one leaf; the second placeholder is not read
                self.arguments.append((None, leaf))
                return first
        if tracked:
            self._track(leaf.node, leaf)
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
            label, leaf = tensor.name if tensor.name else "a tensor that it reaches", self.at_start(leaf)
            found.append(MemoryUse(tensor._data, tensor, label, leaf.changed, leaf.node.where, tensor))
        for key, gradient in self.initial_grads.values():
            if gradient is not None and isinstance(key, Tensor):
                label = f"the gradient of {key.name if key.name else 'a tensor that it reaches'}"
                found.append(MemoryUse(key._grad._data, (key,), label, gradient.changed, gradient.node.where, key._grad))  # type: ignore[union-attr]
            elif gradient is not None:
                number = next(i for i, (_, argument) in enumerate(self.arguments) if argument is key)
                grad = self.arguments[number][0]._grad
                label = f"the gradient of {labels[number]}"
                found.append(MemoryUse(grad._data, (number,), label, gradient.changed, gradient.node.where, grad))
        return found

    def constant(self, array: np.ndarray, requires_grad: bool = False) -> Traced:
        """A tensor made inside the function: `sg.zeros(3)`."""
        result = Traced(self, append(self.graph, REGISTRY["constant"], (), constant_of(array)).node)
        if modes.now.inference:
            self.inferred.add(result.node)
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
            return cast("Traced", self._wrapped(array, array).detach())
        made = self.constant(array.copy())
        owner = owner_of(array)
        self.arrays.shared[id(owner)] = owner
        self.shared_arrays.append((made, made.node, array, array.copy()))
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

    def check_shared(self) -> None:
        """Raises TraceError for a change of memory that a tensor shares with an array which the function made."""
        for made, node, array, copy in self.shared_arrays:
            if made.node is not node or contents(array) != contents(copy):
                self.refuse(
                    "an array that a compiled function makes is changed after a tensor shares its memory",
                    "use sg.tensor(array), which is a copy",
                )

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
            self._track(leaf.node, tensor)
        if tensor._inference:
            self.inferred.add(leaf.node)
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
                "make it outside: x = x.contiguous(), or x.data = x.data.clone()",
            )
        cell = Cell(name, type_of(tensor) if kind is None else kind, tensor=tensor)
        return Leaf(self, append(self.graph, REGISTRY["variable"], (), {"cell": cell}, name=name).node)

    def _wrapped(self, owner: Any, array: np.ndarray) -> Leaf:
        """The variable for the memory of an array, or of a detached tensor, that existed before."""
        if id(owner) not in self.wrappers:
            self.wrappers[id(owner)] = owner, wrap(array)
        return self.value(self.wrappers[id(owner)][1])

    def _track(self, node: Node, key: Any) -> None:
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
        self._track(x.node, x)

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
                self.aliases.append(weakref.ref(view))
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
            self.picked[found.node] = append(self.graph, op, (base.node,), opened[1]).node
        return found

    def check_picked(self, values: Iterable[Traced]) -> None:
        """Raises TraceError for values that outlive the trace and that eager mode has in the memory of something else."""
        nodes = [memory_node(x.node) for x in values] if self.picked else []
        if any(node in self.picked for node in nodes):
            self.refuse_picked()

    def refuse_picked(self) -> NoReturn:
        self.refuse("the memory of a view at a position that differs between calls is asked for, or outlives the trace")

    def lost(self, node: Node) -> bool:
        """Whether eager mode has a value at a position that differs between runs, in memory that has changed since."""
        if not self.picked or memory_node(node) not in self.picked:
            return False
        memory = self.memory(node)
        return memory in self.overwritten or memory in self.followed or memory in self.rebound

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
            self.inferred.update(self.graph.nodes[first:])
        elif self.inferred:
            for new in self.graph.nodes[first:]:
                if new in self.tracked and any(self.is_inference(i) for i in new.inputs):
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
        if any(self.is_inference(node.inputs[i]) for i in reads):
            raise misuse.inference_saved()

    def is_inference(self, node: Node) -> bool:
        """Whether a value is a tensor of `inference_mode`. What a check of an index gives is the index."""
        while node.op.checks:
            node = node.inputs[0]
        return self.memory(node) in self.inferred

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
                return self.own(self._wrapped(x, x))
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

    def check_view(self, x: Traced) -> None:
        """Raises TraceError for a view whose base was changed in place: eagerly it would show the change."""
        if not (self.overwritten or self.followed) or self.differentiating:
            return
        memory = self.memory(x.node)
        if memory is not x.node and (memory in self.overwritten or memory in self.followed):
            self.refuse(
                f"{x.describe()} is a view of a tensor that was changed in place after it was taken",
                "take the view again after the change",
            )

    def detach(self, x: Any, kind: type[Alias] = Alias) -> Traced:
        """The same memory without the tape."""
        if isinstance(x, Tensor):
            x = self._wrapped(x, x._data) if x._record is not None else self.value(x)
        alias = kind(self, x)
        self.aliases.append(weakref.ref(alias))
        return alias

    def data(self, x: Any) -> Traced:
        """`x.data`: as `detach`, and changes of it are counted apart."""
        return self.detach(x, DataAlias)

    def counts(self, node: Node) -> Node:
        """The value whose changes are counted for another one: that of its memory, or of `x.data` which it was taken from."""
        return memory_node(node, self.counted_apart)

    # subgraphs of loops and branches -----------------------------------------------------------------------------------

    @property
    def acts(self) -> bool:
        """Whether the step has changed a tensor, or drawn random numbers, so far."""
        leaves = [leaf for _, leaf in (*self.arguments, *self.captured.values())]
        return bool(self.grads or self.graph.draws or any(leaf.changed for leaf in leaves))

    def marks(self) -> Any:
        """State that a subgraph must not change: values from before, and gradients. Compared before and after."""
        for alias in (*self.shared_views, *(known for reference in self.aliases if (known := reference()) is not None)):
            alias.node  # noqa: B018 - its present value is computed outside of the subgraph
        leaves = [leaf for _, leaf in (*self.arguments, *self.captured.values())]
        changed = frozenset((id(leaf), leaf.node) for leaf in leaves if leaf.changed)
        return changed, frozenset((key, id(value)) for key, (_, value) in self.grads.items())

    def follow(self, params: Sequence[Traced]) -> None:
        """Floating parameters of a subgraph require grad: whether a gradient is needed depends on the operands."""
        if modes.now.grad:
            self.tracked.update(p.node for p in params if p.dtype.kind in INEXACT)

    # in-place changes -------------------------------------------------------------------------------------------------

    def in_one_memory(self, target: Any, other: Any) -> tuple[Layout, Layout] | None:
        """The layouts of two values in one memory of eager mode; None for others."""
        x, y = (self.value(v) if isinstance(v, Tensor) else v for v in (target, other))
        if not (isinstance(x, Traced) and isinstance(y, Traced)) or x.dtype != y.dtype:
            return None
        if self.memory(x.node) is not self.memory(y.node):
            return None
        return self.layout(x), self.layout(y)

    def meet(self, target: Any, other: Any) -> bool:
        """Whether eager mode may have two values in the same part of a memory."""
        layouts = self.in_one_memory(target, other)
        if layouts is None:
            return False
        a, b = (layout.span for layout in layouts)
        return a.start < b.stop and b.start < a.stop

    def lose(self, nodes: Iterable[Node], since: int, value: Any) -> None:
        """Eager mode has lost these values, and those computed from them among the nodes from that number on, but for the
        result `value`."""
        lost = {*nodes}
        for node in self.graph.nodes[since:]:
            if not lost.isdisjoint(node.inputs) and node is not value.node:
                lost.add(node)
        self.overwritten.update(dict.fromkeys(lost, user_line()))

    def layout(self, x: Traced) -> Layout:
        """The layout of a value in eager mode. The trace then depends on which arguments are row-major."""
        self.ordered = True
        layout = self._layout(x.node)
        if layout is None:
            raise no_extent(x)
        return layout

    def _layout(self, node: Node) -> Layout | None:
        return layout_of(node, self.layouts, self.picked)

    def memory(self, node: Node) -> Node:
        """As `memory_node`, of views at positions that differ between runs as well."""
        node = memory_node(node)
        while node in self.picked:
            node = memory_node(self.picked[node])
        return node

    def version(self, x: Traced) -> int | None:
        """Number of in-place changes of a value's memory; None for memory that existed before the run."""
        memory = self.memory(x.node)
        known = self.counts(x.node) is memory and memory.op.leaf not in ("placeholder", "variable")
        return self.versions.get(memory, 0) if known else None

    def check_inplace(self, target: Any) -> None:
        """Raises GradientError, as eager mode does, for a change that can't be recorded."""
        x = self.value(target) if isinstance(target, Tensor) else target
        root = x.root if isinstance(x, TracedView) else x
        if not modes.now.grad or isinstance(root, Alias):
            return
        link = x
        while isinstance(link, TracedView):
            if not link.follows():
                return  # it has memory of its own
            link = link.base
        if isinstance(x, TracedView):
            x.check_recorded(False)
        if self.is_leaf(x.node):
            raise misuse.leaf_changed(view=False)
        if x.is_view and self.is_leaf(memory_node(x.node)):
            raise misuse.leaf_changed(view=True)

    def assign(self, target: Any, value: Any, name: str = "set") -> None:
        """Change an eager or a traced tensor in place: it has another node from here on."""
        x = self.value(target) if isinstance(target, Tensor) else target
        self.check_inplace(x)
        if isinstance(target, Tensor):
            check_writeable(target, name)
        if self.inferred and self.is_inference(x.node):
            if not modes.now.inference:
                raise misuse.inference_changed()
            self.changes_inference = True
        if x.is_view and any(step == 0 and d > 1 for d, step in zip(x.shape, self.layout(x).strides, strict=True)):
            raise misuse.read_only(name)
        if isinstance(x, TracedView):
            if x.spreads():
                raise misuse.read_only(name)
            x.check_recorded(isinstance(value, (Traced, Tensor)) and value.requires_grad)
        self.overwrite(x, value)

    def overwrite(self, x: Traced, value: Any, same_memory: bool = True) -> None:
        """Give x another value, in its memory or in memory of its own. Raises TraceError where others share the memory."""
        aliases: list[Alias] = []
        lies: Alias | None = None
        """The memory that the tensor was given last."""
        while isinstance(x, Alias) or id(x) in self.moves:
            if not isinstance(x, Alias):
                x = lies = self.moves[id(x)][1]
            if not isinstance(x, TracedView) or x.follows():
                aliases.append(x)
            x = x.base
        self.check_picked([x])
        detached = any(alias.detaches for alias in aliases)
        if not isinstance(x, Leaf) and ((detached and x.requires_grad) or x.is_view):
            self.refuse(
                f"an in-place change of {x.describe()}, which shares memory with another tensor, can't be traced",
                "write y = f(y), or change a clone()",
            )
        if same_memory and memory_node(x.node) in self.passed_on:
            self.refuse(
                f"an in-place change of {x.describe()} can't be traced: grad() returned a gradient in the memory of its "
                "grad_outputs, of another gradient, or of a part that is repeated, as PyTorch does",
                "write g = f(g), or change a clone()",
            )
        recorded = same_memory and modes.now.grad and not detached
        if not recorded and x.node in self.tracked and not self.is_leaf(x.node):
            self._refuse_unrecorded(x)
        written = aliases[0] if aliases else x
        made = value.node if isinstance(value, Traced) and value.dtype == x.dtype else None
        cast = F.astype(self.operand(value), written.dtype)
        value = F.broadcast_to(cast, written.shape) if None not in written.shape else F.broadcast_like(cast, written)
        apart: tuple[Alias, Any] | None = None
        """The innermost alias without the tape of its base, and its value."""
        for alias in aliases:
            if alias.detaches and apart is None:
                apart = alias, value
            value = alias.within(value)
        if apart is not None and isinstance(apart[0], SharedView) and modes.now.grad and apart[1].requires_grad:
            self.refuse(
                f"{written.describe()}, which shares memory with another argument, is changed by a value that requires grad",
                ADVICE,
            )
        if apart is not None and apart[0] is lies and modes.now.grad and apart[1].requires_grad:
            self.refuse(f"{written.describe()}, which was given other data, is changed by a value that requires grad")
        taped = apart[0] if apart is not None and modes.now.grad and apart[1].requires_grad else None
        for known in filter(None, (reference() for reference in self.recorded)):
            if known is not taped and known.requires_grad and self._root(known) is x:
                self._refuse_unrecorded(known)
        if detached or not same_memory:
            value = F.stop_gradient(value)
        memory, count = memory_node(x.node), self.version(x)
        data = next((alias for alias in aliases if isinstance(alias, DataAlias)), None)
        if same_memory:
            line = user_line()
            self.overwritten.update(dict.fromkeys([memory] if data is None else data.values, line))
            views = [view for view in self.shared_views if view.base is x]
            self.overwritten.update((memory_node(view.seen), line) for view in views if view.seen is not None)
            if made is not None and written.node in made.inputs:
                self.writers[made] = written.node
        key, layout = None if x.node in self.taped else self.leaves.get(x.node), self._layout(x.node)
        flows, former = recorded and x.node in self.tracked, x.node
        x.node = self.own(value).node
        if self.inferred:
            (self.inferred.add if memory in self.inferred else self.inferred.discard)(x.node)
        if same_memory and self.counted_apart:
            self.followed[memory] = x.node
        if data is None:
            self.counted.add(id(x))
        if flows:  # a value without a gradient leaves it on the tape
            self.tracked.add(x.node)
        if same_memory:
            self.layouts[x.node] = layout
        self.versions[x.node] = None if count is None else count + (data is None)
        if key is not None:  # a version of the leaf
            self._track(x.node, key)
        if apart is not None and taped is not None:
            taped.records(self.own(apart[1]))
            self.recorded.append(weakref.ref(taped))
        for moved, memory_now in self.moves.values():
            if moved.node.inputs[0] is not memory_now.node:
                self._follow(moved, memory_now)
        if same_memory and self.retained:
            self.keep_retained(former, x.node)
            for reference in self.aliases:
                view = reference()
                if isinstance(view, TracedView) and view.root is x:
                    view.node  # noqa: B018 - its present value

    def _root(self, x: Traced) -> Traced:
        """The tensor that a change of x gives another value."""
        while isinstance(x, Alias) or id(x) in self.moves:
            x = x.base if isinstance(x, Alias) else self.moves[id(x)][1]
        return x

    def _refuse_unrecorded(self, x: Traced) -> NoReturn:
        self.refuse(
            f"an unrecorded in-place change of {x.describe()}, which is a result that requires grad, can't be traced: its "
            "gradient would go to what it was made of, past the change",
            "change a clone() of its detach(), or make the change outside of sg.no_grad()",
        )

    def assign_item(self, target: Any, key: Any, value: Any) -> None:
        """`target[key] = value`."""
        assign_item(self, target, met(key), met(value))

    def keep_retained(self, former: Node, node: Node) -> None:
        """`retain_grad` of a tensor holds for the value that an in-place change gave it."""
        kept = self.retained.pop(former, None)
        if kept is not None:
            self.retained[node] = kept

    def own(self, value: Any) -> Traced:
        """The value in a node of its own: in eager mode it would have memory of its own."""
        return self.apply(REGISTRY["identity"], (value,), {})

    def set_data(self, x: Any, value: Any) -> None:
        """`x.data = value`: x lies in the memory of the value from here on. Tensors that share the former memory keep it."""
        target = self.value(x) if isinstance(x, Tensor) else x
        if not hasattr(value, "shape"):
            value = np.asarray(value, target.dtype)
        misuse.check_holds(value.dtype, target.requires_grad)
        if isinstance(value, Traced):
            self.check_picked([value])
        if value.shape != target.shape or value.dtype != target.dtype:
            self.refuse(
                f"x.data = value can't change shape or dtype inside a compiled function: {shape_text(target.shape)} "
                f"{target.dtype} has to stay, got {shape_text(value.shape)} {value.dtype}",
                "use a new tensor, or do it outside",
            )
        if target.requires_grad and (isinstance(target, Alias) or not self.is_leaf(target.node)):
            self._refuse_unrecorded(target)
        memory = cast("Alias", self.data(value if isinstance(value, (Tensor, Symbol)) else self.shared(value)))
        root, steps = memory_of(memory, (id(target),))
        stays = root is target and all(step.op is None for step in steps)  # as in `x.data += y`
        if not stays:
            self._check_moved(target)
            self._give_up(target)
        if isinstance(target, Alias):
            if not stays:
                target.base, target._seen = memory, None
                if isinstance(target, TracedView):
                    target.maker = None
            return
        self.rebound[target.node] = user_line()
        _, former = self.moves.pop(id(target), (None, None))
        if stays and former is None:
            self.overwrite(target, value, same_memory=False)
            return
        self.moves[id(target)] = target, former if stays and former is not None else memory
        self._follow(*self.moves[id(target)])

    def relay(self, target: Any, view: Any, name: str, back: Any) -> None:
        """Let x take over the layout of a view of itself; see `eager/layout_changes.py`. Tensors from outside are refused: each
        call of the function would have one of another shape."""
        x = self._of_one_layout(target, name)
        if view is x:
            return
        if isinstance(x, TracedView):
            if not isinstance(view, TracedView) or view.base is not x or not x.follows():
                self._refuse_layout(x, name)
            assert x.maker is not None
            inner = TracedView(self, x.base, x.maker)
            inner.unrecorded, inner._fresh, inner._seen = x.unrecorded, x._fresh, x._seen
            self.aliases.append(weakref.ref(inner))
            self._leave_to(inner, x)
            x.base, x.maker, x._seen = inner, view.maker, None
            return
        if back is None or (x.requires_grad and not modes.now.grad):
            self._refuse_layout(x, name)
        memory, count, former = memory_node(x.node), self.version(x), x.node
        layout = self._layout(view.node)
        followers = [alias for alias in self._followers(x) if alias is not view]
        x.node = self.own(view).node
        self.overwritten[memory] = user_line()
        self.counted.add(id(x))
        self.layouts[x.node] = layout
        self.versions[x.node] = None if count is None else count + 1
        self.keep_retained(former, x.node)
        if followers:
            self._leave_to(back(x), x)

    def resize(self, target: Any, shape: Shape, name: str) -> None:
        """Give x this shape; its elements are those that it has, or 0."""
        x = self._of_one_layout(target, name)
        if isinstance(x, Alias) or self._followers(x) or x.requires_grad:
            self._refuse_layout(x, name)
        given, size = int(x.numel()), int(np.prod(shape))
        flat = F.reshape(x, (-1,))
        if size <= given:
            flat = flat[:size]
        else:
            flat = F.concatenate([flat, self.constant(np.zeros(size - given, x.dtype))])
        self.overwritten[memory_node(x.node)] = user_line()
        self.counted.add(id(x))
        x.node = self.own(F.reshape(flat, shape)).node

    def _of_one_layout(self, target: Any, name: str) -> Any:
        """The traced tensor of one whose layout changes. Raises TraceError unless the trace has made it."""
        x = self.value(target) if isinstance(target, Tensor) else target
        if isinstance(x, Leaf) or id(x) in self.moves or (isinstance(x, Alias) and not isinstance(x, TracedView)):
            self._refuse_layout(x, name)
        self.check_picked([x])
        return x

    def _refuse_layout(self, x: Traced, name: str) -> NoReturn:
        self.refuse(f"{name} of {x.describe()}, which others see, can't be traced", "write y = f(x) for a new tensor")

    def _followers(self, x: Traced) -> list[Alias]:
        """The views and detached aliases that were taken of x."""
        return [alias for reference in self.aliases if (alias := reference()) is not None and alias.base is x]

    def _leave_to(self, other: Traced, x: Traced) -> None:
        """Let the views of x be views of another tensor."""
        for alias in self._followers(x):
            if alias is not other:
                alias.base, alias._seen = other, None

    def _check_moved(self, target: Traced) -> None:
        """Raises TraceError for other data of a tensor whose memory is bound in other ways, too."""
        if any(view is target or view.base is target for view in self.shared_views):
            self.refuse(
                f"{target.describe()} shares memory with another argument of the compiled function: it can't be given other "
                "data inside",
                "pass a clone() of one of them",
            )
        if any(gradient is target for _, gradient in (*self.grads.values(), *self.initial_grads.values())):
            self.refuse("a gradient can't be given other data inside a compiled function", "write x.grad = value")

    def _give_up(self, x: Traced) -> None:
        """Leave the memory of x to its aliases."""
        aliases = self._followers(x)
        for alias in aliases:
            alias.node  # noqa: B018 - its present value, which stays
        former: Traced
        if id(x) in self.moves:
            former = self.moves[id(x)][1]
        elif isinstance(x, TracedView) and x.follows():
            assert x.maker is not None
            former = TracedView(self, x.base, x.maker)
            former.unrecorded, former._fresh, former._seen = x.unrecorded, x.node, x._seen
            self.aliases.append(weakref.ref(former))
        elif isinstance(x, TracedView):
            former = x.base
        elif isinstance(x, Alias):
            former = self.detach(x.base, type(x))
        elif isinstance(x, Leaf):
            former = self.given_up[id(x)] = Leaf(self, x.node)
            former.origin = x.origin
        else:
            former = Traced(self, x.node)
        for alias in aliases:
            alias.base, alias._seen = former, former.node

    def _follow(self, x: Traced, memory: Alias) -> None:
        """x has the value that its memory has now."""
        key = self.leaves.get(x.node)
        x.node = F.stop_gradient(memory).node
        self.cut.add(x.node)
        self.versions[x.node] = None
        if key is not None:
            self._track(x.node, key)

    def at_start(self, x: Leaf) -> Leaf:
        """What stands for the memory that a tensor from outside had at the start: itself, if it kept it."""
        return self.given_up.get(id(x), x)

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
        before = tensor._grad if isinstance(tensor, Tensor) else None
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
