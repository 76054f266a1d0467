"""What differs between two plans: figures, instructions, kernels, fusion, rewrite rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .explanation import Explanation, explanation
from .tables import html_table

if TYPE_CHECKING:
    from .plan import Plan

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
        ("operations", len(plan.ir.nodes)),
        ("instructions", len(plan.instructions)),
        ("generated kernels", plan.kernels),
        ("host calls", plan.host_calls),
        ("bytes of the arena", plan.memory[0]),
        ("bytes read and written", sum(r.bytes for r in of.rows)),
        ("flops", sum(r.flops for r in of.rows)),
        ("bytes saved by fusion", data["bytes_saved"]),
    ]


def _changed(first: Iterable[str], second: Iterable[str]) -> list[tuple[str, int, int]]:
    a, b = Counter(first), Counter(second)
    changed = [(text, a[text], b[text]) for text in dict.fromkeys([*a, *b]) if a[text] != b[text]]
    return sorted(changed, key=lambda row: -abs(row[1] - row[2]))
