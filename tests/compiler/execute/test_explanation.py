"""`plan.explain()`: a page, the whole, data; why two operations are not fused; what differs between plans."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import networkx as nx
import pytest

import staticgrad
from staticgrad.autodiff.reverse import gradients
from staticgrad.compiler.execute.explain import patterns, remedy, size_text, totals
from staticgrad.compiler.execute.plan import Plan
from staticgrad.errors import ArgumentError
from staticgrad.operators import F
from staticgrad.ops.control.scan import scan
from tests.compiler.helpers import Bench, without_machine_code

FUSION = Path(staticgrad.__file__).parent / "compiler" / "fusion"


@pytest.fixture(autouse=True)
def nothing_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    without_machine_code(monkeypatch)


def network(layers: int) -> Plan:
    """Layers of a product, a bias, a normalization and a nonlinearity, with their gradients."""
    b = Bench()
    x, weights = b.feed(8, 16), []
    for i in range(layers):
        w, v = b.variable(16, 16, name=f"layers.{i}.weight"), b.variable(16, name=f"layers.{i}.bias")
        x = F.tanh(F.softmax(x @ w + v))
        weights += [w, v]
    for w, g in zip(weights, gradients([F.sum(x * x)], weights), strict=True):
        assert g is not None
        b.assign(w, w - g * 0.1)
    return b.plan(F.sum(x))


def test_thirty_layers_are_one_page():
    plan = network(30)
    found = plan.explain()
    lines = str(found).splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 160
    assert any(re.match(r" +(29|30|58|59) x gemm ", line) for line in lines), str(found)
    assert any("layers.*.weight" in line for line in lines)
    whole = str(plan.explain(detail=True)).splitlines()
    assert len(whole) > 10 * len(lines)
    assert "edges (" in found  # searches the whole


def test_data():
    plan = network(2)
    found = plan.explain()
    data = json.loads(found.to_json())
    assert [row["name"] for row in data["instructions"]] == [each.name for each in plan.instructions]
    assert {"op", "type", "name", "where", "instruction"} == set(data["edges"][0]["producer"])
    saved, paid = totals(found.edges)
    assert (saved, paid) == (data["bytes_saved"], data["bytes_paid"])
    assert saved > 0 < paid
    assert all(edge["reason"] for edge in data["edges"])
    for edge in found.edges:
        same = set(plan.instructions[edge.instructions[0]].nodes) >= {edge.producer, edge.consumer}
        assert edge.fused or not same
    assert "<table" in found._repr_html_()


def test_the_critical_path_is_the_heaviest_chain():
    plan = network(3)
    found, dag = plan.explain(), plan.graph
    critical = found.critical
    assert critical is not None
    work = {i: dag.nodes[i]["bytes"] + dag.nodes[i]["cost"] for i in dag}
    heaviest = dict.fromkeys(dag, 0.0)
    for i in nx.topological_sort(dag):
        heaviest[i] = work[i] + max((heaviest[before] for before in dag.pred[i]), default=0.0)
    assert nx.is_path(dag, critical.instructions)
    assert sum(work[i] for i in critical.instructions) == max(heaviest.values())
    assert critical.share == pytest.approx(max(heaviest.values()) / sum(work.values()))
    first, *inner, last = critical.instructions
    needed = [i for i in inner if not nx.has_path(dag.subgraph(set(dag) - {i}), first, last)]
    assert list(critical.dominating) == [first, *needed, last]
    assert 0 < len(needed) < len(inner)  # the gradient of each layer reads the layer's own value, too
    title = f"critical path: a chain of {len(critical.instructions)} of {len(plan.instructions)} instructions"
    for text in (str(found), str(plan.explain(detail=True))):
        (line,) = [line for line in text.splitlines() if line.startswith(title)]
        assert f"shorter chains lead around {len(inner) - len(needed)} of them (*)" in line
    assert json.loads(found.to_json())["critical_path"]["instructions"] == list(critical.instructions)


def test_the_critical_path_by_time():
    """Before `profile()`, the product of more operations; after it, the one that took longer."""
    b = Bench()
    x, y = b.feed(8, 8), b.feed(64, 8)
    plan = b.plan(F.exp(x @ x), F.exp(y @ x))
    small, large = (next(i for i, each in enumerate(plan.instructions) if each.name == f"{rows}x8x8") for rows in (8, 64))
    assert plan.explain().critical.instructions[0] == large
    plan.times.update(dict.fromkeys(range(len(plan.instructions)), 1.0) | {small: 9.0})
    critical = plan.explain().critical
    assert (critical.instructions[0], critical.timed, critical.share) == (small, True, 10 / 12)
    assert "83% of the time" in str(plan.explain())


def test_plans_without_work_have_no_critical_path():
    b = Bench()
    assert b.plan(b.feed(3)).explain().critical.instructions in ((), (0,))


def test_bytes_of_edges():
    """A value that stays in a register saves a write and a read; a value that is stored costs them."""
    b = Bench()
    x = b.feed(10, 10)
    (edge,) = b.plan(F.exp(F.neg(x))).explain().edges
    assert (edge.fused, edge.ops, edge.bytes, edge.remedy) == (True, "neg -> exp", 800, "")
    edges = b.plan(F.exp(x @ x)).explain().edges
    assert [(edge.fused, edge.bytes) for edge in edges] == [(False, 800)]


WHY_NOT = {
    ("neg", "exp"): "neg f32[8,16] (",
    ("matmul", "add"): "matmul is a routine, which reads and writes memory",
    ("exp", "neg"): "is fused with exp",
    ("exp", "tanh"): "'tanh' does not read 'exp' directly, but through exp -> ",
    ("first", "tanh"): "neither of 'first' and 'tanh' reads the other",
}


@pytest.mark.parametrize("pair", WHY_NOT, ids=" ".join)
def test_why_not(pair: tuple[str, str]):
    b = Bench()
    x = b.feed(8, 16)
    y = F.exp(F.neg(x)) * 2.0
    plan = b.plan(F.tanh((y @ b.feed(16, 16)) + b.feed(16)), F.sin(F.cos(x)))
    name = plan.ir.nodes[-1].name
    first = "cos" if pair[0] == "first" else pair[0]
    text = str(plan.explain(why_not=(first, pair[1])))
    assert WHY_NOT[pair].replace("'first'", "'cos'") in text, (text, name)


def test_why_not_names_what_there_is():
    b = Bench()
    plan = b.plan(F.exp(F.neg(b.feed(3))))
    with pytest.raises(ArgumentError, match="why_not: there is no operation 'matmul' in this plan"):
        plan.explain(why_not=("matmul", "exp"))
    assert "is fused with" in str(plan.explain(why_not=(0, "exp")))


def test_bodies_of_loops_are_explained():
    b = Bench()
    last, _ = scan(lambda c, v: (F.tanh(F.exp(c) + v), None), b.feed(4), b.feed(5, 4))
    plan = b.plan(last)
    assert "exp f32[4]" in str(plan.explain(why_not=("exp", "add")))
    assert any(edge.ops == "add -> tanh" and edge.fused for edge in plan.explain().edges)


def test_every_reason_has_a_remedy():
    """Texts of `FusionFailure` and `EpilogueFailure`, with 7 for what is filled in."""
    found = []
    for path in FUSION.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("FusionFailure", "EpilogueFailure"):
                found.append(_text(node.args[0]))
    assert len(found) > 30
    assert [text for text in found if text and not remedy(text)] == []


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join("7" if isinstance(part, ast.FormattedValue) else str(part.value) for part in node.values)  # type: ignore[attr-defined]
    return _text(node.left) if isinstance(node, ast.BinOp) else str(node.value) if isinstance(node, ast.Constant) else ""


def test_difference_of_plans():
    small, large = network(2), network(3)
    assert small.diff(network(2)).same
    assert str(small.diff(small)) == "the plans are the same"
    found = small.diff(large)
    figures = {name: (a, b) for name, a, b in found.figures}
    assert figures["instructions"] == (len(small.instructions), len(large.instructions))
    assert any(text.startswith("gemm 8x16x16") and a < b for text, a, b in found.instructions)
    assert "instructions (how many: first -> second)" in str(found)
    assert json.dumps(found.as_dict())


def test_texts():
    assert patterns(["layers.0.weight", "layers.11.weight", "w2"]) == ["layers.*.weight", "w2"]
    assert [size_text(n) for n in (12, 9999, 12_345, 3.2e6, 5e9)] == ["12 B", "9,999 B", "12.3 kB", "3.2 MB", "5.0 GB"]
