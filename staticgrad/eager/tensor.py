"""The eager tensor: an array, and the record of the operation that made it."""

from __future__ import annotations

import builtins
import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..base import dtypes
from ..base.dtypes import ANY_DTYPE, COMPLEX_OF, PUBLIC, SUPPORTED, DType, as_dtype
from ..base.interpreter import module
from ..base.types import DTypeLike, ShapeLike, get_default_dtype, normalize_axis, shape_text
from ..errors import ArgumentTypeError, GradientError, ShapeError, user_position
from ..ir import Layout, OpDef
from ..ops.operators import (
    ORDINARY,
    WRITERS,
    Count,
    F,
    Operators,
    Size,
    Symbol,
    TensorLike,
    as_array,
    check_change,
    disabled_torch_function,
    frontends,
    in_format,
    lies_in,
    misuse,
    retained,
    state,
)
from ..ops.operators import Tensor as AnyTensor
from ..ops.operators.node_names import PARTED
from .grad_mode import INFERRED, INFERRING, Inference, Mode, mark_inference, modes
from .tape import Handle, Memory, Record, Retain, memory_of, tick, touch

new = object.__new__
ndarray = np.ndarray


UNRECORDED: list[weakref.ref[Tensor]] = []
"""The `_views` of views that were made under `no_grad`, and of views of those."""


class Structure:
    """Counts changes of properties that compiled steps depend on (flags, rebinding of data): equal counts mean no change."""

    changes = 0
    flags = 0
    """How many of these changes are of `requires_grad`."""
    rebound = 0
    """How many are of the array that a tensor has, by another one of its shape and dtype."""
    reads = 0
    """Counts reads of `.grad`: equal counts mean that the user got no gradient."""
    gradients = 0
    """Counts replacements of `.grad`: equal counts mean that a compiled step has no gradients to set again."""


