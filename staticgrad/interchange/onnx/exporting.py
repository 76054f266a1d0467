"""`sg.onnx.export`: functions, modules and graphs as ONNX files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...base.types import TensorType
from ...compiler.passes.specialize import specialize
from ...eager import Tensor
from ...errors import ArgumentError, GraphError, ShapeError
from ...ir import Graph, Node
from ...nn import Module
from ...ops.control.subgraph_tracing import symbol
from ...ops.operators import Symbol
from ...ops.pytree import flatten
from ...static import Graph as StaticGraph
from ...static import get_default_session, placeholder
from . import writers
from .dynamic_extents import dynamic_axes_of, generalized, generalized_by, open_axes
from .records import BUFFERS, OPSET, Name, Scope, UnwrittenError, value_info

# models in other versions of ONNX's op set than the one that writers write --------------------------------------------

OLDEST = 17
"""The oldest op set in which all ops but those of `SINCE` can be written."""
SINCE = {"BitwiseAnd": 18, "BitwiseOr": 18, "BitwiseXor": 18, "BitwiseNot": 18}
AXES_INSIDE = ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceLogSumExp")
"""Reductions whose axes became an operand in op set 18."""


def check_version(version: Any) -> int:
    """The version. Raises ArgumentError for one that can't be written."""
    import onnx

    newest = onnx.defs.onnx_opset_version()
    if isinstance(version, bool) or not isinstance(version, int) or not OLDEST <= version <= newest:
        raise ArgumentError(
            f"onnx.export: opset_version has to be {OLDEST} to {newest}, got {version!r}",
            f"{newest} is the newest of the installed onnx {onnx.__version__}",
        )
    return version


def in_op_set(made: Any, version: int) -> Any:
    """The model in another op set. Raises UnwrittenError for an op that this op set lacks."""
    import onnx

    if version < OPSET:
        constants = {node.output[0]: node.attribute[0].t for node in made.graph.node if node.op_type == "Constant"}
        _older(made.graph, constants, version)
    made.opset_import[0].version = version
    made.ir_version = onnx.helper.find_min_ir_version_for(made.opset_import)
    return made


def _older(graph: Any, constants: dict[str, Any], version: int) -> None:
    import onnx

    for node in graph.node:
        if SINCE.get(node.op_type, 0) > version:
            raise UnwrittenError(f"onnx.export: {node.op_type} needs op set {SINCE[node.op_type]}, not {version}")
        if node.op_type in AXES_INSIDE and len(node.input) > 1:
            axes = onnx.numpy_helper.to_array(constants[node.input[1]]).tolist()
            del node.input[1:]
            keep = [a for a in node.attribute if a.name != "noop_with_empty_axes"]
            del node.attribute[:]
            node.attribute.extend(keep if axes else [])
            if axes:
                node.attribute.append(onnx.helper.make_attribute("axes", axes))
            else:
                node.op_type = "Identity"
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _older(attribute.g, constants, version)


assert writers is not None, "importing it enters the writers"


def export(
    model: Any, args: Any = (), f: str | os.PathLike[str] | None = None, *, input_names: Sequence[str] = (),
    output_names: Sequence[str] = (), session: Any = None, dynamic_axes: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None, opset_version: int | None = None, export_params: bool = True,
    do_constant_folding: bool = True, keep_initializers_as_inputs: bool = False, verbose: bool | None = None,
) -> Any:  # fmt: skip
    """Write a function, module or graph as an ONNX model, which is checked and returned as a `ModelProto`.

    model: a module, a function of tensors or what `sg.compile` made of one, called with `args` on placeholders of their shapes
    and dtypes; modules are written as in `eval()`. Or a graph: its placeholders are the inputs, `graph.outputs` the outputs,
    and variables have their values in `session` (the default one for None), those of eager tensors the tensors' values. f: the
    file; None writes none. Parameters and buffers keep their names; the file says which are buffers.

    Extents are those of `args`, but for those that `dynamic_axes` names, `{"input_0": {0: "batch"}}`, or, by position,
    `dynamic_shapes`, `({0: "batch"},)`: the model takes any. Extents that follow from them are computed in the model. The
    extents that the placeholders of a graph leave open (None) are symbolic, and these arguments name them. Extents with one
    name are equal; without names, extents of one axis are taken as equal if the graph needs it. opset_version: of ONNX's op
    set, 17 or later. do_constant_folding, verbose: accepted as in PyTorch, without effect.

    Raises UnwrittenError for an operation without an ONNX counterpart, with the line that it came from, and for a symbolic
    extent that ONNX wants as a number; ArgumentError for another op set, an axis that no input has, and for a model without its
    parameters or with parameters as inputs.

    Examples:
        >>> layer = sg.nn.Linear(3, 2)
        >>> model = sg.onnx.export(layer, args=(sg.ones(4, 3),))
        >>> [node.op_type for node in model.graph.node]
        ['Transpose', 'MatMul', 'Add']
        >>> sg.onnx.load(model)(sg.ones(4, 3)).shape
        torch.Size([4, 2])
    """
    import onnx

    version = check_version(OPSET if opset_version is None else opset_version)
    if not export_params or keep_initializers_as_inputs:
        raise ArgumentError(
            "onnx.export: parameters are initializers of the model, and no inputs",
            "leave out export_params and keep_initializers_as_inputs",
        )
    if isinstance(args, (str, os.PathLike)):
        raise ArgumentError(
            f"onnx.export: the second argument is the model's arguments, got the path {os.fspath(args)!r}",
            "onnx.export(model, (x,), path)",
        )
    if isinstance(model, Graph):
        made = _of_graph(model, dynamic_axes, dynamic_shapes, input_names, output_names, session)
    else:
        arrays = [x if isinstance(x, Tensor) else Tensor(x) for x in (args if isinstance(args, (tuple, list)) else (args,))]
        called = [input_names[i] if i < len(input_names) else f"input_{i}" for i in range(len(arrays))]
        shapes = {name: tuple(x.shape) for name, x in zip(called, arrays, strict=True)}
        names = _parameter_names(model)

        def write(shapes: Mapping[str, tuple[int, ...]]) -> Any:
            types = [(x.dtype, shape) for x, shape in zip(arrays, shapes.values(), strict=True)]
            graph, inputs, found = _traced(model, types)
            outputs = {f"output_{i}" if len(found) > 1 else "output": node for i, node in enumerate(found)}
            return _written(graph, inputs, outputs, names, input_names, output_names, session)

        axes = dynamic_axes_of(dynamic_axes, dynamic_shapes, [*shapes.items()])
        made = generalized(write, axes, shapes) if axes else write(shapes)
    if version != OPSET:
        made = in_op_set(made, version)
        onnx.checker.check_model(made, full_check=True)
    if f is not None:
        onnx.save(made, os.fspath(f))
    return made


