"""The specializations of a compiled function: how a call finds one, and how one is traced."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from types import NoneType
from typing import Any

from ..base import interpreter
from ..compiler.passes.rematerialize import check_budget
from ..compiler.passes.rewrite import Pass, check_passes
from ..compiler.passes.specialize import check_numerics
from ..compiler.passes.symbolic_extents import Conditions, Unfollowed
from ..compiler.plan_store import Templates
from ..compiler.program import begin
from ..eager.grad_mode import modes
from ..errors import DataDependentError, DTypeError, StaticgradError, TraceError
from ..ops.operators import Symbol
from . import settings
from .arguments import CONTAINERS, CallArguments, Keywords, parameter_names, spread
from .arguments import difference as key_difference
from .decisions import Decisions, RoadRaises
from .given_objects import GivenObjects, ObjectsRead, ObjectsRefused, StandIns
from .guards import Read
from .numbers import NumbersRefused, VaryingArguments, needed
from .observer.state_watcher import StateWatcher
from .observer.trace_observer import watcher
from .segments.runs import HeldOutput, drop_held, printed_once
from .sharing import PositionInBase, SharedMemory
from .specialization import Specialization
from .specialization import difference as specialization_difference
from .state_inputs import StateInputs, StateReached, replaced
from .step_loop import FALLBACK
from .trace_templates import Symbols, TraceTemplate, TraceTemplates
from .traced_array import TracedArray
from .tracer import ArgumentReached, Tracer

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
"""Specializations that a function keeps; the one that was not called for longest is dropped."""


class SpecializationCache:
    """The specializations of a function, by the kinds of their arguments. recompiles: why there is another one, each."""

    __slots__ = ("__dict__", "__weakref__", "_state_places", "latest")  # every call reads these: slots are faster

    def __init__(
        self, fn: Callable[..., Any], numerics: str, passes: Sequence[Pass], on_break: str | None,
        memory_budget: int | float | None,
    ):  # fmt: skip
        self.fn = fn
        self.numerics, self.passes = check_numerics(numerics), check_passes(passes)
        self.memory_budget = check_budget(memory_budget)
        self._on_break = on_break
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
        self.lonely = 0
        """The latest traces in a row that served one call each."""
        self.newest: Specialization | None = None
        """What the latest trace made."""
        self.moving = 0
        """Traces that were made because a run had changed state that the previous trace read."""
        self.calls = 0
        """How many times a specialization was looked for."""
        self.latest: Specialization | None = None
        self.recent: tuple[Specialization, ...] = ()
        self.bound: dict[int, Any] = {}
        """Tensors, arrays and containers that were passed as arguments and that the function also captures, or from which it
        tells arguments apart, by id."""
        self.distinct = False
        """Whether the function compares arguments by identity."""
        self.objects = GivenObjects()
        """The forms of objects that are taken apart, among the arguments and in the state."""
        self.state = StateInputs(self.objects, self.bound)
        """State that is read as further arguments, because calls replace it."""
        self._state_places = self.state.places
        self.marks: dict[tuple[str, ...], Keywords] = {}
        """What stands for the names of keyword arguments."""
        self.varying = VaryingArguments()
        """Arguments that are run-time numbers."""
        self.raising: dict[tuple[tuple[Any, ...], tuple[bool, ...]], int] = {}
        """How many calls began with a road on which the trace of an earlier one raised RoadRaises, by key and road; -1: one of
        them did not raise."""
        self.replaced = ""
        """The change of the state that made it an argument, in words."""

    @property
    def on_break(self) -> str:
        """What happens where Python needs a value: "split", "eager" or "error"."""
        return settings.default_break if self._on_break is None else self._on_break

    def _with_state(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], varying: Set[int] | None = None, whole: bool = False
    ) -> CallArguments:
        """A call with these arguments, and the state that the function replaces. varying: the run-time numbers; None: those
        known. whole: no object is taken apart."""
        varying = self.varying.positions if varying is None else varying
        more = self.state.begin(whole) if self.state.places else ()
        names = functools.partial(self._names, args, len(more))
        call = CallArguments(
            names, (*args, *more), kwargs, self.bound, len(args), varying, None if whole else self.objects, self.distinct
        )
        for x in self.state.shared({*call.containers, *call.apart}) if more else ():
            if id(x) in call.containers:
                raise TraceError("a container that a compiled function replaces is one of its arguments", "pass a copy of it")
            self._refuse([call.apart[id(x)].form])
            return self._with_state(args, kwargs, frozenset(), whole)
        return call

    def _names(self, args: Sequence[Any], more: int = 0) -> list[str]:
        """The names of the arguments. more: parts of the state after them."""
        names, named = parameter_names(self.fn), spread(args)[1]
        count = len(args) - len(named) - bool(named)
        places = [names[i] if i < len(names) else f"argument {i}" for i in range(count)]
        return [*places, *["the names of arguments"][: bool(named)], *named, *[STATE] * more]

    def _fast(self, given: tuple[Any, ...]) -> Any:
        """The result of a recent specialization's fast path, or FALLBACK. The lock is held. A plan that meets another road than
        its own tells which way the call goes; otherwise batches may alternate between a few sizes."""
        grad, tried = modes.now.grad, []
        specialization = self.latest
        while specialization is not None:
            if specialization.grad_mode is grad:
                result = specialization.fast_call(given)
                if result is not FALLBACK:
                    self.latest = specialization
                    return result
            tried.append(specialization)
            road = specialization.missed()
            others = self.recent if road is None else self.specializations.get(specialization.key, ())
            for other in others:
                if other not in tried and (road is None or other.road[: len(road)] == road):
                    specialization = other
                    break
            else:
                return FALLBACK
        return FALLBACK

    def _find(self, call: CallArguments, road: tuple[bool, ...] = ()) -> tuple[Specialization, CallArguments]:
        """The specialization for these arguments, traced where there is none, and the call in the form that it takes. road:
        outcomes of its first decisions."""
        known = self.specializations.get(call.key, ())
        for specialization in known:
            if (
                specialization.grad_mode is modes.now.grad
                and specialization.road[: len(road)] == road
                and specialization.suits(call.given)
                and specialization.numbers_suit(call)
                and specialization.ready()
                and specialization.shares(call)
            ):
                specialization.reused = True
                break
        else:
            specialization = None
        if specialization is not None and specialization.tape is not None and specialization.tape.incomplete:
            specialization = self._with_saved_values(call, specialization)
        if specialization is None:
            self._check_roads(call, road)
            nearest = self._nearest(call, road)
            forms = len(self.objects.fields)
            places = [] if nearest is None else self.state.new(self.state.moved(nearest.guards.reads))
            if nearest is not None and places:
                self.replaced = "same arguments, but " + specialization_difference(nearest, call)
                self.state.add(places)
                if len(self.objects.fields) > forms:
                    self.varying = VaryingArguments()  # there are other parts
                return self._find(self._again(call, self.varying.positions), road)
            if self.objects.varied(call.others, self._reads):
                self.replaced = "other objects of the same kind: what it reads of them are arguments now"
                self.varying = VaryingArguments()  # there are other parts
                return self._find(self._with_state(call.args[: call.own], call.kwargs), road)
            if call.varying == self.varying.positions and self.varying.varied(call):
                return self._find(self._again(call, self.varying.positions), road)
            self._check_raising(call, road)
            begin()
            try:
                try:
                    specialization = self._trace(call, None, road)
                except SharedMemory as shared:
                    specialization = self._trace(call, shared.places, road)
            except RoadRaises:
                self.raising.setdefault((call.key, road), 1)
                raise
            except ArgumentReached as reached:
                self.bound[id(reached.argument)] = reached.argument
                return self._find(call.again(), road)
            except StateReached as reached:
                self.state.add(reached.places)
                return self._find(self._again(call), road)
            except ObjectsRead:
                return self._find(self._again(call), road)
            except ObjectsRefused as refused:
                found = self._find(self._with_state(call.args[: call.own], call.kwargs, frozenset(), True), road)
                self._refuse(refused.forms)
                return found
            except NumbersRefused:
                found = self._find(self._again(call, frozenset()), road)
                self.varying.fixed(call.places)  # it is the numbers that the code does not take
                return found
            self.raising.pop((call.key, road), None)
            self.varying.traced(call.places, specialization.pinned)
        self.latest = specialization
        self.calls += 1
        specialization.called = self.calls
        self.recent = (specialization, *[other for other in self.recent if other is not specialization][: RECENT - 1])
        return specialization, call

    def _nearest(self, call: CallArguments, road: tuple[bool, ...]) -> Specialization | None:
        """The latest specialization; of those that take a road, where it is known."""
        if not road:
            return self.latest
        found = [other for other in self.specializations.get(call.key, ()) if other.road[: len(road)] == road]
        return self.latest if self.latest in found else found[0] if found else None

    def _check_raising(self, call: CallArguments, road: tuple[bool, ...]) -> None:
        """Raises RoadRaises where traces of such calls have raised it: calls by powers of two are traced again, and all once
        one has not raised it, until there is a plan."""
        count = self.raising.get((call.key, road), 0)
        if count > 0:
            count = self.raising[call.key, road] = count + 1
        if count > 0 and count & (count - 1):
            raised = RoadRaises("the code raises an error there")
            raised.traced = False
            raise raised

    def _keep_recent(self) -> None:
        """Drop the traces that the fast path does not reach."""
        keys = {specialization.key for specialization in self.recent}
        for key in self.specializations.keys() - keys:
            self.specializations.pop(key).clear()
        self.trace_templates = TraceTemplates()
        self.raising.clear()
        self.newest = None
        if not keys:
            self.state.places.clear()

    def _again(self, call: CallArguments, varying: Set[int] | None = None) -> CallArguments:
        """A call with the present state. varying: its run-time numbers, if others."""
        varying = call.varying if varying is None else varying
        return self._with_state(call.args[: call.own], call.kwargs, varying, call.objects is None)

    def _reads(self) -> Iterator[Read]:
        """The guards of all traces."""
        for known in self.specializations.values():
            for specialization in known:
                yield from specialization.guards.reads

    def _refuse(self, forms: Iterable[Hashable]) -> None:
        """Take objects of these forms by identity from now on."""
        self.objects.refuse(forms)
        self.state.structures.clear()
        self.varying = VaryingArguments()

    def _check_roads(self, call: CallArguments, road: tuple[bool, ...]) -> None:
        """Raises TraceError where there are too many roads to make a plan for each."""
        if road:
            known = {specialization.road for specialization in self.specializations.get(call.key, ())}
            if len(known) >= ROADS:
                self.latest, self.recent = None, ()
                raise TraceError(f"it decides by the values of tensors, and has taken {len(known)} roads")

    def _drop(self, specialization: Specialization) -> None:
        """Drop a trace whose plan never ran, with what the trace has prepared: for lack of memory, some of which the plan
        itself occupies, or because of an error."""
        if not specialization.plan.ran:
            for step in reversed(specialization.undo):
                step()
            self._remove(specialization)
            self.recent = tuple(other for other in self.recent if other is not specialization)
            self.latest = self.recent[0] if self.recent else None

    def _with_saved_values(self, call: CallArguments, known: Specialization) -> Specialization:
        """The specialization that takes the place of one whose results a caller has differentiated: its plan returns the
        values that the backward pass reads."""
        self.saves, self.trace_templates = True, TraceTemplates()
        try:
            specialization = self._traced(call, road=known.road)
        except SharedMemory as shared:
            specialization = self._traced(call, shared.places, road=known.road)
        self.recompiles.append("same arguments, but gradients of the results are taken outside")
        self.specializations[call.key] = [specialization if x is known else x for x in self.specializations[call.key]]
        self.recent = tuple(x for x in self.recent if x is not known)
        return specialization

    def _trace(
        self, call: CallArguments, places: Mapping[int, PositionInBase] | None = None, road: tuple[bool, ...] = ()
    ) -> Specialization:
        """Make a specialization. places: of arguments that share memory which the function writes; road: see `_find`."""
        why = self._why(call) if not road else f"same arguments, but decision {len(road)} is {road[-1]}"
        nearest = self._nearest(call, road)
        changed = nearest is not None and nearest.moves(nearest.guards.changed())
        specialization, told = None, ""
        if places is None and not road:
            specialization, told = self._traced_before(call)
        repeated = specialization is not None
        if specialization is None:
            free = places is None and not road and self._may_repeat()
            symbols = self.trace_templates.symbols(call, self._integers(call)) if free else None
            if symbols is not None:
                specialization = self._with_symbols(call, symbols)
                told = told if specialization is not None else f"traced with numbers, because {self.trace_templates.error}"
        if specialization is None:
            specialization = self._traced(call, places, road=road)
        self.recompiles.append("; ".join(x for x in (why, told, specialization.program.outcome) if x))
        why = self.recompiles[-1]
        interpreter.info("%s: %s", self.name, why)
        if changed:
            self.moving += 1
            if self.moving == MOVING and self.on_break == "split":
                raise TraceError(f"it reads state that it changes itself ({why})")
            if self.moving == MOVING:
                interpreter.warn(
                    f"{self.name} has been traced {MOVING} times because it reads state that it changes itself ({why}): keep "
                    "it in a tensor, which is read and written without a trace, or don't compute with it",
                    4,
                )
        self.traces += not repeated
        if not (road or changed):
            self.lonely = 0 if repeated or (self.newest is not None and self.newest.reused) else self.lonely + 1
            self.newest = specialization
            if self.lonely >= MOVING and self.on_break == "split":
                anew = f"was traced anew in each of its latest {MOVING} calls"
                interpreter.warn(f"{self.name} {anew}, so it runs in parts now ({why})", 4)
                raise TraceError(f"it {anew} ({why})")
        if self.traces == OFTEN and not repeated:
            interpreter.warn(f"{self.name} has been traced {OFTEN} times, now because: {why}", 4)
        self.specializations.setdefault(call.key, []).insert(0, specialization)
        if sum(map(len, self.specializations.values())) > MOST:
            self._forget()
        return specialization

    def _traced_before(self, call: CallArguments) -> tuple[Specialization | None, str]:
        """The specialization that follows from an earlier trace over symbols, and how it came about, in words."""
        found, why = self.trace_templates.find(call)
        if found is None:
            return None, f"traced again, because {why}" if why else ""
        found.compile(call, traced=False)
        return (found, "not traced again") if found.sharing == () else (None, "traced again, because arguments share memory")

    def _integers(self, call: CallArguments) -> dict[str, int]:
        """The integers of a call that are run-time values, by their texts."""
        kept = self.state.numbers.values if self.state.places else ()
        numbers = {f"a[{i}]": x for i, x in enumerate(call.numbers)} | {f"s[{i}]": x for i, x in enumerate(kept)}
        return {text: x for text, x in numbers.items() if type(x) is int}

    def _may_repeat(self) -> bool:
        """Whether a trace that fails may be followed by another one: none prints."""
        return self.latest is None or all(effect.kind != "print" for effect in self.latest.effects)

    def _with_symbols(self, call: CallArguments, symbols: Symbols) -> Specialization | None:
        """Make a specialization by a trace over symbolic extents; None where the function needs numbers. Code that expects
        numbers may raise anything when it gets symbols, so the trace with numbers decides what is an error."""
        try:
            return self._traced(call, None, symbols)
        except (Exception, Unfollowed) as error:
            self.trace_templates.failed(error, symbols)
            return None

    def _traced(
        self, call: CallArguments, places: Mapping[int, PositionInBase] | None = None, symbols: Symbols | None = None,
        road: tuple[bool, ...] = (),
    ) -> Specialization:  # fmt: skip
        """Trace the function. road: see `_find`."""
        observer = watcher(self.name, [(self.name, self.fn), *call.referenced()])
        tracer = Tracer(self.name, observer.log.arrays, places, observer, None if symbols is None else symbols.shapes)
        if symbols is None and self._on_break is None and self.on_break == "split":
            tracer.decisions = Decisions(tracer, call.arrays, road)
        undo = tracer.undo
        try:
            stand_ins = StandIns(self.objects)
            work = functools.partial(self._specialize, call, tracer, observer, symbols, stand_ins)
            try:
                specialization: Specialization = printed_once(tracer.active, work)
            except RoadRaises:
                raise
            except Exception as error:
                if call.numbers:
                    raise NumbersRefused from None
                known = isinstance(error, (AttributeError, TypeError, ValueError, ArithmeticError, StaticgradError))
                if known and self.state.without_numbers():
                    raise StateReached([]) from None  # code that takes no such numbers
                if stand_ins.made:
                    raise ObjectsRefused({form for _, form, _ in stand_ins.made}) from None
                if not known:
                    raise
                if tracer.opens and not isinstance(error, (TraceError, DataDependentError, DTypeError)):
                    raise DataDependentError(
                        f"code needs an extent that the compiled function has not computed yet ({error})"
                    ) from error
                if tracer.numbers and not isinstance(error, StaticgradError):
                    raise TraceError(
                        f"code needs a number that the compiled function has not computed yet ({error})"
                    ) from error
                raise
            del work
            tracer.close()
            del tracer, observer  # their memory is free before the compiler allocates
            specialization.compile(call)
            specialization.undo = undo
        except BaseException:
            for step in reversed(undo):
                step()
            raise
        return specialization

    def _specialize(
        self, call: CallArguments, tracer: Tracer, observer: StateWatcher, symbols: Symbols | None, stand_ins: StandIns
    ) -> Specialization:
        conditions = Conditions() if symbols is None else symbols.conditions

        extents = {} if symbols is None else symbols.numbers
        args, kwargs = call.symbols(tracer, self.state.numbers, observer.log, stand_ins, extents)
        whole = call.objects is None
        unplant = self.state.plant(args[call.own :], observer.log, stand_ins, extents, whole) if self.state.places else None
        stand_ins.enter(observer.log)

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
            self._check_identities(observer, tracer)
            if stand_ins.made:
                stand_ins.check(observer.log, result)
            places = replaced(observer.log, observer.effects, self.state.constant, [*call.containers.values()])
            if places:
                raise StateReached(places)
            observer.conditions = self.state.guards()
            specialization = Specialization(
                call, tracer, result, observer, self.numerics, self.passes, self.templates, self.saves, self.memory_budget,
            )  # fmt: skip
        except BaseException as error:
            observer.rewind()
            left = (TraceError, DataDependentError, RoadRaises)  # to segments, or told already
            decided = tracer.decisions is not None and tracer.decisions.outcomes
            acts = decided or observer.log.formers or observer.effects or tracer.acts
            if acts and isinstance(error, Exception) and not isinstance(error, left):
                raise RoadRaises(f"the code raises {type(error).__name__}: {error}") from error
            raise
        finally:
            if unplant is not None:
                unplant()
        numbers = () if tracer.given_numbers is None else tracer.given_numbers.conditions.items()
        self.trace_templates.note(call, needed([*numbers, *self.state.numbers.conditions.items()]))
        if specialization.road or specialization.checked:
            self._print_later(specialization)
        if symbols is None:
            return specialization
        if conditions.unfollowed:  # the user's code caught it
            raise Unfollowed(conditions.unfollowed)
        template = TraceTemplate(specialization, symbols)
        found = template.specialization(call, first=True)
        assert isinstance(found, Specialization)
        self.trace_templates.add(template, symbols)
        return found

    def _check_identities(self, observer: StateWatcher, tracer: Tracer) -> None:
        """After a trace: where it compared an argument with another object, the key has to tell whether it is that one."""
        log = observer.log
        leaves = {id(leaf) for _, leaf in tracer.arguments}
        for pair in log.compared:
            given = [id(x.tensor if type(x) is TracedArray else x) in leaves or id(x) in log.stand_ins for x in pair]
            if all(given):
                if id(pair[0]) in log.stand_ins or id(pair[1]) in log.stand_ins or self.distinct:
                    continue  # the key tells that
                self.distinct = True
                raise StateReached([])
            if not any(given):
                continue
            mine, other = pair if given[0] else pair[::-1]
            if isinstance(other, Symbol) or not observer.existed(other):
                continue  # the trace made it
            if id(mine) in log.stand_ins and not issubclass(type(mine), CONTAINERS):
                log.identities.add(id(mine))  # its form is taken by identity
            elif id(other) in self.bound:
                log.told.append(other)
            else:
                raise ArgumentReached(other)

    def _print_later(self, specialization: Specialization) -> None:
        """Drop what a trace has printed whose run may take another road, or raise an error: the first run prints it, that of
        another road, or eager mode."""
        if drop_held():
            for effect in specialization.effects:
                if effect.kind == "print" and isinstance(effect.kwargs.get("file"), (HeldOutput, NoneType)):
                    effect.done = False

    def _forget(self) -> None:
        """Drop the specialization that was not called for longest. The fast path of a call, which notes none, reaches the
        recent ones and those that differ from them by their roads."""
        recent = {other.key for other in self.recent}
        known = [other for others in self.specializations.values() for other in others if other not in self.recent]
        self._remove(min(known, key=lambda other: (other.key in recent, other.called)))

    def _remove(self, specialization: Specialization) -> None:
        left = [other for other in self.specializations[specialization.key] if other is not specialization]
        if left:
            self.specializations[specialization.key] = left
        else:
            del self.specializations[specialization.key]

    def _why(self, call: CallArguments) -> str:
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
