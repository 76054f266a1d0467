"""Making tensors from arrays without a copy; the functions themselves have their tests beside the ops'."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager import conversion
from staticgrad.errors import ArgumentError
from staticgrad.operators import F, public_functions


def reshape(array: np.ndarray, shape: tuple[int, ...]) -> None:
    """In place, which NumPy 2.5 warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        array.shape = shape


def test_from_numpy_shares_memory():
    array = np.zeros(3, np.float32)
    x = sg.from_numpy(array)
    array[0] = 1
    assert x.tolist() == [1, 0, 0]
    assert np.shares_memory(x.numpy(), array)
    reshape(array, (3, 1))
    reshape(x.numpy(), (1, 3))
    x.numpy().flags.writeable = False
    assert x.shape == (3,)
    x += 1
    assert array.tolist() == [[2], [1], [1]]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([1.0], r"from_numpy: expected np.ndarray \(got list\)"),
        (np.float32(1), r"from_numpy: expected np.ndarray \(got float32\)"),
        (np.zeros(2, ">f4"), "can't be shared|not supported"),
        (np.zeros(2, np.longdouble), "float128 is not supported"),
        (np.array(["a"]), "can't make a tensor"),
    ],
    ids=str,
)
def test_from_numpy_refuses_what_it_would_have_to_copy(given, text):
    with pytest.raises(sg.DTypeError, match=text):
        sg.from_numpy(given)


def rebound(array):
    x = sg.zeros(4, dtype=sg.float64)
    x.data = array
    return x


TAKE = (sg.from_numpy, sg.as_tensor, sg.asarray, sg.Tensor, sg.nn.Parameter, sg.utils.data.default_convert, rebound)


@pytest.mark.parametrize("take", TAKE)
def test_a_tensor_has_a_shape_and_flags_of_its_own(take):
    array = np.arange(4.0)
    x = take(array).detach()
    shared = np.shares_memory(x.numpy(), array)
    reshape(array, (2, 2))
    array.flags.writeable = False
    x.add_(1)
    assert x.tolist() == [1, 2, 3, 4]
    assert array.tolist() == ([[1, 2], [3, 4]] if shared else [[0, 1], [2, 3]])


def test_as_tensor_copies_only_where_it_must():
    array = np.zeros(3, np.float32)
    x = sg.as_tensor(array)
    assert np.shares_memory(x.numpy(), array)
    assert sg.as_tensor(x) is x
    assert sg.as_tensor(x, sg.float32) is x
    double = sg.as_tensor(array, dtype=sg.float64)
    array[0] = 1
    assert (double.dtype, double.tolist()) == (sg.float64, [0, 0, 0])
    assert sg.as_tensor([1.5, 2]).dtype == sg.float32
    assert sg.as_tensor(3).dtype == sg.int64


def test_as_tensor_keeps_the_tape_and_symbols():
    w = sg.ones(2, requires_grad=True)
    sg.as_tensor(w, sg.float64).sum().backward()
    assert w.grad.tolist() == [1, 1]
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, (None,))
        assert sg.as_tensor(x) is x
        assert sg.as_tensor(x, sg.float64).dtype == sg.float64


def test_tensor_copies():
    array = np.zeros(3, np.float32)
    x = sg.tensor(array)
    array[0] = 1
    assert x.tolist() == [0, 0, 0]


def test_every_operation_is_public_and_documented():
    for name in public_functions():
        function = getattr(F, name)
        assert function.__doc__, name
        assert function in (getattr(sg, name, None), getattr(sg.functional, name, None)), name
        assert name not in conversion.__all__ or getattr(conversion, name) is function, name


def test_tensors_of_buffers_and_files(tmp_path):
    memory = bytearray(np.arange(4, dtype=np.int16).tobytes())
    x = sg.frombuffer(memory, dtype=sg.int16, count=2, offset=2)
    memory[2] = 9
    assert x.tolist() == [9, 2]
    assert sg.frombuffer(bytearray(8), dtype=sg.float64, requires_grad=True).requires_grad
    with pytest.raises(ArgumentError, match="frombuffer: buffer size must be a multiple"):
        sg.frombuffer(bytearray(3), dtype=sg.int16)
    path = tmp_path / "numbers"
    shared = sg.from_file(path, shared=True, size=3, dtype=sg.float64)
    shared[1] = 5.0
    own = sg.from_file(str(path), size=2, dtype=sg.float64)
    own[0] = 7.0
    assert np.fromfile(path).tolist() == [0, 5, 0]
    assert own.tolist() == [7, 5]
    with pytest.raises(FileNotFoundError):
        sg.from_file(tmp_path / "none", size=1)


def test_dlpack_shares_memory():
    array = np.arange(3.0)
    x = sg.from_dlpack(array)
    array[0] = 4
    assert x.tolist() == [4, 1, 2]
    assert sg.from_dlpack(x, copy=True).tolist() == [4, 1, 2]
    assert "dltensor" in repr(sg.to_dlpack(x))
    assert np.shares_memory(sg.from_dlpack(sg.to_dlpack(x)).numpy(), array)


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
def test_ranges_with_their_end():
    assert sg.range(1, 4).tolist() == [1, 2, 3, 4]
    assert sg.range(1, 2, 0.5, dtype=sg.float64).tolist() == [1, 1.5, 2]
    with pytest.raises(ArgumentError, match="inconsistent with step sign"):
        sg.range(3, 1)
