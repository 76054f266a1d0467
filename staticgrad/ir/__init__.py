"""The one IR of both modes: op records, nodes and graphs."""

from .graph import NO_ATTRS, Adjacency, Cell, Graph, Literal, Node, OfGraph, Subgraph, Travelling, failing, literal, may_fail
from .lowering import *
from .op import *

__all__ = [
    "built_in", "collapse", "failing", "may_fail", "Adjacency", "NO_ATTRS", "REGISTRY", "Attribute", "Call", "Cell", "Clear",
    "Copy", "Deferred", "Effect", "Emit", "Exchange", "Expand", "Extent", "Gemm", "Graph", "Index", "Layout", "Leaf",
    "Lookup", "Literal", "Native", "Order", "Node", "OfGraph", "OpDef", "OverComplex", "Pointwise", "Range", "Reduction",
    "Region", "Result", "Routine", "Scatter", "Scratch", "Subgraph", "Travelling", "View", "Window", "define", "enter",
    "derivation", "literal", "node_name", "lasting", "over", "over_types",
]  # fmt: skip
