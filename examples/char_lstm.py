"""An LSTM learns to write the way Python's own manual does, character by character.

    python examples/char_lstm.py [--steps 300] [--modes eager,session,compiled] [--quick] [--seed 0] [--plot lstm.png]
        [--report lstm.html]

One layer of 128 units reads 64 characters and predicts each next one; Adam, batches of 32. `nn.LSTM` is a `sg.scan`: in
a graph one loop, run natively forward and backward, whatever its length; in eager mode a Python loop. The three modes
(side_by_side.py) train the same module; each then generates some text.
"""

from __future__ import annotations

from typing import Any

from characters import VOCABULARY, NextCharacter
from side_by_side import main

import staticgrad as sg
from staticgrad import nn


class Writer(nn.Module):
    """(n, length) codes -> (n, length, VOCABULARY) scores of each next character."""

    def __init__(self, channels: int, hidden: int):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, channels)
        self.lstm = nn.LSTM(channels, hidden, batch_first=True)
        self.head = nn.Linear(hidden, VOCABULARY)

    def forward(self, codes: Any) -> Any:
        outputs, _ = self.lstm(self.embedding(codes))
        return self.head(outputs)


class CharLSTM(NextCharacter):
    steps = 300
    pieces, quick_pieces = (32, 64), (4, 8)

    def model(self) -> Writer:
        return Writer(8, 16) if self.quick else Writer(32, 128)

    def optimizer(self, parameters: Any = None) -> Any:
        return sg.optim.Adam(parameters, lr=4e-3)


if __name__ == "__main__":
    main(CharLSTM, __doc__)
