"""Memory in a trace: which values lie in the memory of which, how they lie there, and what a change in place does to others.

Nodes of a graph have values and no memory. Eager mode, with which a trace has to agree, has both: a view shows changes of its
base, `x.data` shows them without being counted, and a backward pass refuses values that were changed since it saved them. So
a change in place computes a new value for the *root*, the tensor in whose memory the changed one lies. Views and aliases of
it are computed from that when they are read next. For `y = x[0]; y.add_(1)`:

    x_1 = scatter of (x[0] + 1) into x      the root has another node
    y_1 = x_1[0]                            once y is read; a backward pass that saved x raises
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, cast

import numpy as np

from ..base.types import Shape, shape_text
from ..eager.grad_mode import modes
from ..eager.inplace import check_writeable
from ..eager.tensor import Tensor
from ..errors import TraceError, Where, user_line
from ..ir import Layout, Node
from ..ops.operators import F, Symbol, layout_of, misuse
from .guards import contents
from .sharing import ADVICE, SharedView
from .traced import Alias, DataAlias, Leaf, Traced, memory_node, met, no_extent
from .views import TracedView, assign_item, memory_of


def _alive(references: Iterable[weakref.ref[Alias]]) -> Iterator[Alias]:
    return (alias for reference in references if (alias := reference()) is not None)


class TraceMemory:
    """What shares memory with what in one trace, and which version of it a value is. tracer: of the trace."""

    def __init__(self, tracer: Any):
        self.tracer = tracer
        self.shared_views: list[SharedView] = []
        self.shared_arrays: list[tuple[Traced, Node, np.ndarray, np.ndarray]] = []
        """(tensor, its node, the array that was made in the trace and whose memory it shares, a copy of that)"""
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
        self.taped_as: dict[Node, Node] = {}
        """Values with the record of another one, on eager mode's tape: the result of the operation that changed a tensor in
        place, and a view before it was read again."""
        self.passed_on: set[Node] = set()
        """Gradients that eager mode has in the memory of another one or of a seed, and these."""
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

    def close(self) -> None:
        """Drop the values, which refer to the tracer."""
        for values in vars(self).values():
            if isinstance(values, (dict, set, list)):
                values.clear()

    def settle(self) -> None:
        """Compute the present values of all views and aliases: what reads them next may be a subgraph."""
        for alias in (*self.shared_views, *_alive(self.aliases)):
            alias.node  # noqa: B018 - it is computed by being read

    def check_shared(self) -> None:
        """Raises TraceError for a change of memory that a tensor shares with an array which the function made."""
        for made, node, array, copy in self.shared_arrays:
            if made.node is not node or contents(array) != contents(copy):
                raise TraceError(
                    "an array that a compiled function makes is changed after a tensor shares its memory",
                    "use sg.tensor(array), which is a copy",
                )

    def check_picked(self, values: Iterable[Traced]) -> None:
        """Raises TraceError for values that outlive the trace and that eager mode has in the memory of something else."""
        nodes = [memory_node(x.node) for x in values] if self.picked else []
        if any(node in self.picked for node in nodes):
            self.refuse_picked()

    def refuse_picked(self) -> NoReturn:
        raise TraceError("the memory of a view at a position that differs between calls is asked for, or outlives the trace")

    def lost(self, node: Node) -> bool:
        """Whether eager mode has a value at a position that differs between runs, in memory that has changed since."""
        if not self.picked or memory_node(node) not in self.picked:
            return False
        memory = self.owner(node)
        return memory in self.overwritten or memory in self.followed or memory in self.rebound

    def is_inference(self, node: Node) -> bool:
        """Whether a value is a tensor of `inference_mode`. What a check of an index gives is the index."""
        while node.op.checks:
            node = node.inputs[0]
        return self.owner(node) in self.inferred

    def check_view(self, x: Traced) -> None:
        """Raises TraceError for a view whose base was changed in place: eagerly it would show the change."""
        if not (self.overwritten or self.followed) or self.tracer.differentiating:
            return
        memory = self.owner(x.node)
        if memory is not x.node and (memory in self.overwritten or memory in self.followed):
            raise TraceError(
                f"{x.describe()} is a view of a tensor that was changed in place after it was taken",
                "take the view again after the change",
            )

    def detach(self, x: Any, kind: type[Alias] = Alias) -> Traced:
        """The same memory without the tape."""
        if isinstance(x, Tensor):
            x = self.tracer.wrapped(x, x._data) if x._record is not None else self.tracer.value(x)
        alias = kind(self.tracer, x)
        self.aliases.append(weakref.ref(alias))
        return alias

    def data(self, x: Any) -> Traced:
        """`x.data`: as `detach`, and changes of it are counted apart."""
        return self.detach(x, DataAlias)

    def counts(self, node: Node) -> Node:
        """The value whose changes are counted for another one: that of its memory, or of `x.data` which it was taken from."""
        return memory_node(node, self.counted_apart)

    def in_one_memory(self, target: Any, other: Any) -> tuple[Layout, Layout] | None:
        """The layouts of two values in one memory of eager mode; None for others."""
        x, y = (self.tracer.value(v) if isinstance(v, Tensor) else v for v in (target, other))
        if not (isinstance(x, Traced) and isinstance(y, Traced)) or x.dtype != y.dtype:
            return None
        if self.owner(x.node) is not self.owner(y.node):
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
        for node in self.tracer.graph.nodes[since:]:
            if not lost.isdisjoint(node.inputs) and node is not value.node:
                lost.add(node)
        self.overwritten.update(dict.fromkeys(lost, user_line()))

    def layout(self, x: Traced) -> Layout:
        """The layout of a value in eager mode. The trace then depends on which arguments are row-major."""
        self.ordered = True
        layout = self.known_layout(x.node)
        if layout is None:
            raise no_extent(x)
        return layout

    def known_layout(self, node: Node) -> Layout | None:
        return layout_of(node, self.layouts, self.picked)

    def owner(self, node: Node) -> Node:
        """As `memory_node`, of views at positions that differ between runs as well."""
        node = memory_node(node)
        while node in self.picked:
            node = memory_node(self.picked[node])
        return node

    def version(self, x: Traced) -> int | None:
        """Number of in-place changes of a value's memory; None for memory that existed before the run."""
        memory = self.owner(x.node)
        known = self.counts(x.node) is memory and memory.op.leaf not in ("placeholder", "variable")
        return self.versions.get(memory, 0) if known else None

    def check_inplace(self, target: Any) -> None:
        """Raises GradientError, as eager mode does, for a change that can't be recorded."""
        x = self.tracer.value(target) if isinstance(target, Tensor) else target
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
        if self.tracer.is_leaf(x.node):
            raise misuse.leaf_changed(view=False)
        if x.is_view and self.tracer.is_leaf(memory_node(x.node)):
            raise misuse.leaf_changed(view=True)

    def assign(self, target: Any, value: Any, name: str = "set") -> None:
        """Change an eager or a traced tensor in place: it has another node from here on."""
        x = self.tracer.value(target) if isinstance(target, Tensor) else target
        self.check_inplace(x)
        if isinstance(target, Tensor):
            check_writeable(target, name)
        if self.inferred and self.is_inference(x.node):
            if not modes.now.inference:
                raise misuse.inference_changed()
            self.changes_inference = True
        if x.is_view and (layout := self.layout(x)).repeats:
            raise misuse.read_only(name, layout.shape, layout.strides)
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
            raise TraceError(
                f"an in-place change of {x.describe()}, which shares memory with another tensor, can't be traced",
                "write y = f(y), or change a clone()",
            )
        if same_memory and memory_node(x.node) in self.passed_on:
            raise TraceError(
                f"an in-place change of {x.describe()} can't be traced: grad() returned a gradient in the memory of its "
                "grad_outputs, of another gradient, or of a part that is repeated, as PyTorch does",
                "write g = f(g), or change a clone()",
            )
        recorded = same_memory and modes.now.grad and not detached
        if not recorded and x.node in self.tracer.tracked and not self.tracer.is_leaf(x.node):
            self._refuse_unrecorded(x)
        written = aliases[0] if aliases else x
        made = value.node if isinstance(value, Traced) and value.dtype == x.dtype else None
        cast = F.astype(self.tracer.operand(value), written.dtype)
        value = F.broadcast_to(cast, written.shape) if None not in written.shape else F.broadcast_like(cast, written)
        apart: tuple[Alias, Any] | None = None
        """The innermost alias without the tape of its base, and its value."""
        for alias in aliases:
            if alias.detaches and apart is None:
                apart = alias, value
            value = alias.within(value)
        if apart is not None and isinstance(apart[0], SharedView) and modes.now.grad and apart[1].requires_grad:
            raise TraceError(
                f"{written.describe()}, which shares memory with another argument, is changed by a value that requires grad",
                ADVICE,
            )
        if apart is not None and apart[0] is lies and modes.now.grad and apart[1].requires_grad:
            raise TraceError(f"{written.describe()}, which was given other data, is changed by a value that requires grad")
        taped = apart[0] if apart is not None and modes.now.grad and apart[1].requires_grad else None
        for known in _alive(self.recorded):
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
        key, layout = None if x.node in self.tracer.taped else self.tracer.leaves.get(x.node), self.known_layout(x.node)
        flows, former = recorded and x.node in self.tracer.tracked, x.node
        x.node = self.tracer.own(value).node
        if self.inferred:
            (self.inferred.add if memory in self.inferred else self.inferred.discard)(x.node)
        if same_memory and self.counted_apart:
            self.followed[memory] = x.node
        if data is None:
            self.counted.add(id(x))
        if flows:  # a value without a gradient leaves it on the tape
            self.tracer.tracked.add(x.node)
        if same_memory:
            self.layouts[x.node] = layout
        self.versions[x.node] = None if count is None else count + (data is None)
        if key is not None:  # a version of the leaf
            self.tracer.track(x.node, key)
        if apart is not None and taped is not None:
            taped.records(self.tracer.own(apart[1]))
            self.recorded.append(weakref.ref(taped))
        for moved, memory_now in self.moves.values():
            if moved.node.inputs[0] is not memory_now.node:
                self._follow(moved, memory_now)
        if same_memory and self.tracer.retained:
            self.tracer.keep_retained(former, x.node)
        noted = recorded and x.node in self.tracer.tracked
        if noted:
            self.taped_as[x.node] = value.node
        if noted or self.tracer.retained:  # as on a tape: a gradient's terms come in the order of the operations
            others = [view for view in _alive(self.aliases) if isinstance(view, TracedView) and view.root is x]
            for view in sorted(others, key=lambda view: view is not written):
                if not view.unrecorded and view.part is None:  # those raise when they are used
                    view.node  # noqa: B018 - its present value

    def _root(self, x: Traced) -> Traced:
        """The tensor that a change of x gives another value."""
        while isinstance(x, Alias) or id(x) in self.moves:
            x = x.base if isinstance(x, Alias) else self.moves[id(x)][1]
        return x

    def _refuse_unrecorded(self, x: Traced) -> NoReturn:
        raise TraceError(
            f"an unrecorded in-place change of {x.describe()}, which is a result that requires grad, can't be traced: its "
            "gradient would go to what it was made of, past the change",
            "change a clone() of its detach(), or make the change outside of sg.no_grad()",
        )

    def assign_item(self, target: Any, key: Any, value: Any) -> None:
        """`target[key] = value`."""
        assign_item(self.tracer, target, met(key), met(value))

    def set_data(self, x: Any, value: Any) -> None:
        """`x.data = value`: x lies in the memory of the value from here on. Tensors that share the former memory keep it."""
        target = self.tracer.value(x) if isinstance(x, Tensor) else x
        if not hasattr(value, "shape"):
            value = np.asarray(value, target.dtype)
        misuse.check_holds(value.dtype, target.requires_grad)
        if isinstance(value, Traced):
            self.check_picked([value])
        if value.shape != target.shape or value.dtype != target.dtype:
            raise TraceError(
                f"x.data = value can't change shape or dtype inside a compiled function: {shape_text(target.shape)} "
                f"{target.dtype} has to stay, got {shape_text(value.shape)} {value.dtype}",
                "use a new tensor, or do it outside",
            )
        if target.requires_grad and (isinstance(target, Alias) or not self.tracer.is_leaf(target.node)):
            self._refuse_unrecorded(target)
        memory = cast("Alias", self.data(value if isinstance(value, (Tensor, Symbol)) else self.tracer.shared(value)))
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
            inner = TracedView(self.tracer, x.base, x.maker)
            inner.unrecorded, inner._fresh, inner._seen = x.unrecorded, x._fresh, x._seen
            self.aliases.append(weakref.ref(inner))
            self._leave_to(inner, x)
            x.base, x.maker, x._seen = inner, view.maker, None
            return
        if back is None or (x.requires_grad and not modes.now.grad):
            self._refuse_layout(x, name)
        memory, count, former = memory_node(x.node), self.version(x), x.node
        layout = self.known_layout(view.node)
        followers = [alias for alias in self._followers(x) if alias is not view]
        x.node = self.tracer.own(view).node
        self.overwritten[memory] = user_line()
        self.counted.add(id(x))
        self.layouts[x.node] = layout
        self.versions[x.node] = None if count is None else count + 1
        self.tracer.keep_retained(former, x.node)
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
            flat = F.concatenate([flat, self.tracer.constant(np.zeros(size - given, x.dtype))])
        self.overwritten[memory_node(x.node)] = user_line()
        self.counted.add(id(x))
        x.node = self.tracer.own(F.reshape(flat, shape)).node

    def _of_one_layout(self, target: Any, name: str) -> Any:
        """The traced tensor of one whose layout changes. Raises TraceError unless the trace has made it."""
        x = self.tracer.value(target) if isinstance(target, Tensor) else target
        if isinstance(x, Leaf) or id(x) in self.moves or (isinstance(x, Alias) and not isinstance(x, TracedView)):
            self._refuse_layout(x, name)
        self.check_picked([x])
        return x

    def _refuse_layout(self, x: Traced, name: str) -> NoReturn:
        raise TraceError(f"{name} of {x.describe()}, which others see, can't be traced", "write y = f(x) for a new tensor")

    def _followers(self, x: Traced) -> list[Alias]:
        """The views and detached aliases that were taken of x."""
        return [alias for alias in _alive(self.aliases) if alias.base is x]

    def _leave_to(self, other: Traced, x: Traced) -> None:
        """Let the views of x be views of another tensor."""
        for alias in self._followers(x):
            if alias is not other:
                alias.base, alias._seen = other, None

    def _check_moved(self, target: Traced) -> None:
        """Raises TraceError for other data of a tensor whose memory is bound in other ways, too."""
        if any(view is target or view.base is target for view in self.shared_views):
            raise TraceError(
                f"{target.describe()} shares memory with another argument of the compiled function: it can't be given other "
                "data inside",
                "pass a clone() of one of them",
            )
        if any(gradient is target for _, gradient in (*self.tracer.grads.values(), *self.tracer.initial_grads.values())):
            raise TraceError("a gradient can't be given other data inside a compiled function", "write x.grad = value")

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
            former = TracedView(self.tracer, x.base, x.maker)
            former.unrecorded, former._fresh, former._seen = x.unrecorded, x.node, x._seen
            self.aliases.append(weakref.ref(former))
        elif isinstance(x, TracedView):
            former = x.base
        elif isinstance(x, Alias):
            former = self.detach(x.base, type(x))
        elif isinstance(x, Leaf):
            former = self.given_up[id(x)] = Leaf(self.tracer, x.node)
            former.origin = x.origin
        else:
            former = Traced(self.tracer, x.node)
        for alias in aliases:
            alias.base, alias._seen = former, former.node

    def _follow(self, x: Traced, memory: Alias) -> None:
        """x has the value that its memory has now."""
        key = self.tracer.leaves.get(x.node)
        x.node = F.stop_gradient(memory).node
        self.cut.add(x.node)
        self.versions[x.node] = None
        if key is not None:
            self.tracer.track(x.node, key)

    def at_start(self, x: Leaf) -> Leaf:
        """What stands for the memory that a tensor from outside had at the start: itself, if it kept it."""
        return self.given_up.get(id(x), x)
