"""`tf.random`: random tensors, drawn anew in each run, permutations, and draws that a seed alone decides.

They are not TensorFlow's numbers. Distributions without a formula for their samples go through their quantile functions.

An operation with a seed, its own or the graph's, has a generator of its own, which each session begins anew and each run
that draws from it advances: the same seeds give the same sequence, whatever else is run. Others share one generator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core import (
    FLOATING,
    REGISTRY,
    DrawPosition,
    F,
    OpDef,
    OwnGenerator,
    UnknownExtentError,
    apply,
    finfo,
    gamma_quantile,
    next_place,
    normal_op,
    seeded_normal_op,
    seeded_uniform_op,
    special,
    static,
    stream_seed,
    uniform_op,
)
from .dtypes import as_dtype, known_extents
from .graph import get_default_graph, get_seed
from .tensor import Operand, known, operation, tensor

NO_SIZES: frozenset[str] = frozenset()
"""Draws stay in the graph, whose order they follow: only the shape is put off."""


@operation("zeros", "Const")
def _of_shape(shape: Any, dtype: np.dtype) -> Any:
    return static.constant(np.zeros(known_extents(shape), dtype))


class Numbers:
    """The random numbers of one operation, whose seed may be None."""

    def __init__(self, seed: int | None):
        graph = get_default_graph()
        of_graph, own = get_seed(seed)
        self._next: Callable[[], DrawPosition] = lambda: next_place(graph)
        if of_graph is not None and own is not None:
            self._next = OwnGenerator(graph, stream_seed(of_graph, own)).next_place

    def draw(self, op: OpDef, shape: Any, dtype: Any) -> Any:
        """Numbers of a shape, which may be a tensor."""
        kind = np.dtype(dtype)
        place = self._next()
        try:
            return place.draw(op, shape=known_extents(known(shape)), dtype=kind)
        except UnknownExtentError:
            return place.draw(op, _of_shape(shape, kind).symbol, shape=None, dtype=kind)

    def like(self, op: OpDef, x: Any) -> Any:
        """Numbers of the shape and dtype of a tensor."""
        return self._next().draw(op, x, shape=None, dtype=x.dtype)


def uniform(shape: Any, seed: int | None = None) -> Any:
    """float32 numbers in [0, 1), of a shape."""
    return Numbers(seed).draw(uniform_op, shape, np.float32)


Draw = Callable[..., Any]
"""(record, shape, dtype) -> random numbers."""


def _normal(draw: Draw, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Any:
    kind = as_dtype(dtype).numpy
    return F.add(F.mul(draw(normal_op, shape, kind), tensor(stddev, kind)), tensor(mean, kind))


def _uniform(draw: Draw, shape: Any, minval: Any, maxval: Any, dtype: Any) -> Any:
    kind = as_dtype(dtype).numpy
    if kind.kind in FLOATING:
        low, high = tensor(minval, kind), tensor(1 if maxval is None else maxval, kind)
        return F.add(F.mul(draw(uniform_op, shape, kind), F.sub(high, low)), low)
    if maxval is None:
        raise ValueError(f"Must specify maxval for integer dtype {as_dtype(dtype)!r}")
    low, high = (F.astype(tensor(v), np.float64) for v in (minval, maxval))
    return F.astype(F.add(F.floor(F.mul(draw(uniform_op, shape, np.float64), F.sub(high, low))), low), kind)


@operation("random_normal", "RandomStandardNormal", NO_SIZES)
def random_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, seed: int | None = None) -> Any:
    """Normal numbers of a mean and standard deviation."""
    return _normal(Numbers(seed).draw, shape, mean, stddev, dtype)


@operation("random_uniform", "RandomUniform", NO_SIZES)
def random_uniform(shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = np.float32, seed: int | None = None) -> Any:
    """Uniform numbers in [minval, maxval); of integer dtypes integers, whose upper end has to be given."""
    return _uniform(Numbers(seed).draw, shape, minval, maxval, dtype)


REDRAWS = 8
"""Draws of a truncated normal number: none of so many is inside two standard deviations once in 5e10."""


@operation("truncated_normal", "TruncatedNormal", NO_SIZES)
def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, seed: int | None = None) -> Any:
    """Normal numbers, drawn again where they are more than two standard deviations from the mean."""
    kind, numbers = as_dtype(dtype).numpy, Numbers(seed)
    draws = numbers.draw(normal_op, shape, kind)
    for _ in range(REDRAWS - 1):
        draws = F.where(F.le(F.abs(draws), 2.0), draws, numbers.draw(normal_op, shape, kind))
    return F.add(F.mul(F.clip(draws, -2.0, 2.0), tensor(stddev, kind)), tensor(mean, kind))


@operation("dropout", "Dropout", NO_SIZES)
def dropout(x: Operand, keep_prob: Any = None, noise_shape: Any = None, seed: int | None = None, rate: Any = None) -> Any:
    """Each element zero with probability 1 - keep_prob (or `rate`), the others scaled by 1 / keep_prob.

    The probability may be a tensor, such as a placeholder.
    """
    if (keep_prob is None) == (rate is None):
        raise ValueError("dropout: give keep_prob or rate, not both")
    if x.dtype.kind not in FLOATING:
        raise ValueError(f"x has to be a floating point tensor since it's going to be scaled. Got a {x.dtype} tensor instead.")
    given = rate if keep_prob is None else keep_prob
    if isinstance(given, (int, float)) and not (0 < given <= 1 if rate is None else 0 <= given < 1):
        word = (
            "keep_prob must be a scalar tensor or a float in the range (0, 1]"
            if rate is None
            else ("rate must be a scalar tensor or a float in the range [0, 1)")
        )
        raise ValueError(f"{word}, got {given}")
    keep = tensor(keep_prob, x.dtype) if rate is None else F.sub(1.0, tensor(rate, x.dtype))
    if noise_shape is None:
        noise = Numbers(seed).like(uniform_op, x)
    else:
        noise = Numbers(seed).draw(uniform_op, noise_shape, x.dtype)
    return F.mul(F.div(x, keep), F.floor(F.add(noise, keep)))


# other distributions ----------------------------------------------------------------------------------------------------


def _by(seed: Any) -> Draw:
    """Numbers that follow from a seed of two integers: the same in each run."""
    state = F.astype(tensor(seed), np.int64)
    seeded = {uniform_op: seeded_uniform_op, normal_op: seeded_normal_op}

    def draw(op: Any, shape: Any, dtype: Any) -> Any:
        return apply(seeded[op], state, shape=known_extents(known(shape)), dtype=np.dtype(dtype))

    return draw


def _open(draw: Draw, shape: Any, dtype: Any) -> Any:
    """Uniform in (0, 1): quantiles of the ends are infinite."""
    u = draw(uniform_op, shape, dtype)
    tiny = float(finfo(dtype).eps) / 4
    return F.clip(u, tiny, 1 - float(finfo(dtype).eps / 2))


def _around(shape: Any, *parameters: Any) -> list[int]:
    """The shape with that of the parameters behind it."""
    inner = np.broadcast_shapes(*(p.shape for p in parameters))
    if None in inner:
        raise UnknownExtentError("the shape of a distribution's parameters has to be known when the graph is built")
    return [*known_extents(known(shape)), *inner]


def _gamma(draw: Draw, shape: Any, alpha: Any, beta: Any, kind: np.dtype) -> Any:
    a, b = tensor(alpha, kind), tensor(1.0 if beta is None else beta, kind)
    sizes = _around(shape, a, b)
    return F.div(gamma_quantile(F.broadcast_to(a, sizes), _open(draw, sizes, kind)), b)


@operation("random_gamma", "RandomGamma", NO_SIZES)
def random_gamma(shape: Any, alpha: Any, beta: Any = None, dtype: Any = np.float32, seed: int | None = None) -> Any:
    """`shape` numbers for each element of alpha (the shape parameter) and beta (the rate); differentiable in both."""
    return _gamma(Numbers(seed).draw, shape, alpha, beta, as_dtype(dtype).numpy)


@operation("random_poisson", "RandomPoissonV2", NO_SIZES)
def random_poisson(lam: Any, shape: Any, dtype: Any = np.float32, seed: int | None = None) -> Any:
    """`shape` Poisson numbers for each element of `lam`, the rate."""
    return _poisson(Numbers(seed).draw, shape, lam, as_dtype(dtype).numpy)


def _poisson(draw: Draw, shape: Any, lam: Any, kind: np.dtype) -> Any:
    rate = F.astype(tensor(lam), np.float64)
    sizes = _around(shape, rate)
    u = _open(draw, sizes, np.dtype(np.float64))
    return F.astype(apply(REGISTRY["poisson_quantile"], u, F.broadcast_to(rate, sizes)), kind)


def _categorical(draw: Draw, logits: Any, count: Any, kind: np.dtype) -> Any:
    """Gumbel's trick: the largest of logits + noise."""
    x = tensor(logits)
    rows, classes = x.shape
    if rows is None or classes is None:
        raise UnknownExtentError("the extents of the logits have to be known when the graph is built")
    u = _open(draw, [rows, int(known(count)), classes], x.dtype)
    noisy = F.sub(F.expand_dims(x, 1), F.log(F.neg(F.log(u))))
    return F.astype(F.argmax(noisy, axis=2), kind)


