"""Attention whose scores a function changes, and masks made by functions, under PyTorch's names.

The functions get numbers of the batch item, head, query and key as tensors that broadcast, and are called once for all scores:
elementwise operations and reads of tables by these numbers (`table[head]`) work as they do in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...eager.creation import tensor
from ...errors import ArgumentError, ShapeError
from ...namespaces.functional.attention import default_scale
from ...ops.operands import operand, size_text
from ...ops.operators import F, Tensor, TensorLike

__all__ = [
    "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

Mod = Callable[..., Any]
_DEFAULT_SPARSE_BLOCK_SIZE = 128


class BlockMask(NamedTuple):
    """Which queries look at which keys. mask: (batch, heads, queries, keys) of booleans, with extents of 1 where it does not
    depend on an item or a head."""

    mask: Tensor
    mask_mod: Mod

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch, heads, and the extents of queries and keys."""
        return tuple(self.mask.shape)

    def to_dense(self) -> Tensor:
        """The mask as numbers, 1 where a query looks."""
        return F.astype(self.mask, np.int32)


def _numbers(batch: int, heads: int, queries: int, keys: int) -> list[Any]:
    """Those of items, heads, queries and keys, each along its own of four axes."""
    extents = batch, heads, queries, keys
    return [tensor(np.arange(n).reshape([n if a == axis else 1 for a in range(4)])) for axis, n in enumerate(extents)]


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """True: every query looks at every key."""
    return tensor(True)


def and_masks(*mask_mods: Mod) -> Mod:
    """The function of a mask where all of these are True."""

    def mod(*numbers: Any) -> Any:
        found: Any = noop_mask(*numbers)
        for mask in mask_mods:
            found = found & mask(*numbers)
        return found

    return mod


def or_masks(*mask_mods: Mod) -> Mod:
    """The function of a mask where one of these is True."""

    def mod(*numbers: Any) -> Any:
        found: Any = ~noop_mask(*numbers)
        for mask in mask_mods:
            found = found | mask(*numbers)
        return found

    return mod


def create_mask(mod_fn: Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = "cpu") -> Tensor:
    """The mask (B, H, Q_LEN, KV_LEN) of a function of four numbers, an extent of 1 for None.

    Examples:
        >>> causal = lambda batch, head, query, key: query >= key
        >>> sg.nn.attention.flex_attention.create_mask(causal, None, None, 2, 2)
        tensor([[[[ True, False],
                  [ True,  True]]]])
    """
    extents = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    return F.clone(F.broadcast_to(mod_fn(*_numbers(*extents)), extents))


def create_block_mask(
    mask_mod: Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = "cpu", BLOCK_SIZE: Any = 128,
    _compile: bool = False, separate_full_blocks: bool = True, compute_dq_write_order: bool = False, dq_kv_order: bool = True,
) -> BlockMask:  # fmt: skip
    """`create_mask` as an argument of `flex_attention`. There are no blocks that are left out: BLOCK_SIZE and what comes after
    it change nothing."""
    return BlockMask(create_mask(mask_mod, B, H, Q_LEN, KV_LEN), mask_mod)


def flex_attention(
    query: TensorLike, key: TensorLike, value: TensorLike, score_mod: Mod | None = None, block_mask: BlockMask | None = None,
    scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False, kernel_options: Any = None,
) -> Any:  # fmt: skip
    """softmax(score_mod(query key' * scale)) value, of queries (b, h, l, e), keys (b, h, s, e), values (b, h, s, v).

    score_mod(score, batch, head, query, key): the changed score. enable_gqa: there are fewer heads of keys, each for as many
    of queries. return_lse: the logarithms of the sums of exponentials too. Raises ShapeError, ArgumentError.
    """
    q, k, v = operand(query), operand(key), operand(value)
    if not len(q.shape) == len(k.shape) == len(v.shape) == 4:
        raise ShapeError(
            "Expected query, key, and value to be 4D tensors",
            f"flex_attention: got {size_text(q.shape)}, {size_text(k.shape)} and {size_text(v.shape)}",
        )
    if q.shape[1] != k.shape[1]:
        if not enable_gqa or q.shape[1] % k.shape[1]:
            raise ArgumentError(
                "Expect query and key/value to have the same number of heads, or a multiple with enable_gqa=True",
                f"got {q.shape[1]} and {k.shape[1]}",
            )
        k, v = (F.repeat_interleave(x, q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = F.matmul(q, F.swapaxes(k, -1, -2)) * (default_scale("flex_attention", q) if scale is None else scale)
    if score_mod is not None:
        scores = score_mod(scores, *_numbers(*scores.shape))
    if block_mask is not None:
        scores = F.where(block_mask.mask, scores, -math.inf)
    top = F.amax(scores, -1, keepdims=True)
    weights = F.exp(scores - F.where(top == -math.inf, 0.0, top))
    total = F.sum(weights, -1, keepdims=True)
    out = F.matmul(weights / F.where(total == 0, 1.0, total), v)
    return (out, F.squeeze(F.log(total) + top, -1)) if return_lse else out
