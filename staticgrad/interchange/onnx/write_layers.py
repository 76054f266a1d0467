"""Convolutions, poolings, attention, random numbers, loops and branches of the IR as ONNX nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import Node, Subgraph
from ...ops.operands import LoopOperands
from .records import CODES
from .writing import Name, Scope, UnwrittenError, static_shape, value_info, writer


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
