"""Write `docs/tf1_names.md`: TensorFlow 1's public names, and where each stands in `staticgrad.compat.tf1`.

    python -m tools.tf1_names

The names are those of `tf.compat.v1` of TensorFlow 2.x (`tools/tf1_names.json`), without modules.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import staticgrad.compat.tf1 as tf

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tf1_names.md"
NAMES = Path(__file__).with_name("tf1_names.json")

REFUSED = {
    "strings and files": (
        (
            "string",
            "decode_",
            "encode_",
            "parse_",
            "read_file",
            "regex_",
            "serialize_",
            "deserialize_",
            "as_string",
            "reduce_join",
            "match_filenames",
            "matching_files",
            "TFRecord",
            "TextLine",
            "FixedLength",
            "WholeFile",
            "VarLen",
            "IdentityReader",
            "LMDBReader",
            "ReaderBase",
            "write_file",
            "substr",
            "fingerprint",
            "to_number",
        ),
        "tensors hold numbers: read files in Python and feed arrays, or use tf.data.Dataset.from_generator",
    ),
    "other number formats": (
        (
            "complex",
            "bfloat16",
            "float16",
            "half",
            "qint",
            "quint",
            "quantize",
            "dequantize",
            "fake_quant",
            "fft",
            "ifft",
            "irfft",
            "rfft",
            "imag",
            "real",
            "angle",
            "conj",
            "uint16",
            "uint32",
            "uint64",
            "to_bfloat16",
            "to_complex",
            "logm",
            "do_quantize",
        ),
        "float32, float64, booleans and integers of 8 to 64 bits (unsigned: 8)",
    ),
    "ragged tensors, and sparse gradients gathered over steps": (
        (
            "SparseConditional",
            "SparseFeature",
            "SparseTensorSpec",
            "Ragged",
            "ragged_",
            "ConditionalAccumulator",
            "sparse_mask",
        ),
        "write dense or sparse tensors, and tf.Variable with assign_add",
    ),
    "several machines": (
        (
            "Server",
            "Cluster",
            "create_local_cluster",
            "replica_",
            "SyncReplicas",
            "Supervisor",
            "JobDef",
            "WorkerSession",
            "ParameterServer",
        ),
        "one machine, one process",
    ),
    "eager mode and functions of TensorFlow 2": (
        ("GradientTape", "function", "enable_v2", "enable_eager", "Module", "TypeSpec", "TensorSpec", "py_function"),
        "eager code is staticgrad's own dialect, which is PyTorch's",
    ),
    "linear operators as objects": (("LinearOperator",), "write the matrix, or a function that applies it"),
    "stochastic dual coordinate ascent": (("sdca_",), "use tf.train.FtrlOptimizer"),
    "crossed and hashed features": (("cross", "merge_hashed"), "compute the numbers of the features in NumPy, and feed them"),
    "images in files": (
        ("adjust_jpeg", "random_jpeg", "extract_jpeg", "is_jpeg"),
        "decode images in Python, and feed arrays",
    ),
}
"""Kind -> (beginnings of names, what to write instead)."""

REFUSED_NAMES = {
    "protocol buffers": (
        (
            "AttrValue",
            "Event",
            "FixedLenFeature",
            "FixedLenSequenceFeature",
            "GraphOptions",
            "HistogramProto",
            "LogMessage",
            "NameAttrList",
            "NodeDef",
            "OptimizerOptions",
            "SessionLog",
            "SummaryMetadata",
            "TensorInfo",
            "make_ndarray",
            "make_tensor_proto",
            "BytesList",
            "Example",
            "Feature",
            "FeatureList",
            "FeatureLists",
            "Features",
            "FloatList",
            "Int64List",
            "SequenceExample",
            "SaverDef",
            "VocabInfo",
            "get_summary_description",
        ),
        "graphs are saved as JSON, values as safetensors, and arrays are NumPy's",
    ),
    "types of values that are no tensors": (
        (
            "IndexedSlicesSpec",
            "NoneTensorSpec",
            "OptionalSpec",
            "TensorArraySpec",
            "type_spec_from_value",
            "DatasetSpec",
            "resource",
            "variant",
            "NumpyIterator",
        ),
        "a data set tells output_types and output_shapes; tensors hold numbers",
    ),
    "TensorFlow's own runtime": (
        (
            "load_file_system_library",
            "load_library",
            "load_op_library",
            "wrap_function",
            "nondifferentiable_batch_function",
            "check_pinned",
            "enable_tensor_equality",
            "variable_creator_scope",
            "register_tensor_conversion_function",
            "get_session_handle",
            "get_session_tensor",
            "delete_session_tensor",
            "create_partitioned_variables",
            "Generator",
            "Algorithm",
            "create_rng_state",
            "get_global_generator",
            "set_global_generator",
        ),
        "ops are records of staticgrad, variables are whole arrays, values between runs are variables, and the stateless draws "
        "of tf.random take seeds",
    ),
    "results whose number of steps or elements is known at their end": (
        (
            "static_state_saving_rnn",
            "ctc_beam_search_decoder",
            "ctc_beam_search_decoder_v2",
            "ctc_greedy_decoder",
            "ctc_unique_labels",
            "edit_distance",
            "combined_non_max_suppression",
            "generate_bounding_box_proposals",
        ),
        "decode and choose in NumPy after the run, or call tf.image.non_max_suppression for each image",
    ),
    "other algorithms": (
        (
            "fractional_avg_pool",
            "fractional_max_pool",
            "sample_distorted_bounding_box",
            "random_index_shuffle",
            "bitcast",
            "batch_scatter_update",
            "bincount",
            "mask",
        ),
        "use tf.math.bincount, tf.gather, tf.nn.max_pool, tf.image.random_crop, tf.random.shuffle, tf.cast, "
        "tf.scatter_nd_update",
    ),
}
"""As `REFUSED`, with whole names."""


def standing(space: Any, name: str) -> str:
    """ "works", or what to write instead; "" for a name that is missing."""
    if space is not None and hasattr(space, name):
        return "works"
    for beginnings, remedy in REFUSED.values():
        if name.startswith(beginnings):
            return remedy
    for names, remedy in REFUSED_NAMES.values():
        if name in names:
            return remedy
    return ""


def _space(path: str) -> Any:
    found: Any = tf
    for part in path.split(".")[1:]:
        found = getattr(found, part, None)
    return found


def page() -> str:
    lists: dict[str, list[str]] = json.loads(NAMES.read_text(encoding="utf-8"))
    rows, details = [], []
    for path, names in lists.items():
        space = _space(path)
        found = {name: standing(space, name) for name in names}
        works = [n for n, s in found.items() if s == "works"]
        refused = [n for n, s in found.items() if s not in ("works", "")]
        missing = [n for n, s in found.items() if not s]
        rows.append(f"| `{path}` | {len(names)} | {len(works)} | {len(refused)} | {len(missing)} |")
        details.append(
            f"## `{path}`\n\nWorks: {_listed(works)}\n\nRefused: {_listed(refused)}\n\nMissing: {_listed(missing)}\n"
        )
    kinds = "\n".join(f"- {kind}: {remedy}." for kind, (_, remedy) in (REFUSED | REFUSED_NAMES).items())
    return "\n".join([
        "# TensorFlow 1's names", "", "<!-- Written by `python -m tools.tf1_names`. -->", "",
        "Names of `tf.compat.v1`, and which of them `staticgrad.compat.tf1` has. Refused are names of things that don't exist",
        "here; missing are all others, for which the dialect raises an AttributeError that names the nearest.", "",
        "| namespace | names | work | refused | missing |", "|---|---:|---:|---:|---:|", *rows, "",
        "What to write instead of refused names:", "", kinds, "", *details,
    ])  # fmt: skip


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{n}`" for n in names) if names else "none"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
