"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from . import rnn_cell as rnn_cell
from ..draws import dropout as dropout
from ..elements import space_to_batch as space_to_batch
from ..gathering import in_top_k as in_top_k
from ..gathering import top_k as top_k
from ..math import l2_loss as l2_loss
from ..nn.functions import batch_norm_with_global_normalization as batch_norm_with_global_normalization
from ..nn.functions import batch_normalization as batch_normalization
from ..nn.functions import bias_add as bias_add
from ..nn.functions import compute_average_loss as compute_average_loss
from ..nn.functions import crelu as crelu
from ..nn.functions import elu as elu
from ..nn.functions import l2_normalize as l2_normalize
from ..nn.functions import leaky_relu as leaky_relu
from ..nn.functions import log_softmax as log_softmax
from ..nn.functions import moments as moments
from ..nn.functions import normalize_moments as normalize_moments
from ..nn.functions import relu as relu
from ..nn.functions import relu6 as relu6
from ..nn.functions import relu_layer as relu_layer
from ..nn.functions import scale_regularization_loss as scale_regularization_loss
from ..nn.functions import selu as selu
from ..nn.functions import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from ..nn.functions import silu as silu
from ..nn.functions import softmax as softmax
from ..nn.functions import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from ..nn.functions import softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2
from ..nn.functions import softsign as softsign
from ..nn.functions import sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits
from ..nn.functions import sufficient_statistics as sufficient_statistics
from ..nn.functions import swish as swish
from ..nn.functions import weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits
from ..nn.functions import weighted_moments as weighted_moments
from ..nn.functions import xw_plus_b as xw_plus_b
from ..nn.functions import zero_fraction as zero_fraction
from ..nn.rnn import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
from ..nn.rnn import dynamic_rnn as dynamic_rnn
from ..nn.rnn import raw_rnn as raw_rnn
from ..nn.rnn import static_bidirectional_rnn as static_bidirectional_rnn
from ..nn.rnn import static_rnn as static_rnn
from ..nn.sampling import all_candidate_sampler as all_candidate_sampler
from ..nn.sampling import collapse_repeated as collapse_repeated
from ..nn.sampling import compute_accidental_hits as compute_accidental_hits
from ..nn.sampling import ctc_loss as ctc_loss
from ..nn.sampling import ctc_loss_v2 as ctc_loss_v2
from ..nn.sampling import embedding_lookup_sparse as embedding_lookup_sparse
from ..nn.sampling import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from ..nn.sampling import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from ..nn.sampling import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from ..nn.sampling import nce_loss as nce_loss
from ..nn.sampling import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from ..nn.sampling import sampled_softmax_loss as sampled_softmax_loss
from ..nn.sampling import uniform_candidate_sampler as uniform_candidate_sampler
from ..nn.spatial import atrous_conv2d as atrous_conv2d
from ..nn.spatial import atrous_conv2d_transpose as atrous_conv2d_transpose
from ..nn.spatial import avg_pool as avg_pool
from ..nn.spatial import avg_pool1d as avg_pool1d
from ..nn.spatial import avg_pool2d as avg_pool2d
from ..nn.spatial import avg_pool3d as avg_pool3d
from ..nn.spatial import avg_pool_v2 as avg_pool_v2
from ..nn.spatial import batch_to_space_nd as batch_to_space_nd
from ..nn.spatial import conv1d as conv1d
from ..nn.spatial import conv1d_transpose as conv1d_transpose
from ..nn.spatial import conv2d as conv2d
from ..nn.spatial import conv2d_backprop_filter as conv2d_backprop_filter
from ..nn.spatial import conv2d_backprop_input as conv2d_backprop_input
from ..nn.spatial import conv2d_transpose as conv2d_transpose
from ..nn.spatial import conv3d as conv3d
from ..nn.spatial import conv3d_backprop_filter as conv3d_backprop_filter
from ..nn.spatial import conv3d_backprop_filter_v2 as conv3d_backprop_filter_v2
from ..nn.spatial import conv3d_transpose as conv3d_transpose
from ..nn.spatial import conv_transpose as conv_transpose
from ..nn.spatial import convolution as convolution
from ..nn.spatial import depth_to_space as depth_to_space
from ..nn.spatial import depthwise_conv2d as depthwise_conv2d
from ..nn.spatial import depthwise_conv2d_backprop_filter as depthwise_conv2d_backprop_filter
from ..nn.spatial import depthwise_conv2d_backprop_input as depthwise_conv2d_backprop_input
from ..nn.spatial import depthwise_conv2d_native as depthwise_conv2d_native
from ..nn.spatial import depthwise_conv2d_native_backprop_filter as depthwise_conv2d_native_backprop_filter
from ..nn.spatial import depthwise_conv2d_native_backprop_input as depthwise_conv2d_native_backprop_input
from ..nn.spatial import dilation2d as dilation2d
from ..nn.spatial import erosion2d as erosion2d
from ..nn.spatial import extract_image_patches as extract_image_patches
from ..nn.spatial import fused_batch_norm as fused_batch_norm
from ..nn.spatial import local_response_normalization as local_response_normalization
from ..nn.spatial import log_poisson_loss as log_poisson_loss
from ..nn.spatial import lrn as lrn
from ..nn.spatial import max_pool as max_pool
from ..nn.spatial import max_pool1d as max_pool1d
from ..nn.spatial import max_pool2d as max_pool2d
from ..nn.spatial import max_pool3d as max_pool3d
from ..nn.spatial import max_pool_v2 as max_pool_v2
from ..nn.spatial import max_pool_with_argmax as max_pool_with_argmax
from ..nn.spatial import pool as pool
from ..nn.spatial import separable_conv2d as separable_conv2d
from ..nn.spatial import space_to_batch_nd as space_to_batch_nd
from ..nn.spatial import space_to_depth as space_to_depth
from ..nn.spatial import with_space_to_batch as with_space_to_batch
from ..special import approx_max_k as approx_max_k
from ..special import approx_min_k as approx_min_k
from ..variable_scopes import embedding_lookup as embedding_lookup
from typing import Any
def sigmoid(x: Any, name: Any = ...) -> Any: ...
def softplus(features: Any, name: Any = ...) -> Any: ...
def tanh(x: Any, name: Any = ...) -> Any: ...
__all__ = [
    "all_candidate_sampler", "approx_max_k", "approx_min_k", "atrous_conv2d", "atrous_conv2d_transpose", "avg_pool",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "avg_pool_v2", "batch_norm_with_global_normalization", "batch_normalization",
    "batch_to_space_nd", "bias_add", "bidirectional_dynamic_rnn", "collapse_repeated", "compute_accidental_hits",
    "compute_average_loss", "conv1d", "conv1d_transpose", "conv2d", "conv2d_backprop_filter", "conv2d_backprop_input",
    "conv2d_transpose", "conv3d", "conv3d_backprop_filter", "conv3d_backprop_filter_v2", "conv3d_transpose",
    "conv_transpose", "convolution", "crelu", "ctc_loss", "ctc_loss_v2", "depth_to_space", "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter", "depthwise_conv2d_backprop_input", "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter", "depthwise_conv2d_native_backprop_input", "dilation2d", "dropout",
    "dynamic_rnn", "elu", "embedding_lookup", "embedding_lookup_sparse", "erosion2d", "extract_image_patches",
    "fixed_unigram_candidate_sampler", "fused_batch_norm", "in_top_k", "l2_loss", "l2_normalize", "leaky_relu",
    "learned_unigram_candidate_sampler", "local_response_normalization", "log_poisson_loss", "log_softmax",
    "log_uniform_candidate_sampler", "lrn", "max_pool", "max_pool1d", "max_pool2d", "max_pool3d", "max_pool_v2",
    "max_pool_with_argmax", "moments", "nce_loss", "normalize_moments", "pool", "raw_rnn", "relu", "relu6", "relu_layer",
    "rnn_cell", "safe_embedding_lookup_sparse", "sampled_softmax_loss", "scale_regularization_loss", "selu",
    "separable_conv2d", "sigmoid", "sigmoid_cross_entropy_with_logits", "silu", "softmax",
    "softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits_v2", "softplus", "softsign", "space_to_batch",
    "space_to_batch_nd", "space_to_depth", "sparse_softmax_cross_entropy_with_logits", "static_bidirectional_rnn",
    "static_rnn", "sufficient_statistics", "swish", "tanh", "top_k", "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits", "weighted_moments", "with_space_to_batch", "xw_plus_b", "zero_fraction",
]
