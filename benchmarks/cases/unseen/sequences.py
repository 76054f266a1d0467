"""Time series and speech."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import scan, weights, workload

SERIES, CHANNELS, LENGTH, HORIZON = 16, 7, 336, 96
PATCH, STRIDE, WIDTH, HEADS = 16, 8, 64, 4
PATCHES = (LENGTH - PATCH) // STRIDE + 1


def series() -> Arrays:
    rng = np.random.default_rng(0)
    t = np.arange(LENGTH + HORIZON)
    phase, period = rng.uniform(0, 6, (4, SERIES, CHANNELS, 1)), rng.uniform(12, 48, (4, SERIES, CHANNELS, 1))
    values = np.sin(phase + 2 * np.pi * t / period) + 0.1 * rng.normal(0, 1, (4, SERIES, CHANNELS, len(t))).cumsum(-1)
    values = values.astype(np.float32)
    p = weights(
        rng, embed=(WIDTH, PATCH), embed_bias=(WIDTH,), head=(HORIZON, PATCHES * WIDTH), head_bias=(HORIZON,),
        scale_gain=(CHANNELS, 1), shift_bias=(CHANNELS, 1),
    )  # fmt: skip
    p["position"] = rng.normal(0, 0.02, (PATCHES, WIDTH)).astype(np.float32)
    for i in range(2):
        p |= weights(
            rng,
            **{
                f"qkv{i}": (3 * WIDTH, WIDTH), f"qkv{i}_bias": (3 * WIDTH,), f"out{i}": (WIDTH, WIDTH),
                f"out{i}_bias": (WIDTH,), f"up{i}": (2 * WIDTH, WIDTH), f"up{i}_bias": (2 * WIDTH,),
                f"down{i}": (WIDTH, 2 * WIDTH), f"down{i}_bias": (WIDTH,), f"a{i}_gain": (WIDTH,), f"a{i}_bias": (WIDTH,),
                f"b{i}_gain": (WIDTH,), f"b{i}_bias": (WIDTH,),
            },
        )  # fmt: skip
    return {"x": values[..., :LENGTH].copy(), "y": values[..., LENGTH:].copy()} | p


def patch_transformer(torch: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    F = torch.nn.functional
    mean, deviation = x.mean(-1, keepdim=True), torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5)
    h = (x - mean) / deviation * p["scale_gain"] + p["shift_bias"]
    h = h.unfold(-1, PATCH, STRIDE).reshape(SERIES * CHANNELS, PATCHES, PATCH)
    h = F.linear(h, p["embed"], p["embed_bias"]) + p["position"]
    for i in range(2):
        qkv = F.linear(h, p[f"qkv{i}"], p[f"qkv{i}_bias"])
        q, k, v = qkv.view(-1, PATCHES, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(-1, PATCHES, WIDTH)
        h = F.layer_norm(h + F.linear(a, p[f"out{i}"], p[f"out{i}_bias"]), (WIDTH,), p[f"a{i}_gain"], p[f"a{i}_bias"])
        u = F.gelu(F.linear(h, p[f"up{i}"], p[f"up{i}_bias"]))
        h = F.layer_norm(h + F.linear(u, p[f"down{i}"], p[f"down{i}_bias"]), (WIDTH,), p[f"b{i}_gain"], p[f"b{i}_bias"])
    out = F.linear(h.reshape(SERIES, CHANNELS, -1), p["head"], p["head_bias"])
    out = (out - p["shift_bias"]) / (p["scale_gain"] + 1e-8) * deviation + mean
    return F.mse_loss(out, y)


def patch_transformer_jax(jax: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    jnp = jax.numpy

    def norm(h: Any, name: str) -> Any:
        h = h - h.mean(-1, keepdims=True)
        return h * jax.lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-5) * p[name + "_gain"] + p[name + "_bias"]

    mean, deviation = x.mean(-1, keepdims=True), jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
    h = (x - mean) / deviation * p["scale_gain"] + p["shift_bias"]
    at = np.arange(PATCHES)[:, None] * STRIDE + np.arange(PATCH)
    h = h[..., at].reshape(SERIES * CHANNELS, PATCHES, PATCH) @ p["embed"].T + p["embed_bias"] + p["position"]
    for i in range(2):
        qkv = (h @ p[f"qkv{i}"].T + p[f"qkv{i}_bias"]).reshape(-1, PATCHES, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        w = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(WIDTH // HEADS))
        a = jnp.einsum("bhqk,bkhd->bqhd", w, v).reshape(-1, PATCHES, WIDTH)
        h = norm(h + a @ p[f"out{i}"].T + p[f"out{i}_bias"], f"a{i}")
        u = jax.nn.gelu(h @ p[f"up{i}"].T + p[f"up{i}_bias"], approximate=False)
        h = norm(h + u @ p[f"down{i}"].T + p[f"down{i}_bias"], f"b{i}")
    out = h.reshape(SERIES, CHANNELS, -1) @ p["head"].T + p["head_bias"]
    out = (out - p["shift_bias"]) / (p["scale_gain"] + 1e-8) * deviation + mean
    return ((out - y) ** 2).mean()


workload(
    "forecast", "PatchTST: 16 x 7 series of 336 values in 41 patches, two encoder layers of 64", series, patch_transformer,
    patch_transformer_jax, group=1, inputs=("x", "y"),
)  # fmt: skip

SOUNDS, SAMPLES, FILTERS, KERNEL, HOP = 4, 4000, 40, 401, 160


def sounds() -> Arrays:
    rng = np.random.default_rng(0)
    t, pitch = np.arange(SAMPLES), rng.uniform(0.05, 0.8, (4, SOUNDS, 1))
    x = np.sin(pitch * t) + 0.3 * rng.standard_normal((4, SOUNDS, SAMPLES))
    mel = np.linspace(0.02, 2.8, FILTERS)
    p = {
        "center": mel, "width": np.full(FILTERS, 60.0), "pool": np.full(FILTERS, 0.4), "alpha": np.full(FILTERS, 0.96),
        "delta": np.full(FILTERS, 2.0), "root": np.full(FILTERS, 2.0), "smooth": np.full(FILTERS, 0.04),
    }  # fmt: skip
    data = {"x": x, **p}
    labels = (pitch[..., 0] * 15).astype(np.int32)
    return (
        {name: value.astype(np.float32) for name, value in data.items()}
        | {"y": labels}
        | weights(rng, conv=(64, FILTERS, 3), conv_bias=(64,), out=(12, 64), out_bias=(12,))
    )


def learned_filters(torch: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    F = torch.nn.functional
    t = torch.arange(KERNEL, dtype=torch.float32) - KERNEL // 2
    width = p["width"][:, None]
    envelope = torch.exp(-0.5 * (t / width) ** 2) / (math.sqrt(2 * math.pi) * width)
    phase = p["center"][:, None] * t
    gabor = torch.cat([envelope * torch.cos(phase), envelope * torch.sin(phase)]).unsqueeze(1)
    h = F.conv1d(x.unsqueeze(1), gabor, padding=KERNEL // 2)
    energy = h[:, :FILTERS] ** 2 + h[:, FILTERS:] ** 2
    lowpass = torch.exp(-0.5 * (t / (p["pool"][:, None] * (KERNEL - 1) / 2)) ** 2).unsqueeze(1)
    energy = F.conv1d(energy, lowpass, stride=HOP, padding=KERNEL // 2, groups=FILTERS)
    energy = torch.clamp(energy, min=1e-5)
    frames = energy.permute(2, 0, 1)
    smooth = torch.clamp(p["smooth"], 0.0, 1.0)

    def cell(m: Any, e: Any) -> Any:
        m = smooth * e[0] + (1 - smooth) * m
        return m, m

    _, floor = scan(torch, cell, frames[0], (frames,))
    alpha, root = torch.clamp(p["alpha"], max=1.0), 1 / torch.clamp(p["root"], min=1.0)
    out = (frames / (1e-12 + floor) ** alpha + p["delta"]) ** root - p["delta"] ** root
    h = torch.relu(F.conv1d(out.permute(1, 2, 0), p["conv"], p["conv_bias"], padding=1)).mean(-1)
    return F.cross_entropy(F.linear(h, p["out"], p["out_bias"]), y)


def learned_filters_jax(jax: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    jnp = jax.numpy

    def conv(x: Any, w: Any, stride: int, padding: int, groups: int = 1) -> Any:
        return jax.lax.conv_general_dilated(
            x, w, (stride,), [(padding, padding)], dimension_numbers=("NCH", "OIH", "NCH"), feature_group_count=groups
        )

    t = jnp.arange(KERNEL, dtype=jnp.float32) - KERNEL // 2
    width = p["width"][:, None]
    envelope = jnp.exp(-0.5 * (t / width) ** 2) / (math.sqrt(2 * math.pi) * width)
    phase = p["center"][:, None] * t
    gabor = jnp.concatenate([envelope * jnp.cos(phase), envelope * jnp.sin(phase)])[:, None]
    h = conv(x[:, None], gabor, 1, KERNEL // 2)
    energy = h[:, :FILTERS] ** 2 + h[:, FILTERS:] ** 2
    lowpass = jnp.exp(-0.5 * (t / (p["pool"][:, None] * (KERNEL - 1) / 2)) ** 2)[:, None]
    energy = jnp.maximum(conv(energy, lowpass, HOP, KERNEL // 2, FILTERS), 1e-5)
    frames = energy.transpose(2, 0, 1)
    smooth = jnp.clip(p["smooth"], 0.0, 1.0)

    def cell(m: Any, e: Any) -> Any:
        m = smooth * e + (1 - smooth) * m
        return m, m

    _, floor = jax.lax.scan(cell, frames[0], frames)
    alpha, root = jnp.minimum(p["alpha"], 1.0), 1 / jnp.maximum(p["root"], 1.0)
    out = (frames / (1e-12 + floor) ** alpha + p["delta"]) ** root - p["delta"] ** root
    h = jax.nn.relu(conv(out.transpose(1, 2, 0), p["conv"], 1, 1) + p["conv_bias"][:, None]).mean(-1)
    z = jax.nn.log_softmax(h @ p["out"].T + p["out_bias"])
    return -jnp.take_along_axis(z, y[:, None], 1).mean()


workload(
    "speech", "LEAF: 40 learned Gabor filters of 401 taps, pooling, per-channel energy normalization, 4 x 4000 samples",
    sounds, learned_filters, learned_filters_jax, group=1, inputs=("x", "y"),
)  # fmt: skip
