"""Sound: a generator of samples, and a recognizer from its front end to its loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import weights, workload

CLIPS, LENGTH, LEVELS, CHANNELS, SKIP, LAYERS = 4, 2049, 64, 32, 64, 8


def clips() -> Arrays:
    rng = np.random.default_rng(0)
    t, pitch = np.arange(LENGTH), rng.uniform(0.02, 0.4, (4, CLIPS, 1))
    x = 0.6 * np.sin(pitch * t) + 0.1 * rng.standard_normal((4, CLIPS, LENGTH))
    codes = np.clip((x + 1) / 2 * LEVELS, 0, LEVELS - 1).astype(np.int32)
    p = weights(
        rng, levels=(LEVELS, CHANNELS), out0=(SKIP, SKIP, 1), out0_bias=(SKIP,), out1=(LEVELS, SKIP, 1), out1_bias=(LEVELS,)
    )
    for i in range(LAYERS):
        gates = {f"gate{i}": (2 * CHANNELS, CHANNELS, 2), f"gate{i}_bias": (2 * CHANNELS,)}
        p |= weights(rng, **gates, **{f"skip{i}": (SKIP, CHANNELS, 1), f"skip{i}_bias": (SKIP,)})
        if i + 1 < LAYERS:
            p |= weights(rng, **{f"on{i}": (CHANNELS, CHANNELS, 1), f"on{i}_bias": (CHANNELS,)})
    return {"codes": codes} | p


def dilated_convolutions(torch: Any, p: Any, c: Any, codes: Any) -> Any:
    F = torch.nn.functional
    h = F.embedding(codes[:, :-1], p["levels"]).transpose(1, 2)
    total: Any = 0
    for i in range(LAYERS):
        z = F.conv1d(F.pad(h, (2**i, 0)), p[f"gate{i}"], p[f"gate{i}_bias"], dilation=2**i)
        z = torch.tanh(z[:, :CHANNELS]) * torch.sigmoid(z[:, CHANNELS:])
        total = total + F.conv1d(z, p[f"skip{i}"], p[f"skip{i}_bias"])
        if i + 1 < LAYERS:
            h = h + F.conv1d(z, p[f"on{i}"], p[f"on{i}_bias"])
    h = torch.relu(F.conv1d(torch.relu(total), p["out0"], p["out0_bias"]))
    return F.cross_entropy(F.conv1d(h, p["out1"], p["out1_bias"]), codes[:, 1:])


def dilated_convolutions_jax(jax: Any, p: Any, c: Any, codes: Any) -> Any:
    """Channels last, a product for each tap: XLA's dilated convolutions take many times as long."""
    jnp = jax.numpy
    h = p["levels"][codes[:, :-1]]
    total: Any = 0
    for i in range(LAYERS):
        before = jnp.pad(h, ((0, 0), (2**i, 0), (0, 0)))[:, : LENGTH - 1]
        gate = p[f"gate{i}"]
        z = before @ gate[..., 0].T + h @ gate[..., 1].T + p[f"gate{i}_bias"]
        z = jnp.tanh(z[..., :CHANNELS]) * jax.nn.sigmoid(z[..., CHANNELS:])
        total = total + z @ p[f"skip{i}"][..., 0].T + p[f"skip{i}_bias"]
        if i + 1 < LAYERS:
            h = h + z @ p[f"on{i}"][..., 0].T + p[f"on{i}_bias"]
    h = jax.nn.relu(jax.nn.relu(total) @ p["out0"][..., 0].T + p["out0_bias"])
    z = jax.nn.log_softmax(h @ p["out1"][..., 0].T + p["out1_bias"])
    return -jnp.take_along_axis(z, codes[:, 1:, None], -1).mean()


workload(
    "wavenet", "WaveNet: 8 gated layers of 32 channels with dilations 1 to 128, 4 x 2048 samples of 64 levels", clips,
    dilated_convolutions, dilated_convolutions_jax, group=2, inputs=("codes",),
)  # fmt: skip

SPOKEN, SAMPLES, WINDOW, HOP, POINTS, FILTERS, WIDTH, LETTERS, WORD = 8, 8080, 400, 160, 512, 40, 64, 29, 10
FRAMES, BINS = (SAMPLES - WINDOW) // HOP + 1, POINTS // 2 + 1


