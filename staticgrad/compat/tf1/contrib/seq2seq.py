"""`tf.contrib.seq2seq`: decoders that run step by step, and the loss of sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import arrays, math
from ..control import scan
from ..core import F, finfo, static, using
from ..draws import categorical
from ..elements import repeat
from ..gathering import top_k
from ..graph import get_default_graph
from ..initializers import constant_initializer, zeros_initializer
from ..layer import Dense
from ..nn import functions as nn
from ..nn.rnn import static_rnn
from ..nn.rnn_cell import RNNCell
from ..tensor import Operand, define, extent_of, handles, mapped, operation, symbols, tensor
from ..variable_scopes import embedding_lookup, get_variable, variable_scope


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
def _following(x: Operand) -> Any:
    """Each step's successor along the first axis, zeros after the last."""
    return F.concatenate([x[1:], F.zeros_like(x[:1])], axis=0)


@operation("Transpose")
def _time_first(x: Operand, already: bool) -> Any:
    return x if already else F.swapaxes(x, 0, 1)


class TrainingHelper(Helper):
    """Reads the target sequence (batch, time, ...), of a length for each row."""

    def __init__(self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None):
        self.inputs = mapped(lambda x: _time_first(x, time_major), inputs)
        self.sequence_length = arrays.convert_to_tensor(sequence_length, np.int32)
        self.sequence = mapped(_following, self.inputs)

    batch_size = property(lambda self: arrays.shape(self.sequence_length)[0])

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return math.equal(0, self.sequence_length), mapped(lambda x: x[0], self.inputs)  # type: ignore[attr-defined]

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        return math.greater_equal(time + 1, self.sequence_length), self.given, state  # type: ignore[attr-defined]


class GreedyEmbeddingHelper(Helper):
    """Reads the embedding of the id with the largest output, from `start_tokens` (batch,) until `end_token`."""

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any):
        self._embedding = embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)
        self._start_tokens = arrays.convert_to_tensor(start_tokens, np.int32)
        self._end_token = arrays.convert_to_tensor(end_token, np.int32)

    batch_size = property(lambda self: arrays.shape(self._start_tokens)[0])

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
        return self._initialize()

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

    batch_size = property(lambda self: self.helper.batch_size)

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
            outputs = mapped(lambda x: _time_first(x, False), outputs)
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


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Each row `multiplier` times in a row."""
    return mapped(lambda x: repeat(x, multiplier, axis=0), t)


@operation("sequence_loss")
def _reduced(losses: Operand, weights: Any, over_time: bool, over_batch: bool) -> Any:
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


# beam search ----------------------------------------------------------------------------------------------------------

# Beam search: a decoder that keeps the most probable sequences of each sample.

M: Any = math


class BeamSearchDecoderState(NamedTuple):
    """The state of the beams: (batch, beam) but for the cell's, which is (batch, beam, ...)."""

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any


class BeamSearchDecoderOutput(NamedTuple):
    """One step of all beams, or all steps."""

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """predicted_ids: the sequences (time, batch, beam), the best beam first."""

    predicted_ids: Any
    beam_search_decoder_output: BeamSearchDecoderOutput


def gather_tree(step_ids: Any, parent_ids: Any, max_sequence_lengths: Any, end_token: Any, name: str | None = None) -> Any:
    """The sequences (time, batch, beam) to which the ids of all steps and the beams that they go on from belong. Behind its
    first `end_token`, and behind the length of its sample, a sequence has that token."""
    with get_default_graph().name_scope(name or "GatherTree"):
        step_ids, parents = arrays.convert_to_tensor(step_ids), arrays.convert_to_tensor(parent_ids)
        end = M.cast(end_token, step_ids.dtype)
        steps = M.cumsum(arrays.ones_like(step_ids), 0) - 1
        first = M.cumsum(arrays.ones_like(step_ids[0]), 1) - 1
        within = M.less(steps, arrays.expand_dims(M.cast(max_sequence_lengths, step_ids.dtype), -1))

        def back(after: Any, item: Any) -> Any:
            (_, beam), (ids, origin, inside) = after, item
            found = arrays.gather(ids, beam, batch_dims=1)
            following = arrays.gather(origin, beam, batch_dims=1)
            return arrays.where(inside, found, arrays.zeros_like(found) + end), arrays.where(inside, following, beam)

        ids, _ = scan(back, (step_ids, parents, within), (first, first), reverse=True)
        ended = M.cumsum(M.cast(M.equal(ids, end), np.int32), 0) > 0
        return arrays.where(ended, arrays.zeros_like(ids) + end, ids)


