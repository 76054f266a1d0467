"""PyTorch's random numbers drawn by this library's generator, so that a program starts from the same values in both."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils import data

import staticgrad as sg

FACTORIES = frozenset({"bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn",
                       "randn_like", "randperm"})  # fmt: skip
FILLS = frozenset({"bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_"})
DROPOUTS = frozenset({"alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"})
SEEDING = "manual_seed", "seed", "initial_seed"
LOADER = sys.modules["torch.utils.data.dataloader"].__file__
OURS = (torch.dtype, torch.device, torch.layout, torch.memory_format)


def _foreign(*values: Any) -> bool:
    """Whether a value's class, other than PyTorch's own, handles functions itself."""
    return any(type(x) not in (torch.Tensor, torch.nn.Parameter) and hasattr(type(x), "__torch_function__") for x in values)


QUESTIONS = {
    "has_torch_function": lambda values: _foreign(*values),
    "has_torch_function_unary": _foreign,
    "has_torch_function_variadic": _foreign,
}
"""What PyTorch's functions in Python ask before they hand themselves to a mode, inside of which draws would be PyTorch's."""


class SharedDraws(TorchFunctionMode):  # type: ignore[misc]
    """Inside it, PyTorch's functions that draw give the results of this library's functions of the same names.

    A mode hears of functions in C. Those in Python are replaced: dropouts, what seeds, the order of a data set.
    """

    def __init__(self) -> None:
        super().__init__()
        self.generators: dict[int, Any] = {}
        """By id, PyTorch's generator, its seed, and ours of the same seed."""
        self.replaced: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Any:
        for name in SEEDING:
            self._replace(getattr(sg, name), name, torch, torch.random)
        for name, answer in QUESTIONS.items():
            self._replace(answer, name, torch.overrides, functional)
        for name in DROPOUTS:
            self._replace(partial(self._dropped, getattr(functional, name), name), name, functional)
        self._replace(lambda sampler: iter(self._order(sampler)), "__iter__", data.RandomSampler)
        return super().__enter__()

    def _replace(self, function: Any, name: str, *places: Any) -> None:
        for place in places:
            if hasattr(place, name):
                self.replaced.append((place, name, getattr(place, name)))
                setattr(place, name, function)

    def __exit__(self, *error: Any) -> None:
        while self.replaced:
            setattr(*self.replaced.pop())
        super().__exit__(*error)

    def _order(self, sampler: Any) -> Any:
        generator = None if sampler.generator is None else self._ours(sampler.generator)
        return sg.utils.data.RandomSampler(sampler.data_source, sampler.replacement, sampler._num_samples, generator)

    def _ours(self, x: Any) -> Any:
        """An argument for this library."""
        if isinstance(x, torch.Tensor):
            return sg.tensor(x.detach().numpy())
        if isinstance(x, torch.Generator):
            seed = x.initial_seed()
            if self.generators.get(id(x), (x, None))[1] != seed:
                self.generators[id(x)] = x, seed, sg.Generator().manual_seed(seed)
            return self.generators[id(x)][2]
        if isinstance(x, torch.dtype):
            return str(x)
        if isinstance(x, (tuple, list)):
            return type(x)(map(self._ours, x)) if type(x) in (tuple, list) else [*x]
        return x

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in FILLS and args and isinstance(args[0], torch.Tensor) and not self._by_loader():
            x = args[0]
            drawn = sg.empty(tuple(x.shape), dtype=str(x.dtype))
            more = {key: self._ours(value) for key, value in kwargs.items()}
            getattr(drawn, name)(*map(self._ours, args[1:]), **more)
            with torch.no_grad():
                return x.copy_(torch.from_numpy(np.array(drawn.numpy())))
        elif name in FACTORIES:
            more = {
                key: self._ours(value) for key, value in kwargs.items() if key not in ("device", "layout", "pin_memory", "out")
            }
            drawn = getattr(sg, name)(*map(self._ours, args), **more)
            made = torch.from_numpy(np.array(drawn.detach().numpy()))
            return made.requires_grad_() if kwargs.get("requires_grad") else made
        return func(*args, **kwargs)

    def _dropped(self, func: Any, name: str, input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        if not training or not p or "alpha" in name:
            return func(input, p, training, inplace)
        mask = getattr(sg.functional, name)(sg.ones(*input.shape, dtype=str(input.dtype)), p, True)
        scale = torch.from_numpy(np.array(mask.numpy()))
        return input.mul_(scale) if inplace else input * scale

    def _by_loader(self) -> bool:
        frame = sys._getframe(2)
        return any(f is not None and f.f_code.co_filename == LOADER for f in (frame, frame.f_back))
