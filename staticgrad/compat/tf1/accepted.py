"""Names that exist for programs that say them: enumerations, versions, partitioners, and what one machine makes plain."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...operators import F
from ...static.graphs import using
from ...static.inputs import placeholder_of
from ...types import TensorType
from . import arrays, gathering, math
from .control import cond, map_fn, no_op
from .graph import GraphKeys, get_default_graph
from .nn import windows
from .tensor import Handle, operation, pair, tensor
from .variables import local_variables_initializer

VERSION = __version__ = "1.15.0"
"""The version of TensorFlow whose dialect this is."""
GIT_VERSION, COMPILER_VERSION, CXX_VERSION = "staticgrad", "numba", 0
CXX11_ABI_FLAG = MONOLITHIC_BUILD = 0
GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER, GRAPH_DEF_VERSION_MIN_PRODUCER = 134, 0, 0
QUANTIZED_DTYPES: frozenset[Any] = frozenset()


class AggregationMethod:
    """How gradients are added up. Accepted."""

    ADD_N = DEFAULT = 0
    EXPERIMENTAL_TREE, EXPERIMENTAL_ACCUMULATE_N = 1, 2


class UnconnectedGradients(enum.Enum):
    """The gradient of what does not depend on a variable."""

    NONE = "none"
    ZERO = "zero"


class VariableSynchronization(enum.Enum):
    """Accepted: there is one copy of a variable."""

    AUTO, NONE, ON_WRITE, ON_READ = range(4)


class VariableAggregation(enum.Enum):
    """Accepted: there is one copy of a variable."""

    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = range(4)


class DeviceSpec(SimpleNamespace):
    """The parts of a device's name. Accepted by `tf.device`: everything runs on the CPU."""

    def __init__(
        self, job: str | None = None, replica: int | None = None, task: int | None = None, device_type: str | None = None,
        device_index: int | None = None,
    ):  # fmt: skip
        super().__init__(job=job, replica=replica, task=task, device_type=device_type, device_index=device_index)

    def to_string(self) -> str:
        parts = [(f"/{key}:{value}") for key in ("job", "replica", "task") if (value := getattr(self, key)) is not None]
        if self.device_type is not None:
            parts.append(f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}")
        return "".join(parts)


class CriticalSection:
    """Runs functions one after another; the operations of a run never overlap in their effects."""

    def __init__(self, name: str | None = None, shared_name: str | None = None, **accepted: Any):
        self.name = name or shared_name or "CriticalSection"

    def execute(self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None) -> Any:
        return fn()


def _partitioner(doc: str) -> Callable[..., Any]:
    def make(*args: Any, **kwargs: Any) -> Callable[..., list[int]]:
        return lambda shape, dtype=None: [1] * len(shape)

    make.__doc__ = f"{doc} Accepted: a variable is one array."
    return make


fixed_size_partitioner = _partitioner("Variables in so many parts.")
min_max_variable_partitioner = _partitioner("Variables in at most so many parts.")
variable_axis_size_partitioner = _partitioner("Variables in parts of so many bytes.")


def control_flow_v2_enabled() -> bool:
    return False


def get_logger() -> Any:
    """The logger of `tf.logging`."""
    import logging

    return logging.getLogger("tensorflow")


def is_symbolic_tensor(tensor: Any) -> bool:
    return isinstance(tensor, Handle)


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether it is a tensor of numbers, not of booleans."""
    return isinstance(tensor, Handle) and not tensor.dtype.is_bool


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: the compiler decides which values the backward pass computes again."""
    return f


def initialize_local_variables() -> Any:
    """`local_variables_initializer` by its older name."""
    return local_variables_initializer()


def tables_initializer(name: str = "init_all_tables") -> Any:
    """An operation that does nothing: there are no tables."""
    return no_op(name=name)


initialize_all_tables = tables_initializer


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """The variables that an `ExponentialMovingAverage` follows."""
    found: list[Any] = get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)
    return found


def timestamp(name: str | None = None) -> Any:
    """The seconds since 1970 when the run begins, a float64."""
    graph = get_default_graph()
    with using(graph):
        made = placeholder_of(TensorType((), np.dtype(np.float64)), graph._scope + (name or "Timestamp"))
    graph._types[made.node] = "Timestamp"
    graph.sources[made.node] = lambda run: np.asarray(time.time())
    return graph.handle(made.node)


