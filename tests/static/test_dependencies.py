"""Order: control dependencies, groups, operations."""

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import eager
from staticgrad.errors import GraphError
from staticgrad.static import (
    Graph,
    Operation,
    Session,
    Variable,
    constant,
    control_dependencies,
    global_variables_initializer,
    gradients,
    group,
    identity,
    no_op,
    placeholder,
)


def started():
    sess = Session()
    sess.run(global_variables_initializer())
    return sess


def test_reads_inside_come_after_the_assigns():
    v = Variable(1.0)
    update = v.assign_add(10)
    before = v * 2
    with control_dependencies([update]):
        after = v * 2
        again = v.read_value()
        old = identity(before)
    sess = started()
    assert sess.run([after, again, before, old, v]) == [22, 11, 2, 2, 1]
    assert sess.run(after) == 42  # fetching it alone runs the update
    assert sess.run(before) == 42


def test_ordered_assigns_add_up():
    v = Variable(1.0)
    with control_dependencies([v.assign_add(10)]):
        second = v.assign_add(100)
    with control_dependencies([second]):
        third = v.assign_sub(1000)
    sess = started()
    assert sess.run(third) == -889
    assert sess.run(v) == -889


@pytest.mark.parametrize("loop", ["scan", "while_loop"])
def test_assigns_in_the_body_of_a_loop(loop, interpreted):
    """Each iteration sees the value of the one before; the variable has the last one."""
    v = Variable(1.0)

    def body(total, _=None):
        with control_dependencies([v.assign(v * 2)]):
            return total + v.read_value()

    start = constant(0.0)
    if loop == "scan":
        total, _ = sg.scan(lambda c, x: (body(c), None), start, length=3)
    else:
        _, total = sg.while_loop(lambda i, c: i < 3, lambda i, c: (i + 1, body(c)), (constant(0), start))
    sess = started()
    assert sess.run(total) == 2 + 4 + 8
    assert sess.run(v) == 8


def test_order_reaches_through_groups_and_tensors():
    v, w = Variable(1.0), Variable(2.0)
    step = group(v.assign(5.0), [w.assign(6.0)])
    with control_dependencies([step]), control_dependencies([no_op()]):
        total = v + w
        with control_dependencies(None):
            plain = v + w
    sess = started()
    assert sess.run([total, plain]) == [11, 3]


def test_an_assign_through_its_value():
    v = Variable(1.0)
    derived = v.assign(5.0) * 2
    with control_dependencies([derived]):
        y = v + 0
    assert started().run(y) == 5


def test_an_assign_that_is_not_ordered_before_is_not_seen():
    v, w = Variable(1.0), Variable(2.0)
    update = v.assign(5.0)
    with control_dependencies([w.assign(6.0)]):
        y = v + w
    assert started().run([y, update]) == [7, 5]


def test_a_fed_assign_does_not_happen():
    v = Variable(1.0)
    update = v.assign(5.0)
    with control_dependencies([update]):
        y = v + 0
    sess = started()
    assert sess.run([y, update], {update: 9}) == [1, 9]
    assert sess.run(v) == 1


def test_a_fed_variable_is_read_as_fed():
    v = Variable(1.0)
    with control_dependencies([no_op()]):
        y = v + 0
    sess = Session()
    assert sess.run([y, v * 2], {v: 3}) == [3, 6]


def test_constants_and_pure_tensors_inside_trigger_what_comes_before():
    v = Variable(1.0)
    with control_dependencies([v.assign_add(1)]):
        done = constant(7.0)
    sess = started()
    assert sess.run(done) == 7
    assert sess.run(v) == 2


def test_shared_leaves_do_not_carry_the_order_elsewhere():
    v, captured = Variable(1.0), eager.tensor([1.0])
    with control_dependencies([v.assign_add(1)]):
        inside = eager.rand(2) + captured
    outside = eager.rand(2) + captured
    sess = started()
    sess.run(outside)
    assert sess.run(v) == 1
    sess.run(inside)
    assert sess.run(v) == 2


def test_gradients_reach_a_variable_through_an_ordered_read():
    v = Variable(3.0)
    with control_dependencies([v.assign(5.0)]):
        y = v * v
    (g,) = gradients(y, v)
    assert started().run([g, y]) == [10, 25]


def test_other_graphs_are_not_ordered():
    v = Variable(1.0)
    with control_dependencies([v.assign(2.0)]), Graph().as_default() as other:
        x = constant(1.0) + 1
        assert x.node.after == ()
    assert Session(other).run(x) == 2


def test_a_session_may_run_inside_control_dependencies():
    v = Variable(1.0)
    with control_dependencies([v.assign(2.0)]):
        sess = started()
        assert sess.run(v.value()) == 2


def test_operations():
    v = Variable(1.0)
    train = group(v.assign_add(1), name="train")
    assert isinstance(train, Operation)
    assert (train.name, repr(train)) == ("train", "<sg.Operation 'train'>")
    with started() as sess:
        assert sess.run(["train", no_op()]) == [None, None]
        assert train.run() is None
        assert sess.run(v) == 3


def test_wrong_inputs():
    with Graph().as_default():
        foreign = constant(1.0)
    mine = constant(2.0)
    with pytest.raises(GraphError, match="is not an element of this graph"):
        group(mine, foreign)
    with pytest.raises(GraphError, match="Can not convert a int into a Tensor or Operation"), control_dependencies([3]):
        pass
    with pytest.raises(GraphError, match="group: None can't be run"):
        group(mine, None)


def test_identity():
    x = placeholder(np.float32, (None,), name="x")
    y = identity(x, name="y")
    assert y.name == "y"
    np.testing.assert_array_equal(Session().run("y", {"x": [1, 2]}), np.float32([1, 2]))
    assert Session().run(identity(3)) == 3
    for value in (1.5, [1.5]):  # as of any Python number
        assert identity(value).dtype == np.float32
    assert identity(np.ones(2)).dtype == np.float64


@pytest.mark.parametrize("wrong", [3, 1.5])
def test_what_can_not_be_waited_for(wrong):
    with pytest.raises(GraphError, match="control_dependencies: expected a list of tensors and operations, got "):
        control_dependencies(wrong).__enter__()
