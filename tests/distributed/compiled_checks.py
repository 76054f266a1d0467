"""What two processes check of plans that exchange arrays, as `checks.py` does of everything else."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest
from checks import CHECKS, FOLDER, all_own, check, main, own
from numpy.testing import assert_allclose, assert_array_equal

import staticgrad as sg
import staticgrad.compat.tf1 as tf
import staticgrad.distributed as dist
from staticgrad import nn, optim
from staticgrad.base.communicators import owners
from staticgrad.distributed import checkpoint
from staticgrad.distributed.algorithms import Join
from staticgrad.distributed.nn import functional as D
from staticgrad.nn.parallel import ColumnParallelLinear, DistributedDataParallel, RowParallelLinear
from staticgrad.ops import sparse_rows
from staticgrad.tracing.step_loop import fallback

CHECKS.clear()


@check
def exchanges_are_native():
    n = dist.get_world_size()
    cases = [
        (lambda x: D.all_reduce(x), all_own((n, 3)).sum(0)),
        (lambda x: D.all_reduce(x, "avg"), all_own((n, 3)).mean(0)),
        (lambda x: D.all_reduce(x.t(), "max"), all_own((n, 3)).max(0).T),
        (lambda x: D.broadcast(x * 1, 1), own((n, 3), 1)),
        (lambda x: sg.stack(D.all_gather(x[0])), all_own((n, 3))[:, 0]),
        (lambda x: D.reduce_scatter(x[0], [*x], "avg"), all_own((n, 3)).mean(0)[dist.get_rank()]),
        (lambda x: sg.stack(D.all_to_all([*x], [*x])), all_own((n, 3))[:, dist.get_rank()]),
    ]
    for exchange, expected in cases:
        f = sg.compile(exchange)
        for _ in range(3):
            assert_allclose(f(sg.tensor(own((n, 3)))).numpy(), expected, rtol=1e-15)
        assert not f.plan.host_calls
        assert {"start", "match", "wait"} <= {each.kind for each in f.plan.instructions}


@check
def a_difference_that_is_seen_after_a_pause():
    """Python looks at signals every 0.1 s of waiting."""
    step = sg.compile(lambda x: D.all_reduce(x + 1))
    step(sg.ones(4))
    time.sleep(0.3 * dist.get_rank())
    since = time.monotonic()
    with pytest.raises(dist.DistError, match="different exchanges"):
        step(sg.ones(2 + dist.get_rank()))
    assert time.monotonic() - since < 10


@check
def exchanges_of_all_dtypes():
    for dtype in (sg.float32, sg.float64, sg.int32, sg.int64, sg.uint8):
        f = sg.compile(lambda x: D.all_reduce(x + x))
        values = np.arange(3) + dist.get_rank()
        assert_array_equal(f(sg.tensor(values, dtype=dtype)).numpy(), np.array([2, 6, 10], dtype))
        assert f(sg.tensor(values, dtype=dtype)).dtype == dtype
    g = sg.compile(lambda x: D.all_reduce(x > 0, "max"))
    assert g(sg.tensor([dist.get_rank(), 0])).tolist() == [True, False]
    empty = sg.compile(lambda x: D.all_reduce(x).sum())
    assert empty(sg.zeros(0)).item() == 0


@check
def exchanges_of_complex_numbers():
    """As pairs of numbers, with first and second gradients, in all modes."""
    both = all_own((2, 3)) + 1j * all_own((2, 3))[:, ::-1]
    mine_of = both[dist.get_rank()]
    cases = [
        (lambda x: D.all_reduce(x, "avg"), both.mean(0)),
        (lambda x: D.broadcast(x * 1, 1), both[1]),
        (lambda x: sg.stack(D.all_gather(x)), both),
        (lambda x: D.reduce_scatter(x[0], [*x]), both.sum(0)[dist.get_rank()]),
        (lambda x: sg.stack(D.all_to_all([*x], [*x])), both[:, dist.get_rank()]),
    ]
    for dtype, close in ((np.complex64, 1e-6), (np.complex128, 1e-14)):
        x = mine_of.astype(dtype)
        for exchange, expected in cases:
            for f in (exchange, sg.compile(exchange)):
                assert_allclose(f(sg.tensor(x)).numpy(), expected, rtol=close, atol=close)
            with sg.Graph().as_default() as graph:
                fed = sg.placeholder(dtype, [2, 3])
                out = exchange(fed)
            assert_allclose(sg.Session(graph).run(out, {fed: x}), expected, rtol=close, atol=close)

    def gradients(x):
        (g,) = sg.grad((D.all_reduce(x).abs() ** 3).sum(), x, create_graph=True)
        return g, sg.grad((g.abs() ** 2).sum(), x)[0]

    def expected(x, y):
        (g,) = sg.grad(2 * ((x + y).abs() ** 3).sum(), x, create_graph=True)
        return g, sg.grad(2 * (g.abs() ** 2).sum(), x)[0]

    x = sg.tensor(mine_of, requires_grad=True)
    wanted = expected(x, sg.tensor(both[1 - dist.get_rank()]))
    for f in (gradients, sg.compile(gradients)):
        for found, each in zip(f(x), wanted, strict=True):
            assert_allclose(found.detach().numpy(), each.detach().numpy(), rtol=1e-12)
    with pytest.raises(sg.DTypeError, match="all_reduce does not support max on complex tensors"):
        D.all_reduce(x, "max")


@check
def a_plan_says_what_it_sends():
    """Gradients go out while the rest of the backward pass runs, and each update begins when its gradient is there."""
    sg.manual_seed(0)
    layers = nn.Sequential(*[nn.Linear(256, 256, bias=False) for _ in range(3)])
    model = DistributedDataParallel(layers, bucket_cap_mb=0.1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @sg.compile
    def step(x):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    x = sg.ones(64, 256)
    for _ in range(2):
        step(x)
    plan = step.plan
    begins = [i for i, each in enumerate(plan.instructions) if each.kind == "start" and each.name == "all_reduce"]
    ends = [i for i, each in enumerate(plan.instructions) if each.kind == "wait"]
    products = [i for i, each in enumerate(plan.instructions) if each.kind == "gemm"]
    updates = [i for i, each in enumerate(plan.instructions) if each.name == "mul+sub"]
    assert len(begins) == len(ends) == len(updates) == 3
    assert products[3] < begins[0] < products[4] < products[5] < begins[1] < products[6] < begins[2] < ends[0]
    assert ends[0] < updates[0] < ends[1] < updates[1] < ends[2] < updates[2]
    assert not any(each.kind == "copy" for each in plan.instructions)
    told = str(plan.explain(detail=True))
    assert "all_reduce sum of float32 (65536,): begun by instruction" in told
    dist.verify(model)


@check
def plans_that_differ():
    second = dist.get_rank() == 1

    @sg.compile
    def step(x):
        y = D.all_reduce(x)
        if second:
            return D.broadcast(y, 0)
        return D.all_reduce(y * 2, "max")

    told = (
        r"different exchanges \(\d+ of the group\)\n"
        r"  rank 0: all_reduce max of float64 \(3,\), compiled, compiled_checks.py:\d+\n"
        r"  rank 1: broadcast from 0 of float64 \(3,\), compiled, compiled_checks.py:\d+"
    )
    for _ in range(2):
        with pytest.raises(dist.DistError, match=told):
            step(sg.tensor(own()))
    with pytest.raises(dist.DistError, match=r"rank 0: barrier, .*\n  rank 1: all_reduce sum of float64"):
        sg.compile(lambda x: D.all_reduce(x))(sg.tensor(own())) if second else dist.barrier()
    assert_allclose(sg.compile(lambda x: D.all_reduce(x))(sg.tensor(own())).numpy(), all_own().sum(0), rtol=1e-15)


@check
def a_run_that_fails_has_exchanged_nothing():
    @sg.compile
    def step(x, i):
        return D.all_reduce(x * 2)[0] + x[i]

    x = sg.tensor(own())
    expected = 2 * all_own().sum(0)[0]
    assert_allclose(step(x, sg.tensor(1)).item(), expected + own()[1], rtol=1e-14)
    with pytest.raises(sg.StaticgradError):
        step(x, sg.tensor(5))
    assert_allclose(step(x, sg.tensor(2)).item(), expected + own()[2], rtol=1e-14)


@check
def fast_calls_of_exchanges():
    """A call that waits long for the others goes on where it stopped, and one that fails after an exchange raises at once."""
    rank = dist.get_rank()

    @sg.compile
    def step(x, i):
        total = D.all_reduce(x)
        return total, total[i], total.t()

    once = sg.compile(lambda x: D.all_reduce(x * 2))
    x, i = sg.tensor(own((2, 2))), sg.tensor(1)
    expected = all_own((2, 2)).sum(0)
    waited = []
    for n in range(6):
        if n == 4:
            for f in (once, step):
                assert f.latest.fast_call is not fallback
                f.plan.go_on = lambda results, go_on=f.plan.go_on: (waited.append(len(results)), go_on(results))
        for f, late in ((once, 0), (step, 1)):
            if n >= 4 and rank == late:
                time.sleep(0.35)
            values = f(x) if f is once else f(x, i)
            if f is once:
                assert_allclose(values.numpy(), 2 * expected, rtol=1e-14)
            else:
                for found, wanted in zip(values, (expected, expected[1], expected.T), strict=True):
                    assert_allclose(found.numpy(), wanted, rtol=1e-14)
    assert waited == ([3, 3] if rank == 0 else [1, 1])

    @sg.compile
    def fails(x):
        return sg.linalg.cholesky(D.all_reduce(x))

    good = sg.eye(3)
    for _ in range(4):
        assert_allclose(fails(good).numpy(), np.sqrt(2) * np.eye(3), rtol=1e-6)
    with pytest.raises(sg.StaticgradError):
        fails(-good)
    assert_allclose(fails(good).numpy(), np.sqrt(2) * np.eye(3), rtol=1e-6)


@check
def errors_after_an_exchange():
    """What has begun is awaited: the next run begins anew."""

    @sg.compile
    def step(x):
        total = D.all_reduce(x)
        return sg.linalg.cholesky(total), D.all_reduce(x * 2)

    bad, good = -sg.eye(3), sg.eye(3)
    for _ in range(2):
        with pytest.raises(sg.StaticgradError):
            step(bad)
        factor, total = step(good)
        assert_allclose(total.numpy(), 4 * np.eye(3))
        assert_allclose(factor.numpy(), np.sqrt(2) * np.eye(3), rtol=1e-6)


@check
def groups_come_and_go():
    both = dist.new_group([0, 1])
    alone = [dist.new_group([i]) for i in range(2)][dist.get_rank()]

    @sg.compile
    def step(x):
        return D.all_reduce(x, group=both) + D.all_reduce(x, group=alone) + D.all_reduce(x)

    x = sg.tensor(own())
    assert_allclose(step(x).numpy(), 2 * all_own().sum(0) + own(), rtol=1e-14)
    dist.destroy_process_group(both)
    with pytest.raises(dist.DistError, match="was destroyed"):
        step(x)


@check
def many_steps_in_one_call():
    @sg.compile
    def step(x):
        return D.all_reduce(x).sum()

    xs = [sg.tensor(own() + i) for i in range(4)]
    found = step.loop([(x,) for x in xs])
    assert_allclose([float(y) for y in found], [all_own().sum() + 6 * i for i in range(4)], rtol=1e-14)


@check
def plain_python_runs_exchanges():
    @sg.compile
    def step(x):
        return D.all_reduce(x * 2) + 1

    x = sg.tensor(own())
    expected = step(x).numpy()
    (found,) = step.plan.run_unjitted([own()], {})
    assert_allclose(found, expected, rtol=1e-14)


# training: the losses of one process with all of the batch -----------------------------------------------------------------


def batches(dtype, steps=100, rows=16):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(steps, rows, 12))
    y = np.tanh(x @ rng.normal(size=(12, 3)))
    return x.astype(dtype), y.astype(dtype)


def network(dtype):
    sg.manual_seed(5)
    return nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 3)).to(dtype)


def mine(x):
    part = len(x) // dist.get_world_size()
    return x[dist.get_rank() * part : (dist.get_rank() + 1) * part]


def losses_of(mode, model, dtype, part=lambda x: x, optimizer=None):
    xs, ys = batches(dtype)
    optimizer = optim.Adam(model.parameters(), lr=0.003) if optimizer is None else optimizer(model)

    def step(x, y):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = sg.compile(step) if mode == "compiled" else step
    return [float(step(sg.tensor(part(x)), sg.tensor(part(y)))) for x, y in zip(xs, ys, strict=True)]


def averaged(losses):
    found = sg.tensor(losses, dtype=sg.float64)
    dist.all_reduce(found, "avg")
    return found.numpy()


TOLERANCES = ((sg.float64, 1e-12), (sg.float32, 1e-6))


@check
def losses_of_one_process():
    for dtype, close in TOLERANCES:
        expected = losses_of("eager", network(dtype), dtype)
        assert expected[-1] < 0.3 * expected[0]
        for mode in ("eager", "compiled"):
            for cap in (None, 1e-3):
                model = DistributedDataParallel(network(dtype), bucket_cap_mb=cap)
                assert_allclose(averaged(losses_of(mode, model, dtype, mine)), expected, rtol=close)


@check
def losses_of_one_process_in_a_session():
    for dtype, close in TOLERANCES:
        expected = session_losses(dtype, lambda x: x, lambda gradients: gradients)
        found = session_losses(dtype, mine, lambda gradients: [D.all_reduce(g, "avg") for g in gradients])
        assert_allclose(averaged(found), expected, rtol=close)


def session_losses(dtype, part, exchanged):
    xs, ys = batches(dtype)
    rng = np.random.default_rng(11)
    with sg.Graph().as_default() as graph:
        x, y = sg.placeholder(dtype, (None, 12)), sg.placeholder(dtype, (None, 3))
        w = sg.Variable(rng.normal(size=(12, 24)).astype(dtype) / 4, name="w")
        v = sg.Variable(rng.normal(size=(24, 3)).astype(dtype) / 5, name="v")
        loss = sg.mean(((x @ w).tanh() @ v - y) ** 2)
        gradients = exchanged(sg.gradients(loss, [w, v]))
        steps = [each.assign_sub(0.3 * g) for each, g in zip([w, v], gradients, strict=True)]
    with sg.Session(graph) as session:
        session.run(sg.global_variables_initializer())
        return [float(session.run([loss, *steps], {x: part(a), y: part(b)})[0]) for a, b in zip(xs, ys, strict=True)]


@check
def rows_of_embeddings_are_gathered():
    """A gradient that is 0 except for a few rows does not travel as a whole."""

    def losses(mode, part, wrap):
        sg.manual_seed(3)
        model = wrap(nn.Sequential(nn.Embedding(1000, 4, sparse=True), nn.Flatten(), nn.Linear(32, 2)).to(sg.float64))
        optimizer = optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = sg.compile(step) if mode == "compiled" else step
        x = np.random.default_rng(0).integers(0, 50, (16, 8))
        found = [float(step(sg.tensor(part(x)))) for _ in range(5)]
        if mode == "compiled":
            names = [each.exchange.told for each in step.plan.instructions if each.exchange is not None]
            assert not any("(1000, 4)" in name or "(4000,)" in name for name in names)
            assert sum(name.startswith("gather_rows of table") for name in names) == 2
        return found, [p.grad.numpy() for p in model.parameters()]

    expected, gradients = losses("eager", lambda x: x, lambda model: model)
    for mode in ("eager", "compiled"):
        found, there = losses(mode, mine, DistributedDataParallel)
        assert_allclose(averaged(found), expected, rtol=1e-12)
        for g, h in zip(there, gradients, strict=True):
            assert_allclose(g, h, rtol=1e-10, atol=1e-14)


@check
def rows_of_unequal_number():
    """Processes may have different numbers of rows, or none, and rows belong to one process with `shard`."""
    batches_of = [
        [[1, 2, 2, 900], [3]], [[5, 1, 7], [2, 2]], [[4], [8, 9]], [[], [8]], [[*range(30)], [5]], [[2, 3], []], [[5, 6], [7]],
        [[1, 2, 2, 900], [3]],
    ]  # fmt: skip

    def trained(wrap, part, kind, shard=None, compiled=False):
        sg.manual_seed(3)
        layers = [nn.Embedding(1000, 4, sparse=True)] + ([nn.Linear(4, 2)] if kind is optim.SGD else [])
        model = wrap(nn.Sequential(*layers).to(sg.float64))
        kinds = (kind,) if shard is None else (optim.ZeroRedundancyOptimizer, kind)
        optimizer = kinds[0](model.parameters(), *kinds[1:], lr=0.1)

        def step(xs):
            optimizer.zero_grad()
            loss = sum(model(x).square().sum() for x in xs)
            loss.backward()
            optimizer.step()

        step = sg.compile(step) if compiled else step
        for batch in batches_of:
            step([sg.tensor(x, dtype=sg.int64) for x in part(batch)])
        return model, [p.detach().numpy() for p in model.parameters()], optimizer

    for kind in (optim.SGD, optim.SparseAdam):
        _, expected, _ = trained(lambda model: model, lambda batch: batch, kind)
        for shard in (None, "gradients"):
            for compiled in (False, True):
                model, found, _ = trained(
                    lambda m, shard=shard: Doubled(m, shard=shard), lambda b: [b[dist.get_rank()]], kind, shard, compiled
                )
                for one, other in zip(found, expected, strict=True):
                    assert_allclose(one, other, rtol=1e-12)
                weight = model.module[0].weight
                if weight.grad is not None and not compiled:
                    assert len({*sparse_rows.rows_of(weight.grad._data).tolist()}) == 4


@check
def rows_of_processes_without_inputs():
    """As `different_numbers_of_inputs`, of embeddings: such processes have no rows."""
    r = dist.get_rank()
    for kind in (optim.SGD, optim.SparseAdam):
        for compiled in (False, True):
            sg.manual_seed(3)
            tables = [nn.Embedding(50, 4, sparse=True).to(sg.float64) for _ in range(2)]
            tables[1].load_state_dict(tables[0].state_dict())
            model = DistributedDataParallel(tables[0])
            optimizer, alone = kind(model.parameters(), lr=0.1), kind(tables[1].parameters(), lr=0.1)

            def step(x, model=model, optimizer=optimizer):
                optimizer.zero_grad()
                model(x).square().sum().backward()
                optimizer.step()

            step = sg.compile(step) if compiled else step
            batches_of = [np.random.default_rng(i).integers(0, 50, (2, 3)) for i in range(5)]
            with model.join():
                for batch in batches_of[: 3 + 2 * r]:
                    step(sg.tensor(batch[r]))
            for i, batch in enumerate(batches_of):
                alone.zero_grad()
                tables[1](sg.tensor(batch if i < 3 else batch[1:])).square().sum().div(2).backward()
                alone.step()
            assert_allclose(tables[0].weight.detach().numpy(), tables[1].weight.detach().numpy(), rtol=1e-12)


class Doubled(DistributedDataParallel):
    """Gradients are sums over the processes."""

    def forward(self, x):
        return super().forward(x) * sg.tensor(2.0, dtype=sg.float64).sqrt()


# state that is divided among the processes ---------------------------------------------------------------------------------


def sharded(model):
    return optim.ZeroRedundancyOptimizer(model.parameters(), optim.Adam, lr=0.003)


@check
def losses_with_sharded_state():
    for dtype, close in TOLERANCES:
        expected = losses_of("eager", network(dtype), dtype)
        for mode in ("eager", "compiled"):
            for shard in ("optimizer", "gradients"):
                model = DistributedDataParallel(network(dtype), shard=shard)
                assert_allclose(averaged(losses_of(mode, model, dtype, mine, sharded)), expected, rtol=close)
                dist.verify(model)
                there = [p.grad is not None for p in model.parameters()]
                assert all(there) if shard == "optimizer" else 0 < sum(there) < len(there)


@check
def divided_gradients_need_an_optimizer_that_knows():
    model = DistributedDataParallel(network(sg.float64), shard="gradients")
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    before = [p.detach().clone() for p in model.parameters()]
    model(sg.ones(2, 12, dtype=sg.float64)).sum().backward()
    with pytest.raises(
        sg.ArgumentError, match=r"Adam: .* to process \d alone.*\n.*\n  optim.ZeroRedundancyOptimizer\(model.param"
    ):
        optimizer.step()
    assert all((p == q).all() for p, q in zip(model.parameters(), before, strict=True))
    del model, optimizer
    alone = nn.Linear(2, 2)
    alone(sg.ones(1, 2)).sum().backward()
    optim.SGD(alone.parameters(), lr=0.1).step()


EXCHANGES = {
    "all_reduce": lambda x: D.all_reduce(x * 2),
    "reduce": lambda x: D.reduce(x * x, 1),
    "broadcast": lambda x: D.broadcast(x.sin(), 1),
    "all_gather": lambda x: sg.stack(D.all_gather(x * 3)),
    "reduce_scatter": lambda x: D.reduce_scatter(sg.zeros(3, dtype=x.dtype), [x, x * x]),
    "all_to_all": lambda x: sg.stack(D.all_to_all([sg.zeros(3, dtype=x.dtype)] * 2, [x, x.exp()])),
}


@check
def exchanges_under_transforms():
    """vmap sends all samples in one exchange; gradients and tangents of functions are those of the tape."""
    x, t = (sg.tensor(np.random.default_rng(i + 2 * dist.get_rank()).normal(size=(4, 3))) for i in range(2))
    for name, f in EXCHANGES.items():
        rows = sg.stack([f(v) for v in x])
        leaf = x.clone().requires_grad_()
        sg.stack([f(v) for v in leaf]).square().sum().backward()
        v, u = x[0].clone().requires_grad_(), sg.zeros_like(rows[0]).requires_grad_()
        (back,) = sg.grad(f(v), v, u, create_graph=True)
        (pushed,) = sg.grad((back * t[0]).sum(), u)  # linear in u: its derivative is the tangent
        slope = sg.func.grad(lambda v, f=f: f(v).square().sum())
        for mode in (lambda g: g, sg.compile):
            for found, expected in (
                (mode(sg.vmap(f))(x), rows),
                (mode(sg.vmap(slope))(x), leaf.grad),
                (mode(slope)(x[0]), leaf.grad[0]),
                (mode(lambda x, t, f=f: sg.func.jvp(f, (x,), (t,))[1])(x[0], t[0]), pushed),
            ):
                assert_allclose(found.numpy(), expected.numpy(), rtol=1e-13, err_msg=name)


@check
def sharded_state():
    model = DistributedDataParallel(network(sg.float64), shard="gradients")
    optimizer = sharded(model)
    whole = network(sg.float64)
    reference = optim.Adam(whole.parameters(), lr=0.003)
    assert isinstance(optimizer, optim.Adam)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    xs, ys = batches(sg.float64, 2)
    for x, y in zip(xs, ys, strict=True):
        for of, by, part in ((model, optimizer, mine), (whole, reference, lambda x: x)):
            by.zero_grad()
            ((of(sg.tensor(part(x))) - sg.tensor(part(y))) ** 2).mean().backward()
            by.step()
    owned = [p.numel() for p in model.parameters() if p in optimizer.state]
    counts = sg.tensor([sum(owned)])
    dist.all_reduce(counts)
    assert counts.item() == sum(p.numel() for p in model.parameters())
    assert 0.4 < sum(owned) / counts.item() < 0.6
    with pytest.raises(RuntimeError, match=r"Optimizer state has not been consolidated on this rank.*to=\d"):
        optimizer.state_dict()
    optimizer.consolidate_state_dict(to=1)
    everything = [None]
    if dist.get_rank() == 1:
        everything = [optimizer.state_dict()]
    dist.broadcast_object_list(everything, 1)
    (found,), expected = everything, reference.state_dict()
    assert found["state"].keys() == expected["state"].keys()
    for place, slots in expected["state"].items():
        for name, slot in slots.items():
            assert_allclose(np.asarray(found["state"][place][name]), np.asarray(slot), rtol=1e-12)
    optimizer.load_state_dict(found)
    assert [p.numel() for p in model.parameters() if p in optimizer.state] == owned
    reference.load_state_dict(found)
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == 0.0015


@check
def divided_state_in_a_checkpoint():
    """Each process writes its slots; any number of processes, and an optimizer of another kind, loads them."""
    folder = Path(FOLDER[0], "divided")
    xs, ys = batches(sg.float64, 4)

    def steps(model, optimizer, part, which):
        for i in which:
            optimizer.zero_grad()
            ((model(sg.tensor(part(xs[i]))) - sg.tensor(part(ys[i]))) ** 2).mean().backward()
            optimizer.step()
        return [p.detach().numpy().copy() for p in model.parameters()]

    one = network(sg.float64)
    expected = steps(one, optim.Adam(one.parameters(), lr=0.003), lambda x: x, range(4))
    model = DistributedDataParallel(network(sg.float64), shard="gradients")
    optimizer = sharded(model)
    steps(model, optimizer, mine, range(2))
    saved = checkpoint.save({"model": model.module, "optimizer": optimizer}, checkpoint_id=folder).state_dict_metadata
    assert {f"optimizer.state.{i}.exp_avg" for i in range(6)} < saved.keys()
    steps(model, optimizer, mine, range(2))  # elsewhere: what is loaded replaces it

    other = DistributedDataParallel(network(sg.float64), shard="gradients")
    fresh = sharded(other)
    alone = network(sg.float64)
    whole = optim.Adam(alone.parameters(), lr=0.1)
    for of, by in ((model, optimizer), (other, fresh)):
        checkpoint.load({"model": of.module, "optimizer": by}, checkpoint_id=folder)
        for found, wanted in zip(steps(of, by, mine, range(2, 4)), expected, strict=True):
            assert_allclose(found, wanted, rtol=1e-11)
        held = [p for p in of.parameters() if by.state.get(p)]
        assert 0 < len(held) < 6
    checkpoint.load({"model": alone, "optimizer": whole}, checkpoint_id=folder, no_dist=True)
    for found, wanted in zip(steps(alone, whole, lambda x: x, range(2, 4)), expected, strict=True):
        assert_allclose(found, wanted, rtol=1e-11)
    if dist.get_rank() == 0:  # from one process to two
        checkpoint.save({"model": one, "optimizer": whole}, checkpoint_id=folder, no_dist=True)
    dist.barrier()
    checkpoint.load({"model": other.module, "optimizer": fresh}, checkpoint_id=folder)
    for p, q in zip(other.parameters(), alone.parameters(), strict=True):
        for name, slot in fresh.state.get(p, {}).items():
            assert_array_equal(np.asarray(slot), np.asarray(whole.state[q][name]))
    names = checkpoint.state_dict.get_optimizer_state_dict(other, fresh)
    assert 0 < len(names["state"]) < 6


@check
def uneven_inputs_with_divided_state():
    """A process without inputs goes on updating the parameters that it owns."""
    for shard in ("optimizer", "gradients"):
        model = DistributedDataParallel(network(sg.float64), shard=shard)
        optimizer = sharded(model)
        xs, ys = batches(sg.float64, 5)
        with Join([model, optimizer]):
            for i in range(3 + 2 * dist.get_rank()):
                optimizer.zero_grad()
                ((model(sg.tensor(mine(xs[i]))) - sg.tensor(mine(ys[i]))) ** 2).mean().backward()
                optimizer.step()
        dist.verify(model)
        one = network(sg.float64)
        adam = optim.Adam(one.parameters(), lr=0.003)
        for i in range(5):
            adam.zero_grad()
            losses = [
                ((one(sg.tensor(x)) - sg.tensor(y)) ** 2).mean() for x, y in zip(halves(xs[i]), halves(ys[i]), strict=True)
            ]
            (losses[1] if i >= 3 else losses[0] + losses[1]).div(2).backward()
            adam.step()
        for p, q in zip(model.parameters(), one.parameters(), strict=True):
            assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-10)


def halves(x):
    return x[: len(x) // 2], x[len(x) // 2 :]


def sharded_session(dtype, part, shard, optimizer, steps=100, exchanged=False):
    """Losses, the session and its variables."""
    xs, ys = batches(dtype)
    own = np.random.default_rng(11 if shard is None else dist.get_rank())  # the owners' initial values are all processes'
    same = np.random.default_rng(11)
    graph = sg.Graph()
    with graph.as_default():
        x, y = sg.placeholder(dtype, (None, 12)), sg.placeholder(dtype, (None, 3))
        shapes = (12, 24), (24,), (24, 3), (3,)
        starts = [same.normal(size=shape).astype(dtype) / 4 for shape in shapes]
        sizes = [12 * 24, 24, 24 * 3, 3]
        if shard is not None:
            mine = [i for i, owner in enumerate(owners(sizes, 2)) if owner == dist.get_rank()]
            starts = [x if i in mine else own.normal(size=x.shape).astype(dtype) for i, x in enumerate(starts)]
        w, b, v, c = (sg.Variable(start, name=name) for start, name in zip(starts, "wbvc", strict=True))
        loss = sg.mean(((x @ w + b).tanh() @ v + c - y) ** 2)
        pairs = optimizer.compute_gradients(loss, [w, b, v, c])
        if exchanged:
            pairs = [(D.all_reduce(g, "avg"), each) for g, each in pairs]
        step = optimizer.apply_gradients(pairs)
    session = sg.Session(graph, shard=shard)
    session.run(graph_initializer(graph))
    found = [float(session.run([loss, step], {x: part(a), y: part(b)})[0]) for a, b in zip(xs[:steps], ys[:steps], strict=True)]
    return found, session, (loss, step, {x: part(xs[0]), y: part(ys[0])})


def graph_initializer(graph):
    with graph.as_default():
        return sg.global_variables_initializer()


@check
def losses_of_a_sharded_session():
    for dtype, close in TOLERANCES:
        for make in (lambda: optim.Adam(lr=0.01), lambda: optim.SGD(lr=0.1, momentum=0.9)):
            expected, _, _ = sharded_session(dtype, lambda x: x, None, make())
            assert expected[-1] < 0.5 * expected[0]
            for shard in ("optimizer", "gradients"):
                for exchanged in (False, True):
                    found, _, _ = sharded_session(dtype, mine, shard, make(), exchanged=exchanged)
                    assert_allclose(averaged(found), expected, rtol=close)


@check
def a_sharded_session_holds_its_own_state():
    for shard in ("optimizer", "gradients"):
        _, session, (loss, step, feeds) = sharded_session(sg.float64, mine, shard, optim.Adam(lr=0.01), 2)
        graph = session.graph
        slots = [v for v in graph.variables if "/exp_avg" in v.name]
        held = [v for v in slots if v.cell in session._values.store]
        counts = sg.tensor([float(sum(v.node.type.size for v in each)) for each in (held, slots)])
        dist.all_reduce(counts)
        assert counts[1].item() == 2 * counts[0].item()
        assert 0 < len(held) < len(slots)
        with pytest.raises(sg.UninitializedError):
            session.run(next(v for v in slots if v.cell not in session._values.store))
        told = [each.exchange.told for each in session.plan([loss, step], feeds).instructions if each.exchange is not None]
        kinds = [text.partition(" ")[0] for text in told]
        assert "broadcast" in kinds
        assert ("all_reduce" in kinds, "reduce" in kinds) == ((True, False) if shard == "optimizer" else (False, True))
        values = [sg.tensor(session.run(v)) for v in graph.variables if v.trainable]
        for x in values:
            y = x.clone()
            dist.broadcast(y, 0)
            assert_array_equal(x.numpy(), y.numpy())


@check
def reads_of_new_values_in_a_sharded_run():
    """A value that is read after its assignment is the owner's, in every process."""
    with sg.Graph().as_default() as graph:
        w, v = sg.Variable(np.ones(3), name="w"), sg.Variable(np.ones(2), name="v")
        x = sg.placeholder(sg.float64, [3])
        step = optim.SGD(lr=1.0, momentum=0.5).minimize(sg.sum(w * x) + sg.sum(v) * x[0])
        with sg.control_dependencies([step]):
            later = w.read_value() * 2
            total = D.all_reduce(v.read_value())
        init = sg.global_variables_initializer()
    for shard in ("optimizer", "gradients"):
        with sg.Session(graph, shard=shard) as session:
            session.run(init)
            found = session.run([later, total], {x: own()})
            expected = 1 - all_own().mean(0)
            assert_allclose(found[0], 2 * expected, rtol=1e-14)
            assert_allclose(found[1], 2 * np.full(2, expected[0]), rtol=1e-14)
            assert_allclose(session.run(w), expected, rtol=1e-14)
    with pytest.raises(sg.ArgumentError, match='Session: shard is None, "optimizer" or "gradients"'):
        sg.Session(graph, shard="all")


