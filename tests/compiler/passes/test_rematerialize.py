"""Rematerialization: what is kept is a minimum cut, and the graph still computes the same."""

from __future__ import annotations

import numpy as np

import staticgrad as sg
from staticgrad.compiler.passes.rematerialize import ALL, CHEAP, Joint, Policy, nbytes
from staticgrad.ir.graph import interpret


def chain(depth):
    """Layers sin(x w), and a part that reads their values in the opposite order: the graph, result, end of the layers."""
    graph = sg.Graph()
    with graph.as_default():
        x, w = sg.placeholder(sg.float64, [8, 4], name="x"), sg.placeholder(sg.float64, [4, 4], name="w")
        values = [x]
        for _ in range(depth):
            values.append(sg.sin(values[-1] @ w))
        end = len(graph.nodes)
        total = values[-1]
        for value in reversed(values[1:-1]):
            total = total @ w * value
    return graph, total.node, end


def joint(depth):
    graph, result, end = chain(depth)
    step = {node: i for i, node in enumerate(graph.nodes)}
    return Joint(graph, [result], step, end - 1, strict=False)


def kept(j, again):
    return sum(nbytes(n) for n in j.nodes[: j.end + 1] if n not in again and not n.op.leaf and (
        n in j.read_later or any(n in user.inputs for user in again)))  # fmt: skip


def feeds():
    rng = np.random.default_rng(0)
    return {"x": rng.standard_normal((8, 4)), "w": rng.standard_normal((4, 4))}


def values_of(graph, results):
    arrays = feeds()
    env = {node: arrays[node.name] for node in graph.nodes if node.op.leaf == "placeholder"}
    found = interpret(graph, results, env)
    return [found[r] for r in results]


def test_the_program_is_the_same():
    j = joint(6)
    (expected,) = values_of(j.graph, j.results)
    for policy in (Policy(ALL), Policy(ALL, 1.0, 3), Policy(ALL, 0.5, 2)):
        made = j.rewritten(policy)
        assert made.again
        np.testing.assert_array_equal(values_of(made.graph, made.results)[0], expected)
        assert set(made.waits) <= set(made.graph.nodes)


def test_checkpoints_are_kept_and_all_else_runs_again():
    j = joint(12)
    assert kept(j, j.again(Policy(ALL, 1.0, 1))) <= nbytes(j.results[0])
    three = j.again(Policy(ALL, 1.0, 3))
    assert 2 <= kept(j, three) // nbytes(j.results[0]) <= 4
    assert not any("matmul" in node.op.name for node in j.again(Policy(CHEAP)))
