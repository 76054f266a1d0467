"""State of a graph: variables, assignments and initial values.

A run reads every variable as it was when the run began, and commits all assigns when it ends. `control_dependencies`
orders a read after an assign. Of two assigns to one variable in one run the one made later in the program wins; neither
sees the other unless control dependencies order them. Updates, as `assign_add`, add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..base.types import DTypeLike, category
from ..eager.tensor import Tensor
from ..errors import ArgumentError, DTypeError, GraphError, user_line
from ..ir import NO_ATTRS, REGISTRY, Cell, Node
from ..ops.leaves import fits
from ..ops.operators import F, Symbol, TensorLike, append, control_of, frontends, operand_of
from ..ops.operators import Tensor as AnyTensor
from .dependencies import Operation, control_dependencies, evaluate, group, session_or_default
from .feeds import constant, converted
from .graphs import Graph, get_default_graph

if TYPE_CHECKING:
    from .session import Session


class Variable(Symbol):
    """A tensor whose value lives in a session from run to run; usable wherever a tensor is.

    initial_value: array, number, eager tensor (copied: random numbers too, once for all sessions), or a symbolic tensor, e.g.
    random, which the initializer computes; trainable: optimizers update it; dtype: that of initial_value unless given.
    Raises ArgumentError when the shape of initial_value has unknown extents.

    Examples:
        >>> w = sg.Variable([1.0, 2.0], name="w")
        >>> with sg.Session() as sess:
        ...     sess.run(sg.global_variables_initializer())
        ...     sess.run(w * 10)
        array([10., 20.], dtype=float32)
    """

    __slots__ = ("initializer",)

    _is_tensor = False  # as for `isinstance(variable, tf.Tensor)`: reading it gives a tensor

    initializer: Operation
    """Gives the variable its initial value."""

    def __init__(
        self, initial_value: TensorLike, trainable: bool = True, dtype: DTypeLike | None = None, name: str | None = None
    ):
        with control_dependencies(None):
            if isinstance(initial_value, Symbol):
                initial: Any = initial_value if dtype is None else F.astype(initial_value, dtype)
            else:
                initial = constant(initial_value, dtype)
            self._enter(get_default_graph(), initial, trainable, name if name is not None else "variable")

    def _enter(self, graph: Graph, initial: Symbol, trainable: bool, name: str) -> None:
        """Make the node, the initializer and the entry in the graph."""
        start = operand_of(graph, initial, None)  # raises for a tensor of another graph
        if not start.type.static:
            raise ArgumentError(
                f"initial_value must have a shape specified: {initial.describe()}",
                "a variable's extents are fixed; give known extents to the tensors that its initial value is computed from",
            )
        cell = Cell(name, start.type, initial=start, trainable=trainable)
        super().__init__(graph, append(graph, REGISTRY["variable"], (), {"cell": cell}, name=name).node)
        cell.name = self.node.name
        self.initializer = group(
            append(graph, REGISTRY["assign"], (self.node, start), {}), name=f"{cell.name}/{graph.initializer_name}"
        )
        graph.variable_of[self.node] = self

    def __reduce__(self) -> Any:
        made, kind, (graph, name) = super().__reduce__()
        return made, kind, (graph, name, self.initializer)

    def __setstate__(self, state: Any) -> None:
        *symbol, self.initializer = state
        super().__setstate__(tuple(symbol))

    @property
    def cell(self) -> Cell:
        """The key of its value in a session."""
        return self.node.attrs["cell"]

    @property
    def trainable(self) -> bool:
        """Whether optimizers train it unless they are told what to train."""
        return self.cell.trainable

    @property
    def initial_value(self) -> Symbol:
        """The tensor that the initializer computes."""
        return Symbol(self.graph, self.cell.initial)

    def operand(self) -> Node:
        """The value at the start of the run; under `control_dependencies`, a read after them."""
        return self.read_value().node if control_of(self.graph) else self.node

    def read_value(self) -> Symbol:
        """The value at this point of the order that `control_dependencies` gives, as a tensor of its own."""
        return append(self.graph, REGISTRY["read"], (self.node,), {})

    def value(self) -> Symbol:
        """The value as a plain tensor: the operand of an op that uses the variable here."""
        return Symbol(self.graph, self.operand())

    def assign(self, value: TensorLike) -> Symbol:
        """See `assign`."""
        return assign(self, value)

    def assign_add(self, delta: TensorLike) -> Symbol:
        """See `assign_add`."""
        return assign_add(self, delta)

    def assign_sub(self, delta: TensorLike) -> Symbol:
        """See `assign_sub`."""
        return assign_sub(self, delta)

    def __iadd__(self, other: Any) -> NoReturn:  # type: ignore[misc]
        raise GraphError(
            f'w += value: the variable "{self.name}" is not changed in place',
            "w.assign_add(delta) and w.assign(value) are operations that change it in a run; w = w + value is a new tensor",
        )

    __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = __iadd__
    __iand__ = __ior__ = __ixor__ = __ilshift__ = __irshift__ = __iadd__

    def eval(  # type: ignore[override]  # TensorFlow 1's order
        self, session: Session | None = None, feed_dict: Mapping[Any, Any] | None = None
    ) -> np.ndarray:
        """Its value in `session`, the default one when left out."""
        return evaluate(self, feed_dict, session)

    def load(self, value: TensorLike, session: Session | None = None) -> None:
        """Set its value in `session` (default: the default one) now. Raises FeedError for a wrong shape or dtype."""
        session_or_default(session, "load").load(self, value)

    def __repr__(self) -> str:
        return f"<sg.Variable {self.name!r} {self.node.type}>"


# assignments ---------------------------------------------------------------------------------------------------------


def assign(ref: AnyTensor, value: TensorLike, name: str | None = None) -> Symbol:
    """Give a variable a new value when the run ends; the result is that value.

    ref: a Variable, or an eager tensor that requires grad; value: a tensor, array or number of its shape. Reads in the
    same run see the old value, unless `control_dependencies` orders them after this. Two assigns to one variable in one
    run: the one made later wins. Raises GraphError when `ref` is no variable, ShapeError and DTypeError when the value
    doesn't fit: where an extent is unknown until then, at the run, before anything changes.

    Examples:
        >>> w = sg.Variable(1.0)
        >>> update = sg.assign(w, w * 2)
        >>> with sg.Session() as sess:
        ...     sess.run(sg.global_variables_initializer())
        ...     sess.run([w, update]), sess.run(w)
        ([np.float32(1.0), np.float32(2.0)], np.float32(2.0))
    """
    variable = _variable(ref, value)
    graph, node = variable.graph, variable.node
    operand = operand_of(graph, _plain(value, node), user_line())
    if isinstance(operand, Node) and not operand.type.static and fits(node.type.shape, operand.type.shape):
        operand = append(graph, REGISTRY["fit"], (operand,), {"shape": node.type.shape}).node
    return append(graph, REGISTRY["assign"], (node, operand), {}, name=name if name is not None else "")


def assign_add(ref: AnyTensor, delta: TensorLike, name: str | None = None) -> Symbol:
    """Add to a variable; the result is its new value. Several of these in one run add up. Raises as `assign` does.

    Examples:
        >>> v = sg.Variable(1.0)
        >>> with sg.Session() as sess:
        ...     sess.run(v.initializer)
        ...     sess.run(sg.assign_add(v, 2.0))
        np.float32(3.0)
    """
    return updated(ref, "add", (delta,), name=name)


def assign_sub(ref: AnyTensor, delta: TensorLike, name: str | None = None) -> Symbol:
    """Subtract from a variable; the result is its new value. Several of these in one run add up. Raises as `assign` does."""
    return updated(ref, "sub", (delta,), name=name)


def updated(
    ref: AnyTensor, op: str, operands: Sequence[TensorLike], attrs: Mapping[str, Any] = NO_ATTRS, name: str | None = None
) -> Symbol:
    """Assign `op(ref, *operands)`: of several updates in one run each begins with the result of the one before it."""
    variable = _variable(ref, operands[0])
    delta = _plain(operands[0], variable.node)
    if category(delta.dtype) < category(variable.dtype):
        delta = F.astype(delta, variable.dtype)
    if delta.dtype != variable.dtype:
        raise DTypeError(f"{op}: a {variable.dtype} variable can't be changed by {delta.dtype}", "cast the value first")
    given = [delta, *operands[1:]]
    pairs = tuple(sorted(attrs.items()))
    return append(variable.graph, REGISTRY["update"], (variable.node, *given), {"op": op, "attrs": pairs}, name=name or "")


def _variable(ref: Any, value: Any) -> Variable:
    """The variable that `ref` names. Raises GraphError."""
    graph = ref.graph if isinstance(ref, Symbol) else value.graph if isinstance(value, Symbol) else get_default_graph()
    node = ref.node if isinstance(ref, Symbol) else None
    if isinstance(ref, Tensor) and ref.requires_grad and isinstance(graph, Graph):
        frontends.capture(graph, ref)
        node = graph.standing_for(ref)
    variable = graph.variable_of.get(node) if isinstance(graph, Graph) and node is not None else None
    if variable is None:
        raise GraphError(f"only variables have a value to change, got {ref!r}", "make it one: sg.Variable(initial_value)")
    return variable


def _plain(value: Any, variable: Node) -> Any:
    """Arrays, numbers and lists take the variable's dtype, as in a feed; tensors keep theirs."""
    if isinstance(value, (Symbol, Tensor)):
        return value
    try:
        return converted(value, variable.dtype)
    except DTypeError as error:
        raise DTypeError(f'assign to "{variable.name}": {error.summary}', *error.details) from None


