"""How an operation finds its mode: objects that take it over, the state of tracing and graph building, and `apply`.

`apply(op, *args, **attrs)` runs now on eager tensors and appends a node for symbols. The eager front end registers
itself here (`frontends`), so that op records can be written above both modes.
"""

from __future__ import annotations

import functools
import math
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import EllipsisType, MappingProxyType, NoneType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast, overload

import numpy as np

from ...base.dtypes import CLASSES
from ...base.interpreter import module, rlock
from ...base.tables import LateTable
from ...base.types import Shape, normalize_axis, shape_text
from ...errors import ArgumentTypeError, GraphError, UnknownExtentError, Where
from ...ir import Graph, Node, OpDef

if TYPE_CHECKING:
    from .interface import Functions, Tensor

# `x.size`: a number as in NumPy, a method as in PyTorch ---------------------------------------------------------------

item = tuple.__getitem__


class Size(tuple[Any, ...]):
    """The shape of a tensor, as PyTorch's `torch.Size`: a tuple that knows the number of elements and is printed as PyTorch
    prints it. Slices and sums of it are sizes, too.

    Examples:
        >>> shape = sg.zeros(2, 3).shape
        >>> shape, shape.numel(), shape == (2, 3)
        (torch.Size([2, 3]), 6, True)
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements. Raises UnknownExtentError where an extent is unknown."""
        return math.prod(self) if None not in self else int(count_of(self))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __getitem__(self, index: Any) -> Any:
        found = item(self, index)
        return Size(found) if index.__class__ is slice else found

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


Size.__module__ = "staticgrad"


class Count(int):
    """A number of elements that gives the shape when it is called."""

    extents: Shape

    @overload
    def __call__(self, dim: None = None) -> Size: ...
    @overload
    def __call__(self, dim: int) -> int: ...
    def __call__(self, dim: int | None = None) -> Any:
        return Size(self.extents) if dim is None else self.extents[normalize_axis(dim, len(self.extents))]


class UnknownCount:
    """The same where extents are unknown: the shape has None for those; neither they nor the number can be computed with."""

    def __init__(self, extents: Shape):
        self.extents = extents

    def __call__(self, dim: int | None = None) -> Any:
        if dim is None:
            return Size(self.extents)
        extent = self.extents[normalize_axis(dim, len(self.extents))]
        return self._unknown(f"extent {dim}") if extent is None else extent

    def _unknown(self, what: str = "the number of elements") -> NoReturn:
        raise UnknownExtentError(
            f"{what} of a tensor of shape {shape_text(self.extents)} is unknown until the graph runs",
            "write -1 in reshape, average with mean(), or give the placeholder known extents; x.shape has None there",
        )

    def __index__(self) -> int:
        self._unknown()

    __int__ = __index__
    __hash__ = object.__hash__

    def _refuse(self, other: Any) -> Any:
        self._unknown()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __repr__(self) -> str:
        return f"<size of {shape_text(self.extents)}>"


class SymbolicCount:
    """The same where extents are symbols of a trace. Operators compute with the number of elements, which is a symbol, too."""

    def __init__(self, extents: Shape, count: Any):
        self.extents, self.count = extents, count

    __call__ = Count.__call__

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self.count.unfollowed("NumPy computes with a number of elements")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"a number of elements has no {name}")
        return getattr(self.count, name)

    def __hash__(self) -> int:
        raise self.count.unfollowed("a number of elements is a key")


def _of_count(name: str) -> Any:
    return lambda self, *others: getattr(self.count, name)(*others)


for _name in dir(int):  # Python looks the names of operators up in the class
    if _name.startswith("__") and _name not in (*dir(object), *vars(SymbolicCount)):
        setattr(SymbolicCount, _name, _of_count(_name))
for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__", "__str__", "__format__"):
    setattr(SymbolicCount, _name, _of_count(_name))


def count_of(extents: Shape) -> Count:
    """`x.size` of a tensor of this shape."""
    if None in extents:
        return cast("Count", UnknownCount(extents))  # which refuses to be computed with
    count = 1
    for extent in extents:
        count *= extent
    if type(count) is not int:
        return cast("Count", SymbolicCount(extents, count))
    number = Count(count)
    number.extents = extents
    return number


# the table of public functions, the state of tracing, `apply` ---------------------------------------------------------

__all__ = [
    "apply", "check_change", "composite", "default_graph", "F", "frontends", "intercepted", "lines_of", "NUMPY", "numpy_twin",
    "numpy_twin_of", "public", "public_functions", "SPECIAL", "state",
]  # fmt: skip


