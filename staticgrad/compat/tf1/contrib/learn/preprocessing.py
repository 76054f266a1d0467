"""`tf.contrib.learn.preprocessing`: texts as arrays of numbers of words."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

TOKENS = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each text."""
    for value in iterator:
        yield TOKENS.findall(value)


class CategoricalVocabulary:
    """Words and their numbers; 0 is that of unknown words."""

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True):
        self._unknown_token, self._support_reverse = unknown_token, support_reverse
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._words: list[Any] = [unknown_token]
        self._freq: Counter[Any] = Counter()
        self._freeze = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Let no further words in."""
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """The number of a word, a new one unless the vocabulary is frozen."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            self._words.append(category)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Count a word."""
        if self.get(category):
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keep the words of these counts, the most frequent first."""
        ranked = sorted(self._freq.items(), key=lambda item: (-item[1], str(item[0])))
        kept = [w for w, n in ranked if n > min_frequency and not 0 < max_frequency <= n]
        self._words = [self._unknown_token, *kept]
        self._mapping = {word: i for i, word in enumerate(self._words)}
        self._freq = Counter({w: self._freq[w] for w in kept})

    def reverse(self, class_id: int) -> Any:
        """The word of a number."""
        return self._words[class_id]


class VocabularyProcessor:
    """Texts as rows of numbers of words, of one length: longer ones are cut, shorter ones end in 0.

    A vocabulary that is given is used as it is. min_frequency: words that are not more frequent have the number 0.
    """

    def __init__(
        self, max_document_length: int, min_frequency: int = 0, vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[Any]] | None = None,
    ):  # fmt: skip
        self.max_document_length, self.min_frequency = max_document_length, min_frequency
        self.vocabulary_ = CategoricalVocabulary() if vocabulary is None else vocabulary
        self._tokenizer = tokenizer if tokenizer_fn is None else tokenizer_fn

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Learn the words of texts."""
        for tokens in self._tokenizer(raw_documents):
            for token in tokens:
                self.vocabulary_.add(token)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray]:
        """The numbers of the words of each text."""
        for tokens in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for i, token in enumerate(tokens):
                if i >= self.max_document_length:
                    break
                row[i] = self.vocabulary_.get(token)
            yield row

    def fit_transform(self, raw_documents: Iterable[str], unused_y: Any = None) -> Iterator[np.ndarray]:
        """`fit`, then `transform`."""
        texts = list(raw_documents)
        self.fit(texts)
        return self.transform(texts)

    def reverse(self, documents: Iterable[Any]) -> Iterator[str]:
        """The words of rows of numbers, with blanks between them."""
        for row in documents:
            yield " ".join(str(self.vocabulary_.reverse(int(i))) for i in row)

    def save(self, filename: str) -> None:
        """Write it to a file, with `pickle`."""
        with open(filename, "wb") as file:
            pickle.dump(self, file)

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """One that `save` wrote. Unpickling runs what is in the file: open your own only."""
        with open(filename, "rb") as file:
            found: VocabularyProcessor = pickle.load(file)
        return found
