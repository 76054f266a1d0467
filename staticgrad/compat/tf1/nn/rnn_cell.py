"""`tf.nn.rnn_cell`: one step of recurrent networks. Variables have TensorFlow's names and layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..arrays import concat, split, zeros
from ..dtypes import float32
from ..initializers import constant_initializer, zeros_initializer
from ..math import matmul
from ..variable_scopes import get_variable, variable_scope
from . import functions as nn


class LSTMStateTuple(NamedTuple):
    """Cell state c and output h of an LSTM, each (batch, units)."""

    c: Any
    h: Any


class RNNCell:
    """Base. `call(inputs, state)` returns (output, new state); `make_variables` makes its variables, once.

    A user's own cell defines `state_size`, `output_size` and either these two or `__call__`.
    """

    scope_name = "rnn_cell"
    _name: str | None = None
    _reuse: Any = None
    kernels: Sequence[Any] = ()

    def __init__(
        self, num_units: Any = None, activation: Callable[[Any], Any] | None = None, reuse: Any = None, name: str | None = None
    ):
        self._num_units, self._activation, self._reuse, self._name = num_units, activation or nn.tanh, reuse, name

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    @property
    def variables(self) -> list[Any]:
        return list(self.kernels)

    trainable_variables = trainable_weights = variables

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Zeros in the structure of the state. batch_size: a number or a tensor."""
        return _zeros(self.state_size, batch_size, dtype)

    def build(self, input_size: int, dtype: Any = float32) -> None:
        """Make the variables for inputs of this size; nothing at later calls."""
        if not self.kernels:
            with variable_scope(self._name or self.scope_name, reuse=self._reuse):
                self.make_variables(input_size, dtype)

    def make_variables(self, input_size: int, dtype: Any) -> None:
        """None, unless a cell has some."""

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        raise NotImplementedError

    def __call__(self, inputs: Any, state: Any, scope: str | None = None) -> tuple[Any, Any]:
        size = inputs.shape[-1].value
        if size is None:
            raise ValueError("Expected inputs.shape[-1] to be known, saw shape: " + str(inputs.shape))
        self.build(size, inputs.dtype)
        return self.call(inputs, state)


def _zeros(size: Any, batch_size: Any, dtype: Any) -> Any:
    if isinstance(size, tuple):
        items = [_zeros(s, batch_size, dtype) for s in size]
        return type(size)(*items) if hasattr(size, "_fields") else tuple(items)
    return zeros([batch_size, size], dtype)


class BasicRNNCell(RNNCell):
    """activation([x, h] W + b). Elman, 1990."""

    scope_name = "basic_rnn_cell"

    def make_variables(self, input_size: int, dtype: Any) -> None:
        n = self._num_units
        self.kernels = [
            get_variable("kernel", [input_size + n, n], dtype),
            get_variable("bias", [n], dtype, zeros_initializer()),
        ]

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        kernel, bias = self.kernels
        out = self._activation(nn.bias_add(matmul(concat([inputs, state], 1), kernel), bias))
        return out, out


class GRUCell(RNNCell):
    """Cho et al., 2014: r, u = sigmoid([x, h] W); c = tanh([x, r h] V); h = u h + (1 - u) c."""

    scope_name = "gru_cell"

    def __init__(
        self, num_units: int, activation: Callable[[Any], Any] | None = None, reuse: Any = None,
        kernel_initializer: Any = None, bias_initializer: Any = None, name: str | None = None,
    ):  # fmt: skip
        super().__init__(num_units, activation, reuse, name)
        self._initializers = kernel_initializer, bias_initializer

    def make_variables(self, input_size: int, dtype: Any) -> None:
        n, (kernel, bias) = self._num_units, self._initializers
        for part, units, start in (("gates", 2 * n, constant_initializer(1.0)), ("candidate", n, zeros_initializer())):
            with variable_scope(part):
                self.kernels = [
                    *self.kernels,
                    get_variable("kernel", [input_size + n, units], dtype, kernel),
                    get_variable("bias", [units], dtype, start if bias is None else bias),
                ]

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        gate_kernel, gate_bias, kernel, bias = self.kernels
        gates = nn.sigmoid(nn.bias_add(matmul(concat([inputs, state], 1), gate_kernel), gate_bias))
        r, u = split(gates, 2, axis=1)
        candidate = self._activation(nn.bias_add(matmul(concat([inputs, r * state], 1), kernel), bias))
        new = u * state + (1 - u) * candidate
        return new, new


