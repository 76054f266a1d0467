"""Results rendered: the fastest variant counts, what disagrees does not, targets are met or missed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks import cases, launch, report, results, threads  # noqa: F401  (cases: registers them)
from benchmarks.registry import CASES
from benchmarks.results import Target


def run(us: float, loss: float = 1.0, *, cold: bool = False, total: float = 0.5, memory: float = 10.0) -> dict[str, Any]:
    return {
        "figures": {"result 0": loss},
        "total": total,
        "phases": {"import": 0.1, "build": 0.2, "first step": 0.2},
        "memory": memory,
        "peak": 100 + memory + (50 if cold else 0),
        "blocks": [us - 1, us, us + 1],
        "cpu": 2 * us,
        "load": 1.0,
        "cold": cold,
    }


def entry(case: str, backend: str, *runs: Any, variant: str = "", malloc: str = "") -> dict[str, Any]:
    return {"case": case, "backend": backend, "variant": variant, "malloc": malloc, "runs": list(runs)}


RESULTS = {
    "machine": {"cpus": 2, "machine": "x86_64", "python": "3.11.0", "versions": {"jax": "0.10"}},
    "settings": {"rounds": 2, "seconds": 0.5},
    "skipped": ["torch.compile is skipped: it is not installed."],
    "limits": {
        "bandwidth": {"copy, 1 thread": 20.0, "copy, 2 threads": 30.0},
        "blas": {"sgemm": 200.0},
        "products": {"256x784x512,256x512x10,10x256x512,256x10x512,512x256x784": 1900.0},
    },
    "overhead": {"wall": 50.0, "native": 40.0},
    "entries": [
        entry("digits", "compiled", run(50, cold=True, total=3.5), run(40, memory=5.0), run(42, memory=5.0)),
        entry("digits", "session", run(60), variant="run"),
        entry("digits", "session", run(44), variant="callable"),
        entry("digits", "eager", run(300)),
        entry("digits", "jax", run(100), variant="sync"),
        entry("digits", "jax", run(90), variant="async"),
        entry("digits", "jax", run(10, loss=1.5), variant="sync, placed"),
        entry("digits", "torch", run(400, memory=4.0), variant="1 thread"),
        entry("digits", "numpy", run(30)),
        entry("digits", "pytensor", {"error": "ImportError: no | luck", "load": 1.0}),
        entry("mlp-784", "compiled", run(2000)),
        entry("mlp-784", "jax", run(1500), variant="sync"),
        entry("elementwise-1e7", "compiled", run(8000), malloc="keeps"),
        entry("elementwise-1e7", "eager", run(7000), malloc="keeps"),
    ],
}


def test_the_fastest_variant_that_agrees_counts() -> None:
    digits, mlp, elementwise = results.rows(RESULTS)
    assert digits.best["jax"].variant == "async"
    assert digits.best["session"].step == 44
    assert digits.peer == digits.best["jax"]
    assert digits.ours == digits.best["compiled"]
    assert digits.ratio == pytest.approx(90 / 42)
    assert digits.undisturbed == pytest.approx(89 / 39)
    assert [(f.backend, f.error) for f in digits.failures] == [
        ("pytensor", "ImportError: no | luck"),
        ("jax", "disagrees: result 0 is 1.5, others 1"),
    ]
    assert digits.eager == pytest.approx(0.75)
    assert mlp.ratio == pytest.approx(0.75)
    assert mlp.eager is None
    assert elementwise.name == "elementwise-1e7 (malloc keeps)"
    assert elementwise.ratio is None


def test_figures_are_medians_over_processes() -> None:
    compiled = results.rows(RESULTS)[0].best["compiled"]
    assert (compiled.step, compiled.cold, compiled.warm, compiled.memory) == (42, 3.5, 0.5, 5.0)
    assert compiled.compiling == 160 - 100
    assert results.rows(RESULTS)[0].best["jax"].compiling is None


@pytest.mark.parametrize(("loss", "agrees"), [(1.0005, True), (1.002, False), (float("nan"), False)])
def test_figures_have_to_agree(loss: float, agrees: bool) -> None:
    found = results.disagreement(CASES["digits"], {"result 0": loss}, {"result 0": 1.0})
    assert (found is None) is agrees


def test_targets() -> None:
    found = {target.what: target for target in results.targets(RESULTS)}
    met = {what: target.met for what, target in found.items()}
    assert met == {
        "geometric mean over cases, fastest peer / ours": False,
        "digits: fastest peer / ours": True,
        "geometric mean over cases, eager / PyTorch eager": False,
        "digits: eager / PyTorch eager": True,
        "mlp-784: fastest peer / ours": False,
        "digits: peak MB above imports, compiled / PyTorch eager": False,
        "digits: Session step / compiled step": True,
        "digits: seconds from process start to first result, cold": False,
        "digits: seconds from process start to first result, warm": True,
        "mlp-784: of the step is what its BLAS calls take alone": True,
        "elementwise-1e7 (malloc keeps): of the memory bandwidth": False,
    }
    assert found["elementwise-1e7 (malloc keeps): of the memory bandwidth"].value == pytest.approx(160e6 / 7e-3 / 30e9)


def test_target() -> None:
    assert Target("x", 2.0, 3.0).met is False
    assert Target("x", 2.0, 3.0, at_most=True).met is True


def test_text_and_markdown() -> None:
    text, page = report.text(RESULTS), report.markdown(RESULTS)
    for rendered in (text, page):
        assert "torch.compile is skipped: it is not installed." in rendered
        assert "2.14" in rendered
        assert "MISSED" in rendered
        assert "disagrees: result 0 is 1.5, others 1" in rendered
    assert "## All variants" in page
    assert "ImportError: no \\| luck" in page
    for table in page.split("## ")[1:]:
        lines = [line.replace("\\|", "") for line in table.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) == 1, table


def test_runs_together() -> None:
    """Entries that both have get the runs of both; others are added."""
    more = {**RESULTS, "entries": [entry("digits", "eager", run(310)), entry("lenet", "eager", run(7))]}
    found = results.together([RESULTS, more, more])
    runs = {(e["case"], e["backend"]): e["runs"] for e in found["entries"]}
    assert [r["blocks"][1] for r in runs["digits", "eager"]] == [300, 310, 310]
    assert len(runs["lenet", "eager"]) == 2
    assert len(RESULTS["entries"]) == len(found["entries"]) - 1
    assert results.together([RESULTS]) == RESULTS


def test_limits_and_memory_are_of_the_run_that_measured_them() -> None:
    """Of runs together each case has the limits of its own; memory with an empty cache is nobody's memory with a full one."""
    entries = [
        entry("elementwise-1e7", "compiled", run(8000, cold=True)),
        entry("elementwise-1e7", "torch", run(8000, cold=True)),
    ]
    more = {**RESULTS, "entries": entries, "limits": {"bandwidth": {"copy, 1 thread": 10.0}}}
    row = results.rows(results.together([RESULTS, more]))[-1]
    assert results.bandwidth_share(row, RESULTS["limits"]) == pytest.approx(160e6 / 8e-3 / 10e9)
    assert row.best["compiled"].memory is None
    assert "peak MB" not in str([target.what for target in results.targets(more)])


