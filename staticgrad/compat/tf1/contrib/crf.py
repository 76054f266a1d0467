"""`tf.contrib.crf`: conditional random fields over chains of tags. Lafferty, McCallum and Pereira, ICML 2001.

Potentials are (batch, time, tags); a score of tags is the sum of their potentials and of `transition_params[from, to]` between
neighbours. Steps from a sequence's length on count for nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays
from .. import math as _math
from ..control import scan
from ..gathering import gather_nd
from ..variable_scopes import get_variable

math: Any = _math  # its functions are made of records


def _steps(x: Any) -> Any:
    """Time before batch."""
    return arrays.transpose(x, [1, 0, *range(2, x.shape.ndims)])


def _mask(sequence_lengths: Any, like: Any, first: int = 0) -> Any:
    """1 before the ends of sequences, from a step on: (batch, time - first)."""
    lengths = arrays.convert_to_tensor(sequence_lengths)
    return arrays.sequence_mask(lengths, arrays.shape(like)[1], np.float32)[:, first:]


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Any:
    """The sum of the potentials of tags: (batch,)."""
    chosen = inputs * arrays.one_hot(tag_indices, inputs.shape[2].value, dtype=inputs.dtype)
    mask = math.cast(_mask(sequence_lengths, inputs), inputs.dtype)
    return math.reduce_sum(math.reduce_sum(chosen, 2) * mask, 1)


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The sum of the transitions between tags: (batch,)."""
    table = arrays.convert_to_tensor(transition_params)
    tags = math.cast(arrays.convert_to_tensor(tag_indices), np.int32)
    places = tags[:, :-1] * table.shape[1].value + tags[:, 1:]
    found = arrays.gather(arrays.reshape(table, [-1]), places)
    return math.reduce_sum(found * math.cast(_mask(sequence_lengths, tags, 1), table.dtype), 1)


def crf_sequence_score(inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The score of tags, without normalization: (batch,)."""
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)


def _advanced(score: Any, transition_params: Any) -> Any:
    """The scores of all pairs of neighbours: (batch, from, to)."""
    return arrays.expand_dims(score, 2) + arrays.expand_dims(arrays.convert_to_tensor(transition_params), 0)


def _present(mask: Any, new: Any, old: Any) -> Any:
    """`new` for the sequences that have this step, `old` for the others."""
    return arrays.where(math.greater(mask, 0.0), new, old)


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The logarithm of the sum of the exponentials of the scores of all tags: (batch,)."""
    mask = _steps(_mask(sequence_lengths, inputs))

    def step(score: Any, item: Any) -> Any:
        here, present = item
        return _present(present, math.reduce_logsumexp(_advanced(score, transition_params), 1) + here, score)

    # of the first step on, the potentials are the scores
    start, rest = inputs[:, 0], _steps(inputs)[1:]
    last = start if inputs.shape[1].value == 1 else scan(step, (rest, mask[1:]), start)[-1]
    norm = math.reduce_logsumexp(last, 1)
    return _present(mask[0], norm, arrays.zeros_like(norm))


def crf_log_likelihood(inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None) -> tuple[Any, Any]:
    """The logarithm of the probability of tags, and the transitions, a variable "transitions" unless given."""
    count = inputs.shape[2].value
    table = get_variable("transitions", [count, count]) if transition_params is None else transition_params
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, table)
    return score - crf_log_norm(inputs, sequence_lengths, table), table


def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Any, Any]:
    """The tags of the highest score, int32 (batch, time) with 0 from the ends of sequences on, and that score."""
    mask, count = _steps(_mask(sequence_length, potentials)), potentials.shape[2].value
    start, rest = potentials[:, 0], _steps(potentials)[1:]
    own = arrays.zeros_like(math.cast(start, np.int32)) + np.arange(count, dtype=np.int32)
    if potentials.shape[1].value == 1:
        score, tags = start, arrays.expand_dims(math.cast(math.argmax(start, 1), np.int32), 0)
    else:

        def step(state: Any, item: Any) -> Any:
            score, _ = state
            here, present = item
            pairs = _advanced(score, transition_params)
            came = math.cast(math.argmax(pairs, 1), np.int32)
            return _present(present, math.reduce_max(pairs, 1) + here, score), _present(present, came, own)

        scores, came_from = scan(step, (rest, mask[1:]), (start, own))
        score = scores[-1]
        last = math.cast(math.argmax(score, 1), np.int32)

        def back(tag: Any, pointers: Any) -> Any:
            rows = math.cast(arrays.range_(arrays.shape(tag)[0]), np.int32)
            return gather_nd(pointers, arrays.stack([rows, tag], 1))

        before = scan(back, came_from, last, reverse=True)
        tags = arrays.concat([before, arrays.expand_dims(last, 0)], 0)
    return _steps(tags * math.cast(mask, np.int32)), math.reduce_max(score, 1)


def viterbi_decode(score: np.ndarray, transition_params: np.ndarray) -> tuple[list[int], Any]:
    """The tags of the highest score of one sequence (time, tags), and that score, in NumPy."""
    best, came = np.array(score[0]), []
    for here in score[1:]:
        pairs = best[:, None] + transition_params
        came.append(pairs.argmax(0))
        best = here + pairs.max(0)
    tags = [int(best.argmax())]
    for pointers in reversed(came):
        tags.append(int(pointers[tags[-1]]))
    return tags[::-1], best.max()
