"""`backward` and `grad` of eager tensors: the arguments, and what becomes of the gradients."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Literal, overload

from ..autodiff.requests import check_returns_nothing, check_used, request
from ..base.interpreter import module
from ..errors import ArgumentError, GradientError
from ..ops.operators import F, Lifted, TensorLike, Tensors, frontends, listed, misuse, state
from ..ops.operators import Tensor as AnyTensor
from .backward_engine import BackwardEngine, at_edge, edges_of, through
from .backward_hooks import Held
from .backward_plans import Found, planned
from .grad_mode import modes, set_grad_enabled
from .gradient_sources import EAGER, ByPlan, Source, accumulate, seed_of_loss
from .tape import ALONE, GradientEdge, of_leaf
from .tensor import Tensor


def backward(
    tensors: Tensors, gradients: TensorLike | Iterable[TensorLike | None] | None = None, retain_graph: bool | None = None,
    create_graph: bool = False, inputs: Tensors | None = None,
) -> None:  # fmt: skip
    """`Tensor.backward` for one or several roots at once. Raises GradientError; no `grad` is changed when it does."""
    if create_graph:
        misuse.warn_of_cycle()
    if frontends.tracing:
        if state.tracer is not None:
            state.tracer.backward(tensors, gradients, retain_graph, create_graph, inputs)
            return
        if state.deferral is not None:
            others = gradients, retain_graph, create_graph, inputs

            def work() -> BackwardEngine:
                return _by_engine(
                    *request(EAGER, "backward", tensors, gradients, inputs, retain_graph, create_graph), create_graph
                )

            state.deferral.backward(tensors, others, work)
            return
    _backward(tensors, gradients, retain_graph, create_graph, inputs)


def _backward(tensors: Any, gradients: Any, retain_graph: bool | None, create_graph: bool, inputs: Any) -> None:
    if gradients is None and inputs is None and (seed := seed_of_loss(tensors)) is not None:
        roots, seeds, targets, retain = [tensors], [seed], None, create_graph if retain_graph is None else retain_graph
    else:
        roots, seeds, targets, retain = request(EAGER, "backward", tensors, gradients, inputs, retain_graph, create_graph)
    found = None if create_graph else planned(roots, seeds, targets)
    if not found or found.rest:
        _by_engine(roots, seeds, targets, retain, create_graph, found)
        return
    if not retain:
        found.free()
    source = ByPlan(found)
    for leaf, g in (*found.leaves, *found.rows):
        _accumulate(leaf, g, source)


def _by_engine(
    roots: list[Tensor], seeds: list[Any], targets: list[Tensor] | None, retain: bool, create: bool,
    found: Found | Literal[False] | None = None,
) -> BackwardEngine:  # fmt: skip
    """found: by `planned`."""
    engine = BackwardEngine(roots, seeds, create, targets, found is False)
    engine.accumulates = True
    engine.run(retain, found or None)
    retained = [(tensor, g) for tensor, g in engine.retained if id(tensor) not in engine.found]
    for tensor, g in (*engine.found.values(), *retained):
        _accumulate(tensor, g, engine)
    engine.call_back()
    return engine


def _accumulate(leaf: Tensor, g: Any, source: Source) -> None:
    if leaf._tracked:
        accumulate(leaf, g, source)
        if leaf._accumulated is not None:
            with set_grad_enabled(source.recorded):
                for hook in of_leaf(leaf._accumulated):
                    check_returns_nothing(hook(leaf))


@overload
def grad(
    outputs: Tensors, inputs: Tensors, grad_outputs: TensorLike | Iterable[TensorLike | None] | None = None,
    retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True,
    allow_unused: Literal[False] | None = None, is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[AnyTensor, ...]: ...  # fmt: skip
@overload
def grad(
    outputs: Tensors, inputs: Tensors, grad_outputs: TensorLike | Iterable[TensorLike | None] | None = None,
    retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
    is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[AnyTensor | None, ...]: ...  # fmt: skip
def grad(
    outputs: Tensors, inputs: Tensors, grad_outputs: TensorLike | Iterable[TensorLike | None] | None = None,
    retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
    is_grads_batched: bool = False, materialize_grads: bool = False,
) -> Any:  # fmt: skip
    """The gradients of sum(grad_outputs * outputs) with respect to `inputs`, without touching any `.grad`.

    outputs, inputs: a tensor, or several in any iterable; inputs may be a dict of tensors, which gives a dict. Returns a tuple,
    one tensor per input; None for an unused one with `allow_unused`, zeros with `materialize_grads`. is_grads_batched: each of
    `grad_outputs` has one more axis, the first, and so have the gradients: one backward pass for all positions. Raises
    GradientError, and ArgumentError for materialize_grads with allow_unused=False.

    Examples:
        >>> x = sg.tensor(2.0, requires_grad=True)
        >>> (slope,) = sg.grad(x**3, [x], create_graph=True)
        >>> (curvature,) = sg.grad(slope, [x])
        >>> slope.item(), curvature.item()
        (12.0, 12.0)
    """
    if materialize_grads and allow_unused is False:
        raise ArgumentError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts "
            "of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if isinstance(inputs, dict):
        options = (retain_graph, create_graph, only_inputs, allow_unused, is_grads_batched, materialize_grads)
        return dict(zip(inputs, grad(outputs, list(inputs.values()), grad_outputs, *options), strict=True))
    roots, unused = at_edges(outputs), bool(allow_unused or materialize_grads)
    targets: Any = None if inputs is None else at_edges(inputs)
    if is_grads_batched:
        found = _batched(roots, targets, grad_outputs, retain_graph, create_graph, unused)
    else:
        found = _grad(roots, targets, grad_outputs, retain_graph, create_graph, unused)
    if materialize_grads:
        return tuple(F.zeros_like(x) if g is None else g for g, x in zip(found, targets, strict=True))
    return found


def at_edges(tensors: Any) -> list[Any]:
    """Several tensors or one, with tensors in the places of gradient edges."""
    given = [tensors] if tensors.__class__ is GradientEdge else listed(tensors)
    for i, x in enumerate(given):
        if x.__class__ is GradientEdge:
            given[i] = at_edge(x)
    return given


def _batched(roots: list[Any], targets: Any, seeds: Any, retain: bool | None, create: bool, unused: bool) -> tuple[Any, ...]:
    """The gradients for each position of the first axis of `seeds`, stacked."""
    given = listed(seeds)
    count = next((len(seed) for seed in given if seed is not None), None)
    if count is None:
        raise GradientError("is_grads_batched: grad_outputs need an axis more than the outputs", "pass one for each output")
    if not (frontends.tracing and state.tracer is not None):
        vmap = module("staticgrad.autodiff.batching").Vmap
        with vmap(count, next(seed for seed in given if seed is not None), "error") as level:
            tensors = [seed if seed is None or isinstance(seed, Tensor) else Tensor(seed) for seed in given]
            mapped = [None if seed is None else level.lift(seed) for seed in tensors]
            found = _grad(roots, targets, mapped, retain, create, unused)
            return tuple([None if g is None else level.of(g) for g in found])
    rows = []
    for i in range(count):
        row = [None if seed is None else seed[i] for seed in given]
        keep = True if i < count - 1 else retain
        rows.append(_grad(roots, targets, row, keep, create, unused))
    return tuple(None if parts[0] is None else F.stack(parts, 0) for parts in zip(*rows, strict=True))


def _grad(outputs: Any, inputs: Any, seeds: Any, retain_graph: bool | None, create: bool, unused: bool) -> tuple[Any, ...]:
    if frontends.tracing and state.tracer is not None:
        return state.tracer.grad(outputs, inputs, seeds, retain_graph, create, unused)
    targets_given: Any = [None] if inputs is None else inputs
    roots, cotangents, targets, retain = request(EAGER, "grad", outputs, seeds, targets_given, retain_graph, create)
    assert targets is not None
    lifted = seeds is not None and any(isinstance(g, Lifted) for g in cotangents)  # which rules take as tensors, not as arrays
    result: list[Any] = []
    plan = None if create or lifted else planned(roots, cotangents, targets)
    if plan and not plan.rest:
        if not retain:
            plan.free()
        by_id = {id(leaf): g for leaf, g in plan.leaves}
        held = Held(cotangents)
        for target in targets:
            array = by_id.get(id(target))
            result.append(None if array is None else held.tensor(array))
        check_used(targets, result, unused)
        return tuple(result)
    engine = BackwardEngine(roots, cotangents, create or lifted, targets, plan is False)
    engine.run(retain, plan or None)
    for tensor, g in engine.retained:
        _accumulate(tensor, g, engine)
    engine.call_back()
    for target in targets:
        found = engine.found.get(id(target))
        g = None if found is None else engine.result(found[1])
        result.append(g.detach() if g is not None and lifted and not create else g)
    check_used(targets, result, unused)
    return tuple(result)


def _derivatives_at(node: Any, cotangents: tuple[Any, ...]) -> Any:
    """See `Record.__call__`."""
    records = node.siblings()
    if len(cotangents) != len(records):
        raise TypeError(f"expected {len(records)} arguments, got {len(cotangents)} instead")
    record, named, create = records[0], node.record.named, modes.now.grad
    if record is not None and len(records) == 1 and (named is None or named.start == ALONE):
        engine = BackwardEngine([], [], True, None)
        together = engine.together(record, cotangents[0], [position for position, _, _ in edges_of(record)])
        result = [together[i] for i in record.places()]
    else:
        given = [None if g is None else g if isinstance(g, Tensor) else Tensor(g) for g in cotangents]
        places, engine = through(node, given, True, create)
        result = [None if x is None or id(x) not in engine.found else engine.found[id(x)][1] for x in places]
    return result[0] if len(result) == 1 else tuple(result)


frontends.derivatives_at = _derivatives_at
frontends.backward = backward
