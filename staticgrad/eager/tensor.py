"""The eager tensor: an array, and the record of the operation that made it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import DTypeError, GradientError, ShapeError
from ..ir import NO_ATTRS, REGISTRY, OpDef
from ..operators import F, Operators, as_array, frontends
from ..types import as_dtype, shape_text
from .modes import modes
from .tape import Clock, Handle, Record, changed

ndarray = np.ndarray
new = object.__new__


class Structure:
    """Counts changes of what compiled steps rely on (flags, rebinding of data): equal counts mean nothing changed."""

    changes = 0


class Tensor(Operators):
    """An array with a tape.

    data: the NumPy array (shared, not copied, when it is an ndarray already); requires_grad: record what is done with it.
    Raises DTypeError for a dtype that can't require gradients. Hash and `is` are by identity; `==` is elementwise.
    """

    _record: Record | None = None
    _tracked = False
    _grad: Tensor | None = None
    _changed = 0
    _base: Tensor | None = None
    _history: tuple[tuple[int, Record | None], ...] = ()
    _hooks: dict[int, Callable[[Any], Any]] | None = None
    _views: tuple[weakref.ref[Tensor], ...] = ()
    _retains = False
    name: str = ""

    def __init__(self, data: Any, requires_grad: bool = False):
        self._data: np.ndarray = data._data if isinstance(data, Tensor) else as_array(data)
        if requires_grad:
            self.requires_grad_(True)

    # the array ------------------------------------------------------------------------------------------------------

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
    def size(self) -> int:
        return self._data.size

    def numel(self) -> int:
        return self._data.size

    @property
    def data(self) -> Tensor:
        """The same memory without the tape."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        array = value._data if isinstance(value, Tensor) else as_array(value)
        if self._tracked and array.dtype.kind != "f":
            raise DTypeError(f"a tensor that requires gradients can't hold {array.dtype}")
        self._data = array
        Structure.changes += 1
        Clock.now += 1
        self._changed = Clock.now

    def numpy(self) -> np.ndarray:
        """The array itself, not a copy. Raises GradientError when the tensor requires grad."""
        if self._tracked:
            raise GradientError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        return self._data

    def item(self) -> Any:
        """The Python number of a tensor with one element. Raises ShapeError for any other size."""
        if self._data.size != 1:
            raise ShapeError(f"a Tensor with {self._data.size} elements cannot be converted to Scalar")
        return self._data.item()

    def tolist(self) -> Any:
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

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if self._record is not None:
            raise GradientError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment",
                "copy x.detach()",
            )
        copy = type(self)(self._data.copy())
        copy._tracked, copy.name = self._tracked, self.name
        if self._grad is not None:
            copy._grad = type(self)(self._grad._data.copy())
        memo[id(self)] = copy
        return copy

    def __reduce__(self) -> Any:
        if self._record is not None:
            raise GradientError("only leaf tensors can be pickled", "pickle x.detach()")
        return _restore, (self._data, self._tracked, self.name)

    # the tape -------------------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        return self._tracked

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, value: bool = True) -> Tensor:
        """Turn recording on or off for a leaf. Raises DTypeError for integers, GradientError for a non-leaf."""
        if value and self._data.dtype.kind != "f":
            raise DTypeError(
                f"only Tensors of floating point dtype can require gradients, got {self._data.dtype}",
                "make it a float: sg.tensor(values, dtype=sg.float32, requires_grad=True)",
            )
        if self._record is not None and not value:
            raise GradientError(
                "you can only change requires_grad flags of leaf variables.", "use x.detach() for a value without tape"
            )
        if self._tracked != bool(value):
            self._tracked = bool(value)
            Structure.changes += 1
        return self

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
        if frontends.tracing:
            from ..operators import state

            if state.tracer is not None:
                return state.tracer.get_grad(self)
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if frontends.tracing:
            from ..operators import state

            if state.tracer is not None:
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
    def _version(self) -> int:
        """The clock of the last in-place change; grows with each one."""
        return changed(self)

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
        if frontends.tracing:
            from ..operators import state

            if state.tracer is not None:
                return F.stop_gradient(self)
        out = new(Tensor)
        out._data = self._data
        out._base = self if self._base is None else self._base
        return out

    def detach_(self) -> Tensor:
        """Cut this tensor from its tape."""
        self._record = None
        self._tracked = False
        return self

    def clone(self) -> Tensor:
        """A copy in memory of its own; gradients flow through."""
        out = F.add(self, 0) if self.dtype != np.bool_ else Tensor(self._data.copy())
        return out

    def retain_grad(self) -> None:
        """Keep `grad` of a non-leaf when backward passes through it."""
        if not self._tracked:
            raise GradientError("can't retain_grad on Tensor that has requires_grad=False")
        if self._record is not None and not self._retains:
            self._retains = True
            me = weakref.ref(self)

            def keep(g: Tensor) -> None:
                tensor = me()
                if tensor is not None:
                    tensor._grad = g if tensor._grad is None else tensor._grad + g

            self._record.register_hook(keep)

    @property
    def retains_grad(self) -> bool:
        return self._retains

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

    # dtype ----------------------------------------------------------------------------------------------------------

    def to(self, dtype: Any) -> Any:
        """This tensor in another dtype."""
        return F.astype(self, dtype)

    def type(self, dtype: Any) -> Any:
        return F.astype(self, dtype)

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

    def view(self, *shape: Any) -> Any:
        """PyTorch's name of `reshape`."""
        return F.reshape(self, *shape)

    def contiguous(self) -> Tensor:
        return self

    def size_of(self, axis: Any) -> Any:
        return self._data.shape[axis]


