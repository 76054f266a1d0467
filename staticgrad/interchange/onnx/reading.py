"""ONNX's protocol buffers as plain Python: steps with their attributes, and arrays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.types import TensorType, UnrankedType
from ...errors import ArgumentError, GraphError
from . import control, elementwise, recurrent, shapes, windows
from .records import DTYPES, READERS, Reader, dtype_of

if TYPE_CHECKING:
    import onnx

FAMILIES = (control, elementwise, recurrent, shapes, windows)
"""The modules that enter readers."""


@dataclass(slots=True, eq=False)
class OnnxNode:
    """A node: its op, the names of its inputs and outputs ("" for absent ones), and its attributes."""

    op: str
    domain: str
    name: str
    inputs: list[str]
    outputs: list[str]
    attrs: dict[str, Any]
    reader: Reader | None
    inner: OnnxGraph | None = None
    """Its steps, where it is a function of other ops; parameters are its inputs by position."""
    proto: Any = None
    kinds: list[TensorType] | None = None
    """The types of its results as far as they are known before any call; None where one is not."""


@dataclass(slots=True, eq=False)
class OnnxGraph:
    """A graph or function: the names of its inputs and outputs, its constants and its steps."""

    inputs: list[str]
    outputs: list[str]
    constants: dict[str, Any]
    steps: list[OnnxNode]
    opsets: Mapping[str, int]


def array_of(tensor: Any, folder: str = "") -> np.ndarray:
    """The array of a TensorProto. Raises DTypeError for a dtype that tensors don't have here."""
    from onnx import numpy_helper

    if tensor.data_type == 8:
        raise ArgumentError("ONNX: texts are not supported")
    dtype = dtype_of(tensor.data_type)
    array: np.ndarray = numpy_helper.to_array(tensor, folder)
    return array.astype(dtype, copy=False)


