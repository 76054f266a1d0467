"""Modules: what holds parameters, and the layers and losses made of them."""

from . import init
from .containers import ModuleList, Sequential
from .layers import Dropout, Flatten, Identity, Linear, ReLU, Sigmoid, Softmax, Tanh
from .losses import BCEWithLogitsLoss, CrossEntropyLoss, L1Loss, MSELoss, NLLLoss
from .module import Module
from .parameter import Parameter
from .state import IncompatibleKeys, StateDictError

__all__ = [
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "Dropout",
    "Flatten",
    "Identity",
    "IncompatibleKeys",
    "L1Loss",
    "Linear",
    "MSELoss",
    "Module",
    "ModuleList",
    "NLLLoss",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Softmax",
    "StateDictError",
    "Tanh",
    "init",
]
