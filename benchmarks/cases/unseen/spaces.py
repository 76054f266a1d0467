"""States along time, and functions over a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import scan, weights, workload

SERIES, LENGTH, SIGNALS, WIDTH, INNER, STATE, TAPS, RANK, BLOCKS = 8, 128, 4, 32, 64, 16, 4, 2, 2


def signals() -> Arrays:
    rng = np.random.default_rng(0)
    x = rng.normal(0, 0.3, (4, SERIES, LENGTH + 1, SIGNALS)).cumsum(2)
    p = weights(rng, embed=(WIDTH, SIGNALS), embed_bias=(WIDTH,), out=(SIGNALS, WIDTH), out_bias=(SIGNALS,))
    for i in range(BLOCKS):
        p |= weights(
            rng,
            **{
                f"norm{i}_gain": (WIDTH,), f"in{i}": (2 * INNER, WIDTH), f"conv{i}": (INNER, 1, TAPS),
                f"conv{i}_bias": (INNER,), f"chosen{i}": (RANK + 2 * STATE, INNER), f"rate{i}": (INNER, RANK),
                f"skip{i}_gain": (INNER,), f"down{i}": (WIDTH, INNER),
            },
        )  # fmt: skip
        p[f"rate{i}_bias"] = np.log(np.expm1(rng.uniform(1e-3, 0.1, INNER))).astype(np.float32)
        p[f"decay{i}"] = np.log(np.tile(np.arange(1, STATE + 1), (INNER, 1))).astype(np.float32)
    return {"x": x[..., :-1, :].astype(np.float32, order="C"), "y": x[..., 1:, :].astype(np.float32, order="C")} | p


def selective(torch: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    F = torch.nn.functional
    h = F.linear(x, p["embed"], p["embed_bias"])
    for i in range(BLOCKS):
        z = h * torch.rsqrt((h * h).mean(-1, keepdim=True) + 1e-5) * p[f"norm{i}_gain"]
        u, gate = F.linear(z, p[f"in{i}"]).chunk(2, -1)
        u = F.conv1d(F.pad(u.transpose(1, 2), (TAPS - 1, 0)), p[f"conv{i}"], p[f"conv{i}_bias"], groups=INNER)
        u = F.silu(u).transpose(1, 2)
        rate, into, outof = torch.split(F.linear(u, p[f"chosen{i}"]), [RANK, STATE, STATE], -1)
        rate = F.softplus(F.linear(rate, p[f"rate{i}"], p[f"rate{i}_bias"]))
        decay = -torch.exp(p[f"decay{i}"])

        def cell(state: Any, x: Any, decay: Any = decay) -> Any:
            rate, u, into, outof = x
            state = torch.exp(rate.unsqueeze(-1) * decay) * state + (rate * u).unsqueeze(-1) * into.unsqueeze(1)
            return state, (state * outof.unsqueeze(1)).sum(-1)

        inputs = tuple(part.transpose(0, 1) for part in (rate, u, into, outof))
        _, found = scan(torch, cell, torch.zeros(SERIES, INNER, STATE), inputs)
        h = h + F.linear((found.transpose(0, 1) + u * p[f"skip{i}_gain"]) * F.silu(gate), p[f"down{i}"])
    return F.mse_loss(F.linear(h, p["out"], p["out_bias"]), y)


def selective_jax(jax: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    """The convolution by four taps is a sum of four rows."""
    jnp = jax.numpy
    h = x @ p["embed"].T + p["embed_bias"]
    for i in range(BLOCKS):
        z = h * jax.lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-5) * p[f"norm{i}_gain"]
        u, gate = jnp.split(z @ p[f"in{i}"].T, 2, -1)
        u = jnp.pad(u, ((0, 0), (TAPS - 1, 0), (0, 0)))
        u = sum(u[:, k : k + LENGTH] * p[f"conv{i}"][:, 0, k] for k in range(TAPS)) + p[f"conv{i}_bias"]
        u = jax.nn.silu(u)
        rate, into, outof = jnp.split(u @ p[f"chosen{i}"].T, [RANK, RANK + STATE], -1)
        rate = jax.nn.softplus(rate @ p[f"rate{i}"].T + p[f"rate{i}_bias"])
        decay = -jnp.exp(p[f"decay{i}"])

        def cell(state: Any, x: Any, decay: Any = decay) -> Any:
            rate, u, into, outof = x
            state = jnp.exp(rate[..., None] * decay) * state + (rate * u)[..., None] * into[:, None]
            return state, (state * outof[:, None]).sum(-1)

        inputs = tuple(part.swapaxes(0, 1) for part in (rate, u, into, outof))
        _, found = jax.lax.scan(cell, jnp.zeros((SERIES, INNER, STATE), jnp.float32), inputs)
        h = h + ((found.swapaxes(0, 1) + u * p[f"skip{i}_gain"]) * jax.nn.silu(gate)) @ p[f"down{i}"].T
    return ((h @ p["out"].T + p["out_bias"] - y) ** 2).mean()


workload(
    "selective", "Mamba: 8 series of 128 times, two blocks of width 32 with 64 channels of 16 states each", signals, selective,
    selective_jax, group=3, inputs=("x", "y"),
)  # fmt: skip

FIELDS, SIDE, CHANNELS, MODES, HEAD, LAYERS = 8, 32, 24, 8, 64, 4


def fields() -> Arrays:
    """Smooth fields, and what diffusion makes of them."""
    rng = np.random.default_rng(0)
    row, column = np.fft.fftfreq(SIDE, 1 / SIDE)[:, None], np.fft.rfftfreq(SIDE, 1 / SIDE)
    length = row**2 + column**2
    noise = np.fft.rfft2(rng.standard_normal((4, FIELDS, SIDE, SIDE))) / (1 + length)
    x, y = np.fft.irfft2(noise), np.fft.irfft2(noise * np.exp(-0.05 * length))
    grid = np.stack(np.meshgrid(np.linspace(0, 1, SIDE), np.linspace(0, 1, SIDE), indexing="ij"))
    data = {"x": x, "y": y, "grid": np.broadcast_to(grid, (FIELDS, 2, SIDE, SIDE))}
    p = weights(
        rng, lift=(CHANNELS, 3, 1, 1), lift_bias=(CHANNELS,), head=(HEAD, CHANNELS, 1, 1), head_bias=(HEAD,),
        out=(1, HEAD, 1, 1), out_bias=(1,),
    )  # fmt: skip
    for i in range(LAYERS):
        p |= weights(rng, **{f"own{i}": (CHANNELS, CHANNELS, 1, 1), f"own{i}_bias": (CHANNELS,)})
        p[f"modes{i}"] = rng.uniform(0, 1 / CHANNELS**2, (CHANNELS, CHANNELS, 2 * MODES, MODES, 2)).astype(np.float32)
    return {name: value.astype(np.float32, order="C") for name, value in data.items()} | p


def neural_operator(torch: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    F = torch.nn.functional
    h = F.conv2d(torch.cat([x.unsqueeze(1), c["grid"]], 1), p["lift"], p["lift_bias"])
    for i in range(LAYERS):
        waves = torch.fft.rfft2(h)[..., :MODES]
        low = torch.cat([waves[:, :, :MODES], waves[:, :, -MODES:]], 2)
        low = torch.einsum("bixy,ioxy->boxy", low, torch.view_as_complex(p[f"modes{i}"]))
        low = F.pad(low, (0, SIDE // 2 + 1 - MODES))
        between = torch.zeros(FIELDS, CHANNELS, SIDE - 2 * MODES, SIDE // 2 + 1, dtype=torch.complex64)
        waves = torch.cat([low[:, :, :MODES], between, low[:, :, MODES:]], 2)
        h = torch.fft.irfft2(waves, s=(SIDE, SIDE)) + F.conv2d(h, p[f"own{i}"], p[f"own{i}_bias"])
        h = F.gelu(h) if i + 1 < LAYERS else h
    h = F.gelu(F.conv2d(h, p["head"], p["head_bias"]))
    error = F.conv2d(h, p["out"], p["out_bias"]).squeeze(1) - y
    return (torch.sqrt((error * error).sum((1, 2))) / torch.sqrt((y * y).sum((1, 2)))).mean()


def neural_operator_jax(jax: Any, p: Any, c: Any, x: Any, y: Any) -> Any:
    jnp = jax.numpy

    def pointwise(h: Any, name: str) -> Any:
        return jnp.einsum("bixy,oi->boxy", h, p[name][:, :, 0, 0]) + p[name + "_bias"][:, None, None]

    h = pointwise(jnp.concatenate([x[:, None], c["grid"]], 1), "lift")
    for i in range(LAYERS):
        waves = jnp.fft.rfft2(h)[..., :MODES]
        low = jnp.concatenate([waves[:, :, :MODES], waves[:, :, -MODES:]], 2)
        low = jnp.einsum("bixy,ioxy->boxy", low, jax.lax.complex(p[f"modes{i}"][..., 0], p[f"modes{i}"][..., 1]))
        low = jnp.pad(low, ((0, 0), (0, 0), (0, 0), (0, SIDE // 2 + 1 - MODES)))
        between = jnp.zeros((FIELDS, CHANNELS, SIDE - 2 * MODES, SIDE // 2 + 1), jnp.complex64)
        waves = jnp.concatenate([low[:, :, :MODES], between, low[:, :, MODES:]], 2)
        h = jnp.fft.irfft2(waves, s=(SIDE, SIDE)) + pointwise(h, f"own{i}")
        h = jax.nn.gelu(h, approximate=False) if i + 1 < LAYERS else h
    h = jax.nn.gelu(pointwise(h, "head"), approximate=False)
    error = pointwise(h, "out")[:, 0] - y
    return (jnp.sqrt((error * error).sum((1, 2))) / jnp.sqrt((y * y).sum((1, 2)))).mean()


workload(
    "operator", "Fourier neural operator: 8 fields of 32 x 32, four layers of 24 channels with 16 x 8 modes", fields,
    neural_operator, neural_operator_jax, group=3, inputs=("x", "y"), constants=("grid",),
)  # fmt: skip
