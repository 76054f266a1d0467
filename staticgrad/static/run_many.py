"""`sess.run_steps(fetches, batches)`: many runs, in native calls where the plan allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from ..compiler.execute.batches import groups
from ..errors import FeedError
from .prepared_run import Step

Batch = tuple[Step, list[np.ndarray]]


def run_steps(step_of: Callable[[Mapping[Any, Any]], Step], batches: Any) -> Any:
    """See `Session.run_steps`. step_of: the step of a feed dict."""
    if isinstance(batches, Mapping):
        return step_of(batches).stacked(batches.values())
    if not isinstance(batches, Iterable):
        raise FeedError(f"run_steps: batches are a feed dict of stacked values, or feed dicts, got {type(batches).__name__}")
    return _listed(step_of, batches)


def _listed(step_of: Callable[[Mapping[Any, Any]], Step], batches: Iterable[Any]) -> list[Any]:
    listed = isinstance(batches, Sequence)

    def prepare(feed_dict: Any) -> tuple[Batch, int]:
        step = step_of(feed_dict)
        arrays = step.accept(feed_dict.values())
        if not listed:  # an iterator may write its next batch into the same arrays before this one is used
            arrays = [array.copy() for array in arrays]
        return (step, arrays), sum(array.nbytes for array in arrays)

    results: list[Any] = []
    for group in groups(batches, prepare):
        for _, alike in groupby(group, key=_kind):
            runs = list(alike)
            results += runs[0][0].listed([arrays for _, arrays in runs], len(results))
    return results


def _kind(batch: Batch) -> Any:
    step, arrays = batch
    return id(step), [array.shape for array in arrays]
