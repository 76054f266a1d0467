"""What a trace can't do: a clear error that names the user's line and the way out, and nothing is changed by it."""

from __future__ import annotations

import bdb
import copy
import functools
import inspect
import pickle
from types import FunctionType

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.eager import generator
from staticgrad.eager.generator import marks
from staticgrad.eager.grad_mode import modes
from staticgrad.errors import StaticgradError
from staticgrad.operators import frontends
from staticgrad.operators import state as dispatch_state
from tests.helpers import assert_same
from tests.tracing.helpers import Program, batch, labels, of, state

pytestmark = pytest.mark.usefixtures("refusing")

X, Y = batch(4, 5), labels(4, 3)


class Holder:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize("kind", [lambda y: {y}, lambda y: frozenset([y]), Holder], ids=["set", "frozenset", "object"])
def test_results_that_can_not_be_put_together(kind):
    with pytest.raises(sg.TraceError, match="that holds what it computed") as caught:
        sg.compile(lambda x: kind(x * 2))(sg.tensor(X))
    assert caught.value.where.file == __file__
    assert sg.compile(lambda x: kind(3))(X) is not None


@pytest.mark.parametrize("ask", [copy.deepcopy, pickle.dumps, "{:.2f}".format])
def test_symbols_are_not_copied_saved_or_formatted(ask):
    runs = [lambda: sg.compile(ask)(sg.tensor(X))]
    if ask is not pickle.dumps:  # which takes a tensor with its graph
        runs.append(lambda: ask(sg.placeholder(sg.float32, [])))
    for run in runs:
        with sg.Graph().as_default(), pytest.raises(sg.TraceError, match="Python can't have"):
            run()
    assert sg.compile(lambda x: copy.copy(x) is x)(sg.tensor(X))


def test_an_argument_that_can_not_be_written():
    """Nothing is done, also not to what else the step changes."""
    total = sg.zeros(())

    @sg.compile
    def step(x):
        total.add_(x.sum())
        x.mul_(2)

    x = np.ones(3, np.float32)
    step(sg.from_numpy(x))
    x.flags.writeable = False
    for argument in (sg.from_numpy(np.broadcast_to(np.float32(1), (3,))), sg.from_numpy(x)):
        with pytest.raises(sg.TraceError, match=r"can't change an argument of shape \(3,\) whose memory is read-only"):
            step(argument)
    assert total.item() == 3
    np.testing.assert_array_equal(x, 2)


def test_a_recursion_without_end():
    @sg.compile
    def step(x):
        return sg.cond(x.sum() > 3, lambda: x, lambda: step(x + 1))

    with pytest.raises(sg.TraceError, match="step calls itself without end") as caught:
        step(sg.tensor(X))
    assert caught.value.where.file == __file__
    assert "sg.while_loop" in str(caught.value)
    assert frontends.tracing == bool(marks.alive)


def test_a_recursion_of_something_else():
    def deep(x):
        return deep(x) + 1

    inner = sg.compile(deep)
    with pytest.raises(RecursionError):
        sg.compile(lambda x: inner(x))(X)


def training():
    """A model, its optimizer with some steps behind it, and a step that runs `inside(x, loss)` before the update."""
    sg.manual_seed(7)
    net = nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.2), nn.Linear(8, 3))
    opt = optim.Adam(net.parameters(), lr=0.01)

    def step(x, y, inside=lambda x, loss: None):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        inside(x, loss)
        return loss

    return Program(step, of(net), (opt,))


SCALAR = sg.tensor(3.0)


def use_if(x, loss):
    if loss > 1:  # the line
        pass


def use_while(x, loss):
    while x.sum() > 0:  # the line
        x = x - 1


def use_and(x, loss):
    _ = loss > 1 and x  # the line


def use_float(x, loss):
    float(loss)  # the line


def use_int(x, loss):
    int(loss)  # the line


def use_item(x, loss):
    return loss.item() > 1  # the line


def use_tolist(x, loss):
    x.tolist()  # the line


def use_print(x, loss):
    print(loss)  # the line


def use_format(x, loss):
    f"{loss:.3f}"  # the line


def use_str(x, loss):
    "loss " + str(loss)  # the line


def use_asarray(x, loss):
    np.asarray(x)  # the line


def use_numpy(x, loss):
    loss.detach().numpy()  # the line


def use_numpy_function(x, loss):
    np.median(x)  # the line


def use_ufunc_method(x, loss):
    np.add.reduce(x)  # the line


def use_in(x, loss):
    _ = 1.0 in x  # the line


def use_max(x, loss):
    max(x[0, 0], x[0, 1])  # the line


def use_reached_item(x, loss):
    SCALAR.item()  # the line


