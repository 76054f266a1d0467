"""Optimizers: update rules written once, for eager steps, compiled steps and graphs."""

from ..module_paths import enter_paths, refusing
from . import adam, adaptive, lr_scheduler, muon, swa_utils
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .adaptive import ASGD, Adadelta, Adagrad, RMSprop, Rprop
from .groups import ParamGroup
from .lbfgs import LBFGS
from .muon import Adafactor, Muon
from .optimizer import Optimizer
from .sgd import SGD
from .sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "Optimizer",
    "ParamGroup",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]

enter_paths(__name__, {
    "adadelta": adaptive, "adafactor": muon, "adagrad": adaptive, "adamax": adam, "adamw": adam, "asgd": adaptive,
    "nadam": adam, "radam": adam, "rmsprop": adaptive, "rprop": adaptive,
})  # fmt: skip

__getattr__ = refusing(__name__, __all__, "OPTIM_REPLACED")
