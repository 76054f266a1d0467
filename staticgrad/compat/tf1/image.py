"""`tf.image`: sizes, crops, flips and colors of images (height, width, channels), alone or in a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import slopes
from .core import FLOATING, F, functional, static
from .draws import uniform
from .dtypes import as_dtype
from .tensor import Operand, define, extents_of, operation, pair, tensor


class ResizeMethod:
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = range(4)


IMAGE = frozenset({"size", "target_height", "target_width", "offset_height", "offset_width", "k", "central_fraction"})
"""Parameters that are plain numbers."""


def _batched(change: Callable[..., Any]) -> Callable[..., Any]:
    """A function of batches as one of single images, too."""

    @functools.wraps(change)
    def call(image: Any, *args: Any, **kwargs: Any) -> Any:
        if image.ndim == 3:
            return F.squeeze(change(F.expand_dims(image, 0), *args, **kwargs), 0)
        return change(image, *args, **kwargs)

    return call


# sizes ----------------------------------------------------------------------------------------------------------------


def _bilinear(extent: int, wanted: int, corners: bool, half: bool) -> np.ndarray:
    """The matrix (wanted, extent) of linear interpolation along an axis."""
    place = _places(extent, wanted, corners, half).clip(0, extent - 1)
    low = np.floor(place).astype(int)
    share = (place - low).astype(np.float32)
    matrix = np.zeros((wanted, extent), np.float32)
    rows = np.arange(wanted)
    np.add.at(matrix, (rows, low), 1 - share)
    np.add.at(matrix, (rows, np.minimum(low + 1, extent - 1)), share)
    return matrix


def _places(extent: int, wanted: int, corners: bool, half: bool) -> np.ndarray:
    scale = (extent - 1) / (wanted - 1) if corners and wanted > 1 else extent / wanted
    steps = np.arange(wanted)
    return (steps + 0.5) * scale - 0.5 if half else steps * scale


def _cubic(extent: int, wanted: int, corners: bool, half: bool) -> np.ndarray:
    """The matrix of interpolation by Keys' kernel, a = -0.75 (-0.5 with half-pixel centers). IEEE Trans. ASSP 29 (1981)."""
    a = -0.5 if half else -0.75
    place = _places(extent, wanted, corners, half)
    low = np.floor(place).astype(int)
    share = np.rint((place - low) * STEPS) / STEPS
    matrix = np.zeros((wanted, extent), np.float32)
    for tap in range(-1, 3):
        d = np.abs(share - tap)
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        weight = np.where(d <= 1, near, np.where(d < 2, far, 0))
        np.add.at(matrix, (np.arange(wanted), (low + tap).clip(0, extent - 1)), weight)
    return matrix


STEPS = 1024
"""Places between two elements that TensorFlow's table of the kernel knows."""


def _area(extent: int, wanted: int, corners: bool, half: bool) -> np.ndarray:
    """The matrix of means over the parts of an axis."""
    edges = np.arange(wanted + 1) * (extent / wanted)
    cells = np.arange(extent)
    overlap = np.minimum(edges[1:, None], cells + 1) - np.maximum(edges[:-1, None], cells)
    return (overlap.clip(0) / (extent / wanted)).astype(np.float32)


KERNELS = {ResizeMethod.BILINEAR: _bilinear, ResizeMethod.BICUBIC: _cubic, ResizeMethod.AREA: _area}


@_batched
def _resized(x: Any, size: Any, method: int, corners: bool, half: bool) -> Any:
    height, width = (int(n) for n in size)
    _, h, w, _ = extents_of(x)
    if method == ResizeMethod.NEAREST_NEIGHBOR:
        for axis, (extent, wanted) in ((1, (h, height)), (2, (w, width))):
            place = _places(extent, wanted, corners, half)
            chosen = np.round(place) if corners else np.floor(place + 0.5 if half else place)
            x = F.take(x, static.constant(chosen.clip(0, extent - 1).astype(np.int64)), axis=axis)
        return x
    kernel = KERNELS[method]
    x = x if x.dtype.kind in FLOATING else F.astype(x, np.float32)
    down = static.constant(kernel(h, height, corners, half).astype(x.dtype))
    across = static.constant(kernel(w, width, corners, half).astype(x.dtype))
    return F.einsum("ph,nhwc,qw->npqc", down, x, across)


