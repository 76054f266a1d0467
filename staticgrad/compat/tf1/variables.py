"""Variables of the dialect, and `get_variable` with its scopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core import FLOATING, F, Symbol, static, updated, using
from .errors import OutOfRangeError
from .gathering import _positions
from .graph import MAKERS, Graph, GraphKeys, get_default_graph
from .handles import Handle, Operation
from .tensor import extents_of, is_text, kind_of, operation, symbols, tensor


class Variable(Handle):
    """A tensor whose value lives in a session from run to run.

    initial_value: an array, number, tensor or a function that returns one. collections: names of collections beside the
    trainable variables, "variables" unless given. validate_shape has to be True: a variable has a static shape.
    """

    __slots__ = ("constraint", "save_slice")

    def __init__(
        self, initial_value: Any = None, trainable: bool = True, collections: Any = None, validate_shape: bool = True,
        caching_device: Any = None, name: str | None = None, variable_def: Any = None, dtype: Any = None,
        expected_shape: Any = None, import_scope: str | None = None, constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None, synchronization: Any = None, aggregation: Any = None, shape: Any = None,
    ):  # fmt: skip
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if collections is not None and not isinstance(collections, (list, tuple, set)):
            raise ValueError(
                f"collections argument to Variable constructor must be a list, tuple, or set. Got {collections!r} of type "
                f"{type(collections)}"
            )
        graph = get_default_graph()
        graph.check_open()
        value = initial_value() if callable(initial_value) else initial_value
        with using(graph), static.control_dependencies(None):
            first = tensor(value, dtype)
            made = static.Variable(first, trainable, name=graph._scope + (name or "Variable"))
        if is_text(first):
            graph.texts.add(made.node)
        self._enter(graph, made, trainable, collections, constraint)

    def _enter(self, graph: Graph, made: static.Variable, trainable: bool, collections: Any, constraint: Any) -> None:
        self.graph, self.node, self.constraint = graph, made.node, constraint
        self.save_slice: Any = None
        graph._handles[made.node] = self
        graph._types[made.node] = "VariableV2"
        graph.add_to_collections([GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections), self)
        if trainable:
            graph.add_to_collection(GraphKeys.TRAINABLE_VARIABLES, self)

    def _symbol(self) -> Symbol:
        return self.graph.variable_of[self.node]

    def _get_save_slice_info(self) -> Any:
        """Which part of a partitioned variable it is; None for a whole one."""
        return self.save_slice

    @property
    def trainable(self) -> bool:
        return bool(self.node.attrs["cell"].trainable)

    @property
    def initializer(self) -> Operation:
        return Operation(self.graph, self.graph.variable_of[self.node].initializer.node)

    initial_value = property(lambda self: self.graph.handle(self.node.attrs["cell"].initial))

    def initialized_value(self) -> Any:
        """Its initial value, for the initial values of other variables."""
        return self.initial_value

    def value(self) -> Any:
        return self.read_value()

    def read_value(self) -> Any:
        """The value at this point of the order that `control_dependencies` gives."""
        with using(self.graph):
            made = self.graph.variable_of[self.node].read_value().node
        self.graph.adopt(made, "read", "Identity")
        if self.node in self.graph.texts:
            self.graph.texts.add(made)
        return self.graph.handle(made)

    def begin_with(self, value: Any) -> None:
        """From now on the initializer gives the variable this value."""
        variable = self.graph.variable_of[self.node]
        with using(self.graph), static.control_dependencies(None):
            start = value.symbol if isinstance(value, Handle) else static.constant(value, self.dtype.numpy)
            made = static.assign(variable, start)
            variable.cell.initial = start.node
            variable.initializer = static.group(made, name=f"{self.op.name}/init_from_checkpoint")

    def load(self, value: Any, session: Any = None) -> None:
        """Set its value in `session`, the default one unless given."""
        self.graph.variable_of[self.node].load(value, getattr(session, "_session", session))

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        return assign(self, value, name=name)

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        return assign_add(self, delta, name=name)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        return assign_sub(self, delta, name=name)

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        """Rows at the indices."""
        from .arrays import gather

        return gather(self, indices, name=name)

    def gather_nd(self, indices: Any, name: str | None = None) -> Any:
        """Slices at index vectors, the last axis of `indices`."""
        from .gathering import gather_nd

        return gather_nd(self, indices, name=name)

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    def __repr__(self) -> str:
        return f"<tf.Variable {self.name!r} shape={self.shape} dtype={self.dtype.name}_ref>"


def _existing(graph: Graph, node: Any) -> Variable:
    """The handle of a variable that was made outside of the dialect."""
    made = Variable.__new__(Variable)
    made.graph, made.node, made.constraint, made.save_slice = graph, node, None, None
    return made


MAKERS["variable"] = _existing


# assignments ----------------------------------------------------------------------------------------------------------


def _fitting(ref: Any, value: Any) -> Any:
    if not isinstance(ref, static.Variable):
        raise TypeError(f"only variables can be assigned to, got {ref!r}")
    return tensor(value, kind_of(ref))


@operation("Assign")
def assign(ref: Any, value: Any, validate_shape: bool | None = None, use_locking: bool | None = None) -> Any:
    """Give a variable a new value; the result is that value."""
    return static.assign(ref, _fitting(ref, value))


@operation("AssignAdd")
def assign_add(ref: Any, value: Any, use_locking: bool | None = None) -> Any:
    """Add to a variable; the result is its new value. Several of these in one run add up."""
    return static.assign_add(ref, _fitting(ref, value))


@operation("AssignSub")
def assign_sub(ref: Any, value: Any, use_locking: bool | None = None) -> Any:
    """Subtract from a variable; the result is its new value. Several of these in one run add up."""
    return static.assign_sub(ref, _fitting(ref, value))


# collections and initializers -----------------------------------------------------------------------------------------


def _collection(name: str, key: str) -> Callable[..., list[Any]]:
    def find(scope: str | None = None) -> list[Any]:
        return get_default_graph().get_collection(key, scope)

    find.__name__ = name
    return find


global_variables = _collection("global_variables", GraphKeys.GLOBAL_VARIABLES)
local_variables = _collection("local_variables", GraphKeys.LOCAL_VARIABLES)
model_variables = _collection("model_variables", GraphKeys.MODEL_VARIABLES)
moving_average_variables = _collection("moving_average_variables", GraphKeys.MOVING_AVERAGE_VARIABLES)
trainable_variables = _collection("trainable_variables", GraphKeys.TRAINABLE_VARIABLES)


def variables_initializer(var_list: Any, name: str = "init") -> Operation:
    """One operation that gives the variables their initial values."""
    graph = get_default_graph()
    with using(graph):
        made = static.variables_initializer(symbols(list(var_list)), graph._scope + name)
    return Operation(graph, made.node)


def global_variables_initializer() -> Operation:
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    return variables_initializer(local_variables())


initialize_all_variables = global_variables_initializer
initialize_variables = variables_initializer
all_variables = global_variables


# changes of parts of a variable ---------------------------------------------------------------------------------------


def _rows(ref: Any, indices: Any, updates: Any) -> tuple[Any, Any]:
    """Numbers of slices along the first axis, in one axis, and the new slices along it."""
    ids, values = tensor(indices), tensor(updates, ref.dtype)
    values = F.broadcast_to(values, (*extents_of(ids), *ref.shape[1:]))
    return F.reshape(F.astype(ids, np.int64), (-1,)), F.reshape(values, (-1, *ref.shape[1:]))


@operation("ScatterUpdate")
def scatter_update(ref: Any, indices: Any, updates: Any, use_locking: bool = True) -> Any:
    """New slices along the first axis; of two for one place the later."""
    ids, values = _rows(ref, indices, updates)
    return static.assign(ref, F.index_copy(ref, 0, ids, values))


@operation("ScatterAdd")
def scatter_add(ref: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
    """Add to slices along the first axis; several for one place add up."""
    ids, values = _rows(ref, indices, updates)
    return updated(ref, "index_add", (values, ids))


@operation("ScatterSub")
def scatter_sub(ref: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
    """Subtract from slices along the first axis."""
    ids, values = _rows(ref, indices, updates)
    return updated(ref, "index_add", (F.neg(values), ids))


def _reduced(reduce: str) -> Callable[[Any, Any, Any], Any]:
    return lambda ref, index, values: F.scatter_reduce(ref, 0, index, values, reduce, include_self=True)


def _divided(ref: Any, index: Any, values: Any) -> Any:
    """Quotients by all new slices of a place; of integers towards 0."""
    by = F.scatter_reduce(F.ones_like(ref), 0, index, values, "prod", include_self=True)
    return F.div(ref, by) if ref.dtype.kind in FLOATING else F.div(ref, by, rounding_mode="trunc")


def _combined(name: str, change: Callable[[Any, Any, Any], Any], what: str) -> Callable[..., Any]:
    def call(ref: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
        ids, values = _rows(ref, indices, updates)
        index = F.broadcast_to(F.reshape(ids, (-1, *(1,) * (ref.ndim - 1))), (*extents_of(ids), *ref.shape[1:]))
        return static.assign(ref, change(ref, index, values))

    made = operation(name)(call)
    made.__name__ = "scatter_" + name.removeprefix("Scatter").lower()
    made.__doc__ = f"{what} of slices along the first axis and the new ones."
    return made


scatter_mul = _combined("ScatterMul", _reduced("prod"), "The product")
scatter_div = _combined("ScatterDiv", _divided, "The quotient")
scatter_max = _combined("ScatterMax", _reduced("amax"), "The maximum")
scatter_min = _combined("ScatterMin", _reduced("amin"), "The minimum")


def _by_vectors(ref: Any, indices: Any, updates: Any) -> tuple[Any, Any, Any, tuple[int, ...]]:
    ids, values = tensor(indices), tensor(updates, ref.dtype)
    depth = extents_of(ids)[-1]
    flat = F.reshape(ref, (-1, *ref.shape[depth:]))
    return flat, F.reshape(_positions(ids, ref.shape[:depth]), (-1,)), F.reshape(values, (-1, *ref.shape[depth:])), ref.shape


def _nd(change: str, function: Callable[[Any, Any, Any], Any], doc: str) -> Callable[..., Any]:
    def call(ref: Any, indices: Any, updates: Any, use_locking: bool = change == "Update") -> Any:
        flat, ids, values, shape = _by_vectors(ref, indices, updates)
        return static.assign(ref, F.reshape(function(flat, ids, values), shape))

    call.__name__, call.__doc__ = f"scatter_nd_{change.lower()}", doc
    return operation(f"ScatterNd{change}")(call)


scatter_nd_update = _nd(
    "Update", lambda x, i, v: F.index_copy(x, 0, i, v), "New slices at index vectors, which are the last axis of `indices`."
)
scatter_nd_add = _nd("Add", lambda x, i, v: F.index_add(x, 0, i, v), "Add at index vectors.")
scatter_nd_sub = _nd("Sub", lambda x, i, v: F.index_add(x, 0, i, F.neg(v)), "Subtract at index vectors.")


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Any:
    """The value before it is increased by 1; a run that would go past `limit` raises OutOfRangeError."""
    graph = ref.graph
    with graph.as_default():
        before = ref.read_value()
        step = static.assign_add(ref.symbol, np.ones((), ref.symbol.dtype))

    def check(values: Any) -> None:
        if int(values[0]) >= limit:
            raise OutOfRangeError(f"Reached limit of {limit}")

    action = graph.host_action([ref.symbol], check, name or "CountUpTo")
    with graph.as_default(), static.control_dependencies([action.node, step]):
        old = static.identity(before.symbol)
    return graph.handle(old.node)


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Variable, indices: Any, updates: Any, name: str | None = None) -> Any:
        return function(self, indices, updates, name=name)

    method.__doc__ = function.__doc__
    return method


def _by_slices(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Variable, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return function(self, sparse_delta.indices, sparse_delta.values, name=name)

    method.__doc__ = f"{function.__doc__} sparse_delta: `IndexedSlices`."
    return method


for _function in (scatter_add, scatter_sub, scatter_update, scatter_max, scatter_min, scatter_mul, scatter_div):
    setattr(Variable, _function.__name__, _by_slices(_function))
for _function in (scatter_nd_add, scatter_nd_sub, scatter_nd_update):
    setattr(Variable, _function.__name__, _method(_function))
setattr(Variable, "count_up_to", lambda self, limit: count_up_to(self, limit))  # noqa: B010  (an assignment would not be typed)
