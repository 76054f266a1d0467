"""What fuses into one kernel, what does not, and the reason on record."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import numpy as np
import pytest

from staticgrad.autodiff.reverse import gradients
from staticgrad.compiler.fusion.fuse import MAX_MEMBERS, Group
from staticgrad.compiler.fusion.iteration_domain import classify
from staticgrad.compiler.fusion.node_facts import COL, FULL, ROW, SCALAR, FusionFailure, Layouts
from staticgrad.operators import F, Symbol
from tests.compiler.helpers import Bench, check_convexity, on_host, ops_of, reasons


def cross_entropy(x: Symbol, labels: Symbol) -> Symbol:
    picked = F.take_along_axis(F.log_softmax(x), F.expand_dims(labels, 1), 1)
    return -F.mean(picked)


# kernels ----------------------------------------------------------------------------------------------------------

KERNELS: dict[str, tuple[Callable[[Bench], list[Symbol]], int]] = {
    "a chain": (lambda b: [F.tanh(F.exp(b.feed(4, 5)) * 2 + 1)], 1),
    "two results of one pass": (lambda b: [y := F.exp(b.feed(4, 5)), y * 2], 1),
    "a row operand": (lambda b: [F.exp(b.feed(4, 5) + b.feed(5))], 1),
    "a column operand": (lambda b: [F.exp(b.feed(4, 5) + b.feed(4, 1))], 1),
    "softmax": (lambda b: [F.softmax(b.feed(4, 5))], 1),
    "softmax of softmax": (lambda b: [F.softmax(F.softmax(b.feed(4, 5)))], 1),
    "softmax of a product of many axes": (lambda b: [F.softmax(b.feed(2, 3, 5) * b.feed(5))], 1),
    "layer norm": (
        lambda b: [((x := b.feed(4, 5)) - F.mean(x, 1, keepdims=True)) * F.rsqrt(F.var(x, 1, False, True) + 1e-5)],
        1,
    ),
    "sum of all": (lambda b: [F.sum(F.exp(b.feed(4, 5)))], 1),
    "two sums of one value": (lambda b: [F.sum(x := F.exp(b.feed(4, 5))), F.sum(x * x)], 1),
    "a row sum and a column sum": (lambda b: [F.sum(x := F.exp(b.feed(4, 5)), 0), F.sum(x, 1)], 1),
    "scalar work after a sum": (lambda b: [F.sqrt(F.sum(b.feed(4, 5)) / 7 + 1)], 1),
    "through a reshape": (lambda b: [F.reshape(F.exp(b.feed(4, 5)), (20,)) * 2], 1),
    "a bias gradient": (lambda b: [g := F.exp(b.feed(4, 5)), F.sum(g, 0)], 1),
    "two that share a feed alone": (lambda b: [F.sum(x := b.feed(4, 5)), F.sum(x * x)], 1),
    "a sum over rows, and one over columns": (lambda b: [F.sum(x := b.feed(4, 5), 0), F.sum(x, 1)], 1),
    # more than one
    "one element by element, and one by rows": (lambda b: [F.softmax(x := b.feed(4, 5)), F.exp(x)], 2),
    "two that share a feed, and one needs the other": (
        lambda b: [y := F.sum(F.exp(x := b.feed(4, 5))), F.tanh(x) * y],
        2,
    ),
    "a column sum used per element": (lambda b: [(x := F.exp(b.feed(4, 5))) / F.sum(x, 0)], 2),
    "a total used per element": (lambda b: [(x := F.exp(b.feed(4, 5))) / F.sum(x)], 2),
    "softmax over the rows": (lambda b: [F.softmax(b.feed(4, 5), 0)], 3),
    "a cheap value per column": (lambda b: [b.feed(4, 5) * (b.feed(5) * 2 + 1)], 1),
    "an expensive value per column": (lambda b: [b.feed(4, 5) * F.exp(b.feed(5))], 2),
    "an expensive value per column, which a sum over a row reads": (
        lambda b: [F.sum((b.feed(6, 1, 5) - b.feed(4, 5)) * F.exp(b.feed(4, 5)), 2)],
        2,
    ),
    "spaces that differ": (lambda b: [F.exp(b.feed(4, 5)), F.exp(b.feed(3, 7))], 2),
    "a transposed reader": (lambda b: [(y := F.exp(b.feed(4, 5))), y.T * b.feed(5, 4)], 2),
}


@pytest.mark.parametrize("name", KERNELS)
def test_number_of_kernels(name: str):
    write, kernels = KERNELS[name]
    b = Bench()
    plan = b.check(*write(b))
    assert len(ops_of(plan)) == kernels, plan.explain()


def test_softmax_cross_entropy_forward_and_backward_is_one_kernel():
    b = Bench()
    x, labels = b.feed(8, 10), b.feed(value=np.arange(8))
    loss = cross_entropy(x, labels)
    plan = b.check(loss, *gradients([loss], [x]))
    assert [row.kind for row in plan.instructions] == ["check", "kernel"], plan.explain()


def test_a_bias_gradient_is_accumulated_by_the_backward_kernel():
    b = Bench()
    x, w, bias, labels = b.feed(8, 6), b.feed(6, 10), b.feed(10), b.feed(value=np.arange(8))
    loss = cross_entropy(x @ w + bias, labels)
    plan = b.check(loss, *gradients([loss], [w, bias]))
    kinds = [row.kind for row in plan.instructions]
    assert sorted(kinds) == ["check", "gemm", "gemm", "kernel"], plan.explain()
    (ops,) = ops_of(plan)
    assert ops.count("sum") >= 3, "the softmax's, the picked one, and those over the rows"


def test_an_activation_gradient_with_its_bias_is_one_kernel():
    b = Bench()
    g, x, bias = b.feed(8, 6), b.feed(8, 6), b.feed(6)
    y = F.relu(x + bias)
    plan = b.check(*gradients([y], [x, bias], [g]))
    assert len(ops_of(plan)) == 1


def test_scalar_arithmetic_gathers_in_one_kernel():
    b = Bench()
    scalars = [b.feed(dtype=np.float64) for _ in range(3)]
    decay = [F.exp(s) * 2 for s in scalars]
    vector = b.feed(100)
    plan = b.check(vector * F.astype(decay[0], np.float32), decay[1] + 1, decay[2])
    assert len(ops_of(plan)) == 2
    assert plan.instructions[0].name.startswith("exp")


def test_cheap_values_are_computed_again_rather_than_stored():
    b = Bench()
    x = b.feed(4, 5)
    cheap = x * 2
    plan = b.check(F.softmax(cheap, 0), on_host(F.exp(cheap), 0))
    assert any("cheap: computed again rather than stored" in text for text in reasons(plan, True))


def test_a_value_is_computed_again_where_a_copy_of_its_reader_is():
    """The comparison is read by the selection, which the kernel of the sum over rows computes again."""
    b = Bench()
    x, w, v = b.feed(1), b.feed(4, 1), b.feed(4)
    y = F.sin(F.maximum(x, w)) ** 2
    z = F.sin(F.where(y > v, y, v * 2) ** 2)
    (first,) = gradients([F.sum(z)], [x])
    (second,) = gradients([F.sum(first * first)], [x])
    b.check(first, second)


def test_a_value_stays_stored_for_kernels_that_compute_its_reader_again():
    b = Bench()
    x, z = b.feed(4, 5), b.feed(4, 5)
    begun = F.tanh(x)  # the kernel of `reader` begins before that of `cheap`
    cheap = z * 2
    between = begun + on_host(F.exp(cheap), 0)
    reader = between + cheap
    plan = b.check(F.exp(on_host(between, 0)) * reader)
    assert "cheap: computed again rather than stored" in str(reasons(plan, True))


def test_a_value_is_read_per_row_and_broadcast():
    """Both sums are over 12 rows. The first one reads a row's element of the transposed operand, the second one its rows."""
    b = Bench()
    x, y = b.feed(3, 4), b.feed(3, 4, 3)
    plan = b.check(F.sum(F.sin(x.T)) + F.sum(F.sin(x.T * y * y)))
    assert len(ops_of(plan)) == 1


