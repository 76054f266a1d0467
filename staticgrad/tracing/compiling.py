"""`sg.compile`: the decorator and its arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from ..compiler.passes.rematerialize import check_budget
from ..compiler.passes.rewrite import Pass, check_passes
from ..compiler.passes.specialize import check_numerics
from ..errors import TraceError
from .function import Arguments, CompiledFunction, Output
from .settings import check_settings


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
    after some calls where its operations are so small that plans save less than it takes to split them; `explain()` says so.
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