# collections ---------------------------------------------------------------------------------------------------------


class GraphKeys:
    """Names of the collections of a graph, as in TensorFlow 1."""

    GLOBAL_VARIABLES = "variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    UPDATE_OPS = "update_ops"


def get_collection(key: str) -> list[Any]:
    """A collection of the default graph, one of `GraphKeys`. "update_ops" are the assigns of running statistics, which
    `Optimizer.minimize` runs with its step where the loss needs them. Raises ArgumentError for another key."""
    if key == GraphKeys.GLOBAL_VARIABLES:
        return global_variables()
    if key == GraphKeys.TRAINABLE_VARIABLES:
        return trainable_variables()
    if key == GraphKeys.UPDATE_OPS:
        return [update for _, update in get_default_graph().updates]
    raise ArgumentError(f"get_collection: no collection is named {key!r}", "use one of sg.GraphKeys")


def global_variables() -> list[Variable]:
    """All variables of the default graph, captured eager tensors included."""
    return get_default_graph().variables


def trainable_variables() -> list[Variable]:
    """Those variables of the default graph that optimizers update.

    Examples:
        >>> v = sg.Variable(1.0, name="v")
        >>> [v.name for v in sg.trainable_variables()]
        ['v']
    """
    return [v for v in get_default_graph().variables if v.trainable]


