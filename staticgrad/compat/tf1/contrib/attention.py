"""Attention over a memory, and the cell that attends at each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import arrays, math
from ..core import F, static
from ..initializers import constant_initializer, zeros_initializer
from ..layers.core import Dense
from ..nn import functions as nn
from ..nn.rnn_cell import RNNCell
from ..tensor import Operand, define, extent_of, mapped, operation
from ..variable_scopes import get_variable, variable_scope


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
