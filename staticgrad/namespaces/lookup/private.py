# ruff: noqa: UP007 - PyTorch's types are unions of this kind, which programs take apart
"""Small parts of PyTorch's own machinery that public packages import. Each has the meaning that it has there."""

from __future__ import annotations

import collections
import contextlib
import functools
import inspect
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import repeat, zip_longest
from typing import IO, Any, Final, TypeVar, Union

import numpy as np

from ...base.devices import device
from ...base.dtypes import as_dtype, dtype
from ...eager import PublicTensor as Tensor
from ...eager import set_grad_enabled as _set_grad
from ...eager.storage import TypedStorage, UntypedStorage  # noqa: F401 - `torch.storage`
from ...eager.subclasses import GRAD
from ...eager.tape import RemovableHandle
from ...ops.operators import F, disabled_torch_function, is_tensor, misuse, takes_over, taking, untaken
from ...ops.operators.conversions import parse_to
from ...ops.operators.dispatch import Size, answered

Decorated = TypeVar("Decorated")

# torch.nn.modules.utils, torch.nn._reduction ---------------------------------------------------------------------------


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], Any]:
    def parse(x: Any) -> Any:
        return tuple(x) if isinstance(x, collections.abc.Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (_ntuple(n, f"_{n}tuple") for n in (1, 2, 3, 4))


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    return tuple(x for x in reversed([*t]) for _ in range(n))


def _list_with_default(out_size: list[int], defaults: list[int]) -> Any:
    if isinstance(out_size, (int, np.integer)):
        return out_size
    return [default if size is None else size for size, default in zip(out_size, defaults[-len(out_size) :], strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take the prefix off the names of a state dict that begin with it, in place."""
    for name in [name for name in state_dict if name.startswith(prefix)]:
        state_dict[name.removeprefix(prefix)] = state_dict.pop(name)


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the older words mean."""
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


# torch.optim.optimizer -------------------------------------------------------------------------------------------------


class _RequiredParameter:
    """The default of an optimizer's option that has to be given."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()
ParamsT = Any
_params_doc = _foreach_doc = _fused_doc = _maximize_doc = _capturable_doc = _differentiable_doc = ""


def _use_grad_for_differentiable(func: Decorated) -> Decorated:
    """The step of an optimizer, which runs without gradients unless it is differentiable."""

    @functools.wraps(func)  # type: ignore[arg-type]
    def step(self: Any, *args: Any, **named: Any) -> Any:
        with _set_grad(bool(self.defaults.get("differentiable", False))):
            return func(self, *args, **named)  # type: ignore[operator]

    return step  # type: ignore[return-value]


def _get_value(x: Any) -> Any:
    return x.item() if hasattr(x, "item") else x


def _dispatch_sqrt(x: Any) -> Any:
    return x.sqrt() if hasattr(x, "sqrt") else x**0.5


def _stack_if_compiling(x: Any) -> Any:
    return x


def _default_to_fused_or_foreach(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    return False, False


def _view_as_real(params: list[Any], *states: list[Any]) -> None:
    for i, p in enumerate(params):
        if p.dtype.kind == "c":
            params[i] = F.view_as_real(p)
            for state in states:
                state[i] = F.view_as_real(state[i])


# torch._C, torch._utils, torch._jit_internal ---------------------------------------------------------------------------


def _nothing(*args: Any, **named: Any) -> None:
    return None


def _no(*args: Any, **named: Any) -> bool:
    return False


_log_api_usage_once = _log_api_usage_metadata = _jit_set_profiling_mode = _jit_set_profiling_executor = _nothing
_get_tracing_state = _set_tracing_state = _get_graph_executor_optimize = _get_dispatch_mode = _get_nested_int = _nothing
_is_tracing = _is_torch_function_mode_enabled = _is_torch_xla_available = is_scripting = _no
is_batchedtensor = is_gradtrackingtensor = is_functorch_wrapped_tensor = _are_functorch_transforms_active = _no
_is_compiled_autograd_enabled = is_fx_tracing = is_fx_symbolic_tracing = _jit_internal_is_scripting = _no
_cuda_isInBadFork = False
has_mkldnn = has_cuda = has_mps = has_xpu = has_openmp = False


def _set_grad_enabled(mode: bool) -> None:
    _set_grad(mode)


_disabled_torch_function_impl = disabled_torch_function
DisableTorchFunctionSubclass = DisableTorchFunction = untaken


def unwrap_if_dead(x: Any) -> Any:
    """The tensor itself."""
    return x


def _get_privateuse1_backend_name() -> str:
    return "privateuseone"


def _same(x: Decorated, *args: Any, **named: Any) -> Decorated:
    """The function itself: nothing is scripted."""
    return x


_overload = _overload_method = _copy_to_script_wrapper = export = unused = ignore = _same
Final = Final


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Any, if_false: Any, module_name: str, func_name: str
) -> Callable[..., Any]:
    """A function that calls one of two by an argument."""

    def call(*args: Any, **named: Any) -> Any:
        chosen = named[arg_name] if arg_name in named else args[arg_index] if arg_index < len(args) else default
        return (if_true if chosen else if_false)(*args, **named)

    call.__name__ = func_name
    return call


def _flatten_dense_tensors(tensors: Iterable[Any]) -> Any:
    return F.cat([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Iterable[Any]) -> tuple[Any, ...]:
    given, begin, parts = [*tensors], 0, []
    for t in given:
        parts.append(flat[begin : begin + t.numel()].view(tuple(t.shape)))
        begin += t.numel()
    return tuple(parts)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    from ...base.devices import check_device

    check_device(device)
    return -1


def _parse_to(*args: Any, **named: Any) -> tuple[Any, Any, bool, Any]:
    place, dtype, non_blocking, _, memory_format = parse_to(*args, **named)
    return None if place is None else device(place), None if dtype is None else as_dtype(dtype), non_blocking, memory_format


def _accumulate(iterable: Iterable[Any], fn: Callable[[Any, Any], Any] = lambda x, y: x + y) -> Iterator[Any]:
    import itertools

    return itertools.accumulate(iterable, fn)


# torch.utils: hooks, _contextlib, dlpack, _foreach_utils ------------------------------------------------------------------


class _DecoratorContextManager:
    """A context that is a decorator, too: each call of the function, and each step of a generator, is inside a new one."""

    def __call__(self, orig_func: Any) -> Any:
        if inspect.isclass(orig_func):
            return orig_func

        @functools.wraps(orig_func)
        def call(*args: Any, **named: Any) -> Any:
            with self.clone():
                return orig_func(*args, **named)

        return call

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *error: Any) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """Another of the same."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same, of a class that may be written without parentheses."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)


def to_dlpack(tensor: Any) -> Any:
    """The tensor's memory as a DLPack capsule."""
    return tensor.__dlpack__()


def unserializable_hook(f: Decorated) -> Decorated:
    """Mark a hook that a tensor may lose, without a warning, where it is pickled."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of the hooks of a tensor, which are not saved with it."""
    misuse.warn_of_hooks(tensor._backward_hooks)


def _get_foreach_kernels_supported_devices() -> list[str]:
    return []


_get_fused_kernels_supported_devices = _get_foreach_kernels_supported_devices
MP_STATUS_CHECK_INTERVAL = 5.0


def pin_memory(data: Any, device: Any = None) -> Any:
    """The data itself: there is no memory of a GPU to pin it for."""
    return data


def _show() -> str:
    """How NumPy, which has the BLAS, was built."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        np.show_config()
    return text.getvalue()


def _parallel_info() -> str:
    """The number of threads."""
    from ...compiler.runtime.loader import get_num_threads

    return f"threads: {get_num_threads()}"


_TensorMeta = type(Tensor)
CONFIG = {"show": _show, "parallel_info": _parallel_info}
"""`torch.__config__`."""
NN, RPC = {"_parse_to": _parse_to}, {"is_available": _no}
"""`torch._C._nn`, and `torch.distributed.rpc` as it is where PyTorch is built without it."""

__all__ = ["RemovableHandle", "boolean_dispatch", "consume_prefix_in_state_dict_if_present", "required", "to_dlpack"]


# torch.overrides ------------------------------------------------------------------------------------------------------


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether any argument has a `__torch_function__` other than that of plain tensors."""
    return any(takes_over(type(x)) for x in relevant_args)


def has_torch_function_unary(x: Any) -> bool:
    """The same of one argument."""
    return takes_over(type(x))


def has_torch_function_variadic(*args: Any) -> bool:
    """The same of several."""
    return has_torch_function(args)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Call the `__torch_function__` of the arguments, subclasses first, until one answers. Raises TypeError."""
    return answered(public_api, taking(relevant_args), args, kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or has a `__torch_function__`."""
    return is_tensor(inp) or takes_over(type(inp))


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether it is one of a tensor's methods, or reads one of its properties."""
    from ...ops.operators.methods import Operators

    return getattr(func, "__name__", "") == "__get__" or getattr(Operators, getattr(func, "__name__", ""), None) is func


def get_default_nowrap_functions() -> Set[Callable[..., Any]]:
    """Functions whose results keep their class: gradients are plain tensors."""
    return {GRAD}


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """A decorator: the function asks the `__torch_function__` of the arguments that `dispatcher` names first."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def call(*args: Any, **named: Any) -> Any:
            found = taking(dispatcher(*args, **named))
            return answered(call, found, args, named) if found else func(*args, **named)

        return call

    return decorate


def resolve_name(f: Any) -> str:
    """The name of a function."""
    return f"torch.{getattr(f, '__name__', f)}"


# torch.torch_version, torch.version -----------------------------------------------------------------------------------

TORCH = "2.13.0+staticgrad"
"""What `torch.__version__` is under the torch front: PyTorch's version, and who answers."""


class TorchVersion(str):
    """A version that compares as versions do, with strings and tuples too: "2.13.0" comes after "2.5".

    Numbers are compared as numbers; what follows them ("rc1", "+cpu") is left out, as for PyTorch's releases.
    """

    def _compared(self, other: Any) -> int:
        own, theirs = _numbers(self), _numbers(other)
        pairs = [*zip_longest(own, theirs, fillvalue=0)]
        return next((1 if a > b else -1 for a, b in pairs if a != b), 0)

    def __lt__(self, other: Any) -> bool:
        return self._compared(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._compared(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._compared(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._compared(other) >= 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (str, tuple, list)) and self._compared(other) == 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def _numbers(version: Any) -> list[int]:
    if isinstance(version, (tuple, list)):
        return [part for part in version if isinstance(part, int)]
    found = re.match(r"\s*v?(\d+(?:\.\d+)*)", str(version))
    return [int(part) for part in found[1].split(".")] if found else []


VERSION = {"__version__": TORCH, "cuda": None, "hip": None, "xpu": None, "debug": False, "git_version": "staticgrad"}
"""The names of `torch.version`."""


# torch.types, torch.nn.common_types -----------------------------------------------------------------------------------

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
