"""staticgrad: a static-graph compiler for training on the CPU, contrasted with define-by-run.

`import staticgrad as sg` loads NumPy and the eager front end. Everything else is loaded when it is first named; llvmlite,
networkx, scipy and matplotlib when something needs them. Type checkers read `staticgrad-stubs/`, made of the tables here.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
from typing import Any

from .base import interpreter as _interpreter

_importing = _interpreter.paused(old=True)
_importing.__enter__()  # left at the end of this file, or with this module where an import fails
_interpreter.keep()

from .base.dtypes import ABSENT_DTYPES as _ABSENT_DTYPES
from .interchange import protocols as _protocols
from .namespaces import version
from .namespaces.lookup import torch_names
from .namespaces.lookup.modules import MissingName as _MissingName
from .namespaces.lookup.paths import HOMES as _HOMES
from .namespaces.lookup.paths import PATHS as _PATHS

_NOW = {
    ".base.devices": "device",
    ".base.dtypes": """
        bfloat16 bool_ complex64 complex128 dtype float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32
        uint64 bool=bool_ cdouble=complex128 cfloat=complex64 double=float64 float=float32 half=float16 int=int32
        long=int64 short=int16""",
    ".base.types": "finfo iinfo set_default_dtype",
    ".eager": """
        BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor
        ShortTensor arange asarray detect_anomaly eager_kernels empty empty_permuted empty_strided enable_grad eye
        full generator grad is_grad_enabled linspace logspace manual_seed no_grad ones rand randint randn randperm
        scalar_tensor set_grad_enabled zeros Tensor=PublicTensor default_generator=generator""",
    ".eager.calls.kernels": "wait_for_kernels",
    ".eager.conversion": "as_tensor from_dlpack from_file from_numpy frombuffer is_tensor to_dlpack",
    ".eager.creation": "range=range_ tensor",
    ".eager.grad_mode": "inference_mode is_anomaly_enabled is_inference_mode_enabled set_anomaly_enabled=set_detect_anomaly",
    ".errors": """
        AnomalyError ArgumentError ArgumentTypeError AxisError CompileError DataDependentError DeviceError
        DivisionError DTypeError FeedError GradientError GraphError IndexRangeError LinAlgError MissingFeedError NoDataError
        OutOfMemoryError ShapeError StaticgradError TraceError TransformError UninitializedError UnknownExtentError
        UnsupportedError VerifyError""",
    ".namespaces.random": "get_rng_state initial_seed seed set_rng_state",
    ".ops.operators.dispatch": "Size",
    ".ops.random": "Generator",
    ".eager.questions": """
        can_cast compiled_with_cxx11_abi detach get_default_device get_default_dtype get_device
        is_anomaly_check_nan_enabled is_autocast_cpu_enabled is_autocast_enabled is_complex is_conj is_distributed
        is_floating_point is_inference is_neg is_nonzero is_same_size is_signed is_storage numel promote_types
        result_type set_default_device set_default_tensor_type typename""",
}
"""Module -> the public names that are imported from it now: `name`, or `public=name`."""

_LATE = {
    ".amp": "GradScaler autocast",
    ".base.devices": """
        are_deterministic_algorithms_enabled get_deterministic_debug_mode get_float32_matmul_precision
        get_num_interop_threads is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled
        set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_num_interop_threads
        set_warn_always use_deterministic_algorithms""",
    ".eager.printing": "set_printoptions",
    ".eager.tape_graph": "graph_of",
    ".viz.compare": "compare",
    ".compiler.runtime.loader": "get_num_threads set_num_threads",
    ".viz.draw": "draw",
    ".interchange": "onnx sklearn",
    ".interchange.scipy_optimize": "scipy_objective",
    ".interchange.torch_export": "from_torch",
    ".viz.subjects": "explain plan_diff profile to_dot to_graphml to_networkx to_text",
    ".interchange.graph_json": "from_json to_json",
    ".interchange.numba_ops": "njit_op",
    ".interchange.serialization": "load save",
    ".static": """
        Graph GraphKeys Operation Session Variable assign assign_add assign_sub constant control_dependencies
        get_collection get_default_graph get_default_session global_variables global_variables_initializer gradients
        group identity no_op placeholder reset_default_graph trainable_variables variables_initializer""",
    ".compiler.passes.rewrite": "graph_pass rewrite",
    ".namespaces.functional": """
        adaptive_avg_pool1d avg_pool1d bilinear celu celu_ channel_shuffle conv1d conv2d conv3d conv_tbc
        conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity hardshrink max_pool1d
        max_pool1d_with_indices max_pool2d max_pool3d pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu
        rms_norm rrelu rrelu_ selu selu_ threshold threshold_""",
    ".namespaces.functional.torch_layers": """
        adaptive_max_pool1d affine_grid_generator alpha_dropout alpha_dropout_ batch_norm
        binary_cross_entropy_with_logits constant_pad_nd cosine_embedding_loss ctc_loss dropout_ embedding
        feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ grid_sampler grid_sampler_2d
        grid_sampler_3d group_norm gru_cell hinge_embedding_loss instance_norm kl_div layer_norm lstm_cell
        margin_ranking_loss poisson_nll_loss rnn_relu_cell rnn_tanh_cell triplet_margin_loss""",
    ".tracing": "compile print",
    ".namespaces.utils.training": "fit",
    ".namespaces.func": "vmap",
    ".namespaces.lookup.fronts": "as_torch",
    ".torch_names": " ".join(torch_names.__all__),
}
"""Module -> the public names that are imported from it when they are first used."""
_LAZY = {name: module for module, names in _LATE.items() for name in names.split()}

_LAZY_MODULES = frozenset(
    {"accelerator", "amp", "autograd", "backends", "compiler", "cuda", "debug", "distributed", "distributions", "fft", "func",
     "functional", "jit", "linalg", "nn", "optim", "profiler", "random", "special", "testing", "utils"}
)  # fmt: skip

_CONSTANTS = {
    "__version__": version.__version__, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi,
    **{name: f"torch.{name}" for name in ("channels_last", "channels_last_3d", "contiguous_format", "preserve_format")},
    "legacy_contiguous_format": "torch.contiguous_format", "sparse_coo": "torch.sparse_coo", "strided": "torch.strided",
    "layout": str, "memory_format": str, "has_lapack": True, "has_mkl": False, "has_openmp": False, "has_spectral": True,
}  # fmt: skip

for _path, _names in _NOW.items():
    _found = importlib.import_module(_path, __name__)
    for _name in _names.split():
        _own, _, _theirs = _name.partition("=")
        globals()[_own] = getattr(_found, _theirs or _own)
globals().update(_CONSTANTS)
_protocols.enter()

_UNLISTED = {"generator", "layout", "memory_format", "newaxis", "sparse_coo"}
__all__ = sorted(
    {
        *(name.partition("=")[0] for names in _NOW.values() for name in names.split()),
        *(*_LAZY, *_LAZY_MODULES, *_CONSTANTS, "version"),
    }
    - _UNLISTED
)


def __getattr__(name: str) -> Any:
    if name in _LAZY_MODULES or name in _HOMES or (name in _PATHS and name not in _LAZY):
        return importlib.import_module(f".{name}", __name__)
    if name in _ABSENT_DTYPES:
        return _ABSENT_DTYPES[name]
    if name not in _LAZY:
        raise _MissingName(__name__, name, lambda: __all__, "REPLACED")
    value = getattr(importlib.import_module(_LAZY[name], __name__), name)
    globals()[name] = value  # later uses find it without coming here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _show_uncaught(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
    """`sys.excepthook`: see `base/tracebacks.py`, which only errors need."""
    from .base import tracebacks

    tracebacks.show(kind, error, traceback)


if "STATICGRAD_RECORD" in os.environ:
    importlib.import_module(".interchange.graph_json", __name__).begin(os.environ["STATICGRAD_RECORD"])
if sys.excepthook is sys.__excepthook__:  # the program, a notebook or a test runner may have one that serves it better
    sys.excepthook = _show_uncaught
_importing.__exit__(None, None, None)
