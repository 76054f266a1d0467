"""Traced tensors: values of the graph of a trace, with the interface of eager tensors."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from ..eager.inplace_methods import METHODS
from ..eager.tape import Handle
from ..eager.tensor import PublicTensor, Tensor
from ..errors import DataDependentError, TraceError
from ..ir import Graph, Node
from ..ops.indexing import as_read
from ..ops.operators import Count, F, GradFn, Index, Size, Symbol, TensorLike, count_of, misuse, retained, span_of, state
from ..ops.operators import Tensor as AnyTensor
from ..ops.operators.symbols import in_rows
from ..ops.pointwise import stop_gradient_op
from .observer.python_types import IGNORED, origin_of


class TracedNode(GradFn):
    """The operation that a traced tensor is the result of. What only nodes of a tape have cuts the trace: segments have one."""

    __slots__ = ()

    def _absent(self, what: str) -> NoReturn:
        if what.startswith("__") and what != "__call__":
            raise AttributeError(what)
        raise TraceError(
            f"grad_fn.{what} inside a compiled function: a trace has no tape, whose nodes have that", "take it outside"
        )


class Traced(Symbol):
    """A tensor of a step that is being traced. It has the eager tensor's methods.

    node: the node that computes its value; an in-place change gives it another one.
    """

    __slots__ = ("tracer",)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__name__ = PublicTensor.__name__

    def __init__(self, tracer: Any, node: Node):
        self.tracer = tracer
        self.node = node

    @property
    def graph(self) -> Graph:  # type: ignore[override]
        """The graph of the trace. Raises TraceError when the trace has ended."""
        self.tracer.check_active(self)
        return self.tracer.graph

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of its argument, or of its op. Values of a trace are never looked up by name."""
        return self.node.name or self.node.op.name

    def __getitem__(self, key: Index) -> AnyTensor:
        return F.getitem(self, as_read(met(key)))

    @property
    def shape(self) -> Size:  # type: ignore[override]
        shape = self.node.type.shape
        return Size(self._extents() if None in shape and _asked_by_code() else shape)

    @property
    def size(self) -> Count:
        return count_of(self._extents()) if None in self.node.type.shape and _asked_by_code() else super().size

    def numel(self) -> int:
        return super().numel() if self.node.type.static else math.prod(self._extents())

    def _extents(self) -> tuple[Any, ...]:
        """The shape, with numbers of the run for extents that it decides."""
        shape = self.node.type.shape
        return tuple([self.tracer.extent(self, axis) if d is None else d for axis, d in enumerate(shape)])

    def operand(self) -> Node:
        self.tracer.memory.check_view(self)
        return self.node

    # the tape -------------------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        return self.node in self.tracer.tracked

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def is_inference(self) -> bool:
        self.tracer.memory.asks_inference = True
        return self.tracer.memory.is_inference(self.node)

    @property
    def is_leaf(self) -> bool:
        return not self.requires_grad or self.tracer.is_leaf(self.node)

    @property
    def grad_fn(self) -> GradFn | None:
        """The operation that it is the result of, for a result that requires grad. Raises TraceError for an argument that has
        a tape of its own."""
        self.tracer.check_own_tape(self, "the operation that made it")
        return None if self.is_leaf else TracedNode(self.node, self.tracer.tracked.__contains__)

    @property
    def output_nr(self) -> int:
        """0 for a leaf. Raises TraceError for a result: operations of several results are several nodes in a trace."""
        return 0 if self.is_leaf else self._no_value("its number among the results of an operation", "count them outside")

    @property
    def grad(self) -> AnyTensor | None:
        grad: AnyTensor | None = self.tracer.get_grad(self)
        if grad is None and not self.is_leaf and not self.retains_grad:
            misuse.warn_no_gradient()
        return grad

    @grad.setter
    def grad(self, value: AnyTensor | None) -> None:
        self.tracer.set_grad(self, value)

    @property
    def data(self) -> AnyTensor:
        return self.tracer.memory.data(self)

    @data.setter
    def data(self, value: TensorLike) -> None:
        self.tracer.memory.set_data(self, value)

    @property
    def retains_grad(self) -> bool:
        return self.node in self.tracer.retained

    def retain_grad(self) -> None:
        misuse.check_retained(self.requires_grad)
        self.tracer.check_own_tape(self, "a gradient that it keeps")
        if not self.is_leaf:
            self.tracer.retained[self.node] = self

    def register_hook(self, hook: Callable[[AnyTensor], AnyTensor | None]) -> Handle:
        """Call `hook` with the symbolic gradient while `backward` is traced; a returned tensor replaces the gradient."""
        misuse.check_hooked(self.requires_grad)
        self.tracer.check_hook(self)
        return Handle(self.tracer.hooks.setdefault(self.node, {}), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[AnyTensor], None]) -> Handle:
        """Call `hook` with this leaf when a backward pass in the trace has added to its `grad`."""
        misuse.check_hooked(self.requires_grad)
        if not self.is_leaf:
            raise misuse.post_hook_of_result()
        self.tracer.check_hook(self)
        return Handle(self.tracer.accumulated.setdefault(id(self), {}), hook)

    def detach(self) -> AnyTensor:
        return self.tracer.memory.detach(self)

    def detach_(self) -> Traced:
        misuse.check_detached(self.is_view)
        if self.requires_grad:
            self.tracer.check_own_tape(self, "another tape")
            if self.is_leaf:
                self.tracer.keeps_flag()
            self.node = F.stop_gradient(self).node
            self.tracer.memory.cut.add(self.node)
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Traced:
        """Make a value that doesn't require grad a leaf that does, such as a point at which a network is differentiated."""
        value = requires_grad
        if value:
            misuse.check_floating(self.dtype)
        elif not self.is_leaf:
            raise misuse.not_a_leaf()
        if bool(value) != self.requires_grad:
            if not value:
                self.tracer.keeps_flag()
            self.tracer.make_leaf(self)
        return self

    def backward(
        self, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None, *,
        retain_variables: Any = None,
    ) -> None:  # fmt: skip
        """As `Tensor.backward`: the gradients are added to `.grad` of the leaves, symbolically."""
        self.tracer.backward(self, gradient, retained(retain_graph, retain_variables), create_graph, inputs)

    @property
    def _version(self) -> int:
        count: int | None = self.tracer.memory.version(self)
        return self._no_value("the number of its changes", "count them outside") if count is None else count

    def _layout(self) -> Any:
        """Its layout in eager mode; None where extents are unknown, and the order is row-major."""
        return None if open_in_rows(self.node) else self.tracer.memory.layout(self)

    def _known_layout(self) -> Any:
        layout = None if open_in_rows(self.node) else self.tracer.memory.known_layout(self.node)
        return layout if layout is None or layout.is_contiguous else self._layout()

    def _storage(self, offset: int | None, extents: Sequence[int], steps: Sequence[int]) -> tuple[AnyTensor, int]:
        layout = self._layout()
        if offset is not None:
            self.tracer.memory.check_picked([self])  # its own offset differs between runs
        first = 0 if offset is None else offset - layout.offset
        own = self._dense()
        if own is None or first < 0 or first + span_of(extents, steps) > int(self.numel()):
            self._no_value("the memory around it", "give as_strided a tensor whose own elements it takes")
        return own, first

    @property
    def is_view(self) -> bool:
        """Shares memory with another tensor in eager mode."""
        stopped = self.node.op.plain is stop_gradient_op and self.node not in self.tracer.memory.cut
        return stopped or self.node.op.aliases or self.node in self.tracer.memory.picked

    # Python asks for a value ------------------------------------------------------------------------------------------

    def _no_value(self, what: str, *advice: str) -> NoReturn:
        raise TraceError(f"{self.describe()} is traced: Python can't have {what} before the compiled function runs", *advice)

    def __iter__(self) -> Iterator[AnyTensor]:
        misuse.check_iterated(self.ndim)
        return iter(F.unbind(self))

    def __bool__(self) -> bool:
        misuse.check_truth(self._count())
        return self.tracer.truth(self)

    def no_truth(self) -> NoReturn:
        """Raises TraceError where Python needs the truth value of a tensor."""
        self._no_value(
            "its truth value",
            "use sg.where(condition, a, b) for values, sg.cond to choose what runs, sg.while_loop to repeat, or decide on "
            "plain Python arguments",
        )

    def __index__(self) -> int:
        misuse.check_index(self.dtype)
        misuse.check_item(self._count())
        self._no_value("an index", "pass a plain Python integer, or use gather, index_select or x[index] with a tensor")

    def item(self) -> Any:
        """A number that can be computed with, stored and returned."""
        misuse.check_item(self._count())
        return self.tracer.number(self)

    def __float__(self) -> Any:
        misuse.check_item(self._count())
        self._no_value("a number", "return it from the compiled function, and ask for the number outside")

    __int__ = __complex__ = __float__

    def tolist(self) -> Any:
        if not self.shape:
            return self.item()
        self._no_value("a list", "return it from the compiled function, and ask for the list outside")

    def numpy(self, *, force: bool = False) -> np.ndarray:
        misuse.check_array(self.requires_grad and not force)
        return self.__array__()

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        self._no_value("an array", "use the function of the same name in staticgrad, or return the tensor")

    __dlpack__ = __dlpack_device__ = __array__

    def __deepcopy__(self, memo: Any) -> Any:
        misuse.check_copied(self.is_leaf)
        return self._no_value("a copy of its own", "use x.clone() for a tensor of the same value")

    def __reduce__(self) -> Any:
        return self._no_value("what could be saved", "return it from the compiled function, and save it outside")

    def __str__(self) -> str:
        self._no_value("its text", "return it from the compiled function, and print it outside")

    def __format__(self, spec: str) -> str:
        return self.__str__()

    def __repr__(self) -> str:
        """Where it was computed, for debuggers and for messages of this package. The user's code, which keeps or prints the
        text of a list, say, needs that of the value."""
        return self.__str__() if state.tracer is self.tracer and _asked_by_code() else super().__repr__()

    def _by_numpy(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        self._no_value(f"an array for {name}", "use functions of staticgrad, or compute it outside and pass the result")


DEBUGGERS = ("bdb.py", "pydevd.py", "pydevd_frame.py")


def _asked_by_code() -> bool:
    """Whether the user's code asks for a text, and no debugger in it."""
    frame: FrameType | None = sys._getframe(2)
    if frame is None or origin_of(frame.f_code.co_filename) is IGNORED:
        return False
    while frame is not None and os.path.basename(frame.f_code.co_filename) not in DEBUGGERS:
        frame = frame.f_back
    return frame is None


def open_in_rows(node: Node) -> bool:
    """Whether extents of a value are known in the run only, and eager mode has it in row-major order."""
    return not node.type.static and (in_rows(node) or (node.type.ndim == 1 and not node.op.aliases))


def no_extent(x: Symbol) -> DataDependentError:
    """The error for code that asks for an extent which is known in the run only."""
    return DataDependentError(
        f"an extent of {x.describe()} depends on values: Python can't have it before the compiled function runs",
        "average with mean(), or compute what needs the number outside",
    )


for _name in METHODS:  # add_, __iadd__, copy_, ...: all of them call `Tracer.assign`
    setattr(Traced, _name, vars(Tensor)[_name])
Traced.__name__ = PublicTensor.__name__  # which code may ask for, and gets from eager tensors


def each_part(change: Callable[[Any], Any], x: Any) -> Any:
    """A value with its parts changed, in lists, tuples, dicts and slices."""
    if type(x) in (list, tuple):
        return type(x)([each_part(change, part) for part in x])
    if type(x) is dict:
        return {name: each_part(change, part) for name, part in x.items()}
    if type(x) is slice:
        return slice(*[each_part(change, part) for part in (x.start, x.stop, x.step)])
    return change(x)


def met(x: Any) -> Any:
    """A value as operations with tensors take it, without symbols that stand for arrays."""
    return each_part(lambda part: part._met() if isinstance(part, Symbol) else part, x)


class LostValue(Symbol):
    """A value that eager mode would have lost. It has a shape; reading the value raises the exception that `error` makes."""

    __slots__ = ("error",)

    def __init__(self, graph: Graph, node: Node, error: Callable[[], Exception]):
        super().__init__(graph, node)
        self.error = error

    def operand(self) -> Node:
        raise self.error()


class Leaf(Traced):
    """A value from before the step: an argument, a captured tensor, or a gradient.

    origin: the node of its value at the start of a run.
    """

    __slots__ = ("_parameter", "origin")

    def __init__(self, tracer: Any, node: Node, parameter: bool = False):
        super().__init__(tracer, node)
        self.origin = node
        self._parameter = parameter

    @property
    def changed(self) -> bool:
        """Whether an in-place operation gave it another value."""
        return self.node is not self.origin


class Alias(Traced):
    """`x.detach()`: the memory of `x` without the tape. It sees changes of x, and changes of it change x."""

    __slots__ = ("_fresh", "_seen", "base")

    def __init__(self, tracer: Any, base: Traced):
        self.base = base
        self._seen: Node | None = None
        super().__init__(tracer, base.node)

    @property
    def node(self) -> Node:
        if self.base.node is not self._seen:
            self._fresh = self.read_base()
            self._seen = self.base.node
        return self._fresh

    @node.setter
    def node(self, value: Node) -> None:
        pass

    @property
    def seen(self) -> Node | None:
        """The node of its value at the last read."""
        return None if self._seen is None else self._fresh

    def read_base(self) -> Node:
        """The node of its value, computed from the present base."""
        return F.stop_gradient(self.base).node

    def within(self, value: Any) -> Any:
        """The value of the base once this alias has the value `value`."""
        return value

    @property
    def detaches(self) -> bool:
        """Whether changes of it are not recorded as changes of the base."""
        return True

    def records(self, value: Any) -> None:
        """Note a recorded change of the alias: it has a tape of its own until its base is changed."""
        self._seen, self._fresh = self.base.node, value.node


class DataAlias(Alias):
    """`x.data`: changes of it are counted as its own and not as those of x, so that backward passes which saved x don't notice
    them."""

    __slots__ = ("values",)

    def __init__(self, tracer: Any, base: Traced):
        self.values: list[Node] = []
        """The nodes of its values so far."""
        super().__init__(tracer, base)

    def read_base(self) -> Node:
        node = super().read_base()
        self.values.append(node)
        self.tracer.memory.counted_apart.add(node)
        return node


def memory_node(node: Node, last: Collection[Node] = ()) -> Node:
    """The node whose memory a view has in eager mode, or the first one of `last` on the way to it."""
    while node not in last and (node.op.aliases or node.op.plain is stop_gradient_op):
        node = node.inputs[0]
    return node
