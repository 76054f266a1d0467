"""Tensors that stand for nodes, and the memory layout that their values would have in eager mode.

`x + y` of two symbols appends a node to their graph. A plan places values as it likes, but `x.T.is_contiguous()` and
`x.stride()` answer as they would for the eager tensor, because programs decide by them.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np

from ...base.dtypes import ANY_DTYPE, PUBLIC, DType
from ...base.types import INEXACT, DTypeLike, ShapeLike, UnrankedType, normalize_axis, shape_text
from ...errors import GraphError, ShapeError, TraceError
from ...ir import IMAGES, REGISTRY, Graph, Layout, Node, OfGraph, View
from . import misuse
from .dispatch import Count, F, Size, apply, count_of, frontends
from .methods import Operators
from .misuse import FormerNode

if TYPE_CHECKING:
    from .annotations import TensorLike
    from .interface import Tensor

# the layout of a value in eager mode: `is_contiguous`, `stride` and `view` rely on it ---------------------------------

NONE: Mapping[Node, Node] = MappingProxyType({})


def span_of(extents: Sequence[int], steps: Sequence[int]) -> int:
    """The elements of memory from the first to the last of those at these strides."""
    return 1 + sum((d - 1) * s for d, s in zip(extents, steps, strict=True))


def layout_of(node: Node, known: dict[Node, Layout | None], alike: Mapping[Node, Node] = NONE) -> Layout | None:
    """The layout of a value; None where extents are unknown. known: layouts found before, and those of leaves that are not
    row-major; alike: for values that stand for others, values in whose layout eager mode has them."""
    stack = [node]
    while stack:
        last = stack[-1]
        needed = [alike[last]] if last in alike else () if in_rows(last) else last.inputs
        missing = [i for i in needed if i not in known]
        if last in known:
            stack.pop()
        elif missing:
            stack.extend(missing)
        else:
            known[last] = known[alike[last]] if last in alike else _layout(last, known)
            stack.pop()
    return known[node]


def in_rows(node: Node) -> bool:
    """Whether eager mode has a value in row-major order, whatever its operands' is."""
    op = node.op.plain
    return node.attrs.get("row_major", op.memory == "rows" and not isinstance(op.emit, View))


def _layout(node: Node, known: dict[Node, Layout | None]) -> Layout | None:
    if not node.type.static:
        return None
    if in_rows(node):
        return Layout.contiguous(node.type.shape)
    operands = [known[i] for i in node.inputs]
    emit, memory = node.op.plain.emit, node.op.plain.memory
    if isinstance(emit, View):
        below = operands[0]
        if below is None:
            return None
        return emit.rule(node, below) or reshaped(below, node.type.shape) or Layout.contiguous(node.type.shape)
    if memory == "shared":
        return operands[0]
    found = [o for o in operands if o is not None]
    if memory == "operands":
        return as_operands(node.type.shape, found)
    return memory(node.type.shape, found) if len(found) == len(operands) else None  # type: ignore[operator]


def as_operands(shape: tuple[int, ...], operands: Sequence[Layout]) -> Layout:
    """The result of NumPy's loops, which keep the order of axes that the operands have: an axis moves after one that every
    operand which has both walks in larger steps. Where they disagree, or have no say, it stays."""
    lead = [(0,) * (len(shape) - len(o.shape)) for o in operands]
    strides = [
        (*more, *(0 if d == 1 else abs(s) for d, s in zip(o.shape, o.strides, strict=True)))
        for more, o in zip(lead, operands, strict=True)
    ]
    order: list[int] = []  # from the fastest axis to the slowest
    for axis in reversed(range(len(shape))):
        at = len(order)
        for place in reversed(range(len(order))):
            votes = [s[order[place]] <= s[axis] for s in strides if s[axis] and s[order[place]]]
            if any(votes):
                break
            if votes:
                at = place
        order.insert(at, axis)
    result, step = [0] * len(shape), 1
    for axis in order:
        result[axis] = step
        step *= shape[axis]
    return Layout(shape, tuple(result), 0)


