"""The backward pass over the tape. It names no op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import AnomalyError, DTypeError, GradientError, ShapeError
from ..operators import F, frontends, state
from ..types import shape_text
from .modes import modes
from .tape import FREED, MODIFIED, Ghost, Record, changed, leaf_of, source
from .tensor import Tensor, new


def backward(
    tensors: Any,
    gradients: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """`Tensor.backward` for one or several roots at once. Raises GradientError; no `grad` is changed when it does."""
    roots, seeds = _roots(tensors, gradients)
    targets = None if inputs is None else _as_list(inputs)
    if targets is not None and not targets:
        raise GradientError("'inputs' argument to backward() cannot be empty.")
    for target in targets or ():
        if not isinstance(target, Tensor) or not target._tracked:
            raise GradientError("One of the differentiated Tensors does not require grad")
    taken = {id(seed._data) for seed in seeds}
    found = _walk(roots, seeds, retain_graph, create_graph, targets, taken)
    for tensor, g in found.values():
        _accumulate(tensor, g, create_graph, taken)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Any, ...]:
    """The gradients of sum(grad_outputs * outputs) with respect to `inputs`, without touching any `.grad`.

    Returns a tuple, one tensor per input; None for an unused one with `allow_unused`. Raises GradientError.
    """
    if frontends.tracing and state.tracer is not None:
        return state.tracer.grad(outputs, inputs, grad_outputs, allow_unused)
    roots, seeds = _roots(outputs, grad_outputs)
    targets = _as_list(inputs)
    for target in targets:
        if not isinstance(target, Tensor) or not target._tracked:
            raise GradientError("One of the differentiated Tensors does not require grad")
    found = _walk(roots, seeds, retain_graph, create_graph, targets, set())
    result = []
    for i, target in enumerate(targets):
        if id(target) not in found:
            if not allow_unused:
                raise GradientError(
                    "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True "
                    "if this is the desired behavior.",
                    f"it is input {i}, of shape {shape_text(target.shape)}",
                )
            result.append(None)
        else:
            result.append(found[id(target)][1])
    return tuple(result)


def _as_list(tensors: Any) -> list[Any]:
    return list(tensors) if isinstance(tensors, Sequence) else [tensors]


def _roots(tensors: Any, gradients: Any) -> tuple[list[Tensor], list[Tensor]]:
    roots = _as_list(tensors)
    given = [None] * len(roots) if gradients is None else _as_list(gradients)
    if len(given) != len(roots):
        raise GradientError(f"got {len(roots)} tensors and {len(given)} gradients")
    seeds = []
    for i, (root, seed) in enumerate(zip(roots, given, strict=True)):
        if not isinstance(root, Tensor):
            raise GradientError(f"backward needs a Tensor, got {type(root).__name__}")
        if not root._tracked:
            raise GradientError(
                f"element {i} of tensors does not require grad and does not have a grad_fn",
                "make a leaf with requires_grad=True, and compute outside sg.no_grad()",
            )
        if seed is None:
            if root._data.size != 1:
                raise GradientError(
                    f"grad can be implicitly created only for scalar outputs, this one has shape {shape_text(root.shape)}",
                    "pass gradient= of that shape, or reduce with .sum() or .mean()",
                )
            seeds.append(Tensor(np.ones_like(root._data)))
        else:
            seed = seed if isinstance(seed, Tensor) else Tensor(np.asarray(seed, root.dtype))
            if seed.shape != root.shape:
                raise ShapeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {shape_text(seed.shape)} and output[{i}] has a "
                    f"shape of {shape_text(root.shape)}"
                )
            if seed.dtype.kind != "f":
                raise DTypeError(f"gradients are floating, got {seed.dtype}")
            seeds.append(seed if seed.dtype == root.dtype else F.astype(seed, root.dtype))
    return roots, seeds


def _order(roots: list[Record]) -> list[Record]:
    """The records behind `roots`, users before makers."""
    order: list[Record] = []
    seen: set[int] = set()
    stack: list[tuple[Record, bool]] = [(record, False) for record in roots]
    while stack:
        record, done = stack.pop()
        if done:
            order.append(record)
            continue
        if id(record) in seen:
            continue
        seen.add(id(record))
        stack.append((record, True))
        for tensor in record.inputs:
            maker = source(tensor, record.clock)
            if maker is not None and id(maker) not in seen:
                stack.append((maker, False))
    order.reverse()
    return order


def _walk(
    roots: list[Tensor],
    seeds: list[Tensor],
    retain: bool | None,
    create: bool,
    targets: list[Tensor] | None,
    taken: set[int],
) -> dict[int, tuple[Tensor, Tensor]]:
    """Cotangents of the leaves (or of `targets`): {id(tensor): (tensor, cotangent)}.

    `taken` collects the ids of arrays that somebody else may hold (hooks have seen them).
    """
    retain = create if retain is None else retain
    cotangents: dict[int, Tensor] = {}  # by id of record
    leaves: dict[int, tuple[Tensor, Tensor]] = {}
    wanted = {id(t): t for t in targets} if targets is not None else None
    wanted_records = {id(t._record): t for t in targets or () if t._record is not None}
    saved, modes.grad = modes.grad, create
    try:
        with np.errstate(all="ignore"):
            for root, seed in zip(roots, seeds, strict=True):
                if root._record is None:
                    _add_leaf(leaves, root, seed)
                else:
                    key = id(root._record)
                    cotangents[key] = cotangents[key] + seed if key in cotangents else seed
            order = _order([root._record for root in roots if root._record is not None])
            needed = _needed(order, wanted, wanted_records) if wanted is not None else None
            for record in order:
                g = cotangents.pop(id(record), None)
                if g is None:
                    continue
                g = _run_hooks(record.hooks, g, taken)
                target = wanted_records.get(id(record))
                if target is not None:
                    leaves[id(target)] = (target, g)
                if needed is None or id(record) in needed:
                    _step(record, g, cotangents, leaves, needed, wanted)
            for key, (leaf, g) in leaves.items():
                if leaf._record is None and leaf._hooks:
                    leaves[key] = (leaf, _run_hooks(leaf._hooks, g, taken))
    finally:
        modes.grad = saved
    if not retain:
        for record in order:
            record.free()
    return leaves if wanted is None else {k: v for k, v in leaves.items() if k in wanted}


def _needed(order: list[Record], wanted: dict[int, Tensor], wanted_records: dict[int, Tensor]) -> set[int]:
    """The records on a path from the roots to a wanted tensor."""
    needed: set[int] = set()
    for record in reversed(order):
        for tensor in record.inputs:
            maker = source(tensor, record.clock)
            if maker is None:
                leaf = leaf_of(tensor)
                if leaf is not None and id(leaf) in wanted:
                    needed.add(id(record))
            elif id(maker) in needed or id(maker) in wanted_records:
                needed.add(id(record))
    return needed


def _step(
    record: Record,
    g: Tensor,
    cotangents: dict[int, Tensor],
    leaves: dict[int, tuple[Tensor, Tensor]],
    needed: set[int] | None,
    wanted: dict[int, Tensor] | None,
) -> None:
    """One record's cotangent, passed on to its operands."""
    out: Any = None
    operands: list[Any] = []
    for position, tensor in enumerate(record.inputs):
        maker = source(tensor, record.clock)
        leaf = leaf_of(tensor) if maker is None else None
        if maker is None and (leaf is None or (wanted is not None and id(leaf) not in wanted)):
            continue
        rule = record.op.vjp_for(position)
        if rule is None:
            continue
        if out is None:
            out, operands = _saved_out(record), [_saved(t, record) for t in record.inputs]
        cotangent = rule(g, record, out, *operands)
        if modes.anomaly and np.isnan(cotangent._data).any():
            raise AnomalyError(
                f"Function '{record.name()}' returned nan values in its {position}th output.",
                f"forward: {record.where}" if record.where else "forward ran outside detect_anomaly: line unknown",
            )
        if maker is None:
            _add_leaf(leaves, leaf, cotangent)
        else:
            key = id(maker)
            cotangents[key] = cotangents[key] + cotangent if key in cotangents else cotangent


