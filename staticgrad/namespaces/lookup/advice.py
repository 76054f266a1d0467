"""What to say about a name that is not there: the nearest one that is, or that PyTorch has it and this library not yet."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from ...errors import UnsupportedError
from .paths import PACKAGE, PATHS

NONE: dict[str, str] = {}
"""The table of modules whose names have no replacement."""
REPLACED = {
    "hash_tensor": "its result is an integer of 64 bits without sign, which tensors here can't hold: hash(x.numpy().tobytes())",
    "frobenius_norm": "use sg.linalg.matrix_norm(x)",
    "nuclear_norm": "use sg.linalg.matrix_norm(x, 'nuc')",
    "norm_except_dim": "use nn.utils.parametrizations.weight_norm",
    "segment_reduce": "use scatter_reduce, with the number of each element's segment",
    "signal": "use sg.hann_window and its siblings, or scipy.signal.windows and sg.from_numpy",
    "embedding_bag": "use nn.functional.embedding_bag, whose result is the bags alone",
    "return_types": "results of several tensors are named tuples: type(sg.max(x, 0))",
    **dict.fromkeys(("ModuleDict", "ParameterDict", "BufferDict"), "it is in sg.nn"),
    "hub": "models are loaded with load_state_dict",
    **dict.fromkeys(
        ("train", "layers", "get_variable", "variable_scope", "reduce_mean", "reduce_sum", "ConfigProto"),
        "it is in sg.compat.tf1, the whole dialect of TensorFlow 1",
    ),
}
"""Names of PyTorch's, and what to write instead."""

FAMILIES = (
    (r"u?int[1-7]$|uint(16|32|64)$|float[48]_|bits?\d|bit$", "use uint8, int8 to int64, float32 or float64"),
    (r"q?u?int\dx?\d?$|q_|qscheme|quint|qint|.*quantiz|per_(channel|tensor)_|fbgemm|fake_|fused_moving|int_repr|choose_qparams",
     "tensors are not quantized: use float32"),
    (r"sparse_|[cr]c?o[lw]_indices|[cr]row_indices|indices_copy|values_copy|smm|sspaddmm|saddmm|dsmm|h[sp]p?mm|.*_as_sparse_|jagged",
     "there is one sparse layout: sg.sparse_coo_tensor(indices, values, size)"),
    (r"cudnn_|miopen_|mkldnn_", "call the function without this prefix: there is one implementation"),
    (r"(mps|xpu|mtia|cpu|hpu)$|Event$|Stream$|get_device_module|.*_ipu_|.*_xla_|is_vulkan", "all tensors are on the CPU, and "
     "results are there when a function returns"),
    (r"(.*Storage(Base)?|storage)$", "x.numpy() is the memory of a tensor, x.data_ptr() its address"),
    (r"(batch_norm_(stats|elemt|gather|backward|update)|native_\w+|embedding_renorm_|slice_inverse|convolution$)",
     "it is a part of PyTorch's functions of layers: use those of nn.functional"),
    (r"(gru|lstm|rnn_tanh|rnn_relu)$", "use nn.GRU, nn.LSTM or nn.RNN, which hold the weights"),
    (r"(eig|lstsq|matrix_rank|solve)$", "it was removed from PyTorch: use sg.linalg"),
    (r"sym_|Sym(Int|Float|Bool)", "extents are Python's integers, or None in a graph: use Python's own functions"),
    (r"(fx|export|package|library|overrides|classes|ops|monitor|Tag|DispatchKey)", "sg.graph_of(y) and plan.graph are graphs "
     "that passes may change (sg.graph_pass); sg.onnx writes files"),
    (r"(nested|masked)$", "use padded tensors and masks: nn.utils.rnn.pad_sequence, sg.where"),
    (r"(multiprocessing|futures|Future|fork|wait)$", "use Python's own; DataLoader has worker processes"),
    (r"(set|get|is|clear)_autocast|autocast_", "write `with sg.autocast(\"cpu\"):`, and ask sg.is_autocast_enabled()"),
    (r"([A-Z]\w*Type|Script\w+|Graph\w+|AliasDb|CompilationUnit|Code|FunctionSchema|JITException|LiteScriptModule|FileCheck"
     r"|parse_\w+|import_ir\w+|merge_type\w+|unify_type\w+)$", "it is part of TorchScript: sg.compile(f) compiles a function"),
    (r"(as_strided_|resize_as_)$", "a tensor keeps its memory and shape: use as_strided, reshape or sg.empty"),
)  # fmt: skip
"""The same for many names at once: a pattern that names begin with, and what to write instead."""

NN_REPLACED = {
    "Container": "it was replaced by Sequential and ModuleList in PyTorch, too",
    "factory_kwargs": "pass device= and dtype= on",
}
"""Names of `torch.nn` that there are not, and what to write instead."""

