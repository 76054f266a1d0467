"""Batches made here and by worker processes."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.errors import ArgumentError
from staticgrad.utils import data as D

WORKERS = [0, 1, 3]


class Numbers(D.Dataset):
    """Sample i is i; `act(i)` runs first."""

    def __init__(self, n=10, act=None):
        self.n, self.act = n, act

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.act is not None:
            self.act(i)
        return i


class Parted(D.IterableDataset):
    """0 ... n - 1, shared among workers."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = D.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.n, step))


class Custom(Exception):
    def __init__(self, code, reason):
        super().__init__(code, reason)


def lists(loader):
    return [batch.tolist() for batch in loader]


def joined(loader):
    return [value for batch in lists(loader) for value in batch]


@pytest.mark.parametrize("workers", WORKERS)
def test_batches_come_in_order(workers):
    loader = D.DataLoader(Numbers(), batch_size=4, num_workers=workers)
    for _ in range(2):
        assert lists(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(loader) == 3
    short = D.DataLoader(Numbers(), batch_size=4, num_workers=workers, drop_last=True)
    assert lists(short) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert len(short) == 2


def test_the_defaults():
    loader = D.DataLoader(Numbers(3))
    assert lists(loader) == [[0], [1], [2]]
    assert (loader.batch_size, loader.num_workers, loader.drop_last) == (1, 0, False)


@pytest.mark.parametrize("workers", WORKERS)
def test_shuffled(workers):
    def orders(seed):
        generator = sg.Generator().manual_seed(seed)
        loader = D.DataLoader(Numbers(20), 6, shuffle=True, generator=generator, num_workers=workers)
        return [joined(loader) for _ in range(2)]

    first = orders(1)
    assert orders(1) == first
    assert orders(2) != first
    assert first[0] != first[1]
    assert all(sorted(order) == list(range(20)) for order in first)


def test_tensors_are_gathered_as_sample_by_sample():
    x, y = sg.randn(7, 3), sg.arange(7)
    dataset = D.TensorDataset(x, y)
    fast = list(D.DataLoader(dataset, 3))
    slow = [D.default_collate([dataset[i] for i in range(k, min(k + 3, 7))]) for k in (0, 3, 6)]
    subset = list(D.DataLoader(D.Subset(dataset, [6, 0]), 2))
    for mine, other in zip(fast, slow, strict=True):
        assert type(mine) is type(other) is list
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
            assert a.dtype == b.dtype
    assert subset[0][1].tolist() == [6, 0]


@pytest.mark.parametrize("workers", WORKERS)
def test_orders_of_the_users(workers):
    assert lists(D.DataLoader(Numbers(), 2, sampler=[5, 3, 1], num_workers=workers)) == [[5, 3], [1]]
    assert lists(D.DataLoader(Numbers(), batch_sampler=[[5], [3, 1]], num_workers=workers)) == [[5], [3, 1]]
    assert list(D.DataLoader(Numbers(3), batch_size=None, num_workers=workers)) == [0, 1, 2]
    assert list(D.DataLoader(Numbers(4), 2, collate_fn=sum, num_workers=workers)) == [1, 5]


@pytest.mark.parametrize("workers", WORKERS)
def test_iterable_data_sets(workers):
    loader = D.DataLoader(Parted(7), 2, num_workers=workers)
    for _ in range(2):
        assert sorted(joined(loader)) == list(range(7))
    if workers == 0:
        assert lists(D.DataLoader(Parted(7), 2, drop_last=True)) == [[0, 1], [2, 3], [4, 5]]
    assert sorted(D.DataLoader(Parted(5), batch_size=None, num_workers=workers)) == list(range(5))


def refuse(i):
    if i == 5:
        raise ValueError("five is odd")


@pytest.mark.parametrize("workers", WORKERS)
def test_errors_propagate(workers):
    found = []
    batches = iter(D.DataLoader(Numbers(10, refuse), 2, num_workers=workers))
    with pytest.raises(ValueError, match="five is odd") as caught:
        found.extend(batch.tolist() for batch in batches)
    assert found == [[0, 1], [2, 3]]
    if workers:
        assert "Caught ValueError in DataLoader worker process " in str(caught.value)
        assert "in refuse" in str(caught.value)


def test_the_pass_goes_on_after_an_error():
    batches = iter(D.DataLoader(Numbers(10, refuse), 2, num_workers=2))
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="five is odd"):
        next(batches)
    assert [b.tolist() for b in batches] == [[6, 7], [8, 9]]


