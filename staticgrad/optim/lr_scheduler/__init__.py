"""Learning-rate schedules: each `step()` writes `group["lr"]` and nothing else, so no compiled step is compiled again.

Formulas and names are PyTorch's (`torch.optim.lr_scheduler`). Those that scale the present rate can be chained.
"""

from ...namespaces.lookup.modules import refusing
from .cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .decay import *
from .decay import LRScheduler
from .decay import _LRScheduler as _LRScheduler

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip

__getattr__ = refusing(__name__, __all__)
