"""`tf.contrib.rnn`: the cells of `tf.nn.rnn_cell`, and cells beside them."""

from __future__ import annotations

from typing import Any

from ..arrays import reshape
from ..initializers import zeros_initializer
from ..math import matmul
from ..nn import functions as nn
from ..nn.rnn_cell import BasicLSTMCell, GRUCell, RNNCell, _Wrapper
from ..partitions import embedding_lookup
from ..variable_scopes import get_variable, variable_scope

LSTMBlockCell, GRUBlockCell = BasicLSTMCell, GRUCell


class OutputProjectionWrapper(_Wrapper):
    """A cell whose outputs are projected to `output_size`."""

    def __init__(self, cell: Any, output_size: int, activation: Any = None, reuse: Any = None):
        super().__init__(cell)
        self._output_size, self._activation = output_size, activation

    @property
    def output_size(self) -> int:
        return self._output_size

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        out, new = self._cell(inputs, state)
        return _projected(out, self._output_size, "output_projection_wrapper", self._activation), new


class InputProjectionWrapper(_Wrapper):
    """A cell whose inputs are projected to `num_proj`."""

    def __init__(self, cell: Any, num_proj: int, activation: Any = None, input_size: Any = None, reuse: Any = None):
        super().__init__(cell)
        self._num_proj, self._activation = num_proj, activation

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        return self._cell(_projected(inputs, self._num_proj, "input_projection_wrapper", self._activation), state)


def _projected(x: Any, units: int, scope: str, activation: Any) -> Any:
    with variable_scope(scope):
        kernel = get_variable("kernel", [x.shape[-1].value, units])
        out = nn.bias_add(matmul(x, kernel), get_variable("bias", [units], initializer=zeros_initializer()))
    return out if activation is None else activation(out)


class EmbeddingWrapper(RNNCell):
    """A cell whose inputs are ids, looked up in a table `embedding` (classes, size)."""

    def __init__(self, cell: Any, embedding_classes: int, embedding_size: int, initializer: Any = None, reuse: Any = None):
        super().__init__(_reuse=reuse)
        self._cell, self._sizes, self._initializer = cell, [embedding_classes, embedding_size], initializer

    state_size = property(lambda self: self._cell.state_size)
    output_size = property(lambda self: self._cell.output_size)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        table = get_variable("embedding", self._sizes, initializer=self._initializer)
        return self._cell(embedding_lookup(table, reshape(inputs, [-1])), state)
