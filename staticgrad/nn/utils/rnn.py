"""Sequences of different lengths: padded to one tensor, or packed without padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...eager.creation import tensor
from ...errors import ArgumentError, ShapeError
from ...ops.operators import F

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
    "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Packed(NamedTuple):
    data: Any
    batch_sizes: Any = None
    sorted_indices: Any = None
    unsorted_indices: Any = None


class PackedSequence(_Packed):
    """Sequences in order of falling length, step by step: the first step of all, then the second of those that have one.

    data: (all steps, ...). batch_sizes: how many sequences have step t, int64. sorted_indices, unsorted_indices: the order of
    the sequences among those packed, and back; None where they were in order. `nn.RNN`, `nn.LSTM` and `nn.GRU` take it.
    """

    layout: tuple[np.ndarray, np.ndarray | None]
    """batch_sizes and unsorted_indices as arrays: shapes depend on them, so a compiled function needs them when traced."""

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None,
        layout: tuple[np.ndarray, np.ndarray | None] | None = None,
    ) -> PackedSequence:  # fmt: skip
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        made = super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)
        if layout is None:
            layout = np.asarray(batch_sizes), None if unsorted_indices is None else np.asarray(unsorted_indices)
        made.layout = layout
        return made

    def with_data(self, data: Any) -> PackedSequence:
        """The same sequences with other values."""
        sizes, order, back = self.batch_sizes, self.sorted_indices, self.unsorted_indices
        return PackedSequence(data, sizes, order, back, self.layout)

    @property
    def is_cuda(self) -> bool:
        """False: there is only a CPU."""
        return False

    def is_pinned(self) -> bool:
        """False: memory is pinned for other devices."""
        return False

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with `data.to(...)`."""
        return self.with_data(self.data.to(*args, **kwargs))


def _as_data(name: str) -> Any:
    def method(self: PackedSequence, *args: Any, **kwargs: Any) -> PackedSequence:
        return self.with_data(getattr(self.data, name)(*args, **kwargs))

    method.__name__, method.__doc__ = name, f"The same with `data.{name}(...)`."
    return method


for _name in ("byte", "char", "cpu", "cuda", "double", "float", "half", "int", "long", "pin_memory", "short"):
    setattr(PackedSequence, _name, _as_data(_name))


def invert_permutation(permutation: Any) -> Any:
    """The permutation that takes back another; None for None."""
    return None if permutation is None else tensor(np.argsort(np.asarray(permutation)))


def lengths_of(packed: PackedSequence) -> np.ndarray:
    """The lengths of the sequences as packed, longest first."""
    sizes = packed.layout[0]
    return (sizes[:, None] > np.arange(sizes[0])).sum(0)


def pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Any:
    """Tensors (l_i, ...) as one of (longest, n, ...), or (n, longest, ...), with `padding_value` after (or before) each.

    Raises ArgumentError for none, and for another side.
    """
    if padding_side not in ("right", "left"):
        raise ArgumentError("padding_side should be one of ('right', 'left')", f"got {padding_side!r}")
    parts = list(sequences)
    if not parts:
        raise ArgumentError("received an empty list of sequences")
    longest = max(part.shape[0] for part in parts)
    padded = []
    for part in parts:
        missing = longest - part.shape[0]
        if missing:
            rest = np.full((missing, *part.shape[1:]), padding_value, part.dtype)
            part = F.concatenate([part, rest] if padding_side == "right" else [rest, part], 0)
        padded.append(part)
    return F.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The tensors that `pad_sequence` took, from their lengths."""
    x = padded_sequences if batch_first else F.swapaxes(padded_sequences, 0, 1)
    return [x[i][: int(n)] for i, n in enumerate(np.asarray(lengths))]


def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Sequences padded to (longest, n, ...), or with batch_first (n, longest, ...), as a PackedSequence.

    lengths: numbers, known now. enforce_sorted: they fall; otherwise the sequences are sorted here. Raises ArgumentError for
    lengths that don't fall, are not positive or exceed the tensor, ShapeError for another number of them.
    """
    x = F.swapaxes(input, 0, 1) if batch_first else input
    counts = np.asarray(lengths).astype(np.int64)
    if counts.shape != (x.shape[1],):
        raise ShapeError(f"Expected `len(lengths)` to be equal to batch_size, but got {counts.size} (batch_size={x.shape[1]})")
    if counts.size == 0 or (counts <= 0).any():
        raise ArgumentError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if counts.max() > x.shape[0]:
        raise ArgumentError(f"Expected lengths of at most {x.shape[0]}, got {counts.max()}")
    order = None if enforce_sorted else np.argsort(-counts, kind="stable")
    if order is None and (np.diff(counts) > 0).any():
        raise ArgumentError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True.",
            "You can pass `enforce_sorted=False` to pack_padded_sequence to sidestep this requirement",
        )
    sizes = (counts > np.arange(counts.max())[:, None]).sum(1)
    own = np.arange(counts.size) if order is None else order
    rows = np.concatenate([t * counts.size + own[:size] for t, size in enumerate(sizes)])
    flat = F.reshape(x, (-1, *x.shape[2:]))
    sizes = sizes.astype(np.int64)
    data, back = F.take(flat, rows, 0), None if order is None else np.argsort(order)
    if order is None or back is None:
        return PackedSequence(data, tensor(sizes), None, None, (sizes, None))
    return PackedSequence(data, tensor(sizes), tensor(order), tensor(back), (sizes, back))


def padded_as_sorted(packed: PackedSequence, value: float, length: int) -> Any:
    """(length, n, ...) of the sequences in the order of the pack."""
    sizes = packed.layout[0]
    present = np.arange(sizes[0]) < np.concatenate([sizes, np.zeros(length - len(sizes), np.int64)])[:, None]
    begins = np.concatenate([np.cumsum(sizes) - sizes, np.zeros(length - len(sizes), np.int64)])
    rows = np.where(present, begins[:, None] + np.arange(sizes[0]), 0)
    shape = (*rows.shape, *packed.data.shape[1:])
    x = F.reshape(F.take(packed.data, rows.reshape(-1), 0), shape)
    mask = present.reshape(*rows.shape, *[1] * (len(shape) - 2))
    return F.where(np.broadcast_to(mask, shape).copy(), x, np.asarray(value, x.dtype))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Any, Any]:
    """(padded, lengths): (longest, n, ...), or (n, longest, ...), in the order in which they were packed.

    total_length: pad to this many steps. Raises ArgumentError where that is too few.
    """
    longest = len(sequence.layout[0])
    if total_length is not None and total_length < longest:
        raise ArgumentError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    x = padded_as_sorted(sequence, padding_value, longest if total_length is None else total_length)
    lengths = lengths_of(sequence)
    order = sequence.layout[1]
    if order is not None:
        x, lengths = F.take(x, order, 1), lengths[order]
    return F.swapaxes(x, 0, 1) if batch_first else x, tensor(lengths.astype(np.int64))


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Tensors (l_i, ...) as a PackedSequence. Raises ArgumentError as `pack_padded_sequence` does."""
    lengths = [s.shape[0] for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """The tensors that `pack_sequence` took."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
