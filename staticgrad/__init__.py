"""staticgrad: a static-graph compiler for training on the CPU, contrasted with define-by-run.

`import staticgrad as sg` loads NumPy and the eager front end. Everything else is loaded when it is first named; llvmlite,
networkx, scipy and matplotlib when something needs them.
"""

from __future__ import annotations

import builtins
import importlib
import math
import os
import sys
from typing import TYPE_CHECKING, Any

from .base import garbage as _freed_memory
from .base import garbage as _garbage

_importing = _garbage.paused(old=True)
_importing.__enter__()  # left at the end of this file, or with this module where an import fails
_freed_memory.keep()

from . import torch_names, version
from .base import types as _types
from .base.devices import check_device, device
from .base.dtypes import (
    ABSENT_DTYPES,
    as_dtype,
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    public,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .base.number_limits import finfo, iinfo
from .base.types import category, set_default_dtype
from .eager import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
    arange,
    asarray,
    detect_anomaly,
    eager_kernels,
    empty,
    empty_permuted,
    empty_strided,
    enable_grad,
    eye,
    full,
    generator,
    grad,
    is_grad_enabled,
    linspace,
    logspace,
    manual_seed,
    no_grad,
    ones,
    rand,
    randint,
    randn,
    randperm,
    scalar_tensor,
    set_grad_enabled,
    zeros,
)
from .eager import PublicTensor as Tensor
from .eager.calls.kernels import wait_for_kernels
from .eager.conversion import as_tensor, from_dlpack, from_file, from_numpy, frombuffer, is_tensor, to_dlpack
from .eager.creation import range_ as range
from .eager.creation import tensor  # from `.eager`, type checkers would take the module of that name
from .eager.grad_mode import inference_mode, is_anomaly_enabled, is_inference_mode_enabled
from .eager.grad_mode import set_detect_anomaly as set_anomaly_enabled
from .eager.storage import UntypedStorage
from .errors import (
    AnomalyError,
    ArgumentError,
    ArgumentTypeError,
    AxisError,
    CompileError,
    DataDependentError,
    DeviceError,
    DivisionError,
    DTypeError,
    FeedError,
    GradientError,
    GraphError,
    IndexRangeError,
    LinAlgError,
    MissingFeedError,
    OutOfMemoryError,
    ShapeError,
    StaticgradError,
    TraceError,
    TransformError,
    UninitializedError,
    UnknownExtentError,
    UnsupportedError,
    VerifyError,
)
from .interchange import protocols
from .namespaces.modules import is_module
from .namespaces.paths import PATHS
from .namespaces.random import get_rng_state, initial_seed, seed, set_rng_state
from .operators import autocasting as _autocasting
from .operators.sizes import Size
from .ops.operands import promoted
from .ops.random import Generator

protocols.enter()
__version__ = version.__version__
bool = bool_
cdouble = complex128
cfloat = complex64
double = float64
float = float32
half = float16
int = int32
long = int64
short = int16
strided = "torch.strided"
sparse_coo = "torch.sparse_coo"
contiguous_format = "torch.contiguous_format"
preserve_format = "torch.preserve_format"
channels_last = "torch.channels_last"
channels_last_3d = "torch.channels_last_3d"
legacy_contiguous_format = contiguous_format
memory_format = layout = str
has_lapack = has_spectral = True
has_mkl = has_openmp = False
default_generator = generator
newaxis = None
inf = math.inf

nan = math.nan
pi = math.pi
e = math.e

if TYPE_CHECKING:
    from . import (
        accelerator,
        amp,
        autograd,
        backends,
        compiler,
        cuda,
        debug,
        distributed,
        distributions,
        fft,
        func,
        functional,
        jit,
        linalg,
        nn,
        optim,
        profiler,
        random,
        special,
        testing,
        utils,
    )
    from .amp import GradScaler, autocast
    from .base.devices import (
        are_deterministic_algorithms_enabled,
        get_deterministic_debug_mode,
        get_float32_matmul_precision,
        get_num_interop_threads,
        is_deterministic_algorithms_warn_only_enabled,
        is_warn_always_enabled,
        set_deterministic_debug_mode,
        set_float32_matmul_precision,
        set_flush_denormal,
        set_num_interop_threads,
        set_warn_always,
        use_deterministic_algorithms,
    )
    from .compiler.passes.rewrite import graph_pass, rewrite
    from .compiler.runtime.threads import get_num_threads, set_num_threads
    from .eager.printing import set_printoptions
    from .eager.tape_graph import graph_of
    from .func import vmap
    from .functional.torch_layers import *  # PyTorch's functions of layers, listed below
    from .interchange import onnx, sklearn
    from .interchange.graph_json import from_json, to_json
    from .interchange.scipy_optimize import scipy_objective
    from .interchange.torch_export import from_torch
    from .namespaces.fronts import as_torch
    from .numba_ops import njit_op
    from .serialization import load, save
    from .static import (
        Graph,
        GraphKeys,
        Operation,
        Session,
        Variable,
        assign,
        assign_add,
        assign_sub,
        constant,
        control_dependencies,
        get_collection,
        get_default_graph,
        get_default_session,
        global_variables,
        global_variables_initializer,
        gradients,
        group,
        identity,
        no_op,
        placeholder,
        reset_default_graph,
        trainable_variables,
        variables_initializer,
    )
    from .torch_names import *  # the public functions of tensors, listed there
    from .tracing import compile, print
    from .utils.training import fit
    from .viz.compare import compare
    from .viz.draw import draw
    from .viz.verbs import explain, plan_diff, profile, to_dot, to_graphml, to_networkx, to_text