@operation("resize", sizes=IMAGE)
def resize_images(
    images: Operand, size: Any, method: int = 0, align_corners: bool = False, preserve_aspect_ratio: bool = False
) -> Any:
    """Images of another size (height, width), by one of `ResizeMethod`. preserve_aspect_ratio: the largest inside it."""
    if preserve_aspect_ratio:
        h, w = extents_of(images)[-3:-1]
        scale = min(size[0] / h, size[1] / w)
        size = (round(h * scale), round(w * scale))
    return _resized(images, size, method, align_corners, False)


resize = resize_images


def _named(label: str, method: int) -> Callable[..., Any]:
    def call(images: Operand, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> Any:
        return _resized(images, size, method, align_corners, half_pixel_centers)

    return operation(label, sizes=IMAGE)(call)


resize_bilinear, resize_nearest_neighbor = _named("ResizeBilinear", 0), _named("ResizeNearestNeighbor", 1)
resize_bicubic, resize_area = _named("ResizeBicubic", 2), _named("ResizeArea", 3)


# crops ----------------------------------------------------------------------------------------------------------------


@operation("crop_to_bounding_box", sizes=IMAGE)
@_batched
def crop_to_bounding_box(image: Operand, offset_height: int, offset_width: int, target_height: int, target_width: int) -> Any:
    """The part of this size from this corner on."""
    _, h, w, _ = extents_of(image)
    if offset_height < 0 or offset_width < 0 or offset_height + target_height > h or offset_width + target_width > w:
        raise ValueError("the box must lie inside of the image")
    return image[:, offset_height : offset_height + target_height, offset_width : offset_width + target_width]


@operation("pad_to_bounding_box", sizes=IMAGE)
@_batched
def pad_to_bounding_box(image: Operand, offset_height: int, offset_width: int, target_height: int, target_width: int) -> Any:
    """Zeros around the image, whose corner is at the offset of an image of the target's size."""
    return _padded(image, offset_height, offset_width, target_height, target_width)


def _padded(x: Any, top: int, left: int, height: int, width: int) -> Any:
    from .core import pad

    _, h, w, _ = extents_of(x)
    below, right = height - top - h, width - left - w
    if min(top, left, below, right) < 0:
        raise ValueError("the image must lie inside of the target")
    return pad(x, (0, 0, left, right, top, below))


@operation("resize_image_with_crop_or_pad", sizes=IMAGE)
@_batched
def resize_image_with_crop_or_pad(image: Operand, target_height: int, target_width: int) -> Any:
    """The middle of the image, or the image in the middle of zeros."""
    _, h, w, _ = extents_of(image)
    top, left = max(h - target_height, 0) // 2, max(w - target_width, 0) // 2
    image = image[:, top : top + min(h, target_height), left : left + min(w, target_width)]
    up, before = max(target_height - h, 0) // 2, max(target_width - w, 0) // 2
    return _padded(image, up, before, target_height, target_width)


resize_with_crop_or_pad = resize_image_with_crop_or_pad


@operation("central_crop", sizes=IMAGE)
@_batched
def central_crop(image: Operand, central_fraction: float) -> Any:
    """The middle, of this fraction of both sides."""
    _, h, w, _ = extents_of(image)
    top, left = int((h - h * central_fraction) / 2), int((w - w * central_fraction) / 2)
    return image[:, top : h - top, left : w - left]


@operation("random_crop", sizes=frozenset({"size"}))
def random_crop(value: Operand, size: Any, seed: Any = None) -> Any:
    """A part of this size at a place that is drawn anew in each run."""
    shape = extents_of(value)
    for axis, (extent, wanted) in enumerate(zip(shape, (int(n) for n in size), strict=True)):
        if wanted > extent:
            raise ValueError(f"Need value.shape >= size, got {shape} and {list(size)}")
        if wanted < extent:
            start = F.astype(F.floor(F.mul(uniform((), seed), float(extent - wanted + 1))), np.int64)
            value = F.take(value, F.add(start, static.constant(np.arange(wanted))), axis=axis)
    return value


# flips ----------------------------------------------------------------------------------------------------------------


flip_left_right = define("flip_left_right", "ReverseV2", lambda image: F.flip(image, -2))
flip_up_down = define("flip_up_down", "ReverseV2", lambda image: F.flip(image, -3))
transpose_image = define("transpose_image", "Transpose", lambda image: F.swapaxes(image, -3, -2), "Height and width exchanged.")


transpose = transpose_image


@operation("rot90", sizes=IMAGE)
def rot90(image: Operand, k: int = 1) -> Any:
    """A counterclockwise turn by k quarters."""
    for _ in range(k % 4):
        image = F.flip(F.swapaxes(image, -3, -2), -3)
    return image


def _random_flip(axis: int) -> Callable[..., Any]:
    def call(image: Operand, seed: Any = None) -> Any:
        count = (extents_of(image)[0], 1, 1, 1) if image.ndim == 4 else ()
        return F.where(F.lt(uniform(count, seed), 0.5), F.flip(image, axis), image)

    return operation("random_flip")(call)


random_flip_left_right, random_flip_up_down = _random_flip(-2), _random_flip(-3)


# colors ---------------------------------------------------------------------------------------------------------------


def floating(change: Callable[..., Any]) -> Callable[..., Any]:
    """A change of images with values in [0, 1]; integers are scaled to it and back."""

    @functools.wraps(change)
    def call(image: Any, *args: Any, **kwargs: Any) -> Any:
        if image.dtype.kind in FLOATING:
            return change(image, *args, **kwargs)
        top = float(np.iinfo(image.dtype).max)
        out = change(F.mul(F.astype(image, np.float32), 1 / top), *args, **kwargs)
        return F.astype(F.clip(F.floor(F.add(F.mul(out, top + 0.5), 0.0)), 0, top), image.dtype)

    return call


def within(low: float, high: float, seed: Any) -> Any:
    """A number in [low, high) that is drawn anew in each run."""
    return F.add(F.mul(uniform((), seed), float(high - low)), float(low))


def _contrasted(x: Any, factor: Any) -> Any:
    """Each channel's distance from its mean, times a factor."""
    mean = F.mean(x, axis=(-3, -2), keepdims=True)
    return F.add(F.mul(F.sub(x, mean), factor), mean)


@operation("adjust_brightness")
@floating
def adjust_brightness(image: Operand, delta: Any) -> Any:
    """The image with a number added."""
    return F.add(image, tensor(delta, image.dtype))


@operation("adjust_contrast")
@floating
def adjust_contrast(images: Operand, contrast_factor: Any) -> Any:
    """Each channel's distance from its mean, times a factor."""
    return _contrasted(images, tensor(contrast_factor, images.dtype))


@operation("adjust_gamma")
@floating
def adjust_gamma(image: Operand, gamma: Any = 1, gain: Any = 1) -> Any:
    """gain * image ** gamma."""
    return F.mul(F.pow(image, float(gamma)), float(gain))


@operation("random_brightness")
@floating
def random_brightness(image: Operand, max_delta: float, seed: Any = None) -> Any:
    delta = F.mul(F.sub(F.mul(uniform((), seed), 2.0), 1.0), float(max_delta))
    return F.add(image, F.astype(delta, image.dtype))


@operation("random_contrast")
@floating
def random_contrast(image: Operand, lower: float, upper: float, seed: Any = None) -> Any:
    return _contrasted(image, F.astype(within(lower, upper, seed), image.dtype))


GRAY = (0.2989, 0.587, 0.114)
"""Shares of red, green and blue in the luminance (ITU-R BT.601), as TensorFlow rounds them."""


@operation("rgb_to_grayscale")
@floating
def rgb_to_grayscale(images: Operand) -> Any:
    return F.sum(F.mul(images, static.constant(np.array(GRAY, images.dtype))), axis=-1, keepdims=True)


@operation("grayscale_to_rgb")
def grayscale_to_rgb(images: Operand) -> Any:
    return F.concatenate([images, images, images], axis=-1)


@operation("per_image_standardization")
def per_image_standardization(image: Operand) -> Any:
    """Mean 0 and deviation 1 over each image; the deviation is 1 / sqrt(elements) at least."""
    image = image if image.dtype.kind in FLOATING else F.astype(image, np.float32)
    count = float(np.prod(extents_of(image)[-3:]))
    mean = F.mean(image, axis=(-3, -2, -1), keepdims=True)
    spread = slopes.sqrt(F.mean(F.square(F.sub(image, mean)), axis=(-3, -2, -1), keepdims=True))
    return F.div(F.sub(image, mean), slopes.maximum(spread, F.full_like(spread, count**-0.5)))


@operation("convert_image")
def convert_image_dtype(image: Operand, dtype: Any, saturate: bool = False) -> Any:
    """Another dtype, with values scaled from one range to the other: [0, 1] for floats."""
    x, kind = image, as_dtype(dtype).numpy
    if x.dtype == kind:
        return x
    if x.dtype.kind in FLOATING and kind.kind in FLOATING:
        return F.astype(x, kind)
    if kind.kind in FLOATING:
        return F.mul(F.astype(x, kind), 1 / float(np.iinfo(x.dtype).max))
    if x.dtype.kind in FLOATING:
        top = float(np.iinfo(kind).max)
        scaled = F.mul(x, top + 0.5)
        return F.astype(F.clip(scaled, 0.0, top) if saturate else scaled, kind)
    up, down = np.iinfo(kind).max + 1, np.iinfo(x.dtype).max + 1
    wide = F.astype(x, np.int64)
    return F.astype(F.mul(wide, up // down) if up > down else F.floor_divide(wide, down // up), kind)


@operation("total_variation")
def total_variation(images: Operand) -> Any:
    """The sum of absolute differences of neighbors, per image."""
    down, across = images[..., 1:, :, :] - images[..., :-1, :, :], images[..., :, 1:, :] - images[..., :, :-1, :]
    return F.add(F.sum(F.abs(down), axis=(-3, -2, -1)), F.sum(F.abs(across), axis=(-3, -2, -1)))


@operation("PSNR")
def psnr(a: Operand, b: Operand, max_val: Any) -> Any:
    """The peak signal-to-noise ratio in dB, per image."""
    error = F.mean(F.square(F.sub(a, b)), axis=(-3, -2, -1))
    return F.mul(F.log(F.div(float(max_val) ** 2, error)), 10 / float(np.log(10)))


@operation("image_gradients")
def image_gradients(image: Operand) -> tuple[Any, Any]:
    """Differences of neighbors (down, across), 0 in the last row and column."""
    down = F.concatenate([image[:, 1:] - image[:, :-1], F.zeros_like(image[:, :1])], axis=1)
    across = F.concatenate([image[:, :, 1:] - image[:, :, :-1], F.zeros_like(image[:, :, :1])], axis=2)
    return down, across


# color spaces, hues, and how alike images are -------------------------------------------------------------------------


# spaces ---------------------------------------------------------------------------------------------------------------


def _hsv(x: Any) -> Any:
    """Hue, saturation and value of red, green and blue."""
    r, g, b = (x[..., i] for i in range(3))
    top, low = F.amax(x, axis=-1), F.amin(x, axis=-1)
    spread = F.sub(top, low)
    some = F.gt(spread, 0)
    norm = F.div(1.0 / 6, F.where(some, spread, F.ones_like(spread)))
    hue = F.where(
        F.eq(r, top), F.mul(norm, F.sub(g, b)),
        F.where(F.eq(g, top), F.add(F.mul(norm, F.sub(b, r)), 2 / 6), F.add(F.mul(norm, F.sub(r, g)), 4 / 6)),
    )  # fmt: skip
    hue = F.where(some, hue, F.zeros_like(hue))
    hue = F.where(F.lt(hue, 0), F.add(hue, 1.0), hue)
    light = F.gt(top, 0)
    saturation = F.where(light, F.div(spread, F.where(light, top, F.ones_like(top))), F.zeros_like(top))
    return F.stack([hue, saturation, top], axis=-1)


def _rgb(x: Any) -> Any:
    """Red, green and blue of hue, saturation and value."""
    h, s, v = (x[..., i] for i in range(3))
    turn = F.mul(h, 6.0)
    chroma = F.mul(s, v)
    parts = (
        F.sub(F.abs(F.sub(turn, 3.0)), 1.0), F.sub(2.0, F.abs(F.sub(turn, 2.0))), F.sub(2.0, F.abs(F.sub(turn, 4.0)))
    )  # fmt: skip
    return F.stack([F.add(F.mul(F.sub(F.clip(p, 0.0, 1.0), 1.0), chroma), v) for p in parts], axis=-1)


rgb_to_hsv = define(
    "rgb_to_hsv", "RGBToHSV", lambda images: _hsv(images), "Hue, saturation and value, each in [0, 1], of red, green and blue."
)
hsv_to_rgb = define("hsv_to_rgb", "HSVToRGB", lambda images: _rgb(images), "Red, green and blue of hue, saturation and value.")


def _linear(name: str, kernel: Sequence[Sequence[float]]) -> Callable[..., Any]:
    def call(images: Any) -> Any:
        x = tensor(images)
        return F.matmul(x, static.constant(np.array(kernel, x.dtype)))

    call.__name__, call.__doc__ = name, "Other coordinates of the colors, by a matrix."
    return operation(name)(call)


YIQ = ((0.299, 0.59590059, 0.2115), (0.587, -0.27455667, -0.52273617), (0.114, -0.32134392, 0.31119955))
YUV = ((0.299, -0.14714119, 0.61497538), (0.587, -0.28886916, -0.51496512), (0.114, 0.43601035, -0.10001026))
rgb_to_yiq, rgb_to_yuv = _linear("rgb_to_yiq", YIQ), _linear("rgb_to_yuv", YUV)
yiq_to_rgb = _linear("yiq_to_rgb", ((1, 1, 1), (0.95598634, -0.27201283, -1.10674021), (0.6208248, -0.64720424, 1.70423049)))
yuv_to_rgb = _linear("yuv_to_rgb", ((1, 1, 1), (0, -0.394642334, 2.03206185), (1.13988303, -0.58062185, 0)))


# changes --------------------------------------------------------------------------------------------------------------


def _turned(x: Any, delta: Any) -> Any:
    hsv = _hsv(x)
    hue = F.remainder(F.add(hsv[..., 0], F.astype(delta, x.dtype)), 1.0)
    return _rgb(F.stack([hue, hsv[..., 1], hsv[..., 2]], axis=-1))


def _saturated(x: Any, factor: Any) -> Any:
    hsv = _hsv(x)
    saturation = F.clip(F.mul(hsv[..., 1], F.astype(factor, x.dtype)), 0.0, 1.0)
    return _rgb(F.stack([hsv[..., 0], saturation, hsv[..., 2]], axis=-1))


@operation("adjust_hue", "AdjustHue")
@floating
def adjust_hue(image: Operand, delta: Operand) -> Any:
    """Hues turned by a part of the circle, in [-1, 1]."""
    return _turned(image, delta)


@operation("adjust_saturation", "AdjustSaturation")
@floating
def adjust_saturation(image: Operand, saturation_factor: Operand) -> Any:
    """Saturations times a factor, at most 1."""
    return _saturated(image, saturation_factor)


@operation("random_hue", "AdjustHue")
@floating
def random_hue(image: Operand, max_delta: float, seed: Any = None) -> Any:
    """`adjust_hue` by a number within +-max_delta that is drawn anew in each run. Raises ValueError outside [0, 0.5]."""
    if not 0 <= max_delta <= 0.5:
        raise ValueError(f"max_delta must be in [0, 0.5], got {max_delta}")
    return _turned(image, F.mul(F.sub(F.mul(uniform((), seed), 2.0), 1.0), float(max_delta)))


@operation("random_saturation", "AdjustSaturation")
@floating
def random_saturation(image: Operand, lower: float, upper: float, seed: Any = None) -> Any:
    """`adjust_saturation` by a factor in [lower, upper) that is drawn anew in each run."""
    if upper <= lower or lower < 0:
        raise ValueError(f"0 <= lower < upper is needed, got {lower} and {upper}")
    return _saturated(image, within(lower, upper, seed))


# edges and likeness ---------------------------------------------------------------------------------------------------

SOBEL = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])


@operation("sobel_edges")
def sobel_edges(image: Operand) -> Any:
    """Sobel's derivatives (n, height, width, channels, 2), down and across, with reflected borders."""
    channels = extents_of(image)[-1]
    planes = F.permute(image, (0, 3, 1, 2))
    planes = functional.pad(planes, (1, 1, 1, 1), mode="reflect")
    out = []
    for kernel in (SOBEL, SOBEL.T):
        weight = static.constant(np.broadcast_to(kernel, (channels, 1, 3, 3)).astype(image.dtype))
        out.append(F.permute(functional.conv2d(planes, weight, groups=channels), (0, 2, 3, 1)))
    return F.stack(out, axis=-1)


def _window(size: int, sigma: float, dtype: np.dtype) -> np.ndarray:
    place = np.arange(size) - (size - 1) / 2
    weights = np.exp(-0.5 * place**2 / sigma**2)
    weights = np.outer(weights, weights)
    return np.asarray(weights / weights.sum(), dtype)


def _ssim_parts(x: Any, y: Any, top: float, size: int, sigma: float, k1: float, k2: float) -> tuple[Any, Any]:
    """(likeness, its part of contrast and structure) at each place: (n, channels, height, width).

    Wang et al., "Image quality assessment: from error visibility to structural similarity", IEEE Trans. IP 13 (2004).
    """
    n = extents_of(x)
    kernel = static.constant(np.broadcast_to(_window(size, sigma, x.dtype), (n[-1], 1, size, size)).copy())

    def mean(v: Any) -> Any:
        return functional.conv2d(F.permute(v, (0, 3, 1, 2)), kernel, groups=n[-1])

    c1, c2 = (k1 * top) ** 2, (k2 * top) ** 2
    mx, my = mean(x), mean(y)
    product, squares = F.mul(F.mul(mx, my), 2.0), F.add(F.square(mx), F.square(my))
    luminance = F.div(F.add(product, c1), F.add(squares, c1))
    mixed, spread = F.mul(mean(F.mul(x, y)), 2.0), mean(F.add(F.square(x), F.square(y)))
    contrast = F.div(F.add(F.sub(mixed, product), c2), F.add(F.sub(spread, squares), c2))
    return F.mul(luminance, contrast), contrast


def _pair(img1: Any, img2: Any, max_val: Any) -> tuple[Any, Any, float, tuple[int, ...]]:
    """Both images as batches of floats in [0, 1], the largest value, and the axes before the last three."""
    x, y = pair(img1, img2, "SSIM")
    top = float(max_val)
    if x.dtype.kind not in FLOATING:
        scale = 1 / float(np.iinfo(x.dtype).max)
        x, y, top = F.mul(F.astype(x, np.float32), scale), F.mul(F.astype(y, np.float32), scale), top * scale
    lead = extents_of(x)[:-3]
    return F.reshape(x, (-1, *x.shape[-3:])), F.reshape(y, (-1, *y.shape[-3:])), top, lead


@operation("SSIM", sizes=frozenset({"max_val"}))
def ssim(
    img1: Any, img2: Any, max_val: Any, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03,
    return_index_map: bool = False,
) -> Any:  # fmt: skip
    """The structural similarity of images (..., height, width, channels): one number each."""
    x, y, top, lead = _pair(img1, img2, max_val)
    found, _ = _ssim_parts(x, y, top, filter_size, filter_sigma, k1, k2)
    if return_index_map:
        mean = F.mean(found, axis=1)
        return F.reshape(mean, (*lead, *extents_of(mean)[1:]))
    return F.reshape(F.mean(F.mean(found, axis=(2, 3)), axis=1), lead)


WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


@operation("MS-SSIM", sizes=frozenset({"max_val"}))
def ssim_multiscale(
    img1: Any, img2: Any, max_val: Any, power_factors: Sequence[float] = WEIGHTS, filter_size: int = 11,
    filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03,
) -> Any:  # fmt: skip
    """The structural similarity over scales, each half of the one before. Wang et al., Asilomar 2003."""
    x, y, top, lead = _pair(img1, img2, max_val)
    total: Any = None
    for number, power in enumerate(power_factors):
        if number:
            x, y = (_halved(v) for v in (x, y))
        whole, contrast = _ssim_parts(x, y, top, filter_size, filter_sigma, k1, k2)
        part = F.mean(whole if number == len(power_factors) - 1 else contrast, axis=(2, 3))
        factor = F.pow(F.relu(part), float(power))
        total = factor if total is None else F.mul(total, factor)
    return F.reshape(F.mean(total, axis=1), lead)


def _halved(x: Any) -> Any:
    """Means of 2x2, with the last row and column repeated where the extents are odd."""
    n, h, w, c = extents_of(x)
    if h % 2:
        x = F.concatenate([x, x[:, -1:]], axis=1)
    if w % 2:
        x = F.concatenate([x, x[:, :, -1:]], axis=2)
    return F.mean(F.reshape(x, (n, (h + 1) // 2, 2, (w + 1) // 2, 2, c)), axis=(2, 4))
