"""Runs of a function in segments, and their report."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ... import logs
from ...errors import StaticgradError
from ...operators import state
from .. import interception
from .deferral import Deferral
from .roads import Roads

if TYPE_CHECKING:
    from ...compiler.execute.explanation import Explanation

Result = TypeVar("Result")

MOST = 64
"""Segments of a function; more of them run operation by operation."""


def printed_once(run: Callable[[Any], Result], work: Any) -> Result:
    """The result of a trace. What it prints is dropped where it ends in an error of the package: the function runs again."""
    out, text = sys.stdout, io.StringIO()
    sys.stdout = text
    try:
        result = run(work)
    except StaticgradError:
        text = io.StringIO()
        raise
    finally:
        if sys.stdout is text or sys.stdout.__class__ is io.StringIO:
            sys.stdout = out
        out.write(text.getvalue())
    return result


class SegmentedRuns:
    """Runs the calls of one function whose Python needs values. why: the error of the trace."""

    def __init__(self, name: str, numerics: str, passes: Sequence[Any], why: Exception):
        self.name, self.why = name, why
        self.roads = Roads(numerics, passes, MOST)
        self.warned = False

    def run(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """One call. Its effects are those of eager mode, in order, also if it raises."""
        deferral = Deferral(self.roads, self._full)
        outer = state.deferral
        try:
            interception.begin(deferral)
            state.deferral = deferral
            try:
                return fn(*args, **kwargs)
            finally:
                deferral.ended = True
                deferral.settle()
        finally:
            state.deferral = outer
            interception.end(deferral)

    def _full(self) -> None:
        if not self.warned:
            self.warned = True
            logs.warn(
                f"{self.name} takes other roads in every call: beyond {MOST} segments it runs operation by operation "
                f"({self.why})",
                4,
            )

    @property
    def plan(self) -> Any:
        """The plan of the largest segment; None before the first run."""
        segments = [segment for segment in self.roads.segments if segment.plan is not None]
        return max(segments, key=lambda segment: segment.operations).plan if segments else None

    def explain(self, detail: bool = False) -> Explanation:
        """The cuts with the user's lines, and the plan of each segment."""
        from ...compiler.execute.explanation import Explanation

        summary = str(self.why).partition("\n")[0]
        lines = [f"{self.name} runs in segments, because {summary}"]
        for number, segment in enumerate(self.roads.segments):
            line = "the end of the function" if segment.where is None else f"{segment.where}, for {segment.reason}"
            lines.append(f"segment {number}: {segment.operations} operations, {segment.runs} runs, cut at {line}")
        plans = [segment.plan for segment in self.roads.segments if segment.plan is not None]
        return Explanation(lines, parts=[plan.explain(detail=detail) for plan in plans], detail=detail)
