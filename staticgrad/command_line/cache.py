"""`cache info`, `cache clear`, `cache warm`, `cache eager`."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from .. import nn, optim
from ..compiler.backend import disk_cache
from ..compiler.execute.explain import size_text
from ..eager import manual_seed, no_grad, rand, randint, randn
from ..eager.calls.kernels import wait_for_kernels
from ..errors import ArgumentError
from ..namespaces import functional as F
from .programs import Misuse


def info(given: Namespace) -> int:
    """Print where the kernel cache is and what it holds."""
    known = disk_cache.entries(disk_cache.folder())
    facts: dict[str, Any] = {
        "folder": disk_cache.where(),
        "kernels": sum(any(file.endswith(".o") for file in entry.files) for entry in known),
        "bytes": sum(entry.bytes for entry in known),
        "limit": _limit(),
        "oldest": known[0].used if known else None,
    }
    if given.json:
        print(json.dumps(facts))
        return 0
    bound = facts["limit"]
    print(f"folder   {facts['folder'] or 'none: there is no home directory'}")
    print(f"kernels  {facts['kernels']:,d}")
    print(f"size     {size_text(facts['bytes'])} of {size_text(bound) if bound else 'any size'} ({disk_cache.LIMIT})")
    if known:
        print(f"oldest   used {(time.time() - known[0].used) / 86400:.1f} days ago")
    return 0


def clear(given: Namespace) -> int:
    """Remove all kernels, or the least recently used ones down to a size."""
    try:
        most = 0 if given.to is None else disk_cache.size_of(given.to)
    except ArgumentError as error:
        raise Misuse(f"--to: {error.summary}\n  {error.details[0]}") from None
    count, size = disk_cache.trim(disk_cache.folder(), most)
    left = sum(entry.bytes for entry in disk_cache.entries(disk_cache.folder()))
    print(f"{count} kernels removed, {size_text(size)}; {size_text(left)} left")
    return 0


def eager(given: Namespace) -> int:
    """Run a program, and print which of its eager calls have a plan or a route, and how often these ran."""
    from ..eager.calls import call_cache

    if not os.path.isfile(given.file):
        raise Misuse(f"there is no file {given.file}")
    call_cache.runs = Counter()
    sys.argv = [given.file, *given.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(given.file)))
    runpy.run_path(given.file, run_name="__main__")
    from ..eager.calls.report import report

    found = report()
    if given.json:
        print(json.dumps({"tables": found.facts, "calls": [row._asdict() for row in found.rows]}))
        return 0
    for name, facts in found.facts.items():
        holds = f"{facts['entries']:,d} entries, {size_text(facts['bytes'])} of plans"
        print(f"{name:8} {holds}, {facts['misses']:,d} misses, {facts['dropped']:,d} dropped")
    print(f"\n{'runs':>10}  {'call':60}  computed by")
    for row in found.rows[: given.most]:
        what = row.what if len(row.what) <= 60 else f"{row.what[:57]}..."
        print(f"{row.runs:10,d}  {what:60}  {row.state}{f', {size_text(row.nbytes)}' if row.nbytes else ''}")
    if len(found.rows) > given.most:
        print(f"{'':12}{len(found.rows) - given.most:,d} more; --most shows so many")
    return 0


def warm(given: Namespace) -> int:
    """Compile the kernels that many programs need."""
    if given.cpu not in (None, os.environ.get("STATICGRAD_CPU")):  # which is read when the compiler is imported
        command = [sys.executable, "-m", "staticgrad", "warm"]
        return subprocess.run(command, env={**os.environ, "STATICGRAD_CPU": given.cpu}, check=False).returncode
    from ..compiler.warm import warm as warmed
    from .cache import typical_steps

    print(warmed(typical_steps()))
    return 0


def _limit() -> int:
    try:
        return disk_cache.limit()
    except ArgumentError as error:
        raise Misuse(f"{disk_cache.LIMIT}={os.environ.get(disk_cache.LIMIT)}: {error.summary}\n  {error.details[0]}") from None


# small training steps of the usual layers -----------------------------------------------------------------------------

# Small training steps of the usual layers, losses and optimizers.
#
# `python -m staticgrad warm` runs them, so that a program finds their kernels in the kernel cache. Kernels don't depend on
# extents, and equal combinations of operations share them: two thirds of the kernels that a program of `benchmarks/programs/`
# needs in eager mode are among these.


STEPS = 24
"""Steps of each model, in which all of their kernels are asked for."""
ACTIVATIONS = ("ReLU", "GELU", "Tanh", "Sigmoid", "SiLU", "LeakyReLU", "ELU", "Softplus")
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda parameters: optim.SGD(parameters, lr=0.01),
    "momentum": lambda parameters: optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=1e-4),
    "Adam": lambda parameters: optim.Adam(parameters, lr=1e-3),
    "AdamW": lambda parameters: optim.AdamW(parameters, lr=1e-3, weight_decay=0.01),
    "RMSprop": lambda parameters: optim.RMSprop(parameters, lr=1e-3),
}
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "cross_entropy": lambda z, y: F.cross_entropy(z, y),
    "int32": lambda z, y: F.cross_entropy(z, y.int()),
    "smoothed": lambda z, y: F.cross_entropy(z, y, label_smoothing=0.1),
    "nll": lambda z, y: F.nll_loss(F.log_softmax(z, dim=1), y),
    "mse": lambda z, y: F.mse_loss(z, rand(*z.shape)),
    "squares": lambda z, y: ((z - rand(*z.shape)) ** 2).mean(),
    "l1": lambda z, y: F.l1_loss(z, rand(*z.shape)),
    "smooth_l1": lambda z, y: F.smooth_l1_loss(z, rand(*z.shape)),
    "bce_with_logits": lambda z, y: F.binary_cross_entropy_with_logits(z, rand(*z.shape)),
    "bce": lambda z, y: F.binary_cross_entropy(z.sigmoid(), rand(*z.shape)),
    "soft": lambda z, y: -(F.softmax(rand(*z.shape), dim=1) * F.log_softmax(z, dim=1)).sum(1).mean(),
}


class _Residual(nn.Sequential):
    def forward(self, x: Any) -> Any:
        return x + super().forward(x)


class _Mean(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.mean(1)


class _Last(nn.Module):
    def __init__(self, layer: Any):
        super().__init__()
        self.layer = layer

    def forward(self, x: Any) -> Any:
        return self.layer(x)[0][:, -1]


def _mlp(*between: Any, classes: int = 10) -> Any:
    return nn.Sequential(nn.Linear(16, 32), *between, nn.Linear(32, 32), *between, nn.Linear(32, classes))


def _models() -> Iterator[tuple[Any, Any, str, str]]:
    """Models, their inputs, and the names of their losses and optimizers."""
    vectors, images, tokens = randn(64, 16), randn(16, 3, 16, 16), randint(0, 50, (16, 12))
    for name in ACTIVATIONS:
        yield _mlp(getattr(nn, name)()), vectors, "cross_entropy", "Adam"
    for classes in (3, 7, 32):  # short rows have kernels by how many columns squares of them have
        yield _mlp(nn.ReLU(), classes=classes), vectors, "cross_entropy", "Adam"
    for name in LOSSES:
        yield _mlp(nn.ReLU()), vectors, name, "Adam"
    for name in OPTIMIZERS:
        yield _mlp(nn.ReLU()), vectors, "mse", name
    yield _mlp(nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2)), vectors, "cross_entropy", "Adam"
    yield _mlp(nn.LayerNorm(32), nn.ReLU()), vectors, "cross_entropy", "AdamW"
    blocks = (_Residual(nn.LayerNorm(16), nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16)) for _ in range(2))
    yield nn.Sequential(*blocks, nn.LayerNorm(16), nn.Linear(16, 10)), vectors, "cross_entropy", "AdamW"
    for norm in (False, True):
        layers: list[Any] = []
        for inputs, outputs in ((3, 8), (8, 16), (16, 32)):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1), *([nn.BatchNorm2d(outputs)] if norm else []), nn.ReLU()]
            layers += [nn.MaxPool2d(2)]
        yield nn.Sequential(*layers, nn.Flatten(), nn.Linear(128, 10)), images, "cross_entropy", "momentum" if norm else "Adam"
    strided = nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU()
    back = nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Flatten()
    yield nn.Sequential(*strided, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)), images, "cross_entropy", "Adam"
    yield nn.Sequential(*strided, *back), images, "mse", "Adam"
    block = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True)
    yield nn.Sequential(nn.Embedding(50, 16), block, _Mean(), nn.Linear(16, 10)), tokens, "cross_entropy", "AdamW"
    for kind in (nn.LSTM, nn.GRU):
        recurrent = _Last(kind(16, 32, batch_first=True))
        yield nn.Sequential(nn.Embedding(50, 16), recurrent, nn.Linear(32, 10)), tokens, "cross_entropy", "Adam"


def typical_steps() -> Iterator[Callable[[], None]]:
    """Functions that run the steps of a model until all of their kernels are compiled."""
    manual_seed(0)
    for model, inputs, loss, optimizer in _models():
        yield partial(_run, model, inputs, LOSSES[loss], OPTIMIZERS[optimizer](model.parameters()))


def _run(model: Any, inputs: Any, loss_of: Callable[[Any, Any], Any], optimizer: Any) -> None:
    with no_grad():
        labels = randint(0, min(10, model(inputs).shape[1]), (len(inputs),))
    for _ in range(STEPS):
        loss = loss_of(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    wait_for_kernels()
