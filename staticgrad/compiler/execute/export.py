"""`plan.export(folder)`: a plan as a Python package that runs without this one, on NumPy and llvmlite.

The package holds the generated kernels as they are, the kernels of this package that the plan calls, the language that both are
written in, the program as a table, and the values of its variables.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.types import TupleType
from ...errors import ArgumentError, UninitializedError
from ..backend import kernel_cache
from ..backend.abi import COUNT, ENTER, EXIT, GO, HEAD, MAX_BUFFERS, REPEAT, REVERSE, UNLESS, N
from ..lower.instructions import Buffer, Instruction, Place
from . import exported_engine
from .explain import overview

if TYPE_CHECKING:
    from .plan import Plan

LANGUAGE = Path(kernel_cache.__file__).parent
SHARED = (
    "code_generation.py", "cpu.py", "dialect.py", "kernel_compiler.py",
    "kernel_types.py", "llvm.py",
    *(f"elementary/{path.name}" for path in sorted((LANGUAGE / "elementary").glob("*.py"))),
)  # fmt: skip
"""The modules of the kernels' language, by their paths in `backend/`."""
MOVING = -1
"""The region of a place that moves with the iterations of a loop."""
ABI = '"""Facts about the memory that kernels are called with."""\n\nMAX_BUFFERS = {}\n"""The most buffers of a kernel."""\n'
PACKAGE = '''\
"""A compiled step, exported by staticgrad {version}. It needs NumPy and llvmlite.

    import {name}
    trained = {name}.load()
    result = trained({inputs})
"""

from .engine import Step


def load() -> Step:
    """The step, with variables as they were exported. Its kernels are compiled now."""
    return Step()
'''


def export(plan: Plan, folder: str | os.PathLike[str], results: int | None = None) -> Path:
    """See `Plan.export`."""
    target = Path(folder)
    if target.exists() and not (target / "plan.json").exists() and any(target.iterdir() if target.is_dir() else [target]):
        raise ArgumentError(f"export: {target} exists and is no exported step", "name a new or empty folder")
    _check(plan)
    table, values, files = plan.alone(_written, plan, results)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".export") as whole:
        _write(Path(whole) / "step", plan, table, values, files, target.name)
        if target.exists():
            shutil.rmtree(target)
        os.replace(Path(whole) / "step", target)
    return target


ABSENT = (
    ("lapack", "calls SciPy's LAPACK", "compute it outside of the step"),
    ("matrix_products", "computes products", "write attention as products and a softmax"),
)
"""Modules of `backend/intrinsics/` that packages are without."""


def _check(plan: Plan) -> None:
    """Raises ArgumentError for a plan that needs this package, UninitializedError for one without variables."""
    called = [each for each in plan.instructions if each.kind == "host"]
    if any(each.node is not None and isinstance(each.node.type, TupleType) for each in called):  # a program of its own
        raise ArgumentError(
            "export: extents of the step are decided by its values, and the memory of a package has sizes that are known",
            "export what comes before the selection, and what follows for a known number of elements",
        )
    hosts = sorted({each.name for each in called})
    if hosts:
        raise ArgumentError(
            f"export: there is no native code for {', '.join(hosts)}, and NumPy's meaning of it is part of this package",
            "compute it outside of the step, or by operations with native code",
        )
    # of a stored plan, the node is what tells the source of the code
    native = [(each.name, each.code) for each in plan.instructions if each.node is not None and each.code is not None]
    users = sorted({name for name, code in native if not code.wanted.text})
    if users:
        raise ArgumentError(
            f"export: {', '.join(users)} calls a function of Numba's, which is compiled where it is defined",
            "compute it outside of the step; kernels take functions of numbers that raise nothing",
        )
    for module, what, instead in ABSENT:
        names = sorted({name for name, code in native if f"intrinsics.{module}" in code.wanted.text})
        if names:
            where = f"export: {', '.join(names)} {what} inside of its native code"
            raise ArgumentError(f"{where}, which packages don't have", instead)
    if len(plan.bound) < len(plan.builder.cells):
        raise UninitializedError("export: the plan has no variables before its first run", "run it once")


