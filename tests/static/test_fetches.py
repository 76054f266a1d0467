"""Structures of fetches."""

from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

from staticgrad.errors import GraphError
from staticgrad.static import Graph, Session, Variable, constant, group, placeholder
from staticgrad.static.feeds import flatten, is_flat, rebuilder

Pair = namedtuple("Pair", "first second")


class Record(dict):
    pass


class Triple(list):
    pass


class Attrs:
    """As a class that `attrs` made."""

    __attrs_attrs__ = namedtuple("Attributes", "x y")(namedtuple("A", "name")("x"), namedtuple("A", "name")("y"))

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __eq__(self, other):
        return type(other) is Attrs and (self.x, self.y) == (other.x, other.y)

    __hash__ = None

    def __repr__(self):
        return f"Attrs({self.x!r}, {self.y!r})"


STRUCTURES = [
    1,
    [],
    (),
    [1],
    (1,),
    [1, 2],
    (1, 2),
    Pair(1, 2),
    {"a": 1, "b": 2},
    {},
    [1, (2, [3, ()], {"k": [4]})],
    (1, Pair(2, [3])),
    (1, (2, [3])),
    OrderedDict(z=1, a=(2,)),
    Record(z=1, a=OrderedDict(b=2)),
    defaultdict(list, z=1),
    Attrs(1, (2,)),
    [[]],
]


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_taken_apart_and_put_together(structure):
    leaves = []
    shape = flatten(structure, leaves)
    assert leaves == sorted(leaves)
    result = rebuilder(shape)(list(leaves))
    assert result == structure
    assert type(result) is type(structure)
    if isinstance(structure, dict):
        assert list(result) == list(structure)
        assert getattr(result, "default_factory", None) is getattr(structure, "default_factory", None)


def test_a_kind_of_list_comes_back_as_a_list():
    """As in TensorFlow 1."""
    x = placeholder(np.float32, (), name="kind")
    assert type(Session().run([Triple([x])], {x: 1})[0]) is list


def test_structures_are_told_apart():
    keys = [(flatten(s, []), is_flat(flatten(s, []))) for s in STRUCTURES]
    assert len(set(keys)) == len(keys)
    assert [is_flat(k) for k, _ in keys] == [True] * 8 + [False] * 10


def test_fetched_structures():
    x = placeholder(np.float32, (), name="x")
    y, update = x * 2, group(x)
    sess = Session()
    for _ in range(2):  # first made, then found
        assert sess.run([y, {"a": (x, Pair(y, update))}], {x: 3}) == [6, {"a": (3, Pair(6, None))}]
        assert isinstance(sess.run(Pair(x, y), {x: 3}), Pair)
        assert sess.run((x, Pair(x, y)), {x: 3})[1] == Pair(3, 6)
        assert type(sess.run((x, (x, y)), {x: 3})[1]) is tuple
        assert sess.run((x, y), {x: 3}) == (3, 6)
        assert sess.run([x, y], {x: 3}) == [3, 6]
        assert sess.run({"y": y}, {x: 3}) == {"y": 6}
        found = sess.run(OrderedDict(b=y, a=[x, defaultdict(int, k=y)]), {x: 3})
        assert type(found) is OrderedDict
        assert list(found.items()) == [("b", 6), ("a", [3, {"k": 6}])]
        assert found["a"][1]["nothing"] == 0
        assert sess.run([], {x: 3}) == []
        assert sess.run(["x", "x:0", x.graph.get_tensor("x")], {"x": 3}) == [3, 3, 3]


def test_no_axes_give_numpy_scalars():
    v = Variable(1.5)
    sess = Session()
    sess.run(v.initializer)
    for value in (sess.run(v), sess.run([v])[0], sess.run({"v": (v,)})["v"][0]):
        assert type(value) is np.float32


def test_repeated_fetches_do_not_share_memory():
    c = constant([1.0, 2.0])
    one, other = Session().run([c, c])
    one[:] = 0
    np.testing.assert_array_equal(other, [1, 2])


def test_results_do_not_share_memory_with_the_state():
    v = Variable([1.0, 2.0])
    sess = Session()
    sess.run(v.initializer)
    update = v.assign(v + 1)
    for value in (sess.run(v), sess.run(v.T), sess.run(update)):
        value[:] = 0
    np.testing.assert_array_equal(sess.run(v), [2, 3])


@pytest.mark.parametrize(
    ("fetch", "text"),
    [
        (
            3,
            r"Fetch argument 3 cannot be interpreted as a Tensor. \(Can not convert a int into a Tensor or Operatio",
        ),
        (None, "Fetch argument None cannot be interpreted as a Tensor"),
        ([None], "Fetch argument None cannot be interpreted as a Tensor"),
        ("nothing", "Fetch argument 'nothing' cannot be interpreted as a Tensor. .*does not exist in the graph"),
        ({1, 2}, "Can not convert a set into"),
        (np.zeros(2), "Can not convert a ndarray into"),
    ],
)
def test_unknown_fetches(fetch, text):
    with pytest.raises(GraphError, match=text):
        Session().run(fetch)


def test_fetches_of_another_graph():
    with Graph().as_default() as other:
        x = constant(1.0, name="there")
    with pytest.raises(GraphError) as error:
        Session().run([x])
    text = str(error.value)
    assert "cannot be interpreted as a Tensor. (Tensor 'there' is not an element of this graph.)" in text
    assert Session(other).run(x) == 1
