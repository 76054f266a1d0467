"""Averages of a model's parameters along its training, and the schedule that goes with them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..eager import Tensor, no_grad
from ..eager.inplace import replace
from ..errors import ArgumentError
from ..nn.module import Module
from ..nn.normalization_layers import _BatchNorm
from ..ops.operators import F
from .lr_scheduler import LRScheduler
from .lr_scheduler.decay import per_group
from .optimizer import Optimizer

Average = Callable[[Any, Any, Any], Any]


def _decay(decay: float) -> float:
    if not 0.0 <= decay <= 1.0:
        raise ArgumentError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return decay


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """(average, parameter, number of averaged ones) -> decay average + (1 - decay) parameter. Raises ArgumentError."""
    kept = _decay(decay)
    return lambda average, parameter, n: kept * average + (1 - kept) * parameter


def get_swa_avg_fn() -> Average:
    """(average, parameter, number of averaged ones) -> the mean with this parameter in it."""
    return lambda average, parameter, n: average + (parameter - average) / (n + 1)


def _several(one: Average) -> Average:
    """The same for lists, in place."""

    def update(averages: Any, parameters: Any, n: Any) -> None:
        for average, parameter in zip(averages, parameters, strict=True):
            _write(average, one(average, parameter, n))

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Average:
    """`get_ema_avg_fn` for lists of tensors, which it changes in place. Raises ArgumentError."""
    return _several(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Average:
    """`get_swa_avg_fn` for lists of tensors, which it changes in place."""
    return _several(get_swa_avg_fn())


def _write(place: Any, value: Any) -> None:
    with no_grad():
        replace(place, F.astype(value, place.dtype), "update_parameters")


class AveragedModel(Module):
    """`module`, a copy of a model, with averages of what `update_parameters(model)` was called with.

    avg_fn(average, parameter, n) -> new average: the mean unless given; multi_avg_fn does the same for lists, in place.
    use_buffers: average the buffers too; otherwise they are copied. device: "cpu". Raises ArgumentError for both functions.
    """

    n_averaged: Tensor

    def __init__(
        self, model: Module, device: Any = None, avg_fn: Average | None = None, multi_avg_fn: Average | None = None,
        use_buffers: bool = False,
    ):  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ArgumentError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", Tensor(np.zeros((), np.int64)))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of `model` into the average; the first ones are copied."""
        own, others = _averaged(self.use_buffers, self.module), _averaged(self.use_buffers, model)
        with no_grad():
            if not self.n_averaged.item():
                for place, value in zip(own, others, strict=True):
                    _write(place, value.detach())
            else:
                average = self.multi_avg_fn or _several(self.avg_fn or get_swa_avg_fn())
                average([p.detach() for p in own], [p.detach() for p in others], self.n_averaged)
            if not self.use_buffers:
                for place, value in zip(self.module.buffers(), model.buffers(), strict=True):
                    _write(place, value.detach())
        _write(self.n_averaged, self.n_averaged + 1)


def _averaged(use_buffers: bool, model: Module) -> list[Any]:
    return [*model.parameters(), *model.buffers()] if use_buffers else list(model.parameters())


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute running means and variances of all batch norms anew, in one pass over batches: tensors, or tuples whose
    first element is the input."""
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    before = [m.momentum for m in norms]
    for m in norms:
        m.reset_running_stats()
        m.momentum = None
    training = model.training
    model.train()
    try:
        with no_grad():
            for batch in loader:
                model(batch[0] if isinstance(batch, (list, tuple)) else batch)
    finally:
        for m, momentum in zip(norms, before, strict=True):
            m.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """From the present rate to swa_lr in `anneal_epochs` epochs, along a cosine or a line. Raises ArgumentError."""

    def __init__(
        self, optimizer: Optimizer, swa_lr: float, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1
    ):
        for lr, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ArgumentError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        share = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - float(np.cos(np.pi * share))) / 2 if self.anneal_strategy == "cos" else share

    def get_lr(self) -> list[float]:
        step = max(1, self._step_count) if self.anneal_epochs == 0 else self._step_count
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            lr, last = group["lr"], group["swa_lr"]
            first = last if before == 1 else (lr - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates


__all__ = [
    "AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip
