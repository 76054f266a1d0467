"""Compiled functions: a trace per kind of arguments and guarded state, each run as one plan."""

from __future__ import annotations

import copy
import functools
import inspect
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeAlias, TypeVar, overload

from ..base.communicators import Agreed
from ..base.interpreter import by_value, lock
from ..compiler.passes.rematerialize import check_budget
from ..compiler.passes.rewrite import Pass, check_passes
from ..compiler.passes.specialize import check_numerics
from ..eager.grad_mode import modes, watches_nan
from ..errors import AnomalyError, DataDependentError, GraphError, StaticgradError, TraceError
from ..ops.custom_gradient import DecisionMissed
from ..ops.operators import Array, frontends, state
from .arguments import CallArguments, Keywords, own_code, spread
from .decisions import RoadRaises, outcomes_of
from .mentions import UnknownState, warn_of_unknown_state
from .segments.runs import FlagChange, SegmentedRuns
from .settings import check_settings
from .specialization import Specialization
from .specialization_cache import SpecializationCache
from .step_loop import FALLBACK, loop

if TYPE_CHECKING:
    import networkx as nx

    from ..compiler.execute.explain import Explanation
    from ..compiler.execute.plan import Plan
    from ..compiler.execute.profile import Profile
    from ..ir import Graph

AnyCompiled: TypeAlias = "CompiledFunction[..., Any]"
Arguments = ParamSpec("Arguments")
Others = ParamSpec("Others")
Instance = TypeVar("Instance")
Output = TypeVar("Output")


