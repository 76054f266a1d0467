"""Eager operations by kernels of the compiler: which calls have one, and from which call on.

NumPy evaluates an operation in its first calls; then a small plan does: one for each combination of op, shapes, dtypes
and attributes. Plans of other shapes share the kernels. The number of calls by NumPy depends on nothing but the program, so
that a seed gives the same bits in every run; with `eager_kernels(wait=True)` there are none.

`PlannedCall` is such a plan as a function of arrays; `op_calls.py` and `composites.py` say what plans compute.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from ...base.interpreter import module, rlock
from ...base.tables import record
from ...errors import CompileError, StaticgradError
from ...ir import Graph, Node
from ..grad_mode import Setting, modes
from .array_plans import ArrayPlan
from .call_cache import CallCache, by_numpy, counted, shared

if TYPE_CHECKING:
    from ...compiler.execute.plan import Plan
    from ...compiler.plan_store import Templates
    from ...compiler.program import Program
    from ...ir import Cell

USES = 16
"""The call of small arrays in which the plan of several operations takes over: it costs as much as thousands of calls."""
ALONE = 32 * USES
"""As `USES`, of an operation by itself: a plan that takes over what it is a part of makes its own superfluous."""
LEAST = 4
"""As `USES`, of large arrays: most shapes of a short program come once or twice."""
STEPS = 3
"""The step of training in which the plans of what recurs in each step take over."""
NEAR = 4
"""Backward passes between two calls that are parts of steps of training with the same shapes; see `Waiting.count`."""
WORK = USES << 17
"""Elements that NumPy computes in all these calls: of larger arrays there are fewer calls."""
SPARE = 3
"""Large results of one shape and dtype that are kept for the next operations with such a result."""
SHAPES = 64
"""Shapes of large results from which spare arrays of the older ones are released."""
MOVED = 1 << 14
"""Elements from which a kernel copies an array in another order of memory sooner than NumPy."""
OFF = Setting()

Computation: TypeAlias = "Program | ArrayPlan"
"""What a plan is made of: for kernels a program, for NumPy the plan itself."""
Make = Callable[..., Any]
"""Gives a program, perhaps None, and its `PlannedCall.use`; None for a call without a plan."""


@record()
class Maker:
    """How the program of a call is made, and what it follows from.

    make: see `Make`. family: gives, of a key and the arguments of `make`, what calls have in common whose programs may
    differ in extents alone, or None. whole: gives all that the program follows from. bound: gives the variables of the program,
    and the dicts that it reads hyperparameters of. used: gives `PlannedCall.use`, of what was kept of it and the arguments.
    keyed: `whole` tells calls apart as their keys do.
    """

    make: Callable[..., Any]
    family: Callable[..., Hashable] = lambda key, *args: None
    whole: Callable[..., Hashable] = lambda key, *args: key
    bound: Callable[[], tuple[Sequence[Cell], Sequence[dict[str, Any]]]] = lambda: ((), ())
    used: Callable[..., Any] = lambda use, *args: use
    keyed: bool = False

    def __call__(self, *args: Any) -> Any:
        return self.make(*args)


class PlannedCall:
    """An operation as a plan. `run(*arrays)` returns the list of its results, or None where NumPy has to compute them. use: how
    a caller feeds the plan and places its results; see `Reads`, `Saved`, `TapePlan`. why: there is no plan. waits: NumPy
    computes it for now."""

    __slots__ = ("plan", "run", "use", "why")
    waits: ClassVar[bool] = False

    def __init__(self, plan: Plan | ArrayPlan | None, use: Any = None, why: str = ""):
        self.plan, self.use, self.why = plan, use, why
        self.run: Callable[..., Any] = declined

    @property
    def calls(self) -> list[PlannedCall]:
        """This one, and those with plans that `use` names: of its gradient, or of what follows."""
        others: Sequence[PlannedCall] = getattr(self.use, "calls", ())
        return [self, *[call for call in others if call.plan is not None]]

    @property
    def nbytes(self) -> int:
        """The memory of the plans."""
        held = 0 if self.plan is None else self.plan.memory.arena
        for call in getattr(self.use, "calls", ()):
            held += 0 if call.plan is None else call.plan.memory.arena
        return held

    @property
    def vain(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.plan is None and self.use is None

    def arrive(self) -> None:
        """Wait for the kernels. From now on the plan runs."""
        if self.plan is not None and self.run is declined:
            try:
                self.plan.wait()
            except CompileError as error:  # NumPy computes it
                self.plan, self.why = None, f"{error}".partition("\n")[0]
            else:
                self.run = counted(self.plan.call if isinstance(self.plan, ArrayPlan) else _fast(self.plan))

    def in_any_layout(self, *arrays: np.ndarray) -> Any:
        """As `run`, for arrays in any order of memory, and while another thread runs the plan."""
        if self.plan is None:
            return None
        given = [row_major(a) for a in arrays]
        try:
            return self.run(*given) or self.plan.run(given, {})
        except StaticgradError:
            return None  # NumPy raises the error, which names the user's operation


def row_major(array: np.ndarray) -> np.ndarray:
    """The array if its elements lie in row-major order, else a copy in that order. Native code takes nothing but plain arrays:
    one of a subclass is viewed as such, one of NumPy's scalars becomes a 0-d array."""
    if array.__class__ is not np.ndarray:
        array = np.asarray(array)
    return array if array.flags.c_contiguous else copied(array)


