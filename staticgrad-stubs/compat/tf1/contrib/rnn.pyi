"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from ..nn.rnn import static_bidirectional_rnn as static_bidirectional_rnn
from ..nn.rnn import static_rnn as static_rnn
from ..nn.rnn_cell import BasicLSTMCell as BasicLSTMCell
from ..nn.rnn_cell import BasicRNNCell as BasicRNNCell
from ..nn.rnn_cell import DeviceWrapper as DeviceWrapper
from ..nn.rnn_cell import DropoutWrapper as DropoutWrapper
from ..nn.rnn_cell import EmbeddingWrapper as EmbeddingWrapper
from ..nn.rnn_cell import GRUBlockCell as GRUBlockCell
from ..nn.rnn_cell import GRUCell as GRUCell
from ..nn.rnn_cell import InputProjectionWrapper as InputProjectionWrapper
from ..nn.rnn_cell import LSTMBlockCell as LSTMBlockCell
from ..nn.rnn_cell import LSTMCell as LSTMCell
from ..nn.rnn_cell import LSTMStateTuple as LSTMStateTuple
from ..nn.rnn_cell import LayerRNNCell as LayerRNNCell
from ..nn.rnn_cell import MultiRNNCell as MultiRNNCell
from ..nn.rnn_cell import OutputProjectionWrapper as OutputProjectionWrapper
from ..nn.rnn_cell import RNNCell as RNNCell
from ..nn.rnn_cell import ResidualWrapper as ResidualWrapper
__all__ = [
    "BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "EmbeddingWrapper", "GRUBlockCell", "GRUCell",
    "InputProjectionWrapper", "LSTMBlockCell", "LSTMCell", "LSTMStateTuple", "LayerRNNCell", "MultiRNNCell",
    "OutputProjectionWrapper", "RNNCell", "ResidualWrapper", "static_bidirectional_rnn", "static_rnn",
]