class CompiledFunction(SpecializationCache, Generic[Arguments, Output]):
    """A function under `@sg.compile`. Calls run natively; `recompiles` says why there is another specialization, and for new
    shapes whether the function was traced again and the plan re-bound, and why not.

    plan, explain(), source(), profile(): of the latest call's plan.
    """

    __slots__ = ()

    def __init__(
        self, fn: Callable[Arguments, Output], numerics: str = "fast", passes: Sequence[Pass] = (),
        on_break: str | None = "error", memory_budget: int | float | None = None,
    ):  # fmt: skip
        super().__init__(fn, numerics, passes, on_break, memory_budget)
        functools.update_wrapper(self, fn, updated=())
        self.settings: tuple[Any, ...] = (self.numerics, self.passes, on_break, memory_budget)
        self.segmented: SegmentedRuns | None = None
        """Runs of a function whose Python needs values."""
        self.flagged = False
        """Whether a call has changed `requires_grad` of a tensor from outside, which later calls find as it is then."""
        self.lock = lock()
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
        # a part of another trace, or its new tensors are on device meta
        if frontends.tracing and (state.tracer is not None or state.deferral is not None or state.on_meta is not None):
            return self._run(args, kwargs)
        if kwargs:
            args, kwargs = self._by_position(args, kwargs)  # type: ignore[assignment]
        mode = modes.now
        if mode.anomaly:
            return self._watched(args, kwargs)
        specialization = self.latest
        if specialization is not None and specialization.free and not kwargs and specialization.grad_mode is mode.grad:
            given = (*args, *self.state.read()) if self._state_places else args
            result: Output = specialization.fast_call(given)
            if result is not FALLBACK:
                return result
        if self.lock.locked() and self._within():  # called by a signal handler during a call
            return self._run(args, kwargs)
        with self.lock:
            if self.latest is not None and not kwargs:
                result = self._fast((*args, *self.state.begin()) if self._state_places else args)
                if result is not FALLBACK:
                    return result
            if self.segmented is None or self.segmented.passing:
                self.segmented = None
                try:
                    return self._call(self._with_state(args, kwargs))
                except (TraceError, DataDependentError) as error:
                    if self.on_break == "error":
                        raise
                    specialization = None  # the frame of the traceback would keep it
                    self._use_segments(error)
            assert self.segmented is not None
            return self._in_segments(self.segmented, args, kwargs)

    def _watched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Output:
        """A call under `detect_anomaly`: natively where the function is one plan, else operation by operation."""
        if self.segmented is not None or (self.lock.locked() and self._within()):
            return self._run(args, kwargs)
        with self.lock:
            try:
                return self._call(self._with_state(args, kwargs))
            except (TraceError, DataDependentError):
                if self.on_break == "error":
                    raise
            return self._run(args, kwargs)

    def _in_segments(self, runs: SegmentedRuns, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Output:
        """A call of a function whose Python needs values."""
        if self.on_break == "eager":
            return self._run(args, kwargs)
        return runs.run(self._run, (args, kwargs), {})

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Keyword arguments that continue the positional ones in the order of the parameters, as positional arguments. Others
        follow an object that stands for their names."""
        wanted = self.keywords[len(args) : len(args) + len(kwargs)]
        if len(wanted) == len(kwargs) and all(name in kwargs for name in wanted):
            return (*args, *[kwargs[name] for name in wanted]), {}
        names = tuple(sorted(kwargs, key=self._rank))
        mark = self.marks.get(names)
        if mark is None:
            mark = self.marks[names] = Keywords(names)
        return (*args, mark, *[kwargs[name] for name in names]), {}

    def _rank(self, name: str) -> int:
        """The order of keywords: that of the parameters. Those that `**kwargs` takes follow in the order of the call, in which
        the function finds them."""
        return self._ranks.get(name, len(self._ranks))

    @functools.cached_property
    def _ranks(self) -> dict[str, int]:
        code = own_code(self.fn)
        names = () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        return {name: i for i, name in enumerate(names)}

    @functools.cached_property
    def keywords(self) -> list[str]:
        """Names of the parameters that can be given by position; an empty name for a positional-only one. None for callables
        other than functions."""
        code = own_code(self.fn)
        if code is None:
            return []
        names = ["" if i < code.co_posonlyargcount else name for i, name in enumerate(code.co_varnames[: code.co_argcount])]
        return names[inspect.ismethod(self.fn) :]

    def _within(self) -> bool:
        """Whether this call of the function is nested in another one in the same thread."""
        frame: FrameType | None = sys._getframe(1)
        codes = CompiledFunction.__call__.__code__, CompiledFunction.run_steps.__code__
        found = 0
        while frame is not None and found < 2:
            found += frame.f_code in codes and frame.f_locals.get("self") is self
            frame = frame.f_back
        return found == 2

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Output:
        """Run operation by operation."""
        if self.marks and not kwargs:
            args, kwargs = spread(args)  # type: ignore[assignment]
        try:
            return self.fn(*args, **kwargs)
        except RecursionError:
            if not self._within():
                raise
            raise TraceError(
                f"{self.name} calls itself without end",
                "a recursion ends where a Python value says so; where a tensor does, write sg.while_loop",
            ) from None

    def _call(self, call: CallArguments) -> Output:
        """The slower path, for any arguments. The lock is held."""
        result = self._by_plans(call)  # whose frame is gone when eager mode raises: the traceback would keep its plans
        return self._run(call.args[: call.own], call.kwargs) if result is FALLBACK else result

    def _by_plans(self, call: CallArguments) -> Any:
        """The result of a call by a plan, or FALLBACK where it is left to eager mode, and nothing is changed."""
        road: tuple[bool, ...] = ()
        tried: list[Specialization] = []
        while True:
            raised: RoadRaises | None = None
            try:
                specialization, call = self._find(call, road)
            except RoadRaises as error:
                raised = error
            except TraceError:
                tried.clear()  # the traceback would keep their plans
                raise
            if raised is not None:  # out of the handler, or the error of the code would be told twice
                result = self._run(call.args[: call.own], call.kwargs)
                self._not_raised(call, road, raised)
                return result
            if specialization in tried or (specialization.road and watches_nan()):
                break  # plans that round differently may disagree about a decision
            tried.append(specialization)
            arrays = specialization.take(call)
            try:
                results = specialization.execute(arrays, call.given)
            except MemoryError:
                self._drop(specialization)
                raise
            except DecisionMissed as missed:
                number, outcome = missed.decision
                road = (*specialization.road[:number], outcome)
            except (AnomalyError, GraphError, TraceError):
                raise
            except Agreed:
                tried.remove(specialization)
            except StaticgradError:
                known = specialization.road
                found = outcomes_of(known, specialization.program.prepared, arrays) if known else None
                if found is not None:
                    road = found
                elif specialization.plan.repeatable:
                    if specialization.undo:
                        self._drop(specialization)
                    break  # eager mode raises it, after the effects that come before it
                else:
                    raise
            else:
                return specialization.complete(results, call, arrays)
            del specialization, arrays
        return FALLBACK

    def _not_raised(self, call: CallArguments, road: tuple[bool, ...], raised: RoadRaises) -> None:
        """A call whose trace raised an error raised none in eager mode. Raises TraceError where it may not run in segments."""
        if not raised.traced:
            self.raising[call.key, road] = -1
        elif call.numbers:
            self.varying.fixed(call.places)  # it may be the numbers that the code does not take
        elif not self.state.without_numbers():
            if self.on_break == "error":
                raise TraceError(f"{raised.summary} while {self.name} is traced, and not in eager mode") from raised.__cause__
            self._use_segments(raised)

    def _use_segments(self, error: StaticgradError) -> None:
        """Run in segments from now on, but for calls that fit a recent plan."""
        if isinstance(error, UnknownState):
            warn_of_unknown_state(self.name, error)
        passing, self.flagged = isinstance(error, FlagChange) and not self.flagged, True
        always = self._on_break is not None
        self.segmented = SegmentedRuns(self.name, self.numerics, self.passes, error, always, passing)
        self._keep_recent()

    def run_steps(self, args: Sequence[Any], source: Callable[[Specialization], Any], before: int) -> Any:
        """Run steps of the specialization for `args` in native calls: (specialization, stacked fetches, number of steps).

        source(specialization): the addresses of the steps' arrays, or None. before: number of steps already done. Those from
        the first on that raises are not done. Returns None, with nothing done, where steps have to run one by one.
        """
        if (frontends.tracing and state.tracer is not None) or modes.now.anomaly:
            return None
        if self.segmented is not None or (self.lock.locked() and self._within()):
            return None
        with self.lock:
            try:
                specialization, _ = self._find(self._with_state(tuple(args), {}))
            except RoadRaises:
                return None
            except (TraceError, DataDependentError):
                if self.on_break == "error":
                    raise
                return None  # the first step runs by itself, and decides
            feeds = source(specialization) if specialization.steady else None
            if feeds is None:
                return None
            try:
                results, done = specialization.run_steps(feeds, before)
            except MemoryError:
                self._drop(specialization)
                raise
            return (specialization, results, done) if done or not len(feeds[0]) else None

    # inspection ---------------------------------------------------------------------------------------------------------

    def specialization_of(self, *args: Any) -> Specialization:
        """The trace for a call with these arguments, which does not run. Raises TraceError for one that needs values, and the
        error that the code raises."""
        with self.lock:
            try:
                return self._find(self._with_state(args, {}))[0]
            except RoadRaises as raised:
                raise (raised if raised.__cause__ is None else raised.__cause__) from None

    @property
    def plan(self) -> Plan:
        """The plan of the latest call. Raises TraceError before the first, and where calls run operation by operation."""
        if self.segmented is not None:
            return self.segmented.largest()
        if self.latest is None:
            raise TraceError(f"{self.name} has not been called yet, so there is no plan", "call it once with its arguments")
        return self.latest.plan

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
        if self.segmented is not None and self.segmented.calls:
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
        return self.plan.profile(repeats)

    @overload
    def loop(self, batches: Array | tuple[Array, ...]) -> Output: ...  # type: ignore[overload-overlap]
    @overload
    def loop(self, batches: Iterable[Any]) -> list[Output]: ...
    def loop(self, batches: Any) -> Any:
        """Many steps. For an array, or a tuple of arrays, one step per index of the leading axis; the results have a leading
        axis, too: losses come as one tensor (steps,), numbers of `item()` as an array. For another iterable, one step per batch
        (a tuple of arguments, or one argument), and the list of the results.

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
        """A decorated function by its name, as Python's functions; any other by what is compiled, to be traced again. One of
        the program's own file goes to workers that have another one: by value, where cloudpickle does that for functions."""
        found: Any = sys.modules.get(getattr(self.fn, "__module__", ""))
        for name in getattr(self.fn, "__qualname__", "<none>").split("."):
            found = getattr(found, name, None)
        if found is self:
            library = by_value()
            travelling = threading.get_ident(), id(self)
            if library is None or self.fn.__module__ != "__main__" or travelling in _travelling:
                return self.fn.__qualname__
            _travelling.add(travelling)  # the function may name itself
            try:
                return _arrived, (type(self), library.dumps(self.fn), *self.settings)
            finally:
                _travelling.remove(travelling)
        owner = getattr(self.fn, "__self__", None)
        if owner is not None and not isinstance(owner, type):
            return getattr, (owner, self.fn.__name__)
        return type(self), (self.fn, *self.settings)

    def __repr__(self) -> str:
        return f"<sg.compile of {self.name}>"


_travelling: set[tuple[int, int]] = set()
"""Compiled functions that are being pickled so: threads and ids."""


def _arrived(kind: Callable[..., Any], function: bytes, *settings: Any) -> Any:
    return kind(pickle.loads(function), *settings)


class Methods(dict[AnyCompiled, AnyCompiled]):
    """The compiled methods of one instance. A copy of the instance begins with none."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Methods:
        return Methods()

    def __reduce__(self) -> Any:
        return Methods, ()


# `sg.compile` ---------------------------------------------------------------------------------------------------------

# `sg.compile`: the decorator and its arguments.


@overload
def compile(
    fn: Callable[Arguments, Output], *, fullgraph: bool = False, dynamic: bool | None = None, backend: str = "inductor",
    mode: str | None = None, options: Mapping[str, Any] | None = None, disable: bool = False, on_break: str | None = None,
    numerics: str = "fast", passes: Sequence[Pass] = (), wait: bool = False, memory_budget: int | float | None = None,
) -> CompiledFunction[Arguments, Output]: ...  # fmt: skip
@overload
def compile(
    fn: None = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: str = "inductor",
    mode: str | None = None, options: Mapping[str, Any] | None = None, disable: bool = False, on_break: str | None = None,
    numerics: str = "fast", passes: Sequence[Pass] = (), wait: bool = False, memory_budget: int | float | None = None,
) -> Callable[[Callable[Arguments, Output]], CompiledFunction[Arguments, Output]]: ...  # fmt: skip
def compile(
    fn: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: str = "inductor",
    mode: str | None = None, options: Mapping[str, Any] | None = None, disable: bool = False, on_break: str | None = None,
    numerics: str = "fast", passes: Sequence[Pass] = (), wait: bool = False, memory_budget: int | float | None = None,
) -> Any:  # fmt: skip
    """Compile an eager function: traced at the first call with new kinds of arguments, then run as one native plan.

    The same text runs eagerly without the decorator. Array arguments are run-time values; those of
    NumPy stay arrays, with NumPy's meaning, until they meet a tensor. The second shape repeats the trace,
    later ones only where Python decides something else for them; the compiler's decisions are kept where they hold, and no
    kernel is compiled. Other arguments, and flags of the modules and optimizers that the function uses, are part of the key;
    learning rates and the like are read at every call. A result that requires grad can be differentiated outside: the call is
    one operation of the tape, and its gradients, of every order, are compiled plans, too. A step with `backward` inside is one
    plan as a whole, and faster. A module gives a module with its members whose call is compiled.

    Python itself runs only while tracing. What it reads then - attributes, items, globals, defaults, the values of plain NumPy
    arrays - is compared at every call, and a change makes another trace. What it writes - attributes, items, globals, lists
    that it appends to, prints - each run writes again, tensors included. Reading a number that the function itself changes
    makes a trace per call (`x.n += 1` alone doesn't): keep it in a tensor.

    fullgraph, dynamic, backend, mode, options, disable: as of PyTorch's function of this name. There is one backend, which
    PyTorch's names stand for, and extents are dynamic where they change; with backend="eager" or disable=True the function
    is returned as it is.
    An `if` or `while` on a tensor, or on a number from `.item()`, decides in each run: there is one plan per road through the
    code, and a run that takes another road than its plan changes nothing before the other plan runs.

    on_break: what happens where Python asks for another value that exists only when the step runs, for random numbers that are
    not ours, for the clock, or for files. "split": the function runs in segments, each a plan, and Python in between runs in
    every call; "eager": it runs eagerly; "error", as with fullgraph=True: TraceError. By default it is split, and runs eagerly
    where its operations are so small that plans save less than it takes to split them; `explain()` says so.
    With any of the three named, an `if` on a tensor is such a value, too.
    numerics: "fast", within the error bounds of docs/numerics.md; or "strict", the bits of eager mode at about its speed.
    wait: for kernels that a call needs; compiled functions do, with either value.
    memory_budget: bytes for the plan's own buffers, and NumPy's arrays in strict runs, or a fraction (0 < f <= 1) of what they
    would take. Values of the forward pass are computed again in the backward pass until the plan is within it; `plan.budget`
    and `explain()` say how, and what it costs. OutOfMemoryError names the smallest budget that can be met. Segments of a
    split function have none.
    passes: functions from a graph to a graph, called at the stage that `sg.graph_pass` names; `sg.rewrite` makes most of them.

    A call raises what eager mode raises, and leaves what the step did before: where an operation of a plan fails (an index out
    of range), nothing is changed, and the call runs once more eagerly. Where the plan calls Python functions, as those of
    TensorFlow's `py_func`, it does not, and nothing is changed.
    Under `detect_anomaly` a step that ends in NaN is an AnomalyError. One thread at a time runs a compiled function, others
    wait.

    Examples:
        >>> w = sg.tensor([1.0, 2.0], requires_grad=True)
        >>> @sg.compile
        ... def step(x):
        ...     loss = ((x * w).sum() - 1) ** 2
        ...     w.grad = None
        ...     loss.backward()
        ...     with sg.no_grad():
        ...         w.sub_(0.1 * w.grad)
        ...     return loss
        >>> [round(step(np.ones(2, "float32")).item(), 4) for _ in range(3)]
        [4.0, 1.44, 0.5184]
        >>> step.recompiles, step.plan.host_calls
        (['first call'], 0)
    """
    check_numerics(numerics)
    check_passes(passes)
    check_budget(memory_budget)
    kept = check_settings(backend, mode, options, on_break, fullgraph)
    if fn is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable,
            on_break=on_break, numerics=numerics, passes=passes, wait=wait, memory_budget=memory_budget,
        )  # fmt: skip
    if not callable(fn):
        raise TraceError(f"compile needs a function, got {type(fn).__name__}", "write @sg.compile above def step(...)")
    if inspect.isgeneratorfunction(fn) or inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn):
        raise TraceError(
            f"{fn.__name__} is a generator or a coroutine, which can't be compiled", "compile the step that it repeats"
        )
    if disable or backend == "eager":
        return fn
    made = CompiledFunction(fn, numerics, passes, kept, memory_budget)
    stand_in = getattr(type(fn), "_under_compile", None)  # of a module
    return made if stand_in is None else stand_in(fn, made)