class Tensor(Operators):
    """An array with a tape.

    data: the NumPy array (shared, not copied, when it is an ndarray already); requires_grad: record what is done with
    it. Raises DTypeError for a dtype that can't require gradients. Hash and `is` are by identity; `==` is elementwise.
    """

    # Slots for attributes that every operation sets (`wrap` does); class attributes for those that few tensors have.
    __slots__ = ("__dict__", "__weakref__", "_base", "_data", "_record", "_tracked", "_views")

    _data: np.ndarray
    _record: Record | None
    """The operation that made the value; None for a leaf."""
    _tracked: builtins.bool
    """Requires grad."""
    _base: Tensor | None
    """The tensor whose memory this one shares."""
    _views: list[weakref.ref[Tensor]] | None
    """Tensors of the same tape that share this one's memory; UNRECORDED for a view that was made without a record."""

    _drawn = False
    """Random numbers, or computed from some; see `eager/generator.py`."""
    _gradient: Tensor | None = None
    _since = 0  # the tick since which a leaf requires grad
    _memory: Memory | None = None  # where in-place changes are counted, once there are any or the array is shared
    _history: tuple[tuple[builtins.int, Record | None, builtins.bool], ...] = ()  # see `tape.edge`
    _shapes: tuple[tuple[builtins.int, tuple[builtins.int, ...]], ...] = ()  # see `tape.former_shape`
    _room: np.ndarray | None = None
    """All memory that it has, where `resize_` left it a part of that."""
    _hooks: dict[builtins.int, Callable[[Any], Any]] | None = None
    _accumulated: dict[builtins.int, Callable[[Any], Any]] | None = None
    """Hooks of `register_post_accumulate_grad_hook`."""
    _retained: Handle | None = None
    _refusal: str | None = None
    """Why a view that a Function returned can't be changed in place."""
    _parameter: builtins.bool = False  # an `nn.Parameter`
    _inference: Inference | None = None
    """The `inference_mode` that it was made in."""
    name: str = ""

    def __init__(self, data: Any, requires_grad: builtins.bool = False):
        if self.__class__ is Tensor:
            self.__class__ = PublicTensor
        self._data = data._data if isinstance(data, Tensor) else _taken(data)
        self._record = None
        self._base = None
        self._views = None
        self._tracked = False
        if INFERRING:
            mark_inference(self)
        if isinstance(data, Tensor):
            self._memory = memory_of(data)
        if requires_grad:  # a new tensor: no record depends on the flag's former value
            misuse.check_floating(self._data.dtype)
            self._since, self._tracked = tick(), True

    # the array ---------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:  # type: ignore[override]
        """The extents of the axes."""
        return Size(self._data.shape)

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        """The kind of number that each element is."""
        return PUBLIC[self._data.dtype]

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return self._data.ndim

    @property
    def size(self) -> Count:
        """The number of elements, as in NumPy; `x.size()` and `x.size(axis)` are extents, as in PyTorch."""
        count = Count(self._data.size)
        count.extents = self._data.shape
        return count

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @overload
    def stride(self, dim: None = None) -> tuple[builtins.int, ...]: ...
    @overload
    def stride(self, dim: builtins.int) -> builtins.int: ...
    def stride(self, dim: builtins.int | None = None) -> Any:
        """Elements from one place along each axis, or along `dim`, to the next."""
        strides = tuple([step // self._data.itemsize for step in self._data.strides])
        return strides if dim is None else strides[normalize_axis(dim, len(strides))]

    def numel(self) -> int:
        """How many elements there are."""
        return self._data.size

    def data_ptr(self) -> int:
        """The address of the first element; only a tensor with a value has one."""
        return self.detach().numpy().ctypes.data

    @property
    def data(self) -> AnyTensor:
        """The same memory without the tape. Changes of it are not counted, as in PyTorch: a backward pass computes with the
        values that it finds."""
        if frontends.tracing and state.tracer is not None:
            return state.tracer.memory.data(self)
        out = self.detach()
        if isinstance(out, Tensor):
            out._memory = None
        return out

    @data.setter
    def data(self, value: TensorLike) -> None:
        kept = False
        if frontends.tracing:
            if state.tracer is not None:
                state.tracer.memory.set_data(self, value)
                return
            if state.deferral is not None:
                kept = state.deferral.rebind(self, value)
        if kept:
            self._renewed()
        else:
            array = value._data if isinstance(value, Tensor) else _taken(value)
            misuse.check_holds(array.dtype, self._tracked)
            self._rebind(array)

    def _rebind(self, array: np.ndarray) -> None:
        """Give it another array: tensors that share the former memory keep it."""
        former = self._data
        self._data = array
        self._base = None
        Structure.changes += 1
        Structure.rebound += former.shape == array.shape and former.dtype == array.dtype
        self._renewed()

    def _renewed(self) -> None:
        self._views = None if self._views is UNRECORDED else self._views
        self._memory = Memory()
        touch(self)

    def numpy(self, *, force: builtins.bool = False) -> np.ndarray:
        """An array over the memory of the tensor, not a copy. Raises GradientError when the tensor requires grad, unless
        `force` or under `no_grad`."""
        if self._tracked and not force and modes.now.grad:
            misuse.check_array(True)
        if frontends.tracing:
            if state.tracer is not None:
                state.tracer.no_value(self, "an array")
            if state.deferral is not None:
                state.deferral.settle()
        return self._data.view()  # whose shape and flags are the caller's

    def item(self) -> builtins.float | builtins.int | builtins.bool:
        """The Python number of a tensor with one element. Raises ShapeError for any other size."""
        if self._data.size != 1:
            misuse.check_item(self._data.size)
        if frontends.tracing and state.tracer is not None:
            return state.tracer.number_of(self)
        return self._data.item()  # complex, of a complex tensor

    def tolist(self) -> Any:
        """The elements as nested lists of Python's numbers; of a tensor without axes, the number."""
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "a list")
        return self._data.tolist()

    def __float__(self) -> float:
        if self._tracked:
            misuse.warn_of_number()
        return float(self._known())

    def __int__(self) -> int:
        return int(self._known())

    def __complex__(self) -> complex:
        if self._tracked:
            misuse.warn_of_number()
        return complex(self._known())

    def __index__(self) -> int:
        misuse.check_index(self._data.dtype)
        return int(self._known())

    def _known(self) -> Any:
        """The number, for code that takes none of a trace."""
        if self._data.size != 1:
            misuse.check_item(self._data.size)
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "a number")
        return self._data.item()

    def __bool__(self) -> bool:
        if self._data.size != 1:
            misuse.check_truth(self._data.size)
        if frontends.tracing and state.tracer is not None:
            return state.tracer.truth_of(self)
        return bool(self._data)

    def __len__(self) -> int:
        misuse.check_length(self._data.ndim)
        return len(self._data)

    def __iter__(self) -> Iterator[AnyTensor]:
        misuse.check_iterated(self._data.ndim)
        if self._tracked and modes.now.grad:
            return iter(F.unbind(self))
        return (self[i] for i in range(len(self._data)))

    def __contains__(self, value: Any) -> bool:
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "the members")
        try:
            return bool((self._data == (value._data if isinstance(value, Tensor) else value)).any())
        except ValueError:
            shapes = f"{shape_text(np.shape(value))} can't be in {shape_text(self.shape)}"
            raise ShapeError(f"in: a value of shape {shapes}") from None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """For NumPy. Raises GradientError when the tensor requires grad, as the tape would be lost silently."""
        return np.array(self.numpy(), dtype, copy=copy)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: builtins.bool | None = None
    ) -> Any:
        """For other libraries, which share the memory. Raises GradientError when the tensor requires grad."""
        if self._tracked:
            raise GradientError("Can't export tensors that require gradient, use tensor.detach()")
        array: np.ndarray = self.numpy()
        brain = array.dtype.kind == "V"
        array = array.view(np.uint16) if brain else array
        capsule = array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        if brain:
            capsules = module("staticgrad.base.shared_memory")
            capsules.recoded(capsule, capsules.UNSIGNED, capsules.BFLOAT)
        return capsule

    def __dlpack_device__(self) -> Any:
        return 1, 0  # the CPU

    def _by_numpy(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        """A NumPy function of the arrays; a ufunc's results are tensors. Raises GradientError when a tensor requires grad."""
        if function in WRITERS:
            return super()._by_numpy(name, function, args, kwargs)
        if _requires_grad((args, kwargs)):
            raise GradientError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
                f"{name} can't be differentiated" + (f" with {', '.join(kwargs)}" if kwargs else ""),
            )
        value = function(*_arrays(args), **_arrays(kwargs))
        ufunc = getattr(function, "__self__", function)
        if not isinstance(ufunc, np.ufunc):
            return value
        written = kwargs.get("out") or (args[:1] if function.__name__ == "at" else ())
        for tensor in written:
            if isinstance(tensor, Tensor):
                touch(tensor)
        if written:
            return value if function.__name__ == "at" else written[0] if len(written) == 1 else written
        return tuple(map(_as_tensor, value)) if isinstance(value, tuple) else _as_tensor(value)

    def __repr__(self) -> str:
        default = get_default_dtype()
        known = self.dtype in (default, COMPLEX_OF.get(default), np.int64, np.bool_) and (
            self._data.size or self.dtype == default
        )
        notes = [] if known else [f"dtype={self.dtype!r}"]
        if self._record is not None:
            notes.append(f"grad_fn=<{self._record.name()}>")
        elif self._tracked:
            notes.append("requires_grad=True")
        name = "tensor" if issubclass(PublicTensor, self.__class__) else self.__class__.__name__
        text: str = module("staticgrad.eager.printing").tensor_text(self._data, notes, name)
        return f"Parameter containing:\n{text}" if self._parameter else text

    def __str__(self) -> str:
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "the text")
        return repr(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec or not self.shape else str(self)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        misuse.check_copied(self._record is None)
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "a copy")
        root = _whole(self._data)
        known = memo.get((id(root), "memory"))  # tensors that share memory have copies that share memory
        if known is None:
            known = memo[id(root), "memory"] = np.array(root, order="K", copy=True), Memory()
        copy = _restore(_part(known[0], *_place(self._data, root)), *self._facts()[1:])
        all_attributes(copy).update(deepcopy(own_attributes(self), memo))
        if root is not self._data:
            copy._memory = known[1]
        if self._gradient is not None:
            copy._gradient = deepcopy(self._gradient, memo)
        memo[id(self)] = copy
        return copy

    def __reduce__(self) -> Any:
        if not self._parameter:
            misuse.warn_of_hooks(self._backward_hooks)
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "a copy")
        return _restore, self._facts(), own_attributes(self) or None

    def __setstate__(self, attributes: Mapping[str, Any]) -> None:
        vars(self).update(attributes)

    def _facts(self) -> tuple[Any, ...]:
        """What `_restore` takes."""
        facts = self._data, self._tracked, self.name, self._parameter
        return facts if issubclass(PublicTensor, self.__class__) else (*facts, self.__class__)

    # the tape ----------------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded for gradients."""
        return self._tracked

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def is_inference(self) -> builtins.bool:
        """Whether it was made inside `inference_mode`."""
        return self._inference is not None

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Turn recording on or off for a leaf. Raises DTypeError for integers, GradientError for a non-leaf."""
        if not isinstance(requires_grad, (builtins.bool, np.bool_)):
            raise ArgumentTypeError(f"requires_grad must be a bool, got {type(requires_grad).__name__}")
        value = builtins.bool(requires_grad)
        if value:
            misuse.check_floating(self.dtype)
            if self._inference and not modes.now.inference:
                raise GradientError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
                    "take x.clone(), or make the tensor under no_grad",
                )
        if self._record is not None and not value:
            raise misuse.not_a_leaf()
        if self._tracked is not value:
            if frontends.tracing and state.tracer is not None:
                state.tracer.keeps_flag()
            now = tick()
            if self._since:  # records look up the flag at the time they were made; 16 changes are remembered
                self._history = (*self._history, (now, self._record, self._tracked))[-16:]
            else:
                self._since = now
            self._tracked = value
            Structure.changes += 1
            Structure.flags += 1
        return self

    @property
    def is_leaf(self) -> bool:
        """Made by the user, or by an operation that was not recorded."""
        return self._record is None

    @property
    def grad_fn(self) -> Any:
        """The operation that made it, a node of the tape; None for a leaf."""
        return None if self._record is None else self._record.node

    @property
    def output_nr(self) -> int:
        return 0 if self._record is None else self._record.place

    @property
    def grad(self) -> AnyTensor | None:
        """The accumulated gradient, of the same shape, or None."""
        if frontends.tracing and state.tracer is not None:
            return state.tracer.get_grad(self)
        g = self._gradient
        if g is not None:
            Structure.reads += 1
        elif self._record is not None and self._retained is None:
            misuse.warn_no_gradient()
        return g

    @grad.setter
    def grad(self, value: AnyTensor | None) -> None:
        if frontends.tracing and state.tracer is not None:
            state.tracer.set_grad(self, value)
            return
        if value is not None:
            misuse.check_grad(self, value, isinstance(value, Tensor))
        self._gradient = value  # type: ignore[assignment]  # an eager one: it was checked
        Structure.gradients += 1

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    _grad = grad
    """PyTorch's name of the same, which programs set that hand gradients to another process's parameters."""

    @property
    def _version(self) -> builtins.int:
        """The number of in-place changes of this tensor's memory."""
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "the number of changes")
        if self._inference:
            raise GradientError("Inference tensors do not track version counter.")
        memory = self._memory if self._base is None else self._base._memory
        return 0 if memory is None else memory.count

    def backward(
        self, gradient: TensorLike | None = None, retain_graph: bool | None = None, create_graph: bool = False,
        inputs: AnyTensor | Iterable[AnyTensor] | None = None, *, retain_variables: builtins.bool | None = None,
    ) -> None:  # fmt: skip
        """Add d(sum(gradient * self)) / d(leaf) to `leaf.grad` for all leaves (or for `inputs` only).

        gradient: self's shape; may be left out for one element. retain_graph: keep saved values for another backward
        (default: create_graph). create_graph: record the backward pass, so that gradients can be differentiated.
        retain_variables: the former name of retain_graph. Raises GradientError, and leaves every `grad` as it was when it does.

        Examples:
            >>> x = sg.tensor([1.0, 2.0, 3.0], requires_grad=True)
            >>> (x * x).sum().backward()
            >>> x.grad
            tensor([2., 4., 6.])
        """
        if retain_variables is not None:
            retain_graph = retained(retain_graph, retain_variables)
        frontends.backward(self, gradient, retain_graph, create_graph, inputs)

    def detach(self) -> Tensor:
        """The same memory without the tape."""
        if frontends.tracing and state.tracer is not None:
            return state.tracer.memory.detach(self)
        out = wrap(self._data)
        out._memory = memory_of(self)  # not the tensor itself, which would keep its tape alive
        if frontends.tracing and state.deferral is not None:
            state.deferral.detached.add(out, self)
        if self._drawn:
            out._drawn = True
        if self._inference:
            out._inference = self._inference
        return out

    def detach_(self) -> Tensor:
        """Cut this tensor from its tape: it becomes a leaf that doesn't require grad."""
        misuse.check_detached(self.is_view)
        if self._tracked:
            if frontends.tracing and state.tracer is not None:
                state.tracer.keeps_flag()
            self._history = (*self._history, (tick(), self._record, self._tracked))
            self._record, self._tracked = None, False
            Structure.changes += 1
        return self

    @property
    def is_view(self) -> builtins.bool:
        """Shares memory with another tensor of the same tape (what PyTorch calls `_is_view`)."""
        return self._base is not None

    def clone(self, *, memory_format: object = None) -> AnyTensor:
        """A copy in memory of its own, in this order of axes or in a format such as `channels_last`; gradients flow through."""
        return F.clone(self, memory_format=memory_format)

    def contiguous(self, memory_format: object = None) -> AnyTensor:
        """This tensor when its elements lie in row-major order, or that of a format, else a copy in that order."""
        return self if self.is_contiguous(memory_format) else in_format(self, memory_format)

    def is_contiguous(self, memory_format: object = None) -> builtins.bool:
        """Whether the elements lie in row-major order, or that of a format such as `channels_last`."""
        return self._data.flags.c_contiguous if memory_format is None else lies_in(self, memory_format)

    def _known_layout(self) -> Layout | None:
        """How the elements lie; None for row-major order."""
        return None if self._data.flags.c_contiguous else Layout.of(self._data)

    def retain_grad(self) -> None:
        """Keep `grad` of a non-leaf when backward passes through it."""
        misuse.check_retained(self._tracked)
        if self._record is not None and self._retained is None:
            self._retained = self._record.add_hook(Retain(self))

    @property
    def retains_grad(self) -> builtins.bool:
        """Whether `backward` keeps the gradient of this tensor though it is no leaf."""
        return self._retained is not None

    def register_hook(self, hook: Callable[[AnyTensor], AnyTensor | None]) -> Handle:
        """Call `hook(grad)` whenever a gradient of this tensor is computed; a returned tensor replaces the gradient.

        Examples:
            >>> x = sg.tensor([1.0, 2.0], requires_grad=True)
            >>> _ = x.register_hook(lambda grad: grad * 10)
            >>> x.sum().backward()
            >>> x.grad
            tensor([10., 10.])
        """
        misuse.check_hooked(self._tracked)
        if self._record is not None:
            return self._record.add_hook(hook)
        check_change(self, "a hook of a tensor is registered")
        if self._hooks is None:
            self._hooks = {}
        Structure.changes += 1
        return Handle(self._hooks, hook)

    @property
    def _backward_hooks(self) -> dict[builtins.int, Callable[[Any], Any]] | None:
        """The hooks of `register_hook` by number; None for a tensor without any."""
        return self._hooks if self._record is None else self._record.hooks  # type: ignore[return-value]

    def register_post_accumulate_grad_hook(self, hook: Callable[[AnyTensor], None]) -> Handle:
        """Call `hook(tensor)` after a backward pass has added to this leaf's `grad`. Raises GradientError for a non-leaf, and
        for a tensor that doesn't require grad."""
        misuse.check_hooked(self._tracked)
        if self._record is not None:
            raise misuse.post_hook_of_result()
        check_change(self, "a hook of a tensor is registered")
        if self._accumulated is None:
            self._accumulated = {}
        Structure.changes += 1
        return Handle(self._accumulated, hook)

    # shape -------------------------------------------------------------------------------------------------------

    def view(self, *shape: ShapeLike | DTypeLike, dtype: DTypeLike | None = None) -> AnyTensor:
        """The same memory in another shape, or read as another dtype, through which no gradient flows. Raises ShapeError where
        only a copy could have the shape (`reshape` copies), and where the bytes of a row make no whole elements."""
        if len(shape) == 1 and isinstance(shape[0], (*ANY_DTYPE, type)):
            dtype = shape[0]
        if dtype is not None:
            return _read_as(self, as_dtype(dtype))
        out = F.reshape(self, *shape)  # type: ignore[arg-type]
        if isinstance(out, Tensor) and out is not self and out._base is None:
            raise misuse.not_a_view(self.shape, self.stride())
        return out