def use_reached_if(x, loss):
    if SCALAR:  # the line
        pass


def use_reached_numpy(x, loss):
    SCALAR.numpy()  # the line


def use_reached_print(x, loss):
    print(SCALAR)  # the line


def use_reached_format(x, loss):
    f"{SCALAR}"  # the line


def use_reached_in(x, loss):
    _ = 3.0 in SCALAR  # the line


def copy_reached(x, loss):
    copy.deepcopy(SCALAR)  # the line


def pickle_reached(x, loss):
    pickle.dumps(SCALAR)  # the line


def save_state(x, loss):
    dispatch_state.optimizer.state_dict()  # the line


def masked_zeros(x, loss):
    return sg.zeros(x[x > 0].shape[0])  # the line


def masked_layout(x, loss):
    return x[x > 0].T.stride()  # the line


def change_requires_grad(x, loss):
    SCALAR.requires_grad_(True)  # the line


def write_lr(x, loss):
    dispatch_state.optimizer.lr = 0.5  # the line


def step_scheduler(x, loss):
    optim.lr_scheduler.StepLR(dispatch_state.optimizer, 1).step()  # the line


def seed(x, loss):
    sg.manual_seed(3)  # the line


def change_result_unrecorded(x, loss):
    y = x * TRAINED
    with sg.no_grad():
        y.mul_(2)  # the line


def change_argument_unrecorded(x, loss):
    x.mul_(TRAINED)
    x.detach().add_(1)  # the line


def give_result_other_data(x, loss):
    y = x * TRAINED
    y.data = x  # the line


def use_old_stopped(x, loss):
    y = x * 1
    stopped = sg.stop_gradient(y)
    y.mul_(2)
    stopped + 1  # the line


def use_view_of_detached(x, loss):
    y = x * loss
    row = y[0]
    y.detach_()
    y.mul_(2)
    row + 1  # the line


def taped(x, loss):
    x + TAPED  # the line


def unordered(x, loss):
    x + COLUMNS  # the line


TRAINED = sg.tensor(2.0, requires_grad=True)
TAPED = sg.tensor([1.0], requires_grad=True) * 2
COLUMNS = sg.tensor(np.asfortranarray(batch(4, 5)))
READ_ONLY_MEMORY = np.ones(3, np.float32)
READ_ONLY_MEMORY.flags.writeable = False
READ_ONLY = sg.from_numpy(READ_ONLY_MEMORY)

VALUE = r"is traced: Python can't have {} before the compiled function runs"
REACHED = r"a tensor of shape \(\) is read by a compiled function: Python can't have {} of it"
# inside -> (text, advice)
REFUSED = {
    use_if: (VALUE.format("its truth value"), "use sg.where(condition, a, b)"),
    use_while: (VALUE.format("its truth value"), "use sg.where(condition, a, b)"),
    use_and: (VALUE.format("its truth value"), "use sg.where(condition, a, b)"),
    use_float: (VALUE.format("a number"), "return it from the compiled function"),
    use_int: (VALUE.format("a number"), "return it from the compiled function"),
    use_item: (VALUE.format("a number"), "return it from the compiled function"),
    use_tolist: (VALUE.format("a list"), "return it from the compiled function"),
    use_print: (VALUE.format("its text"), "return it from the compiled function, and print it outside"),
    use_format: (VALUE.format("its text"), "print it outside"),
    use_str: (VALUE.format("its text"), "print it outside"),
    use_asarray: (VALUE.format("an array"), "use the function of the same name in staticgrad"),
    use_numpy: (VALUE.format("an array"), "or return the tensor"),
    use_numpy_function: (VALUE.format("an array for numpy.median"), "compute it outside and pass the result"),
    use_ufunc_method: (VALUE.format("an array for numpy.add.reduce"), "compute it outside and pass the result"),
    use_in: (VALUE.format("its members"), "use sg.any(x == value)"),
    use_max: (VALUE.format("its truth value"), "use sg.where(condition, a, b)"),
    use_reached_item: (REACHED.format("a number"), "pass the value as an argument"),
    use_reached_if: (REACHED.format("its truth value"), "pass the value as an argument"),
    use_reached_numpy: (REACHED.format("an array"), "pass the value as an argument"),
    use_reached_print: (REACHED.format("the text"), "pass the value as an argument"),
    use_reached_format: (REACHED.format("a number"), "pass the value as an argument"),
    use_reached_in: (REACHED.format("the members"), "pass the value as an argument"),
    copy_reached: (REACHED.format("a copy"), "pass the value as an argument"),
    pickle_reached: (REACHED.format("a copy"), "pass the value as an argument"),
    save_state: ("is read by a compiled function: Python can't have a copy of it", "pass the value as an argument"),
    masked_zeros: (VALUE.format("a number"), "return it from the compiled function"),
    masked_layout: ("depends on values: Python can't have it before the compiled function runs", "average with mean"),
    change_requires_grad: ("requires_grad can't be changed inside a compiled function", "do it before the call"),
    write_lr: ("the hyper-parameter 'lr' is written inside a compiled function", "write it, and step schedulers, outside"),
    step_scheduler: ("the hyper-parameter 'initial_lr' is written", "step schedulers, outside"),
    seed: ("a random generator is seeded inside a compiled function", "do it outside"),
    **dict.fromkeys(
        (use_old_stopped, use_view_of_detached),
        ("is a view of a tensor that was changed in place after it was taken", "take the view again"),
    ),
    **dict.fromkeys(
        (change_result_unrecorded, change_argument_unrecorded, give_result_other_data),
        ("which is a result that requires grad, can't be traced", "or make the change outside of sg.no_grad()"),
    ),
    taped: (r"with a tape of its own \(MulBackward0\) can't enter a compiled function", "or use x.detach()"),
    unordered: ("does not lie in memory in row-major order", "x = x.contiguous()"),
}