class BeamSearchDecoder(Decoder):
    """Steps of a cell for `beam_width` sequences of each sample, which begin with `start_tokens` (batch,).

    initial_state: of (batch * beam_width) rows, as `tile_batch` makes it. Scores are log probabilities, divided by
    ((5 + length) / 6) ** length_penalty_weight.
    """

    tracks_own_finished = True

    def __init__(
        self, cell: Any, embedding: Any, start_tokens: Any, end_token: Any, initial_state: Any, beam_width: int,
        output_layer: Any = None, length_penalty_weight: float = 0.0, coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ):  # fmt: skip
        if coverage_penalty_weight:
            raise ValueError("BeamSearchDecoder: coverage_penalty_weight is not supported")
        self._cell, self._output_layer, self._width = cell, output_layer, int(beam_width)
        self._embedding = embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)
        self._start = arrays.convert_to_tensor(start_tokens, np.int32)
        self._end = arrays.convert_to_tensor(end_token, np.int32)
        self._initial, self._weight = initial_state, length_penalty_weight

    batch_size = property(lambda self: arrays.shape(self._start)[0])

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        return BeamSearchDecoderOutput(self._width, self._width, self._width)

    def _split(self, x: Any) -> Any:
        """Rows of all beams, by sample; what has no rows stays."""
        return arrays.reshape(x, [-1, self._width, *x.shape.as_list()[1:]]) if x.shape.ndims else x

    def _merged(self, x: Any) -> Any:
        return arrays.reshape(x, [-1, *x.shape.as_list()[2:]]) if x.shape.ndims else x

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        ids = arrays.tile(arrays.expand_dims(self._start, 1), [1, self._width])
        first = M.equal(M.cumsum(arrays.ones_like(ids), 1), 1)  # all beams are the same: one of them counts
        zeros = M.cast(arrays.zeros_like(ids), np.float32)
        state = BeamSearchDecoderState(
            mapped(self._split, self._initial), arrays.where(first, zeros, zeros - np.inf), M.logical_not(first),
            M.cast(arrays.zeros_like(ids), np.int64),
        )  # fmt: skip
        return state.finished, self._embedding(ids), state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        out, new = self._cell(self._merged(inputs), mapped(self._merged, state.cell_state))
        out = out if self._output_layer is None else self._output_layer(out)
        words = out.shape.as_list()[-1]
        steps = nn.log_softmax(self._split(out))
        ends = arrays.one_hot(self._end, words, 0.0, finfo(np.float32).min)
        done = arrays.expand_dims(state.finished, 2)
        steps = arrays.where(done, arrays.zeros_like(steps) + ends, steps)  # an ended sequence goes on with the end
        total = arrays.expand_dims(state.log_probs, 2) + steps
        longer = arrays.one_hot(self._end, words, 0, 1, dtype=np.int64) * M.cast(M.logical_not(done), np.int64)
        scores = total
        if self._weight:
            lengths = M.cast(arrays.expand_dims(state.lengths, 2) + longer, np.float32)
            scores = total / M.pow((lengths + 5.0) / 6.0, float(self._weight))
        best, places = top_k(arrays.reshape(scores, [-1, self._width * words]), self._width)

        def chosen(x: Any) -> Any:
            return arrays.gather(x, beams, batch_dims=1) if x.shape.ndims else x

        ids, beams = M.floormod(places, words), M.floordiv(places, words)
        before = chosen(state.finished)
        finished = M.logical_or(before, M.equal(ids, self._end))
        following = BeamSearchDecoderState(
            mapped(chosen, mapped(self._split, new)),
            arrays.gather(arrays.reshape(total, [-1, self._width * words]), places, batch_dims=1),
            finished, chosen(state.lengths) + M.cast(M.logical_not(before), np.int64),
        )  # fmt: skip
        return BeamSearchDecoderOutput(best, ids, beams), following, self._embedding(ids), finished

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        longest = M.reduce_max(final_state.lengths, 1)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state


