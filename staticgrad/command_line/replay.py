"""`replay`: compile and run recorded programs again, beside NumPy."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import numpy as np

from .programs import Misuse


def replay(given: Namespace) -> int:
    """A line for each file of `STATICGRAD_RECORD`. 1 where a program fails, or its plan and NumPy disagree."""
    place = Path(given.folder)
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    if not files or not files[0].is_file():
        raise Misuse(f"{given.folder} has no recorded programs: STATICGRAD_RECORD={given.folder} python program.py writes them")
    found = {file.name: outcome(file, given.seed) for file in files}
    for name, text in found.items():
        print(f"{name}: {text}")
    return int(any(text.startswith(("failed", "DISAGREES")) for text in found.values()))


def outcome(file: Path, seed: int) -> str:
    """What becomes of a program."""
    from ..interchange.recording import Recorded, random_of
    from ..ir.graph import interpret
    from ..viz.differences import difference, excess, floor, largest

    recorded = Recorded(file)
    if recorded.graph is None:
        return f"not recorded: {recorded.why}"
    rng = np.random.default_rng(seed)
    try:
        program, feeds = recorded.program()
        arrays = recorded.arrays(feeds, rng)
        leaves = {node: node.attrs["cell"] for node in recorded.graph.nodes if node.op.leaf == "variable"}
        store = {cell: random_of(cell.type, rng) for cell in leaves.values()}
        before = {node: store[cell].copy() for node, cell in leaves.items()}
        results = [*program.run(arrays, store), *(store[cell] for cell, _ in program.prepared.assigns)]
    except Exception as error:
        return f"failed: {type(error).__name__}: {error} (recorded: {recorded.outcome})"
    plan = program.plan(*arrays)
    told = f"{len(plan.instructions)} instructions, recorded by {recorded.version}: {recorded.outcome}"
    if any(node.op.leaf == "generator" for node in recorded.graph.nodes):
        return f"runs; it draws random numbers, so it is not compared ({told})"
    wanted = program.prepared.results
    values = interpret(recorded.graph, wanted, {**before, **dict(zip(feeds, arrays, strict=True))})
    scale = largest([values[node] for node in wanted])
    worst = 0.0
    for node, result in zip(wanted, results, strict=True):
        apart = difference("", np.asarray(result), values[node], "value")
        apart.floor = floor(values[node].dtype, scale)
        worst = max(worst, excess(apart))
    return f"{'agrees with NumPy' if worst <= 1 else 'DISAGREES with NumPy'} ({told})"