def untouched():
    """The dispatch is as outside of any trace."""
    assert frontends.tracing == bool(marks.alive)
    assert dispatch_state.tracer is None
    assert modes.now.grad


@pytest.mark.parametrize(
    ("inside", "text", "advice"), [(k, *v) for k, v in REFUSED.items()], ids=lambda x: getattr(x, "__name__", "")
)
@pytest.mark.parametrize("first", [True, False], ids=["first call", "later"])
def test_refusals(inside, text, advice, first, monkeypatch):
    program = training()
    monkeypatch.setattr(dispatch_state, "optimizer", program.optimizers[0], raising=False)
    step = sg.compile(program.step)
    if not first:
        step(X, Y)
    before = state(program)
    with pytest.raises(StaticgradError, match=text) as caught:
        step(sg.tensor(X), sg.tensor(Y), inside)
    message = str(caught.value)
    assert f"test_refusals.py:{line_of(inside)}   " in message
    assert advice in message
    assert_same(state(program), before, "state")
    untouched()
    assert step.recompiles == ([] if first else ["first call"])
    twin = training()
    for _ in range(1 if first else 2):
        expected = twin.step(X, Y)
    generator.state = before["generator"]
    assert step(X, Y).item() == pytest.approx(expected.item(), rel=1e-5)
    assert_same(state(program), state(twin), "state")


def line_of(function):
    lines, first = inspect.getsourcelines(function)
    return next(first + i for i, line in enumerate(lines) if line.rstrip().endswith("# the line"))


def test_repr_is_for_debuggers():
    seen, names = [], {}
    exec(compile("def shown(x): return repr(x)", bdb.__file__, "exec"), names)
    sg.compile(lambda x: seen.append(names["shown"](x * 2)))(sg.tensor(X))
    assert seen[0].startswith("<sg.Symbol 'mul' f32[4,5] test_refusals.py:")


# errors of operations -------------------------------------------------------------------------------------------------


def divide(x, y):
    raise ZeroDivisionError("of the user")


def wrong_shape(net):
    return lambda x, y: F.cross_entropy(net(x) @ sg.ones(4, 4), y)


def interrupted(x, y):
    raise KeyboardInterrupt


