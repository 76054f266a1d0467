"""PyTorch's random numbers drawn by this library's generator, so that a program starts from the same values in both."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils import data

import staticgrad as sg

FACTORIES = frozenset({"bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn",
                       "randn_like", "randperm"})  # fmt: skip
FILLS = frozenset({"bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_"})
DROPOUTS = frozenset({"alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"})
LOADER = sys.modules["torch.utils.data.dataloader"].__file__
OURS = (torch.dtype, torch.device, torch.layout, torch.memory_format)


class SharedDraws(TorchFunctionMode):
    """Inside it, PyTorch's functions that draw give the results of this library's functions of the same names."""

    def __init__(self) -> None:
        super().__init__()
        self.generators: dict[int, Any] = {}

    def __enter__(self) -> Any:
        self.before = data.RandomSampler.__iter__
        data.RandomSampler.__iter__ = lambda sampler: iter(self._order(sampler))  # type: ignore[method-assign]
        return super().__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: Any) -> None:
        data.RandomSampler.__iter__ = self.before  # type: ignore[method-assign]
        super().__exit__(*error)  # type: ignore[no-untyped-call]

    def _order(self, sampler: Any) -> Any:
        generator = None if sampler.generator is None else self._ours(sampler.generator)
        return sg.utils.data.RandomSampler(sampler.data_source, sampler.replacement, sampler._num_samples, generator)

    def _ours(self, x: Any) -> Any:
        """An argument for this library."""
        if isinstance(x, torch.Tensor):
            return sg.tensor(x.detach().numpy())
        if isinstance(x, torch.Generator):
            if id(x) not in self.generators:
                self.generators[id(x)] = x, sg.Generator().manual_seed(x.initial_seed())
            return self.generators[id(x)][1]
        if isinstance(x, torch.dtype):
            return str(x)
        if isinstance(x, (tuple, list)):
            return type(x)(map(self._ours, x)) if type(x) in (tuple, list) else [*x]
        return x

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in ("manual_seed", "seed") and func in (torch.manual_seed, torch.seed):
            getattr(sg, name)(*args)
        elif name in FILLS and args and isinstance(args[0], torch.Tensor) and not self._by_loader():
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
        elif name in DROPOUTS:
            return self._dropped(func, name, *args, **kwargs)
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
