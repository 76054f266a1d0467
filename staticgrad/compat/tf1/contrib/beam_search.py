"""Beam search: a decoder that keeps the most probable sequences of each sample."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import arrays, math
from ..control import scan
from ..gathering import top_k
from ..graph import get_default_graph
from ..nn import functions as nn
from ..nn.rnn_cell import mapped
from .seq2seq import Decoder

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
        self._embedding = embedding if callable(embedding) else lambda ids: arrays.embedding_lookup(embedding, ids)
        self._start = arrays.convert_to_tensor(start_tokens, np.int32)
        self._end = arrays.convert_to_tensor(end_token, np.int32)
        self._initial, self._weight = initial_state, length_penalty_weight

    @property
    def batch_size(self) -> Any:
        return arrays.shape(self._start)[0]

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
        ends = arrays.one_hot(self._end, words, 0.0, np.finfo(np.float32).min)
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
