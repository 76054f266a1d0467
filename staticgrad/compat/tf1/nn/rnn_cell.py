"""`tf.nn.rnn_cell`: one step of recurrent networks. Variables have TensorFlow's names and layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from ..arrays import concat, reshape, split, zeros
from ..draws import dropout, random_uniform
from ..dtypes import Dimension, TensorShape, as_dtype
from ..initializers import constant_initializer, zeros_initializer
from ..layer import Layer
from ..math import clip_by_value, matmul
from ..tensor import mapped as mapped
from ..variable_scopes import embedding_lookup, get_variable, variable_scope
from . import functions as nn

Activation = Callable[[Any], Any]


class LSTMStateTuple(NamedTuple):
    """Cell state c and output h of an LSTM, each (batch, units)."""

    c: Any
    h: Any

    @property
    def dtype(self) -> Any:
        return self.c.dtype


class RNNCell(Layer):
    """Base. `call(inputs, state)` returns (output, new state); `build(input_shape)` makes the variables, or `call` does.

    A user's own cell defines `state_size`, `output_size` and either `call` or `__call__`.
    """

    @property
    def state_size(self) -> Any:
        """Units per tensor of the state: a number or a shape, or a nest of them."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        raise NotImplementedError("Abstract method")

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Zeros in the structure of the state. batch_size: a number or a tensor."""
        return mapped(lambda size: _zeros(size, batch_size, dtype), self.state_size)

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """`zero_state` for a batch, which may be that of `inputs`."""
        if inputs is not None:
            from ..arrays import shape

            rows = inputs.shape.as_list()[0]
            batch_size, dtype = (shape(inputs)[0] if rows is None else rows), inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError("batch_size and dtype are needed for the initial state of a cell")
        return self.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:  # type: ignore[override]
        return super().__call__(inputs, state, scope=scope)

    def _called(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.built:
            first = inputs
            while isinstance(first, (list, tuple)):
                first = first[0]
            self._dtype = as_dtype(first.dtype) if self._dtype is None else self._dtype
            self.build(first.shape if first is inputs else mapped(lambda x: x.shape, inputs))
            self.built = True
        return self.call(inputs, *args, **kwargs)


def _zeros(size: Any, batch_size: Any, dtype: Any) -> Any:
    sizes = size.as_list() if isinstance(size, TensorShape) else [size.value if isinstance(size, Dimension) else size]
    return zeros([batch_size, *sizes], dtype)


class LayerRNNCell(RNNCell):
    """Cells of this library: one size for state and output, and an activation."""

    def __init__(
        self, num_units: Any, activation: Any = None, reuse: Any = None, name: str | None = None, dtype: Any = None,
        **options: Any,
    ):  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=None if dtype is None else as_dtype(dtype), **options)
        self._num_units = num_units
        named = getattr(nn, activation, None) if isinstance(activation, str) else activation
        self._activation: Activation = nn.tanh if named is None else named

    state_size = property(lambda self: self._num_units)
    output_size = property(lambda self: self._num_units)

    def _linear(self, prefix: str, size: int, units: int, kernel: Any, bias: Any) -> tuple[Any, Any]:
        """The kernel (size, units) and the bias (units,)."""
        return (
            self.add_weight(f"{prefix}kernel", [size, units], initializer=kernel),
            self.add_weight(f"{prefix}bias", [units], initializer=bias),
        )

    def _size(self, input_shape: Any) -> int:
        size = TensorShape(input_shape).as_list()[-1]
        if size is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {TensorShape(input_shape)}")
        return int(size)


class BasicRNNCell(LayerRNNCell):
    """activation([x, h] W + b). Elman, 1990."""

    def build(self, input_shape: Any) -> None:
        n = self._num_units
        self._kernel, self._bias = self._linear("", self._size(input_shape) + n, n, None, zeros_initializer())

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        out = self._activation(nn.bias_add(matmul(concat([inputs, state], 1), self._kernel), self._bias))
        return out, out


class GRUCell(LayerRNNCell):
    """Cho et al., 2014: r, u = sigmoid([x, h] W); c = tanh([x, r h] V); h = u h + (1 - u) c."""

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, kernel_initializer: Any = None,
        bias_initializer: Any = None, name: str | None = None, dtype: Any = None, **options: Any,
    ):  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype, **options)
        self._initializers = kernel_initializer, bias_initializer

    def build(self, input_shape: Any) -> None:
        n, size, (kernel, bias) = self._num_units, self._size(input_shape), self._initializers
        self._gates = self._linear("gates/", size + n, 2 * n, kernel, constant_initializer(1.0) if bias is None else bias)
        self._candidate = self._linear("candidate/", size + n, n, kernel, zeros_initializer() if bias is None else bias)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        (gate_kernel, gate_bias), (kernel, bias) = self._gates, self._candidate
        gates = nn.sigmoid(nn.bias_add(matmul(concat([inputs, state], 1), gate_kernel), gate_bias))
        r, u = split(gates, 2, axis=1)
        candidate = self._activation(nn.bias_add(matmul(concat([inputs, r * state], 1), kernel), bias))
        new = u * state + (1 - u) * candidate
        return new, new


class BasicLSTMCell(LayerRNNCell):
    """Zaremba et al., 2014; gates i, j, f, o in one kernel, `forget_bias` added to f."""

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, state_is_tuple: bool = True, activation: Any = None,
        reuse: Any = None, name: str | None = None, dtype: Any = None, **options: Any,
    ):  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype, **options)
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple

    @property
    def state_size(self) -> Any:
        n = self._num_units
        return LSTMStateTuple(n, n) if self._state_is_tuple else 2 * n

    def build(self, input_shape: Any) -> None:
        n = self._num_units
        self._kernel, self._bias = self._linear("", self._size(input_shape) + n, 4 * n, None, zeros_initializer())

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        c, h = state if self._state_is_tuple else split(state, 2, axis=1)
        i, j, f, o = split(nn.bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias), 4, axis=1)
        new_c = c * nn.sigmoid(f + self._forget_bias) + nn.sigmoid(i) * self._activation(j)
        new_h = self._activation(new_c) * nn.sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


class LSTMCell(LayerRNNCell):
    """Hochreiter and Schmidhuber, 1997, with optional peepholes (the gates see c), clipping of c, and a projection of h.

    Sak et al., "Long short-term memory recurrent neural network architectures for large scale acoustic modeling", 2014.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, cell_clip: Any = None, initializer: Any = None,
        num_proj: Any = None, proj_clip: Any = None, num_unit_shards: Any = None, num_proj_shards: Any = None,
        forget_bias: float = 1.0, state_is_tuple: bool = True, activation: Any = None, reuse: Any = None,
        name: str | None = None, dtype: Any = None, **options: Any,
    ):  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype, **options)
        self._use_peepholes, self._cell_clip, self._initializer = use_peepholes, cell_clip, initializer
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple

    output_size = property(lambda self: self._num_proj or self._num_units)

    @property
    def state_size(self) -> Any:
        n, out = self._num_units, self.output_size
        return LSTMStateTuple(n, out) if self._state_is_tuple else n + out

    def build(self, input_shape: Any) -> None:
        n = self._num_units
        size = self._size(input_shape) + self.output_size
        self._kernel, self._bias = self._linear("", size, 4 * n, self._initializer, zeros_initializer())
        if self._use_peepholes:
            self._peepholes = [
                self.add_weight(f"w_{gate}_diag", [n], initializer=self._initializer) for gate in ("f", "i", "o")
            ]
        if self._num_proj:
            self._projection = self.add_weight("projection/kernel", [n, self._num_proj], initializer=self._initializer)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        n, out = self._num_units, self.output_size
        c, h = state if self._state_is_tuple else split(state, [n, out], axis=1)
        i, j, f, o = split(nn.bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias), 4, axis=1)
        f = f + self._forget_bias
        if self._use_peepholes:
            of_f, of_i, of_o = self._peepholes
            f, i = f + of_f * c, i + of_i * c
        new_c = nn.sigmoid(f) * c + nn.sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            o = o + of_o * new_c
        new_h = nn.sigmoid(o) * self._activation(new_c)
        if self._num_proj:
            new_h = matmul(new_h, self._projection)
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


