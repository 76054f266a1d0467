"""Exported programs of PyTorch as modules: their nodes call functions of this library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import staticgrad as sg

from ...base.dtypes import ANY_DTYPE, as_dtype
from ...eager import Tensor
from ...eager.conversion import from_dlpack
from ...errors import ArgumentError, DTypeError, GraphError, ShapeError
from ...nn import GRU, LSTM, RNN, Module
from ...nn import functional as nn_functional
from ...nn.parameter import mark
from ...nn.recurrent import recurrence
from ...ops.operators import F, Symbol

# PyTorch's operators as functions here. Most are found by their name, as functions and methods have PyTorch's; this table has
# those whose name or arguments differ.

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
        if isinstance(value, ANY_DTYPE):
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
                ys, *after = recurrence(kind, size, nonlinearity, end == 1, x, *own[:2], *biases, project, *begin)
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
            return found
    if hasattr(sg.Tensor, name):
        return _method(name)
    raise GraphError(f"from_torch: there is no operator {name}")


def _method(name: str) -> Function:
    return lambda x, *args, **named: getattr(x, name)(*args, **named)


def name_of(target: Any) -> str:
    """The name of an operator without namespace and overload."""
    schema = getattr(target, "_schema", None)
    return str(schema.name).split("::")[-1] if schema is not None else str(getattr(target, "__name__", target))


COUNTER = "num_batches_tracked"
"""The buffers that count batches in training."""


class Ref(NamedTuple):
    """The value of a node."""

    name: str


class Training(NamedTuple):
    """A flag that follows the module's `training`, or a rate that holds while it trains."""

    value: Any


