"""Tracing: the user's eager code runs once on symbols, and what it does becomes a graph.

Eager tensors that the code reaches become variables bound to their own buffers. Their `.grad`, their in-place updates and
the optimizer's are kept as symbols while the trace lasts; at its end they are the assigns of the step. Nothing eager is
changed by a trace, whether it succeeds or raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ..compiler.grad import gradients
from ..eager.modes import modes
from ..eager.tape import Handle
from ..eager.tensor import Tensor
from ..errors import GradientError, TraceError
from ..ir import REGISTRY, Cell, Graph, Node, OpDef
from ..operators import F, Symbol, append
from ..types import TensorType, shape_text, type_of


class Traced(Symbol):
    """A tensor of a step that is being traced: has the eager tensor's methods, but no value yet."""

    __slots__ = ("hooks", "leaf", "retained", "tracer")

    def __init__(self, tracer: Tracer, node: Node, *, leaf: bool = False):
        super().__init__(tracer.graph, node)
        self.tracer = tracer
        self.leaf = leaf
        self.retained = False
        self.hooks: dict[int, Callable[[Any], Any]] = {}

    @property
    def requires_grad(self) -> bool:
        return self.node in self.tracer.tracked

    @property
    def is_leaf(self) -> bool:
        return self.leaf or not self.requires_grad

    @property
    def grad(self) -> Any:
        return self.tracer.get_grad(self)

    @grad.setter
    def grad(self, value: Any) -> None:
        self.tracer.set_grad(self, value)

    @property
    def data(self) -> Any:
        return self.detach()

    def retain_grad(self) -> None:
        self.retained = True
        self.tracer.retained.append(self)

    def register_hook(self, hook: Callable[[Any], Any]) -> Handle:
        """Called with the symbolic gradient while `backward` is traced."""
        self.tracer.retained.append(self)
        return Handle(self.hooks, hook)

    def detach(self) -> Any:
        return F.stop_gradient(self)

    def clone(self) -> Any:
        return F.add(self, 0)

    def requires_grad_(self, value: bool = True) -> Any:
        return self.tracer.refuse(
            "requires_grad can't be changed inside a compiled function", "make the leaf outside, or pass it as an argument"
        )

    def backward(
        self, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """As the eager one: gradients are added to `.grad` of the leaves, symbolically."""
        self.tracer.backward(self, gradient, create_graph, inputs)

    def to(self, dtype: Any) -> Any:
        return F.astype(self, dtype)

    def float(self) -> Any:
        return F.astype(self, np.float32)

    def double(self) -> Any:
        return F.astype(self, np.float64)

    def long(self) -> Any:
        return F.astype(self, np.int64)

    def view(self, *shape: Any) -> Any:
        return F.reshape(self, *shape)

    def contiguous(self) -> Any:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.refuse("assigning to an index of a tensor can't be traced", "use sg.where(mask, value, x)")


def _inplace(name: str) -> Callable[..., Any]:
    def method(self: Traced, *args: Any, **kwargs: Any) -> Any:
        value = getattr(F, name)(self, *args, **kwargs)
        if value.shape != self.shape:
            self.tracer.refuse(f"{name}_: the result has shape {shape_text(value.shape)}, not {shape_text(self.shape)}")
        self.node = F.astype(value, self.dtype).node
        return self

    method.__name__ = name + "_"
    return method


for _name in ("add", "sub", "mul", "div", "pow", "neg", "abs", "exp", "log", "sqrt", "relu", "sigmoid", "tanh", "clip", "clamp"):
    setattr(Traced, _name + "_", _inplace(_name))


class Tracer:
    """What one trace knows: the graph, the tensors it reached, and their symbolic state."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.leaves: dict[int, tuple[Tensor, Node]] = {}
        self.values: dict[int, Traced] = {}
        self.versions: dict[int, list[Traced]] = {}
        self.assigned: dict[int, Tensor] = {}
        self.grads: dict[int, tuple[Any, Any]] = {}
        """By id of tensor: (tensor, symbolic gradient or None)."""
        self.grad_entry: dict[int, tuple[Tensor, Any]] = {}
        """Gradients that the step reads at its start: (tensor, the Tensor that `.grad` was, or None)."""
        self.tracked: set[Node] = set()
        self.untracked: list[Traced] = []
        self.arguments: list[Traced] = []
        self.retained: list[Traced] = []

    # values -----------------------------------------------------------------------------------------------------------

    def argument(self, array: np.ndarray, name: str, tracked: bool) -> Traced:
        """A placeholder for an array argument."""
        symbol = append(self.graph, REGISTRY["placeholder"], (), {"type": type_of(array)}, name=name)
        result = Traced(self, symbol.node, leaf=True)
        if tracked:
            self.tracked.add(symbol.node)
            self.arguments.append(result)
        return result

    def value(self, tensor: Tensor) -> Traced:
        """The symbol that an eager tensor has at this point of the trace."""
        known = self.values.get(id(tensor))
        if known is not None:
            return known
        if tensor._record is not None:
            self.refuse(
                f"a tensor of shape {shape_text(tensor.shape)} with a tape of its own ({tensor._record.name()}) can't enter "
                "a compiled function",
                "compute it inside the function, or pass x.detach()",
            )
        if not tensor._data.flags.c_contiguous:
            self.refuse(
                f"a tensor of shape {shape_text(tensor.shape)} is not contiguous in memory, so a compiled function can't be "
                "bound to it",
                "make it outside with sg.tensor(x)",
            )
        return self._leaf(tensor, tensor._tracked)

    def _leaf(self, tensor: Tensor, tracked: bool) -> Traced:
        kind = TensorType(tensor.shape, tensor.dtype)
        cell = Cell(tensor.name if tensor.name else f"tensor{len(self.leaves)}", kind, tensor=tensor)
        symbol = append(self.graph, REGISTRY["variable"], (), {"cell": cell}, name=cell.name)
        result = self.values[id(tensor)] = Traced(self, symbol.node, leaf=True)
        self.leaves[id(tensor)] = (tensor, symbol.node)
        if tracked:
            self.tracked.add(symbol.node)
            self.versions[id(tensor)] = [result]
        return result

    def apply(self, op: OpDef, args: Sequence[Any], attrs: dict[str, Any]) -> Traced:
        """Append an op. Eager operands enter as variables."""
        operands = [self.value(a) if isinstance(a, Tensor) else a for a in args]
        node = append(self.graph, op, operands, attrs).node
        result = Traced(self, node)
        if op.vjp is not None and node.type.dtype.kind == "f":
            if modes.grad:
                if any(i in self.tracked for i in node.inputs):
                    self.tracked.add(node)
                elif any(i.op.name == "cast" and i.inputs[0] in self.tracked for i in node.inputs):
                    self.tracked.update(i for i in node.inputs if i.op.name == "cast" and i.inputs[0] in self.tracked)
                    self.tracked.add(node)
            else:
                self.untracked.append(result)
        return result

    def assign(self, tensor: Any, value: Any) -> None:
        """In-place change of an eager tensor: it has a new symbol from here on."""
        current = self.value(tensor)
        if modes.grad and tensor._tracked:
            raise GradientError(
                "a leaf Variable that requires grad is being used in an in-place operation.",
                "wrap the update: with sg.no_grad(): w -= lr * w.grad",
            )
        if not tensor._data.flags.writeable:
            self.refuse("a compiled function can't change a tensor whose memory is read-only")
        symbol = value if isinstance(value, Symbol) else self.value(value)
        if symbol.shape != current.shape:
            symbol = F.broadcast_to(symbol, current.shape)
        symbol = F.astype(symbol, tensor.dtype)
        new = Traced(self, symbol.node, leaf=True)
        self.values[id(tensor)] = new
        self.assigned[id(tensor)] = tensor
        if tensor._tracked:
            self.tracked.add(new.node)
            self.versions[id(tensor)].append(new)

    def refuse(self, what: str, *advice: str) -> NoReturn:
        raise TraceError(what, *advice)

    # gradients ----------------------------------------------------------------------------------------------------------

    def get_grad(self, tensor: Any) -> Any:
        known = self.grads.get(id(tensor))
        if known is not None:
            return known[1]
        if isinstance(tensor, Traced):
            return None
        before = tensor._grad
        self.grad_entry[id(tensor)] = (tensor, before)
        return None if before is None else self.value(before)

    def set_grad(self, tensor: Any, value: Any) -> None:
        if value is not None:
            value = self.value(value) if isinstance(value, Tensor) else value
        self.grads[id(tensor)] = (tensor, value)

    def _targets(self, roots: Sequence[Any]) -> list[tuple[Any, Traced]]:
        """(tensor, symbol) for everything whose gradient a backward from `roots` gives."""
        behind = set(self.graph.reaching([r.node for r in roots]))
        found: list[tuple[Any, Traced]] = []
        for key, versions in self.versions.items():
            found += [(self.leaves[key][0], v) for v in versions if v.node in behind]
        found += [(a, a) for a in (*self.arguments, *self.retained) if a.node in behind]
        return found

    def _gradients(self, roots: Sequence[Any], targets: Sequence[Traced], seeds: Any, create: bool) -> list[Any]:
        for i, root in enumerate(roots):
            if not isinstance(root, Traced) or not root.requires_grad:
                raise GradientError(
                    f"element {i} of tensors does not require grad and does not have a grad_fn",
                    "nothing that requires grad was used to compute it inside this compiled function",
                )
            if (seeds is None or seeds[i] is None) and any(d != 1 for d in root.shape):
                raise GradientError(
                    f"grad can be implicitly created only for scalar outputs, this one has shape {shape_text(root.shape)}",
                    "pass gradient= of that shape, or reduce with .sum() or .mean()",
                )
        if seeds is not None:
            seeds = [self.value(s) if isinstance(s, Tensor) else s for s in seeds]
        saved, modes.grad = modes.grad, create
        try:
            found = gradients(roots, targets, seeds, stop_gradients=self.untracked)
        finally:
            modes.grad = saved
        return [None if g is None else g if isinstance(g, Traced) else Traced(self, g.node) for g in found]

    def backward(self, root: Any, gradient: Any, create: bool, inputs: Any) -> None:
        targets = self._targets([root])
        if inputs is not None:
            chosen = {id(t) for t in (inputs if isinstance(inputs, Sequence) else [inputs])}
            targets = [(t, s) for t, s in targets if id(t) in chosen]
        seeds = None if gradient is None else [gradient]
        found = self._gradients([root], [s for _, s in targets], seeds, create)
        for (tensor, symbol), g in zip(targets, found, strict=True):
            if g is None:
                continue
            hooks = symbol.hooks if isinstance(tensor, Traced) else tensor._hooks
            for hook in tuple(hooks.values()) if hooks else ():
                replaced = hook(g)
                g = g if replaced is None else replaced
            if isinstance(tensor, Traced) and not (tensor.leaf or tensor.retained):
                continue
            before = self.get_grad(tensor)
            self.set_grad(tensor, g if before is None else before + g)

    def grad(self, outputs: Any, inputs: Any, grad_outputs: Any, allow_unused: bool) -> tuple[Any, ...]:
        """`sg.grad` while tracing; the result can be differentiated again."""
        roots = list(outputs) if isinstance(outputs, Sequence) else [outputs]
        wanted = list(inputs) if isinstance(inputs, Sequence) else [inputs]
        seeds = None
        if grad_outputs is not None:
            seeds = list(grad_outputs) if isinstance(grad_outputs, Sequence) else [grad_outputs]
        targets = [self.value(t) if isinstance(t, Tensor) else t for t in wanted]
        found = self._gradients(roots, targets, seeds, True)
        if not allow_unused and any(g is None for g in found):
            raise GradientError(
                "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
                "this is the desired behavior.",
                f"it is input {found.index(None)}",
            )
        return tuple(found)