# (what the step computes, arguments, error, text)
FAILURES = {
    "of the user": (lambda net: divide, (X, Y), ZeroDivisionError, "of the user"),
    "Ctrl-C": (lambda net: interrupted, (X, Y), KeyboardInterrupt, None),
    "shape": (wrong_shape, (X, Y), sg.ShapeError, r"matmul: inner sizes differ, \(4, 3\) @ \(4, 4\)"),
    "shape of a layer": (lambda net: lambda x, y: net(x), (X[:, :3], Y), sg.ShapeError, "mat1 and mat2 shapes cannot"),
    "labels of floats": (
        lambda net: lambda x, y: F.cross_entropy(net(x), y), (X, Y.astype(np.float32)), sg.DTypeError, "must be integers",
    ),
    "more labels": (
        lambda net: lambda x, y: F.cross_entropy(net(x), y), (X, labels(5, 3)), sg.ShapeError,
        r"Expected input batch_size \(4\) to match target batch_size \(5\)",
    ),
    "no gradient": (lambda net: lambda x, y: sg.tensor(1.0), (X, Y), sg.GradientError, "does not require grad"),
    "no scalar": (
        lambda net: lambda x, y: net(x), (X, Y), sg.GradientError,
        r"grad can be implicitly created only for scalar outputs, this one has shape \(4, 3\)",
    ),
    "argument": (lambda net: lambda x, y: net(x).sum(axis=5), (X, Y), sg.ArgumentError, "axis 5 is out of range"),
    "index": (
        lambda net: lambda x, y: range(net(x).sum()), (X, Y), sg.StaticgradError,
        "only integer tensors can be converted to an index, got float32",
    ),
    "read-only": (
        lambda net: lambda x, y: READ_ONLY.add_(1), (X, Y), sg.StaticgradError, "add_: this tensor's memory is read-only",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("compute", "args", "error", "text"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("first", [True, False], ids=["first call", "later"])
def test_errors_leave_what_eager_mode_leaves(compute, args, error, text, first):
    """What the step did before the error is done; a trace that Ctrl-C ends has done nothing."""
    programs = []
    for wrap in (lambda step: step, sg.compile):
        sg.manual_seed(8)
        net = nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.2), nn.Linear(8, 3))
        opt = optim.AdamW(net.parameters(), lr=0.01)
        program = Program(F.relu, of(net), (opt,))
        now = {"compute": lambda x, y, net=net: F.cross_entropy(net(x), y)}

        @wrap
        def step(x, y, net=net, opt=opt, now=now):
            opt.zero_grad()
            if x.shape == X.shape:  # an update before it fails
                F.cross_entropy(net(x), Y).backward()
                opt.step()
            loss = now["compute"](x, y)
            loss.backward()
            return loss

        given, usual = [sg.tensor(x) for x in args], [sg.tensor(X), sg.tensor(Y)]
        if not first:
            step(*usual)
        before = state(program)
        now["compute"] = compute(net)
        with pytest.raises(error, match=text) as caught:
            step(*given)
        if isinstance(caught.value, sg.StaticgradError):
            assert "test_refusals.py:" in str(caught.value)
        if error is KeyboardInterrupt:
            if not isinstance(step, FunctionType):
                assert_same(state(program), before, "state")
            continue
        programs.append(state(program))
        untouched()
        now["compute"] = lambda x, y, net=net: F.cross_entropy(net(x), y)
        step(*usual)
        programs.append(state(program))
    assert_same(programs[len(programs) // 2 :], programs[: len(programs) // 2], "state")


def test_a_label_out_of_range_is_found_by_the_run():
    """Parameters, moments, step count and generator are those of eager mode, and the next call is right."""
    programs = []
    for wrap in (lambda step: step, sg.compile):
        program = training()
        step = wrap(program.step)
        step(X, Y)
        bad = Y.copy()
        bad[2] = 3
        with pytest.raises(sg.IndexRangeError) as caught:
            step(X, bad)
        assert "test_refusals.py:" in str(caught.value)
        assert "Target 3 is out of bounds." in str(caught.value)
        step(X, Y)
        programs.append(program)
    assert_same(state(programs[1]), state(programs[0]), "state")


def test_values_that_leave_the_trace():
    kept = []

    @sg.compile
    def step(x):
        kept.append(x * 2)
        return x.sum()

    step(X)
    for use in (lambda y: y + 1, lambda y: sg.exp(y), lambda y: sg.ones(4, 5) * y):
        assert use(kept[0]).shape == (4, 5)
    np.testing.assert_array_equal(sg.compile(lambda x: x + kept[0])(X), X * 3)
    untouched()


def test_values_that_leave_the_trace_unseen():
    """NumPy would keep it, whose frames are not observed: refused where it is called."""
    kept = []

    @sg.compile
    def step(x):
        np.fromfunction(functools.partial(kept.append, x * 2), ())
        return x.sum()

    with pytest.raises(sg.TraceError, match=r"fromfunction calls list\.append inside a compiled function"):
        step(X)
    assert kept == []
    untouched()


def test_symbols_of_a_graph_are_no_arguments():
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, (2,))
        with pytest.raises(sg.TraceError, match='a compiled function takes values, got "placeholder"'):
            sg.compile(lambda x: x)(x)


def test_a_graph_that_is_being_built_is_left_alone():
    with sg.Graph().as_default() as graph, sg.control_dependencies([sg.constant(1.0)]):
        n = len(graph)
        np.testing.assert_array_equal(sg.compile(lambda x: x * 2)(X), X * 2)
        assert len(graph) == n


def test_anomalies_are_looked_for_op_by_op():
    w = sg.tensor([0.0], requires_grad=True)

    @sg.compile
    def step(x):
        w.grad = None
        (sg.sqrt(w) * x).sum().backward()

    step(np.zeros(1, np.float32))
    assert np.isnan(w.grad.numpy()).all()
    with sg.detect_anomaly(), pytest.raises(sg.AnomalyError, match="returned nan values"):
        step(np.zeros(1, np.float32))
