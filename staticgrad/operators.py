"""How an operation finds its mode: symbols, dispatch, and the Python operators that every tensor has.

`apply(op, *args, **attrs)` runs now on eager tensors and appends a node for symbols. The eager front end registers
itself here (`frontends`), so that op records can be written above both modes.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from .errors import ArgumentError, DTypeError, GraphError, ShapeError, StaticgradError, TraceError, Where, user_line
from .ir import REGISTRY, Graph, Node, OpDef, literal
from .types import TensorType, as_dtype, is_scalar, scalar_dtype, shape_text, type_of

F = SimpleNamespace()
"""The public functions by name (`F.sum`, `F.matmul`), filled by `ops/`; the methods below call them."""

NUMPY: dict[Callable[..., Any], Callable[..., Any]] = {}
"""NumPy function -> ours, for `np.exp(tensor)`; filled by `ops/`."""


def public(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a function in `F`."""
    setattr(F, fn.__name__.rstrip("_"), fn)
    return fn


def numpy_twin(*twins: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let NumPy's functions called on tensors reach this one."""

    def enter(fn: Callable[..., Any]) -> Callable[..., Any]:
        for twin in twins:
            NUMPY[twin] = fn
        return fn

    return enter


class State(threading.local):
    """What is being built in this thread."""

    def __init__(self) -> None:
        self.tracer: Any = None
        self.graphs: list[Graph] = []
        self.control: list[tuple[Node, ...]] = []
        self.where: Where | None = None
        self.stream: Any = None
        """The random numbers of the eager loop or branch under way; None outside of any."""


state = State()


class Frontends:
    """Filled by the layers below this one in the import order."""

    eager: Callable[..., Any]
    """eager(op, args, attrs): run an op now; hand it to the tracer, or to the graph of a symbol among `args`."""
    capture: Callable[[Graph, Any], Node]
    """capture(graph, tensor): the node of `graph` that stands for an eager tensor."""
    gradients: Callable[..., Any]
    """gradients(ys, xs, grad_ys): symbolic reverse mode inside one graph; see `compiler/grad.py`."""
    evaluate: Callable[[Any, Any, Any], Any]
    """evaluate(symbol, feed_dict, session): its value in a session, the default one for None."""
    kept: Callable[[Graph, Any], Any]
    """kept(graph, tensor): the variable of a static graph that stands for a tensor which is state, not trained."""
    renew: Callable[[Any, Any, Any], None]
    """renew(x, tensor, value): in x's static graph, assign to that variable whenever a train step needs x."""
    tensor_class: type = type(None)
    tracing = 0
    """Number of threads that trace; 0 keeps eager dispatch on its short path."""


frontends = Frontends()


def apply(op: OpDef, *args: Any, **attrs: Any) -> Any:
    """Apply an op in the mode of its arguments: tensors, symbols, arrays and numbers."""
    return frontends.eager(op, args, attrs)


def default_graph() -> Graph:
    """The graph of the innermost `as_default`, else the process-wide default graph."""
    return state.graphs[-1] if state.graphs else GLOBAL_GRAPH


GLOBAL_GRAPH = Graph()


@contextmanager
def lines_of(where: Where | None) -> Iterator[None]:
    """Nodes built in this context lead home to `where`: gradients name the line of their forward op."""
    saved, state.where = state.where, where if where is not None else state.where
    try:
        yield
    finally:
        state.where = saved


# symbols --------------------------------------------------------------------------------------------------------


def append(graph: Graph, op: OpDef, args: Sequence[Any], attrs: dict[str, Any], *, name: str = "") -> Any:
    """Append `op(*args)` to a graph and return its symbol. Nothing is appended when a check fails."""
    where = state.where if state.where is not None else user_line()
    operands = [operand_of(graph, arg, where) for arg in args]
    try:
        targets = promotion(op, operands)
        nodes = tuple(
            as_node(graph, operand, dtype, where) for operand, dtype in zip(operands, targets, strict=True)
        )
        result = op.infer(*(node.type for node in nodes), **attrs)
    except StaticgradError as error:
        raise located(error, op, operands, where) from None
    after = control_of(graph) if op.leaf in ("", "constant") else ()
    node = graph.add(op, nodes, attrs, result, graph.unique_name(name) if name else "", where, after)
    return Symbol(graph, node)


def control_of(graph: Graph) -> tuple[Node, ...]:
    """What has to run before a node appended now; `control_dependencies` orders the nodes of its own graph only."""
    return tuple(node for node in state.control[-1] if node in graph) if state.control else ()


def promotion(op: OpDef, operands: Sequence[Any]) -> Sequence[np.dtype | None]:
    """The dtype that each operand is cast to (None: kept)."""
    types = [operand.type if isinstance(operand, Node) else
             type_of(operand) if isinstance(operand, np.ndarray) else operand for operand in operands]
    if op.promote is not None:
        return op.promote(types)
    return [None if isinstance(t, TensorType) else scalar_dtype(t) for t in types]


def operand_of(graph: Graph, arg: Any, where: Where | None) -> Any:
    """A node, an ndarray or a plain number. Raises GraphError for a symbol of another graph."""
    if isinstance(arg, Symbol):
        if arg.graph is not graph:
            raise GraphError(
                f"tensors of different graphs can't be mixed: {arg.describe()} belongs to another graph",
                "build both inside the same `with graph.as_default():`",
                where=where,
            )
        node = arg.operand()
        if graph.withdrawn and node in graph.withdrawn:
            raise GraphError(
                f"{arg.describe()} is a value inside the body of a loop or branch: it does not exist outside of it",
                "return it from the body",
                where=where,
            )
        return node
    if isinstance(arg, Node):
        return arg
    if isinstance(arg, frontends.tensor_class):
        return frontends.capture(graph, arg)
    if is_scalar(arg):
        return arg
    return as_array(arg)


def as_array(value: Any) -> np.ndarray:
    """An array of a supported dtype; Python floats become the default float. Raises DTypeError."""
    if isinstance(value, np.ndarray):
        array = value
    else:
        try:
            array = np.asarray(value)
        except ValueError:
            raise ShapeError(
                f"can't make a tensor of {type(value).__name__}: rows have different lengths: {_clip(value)}"
            ) from None
        if array.dtype == np.float64 and not hasattr(value, "__array__"):
            array = array.astype(scalar_dtype(0.0))
    if array.dtype == object or array.dtype.kind not in "biuf":
        raise DTypeError(f"can't make a tensor of {type(value).__name__} with dtype {array.dtype}: {_clip(value)}")
    dtype = as_dtype(array.dtype)
    return array if array.dtype == dtype else array.astype(dtype)


def _clip(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def as_node(graph: Graph, operand: Any, dtype: np.dtype | None, where: Where | None) -> Node:
    """The operand as a node of `graph`, cast to `dtype`."""
    if isinstance(operand, Node):
        if dtype is None or operand.type.dtype == dtype:
            return operand
        cast = REGISTRY["cast"]
        return graph.add(cast, (operand,), {"dtype": dtype}, operand.type.with_dtype(dtype), "", where)
    try:
        array = np.asarray(operand, dtype=dtype)
    except OverflowError:
        raise DTypeError(f"the number {operand!r} is out of range for {dtype}", where=where) from None
    return graph.add(REGISTRY["constant"], (), literal(array), type_of(array), "", where)


def located(error: StaticgradError, op: OpDef, operands: Sequence[Any], where: Where | None) -> StaticgradError:
    """The same error, with the op's name, the user's line and where each operand comes from."""
    shapes = [_shape(o) for o in operands]
    summary = error.summary
    if not summary.startswith(op.name):
        summary = f"{op.name}: {summary}"
    details = []
    for position, (operand, shape) in enumerate(zip(operands, shapes, strict=True)):
        if isinstance(operand, Node):
            label = f'{operand.op.leaf} "{operand.name}"' if operand.name else operand.op.name
            source = f"  from {operand.where.short}" if operand.where else ""
            details.append(f"operand {position}: {shape} {operand.type.dtype}, {label}{source}")
        elif shape is not None:
            details.append(f"operand {position}: {shape} {getattr(operand, 'dtype', '')}".rstrip())
    return type(error)(summary, *details, *error.details, where=where)


def _shape(operand: Any) -> str | None:
    shape = operand.type.shape if isinstance(operand, Node) else getattr(operand, "shape", None)
    return None if shape is None or is_scalar(operand) else shape_text(shape)


class Operators:
    """Python's operators and the methods of tensors. Subclasses have `shape` and `dtype`."""

    __slots__ = ()
    __array_priority__ = 1000

    shape: tuple[Any, ...]
    dtype: np.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def T(self) -> Any:
        """Axes reversed."""
        return F.permute(self)

    @property
    def mT(self) -> Any:
        """The last two axes swapped."""
        return F.swapaxes(self, -1, -2)

    def t(self) -> Any:
        """The transpose of a matrix; a vector as it is. Raises ShapeError for more axes."""
        if self.ndim > 2:
            raise ShapeError(
                f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D", "use x.mT or x.permute"
            )
        return self.T

    def where(self, condition: Any, other: Any) -> Any:
        """self where the condition holds, else `other`."""
        return F.where(condition, self, other)

    def dim(self) -> int:
        return self.ndim

    # arithmetic
    def __add__(self, other): return F.add(self, other)
    def __radd__(self, other): return F.add(other, self)
    def __sub__(self, other): return F.sub(self, other)
    def __rsub__(self, other): return F.sub(other, self)
    def __mul__(self, other): return F.mul(self, other)
    def __rmul__(self, other): return F.mul(other, self)
    def __truediv__(self, other): return F.div(self, other)
    def __rtruediv__(self, other): return F.div(other, self)
    def __floordiv__(self, other): return F.floor_divide(self, other)
    def __rfloordiv__(self, other): return F.floor_divide(other, self)
    def __mod__(self, other): return F.remainder(self, other)
    def __rmod__(self, other): return F.remainder(other, self)
    def __pow__(self, other): return F.pow(self, other)
    def __rpow__(self, other): return F.pow(other, self)
    def __matmul__(self, other): return F.matmul(self, other)
    def __rmatmul__(self, other): return F.matmul(other, self)
    def __neg__(self): return F.neg(self)
    def __pos__(self): return self
    def __abs__(self): return F.abs(self)

    # comparisons; elementwise, as in NumPy and PyTorch
    def __eq__(self, other): return F.eq(self, other)
    def __ne__(self, other): return F.ne(self, other)
    def __lt__(self, other): return F.lt(self, other)
    def __le__(self, other): return F.le(self, other)
    def __gt__(self, other): return F.gt(self, other)
    def __ge__(self, other): return F.ge(self, other)
    __hash__ = object.__hash__

    # logic, on booleans
    def __and__(self, other): return F.logical_and(_boolean(self, "&"), _boolean(other, "&"))
    def __rand__(self, other): return F.logical_and(_boolean(other, "&"), _boolean(self, "&"))
    def __or__(self, other): return F.logical_or(_boolean(self, "|"), _boolean(other, "|"))
    def __ror__(self, other): return F.logical_or(_boolean(other, "|"), _boolean(self, "|"))
    def __xor__(self, other): return F.logical_xor(_boolean(self, "^"), _boolean(other, "^"))
    def __invert__(self): return F.logical_not(_boolean(self, "~"))

    def __getitem__(self, index: Any) -> Any:
        return F.getitem(self, index)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        twin = NUMPY.get(ufunc)
        if method != "__call__" or twin is None or kwargs:
            what = f"numpy.{ufunc.__name__}" + (f".{method}" if method != "__call__" else "")
            raise DTypeError(
                f"{what} can't be differentiated here" + (f" with {', '.join(kwargs)}" if kwargs else ""),
                "use the function of the same name in staticgrad, or x.detach().numpy() for the plain array",
            )
        return twin(*inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        twin = NUMPY.get(function)
        if function in WRITERS:
            return function(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})
        if twin is None:
            raise DTypeError(
                f"numpy.{function.__name__} can't be differentiated here",
                "use the function of the same name in staticgrad, or x.detach().numpy() for the plain array",
            )
        return twin(*args, **kwargs)


WRITERS = frozenset({np.save, np.savez, np.savez_compressed, np.savetxt})
"""NumPy's functions that write arrays to files: tensors are written as their values, with or without a tape."""


def _plain(value: Any) -> Any:
    if not isinstance(value, Operators):
        return value
    detach = getattr(value, "detach", None)  # of a tensor; a symbol has no values to write, and says so
    return np.asarray(value if detach is None else detach())


def _boolean(value: Any, sign: str) -> Any:
    dtype = getattr(value, "dtype", None)
    if dtype != np.bool_ and not isinstance(value, (bool, np.bool_)):
        raise DTypeError(f"{sign} is for booleans, got {dtype or type(value).__name__}", "write (x > 0) & (y > 0)")
    return value


METHODS = (
    "add", "sub", "mul", "div", "pow", "neg", "abs", "sign", "sqrt", "square", "exp", "log", "log1p", "expm1",
    "sin", "cos", "tanh", "sigmoid", "relu", "erf", "maximum", "minimum", "clip", "clamp", "sum", "mean", "max",
    "min", "argmax", "argmin", "var", "std", "logsumexp", "softmax", "log_softmax", "matmul", "permute",
    "transpose", "swapaxes", "reshape", "flatten", "expand_dims", "unsqueeze", "squeeze", "broadcast_to",
    "split", "take", "take_along_axis", "astype", "isnan", "isfinite", "floor", "ceil", "round", "eq", "ne",
    "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "dot", "reciprocal", "rsqrt", "cumsum",
    "all", "any", "outer", "expand", "masked_fill", "norm", "flip",
)  # fmt: skip
"""The public functions that are methods of every tensor too."""

OTHER_NAMES = {"mm": "matmul", "bmm": "matmul", "divide": "div", "multiply": "mul", "absolute": "abs"}
"""PyTorch's further names of them."""

TORCH_WORDS = {"dim": "axis", "keepdim": "keepdims"}
"""PyTorch's names of arguments, which methods take where its result is the same (`max(dim)` gives a pair there, and
`var` divides by n - 1)."""

WITH_TORCH_WORDS = (
    "sum", "mean", "argmax", "argmin", "all", "any", "logsumexp", "softmax", "log_softmax", "cumsum", "squeeze",
    "unsqueeze", "norm",
)  # fmt: skip


def bind_methods() -> None:
    """Make them methods; `ops/` calls this when `F` is filled."""
    for name in METHODS:
        setattr(Operators, name, getattr(F, name))
    for name, meaning in OTHER_NAMES.items():
        setattr(Operators, name, getattr(F, meaning))
    for name in WITH_TORCH_WORDS:
        setattr(Operators, name, with_torch_words(getattr(F, name)))


def with_torch_words(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a method that takes PyTorch's names of arguments too."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **named: Any) -> Any:
        if named:
            named = {TORCH_WORDS.get(name, name): value for name, value in named.items()}
        return function(self, *args, **named)

    return method


class Symbol(Operators):
    """A tensor of a graph that has no value yet. Hashable by identity, so it can be a key of a feed."""

    __slots__ = ("__weakref__", "graph", "node")

    def __init__(self, graph: Graph, node: Node):
        self.graph = graph
        self.node = node

    @property
    def shape(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self.node.type.shape

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.node.type.dtype

    @property
    def type(self) -> TensorType:
        return self.node.type

    @property
    def name(self) -> str:
        return self.node.name or self.node.op.name

    @property
    def op(self) -> str:
        """The op's name."""
        return self.node.op.name

    @property
    def size(self) -> int:
        return self.node.type.size

    def numel(self) -> int:
        return self.size

    def operand(self) -> Node:
        """The node that an op applied now takes as its input."""
        return self.node

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value in `session`, the default one when left out; see `Session.run`."""
        return frontends.evaluate(self, feed_dict, session)

    def describe(self) -> str:
        return f'"{self.name}" {self.node.type}'

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("len() of a 0-d tensor")
        if self.shape[0] is None:
            self._no_value("its length (the extent is unknown)", "give the placeholder a known extent")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def _no_value(self, what: str, *advice: str) -> Any:
        raise TraceError(f"{self.describe()} is symbolic: Python can't have {what} before the graph runs", *advice)

    def __bool__(self) -> bool:
        return self._no_value(
            "its truth value",
            "use sg.where(condition, a, b) for values, sg.cond to choose what runs, sg.while_loop to repeat, or decide on "
            "plain Python values",
        )

    def __float__(self) -> float:
        return self._no_value("a number", "fetch it with Session.run, or return it from the compiled function")

    __int__ = __index__ = item = numpy = tolist = __float__

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return self._no_value("an array", "fetch it with Session.run, or return it from the compiled function")

    def backward(self, *args: Any, **kwargs: Any) -> None:
        raise TraceError(
            f"{self.describe()} is symbolic: backward() belongs to eager code and to @sg.compile",
            "in a graph, take sg.gradients(loss, variables), or opt.minimize(loss)",
        )

    def __repr__(self) -> str:
        where = self.node.where
        return f"<sg.Symbol {self.name!r} {self.node.type}{' ' + where.short if where else ''}>"


def check_attr(condition: bool, message: str, *details: str) -> None:
    if not condition:
        raise ArgumentError(message, *details)
