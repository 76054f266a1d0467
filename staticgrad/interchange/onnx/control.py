"""ONNX's control flow, as `cond`, `while_loop` and `scan`, and its sequences and optional values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...eager import Tensor
from ...errors import ArgumentError, TraceError
from ...ops.operators import F, Symbol
from .records import READERS, NodeContext, Reader, T, reader


@reader("If", raw=True)
def _if(condition: T, *, then_branch: Any, else_branch: Any, call: NodeContext) -> T:
    yes, no = call.body(then_branch), call.body(else_branch)
    if not isinstance(condition, Symbol):
        return tuple((yes if bool(np.asarray(_detached(condition)).reshape(())) else no)())
    return tuple(F.cond(F.reshape(condition, ()), lambda: _tensors(yes()), lambda: _tensors(no())))


def _detached(x: T) -> T:
    return x.detach() if hasattr(x, "detach") else x


def _tensors(results: Sequence[T]) -> list[T]:
    return [x if isinstance(x, (Tensor, Symbol)) else Tensor(x) for x in results]


def _scalar(x: T) -> Any:
    return np.asarray(_detached(x)).reshape(()).item()


def may_end(block: Any) -> bool:
    """Whether the condition that a loop's body returns can differ from the one that it gets, which is true."""
    name, given = block.outputs[0], block.inputs[1]
    by_output = {output: step for step in block.steps for output in step.outputs}
    while name != given:
        if name in block.constants:
            return not bool(block.constants[name])
        step = by_output.get(name)
        if step is None or step.op not in ("Identity", "Constant", "Cast"):
            return True
        if step.op == "Constant":
            return not bool(np.all(step.attrs.get("value", False)))
        name = step.inputs[0]
    return False


@reader("Loop", raw=True)
def _loop(most: T, condition: T, *start: T, body: Any, call: NodeContext) -> T:
    step = call.body(body)
    n = len(start)
    if not (call.symbolic or any(isinstance(x, Symbol) for x in (most, condition, *start))):
        return _repeated(step, most, condition, start, n)
    count = None if most is None or isinstance(most, Symbol) else int(_scalar(most))
    if not may_end(body) and count is not None and (condition is None or not isinstance(condition, Symbol)):
        count = count if condition is None or _scalar(condition) else 0
        always = np.asarray(True)

        def item(carry: list[T], i: T) -> tuple[list[T], list[T]]:
            _, *results = step(F.astype(i, np.int64), always, *carry)
            return results[:n], results[n:]

        last, stacks = F.scan(item, _tensors(start), np.arange(count))
        return (*last, *stacks)
    first = np.asarray(True) if condition is None else condition
    limit = np.asarray(np.iinfo(np.int64).max) if most is None else F.reshape(most, ())
    if call.outputs > n:
        raise TraceError(
            "ONNX Loop: the number of iterations that it collects results of is known only in the run",
            "call the model eagerly, or export it with a constant trip count and condition",
        )

    def again(i: T, on: T, *carry: T) -> T:
        return F.logical_and(F.lt(i, limit), on)

    def follow(i: T, on: T, *carry: T) -> tuple[T, ...]:
        going, *results = step(i, on, *carry)
        return (i + 1, F.reshape(going, ()), *results)

    return tuple(F.while_loop(again, follow, (np.asarray(0), F.reshape(first, ()), *start)))[2:]


def _repeated(step: Any, most: T, condition: T, start: Sequence[T], n: int) -> tuple[T, ...]:
    """Python's loop: shapes may change from one iteration to the next, and sequences may be carried."""
    limit = None if most is None else _scalar(most)
    going = True if condition is None else _scalar(condition)
    carry, stacks, i = list(start), [], 0
    while going and (limit is None or i < limit):
        on, *results = step(np.asarray(i), np.asarray(going), *carry)
        going, carry, i = _scalar(on), results[:n], i + 1
        stacks.append(results[n:])
    return (*carry, *(F.stack(list(column)) for column in zip(*stacks, strict=True)))


