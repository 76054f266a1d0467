"""Text: an encoder and a decoder that attends to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...registry import Arrays
from .workload import scan, weights, workload

SENTENCES, HEARD, SAID, WORDS, WIDTH = 32, 20, 20, 1000, 64


def sentences() -> Arrays:
    rng = np.random.default_rng(0)
    heard = rng.zipf(1.3, (4, SENTENCES, HEARD)) % WORDS
    return {
        "heard": heard.astype(np.int32),
        "said": np.concatenate([np.zeros_like(heard[..., :1]), heard[..., ::-1] * 7 % WORDS], -1).astype(np.int32),
    } | weights(
        rng, source=(WORDS, WIDTH), target=(WORDS, WIDTH), in0=(3 * WIDTH, WIDTH), in0_bias=(3 * WIDTH,),
        on0=(3 * WIDTH, WIDTH), on0_bias=(3 * WIDTH,), in1=(3 * WIDTH, WIDTH), in1_bias=(3 * WIDTH,),
        on1=(3 * WIDTH, WIDTH), on1_bias=(3 * WIDTH,), seen=(3 * WIDTH, WIDTH), key=(WIDTH, WIDTH), query=(WIDTH, WIDTH),
        query_bias=(WIDTH,), score=(1, WIDTH), out=(WORDS, 2 * WIDTH), out_bias=(WORDS,),
    )  # fmt: skip


def translator(torch: Any, p: Any, c: Any, heard: Any, said: Any) -> Any:
    F = torch.nn.functional

    def gated(h: Any, given: Any, name: str) -> Any:
        own = F.linear(h, p[name], p[name + "_bias"])
        reset, keep = torch.sigmoid(given[:, : 2 * WIDTH] + own[:, : 2 * WIDTH]).chunk(2, 1)
        new = torch.tanh(given[:, 2 * WIDTH :] + reset * own[:, 2 * WIDTH :])
        return new + keep * (h - new)

    def read(h: Any, x: Any) -> Any:
        h = gated(h, x[0], "on0")
        return h, h

    given = F.linear(F.embedding(heard.T, p["source"]), p["in0"], p["in0_bias"])
    h, states = scan(torch, read, torch.zeros(SENTENCES, WIDTH), (given,))
    states = states.transpose(0, 1)
    keys = F.linear(states, p["key"])

    def say(h: Any, x: Any) -> Any:
        scores = F.linear(torch.tanh(keys + F.linear(h, p["query"], p["query_bias"]).unsqueeze(1)), p["score"])
        seen = torch.bmm(torch.softmax(scores, 1).transpose(1, 2), states).squeeze(1)
        h = gated(h, x[0] + F.linear(seen, p["seen"]), "on1")
        return h, torch.cat([h, seen], 1)

    given = F.linear(F.embedding(said[:, :-1].T, p["target"]), p["in1"], p["in1_bias"])
    _, found = scan(torch, say, h, (given,))
    z = F.linear(found, p["out"], p["out_bias"])
    return F.cross_entropy(z.reshape(-1, WORDS), said[:, 1:].T.reshape(-1))


def translator_jax(jax: Any, p: Any, c: Any, heard: Any, said: Any) -> Any:
    jnp = jax.numpy

    def gated(h: Any, given: Any, name: str) -> Any:
        own = h @ p[name].T + p[name + "_bias"]
        reset, keep = jnp.split(jax.nn.sigmoid(given[:, : 2 * WIDTH] + own[:, : 2 * WIDTH]), 2, 1)
        new = jnp.tanh(given[:, 2 * WIDTH :] + reset * own[:, 2 * WIDTH :])
        return new + keep * (h - new)

    def read(h: Any, given: Any) -> Any:
        h = gated(h, given, "on0")
        return h, h

    given = p["source"][heard.T] @ p["in0"].T + p["in0_bias"]
    h, states = jax.lax.scan(read, jnp.zeros((SENTENCES, WIDTH), jnp.float32), given)
    states = states.swapaxes(0, 1)
    keys = states @ p["key"].T

    def say(h: Any, given: Any) -> Any:
        scores = jnp.tanh(keys + (h @ p["query"].T + p["query_bias"])[:, None]) @ p["score"][0]
        seen = jnp.einsum("bs,bsw->bw", jax.nn.softmax(scores), states)
        h = gated(h, given + seen @ p["seen"].T, "on1")
        return h, jnp.concatenate([h, seen], 1)

    given = p["target"][said[:, :-1].T] @ p["in1"].T + p["in1_bias"]
    _, found = jax.lax.scan(say, h, given)
    z = jax.nn.log_softmax(found @ p["out"].T + p["out_bias"])
    return -jnp.take_along_axis(z, said[:, 1:].T[..., None], -1).mean()


workload(
    "translation", "GRU encoder and decoder of 64 with additive attention, 32 pairs of 20 words of 1000", sentences, translator,
    translator_jax, group=2, inputs=("heard", "said"),
)  # fmt: skip
