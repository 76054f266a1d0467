"""Tracing: the user's eager code runs once on symbols, and what it does becomes a graph.

Eager tensors that the code reaches become variables bound to their own buffers. Their `.grad`, their in-place updates and
the optimizer's are kept as symbols while the trace lasts; at its end they are the assigns of the step. Nothing eager is
changed by a trace, whether it succeeds or raises.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from ..compiler.grad import gradients
from ..eager.modes import modes
from ..eager.tensor import Tensor, wrap
from ..errors import DTypeError, GradientError, ShapeError, TraceError
from ..ir import REGISTRY, Cell, Graph, Node, OpDef, View
from ..operators import F, Symbol, append, frontends, state
from ..ops.leaves import constant_of
from ..ops.pointwise import stop_gradient_op
from ..types import TensorType, shape_text, type_of
from .traced import Alias, Leaf, Traced

_count = threading.Lock()
"""Held while `frontends.tracing` is changed."""


class Reached(BaseException):
    """A tensor that was passed as an argument is reached by the function in another way too: it is state, not input.

    Ends a trace, which begins again with the tensor bound by its identity.
    """

    def __init__(self, tensor: Tensor):
        self.tensor = tensor


class Tracer:
    """What one trace knows: the graph, the tensors it reached, and their symbolic state.

    name: of the function. arrays: ids of the ndarrays that it reads from outside; they are read anew at every run.
    """

    def __init__(self, name: str, arrays: Collection[int] = (), watch: Any = None):
        self.name = name
        self.graph = Graph()
        self.arrays = arrays
        self.watch = watch
        self.tracked: set[Node] = set()
        """Nodes that require grad."""
        self.leaves: dict[Node, Any] = {}
        """Leaves that require grad, by the nodes of all their versions: eager tensors, or what is traced."""
        self.arguments: list[tuple[Any, Leaf]] = []
        """(what was passed, its placeholder)"""
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
        self.overwritten: set[Node] = set()
        """Values that in-place changes replaced."""
        self.aliases: list[weakref.ref[Alias]] = []
        self.differentiating = False
        self.undo: list[Callable[[], None]] = []
        """What takes back the preparations of a trace that fails."""

    @contextmanager
    def active(self) -> Iterator[None]:
        """Operations of this thread go to the tracer."""
        with _count:
            frontends.tracing += 1
        outer, state.tracer = state.tracer, self
        grad = modes.now.grad
        try:
            yield
        finally:
            modes.now.grad = grad
            state.tracer = outer
            with _count:
                frontends.tracing -= 1

    def close(self) -> None:
        """Let go of the values, which refer to the tracer, and of the arrays that were passed."""
        for values in (self.arguments, self.captured, self.around, self.grads, self.entry, self.hooks, self.retained):
            values.clear()
        for nodes in (self.leaves, self.tracked, self.overwritten):
            nodes.clear()

    def refuse(self, what: str, *advice: str) -> NoReturn:
        raise TraceError(what, *advice)

    # values -----------------------------------------------------------------------------------------------------------

    def argument(self, given: Any, array: np.ndarray, name: str) -> Leaf:
        """The placeholder for an array or a tensor that was passed in."""
        symbol = append(self.graph, REGISTRY["placeholder"], (), {"type": type_of(array)}, name=name)
        leaf = Leaf(self, symbol.node)
        if isinstance(given, Tensor) and given._tracked:
            for other, first in self.arguments:
                if other is given:  # passed twice: one leaf, the second placeholder is not read
                    self.arguments.append((None, leaf))
                    return first
            self._track(leaf.node, leaf)
        self.arguments.append((given, leaf))
        return leaf

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
        operands = [self._operand(a) for a in args]
        first = len(self.graph.nodes)
        node = append(self.graph, op, operands, attrs).node
        if modes.now.grad:
            self.tracked.update(new for new in self.graph.nodes[first:] if self._flows(new))
        return Traced(self, node)

    def _operand(self, x: Any) -> Any:
        if isinstance(x, Tensor):
            return self.value(x)
        known = self.arrays and isinstance(x, np.ndarray) and (id(x) in self.arrays or id(x.base) in self.arrays)
        if known and x.flags.c_contiguous and x.dtype.isnative:
            return self._around(x, x)
        if known and self.watch is not None:
            self.watch.array(x)  # its values become a constant
        return x

    def _flows(self, node: Node) -> bool:
        """Whether it depends smoothly on an operand that requires grad."""
        if node.type.dtype.kind != "f" or node.op.vjp is None:
            return False
        return any(i in self.tracked and node.op.vjp_for(p) is not None for p, i in enumerate(node.inputs))

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
        leaves = [leaf for _, leaf in (*self.arguments, *self.captured.values())]
        changed = frozenset((id(leaf), leaf.node) for leaf in leaves if leaf.changed)
        return changed, frozenset((key, id(value)) for key, (_, value) in self.grads.items())

    def follow(self, params: Sequence[Traced]) -> None:
        """Parameters of a body require grad as far as they can: what comes in decides when it runs."""
        if modes.now.grad:
            self.tracked.update(p.node for p in params if p.dtype.kind == "f")

    # in-place changes -------------------------------------------------------------------------------------------------

    def assign(self, target: Any, value: Any) -> None:
        """In-place change of an eager or a traced tensor, which has another node from here on."""
        x = self.value(target) if isinstance(target, Tensor) else target
        if modes.now.grad and x.node in self.leaves and not isinstance(x, Alias):
            raise GradientError(
                "a leaf Variable that requires grad is being used in an in-place operation.",
                "wrap the update: with sg.no_grad(): w -= lr * w.grad",
            )
        if isinstance(target, Tensor) and not target._data.flags.writeable:
            self.refuse("a compiled function can't change a tensor whose memory is read-only", "change a clone() of it")
        self._assign(x, value)

    def _assign(self, x: Traced, value: Any, same_memory: bool = True) -> None:
        detached = isinstance(x, Alias)
        while isinstance(x, Alias):
            x = x.base
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
        value = F.broadcast_to(F.astype(self._operand(value), x.dtype), x.shape)
        if detached or not same_memory:
            value = F.stop_gradient(value)
        if same_memory:
            self.overwritten.add(_memory(x.node))
        key = self.leaves.get(x.node)
        x.node = self.own(value).node
        if key is not None:  # another version of the leaf
            self._track(x.node, key)

    def own(self, value: Any) -> Traced:
        """The value in a node of its own, as it would have memory of its own."""
        return self.apply(REGISTRY["identity"], (value,), {})

    def set_data(self, x: Any, value: Any) -> None:
        """`x.data = value`: other memory for x. What shares the former keeps it."""
        target = self.value(x) if isinstance(x, Tensor) else x
        if not hasattr(value, "shape"):
            value = np.asarray(value, target.dtype)
        if value.shape != target.shape or value.dtype != target.dtype:
            self.refuse(
                f"x.data = value can't change shape or dtype inside a compiled function: {shape_text(target.shape)} "
                f"{target.dtype} has to stay, got {shape_text(value.shape)} {value.dtype}"
            )
        if isinstance(target, Alias):
            target.base = self.own(F.stop_gradient(self._operand(value)))
            return
        former = F.stop_gradient(target)
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
        if value is not None:
            if not isinstance(value, (Tensor, Traced)):
                raise DTypeError(f"grad must be a Tensor or None, got {type(value).__name__}")
            if value.shape != x.shape or value.dtype != x.dtype:
                raise ShapeError(
                    f"grad must have the tensor's shape and dtype: {shape_text(x.shape)} {x.dtype}, "
                    f"got {shape_text(value.shape)} {value.dtype}"
                )
        self.grads[id(x)] = x, value

    def backward(self, tensors: Any, seeds: Any, create: bool, inputs: Any) -> None:
        """`backward` of one or several roots. Raises GradientError; no gradient is changed when it does."""
        roots = self._roots(tensors)
        behind = self.graph.reaching([root.node for root in roots])
        if inputs is None:
            wanted = [(self.leaves[node], node) for node in behind if node in self.leaves]
        else:
            wanted = self._wanted(inputs)
        known = {node for _, node in wanted}
        wanted += [(self.retained[node], node) for node in behind if node in self.retained and node not in known]
        found = self._gradients(roots, seeds, behind, [node for _, node in wanted], create)
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
        self, outputs: Any, inputs: Any, grad_outputs: Any, create: bool, allow_unused: bool
    ) -> tuple[Any, ...]:
        """`sg.grad` while tracing."""
        roots = self._roots(outputs)
        behind = self.graph.reaching([root.node for root in roots])
        wanted = self._wanted(inputs)
        found = self._gradients(roots, grad_outputs, behind, [node for _, node in wanted], create)
        for i, (key, _) in enumerate(wanted):
            if found[i] is None and not allow_unused:
                raise GradientError(
                    "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True "
                    "if this is the desired behavior.",
                    f"it is input {i}, of shape {shape_text(key.shape)}",
                )
        return tuple(found)

    def _roots(self, tensors: Any) -> list[Traced]:
        roots: list[Traced] = []
        for i, x in enumerate(_listed(tensors)):
            if not isinstance(x, (Tensor, Traced)):
                raise GradientError(f"backward needs a Tensor, got {type(x).__name__}")
            root = self.value(x) if isinstance(x, Tensor) else x
            if not root.requires_grad:
                raise GradientError(
                    f"element {i} of tensors does not require grad and does not have a grad_fn",
                    "nothing that requires grad was used to compute it inside this compiled function",
                )
            roots.append(root)
        return roots

    def _wanted(self, inputs: Any) -> list[tuple[Any, Node]]:
        """(tensor, its node) for explicit inputs. Raises GradientError."""
        wanted = []
        for x in _listed(inputs):
            symbol = self.value(x) if isinstance(x, Tensor) else x
            if not isinstance(symbol, Traced) or not symbol.requires_grad:
                raise GradientError("One of the differentiated Tensors does not require grad")
            wanted.append((self.leaves.get(symbol.node, x), symbol.node))
        if not wanted:
            raise GradientError("'inputs' argument to backward() cannot be empty.")
        return wanted

    def _gradients(
        self, roots: list[Traced], seeds: Any, behind: list[Node], wanted: list[Node], create: bool
    ) -> list[Traced | None]:
        """The gradient at each of `wanted`, hooks included; None where there is none."""
        given = [None] * len(roots) if seeds is None else _listed(seeds)
        if len(given) != len(roots):
            raise GradientError(f"got {len(roots)} tensors and {len(given)} gradients")
        weights = [self._seed(i, root, seed) for i, (root, seed) in enumerate(zip(roots, given, strict=True))]
        hooks = {node: self._hook(node) for node in behind if node in self.hooks or self._leaf_hooks(node)}
        targets = [Symbol(self.graph, node) for node in (*wanted, *hooks)]
        stops = [Symbol(self.graph, node) for node in behind if node not in self.tracked and node.op.vjp is not None]
        saved = modes.now.grad, self.differentiating
        modes.now.grad, self.differentiating = create, True
        try:
            found = gradients(roots, targets, weights, stops, hooks)
            return [None if g is None else self.own(g) for g in found[: len(wanted)]]
        finally:
            modes.now.grad, self.differentiating = saved

    def _seed(self, i: int, root: Traced, seed: Any) -> Any:
        if seed is None:
            if any(d != 1 for d in root.shape):
                raise GradientError(
                    f"grad can be implicitly created only for scalar outputs, this one has shape {shape_text(root.shape)}",
                    "pass gradient= of that shape, or reduce with .sum() or .mean()",
                )
            return None
        seed = self._operand(seed) if hasattr(seed, "shape") else np.asarray(seed, root.dtype)
        if seed.shape != root.shape:
            raise ShapeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {shape_text(seed.shape)} and output[{i}] has a "
                f"shape of {shape_text(root.shape)}"
            )
        if seed.dtype.kind != "f":
            raise DTypeError(f"gradients are floating, got {seed.dtype}")
        return seed

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
                    raise GradientError(
                        "a hook must return None or a Tensor of the gradient's shape "
                        f"{shape_text(g.shape)}, got {replaced!r}"
                    )
                g = F.astype(self._operand(replaced), g.dtype)
            self.differentiating = inside
            return g

        return hooked


def _memory(node: Node) -> Node:
    """The node whose memory a view has in eager mode."""
    while isinstance(node.op.emit, View) or node.op is stop_gradient_op:
        node = node.inputs[0]
    return node


def _listed(tensors: Any) -> list[Any]:
    return list(tensors) if isinstance(tensors, Sequence) else [tensors]
