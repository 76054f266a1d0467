"""From the arguments of an operation to a node: checked, promoted, in the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import DERIVED, SUPPORTED, as_dtype
from ..base.types import (
    TensorType,
    UnrankedType,
    bool_,
    check_unmasked,
    complex128,
    float64,
    int64,
    is_scalar,
    scalar_dtype,
    shape_text,
    type_of,
)
from ..errors import DTypeError, GraphError, ShapeError, StaticgradError, UnknownExtentError, Where, user_line
from ..ir import REGISTRY, Graph, Node, OpDef, literal, over
from .dispatch import frontends, state
from .sizes import Size
from .symbols import Symbol
from .unknown_numbers import Expression, closed


def append(graph: Graph, op: OpDef, args: Sequence[Any], attrs: dict[str, Any], *, name: str = "") -> Symbol:
    """Append `op(*args)` to a graph and return its symbol. Nothing is appended when a check fails."""
    where = state.where if state.where is not None else user_line()
    operands = [operand_of(graph, arg, where) for arg in args]
    for value in attrs.values():
        if value.__class__ is Size:
            attrs = plain(attrs)
            break
    if state.open_numbers:
        attrs = closed(attrs)
    try:
        targets = promotion(op, operands)
        nodes = tuple([
            as_node(graph, operand, dtype, where) for operand, dtype in zip(operands, targets, strict=True)
        ])  # fmt: skip
        types = [node.type for node in nodes]
        for kind in types:
            if kind.dtype in DERIVED:
                op = over(op, kind.dtype)
        result = op.infer(*types, **attrs)
        result.check_size()
        if result.dtype in DERIVED:
            op = over(op, result.dtype)
    except UnknownExtentError as error:
        if any(isinstance(o, Node) and isinstance(o.type, UnrankedType) for o in operands):
            found: Symbol = frontends.defer(graph, op, operands, attrs)
            return found
        raise located(error, op, operands, where) from None
    except StaticgradError as error:
        raise located(error, op, operands, where) from None
    after = control_of(graph) if op.leaf in ("", "constant") else ()
    node = graph.append(Node(op, nodes, attrs, result, graph.claim_name(name) if name else "", where, after))
    return Symbol(graph, node)


def plain(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes with tuples in the place of sizes: those of a graph are printed and compared as what they are."""
    return {name: tuple(value) if value.__class__ is Size else value for name, value in attrs.items()}


def control_of(graph: Graph) -> tuple[Node, ...]:
    """The control inputs of a node appended now; `control_dependencies` orders the nodes of its own graph only."""
    return tuple(node for node in state.control[-1] if node in graph) if state.control else ()


def promotion(op: OpDef, operands: Sequence[Any]) -> Sequence[np.dtype | None]:
    """The dtype that each operand is cast to (None: kept)."""
    types = [
        operand.type if isinstance(operand, Node) else type_of(operand) if isinstance(operand, np.ndarray) else operand
        for operand in operands
    ]
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
        if node not in graph.pred:  # it was withdrawn
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


def listed(tensors: Any) -> list[Any]:
    """Several tensors, in any iterable, or one, as a list."""
    if tensors.__class__ is list or tensors.__class__ is tuple:
        return list(tensors)
    if isinstance(tensors, Symbol):  # which may have no shape yet
        return [tensors]
    several = not hasattr(tensors, "shape") and not hasattr(tensors, "__array__") and isinstance(tensors, Iterable)
    return list(tensors) if several else [tensors]


WIDE = (float64, complex128)
"""The dtypes that NumPy takes for Python's numbers, where tensors have the default ones."""


def as_array(value: Any) -> np.ndarray:
    """An array of a supported dtype; Python floats become the default float. Raises DTypeError."""
    if value.__class__ is np.ndarray and value.dtype in SUPPORTED:
        return value
    if state.open_numbers:
        value = closed(value)
    check_unmasked(value)
    if isinstance(value, np.ndarray):
        array = value
    else:
        try:
            array = np.asarray(value)
        except ValueError:
            raise ShapeError(
                f"can't make a tensor of {type(value).__name__}: rows have different lengths: {_clip(value)}"
            ) from None
        if array.dtype in WIDE and not hasattr(value, "__array__") and _weak(value):
            array = array.astype(scalar_dtype(array.dtype.type(0)))
    if array.dtype == object or array.dtype.kind not in "biufcV":
        text = f"can't make a tensor of {type(value).__name__} with dtype {array.dtype}: {_clip(value)}"
        raise DTypeError(text, "make numbers of it first, as with np.asarray(values, float)")
    dtype = as_dtype(array.dtype)
    return array if array.dtype == dtype else array.astype(dtype)


def _weak(value: Any) -> bool:
    """Whether nothing in a list, or a list of lists, is of a wide dtype itself: Python's numbers are of the default ones."""
    if isinstance(value, (list, tuple)):
        return NUMBERS.issuperset(map(type, value)) or all(map(_weak, value))
    dtype = getattr(value, "dtype", None)
    return dtype is None or dtype not in WIDE


NUMBERS = frozenset({int, float, bool, complex})


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
    if type(operand) is Expression:
        node = operand.source.node(operand, graph, dtype)
        if node is not None:
            return node
        operand = operand.needed()
    if operand.__class__ is int and type(operand) is not int:  # an extent that is a symbol of a trace
        kind, number = TensorType((operand,), bool_), int64 if dtype is None else dtype
        shape = graph.add(REGISTRY["shape"], (), {"type": kind}, kind, "", where)
        return graph.add(REGISTRY["count"], (shape,), {"axis": (0,), "dtype": number}, TensorType((), number), "", where)
    try:
        array = np.asarray(operand, dtype=dtype)
    except OverflowError:
        raise DTypeError(f"the number {operand!r} is out of range for {dtype}", where=where) from None
    return graph.add(REGISTRY["constant"], (), literal(array), type_of(array), "", where)


def located(error: StaticgradError, op: OpDef, operands: Sequence[Any], where: Where | None) -> StaticgradError:
    """The same error, with the op's name, the user's line and where each operand comes from."""
    shapes = [_shape(o) for o in operands]
    summary = error.summary
    if not summary.startswith(op.name) and getattr(op.emit, "check", None) is None:  # a check says the same in a plan
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