@operation("multinomial", "Multinomial", NO_SIZES)
def multinomial(logits: Any, num_samples: Any, seed: int | None = None, output_dtype: Any = None) -> Any:
    """(batch, num_samples) classes, drawn by the unnormalized logarithms of their probabilities (batch, classes)."""
    return _categorical(Numbers(seed).draw, logits, num_samples, as_dtype(output_dtype or np.int64).numpy)


def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: str | None = None) -> Any:
    """`multinomial`."""
    return multinomial(logits, num_samples, seed, dtype, name=name or "categorical")


@operation("RandomShuffle", sizes=NO_SIZES)
def random_shuffle(value: Operand, seed: int | None = None) -> Any:
    """The slices along the first axis in a random order."""
    first = F.astype(value, np.float32)
    first = (
        F.sum(first, axis=tuple(range(1, value.ndim))) if value.ndim > 1 else first
    )  # of its extent, whose value is not read
    keys = Numbers(seed).like(uniform_op, first)
    return F.take(value, F.argsort(keys), axis=0)


# by a seed alone ------------------------------------------------------------------------------------------------------


@operation("stateless_random_normal", "StatelessRandomNormalV2")
def stateless_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, alg: Any = "auto_select"
) -> Any:
    """Normal numbers."""
    return _normal(_by(seed), shape, mean, stddev, dtype)