def _read_as(x: Tensor, dtype: np.dtype) -> Tensor:
    """A tensor that reads the bytes of x as another dtype."""
    if frontends.tracing and state.tracer is not None:
        state.tracer.no_value(x, "the bytes")
    if frontends.tracing and state.deferral is not None:
        state.deferral.settle()
    data = x._data
    try:
        out = wrap(data.view(dtype))
    except ValueError as error:
        raise ShapeError(f"view: {data.dtype} of shape {shape_text(x.shape)} can't be read as {dtype}: {error}") from None
    memory_of(x)
    out._base = x if x._base is None else x._base
    out._views = UNRECORDED
    return out


def _requires_grad(value: Any) -> builtins.bool:
    """Whether an argument, or a part of it, is a tensor that requires grad."""
    if isinstance(value, (list, tuple, dict)):
        return any(map(_requires_grad, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Tensor) and value._tracked


def _arrays(value: Any) -> Any:
    """An argument with arrays in place of tensors. Raises TraceError for a symbol."""
    if isinstance(value, dict):
        return {name: _arrays(part) for name, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_arrays, value))
    return np.asarray(value) if isinstance(value, Operators) else value


def _taken(data: Any) -> np.ndarray:
    """An array of the data. That of a caller's array is a view: the array's shape and flags stay the caller's."""
    array = as_array(data)
    return array.view() if array is data else array


