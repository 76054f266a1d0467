"""A program of the IR on the tape: every operation runs and is recorded as in eager mode, loops and branches by Python.

The backward pass over that tape computes the gradients of loops and branches, so they have the bits of eager mode: cotangents
are added one by one, in the order in which the operations ran. `compiler/passes/strict.py` uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import CompileError, StaticgradError
from ..ir import REGISTRY, Node, Region, Result, Subgraph
from ..operators import F, frontends
from ..ops.adjoint import adjoint_op
from ..ops.control.loop_operands import Loop
from ..ops.custom_gradient import call_op
from .backward_engine import BackwardEngine
from .calls.kernels import OFF
from .execution import run
from .grad_mode import modes
from .tape import Record
from .tensor import wrap

Values = dict[Node, Any]


class Replay:
    """The function of the `leaves`, nodes without inputs, that computes `results`. order: all nodes, operands first."""

    def __init__(self, order: Sequence[Node], leaves: Sequence[Node], results: Sequence[Node]):
        self.leaves, self.results = leaves, results
        self.order = order
        self.sources = {x for node in order if node.op is adjoint_op for x in _parts(node)[2]}
        self.apart = self.sources | {x for node in order if node.op is adjoint_op for x in _parts(node)[3]}
        """Nodes whose tensors are objects of their own, also where they only name the value of another node."""
        if self.sources:
            _check_functions(order)

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        mode = modes.now
        saved = mode.grad, mode.anomaly, mode.arrays, mode.kernels
        mode.grad, mode.anomaly, mode.arrays, mode.kernels = True, False, False, OFF
        try:
            values = self._run(arrays)
        finally:
            mode.grad, mode.anomaly, mode.arrays, mode.kernels = saved
        return tuple(values[node]._data for node in self.results)

    def _run(self, arrays: Sequence[np.ndarray]) -> Values:
        values: Values = {node: wrap(array) for node, array in zip(self.leaves, arrays, strict=True)}
        groups: dict[Any, list[Any]] = {}
        for node in self.order:
            if node.op is not adjoint_op:
                if node not in values:
                    made = values[node] = _value(node, values)
                    if node in self.apart and any(made is values[i] for i in node.inputs):
                        values[node] = _renamed(made)
            else:
                group = _group(node)
                if group not in groups:
                    groups[group] = self._gradients(node, values)
                g = groups[group][node.attrs["index"]]
                values[node] = wrap(np.zeros(node.type.shape, node.type.dtype)) if g is None else g
            if node in self.sources and not values[node]._tracked:
                values[node].requires_grad_(True)
        return values

    def _gradients(self, node: Node, values: Values) -> list[Any]:
        """The cotangents of one group; None where nothing flows in this run."""
        ys, seeds, xs, stops = ([values[n] for n in part] for part in _parts(node))
        roots = [(y, seed) for y, seed in zip(ys, seeds, strict=True) if y._tracked]
        engine = BackwardEngine([y for y, _ in roots], [seed for _, seed in roots], True, xs)
        assert engine.needed is not None
        for stop in stops:
            engine.needed.pop(stop._record, None)
        engine.run(True)
        return [engine.found.get(id(x), (None, None))[1] for x in xs]


def _check_functions(order: Sequence[Node]) -> None:
    """Raises CompileError for a call of an `autograd.Function`, whose own gradient the tape of a replay would not have."""
    for node in order:
        if node.op is call_op:
            raise CompileError(
                f'numerics="strict" can\'t repeat the gradient of {node.attrs["call"]}, an autograd.Function, beside loops or '
                "branches",
                "use fast numerics, or move the function out of the compiled step",
                where=node.where,
            )
        for value in node.attrs.values():
            if isinstance(value, Subgraph):
                _check_functions(value.graph.nodes)


def _group(node: Node) -> Any:
    return node.inputs[1:], node.attrs["ys"], node.attrs["xs"]


def _parts(node: Node) -> list[Sequence[Node]]:
    """The differentiated results, their cotangents, the tensors with respect to which they are differentiated, and the tensors
    held constant."""
    n, m = node.attrs["ys"], node.attrs["xs"]
    rest = node.inputs[1:]
    return [rest[:n], rest[n : 2 * n], rest[2 * n : 2 * n + m], rest[2 * n + m :]]


def _value(node: Node, values: Values) -> Any:
    """One operation. Raises its errors with the user's line."""
    op = node.op
    if op.leaf:
        return wrap(op.eval(**node.attrs))
    operands = [values[i] for i in node.inputs]
    try:
        if isinstance(op.emit, Result):
            return operands[0][node.attrs["index"]]
        if isinstance(op.emit, Region):
            return (_loop if "body" in node.attrs else _branch)(node, operands)
        if op.equals is not None:
            return operands[1]
        if op.name == "identity":  # it only names a value, and has no eager counterpart
            return operands[0]
        return run(op, tuple(operands), dict(node.attrs))
    except StaticgradError as error:
        raise type(error)(error.summary, *error.details, where=node.where) from None


def _renamed(x: Any) -> Any:
    """The same value at another point of the tape."""
    return wrap(x._data, Record(REGISTRY["identity"], (x,), {}, x._data) if x._tracked else None)


def _call(body: Subgraph, operands: Sequence[Any]) -> list[Any]:
    body = body if body.written is None else body.written
    values: Values = dict(zip(body.params, operands, strict=True))
    for node in body.graph.reaching(body.results):
        if node not in values:
            values[node] = _value(node, values)
    return [values[result] for result in body.results]


def _branch(node: Node, operands: Sequence[Any]) -> list[Any]:
    pred, *given = operands
    return [F.clone(x) for x in _call(node.attrs["then" if pred._data else "orelse"], given)]


def _loop(node: Node, operands: Sequence[Any]) -> Sequence[Any]:
    """Run a loop as `scan` and `while_loop` do on eager tensors."""
    loop = Loop(node.attrs, operands)
    n, carries = len(loop.inits), list(loop.inits)
    made: list[list[Any]] = []
    for t in _steps(node, loop):
        if loop.cond is not None and not loop.cond.eval([x._data for x in (*loop.consts, *carries)])[0]:
            break
        found = _call(loop.body, [*loop.consts, *carries, *(x[t] for x in loop.stacks)])
        carries = found[:n]
        made.append(found[n:])
    done = [wrap(np.asarray(len(made)))] if loop.cond is not None else []
    stacks: list[Any]
    if not made:  # stacks of no items
        stacks = [wrap(x) for x in node.op.eval(*(x._data for x in operands), **node.attrs)[n : n + len(loop.items)]]
    else:
        if node.attrs["reverse"]:
            made.reverse()
        stacks = [F.stack(values) for values in zip(*made, strict=True)]
    return [*(F.clone(c) for c in carries), *stacks, *done]


def _steps(node: Node, loop: Loop) -> Any:
    if loop.cond is not None:
        return iter(int, 1)
    length = node.attrs["length"]
    n = int(loop.count._data) if loop.count is not None else loop.stacks[0].shape[0] if length is None else length
    return reversed(range(n)) if node.attrs["reverse"] else range(n)


def replay(order: Sequence[Node], leaves: Sequence[Node], results: Sequence[Node]) -> Callable[..., Any]:
    """See `Replay`."""
    return Replay(order, leaves, results)


frontends.replay = replay
