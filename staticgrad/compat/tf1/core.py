"""What the dialect takes of the rest of the package: its other modules import nothing from other rooms."""

from __future__ import annotations

from ... import distributions, functional, linalg, safetensors, special, static
from ... import errors as ours
from ...base import communicators
from ...base.dtypes import as_dtype
from ...base.dtypes import named as named_dtype
from ...base.files import replacing
from ...base.interpreter import Condition, lock, module
from ...base.types import FLOATING, TensorType, UnrankedType, bool_, finfo, float64, normalize_axis
from ...compiler.backend.cpu import ARM, X86
from ...distributed import get_rank, get_world_size, init_process_group, is_initialized
from ...errors import ArgumentError, GraphError, IndexRangeError, StaticgradError, UnknownExtentError, user_line
from ...interchange.graph_json import from_json, to_json
from ...ir import REGISTRY, Node, OpDef
from ...ir.walks import postorder, reached
from ...namespaces.distributions.utils import gamma_quantile
from ...namespaces.functional import cross_entropy, pad
from ...namespaces.functional import log_softmax as functional_log_softmax
from ...namespaces.functional import silu as torch_silu
from ...namespaces.lookup.modules import enter_paths
from ...namespaces.utils.tensorboard.writer import fill_histogram, fill_image, fill_text, protocol
from ...ops import pytree
from ...ops.communication import all_gather_op, all_reduce_op, buckets, communicate, joined, parted
from ...ops.cumulative import running_product
from ...ops.custom_gradient import call_symbols, python_call_op, watch_op
from ...ops.deferred import Definition, Written, defer, narrowed, partial_values, value_of
from ...ops.elementwise import written
from ...ops.gathering import bounded
from ...ops.leaves import fits
from ...ops.linear_algebra.triangular_systems import triangular
from ...ops.operators import F, Symbol, apply, control_of, dispatch, has_rank, state
from ...ops.pytree import Container, unflatten
from ...ops.random import DrawPosition, OwnGenerator, next_place, normal_op, seeded_normal_op, seeded_uniform_op, stream_seed
from ...ops.random import uniform_op as uniform_op
from ...ops.rules import Rule, arithmetic
from ...ops.sized import counted_op, different, nonzero_op, positions_op
from ...static import Operation as Effect
from ...static import Variable as StaticVariable
from ...static import get_default_session
from ...static.dependencies import session_or_default
from ...static.feeds import Feed, flatten, placeholder_of
from ...static.graphs import SourceRun, begin_default_graph, element, using
from ...static.graphs import named as node_named
from ...static.variables import updated

__all__ = [
    "ARM", "ArgumentError", "Condition", "Container", "Definition", "Effect", "F", "FLOATING", "Feed", "GraphError",
    "IndexRangeError", "Node", "OpDef", "OwnGenerator", "DrawPosition", "REGISTRY", "Rule", "SourceRun", "StaticVariable",
    "StaticgradError", "Symbol", "TensorType", "UnknownExtentError", "UnrankedType", "Written", "X86", "all_gather_op",
    "all_reduce_op", "apply", "arithmetic", "as_dtype", "begin_default_graph", "bool_", "bounded", "buckets", "call_symbols",
    "communicate", "communicators", "control_of", "counted_op", "cross_entropy", "defer", "different", "dispatch",
    "distributions", "element", "enter_paths", "fill_histogram", "fill_image", "fill_text", "finfo", "fits", "flatten",
    "float64", "from_json", "functional", "functional_log_softmax", "gamma_quantile", "get_default_session", "get_rank",
    "get_world_size", "has_rank", "init_process_group", "is_initialized", "joined", "linalg", "lock", "module", "named_dtype",
    "narrowed", "next_place", "node_named", "nonzero_op", "normal_op", "normalize_axis", "ours", "pad", "parted",
    "partial_values", "placeholder_of", "positions_op", "postorder", "protocol", "python_call_op", "pytree", "reached",
    "replacing", "running_product", "safetensors", "seeded_normal_op", "seeded_uniform_op", "session_or_default", "special",
    "state", "static", "stream_seed", "to_json", "torch_silu", "triangular", "unflatten", "uniform_op", "updated",
    "user_line", "using", "value_of", "watch_op", "written",
]  # fmt: skip
