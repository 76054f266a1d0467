"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from .layer import AveragePooling1D as AveragePooling1D
from .layer import AveragePooling2D as AveragePooling2D
from .layer import AveragePooling3D as AveragePooling3D
from .layer import BatchNormalization as BatchNormalization
from .layer import Conv1D as Conv1D
from .layer import Conv2D as Conv2D
from .layer import Conv2DTranspose as Conv2DTranspose
from .layer import Conv3D as Conv3D
from .layer import Conv3DTranspose as Conv3DTranspose
from .layer import Dense as Dense
from .layer import Dropout as Dropout
from .layer import Flatten as Flatten
from .layer import Layer as Layer
from .layer import MaxPooling1D as MaxPooling1D
from .layer import MaxPooling2D as MaxPooling2D
from .layer import MaxPooling3D as MaxPooling3D
from .layer import SeparableConv1D as SeparableConv1D
from .layer import SeparableConv2D as SeparableConv2D
from .layer import batch_normalization as batch_normalization
from .layer import dense as dense
from .layer import dropout as dropout
from .layer import flatten as flatten
from typing import Any
def average_pooling1d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., *, reuse: Any = ...) -> Any: ...
def average_pooling2d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., *, reuse: Any = ...) -> Any: ...
def average_pooling3d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., *, reuse: Any = ...) -> Any: ...
def conv1d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., *, reuse: Any = ...) -> Any: ...
def conv2d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., *, reuse: Any = ...) -> Any: ...
def conv2d_transpose(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., *, reuse: Any = ...) -> Any: ...
def conv3d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., *, reuse: Any = ...) -> Any: ...
def conv3d_transpose(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., activation: Any = ..., use_bias: Any = ..., kernel_initializer: Any = ..., bias_initializer: Any = ..., kernel_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., kernel_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., *, reuse: Any = ...) -> Any: ...
def max_pooling1d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., *, reuse: Any = ...) -> Any: ...
def max_pooling2d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., *, reuse: Any = ...) -> Any: ...
def max_pooling3d(inputs: Any, pool_size: Any, strides: Any, padding: Any = ..., data_format: Any = ..., name: Any = ..., *, reuse: Any = ...) -> Any: ...
def separable_conv1d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., depth_multiplier: Any = ..., activation: Any = ..., use_bias: Any = ..., depthwise_initializer: Any = ..., pointwise_initializer: Any = ..., bias_initializer: Any = ..., depthwise_regularizer: Any = ..., pointwise_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., depthwise_constraint: Any = ..., pointwise_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., *, reuse: Any = ...) -> Any: ...
def separable_conv2d(inputs: Any, filters: Any, kernel_size: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilation_rate: Any = ..., depth_multiplier: Any = ..., activation: Any = ..., use_bias: Any = ..., depthwise_initializer: Any = ..., pointwise_initializer: Any = ..., bias_initializer: Any = ..., depthwise_regularizer: Any = ..., pointwise_regularizer: Any = ..., bias_regularizer: Any = ..., activity_regularizer: Any = ..., depthwise_constraint: Any = ..., pointwise_constraint: Any = ..., bias_constraint: Any = ..., trainable: Any = ..., name: Any = ..., *, reuse: Any = ...) -> Any: ...
__all__ = [
    "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "BatchNormalization", "Conv1D", "Conv2D", "Conv2DTranspose",
    "Conv3D", "Conv3DTranspose", "Dense", "Dropout", "Flatten", "Layer", "MaxPooling1D", "MaxPooling2D", "MaxPooling3D",
    "SeparableConv1D", "SeparableConv2D", "average_pooling1d", "average_pooling2d", "average_pooling3d",
    "batch_normalization", "conv1d", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "dense", "dropout",
    "flatten", "max_pooling1d", "max_pooling2d", "max_pooling3d", "separable_conv1d", "separable_conv2d",
]
