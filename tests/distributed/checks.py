"""What two processes check together: `test_two_processes.py` starts them. Each check runs in all processes, in one order."""

from __future__ import annotations

import json
import re
import sys
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgrad as sg
import staticgrad.distributed as dist
from staticgrad import nn, optim
from staticgrad.distributed import checkpoint
from staticgrad.distributed.nn import functional as D
from staticgrad.nn.parallel import DistributedDataParallel

CHECKS: list[Callable[[], None]] = []


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS.append(function)
    return function


def own(shape: tuple[int, ...] = (3,), rank: int | None = None) -> np.ndarray:
    """Other values in each process."""
    return np.random.default_rng(7 + (dist.get_rank() if rank is None else rank)).normal(size=shape)


def all_own(shape: tuple[int, ...] = (3,)) -> np.ndarray:
    return np.array([own(shape, r) for r in range(dist.get_world_size())])


@check
def questions():
    assert dist.is_available()
    assert dist.is_initialized()
    assert dist.is_mpi_available()
    assert dist.get_world_size() == 2 == dist.group.WORLD.size()
    assert dist.get_backend() == "mpi"
    assert dist.get_process_group_ranks() == [0, 1]


@check
def different_exchanges():
    other = dist.get_rank() == 1
    x = sg.ones(3 if other else 2)
    told = r"rank 0: all_reduce sum of float32 \(2,\), .*checks.py:\d+\n  rank 1: all_reduce sum of float32 \(3,\), .*checks.py"
    with pytest.raises(sg.StaticgradError, match=told):
        dist.all_reduce(x)
    with pytest.raises(RuntimeError, match=r"rank 1: broadcast from 0 of float32"):
        (dist.broadcast if other else dist.all_reduce)(sg.ones(2), *([0] if other else []))
    with pytest.raises(RuntimeError, match=r"rank 1: all_gather_object"):
        dist.all_gather_object([None, None], 1) if other else dist.barrier()
    with pytest.raises(RuntimeError, match=r"rank 0: all_reduce sum of float32 \(2,\)"):
        sg.compile(lambda x: D.all_reduce(x * 2))(x)
    total = sg.ones(2)
    dist.all_reduce(total)
    assert total.tolist() == [2, 2]


@check
def states():
    sg.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = optim.Adam(model.parameters())
    model(sg.ones(4, 3)).square().mean().backward()
    optimizer.step()
    dist.verify(model, optimizer, {"step": 1, "mean": sg.ones(2)})
    with pytest.raises(dist.DistError, match=r"what is no tensor of dict is not the same.*\n  ranks \[0\]: checksum"):
        dist.verify({"step": dist.get_rank()})
    with sg.no_grad():
        model[0].bias[1] += dist.get_rank()
    told = r"0\.bias of Sequential is not .*\n  ranks \[0\]: float32 \(2,\), checksum .*\n  ranks \[1\]: float32"
    with pytest.raises(dist.DistError, match=told):
        dist.verify(optimizer, model)
    optimizer.state_dict()["state"][0]["exp_avg"] += dist.get_rank()
    with pytest.raises(dist.DistError, match=r"state\.0\.exp_avg of Adam is not the same"):
        dist.verify(optimizer)


@check
def reductions():
    values = all_own()
    expected = {
        "sum": values.sum(0), "avg": values.mean(0), "product": values.prod(0), "min": values.min(0), "max": values.max(0),
    }  # fmt: skip
    for op, result in expected.items():
        for asynchronous in (False, True):
            x = sg.tensor(own())
            work = dist.all_reduce(x, op, async_op=asynchronous)
            assert (work is not None) == asynchronous
            assert work is None or work.wait()
            assert_allclose(x.numpy(), result, rtol=1e-15)
    bits = sg.tensor([1 + dist.get_rank(), 3])
    dist.all_reduce(bits, dist.ReduceOp.BAND)
    assert bits.tolist() == [0, 3]
    flags = sg.tensor([dist.get_rank() == 0, True])
    dist.all_reduce(flags, dist.ReduceOp.MIN)
    assert flags.tolist() == [False, True]
    assert flags.dtype == sg.bool


