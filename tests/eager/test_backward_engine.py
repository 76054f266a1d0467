"""What a backward pass does beside its arithmetic, as PyTorch's engine does it: hooks, callbacks, calls of nodes, anomalies."""

import functools
import gc
import threading
import warnings

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.autograd import Function, Variable
from staticgrad.eager.grad_mode import modes


def leaf(*shape):
    return sg.ones(*shape, requires_grad=True)


class Thrice(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, g):
        return g * 3


# hooks --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("create", [False, True])
def test_hooks_of_accumulated_gradients_record_as_the_pass_does(create):
    x, seen = leaf(1), []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(sg.is_grad_enabled()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x * 2).sum().backward(create_graph=create)
    assert seen == [create]
    assert sg.is_grad_enabled()


@pytest.mark.parametrize("compiled", [False, True])
def test_a_hook_that_steps_and_drops_the_gradient(compiled):
    x = leaf(2)

    def update(leaf):
        leaf.sub_(leaf.grad * 0.5)
        leaf.grad = None

    x.register_post_accumulate_grad_hook(update)

    def step():
        (x * 2).sum().backward()

    (sg.compile(step) if compiled else step)()
    assert x.tolist() == [0, 0]
    assert x.grad is None


WRONG = [
    (lambda g: 3, TypeError, "expected Variable, but hook returned 'int'"),
    (lambda g: g[:1], RuntimeError, "hook '<lambda>' has changed the size of value"),
    (lambda g: g.double(), RuntimeError, r"has changed the type of value \(was torch.FloatTensor got torch.DoubleTensor\)"),
]


@pytest.mark.parametrize(("hook", "kind", "text"), WRONG, ids=["type", "size", "dtype"])
def test_hooks_that_return_something_else(hook, kind, text):
    x = leaf(2)
    x.register_hook(hook)
    with pytest.raises(kind, match=text):
        x.sum().backward()
    assert x.grad is None


def test_a_hook_of_accumulated_gradients_returns_nothing():
    x = leaf(2)
    x.register_post_accumulate_grad_hook(lambda leaf: 5)
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        x.sum().backward()


def test_hooks_before_a_node_with_several_results():
    x, seen = leaf(3), []
    a, b, _ = x.unbind(0)

    def before(grads):
        seen.append([g is None for g in grads])
        return tuple(None if g is None else g * 2 for g in grads)

    handle = b.grad_fn.register_prehook(before)
    (a * 2 + b).sum().backward(retain_graph=True)
    assert seen == [[False, False, True]]
    assert x.grad.tolist() == [4, 2, 0]
    handle.remove()
    x.grad = None
    (a * 2 + b).sum().backward()
    assert x.grad.tolist() == [2, 1, 0]
    for _ in range(40):  # until the call is known
        x.grad = None
        a, b, _ = x.unbind(0)
        b.grad_fn.register_prehook(before)
        (a * 2 + b).sum().backward()
        assert x.grad.tolist() == [4, 2, 0]
    values, _ = leaf(4).topk(2)
    values.grad_fn.register_prehook(lambda grads: seen.append(len(grads)))
    values.sum().backward()
    assert seen[-1] == 1


FLOATS = [2.0, 1.0, 3.0, 5.0]
SEVERAL = {
    "split": (lambda x: x.split(2), 2, [1, 1, 10, 10]),
    "unbind": (lambda x: x.reshape(2, 2).unbind(), 2, [1, 1, 10, 10]),
    "chunk": (lambda x: x.chunk(2), 2, [1, 1, 10, 10]),
    "moments": (lambda x: sg.std_mean(x, correction=0), 2, None),
    "extremes": (sg.aminmax, 2, [0, 1, 0, 10]),
    "max": (lambda x: x.max(0), 1, [0, 0, 0, 1]),
    "sort": (lambda x: x.sort(), 1, [1, 1, 1, 1]),
    "eigh": (lambda x: sg.linalg.eigh(sg.diag(x)), 2, None),
    "svd": (lambda x: sg.linalg.svd(sg.diag(x)), 3, None),
    "softmax": (lambda x: (x.softmax(0),), 1, None),
    "loss": (lambda x: (sg.nn.functional.mse_loss(x, x.detach() + 1),), 1, [-0.5] * 4),
}


