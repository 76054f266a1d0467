"""Sparse tensors: each function gives what the dense one gives of `to_dense()`, in all modes, with its gradients."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import staticgrad as sg

PLACES = [[0, 1, 1, 1], [1, 0, 1, 1]]
VALUES = [1.0, 2.0, 3.0, 4.0]
DENSE = [[0.5, -1.0], [2.0, 3.0]]
WEIGHTS = sg.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=sg.float64)


def matrix(values=VALUES, coalesced=False):
    made = sg.sparse_coo_tensor(PLACES, values, (2, 2))
    return made.coalesce() if coalesced else made


def dense(x):
    return x.to_dense() if isinstance(x, sg.Tensor) else x


FUNCTIONS = {
    "a @ d": lambda a, d: a @ d,
    "d @ a": lambda a, d: d @ a,
    "a @ a": lambda a, d: a @ a,
    "a @ vector": lambda a, d: a @ d[0],
    "mm": lambda a, d: sg.mm(a, d),
    "spmm": lambda a, d: sg.spmm(a, d),
    "mv": lambda a, d: a.mv(d[1]),
    "addmm": lambda a, d: sg.addmm(d, a, d, beta=0.5, alpha=2.0),
    "linear": lambda a, d: sg.nn.functional.linear(a, d, d[0]),
    "linear weight": lambda a, d: sg.nn.functional.linear(d, a),
    "d + a": lambda a, d: d + a,
    "d - a": lambda a, d: d - a,
    "a + a": lambda a, d: a + a,
    "a - a": lambda a, d: a - a * 0.5,
    "a * number": lambda a, d: 2 * a * 3.0,
    "a * d": lambda a, d: a * d,
    "d * a": lambda a, d: d * a,
    "a * row": lambda a, d: a * d[0],
    "a * a": lambda a, d: a * a.t(),
    "a / number": lambda a, d: a / 2,
    "-a": lambda a, d: -a,
    "abs": lambda a, d: abs(-a),
    "a ** 2": lambda a, d: a**2,
    "sqrt": lambda a, d: sg.sqrt(a),
    "relu": lambda a, d: sg.relu(a),
    "sum": lambda a, d: a.sum(),
    "sum 0": lambda a, d: sg.sum(a, 0),
    "sum 1": lambda a, d: sg.sum(a, dim=1, keepdim=True),
    "norm": lambda a, d: a.norm(),
    "t": lambda a, d: a.t(),
    "T": lambda a, d: a.T,
    "transpose": lambda a, d: a.transpose(0, 1),
    "unsqueeze": lambda a, d: a.unsqueeze(0),
    "cat": lambda a, d: sg.cat([a, a.t()], 1),
    "stack": lambda a, d: sg.stack([a, a.t()]),
    "a[1]": lambda a, d: a[1],
    "a[1, 1]": lambda a, d: a[1, 1],
    "index_select": lambda a, d: a.index_select(1, sg.tensor([1, 0, 1])),
    "zeros_like": lambda a, d: sg.zeros_like(a),
    "isnan": lambda a, d: a.isnan(),
}
DEPENDENT = {
    "a @ a",
    "a * a",
    "a ** 2",
    "abs",
    "sqrt",
    "relu",
    "sum 0",
    "sum 1",
    "norm",
    "a[1]",
    "a[1, 1]",
    "index_select",
    "isnan",
}
"""Those whose places follow from values of indices, which graphs don't hold."""


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, dtype):
    function, d = FUNCTIONS[name], sg.tensor(DENSE, dtype=dtype)
    a = matrix(sg.tensor(VALUES, dtype=dtype))
    found, expected = dense(function(a, d)), function(a.to_dense(), d)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


def loss(function):
    def computed(values, d):
        return (dense(function(matrix(values), d)) ** 3).sum()

    def plain(values, d):
        return (function(matrix(values).to_dense(), d) ** 3).sum()

    return computed, plain


def leaves():
    return [sg.tensor(x, dtype=sg.float64, requires_grad=True) for x in (VALUES, DENSE)]


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"isnan", "zeros_like"}))
def test_gradients(name):
    found = []
    for function in loss(FUNCTIONS[name]):
        own = leaves()
        first = sg.grad(function(*own), own, create_graph=True, allow_unused=True)
        second = sg.grad(sum((g**2).sum() for g in first if g is not None), own, allow_unused=True)
        found.append([None if g is None else g.detach().numpy() for g in (*first, *second)])
    for mine, expected in zip(*found, strict=True):
        np.testing.assert_allclose(0 if mine is None else mine, 0 if expected is None else expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"isnan", "zeros_like"}))
