"""PyTorch's names of derivatives, for functions that are made of several operations or share the record of another one.

In eager mode a call of such a function is one node of the tape to users, as it is in PyTorch: `loss.grad_fn` is
`MseLossBackward0`, and its `next_functions` are those of the call's operands. Functions that are not here are made of several
nodes in PyTorch, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.dtypes import DERIVED, SUPPORTED, as_dtype
from ...base.types import (
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
from ...errors import DTypeError, GraphError, ShapeError, StaticgradError, UnknownExtentError, Where, user_line
from ...ir import REGISTRY, Graph, Node, OpDef, literal, node_name, over
from .dispatch import Size, frontends, state
from .symbols import Symbol
from .unknown_numbers import Expression, closed


class NodeName(NamedTuple):
    """name: the node's, or a function of the call's arguments and its result, "" for none; order: the places of the operands as
    PyTorch has them among the arguments, and then what else the call reads; kept: an op inside of the call that is a node of
    its own, and the name of that node."""

    name: str | Callable[[tuple[Any, ...], Mapping[str, Any], Any], str]
    order: tuple[int, ...] = ()
    kept: tuple[str, str] = ("", "")


OWN = """
    rsqrt reciprocal trunc frac logit sinc deg2rad rad2deg angle logaddexp logaddexp2 xlogy fmax fmin ldexp polar
    elu celu gelu silu mish softplus hardtanh hardsigmoid hardswish hardshrink softshrink leaky_relu glu threshold
    amax amin aminmax frexp var std var_mean std_mean nansum mode kthvalue bmm mv dot addmm addmv addr addbmm baddbmm
    t repeat stack unbind index_select masked_fill triu tril trace flip roll rot90 sort topk masked_select
    scatter scatter_reduce lerp addcmul addcdiv cdist pdist pixel_shuffle pixel_unshuffle channel_shuffle embedding
    embedding_bag nan_to_num mvlgamma renorm cummax cummin diagonal diag_embed select_scatter slice_scatter diagonal_scatter
    index_copy index_fill put dist block_diag mse_loss smooth_l1_loss huber_loss nll_loss binary_cross_entropy
    binary_cross_entropy_with_logits multi_margin_loss multilabel_margin_loss soft_margin_loss ctc_loss select
    avg_pool3d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d max_unpool2d max_unpool3d conv_tbc
"""
"""Functions whose derivative has the function's name."""

OTHERS = {
    "relu6": "Hardtanh", "selu": "Elu", "logsigmoid": "LogSigmoid", "swapaxes": "Transpose", "swapdims": "Transpose",
    "tile": "Repeat", "vector_norm": "LinalgVectorNorm", "norm": "LinalgVectorNorm", "cross": "LinalgCross",
    "inverse": "LinalgInvEx", "inv": "LinalgInvEx", "cholesky": "LinalgCholeskyEx", "solve": "LinalgSolveEx",
    "svdvals": "LinalgSvd", "svd": "LinalgSvd", "eigh": "LinalgEigh", "eigvalsh": "LinalgEigh", "qr": "LinalgQr",
    "slogdet": "LinalgSlogdet", "lu_factor": "LinalgLuFactorEx",
    "prelu": "PreluKernel", "layer_norm": "NativeLayerNorm", "group_norm": "NativeGroupNorm",
    "batch_norm": "NativeBatchNorm", "chunk": "Split", "dropout": "Mul", "grid_sample": "GridSampler2D", "fold": "Col2Im",
    "scaled_dot_product_attention": "ScaledDotProductFlashAttentionForCpu", "zero": "Zero", "lstsq": "LinalgLstsq",
    "unsafe_chunk": "UnsafeSplit", "unsafe_split": "UnsafeSplit",
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), "Convolution"),
    "linear_cross_entropy": "NllLoss", "affine_grid": "AffineGridGenerator",
    "max_pool2d": "MaxPool2DWithIndices", "max_pool3d": "MaxPool3DWithIndices",
}  # fmt: skip
"""Functions whose derivative has another name."""


def _axes(x: Any) -> int:
    return len(getattr(x, "shape", ()))


Arguments = tuple[Any, ...]
Named = Mapping[str, Any]


def _linear(args: Arguments, named: Named, out: Any) -> str:
    biased = (args[2] if len(args) > 2 else named.get("bias")) is not None
    if _axes(out) == 2:
        return "AddmmBackward0" if biased else "MmBackward0"
    return "ViewBackward0" if biased else "UnsafeViewBackward0"


def _extreme(whole: str, pair: str) -> Callable[[Arguments, Named, Any], str]:
    """Of `max` and `min`: of all elements, along an axis, or of two tensors."""

    def name(args: Arguments, named: Named, out: Any) -> str:
        if isinstance(out, tuple):
            return f"{pair}Backward0"
        return "" if len(args) + len(named) == 1 else f"{whole}Backward0"

    return name


def _median(name: str) -> Callable[[Arguments, Named, Any], str]:
    """Of `median` and `nanmedian`: of all elements, or along an axis."""
    return lambda args, named, out: f"{name}Backward{int(isinstance(out, tuple))}"


