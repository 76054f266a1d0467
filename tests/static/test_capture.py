"""Eager tensors used in a static graph."""

import gc

import numpy as np
import pytest

from staticgrad import eager, ir
from staticgrad.errors import GraphError, ShapeError, UninitializedError
from staticgrad.operators import F
from staticgrad.static import (
    Graph,
    Session,
    assign_sub,
    capture,
    constant,
    control_dependencies,
    global_variables_initializer,
    gradients,
)
from staticgrad.static import placeholder as feed


def parameter(values, name=""):
    tensor = eager.tensor(values, requires_grad=True)
    tensor.name = name
    return tensor


def test_a_tensor_that_requires_grad_becomes_one_variable_per_graph(graph):
    w, b = parameter([1.0, 2.0], "w"), parameter([3.0])
    x = feed(np.float32, (2,))
    y = F.sum(x * w + w) + b
    assert [(v.name, v.trainable, v.shape) for v in graph.variables] == [("w", True, (2,)), ("captured", True, (1,))]
    sess = Session()
    with pytest.raises(UninitializedError, match="Attempting to use uninitialized value"):
        sess.run(y, {x: [1, 1]})
    sess.run(global_variables_initializer())
    assert sess.run(y, {x: [1, 1]}) == 9
    with Graph().as_default() as other:
        capture(other, w)
        assert [v.name for v in other.variables] == ["w"]
        assert other.variables[0].node is not graph.variables[0].node


def test_it_starts_from_the_data_at_initialization_and_goes_its_own_way():
    w = parameter([1.0, 2.0])
    y = w * constant(2.0)
    first, second = Session(), Session()
    first.run(global_variables_initializer())
    with eager.no_grad():
        w += 10
    second.run(global_variables_initializer())
    np.testing.assert_array_equal(first.run(y), [2, 4])
    np.testing.assert_array_equal(second.run(y), [22, 24])
    second.run(assign_sub(w, [1, 1]))
    np.testing.assert_array_equal(second.run(y), [20, 22])
    np.testing.assert_array_equal(w.detach().numpy(), [11, 12])


def test_it_is_fetched_fed_and_loaded_by_the_tensor():
    w = parameter([1.0, 2.0])
    y = w * constant(2.0)
    sess = Session()
    np.testing.assert_array_equal(sess.run(y, {w: [5, 6]}), [10, 12])
    sess.load(w, [7, 8])
    np.testing.assert_array_equal(sess.run(w), [7, 8])
    with pytest.raises(GraphError, match=r"Tensor of shape \(1,\) is not an element of this graph"):
        sess.run(parameter([1.0]))


def test_data_of_another_shape_at_initialization():
    w = parameter([1.0, 2.0], "w")
    y = w * constant(2.0)
    w.data = np.zeros(3, np.float32)
    sess = Session()
    with pytest.raises(ShapeError, match=r"the eager tensor behind 'w/initial' was \(2,\) .* is \(3,\) float32"):
        sess.run(global_variables_initializer())
    with pytest.raises(UninitializedError):
        sess.run(y)


def test_gradients_agree_with_eager_mode():
    rng = np.random.default_rng(0)
    w, b = parameter(rng.normal(size=(4, 3))), parameter(rng.normal(size=3))
    data = rng.normal(size=(5, 4))

    def loss(x):
        return F.sum(F.tanh(x @ w + b) ** 2)

    loss(eager.tensor(data)).backward()
    x = feed(np.float64, (None, 4))
    y = loss(x)
    sess = Session()
    sess.run(global_variables_initializer())
    found = sess.run(gradients(y, [w, b]), {x: data})
    for grad, tensor in zip(found, (w, b), strict=True):
        np.testing.assert_allclose(grad, tensor.grad.numpy(), rtol=1e-12)


def test_other_tensors_are_constants_of_their_time(graph):
    c = eager.tensor([1.0, 2.0])
    x = feed(np.float32, (2,))
    first, second = x * c, x + c
    assert first.node.inputs[1] is second.node.inputs[1]
    c += 10
    third = x * c
    assert graph.variables == []
    values = Session().run([first, second, third], {x: [1, 1]})
    np.testing.assert_array_equal(values, [[1, 2], [2, 3], [11, 12]])


def test_snapshots_do_not_keep_tensors_alive():
    x = feed(np.float32, ())
    total = x
    for i in range(20):  # ids of dead tensors come back
        total = total + eager.tensor(float(i))
        gc.collect()
    assert Session().run(total, {x: 0}) == sum(range(20))


def test_a_result_that_requires_grad_enters_with_its_tape(graph):
    w, b = parameter([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "w"), parameter([1.0, 1.0])
    turned, scaled = w.T, b * eager.tensor([10.0, 20.0])
    x = feed(np.float32, (None, 3))
    y = x @ turned + scaled * scaled + turned[0]
    assert y.node.inputs[1].inputs[0] is y.node.inputs[0].inputs[0].inputs[1]  # one node for `turned`
    assert [v.name for v in graph.variables] == ["w", "captured"]
    dw, db, dturned = gradients(F.sum(y), [w, b, turned])
    sess = Session()
    sess.run(global_variables_initializer())
    values = sess.run([y, dw, db, dturned], {x: [[1, 1, 1]]})
    for value, expected in zip(
        values, [[[107, 419]], [[2, 1, 1], [2, 1, 1]], [200, 800], [[2, 2], [1, 1], [1, 1]]], strict=True
    ):
        np.testing.assert_array_equal(value, expected)
    sess.load(w, np.zeros((2, 3)))  # it is computed from the session's value
    np.testing.assert_array_equal(sess.run(y, {x: [[1, 1, 1]]}), [[100, 400]])


def test_control_dependencies_order_captured_variables():
    w = parameter([1.0, 2.0])
    x = feed(np.float32, (2,))
    before = x * w + x * (w * 2)
    with control_dependencies([assign_sub(w, [1, 1])]):
        after = x * w + x * (w * 2)
    sess = Session()
    sess.run(global_variables_initializer())
    np.testing.assert_array_equal(sess.run([before, after], {x: [1, 1]}), [[3, 6], [0, 3]])


def test_what_can_not_enter():
    w = parameter([1.0])
    x = feed(np.float32, (1,))
    c = eager.tensor([1.0])
    used, changed = w * 2, w * c
    F.sum(used * w).backward()
    c += 1
    with pytest.raises(GraphError, match=r"the tape behind this tensor was freed by backward\(\)"):
        x * used
    with pytest.raises(GraphError, match=r"a tensor of shape \(1,\) that MulBackward0 read was changed in place since"):
        x * changed
    with pytest.raises(GraphError, match=r"which was not made by sg.Graph\(\)"):
        capture(ir.Graph(), w)