@check
def a_reduction_to_one():
    x = sg.tensor(own())
    dist.reduce(x, 1)
    assert_allclose(x.numpy(), all_own().sum(0) if dist.get_rank() == 1 else own(), rtol=1e-15)


@check
def broadcasts():
    for root in (0, 1):
        x = sg.tensor(own((2, 3)))
        dist.broadcast(x, root)
        assert_array_equal(x.numpy(), own((2, 3), root))
    scalar = sg.tensor(float(dist.get_rank()))
    dist.broadcast(scalar, 1)
    assert scalar.shape == ()
    assert scalar.item() == 1
    leaf = sg.tensor(own(), requires_grad=True)
    dist.broadcast(leaf, 0)
    assert leaf.is_leaf
    assert leaf.requires_grad


@check
def gathers_and_scatters():
    n, r = dist.get_world_size(), dist.get_rank()
    parts = [sg.zeros(3, dtype=sg.float64) for _ in range(n)]
    dist.all_gather(parts, sg.tensor(own()))
    assert_array_equal(np.array([p.numpy() for p in parts]), all_own())
    for shape in ((n, 3), (n * 3,)):
        whole = sg.zeros(*shape, dtype=sg.float64)
        dist.all_gather_into_tensor(whole, sg.tensor(own()))
        assert_array_equal(whole.numpy().reshape(n, 3), all_own())
    out = sg.zeros(3, dtype=sg.float64)
    dist.reduce_scatter(out, [*sg.tensor(own((n, 3)))])
    assert_allclose(out.numpy(), all_own((n, 3)).sum(0)[r], rtol=1e-15)
    dist.reduce_scatter_tensor(out, sg.tensor(own((n, 3))).reshape(-1))
    assert_allclose(out.numpy(), all_own((n, 3)).sum(0)[r], rtol=1e-15)
    dist.all_to_all(parts, [*sg.tensor(own((n, 3)))])
    assert_array_equal(np.array([p.numpy() for p in parts]), all_own((n, 3))[:, r])
    single = sg.zeros(n * 2, dtype=sg.float64)
    dist.all_to_all_single(single, sg.tensor(own((n * 2,))))
    assert_array_equal(single.numpy().reshape(n, 2), all_own((n * 2,)).reshape(n, n, 2)[:, r])
    dist.gather(sg.tensor(own()), parts if r == 1 else None, dst=1)
    if r == 1:
        assert_array_equal(np.array([p.numpy() for p in parts]), all_own())
    dist.scatter(out, [*sg.tensor(own((n, 3)))] if r == 0 else None, src=0)
    assert_array_equal(out.numpy(), own((n, 3), 0)[r])


@check
def messages():
    x = sg.zeros(3, dtype=sg.float64)
    if dist.get_rank() == 0:
        dist.send(sg.tensor(own()), 1)
        assert dist.recv(x) == 1
        assert_array_equal(x.numpy(), own(rank=1))
        dist.isend(sg.tensor(own()), 1, tag=3).wait()
    else:
        assert dist.recv(x, 0) == 0
        assert_array_equal(x.numpy(), own(rank=0))
        dist.send(sg.tensor(own()), 0)
        work = dist.irecv(x, 0, tag=3)
        work.wait()
        assert_array_equal(x.numpy(), own(rank=0))


@check
def batches_of_messages():
    other = 1 - dist.get_rank()
    x = sg.zeros(3, dtype=sg.float64)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, sg.tensor(own()), other), dist.P2POp(dist.irecv, x, other)]):
        work.wait()
    assert_array_equal(x.numpy(), own(rank=other))
    assert dist.get_node_local_rank() == dist.get_rank()


@check
def objects():
    n, r = dist.get_world_size(), dist.get_rank()
    found = [None] * n
    dist.all_gather_object(found, {"rank": r})
    assert found == [{"rank": 0}, {"rank": 1}]
    several = [r, "text"] if r == 0 else [None, None]
    dist.broadcast_object_list(several, 0)
    assert several == [0, "text"]
    gathered = [None] * n if r == 0 else None
    dist.gather_object(r * 10, gathered, 0)
    assert r or gathered == [0, 10]
    mine = [None]
    dist.scatter_object_list(mine, ["a", "b"] if r == 0 else None, 0)
    assert mine == [["a", "b"][r]]


