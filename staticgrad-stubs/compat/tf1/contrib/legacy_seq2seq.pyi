"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from ..contrib.seq2seq import basic_rnn_seq2seq as basic_rnn_seq2seq
from ..contrib.seq2seq import rnn_decoder as rnn_decoder
from ..contrib.seq2seq import sequence_loss_by_example as sequence_loss_by_example
from ..contrib.seq2seq import sequence_loss_of_lists as sequence_loss
__all__ = [
    "basic_rnn_seq2seq", "rnn_decoder", "sequence_loss", "sequence_loss_by_example",
]
