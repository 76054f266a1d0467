"""Programs whose results follow from their seed: each gives all losses and parameters.

    python -m tests.seeded_programs [name ...]
    python -m tests.seeded_programs examples/pinn_poisson.py [argument ...]

prints a hash of each program's bits, or of all numbers that a script reads from tensors and sessions.
`tests/test_same_bits.py` runs the programs in several processes.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import hashlib
import io
import runpy
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import staticgrad as sg
import staticgrad.functional as F
from staticgrad import nn
from staticgrad.utils.data import DataLoader, Prefetcher, TensorDataset

STEPS = 100
"""More than NumPy takes of a training step."""
PROGRAMS: dict[str, Callable[[], Iterator[Any]]] = {}


def program(function: Callable[[], Iterator[Any]]) -> Callable[[], Iterator[Any]]:
    PROGRAMS[function.__name__] = function
    return function


def batch(seed: int = 0) -> tuple[sg.Tensor, sg.Tensor]:
    rng = np.random.default_rng(seed)
    return sg.tensor(rng.normal(size=(16, 12)).astype("float32")), sg.tensor(rng.integers(0, 5, 16))


def classifier() -> nn.Module:
    return nn.Sequential(nn.Linear(12, 33), nn.GELU(), nn.LayerNorm(33), nn.Dropout(0.25), nn.Linear(33, 5))


def training(decorate: Callable[[Any], Any], model: nn.Module, steps: int = STEPS, **options: Any) -> Iterator[Any]:
    """The losses of some steps, then the parameters."""
    optimizer = sg.optim.AdamW(model.parameters(), lr=1e-2, **options)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    step = decorate(step)
    for i in range(steps):
        yield step(*batch(i % 7))
    yield from model.parameters()


@program
def eager_training() -> Iterator[Any]:
    yield from training(lambda step: step, classifier())


@program
def compiled_training() -> Iterator[Any]:
    yield from training(sg.compile, classifier(), 20)


@program
def compiled_in_segments() -> Iterator[Any]:
    model, w = classifier(), sg.rand(12, 12)

    def step(x: Any, y: Any) -> Any:
        h = (x @ w).tanh()
        h = h * float(h.sum().item() > 0)
        return F.cross_entropy(model(h), y)

    step = sg.compile(step, on_break="split")
    for i in range(12):
        yield step(*batch(i % 7))


@program
def eager_operations() -> Iterator[Any]:
    """Values and gradients of single operations, of sizes for which the number of calls in NumPy differs."""
    for shape in ((40, 60), (120, 300), (700, 500)):
        x = sg.rand(*shape, requires_grad=True)
        for _ in range(600 if shape[0] < 100 else 40):
            y = (x.exp().softmax(-1) * x.sin()).sum(0).std()
            (g,) = sg.grad(y, [x])
            yield y
            yield g.sum(1)


@program
def eager_numbers_that_vary() -> Iterator[Any]:
    x = sg.rand(8, 9, requires_grad=True)
    for i in range(STEPS):
        (g,) = sg.grad(F.elu(x - 0.5, 1 + i / 50).sum(), [x])
        yield g


@program
def eager_images() -> Iterator[Any]:
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5))
    optimizer = sg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for i in range(80):
        x = sg.randn(6, 1, 8, 8)
        loss = F.cross_entropy(model(x), batch(i % 3)[1][:6])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss
    yield from model.parameters()


@program
def compiled_recurrence() -> Iterator[Any]:
    model = nn.LSTM(6, 7, batch_first=True)
    optimizer = sg.optim.Adam(model.parameters())

    @sg.compile
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (model(x)[0] ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(6):
        yield step(sg.randn(3, 5, 6))
    yield from model.parameters()


@program
def session() -> Iterator[Any]:
    with sg.Graph().as_default():
        x = sg.placeholder("float32", (None, 12))
        w = sg.Variable(np.linspace(-1, 1, 12 * 12, dtype="float32").reshape(12, 12))
        state = sg.while_loop(lambda i, h: i < 40, lambda i, h: (i + 1, sg.tanh(h @ w)), [0, x])[1]
        loss = ((state + sg.rand(12)) ** 2).mean()
        train = sg.optim.SGD(lr=0.1).minimize(loss)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            for i in range(8):
                yield sess.run([loss, train], {x: batch(i % 2)[0].numpy()})[0]
            yield sess.run(w)


@program
def threads_beside_each_other() -> Iterator[Any]:
    found: dict[int, list[Any]] = {}
    models = [nn.Sequential(nn.Linear(12, 33), nn.GELU(), nn.LayerNorm(33), nn.Linear(33, 5)) for _ in range(2)]

    def work(number: int) -> None:
        found[number] = [x.detach().numpy().copy() for x in training(lambda step: step, models[number], 100)]

    workers = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    yield from found[0] + found[1]


class Prepared(TensorDataset):
    """Samples that are computed when they are read."""

    def __getitem__(self, i: Any) -> Any:
        x, y = super().__getitem__(i)
        return (F.silu(x * 1.5), y)


@program
def data_from_workers() -> Iterator[Any]:
    rng = np.random.default_rng(0)
    data = Prepared(sg.tensor(rng.normal(size=(160, 2100)).astype("float32")), sg.tensor(rng.integers(0, 5, 160)))
    for loader in (
        DataLoader(data, batch_size=4, shuffle=True, num_workers=2),
        Prefetcher(DataLoader(data, batch_size=4, shuffle=True)),
    ):
        for x, _ in loader:
            yield (x.exp() * x).sum(0)


def bits_of(name: str) -> str:
    """A hash of all that a program gives."""
    sg.manual_seed(7)
    found = hashlib.sha256()
    for value in PROGRAMS[name]():
        array = value.detach().numpy() if isinstance(value, sg.Tensor) else np.asarray(value)
        found.update(str((array.dtype, array.shape)).encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


class Here(concurrent.futures.Executor):
    """A pool of processes that is this process."""

    def __init__(self, *args: Any, **named: Any):
        pass

    def submit(self, function: Any, /, *args: Any, **named: Any) -> Any:
        done: concurrent.futures.Future[Any] = concurrent.futures.Future()
        done.set_result(function(*args, **named))
        return done


def bits_of_script(path: str) -> str:
    """A hash of what a script reads, in this order. What it gives to a pool of processes runs in this one."""
    found = hashlib.sha256()

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            out = function(*args, **named)
            for part in out if isinstance(out, (list, tuple)) else [out]:
                if isinstance(part, (int, float, np.ndarray, np.generic)):
                    found.update(np.asarray(part).tobytes())
            return out

        return call

    for name in ("item", "__float__", "numpy", "tolist"):
        setattr(sg.Tensor, name, noted(getattr(sg.Tensor, name)))
    sg.Session.run = noted(sg.Session.run)  # type: ignore[method-assign]
    concurrent.futures.ProcessPoolExecutor = Here  # type: ignore[misc]
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(path, run_name="__main__")
    if found.digest() == hashlib.sha256().digest():
        raise SystemExit(f"{path} reads no number")
    return found.hexdigest()


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].endswith(".py"):
        del sys.argv[0]
        sys.path.insert(0, str(Path(sys.argv[0]).parent))
        print(sys.argv[0], bits_of_script(sys.argv[0]), flush=True)
    else:
        for each in sys.argv[1:] or PROGRAMS:
            print(each, bits_of(each), flush=True)