def _as_tensor(value: Any) -> Any:
    """An array or number of NumPy as a tensor, where a tensor can have its dtype."""
    return Tensor(np.asarray(value)) if getattr(value, "dtype", None) in SUPPORTED else value


TAKES = "__torch_function__"


class _EveryTensor(type):
    """The metaclass of `sg.Tensor`, which defines its instances.

    A traced tensor is one, so that code takes the same branch eagerly and compiled; so is a tensor of a graph. A `Variable` is
    none, as in TensorFlow 1: `sg.is_tensor` accepts both. The package itself tests for the plain class `Tensor`, a tensor that
    has a value now; that test runs in C.
    """

    def __new__(mcls, name: str, bases: tuple[type, ...], members: dict[str, Any], asks: builtins.bool = False) -> Any:
        found = members.get("__torch_function__") or next(filter(None, (getattr(b, TAKES, None) for b in bases)), None)
        if found not in (None, disabled_torch_function) and not asks:
            asking = frontends.asking()
            if not any(issubclass(b, asking) for b in bases):
                bases = tuple([asking if b is PublicTensor else b for b in bases])
                bases = bases if asking in bases else (*bases, asking)
        return super().__new__(mcls, name, bases, members)

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any], asks: builtins.bool = False) -> None:
        super().__init__(name, bases, members)

    def __repr__(cls) -> str:
        """PyTorch's text under its name, as that of a dtype."""
        return "<class 'torch.Tensor'>" if cls is PublicTensor and dtypes.prefix else super().__repr__()

    def __call__(cls, *args: Any, **named: Any) -> Any:
        if cls is not PublicTensor:
            return super().__call__(*args, **named)
        made = frontends.make_public(*args, **named)
        return made if made.__class__ in ORDINARY else made.as_subclass(PublicTensor)

    def __instancecheck__(cls, x: Any) -> builtins.bool:
        return cls.__subclasscheck__(x.__class__)

    def __subclasscheck__(cls, kind: type) -> builtins.bool:
        if cls is PublicTensor:
            return issubclass(kind, Tensor) or getattr(kind, "_is_tensor", False) is True
        return super().__subclasscheck__(kind)


