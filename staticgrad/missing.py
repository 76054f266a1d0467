"""What to say about a name that is not there: the nearest one that is, or that PyTorch has it and this library not yet."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

REPLACED = {
    "float16": "use float32: tensors here are of 32 or 64 bits",
    "half": "use float32: tensors here are of 32 or 64 bits",
    "bfloat16": "use float32: tensors here are of 32 or 64 bits",
    "complex64": "complex numbers are not supported: keep real and imaginary parts as two tensors",
    "complex128": "complex numbers are not supported: keep real and imaginary parts as two tensors",
    "cfloat": "complex numbers are not supported: keep real and imaginary parts as two tensors",
    "fft": "complex numbers are not supported: use numpy.fft on x.numpy()",
    "jit": "sg.compile(step) compiles a function",
    "no_autocast": "there is one precision: leave it out",
    "autocast": "there is one precision: leave it out",
    "amp": "there is one precision: leave it out",
    "sparse": "tensors are dense; optim.SparseAdam updates rows",
    "onnx": "sg.to_json(graph) writes a graph to a file",
    "hub": "models are loaded with load_state_dict",
}
"""Names of PyTorch's, and what to write instead."""

PYTORCH = frozenset(
    """
    Event Stream Storage TypedStorage UntypedStorage abs_ adaptive_avg_pool1d adaptive_max_pool1d affine_grid_generator
    alpha_dropout are_deterministic_algorithms_enabled arccos arccosh arcsin arcsinh arctan arctan2 arctanh arctan_ argsort
    autograd_function bartlett_window batch_norm bilinear binomial blackman_window bmm can_cast celu channel_shuffle
    clamp_ complex compiled_with_cxx11_abi conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
    cosine_embedding_loss cosine_similarity cudnn_convolution default_generator dequantize distributions embedding
    embedding_bag exp2 export feature_dropout fft finfo frobenius_norm from_dlpack from_file frombuffer func futures
    get_file_path gradient grid_sampler group_norm gru gru_cell hamming_window hann_window hardshrink hinge_embedding_loss
    histogramdd iinfo imag index_put_ inference_mode instance_norm is_autocast_enabled is_conj is_inference istft
    kaiser_window kl_div layer_norm library load lobpcg logical_not_ lstm lstm_cell margin_ranking_loss masked max_pool1d
    max_pool2d max_pool3d memory_format mkldnn_max_pool2d multiprocessing native_batch_norm native_layer_norm nested ops
    ormqr overrides package pairwise_distance pca_lowrank pdist pixel_shuffle pixel_unshuffle poisson_nll_loss polar prelu
    profiler quantization quantize_per_tensor relu_ renorm_ return_types rms_norm rnn_relu rnn_tanh rrelu save selu serialization
    set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_num_interop_threads signal stft
    svd_lowrank tensordot_ testing threshold torch triplet_margin_loss types use_deterministic_algorithms utils
    vitals_enabled view_as_complex view_as_real vmap
    """.split()
)
"""Names that PyTorch has at its top level, beside those that are here."""


def advice(name: str, names: Iterable[str]) -> str:
    """The end of an error's text about a missing name, from the names that exist."""
    if name in REPLACED:
        return f"; {REPLACED[name]}"
    near = difflib.get_close_matches(name, list(names), 1, 0.75)
    nearest = f"; the nearest name is {near[0]!r}" if near else ""
    if name in PYTORCH:
        return f"; PyTorch has it, this library does not yet{nearest}"
    return nearest