@pytest.mark.parametrize("create", [False, True], ids=["", "recorded"])
@pytest.mark.parametrize("case", SEVERAL)
def test_hooks_after_a_node_see_what_the_call_got_and_gave(case: str, create: bool):
    """They are called once, with the gradients of all results and of what the call read."""
    call, results, wanted = SEVERAL[case]

    def gradient(factor):
        x, seen = sg.tensor(FLOATS, requires_grad=True, dtype=sg.float64), []
        h = x * 1
        outs = [y for y in call(h) if y.requires_grad]

        def hook(inputs, outputs):
            seen.append((len(inputs), len(outputs), inputs[0].shape, inputs[0].tolist()))
            return tuple(None if g is None else g * factor for g in inputs)

        if factor is not None:
            outs[-1].grad_fn.register_hook(hook)
        (g,) = sg.grad(sum((y * 10**i).sum() for i, y in enumerate(outs)), x, create_graph=create)
        return g.tolist(), seen

    plain, _ = gradient(None)
    found, seen = gradient(3)
    assert [s[1] for s in seen] == [results]
    assert seen[0][2] in ((4,), (2, 2), (4, 4))
    assert found == pytest.approx([3 * g for g in plain])
    if wanted is not None:
        assert plain == pytest.approx(wanted)


def test_hooks_of_results_come_before_those_of_their_node():
    x, seen = leaf(6), []
    a, b, _ = (x * 1).split(2)
    a.grad_fn.register_prehook(lambda gs: seen.append("before") or tuple(None if g is None else g * 10 for g in gs))
    b.grad_fn.register_hook(lambda gi, go: seen.append(("after", gi[0].tolist(), [g is None for g in go])))
    a.register_hook(lambda g: seen.append("a"))
    b.register_hook(lambda g: seen.append("b"))
    b.retain_grad()
    (a * 2 + b).sum().backward()
    assert seen == ["a", "b", "before", ("after", [20, 20, 10, 10, 0, 0], [False, False, True])]
    assert (x.grad.tolist(), b.grad.tolist()) == ([20, 20, 10, 10, 0, 0], [1, 1])


def test_a_pass_through_a_call_ends_at_what_the_call_read():
    x = leaf(2)
    h = x * 2
    loss = sg.nn.functional.mse_loss(h * 3, h)  # one operand is made of the other
    seen = []
    loss.grad_fn.register_hook(lambda inputs, outputs: seen.append([g.tolist() for g in inputs]))
    loss.backward(retain_graph=True)
    assert seen == [[[4, 4], [-4, -4]]]
    assert x.grad.tolist() == [16, 16]
    assert [g.tolist() for g in loss.grad_fn(sg.tensor(1.0))] == seen[0]
    values, _ = sg.tensor([1.0, 2.0], requires_grad=True).split(1)
    with sg.no_grad():
        assert values.grad_fn(sg.ones(1), sg.ones(1) * 2).tolist() == [1, 2]  # nobody has asked for the other's node


def test_callbacks_come_after_the_pass():
    x, seen = leaf(1), []
    queue = Variable._execution_engine.queue_callback
    x.register_hook(lambda g: queue(lambda: seen.append(x.grad is not None)))
    (x * 2).sum().backward()
    assert seen == [True]
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        queue(print)


def test_retained_gradients_of_grad():
    x = leaf(1)
    y = x * 2
    y.retain_grad()
    sg.grad((y * 3).sum(), x)
    assert y.grad.tolist() == [3]


# nodes --------------------------------------------------------------------------------------------------------------------


