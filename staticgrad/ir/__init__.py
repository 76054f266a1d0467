"""The one IR of both modes: op records, nodes and graphs."""

from .cell import Cell
from .graph import Graph, literal
from .node import NO_ATTRS, Literal, Node
from .op import (
    REGISTRY,
    Effect,
    Emit,
    Expand,
    Extent,
    Index,
    Layout,
    Leaf,
    Lookup,
    Native,
    OpDef,
    Pointwise,
    Reduction,
    Region,
    Result,
    Routine,
    Scatter,
    View,
    Window,
    define,
)
from .subgraph import Subgraph

__all__ = [
    "NO_ATTRS",
    "REGISTRY",
    "Cell",
    "Effect",
    "Emit",
    "Expand",
    "Extent",
    "Graph",
    "Index",
    "Layout",
    "Leaf",
    "Lookup",
    "Literal",
    "Native",
    "Node",
    "OpDef",
    "Pointwise",
    "Reduction",
    "Region",
    "Result",
    "Routine",
    "Scatter",
    "Subgraph",
    "View",
    "Window",
    "define",
    "literal",
]