@check
def groups():
    r = dist.get_rank()
    alone = [dist.new_group([i]) for i in range(2)]
    assert alone[1 - r] == dist.GroupMember.NON_GROUP_MEMBER
    assert [dist.get_rank(group) for group in alone] == [-r, r - 1]
    assert dist.get_world_size(alone[r]) == 1
    x = sg.tensor(own())
    dist.all_reduce(x, group=alone[r])
    assert_array_equal(x.numpy(), own())
    both = dist.new_group([0, 1])
    dist.all_reduce(x, group=both)
    assert_allclose(x.numpy(), all_own().sum(0), rtol=1e-15)
    dist.destroy_process_group(both)
    with pytest.raises(dist.DistError, match=re.escape("was destroyed")):
        dist.all_reduce(x, group=both)


# modes and gradients: L = sum over processes of the sum of y**3, whose derivatives NumPy knows ------------------------------


def _cases():
    n, r = dist.get_world_size(), dist.get_rank()
    x, xs = own((n, 3)), all_own((n, 3))
    total = xs.sum(0)
    to_me = xs[:, r]
    return [
        ("all_reduce", lambda x: D.all_reduce(x), total, n * 3 * total**2),
        ("average", lambda x: D.all_reduce(x, "avg"), total / n, 3 * (total / n) ** 2),
        ("reduce", lambda x: D.reduce(x, 1), total if r == 1 else x, 3 * total**2 + (0 if r == 1 else 3 * x**2)),
        ("broadcast", lambda x: D.broadcast(x, 1), xs[1], n * 3 * xs[1] ** 2 if r == 1 else 0 * x),
        ("all_gather", lambda x: sg.stack(D.all_gather(x)), xs, n * 3 * x**2),
        ("reduce_scatter", lambda x: D.reduce_scatter(x[0], [*x]), total[r], 3 * total**2),
        ("all_to_all", lambda x: sg.stack(D.all_to_all([*x], [*x])), to_me, 3 * x**2),
    ]  # fmt: skip


@check
def gradients_in_all_modes():
    n = dist.get_world_size()

    def first_and_second(exchange, x):
        y = exchange(x)
        (g,) = sg.grad((y**3).sum(), x, create_graph=True)
        (h,) = sg.grad((g * g).sum(), x)
        return y, g, h

    for dtype, close in ((sg.float64, 1e-13), (sg.float32, 1e-5)):
        for name, exchange, value, gradient in _cases():
            x = sg.tensor(own((n, 3)), dtype=dtype, requires_grad=True)
            eager = first_and_second(exchange, x)
            assert_allclose(eager[0].detach().numpy(), value, rtol=close, atol=close, err_msg=name)
            assert_allclose(eager[1].detach().numpy(), gradient, rtol=close, atol=close, err_msg=name)
            compiled = sg.compile(lambda x, exchange=exchange: first_and_second(exchange, x))
            for _ in range(2):
                for one, other in zip(compiled(x), eager, strict=True):
                    assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=close, atol=close, err_msg=name)
            assert not compiled.segmented
            with sg.Graph().as_default() as graph:
                p = sg.placeholder(dtype, (n, 3))
                y = exchange(p)
                g = sg.gradients((y**3).sum(), [p])[0]
                h = sg.gradients((g * g).sum(), [p])[0]
            with sg.Session(graph) as session:
                found = session.run([y, g, h], {p: x.detach().numpy()})
            for one, other in zip(found, eager, strict=True):
                assert_allclose(one, other.detach().numpy(), rtol=close, atol=close, err_msg=name)


@check
def a_reduction_without_a_derivative_says_so():
    x = sg.tensor(own(), requires_grad=True)
    y = D.all_reduce(x, "max")
    with pytest.raises(sg.ArgumentError, match=re.escape("gradient of a max over processes")):
        y.sum().backward()


