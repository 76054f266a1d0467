"""Eager tensors used in a static graph."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import eager, ir
from staticgrad.eager.generator import marks
from staticgrad.errors import GraphError, ShapeError, UninitializedError
from staticgrad.operators import F, frontends
from staticgrad.operators.dispatch import Frontends, no_capture
from staticgrad.static import (
    Graph,
    Session,
    Variable,
    assign_sub,
    capture,
    constant,
    control_dependencies,
    get_default_graph,
    global_variables_initializer,
    gradients,
    placeholder,
    reset_default_graph,
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
    with pytest.raises(ShapeError, match=r"the eager tensor 'w' was \(2,\) .* is \(3,\) float32"):
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
        gc.collect(0)  # the youngest objects; all of a long run of tests take seconds
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
    with pytest.raises(GraphError, match=r"the tape of this tensor was freed by backward\(\)"):
        x * used
    with pytest.raises(GraphError, match=r"a tensor of shape \(1,\) that MulBackward0 read has been changed in place since"):
        x * changed
    with pytest.raises(GraphError, match=r"which was not made by sg.Graph\(\)"):
        capture(ir.Graph(), w)


def test_the_compilers_own_graphs_refuse_tensors_before_graphs_of_users_exist() -> None:
    """Eager mode makes kernels from such graphs without importing `static`."""
    assert Frontends().capture is no_capture, "as long as nobody enters another one"
    with pytest.raises(GraphError, match=r"which was not made by sg.Graph\(\)"):
        no_capture(ir.Graph(), sg.ones(2))


# random numbers --------------------------------------------------------------------------------------------------------


def outside(action):
    """The result of `action` where no graph is entered, in a fresh default graph that has a placeholder of 3 numbers."""

    def run():
        reset_default_graph()
        try:
            return action(placeholder(np.float32, (3,)))
        finally:
            reset_default_graph()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def filled():
    return eager.zeros(3).normal_()


def added():
    x = eager.zeros(3)
    x += eager.rand(3)
    return x


RANDOM = {
    "rand": lambda: eager.rand(3),
    "randn": lambda: eager.randn(3),
    "randint": lambda: eager.randint(0, 9, (3,)),
    "randperm": lambda: eager.randperm(3),
    "dropout": lambda: eager.dropout(eager.ones(3)),
    "made of some": lambda: (0.1 * eager.randn(3, 3).T).sum(0) + 1,
    "detached": lambda: eager.rand(3).detach(),
    "filled": filled,
    "added in place": added,
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_are_no_constants(name):
    """Drawn anew in each run where the graph is entered; an error elsewhere, never one draw for all runs."""

    def build(x):
        with pytest.raises(GraphError) as caught:
            x + RANDOM[name]()
        return str(caught.value).splitlines()

    lines = outside(build)
    assert lines[0] == (
        "random numbers of shape (3,) were drawn when the tensor was made: in a graph they would be a constant, the same in "
        "every run"
    )
    assert "test_capture.py" in lines[1]
    assert "with sg.get_default_graph().as_default():" in lines[2]
    assert "sg.constant(tensor)" in lines[3]


def test_random_numbers_drawn_before_the_graph_are_no_constants():
    noise = outside(lambda x: eager.rand(3))
    with pytest.raises(GraphError, match="random numbers of shape"):
        placeholder(np.float32, (3,)) + noise


def test_random_numbers_stay_marked_after_a_trace():
    def run(x):
        noise = eager.rand(3)
        compiled = sg.compile(lambda v: v + 1)
        compiled(np.zeros(3))
        return x + noise * 2

    with pytest.raises(GraphError, match="random numbers of shape"):
        outside(run)


def test_random_numbers_in_the_default_graph():
    def run(x):
        with get_default_graph().as_default():
            y = x * 0 + eager.rand(3)
        with Session() as session:
            z = x * 0 + eager.rand(3)
            looped, _ = F.scan(lambda c, _: (c + eager.rand(3), None), x, length=2)
            return [session.run([y, z, looped], {x: np.zeros(3)}) for _ in range(2)]

    first, second = outside(run)
    for a, b in zip(first, second, strict=True):
        assert not np.array_equal(a, b)


def test_bodies_outside_of_a_graphs_context_draw_in_each_run():
    def run(x):
        looped, _ = F.scan(lambda c, _: (c + eager.rand(3), None), x, length=2)
        session = Session()
        return [session.run(looped, {x: np.zeros(3)}) for _ in range(2)]

    assert not np.array_equal(*outside(run))


def test_random_numbers_that_are_meant_as_values():
    """As a constant, as the first value of a variable, as a parameter, and fed."""

    def run(x):
        noise, weight = eager.rand(3), eager.rand(3, requires_grad=True)
        y = x + constant(noise) + Variable(noise) + weight
        session = Session()
        session.run(global_variables_initializer())
        expected = 3 * noise.numpy() + weight.detach().numpy()
        np.testing.assert_allclose(session.run(y, {x: noise}), expected, rtol=1e-6)

    outside(run)


def test_marks_end_with_the_tensors():
    """Eager ops go their short way again."""
    gc.collect()
    before, tracing = marks.alive, frontends.tracing - bool(marks.alive)

    def run(x):
        noise = eager.rand(3)
        assert (marks.alive, frontends.tracing) == (before + 1, tracing + 1)
        more = noise + 1
        assert marks.alive == before + 2
        del noise
        assert (marks.alive, frontends.tracing) == (before + 1, tracing + 1)
        del more

    outside(run)
    assert (marks.alive, frontends.tracing) == (before, tracing + bool(before))
