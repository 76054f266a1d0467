"""Tensors under a function transform, and how an operation reaches the transform that its operands are under.

`vmap`, `jvp` and `grad` run a function on tensors of their own kind (`Lifted`), each of which stands for one or more tensors
of the surroundings: eager tensors, tensors of a graph or a trace, or tensors under a transform further out. An operation
belongs to the innermost transform among its operands, which writes it in operations on the values, so transforms nest, and
serve all modes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from ...base.devices import Device, check_device, is_meta
from ...base.dtypes import PUBLIC, DType
from ...base.types import FLOATING, INEXACT, TensorType, get_default_dtype, is_scalar, shape_text, type_of
from ...errors import DeviceError, GradientError, GraphError, NoDataError, StaticgradError, TransformError, Where, user_line
from ...ir import REGISTRY, Node, OpDef, over_types
from .dispatch import Count, F, Size, apply, begin, check_change, count_of, end, frontends, state
from .methods import Operators
from .node_names import as_array, located, promotion
from .symbols import AbsentError, Symbol, has_rank


class Application:
    """An op, its attributes, and the types of its operands and its result: what the rules of a record read of a node."""

    __slots__ = ("attrs", "op", "type", "types", "where")

    def __init__(self, op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any], type: TensorType):
        self.op, self.types, self.attrs, self.type = op, types, attrs, type
        self.where: Where | None = None


class Level:
    """One running transform. Context manager: while it is entered, its tensors can be computed with."""

    name = ""
    """Of the function that the user called."""

    def __init__(self) -> None:
        self.depth = -1
        """1 for the outermost transform; -1 when it is not running. 0 is device meta."""

    def __enter__(self) -> Any:
        self.depth = len(state.levels) + 1
        state.levels.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        state.levels.remove(self)
        self.depth = -1

    # loops and branches; see `ops/control/records.py`

    loops = False
    """Whether a loop under the transform is a loop of what stands for its tensors; otherwise it runs in Python."""
    maps = False
    """Whether a tensor stands for many, so that a condition can hold for some of them and not for the rest."""

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Meanwhile the function is not under the transform, which is the innermost one."""
        assert state.levels[-1] is self
        state.levels.pop()
        try:
            yield
        finally:
            state.levels.append(self)

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """Meanwhile it is again."""
        state.levels.append(self)
        try:
            yield
        finally:
            state.levels.remove(self)

    def check_value(self, x: Any) -> None:
        """Raises an error where a tensor of this level has not one value."""
        if self.maps:
            raise TransformError(
                f"vmap: the extents of the result depend on values of {x.describe()}, which differ between the samples",
                "use a mask: sg.where(mask, x, 0)",
            )

    def parts(self, x: Any) -> list[Any]:
        """The tensors that stand for x; as many for each tensor of a dtype."""
        raise NotImplementedError

    def whole(self, parts: Sequence[Any]) -> Any:
        """The inverse of `parts`."""
        raise NotImplementedError

    def items(self, x: Any) -> list[Any]:
        """As `parts`, for a tensor along whose first axis a loop walks."""
        return self.parts(x)

    def stacked(self, parts: Sequence[Any]) -> Any:
        """As `whole`, for values that a loop has stacked along the first axis."""
        return self.whole(parts)

    def any(self, condition: Any) -> Any:
        """Whether a condition holds for some of what it stands for; itself where it is no tensor of this transform."""
        return condition

    def process(self, node: Application, operands: list[Any]) -> Any:
        """The result of an op, some of whose operands are tensors of this level."""
        raise NotImplementedError

    def apply(self, op: OpDef, args: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Check and promote the operands by their types under the transform, as in any other mode."""
        if self.depth < 0:
            raise ended(self)
        operands = [a if isinstance(a, Operators) or is_scalar(a) else as_array(a) for a in args]
        types: list[Any] = [a if is_scalar(a) else type_of(a) for a in operands]
        try:
            if not self._alike(types):
                self._promote(op, operands, types)
            op = over_types(op, types)
            kind = op.infer(*types, **attrs)
        except StaticgradError as error:
            raise located(error, op, operands, user_line()) from None
        return self.process(Application(op, types, attrs, kind), operands)

    @staticmethod
    def _alike(types: Sequence[Any]) -> bool:
        """Whether all are tensors of one floating dtype, which no promotion changes but that to booleans."""
        first = types[0]
        if not isinstance(first, TensorType) or first.dtype.kind not in FLOATING:
            return False
        return all(isinstance(t, TensorType) and t.dtype == first.dtype for t in types)

    @staticmethod
    def _promote(op: OpDef, operands: list[Any], types: list[Any]) -> None:
        for i, dtype in enumerate(promotion(op, types)):
            if not isinstance(types[i], TensorType):
                operands[i] = np.asarray(operands[i], dtype)
                types[i] = TensorType((), operands[i].dtype)
            elif dtype is not None and types[i].dtype != dtype:
                operands[i] = apply(REGISTRY["cast"], operands[i], dtype=dtype)
                types[i] = types[i].with_dtype(dtype)


def top_level(args: Sequence[Any]) -> Level | None:
    """The innermost transform that an operand is under."""
    found: Level | None = None
    for a in args:
        if isinstance(a, Lifted) and (found is None or a.level.depth > found.depth):
            found = a.level
    return found


def concrete(x: Any) -> Any:
    """The tensor of the surroundings that has the value of x, for what depends on values and has no derivative. Raises
    TransformError for a tensor that stands for many, NoDataError for one of device meta."""
    while isinstance(x, Lifted):
        x.level.check_value(x)
        x = x.value
    return x


def ended(level: Level) -> TransformError:
    return TransformError(
        f"a tensor of {level.name} is used after the function has returned",
        "return it from the function; a tensor that the function stores elsewhere has no value outside",
    )


class Lifted(Symbol):
    """A tensor under a transform. `shape` is that of one sample under `vmap`, and of the value under the others.

    value: the tensor of the surroundings that it stands for.
    """

    __slots__ = ("level", "value")

    value: Any
    level: Any

    def __init__(self, level: Level, value: Any):
        self.level = level
        self.value = value

    @property
    def graph(self) -> Any:  # type: ignore[override]
        """The graph that the value belongs to; None for an eager tensor's."""
        return self.value.graph if isinstance(self.value, Symbol) else None

    @property
    def node(self) -> Node:  # type: ignore[override]
        raise ended(self.level) if self.level.depth < 0 else self._no_node()

    def _no_node(self) -> TransformError:
        return TransformError(
            f"{self.describe()} is no node of a graph: it is a tensor under {self.level.name}",
            f"take what belongs to a graph out of the function that {self.level.name} calls",
        )

    def operand(self) -> Node:
        return self.node

    @property
    def shape(self) -> Size:  # type: ignore[override]
        return self.value.shape

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return PUBLIC[self.value.dtype]

    @property
    def name(self) -> str:  # type: ignore[override]
        return ""

    @property
    def op(self) -> str:
        return self.level.name

    @property
    def size(self) -> Count:
        return count_of(self.shape)

    def _count(self) -> int | None:
        return None if None in self.shape else int(np.prod(self.shape, dtype=np.int64))

    @property
    def _ranked(self) -> bool:
        return has_rank(self.value)

    @property
    def requires_grad(self) -> bool:
        return bool(self.value.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        if bool(requires_grad) == self.requires_grad:
            return self
        raise GradientError(
            f"You are attempting to call Tensor.requires_grad_() inside {self.level.name}: the transform says which tensors "
            "are differentiated",
            "use func.grad, or call requires_grad_() outside",
        )

    @property
    def is_leaf(self) -> bool:
        return True

    @property
    def grad_fn(self) -> None:
        return None

    def _layout(self) -> None:
        return None

    def is_contiguous(self, memory_format: object = None) -> bool:
        return True

    def stride(self, dim: int | None = None) -> Any:
        """As if the elements lay in row-major order."""
        extents = [int(d) for d in self.shape]
        strides = tuple([int(np.prod(extents[i + 1 :], dtype=np.int64)) for i in range(len(extents))])
        return strides if dim is None else strides[dim]

    @property
    def is_view(self) -> bool:
        return False

    def describe(self) -> str:
        return f"a tensor of shape {shape_text(self.shape)} {self.dtype} under {self.level.name}"

    def _no_value(self, what: str, *advice: str) -> NoReturn:
        raise TransformError(
            f"{self.describe()}: Python can't have {what}",
            f"return it from the function that {self.level.name} calls, and ask for it outside"
            + ("" if self.level.maps else "; x.detach() is the value without the transform"),
        )

    def _refusal(self, what: str, why: str, *advice: str) -> GraphError:
        return AbsentError(
            f"x.{what} of {self.describe()} does not exist: the transform says which tensors are differentiated",
            "take gradients with func.grad, func.vjp or func.jvp; write y = f(x) for a new tensor",
        )

    def backward(self, *args: Any, **kwargs: Any) -> None:
        raise GradientError(
            f"backward() of {self.describe()}: gradients inside of {self.level.name} are taken by func.grad or func.vjp"
        )

    def assign(self, value: Any, name: str) -> None:
        """Take over the value of a tensor of the same shape and dtype: an in-place change."""
        raise NotImplementedError

    def _take(self, value: Any) -> None:
        """Have the value of a tensor under the same transform, whatever its shape."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.level.name} of {self.value!r}>"


# tensors of device "meta": a shape and a dtype without values, as PyTorch has them ------------------------------------

# They are tensors under a level that is always entered, outside of all transforms. An operation on them is what the
# record's rules of shapes and dtypes say of it.

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
