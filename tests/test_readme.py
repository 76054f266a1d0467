"""The README is a promise: its snippets run, and print what they say they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import staticgrad as sg
from tools.metadata import LINK, at_an_index

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


def test_lines_of_code_fit_a_phone_and_the_page_of_an_index():
    blocks = re.findall(r"```\w*\n(.*?)```", README.read_text(), re.DOTALL)
    assert [line for block in blocks for line in block.splitlines() if len(line) > 76] == []


def test_an_index_shows_the_readme_with_addresses_of_the_site():
    text = README.read_text()
    shown = at_an_index(text, "https://example.org/latest/")
    assert LINK.findall(shown) == []
    assert re.search(r"!\[version[^]]*\]\(https://example.org/latest/images/badges.svg\)", shown)
    assert "[The same model three ways](https://example.org/latest/modes/)" in shown
    assert "[Contributing](https://example.org/latest/contributing/)" in shown
    assert re.sub(r"\(https://example.org/[^)]*\)", "", shown) == re.sub(
        r"(?<=\])\([^()\s]+\.(md|svg|png)(#[^()\s]*)?\)", "", text
    )


def test_without_a_site_links_of_the_readme_are_words():
    shown = at_an_index(README.read_text(), "")
    assert LINK.findall(shown) == []
    assert "\n| The same model three ways | " in shown
    assert [*re.findall(r"```python\n(.*?)```", shown, re.DOTALL)] == SNIPPETS
