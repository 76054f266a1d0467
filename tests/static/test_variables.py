"""Variables: initial values, assignments, and what a run sees of them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from staticgrad import eager
from staticgrad.eager.inplace_methods import METHODS
from staticgrad.errors import ArgumentError, DTypeError, FeedError, GraphError, ShapeError, UninitializedError
from staticgrad.operators import F
from staticgrad.static import (
    Graph,
    Session,
    Variable,
    assign,
    assign_add,
    assign_sub,
    constant,
    control_dependencies,
    global_variables,
    global_variables_initializer,
    gradients,
    group,
    placeholder,
    trainable_variables,
    variables_initializer,
)
from tests.helpers import assert_close


def started(*more):
    """A session in which all variables have their initial values."""
    sess = Session()
    sess.run(global_variables_initializer(), *more)
    return sess


def outside(action):
    """The result of `action` in a thread, where no graph is entered: there, random functions are eager."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(action).result()


def same(value, expected):
    assert_close(value, np.asarray(expected, value.dtype))


@pytest.mark.parametrize(
    ("initial", "dtype", "expected"),
    [
        (1.5, None, np.float32(1.5)),
        (3, None, np.int64(3)),
        (3, np.float64, np.float64(3)),
        ([[1.0, 2.0]], None, np.array([[1, 2]], np.float32)),
        (np.array([1.0, 2.0]), None, np.array([1.0, 2.0])),
        (np.array([1.0, 2.0]), np.float32, np.array([1, 2], np.float32)),
        (eager.tensor([True, False]), None, np.array([True, False])),
    ],
)
def test_initial_values(initial, dtype, expected):
    v = Variable(initial, dtype=dtype)
    assert v.shape == expected.shape
    np.testing.assert_array_equal(started().run(v), expected, strict=True)


def test_symbolic_initial_values(graph):
    v = Variable(constant([1.0, 2.0]) * 3, dtype=np.float64)
    value = started().run(v)
    np.testing.assert_array_equal(value, np.array([3.0, 6.0]), strict=True)


def test_random_initial_values_are_those_of_eager_mode():
    w, b = Variable(eager.randn(3, 4)), Variable(eager.rand(4))
    eager.manual_seed(5)
    values = started().run([w, b])
    eager.manual_seed(5)
    drawn = outside(lambda: [eager.randn(3, 4).numpy(), eager.rand(4).numpy()])
    for value, expected in zip(values, drawn, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-7)


def test_initial_value_without_known_extents():
    x = placeholder(np.float32, (None,), name="x")
    with pytest.raises(ArgumentError, match='initial_value must have a shape specified: "x"'):
        Variable(x)


def test_initial_value_of_another_graph():
    with Graph().as_default():
        x = constant(1.0)
    with pytest.raises(GraphError, match="tensors of different graphs can't be mixed"):
        Variable(x)


def test_initial_values_that_depend_on_variables():
    a = Variable(eager.rand(3), name="a")
    b = Variable(a * 2, name="b")
    c = Variable(a + b, name="c")
    sess = started()
    x, y, z = sess.run([a, b, c])
    np.testing.assert_allclose(y, 2 * x, rtol=1e-6)
    np.testing.assert_allclose(z, 3 * x, rtol=1e-6)
    # alone, an initializer takes the value that the other variable has by now
    sess.run(a.assign([1, 2, 3]))
    sess.run(variables_initializer([c]))
    np.testing.assert_allclose(sess.run(c), [1, 2, 3] + y, rtol=1e-6)
    sess.run(b.initializer)
    same(sess.run(b), [2, 4, 6])
    with pytest.raises(UninitializedError, match="Attempting to use uninitialized value a"):
        Session().run(b.initializer)


def test_collections():
    a, b = Variable(1.0, name="a"), Variable(1.0, trainable=False, name="b")
    assert [v.name for v in global_variables()] == ["a", "b"]
    assert [v.name for v in trainable_variables()] == ["a"]
    assert a.trainable
    assert not b.trainable
    sess = Session()
    sess.run(variables_initializer(b))
    assert sess.run(b) == 1
    with pytest.raises(UninitializedError):
        sess.run(a)


