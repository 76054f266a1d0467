"""PyTorch's operators as functions here. Most are found by their name, as functions and methods have PyTorch's; this table has
those whose name or arguments differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import staticgrad as sg

from ...base.types import as_dtype
from ...errors import GraphError
from ...nn import functional as nn_functional
from ...nn.recurrent import GRU, LSTM, RNN, _recurrence
from ...operators import F

T = Any
Function = Callable[..., Any]

DROPPED = frozenset({"device", "layout", "pin_memory", "memory_format", "non_blocking", "copy", "implicit", "requires_grad"})
"""Arguments that say where and how memory lies."""
REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}
FLAGS = frozenset({"train", "training"})
"""Arguments that say whether the module trains."""
SKIPPED = ("_assert", "sym_constrain", "_guards", "lazy_load")
"""Operators that check what was known when the module was exported begin with these words."""

RENAMED = {
    "_unsafe_view": "reshape", "cross_entropy_loss": "cross_entropy", "lift_fresh_copy": "clone",
    "nll_loss2d": "nll_loss", "nll_loss_nd": "nll_loss", "split_with_sizes": "split", "view": "reshape",
    "view_as": "reshape_as",
    "_softmax": "softmax", "_log_softmax": "log_softmax",
}  # fmt: skip


def _slice(x: T, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> T:
    key = [slice(None)] * x.ndim
    key[dim] = slice(start, None if end is None or (isinstance(end, int) and end >= 1 << 62) else end, step)
    return x[tuple(key)]


def _index(x: T, indices: Sequence[Any]) -> T:
    return x[tuple(slice(None) if i is None else i for i in indices)]


def _converted(x: T, dtype: Any = None, **others: Any) -> T:
    return x if dtype is None else F.astype(x, as_dtype(dtype))


def _cast(x: T, *args: Any, **named: Any) -> T:
    """`to` in its overloads: the dtype is the argument that is one, or that of a tensor."""
    for value in (*args, *named.values()):
        if isinstance(value, np.dtype):
            return F.astype(x, value)
        if sg.is_tensor(value):
            return F.astype(x, value.dtype)
    return x


def _convolution(
    x: T, weight: T, bias: T, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int
) -> T:
    axes = weight.ndim - 2
    if transposed:
        function = getattr(nn_functional, f"conv_transpose{axes}d")
        return function(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(nn_functional, f"conv{axes}d")(x, weight, bias, stride, padding, dilation, groups)


def _upsampled(mode: str, corners: bool) -> Function:
    def upsample(x: T, size: Any = None, *rest: Any) -> T:
        align = bool(rest[0]) if corners else None
        factors = rest[1 if corners else 0] if len(rest) > (1 if corners else 0) else None
        size = tuple(size) if isinstance(size, (list, tuple)) else size
        return nn_functional.interpolate(x, size, None if size is not None else factors, mode, align)

    return upsample


def _recurrent(kind: Any, nonlinearity: str = "") -> Function:
    """A recurrent operator: layers, directions and the dropout between layers."""

    def run(
        x: T, first: Any, weights: Sequence[T], has_biases: bool, num_layers: int, dropout: float, train: bool,
        bidirectional: bool, batch_first: bool,
    ) -> tuple[T, ...]:  # fmt: skip
        states = list(first) if isinstance(first, (list, tuple)) else [first]
        ends = 2 if bidirectional else 1
        each = len(weights) // (num_layers * ends)
        x = F.swapaxes(x, 0, 1) if batch_first else x
        last: list[tuple[T, ...]] = []
        for k in range(num_layers):
            if k and train and dropout:
                x = nn_functional.dropout(x, dropout)
            outputs = []
            for end in range(ends):
                own = list(weights[len(last) * each : (len(last) + 1) * each])
                biases = own[2:4] if has_biases else [None, None]
                project = own[-1] if each == 2 + 2 * has_biases + 1 else None
                begin = [state[len(last)] for state in states]
                size = own[1].shape[0] // kind.gates
                ys, *after = _recurrence(kind, size, nonlinearity, end == 1, x, *own[:2], *biases, project, *begin)
                last.append(tuple(after))
                outputs.append(ys)
            x = outputs[0] if ends == 1 else F.concatenate(outputs, -1)
        finals = [F.stack([state[i] for state in last]) for i in range(len(states))]
        return (F.swapaxes(x, 0, 1) if batch_first else x, *finals)

    return run


def _native_layer_norm(x: T, shape: Any, weight: T, bias: T, eps: float) -> tuple[T, T, T]:
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    mean = F.mean(x, axes, True)
    inverse = F.rsqrt(F.mean((x - mean) * (x - mean), axes, True) + eps)
    return nn_functional.layer_norm(x, shape, weight, bias, eps), mean, inverse


def _rsub(x: T, other: T, alpha: Any = 1) -> T:
    return other - (x if alpha == 1 else x * alpha)


def _pooled(axes: int, kind: str) -> Function:
    pool = getattr(nn_functional, f"{kind}_pool{axes}d")
    return lambda x, kernel, stride=(), *rest, **named: pool(x, kernel, stride or None, *rest, **named)


OPERATORS: dict[str, Function] = {
    "_convolution": lambda *args: _convolution(*args[:9]), "_to_copy": _converted, "alias": lambda x: x,
    "contiguous": lambda x: x,
    "convolution": _convolution, "copy_": lambda x, y, *rest: x.copy_(y), "detach_": lambda x: x.detach(),
    "dropout": nn_functional.dropout,
    "dropout_": nn_functional.dropout, "expand": lambda x, size, **other: x.expand(tuple(size)),
    "feature_dropout": lambda x, p, train: nn_functional.dropout2d(x, p, train), "index": _index,
    "linalg_vector_norm": lambda *args, **named: sg.linalg.vector_norm(*args, **named), "lstm": _recurrent(LSTM),
    "gru": _recurrent(GRU), "rnn_tanh": _recurrent(RNN, "tanh"), "rnn_relu": _recurrent(RNN, "relu"),
    "native_layer_norm": _native_layer_norm, "repeat": lambda x, sizes: x.repeat(*sizes), "rsub": _rsub, "slice": _slice,
    "sym_size": lambda x, dim: x.shape[dim], "sym_numel": lambda x: x.numel(), "to": _cast,
    "upsample_bicubic2d": _upsampled("bicubic", True), "upsample_bilinear2d": _upsampled("bilinear", True),
    "upsample_nearest1d": _upsampled("nearest", False), "upsample_nearest2d": _upsampled("nearest", False),
    **{f"{kind}_pool{axes}d": _pooled(axes, kind) for axes in (1, 2, 3) for kind in ("max", "avg")},
}  # fmt: skip
"""By the operator's name without its namespace and overload."""


def is_python(target: Any) -> bool:
    """Whether an operator is a function of Python's, on sizes."""
    return getattr(target, "__module__", "") in ("_operator", "builtins", "math")


def function_named(name: str) -> Function:
    """The function of an operator of PyTorch's. Raises GraphError where there is none."""
    if name in OPERATORS:
        return OPERATORS[name]
    name = RENAMED.get(name, name)
    for space in (sg, nn_functional, F):
        found = getattr(space, name, None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    if hasattr(sg.Tensor, name):
        return _method(name)
    raise GraphError(f"from_torch: there is no operator {name}")


def _method(name: str) -> Function:
    return lambda x, *args, **named: getattr(x, name)(*args, **named)


def name_of(target: Any) -> str:
    """The name of an operator without namespace and overload."""
    schema = getattr(target, "_schema", None)
    return str(schema.name).split("::")[-1] if schema is not None else str(getattr(target, "__name__", target))