_MODULES = {
    ".amp": ("GradScaler", "autocast"),
    ".base.devices": (
        "are_deterministic_algorithms_enabled",
        "get_deterministic_debug_mode",
        "get_float32_matmul_precision",
        "get_num_interop_threads",
        "is_deterministic_algorithms_warn_only_enabled",
        "is_warn_always_enabled",
        "set_deterministic_debug_mode",
        "set_float32_matmul_precision",
        "set_flush_denormal",
        "set_num_interop_threads",
        "set_warn_always",
        "use_deterministic_algorithms",
    ),
    ".eager.printing": ("set_printoptions",),
    ".eager.tape_graph": ("graph_of",),
    ".viz.compare": ("compare",),
    ".compiler.runtime.threads": ("get_num_threads", "set_num_threads"),
    ".viz.draw": ("draw",),
    ".interchange": ("onnx", "sklearn"),
    ".interchange.scipy_optimize": ("scipy_objective",),
    ".interchange.torch_export": ("from_torch",),
    ".viz.verbs": ("explain", "plan_diff", "profile", "to_dot", "to_graphml", "to_networkx", "to_text"),
    ".interchange.graph_json": ("from_json", "to_json"),
    ".numba_ops": ("njit_op",),
    ".serialization": ("load", "save"),
    ".static": (
        "Graph", "GraphKeys", "Operation", "Session", "Variable", "assign", "assign_add", "assign_sub", "constant",
        "control_dependencies", "get_collection", "get_default_graph", "get_default_session", "global_variables",
        "global_variables_initializer", "gradients", "group", "identity", "no_op", "placeholder", "reset_default_graph",
        "trainable_variables", "variables_initializer",
    ),
    ".compiler.passes.rewrite": ("graph_pass", "rewrite"),
    ".functional.torch_layers": (
        "adaptive_avg_pool1d", "adaptive_max_pool1d", "affine_grid_generator", "alpha_dropout",
        "alpha_dropout_", "avg_pool1d", "batch_norm", "bilinear",
        "binary_cross_entropy_with_logits", "celu", "celu_", "channel_shuffle", "constant_pad_nd", "conv1d", "conv2d",
        "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
        "cosine_similarity", "ctc_loss", "dropout_", "embedding", "feature_alpha_dropout", "feature_alpha_dropout_",
        "feature_dropout", "feature_dropout_", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "group_norm", "gru_cell",
        "hardshrink", "hinge_embedding_loss", "instance_norm", "kl_div", "layer_norm", "lstm_cell", "margin_ranking_loss",
        "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d", "pairwise_distance", "pdist", "pixel_shuffle",
        "pixel_unshuffle", "poisson_nll_loss", "prelu", "rms_norm", "rnn_relu_cell", "rnn_tanh_cell", "rrelu",
        "rrelu_", "selu", "selu_", "threshold", "threshold_", "triplet_margin_loss",
    ),
    ".tracing": ("compile", "print"),
    ".utils.training": ("fit",),
    ".func": ("vmap",),
    ".namespaces.fronts": ("as_torch",),
}  # fmt: skip
_LAZY = {name: module for module, names in _MODULES.items() for name in names}
_LAZY.update(dict.fromkeys(torch_names.__all__, ".torch_names"))
"""Public name -> the module that defines it, imported when the name is first used."""

_LAZY_MODULES = frozenset(
    {"accelerator", "amp", "autograd", "backends", "compiler", "cuda", "debug", "distributed", "distributions", "fft", "func",
     "functional", "jit", "linalg", "nn", "optim", "profiler", "random", "special", "testing", "utils"}
)  # fmt: skip