FUNCTIONAL_REPLACED = {
    "grouped_mm": "it multiplies bfloat16 matrices on a GPU: use a product per group",
    "scaled_grouped_mm": "it multiplies 8-bit floats on a GPU: use a product per group",
    "scaled_mm": "it multiplies 8-bit floats on a GPU: use sg.matmul",
    "assert_int_or_pair": "it checks arguments inside of PyTorch",
    "boolean_dispatch": "it chooses a function inside of PyTorch",
    "handle_torch_function": "it hands calls to subclasses of PyTorch's Tensor",
    "has_torch_function": "it asks for subclasses of PyTorch's Tensor",
    "has_torch_function_unary": "it asks for subclasses of PyTorch's Tensor",
    "has_torch_function_variadic": "it asks for subclasses of PyTorch's Tensor",
}
"""The same for `torch.nn.functional`."""

OPTIM_REPLACED = {"swap_in_optimizer_params_and_state": "call opt.load_state_dict(state)"}
"""The same for `torch.optim`."""

PIPES = "a Dataset or IterableDataset, and a DataLoader"
DATA_REPLACED = dict.fromkeys(("DFIterDataPipe", "DataChunk"), f"write {PIPES}")
"""The same for `torch.utils.data`."""

AUTOGRAD_REPLACED = {
    **dict.fromkeys(("ProfilerActivity", "ProfilerConfig", "ProfilerEvent", "ProfilerState"), "use sg.profiler.profile"),
    "SavedTensor": "node.saved_tensors has the values, autograd.graph.saved_tensors_hooks replaces them",
    "NestedIOFunction": "write a Function of tensors",
}
"""The same for `torch.autograd`."""

FUNC_REPLACED = {
    "debug_unwrap": "print(x) shows the value of a tensor under a transform",
    "rearrange": "use permute and reshape",
}
"""The same for `torch.func`."""

TRANSPORT = "MPI carries the arrays: init_process_group() needs no store and no address"
OPTIONS = "it is inside of PyTorch's backends: pass the arguments to the function"
DISTRIBUTED_REPLACED = {
    **dict.fromkeys(
        ("FileStore", "HashStore", "PrefixStore", "Store", "TCPStore", "register_rendezvous_handler", "rendezvous"), TRANSPORT
    ),
    **dict.fromkeys(
        (
            "AllToAllOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "BackendConfig", "BarrierOptions",
            "BroadcastOptions", "GatherOptions", "GroupName", "Logger", "ProcessGroupGloo", "RankType", "ReduceOptions",
            "ReduceScatterOptions", "ScatterOptions", "get_backend_config", "record_comm",
        ),
        OPTIONS,
    ),
    **dict.fromkeys(("DistBackendError", "DistNetworkError", "DistStoreError", "QueueEmptyError"), "catch DistError"),
    **dict.fromkeys(
        ("DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"), "exchanges are always checked"
    ),
    **dict.fromkeys(("BuiltinCommHookType", "GradBucket", "Reducer"), "exchange gradients in the step, or pass bucket_cap_mb"),
    **dict.fromkeys(("DeviceMesh", "init_device_mesh"), "make groups with new_group, one for each row and column"),
    **dict.fromkeys(("all_reduce_coalesced", "all_gather_coalesced"), "exchange one array of all values"),
    **dict.fromkeys(("all_gather_single", "reduce_scatter_single"), "use all_gather_into_tensor and reduce_scatter_tensor"),
    **dict.fromkeys(("new_subgroups", "new_subgroups_by_enumeration", "split_group"), "call new_group for each of them"),
    "shrink_group": "start again with `staticgrad launch --restarts`",
    "StateDictType": "get_state_dict has one form",
    "supports_complex": "complex numbers are not exchanged: exchange real and imaginary parts",
    "get_pg_count": "keep the groups that new_group returns",
    "remote_device": "tensors are in the process's own memory",
    "reduce_op": "write ReduceOp",
    "breakpoint": "use Python's breakpoint() in one process, and barrier() in the others",
    "get_default_backend_for_device": "it is 'mpi'",
    "DistributedOptimizer": "it needs remote calls: use ZeroRedundancyOptimizer",
    "PostLocalSGDOptimizer": "average parameters with all_reduce every few steps",
    "as_functional_optim": "it needs remote calls: use an optimizer in the step",
    **dict.fromkeys(("load_state_dict", "save_state_dict"), "they are load and save"),
    "load_sharded_optimizer_state_dict": "load takes the state of an optimizer",
    **dict.fromkeys(
        (
            "HuggingFaceStorageReader", "HuggingFaceStorageWriter", "QuantizedHuggingFaceStorageReader", "StorageReader",
            "StorageWriter",
        ),
        "checkpoints are folders of safetensors files",
    ),
    **dict.fromkeys(
        ("LoadPlan", "LoadPlanner", "ReadItem", "SavePlan", "SavePlanner", "WriteItem"),
        "change the state before it is saved, or after it is loaded",
    ),
    **dict.fromkeys(("gather", "scatter"), "use all_gather, or send rows with all_to_all"),
    "all_to_all_single": "use all_to_all",
    "Function": "use autograd.Function",
}  # fmt: skip
"""The same for `torch.distributed` and what is below it."""

