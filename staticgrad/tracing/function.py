"""Compiled functions: a trace per kind of arguments and guarded state, each run as one plan."""

from __future__ import annotations

import copy
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeAlias, TypeVar, overload

from .. import logs
from ..compiler.passes.rematerialize import check_budget
from ..compiler.passes.strict import check_numerics
from ..compiler.passes.symbolic_extents import Conditions, Unfollowed
from ..compiler.passes.user_passes import Pass, check_passes
from ..compiler.templates import Templates
from ..eager.grad_mode import modes, watches_nan
from ..eager.tensor import Tensor
from ..errors import DataDependentError, StaticgradError, TraceError
from ..locks import lock
from ..operators import Array, frontends, state
from ..ops.decisions import DecisionMissed
from .arguments import Call, Keywords, as_tensors, parameter_names, spread, unhashable
from .arguments import difference as key_difference
from .decisions import Decisions, RoadRaises
from .fast_call import FALLBACK
from .number_arguments import NumbersRefused, VaryingArguments
from .observer.trace_observer import TraceObserver
from .segments.runs import HeldOutput, SegmentedRuns, printed_once
from .settings import default_break
from .sharing import Place, SharedMemory
from .specialization import Specialization
from .specialization import difference as specialization_difference
from .state_inputs import Place as StatePlace
from .state_inputs import StateInputs, StateReached, moved, replaced
from .step_loop import loop
from .trace_templates import Symbols, TraceTemplate, TraceTemplates
from .tracer import ArgumentReached, Tracer

if TYPE_CHECKING:
    import networkx as nx

    from ..compiler.execute.explanation import Explanation
    from ..compiler.execute.plan import Plan
    from ..compiler.execute.profile import Profile
    from ..ir import Graph

OFTEN = 64
"""Traces after which a function warns that its key or a guard changes with every call."""
MOVING = 16
"""Traces after which it warns that it reads state which it changes itself."""
RECENT = 4
"""Specializations whose fast path is tried."""
STATE = "the state that it replaces"
"""The label of state among the arguments."""
ROADS = 16
"""Roads through its code, by the outcomes of its decisions, for which a function has plans."""
MOST = 256
"""Specializations that a function keeps; the oldest is dropped."""


AnyCompiled: TypeAlias = "CompiledFunction[..., Any]"
Arguments = ParamSpec("Arguments")
Others = ParamSpec("Others")
Instance = TypeVar("Instance")
Output = TypeVar("Output")


