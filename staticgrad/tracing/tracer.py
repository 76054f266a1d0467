"""Tracing: the user's eager code runs once on symbols, and what it does becomes a graph.

Eager tensors that the code reaches become variables bound to their own buffers. Their `.grad`, their in-place updates and
the optimizer's are kept as symbols while the trace lasts; at its end they are the assigns of the step. Nothing eager is
changed by a trace, whether it succeeds or raises.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar, cast

import numpy as np

from ..autodiff.reverse import gradients
from ..eager.grad_mode import modes
from ..eager.tensor import Tensor, wrap
from ..errors import GradientError, TraceError
from ..ir import REGISTRY, Cell, Graph, Layout, Node, OpDef, View
from ..operators import F, Symbol, append, flows, frontends, layout_of, listed, misuse, state
from ..ops.leaves import constant_of
from ..ops.pointwise import stop_gradient_op
from ..types import TensorType, check_unmasked, shape_text, type_of
from .sharing import Member, Place, Window
from .traced import Alias, Leaf, Lost, Traced

Result = TypeVar("Result")

_count = threading.Lock()
"""Held while `frontends.tracing` is changed."""
_active: weakref.WeakSet[Tracer] = weakref.WeakSet()
"""The tracers that `frontends.tracing` counts. One that a signal's handler left here goes with its trace."""


class Reached(BaseException):
    """A tensor that was passed as an argument is reached by the function in another way too: it is state, not input.

    Ends a trace, which begins again with the tensor bound by its identity.
    """

    def __init__(self, tensor: Tensor):
        self.tensor = tensor