def reshaped(layout: Layout, shape: Sequence[int]) -> Layout | None:
    """The layout of the same memory in another shape of as many elements; None where only a copy could have it."""
    if 0 in shape:
        return Layout.contiguous(tuple(shape))
    old = [(d, s) for d, s in zip(layout.shape, layout.strides, strict=True) if d != 1]
    strides = [0] * len(shape)
    axis = len(shape) - 1
    while old:
        count, stride = old.pop()
        while old and old[-1][1] == count * stride:  # axes that are contiguous
            count *= old.pop()[0]
        taken = 1
        while axis >= 0 and (taken < count or shape[axis] == 1):
            strides[axis] = stride * taken
            taken *= shape[axis]
            axis -= 1
        if taken != count:
            return None
    return Layout(tuple(shape), tuple(strides), layout.offset)


def as_images(judge: Callable[[Iterable[bool]], bool]) -> Callable[[tuple[int, ...], Sequence[Layout]], Layout]:
    """The memory of an op of images: the channels are last where those of `any` operand are, or of `all`; else row-major."""

    def layout(shape: tuple[int, ...], operands: Sequence[Layout]) -> Layout:
        last = judge([x.image_order is not None for x in operands]) and len(shape) in IMAGES
        return Layout.ordered(shape, IMAGES[len(shape)]) if last else Layout.contiguous(shape)

    return layout


def copied(array: np.ndarray, row_major: bool = False) -> np.ndarray:
    """A copy, row-major or in the array's own order of axes."""
    if row_major or 0 not in array.strides or not any(array.strides):
        return array.copy("C" if row_major else "K")
    return in_layout(array, as_operands(array.shape, [Layout.of(array)]))


def in_layout(array: np.ndarray, layout: Layout) -> np.ndarray:
    """A copy in a layout without gaps."""
    return with_axes_in(array, order_in_memory(layout))


