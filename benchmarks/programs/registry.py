"""What a program is, and the library that it runs with."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Arrays = dict[str, np.ndarray]


class Library(NamedTuple):
    """PyTorch, or this library under PyTorch's names."""

    torch: Any
    nn: Any
    F: Any
    optim: Any
    compiles: Callable[[Any], Any]
    """`torch.compile`, or the identity for eager steps."""

    def tensor(self, array: Any) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(array))

    def filled(self, module: Any, seed: int = 0) -> Any:
        """The module, with weights from NumPy's generator: the same whatever library runs the program."""
        rng = np.random.default_rng(seed)
        with self.torch.no_grad():
            for name, parameter in module.named_parameters():
                shape = tuple(parameter.shape)
                if len(shape) < 2 and "bias" in name:
                    parameter.zero_()
                elif len(shape) > 1:
                    bound = 1 / np.sqrt(np.prod(shape[1:]))
                    parameter.copy_(self.tensor(rng.uniform(-bound, bound, shape).astype("float32")))
        return module

    def parameter(self, *shape: int, seed: int = 0, scale: float = 1.0) -> Any:
        """A leaf with normal values of NumPy's generator."""
        values = np.random.default_rng(seed).normal(0, scale, shape).astype("float32")
        return self.tensor(values).requires_grad_(True)


def library(name: str, compiled: bool = False) -> Library:
    """name: "staticgrad" or "torch"."""
    torch, nn, F, optim = (importlib.import_module(name + part) for part in ("", ".nn", ".nn.functional", ".optim"))
    return Library(torch, nn, F, optim, torch.compile if compiled else _itself)


def _itself(fn: Any) -> Any:
    return fn


class Training(NamedTuple):
    """A step, which returns losses; the tensors that it takes, for step i; and a change of what the step reads between
    two calls, such as a learning rate."""

    step: Callable[..., Any]
    batch: Callable[[int], tuple[Any, ...]]
    change: Callable[[], None]


class Program(NamedTuple):
    """random: it draws random numbers, so that its losses are not PyTorch's."""

    name: str
    about: str
    make: Callable[[Library], Training]
    random: bool


PROGRAMS: dict[str, Program] = {}


def program(about: str, random: bool = False) -> Callable[[Callable[[Library], Training]], Callable[[Library], Training]]:
    """Register a function that makes the training."""

    def register(make: Callable[[Library], Training]) -> Callable[[Library], Training]:
        PROGRAMS[make.__name__] = Program(make.__name__, about, make, random)
        return make

    return register


def slower(*optimizers: Any) -> Callable[[], None]:
    """A change between two calls: half the learning rates."""

    def change() -> None:
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] *= 0.5

    return change


def batches(lib: Library, *arrays: np.ndarray, size: int) -> Callable[[int], tuple[Any, ...]]:
    """Minibatches in turn."""
    count = len(arrays[0]) // size

    def batch(i: int) -> tuple[Any, ...]:
        at = i % count * size
        return tuple(lib.tensor(array[at : at + size]) for array in arrays)

    return batch


def images(count: int, channels: int, extent: int, classes: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Images and their labels, with structure that can be learned."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count)
    patterns = rng.normal(0, 1, (classes, channels, extent, extent))
    return (patterns[labels] + rng.normal(0, 0.5, (count, channels, extent, extent))).astype("float32"), labels


def table(count: int, features: int, classes: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of features and their labels."""
    x, y = images(count, features, 1, classes, seed)
    return x.reshape(count, features), y


def tokens(count: int, length: int, vocabulary: int, seed: int = 0) -> np.ndarray:
    """Sequences of tokens in which each depends on the one before."""
    rng = np.random.default_rng(seed)
    follows = rng.integers(0, vocabulary, (vocabulary, 4))
    found = np.zeros((count, length), "int64")
    found[:, 0] = rng.integers(0, vocabulary, count)
    for i in range(1, length):
        found[:, i] = follows[found[:, i - 1], rng.integers(0, 4, count)]
    return found