@check
def a_sharded_session_of_workers():
    """The gradients that SyncReplicasOptimizer has averaged are not averaged again."""
    with tf.Graph().as_default() as graph:
        w, v = (tf.Variable(np.ones(3), name=name) for name in "wv")
        x = tf.placeholder(tf.float64, [3])
        count = tf.train.get_or_create_global_step()
        opt = tf.train.SyncReplicasOptimizer(tf.train.MomentumOptimizer(1.0, 0.5), 2, 2)
        train = opt.minimize(tf.reduce_sum(w * x) + 2 * tf.reduce_sum(v * x), global_step=count)
        init = tf.global_variables_initializer()
    for shard in ("optimizer", "gradients"):
        with sg.Session(graph, shard=shard) as session:
            session.run(init.node)
            for _ in range(2):
                session.run(train.node, {x.node: own()})
            assert_allclose(session.run(w.node), 1 - 2.5 * all_own().mean(0), rtol=1e-14)
            assert_allclose(session.run(v.node), 1 - 5 * all_own().mean(0), rtol=1e-14)
            told = [e.exchange.told for e in session.plan(train.node, {x.node: own()}).instructions if e.exchange is not None]
            assert [text.partition(" ")[0] for text in told] == ["all_reduce", "broadcast", "broadcast"]