def copied_as_it_lies(array: np.ndarray) -> np.ndarray:
    """A copy whose axes have the order and the directions of the array's, and whose elements repeat where the array's do.
    Strict plans take such copies: they add in the order in which elements lie."""
    if min(array.strides, default=1) > 0:
        return array.copy("K")
    backwards = tuple([slice(None, None, -1) if step < 0 else slice(None) for step in array.strides])
    part = array[backwards][tuple([slice(0, 1) if step == 0 else slice(None) for step in array.strides])]
    return np.broadcast_to(part.copy("K")[backwards], array.shape)


def copied(array: np.ndarray) -> np.ndarray:
    """A copy in row-major order: of a large array by a kernel."""
    if array.size < MOVED:
        return np.array(array, order="C")
    return module("staticgrad.compiler.execute.fastcall").copied(array)


def flat_for(array: np.ndarray, extents: tuple[Any, ...]) -> np.ndarray:
    """An array to reshape, in row-major order where the result can't be a view of it."""
    if not array.flags.c_contiguous and array.size >= modes.now.heavy:
        try:
            array.reshape(*extents, copy=False)
        except ValueError:
            return copied(array)
        except TypeError:  # NumPy 2.0 copies by itself
            pass
    return array


def declined(*arrays: np.ndarray) -> None:
    """The plan of an operation that has none."""


NONE = PlannedCall(None, why="kernels have no part in it, or not all")
"""That of an operation without a plan."""


