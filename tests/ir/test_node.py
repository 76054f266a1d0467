"""Nodes and literals: frozen, slotted, compared by identity; constants keyed by their bits."""

from __future__ import annotations

import copy
import math
import weakref

import numpy as np
import pytest

from staticgrad.base.types import TensorType, float32
from staticgrad.errors import Where
from staticgrad.ir import NO_ATTRS, REGISTRY, Cell, Literal, Node

VECTOR = TensorType((3,), float32)


def leaf(name: str = "x") -> Node:
    return Node(REGISTRY["placeholder"], (), {"type": VECTOR}, VECTOR, name)


def test_a_node_tells_what_it_was_made_with():
    x, where = leaf(), Where("model.py", 3)
    node = Node(REGISTRY["sum"], (x,), {"axis": (0,), "keepdims": False}, TensorType((), float32), "total", where, (x,))
    assert (node.op, node.inputs, node.after, node.name, node.where) == (REGISTRY["sum"], (x,), (x,), "total", where)
    assert dict(node.attrs) == {"axis": (0,), "keepdims": False}
    assert (node.shape, node.dtype) == ((), float32)
    assert node.parents == (x, x)
    assert repr(node) == "<total f32[]>"
    assert repr(Node(REGISTRY["neg"], (x,), {}, VECTOR)) == "<neg f32[3]>"


@pytest.mark.parametrize("field", ["op", "inputs", "attrs", "type", "name", "where", "after", "anything"])
def test_nodes_are_frozen(field):
    x = leaf()
    with pytest.raises(AttributeError, match=f"nodes are frozen: can't set '{field}'"):
        setattr(x, field, None)
    with pytest.raises(AttributeError, match=f"nodes are frozen: can't delete '{field}'"):
        delattr(x, field)
    assert x.name == "x"


def test_attributes_are_frozen_and_the_callers_dict_is_not_kept():
    given = {"axis": (0,)}
    node = Node(REGISTRY["sum"], (leaf(),), given, VECTOR)
    given["axis"] = (1,)
    assert node.attrs["axis"] == (0,)
    with pytest.raises(TypeError):
        node.attrs["axis"] = (1,)  # type: ignore[index]
    assert Node(REGISTRY["neg"], (leaf(),), {}, VECTOR).attrs is NO_ATTRS


def test_nodes_are_slotted_and_weakly_referable():
    x = leaf()
    assert not hasattr(x, "__dict__")
    assert weakref.ref(x)() is x


def test_nodes_are_equal_only_to_themselves():
    a, b = leaf(), leaf()
    assert a != b
    assert a.key == b.key
    assert len({a, b}) == 2


@pytest.mark.parametrize(
    "other",
    [
        lambda x, y: Node(REGISTRY["sub"], (x, y), {}, VECTOR),
        lambda x, y: Node(REGISTRY["add"], (y, x), {}, VECTOR),
        lambda x, y: Node(REGISTRY["add"], (x, y), {"k": 1}, VECTOR),
        lambda x, y: Node(REGISTRY["add"], (x, y), {}, VECTOR.with_shape((None,))),
        lambda x, y: Node(REGISTRY["add"], (x, y), {}, VECTOR, after=(x,)),
    ],
    ids=["op", "order", "attrs", "type", "after"],
)
def test_keys_differ_in_each_part(other):
    x, y = leaf("x"), leaf("y")
    key = Node(REGISTRY["add"], (x, y), {}, VECTOR).key
    assert other(x, y).key != key
    assert Node(REGISTRY["add"], (x, y), {}, VECTOR, "named", Where("a.py", 1)).key == key  # name and line don't count


def test_the_order_of_attributes_does_not_count():
    x = leaf()
    a = Node(REGISTRY["sum"], (x,), {"axis": (0,), "keepdims": True}, VECTOR)
    b = Node(REGISTRY["sum"], (x,), {"keepdims": True, "axis": (0,)}, VECTOR)
    assert a.key == b.key


# literals -----------------------------------------------------------------------------------------------------------

NAN = np.float32(np.nan)
OTHER_NAN = np.array(0x7FC00001, np.uint32).view(np.float32)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (np.float32(1.5), np.float32(1.5), True),
        (np.float32(0.0), np.float32(-0.0), False),
        (NAN, NAN, True),
        (NAN, OTHER_NAN, False),
        (np.float32(1.0), np.float64(1.0), False),
        (np.int32(0), np.float32(0), False),
        (np.zeros(2), np.zeros((2, 1)), False),
        (np.zeros(0, np.float32), np.zeros(0, np.float32), True),
        (np.zeros(0, np.float32), np.zeros((0, 3), np.float32), False),
        (np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2).T, False),
        (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3)), True),
    ],
    ids=["equal", "zero", "nan", "payload", "width", "kind", "shape", "empty", "empty_shape", "values", "order"],
)
def test_literals_are_keyed_by_dtype_shape_and_bits(a, b, same):
    a, b = Literal(np.asarray(a)), Literal(np.asarray(b))
    assert (a == b) is same
    if same:
        assert hash(a) == hash(b)


def test_large_literals_are_keyed_by_identity():
    big = np.zeros(Literal.SMALL + 1, np.uint8)
    assert Literal(big) != Literal(big.copy())
    frozen = big.copy()
    frozen.flags.writeable = False
    assert Literal(frozen) == Literal(frozen)


def test_literals_do_not_change_with_the_array_they_were_made_from():
    array = np.zeros(3, np.float32)
    literal = Literal(array)
    array[0] = 1
    assert literal.array.tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="read-only"):
        literal.array[0] = 1


def test_literals_do_not_change_with_the_base_of_a_read_only_view():
    array = np.zeros(3, np.float32)
    view = array[:]
    view.flags.writeable = False
    literal = Literal(view)
    array[0] = 1
    assert literal.array.tolist() == [0, 0, 0]


def test_literals_are_no_arrays():
    literal = Literal(np.float32(2))
    assert literal != 2.0
    assert repr(literal) == "2.0"
    assert repr(Literal(np.zeros((2, 3), np.float32))) == "<float32 (2, 3)>"
    assert math.copysign(1, float(repr(Literal(np.float32(-0.0))))) == -1


def test_cells_are_compared_by_identity():
    a, b = Cell("w", VECTOR), Cell("w", VECTOR)
    assert a != b
    assert copy.copy(a) != a
    assert len({a, b}) == 2
    assert repr(a) == "w"
    assert repr(Cell("", VECTOR)) == "cell"