@check
def exchanges_that_one_process_does_not_read():
    """Both perform all exchanges, in the order of the program."""

    @sg.compile
    def step(x, read):
        total = D.all_reduce(x)
        greatest = D.all_reduce(x, "max")
        return total + greatest if read else x * 2

    x = sg.tensor(own())
    for _ in range(2):
        found = step(x, dist.get_rank() == 0)
    values = all_own()
    assert_allclose(found.numpy(), values.sum(0) + values.max(0) if dist.get_rank() == 0 else own() * 2, rtol=1e-15)


@check
def writes_in_a_compiled_function():
    @sg.compile
    def step(x, total):
        dist.all_reduce(x)
        total.add_(x)
        dist.broadcast(total, 1)
        return total.sum()

    x, total = sg.tensor(own()), sg.tensor(own())
    step(x, total)
    expected = own(rank=1) + all_own().sum(0)
    assert_allclose(total.numpy(), expected, rtol=1e-15)
    assert_allclose(step(x, total).item(), (expected + 2 * all_own().sum(0)).sum(), rtol=1e-13)


@check
def messages_cut_a_compiled_function():
    @sg.compile
    def step(x):
        y = x * 2
        other = sg.zeros(3, dtype=sg.float64)
        if dist.get_rank() == 0:
            dist.send(y, 1)
        else:
            dist.recv(other, 0)
        return y + other

    for _ in range(3):
        found = step(sg.tensor(own()))
    assert_allclose(found.numpy(), 2 * own() + (2 * own(rank=0) if dist.get_rank() else 0), rtol=1e-15)
    assert step.segmented


# training ---------------------------------------------------------------------------------------------------------------


def _data(dtype):
    rng = np.random.default_rng(0)
    return sg.tensor(rng.normal(size=(32, 6)), dtype=dtype), sg.tensor(rng.normal(size=(32, 2)), dtype=dtype)


def _model(dtype, seed=0):
    sg.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2)).to(dtype)


def _step(model, compiled):
    opt = optim.Adam(model.parameters(), lr=0.01)

    def step(x, y):
        opt.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        opt.step()
        return loss.detach()

    return sg.compile(step) if compiled else step


@check
def training_is_that_of_one_process():
    r, n = dist.get_rank(), dist.get_world_size()
    for dtype, close in ((sg.float64, 1e-12), (sg.float32, 1e-5)):
        x, y = _data(dtype)
        alone = _model(dtype)
        step = _step(alone, False)
        expected = [float(step(x, y)) for _ in range(20)]
        for compiled in (False, True):
            model = nn.SyncBatchNorm.convert_sync_batchnorm(_model(dtype, seed=r))  # the first process's values hold
            step = _step(DistributedDataParallel(model, bucket_cap_mb=1e-4), compiled)
            part = slice(r * 32 // n, (r + 1) * 32 // n)
            losses = sg.tensor([float(step(x[part], y[part])) for _ in range(20)], dtype=sg.float64)
            dist.all_reduce(losses, "avg")
            assert_allclose(losses.numpy(), expected, rtol=close)
            for p, q in zip(model.parameters(), alone.parameters(), strict=True):
                assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=close, atol=close)
            for b, c in zip(model.buffers(), alone.buffers(), strict=True):
                assert_allclose(b.numpy(), c.numpy(), rtol=close, atol=close)


@check
def gradients_accumulate_without_an_exchange():
    model = DistributedDataParallel(nn.Linear(3, 1, bias=False).to(sg.float64))
    with model.no_sync():
        model(sg.tensor(own((1, 3)))).sum().backward()
    assert_array_equal(model.module.weight.grad.numpy(), own((1, 3)))
    model(sg.tensor(own((1, 3)))).sum().backward()
    assert_allclose(model.module.weight.grad.numpy(), 2 * all_own((1, 3)).mean(0), rtol=1e-15)


@check
def two_calls_before_one_backward_pass():
    model = DistributedDataParallel(nn.Linear(3, 1, bias=False).to(sg.float64))
    model(sg.tensor(own((1, 3))))  # looked at only
    x = sg.tensor(own((1, 3)))
    (model(x).sum() + model(2 * x).sum()).backward()
    assert_allclose(model.module.weight.grad.numpy(), 3 * all_own((1, 3)).mean(0), rtol=1e-15)


