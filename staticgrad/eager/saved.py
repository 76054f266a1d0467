"""The values that operations save for their gradients: which these are, and hooks that keep them in another form."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from ..autodiff import requests
from ..autodiff.pull import by_rules
from ..errors import GradientError
from ..ir import REGISTRY, OpDef
from ..ops.operators import frontends, misuse, state
from .calls.call_cache import shared
from .calls.signature import attributes
from .grad_mode import Mode, forget_inferred, modes
from .pending import PendingValue
from .tape import FreedTensor, Record, changed, edge
from .tensor import Tensor, check_saved, wrap

NAMES = ("self", "other")
"""PyTorch's names of the first operands."""
OTHERS = {"Bmm": "mat2", "Dot": "tensor", "Mm": "mat2", "Pow": "exponent"}
"""Its names of the second operand that differ, by the names of nodes."""
BOTH = ("Bmm", "Dot", "Mm", "Mul")
"""Nodes of which an operand that no gradient needs is None."""
SIZED = ("Expand", "Mean", "Select", "Slice", "Squeeze", "Sum", "Unfold", "View")
"""Nodes that keep the sizes of their operand."""


def positions_read(record: Record) -> tuple[tuple[int, ...], bool]:
    """The operands whose values the gradient of a record needs, and whether it needs the result.

    Found by its rules: one that reads a value which is not there raises GradientError.
    """
    edges = [edge(tensor, record.clock) for tensor in record.inputs]
    wanted = tuple([maker is not None or leaf is not None for maker, leaf in edges])
    key = positions_read, record.op, wanted, tuple([t.shape for t in record.inputs]), *attributes(record.op, record.attrs)
    try:
        known: tuple[tuple[int, ...], bool] | None = shared[key]
    except TypeError:  # attributes that can't be hashed
        return _probe(record, wanted)
    if known is None:
        known = shared[key] = _probe(record, wanted)
    return known


def _probe(record: Record, wanted: tuple[bool, ...]) -> tuple[tuple[int, ...], bool]:
    operands: list[Any] = [t.shape_array() if isinstance(t, FreedTensor) else np.asarray(t._data) for t in record.inputs]
    result: Any = record.out.shape_array() if isinstance(record.out, FreedTensor) else record.out
    g = np.zeros(result.shape, result.dtype)
    found = []
    for position in range(len(operands)):
        absent = [FreedTensor(a.shape, a.dtype) if i == position else a for i, a in enumerate(operands)]
        if _needs(record, wanted, g, result, absent):
            found.append(position)
    absent = FreedTensor(result.shape, result.dtype)  # type: ignore[assignment]
    return tuple(found), _needs(record, wanted, g, absent, operands)


def _needs(record: Record, wanted: tuple[bool, ...], g: Any, result: Any, operands: list[Any]) -> bool:
    """Whether the rules of a record fail with these values."""
    op: OpDef = record.op
    mode = modes.now
    saved, traced = (mode.grad, mode.arrays, mode.saver), (state.tracer, state.deferral)
    mode.grad, mode.arrays, mode.saver = False, True, None
    state.tracer = state.deferral = None  # which may ask
    try:
        with np.errstate(all="ignore"):
            for _ in by_rules(op, [i for i, flows in enumerate(wanted) if flows], g, record, result, operands):
                pass
    except GradientError:
        return True
    finally:
        mode.grad, mode.arrays, mode.saver = saved
        state.tracer, state.deferral = traced
    return False


SEVERAL = ("Sum", "Mean", "Amax", "Amin", "Logsumexp")
"""Operations of which PyTorch saves a tuple of dimensions."""


def _attributes(record: Record) -> dict[str, Any]:
    """The attributes of a record, also by PyTorch's names: `dim`, `keepdim`, `dims`, `dim0` and so on."""
    found, name = {**record.attrs}, record.name()
    axis, axes = found.get("axis"), found.get("axes")
    if axis is not None and name not in ("SumBackward0", "MeanBackward0"):  # over all dimensions
        found["dim"] = axis[0] if isinstance(axis, tuple) and len(axis) == 1 and not name.startswith(SEVERAL) else axis
        if "keepdims" in found:
            found["keepdim"] = found["keepdims"]
    if name.startswith(SIZED):
        found["self_sym_sizes"] = tuple(record.inputs[0].shape)
    if name == "PermuteBackward0":
        found["dims"] = axes
    elif name == "TransposeBackward0":
        found["dim0"], found["dim1"] = [i for i, a in enumerate(axes) if i != a] or (0, 0)  # type: ignore[arg-type]
    elif name == "DiagonalBackward0":
        found["dim1"], found["dim2"] = axes  # type: ignore[misc]
    return found


def _saved_values(record: Record) -> dict[str, Any]:
    found: dict[str, Any] = {f"_saved_{name}": value for name, value in _attributes(record).items()}
    if record.freed:
        raise requests.freed()
    reads, result = positions_read(record)
    node = record.name().partition("Backward")[0]
    names = [NAMES[0], OTHERS.get(node, NAMES[1]), *(f"operand{i}" for i in range(2, len(record.inputs)))]
    if node in BOTH:
        found.update({f"_saved_{name}": None for name in names})
    for position in reads:
        name, tensor = names[position], record.inputs[position]
        value: Any = tensor.tensor() if isinstance(tensor, Packed) else tensor
        found[f"_saved_{name}"] = value.item() if position and record.name() == "PowBackward0" else value
        found[f"_raw_saved_{name}"] = SavedTensor(record, position)
    if result:
        out = record.out.get() if isinstance(record.out, PendingValue) else record.out
        found["_saved_result"] = out.tensor(record) if isinstance(out, Packed) else wrap(out, record)
        found["_raw_saved_result"] = SavedTensor(record, None)
    return found