def _restore(data: np.ndarray, tracked: bool, name: str) -> Tensor:
    tensor = Tensor(data, requires_grad=tracked)
    tensor.name = name
    return tensor


# arithmetic on its short path -------------------------------------------------------------------------------------------


def _fast_binary(name: str, ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """An operator for two tensors of one floating dtype; everything else goes the general way."""
    op, general = REGISTRY[name], getattr(F, name)
    float32, float64 = np.dtype(np.float32), np.dtype(np.float64)

    def method(self: Tensor, other: Any) -> Any:
        if other.__class__ is Tensor and not frontends.tracing:
            x, y = self._data, other._data
            dtype = x.dtype
            if dtype is y.dtype and (dtype is float32 or dtype is float64):
                try:
                    data = ufunc(x, y)
                except ValueError:
                    return general(self, other)  # raises the error that names shapes and line
                if data.__class__ is not ndarray:
                    data = np.asarray(data)
                out = new(Tensor)
                out._data = data
                if (self._tracked or other._tracked) and modes.grad:
                    out._tracked = True
                    out._record = record = Record(op, (self, other), NO_ATTRS, data)
                    if modes.anomaly:
                        mark(record)
                return out
        return general(self, other)

    method.__name__ = name
    return method


def mark(record: Record) -> None:
    from ..errors import user_line

    record.where = user_line()


for _dunder, _name, _ufunc in (
    ("__add__", "add", np.add), ("__sub__", "sub", np.subtract), ("__mul__", "mul", np.multiply),
    ("__truediv__", "div", np.true_divide),
):  # fmt: skip
    setattr(Tensor, _dunder, _fast_binary(_name, _ufunc))


def check_inplace(tensor: Tensor) -> None:
    """Raise GradientError where PyTorch would: a leaf that requires grad, changed while recording."""
    if modes.grad and tensor._tracked and tensor._record is None:
        raise GradientError(
            "a leaf Variable that requires grad is being used in an in-place operation.",
            "wrap the update: with sg.no_grad(): w -= lr * w.grad",
        )


def dtype_or_default(dtype: Any) -> np.dtype | None:
    return None if dtype is None else as_dtype(dtype)
