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

from ..namespaces.utils.data.datasets import numbers_of
from ..namespaces.utils.data.loader import seed_of_workers

FACTORIES = frozenset({"bernoulli", "binomial", "multinomial", "normal", "poisson", "rand", "rand_like", "randint",
                       "randint_like", "randn", "randn_like", "randperm"})  # fmt: skip
FILLS = frozenset({"bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_"})
INITIAL = "sparse_", "trunc_normal_"
DROPOUTS = frozenset({"alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"})
SAMPLERS = {
    "RandomSampler": ("data_source", "replacement", "_num_samples", "generator"),
    "SubsetRandomSampler": ("indices", "generator"),
    "WeightedRandomSampler": ("weights", "num_samples", "replacement", "generator"),
}
"""The attributes that our sampler of the same name takes."""
SAMPLED = {
    "Binomial": ("total_count", "probs"),
    "Categorical": ("probs",),
    "Multinomial": ("total_count", "probs"),
    "VonMises": ("loc", "concentration"),
}
"""Distributions whose samples, which have no gradient, are drawn in another way than PyTorch's, and their parameters."""
SEEDING = "manual_seed", "seed", "initial_seed"
LOADER = sys.modules["torch.utils.data.dataloader"].__file__
CELLS = frozenset({"gru", "lstm", "rnn_relu", "rnn_tanh"})
OURS = (torch.dtype, torch.device, torch.layout, torch.memory_format)


def _theirs(x: Any) -> Any:
    """A tensor of PyTorch's with the values of ours."""
    return torch.from_numpy(np.array(x.detach().numpy()))


def _foreign(*values: Any) -> bool:
    """Whether a value's class, other than PyTorch's own, handles functions itself."""
    return any(type(x) not in (torch.Tensor, torch.nn.Parameter) and hasattr(type(x), "__torch_function__") for x in values)


def _drawing() -> dict[str, Any] | None:
    """The local names of the loader's function that draws, if one does."""
    frame = sys._getframe(2)
    return next((f.f_locals for f in (frame, frame.f_back) if f is not None and f.f_code.co_filename == LOADER), None)


QUESTIONS = {
    "has_torch_function": lambda values: _foreign(*values),
    "has_torch_function_unary": _foreign,
    "has_torch_function_variadic": _foreign,
}
"""What PyTorch's functions in Python ask before they hand themselves to a mode, inside of which draws would be PyTorch's."""