def _of_graph(
    graph: Graph, dynamic_axes: Any, dynamic_shapes: Any, input_names: Sequence[str], output_names: Sequence[str], session: Any
) -> Any:
    """A graph as a model, in which the extents that its placeholders leave open are symbolic."""
    inputs = [node for node in graph.nodes if node.op.leaf == "placeholder" and not _fed(graph, node)]
    outputs = dict(getattr(graph, "outputs", None) or {})
    if not outputs:
        raise GraphError("onnx.export: the graph has no outputs", 'graph.outputs = {"y": y.node}')
    called = [input_names[i] if i < len(input_names) else node.name or f"input_{i}" for i, node in enumerate(inputs)]
    shapes = {name: node.type.shape for name, node in zip(called, inputs, strict=True)}
    if None in shapes.values():
        raise ShapeError("onnx.export: a placeholder has no rank", "give its extents: placeholder(sg.float32, [None, 3])")
    named = dynamic_axes_of(dynamic_axes, dynamic_shapes, [*shapes.items()])

    def write(sizes: Mapping[str, tuple[int, ...]]) -> Any:
        types = {n: TensorType(shape, n.type.dtype) for n, shape in zip(inputs, sizes.values(), strict=True)}
        bound, moved = specialize(graph, [*inputs, *outputs.values()], types)
        results = {name: moved[node] for name, node in outputs.items()}
        return _written(bound, [moved[n] for n in inputs], results, {}, called, output_names, session, graph)

    choices = open_axes(shapes, named)
    if not choices:
        return _written(graph, inputs, outputs, {}, called, output_names, session, graph)
    return generalized_by(write, choices, shapes)


def _fed(graph: Graph, node: Node) -> bool:
    """Whether a placeholder feeds itself, as the start of a variable does."""
    return node in getattr(graph, "sources", ())


def _traced(model: Any, types: Sequence[tuple[np.dtype, tuple[int, ...]]]) -> tuple[Graph, list[Node], list[Node]]:
    """The graph of a call on placeholders of these dtypes and shapes, its inputs and results."""
    fn = getattr(model, "_orig_mod", None) or (model.fn if hasattr(model, "specializations") else model)
    if not callable(fn):
        raise ArgumentError(f"onnx.export: expected a function, a module or a graph, got {type(model).__name__}")
    if isinstance(fn, Module) and fn.training:
        modes = [(module, module.training) for module in fn.modules()]
        fn.eval()
    else:
        modes = []
    graph = StaticGraph()
    try:
        with graph.as_default():
            inputs = [placeholder(dtype, shape, name=f"input_{i}") for i, (dtype, shape) in enumerate(types)]
            leaves, _ = flatten(fn(*inputs))
            results = [symbol(graph, leaf) for leaf in leaves]
    finally:
        for module, training in modes:
            module.training = training
    return graph, [x.node for x in inputs], [x.node for x in results]


def _parameter_names(model: Any) -> dict[int, str]:
    """The names of a module's parameters and buffers, by the tensors' identity."""
    module = getattr(model, "_orig_mod", model)
    if not isinstance(module, Module):
        return {}
    return {id(tensor): name for name, tensor in (*module.named_parameters(), *module.named_buffers())}


