"""The broadcast rank of each value in an iteration domain, and how a kernel over the domain addresses its operands."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence

from ...ir import Node
from .broadcast_rank import COL, FULL, ROW, SCALAR, FusionFailure, IterationDomain, origin
from .indexed_members import assign_gather, assign_padding, assign_scatter, block_of, rows_begin
from .layout import Layouts, block_start, broadcast_strides, count, merged
from .node_facts import Facts, facts_of, inlined
from .scan_fusion import assign_scan


def width_of(node: Node, facts: Facts, inside: Container[Node], layouts: Layouts) -> int:
    """The number of columns that a node requires; 0 where it fits any."""
    k = _block(node, facts, inside, layouts)
    return count(facts.shape[k:]) if k > 0 else 0


# extents ------------------------------------------------------------------------------------------------------------


def _block(node: Node, facts: Facts, inside: Container[Node], layouts: Layouts) -> int:
    """The first axis of the columns: from there on, each operand is one value or is walked by one stride. 0 where all operands
    are walked by one stride as a whole."""
    shape = facts.shape
    if facts.window is not None:
        return block_of(facts.window, len(shape))
    if facts.lookup is not None:
        return rows_begin(node, facts.lookup)
    k = 0
    for seen, source, mask in facts.walked:
        if source not in inside:
            run = _run(seen, facts, layouts)
            if run is None:
                raise FusionFailure("an operand does not broadcast to the result")
            if run > k:
                k = run
        if mask > k:
            k = mask
    if shape == node.type.shape and not layouts.at[node].is_contiguous:  # rows apart, or another order of axes
        k = max(k, block_start(shape, layouts.at[node].strides))
    return k


def _run(seen: Node, facts: Facts, layouts: Layouts) -> int | None:
    """The first axis of the suffix of axes that one stride walks in memory; None where the operand doesn't broadcast to the
    shape."""
    at = layouts.at[seen]
    if seen in facts.runs:
        known, run = facts.runs[seen]
        if known is at:
            return run
    strides = broadcast_strides(at, facts.shape)
    run = None if strides is None else block_start(facts.shape, strides)
    facts.runs[seen] = at, run
    return run


# ranks --------------------------------------------------------------------------------------------------------------


def assign_rank(node: Node, domain: IterationDomain, inside: Collection[Node], layouts: Layouts, preferred: str) -> None:
    known = layouts.facts
    facts = known[node] if node in known else facts_of(node, layouts)
    rank, post = domain.rank, domain.post
    if facts.reduction:
        rank[node] = _reduced(node, facts, domain, inside, layouts)
        return
    if not facts.plain:
        _assign_indirect(node, facts, domain, inside, layouts)
        return
    rank[node] = own = _pointwise_rank(node, facts, domain, inside, preferred)
    if not layouts.at[node].is_contiguous and (
        own != FULL or split_strides(node, node.type.shape, FULL, domain, layouts) is None
    ):
        raise FusionFailure("it is stored in another order of its axes")
    if post:
        for _, source in facts.operands:
            if source in post:
                if own != SCALAR:
                    raise FusionFailure(f"it needs the finished {source.op.name} of all rows")
                post.add(node)
                break
    for seen, source in facts.members:
        if source in inside:
            other = rank[source]
            if other != SCALAR and (other != own or seen.type.shape != node.type.shape):
                _check_member(seen, other, node.type.shape, own, domain)
        elif own != SCALAR or seen.type.shape:
            _check_access(seen, node.type.shape, own, facts, domain, layouts)


def _assign_indirect(node: Node, facts: Facts, domain: IterationDomain, inside: Collection[Node], layouts: Layouts) -> None:
    """The rank of a node that reads its operands, or writes its result, at other positions."""
    if facts.window is not None:
        assign_padding(node, facts.window, domain, inside, layouts)
    elif facts.lookup is not None:
        assign_gather(node, facts.lookup, domain, inside, layouts)
    elif facts.scan is not None:
        seen, source = facts.operands[0]
        assign_scan(node, source, domain, inside)
        if not inlined(source):
            access_check(seen, node.type.shape, FULL, domain, layouts)
    else:
        assert facts.scatter is not None
        values = node.inputs[facts.scatter.values]
        assign_scatter(node, facts.scatter, domain, inside)
        if origin(values) not in inside:
            access_check(values, values.type.shape, FULL, domain, layouts)


def _pointwise_rank(node: Node, facts: Facts, domain: IterationDomain, inside: Container[Node], preferred: str) -> str:
    shape = node.type.shape
    if not shape:
        return SCALAR
    for seen, source in facts.operands:
        if source in inside and seen.type.shape == shape and source not in domain.post:
            return domain.rank[source]
    ranks = _ranks_of(facts.size, domain)
    if not ranks:
        raise FusionFailure(f"its shape {shape} does not fit the domain {domain}")
    return preferred if preferred in ranks and FULL not in ranks else ranks[0]


def _ranks_of(size: int, domain: IterationDomain) -> list[str]:
    """The ranks that a value of so many elements may have."""
    rows, columns = domain.rows, domain.columns
    if columns is None:
        return [ROW] if size == rows else [SCALAR] if size == 1 else []
    sizes = ((FULL, rows * columns), (ROW, rows), (COL, columns), (SCALAR, 1))
    return [rank for rank, n in sizes if size == n]


def _reduced(node: Node, facts: Facts, domain: IterationDomain, inside: Container[Node], layouts: Layouts) -> str:
    """The rank of a reduction."""
    seen, source = facts.operands[0]
    shape, axis = facts.shape, node.attrs["axis"]
    if source in domain.post:
        raise FusionFailure(f"it needs the finished {source.op.name} of all rows")
    everything = len(axis) == len(shape)
    if source in inside:
        rank = domain.rank[source]
    else:
        ranks = _ranks_of(facts.size, domain)
        rank = ranks[0] if ranks else ""
        if rank not in (FULL, ROW):
            raise FusionFailure(f"its operand {shape} does not fit the domain {domain}")
        if facts.members:
            _check_access(seen, shape, rank, facts, domain, layouts)
    if everything:
        if rank not in (FULL, ROW):
            raise FusionFailure("it reduces a value that is not one per row")
        domain.post.add(node)
        return SCALAR
    if rank != FULL:
        raise FusionFailure("it reduces part of a row value")
    if axis[0] == 0:
        domain.post.add(node)
        return COL
    return ROW


def splits(shape: Sequence[int], domain: IterationDomain) -> list[int]:
    """The axes k such that axes [:k] are the rows and axes [k:] the columns. The largest comes first, so axes of extent 1
    count as rows."""
    columns = domain.columns if domain.columns is not None else 1
    return [k for k in range(len(shape), -1, -1) if count(shape[:k]) == domain.rows and count(shape[k:]) == columns]


def _check_member(seen: Node, rank: str, shape: tuple[int, ...], user: str, domain: IterationDomain) -> None:
    """Raises FusionFailure unless a value of the group is available where its user, of rank `user`, needs it."""
    t = seen.type.shape
    if rank == SCALAR:
        return
    if rank == user:
        if t != shape:
            raise FusionFailure(f"an operand of shape {t} is repeated along a part of {shape}")
        return
    if user != FULL:
        raise FusionFailure(f"a {user} value can't use a {rank} value")
    padded = (1,) * (len(shape) - len(t)) + t
    for k in splits(shape, domain):
        row = padded[:k] == shape[:k] and all(d == 1 for d in padded[k:])
        col = padded[k:] == shape[k:] and all(d == 1 for d in padded[:k])
        if (rank == ROW and row) or (rank == COL and col):
            return
    raise FusionFailure(f"a {rank} value of shape {t} does not lie along the {rank}s of {shape}")


def _check_access(seen: Node, shape: Sequence[int], rank: str, facts: Facts, domain: IterationDomain, layouts: Layouts) -> None:
    """`access_check`, done once per domain and layout."""
    key, at = (seen, rank, domain.rows, domain.columns), layouts.at[seen]
    if key not in facts.accesses or facts.accesses[key] is not at:
        access_check(seen, shape, rank, domain, layouts)
        facts.accesses[key] = at


def access_check(seen: Node, shape: Sequence[int], rank: str, domain: IterationDomain, layouts: Layouts) -> None:
    """Raises FusionFailure unless a kernel over this domain can walk a value in memory."""
    if split_strides(seen, shape, rank, domain, layouts) is None:
        raise FusionFailure(f"an operand of shape {seen.type.shape} can't be walked along rows and columns")


def split_strides(
    seen: Node, shape: Sequence[int], rank: str, domain: IterationDomain, layouts: Layouts
) -> tuple[Sequence[int], Sequence[int], int] | None:
    """(row extents, row strides, column stride) of an operand in memory; None where strides can't describe the access."""
    layout = layouts.at[seen]
    strides = broadcast_strides(layout, shape)
    if strides is None:
        return None
    if rank == SCALAR:
        return (), (), 0
    if rank == ROW:
        return shape, strides, 0
    if rank == COL:
        column = merged(shape, strides)
        return None if column is None else ((), (), column)
    for k in splits(shape, domain):
        column = merged(shape[k:], strides[k:])
        if column is not None:
            return shape[:k], strides[:k], column
    whole = merged(shape, strides)
    if whole is not None and domain.columns is not None:
        return (domain.rows,), (whole * domain.columns,), whole
    return None