class SharedDraws(TorchFunctionMode):  # type: ignore[misc]
    """Inside it, PyTorch's functions that draw give the results of this library's functions of the same names.

    A mode hears of functions in C. Those in Python are replaced: dropouts, what seeds, the order of a data set, samples of
    distributions. Functions in C that draw within are composed of others: attention and recurrent layers with dropout.
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
        for name in INITIAL:
            self._replace(partial(self._filled, name), name, torch.nn.init)
        for name in SAMPLERS:
            self._replace(self._order, "__iter__", getattr(data, name))
        self._replace(self._permuted, "randperm", data.dataset)
        self._replace(lambda base, worker: (base + worker) % 2**32, "_generate_state", data._utils.worker)  # NumPy's seed
        for name in SAMPLED:
            self._replace(self._sample, "sample", getattr(torch.distributions, name))
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

    @property
    def _order(self) -> Any:
        def order(sampler: Any) -> Any:
            name = next(kind.__name__ for kind in type(sampler).__mro__ if kind.__name__ in SAMPLERS)
            return iter(getattr(sg.utils.data, name)(*(self._ours(getattr(sampler, field)) for field in SAMPLERS[name])))

        return order

    @property
    def _sample(self) -> Any:
        def sample(distribution: Any, sample_shape: Any = ()) -> Any:
            name = next(kind.__name__ for kind in type(distribution).__mro__ if kind.__name__ in SAMPLED)
            given = {field: self._ours(getattr(distribution, field)) for field in SAMPLED[name]}
            if name == "Multinomial":
                given["probs"] = given["probs"].expand(*distribution.batch_shape, *distribution.event_shape)
            return _theirs(getattr(sg.distributions, name)(**given).sample(tuple(sample_shape)))

        return sample

    def _permuted(self, n: int, generator: Any) -> Any:
        """The order of the examples that `random_split` divides."""
        return torch.from_numpy(numbers_of(self._ours(generator)).permutation(n))

    def _filled(self, name: str, tensor: Any, *args: Any, **named: Any) -> Any:
        drawn = getattr(sg.nn.init, name)(self._ours(tensor), *args, **{key: self._ours(x) for key, x in named.items()})
        with torch.no_grad():
            return tensor.copy_(_theirs(drawn))

    def _ours(self, x: Any) -> Any:
        """An argument for this library."""
        if isinstance(x, torch.Tensor):
            return sg.tensor(x.detach().numpy())
        if x is torch.default_generator:
            return None
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
        if name in FILLS and args and isinstance(args[0], torch.Tensor):
            x = args[0]
            if (names := _drawing()) is not None:  # the seed of workers, for which ours draws only where there are any
                loader: Any = names.get("loader")
                return (
                    x.fill_(seed_of_workers(self._ours(loader.generator))) if getattr(loader, "num_workers", 0) else x.zero_()
                )
            drawn = sg.empty(tuple(x.shape), dtype=str(x.dtype))
            more = {key: self._ours(value) for key, value in kwargs.items()}
            getattr(drawn, name)(*map(self._ours, args[1:]), **more)
            with torch.no_grad():
                return x.copy_(_theirs(drawn))
        elif name in FACTORIES:
            more = {
                key: self._ours(value) for key, value in kwargs.items() if key not in ("device", "layout", "pin_memory", "out")
            }
            sg.set_default_dtype(str(torch.get_default_dtype()))
            made = _theirs(getattr(sg, name)(*map(self._ours, args), **more))
            if kwargs.get("out") is not None:
                return kwargs["out"].copy_(made)
            return made.requires_grad_() if kwargs.get("requires_grad") else made
        elif name in ("_standard_gamma", "_sample_dirichlet"):  # their gradients need the result, not the draws
            made, own = func(*args, **kwargs), self._ours(args[0])
            kind = sg.distributions.Gamma(own, 1.0) if name == "_standard_gamma" else sg.distributions.Dirichlet(own)
            made.data.copy_(_theirs(kind.sample()))
            return made
        elif name in DROPOUTS:
            return self._dropped(func, name, *args, **kwargs)
        elif name == "scaled_dot_product_attention":
            return self._attended(func, *args, **kwargs)
        elif name in CELLS:
            return self._recurrent(func, *args)
        return func(*args, **kwargs)

    def _dropped(self, func: Any, name: str, input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        """A dropout multiplies and adds numbers that don't depend on its input: ours of zeros and of ones show them."""
        if not training or not p:
            return func(input, p, training, inplace) if inplace else func(input, p, training)
        state, results = sg.get_rng_state(), []
        for start in (sg.zeros, sg.ones):
            sg.set_rng_state(state)
            results.append(_theirs(getattr(sg.functional, name)(start(*input.shape, dtype=str(input.dtype)), p, True)))
        added, scale = results[0], results[1] - results[0]
        return input.mul_(scale).add_(added) if inplace else input * scale + added

    def _attended(
        self, func: Any, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Any:  # fmt: skip
        """Attention whose dropout multiplies the weights by the numbers that ours shows for even weights and a unit matrix."""
        if not dropout_p:
            return func(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        n, shape, dtype = key.shape[-2], tuple(query.shape[:-1]), str(query.dtype)
        unit = sg.eye(n, dtype=dtype).expand(*shape[:-1], n, n)
        even = sg.zeros(*shape, 1, dtype=dtype), sg.zeros(*shape[:-1], n, 1, dtype=dtype)
        factor = _theirs(sg.functional.scaled_dot_product_attention(*even, unit, dropout_p=dropout_p) * float(n))
        eye = torch.eye(n, dtype=query.dtype).expand(*shape[:-1], n, n)
        weights = func(query, key, eye, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa)
        if enable_gqa:
            value = value.repeat_interleave(shape[-2] // value.shape[-3], -3)
        return (weights * factor) @ value

    def _recurrent(self, func: Any, x: Any, *args: Any) -> Any:
        """Layers one by one, with dropout between them. Of packed sequences, the lengths come first, and nothing is told of the
        order of axes."""
        lengths, given = (args[:1], args[1:]) if isinstance(args[2], (tuple, list)) else ((), args)
        hx, weights, bias, layers, p, training, *more = given
        if not p or not training or layers < 2:
            return func(x, *args)
        states, last = hx if isinstance(hx, (tuple, list)) else (hx,), []
        batch_first = not lengths and more[-1]
        for k in range(layers):
            if k:
                x = x.transpose(0, 1) if batch_first else x
                x = self._dropped(None, "dropout", x, p)
                x = x.transpose(0, 1) if batch_first else x
            first = [part.chunk(layers)[k] for part in states]
            own = weights[k * len(weights) // layers : (k + 1) * len(weights) // layers]
            state = first if len(first) > 1 else first[0]
            x, *after = func(x, *lengths, state, own, bias, 1, 0.0, training, *more)
            last.append(after)
        return x, *(torch.cat(parts) for parts in zip(*last, strict=True))