if not TYPE_CHECKING:  # type checkers know the names from the imports above, and report all others

    def __getattr__(name: str) -> Any:
        if name in _LAZY_MODULES or (name in PATHS and name not in _LAZY):
            return importlib.import_module(f".{name}", __name__)
        if name in ABSENT_DTYPES:
            return ABSENT_DTYPES[name]
        if name not in _LAZY:
            more = ""
            if not is_module(name):  # an import of a module asks for the name first
                from .namespaces.advice import advice

                more = advice(name, __all__)
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{more}")
        value = getattr(importlib.import_module(_LAZY[name], __name__), name)
        globals()[name] = value  # later uses find it without coming here
        return value


def is_floating_point(input: Any) -> builtins.bool:
    """Whether a tensor's dtype is floating."""
    return builtins.bool(input.dtype.kind == "f")


def is_complex(input: Any) -> builtins.bool:
    """Whether a tensor's dtype is complex."""
    return builtins.bool(input.dtype.kind == "c")


def is_nonzero(input: Any) -> builtins.bool:
    """Whether the one element of a tensor is not 0. Raises ShapeError for any other number of elements."""
    return builtins.bool(input)


def numel(input: Any) -> builtins.int:
    """The number of elements.

    Examples:
        >>> sg.numel(sg.zeros(2, 3))
        6
    """
    return builtins.int(input.numel())


def get_default_dtype() -> dtype:
    """The floating dtype that Python floats and `int / int` take: float32 unless set.

    Examples:
        >>> sg.get_default_dtype()
        torch.float32
    """
    return public(_types.get_default_dtype())


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype that two operands take together.

    Examples:
        >>> sg.result_type(sg.tensor([1]), sg.tensor([1.0]))
        torch.float32
    """
    return public(promoted(tensor1, tensor2))


def promote_types(type1: Any, type2: Any) -> dtype:
    """The dtype that tensors of two dtypes take together."""
    return public(promoted(empty((1,), dtype=type1), empty((1,), dtype=type2)))


def can_cast(from_: Any, to: Any) -> builtins.bool:
    """Whether PyTorch's conversions allow it: not from floats to integers, nor from anything but booleans to booleans."""
    return category(as_dtype(from_)) <= category(as_dtype(to))


def is_signed(input: Any) -> builtins.bool:
    """Whether numbers of the dtype have a sign."""
    return builtins.bool(input.dtype.kind in "ifc")


def is_inference(input: Any) -> builtins.bool:
    """Whether a tensor was made inside `inference_mode`."""
    return builtins.bool(input.is_inference())


def is_storage(obj: Any) -> builtins.bool:
    """Whether it is the memory of a tensor, as `x.untyped_storage()` gives it."""
    return isinstance(obj, UntypedStorage)


def is_conj(input: Any) -> builtins.bool:
    """False: a conjugate is computed when it is written."""
    return False


def is_neg(input: Any) -> builtins.bool:
    """False: a negation is computed when it is written."""
    return False


def get_device(input: Any) -> builtins.int:
    """-1, the number of the CPU."""
    return -1


def detach(input: Any) -> Tensor:
    """The same value, through which no gradient flows.

    Examples:
        >>> w = sg.ones(1, requires_grad=True)
        >>> sg.detach(w).requires_grad
        False
    """
    return input.detach()


def typename(obj: Any) -> str:
    """PyTorch's name of a tensor's kind, "torch.FloatTensor"; of other objects the name of their class."""
    return str(obj.type()) if is_tensor(obj) else f"{type(obj).__module__}.{type(obj).__qualname__}"


def is_same_size(input: Any, other: Any) -> builtins.bool:
    """Whether both have the same shape."""
    return builtins.bool(input.shape == other.shape)


def get_default_device() -> device:
    """The CPU."""
    return device("cpu")


def set_default_device(device: Any) -> None:
    """Nothing for the CPU. Raises DeviceError for any other device."""
    check_device(device)


def is_autocast_enabled(device_type: str = "cpu") -> builtins.bool:
    """Whether `autocast` is on, for the CPU."""
    return device_type == "cpu" and _autocasting()


def is_autocast_cpu_enabled() -> builtins.bool:
    """Whether `autocast` is on."""
    return _autocasting()


def is_anomaly_check_nan_enabled() -> builtins.bool:
    """Whether `detect_anomaly` looks for NaN: always, when it is on."""
    return True


def is_distributed(input: Any) -> builtins.bool:
    """False: there is one process."""
    return False


def compiled_with_cxx11_abi() -> builtins.bool:
    """True: there is no other."""
    return True


