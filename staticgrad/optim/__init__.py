"""Optimizers: update rules written once, for eager steps, compiled steps and graphs."""

from . import lr_scheduler
from .adam import Adam, AdamW
from .groups import ParamGroup
from .optimizer import Optimizer
from .sgd import SGD
from .sparse_adam import SparseAdam

__all__ = ["Adam", "AdamW", "Optimizer", "ParamGroup", "SGD", "SparseAdam", "lr_scheduler"]
