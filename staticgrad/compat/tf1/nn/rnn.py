"""Recurrent networks: a cell over a sequence, unrolled or as one loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from .. import arrays, math
from ..arrays import concat, reverse, shape, stack, unstack
from ..control import while_loop
from ..core import F, using
from ..dtypes import TensorShape
from ..gathering import reverse_sequence
from ..graph import get_default_graph
from ..layer import Layer, leaves
from ..tensor import Operand, graph_of, handles, mapped, operation, symbols, tensor
from ..tensor_array import TensorArray
from ..variable_scopes import variable_scope


@contextmanager
def made_before(cell: Any, scope: Any, first: Any, state: Any) -> Iterator[None]:
    """The scope of a loop over a cell whose variables exist: a first step outside of the loop makes them."""
    if not (isinstance(cell, Layer) and cell.built):
        cell(first, state)
    with variable_scope(scope, reuse=True, auxiliary_name_scope=False):
        yield


def static_rnn(
    cell: Any, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
) -> tuple[list[Any], Any]:
    """The outputs for a list of inputs (batch, size), and the last state. sequence_length: (batch,) how many steps of each row
    count: beyond, outputs are 0 and the state stays. Raises ValueError without state and dtype."""
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "rnn"):
        state = _first(cell, initial_state, dtype, leaves(inputs[0])[0], 0)
        outputs = []
        for number, x in enumerate(inputs):
            out, new = cell(x, state)
            if sequence_length is not None:
                keep = partial(_kept, sequence_length, number)
                out = mapped(lambda a, keep=keep: keep(a, a * 0), out)
                new = mapped(keep, new, state)
            state = new
            outputs.append(out)
        return outputs, state


@operation("Select", sizes=frozenset())
def _kept(lengths: Operand, number: Operand, new: Operand, old: Any) -> Any:
    """`new` in rows that last longer than `number` steps, else `old`."""
    counts = F.lt(F.astype(number, lengths.dtype), lengths)
    return F.where(F.expand_dims(counts, tuple(range(1, new.ndim))), new, tensor(old, new.dtype))


def _first(cell: Any, initial_state: Any, dtype: Any, x: Any, axis: int) -> Any:
    """The given state, or zeros for the batch along an axis of x, whose size may be known at run time only."""
    if initial_state is not None:
        return initial_state
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    rows = x.shape[axis].value
    return cell.zero_state(shape(x)[axis] if rows is None else rows, dtype)


def dynamic_rnn(
    cell: Any, inputs: Any, sequence_length: Any = None, initial_state: Any = None, dtype: Any = None,
    parallel_iterations: Any = None, swap_memory: bool = False, time_major: bool = False, scope: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The outputs (batch, time, units) for inputs (batch, time, size), and the last state; time first with `time_major`.

    inputs may be a nest. cell: any object with `zero_state(batch_size, dtype)` that gives (output, new state) when called with
    (inputs, state). sequence_length: (batch,) how many steps of each row count: beyond, outputs are 0 and the state stays.
    """
    graph = graph_of([inputs])
    with variable_scope(scope or "rnn") as entered, using(graph):
        first = leaves(inputs)[0]
        if first.shape.ndims is not None and first.shape.ndims > 2 and first.shape[2].value is None:
            raise ValueError("Input size (depth of inputs) must be accessible via shape inference, but saw value None.")
        x = mapped(lambda v: v if time_major else _swapped(v), symbols(inputs))
        start = _first(cell, initial_state, dtype, first, 1 if time_major else 0)
        lengths = None if sequence_length is None else tensor(symbols(sequence_length))

        def step(carry: Any, item: Any) -> Any:
            count, held = carry
            out, new = symbols(cell(handles(graph, item), handles(graph, held)))
            if lengths is not None:
                counts = F.lt(F.astype(count, lengths.dtype), lengths)
                new = mapped(lambda a, b: _where(counts, a, b), new, held)
                out = mapped(lambda a: _where(counts, a, F.zeros_like(a)), out)
            return (F.add(count, 1), new), out

        with made_before(cell, entered, handles(graph, mapped(lambda v: v[0], x)), start):
            (_, last), outputs = F.scan(step, (tensor(0), symbols(start)), x)
        outputs = mapped(lambda v: v if time_major else _swapped(v), outputs)
    return handles(graph, outputs), handles(graph, last)


def _swapped(x: Any) -> Any:
    return F.permute(x, (1, 0, *range(2, x.ndim)))


def _where(rows: Any, new: Any, old: Any) -> Any:
    return F.where(F.expand_dims(rows, tuple(range(1, new.ndim))), new, old)


