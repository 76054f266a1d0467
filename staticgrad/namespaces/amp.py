"""`sg.amp`: mixed precision on the CPU as in PyTorch: products in a dtype of 16 bits, and scaled losses."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from ..base.dtypes import HALF, as_dtype, bfloat16, float16
from ..eager import Tensor, no_grad
from ..errors import ArgumentError, GradientError
from ..ops.operators import F, dispatch, frontends, is_tensor, state, to_precision

Function = TypeVar("Function", bound=Callable[..., Any])


class autocast:
    """A context, or a decorator, in which products compute in bfloat16 or float16 and losses in float32.

    device_type: "cpu"; with a GPU's it warns, as PyTorch does where there is no GPU, and changes nothing. dtype: bfloat16
    unless given; with another one than float16 and bfloat16 it warns and changes nothing. PyTorch's lists say which functions
    cast their operands (`ops/operators/conversions.py`); gradients have the operands' dtypes. enabled=False: inside a context
    that is on, all functions compute in the operands' dtypes.

    Examples:
        >>> with sg.autocast("cpu"):
        ...     y = sg.ones(2, 3) @ sg.ones(3, 2)
        >>> y.dtype, (y + sg.ones(2, 2)).dtype
        (torch.bfloat16, torch.float32)
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None):
        self.device, self.dtype = device_type, bfloat16 if dtype is None else dtype
        if enabled and device_type != "cpu":
            warnings.warn(
                f"User provided device_type of {device_type!r}, but {device_type.upper()} is not available. Disabling",
                stacklevel=2,
            )
        elif enabled and as_dtype(self.dtype) not in HALF:
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtype of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self.enabled = enabled and device_type == "cpu"
        self._around: list[tuple[Any, Any]] = []
        """Of each open block: what was chosen around it, and what turns off the short paths of operations."""

    def __enter__(self) -> autocast:
        token = _Chosen()
        dispatch.begin(token)
        self._around.append((state.autocast, token))
        if self.device == "cpu":
            state.autocast = as_dtype(self.dtype) if self.enabled else None
        return self

    def __exit__(self, *error: Any) -> None:
        state.autocast, token = self._around.pop()
        dispatch.end(token)

    def __call__(self, function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            with self:
                return function(*args, **named)

        return call  # type: ignore[return-value]


class _Chosen:
    """What counts as the interceptor of one open block."""


def _not_finite(gradients: Iterable[Any]) -> Any:
    """Whether any element of any gradient is infinite or NaN, as a tensor."""
    found = [F.any(F.logical_not(F.isfinite(g))) for g in gradients]
    return F.any(F.stack(found))


def _check_run(name: str) -> None:
    """A whole trace would note the state of a scaler instead of changing it: the function runs in segments."""
    if frontends.tracing and state.tracer is not None:
        state.tracer.refuse(
            f"GradScaler.{name}: whether the optimizer steps depends on values of gradients",
            'compile the function with on_break="split", or call it outside of the compiled function',
        )


class GradScaler:
    """Scales a loss, so that small gradients don't vanish, and skips the steps whose gradients are infinite or NaN.

    The scale grows by `growth_factor` after `growth_interval` steps without such gradients, and shrinks by `backoff_factor`
    after one with them. With another device than the CPU it warns, as PyTorch does where there is none, and scales nothing.
    A compiled function that steps with it runs in segments.

    Examples:
        >>> scaler = sg.amp.GradScaler("cpu", init_scale=4.0)
        >>> scaler.scale(sg.tensor(3.0))
        tensor(12.)
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ):  # fmt: skip
        if enabled and device != "cpu":
            warnings.warn(
                f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not available.  Disabling.", stacklevel=2
            )
        self._enabled = enabled and device == "cpu"
        if self._enabled and (growth_factor <= 1.0 or backoff_factor >= 1.0):
            wrong = "growth factor must be > 1.0" if growth_factor <= 1.0 else "backoff factor must be < 1.0"
            raise ArgumentError(f"The {wrong}.")
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._scale, self._growth_tracker = Tensor(np.float32(init_scale)), Tensor(np.int32(0))
        self._unscaled: dict[int, Any] = {}
        """Since the last update: whether the unscaled gradients of an optimizer, by its id, are not finite."""
        self._stepped: set[int] = set()
        """Optimizers that were stepped since the last update."""

    def is_enabled(self) -> bool:
        """Whether it scales anything."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A tensor, or lists and tuples of them, times the scale."""
        if not self._enabled:
            return outputs
        if is_tensor(outputs):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            parts = [self.scale(part) for part in outputs]
            return type(outputs)(*parts) if hasattr(outputs, "_fields") else type(outputs)(parts)
        raise ArgumentError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, once between updates, as before they are clipped."""
        if not self._enabled:
            return
        _check_run("unscale_")
        if id(optimizer) in self._stepped:
            raise GradientError("unscale_() is being called after step().")
        if id(optimizer) in self._unscaled:
            raise GradientError("unscale_() has already been called on this optimizer since the last update().")
        with no_grad():
            gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
            if any(g.dtype == float16 for g in gradients):
                raise ArgumentError("Attempting to unscale FP16 gradients.", "keep the weights in float32 and use sg.autocast")
            if not gradients:
                raise GradientError("No inf checks were recorded for this optimizer.", "call backward() before")
            self._unscaled[id(optimizer)] = _not_finite(gradients)
            for g in gradients:
                g.mul_(1.0 / self._scale)

    def step(self, optimizer: Any, *args: Any, **named: Any) -> Any:
        """A step of the optimizer, unless a gradient is infinite or NaN. The gradients are unscaled first unless they are."""
        if not self._enabled:
            return optimizer.step(*args, **named)
        _check_run("step")
        if "closure" in named:
            raise ArgumentError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) in self._stepped:
            raise GradientError("step() has already been called since the last update().")
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return None if bool(self._unscaled[id(optimizer)]) else optimizer.step(*args, **named)

    def update(self, new_scale: Any = None) -> None:
        """Change the scale by what the steps since the last update found, or to `new_scale`."""
        if not self._enabled:
            return
        _check_run("update")
        with no_grad():
            if new_scale is not None:
                self._scale.copy_(new_scale) if is_tensor(new_scale) else self._scale.fill_(new_scale)
            elif not self._unscaled:
                raise GradientError("No inf checks were recorded prior to update.")
            else:
                found = F.any(F.stack([*self._unscaled.values()]))
                grows = F.eq(self._growth_tracker + 1, self._growth_interval)
                larger = self._scale * self._growth_factor
                larger = F.where(F.logical_and(grows, F.isfinite(larger)), larger, self._scale)
                self._scale.copy_(F.where(found, self._scale * self._backoff_factor, larger))
                self._growth_tracker.copy_(F.where(F.logical_or(found, grows), 0, self._growth_tracker + 1))
        self._unscaled.clear()
        self._stepped.clear()

    def get_scale(self) -> float:
        """The scale; 1 where it is disabled."""
        return self._scale.item() if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """The number of steps without infinite gradients after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of steps after which the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The scale, its settings and the number of steps since it changed; empty where it is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker.item(),
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state. Raises ArgumentError for that of a disabled scaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise ArgumentError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        with no_grad():
            self._scale.fill_(state_dict["scale"])
            self._growth_tracker.fill_(state_dict["_growth_tracker"])


def is_autocast_available(device_type: str) -> bool:
    """Whether it is the CPU."""
    return device_type == "cpu"


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """A decorator of the forward method of a Function. cast_inputs: inside `autocast`, floating operands are cast to this
    dtype, and nothing else is.

    Examples:
        >>> sg.amp.custom_fwd(sg.sin, device_type="cpu") is sg.sin
        True
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    if cast_inputs is None:
        return fwd

    @functools.wraps(fwd)
    def forward(*args: Any, **named: Any) -> Any:
        if state.autocast is None or device_type != "cpu":
            return fwd(*args, **named)
        with autocast("cpu", enabled=False):
            words = {name: to_precision(cast_inputs, a) for name, a in named.items()}
            return fwd(*[to_precision(cast_inputs, a) for a in args], **words)

    return forward


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """The same of the backward method: the method itself, for gradients have the dtypes of what they belong to.

    Examples:
        >>> sg.amp.custom_bwd(sg.sin, device_type="cpu") is sg.sin
        True
    """
    return (lambda function: function) if bwd is None else bwd


__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
