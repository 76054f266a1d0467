"""Recurrent layers over `sg.scan`, one native loop per layer and direction, and cells, with PyTorch's names and layouts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.types import DTypeLike
from ..eager import Tensor, zeros
from ..eager.calls.composites import composite
from ..errors import ArgumentError, ArgumentTypeError, ShapeError
from ..namespaces import functional
from ..namespaces.functional import torch_layers
from ..ops.control.scan import scan
from ..ops.operands import operand, size_text
from ..ops.operators import Array, F, autocasting
from ..ops.operators import Tensor as AnyTensor
from . import init
from .layers import Dropout, _extent
from .module import Module
from .parameter import Parameter, room_on
from .utils.rnn import PackedSequence, lengths_of, padded_as_sorted


class RNNBase(Module):
    """A recurrent layer by the name of its kind: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".

    Parameters of layer k: weight_ih_l{k} (gates * hidden, inputs), weight_hh_l{k} (gates * hidden, hidden), bias_ih_l{k}
    and bias_hh_l{k} (gates * hidden,), and those of the backward direction with the suffix _reverse; uniform in
    (-1/sqrt(hidden), 1/sqrt(hidden)). All inputs of a layer are projected in one product before its loop."""

    gates = 1
    states = 1

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None,
        dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        name = type(self).__name__
        if mode not in KINDS:
            raise ArgumentError("Unrecognized RNN mode: " + str(mode), f"there are {', '.join(KINDS)}")
        self.mode = mode
        if type(self).cell is RNNBase.cell:
            self.gates, self.states = KINDS[mode].gates, KINDS[mode].states
        for label, value in (("bias", bias), ("batch_first", batch_first)):
            if not isinstance(value, bool):
                raise ArgumentTypeError(f"{label} should be of type bool, got: {type(value).__name__}")
        self.input_size = _extent(name, "input_size", input_size)
        self.hidden_size = _extent(name, "hidden_size", hidden_size)
        self.num_layers = _extent(name, "num_layers", num_layers)
        if not self.input_size:
            raise ArgumentError("input_size must be greater than zero")
        if not self.hidden_size:
            raise ArgumentError("hidden_size must be greater than zero")
        if not self.num_layers:
            raise ArgumentError("num_layers must be greater than zero")
        if isinstance(proj_size, bool) or not isinstance(proj_size, (int, np.integer)) or proj_size < 0:
            raise ArgumentError("proj_size should be a positive integer or zero to disable projections", f"got {proj_size!r}")
        if proj_size >= self.hidden_size:
            raise ArgumentError("proj_size has to be smaller than hidden_size", f"got {proj_size} and {hidden_size}")
        self.proj_size = int(proj_size)
        self.bias, self.batch_first, self.bidirectional = bool(bias), bool(batch_first), bool(bidirectional)
        self.dropout = Dropout(dropout).p
        room = room_on(device, dtype)
        rows, made = self.gates * self.hidden_size, self._sizes()[0]
        for k in range(self.num_layers):
            inputs = self.input_size if k == 0 else made * len(self._directions())
            for end in self._directions():
                shapes: list[tuple[str, tuple[int, ...]]] = [
                    (f"weight_ih_l{k}{end}", (rows, inputs)), (f"weight_hh_l{k}{end}", (rows, made))
                ]  # fmt: skip
                if bias:
                    shapes += [(f"bias_ih_l{k}{end}", (rows,)), (f"bias_hh_l{k}{end}", (rows,))]
                if self.proj_size:
                    shapes.append((f"weight_hr_l{k}{end}", (made, self.hidden_size)))
                for label, shape in shapes:
                    self.register_parameter(label, Parameter(room(shape)))
        self.reset_parameters()

    @property
    def nonlinearity(self) -> str:
        """Of an RNN, "tanh" or "relu"; of other kinds ""."""
        return self.mode.removeprefix("RNN_").lower() if self.mode.startswith("RNN_") else ""

    def _sizes(self) -> tuple[int, ...]:
        """Of each part of the state; of the output first."""
        return (self.proj_size if self.proj_size else self.hidden_size, self.hidden_size)[: self.states]

    def _directions(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def reset_parameters(self) -> None:
        """Draw first values again."""
        bound = 1 / math.sqrt(self.hidden_size)
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def cell(
        self, x: AnyTensor, state: tuple[AnyTensor, ...], weight: AnyTensor, bias: AnyTensor | None
    ) -> tuple[AnyTensor, ...]:
        """The next state from projected inputs (n, gates * hidden); its first part is the output."""
        return KINDS[self.mode].cell(self, x, state, weight, bias)

    def flatten_parameters(self) -> None:
        """Nothing: parameters are read where they are."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        ends = [f"_l{k}{end}" for k in range(self.num_layers) for end in self._directions()]
        return [[getattr(self, name + end) for name in WEIGHTS if hasattr(self, name + end)] for end in ends]

    def forward(self, input: AnyTensor, hx: Any = None) -> tuple[AnyTensor, Any]:
        """(outputs, last state).

        Shapes: x (l, n, input_size), with batch_first (n, l, input_size), unbatched (l, input_size) -> outputs like x with
        hidden_size (twice that for both directions), of the last layer; states (layers * directions, n, hidden_size),
        zeros when left out. An LSTM's outputs and h have proj_size in place of hidden_size, unless that is 0. Raises
        ShapeError.
        """
        x = input.data if isinstance(input, PackedSequence) else input
        if x.dtype != (kind := getattr(self, f"{WEIGHTS[0]}_l0").dtype) and not autocasting():
            raise ArgumentError(
                f"RNN input dtype {x.dtype} does not match weight dtype {kind}. "
                f"Convert input: input.to({kind}), or convert model: model.to({x.dtype})"
            )
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        name, n = type(self).__name__, len(input.shape)
        if n not in (2, 3):
            raise ShapeError(f"{name}: Expected input to be 2D or 3D, got {n}D instead")
        if input.shape[-1] is not None and input.shape[-1] != self.input_size:
            raise ShapeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}")
        if n == 2:
            input = F.expand_dims(input, 1)
        elif self.batch_first:
            input = F.swapaxes(input, 0, 1)
        input, parts = self._layers(input, self._first(input, hx, n == 3), None, lambda x: functional.dropout(x, self.dropout))
        if n == 2:
            input, parts = F.squeeze(input, 1), tuple(F.squeeze(part, 1) for part in parts)
        elif self.batch_first:
            input = F.swapaxes(input, 0, 1)
        return input, parts if self.states > 1 else parts[0]

    def _packed(self, packed: PackedSequence, hx: Any) -> tuple[Any, Any]:
        """The same of sequences of different lengths: each state stays as it is where its sequence has no step."""
        lengths = lengths_of(packed)
        steps = np.arange(lengths[0])[:, None]
        x = padded_as_sorted(packed, 0.0, int(lengths[0]))
        if x.shape[-1] != self.input_size:
            raise ShapeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.shape[-1]}")
        first = self._first(x, hx, True)
        order = packed.layout[1]
        if hx is not None and order is not None:
            first = tuple(F.take(part, np.argsort(order), 1) for part in first)
        present = steps < lengths
        rows = np.flatnonzero(present)

        def data_of(x: Any) -> Any:
            return F.take(F.reshape(x, (-1, x.shape[-1])), rows, 0)

        def dropout(x: Any) -> Any:
            return padded_as_sorted(packed.with_data(functional.dropout(data_of(x), self.dropout)), 0.0, int(lengths[0]))

        x, parts = self._layers(x, first, present[:, :, None], dropout)
        data = data_of(x)
        if order is not None:
            parts = tuple(F.take(part, order, 1) for part in parts)
        return packed.with_data(data), parts if self.states > 1 else parts[0]

    def _layers(
        self, x: Any, first: tuple[Any, ...], present: Any, dropout: Callable[[Any], Any]
    ) -> tuple[Any, tuple[Any, ...]]:
        """(outputs, last state) of all layers, over (l, n, inputs). present: (l, n, 1), where sequences have a step; dropout:
        between layers, which draws for those steps alone."""
        last: list[tuple[Any, ...]] = []
        for k in range(self.num_layers):
            if k and self.training and self.dropout:
                x = dropout(x)
            outputs = []
            for end in self._directions():
                begin = tuple(part[len(last)] for part in first)
                state, ys = self._layer(x, begin, f"_l{k}{end}", end != "", present)
                last.append(state)
                outputs.append(ys)
            x = outputs[0] if len(outputs) == 1 else F.concatenate(outputs, -1)
        return x, tuple(F.stack([state[i] for state in last]) for i in range(self.states))

    def _layer(self, x: AnyTensor, begin: tuple[Any, ...], end: str, reverse: bool, present: Any) -> tuple[Any, Any]:
        weights = tuple(getattr(self, name + end, None) for name in WEIGHTS)
        kind = KINDS[self.mode] if type(self).cell is RNNBase.cell else type(self)
        mixed = kind is GRU and autocasting()  # whose products alone are of 16 bits: its state keeps its dtype
        if kind.cell.__module__ == __name__ and not mixed:
            ys, *state = recurrence(kind, self.hidden_size, self.nonlinearity, reverse, x, present, *weights, *begin)
            return tuple(state), ys
        return _layer_of(self, reverse, x, weights, begin, present)

    def _first(self, x: Any, hx: Any, batched: bool) -> tuple[Any, ...]:
        """The first state's parts, (layers * directions, n, hidden_size) each. Raises ShapeError."""
        layers = self.num_layers * len(self._directions())
        if hx is None:
            if x.shape[1] is None:
                row = F.expand_dims(F.zeros_like(x[0][:, :1]), 0)
                return tuple(row + np.zeros((layers, 1, size), x.dtype) for size in self._sizes())
            return tuple(zeros(layers, x.shape[1], size, dtype=x.dtype, device=x.device) for size in self._sizes())
        given = tuple(map(operand, hx if isinstance(hx, (tuple, list)) or self.states > 1 else (hx,)))
        if len(given) != self.states:
            raise ShapeError(f"{type(self).__name__}: expected {self.states} hidden states, got {len(given)}")
        for i, (part, size) in enumerate(zip(given, self._sizes(), strict=True)):
            wanted = (layers, x.shape[1], size) if batched else (layers, size)
            fits = len(part.shape) == len(wanted) and all(
                a is None or b is None or a == b for a, b in zip(part.shape, wanted, strict=True)
            )
            if not fits:
                which = f"hidden[{i}]" if self.states > 1 else "hidden"
                raise ShapeError(f"Expected {which} size ({size_text(wanted)[1:-1]}), got {size_text(tuple(part.shape))}")
        return given if batched else tuple(F.expand_dims(part, 1) for part in given)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for label, default in (
            ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0.0),
            ("bidirectional", False),
        ):  # fmt: skip
            value = getattr(self, label)
            text += f", {label}={value}" if value != default else ""
        return text


