"""The Tensor as an object: construction, attributes, conversions, text, copies, NumPy both ways, PyTorch's names."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn
from staticgrad.eager import PublicTensor as Tensor
from staticgrad.namespaces.lookup.private import unserializable_hook
from tests.helpers import assert_close

pytestmark = pytest.mark.usefixtures("refusing")

X = np.arange(6, dtype=np.float32).reshape(2, 3)


# construction -----------------------------------------------------------------------------------------------

MADE: list[tuple[Any, Any, str]] = [
    (lambda: sg.tensor(1.5), 1.5, "float32"),
    (lambda: sg.tensor(2), 2, "int64"),
    (lambda: sg.tensor(True), True, "bool"),
    (lambda: sg.tensor([[1, 2], [3, 4]]), [[1, 2], [3, 4]], "int64"),
    (lambda: sg.tensor([1, 2.5]), [1, 2.5], "float32"),
    (lambda: sg.tensor(np.float64(2.5)), 2.5, "float64"),
    (lambda: sg.tensor(np.arange(3, dtype=np.int16)), [0, 1, 2], "int16"),
    (lambda: sg.tensor([], dtype=sg.float64), [], "float64"),
    (lambda: sg.tensor([1, 2], dtype=float), [1, 2], "float64"),
    (lambda: sg.tensor([1, 2], dtype=np.float64), [1, 2], "float64"),
    (lambda: sg.tensor(sg.ones(2)), [1, 1], "float32"),
    (lambda: sg.zeros(2, 2), [[0, 0], [0, 0]], "float32"),
    (lambda: sg.zeros((2,), dtype=int), [0, 0], "int64"),
    (lambda: sg.ones(2, dtype=bool), [True, True], "bool"),
    (lambda: sg.full((2,), 7), [7, 7], "int64"),
    (lambda: sg.full(2, 0.5, dtype=sg.float64), [0.5, 0.5], "float64"),
    (lambda: sg.eye(2), [[1, 0], [0, 1]], "float32"),
    (lambda: sg.eye(1, 2, dtype=sg.int32), [[1, 0]], "int32"),
    (lambda: sg.arange(3), [0, 1, 2], "int64"),
    (lambda: sg.arange(1, 2, 0.5), [1, 1.5], "float32"),
    (lambda: sg.arange(3.0), [0, 1, 2], "float32"),
    (lambda: sg.linspace(0, 1, 3), [0, 0.5, 1], "float32"),
    (lambda: sg.zeros(()), 0, "float32"),
    (lambda: sg.zeros_like(sg.ones(2)), [0, 0], "float32"),
    (lambda: sg.ones_like(sg.zeros(2, dtype=sg.int32)), [1, 1], "int32"),
]


@pytest.mark.parametrize(("make", "values", "dtype"), MADE, ids=range(len(MADE)))
def test_construction(make, values, dtype):
    x = make()
    assert type(x) is Tensor
    assert x.tolist() == values
    assert x.dtype == dtype
    assert x.is_leaf
    assert not x.requires_grad
    assert x.grad is None
    assert x.grad_fn is None


def test_tensor_copies_and_as_tensor_shares():
    a = X.copy()
    copied, shared = sg.tensor(a), sg.as_tensor(a)
    a[0, 0] = 9
    assert copied[0, 0].item() == 0
    assert shared[0, 0].item() == 9
    assert sg.tensor(a.T).tolist() == a.T.tolist()
    assert sg.tensor(a[::-1]).tolist() == a[::-1].tolist()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("abc", "can't make a tensor of str"),
        ([None], "can't make a tensor of list"),
        (np.clongdouble(1j), "dtype complex256 is not supported"),
        (np.longdouble(1), "dtype float128 is not supported"),
    ],
    ids=str,
)
def test_values_that_are_no_tensor(value, text):
    with pytest.raises(sg.DTypeError, match=f"^{text}"):
        sg.tensor(value)


def test_ragged_lists():
    with pytest.raises(sg.ShapeError, match=r"^can't make a tensor of list: rows have different lengths: \[\[1\], \[1, 2\]\]"):
        sg.tensor([[1], [1, 2]])


@pytest.mark.parametrize("shape", [(-1,), (2.5,), ("a",), ((1, None),)], ids=str)
def test_bad_shapes(shape):
    with pytest.raises(sg.ArgumentError, match=r"^a shape is a tuple of integers"):
        sg.zeros(*shape)


def test_foreign_byte_order_becomes_native():
    assert sg.tensor(np.array([1.0, 2.0], ">f4")).dtype == np.float32


# attributes -------------------------------------------------------------------------------------------------


def test_shape_and_size():
    x = Tensor(X)
    assert x.shape == (2, 3) == x.size()
    assert x.size(0) == 2
    assert x.size(-1) == 3
    assert x.size == 6 == x.numel()
    assert x.ndim == 2 == x.dim()
    assert len(x) == 2
    assert x.dtype == sg.float32
    assert x.is_floating_point()
    assert not x.long().is_floating_point()
    with pytest.raises(sg.ArgumentError, match=r"axis 2 is out of range for 2 axes"):
        x.size(2)
    with pytest.raises(sg.ShapeError, match=r"^len\(\) of a 0-d tensor"):
        len(sg.tensor(1))


def test_python_numbers():
    x = sg.tensor(2.75)
    assert float(x) == 2.75
    assert int(x) == 2
    assert x.item() == 2.75
    assert type(x.item()) is float
    assert int(sg.tensor([7])) == 7
    assert [10, 20, 30][sg.tensor(1)] == 20
    assert bool(sg.tensor(0.0)) is False
    assert bool(sg.tensor([[3]])) is True
    assert math.sqrt(sg.tensor(4.0)) == 2
    assert round(float(x)) == 3
    assert type(sg.tensor(True).item()) is bool
    assert type(sg.tensor(3).item()) is int


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda: sg.ones(2).item(), sg.ShapeError, "a Tensor with 2 elements cannot be converted to Scalar"),
        (lambda: float(sg.ones(2)), sg.ShapeError, "a Tensor with 2 elements cannot be converted to Scalar"),
        (lambda: bool(sg.ones(2)), sg.ShapeError, "Boolean value of Tensor with more than one value is ambiguous"),
        (lambda: bool(sg.ones(0)), sg.ShapeError, "Boolean value of Tensor with no values is ambiguous"),
        (
            lambda: range(sg.tensor(1.0)),
            sg.DTypeError,
            "only integer tensors can be converted to an index, got float32",
        ),
        (lambda: list(sg.tensor(1.0)), TypeError, "iteration over a 0-d tensor"),
        (
            lambda: sg.ones(2, requires_grad=True).numpy(),
            sg.GradientError,
            "Can't call numpy() on Tensor that requires grad.",
        ),
        (
            lambda: np.asarray(sg.ones(2, requires_grad=True)),
            sg.GradientError,
            "Can't call numpy() on Tensor that requires",
        ),
        (lambda: sg.ones(1, 2, 3).t(), sg.ShapeError, "t() expects a tensor with <= 2 dimensions, but self is 3D"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_conversions_that_fail(use, error, text):
    with pytest.raises(error) as caught:
        use()
    assert caught.value.summary.startswith(text)


def test_iteration_and_membership():
    x = Tensor(X)
    assert [row.tolist() for row in x] == X.tolist()
    _, b = x
    assert b.tolist() == [3, 4, 5]
    assert 4.0 in x
    assert 9 not in x
    assert sg.tensor(5.0) in x
    assert sum(sg.tensor([1.0, 2.0, 3.0])).item() == 6
    assert max(sg.tensor([1.0, 3.0])).item() == 3


def test_comparisons_are_elementwise_and_hash_is_identity():
    x, y = sg.tensor([1.0, 2.0]), sg.tensor([1.0, 3.0])
    assert (x == y).tolist() == [True, False]
    assert (x != y).tolist() == [False, True]
    assert (x < 2).tolist() == [True, False]
    assert (x <= 2).tolist() == [True, True]
    assert (x == np.array([1.0, 2.0])).all().item()
    assert hash(x) != hash(y)
    assert len({x, y, x}) == 2
    mask = (x > 0) & ~(y > 2) | (x > 5)
    assert mask.dtype == bool
    assert mask.tolist() == [True, False]
    assert (mask ^ True).tolist() == [False, True]


# text -------------------------------------------------------------------------------------------------------

TEXTS: list[tuple[Any, str]] = [
    (lambda: sg.tensor(1.5), "tensor(1.5000)"),
    (lambda: sg.tensor([1, 2]), "tensor([1, 2])"),
    (lambda: sg.tensor([True]), "tensor([True])"),
    (lambda: sg.tensor([1.0], dtype=sg.float64), "tensor([1.], dtype=torch.float64)"),
    (lambda: sg.tensor([1, 2], dtype=sg.int32), "tensor([1, 2], dtype=torch.int32)"),
    (lambda: sg.tensor([[1.0, 2.5], [3.0, 4.0]]), "tensor([[1.0000, 2.5000],\n        [3.0000, 4.0000]])"),
    (lambda: sg.ones(2, requires_grad=True), "tensor([1., 1.], requires_grad=True)"),
    (lambda: sg.ones(2, requires_grad=True) * 2, "tensor([2., 2.], grad_fn=<MulBackward0>)"),
    (lambda: sg.ones(2, requires_grad=True).detach(), "tensor([1., 1.])"),
    (lambda: sg.zeros(0), "tensor([])"),
    (lambda: sg.ones(1, requires_grad=True).log_softmax(), "tensor([0.], grad_fn=<LogSoftmaxBackward0>)"),
]


@pytest.mark.parametrize(("make", "text"), TEXTS, ids=[t for _, t in TEXTS])
def test_repr(make, text):
    assert repr(make()) == text == str(make())


def test_large_tensors_are_summarized():
    assert "..." in repr(sg.zeros(10_000))
    assert len(repr(sg.zeros(1000, 1000))) < 600


def test_format():
    loss = sg.tensor(0.12345, requires_grad=True) * 1
    assert f"{loss:.3f}" == "0.123"
    assert f"{sg.tensor(7):04d}" == "0007"
    assert f"{sg.ones(2)}" == "tensor([1., 1.])"
    with pytest.raises(sg.ShapeError, match=r"cannot be converted to Scalar"):
        f"{sg.ones(2):.2f}"


# copies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_leaves_are_copied_whole(how):
    x = sg.tensor([1.0, 2.0], dtype=sg.float64, requires_grad=True)
    x.name = "w"
    y = how(x)
    assert type(y) is Tensor
    assert y.requires_grad
    assert y.is_leaf
    assert y.dtype == np.float64
    assert y.name == "w"
    with sg.no_grad():
        y += 1
    assert x.tolist() == [1, 2]
    assert y.tolist() == [2, 3]
    (y * y).sum().backward()
    assert y.grad.tolist() == [4, 6]
    assert x.grad is None


@pytest.mark.parametrize("how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_copies_of_parameters_are_parameters(how):
    """Frozen ones too, which a Module would not register otherwise."""
    frozen = how(nn.Parameter([1.0], requires_grad=False))
    assert isinstance(frozen, nn.Parameter)
    assert not isinstance(how(sg.tensor([1.0])), nn.Parameter)
    module = nn.Module()
    module.weight = frozen
    assert list(module.parameters()) == [frozen]


def test_a_copy_that_is_frozen_and_thawed_has_its_gradient():
    x = copy.deepcopy(sg.ones(2, requires_grad=True))
    y = (x * 3).sum()
    x.requires_grad_(False)
    x.requires_grad_(True)
    y.backward()
    assert x.grad.tolist() == [3, 3]


def test_deepcopy_keeps_the_gradient_and_sharing():
    x = sg.ones(2, requires_grad=True)
    x.sum().backward()
    a, b = copy.deepcopy([x, x])
    assert a is b
    assert a.grad.tolist() == [1, 1]
    assert a.grad is not x.grad


def test_results_with_a_tape_are_not_copied():
    with pytest.raises(sg.GradientError, match="graph leaves"):
        copy.deepcopy(sg.ones(2, requires_grad=True) * 2)


def test_results_with_a_tape_are_pickled_without_it():
    x = sg.ones(2, requires_grad=True)
    compiled = sg.compile(lambda x: pickle.loads(pickle.dumps(x * 2)), on_break="split")
    found = [pickle.loads(pickle.dumps(x * 2)), compiled(x)]
    for y in found:
        assert y.tolist() == [2, 2]
        assert y.requires_grad
        assert y.is_leaf


def test_a_tensor_with_hooks_is_pickled_with_a_warning():
    x = sg.ones(2, requires_grad=True)
    handle = x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="will not be serialized"):
        pickle.dumps(x)
    handle.remove()
    x.register_hook(unserializable_hook(lambda g: g))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.dumps(x)
        parameter = sg.nn.Parameter(sg.ones(2))
        parameter.register_hook(lambda g: g)
        pickle.dumps(parameter)  # as PyTorch's parameters


def test_attributes_that_operations_save_have_pytorchs_names():
    x = sg.ones(2, 3, 4, requires_grad=True)
    found = {
        x.sum(1): {"dim": (1,), "keepdim": False},
        x.mean((0, 1), keepdim=True): {"dim": (0, 1), "keepdim": True},
        x.softmax(1): {"dim": 1},
        x.cumsum(2): {"dim": 2},
        x.prod(1): {"dim": 1, "keepdim": False},
        x.transpose(0, 2): {"dim0": 0, "dim1": 2},
        x.permute(2, 0, 1): {"dims": (2, 0, 1)},
        x.diagonal(0, 1, 2): {"offset": 0, "dim1": 1, "dim2": 2},
    }
    for result, names in found.items():
        assert {name: getattr(result.grad_fn, f"_saved_{name}") for name in names} == names
    with pytest.raises(AttributeError, match="_saved_dim"):
        x.sum().grad_fn._saved_dim  # noqa: B018


def test_clone_and_detach():
    x = sg.tensor([-0.0, 2.0], requires_grad=True)
    c, d = x.clone(), x.detach()
    assert c.requires_grad
    assert not c.is_leaf
    assert c._data is not x._data
    assert np.signbit(c.detach().numpy()[0])
    assert not d.requires_grad
    assert d.is_leaf
    assert d._data is x._data
    (c * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]
    assert sg.tensor([True]).clone().tolist() == [True]
    assert sg.ones(2, 3).T.clone().stride() == (1, 3)
    assert sg.ones(2, 3).T.clone(memory_format=sg.contiguous_format).is_contiguous()


# dtypes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cast", "dtype"),
    [
        (lambda x: x.float(), "float32"),
        (lambda x: x.double(), "float64"),
        (lambda x: x.long(), "int64"),
        (lambda x: x.int(), "int32"),
        (lambda x: x.bool(), "bool"),
        (lambda x: x.to(sg.float64), "float64"),
        (lambda x: x.type(sg.int8), "int8"),
        (lambda x: x.astype("uint8"), "uint8"),
        (lambda x: x.type_as(sg.ones(1).double()), "float64"),
        (lambda x: x.to(sg.tensor(1)), "int64"),
    ],
    ids=range(10),
)
def test_casts(cast, dtype):
    x = sg.tensor([0.0, 1.9, -2.9 if dtype != "uint8" else 2.9])
    assert cast(x).dtype == dtype
    assert cast(x).tolist() == x.numpy().astype(dtype).tolist()


def test_cast_to_the_same_dtype_is_the_tensor_itself():
    x = sg.ones(2)
    assert x.float() is x
    assert x.to(sg.float32) is x


def test_gradient_flows_through_float_casts():
    x = sg.ones(2, requires_grad=True)
    (x.double() * 2.0).sum().backward()
    assert x.grad.dtype == np.float32
    assert x.grad.tolist() == [2, 2]


def test_set_default_dtype():
    assert sg.get_default_dtype() == np.float32
    sg.set_default_dtype(sg.float64)
    try:
        assert sg.tensor(1.5).dtype == np.float64
        assert sg.zeros(1).dtype == np.float64
        assert (sg.tensor([1]) / 2).dtype == np.float64
        assert (sg.tensor([1]) * 0.5).dtype == np.float64
        assert (sg.tensor([1.0], dtype=sg.float32) * 0.5).dtype == np.float32
    finally:
        sg.set_default_dtype(sg.float32)
    assert (sg.tensor([1]) * 0.5).dtype == np.float32
    with pytest.raises(
        sg.DTypeError, match=r"^set_default_dtype: only floating dtypes are supported as the default, got int32"
    ):
        sg.set_default_dtype(sg.int32)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: sg.tensor([300], dtype=sg.uint8), "tensor: Python integer 300 out of bounds for uint8"),
        (lambda: sg.tensor(-1, dtype=sg.uint8), "tensor: Python integer -1 out of bounds for uint8"),
        (lambda: sg.full((2,), 300, dtype=sg.int8), "full: Python integer 300 out of bounds for int8"),
    ],
)
def test_integers_that_a_dtype_lacks(make, text):
    with pytest.raises(sg.DTypeError) as caught:
        make()
    assert caught.value.summary == text


def test_float_power_of_integers_is_floating():
    x = np.float_power(sg.tensor([1, 2]), -1)
    assert x.dtype == np.float32
    assert x.tolist() == [1, 0.5]


# NumPy ------------------------------------------------------------------------------------------------------

FROM_NUMPY: list[tuple[str, Any]] = [
    ("a * t", lambda a, t: a * t),
    ("a - t", lambda a, t: a - t),
    ("a / t", lambda a, t: a / t),
    ("a @ t", lambda a, t: a @ t.T),
    ("t * a", lambda a, t: t * a),
    ("t @ a", lambda a, t: t @ a.T),
    ("a > t", lambda a, t: a > t),
    ("a == t", lambda a, t: a == t),
    ("np.float32 * t", lambda a, t: np.float32(2) * t),
    ("np.exp", lambda a, t: np.exp(t)),
    ("np.sum", lambda a, t: np.sum(t)),
    ("np.sum axis", lambda a, t: np.sum(t, axis=1, keepdims=True)),
    ("np.maximum", lambda a, t: np.maximum(a, t)),
    ("np.add", lambda a, t: np.add(t, a)),
    ("np.where", lambda a, t: np.where(t > 1, t, a)),
    ("np.mean", lambda a, t: np.mean(t, 0)),
    ("np.concatenate", lambda a, t: np.concatenate([a, t])),
    ("np.stack", lambda a, t: np.stack([t, t])),
    ("np.reshape", lambda a, t: np.reshape(t, (3, 2))),
    ("np.transpose", lambda a, t: np.transpose(t)),
    ("np.max", lambda a, t: np.max(t)),
    ("np.argmax", lambda a, t: np.argmax(t, 1)),
    ("np.clip", lambda a, t: np.clip(t, 1, 3)),
    ("np.sqrt", lambda a, t: np.sqrt(t)),
    ("np.square", lambda a, t: np.square(t)),
    ("np.matmul", lambda a, t: np.matmul(a, t.T)),
    ("np.outer", lambda a, t: np.outer(t[0], a[1])),
    ("np.cumsum", lambda a, t: np.cumsum(t, 0)),
    ("np.flip", lambda a, t: np.flip(t, 0)),
    ("np.take", lambda a, t: np.take(t, [0, 1], 1)),
    ("np.squeeze", lambda a, t: np.squeeze(t[None], 0)),
    ("np.var", lambda a, t: np.var(t)),
    ("np.broadcast_to", lambda a, t: np.broadcast_to(t, (2, 2, 3))),
    ("np.split", lambda a, t: np.split(t, 3, 1)[1]),
    ("np.linalg.norm", lambda a, t: np.linalg.norm(t)),
    ("np.copy", lambda a, t: np.copy(t)),
    ("np.any", lambda a, t: np.any(t > 4)),
]


@pytest.mark.parametrize(("name", "fn"), FROM_NUMPY, ids=[n for n, _ in FROM_NUMPY])
def test_numpy_functions_on_tensors(name, fn):
    a = X + 1
    result, expected = fn(a, sg.tensor(a, requires_grad=True)), np.asarray(fn(a, a))
    assert type(result) is Tensor
    assert_close(result.detach().numpy(), expected.astype(result.dtype), 1e-6)
    if expected.dtype.kind == "f":
        assert result.requires_grad


def test_arrays_of_float64_promote_and_numpy_scalars_are_weak():
    t = sg.ones(2)
    assert (np.ones(2) * t).dtype == np.float64
    assert (t + np.ones(2)).dtype == np.float64
    assert (np.float64(2) * t).dtype == np.float32
    assert (t * np.float64(2)).dtype == np.float32


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (lambda t: np.unwrap(t), "numpy.unwrap can't be differentiated"),
        (lambda t: np.partition(t, 1), "numpy.partition can't be differentiated"),
        (lambda t: np.interp(t, [0, 1], [0, 1]), "numpy.interp can't be differentiated"),
        (lambda t: np.sum(t, initial=1.0), "numpy.sum can't be differentiated with initial"),
        (lambda t: np.ptp(t), "numpy.ptp can't be differentiated"),
        (lambda t: np.add.reduce(t), "numpy.add.reduce can't be differentiated"),
        (lambda t: np.exp(t, where=[True, False]), "numpy.exp can't be differentiated with where"),
        (lambda t: np.add(np.ones(2), t, out=np.zeros(2)), "numpy.add can't be differentiated with out"),
        (lambda t: np.ones(2).__iadd__(t), "numpy.add can't be differentiated with out"),
        (lambda t: np.spacing(t), "numpy.spacing can't be differentiated"),
    ],
    ids=range(10),
)
def test_numpy_functions_without_a_twin(fn, text):
    """They need the array: of a tensor that requires grad it can't be had, and a symbol has none."""
    with pytest.raises(sg.GradientError) as caught:
        fn(sg.ones(2, requires_grad=True))
    assert caught.value.summary == "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
    assert caught.value.details[0] == text
    with sg.Graph().as_default(), pytest.raises((sg.DTypeError, sg.TraceError)):
        fn(sg.placeholder(sg.float32, [2]))