def test_nodes_are_functions():
    x, z = leaf(2), sg.tensor([2.0, 3.0], requires_grad=True)
    g = sg.tensor([1.0, 10.0])
    assert [d.tolist() for d in (x * z).grad_fn(g)] == [[2, 30], [1, 10]]
    assert x.exp().grad_fn(g).tolist() == pytest.approx([np.e, 10 * np.e], rel=1e-6)
    a, _ = leaf(4).split(2)
    assert a.grad_fn(g, sg.zeros(2)).tolist() == [1, 10, 0, 0]
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
        (x * 2).grad_fn(g, g)
    accumulate = (x * 2).grad_fn.next_functions[0][0]
    assert accumulate(g) == ()
    assert x.grad.tolist() == [1, 10]
    assert Thrice.apply(x).grad_fn.apply(g).tolist() == [3, 30]
    first = x * 2
    assert (first * 2).grad_fn._sequence_nr() > first.grad_fn._sequence_nr()
    assert first.grad_fn._input_metadata[0].shape == (2,)
    assert first.grad_fn.requires_grad


# inside each other --------------------------------------------------------------------------------------------------------


def test_passes_inside_each_other_a_thousand_deep():
    class Deep(Function):
        @staticmethod
        def forward(ctx, x):
            with sg.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            if ctx.x >= 0:
                with sg.enable_grad():
                    Deep.apply(ctx.x).sum().backward()
            return g

    x = sg.tensor(1000.0, requires_grad=True)
    before = threading.active_count()
    Deep.apply(x).sum().backward()
    assert x.grad.item() == 1
    assert threading.active_count() == before
    assert sg.is_grad_enabled()


