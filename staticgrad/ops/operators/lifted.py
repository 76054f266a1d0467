"""Tensors under a function transform, and how an operation reaches the transform that its operands are under.

`vmap`, `jvp` and `grad` run a function on tensors of their own kind (`Lifted`), each of which stands for one or more tensors
of the surroundings: eager tensors, tensors of a graph or a trace, or tensors under a transform further out. An operation
belongs to the innermost transform among its operands, which writes it in operations on the values, so transforms nest, and
serve all modes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from ...base.dtypes import PUBLIC, DType
from ...base.types import FLOATING, TensorType, is_scalar, shape_text, type_of
from ...errors import GradientError, GraphError, StaticgradError, TransformError, Where, user_line
from ...ir import REGISTRY, Node, OpDef, over_types
from .dispatch import apply, state
from .methods import Operators
from .node_names import as_array, located, promotion
from .sizes import Count, Size, count_of
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

    # loops and branches; see `ops/control/carries.py`

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
