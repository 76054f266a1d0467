"""`draw`: a graph as a picture."""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .eager import Tensor, graph_of
from .errors import ArgumentError, GraphError, StaticgradError
from .files import replacing
from .ir import Graph
from .operators import Symbol
from .placement import LETTER, LINE, Box, Edge, place
from .printing import FILLS, backward_part, kind_of, outputs_of, to_dot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PICTURES = (".svg", ".png", ".pdf")
FONT: dict[str, Any] = {"family": "monospace", "fontsize": 7.5, "va": "center_baseline", "parse_math": False}
MARGIN, HEAD = 0.2, 0.35  # inches; HEAD is the height of the legend
DPI = 130
STROKES = {"value": "-", "shape": ":", "control": "--"}
MEANINGS = {
    "input": "input",
    "state": "variable",
    "constant": "constant",
    "op": "operation",
    "backward": "gradient",
    "effect": "effect",
}
"""What the legend says of `kind_of`."""


def draw(what: Any, path: Any = None, *, backward: bool | None = None) -> Any:
    """Draw a Graph, the tape behind eager tensors, or the graph behind symbols.

    what: a Graph, a tensor or symbol, or a sequence of them.
    path: where to write it, by its ending: .svg, .png or .pdf need matplotlib, .dot (Graphviz's text) does not. None
    returns a matplotlib Figure that belongs to no window: notebooks show it, `figure.savefig` writes it.
    backward: whether the gradients of a tensor are drawn too (as in `graph_of`); False leaves them out of a Graph.

    Each box names the node, its type, its attributes and the user's line; operands enter it from left to right, and
    constants of one element are written inside. Colours tell inputs, variables, operations, gradients, effects apart;
    results have a bold frame. Dotted edges hand over a shape only, dashed ones only order (control dependencies).
    Raises ArgumentError for another ending, StaticgradError when matplotlib is missing.
    """
    suffix = None if path is None else os.path.splitext(path)[1].lower()
    if suffix is not None and suffix not in (*PICTURES, ".dot"):
        raise ArgumentError(
            f"draw: can't write {os.fspath(path)!r}", f"the path must end in {', '.join(PICTURES)} or .dot"
        )
    graph = _graph(what, backward)
    if suffix == ".dot":
        text = to_dot(graph)
        with replacing(path) as file:
            file.write(text.encode())
        return None
    figure = _figure(graph)
    if suffix is None:
        return figure
    import matplotlib

    fixed = {"Date": None} if suffix == ".svg" else None
    picture = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "staticgrad"}):  # the same graph gives the same file
        figure.savefig(picture, format=suffix[1:], dpi=DPI, metadata=fixed)
    with replacing(path) as file:
        file.write(picture.getvalue())
    return None


def _graph(what: Any, backward: bool | None) -> Graph:
    if not isinstance(what, Graph):
        several = what if isinstance(what, Sequence) else (what,)
        if not several or not all(isinstance(item, (Tensor, Symbol)) for item in several):
            raise GraphError(f"draw needs a Graph, a tensor or a symbol, got {type(what).__name__}")
        return graph_of(*several, backward=backward)
    if backward is not False or not backward_part(what):
        return what
    cut = Graph()
    outputs = {name: node for name, node in outputs_of(what).items() if not name.startswith("grad/")}
    for node in what.reaching(outputs.values()):
        cut.append(node)
    cut.outputs = outputs
    return cut


def _figure(graph: Graph) -> Figure:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise StaticgradError(
            "draw needs matplotlib for .svg, .png and .pdf",
            'pip install matplotlib, or write a .dot file, which needs nothing more',
        ) from None
    boxes, edges = place(graph)
    backward = backward_part(graph)
    kinds = [kind_of(box.node, backward) for box in boxes if box.node is not None]
    legend = [kind for kind in MEANINGS if kind in kinds]
    places = [*boxes, *(box for edge in edges for box in edge.path)]
    right = max([box.x + box.width / 2 for box in places] + [sum(map(_legend_width, legend)), 1.0]) + MARGIN
    low = max([box.bottom for box in boxes] + [0.0]) + MARGIN
    figure = Figure(figsize=(right + MARGIN, low + HEAD + MARGIN))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(-MARGIN, right), ylim=(low, -HEAD - MARGIN))
    axes.set_axis_off()
    results = set(outputs_of(graph).values())
    for edge in edges:
        _draw_edge(axes, edge)
    for box, kind in zip(boxes, kinds, strict=True):
        _draw_box(axes, box, FILLS[kind], bold=box.node in results)
    _draw_legend(axes, legend)
    return figure


def _draw_box(axes: Axes, box: Box, fill: str, *, bold: bool) -> None:
    from matplotlib.patches import FancyBboxPatch

    frame = FancyBboxPatch(
        (box.x - box.width / 2, box.top),
        box.width,
        box.height,
        boxstyle="round,pad=0,rounding_size=0.05",
        facecolor=fill,
        edgecolor="#333333",
        linewidth=1.8 if bold else 0.7,
        zorder=2,
    )
    axes.add_patch(frame)
    for i, line in enumerate(box.lines):
        y = box.top + 0.05 + (i + 0.5) * LINE
        weight = "bold" if i == 0 else "normal"
        color = "#666666" if i >= len(box.lines) - box.places else "#000000"
        axes.text(box.x, y, line, ha="center", fontweight=weight, color=color, zorder=3, **FONT)


def _draw_edge(axes: Axes, edge: Edge) -> None:
    """A line that is straight down inside a layer and swings over between layers."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    target = edge.path[-1]
    points = [(edge.path[0].x, edge.path[0].bottom)]
    for box in edge.path[1:-1]:
        points += [(box.x, box.top), (box.x, box.bottom)]
    points.append((target.x + edge.port * target.width, target.top))
    vertices, codes = [points[0]], [Path.MOVETO]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y0 + y1) / 2
        vertices += [(x0, middle), (x1, middle), (x1, y1)]
        codes += [Path.CURVE4] * 3
    arrow = FancyArrowPatch(
        path=Path(vertices, codes),
        arrowstyle="-|>",
        mutation_scale=7,
        linewidth=0.8,
        color="#777777",
        linestyle=STROKES[edge.kind],
        shrinkA=0,
        shrinkB=0,
        zorder=1,
    )
    axes.add_patch(arrow)


def _legend_width(kind: str) -> float:
    return len(MEANINGS[kind]) * LETTER + 0.35


def _draw_legend(axes: Axes, legend: list[str]) -> None:
    from matplotlib.patches import Rectangle

    x, y = 0.0, -HEAD
    for kind in legend:
        axes.add_patch(Rectangle((x, y - 0.06), 0.14, 0.12, facecolor=FILLS[kind], edgecolor="#333333", linewidth=0.5))
        axes.text(x + 0.2, y, MEANINGS[kind], **FONT)
        x += _legend_width(kind)
