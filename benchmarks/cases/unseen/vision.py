"""Images and point clouds of moderate size."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import weights, workload

IMAGES, SIDE, GROUPS, WAVES, TIME = 8, 32, 8, 16, 64
BLOCKS = {"down0": (3, 32), "down1": (32, 64), "middle": (64, 64), "up1": (128, 64), "up0": (96, 32)}
"""Channels before and after."""


def noisy() -> Arrays:
    rng = np.random.default_rng(0)
    place = np.linspace(-1, 1, SIDE)
    waves = np.sin(rng.uniform(1, 6, (4, IMAGES, 3, 1, 1)) * place + rng.uniform(1, 6, (4, IMAGES, 3, 1, 1)) * place[:, None])
    time, noise = rng.uniform(0.02, 0.98, (4, IMAGES)), rng.standard_normal((4, IMAGES, 3, SIDE, SIDE))
    part = time[..., None, None, None]
    data = {"x": np.sqrt(1 - part) * waves + np.sqrt(part) * noise, "noise": noise, "time": time}
    p = weights(rng, time0=(TIME, 2 * WAVES), time0_bias=(TIME,), out=(3, 32, 1, 1), out_bias=(3,))
    for name, (before, after) in BLOCKS.items():
        p |= weights(
            rng,
            **{
                f"{name}a": (after, before, 3, 3), f"{name}a_gain": (after,), f"{name}a_bias": (after,),
                f"{name}b": (after, after, 3, 3), f"{name}b_gain": (after,), f"{name}b_bias": (after,),
                f"{name}t": (after, TIME), f"{name}t_bias": (after,),
            },
        )  # fmt: skip
    return {name: value.astype(np.float32) for name, value in data.items()} | p


def denoiser(torch: Any, p: Any, c: Any, x: Any, time: Any, noise: Any) -> Any:
    F = torch.nn.functional
    angle = time[:, None] * torch.exp(torch.linspace(0.0, 5.0, WAVES))
    when = F.silu(F.linear(torch.cat([torch.sin(angle), torch.cos(angle)], 1), p["time0"], p["time0_bias"]))

    def layer(h: Any, name: str) -> Any:
        return F.silu(F.group_norm(F.conv2d(h, p[name], padding=1), GROUPS, p[name + "_gain"], p[name + "_bias"]))

    def block(h: Any, name: str) -> Any:
        moved = F.linear(when, p[name + "t"], p[name + "t_bias"])[:, :, None, None]
        return layer(layer(h, name + "a") + moved, name + "b")

    high = block(x, "down0")
    low = block(F.avg_pool2d(high, 2), "down1")
    h = block(F.avg_pool2d(low, 2), "middle")
    h = block(torch.cat([F.interpolate(h, scale_factor=2, mode="nearest"), low], 1), "up1")
    h = block(torch.cat([F.interpolate(h, scale_factor=2, mode="nearest"), high], 1), "up0")
    return F.mse_loss(F.conv2d(h, p["out"], p["out_bias"]), noise)


def denoiser_jax(jax: Any, p: Any, c: Any, x: Any, time: Any, noise: Any) -> Any:
    """Channels last, as XLA's convolutions want them."""
    jnp = jax.numpy
    angle = time[:, None] * jnp.exp(jnp.linspace(0.0, 5.0, WAVES))
    when = jax.nn.silu(jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], 1) @ p["time0"].T + p["time0_bias"])

    def layer(h: Any, name: str) -> Any:
        h = jax.lax.conv_general_dilated(h, p[name], (1, 1), "SAME", dimension_numbers=("NHWC", "OIHW", "NHWC"))
        g = h.reshape(*h.shape[:3], GROUPS, -1)
        g = g - g.mean((1, 2, 4), keepdims=True)
        g = g * jax.lax.rsqrt((g * g).mean((1, 2, 4), keepdims=True) + 1e-5)
        return jax.nn.silu(g.reshape(h.shape) * p[name + "_gain"] + p[name + "_bias"])

    def block(h: Any, name: str) -> Any:
        moved = (when @ p[name + "t"].T + p[name + "t_bias"])[:, None, None]
        return layer(layer(h, name + "a") + moved, name + "b")

    def pooled(h: Any) -> Any:
        return h.reshape(h.shape[0], h.shape[1] // 2, 2, h.shape[2] // 2, 2, -1).mean((2, 4))

    def doubled(h: Any) -> Any:
        return h.repeat(2, 1).repeat(2, 2)

    high = block(x.transpose(0, 2, 3, 1), "down0")
    low = block(pooled(high), "down1")
    h = block(pooled(low), "middle")
    h = block(jnp.concatenate([doubled(h), low], -1), "up1")
    h = block(jnp.concatenate([doubled(h), high], -1), "up0")
    return ((h @ p["out"][:, :, 0, 0].T + p["out_bias"] - noise.transpose(0, 2, 3, 1)) ** 2).mean()


workload(
    "denoising", "U-Net of 32 and 64 channels for 8 images of 32 x 32: group normalization, time, skips joined", noisy,
    denoiser, denoiser_jax, group=2, inputs=("x", "time", "noise"),
)  # fmt: skip

CLOUDS, POINTS, NEAR, WIDTH, KINDS = 8, 256, 16, 64, 10


def clouds() -> Arrays:
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, KINDS, (4, CLOUDS)).astype(np.int32)
    x = rng.standard_normal((4, CLOUDS, POINTS, 3))
    x = x / np.linalg.norm(x, axis=-1, keepdims=True) ** (kinds[..., None, None] / KINDS)
    p = weights(rng, join=(128, 2 * WIDTH), join_gain=(128,), join_bias=(128,), out=(KINDS, 128), out_bias=(KINDS,))
    for i, before in enumerate((3, WIDTH)):
        p |= weights(rng, **{f"edge{i}": (WIDTH, 2 * before), f"edge{i}_gain": (WIDTH,), f"edge{i}_bias": (WIDTH,)})
    return {"x": x.astype(np.float32), "kinds": kinds} | p