class _Table:
    """The regions of a plan, and the places of its buffers in them."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.regions: list[dict[str, Any]] = [{"kind": "arena", "bytes": plan.memory[0], "value": ""}]
        self.values: dict[str, np.ndarray] = {}
        self.known: dict[Any, int] = {}

    def region(self, key: Any, kind: str, size: int, value: np.ndarray | None = None, name: str = "") -> int:
        """The number of a region, made when it is first asked for. value: what it holds at the start."""
        if key not in self.known:
            self.known[key] = len(self.regions)
            if value is not None:
                self.values[name] = np.array(value)
            self.regions.append({"kind": kind, "bytes": size, "value": name if value is not None else ""})
        return self.known[key]

    def place(self, place: Place) -> list[int]:
        """(region, offset in bytes) of a place in a buffer; (MOVING, 0) for one that a loop moves."""
        buffer, add = place
        while buffer.base is not None and buffer.loop is None:
            buffer, add = buffer.base, add + (buffer.offset if buffer.kind == "part" else 0)
        if buffer.loop is not None or buffer.kind == "stack":
            return [MOVING, 0]
        number, offset = self._root(buffer)
        return [number, offset + add]

    def _root(self, buffer: Buffer) -> tuple[int, int]:
        if buffer.kind == "arena":
            return 0, buffer.offset
        if buffer.kind in ("feed", "output"):
            return self.region((buffer.kind, buffer.index), buffer.kind, buffer.nbytes), 0
        memory = buffer.memory
        assert memory is not None
        if buffer.kind == "state":
            return self.region(buffer, "state", buffer.nbytes, memory, self.names[buffer]), 0
        builder = self.plan.builder
        for kind, array in (
            ("arguments", builder.argument_values), ("generator", builder.generator_state), ("status", self.plan.status),
        ):  # fmt: skip
            if np.shares_memory(memory, array):
                number = self.region(kind, kind, array.nbytes, array if kind == "generator" else None, kind)
                return number, memory.ctypes.data - array.ctypes.data
        for loop in builder.stream.loops:
            if np.shares_memory(memory, loop.words):
                return self.region(("counter", id(loop.words)), "counter", memory.nbytes), 0
        filled = memory if memory.size and memory.any() else None
        return self.region(id(memory), "constant", memory.nbytes, filled, f"constant.{len(self.regions)}"), 0

    @property
    def names(self) -> dict[Buffer, str]:
        """The name of each variable, made unique."""
        found: dict[Buffer, str] = {}
        for cell in self.plan.builder.cells:
            name, n = cell.name or "variable", 1
            while name in found.values():
                name, n = f"{cell.name or 'variable'}_{n}", n + 1
            found[self.plan.builder.cell_buffers[cell]] = name
        return found


def _written(plan: Plan, results: int | None) -> tuple[dict[str, Any], dict[str, np.ndarray], dict[str, str]]:
    """The table of a plan, the values of its variables and constants, and the texts of its kernels by file."""
    plan.read_numbers()
    plan.give_back()
    table, files = _Table(plan), dict[str, str]()
    rows = [_instruction(table, i, each, files) for i, each in enumerate(plan.instructions)]
    _complete_loops(plan, table, rows)
    inputs = []
    for i, node in enumerate(plan.feeds):
        number = table.region(("feed", i), "feed", node.type.nbytes)
        inputs.append(
            {"name": node.name or f"input{i}", "shape": list(node.type.shape), "dtype": str(node.type.dtype), "region": number}
        )
    names = table.names
    state = [
        {"name": names[buffer], "shape": list(buffer.shape), "dtype": str(buffer.dtype), "region": table.place((buffer, 0))[0]}
        for buffer in names
    ]
    keys = [str(key) for _, key in plan.arguments]
    arguments = {
        key if keys.count(key) == 1 else f"{key}.{i}": float(plan.builder.argument_values[i]) for i, key in enumerate(keys)
    }
    found = {
        "format": exported_engine.FORMAT, "inputs": inputs,
        "results": [_result(table, i, buffer) for i, buffer in enumerate(plan.fetches[:results])],
        "state": state, "arguments": arguments, "draws": plan.draws, "stacks": len(plan.builder.stream.stacks),
        "regions": table.regions, "instructions": rows,
    }  # fmt: skip
    return found, table.values, files


def _result(table: _Table, i: int, buffer: Buffer) -> dict[str, Any]:
    layout, size = buffer.layout, buffer.dtype.itemsize
    region, offset = table.place((buffer, 0))
    strides = None if layout is None else [step * size for step in layout.strides]
    offset += 0 if layout is None else layout.offset * size
    shape = list(buffer.shape if layout is None else layout.shape)
    return {
        "name": f"result{i}", "shape": shape, "dtype": str(buffer.dtype), "region": region, "offset": offset,
        "strides": strides,
    }  # fmt: skip


def _instruction(table: _Table, i: int, each: Instruction, files: dict[str, str]) -> dict[str, Any]:
    node = each.node
    row: dict[str, Any] = {
        "kind": CONTROL.get(each.control, "product" if each.kind == "gemm" else each.kind),
        "name": each.name,
        "where": "" if node is None or node.where is None else node.where.short,
        "places": [table.place(place) for place in each.buffers],
    }
    if each.kind == "shards":  # one after the other: they follow the instruction that jumps over them
        return {**row, "kind": "go", "to": i + 2}
    if each.control in (GO, UNLESS):
        return {**row, "to": int(each.size_array[0])}
    if each.control:
        return row
    row["sizes"] = each.size_array.tolist()
    if each.kind == "gemm":
        return {**row, "dtype": str(each.buffers[2][0].dtype), "start": each.start, "stop": each.stop}
    assert each.code is not None
    wanted = each.code.wanted
    text = wanted.text
    code = kernel_cache.without_comments(text)
    file = next((name for name, known in files.items() if kernel_cache.without_comments(known) == code), "")
    if not file:
        file = f"kernel_{sum(known.startswith('kernel_') for known in files)}" if each.source else wanted.name
        files[file] = text
    return {**row, "file": file, "function": wanted.name, "start": each.start, "stop": each.stop, "check": each.check}


CONTROL = {ENTER: "enter", REPEAT: "repeat", UNLESS: "unless", GO: "go"}


def _complete_loops(plan: Plan, table: _Table, rows: list[dict[str, Any]]) -> None:
    """The facts of loops, which name other instructions by number."""
    loops = {id(loop.words): loop for loop in plan.builder.stream.loops}
    pointers = {
        each.pointers.ctypes.data + 8 * j: (i, j)
        for i, each in enumerate(plan.instructions)
        if each.control != REPEAT
        for j in range(len(each.buffers))
    }
    stacks = {words.ctypes.data: n for n, words in enumerate(plan.builder.stream.stacks.values())}
    entered: dict[int, int] = {}
    for i, (each, row) in enumerate(zip(plan.instructions, rows, strict=True)):
        if each.control == REPEAT:
            row["loop"] = entered[id(each.size_array)]
        if each.control != ENTER:
            continue
        entered[id(each.size_array)] = i
        loop = loops[id(each.size_array)]
        words = {name: int(loop.words[at // 8]) for name, at in WORDS.items()}
        row |= words | {"reverse": bool(words["reverse"])}
        row["moves"] = [[*pointers[address], number, size, add] for address, number, size, add in loop.moves]
        row["growing"] = [[number, stacks[address], size, fills] for number, address, size, fills in loop.growing]
        row["counter"] = table.known.get(("counter", id(loop.words)), -1)


WORDS = {"length": N, "count": COUNT, "reverse": REVERSE, "exit": EXIT, "head": HEAD}
"""The facts of a loop by their offsets in its state."""


def _write(
    to: Path, plan: Plan, table: dict[str, Any], values: dict[str, np.ndarray], files: dict[str, str], name: str
) -> None:
    """Write the files of the package."""
    from ... import __version__

    (to / "kernels").mkdir(parents=True)
    texts = [_kernel_text(text) for text in files.values()]
    for file, text in zip(files, texts, strict=True):
        (to / "kernels" / f"{file}.py").write_text(text, encoding="utf-8")
    (to / "kernels" / "__init__.py").write_text('"""The kernels, one file each."""\n', encoding="utf-8")
    _write_language(to / "language", texts)
    shutil.copy(exported_engine.__file__, to / "engine.py")
    (to / "plan.json").write_text(_listed(table), encoding="utf-8")
    exported_engine.write_safetensors(to / "weights.safetensors", values)
    package = name if name.isidentifier() else "step"
    inputs = ", ".join(row["name"] for row in table["inputs"])
    (to / "__init__.py").write_text(PACKAGE.format(name=package, inputs=inputs, version=__version__), encoding="utf-8")
    (to / "README.md").write_text(_readme(plan, table, package), encoding="utf-8")


def _kernel_text(text: str) -> str:
    """The source of a kernel, with imports from the package's own language."""
    return re.sub(r"\bstaticgrad\.compiler\.backend\b", "..language", kernel_cache.header(text) + text)