@contextmanager
def op_scope(values: Any, name: str | None, default_name: str | None = None) -> Iterator[str]:
    """`name_scope` by its older name."""
    with get_default_graph().name_scope(default_name if name is None else name) as scope:
        yield scope


# control flow ---------------------------------------------------------------------------------------------------------


def switch_case(branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None, name: str = "switch_case") -> Any:
    """The result of the function of this number, else that of `default`, or of the last."""
    pairs = sorted(branch_fns.items()) if isinstance(branch_fns, dict) else list(branch_fns)
    pairs = [pair if isinstance(pair, tuple) else (number, pair) for number, pair in enumerate(pairs)]
    result = pairs[-1][1] if default is None else default
    for number, fn in reversed(pairs if default is not None else pairs[:-1]):
        result = _chosen(arrays.convert_to_tensor(branch_index), number, fn, result, name)
    return result()


def _chosen(index: Any, number: int, fn: Callable[[], Any], otherwise: Callable[[], Any], name: str) -> Callable[[], Any]:
    return lambda: cond(math.equal(index, number), fn, otherwise, name=name)  # type: ignore[attr-defined]


def vectorized_map(fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """`map_fn`, which is compiled to native loops."""
    return map_fn(fn, elems)


# other names of functions ---------------------------------------------------------------------------------------------


def arg_max(input: Any, dimension: Any, output_type: Any = np.int64, name: str | None = None) -> Any:
    return math.argmax(input, dimension, output_type=output_type, name=name or "ArgMax")


def arg_min(input: Any, dimension: Any, output_type: Any = np.int64, name: str | None = None) -> Any:
    return math.argmin(input, dimension, output_type=output_type, name=name or "ArgMin")


@operation("SelectV2")
def where_v2(condition: Any, x: Any = None, y: Any = None) -> Any:
    """x where the condition holds, else y, all broadcast together; the positions of true elements without x and y."""
    if x is None and y is None:
        return gathering.where_true(condition).symbol
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    x, y = pair(x, y, "SelectV2")
    return F.where(tensor(condition), x, y)


# namespaces -----------------------------------------------------------------------------------------------------------


def _bits(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        return function(*pair(x, y, name))

    return operation(name)(call)


def _invert(x: Any) -> Any:
    return F.bitwise_not(tensor(x))


bitwise = SimpleNamespace(
    bitwise_and=_bits("BitwiseAnd", F.bitwise_and), bitwise_or=_bits("BitwiseOr", F.bitwise_or),
    bitwise_xor=_bits("BitwiseXor", F.bitwise_xor), left_shift=_bits("LeftShift", F.bitwise_left_shift),
    right_shift=_bits("RightShift", F.bitwise_right_shift), invert=operation("Invert")(_invert),
)  # fmt: skip
"""`tf.bitwise`."""
manip = SimpleNamespace(
    batch_to_space_nd=windows.batch_to_space_nd, gather_nd=gathering.gather_nd, reshape=arrays.reshape,
    reverse=arrays.reverse, roll=gathering.roll, scatter_nd=gathering.scatter_nd,
    space_to_batch_nd=windows.space_to_batch_nd, tile=arrays.tile,
)  # fmt: skip
"""`tf.manip`."""
lin_space, reverse_v2 = arrays.linspace, arrays.reverse

PUBLIC = (
    "AggregationMethod", "COMPILER_VERSION", "CXX11_ABI_FLAG", "CXX_VERSION", "CriticalSection", "DeviceSpec", "GIT_VERSION",
    "GRAPH_DEF_VERSION", "GRAPH_DEF_VERSION_MIN_CONSUMER", "GRAPH_DEF_VERSION_MIN_PRODUCER", "MONOLITHIC_BUILD",
    "QUANTIZED_DTYPES", "UnconnectedGradients", "VERSION", "VariableAggregation", "VariableSynchronization", "arg_max",
    "arg_min", "bitwise", "control_flow_v2_enabled", "fixed_size_partitioner", "get_logger", "initialize_all_tables",
    "initialize_local_variables", "is_numeric_tensor", "is_symbolic_tensor", "lin_space", "manip",
    "min_max_variable_partitioner", "moving_average_variables", "op_scope", "recompute_grad", "reverse_v2", "switch_case",
    "tables_initializer", "timestamp", "variable_axis_size_partitioner", "vectorized_map", "where_v2",
)  # fmt: skip
"""Names at the top of the dialect."""
