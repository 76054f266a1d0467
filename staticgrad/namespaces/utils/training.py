"""`sg.fit`: the loop around a step of training, whose checkpoints are resumed at the step."""

from __future__ import annotations

import random
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import length_hint
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ...base.interpreter import is_installed
from ...distributed import all_reduce, get_rank, get_world_size, is_initialized
from ...distributed.checkpoint import load, save
from ...distributed.checkpoint.index import FILE
from ...eager import Tensor, generator
from ...errors import ArgumentError, ArgumentTypeError
from ...tracing import CompiledFunction
from ...viz.comparison import Comparison, Mode
from .tensorboard import SummaryWriter

POINTS, DRAWN = 100, 5000
"""Losses between two evaluations that TensorBoard gets, and losses and times that the report draws."""


@dataclass
class History:
    """What `fit` returns. losses: of each step. evaluations: a dict for each, with "step", "epoch", the mean loss "train" of
    the steps since the one before, and what `evaluate` returned; best: the one whose monitored value is best. stopped: why the
    training ended, "epochs", "steps" or "patience"."""

    losses: np.ndarray
    evaluations: list[dict[str, float]]
    best: dict[str, float]
    stopped: str


def fit(
    step: Callable[..., Any], loader: Iterable[Any], *, epochs: int | None = None, steps: int | None = None,
    every: int | None = None, evaluate: Callable[[], Any] | None = None, monitor: str | None = None, mode: str = "min",
    patience: int | None = None, state: Mapping[str, Any] | None = None, checkpoint: str | PathLike[str] | None = None,
    logdir: str | PathLike[str] | None = None, report: str | PathLike[str] | None = None, progress: bool = True,
) -> History:  # fmt: skip
    """Call `step(*batch)` for each batch of a loader, epoch after epoch.

    step: any function that trains and returns the loss, or a tuple or dict that begins with it: eager, compiled, what
    `Session.make_callable` returns, with exchanges between processes or without. epochs, steps: where it ends, one epoch unless
    given. every: steps between evaluations, after each of which a checkpoint is written; None: at the end of each epoch.
    evaluate: a function that returns a number, named "loss", or a dict of numbers; they are averaged over the processes of
    `sg.distributed`. monitor: the name of the number that tells which evaluation is best, the first of `evaluate` or the mean
    loss of the steps unless given; mode: whether its "min" or "max" is best. patience: end after so many evaluations in a row
    that are not better than the best one, whose `state` is loaded then.

    state: what is trained, by name: modules, optimizers, schedulers, sessions, tensors. checkpoint: a folder. Where it has a
    checkpoint the training goes on from there, at the same batch and with the same random numbers, as if it had not been
    interrupted; the state of the best evaluation is in its folder `best`. The loader has to give the same batches for the same
    random numbers of Python, NumPy, this library and its own generator. logdir: of TensorBoard's files. report: a page with the
    losses, the times of the steps and the plan of a compiled step. progress: a bar with the loss and steps per second, where
    the package tqdm is installed.

    Raises ArgumentError for options that don't fit, a step that returns no loss and a loader that gives no batch; MissingExtra
    for `logdir` without tensorboard; what `sg.distributed.checkpoint.load` raises; and the errors of the step.

    Examples:
        >>> w = sg.zeros(1, requires_grad=True)
        >>> opt = optim.SGD([w], lr=0.25)
        >>> def step(x):
        ...     loss = ((w - x) ** 2).sum()
        ...     opt.minimize(loss)
        ...     return loss
        >>> history = sg.fit(step, [sg.ones(1)], epochs=3, progress=False)
        >>> history.losses.tolist(), history.best
        ([1.0, 0.25, 0.0625], {'step': 3, 'epoch': 3, 'train': 0.0625})
    """
    for name, number in (("epochs", epochs), ("steps", steps), ("every", every), ("patience", patience)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise ArgumentError(f"fit: {name} has to be an integer of at least 1, got {number!r}")
    if not callable(step) or not (evaluate is None or callable(evaluate)):
        name, value = ("step", step) if not callable(step) else ("evaluate", evaluate)
        raise ArgumentTypeError(f"fit: {name} has to be a function, got {type(value).__name__}", "fit calls it")
    if not isinstance(loader, Iterable) and not hasattr(loader, "__getitem__"):
        text = f"fit: the loader has to give batches, got {type(loader).__name__}"
        raise ArgumentTypeError(text, "pass a DataLoader, or a list of batches")
    if mode not in ("min", "max"):
        raise ArgumentError(f'fit: mode is "min" or "max", got {mode!r}')
    if checkpoint is not None and not state:
        raise ArgumentError("fit: a checkpoint needs a state", 'write state={"model": model, "optimizer": optimizer}')
    epochs = 1 if epochs is None and steps is None else epochs
    with ExitStack() as stack:
        folder = None if checkpoint is None else Path(checkpoint)
        best = None if folder is None else folder / "best"
        if folder is None and state and patience is not None:
            if is_initialized() and get_world_size() > 1:
                raise ArgumentError("fit: several processes find the best state in a folder", 'write checkpoint="folder"')
            best = Path(stack.enter_context(TemporaryDirectory()))
        run = _Run(step, loader, state or {}, folder, best)
        run.resume()
        first = not (is_initialized() and get_rank())  # the process that tells of it
        if logdir is not None and first:
            run.writer = stack.enter_context(SummaryWriter(logdir, purge_step=run.count or None))
        if progress and first and is_installed("tqdm"):
            from tqdm.auto import tqdm

            known = filter(None, (steps, (epochs or 0) * length_hint(loader)))
            run.bar = stack.enter_context(tqdm(total=min(known, default=None), initial=run.count, unit=" steps"))
        while not (stopped := run.ended(epochs, steps, patience)):
            for batch in run.batches():
                run.take(batch)
                if every is not None and run.count % every == 0:
                    run.look(evaluate, monitor, mode)
                if run.ended(None, steps, patience):
                    break
            if run.count > run.looked and (every is None or run.ended(epochs, steps, patience)):
                run.look(evaluate, monitor, mode)
        if patience is not None and best is not None and run.best >= 0:
            load(dict(run.state), checkpoint_id=best)
    if report is not None and first:
        run.page().to_html(report)
    return History(np.array(run.losses), run.evaluations, run.evaluations[run.best] if run.best >= 0 else {}, stopped)


class _Run:
    """A training on its way: what its checkpoints keep, and what it writes to."""

    def __init__(self, step: Callable[..., Any], loader: Any, state: Mapping[str, Any], folder: Path | None, best: Path | None):
        self.step, self.loader, self.state = step, loader, state
        self.folder, self.best_folder = folder, best
        self.losses, self.seconds = array("d"), array("d")
        self.evaluations: list[dict[str, float]] = []
        self.best, self.waited = -1, 0
        """The number of the best evaluation, and how many came after it."""
        self.epoch = self.position = self.looked = 0
        """Whole epochs, batches of this one, and the step of the last evaluation."""
        self.begin: dict[str, Any] = {}  # the state of random numbers when the epoch began
        self.own = f"process.{get_rank() if is_initialized() else 0}"  # the name of what a checkpoint has of this process alone
        self.bar: Any = None
        self.writer: SummaryWriter | None = None
        self._next = 0.0

    @property
    def count(self) -> int:
        return len(self.losses)

    def ended(self, epochs: int | None, steps: int | None, patience: int | None) -> str:
        """Why no step follows; "" where one does."""
        if patience is not None and self.waited >= patience:
            return "patience"
        if steps is not None and self.count >= steps:
            return "steps"
        return "epochs" if epochs is not None and self.epoch >= epochs else ""

    def batches(self) -> Iterator[Any]:
        """What is left of this epoch."""
        now = _random_state(self.loader)
        if self.position:
            _set_random_state(self.loader, self.begin)
        else:
            self.begin = now
        set_epoch = getattr(getattr(_plain(self.loader), "sampler", None), "set_epoch", None)
        if set_epoch is not None:
            set_epoch(self.epoch)
        source = iter(self.loader)
        if self.position:
            for _ in islice(source, self.position):
                pass
            _set_random_state(self.loader, now)
        for batch in source:
            self.position += 1
            yield batch
        if not self.position:
            raise ArgumentError(
                f"fit: the loader gave no batch in epoch {self.epoch + 1}", "an iterator gives its items once: pass an iterable"
            )
        self.epoch, self.position = self.epoch + 1, 0

    def take(self, batch: Any) -> None:
        """A step."""
        arguments = batch if isinstance(batch, (tuple, list)) else (batch,)
        begin = time.perf_counter()
        loss = _loss(self.step(*arguments))
        now = time.perf_counter()
        self.losses.append(loss)
        self.seconds.append(now - begin)
        if self.bar is not None:
            self.bar.update()
            if now > self._next:
                self._next = now + 0.2  # seconds
                last = self.evaluations[-1] if self.evaluations else {}
                told = {f"evaluated {name}": last[name] for name in last if name not in ("step", "epoch", "train")}
                self.bar.set_postfix({"loss": loss, **told}, refresh=False)

    def look(self, evaluate: Callable[[], Any] | None, monitor: str | None, mode: str) -> None:
        """Evaluate, and write a checkpoint."""
        found = {} if evaluate is None else evaluate()
        found = found if isinstance(found, Mapping) else {"loss": found}
        numbers = {name: _number("evaluate", name, x) for name, x in found.items()}
        chosen = next(iter(numbers), "train") if monitor is None else monitor
        numbers = {"train": float(np.mean(self.losses[self.looked :])), **numbers}
        if chosen not in numbers:
            raise ArgumentError(f"fit: there is no {chosen!r} to monitor", f"the evaluation has {', '.join(numbers)}")
        if is_initialized() and (evaluate is not None or self.state):  # all processes decide alike
            means = Tensor(np.array([*numbers.values()]))
            all_reduce(means, "avg")
            numbers = dict(zip(numbers, means.tolist(), strict=True))
        self.evaluations.append({"step": self.count, "epoch": self.epoch, **numbers})
        old, new = self.evaluations[self.best][chosen], numbers[chosen]
        self.waited += 1
        if self.best < 0 or old != old or (new < old if mode == "min" else new > old):  # NaN is worse than any number
            self.best, self.waited = len(self.evaluations) - 1, 0
            if self.best_folder is not None:
                save(self.state, checkpoint_id=self.best_folder)
        if self.writer is not None:
            for i in range(self.looked, self.count, (self.count - self.looked - 1) // POINTS + 1):
                self.writer.add_scalar("loss/step", self.losses[i], i + 1)
            for name, number in numbers.items():
                self.writer.add_scalar(f"evaluation/{name}", number, self.count)
        self.looked = self.count
        if self.folder is not None:
            names = ("begin", "best", "epoch", "evaluations", "looked", "position", "waited")
            kept = {name: getattr(self, name) for name in names}
            kept |= {"losses": np.array(self.losses), "now": _random_state(self.loader)}
            save({**self.state, self.own: kept}, checkpoint_id=self.folder)

    def resume(self) -> None:
        """Go on from the checkpoint, where there is one."""
        if self.folder is None or not (self.folder / FILE).exists():
            return
        kept: dict[str, Any] = {}
        load({**self.state, self.own: kept}, checkpoint_id=self.folder)
        self.losses = array("d", kept.pop("losses").numpy())
        _set_random_state(self.loader, kept.pop("now"))
        vars(self).update(kept)

    def page(self) -> Comparison:
        """The report: a comparison of one mode."""
        compiled = self.step if isinstance(self.step, CompiledFunction) else None
        apart = max(self.count, len(self.seconds)) // DRAWN + 1
        found = Mode("steps" if compiled is None else "compiled", losses=[*self.losses[::apart]])
        if self.seconds:  # a training that had ended before makes no step
            found.first_ms, found.times_us = 1e3 * self.seconds[0], [1e6 * x for x in self.seconds[1::apart]]
            found.plan = None if compiled is None else compiled.plan
        return Comparison(getattr(self.step, "__name__", "training"), [found])


def _loss(result: Any) -> float:
    while isinstance(result, (tuple, list, Mapping)) and len(result):
        result = next(iter(result.values())) if isinstance(result, Mapping) else result[0]
    return _number("step", "loss", result)


def _number(function: str, name: str, result: Any) -> float:
    try:
        return float(result)
    except (TypeError, ValueError):
        shape = f" of shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
        raise ArgumentError(
            f"fit: {function} returned {type(result).__name__}{shape} in place of a number", f"return the {name} as a number"
        ) from None


def _sources(loader: Any) -> Iterator[tuple[Callable[[], Any], Callable[[Any], None]]]:
    """What reads and what sets the state of each generator that a training draws from."""
    yield random.getstate, random.setstate
    yield lambda: np.random.get_state(legacy=False), np.random.set_state
    plain = _plain(loader)
    batches = getattr(plain, "batch_sampler", None)
    holders = (plain, getattr(plain, "sampler", None), batches, getattr(batches, "sampler", None))
    own = {id(g): g for holder in holders for g in [getattr(holder, "generator", None)] if g is not None}
    for g in (generator, *own.values()):
        kept = g.bit_generator if isinstance(g, np.random.Generator) else g
        yield partial(getattr, kept, "state"), partial(setattr, kept, "state")


def _plain(loader: Any) -> Any:
    """The loader itself, inside a `Prefetcher`."""
    return getattr(loader, "source", loader)


def _random_state(loader: Any) -> dict[str, Any]:
    return {str(i): read() for i, (read, _) in enumerate(_sources(loader))}


def _set_random_state(loader: Any, state: Mapping[str, Any]) -> None:
    for i, (_, put) in enumerate(_sources(loader)):
        put(_arrays(state[str(i)]))


def _arrays(state: Any) -> Any:
    """A state of NumPy's with arrays in place of the tensors that a checkpoint gives."""
    if isinstance(state, Mapping):
        return {key: _arrays(value) for key, value in state.items()}
    return state.numpy() if isinstance(state, Tensor) else state