def _layer_of(
    layer: Any, reverse: bool, x: Any, weights: tuple[Any, ...], begin: tuple[Any, ...], present: Any
) -> tuple[Any, Any]:
    """(last state, outputs) of one layer in one direction. weights: those that it doesn't have are None."""
    weight_ih, weight_hh, bias_ih, bias, weight_hr = weights
    weight, project = weight_hh.T, None if weight_hr is None else weight_hr.T
    projected = functional.linear(x, weight_ih, bias_ih)

    def step(state: tuple[Any, ...], inputs: Any) -> tuple[tuple[Any, ...], Any]:
        after = layer.cell(inputs, state, weight, bias)
        if project is not None:
            after = (F.matmul(after[0], project), *after[1:])
        return after, after[0]

    def step_where_present(state: tuple[Any, ...], inputs: Any) -> tuple[tuple[Any, ...], Any]:
        there = inputs[1]
        after = tuple(F.where(there, new, old) for new, old in zip(step(state, inputs[0])[0], state, strict=True))
        return after, after[0]

    if present is None:
        return scan(step, begin, projected, reverse=reverse)
    return scan(step_where_present, begin, (projected, present), reverse=reverse)


@composite
def recurrence(kind: Any, size: int, nonlinearity: str, reverse: bool, x: Any, present: Any, *operands: Any) -> tuple[Any, ...]:
    """(outputs, *last state) of a layer of this class. present: see `_layers`; operands: the weights, then the first state."""
    layer = _Cell(kind, size, nonlinearity)
    state, ys = _layer_of(layer, reverse, x, operands[:5], operands[5:], present)
    return (ys, *state)


