"""`sg.random`: the generator that all modes share, under PyTorch's names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..eager import Tensor, generator, manual_seed
from ..errors import ArgumentError


def seed() -> int:
    """Restart the generator with a random seed, and return that."""
    return generator.seed()


def initial_seed() -> int:
    """The seed that the generator was started with."""
    return generator.initial_seed()


def get_rng_state() -> Tensor:
    """The generator's state: an int64 tensor of the seed and the number of draws."""
    return Tensor(np.array(generator.state, np.int64))


def set_rng_state(new_state: Any) -> None:
    """Take up a state of `get_rng_state`. Raises ArgumentError for anything else."""
    values = np.asarray(new_state)
    if values.shape != (2,) or values.dtype.kind not in "iu":
        raise ArgumentError(f"set_rng_state: a state is two integers, got {new_state!r}", "use get_rng_state()")
    generator.state = int(values[0]), int(values[1])


@contextmanager
def fork_rng(
    devices: Any = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices", device_type: str = "cpu"
) -> Iterator[None]:
    """Inside it, draws don't change the generator: its state is put back at the end.

    Examples:
        >>> before = sg.get_rng_state()
        >>> with sg.random.fork_rng():
        ...     _ = sg.rand(3)
        >>> bool((sg.get_rng_state() == before).all())
        True
    """
    state = generator.state
    try:
        yield
    finally:
        if enabled:
            generator.state = state


__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]
