"""`tf.contrib`: the names that tutorials use."""

from . import beam_search, layers, legacy_seq2seq, opt, rnn, seq2seq

for _name in beam_search.__all__:
    setattr(seq2seq, _name, getattr(beam_search, _name))

__all__ = ["layers", "legacy_seq2seq", "opt", "rnn", "seq2seq"]
