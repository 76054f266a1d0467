"""Transformers: stacks of encoder and decoder layers."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .. import functional
from ..eager import Tensor
from ..errors import ArgumentError, ShapeError
from ..operators import Tensor as AnyTensor
from . import init
from .attention_layers import ACTIVATIONS, MultiheadAttention, TransformerEncoderLayer
from .containers import ModuleList
from .layers import Dropout, LayerNorm, Linear, made_kind
from .module import Module


def _get_clones(module: Module, N: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _get_activation_fn(activation: str) -> Any:
    """The function of a name. Raises ArgumentError."""
    if activation not in ACTIVATIONS:
        raise ArgumentError(f"activation should be relu/gelu, not {activation}")
    return ACTIVATIONS[activation]


class TransformerEncoder(Module):
    """`num_layers` copies of a layer, one after another, and a norm at the end where one is given.

    enable_nested_tensor and mask_check are accepted: they choose between implementations of PyTorch's.
    """

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ):  # fmt: skip
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None) -> AnyTensor:
        """Shapes and masks as for `TransformerEncoderLayer`."""
        x = src
        for layer in self.layers:
            x = layer(x, mask, src_key_padding_mask, bool(is_causal) and mask is not None)
        result: AnyTensor = x if self.norm is None else self.norm(x)
        return result


class TransformerDecoderLayer(Module):
    """Self-attention, attention to `memory` and a two-layer network, each with dropout, a sum with its input, and layer_norm.

    The norm comes after the sum, with norm_first before the sublayer. activation: "relu", "gelu" or a function. Raises
    ArgumentError. Source: Vaswani et al., "Attention is all you need", 2017.
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = functional.relu,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__()
        made = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **made)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **made)
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = bool(norm_first)
        self.norm1, self.norm2, self.norm3 = (LayerNorm(d_model, layer_norm_eps, **made) for _ in range(3))
        self.dropout1, self.dropout2, self.dropout3 = (Dropout(dropout) for _ in range(3))
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> AnyTensor:  # fmt: skip
        """Shapes and masks as for `MultiheadAttention`: tgt (l, n, d_model), memory (s, n, d_model), or batch first."""

        def own(x: Any) -> Any:
            return self.dropout1(self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0])

        def other(x: Any) -> Any:
            found = self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal
            )
            return self.dropout2(found[0])

        def fed(x: Any) -> Any:
            return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))

        if self.norm_first:
            x = tgt + own(self.norm1(tgt))
            x = x + other(self.norm2(x))
            result: AnyTensor = x + fed(self.norm3(x))
            return result
        x = self.norm1(tgt + own(tgt))
        x = self.norm2(x + other(x))
        return self.norm3(x + fed(x))


class TransformerDecoder(Module):
    """`num_layers` copies of a layer, one after another, and a norm at the end where one is given."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None):
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> AnyTensor:  # fmt: skip
        """Shapes and masks as for `TransformerDecoderLayer`."""
        x, causal = tgt, bool(tgt_is_causal) and tgt_mask is not None
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, causal, memory_is_causal)
        result: AnyTensor = x if self.norm is None else self.norm(x)
        return result


class Transformer(Module):
    """An encoder of `src` and a decoder of `tgt` that attends to it, each with a norm at the end; matrices start
    xavier_uniform_. custom_encoder, custom_decoder: modules in their place. Raises ArgumentError, ShapeError.
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = functional.relu, custom_encoder: Any = None,
        custom_decoder: Any = None, layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__()
        settings = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*settings), num_encoder_layers, norm())
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*settings), num_decoder_layers, norm())
        for p in self.parameters():
            if len(p.shape) > 1:
                init.xavier_uniform_(p)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, bool(batch_first)

    def forward(
        self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
        src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> AnyTensor:  # fmt: skip
        """Shapes: src (s, n, d_model), tgt (l, n, d_model), or batch first -> like tgt. Masks as for the layers."""
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ShapeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """(sz, sz) of 0 where a position may look, up to itself, and -inf elsewhere."""
        return Tensor(np.triu(np.full((sz, sz), -np.inf, made_kind(device, dtype)), 1))