def set_default_tensor_type(t: Any) -> None:
    """Set the default floating dtype by the name or class of its tensors."""
    set_default_dtype(as_dtype(t))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "AnomalyError", "ArgumentError", "ArgumentTypeError", "AxisError",
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "CompileError", "DTypeError",
    "DataDependentError", "DeviceError", "DivisionError", "DoubleTensor", "FeedError", "FloatTensor", "Generator", "HalfTensor",
    "MissingFeedError",
    "GradientError", "Graph", "GraphError", "GraphKeys", "IndexRangeError", "IntTensor", "LinAlgError", "LongTensor",
    "Operation", "OutOfMemoryError", "Session", "ShapeError", "ShortTensor", "Size", "StaticgradError", "Tensor",
    "TraceError", "TransformError", "UninitializedError", "UnknownExtentError", "UnsupportedError",
    "Variable", "VerifyError", "__version__",
    "arange", "are_deterministic_algorithms_enabled", "as_tensor", "as_torch", "asarray", "assign", "assign_add", "assign_sub",
    "autograd", "backends", "bfloat16", "bool", "bool_", "can_cast", "cdouble", "cfloat", "channels_last", "compare", "compile",
    "complex128", "complex64", "constant", "contiguous_format", "control_dependencies", "cuda", "debug", "detach",
    "detect_anomaly", "device", "distributions", "double", "draw", "dtype", "e", "eager_kernels", "empty", "empty_permuted",
    "empty_strided", "enable_grad", "explain", "eye", "fft", "finfo", "fit", "float", "float16", "float32", "float64",
    "from_dlpack", "from_file", "from_json", "from_numpy", "from_torch", "frombuffer", "full", "func", "functional",
    "get_collection",
    "get_default_device", "get_default_dtype", "get_default_graph", "get_default_session", "get_deterministic_debug_mode",
    "get_device", "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "get_rng_state",
    "global_variables", "global_variables_initializer", "grad", "gradients", "graph_of", "graph_pass", "group", "half",
    "identity", "iinfo", "inf", "inference_mode", "initial_seed", "int", "int16", "int32", "int64", "int8",
    "is_anomaly_enabled", "is_complex", "is_conj", "is_deterministic_algorithms_warn_only_enabled", "is_floating_point",
    "is_grad_enabled",
    "is_inference", "is_inference_mode_enabled", "is_neg", "is_nonzero", "is_same_size", "is_signed", "is_storage",
    "is_tensor", "is_warn_always_enabled", "linalg", "linspace", "load", "logspace", "long", "manual_seed", "nan",
    "njit_op", "nn",
    "no_grad", "no_op", "numel", "ones", "onnx", "optim", "pi", "placeholder", "plan_diff", "preserve_format", "print",
    "profile", "promote_types", "rand", "randint", "randn", "random", "randperm", "range", "reset_default_graph",
    "result_type", "rewrite", "save", "scalar_tensor", "scipy_objective", "seed", "set_default_device", "set_default_dtype",
    "set_anomaly_enabled", "set_default_tensor_type",
    "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal",
    "set_grad_enabled", "set_num_interop_threads", "set_num_threads", "set_printoptions", "set_rng_state", "set_warn_always",
    "short", "sklearn", "special", "strided", "tensor", "to_dlpack", "to_dot", "to_graphml", "to_json", "to_networkx",
    "to_text", "trainable_variables", "typename", "uint16", "uint32", "uint64",
    "uint8", "use_deterministic_algorithms", "utils", "variables_initializer",
    "vmap", "wait_for_kernels", "zeros",
]  # fmt: skip
__all__ += [
    "GradScaler", "accelerator", "amp", "autocast", "compiler", "distributed", "profiler", "testing", "version",
    "channels_last_3d", "legacy_contiguous_format", "has_lapack", "has_spectral", "has_mkl", "has_openmp",
    "default_generator", "is_autocast_enabled", "is_autocast_cpu_enabled", "is_anomaly_check_nan_enabled", "is_distributed",
    "compiled_with_cxx11_abi", "jit", *torch_names.__all__, *_MODULES[".functional.torch_layers"],
]  # fmt: skip
__all__.sort()


def _show_uncaught(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
    """`sys.excepthook`: see `base/tracebacks.py`, which only errors need."""
    from .base import tracebacks

    tracebacks.show(kind, error, traceback)


if "STATICGRAD_RECORD" in os.environ:
    importlib.import_module(".interchange.recording", __name__).begin(os.environ["STATICGRAD_RECORD"])
if sys.excepthook is sys.__excepthook__:  # the program, a notebook or a test runner may have one that serves it better
    sys.excepthook = _show_uncaught
_importing.__exit__(None, None, None)
