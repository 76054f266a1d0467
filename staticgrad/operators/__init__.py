"""Operations before there is a mode: dispatch between the modes, symbols, and the operators that every tensor has."""

from . import absent_names, conversions, interception, misuse  # noqa: F401 - methods of every tensor
from .annotations import Array, Carry, Index, MaybeNone, Output, Tensor, TensorLike, Tensors
from .cached_calls import no_route, routed, viewed
from .dispatch import (
    NUMPY,
    SPECIAL,
    F,
    apply,
    check_change,
    composite,
    default_graph,
    frontends,
    intercepted,
    lines_of,
    numpy_twin,
    public,
    state,
)
from .former_names import FormerNode, retained, warn_former
from .lifted import Application, Level, Lifted, concrete, ended, top_level
from .memory import layout_of
from .methods import WRITERS, Operators, bind_methods, is_tensor
from .nodes import append, as_array, as_node, control_of, listed, located, operand_of, promotion
from .open_numbers import OpenNumber, OpenNumbers
from .sizes import Count, Size, count_of
from .spelling import INPLACE, NONE, Cached, as_it_is, enter_as, respelled, spelled, tensor_method, torch_function, with_example
from .symbols import GradFn, Symbol, flows, has_rank

__all__ = [
    "INPLACE",
    "NONE",
    "NUMPY",
    "SPECIAL",
    "WRITERS",
    "Application",
    "Array",
    "Cached",
    "Carry",
    "Count",
    "F",
    "FormerNode",
    "GradFn",
    "Index",
    "Level",
    "Lifted",
    "MaybeNone",
    "OpenNumber",
    "OpenNumbers",
    "Operators",
    "Output",
    "Size",
    "Symbol",
    "Tensor",
    "TensorLike",
    "Tensors",
    "append",
    "apply",
    "as_array",
    "as_it_is",
    "as_node",
    "bind_methods",
    "check_change",
    "composite",
    "concrete",
    "control_of",
    "count_of",
    "default_graph",
    "ended",
    "enter_as",
    "flows",
    "frontends",
    "intercepted",
    "has_rank",
    "is_tensor",
    "layout_of",
    "lines_of",
    "listed",
    "located",
    "misuse",
    "numpy_twin",
    "operand_of",
    "no_route",
    "promotion",
    "public",
    "respelled",
    "retained",
    "routed",
    "spelled",
    "state",
    "tensor_method",
    "top_level",
    "torch_function",
    "viewed",
    "warn_former",
    "with_example",
]
