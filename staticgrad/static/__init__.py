"""Define-then-run, as in TensorFlow 1: graphs, placeholders, variables, gradients, sessions."""

from .capture import capture
from .dependencies import Operation, control_dependencies, get_default_session, group, identity, no_op
from .feeds import constant, placeholder
from .graphs import Graph, get_default_graph, gradients, reset_default_graph
from .session import Session
from .variables import (
    GraphKeys,
    Variable,
    assign,
    assign_add,
    assign_sub,
    get_collection,
    global_variables,
    global_variables_initializer,
    trainable_variables,
    variables_initializer,
)

__all__ = [
    "Graph", "GraphKeys", "Operation", "Session", "Variable", "assign", "assign_add", "assign_sub", "capture", "constant",
    "control_dependencies", "get_collection", "get_default_graph", "get_default_session", "global_variables",
    "global_variables_initializer", "gradients", "group", "identity", "no_op", "placeholder", "reset_default_graph",
    "trainable_variables", "variables_initializer",
]  # fmt: skip
