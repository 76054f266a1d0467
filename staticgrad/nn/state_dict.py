"""Saving and loading named tensors."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping
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


def load(
    owner: str, places: Mapping[str, Tensor], values: Mapping[str, Any], strict: bool, others: Collection[str] = ()
) -> IncompatibleKeys:  # fmt: skip
    """Write `values` into the tensors of the same names, in their memory. others: names that are looked for and not written.

    Raises StateDictError before it writes.
    """
    if not isinstance(values, Mapping):
        raise StateDictError(f"Expected state_dict to be dict-like, got {type(values).__name__}.")
    missing = [name for name in (*places, *others) if name not in values]
    unexpected = [name for name in values if name not in places and name not in others]
    problems = []
    if strict and unexpected:
        problems.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{k}"' for k in unexpected) + ".")
    if strict and missing:
        problems.append("Missing key(s) in state_dict: " + ", ".join(f'"{k}"' for k in missing) + ".")
    trace = tracer()
    arrays: dict[str, Any] = {}
    for name, tensor in places.items():
        if name in values:
            value = values[name]
            if trace is not None:
                array: Any = value if isinstance(value, (Tensor, Symbol)) else trace.array(as_array(np.asarray(value)))
            else:
                array = value._data if isinstance(value, Tensor) else as_array(np.asarray(value))
            arrays[name] = array
            if array.shape != tensor.shape:
                problems.append(
                    f"size mismatch for {name}: copying a param with shape {shape_text(array.shape)} from checkpoint, "
                    f"the shape in current model is {shape_text(tensor.shape)}."
                )
    if problems:
        raise StateDictError(f"Error(s) in loading state_dict for {owner}:", *problems)
    if trace is not None:
        casts = {name: trace.copied(value, places[name].dtype, False) for name, value in arrays.items()}
    else:
        overlaps = _overlaps([places[name]._data for name in arrays])
        casts = {name: Tensor(array.astype(places[name].dtype, copy=overlaps(array))) for name, array in arrays.items()}
    with no_grad():
        for name, value in casts.items():
            replace(places[name], value, "load_state_dict")
    return IncompatibleKeys(missing, unexpected)
