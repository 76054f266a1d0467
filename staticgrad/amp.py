"""`sg.amp`: mixed precision as PyTorch spells it. There is one precision here, so it can only be switched off."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from .errors import ArgumentError
from .types import as_dtype, get_default_dtype

Function = TypeVar("Function", bound=Callable[..., Any])


class autocast:
    """A context, or a decorator, that changes nothing.

    With a GPU's `device_type` it warns, as PyTorch does where there is no GPU. Raises ArgumentError for
    `autocast("cpu")`, whose results would be of 16 bits in PyTorch: pass `enabled=False`.
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None):
        self.device, self.dtype = device_type, dtype
        if enabled and device_type == "cpu" and (dtype is None or as_dtype(dtype) != get_default_dtype()):
            raise ArgumentError(
                "autocast: there is one precision on the CPU", "leave it out, or pass enabled=False to compute in float32"
            )
        if enabled and device_type != "cpu":
            warnings.warn(
                f"User provided device_type of {device_type!r}, but {device_type.upper()} is not available. Disabling",
                stacklevel=2,
            )
        self.enabled = False

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __call__(self, function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            return function(*args, **named)

        return call  # type: ignore[return-value]


class GradScaler:
    """Scales nothing: losses of 32 bits have no need of it. It warns where it was to be enabled, as PyTorch does."""

    def __init__(
        self, device: str = "cuda", init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ):  # fmt: skip
        if enabled:
            warnings.warn(
                f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not available.  Disabling.", stacklevel=2
            )

    def is_enabled(self) -> bool:
        """False."""
        return False

    def scale(self, outputs: Any) -> Any:
        """The same."""
        return outputs

    def unscale_(self, optimizer: Any) -> None:
        """Nothing: gradients are not scaled."""

    def step(self, optimizer: Any, *args: Any, **named: Any) -> Any:
        """A step of the optimizer."""
        return optimizer.step(*args, **named)

    def update(self, new_scale: float | None = None) -> None:
        """Nothing."""

    def get_scale(self) -> float:
        """1."""
        return 1.0

    def state_dict(self) -> dict[str, Any]:
        """Empty."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing."""


def is_autocast_available(device_type: str) -> bool:
    """False."""
    return False


__all__ = ["GradScaler", "autocast", "is_autocast_available"]