def _added_in_place(a, t):
    result = a.copy()
    kept = result
    result += t
    assert result is kept
    return result


AS_ARRAYS: list[tuple[str, Any]] = [
    ("np.allclose", lambda a, t: np.allclose(a, t)),
    ("np.sort", lambda a, t: np.sort(t)),
    ("np.median", lambda a, t: np.median(t)),
    ("np.unique", lambda a, t: np.unique(t)),
    ("np.vstack", lambda a, t: np.vstack([a, t])),
    ("np.where of one", lambda a, t: np.where(t > 1)[0]),
    ("np.linalg.inv", lambda a, t: np.linalg.inv(t[:2, :2])),
    ("np.linalg.norm, ord", lambda a, t: np.linalg.norm(t, 1)),
    ("np.linalg.norm, axis", lambda a, t: np.linalg.norm(t, axis=1)),
    ("np.sum, dtype third", lambda a, t: np.sum(t, 0, np.float32)),
    ("np.sum, out", lambda a, t: np.sum(t, 0, out=np.zeros(3))),
    ("np.var, ddof", lambda a, t: np.var(t, ddof=1)),
    ("np.take of all", lambda a, t: np.take(t, [0, 3])),
    ("np.clip, named", lambda a, t: np.clip(t, a_min=1, a_max=3)),
    ("np.flip of all", lambda a, t: np.flip(t)),
    ("np.transpose, named", lambda a, t: np.transpose(t, axes=(1, 0))),
    ("np.reshape, order", lambda a, t: np.reshape(t, (3, 2), "F")),
    ("np.round, decimals", lambda a, t: np.round(t / 3, 1)),
    ("np.shape", lambda a, t: np.shape(t)),
    ("np.zeros_like", lambda a, t: np.zeros_like(t)),
    ("a += t", _added_in_place),
    ("np.add, out", lambda a, t: np.add(a, t, out=np.zeros((2, 3)))),
    ("np.add, where", lambda a, t: np.add(a, t, where=a > 1, out=np.zeros((2, 3)))),
    ("np.add.reduce", lambda a, t: np.add.reduce(t)),
    ("np.multiply.outer", lambda a, t: np.multiply.outer(t[0], t[1])),
    ("np.tan", lambda a, t: np.tan(t)),
    ("np.divmod", lambda a, t: np.divmod(t, 2)[1]),
    ("np.bitwise_xor", lambda a, t: np.bitwise_xor(t > 1, True)),
    ("array ^ t", lambda a, t: (a > 2) ^ (t > 1)),
    ("True ^ t", lambda a, t: True ^ (t > 1)),
    ("np.bool_ & t", lambda a, t: np.True_ & (t > 1)),
    ("a[...] = t", lambda a, t: a.copy().__setitem__(..., t)),
]


