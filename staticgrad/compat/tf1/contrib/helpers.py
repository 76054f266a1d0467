"""What a decoder reads next: the target sequence, its own best guess, a sample, or what a user's functions say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....operators import F
from .. import arrays, math, nn
from ..draws import categorical
from ..nn.rnn_cell import mapped
from ..tensor import operation, tensor


class Helper:
    """`initialize()` gives (finished, first inputs), `sample(time, outputs, state)` ids, `next_inputs(time, outputs, state,
    sample_ids)` (finished, next inputs, state)."""

    sequence: Any = None
    """The next inputs of all steps, time first, where they don't depend on outputs; `given` is then the step's."""
    given: Any = None

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        raise NotImplementedError

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The ids of the largest outputs."""
        return math.argmax(outputs, -1, output_type=np.int32)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        raise NotImplementedError


@operation("following", sizes=frozenset())
def _following(x: Any) -> Any:
    """Each step's successor along the first axis, zeros after the last."""
    x = tensor(x)
    return F.concatenate([x[1:], F.zeros_like(x[:1])], axis=0)


@operation("Transpose")
def _time_first(x: Any, already: bool) -> Any:
    x = tensor(x)
    return x if already else F.swapaxes(x, 0, 1)


class TrainingHelper(Helper):
    """Reads the target sequence (batch, time, ...), of a length for each row."""

    def __init__(self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None):
        self.inputs = mapped(lambda x: _time_first(x, time_major), inputs)
        self.sequence_length = arrays.convert_to_tensor(sequence_length, np.int32)
        self.sequence = mapped(_following, self.inputs)

    @property
    def batch_size(self) -> Any:
        return arrays.shape(self.sequence_length)[0]

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return math.equal(0, self.sequence_length), mapped(lambda x: x[0], self.inputs)  # type: ignore[attr-defined]

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        return math.greater_equal(time + 1, self.sequence_length), self.given, state  # type: ignore[attr-defined]


class GreedyEmbeddingHelper(Helper):
    """Reads the embedding of the id with the largest output, from `start_tokens` (batch,) until `end_token`."""

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any):
        self._embedding = embedding if callable(embedding) else lambda ids: nn.embedding_lookup(embedding, ids)
        self._start_tokens = arrays.convert_to_tensor(start_tokens, np.int32)
        self._end_token = arrays.convert_to_tensor(end_token, np.int32)

    @property
    def batch_size(self) -> Any:
        return arrays.shape(self._start_tokens)[0]

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        started = arrays.zeros_like(self._start_tokens, dtype=np.bool_)
        return started, self._embedding(self._start_tokens)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        finished = math.equal(sample_ids, self._end_token)  # type: ignore[attr-defined]
        return finished, self._embedding(sample_ids), state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Reads the embedding of an id that is drawn by the outputs as logits."""

    def __init__(
        self, embedding: Any, start_tokens: Any, end_token: Any, softmax_temperature: Any = None, seed: int | None = None
    ):
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        logits = outputs if self._temperature is None else outputs / self._temperature
        return arrays.squeeze(categorical(logits, 1, np.int32, self._seed), [1])


class CustomHelper(Helper):
    """Three functions of the user's."""

    def __init__(
        self, initialize_fn: Callable[[], Any], sample_fn: Callable[..., Any], next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None, sample_ids_dtype: Any = None,
    ):  # fmt: skip
        self._initialize, self._sample, self._next = initialize_fn, sample_fn, next_inputs_fn

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        found: tuple[Any, Any] = self._initialize()
        return found

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample(time=time, outputs=outputs, state=state)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        return self._next(time=time, outputs=outputs, state=state, sample_ids=sample_ids)