def _padding(args: Arguments, named: Named, out: Any) -> str:
    mode = args[2] if len(args) > 2 else named.get("mode", "constant")
    widths = args[1] if len(args) > 1 else named["pad"]
    kind = {"reflect": "ReflectionPad", "replicate": "ReplicationPad"}.get(mode)
    return "ConstantPadNdBackward0" if mode == "constant" else f"{kind}{len(widths) // 2}DBackward0" if kind else ""


def _cross_entropy(args: Arguments, named: Named, out: Any) -> str:
    return "NllLoss2DBackward0" if args and _axes(args[0]) > 2 else "NllLossBackward0"


def _unfold(args: Arguments, named: Named, out: Any) -> str:
    return "UnfoldBackward0" if "step" in named or len(args) == 4 else "Im2ColBackward0"


def _adaptive(args: Arguments, named: Named, out: Any) -> str:
    return "MeanBackward1" if out.shape[-2:] == (1, 1) else "AdaptiveAvgPool2DBackward0"


def _interpolate(args: Arguments, named: Named, out: Any) -> str:
    mode, axes = args[3] if len(args) > 3 else named.get("mode", "nearest"), _axes(out) - 2
    if mode == "area":
        return _adaptive(args, named, out) if axes == 2 else f"AdaptiveAvgPool{axes}DBackward0"
    kind = {"nearest-exact": "NearestExact"}.get(mode, mode.capitalize())
    return f"Upsample{kind}{axes}DBackward0"


def _split(args: Arguments, named: Named, out: Any) -> str:
    sizes = args[1] if len(args) > 1 else named.get("split_size_or_sections")
    return "SplitWithSizesBackward0" if isinstance(sizes, (list, tuple)) else "SplitBackward0"


def _squeeze(args: Arguments, named: Named, out: Any) -> str:
    return "SqueezeBackward1" if len(args) + len(named) > 1 else "SqueezeBackward0"


NAMES: dict[str, NodeName] = {
    **{name: NodeName(node_name(name)) for name in OWN.split()},
    **{name: NodeName(node + "Backward0") for name, node in OTHERS.items()},
    "linear": NodeName(_linear, (1, 0, 2), ("permute", "TBackward0")),
    "max": NodeName(_extreme("Maximum", "Max")),
    "min": NodeName(_extreme("Minimum", "Min")),
    "median": NodeName(_median("Median")),
    "nanmedian": NodeName(_median("Nanmedian")),
    "pad": NodeName(_padding),
    "cross_entropy": NodeName(_cross_entropy),
    "unfold": NodeName(_unfold),
    "adaptive_avg_pool2d": NodeName(_adaptive),
    "adaptive_avg_pool1d": NodeName("SqueezeBackward1"),
    "interpolate": NodeName(_interpolate),
    "pairwise_distance": NodeName("NormBackward1"),
    "squeeze": NodeName(_squeeze),
    "split": NodeName(_split),
}
"""By the function's name."""


PARTED = frozenset({"SplitBackward0", "SplitWithSizesBackward0", "UnbindBackward0"})
"""Nodes of functions that return several views, which may not be changed in place while that is recorded."""

_RULES = """
    Tanh Sigmoid Elu Gelu Glu Softplus Hardtanh Hardswish Hardshrink Softshrink LeakyRelu LogSigmoid PreluKernel MseLoss
    SmoothL1Loss HuberLoss NllLoss NllLoss2D BinaryCrossEntropy SoftMarginLoss NativeLayerNorm NativeBatchNorm Convolution
    MaxPool2DWithIndices MaxPool3DWithIndices AvgPool2D AvgPool3D AdaptiveAvgPool2D AdaptiveAvgPool3D Cdist Pdist
    GridSampler2D ReflectionPad1D ReflectionPad2D ReflectionPad3D ReplicationPad1D ReplicationPad2D ReplicationPad3D Select
    Slice Diagonal Unfold
"""
DERIVATIVES = {
    **{f"{name}Backward0": f"{name}BackwardBackward0" for name in _RULES.split()},
    "ReluBackward0": "ThresholdBackwardBackward0",
    "ThresholdBackward0": "ThresholdBackwardBackward0",
    "CeluBackward0": "EluBackwardBackward0",
    "SoftmaxBackward0": "SoftmaxBackwardDataBackward0",
    "LogSoftmaxBackward0": "LogSoftmaxBackwardDataBackward0",
    "EmbeddingBackward0": "EmbeddingDenseBackwardBackward0",
}
"""Nodes whose derivative is one operation in PyTorch, and the name of the node of that operation."""


def node_of(function: str) -> NodeName | None:
    """The node of calls of the function that has this name in the code."""
    return NAMES.get(function.removeprefix("_linalg_").rstrip("_"))


# from the arguments of an operation to a node: checked, promoted, in the graph ---------------------------------------


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
            return frontends.defer(graph, op, operands, attrs)
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
        numbers = "make numbers of it first, as with np.asarray(values, float)"
        objects = array.dtype == object and not isinstance(value, (np.ndarray, list, tuple))
        raise DTypeError(text, "give a number, a list of numbers, an array or a tensor" if objects else numbers)
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
