"""What a loop does again and again although it need not."""

from __future__ import annotations

from .loop_draft import Draft


def improve(draft: Draft) -> None:
    pass