def _written(
    graph: Graph, inputs: Sequence[Node], outputs: Mapping[str, Node], names: Mapping[int, str], input_names: Sequence[str],
    output_names: Sequence[str], session: Any, owner: Any = None,
) -> Any:  # fmt: skip
    """The model of a graph. owner: the graph that the variables belong to, if that is another one."""
    import onnx

    scope = Scope()
    known: dict[Node, Any] = {}
    for i, node in enumerate(inputs):
        known[node] = scope.name(input_names[i] if i < len(input_names) else node.name or f"input_{i}")
    wanted = graph.reaching(list(outputs.values()), stop=set(known))
    owner = graph if owner is None else owner
    captured = {held.node: held.tensor() for held in getattr(owner, "captured", {}).values()}
    values = _variables(owner, [n for n in wanted if n.op.leaf == "variable"], captured, session)
    initializers: dict[str, np.ndarray] = {}
    buffers: list[str] = []
    for node in wanted:
        if node in values or node.op.leaf in ("constant", "shape"):
            tensor = captured.get(node)
            base = names.get(id(tensor), node.name) if tensor is not None else node.name
            known[node] = _leaf(scope, initializers, node, values.get(node), base)
            if tensor is not None and not tensor.requires_grad and known[node] in initializers:
                buffers.append(known[node])
        elif node.op.leaf == "generator":
            known[node] = ""  # ONNX draws by itself
    scope.walk(graph, list(outputs.values()), known)
    results = []
    for i, (name, node) in enumerate(outputs.items()):
        chosen = scope.name(output_names[i] if i < len(output_names) else name)
        scope.nodes.append(onnx.helper.make_node("Identity", [known[node]], [chosen]))
        results.append(value_info(chosen, node.type.dtype, node.type.shape))
    _without_copies(scope, results)
    used = {name for node in _all_nodes(scope.nodes) for name in node.input}
    tensors = [onnx.numpy_helper.from_array(a, name) for name, a in initializers.items() if name in used]
    constants = [
        onnx.helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(value))
        for name, value in scope.values.items() if name in used
    ]  # fmt: skip
    declared = [value_info(known[n], n.type.dtype, n.type.shape) for n in inputs]
    made = onnx.helper.make_model(
        onnx.helper.make_graph([*constants, *scope.nodes], "staticgrad", declared, results, tensors),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)], producer_name="staticgrad", ir_version=9,
    )  # fmt: skip
    if buffers:
        onnx.helper.set_model_props(made, {BUFFERS: json.dumps(buffers)})
    onnx.checker.check_model(made, full_check=True)
    return made


def _leaf(scope: Scope, initializers: dict[str, np.ndarray], node: Node, value: np.ndarray | None, base: str) -> Name:
    if node.op.leaf == "shape":
        return ""
    if value is None:
        array = np.asarray(node.attrs["value"].array)
        if not base:
            return scope.constant(array)
        value = array
    name = scope.name(base or "variable")
    initializers[name] = np.array(value)
    return name


def _variables(graph: Graph, nodes: Sequence[Node], captured: Mapping[Node, Any], session: Any) -> dict[Node, np.ndarray]:
    """The values of variables: of eager tensors, or in a session."""
    values: dict[Node, np.ndarray] = {}
    rest = []
    for node in nodes:
        tensor = captured.get(node) if captured.get(node) is not None else node.attrs["cell"].tensor
        if tensor is not None and session is None:
            values[node] = tensor.detach().numpy()
        else:
            rest.append(node)
    if rest:
        session = get_default_session() if session is None else session
        if session is None:
            raise GraphError(
                f"onnx.export: the variable {rest[0].attrs['cell'].name!r} has no value outside of a session",
                "pass session=, or call this inside `with session:`",
            )
        found = session.run([Symbol(graph, node) for node in rest])
        values |= dict(zip(rest, map(np.asarray, found), strict=True))
    return values


def _without_copies(scope: Scope, results: Sequence[Any]) -> None:
    """Let the node that computes an output give it its name, instead of a copy of it."""
    wanted = {info.name for info in results}
    makers = {name: node for node in scope.nodes for name in node.output}
    uses: dict[str, int] = {}
    for node in _all_nodes(scope.nodes):
        for name in node.input:
            uses[name] = uses.get(name, 0) + 1
    for copy in [n for n in scope.nodes if n.op_type == "Identity" and n.output[0] in wanted]:
        maker = makers.get(copy.input[0])
        if maker is not None and maker is not copy and uses[copy.input[0]] == 1 and copy.input[0] not in wanted:
            i = list(maker.output).index(copy.input[0])
            maker.output[i] = copy.output[0]
            scope.nodes.remove(copy)


def _all_nodes(nodes: Sequence[Any]) -> list[Any]:
    """Nodes, and those of the graphs inside them, with the graphs' outputs as uses."""
    found = []
    for node in nodes:
        found.append(node)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found += _all_nodes(attribute.g.node)
    return found