class BasicLSTMCell(RNNCell):
    """Zaremba et al., 2014; gates i, j, f, o in one kernel, `forget_bias` added to f."""

    scope_name = "basic_lstm_cell"

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, state_is_tuple: bool = True,
        activation: Callable[[Any], Any] | None = None, reuse: Any = None, name: str | None = None,
        initializer: Any = None,
    ):  # fmt: skip
        super().__init__(num_units, activation, reuse, name)
        self._forget_bias, self._tuple, self._initializer = forget_bias, state_is_tuple, initializer

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units) if self._tuple else 2 * self._num_units

    def make_variables(self, input_size: int, dtype: Any) -> None:
        n = self._num_units
        self.kernels = [
            get_variable("kernel", [input_size + n, 4 * n], dtype, self._initializer),
            get_variable("bias", [4 * n], dtype, zeros_initializer()),
        ]

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        kernel, bias = self.kernels
        c, h = state if self._tuple else split(state, 2, axis=1)
        i, j, f, o = split(nn.bias_add(matmul(concat([inputs, h], 1), kernel), bias), 4, axis=1)
        new_c = c * nn.sigmoid(f + self._forget_bias) + nn.sigmoid(i) * self._activation(j)
        new_h = self._activation(new_c) * nn.sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h) if self._tuple else concat([new_c, new_h], 1)


class LSTMCell(BasicLSTMCell):
    """As `BasicLSTMCell`, with TensorFlow's order of arguments; peepholes and projections are refused."""

    scope_name = "lstm_cell"

    def __init__(
        self, num_units: int, use_peepholes: bool = False, cell_clip: Any = None, initializer: Any = None,
        num_proj: Any = None, proj_clip: Any = None, num_unit_shards: Any = None, num_proj_shards: Any = None,
        forget_bias: float = 1.0, state_is_tuple: bool = True, activation: Callable[[Any], Any] | None = None,
        reuse: Any = None, name: str | None = None,
    ):  # fmt: skip
        if use_peepholes or cell_clip is not None or num_proj is not None:
            raise ValueError("LSTMCell: use_peepholes, cell_clip and num_proj are not supported")
        super().__init__(num_units, forget_bias, state_is_tuple, activation, reuse, name, initializer)


class MultiRNNCell(RNNCell):
    """Cells one after another, each with a state of its own."""

    scope_name = "multi_rnn_cell"

    def __init__(self, cells: Sequence[RNNCell], state_is_tuple: bool = True):
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not state_is_tuple:
            raise ValueError("MultiRNNCell: state_is_tuple=False is not supported")
        super().__init__(cells[-1].output_size)
        self._cells = list(cells)

    @property
    def state_size(self) -> Any:
        return tuple(cell.state_size for cell in self._cells)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def make_variables(self, input_size: int, dtype: Any) -> None:
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                cell.build(input_size, dtype)
            self.kernels = [*self.kernels, *cell.variables]
            input_size = cell.output_size

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        states = []
        for cell, own in zip(self._cells, state, strict=True):
            inputs, new = cell.call(inputs, own)
            states.append(new)
        return inputs, tuple(states)


class DropoutWrapper(RNNCell):
    """Dropout of a cell's inputs and outputs."""

    def __init__(self, cell: RNNCell, input_keep_prob: Any = 1.0, output_keep_prob: Any = 1.0, state_keep_prob: Any = 1.0):
        if state_keep_prob != 1.0:
            raise ValueError("DropoutWrapper: state_keep_prob is not supported")
        super().__init__(cell.output_size)
        self._cell, self._keep = cell, (input_keep_prob, output_keep_prob)

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def build(self, input_size: int, dtype: Any = float32) -> None:
        self._cell.build(input_size, dtype)
        self.kernels = self._cell.variables

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        before, after = self._keep
        out, new = self._cell.call(_dropped(inputs, before), state)
        return _dropped(out, after), new


def _dropped(x: Any, keep: Any) -> Any:
    return x if isinstance(keep, (int, float)) and keep == 1 else nn.dropout(x, keep)
