"""What a run really computes: cut at feeds, reads resolved, assignments listed, draws numbered."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgrad.compiler.passes.specialize import FunctionalGraph, functionalize
from staticgrad.ir import REGISTRY, Graph, Literal, Node
from staticgrad.ir.graph import interpret
from staticgrad.operators import F, Symbol, append, state
from staticgrad.ops.random import DrawPosition, rng_op_type, uniform_op
from tests.compiler.helpers import Bench

F32 = np.dtype(np.float32)


def ops(graph: Graph) -> list[str]:
    return [n.op.name for n in graph.nodes]


def read(variable: Symbol, *after: Symbol) -> Symbol:
    """The variable's value after some assigns."""
    node = variable.graph.add(REGISTRY["read"], (variable.node,), {}, variable.node.type, after=tuple(a.node for a in after))
    return Symbol(variable.graph, node)


def ready(b: Bench, *fetches: Symbol, feeds: tuple[Symbol, ...] = (), effects: tuple[Symbol, ...] = ()) -> FunctionalGraph:
    return functionalize(b.graph, [f.node for f in fetches], [f.node for f in feeds], [e.node for e in effects])


def values(b: Bench, p: FunctionalGraph) -> list[np.ndarray]:
    leaves = {n: b.store[n.attrs["cell"]] for n in p.graph.nodes if n.op.leaf == "variable"}
    leaves |= dict(zip(p.feeds, b.arrays, strict=False))
    found = interpret(p.graph, p.results, leaves)
    return [found[r] for r in p.results]


# feeds ------------------------------------------------------------------------------------------------------------


def test_nothing_behind_a_feed_is_kept():
    b = Bench()
    x = b.feed(3)
    hidden = F.exp(x)
    p = ready(b, hidden * 2, feeds=(hidden,))
    assert ops(p.graph) == ["placeholder", "constant", "mul"]
    assert p.needs == []
    assert p.feeds == [p.graph.nodes[0]]


def test_a_fetched_feed_is_its_own_placeholder():
    b = Bench()
    x = b.feed(3)
    p = ready(b, x, x, feeds=(x,))
    assert p.fetches == [p.feeds[0]] * 2


def test_a_constant_and_a_variable_can_be_fed():
    b = Bench()
    w = b.variable(3)
    p = ready(b, w + 1, feeds=(w,))
    assert ops(p.graph) == ["placeholder", "constant", "add"]


def test_equal_nodes_that_are_fed_apart_stay_apart():
    b = Bench()
    x = b.feed(3)
    first, second = F.exp(x), F.exp(x)
    p = ready(b, first - second, feeds=(first, second))
    assert len(set(p.feeds)) == 2


def test_unfed_placeholders_are_named():
    b = Bench()
    x, y = b.feed(3), b.feed(3)
    p = ready(b, x + y, feeds=(x,))
    assert [n.name for n in p.needs] == ["x1"]


def test_a_feed_that_nobody_reads_keeps_its_place():
    b = Bench()
    x, y = b.feed(3), b.feed(3)
    p = ready(b, y * 2, feeds=(x, y))
    assert [n.name for n in p.feeds] == ["x0", "x1"]


# assigns and reads ------------------------------------------------------------------------------------------------


def test_reads_see_the_start_of_the_run_unless_ordered():
    b = Bench()
    w = b.variable(value=np.float32([1, 2]))
    update = b.assign(w, w * 10)
    p = ready(b, read(w), read(w, update), effects=(update,))
    before, after, assigned = values(b, p)
    assert before.tolist() == [1, 2]
    assert after.tolist() == assigned.tolist() == [10, 20]
    assert "read" not in ops(p.graph)
    assert "assign" not in ops(p.graph)


def test_the_order_of_assigns_is_that_of_control_dependencies():
    b = Bench()
    w = b.variable(value=np.float32([1]))
    first = b.assign(w, w + 1)
    second = b.assign(w, read(w, first) * 10)
    p = ready(b, read(w, second), read(w, first), effects=(second,))
    assert [v.tolist() for v in values(b, p)] == [[20], [2], [20]]
    assert len(p.assigns) == 1, "one value is left for one cell"


