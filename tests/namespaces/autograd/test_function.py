"""`autograd.Function`: eagerly as in PyTorch; in a compiled function and in a graph as eagerly."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import GradientError
from staticgrad.autograd import Function
from tests.helpers import raised

pytestmark = pytest.mark.usefixtures("refusing")


def exponential(T: Any) -> Any:
    class Exp(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            ctx.factor = 3
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    return Exp


def square(T: Any) -> Any:
    class Square(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    return Square


def two_results(T: Any, seen: list[Any]) -> Any:
    class Two(T.autograd.Function):
        @staticmethod
        def forward(a, b, c):
            return a * b, a + c * b, "text"

        @staticmethod
        def setup_context(ctx, inputs, output):
            a, b, c = inputs
            ctx.save_for_backward(a, b, output[0])
            ctx.c = c

        @staticmethod
        def backward(ctx, g1, g2, g3):
            a, b, out = ctx.saved_tensors
            seen.append((ctx.needs_input_grad, g3))
            return g1 * b + g2 + 0 * out, g1 * a + g2 * ctx.c, None

    return Two


def leaf(T: Any, *values: float) -> Any:
    return T.tensor(values, dtype=T.float64, requires_grad=True)


def test_three_derivatives(T):
    x = leaf(T, 1.0, 2.0)
    y = exponential(T).apply(x)
    assert (y.grad_fn.name(), y.grad_fn.factor, type(y.grad_fn).__name__) == ("ExpBackward", 3, "ExpBackward")
    for _ in range(3):
        (y,) = T.autograd.grad(y.sum(), x, create_graph=True)
        np.testing.assert_allclose(y.detach().numpy(), np.exp([1.0, 2.0]), rtol=1e-14)


def test_several_results(T):
    seen = []
    a, b = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    p, q, text = two_results(T, seen).apply(a, b, 5.0)
    assert text == "text"
    assert p.grad_fn is q.grad_fn
    first = T.autograd.grad((p * p).sum() + q.sum(), [a, b], create_graph=True)
    assert [g.tolist() for g in first] == [[19.0, 65.0], [11.0, 37.0]]
    second = T.autograd.grad(first[0].sum() + (first[1] ** 2).sum(), [a, b])
    assert [g.tolist() for g in second] == [[282.0, 2400.0], [56.0, 624.0]]
    assert seen[0] == ((True, True, False), None)
    p, *_ = two_results(T, seen).apply(a, b, 5.0)
    p.sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([3.0, 4.0], [1.0, 2.0])
    with raised(RuntimeError, "Trying to backward through the graph a second time"):
        p.sum().backward()


def test_node(T):
    x = leaf(T, 1.0, 2.0)
    y = square(T).apply(x)
    assert y.grad_fn is y.grad_fn
    assert y.grad_fn.next_functions[0][0].variable is x
    assert [t.tolist() for t in y.grad_fn.saved_tensors] == [[1.0, 2.0]]
    seen = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].tolist(), outputs[0].tolist())))
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 3,))
    y.sum().backward()
    assert seen == [([6.0, 12.0], [3.0, 3.0])]
    assert x.grad.tolist() == [6.0, 12.0]


def test_dirty(T):
    class Double(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(T, 1.0, 2.0)
    h = x * 1
    assert Double.apply(h) is h
    assert (h.tolist(), h.grad_fn.name(), h._version) == ([2.0, 4.0], "DoubleBackward", 2)
    h.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with raised(RuntimeError, "a leaf Variable that requires grad has been used in an in-place operation."):
        Double.apply(leaf(T, 1.0))


def test_not_differentiable(T):
    seen = []

    class Parts(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y, place, z = x * 2, x.argmax(), x.clone()
            ctx.mark_non_differentiable(z)
            ctx.set_materialize_grads(False)
            return y, place, z

        @staticmethod
        def backward(ctx, g, *others):
            seen.append([other is None for other in others])
            return None if g is None else g * 2

    x = leaf(T, 1.0, 2.0)
    results = Parts.apply(x)
    assert [r.requires_grad for r in results] == [True, False, False]
    results[0].sum().backward()
    assert seen == [[True, True]]
    assert x.grad.tolist() == [2.0, 2.0]


def test_zeros_for_results_without_a_gradient(T):
    x = leaf(T, 1.0, 2.0)
    y = leaf(T, 3.0, 4.0)
    _, q, _ = two_results(T, []).apply(x, y, 2.0)
    assert [g.tolist() for g in T.autograd.grad(q.sum(), [x, y])] == [[1.0, 1.0], [2.0, 2.0]]


def test_argument_as_result(T):
    class Through(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = leaf(T, 1.0)
    y = Through.apply(x)
    assert y is not x
    assert T.autograd.grad(y.sum(), x)[0].tolist() == [7.0]


def test_no_recording(T):
    x = leaf(T, 2.0)
    with T.no_grad():
        assert not square(T).apply(x).requires_grad
    assert not square(T).apply(x.detach()).requires_grad


def test_broadcast_and_cast_gradients(T):
    class Wide(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return T.ones(4, 2) * g

    x = leaf(T, 1.0, 2.0)
    Wide.apply(x).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]
    assert x.grad.dtype == T.float64


def test_once_differentiable(T):
    class Once(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @T.autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x, w = leaf(T, 1.0, 2.0), leaf(T, 1.0, 1.0)
    (g,) = T.autograd.grad((Once.apply(x) * w).sum(), x, create_graph=True)
    assert g.tolist() == [2.0, 4.0]
    with raised(RuntimeError, "trying to differentiate twice a function that was marked with @once_differentiable"):
        g.sum().backward()


def test_saved_value_is_changed(T):
    x = leaf(T, 1.0) * 1
    y = square(T).apply(x)
    x.add_(1)
    with raised(RuntimeError, "one of the variables needed for gradient computation has been modified by an inplace operation"):
        y.sum().backward()


def wrong(T: Any, backward: Any = lambda ctx, g: g, forward: Any = lambda ctx, *args: args[0] * 2) -> Any:
    return type("Wrong", (T.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


@pytest.mark.parametrize(
    ("options", "count", "error", "text"),
    [
        ({}, 2, RuntimeError, "function WrongBackward returned an incorrect number of gradients (expected 2, got 1)"),
        (
            {"backward": lambda ctx, g: g.new_ones(5)}, 1, (RuntimeError, ValueError),
            "Function WrongBackward returned an invalid gradient at index 0 - got",
        ),
        (
            {"backward": lambda ctx, g: (g, g)}, 1, RuntimeError,
            "function WrongBackward returned an incorrect number of gradients (expected 1, got 2)",
        ),
        (
            {"forward": lambda ctx, x: ctx.save_for_backward(3) or x * 2}, 1, TypeError,
            "save_for_backward can only save variables, but argument 0 is of type int",
        ),
    ],
    ids=["too few", "shape", "too many", "saved number"],
)  # fmt: skip
def test_wrong_functions(T, options, count, error, text):
    x = leaf(T, 1.0, 2.0)
    with raised(error, text):
        wrong(T, **options).apply(*[x] * count).sum().backward()


def test_tape_is_gone_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        x = leaf(sg, 1.0)
        y = exponential(sg).apply(x)
        p, q, _ = two_results(sg, []).apply(y, x, 1.0)
        loss = (p + q).sum()
        seen = [weakref.ref(t) for t in (y, p, q, loss, y._record, p._record, loss._record)]
        del y, p, q, loss
        assert [r() for r in seen] == [None] * len(seen)
    finally:
        gc.enable()


# other modes ----------------------------------------------------------------------------------------------------------------


class Clipped(sg.autograd.Function):
    """exp, whose gradient is clipped."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        ctx.factor = 3
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return sg.clip(g * y * ctx.factor, -5, 5)


