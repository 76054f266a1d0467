"""Compiled functions: traced per kinds of their arguments and what they reach, run as one plan."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from ..compiler.passes.strict import check_numerics
from ..compiler.passes.user_passes import Pass, check_passes
from ..compiler.templates import Templates
from ..eager.grad_mode import modes
from ..eager.tensor import Tensor
from ..errors import TraceError
from ..locks import lock
from ..operators import frontends, state
from .arguments import Call, as_tensors, parameter_names, unhashable
from .arguments import difference as key_difference
from .fast_call import FALLBACK
from .sharing import Place, Shared
from .specialization import Specialization
from .specialization import difference as entry_difference
from .step_loop import loop
from .tracer import Reached, Tracer
from .watch import Watch

OFTEN = 64
"""Traces after which a function warns that something in its key changes with every call."""
MOVING = 16
"""Traces of that kind after which it warns."""
RECENT = 4
"""Traces whose short way is tried."""
MOST = 256
"""Traces that a function keeps; the oldest goes."""


class CompiledFunction:
    """A function under `@sg.compile`. Calls run natively; `recompiles` says why traces were made, and for new shapes whether
    the plan was re-bound, or decisions were made anew and why.

    plan, explain(), source(), profile(): of the latest call's plan.
    """

    def __init__(self, fn: Callable[..., Any], numerics: str = "fast", passes: Sequence[Pass] = ()):
        self.fn, self.numerics, self.passes = fn, check_numerics(numerics), check_passes(passes)
        functools.update_wrapper(self, fn, updated=())
        self.name: str = getattr(fn, "__name__", type(fn).__name__)
        self.entries: dict[tuple[Any, ...], list[Specialization]] = {}
        self.recompiles: list[str] = []
        self.templates = Templates()
        """Of the compiler: decisions that other extents may share."""
        self.moving = 0
        """Traces that were made because a run itself had changed what the trace before had read."""
        self.latest: Specialization | None = None
        self.recent: tuple[Specialization, ...] = ()
        self.lock = lock()
        self.bound: dict[int, Tensor] = {}
        """Tensors that were passed as arguments and are reached by the function too, by id."""
        self.methods: dict[int, CompiledFunction] = {}
        """Of instances that have no place for their own, by id."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: each instance has traces of its own, which end with it."""
        if instance is None:
            return self
        if not hasattr(instance, "__dict__"):
            return self._method(instance, owner, self.methods, id(instance))
        return self._method(instance, owner, vars(instance).setdefault("_compiled", Methods()), self)

    def _method(self, instance: Any, owner: Any, known: dict[Any, CompiledFunction], key: Any) -> CompiledFunction:
        method = known.get(key)
        if method is None or method.fn.__self__ is not instance:  # type: ignore[attr-defined]
            method = known[key] = CompiledFunction(self.fn.__get__(instance, owner), self.numerics, self.passes)
        return method

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if frontends.tracing and state.tracer is not None:
            return self._run(args, kwargs, state.tracer.array)  # inside another trace: a part of it
        if kwargs:
            args, kwargs = self._by_position(args, kwargs)
        mode = modes.now
        if mode.anomaly:  # watched op by op
            return self._run(args, kwargs)
        entry = self.latest
        if entry is not None and entry.free and not kwargs and entry.grad_mode is mode.grad:
            result = entry.short(args)
            if result is not FALLBACK:
                return result
        if self.lock.locked() and self._within():  # called by a signal handler during a call
            return self._run(args, kwargs)
        with self.lock:
            entry = self.latest
            if entry is not None and not kwargs:
                if entry.grad_mode is mode.grad:
                    result = entry.short(args)
                    if result is not FALLBACK:
                        return result
                for other in self.recent:  # batches of two sizes in turn find theirs
                    if other is not entry and other.grad_mode is mode.grad:
                        result = other.short(args)
                        if result is not FALLBACK:
                            self.latest = other
                            return result
            return self._call(Call(self._names, args, kwargs, self.bound))

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by keyword that follow those by position in the order of the function's parameters, by position."""
        wanted = self.keywords[len(args) : len(args) + len(kwargs)]
        if len(wanted) == len(kwargs) and all(name in kwargs for name in wanted):
            return (*args, *[kwargs[name] for name in wanted]), {}
        return args, kwargs

    @functools.cached_property
    def keywords(self) -> list[str]:
        """The parameters that can be given by position: their names as keywords, empty for those that have none."""
        try:
            parameters = inspect.signature(self.fn).parameters.values()
        except (TypeError, ValueError):
            return []
        named = {inspect.Parameter.POSITIONAL_ONLY: False, inspect.Parameter.POSITIONAL_OR_KEYWORD: True}
        return [p.name if named[p.kind] else "" for p in parameters if p.kind in named]

    def _within(self) -> bool:
        """Whether, around this call of this function, another one is under way in this very thread."""
        frame: FrameType | None = sys._getframe(1)
        codes = CompiledFunction.__call__.__code__, CompiledFunction.together.__code__
        found = 0
        while frame is not None and found < 2:
            found += frame.f_code in codes and frame.f_locals.get("self") is self
            frame = frame.f_back
        return found == 2

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any], make: Callable[[Any], Any] = Tensor) -> Any:
        """Operation by operation, on tensors that `make` makes of arrays."""
        try:
            return self.fn(
                *[as_tensors(arg, make) for arg in args], **{name: as_tensors(arg, make) for name, arg in kwargs.items()}
            )
        except RecursionError:
            if not self._within():
                raise
            raise TraceError(
                f"{self.name} calls itself without end",
                "a recursion ends where a Python value says so; where a tensor does, write sg.while_loop",
            ) from None

    def _names(self) -> list[str]:
        return parameter_names(self.fn)

    def _call(self, call: Call) -> Any:
        """The way for all arguments. The lock is held."""
        entry, call = self._find(call)
        try:
            return entry.run(entry.take(call), call.given)
        except MemoryError:
            self._drop(entry)
            raise

    def _drop(self, entry: Specialization) -> None:
        """Don't keep a trace whose plan could not run even once for want of memory: it has some itself."""
        if not entry.plan.ran:
            self.entries = {key: left for key, known in self.entries.items() if (left := [e for e in known if e is not entry])}
            self.recent = tuple(other for other in self.recent if other is not entry)
            self.latest = self.recent[0] if self.recent else None

    def _find(self, call: Call) -> tuple[Specialization, Call]:
        """The entry for these arguments, traced when there is none; with the call as it is seen then."""
        try:
            known = self.entries.get(call.key, ())
        except TypeError:
            raise unhashable(call, self.name) from None
        for entry in known:
            if entry.grad_mode is modes.now.grad and entry.suits(call.given) and entry.ready() and entry.shares(call):
                break
        else:
            try:
                entry = self._trace(call)
            except Reached as reached:
                self.bound[id(reached.tensor)] = reached.tensor
                return self._find(Call(self._names, call.args, call.kwargs, self.bound))
            except Shared as shared:
                entry = self._trace(call, shared.places)
        self.latest = entry
        self.recent = (entry, *[other for other in self.recent if other is not entry][: RECENT - 1])
        return entry, call

    def together(self, args: Sequence[Any], source: Callable[[Specialization], Any], before: int) -> Any:
        """Steps that one trace, that for `args`, does in native calls: (trace, stacked arrays of its fetches, how many steps).

        source(entry): the addresses of what the steps run on, or None. before: steps that went before. None, and nothing has
        been done, where steps have to be done one by one.
        """
        if (frontends.tracing and state.tracer is not None) or modes.now.anomaly:
            return None
        if self.lock.locked() and self._within():
            return None
        with self.lock:
            entry, _ = self._find(Call(self._names, tuple(args), {}, self.bound))
            feeds = source(entry) if entry.steady else None
            if feeds is None:
                return None
            try:
                return entry, *entry.run_steps(feeds, before)
            except MemoryError:
                self._drop(entry)
                raise

    def _trace(self, call: Call, places: Mapping[int, Place] | None = None) -> Specialization:
        """places: of arguments that share memory which the function writes."""
        why = self._why(call)
        moved = self.latest is not None and self.latest.moves(self.latest.reach.changed())
        watch = Watch(self.name, [(self.name, self.fn), *call.reached()])
        tracer = Tracer(self.name, watch.arrays, places, watch)
        undo = tracer.undo
        try:
            entry = tracer.active(functools.partial(self._entry, call, tracer, watch))
            tracer.close()
            del tracer, watch  # before the compiler asks for memory
            entry.compile(call)
        except BaseException:
            for step in reversed(undo):
                step()
            raise
        if entry.program.outcome:
            why += f"; {entry.program.outcome}"
        self.recompiles.append(why)
        if moved:
            self.moving += 1
            if self.moving == MOVING:
                warnings.warn(
                    f"{self.name} has been traced {MOVING} times because it reads state that it changes itself ({why}): keep "
                    "it in a tensor, which is read and written without a trace, or don't compute with it",
                    RuntimeWarning,
                    stacklevel=4,
                )
        if len(self.recompiles) == OFTEN:
            warnings.warn(f"{self.name} has been traced {OFTEN} times, now because: {why}", RuntimeWarning, stacklevel=4)
        self.entries.setdefault(call.key, []).insert(0, entry)
        if len(self.recompiles) > MOST:
            self._forget()
        return entry

    def _entry(self, call: Call, tracer: Tracer, watch: Watch) -> Specialization:
        def traced() -> Any:
            args, kwargs = call.symbols(tracer)
            watch.call(self.fn, (), {})
            return self.fn(*args, **kwargs)

        try:
            return Specialization(call, tracer, watch.active(traced), watch, self.numerics, self.passes, self.templates)
        except BaseException:
            watch.rewind()
            raise

    def _forget(self) -> None:
        """Drop the oldest trace of the kind of arguments that has most."""
        most = max(self.entries.values(), key=len)
        most.pop()

    def _why(self, call: Call) -> str:
        """The difference from the nearest earlier trace."""
        if not self.entries:
            return "first call"
        known = self.entries.get(call.key)
        if known:
            nearest = self.latest if self.latest in known else known[0]
            return "same arguments, but " + entry_difference(nearest, call.given)
        labels = call.labels()
        changes = min(
            (key_difference(key, call.key, labels) for key in sorted(self.entries, key=lambda k: abs(len(k) - len(call.key)))),
            key=len,
        )
        return "; ".join(changes)

    # looking ------------------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Any:
        """The plan of the latest call. Raises TraceError before the first."""
        if self.latest is None:
            raise TraceError(f"{self.name} has not been called yet, so there is no plan")
        return self.latest.plan

    def graph(self, stage: str = "simplify") -> Any:
        """The graph of the latest call after a stage of the compiler: "prepare", "specialise", "stabilise", "expand" or
        "simplify"; after "fuse", a networkx DiGraph with one node per row of the plan (see `Plan.graph`).

        Raises TraceError before the first call, ArgumentError for another stage.
        """
        return self.plan.graph if stage == "fuse" else self.plan.stages.graph(stage)

    def explain(self) -> str:
        """What the plan does, and why: rows, fusion, buffers, host calls."""
        return self.plan.explain()

    def source(self, number: int | None = None) -> str:
        """The text of the plan's generated kernels, or of one of them."""
        return self.plan.source(number)

    def profile(self, repeats: int = 200) -> Any:
        """The time of each row of the plan."""
        return self.plan.profile(repeats)

    def loop(self, batches: Any) -> Any:
        """Many steps. For an array, or a tuple of arrays, one step per index of the leading axis; the results have a leading
        axis, too: losses come as one tensor (steps,). For another iterable, one step per batch (a tuple of arguments, or
        one argument), and the list of the results.

        Steps with the same kinds of arguments run in one native call. Learning rates and the like are read at the start of
        it, and batches are taken from an iterable some 256 ahead: where something is to happen between two steps, call the
        function. Random numbers are those of single calls.

        Raises ArgumentError for arrays of different leading extents, and what a call raises, with the number of the step;
        the steps before are done then, as after Ctrl-C.
        """
        return loop(self, batches)

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledFunction:
        return CompiledFunction(self.fn, self.numerics, self.passes)  # functions are not copied either

    def __repr__(self) -> str:
        return f"<sg.compile of {self.name}>"


