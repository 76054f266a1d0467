"""`tf.contrib.slim`: the layers, losses, metrics and variables of `tf.contrib`, and loops that train and evaluate."""

from __future__ import annotations

from .. import losses as losses
from .. import metrics as metrics
from ..framework import *
from ..layers import *
from . import evaluation as evaluation
from . import learning as learning
