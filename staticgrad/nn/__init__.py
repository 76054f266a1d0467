"""Modules: what holds parameters, and the layers and losses made of them."""

from . import init
from .containers import ModuleList, Sequential
from .layers import (
    GELU,
    Dropout,
    Embedding,
    EmbeddingBag,
    Flatten,
    Identity,
    LayerNorm,
    Linear,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Tanh,
)
from .losses import BCEWithLogitsLoss, CrossEntropyLoss, L1Loss, MSELoss, NLLLoss
from .module import Module
from .parameter import Parameter
from .state import IncompatibleKeys, StateDictError

__all__ = [
    "GELU",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "EmbeddingBag",
    "Flatten",
    "Identity",
    "IncompatibleKeys",
    "L1Loss",
    "LayerNorm",
    "Linear",
    "MSELoss",
    "Module",
    "ModuleList",
    "NLLLoss",
    "Parameter",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "StateDictError",
    "Tanh",
    "init",
]
