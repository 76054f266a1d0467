"""Iteration spaces: what nodes have to share to become one kernel, and what kind each value has in it.

Values are *full* (one per row and column), *row* (one per row), *col* (one per column) or *scalar*. `classify` gives
the space of a set of nodes, or raises Misfit with the reason why they have none.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Extent, Index, Node, Pointwise, Reduction
from .kinds import COL, FULL, ROW, SCALAR, SPREAD, Misfit, Space, origin
from .layout import Layouts, block_start, broadcast_strides, count, merged, real
from .lookups import assign_lookup, lookup_of, rows_begin
from .scatters import assign_scatter, scatter_of, spread_space
from .windows import assign_window, block_of, window_of

__all__ = [
    "COL", "FULL", "ROW", "SCALAR", "SPREAD", "Misfit", "Space", "access_check", "classify", "fusible", "inlined", "origin",
    "split_strides", "splits", "uniform",
]  # fmt: skip

def fusible(node: Node) -> bool:
    emit = node.op.emit
    if isinstance(emit, Pointwise):
        return emit.text(node) != "" and node.type.static
    return isinstance(emit, Reduction)


def uniform(node: Node) -> bool:
    """One number made of constants and extents: recomputed wherever it is needed."""
    if node.type.size != 1:
        return False
    if isinstance(node.op.emit, Extent) or node.op.leaf == "constant":
        return True
    return isinstance(node.op.emit, Pointwise) and fusible(node) and all(uniform(origin(i)) for i in node.inputs)


def inlined(node: Node) -> bool:
    """Has no storage: positions, extents, numbers, operands that are read for their shape."""
    return isinstance(node.op.emit, (Index, Extent)) or node.op.leaf == "shape" or uniform(node)


def classify(members: Sequence[Node], layouts: Layouts) -> Space:
    """The space that these nodes share, with the kind of each. Raises Misfit."""
    inside = set(members)
    rows, columns = _extents(members, inside, layouts)
    error = Misfit("no space")
    for preferred in (ROW, COL):  # with as many rows as columns, a vector's kind shows only where it is used
        space = Space(rows, columns, {}, set())
        try:
            for node in members:
                _assign(node, space, inside, layouts, preferred)
            return space
        except Misfit as reason:
            error = reason
            if rows != columns:
                break
    raise error


def _extents(members: Sequence[Node], inside: set[Node], layouts: Layouts) -> tuple[int, int | None]:
    """Rows and columns: fixed by partial reductions, else by how operands broadcast; columns None when all is flat."""
    found: set[tuple[int, int]] = set()
    for node in members:
        if isinstance(node.op.emit, Reduction):
            shape, axis = node.inputs[0].type.shape, node.attrs["axis"]
            n = len(shape)
            if len(axis) < n:
                k = n - len(axis) if axis[-1] == n - 1 else len(axis)
                found.add((count(shape[:k]), count(shape[k:])))
        scatter = scatter_of(node)
        if scatter is not None:
            found.add(spread_space(node, scatter))
    if len(found) > 1:
        raise Misfit("they reduce over different spaces: " + ", ".join(f"{real(r)} x {real(c)}" for r, c in sorted(found)))
    if found:
        return found.pop()
    shapes = [n.inputs[0].type.shape if isinstance(n.op.emit, Reduction) else n.type.shape for n in members]
    size = max(map(count, shapes))
    columns = None
    for node, shape in zip(members, shapes, strict=True):
        if count(shape) == size:
            k = _block(node, shape, inside, layouts)
            if k > 0:
                columns = count(shape[k:]) if columns is None else min(columns, count(shape[k:]))
    return (size, None) if columns is None else (size // columns, columns)


def _block(node: Node, shape: tuple[int, ...], inside: set[Node], layouts: Layouts) -> int:
    """The first axis from which on each operand is either one value or one run; 0 when they all walk together."""
    window = window_of(node)
    if window is not None:
        return block_of(window, len(shape))
    lookup = lookup_of(node)
    if lookup is not None:
        return rows_begin(node, lookup)
    k = 0
    for operand in node.inputs:
        if operand.type.size == 1 or isinstance(operand.op.emit, Index) or operand.op.leaf == "generator":
            continue
        if origin(operand) in inside:
            k = max(k, _mask_block(operand.type.shape, shape))
        else:
            strides = broadcast_strides(layouts.at[operand], shape)
            if strides is None:
                raise Misfit("an operand does not broadcast to the result")
            k = max(k, block_start(shape, strides), _mask_block(operand.type.shape, shape))
    if layouts.base[node] is not node and shape == node.type.shape:  # a part, whose rows may lie apart
        k = max(k, block_start(shape, layouts.at[node].strides))
    return k


def _mask_block(t: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The first axis from which on the operand is present throughout, or absent throughout.

    An axis that the operand lacks is absent even where its extent is 1: a batch of one takes the kernel of any batch.
    """
    if t == shape or (count(t) == count(shape) and len(t) >= len(shape)):
        return 0
    lead = len(shape) - len(t)
    present = [i >= lead and t[i - lead] == d for i, d in enumerate(shape)]
    k = len(shape)
    last = present[-1] if present else True
    while k > 0 and present[k - 1] == last:
        k -= 1
    return k


