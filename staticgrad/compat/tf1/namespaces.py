"""Which names of which modules stand in which namespaces: `tf.math` has some of `tf.nn`, `tf.image` is several modules."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from . import (
    aliases,
    boxes,
    colors,
    contrib,
    debugging,
    decompositions,
    draws,
    elements,
    image,
    initializers,
    keras,
    linalg,
    math,
    metrics,
    nn,
    python_operators,  # noqa: F401  (gives tensors their operators)
    sparse,
    special,
    state,
    thresholds,
    variables,
)
from .nn import sparse_labels, spatial

SAMPLERS = ("all_candidate_sampler", "compute_accidental_hits", "fixed_unigram_candidate_sampler")
MEMBERS: list[tuple[ModuleType, Any, tuple[str, ...]]] = [
    (image, boxes, boxes.PUBLIC),
    (image, colors, colors.PUBLIC),
    (initializers, state, ("tables_initializer",)),
    (linalg, decompositions, decompositions.LINALG),
    (math, nn, ("l2_normalize", "log_softmax", "softmax", "softsign", "zero_fraction")),
    (math, debugging, ("is_non_decreasing", "is_strictly_increasing")),
    (math, special, special.MATH),
    (metrics, thresholds, thresholds.PUBLIC),
    (nn, draws, SAMPLERS),
    (nn, elements, ("space_to_batch",)),
    (nn, sparse_labels, sparse_labels.PUBLIC),
    (nn, special, ("approx_max_k", "approx_min_k")),
]
"""(namespace, the module that has them, names)."""
for _space, _module, _names in MEMBERS:
    for _name in _names:
        setattr(_space, _name, getattr(_module, _name))
for _name in ("global_variables", "local_variables", "variables"):
    setattr(initializers, _name, getattr(variables, f"{_name}_initializer"))

TOP: dict[str, Any] = {
    "contrib": contrib,
    "keras": keras,
    "conv": spatial.conv,
    "conv2d_backprop_filter_v2": spatial.conv2d_backprop_filter_v2,
    "conv2d_backprop_input_v2": spatial.conv2d_backprop_input_v2,
    "orthogonal_initializer": initializers.Orthogonal,
    "random": draws.NAMES,
    "sparse": sparse.NAMES,
    "uniform_unit_scaling_initializer": initializers.UniformUnitScaling,
    **decompositions.TOP,
    **sparse.TOP,
}
"""Names at the top of the dialect."""
for _module in (aliases, draws, elements, special):
    TOP.update({_name: getattr(_module, _name) for _name in _module.PUBLIC})