def bidirectional_dynamic_rnn(
    cell_fw: Any, cell_bw: Any, inputs: Any, sequence_length: Any = None, initial_state_fw: Any = None,
    initial_state_bw: Any = None, dtype: Any = None, parallel_iterations: Any = None, swap_memory: bool = False,
    time_major: bool = False, scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:  # fmt: skip
    """((outputs forward, backward), (last states)); the backward cell begins at each row's last step."""
    along, batch = (0, 1) if time_major else (1, 0)

    def turned(x: Any) -> Any:
        if sequence_length is None:
            return reverse(x, [along])
        return reverse_sequence(x, sequence_length, seq_axis=along, batch_axis=batch)

    with variable_scope(scope or "bidirectional_rnn"):
        forward, last = dynamic_rnn(
            cell_fw, inputs, sequence_length, initial_state_fw, dtype, time_major=time_major, scope="fw"
        )
        backward, first = dynamic_rnn(
            cell_bw, mapped(turned, inputs), sequence_length, initial_state_bw, dtype, time_major=time_major, scope="bw"
        )
        return (forward, mapped(turned, backward)), (last, first)


def static_bidirectional_rnn(
    cell_fw: Any, cell_bw: Any, inputs: Any, initial_state_fw: Any = None, initial_state_bw: Any = None, dtype: Any = None,
    sequence_length: Any = None, scope: Any = None,
) -> tuple[list[Any], Any, Any]:  # fmt: skip
    """(outputs of both cells joined, last state forward, last state backward) for a list of inputs (batch, size)."""

    def turned(items: list[Any]) -> list[Any]:
        if sequence_length is None:
            return items[::-1]
        return unstack(reverse_sequence(stack(items), sequence_length, seq_axis=0, batch_axis=1))

    with variable_scope(scope or "bidirectional_rnn"):
        forward, last = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, "fw")
        backward, first = static_rnn(cell_bw, turned(list(inputs)), initial_state_bw, dtype, sequence_length, "bw")
        return [concat([a, b], 1) for a, b in zip(forward, turned(backward), strict=True)], last, first


# a loop whose inputs, states and end a function decides ---------------------------------------------------------------


Loop = Callable[[Any, Any, Any, Any], Any]


def raw_rnn(
    cell: Any, loop_fn: Loop, parallel_iterations: Any = None, swap_memory: bool = False, scope: Any = None
) -> tuple[Any, Any, Any]:
    """(arrays of what was emitted, last state, last loop state): the cell runs until all rows are finished.

    loop_fn(time, cell_output, cell_state, loop_state) gives (finished (batch,), next input, next cell state, emitted output,
    next loop state). At first its arguments are 0 and None, and it gives the first state, and zeros in the shape of one
    row's emitted output, or None for the cell's outputs. Rows that are finished emit zeros and keep their state. The loop runs
    once more, before, to count its steps.
    """
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    graph = get_default_graph()
    with variable_scope(scope or "rnn") as entered, using(graph):
        zero = arrays.constant(np.int32(0))
        finished, first, state, emitted, loop_state = loop_fn(zero, None, None, None)
        stateless = loop_state is None
        loop_state = zero if stateless else loop_state
        source = leaves(first)[0]
        rows = source.shape[0].value
        rows = arrays.shape(source)[0] if rows is None else rows
        outputs = (
            _zeros_of(cell.output_size, rows, source.dtype) if emitted is None else mapped(lambda x: _row(x, rows), emitted)
        )
        finished = arrays.convert_to_tensor(finished)
        done = math.logical_or(finished, arrays.fill([rows], False))  # type: ignore[attr-defined]  # one for each row

        def emitting(zeros: Any) -> TensorArray:
            return TensorArray(zeros.dtype, 0, dynamic_size=True, element_shape=zeros.shape, name="rnn_output")

        def step(time: Any, done: Any, x: Any, made: Any, held: Any, carried: Any) -> Any:
            out, new = cell(x, held)
            after = loop_fn(time + 1, out, new, None if stateless else carried)
            ended, following, new, emit, carried = after
            emit = mapped(lambda z, e: _kept_where(done, z, e), outputs, out if emit is None else emit)
            new = mapped(lambda old, n: _kept_where(done, old, n), held, new)
            made = mapped(lambda array, value: array.write(time, value), made, emit)
            ended = math.logical_or(done, ended)  # type: ignore[attr-defined]
            return time + 1, ended, following, made, new, zero if stateless else carried

        with made_before(cell, entered, first, state):
            _, _, _, made, last, carried = while_loop(
                lambda time, done, *rest: math.logical_not(math.reduce_all(done)), step,  # type: ignore[attr-defined]
                [zero, done, first, mapped(emitting, outputs), state, loop_state],
            )  # fmt: skip
    return made, last, None if stateless else carried


def _row(x: Any, rows: Any) -> Any:
    """Zeros for all rows in the shape of one's output."""
    x = arrays.convert_to_tensor(x)
    return arrays.zeros([rows, *x.shape.as_list()], x.dtype)


def _zeros_of(sizes: Any, rows: Any, dtype: Any) -> Any:
    if isinstance(sizes, (list, tuple)):
        return type(sizes)(_zeros_of(size, rows, dtype) for size in sizes)
    return arrays.zeros([rows, *TensorShape(sizes).as_list()], dtype)


def _kept_where(done: Any, old: Any, new: Any) -> Any:
    """`old` in the rows that were finished before; a state without rows is new."""
    if new is old or not new.shape.ndims:
        return new
    return arrays.where(done, old, new)
