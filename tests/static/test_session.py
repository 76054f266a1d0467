"""Sessions: state, cache, defaults, threads, end."""

import threading

import numpy as np
import pytest

from staticgrad import eager
from staticgrad.eager.tape_graph import graph_of
from staticgrad.errors import ArgumentError, FeedError, GraphError, StaticgradError, UninitializedError
from staticgrad.operators import F
from staticgrad.static import (
    Graph,
    Session,
    Variable,
    constant,
    get_default_graph,
    get_default_session,
    global_variables_initializer,
    group,
    placeholder,
    prepared_run,
)


@pytest.fixture
def programs(monkeypatch):
    """Counts what is compiled."""
    made = []

    class Counted(prepared_run.Program):
        def __init__(self, *args, **kwargs):
            made.append(args)
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(prepared_run, "Program", Counted)
    return made


def test_sessions_have_their_own_values():
    v = Variable(1.0, name="v")
    one, other = Session(), Session()
    one.run(v.initializer)
    other.run(v.initializer)
    one.run(v.assign_add(5))
    assert (one.run(v), other.run(v)) == (6, 1)
    with pytest.raises(UninitializedError) as error:
        Session().run(v * 2)
    text = str(error.value)
    assert text.startswith("Attempting to use uninitialized value v")
    assert 'v = Variable(1.0, name="v")' in text
    assert "sess.run(sg.global_variables_initializer())" in text


def test_a_failed_run_changes_nothing():
    a, b = Variable(1.0, name="a"), Variable(2.0, name="b")
    copy = group(a.assign(b), b.assign(b + 1))
    sess = Session()
    sess.run(a.initializer)
    with pytest.raises(UninitializedError, match="uninitialized value b"):
        sess.run(copy)
    assert sess.run(a) == 1
    x = placeholder(np.float32, (None,))
    wrong = group(b.assign(F.sum(x + np.zeros(3, np.float32))))
    with pytest.raises(StaticgradError, match=r"\(2,\)"):
        sess.run(wrong, {x: [1, 2]})
    with pytest.raises(UninitializedError, match="uninitialized value b"):  # not half initialized either
        sess.run(b)
    sess.run(wrong, {x: [1, 2, 3]})
    assert sess.run(b) == 6


def test_one_program_for_the_same_tensors(programs):
    x, t = placeholder(np.float32, (None,), name="x"), placeholder(np.float32, (), name="t")
    y, z = x * t, x + t
    sess = Session()
    for n in (1, 2):
        sess.run([y, z], {x: np.ones(n, np.float32), t: 1})
        sess.run((y, z), {x: [1.0] * n, t: 1})
        sess.run({"y": y, "z": z}, {"x": [1], "t:0": 1})
        sess.run([y, [z, y]], {x: [1], t: 1})
        sess.run([x.graph.get_tensor("x") * 1], {x: [1], t: 1}) if n == 1 else None
    assert len(programs) == 2


def test_forgotten_structures_are_found_again(programs, monkeypatch):
    monkeypatch.setattr("staticgrad.static.session.SHORTCUTS", 3)
    a, b = constant(1.0), constant(2.0)
    sess = Session()
    for _ in range(3):
        assert sess.run([a, b]) == [1, 2]
        assert sess.run((a, b)) == (1, 2)
        assert sess.run({"a": a, "b": b}) == {"a": 1, "b": 2}
    assert len(programs) == 1


def test_a_graph_may_grow_while_a_session_uses_it():
    x = placeholder(np.float32, ())
    y, sess = x * 2, Session()
    for i in range(3):
        assert sess.run(y, {x: 1}) == 2 ** (i + 1)
        y = y * 2


def test_make_callable():
    x, t = placeholder(np.float32, (None,)), placeholder(np.float32, (), name="t")
    v = Variable(0.0)
    sess = Session()
    sess.run(v.initializer)
    call = sess.make_callable({"sum": F.sum(x) * t, "v": [v.assign_add(t)]}, [x, t])
    assert call(np.ones(3, np.float32), 2) == {"sum": 6, "v": [2]}
    assert call([1, 2], np.float32(1)) == {"sum": 3, "v": [3]}
    assert sess.make_callable(v)() == 3
    with pytest.raises(FeedError, match="this callable takes 2 values, one for each entry of its feed_list; got 1"):
        call(1)
    with pytest.raises(FeedError, match=r"Cannot feed value of shape \(1,\) for Tensor 't'"):
        call([1], [1])
    with pytest.raises(FeedError, match="You must feed a value for placeholder tensor 't'"):
        sess.make_callable(x * t, [x])
    sess.close()
    with pytest.raises(GraphError, match=r"^Attempted to use a closed Session\."):
        call([1, 2], 1)