def test_compiled(name):
    function = loss(FUNCTIONS[name])[0]

    @sg.compile
    def step(values, d):
        result = function(values, d)
        result.backward()
        return result

    for _ in range(2):
        eager, compiled = leaves(), leaves()
        expected = function(*eager)
        expected.backward()
        np.testing.assert_allclose(step(*compiled).detach().numpy(), expected.detach().numpy(), rtol=1e-12)
        for x, y in zip(compiled, eager, strict=True):
            assert (x.grad is None) == (y.grad is None)
            if x.grad is not None:
                np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - DEPENDENT - {"zeros_like"}))
def test_sessions(name):
    function = loss(FUNCTIONS[name])[0]
    own = leaves()
    expected = [x.detach().numpy() for x in (function(*own), *sg.grad(function(*own), own, allow_unused=True)) if x is not None]
    with sg.Graph().as_default(), sg.Session() as sess:
        fed = [sg.placeholder(sg.float64, x.shape) for x in own]
        result = function(*fed)
        wanted = [g for g in sg.gradients(result, fed) if g is not None]
        found = sess.run([result, *wanted], {p: x.detach().numpy() for p, x in zip(fed, own, strict=True)})
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_leaves_out_what_is_not_there(dim, log):
    a = matrix(sg.tensor(VALUES, dtype=sg.float64, requires_grad=True), coalesced=True)
    found = (sg.sparse.log_softmax if log else sg.sparse.softmax)(a, dim).to_dense()
    filled = sg.where(a.to_dense() == 0, -np.inf, a.to_dense())
    expected = sg.softmax(filled, dim)
    expected = sg.where(a.to_dense() == 0, 0.0, sg.log(expected) if log else expected)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-12)


def test_one_object_after_another_needs_no_new_trace():
    @sg.compile
    def product(a, d):
        return a @ d

    d = sg.tensor(DENSE)
    for last in range(5):
        a = matrix([1.0, 2.0, 3.0, float(last)])
        np.testing.assert_allclose(product(a, d).numpy(), (a.to_dense() @ d).numpy())
    assert len(product.recompiles) == 2


def test_a_compiled_module_has_one_as_an_attribute():
    class Net(sg.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.adjacency = sg.nn.Linear(2, 3), matrix()

        def forward(self, x):
            return sg.spmm(self.adjacency, self.linear(x))

    net, x = Net(), sg.tensor(DENSE)
    compiled = sg.compile(net)
    for values in (VALUES, [4.0, 3.0, 2.0, 1.0]):
        net.adjacency = matrix(values)
        np.testing.assert_allclose(compiled(x).detach().numpy(), net(x).detach().numpy(), rtol=1e-6)


def test_custom_functions_save_them():
    class Product(sg.autograd.Function):
        @staticmethod
        def forward(ctx, places, values, b):
            a = sg.sparse_coo_tensor(places, values, (2, 2))
            ctx.save_for_backward(a, b)
            return sg.matmul(a, b)

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return None, (g @ b.t())[tuple(a._indices())], a.t().matmul(g)

    def run(values, b):
        result = (Product.apply(sg.tensor(PLACES), values, b) * WEIGHTS).sum()
        result.backward()
        return result

    for call in (run, sg.compile(run)):
        values, b = leaves()
        expected = leaves()
        (matrix(expected[0]) @ expected[1] * WEIGHTS).sum().backward()
        call(values, b)
        np.testing.assert_allclose(values.grad.numpy(), expected[0].grad.numpy())
        np.testing.assert_allclose(b.grad.numpy(), expected[1].grad.numpy())


def test_facts():
    a = matrix()
    assert isinstance(a, sg.Tensor)
    assert sg.is_tensor(a)
    assert (a.shape, a.size(1), a.ndim, a.numel(), len(a), a._nnz()) == ((2, 2), 2, 2, 4, 2, 4)
    assert (a.layout, sg.sparse_coo, a.is_sparse, a.dtype) == (sg.sparse_coo, "torch.sparse_coo", True, sg.float32)
    assert (a.sparse_dim(), a.dense_dim(), a.is_coalesced(), a.coalesce().is_coalesced()) == (2, 0, False, True)
    assert a.type() == "torch.sparse.FloatTensor"
    assert a.cpu() is a
    assert a.to_sparse() is a
    assert a.double().dtype == a.to(sg.float64).dtype == sg.float64
    assert a.coalesce().values().tolist() == [1.0, 2.0, 7.0]
    assert a.coalesce().indices().tolist() == [[0, 1, 1], [1, 0, 1]]
    assert [row.to_dense().tolist() for row in a] == [[0.0, 1.0], [2.0, 7.0]]
    for other in (copy.deepcopy(a), pickle.loads(pickle.dumps(a)), a.clone(), a.detach()):
        assert other.to_dense().tolist() == [[0.0, 1.0], [2.0, 7.0]]
    assert repr(a.coalesce()) == (
        "tensor(indices=tensor([[0, 1, 1],\n                       [1, 0, 1]]),\n       values=tensor([1., 2., 7.]),\n"
        "       size=(2, 2), nnz=3, layout=torch.sparse_coo)"
    )


def test_making():
    assert sg.sparse_coo_tensor(PLACES, VALUES).shape == (2, 2)
    assert sg.sparse_coo_tensor(size=(2, 3)).to_dense().tolist() == [[0.0] * 3] * 2
    assert sg.sparse_coo_tensor(np.array(PLACES, np.int32), sg.ones(4), (2, 2), dtype=sg.int64).dtype == sg.int64
    assert sg.sparse.FloatTensor(sg.tensor(PLACES), sg.tensor(VALUES), sg.Size([2, 2])).shape == (2, 2)
    assert sg.sparse.LongTensor(2, 3).dtype == sg.int64
    x = sg.tensor([[0.0, 3.0], [0.0, 0.0]])
    assert x.to_sparse().indices().tolist() == [[0], [1]]
    assert x.to_sparse(1).values().tolist() == [[0.0, 3.0]]
    assert x.sparse_mask(matrix(coalesced=True)).values().tolist() == [3.0, 0.0, 0.0]
    rows = sg.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]], (3, 2))
    assert (rows.sparse_dim(), rows.dense_dim()) == (1, 1)
    assert sg.sparse.sum(rows, 0).tolist() == [4.0, 6.0]
    assert sg.sparse.sum(rows, 1).to_dense().tolist() == [3.0, 0.0, 7.0]


