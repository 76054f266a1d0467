"""A tiny GPT learns to write the way Python's own manual does, character by character.

    python examples/char_gpt.py [--steps 1000] [--modes eager,session,compiled] [--quick] [--seed 0] [--plot gpt.png]
        [--report gpt.html]

Two transformer blocks (64 channels, 4 heads, layer norm first, exact GELU) read 64 characters and predict each next one;
AdamW, batches of 16. The text is `pydoc_data.topics`, which comes with every Python. The three modes (side_by_side.py)
train the same module; each then generates some text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from characters import VOCABULARY, NextCharacter
from side_by_side import main

import staticgrad as sg
from staticgrad import nn


class GPT(nn.Module):
    """(n, length) codes -> (n, length, VOCABULARY) scores of each next character."""

    def __init__(self, layers: int, channels: int, heads: int, length: int):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, channels)
        self.position = nn.Parameter(0.02 * np.asarray(sg.randn(length, channels)))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                channels, heads, 4 * channels, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(channels)
        self.head = nn.Linear(channels, VOCABULARY)
        self.future: sg.Tensor
        self.register_buffer("future", sg.from_numpy(np.triu(np.ones((length, length), bool), 1)))

    def forward(self, codes: Any) -> Any:
        x = self.token(codes) + self.position
        for block in self.blocks:
            x = block(x, self.future, is_causal=True)
        return self.head(self.norm(x))


class CharGPT(NextCharacter):
    steps = 1000
    pieces, quick_pieces = (16, 64), (4, 16)

    def model(self) -> GPT:
        return GPT(1, 16, 2, self.length) if self.quick else GPT(2, 64, 4, self.length)

    def optimizer(self, parameters: Any = None) -> Any:
        return sg.optim.AdamW(parameters, lr=3e-3)


if __name__ == "__main__":
    main(CharGPT, __doc__)
