"""Tensors of device "meta": a shape and a dtype without values, as PyTorch has them.

They are tensors under a level that is always entered, outside of all transforms. An operation on them is what the record's
rules of shapes and dtypes say of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from ...base.devices import Device, check_device, is_meta
from ...base.types import INEXACT, TensorType, get_default_dtype, shape_text, type_of
from ...errors import DeviceError, GradientError, GraphError, NoDataError
from .dispatch import F, begin, check_change, end, frontends, state
from .lifted import Application, Level, Lifted
from .methods import Operators
from .sizes import Size
from .symbols import AbsentError

META_DEVICE = Device("meta")
MEMORY = 'module.to_empty(device="cpu") gives a module memory, load_state_dict(..., assign=True) tensors'


class MetaLevel(Level):
    """The level of all tensors of device meta."""

    name = "device meta"

    def __init__(self) -> None:
        self.depth = 0

    def check_value(self, x: Any) -> None:
        x._no_value("values, on which the extents of the result depend")

    def process(self, node: Application, operands: list[Any]) -> Any:
        others = [x for x in operands if isinstance(x, Operators) and not isinstance(x, MetaTensor) and len(x.shape)]
        if any(x.dtype.kind in INEXACT for x in others):  # integers are positions, which may be the CPU's
            raise DeviceError(
                "Expected all tensors to be on the same device, but found at least two devices, cpu and meta!",
                f'{node.op.name}: move the others by x.to("meta")',
            )
        if not node.type.static:
            raise NoDataError(f"{node.op.name}: the extents of the result depend on values, which device meta doesn't have")
        flows = frontends.recording() and node.op.vjp is not None and node.type.dtype.kind in INEXACT
        sources = [
            x for i, x in enumerate(operands)
            if flows and isinstance(x, MetaTensor) and x.requires_grad and node.op.vjp_for(i) is not None
        ]  # fmt: skip
        return MetaTensor(node.type, bool(sources), sources)


META = MetaLevel()


class MetaDefault:
    """What makes meta the device of new tensors in a thread, and counts as the interceptor of operations meanwhile."""


def set_default(place: Any) -> None:
    """Let functions that make tensors make them on that device, in this thread. Raises DeviceError for a device but the CPU and
    meta, TraceError for meta in a trace."""
    if meta := is_meta(place):
        check_change(None, "the default device is set")
    else:
        check_device(place)
    _put_default(MetaDefault() if meta else None)


def enter(place: Any) -> None:
    """`set_default` until `leave`."""
    former = state.on_meta
    set_default(place)
    state.devices.append(former)


def leave() -> None:
    """New tensors are made where they were made before."""
    _put_default(state.devices.pop())


def _put_default(default: MetaDefault | None) -> None:
    if state.on_meta is not None:
        end(state.on_meta)
    state.on_meta = default
    if default is not None:
        begin(default)


def for_meta(place: Any) -> bool:
    """Whether a new tensor, for which this device or none is asked, is on device meta."""
    return state.on_meta is not None if place is None else is_meta(place)


class MetaTensor(Lifted):
    """A tensor without values. value: its type. sources: the tensors on device meta that it is computed from with gradients."""

    __slots__ = ("__dict__", "_parameter", "_requires_grad", "_sources", "grad", "name")

    is_meta, is_cpu = True, False
    _ranked = True
    device = META_DEVICE

    def __init__(
        self, type: TensorType, requires_grad: bool = False, sources: Sequence[MetaTensor] = (), parameter: bool = False
    ):
        super().__init__(META, type)
        self._requires_grad, self._parameter, self.name = requires_grad, parameter, ""  # type: ignore[misc]
        self._sources = sources
        self.grad = None

    @property
    def shape(self) -> Size:  # type: ignore[override]
        return Size(self.value.shape)

    @property
    def requires_grad(self) -> bool:
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._requires_grad = bool(value)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        self._requires_grad = bool(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        return not self._sources

    @property
    def data(self) -> Any:
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        self._take(value)

    def assign(self, value: Any, name: str) -> None:
        """Nothing: there are no values to change."""

    def copy_(self, src: Any, non_blocking: bool = False) -> MetaTensor:
        """Nothing, for values that could be broadcast to this shape. Raises ShapeError."""
        if getattr(src, "shape", ()):
            F.broadcast_to(on_meta(src), self.shape)
        return self

    def _take(self, value: Any) -> None:
        self.value = type_of(value)

    def cpu(self, memory_format: Any = None) -> NoReturn:
        """Raises NoDataError."""
        self._no_value("a copy on the CPU")

    def describe(self) -> str:
        return f"a tensor of shape {shape_text(self.shape)} {self.dtype} on device meta"

    def _no_value(self, what: str, *advice: str) -> NoReturn:
        number = what in ("a number", "its truth value")
        raise NoDataError(
            "Tensor.item() cannot be called on meta tensors" if number else "Cannot copy out of meta tensor; no data!",
            f"{self.describe()} has no {what.removeprefix('a ')}",
            MEMORY,
        )

    def _refusal(self, what: str, why: str, *advice: str) -> GraphError:
        return AbsentError(f"x.{what} of {self.describe()} does not exist", 'compute it on device "cpu"')

    def backward(self, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        """Give the leaves that it is computed from gradients, on device meta like them."""
        if not self.requires_grad:
            raise GradientError("element 0 of tensors does not require grad and does not have a grad_fn")
        if gradient is None and self._count() != 1:
            raise GradientError("grad can be implicitly created only for scalar outputs")
        for x in self._behind():
            if x.is_leaf and x.grad is None:
                x.grad = MetaTensor(x.value)

    def _behind(self) -> Iterable[MetaTensor]:
        """The tensors that it is computed from with gradients, and itself."""
        known, open_ = {id(self): self}, [self]
        while open_:
            for x in open_.pop()._sources:
                if id(x) not in known:
                    known[id(x)] = x
                    open_.append(x)
        return known.values()

    def __copy__(self) -> MetaTensor:
        made = MetaTensor(self.value, self._requires_grad, self._sources, self._parameter)
        vars(made).update(vars(self))
        return made

    def __deepcopy__(self, memo: Any) -> MetaTensor:  # type: ignore[override]
        memo[id(self)] = made = self.__copy__()
        return made

    def __reduce__(self) -> Any:
        return _rebuilt, (self.value, self._requires_grad, self._parameter, vars(self))

    def __repr__(self) -> str:
        kind = "" if self.dtype == get_default_dtype() else f", dtype={self.dtype!r}"
        grad = ", requires_grad=True" if self.requires_grad else ""
        text = f"tensor(..., device='meta', size={tuple(self.shape)}{kind}{grad})"
        return f"Parameter containing:\n{text}" if self._parameter else text


def _rebuilt(kind: TensorType, requires_grad: bool, parameter: bool, attributes: dict[str, Any]) -> MetaTensor:
    made = MetaTensor(kind, requires_grad, parameter=parameter)
    vars(made).update(attributes)
    return made


def on_meta(x: Any) -> Any:
    """A tensor like x, a tensor of any device, without values."""
    return x if isinstance(x, MetaTensor) else MetaTensor(type_of(x), x.requires_grad)


def _unchanged(name: str) -> Callable[..., Any]:
    def method(self: MetaTensor, *args: Any, **named: Any) -> MetaTensor:
        return self

    method.__name__ = name
    return method


for _name in (
    "bernoulli_", "cauchy_", "exponential_", "fill_", "fill_diagonal_", "geometric_", "log_normal_", "normal_", "random_",
    "uniform_", "zero_",
):  # fmt: skip
    setattr(MetaTensor, _name, _unchanged(_name))
