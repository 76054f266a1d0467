# ruff: noqa: UP007 - PyTorch's are unions of this kind, which programs take apart
"""`torch.types` and `torch.nn.common_types`: names for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any, TypeVar, Union

from ..base.devices import device
from ..base.dtypes import dtype
from ..eager import PublicTensor as Tensor
from ..ops.operators.sizes import Size

T = TypeVar("T")

_int, _float, _bool, _complex = int, float, bool, complex
_dtype, _device, _layout, _qscheme = dtype, device, str, str
_size = Union[Size, list[int], tuple[int, ...]]
_TensorOrTensors = _TensorOrTensorsOrGradEdge = Union[Tensor, Sequence[Tensor]]
_symsize = _size
IntLikeType, FloatLikeType, BoolLikeType, PySymType, py_sym_types = int, float, bool, int, (int, float, bool)
Number = Union[int, float, bool]
_Number = (int, float, bool)
FileLike = Union[str, os.PathLike[str], IO[bytes]]
Device = Union[device, str, int, None]
Storage = Any
FILE_LIKE, MAP_LOCATION = FileLike, Any

_scalar_or_tuple_any_t = Union[T, tuple[T, ...]]
_size_any_t = _size_1_t = _size_2_t = _size_3_t = _size_4_t = _size_5_t = _size_6_t = Union[int, tuple[int, ...]]
_size_any_opt_t = _size_2_opt_t = _size_3_opt_t = Union[int, None, tuple[int | None, ...]]
_ratio_any_t = _ratio_2_t = _ratio_3_t = Union[float, tuple[float, ...]]
_tensor_list_t = _maybe_indices_t = Union[Tensor, tuple[Tensor, ...]]

__all__ = ["Device", "FileLike", "Number", "Storage"]