# attention ------------------------------------------------------------------------------------------------------------


@operation("attention_mask", "Mul", frozenset())
def _masked(memory: Operand, lengths: Operand, value: Any = 0.0) -> Any:
    """The memory (batch, time, ...) with `value` beyond the length of each row."""
    place = static.constant(np.arange(extent_of(memory, 1)).astype(lengths.dtype))
    inside = F.lt(place, F.expand_dims(lengths, 1))
    return F.where(F.expand_dims(inside, tuple(range(2, memory.ndim))), memory, F.full_like(memory, float(value)))


_softmax = define("_softmax", "Softmax", lambda score: F.softmax(score, axis=-1))


class AttentionMechanism:
    """Keys and values of a memory (batch, time, depth). Called with a query, it gives (alignments, next state)."""

    scope_name = "attention"

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None,
        probability_fn: Callable[[Any], Any] | None = None, score_mask_value: float | None = None, name: str | None = None,
    ):  # fmt: skip
        self._num_units, self._name = num_units, name or self.scope_name
        self._lengths = memory_sequence_length
        self._mask_value = -np.inf if score_mask_value is None else score_mask_value
        self._probability_fn = probability_fn or _softmax
        self.values = memory if memory_sequence_length is None else _masked(memory, memory_sequence_length)
        self.memory_layer = Dense(num_units, use_bias=False, name="memory_layer")
        self.keys = self.memory_layer(self.values)
        self._built = False

    @property
    def batch_size(self) -> Any:
        rows = self.keys.shape.as_list()[0]
        return arrays.shape(self.keys)[0] if rows is None else rows

    @property
    def alignments_size(self) -> Any:
        steps = self.keys.shape.as_list()[1]
        return arrays.shape(self.keys)[1] if steps is None else steps

    state_size = alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """Zeros (batch, time)."""
        return arrays.zeros([batch_size, self.alignments_size], dtype)

    initial_state = initial_alignments

    _v: Any
    _g: Any
    _b: Any

    def build(self, dtype: Any) -> None:
        """Make the variables of the score."""

    def score(self, query: Any) -> Any:
        raise NotImplementedError

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        if not self._built:
            with variable_scope(None, self._name):
                self.build(query.dtype)
            self._built = True
        score = self.score(query)
        if self._lengths is not None:
            score = _masked(score, self._lengths, self._mask_value)
        alignments = self._probability_fn(score)
        return alignments, alignments


class BahdanauAttention(AttentionMechanism):
    """v . tanh(W_q q + W_k k). Bahdanau et al., ICLR 2015; normalize: Salimans and Kingma, 2016."""

    scope_name = "bahdanau_attention"

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None, normalize: bool = False,
        probability_fn: Any = None, score_mask_value: Any = None, dtype: Any = None, name: str | None = None,
    ):  # fmt: skip
        super().__init__(num_units, memory, memory_sequence_length, probability_fn, score_mask_value, name)
        self._normalize = normalize
        self.query_layer: Any = None

    def build(self, dtype: Any) -> None:
        with variable_scope("query_layer") as scope:
            self.query_layer = Dense(self._num_units, use_bias=False, _scope=scope)
        self._v = get_variable("attention_v", [self._num_units], dtype)
        if self._normalize:
            start = constant_initializer((1.0 / self._num_units) ** 0.5)
            self._g = get_variable("attention_g", [], dtype, start)
            self._b = get_variable("attention_b", [self._num_units], dtype, zeros_initializer())

    def score(self, query: Any) -> Any:
        q = arrays.expand_dims(self.query_layer(query), 1)
        if not self._normalize:
            return math.reduce_sum(self._v * nn.tanh(self.keys + q), [2])  # type: ignore[attr-defined]
        v = self._g * self._v * math.rsqrt(math.reduce_sum(math.square(self._v)))  # type: ignore[attr-defined]
        return math.reduce_sum(v * nn.tanh(self.keys + q + self._b), [2])  # type: ignore[attr-defined]


