"""Leaves (values from outside) and effects (changes of state)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DTypeError, ShapeError
from ..ir import Effect, Leaf, Literal, OpDef, define
from ..types import TensorType, shape_text, type_of


def _no_eval(*arrays: np.ndarray, **attrs: Any) -> np.ndarray:
    raise AssertionError("a leaf gets its value from outside")


def _given(*types: TensorType, type: TensorType) -> TensorType:
    return type


def _assign_infer(variable: TensorType, value: TensorType) -> TensorType:
    if variable.dtype != value.dtype:
        raise DTypeError(f"assign: a {variable.dtype} variable can't hold {value.dtype}", "cast the value first")
    fits = len(variable.shape) == len(value.shape) and all(
        a == b or a is None or b is None for a, b in zip(variable.shape, value.shape, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"assign: shapes must be equal, variable {shape_text(variable.shape)} and value {shape_text(value.shape)}"
        )
    return variable


constant = define(
    OpDef(
        name="constant",
        infer=lambda value: type_of(value.array),
        eval=lambda value: value.array,
        emit=Leaf("constant"),
        doc="A value known when the graph is built: `attrs['value']` is a Literal.",
    )
)

placeholder = define(
    OpDef(name="placeholder", infer=_given, eval=_no_eval, emit=Leaf("placeholder"), doc="Fed at every run.")
)

variable = define(
    OpDef(
        name="variable",
        infer=lambda cell: cell.type,
        eval=_no_eval,
        emit=Leaf("variable"),
        doc="The value of a variable at the start of a run. `attrs['cell']` identifies its storage.",
    )
)

read = define(
    OpDef(
        name="read",
        infer=lambda variable: variable,
        eval=lambda variable: variable,
        vjp=(lambda g, node, out, variable: g,),
        emit=Effect("read"),
        doc="The value of a variable after the assigns that control dependencies put before it.",
    )
)

assign = define(
    OpDef(
        name="assign",
        infer=_assign_infer,
        eval=lambda variable, value: value,
        emit=Effect("assign"),
        doc="Gives a variable a new value when the run ends; the result is that value.",
    )
)

group = define(
    OpDef(
        name="group",
        infer=lambda *types: TensorType((), np.dtype(np.bool_)),
        eval=lambda *arrays: np.asarray(True),
        emit=Effect("group"),
        doc="Runs its control inputs; has no value of its own.",
    )
)


def constant_of(array: np.ndarray) -> dict[str, Literal]:
    return {"value": Literal(array)}

generator = define(
    OpDef(
        name="generator",
        infer=_given,
        eval=_no_eval,
        emit=Leaf("generator"),
        doc="The random generator's (seed, draw) at the start of a run, int64[2].",
    )
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
    OpDef(
        name="argument",
        infer=lambda source: TensorType((), np.dtype(np.float64)),
        eval=_no_eval,
        emit=Leaf("argument"),
        doc="A hyper-parameter, float64, read from `attrs['source']` at every run: changing it recompiles nothing.",
    )
)


def hyper(owner: dict[str, Any], key: str, graph: Any = None) -> Any:
    """`owner[key]`: the number itself in eager mode, in a graph (or while tracing) a leaf that reads it at each run."""
    from ..operators import append, frontends, state

    if frontends.tracing and state.tracer is not None:
        graph = state.tracer.graph
    if graph is None:
        return owner[key]
    return append(graph, argument, (), {"source": Source(owner, key)})