def test_a_read_sees_assigns_through_other_nodes():
    """A control edge to a node orders after everything behind it."""
    b = Bench()
    w = b.variable(value=np.float32([1]))
    update = b.assign(w, w + 1)
    done = append(b.graph, REGISTRY["group"], (), {})
    node = Node(done.node.op, (), {}, done.node.type, after=(update.node,))
    group = Symbol(b.graph, b.graph.append(node))
    p = ready(b, read(w, group))
    assert values(b, p)[0].tolist() == [2]


def test_an_assign_of_another_variable_is_not_seen():
    b = Bench()
    v, w = b.variable(value=np.float32([1]), name="v"), b.variable(value=np.float32([2]), name="w")
    update = b.assign(v, v + 1)
    p = ready(b, read(w, update))
    assert [x.tolist() for x in values(b, p)] == [[2], [2]]


def test_fetching_an_assign_gives_the_new_value():
    b = Bench()
    w = b.variable(value=np.float32([1]))
    update = b.assign(w, w + 1)
    p = ready(b, update)
    assert [v.tolist() for v in values(b, p)] == [[2], [2]]


def test_a_variable_that_is_only_assigned_is_not_read():
    b = Bench()
    w = b.variable(3)
    update = b.assign(w, b.feed(3) * 2)
    p = ready(b, effects=(update,), feeds=(b.feeds[0],))
    assert "variable" not in ops(p.graph)
    assert [cell.name for cell, _ in p.assigns] == ["w"]


def test_control_edges_bring_effects_with_them():
    b = Bench()
    w = b.variable(value=np.float32([1]))
    update = b.assign(w, w + 1)
    state.control.append((update.node,))
    try:
        constant = append(b.graph, REGISTRY["constant"], (), {"value": Literal(np.float32(5.0))})
    finally:
        state.control.pop()
    p = ready(b, constant)
    assert len(p.assigns) == 1
    assert all(not n.after for n in p.graph.nodes), "control edges have done their work"


def test_swapping_two_variables():
    b = Bench()
    v, w = b.variable(value=np.float32([1]), name="v"), b.variable(value=np.float32([2]), name="w")
    b.assign(v, w)
    b.assign(w, v)
    p = functionalize(b.graph, [], [], b.effects)
    assert [x.tolist() for x in values(b, p)] == [[2], [1]]


# draws ------------------------------------------------------------------------------------------------------------


def uniform(rng: Any, x: Any, index: int) -> Any:
    return DrawPosition(rng, None, index).draw(uniform_op, x, shape=None, dtype=F32)


def test_draws_are_numbered_in_the_order_of_the_program():
    """Only those that run count, so a fetch of part of a graph draws what an eager program of that part draws."""
    b = Bench()
    x = b.feed(3)
    rng = append(b.graph, REGISTRY["generator"], (), {"type": rng_op_type})
    first, second, third = (uniform(rng, x, i) for i in range(3))
    p = ready(b, first + third, feeds=(x,))
    assert p.draws == 2
    assert [n.attrs["index"] for n in p.graph.nodes if n.op is uniform_op] == [0, 1]
    assert ready(b, first + second + third, feeds=(x,)).draws == 3


def test_equal_draws_are_different_numbers():
    b = Bench()
    x = b.feed(3)
    rng = append(b.graph, REGISTRY["generator"], (), {"type": rng_op_type})
    first, second = uniform(rng, x, 0), uniform(rng, x, 0)
    p = ready(b, first, second, feeds=(x,))
    assert p.fetches[0] is not p.fetches[1]


def test_a_given_number_of_draws_keeps_their_numbers():
    """A traced step draws what its eager text draws, used or not."""
    b = Bench()
    x = b.feed(3)
    rng = append(b.graph, REGISTRY["generator"], (), {"type": rng_op_type})
    first, _, third = (uniform(rng, x, i) for i in range(3))
    p = functionalize(b.graph, [(first + third).node], [x.node], draws=3)
    assert p.draws == 3
    assert [n.attrs["index"] for n in p.graph.nodes if n.op is uniform_op] == [0, 2]
