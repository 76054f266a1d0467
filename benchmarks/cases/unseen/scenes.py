"""Rays through a scene, and images on a phone."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import weights, workload

RAYS, SAMPLES, WAVES, WIDTH, NEAR, FAR = 256, 32, 6, 64, 2.0, 6.0
CODE = 3 + 6 * WAVES


def rays() -> Arrays:
    rng = np.random.default_rng(0)
    toward = rng.normal(0, 0.3, (4, RAYS, 3)) + np.array([0, 0, 1])
    data = {
        "origin": rng.normal(0, 0.1, (4, RAYS, 3)) - np.array([0, 0, 4]), "draw": rng.random((4, RAYS, SAMPLES)),
        "toward": toward / np.linalg.norm(toward, axis=-1, keepdims=True), "seen": rng.random((4, RAYS, 3)),
    }  # fmt: skip
    return {name: value.astype(np.float32) for name, value in data.items()} | weights(
        rng, w0=(WIDTH, CODE), w0_bias=(WIDTH,), w1=(WIDTH, WIDTH), w1_bias=(WIDTH,), w2=(WIDTH, WIDTH + CODE),
        w2_bias=(WIDTH,), w3=(WIDTH, WIDTH), w3_bias=(WIDTH,), thick=(1, WIDTH), thick_bias=(1,), color0=(32, WIDTH + 3),
        color0_bias=(32,), color1=(3, 32), color1_bias=(3,),
    )  # fmt: skip


def radiance(torch: Any, p: Any, c: Any, origin: Any, toward: Any, draw: Any, seen: Any) -> Any:
    F = torch.nn.functional

    def layer(x: Any, name: str) -> Any:
        return F.linear(x, p[name], p[name + "_bias"])

    step = (FAR - NEAR) / SAMPLES
    depth = NEAR + (torch.arange(SAMPLES, dtype=torch.float32) + draw) * step
    place = origin.unsqueeze(1) + toward.unsqueeze(1) * depth.unsqueeze(-1)
    angle = (place.unsqueeze(-2) * (2.0 ** torch.arange(WAVES, dtype=torch.float32)).unsqueeze(-1)).flatten(-2)
    code = torch.cat([place, torch.sin(angle), torch.cos(angle)], -1)
    h = torch.relu(layer(torch.relu(layer(code, "w0")), "w1"))
    h = torch.relu(layer(torch.relu(layer(torch.cat([h, code], -1), "w2")), "w3"))
    thick = F.softplus(layer(h, "thick").squeeze(-1))
    h = torch.cat([h, toward.unsqueeze(1).expand(RAYS, SAMPLES, 3)], -1)
    color = torch.sigmoid(layer(torch.relu(layer(h, "color0")), "color1"))
    length = torch.cat([depth[:, 1:] - depth[:, :-1], torch.full((RAYS, 1), step)], 1)
    opaque = 1 - torch.exp(-thick * length)
    left = torch.cumprod(1 - opaque + 1e-6, -1)
    share = opaque * torch.cat([torch.ones(RAYS, 1), left[:, :-1]], 1)
    return F.mse_loss((share.unsqueeze(-1) * color).sum(1) + (1 - share.sum(1, keepdim=True)), seen)


def radiance_jax(jax: Any, p: Any, c: Any, origin: Any, toward: Any, draw: Any, seen: Any) -> Any:
    jnp = jax.numpy

    def layer(x: Any, name: str) -> Any:
        return x @ p[name].T + p[name + "_bias"]

    step = (FAR - NEAR) / SAMPLES
    depth = NEAR + (jnp.arange(SAMPLES, dtype=jnp.float32) + draw) * step
    place = origin[:, None] + toward[:, None] * depth[..., None]
    angle = (place[..., None, :] * (2.0 ** jnp.arange(WAVES, dtype=jnp.float32))[:, None]).reshape(RAYS, SAMPLES, -1)
    code = jnp.concatenate([place, jnp.sin(angle), jnp.cos(angle)], -1)
    h = jax.nn.relu(layer(jax.nn.relu(layer(code, "w0")), "w1"))
    h = jax.nn.relu(layer(jax.nn.relu(layer(jnp.concatenate([h, code], -1), "w2")), "w3"))
    thick = jax.nn.softplus(layer(h, "thick")[..., 0])
    h = jnp.concatenate([h, jnp.broadcast_to(toward[:, None], (RAYS, SAMPLES, 3))], -1)
    color = jax.nn.sigmoid(layer(jax.nn.relu(layer(h, "color0")), "color1"))
    length = jnp.concatenate([depth[:, 1:] - depth[:, :-1], jnp.full((RAYS, 1), step)], 1)
    opaque = 1 - jnp.exp(-thick * length)
    left = jnp.cumprod(1 - opaque + 1e-6, -1)
    share = opaque * jnp.concatenate([jnp.ones((RAYS, 1)), left[:, :-1]], 1)
    return (((share[..., None] * color).sum(1) + (1 - share.sum(1, keepdims=True)) - seen) ** 2).mean()


workload(
    "radiance", "NeRF: 256 rays of 32 samples, places as waves of 6 octaves, four layers of 64 with a skip, composition", rays,
    radiance, radiance_jax, group=3, inputs=("origin", "toward", "draw", "seen"),
)  # fmt: skip

IMAGES, SIDE, STEM, KINDS, LAST = 16, 32, 16, 10, 96
BLOCKS = ((16, 64, 24, 2), (24, 96, 24, 1), (24, 96, 40, 2), (40, 160, 40, 1))
"""Channels before, within and after, and the stride."""


def pictures() -> Arrays:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, KINDS, (4, IMAGES))
    x = rng.standard_normal((4, IMAGES, 3, SIDE, SIDE)) + np.sin(np.arange(SIDE) * (1 + kind[..., None, None, None]) / 3)
    p = weights(
        rng, stem=(STEM, 3, 3, 3), stem_gain=(STEM,), stem_bias=(STEM,), last=(LAST, BLOCKS[-1][2]), last_bias=(LAST,),
        out=(KINDS, LAST), out_bias=(KINDS,),
    )  # fmt: skip
    for i, (before, within, after, _) in enumerate(BLOCKS):
        shapes = {"up": (within, before, 1, 1), "deep": (within, 1, 3, 3), "down": (after, within, 1, 1)}
        for name, shape in shapes.items():
            p |= weights(rng, **{f"{name}{i}": shape, f"{name}{i}_gain": shape[:1], f"{name}{i}_bias": shape[:1]})
        del p[f"down{i}_bias"]  # the next normalization takes it away, and Adam steps by the noise that is left of its gradient
        for name, shape in {"less": (within // 4, within), "more": (within, within // 4)}.items():
            p |= weights(rng, **{f"{name}{i}": shape, f"{name}{i}_bias": shape[:1]})
    return {"x": x.astype(np.float32), "kind": kind.astype(np.int32)} | p


def mobile(torch: Any, p: Any, c: Any, x: Any, kind: Any) -> Any:
    F = torch.nn.functional

    def normal(h: Any, name: str) -> Any:
        return F.batch_norm(h, None, None, p[name + "_gain"], p.get(name + "_bias"), training=True)

    h = F.hardswish(normal(F.conv2d(x, p["stem"], stride=2, padding=1), "stem"))
    for i, (before, within, after, stride) in enumerate(BLOCKS):
        u = F.hardswish(normal(F.conv2d(h, p[f"up{i}"]), f"up{i}"))
        u = F.conv2d(u, p[f"deep{i}"], stride=stride, padding=1, groups=within)
        u = F.hardswish(normal(u, f"deep{i}"))
        share = torch.relu(F.linear(u.mean((2, 3)), p[f"less{i}"], p[f"less{i}_bias"]))
        share = F.hardsigmoid(F.linear(share, p[f"more{i}"], p[f"more{i}_bias"]))
        u = normal(F.conv2d(u * share[:, :, None, None], p[f"down{i}"]), f"down{i}")
        h = h + u if stride == 1 and before == after else u
    h = F.hardswish(F.linear(h.mean((2, 3)), p["last"], p["last_bias"]))
    return F.cross_entropy(F.linear(h, p["out"], p["out_bias"]), kind)


def mobile_jax(jax: Any, p: Any, c: Any, x: Any, kind: Any) -> Any:
    """Channels last; a convolution of each channel is a sum of nine products, which XLA's own takes longer for."""
    jnp = jax.numpy

    def normal(h: Any, name: str) -> Any:
        h = h - h.mean((0, 1, 2))
        h = h * jax.lax.rsqrt((h * h).mean((0, 1, 2)) + 1e-5) * p[name + "_gain"]
        return h + p[name + "_bias"] if name + "_bias" in p else h

    def deep(h: Any, w: Any, stride: int) -> Any:
        side = h.shape[1]
        h = jnp.pad(h, ((0, 0), (1, 1), (1, 1), (0, 0)))
        taps = ((a, b) for a in range(3) for b in range(3))
        return sum(h[:, a : a + side : stride, b : b + side : stride] * w[:, 0, a, b] for a, b in taps)

    h = jax.lax.conv_general_dilated(
        x.transpose(0, 2, 3, 1), p["stem"], (2, 2), ((1, 1), (1, 1)), dimension_numbers=("NHWC", "OIHW", "NHWC")
    )
    h = jax.nn.hard_swish(normal(h, "stem"))
    for i, (before, _, after, stride) in enumerate(BLOCKS):
        u = jax.nn.hard_swish(normal(h @ p[f"up{i}"][:, :, 0, 0].T, f"up{i}"))
        u = jax.nn.hard_swish(normal(deep(u, p[f"deep{i}"], stride), f"deep{i}"))
        share = jax.nn.relu(u.mean((1, 2)) @ p[f"less{i}"].T + p[f"less{i}_bias"])
        share = jax.nn.hard_sigmoid(share @ p[f"more{i}"].T + p[f"more{i}_bias"])
        u = normal((u * share[:, None, None]) @ p[f"down{i}"][:, :, 0, 0].T, f"down{i}")
        h = h + u if stride == 1 and before == after else u
    h = jax.nn.hard_swish(h.mean((1, 2)) @ p["last"].T + p["last_bias"])
    z = jax.nn.log_softmax(h @ p["out"].T + p["out_bias"])
    return -jnp.take_along_axis(z, kind[:, None], 1).mean()


workload(
    "mobile", "MobileNet v3: 16 images of 32 x 32, four inverted residuals of 64 to 160 channels, squeeze and excitation",
    pictures, mobile, mobile_jax, group=3, inputs=("x", "kind"),
)  # fmt: skip
