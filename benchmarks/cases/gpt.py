"""A training step of a small GPT: 2 layers, width 64, 4 heads, 64 tokens, batch 16, exact GELU, AdamW, float32.

Losses are compared, not parameters: AdamW makes much of the rounding of gradients that are 0 but for it (the keys' bias).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..frameworks import (
    JAX,
    OURS,
    THREADS,
    batches,
    jax_batches,
    jax_for,
    labels_long,
    session_variants,
    torch_compiled,
    torch_for,
)
from ..registry import Arrays, Case, Job, add_cases, implements
from ..training import jax_steps, our_training, session_training, torch_training

VOCABULARY, WIDTH, HEADS, LENGTH, LAYERS = 65, 64, 4, 64, 2
RATE, BETA1, BETA2, EPSILON, DECAY = 1e-3, 0.9, 0.999, 1e-8, 0.01


def _shapes() -> dict[str, tuple[int, ...]]:
    """Parameters by name, in PyTorch's layout."""
    d = WIDTH
    result: dict[str, tuple[int, ...]] = {"tok.weight": (VOCABULARY, d), "pos.weight": (LENGTH, d)}
    for k in range(LAYERS):
        for name, shape in (
            ("ln1", (d,)), ("qkv", (3 * d, d)), ("proj", (d, d)), ("ln2", (d,)), ("fc", (4 * d, d)), ("out", (d, 4 * d))
        ):  # fmt: skip
            result[f"blocks.{k}.{name}.weight"], result[f"blocks.{k}.{name}.bias"] = shape, shape[:1]
    return result | {"ln.weight": (d,), "ln.bias": (d,), "head.weight": (VOCABULARY, d), "head.bias": (VOCABULARY,)}


SHAPES = _shapes()


def text(batch: int = 16) -> Arrays:
    """x and y (8, batch, LENGTH), y one token on, of a random walk over the vocabulary; and the parameters."""
    rng = np.random.default_rng(0)
    tokens = np.cumsum(rng.integers(-2, 3, (8, batch, LENGTH + 1)), 2) % VOCABULARY
    result = {"x": tokens[..., :-1].astype(np.int32).copy(), "y": tokens[..., 1:].astype(np.int32).copy()}
    for name, shape in SHAPES.items():
        if ".ln" in name or name.startswith("ln"):
            result[name] = np.full(shape, name.endswith("weight"), np.float32)
        elif name.endswith("bias"):
            result[name] = np.zeros(shape, np.float32)
        else:
            result[name] = rng.normal(0, 0.02 if name[:3] in ("tok", "pos") else 1 / math.sqrt(shape[1]), shape).astype(
                np.float32
            )
    return result


CASES = add_cases(Case("gpt", "GPT of 2 layers, width 64, 4 heads, 64 tokens, batch 16, AdamW, float32", text, target=1.3))


