"""Leaves (values from outside) and effects (changes of state)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.types import Shape, TensorType, shape_text, type_of
from ..errors import DTypeError, ShapeError
from ..ir import REGISTRY, Attribute, Cell, Effect, Leaf, Literal, View, define
from . import rules as at


def _no_eval(*arrays: np.ndarray, **attrs: Any) -> np.ndarray:
    raise AssertionError("a leaf gets its value from outside")


def _given(*types: TensorType, type: TensorType) -> TensorType:
    return type


def _assign_infer(variable: TensorType, value: TensorType) -> TensorType:
    if variable.dtype != value.dtype:
        raise DTypeError(f"assign: a {variable.dtype} variable can't hold {value.dtype}", "cast the value first")
    if not fits(variable.shape, value.shape):
        raise ShapeError(_unequal(variable.shape, value.shape))
    return variable


def fits(a: Shape, b: Shape) -> bool:
    """The shapes are equal as far as their extents are known."""
    return len(a) == len(b) and all(m == n or m is None or n is None for m, n in zip(a, b, strict=True))


def _unequal(variable: Shape, value: Shape) -> str:
    return f"assign: shapes must be equal, variable {shape_text(variable)} and value {shape_text(value)}"


constant = define(
    name="constant",
    attrs={"value": at.literal},
    infer=lambda value: type_of(value.array),
    eval=lambda value: value.array,
    emit=Leaf("constant"),
    doc="A value known when the graph is built: `attrs['value']` is a Literal.",
)

placeholder = define(
    name="placeholder",
    attrs={"type": at.tensor_type},
    infer=_given,
    eval=_no_eval,
    emit=Leaf("placeholder"),
    doc="Fed at every run.",
)

shape = define(
    name="shape",
    attrs={"type": at.tensor_type},
    infer=_given,
    eval=lambda type: np.broadcast_to(np.zeros((), type.dtype), type.shape),
    emit=Leaf("shape"),
    doc="Stands for an operand of which only the shape is read.",
)

variable = define(
    name="variable",
    attrs={"cell": Attribute("a variable", lambda value, types: isinstance(value, Cell))},
    infer=lambda cell: cell.type,
    eval=_no_eval,
    emit=Leaf("variable"),
    doc="The value of a variable at the start of a run. `attrs['cell']` identifies its storage.",
)

read = define(
    name="read",
    infer=lambda variable: variable,
    eval=lambda variable: variable,
    vjp=(lambda g, node, out, variable: g,),
    emit=Effect("read"),
    doc="The value of a variable after the assigns that control dependencies put before it.",
)

assign = define(
    name="assign",
    infer=_assign_infer,
    eval=lambda variable, value: value,
    emit=Effect("assign"),
    doc="Gives a variable a new value when the run ends; the result is that value.",
)


def _updated(op: str, attrs: tuple[tuple[str, Any], ...], *types: TensorType) -> TensorType:
    return _assign_infer(types[0], REGISTRY[op].infer(*types, **dict(attrs)))


update = define(
    name="update",
    attrs={
        "op": Attribute("the name of an op", lambda value, types: value in REGISTRY),
        "attrs": Attribute("pairs of names and values", lambda value, types: isinstance(value, tuple)),
    },
    infer=lambda *types, op, attrs: _updated(op, attrs, *types),
    eval=lambda *arrays, op, attrs: REGISTRY[op].eval(*arrays, **dict(attrs)),
    emit=Effect("assign"),
    doc="Assigns `op(variable, *operands)`, where the variable has the value that earlier assigns of the graph gave it.",
)


def _fit_infer(x: TensorType, shape: Shape) -> TensorType:
    if not fits(x.shape, shape):
        raise ShapeError(_unequal(shape, x.shape))
    return x.with_shape(shape)


def _fit_eval(x: np.ndarray, shape: Shape) -> np.ndarray:
    _fit_infer(type_of(x), shape)
    return x


fit = define(
    name="fit",
    attrs={"shape": at.open_shape},
    infer=_fit_infer,
    eval=_fit_eval,
    emit=View(lambda node, at: at, keeps_order=True),
    doc="A value to assign whose extents are known at run time only: they have to be `attrs['shape']`.",
)

group = define(
    name="group",
    infer=lambda *types: TensorType((), np.dtype(np.bool_)),
    eval=lambda *arrays: np.asarray(True),
    emit=Effect("group"),
    doc="Runs its control inputs; has no value of its own.",
)


def constant_of(array: np.ndarray) -> dict[str, Literal]:
    return {"value": Literal(array)}


generator = define(
    name="generator",
    attrs={"type": at.tensor_type},
    infer=_given,
    eval=_no_eval,
    emit=Leaf("generator"),
    doc="The random generator's (seed, draw) at the start of a run, int64[2].",
)


class Source:
    """Where a run-time argument is read at each run: `owner[key]`, a plain number. Compared by owner and key."""

    __slots__ = ("key", "owner")

    def __init__(self, owner: dict[str, Any], key: str):
        self.owner, self.key = owner, key

    def get(self) -> Any:
        return self.owner[self.key]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Source) and self.owner is other.owner and self.key == other.key

    def __hash__(self) -> int:
        return hash((id(self.owner), self.key))

    def __repr__(self) -> str:
        return self.key


argument = define(
    name="argument",
    attrs={"source": Attribute("a hyper-parameter", lambda value, types: isinstance(value, Source))},
    infer=lambda source: TensorType((), np.dtype(np.float64)),
    eval=_no_eval,
    emit=Leaf("argument"),
    doc="A hyper-parameter, float64, read from `attrs['source']` at every run: changing it recompiles nothing.",
)


def hyper(owner: dict[str, Any], key: str, graph: Any = None) -> Any:
    """`owner[key]`: the number itself in eager mode, in a graph (or while tracing) a leaf that reads it at each run."""
    from .operators import append, frontends, state

    if frontends.tracing and state.tracer is not None:
        graph = state.tracer.graph
    if graph is None:
        return owner[key]
    return append(graph, argument, (), {"source": Source(owner, key)})
