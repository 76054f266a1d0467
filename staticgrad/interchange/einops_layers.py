"""The layers of `einops` as modules of `sg.nn`: `from einops.layers.staticgrad import Rearrange`."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from einops.layers import RearrangeMixin, ReduceMixin
from einops.layers._einmix import _EinmixMixin

from ..eager import rand
from ..nn import Module, Parameter
from ..ops.operators import F, Tensor

__all__ = ["EinMix", "Rearrange", "Reduce"]

NAME = "einops.layers.staticgrad"


class Rearrange(RearrangeMixin, Module):
    """`einops.rearrange` with a pattern, as a layer."""

    def forward(self, input: Tensor) -> Tensor:
        apply: Any = self._apply_recipe
        return apply(input)


class Reduce(ReduceMixin, Module):
    """`einops.reduce` with a pattern and a reduction, as a layer."""

    def forward(self, input: Tensor) -> Tensor:
        apply: Any = self._apply_recipe
        return apply(input)


class EinMix(_EinmixMixin, Module):
    """`einops`' linear layer: an `einsum` with weights, between two rearrangements."""

    pre_rearrange: Any
    post_rearrange: Any

    def _create_parameters(self, weight_shape: Any, weight_bound: float, bias_shape: Any, bias_bound: float) -> None:
        self.weight = Parameter((rand(*weight_shape) * 2 - 1) * weight_bound)
        self.bias = None if bias_shape is None else Parameter((rand(*bias_shape) * 2 - 1) * bias_bound)

    def _create_rearrange_layers(self, pre: Any, pre_lengths: Any, post: Any, post_lengths: Any) -> None:
        self.pre_rearrange = None if pre is None else Rearrange(pre, **pre_lengths)
        self.post_rearrange = None if post is None else Rearrange(post, **post_lengths)

    def forward(self, input: Tensor) -> Tensor:
        x = input if self.pre_rearrange is None else self.pre_rearrange(input)
        x = F.einsum(self.einsum_pattern, x, self.weight)
        x = x if self.bias is None else x + self.bias
        return x if self.post_rearrange is None else self.post_rearrange(x)


def register() -> None:
    """Let `einops.layers.staticgrad` be this module."""
    sys.modules[NAME] = sys.modules[__name__]
    importlib.import_module("einops.layers").staticgrad = sys.modules[__name__]  # type: ignore[attr-defined]