def lost(i):
    raise {0: KeyError("gone"), 1: Custom(3, "reason")}[i]


@pytest.mark.parametrize(("position", "kind", "text"), [(0, KeyError, "gone"), (1, RuntimeError, "reason")])
def test_errors_that_take_no_text(position, kind, text):
    with pytest.raises(kind, match=text):
        list(D.DataLoader(Numbers(2, lost), sampler=[position], num_workers=1))


def test_a_worker_that_dies_is_noticed():
    loader = D.DataLoader(Numbers(10, lambda i: os.kill(os.getpid(), signal.SIGKILL) if i == 4 else None), 2, num_workers=2,
                          multiprocessing_context="fork")  # fmt: skip
    with pytest.raises(RuntimeError, match=r"DataLoader worker 0 \(pid \d+\) exited unexpectedly with exit code -9"):
        list(loader)


def test_a_worker_that_takes_too_long():
    loader = D.DataLoader(Numbers(4, lambda i: time.sleep(60)), num_workers=1, timeout=0.3, multiprocessing_context="fork")
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.3 seconds"):
        list(loader)
    assert time.monotonic() - begin < 30


def test_a_batch_that_cannot_be_sent():
    with pytest.raises(Exception, match=r"Caught .* in DataLoader worker process 0"):
        list(D.DataLoader(Numbers(2), collate_fn=lambda batch: lambda: batch, num_workers=1, multiprocessing_context="fork"))


def seeds(i):
    info = D.get_worker_info()
    assert info is not None
    info.dataset.start = 100 * i


class Started(D.Dataset):
    start = 0

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return self.start + i, D.get_worker_info().id, float(sg.rand(1)), np.random.rand()


def test_workers_know_who_they_are():
    loader = D.DataLoader(Started(), 2, num_workers=2, worker_init_fn=seeds)
    sg.manual_seed(0)
    first = [[part.tolist() for part in batch] for batch in loader]
    assert [batch[:2] for batch in first] == [[[0, 1], [0, 0]], [[102, 103], [1, 1]], [[4, 5], [0, 0]]]
    numbers = [x for batch in first for part in batch[2:] for x in part]
    assert len(set(numbers)) == len(numbers)
    sg.manual_seed(0)
    assert [[part.tolist() for part in batch] for batch in loader] == first
    assert D.get_worker_info() is None


def broken(i):
    raise ValueError("no such file")


def test_an_error_in_the_users_start():
    with pytest.raises(ValueError, match="no such file"):
        list(D.DataLoader(Numbers(), num_workers=2, worker_init_fn=broken))


def pid(i):
    return os.getpid()


class Pids(Numbers):
    def __getitem__(self, i):
        return os.getpid()


def test_processes_that_stay():
    loader = D.DataLoader(Pids(8), 2, num_workers=2, persistent_workers=True)
    passes = [lists(loader) for _ in range(2)]
    assert passes[0] == passes[1]
    early = iter(loader)
    next(early)
    assert lists(loader) == passes[0]  # without what the pass before had left
    with pytest.raises(RuntimeError, match="a later pass over the data has begun"):
        next(early)
    moving = D.DataLoader(Pids(8), 2, num_workers=2)
    assert lists(moving) != lists(moving)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pids, seconds=20.0):
    end = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(alive, pids))


@pytest.mark.parametrize("keep", [False, True])
def test_a_pass_that_is_left_leaves_no_process(keep):
    loader = D.DataLoader(Pids(50), 1, num_workers=2, persistent_workers=keep)
    batches = iter(loader)
    pids = {next(batches).item() for _ in range(4)}
    assert len(pids) == 2
    del batches, loader
    gc.collect()
    assert gone(pids)


