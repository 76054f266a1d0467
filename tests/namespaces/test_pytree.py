"""`torch.utils._pytree`: its table of containers, and specifications that programs make themselves."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from staticgrad.namespaces import pytree

Pair = namedtuple("Pair", "a b")
TREES = {
    "list": ([1, 2], list, None),
    "tuple": ((1, 2), tuple, None),
    "named tuple": (Pair(1, 2), namedtuple, Pair),
    "dict": ({"b": 1, "a": 2}, dict, ["b", "a"]),
    "ordered dict": (OrderedDict(b=1, a=2), OrderedDict, ["b", "a"]),
    "default dict": (defaultdict(list, {"b": 1, "a": 2}), defaultdict, [list, ["b", "a"]]),
    "deque": (deque([1, 2], 5), deque, 5),
}


@pytest.mark.parametrize("name", TREES)
def test_types_contexts_and_specifications(name):
    tree, kind, context = TREES[name]
    leaves, spec = pytree.tree_flatten(tree)
    assert (leaves, spec.type, spec.context, spec.num_leaves) == ([1, 2], kind, context, 2)
    assert pytree._get_node_type(tree) is kind
    made = pytree.TreeSpec(kind, context, [pytree.LeafSpec(), pytree.LeafSpec()])
    assert made == spec
    back = pytree.tree_unflatten([3, 4], made)
    assert type(back) is type(tree)
    assert pytree.tree_leaves(back) == [3, 4]
    items, found = pytree.SUPPORTED_NODES[kind].flatten_fn(tree)
    assert ([*items], found) == ([1, 2], context)
    if name == "deque":
        assert back.maxlen == 5


def test_leaves_are_no_containers():
    assert pytree._get_node_type(3) not in pytree.SUPPORTED_NODES
    assert pytree.tree_flatten(None)[1] == pytree.LeafSpec()
    assert pytree.LeafSpec().type is None


def test_registered_classes_stand_in_the_table(monkeypatch):
    monkeypatch.setattr(pytree, "SUPPORTED_NODES", dict(pytree.SUPPORTED_NODES))

    class Box:
        def __init__(self, x):
            self.x = x

    pytree.register_pytree_node(Box, lambda box: ([box.x], None), lambda items, _: Box(*items))
    assert pytree.tree_map(lambda x: x + 1, {"a": Box(1)})["a"].x == 2
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Box, lambda box: ([box.x], None), lambda items, _: Box(*items))