def _write_language(to: Path, texts: Sequence[str]) -> None:
    needed = {name for text in texts for name in re.findall(r"language\.intrinsics\.(\w+)", text)}
    while True:  # modules that these import
        read = (LANGUAGE / "intrinsics" / f"{name}.py" for name in needed)
        more = {name for path in read for name in re.findall(r"(?m)^from \.(\w+) import", path.read_text(encoding="utf-8"))}
        if more <= needed:
            break
        needed |= more
    for name in (*SHARED, *(f"intrinsics/{name}.py" for name in sorted(needed))):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(LANGUAGE / name, to / name)
    (to / "__init__.py").write_text('"""The language of the kernels: staticgrad\'s, as it is."""\n', encoding="utf-8")
    if needed:
        (to / "intrinsics" / "__init__.py").write_text('"""Instructions that few kernels need."""\n', encoding="utf-8")
    (to / "abi.py").write_text(ABI.format(MAX_BUFFERS), encoding="utf-8")
    loading = Path(__file__).with_name("exported_machine_code.py").read_text(encoding="utf-8")
    (to / "object_code.py").write_text(loading.replace("from ..backend.", "from ."), encoding="utf-8")


def _listed(table: dict[str, Any]) -> str:
    """JSON with one instruction, region or value a line."""
    parts = []
    for key, value in table.items():
        if isinstance(value, list):
            rows = ",\n  ".join(json.dumps(row) for row in value)
            parts.append(f'"{key}": [\n  {rows}\n]' if value else f'"{key}": []')
        else:
            parts.append(f'"{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _readme(plan: Plan, table: dict[str, Any], package: str) -> str:
    def listed(rows: list[dict[str, Any]]) -> str:
        return "\n".join(f"- `{row['name']}`: {row['dtype']}{row['shape']}" for row in rows) or "- none"

    arguments = "\n".join(f"- `{name}` = {value:g}" for name, value in table["arguments"].items()) or "- none"
    return f"""\
# A compiled step

Exported by staticgrad, and independent of it: `pip install numpy llvmlite` is all it needs.

```python
import {package}

trained = {package}.load()   # the first time, it compiles the kernels
result = trained({", ".join(row["name"] for row in table["inputs"])})
trained.save()         # writes the variables to weights.safetensors
```

`python -m staticgrad run {package}/` runs it where staticgrad is installed.

## Inputs
{listed(table["inputs"])}

## Results
{listed(table["results"])}

## Variables (`trained.state`, changed in place by a run)
{listed(table["state"])}

## Hyper-parameters (`trained.arguments`, which may be assigned)
{arguments}

## Files
- `plan.json`: the program, one instruction a line: a kernel, the places in memory that it reads and writes, its extents
- `kernels/`: the generated kernels and the routines that the program calls
- `language/`: what the kernels are written in
- `weights.safetensors`: variables and constants
- `machine_code/`: compiled kernels of this machine, made when they are missing
- `engine.py`: runs the program; matrix products are NumPy's, so results agree with staticgrad's to rounding

```
{overview(plan)}
```
"""
