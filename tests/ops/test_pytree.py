"""Nested containers, taken apart and put together again under the rules of each of their users."""

from __future__ import annotations

import collections
from collections import OrderedDict, namedtuple
from typing import Any

import pytest

from staticgrad.ops.pytree import LEAF, flatten, loop_operands, ordered, paths, text, unflatten
from staticgrad.static.feeds import _container as fetches
from staticgrad.tracing.outputs import container as results

Pair = namedtuple("Pair", "first second")
TREES: list[Any] = [1, (), [], (1,), [1, 2], {"b": 1, "a": (2, [3])}, Pair(1, {"x": 2}), ({}, [()], {"k": []})]
RULES = {"loops": loop_operands, "reports": ordered, "sessions": fetches, "results": results}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_there_and_back(tree: Any, rule: str):
    leaves, structure = flatten(tree, RULES[rule])
    again = unflatten(structure, leaves)
    assert (again, type(again)) == (tree, type(tree))
    assert flatten(again, RULES[rule])[1] == structure
    assert len(paths(structure, "x")) == len(leaves)


@pytest.mark.parametrize("rule", ["loops", "sessions"])
def test_structures_are_keys(rule: str):
    """Equal for trees of one form, whatever their leaves, and different for others."""
    structures = [flatten(tree, RULES[rule])[1] for tree in TREES]
    assert len(set(structures)) == len(TREES)
    assert flatten([5, 6], RULES[rule])[1] in set(structures)


def test_keys_of_a_dict_are_sorted_in_loops_only():
    tree = {"b": 1, "a": 2}
    assert [flatten(tree, rule)[0] for rule in RULES.values()] == [[2, 1], [1, 2], [1, 2], [1, 2]]


def test_none_has_no_leaves_in_loops_only():
    assert [flatten((None, 1), rule)[0] for rule in RULES.values()] == [[1], [None, 1], [None, 1], [None, 1]]
    assert unflatten(flatten((None, 1))[1], [2]) == (None, 2)


def test_subclasses_of_dict_come_back_as_they_are():
    tree: Any = OrderedDict(z=1, a=2)
    for rule in (ordered, fetches, results):
        leaves, structure = flatten(tree, rule)
        assert type(unflatten(structure, leaves)) is OrderedDict
    counts: Any = collections.defaultdict(list, z=1)
    leaves, structure = flatten(counts, results)
    assert unflatten(structure, leaves).default_factory is list


def test_a_structure_as_text():
    _, structure = flatten((1, {"h": [2, 3]}, None, (4,)))
    assert text(structure) == f"({LEAF}, {{'h': [*, *]}}, None, (*,))"
    assert paths(structure, "carry") == ["carry[0]", "carry[1]['h'][0]", "carry[1]['h'][1]", "carry[3][0]"]
