"""Programs in PyTorch's dialect: their source with our imports or PyTorch's, and what it defines."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"


def source(path: Path, library: str) -> str:
    """The text of a program, for "staticgrad" as it is, for "torch" with its imports changed."""
    text = path.read_text(encoding="utf-8")
    if library == "staticgrad":
        return text
    changed = [
        re.sub(r"\bstaticgrad\b", library, line.replace("import staticgrad as torch", f"import {library}"))
        if re.match(r"(import|from) staticgrad\b", line)
        else line
        for line in text.split("\n")
    ]
    return "\n".join(changed)


def load(path: Path, library: str) -> dict[str, Any]:
    """The names that a program defines. Modules beside it are found while it is loaded."""
    scope: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    sys.path.insert(0, str(path.parent))
    try:
        exec(compile(source(path, library), str(path), "exec"), scope)
    finally:
        sys.path.remove(str(path.parent))
    return scope
