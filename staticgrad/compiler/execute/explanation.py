"""`Explanation`: what a plan does and why, as data, as a page of text in which repeated structures are folded, and in full."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.types import TensorType
from ...errors import ArgumentError
from ...ir.text import clip
from ..backend.kernel_cache import without_comments
from ..codegen.printers import Cost
from .explain import (
    CriticalPath,
    Edge,
    arena_buffers,
    cost,
    counted,
    critical_path_of,
    edges_of,
    html_table,
    matching,
    nesting,
    op_names,
    size_text,
    source_of,
    summary,
    totals,
)

if TYPE_CHECKING:
    from ..lower.instructions import Instruction
    from .plan import Plan

MOST_ROWS = 16
"""Kinds of instructions that a folded text lists."""
MOST_EDGES = 8
MOST_NOTES = 5
WIDTH = 46
LONGEST_PATH = 8
"""Operations of a path between two that are listed."""


@dataclass(frozen=True)
class Row:
    """One instruction. what: its kind, or the number of its kernel; names: variables that it reads or writes."""

    number: int
    what: str
    name: str
    bytes: int
    flops: int
    chunks: int
    where: str
    names: tuple[str, ...]
    depth: int

    @property
    def kind(self) -> tuple[Any, ...]:
        """Instructions of equal kinds are folded."""
        return self.what, self.name, self.bytes, self.flops, self.chunks

    def as_dict(self) -> dict[str, Any]:
        """The instruction as plain data."""
        facts = ("number", "what", "name", "bytes", "flops", "chunks", "where", "depth")
        return {key: getattr(self, key) for key in facts} | {"names": list(self.names)}


@dataclass(repr=False)
class Explanation:
    """What a plan does, and why.

    `print` it for a page; `detail=True` unfolds all of it. The data: `rows` (instructions), `edges` between operations, with
    reasons and bytes; `critical`, the chain of most work; `notes`, `rewrites`, `passed` (passes of the user), `host_calls`;
    `as_dict()` is all of that as plain data. `"text" in explanation` searches the unfolded text. parts: of a function that runs
    in segments.
    """

    heading: list[str]
    rows: list[Row] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    buffers: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Of the arena: bytes, offset, instructions of first and last use."""
    decisions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rewrites: list[tuple[str, str]] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    host_calls: list[str] = field(default_factory=list)
    strict: bool = False
    critical: CriticalPath | None = None
    parts: list[Explanation] = field(default_factory=list)
    detail: bool = False
    answer: str = ""
    """To `why_not`."""
    title: str = ""
    """Of a part: its segment."""

    # text -----------------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        if self.answer:
            return self.answer
        return self.unfolded() if self.detail else self.folded()

    def __repr__(self) -> str:
        return str(self)

    def __contains__(self, text: str) -> bool:
        return text in (self.answer if self.answer else self.unfolded())

    def splitlines(self) -> list[str]:
        """The lines of the text."""
        return str(self).splitlines()

    def folded(self) -> str:
        """A page."""
        lines = list(self.heading)
        most = max(MOST_ROWS // max(len(self.parts), 1), 2)
        for part in self.parts[:MOST_EDGES]:
            lines += ["", part.title, *part.heading[:1], *part._folded_rows(most)]
            lines += part._folded_edges(most // 2) if part.edges else []
        if len(self.parts) > MOST_EDGES:
            lines.append(f"and {len(self.parts) - MOST_EDGES} more segments")
        if self.rows:
            lines += ["", *self._folded_rows(MOST_ROWS), "", *self._critical_path(MOST_NOTES)]
        if self.edges:
            lines += ["", *self._folded_edges(MOST_EDGES)]
        lines += _section("passes of the user", self.passed, MOST_NOTES)
        lines += _section("rewrite rules applied", self._rules(), MOST_NOTES)
        lines += _section("memory and the choice of routines", counted_alike(self.notes), MOST_NOTES)
        lines += _section(self._host_title, counted_alike(self.host_calls), MOST_NOTES)
        return "\n".join(
            [*lines, "", "explain(detail=True) lists everything; explain(why_not=(a, b)) answers for two operations"]
        )

    def unfolded(self) -> str:
        """Everything."""
        lines = list(self.heading)
        for part in self.parts:
            lines += ["", part.title, part.unfolded()]
        if self.parts:
            return "\n".join(lines)
        lines += ["", "instructions"]
        for row in self.rows:
            name = clip("  " * row.depth + row.name, WIDTH)
            lines.append(
                f"  {row.number:3d}  {row.what:10s} {name:{WIDTH}s} {row.bytes:>10,d} B {row.flops:>12,d} flop  x{row.chunks}  "
                f"{row.where}"
            )
        lines += ["", *self._critical_path(len(self.rows))]
        lines += ["", "buffers in the arena (bytes, offset, instructions of first and last use)"]
        lines += [f"  {size:>10,d} at {offset:>10,d}  {first:3d} to {last:3d}" for size, offset, first, last in self.buffers]
        lines += ["", "fusion", *counted(self.decisions)]
        saved, paid = totals(self.edges)
        lines += ["", f"edges ({saved:,d} bytes of traffic saved, {paid:,d} paid)"]
        for edge in self.edges:
            verb = "fused" if edge.fused else "not fused"
            lines.append(f"  {edge.bytes:>10,d} B  {verb:9s}  {edge.ops}: {edge.reason}  {edge.where}".rstrip())
        for title, texts in (
            ("passes of the user", self.passed),
            ("rewrite rules applied", self._rules()),
            ("variables, values written over others, and the choice of routines", [x.strip() for x in counted(self.notes)]),
            (self._host_title, self.host_calls),
        ):
            lines += _section(title, texts, len(texts))
        return "\n".join(lines)

    @property
    def _host_title(self) -> str:
        return f"host calls ({'numerics=strict' if self.strict else 'no native code for these yet'})"

    def _rules(self) -> list[str]:
        return [f"{n} x {rule} (at {op})" for (rule, op), n in Counter(self.rewrites).most_common()]

    def _folded_rows(self, most: int) -> list[str]:
        kinds: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            kinds.setdefault(row.kind, []).append(row)
        heavy = sorted(kinds.values(), key=lambda rows: -sum(r.bytes + r.flops for r in rows))[:most]
        shown = [rows for rows in kinds.values() if any(rows is other for other in heavy)]
        lines = [f"instructions: {len(self.rows)} of {len(kinds)} kinds, in the order of their first occurrence"]
        for rows in shown:
            first, n = rows[0], len(rows)
            about = ", ".join(patterns(name for row in rows for name in row.names)[:2])
            about = clip(about if about else first.where, WIDTH)
            lines.append(
                f"  {f'{n} x' if n > 1 else '':>6s} {first.what:10s} {clip(first.name, WIDTH):{WIDTH}s} "
                f"{size_text(n * first.bytes):>9s} {n * first.flops:>14,d} flop  {about}".rstrip()
            )
        rest = [row for row in self.rows if all(row.kind != rows[0].kind for rows in shown)]
        if rest:
            lines.append(
                f"  and {len(rest)} smaller ones of {len(kinds) - len(shown)} kinds: {size_text(sum(r.bytes for r in rest))}, "
                f"{sum(r.flops for r in rest):,d} flop"
            )
        return lines

    def _critical_path(self, most: int) -> list[str]:
        """Of each kind of instruction on the critical path how many there are, those of most bytes and operations."""
        if self.critical is None:
            return []
        path, dominating, share, timed = self.critical
        kinds: dict[tuple[Any, ...], list[Row]] = {}
        for number in path:
            kinds.setdefault(self.rows[number].kind, []).append(self.rows[number])
        heavy = sorted(kinds.values(), key=lambda rows: -sum(r.bytes + r.flops for r in rows))[:most]
        around = len(path) - len(dominating)
        lines = [
            f"critical path: a chain of {len(path)} of {len(self.rows)} instructions, {share:.0%} of the "
            f"{'time' if timed else 'bytes and operations'}"
            + (f"; shorter chains lead around {around} of them (*)" if around else "")
        ]
        for rows in kinds.values():
            if any(rows is other for other in heavy):
                first, numbers = rows[0], ", ".join(f"{r.number}{'' if r.number in dominating else ' (*)'}" for r in rows)
                lines.append(
                    f"  {f'{len(rows)} x' if len(rows) > 1 else '':>6s} {first.what:10s} {clip(first.name, WIDTH):{WIDTH}s} "
                    f"{clip(numbers, WIDTH)}"
                )
        if len(kinds) > len(heavy):
            lines.append(f"  and {len(path) - sum(map(len, heavy))} smaller ones")
        return lines

    def _folded_edges(self, most: int) -> list[str]:
        fused = [e for e in self.edges if e.fused]
        apart = [e for e in self.edges if not e.fused]
        saved, paid = totals(self.edges)
        lines = [
            f"fusion: {len(fused)} of {len(self.edges)} edges, which saves {size_text(saved)} of traffic; the others cost "
            f"{size_text(paid)}"
        ]
        kinds: dict[tuple[str, str], list[Edge]] = {}
        for edge in apart:
            kinds.setdefault((edge.ops, edge.reason), []).append(edge)
        ranked = sorted(kinds.values(), key=lambda edges: -sum(e.bytes for e in edges))
        for edges in ranked[:most]:
            first, size = edges[0], size_text(sum(e.bytes for e in edges))
            lines.append(
                f"  {f'{len(edges)} x' if len(edges) > 1 else '':>6s} {size:>9s}  {first.ops}: {first.reason}  {first.where}"
            )
            if first.remedy and not first.remedy.startswith("nothing"):
                lines.append(f"{'':19s}to change that: {first.remedy}")
        if len(ranked) > most:
            rest = [e for edges in ranked[most:] for e in edges]
            lines.append(f"  and {len(rest)} smaller ones: {size_text(sum(e.bytes for e in rest))}")
        return lines

    # data -----------------------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data, for `json`."""
        saved, paid = totals(self.edges)
        return {
            "heading": list(self.heading),
            "critical_path": None if self.critical is None else self.critical._asdict(),
            "instructions": [row.as_dict() for row in self.rows],
            "edges": [edge.as_dict() for edge in self.edges],
            "bytes_saved": saved,
            "bytes_paid": paid,
            "buffers": [dict(zip(("bytes", "offset", "first", "last"), b, strict=True)) for b in self.buffers],
            "rewrites": [{"rule": rule, "op": op} for rule, op in self.rewrites],
            "notes": list(self.notes),
            "passes": list(self.passed),
            "host_calls": list(self.host_calls),
            "parts": [part.as_dict() for part in self.parts],
        }

    def to_json(self) -> str:
        """`as_dict` as JSON."""
        return json.dumps(self.as_dict())

    def _repr_html_(self) -> str:
        rows = [
            (row.number, row.what, row.name, f"{row.bytes:,d}", f"{row.flops:,d}", row.where, ", ".join(row.names))
            for row in self.rows
        ]
        head = ("number", "kind", "operations", "bytes", "flops", "line", "variables")
        own = html_table("\n".join([self.title, *self.heading] if self.title else self.heading), head, rows)
        return "".join([own, *(part._repr_html_() for part in self.parts)])


def _section(title: str, texts: Sequence[str], most: int) -> list[str]:
    if not texts:
        return []
    more = [f"  and {len(texts) - most} more"] if len(texts) > most else []
    return ["", title, *(f"  {text}" for text in texts[:most]), *more]


def counted_alike(texts: Iterable[str]) -> list[str]:
    """Texts that differ in numbers only, once, with their count."""
    alike = Counter(patterns(texts, unique=False))
    return [f"{n} x {text}" if n > 1 else text for text, n in alike.most_common()]


def patterns(names: Iterable[str], unique: bool = True) -> list[str]:
    """Names with `*` for the numbers in their paths: `layers.*.weight`."""
    found = [re.sub(r"(?<![\w])\d+(?=[./])", "*", name) for name in names]
    return list(dict.fromkeys(found)) if unique else found


def explanation(plan: Plan, *, detail: bool = False, why_not: tuple[Any, Any] | None = None) -> Explanation:
    """See `Plan.explain`."""
    edges = edges_of(plan)
    numbers = {code: number for number, code in enumerate(plan.sources())}
    depths = nesting(plan.instructions)
    rows = [_row(i, each, numbers, depths[i]) for i, each in enumerate(plan.instructions)]
    return Explanation(
        [summary(plan)],
        rows,
        edges,
        [(b.nbytes, b.offset, b.first, b.last) for b in arena_buffers(plan)],
        [f"{'yes' if d.fused else 'no '}  {d}" for d in plan.decisions],
        [*_widened(plan), *plan.notes],
        list(plan.rewrites),
        list(plan.passed),
        [f"{i.name} {i.node.type if i.node is not None else ''}" for i in plan.instructions if i.kind == "host"],
        plan.strict,
        critical_path_of(plan),
        detail=detail,
        answer="" if why_not is None else answer(plan, edges, *why_not),
    )


def _widened(plan: Plan) -> list[str]:
    """A note on weights of float32 that an argument of float64 has cast."""
    given = [feed.name or "an argument" for feed in plan.feeds if feed.dtype == np.float64 and feed.type.ndim]
    wide = [node for node in plan.ir.nodes if isinstance(node.type, TensorType) and node.dtype == np.float64]
    read = {source_of(x) for node in wide for x in node.inputs}
    cast = {x.name for x in read if x.op.leaf == "variable" and x.name and x.dtype == np.float32}
    text = f'{", ".join(sorted(cast))} of float32 become float64, because {", ".join(given)} is: .astype("float32") is faster'
    return [text] if cast and given else []


def _row(i: int, instruction: Instruction, kernels: dict[str, int], depth: int) -> Row:
    flops, size = Cost(*cost(instruction))
    what = f"kernel {kernels[without_comments(instruction.source)]}" if instruction.source else instruction.kind
    node = instruction.node
    where = node.where.short if node is not None and node.where is not None else ""
    read = (source_of(x) for member in instruction.nodes for x in member.inputs)
    names = tuple(dict.fromkeys(x.name for x in read if x.op.leaf == "variable" and x.name))
    return Row(i, what, instruction.name, size, flops, instruction.chunks, where, names, depth)


def answer(plan: Plan, edges: Sequence[Edge], a: Any, b: Any) -> str:
    """Why two operations are not fused, or that they are. Raises ArgumentError for something that is not in the plan."""
    ends = []
    for what in (a, b):
        found = matching(plan, what)
        if not found:
            names = op_names(plan)
            raise ArgumentError(
                f"why_not: there is no operation {what!r} in this plan",
                f"name a value, a line such as 'model.py:12', the number of an instruction, or one of {', '.join(names[:12])}",
            )
        ends.append(set(found))
    between = [e for e in edges if e.producer in ends[0] and e.consumer in ends[1]]
    between = between if between else [e for e in edges if e.producer in ends[1] and e.consumer in ends[0]]
    kinds: dict[str, list[Edge]] = {}
    for edge in between:
        kinds.setdefault(f"{edge.ops}{edge.fused}{edge.reason}", []).append(edge)
    texts = [str(found[0]) + (f"\n  and {len(found) - 1} more like it" if len(found) > 1 else "") for found in kinds.values()]
    return "\n".join(texts) if texts else _apart(plan, ends[0], ends[1], a, b)


def _apart(plan: Plan, first: set[Any], second: set[Any], a: Any, b: Any) -> str:
    """What is said of operations of which neither reads the other."""
    import networkx as nx

    path = None
    for sources, targets in ((first, second), (second, first)):
        for source in list(sources)[:4]:
            below = nx.descendants(plan.ir.dag, source) & targets
            if below and path is None:
                path = nx.shortest_path(plan.ir.dag, source, min(below, key=plan.ir.nodes.index))
    if path is None:
        reasons = [
            str(d) for d in plan.decisions if {d.producer, d.consumer} & first and {d.producer, d.consumer} & second
        ]  # fmt: skip
        told = f": {reasons[0]}" if reasons else ", so a kernel of both would save no traffic"
        return f"neither of {a!r} and {b!r} reads the other{told}"
    names = [node.op.name for node in path]
    steps = " -> ".join(names if len(names) <= LONGEST_PATH else [*names[:3], f"{len(names) - 5} more", *names[-2:]])
    return f"{b!r} does not read {a!r} directly, but through {steps}: ask for two that follow each other"


# What differs between two plans: figures, instructions, kernels, fusion, rewrite rules.

MOST = 20
"""Lines of a section."""


@dataclass(repr=False)
class PlanDifference:
    """`print` it for a text. figures: (name, of the first plan, of the second one); instructions, rewrites: (text, count in the
    first plan, count in the second one) where the counts differ; fusion: the same for edges, with whether they are fused."""

    figures: list[tuple[str, int, int]]
    instructions: list[tuple[str, int, int]]
    fusion: list[tuple[str, int, int]]
    rewrites: list[tuple[str, int, int]]

    @property
    def same(self) -> bool:
        """Whether the plans do the same."""
        return not (self.instructions or self.fusion or self.rewrites) and all(a == b for _, a, b in self.figures)

    def as_dict(self) -> dict[str, Any]:
        """The difference as plain data."""
        return {name: [list(row) for row in rows] for name, rows in vars(self).items()}

    def __str__(self) -> str:
        if self.same:
            return "the plans are the same"
        lines = [f"{'':24s} {'first':>14s} {'second':>14s}"]
        lines += [f"{name:24s} {a:>14,d} {b:>14,d}{'' if a == b else f'  {b - a:+,d}'}" for name, a, b in self.figures]
        for title, rows in (("instructions", self.instructions), ("edges", self.fusion), ("rewrite rules", self.rewrites)):
            if rows:
                lines += ["", f"{title} (how many: first -> second)"]
                lines += [f"  {a:>4d} -> {b:<4d} {text}" for text, a, b in rows[:MOST]]
            if len(rows) > MOST:
                lines.append(f"  and {len(rows) - MOST} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = [*self.figures, *self.instructions, *self.fusion, *self.rewrites]
        return html_table("the difference of two plans", ("", "first", "second"), rows)


def difference(first: Plan, second: Plan) -> PlanDifference:
    """See `Plan.diff`."""
    a, b = explanation(first), explanation(second)
    figures = zip(_figures(first, a), _figures(second, b), strict=True)
    return PlanDifference(
        [(name, one, other) for (name, one), (_, other) in figures],
        _changed((f"{r.what.split()[0]} {r.name}" for r in a.rows), (f"{r.what.split()[0]} {r.name}" for r in b.rows)),
        _changed(_edges(a), _edges(b)),
        _changed((f"{rule} (at {op})" for rule, op in a.rewrites), (f"{rule} (at {op})" for rule, op in b.rewrites)),
    )


def _edges(of: Explanation) -> Iterable[str]:
    return (f"{e.ops} {'fused' if e.fused else f'not fused: {e.reason}'}" for e in of.edges)


def _figures(plan: Plan, of: Explanation) -> list[tuple[str, int]]:
    data = of.as_dict()
    return [
        ("operations", len(plan.ir.nodes)), ("instructions", len(plan.instructions)), ("generated kernels", plan.kernels),
        ("host calls", plan.host_calls), ("bytes of the arena", plan.memory[0]),
        ("bytes read and written", sum(r.bytes for r in of.rows)), ("flops", sum(r.flops for r in of.rows)),
        ("bytes saved by fusion", data["bytes_saved"]),
    ]  # fmt: skip


def _changed(first: Iterable[str], second: Iterable[str]) -> list[tuple[str, int, int]]:
    a, b = Counter(first), Counter(second)
    changed = [(text, a[text], b[text]) for text in dict.fromkeys([*a, *b]) if a[text] != b[text]]
    return sorted(changed, key=lambda row: -abs(row[1] - row[2]))
