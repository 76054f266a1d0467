"""The backward pass: accumulation, freeing, hooks, targets, double backward, anomalies, memory, threads."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager import Tensor
from staticgrad.eager.backward_hooks import Held
from staticgrad.eager.tape import Record
from tests.helpers import assert_close

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


def leaf(*values: float) -> Tensor:
    return sg.tensor(values if len(values) != 1 else values[0], dtype=sg.float64, requires_grad=True)


# accumulation and freeing -----------------------------------------------------------------------------------


def test_gradients_accumulate_in_place():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    first = x.grad
    (x * x).sum().backward()
    assert x.grad is first
    assert first.tolist() == [4.0, 8.0]


def test_gradients_of_two_leaves_never_share_their_memory():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seed = sg.tensor([1.0, 1.0], dtype=sg.float64)
    (x + y).backward(seed)
    x.grad.fill_(7)
    assert y.grad.tolist() == [1.0, 1.0]
    assert seed.tolist() == [1.0, 1.0]
    x.grad = None
    x.sum().backward()
    x.grad += 1  # not a read-only broadcast
    assert x.grad.tolist() == [2.0, 2.0]


def test_grad_returns_what_rules_pass_on_as_pytorch_does():
    x, y, seed = leaf(1.0, 2.0), leaf(3.0, 4.0), sg.tensor([5.0, 6.0], dtype=sg.float64)
    assert all(g is seed for g in sg.grad(x + y, [x, y], seed))
    assert sg.grad(x.clone(), [x], seed)[0] is seed
    a, b = sg.grad((x + y).exp(), [x, y], seed)
    assert a is b
    a += 1
    assert a._version == 1
    total = (leaf(1.0, 2.0) * seed).sum()
    sg.grad(x + y, [x], seed)[0].add_(1)
    with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
        total.backward()


def test_grad_returns_views_as_pytorch_does():
    x, seed = sg.ones(3, 4, requires_grad=True), sg.ones(4, 3)
    (g,) = sg.grad(x.T, [x], seed)
    assert g.is_view
    assert g.stride() == (1, 3)
    g[0, 1] = 7
    assert seed[1, 0].item() == 7
    y = sg.ones(3, 4, requires_grad=True)
    a, b = sg.grad((x.T + y.T).exp(), [x, y], sg.ones(4, 3))
    assert a is not b
    a.fill_(2)
    assert b.tolist() == a.tolist()
    assert b._version == 1


@pytest.mark.parametrize(("axis", "strides"), [(None, (0, 0)), (0, (0, 1)), (1, (1, 0))])
@pytest.mark.parametrize("size", [3, 200])
def test_the_gradient_of_a_sum_is_expanded(axis: Any, strides: tuple[int, ...], size: int):
    x = sg.ones(size, size, requires_grad=True)
    total = x.sum() if axis is None else x.sum(axis)
    (g,) = sg.grad(total, [x], sg.ones_like(total))
    assert g.stride() == strides
    with pytest.raises(sg.GradientError, match="single memory location"):
        g += 1
    total.backward(sg.ones_like(total)) if axis is not None else total.backward()
    assert x.grad.is_contiguous()


def test_second_backward_is_an_error_with_pytorchs_text():
    x = leaf(3.0)
    y = x * x
    y.backward()
    with pytest.raises(sg.GradientError) as caught:
        y.backward()
    assert caught.value.summary == FREED
    assert x.grad.item() == 6.0, "nothing was added"


def test_what_saves_nothing_can_be_walked_again():
    x = leaf(3.0, 4.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_retain_graph():
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    assert not y.grad_fn.freed
    y.backward()
    assert x.grad.item() == 12.0
    assert y.grad_fn.freed


def test_backward_through_a_part_that_another_backward_freed():
    x = leaf(2.0)
    shared = x.exp()
    a, b = shared * 2, shared * 3
    a.backward()
    with pytest.raises(sg.GradientError, match=r"^Trying to backward through the graph a second time"):
        b.backward()


def test_a_failing_backward_changes_nothing():
    x, y = leaf(2.0), leaf(3.0)
    hidden = x.exp()
    loss = hidden * y + y
    with sg.no_grad():
        hidden.zero_()
    hidden.retain_grad()
    with pytest.raises(sg.GradientError, match=r"modified by an inplace operation"):
        loss.backward()
    assert x.grad is None
    assert y.grad is None
    assert hidden.grad is None
    assert not loss.grad_fn.freed


def test_memory_is_freed_by_backward():
    x = leaf(*range(1000))
    hidden = x.exp()
    y = (hidden * hidden.tanh()).sum()
    arrays = [weakref.ref(hidden._data), weakref.ref(y.grad_fn.inputs[0]._data)]
    del hidden
    y.backward()
    assert [a() for a in arrays] == [None, None], "while the result is still alive"
    assert y.grad_fn.next_functions[0][0].name() == "MulBackward0", "the shape of the tape stays"


def test_memory_is_freed_without_backward():
    gc.disable()
    try:
        x = leaf(*range(10))
        y = (x.exp() * x).sum()
        record = weakref.ref(y.grad_fn)
        del y
        assert record() is None, "no reference cycles"
        z = x * 2
        z += 1
        z.mul_(3)
        record = weakref.ref(z.grad_fn)
        del z
        assert record() is None, "none by in-place changes either"
    finally:
        gc.enable()


@pytest.mark.parametrize("keep", [lambda y: y.detach(), lambda y: y.data, lambda y: Tensor(y), lambda y: y.item()])
def test_a_detached_value_keeps_no_tape_alive(keep):
    """`losses.append(loss.detach())` must not hold the graph."""
    x = leaf(1.0)
    y = x.exp() * x
    record = weakref.ref(y.grad_fn)
    kept = keep(y)
    del y
    assert record() is None
    assert float(kept) == pytest.approx(np.e)


def test_deep_chains_need_no_recursion():
    x = leaf(1.0)
    y = x
    for _ in range(5000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1.0
    z = x
    for _ in range(5000):
        z = z * 1.0001
    (g,) = sg.grad(z, x)
    assert g.item() == pytest.approx(1.0001**5000)
    assert len(sg.graph_of(_chain(x, 3000)).nodes) > 6000
    del y, z


def _chain(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = x * 1.5
    return x


def test_shared_subexpressions_are_visited_once():
    """A tower of y = y + y has 2^50 paths."""
    x = leaf(1.0)
    y = x
    for _ in range(50):
        y = y + y
    calls = []
    y.grad_fn.inputs[0].register_hook(calls.append)
    y.backward()
    assert x.grad.item() == 2.0**50
    assert len(calls) == 1


# seeds ------------------------------------------------------------------------------------------------------


def test_gradient_argument():
    x = leaf(1.0, 2.0)
    (x * x).backward(sg.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 40.0]
    assert x.grad.dtype == np.float64, "the seed takes the result's dtype"
    x.grad = None
    (x * x).backward(np.array([1.0, 1.0]))
    assert x.grad.tolist() == [2.0, 4.0]
    with pytest.raises(sg.ShapeError, match=r"^Mismatch in shape: grad_output\[0\] has a shape of \(3,\) and output\[0\]"):
        (x * x).backward(sg.ones(3))
    with pytest.raises(sg.DTypeError, match=r"^gradients are floating, got int64"):
        (x * x).backward(sg.tensor([1, 2]))


def test_one_element_needs_no_seed_whatever_its_shape():
    x = sg.ones(1, 1, requires_grad=True)
    (x * 3).backward()
    assert x.grad.tolist() == [[3.0]]


def test_several_roots():
    x = leaf(2.0)
    sg.autograd.backward([x * 2, x * x], [sg.tensor(1.0), sg.tensor(10.0)])
    assert x.grad.item() == 42.0
    y = x * 3
    assert sg.grad([y, y], x)[0].item() == 6.0
    with pytest.raises(sg.GradientError, match=r"got 2 tensors and 1 gradients"):
        sg.autograd.backward([x * 2, x * 2], [None])


@pytest.mark.parametrize(
    ("root", "text"),
    [
        (lambda: sg.ones(1), "element 0 of tensors does not require grad and does not have a grad_fn"),
        (lambda: sg.ones(2, requires_grad=True) * 2, "grad can be implicitly created only for scalar outputs"),
        (lambda: sg.ones(1, requires_grad=True).detach(), "element 0 of tensors does not require grad"),
        (lambda: sg.ones(1, requires_grad=True).argmax(), "element 0 of tensors does not require grad"),
    ],
    ids=["leaf", "vector", "detached", "argmax"],
)
def test_roots_that_cant_be_differentiated(root, text):
    with pytest.raises(sg.GradientError, match=f"^{text}"):
        root().backward()


def test_backward_of_a_leaf_itself():
    x = leaf(2.0)
    x.backward()
    assert x.grad.item() == 1.0


# autograd.grad and inputs= ----------------------------------------------------------------------------------


def test_grad_leaves_no_trace():
    x, y = leaf(2.0), leaf(3.0)
    gx, gy = sg.grad(x * x * y, [x, y])
    assert (gx.item(), gy.item()) == (12.0, 4.0)
    assert x.grad is None
    assert y.grad is None


def test_grad_of_a_non_leaf():
    x = leaf(2.0)
    h = x * x
    y = h.exp()
    gh, gx = sg.grad(y, [h, x])
    assert gh.item() == pytest.approx(np.exp(4))
    assert gx.item() == pytest.approx(4 * np.exp(4))
    assert sg.grad(x * 3, x)[0].item() == 3.0


def test_unused_inputs():
    x, y = leaf(2.0), leaf(3.0)
    with pytest.raises(
        sg.GradientError, match=r"^The differentiated Tensor at index 1 appears to not have been used in the graph"
    ):
        sg.grad(x * x, [x, y])
    gx, gy = sg.grad(x * x, [x, y], allow_unused=True)
    assert gx.item() == 4.0
    assert gy is None
    with pytest.raises(sg.GradientError, match=r"^One of the differentiated Tensors does not require grad"):
        sg.grad(x * x, sg.tensor(1.0))


def test_unwanted_branches_are_not_computed():
    """Only what lies between the roots and the inputs is visited, so a freed branch beside it does no harm."""
    x, y = leaf(2.0), leaf(3.0)
    branch = y.exp()
    loss = x * x + branch
    branch.backward(retain_graph=False)
    assert sg.grad(loss, x)[0].item() == 4.0


def test_inputs_limit_what_is_accumulated():
    x, y = leaf(2.0), leaf(3.0)
    h = x * y
    (h * h).backward(inputs=[x, h])
    assert x.grad.item() == 36.0
    assert y.grad is None
    assert h.grad.item() == 12.0
    with pytest.raises(sg.GradientError, match=r"^`inputs` argument to `backward\(\)` cannot be empty."):
        (x * y).backward(inputs=[])


def every_iterable(x, y):
    """The gradients of x * x * y, asked for in several ways."""
    both = {"x": x, "y": y}
    loss = x * x * y
    found = [
        sg.grad(loss, (t for t in (x, y)), retain_graph=True),
        sg.grad(iter([loss]), both.values(), grad_outputs=iter([sg.tensor(1.0)]), retain_graph=True),
    ]
    loss.backward(inputs=(t for t in (x, y)))
    return [*found, (x.grad, y.grad)]


@pytest.mark.parametrize("run", [every_iterable, sg.compile(every_iterable)], ids=["eager", "compiled"])
def test_tensors_come_in_any_iterable(run):
    for gx, gy in run(leaf(2.0), leaf(3.0)):
        assert (gx.item(), gy.item()) == (12.0, 4.0)


def test_the_parameters_of_a_module_and_a_graph_come_in_any_iterable():
    layer = sg.nn.Linear(2, 1)
    weight, bias = sg.grad(layer(sg.ones(1, 2)).sum(), layer.parameters())
    assert (weight.tolist(), bias.tolist()) == ([[1, 1]], [1])
    with sg.Graph().as_default():
        x, y = sg.placeholder(sg.float32, []), sg.placeholder(sg.float32, [])
        found = sg.gradients(iter([x * y]), (t for t in (x, y)))
        with sg.Session() as session:
            assert session.run(found, {x: 2.0, y: 3.0}) == [3.0, 2.0]


@pytest.mark.parametrize("run", [lambda f: f, sg.compile], ids=["eager", "compiled"])
def test_no_inputs_are_refused(run):
    for function in ("grad", "backward"):
        with pytest.raises(sg.GradientError, match=rf"^`inputs` argument to `{function}\(\)` cannot be empty."):
            run(lambda x, f=function: sg.grad(x * x, []) if f == "grad" else (x * x).backward(inputs=()))(leaf(2.0))


# double backward --------------------------------------------------------------------------------------------


def test_hessian_vector_product():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((4, 4))
    x, v = sg.tensor(rng.standard_normal(4), requires_grad=True), sg.tensor(rng.standard_normal(4))
    loss = (x @ sg.tensor(a) @ x) + (x**3).sum()
    (g,) = sg.grad(loss, x, create_graph=True)
    assert g.requires_grad
    (hv,) = sg.grad(g, x, v)
    exact = (a + a.T + np.diag(6 * x.detach().numpy())) @ v.numpy()
    assert_close(hv.numpy(), exact, 1e-12)


def test_third_derivative():
    x = leaf(1.3)
    y = x.sin()
    for expected in (np.cos(1.3), -np.sin(1.3), -np.cos(1.3)):
        (y,) = sg.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(expected)


def test_gradient_penalty_by_backward_with_create_graph():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = (x * w).tanh().sum()
    y.backward(create_graph=True)
    assert x.grad.requires_grad
    penalty = (x.grad**2).sum()
    w.grad = None
    penalty.backward()
    z, n = np.array([3.0, 8.0]), np.array([3.0, 4.0])
    slope = 1 - np.tanh(z) ** 2
    exact = 2 * slope**2 * n - 4 * slope**2 * np.tanh(z) * np.array([1.0, 2.0]) * n**2
    assert_close(w.grad.numpy(), exact, 1e-9)


def test_create_graph_retains_the_graph():
    x = leaf(2.0)
    y = x**3
    (g,) = sg.grad(y, x, create_graph=True)
    (g + y).backward()
    assert x.grad.item() == pytest.approx(12 + 12)


# hooks ------------------------------------------------------------------------------------------------------


def test_hook_of_a_leaf_sees_the_total_once():
    x, seen = leaf(2.0), []
    handle = x.register_hook(lambda g: seen.append(g.item()))
    (x * x + 3 * x).backward()
    assert seen == [7.0]
    assert x.grad.item() == 7.0
    handle.remove()
    handle.remove()
    (x * 1).backward()
    assert seen == [7.0]


def test_hook_of_a_result_replaces_the_gradient():
    x = leaf(2.0)
    y = x * 3
    with y.register_hook(lambda g: g * 10):
        (y * y).backward(retain_graph=True)
    assert x.grad.item() == 2 * 6 * 10 * 3
    x.grad = None
    y.register_hook(lambda g: None)
    y.register_hook(sg.ones_like)
    (y * y).backward()
    assert x.grad.item() == 3.0


def test_hooks_run_in_order_and_retain_grad_comes_last():
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: g * 2)
    y.backward()
    assert y.grad.item() == 4.0
    assert x.grad.item() == 12.0


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_a_retained_gradient_that_is_asked_for_is_added_once(mode):
    def program(x):
        y = x * 3
        y.retain_grad()
        first = (y * y).sum()
        first.backward(inputs=[y], retain_graph=True)
        once = y.grad * 1
        first.backward(inputs=[y, x])
        return once, y.grad, x.grad

    x = leaf(2.0)
    found = (sg.compile(program) if mode == "compiled" else program)(x)
    assert [g.item() for g in found] == [12.0, 24.0, 36.0]


def test_hook_on_grad_fn():
    x = leaf(2.0)
    y = x.exp()
    seen = []
    handle = y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].item(), outputs[0].item())))
    (y * 5).backward()
    assert seen == [(5 * y.item(), 5.0)]
    handle.remove()


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (1.0, "expected Variable, but hook returned 'float'"),
        (np.ones(2), "expected Variable, but hook returned 'ndarray'"),
        (sg.ones(3, dtype=sg.float64), "hook '<lambda>' has changed the size of value"),
    ],
    ids=["number", "array", "shape"],
)
def test_hook_with_a_wrong_result(bad, text):
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: bad)
    with pytest.raises(sg.GradientError, match=text):
        x.sum().backward()
    assert x.grad is None


def test_a_hook_may_compute_and_even_run_backward():
    x, other = leaf(2.0), leaf(5.0)

    def hook(g):
        assert not sg.is_grad_enabled(), "as in PyTorch, unless create_graph"
        with sg.enable_grad():
            (other * 2).backward()
        return sg.exp(np.zeros(())).double() * g * np.float64(2.0)

    y = x * 3
    y.register_hook(hook)
    y.backward()
    assert x.grad.item() == 6.0
    assert other.grad.item() == 2.0


def test_hooks_cant_be_put_where_no_gradient_comes():
    with pytest.raises(sg.GradientError, match=r"^cannot register a hook on a tensor that doesn't require gradient"):
        sg.ones(2).register_hook(print)
    with pytest.raises(sg.GradientError, match=r"^can't retain_grad on Tensor that has requires_grad=False"):
        sg.ones(2).retain_grad()


# anomalies --------------------------------------------------------------------------------------------------


def test_detect_anomaly_names_the_function_and_the_users_line():
    x = leaf(0.0)
    with sg.detect_anomaly():
        y = x.sqrt() * 0  # the line
        with pytest.raises(sg.AnomalyError) as caught:
            y.backward()
    assert caught.value.summary == "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert "test_backward.py" in caught.value.details[0]
    assert "# the line" in caught.value.details[0]
    assert x.grad is None
    (x.sqrt() * 0).backward()
    assert np.isnan(x.grad.item()), "only inside the context"


def test_detect_anomaly_outside_forward():
    x = leaf(0.0)
    y = x.sqrt() * 0
    with sg.detect_anomaly(), pytest.raises(sg.AnomalyError, match=r"forward: .*y = x\.sqrt\(\) \* 0"):
        y.backward()


# dtypes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64"])
def test_integers_cant_require_gradients(dtype):
    text = f"^only Tensors of floating point dtype can require gradients, got {dtype}"
    with pytest.raises(sg.DTypeError, match=text):
        sg.tensor([1, 0], dtype=dtype, requires_grad=True)
    x = sg.tensor([1, 0], dtype=dtype)
    with pytest.raises(sg.DTypeError, match=text):
        x.requires_grad_()
    with pytest.raises(sg.DTypeError, match=text):
        x.requires_grad = True
    assert not x.requires_grad


def test_gradients_have_the_operands_dtype():
    x, y = sg.ones(2, requires_grad=True), sg.ones(2, dtype=sg.float64, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.dtype == np.float32
    assert y.grad.dtype == np.float64


def test_requires_grad_of_a_result_cant_be_changed():
    x = leaf(1.0)
    y = x * 2
    with pytest.raises(sg.GradientError, match=r"^you can only change requires_grad flags of leaf variables."):
        y.requires_grad = False
    y.requires_grad_(True)
    assert y.grad_fn is not None


def test_results_that_depend_on_no_leaf_dont_require_grad():
    x = leaf(1.0, 2.0)
    for y in (x > 1, x.argmax(), x.detach() * 2, sg.zeros_like(x), sg.stop_gradient(x), x.long(), sg.index_along(x, 0)):
        assert not y.requires_grad
        assert y.grad_fn is None


def test_grad_setter():
    x = leaf(1.0, 2.0)
    x.grad = sg.ones(2, dtype=sg.float64)
    x.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(sg.ShapeError, match=r"^attempting to assign a gradient of size"):
        x.grad = sg.ones(3, dtype=sg.float64)
    with pytest.raises(sg.DTypeError, match=r"^assigned grad expected to be a Tensor or None but got grad of type ndarray"):
        x.grad = np.ones(2)
    x.grad = None


# threads ----------------------------------------------------------------------------------------------------


def test_threads_have_their_own_modes_and_may_run_backward_at_once():
    errors: list[Exception] = []

    def work(seed: int) -> None:
        try:
            rng = np.random.default_rng(seed)
            for _ in range(50):
                x = sg.tensor(rng.standard_normal(8), requires_grad=True)
                with sg.no_grad():
                    assert not (x * 2).requires_grad
                (x.exp() * x).sum().backward()
                v = x.detach().numpy()
                np.testing.assert_allclose(x.grad.numpy(), np.exp(v) * (1 + v), rtol=1e-12)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    with sg.no_grad():
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not errors


def test_numpys_error_state_is_left_alone():
    with np.errstate(all="raise"):
        x = leaf(0.0, -1.0)
        y = x.log() + x.sqrt() + 1 / x
        y.sum().backward()
        with pytest.raises(FloatingPointError):
            np.log(np.zeros(1))
    assert np.geterr()["divide"] == "warn"


def test_a_tape_record_names_itself():
    x = leaf(1.0, 2.0)
    y = x.log_softmax()
    assert isinstance(y.grad_fn, Record)
    assert repr(y.grad_fn).startswith("<LogSoftmaxBackward0 object at 0x")
    assert repr((x * 2).grad_fn.next_functions[0][0]).startswith("<AccumulateGrad object at 0x")


# parts of one tensor --------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[Tensor], Tensor]] = {
    "views alone": lambda x: sg.stack([x[i] * float(i) for i in range(4)]).sum(),
    "the whole first": lambda x: x.sum() + (x[0] * x[1]).sum(),
    "the whole last": lambda x: (x[0] * x[1]).sum() + x.square().sum(),
    "parts that overlap": lambda x: (x[:3] * x[1:]).sum() + x[1].sum(),
    "steps, and one number": lambda x: (x[::2] * x[::-2]).sum() + x[0, 0] * x[0, 0],
    "parts of parts": lambda x: (x[1:][0] * x[1:][1]).sum(),
    "rows by number": lambda x: sg.take(x, sg.tensor([1, 1, 2]), 0).square().sum() + x[0].sum() + x[1].sum(),
    "a concatenation": lambda x: sg.concatenate([x[2:], x, x[:1].detach()]).square().sum(),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("inner", [False, True], ids=["of a leaf", "of a result"])
def test_parts_of_one_tensor_add_up(name: str, inner: bool):
    data = np.arange(12.0).reshape(4, 3) / 7 + 0.25

    def gradients(create: bool) -> tuple[np.ndarray, np.ndarray]:
        x = sg.tensor(data, requires_grad=True)
        y = x * 1.0 if inner else x
        found = sg.grad(PARTS[name](y), x, create_graph=create)[0]
        return found.detach().numpy(), x.detach().numpy()

    in_place, left = gradients(False)
    recorded, _ = gradients(True)  # recorded: nothing is added in place
    assert_close(in_place, recorded, 1e-15)
    assert_close(left, data)


def test_adding_a_part_leaves_arrays_of_others_alone():
    """The cotangent that reaches x first is the seed's own array, which the caller keeps."""
    x = leaf(1.0, 2.0, 3.0)
    seed = sg.tensor([1.0, 1.0, 1.0], dtype=sg.float64)
    seen = []
    y = x * 1.0
    y.register_hook(lambda g: seen.append(g.tolist()))
    sg.autograd.backward([y, y[0], y[1]], [seed, sg.tensor(1.0, dtype=sg.float64), sg.tensor(1.0, dtype=sg.float64)])
    assert seen == [[2.0, 2.0, 1.0]]
    assert seed.tolist() == [1.0, 1.0, 1.0]
    assert x.grad.tolist() == [2.0, 2.0, 1.0]


def test_an_array_of_which_a_hook_took_the_tensor_away():
    """The tensor that a hook got is that of other data then."""
    array = np.ones(3)
    held = Held([])
    tensor = held.tensor(array)
    assert held.tensor(array) is tensor
    assert held.tensor(array[1:])._base is tensor
    tensor.data = Tensor([5.0, 6.0])
    assert held.tensor(array).tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64])
def test_a_gradient_has_the_order_of_its_leaf(dtype):
    leaves = {
        "transposed": (sg.arange(6, dtype=dtype).reshape(2, 3).t(), (1, 3)),
        "with steps": (sg.arange(12, dtype=dtype).reshape(3, 4)[:, ::2], (2, 1)),
        "expanded": (sg.ones(3, dtype=dtype).expand(2, 3), (3, 1)),
    }
    for x, strides in leaves.values():
        x.requires_grad_()
        step = sg.compile(lambda x=x: (x * x).sum().backward())
        for number, run in enumerate([lambda x=x: (x * x).sum().backward(), lambda x=x: x.square().sum().backward(), step], 1):
            run()
            assert number == 3 or x.grad.stride() == strides  # the plan has a new gradient, in row-major order
            assert x.grad.tolist() == (2 * number * x.detach()).tolist()
