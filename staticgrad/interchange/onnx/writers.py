"""Ops of the IR as ONNX nodes: elementwise ones, those that move, pick, reduce and order elements; convolutions, poolings,
attention, random numbers, loops and branches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ir import Node, Subgraph
from ...ops.indexing import indices_of
from ...ops.operands import LoopOperands
from .records import CODES, WRITERS, Name, Scope, UnwrittenError, static_shape, value_info, writer

ONE_TO_ONE = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "add": "Add", "asin": "Asin", "asinh": "Asinh", "atan": "Atan",
    "atanh": "Atanh", "bitwise_and": "BitwiseAnd", "bitwise_not": "BitwiseNot", "bitwise_or": "BitwiseOr",
    "bitwise_xor": "BitwiseXor", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "eq": "Equal", "erf": "Erf", "exp": "Exp",
    "floor": "Floor", "ge": "GreaterOrEqual", "gt": "Greater", "isnan": "IsNaN", "le": "LessOrEqual", "linalg_det": "Det",
    "log": "Log", "logical_and": "And", "logical_not": "Not", "logical_or": "Or", "logical_xor": "Xor", "lt": "Less",
    "matmul": "MatMul", "maximum": "Max", "minimum": "Min", "mul": "Mul", "neg": "Neg", "pow": "Pow", "relu": "Relu",
    "round": "Round", "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt", "sub": "Sub",
    "tan": "Tan", "tanh": "Tanh", "where": "Where",
}  # fmt: skip
"""Ops that are one node of ONNX on the same operands."""


def _same(op: str) -> Any:
    return lambda b, node, *xs: b.add(op, xs)


WRITERS.update({name: _same(op) for name, op in ONE_TO_ONE.items()})


@writer("identity", "stop_gradient", "saving", "exponent", "divisor", "read")
def _identity(b: Scope, node: Node, x: Name) -> Name:
    return x


@writer("as_written", "saved_with")
def _first(b: Scope, node: Node, x: Name, *others: Name) -> Name:
    return x


@writer("bounded")
def _bounded(b: Scope, node: Node, index: Name, like: Name) -> Name:
    return b.add("Cast", [index], to=CODES[np.dtype(np.int64)])


@writer("cast")
def _cast(b: Scope, node: Node, x: Name) -> Name:
    return b.add("Cast", [x], to=CODES[node.type.dtype])


@writer("div")
def _div(b: Scope, node: Node, x: Name, y: Name) -> Name:
    operands = []
    for name, operand in zip((x, y), node.inputs, strict=True):  # of integers it is a float here, and an integer in ONNX
        operands.append(name if operand.type.dtype == node.type.dtype else b.add("Cast", [name], to=CODES[node.type.dtype]))
    return b.add("Div", operands)


@writer("copysign")
def _copysign(b: Scope, node: Node, x: Name, y: Name) -> Name:
    size = b.add("Abs", [x])
    return b.add("Where", [b.add("Less", [y, b.like(0, node)]), b.add("Neg", [size]), size])


@writer("ne")
def _ne(b: Scope, node: Node, x: Name, y: Name) -> Name:
    return b.add("Not", [b.add("Equal", [x, y])])


@writer("square")
def _square(b: Scope, node: Node, x: Name) -> Name:
    return b.add("Mul", [x, x])


@writer("exp2")
def _exp2(b: Scope, node: Node, x: Name) -> Name:
    return b.add("Pow", [b.like(2, node), x])


@writer("expm1")
def _expm1(b: Scope, node: Node, x: Name) -> Name:
    """2 tanh(x / 2) / (1 - tanh(x / 2)) near 0, where exp(x) - 1 loses digits."""
    half = b.add("Tanh", [b.add("Mul", [x, b.like(0.5, node)])])
    near = b.add("Div", [b.add("Mul", [half, b.like(2, node)]), b.add("Sub", [b.like(1, node), half])])
    far = b.add("Sub", [b.add("Exp", [x]), b.like(1, node)])
    small = b.add("Less", [b.add("Abs", [x]), b.like(0.5, node)])
    return b.add("Where", [small, near, far])


@writer("log1p")
def _log1p(b: Scope, node: Node, x: Name) -> Name:
    """2 atanh(x / (2 + x)) near 0, where log(1 + x) loses digits."""
    ratio = b.add("Div", [x, b.add("Add", [x, b.like(2, node)])])
    near = b.add("Mul", [b.add("Atanh", [ratio]), b.like(2, node)])
    far = b.add("Log", [b.add("Add", [x, b.like(1, node)])])
    return b.add("Where", [b.add("Less", [b.add("Abs", [x]), b.like(0.5, node)]), near, far])


def _log_of(base: float) -> Any:
    return lambda b, node, x: b.add("Div", [b.add("Log", [x]), b.like(math.log(base), node)])


WRITERS.update(log2=_log_of(2), log10=_log_of(10))


@writer("erfc")
def _erfc(b: Scope, node: Node, x: Name) -> Name:
    return b.add("Sub", [b.like(1, node), b.add("Erf", [x])])


@writer("softplus")
def _softplus(b: Scope, node: Node, x: Name) -> Name:
    return b.add("Softplus", [x])


@writer("hypot")
def _hypot(b: Scope, node: Node, x: Name, y: Name) -> Name:
    return b.add("Sqrt", [b.add("Add", [b.add("Mul", [x, x]), b.add("Mul", [y, y])])])


@writer("isfinite")
def _isfinite(b: Scope, node: Node, x: Name) -> Name:
    if node.inputs[0].type.dtype.kind != "f":
        return b.add("Equal", [x, x])
    return b.add("Not", [b.add("Or", [b.add("IsInf", [x]), b.add("IsNaN", [x])])])


@writer("signbit")
def _signbit(b: Scope, node: Node, x: Name) -> Name:
    return b.add("Less", [x, b.like(0, node.inputs[0])])


@writer("clip")
def _clip(b: Scope, node: Node, x: Name, low: Name, high: Name) -> Name:
    return b.add("Min", [b.add("Max", [x, low]), high])


@writer("fmod")
def _fmod(b: Scope, node: Node, x: Name, y: Name) -> Name:
    return b.add("Mod", [x, y], fmod=1)


@writer("remainder")
def _remainder(b: Scope, node: Node, x: Name, y: Name) -> Name:
    if node.type.dtype.kind != "f":
        return b.add("Mod", [x, y], fmod=0)
    rest = b.add("Mod", [x, y], fmod=1)
    wrong = b.add(
        "And",
        [b.add("Less", [b.add("Mul", [rest, y]), b.like(0, node)]), b.add("Not", [b.add("Equal", [rest, b.like(0, node)])])],
    )
    return b.add("Where", [wrong, b.add("Add", [rest, y]), rest])


@writer("floor_divide")
def _floor_divide(b: Scope, node: Node, x: Name, y: Name) -> Name:
    if node.type.dtype.kind == "f":
        return b.add("Floor", [b.add("Div", [x, y])])
    whole = b.add("Sub", [x, b.add("Mod", [x, y], fmod=0)])
    return b.add("Div", [whole, y])


@writer("atan2")
def _atan2(b: Scope, node: Node, y: Name, x: Name) -> Name:
    zero, pi = b.like(0, node), b.like(math.pi, node)
    base = b.add("Atan", [b.add("Div", [y, x])])
    below = b.add("Less", [y, zero])
    turned = b.add("Where", [below, b.add("Sub", [base, pi]), b.add("Add", [base, pi])])
    result = b.add("Where", [b.add("Less", [x, zero]), turned, base])
    both = b.add("And", [b.add("Equal", [x, zero]), b.add("Equal", [y, zero])])
    return b.add("Where", [both, zero, result])


@writer("bitwise_left_shift", "bitwise_right_shift")
def _shift(b: Scope, node: Node, x: Name, y: Name) -> Name:
    """ONNX shifts unsigned numbers: a shift to the left is a product, one to the right a quotient."""
    power = b.add("Pow", [b.like(2, node), y])
    if node.op.name == "bitwise_left_shift":
        return b.add("Mul", [x, power])
    return b.add("Div", [b.add("Sub", [x, b.add("Mod", [x, power], fmod=0)]), power])


# ops of the IR that move, pick, reduce and order elements, as ONNX nodes ---------------------------------------------


@writer("reshape", "expand_dims", "squeeze", "reshape_like", "fit")
def _reshape(b: Scope, node: Node, x: Name, *like: Name) -> Name:
    return b.add("Reshape", [x, b.ints(static_shape(node))], allowzero=int(0 in node.type.shape))


@writer("permute")
def _permute(b: Scope, node: Node, x: Name) -> Name:
    return b.add("Transpose", [x], perm=list(node.attrs["axes"]))


@writer("broadcast_to", "broadcast_like")
def _broadcast(b: Scope, node: Node, x: Name, *like: Name) -> Name:
    return b.add("Expand", [x, b.ints(static_shape(node))])


@writer("slice")
def _slice(b: Scope, node: Node, x: Name) -> Name:
    extents = static_shape(node.inputs[0])
    starts, ends, axes, steps = [], [], [], []
    for axis, (s, extent) in enumerate(zip(node.attrs["slices"], extents, strict=False)):
        first, last, step = (s % extent, s % extent + 1, 1) if isinstance(s, int) else indices_of(s, extent)
        if (first, last, step) != (0, extent, 1):
            starts.append(first)
            ends.append(last if last >= 0 else -extent - 1)
            axes.append(axis)
            steps.append(step)
    if axes:
        x = b.add("Slice", [x, b.ints(starts), b.ints(ends), b.ints(axes), b.ints(steps)])
    return b.add("Reshape", [x, b.ints(static_shape(node))], allowzero=int(0 in node.type.shape))


@writer("unslice")
def _unslice(b: Scope, node: Node, x: Name, like: Name) -> Name:
    """Zeros around x; where its elements are apart, a scatter of them."""
    extents = static_shape(node)
    places = np.arange(math.prod(extents)).reshape(extents)
    key = tuple(s if isinstance(s, int) else slice(*s) for s in node.attrs["slices"])
    flat = places[(*key, ...)].reshape(-1, 1)
    zeros = b.constant(np.zeros(math.prod(extents), node.type.dtype))
    put = b.add("ScatterND", [zeros, b.constant(flat, np.int64), b.add("Reshape", [x, b.ints([-1])])])
    return b.add("Reshape", [put, b.ints(extents)], allowzero=int(0 in extents))


@writer("diagonal", "unfold")
def _at_strides(b: Scope, node: Node, x: Name) -> Name:
    """The elements by their places in the flattened operand."""
    extents = static_shape(node.inputs[0])
    places = node.op.eval(np.arange(math.prod(extents)).reshape(extents), **node.attrs)
    return b.add("Gather", [b.add("Reshape", [x, b.ints([-1])]), b.constant(places, np.int64)], axis=0)


@writer("concatenate")
def _concatenate(b: Scope, node: Node, *xs: Name) -> Name:
    return b.add("Concat", xs, axis=node.attrs["axis"])


@writer("index_along")
def _index_along(b: Scope, node: Node, x: Name) -> Name:
    axis, shape = node.attrs["axis"], static_shape(node)
    return b.constant(np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))]), node.type.dtype)


# reductions


def _reduction(name: str, op: str) -> None:
    @writer(name)
    def write(b: Scope, node: Node, x: Name) -> Name:
        axes, keep = node.attrs["axis"], int(node.attrs["keepdims"])
        if node.inputs[0].type.dtype != node.type.dtype:
            x = b.add("Cast", [x], to=CODES[node.type.dtype])
        return b.add(op, [x, b.ints(axes)], keepdims=keep, noop_with_empty_axes=1)


for _name, _op in (("sum", "ReduceSum"), ("mean", "ReduceMean"), ("max", "ReduceMax"), ("min", "ReduceMin"),
                   ("logsumexp", "ReduceLogSumExp")):  # fmt: skip
    _reduction(_name, _op)


@writer("all", "any")
def _logical(b: Scope, node: Node, x: Name) -> Name:
    number = b.add("Cast", [x], to=CODES[np.dtype(np.int32)])
    op = "ReduceMin" if node.op.name == "all" else "ReduceMax"
    found = b.add(op, [number, b.ints(node.attrs["axis"])], keepdims=int(node.attrs["keepdims"]), noop_with_empty_axes=1)
    return b.add("Cast", [found], to=CODES[np.dtype(np.bool_)])


@writer("prod")
def _prod(b: Scope, node: Node, x: Name) -> Name:
    return b.add("ReduceProd", [x, b.ints(node.attrs["axis"])], keepdims=int(node.attrs["keepdims"]))


@writer("argmax", "argmin")
def _position(b: Scope, node: Node, x: Name) -> Name:
    axis, keep = node.attrs["axis"], int(node.attrs["keepdims"])
    op = "ArgMax" if node.op.name == "argmax" else "ArgMin"
    if axis is None:
        flat = b.add("Reshape", [x, b.ints([-1])])
        found = b.add(op, [flat], axis=0, keepdims=0)
        return b.add("Reshape", [found, b.ints(static_shape(node))])
    axis = axis[0] if isinstance(axis, tuple) else axis
    return b.add(op, [x], axis=axis, keepdims=keep)


@writer("argsort")
def _argsort(b: Scope, node: Node, x: Name) -> Name:
    axis = node.attrs["axis"]
    count = b.ints([static_shape(node)[axis]])
    return b.several("TopK", [x, count], 2, axis=axis, largest=int(node.attrs["descending"]))[1]


@writer("topk_index")
def _top(b: Scope, node: Node, x: Name) -> Name:
    a = node.attrs
    return b.several("TopK", [x, b.ints([a["k"]])], 2, axis=a["axis"], largest=int(a["largest"]))[1]


@writer("softmax", "log_softmax")
def _softmax(b: Scope, node: Node, x: Name) -> Name:
    op = "Softmax" if node.op.name == "softmax" else "LogSoftmax"
    axes = node.attrs["axis"]
    if isinstance(axes, tuple):
        if len(axes) != 1:
            raise UnwrittenError(f"onnx.export: {node.op.name} over {len(axes)} axes has no ONNX counterpart", where=node.where)
        (axes,) = axes
    return b.add(op, [x], axis=axes)


@writer("cumsum", "cumprod")
def _cumulative(b: Scope, node: Node, x: Name) -> Name:
    if node.op.name == "cumsum":
        return b.add("CumSum", [x, b.constant(node.attrs["axis"], np.int64)])
    return _cumulative_product(b, node, x)


def _cumulative_product(b: Scope, node: Node, x: Name) -> Name:
    """Products of ever longer parts: the op set of this version has no running product."""
    axis, shape, reverse = node.attrs["axis"], static_shape(node), node.attrs["reverse"]
    extent, shift = shape[axis], 1

    def part(begin: int, end: int) -> Name:
        return b.add("Slice", [x, b.ints([begin]), b.ints([end]), b.ints([axis])])

    def joined(kept: Name, rest: Name) -> Name:
        return b.add("Concat", [rest, kept] if reverse else [kept, rest], axis=axis)

    if node.attrs["exclusive"]:
        ones = b.constant(np.ones([1 if i == axis else n for i, n in enumerate(shape)], node.type.dtype))
        x = joined(ones, part(1, extent) if reverse else part(0, extent - 1))
    while shift < extent:
        first, last = part(0, extent - shift), part(shift, extent)
        x = joined(part(extent - shift, extent) if reverse else part(0, shift), b.add("Mul", [first, last]))
        shift *= 2
    return x


# positions


@writer("gather", "pick")
def _gather(b: Scope, node: Node, x: Name, index: Name, *more: Name) -> Name | None:
    return None if more else b.add("Gather", [x, index], axis=node.attrs["axis"])


def _wide(b: Scope, index: Node, name: Name, shape: Any) -> Name:
    return name if index.type.shape == tuple(shape) else b.add("Expand", [name, b.ints(shape)])


@writer("take_along_axis")
def _take_along(b: Scope, node: Node, x: Name, index: Name) -> Name:
    axis, shape = node.attrs["axis"], static_shape(node)
    source = [extent if i == axis else shape[i] for i, extent in enumerate(static_shape(node.inputs[0]))]
    if tuple(source) != node.inputs[0].type.shape:
        x = b.add("Expand", [x, b.ints(source)])
    return b.add("GatherElements", [x, _wide(b, node.inputs[1], index, shape)], axis=axis)


@writer("scatter_along_axis")
def _scatter_along(b: Scope, node: Node, g: Name, like: Name, index: Name) -> Name:
    zeros = b.constant(np.zeros(static_shape(node), node.type.dtype))
    index = _wide(b, node.inputs[2], index, static_shape(node.inputs[0]))
    return b.add("ScatterElements", [zeros, index, g], axis=node.attrs["axis"], reduction="add")


@writer("put_add")
def _put_add(b: Scope, node: Node, values: Name, like: Name, index: Name) -> Name:
    """Rows added along an axis: the axis goes to the front, and the rows to their places."""
    axis, shape = node.attrs["axis"], static_shape(node)
    order = [axis, *(i for i in range(len(shape)) if i != axis)]
    picked = node.inputs[2].type.ndim
    source = [*range(axis, axis + picked), *range(axis), *range(axis + picked, node.inputs[0].type.ndim)]
    rows = b.add("Transpose", [values], perm=source)
    places = b.add("Unsqueeze", [index, b.ints([picked])])
    zeros = b.constant(np.zeros([shape[i] for i in order], node.type.dtype))
    total = b.add("ScatterND", [zeros, places, rows], reduction="add")
    return b.add("Transpose", [total], perm=[order.index(i) for i in range(len(order))])


@writer("index_add")
def _index_add(b: Scope, node: Node, x: Name, values: Name, index: Name) -> Name:
    places = b.add("Unsqueeze", [index, b.ints([node.inputs[2].type.ndim])])
    return b.add("ScatterND", [x, places, values], reduction="add")


# layers ---------------------------------------------------------------------------------------------------------------


def _pads(padding: Any) -> list[int]:
    return [low for low, _ in padding] + [high for _, high in padding]


@writer("conv2d")
def _conv(b: Scope, node: Node, x: Name, weight: Name) -> Name:
    a = node.attrs
    return b.add(
        "Conv", [x, weight], strides=list(a["stride"]), pads=_pads(a["padding"]), dilations=list(a["dilation"]),
        group=a["groups"],
    )  # fmt: skip


@writer("conv2d_input")
def _conv_input(b: Scope, node: Node, g: Name, weight: Name, *like: Name) -> Name:
    a = node.attrs
    steps, spread, padding = a["stride"], a["dilation"], a["padding"]
    kernel, extents = static_shape(node.inputs[1])[2:], static_shape(node.inputs[0])[2:]
    reach = [
        s * (n - 1) + (k - 1) * d + 1 - low - high
        for n, k, s, d, (low, high) in zip(extents, kernel, steps, spread, padding, strict=True)
    ]
    extra = [have - least for have, least in zip(static_shape(node)[2:], reach, strict=True)]
    return b.add(
        "ConvTranspose", [g, weight], strides=list(steps), pads=_pads(padding), dilations=list(spread), group=a["groups"],
        output_padding=extra,
    )  # fmt: skip


@writer("max_pool2d")
def _max_pool(b: Scope, node: Node, x: Name) -> Name:
    a = node.attrs
    return b.add(
        "MaxPool", [x], kernel_shape=list(a["kernel"]), strides=list(a["stride"]), pads=[*a["padding"], *a["padding"]],
        dilations=list(a["dilation"]), ceil_mode=int(a["ceil"]),
    )  # fmt: skip


@writer("avg_pool2d")
def _avg_pool(b: Scope, node: Node, x: Name) -> Name:
    """Windows that walk are a pooling; parts of the axes are products with matrices of weights."""
    rules = node.attrs["rows"], node.attrs["columns"]
    if rules == (("bins", 1), ("bins", 1)):
        return b.add("GlobalAveragePool", [x])
    if all(rule[0] == "step" for rule in rules) and len({rule[4:] for rule in rules}) == 1:
        _, _, _, _, counted, ceil = rules[0]
        if not (counted and ceil):  # PyTorch and ONNX differ in what a window beyond the padding counts
            return b.add(
                "AveragePool", [x], kernel_shape=[rule[1] for rule in rules], strides=[rule[2] for rule in rules],
                pads=[rule[3] for rule in rules] * 2, count_include_pad=int(counted), ceil_mode=int(ceil),
            )  # fmt: skip
    from ...ops.pooling import windows

    for axis, rule in zip((2, 3), rules, strict=True):
        extent = static_shape(node.inputs[0])[axis]
        table = windows(extent, rule)
        matrix = np.zeros((len(table), extent), node.type.dtype)
        for i, (first, last, divisor) in enumerate(table):
            matrix[i, first:last] = 1 / divisor
        x = b.add("MatMul", [b.constant(matrix), x] if axis == 2 else [x, b.constant(matrix.T)])
    return x


@writer("attention_softmax")
def _attention(b: Scope, node: Node, x: Name, keys: int | None = None) -> Name:
    """keys: their number, where the node's result has another last extent."""
    scores = b.add("Mul", [x, b.like(node.attrs["scale"], node)])
    if node.attrs["causal"]:
        queries, last = static_shape(node)[-2:]
        seen = b.constant(np.tri(queries, last if keys is None else keys, dtype=bool))
        scores = b.add("Where", [seen, scores, b.like(-np.inf, node)])
    return b.add("Softmax", [scores], axis=-1)