@pytest.mark.parametrize(("name", "fn"), AS_ARRAYS, ids=[n for n, _ in AS_ARRAYS])
def test_a_tensor_without_gradient_is_an_array_to_numpy(name, fn):
    a = (X + 1).astype(np.float64)
    result, expected = fn(a, sg.tensor(a)), fn(a, a)
    assert isinstance(result, (type(expected), Tensor))
    if expected is not None:
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-12)


def test_what_numpy_writes_to_a_tensor_counts_as_a_change():
    w, x, a = sg.ones(2, requires_grad=True), sg.ones(2), np.ones(2, np.float32)
    y = (w * x).sum()
    assert np.add(a, x, out=x) is x
    np.add.at(x, [0], 1)
    assert x.tolist() == [3, 2]
    with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
        y.backward()


def test_conversion_to_arrays_and_to_other_libraries():
    x = sg.tensor([1.0, 2.0])
    assert np.shares_memory(np.asarray(x, copy=False), x.numpy())
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(x, dtype=np.float64, copy=False)
    shared = np.from_dlpack(x)
    assert shared.__array_interface__["data"] == x.numpy().__array_interface__["data"]
    with pytest.raises(sg.GradientError, match="Can't export tensors that require gradient"):
        np.from_dlpack(sg.ones(2, requires_grad=True))