class CompiledFunction(Generic[Arguments, Output]):
    """A function under `@sg.compile`. Calls run natively; `recompiles` says why there is another specialization, and for new
    shapes whether the function was traced again and the plan re-bound, and why not.

    plan, explain(), source(), profile(): of the latest call's plan.
    """

    __slots__ = ("__dict__", "__weakref__", "_state_places", "latest")  # every call reads these: slots are faster

    def __init__(
        self,
        fn: Callable[Arguments, Output],
        numerics: str = "fast",
        passes: Sequence[Pass] = (),
        on_break: str | None = "error",
        wait: bool = False,
        memory_budget: int | float | None = None,
    ):
        self.fn: Callable[..., Output] = fn
        self.wait = wait
        self.numerics, self.passes = check_numerics(numerics), check_passes(passes)
        functools.update_wrapper(self, fn, updated=())
        self.memory_budget = check_budget(memory_budget)
        self.settings: tuple[Any, ...] = (self.numerics, self.passes, on_break, wait, memory_budget)
        self._on_break = on_break
        self.segmented: SegmentedRuns | None = None
        """Runs of a function whose Python needs values."""
        self.name: str = getattr(fn, "__name__", type(fn).__name__)
        self.specializations: dict[tuple[Any, ...], list[Specialization]] = {}
        self.recompiles: list[str] = []
        self.templates = Templates()
        """Of the compiler: decisions that other extents may share."""
        self.traces = 0
        self.trace_templates = TraceTemplates()
        """Traces that other extents may share."""
        self.saves = False
        """Whether callers take gradients of results, so that plans return the values that these need."""
        self.moving = 0
        """Traces that were made because a run had changed state that the previous trace read."""
        self.latest: Specialization | None = None
        self.recent: tuple[Specialization, ...] = ()
        self.lock = lock()
        self.bound: dict[int, Tensor] = {}
        """Tensors that were passed as arguments and that the function also captures, by id."""
        self.state = StateInputs()
        """State that is read as further arguments, because calls replace it."""
        self._state_places = self.state.places
        self.marks: dict[tuple[str, ...], Keywords] = {}
        """What stands for the names of keyword arguments."""
        self.varying = VaryingArguments()
        """Arguments that are run-time numbers."""
        self.replaced = ""
        """The change of the state that made it an argument, in words."""
        self.methods: dict[int, AnyCompiled] = {}
        """Compiled methods of instances without a `__dict__`, by id."""

    @overload
    def __get__(self, instance: None, owner: Any = None) -> CompiledFunction[Arguments, Output]: ...
    @overload
    def __get__(
        self: CompiledFunction[Concatenate[Instance, Others], Output], instance: Instance, owner: Any = None
    ) -> CompiledFunction[Others, Output]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: each instance has traces of its own, which live as long as it does."""
        if instance is None:
            return self
        if not hasattr(instance, "__dict__"):
            return self._method(instance, owner, self.methods, id(instance))
        return self._method(instance, owner, vars(instance).setdefault("_compiled", Methods()), self)

    def _method(self, instance: Any, owner: Any, known: dict[Any, AnyCompiled], key: Any) -> AnyCompiled:
        method = known.get(key)
        if method is None or method.fn.__self__ is not instance:  # type: ignore[attr-defined]
            method = known[key] = CompiledFunction(self.fn.__get__(instance, owner), *self.settings)
        return method

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Output:
        if frontends.tracing:
            if state.tracer is not None:
                return self._run(args, kwargs, state.tracer.array)  # inside another trace: a part of it
            if state.deferral is not None:
                return self._run(args, kwargs)
        if kwargs:
            args, kwargs = self._by_position(args, kwargs)  # type: ignore[assignment]
        mode = modes.now
        if mode.anomaly:
            return self._watched(args, kwargs)
        specialization = self.latest
        given = (*args, *self.state.read()) if self._state_places else args
        if specialization is not None and specialization.free and not kwargs and specialization.grad_mode is mode.grad:
            result: Output = specialization.fast_call(given)
            if result is not FALLBACK:
                return result
        if self.lock.locked() and self._within():  # called by a signal handler during a call
            return self._run(args, kwargs)
        with self.lock:
            specialization = self.latest
            if specialization is not None and not kwargs:
                if specialization.grad_mode is mode.grad:
                    result = specialization.fast_call(given)
                    if result is not FALLBACK:
                        return result
                for other in self.recent:  # batches that alternate between a few sizes
                    if other is not specialization and other.grad_mode is mode.grad:
                        result = other.fast_call(given)
                        if result is not FALLBACK:
                            self.latest = other
                            return result
            if self.segmented is None:
                try:
                    return self._call(self._with_state(args, kwargs))
                except (TraceError, DataDependentError) as error:
                    if self.on_break == "error":
                        raise
                    always = self._on_break is not None
                    self.segmented = SegmentedRuns(self.name, self.numerics, self.passes, error, always)
            return self._in_segments(self.segmented, args, kwargs)

    def _watched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Output:
        """A call under `detect_anomaly`: natively where the function is one plan, else operation by operation."""
        if self.segmented is not None or (self.lock.locked() and self._within()):
            return self._run(args, kwargs)
        with self.lock:
            try:
                names = functools.partial(self._names, args)
                return self._call(Call(names, args, kwargs, self.bound, varying=self.varying.positions))
            except (TraceError, DataDependentError):
                if self.on_break == "error":
                    raise
            return self._run(args, kwargs)

    @property
    def on_break(self) -> str:
        """What happens where Python needs a value: "split", "eager" or "error"."""
        return default_break[0] if self._on_break is None else self._on_break

    def _in_segments(self, runs: SegmentedRuns, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Output:
        """A call of a function whose Python needs values."""
        if self.on_break == "eager":
            return self._run(args, kwargs)
        result: Output = runs.run(self._run, (args, kwargs), {})
        return result

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Keyword arguments that continue the positional ones in the order of the parameters, as positional arguments. Others
        follow an object that stands for their names."""
        wanted = self.keywords[len(args) : len(args) + len(kwargs)]
        if len(wanted) == len(kwargs) and all(name in kwargs for name in wanted):
            return (*args, *[kwargs[name] for name in wanted]), {}
        names = tuple(sorted(kwargs))
        mark = self.marks.get(names)
        if mark is None:
            mark = self.marks[names] = Keywords(names)
        return (*args, mark, *[kwargs[name] for name in names]), {}

    @functools.cached_property
    def keywords(self) -> list[str]:
        """Names of the parameters that can be given by position; an empty name for a positional-only one."""
        try:
            parameters = inspect.signature(self.fn).parameters.values()
        except (TypeError, ValueError):
            return []
        named = {inspect.Parameter.POSITIONAL_ONLY: False, inspect.Parameter.POSITIONAL_OR_KEYWORD: True}
        return [p.name if named[p.kind] else "" for p in parameters if p.kind in named]

    def _within(self) -> bool:
        """Whether this call of the function is nested in another one in the same thread."""
        frame: FrameType | None = sys._getframe(1)
        codes = CompiledFunction.__call__.__code__, CompiledFunction.run_steps.__code__
        found = 0
        while frame is not None and found < 2:
            found += frame.f_code in codes and frame.f_locals.get("self") is self
            frame = frame.f_back
        return found == 2

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any], make: Callable[[Any], Any] = Tensor) -> Output:
        """Run operation by operation, on tensors that `make` makes of arrays."""
        if self.marks and not kwargs:
            args, kwargs = spread(args)  # type: ignore[assignment]
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

    def _with_state(self, args: tuple[Any, ...], kwargs: dict[str, Any], varying: Set[int] | None = None) -> Call:
        """A call with these arguments, and the state that the function replaces. varying: the run-time numbers; None: those
        known."""
        varying = self.varying.positions if varying is None else varying
        more = self.state.read() if self.state.places else ()
        return Call(lambda: self._names(args, len(more)), (*args, *more), kwargs, self.bound, len(args), varying)

    def _names(self, args: Sequence[Any], more: int = 0) -> list[str]:
        """The names of the arguments. more: parts of the state after them."""
        names, named = parameter_names(self.fn), spread(args)[1]
        count = len(args) - len(named) - bool(named)
        places = [names[i] if i < len(names) else f"argument {i}" for i in range(count)]
        return [*places, *["the names of arguments"][: bool(named)], *named, *[STATE] * more]

    def _call(self, call: Call) -> Output:
        """The slower path, for any arguments. The lock is held."""
        road: tuple[bool, ...] = ()
        failed = False
        for _ in range(ROADS):
            try:
                specialization, call = self._find(call, road)
            except RoadRaises:
                break
            if specialization.road and watches_nan():
                break
            try:
                result: Output = specialization.run(specialization.take(call), call.given)
                return result
            except MemoryError:
                self._drop(specialization)
                raise
            except DecisionMissed as missed:
                number, outcome = missed.decision
                road = (*specialization.road[:number], outcome)
            except Exception:
                if not specialization.road:
                    raise
                taken = None if failed else self._road(call)
                if taken is None or taken == specialization.road:
                    break  # the error is that of the code
                road, failed = taken, True
        return self._run(call.args[: call.own], call.kwargs)

    def _road(self, call: Call) -> tuple[bool, ...] | None:
        """The road of a call for which the plan of another one raises an error, perhaps in code that the call does not run. It
        is that of a trace; None where there is none."""
        known = [*self.specializations[call.key]]
        try:
            found = self._trace(call)
        except (RoadRaises, TraceError, DataDependentError):
            return None
        if any(found.road == other.road for other in known):
            self.specializations[call.key].remove(found)
        return found.road

    def _drop(self, specialization: Specialization) -> None:
        """Drop a trace whose plan never ran for lack of memory: the plan itself occupies some."""
        if not specialization.plan.ran:
            left = {
                key: [other for other in known if other is not specialization] for key, known in self.specializations.items()
            }
            self.specializations = {key: known for key, known in left.items() if known}
            self.recent = tuple(other for other in self.recent if other is not specialization)
            self.latest = self.recent[0] if self.recent else None

    def _find(self, call: Call, road: tuple[bool, ...] = ()) -> tuple[Specialization, Call]:
        """The specialization for these arguments, traced where there is none, and the call in the form that it takes. road:
        outcomes of its first decisions."""
        try:
            known = self.specializations.get(call.key, ())
        except TypeError:
            raise unhashable(call, self.name) from None
        for specialization in known:
            if (
                specialization.grad_mode is modes.now.grad
                and specialization.road[: len(road)] == road
                and specialization.suits(call.given)
                and specialization.numbers_suit(call)
                and specialization.ready()
                and specialization.shares(call)
            ):
                break
        else:
            specialization = None
        if specialization is not None and specialization.tape is not None and specialization.tape.incomplete:
            specialization = self._with_saved_values(call, specialization)
        if specialization is None:
            self._check_roads(call, road)
            places = [] if self.latest is None else self.state.new(self._moved(self.latest))
            if places:
                assert self.latest is not None
                self.replaced = "same arguments, but " + specialization_difference(self.latest, call)
                self.state.add(places)
                return self._find(self._again(call), road)
            if call.varying == self.varying.positions and self.varying.varied(call):
                return self._find(self._with_state(call.args[: call.own], call.kwargs), road)
            try:
                specialization = self._trace(call, None, road)
            except ArgumentReached as reached:
                self.bound[id(reached.tensor)] = reached.tensor
                return self._find(call.again(), road)
            except StateReached as reached:
                self.state.add(reached.places)
                return self._find(self._again(call), road)
            except NumbersRefused:
                found = self._find(self._with_state(call.args[: call.own], call.kwargs, frozenset()), road)
                self.varying.fixed(call.places)  # it is the numbers that the code does not take
                return found
            except SharedMemory as shared:
                specialization = self._trace(call, shared.places, road)
            self.varying.traced(call.places, specialization.pinned)
        self.latest = specialization
        self.recent = (specialization, *[other for other in self.recent if other is not specialization][: RECENT - 1])
        return specialization, call

    def _again(self, call: Call) -> Call:
        """A call with the present state."""
        return self._with_state(call.args[: call.own], call.kwargs, call.varying)

    def _check_roads(self, call: Call, road: tuple[bool, ...]) -> None:
        """Raises TraceError where there are too many roads to make a plan for each."""
        if road:
            known = {specialization.road for specialization in self.specializations.get(call.key, ())}
            if len(known) >= ROADS:
                self.latest, self.recent = None, ()
                raise TraceError(f"it decides by the values of tensors, and has taken {len(known)} roads")

    def _moved(self, latest: Specialization) -> list[StatePlace]:
        """Places whose tensors or numbers others replace."""
        return [*moved(latest.guards.reads), *self.state.varied(latest.guards.reads)]

    def _with_saved_values(self, call: Call, known: Specialization) -> Specialization:
        """The specialization that takes the place of one whose results a caller has differentiated: its plan returns the
        values that the backward pass reads."""
        self.saves, self.trace_templates = True, TraceTemplates()
        specialization = self._traced(call, road=known.road)
        self.recompiles.append("same arguments, but gradients of the results are taken outside")
        self.specializations[call.key] = [specialization if x is known else x for x in self.specializations[call.key]]
        self.recent = tuple(x for x in self.recent if x is not known)
        return specialization

    def run_steps(self, args: Sequence[Any], source: Callable[[Specialization], Any], before: int) -> Any:
        """Run steps of the specialization for `args` in native calls: (specialization, stacked fetches, number of steps).

        source(specialization): the addresses of the steps' arrays, or None. before: number of steps already done. Returns
        None, with nothing done, where steps have to run one by one.
        """
        if (frontends.tracing and state.tracer is not None) or modes.now.anomaly:
            return None
        if self.segmented is not None or (self.lock.locked() and self._within()):
            return None
        with self.lock:
            try:
                specialization, _ = self._find(self._with_state(tuple(args), {}))
            except (TraceError, DataDependentError):
                if self.on_break == "error":
                    raise
                return None  # the first step runs by itself, and decides
            feeds = source(specialization) if specialization.steady else None
            if feeds is None or (len(feeds[0]) and not specialization.plan.compiled):
                return None
            try:
                return specialization, *specialization.run_steps(feeds, before)
            except MemoryError:
                self._drop(specialization)
                raise

    def _trace(self, call: Call, places: Mapping[int, Place] | None = None, road: tuple[bool, ...] = ()) -> Specialization:
        """Make a specialization. places: of arguments that share memory which the function writes; road: see `_find`."""
        why = self._why(call) if not road else f"same arguments, but decision {len(road)} is {road[-1]}"
        changed = self.latest is not None and self.latest.moves(self.latest.guards.changed())
        specialization, told = None, ""
        if places is None and not road:
            specialization, told = self._traced_before(call)
        repeated = specialization is not None
        if specialization is None:
            free = places is None and not road and self._may_repeat()
            symbols = self.trace_templates.symbols(call) if free else None
            if symbols is not None:
                specialization = self._with_symbols(call, symbols)
                told = told if specialization is not None else f"traced with numbers, because {self.trace_templates.error}"
        if specialization is None:
            specialization = self._traced(call, places, road=road)
        self.recompiles.append("; ".join(x for x in (why, told, specialization.program.outcome, _tier(specialization)) if x))
        why = self.recompiles[-1]
        logs.info("%s: %s", self.name, why)
        if changed:
            self.moving += 1
            if self.moving == MOVING and self.on_break == "split":
                raise TraceError(f"it reads state that it changes itself ({why})")
            if self.moving == MOVING:
                logs.warn(
                    f"{self.name} has been traced {MOVING} times because it reads state that it changes itself ({why}): keep "
                    "it in a tensor, which is read and written without a trace, or don't compute with it",
                    4,
                )
        self.traces += not repeated
        if self.traces == OFTEN and not repeated:
            logs.warn(f"{self.name} has been traced {OFTEN} times, now because: {why}", 4)
        self.specializations.setdefault(call.key, []).insert(0, specialization)
        if len(self.recompiles) > MOST:
            self._forget()
        return specialization

    def _traced_before(self, call: Call) -> tuple[Specialization | None, str]:
        """The specialization that follows from an earlier trace over symbols, and how it came about, in words."""
        found, why = self.trace_templates.find(call)
        if found is None:
            return None, f"traced again, because {why}" if why else ""
        found.compile(call, traced=False)
        return (found, "not traced again") if found.sharing == () else (None, "traced again, because arguments share memory")

    def _may_repeat(self) -> bool:
        """Whether a trace that fails may be followed by another one: none prints."""
        return self.latest is None or all(effect.kind != "print" for effect in self.latest.effects)

    def _with_symbols(self, call: Call, symbols: Symbols) -> Specialization | None:
        """Make a specialization by a trace over symbolic extents; None where the function needs numbers. Code that expects
        numbers may raise anything when it gets symbols, so the trace with numbers decides what is an error."""
        try:
            return self._traced(call, None, symbols)
        except (Exception, Unfollowed) as error:
            self.trace_templates.failed(error)
            return None

    def _traced(
        self,
        call: Call,
        places: Mapping[int, Place] | None = None,
        symbols: Symbols | None = None,
        road: tuple[bool, ...] = (),
    ) -> Specialization:
        """Trace the function. road: see `_find`."""
        observer = TraceObserver(self.name, [(self.name, self.fn), *call.referenced()])
        tracer = Tracer(self.name, observer.arrays, places, observer, None if symbols is None else symbols.shapes)
        if symbols is None and self._on_break is None and self.on_break == "split":
            tracer.decisions = Decisions(tracer, call.arrays, road)
        undo = tracer.undo
        try:
            work = functools.partial(self._specialize, call, tracer, observer, symbols)
            try:
                specialization = tracer.active(work) if self.on_break == "error" else printed_once(tracer.active, work)
            except Exception as error:
                if call.numbers:
                    raise NumbersRefused from None
                if not isinstance(error, (AttributeError, TypeError, ValueError, ArithmeticError, StaticgradError)):
                    raise
                if self.state.without_numbers():
                    raise StateReached([]) from None  # code that takes no such numbers
                if tracer.numbers and not isinstance(error, StaticgradError):
                    raise TraceError(
                        f"code needs a number that the compiled function has not computed yet ({error})"
                    ) from error
                raise
            del work
            tracer.close()
            del tracer, observer  # their memory is free before the compiler allocates
            specialization.compile(call)
        except BaseException:
            for step in reversed(undo):
                step()
            raise
        return specialization

    def _specialize(self, call: Call, tracer: Tracer, observer: TraceObserver, symbols: Symbols | None) -> Specialization:
        conditions = Conditions() if symbols is None else symbols.conditions

        args, kwargs = call.symbols(tracer, self.state.numbers)
        unplant = self.state.plant(args[call.own :], observer.log) if self.state.places else None

        def traced() -> Any:
            observer.call(self.fn)
            given, named = spread(args[: call.own])
            return self.fn(*given, **named, **kwargs)

        try:
            conditions.exposed = True
            try:
                result = observer.observe(traced)
            finally:
                conditions.exposed = False
            places = replaced(observer.log, observer.effects, self.state.constant)
            if places:
                raise StateReached(places)
            observer.conditions = self.state.guards()
            specialization = Specialization(
                call, tracer, result, observer, self.numerics, self.passes, self.templates, self.wait, self.saves,
                self.memory_budget,
            )  # fmt: skip
        except BaseException as error:
            observer.rewind()
            left = (TraceError, DataDependentError, RoadRaises)  # to segments, or told already
            decided = tracer.decisions is not None and tracer.decisions.outcomes
            if decided and isinstance(error, Exception) and not isinstance(error, left):
                raise RoadRaises(f"the code raises {type(error).__name__} there") from error
            raise
        finally:
            if unplant is not None:
                unplant()
        if specialization.road:
            self._print_later(specialization)
        if symbols is None:
            return specialization
        if conditions.unfollowed:  # the user's code caught it
            raise Unfollowed(conditions.unfollowed)
        template = TraceTemplate(specialization, symbols)
        found = template.specialization(call, first=True)
        assert isinstance(found, Specialization)
        self.trace_templates.add(template)
        return found

    def _print_later(self, specialization: Specialization) -> None:
        """Drop what a trace with decisions has printed: its first run prints it, or another road that the call takes."""
        if isinstance(sys.stdout, HeldOutput):
            sys.stdout.text.clear()
            for effect in specialization.effects:
                if effect.kind == "print" and effect.kwargs.get("file") in (None, sys.stdout):
                    effect.done = False

    def _forget(self) -> None:
        """Drop the oldest specialization of the kind of arguments that has most."""
        most = max(self.specializations.values(), key=len)
        most.pop()

    def _why(self, call: Call) -> str:
        """The difference from the nearest earlier trace."""
        if not self.specializations:
            return "first call"
        if self.replaced:
            replaced, self.replaced = self.replaced, ""
            return replaced
        known = self.specializations.get(call.key)
        if known:
            nearest = self.latest if self.latest in known else known[0]
            return "same arguments, but " + specialization_difference(nearest, call)
        labels = call.labels()
        keys = sorted(self.specializations, key=lambda key: abs(len(key) - len(call.key)))
        changes = min((key_difference(key, call.key, labels) for key in keys), key=len)
        return "; ".join(changes)

    # inspection ---------------------------------------------------------------------------------------------------------

    def specialization_of(self, *args: Any) -> Specialization:
        """The trace for a call with these arguments, which does not run. Raises TraceError for one that needs values."""
        with self.lock:
            return self._find(self._with_state(args, {}))[0]

    @property
    def plan(self) -> Plan:
        """The plan of the latest call. Raises TraceError before the first, and where calls run operation by operation."""
        if self.segmented is not None:
            return self.segmented.largest()  # type: ignore[no-any-return]
        if self.latest is None:
            raise TraceError(f"{self.name} has not been called yet, so there is no plan")
        plan: Plan = self.latest.plan
        return plan

    @overload
    def graph(self, stage: Literal["fuse"]) -> nx.DiGraph[int]: ...
    @overload
    def graph(self, stage: str = "simplify") -> Graph: ...
    def graph(self, stage: str = "simplify") -> Any:
        """The graph of the latest call after a stage of the compiler: "functionalize", "specialize", "stabilize", "expand" or
        "simplify"; after "fuse", a networkx DiGraph with one node per instruction of the plan (see `Plan.graph`).

        Raises TraceError before the first call, ArgumentError for another stage.

        Examples:
            >>> double = sg.compile(lambda x: x + x)
            >>> _ = double(np.ones(3, "float32"))
            >>> print(sg.to_text(double.graph(), lines=False))
            %0  f32[3]  placeholder "x"
            %1  f32[3]  add(%0, %0)
            outputs: result 0 = %1
        """
        return self.plan.graph if stage == "fuse" else self.plan.stages.graph(stage)

    def explain(self, *, detail: bool = False, why_not: tuple[Any, Any] | None = None) -> Explanation:
        """What the plan does, and why: a page in which repeated structures are folded; see `Plan.explain`.

        detail: everything. why_not=(a, b): why two operations are not fused, given by the name of a value or op, a line
        ("model.py:12"), or the number of an instruction.

        Examples:
            >>> f = sg.compile(lambda x: sg.exp(-x).sum())
            >>> _ = f(np.ones(3, "float32"))
            >>> print(f.explain())
            1 ... 1 native (1 generated kernels), 0 on the host...
            >>> print(f.explain(why_not=("neg", "exp")))
            neg ... is fused with exp ...
        """
        if self.segmented is not None and self.segmented.plan is not None:
            return self.segmented.explain(detail, why_not)
        return self.plan.explain(detail=detail, why_not=why_not)

    def source(self, number: int | None = None) -> str:
        """The text of the plan's generated kernels, or of one of them.

        Examples:
            >>> f = sg.compile(lambda x: sg.exp(x))
            >>> _ = f(np.ones(3, "float32"))
            >>> print(f.source().rstrip())
            @kernel
            def kernel(buffers, sizes, start, stop):
                x0 = f32_at(buffers, 0)  # x f32[3]
                y1 = f32_at(buffers, 1)  # %1 exp f32[3]
                for i in range(start, stop):
                    a0 = x0[i]
                    v0 = exp_f32(a0)  # %1 exp  ...
                    y1[i] = v0
        """
        return self.plan.source(number)

    def export(self, folder: str | os.PathLike[str]) -> Path:
        """Write the plan of the latest call, with the present values of variables, as a package that runs on NumPy and llvmlite
        alone; see `Plan.export`. Its results are the tensors that the function returns, in their order, each once.

        Raises TraceError for a function that runs in segments, and the errors of `Plan.export`.
        """
        if self.segmented is not None:
            raise TraceError(f"{self.name} runs in segments, which can't be exported", "export the part without the cut")
        plan = self.plan
        if self.latest is not None and self.latest.road:
            raise TraceError(
                f"{self.name} decides by values, so it has no single plan", "write sg.where or sg.cond for an export"
            )
        return plan.export(folder, None if self.latest is None else self.latest.own_results)

    def profile(self, repeats: int = 200) -> Profile:
        """The time of each instruction of the plan, or of the plans of all segments."""
        if self.segmented is not None and self.segmented.plan is not None:
            return self.segmented.profile(repeats)
        profile: Profile = self.plan.profile(repeats)
        return profile

    @overload
    def loop(self, batches: Array | tuple[Array, ...]) -> Output: ...  # type: ignore[overload-overlap]
    @overload
    def loop(self, batches: Iterable[Any]) -> list[Output]: ...
    def loop(self, batches: Any) -> Any:
        """Many steps. For an array, or a tuple of arrays, one step per index of the leading axis; the results have a leading
        axis, too: losses come as one tensor (steps,). For another iterable, one step per batch (a tuple of arguments, or
        one argument), and the list of the results.

        Steps with the same kinds of arguments run in one native call. Learning rates and the like are read at the start of
        it, and batches are taken from an iterable some 256 ahead: where something is to happen between two steps, call the
        function. Random numbers are those of single calls.

        Raises ArgumentError for arrays of different leading extents, and the errors of a call, with the number of the step;
        the steps before are done then, as after Ctrl-C.

        Examples:
            >>> total = sg.tensor(0.0)
            >>> @sg.compile
            ... def add(x):
            ...     total.add_(x)
            ...     return total * 1
            >>> add.loop(np.arange(4, dtype="float32"))
            tensor([0., 1., 3., 6.])
        """
        return loop(self, batches)

    def of(self, fn: Callable[Others, Instance]) -> CompiledFunction[Others, Instance]:
        """Another function, compiled with the same settings."""
        return CompiledFunction(fn, *self.settings)

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledFunction[Arguments, Output]:
        return self.of(copy.deepcopy(self.fn, memo) if inspect.ismethod(self.fn) else self.fn)  # a function is not copied

    def __reduce__(self) -> Any:
        """A decorated function by its name, as Python's functions; any other by what is compiled, to be traced again."""
        found: Any = sys.modules.get(getattr(self.fn, "__module__", ""))
        for name in getattr(self.fn, "__qualname__", "<none>").split("."):
            found = getattr(found, name, None)
        if found is self:
            return self.fn.__qualname__
        owner = getattr(self.fn, "__self__", None)
        if owner is not None and not isinstance(owner, type):
            return getattr, (owner, self.fn.__name__)
        return type(self), (self.fn, *self.settings)

    def __repr__(self) -> str:
        return f"<sg.compile of {self.name}>"


def _tier(specialization: Specialization) -> str:
    """What is said of a plan that does not run natively yet."""
    return "" if specialization.plan.compiled else "NumPy runs it while kernels are compiled"


class Methods(dict[AnyCompiled, AnyCompiled]):
    """The compiled methods of one instance. A copy of the instance begins with none."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Methods:
        return Methods()

    def __reduce__(self) -> Any:
        return Methods, ()
