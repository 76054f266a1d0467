"""Questions about the variables of a session, and names of TensorFlow that are accepted or alias others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .arrays import identity
from .control import cond
from .core import ArgumentError, F, TensorType, bool_, float64, static, using
from .errors import FailedPreconditionError
from .graph import get_default_graph, name_scope
from .handles import Handle, Operation
from .summary import Serialized
from .tensor import Operand, operation
from .variables import global_variables, local_variables, local_variables_initializer


def has_value(session: static.Session, variable: Any) -> bool:
    """Whether a variable has a value in a session."""
    return variable.node.attrs["cell"] in session._values.store


def is_variable_initialized(variable: Any) -> Any:
    """Whether the variable has a value in the session of the run."""

    def call(arrays: Sequence[np.ndarray], session: static.Session) -> list[np.ndarray]:
        return [np.asarray(has_value(session, variable))]

    kind = TensorType((), bool_)
    (made,) = variable.graph.host_call([], call, [kind], "IsVariableInitialized", "IsVariableInitialized", with_session=True)
    return made


def report_uninitialized_variables(var_list: Any = None, name: str = "report_uninitialized_variables") -> Any:
    """The names, as bytes, of variables without a value: of all global and local ones unless given."""
    graph = get_default_graph()
    chosen = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    flags = [is_variable_initialized(v) for v in chosen]

    def build(arrays: Sequence[np.ndarray]) -> Any:
        return np.array([v.op.name.encode() for v, has in zip(chosen, arrays, strict=True) if not has], object)

    with using(graph):
        return Serialized(graph, [f.symbol for f in flags], build, name)


def assert_variables_initialized(var_list: Any = None) -> Operation:
    """An operation that raises `tf.errors.FailedPreconditionError` for a variable without a value."""
    chosen = global_variables() if var_list is None else list(var_list)

    def act(arrays: Sequence[np.ndarray], session: static.Session) -> None:
        for v in chosen:
            if not has_value(session, v):
                raise FailedPreconditionError(f"Attempting to use uninitialized value {v.op.name}", where=v.node.where)

    return get_default_graph().host_action([], act, "assert_variables_initialized", with_session=True)


initialize_local_variables = local_variables_initializer


class VariableSynchronization:
    """Accepted: one process has no replicas."""

    AUTO, NONE, ON_WRITE, ON_READ = range(4)


class VariableAggregation:
    """Accepted: one process has no replicas."""

    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = range(4)


@contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Refused: a custom getter of `variable_scope` makes variables in another way."""
    raise NotImplementedError("variable_creator_scope: use the custom_getter of tf.variable_scope instead")
    yield


@contextmanager
def op_scope(values: Any, name: str | None, default_name: str | None = None) -> Iterator[str]:
    """`name_scope` with its arguments in another order."""
    with name_scope(name, default_name, values) as scope:
        yield scope


def switch_case(branch_index: Any, branch_fns: Any, default: Any = None, name: str = "switch_case") -> Any:
    """The result of the function of this number; of `default`, or the last one, for a number that none has."""
    pairs = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    if pairs and callable(pairs[0]):
        pairs = list(enumerate(pairs))
    if not pairs:
        raise ValueError("switch_case: branch_fns has to have an entry")
    if not isinstance(branch_index, Handle):
        raise TypeError(f"branch_index must be a Tensor, got {type(branch_index)}")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in branch_fns must be a 2-tuple")
        if not isinstance(pair[0], int):
            raise TypeError(f"key must be a Python `int`, got {type(pair[0])}")
        if not callable(pair[1]):
            raise TypeError(f"fn for key {pair[0]} must be callable.")
    if sorted(number for number, _ in pairs) != list(range(len(pairs))):
        raise ValueError(
            f"branch indices must form contiguous range of [0 to {len(pairs)}) but found {sorted(n for n, _ in pairs)}"
        )
    pairs.sort(key=lambda pair: pair[0])
    result = pairs.pop()[1] if default is None else default
    for number, fn in reversed(pairs):
        result = _chosen(_is(branch_index, number=number), fn, result, name)
    return result()