class ProgramNode(NamedTuple):
    """A node: a function and its arguments, in which `Ref` and `Training` stand for values."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    named: dict[str, Any]
    counts: bool
    """Whether it counts batches."""
    target: Any
    """The operator's name, or a function of Python's."""

    def __reduce__(self) -> Any:
        return _step, (self.name, self.target, self.args, self.named, self.counts)


def _step(name: str, target: Any, args: tuple[Any, ...], named: dict[str, Any], counts: bool) -> ProgramNode:
    """A step that was pickled: many functions have no name."""
    return ProgramNode(name, target if callable(target) else function_named(target), args, named, counts, target)


class Input(NamedTuple):
    """An input that the user gives: its extents (None for one that may change) and dtype, None where it is no tensor."""

    name: str
    shape: tuple[Any, ...] | None
    dtype: np.dtype | None


def exported(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any) -> Any:
    """The program of a module. Raises ArgumentError for a module without one."""
    import torch

    if isinstance(module, torch.export.ExportedProgram):
        return module
    if not isinstance(module, torch.nn.Module):
        raise ArgumentError(f"from_torch: expected a torch.nn.Module, got {type(module).__name__}")
    program = torch.export.export(module, args, kwargs or None, dynamic_shapes=dynamic_shapes)
    return program


class TorchModule(Module):
    """A module of PyTorch: its parameters, and its forward pass in functions of this library."""

    def __init__(self, program: Any, trained: bool):
        super().__init__()
        from torch.export.graph_signature import InputKind, OutputKind

        self.training = trained
        self._leaves: list[tuple[str, Module, str]] = []
        self._inputs: list[Input] = []
        self._fixed: dict[str, Any] = {}
        self._shared: dict[int, Tensor] = {}
        counters = set()
        nodes = {node.name: node for node in program.graph.nodes}
        for entry in program.graph_signature.input_specs:
            name = getattr(entry.arg, "name", "")
            if entry.kind in (InputKind.PARAMETER, InputKind.BUFFER):
                source = program.state_dict.get(entry.target)
                source = program.constants[entry.target] if source is None else source
                self._enter(name, entry.target, source, entry.kind is InputKind.PARAMETER, bool(entry.persistent))
                if entry.target.endswith(COUNTER):
                    counters.add(name)
            elif entry.kind is InputKind.USER_INPUT:
                self._inputs.append(_input(name, nodes.get(name)))
            elif entry.kind is InputKind.CONSTANT_TENSOR:
                self._fixed[name] = from_dlpack(program.constants[entry.target].detach())
            else:
                raise GraphError(f"from_torch: an input of kind {entry.kind.name} is not supported")
        self._steps = [
            step for node in program.graph.nodes if node.op == "call_function"
            for step in _steps(node, trained, counters)
        ]  # fmt: skip
        for node in program.graph.nodes:
            if node.op == "get_attr":
                raise GraphError(f"from_torch: the operator that reads {node.target} is not supported")
        (output,) = [node for node in program.graph.nodes if node.op == "output"]
        kinds = [entry.kind for entry in program.graph_signature.output_specs]
        values = [v for v, kind in zip(output.args[0], kinds, strict=True) if kind is OutputKind.USER_OUTPUT]
        if len(values) != len(kinds):
            raise GraphError(
                "from_torch: the program returns changes of its inputs", "export the module without decompositions"
            )
        self._results = [_template(v, False, "") for v in values]
        self._structure, self._names = _structures(program)

    def _enter(self, node: str, target: str, source: Any, parameter: bool, persistent: bool) -> None:
        """Register a parameter or buffer that shares PyTorch's memory, under its name there."""
        place: Module = self
        *path, last = target.split(".")
        for part in path:
            inner = place._modules.get(part)
            if inner is None:
                inner = Module()
                inner.training = self.training
                place.add_module(part, inner)
            place = inner
        tensor = self._shared.get(id(source))
        if tensor is None:
            try:
                tensor = from_dlpack(source.detach())  # type: ignore[assignment]
            except (DTypeError, BufferError, RuntimeError) as error:
                raise DTypeError(f"from_torch: {target} is {source.dtype}", str(error)) from None
            assert tensor is not None
            if parameter:
                mark(tensor).requires_grad_(source.requires_grad)
            self._shared[id(source)] = tensor
        if parameter:
            place.register_parameter(last, tensor)
        else:
            place.register_buffer(last, tensor, persistent=persistent)
        self._leaves.append((node, place, last))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's results. Raises ArgumentError and ShapeError for arguments unlike those it was exported with."""
        given = [leaf for arg in args for leaf in _leaves(arg)]
        for name in self._names:
            if name in kwargs:
                given += _leaves(kwargs[name])
        unknown = sorted(set(kwargs) - set(self._names))
        if unknown or len(given) != len(self._inputs):
            what = f"an unknown argument {unknown[0]!r}" if unknown else f"{len(given)} tensors"
            names = ", ".join(entry.name for entry in self._inputs)
            raise ArgumentError(f"the module takes {len(self._inputs)} tensors, got {what}", names)
        values: dict[str, Any] = dict(self._fixed)
        for node, place, name in self._leaves:
            values[node] = getattr(place, name)
        for entry, value in zip(self._inputs, given, strict=True):
            values[entry.name] = _checked(entry, value)
        for step in self._steps:
            if step.counts and (not self.training or type(values[step.args[0].name]) is Symbol):
                values[step.name] = values[step.args[0].name]
                continue
            named = {key: self._filled(value, values) for key, value in step.named.items()}
            values[step.name] = step.function(*[self._filled(value, values) for value in step.args], **named)
        results = [self._filled(value, values) for value in self._results]
        return _restored(self._structure, results)

    def _filled(self, value: Any, values: Mapping[str, Any]) -> Any:
        """An argument with the values of its references."""
        kind = value.__class__
        if kind is Ref:
            return values[value.name]
        if kind is Training:
            return value.value if self.training else type(value.value)()
        if kind is list:
            return [self._filled(item, values) for item in value]
        if kind is tuple:
            return tuple([self._filled(item, values) for item in value])
        if kind is slice:
            return slice(*(self._filled(part, values) for part in (value.start, value.stop, value.step)))
        return value

    def __repr__(self) -> str:
        return f"TorchModule({', '.join(i.name for i in self._inputs)}; {len(self._steps)} operators)"


def _input(name: str, node: Any) -> Input:
    value = None if node is None else node.meta.get("val")
    if value is None or not hasattr(value, "shape"):
        return Input(name, None, None)
    return Input(name, tuple(n if isinstance(n, int) else None for n in value.shape), as_dtype(str(value.dtype)))


