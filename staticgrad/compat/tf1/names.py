"""The names of the dialect: which namespace has which names, and the modules that define them."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import math
from .core import enter_paths
from .handles import Handle

# python's operators on tensors and variables --------------------------------------------------------------------------

MADE: dict[str, Callable[..., Any]] = vars(math)
OPERATORS: dict[str, tuple[Callable[..., Any], str]] = {
    "add": (MADE["add"], "add"),
    "sub": (MADE["subtract"], "sub"),
    "mul": (MADE["multiply"], "mul"),
    "truediv": (math.truediv, "truediv"),
    "floordiv": (MADE["floordiv"], "floordiv"),
    "mod": (MADE["floormod"], "mod"),
    "pow": (MADE["pow"], "pow"),
    "matmul": (math.matmul, "matmul"),
    "and": (MADE["logical_and"], "and"),
    "or": (MADE["logical_or"], "or"),
    "xor": (MADE["logical_xor"], "xor"),
}
for _name, (_call, _label) in OPERATORS.items():
    setattr(Handle, f"__{_name}__", lambda x, y, f=_call, n=_label: f(x, y, name=n))
    setattr(Handle, f"__r{_name}__", lambda x, y, f=_call, n=_label: f(y, x, name=n))
for _name, _key in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")):
    setattr(Handle, f"__{_name}__", lambda x, y, f=MADE[_key]: f(x, y))
for _name, _key in (("neg", "negative"), ("abs", "abs"), ("invert", "logical_not")):
    setattr(Handle, f"__{_name}__", lambda x, f=MADE[_key]: f(x))

NAMES: dict[str, dict[str, str]] = {
    "": {
        "arrays": """
            concat constant convert_to_tensor expand_dims eye fill gather identity lin_space=linspace linspace newaxis
            one_hot ones ones_like pad placeholder placeholder_with_default range=range_ rank reshape reverse
            reverse_v2=reverse sequence_mask shape size slice=slice_ split squeeze stack stop_gradient strided_slice
            tile transpose unstack where zeros zeros_like""",
        "control": "case cond foldl foldr group map_fn no_op scan tuple=tuple_ vectorized_map while_loop",
        "debugging": """
            assert_equal assert_greater assert_greater_equal assert_integer assert_less assert_less_equal assert_near
            assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive
            assert_proper_iterable assert_rank assert_rank_at_least assert_rank_in assert_same_float_dtype assert_scalar
            assert_type is_non_decreasing is_numeric_tensor is_strictly_increasing is_symbolic_tensor""",
        "draws": "multinomial random_gamma random_normal random_poisson random_shuffle random_uniform truncated_normal",
        "dtypes": """
            as_dtype bfloat16 bool=bool_ double DType float16 float32 float64 half int16 int32 int64 int8 QUANTIZED_DTYPES
            string TensorShape uint16 uint32 uint64 uint8 Dimension""",
        "errors": "OpError",
        "elements": """
            batch_gather batch_to_space broadcast_dynamic_shape broadcast_static_shape diag diag_part
            get_static_value parallel_stack repeat required_space_to_batch_paddings setdiff1d shape_n
            space_to_batch tensor_scatter_add tensor_scatter_nd_add tensor_scatter_nd_max
            tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tensor_scatter_sub
            tensor_scatter_update unique_with_counts unravel_index""",
        "gathering": """
            *SEGMENTS argsort boolean_mask broadcast_to confusion_matrix dynamic_partition dynamic_stitch
            gather_nd invert_permutation matrix_band_part meshgrid reverse_sequence roll scatter_nd
            searchsorted sort unique where_v2""",
        "gradients": """
            AggregationMethod convert_to_tensor_or_indexed_slices custom_gradient grad_pass_through gradients hessians
            IndexedSlices no_gradient NoGradient NotDifferentiable recompute_grad RegisterGradient UnconnectedGradients""",
        "graph": """
            add_to_collection add_to_collections control_dependencies device get_collection get_collection_ref
            get_default_graph get_seed Graph GraphKeys name_scope reset_default_graph set_random_seed""",
        "handles": "Operation Tensor",
        "image": "random_crop",
        "initializers": """
            constant_initializer glorot_normal_initializer glorot_uniform_initializer ones_initializer
            orthogonal_initializer random_normal_initializer random_uniform_initializer truncated_normal_initializer
            uniform_unit_scaling_initializer variance_scaling_initializer zeros_initializer""",
        "linalg": """
            cholesky cholesky_solve cross matrix_determinant=det matrix_diag=diag matrix_diag_part=diag_part
            matrix_inverse=inv matrix_set_diag=set_diag matrix_solve=solve matrix_solve_ls=lstsq
            matrix_square_root=sqrtm matrix_transpose matrix_triangular_solve=triangular_solve qr self_adjoint_eig=eigh
            self_adjoint_eigvals=eigvalsh svd trace""",
        "lookup": "initialize_all_tables tables_initializer",
        "math": """
            *ALIASES *BINARY *CASTS *REDUCTIONS *UNARY accumulate_n add_n arg_max arg_min argmax argmin cast
            clip_by_average_norm clip_by_global_norm clip_by_norm clip_by_value count_nonzero cumprod cumsum div
            div_no_nan divide divide_no_nan einsum global_norm lbeta matmul norm realdiv saturate_cast scalar_mul
            sparse_matmul tensordot truediv""",
        "meta_graph": "GraphDef import_graph_def MetaGraphDef NodeDef",
        "nn.spatial": """
            batch_to_space_nd conv conv2d_backprop_filter_v2 conv2d_backprop_input_v2 depth_to_space
            extract_image_patches extract_volume_patches space_to_batch_nd space_to_depth""",
        "platform": "get_logger",
        "py_functions": """
            add_check_numerics_ops Assert check_numerics numpy_function Print print=print_ py_func
            verify_tensor_all_finite""",
        "train.threads": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
        "session": """
            ConfigProto get_default_session GPUOptions GraphOptions InteractiveSession OptimizerOptions RunMetadata
            RunOptions Session""",
        "sparse": """
            convert_to_tensor_or_sparse_tensor=convert sparse_add=add sparse_concat=concat
            sparse_fill_empty_rows=fill_empty_rows sparse_maximum=maximum sparse_merge=merge sparse_minimum=minimum
            sparse_placeholder=placeholder sparse_reduce_max=reduce_max sparse_reduce_max_sparse=reduce_max_sparse
            sparse_reduce_sum=reduce_sum sparse_reduce_sum_sparse=reduce_sum_sparse sparse_reorder=reorder
            sparse_reset_shape=reset_shape sparse_reshape=reshape sparse_retain=retain sparse_segment_mean
            sparse_segment_sqrt_n sparse_segment_sum sparse_slice=slice_ sparse_softmax=softmax sparse_split=split
            sparse_tensor_dense_matmul=sparse_dense_matmul sparse_tensor_to_dense=to_dense sparse_to_dense
            sparse_to_indicator=to_indicator sparse_transpose=transpose SparseTensor SparseTensorValue""",
        "special": """
            approx_top_k betainc bincount histogram_fixed_width histogram_fixed_width_bins polygamma truncatediv zeta""",
        "state": """
            __version__=VERSION assert_variables_initialized colocate_with COMPILER_VERSION container
            control_flow_v2_enabled CriticalSection CXX11_ABI_FLAG CXX_VERSION DeviceSpec dimension_at_index
            dimension_value disable_control_flow_v2 disable_eager_execution disable_resource_variables
            disable_tensor_equality disable_v2_behavior disable_v2_tensorshape enable_control_flow_v2
            enable_eager_execution enable_resource_variables enable_tensor_equality enable_v2_behavior ensure_shape
            executing_eagerly executing_eagerly_outside_functions GIT_VERSION GRAPH_DEF_VERSION
            GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER guarantee_const identity_n init_scope
            initialize_local_variables is_tensor is_variable_initialized
            MONOLITHIC_BUILD no_regularizer op_scope report_uninitialized_variables
            resource_variables_enabled switch_case timestamp
            variable_creator_scope VariableAggregation VariableSynchronization VERSION""",
        "strings": """
            as_string decode_raw reduce_join regex_replace string_join=join string_split string_strip=strip
            string_to_hash_bucket string_to_hash_bucket_fast=to_hash_bucket_fast
            string_to_hash_bucket_strong=to_hash_bucket_strong string_to_number=to_number substr""",
        "tensor_array": "TensorArray",
        "variable_scopes": """
            AUTO_REUSE create_partitioned_variables fixed_size_partitioner get_local_variable get_variable
            get_variable_scope make_template min_max_variable_partitioner variable_axis_size_partitioner
            variable_op_scope variable_scope VariableScope""",
        "variables": """
            all_variables assign assign_add assign_sub count_up_to global_variables global_variables_initializer
            initialize_all_variables initialize_variables local_variables local_variables_initializer model_variables
            moving_average_variables scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_nd_add
            scatter_nd_sub scatter_nd_update scatter_sub scatter_update trainable_variables Variable
            variables_initializer""",
    },
    "app": {
        "platform": "flags=FLAG_NAMES run",
    },
    "bitwise": {
        "math": "*BITS invert",
    },
    "contrib.legacy_seq2seq": {
        "contrib.seq2seq": """
            basic_rnn_seq2seq rnn_decoder sequence_loss=sequence_loss_of_lists sequence_loss_by_example""",
    },
    "contrib.lookup": {
        "lookup": """
            HashTable index_table_from_file index_table_from_tensor index_to_string_table_from_file
            index_to_string_table_from_tensor KeyValueTensorInitializer LookupInterface MutableHashTable TextFileIndex
            TextFileInitializer""",
    },
    "contrib.rnn": {
        "nn.rnn": "static_bidirectional_rnn static_rnn",
        "nn.rnn_cell": """
            BasicLSTMCell BasicRNNCell DeviceWrapper DropoutWrapper EmbeddingWrapper GRUBlockCell GRUCell
            InputProjectionWrapper LayerRNNCell LSTMBlockCell LSTMCell LSTMStateTuple MultiRNNCell
            OutputProjectionWrapper ResidualWrapper RNNCell""",
    },
    "data": {
        "dataset": """
            AUTOTUNE Dataset FedIterator get_output_classes get_output_shapes get_output_types INFINITE_CARDINALITY
            Iterator make_initializable_iterator make_one_shot_iterator Options ThreadingOptions UNKNOWN_CARDINALITY""",
    },
    "estimator.inputs": {
        "estimator.core": "numpy_input_fn pandas_input_fn",
    },
    "flags": {
        "platform": "DEFINE_bool DEFINE_boolean DEFINE_float DEFINE_integer DEFINE_string Flags FLAGS",
    },
    "image": {
        "boxes": """
            crop_and_resize draw_bounding_boxes extract_glimpse extract_patches non_max_suppression
            non_max_suppression_overlaps non_max_suppression_padded non_max_suppression_with_scores
            resize_image_with_pad""",
        "image": """
            adjust_hue adjust_saturation hsv_to_rgb random_hue random_saturation rgb_to_hsv rgb_to_yiq rgb_to_yuv
            sobel_edges ssim ssim_multiscale yiq_to_rgb yuv_to_rgb""",
        "nn.spatial": "extract_image_patches",
    },
    "gfile": {
        "platform": """
            Copy DeleteRecursively Exists FastGFile FileStatistics GFile Glob IsDirectory ListDirectory MakeDirs MkDir Open
            Remove Rename Stat Walk""",
    },
    "initializers": {
        "lookup": "tables_initializer",
        "variables": """
            global_variables=global_variables_initializer local_variables=local_variables_initializer
            variables=variables_initializer""",
    },
    "layers": {
        "layer": """
            Layer batch_normalization BatchNormalization Dense dense Dropout dropout Flatten flatten *FUNCTIONS
            AveragePooling1D AveragePooling2D AveragePooling3D Conv1D Conv2D Conv2DTranspose Conv3D
            Conv3DTranspose MaxPooling1D MaxPooling2D MaxPooling3D SeparableConv1D SeparableConv2D""",
    },
    "linalg": {
        "arrays": "eye",
        "elements": "tensor_diag tensor_diag_part",
        "gathering": "band_part=matrix_band_part",
        "math": "einsum global_norm matmul norm tensordot",
        "nn.functions": "l2_normalize",
    },
    "logging": {
        "platform": """
            DEBUG debug ERROR error FATAL fatal flush get_logger get_verbosity INFO info log log_every_n log_first_n
            log_if set_verbosity TaskLevelStatusMessage vlog WARN warn warning""",
    },
    "manip": {
        "arrays": "reshape reverse tile",
        "gathering": "gather_nd roll scatter_nd",
        "nn.spatial": "batch_to_space_nd space_to_batch_nd",
    },
    "math": {
        "debugging": "is_non_decreasing is_strictly_increasing",
        "gathering": """
            *SEGMENTS argsort boolean_mask broadcast_to confusion_matrix dynamic_partition dynamic_stitch
            gather_nd in_top_k invert_permutation matrix_band_part meshgrid reverse_sequence roll scatter_nd
            searchsorted sort top_k unique""",
        "nn.functions": "l2_normalize log_softmax softmax softsign zero_fraction",
        "special": """
            *UNARY approx_max_k approx_min_k betainc bincount cumulative_logsumexp polygamma polyval sobol_sample
            xlog1py zeta""",
    },
    "nn": {
        "draws": "dropout",
        "elements": "space_to_batch",
        "gathering": "in_top_k top_k",
        "math": "l2_loss sigmoid softplus tanh",
        "nn.functions": """
            batch_norm_with_global_normalization batch_normalization bias_add compute_average_loss crelu elu
            l2_normalize leaky_relu log_softmax moments normalize_moments relu relu6 relu_layer
            scale_regularization_loss selu sigmoid_cross_entropy_with_logits silu softmax
            softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2 softsign
            sparse_softmax_cross_entropy_with_logits sufficient_statistics swish weighted_cross_entropy_with_logits
            weighted_moments xw_plus_b zero_fraction""",
        "variable_scopes": "embedding_lookup",
        "nn.rnn": "bidirectional_dynamic_rnn dynamic_rnn raw_rnn static_bidirectional_rnn static_rnn",
        "nn.sampling": """
            all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler
            learned_unigram_candidate_sampler log_uniform_candidate_sampler nce_loss sampled_softmax_loss
            uniform_candidate_sampler collapse_repeated ctc_loss ctc_loss_v2 embedding_lookup_sparse
            safe_embedding_lookup_sparse""",
        "nn.spatial": """
            atrous_conv2d atrous_conv2d_transpose avg_pool avg_pool1d avg_pool2d avg_pool3d avg_pool_v2
            batch_to_space_nd conv1d conv1d_transpose conv2d conv2d_backprop_filter conv2d_backprop_input
            conv2d_transpose conv3d conv3d_backprop_filter conv3d_backprop_filter_v2 conv3d_transpose conv_transpose
            convolution depth_to_space depthwise_conv2d depthwise_conv2d_backprop_filter depthwise_conv2d_backprop_input
            depthwise_conv2d_native depthwise_conv2d_native_backprop_filter depthwise_conv2d_native_backprop_input
            dilation2d erosion2d extract_image_patches fused_batch_norm local_response_normalization log_poisson_loss
            lrn max_pool max_pool1d max_pool2d max_pool3d max_pool_v2 max_pool_with_argmax pool separable_conv2d
            space_to_batch_nd space_to_depth with_space_to_batch""",
        "special": "approx_max_k approx_min_k",
    },
    "random": {
        "draws": """
            categorical fold_in gamma=random_gamma multinomial normal=random_normal poisson=random_poisson
            shuffle=random_shuffle split stateless_binomial stateless_categorical stateless_gamma stateless_multinomial
            stateless_normal stateless_parameterized_truncated_normal stateless_poisson stateless_truncated_normal
            stateless_uniform truncated_normal uniform=random_uniform""",
        "graph": "get_seed set_random_seed",
        "nn.sampling": """
            all_candidate_sampler fixed_unigram_candidate_sampler learned_unigram_candidate_sampler
            log_uniform_candidate_sampler uniform_candidate_sampler""",
    },
    "sparse": {
        "sparse": """
            matmul=sparse_dense_matmul segment_mean=sparse_segment_mean segment_sqrt_n=sparse_segment_sqrt_n
            segment_sum=sparse_segment_sum slice=slice_""",
    },
    "train": {
        "meta_graph": "export_meta_graph",
        "summary": "summary_iterator",
        "train.cluster": "ClusterSpec replica_device_setter Server SyncReplicasOptimizer",
        "train.decay": """
            assert_global_step cosine_decay cosine_decay_restarts create_global_step exponential_decay get_global_step
            get_or_create_global_step global_step inverse_time_decay linear_cosine_decay natural_exp_decay
            noisy_linear_cosine_decay piecewise_constant piecewise_constant_decay polynomial_decay
            ExponentialMovingAverage""",
        "train.hooks": """
            CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook LoggingTensorHook
            NanLossDuringTrainingError NanTensorHook ProfilerHook SecondOrStepTimer SessionRunArgs SessionRunContext
            SessionRunHook SessionRunValues StepCounterHook StopAtStepHook SummarySaverHook""",
        "train.optimizers": """
            AdadeltaOptimizer AdagradDAOptimizer AdagradOptimizer AdamOptimizer AdamWOptimizer FtrlOptimizer
            GradientDescentOptimizer MomentumOptimizer Optimizer ProximalAdagradOptimizer
            ProximalGradientDescentOptimizer RMSPropOptimizer""",
        "train.saver": """
            checkpoint_exists generate_checkpoint_state_proto get_checkpoint_state latest_checkpoint Saver
            update_checkpoint_state checkpoints_iterator get_checkpoint_mtimes import_meta_graph
            Checkpoint CheckpointManager CheckpointOptions
            init_from_checkpoint list_variables load_checkpoint load_variable NewCheckpointReader
            remove_checkpoint VocabInfo warm_start write_graph""",
        "train.supervised": """
            basic_train_loop ChiefSessionCreator MonitoredSession MonitoredTrainingSession Scaffold SessionCreator
            SessionManager SingularMonitoredSession Supervisor WorkerSessionCreator""",
        "train.threads": """
            add_queue_runner Coordinator LooperThread QueueRunner start_queue_runners batch batch_join
            input_producer limit_epochs maybe_batch maybe_batch_join maybe_shuffle_batch
            maybe_shuffle_batch_join range_input_producer shuffle_batch shuffle_batch_join
            slice_input_producer""",
    },
}
"""Namespace -> module -> names, beside those that the namespace's own module defines. `name=other`: under another name than in
the module; `*TABLE`: the keys of a table of the module."""

SPACES = (
    "contrib", "contrib.crf", "contrib.distributions", "contrib.framework", "contrib.layers", "contrib.learn",
    "contrib.learn.datasets", "contrib.learn.preprocessing", "contrib.losses", "contrib.metrics", "contrib.opt",
    "contrib.seq2seq", "contrib.slim", "contrib.slim.evaluation", "contrib.slim.learning", "debugging", "distributions",
    "errors",
    "keras", "lookup", "losses", "metrics", "nest", "nn.rnn_cell", "strings", "summary", "test",
)  # fmt: skip
"""The other namespaces: each has the names that its module defines."""


def enter(dialect: ModuleType) -> list[str]:
    """Let each namespace have its names, and return those of the dialect itself."""
    for path in SPACES:
        importlib.import_module(f"{dialect.__name__}.{path}")
    found: dict[str, list[str]] = {}
    for path, sources in NAMES.items():
        space = _namespace(dialect, path)
        found[path] = [name for source, entries in sources.items() for name in _entered(space, dialect, source, entries)]
    spaces = {path.partition(".")[0] for path in (*NAMES, *SPACES)} - {""}
    return sorted({*found[""], *spaces})


def _namespace(dialect: ModuleType, path: str) -> ModuleType:
    """A namespace's module; an empty one where the package has none of that name."""
    full = f"{dialect.__name__}.{path}".rstrip(".")
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        parent, _, name = full.rpartition(".")
        space = sys.modules[full] = ModuleType(full)
        setattr(sys.modules[parent], name, space)
        return space