def test_dear_values_are_stored():
    b = Bench()
    x = b.feed(4, 5)
    dear = F.exp(x)
    plan = b.check(F.sum(dear, 0) * 2, dear.T * b.feed(5, 4))
    assert sum(ops.count("exp") for ops in ops_of(plan)) == 1


def test_convexity():
    """a -> host call -> b and a -> b: fused, a and b would need the host call in the middle of their kernel."""
    b = Bench()
    a = F.exp(b.feed(4, 5))
    plan = b.check(on_host(a, 0) + a)
    assert len(ops_of(plan)) == 2
    assert "exp not fused with add: a node between them is computed elsewhere (convexity)" in reasons(plan, False)
    first, last = (row for row in plan.instructions if row.kind == "kernel")
    first.nodes, last.nodes = [], [*first.nodes, *last.nodes]
    with pytest.raises(AssertionError, match=r"is not convex: .*running sum on the host"):
        check_convexity(plan)


def test_convexity_through_an_early_member_of_a_kernel_with_late_ones():
    """A kernel waits as a whole: its early members come after what its late members need."""
    b = Bench()
    x, p = b.feed(1, 0), b.feed()
    e = F.exp(x)
    raised = F.pow(F.abs(x) + 0.25, p)
    soft = F.erf(F.softmax(e, 0))
    total = F.sum(F.reshape(e, (0,)) * raised)
    y = (F.cos(F.reshape(soft, (0,))) - total) * F.softmax(e, 0)
    b.check(y, *[g for g in gradients([y], [x]) if g is not None])


