"""Operations before there is a mode: dispatch between the modes, symbols, and the operators that every tensor has."""

from . import conversions, dispatch, methods, misuse  # noqa: F401 - methods of every tensor
from .annotations import Array, Carry, Index, MaybeNone, Output, Tensor, TensorLike, Tensors
from .conversions import *
from .dispatch import *
from .dispatch import NOBODY, ORDINARY, Count, Size, count_of, disabled_torch_function, taken, takes_over, taking, untaken
from .lifted import Application, Level, Lifted, MetaTensor, concrete, ended, for_meta, on_meta, set_default, top_level
from .methods import WRITERS, Operators, foreign, is_tensor
from .misuse import FormerNode, retained, warn_former
from .node_names import append, as_array, as_node, control_of, listed, located, operand_of, promotion
from .spelling import *
from .spelling import by_method, filled_by, no_route, routed, viewed
from .symbols import (
    PRESERVING,
    GradFn,
    Symbol,
    as_images,
    copied,
    flows,
    has_rank,
    image_eval,
    in_format,
    in_layout,
    layout_of,
    lies_in,
    order_of,
    span_of,
)
from .unknown_numbers import OpenNumbers

__all__ = [
    "INPLACE", "NOBODY", "NONE", "NUMPY", "ORDINARY", "PRESERVING", "SPECIAL", "WRITERS", "Application", "Array", "Cached",
    "Carry", "Count", "F", "FormerNode", "GradFn", "Index", "Level", "Lifted", "LikePlacement", "MaybeNone", "MetaTensor",
    "OpenNumbers", "Operators", "Options", "Output", "Placement", "Size", "Symbol", "Tensor", "TensorLike", "Tensors",
    "append", "autocasting", "autocasts", "apply", "as_array", "as_images", "as_it_is", "as_node", "by_method",
    "check_change", "composite", "concrete", "control_of", "copied", "count_of", "default_graph", "disabled_torch_function",
    "ended", "enter_as", "enter_late", "factory", "filled_by", "flows", "for_meta", "foreign", "frontends", "image_eval",
    "in_format", "in_layout", "intercepted", "has_rank", "is_tensor", "layout_of", "lies_in", "lines_of", "listed",
    "located", "misuse", "numpy_twin", "numpy_twin_of", "on_meta", "operand_of", "order_of", "no_route", "one_node",
    "promotion", "public", "public_functions", "respelled", "retained", "rounded_once", "routed", "set_default", "span_of",
    "spelled", "state", "taken", "takes_over", "taking", "tensor_method", "to_precision", "top_level", "torch_function",
    "untaken", "viewed", "weight_in", "warn_former", "with_example",
]  # fmt: skip