@pytest.mark.parametrize(
    ("what", "change", "text"),
    [
        ("machine", {"cpus": 4}, "cpus of the machine differ"),
        ("machine", {"versions": {"jax": "0.11"}}, "jax 0.10 and 0.11"),
        ("settings", {"seconds": 1}, "seconds of the settings differ"),
    ],
)
def test_runs_that_are_not_comparable(what: str, change: dict[str, Any], text: str) -> None:
    other = {**RESULTS, what: {**RESULTS[what], **change}}
    with pytest.raises(ValueError, match=text):
        results.together([RESULTS, other])


def test_report_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = tmp_path / "results.json", tmp_path / "performance.md"
    file.write_text(json.dumps(RESULTS))
    command.main(["report", str(file)])
    assert "geometric mean over cases" in capsys.readouterr().out
    command.main(["report", str(file), "--output", str(page)])
    assert page.read_text() == report.markdown(RESULTS)


def test_instruction_sets_stand_side_by_side() -> None:
    """Files of both, in any order; a case that one lacks leaves its cells empty."""
    machine = {**RESULTS["machine"], "model": "Some CPU avx512"}
    own = {**RESULTS, "machine": {**machine, "instructions": ""}}
    entries = [entry("digits", "compiled", run(80)), entry("digits", "jax", run(120))]
    lesser = {**RESULTS, "machine": {**machine, "instructions": "avx2"}, "entries": entries}
    page = report.markdown(*results.by_instructions([lesser, own]))
    assert "2 CPUs (Some CPU avx512, x86_64)" in page
    assert "| us a step | AVX-512: ours | AVX-512: fastest peer | AVX-512: peer / ours | AVX2: ours |" in page
    assert "| digits | 42.0 | 90.0 (jax) | 2.14 | 80.0 | 120 (jax) | 1.50 |" in page
    assert "| mlp-784 | 2,000 | 1,500 (jax) | 0.75 |  |  |  |" in page
    assert "| geometric mean |  |  | 1.27 |  |  | 1.50 |" in page
    assert "## Steps with AVX2 and no more" in page
    with pytest.raises(ValueError, match="model of the machine differ"):
        results.by_instructions([own, {**own, "machine": {**own["machine"], "model": "Another CPU"}}])


def test_lesser_instructions_are_set_for_each_library(tmp_path: Path) -> None:
    given = launch.Launcher(tmp_path, {}, "avx2").environment_with({})
    assert {name: given[name] for name in ("STATICGRAD_CPU", "MKL_ENABLE_INSTRUCTIONS")} == {
        "STATICGRAD_CPU": "x86-64-v3",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    }


def test_steps_with_all_threads_are_compared_with_one() -> None:
    measured = [
        entry("digits", "compiled", run(50, cold=True), run(40), run(42)),
        entry("digits", "compiled", run(40), variant=threads.ONE),
        entry("mlp-784", "compiled", run(1000)),
        entry("mlp-784", "compiled", run(1600), variant=threads.ONE),
        entry("lstm", "compiled", {"error": "ValueError: no", "load": 1.0}),
        entry("lstm", "compiled", run(10), variant=threads.ONE),
    ]
    found, failed = threads.rows(measured)
    assert [(row.case, row.ratio) for row in found] == [("digits", pytest.approx(1.05)), ("mlp-784", pytest.approx(0.625))]
    assert failed == ["lstm : ValueError: no"]
    first, *lines, last = threads.table(found[::-1]).splitlines()
    assert "all / one" in first
    assert [("digits" in line, "above 1.03" in line) for line in lines] == [(True, True), (False, False)]
    assert last == "2 cases, geometric mean 0.81"