# weights that are divided among the processes -------------------------------------------------------------------------------


def pair(dtype, parallel):
    sg.manual_seed(5)
    first, second = (ColumnParallelLinear, RowParallelLinear) if parallel else (nn.Linear, nn.Linear)
    return nn.Sequential(nn.Linear(12, 8), nn.Tanh(), first(8, 20), nn.GELU(), second(20, 8), nn.Tanh(), nn.Linear(8, 3)).to(
        dtype
    )


@check
def losses_with_divided_weights():
    for dtype, close in TOLERANCES:
        expected = losses_of("eager", pair(dtype, False), dtype)
        for mode in ("eager", "compiled"):
            model = pair(dtype, True)
            assert model[2].weight.shape == (10, 8)
            assert model[4].weight.shape == (8, 10)
            assert_allclose(losses_of(mode, model, dtype), expected, rtol=close)


@check
def second_gradients_of_divided_weights():
    def gradients(model, x):
        (g,) = sg.grad((model(x) ** 3).sum(), x, create_graph=True)
        return g, sg.grad((g * g).sum(), [x, model[0].weight])

    x = sg.tensor(np.random.default_rng(0).normal(size=(4, 12)), requires_grad=True)
    g, (h, w) = gradients(pair(sg.float64, False), x)
    for run in (gradients, sg.compile(gradients)):
        found = run(pair(sg.float64, True), x)
        for one, other in zip((found[0], *found[1]), (g, h, w), strict=True):
            assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-11, atol=1e-12)


@check
def whole_weights_become_parts():
    whole, model = pair(sg.float64, False), pair(sg.float64, True)
    with sg.no_grad():
        for layer in (whole[2], whole[4]):
            layer.weight += 1
            layer.bias -= 1
        model[2].load_whole(whole[2].weight, whole[2].bias)
        model[4].load_whole(whole[4].weight, whole[4].bias)
    x = sg.tensor(np.random.default_rng(0).normal(size=(4, 12)))
    assert_allclose(model(x).detach().numpy(), whole(x).detach().numpy(), rtol=1e-12)
    with pytest.raises(sg.ArgumentError, match="7 features can't be divided among 2 processes"):
        ColumnParallelLinear(4, 7)


if __name__ == "__main__":
    main(sys.argv[1])
