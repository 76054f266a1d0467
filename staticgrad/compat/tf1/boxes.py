"""`tf.image`: parts of images at boxes, boxes drawn into images, and boxes chosen by their overlaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import F, TensorType, static
from .draws import uniform
from .handles import Handle
from .image import IMAGE, ResizeMethod, _batched, _padded, _resized
from .nn.spatial import extract_image_patches
from .tensor import Operand, extents_of, known, operation, tensor


@operation("CropAndResize", sizes=frozenset({"crop_size", "extrapolation_value"}))
def crop_and_resize(
    image: Operand, boxes: Any, box_ind: Any = None, crop_size: Any = None, method: str = "bilinear",
    extrapolation_value: float = 0, box_indices: Any = None,
) -> Any:  # fmt: skip
    """The parts of images in boxes (count, [y1, x1, y2, x2]) with 0 and 1 for the borders, resized: (count, *crop_size, c).

    box_ind: the image of each box. The gradient flows to the image, and for "bilinear" to the boxes.
    """
    x = F.astype(image, np.float32)
    boxes, numbers = tensor(boxes), F.astype(tensor(box_indices if box_ind is None else box_ind), np.int64)
    _, height, width, channels = extents_of(x)
    rows, columns = (int(n) for n in crop_size)

    def places(low: Any, high: Any, extent: int, count: int) -> Any:
        steps = static.constant(np.arange(count, dtype=np.float32))
        if count == 1:
            return F.expand_dims(F.mul(F.add(low, high), 0.5 * (extent - 1)), -1)
        step = F.mul(F.sub(high, low), (extent - 1) / (count - 1))
        return F.add(F.expand_dims(F.mul(low, float(extent - 1)), -1), F.mul(F.expand_dims(step, -1), steps))

    y = places(boxes[:, 0], boxes[:, 2], height, rows)  # (count, rows)
    z = places(boxes[:, 1], boxes[:, 3], width, columns)
    inside = F.logical_and(
        F.expand_dims(F.logical_and(F.ge(y, 0), F.le(y, float(height - 1))), 2),
        F.expand_dims(F.logical_and(F.ge(z, 0), F.le(z, float(width - 1))), 1),
    )
    flat = F.reshape(x, (-1, channels))

    def at(i: Any, j: Any) -> Any:
        first = F.reshape(F.mul(numbers, height * width), (-1, 1, 1))
        index = F.add(F.add(first, F.expand_dims(F.mul(i, width), 2)), F.expand_dims(j, 1))
        return F.take(flat, index, axis=0)

    def whole(v: Any, extent: int) -> Any:
        return F.astype(F.clip(v, 0, extent - 1), np.int64)

    if method == "nearest":
        out = at(whole(F.floor(F.add(y, 0.5)), height), whole(F.floor(F.add(z, 0.5)), width))
    elif method == "bilinear":
        top, left = F.floor(y), F.floor(z)
        down, across = F.expand_dims(F.sub(y, top), (2, 3)), F.expand_dims(F.sub(z, left), (1, 3))
        i0, i1 = whole(top, height), whole(F.ceil(y), height)
        j0, j1 = whole(left, width), whole(F.ceil(z), width)
        above = F.add(at(i0, j0), F.mul(F.sub(at(i0, j1), at(i0, j0)), across))
        below = F.add(at(i1, j0), F.mul(F.sub(at(i1, j1), at(i1, j0)), across))
        out = F.add(above, F.mul(F.sub(below, above), down))
    else:
        raise ValueError(f'crop_and_resize: method has to be "bilinear" or "nearest", got {method!r}')
    return F.where(F.expand_dims(inside, 3), out, float(extrapolation_value))


@operation("resize_image_with_pad", sizes=IMAGE)
@_batched
def resize_image_with_pad(
    image: Operand, target_height: int, target_width: int, method: int = ResizeMethod.BILINEAR, align_corners: bool = False
) -> Any:
    """The image resized without distortion, in the middle of zeros."""
    _, h, w, _ = extents_of(image)
    ratio = max(w / target_width, h / target_height)
    height, width = int(np.floor(h / ratio)), int(np.floor(w / ratio))
    top, left = max(0, int((target_height - h / ratio) / 2)), max(0, int((target_width - w / ratio) / 2))
    return _padded(_resized(image, (height, width), method, align_corners, False), top, left, target_height, target_width)


@operation("ExtractGlimpse", sizes=frozenset({"size"}))
def extract_glimpse(
    input: Operand, size: Any, offsets: Any, centered: bool = True, normalized: bool = True, uniform_noise: bool = True
) -> Any:
    """Windows (n, *size, c) of images around offsets (n, [y, x]), whose values are random outside of the image.

    centered: offsets count from the image's middle; normalized: -1 and 1 (0 and 1) are its borders, else pixels.
    """
    x, at = input, tensor(offsets, np.float32)
    n, h, w, c = extents_of(x)
    rows, columns = (int(s) for s in size)
    starts = []
    for axis, (extent, wanted) in enumerate(((h, rows), (w, columns))):
        place = at[:, axis]
        if normalized:
            place = F.mul(place, float(extent))
            if centered:
                place = F.add(F.mul(place, 0.5), extent / 2)
            place = F.sub(place, wanted / 2)
        elif centered:
            place = F.add(place, (extent - wanted) / 2)
        starts.append(F.astype(F.trunc(place), np.int64))
    i = F.add(F.expand_dims(starts[0], 1), static.constant(np.arange(rows)))
    j = F.add(F.expand_dims(starts[1], 1), static.constant(np.arange(columns)))
    inside = F.logical_and(
        F.expand_dims(F.logical_and(F.ge(i, 0), F.lt(i, h)), 2), F.expand_dims(F.logical_and(F.ge(j, 0), F.lt(j, w)), 1)
    )
    numbers = static.constant(np.arange(n).reshape(-1, 1, 1) * (h * w))
    index = F.add(numbers, F.add(F.expand_dims(F.mul(F.clip(i, 0, h - 1), w), 2), F.expand_dims(F.clip(j, 0, w - 1), 1)))
    taken = F.take(F.reshape(x, (-1, c)), index, axis=0)
    noise = uniform((n, rows, columns, c)) if uniform_noise else F.zeros_like(taken)
    return F.where(F.expand_dims(inside, 3), taken, noise)


@operation("DrawBoundingBoxesV2")
def draw_bounding_boxes(images: Operand, boxes: Operand, colors: Any = None) -> Any:
    """Images with the borders of boxes (n, count, [y1, x1, y2, x2]); colors: (any, channels), taken in turn."""
    n, h, w, c = extents_of(images)
    count = extents_of(boxes)[1]
    table = np.asarray(known(tensor(COLORS if colors is None else colors)), images.dtype)
    if colors is None:
        table = (
            np.concatenate([table, np.ones((len(table), 1), images.dtype)], 1)[:, :c]
            if c > 1
            else np.ones((1, 1), images.dtype)
        )
    table = table[:, :c]
    row, column = static.constant(np.arange(h).reshape(1, h, 1)), static.constant(np.arange(w).reshape(1, 1, w))
    for b in range(count):
        ends = [boxes[:, b, k] for k in range(4)]
        top, left, bottom, right = (
            F.reshape(F.astype(F.floor(F.mul(e, float(extent - 1))), np.int64), (n, 1, 1))
            for e, extent in zip(ends, (h, w, h, w), strict=True)
        )
        rows_in = F.logical_and(F.ge(row, top), F.le(row, bottom))
        columns_in = F.logical_and(F.ge(column, left), F.le(column, right))
        across = F.logical_and(F.logical_or(F.eq(row, top), F.eq(row, bottom)), columns_in)
        down = F.logical_and(F.logical_or(F.eq(column, left), F.eq(column, right)), rows_in)
        line = F.expand_dims(F.logical_or(across, down), 3)
        images = F.where(line, static.constant(table[b % len(table)]), images)
    return images


COLORS = (
    (1, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0.5, 0, 0.5), (0.5, 0.5, 0), (0.5, 0, 0), (0, 0, 0.5), (0, 1, 1), (1, 0, 1),
)  # fmt: skip
"""Of boxes in turn, where none are given."""


# choices --------------------------------------------------------------------------------------------------------------


def _numbers(value: Any) -> Any:
    """Values that have to be known or fed."""
    return np.asarray(known(value if not isinstance(value, Handle) else value.symbol), np.float32)


def _overlaps(boxes: np.ndarray) -> np.ndarray:
    """The intersection over union of each pair of boxes."""
    y = np.sort(boxes[:, [0, 2]], 1)
    x = np.sort(boxes[:, [1, 3]], 1)
    area = (y[:, 1] - y[:, 0]) * (x[:, 1] - x[:, 0])
    sides = [np.maximum(0, np.minimum(s[:, None, 1], s[:, 1]) - np.maximum(s[:, None, 0], s[:, 0])) for s in (y, x)]
    inner = sides[0] * sides[1]
    union = area[:, None] + area - inner
    return np.where((area[:, None] > 0) & (area > 0), inner / np.where(union > 0, union, 1), 0)


def _kept(overlaps: np.ndarray, scores: np.ndarray, count: int, limit: float, least: float, sigma: float = 0.0) -> Any:
    """(numbers of the boxes that are kept, their scores): greedily by score, none that overlaps one before by more than
    `limit`. sigma: scores fall with the overlap instead (Bodla et al., ICCV 2017)."""
    left = {int(i): float(scores[i]) for i in np.flatnonzero(scores > least)}
    chosen: list[int] = []
    found: list[float] = []
    while left and len(chosen) < count:
        best = max(left, key=lambda i: (left[i], -i))
        chosen.append(best)
        found.append(left.pop(best))
        for i in list(left):
            overlap = overlaps[best, i]
            if sigma > 0:
                left[i] *= float(np.exp(-0.5 * overlap**2 / sigma)) if overlap <= limit or limit >= 1 else 0.0
            if (sigma == 0 and overlap > limit) or left[i] <= least:
                del left[i]
    return np.array(chosen, np.int32), np.array(found, np.float32)


def _chosen(*args: Any, **kwargs: Any) -> TensorType:
    return TensorType((None,), np.dtype(np.int32))


def _scored(*args: Any, **kwargs: Any) -> list[TensorType]:
    return [_chosen(), TensorType((None,), np.dtype(np.float32))]


def _counted(boxes: Any, scores: Any, count: Any, *limits: Any, pad_to_max_output_size: bool = False, **rest: Any) -> Any:
    pad = limits[2] if len(limits) > 2 else pad_to_max_output_size
    extent = int(count) if pad and isinstance(count, (int, np.integer)) else None
    return [TensorType((extent,), np.dtype(np.int32)), TensorType((), np.dtype(np.int32))]


def _best(boxes: Any, scores: Any, *settings: Any, overlaps: bool = False) -> tuple[Any, Any]:
    """`_kept` of boxes, or of their overlaps, with settings that may be tensors."""
    first, second = _numbers(tensor(boxes)), _numbers(tensor(scores))
    count, *limits = (float(_numbers(v)) for v in settings)
    return _kept(first if overlaps else _overlaps(first), second, int(count), *limits)


@operation("NonMaxSuppressionV3", sizes=frozenset(), types=_chosen)
def non_max_suppression(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf")
) -> Any:
    """The numbers of boxes, best score first, without those that overlap a better one. The values have to be known or fed."""
    return static.constant(_best(boxes, scores, max_output_size, iou_threshold, score_threshold)[0])


@operation("NonMaxSuppressionV5", sizes=frozenset(), types=_scored)
def non_max_suppression_with_scores(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0,
) -> tuple[Any, Any]:  # fmt: skip
    """As `non_max_suppression`, and the scores; soft_nms_sigma: scores fall with the overlap."""
    chosen, found = _best(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
    return static.constant(chosen), static.constant(found)


@operation("NonMaxSuppressionWithOverlaps", sizes=frozenset(), types=_chosen)
def non_max_suppression_overlaps(
    overlaps: Any, scores: Any, max_output_size: Any, overlap_threshold: Any = 0.5, score_threshold: Any = float("-inf")
) -> Any:
    """As `non_max_suppression`, of given overlaps (count, count)."""
    return static.constant(_best(overlaps, scores, max_output_size, overlap_threshold, score_threshold, overlaps=True)[0])


@operation("NonMaxSuppressionV4", sizes=frozenset(), types=_counted)
def non_max_suppression_padded(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False, sorted_input: bool = False, canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Any, Any]:  # fmt: skip
    """(numbers of boxes, zeros at the end if padded; how many are valid). Batches of boxes are refused."""
    if sorted_input or canonicalized_coordinates:
        raise ValueError("non_max_suppression_padded: batches of sorted boxes are not supported; call it for each image")
    chosen, _ = _best(boxes, scores, max_output_size, iou_threshold, score_threshold)
    valid = np.int32(len(chosen))
    if pad_to_max_output_size:
        chosen = np.concatenate([chosen, np.zeros(int(_numbers(max_output_size)) - len(chosen), np.int32)])
    return static.constant(chosen), static.constant(valid)


def extract_patches(images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None) -> Any:
    """Windows of images as channels."""
    return extract_image_patches(images, sizes, strides, rates, padding, name=name)