def test_numpy_shares_memory_both_ways():
    x = sg.zeros(2)
    x.numpy()[0] = 5
    assert x.tolist() == [5, 0]
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert not np.shares_memory(np.array(x), x.numpy())
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert np.allclose(np.asarray(x), [5, 0])
    assert x.tolist() == [5, 0]


# PyTorch's names --------------------------------------------------------------------------------------------

NAMES: list[tuple[Any, Any]] = [
    (lambda x: x.sum(dim=1), lambda a: a.sum(1)),
    (lambda x: x.sum(dim=(0, 1)), lambda a: a.sum()),
    (lambda x: x.mean(dim=0, keepdim=True), lambda a: a.mean(0, keepdims=True)),
    (lambda x: x.sum(1, keepdim=True), lambda a: a.sum(1, keepdims=True)),
    (lambda x: x.argmax(dim=1), lambda a: a.argmax(1)),
    (lambda x: x.cumsum(dim=0), lambda a: a.cumsum(0)),
    (lambda x: x.softmax(dim=0).sum(dim=0), lambda a: np.ones(3, np.float32)),
    (lambda x: x.unsqueeze(dim=0), lambda a: a[None]),
    (lambda x: x[:1].squeeze(dim=0), lambda a: a[0]),
    (lambda x: x.t(), lambda a: a.T),
    (lambda x: x.mm(x.t()), lambda a: a @ a.T),
    (lambda x: x.expand(2, -1, -1), lambda a: np.broadcast_to(a, (2, 2, 3))),
    (lambda x: x.view(3, 2), lambda a: a.reshape(3, 2)),
    (lambda x: x.view(-1), lambda a: a.reshape(-1)),
    (lambda x: x.view((3, -1)), lambda a: a.reshape(3, 2)),
    (lambda x: x.permute(1, 0), lambda a: a.T),
    (lambda x: x.transpose(0, 1), lambda a: a.T),
    (lambda x: x.clamp(min=1, max=3), lambda a: a.clip(1, 3)),
    (lambda x: x.norm(), lambda a: np.linalg.norm(a)),
    (lambda x: x.masked_fill(x > 2, 0), lambda a: np.where(a > 2, np.float32(0), a)),
    (lambda x: x.flatten(), np.ravel),
    (lambda x: (x > 4).any(), lambda a: (a > 4).any()),
    (lambda x: (x > 4).all(dim=0), lambda a: (a > 4).all(0)),
    (lambda x: x.mT, lambda a: a.T),
    (lambda x: x.std(axis=0, ddof=1), lambda a: a.std(0, ddof=1)),
    (lambda x: x.abs().pow(2).add(1).mul(2).sub(3).div(4), lambda a: (a**2 * 2 - 1) / 4),
    (lambda x: x.logsumexp(dim=1), lambda a: np.log(np.exp(a).sum(1))),
    (lambda x: x.max(), np.max),
    (lambda x: x.min(1).values, lambda a: a.min(1)),
    (lambda x: x.max(dim=0).indices, lambda a: a.argmax(0)),
    (lambda x: x.var(dim=0), lambda a: a.var(0, ddof=1)),
    (lambda x: x.contiguous(), lambda a: a),
    (lambda x: x.where(x > 1, sg.zeros(1)), lambda a: np.where(a > 1, a, np.float32(0))),
]