def model_of(nn: Any, F: Any, positions: Any) -> Any:
    """The same text for PyTorch and for us."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.fc, self.out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            joined = self.qkv(self.ln1(x)).reshape(-1, LENGTH, 3, HEADS, WIDTH // HEADS)
            q, k, v = (joined[:, :, i].transpose(1, 2) for i in range(3))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).reshape(-1, LENGTH, WIDTH))
            return x + self.out(F.gelu(self.fc(self.ln2(x))))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tok, self.pos = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
            self.ln, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

        def forward(self, tokens: Any, targets: Any) -> Any:
            x = self.tok(tokens) + self.pos(positions)
            for block in self.blocks:
                x = block(x)
            return F.cross_entropy(self.head(self.ln(x)).reshape(-1, VOCABULARY), targets.reshape(-1))

    return GPT()


def our_model(data: Arrays) -> Any:
    import staticgrad as sg
    import staticgrad.functional as F

    model = model_of(sg.nn, F, sg.arange(LENGTH))
    model.load_state_dict({name: data[name].copy() for name in SHAPES})
    return model


@implements(CASES, *OURS)
def ours(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    model = our_model(data)
    optimizer = sg.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)

    return our_training({}, optimizer, model, batches(data, "x", "y"), backend)


@implements(CASES, "session", variants=session_variants)
def in_session(data: Arrays, backend: str, variant: str) -> Job:
    import staticgrad as sg

    model, graph = our_model(data), sg.Graph()
    with graph.as_default():
        x, y = (sg.placeholder("int32", (None, LENGTH)) for _ in range(2))
        loss = model(x, y)
        train = sg.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY).minimize(loss)
    return session_training(graph, loss, train, [x, y], {}, batches(data, "x", "y"), variant)


@implements(CASES, "jax", variants=(*JAX, "sync, placed"))
def jax(data: Arrays, backend: str, variant: str) -> Job:
    jax, jnp = jax_for(variant)
    lower = np.tri(LENGTH, dtype=bool)

    def norm(p: Any, name: str, x: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        scaled = centered * jax.lax.rsqrt((centered * centered).mean(-1, keepdims=True) + 1e-5)
        return scaled * p[name + ".weight"] + p[name + ".bias"]

    def linear(p: Any, name: str, x: Any) -> Any:
        return x @ p[name + ".weight"].T + p[name + ".bias"]

    def loss_of(p: Any, tokens: Any, targets: Any) -> Any:
        x = p["tok.weight"][tokens] + p["pos.weight"]
        for b in (f"blocks.{k}." for k in range(LAYERS)):
            joined = linear(p, b + "qkv", norm(p, b + "ln1", x)).reshape(-1, LENGTH, 3, HEADS, WIDTH // HEADS)
            q, k, v = (joined[:, :, i].swapaxes(1, 2) for i in range(3))
            scores = jnp.where(lower, q @ k.swapaxes(2, 3) / math.sqrt(WIDTH // HEADS), -jnp.inf)
            y = (jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(x.shape)
            x = x + linear(p, b + "proj", y)
            x = x + linear(p, b + "out", jax.nn.gelu(linear(p, b + "fc", norm(p, b + "ln2", x)), approximate=False))
        z = linear(p, "head", norm(p, "ln", x))
        return jnp.mean(jax.nn.logsumexp(z, axis=2) - jnp.take_along_axis(z, targets[:, :, None], axis=2)[:, :, 0])

    def update(state: Any, tokens: Any, targets: Any) -> Any:
        p, m, v, t = state
        loss, g = jax.value_and_grad(loss_of)(p, tokens, targets)
        t = t + 1
        m = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, g)
        v = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, g)
        size, scale = RATE / (1 - BETA1**t), 1 / jnp.sqrt(1 - BETA2**t)
        p = jax.tree.map(lambda p, m, v: p * (1 - RATE * DECAY) - size * m / (jnp.sqrt(v) * scale + EPSILON), p, m, v)
        return (p, m, v, t), loss

    jitted = jax.jit(update, donate_argnums=0)
    first = {name: jnp.array(data[name]) for name in SHAPES}
    state: Any = (first, jax.tree.map(jnp.zeros_like, first), jax.tree.map(jnp.zeros_like, first), jnp.float32(0))
    return jax_steps(jitted, state, jax_batches(variant, data, "x", "y"), lambda state: {})


def _torch_model(torch: Any, data: Arrays) -> Any:
    model = model_of(torch.nn, torch.nn.functional, torch.arange(LENGTH))
    model.load_state_dict({name: torch.from_numpy(data[name].copy()) for name in SHAPES})
    return model


@implements(CASES, "torch", variants=THREADS)
def torch(data: Arrays, backend: str, variant: str) -> Job:
    torch = torch_for(variant)
    model = _torch_model(torch, data)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY, fused=True)
    return torch_training({}, optimizer, model, batches(labels_long(data, "x", "y"), "x", "y", place=torch.from_numpy))


@implements(CASES, "torch.compile", variants=THREADS)
def torch_compile(data: Arrays, backend: str, variant: str) -> Job:
    """The model compiled, forward and backward; the optimizer is PyTorch's own fused one."""
    torch = torch_for(variant)
    model = _torch_model(torch, data)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY, fused=True)
    compiled = torch_compiled(model)
    return torch_training({}, optimizer, compiled, batches(labels_long(data, "x", "y"), "x", "y", place=torch.from_numpy))
