"""`tf.contrib.legacy_seq2seq`: decoders over lists of steps, and their loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import arrays, math
from ..nn import functions as nn
from ..nn.rnn import static_rnn
from ..variable_scopes import variable_scope


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


def sequence_loss(
    logits: Sequence[Any], targets: Sequence[Any], weights: Sequence[Any], average_across_timesteps: bool = True,
    average_across_batch: bool = True, softmax_loss_function: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """The sum of `sequence_loss_by_example`, over the number of rows."""
    losses = sequence_loss_by_example(logits, targets, weights, average_across_timesteps, softmax_loss_function)
    total = math.reduce_sum(losses, name=name)  # type: ignore[attr-defined]
    return total / math.cast(arrays.shape(targets[0])[0], total.dtype) if average_across_batch else total