class Large(Numbers):
    def __getitem__(self, i):
        return np.zeros(300_000)


def test_tasks_and_batches_larger_than_pipes():
    """Neither side waits for the other to read."""
    batches = D.DataLoader(Large(40), batch_sampler=[[0] * 20] * 4, num_workers=2, prefetch_factor=2)
    assert [b.shape for b in batches] == [(20, 300_000)] * 4
    tasks = D.DataLoader(Numbers(1), batch_sampler=[[0] * 100_000] * 6, num_workers=1, prefetch_factor=4)
    assert [b.shape for b in tasks] == [(100_000,)] * 6
    left = iter(D.DataLoader(Large(40), batch_sampler=[[0] * 20] * 4, num_workers=2))
    begin = time.monotonic()
    del left  # while they are sending
    gc.collect()
    assert time.monotonic() - begin < 20


def test_the_loaders_process_is_killed():
    program = """
        import os, time
        from staticgrad.utils.data import DataLoader, Dataset

        class Pids(Dataset):
            def __len__(self): return 100
            def __getitem__(self, i): return os.getpid()

        batches = iter(DataLoader(Pids(), 1, num_workers=3, multiprocessing_context='fork'))
        print(*sorted({next(batches).item() for _ in range(6)}), flush=True)
        os.kill(os.getpid(), 9)
    """
    root = Path(__file__).resolve().parents[4]
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, cwd=root,
                          check=False, timeout=100)  # fmt: skip
    pids = [int(p) for p in done.stdout.split()]
    assert len(pids) == 3, done.stderr
    assert gone(pids)


@pytest.mark.parametrize(("options", "text"), [
    ({"num_workers": -1}, "num_workers option should be non-negative"),
    ({"timeout": -1}, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
    ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
    ({"sampler": [0], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
    ({"batch_sampler": [[0]], "shuffle": True}, "batch_sampler option is mutually exclusive"),
    ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
    ({"batch_size": 0}, "batch_size should be a positive integer value"),
])  # fmt: skip
def test_options_that_exclude_each_other(options, text):
    with pytest.raises(ArgumentError, match=text):
        D.DataLoader(Numbers(), **options)


def test_iterable_data_sets_have_an_order():
    with pytest.raises(ArgumentError, match="DataLoader with IterableDataset: expected unspecified shuffle option"):
        D.DataLoader(Parted(3), shuffle=True)


def test_training_in_every_mode():
    """The same batches to an eager step, a compiled one and a Session."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(24, 3)).astype(np.float32)
    y = x @ np.array([[1.0], [2.0], [3.0]], np.float32)
    loader = D.DataLoader(D.TensorDataset(sg.from_numpy(x), sg.from_numpy(y)), 8, pin_memory=True)
    results = []
    for compiled in (False, True):
        model = nn.Linear(3, 1)
        nn.init.zeros_(model.weight)
        nn.init.zeros_(model.bias)
        opt = optim.SGD(model.parameters(), 0.1)

        def step(a, b, model=model, opt=opt):
            opt.zero_grad()
            ((model(a) - b) ** 2).mean().backward()
            opt.step()

        run = sg.compile(step) if compiled else step
        for a, b in loader:
            run(a, b)
        results.append(model.weight.detach().numpy())
    with sg.Graph().as_default(), sg.Session() as sess:
        a, b = sg.placeholder(np.float32, (None, 3)), sg.placeholder(np.float32, (None, 1))
        w, c = sg.Variable(np.zeros((3, 1), np.float32)), sg.Variable(np.zeros(1, np.float32))
        train = optim.SGD(lr=0.1).minimize(((a @ w + c - b) ** 2).mean())
        sess.run(sg.global_variables_initializer())
        for one, two in loader:
            sess.run(train, {a: one, b: two})
        results.append(sess.run(w).T)
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-5)
