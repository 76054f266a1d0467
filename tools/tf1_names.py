"""Write `docs/tf1_names.md`: TensorFlow 1's public names, and where each stands in `staticgrad.compat.tf1`.

    python -m tools.tf1_names

The names are those of `tf.compat.v1` of TensorFlow 2.x (`tools/tf1_names.json`), without modules.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import staticgrad.compat.tf1 as tf
from staticgrad.compat.tf1.names import REFUSED, REFUSED_NAMES, remedy

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tf1_names.md"
NAMES = Path(__file__).with_name("tf1_names.json")


def standing(space: Any, name: str) -> str:
    """ "works", or what to write instead; "" for a name that is missing."""
    if space is not None and hasattr(space, name):
        return "works"
    return remedy(name)


def _space(path: str) -> Any:
    found: Any = tf
    for part in path.split(".")[1:]:
        found = getattr(found, part, None)
    return found


def page() -> str:
    lists: dict[str, list[str]] = json.loads(NAMES.read_text(encoding="utf-8"))
    rows, details = [], []
    for path, names in lists.items():
        space = _space(path)
        found = {name: standing(space, name) for name in names}
        works = [n for n, s in found.items() if s == "works"]
        refused = [n for n, s in found.items() if s not in ("works", "")]
        missing = [n for n, s in found.items() if not s]
        rows.append(f"| `{path}` | {len(names)} | {len(works)} | {len(refused)} | {len(missing)} |")
        details.append(
            f"## `{path}`\n\nWorks: {_listed(works)}\n\nRefused: {_listed(refused)}\n\nMissing: {_listed(missing)}\n"
        )
    kinds = "\n".join(f"- {kind}: {remedy}." for kind, (_, remedy) in (REFUSED | REFUSED_NAMES).items())
    return "\n".join([
        "# TensorFlow 1's names", "", "<!-- Written by `python -m tools.tf1_names`. -->", "",
        "Names of `tf.compat.v1`, and which of them `staticgrad.compat.tf1` has. Refused are names of things that don't exist",
        "here; missing are all others, for which the dialect raises an AttributeError that names the nearest.", "",
        "| namespace | names | work | refused | missing |", "|---|---:|---:|---:|---:|", *rows, "",
        "What to write instead of refused names:", "", kinds, "", *details,
    ])  # fmt: skip


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{n}`" for n in names) if names else "none"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
