"""What to say about a name that is not there: the nearest one that is, or that PyTorch has it and this library not yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

REPLACED = {
    "jit": "sg.compile(step) compiles a function",
    **dict.fromkeys(
        ("sparse_coo_tensor", "sparse_csr_tensor", "sparse_compressed_tensor"),
        "tensors are dense: sg.zeros(size).index_put(tuple(indices), values, accumulate=True) makes one of entries",
    ),
    "sparse": "tensors are dense: sg.zeros(size).index_put(tuple(indices), values, accumulate=True) makes one of entries, "
    "and sg.spmm takes it; optim.SparseAdam updates rows",
    "onnx": "sg.to_json(graph) writes a graph to a file",
    "hub": "models are loaded with load_state_dict",
}
"""Names of PyTorch's, and what to write instead."""

NN_REPLACED = {
    "Container": "it was replaced by Sequential and ModuleList in PyTorch, too",
    "SyncBatchNorm": "there is one process: use BatchNorm1d, BatchNorm2d or BatchNorm3d",
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
DATA_REPLACED = dict.fromkeys(("IterDataPipe", "MapDataPipe", "DFIterDataPipe", "DataChunk"), f"write {PIPES}")
"""The same for `torch.utils.data`."""

FUNC_REPLACED = {
    "debug_unwrap": "print(x) shows the value of a tensor under a transform",
    "rearrange": "use permute and reshape",
}
"""The same for `torch.func`."""

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


def advice(name: str, names: Iterable[str], replaced: Mapping[str, str] = REPLACED) -> str:
    """The end of an error's text about a missing name, from the names that exist and those that have a replacement."""
    if name in replaced:
        return f"; {replaced[name]}"
    if name.startswith("__"):  # libraries look for many such names in all objects
        return ""
    import difflib  # takes a while, and only errors need it

    near = difflib.get_close_matches(name, list(names), 1, 0.75)
    nearest = f"; the nearest name is {near[0]!r}" if near else ""
    if name in PYTORCH and replaced is REPLACED:
        return f"; PyTorch has it, this library does not yet{nearest}"
    return nearest


def refusing(module: str, names: Iterable[str], replaced: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module: an AttributeError that says what to write instead."""

    def __getattr__(name: str) -> Any:
        raise AttributeError(f"module {module!r} has no attribute {name!r}{advice(name, names, replaced)}")

    return __getattr__
