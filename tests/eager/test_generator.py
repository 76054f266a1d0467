"""Random numbers: known answers, reproducibility, distributions, dropout."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager.generator import marks
from staticgrad.operators import frontends
from staticgrad.ops.random import generator, philox

WORD = 0xFFFFFFFF


def philox_by_hand(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """Philox 4x32-10 on Python integers, from the paper."""
    (a, b, c, d), (k, m) = counter, key
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (q >> 32) ^ b ^ k, q & WORD, (p >> 32) ^ d ^ m, p & WORD
        k, m = (k + 0x9E3779B9) & WORD, (m + 0xBB67AE85) & WORD
    return a, b, c, d


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((WORD,) * 4, (WORD,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
    ids=["zero", "ones", "pi"],
)
def test_known_answers_of_random123(counter, key, words):
    assert philox_by_hand(counter, key) == words


@pytest.mark.parametrize(("seed", "draw"), [(0, 0), (1, 0), (2**40 + 5, 7), (2**63 - 1, 2**35 + 1)])
def test_blocks_are_those_of_the_paper(seed, draw):
    words = philox(seed, draw, 5)
    for i in range(5):
        expected = philox_by_hand((i, 0, draw & WORD, draw >> 32), (seed & WORD, seed >> 32))
        assert tuple(int(w[i]) for w in words) == expected


MAKERS = {
    "rand": lambda: sg.rand(50),
    "randn": lambda: sg.randn(5, 10),
    "rand f64": lambda: sg.rand(50, dtype=sg.float64),
    "randint": lambda: sg.randint(0, 1000, (50,)),
    "randperm": lambda: sg.randperm(50),
    "dropout": lambda: sg.dropout(sg.ones(50), 0.5),
    "normal_": lambda: sg.zeros(50).normal_(),
    "uniform_": lambda: sg.zeros(50).uniform_(),
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_seed_decides(name):
    make = MAKERS[name]
    sg.manual_seed(7)
    first, second = make().numpy(), make().numpy()
    sg.manual_seed(7)
    again = make().numpy()
    sg.manual_seed(8)
    other = make().numpy()
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_the_state_can_be_saved():
    sg.manual_seed(3)
    sg.rand(2)
    state = generator.state
    a = sg.rand(3).tolist()
    generator.state = state
    assert sg.rand(3).tolist() == a
    assert state == (3, 1)


@pytest.mark.parametrize("seed", [-1, 1.5, True, 2**63, "a"])
def test_bad_seeds(seed):
    state = generator.state
    with pytest.raises(sg.ArgumentError, match=r"^a seed is an integer in \[0, 2\*\*63\)"):
        sg.manual_seed(seed)
    assert generator.state == state


def test_a_seed_never_gives_the_same_numbers_in_two_shapes_by_accident():
    """Elements are counted in row-major order: a longer draw begins with the shorter one."""
    sg.manual_seed(1)
    short = sg.rand(3)
    sg.manual_seed(1)
    assert sg.rand(2, 3).reshape(-1)[:3].tolist() == short.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform(dtype):
    sg.manual_seed(0)
    x = sg.rand(40_000, dtype=dtype).numpy()
    assert x.dtype == dtype
    assert x.min() >= 0
    assert x.max() < 1
    assert abs(x.mean() - 0.5) < 4 / np.sqrt(12 * x.size)
    assert abs(x.var() - 1 / 12) < 0.002
    counts = np.histogram(x, 20, (0, 1))[0]
    assert ((counts - 2000) ** 2 / 2000).sum() < 45, "chi-squared, 19 degrees of freedom"
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.02


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal(dtype):
    sg.manual_seed(0)
    x = sg.randn(40_000, dtype=dtype).numpy().astype(np.float64)
    assert abs(x.mean()) < 0.02
    assert abs(x.var() - 1) < 0.03
    assert abs((x**3).mean()) < 0.06
    assert abs((x**4).mean() - 3) < 0.15
    assert 3.5 < np.abs(x).max() < 7


def test_integers_and_permutations():
    sg.manual_seed(0)
    x = sg.randint(10**9, 10**9 + 20, (5000,)).numpy()
    assert x.min() == 10**9
    assert x.max() == 10**9 + 19
    assert x.dtype == np.int64
    assert sg.randint(3).shape == ()
    assert sg.randint(-2, 3, (4,), dtype=sg.int32).dtype == np.int32
    p = sg.randperm(1000)
    assert sorted(p.tolist()) == list(range(1000))
    assert p.tolist() != list(range(1000))
    assert sg.randperm(0).shape == (0,)
    with pytest.raises(sg.ArgumentError, match=r"^randint: need low < high, got 3 and 3"):
        sg.randint(3, 3)


def test_random_leaves():
    w = sg.randn(2, 3, requires_grad=True)
    assert w.is_leaf
    assert w.requires_grad
    (w * 2).sum().backward()
    assert w.grad.tolist() == [[2.0] * 3] * 2
    with pytest.raises(sg.ArgumentError, match=r"^random numbers are floating, got dtype int64"):
        sg.rand(2, dtype=int)


def test_dropout_statistics_and_gradient():
    sg.manual_seed(0)
    x = sg.full((20_000,), 3.0, requires_grad=True)
    y = sg.dropout(x, 0.3)
    kept = y.detach().numpy() != 0
    assert abs(kept.mean() - 0.7) < 0.015
    np.testing.assert_allclose(y.detach().numpy()[kept], 3 / 0.7, rtol=1e-6)
    assert abs(y.mean().item() - 3) < 0.06
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.where(kept, 1 / 0.7, 0), rtol=1e-6)


def test_dropout_keeps_its_mask_for_the_backward_pass(empty_default_graph: None):
    """One byte an element, and not the random number."""
    x = sg.ones(64, 64, requires_grad=True)
    with sg.eager_kernels(wait=True):
        kept = [sg.dropout(x, 0.5)._record.kept for _ in range(3)][-1]
    assert [a.dtype for a in kept] == [np.bool_]


def test_dropout_edges():
    x = sg.tensor([1.0, np.inf], requires_grad=True)
    assert sg.dropout(x, 0.0) is x
    assert sg.dropout(x, 0.5, training=False) is x
    y = sg.dropout(x, 1.0)
    assert y.tolist() == [0, 0]
    y.sum().backward()
    assert x.grad.tolist() == [0, 0]
    for p in (-0.1, 1.1):
        with pytest.raises(sg.ArgumentError, match=r"^dropout probability has to be between 0 and 1, but got"):
            sg.dropout(x, p)
    with pytest.raises(sg.DTypeError, match=r"^dropout: x has to be floating, got int64"):
        sg.dropout(sg.tensor([1, 2]))


def test_random_tensors_of_an_earlier_default_graph_cost_nothing(empty_default_graph):
    before = frontends.tracing
    sg.placeholder("float32", (2,))
    kept = sg.rand(2)
    assert marks.alive == 1
    assert frontends.tracing == before + 1
    sg.reset_default_graph()
    assert marks.alive == 0
    assert frontends.tracing == before
    sg.placeholder("float32", (2,))
    other = sg.rand(2)
    del kept
    assert marks.alive == 1
    del other
    assert marks.alive == 0
    assert frontends.tracing == before
