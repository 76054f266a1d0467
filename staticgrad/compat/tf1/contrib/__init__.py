"""`tf.contrib`: the names that tutorials use."""

from . import layers, legacy_seq2seq, opt, rnn, seq2seq

__all__ = ["layers", "legacy_seq2seq", "opt", "rnn", "seq2seq"]
