"""Large layers of which a row takes a part: experts, and the tables of a recommender."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import weights, workload

TOKENS, WORDS, WIDTH, UNITS, EXPERTS, TAKEN, ROOM, BLOCKS = 512, 500, 64, 128, 8, 2, 160, 2


def tokens() -> Arrays:
    rng = np.random.default_rng(0)
    word = rng.zipf(1.4, (4, TOKENS)) % WORDS
    p = weights(rng, embed=(WORDS, WIDTH), end_gain=(WIDTH,), end_bias=(WIDTH,), out=(WORDS, WIDTH), out_bias=(WORDS,))
    for i in range(BLOCKS):
        p |= weights(rng, **{f"norm{i}_gain": (WIDTH,), f"norm{i}_bias": (WIDTH,), f"gate{i}": (EXPERTS, WIDTH)})
        for name, shape in {"up": (WIDTH, UNITS), "down": (UNITS, WIDTH)}.items():
            bound = shape[0] ** -0.5
            p[f"{name}{i}"] = rng.uniform(-bound, bound, (EXPERTS, *shape)).astype(np.float32)
            p[f"{name}{i}_bias"] = np.zeros((EXPERTS, 1, shape[1]), np.float32)
    p["embed"] = rng.standard_normal((WORDS, WIDTH)).astype(np.float32)
    return {"word": word.astype(np.int32), "then": (word * 7 % WORDS).astype(np.int32)} | p


def experts(torch: Any, p: Any, c: Any, word: Any, then: Any) -> Any:
    F = torch.nn.functional
    h = F.embedding(word, p["embed"])
    balance: Any = 0
    for i in range(BLOCKS):
        x = F.layer_norm(h, (WIDTH,), p[f"norm{i}_gain"], p[f"norm{i}_bias"])
        share = torch.softmax(F.linear(x, p[f"gate{i}"]), -1)
        most, expert = torch.topk(share, TAKEN)
        most = (most / most.sum(-1, keepdim=True)).T.reshape(-1, 1)
        expert = expert.T.reshape(-1)
        chosen = F.one_hot(expert, EXPERTS)
        place = (chosen.cumsum(0) * chosen).sum(-1) - 1
        slot = torch.where(place < ROOM, expert * ROOM + place, EXPERTS * ROOM)
        queues = torch.zeros(EXPERTS * ROOM + 1, WIDTH).index_add(0, slot, x.repeat(TAKEN, 1))
        queues = queues[:-1].view(EXPERTS, ROOM, WIDTH)
        found = torch.relu(torch.bmm(queues, p[f"up{i}"]) + p[f"up{i}_bias"])
        found = (torch.bmm(found, p[f"down{i}"]) + p[f"down{i}_bias"]).flatten(0, 1)
        found = torch.cat([found, torch.zeros(1, WIDTH)])
        h = h + (found[slot] * most).view(TAKEN, TOKENS, WIDTH).sum(0)
        balance = balance + (chosen[:TOKENS].float().mean(0) * share.mean(0)).sum() * EXPERTS
    h = F.layer_norm(h, (WIDTH,), p["end_gain"], p["end_bias"])
    return F.cross_entropy(F.linear(h, p["out"], p["out_bias"]), then) + 0.01 * balance


def experts_jax(jax: Any, p: Any, c: Any, word: Any, then: Any) -> Any:
    """Queues are gathered: rows of a scatter are written one by one."""
    jnp = jax.numpy

    def normal(x: Any, name: str) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p[name + "_gain"] + p[name + "_bias"]

    h = p["embed"][word]
    balance: Any = 0
    token = jnp.tile(jnp.arange(TOKENS), TAKEN)
    for i in range(BLOCKS):
        x = normal(h, f"norm{i}")
        share = jax.nn.softmax(x @ p[f"gate{i}"].T)
        most, expert = jax.lax.top_k(share, TAKEN)
        most = (most / most.sum(-1, keepdims=True)).T.reshape(-1, 1)
        expert = expert.T.reshape(-1)
        chosen = jax.nn.one_hot(expert, EXPERTS, dtype=jnp.int32)
        place = (chosen.cumsum(0) * chosen).sum(-1) - 1
        slot = jnp.where(place < ROOM, expert * ROOM + place, EXPERTS * ROOM)
        who = jnp.full(EXPERTS * ROOM + 1, TOKENS).at[slot].set(token)[:-1]
        queues = jnp.concatenate([x, jnp.zeros((1, WIDTH))])[who].reshape(EXPERTS, ROOM, WIDTH)
        found = jax.nn.relu(queues @ p[f"up{i}"] + p[f"up{i}_bias"])
        found = (found @ p[f"down{i}"] + p[f"down{i}_bias"]).reshape(-1, WIDTH)
        found = jnp.concatenate([found, jnp.zeros((1, WIDTH))])
        h = h + (found[slot] * most).reshape(TAKEN, TOKENS, WIDTH).sum(0)
        balance = balance + (chosen[:TOKENS].astype(jnp.float32).mean(0) * share.mean(0)).sum() * EXPERTS
    z = jax.nn.log_softmax(normal(h, "end") @ p["out"].T + p["out_bias"])
    return -jnp.take_along_axis(z, then[:, None], 1).mean() + 0.01 * balance


workload(
    "experts", "mixture of experts: 512 tokens, each to 2 of 8 experts 64-128-64 with queues of 160, two blocks", tokens,
    experts, experts_jax, group=3, inputs=("word", "then"),
)  # fmt: skip

VISITS, USERS, ITEMS, PAST, DIM, HIDDEN, WARMTH = 512, 8000, 4000, 20, 32, 64, 0.1


def visits() -> Arrays:
    rng = np.random.default_rng(0)
    item = rng.zipf(1.2, (4, VISITS)) % ITEMS
    past, length = rng.zipf(1.2, (4, VISITS, PAST)) % ITEMS, rng.integers(1, PAST + 1, (4, VISITS, 1))
    ints = {"user": rng.integers(0, USERS, (4, VISITS)), "item": item, "past": past}
    rare = np.log(np.bincount(item.ravel(), minlength=ITEMS) + 1.0) - np.log(item.size)
    tables = {"users": rng.normal(0, 0.1, (USERS, DIM)), "items": rng.normal(0, 0.1, (ITEMS, DIM))}
    return (
        {name: value.astype(np.int32) for name, value in ints.items()}
        | {"there": (np.arange(PAST) < length).astype(np.float32), "common": rare.astype(np.float32)}
        | {name: value.astype(np.float32) for name, value in tables.items()}
        | weights(
            rng, user0=(HIDDEN, 2 * DIM), user0_bias=(HIDDEN,), user1=(DIM, HIDDEN), user1_bias=(DIM,), item0=(HIDDEN, DIM),
            item0_bias=(HIDDEN,), item1=(DIM, HIDDEN), item1_bias=(DIM,),
        )
    )  # fmt: skip


def two_towers(torch: Any, p: Any, c: Any, user: Any, past: Any, there: Any, item: Any) -> Any:
    F = torch.nn.functional

    def tower(x: Any, name: str) -> Any:
        x = torch.relu(F.linear(x, p[name + "0"], p[name + "0_bias"]))
        return F.normalize(F.linear(x, p[name + "1"], p[name + "1_bias"]), dim=-1)

    seen = (F.embedding(past, p["items"]) * there.unsqueeze(-1)).sum(1) / there.sum(1, keepdim=True)
    left = tower(torch.cat([F.embedding(user, p["users"]), seen], -1), "user")
    right = tower(F.embedding(item, p["items"]), "item")
    scores = left @ right.T / WARMTH - c["common"][item]
    same = (item.unsqueeze(1) == item.unsqueeze(0)) & ~torch.eye(VISITS, dtype=torch.bool)
    return F.cross_entropy(scores.masked_fill(same, -1e9), torch.arange(VISITS))


def two_towers_jax(jax: Any, p: Any, c: Any, user: Any, past: Any, there: Any, item: Any) -> Any:
    jnp = jax.numpy

    def tower(x: Any, name: str) -> Any:
        x = jax.nn.relu(x @ p[name + "0"].T + p[name + "0_bias"]) @ p[name + "1"].T + p[name + "1_bias"]
        return x / jnp.maximum(jnp.sqrt((x * x).sum(-1, keepdims=True)), 1e-12)

    seen = (p["items"][past] * there[..., None]).sum(1) / there.sum(1, keepdims=True)
    left = tower(jnp.concatenate([p["users"][user], seen], -1), "user")
    right = tower(p["items"][item], "item")
    scores = left @ right.T / WARMTH - c["common"][item]
    same = (item[:, None] == item) & ~jnp.eye(VISITS, dtype=bool)
    return -jnp.diagonal(jax.nn.log_softmax(jnp.where(same, -1e9, scores))).mean()


workload(
    "retrieval", "two towers over 8000 users and 4000 items, histories of up to 20, the batch's 512 items as negatives", visits,
    two_towers, two_towers_jax, group=3, inputs=("user", "past", "there", "item"), constants=("common",),
)  # fmt: skip