class Either(nn.Module):
    """Each process uses another layer."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1)])

    def forward(self, x):
        return self.layers[dist.get_rank()](x)


@check
def unused_parameters():
    model = DistributedDataParallel(Either(), find_unused_parameters=True)
    for _ in range(2):
        model.zero_grad()
        model(sg.ones(1, 2)).sum().backward()
        assert [p.grad.flatten().tolist() for p in model.parameters()] == [[0.5, 0.5], [0.5], [0.5, 0.5], [0.5]]
    model = DistributedDataParallel(Either())
    model(sg.ones(1, 2)).sum().backward()
    with pytest.raises(dist.DistError, match=re.escape("find_unused_parameters=True")):
        model(sg.ones(1, 2))


@check
def parameters_that_no_process_uses():
    for static in (False, True):
        model = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
        model.spare = nn.Linear(2, 2)
        model.forward = lambda x, model=model: model[1](model[0](x))
        wrapped = DistributedDataParallel(model, find_unused_parameters=not static, static_graph=static)
        for _ in range(3):
            wrapped(sg.tensor(own((4, 2)), dtype=sg.float32)).sum().backward()
        assert model.spare.weight.grad is None
        assert model[0].weight.grad is not None
    model = DistributedDataParallel(Either(), static_graph=True)
    for _ in range(2):
        model.zero_grad()
        model(sg.ones(1, 2)).sum().backward()
        assert [p.grad.flatten().tolist() for p in model.parameters()] == [[0.5, 0.5], [0.5], [0.5, 0.5], [0.5]]


@check
def no_sync_holds_for_the_calls_inside():
    model = DistributedDataParallel(nn.Linear(3, 1, bias=False).to(sg.float64))
    y = model(sg.tensor(own((1, 3)))).sum()
    with model.no_sync():
        y.backward()  # called outside: exchanged
    assert_allclose(model.module.weight.grad.numpy(), all_own((1, 3)).mean(0), rtol=1e-15)
    model.zero_grad()
    with model.no_sync():
        y = model(sg.tensor(own((1, 3)))).sum()
    y.backward()
    assert_array_equal(model.module.weight.grad.numpy(), own((1, 3)))


@check
def buffers_of_the_first_process():
    for broadcast in (True, False):
        model = DistributedDataParallel(nn.BatchNorm1d(2), broadcast_buffers=broadcast)
        mean = model.module.running_mean
        x = sg.tensor(own((8, 2)), dtype=sg.float32)
        model(x).sum().backward()
        own_mean = mean.numpy().copy()
        assert_allclose(own_mean, 0.1 * own((8, 2)).mean(0), rtol=1e-5)
        model.eval()
        with sg.no_grad():
            model(x)  # the first call after training begins with those of rank 0
            assert_allclose(mean.numpy(), 0.1 * own((8, 2), 0).mean(0) if broadcast else own_mean, rtol=1e-5)
            mean.fill_(float(dist.get_rank()))
            model(x)
        assert mean.tolist() == [dist.get_rank()] * 2


@check
def batch_norm_over_different_numbers_of_samples():
    r = dist.get_rank()
    x, w = own((5, 3), 0), own((5, 3), 1)
    norm = nn.BatchNorm1d(3).to(sg.float64)
    leaf = sg.tensor(x, requires_grad=True)
    out = norm(leaf)
    (out * sg.tensor(w)).sum().backward()
    part = slice(0, 2) if r == 0 else slice(2, 5)
    for compiled in (False, True):
        model = nn.Sequential(nn.BatchNorm1d(3, momentum=0.1)).to(sg.float64)
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
        assert type(model[0]) is nn.SyncBatchNorm
        mine = sg.tensor(x[part], requires_grad=True)

        def step(mine, model=model):
            found = model(mine)
            return found, sg.grad((found * sg.tensor(w[part])).sum(), mine)[0]

        found, grad = (sg.compile(step) if compiled else step)(mine)
        assert_allclose(found.detach().numpy(), out.detach().numpy()[part], rtol=1e-12, atol=1e-12)
        assert_allclose(grad.numpy(), leaf.grad.numpy()[part], rtol=1e-10, atol=1e-12)
        assert_allclose(model[0].running_var.numpy(), norm.running_var.numpy(), rtol=1e-12)
        assert model[0].num_batches_tracked.item() == 1
    one = nn.BatchNorm2d(3, affine=False, momentum=None).eval()
    other = nn.SyncBatchNorm.convert_sync_batchnorm(one)
    assert (other.affine, other.momentum, other.training, type(other)) == (False, None, False, nn.SyncBatchNorm)
    assert nn.SyncBatchNorm.convert_sync_batchnorm(other) is other


def _uneven(counts, compiled=False, **options):
    """Train on other numbers of inputs: one for each process. Returns the model and the number of steps."""
    r = dist.get_rank()
    sg.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 2, bias=False), nn.BatchNorm1d(2)).to(sg.float64)
    segmented = options.pop("find_unused_parameters", False)
    model = DistributedDataParallel(net, find_unused_parameters=segmented)
    optimizer = optim.SGD(model.parameters(), lr=0.01)

    def step(x):
        optimizer.zero_grad()
        model(x).pow(3).sum().backward()
        optimizer.step()

    step = sg.compile(step, on_break="split" if segmented else "error") if compiled else step
    steps = 0
    with model.join(**options):
        for i in range(counts[r]):
            step(sg.tensor(np.random.default_rng(10 * r + i).normal(size=(4, 3))))
            steps += 1
    return model, steps


@check
def different_numbers_of_inputs():
    compiled = {"compiled": True}
    none_left = {"divide_by_initial_world_size": False}
    cut = {"find_unused_parameters": True}
    for options in ({}, none_left, cut, compiled, compiled | none_left):
        found, _ = _uneven((3, 5), **dict(options))
        nets = [nn.Sequential(nn.Linear(3, 2, bias=False), nn.BatchNorm1d(2)).to(sg.float64) for _ in range(2)]
        sg.manual_seed(0)
        start = nn.Sequential(nn.Linear(3, 2, bias=False), nn.BatchNorm1d(2)).to(sg.float64).state_dict()
        for net in nets:
            net.load_state_dict(start)
        for i in range(5):
            going = [0, 1] if i < 3 else [1]
            for held, other in zip(nets[0].buffers(), nets[1].buffers(), strict=True):
                held.copy_(other)  # process 1 is the last that has inputs
            grads = []
            for r in going:
                nets[r].zero_grad()
                nets[r](sg.tensor(np.random.default_rng(10 * r + i).normal(size=(4, 3)))).pow(3).sum().backward()
                grads.append([p.grad for p in nets[r].parameters()])
            count = len(going) if "divide_by_initial_world_size" in options else 2
            with sg.no_grad():
                for place, parts in enumerate(zip(*grads, strict=True)):
                    for net in nets:
                        [*net.parameters()][place].sub_(0.01 * sum(parts) / count)
        for p, q in zip(found.parameters(), nets[1].parameters(), strict=True):
            assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-12)
        for p, q in zip(found.buffers(), nets[1].buffers(), strict=True):
            assert_allclose(p.numpy(), q.numpy(), rtol=1e-12)
        dist.verify(found)


@check
def join_and_its_options():
    r = dist.get_rank()
    with pytest.raises(dist.DistError, match="exhausted"):
        _uneven((2, 4), throw_on_early_termination=True)
    assert _uneven((0, 2))[1] == [0, 2][r]
    assert _uneven((2, 2), enable=False)[1] == 2
    told = "Rank 0 exhausted all inputs" if r == 0 else "at least one rank that exhausted inputs"
    with pytest.raises(dist.DistError, match=told):
        _uneven((2, 4), compiled=True, throw_on_early_termination=True)
    assert _uneven((0, 2), compiled=True)[1] == [0, 2][r]
    assert _uneven((2, 2), compiled=True)[1] == 2
    with pytest.raises(sg.ArgumentError, match="runs in segments"):
        _uneven((2, 2), compiled=True, find_unused_parameters=True)
    model = DistributedDataParallel(nn.Linear(2, 1))
    with model.join():
        for _ in range(2 + r):
            with model.no_sync():
                model(sg.ones(1, 2)).sum().backward()
            model(sg.ones(1, 2)).sum().backward()
        with sg.no_grad():
            model(sg.ones(1, 2))


@check
def groups_that_are_waited_for_crosswise():
    """Each process waits in another group's exchange: both learn it long before the timeout, and of both."""
    groups = [dist.new_group([0, 1]) for _ in range(2)]
    r = dist.get_rank()
    told = (
        r"2 processes wait for each other(.|\n)*rank (0|1) waits for rank (1|0): all_reduce sum of float32 \((1|2),\).*"
        r"it is at .*checks.py:\d+(.|\n)*rank (1|0) waits for rank (0|1): all_reduce sum of float32 \((1|2),\)"
    )
    since = time.monotonic()
    with pytest.raises(dist.DistError, match=told):
        dist.all_reduce(sg.ones(1 + r), group=groups[r])
    assert time.monotonic() - since < 10

    groups = [dist.new_group([0, 1]) for _ in range(2)]
    step = sg.compile(lambda x: D.all_reduce(D.all_reduce(x, group=groups[r]), group=groups[r]))
    with pytest.raises(dist.DistError, match=r"wait for each other"):
        step(sg.ones(2))


