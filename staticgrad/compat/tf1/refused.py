"""Names of TensorFlow's that don't exist in this dialect, and what to write instead."""

from __future__ import annotations

import difflib
from types import ModuleType
from typing import Any

REFUSED: dict[str, tuple[str, str]] = {
    "strings and files": (
        "string decode_ encode_ parse_ read_file regex_ serialize_ deserialize_ as_string reduce_join match_filenames "
        "matching_files TFRecord TextLine FixedLength WholeFile VarLen IdentityReader LMDBReader ReaderBase write_file substr "
        "fingerprint to_number",
        "tensors hold numbers: read files in Python and feed arrays, or use tf.data.Dataset.from_generator",
    ),
    "other number formats": (
        "complex bfloat16 float16 half qint quint quantize dequantize fake_quant fft ifft irfft rfft imag real angle conj "
        "uint16 uint32 uint64 to_bfloat16 to_complex logm do_quantize",
        "float32, float64, booleans and integers of 8 to 64 bits (unsigned: 8)",
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
        "FeatureList FeatureLists Features FloatList Int64List SequenceExample SaverDef VocabInfo get_summary_description",
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
        "get_session_tensor delete_session_tensor create_partitioned_variables Generator Algorithm create_rng_state "
        "get_global_generator set_global_generator",
        "ops are records of staticgrad, variables are whole arrays, values between runs are variables, and the stateless "
        "draws of tf.random take seeds",
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
