"""A training step's graph is a networkx graph: a user-defined pass, and the critical path.

    python examples/graph_passes.py

The pass turns divisions by constants into products with their reciprocals. Products take a fraction of the time but round
differently in the last place, so a compiler must not do this by itself. The critical path is the longest chain of instructions
of the plan in which each needs the result of the one before: on any number of threads, the step takes at least its time.
"""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim


@sg.graph_pass(stage="specialize")
def reciprocals(graph):
    def rule(node, *operands):
        if node.op.name == "div" and node.inputs[1].op.name == "constant":
            divisor = node.inputs[1].attrs["value"].array
            return operands[0] * (1 / divisor)
        return None

    return sg.rewrite(graph, rule)


def training_step(passes=()):
    """A step of a classifier that scales pixels and logits by constants, and the data of one batch."""
    sg.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 10))
    opt = optim.Adam(model.parameters(), lr=1e-3)

    @sg.compile(passes=passes)
    def step(x, y):
        loss = F.cross_entropy(model((x - 8.0) / 3.0) / 1.5, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    rng = np.random.default_rng(0)
    return step, (rng.integers(0, 17, (64, 64)).astype(np.float32), rng.integers(0, 10, 64))


def operations(graph) -> Counter:
    """How often each operation occurs in a graph; `graph.dag` is a networkx DiGraph of its nodes."""
    return Counter(node.op.name for node in graph.dag)


def critical_path(plan) -> tuple[list[int], float, float]:
    """The instructions of the longest chain, its microseconds, and those of all instructions."""
    plan.profile()
    rows = plan.graph
    times = {row: us or 0.0 for row, us in rows.nodes(data="microseconds")}
    nx.set_edge_attributes(rows, {(a, b): times[b] for a, b in rows.edges}, "weight")
    path = nx.dag_longest_path(rows)
    return path, sum(times[row] for row in path), sum(times.values())


def main() -> None:
    for passes in ((), (reciprocals,)):
        step, batch = training_step(passes)
        losses = [step(*batch).item() for _ in range(20)]
        counts = operations(step.graph())
        print(f"{len(passes)} passes: {counts['div']} divisions, {counts['mul']} products, loss {losses[-1]:.6f}")
    print(*step.plan.passed, sep="\n")

    path, chain, total = critical_path(step.plan)
    print(f"\ncritical path: {len(path)} of {len(step.plan.graph)} instructions, {chain:.1f} of {total:.1f} us")
    for row in path:
        data = step.plan.graph.nodes[row]
        print(f"  {data['microseconds'] or 0:6.2f} us  {data['kind']:8s} {data['name'][:70]}")


if __name__ == "__main__":
    main()
