"""Programs in TensorFlow 1's dialect run as they stand, and give TensorFlow's losses."""

from __future__ import annotations

from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pytest

PROGRAMS = {path.stem: path for path in sorted((Path(__file__).parents[2] / "examples" / "tf1").glob("*.py"))}
OURS, THEIRS = "import staticgrad.compat.tf1 as tf\n", "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n"

LAST = {
    "autoencoder": 0.17631105,
    "char_rnn": 2.7325141,
    "cnn_digits": 2.1142235,
    "gan": 0.66913623,
    "linear_regression": 0.65730768,
    "lstm_rows": 2.2287974,
    "policy_gradient": 0.014966151,
    "save_restore": 1.6584558,
    "seq2seq": 1.2430037,
    "softmax_digits": 0.95633435,
    "vae": 33.94046,
    "word2vec": 6.2331629,
}
"""The loss of the tenth step in TensorFlow."""


WORDS = ["list", *(a + b for a in ascii_lowercase for b in ascii_lowercase)]
TEXT = " ".join(np.random.RandomState(0).choice(WORDS, 30_000))


@pytest.fixture(autouse=True)
def one_text(monkeypatch):
    """The text of some programs is Python's own reference, which is another one in each version."""
    monkeypatch.setattr("pydoc_data.topics.topics", dict.fromkeys(("assignment", "class"), TEXT))


def losses(name, source):
    scope = {"__name__": name}
    exec(compile(source, str(PROGRAMS[name]), "exec"), scope)
    return np.array(scope["run"](steps=10), "f8")


@pytest.mark.parametrize("name", PROGRAMS)
def test_ten_steps(name):
    assert losses(name, PROGRAMS[name].read_text(encoding="utf-8"))[-1] == pytest.approx(LAST[name], rel=2e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_ten_steps_are_tensorflows(name):
    pytest.importorskip("tensorflow")
    source = PROGRAMS[name].read_text(encoding="utf-8")
    assert source.count(OURS) == 1
    np.testing.assert_allclose(losses(name, source), losses(name, source.replace(OURS, THEIRS)), rtol=2e-5)