class Tracer:
    """What one trace knows: the graph, the tensors it reached, and their symbolic state.

    name: of the function. arrays: ids of the ndarrays that it reads from outside; they are read anew at every run. places:
    of arguments that share memory, by number.
    """

    def __init__(self, name: str, arrays: Collection[int] = (), places: Mapping[int, Place] | None = None, watch: Any = None):
        self.name = name
        self.places: Mapping[int, Place] = {} if places is None else places
        self.windows: list[Window] = []
        self.graph = Graph()
        self.arrays = arrays
        self.watch = watch
        self.tracked: set[Node] = set()
        """Nodes that require grad."""
        self.leaves: dict[Node, Any] = {}
        """Leaves that require grad, by the nodes of all their versions: eager tensors, or what is traced."""
        self.arguments: list[tuple[Any, Leaf | Window]] = []
        """(what was passed, its placeholder)"""
        self.bases: dict[int, Leaf] = {}
        """Arguments that windows before them look into, by number."""
        self.captured: dict[int, tuple[Tensor, Leaf]] = {}
        """By id of the eager tensor."""
        self.around: dict[int, tuple[Any, Tensor]] = {}
        """Tensors around the memory of arrays, and of detached tensors, by their id."""
        self.grads: dict[int, tuple[Any, Any]] = {}
        """By id: (what has a gradient, that gradient: traced, an eager tensor, or None)."""
        self.entry: dict[int, tuple[Any, Leaf | None]] = {}
        """Gradients as they were at the start, as far as the step asks for them."""
        self.hooks: dict[Node, dict[int, Callable[[Any], Any]]] = {}
        self.retained: dict[Node, Traced] = {}
        self.cut: set[Node] = set()
        """Stopped values that are no others' aliases: of tensors that were detached in place, or given other data."""
        self.overwritten: set[Node] = set()
        """Values that in-place changes replaced."""
        self.writers: dict[Node, Node] = {}
        """Operations whose results replaced a value, and that value: they still have it."""
        self.freed: set[Node] = set()
        """Operations that a backward pass went by, without keeping the graph."""
        self.versions: dict[Node, int | None] = {}
        """How often what is in memory now has been changed in place; None where only the run knows."""
        self.layouts: dict[Node, Layout | None] = {}
        """Where elements lie in eager mode, as far as the function asked."""
        self.ordered = False
        """It did: which arguments are row-major is part of the trace."""
        self.aliases: list[weakref.ref[Alias]] = []
        self.differentiating = False
        self.undo: list[Callable[[], None]] = []
        """What takes back the preparations of a trace that fails."""

    def active(self, work: Callable[[], Result]) -> Result:
        """What `work` returns; the operations of this thread go to the tracer meanwhile.

        No context manager: a signal's handler that raises on the way in or out would leave the tracer active.
        """
        mode, outer = modes.now, state.tracer
        grad = mode.grad
        try:
            with _count:
                _active.add(self)
                frontends.tracing = len(_active)
            state.tracer = self
            return work()
        finally:
            mode.grad = grad
            state.tracer = outer
            with _count:
                _active.discard(self)
                frontends.tracing = len(_active)

    def close(self) -> None:
        """Let go of the values, which refer to the tracer, and of the arrays that were passed."""
        for values in (self.arguments, self.captured, self.around, self.grads, self.entry, self.hooks, self.retained):
            values.clear()
        self.windows.clear()
        self.bases.clear()
        sets = (self.leaves, self.tracked, self.overwritten, self.cut, self.writers, self.freed, self.versions, self.layouts)
        for nodes in sets:
            nodes.clear()

    def refuse(self, what: str, *advice: str) -> NoReturn:
        raise TraceError(what, *advice)

    def keeps_flag(self) -> NoReturn:
        self.refuse("requires_grad can't be changed inside a compiled function", "do it before the call, or use x.detach()")

    # values -----------------------------------------------------------------------------------------------------------

    def argument(self, given: Any, array: np.ndarray, name: str) -> Leaf | Window:
        """The placeholder for an array or a tensor that was passed in, or the window that stands for it."""
        number = len(self.arguments)
        leaf = self.bases[number] if number in self.bases else self._placeholder(array, name)
        leaf._parameter = isinstance(given, Tensor) and given._parameter
        passed = given._data if isinstance(given, Tensor) else given
        if isinstance(passed, np.ndarray) and not passed.flags.c_contiguous:
            steps = tuple([step // passed.itemsize for step in passed.strides])
            self.layouts[leaf.node] = Layout(passed.shape, steps, 0)
        place = self.places.get(number)
        if place is not None:
            window = Window(self, self._base(place), place, leaf.node)
            self.windows.append(window)
            self.arguments.append((given, window))
            return window
        if isinstance(given, Tensor) and given._tracked:
            for other, first in self.arguments:
                if other is given:  # passed twice: one leaf, the second placeholder is not read
                    self.arguments.append((None, leaf))
                    return first
            self._track(leaf.node, leaf)
        self.arguments.append((given, leaf))
        return leaf

    def _placeholder(self, array: np.ndarray, name: str) -> Leaf:
        return Leaf(self, append(self.graph, REGISTRY["placeholder"], (), {"type": type_of(array)}, name=name).node)

    def _base(self, place: Place) -> Leaf:
        """What a window looks into: another argument, a tensor that the function reaches, or the gradient of one."""
        if isinstance(place.base, Tensor):
            return self.value(place.base)
        if isinstance(place.base, tuple):  # a gradient
            (owner,) = place.base
            grad: Leaf = self.get_grad(owner if isinstance(owner, Tensor) else self.arguments[owner][1])
            return grad
        if place.base < len(self.arguments):
            base = self.arguments[place.base][1]
            assert isinstance(base, Leaf)
            return base
        if place.base not in self.bases:
            self.bases[place.base] = self._placeholder(place.array, f"arg{place.base}")
        return self.bases[place.base]

    def members(self, sources: Sequence[np.ndarray], labels: Sequence[str]) -> list[Member]:
        """The memory that the step reads and writes; sources: the arrays of the arguments."""
        found = []
        for number, ((given, leaf), array, label) in enumerate(zip(self.arguments, sources, labels, strict=True)):
            if given is not None:
                tensor = given if isinstance(given, Tensor) else None
                found.append(Member(array, number, label, leaf.changed, leaf.node.where, tensor))
        for tensor, leaf in self.captured.values():
            label = tensor.name if tensor.name else "a tensor that it reaches"
            found.append(Member(tensor._data, tensor, label, leaf.changed, leaf.node.where, tensor))
        for key, entry in self.entry.values():
            if entry is not None and isinstance(key, Tensor):
                label = f"the gradient of {key.name if key.name else 'a tensor that it reaches'}"
                found.append(Member(key._grad._data, (key,), label, entry.changed, entry.node.where, key._grad))  # type: ignore[union-attr]
            elif entry is not None:
                number = next(i for i, (_, leaf) in enumerate(self.arguments) if leaf is key)
                grad = self.arguments[number][0]._grad
                label = f"the gradient of {labels[number]}"
                found.append(Member(grad._data, (number,), label, entry.changed, entry.node.where, grad))
        return found

    def constant(self, array: np.ndarray, requires_grad: bool = False) -> Traced:
        """A tensor made inside the function: `sg.zeros(3)`."""
        result = Traced(self, append(self.graph, REGISTRY["constant"], (), constant_of(array)).node)
        return result.requires_grad_(True) if requires_grad else result

    def array(self, array: np.ndarray) -> Traced:
        """An array as a tensor: one from outside is read anew at every run."""
        found = self._operand(array)
        return found if isinstance(found, Traced) else self.constant(found)

    def copied(self, x: Any, dtype: np.dtype | None, requires_grad: bool) -> Traced:
        """`sg.tensor(x)` of a tensor: a copy without the tape."""
        result = self.own(F.stop_gradient(x if dtype is None else F.astype(x, dtype)))
        return result.requires_grad_(True) if requires_grad else result

    def no_value(self, tensor: Tensor, what: str) -> NoReturn:
        """Raises TraceError: Python asks for the value of a tensor that a run may find changed."""
        self.refuse(
            f"a tensor of shape {shape_text(tensor.shape)}{f' ({tensor.name})' if tensor.name else ''} is read by a compiled "
            f"function: Python can't have {what} of it, which would be that of the time of tracing",
            "compute with the tensor, or pass the value as an argument",
        )

    def value(self, tensor: Tensor) -> Leaf:
        """What an eager tensor is in the trace."""
        known = self.captured.get(id(tensor))
        if known is not None:
            return known[1]
        self._reached(tensor)
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
        return leaf

    def _reached(self, tensor: Tensor) -> None:
        if any(given is tensor for given, _ in self.arguments):
            raise Reached(tensor)

    def variable(self, tensor: Tensor, name: str) -> Leaf:
        if not tensor._data.flags.c_contiguous:
            self.refuse(
                f"a tensor of shape {shape_text(tensor.shape)} does not lie in memory in row-major order, so a compiled "
                "function can't be bound to it",
                "make it outside: x = x.contiguous(), or x.data = x.data.clone()",
            )
        cell = Cell(name, TensorType(tensor.shape, tensor.dtype), tensor=tensor)
        return Leaf(self, append(self.graph, REGISTRY["variable"], (), {"cell": cell}, name=name).node)

    def _around(self, owner: Any, array: np.ndarray) -> Leaf:
        """The memory of an array that was there before, without a tape."""
        if id(owner) not in self.around:
            self.around[id(owner)] = owner, wrap(array)
        return self.value(self.around[id(owner)][1])

    def _track(self, node: Node, key: Any) -> None:
        self.tracked.add(node)
        self.leaves[node] = key

    def make_leaf(self, x: Traced) -> None:
        """It requires grad from here on."""
        self._track(x.node, x)

    def apply(self, op: OpDef, args: Sequence[Any], attrs: dict[str, Any]) -> Traced:
        """Append an op. Eager operands enter as variables."""
        operands = [self._shape(a, p in op.shape_only) if isinstance(a, Lost) else self._operand(a) for p, a in enumerate(args)]
        first = len(self.graph.nodes)
        node = append(self.graph, op, operands, attrs).node
        if modes.now.grad:
            self.tracked.update(new for new in self.graph.nodes[first:] if flows(new, self.tracked.__contains__))
        return Traced(self, node)

    def _operand(self, x: Any) -> Any:
        if isinstance(x, Tensor):
            return self.value(x)
        check_unmasked(x)
        known = self.arrays and isinstance(x, np.ndarray) and (id(x) in self.arrays or id(x.base) in self.arrays)
        if known and x.flags.c_contiguous and x.dtype.isnative:
            return self._around(x, x)
        if known and self.watch is not None:
            self.watch.array(x)  # its values become a constant
        return x

    def _shape(self, x: Lost, enough: bool) -> Node:
        """The operand of an op that reads no more than the shape of a value that is gone."""
        return x.node if enough else x.operand()

    def check_active(self, x: Traced) -> None:
        """Raises TraceError for a value of another trace, or of one that is over."""
        if state.tracer is not self:
            self.refuse(
                f"a value of the trace of {self.name} is used outside of it: {x.describe()}",
                "return it from the compiled function; what Python stores elsewhere while tracing has no value",
            )

    def check_view(self, x: Traced) -> None:
        """Raises TraceError for a view that would see an in-place change in eager mode, and does not here."""
        if not self.overwritten or self.differentiating:
            return
        memory = _memory(x.node)
        if memory is not x.node and memory in self.overwritten:
            self.refuse(
                f"{x.describe()} is a view of a tensor that was changed in place after it was taken",
                "take the view again after the change",
            )

    def detach(self, x: Any) -> Traced:
        """The same memory without the tape."""
        if isinstance(x, Tensor):
            x = self._around(x, x._data) if x._record is not None else self.value(x)
        alias = Alias(self, x)
        self.aliases.append(weakref.ref(alias))
        return alias

    # bodies of loops and branches -------------------------------------------------------------------------------------

    def marks(self) -> Any:
        """What a body must not change: the values of what was there before, and gradients."""
        for alias in (*self.windows, *(known for reference in self.aliases if (known := reference()) is not None)):
            alias.node  # noqa: B018 - what it is now is computed outside of the body
        leaves = [leaf for _, leaf in (*self.arguments, *self.captured.values())]
        changed = frozenset((id(leaf), leaf.node) for leaf in leaves if leaf.changed)
        return changed, frozenset((key, id(value)) for key, (_, value) in self.grads.items())

    def follow(self, params: Sequence[Traced]) -> None:
        """Parameters of a body require grad as far as they can: what comes in decides when it runs."""
        if modes.now.grad:
            self.tracked.update(p.node for p in params if p.dtype.kind == "f")

    # in-place changes -------------------------------------------------------------------------------------------------

    def layout(self, x: Traced) -> Layout:
        """Where the elements of a value would lie in eager mode. Which arguments are row-major is part of the trace then."""
        self.ordered = True
        layout = layout_of(x.node, self.layouts)
        assert layout is not None  # every extent is known while tracing
        return layout

    def version(self, x: Traced) -> int | None:
        """How often the memory of a value has been changed in place; None where that was done before the run, too."""
        memory = _memory(x.node)
        return None if memory.op.leaf in ("placeholder", "variable") else self.versions.get(memory, 0)

    def check_inplace(self, target: Any) -> None:
        """Raises GradientError as eager mode does for a change that can't be recorded."""
        x = self.value(target) if isinstance(target, Tensor) else target
        if not modes.now.grad or isinstance(x, Alias):
            return
        if x.node in self.leaves:
            raise misuse.leaf_changed(view=False)
        if x.is_view and _memory(x.node) in self.leaves:
            raise misuse.leaf_changed(view=True)

    def assign(self, target: Any, value: Any, name: str = "set") -> None:
        """In-place change of an eager or a traced tensor, which has another node from here on."""
        x = self.value(target) if isinstance(target, Tensor) else target
        self.check_inplace(x)
        if isinstance(target, Tensor) and not target._data.flags.writeable:
            raise misuse.read_only(name)
        if x.is_view and any(step == 0 and d > 1 for d, step in zip(x.shape, self.layout(x).strides, strict=True)):
            raise misuse.read_only(name)
        self._assign(x, value)

    def _assign(self, x: Traced, value: Any, same_memory: bool = True) -> None:
        aliases: list[Alias] = []
        while isinstance(x, Alias):
            aliases.append(x)
            x = x.base
        detached = any(alias.detaches for alias in aliases)
        if not isinstance(x, Leaf) and ((detached and x.requires_grad) or x.is_view):
            self.refuse(
                f"an in-place change of {x.describe()}, which shares memory with another tensor, can't be traced",
                "write y = f(y), or change a clone()",
            )
        recorded = same_memory and modes.now.grad and not detached
        if not recorded and x.node in self.tracked and x.node not in self.leaves:
            self.refuse(
                f"an unrecorded in-place change of {x.describe()}, which is a result that requires grad, can't be traced: its "
                "gradient would go to what it was made of, past the change",
                "change a clone() of its detach(), or make the change outside of sg.no_grad()",
            )
        shape = aliases[0].shape if aliases else x.shape
        made = value.node if isinstance(value, Traced) and value.dtype == x.dtype else None
        part = value = F.broadcast_to(F.astype(self._operand(value), x.dtype), shape)
        for alias in aliases:
            value = alias.within(value)
        if detached or not same_memory:
            value = F.stop_gradient(value)
        memory, count = _memory(x.node), self.version(x)
        if same_memory:
            self.overwritten.add(memory)
            self.overwritten.update(_memory(w.seen) for w in self.windows if w.base is x and w.seen is not None)
            if made is not None and any(_memory(operand) is memory for operand in made.inputs):
                self.writers[made] = memory
        key, layout = self.leaves.get(x.node), layout_of(x.node, self.layouts)
        flows = recorded and x.node in self.tracked
        x.node = self.own(value).node
        if flows:  # a value without a gradient does not take it from the tape
            self.tracked.add(x.node)
        if same_memory:
            self.layouts[x.node] = layout
        self.versions[x.node] = None if count is None else count + 1
        if key is not None:  # another version of the leaf
            self._track(x.node, key)
        if detached and modes.now.grad and part.requires_grad:
            aliases[0].records(self.own(part))

    def own(self, value: Any) -> Traced:
        """The value in a node of its own, as it would have memory of its own."""
        return self.apply(REGISTRY["identity"], (value,), {})

    def set_data(self, x: Any, value: Any) -> None:
        """`x.data = value`: other memory for x. What shares the former keeps it."""
        target = self.value(x) if isinstance(x, Tensor) else x
        if not hasattr(value, "shape"):
            value = np.asarray(value, target.dtype)
        misuse.check_holds(value.dtype, target.requires_grad)
        if value.shape != target.shape or value.dtype != target.dtype:
            self.refuse(
                f"x.data = value can't change shape or dtype inside a compiled function: {shape_text(target.shape)} "
                f"{target.dtype} has to stay, got {shape_text(value.shape)} {value.dtype}"
            )
        if any(window is target or window.base is target for window in self.windows):
            self.refuse(
                f"{target.describe()} shares memory with another argument of the compiled function: it can't be given other "
                "data inside",
                "pass a clone() of one of them",
            )
        if isinstance(target, Alias):
            target.base = self.own(F.stop_gradient(self._operand(value)))
            return
        former = cast("Traced", F.stop_gradient(target))
        self.cut.add(former.node)
        for reference in self.aliases:
            alias = reference()
            if alias is not None and alias.base is target:
                alias.base = former
        self._assign(target, value, same_memory=False)

    # gradients ----------------------------------------------------------------------------------------------------------

    def get_grad(self, x: Any) -> Any:
        """`x.grad`: traced, or an eager tensor that was set, or None."""
        known = self.grads.get(id(x))
        if known is not None:
            return known[1]
        if id(x) not in self.entry:
            if isinstance(x, Tensor):
                self._reached(x)
            self.entry[id(x)] = x, self._entry_grad(x)
        return self.entry[id(x)][1]

    def _entry_grad(self, x: Any) -> Leaf | None:
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
        symbol = append(self.graph, REGISTRY["placeholder"], (), {"type": type_of(before._data)}, name=f"{x.name}.grad")
        return Leaf(self, symbol.node)

    def set_grad(self, x: Any, value: Any) -> None:
        """`x.grad = value`. Raises as the eager setter does."""
        if isinstance(x, Tensor):
            self._reached(x)
        misuse.check_grad(x, value, isinstance(value, (Tensor, Traced)))
        self.grads[id(x)] = x, value

    def backward(self, tensors: Any, seeds: Any, retain: bool | None, create: bool, inputs: Any) -> None:
        """`backward` of one or several roots. Raises GradientError; no gradient is changed when it does."""
        roots = self._roots(tensors)
        behind = self.graph.reaching([root.node for root in roots])
        if inputs is None:
            wanted = [(self.leaves[node], node) for node in behind if node in self.leaves]
        else:
            wanted = self._versions(self._inputs(inputs, "backward"), behind)
        known = {node for _, node in wanted}
        wanted += [(self.retained[node], node) for node in behind if node in self.retained and node not in known]
        found = self._gradients(roots, seeds, behind, [node for _, node in wanted], create)
        if not (create if retain is None else retain):
            self._free(roots, behind, None if inputs is None else known)
        for (key, _), g in zip(wanted, found, strict=True):
            if g is not None:
                self._accumulate(key, g, create)

    def _accumulate(self, key: Any, g: Traced, create: bool) -> None:
        """Add to `.grad`: in place, except for gradients that are recorded themselves."""
        known = self.get_grad(key)
        if known is None:
            self.grads[id(key)] = key, g
        elif create or known.requires_grad:
            self.grads[id(key)] = key, known + g
        else:
            self._assign(self.value(known) if isinstance(known, Tensor) else known, known + g)

    def grad(
        self, outputs: Any, inputs: Any, grad_outputs: Any, retain: bool | None, create: bool, allow_unused: bool
    ) -> tuple[Any, ...]:
        """`sg.grad` while tracing."""
        roots = self._roots(outputs)
        behind = self.graph.reaching([root.node for root in roots])
        keys = self._inputs(inputs, "grad")
        wanted = self._versions(keys, behind)
        parts = self._gradients(roots, grad_outputs, behind, [node for _, node in wanted], create)
        if not (create if retain is None else retain):
            self._free(roots, behind, {node for _, node in wanted})
        sums: dict[int, Any] = {}
        with _recording(create):
            for (key, _), g in zip(wanted, parts, strict=True):
                if g is not None:
                    sums[id(key)] = sums[id(key)] + g if id(key) in sums else g
        found = [sums.get(id(key)) for key, _ in keys]
        for i, (key, _) in enumerate(keys):
            if found[i] is None and not allow_unused:
                raise misuse.unused(i, key.shape)
        return tuple(found)

    def _roots(self, tensors: Any) -> list[Traced]:
        roots: list[Traced] = []
        for i, x in enumerate(listed(tensors)):
            if not isinstance(x, (Tensor, Traced)):
                raise misuse.no_root(x)
            root = self.value(x) if isinstance(x, Tensor) else x
            if not root.requires_grad:
                raise misuse.no_history(i, "nothing that requires grad was used to compute it inside this compiled function")
            roots.append(root)
        return roots

    def _versions(self, inputs: Sequence[tuple[Any, Node]], behind: Sequence[Node]) -> list[tuple[Any, Node]]:
        """With each leaf the nodes that it was before in-place changes: what read it then has a gradient for it, too."""
        known = {node for _, node in inputs}
        keys = {id(key) for key, node in inputs if node in self.leaves}
        former = [(self.leaves[n], n) for n in behind if n in self.leaves and n not in known and id(self.leaves[n]) in keys]
        return [*{(id(key), node): (key, node) for key, node in inputs}.values(), *former]

    def _inputs(self, inputs: Any, function: str) -> list[tuple[Any, Node]]:
        """(tensor, its node) for explicit inputs. Raises GradientError."""
        wanted = []
        for x in listed(inputs):
            symbol = self.value(x) if isinstance(x, Tensor) else x
            if not isinstance(symbol, Traced) or not symbol.requires_grad:
                raise misuse.not_differentiable()
            wanted.append((self.leaves.get(symbol.node, x), symbol.node))
        if not wanted:
            raise misuse.no_inputs(function)
        return wanted

    def _gradients(
        self, roots: list[Traced], seeds: Any, behind: list[Node], wanted: list[Node], create: bool
    ) -> list[Traced | None]:
        """The gradient at each of `wanted`, hooks included; None where there is none."""
        given = [None] * len(roots) if seeds is None else listed(seeds)
        if len(given) != len(roots):
            raise misuse.other_number(len(roots), len(given))
        weights = [self._seed(i, root, seed) for i, (root, seed) in enumerate(zip(roots, given, strict=True))]
        hooks = {node: self._hook(node) for node in behind if node in self.hooks or self._leaf_hooks(node)}
        targets = [Symbol(self.graph, node) for node in (*wanted, *hooks)]
        stops = [Symbol(self.graph, node) for node in behind if node not in self.tracked and node.op.vjp is not None]
        saved = modes.now.grad, self.differentiating
        modes.now.grad, self.differentiating = create, True
        try:
            found = gradients(roots, targets, weights, stops, hooks, self._saved)
            return [None if g is None else self.own(g) for g in found[: len(wanted)]]
        finally:
            modes.now.grad, self.differentiating = saved

    def _seed(self, i: int, root: Traced, seed: Any) -> Any:
        if seed is None:
            if any(d != 1 for d in root.shape):
                raise misuse.not_scalar(root.shape)
            return None
        seed = self._operand(seed) if hasattr(seed, "shape") else np.asarray(seed, root.dtype)
        misuse.check_seed(i, root, seed)
        return seed

    def _saved(self, node: Node) -> tuple[Symbol, list[Symbol]]:
        """The result and the operands of an operation as its rules see them: without those that eager mode lost."""
        operands = [self._kept(node, i, misuse.operand_text(i, node.op.grad_name)) for i in node.inputs]
        return self._kept(node, node, f"the output of {node.op.grad_name}"), operands

    def _kept(self, node: Node, value: Node, what: str) -> Symbol:
        """A value that `node` read or made, unless a backward pass freed it or an in-place change took its memory."""
        if node in self.freed:
            return Lost(self.graph, value, lambda: GradientError(misuse.FREED))
        if self.overwritten and not (value is node and isinstance(node.op.emit, View)):
            memory = _memory(value)
            if memory in self.overwritten and self.writers.get(node) is not memory:
                return Lost(self.graph, value, lambda: misuse.modified(what))
        return Symbol(self.graph, value)

    def _free(self, roots: list[Traced], behind: list[Node], wanted: set[Node] | None) -> None:
        """Note that the saved values of the operations that a backward pass went by are gone. wanted: where it led; None:
        to all leaves."""
        leading = set(behind)
        if wanted is not None:
            leading = set()
            for node in behind:
                if node in wanted or flows(node, leading.__contains__):
                    leading.add(node)
        reached = {root.node for root in roots}
        for node in reversed(behind):
            if node in reached and node in leading and node in self.tracked and node not in self.leaves:
                self.freed.add(node)
                reached.update(i for p, i in enumerate(node.inputs) if node.op.vjp_for(p) is not None)

    def _leaf_hooks(self, node: Node) -> list[Any]:
        """Hooks of the eager tensor that a node stands for."""
        key = self.leaves.get(node)
        given = next((given for given, leaf in self.arguments if leaf is key), None) if isinstance(key, Leaf) else key
        return list(given._hooks.values()) if isinstance(given, Tensor) and given._hooks else []

    def _hook(self, node: Node) -> Callable[[Symbol], Symbol]:
        """All hooks of a node as one function."""

        def hooked(g: Symbol) -> Symbol:
            inside, self.differentiating = self.differentiating, False
            for hook in (*self.hooks.get(node, {}).values(), *self._leaf_hooks(node)):
                replaced = hook(Traced(self, g.node))
                if replaced is None:
                    continue
                if not isinstance(replaced, (Tensor, Traced)) or replaced.shape != g.shape:
                    raise misuse.wrong_hook(g.shape, replaced)
                g = cast("Symbol", F.astype(self._operand(replaced), g.dtype))
            self.differentiating = inside
            return g

        return hooked


@contextmanager
def _recording(create: bool) -> Iterator[None]:
    """Gradients are added as they were computed: recorded when they are to be differentiated."""
    before, modes.now.grad = modes.now.grad, create
    try:
        yield
    finally:
        modes.now.grad = before


def _memory(node: Node) -> Node:
    """The node whose memory a view has in eager mode."""
    while isinstance(node.op.emit, View) or node.op is stop_gradient_op:
        node = node.inputs[0]
    return node
