"""TensorBoard's records of values, which the `tensorboard` package defines."""

from __future__ import annotations

import struct
import sys
import zlib
from types import ModuleType
from typing import Any

import numpy as np

from ...base.libraries import need
from ...errors import ArgumentError

WITHOUT = "tensorboard.compat.notf"
"""Where there is this module, TensorBoard writes files by itself. It would import `tensorflow` otherwise, which may be the name
of the dialect."""


def protocol() -> Any:
    """The module of summaries' records. Raises MissingExtra without the package."""
    need("tensorboard", "summaries")
    sys.modules.setdefault(WITHOUT, ModuleType(WITHOUT))
    import tensorboard.compat.proto.summary_pb2 as records

    return records


def fill_histogram(found: Any, values: Any, name: str, bins: Any = 30) -> None:
    """Fill the record of a histogram. Raises ArgumentError for values that are not finite."""
    x = np.asarray(values, np.float64).ravel()
    if not np.isfinite(x).all():
        raise ArgumentError(f"the histogram {name!r} has values that are not finite")
    counts, edges = np.histogram(x, bins=bins) if x.size else (np.zeros(1, int), np.zeros(2))
    found.min, found.max = (float(x.min()), float(x.max())) if x.size else (0.0, 0.0)
    found.num, found.sum, found.sum_squares = float(x.size), float(x.sum()), float((x * x).sum())
    found.bucket_limit.extend(edges[1:].tolist())
    found.bucket.extend(counts.astype(float).tolist())


def fill_image(entry: Any, picture: np.ndarray) -> None:
    """Fill the record of a picture (height, width, channels) uint8."""
    entry.image.height, entry.image.width, entry.image.colorspace = picture.shape
    entry.image.encoded_image_string = png(picture)


def fill_text(entry: Any, text: str) -> None:
    """Fill the record of a text."""
    entry.metadata.plugin_data.plugin_name = "text"
    entry.tensor.dtype = 7
    entry.tensor.tensor_shape.dim.add(size=1)
    entry.tensor.string_val.append(text.encode())


def png(picture: np.ndarray) -> bytes:
    """A picture (height, width, channels) uint8 in the PNG format (ISO 15948), without a filter."""
    height, width, channels = picture.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows.tobytes())), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
