"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from . import crf as crf
from . import distributions as distributions
from . import framework as framework
from . import layers as layers
from . import learn as learn
from . import legacy_seq2seq as legacy_seq2seq
from . import lookup as lookup
from . import losses as losses
from . import metrics as metrics
from . import opt as opt
from . import rnn as rnn
from . import seq2seq as seq2seq
from . import slim as slim
__all__ = [
    "crf", "distributions", "framework", "layers", "learn", "legacy_seq2seq", "lookup", "losses", "metrics", "opt", "rnn",
    "seq2seq", "slim",
]
