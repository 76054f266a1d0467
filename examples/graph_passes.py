"""A training step's graph is a networkx graph: passes of your own, one that changes it and one that measures it.

    python examples/graph_passes.py

The first turns divisions by constants into products with their reciprocals. Products take a fraction of the time but round
differently in the last place, so a compiler must not do this by itself. The second asks networkx for the longest chain of
operations, weighted by the elements that each computes. What fusion leaves of it is the critical path of the plan, which
`explain()` finds in the same way: on any number of threads, the step takes at least its time.
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


class LongestChain:
    """A pass that looks: it keeps the longest chain of operations and returns the graph as it is."""

    def __call__(self, graph):
        dag = graph.dag.copy()  # the graph itself is frozen
        nx.set_edge_attributes(dag, {(a, b): b.type.size for a, b in dag.edges}, "elements")
        self.nodes = nx.dag_longest_path(dag, weight="elements")
        return graph


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


def main() -> None:
    longest = LongestChain()
    for passes in ((), (reciprocals, longest)):
        step, batch = training_step(passes)
        losses = [step(*batch).item() for _ in range(20)]
        counts = operations(step.graph())
        print(f"{len(passes)} passes: {counts['div']} divisions, {counts['mul']} products, loss {losses[-1]:.6f}")
    print(*step.plan.passed, sep="\n")

    names = [node.op.name for node in longest.nodes]
    print(f"\nlongest chain: {len(names)} operations, {' -> '.join([*names[:4], '...', *names[-4:]])}")

    step.profile()
    path, dominating, share, _ = step.explain().critical
    print(f"critical path: {len(path)} of {len(step.plan.graph)} instructions, {share:.0%} of the time")
    for number in path:
        row = step.plan.graph.nodes[number]
        around = "" if number in dominating else "  (a shorter chain leads around it)"
        print(f"  {row['microseconds'] or 0:6.2f} us  {row['kind']:8s} {row['name'][:60]}{around}")


if __name__ == "__main__":
    main()