PYTORCH = frozenset(
    [
        "Event",
        "Stream",
        "Storage",
        "TypedStorage",
        "UntypedStorage",
        "adaptive_avg_pool1d",
        "adaptive_max_pool1d",
        "affine_grid_generator",
        "alpha_dropout",
        "arccos",
        "arccosh",
        "arcsin",
        "arcsinh",
        "arctan2",
        "arctanh",
        "argsort",
        "autograd_function",
        "batch_norm",
        "bilinear",
        "bmm",
        "celu",
        "channel_shuffle",
        "compiled_with_cxx11_abi",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_tbc",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "cosine_embedding_loss",
        "cosine_similarity",
        "cudnn_convolution",
        "default_generator",
        "dequantize",
        "embedding",
        "embedding_bag",
        "exp2",
        "export",
        "feature_dropout",
        "finfo",
        "frobenius_norm",
        "func",
        "futures",
        "get_file_path",
        "grid_sampler",
        "group_norm",
        "gru",
        "gru_cell",
        "hardshrink",
        "hinge_embedding_loss",
        "iinfo",
        "index_put_",
        "instance_norm",
        "is_autocast_enabled",
        "kl_div",
        "layer_norm",
        "library",
        "lstm",
        "lstm_cell",
        "margin_ranking_loss",
        "masked",
        "max_pool1d",
        "max_pool2d",
        "max_pool3d",
        "memory_format",
        "mkldnn_max_pool2d",
        "multiprocessing",
        "native_batch_norm",
        "native_layer_norm",
        "nested",
        "ops",
        "overrides",
        "package",
        "pairwise_distance",
        "pdist",
        "pixel_shuffle",
        "pixel_unshuffle",
        "poisson_nll_loss",
        "prelu",
        "quantization",
        "quantize_per_tensor",
        "renorm_",
        "return_types",
        "rms_norm",
        "rnn_relu",
        "rnn_tanh",
        "rrelu",
        "selu",
        "serialization",
        "set_float32_matmul_precision",
        "signal",
        "tensordot_",
        "threshold",
        "torch",
        "triplet_margin_loss",
        "types",
        "utils",
        "vitals_enabled",
    ]
)
"""Names that PyTorch has at its top level, beside those that are here."""


def _elsewhere(name: str) -> str:
    """A module that has the name; "" where none of those that are imported has it."""
    public = [path for path in PATHS if path and not re.search(r"(^|\.)_", path)]
    paths = [path for path in public if name in getattr(sys.modules.get(f"{PACKAGE}.{path}"), "__all__", ())]
    return f"sg.{min(paths, key=len)}" if paths else ""


def advice(name: str, names: Iterable[str], replaced: Mapping[str, str] = REPLACED) -> str:
    """The end of an error's text about a missing name, from the names that exist and those that have a replacement."""
    if name in replaced:
        return f"; {replaced[name]}"
    if replaced is REPLACED:
        for pattern, text in FAMILIES:
            if re.match(pattern, name):
                return f"; {text}"
    if name.startswith("_"):  # libraries look for many such names in all objects
        return ""
    if elsewhere := _elsewhere(name):
        return f"; it is in {elsewhere}"
    import difflib  # takes a while, and only errors need it

    near = difflib.get_close_matches(name, list(names), 1, 0.75)
    nearest = f"; the nearest name is {near[0]!r}" if near else ""
    if name in PYTORCH and replaced is REPLACED:
        return f"; PyTorch has it, this library does not yet{nearest}"
    return nearest


# placeholders ---------------------------------------------------------------------------------------------------------
# Names of PyTorch's that this library lacks, where a program imports them: they can be imported, named in annotations and in
# `isinstance`, and inherited from. A call, an instance or an operation raises `UnsupportedError`, which says what to write.


class Absent(type):
    """The class of such names: each of them is a class without instances."""

    path: str

    def own_path(cls) -> str:
        """PyTorch's name; of a class of the user's, that of the base."""
        return str(next(vars(base)["path"] for base in cls.__mro__ if "path" in vars(base)))

    def refuse(cls) -> NoReturn:
        """Raises UnsupportedError."""
        own = cls.own_path()
        parts = own.split(".")
        more = next((found for part in parts[1:] if (found := advice(part, ()))), "")
        raise UnsupportedError(f"{own} is not in staticgrad{more}")

    def __call__(cls, *args: Any, **named: Any) -> NoReturn:
        cls.refuse()

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{cls.own_path()}.{name}")

    def __getitem__(cls, item: Any) -> Absent:
        return cls

    def __iter__(cls) -> NoReturn:
        cls.refuse()

    def __enter__(cls) -> NoReturn:
        cls.refuse()

    def __exit__(cls, *error: object) -> None:
        pass

    def __repr__(cls) -> str:
        return f"<{cls.__name__}, which is not in staticgrad>" if "path" in vars(cls) else super().__repr__()


def absent(path: str) -> Absent:
    """The placeholder of a name: `torch.fx.Tracer`."""
    module, _, name = path.rpartition(".")
    return Absent(name, (), {"path": path, "__module__": module, "__doc__": None})