def _assign(node: Node, space: Space, inside: set[Node], layouts: Layouts, preferred: str) -> None:
    operands = [(i, origin(i)) for i in node.inputs]
    if isinstance(node.op.emit, Reduction):
        space.kind[node] = _reduced(node, operands[0], space, inside, layouts)
        return
    window = window_of(node)
    if window is not None:
        assign_window(node, window, space, inside, layouts)
        return
    lookup = lookup_of(node)
    if lookup is not None:
        assign_lookup(node, lookup, space, inside, layouts)
        return
    scatter = scatter_of(node)
    if scatter is not None:
        values = node.inputs[scatter.values]
        assign_scatter(node, scatter, space, inside)
        if origin(values) not in inside:
            access_check(values, values.type.shape, FULL, space, layouts)
        return
    kind = _pointwise_kind(node, operands, space, inside, preferred)
    space.kind[node] = kind
    late = [o for _, o in operands if o in space.post]
    if late:
        if kind != SCALAR:
            raise Misfit(f"it needs the finished {late[0].op.name} of all rows")
        space.post.add(node)
    for seen, source in operands:
        if inlined(source) or source.op.leaf == "generator":
            continue
        if source in inside:
            _check_member(seen, space.kind[source], node.type.shape, kind, space)
        else:
            access_check(seen, node.type.shape, kind, space, layouts)


def _pointwise_kind(
    node: Node, operands: list[tuple[Node, Node]], space: Space, inside: set[Node], preferred: str
) -> str:
    shape = node.type.shape
    if not shape:
        return SCALAR
    for seen, source in operands:
        if source in inside and seen.type.shape == shape and source not in space.post:
            return space.kind[source]
    kinds = _kinds_of(count(shape), space)
    if not kinds:
        raise Misfit(f"its shape {shape} is not of the space {space}")
    return preferred if preferred in kinds and FULL not in kinds else kinds[0]


def _kinds_of(size: int, space: Space) -> list[str]:
    if space.columns is None:
        return [ROW] if size == space.rows else [SCALAR] if size == 1 else []
    sizes = ((FULL, space.rows * space.columns), (ROW, space.rows), (COL, space.columns), (SCALAR, 1))
    return [kind for kind, n in sizes if size == n]


def _reduced(node: Node, operand: tuple[Node, Node], space: Space, inside: set[Node], layouts: Layouts) -> str:
    seen, source = operand
    shape, axis = seen.type.shape, node.attrs["axis"]
    if source in space.post:
        raise Misfit(f"it needs the finished {source.op.name} of all rows")
    everything = len(axis) == len(shape)
    if source in inside:
        kind = space.kind[source]
    else:
        kinds = _kinds_of(count(shape), space)
        kind = kinds[0] if kinds else ""
        if kind not in (FULL, ROW):
            raise Misfit(f"its operand {shape} is not of the space {space}")
        if not inlined(source):
            access_check(seen, shape, kind, space, layouts)
    if everything:
        if kind not in (FULL, ROW):
            raise Misfit("it reduces a value that is not one per row")
        space.post.add(node)
        return SCALAR
    if kind != FULL:
        raise Misfit("it reduces part of a row value")
    if axis[0] == 0:
        space.post.add(node)
        return COL
    return ROW


def splits(shape: Sequence[int], space: Space) -> list[int]:
    """The axes k with [:k] the rows and [k:] the columns; the largest first, so that axes of extent 1 are rows."""
    columns = space.columns if space.columns is not None else 1
    return [k for k in range(len(shape), -1, -1) if count(shape[:k]) == space.rows and count(shape[k:]) == columns]


def _check_member(seen: Node, kind: str, shape: tuple[int, ...], user: str, space: Space) -> None:
    """A value of the group is where its user looks for it. Raises Misfit."""
    t = seen.type.shape
    if kind == SCALAR:
        return
    if kind == user:
        if t != shape:
            raise Misfit(f"an operand of shape {t} is repeated along a part of {shape}")
        return
    if user != FULL:
        raise Misfit(f"a {user} value can't use a {kind} value")
    padded = (1,) * (len(shape) - len(t)) + t
    for k in splits(shape, space):
        row = padded[:k] == shape[:k] and all(d == 1 for d in padded[k:])
        col = padded[k:] == shape[k:] and all(d == 1 for d in padded[:k])
        if (kind == ROW and row) or (kind == COL and col):
            return
    raise Misfit(f"a {kind} value of shape {t} does not lie along the {kind}s of {shape}")


def access_check(seen: Node, shape: Sequence[int], kind: str, space: Space, layouts: Layouts) -> None:
    """A value in memory can be walked by a kernel of this space. Raises Misfit."""
    if split_strides(seen, shape, kind, space, layouts) is None:
        raise Misfit(f"an operand of shape {seen.type.shape} can't be walked along rows and columns")


def split_strides(
    seen: Node, shape: Sequence[int], kind: str, space: Space, layouts: Layouts
) -> tuple[Sequence[int], Sequence[int], int] | None:
    """(row extents, row strides, column stride) of an operand in memory, or None when no split serves."""
    layout = layouts.at[seen]
    strides = broadcast_strides(layout, shape)
    if strides is None:
        return None
    if kind == SCALAR:
        return (), (), 0
    if kind == ROW:
        return shape, strides, 0
    if kind == COL:
        column = merged(shape, strides)
        return None if column is None else ((), (), column)
    for k in splits(shape, space):
        column = merged(shape[k:], strides[k:])
        if column is not None:
            return shape[:k], strides[:k], column
    whole = merged(shape, strides)
    if whole is not None and space.columns is not None:
        return (space.rows,), (whole * space.columns,), whole
    return None
