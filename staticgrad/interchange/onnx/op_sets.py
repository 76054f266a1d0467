"""Models in other versions of ONNX's op set than the one that writers write."""

from __future__ import annotations

from typing import Any

from ...errors import ArgumentError
from .writing import OPSET, UnwrittenError

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
