"""Batches made ahead: order, errors, the end of the thread, fork, and random numbers that don't depend on timing."""

from __future__ import annotations

import gc
import os
import threading
import time
import traceback

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.errors import ArgumentError
from staticgrad.utils.data import DataLoader, Dataset, IterableDataset, Prefetcher, TensorDataset


def threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "staticgrad-prefetcher"]


def ended() -> bool:
    """Whether all threads end soon."""
    deadline = time.monotonic() + 10
    while threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not threads()


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_items_come_in_order_each_time(size, n):
    found = Prefetcher(range(n), size)
    assert list(found) == list(found) == list(range(n))
    assert len(found) == n
    assert ended()


def test_an_iterator_that_is_at_its_end_stays_there():
    items = iter(Prefetcher([1, 2]))
    assert list(items) == [1, 2]
    assert next(items, None) is next(items, None) is None


def test_at_most_size_items_are_made_ahead():
    made = []

    def source():
        for i in range(10):
            made.append(i)
            yield i

    items = iter(Prefetcher(source(), 3))
    assert made == []
    assert next(items) == 0
    deadline = time.monotonic() + 10
    while len(made) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert made == [0, 1, 2, 3]
    assert list(items) == list(range(1, 10))


def test_an_error_comes_at_its_place_with_its_lines():
    def source():
        yield 1
        yield 2
        raise ValueError("the third item")

    items = iter(Prefetcher(source(), 5))
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(ValueError, match="the third item") as caught:
        next(items)
    assert 'raise ValueError("the third item")' in "".join(traceback.format_exception(caught.value))
    assert next(items, None) is None
    assert ended()


def test_an_error_of_the_first_item():
    def source():
        raise KeyError("none")
        yield

    with pytest.raises(KeyError):
        next(iter(Prefetcher(source())))


def test_the_thread_ends_with_its_consumer():
    closed = []

    def source():
        try:
            while True:
                yield sg.ones(3)
        finally:
            closed.append(threading.current_thread().name)

    for _ in Prefetcher(source()):
        break
    gc.collect()
    assert ended()
    assert closed == ["staticgrad-prefetcher"]


def test_a_program_that_ends_in_the_middle():
    from tests.test_package import run

    program = """
        from staticgrad.utils.data import Prefetcher
        import itertools
        items = iter(Prefetcher(itertools.count()))
        print(next(items), next(items))
    """
    assert run(program) == "0 1\n"


class Squares(Dataset):
    def __getitem__(self, i):
        return sg.tensor(float(i * i)), i

    def __len__(self):
        return 20


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(10))


@pytest.mark.parametrize("workers", [0, 2])
def test_loaders(workers):
    for data, shuffle in ((Squares(), True), (Stream(), False)):
        batches = []
        for wrap in (lambda loader: loader, Prefetcher):
            sg.manual_seed(3)
            loader = DataLoader(data, batch_size=3, shuffle=shuffle, num_workers=workers)
            batches.append([[x.tolist() for x in (b if isinstance(b, list) else [b])] for b in wrap(loader)])
        assert batches[0] == batches[1]
        assert len(batches[0]) == (7 if shuffle else 4 * max(1, workers))


def test_random_numbers_do_not_depend_on_timing():
    """The source's numbers are a stream of its own, and the training loop's are those without a prefetcher."""

    class Noisy(Dataset):
        def __getitem__(self, i):
            time.sleep(0.001 * (i % 3))
            return sg.rand(2)

        def __len__(self):
            return 6

    def passes(pause):
        sg.manual_seed(1)
        drawn = []
        for batch in Prefetcher(DataLoader(Noisy(), batch_size=1, shuffle=True)):
            time.sleep(pause)
            drawn.append((batch.tolist(), sg.rand(1).item()))
        return drawn

    slow, fast = passes(0.005), passes(0.0)
    assert slow == fast
    sg.manual_seed(1)
    loop = [sg.rand(1).item() for _ in DataLoader(Squares(), batch_size=4, shuffle=True)]
    sg.manual_seed(1)
    assert [sg.rand(1).item() for _ in Prefetcher(DataLoader(Squares(), batch_size=4, shuffle=True))] == loop
    found = [x for batch, _ in fast for row in batch for x in row]
    assert len(set(found)) == len(found)


def test_a_compiled_step_is_fed():
    x = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
    loader = DataLoader(TensorDataset(sg.tensor(x), sg.tensor(x.sum(1, keepdims=True))), batch_size=16)

    def losses(source):
        sg.manual_seed(0)
        model = nn.Linear(3, 1)
        optimizer = optim.SGD(model.parameters(), lr=0.1)

        @sg.compile
        def step(a, b):
            loss = (model(a) - b).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        return [step(a, b).item() for _ in range(3) for a, b in source]

    assert losses(Prefetcher(loader)) == losses(loader)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_begins_anew():
    loader = Prefetcher(range(5))
    items = iter(loader)
    assert next(items) == 0
    child = os.fork()
    if not child:
        code = 1
        try:
            try:
                next(items)
            except RuntimeError as error:
                del items
                code = 0 if "begin a new iter()" in str(error) and list(loader) == list(range(5)) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert list(items) == [1, 2, 3, 4]


@pytest.mark.parametrize("size", [0, -1, 1.5, True, None])
def test_wrong_sizes(size):
    with pytest.raises(ArgumentError, match="size has to be at least 1"):
        Prefetcher([], size)
