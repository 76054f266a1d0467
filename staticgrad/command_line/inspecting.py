"""`compare`, `explain`, `draw`, `profile` of a function in a file, `run` of an exported step, `replay` of recorded programs."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from .programs import Misuse, array_file, array_of, inputs_of, output_file, pairs, subject


def compare(given: Namespace) -> int:
    """Print the comparison of all modes. 1 where they disagree, or one could not be run."""
    from ..viz.compare import compare as compared

    output_file(given.html, "--html")
    fn, module = subject(given.program)
    inputs = inputs_of(fn, module, given.inputs, given.shapes, given.seed)
    more: dict[str, Any] = {"repeats": given.repeats}
    twins = pairs(given.peer, "--peer")
    if unknown := [twin for twin in twins.values() if not hasattr(module, twin)]:
        raise Misuse(f"the file defines no {unknown[0]!r}, which --peer names")
    if twins:
        more["peers"] = {name: getattr(module, twin) for name, twin in twins.items()}
    report: Any = compared(fn, *(inputs if inputs is not None else ()), **more)
    if given.html:
        report.to_html(given.html)
    print(json.dumps(report.as_dict(), default=str) if given.json else report)
    return 0 if report.ok and report.agree() else 1


def explain(given: Namespace) -> int:
    """Print why the plan is what it is."""
    from ..viz.subjects import explain as explained

    fn, module = subject(given.program)
    inputs = inputs_of(fn, module, given.inputs, given.shapes, given.seed)
    ends = [int(x) if x.isdigit() else x for x in given.why_not or ()]
    why_not = (ends[0], ends[1]) if ends else None
    found = explained(fn, inputs=inputs, detail=given.detail, why_not=why_not)
    print(found.to_json() if given.json else found)
    return 0


def draw(given: Namespace) -> int:
    """Draw the graph to a file, or print it as text."""
    from ..viz.draw import check_path
    from ..viz.draw import draw as drawn
    from ..viz.subjects import to_text

    output_file(given.output, "--output")
    check_path(given.output)
    fn, module = subject(given.program)
    inputs = inputs_of(fn, module, given.inputs, given.shapes, given.seed)
    if given.output is None:
        print(to_text(fn, inputs=inputs, stage=given.stage))
        return 0
    if given.stage is not None:
        from ..viz.subjects import graph_meant

        fn, inputs = graph_meant(fn, "draw", inputs=inputs, stage=given.stage), None
    drawn(fn, given.output, group=None if given.group == "none" else given.group, inputs=inputs)
    print(f"{given.output}: {Path(given.output).stat().st_size:,d} bytes")
    return 0


def profile(given: Namespace) -> int:
    """Print the time of each instruction, or write a trace."""
    from ..viz.subjects import profile as profiled

    output_file(given.trace, "--trace")
    fn, module = subject(given.program)
    found = profiled(fn, inputs=inputs_of(fn, module, given.inputs, given.shapes, given.seed), repeats=given.repeats)
    print(json.dumps(found.as_dict()) if given.json else found)
    if given.trace:
        found.export_chrome_trace(given.trace)
        print(f"{given.trace}: open it at https://ui.perfetto.dev", file=sys.stderr)
    return 0


def run(given: Namespace) -> int:
    """Run an exported step on arrays from files, or on random ones."""
    output_file(given.output, "--output")
    step = exported(Path(given.folder))
    files = {name: array_file(path) for name, path in pairs(given.input, "--input").items()}
    names = [name for name, _, _ in step.inputs]
    if unknown := [name for name in files if name not in names]:
        raise Misuse(f"the step has no input {unknown[0]!r}: its inputs are {', '.join(names) or 'none'}")
    rng = np.random.default_rng(given.seed)
    arrays = [
        files[name] if name in files else array_of(f"{'x'.join(map(str, shape)) or 'scalar'}:{dtype}", rng)
        for name, shape, dtype in step.inputs
    ]
    begin, result = time.perf_counter(), None
    for _ in range(given.repeat):
        result = step(*arrays)
    seconds = time.perf_counter() - begin
    values = result if isinstance(result, tuple) else (result,)
    for (name, shape, dtype), value in zip(step.results, values, strict=True):
        print(f"{name}  {dtype}{list(shape)}  {np.array2string(np.asarray(value), threshold=8, precision=6)}")
    drawn = [name for name in names if name not in files]
    note = f", on random {', '.join(drawn)}" if drawn else ""
    print(f"{given.repeat} run{'s' if given.repeat > 1 else ''} in {seconds * 1e3:.2f} ms{note}", file=sys.stderr)
    if given.output:
        np.savez(given.output, **{name: value for (name, _, _), value in zip(step.results, values, strict=True)})
    if given.save:
        step.save()
    return 0


def exported(folder: Path) -> Any:
    """The step of a package that `plan.export` wrote. Raises Misuse where the folder has none."""
    if not (folder / "plan.json").is_file():
        raise Misuse(f"{folder} is no exported step: plan.export(folder) writes one, with a plan.json in it")
    name = "exported_step"
    spec = importlib.util.spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    for known in [other for other in sys.modules if other == name or other.startswith(f"{name}.")]:
        del sys.modules[known]
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.load()


# replay ---------------------------------------------------------------------------------------------------------------


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
    from ..interchange.graph_json import Recorded, random_of
    from ..ir.graph import interpret
    from ..viz.comparison import difference, excess, floor, largest

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
