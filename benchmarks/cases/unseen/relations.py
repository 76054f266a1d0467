"""Graphs and recommenders: gathers, sums by index, embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import weights, workload

GRAPHS, NODES, EDGES, ATOMS, HIDDEN, LAYERS = 128, 2304, 4992, 28, 64, 3


def molecules() -> Arrays:
    """Graphs of 18 nodes, each edge in both directions."""
    rng = np.random.default_rng(0)
    size = NODES // GRAPHS
    first = np.repeat(np.arange(GRAPHS), EDGES // GRAPHS // 2) * size
    a, b = (first + rng.integers(0, size, (4, len(first))) for _ in range(2))
    kinds = rng.integers(0, ATOMS, (4, NODES)).astype(np.int32)
    labels = (kinds.reshape(4, GRAPHS, size)[..., 0] % 2).astype(np.int32)
    p = weights(rng, atoms=(ATOMS, HIDDEN), out=(2, HIDDEN * LAYERS), out_bias=(2,))
    for i in range(LAYERS):
        p |= weights(
            rng,
            **{
                f"a{i}": (HIDDEN, HIDDEN), f"a{i}_bias": (HIDDEN,), f"b{i}": (HIDDEN, HIDDEN),
                f"norm{i}_gain": (HIDDEN,), f"norm{i}_bias": (HIDDEN,), f"eps{i}_bias": (1,),
            },
        )  # fmt: skip
    edges = {"source": np.concatenate([a, b], 1).astype(np.int32), "target": np.concatenate([b, a], 1).astype(np.int32)}
    graph = {"graph": np.repeat(np.arange(GRAPHS), size).astype(np.int32)}
    return {"kinds": kinds, "labels": labels} | edges | graph | p


def isomorphism_network(torch: Any, p: Any, c: Any, kinds: Any, source: Any, target: Any, labels: Any) -> Any:
    F = torch.nn.functional
    h, pooled = F.embedding(kinds, p["atoms"]), []
    for i in range(LAYERS):
        received = torch.zeros(NODES, HIDDEN).index_add(0, target, h[source])
        h = torch.relu(F.linear((1 + p[f"eps{i}_bias"]) * h + received, p[f"a{i}"], p[f"a{i}_bias"]))
        h = F.linear(h, p[f"b{i}"])
        h = torch.relu(F.batch_norm(h, None, None, p[f"norm{i}_gain"], p[f"norm{i}_bias"], training=True))
        pooled.append(torch.zeros(GRAPHS, HIDDEN).index_add(0, c["graph"], h))
    return F.cross_entropy(F.linear(torch.cat(pooled, 1), p["out"], p["out_bias"]), labels)


def isomorphism_network_jax(jax: Any, p: Any, c: Any, kinds: Any, source: Any, target: Any, labels: Any) -> Any:
    jnp = jax.numpy
    h, pooled = p["atoms"][kinds], []
    for i in range(LAYERS):
        received = jax.ops.segment_sum(h[source], target, NODES)
        h = jax.nn.relu(((1 + p[f"eps{i}_bias"]) * h + received) @ p[f"a{i}"].T + p[f"a{i}_bias"])
        h = h @ p[f"b{i}"].T
        h = h - h.mean(0)
        h = h * jax.lax.rsqrt((h * h).mean(0) + 1e-5) * p[f"norm{i}_gain"] + p[f"norm{i}_bias"]
        h = jax.nn.relu(h)
        pooled.append(jax.ops.segment_sum(h, c["graph"], GRAPHS, indices_are_sorted=True))
    z = jax.nn.log_softmax(jnp.concatenate(pooled, 1) @ p["out"].T + p["out_bias"])
    return -jnp.take_along_axis(z, labels[:, None], 1).mean()


workload(
    "graphs", "GIN: 128 graphs of 18 nodes, three layers of 64 with batch normalization, sums by graph", molecules,
    isomorphism_network, isomorphism_network_jax, group=1, inputs=("kinds", "source", "target", "labels"),
    constants=("graph",),
)  # fmt: skip

ROWS, FIELDS, BAG, CATEGORIES, DENSE, DIM = 512, 8, 4, 5000, 13, 16


def clicks() -> Arrays:
    rng = np.random.default_rng(0)
    ids = rng.zipf(1.3, (4, ROWS, FIELDS, BAG)) % CATEGORIES + np.arange(FIELDS)[:, None] * CATEGORIES
    pairs = np.tril_indices(FIELDS + 1, -1)
    dense = rng.standard_normal((4, ROWS, DENSE), np.float32)
    clicked = (dense[..., 0] + 0.5 * rng.standard_normal((4, ROWS)) > 0).astype(np.float32)
    table = rng.uniform(-0.05, 0.05, (FIELDS * CATEGORIES, DIM)).astype(np.float32)
    found = {"dense": dense, "ids": ids.astype(np.int32), "clicked": clicked, "table": table}
    found |= {"left": pairs[0].astype(np.int32), "right": pairs[1].astype(np.int32)}
    return found | weights(
        rng, low0=(64, DENSE), low0_bias=(64,), low1=(DIM, 64), low1_bias=(DIM,), top0=(128, DIM + len(pairs[0])),
        top0_bias=(128,), top1=(64, 128), top1_bias=(64,), top2=(1, 64), top2_bias=(1,),
    )  # fmt: skip


def click_model(torch: Any, p: Any, c: Any, dense: Any, ids: Any, clicked: Any) -> Any:
    F = torch.nn.functional
    x = torch.relu(F.linear(dense, p["low0"], p["low0_bias"]))
    x = torch.relu(F.linear(x, p["low1"], p["low1_bias"]))
    bags = F.embedding_bag(ids.reshape(-1, BAG), p["table"], mode="sum").view(ROWS, FIELDS, DIM)
    vectors = torch.cat([x.unsqueeze(1), bags], 1)
    products = torch.bmm(vectors, vectors.transpose(1, 2))[:, c["left"], c["right"]]
    h = torch.cat([x, products], 1)
    h = torch.relu(F.linear(h, p["top0"], p["top0_bias"]))
    h = torch.relu(F.linear(h, p["top1"], p["top1_bias"]))
    return F.binary_cross_entropy_with_logits(F.linear(h, p["top2"], p["top2_bias"]).squeeze(1), clicked)


def click_model_jax(jax: Any, p: Any, c: Any, dense: Any, ids: Any, clicked: Any) -> Any:
    jnp = jax.numpy
    x = jax.nn.relu(dense @ p["low0"].T + p["low0_bias"])
    x = jax.nn.relu(x @ p["low1"].T + p["low1_bias"])
    bags = p["table"][ids].sum(2)
    vectors = jnp.concatenate([x[:, None], bags], 1)
    products = jnp.einsum("bij,bkj->bik", vectors, vectors)[:, c["left"], c["right"]]
    h = jnp.concatenate([x, products], 1)
    h = jax.nn.relu(h @ p["top0"].T + p["top0_bias"])
    h = jax.nn.relu(h @ p["top1"].T + p["top1_bias"])
    z = (h @ p["top2"].T + p["top2_bias"])[:, 0]
    return (jax.nn.softplus(z) - z * clicked).mean()


workload(
    "clicks", "DLRM: 8 tables of 5000 x 16 with bags of 4, products of pairs, batch 512", clicks, click_model, click_model_jax,
    group=1, inputs=("dense", "ids", "clicked"), constants=("left", "right"),
)  # fmt: skip

PAPERS, LINKS, WORDS, HEADS, UNITS, TOPICS, KNOWN = 2708, 10556, 256, 8, 8, 7, 140


def citations() -> Arrays:
    """Edges by target, each paper linked with itself."""
    rng = np.random.default_rng(0)
    source = np.concatenate([rng.integers(0, PAPERS, LINKS), np.arange(PAPERS)])
    target = np.concatenate([rng.zipf(1.5, LINKS) % PAPERS, np.arange(PAPERS)])
    order = np.argsort(target, kind="stable")
    topic = rng.integers(0, TOPICS, PAPERS)
    words = (rng.random((PAPERS, WORDS)) < 0.03 + 0.1 * (np.arange(WORDS) % TOPICS == topic[:, None])).astype(np.float32)
    ints = {"source": source[order], "target": target[order], "topic": topic, "known": rng.integers(0, PAPERS, (4, KNOWN))}
    return (
        {"words": words}
        | {name: value.astype(np.int32) for name, value in ints.items()}
        | weights(
            rng, w0=(HEADS * UNITS, WORDS), from0=(HEADS, UNITS), to0=(HEADS, UNITS), w0_bias=(HEADS * UNITS,),
            w1=(TOPICS, HEADS * UNITS), from1=(1, TOPICS), to1=(1, TOPICS), w1_bias=(TOPICS,),
        )
    )  # fmt: skip


def graph_attention(torch: Any, p: Any, c: Any, known: Any) -> Any:
    F = torch.nn.functional
    source, target = c["source"], c["target"]

    def layer(h: Any, i: int, heads: int) -> Any:
        h = F.linear(h, p[f"w{i}"]).view(PAPERS, heads, -1)
        score = F.leaky_relu((h * p[f"from{i}"]).sum(-1)[source] + (h * p[f"to{i}"]).sum(-1)[target], 0.2)
        index = target[:, None].expand_as(score)
        most = torch.zeros(PAPERS, heads).scatter_reduce(0, index, score.detach(), "amax", include_self=False)
        weight = torch.exp(score - most[target])
        total = torch.zeros(PAPERS, heads).index_add(0, target, weight)
        messages = h[source] * (weight / total[target]).unsqueeze(-1)
        return torch.zeros_like(h).index_add(0, target, messages).flatten(1) + p[f"w{i}_bias"]

    z = layer(F.elu(layer(c["words"], 0, HEADS)), 1, 1)
    return F.cross_entropy(z[known], c["topic"][known])


def graph_attention_jax(jax: Any, p: Any, c: Any, known: Any) -> Any:
    jnp = jax.numpy
    source, target = c["source"], c["target"]

    def received(values: Any) -> Any:
        return jax.ops.segment_sum(values, target, PAPERS, indices_are_sorted=True)

    def layer(h: Any, i: int, heads: int) -> Any:
        h = (h @ p[f"w{i}"].T).reshape(PAPERS, heads, -1)
        score = jax.nn.leaky_relu((h * p[f"from{i}"]).sum(-1)[source] + (h * p[f"to{i}"]).sum(-1)[target], 0.2)
        most = jax.ops.segment_max(jax.lax.stop_gradient(score), target, PAPERS, indices_are_sorted=True)
        weight = jnp.exp(score - most[target])
        messages = h[source] * (weight / received(weight)[target])[..., None]
        return received(messages).reshape(PAPERS, -1) + p[f"w{i}_bias"]

    z = jax.nn.log_softmax(layer(jax.nn.elu(layer(c["words"], 0, HEADS)), 1, 1)[known])
    return -jnp.take_along_axis(z, c["topic"][known][:, None], 1).mean()


workload(
    "citations", "GAT: attention over 13264 edges of 2708 papers with 256 words, 8 heads of 8, then one of 7", citations,
    graph_attention, graph_attention_jax, group=2, inputs=("known",), constants=("words", "source", "target", "topic"),
)  # fmt: skip