@writer("attention")
def _blockwise(b: Scope, node: Node, q: Name, k: Name, v: Name, *more: Name) -> Name:
    turned, keys = [*range(node.inputs[1].type.ndim)], node.inputs[1].type.shape[-2]
    turned[-2:] = turned[:-3:-1]
    scores = b.add("MatMul", [q, b.add("Transpose", [k], perm=turned)])
    weights = _masked(b, node, scores, more[0]) if node.attrs["masked"] else _attention(b, node, scores, keys)
    if node.attrs["rate"]:
        shape = [*static_shape(node)[:-1], static_shape(node.inputs[1])[-2]]
        drawn = b.add("RandomUniform", [], shape=shape, dtype=CODES[node.type.dtype])
        kept = b.add("GreaterOrEqual", [drawn, b.like(node.attrs["rate"], node)])
        scaled = b.add("Mul", [weights, b.like(1 / (1 - node.attrs["rate"]), node)])
        weights = b.add("Where", [kept, scaled, b.like(0, node)])
    return b.add("MatMul", [weights, v])


def _masked(b: Scope, node: Node, scores: Name, mask: Name) -> Name:
    """The weights with a mask; 0 for a query that sees no key."""
    lowest, zero = b.like(-np.inf, node), b.like(0, node)
    scores = b.add("Mul", [scores, b.like(node.attrs["scale"], node)])
    if node.inputs[3].type.dtype == np.bool_:
        scores = b.add("Where", [mask, scores, lowest])
    else:
        scores = b.add("Add", [scores, mask])
    top = b.add("ReduceMax", [scores, b.ints([-1])], keepdims=1)
    hidden = b.add("Equal", [top, lowest])
    weights = b.add("Softmax", [b.add("Where", [hidden, zero, scores])], axis=-1)
    return b.add("Where", [hidden, zero, weights])


