"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from . import layers as layers
from . import legacy_seq2seq as legacy_seq2seq
from . import opt as opt
from . import rnn as rnn
from . import seq2seq as seq2seq
__all__ = [
    "layers", "legacy_seq2seq", "opt", "rnn", "seq2seq",
]
