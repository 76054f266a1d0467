"""Small parts of PyTorch's own machinery that public packages import. Each has the meaning that it has there."""

from __future__ import annotations

import collections
import contextlib
import functools
import inspect
import io
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any, Final, TypeVar

import numpy as np

from ..base.devices import device
from ..base.dtypes import as_dtype
from ..eager import Tensor
from ..eager import set_grad_enabled as _set_grad
from ..eager.storage import TypedStorage, UntypedStorage  # noqa: F401 - `torch.storage`
from ..eager.tape import RemovableHandle
from ..ops.operators import F, disabled_torch_function, misuse, untaken
from ..ops.operators.conversions import parse_to

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
    from ..base.devices import check_device

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
    from ..compiler.runtime.threads import get_num_threads

    return f"threads: {get_num_threads()}"


_TensorMeta = type(Tensor)
CONFIG = {"show": _show, "parallel_info": _parallel_info}
"""`torch.__config__`."""
NN, RPC = {"_parse_to": _parse_to}, {"is_available": _no}
"""`torch._C._nn`, and `torch.distributed.rpc` as it is where PyTorch is built without it."""

__all__ = ["RemovableHandle", "boolean_dispatch", "consume_prefix_in_state_dict_if_present", "required", "to_dlpack"]
