"""How an operation finds its mode: the table of public functions, the state of tracing and graph building, and `apply`.

`apply(op, *args, **attrs)` runs now on eager tensors and appends a node for symbols. The eager front end registers
itself here (`frontends`), so that op records can be written above both modes.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ...base.interpreter import module, rlock
from ...base.tables import LateTable
from ...errors import GraphError, Where
from ...ir import Graph, Node, OpDef

if TYPE_CHECKING:
    from .interface import Functions, Tensor

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
        """How many contexts are open in which no `__torch_function__` is asked; see `overrides.py`."""
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
        nonlocal made
        if made is None:
            made = frontends.composite(function)
            call.__wrapped__ = made  # files of calls name a function by its decorators
            made.public.extend(call.public)  # type: ignore[attr-defined]
        return made(*args, **named)

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
    computed; see `cached_calls.py`."""
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