Two = two_results(sg, [])


def mixed(x: Any, w: Any) -> tuple[Any, ...]:
    y = Clipped.apply(x * w)
    p, q, _ = Two.apply(y, w, 5.0)
    return y, p, q


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("numerics", ["fast", "strict"])
def test_compiled(dtype, numerics):
    def step(x):
        y, p, q = mixed(x, w)
        (g,) = sg.grad((p * p).sum() + q.sum(), [w], create_graph=True)
        (g.sum() + p.sum() + q.sum()).backward()
        return y, p, q, g

    x = sg.tensor(np.array([0.1, 0.2], dtype))
    found = []
    for run in (step, sg.compile(step, numerics=numerics)):
        w = sg.tensor(np.array([1.0, 2.0], dtype), requires_grad=True)
        found.append([t.detach().numpy() for t in run(x)] + [w.grad.numpy()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6 if dtype == np.float32 else 1e-13)


def test_in_a_graph():
    x0, w0 = np.array([0.1, 0.2]), np.array([1.0, 2.0])
    x, w = sg.tensor(x0), sg.tensor(w0, requires_grad=True)
    y, p, q = mixed(x, w)
    (g,) = sg.grad((p * p).sum() + q.sum(), [w], create_graph=True)
    (gg,) = sg.grad(g.sum(), [w])
    with sg.Graph().as_default() as graph:
        variable, given = sg.Variable(w0, name="w"), sg.placeholder(shape=(2,), dtype=sg.float64)
        sy, sp, sq = mixed(given, variable)
        (sgrad,) = sg.gradients((sp * sp).sum() + sq.sum(), [variable])
        (second,) = sg.gradients(sgrad.sum(), [variable])
    with sg.Session(graph=graph) as session:
        session.run(variable.initializer)
        found = session.run([sy, sp, sq, sgrad, second], {given: x0})
    for a, b in zip(found, (y, p, q, g, gg), strict=True):
        np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-13)


