"""Recurrent networks: a cell over a sequence, unrolled or as one loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from ....operators import F
from ....static.graphs import using
from ..arrays import concat, reverse, shape, stack, unstack
from ..gathering import reverse_sequence
from ..layer import Layer, leaves
from ..tensor import graph_of, handles, operation, symbols, tensor
from ..variable_scopes import variable_scope
from .rnn_cell import mapped


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
def _kept(lengths: Any, number: Any, new: Any, old: Any) -> Any:
    """`new` in rows that last longer than `number` steps, else `old`."""
    new, lengths = tensor(new), tensor(lengths)
    counts = F.lt(F.astype(tensor(number), lengths.dtype), lengths)
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
        parts: list[Any] = unstack(reverse_sequence(stack(items), sequence_length, seq_axis=0, batch_axis=1))
        return parts

    with variable_scope(scope or "bidirectional_rnn"):
        forward, last = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, "fw")
        backward, first = static_rnn(cell_bw, turned(list(inputs)), initial_state_bw, dtype, sequence_length, "bw")
        return [concat([a, b], 1) for a, b in zip(forward, turned(backward), strict=True)], last, first


__all__ = ["bidirectional_dynamic_rnn", "dynamic_rnn", "static_bidirectional_rnn", "static_rnn"]