def test_initializers_return_nothing():
    v = Variable(2.0, name="v")
    sess = Session()
    assert sess.run([v.initializer, global_variables_initializer()]) == [None, None]
    assert sess.run(v.initial_value) == 2


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda v: assign(v, [5, 6]), [5, 6]),
        (lambda v: v.assign(np.array([5.0, 6.0])), [5, 6]),
        (lambda v: v.assign(eager.tensor([5.0, 6.0])), [5, 6]),
        (lambda v: v.assign(v * 3), [3, 6]),
        (lambda v: assign_add(v, 1), [2, 3]),
        (lambda v: v.assign_add([1.0, 2.0]), [2, 4]),
        (lambda v: assign_sub(v, v), [0, 0]),
        (lambda v: v.assign_sub(np.float64(0.5)), [0.5, 1.5]),
        (lambda v: assign_add(v.graph.get_tensor(v.name), 1), [2, 3]),
    ],
)
def test_assignments(change, expected):
    v = Variable([1.0, 2.0])
    update = change(v)
    sess = started()
    same(sess.run(update), expected)
    same(sess.run(v), expected)


def test_a_run_reads_the_value_at_its_start():
    v = Variable(1.0)
    update, double = v.assign_add(10), v * 2
    sess = started()
    assert sess.run([v, update, double]) == [1, 11, 2]
    assert sess.run([v, double]) == [11, 22]


def test_the_value_of_an_assign_is_the_new_one():
    v = Variable(1.0)
    y = v.assign(7.0) * 2
    assert started().run([y, v]) == [14, 1]


def test_the_later_of_two_unordered_assigns_wins():
    v = Variable(1.0)
    first, second = v.assign(v + 10), v.assign(v + 100)
    sess = started()
    assert sess.run([second, first]) == [101, 11]
    assert sess.run(v) == 101


def test_updates_add_up():
    v = Variable([1.0, 2.0])
    first, second, third = v.assign_add([10, 10]), v.assign_sub(v * 3), v.assign_add([100, 0])
    sess = started()
    same(sess.run([second, third])[1], [98, -4])
    sess = started()
    a, b, c = sess.run([first, second, third])
    same(a, [11, 12])
    same(b, [8, 6])
    same(c, [108, 6])
    same(sess.run(v), [108, 6])


def test_an_update_has_the_dtype_and_shape_of_its_variable():
    v = Variable([1.0, 2.0])
    with pytest.raises(DTypeError, match="float64"):
        v.assign_add(constant(np.ones(2)))
    with pytest.raises(ShapeError):
        v.assign_add(np.ones((2, 2), "f4"))


def test_swap():
    a, b = Variable([1.0, 2.0]), Variable([3.0, 4.0])
    swap = group(a.assign(b), b.assign(a))
    sess = started()
    sess.run(swap)
    same(sess.run(a), [3, 4])
    same(sess.run(b), [1, 2])


def test_assign_of_a_view_of_the_variable():
    v = Variable([[1.0, 2.0], [3.0, 4.0]])
    turn = v.assign(v.T)
    sess = started()
    for expected in ([[1, 3], [2, 4]], [[1, 2], [3, 4]]):
        sess.run(turn)
        same(sess.run(v), expected)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ([1.0, 2.0, 3.0], ShapeError, r"assign: shapes must be equal, variable \(2,\) and value \(3,\)"),
        (1.0, ShapeError, r"assign: shapes must be equal, variable \(2,\) and value \(\)"),
        (np.zeros((1, 2), np.float32), ShapeError, r"variable \(2,\) and value \(1, 2\)"),
        (eager.tensor([1, 2]), DTypeError, "assign: a float32 variable can't hold int64"),
        (["a", "b"], DTypeError, 'assign to "v": dtype <U1 can\'t become float32'),
    ],
)
def test_wrong_assigns(graph, value, error, text):
    v = Variable([1.0, 2.0], name="v")
    with pytest.raises(error, match=text):
        v.assign(value)


