"""Many runs of a plan: `listed` for batches one by one, `stacked` for batches along a first axis.

Many runs are one native call where the caller's `together` can have `Steps` do them. Elsewhere `one` does each run by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...errors import StaticgradError
from ..backend import abi as t
from ..runtime.plan_memory import room
from .fastcall import address, numbers

if TYPE_CHECKING:
    from .plan import Plan

Batch = TypeVar("Batch")
AHEAD, BYTES = 256, 1 << 26
"""The number of batches, and bytes, that are taken from an iterable before they are run."""
SECONDS = 0.1
"""How long one native call may take, before Python handles signals."""
GROWTH = 16
"""The factor by which the number of runs in one call may grow: the first runs are slow, and not representative."""


def listed(
    batches: Iterable[Any],
    prepare: Callable[[Any], tuple[Batch, int]],
    together: Callable[[Sequence[Batch], int], list[Any] | None],
    one: Callable[[Batch, int], Any],
) -> list[Any]:
    """The results of one run per batch.

    prepare(batch): the batch to run, and its bytes. together(batches, before): the results of the first of these batches in
    one native call, or None; before: the number of runs that are over. one(batch, before): the result of a run by itself.
    """
    results: list[Any] = []
    for group in _groups(batches, prepare):
        at = 0
        while at < len(group):
            found = together(group[at:], len(results))
            if found is None:
                found = [one(group[at], len(results))]
            results += found
            at += len(found)
    return results


def stacked(
    count: int,
    together: Callable[[int], Any],
    one: Callable[[int], Any],
    joined: Callable[[list[Any], Any], Any],
) -> Any:
    """The joined results of `count` runs.

    together(before): the stacked results of all runs from number `before` on, in one native call, or None. one(before): the
    result of that run by itself. joined(ones, rest): the results of single runs and the stacked results, if any, as one.
    """
    ones: list[Any] = []
    rest = None
    while rest is None and len(ones) < max(count, 1):
        rest = together(len(ones))
        if rest is None:
            ones.append(one(len(ones)))
    return joined(ones, rest)


def _groups(batches: Iterable[Any], prepare: Callable[[Any], tuple[Batch, int]]) -> Iterator[list[Batch]]:
    """Prepared batches, some at a time. An exception of the iterable is raised when the batches before it are done."""
    source = iter(batches)
    failed: BaseException | None = None
    while failed is None:
        group: list[Batch] = []
        size = 0
        while len(group) < AHEAD and size < BYTES:
            try:
                batch, more = prepare(next(source))
            except BaseException as error:
                failed = error
                break
            group.append(batch)
            size += more
        if group:
            yield group
    if not isinstance(failed, StopIteration):
        raise failed


class Steps:
    """Many runs of a plan in native calls.

    feeds: int64 (count, feeds), the addresses of the arrays' memory, or with `ids` the ids of the ndarrays, which the caller
    keeps alive. done: the number of runs that are over. results: per fetch an array (count, *shape), valid for these runs.
    """

    def __init__(self, plan: Plan, feeds: np.ndarray, ids: bool):
        self.plan, self.count, self.done = plan, len(feeds), 0
        self.ids = feeds.shape[1] if ids else 0
        size = self.count * sum(buffer.nbytes for buffer in plan.fetches)
        self.results = room(
            lambda: [np.empty((self.count, *buffer.shape), buffer.dtype) for buffer in plan.fetches],
            f"the results of {self.count} steps need {size:.1e} bytes, and there is no memory for that",
            "no step was run; give fewer of them at once",
        )
        self.table = np.empty((self.count, feeds.shape[1] + len(plan.builder.outputs)), np.int64)
        self.table[:, : feeds.shape[1]] = feeds
        for buffer, whole in zip(plan.fetches, self.results, strict=True):
            if buffer.root.kind == "output":
                self.table[:, buffer.root.index] = places(whole)

    @staticmethod
    def suit(plan: Plan) -> bool:
        """Whether the driver can run this plan many times: all of it is native, and results are contiguous."""
        copied = all(view.flags.c_contiguous for _, view in plan.results.copies)
        return plan.simple and not plan.results.late and copied

    def run(self, before: int = 0) -> None:
        """Run all. The plan is bound, and no other thread runs it. Hyperparameters are read once, at the start.

        Raises the error of a run, with its number, counted from `before`. The runs before it are done, as after a
        KeyboardInterrupt.
        """
        plan, size = self.plan, 1
        plan.read_hyperparameters()
        copied = [(address(view), address(self.results[i]), view.nbytes) for i, view in plan.results.copies]
        copies = numbers(number for copy in copied for number in copy)
        while self.done < self.count:
            size = min(size, self.count - self.done)
            begin = time.perf_counter()
            self._chunk(size, copies, before)
            pace = SECONDS / max(time.perf_counter() - begin, 1e-6)
            size = max(1, int(size * min(pace, GROWTH)))

    def _chunk(self, size: int, copies: np.ndarray, before: int) -> None:
        """Do the next `size` runs."""
        from ..runtime import loader  # makes the runtime

        plan, last = self.plan, self.done + size
        plan.take_draws(size)
        state = address(plan.builder.generator_state)
        resume = 0
        while self.done < last:
            self.done = loader.steps(
                loader.address("step"), address(plan.control), address(self.table), self.table.shape[1], self.ids, self.done,
                last, address(copies), len(plan.results.copies), state, plan.draws, resume,
            )  # fmt: skip
            plan.ran = plan.ran or self.done > 0
            resume = int(plan.control[t.FAILED])
            if self.done < last and not plan.paused(resume):
                plan.give_back()
                try:
                    plan.fail(resume)
                except StaticgradError as error:
                    raise numbered(error, before + self.done) from None


def numbered(error: StaticgradError, step: int) -> StaticgradError:
    """The error of one run among many."""
    return type(error)(error.summary, told(step), *error.details, where=error.where)


def told(step: int) -> str:
    """The line that says which run raised an error."""
    return f"in step {step}, counted from 0: the steps before it are done"


def places(whole: np.ndarray) -> np.ndarray:
    """The address of each part of a C-contiguous array along its first axis."""
    return address(whole) + np.arange(len(whole)) * (whole.strides[0] if whole.size else 0)