class LuongAttention(AttentionMechanism):
    """q . W k, times a variable with `scale`. Luong et al., EMNLP 2015."""

    scope_name = "luong_attention"

    def __init__(
        self, num_units: int, memory: Any, memory_sequence_length: Any = None, scale: bool = False,
        probability_fn: Any = None, score_mask_value: Any = None, dtype: Any = None, name: str | None = None,
    ):  # fmt: skip
        super().__init__(num_units, memory, memory_sequence_length, probability_fn, score_mask_value, name)
        self._scale = scale

    def build(self, dtype: Any) -> None:
        if self._scale:
            self._g = get_variable("attention_g", [], dtype, constant_initializer(1.0))

    def score(self, query: Any) -> Any:
        depth, units = query.shape.as_list()[-1], self._num_units
        if depth != units:
            raise ValueError(
                f"Incompatible or unknown inner dimensions between query and keys. Query (depth {depth}) and keys (depth "
                f"{units}): perhaps you need to set num_units to the query's depth ({depth})."
            )
        score = arrays.squeeze(math.matmul(arrays.expand_dims(query, 1), self.keys, transpose_b=True), [1])
        return self._g * score if self._scale else score


class AttentionWrapperState(NamedTuple):
    """The state of an `AttentionWrapper`."""

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **changes: Any) -> AttentionWrapperState:
        """With some parts replaced, as `cell_state`."""
        return self._replace(**changes)


class AttentionWrapper(RNNCell):
    """A cell that sees its last attention, and attends with its output.

    attention_layer_size: units of a layer over [output, context]; without one the attention is the context.
    alignment_history is refused: return alignments from the cell's state instead.
    """

    def __init__(
        self, cell: Any, attention_mechanism: Any, attention_layer_size: Any = None, alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None, output_attention: bool = True,
        initial_cell_state: Any = None, name: str | None = None, attention_layer: Any = None,
    ):  # fmt: skip
        super().__init__(name=name)
        if alignment_history:
            raise ValueError("AttentionWrapper: alignment_history is not supported; read state.alignments in a step")
        self._several = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = list(attention_mechanism) if self._several else [attention_mechanism]
        self._cell, self._output_attention, self._start = cell, output_attention, initial_cell_state
        self._cell_input_fn = cell_input_fn or (lambda inputs, attention: arrays.concat([inputs, attention], -1))
        self._layers: list[Any] | None = None
        if attention_layer_size is not None:
            sizes = list(attention_layer_size) if isinstance(attention_layer_size, (list, tuple)) else [attention_layer_size]
            if len(sizes) != len(self._mechanisms):
                raise ValueError(f"{len(self._mechanisms)} attention_layer_size are needed, got {len(sizes)}")
            self._layers = [Dense(size, use_bias=False, name="attention_layer") for size in sizes]
            self._attention_size = sum(sizes)
        elif attention_layer is not None:
            self._layers = list(attention_layer) if isinstance(attention_layer, (list, tuple)) else [attention_layer]
            self._attention_size = sum(layer.units for layer in self._layers)
        else:
            self._attention_size = sum(m.values.shape.as_list()[-1] for m in self._mechanisms)

    def _packed(self, items: list[Any]) -> Any:
        return tuple(items) if self._several else items[0]

    output_size = property(lambda self: self._attention_size if self._output_attention else self._cell.output_size)

    @property
    def state_size(self) -> AttentionWrapperState:
        sizes = self._packed([m.alignments_size for m in self._mechanisms])
        return AttentionWrapperState(self._cell.state_size, self._attention_size, [], sizes, (), sizes)

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        """Zeros, or the initial state of the cell that was given."""
        start = self._start
        cell_state = self._cell.zero_state(batch_size, dtype) if start is None else mapped(arrays.identity, start)
        return AttentionWrapperState(
            cell_state=cell_state,
            attention=arrays.zeros([batch_size, self._attention_size], dtype),
            time=arrays.zeros([], np.int32),
            alignments=self._packed([m.initial_alignments(batch_size, dtype) for m in self._mechanisms]),
            alignment_history=(),
            attention_state=self._packed([m.initial_state(batch_size, dtype) for m in self._mechanisms]),
        )

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        out, new = self._cell(self._cell_input_fn(inputs, state.attention), state.cell_state)
        before = state.attention_state if self._several else (state.attention_state,)
        attentions, alignments, states = [], [], []
        for number, (mechanism, own) in enumerate(zip(self._mechanisms, before, strict=True)):
            aligned, following = mechanism(out, own)
            context = arrays.squeeze(math.matmul(arrays.expand_dims(aligned, 1), mechanism.values), [1])
            if self._layers is not None:
                context = self._layers[number](arrays.concat([out, context], 1))
            attentions.append(context)
            alignments.append(aligned)
            states.append(following)
        attention = attentions[0] if len(attentions) == 1 else arrays.concat(attentions, 1)
        made = AttentionWrapperState(
            new, attention, state.time + 1, self._packed(alignments), state.alignment_history, self._packed(states)
        )
        return (attention if self._output_attention else out), made


