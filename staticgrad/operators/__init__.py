"""Operations before there is a mode: dispatch between the modes, symbols, and the operators that every tensor has."""

from .dispatch import NUMPY, F, apply, default_graph, frontends, lines_of, numpy_twin, public, state
from .methods import WITH_TORCH_WORDS, WRITERS, Operators, bind_methods
from .nodes import append, as_array, as_node, control_of, listed, located, operand_of, promotion
from .symbols import Symbol

__all__ = [
    "NUMPY",
    "WITH_TORCH_WORDS",
    "WRITERS",
    "F",
    "Operators",
    "Symbol",
    "append",
    "apply",
    "as_array",
    "as_node",
    "bind_methods",
    "control_of",
    "default_graph",
    "frontends",
    "lines_of",
    "listed",
    "located",
    "numpy_twin",
    "operand_of",
    "promotion",
    "public",
    "state",
]
