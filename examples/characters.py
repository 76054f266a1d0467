"""English text for the character models: the language reference that comes with Python, as codes, and the task on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pydoc_data.topics import topics
from typing import Any

import numpy as np
from side_by_side import Example, Finding, Predict

import staticgrad.functional as F

VOCABULARY = 65
RARE = "?"
"""Stands for all characters that are too rare for the vocabulary."""


class Text:
    """The text as codes below VOCABULARY."""

    def __init__(self) -> None:
        text = "\n\n".join(topics[name] for name in sorted(topics))
        common = [c for c, _ in Counter(text.replace(RARE, "")).most_common(VOCABULARY - 1)]
        self.alphabet = RARE + "".join(sorted(common))
        self._code = {c: i for i, c in enumerate(self.alphabet)}
        self.codes = self.encode(text)

    def encode(self, text: str) -> np.ndarray:
        return np.array([self._code.get(c, 0) for c in text], "int64")

    def batches(self, steps: int, size: int, length: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(size, length) pieces of the text, and the characters that follow each of theirs."""
        rng = np.random.default_rng(seed)
        for _ in range(steps):
            places = rng.integers(0, len(self.codes) - length, size)[:, None] + np.arange(length)
            yield self.codes[places], self.codes[places + 1]

    def sample(self, predict: Predict, length: int, count: int, seed: int, prompt: str = "The ") -> str:
        """The prompt, continued by `count` characters at temperature 0.7.

        predict: (1, length) codes -> (1, length, VOCABULARY) scores of the characters that follow.
        """
        rng = np.random.default_rng(seed)
        codes = list(self.encode(prompt))
        for _ in range(count):
            seen = codes[-length:]
            window = np.zeros((1, length), "int64")  # positions after the end don't influence those before it
            window[0, : len(seen)] = seen
            scores = predict(window)[0, len(seen) - 1].astype("float64") / 0.7
            chances = np.cumsum(np.exp(scores - scores.max()))
            codes.append(int(np.searchsorted(chances, rng.random() * chances[-1])))
        return "".join(self.alphabet[code] for code in codes)


class NextCharacter(Example):
    """Predict the character that follows each character of a piece of text; generate some text at the end."""

    pieces: tuple[int, int]
    """Pieces per batch, and characters per piece."""
    quick_pieces: tuple[int, int]

    def __init__(self, quick: bool, seed: int):
        super().__init__(quick, seed)
        self.batch, self.length = self.quick_pieces if quick else self.pieces
        self.inputs = (("int64", (None, self.length)),) * 2
        self.text = Text()

    def loss(self, model: Any, codes: Any, following: Any) -> Any:
        return F.cross_entropy(model(codes).reshape(-1, VOCABULARY), following.reshape(-1))

    def batches(self, steps: int) -> Iterator[tuple[np.ndarray, ...]]:
        return self.text.batches(steps, self.batch, self.length, self.seed)

    def finish(self, predict: Predict) -> Finding:
        return Finding("it writes\n" + self.text.sample(predict, self.length, 8 if self.quick else 400, self.seed))
