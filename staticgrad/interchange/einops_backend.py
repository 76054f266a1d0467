"""This library's tensors of all modes in `einops`: `einops.rearrange(x, "b c h w -> b (c h w)")`.

`einops` finds a library by the subclasses of its `AbstractBackend`, so `register` has to be called once both are imported, in
either order (`protocols.after_import`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

REDUCTIONS = {"min": "amin", "max": "amax", "sum": "sum", "mean": "mean", "any": "any", "all": "all"}


KEPT: list[type] = []
"""The backend's class: `einops` finds subclasses, which does not keep them alive."""


def register() -> None:
    """Enter the backend. `einops` is imported already."""
    from einops._backends import AbstractBackend, UnknownSize

    import staticgrad as sg
    from staticgrad.ops.operators import F, Symbol

    class StaticgradBackend(AbstractBackend):
        framework_name = "staticgrad"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return sg.is_tensor(tensor)

        def from_numpy(self, x: Any) -> Any:
            return sg.from_numpy(x)

        def to_numpy(self, x: Any) -> Any:
            return x.detach().numpy()

        def create_symbol(self, shape: Any) -> Any:
            return sg.placeholder(sg.float32, shape)

        def arange(self, start: int, stop: int) -> Any:
            return sg.arange(start, stop)

        def shape(self, x: Any) -> Any:
            if not isinstance(x, Symbol):
                return x.shape
            # a list, which is no key of `einops`'s cache, so that extents may be symbols in a trace
            return [UnknownSize() if extent is None else extent for extent in x.shape]

        def reshape(self, x: Any, shape: Any) -> Any:
            return F.reshape(x, tuple(-1 if isinstance(extent, UnknownSize) else extent for extent in shape))

        def transpose(self, x: Any, axes: Sequence[int]) -> Any:
            return F.permute(x, tuple(axes))

        def reduce(self, x: Any, operation: str, axes: Sequence[int]) -> Any:
            if operation == "prod":
                return reduce(lambda y, axis: F.prod(y, axis), sorted(axes, reverse=True), x)
            return getattr(F, REDUCTIONS[operation])(x, tuple(axes))

        def stack_on_zeroth_dimension(self, tensors: Sequence[Any]) -> Any:
            return F.stack(list(tensors))

        def add_axis(self, x: Any, new_position: int) -> Any:
            return F.expand_dims(x, new_position)

        def tile(self, x: Any, repeats: Sequence[int]) -> Any:
            return F.tile(x, tuple(repeats))

        def concat(self, tensors: Sequence[Any], axis: int) -> Any:
            return F.concatenate(list(tensors), axis)

        def is_float_type(self, x: Any) -> bool:
            return bool(x.dtype.kind in "fc")

        def einsum(self, pattern: str, *xs: Any) -> Any:
            return F.einsum(pattern, *xs)

    KEPT.append(StaticgradBackend)