class Parser:
    """Reads the graphs of one model."""

    def __init__(self, model: onnx.ModelProto, folder: str = ""):
        self.folder = folder
        self.opsets = {entry.domain if entry.domain != "ai.onnx" else "": entry.version for entry in model.opset_import}
        self.functions = {(f.domain, f.name): f for f in model.functions}

    def block(self, graph: onnx.GraphProto, opsets: Mapping[str, int] | None = None) -> OnnxGraph:
        """A graph. `opsets`: those of the function that it belongs to."""
        if graph.sparse_initializer:
            raise GraphError("ONNX: sparse initializers are not supported", "store them as dense tensors")
        constants = {tensor.name: array_of(tensor, self.folder) for tensor in graph.initializer}
        opsets = self.opsets if opsets is None else opsets
        steps = [self.step(node, opsets, {}) for node in graph.node]
        return OnnxGraph([i.name for i in graph.input], [o.name for o in graph.output], constants, steps, opsets)

    def step(self, node: onnx.NodeProto, opsets: Mapping[str, int], given: Mapping[str, Any]) -> OnnxNode:
        """A node. given: the attributes of the function that it is part of, to which its own may refer."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        attrs = {}
        for attribute in node.attribute:
            if not attribute.ref_attr_name:
                attrs[attribute.name] = self.attribute(attribute, opsets)
            elif given.get(attribute.ref_attr_name) is not None:
                attrs[attribute.name] = given[attribute.ref_attr_name]
        if any(attribute.ref_attr_name for attribute in node.attribute):
            node = _resolved(node, attrs)
        step = OnnxNode(
            node.op_type,
            domain,
            node.name,
            list(node.input),
            list(node.output),
            attrs,
            READERS.get((domain, node.op_type)),
            proto=node,
        )
        function = self.functions.get((domain, node.op_type))
        if function is not None:
            step.reader, step.inner = None, self.function(function, attrs)
        return step

    def function(self, function: onnx.FunctionProto, given: Mapping[str, Any]) -> OnnxGraph:
        """The body of a function of the model or of the standard."""
        opsets = {entry.domain if entry.domain != "ai.onnx" else "": entry.version for entry in function.opset_import}
        defaults = {a.name: self.attribute(a, opsets) for a in function.attribute_proto}
        known = {**defaults, **given}
        steps = [self.step(node, opsets, known) for node in function.node]
        return OnnxGraph(list(function.input), list(function.output), {}, steps, opsets)

    def attribute(self, attribute: onnx.AttributeProto, opsets: Mapping[str, int]) -> Any:
        """The value of an attribute: numbers, texts, tuples of them, an array, or a Block."""
        import onnx

        kinds = onnx.AttributeProto
        if attribute.type == kinds.GRAPH:
            return self.block(attribute.g, opsets)
        if attribute.type == kinds.TENSOR:
            return array_of(attribute.t, self.folder)
        if attribute.type in (kinds.FLOATS, kinds.INTS):
            return tuple(attribute.floats if attribute.type == kinds.FLOATS else attribute.ints)
        if attribute.type == kinds.STRINGS:
            return tuple(text.decode() for text in attribute.strings)
        if attribute.type == kinds.STRING:
            return attribute.s.decode()
        if attribute.type in (kinds.FLOAT, kinds.INT):
            return attribute.f if attribute.type == kinds.FLOAT else attribute.i
        return attribute

    def expanded(self, step: OnnxNode, opset: int, types: Sequence[Any], opsets: Mapping[str, int]) -> OnnxGraph | None:
        """The body that the standard gives for an op in terms of others; None where there is none. types: (dtype, shape) of
        its inputs, None for absent ones."""
        import onnx

        try:
            schema: Any = onnx.defs.get_schema(step.op, opset, step.domain)
        except onnx.defs.SchemaError:
            return None
        if schema.has_function:
            function = schema.function_body
        elif schema.has_context_dependent_function:
            inputs = [_type_proto(t) for t in types]
            text = schema.get_context_dependent_function(
                step.proto.SerializeToString(), [i.SerializeToString() for i in inputs]
            )
            function = onnx.FunctionProto.FromString(text)
        else:
            return None
        defaults = {
            name: self.attribute(a.default_value, opsets) for name, a in schema.attributes.items() if a.default_value.name
        }
        return self.function(function, {**defaults, **step.attrs})


def _resolved(node: onnx.NodeProto, attrs: Mapping[str, Any]) -> Any:
    """The node with the values of attributes that refer to those of a function."""
    import onnx

    made = onnx.NodeProto()
    made.CopyFrom(node)
    kept = [a for a in node.attribute if not a.ref_attr_name]
    given = [onnx.helper.make_attribute(a.name, attrs[a.name]) for a in node.attribute if a.ref_attr_name and a.name in attrs]
    del made.attribute[:]
    made.attribute.extend([*kept, *given])
    return made


def _type_proto(kind: Any) -> Any:
    import onnx

    from .records import CODES

    made = onnx.TypeProto()
    if kind is not None:
        dtype, shape = kind
        made.tensor_type.elem_type = CODES[dtype]
        for extent in shape:
            made.tensor_type.shape.dim.add().dim_value = extent
    return made


def inferred_types(model: onnx.ModelProto) -> dict[str, TensorType]:
    """The types of values that follow from the model's inputs, by name; without those of dtypes that tensors don't have."""
    import onnx

    try:
        model = onnx.shape_inference.infer_shapes(model)
    except Exception:  # a model beyond 2 GB, or of ops that are unknown there
        return {}
    found: dict[str, TensorType] = {}
    for value in (*model.graph.value_info, *model.graph.output):
        kind = value.type.tensor_type
        if kind.elem_type in DTYPES:
            extents = tuple(d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim)
            dtype = DTYPES[kind.elem_type]
            found[value.name] = TensorType(extents, dtype) if kind.HasField("shape") else UnrankedType(dtype)
    return found


def all_steps(block: OnnxGraph) -> Iterator[OnnxNode]:
    """The steps of a block and of the graphs inside them."""
    for step in block.steps:
        yield step
        for value in step.attrs.values():
            if isinstance(value, OnnxGraph):
                yield from all_steps(value)
        if step.inner is not None:
            yield from all_steps(step.inner)


def parsed(source: Any) -> tuple[onnx.ModelProto, str]:
    """A model, checked, and the folder of its external data. source: a path, bytes, or a ModelProto."""
    import onnx

    if isinstance(source, onnx.ModelProto):
        return source, ""
    if isinstance(source, bytes):
        return onnx.load_from_string(source), ""
    path = os.fspath(source)
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError:
        raise
    except Exception as error:  # of the protocol buffers' library
        raise GraphError(f"onnx.load: {path} is no ONNX model: {error}") from None
    return model, os.path.dirname(os.path.abspath(path))