def _entered(space: ModuleType, dialect: ModuleType, source: str, entries: str) -> list[str]:
    module, names = vars(importlib.import_module(f"{dialect.__name__}.{source}")), []
    for entry in entries.split():
        name, _, own = entry.partition("=")
        for each in module[entry[1:]] if entry.startswith("*") else [name]:
            setattr(space, each, module[own or each])
            names.append(each)
    return names


# names of TensorFlow's that don't exist in this dialect, and what to write instead ------------------------------------

REFUSED: dict[str, tuple[str, str]] = {
    "strings and files": (
        "string decode_ encode_ parse_ read_file serialize_ deserialize_ match_filenames "
        "matching_files TFRecord TextLine FixedLength WholeFile VarLen IdentityReader LMDBReader ReaderBase write_file "
        "fingerprint ngrams unicode_ bytes_split unsorted_segment_join",
        "read files in Python and feed arrays, or use tf.data.Dataset.from_generator; tf.strings has what else there is",
    ),
    "other number formats": (
        "complex qint quint quantize dequantize fake_quant fft ifft irfft rfft imag real angle conj "
        "to_complex logm do_quantize",
        "real numbers of 16 to 64 bits, booleans and integers of 8 to 64 bits",
    ),
    "ragged tensors, and sparse gradients gathered over steps": (
        "SparseConditional SparseFeature SparseTensorSpec Ragged ragged_ ConditionalAccumulator sparse_mask",
        "write dense or sparse tensors, and tf.Variable with assign_add",
    ),
    "several machines": (
        "ServerDef ClusterDef create_local_cluster JobDef WorkerSession ParameterServer",
        "workers that `staticgrad launch` starts, tf.train.ClusterSpec, Server and SyncReplicasOptimizer",
    ),
    "eager mode and functions of TensorFlow 2": (
        "GradientTape function enable_v2 enable_eager Module TypeSpec TensorSpec py_function",
        "eager code is staticgrad's own dialect, which is PyTorch's",
    ),
    "linear operators as objects": (
        "LinearOperator",
        "write the matrix, or a function that applies it",
    ),
    "stochastic dual coordinate ascent": (
        "sdca_",
        "use tf.train.FtrlOptimizer",
    ),
    "crossed and hashed features": (
        "cross merge_hashed",
        "compute the numbers of the features in NumPy, and feed them",
    ),
    "images in files": (
        "adjust_jpeg random_jpeg extract_jpeg is_jpeg",
        "decode images in Python, and feed arrays",
    ),
}
"""Kind -> (beginnings of names, what to write instead)."""

