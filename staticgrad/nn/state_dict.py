"""Saving and loading named tensors."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..base.types import shape_text
from ..eager import Tensor, no_grad
from ..eager.inplace import replace, tracer
from ..errors import StaticgradError
from ..operators import Symbol, as_array


class StateDictError(StaticgradError, RuntimeError):
    """A state dict does not fit the module; nothing was loaded.

    broken:  nn.Linear(4, 2).load_state_dict(nn.Linear(4, 3).state_dict())
    fixed:   nn.Linear(4, 3).load_state_dict(nn.Linear(4, 3).state_dict())
    """


class IncompatibleKeys(NamedTuple):
    """Names that one side has and the other lacks."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def new_state_dict() -> dict[str, Any]:
    """An empty state dict with `_metadata`, the versions of the modules by their paths."""
    made: Any = OrderedDict()
    made._metadata = OrderedDict()
    found: dict[str, Any] = made
    return found


def snapshot(places: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies, without the tape."""
    trace = tracer()
    if trace is not None:
        return {name: trace.copied(tensor, None, False) for name, tensor in places.items()}
    return {name: tensor if hasattr(tensor, "materialize") else Tensor(tensor._data.copy()) for name, tensor in places.items()}


def detached(places: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors without the tape, in the memory of the given ones: whoever writes one changes the other, as in PyTorch."""
    return {name: tensor if hasattr(tensor, "materialize") else tensor.detach() for name, tensor in places.items()}


def _overlaps(places: list[np.ndarray]) -> Callable[[np.ndarray], bool]:
    """Whether an array may have memory that is written."""
    spans = sorted(byte_bounds(place) for place in places)
    begins, ends = [begin for begin, _ in spans], [*accumulate((end for _, end in spans), max)]

    def overlaps(array: np.ndarray) -> bool:
        low, high = byte_bounds(array)
        before = bisect_left(begins, high)
        return before > 0 and ends[before - 1] > low

    return overlaps


class Loading(dict[str, Any]):
    """A state dict while a module and all below it take over its values, which are written once all of them fit."""

    def __init__(self, values: Mapping[str, Any], assign: bool = False):
        super().__init__(values)
        self.assign = assign
        """Whether tensors become members, which `assigned` lists: modules, names and tensors."""
        self.assigned: list[tuple[Any, str, Any]] = []
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []
        self.found: list[tuple[Tensor, Any]] = []
        self.extra: list[tuple[Any, Any]] = []
        """Modules, and the value for `set_extra_state`."""

    def write(self, owner: str, strict: bool) -> IncompatibleKeys:
        """Raises StateDictError before anything is written."""
        problems = []
        if strict and self.missing:
            problems.append("Missing key(s) in state_dict: " + ", ".join(f'"{k}"' for k in self.missing) + ".")
        if strict and self.unexpected:
            problems.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{k}"' for k in self.unexpected) + ".")
        if problems or self.errors:
            raise StateDictError(f"Error(s) in loading state_dict for {owner}:", *problems, *self.errors)
        write(self.found)
        for module, name, value in self.assigned:
            module._assign(name, value)
        for module, value in self.extra:
            module.set_extra_state(value)
        return IncompatibleKeys(self.missing, self.unexpected)


def fitting(values: Mapping[str, Any], places: Mapping[str, Tensor], errors: list[str]) -> list[tuple[Tensor, Any]]:
    """Tensors with the values of the same names. Adds to `errors` what doesn't fit."""
    found, trace = list[tuple[Tensor, Any]](), tracer()
    for name, tensor in places.items():
        if name in values:
            value = values[name]
            if trace is not None:
                array: Any = value if isinstance(value, (Tensor, Symbol)) else trace.array(as_array(np.asarray(value)))
            else:
                array = value._data if isinstance(value, Tensor) else as_array(np.asarray(value))
            found.append((tensor, array))
            if array.shape != tensor.shape:
                errors.append(
                    f"size mismatch for {name}: copying a param with shape {shape_text(array.shape)} from checkpoint, "
                    f"the shape in current model is {shape_text(tensor.shape)}."
                )
    return found


def write(found: list[tuple[Tensor, Any]]) -> None:
    """Write values into the memory of tensors."""
    trace = tracer()
    if trace is not None:
        casts = [trace.copied(value, place.dtype, False) for place, value in found]
    else:
        overlaps = _overlaps([place._data for place, _ in found])
        casts = [Tensor(array.astype(place.dtype, copy=overlaps(array))) for place, array in found]
    with no_grad():
        for (place, _), value in zip(found, casts, strict=True):
            replace(place, value, "load_state_dict")