@reader("Scan", raw=True)
def _scan(
    *inputs: T, body: Any, num_scan_inputs: int, scan_input_axes: Any = None, scan_input_directions: Any = None,
    scan_output_axes: Any = None, scan_output_directions: Any = None, directions: Any = None, call: NodeContext,
) -> T:  # fmt: skip
    step = call.body(body)
    if call.opset < 9:  # a batch of scans, and the lengths
        lengths, *inputs = inputs  # type: ignore[assignment]
        if lengths is not None:
            raise ArgumentError("ONNX Scan of opset 8: lengths of sequences are not supported")
        samples = [
            _scanned(step, [x[b] for x in inputs], num_scan_inputs, None, directions, None, None, call.outputs)
            for b in range(inputs[0].shape[0])
        ]
        return tuple(F.stack(list(column)) for column in zip(*samples, strict=True))
    return _scanned(
        step,
        inputs,
        num_scan_inputs,
        scan_input_axes,
        scan_input_directions,
        scan_output_axes,
        scan_output_directions,
        call.outputs,
    )


def _scanned(
    step: Any, inputs: Sequence[T], count: int, axes: Any, directions: Any, out_axes: Any, out_directions: Any, outputs: int
) -> tuple[T, ...]:
    n = len(inputs) - count
    items = []
    for i, x in enumerate(inputs[n:]):
        x = F.moveaxis(x, axes[i], 0) if axes and axes[i] else x
        items.append(F.flip(x, (0,)) if directions and directions[i] else x)

    def body(carry: list[T], item: list[T]) -> tuple[list[T], list[T]]:
        results = _tensors(step(*carry, *item))
        return results[:n], results[n:]

    last, stacks = F.scan(body, _tensors(inputs[:n]), items)
    collected = []
    for i, y in enumerate(stacks):
        y = F.flip(y, (0,)) if out_directions and out_directions[i] else y
        collected.append(F.moveaxis(y, 0, out_axes[i]) if out_axes and out_axes[i] else y)
    return (*last, *collected)


# sequences are lists, and an optional value is itself or None


@reader("SequenceConstruct", raw=True)
def _construct(*xs: T) -> T:
    return list(xs)


@reader("SequenceEmpty")
def _empty(*, dtype: int = 1) -> T:
    return []


def _position(at: T, end: int) -> int:
    return end if at is None else int(_scalar(at))


@reader("SequenceInsert", raw=True)
def _insert(xs: T, x: T, at: T = None) -> T:
    made = list(xs)
    made.insert(_position(at, len(xs)), x)
    return made


@reader("SequenceErase", raw=True)
def _erase(xs: T, at: T = None) -> T:
    made = list(xs)
    del made[_position(at, -1)]
    return made


@reader("SequenceAt", raw=True)
def _at(xs: T, at: T) -> T:
    return xs[int(_scalar(at))]


@reader("SequenceLength", raw=True)
def _length(xs: T) -> T:
    return np.asarray(len(xs), np.int64)


@reader("SequenceMap", raw=True)
def _map(xs: T, *more: T, body: Any, call: NodeContext) -> T:
    step = call.body(body)
    rows = [step(x, *(y[i] if isinstance(y, list) else y for y in more)) for i, x in enumerate(xs)]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(call.outputs)]
    return columns[0] if len(columns) == 1 else tuple(columns)


@reader("ConcatFromSequence", raw=True)
def _concat(xs: T, *, axis: int, new_axis: int = 0) -> T:
    return F.stack(xs, axis) if new_axis else F.concatenate(xs, axis)


@reader("SplitToSequence", values=(1,))
def _split(x: T, split: T = None, *, axis: int = 0, keepdims: int = 1) -> T:
    extent = x.shape[axis]
    if split is None:
        parts = list(F.split(x, 1, axis))
        return parts if keepdims else [F.squeeze(part, axis) for part in parts]
    if np.ndim(split) == 0:
        size = int(split)
        return list(F.split(x, [min(size, extent - i) for i in range(0, extent, size)], axis))
    return list(F.split(x, [int(size) for size in split], axis))


@reader("Optional", raw=True)
def _optional(x: T = None, *, type: Any = None) -> T:
    return x


@reader("OptionalHasElement", raw=True)
def _has(x: T = None) -> T:
    return np.asarray(x is not None)


READERS["", "OptionalGetElement"] = Reader("OptionalGetElement", lambda x: x, raw=True)