def with_axes_in(array: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """A copy with its axes in this order in memory, the slowest first."""
    return array.transpose(order).copy().transpose([order.index(axis) for axis in range(array.ndim)])


def image_eval(judge: Callable[[Iterable[bool]], bool], evaluate: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The `eval` of an op whose memory is `as_images(judge)`, from one whose result lies anyhow."""
    memory = as_images(judge)

    def placed(*arrays: np.ndarray, **attrs: Any) -> np.ndarray:
        out = evaluate(*arrays, **attrs)
        if out.ndim not in IMAGES or all(a.flags.c_contiguous for a in arrays):
            return np.asarray(out, order="C")
        layout = memory(out.shape, [*map(Layout.of, arrays)])
        return out if layout.same(Layout.of(out)) else in_layout(out, layout)

    return placed


ORDERS = {"torch.channels_last": IMAGES[4], "torch.channels_last_3d": IMAGES[5]}
"""PyTorch's memory formats, and the axes of a tensor in the order in which they lie in memory. Others are row-major."""


PRESERVING = (None, "torch.preserve_format")
"""Formats of a copy that keeps the order of the axes in memory."""


def order_of(x: Any, memory_format: object) -> tuple[int, ...] | None:
    """The order of axes of a format, None for row-major. Raises ShapeError for a tensor with another number of axes."""
    order = ORDERS.get(str(memory_format))
    if order is not None and len(x.shape) != len(order):
        raise ShapeError(
            f"required rank {len(order)} tensor to use {str(memory_format).removeprefix('torch.')} format",
            f"got shape {shape_text(x.shape)}",
        )
    return order


def lies_in(x: Any, memory_format: object) -> bool:
    """Whether the elements of x lie in the order of a format."""
    order = order_of(x, memory_format)
    return bool((x if order is None else F.permute(x, order)).is_contiguous())


def in_format(x: Any, memory_format: object) -> Any:
    """A copy of x whose elements lie in the order of a format, row-major for None. Its values and axes are those of x."""
    order = order_of(x, memory_format)
    if order is None:
        return apply(REGISTRY["identity"], x, row_major=True)
    return in_order(x, order)


def in_order(x: Any, order: Sequence[int]) -> Any:
    """A copy of x with its axes in this order in memory, the slowest first."""
    rows = apply(REGISTRY["identity"], F.permute(x, tuple(order)), row_major=True)
    return F.permute(rows, tuple([order.index(axis) for axis in range(len(order))]))


def order_in_memory(layout: Layout) -> list[int]:
    """The axes of a layout in the order in which they lie, the slowest first."""
    return sorted(range(len(layout.shape)), key=lambda axis: -layout.strides[axis])


# symbols --------------------------------------------------------------------------------------------------------------

CHANGE = (
    "write y = f(x) for a new tensor; a Variable is changed by w.assign(value), w.assign_add(delta) or w.assign_sub(delta), "
    "operations that a run does"
)
NO_GRADIENT = (
    "does not exist: gradients of a graph are tensors of it",
    "take them with sg.gradients(loss, [x]), for x in the middle of the graph too; they can be changed before "
    "opt.apply_gradients, or fetched",
)


class AbsentError(GraphError, AttributeError):
    """An attribute that eager tensors have and tensors of a graph don't: `hasattr` says no."""


class GradFn(FormerNode):
    """The operation that a tensor without a value is the result of, as `grad_fn` tells of it."""

    __slots__ = ("node", "tracked")

    def __init__(self, node: Node, tracked: Callable[[Node], bool]):
        self.node, self.tracked = node, tracked

    def name(self) -> str:
        """The name PyTorch shows: `AddBackward0`."""
        return self.node.op.grad_name(self.node) if self.node.inputs else "torch::autograd::AccumulateGrad"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The operations that made the operands; None where no gradient flows."""
        return tuple([(type(self)(i, self.tracked) if self.tracked(i) else None, 0) for i in self.node.inputs])

    def register_hook(self, fn: Callable[..., Any]) -> NoReturn:
        """Raises TraceError: there is no tape whose nodes could be asked."""
        raise TraceError("a hook of a node is called by eager backward passes", "x.register_hook(fn) is a part of a graph")

    register_prehook = register_hook

    def _absent(self, what: str) -> NoReturn:
        raise AbsentError(f"grad_fn.{what} does not exist: tensors of a graph have no tape, whose nodes have that")

    def __getattr__(self, name: str) -> NoReturn:
        """What the nodes of a tape have beside: saved values, variables."""
        self._absent(name)

    def __call__(self, *cotangents: Any) -> NoReturn:
        self._absent("__call__")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GradFn) and other.node is self.node

    def __hash__(self) -> int:
        return hash(self.node)

    def __repr__(self) -> str:
        return f"<{self.name()} of {self.node!r}>"


def flows(node: Node, tracked: Callable[[Node], bool]) -> bool:
    """Whether a value depends smoothly on an operand that is `tracked`."""
    if node.type.dtype.kind not in INEXACT or node.op.vjp is None:
        return False
    return any(tracked(i) and node.op.vjp_for(p) is not None for p, i in enumerate(node.inputs))


TRAINS: weakref.WeakKeyDictionary[Node, bool] = weakref.WeakKeyDictionary()
"""Results of `trains`, kept because nodes never change."""


def has_rank(x: Any) -> bool:
    """Whether the number of axes is known: it is, but for some tensors of a graph that is defined before it runs."""
    return not isinstance(x, Operators) or x._ranked


def trains(node: Node) -> bool:
    """Whether a gradient flows from a value to a trainable variable."""
    stack = [node]
    while stack:
        last = stack[-1]
        missing = [i for i in last.inputs if i not in TRAINS]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if last.op.leaf == "variable":
            TRAINS[last] = last.type.dtype.kind in INEXACT and last.attrs["cell"].trainable
        else:
            TRAINS[last] = flows(last, TRAINS.__getitem__)
    return TRAINS[node]


class Symbol(Operators, OfGraph):
    """A tensor of a graph that has no value yet. Hashable by identity, so it can be a key of a feed.

    It has the eager tensor's attributes and methods. A method that can't mean the same raises an error that gives the
    alternative.
    """

    __slots__ = ()

    _is_tensor = True
    """Whether `isinstance(x, sg.Tensor)` holds."""
    _is_array = False
    """Whether it stands for an array of NumPy."""
    _parameter = False
    """Whether `isinstance(x, nn.Parameter)` holds."""

    def __init__(self, graph: Graph, node: Node):
        self.graph = graph
        self.node = node

    @property
    def _ranked(self) -> bool:
        """See `has_rank`."""
        return not isinstance(self.node.type, UnrankedType)

    @property
    def shape(self) -> Size:  # type: ignore[override]
        return Size(self.node.type.shape)

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return PUBLIC[self.node.type.dtype]

    @property
    def name(self) -> str:  # type: ignore[override]  # found by it, so fixed
        """Unique in its graph, which finds it by that: `session.run(t.name)`."""
        return self.graph.name_of(self.node)

    @property
    def op(self) -> str:
        """The op's name."""
        return self.node.op.name

    @property
    def size(self) -> Count:
        """The number of elements; `x.size()` and `x.size(axis)` are extents. Raises ShapeError where one is unknown."""
        return count_of(self.node.type.shape)

    def numel(self) -> int:
        count = int(self.size) if None in self.shape else math.prod(self.shape)
        return count

    def _count(self) -> int | None:
        return self.node.type.size if self.node.type.static else None

    # the tape ---------------------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """A gradient flows from it to a trainable variable."""
        return trains(self.node)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if bool(requires_grad) != self.requires_grad:
            raise self._refusal(
                "requires_grad",
                "can't be changed: it says whether a trainable variable is behind the value",
                "make it an sg.Variable, or cut the gradient off with x.detach(); sg.gradients takes any floating tensor",
            )
        return self

    @property
    def is_leaf(self) -> bool:
        return self.node.op.leaf == "variable" or not self.requires_grad

    @property
    def grad_fn(self) -> GradFn | None:
        """The operation that it is the result of, for a result that requires grad."""
        return None if self.is_leaf else GradFn(self.node, trains)

    @property
    def grad(self) -> Tensor | None:
        raise self._refusal("grad", *NO_GRADIENT)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        raise self._refusal("grad", *NO_GRADIENT)

    @property
    def data(self) -> Tensor:
        """The same value; no gradient flows through."""
        return self.detach()

    @data.setter
    def data(self, value: TensorLike) -> None:
        raise self._refusal("data", "can't be set: tensors of a graph don't change", CHANGE)

    def detach(self) -> Tensor:
        """The same values; no gradient flows through."""
        return F.stop_gradient(self)

    def detach_(self) -> Tensor:
        raise self._refusal("detach_()", "would change it: tensors of a graph don't change", "write x = x.detach()")

    @property
    def retains_grad(self) -> bool:
        return False

    def retain_grad(self) -> None:
        raise self._refusal("retain_grad()", *NO_GRADIENT)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any:
        raise self._refusal("register_hook()", *NO_GRADIENT)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> Any:
        raise self._refusal("register_post_accumulate_grad_hook()", *NO_GRADIENT)

    @property
    def _version(self) -> int:
        """The number of in-place changes."""
        return 0

    @property
    def is_view(self) -> bool:
        """Shares memory with another tensor in eager mode."""
        return self.node.op.aliases

    def _refusal(self, what: str, why: str, *advice: str) -> GraphError:
        return AbsentError(f"x.{what} of {self.describe()}, which belongs to a graph, {why}", *advice)

    # memory -----------------------------------------------------------------------------------------------------------

    def _layout(self) -> Layout | None:
        """Its memory layout in eager mode; None where extents are unknown."""
        return layout_of(self.node, {})

    def _known_layout(self) -> Layout | None:
        """The same where it is no trouble to find out, else None: tensors like this one lie in that order."""
        return None

    def is_contiguous(self, memory_format: object = None) -> bool:
        """Whether the elements lie in row-major order, or that of a format, in eager mode."""
        if memory_format is not None and order_of(self, memory_format) is not None:
            return lies_in(self, memory_format)
        layout = self._layout()
        return layout is None or layout.is_contiguous

    def contiguous(self, memory_format: object = None) -> Tensor:
        """This tensor when its elements lie in row-major order in eager mode, else a copy in that order."""
        return self if self.is_contiguous(memory_format) else in_format(self, memory_format)

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> Any:
        """Elements from one place along each axis, or along `dim`, to the next, in eager mode."""
        layout = self._layout()
        if layout is None:
            int(count_of(self.node.type.shape))  # raises: extents are unknown
        assert layout is not None
        return layout.strides if dim is None else layout.strides[normalize_axis(dim, len(layout.strides))]

    def view(self, *shape: ShapeLike | DTypeLike, dtype: DTypeLike | None = None) -> Tensor:
        """The same elements in another shape. Raises ShapeError where only a copy could have it (`reshape` copies)."""
        if dtype is not None or (len(shape) == 1 and isinstance(shape[0], (*ANY_DTYPE, type))):
            self._no_value("its bytes", "fetch it, or return it from the compiled function, and write x.view(dtype) outside")
        out = F.reshape(self, *shape)  # type: ignore[arg-type]
        layout = self._layout()
        if layout is not None and out.node.type.static and reshaped(layout, out.shape) is None:
            raise misuse.not_a_view(self.shape, layout.strides)
        return out

    def operand(self) -> Node:
        """The node that an op applied now takes as its input."""
        return self.node

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> np.ndarray:
        """Its value in `session`, the default one when left out; see `Session.run`."""
        return frontends.evaluate(self, feed_dict, session)

    def _met(self) -> Any:
        """What stands for it where it meets tensors."""
        return self

    def describe(self) -> str:
        return f'"{self.name}" {self.node.type}'

    # Python asks for a value ------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        misuse.check_length(self.ndim)
        if self.shape[0] is None:
            self._no_value("its length (the extent is unknown)", "give the placeholder a known extent")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        misuse.check_iterated(self.ndim)
        return (self[i] for i in range(len(self)))

    def _no_value(self, what: str, *advice: str) -> NoReturn:
        raise TraceError(f"{self.describe()} is symbolic: Python can't have {what} before the graph runs", *advice)

    def __contains__(self, value: Any) -> bool:
        self._no_value("its members", "use sg.any(x == value)")

    def __bool__(self) -> bool:
        misuse.check_truth(self._count())
        self._no_value(
            "its truth value",
            "use sg.where(condition, a, b) for values, sg.cond to choose what runs, sg.while_loop to repeat, or decide on "
            "plain Python values",
        )

    def item(self) -> NoReturn:
        misuse.check_item(self._count())
        self._no_value("a number", "fetch it with Session.run, or return it from the compiled function")

    __float__ = __int__ = __complex__ = item

    def __index__(self) -> int:
        misuse.check_index(self.dtype)
        self.item()

    def tolist(self) -> NoReturn:
        self._no_value("a list", "fetch it with Session.run, or return it from the compiled function")

    def numpy(self, *, force: bool = False) -> np.ndarray:
        return self.__array__()

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        self._no_value("an array", "fetch it with Session.run, or return it from the compiled function")

    __dlpack__ = __dlpack_device__ = __array__

    def __format__(self, spec: str) -> str:
        return self._no_value("a number to format", "fetch it with Session.run, and format that") if spec else repr(self)

    def __copy__(self) -> Symbol:
        return self

    def __deepcopy__(self, memo: Any) -> NoReturn:
        self._no_value("a copy of its own", "use x.clone() for a tensor of the same value")

    def __reduce__(self) -> Any:
        """A tensor of a user's graph goes with the graph, as a pickled session does."""
        if not self.graph.lasts:
            self._no_value("what could be saved", "save what Session.run, or the compiled function, gives")
        return super().__reduce__()

    def backward(self, *args: Any, **kwargs: Any) -> None:
        raise TraceError(
            f"{self.describe()} is symbolic: backward() belongs to eager code and to @sg.compile",
            "in a graph, take sg.gradients(loss, variables), or opt.minimize(loss)",
        )

    def __repr__(self) -> str:
        where = self.node.where
        return f"<sg.Symbol {self.name!r} {self.node.type}{' ' + where.short if where else ''}>"