class MultiRNNCell(RNNCell):
    """Cells one after another, each with a state of its own."""

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True):
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if not state_is_tuple and any(isinstance(c.state_size, (list, tuple)) for c in cells):
            raise ValueError("Some cells return tuples of states, but the flag state_is_tuple is not set.")
        self._cells, self._state_is_tuple = list(cells), state_is_tuple

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    output_size = property(lambda self: self._cells[-1].output_size)

    @property
    def weights(self) -> list[Any]:
        return [w for cell in self._cells if isinstance(cell, Layer) for w in cell.weights]

    @property
    def trainable_weights(self) -> list[Any]:
        return [w for cell in self._cells if isinstance(cell, Layer) for w in cell.trainable_weights]

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        if self._state_is_tuple:
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
        return super().zero_state(batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        if not self._state_is_tuple:
            state = split(state, [cell.state_size for cell in self._cells], axis=1)
        states = []
        for number, (cell, own) in enumerate(zip(self._cells, state, strict=True)):
            with variable_scope(f"cell_{number}"):
                inputs, new = cell(inputs, own)
            states.append(new)
        return inputs, tuple(states) if self._state_is_tuple else concat(states, 1)


class _Wrapper(RNNCell):
    """A cell around another, whose sizes and variables it has."""

    def __init__(self, cell: Any):
        super().__init__()
        self._cell = cell

    wrapped_cell = property(lambda self: self._cell)
    state_size = property(lambda self: self._cell.state_size)
    output_size = property(lambda self: self._cell.output_size)

    @property
    def weights(self) -> list[Any]:
        return list(self._cell.weights)

    @property
    def trainable_weights(self) -> list[Any]:
        return list(self._cell.trainable_weights)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:  # type: ignore[override]
        """No scope of its own: the variables are the cell's."""
        with nullcontext() if scope is None else variable_scope(scope):
            return self.call(inputs, state)


class DropoutWrapper(_Wrapper):
    """Dropout of a cell's inputs, outputs and states (not of an LSTM's c).

    variational_recurrent: the same elements in all steps (Gal and Ghahramani, 2016); it needs `dtype`, and `input_size` for
    inputs that are dropped.
    """

    def __init__(
        self, cell: Any, input_keep_prob: Any = 1.0, output_keep_prob: Any = 1.0, state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False, input_size: Any = None, dtype: Any = None, seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
    ):  # fmt: skip
        super().__init__(cell)
        for name, keep in (("input", input_keep_prob), ("state", state_keep_prob), ("output", output_keep_prob)):
            if isinstance(keep, (int, float)) and not 0 <= keep <= 1:
                raise ValueError(f"Parameter {name}_keep_prob must be between 0 and 1: {keep}")
        self._keep = input_keep_prob, state_keep_prob, output_keep_prob
        self._seed, self._filter = seed, dropout_state_filter_visitor
        self._noise: Any = None
        if variational_recurrent:
            if dtype is None:
                raise ValueError("When variational_recurrent=True, dtype must be provided")
            if input_size is None and not _certain(input_keep_prob):
                raise ValueError("When variational_recurrent=True and input_keep_prob < 1.0, input_size must be provided")

            def noise(size: Any) -> Any:
                sizes = size.as_list() if isinstance(size, TensorShape) else [size]
                return random_uniform([1, *sizes], dtype=dtype, seed=seed)

            self._noise = (
                None if input_size is None else mapped(noise, input_size),
                mapped(noise, cell.state_size),
                mapped(noise, cell.output_size),
            )

    def _dropped(self, x: Any, which: int) -> Any:
        keep = self._keep[which]
        if _certain(keep):
            return x
        if self._noise is None:
            return mapped(lambda t: dropout(t, keep, seed=self._seed), x)
        return mapped(lambda t, u: t / keep * _floor(u + keep), x, self._noise[which])

    def _dropped_state(self, state: Any) -> Any:
        """The state with dropout where the filter says so: everywhere but in an LSTM's c, unless one was given."""
        if _certain(self._keep[1]):
            return state
        dropped = self._dropped(state, 1)
        return self._chosen(state, dropped)

    def _chosen(self, state: Any, dropped: Any) -> Any:
        found = self._filter(state) if self._filter is not None else not isinstance(state, LSTMStateTuple)
        if isinstance(found, bool):
            if isinstance(state, LSTMStateTuple) and self._filter is None:
                return LSTMStateTuple(state.c, dropped.h)
            if not found:
                return state
            if isinstance(state, (list, tuple)):
                items = [self._chosen(s, d) for s, d in zip(state, dropped, strict=True)]
                return type(state)(*items) if hasattr(state, "_fields") else type(state)(items)
            return dropped
        return mapped(lambda chosen, s, d: d if chosen else s, found, state, dropped)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        out, new = self._cell(self._dropped(inputs, 0), state)
        return self._dropped(out, 2), self._dropped_state(new)


def _certain(keep: Any) -> bool:
    return isinstance(keep, (int, float)) and keep == 1


def _floor(x: Any) -> Any:
    from .. import math

    return math.floor(x)  # type: ignore[attr-defined]


class ResidualWrapper(_Wrapper):
    """A cell whose inputs are added to its outputs, or `residual_fn(inputs, outputs)`."""

    def __init__(self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None):
        super().__init__(cell)
        self._residual_fn = residual_fn

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        out, new = self._cell(inputs, state)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, out), new
        return mapped(lambda x, y: x + y, inputs, out), new


class DeviceWrapper(_Wrapper):
    """Accepted: a cell on the CPU."""

    def __init__(self, cell: Any, device: Any):
        super().__init__(cell)
        self._device = device

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        return self._cell(inputs, state)


# tf.contrib.rnn -------------------------------------------------------------------------------------------------------

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
