"""Write the names of PyTorch's modules that this library lacks, and the tree of its paths: `python -m tools.torch_paths`.

It needs PyTorch. `staticgrad/namespaces/lookup/unavailable.txt` has the names, which programs may import,
`tools/torch_paths.json` the paths for the table in `docs/torch_coverage.md`.
"""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import staticgrad as sg
from staticgrad.namespaces.lookup.paths import PATHS

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "staticgrad" / "namespaces" / "lookup" / "unavailable.txt"
TREE = Path(__file__).with_name("torch_paths.json")
UNBUILT = {"distributed.rpc"}
"""Packages of which PyTorch has only `is_available` where it is built without them."""
PRIVATE = ("nn.", "optim.", "utils.", "distributions.", "autograd.")
"""Packages whose private names other packages import. Elsewhere they ask for those that there are, and have another way."""


def names() -> dict[str, list[str]]:
    """PyTorch's names by path."""
    found: dict[str, list[str]] = {}
    for path in ["", *sorted({*PATHS} - UNBUILT)]:
        try:
            module = importlib.import_module(f"torch.{path}".rstrip("."))
        except ImportError:
            continue
        found[path] = [name for name, value in {**vars(module)}.items() if _counts(module, path, name, value)]
    return found


def _counts(module: Any, path: str, name: str, value: Any) -> bool:
    private = name.startswith("_") and (name.startswith("__") or not path.startswith(PRIVATE))
    if private or isinstance(value, (types.ModuleType, str)) or path.startswith("_C"):
        return False
    if path and name not in getattr(module, "__all__", ()):
        return getattr(value, "__module__", None) == f"torch.{path}"
    kind = value if inspect.isclass(value) or callable(value) else type(value)
    return str(getattr(kind, "__module__", None) or "torch").startswith("torch")


def _lacking(tree: dict[str, Any], package: str) -> Iterator[str]:
    """The paths that the table lacks, without those below them."""
    for name, below in tree.items():
        path = f"{package}.{name}".lstrip(".")
        if path in UNBUILT:
            continue
        if path in PATHS or any(other.startswith(f"{path}.") for other in PATHS):
            yield from _lacking(below, path)
        elif not name.startswith("__"):
            yield path


def write() -> None:
    """Write both files."""
    code = "import json, tools.torch_paths as t; print(json.dumps(t.names()))"
    listed = json.loads(
        subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True).stdout
    )
    lines = []
    with sg.as_torch(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path, found in listed.items():
            module: Any = importlib.import_module(f"torch.{path}".rstrip("."))
            lacking = sorted(
                name for name in found if not hasattr(module, name) or type(getattr(module, name)).__name__ == "Absent"
            )
            if lacking:
                lines.append(f"{path}: {' '.join(lacking)}\n")
    import torch

    folder = Path(torch.__file__).parent
    files = sorted({*folder.rglob("*.py")} | {*folder.rglob("*.so")})
    paths = {
        ".".join(f.relative_to(folder).with_suffix("").parts).split(".cpython")[0].removesuffix("__init__").rstrip(".")
        for f in files
    }
    tree: dict[str, Any] = {}
    for path in sorted(p for p in paths if p and not p.startswith(("lib.", "bin.", "include."))):
        inner = tree
        for part in path.split("."):
            inner = inner.setdefault(part, {})
    lacking = sorted({*_lacking(tree, ""), "classes", "ops"})
    TARGET.write_text("".join([*lines, f"*: {' '.join(lacking)}\n"]), encoding="utf-8")
    TREE.write_text(json.dumps(tree, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
