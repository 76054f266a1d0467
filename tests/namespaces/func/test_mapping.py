"""`vmap`: axes of arguments and results, refusals, random numbers, loops, unknown extents, batching rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import func
from staticgrad.autodiff import batching
from staticgrad.autodiff.batching import Samples, rule_of
from staticgrad.errors import ArgumentError, TransformError
from staticgrad.ir import REGISTRY, Leaf
from staticgrad.operators import apply
from staticgrad.ops.rules import one_by_one
from tests.helpers import assert_close

X = sg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

# the axes of arguments and results ------------------------------------------------------------------------------------


def test_arguments_that_are_no_tensors_are_passed_on():
    found = sg.vmap(lambda x, n, word: x * n if word == "times" else x, in_dims=(0, None, None))(X, 3, "times")
    assert_close(found, X.numpy() * 3)


def test_keyword_arguments_are_not_mapped():
    assert_close(sg.vmap(lambda x, *, w: (x * w).sum())(X, w=sg.ones(3)), np.array([6, 15], np.float32))


def test_a_result_that_is_the_same_for_all_is_repeated():
    assert_close(sg.vmap(lambda x: sg.ones(2))(X), np.ones((2, 2), np.float32))
    assert sg.vmap(lambda x: (x, sg.ones(2)), out_dims=(0, None))(X)[1].shape == (2,)


def test_arrays_are_mapped():
    assert_close(sg.vmap(lambda x: x.sum())(X.numpy()), np.array([6, 15], np.float32))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: sg.vmap(sg.sin, in_dims=[0])(X), "expected `in_dims` to be int or a"),
        (lambda: sg.vmap(sg.sin)(), "got no inputs"),
        (lambda: sg.vmap(sg.add, in_dims=(0, 0, 0))(X, X), "in_dims is not compatible with the structure of inputs"),
        (lambda: sg.vmap(sg.sin, in_dims=("a",))(X), "in_dim must be either an integer dimension or None"),
        (lambda: sg.vmap(sg.add)(X, 1.0), "We cannot vmap over non-Tensor arguments"),
        (lambda: sg.vmap(sg.sin, in_dims=2)(X), "expected in_dim to satisfy -2 <= in_dim < 2"),
        (lambda: sg.vmap(sg.add)(X, sg.ones(3, 3)), "Expected all tensors to have the same size in the mapped dimension"),
        (lambda: sg.vmap(sg.add, in_dims=None)(X, X), "expected `in_dims` to be int or a"),
        (lambda: sg.vmap(sg.add, in_dims=(None, None))(X, X), "at least one Tensor to vmap over"),
        (lambda: sg.vmap(sg.sin, out_dims=(0, 0))(X), "out_dims is not compatible with the structure of outputs"),
        (lambda: sg.vmap(sg.sin, out_dims=3)(X), "out_dim=3 is not an axis of a result"),
        (lambda: sg.vmap(sg.sin, out_dims=None)(X), "can not return a BatchedTensor when out_dim is None"),
        (lambda: sg.vmap(lambda x: 1)(X), "must only return Tensors, got type <class 'int'>"),
        (lambda: sg.vmap(sg.sin, randomness="none"), "Only allowed values for randomness"),
        (lambda: sg.vmap(sg.sin, chunk_size=0), "chunk_size should be None or greater than 0"),
    ],
)
def test_wrong_axes_are_refused(call: Callable[[], Any], text: str):
    with pytest.raises(ArgumentError, match=".*" + text.replace("(", r"\(")):
        call()


# what a mapped value can't be asked -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x if x.sum() > 0 else -x, "data-dependent control flow"),
        (lambda x: x * x[0].item(), r"calling .item\(\) on a Tensor"),
        (lambda x: x[x > 2], "the extents of the result depend on values"),
        (lambda x: sg.nonzero(x), "the extents of the result depend on values"),
        (lambda x: x.register_hook(print), "the transform says which tensors are differentiated"),
        (lambda x: x.tolist(), "Python can't have a list"),
        (lambda x: sg.tensor(x.numpy()), "Python can't have an array"),
        (lambda x: x.sum().backward(), "gradients inside of vmap are taken by func.grad"),
        (lambda x: x + sg.rand(3), "called random operation while in randomness error mode"),
        (lambda x: sg.zeros(3).add_(x), "inplace arithmetic"),
        (lambda x: sg.zeros(3).__setitem__(0, x[0]), "inplace arithmetic"),
    ],
)
def test_refusals_say_what_to_write(function: Callable[[Any], Any], text: str):
    with pytest.raises((TransformError, sg.GradientError, sg.GraphError), match=text) as caught:
        sg.vmap(function)(X)
    assert "test_mapping.py" in str(caught.value)
    assert len(str(caught.value).splitlines()) >= 2


def test_a_value_does_not_outlive_its_function():
    kept = []
    sg.vmap(lambda x: kept.append(x) or x)(X)
    with pytest.raises(TransformError, match="used after the function has returned"):
        _ = kept[0] + 1
    assert repr(kept[0]).startswith("<vmap of tensor(")


def test_errors_name_the_shapes_of_one_sample():
    with pytest.raises(sg.ShapeError, match=r"\(3,\).*\(2,\)"):
        sg.vmap(lambda x: x + sg.ones(2))(X)


# random numbers -------------------------------------------------------------------------------------------------------


def test_windows_with_given_samples_draw_nothing():
    images, samples = sg.rand(3, 2, 2, 6, 6), sg.rand(2, 2, 2)

    def pooled(image):
        return sg.nn.functional.fractional_max_pool2d(image, 2, output_size=(3, 3), _random_samples=samples)

    assert sg.equal(sg.vmap(pooled)(images), sg.stack([pooled(image) for image in images]))


def test_randomness():
    def draw(x: Any) -> Any:
        return x * 0 + sg.rand(3)

    different = sg.vmap(draw, randomness="different")(X).numpy()
    same = sg.vmap(draw, randomness="same")(X).numpy()
    assert (different[0] != different[1]).all()
    assert (same[0] == same[1]).all()
    both = sg.vmap(sg.vmap(draw, randomness="same", in_dims=(0,)), randomness="different")(sg.zeros(2, 4, 3)).numpy()
    assert (both[:, 0] == both[:, 3]).all()
    assert (both[0] != both[1]).all()


def test_the_same_numbers_in_every_mode():
    def program(x: Any) -> Any:
        return sg.vmap(lambda v: sg.functional.dropout(v, 0.5), randomness="different")(x)

    x = sg.ones(4, 8)
    sg.manual_seed(3)
    eager = program(x)
    sg.manual_seed(3)
    assert_close(sg.compile(program)(x), eager)
    assert 0 < eager.sum().item() < 64


# dtypes and promotion -------------------------------------------------------------------------------------------------


def test_types_are_promoted_as_those_of_one_sample():
    """A sample of a vector is a scalar tensor, which does not decide the dtype."""
    doubles, singles = sg.ones(2, dtype=sg.float64), sg.ones(3)
    assert sg.vmap(lambda a: a * singles)(doubles).dtype == sg.float32
    assert sg.vmap(lambda a, b: a * b, in_dims=(0, None))(sg.tensor([1, 2]), sg.tensor(1.5)).dtype == sg.float32


# loops and branches ---------------------------------------------------------------------------------------------------


def halvings(x: Any) -> Any:
    """Each sample goes on for a number of iterations of its own."""
    return sg.while_loop(lambda x, n: x > 1, lambda x, n: (x / 2, n + 1), (x, sg.tensor(0)))


def sums(x: Any) -> Any:
    return sg.scan(lambda c, t: (c * 0.5 + t * x[0], c + x[1]), sg.tensor(1.0), x)


def branches(x: Any) -> Any:
    return sg.cond(x.sum() > 7, lambda: sg.sin(x), lambda: x * 2)


@pytest.mark.parametrize(
    ("function", "values"),
    [(halvings, [0.5, 40.0, 3.0]), (sums, [[1.0, 2.0], [3.0, 4.0]]), (branches, [[1.0, 2.0], [5.0, 4.0]])],
)
def test_loops_and_branches_of_many_samples(function: Callable[[Any], Any], values: Any):
    given = sg.tensor(values)
    rows = [function(x) for x in given]
    for found in (sg.vmap(function)(given), sg.compile(sg.vmap(function))(given)):
        for part, expected in zip(_list(found), zip(*map(_list, rows), strict=True), strict=True):
            assert_close(part, np.stack([e.numpy() for e in expected]), None)


def _list(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (list, tuple)) else [x]


def test_a_mapped_loop_stays_one_node_of_a_graph():
    graph = sg.Graph()
    with graph.as_default():
        sg.vmap(sums)(sg.placeholder(sg.float32, (3, 5)))
    assert sum(node.op.name == "loop" for node in graph.nodes) == 1


def halved(x: Any) -> Any:
    return halvings(x)[0]


def test_gradients_of_loops_and_branches_of_many_samples():
    """`grad` inside another transform runs loops in Python, until no sample goes on."""
    x = sg.tensor([0.5, 40.0, 3.0], dtype=sg.float64)
    assert_close(sg.vmap(func.grad(halved))(x), np.array([1.0, 2.0**-6, 0.25]))
    assert_close(func.grad(lambda x: sg.vmap(halved)(x).sum())(x), np.array([1.0, 2.0**-6, 0.25]))
    expected = np.array([5.0, 80.0, 6.0])

    def branch(x: Any) -> Any:
        return sg.cond(x > 1, lambda: x**2, lambda: x * 5)

    for slope in (func.grad(branch), func.jacrev(branch), lambda x: func.vjp(branch, x)[1](sg.ones_like(x))):
        assert_close(sg.vmap(slope)(x), expected)
        assert_close(sg.compile(sg.vmap(slope))(x), expected)
    assert_close(sg.compile(func.grad(halved))(x[1]), np.float64(2.0**-6))
    assert_close(sg.compile(sg.vmap(lambda t: func.jvp(halved, (t,), (t,))[1]))(x), x.numpy() * [1.0, 2.0**-6, 0.25])


def test_a_loop_without_a_known_length_under_vjp_in_a_graph():
    compiled = sg.compile(lambda x: func.vjp(halved, x)[1](x))
    with pytest.raises(TransformError, match="known only when the graph runs"):
        compiled(sg.tensor(40.0))


# unknown extents ------------------------------------------------------------------------------------------------------


def test_a_placeholder_of_unknown_extent():
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder(sg.float32, (None, 3))
        w = sg.constant(np.arange(12, dtype=np.float32).reshape(3, 4))
        y = sg.vmap(func.grad(lambda w, x: sg.tanh(x @ w).sum()), in_dims=(None, 0))(w, x)
        z = sg.vmap(lambda x: sg.softmax(x + w[0, 0]).reshape(3, 1) * sg.ones(2))(x)
    with sg.Session(graph=graph) as session:
        for n in (2, 5):
            given = np.linspace(-1, 1, 3 * n, dtype=np.float32).reshape(n, 3)
            slopes, products = session.run([y, z], {x: given})
            assert slopes.shape == (n, 3, 4)
            assert products.shape == (n, 3, 2)


# rules ----------------------------------------------------------------------------------------------------------------


def test_which_ops_run_sample_by_sample():
    """Not those that a function under a transform never meets: leaves, effects, loops and what the compiler makes."""
    inner = {"adjoint", "as_written", "read", "assign", "group", "fit"}
    inner |= {"loop", "branch", "result", "custom_call", "custom_output", "deferred", "update", "watch", "decision"}
    inner |= {
        "all_gather",
        "all_reduce",
        "all_to_all",
        "broadcast",
        "gather_rows",
        "reduce",
        "reduce_scatter",
    }  # of several processes
    inner |= {"seeded_uniform", "seeded_normal", "python_call"}
    ops = {name: op for name, op in REGISTRY.items() if not isinstance(op.emit, Leaf) and name not in inner}
    assert [name for name, op in ops.items() if rule_of(op) is None] == []
    sized = {"counted", "lexicographic", "nonzero", "positions", "repeated", "sliced"}  # each sample has extents of its own
    found = {name for name, op in ops.items() if rule_of(op) is one_by_one}
    assert found == {"first_of", "nonzero_static", "histc"} | sized


def test_an_op_without_a_rule_runs_sample_by_sample_and_says_so(monkeypatch):
    op = REGISTRY["linalg_inv"]
    monkeypatch.setattr(batching, "rule_of", lambda op: None)
    matrices = sg.tensor([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]])
    with pytest.warns(UserWarning, match="not yet implemented the batching rule for linalg_inv"):
        found = sg.vmap(lambda m: apply(op, m))(matrices)
    assert_close(found, np.linalg.inv(matrices.numpy()))


def test_no_common_op_is_repeated(monkeypatch):
    def repeated(self: Any, node: Any, operands: Any) -> Any:
        raise AssertionError(f"{node.op.name} runs sample by sample")

    monkeypatch.setattr(Samples, "one_by_one", repeated)
    model = sg.nn.Sequential(
        sg.nn.Conv2d(1, 2, 3), sg.nn.ReLU(), sg.nn.MaxPool2d(2), sg.nn.Flatten(0), sg.nn.Linear(18, 3), sg.nn.LayerNorm(3)
    )
    params = dict(model.named_parameters())

    def loss(p: Any, x: Any, t: Any) -> Any:
        return sg.functional.cross_entropy(func.functional_call(model, p, (x,)), t)

    slopes = sg.vmap(func.grad(loss), in_dims=(None, 0, 0))(params, sg.randn(4, 1, 8, 8), sg.tensor([0, 1, 2, 0]))
    assert slopes["0.weight"].shape == (4, 2, 1, 3, 3)


# the tape of eager mode -----------------------------------------------------------------------------------------------


def test_rows_of_a_jacobian_in_one_backward_pass():
    """`autograd.grad` of mapped seeds, which `is_grads_batched` are."""
    x = sg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    weight = sg.tensor([[0.1, 0.2, 0.3], [0.4, -0.5, 0.6]])
    y = sg.tanh(weight @ x)
    expected = func.jacrev(lambda x: sg.tanh(weight @ x))(x.detach())
    seeds = sg.eye(2)
    mapped = sg.vmap(lambda v: sg.autograd.grad(y, x, v, retain_graph=True)[0])(seeds)
    assert_close(mapped, expected, 1e-6)
    assert not mapped.requires_grad
    (rows,) = sg.autograd.grad(y, x, seeds, is_grads_batched=True, create_graph=True)
    assert_close(rows, expected, 1e-6)
    assert rows.requires_grad