def test_a_kernel_does_not_grow_without_bound():
    b = Bench()
    x = b.feed(4, 5)
    y = x
    for i in range(MAX_MEMBERS + 10):
        y = F.sin(y) + (i % 3)
    plan = b.plan(y)
    assert len(ops_of(plan)) > 1
    assert max(map(len, ops_of(plan))) <= MAX_MEMBERS
    assert any(f"more than {MAX_MEMBERS} operations" in text for text in reasons(plan, False))


def test_nothing_is_computed_that_nobody_needs():
    b = Bench()
    x = b.feed(4, 5)
    F.exp(x)
    assert "exp" not in b.plan(x * 2).source()


# decisions --------------------------------------------------------------------------------------------------------

REASONS: dict[str, tuple[Callable[[Bench], list[Symbol]], str]] = {
    "pass over elements": (lambda b: [F.exp(b.feed(4, 5)) * 2], "exp fused with mul: one pass over 20 elements"),
    "pass over rows": (
        lambda b: [F.sum(F.exp(b.feed(4, 5)), 1)],
        "exp fused with sum: one pass over 4 rows of 5",
    ),
    "unfinished": (
        lambda b: [F.exp(b.feed(4, 5)) / F.sum(b.feed(4, 5), 0)],
        "sum not fused with div: it needs the finished sum of all rows",
    ),
    "spaces": (
        lambda b: [F.sum(F.exp(F.sum(F.exp(b.feed(4, 5, 6)), 2)), 1)],
        "exp not fused with sum: they reduce over different domains: 4 x 5, 20 x 6",
    ),
    "shape": (
        lambda b: [F.sum(F.exp(b.feed(4, 5)), 1) + b.feed(3, 4)],
        "sum not fused with add: its shape (3, 4) does not fit the domain 4 x 5",
    ),
    "copied": (
        lambda b: [F.sum(F.permute(b.feed(4, 5, 6), (1, 2, 0)), (1, 2))],
        "permute not fused with sum: copied, because an operand of shape (5, 6, 4) can't be walked along rows and columns",
    ),
}


@pytest.mark.parametrize("name", REASONS)
def test_reasons_are_on_record(name: str):
    write, text = REASONS[name]
    b = Bench()
    plan = b.check(*write(b))
    assert text in [*reasons(plan, True), *reasons(plan, False)]
    assert text in plan.explain()


def test_scalars_stand_apart():
    b = Bench()
    plan = b.check(b.feed(4, 5) * F.exp(b.feed()))
    assert "exp not fused with mul: scalar arithmetic is done once, in a kernel of its own" in reasons(plan, False)


# classification ---------------------------------------------------------------------------------------------------