def test_a_shape_known_only_at_run_time_is_checked_before_anything_changes():
    v, steps = Variable([1.0, 2.0], name="v"), Variable(0)
    x = placeholder(np.float32, (None,))
    update = group(steps.assign_add(1), v.assign(x * 2))
    sess = started()
    with pytest.raises(ShapeError, match=r"assign: shapes must be equal, variable \(2,\) and value \(1,\)") as error:
        sess.run(update, {x: [1.0]})
    assert "update = group(steps.assign_add(1), v.assign(x * 2))" in str(error.value)
    same(sess.run(v), [1, 2])
    assert sess.run(steps) == 0
    sess.run(update, {x: [3.0, 4.0]})
    same(sess.run(v), [6, 8])


def test_only_variables_are_assigned_to():
    x = placeholder(np.float32, (), name="x")
    for wrong in (x, x + 1, 3, eager.tensor(1.0)):
        with pytest.raises(GraphError, match="only variables have a value to change"):
            assign(wrong, 1.0)


def test_variables_are_tensors():
    v, w = Variable([[1.0, 2.0]]), Variable([[3.0], [4.0]])
    y = F.sum(v @ w) + v[0, 1] - np.float32(1)
    assert started().run(y) == 12
    assert repr(v) == "<sg.Variable 'variable' f32[1,2]>"


def test_eval_and_load():
    v = Variable([1.0, 2.0], name="v")
    sess = Session()
    v.load([3, 4], sess)  # an uninitialized variable can be loaded
    same(v.eval(sess), [3, 4])
    with sess.as_default():
        v.load(np.array([5.0, 6.0]))
        same(v.eval(), [5, 6])
        same(v.value().eval(), [5, 6])
    with pytest.raises(FeedError, match=r"Cannot feed value of shape \(3,\) for Tensor 'v', which has shape '\(2,\)'"):
        v.load([1, 2, 3], sess)
    with pytest.raises(GraphError, match="Cannot evaluate tensor using `load\\(\\)`: No default session is registered"):
        v.load([1, 2])
    same(v.eval(sess), [5, 6])


def test_loading_copies():
    v = Variable([1.0, 2.0])
    sess, array = Session(), np.array([3, 4], np.float32)
    sess.load(v, array)
    array[:] = 0
    same(sess.run(v), [3, 4])
    with pytest.raises(GraphError, match="only variables can be loaded"):
        sess.load(v * 2, array)


def test_variables_made_under_control_dependencies_are_initialized_without_them():
    a = Variable(1.0)
    with control_dependencies([a.assign(5.0)]):
        b = Variable(2.0)
    sess = started()
    assert sess.run([a, b]) == [1, 2]


@pytest.mark.parametrize("name", METHODS)
def test_nothing_is_changed_in_place(graph, name):
    """Methods of eager tensors that change them say what to write in a graph; `y += x` is Python's `y = y + x`."""
    v = Variable([1.0, 2.0], name="v")
    for x in (v, v * 2):
        before = len(graph)
        if name in ("__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__") and x is not v:
            continue  # for integers
        if name.startswith("__i") and x is not v:
            value = {"__ipow__": 2.0}.get(name, 3.0)
            operator = getattr(type(x), name.replace("__i", "__"))
            assert operator(x, value).shape == (2,)
            continue
        with pytest.raises(GraphError, match=r"assign_add\(delta\)") as error:
            getattr(x, name)(*[0, 1.0][: 2 if name == "__setitem__" else 1])
        assert error.value.where.file == __file__
        assert len(graph) == before


def test_methods_without_a_change_are_those_of_eager_tensors():
    values = np.array([[1.5, -2.0, 0.0]], np.float32)

    def results(x):
        casts = [x.to(np.float64), x.double(), x.float(), x.long(), x.int(), x.bool(), x.type_as(F.astype(x, np.int32))]
        return [*casts, x.view(3, 1), x.view(-1), x.clone(), x.detach() * 2]

    x = placeholder(np.float32, (None, 3))
    expected = results(eager.tensor(values))
    with Session() as sess:
        for found, right in zip(sess.run(results(x), {x: values}), expected, strict=True):
            assert found.dtype == right.dtype
            np.testing.assert_array_equal(found, right.numpy())
    (slope,) = gradients(F.sum(x.detach() * x), [x])
    with Session() as sess:
        np.testing.assert_array_equal(sess.run(slope, {x: values}), values)