# tf.contrib.legacy_seq2seq --------------------------------------------------------------------------------------------


def rnn_decoder(
    decoder_inputs: Sequence[Any], initial_state: Any, cell: Any, loop_function: Callable[[Any, int], Any] | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:  # fmt: skip
    """(outputs of all steps, last state); loop_function(output, number) makes the inputs of all steps but the first."""
    with variable_scope(scope or "rnn_decoder"):
        state, outputs, before = initial_state, [], None
        for number, x in enumerate(decoder_inputs):
            if loop_function is not None and before is not None:
                x = loop_function(before, number)
            out, state = cell(x, state)
            outputs.append(out)
            before = None if loop_function is None else out
        return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[Any], decoder_inputs: Sequence[Any], cell: Any, dtype: Any = "float32", scope: Any = None
) -> tuple[list[Any], Any]:
    """A decoder that begins with the last state of an encoder, with variables of its own for the same cell."""
    import copy

    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def sequence_loss_by_example(
    logits: Sequence[Any], targets: Sequence[Any], weights: Sequence[Any], average_across_timesteps: bool = True,
    softmax_loss_function: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """(batch,) weighted sums of the cross entropies of lists of logits and targets, over the sum of the weights."""
    if not len(logits) == len(targets) == len(weights):
        raise ValueError(
            f"Lengths of logits, weights, and targets must be the same {len(logits)}, {len(weights)}, {len(targets)}."
        )
    losses = []
    for logit, target, weight in zip(logits, targets, weights, strict=True):
        if softmax_loss_function is None:
            loss = nn.sparse_softmax_cross_entropy_with_logits(labels=arrays.reshape(target, [-1]), logits=logit)
        else:
            loss = softmax_loss_function(labels=target, logits=logit)
        losses.append(loss * weight)
    total = math.add_n(losses, name=name)
    return total / (math.add_n([arrays.convert_to_tensor(w) for w in weights]) + 1e-12) if average_across_timesteps else total


def sequence_loss_of_lists(
    logits: Sequence[Any], targets: Sequence[Any], weights: Sequence[Any], average_across_timesteps: bool = True,
    average_across_batch: bool = True, softmax_loss_function: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """The sum of `sequence_loss_by_example`, over the number of rows."""
    losses = sequence_loss_by_example(logits, targets, weights, average_across_timesteps, softmax_loss_function)
    total = math.reduce_sum(losses, name=name)  # type: ignore[attr-defined]
    return total / math.cast(arrays.shape(targets[0])[0], total.dtype) if average_across_batch else total