def test_run_steps():
    x, v = placeholder(np.float32, ()), Variable(0.0)
    total = v.assign_add(x)
    with Session() as sess:
        sess.run(v.initializer)
        assert sess.run_steps(total, ({x: i} for i in range(4))) == [0, 1, 3, 6]
        assert sess.run_steps([total], []) == []


def test_the_plan_of_a_run():
    x, v = placeholder(np.float32, [None]), Variable(2.0)
    y = F.exp(x * v)
    with Session() as sess:
        plan = sess.plan(y, {x: [1.0, 2.0]})
        assert plan.kernels == 1
        assert "exp_f32" in plan.source()
        with pytest.raises(UninitializedError, match="profile: the plan has no variables"):
            plan.profile()
        with pytest.raises(UninitializedError, match="Attempting to use uninitialized value"):
            sess.run(y, {x: [1.0, 2.0]})
        sess.run(v.initializer)
        sess.run([y], {x: [1.0, 2.0]})
        assert sess.plan([y], {x: [3.0, 4.0]}) is plan
        assert sess.plan([y], {x: [3.0]}) is not plan
        assert [name for _, name, _ in plan.profile(20).instructions] == ["mul+exp"]
        assert sess.plan(v).instructions == []
        with pytest.raises(FeedError, match="You must feed a value"):
            sess.plan(y)
        with pytest.raises(FeedError, match="feed_dict has to map tensors to values, got list"):
            sess.plan(y, [x])
    with pytest.raises(GraphError, match="Attempted to use a closed Session"):
        sess.plan(y, {x: [1.0]})


def test_default_sessions():
    c = constant(1.0)
    assert get_default_session() is None
    with pytest.raises(GraphError, match="No default session is registered"):
        c.eval()
    outer, inner = Session(), Session()
    with outer.as_default():
        with inner.as_default() as entered:
            assert entered is inner
            assert get_default_session() is inner
        assert get_default_session() is outer
        assert c.eval() == 1
        assert (c + 1).eval({c: 4}) == 5
    assert c.eval(session=outer) == 1  # as_default does not close


def test_entering_a_session_enters_its_graph(graph):
    other = Graph()
    with Session(other) as sess:
        assert get_default_graph() is other
        v = Variable(3.0)
        sess.run(global_variables_initializer())
        assert v.eval() == 3
    assert get_default_graph() is graph
    assert get_default_session() is None


def test_closed_sessions():
    v = Variable(1.0)
    with Session() as sess:
        sess.run(v.initializer)
        assert sess.run(v) == 1
    assert "closed" in repr(sess)
    sess.close()
    for use in (lambda: sess.run(v), lambda: v.load(1.0, sess), lambda: sess.make_callable(v), sess.__enter__):
        with pytest.raises(GraphError, match=r"^Attempted to use a closed Session\."):
            use()


def test_a_session_needs_a_graph():
    with pytest.raises(ArgumentError, match="a session needs a graph, got str"):
        Session("grpc://")


def test_random_numbers_differ_from_run_to_run_and_follow_the_seed():
    a, b = eager.rand(4), eager.rand(4)
    sess = Session()
    eager.manual_seed(3)
    first, second = sess.run([a, b]), sess.run([a, b])
    drawn = np.array([*first, *second])
    assert len(np.unique(drawn)) == 16
    eager.manual_seed(3)
    np.testing.assert_array_equal(np.array([*sess.run([a, b]), *sess.run([a, b])]), drawn)


def test_a_session_runs_the_graph_of_a_tape():
    w = eager.tensor([1.0, 2.0], requires_grad=True)
    tape = graph_of(F.sum(w * w * 3))
    value, grad = Session(tape).run([tape.outputs["output"], tape.outputs["grad/leaf"]])
    assert value == 15
    np.testing.assert_array_equal(grad, [6, 12])


def in_threads(n, action):
    """Run `action(i)` in n threads at once; raises what one of them raised."""
    errors, barrier = [], threading.Barrier(n)

    def run(i):
        try:
            barrier.wait()
            action(i)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_share_a_session(programs):
    x, v = placeholder(np.float32, (None,)), Variable(0.0)
    update = v.assign_add(F.sum(x))
    sess = Session()
    sess.run(v.initializer)

    def work(i):
        for n in range(1, 21):
            sess.run(update, {x: np.ones(n + i, np.float32)})

    in_threads(4, work)
    assert sess.run(v) == 4 * 210 + 20 * (0 + 1 + 2 + 3)
    assert len(programs) == 3  # initializer, update, v: the race for the first run made none twice


def test_threads_with_sessions_of_their_own():
    x, v = placeholder(np.float32, ()), Variable(0.0)
    update = v.assign_add(x)
    init = v.initializer
    results = {}

    def work(i):
        with Session(v.graph) as sess:
            sess.run(init)
            for _ in range(25):
                sess.run(update, {x: i})
            results[i] = v.eval()

    in_threads(4, work)
    assert results == {i: 25 * i for i in range(4)}
