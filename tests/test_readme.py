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