REFUSED_NAMES: dict[str, tuple[str, str]] = {
    "protocol buffers": (
        "AttrValue Event FixedLenFeature FixedLenSequenceFeature GraphOptions HistogramProto LogMessage NameAttrList NodeDef "
        "OptimizerOptions SessionLog SummaryMetadata TensorInfo make_ndarray make_tensor_proto BytesList Example Feature "
        "FeatureList FeatureLists Features FloatList Int64List SequenceExample SaverDef get_summary_description",
        "graphs are saved as JSON, values as safetensors, and arrays are NumPy's",
    ),
    "types of values that are no tensors": (
        "IndexedSlicesSpec NoneTensorSpec OptionalSpec TensorArraySpec type_spec_from_value DatasetSpec resource variant "
        "NumpyIterator",
        "a data set tells output_types and output_shapes; tensors hold numbers",
    ),
    "TensorFlow's own runtime": (
        "load_file_system_library load_library load_op_library wrap_function nondifferentiable_batch_function check_pinned "
        "enable_tensor_equality variable_creator_scope register_tensor_conversion_function get_session_handle "
        "get_session_tensor delete_session_tensor Generator Algorithm create_rng_state "
        "get_global_generator set_global_generator",
        "ops are records of staticgrad, values between runs are variables, and the stateless draws of tf.random take seeds",
    ),
    "results whose number of steps or elements is known at their end": (
        "static_state_saving_rnn ctc_beam_search_decoder ctc_beam_search_decoder_v2 ctc_greedy_decoder ctc_unique_labels "
        "edit_distance combined_non_max_suppression generate_bounding_box_proposals",
        "decode and choose in NumPy after the run, or call tf.image.non_max_suppression for each image",
    ),
    "other algorithms": (
        "fractional_avg_pool fractional_max_pool sample_distorted_bounding_box random_index_shuffle bitcast "
        "batch_scatter_update bincount mask",
        "use tf.math.bincount, tf.gather, tf.nn.max_pool, tf.image.random_crop, tf.random.shuffle, tf.cast, "
        "tf.scatter_nd_update",
    ),
}
"""As `REFUSED`, with whole names."""


