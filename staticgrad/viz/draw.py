"""`draw`: a graph as a picture."""

from __future__ import annotations

import io
import itertools
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base.files import replacing
from ..base.interpreter import MissingExtra
from ..errors import ArgumentError
from ..ir import Graph, Node
from ..ir.text import FILLS, backward_part, kind_of, outputs_of, to_dot
from .placement import LETTER, LINE, Box, Edge, Group, automatic, boxes, by_module, groups_of, inside_of, place, titles
from .subjects import called, compiled_of, kernels_of, made_plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PICTURES = (".svg", ".png", ".pdf")
FONT: dict[str, Any] = {"family": "monospace", "fontsize": 7.5, "va": "center_baseline", "parse_math": False}
MARGIN, HEAD = 0.2, 0.35  # inches; HEAD is the height of the legend
DPI = 130
PIXELS = 30e6
"""Pixels of a .png at the most: fewer dots per inch for a larger picture."""
MANY, MOST = 150, 300
"""Nodes from which on they are drawn in groups, unless told otherwise; boxes of a picture at the most."""
INCHES = 150
"""The longer side of a picture at the most."""
ADVICE = (
    'leave group out: group="auto" draws fewer boxes',
    "draw a part: a tensor further inside, or backward=False",
    "write all of it: a .dot file, sg.to_graphml, or sg.to_text",
)
GROUPINGS = ("auto", "module", "kernel", None)
STROKES = {"value": "-", "shape": ":", "control": "--"}
MEANINGS = {
    "input": "input",
    "state": "variable",
    "constant": "constant",
    "op": "operation",
    "backward": "gradient",
    "effect": "effect",
}
"""The legend's text for each result of `kind_of`."""


def draw(
    what: Any, path: str | os.PathLike[str] | None = None, *, backward: bool | None = None, group: str | None = "auto",
    inputs: Sequence[Any] | None = None,
) -> Figure | None:  # fmt: skip
    """Draw a Graph, the tape of eager tensors, the graph of symbols, or the plan of a compiled function.

    what: a Graph, a tensor or symbol, or a sequence of them; a compiled function that was called, a session, or a plan; a
    module or function with its `inputs`.
    path: where to write it, by its ending: .svg, .png or .pdf need matplotlib, .dot (Graphviz's text) does not. None
    returns a matplotlib Figure that belongs to no window: notebooks show it, `figure.savefig` writes it.
    backward: whether the gradients of a tensor are drawn too (as in `graph_of`); False leaves them out of a Graph.
    group: "module" draws the ops that use the parameters of one module (by the dots or slashes in their names), or stand on
    one line, as one box with the number of its nodes and the types of its outputs; "kernel", of a compiled function,
    the nodes of one instruction of the plan; None every node, up to 300 of them. "auto": by kernel for a compiled function;
    else by module from 150 nodes on, with outer modules or runs of nodes where that leaves too many boxes. A .dot file has all
    nodes: groups frame them, and "auto" has none.

    Each box names the node, its type, its attributes and the user's line; operands enter it from left to right, and
    constants of one element are written inside. Colors tell inputs, variables, operations, gradients, effects apart;
    results have a bold frame. Dotted edges hand over a shape only, dashed ones only order (control dependencies).
    Text in SVG is text: it can be searched and selected. A .png of a large picture has fewer dots per inch. Raises
    ArgumentError for another ending or grouping and for pictures of more than 300 boxes or 150 inches, MissingExtra
    when matplotlib is missing.

    Examples:
        >>> w = sg.tensor([1.0, 2.0], requires_grad=True)
        >>> _ = sg.draw((w * w).sum(), "loss.dot")
    """
    suffix = check_path(path)
    if group not in GROUPINGS:
        raise ArgumentError(f"draw: group has to be 'auto', 'module', 'kernel' or None, got {group!r}")
    compiled = compiled_of(what)
    if compiled is not None:
        what = called(compiled, "draw", inputs)
    plan = made_plan(what)
    if group == "kernel" and plan is None:
        raise ArgumentError(
            f"draw: only compiled functions have kernels, got {type(what).__name__}", "draw the function, sg.draw(step, path)"
        )
    graph, kernels = kernels_of(what, "draw", backward=backward)
    groups = _groups(graph, kernels, group, text=suffix == ".dot")
    if path is not None and suffix == ".dot":
        text = to_dot(graph, titles(groups))
        with replacing(path) as file:
            file.write(text.encode())
        return None
    _check_size(graph, groups)
    figure = _figure(graph, groups)
    if path is None or suffix is None:
        return figure
    with replacing(path) as file:
        file.write(_picture(figure, suffix[1:]))
    return None


