"""Runs of a function in segments, and their report."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ...base import interpreter
from ...errors import StaticgradError, TraceError
from ...ops.operators import dispatch, state
from .deferral import Deferral
from .roads import Roads, Segment

if TYPE_CHECKING:
    from ...compiler.execute.explain import Explanation
    from ...compiler.execute.profile import Profile
    from ...ir import Graph, Node

Result = TypeVar("Result")

MOST = 64
"""Segments of a function; more of them run operation by operation."""
SMALL = 1 << 15
"""Elements of an operation's result, on average, below which it takes longer to note operations than plans save."""
OTHERS, COSTLY = 3, 2000
"""Calls in a row that made segments of so many operations, after which calls run operation by operation: the plan of a road
that is taken once costs more than it saves."""
AGAIN = 256
"""One call in so many runs in segments where others don't, to look again."""
EARLY = frozenset({2, 16})
"""Calls that do, too, where sizes are the reason: the first one may differ from those that follow."""


class Again(BaseException):
    """Ends a trace that another one follows."""


def printed_once(run: Callable[[Any], Result], work: Any) -> Result:
    """The result of a trace. What it prints is dropped where it ends in an error of the package, or another one follows: the
    function runs again."""
    return _held("stdout", partial(_held, "stderr", run), work)


def _held(name: str, run: Callable[[Any], Result], work: Any) -> Result:
    """The same for one of the two streams."""
    if getattr(sys, name) is None:
        return run(work)
    held = HeldOutput(getattr(sys, name))
    setattr(sys, name, held)
    try:
        result = run(work)
    except (StaticgradError, Again):
        held.text.clear()
        raise
    finally:
        held.ended = True  # here, because a signal may interrupt the call of `end` before its first line
        held.end(name)
    return result


def drop_held() -> bool:
    """Drop what this thread's trace has printed; whether it is held."""
    found = False
    for out in (sys.stdout, sys.stderr):
        while isinstance(out, HeldOutput):  # other threads that trace may have put theirs in front
            if out.thread == threading.get_ident() and not out.ended:
                out.text.clear()
                found = True
            out = out.out
    return found


class HeldOutput:
    """Standard output, or standard error, that holds back what one thread writes; what others write goes on to `out`, and so
    do warnings, which Python does not repeat."""

    def __init__(self, out: Any):
        self.out, self.thread = out, threading.get_ident()
        self.text: list[str] = []
        self.ended = False

    def write(self, text: str) -> int:
        if self.ended:
            self.release()
        elif threading.get_ident() == self.thread and sys._getframe(1).f_globals.get("__name__") != "warnings":
            self.text.append(text)
            return len(text)
        return self.out.write(text)

    def flush(self) -> None:
        if self.ended or threading.get_ident() != self.thread:
            self.out.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.out, name)

    def end(self, name: str) -> None:
        """Write what was held. Another thread that traces may have put its own in front of this one, which then stays there
        and holds nothing."""
        if getattr(sys, name) is self:
            out = self.out
            while isinstance(out, HeldOutput) and out.ended:
                out = out.out
            setattr(sys, name, out)
        self.release()

    def release(self) -> None:
        """Write what was held."""
        text, self.text = self.text, []
        if text:
            self.out.write("".join(text))


class FlagChange(TraceError):
    """A trace changes `requires_grad` of a tensor from outside, which a later call may find as it is then.

    Broken: with `on_break="error"`, `buffer.requires_grad_()` in the compiled function. Fixed: the same before the call.
    """