def own_attributes(x: Tensor) -> dict[str, Any]:
    """The attributes that a user has given a tensor."""
    return {name: value for name, value in all_attributes(x).items() if not hasattr(Tensor, name)}


all_attributes: Callable[[Any], dict[str, Any]] = Tensor.__dict__["__dict__"].__get__
"""`x.__dict__`, which for tensors of classes that users derive has their attributes alone."""


if TYPE_CHECKING:
    PublicTensor = Tensor
else:

    def _new(cls, *args: Any, **named: Any) -> Any:
        """What `sg.Tensor(...)` makes, of a class that a user derived."""
        made = frontends.make_public(*args, **named)
        if any(made is a for a in (*args, *named.values())):
            return made.as_subclass(cls)
        return frontends.branded(made, cls)

    def _as_it_is_made(self, *args: Any, **named: Any) -> None:
        """Nothing: `__new__` has made it."""

    PublicTensor = _EveryTensor(
        "Tensor",
        (Tensor,),
        {"__slots__": (), "__doc__": Tensor.__doc__, "__module__": "staticgrad", "__new__": _new, "__init__": _as_it_is_made},
    )
    ORDINARY.add(PublicTensor)


def wrap(data: np.ndarray, record: Record | None = None) -> Tensor:
    """A tensor around an array, without checks; with a record, its result."""
    out = new(PublicTensor)
    out._data = data
    out._record = record
    out._tracked = record is not None
    out._base = None
    out._views = None
    return out