@check
def branches_that_some_processes_take():
    """The error comes before the exchange, with the lines of both."""

    @sg.compile
    def step(x, alone):
        if alone:
            x = D.all_reduce(x)
        return D.all_reduce(x, "max")

    with pytest.raises(dist.DistError, match=BOTH_LINES):
        step(sg.ones(2), dist.get_rank() == 0)
    assert step(sg.ones(2), True).tolist() == [2, 2]

    @sg.compile
    def by_value(x):
        if x.sum() > 2:
            x = D.all_reduce(x)
        return D.all_reduce(x, "max")

    with pytest.raises(dist.DistError, match=BOTH_LINES):
        by_value(sg.ones(2) + dist.get_rank())
    assert by_value(sg.ones(2)).tolist() == [1, 1]
    assert by_value(sg.ones(2) + 1).tolist() == [4, 4]
    assert by_value(sg.ones(2)).tolist() == [1, 1]

    @sg.compile
    def before(x):
        total = D.all_reduce(x)
        return total * 2 if x[0] > 0 else total * 3  # each process decides for itself

    for _ in range(3):
        assert before(sg.ones(2) * (1 - 3 * dist.get_rank())).tolist() == [-2 - dist.get_rank()] * 2


BOTH_LINES = (
    r"rank 0: all_reduce (sum|max) of float32 \(2,\), .*checks.py:\d+\n  rank 1: all_reduce (sum|max) of float32 \(2,\), "
    r".*checks.py:\d+"
)


