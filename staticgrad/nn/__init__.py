"""Modules: what holds parameters, and the layers and losses made of them."""

from . import init, utils
from .attention_layers import MultiheadAttention, TransformerEncoderLayer
from .containers import ModuleDict, ModuleList, Sequential
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
from .normalization_layers import BatchNorm1d, BatchNorm2d, GroupNorm, RMSNorm
from .parameter import Parameter
from .recurrent import GRU, LSTM, RNN
from .state_dict import IncompatibleKeys, StateDictError
from .windowed_layers import AdaptiveAvgPool2d, AvgPool1d, AvgPool2d, Conv1d, Conv2d, ConvTranspose2d, MaxPool1d, MaxPool2d

__all__ = [
    "AdaptiveAvgPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "ConvTranspose2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "EmbeddingBag",
    "Flatten",
    "GELU",
    "GRU",
    "GroupNorm",
    "Identity",
    "IncompatibleKeys",
    "L1Loss",
    "LSTM",
    "LayerNorm",
    "Linear",
    "MSELoss",
    "MaxPool1d",
    "MaxPool2d",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "NLLLoss",
    "Parameter",
    "RMSNorm",
    "RNN",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "StateDictError",
    "Tanh",
    "TransformerEncoderLayer",
    "init",
    "utils",
]