def record_of(
    op: OpDef, inputs: tuple[Tensor, ...], attrs: Mapping[str, Any], data: Any, mode: Mode, kind: type[Record] = Record
) -> Any:
    """A new record of this class."""
    record = new(kind)
    record.op = op
    record.inputs = inputs
    record.attrs = attrs
    record.out = data
    record.clock = tick()
    record.memory = record.hooks = record.position = None
    if kind is Record:  # a call of several ops gets its name when somebody asks
        record.named = None
    if mode.watched:
        watch(record, mode)
    return record


check_saved: list[Callable[[Record, Mode], None]] = []
"""Raises for a new record that saves a tensor of `inference_mode`; `saved.py` enters it."""


def watch(record: Record, mode: Mode) -> None:
    """Note the line that made a record, as long as lines are noted; hand what it saves to the hooks of the user."""
    if mode.notes_line():
        record.position = user_position(3)
        if mode._anomaly:
            note_parent(record, mode)
    if INFERRED and record.__class__ is Record:
        check_saved[0](record, mode)
    if mode.saver is not None:
        mode.saver.save(record)


def note_parent(record: Record, mode: Mode) -> None:
    """While anomalies are detected: note the record whose derivative this one is a part of."""
    if mode._anomaly and mode.engine is not None and mode.engine.visited is not None:
        record.metadata["parent_"] = mode.engine.visited