class Waiting(PlannedCall):
    """The call of a key in one thread until its plan takes over. last: the call that it takes over at the latest; left: how
    many calls come until then; begun: when the first one came; steps: it may be a part of steps of training; row: how many came
    in a row with it; latest: the number of backward passes before the latest call; asked: the plan was asked for."""

    __slots__ = ("asked", "begun", "last", "latest", "left", "row", "steps")
    waits = True

    def __init__(self, last: int, steps: bool, row: int = 0):
        super().__init__(None)
        self.last, self.left = last, last - row
        self.steps, self.asked = steps, False
        self.begun = time.monotonic()
        self.row, self.latest = row, modes.now.passes - 1 if row else -1

    def count(self, passes: int) -> bool:
        """Count a call, before which there were so many backward passes. Returns whether it asks for the plan.

        The call in the middle does. A step of training is what lies between two backward passes: a call that comes in several
        of them in a row asks in the second one, and its plan takes over in the third. A program with ever other shapes may
        need few of them again.
        """
        self.left -= 1
        if self.steps and passes != self.latest:
            self.row = self.row + 1 if passes - self.latest <= NEAR else 1
            self.latest = passes
            if self.row == STEPS:
                self.left = 0
        asks = not self.asked and (self.left == self.last // 2 or self.row == STEPS - 1)
        self.asked |= asks
        return asks

    def due(self) -> float:
        """The time of the monotonic clock at which the plan takes over if calls go on coming as they came."""
        now = time.monotonic()
        part = (STEPS - self.row) / (self.row - 1) if self.row > 1 else self.left / max(self.last - self.left, 1)
        return now + (now - self.begun) * part


def _fast(plan: Plan) -> Callable[..., Any]:
    specs = [module("staticgrad.compiler.execute.fastcall").Spec(f.dtype, f.shape, bare=True) for f in plan.feed_types]
    found: Callable[..., Any] = module("staticgrad.compiler.execute.fastcall").fast_path(plan, specs)
    if plan.atomic:
        return found
    lock = plan.lock

    def run(*arrays: np.ndarray) -> Any:
        """As `found`; declines while another thread runs the plan, which lets threads switch."""
        if not lock.acquire(False):
            return None
        try:
            return found(*arrays)
        finally:
            lock.release()

    return run


def uses_of(elements: int, most: int = USES) -> int:
    """The call in which a plan takes over, where the largest operand has so many elements."""
    return min(most, max(LEAST, WORK // max(elements, 1)))


class Requests:
    """Who computes a call: NumPy up to a certain one of its key, from then on its plan.

    The calls are counted, for each thread by itself (`Mode.calls`). Which one asks for a plan, and which one it takes over,
    follows from the sizes and from the kind of call, so it is the same in every run of a program. Workers compile the kernels
    between the two. A call that takes over waits for them.
    """

    def __init__(self) -> None:
        self.pools: weakref.WeakValueDictionary[Any, np.ndarray] = weakref.WeakValueDictionary()
        self.templates: dict[str, Templates] | None = None
        """While a call is being made that has a place of its own in the kernel cache, so that its programs need none: the
        templates of its family, by the part of a call whose programs share them."""
        self.making = rlock()
        self.due = 0.0
        """When somebody is going to wait for the kernels of the call that is being made; see `Waiting.due`."""

    @property
    def plans(self) -> CallCache:
        """Those that any thread asked for, by key, among others: of who runs the plans of this thread."""
        return by_numpy if modes.now.numpy else shared

    def begin(self, key: Hashable, last: int, steps: bool = False, row: int = 0) -> PlannedCall:
        """The first call of a key, which `call` counts. last: the call that its plan takes over at the latest; steps: it may be
        a part of steps of training; row: how many of them came before it in a row, in which it had another key."""
        mode = modes.now
        mode.calls[key] = waiting = Waiting(last, steps, row)
        return waiting

    def call(self, key: Hashable, waiting: Any, make: Make, *args: Any) -> PlannedCall:
        """Count a call of a key that waits for its plan; who computes it. make: gives the program, of `args`, and how that is
        used."""
        mode = modes.now
        asks = waiting.count(mode.passes)
        early = waiting.left > 0 and not mode.waits
        if early and not asks:
            return waiting
        call = self.made(key, waiting, make, *args)
        if early and not (call.vain or mode.numpy):
            for each in call.calls:
                if each.plan is not None and not each.plan.waits:  # the step that asks is slow in any case
                    each.arrive()
            return waiting
        mode.calls[key] = call
        for each in call.calls:  # also those that this process may not run: the next one finds all of them
            each.arrive()
        return call

    def made(self, key: Hashable, waiting: Waiting, make: Make, *args: Any) -> PlannedCall:
        """The call of a key, whose kernels workers may still compile."""
        with self.making:
            found = self.plans[key]
            if found is None:
                self.due = waiting.due()
                if modes.now.numpy:
                    found = self.apart(self.new, make, *args)
                else:
                    found = self.apart(module("staticgrad.eager.calls.remembered").call_of, key, make, args)
                self.plans[key] = found
            return found

    @staticmethod
    def apart(function: Callable[..., PlannedCall], *args: Any) -> PlannedCall:
        """`function(*args)`, whatever this thread is at."""
        mode = modes.now
        saved = mode.kernels, mode.arrays, mode.grad
        mode.kernels, mode.arrays, mode.grad = OFF, False, True
        try:
            return function(*args)
        finally:
            mode.kernels, mode.arrays, mode.grad = saved

    def new(self, make: Make, *args: Any) -> PlannedCall:
        """A call that is in no table."""
        try:
            made = make(*args)
            if made is None:
                return NONE
            program, use = made
            if program is None or isinstance(program, ArrayPlan):
                return PlannedCall(program, use)
            program.kept &= self.templates is None
            plan = program.plan(*(np.empty(feed.type.shape, feed.type.dtype) for feed in program.prepared.feeds), due=self.due)
        except (StaticgradError, MemoryError) as error:
            return PlannedCall(None, why=f"{error}".partition("\n")[0])  # NumPy computes it, or raises the error
        if not plan.simple or plan.draws or plan.results.late or plan.only_moves:
            return NONE
        self.share(plan)
        return PlannedCall(plan, use)

    def share(self, plan: Plan) -> None:
        """Let a new plan share spare arrays with others."""
        if plan.sparse:  # arrays whose rows are noted while they live
            plan.results.share({}, 0)
        else:
            plan.results.share(self.pools, SPARE)
        if len(self.pools) > SHAPES:  # the shapes of a program that has no end of them
            for pool in [*self.pools.values()][: -SHAPES // 2]:
                pool[:] = None

    def forget(self, key: Hashable) -> None:
        """Let go of a plan, which this thread used alone."""
        self.plans.forget(key)
        modes.now.calls.forget(key)

    def wait(self) -> None:
        """Until the plans are compiled that this thread has asked for."""
        for key, call in modes.now.calls.everything().items():
            asked = self.plans[key] if isinstance(call, Waiting) else None
            for each in asked.calls if asked is not None else ():
                each.arrive()


requests = Requests()


def wait_for_kernels() -> None:
    """Wait until the kernels are compiled that eager operations have asked for.

    Compiled functions and Sessions wait for theirs in the first call. An eager operation is computed in NumPy in the first
    calls of its kind, and asks for a kernel in the midst of them; `sg.eager_kernels(wait=True)` makes kernels in the first
    call, which is what a benchmark wants. The results of a program do not depend on this function.

    Examples:
        >>> sg.wait_for_kernels()
    """
    requests.wait()


def families(family: Hashable) -> dict[str, Templates]:
    """The templates of a family of calls; see `Requests.templates`."""
    found: dict[str, Templates] | None = shared[families, family]
    if found is None:
        found = shared[families, family] = {}
    return found


def program_of(
    graph: Graph, fetches: Sequence[Node], feeds: Sequence[Node], family: Hashable = None, effects: Sequence[Node] = (),
    part: str = "",
) -> Computation:  # fmt: skip
    """The program that computes nodes of a graph from others. family: calls whose programs may differ in extents alone; part:
    of the call, whose programs these are."""
    if modes.now.numpy:
        return ArrayPlan(graph, fetches, feeds, effects)
    templates = None
    if family is not None:
        parts = families(family) if requests.templates is None else requests.templates
        templates = parts[part] = parts.get(part) or module("staticgrad.compiler.plan_store").Templates()
    make = module("staticgrad.compiler.program").Program
    return make(graph, fetches, feeds, effects, templates=templates, kept=True)