def test_leaves():
    a = sg.sparse_coo_tensor(PLACES, VALUES, (2, 2), requires_grad=True)
    sg.sparse.mm(a, sg.tensor(DENSE)).sum().backward()
    assert a.is_leaf
    assert a.grad.to_dense().tolist() == [[0.0, 5.0], [-0.5, 5.0]]
    a.grad = None
    assert a.grad is None


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda a: a + sg.tensor(DENSE),
            RuntimeError,
            r"add\(sparse, dense\) is not supported. Use add\(dense, sparse\) instead",
        ),
        (lambda a: a / sg.tensor(DENSE), RuntimeError, "Sparse division requires a scalar or zero-dim dense tensor divisor"),
        (lambda a: a.indices(), RuntimeError, "Cannot get indices on an uncoalesced tensor"),
        (lambda a: a.values(), RuntimeError, "Cannot get values on an uncoalesced tensor"),
        (lambda a: a.numpy(), TypeError, "can't convert Sparse layout tensor to numpy"),
        (lambda a: a.exp(), sg.UnsupportedError, "exp is not there for sparse tensors.*x.to_dense()"),
        (lambda a: sg.exp(a), sg.UnsupportedError, "exp is not there for sparse tensors"),
        (lambda a: a == a, sg.UnsupportedError, "eq is not there for sparse tensors"),
        (lambda a: a[0:1], sg.UnsupportedError, "a sparse tensor has no slices"),
        (lambda a: bool(a), RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
        (lambda a: a @ sg.ones(2, 2, dtype=sg.float64), RuntimeError, "same dtype"),
        (lambda a: a @ sg.ones(3, 2), RuntimeError, "mat1 and mat2 shapes cannot be multiplied"),
        (lambda a: a.nothing, AttributeError, "no attribute 'nothing'"),
        (lambda a: sg.sparse_coo_tensor(PLACES, VALUES, (1, 2)), RuntimeError, "for dim 0, size is 1 but found index 1"),
        (lambda a: sg.sparse_coo_tensor(PLACES, VALUES[:3], (2, 2)), RuntimeError, "same nnz.*indices: 4.*values: 3"),
        (lambda a: sg.sparse_coo_tensor(PLACES, VALUES, (2, 2, 2)), RuntimeError, "sparse_dim .2. . dense_dim .0."),
        (lambda a: sg.sparse_coo_tensor([0, 1], VALUES, (2,)), RuntimeError, "sparse_dim x nnz"),
        (lambda a: sg.nn.Module().register_buffer("a", a), TypeError, "buffer 'a'"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=f"(?s){text}"):
        call(matrix())


def test_an_empty_one_has_the_default_dtype():
    sg.set_default_dtype(sg.float64)
    try:
        a = sg.sparse_coo_tensor((2, 3))
        assert (a.dtype, "float64" in repr(a)) == (sg.float64, False)
    finally:
        sg.set_default_dtype(sg.float32)
    assert "dtype=torch.float64" in repr(a)
