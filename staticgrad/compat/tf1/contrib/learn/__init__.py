"""`tf.contrib.learn`: vocabularies, and data sets of digits in files."""

from __future__ import annotations

from ...estimator import ModeKeys as ModeKeys
from ...estimator import RunConfig as RunConfig
from . import datasets as datasets
from . import preprocessing as preprocessing
