"""Functions and methods that draw: by seed the same numbers eagerly, compiled and in a Session; by their distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import staticgrad as sg
from staticgrad.errors import ArgumentError, DTypeError

P = np.array([[0.2, 0.5, 0.3], [0.9, 0.05, 0.05]], np.float32)
RATE = np.array([[1.0, 5.0, 0.0], [2.0, 0.5, 30.0]], np.float32)

METHODS = {
    "uniform_": lambda x: x.uniform_(-1, 2), "normal_": lambda x: x.normal_(1, 2),
    "exponential_": lambda x: x.exponential_(2.0), "log_normal_": lambda x: x.log_normal_(),
    "geometric_": lambda x: x.geometric_(0.3), "cauchy_": lambda x: x.cauchy_(),
    "bernoulli_": lambda x: x.bernoulli_(0.3), "random_": lambda x: x.random_(3, 9),
}  # fmt: skip
FUNCTIONS = {
    "bernoulli": lambda p, r: sg.bernoulli(p), "binomial": lambda p, r: sg.binomial(sg.full_like(p, 5.0), p),
    "multinomial": lambda p, r: sg.multinomial(p, 2), "normal": lambda p, r: sg.normal(r, 2.0),
    "multinomial with replacement": lambda p, r: sg.multinomial(p, 5, replacement=True), "poisson": lambda p, r: sg.poisson(r),
    "rand_like": lambda p, r: sg.rand_like(p), "randint_like": lambda p, r: sg.randint_like(p, 3, 7),
    "randint": lambda p, r: sg.randint(3, 7, (4,)), "randperm": lambda p, r: sg.randperm(6),
}  # fmt: skip


@pytest.mark.parametrize("name", [*METHODS, *FUNCTIONS])
def test_the_same_numbers_in_every_mode(name):
    def twice(p, r):
        draw = FUNCTIONS.get(name) or (lambda p, r: METHODS[name](p.clone()))
        return draw(p, r), draw(p, r)

    given = sg.tensor(P), sg.tensor(RATE)
    sg.manual_seed(5)
    expected = [x.numpy() for x in twice(*given)]
    assert (expected[0] != expected[1]).any() or name == "bernoulli"
    fn = sg.compile(twice)
    for _ in range(2):  # traced, and run
        sg.manual_seed(5)
        for found, wanted in zip(fn(*given), expected, strict=True):
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)
    if name in FUNCTIONS:
        sg.manual_seed(5)
        with sg.Graph().as_default(), sg.Session() as sess:
            feeds = [sg.placeholder(sg.float32, (2, 3)) for _ in given]
            for found, wanted in zip(sess.run(twice(*feeds), dict(zip(feeds, (P, RATE), strict=True))), expected, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_orders_in_a_compiled_step_are_drawn_anew():
    fn = sg.compile(lambda x: x[sg.randperm(50)])
    x = sg.arange(50)
    first, second = fn(x).tolist(), fn(x).tolist()
    assert first != second
    assert sorted(first) == sorted(second) == list(range(50))


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (20, 0.7), (100, 0.02), (9, 0.5)])
def test_binomial_numbers(n, p):
    sg.manual_seed(0)
    x = sg.binomial(sg.full((5000,), float(n)), sg.full((5000,), p)).numpy()
    observed = np.bincount(x.astype(int), minlength=n + 1)
    expected = stats.binom.pmf(np.arange(n + 1), n, p) * 5000
    large = expected > 5
    assert (np.abs(observed - expected)[large] < 5 * np.sqrt(expected[large])).all()


def test_binomial_limits():
    p = sg.tensor([0.0, 1.0, 0.5])
    assert sg.binomial(sg.tensor([4.0, 4.0, 0.0]), p).tolist() == [0.0, 4.0, 0.0]
    with pytest.raises(ArgumentError, match=r"probabilities have to be in \[0, 1\]"):
        sg.binomial(sg.ones(1), sg.full((1,), 1.5))
    with pytest.raises(ArgumentError, match="counts have to be >= 0"):
        sg.binomial(-sg.ones(1), sg.zeros(1))
    with pytest.raises(DTypeError, match="of one floating dtype"):
        sg.binomial(sg.tensor([3]), sg.zeros(1))


def test_functions_that_change_their_first_argument():
    dropouts = {"alpha_dropout_", "dropout_", "feature_alpha_dropout_", "feature_dropout_"}
    functions_only = {"celu_", "rrelu_", "selu_", "threshold_", "bool_", *dropouts}  # no methods of PyTorch's tensors either
    for name in [name for name in sg.__all__ if name.endswith("_") and not name.startswith("_")]:
        assert hasattr(sg.Tensor, name) is (name not in functions_only), name
    x = sg.tensor([1.5, -2.0])
    assert sg.abs_(x) is x
    assert sg.clamp_(x, max=1.75) is x
    assert x.tolist() == [1.5, 1.75]
    flags = sg.tensor([6, 3])
    same = flags
    flags &= 2
    flags |= 8
    flags ^= 1
    flags <<= 1
    assert same is flags
    assert flags.tolist() == [22, 22]