Function = TypeVar("Function", bound=Callable[..., Any])

LATE: dict[str, str] = {}
"""Public functions that are not entered yet, and the modules that enter them when they are imported."""


class PublicFunctions(SimpleNamespace):
    """See `F`."""

    def __getattr__(self, name: str) -> Any:
        if name in LATE:
            module(LATE[name])
            if name in vars(self):
                return vars(self)[name]
        raise AttributeError(f"there is no public function {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *LATE})


F: Functions = cast("Functions", PublicFunctions())
"""The public functions by name (`F.sum`, `F.matmul`), filled by `ops/`; the methods below call them."""

NUMPY: dict[Callable[..., Any], Callable[..., Any]] = {}
"""NumPy function -> ours, for `np.exp(tensor)`; filled by `ops/`, see `numpy_twin_of`."""

SPECIAL: LateTable[Callable[..., Any]] = LateTable()
"""The functions of `staticgrad.special` by name, filled by `ops/`."""


def public(fn: Function, name: str = "") -> Function:
    """Enter a function in `F`, under its own name unless another one is given."""
    setattr(F, name or fn.__name__.rstrip("_"), fn)
    return fn


def numpy_twin(*twins: Callable[..., Any]) -> Callable[[Function], Function]:
    """Let NumPy's functions called on tensors reach this one."""

    def enter(fn: Function) -> Function:
        for twin in twins:
            NUMPY[twin] = fn
        return fn

    return enter


def public_functions() -> dict[str, Callable[..., Any]]:
    """All of `F`, by name."""
    for place in {*LATE.values()}:
        module(place)
    return vars(F)


def numpy_twin_of(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Our function for one of NumPy's, if there is one."""
    if function not in NUMPY:
        public_functions()
    return NUMPY.get(function)


class State(threading.local):
    """The trace or graph under construction in this thread."""

    def __init__(self) -> None:
        self.tracer: Any = None
        self.deferral: Any = None
        """What notes the operations of a compiled function that runs in segments; None outside of one."""
        self.graphs: list[Graph] = []
        self.control: list[tuple[Node, ...]] = []
        self.where: Where | None = None
        self.open_numbers = 0
        """How many functions with open numbers are running; see `unknown_numbers.py`."""
        self.inside = 0
        """How many bodies of loops and branches are being built."""
        self.stream: Any = None
        """The random numbers of the eager loop or branch under way; None outside of any."""
        self.untaken = 0
        """The number of open contexts that ask no `__torch_function__`; see `taken`."""
        self.autocast: Any = None
        """The floating dtype of 16 bits in which products are computed; None outside of `autocast`."""
        self.on_meta: Any = None
        """Set where functions that make tensors make them on device meta, see `meta.MetaDefault`."""
        self.devices: list[Any] = []
        """What `on_meta` was around each open context of a device."""
        self.levels: list[Any] = []
        """The function transforms (`vmap`, `jvp`, `grad`) whose functions are running, the innermost last."""


state = State()


def intercepted() -> bool:
    """Whether a tracer, what runs in segments, or `autocast` takes over the operations of this thread."""
    return state.tracer is not None or state.deferral is not None or state.autocast is not None


def composite(function: Function) -> Function:
    """Declare a function of tensors that is made of several ops and has no effects: a call on eager tensors is one operation of
    the front end, see `eager/calls/composites.py`. Rooms above that one take the decorator from there."""
    made: Callable[..., Any] | None = None

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        return (made or decorated())(*args, **named)

    def decorated() -> Callable[..., Any]:
        nonlocal made
        if made is None:
            made = frontends.composite(function)
            call.__wrapped__ = made  # files of calls name a function by its decorators
            made.public.extend(call.public)  # type: ignore[attr-defined]
        return made

    call.decorated = decorated  # type: ignore[attr-defined]
    call.one_node = True  # type: ignore[attr-defined]
    call.public = []  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def no_capture(graph: Graph, tensor: Any) -> Node:
    """Refuse a tensor in a graph of the compiler itself: there are no graphs of users before `static` is imported. Raises
    GraphError."""
    raise GraphError(f"eager tensors can't enter {graph!r}, which was not made by sg.Graph()")


class Frontends:
    """Filled by the layers below this one in the import order."""

    eager: Callable[..., Tensor]
    """eager(op, args, attrs): run an op now; hand it to the tracer, or to the graph of a symbol among `args`."""
    capture: Callable[[Graph, Any], Node] = staticmethod(no_capture)
    """capture(graph, tensor): the node of `graph` that stands for an eager tensor."""
    gradients: Callable[..., Any]
    """gradients(ys, xs, grad_ys): symbolic reverse mode inside one graph; see `autodiff/reverse.py`."""
    backward: Callable[..., None]
    """backward(tensors, gradients, retain_graph, create_graph, inputs) of eager tensors; see `eager/backward.py`."""
    evaluate: Callable[[Any, Any, Any], Any]
    """evaluate(symbol, feed_dict, session): its value in a session, the default one for None."""
    into: Callable[..., Any]
    """into(out, name, function, args, named, warns): the results of a call, written to `out`; see `eager/out_arguments.py`."""
    defer: Callable[..., Any]
    """defer(graph, op, operands, attrs): the symbol of an op over an operand without a known rank; see `ops/deferred.py`."""
    defer_rule: Callable[..., Any]
    """defer_rule(g, node, position, operands): the cotangent of an operand, where the op's rule needs an unknown rank."""
    replay: Callable[..., Any]
    """replay(nodes, leaves, results): the function of arrays that runs a program on a tape; see `eager/tape_graph.py`."""
    kept: Callable[[Graph, Any], Any]
    """kept(graph, tensor): the variable of a static graph that stands for a tensor which is state, not trained."""
    recording: Callable[[], bool]
    """Whether operations in this thread are recorded: not inside `no_grad`."""
    draw: Callable[..., Any]
    """draw(place, op, like, attrs): random numbers inside a `vmap`; see `autodiff/batching.py`."""
    renew: Callable[[Any, Any, Any], None]
    """renew(x, tensor, value): in x's static graph, assign to that variable whenever a train step needs x."""
    composite: Callable[[Any], Callable[..., Any]] = staticmethod(lambda function: function)
    """composite(function): its calls as one operation each; see `composite` above."""
    tensor_class: type = type(None)
    public_class: Any = type(None)
    """The class of the eager tensors that operations make; the other one is its base."""
    make_public: Callable[..., Any]
    """What `sg.Tensor(...)` makes; see `eager/creation.py`."""
    asking: Callable[[], type]
    """The base of users' classes that take over functions; see `eager/subclasses.py`."""
    branded: Callable[[Any, type], Any]
    """branded(tensor, class): the tensor as one of a user's class."""
    around: Callable[[Any], Tensor]
    """around(array): an eager tensor around a new array."""
    methods: Mapping[str, Callable[..., Any]] = MappingProxyType({})
    """The methods of eager tensors that compute the public functions of their names."""
    calls: Any = {}
    """The table of eager calls, by signature; see `eager/calls/call_cache.py`."""
    join: Callable[..., bool] = staticmethod(lambda *given: False)
    """join(values, signature, tensors): see `eager/calls/signature.py`."""
    route: Callable[..., Any]
    """route(function, node, signature, args, named, tensors): of an eager call without an entry in the table, how it is
    computed; see `spelling.py`."""
    node_of: Callable[[Any], Any]
    """node_of(record): the node that users see for a record of the tape; see `eager/function_nodes.py`."""
    derivatives_at: Callable[[Any, tuple[Any, ...]], Any]
    """derivatives_at(node, cotangents): what a call of a node gives; see `eager/backward.py`."""
    saved_values: Callable[[Any], dict[str, Any]]
    """saved_values(record): the saved values of a record by PyTorch's names; see `eager/saved.py`."""
    recorded_rules: Callable[..., Any]
    """recorded_rules(record, positions, g, values): cotangents as one operation; see `eager/calls/composites.py`."""
    tick: Callable[[], int] = staticmethod(lambda: 0)
    """The next time of the tape's clock."""
    called: Callable[[Any, int, tuple[Any, ...], dict[str, Any], Any], None] = staticmethod(lambda *call: None)
    """called(name, start, args, named, result): what a function recorded since `start` is one node, see `node_names.py`."""

    def late(self, place: str, *entries: str) -> None:
        """Let a module of the package fill entries when one of them is first called: it is imported then."""

        def function(entry: str) -> Callable[..., Any]:
            def call(*args: Any, **named: Any) -> Any:
                module(f"staticgrad.{place}")
                return getattr(self, entry)(*args, **named)

            return call

        for entry in entries:
            setattr(self, entry, function(entry))

    tracing = 0
    """The number of interceptors; 0 keeps eager operations on their short paths."""


frontends = Frontends()


def check_change(holder: Any, what: str) -> None:
    """Raises TraceError inside of a trace, unless that has made `holder`: what this package's own code changes there is not
    observed, so runs would not repeat it. holder: None for state of the process."""
    if frontends.tracing and state.tracer is not None:
        state.tracer.check_change(holder, what)


def apply(op: OpDef, *args: Any, **attrs: Any) -> Tensor:
    """Apply an op in the mode of its arguments: tensors, symbols, arrays and numbers."""
    return frontends.eager(op, args, attrs)


def default_graph() -> Graph:
    """The graph of the innermost `as_default`, else the process-wide default graph."""
    return state.graphs[-1] if state.graphs else GLOBAL_GRAPH


GLOBAL_GRAPH = Graph()


class lines_of:
    """Nodes that are built in this context have `where` as their source line: a gradient names the line of its forward op."""

    __slots__ = ("saved", "where")

    def __init__(self, where: Where | None):
        self.where = where

    def __enter__(self) -> None:
        self.saved = state.where
        if self.where is not None:
            state.where = self.where

    def __exit__(self, *error: object) -> None:
        state.where = self.saved


# objects that take over eager operations -----------------------------------------------------------------------------

# A tracer, a run in segments, or the marks of eager random numbers.

_count = rlock()  # a garbage collection may end an interceptor anywhere
"""Held while `frontends.tracing` is changed."""
_active: weakref.WeakSet[Any] = weakref.WeakSet()
"""Those that `frontends.tracing` counts. One that a signal handler left here is collected with its trace."""


def begin(interceptor: Any) -> None:
    """From now on the short paths of eager operations ask who takes over, until `end`."""
    with _count:
        _active.add(interceptor)
        frontends.tracing = len(_active)


def end(interceptor: Any) -> None:
    """The counterpart of `begin`."""
    with _count:
        _active.discard(interceptor)
        frontends.tracing = len(_active)


# `__torch_function__`: objects that take over the calls of functions on them, as in PyTorch ---------------------------

# A public function looks at the classes of its arguments; where one is not `ORDINARY`, `taken` asks the argument. Calls
# that take a cached path have ordinary arguments only, so they don't look.

ORDINARY: set[type] = {int, float, bool, complex, str, NoneType, slice, EllipsisType, Size, type, np.ndarray}
ORDINARY |= CLASSES
"""Classes of arguments that take over nothing. The modes add their tensors."""
SEQUENCES = frozenset({list, tuple})
"""Classes of arguments whose items are looked at, too."""
NOBODY = object()
"""Of calls that nobody takes over."""


def disabled_torch_function(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes that take over nothing."""
    return func(*args, **(kwargs or {}))


def takes_over(kind: type) -> bool:
    """Whether objects of a class take over the functions that are called on them."""
    return kind not in ORDINARY and getattr(kind, "__torch_function__", disabled_torch_function) is not disabled_torch_function


class untaken:
    """A context in which nobody takes over: what the functions themselves do."""

    __slots__ = ()

    def __enter__(self) -> None:
        state.untaken += 1

    def __exit__(self, *error: object) -> None:
        state.untaken -= 1


def taking(values: Iterable[Any]) -> list[Any]:
    """The first argument of each class that takes over; those of subclasses come before those of their bases."""
    found: list[Any] = []
    for value in values:
        if value.__class__ in ORDINARY:
            continue
        for x in value if value.__class__ in SEQUENCES else (value,):
            kind = x.__class__
            if not takes_over(kind) or any(other.__class__ is kind for other in found):
                continue
            at = next((i for i, other in enumerate(found) if issubclass(kind, other.__class__)), len(found))
            found.insert(at, x)
    return found


def taken(function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """What the arguments make of a call of a public function; NOBODY where none takes it over."""
    if state.untaken:
        return NOBODY
    found = taking((*args, *named.values()))
    return answered(outermost().get(function, function), found, args, named) if found else NOBODY


def answered(public: Callable[..., Any], found: Sequence[Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """What the first of these arguments that answers makes of a call. Raises TypeError where all decline."""
    kinds = tuple([x.__class__ for x in found])
    for x in found:
        result = x.__torch_function__(public, kinds, args, dict(named))
        if result is not NotImplemented:
            return result
    raise ArgumentTypeError(
        f"no implementation found for '{public.__name__}' on types that implement __torch_function__: {[*kinds]}",
        "one of them has to return something other than NotImplemented",
    )


@functools.cache
def outermost() -> Mapping[Any, Callable[..., Any]]:
    """The public functions of tensors by the functions inside that ask."""
    found = {}
    for public in (*SPECIAL.values(), *public_functions().values()):
        inner: Any = public
        while inner is not None:
            found[inner] = public
            inner = getattr(inner, "__wrapped__", None)
    return found
