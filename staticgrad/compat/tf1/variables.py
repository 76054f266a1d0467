"""Variables of the dialect, and `get_variable` with its scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ... import static
from ...operators import Symbol
from ...static.graphs import using
from .dtypes import DType, as_dtype, float32
from .graph import MAKERS, Graph, GraphKeys, get_default_graph
from .shapes import TensorShape, extents
from .tensor import Handle, Operation, operation, symbols, tensor


class Variable(Handle):
    """A tensor whose value lives in a session from run to run.

    initial_value: an array, number, tensor or a function that returns one. collections: names of collections beside the
    trainable variables, "variables" unless given. validate_shape has to be True: a variable has a static shape.
    """

    __slots__ = ("constraint",)

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool = True,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ):
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
            return self.graph.handle(self.graph.variable_of[self.node].read_value().node)

    def load(self, value: Any, session: Any = None) -> None:
        """Set its value in `session`, the default one unless given."""
        self.graph.variable_of[self.node].load(value, getattr(session, "_session", session))

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        return assign(self, value, name=name)

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        return assign_add(self, delta, name=name)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        return assign_sub(self, delta, name=name)

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


# get_variable ---------------------------------------------------------------------------------------------------------

AUTO_REUSE = "AUTO_REUSE"


class VariableScope:
    """The prefix of names of `get_variable`, whether variables are made or found again, and defaults."""

    def __init__(
        self, name: str, reuse: Any = False, initializer: Any = None, regularizer: Any = None, dtype: Any = float32,
        constraint: Any = None,
    ):  # fmt: skip
        self.name, self.reuse, self.initializer, self.regularizer = name, reuse, initializer, regularizer
        self.dtype, self.constraint = dtype, constraint
        self.original_name_scope = f"{name}/" if name else ""

    def reuse_variables(self) -> None:
        """From now on variables of this scope are found again, not made."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        self.regularizer = regularizer

    def get_collection(self, name: Any) -> list[Any]:
        return get_default_graph().get_collection(name, f"{self.name}/" if self.name else None)

    def trainable_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)


def get_variable_scope() -> VariableScope:
    graph = get_default_graph()
    scope = getattr(graph, "variable_scope", None)
    if scope is None:
        scope = graph.variable_scope = VariableScope("")  # type: ignore[attr-defined]
    return scope


@contextmanager
def variable_scope(
    name_or_scope: Any,
    default_name: str | None = None,
    values: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: Any = None,
    constraint: Any = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Prefix the names of `get_variable` and of operations. reuse: True finds variables again, AUTO_REUSE makes those that
    do not exist. Scopes inherit reuse, initializer, regularizer and dtype.

    Raises ValueError for neither a name nor a default name; NotImplementedError for a custom getter.
    """
    if custom_getter is not None:
        raise NotImplementedError("variable_scope: custom_getter is not supported; wrap get_variable in a function instead")
    graph, outer = get_default_graph(), get_variable_scope()
    if name_or_scope is None:
        if default_name is None:
            raise ValueError("If default_name is None then name_or_scope is required")
        base = f"{outer.name}/{default_name}" if outer.name else default_name
        used = graph.variable_store.setdefault("/scopes", set())
        name, count = base, 0
        while name in used:
            count += 1
            name = f"{base}_{count}"
        last = name.rsplit("/", 1)[-1]
    elif isinstance(name_or_scope, VariableScope):
        name, last = name_or_scope.name, name_or_scope.name.rsplit("/", 1)[-1]
    else:
        last = name_or_scope
        name = f"{outer.name}/{last}" if outer.name else last
    source = name_or_scope if isinstance(name_or_scope, VariableScope) else outer
    graph.variable_store.setdefault("/scopes", set()).add(name)
    made = VariableScope(
        name,
        source.reuse if reuse is None else reuse,
        source.initializer if initializer is None else initializer,
        source.regularizer if regularizer is None else regularizer,
        source.dtype if dtype is None else as_dtype(dtype),
        source.constraint if constraint is None else constraint,
    )
    if outer.reuse is True:
        made.reuse = True
    graph.variable_scope = made  # type: ignore[attr-defined]
    try:
        with graph.name_scope(last if auxiliary_name_scope else graph._scope or None) as prefix:
            made.original_name_scope = prefix
            yield made
    finally:
        graph.variable_scope = outer  # type: ignore[attr-defined]


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Callable[[Any], Any] | None = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Variable:
    """The variable of this name in the current `variable_scope`: made, or found again where the scope reuses variables.

    Raises ValueError for a variable that exists already (or, reusing, does not), or of another shape or dtype.
    """
    from .initializers import glorot_uniform_initializer, zeros_initializer

    graph, scope = get_default_graph(), get_variable_scope()
    full = f"{scope.name}/{name}" if scope.name else name
    known: Variable | None = graph.variable_store.get(full)
    if known is not None:
        if not scope.reuse:
            raise ValueError(
                f"Variable {full} already exists, disallowed. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        if shape is not None and not TensorShape(shape).is_compatible_with(known.shape):
            raise ValueError(
                f"Trying to share variable {full}, but specified shape {TensorShape(shape)} and found shape {known.shape}."
            )
        if dtype is not None and as_dtype(dtype) != known.dtype:
            raise ValueError(
                f"Trying to share variable {full}, but specified dtype {as_dtype(dtype).name} and found dtype "
                f"{known.dtype.name}."
            )
        return known
    if scope.reuse is True:
        raise ValueError(
            f"Variable {full} does not exist, or was not created with tf.get_variable(). Did you mean to set "
            "reuse=tf.AUTO_REUSE in VarScope?"
        )
    initializer = scope.initializer if initializer is None else initializer
    regularizer = scope.regularizer if regularizer is None else regularizer
    wanted = scope.dtype if dtype is None else as_dtype(dtype)
    if initializer is None:
        initializer = glorot_uniform_initializer() if as_dtype(wanted).is_floating else zeros_initializer()
    with graph.name_scope(None):
        initial = _initial(initializer, shape, wanted, full, dtype)
        made = Variable(
            initial, trainable is None or trainable, collections, name=full,
            constraint=scope.constraint if constraint is None else constraint,
        )  # fmt: skip
        graph.variable_store[full] = made
        if regularizer is not None:
            with graph.name_scope(f"{full}/Regularizer/"):
                loss = regularizer(made)
            if loss is not None:
                graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return made


def _initial(initializer: Any, shape: Any, wanted: DType, full: str, dtype: Any) -> Any:
    if isinstance(initializer, type):
        initializer = initializer()
    if callable(initializer):
        if shape is None:
            raise ValueError(f"Shape of a new variable ({full}) must be fully defined, but instead was <unknown>.")
        known = extents(shape)
        if None in known:
            raise ValueError(f"Shape of a new variable ({full}) must be fully defined, but instead was {TensorShape(shape)}.")
        return initializer(list(known), dtype=wanted)
    if shape is not None:
        raise ValueError("If initializer is a constant, do not specify shape.")
    if isinstance(initializer, Handle):
        return initializer
    return np.asarray(initializer, wanted.numpy) if dtype is not None else initializer


__all__ = [
    "AUTO_REUSE", "Variable", "VariableScope", "all_variables", "assign", "assign_add", "assign_sub", "get_variable",
    "get_variable_scope", "global_variables", "global_variables_initializer", "initialize_all_variables",
    "initialize_variables", "local_variables", "local_variables_initializer", "model_variables", "trainable_variables",
    "variable_scope", "variables_initializer",
]  # fmt: skip