def check_path(path: str | os.PathLike[str] | None) -> str | None:
    """The ending of a file that `draw` can write. Raises ArgumentError for another one."""
    suffix = None if path is None else os.path.splitext(path)[1].lower()
    if path is not None and suffix not in (*PICTURES, ".dot"):
        raise ArgumentError(f"draw: can't write {os.fspath(path)!r}", f"the path must end in {', '.join(PICTURES)} or .dot")
    return suffix


def _picture(figure: Figure, format: str) -> bytes:
    """The bytes of a file. The same graph gives the same file; text in SVG stays text."""
    import matplotlib

    dpi = min(DPI, math.sqrt(PIXELS / (figure.get_figwidth() * figure.get_figheight())))
    picture = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "staticgrad", "svg.fonttype": "none"}):
        figure.savefig(picture, format=format, dpi=dpi, metadata={"Date": None} if format == "svg" else None)
    return picture.getvalue()


def _groups(graph: Graph, kernels: Mapping[Node, str], group: str | None, *, text: bool) -> list[Group]:
    inside = set() if text else inside_of(graph)
    if group is None or (group == "auto" and text):
        return []
    if kernels and group in ("auto", "kernel"):
        found = groups_of(graph, kernels.get, inside)
        return found if group == "kernel" or boxes(graph, found, inside) <= MANY else automatic(graph, inside)
    if group == "module":
        return groups_of(graph, by_module(graph).get, inside)
    return automatic(graph, inside) if len(graph.nodes) >= MANY else []


def _check_inches(width: float, height: float) -> None:
    """As `_check_size`, once it is known how the boxes lie."""
    if max(width, height) > INCHES:
        raise ArgumentError(f"draw: the picture would be {width:.0f} x {height:.0f} inches, more than {INCHES}", *ADVICE)


def _check_size(graph: Graph, groups: Sequence[Group]) -> None:
    """Raises ArgumentError for a picture too large to look at."""
    count = boxes(graph, groups, inside_of(graph))
    if count > MOST:
        raise ArgumentError(
            f"draw: {count:,} boxes are too many for a picture, which has at most {MOST}",
            *ADVICE,
        )


def _figure(graph: Graph, groups: Sequence[Group] = ()) -> Figure:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra(
            "draw needs matplotlib for .svg, .png and .pdf",
            'pip install "staticgrad[viz]", or write a .dot file, which needs nothing more',
        ) from None
    placed, edges = place(graph, groups)
    backward = backward_part(graph)
    kinds = [kind_of(box.node, backward) for box in placed if box.node is not None]
    legend = [kind for kind in MEANINGS if kind in kinds]
    places = [*placed, *(box for edge in edges for box in edge.path)]
    right = max([box.x + box.width / 2 for box in places] + [sum(map(_legend_width, legend)), 1.0]) + MARGIN
    low = max([box.bottom for box in placed] + [0.0]) + MARGIN
    _check_inches(right + MARGIN, low + HEAD + MARGIN)
    figure = Figure(figsize=(right + MARGIN, low + HEAD + MARGIN))
    FigureCanvasAgg(figure)
    vars(figure)["_repr_svg_"] = lambda: _picture(figure, "svg").decode()  # notebooks ask for it
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(-MARGIN, right), ylim=(low, -HEAD - MARGIN))
    axes.set_axis_off()
    results = set(outputs_of(graph).values())
    for edge in edges:
        _draw_edge(axes, edge)
    for box, kind in zip(placed, kinds, strict=True):
        _draw_box(axes, box, FILLS[kind], bold=not results.isdisjoint(box.nodes))
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