@check
def modules_that_differ():
    with pytest.raises(
        sg.ArgumentError, match=re.escape("rank 0 has ('weight', (1, 2), 'float32'), rank 1 has ('weight', (1, 3), 'float32')")
    ):
        DistributedDataParallel(nn.Linear(2 + dist.get_rank(), 1))


@check
def samplers():
    from staticgrad.utils.data import DistributedSampler

    assert list(DistributedSampler(range(5), shuffle=False)) == [[0, 2, 4], [1, 3, 0]][dist.get_rank()]


def _trained(seed, steps):
    sg.manual_seed(seed)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)))
    optimizer = optim.Adam(model.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        model(sg.tensor(own((5, 3)), dtype=sg.float32)).square().mean().backward()
        optimizer.step()
    return model, optimizer


@check
def checkpoints():
    """Each value is in one file; the parts of a shard are in that of their process, and are read in other parts."""
    r, folder = dist.get_rank(), Path(FOLDER[0], "checkpoint")
    model, optimizer = _trained(0, 3)
    whole = np.arange(24.0).reshape(8, 3)
    rows = checkpoint.Shard(sg.tensor(whole[4 * r : 4 * r + 4]), (4 * r, 0), whole.shape)
    state = {"model": model, "optimizer": optimizer, "step": 3, f"random.{r}": sg.get_rng_state(), "rows": rows}
    checkpoint.save(state, checkpoint_id=folder)
    saving = checkpoint.async_save(state, checkpoint_id=folder)
    with sg.no_grad():
        model.module[0].weight.zero_()  # the copies are taken
    saving.result()
    dist.barrier()
    assert len(list(folder.iterdir())) == 3
    again, fresh = _trained(1, 0)
    part = checkpoint.Shard(sg.zeros(3, 2, dtype=sg.float64), (2 + r, 1), whole.shape)
    state = {"model": again, "optimizer": fresh, "step": 0, f"random.{r}": sg.get_rng_state(), "rows": part}
    checkpoint.load(state, checkpoint_id=folder)
    assert state["step"] == 3
    assert_array_equal(part.tensor.numpy(), whole[2 + r : 5 + r, 1:])
    expected, slots = _trained(0, 3)
    for p, q, o in zip(expected.parameters(), again.parameters(), (slots, fresh), strict=False):
        assert_array_equal(p.detach().numpy(), q.detach().numpy())
        assert o.param_groups[0]["lr"] == 0.001
    dist.verify(again, fresh)
    for p, q in zip(expected.parameters(), again.parameters(), strict=True):
        assert_array_equal(slots.state[p]["exp_avg_sq"].numpy(), fresh.state[q]["exp_avg_sq"].numpy())


@check
def checkpoints_of_values_that_differ():
    """Those of the first process are saved, and a warning names them."""
    r, folder = dist.get_rank(), Path(FOLDER[0], "differing")
    state = {"same": sg.ones(2), "own": sg.full((2,), float(r)), "other": sg.full((3,), 5.0 - r)}
    with pytest.warns(RuntimeWarning, match=r"saved as process 0 has them: own, other; parts of a larger tensor") as told:
        checkpoint.save(state, checkpoint_id=folder)
    assert told[0].filename == __file__
    state = {name: sg.zeros_like(value) for name, value in state.items()}
    checkpoint.load(state, checkpoint_id=folder)
    assert [value.tolist() for value in state.values()] == [[1, 1], [0, 0], [5, 5, 5]]


@check
def checkpoints_that_cannot_be():
    r, folder = dist.get_rank(), Path(FOLDER[0], "refused")
    with pytest.raises(sg.StaticgradError, match=r"step is not the same in all processes: rank 0 has 0, rank 1 has 1"):
        checkpoint.save({"step": r}, checkpoint_id=folder)
    with pytest.raises(sg.ShapeError, match=r"rank 0 has float32 \(1,\), rank 1 has float32 \(2,\)"):
        checkpoint.save({"x": sg.ones(1 + r)}, checkpoint_id=folder)
    with pytest.raises(sg.ShapeError, match="do not make a whole"):
        checkpoint.save({"x": checkpoint.Shard(sg.ones(1), (r,), (3,))}, checkpoint_id=folder)
    with pytest.raises(dist.DistError if r == 0 else sg.StaticgradError, match="object of class object"):
        checkpoint.save({"x": object() if r else 1}, checkpoint_id=folder)
    assert not folder.exists()
    checkpoint.save({"x": sg.ones(1)}, checkpoint_id=folder)
    with pytest.raises(dist.DistError if r == 0 else checkpoint.CheckpointException, match="there is no 'y'"):
        checkpoint.load({"y" if r else "x": sg.ones(1)}, checkpoint_id=folder)


FOLDER: list[str] = []


def main(folder: str, *names: str) -> None:
    """names: of checks that run alone."""
    FOLDER.append(folder)
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    found = {}
    for one in CHECKS:
        if names and one.__name__ not in names:
            continue
        try:
            one()
        except Exception:
            found[one.__name__] = traceback.format_exc()
            print(f"rank {dist.get_rank()}, {one.__name__}: {found[one.__name__]}", file=sys.stderr, flush=True)
        else:
            found[one.__name__] = ""
    Path(folder, f"{dist.get_rank()}.json").write_text(json.dumps(found))
    dist.destroy_process_group()
    assert not dist.is_initialized()


if __name__ == "__main__":
    main(*sys.argv[1:])