def _checked(entry: Input, value: Any) -> Any:
    if entry.shape is None:
        return value
    x = value if isinstance(value, (Tensor, Symbol)) else Tensor(value)
    have = tuple(x.shape)
    pairs = zip(have, entry.shape, strict=False)
    fits = len(have) == len(entry.shape) and all(b is None or a is None or a == b for a, b in pairs)
    if not fits:
        raise ShapeError(
            f"{entry.name}: the module was exported for {_shape_text(entry.shape)}, got {_shape_text(have)}",
            "name extents that change in dynamic_shapes, as for torch.export",
        )
    return x


def _shape_text(shape: tuple[Any, ...]) -> str:
    return "(" + ", ".join("?" if n is None else str(n) for n in shape) + ")"


def _steps(node: Any, trained: bool, counters: set[str]) -> list[ProgramNode]:
    name = name_of(node.target)
    if name.startswith(SKIPPED):
        return []
    target = node.target if is_python(node.target) else name
    try:
        function = target if callable(target) else function_named(name)
    except GraphError as error:
        raise GraphError(f"from_torch: the operator {node.target} is not supported", *_line(node)) from error
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        args = tuple(_template(v, trained, "") for v in node.args)
        return [
            ProgramNode(node.name, function, args, {k: _template(v, trained, k) for k, v in node.kwargs.items()}, False, target)
        ]
    positional: list[Any] = []
    named: dict[str, Any] = {}
    words = [argument.name for argument in schema.arguments]
    for word, value in zip(words, node.args, strict=False):
        if word in DROPPED and (named or word in ("implicit",)):
            continue
        made = _template(value, trained, word)
        if word == "reduction" or named:  # from here on by name: ours have arguments of older versions before it
            named[word] = made
        else:
            positional.append(made)
    for word, value in node.kwargs.items():
        if word not in DROPPED:
            named[word] = _template(value, trained, word)
    counts = name == "add_" and bool(positional) and positional[0].__class__ is Ref and positional[0].name in counters
    return [ProgramNode(node.name, function, tuple(positional), named, counts, target)]


def _line(node: Any) -> list[str]:
    """The last line of the module's code in a node's stack."""
    return [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines() if line.strip().startswith("File ")][-1:]


def _template(value: Any, trained: bool, word: str) -> Any:
    """An argument of a node with what is PyTorch's replaced."""
    import torch

    if isinstance(value, torch.fx.Node):
        return Ref(value.name)
    if word in FLAGS and isinstance(value, bool):
        return Training(value) if trained and value else value
    if word == "dropout_p" and trained:
        return Training(float(value))
    if word == "reduction" and isinstance(value, int):
        return REDUCTIONS[value]
    if isinstance(value, torch.dtype):
        return as_dtype(str(value))
    if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
        return None
    if isinstance(value, (list, tuple)):
        items = [_template(item, trained, "") for item in value]
        return tuple(items) if type(value) is tuple else items
    if isinstance(value, slice):
        return slice(*(_template(part, trained, "") for part in (value.start, value.stop, value.step)))
    return value


def _structures(program: Any) -> tuple[Any, tuple[str, ...]]:
    """The structure of the results, with numbers in their places, and the names of keyword arguments."""
    from torch.utils import _pytree as pytree

    spec = program.call_spec.out_spec
    structure = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    _, kwargs = pytree.tree_unflatten(list(range(program.call_spec.in_spec.num_leaves)), program.call_spec.in_spec)
    return structure, tuple(kwargs)


def _restored(structure: Any, results: list[Any]) -> Any:
    if isinstance(structure, bool) or not isinstance(structure, (int, list, tuple, dict)):
        return structure
    if isinstance(structure, int):
        return results[structure]
    if isinstance(structure, dict):
        return {key: _restored(value, results) for key, value in structure.items()}
    items = [_restored(item, results) for item in structure]
    return items if isinstance(structure, list) else type(structure)(*items) if hasattr(structure, "_fields") else tuple(items)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    return [value]
