"""Optimizers: update rules written once, for eager steps, compiled steps and graphs. Those that few programs use are imported
when they are first named."""

from typing import TYPE_CHECKING

from ..namespaces.lookup.modules import refusing
from . import lr_scheduler
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .groups import ParamGroup
from .optimizer import Optimizer
from .sgd import SGD

if TYPE_CHECKING:
    from . import swa_utils
    from .adam import SparseAdam
    from .adaptive import ASGD, Adadelta, Adagrad, RMSprop, Rprop
    from .lbfgs import LBFGS
    from .sgd import Adafactor, Muon
    from .zero import ZeroRedundancyOptimizer

__all__ = [
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "Optimizer",
    "ParamGroup", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam", "ZeroRedundancyOptimizer", "lr_scheduler", "swa_utils",
]  # fmt: skip

_LAZY = {
    "ASGD": "adaptive", "Adadelta": "adaptive", "Adafactor": "sgd", "Adagrad": "adaptive", "LBFGS": "lbfgs", "Muon": "sgd",
    "RMSprop": "adaptive", "Rprop": "adaptive", "SparseAdam": "adam", "swa_utils": "swa_utils",
    "ZeroRedundancyOptimizer": "zero",
}  # fmt: skip

__getattr__ = refusing(__name__, __all__, "OPTIM_REPLACED", {name: f"{__name__}.{place}" for name, place in _LAZY.items()})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
