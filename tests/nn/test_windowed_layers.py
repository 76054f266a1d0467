"""Convolution and pooling layers: settings, parameters, and errors in PyTorch's words with the user's line."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.functional as F
from staticgrad import nn
from staticgrad.errors import ArgumentError, ShapeError
from tests.helpers import assert_close


def zeros(*shape: int) -> sg.Tensor:
    return sg.zeros(shape)


ERRORS = [
    (lambda: F.conv2d(zeros(2, 1, 9, 9), zeros(8, 3, 5, 5)), ShapeError,
     "Given groups=1, weight of size [8, 3, 5, 5], expected input[2, 1, 9, 9] to have 3 channels, but got 1 channels"),
    (lambda: F.conv2d(zeros(2, 1, 3, 3), zeros(8, 1, 5, 5)), ShapeError,
     "Calculated padded input size per channel: (3 x 3). Kernel size: (5 x 5). Kernel size can't be greater than"),
    (lambda: F.conv2d(zeros(2, 1, 5, 5), zeros(8, 1, 3, 3), dilation=3), ShapeError,
     "Calculated padded input size per channel: (5 x 5). Kernel size: (7 x 7)."),
    (lambda: F.conv2d(zeros(2, 3), zeros(8, 1, 5, 5)), ShapeError,
     "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [2, 3]"),
    (lambda: F.conv2d(zeros(2, 1, 9, 9), zeros(8, 1, 5)), ShapeError, "conv2d: the weight needs 4 axes"),
    (lambda: F.conv2d(zeros(2, 1, 9, 9), zeros(8, 1, 5, 5), zeros(3)), ShapeError,
     "Given weight of size [8, 1, 5, 5], expected bias to be 1-dimensional with 8 elements, but got bias of size [3]"),
    (lambda: F.conv2d(zeros(2, 4, 9, 9), zeros(3, 2, 5, 5), groups=2), ShapeError,
     "Given groups=2, expected weight to be divisible by 2 at dimension 0, but got weight of size [[3, 2, 5, 5]]"),
    (lambda: F.conv2d(zeros(2, 1, 9, 9), zeros(8, 1, 5, 5), stride=0), ArgumentError,
     "non-positive stride is not supported"),
    (lambda: F.conv2d(zeros(2, 1, 9, 9), zeros(8, 1, 5, 5), padding=-1), ArgumentError,
     "negative padding is not supported"),
    (lambda: F.conv2d(zeros(2, 1, 9, 9), zeros(8, 1, 5, 5), dilation=0), ArgumentError,
     "non-positive dilation is not supported"),
    (lambda: F.conv2d(zeros(2, 1, 9, 9), zeros(8, 1, 5, 5), groups=0), ArgumentError,
     "non-positive groups is not supported"),
    (lambda: F.conv2d(zeros(2, 1, 9, 9), zeros(8, 1, 5, 5), stride=(1, 2, 3)), ArgumentError,
     "expected stride to be a single integer value or a list of 2 values to match the convolution dimensions, but got "
     "stride=[1, 2, 3]"),
    (lambda: F.conv2d(zeros(2, 1, 9, 9), zeros(8, 1, 5, 5), stride=1.5), ArgumentError,
     "expected stride to be a single integer value or a list of 2 values to match the convolution dimensions, but got "
     "stride=[1.5, 1.5]"),
    (lambda: F.conv2d(zeros(2, 1, 9, 9), zeros(8, 1, 5, 5), padding="all"), ArgumentError,
     "Invalid padding string: 'all'"),
    (lambda: F.conv2d(zeros(2, 1, 9, 9), zeros(8, 1, 5, 5), padding="same", stride=2), ArgumentError,
     "padding='same' is not supported for strided convolutions"),
    (lambda: F.conv1d(zeros(2, 1, 3), zeros(8, 1, 5)), ShapeError,
     "Calculated padded input size per channel: (3). Kernel size: (5)."),
    (lambda: F.conv_transpose2d(zeros(2, 3, 9, 9), zeros(8, 1, 5, 5)), ShapeError,
     "Given transposed=1, weight of size [8, 1, 5, 5], expected input[2, 3, 9, 9] to have 8 channels, but got 3"),
    (lambda: F.conv_transpose2d(zeros(2, 8, 9, 9), zeros(8, 1, 5, 5), output_padding=1), ArgumentError,
     "output padding must be smaller than either stride or dilation, but got output_padding_height: 1 "
     "output_padding_width: 1 stride_height: 1 stride_width: 1 dilation_height: 1 dilation_width: 1"),
    (lambda: F.max_pool2d(zeros(2, 1, 3, 3), 5), ShapeError,
     "Given input size: (1x3x3). Calculated output size: (1x0x0). Output size is too small"),
    (lambda: F.max_pool2d(zeros(2, 1, 9, 9), 3, padding=2), ArgumentError,
     "pad should be at most half of effective kernel size, but got pad=2, kernel_size=3 and dilation=1"),
    (lambda: F.max_pool2d(zeros(2, 9), 3), ShapeError, "non-empty 3D or 4D (batch mode) tensor expected for input"),
    (lambda: F.max_pool2d(zeros(2, 1, 9, 9), 2, 0), ArgumentError, "stride should be greater than zero, but got 0"),
    (lambda: F.avg_pool2d(zeros(2, 1, 9, 9), 0), ArgumentError,
     "kernel size should be greater than zero, but got 0"),
    (lambda: F.adaptive_avg_pool2d(zeros(2, 9), 3), ShapeError,
     "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got [2, 9]"),
    (lambda: F.pad(zeros(2, 3), [1]), ArgumentError, "Padding length must be divisible by 2"),
    (lambda: F.pad(zeros(3), [1, 1, 1, 1]), ArgumentError,
     "Padding length should be less than or equal to two times the input dimension but got padding length 4 and input of "
     "dimension 1"),
    (lambda: F.pad(zeros(3), [1, 1], "mirror"), ArgumentError, "Unrecognised padding mode mirror"),
    (lambda: F.pad(zeros(3), [1, 1], "reflect", 1.0), ArgumentError,
     'Padding mode "reflect" doesn\'t take in value argument'),
    (lambda: F.pad(zeros(1, 1, 4), [4, 1], "reflect"), ShapeError,
     "Padding size should be less than the corresponding input dimension, but got: padding (4, 1) at dimension 2 of input "
     "[1, 1, 4]"),
    (lambda: F.pad(zeros(1, 1, 4), [5, 1], "circular"), ShapeError, "Padding value causes wrapping around more than once."),
    (lambda: F.pad(zeros(1, 1, 0), [1, 1], "replicate"), ShapeError, "Expected a non-empty axis to replicate"),
    (lambda: F.pad(zeros(4), [-3, -2]), ShapeError,
     "The input size 4, plus negative padding -3 and -2 resulted in a negative output size"),
    (lambda: nn.Conv2d(3, 4, 3, padding_mode="same"), ArgumentError,
     "padding_mode must be one of ('zeros', 'reflect', 'replicate', 'circular'), but got padding_mode='same'"),
    (lambda: nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect"), ArgumentError,
     'Only "zeros" padding mode is supported for ConvTranspose2d'),
    (lambda: nn.LSTM(3, 4, proj_size=4), ArgumentError, "proj_size has to be smaller than hidden_size"),
    (lambda: nn.LSTM(3, 4, proj_size=-1), ArgumentError,
     "proj_size should be a positive integer or zero to disable projections"),
    (lambda: nn.Conv2d(3, 4, 3, groups=2), ArgumentError, "in_channels must be divisible by groups"),
    (lambda: nn.Conv2d(4, 3, 3, groups=2), ArgumentError, "out_channels must be divisible by groups"),
    (lambda: nn.Conv2d(4, 3, 3, groups=0), ArgumentError, "groups must be a positive integer"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors_begin_with_the_words_that_people_search_for(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(text)
    assert "test_windowed_layers.py" in str(caught.value).splitlines()[1]


LARGE = 2**31 - 1


def in_modes(call, *arrays):
    """The results of a call eagerly, compiled, and in a session that knows no extents."""
    with sg.Graph().as_default(), sg.Session() as sess:
        places = [sg.placeholder(a.dtype, [None] * a.ndim) for a in arrays]
        modes = [
            lambda: call(*map(sg.tensor, arrays)),
            lambda: sg.compile(call)(*arrays),
            lambda: sess.run(call(*places), dict(zip(places, arrays, strict=True))),
        ]
        yield from modes


FAR = {
    "conv2d": (lambda x, w, far: F.conv2d(x, w, stride=far), (2, 6, 5, 5), (8, 6, 3, 3)),
    "conv2d depthwise": (lambda x, w, far: F.conv2d(x, w, stride=far, groups=6), (2, 6, 5, 5), (6, 1, 3, 3)),
    "conv2d padded": (lambda x, w, far: F.conv2d(x, w, stride=(far, 2), padding=2), (1, 1, 5, 5), (1, 1, 3, 3)),
    "conv1d": (lambda x, w, far: F.conv1d(x, w, stride=far), (2, 3, 5), (4, 3, 3)),
    "max_pool2d": (lambda x, w, far: F.max_pool2d(x, 2, stride=far) * w, (2, 3, 5, 5), (1,)),
    "avg_pool2d": (lambda x, w, far: F.avg_pool2d(x, 2, stride=(far, 1), padding=1) * w, (2, 3, 5, 5), (1,)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FAR)
def test_strides_beyond_the_input(name, dtype):
    """One window, however long the stride is: values and gradients are those of a stride as long as the input."""
    call, x, w = FAR[name]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in (x, w)]

    def derived(far):
        def run(x, w):
            symbolic = hasattr(x, "graph") and not hasattr(x, "tracer")
            x, w = (x, w) if symbolic else (x.detach().requires_grad_(), w.detach().requires_grad_())
            y = call(x, w, far)
            gradients = (sg.gradients if symbolic else sg.grad)((y * y).sum(), [x, w])
            return y if symbolic else y.detach(), *gradients

        return run

    expected = derived(12)(*map(sg.tensor, arrays))
    for mode in in_modes(derived(LARGE), *arrays):
        for found, right in zip(mode(), expected, strict=True):
            assert_close(found, right, 1e-6 if dtype == np.float32 else 1e-14)


TOO_LARGE = [
    (lambda x, w: F.conv2d(x, w, stride=2**40), ArgumentError, "stride has to be below 2**31, got [1099511627776, "),
    (lambda x, w: F.conv2d(x, w, padding=2**64), ArgumentError, "padding has to be below 2**31, got "),
    (lambda x, w: F.conv2d(x, w, dilation=2**31), ArgumentError, "dilation has to be below 2**31, got "),
    (lambda x, w: F.conv_transpose2d(x, w, stride=2**31), ArgumentError, "stride has to be below 2**31, got "),
    (lambda x, w: F.max_pool2d(x, 2**62), ArgumentError, "kernel_size has to be below 2**31, got "),
    (lambda x, w: F.avg_pool2d(x, 2, stride=2**40), ArgumentError, "stride has to be below 2**31, got "),
    (lambda x, w: F.adaptive_avg_pool2d(x, 2**40), ArgumentError, "output_size has to be below 2**31, got "),
    (lambda x, w: F.pad(x, (-(2**40), 0)), ArgumentError, "pad has to be below 2**31, got "),
    (lambda x, w: F.conv2d(x, w, padding=2**30), ShapeError, "conv2d: Storage size calculation overflowed with sizes="),
    (lambda x, w: F.conv_transpose2d(x, w, stride=2**30), ShapeError,
     "conv2d_input: Storage size calculation overflowed with sizes=[1, 1, 4294967299, 4294967299]"),
    (lambda x, w: F.conv2d(x, w, stride=2**30, padding=2**30), sg.OutOfMemoryError, "conv2d: there is no memory for "),
    (lambda x, w: F.conv_transpose2d(x, w, padding=9), ShapeError,
     "conv2d_input: Given input size per channel: (5 x 5). Calculated output size per channel: (-11 x -11). Output size is "
     "too small"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), TOO_LARGE)
def test_settings_that_are_too_large(call, error, text):
    for mode in in_modes(call, np.ones((1, 1, 5, 5), np.float32), np.ones((1, 1, 3, 3), np.float32)):
        with pytest.raises(error) as caught:
            mode()
        assert caught.value.summary.startswith(text)
        assert caught.value.where.file == __file__


def test_a_window_that_is_larger_than_memory():
    """Only its elements inside are looked at."""
    x = np.random.default_rng(0).standard_normal((2, 3, 5, 5)).astype(np.float32)
    for mode in in_modes(lambda x: F.max_pool2d(x, LARGE, padding=2**30 - 1), x):
        np.testing.assert_array_equal(np.asarray(mode()).max((2, 3)), x.max((2, 3)))


def test_padding_that_is_larger_than_memory():
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, [2**20, 2**20, 1])
        with pytest.raises(ShapeError, match="Storage size calculation overflowed"):
            F.pad(x, (2**30, 0))


def test_a_kernel_that_turns_out_too_large_names_the_line_that_used_it():
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, [None, 1, None, None])
        y = F.conv2d(x, np.zeros((1, 1, 3, 3), np.float32))
        with sg.Session() as sess, pytest.raises(ShapeError) as caught:
            sess.run(y, {x: np.zeros((1, 1, 2, 2), np.float32)})
    assert "Kernel size can't be greater than actual input size" in str(caught.value)
    assert "y = F.conv2d(x" in str(caught.value)


LAYERS = [
    (lambda: nn.Conv1d(4, 6, 3, groups=2), (5, 4, 9), (5, 6, 7), {"weight": (6, 2, 3), "bias": (6,)},
     "Conv1d(4, 6, kernel_size=(3,), stride=(1,), groups=2)"),
    (lambda: nn.Conv2d(4, 6, (3, 2), 2, 1, bias=False), (5, 4, 9, 9), (5, 6, 5, 5), {"weight": (6, 4, 3, 2)},
     "Conv2d(4, 6, kernel_size=(3, 2), stride=(2, 2), padding=(1, 1), bias=False)"),
    (lambda: nn.Conv2d(4, 6, 3, padding="same", dilation=2), (4, 9, 9), (6, 9, 9), {"weight": (6, 4, 3, 3), "bias": (6,)},
     "Conv2d(4, 6, kernel_size=(3, 3), stride=(1, 1), padding=same, dilation=(2, 2))"),
    (lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, 1), (5, 4, 9, 9), (5, 6, 18, 18), {"weight": (4, 6, 3, 3), "bias": (6,)},
     "ConvTranspose2d(4, 6, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 1))"),
    (lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular"), (5, 4, 7, 7), (5, 6, 7, 7),
     {"weight": (6, 4, 3, 3), "bias": (6,)},
     "Conv2d(4, 6, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), padding_mode=circular)"),
    (lambda: nn.MaxPool2d(2, ceil_mode=True), (3, 4, 9, 9), (3, 4, 5, 5), {},
     "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=True)"),
    (lambda: nn.MaxPool1d(2), (3, 4, 9), (3, 4, 4), {},
     "MaxPool1d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"),
    (lambda: nn.MaxPool2d(3, 2, 1), (3, 4, 9, 9), (3, 4, 5, 5), {},
     "MaxPool2d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=False)"),
    (lambda: nn.AvgPool1d(2), (3, 4, 9), (3, 4, 4), {}, "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"),
    (lambda: nn.AvgPool2d(2), (4, 9, 9), (4, 4, 4), {}, "AvgPool2d(kernel_size=2, stride=2, padding=0)"),
    (lambda: nn.AdaptiveAvgPool2d((1, None)), (3, 4, 9, 8), (3, 4, 1, 8), {}, "AdaptiveAvgPool2d(output_size=(1, None))"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "given", "result", "parameters", "text"), LAYERS, ids=[c[4] for c in LAYERS])
def test_layers(make, given, result, parameters, text):
    sg.manual_seed(0)
    layer = make()
    assert layer(sg.ones(given)).shape == result
    assert {name: p.shape for name, p in layer.named_parameters()} == parameters
    assert repr(layer) == text
    for p in layer.parameters():
        bound = 1 / np.sqrt(np.prod(layer.weight.shape[1:]))
        assert 0.5 * bound < np.abs(p.detach().numpy()).max() <= bound


def test_channels_that_are_slices_are_copied_only_by_the_plan():
    """A convolution of every other channel, natively: the operand is not contiguous."""
    x = np.random.default_rng(0).normal(size=(2, 4, 5, 5))
    w = np.random.default_rng(1).normal(size=(3, 2, 3, 3))
    halved = sg.compile(lambda x, w: F.conv2d(x[:, ::2], w))
    np.testing.assert_allclose(halved(x, w).numpy(), F.conv2d(sg.tensor(x[:, ::2]), w).numpy(), rtol=1e-12)
    assert halved.plan.host_calls == 0


def test_threads_change_nothing_but_rounding():
    """Large enough to be cut over images: each chunk has sums of its own, joined in order."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(6, 16, 20, 20)), rng.normal(size=(24, 16, 3, 3))

    def gradients(x, w):
        w.requires_grad_(True)
        return sg.grad(F.max_pool2d(F.conv2d(x, w, padding=1), 2).sum(), [w])[0]

    results = []
    kept = sg.get_num_threads()
    for threads in (1, 2):
        sg.set_num_threads(threads)
        step = sg.compile(lambda x, w: gradients(x, w))
        results.append(step(sg.tensor(x), sg.tensor(w)).numpy())
        assert any(row.chunks == threads for row in step.plan.instructions if row.kind == "routine")
    sg.set_num_threads(kept)
    np.testing.assert_allclose(results[1], results[0], rtol=1e-11, atol=1e-11)