def global_variables_initializer() -> Operation:
    """Initializes all variables that the default graph has now.

    Examples:
        >>> v = sg.Variable(1.0)
        >>> with sg.Session() as sess:
        ...     sess.run(sg.global_variables_initializer())
        ...     sess.run(v)
        np.float32(1.0)
    """
    return variables_initializer(global_variables())


def variables_initializer(var_list: Iterable[Variable], name: str | None = None) -> Operation:
    """One operation that initializes the variables.

    An initial value that depends on a variable takes that one's initial value when it is among them, else its value at
    the start of the run.
    """
    given = [var_list] if isinstance(var_list, Variable) else var_list
    variables = {v.node: v for v in (_variable(ref, None) for ref in given)}
    starts: dict[Node, Node] = {}
    updates: list[Any] = []
    with control_dependencies(None):
        for graph in dict.fromkeys(v.graph for v in variables.values()):
            for node in [n for n in graph.nodes if n in variables]:
                variable = variables[node]
                start = starts[node] = _replaced(variable.graph, variable.cell.initial, starts)
                same = start is variable.cell.initial
                updates.append(variable.initializer if same else append(graph, REGISTRY["assign"], (node, start), {}))
        return group(*updates, name=name if name is not None else "init")


def _replaced(graph: Any, target: Node, values: dict[Node, Node]) -> Node:
    """`target` computed with some nodes replaced; nodes that don't depend on them are shared, not copied."""
    moved: dict[Node, Node] = {}
    for node in graph.reaching([target], stop=set(values)):
        inputs = tuple(moved[i] for i in node.inputs)
        if node in values:
            moved[node] = values[node]
        elif inputs != node.inputs:
            moved[node] = graph.add(node.op, inputs, node.attrs, node.type, "", node.where, node.after)
        else:
            moved[node] = node
    return moved[target]