@operation("stateless_random_uniform", "StatelessRandomUniformV2")
def stateless_uniform(
    shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = np.float32, alg: Any = "auto_select"
) -> Any:
    """Uniform numbers in [minval, maxval); integers for an integer dtype, whose upper end has to be given."""
    return _uniform(_by(seed), shape, minval, maxval, dtype)


@operation("stateless_truncated_normal", "StatelessTruncatedNormalV2")
def stateless_truncated_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, alg: Any = "auto_select"
) -> Any:
    """Normal numbers within two standard deviations."""
    return _truncated(shape, seed, mean, stddev, -2.0, 2.0, as_dtype(dtype).numpy)


@operation("stateless_parameterized_truncated_normal", "StatelessParameterizedTruncatedNormal")
def stateless_parameterized_truncated_normal(
    shape: Any, seed: Any, means: Any = 0.0, stddevs: Any = 1.0, minvals: Any = -2.0, maxvals: Any = 2.0
) -> Any:
    """Normal numbers between two ends."""
    means, stddevs, low, high = (tensor(v) for v in (means, stddevs, minvals, maxvals))
    a, b = (F.div(F.sub(end, means), stddevs) for end in (low, high))
    return _truncated(shape, seed, means, stddevs, a, b, means.dtype)


def _truncated(shape: Any, seed: Any, mean: Any, stddev: Any, low: Any, high: Any, kind: np.dtype) -> Any:
    """By the quantile function, between two ends in standard deviations from the mean."""
    u = _open(_by(seed), shape, kind)
    a, b = (special.ndtr(tensor(end, kind)) for end in (low, high))
    return F.add(F.mul(special.ndtri(F.add(a, F.mul(u, F.sub(b, a)))), tensor(stddev, kind)), tensor(mean, kind))