def remedy(name: str) -> str:
    """What to write instead of a name; "" where nothing is known."""
    for beginnings, instead in REFUSED.values():
        if name.startswith(tuple(beginnings.split())):
            return instead
    return next((instead for names, instead in REFUSED_NAMES.values() if name in names.split()), "")


def missing(path: str, space: dict[str, Any], name: str) -> AttributeError:
    """The error for a name that a namespace of the dialect lacks: it says what to write, or names the nearest."""
    instead = remedy(name)
    if instead:
        return AttributeError(f"staticgrad's dialect of TensorFlow 1 refuses {path}.{name}: {instead}")
    close = difflib.get_close_matches(name, [n for n in space if not n.startswith("_")], n=3)
    advice = f"; there is {' or '.join(close)}" if close else ""
    return AttributeError(f"staticgrad's dialect of TensorFlow 1 has no {path}.{name} yet{advice}")


def refuse_in(path: str, module: ModuleType) -> None:
    """Let a module raise this error."""

    def find(name: str) -> Any:
        raise missing(path, vars(module), name)

    module.__dict__.setdefault("__getattr__", find)


# TensorFlow's paths of modules that programs import beside `tensorflow` -----------------------------------------------

_NN, _TRAIN, _CELL = ("", "nn", "math", "linalg"), ("train", ""), ("nn.rnn_cell", "contrib.rnn", "nn")
PATHS: dict[str, dict[str, tuple[str, ...]]] = {
    "framework": dict.fromkeys(
        ("constant_op", "dtypes", "ops", "random_seed", "sparse_tensor", "tensor_shape", "tensor_util"),
        ("", "sparse"),
    ) | {"errors": ("errors",), "errors_impl": ("errors",), "test_util": ("test",)},
    "ops": dict.fromkeys(
        (
            "array_ops", "candidate_sampling_ops", "check_ops", "clip_ops", "control_flow_ops", "embedding_ops",
            "functional_ops", "gradients", "gradients_impl", "logging_ops", "math_ops", "nn", "nn_ops", "partitioned_variables",
            "random_ops", "rnn", "script_ops", "sparse_ops", "state_ops", "tensor_array_ops", "variable_scope", "variables",
        ),
        _NN,
    ) | {
        "rnn_cell": _CELL, "rnn_cell_impl": _CELL, "init_ops": ("initializers", ""), "linalg_ops": ("linalg", ""),
        "image_ops": ("image",), "seq2seq": ("contrib.legacy_seq2seq",), "metrics": ("metrics",),
    },
    "training": dict.fromkeys(
        ("adam", "gradient_descent", "learning_rate_decay", "momentum", "saver", "training_util"), _TRAIN,
    ) | {"moving_averages": ("train.decay",)},
    "platform": {
        "app": ("app",), "flags": ("flags",), "gfile": ("gfile",), "test": ("test",), "tf_logging": ("logging",),
    },
    "layers": dict.fromkeys(("base", "convolutional", "core", "layers", "normalization", "pooling"), ("layers",)),
    "util": {"nest": ("nest",)},
    "client": {"session": ("",)},
    "summary": {"summary": ("summary",)},
}  # fmt: skip
"""Package below `tensorflow.python` -> module -> the namespaces, as paths below the dialect, whose public names it has."""


