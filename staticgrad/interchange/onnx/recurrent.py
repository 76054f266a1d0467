"""ONNX's recurrent layers, as loops over time; spectra, windows and random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import fft
from ...eager import rand, randn
from ...errors import ArgumentError
from ...ops.operators import F
from ...ops.random import Generator
from .elementwise import like
from .records import READERS, NodeContext, T, dtype_of, reader

Names = Sequence[str] | None
Step = Callable[[T, list[T]], list[T]]
DEFAULTS = {"LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "Elu": 1.0, "HardSigmoid": 0.2, "Affine": 1.0, "ScaledTanh": 1.0}
SECOND = {"HardSigmoid": 0.5, "Affine": 0.0, "ScaledTanh": 1.0}


def _activations(
    names: Names, alphas: Any, betas: Any, default: Sequence[str], directions: int
) -> list[list[Callable[[T], T]]]:
    """The activation functions of each direction."""
    given = list(names) if names else [*default] * directions
    first, second = list(alphas or ()), list(betas or ())
    functions = []
    for name in given:
        a = first.pop(0) if name in DEFAULTS and first else DEFAULTS.get(name, 0.0)
        b = second.pop(0) if name in SECOND and second else SECOND.get(name, 0.0)
        functions.append(_activation(name, a, b))
    return [functions[i : i + len(default)] for i in range(0, len(functions), len(default))]


def _activation(name: str, alpha: float, beta: float) -> Callable[[T], T]:
    if name == "Affine":
        return lambda x: x * like(alpha, x) + like(beta, x)
    if name == "ScaledTanh":
        return lambda x: F.tanh(x * like(beta, x)) * like(alpha, x)
    record = READERS.get(("", name))
    if record is None:
        raise ArgumentError(f"ONNX: the activation {name!r} is unknown")
    if name == "HardSigmoid":
        return lambda x: record.write(x, alpha=alpha, beta=beta)
    if name in DEFAULTS:
        return lambda x: record.write(x, alpha=alpha)
    return record.write


def _layer(
    x: T, lengths: T, states: Sequence[T], layout: int, direction: str, step: Callable[[int], Step],
    prepare: Callable[[T, int], T],
) -> tuple[T, ...]:  # fmt: skip
    """The states after each step of each direction, and the last ones. prepare: the part of the gates that needs no state."""
    x = F.swapaxes(x, 0, 1) if layout else x
    outputs, lasts = [], []
    directions = 2 if direction == "bidirectional" else 1
    for d in range(directions):
        backward = direction == "reverse" or d == 1
        given = F.flip(x, (0,)) if backward and lengths is None else x
        active: Any = None
        if lengths is not None:
            times = np.arange(x.shape[0])[:, None]
            active = F.lt(times, F.expand_dims(lengths, 0))  # (time, batch)
            if backward:
                order = F.where(active, F.expand_dims(lengths, 0) - 1 - times, times)
                given = F.take_along_axis(x, F.broadcast_to(F.expand_dims(order, 2), tuple(x.shape)), 0)
        rule = step(d)

        def body(carry: list[T], item: Any, rule: Step = rule) -> tuple[list[T], T]:
            gates, on = item if isinstance(item, tuple) else (item, None)
            after = rule(gates, carry)
            if on is None:
                return after, after[0]
            on = F.expand_dims(on, 1)
            kept = [F.where(on, new, old) for new, old in zip(after, carry, strict=True)]
            return kept, F.where(on, after[0], like(0, after[0]))

        start = [s[:, d] if layout else s[d] for s in states]
        gates = prepare(given, d)
        last, ys = F.scan(body, start, gates if active is None else (gates, active))
        if backward:
            if lengths is None:
                ys = F.flip(ys, (0,))
            else:
                ys = F.take_along_axis(ys, F.broadcast_to(F.expand_dims(order, 2), tuple(ys.shape)), 0)
        outputs.append(ys)
        lasts.append(last)
    y = F.stack(outputs, 1)  # (time, directions, batch, hidden)
    finals = [F.stack([last[i] for last in lasts], 1 if layout else 0) for i in range(len(states))]
    return (F.permute(y, (2, 0, 1, 3)) if layout else y, *finals)


def _start(x: T, given: T, directions: int, hidden: int, layout: int) -> T:
    if given is not None:
        return given
    batch = x.shape[0] if layout else x.shape[1]
    return np.zeros((batch, directions, hidden) if layout else (directions, batch, hidden), x.dtype)


def _clipped(x: T, clip: float | None) -> T:
    return x if clip is None else F.clip(x, -clip, clip)


def _bias(bias: T, d: int, size: int) -> tuple[T, T]:
    """The halves of the bias: that of the input and that of the state."""
    return (0, 0) if bias is None else (bias[d, :size], bias[d, size:])


def _gates(x: T, w: T, bias: T) -> T:
    return F.matmul(x, F.permute(w, (1, 0))) + bias


@reader("RNN")
def _rnn(
    x: T, w: T, r: T, b: T = None, lengths: T = None, h: T = None, *, activation_alpha: Any = None, activation_beta: Any = None,
    activations: Names = None, clip: float | None = None, direction: str = "forward", hidden_size: int | None = None,
    layout: int = 0, call: NodeContext,
) -> T:  # fmt: skip
    directions, hidden = w.shape[0], r.shape[-1]
    functions = _activations(activations, activation_alpha, activation_beta, ["Tanh"], directions)

    def step(d: int) -> Step:
        f, recurrence = functions[d][0], F.permute(r[d], (1, 0))
        second = _bias(b, d, hidden)[1]
        return lambda gates, carry: [f(_clipped(gates + F.matmul(carry[0], recurrence) + second, clip))]

    start = _start(x, h, directions, hidden, layout)
    prepare = lambda xs, d: _gates(xs, w[d], _bias(b, d, hidden)[0])  # noqa: E731
    return _layer(x, lengths, [start], layout, direction, step, prepare)[: call.outputs]


@reader("GRU")
def _gru(
    x: T, w: T, r: T, b: T = None, lengths: T = None, h: T = None, *, activation_alpha: Any = None, activation_beta: Any = None,
    activations: Names = None, clip: float | None = None, direction: str = "forward", hidden_size: int | None = None,
    layout: int = 0, linear_before_reset: int = 0, call: NodeContext,
) -> T:  # fmt: skip
    directions, n = w.shape[0], r.shape[-1]
    functions = _activations(activations, activation_alpha, activation_beta, ["Sigmoid", "Tanh"], directions)

    def step(d: int) -> Step:
        f, g = functions[d]
        both, last = F.permute(r[d, : 2 * n], (1, 0)), F.permute(r[d, 2 * n :], (1, 0))
        second = _bias(b, d, 3 * n)[1]
        bias_zr, bias_h = (0, 0) if b is None else (second[: 2 * n], second[2 * n :])

        def rule(gates: T, carry: list[T]) -> list[T]:
            (before,) = carry
            zr = f(_clipped(gates[:, : 2 * n] + F.matmul(before, both) + bias_zr, clip))
            z, reset = zr[:, :n], zr[:, n:]
            if linear_before_reset:
                inner = reset * (F.matmul(before, last) + bias_h)
            else:
                inner = F.matmul(reset * before, last) + bias_h
            new = g(_clipped(gates[:, 2 * n :] + inner, clip))
            return [(1 - z) * new + z * before]

        return rule

    start = _start(x, h, directions, n, layout)
    prepare = lambda xs, d: _gates(xs, w[d], _bias(b, d, 3 * n)[0])  # noqa: E731
    return _layer(x, lengths, [start], layout, direction, step, prepare)[: call.outputs]


@reader("LSTM")
def _lstm(
    x: T, w: T, r: T, b: T = None, lengths: T = None, h: T = None, c: T = None, p: T = None, *, activation_alpha: Any = None,
    activation_beta: Any = None, activations: Names = None, clip: float | None = None, direction: str = "forward",
    hidden_size: int | None = None, input_forget: int = 0, layout: int = 0, call: NodeContext,
) -> T:  # fmt: skip
    directions, n = w.shape[0], r.shape[-1]
    functions = _activations(activations, activation_alpha, activation_beta, ["Sigmoid", "Tanh", "Tanh"], directions)

    def step(d: int) -> Step:
        f, g, out = functions[d]
        recurrence = F.permute(r[d], (1, 0))
        second = _bias(b, d, 4 * n)[1]
        peep = [None] * 3 if p is None else [p[d, i * n : (i + 1) * n] for i in range(3)]

        def gate(gates: T, i: int, weight: T, cell: T) -> T:
            part = gates[:, i * n : (i + 1) * n]
            return f(_clipped(part if weight is None else part + weight * cell, clip))

        def rule(given: T, carry: list[T]) -> list[T]:
            before, cell = carry
            gates = given + F.matmul(before, recurrence) + second
            first = gate(gates, 0, peep[0], cell)
            forget = 1 - first if input_forget else gate(gates, 2, peep[2], cell)
            cell = forget * cell + first * g(_clipped(gates[:, 3 * n :], clip))
            return [gate(gates, 1, peep[1], cell) * out(cell), cell]

        return rule

    starts = [_start(x, state, directions, n, layout) for state in (h, c)]
    prepare = lambda xs, d: _gates(xs, w[d], _bias(b, d, 4 * n)[0])  # noqa: E731
    return _layer(x, lengths, starts, layout, direction, step, prepare)[: call.outputs]


# ONNX's spectra and windows, and random numbers ----------------------------------------------------------------------


def _complex(x: T) -> T:
    """The complex numbers whose parts the last axis holds; of an axis of one, real numbers."""
    return x[..., 0] if x.shape[-1] == 1 else F.view_as_complex(x.contiguous())


@reader("DFT", values=(1, 2))
def _dft(x: T, length: T = None, axis_input: T = None, *, axis: int | None = None, inverse: int = 0, onesided: int = 0) -> T:
    along = int(axis_input) if axis_input is not None else 1 if axis is None else axis
    along = along % x.ndim if along < 0 else along
    n = None if length is None else int(length)
    if onesided and inverse:
        return F.expand_dims(fft.irfft(_complex(x), n, along), -1)
    signal = _complex(x)
    if onesided:
        return F.view_as_real(fft.rfft(signal, n, along))
    return F.view_as_real((fft.ifft if inverse else fft.fft)(signal, n, along))


@reader("STFT", values=(1, 3))
def _stft(signal: T, step: T, window: T = None, length: T = None, *, onesided: int = 1) -> T:
    hop = int(step)
    size = int(length) if length is not None else window.shape[0]
    signal = signal if signal.ndim == 2 else _complex(signal)
    count = (signal.shape[-1] - size) // hop + 1
    places = np.arange(count)[:, None] * hop + np.arange(size)
    frames = F.reshape(F.index_select(signal, 1, places.reshape(-1)), (signal.shape[0], count, size))
    frames = frames if window is None else frames * window
    return F.view_as_real((fft.rfft if onesided and frames.dtype.kind == "f" else fft.fft)(frames, None, -1))


def _window(op: str, weights: tuple[float, ...]) -> None:
    @reader(op, values=(0,))
    def write(size: T, *, output_datatype: int = 1, periodic: int = 1) -> T:
        n = int(size)
        angle = 2 * np.pi * np.arange(n) / (n if periodic else n - 1)
        return sum(w * np.cos(i * angle) for i, w in enumerate(weights)).astype(dtype_of(output_datatype))  # type: ignore[union-attr]


_window("HannWindow", (0.5, -0.5))
_window("HammingWindow", (25 / 46, -21 / 46))
_window("BlackmanWindow", (0.42, -0.5, 0.08))


@reader("MelWeightMatrix", values=(0, 1, 2, 3, 4))
def _mel(bins: T, length: T, rate: T, low: T, high: T, *, output_datatype: int = 1) -> T:
    n = int(bins)
    ends = 2595 * np.log10(1 + np.array([float(low), float(high)]) / 700)
    step = (ends[1] - ends[0]) / (n + 2)
    hertz = 700 * (np.power(10, (np.arange(n + 2) * step + ends[0]) / 2595) - 1)
    place = ((int(length) + 1) * hertz // int(rate)).astype(np.int64)
    matrix = np.zeros((int(length) // 2 + 1, n))
    for i in range(n):
        first, center, last = place[i : i + 3]
        if center == first:
            matrix[center, i] = 1
        else:
            matrix[first : center + 1, i] = np.arange(center - first + 1) / (center - first)
        if last > center:
            matrix[center:last, i] = np.arange(last - center, 0, -1) / (last - center)
    return matrix.astype(dtype_of(output_datatype))


# random numbers: a node with a seed draws the same ones in every run


def _generator(seed: float | None) -> Generator | None:
    return None if seed is None else Generator().manual_seed(int(seed))


def _kind(x: T, dtype: int | None) -> np.dtype:
    return x.dtype if dtype is None else dtype_of(dtype)


@reader("RandomNormal")
def _random_normal(
    *, shape: tuple[int, ...], dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> T:
    return randn(shape, dtype=dtype_of(dtype), generator=_generator(seed)) * scale + mean


@reader("RandomUniform")
def _random_uniform(
    *, shape: tuple[int, ...], dtype: int = 1, low: float = 0.0, high: float = 1.0, seed: float | None = None
) -> T:
    return rand(shape, dtype=dtype_of(dtype), generator=_generator(seed)) * (high - low) + low


@reader("RandomNormalLike")
def _random_normal_like(
    x: T, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> T:
    return randn(tuple(x.shape), dtype=_kind(x, dtype), generator=_generator(seed)) * scale + mean


@reader("RandomUniformLike")
def _random_uniform_like(
    x: T, *, dtype: int | None = None, low: float = 0.0, high: float = 1.0, seed: float | None = None
) -> T:
    return rand(tuple(x.shape), dtype=_kind(x, dtype), generator=_generator(seed)) * (high - low) + low


@reader("Bernoulli")
def _bernoulli(x: T, *, dtype: int | None = None, seed: float | None = None) -> T:
    drawn = rand(tuple(x.shape), dtype=x.dtype, generator=_generator(seed))
    return F.astype(F.lt(drawn, x), _kind(x, dtype))


@reader("Multinomial")
def _multinomial(x: T, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None) -> T:
    return F.astype(F.multinomial(F.softmax(x, -1), sample_size, True, generator=_generator(seed)), dtype_of(dtype))


@reader("NonMaxSuppression", values=(0, 1, 2, 3, 4))
def _non_max_suppression(
    boxes: T, scores: T, most: T = None, overlap: T = None, least: T = None, *, center_point_box: int = 0
) -> T:
    limit = 0 if most is None else int(np.reshape(most, ()))
    share = 0.0 if overlap is None else float(np.reshape(overlap, ()))
    if center_point_box:
        centers, sizes = boxes[..., :2], boxes[..., 2:]
        low, high = centers - sizes / 2, centers + sizes / 2
    else:
        low, high = np.minimum(boxes[..., :2], boxes[..., 2:]), np.maximum(boxes[..., :2], boxes[..., 2:])
    areas = (high - low).prod(-1)
    found = []
    for b, c in np.ndindex(*scores.shape[:2]):
        kept: list[int] = []
        for i in np.argsort(-scores[b, c], kind="stable"):
            if len(kept) == limit or (least is not None and scores[b, c, i] <= float(np.reshape(least, ()))):
                break
            common = np.maximum(np.minimum(high[b, kept], high[b, i]) - np.maximum(low[b, kept], low[b, i]), 0).prod(-1)
            if not (common > share * (areas[b, kept] + areas[b, i] - common)).any():
                kept.append(int(i))
        found += [(b, c, i) for i in kept]
    return np.array(found, np.int64).reshape(-1, 3)