@operation("stateless_gamma", "StatelessRandomGammaV2")
def stateless_gamma(shape: Any, seed: Any, alpha: Any, beta: Any = None, dtype: Any = np.float32) -> Any:
    """Gamma numbers of a shape that ends with that of alpha and beta."""
    kind = as_dtype(dtype).numpy
    a, b = tensor(alpha, kind), tensor(1.0 if beta is None else beta, kind)
    u = _open(_by(seed), shape, kind)
    return F.div(gamma_quantile(F.broadcast_to(a, u.shape), u), b)


@operation("stateless_poisson", "StatelessRandomPoisson")
def stateless_poisson(shape: Any, seed: Any, lam: Operand, dtype: Any = np.int32) -> Any:
    """Poisson numbers of a shape that ends with that of the rates."""
    u = _open(_by(seed), shape, np.dtype(np.float64))
    rate = F.broadcast_to(F.astype(lam, np.float64), u.shape)
    return F.astype(apply(REGISTRY["poisson_quantile"], u, rate), as_dtype(dtype).numpy)


@operation("stateless_random_binomial", "StatelessRandomBinomial")
def stateless_binomial(shape: Any, seed: Any, counts: Any, probs: Any, output_dtype: Any = np.int32) -> Any:
    """Binomial numbers of a shape that ends with that of the counts and probabilities."""
    u = _open(_by(seed), shape, np.dtype(np.float64))
    n, p = (F.broadcast_to(F.astype(tensor(v), np.float64), u.shape) for v in (counts, probs))
    return F.astype(apply(REGISTRY["binomial_quantile"], u, n, p), as_dtype(output_dtype).numpy)


@operation("stateless_multinomial", "StatelessMultinomial")
def stateless_multinomial(logits: Any, num_samples: Any, seed: Any, output_dtype: Any = np.int64) -> Any:
    """`multinomial` by a seed alone."""
    return _categorical(_by(seed), logits, num_samples, as_dtype(output_dtype).numpy)


def stateless_categorical(logits: Any, num_samples: Any, seed: Any, dtype: Any = np.int64, name: str | None = None) -> Any:
    """`multinomial` by a seed alone."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name=name or "stateless_categorical")


SEEDS = 2.0**31


@operation("stateless_split", sizes=frozenset({"num"}))
def split(seed: Operand, num: int = 2, alg: Any = "auto_select") -> Any:
    """(num, 2) seeds from one."""
    return F.astype(F.floor(F.mul(_by(seed)(uniform_op, [int(num), 2], np.float64), SEEDS)), seed.dtype)


@operation("stateless_fold_in")
def fold_in(seed: Operand, data: Operand, alg: Any = "auto_select") -> Any:
    """A seed from a seed and a number."""
    mixed = F.add(F.astype(seed, np.int64), F.mul(F.astype(data, np.int64), static.constant(np.array([0, 1 << 20]))))
    return F.astype(F.floor(F.mul(_by(mixed)(uniform_op, [2], np.float64), SEEDS)), seed.dtype)
