"""What TensorFlow's operations refuse when a graph is built: dtypes and numbers of axes, by the operation's type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .core import Symbol, has_rank
from .dtypes import DType, string


class Rule(NamedTuple):
    """TensorFlow's name of an operand, the dtypes that it may have, and the least and the largest number of axes."""

    parameter: str
    dtypes: str
    """Names, with blanks between them; "" for all."""
    least: int = 0
    most: int | None = None


FLOATS = "bfloat16, float16, float32, float64"
INTEGERS = "uint8, uint16, uint32, uint64, int8, int16, int32, int64"
NUMBERS = f"{FLOATS}, {INTEGERS}"
IDS = "int32, int64"


OPERANDS: dict[tuple[str, str, int], str] = {
    (
        "x",
        FLOATS,
        0,
    ): "Exp Expm1 Log Log1p Sqrt Rsqrt Sin Cos Tanh Sigmoid Sinh Cosh Erf Erfc Erfinv Lgamma Digamma IsNan IsInf "
    "IsFinite LogSigmoid BesselI0",
    ("features", FLOATS, 0): "Softplus Elu Selu Softsign",
    ("logits", FLOATS, 1): "Softmax LogSoftmax",
    ("x", NUMBERS, 0): "AddV2 Sub Mul Maximum Minimum Pow FloorMod FloorDiv Less LessEqual Greater GreaterEqual Neg Abs Square "
    "Sign Reciprocal",
    ("input", NUMBERS, 0): "Sum Mean Max Min Prod",
}
"""(the first operand's name, its dtypes, its least number of axes) -> types of operations."""


def _rules() -> dict[str, Mapping[int, Rule]]:
    made: dict[str, Mapping[int, Rule]] = {type_: {0: Rule(*row)} for row, types in OPERANDS.items() for type_ in types.split()}
    made |= {
        "LogicalAnd": {0: Rule("x", "bool"), 1: Rule("y", "bool")}, "LogicalOr": {0: Rule("x", "bool"), 1: Rule("y", "bool")},
        "LogicalNot": {0: Rule("x", "bool")}, "All": {0: Rule("input", "bool")}, "Any": {0: Rule("input", "bool")},
        "L2Loss": {0: Rule("t", FLOATS)}, "OneHot": {0: Rule("indices", "uint8, int8, int32, int64")},
        "TopKV2": {0: Rule("input", NUMBERS, 1)}, "LRN": {0: Rule("input", FLOATS, 4, 4)}, "Unique": {0: Rule("x", "", 1, 1)},
        "SparseSoftmaxCrossEntropyWithLogits": {0: Rule("labels", IDS), 1: Rule("logits", FLOATS)},
        "Cholesky": {0: Rule("input", FLOATS, 2)}, "MatrixInverse": {0: Rule("input", FLOATS, 2)},
    }  # fmt: skip
    for name in ("Sum", "Mean", "Prod", "Max", "Min"):
        made[f"Segment{name}"] = {0: Rule("data", NUMBERS, 1), 1: Rule("segment_ids", IDS, 1, 1)}
        made[f"UnsortedSegment{name}"] = {1: Rule("segment_ids", IDS)}
    for name in ("Max", "Min"):
        made[f"Scatter{name}"] = {0: Rule("ref", "float16, bfloat16, float32, float64, int32, int64")}
    return made


RULES = _rules()
"""By the operation's type: the rules of its operands, by their numbers. They hold where a function's parameters have
TensorFlow's names; other functions of a type are made of several operations."""
BOOLEANS = ("LogicalAnd", "LogicalOr", "LogicalNot", "All", "Any")
"""Types whose dtype is no attribute: TensorFlow words their errors in another way."""


def check(type_: str, rule: Rule, x: Any, kind_of: Callable[[Symbol], DType]) -> None:
    """Raises TypeError for a dtype and ValueError for a number of axes that an operation does not take."""
    if not isinstance(x, Symbol):
        return
    dtype = kind_of(x)
    if rule.dtypes and dtype.name not in rule.dtypes.split(", ") and dtype is not string:
        if type_ in BOOLEANS:
            raise TypeError(
                f"Input '{rule.parameter}' of '{type_}' Op has type {dtype.name} that does not match expected type of bool."
            )
        raise TypeError(
            f"Value passed to parameter '{rule.parameter}' has DataType {dtype.name} not in list of allowed values: "
            f"{rule.dtypes}"
        )
    if (rule.least or rule.most is not None) and has_rank(x):
        if rule.most == rule.least != x.ndim:
            raise ValueError(f"Shape must be rank {rule.least} but is rank {x.ndim} for '{type_}'")
        if x.ndim < rule.least:
            raise ValueError(f"Shape must be at least rank {rule.least} but is rank {x.ndim} for '{type_}'")