@operation("Equal")
def _is(index: Operand, number: int) -> Any:
    return F.eq(index, number)


def _chosen(pred: Any, fn: Callable[[], Any], otherwise: Callable[[], Any], name: str) -> Callable[[], Any]:
    return lambda: cond(pred, fn, otherwise, name=name)


def identity_n(input: Any, name: str | None = None) -> list[Any]:
    """The same values as tensors of their own."""
    return [identity(x, name=name or "IdentityN") for x in input]


guarantee_const = identity


def timestamp(name: str | None = None) -> Any:
    """The seconds since 1970 at the run."""
    import time

    def call(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(time.time())]

    (made,) = get_default_graph().host_call([], call, [TensorType((), float64)], name or "Timestamp", "Timestamp")
    return made


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """x, which has this shape as far as it is known: ValueError where it is known to have another, InvalidArgumentError in
    the run."""
    made: Any = identity(x, name=name or "EnsureShape")
    made.set_shape(shape)
    return made


class CriticalSection:
    """Accepted: runs of a session take turns."""

    def __init__(self, name: str | None = None, shared_name: str | None = None, critical_section_def: Any = None,
                 import_scope: str | None = None):  # fmt: skip
        self.name = name

    def execute(self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None) -> Any:
        return fn()


class DeviceSpec(NamedTuple):
    """Accepted: everything runs on the CPU."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    def to_string(self) -> str:
        parts = [(key, value) for key, value in zip(("job", "replica", "task"), self[:3], strict=True) if value is not None]
        text = "".join(f"/{key}:{value}" for key, value in parts)
        if self.device_type is None:
            return text
        return f"{text}/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}"


def enable_tensor_equality() -> None:
    """Refused: tensors compare by identity, as in TensorFlow 1."""
    raise NotImplementedError("enable_tensor_equality: use tf.equal; tensors compare by identity, as in TensorFlow 1")


VERSION = __version__ = "1.15.0"
"""The version of TensorFlow whose meanings these are."""
GIT_VERSION = COMPILER_VERSION = CXX_VERSION = ""
GRAPH_DEF_VERSION = GRAPH_DEF_VERSION_MIN_CONSUMER = GRAPH_DEF_VERSION_MIN_PRODUCER = 0
CXX11_ABI_FLAG = MONOLITHIC_BUILD = 0

# Switches between TensorFlow's versions, and questions about the state of the library: this dialect is TensorFlow 1.


def _accepted() -> None:
    """Accepted: it is so already."""


disable_eager_execution = disable_v2_behavior = disable_v2_tensorshape = disable_resource_variables = _accepted
disable_tensor_equality = disable_control_flow_v2 = _accepted
enable_resource_variables = enable_control_flow_v2 = _accepted


def _refused(name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> None:
        raise ArgumentError(
            f"{name}: this dialect is TensorFlow 1's graph mode",
            "for eager code use staticgrad itself, which is PyTorch's dialect",
        )

    call.__name__, call.__doc__ = name, "Refused: eager code is staticgrad's own dialect."
    return call


enable_eager_execution, enable_v2_behavior = _refused("enable_eager_execution"), _refused("enable_v2_behavior")


def _no() -> bool:
    return False


executing_eagerly = executing_eagerly_outside_functions = resource_variables_enabled = control_flow_v2_enabled = _no


def is_tensor(x: Any) -> bool:
    return isinstance(x, Handle)


@contextmanager
def init_scope() -> Iterator[None]:
    """Leave control dependencies."""
    with static.control_dependencies(None):
        yield


@contextmanager
def container(container_name: str) -> Iterator[None]:
    """Accepted."""
    yield


@contextmanager
def colocate_with(op: Any, ignore_existing: bool = False) -> Iterator[None]:
    """Accepted: everything runs on the CPU."""
    yield


def dimension_value(dimension: Any) -> int | None:
    """The integer of a dimension; None for an unknown one."""
    return getattr(dimension, "value", dimension)


def dimension_at_index(shape: Any, index: int) -> Any:
    return shape[index]


def no_regularizer(_: Any) -> None:
    """No regularization, for a scope inside of one that has some."""