def kinds(b: Bench, *nodes: Symbol) -> tuple[tuple[int, int | None], list[str]]:
    members = [n.node for n in nodes]
    domain = classify(members, Layouts(b.graph))
    return (domain.rows, domain.columns), [domain.rank[n] for n in members]


def test_kinds_of_values():
    b = Bench()
    x = F.exp(b.feed(4, 5))
    over_rows, over_columns, everything = F.sum(x, 0), F.sum(x, 1), F.sum(x)
    assert kinds(b, x) == ((20, None), [ROW])
    assert kinds(b, x, over_rows, over_columns, everything) == ((4, 5), [FULL, COL, ROW, SCALAR])


@pytest.mark.parametrize("side", [2, 3, 17])
def test_as_many_rows_as_columns(side: int):
    """A vector's kind shows only where it is used: along the columns here, along the rows there."""
    b = Bench()
    x, v = b.feed(side, side), b.feed(side)
    scale = F.exp(v)
    per_column = F.sum(x * scale, 1)
    per_row = F.sum(x * F.expand_dims(scale, 1), 1)
    plan = b.check(per_column, per_row)
    assert plan.host_calls == 0


def test_misfit_says_why():
    b = Bench()
    x = b.feed(4, 5, 6)
    with pytest.raises(FusionFailure, match="they reduce over different domains"):
        classify([F.sum(x, 2).node, F.sum(x, (1, 2)).node], Layouts(b.graph))


def test_groups_are_compared_by_identity():
    b = Bench()
    x = F.exp(b.feed(4, 5))
    domain = classify([x.node], Layouts(b.graph))
    assert Group([x.node], domain) != Group([x.node], domain)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_kernel_has_no_more_buffers_than_it_can(dtype):
    """Each sum over rows takes several: accumulators, their sums, what these lose, the result."""
    b = Bench()
    x = b.feed(6, 5, dtype=dtype)
    plan = b.check(*[F.sum(F.exp(x * (0.1 * i)), 0) for i in range(20)], rtol=1e-4)
    assert plan.kernels > 1


@pytest.mark.parametrize("n", [14, 34])
def test_values_computed_again_count_among_the_buffers_of_a_kernel(n):
    """Each difference is cheap to compute again in the kernel that adds the quotients, but reads two operands for one."""
    b = Bench()
    quotients = []
    for _ in range(n):
        d = b.feed(6) - b.feed(1)
        quotients.append(d / F.sum(d * d))
    b.check(functools.reduce(operator.add, quotients), *quotients, rtol=1e-4)


def test_the_sum_of_two_losses_keeps_their_gradients_in_their_kernels():
    """The gradients of both are added in one of the two kernels, though the kernel of one loss could add the other loss."""
    b = Bench()
    x = b.feed(40, 50, dtype=np.float64)
    loss = F.mean(F.logsumexp(x, 1)) + F.mean(F.logsumexp(x.T, 1))
    plan = b.check(loss, *gradients([loss], [x]), rtol=1e-12)
    assert plan.kernels == 2, plan.explain()


# values that are picked ---------------------------------------------------------------------------------------------

PICKED: dict[str, Callable[[Bench], tuple[Symbol, int]]] = {
    "a feed": lambda b: (b.feed(4, 5, 6), 1),
    "a transposed feed": lambda b: (F.permute(b.feed(6, 4, 5), (1, 2, 0)), 1),
    "twice transposed": lambda b: (F.permute(F.permute(b.feed(5, 6, 4), (1, 2, 0)), (1, 2, 0)), 2),
    "a transposed product": lambda b: (F.swapaxes(b.feed(4, 6, 3) @ b.feed(4, 3, 5), 1, 2), 2),
}


@pytest.mark.parametrize("name", PICKED)
def test_elements_of_what_is_in_memory_are_gathered(name: str):
    """Only the named elements are read, where they lie."""
    b = Bench()
    x, axis = PICKED[name](b)
    shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
    index = b.feed(value=np.arange(np.prod(shape)).reshape(shape) % x.shape[axis])
    plan = b.check(F.take_along_axis(x, index, axis), rtol=1e-4)
    names = [row.name for row in plan.instructions]
    assert "gather" in names, plan.explain()
    assert not any("eq" in name for name in names), plan.explain()