class _Cell:
    """What the cell of a layer reads of it, apart from its parameters."""

    def __init__(self, kind: Any, size: int, nonlinearity: str):
        self.kind, self.hidden_size, self.nonlinearity = kind, size, nonlinearity

    def cell(self, *args: Any) -> tuple[Any, ...]:
        return self.kind.cell(self, *args)


def _recurred(state: AnyTensor, weight: AnyTensor, bias: AnyTensor | None) -> AnyTensor:
    if autocasting():  # which casts the bias, too
        return functional.linear(state, weight.T, bias)
    out = F.matmul(state, weight)
    return out if bias is None else out + bias


class RNN(RNNBase):
    """h' = tanh(W x + b + U h + c), or relu. Raises ArgumentError for another nonlinearity.

    Examples:
        >>> outputs, last = nn.RNN(3, 5)(sg.randn(7, 2, 3))
        >>> outputs.shape, last.shape
        (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Any = None,
        dtype: DTypeLike | None = None,
    ):  # fmt: skip
        if nonlinearity not in ("tanh", "relu"):
            raise ArgumentError(f"Unknown nonlinearity {nonlinearity!r}. Select from 'tanh' or 'relu'.")
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)

    if TYPE_CHECKING:

        def forward(self, x: AnyTensor, hx: Array | None = None) -> tuple[AnyTensor, AnyTensor]: ...

    def cell(
        self, x: AnyTensor, state: tuple[AnyTensor, ...], weight: AnyTensor, bias: AnyTensor | None
    ) -> tuple[AnyTensor, ...]:
        fold: Callable[[Any], Any] = F.tanh if self.nonlinearity == "tanh" else F.relu
        return (fold(x + _recurred(state[0], weight, bias)),)


class LSTM(RNNBase):
    """c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c'), with (i, f, g, o) = W x + b + U h + c; the state
    is (h, c). proj_size: h' is then weight_hr_l{k} (proj_size, hidden) times that (Sak et al., 2014).

    Source: Hochreiter and Schmidhuber, "Long short-term memory", 1997. Raises ArgumentError for a proj_size out of range.

    Examples:
        >>> lstm = nn.LSTM(3, 5, batch_first=True)
        >>> output, (h, c) = lstm(sg.zeros((2, 7, 3)))
        >>> output.shape, h.shape, c.shape
        (torch.Size([2, 7, 5]), torch.Size([1, 2, 5]), torch.Size([1, 2, 5]))
    """

    gates = 4
    states = 2

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None,
        dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype
        )

    if TYPE_CHECKING:

        def forward(self, x: AnyTensor, hx: Sequence[Array] | None = None) -> tuple[AnyTensor, tuple[AnyTensor, AnyTensor]]: ...

    def cell(
        self, x: AnyTensor, state: tuple[AnyTensor, ...], weight: AnyTensor, bias: AnyTensor | None
    ) -> tuple[AnyTensor, ...]:
        h, c = state
        i, f, g, o = F.chunk(x + _recurred(h, weight, bias), 4, -1)
        c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
        return F.sigmoid(o) * F.tanh(c), c


class GRU(RNNBase):
    """h' = (1 - z) n + z h, with r, z = sigmoid(W x + b + U h + c) and n = tanh(W x + b + r (U h + c)).

    Source: Cho et al., 2014, with the reset gate after the product, as PyTorch.

    Examples:
        >>> outputs, last = nn.GRU(3, 5, batch_first=True)(sg.randn(2, 7, 3))
        >>> outputs.shape, last.shape
        (torch.Size([2, 7, 5]), torch.Size([1, 2, 5]))
    """

    gates = 3

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )

    if TYPE_CHECKING:

        def forward(self, x: AnyTensor, hx: Array | None = None) -> tuple[AnyTensor, AnyTensor]: ...

    def cell(
        self, x: AnyTensor, state: tuple[AnyTensor, ...], weight: AnyTensor, bias: AnyTensor | None
    ) -> tuple[AnyTensor, ...]:
        (h,), size = state, self.hidden_size
        again = _recurred(h, weight, bias)
        both = F.sigmoid(x[:, : 2 * size] + again[:, : 2 * size])
        r, z = both[:, :size], both[:, size:]
        n = F.tanh(x[:, 2 * size :] + r * again[:, 2 * size :])
        return (n + z * (h - n),)


WEIGHTS = "weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"
"""Names of a layer's parameters, without its number and direction."""
KINDS: dict[str, type[RNNBase]] = {"RNN_TANH": RNN, "RNN_RELU": RNN, "LSTM": LSTM, "GRU": GRU}
"""By PyTorch's names of modes."""


