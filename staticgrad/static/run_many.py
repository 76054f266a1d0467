"""`sess.run_steps(fetches, batches)`: many runs, in native calls where the plan allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from ..compiler.execute.many_runs import listed
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
    held = isinstance(batches, Sequence)

    def prepare(feed_dict: Any) -> tuple[Batch, int]:
        step = step_of(feed_dict)
        arrays = step.accept(feed_dict.values())
        if not held:  # an iterator may write its next batch into the same arrays before this one is used
            arrays = [array.copy() for array in arrays]
        return (step, arrays), sum(array.nbytes for array in arrays)

    return listed(batches, prepare, _together, lambda batch, number: batch[0].single(batch[1], number))


def _together(batches: Sequence[Batch], before: int) -> list[Any]:
    """The results of the first batches, as far as they have the same shapes."""
    kind, step = _kind(batches[0]), batches[0][0]
    alike = [arrays for _, arrays in takewhile(lambda batch: _kind(batch) == kind, batches)]
    found = step.listed(alike, before)
    return [step.single(arrays, before + k) for k, arrays in enumerate(alike)] if found is None else found


def _kind(batch: Batch) -> Any:
    step, arrays = batch
    return id(step), [array.shape for array in arrays]
