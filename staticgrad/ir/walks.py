"""Questions about graphs, each answered by networkx's own algorithm where it has one.

`Graph.dag` is a networkx DiGraph, and so is the graph of a plan's instructions. Functions that are written out here say
why. Each is compared with networkx's answer by a test. A compilation imports networkx only where it needs one of the others.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..base.interpreter import module

if TYPE_CHECKING:
    import networkx as nx

V = TypeVar("V", bound=Hashable)


# reachability --------------------------------------------------------------------------------------------------------


def reached(roots: Iterable[V], neighbors: Callable[[V], Iterable[V]]) -> dict[V, None]:
    """The roots and all nodes that can be reached from them: depth first, the first neighbor first.

    `nx.ancestors` takes one root and no filter on edges; passes start from many roots and stop at feeds, parameters or
    values that are cheap, which `neighbors` says by returning nothing for them.
    """
    found: dict[V, None] = {}
    stack = list(roots)[::-1]
    while stack:
        node = stack.pop()
        if node not in found:
            found[node] = None
            stack += tuple(neighbors(node))[::-1]
    return found


def postorder(roots: Iterable[V], operands: Callable[[V], Iterable[V]], known: Collection[V] = ()) -> Iterator[V]:
    """Every ancestor of the roots, each after its operands, without recursion; values in `known`, and what only they
    need, are left out.

    `known` may grow while this runs. `nx.dfs_postorder_nodes` needs the whole graph built first; tapes and bodies are
    discovered during the traversal.
    """
    done: set[V] = set()
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, complete = stack.pop()
        if node in done or node in known:
            continue
        if complete:
            done.add(node)
            yield node
        else:
            stack.append((node, True))
            stack.extend((operand, False) for operand in reversed(list(operands(node))))


# orders ---------------------------------------------------------------------------------------------------------------


def ordered(after: Mapping[V, Collection[V]], key: Callable[[V], Any]) -> list[V]:
    """The keys of `after`, each after the nodes that it maps to; of those that are ready, the one of the lowest key is first.

    `nx.lexicographical_topological_sort` gives the same order. This one is written out because every compilation needs it and
    importing networkx takes 0.1 s, a third of the time in which a process with a full kernel cache has its first result.
    Raises ValueError for a cycle.
    """
    waiting = {node: len(befores) for node, befores in after.items()}
    followers: dict[V, list[V]] = {node: [] for node in after}
    for node, befores in after.items():
        for before in befores:
            followers[before].append(node)
    ready = [(key(node), i, node) for i, node in enumerate(after) if not waiting[node]]
    heapq.heapify(ready)
    serial, order = len(after), []
    while ready:
        node = heapq.heappop(ready)[2]
        order.append(node)
        for follower in followers[node]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, (key(follower), serial, follower))
                serial += 1
    if len(order) < len(after):
        cycle = " -> ".join(repr(edge[0]) for edge in module("networkx").find_cycle(digraph(after)))
        raise ValueError(f"these wait for each other: {cycle}")
    return order


def digraph(after: Mapping[V, Iterable[V]]) -> nx.DiGraph[V]:
    """The DiGraph in which an edge leads to each key from each of its values."""
    nx = module("networkx")
    dag = nx.DiGraph()
    dag.add_nodes_from(after)
    dag.add_edges_from((before, node) for node, befores in after.items() for before in befores)
    return dag


# blocks and paths -----------------------------------------------------------------------------------------------------


def quotient(dag: nx.DiGraph[V], blocks_of: Mapping[V, Sequence[int]]) -> nx.DiGraph[int]:
    """The graph of blocks, by the numbers in whose order they run: an edge where a node of one block is an operand of a node of
    another. Nodes that are in no block are left out.

    A node may be in several blocks, in order: each computes it for itself or adds to what the one before left. Other blocks
    read it from the last that ran before them. `nx.quotient_graph` compares every pair of blocks, which must not overlap; this
    visits each edge once.
    """
    nx = module("networkx")
    result = nx.DiGraph()
    result.add_nodes_from(dict.fromkeys(block for n in dag for block in blocks_of.get(n, ())))
    for a, b in dag.edges:
        makers = blocks_of.get(a, ())
        for reader in blocks_of.get(b, ()):
            if makers and reader not in makers and makers[0] < reader:
                result.add_edge(max(maker for maker in makers if maker < reader), reader)
    return result


def critical_path(dag: nx.DiGraph[V], weight: Callable[[V], float]) -> list[V]:
    """The path of the largest total weight of its nodes: no schedule can be shorter, on any number of threads."""
    nx = module("networkx")
    weighted = nx.DiGraph()
    weighted.add_nodes_from(dag)
    weighted.add_edges_from((a, b, {"weight": weight(b)}) for a, b in dag.edges)
    source = object()
    weighted.add_edges_from((source, n, {"weight": weight(n)}) for n in dag if not dag.pred[n])
    return nx.dag_longest_path(weighted, weight="weight")[1:]


def dominators(dag: nx.DiGraph[V], root: V) -> dict[V, V]:
    """For each node that the root reaches, the last node through which all paths to it lead; the root has none."""
    nx = module("networkx")
    found = dict(nx.immediate_dominators(dag, root))
    found.pop(root, None)  # networkx before 3.6 lists it as its own
    return {node: before for node, before in found.items() if before is not None}


def minimum_cut(dag: nx.DiGraph[V], source: V, target: V, capacity: str = "capacity") -> tuple[float, tuple[set[V], set[V]]]:
    """The least capacity whose removal parts target from source, and the nodes on the two sides. An edge without the attribute
    can't be cut."""
    nx = module("networkx")
    value, (near, far) = nx.minimum_cut(dag, source, target, capacity=capacity)
    return value, (set(near), set(far))