OTHER_PATHS: dict[str, tuple[str, ...]] = {
    "examples.tutorials.mnist.input_data": ("contrib.learn.datasets",),
    "contrib.crf.python.ops.crf": ("contrib.crf",),
    "contrib.framework.python.framework": ("contrib.framework",),
    "contrib.framework.python.ops": ("contrib.framework",),
    "contrib.framework.python.ops.arg_scope": ("contrib.framework",),
    "contrib.framework.python.ops.variables": ("contrib.framework",),
    "contrib.layers.python.layers": ("contrib.layers",),
    "contrib.layers.python.layers.initializers": ("contrib.layers",),
    "contrib.layers.python.layers.layers": ("contrib.layers",),
    "contrib.layers.python.layers.regularizers": ("contrib.layers",),
    "contrib.learn.datasets.mnist": ("contrib.learn.datasets",),
    "contrib.learn.python.learn.datasets.mnist": ("contrib.learn.datasets",),
    "contrib.rnn.python.ops.rnn_cell": ("contrib.rnn",),
    "contrib.slim.python.slim.learning": ("contrib.slim.learning",),
}
"""Other paths below `tensorflow`, and the namespaces whose public names they have."""


class Namespace(ModuleType):
    """A module that looks its names up in others, in their order."""

    def __init__(self, name: str, sources: list[Any]):
        super().__init__(name)
        self.__sources = sources
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            for source in self.__sources:
                if hasattr(source, name):
                    return getattr(source, name)
        raise AttributeError(f"{self.__name__} has no {name!r} here; import it from the dialect's public modules")


def enter_module_paths(dialect: ModuleType) -> None:
    """Let `import`, `from` and attributes find the paths below the dialect's own name."""

    def source(path: str) -> Any:
        found: Any = dialect
        for part in filter(None, path.split(".")):
            found = getattr(found, part)
        return found

    root = dialect.__name__
    paths: dict[str, ModuleType] = {"python": Namespace(f"{root}.python", [dialect])}
    for package, modules in PATHS.items():
        paths[f"python.{package}"] = Namespace(f"{root}.python.{package}", [])
        for name, spaces in modules.items():
            path = f"python.{package}.{name}"
            paths[path] = Namespace(f"{root}.{path}", [source(space) for space in spaces])
    for path, spaces in OTHER_PATHS.items():
        parts = path.split(".")
        for n in range(1, len(parts)):
            above = ".".join(parts[:n])
            if above not in paths and f"{root}.{above}" not in sys.modules:
                paths[above] = Namespace(f"{root}.{above}", [])
        paths[path] = Namespace(f"{root}.{path}", [source(space) for space in spaces])
    enter_paths(root, dict(sorted(paths.items(), key=lambda item: item[0].count("."))))