@pytest.mark.parametrize(("fn", "reference"), NAMES, ids=range(len(NAMES)))
def test_pytorch_names(fn, reference):
    assert_close(fn(Tensor(X)).numpy(), np.asarray(reference(X)), 1e-6)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize("dtype", [None, sg.float32, sg.float64])
def test_dtypes_of_softmax(name, dtype):
    for x in (sg.tensor([1, 2]), sg.tensor([1.0, 2.0]), sg.tensor([1.0, 2.0], dtype=sg.float64)):
        if dtype is None and not x.is_floating_point():
            with pytest.raises(sg.DTypeError, match="not implemented for int64"):
                getattr(F, name)(x, 0)
            continue
        wanted = dtype or x.dtype
        assert getattr(F, name)(x, 0, dtype=dtype).dtype == wanted
        if name != "softmin":
            assert getattr(x, name)(0, dtype).dtype == getattr(sg, name)(x, 0, dtype).dtype == wanted


def test_attributes_that_dont_exist():
    with pytest.raises(AttributeError, match=r"'Tensor' object has no attribute 'fft'"):
        sg.ones(1).fft()


def test_tensors_are_written_to_files_by_numpy(tmp_path):
    model = sg.nn.Linear(3, 2)
    state = {name: p.detach().numpy() for name, p in model.named_parameters()}
    np.savez(tmp_path / "all.npz", **model.state_dict())
    np.savez_compressed(tmp_path / "small.npz", **dict(model.named_parameters()))
    np.save(tmp_path / "one.npy", model.weight * 1)
    np.savetxt(tmp_path / "one.txt", model.bias)
    for name, value in state.items():
        for file in ("all.npz", "small.npz"):
            np.testing.assert_array_equal(np.load(tmp_path / file)[name], value)
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), state["weight"])
    np.testing.assert_allclose(np.loadtxt(tmp_path / "one.txt"), state["bias"])
    with sg.Graph().as_default(), pytest.raises(sg.TraceError, match="is symbolic: Python can't have"):
        np.save(tmp_path / "none.npy", sg.placeholder(sg.float32, [2]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: sg.zeros(10**15),
        lambda: sg.ones(10**15),
        lambda: sg.empty(10**15),
        lambda: sg.full((10**15,), 2.5),
        lambda: sg.arange(10**15),
        lambda: sg.eye(10**8),
        lambda: sg.zeros(10**10, 10**10),
        lambda: sg.ones(1).expand(10**15) + 1,
        lambda: sg.ones(1).expand(10**15).exp(),
        lambda: sg.ones(1).expand(10**15, 2).sum(1),
    ],
)
def test_more_memory_than_there_are_addresses(make):
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed with sizes=") as caught:
        make()
    assert caught.value.where.file == __file__


