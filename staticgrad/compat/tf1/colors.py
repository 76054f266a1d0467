"""`tf.image`: color spaces, hues, and how alike images are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import functional, static
from ...operators import F
from .draws import uniform
from .image import floating, within
from .tensor import Operand, define, extents_of, operation, pair, tensor

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
    if x.dtype.kind != "f":
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
