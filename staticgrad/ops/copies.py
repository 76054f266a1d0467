"""PyTorch's functions `*_copy`: what a view has, in memory of its own."""

from __future__ import annotations

from typing import Any

from ..base.types import normalize_axis
from ..operators import F, Tensor, enter_as, frontends, torch_function
from .operands import ndim_of


@torch_function(method=False)
def slice_copy(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """input[start:end:step] along `dim`, in memory of its own."""
    axis = normalize_axis(dim, ndim_of(input))
    return F.clone(F.getitem(input, (*((slice(None),) * axis), slice(start, end, step))))


for _name, _source in (
    ("expand_copy", "expand"), ("permute_copy", "permute"), ("squeeze_copy", "squeeze"), ("transpose_copy", "transpose"),
    ("unsqueeze_copy", "unsqueeze"), ("unfold_copy", "unfold"), ("t_copy", "t"), ("alias_copy", "clone"),
    ("select_copy", "select"), ("detach_copy", "stop_gradient"), ("diagonal_copy", "diagonal"),
    ("as_strided_copy", "as_strided"),
):  # fmt: skip

    def _copy(input: Any, *args: Any, _source: str = _source, out: Tensor | None = None, **named: Any) -> Tensor:
        """As the function without `_copy`, in memory of its own."""
        if out is not None:
            return frontends.into(out, f"{_source}_copy", getattr(F, _source), (input, *args), named)  # type: ignore[no-any-return]
        return F.clone(getattr(F, _source)(input, *args, **named))

    _copy.__name__ = _copy.__qualname__ = _name
    enter_as(_name, _copy, method=False)


for _name in ("split", "split_with_sizes", "unbind"):

    def _copies(input: Any, *args: Any, _source: str = _name, **named: Any) -> tuple[Any, ...]:
        """As the function without `_copy`, in memory of its own."""
        return tuple(F.clone(part) for part in getattr(F, _source)(input, *args, **named))

    _copies.__name__ = _copies.__qualname__ = f"{_name}_copy"
    enter_as(f"{_name}_copy", _copies, method=False)


@torch_function()
def narrow_copy(input: Any, dim: int, start: Any, length: int) -> Tensor:
    """`length` elements along `dim` from `start` on, in memory of its own."""
    return F.clone(F.narrow(input, dim, start, length))


@torch_function(method=False)
def view_copy(input: Any, size: Any = None, *, dtype: Any = None) -> Tensor:
    """`input` in another shape, in memory of its own."""
    return F.clone(F.reshape(input, size))