class SegmentedRuns:
    """Runs the calls of one function whose Python needs values. why: the error of the trace; always: all calls run in segments.
    Otherwise those whose operations are small, or that take another road each time, run operation by operation, which is
    faster. passing: the next call may be one plan. What decides are counts, not times, so a program does the same each time it
    is run."""

    def __init__(
        self, name: str, numerics: str, passes: Sequence[Any], why: Exception, always: bool = False, passing: bool = False
    ):
        self.name, self.why, self.passing = name, why, passing
        self.roads = Roads(numerics, passes, MOST)
        self.warned = False
        self.always = always or numerics != "fast" or bool(passes)
        self.small = 0.0
        """Elements of a result, on average, where they are so few that calls run operation by operation; else 0."""
        self.calls = self.operations = self.elements = 0
        """Calls; of those of the latest `AGAIN` that ran in segments: their operations, and the elements of the results."""
        self.others = self.compiled = 0
        """Of the latest calls that each made a segment: their number, and the operations of these segments."""

    def run(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """One call. Its effects are those of eager mode, in order, also if it raises."""
        self.calls += 1
        look = self.calls % AGAIN == 0 or (self.small and self.calls in EARLY)
        if (self.small or self.wandering) and not look:
            return fn(*args, **kwargs)
        segments = len(self.roads.segments)
        deferral = Deferral(self.roads, self._full, 0 if self.always or (self.operations and not self.small) else SMALL)
        outer = state.deferral
        try:
            dispatch.begin(deferral)
            state.deferral = deferral
            try:
                return fn(*args, **kwargs)
            finally:
                deferral.ended = True
                deferral.settle()
        finally:
            state.deferral = outer
            dispatch.end(deferral)
            self._weigh(deferral, self.roads.segments[segments:])

    @property
    def wandering(self) -> bool:
        """Whether each of the latest calls took a road of its own, of many operations."""
        return not self.always and self.others >= OTHERS and self.compiled >= COSTLY

    def _weigh(self, deferral: Deferral, made: Sequence[Segment]) -> None:
        """Note the sizes of a call's operations. made: its segments that no call before had."""
        if self.always:
            return
        if self.small or self.calls % AGAIN == 0:
            self.operations = self.elements = 0
        self.operations += deferral.operations
        self.elements += deferral.elements
        if self.operations:
            mean = self.elements / self.operations
            self.small = max(mean, 1.0) if mean < SMALL else 0.0
        known = not made or self.small
        self.others, self.compiled = (0, 0) if known else (self.others + 1, self.compiled + sum(s.operations for s in made))
        if self.wandering:
            self._warn(f"took another road in each of its latest {self.others} calls, so it runs operation by operation now", 6)

    def _full(self) -> None:
        self._warn(f"takes other branches in every call: beyond {MOST} segments it runs operation by operation", 5)

    def _warn(self, what: str, level: int) -> None:
        if not self.warned:
            self.warned = True
            interpreter.warn(f"{self.name} {what} ({self.why})", level)

    @property
    def plan(self) -> Any:
        """The plan of the largest segment; None before the first call."""
        plans = (s.plan for s in sorted(self.roads.segments, key=lambda segment: -segment.operations))
        return next((plan for plan in plans if plan is not None), None)

    def largest(self) -> Any:
        """The plan of the largest segment. Raises TraceError where there is none, as with `on_break="eager"`."""
        plan = self.plan
        if plan is None:
            why, _, remedy = str(self.why).partition("\n")
            how = "runs in segments without operations" if self.calls else "runs operation by operation"
            raise TraceError(f"{self.name} {how}, so there is no plan: {why}", remedy.strip())
        return plan

    def explain(self, detail: bool = False, why_not: tuple[Any, Any] | None = None) -> Explanation:
        """The cuts with the user's lines, and the plan of each segment."""
        why = str(self.why).partition("\n")[0]
        return _inspection().explained(self.name, why, self.small, self.wandering, self.roads.segments, detail, why_not)

    def graph(self) -> tuple[Graph, dict[Node, str]]:
        """The graphs of all segments, joined by the cuts between them, and the kernel of each node."""
        graph, places = _inspection().joined(self.roads.segments)
        return graph, _inspection().kernel_names(self.roads.segments, places)

    def profile(self, repeats: int = 200) -> Profile:
        """The times of all segments."""
        return _inspection().profiled(self.roads.segments, lambda plan: plan.profile(repeats))


def _inspection() -> Any:
    """Imported when somebody looks: the printing of plans is no part of running them."""
    from . import inspection

    return inspection