@writer("random_stream", "random_stream_in_loop")
def _stream(b: Scope, node: Node, *operands: Name) -> Name:
    """No node: ONNX's random ops have no state that a graph sees."""
    return ""


@writer("random_uniform", "random_normal", "random_uniform_in_loop", "random_normal_in_loop")
def _random(b: Scope, node: Node, *operands: Name) -> Name:
    op = "RandomUniform" if node.op.name.startswith("random_uniform") else "RandomNormal"
    return b.add(op, [], shape=list(static_shape(node)), dtype=CODES[node.type.dtype])


# loops and branches


@writer("result")
def _result(b: Scope, node: Node, parts: tuple[Name, ...]) -> Name:
    return parts[node.attrs["index"]]


@writer("branch")
def _branch(b: Scope, node: Node, pred: Name, *operands: Name) -> tuple[Name, ...]:
    graphs = [_graph(b, side, operands, []) for side in (node.attrs["then"], node.attrs["orelse"])]
    return b.several("If", [pred], len(node.attrs["then"].results), then_branch=graphs[0], else_branch=graphs[1])


def _graph(b: Scope, body: Subgraph, names: Any, inputs: Any, extra: Any = ()) -> Any:
    """An ONNX graph of a body, whose parameters have these names. inputs: declarations; extra: (name, node) that comes first
    among the outputs."""
    import onnx

    inner, results = b.body(body, inputs, dict(zip(body.params, names, strict=True)))
    kinds = [body_type(r) for r in body.results]
    outputs = [value_info(name, *kind) for name, kind in zip(results, kinds, strict=True)]
    return onnx.helper.make_graph(inner.nodes, inner.name("body"), list(inputs), [*extra, *outputs])


