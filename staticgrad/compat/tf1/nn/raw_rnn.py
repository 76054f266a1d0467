"""`raw_rnn`: a cell in a loop whose inputs, states and end a function decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....static.graphs import using
from .. import arrays, math
from ..control import while_loop
from ..graph import get_default_graph
from ..layer import leaves
from ..shapes import TensorShape
from ..tensor_array import TensorArray
from ..variable_scopes import variable_scope
from .rnn import made_before
from .rnn_cell import mapped

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
            emit = mapped(lambda z, e: _kept(done, z, e), outputs, out if emit is None else emit)
            new = mapped(lambda old, n: _kept(done, old, n), held, new)
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


def _kept(done: Any, old: Any, new: Any) -> Any:
    """`old` in the rows that were finished before; a state without rows is new."""
    if new is old or not new.shape.ndims:
        return new
    return arrays.where(done, old, new)


__all__ = ["raw_rnn"]
