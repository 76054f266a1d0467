"""One step of a recurrent layer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..eager import Tensor
from ..errors import ArgumentError, ShapeError
from ..functional import torch_layers
from ..operators import F
from ..operators import Tensor as AnyTensor
from . import init
from .layers import _extent, made_kind
from .module import Module
from .parameter import Parameter


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
        kind = made_kind(device, dtype)
        rows = num_chunks * self.hidden_size
        self.weight_ih = Parameter(np.empty((rows, self.input_size), kind))
        self.weight_hh = Parameter(np.empty((rows, self.hidden_size), kind))
        for label in ("bias_ih", "bias_hh"):
            self.register_parameter(label, Parameter(np.empty(rows, kind)) if bias else None)
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