def test_memory_that_is_not_there(monkeypatch):
    def refuse(*args, **named):
        raise MemoryError("Unable to allocate")

    for name in ("zeros", "full", "eye", "arange"):
        monkeypatch.setattr(np, name, refuse)
    for make in (lambda: sg.zeros(2), lambda: sg.ones(2), lambda: sg.eye(2), lambda: sg.arange(2)):
        with pytest.raises(RuntimeError, match="there is no memory for a tensor of shape ") as caught:
            make()
        assert isinstance(caught.value, MemoryError)
        assert caught.value.where.file == __file__


def test_size_counts():
    x = sg.zeros(2, 3, 4)
    assert x.size() == x.shape == (2, 3, 4)
    assert isinstance(x.size(), sg.Size)
    assert isinstance(x.shape, sg.Size)
    assert (x.size().numel(), x.size()[1:].numel(), (x.size() + (5,)).numel(), sg.Size([2, 5]).numel()) == (24, 12, 120, 10)
    assert x.size(1) == x.size()[1] == 3


LISTS = {
    "tensors of one element": (lambda: [sg.tensor([1.0]), sg.tensor(2)], (2,), np.float32),
    "nested": (lambda: [[sg.ones(1, 1)], [2]], (2, 1), np.float32),
    "that requires grad": (lambda: [sg.ones(1, requires_grad=True)], (1,), np.float32),
    "a wide tensor": (lambda: [1.0, sg.tensor(2.0, dtype=sg.float64)], (2,), np.float64),
    "NumPy's numbers": (lambda: [np.float64(1.0), 2], (2,), np.float64),
    "NumPy's narrow numbers": (lambda: [np.float32(1.0), 2], (2,), np.float32),
    "arrays": (lambda: (np.ones(2), np.ones(2)), (2, 2), np.float64),
    "Python's numbers": (lambda: [[1, 2.5], (3, 4)], (2, 2), np.float32),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_have_the_dtype_of_what_is_in_them(name):
    """As in PyTorch, where a tensor in a list is a number."""
    make, shape, dtype = LISTS[name]
    for made in (sg.tensor(make()), sg.as_tensor(make())):
        assert (made.shape, made.dtype) == (shape, dtype)


def test_a_list_of_tensors_with_more_elements_is_no_data():
    with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
        sg.tensor([sg.ones(2)])
