"""Rows of the op-case table for convolution and pooling, against sums written as loops."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from staticgrad import functional as F
from tests.helpers import real


def convolved(
    x: np.ndarray, w: np.ndarray, stride: Any = (1, 1), padding: Any = (0, 0), dilation: Any = (1, 1), groups: int = 1
) -> np.ndarray:
    """Cross-correlation of (n, c, h, w), one tap at a time."""
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    extents = [(d - a * (k - 1) - 1) // s + 1 for d, k, s, a in zip(x.shape[2:], w.shape[2:], stride, dilation, strict=True)]
    out = np.zeros((len(x), len(w), *extents), x.dtype)
    share, held = len(w) // groups, w.shape[1]
    for o, i, j in itertools.product(range(len(w)), range(extents[0]), range(extents[1])):
        first = o // share * held
        for a, b in itertools.product(range(w.shape[2]), range(w.shape[3])):
            part = x[:, first : first + held, i * stride[0] + a * dilation[0], j * stride[1] + b * dilation[1]]
            out[:, o, i, j] += part @ w[o, :, a, b]
    return out


def transposed(x: np.ndarray, w: np.ndarray, stride: int, padding: int, extra: int, groups: int) -> np.ndarray:
    """Each element of x adds the kernel, times itself, to the result."""
    extents = [(d - 1) * stride + k + extra for d, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    out = np.zeros((len(x), w.shape[1] * groups, *extents), x.dtype)
    share, held = x.shape[1] // groups, w.shape[1]
    for c, i, j in itertools.product(range(x.shape[1]), range(x.shape[2]), range(x.shape[3])):
        first = c // share * held
        for a, b in itertools.product(range(w.shape[2]), range(w.shape[3])):
            out[:, first : first + held, i * stride + a, j * stride + b] += np.outer(x[:, c, i, j], w[c, :, a, b])
    return out[:, :, padding : extents[0] - padding, padding : extents[1] - padding]


def dilated(w: np.ndarray, step: int) -> np.ndarray:
    """A kernel with zeros between its weights."""
    out = np.zeros((*w.shape[:2], *[step * (k - 1) + 1 for k in w.shape[2:]]), w.dtype)
    out[:, :, ::step, ::step] = w
    return out


def pooled(x: np.ndarray, fold: Any, kernel: int, stride: int, padding: int = 0, fill: float = 0.0) -> np.ndarray:
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)), constant_values=fill)
    tall, wide = ((d - kernel) // stride + 1 for d in x.shape[2:])
    out = np.empty((*x.shape[:2], tall, wide), x.dtype)
    for i, j in itertools.product(range(tall), range(wide)):
        window = x[:, :, i * stride : i * stride + kernel, j * stride : j * stride + kernel]
        out[:, :, i, j] = fold(window, (2, 3))
    return out


def adaptive(x: np.ndarray, tall: int, wide: int) -> np.ndarray:
    out = np.empty((*x.shape[:2], tall, wide), x.dtype)
    h, w = x.shape[2:]
    for i, j in itertools.product(range(tall), range(wide)):
        rows, columns = (slice(p * d // n, -(-(p + 1) * d // n)) for p, d, n in ((i, h, tall), (j, w, wide)))
        out[:, :, i, j] = x[:, :, rows, columns].mean((2, 3))
    return out


def rows(case: Any) -> list[Any]:
    """The rows; `case` is `cases.Case`."""
    return [
        case(
            "conv2d",
            F.conv2d,
            convolved,
            (
                (real(2, 3, 5, 6), real(4, 3, 2, 3)),
                (real(1, 1, 4, 4), real(1, 1, 4, 4)),
                (real(1, 8, 3, 3), real(17, 8, 1, 1)),
                (real(0, 2, 4, 4), real(3, 2, 2, 2)),
                (real(2, 0, 4, 4), real(3, 0, 2, 2)),
            ),
            ulps=64,
        ),
        case(
            "conv2d stride padding dilation groups",
            lambda x, w: F.conv2d(x, w, None, (2, 1), (1, 2), (1, 2), 2),
            lambda x, w: convolved(x, w, (2, 1), (1, 2), (1, 2), 2),
            ((real(2, 4, 7, 6), real(6, 2, 3, 2)), (real(2, 2, 6, 5), real(2, 1, 2, 3))),
            ulps=64,
        ),
        case(
            "conv2d bias",
            F.conv2d,
            lambda x, w, b: convolved(x, w) + b[:, None, None],
            ((real(2, 2, 4, 4), real(3, 2, 3, 3), real(3)),),
            ulps=64,
        ),
        case(
            "conv2d of one image",
            lambda x, w: F.conv2d(x, w, padding="same"),
            lambda x, w: convolved(x[None], w, padding=(1, 1))[0],
            ((real(2, 4, 5), real(3, 2, 3, 3)),),
            ulps=64,
            refused="padding='same' needs weights of known extents",
        ),
        case(
            "conv1d",
            lambda x, w, b: F.conv1d(x, w, b, 2, 1),
            lambda x, w, b: convolved(x[:, :, None], w[:, :, None], (1, 2), (0, 1))[:, :, 0] + b[:, None],
            ((real(2, 3, 9), real(4, 3, 3), real(4)),),
            ulps=64,
        ),
        case(
            "conv_transpose2d, more at the end than a stride",
            lambda x, w: F.conv_transpose2d(x, w, None, 1, 1, 2, 2, 3),
            lambda x, w: transposed(x, dilated(w, 3), 1, 1, 2, 2),
            ((real(2, 4, 3, 2), real(4, 3, 2, 2)),),
            ulps=64,
        ),
        case(
            "conv_transpose2d",
            lambda x, w: F.conv_transpose2d(x, w, None, 3, 1, 2, 2),
            lambda x, w: transposed(x, w, 3, 1, 2, 2),
            ((real(2, 4, 3, 2), real(4, 3, 2, 4)), (real(1, 2, 1, 1), real(2, 1, 3, 3))),
            ulps=64,
        ),
        case(
            "max_pool2d",
            lambda x: F.max_pool2d(x, 2),
            lambda x: pooled(x, np.max, 2, 2),
            ((real(2, 3, 4, 6),), (real(1, 1, 5, 3),), (real(0, 3, 4, 6),)),
            ulps=0,
        ),
        case(
            "pad",
            lambda x: F.pad(x, (1, 2, -1, 3), value=0.5),
            lambda x: np.pad(x[:, 1:], ((0, 0), (0, 3), (1, 2)), constant_values=0.5),
            ((real(2, 3, 4),), (real(0, 2, 1),)),
            ulps=0,
        ),
        *(
            case(
                f"pad {mode}",
                lambda x, mode=mode: F.pad(x, (2, 1, 0, 2), mode),
                lambda x, name=name: np.pad(x, ((0, 0), (0, 2), (2, 1)), name),
                ((real(2, 3, 4),), (real(1, 3, 3),)),
                ulps=0,
            )
            for mode, name in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap"))
        ),
        case(
            "max_pool2d to the end",
            lambda x: F.max_pool2d(x, 2, ceil_mode=True),
            lambda x: pooled(np.pad(x, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=-np.inf), np.max, 2, 2),
            ((real(1, 2, 5, 9),), (real(2, 1, 4, 8),)),
            ulps=0,
        ),
        case(
            "max_pool2d overlapping",
            lambda x: F.max_pool2d(x, 3, 2, 1),
            lambda x: pooled(x, np.max, 3, 2, 1, -np.inf),
            ((real(2, 2, 5, 6),),),
            ulps=0,
        ),
        case(
            "max_pool1d",
            lambda x: F.max_pool1d(x, 3, 1),
            lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, -1).max(-1),
            ((real(2, 3, 7),), (real(3, 5),)),
            ulps=0,
        ),
        case(
            "avg_pool2d",
            lambda x: F.avg_pool2d(x, 3, 2, 1),
            lambda x: pooled(x, np.mean, 3, 2, 1),
            ((real(2, 2, 5, 6),),),
            ulps=16,
        ),
        case(
            "avg_pool1d",
            lambda x: F.avg_pool1d(x, 2),
            lambda x: x[..., : x.shape[-1] // 2 * 2].reshape(*x.shape[:-1], -1, 2).mean(-1),
            ((real(2, 3, 7),),),
            ulps=16,
        ),
        case(
            "adaptive_avg_pool2d",
            lambda x: F.adaptive_avg_pool2d(x, (2, 4)),
            lambda x: adaptive(x, 2, 4),
            ((real(2, 2, 5, 6),), (real(1, 2, 2, 3),)),
            ulps=16,
        ),
    ]
