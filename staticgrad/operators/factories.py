"""The options that PyTorch's factories of tensors share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container, Mapping
from typing import Any, TypedDict, TypeVar

from ..base.devices import check_device
from ..base.types import DTypeLike
from ..errors import ArgumentError
from .dispatch import frontends
from .memory import in_format, order_of
from .overrides import NOBODY, ORDINARY, taken

Factory = TypeVar("Factory", bound=Callable[..., Any])


class Placement(TypedDict, total=False):
    """Where PyTorch lets a factory of tensors place its result. Checked; on the CPU they change nothing."""

    device: Any
    layout: Any
    out: Any
    pin_memory: bool


class LikePlacement(TypedDict, total=False):
    """The same of a factory that takes its shape from another tensor."""

    device: Any
    layout: Any
    memory_format: Any


class Kind(TypedDict, total=False):
    """What else a factory takes by keyword."""

    dtype: DTypeLike | None
    requires_grad: bool


class Options(Kind, Placement, total=False):
    """The keyword arguments of a factory that takes no more than extents or numbers by position."""


DEFAULTS = {"pin_memory": False, "requires_grad": False}
"""Of options that are not None by default."""


def factory(record: type) -> Callable[[Factory], Factory]:
    """Let a function whose last parameter is `**options: Unpack[record]` check its options and list them in its signature.

    `out=` is no business of the function: its result is written there, in the dtype of that tensor unless one is given.
    """
    kinds = {name: getattr(kind, "__forward_arg__", kind) for name, kind in record.__annotations__.items()}

    def described(function: Factory) -> Factory:
        signature = inspect.signature(function)
        own = list(signature.parameters.values())[:-1]
        named = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS.get(name), annotation=kind)
            for name, kind in kinds.items()
        ]
        known = {parameter.name for parameter in (*own, *named)}

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            if args and args[0].__class__ not in ORDINARY and (answer := taken(call, args, options)) is not NOBODY:
                return answer
            if options:
                check_options(call.__name__, options, known)
                out = options.pop("out", None)
                if out is not None:
                    if options.get("dtype") is None and "dtype" in known:
                        options["dtype"] = getattr(out, "dtype", None)
                    return frontends.into(out, call.__name__.rstrip("_"), function, args, options, warns=False)
                if options.get("memory_format") is not None:
                    return _laid_out(function(*args, **options), options["memory_format"])
            return function(*args, **options)

        call.__signature__ = signature.replace(parameters=[*own, *named])  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return described


def _laid_out(made: Any, memory_format: Any) -> Any:
    """A new tensor whose elements lie in the order of a format."""
    if order_of(made, memory_format) is None or made.is_contiguous(memory_format):
        return made
    eager = isinstance(made, frontends.tensor_class)
    return (
        in_format(made.detach(), memory_format).requires_grad_(made.requires_grad) if eager else in_format(made, memory_format)
    )


def check_options(function: str, options: Mapping[str, Any], known: Container[str]) -> None:
    """Raises TypeError for an unknown option, and DeviceError or ArgumentError for one that only other devices or layouts would
    make sense of."""
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        if value is None:
            continue
        if name == "device":
            check_device(value)
        elif name == "layout" and str(value) not in ("strided", "torch.strided"):
            raise ArgumentError(f"{function}: layout has to be strided, got {value!r}")
