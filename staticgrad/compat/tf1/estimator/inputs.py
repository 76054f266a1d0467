"""`tf.estimator.inputs`: functions that give the features and labels of batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data import Dataset


def numpy_input_fn(
    x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool | None = None,
    queue_capacity: int = 1000, num_threads: int = 1,
) -> Callable[[], Any]:  # fmt: skip
    """A function that gives batches of arrays, or of dicts of them: (features, labels), or features alone without y.

    The first axes have one extent. num_epochs: how often every row comes; None: without end. shuffle: rows in random order
    within `queue_capacity`; it has to be given. num_threads is accepted.
    """
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for training); "
            f"got {shuffle}"
        )
    if isinstance(x, dict) and not x:
        raise ValueError("x cannot be an empty dict")
    if not isinstance(x, (dict, np.ndarray)):
        raise TypeError(f"x must be a dict or array; got {type(x).__name__}")
    if isinstance(y, dict) and not y:
        raise ValueError("y cannot be empty dict, use None instead.")
    arrays = [*(x.values() if isinstance(x, dict) else [x]), *([] if y is None else y.values() if isinstance(y, dict) else [y])]
    lengths = {len(a) for a in arrays}
    if len(lengths) != 1:
        raise ValueError(
            f"Length of tensors in x and y is mismatched. All elements in x and y must have the same length, got {lengths}"
        )

    def input_fn() -> Any:
        rows = Dataset.from_tensor_slices(x if y is None else (x, y))
        if shuffle:
            rows = rows.shuffle(max(queue_capacity, 1))
        return rows.repeat(num_epochs).batch(batch_size).make_one_shot_iterator().get_next()

    return input_fn


def pandas_input_fn(
    x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool | None = None,
    queue_capacity: int = 1000, num_threads: int = 1, target_column: str = "target",
) -> Callable[[], Any]:  # fmt: skip
    """`numpy_input_fn` of the columns of a data frame; y: a series, or a frame whose columns are a dict."""
    features = {str(name): x[name].to_numpy() for name in x.columns}
    labels = y if y is None else y.to_numpy() if not hasattr(y, "columns") else {str(n): y[n].to_numpy() for n in y.columns}
    return numpy_input_fn(features, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads)
