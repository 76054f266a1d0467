"""The eager tensor: an array, and the record of the operation that made it."""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import DTypeError, GradientError, ShapeError
from ..operators import F, Operators, Symbol, as_array, frontends, state
from ..types import normalize_axis, shape_text
from .modes import modes
from .tape import Handle, Memory, Record, Retain, memory_of, tick, touch

new = object.__new__
ndarray = np.ndarray


UNRECORDED: list[weakref.ref[Tensor]] = []
"""The `_views` of views that were made under `no_grad`, and of views of those."""


class Structure:
    """Counts changes of what compiled steps rely on (flags, rebinding of data): equal counts mean nothing changed."""

    changes = 0
    reads = 0
    """Counts reads of `.grad`: equal counts mean that nobody got hold of a gradient."""


class Size(int):
    """A number of elements that gives the shape when it is called."""

    extents: tuple[int, ...]

    def __call__(self, axis: int | None = None) -> Any:
        return self.extents if axis is None else self.extents[normalize_axis(axis, len(self.extents))]


class Tensor(Operators):
    """An array with a tape.

    data: the NumPy array (shared, not copied, when it is an ndarray already); requires_grad: record what is done with
    it. Raises DTypeError for a dtype that can't require gradients. Hash and `is` are by identity; `==` is elementwise.
    """

    # Slots for what every operation sets (`wrap` does); class attributes for what few tensors have.
    __slots__ = ("__dict__", "__weakref__", "_base", "_data", "_record", "_tracked", "_views")

    _data: np.ndarray
    _record: Record | None
    """What made the value; None for a leaf."""
    _tracked: builtins.bool
    """Requires grad."""
    _base: Tensor | None
    """The tensor whose memory this one shares."""
    _views: list[weakref.ref[Tensor]] | None
    """Tensors of the same tape that share this one's memory; UNRECORDED for a view that was made without a record."""

    _grad: Tensor | None = None
    _since = 0  # the tick since which a leaf requires grad
    _memory: Memory | None = None  # where in-place changes are counted, once there are any or the array is shared
    _history: tuple[tuple[builtins.int, Record | None, builtins.bool], ...] = ()  # see `tape.edge`
    _hooks: dict[builtins.int, Callable[[Any], Any]] | None = None
    _retained: Handle | None = None
    _parameter: builtins.bool = False  # an `nn.Parameter`
    name: str = ""

    def __init__(self, data: Any, requires_grad: builtins.bool = False):
        self._data = data._data if isinstance(data, Tensor) else as_array(data)
        self._record = None
        self._base = None
        self._views = None
        self._tracked = False
        if isinstance(data, Tensor):
            self._memory = memory_of(data)
        if requires_grad:  # nobody relies on what it was before
            self._check_floating()
            self._since, self._tracked = tick(), True

    # the array ---------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self._data.shape

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self._data.dtype

    @property
    def ndim(self) -> int:
        return self._data.ndim

    @property
    def size(self) -> Size:
        """The number of elements, as in NumPy; `x.size()` and `x.size(axis)` are extents, as in PyTorch."""
        size = Size(self._data.size)
        size.extents = self._data.shape
        return size

    def numel(self) -> int:
        return self._data.size

    @property
    def data(self) -> Tensor:
        """The same memory without the tape."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        if frontends.tracing and state.tracer is not None:
            state.tracer.set_data(self, value)
            return
        array = value._data if isinstance(value, Tensor) else as_array(value)
        if self._tracked and array.dtype.kind != "f":
            raise DTypeError(f"a tensor that requires gradients can't hold {array.dtype}")
        self._data = array
        self._base = None
        self._views = None if self._views is UNRECORDED else self._views
        Structure.changes += 1
        self._memory = Memory()
        touch(self)

    def numpy(self) -> np.ndarray:
        """The array itself, not a copy. Raises GradientError when the tensor requires grad."""
        if self._tracked:
            raise GradientError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "an array")
        return self._data

    def item(self) -> Any:
        """The Python number of a tensor with one element. Raises ShapeError for any other size."""
        if self._data.size != 1:
            raise ShapeError(f"a Tensor with {self._data.size} elements cannot be converted to Scalar")
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "a number")
        return self._data.item()

    def tolist(self) -> Any:
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "a list")
        return self._data.tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._data.dtype.kind not in "iu":
            raise DTypeError(f"only integer tensors can be converted to an index, got {self.dtype}")
        return int(self.item())

    def __bool__(self) -> bool:
        if self._data.size != 1:
            raise ShapeError(
                f"Boolean value of Tensor with {'no' if not self._data.size else 'more than one'} value"
                f"{'s' if not self._data.size else ''} is ambiguous",
                "use sg.all(x) or sg.any(x)",
            )
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "its truth value")
        return bool(self._data)

    def __len__(self) -> int:
        if not self._data.ndim:
            raise ShapeError("len() of a 0-d tensor")
        return len(self._data)

    def __iter__(self) -> Iterator[Tensor]:
        if not self._data.ndim:
            raise ShapeError("iteration over a 0-d tensor")
        return (self[i] for i in range(len(self._data)))

    def __contains__(self, value: Any) -> bool:
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "the members")
        return bool((self._data == (value._data if isinstance(value, Tensor) else value)).any())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """For NumPy. Raises GradientError when the tensor requires grad, as the tape would be lost silently."""
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __repr__(self) -> str:
        text = np.array2string(self._data, separator=", ", prefix="tensor(", precision=4, suppress_small=True)
        notes = "" if self.dtype in (np.float32, np.int64, np.bool_) else f", dtype={self.dtype}"
        if self._record is not None:
            notes += f", grad_fn=<{self._record.name()}>"
        elif self._tracked:
            notes += ", requires_grad=True"
        return f"tensor({text}{notes})"

    def __str__(self) -> str:
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "the text")
        return repr(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if self._record is not None:
            raise GradientError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment",
                "copy x.detach()",
            )
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "a copy")
        copy = _restore(self._data.copy(), self._tracked, self.name, self._parameter)
        if self._grad is not None:
            copy._grad = Tensor(self._grad._data.copy())
        memo[id(self)] = copy
        return copy

    def __reduce__(self) -> Any:
        if self._record is not None:
            raise GradientError("only leaf tensors can be pickled", "pickle x.detach()")
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(self, "a copy")
        return _restore, (self._data, self._tracked, self.name, self._parameter)

    # the tape ----------------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        return self._tracked

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, value: bool = True) -> Tensor:
        """Turn recording on or off for a leaf. Raises DTypeError for integers, GradientError for a non-leaf."""
        if value:
            self._check_floating()
        if self._record is not None and not value:
            raise GradientError(
                "you can only change requires_grad flags of leaf variables.", "use x.detach() for a value without tape"
            )
        if self._tracked is not value:
            if frontends.tracing and state.tracer is not None:
                state.tracer.refuse(
                    "requires_grad can't be changed inside a compiled function", "do it before the call, or use x.detach()"
                )
            now = tick()
            if self._since:  # records look up what it was when they were made; 16 changes are remembered
                self._history = (*self._history, (now, self._record, self._tracked))[-16:]
            else:
                self._since = now
            self._tracked = value = value is True or value is np.True_ or value == 1
            Structure.changes += 1
        return self

    def _check_floating(self) -> None:
        if self._data.dtype.kind != "f":
            raise DTypeError(
                f"only Tensors of floating point dtype can require gradients, got {self._data.dtype}",
                "make it a float: sg.tensor(values, dtype=sg.float32, requires_grad=True)",
            )

    @property
    def is_leaf(self) -> bool:
        """Made by the user, or by an operation that was not recorded."""
        return self._record is None

    @property
    def grad_fn(self) -> Record | None:
        return self._record

    @property
    def grad(self) -> Any:
        """The accumulated gradient, a Tensor of the same shape, or None."""
        if frontends.tracing and state.tracer is not None:
            return state.tracer.get_grad(self)
        g = self._grad
        if g is not None:
            Structure.reads += 1
        return g

    @grad.setter
    def grad(self, value: Any) -> None:
        if frontends.tracing and state.tracer is not None:
            state.tracer.set_grad(self, value)
            return
        if value is not None:
            if not isinstance(value, Tensor):
                raise DTypeError(f"grad must be a Tensor or None, got {type(value).__name__}")
            if value.shape != self.shape or value.dtype != self.dtype:
                raise ShapeError(
                    f"grad must have the tensor's shape and dtype: {shape_text(self.shape)} {self.dtype}, "
                    f"got {shape_text(value.shape)} {value.dtype}"
                )
        self._grad = value

    @property
    def _version(self) -> builtins.int:
        """The number of in-place changes of this tensor's memory."""
        memory = self._memory if self._base is None else self._base._memory
        return 0 if memory is None else memory.count

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add d(sum(gradient * self)) / d(leaf) to `leaf.grad` for all leaves (or for `inputs` only).

        gradient: self's shape; may be left out for one element. retain_graph: keep saved values for another backward
        (default: create_graph). create_graph: record the backward pass, so that gradients can be differentiated. Raises
        GradientError, and leaves every `grad` as it was when it does.
        """
        from .autograd import backward

        backward(self, gradient, retain_graph, create_graph, inputs)

    def detach(self) -> Tensor:
        """The same memory without the tape."""
        if frontends.tracing and state.tracer is not None:
            return state.tracer.detach(self)
        out = wrap(self._data)
        out._memory = memory_of(self)  # not the tensor itself: its tape would stay alive
        return out

    def detach_(self) -> Tensor:
        """Cut this tensor from its tape: it becomes a leaf that doesn't require grad."""
        if self.is_view:
            raise GradientError("Can't detach views in-place. Use detach() instead.")
        if self._tracked:
            self._history = (*self._history, (tick(), self._record, self._tracked))
            self._record, self._tracked = None, False
            Structure.changes += 1
        return self

    @property
    def is_view(self) -> builtins.bool:
        """Shares memory with another tensor of the same tape (what PyTorch calls `_is_view`)."""
        return self._base is not None

    def clone(self) -> Any:
        """A copy in memory of its own, row-major; gradients flow through."""
        return F.clone(self)

    def contiguous(self) -> Any:
        """This tensor when its elements lie in row-major order, else a copy in that order."""
        return self if self._data.flags.c_contiguous else F.clone(self)

    def is_contiguous(self) -> builtins.bool:
        return self._data.flags.c_contiguous

    def retain_grad(self) -> None:
        """Keep `grad` of a non-leaf when backward passes through it."""
        if not self._tracked:
            raise GradientError("can't retain_grad on Tensor that has requires_grad=False")
        if self._record is not None and self._retained is None:
            self._retained = self._record.register_hook(Retain(self))

    @property
    def retains_grad(self) -> builtins.bool:
        return self._retained is not None

    def register_hook(self, hook: Callable[[Any], Any]) -> Handle:
        """Call `hook(grad)` whenever a gradient of this tensor is computed; a returned tensor replaces the gradient."""
        if not self._tracked:
            raise GradientError("cannot register a hook on a tensor that doesn't require gradient")
        if self._record is not None:
            return self._record.register_hook(hook)
        if self._hooks is None:
            self._hooks = {}
        Structure.changes += 1
        return Handle(self._hooks, hook)

    # dtype -------------------------------------------------------------------------------------------------------

    def to(self, dtype: Any) -> Any:
        """This tensor in another dtype, or that of another tensor."""
        return F.astype(self, dtype.dtype if isinstance(dtype, Operators) else dtype)

    def type(self, dtype: Any) -> Any:
        return F.astype(self, dtype)

    def type_as(self, other: Any) -> Any:
        """This tensor in the dtype of another."""
        return F.astype(self, other.dtype)

    def float(self) -> Any:
        return F.astype(self, np.float32)

    def double(self) -> Any:
        return F.astype(self, np.float64)

    def long(self) -> Any:
        return F.astype(self, np.int64)

    def int(self) -> Any:
        return F.astype(self, np.int32)

    def bool(self) -> Any:
        return F.astype(self, np.bool_)

    def is_floating_point(self) -> builtins.bool:
        return self._data.dtype.kind == "f"

    # shape -------------------------------------------------------------------------------------------------------

    def view(self, *shape: Any) -> Any:
        """The same memory in another shape. Raises ShapeError where only a copy could have it (`reshape` copies)."""
        out = F.reshape(self, *shape)
        if isinstance(out, Tensor) and out is not self and out._base is None:
            raise ShapeError(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
                "two contiguous subspaces). Use .reshape(...) instead.",
                f"it has shape {shape_text(self.shape)} and byte strides {self._data.strides}",
            )
        return out