def spoken() -> Arrays:
    rng = np.random.default_rng(0)
    t, pitch = np.arange(SAMPLES), rng.uniform(0.05, 1.5, (4, SPOKEN, 1))
    x = np.sin(pitch * t * (1 + 1e-5 * t)) + 0.2 * rng.standard_normal((4, SPOKEN, SAMPLES))
    middle, bins = np.linspace(4, BINS - 20, FILTERS), np.arange(BINS)
    filters = np.maximum(0, 1 - np.abs(bins[:, None] - middle) / np.linspace(3, 14, FILTERS))
    return {
        "x": x.astype(np.float32),
        "letters": rng.integers(1, LETTERS, (4, SPOKEN, WORD)).astype(np.int32),
        "hann": np.hanning(WINDOW).astype(np.float32),
        "filters": filters.astype(np.float32),
    } | weights(
        rng, conv0=(WIDTH, FILTERS, 5), conv0_bias=(WIDTH,), conv1=(WIDTH, WIDTH, 5), conv1_bias=(WIDTH,),
        out=(LETTERS, WIDTH), out_bias=(LETTERS,),
    )  # fmt: skip


def recognizer(torch: Any, p: Any, c: Any, x: Any, letters: Any) -> Any:
    F = torch.nn.functional
    spectrum = torch.fft.rfft(x.unfold(-1, WINDOW, HOP) * c["hann"], n=POINTS)
    power = spectrum.real**2 + spectrum.imag**2
    mel = torch.log(power @ torch.relu(p["filters"]) + 1e-5).transpose(1, 2)
    h = (mel - mel.mean(-1, keepdim=True)) / torch.sqrt(mel.var(-1, keepdim=True, unbiased=False) + 1e-5)
    for i in range(2):
        h = torch.relu(F.conv1d(h, p[f"conv{i}"], p[f"conv{i}_bias"], padding=2))
    z = torch.log_softmax(F.linear(h.permute(2, 0, 1), p["out"], p["out_bias"]), -1)
    return F.ctc_loss(z, letters, torch.full((SPOKEN,), FRAMES), torch.full((SPOKEN,), WORD))


def recognizer_jax(jax: Any, p: Any, c: Any, x: Any, letters: Any) -> Any:
    jnp = jax.numpy
    never = -1e30

    def conv(h: Any, name: str) -> Any:
        numbers = ("NHC", "OIH", "NHC")
        h = jax.lax.conv_general_dilated(h, p[name], (1,), [(2, 2)], dimension_numbers=numbers)
        return jax.nn.relu(h + p[name + "_bias"])

    at = np.arange(FRAMES)[:, None] * HOP + np.arange(WINDOW)
    spectrum = jnp.fft.rfft(x[:, at] * c["hann"], POINTS)
    mel = jnp.log((spectrum.real**2 + spectrum.imag**2) @ jax.nn.relu(p["filters"]) + 1e-5)
    h = (mel - mel.mean(1, keepdims=True)) / jnp.sqrt(mel.var(1, keepdims=True) + 1e-5)
    h = conv(conv(h, "conv0"), "conv1")
    z = jax.nn.log_softmax(h @ p["out"].T + p["out_bias"])
    path = jnp.zeros((SPOKEN, 2 * WORD + 1), jnp.int32).at[:, 1::2].set(letters)
    skips = jnp.pad((path[:, 2:] != 0) & (path[:, 2:] != path[:, :-2]), ((0, 0), (2, 0)))
    heard = jnp.take_along_axis(z, path[:, None], -1).swapaxes(0, 1)

    def cell(alpha: Any, heard: Any) -> Any:
        one = jnp.pad(alpha[:, :-1], ((0, 0), (1, 0)), constant_values=never)
        two = jnp.where(skips, jnp.pad(alpha[:, :-2], ((0, 0), (2, 0)), constant_values=never), never)
        return jnp.logaddexp(jnp.logaddexp(alpha, one), two) + heard, None

    alpha = jnp.where(np.arange(2 * WORD + 1) < 2, heard[0], never)
    alpha, _ = jax.lax.scan(cell, alpha, heard[1:])
    return -(jnp.logaddexp(alpha[:, -1], alpha[:, -2]) / WORD).mean()


workload(
    "recognition", "8 x 8080 samples: Fourier transforms of frames, a learned mel filter bank, two convolutions, CTC loss",
    spoken, recognizer, recognizer_jax, group=2, inputs=("x", "letters"), constants=("hann",),
)  # fmt: skip
