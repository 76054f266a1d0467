"""`tf.contrib.seq2seq`: decoders that run step by step, and the loss of sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ....operators import F
from ....static.graphs import using
from .. import arrays, math
from ..draws import categorical
from ..elements import repeat
from ..graph import get_default_graph
from ..nn import functions as nn
from ..nn.rnn_cell import mapped
from ..tensor import handles, operation, symbols, tensor
from ..variable_scopes import variable_scope


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
        self._embedding = embedding if callable(embedding) else lambda ids: arrays.embedding_lookup(embedding, ids)
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


class BasicDecoderOutput(NamedTuple):
    """One step's outputs, or those of all steps."""

    rnn_output: Any
    sample_id: Any


class Decoder:
    """`initialize()` gives (finished, first inputs, first state), and `step(time, inputs, state)` (outputs, next state, next
    inputs, finished)."""

    tracks_own_finished = False
    helper: Any = None

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        raise NotImplementedError

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        return outputs, final_state


class BasicDecoder(Decoder):
    """A cell, what it reads, and an optional layer over its outputs."""

    def __init__(self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None):
        self.cell, self.helper, self._initial_state, self.output_layer = cell, helper, initial_state, output_layer

    @property
    def batch_size(self) -> Any:
        return self.helper.batch_size

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        finished, inputs = self.helper.initialize()
        return finished, inputs, self._initial_state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        out, new = self.cell(inputs, state)
        out = out if self.output_layer is None else self.output_layer(out)
        ids = self.helper.sample(time=time, outputs=out, state=new)
        finished, following, new = self.helper.next_inputs(time=time, outputs=out, state=new, sample_ids=ids)
        return BasicDecoderOutput(out, ids), new, following, finished


def dynamic_decode(
    decoder: Any, output_time_major: bool = False, impute_finished: bool = False, maximum_iterations: Any = None,
    parallel_iterations: int = 32, swap_memory: bool = False, scope: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """(outputs (batch, time, ...), last state, lengths): steps until all rows are finished.

    The outputs have `maximum_iterations` steps, or as many as the helper's inputs; those after the end of all rows are zeros.
    impute_finished: rows that are finished emit zeros and keep their state. Raises ValueError where the number of steps has
    no bound.
    """
    graph = get_default_graph()
    with variable_scope(scope or "decoder") as entered, using(graph):
        finished, inputs, state = decoder.initialize()
        sequence = getattr(decoder.helper, "sequence", None)
        steps = _steps(sequence, maximum_iterations)
        if decoder.helper is not None and sequence is not None:
            decoder.helper.given = inputs
        decoder.step(arrays.constant(np.int32(0)), inputs, state)  # makes the variables outside of the loop

        def step(carry: Any, item: Any) -> Any:
            time, x, held, done, lengths = handles(graph, carry)
            if sequence is not None:
                decoder.helper.given = handles(graph, item)
            outputs, new, following, ended = symbols(decoder.step(time, x, held))
            time, x, held, done, lengths = carry
            running = F.logical_not(F.all(done))
            after = ended if decoder.tracks_own_finished else F.logical_or(ended, done)
            keep = F.logical_not(done) if impute_finished else F.logical_or(F.logical_not(done), running)
            out = mapped(lambda v: _rows(keep, v, F.zeros_like(v)), outputs)
            if impute_finished:
                new = mapped(lambda a, b: _rows(keep, a, b), new, held)
            else:
                new = mapped(lambda a, b: F.where(running, a, b), new, held)
            lengths = F.where(done, lengths, F.add(time, 1))
            return (F.add(time, 1), following, new, after, lengths), out

        with variable_scope(entered, reuse=True, auxiliary_name_scope=False):
            zero = F.astype(F.mul(F.astype(tensor(symbols(finished)), np.int32), 0), np.int32)
            start = (tensor(0), symbols(inputs), symbols(state), symbols(finished), zero)
            carry, outputs = F.scan(step, start, symbols(steps))
        _, _, last, _, lengths = handles(graph, carry)
        outputs, last = decoder.finalize(handles(graph, outputs), last, lengths)
        if not output_time_major:
            outputs = mapped(_batch_first, outputs)
    return outputs, last, lengths


def _steps(sequence: Any, maximum_iterations: Any) -> Any:
    """What the loop scans: the helper's inputs, or numbers."""
    if sequence is None:
        if maximum_iterations is None:
            raise ValueError("dynamic_decode: give maximum_iterations: this helper may go on without end")
        return arrays.range_(maximum_iterations)
    return sequence if maximum_iterations is None else mapped(lambda x: x[:maximum_iterations], sequence)


def _rows(keep: Any, new: Any, old: Any) -> Any:
    """`new` in some rows, else `old`; a state without a batch, as a counter, is new."""
    return F.where(F.expand_dims(keep, tuple(range(keep.ndim, new.ndim))), new, old) if new.ndim else new


@operation("Transpose")
def _batch_first(x: Any) -> Any:
    x = tensor(x)
    return F.swapaxes(x, 0, 1)


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Each row `multiplier` times in a row."""
    return mapped(lambda x: repeat(x, multiplier, axis=0), t)


@operation("sequence_loss")
def _reduced(losses: Any, weights: Any, over_time: bool, over_batch: bool) -> Any:
    losses = tensor(losses)
    weights = tensor(weights, losses.dtype)
    crossed = F.mul(losses, weights)
    axes = tuple(axis for axis, wanted in ((0, over_batch), (1, over_time)) if wanted)
    total = F.sum(crossed, axis=axes)
    return F.div(total, F.add(F.sum(weights, axis=axes), 1e-12))


def sequence_loss(
    logits: Any, targets: Any, weights: Any, average_across_timesteps: bool = True, average_across_batch: bool = True,
    softmax_loss_function: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """The weighted mean cross entropy of logits (batch, time, classes) and targets (batch, time).

    softmax_loss_function: of `labels` and `logits` instead of the sparse softmax cross entropy.
    """
    if logits.shape.ndims != 3:
        raise ValueError("Logits must be a [batch_size x sequence_length x logits] tensor")
    if softmax_loss_function is None:
        losses = nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)
    else:
        losses = softmax_loss_function(labels=targets, logits=logits)
    if not (average_across_timesteps or average_across_batch):
        return math.multiply(losses, weights, name=name)  # type: ignore[attr-defined]
    return _reduced(losses, weights, average_across_timesteps, average_across_batch, name=name)
