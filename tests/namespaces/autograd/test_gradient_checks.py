"""`gradcheck` and `gradgradcheck`: right gradients pass, wrong ones are found, with PyTorch's texts."""

from __future__ import annotations

import pytest

from tests.helpers import raised


def leaf(T, *values, dtype=None):
    return T.tensor(values, dtype=dtype or T.float64, requires_grad=True)


def custom(T, backward):
    class Custom(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, g):
            return backward(ctx.saved_tensors[0], g)

    return Custom.apply


RIGHT = {
    "elementwise": lambda x, y: x.exp() * y.sin(),
    "two results": lambda x, y: (x * y, (x - y).sum()),
    "one is used": lambda x, y: x**3,
    "integers beside": lambda x, y: (x * y, x.argmax()),
    "matrix": lambda x, y: x.reshape(2, 1) @ y.reshape(1, 2),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_gradients(T, name):
    inputs = leaf(T, 0.5, -1.5), leaf(T, 2.0, 3.0)
    assert T.autograd.gradcheck(RIGHT[name], inputs)
    assert T.autograd.gradcheck(RIGHT[name], inputs, check_batched_grad=name != "integers beside")
    assert T.autograd.gradgradcheck(RIGHT[name], inputs)


def test_right_function(T):
    assert T.autograd.gradcheck(custom(T, lambda x, g: 2 * x * g), leaf(T, 1.0, 2.0))
    assert T.autograd.gradgradcheck(custom(T, lambda x, g: 2 * x * g), (leaf(T, 1.0, 2.0),))


@pytest.mark.parametrize("check", ["gradcheck", "gradgradcheck"])
def test_wrong_gradients(T, check):
    wrong = custom(T, lambda x, g: x * g) if check == "gradcheck" else custom(T, lambda x, g: 2 * x.detach() * g)
    run = getattr(T.autograd, check)
    assert run(wrong, (leaf(T, 1.0, 2.0),), raise_exception=False) is False
    with raised(RuntimeError, "Jacobian mismatch for output 0 with respect to input 0,\nnumerical:tensor("):
        run(wrong, (leaf(T, 1.0, 2.0),))


def test_not_reentrant(T):
    calls = []

    def backward(x, g):
        calls.append(1)
        return 2 * x * g + 1e-9 * len(calls)

    with raised(RuntimeError, "Backward is not reentrant"):
        T.autograd.gradcheck(custom(T, backward), leaf(T, 1.0, 2.0), check_undefined_grad=False)
    assert T.autograd.gradcheck(custom(T, lambda x, g: 2 * x * g), leaf(T, 1.0), nondet_tol=1e-6)


def test_gradient_without_cotangent(T):
    with raised(RuntimeError, "backward not multiplied by grad_output"):
        T.autograd.gradcheck(custom(T, lambda x, g: 2 * x + 0 * g), leaf(T, 1.0))


def test_wrong_inputs(T):
    with raised(ValueError, "gradcheck expects at least one input tensor to require gradient, but none of"):
        T.autograd.gradcheck(lambda x: x, (T.ones(2),))
    with pytest.warns(UserWarning, match="^Input #0 requires gradient and is not a double precision floating point"):
        T.autograd.gradcheck(lambda x: x * 2, (leaf(T, 1.0, dtype=T.float32),), atol=1, eps=1e-2)
    with raised(AssertionError, "Expected at least one of check_forward_ad or check_backward_ad to be True"):
        T.autograd.gradcheck(lambda x: x, (leaf(T, 1.0),), check_backward_ad=False)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_forward_mode(T):
    x, y = leaf(T, 0.5, 1.5), leaf(T, 2.0, -1.0)
    assert T.autograd.gradcheck(lambda a, b: ((a * b).sin(), a.sum()), (x, y), check_forward_ad=True)
    assert T.autograd.gradcheck(lambda a: a.exp() * a, x, check_forward_ad=True, check_backward_ad=False)

    class Wrong(T.autograd.Function):
        @staticmethod
        def forward(a):
            return a * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 3

    with raised(RuntimeError, "Jacobian computed with forward mode mismatch for output 0 with respect to input 0"):
        T.autograd.gradcheck(Wrong.apply, x, check_forward_ad=True)
