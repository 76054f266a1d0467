"""`sg.distributed` without a launcher: a group of one process."""

from __future__ import annotations

import pytest
from numpy.testing import assert_array_equal

import staticgrad as sg
import staticgrad.distributed as dist
from staticgrad import nn
from staticgrad.distributed.nn import functional as D


@pytest.fixture
def world():
    dist.init_process_group("gloo")
    yield
    dist.destroy_process_group()


def test_before_and_after():
    assert dist.is_available()
    assert not dist.is_initialized()
    with pytest.raises(dist.DistError, match="Default process group has not been initialized"):
        dist.all_reduce(sg.ones(1))
    with pytest.raises(dist.DistError, match="not been initialized"):
        nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    dist.init_process_group(rank=0, world_size=1)
    assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
    dist.destroy_process_group()
    assert not dist.is_initialized()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"backend": "nccl"}, sg.DeviceError, "needs GPUs"),
        ({"backend": "smoke"}, sg.ArgumentError, "no backend 'smoke'"),
        ({"rank": 1, "world_size": 2}, sg.ArgumentError, "rank 1 of 2 is asked for, and this is rank 0 of 1"),
    ],
)
def test_misuse(arguments, error, text):
    with pytest.raises(error, match=text):
        dist.init_process_group(**arguments)
    assert not dist.is_initialized()


def test_another_launcher(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(sg.ArgumentError, match=r"staticgrad launch -n N train\.py"):
        dist.init_process_group()


def test_twice(world):
    with pytest.raises(dist.DistError, match="twice"):
        dist.init_process_group()


def test_exchanges_are_copies(world):
    x = sg.arange(3.0)
    dist.all_reduce(x)
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    dist.barrier()
    assert x.tolist() == [0, 1, 2]
    parts = [sg.zeros(3)]
    dist.all_gather(parts, x)
    assert parts[0].tolist() == [0, 1, 2]
    dist.gather(x * 2, parts)
    assert parts[0].tolist() == [0, 2, 4]
    dist.scatter(x, [sg.ones(3)])
    dist.reduce_scatter(x, [x])
    assert x.tolist() == [1, 1, 1]
    y = sg.ones(2, requires_grad=True)
    (D.all_reduce(y, "avg") ** 2).sum().backward()
    assert y.grad.tolist() == [2, 2]


def test_errors(world):
    x = sg.ones(3)
    with pytest.raises(sg.ArgumentError, match=r"op is one of ReduceOp.SUM"):
        dist.all_reduce(x, "mean")
    with pytest.raises(sg.ArgumentError, match="rank 3 is not part of group"):
        dist.broadcast(x, 3)
    with pytest.raises(sg.ArgumentError, match="a list of 1 tensors is expected"):
        dist.all_gather([], x)
    with pytest.raises(sg.ShapeError, match="one shape"):
        dist.all_gather([sg.ones(2)], x)
    with pytest.raises(sg.DTypeError, match="one dtype"):
        dist.all_gather([sg.ones(3, dtype=sg.float64)], x)
    with pytest.raises(sg.ArgumentError, match="can't send to itself"):
        dist.send(x, 0)
    with pytest.raises(sg.ArgumentError, match="a tensor is expected, got list"):
        dist.all_reduce([1.0])
    with pytest.raises(sg.ArgumentError, match="any parameters that require a gradient"):
        nn.parallel.DistributedDataParallel(nn.ReLU())


def test_bodies_of_loops_refuse(world):
    with sg.Graph().as_default():
        x = sg.placeholder("float32", (2,))
        with pytest.raises(sg.GraphError, match="in the body of a loop or branch"):
            sg.while_loop(lambda v: v.sum() < 9, lambda v: D.all_reduce(v), [x])


def test_buckets_are_of_one_dtype_and_of_limited_size():
    from staticgrad.ops.communication import buckets

    mb = 1 << 20
    assert buckets([mb // 2, mb // 2, mb // 2], ["f4"] * 3) == [[2, 1], [0]]
    assert buckets([8, 8, 8, 8], ["f4", "f8", "f4", "f8"]) == [[3, 1], [2, 0]]
    assert buckets([4 * mb, 3 * mb, 3 * mb, 2], ["f4"] * 4, cap=6) == [[3], [2], [1], [0]]
    assert buckets([8, 2 * mb, 8, 8], ["f4"] * 4) == [[3, 2], [1], [0]]


def test_a_module_alone(world):
    model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    assert [name for name, _ in model.named_parameters()] == ["module.weight", "module.bias"]
    model(sg.ones(4, 2)).sum().backward()
    assert_array_equal(model.module.weight.grad.numpy(), [[4, 4]])


def test_a_plan_of_one_process_exchanges_nothing(world):
    model = nn.parallel.DistributedDataParallel(nn.Linear(3, 2))
    optimizer = sg.optim.SGD(model.parameters(), lr=0.1)

    @sg.compile
    def step(x):
        optimizer.zero_grad()
        loss = D.all_reduce(model(x).square().mean(), "avg")
        loss.backward()
        optimizer.step()
        return D.all_gather(loss)[0]

    step(sg.ones(4, 3))
    assert not step.plan.host_calls
    assert not any(each.kind in ("start", "copy") for each in step.plan.instructions)
