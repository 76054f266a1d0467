"""`Comparison.to_html`: one file with the data, the scripts and the styles."""

from __future__ import annotations

import html
import itertools
import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ...compiler.execute.limits import limits
from ...ir import Graph, Node
from ...ir.text import outputs_of
from ...tracing.segments.inspection import joined, title_of
from ..comparison_text import finite
from ..grouping import by_kernel
from .pictures import Texts, picture
from .plans import plan_data, timed_limits

if TYPE_CHECKING:
    from ..comparison import Comparison, Mode

SCRIPTS = ("charts.js", "layout.js", "graph.js", "report.js")


def page(comparison: Comparison) -> str:
    """The text of the page."""
    assets = files(__package__)

    def asset(name: str) -> str:
        return assets.joinpath(name).read_text(encoding="utf-8")

    data = json.dumps(finite(page_data(comparison)), separators=(",", ":"), allow_nan=False)
    parts = {
        "title": html.escape(f"{comparison.function}: a comparison of modes"),
        "style": asset("report.css"),
        "data": data.replace("<", "\\u003c"),  # no end of the script inside it
        "script": "\n".join(asset(name) for name in SCRIPTS),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], asset("page.html"))


def page_data(comparison: Comparison) -> dict[str, Any]:
    """The figures, the graphs and the plan of the native mode, with the machine's limits."""
    texts = Texts()
    pictures = []
    planned = next((m for m in reversed(comparison.modes) if m.plan is not None), None)
    for mode in comparison.modes:
        if mode.graph is not None:
            name = "Eager tape" if mode.plan is None else "Define-then-run graph"
            pictures.append({"name": name, "mode": mode.name, **picture(mode.graph, texts, loss=_loss(mode.graph))})
    data: dict[str, Any] = {**comparison.as_dict(), "pictures": pictures, "plan": None}
    if planned is not None:
        plans, titles, whole = _native(planned, texts)
        pictures.append({"name": "Optimized graph with kernels", "mode": planned.name, **whole})
        machine = timed_limits(plans, limits())
        data["plan"] = {"mode": planned.name, **plan_data(plans, titles, machine, texts)}
        data["limits"] = {"flops": machine.flops, "bandwidth": machine.bandwidth}
    data["texts"] = list(texts.known)
    return data


def _native(mode: Mode, texts: Texts) -> tuple[list[Any], list[str], dict[str, Any]]:
    """The plans of a mode, one for each segment, with titles; and their drawing, which numbers the instructions of all."""
    planned = [(number, segment) for number, segment in enumerate(mode.segments) if segment.plan is not None]
    if not planned:
        plan: Any = mode.plan
        fetched = plan.builder.fetched_nodes
        _, kernels = by_kernel(plan)
        return [plan], [""], picture(plan.ir, texts, loss=fetched[0] if fetched else None, kernels=kernels)
    graph, places = joined(mode.segments)
    titles = {number: title_of(number, segment) for number, segment in planned}
    plans = [segment.plan for _, segment in planned]
    counts = [len(plan.instructions) for plan in plans]
    first = dict(zip(titles, itertools.accumulate(counts, initial=0), strict=False))
    kernels = {}
    for node, (number, i) in places.items():
        if i >= 0:
            row = mode.segments[number].plan.instructions[i]
            kernels[node] = f"{first[number] + i} {row.kind} {row.name}"
    homes = {node: titles[place.segment] for node, place in places.items()}
    return plans, list(titles.values()), picture(graph, texts, kernels=kernels, segments=homes)


def _loss(graph: Graph) -> Node | None:
    """The first result."""
    outputs = outputs_of(graph)
    return next(iter(outputs.values()), None)
