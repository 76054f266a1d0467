"""`docs/tour.md` prints what it shows. `UPDATE_GOLDEN=1 pytest -n 0 tests/docs/test_tour.py` writes its output anew."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path
from typing import Any

import staticgrad as sg

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tour.md"
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n(?P<output>.*?)```", re.DOTALL)


def printed(page: str) -> str:
    """The page with the output of each block of code; the blocks share their names and have the page's line numbers."""
    names: dict[str, Any] = {"__name__": "__main__"}
    lines = 0  # of output, by which the new page is longer than this one

    def run(block: re.Match[str]) -> str:
        nonlocal lines
        above = page[: block.start("code")].count("\n") + lines
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            exec(compile("\n" * above + block["code"], str(PAGE), "exec"), names)
        output = "".join(f"{line.rstrip()}\n" for line in written.getvalue().strip("\n").splitlines())
        lines += output.count("\n") - block["output"].count("\n")
        return f"```python\n{block['code']}```\n\n```text\n{output}```"

    return BLOCK.sub(run, page)


def test_the_tour_prints_what_it_shows():
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("```python") == len(BLOCK.findall(page)) >= 8
    threads = sg.get_num_threads()
    try:
        found = printed(page)
    finally:
        sg.set_num_threads(threads)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(found, encoding="utf-8")
    assert found == PAGE.read_text(encoding="utf-8"), f"if the change is meant, UPDATE_GOLDEN=1 writes {PAGE.name} anew"