def test_an_error_in_a_pass_of_another_thread():
    class Failing(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.depth = x.item()
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if not ctx.depth:
                raise ValueError("the innermost")
            with sg.enable_grad():
                Failing.apply(sg.tensor(ctx.depth - 1, requires_grad=True)).backward()
            return g

    with pytest.raises(ValueError, match="the innermost"):
        Failing.apply(sg.tensor(100.0, requires_grad=True)).backward()


@pytest.mark.parametrize("make", [lambda y: y + 1, Thrice.apply, lambda y: sg.cat(y.split(1))], ids=["add", "function", "cat"])
def test_long_tapes_are_freed_without_recursion(make):
    y = leaf(2)
    for _ in range(3_000):
        y = make(y)
    del y


# warnings -----------------------------------------------------------------------------------------------------------------


def test_anomalies_name_both_forward_lines():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return Broken.apply(g * ctx.saved_tensors[0])

    class Broken(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * float("nan")

    x = leaf(1)
    with warnings.catch_warnings(record=True) as caught, sg.autograd.detect_anomaly():
        warnings.simplefilter("always")
        (g,) = sg.grad(Twice.apply(x).sum(), x, create_graph=True)
        with pytest.raises(sg.AnomalyError, match="Function 'BrokenBackward' returned nan values in its 0th output"):
            sg.grad(g.sum(), x)
    texts = [str(warning.message) for warning in caught]
    assert len(texts) == 2
    assert texts[0].startswith("Error detected in BrokenBackward. Traceback of forward call that caused the error:\n")
    assert "return Broken.apply(g * ctx.saved_tensors[0])" in texts[0]
    assert texts[1].startswith("\n\nPrevious calculation was induced by TwiceBackward. Traceback of forward call that induced")
    assert "sg.grad(Twice.apply(x).sum(), x, create_graph=True)" in texts[1]
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        sg.autograd.detect_anomaly()


def test_errors_of_rules_are_told_too():
    class Raising(Thrice):
        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("deliberate")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with sg.autograd.detect_anomaly(check_nan=False):
            y = Raising.apply(leaf(1))
            warnings.simplefilter("always")
            with pytest.warns(UserWarning, match="Error detected in RaisingBackward"), pytest.raises(RuntimeError):
                y.backward()


def test_a_recorded_pass_warns_once(monkeypatch):
    monkeypatch.setattr("staticgrad.operators.misuse._warned_of_cycle", False)
    x = leaf(1)
    with pytest.warns(UserWarning, match="will create a reference cycle between the parameter and its gradient"):
        (x * x).sum().backward(create_graph=True)
    (x * x).sum().backward(create_graph=True)
    x.grad = None


# inference ----------------------------------------------------------------------------------------------------------------


def made_in_inference(*shape):
    with sg.inference_mode():
        return sg.ones(*shape)


CHANGES = [lambda x: x.add_(1), lambda x: x.zero_(), lambda x: x.copy_(sg.zeros(2)), lambda x: x.__setitem__(0, 3),
           lambda x: x.view(1, 2).mul_(2), lambda x: x.detach().add_(1)]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=["add_", "zero_", "copy_", "setitem", "view", "detach"])
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("mode", ["eager", "compiled", "in segments"])
def test_inference_tensors_are_not_changed_outside(change, grad, mode):
    x = made_in_inference(2)
    if mode != "eager":
        change = sg.compile(change if mode == "compiled" else lambda x, change=change: (float(x.sum()) and None, change(x)))
        change(sg.ones(2))
        with sg.inference_mode():
            change(x.clone())
    with sg.set_grad_enabled(grad), pytest.raises(RuntimeError, match="Inplace update to inference tensor outside"):
        change(x)
    assert x.tolist() == [1, 1]
    with sg.inference_mode():
        x.add_(1)
    assert x.clone().add_(1).tolist() == [3, 3]


def numbers(x):
    with sg.inference_mode(x.is_inference()):
        return (x * 0).long()


SAVED = {
    "product": lambda x, w: x * w,
    "quotient": lambda x, w: w / x,
    "power": lambda x, w: w**x,
    "larger": lambda x, w: sg.maximum(w, x),
    "in place": lambda x, w: (w * 1).mul_(x),
    "view": lambda x, w: x.view(1, 2) @ w,
    "detached": lambda x, w: x.detach() * w,
    "layer": lambda x, w: sg.nn.functional.linear(x, sg.ones(3, 2, requires_grad=True)),
    "function": lambda x, w: Kept.apply(w, x),
    "places": lambda x, w: w.gather(0, numbers(x)),
}
NOT_SAVED = {
    "sum": lambda x, w: x + w,
    "in place": lambda x, w: (w * 1).add_(x),
    "joined": lambda x, w: sg.cat([w, x]),
    "chosen": lambda x, w: sg.where(x > 0, w, x),
    "copy": lambda x, w: x.clone() * w,
    "no gradient": lambda x, w: x * w.detach(),
}


class Kept(Function):
    @staticmethod
    def forward(ctx, w, x):
        ctx.save_for_backward(x)
        return w * 1

    @staticmethod
    def backward(ctx, g):
        return g, None


@pytest.mark.parametrize("mode", ["eager", "argument", "captured", "made inside"])
@pytest.mark.parametrize("case", SAVED)
def test_inference_tensors_are_not_saved(case, mode):
    if case == "places" and mode != "eager":
        pytest.skip("a trace bounds the places first, which is a tensor of its own")
    w, x = leaf(2), made_in_inference(2)
    run = functools.partial(SAVED[case], w=w)
    if mode == "captured":
        run = sg.compile(lambda _: SAVED[case](x, w), on_break="error")
    elif mode == "made inside":
        run = sg.compile(lambda _: SAVED[case](made_in_inference(2), w), on_break="error")
    elif mode == "argument":
        run = sg.compile(run, on_break="error")
        for _ in range(3):  # until calls take the fast path
            assert run(sg.ones(2)).requires_grad
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        run(x)
    assert SAVED[case](sg.ones(2), w).requires_grad  # and the others are, after such a tensor is gone
    if mode == "argument":
        assert run(sg.ones(2)).requires_grad


@pytest.mark.parametrize("case", SAVED)
def test_inference_tensors_are_not_saved_by_compiled_steps(case):
    w = leaf(2)
    step = sg.compile(lambda x: SAVED[case](x, w).sum().backward())
    for _ in range(2):
        step(sg.ones(2))
    w.grad = None
    if case != "places":
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            step(made_in_inference(2))
        assert w.grad is None


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("case", NOT_SAVED)
def test_inference_tensors_whose_value_no_gradient_needs(case, mode):
    w, x = leaf(2), made_in_inference(2)
    run = NOT_SAVED[case] if mode == "eager" else sg.compile(NOT_SAVED[case], on_break="error")
    for _ in range(1 if mode == "eager" else 3):  # the later calls return what the gradient needs
        w.grad = None
        y = run(x, w)
        if y.requires_grad:
            y.sum().backward()
            assert w.grad.tolist() == [1, 1]


def test_compiled_changes_of_a_captured_inference_tensor():
    x = made_in_inference(2)
    change = sg.compile(lambda: x.add_(1))
    with sg.inference_mode():
        for _ in range(3):
            change()
    for mode in (sg.no_grad(), sg.enable_grad()):
        with mode, pytest.raises(RuntimeError, match="Inplace update to inference tensor outside"):
            change()
    with sg.inference_mode():
        assert change().tolist() == [5, 5]


def test_loops_of_compiled_steps_meet_an_inference_tensor():
    w = leaf(2)
    step = sg.compile(lambda x: (x * w).sum().backward())
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        step.loop([sg.ones(2)] * 3 + [made_in_inference(2)] * 2)
    assert w.grad.tolist() == [3, 3]


def test_compiled_functions_know_inference_tensors():
    @sg.compile
    def told(x):
        return x * 2 if x.is_inference() else x * 3

    x = made_in_inference(2)
    for _ in range(3):
        assert [told(sg.ones(2)).tolist(), told(x).tolist()] == [[3, 3], [2, 2]]
    assert told.recompiles[1] == "x: a tensor of inference_mode"


def test_records_look_for_inference_tensors_as_long_as_there_are_some():
    x, w = made_in_inference(2), leaf(2)
    kept = x[:1].detach()
    del x
    assert modes.now.watched
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        w[:1] * kept
    del kept
    gc.collect()  # compiled functions of other tests are in cycles
    with sg.inference_mode():
        pass
    modes.now._left = 0
    modes.now._watch()
    assert not modes.now.watched


def test_which_tensors_are_inference_tensors():
    x, normal = made_in_inference(2), sg.ones(4)
    with sg.inference_mode():
        assert not normal.view(2, 2).is_inference()
        normal.add_(1)
        with sg.enable_grad():
            assert not (leaf(2) * 2).requires_grad
    assert normal.tolist() == [2, 2, 2, 2]
    assert x.view(1, 2).is_inference()
    assert x.detach().is_inference()
    assert not (x + 1).is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        _ = x._version


# small things ---------------------------------------------------------------------------------------------------------------


def test_arrays_of_leaves_without_recording():
    with sg.no_grad():
        assert leaf(1).numpy().tolist() == [1]
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        leaf(1).numpy()


def test_what_a_gradient_may_be():
    x = leaf(2)
    for value, kind, text in (
        (3, TypeError, "assigned grad expected to be a Tensor or None but got grad of type int"),
        (sg.ones(3), RuntimeError, r"attempting to assign a gradient of size '\[3\]' to a tensor of size '\[2\]'"),
        (sg.ones(2, dtype=sg.float64), RuntimeError, "attempting to assign a gradient with dtype 'float64'"),
        (x, RuntimeError, "can't assign Variable as its own grad"),
    ):
        with pytest.raises(kind, match=text):
            x.grad = value


def test_hooks_of_saved_values_change_nothing():
    x = leaf(2) * 1

    def pack(tensor):
        return tensor.mul_(2)

    with (
        sg.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed),
        pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"),
    ):
        x * x


def test_hooks_of_a_tensor_are_in_a_dict():
    x = leaf(1)
    assert x._backward_hooks is None
    handle = x.register_hook(print)
    assert list(x._backward_hooks) == [handle.id]


def test_inplace_changes_behind_a_backward_hook_of_a_module():
    net = nn.ReLU(inplace=True)
    net.register_full_backward_hook(print)
    with pytest.raises(RuntimeError, match="Output 0 of BackwardHookFunction is a view and is being modified inplace"):
        net(leaf(1) * 1)


def test_calls_with_a_plan_do_not_save_inference_tensors():
    w, b, normal = leaf(64), leaf(64), sg.ones(256, 64)
    x = made_in_inference(256, 64)
    with sg.eager_kernels(True, wait=True):
        for _ in range(4):
            assert sg.nn.functional.layer_norm(normal, (64,), w, b).requires_grad
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
            sg.nn.functional.layer_norm(x, (64,), w, b)
        assert sg.nn.functional.layer_norm(normal, (64,), w, b).requires_grad