def wrap(data: np.ndarray, record: Record | None = None) -> Tensor:
    """A tensor around an array, without checks; with a record, its result."""
    out = new(Tensor)
    out._data = data
    out._record = record
    out._tracked = record is not None
    out._base = None
    out._views = None
    return out


def _restore(data: np.ndarray, tracked: bool, name: str, parameter: bool = False) -> Tensor:
    """A leaf as it was copied or pickled."""
    tensor = Tensor(data, requires_grad=tracked)
    tensor.name = name
    if parameter:
        tensor._parameter = True
    return tensor


def check_inplace(tensor: Tensor) -> None:
    """Raise GradientError where PyTorch would: a leaf that requires grad, or a view of one, changed while recording."""
    if not modes.now.grad:
        return
    base = tensor._base
    if tensor._views is UNRECORDED and base is not None and (tensor._tracked or base._tracked):
        raise unrecorded_view("is being modified inplace")
    if tensor._tracked and tensor._record is None:
        what = "a leaf Variable that requires grad"
    elif base is not None and base._tracked and base._record is None:
        what = "a view of a leaf Variable that requires grad"
    else:
        return
    raise GradientError(
        f"{what} is being used in an in-place operation.", "wrap the update: with sg.no_grad(): w -= lr * w.grad"
    )


def unrecorded_view(what: str) -> GradientError:
    """The error for a view that was made under `no_grad`, and a change of its memory that is recorded."""
    return GradientError(
        f"A view was created in no_grad mode and {what} with grad mode enabled. Given that this use case is ambiguous and "
        "error-prone, it is forbidden.",
        "take the view where the change is made: both inside sg.no_grad(), or both outside; or change a clone()",
    )


def _without_gradient(self: Any) -> Any:
    """The same values; no gradient flows through."""
    return F.stop_gradient(self)


for _name in ("to", "type_as", "float", "double", "long", "int", "bool", "view", "clone"):
    setattr(Symbol, _name, vars(Tensor)[_name])
Symbol.detach = _without_gradient  # type: ignore[attr-defined]