# one step of a recurrent layer ---------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """Parameters weight_ih (gates * hidden, inputs), weight_hh (gates * hidden, hidden), bias_ih and bias_hh
    (gates * hidden,), uniform in (-1/sqrt(hidden), 1/sqrt(hidden)). Raises ArgumentError."""

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None):
        super().__init__()
        name = type(self).__name__
        self.input_size = _extent(name, "input_size", input_size)
        self.hidden_size = _extent(name, "hidden_size", hidden_size)
        self.bias = bool(bias)
        room = room_on(device, dtype)
        rows = num_chunks * self.hidden_size
        self.weight_ih = Parameter(room((rows, self.input_size)))
        self.weight_hh = Parameter(room((rows, self.hidden_size)))
        for label in ("bias_ih", "bias_hh"):
            self.register_parameter(label, Parameter(room(rows)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw first values again."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0.0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def _prepared(self, x: Any, *states: Any) -> tuple[bool, Any, list[Any]]:
        """(batched, x, states), with a batch axis. Raises ShapeError."""
        if len(x.shape) not in (1, 2):
            raise ShapeError(f"{type(self).__name__}: Expected input to be 1D or 2D, got {len(x.shape)}D instead")
        for state in states:
            if state is not None and len(state.shape) not in (1, 2):
                raise ShapeError(f"{type(self).__name__}: Expected hidden to be 1D or 2D, got {len(state.shape)}D instead")
        batched = len(x.shape) == 2
        if not batched:
            x, states = F.expand_dims(x, 0), tuple(None if s is None else F.expand_dims(s, 0) for s in states)
        zero = x[:, :1] * 0 + np.zeros(self.hidden_size, x.dtype)
        return batched, x, [zero if s is None else s for s in states]

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias else text + ", bias=False"


class RNNCell(RNNCellBase):
    """h' = tanh(W x + b + U h + c), or relu. Raises ArgumentError for another nonlinearity."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
        dtype: Any = None,
    ):  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise ArgumentError(f"Unknown nonlinearity: {nonlinearity}")
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> AnyTensor:
        """The next state. Shapes: input (n, input_size) or (input_size,), states with hidden_size; zeros when left out."""
        batched, x, (h,) = self._prepared(input, hx)
        cell = torch_layers.rnn_tanh_cell if self.nonlinearity == "tanh" else torch_layers.rnn_relu_cell
        out = cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return out if batched else F.squeeze(out, 0)

    def extra_repr(self) -> str:
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else text + f", nonlinearity={self.nonlinearity}"


class LSTMCell(RNNCellBase):
    """As `LSTM`, one step: (h', c').

    Examples:
        >>> h, c = nn.LSTMCell(3, 5)(sg.randn(2, 3))
        >>> h.shape, c.shape
        (torch.Size([2, 5]), torch.Size([2, 5]))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The next (h, c). Shapes: input (n, input_size) or (input_size,), states with hidden_size; zeros when left out."""
        batched, x, state = self._prepared(input, *((None, None) if hx is None else hx))
        h, c = torch_layers.lstm_cell(x, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h, c) if batched else (F.squeeze(h, 0), F.squeeze(c, 0))


class GRUCell(RNNCellBase):
    """As `GRU`, one step.

    Examples:
        >>> nn.GRUCell(3, 5)(sg.randn(2, 3)).shape
        torch.Size([2, 5])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> AnyTensor:
        """The next state. Shapes: input (n, input_size) or (input_size,), states with hidden_size; zeros when left out."""
        batched, x, (h,) = self._prepared(input, hx)
        out = torch_layers.gru_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return out if batched else F.squeeze(out, 0)
