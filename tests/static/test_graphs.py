"""Graphs, the default graph, and names."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from staticgrad import ir
from staticgrad.errors import GraphError
from staticgrad.operators import F
from staticgrad.static import (
    Graph,
    Session,
    Variable,
    constant,
    get_default_graph,
    gradients,
    group,
    identity,
    placeholder,
    reset_default_graph,
)
from staticgrad.static.graphs import using


def outside(action):
    """The result of `action` in a thread, where no graph is entered."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(action).result()


def test_the_innermost_graph_is_the_default_of_its_thread(graph):
    with Graph().as_default() as inner:
        assert get_default_graph() is inner
        assert constant(1.0).graph is inner
        assert outside(get_default_graph) not in (graph, inner)
    assert get_default_graph() is graph


def test_reset_replaces_the_shared_graph_only(graph):
    before = outside(get_default_graph)
    outside(reset_default_graph)
    after = outside(get_default_graph)
    assert after is not before
    assert get_default_graph() is graph
    with pytest.raises(GraphError, match=r"Do not use reset_default_graph\(\) to clear nested graphs"):
        reset_default_graph()


def test_nothing_is_added_to_a_graph_that_no_user_made():
    with using(ir.Graph()), pytest.raises(GraphError, match=r"was not made by sg.Graph\(\)"):
        constant(1.0)


def test_tensors_of_two_graphs_do_not_mix():
    x = placeholder(np.float32, (), name="x")
    with Graph().as_default():
        y = placeholder(np.float32, ())
    with pytest.raises(GraphError, match="tensors of different graphs can't be mixed"):
        x + y


def test_names_are_unique_and_find_their_tensor(graph):
    tensors = [placeholder(np.float32, (), name="x"), placeholder(np.float32, (), name="x"), identity(1.0, name="y")]
    assert [t.name for t in tensors] == ["x", "x_1", "y"]
    for tensor in tensors:
        assert graph.get_tensor(tensor.name).node is tensor.node
        assert graph.get_tensor(f"{tensor.name}:0") is graph.get_tensor(tensor.name)


def test_a_variable_is_found_as_itself(graph):
    v = Variable(1.0, name="v")
    assert graph.get_tensor("v") is v
    assert len(graph.variables) == 1
    assert graph.variables[0] is v


def test_wrong_names(graph):
    placeholder(np.float32, (), name="logits")
    group(name="train")
    with pytest.raises(GraphError) as error:
        graph.get_tensor("logit")
    assert str(error.value).startswith("The name 'logit' refers to a Tensor which does not exist in the graph.")
    assert "did you mean 'logits'?" in str(error.value)
    with pytest.raises(GraphError, match="The name 'train' refers to an Operation, not a Tensor"):
        graph.get_tensor("train")


def test_two_tensors_of_one_meaning_can_be_fed_apart():
    x = placeholder(np.float32, ())
    a, b = F.exp(x), F.exp(x)
    assert a.node is not b.node
    assert Session().run([a, b], {x: 0, a: 5}) == [5, 1]


def test_names_of_tensors_find_them():
    """Named or not, gradients and loops too."""
    x = placeholder(np.float32, (2,), name="x")
    y = (x + 1) * (x + 2)
    last, _ = F.scan(lambda h, _: (h * y, None), x, length=2)
    tensors = [x, x + 3, y, last, *gradients((last * y).sum(), [x, y]), constant(1.0), constant(2.0)]
    assert len({t.name for t in tensors}) == len(tensors)
    feed = {x: np.array([1, 2], np.float32)}
    session = Session()
    for tensor in tensors:
        for name in (tensor.name, f"{tensor.name}:0"):
            np.testing.assert_array_equal(session.run(name, feed), session.run(tensor, feed))
        assert get_default_graph().get_tensor(tensor.name).node is tensor.node
