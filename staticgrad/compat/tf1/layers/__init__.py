"""`tf.layers`: layers as objects, and as functions that make and call one."""

from ..layer import Layer
from . import convolution as _convolution
from .convolution import (
    AveragePooling1D,
    AveragePooling2D,
    AveragePooling3D,
    Conv1D,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    MaxPooling1D,
    MaxPooling2D,
    MaxPooling3D,
    SeparableConv1D,
    SeparableConv2D,
)
from .core import Dense, Dropout, Flatten, dense, dropout, flatten
from .normalization import BatchNormalization, batch_normalization

globals().update({name: getattr(_convolution, name) for name in _convolution.FUNCTIONS})

__all__ = [
    "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "BatchNormalization", "Conv1D", "Conv2D", "Conv2DTranspose",
    "Conv3D", "Conv3DTranspose", "Dense", "Dropout", "Flatten", "Layer", "MaxPooling1D", "MaxPooling2D",
    "MaxPooling3D", "SeparableConv1D", "SeparableConv2D", "batch_normalization", "dense", "dropout", "flatten",
    *_convolution.FUNCTIONS,
]  # fmt: skip