def body_type(node: Node) -> tuple[np.dtype, tuple[Any, ...]]:
    """dtype and extents of a node in a body."""
    return node.type.dtype, node.type.shape


def _flipped(b: Scope, x: Name) -> Name:
    """From the last row to the first."""
    return b.add("Slice", [x, b.ints([-1]), b.ints([np.iinfo(np.int64).min]), b.ints([0]), b.ints([-1])])


@writer("loop")
def _loop(b: Scope, node: Node, *operands: Name) -> tuple[Name, ...]:
    """A Scan where the number of iterations is that of the stacks or a constant; a Loop for a condition."""
    import onnx

    loop = LoopOperands(node.attrs, list(node.inputs))
    at = int(node.attrs["count"])
    consts, carries = node.attrs["consts"], node.attrs["carries"]
    if at:
        raise UnwrittenError("onnx.export: a loop whose count is computed has no ONNX counterpart", where=node.where)
    const_names = operands[at : at + consts]
    starts = list(operands[at + consts : at + consts + carries])
    stacks = list(operands[at + consts + carries :])
    params = loop.body.params
    if loop.cond is None:
        if not stacks:
            stacks = [b.constant(np.arange(node.attrs["length"]))]
            items = [("counter", np.dtype(np.int64), ())]
        else:
            items = [("item", s.type.dtype, s.type.shape[1:]) for s in loop.stacks]
        inside = [(b.name("state"), p.type.dtype, p.type.shape) for p in loop.carry_params]
        given = [(b.name(name), dtype, shape) for name, dtype, shape in items]
        declared = [value_info(*entry) for entry in (*inside, *given)]
        names = [
            *const_names,
            *(name for name, _, _ in inside),
            *(name for name, _, _ in given[: len(params) - consts - carries]),
        ]
        graph = _graph(b, loop.body, names, declared)
        back = node.attrs["reverse"]
        stacks = [_flipped(b, stack) for stack in stacks] if back else stacks
        made = b.several("Scan", [*starts, *stacks], len(loop.body.results), body=graph, num_scan_inputs=len(stacks))
        return (*made[:carries], *(_flipped(b, y) if back else y for y in made[carries:]))
    inside = [(b.name("state"), p.type.dtype, p.type.shape) for p in loop.carry_params]
    number, going = b.name("iteration"), b.name("going")
    scope, results = b.body(loop.body, [], dict(zip(params, [*const_names, *(n for n, _, _ in inside)], strict=True)))
    verdict: dict[Node, Any] = dict(zip(loop.cond.params, [*const_names, *results[:carries]], strict=True))
    scope.walk(loop.cond.graph, loop.cond.results, verdict)
    again = scope.add("Identity", [verdict[loop.cond.results[0]]])
    counted = b.name("count")
    after = scope.add("Add", [counted, scope.constant(1, np.int64)])
    flag, whole = np.dtype(np.bool_), np.dtype(np.int64)
    declared = [value_info(number, whole, ()), value_info(going, flag, ()), *(value_info(*e) for e in inside),
                value_info(counted, whole, ())]  # fmt: skip
    kinds = [body_type(r) for r in loop.body.results]
    infos = [value_info(name, *kind) for name, kind in zip(results, kinds, strict=True)]
    outputs = [value_info(again, flag, ()), *infos[:carries], value_info(after, whole, ()), *infos[carries:]]
    graph = onnx.helper.make_graph(scope.nodes, b.name("body"), declared, outputs)
    first: dict[Node, Any] = dict(zip(loop.cond.params, [*const_names, *starts], strict=True))
    b.walk(loop.cond.graph, loop.cond.results, first)
    starts = ["", first[loop.cond.results[0]], *starts, b.constant(0, np.int64)]
    made = b.several("Loop", starts, len(results) + 1, body=graph)
    return (*made[:carries], *made[carries + 1 :], made[carries])