def _saved(tensor: Any, record: Record) -> Any:
    """An operand for a vjp: the tensor itself, or a ghost when its value is gone."""
    if isinstance(tensor, Ghost):
        return tensor
    if changed(tensor) > record.clock:
        return Ghost(
            tensor,
            f"{MODIFIED}: [{tensor.dtype} {shape_text(tensor.shape)}], which {record.name()} needs",
            record.clock,
            "change a clone() instead, or do it after backward()",
        )
    return tensor


def _saved_out(record: Record) -> Any:
    if record.freed:
        return _ghost_of(record, FREED)
    if isinstance(record.out, np.ndarray):
        out = new(Tensor)
        out._data, out._record, out._tracked = record.out, record, True
        return out
    return _ghost_of(record, f"{MODIFIED}: the output of {record.name()}")


def _ghost_of(record: Record, reason: str) -> Ghost:
    ghost = object.__new__(Ghost)
    ghost.shape, ghost.dtype, ghost.reason, ghost.detail = record.out.shape, record.out.dtype, reason, ""
    ghost.record, ghost.leaf = None, None
    return ghost


def _add_leaf(leaves: dict[int, tuple[Tensor, Tensor]], leaf: Tensor, g: Tensor) -> None:
    known = leaves.get(id(leaf))
    leaves[id(leaf)] = (leaf, g if known is None else known[1] + g)


def _run_hooks(hooks: dict[int, Any] | None, g: Tensor, taken: set[int]) -> Tensor:
    for hook in tuple(hooks.values()) if hooks else ():
        taken.add(id(g._data))
        replaced = hook(g)
        if replaced is not None:
            if not isinstance(replaced, Tensor) or replaced.shape != g.shape:
                raise GradientError(
                    f"a hook must return None or a Tensor of the gradient's shape {shape_text(g.shape)}, got {replaced!r}"
                )
            g = replaced
    return g


def _accumulate(leaf: Tensor, g: Tensor, create: bool, taken: set[int]) -> None:
    """Add to `grad`. The first gradient is taken over when nobody else holds its memory, else copied."""
    if leaf._grad is not None:
        if create or leaf._grad._tracked or not leaf._grad._data.flags.writeable:
            leaf._grad = leaf._grad + g
        else:
            leaf._grad._data += g._data
    elif create:
        leaf._grad = g
    else:
        data = g._data
        owned = data.base is None and data.flags.writeable and id(data) not in taken
        taken.add(id(data))
        leaf._grad = new(Tensor)
        leaf._grad._data = data if owned else data.copy()
