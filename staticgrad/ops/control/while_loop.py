"""`cond` and `while_loop`: Python's decisions on eager tensors, in a graph a node with subgraphs.

`while_loop(lambda i, x: i < n, body, (0, x))` runs eagerly as Python's `while`. In a graph its functions run once, on
symbols. Its variables may change their shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, overload

import numpy as np

from ...base.types import Shape, TensorType, UnrankedType, bool_, int64, shape_text
from ...errors import ArgumentError, DTypeError, GraphError, ShapeError
from ...ir import REGISTRY, Graph, Node, Subgraph
from ..deferred import (
    KNOWN,
    Definition,
    NeedsValues,
    computed,
    decided,
    defer,
    value_of,
    values_read,
    written_body,
    written_nodes,
)
from ..leaves import fits
from ..operators import Array, F, Lifted, Operators, Output, Symbol, Tensor, TensorLike, apply, has_rank, public, state
from ..pytree import LEAF, Structure, flatten, paths, text, unflatten
from ..random import stream
from ..shaping import as_written
from . import records
from .records import (
    InGraph,
    check_callable,
    check_carries,
    check_scalar,
    check_structure,
    eager_tensors,
    graph_for,
    iterations,
    own,
)
from .subgraph_tracing import COUNTER, Draws, Traced, assign_results, current_values, outputs, symbol

# `cond` ---------------------------------------------------------------------------------------------------------------


@public
def cond(pred: TensorLike, true_fn: Callable[..., Output], false_fn: Callable[..., Output], *operands: Any) -> Output:
    """true_fn(*operands) where `pred` holds, else false_fn(*operands); only that one runs.

    pred: one boolean. operands: one after another, or in one tuple (PyTorch's form). The functions may use anything from
    outside (TensorFlow 1's style has no operands); they return the same structure, of the same shapes and dtypes. They may
    draw random numbers, and in a graph assign to variables.

    In a graph it is one node; eagerly, and for a boolean of Python's or NumPy's, an ordinary decision: the other function
    does not run, so what it returns is not looked at. Raises ArgumentError for a branch that is no function; in a graph
    ArgumentError, ShapeError and DTypeError when the branches disagree.

    Examples:
        >>> sg.cond(sg.tensor(True), lambda x: x + 1, lambda x: x - 1, sg.tensor(1.0))
        tensor(2.)
    """
    check_callable("true_fn", true_fn)
    check_callable("false_fn", false_fn)
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    level = records.innermost()
    if level is not None and isinstance(pred, Operators) and (level.loops or isinstance(pred, Symbol)):
        return records.cond(level, cond, pred, lambda: true_fn(*operands), lambda: false_fn(*operands))
    decided = not hasattr(pred, "dtype") or isinstance(pred, np.generic)
    graph = None if decided else graph_for([pred])
    if graph is None:
        chosen = true_fn if check_scalar(pred, "cond: pred") else false_fn
        if decided:
            return chosen(*operands)
        with stream(always=True):
            leaves, structure = flatten(chosen(*operands))
        result: Output = unflatten(structure, [x if isinstance(x, Symbol) else own(eager_tensors([x]))[0] for x in leaves])
        return result
    chosen_by: Tensor = check_scalar(symbol(graph, pred), "cond: pred")
    chosen_by = chosen_by if chosen_by.dtype == bool_ else F.ne(chosen_by, 0)
    branches: list[Traced] = []
    with Draws(graph, always=True) as draws:
        try:
            for fn in (true_fn, false_fn):
                draws.count = 0
                with draws.inside(None):
                    branches.append(Traced(graph, lambda fn=fn: fn(*operands), [], lambda p: (), "cond", closed=True))
            variables = list(dict.fromkeys(v for branch in branches for v in branch.assigned))
            before = list(dict.fromkeys(n for branch in branches for n in branch.before))
            values = [x.node for x in current_values(graph, variables, before)]
            for branch in branches:
                branch.add_results([branch.assigned.get(v, now) for v, now in zip(variables, values, strict=True)])
        finally:
            for branch in branches:
                branch.withdraw()
        alike = _check_branches(branches[0], branches[1], kept=bool(variables or before) or not hasattr(graph, "host_call"))
    captured = list(dict.fromkeys([*(c for branch in branches for c in branch.captured), draws.stream.node]))
    then, orelse = (branch.subgraph(captured) for branch in branches)
    if not alike:
        return unflatten(branches[0].structure, _chosen(graph, chosen_by, captured, then, orelse))
    node = apply(REGISTRY["branch"], chosen_by, *(Symbol(graph, c) for c in captured), then=then, orelse=orelse)
    results = outputs(node, len(then.results))
    if variables or before:
        count = len(results) - len(variables)
        results = assign_results(graph, variables, results[count:], results[:count], before)
    result = unflatten(branches[0].structure, results)
    return result


def _chosen(graph: Any, chosen_by: Any, captured: list[Node], then: Subgraph, orelse: Subgraph) -> list[Symbol]:
    """The results of branches of different shapes, in a graph that may call Python: in the run only one of them is written.

    Where the condition follows from more than constants, extents and integers that are fed, a run before computes it.
    """

    def write(operands: list[Symbol]) -> list[Symbol]:
        pred, *given = operands
        body = then if value_of(pred) else orelse
        inside = pred.graph
        decided(inside, "cond: the branch that is taken is written alone, because their shapes differ")
        return [Symbol(inside, n) for n in written_nodes(inside, body, [x.node for x in given], KNOWN[inside])]

    if not state.inside and computed(chosen_by):
        kind = TensorType((), bool_)
        (known,) = graph.host_call([chosen_by], lambda arrays: [np.asarray(arrays[0])], [kind], "cond/pred", "LoopCond")
        chosen_by = Symbol(graph, known.node)
    kinds = [_either(a.type, b.type) for a, b in zip(then.results, orelse.results, strict=True)]
    return defer(graph, Definition(write), [chosen_by, *(Symbol(graph, c) for c in captured)], kinds)


def _either(a: TensorType, b: TensorType) -> TensorType:
    """What two types have in common."""
    if isinstance(a, UnrankedType) or isinstance(b, UnrankedType) or len(a.shape) != len(b.shape):
        return UnrankedType(a.dtype)
    return TensorType(tuple([m if m == n else None for m, n in zip(a.shape, b.shape, strict=True)]), a.dtype)


def _check_branches(yes: Traced, no: Traced, kept: bool) -> bool:
    """Whether the results have the same shapes. kept: they have to."""
    alike = True
    if yes.structure != no.structure:
        raise ArgumentError(
            "Incompatible return structures of true_fn and false_fn: The two structures don't have the same nested structure.",
            f"true_fn returns {text(yes.structure)}, false_fn {text(no.structure)}",
        )
    for name, a, b in zip(paths(yes.structure, "result"), yes.symbols, no.symbols, strict=True):
        if a.dtype != b.dtype:
            raise DTypeError(
                f"Incompatible return types of true_fn and false_fn: {name} is {a.dtype} and {b.dtype}",
                "cast one of them with .astype",
            )
        same = has_rank(a) and has_rank(b) and fits(a.shape, b.shape)
        alike = alike and same
        if not same and kept:
            raise ShapeError(
                f"Incompatible return shapes of true_fn and false_fn: {name} is {shape_text(a.shape)} and "
                f"{shape_text(b.shape)}",
                "both branches have to give values of one shape",
            )
    return alike


# loops whose variables change their shapes ---------------------------------------------------------------------------

# They are written iteration by iteration when the shapes at their entry are known.
#
# The functions of the loop run once, on parameters with the extents that all iterations share, and make two subgraphs. The loop
# is a deferred operation over the tensors that they read. Where one iteration leaves all shapes as they are, it becomes the
# loop of `while_loop`; elsewhere the bodies of all iterations follow one another, each for its shapes. So a plan holds native
# code for every shape, and gradients of any order are those of straight code. The condition has to follow from constants,
# extents and feeds, or an operand says how many iterations there are.


class Growing:
    """A loop over subgraphs of constants and variables. kinds: of the variables in all iterations."""

    def __init__(self, cond: Subgraph, body: Subgraph, operands: Sequence[Symbol], kinds: Sequence[TensorType]):
        self.cond, self.body, self.kinds = cond, body, list(kinds)
        self.operands = list(operands)
        """The constants, then the first values of the variables."""
        self.consts = len(self.operands) - len(self.kinds)

    def results(self, graph: Graph) -> list[Symbol]:
        """The last variables. A graph with calls of Python has the iterations counted where the condition reads a value that is
        known in the run only."""
        operands, definition = self.operands, Definition(self._written)
        call = getattr(graph, "host_call", None)
        if call is not None and not state.inside and any(map(computed, values_read(graph, definition, operands))):
            kind = TensorType((), int64)
            (count,) = call(operands, lambda arrays: [np.asarray(self.count(arrays), int64)], [kind], "while/count", "LoopCond")
            operands, definition = [Symbol(graph, count.node), *operands], Definition(self._counted)
        return defer(graph, definition, operands, self.kinds)

    def count(self, arrays: Sequence[np.ndarray]) -> int:
        """The number of iterations for these operands, found by NumPy."""
        consts, carries, done = list(arrays[: self.consts]), list(arrays[self.consts :]), 0
        while self.cond.eval([*consts, *carries])[0]:
            carries, done = self.body.eval([*consts, *carries]), done + 1
        return done

    def _counted(self, operands: list[Symbol]) -> list[Any]:
        return self._written(operands[1:], int(value_of(operands[0])))

    def _written(self, operands: list[Symbol], total: int | None = None) -> list[Any]:
        graph, nodes = operands[0].graph, [x.node for x in operands]
        consts, carries = nodes[: self.consts], nodes[self.consts :]
        after = written_nodes(graph, self.body, [*consts, *carries], KNOWN[graph])
        if [n.type for n in after] == [n.type for n in carries]:
            try:
                return self._native(graph, consts, carries)
            except NeedsValues:  # a shape in the body depends on a variable
                pass
        done = 0
        while self._going(graph, consts, carries) if total is None else done < total:
            carries = written_nodes(graph, self.body, [*consts, *carries], KNOWN[graph]) if done else after
            done += 1
        decided(graph, f"while_loop: {done} iterations are written one after the other, because their shapes differ")
        return [Symbol(graph, n) for n in carries]

    def _going(self, graph: Graph, consts: Sequence[Node], carries: Sequence[Node]) -> bool:
        (verdict,) = written_nodes(graph, self.cond, [*consts, *carries], KNOWN[graph])
        return bool(value_of(Symbol(graph, verdict)))

    def _native(self, graph: Graph, consts: list[Node], carries: list[Node]) -> list[Any]:
        """The loop whose variables keep their shapes."""
        given = [*consts, *carries]
        places = [*range(self.consts), *[None] * len(carries)]
        kinds = [n.type for n in given]
        body, cond = (written_body(part, kinds, places, given, KNOWN[graph]) for part in (self.body, self.cond))
        node = apply(
            REGISTRY["loop"], *(Symbol(graph, n) for n in given), body=body, cond=cond, consts=self.consts,
            carries=len(carries), length=None, reverse=False, count=False, remat=False,
        )  # fmt: skip
        return outputs(node, len(carries))


# shapes ---------------------------------------------------------------------------------------------------------------


def leaf_shapes(structure: Structure, shapes: Any, at: str = "shape_invariants") -> list[Any]:
    """The shapes of the leaves, from a nest of shapes of this structure. Raises ArgumentError for another structure."""
    if structure is LEAF:
        return [shapes]
    keys = range(len(structure.items)) if structure.keys is None else structure.keys
    fitting = isinstance(shapes, dict) and set(shapes) == set(keys)
    if structure.keys is None:
        fitting = isinstance(shapes, (list, tuple)) and len(shapes) == len(keys)
    if not fitting:
        raise ArgumentError(f"{at} has to have the structure of loop_vars: one shape for each tensor")
    return [
        shape
        for key, part in zip(keys, structure.items, strict=True)
        for shape in leaf_shapes(part, shapes[key], f"{at}[{key!r}]")
    ]


def invariant(name: str, entering: Any, shape: Any) -> TensorType:
    """The type of a loop variable in all iterations. shape: its extents, None for one that may change; None for any rank.

    Raises ShapeError where the first value does not fit.
    """
    if shape is None:
        return UnrankedType(entering.dtype)
    extents: Shape = tuple(None if n is None else int(n) for n in shape)
    if has_rank(entering) and not fits(extents, entering.shape):
        raise ShapeError(
            f"The shape invariant specified for {name} is not compatible with the initial shape of the loop variable. "
            f"It enters the loop with shape {shape_text(entering.shape)}, but the specified shape invariant is "
            f"{shape_text(extents)}.",
            "give None for each extent that changes",
        )
    return TensorType(extents, entering.dtype)


# the function --------------------------------------------------------------------------------------------------------


@overload
def while_loop(
    cond: Callable[..., TensorLike], body: Callable[..., Any], loop_vars: list[Tensor], max_steps: int | None = None,
    checkpoint_every: int | None = None, shape_invariants: Any = None,
) -> list[Tensor]: ...  # fmt: skip
@overload
def while_loop(
    cond: Callable[..., TensorLike], body: Callable[..., Any], loop_vars: tuple[Tensor, ...], max_steps: int | None = None,
    checkpoint_every: int | None = None, shape_invariants: Any = None,
) -> tuple[Tensor, ...]: ...  # fmt: skip
@overload
def while_loop(
    cond: Callable[..., TensorLike], body: Callable[..., Any], loop_vars: list[Any], max_steps: int | None = None,
    checkpoint_every: int | None = None, shape_invariants: Any = None,
) -> list[Any]: ...  # fmt: skip
@overload
def while_loop(
    cond: Callable[..., TensorLike], body: Callable[..., Any], loop_vars: tuple[Any, ...], max_steps: int | None = None,
    checkpoint_every: int | None = None, shape_invariants: Any = None,
) -> tuple[Any, ...]: ...  # fmt: skip
@overload
def while_loop(
    cond: Callable[..., TensorLike], body: Callable[..., Any], loop_vars: Array | float, max_steps: int | None = None,
    checkpoint_every: int | None = None, shape_invariants: Any = None,
) -> Tensor: ...  # fmt: skip
@public
def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, max_steps: int | None = None,
    checkpoint_every: int | None = None, shape_invariants: Any = None,
) -> Any:  # fmt: skip
    """Repeat `body` while `cond` holds; returns the last loop variables, in the structure of `loop_vars`.

    As in TensorFlow 1: loop_vars is a list or tuple, cond(*loop_vars) one boolean, body(*loop_vars) the next variables
    (a single one may come bare). Each is a tensor or a nested structure of them, and keeps its shapes and dtypes.
    shape_invariants: in the structure of loop_vars, a shape for each tensor, with None for extents that may change. max_steps:
    at most so many iterations. checkpoint_every: the gradient keeps the variables of every so many iterations only. Both
    functions may draw random numbers, as in `scan`.

    In a graph it is one node, and differentiable to any order: its gradient keeps residuals on a stack that grows
    with the number of iterations. Eagerly, a Python loop. A loop of a graph whose shapes change becomes one iteration after the
    other; its condition has to follow from constants, shapes and feeds.

    Examples:
        >>> @sg.compile
        ... def halve(x):
        ...     return sg.while_loop(lambda x, n: x > 1, lambda x, n: (x / 2, n + 1), (x, sg.tensor(0)))
        >>> halve(sg.tensor(40.0))
        (tensor(0.6250), tensor(6))
    """
    check_callable("while_loop: cond", cond)
    check_callable("while_loop: body", body)
    bare = not isinstance(loop_vars, (list, tuple))
    given = (loop_vars,) if bare else loop_vars
    if max_steps is not None and not isinstance(max_steps, Symbol):
        max_steps = iterations(max_steps, "while_loop: max_steps", 0)
    if checkpoint_every is not None:
        checkpoint_every = iterations(checkpoint_every, "while_loop: checkpoint_every", 1)
    level = records.innermost()
    if level is not None and level.loops and shape_invariants is not None:
        raise records.no_loop("while_loop with shape_invariants")
    if level is not None and level.loops:
        result = records.while_loop(
            level, while_loop, cond, body, given, max_steps=max_steps, checkpoint_every=checkpoint_every
        )
        return result[0] if bare else result
    leaves, spec = flatten(given)
    job = _While(cond, body, spec, max_steps)
    if shape_invariants is not None:
        job.shapes = leaf_shapes(spec, (shape_invariants,) if bare else shape_invariants)
    graph = graph_for(leaves)
    if graph is None:
        try:
            with stream(always=True) as numbers:
                result = job.eager(eager_tensors(leaves))
            return result[0] if bare else result
        except InGraph as found:
            numbers.undo()
            graph = found.graph
    carry = [symbol(graph, x) for x in leaves]
    if job.shapes and state.tracer is not None:
        result = unflatten(spec, job.followed(graph, carry))
        return result[0] if bare else result
    with Draws(graph, always=True) as job.draws:
        if job.shapes and not all(kind.static for kind in job.invariants(carry)):
            last = job.growing(graph, carry, job.invariants(carry))
        elif checkpoint_every is None:
            last = job.symbolic(graph, carry)
        else:
            last = job.checkpointed(graph, carry, checkpoint_every)
            last = as_written(last, job.symbolic(graph, carry))
    result = unflatten(spec, last)
    return result[0] if bare else result


class _While:
    """One call of `while_loop`: the functions on flat lists. With `limit` the last carry counts the iterations.

    draws: the random numbers of the functions, which a further carry counts, the last of all.
    """

    def __init__(self, cond: Callable[..., Any], body: Callable[..., Any], spec: Any, limit: Any, draws: Draws | None = None):
        self.cond, self.body, self.spec, self.limit, self.draws = cond, body, spec, limit, draws
        self.names = paths(spec, "loop_vars")
        self.shapes: list[Any] = []
        """Of the leaves, where the user gives them: None for extents that may change."""

    def verdict(self, carry: Sequence[Any]) -> Any:
        return self.cond(*unflatten(self.spec, carry))

    def next(self, carry: Sequence[Any]) -> list[Any]:
        """The leaves that the body returns. Raises ArgumentError when their structure is another."""
        after = self.body(*unflatten(self.spec, carry))
        if len(self.spec.items) == 1 and (not isinstance(after, (list, tuple)) or len(after) != 1):
            after = (after,)
        if isinstance(after, (list, tuple)) and not hasattr(after, "_fields"):
            after = self.spec.like(after)  # a list for a tuple, and the other way round
        leaves, spec = flatten(after)
        check_structure("while_loop", self.spec, spec)
        return leaves

    def eager(self, carry: list[Any]) -> Any:
        steps = 0
        while self.limit is None or steps < self.limit:
            verdict = self.verdict(carry)
            if not _truth(records.some(verdict)):
                break
            after = eager_tensors(self.next(carry), carry)
            if isinstance(verdict, Lifted):  # samples that have ended keep their values
                after = [F.where(verdict, new, old) for new, old in zip(after, carry, strict=True)]
            check_carries("while_loop", self.names, self.invariants(carry) if self.shapes else carry, after)
            carry, steps = after, steps + 1
        return unflatten(self.spec, own(carry))

    def followed(self, graph: Graph, carry: list[Any]) -> list[Any]:
        """The last variables of a loop of a trace, which goes on by the value of the condition."""
        steps = 0
        while (self.limit is None or bool(steps < self.limit)) and bool(self.verdict(carry)):
            after = [symbol(graph, x, like.dtype) for x, like in zip(self.next(carry), carry, strict=True)]
            check_carries("while_loop", self.names, self.invariants(carry), after)
            carry, steps = after, steps + 1
        return carry

    def symbolic(self, graph: Graph, carry: list[Any], *, remat: bool = False, step: Any = None) -> list[Any]:
        """step: how many random numbers were drawn before, if that is a carry of the caller's; it comes back as the last."""
        first = len(carry)
        carry = self._with_steps(graph, carry)
        n = len(carry)
        test, body = self._traced(graph, [x.node.type for x in carry], carry)
        variables = list(body.assigned)
        values = current_values(graph, variables, body.before)
        if step is not None or (self.draws is not None and self.draws.count):
            carry = [*carry, symbol(graph, np.zeros((), np.int64)) if step is None else step]
        else:
            body.drop(n, n)
            del test.params[n]
        numbers = [] if self.draws is None else [self.draws.stream.node]
        captured = list(dict.fromkeys([*test.captured, *body.captured, *numbers]))
        node = apply(
            REGISTRY["loop"], *(Symbol(graph, c) for c in captured), *carry, *values,
            body=body.subgraph(captured), cond=test.subgraph(captured), consts=len(captured),
            carries=len(carry) + len(values), length=None, reverse=False, count=False, remat=remat,
        )  # fmt: skip
        results = outputs(node, len(carry) + len(values))
        if variables:
            results = assign_results(graph, variables, results[len(carry) :], results[: len(carry)], body.before)
        return results[:first] if step is None else [*results[:first], results[-1]]

    def _with_steps(self, graph: Graph, carry: list[Any]) -> list[Any]:
        """The variables; with `limit` also the number of iterations."""
        return carry if self.limit is None else [*carry, symbol(graph, np.zeros((), np.int64))]

    def _traced(self, graph: Graph, kinds: list[TensorType], entering: Sequence[Any]) -> tuple[Traced, Traced]:
        """Condition and body on variables of these types and the number of draws of earlier iterations. entering: the variables
        or types that each iteration has to keep. Raises UnknownExtentError for a variable without a rank."""
        n, kinds = len(kinds), [*kinds, COUNTER]
        if self.draws is not None:
            self.draws.count = 0
        test = Traced(graph, self._test, kinds, lambda p: (p[:n], p[n]), "while_loop")
        try:
            body = Traced(graph, self._step, kinds, lambda p: (p[:n], p[n]), "while_loop", [k.dtype for k in kinds])
            test.carry(list(body.assigned))
        finally:
            test.withdraw()
        body.withdraw()
        check_carries("while_loop", [*self.names, "steps"][:n], entering, body.symbols[:n])
        return test, body

    def invariants(self, carry: Sequence[Any]) -> list[TensorType]:
        """The types of the variables in all iterations, by the shapes that the user gives. Raises ShapeError."""
        return [invariant(name, x, shape) for name, x, shape in zip(self.names, carry, self.shapes, strict=True)]

    def growing(self, graph: Graph, carry: list[Any], kinds: list[TensorType]) -> list[Any]:
        """The last variables of a loop that may change their shapes. kinds: their types in all iterations."""
        first = len(carry)
        carry = self._with_steps(graph, carry)
        n = len(carry)
        every = [*kinds, *(x.node.type for x in carry[first:])]
        test, body = self._traced(graph, every, every)
        if body.assigned:
            raise GraphError(
                "while_loop: a body whose variables change their shapes assigns to a variable of the graph",
                "carry the value from one iteration to the next, and assign the result outside",
            )
        numbers = []
        if self.draws is not None and self.draws.count:
            carry, numbers = [*carry, symbol(graph, np.zeros((), np.int64))], [self.draws.stream.node]
        else:
            body.drop(n, n)
            del test.params[n]
        captured = list(dict.fromkeys([*test.captured, *body.captured, *numbers]))
        operands = [*(Symbol(graph, c) for c in captured), *carry]
        loop = Growing(test.subgraph(captured), body.subgraph(captured), operands, [p.type for p in body.params])
        return loop.results(graph)[:first]

    def _numbers(self, step: Any) -> Any:
        return nullcontext() if self.draws is None else self.draws.inside(step)

    def _test(self, carry: list[Any], step: Any) -> Any:
        given = carry if self.limit is None else carry[:-1]
        with self._numbers(step):
            going = _condition(self.verdict(given))
        return going if self.limit is None else F.logical_and(going, carry[-1] < self.limit)

    def _step(self, carry: list[Any], step: Any) -> list[Any]:
        given = carry if self.limit is None else carry[:-1]
        with self._numbers(step):
            after = self.next(given)
        if self.limit is not None:
            after = [*after, carry[-1] + 1]
        return [*after, step + self.draws.count if self.draws is not None and self.draws.count else step]

    def checkpointed(self, graph: Graph, carry: list[Any], every: int) -> list[Any]:
        """Blocks of at most `every` iterations, whose gradient runs them again from their first variables."""
        total = self.limit

        def block(state: list[Any], done: Any, drawn: Any) -> tuple[list[Any], Any, Any]:
            limit = every if total is None else F.minimum(np.int64(total) - done, np.int64(every))
            inner = _While(self.cond, self.body, self.spec, limit, self.draws)
            *after, drawn = inner.symbolic(graph, state, step=drawn)
            return after, done + every, drawn

        def more(state: list[Any], done: Any, drawn: Any) -> Any:
            before = graph.draws
            going = _condition(self.verdict(state))
            if graph.draws != before:
                raise GraphError(
                    "while_loop: with checkpoint_every the condition can't draw random numbers, for it runs twice at times",
                    "draw them in the body, and carry them to the condition",
                )
            return going if total is None else F.logical_and(going, done < total)

        zero = symbol(graph, np.zeros((), np.int64))
        leaves, spec = flatten([carry, zero, zero])
        return _While(more, block, spec, None).symbolic(graph, leaves, remat=True)[:-2]


def _truth(verdict: Any) -> bool:
    if isinstance(verdict, Symbol) and not state.levels:
        raise InGraph(verdict.graph)
    if isinstance(verdict, Symbol):
        raise records.no_loop("while_loop")
    return bool(check_scalar(verdict, "while_loop: the condition"))


def _condition(verdict: Any) -> Any:
    """One boolean; numbers are true where they are not 0."""
    check_scalar(verdict, "while_loop: the condition")
    if not hasattr(verdict, "dtype"):
        verdict = np.asarray(bool(verdict))
    return verdict if verdict.dtype == bool_ else F.ne(verdict, 0)
