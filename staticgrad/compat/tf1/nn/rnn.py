"""Recurrent networks: a cell over a sequence, unrolled or as one loop."""

from __future__ import annotations

from typing import Any

from ....operators import F
from ....static.graphs import using
from ..arrays import shape
from ..tensor import graph_of, handles, symbols, tensor
from ..variable_scopes import variable_scope
from .rnn_cell import RNNCell


def static_rnn(
    cell: Any, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
) -> tuple[list[Any], Any]:
    """The outputs for a list of inputs (batch, size), and the last state. Raises ValueError without state and dtype."""
    if sequence_length is not None:
        raise ValueError("static_rnn: sequence_length is not supported; use dynamic_rnn")
    with variable_scope(scope or "rnn"):
        state = _first(cell, initial_state, dtype, inputs[0], 0)
        outputs = []
        for x in inputs:
            out, state = cell(x, state)
            outputs.append(out)
        return outputs, state


def _first(cell: Any, initial_state: Any, dtype: Any, x: Any, axis: int) -> Any:
    """The given state, or zeros for the batch along an axis of x, whose size may be known at run time only."""
    if initial_state is not None:
        return initial_state
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    rows = x.shape[axis].value
    return cell.zero_state(shape(x)[axis] if rows is None else rows, dtype)


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """The outputs (batch, time, units) for inputs (batch, time, size), and the last state; time first with `time_major`.

    cell: any object with `zero_state(batch_size, dtype)` that gives (output, new state) when called with (inputs, state).
    sequence_length: (batch,) how many steps of each row count: beyond, outputs are 0 and the state stays.
    """
    graph = graph_of([inputs])
    with variable_scope(scope or "rnn"), using(graph):
        size = inputs.shape[2].value
        if size is None:
            raise ValueError("Input size (depth of inputs) must be accessible via shape inference, but saw value None.")
        if isinstance(cell, RNNCell):
            cell.build(size, inputs.dtype)
        x = symbols(inputs)
        x = x if time_major else F.permute(x, (1, 0, 2))
        state = symbols(_first(cell, initial_state, dtype, inputs, 1 if time_major else 0))
        lengths = None if sequence_length is None else tensor(sequence_length)

        def step(carry: Any, item: Any) -> Any:
            count, held = carry
            out, new = symbols(cell(handles(graph, item), handles(graph, held)))
            if lengths is not None:
                counts = F.expand_dims(F.lt(F.astype(count, lengths.dtype), lengths), 1)
                new = _select(counts, new, held)
                out = F.where(counts, out, F.zeros_like(out))
            return (F.add(count, 1), new), out

        (_, last), outputs = F.scan(step, (tensor(0), state), x)
        outputs = outputs if time_major else F.permute(outputs, (1, 0, 2))
    return handles(graph, outputs), handles(graph, last)


def _select(mask: Any, new: Any, old: Any) -> Any:
    if isinstance(new, tuple):
        items = [_select(mask, a, b) for a, b in zip(new, old, strict=True)]
        return type(new)(*items) if hasattr(new, "_fields") else tuple(items)
    return F.where(mask, new, old)


def bidirectional_dynamic_rnn(
    cell_fw: RNNCell, cell_bw: RNNCell, inputs: Any, sequence_length: Any = None, initial_state_fw: Any = None,
    initial_state_bw: Any = None, dtype: Any = None, parallel_iterations: Any = None, swap_memory: bool = False,
    time_major: bool = False, scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:  # fmt: skip
    """((outputs forward, backward), (last states)). sequence_length is not supported."""
    from ..arrays import reverse

    if sequence_length is not None:
        raise ValueError("bidirectional_dynamic_rnn: sequence_length is not supported")
    axis = 0 if time_major else 1
    with variable_scope(scope or "bidirectional_rnn"):
        forward, last = dynamic_rnn(
            cell_fw, inputs, initial_state=initial_state_fw, dtype=dtype, time_major=time_major, scope="fw"
        )
        backward, first = dynamic_rnn(
            cell_bw, reverse(inputs, [axis]), initial_state=initial_state_bw, dtype=dtype, time_major=time_major, scope="bw"
        )
        return (forward, reverse(backward, [axis])), (last, first)


__all__ = ["bidirectional_dynamic_rnn", "dynamic_rnn", "static_rnn"]