def _restore(data: np.ndarray, tracked: bool, name: str, parameter: bool = False, kind: Any = None) -> Tensor:
    """A leaf as it was copied or pickled."""
    tensor = Tensor(data, requires_grad=tracked)
    tensor.name = name
    if parameter:
        tensor._parameter = True
    return tensor if kind is None else frontends.branded(tensor, kind)


def _whole(data: np.ndarray) -> np.ndarray:
    """The array whose memory `data` is a view of, if its elements lie in one piece; otherwise `data`."""
    root = data.base
    if not isinstance(root, ndarray) or root.dtype != data.dtype or not (root.flags.c_contiguous or root.flags.f_contiguous):
        return data
    begin, end = byte_bounds(root)
    low, high = byte_bounds(data)
    return root if begin <= low and high <= end else data


def _place(data: np.ndarray, root: np.ndarray) -> tuple[builtins.int, tuple[builtins.int, ...], tuple[builtins.int, ...]]:
    """Where a view lies in its memory: the byte of its first element, its shape and strides."""
    return data.__array_interface__["data"][0] - root.__array_interface__["data"][0], data.shape, data.strides


def _part(root: np.ndarray, begin: builtins.int, shape: tuple[builtins.int, ...], strides: tuple[builtins.int, ...]) -> Any:
    """The view of `root` at a place."""
    if begin == 0 and shape == root.shape and strides == root.strides:
        return root
    return ndarray(shape, root.dtype, root.reshape(-1, order="A"), begin, strides)


