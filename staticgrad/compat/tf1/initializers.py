"""`tf.initializers`: functions of a shape and a dtype that return the tensor of initial values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import arrays, draws
from .dtypes import as_dtype, float32


class Initializer:
    """Called with the shape of a variable, and the dtype where it was not given before."""

    dtype: Any = None

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return self.values(list(shape), as_dtype(dtype or self.dtype or float32))

    def values(self, shape: list[int], dtype: Any) -> Any:
        raise NotImplementedError


def _floating(dtype: Any) -> Any:
    """A dtype of floats, or None. Raises ValueError for another one."""
    if dtype is not None and not as_dtype(dtype).is_floating:
        raise ValueError(f"Expected floating point type, got {as_dtype(dtype)}.")
    return dtype


class Zeros(Initializer):
    def __init__(self, dtype: Any = None):
        self.dtype = dtype

    def values(self, shape: list[int], dtype: Any) -> Any:
        return arrays.zeros(shape, dtype)


class Ones(Zeros):
    def values(self, shape: list[int], dtype: Any) -> Any:
        return arrays.ones(shape, dtype)


class Constant(Initializer):
    """A number everywhere, or the elements of an array in the variable's shape."""

    def __init__(self, value: Any = 0, dtype: Any = None, verify_shape: bool = False):
        self.value, self.dtype, self.verify_shape = value, dtype, verify_shape

    def values(self, shape: list[int], dtype: Any) -> Any:
        return arrays.constant(self.value, dtype, shape, verify_shape=self.verify_shape)


class RandomNormal(Initializer):
    def __init__(self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = None):
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, _floating(dtype)

    def values(self, shape: list[int], dtype: Any) -> Any:
        return draws.random_normal(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    def values(self, shape: list[int], dtype: Any) -> Any:
        return draws.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


class RandomUniform(Initializer):
    def __init__(self, minval: float = 0, maxval: float | None = None, seed: int | None = None, dtype: Any = None):
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, dtype

    def values(self, shape: list[int], dtype: Any) -> Any:
        return draws.random_uniform(shape, self.minval, self.maxval, dtype, self.seed)


class VarianceScaling(Initializer):
    """Numbers of variance scale / n, with n the number of inputs ("fan_in"), outputs, or the mean of both ("fan_avg").

    Sources: Glorot and Bengio, AISTATS 2010 (fan_avg); He et al., ICCV 2015 (fan_in, scale 2).
    """

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal", seed: int | None = None,
        dtype: Any = None,
    ):  # fmt: skip
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError("Invalid `mode` argument:", mode)
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError("Invalid `distribution` argument:", distribution)
        self.scale, self.mode, self.distribution = scale, mode, distribution
        self.seed, self.dtype = seed, _floating(dtype)

    def values(self, shape: list[int], dtype: Any) -> Any:
        field = math.prod(shape[:-2])
        fan_in, fan_out = (1, 1) if not shape else (shape[0], shape[0]) if len(shape) == 1 else (
            field * shape[-2], field * shape[-1])  # fmt: skip
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, n)
        if self.distribution == "uniform":
            limit = math.sqrt(3 * variance)
            return draws.random_uniform(shape, -limit, limit, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            return draws.random_normal(shape, 0.0, math.sqrt(variance), dtype, self.seed)
        # .8796: the standard deviation of a normal distribution truncated to (-2, 2)
        return draws.truncated_normal(shape, 0.0, math.sqrt(variance) / 0.87962566103423978, dtype, self.seed)


class Identity(Initializer):
    """The identity matrix, times `gain`."""

    def __init__(self, gain: float = 1.0, dtype: Any = None):
        self.gain, self.dtype = gain, _floating(dtype)

    def values(self, shape: list[int], dtype: Any) -> Any:
        return arrays.constant(self.gain * np.eye(shape[0], shape[1]), dtype)


class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns, times `gain`; the last axis is that of the columns. Saxe et al., 2014."""

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = None):
        self.gain, self.seed, self.dtype = gain, seed, _floating(dtype)

    def values(self, shape: list[int], dtype: Any) -> Any:
        from . import linalg

        if len(shape) < 2:
            raise ValueError(f"The tensor to initialize must be at least two-dimensional. Received: shape={shape}")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        q, r = linalg.qr(draws.random_normal([max(rows, columns), min(rows, columns)], dtype=dtype, seed=self.seed))
        signs = linalg.diag_part(r)
        q = q * arrays.where(signs < 0, -arrays.ones_like(signs), arrays.ones_like(signs))
        return arrays.reshape(arrays.transpose(q) if rows < columns else q, shape) * self.gain


class UniformUnitScaling(Initializer):
    """Uniform numbers in +-factor * sqrt(3 / inputs), with the product of all extents but the last as inputs."""

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = None):
        self.factor, self.seed, self.dtype = factor, seed, _floating(dtype)

    def values(self, shape: list[int], dtype: Any) -> Any:
        limit = math.sqrt(3 / max(1, math.prod(shape[:-1]))) * self.factor
        return draws.random_uniform(shape, -limit, limit, dtype, self.seed)


def _scaled(name: str, scale: float, mode: str, distribution: str) -> Callable[..., VarianceScaling]:
    def make(seed: int | None = None, dtype: Any = None) -> VarianceScaling:
        return VarianceScaling(scale, mode, distribution, seed, dtype)

    make.__name__ = name
    return make


glorot_uniform_initializer = _scaled("glorot_uniform_initializer", 1.0, "fan_avg", "uniform")
glorot_normal_initializer = _scaled("glorot_normal_initializer", 1.0, "fan_avg", "truncated_normal")
he_normal, he_uniform = _scaled("he_normal", 2.0, "fan_in", "truncated_normal"), _scaled("he_uniform", 2.0, "fan_in", "uniform")
lecun_normal = _scaled("lecun_normal", 1.0, "fan_in", "truncated_normal")
lecun_uniform = _scaled("lecun_uniform", 1.0, "fan_in", "uniform")
glorot_uniform, glorot_normal = glorot_uniform_initializer, glorot_normal_initializer
zeros = zeros_initializer = Zeros
ones = ones_initializer = Ones
constant = constant_initializer = Constant
random_normal = random_normal_initializer = RandomNormal
random_uniform = random_uniform_initializer = RandomUniform
truncated_normal = truncated_normal_initializer = TruncatedNormal
variance_scaling = variance_scaling_initializer = VarianceScaling
identity = Identity
orthogonal = orthogonal_initializer = Orthogonal
uniform_unit_scaling = uniform_unit_scaling_initializer = UniformUnitScaling
