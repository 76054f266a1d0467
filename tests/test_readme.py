"""The README is a promise: its snippets run, and print what they say they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import staticgrad as sg

README = Path(__file__).parent.parent / "README.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_there_are_snippets():
    assert len(SNIPPETS) >= 3


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_snippet_runs_and_prints_what_it_says(snippet, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    file = tmp_path / "snippet.py"
    file.write_text(snippet)
    generator = sg.manual_seed(0)
    before = generator.state
    try:
        exec(compile(snippet, str(file), "exec"), {"__name__": "__main__"})
    finally:
        generator.state = before
    printed = capsys.readouterr().out
    for promised in re.findall(r"^\s*print\(.*\)  # (.+)$", snippet, re.MULTILINE):
        assert promised in printed or not re.search(r"\d", promised), promised


def test_commands_are_those_of_the_package():
    text = README.read_text()
    assert 'pip install -e ".[examples]" && python examples/digits.py' in text
    assert 'pip install -e ".[test]" && pytest' in text


def test_figures_of_speed_are_those_of_the_benchmark_page():
    """Each row has the cells of a row there, and the text its geometric means."""
    page = README.parent.joinpath("docs", "performance.md").read_text()
    there = [cells_of(line)[1:] for line in page.partition("## Instruction sets")[2].partition("## Steps")[0].splitlines()]
    speed = README.read_text().partition("## Speed")[2].partition("## From the command line")[0]
    rows = [cells_of(line)[1:] for line in speed.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 12
    assert [row for row in rows if row not in there] == []
    means = [cell for row in there for cell in row if row[:2] == ["", ""] and cell]
    assert len(means) == 2
    assert all(mean in speed for mean in means)


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]