class Methods(dict[CompiledFunction, CompiledFunction]):
    """The compiled methods of one instance. A copy of the instance begins with none."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Methods:
        return Methods()

    def __reduce__(self) -> Any:
        return Methods, ()


def compile(fn: Callable[..., Any] | None = None, *, numerics: str = "fast", passes: Sequence[Pass] = ()) -> Any:
    """Compile an eager function: traced at the first call with new kinds of arguments, then run as one native plan.

    The same text runs eagerly without the decorator. Array arguments are run-time values; a new shape repeats the trace,
    keeps the compiler's decisions for an earlier shape where they hold, and compiles no kernel. Other arguments, and flags of
    the modules and optimizers that the function uses, are part of the key; learning rates and the like are read at every
    call. Results are tensors without a tape: call `backward` inside.

    Python itself runs only while tracing. What it reads then - attributes, items, globals, defaults, the values of plain NumPy
    arrays - is compared at every call, and a change makes another trace. What it writes - attributes, items, globals, lists
    that it appends to, prints - each run writes again, tensors included. Reading a number that the function itself changes
    makes a trace per call (`x.n += 1` alone doesn't): keep it in a tensor.

    numerics: "fast", within the error bounds of docs/numerics.md; or "strict", the bits of eager mode at about its speed.
    passes: functions from a graph to a graph, called at the stage that `sg.graph_pass` names; `sg.rewrite` makes most of them.

    A call raises what the operations raise, and TraceError where Python asks for a value that exists only when the step
    runs, for random numbers that are not ours, for the clock, or for files; nothing is changed then.
    Under `detect_anomaly` the function runs eagerly. One thread at a time runs a compiled function, others wait.
    """
    check_numerics(numerics)
    check_passes(passes)
    if fn is None:
        return functools.partial(compile, numerics=numerics, passes=passes)
    if not callable(fn):
        raise TraceError(f"compile needs a function, got {type(fn).__name__}")
    if inspect.isgeneratorfunction(fn) or inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn):
        raise TraceError(
            f"{fn.__name__} is a generator or a coroutine, which can't be compiled", "compile the step that it repeats"
        )
    return CompiledFunction(fn, numerics, passes)
