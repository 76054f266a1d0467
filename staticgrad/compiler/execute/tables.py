"""Figures and tables for people: sizes in bytes, tables in HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

CELL = "text-align:left;padding:2px 10px;font-variant-numeric:tabular-nums"


def size_text(size: float) -> str:
    """Bytes with a unit: `4.2 MB`."""
    for unit in ("B", "kB", "MB"):
        if size < 1000 or (unit == "B" and size < 10_000):
            return f"{size:,.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table for notebooks."""
    titles = "".join(f'<th scope="col" style="{CELL}">{html.escape(title)}</th>' for title in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{html.escape(str(cell))}</td>' for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<table><caption style="text-align:left">{html.escape(caption)}</caption>'
        f"<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
    )
