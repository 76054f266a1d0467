"""Variables of the dialect, and `get_variable` with its scopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import static
from ...operators import Symbol
from ...static.graphs import using
from .graph import MAKERS, Graph, GraphKeys, get_default_graph
from .handles import MOVED, Handle, Operation
from .tensor import operation, symbols, tensor


class Variable(Handle):
    """A tensor whose value lives in a session from run to run.

    initial_value: an array, number, tensor or a function that returns one. collections: names of collections beside the
    trainable variables, "variables" unless given. validate_shape has to be True: a variable has a static shape.
    """

    __slots__ = ("constraint",)

    def __init__(
        self, initial_value: Any = None, trainable: bool = True, collections: Any = None, validate_shape: bool = True,
        caching_device: Any = None, name: str | None = None, variable_def: Any = None, dtype: Any = None,
        expected_shape: Any = None, import_scope: str | None = None, constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None, synchronization: Any = None, aggregation: Any = None, shape: Any = None,
    ):  # fmt: skip
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        graph = get_default_graph()
        graph.check_open()
        value = initial_value() if callable(initial_value) else initial_value
        with using(graph), static.control_dependencies(None):
            made = static.Variable(tensor(value, dtype), trainable, name=graph._scope + (name or "Variable"))
        self._enter(graph, made, trainable, collections, constraint)

    def _enter(self, graph: Graph, made: static.Variable, trainable: bool, collections: Any, constraint: Any) -> None:
        self.graph, self.node, self.constraint = graph, made.node, constraint
        graph._handles[made.node] = self
        graph._types[made.node] = "VariableV2"
        graph.add_to_collections([GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections), self)
        if trainable:
            graph.add_to_collection(GraphKeys.TRAINABLE_VARIABLES, self)

    @property
    def symbol(self) -> Symbol:
        if MOVED.levels:
            found = MOVED.find(self.graph, self.node)
            if found is not None:
                return found
        return self.graph.variable_of[self.node]

    @property
    def trainable(self) -> bool:
        return bool(self.node.attrs["cell"].trainable)

    @property
    def initializer(self) -> Operation:
        return Operation(self.graph, self.graph.variable_of[self.node].initializer.node)

    @property
    def initial_value(self) -> Any:
        return self.graph.handle(self.node.attrs["cell"].initial)

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
        return self.graph.handle(made)

    def begin_with(self, value: np.ndarray) -> None:
        """From now on the initializer gives the variable this value."""
        variable = self.graph.variable_of[self.node]
        with using(self.graph), static.control_dependencies(None):
            start = static.constant(value, self.dtype.numpy)
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
    made.graph, made.node, made.constraint = graph, node, None
    return made


MAKERS["variable"] = _existing


# assignments ----------------------------------------------------------------------------------------------------------


def _fitting(ref: Any, value: Any) -> Any:
    if not isinstance(ref, static.Variable):
        raise TypeError(f"only variables can be assigned to, got {ref!r}")
    return tensor(value, ref.dtype)


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


def global_variables(scope: str | None = None) -> list[Any]:
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Any]:
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


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
