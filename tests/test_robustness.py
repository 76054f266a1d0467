"""Bad input in every mode: a clear error that names the operation, the shapes and the user's line, and nothing changed by it.

Sessions and eager steps in threads, after fork, and under Ctrl-C; `tests/tracing/test_threads.py` does so with compiled
functions.
"""

from __future__ import annotations

import inspect
import os
import re
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.eager import generator
from staticgrad.eager.grad_mode import modes
from staticgrad.operators import frontends
from staticgrad.operators import state as dispatch
from tests.processes import ended, interrupted, start

pytestmark = pytest.mark.usefixtures("refusing")

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((4, 3)).astype(np.float32), RNG.integers(0, 2, 4)


class World:
    """A model that has been trained for two steps: eagerly, in a session, and compiled."""

    def __init__(self) -> None:
        sg.manual_seed(0)
        self.net = nn.Linear(3, 2)
        self.opt = optim.Adam(self.net.parameters(), lr=0.1)
        self.compiled = sg.compile(self.step)
        self.step(X, Y)
        self.compiled(X, Y)
        self.graph = sg.Graph()
        with self.graph.as_default():
            self.x = sg.placeholder(sg.float32, (None, 3), name="x")
            self.y = sg.placeholder(sg.int64, (None,), name="y")
            self.w = sg.Variable(np.ones((3, 2), np.float32), name="w")
            self.never = sg.Variable(np.zeros(2, np.float32), name="never")
            self.logits = self.x @ self.w
            self.loss = F.cross_entropy(self.logits, self.y)
            self.train = optim.Adam(lr=0.1).minimize(self.loss, [self.w])
            initializer = sg.variables_initializer([v for v in sg.global_variables() if v is not self.never])
        self.session = sg.Session(self.graph)
        self.session.run(initializer)
        for _ in range(2):
            self.session.run(self.train, {self.x: X, self.y: Y})

    def step(self, x: Any, y: Any) -> Any:
        loss = F.cross_entropy(self.net(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss

    def compute(self, fn: Any) -> Any:
        """`fn` in a compiled step, after an update."""

        def step(x: Any, y: Any) -> Any:
            self.step(x, y)
            return fn()

        return sg.compile(step)(X, Y)

    def state(self) -> dict[str, Any]:
        """Everything that an error must leave alone."""
        found: dict[str, Any] = {"generator": generator.state, "tracing": frontends.tracing, "tracer": dispatch.tracer}
        found["modes"] = modes.now.grad, modes.now.anomaly
        found["defaults"] = len(dispatch.graphs), len(dispatch.control), sg.get_default_session()
        for name, p in self.net.named_parameters():
            found[name] = p.detach().numpy().tolist(), None if p.grad is None else p.grad.tolist(), p.requires_grad
        saved = self.opt.state_dict()
        found["optimizer"] = {i: {k: s.tolist() for k, s in slots.items()} for i, slots in saved["state"].items()}
        found["groups"] = saved["param_groups"]
        found["session"] = [self.session.run(v).tolist() for v in self.graph.variables if v is not self.never]
        return found


# eager ----------------------------------------------------------------------------------------------------------------


def eager_matmul(world):
    sg.ones(3, 4) @ sg.ones(3, 4)  # the line


def eager_broadcast(world):
    sg.ones(3, 4) + sg.ones(3)  # the line


def eager_layer(world):
    world.net(sg.ones(4, 5))  # the line


def eager_label_dtype(world):
    F.cross_entropy(world.net(X), Y.astype(np.float32))  # the line


def eager_label_range(world):
    F.cross_entropy(world.net(X), Y + 2)  # the line


def eager_batch_size(world):
    F.cross_entropy(world.net(X), Y[:3])  # the line


def eager_leaf_in_place(world):
    world.net.weight.add_(1)  # the line


def eager_integer_requires_grad(world):
    sg.tensor([1, 2], requires_grad=True)  # the line


def eager_no_scalar(world):
    world.net(X).backward()  # the line


def eager_twice(world):
    loss = (world.net.weight * world.net.weight).sum()
    sg.grad(loss, world.net.weight)
    loss.backward()  # the line


def eager_overwritten(world):
    h = sg.exp(world.net(X))
    h.mul_(2)
    h.sum().backward()  # the line


def eager_anomaly(world):
    w = sg.tensor(0.0, requires_grad=True)
    with sg.detect_anomaly():
        y = sg.sqrt(w) * 0  # the line
        y.backward()


def eager_in_place_shape(world):
    x = sg.ones(3)
    x += sg.ones(2, 3)  # the line


# define, then run -----------------------------------------------------------------------------------------------------


def session_feed_shape(world):
    world.session.run(world.loss, {world.x: X.T, world.y: Y})  # the line


def session_feed_dtype(world):
    world.session.run(world.loss, {world.x: X, world.y: Y + 0.5})  # the line


def session_feed_text(world):
    world.session.run(world.loss, {world.x: "text", world.y: Y})  # the line


def session_unfed(world):
    world.session.run(world.loss, {world.x: X})  # the line


def session_unknown_fetch(world):
    world.session.run("nothing")  # the line


def session_fetch_of_another_graph(world):
    with sg.Graph().as_default():
        other = sg.constant(1.0)
    world.session.run(other)  # the line


def session_mixed_graphs(world):
    with sg.Graph().as_default():
        other = sg.constant(1.0)
    world.loss + other  # the line


def session_uninitialized(world):
    world.session.run([world.train, world.never], {world.x: X, world.y: Y})  # the line


def session_matmul(world):
    world.w @ world.w  # the line


def session_assign_shape(world):
    world.w.assign(np.ones((2, 2), np.float32))  # the line


def session_run_time_shape(world):
    world.session.run([world.train, world.loss], {world.x: X, world.y: Y[:3]})  # the line


def session_label_range(world):
    world.session.run([world.train, world.loss], {world.x: X, world.y: Y + 2})  # the line


def session_if(world):
    if world.loss > 0:  # the line
        pass


def session_gradient_of_integers(world):
    sg.gradients(world.loss, world.y)  # the line


# compiled -------------------------------------------------------------------------------------------------------------


def compiled_matmul(world):
    world.compute(
        lambda: world.net.weight @ world.net.weight  # the line
    )


def compiled_broadcast(world):
    world.compute(
        lambda: world.net.weight + sg.ones(4)  # the line
    )


def compiled_batch(world):
    world.compiled(X[:, :2], Y)


def compiled_label_dtype(world):
    world.compiled(X, Y.astype(np.float32))


def compiled_label_range(world):
    world.compiled(X, Y + 2)


def compiled_batch_size(world):
    world.compiled(X, Y[:3])


def compiled_leaf_in_place(world):
    world.compute(
        lambda: world.net.weight.add_(1)  # the line
    )


def compiled_integer_requires_grad(world):
    world.compute(
        lambda: sg.tensor([1, 2], requires_grad=True)  # the line
    )


def compiled_no_scalar(world):
    world.compute(
        lambda: world.net(X).backward()  # the line
    )


def compiled_if(world):
    world.compute(
        lambda: 1 if world.net.weight.sum() > 0 else 2  # the line
    )


def compiled_symbol(world):
    world.compiled(world.x, Y)  # the line


def compiled_anomaly(world):
    w = sg.tensor(0.0, requires_grad=True)
    step = sg.compile(
        lambda: (sg.sqrt(w) * 0).backward()  # the line
    )
    with sg.detect_anomaly():
        step()


CASES = {
    eager_matmul: (sg.ShapeError, "matmul: inner sizes differ, (3, 4) @ (3, 4)"),
    eager_broadcast: (sg.ShapeError, "add: shapes don't broadcast, (3, 4) and (3,)"),
    eager_layer: (sg.ShapeError, "mat1 and mat2 shapes cannot be multiplied (4x5 and 3x2)"),
    eager_label_dtype: (sg.DTypeError, "cross_entropy: a target of class indices must be integers, got float32"),
    eager_label_range: (sg.IndexRangeError, "Target 2 is out of bounds."),
    eager_batch_size: (sg.ShapeError, "Expected input batch_size (4) to match target batch_size (3)."),
    eager_leaf_in_place: (sg.GradientError, "a leaf Variable that requires grad is being used in an in-place operation."),
    eager_integer_requires_grad: (sg.DTypeError, "only Tensors of floating point dtype can require gradients, got int64"),
    eager_no_scalar: (sg.GradientError, "grad can be implicitly created only for scalar outputs, this one has shape (4, 2)"),
    eager_twice: (sg.GradientError, "Trying to backward through the graph a second time"),
    eager_overwritten: (sg.GradientError, "has been modified by an inplace operation"),
    eager_anomaly: (sg.AnomalyError, "Function 'SqrtBackward0' returned nan values in its 0th output."),
    eager_in_place_shape: (
        sg.ShapeError, "add_: output with shape (3,) doesn't match the broadcast shape (2, 3)",
    ),
    session_feed_shape: (
        sg.FeedError, "Cannot feed value of shape (3, 4) for Tensor 'x', which has shape '(?, 3)'",
    ),
    session_feed_dtype: (sg.FeedError, "for Tensor 'y', which has dtype int64"),
    session_feed_text: (sg.FeedError, "Cannot feed value of type str for Tensor 'x', which has dtype float32"),
    session_unfed: (
        sg.FeedError, "You must feed a value for placeholder tensor 'y' with dtype int64 and shape (?,)",
    ),
    session_unknown_fetch: (sg.GraphError, "Fetch argument 'nothing' cannot be interpreted as a Tensor."),
    session_fetch_of_another_graph: (sg.GraphError, "is not an element of this graph."),
    session_mixed_graphs: (sg.GraphError, "tensors of different graphs can't be mixed"),
    session_uninitialized: (sg.UninitializedError, "Attempting to use uninitialized value never"),
    session_matmul: (sg.ShapeError, "matmul: inner sizes differ, (3, 2) @ (3, 2)"),
    session_assign_shape: (sg.ShapeError, "assign: shapes must be equal, variable (3, 2) and value (2, 2)"),
    session_run_time_shape: (sg.ShapeError, "take_along_axis: shapes don't broadcast, (4,) and (3,)"),
    session_label_range: (sg.IndexRangeError, "Target 2 is out of bounds."),
    session_if: (sg.TraceError, "Python can't have its truth value"),
    session_gradient_of_integers: (sg.GradientError, "One of the differentiated Tensors does not require grad"),
    compiled_matmul: (sg.ShapeError, "matmul: inner sizes differ, (2, 3) @ (2, 3)"),
    compiled_broadcast: (sg.ShapeError, "add: shapes don't broadcast, (2, 3) and (4,)"),
    compiled_batch: (sg.ShapeError, "mat1 and mat2 shapes cannot be multiplied (4x2 and 3x2)"),
    compiled_label_dtype: (sg.DTypeError, "cross_entropy: a target of class indices must be integers, got float32"),
    compiled_label_range: (sg.IndexRangeError, "Target 2 is out of bounds."),
    compiled_batch_size: (sg.ShapeError, "Expected input batch_size (4) to match target batch_size (3)."),
    compiled_leaf_in_place: (
        sg.GradientError, "a leaf Variable that requires grad is being used in an in-place operation.",
    ),
    compiled_integer_requires_grad: (
        sg.DTypeError, "only Tensors of floating point dtype can require gradients, got int64",
    ),
    compiled_no_scalar: (
        sg.GradientError, "grad can be implicitly created only for scalar outputs, this one has shape (4, 2)",
    ),
    compiled_if: (sg.TraceError, "Python can't have its truth value before the compiled function runs"),
    compiled_symbol: (sg.TraceError, "a compiled function takes values, got \"x\""),
    compiled_anomaly: (sg.AnomalyError, "div returned nan values, as the first operation of the compiled step"),
}  # fmt: skip


UPDATED = [
    compiled_matmul, compiled_broadcast, compiled_leaf_in_place, compiled_integer_requires_grad, compiled_no_scalar,
]  # fmt: skip
"""Steps that raise after an update, which is done then, as eagerly."""


@pytest.mark.parametrize(("case", "error", "text"), [(k, *v) for k, v in CASES.items()], ids=[k.__name__ for k in CASES])
def test_bad_input(case, error, text):
    world, expected = World(), World()
    if case in UPDATED:
        expected.step(X, Y)
    with pytest.raises(error, match=re.escape(text)) as caught:
        case(world)
    message = str(caught.value)
    lines, first = inspect.getsourcelines(case)
    marked = [first + i for i, line in enumerate(lines) if line.rstrip().endswith("# the line")]
    told = marked if marked else inspect.getsourcelines(World.step)[1] + np.arange(1, 3)
    assert any(f"test_robustness.py:{line}   " in message for line in told) or in_graph(message), message
    assert world.state() == expected.state()
    later = world.step(X, Y).item(), world.compiled(X, Y).item(), world.session.run(world.loss, {world.x: X, world.y: Y})
    assert np.isfinite(later).all()


def in_graph(message: str) -> bool:
    """It names the line on which the graph was built."""
    lines, first = inspect.getsourcelines(World.__init__)
    return any(f"test_robustness.py:{first + i}   " in message for i in range(len(lines)))


# threads ----------------------------------------------------------------------------------------------------------------


def together(*functions: Any) -> list[Any]:
    barrier = threading.Barrier(len(functions))

    def run(function: Any) -> Any:
        barrier.wait()
        return function()

    with ThreadPoolExecutor(len(functions)) as pool:
        return [future.result(timeout=60) for future in [pool.submit(run, f) for f in functions]]


def counter() -> tuple[sg.Graph, Any, Any, Any]:
    """A graph that counts its runs in every element of a variable."""
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder(sg.float32, (None,), name="x")
        count = sg.Variable(np.zeros((64, 64), np.float32), name="count")
        return graph, x, count.assign_add(1.0), x * 2


def test_one_session_from_several_threads():
    graph, x, add, double = counter()
    with sg.Session(graph) as session:
        with graph.as_default():
            session.run(sg.global_variables_initializer())

        def runs(thread: int) -> list[Any]:
            feed = {x: np.full(thread + 3, thread, np.float32)}
            return [session.run([add, double], feed) for _ in range(40)]

        found = together(*[lambda i=i: runs(i) for i in range(4)])
    counts = sorted(int(c[0, 0]) for results in found for c, _ in results)
    assert counts == list(range(1, 161))
    for thread, results in enumerate(found):
        for c, y in results:
            assert (c == c[0, 0]).all()
            assert y.tolist() == [2.0 * thread] * (thread + 3)


def test_several_sessions_of_one_graph_at_once():
    graph, x, add, double = counter()
    with graph.as_default():
        initializer = sg.global_variables_initializer()

    def runs(thread: int) -> list[float]:
        with sg.Session(graph) as session:
            session.run(initializer)
            results = [session.run([add, double], {x: np.full(3, thread, np.float32)}) for _ in range(40)]
        assert all(y.tolist() == [2.0 * thread] * 3 for _, y in results)
        return [float(c[5, 5]) for c, _ in results]

    assert together(*[lambda i=i: runs(i) for i in range(4)]) == [[float(i) for i in range(1, 41)]] * 4


def test_graphs_are_built_in_several_threads_at_once():
    def build(thread: int) -> float:
        with sg.Graph().as_default() as graph:
            w = sg.Variable(np.full(3, float(thread), np.float32))
            (g,) = sg.gradients((w * w).sum(), [w])
            with sg.Session(graph) as session:
                session.run(sg.global_variables_initializer())
                return float(session.run(g)[0])

    assert together(*[lambda i=i: build(i) for i in range(6)]) == [2.0 * i for i in range(6)]


def test_eager_training_in_several_threads_at_once():
    def train(seed: int) -> list[float]:
        rng = np.random.default_rng(seed)
        w = sg.tensor(rng.standard_normal((3, 2)).astype(np.float32), requires_grad=True)
        opt = optim.SGD([w], lr=0.1)
        losses = []
        for _ in range(20):
            loss = F.cross_entropy(sg.tensor(X) @ w, sg.tensor(Y))
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        return losses

    assert together(*[lambda i=i: train(i) for i in range(4)]) == [train(i) for i in range(4)]


# processes --------------------------------------------------------------------------------------------------------------

SETUP = """
    import os, sys
    import numpy as np
    import staticgrad as sg
    from staticgrad import functional as F, nn, optim

    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((256, 256)).astype("float32"), rng.integers(0, 10, 256)

    def eager():
        sg.manual_seed(0)
        net = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
        opt = optim.Adam(net.parameters(), lr=1e-3)
        def step():
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss.item()
        return step, lambda: [p.detach().numpy() for p in net.parameters()]

    def session():
        graph = sg.Graph()
        with graph.as_default():
            inputs, labels = sg.placeholder(sg.float32, (None, 256)), sg.placeholder(sg.int64, (None,))
            w = sg.Variable(rng.standard_normal((256, 256)).astype("float32") / 16)
            v = sg.Variable(rng.standard_normal((256, 10)).astype("float32") / 16)
            loss = F.cross_entropy(sg.relu(inputs @ w) @ v, labels)
            train = optim.Adam(lr=1e-3).minimize(loss)
            init = sg.global_variables_initializer()
        sess = sg.Session(graph)
        sess.run(init)
        return lambda: float(sess.run([loss, train], {inputs: x, labels: y})[0]), lambda: sess.run([w, v])

    step, parameters = MODE()
"""
FORK = """
    first = step()
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, repr([step() for _ in range(3)]).encode())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_allclose(eval(os.read(read, 1000)), [step() for _ in range(3)], rtol=1e-4)
    print("done")
"""
INTERRUPT = """
    step()
    count = 0
    while True:
        try:
            if not count:
                print("running", flush=True)
            while True:
                step()
                count += 1
        except KeyboardInterrupt:
            break
    assert all(np.isfinite(p).all() for p in parameters())
    before = step()
    for _ in range(10):
        after = step()
    assert np.isfinite(after) and after <= before + 1e-2, (before, after)
    print("usable")
"""


def in_mode(mode: str, program: str) -> str:
    return textwrap.dedent(SETUP.replace("MODE", mode)) + textwrap.dedent(program)


@pytest.mark.parametrize("mode", ["eager", "session"])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_of_fork_works(mode):
    out, err = ended(start(in_mode(mode, FORK)))
    assert out == "done\n", err


@pytest.mark.parametrize("mode", ["eager", "session"])
def test_ctrl_c_leaves_everything_usable(mode):
    out, err = interrupted(in_mode(mode, INTERRUPT), 0.3)
    assert out == "usable\n", err