def dynamic_graphs(torch: Any, p: Any, c: Any, x: Any, kinds: Any) -> Any:
    F = torch.nn.functional

    def layer(h: Any, name: str) -> Any:
        flat = F.linear(h, p[name]).flatten(0, -2)
        flat = F.batch_norm(flat, None, None, p[name + "_gain"], p[name + "_bias"], training=True)
        return F.leaky_relu(flat, 0.2).view(*h.shape[:-1], -1)

    first = torch.arange(CLOUDS)[:, None, None] * POINTS
    h, found = x, []
    for i in range(2):
        place = h.detach()
        length = (place * place).sum(-1)
        distance = length.unsqueeze(2) + length.unsqueeze(1) - 2 * torch.bmm(place, place.transpose(1, 2))
        near = torch.topk(distance, NEAR, largest=False)[1] + first
        around, own = h.flatten(0, 1)[near], h.unsqueeze(2)
        h = layer(torch.cat([around - own, own.expand_as(around)], -1), f"edge{i}").amax(2)
        found.append(h)
    h = layer(torch.cat(found, -1), "join").amax(1)
    return F.cross_entropy(F.linear(h, p["out"], p["out_bias"]), kinds)


def dynamic_graphs_jax(jax: Any, p: Any, c: Any, x: Any, kinds: Any) -> Any:
    jnp = jax.numpy

    def layer(h: Any, name: str) -> Any:
        h = h @ p[name].T
        axes = tuple(range(h.ndim - 1))
        h = h - h.mean(axes)
        h = h * jax.lax.rsqrt((h * h).mean(axes) + 1e-5) * p[name + "_gain"] + p[name + "_bias"]
        return jax.nn.leaky_relu(h, 0.2)

    h, found = x, []
    for i in range(2):
        place = jax.lax.stop_gradient(h)
        length = (place * place).sum(-1)
        distance = length[:, :, None] + length[:, None] - 2 * jnp.einsum("bic,bjc->bij", place, place)
        near = jax.lax.top_k(-distance, NEAR)[1] + np.arange(CLOUDS)[:, None, None] * POINTS
        around, own = h.reshape(CLOUDS * POINTS, -1)[near], h[:, :, None]
        h = layer(jnp.concatenate([around - own, jnp.broadcast_to(own, around.shape)], -1), f"edge{i}").max(2)
        found.append(h)
    h = layer(jnp.concatenate(found, -1), "join").max(1)
    z = jax.nn.log_softmax(h @ p["out"].T + p["out_bias"])
    return -jnp.take_along_axis(z, kinds[:, None], 1).mean()


workload(
    "clouds", "DGCNN: 8 clouds of 256 points, graphs of 16 neighbors by place and by features, two layers of 64", clouds,
    dynamic_graphs, dynamic_graphs_jax, group=2, inputs=("x", "kinds"),
)  # fmt: skip