def check_inplace(tensor: Tensor) -> None:
    """Raise GradientError where PyTorch would: a leaf that requires grad, or a view of one, changed while recording."""
    if not modes.now.grad:
        return
    base = tensor._base
    if tensor._views is UNRECORDED and base is not None and (tensor._tracked or base._tracked):
        raise unrecorded_view("is being modified inplace", tensor)
    if tensor._tracked and tensor._record is None:
        raise misuse.leaf_changed(view=False)
    if base is not None and base._tracked and base._record is None:
        raise misuse.leaf_changed(view=True)
    if base is not None and tensor._tracked and (part := part_of(tensor)) is not None:
        raise misuse.part_changed(*part, "is being modified inplace")


def part_of(view: Any) -> tuple[str, int] | None:
    """The node of a function such as `split`, and which of its views this one is a part of; None for another view."""
    while view._base is not None and (record := view._record) is not None:
        if record.named is not None and record.named.name in PARTED:
            return record.named.name, record.named.output_nr
        view = record.inputs[0]
    return None


def unrecorded_view(what: str, view: Any = None) -> GradientError:
    """The error for a view that was made under `no_grad`, or by a Function, and a change of its memory that is recorded."""
    if view is not None and view._refusal is not None:
        return GradientError(view._refusal.format(what), "change a clone() of it")
    return GradientError(
        f"A view was created in no_grad mode and {what} with grad mode enabled. Given that this use case is ambiguous and "
        "error-prone, it is forbidden.",
        "take the view where the change is made: both inside sg.no_grad(), or both outside; or change a clone()",
    )


for _name, _method in vars(Tensor).items():  # to, float, clone, ...: they read only shape and dtype
    if inspect.isfunction(_method) and not hasattr(Symbol, _name):
        setattr(Symbol, _name, _method)