def _check_inference(record: Record, mode: Mode) -> None:
    """Raises GradientError for a new record that saves a tensor of `inference_mode`."""
    if any(t._inference for t in record.inputs):
        check_kept([record.inputs[i] for i in positions_read(record)[0]])
    elif not record.clock % 64:
        forget_inferred(mode)


def check_kept(tensors: Iterable[Any]) -> None:
    """Raises GradientError where one of these, which a gradient would need, is of `inference_mode`."""
    if any(t._inference for t in tensors):
        raise misuse.inference_saved()


check_saved.append(_check_inference)


class SavedTensor:
    """A value that an operation saved, `grad_fn._raw_saved_self`. position: of the operand, None for the result."""

    def __init__(self, record: Record, position: int | None):
        self._record, self._position = record, position

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Keep `pack_hook(tensor)` in the place of the tensor; `unpack_hook` gives it again. Raises GradientError for a value
        that was freed, or has hooks already."""
        record, position = self._record, self._position
        if record.freed:
            raise requests.freed()
        held: Any = record.out if position is None else record.inputs[position]
        if isinstance(held, Packed):
            raise GradientError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
                "allowed at a time."
            )
        keep = SavedTensorHooks(pack_hook, unpack_hook).keep
        if position is None:
            record.out = Packed(held.shape, held.dtype, keep(wrap(held)))
        else:
            made = Packed(held.shape, held.dtype, keep(held), *edge(held, record.clock))
            record.inputs = (*record.inputs[:position], made, *record.inputs[position + 1 :])


class Saver(Protocol):
    """Takes over what operations save while it is `modes.now.saver`."""

    def save(self, record: Record) -> None:
        """Replace the operands and the result of a new record; `replaced` does it."""

    def keep(self, tensor: Tensor) -> Callable[[], np.ndarray]:
        """Keep one value; the result gives its array again."""


class Packed(FreedTensor):
    """A saved value that is kept in another form. unpack: gives the value, an array."""

    __slots__ = ("unpack",)

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype, unpack: Callable[[], np.ndarray], record: Any = None, leaf: Any = None
    ):
        super().__init__(shape, dtype, record, leaf)
        self.unpack = unpack

    @property
    def _data(self) -> Any:
        return self.unpack()

    def tensor(self, record: Record | None = None) -> Tensor:
        """The value on the tape: the result of `record`, or of the record that made the operand."""
        maker = self.record if record is None else record
        data = self.unpack()
        if maker is None and self.leaf is not None:
            maker = Record(REGISTRY["identity"], (self.leaf,), {}, data)
        return wrap(data, maker)


def replaced(record: Record, keep: Callable[[Tensor], Callable[[], np.ndarray]]) -> None:
    """Replace what a record saves by `keep(tensor)`, a function that gives the array again."""
    reads, result = positions_read(record)
    inputs: list[Any] = []
    for position, tensor in enumerate(record.inputs):
        data, source = tensor._data, edge(tensor, record.clock)
        if data.ndim == 0 and not data.flags.writeable:  # a plain number
            inputs.append(tensor)
        elif position in reads:
            inputs.append(Packed(data.shape, data.dtype, keep(tensor), *source))
        else:
            inputs.append(FreedTensor(data.shape, data.dtype, *source))
    record.inputs = tuple(inputs)
    out = record.out
    if result:
        record.out = Packed(out.shape, out.dtype, keep(wrap(out)))
    else:
        record.out = Unread(out.shape, out.dtype)


class Unread(FreedTensor):
    """A result that was not saved because its gradient needs the shape only; the record is not freed."""

    __slots__ = ()


class SavedTensorHooks:
    """What `modes.now.saver` is inside `saved_tensors_hooks`."""

    def __init__(self, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]):
        self.pack, self.unpack = pack, unpack

    def save(self, record: Record) -> None:
        replaced(record, self.keep)

    def keep(self, tensor: Tensor) -> Callable[[], np.ndarray]:
        now = modes.now
        now.saver, saver = None, now.saver
        given = tensor.detach()
        before = changed(given)
        try:
            packed = self.pack(given)
        finally:
            now.saver = saver
        if changed(given) != before:
            raise GradientError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
                "modified by in-place operations as this can lead to unexpected side-effects.",
                "change a clone() of it",
            )
        shape = tensor.shape

        def value() -> np.ndarray:
            now = modes.now
            arrays, now.arrays = now.arrays, False
            now.saver, around = None, now.saver
            try:
                found = self.unpack(packed)
            finally:
                now.arrays, now.saver = arrays, around
            if not isinstance(found, Tensor):
                raise TypeError(
                    f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(found).__name__}"
                )
            if found.shape != shape:
                raise GradientError(f"unpack_hook gave a tensor of shape {found.shape} for one of shape {shape}")
            return found._data

        return value


frontends.saved_values = _saved_values