class Thrice(sg.autograd.Function):
    """x squared, with three times its gradient."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 6 * x * g


def in_a_loop(x, w):
    return sg.scan(lambda c, row: (Thrice.apply(c * w) + row,) * 2, sg.ones(2, dtype=x.dtype), x)[1].sum()


def in_a_branch(x, w):
    return sg.cond(x.sum() > 0, lambda: Thrice.apply(x[0] * w), lambda: x[0] * w).sum()


@pytest.mark.parametrize("program", [in_a_loop, in_a_branch])
def test_in_loops_and_branches(program):
    x = sg.tensor(np.array([[0.1, 0.2], [0.3, -0.1], [0.2, 0.1]]))

    def step(x):
        program(x, w).backward()

    found = []
    for run in (step, sg.compile(step)):
        w = sg.tensor(np.array([0.5, 0.7]), requires_grad=True)
        run(x)
        found.append(w.grad.numpy())
    np.testing.assert_allclose(*found, rtol=1e-13)
    with pytest.raises(sg.CompileError, match=r"can't repeat the gradient of Thrice, an autograd\.Function"):
        sg.compile(step, numerics="strict")(x)


def test_tape_of_a_call_is_no_graph():
    with raised(sg.GraphError, "ThriceBackward is the call of an autograd.Function"):
        sg.graph_of(Thrice.apply(sg.ones(2, requires_grad=True)).sum())


def test_compiled_function_that_needs_values():
    class ByNumPy(sg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return sg.from_numpy(np.sin(x.detach().numpy()))

        @staticmethod
        def backward(ctx, g):
            return g

    w = sg.ones(2, requires_grad=True)
    assert ByNumPy.apply(w).requires_grad
    with pytest.raises(sg.TraceError) as caught:
        sg.compile(lambda: ByNumPy.apply(w * 2).sum())()
    assert "ByNumPy.forward needs values: in a graph or a compiled function it has to be made of" in str(caught.value)


def test_backward_twice_when_compiled():
    w = sg.ones(2, requires_grad=True)

    def step():
        loss = Clipped.apply(w).sum()
        loss.backward()
        loss.backward()

    with raised(sg.GradientError, "Trying to backward through the graph a second time"):
        sg.compile(step)()


# results ------------------------------------------------------------------------------------------------------------------


def _function(forward, backward=lambda ctx, *grads: grads[0]):
    return type("Made", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}).apply


def test_one_result_returned_twice():
    seen = []

    def forward(ctx, x):
        y = x * 2
        return y, y

    def backward(ctx, a, b):
        seen.append((a.item(), b.item()))
        return a + 10 * b

    x = sg.ones(1, requires_grad=True)
    a, b = _function(forward, backward)(x)
    assert a is b
    (a * 2 + b * 3).sum().backward()
    assert seen == [(0, 5)]
    assert x.grad.tolist() == [50]


def test_an_argument_returned_twice():
    x = sg.ones(1, requires_grad=True)
    a, b = _function(lambda ctx, x: (x, x), lambda ctx, a, b: a * 3 + b * 5)(x)
    assert a is not b
    (a + b).sum().backward()
    assert x.grad.tolist() == [8]


@pytest.mark.parametrize(
    ("forward", "text"),
    [
        (lambda ctx, x: x, "created inside a custom Function"),
        (lambda ctx, x: x.view(-1), "created inside a custom Function"),
        (lambda ctx, x: (x.view(-1), x * 1), "output of a function that returns multiple views"),
    ],
    ids=["argument", "view", "several"],
)
def test_views_that_functions_return_are_not_changed(forward, text):
    made = _function(forward)(sg.ones(2, requires_grad=True) * 1)
    y = made[0] if isinstance(made, tuple) else made
    with pytest.raises(RuntimeError, match=f"^Output 0 of Made is a view and is being modified inplace.*{text}"):
        y.add_(1)


def test_results_that_are_no_tensors():
    x = sg.ones(1, requires_grad=True)
    assert [y.item() for y in _function(lambda ctx, x: [x * 1, x * 2])(x)] == [1, 2]
    assert _function(lambda ctx, x: None)(x) is None


def test_a_kept_ctx_has_its_tensors():
    kept = []

    def forward(ctx, x):
        kept.append(ctx)
        ctx.save_for_backward(x)
        return x * 1

    x = sg.ones(1, requires_grad=True)
    _function(forward)(x)
    assert kept[0].saved_tensors[0] is x
    _function(forward)(x).sum().backward()
    with pytest.raises(GradientError, match="Trying to backward through the graph a second time"):
        _ = kept[1].saved_tensors


def test_dirty_views_of_functions_with_several_results():
    def forward(ctx, x):
        ctx.mark_dirty(x.mul_(2))
        return x, x * 1

    with pytest.raises(GradientError, match="modifies inplace an input that is a view of another Tensor"):
        _function(forward)((sg.ones(4, requires_grad=True) * 1)[:2])


def test_a_dirty_tensor_that_is_no_argument():
    def forward(ctx, x):
        y = x * 1
        ctx.mark_dirty(y)
        return y

    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        assert _function(forward)(sg.ones(1, requires_grad=True)).item() == 1


def test_vjp_and_backward():
    members = {name: staticmethod(lambda ctx, g: g) for name in ("vjp", "backward")}
    made = type("Both", (Function,), {"forward": staticmethod(lambda ctx, x: x * 1), **members})
    with pytest.raises(GradientError, match="Implementing both 'backward' and 'vjp' for a custom Function is not allowed"):
        made.apply(sg.ones(1, requires_grad=True)).backward()


def test_an_inplace_function():
    class Double(sg.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, x, inplace=False):
            if inplace:
                ctx.mark_dirty(x)
            return x.mul_(2) if inplace else x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    x = sg.ones(1, requires_grad=True)
    y = x * 1
    assert Double.apply(y, True) is y
    y.sum().backward()
    assert x.grad.tolist() == [2]
    assert Double.apply(x).tolist() == [2]


def test_the_context_is_the_node():
    seen = []

    class Twice(sg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(ctx)
            assert not hasattr(ctx, "next_functions")  # it is on no tape yet
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx)
            return g * 2

    x = sg.ones(2, requires_grad=True)
    y = Twice.apply(x)
    assert y.grad_fn is seen[0]
    assert y.grad_fn.next_functions[0][0].variable is x
    y.sum().backward()
    assert seen[1] is y.grad_fn
    node = Twice.apply(x).grad_fn  # keeps the tape
    assert node.next_functions[0][0].variable is x
    freed = weakref.ref(seen.pop())
    del node
    gc.collect()
    assert freed() is None
