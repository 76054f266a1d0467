"""The programs in the documents run, print what the pages show, and make the pictures that they show.

A block of Python that is followed by a block of `text` prints exactly that. One that is followed by a block of `console` prints
something like it: times and addresses differ from run to run. `UPDATE_GOLDEN=1 pytest -n 0 tests/docs/test_pages.py` writes
outputs and pictures anew.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import types
import warnings
from pathlib import Path

import pytest

import staticgrad as sg
from staticgrad.eager import generator
from staticgrad.ir import REGISTRY

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```(?P<kind>text|console)\n(?P<output>.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
PICTURE = re.compile(r"!\[[^\]]*\]\(images/(?P<name>[^)]+)\)")
MEASURED = {"warmup.svg"}
"""Pictures of a benchmark's, which no page makes."""
PAGES = {page.stem: page for page in sorted(DOCS.glob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8"))}
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))


def printed(page: Path) -> str:
    """The page with the output of each block of code; the blocks share their names and have the page's line numbers."""
    text = page.read_text(encoding="utf-8")
    module = types.ModuleType("page")
    lines = 0  # of output, by which the new page is longer than this one

    def run(block: re.Match[str]) -> str:
        nonlocal lines
        above = text[: block.start("code")].count("\n") + lines
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            exec(compile("\n" * above + block["code"], str(page), "exec"), vars(module))
        output = "".join(f"{line.rstrip()}\n" for line in written.getvalue().strip("\n").splitlines())
        if block["kind"] is None:
            assert output == "", f"{page.name}:{above + 1} prints, and no block of text follows"
            return block[0]
        if block["kind"] == "console" and not UPDATE:
            assert output, f"{page.name}:{above + 1} prints nothing"
            return block[0]
        lines += output.count("\n") - block["output"].count("\n")
        return f"```python\n{block['code']}```\n\n```{block['kind']}\n{output}```\n"

    sys.modules["page"] = module  # classes are found by the name of their module
    try:
        return BLOCK.sub(run, text)
    finally:
        del sys.modules["page"]


def test_the_pages_that_teach_are_programs():
    assert set(PAGES) >= {"start", "modes", "from_torch", "from_tf1", "from_jax", "tour", "debugging", "speed", "extending"}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_prints_what_it_shows(name, tmp_path, monkeypatch, lines_noted):
    page = PAGES[name]
    monkeypatch.chdir(tmp_path)  # some write files
    monkeypatch.setattr(generator, "state", generator.state)
    threads, ops = sg.get_num_threads(), set(REGISTRY)
    try:
        with warnings.catch_warnings():
            found = printed(page)
    finally:
        sg.set_num_threads(threads)
        for added in REGISTRY.keys() - ops:
            del REGISTRY[added]
    if UPDATE:
        page.write_text(found, encoding="utf-8")
    assert found == page.read_text(encoding="utf-8"), f"if the change is meant, UPDATE_GOLDEN=1 writes {page.name} anew"
    for picture in PICTURE.findall(found):
        if UPDATE and (tmp_path / picture).exists():
            shutil.copy(tmp_path / picture, DOCS / "images" / picture)
        assert (DOCS / "images" / picture).exists()
        assert picture in MEASURED or (tmp_path / picture).exists(), f"no block of {page.name} makes {picture}"


@pytest.mark.skipif(shutil.which("pyright", path=str(Path(sys.executable).parent)) is None, reason="needs pyright")
def test_type_checkers_accept_the_programs(tmp_path):
    """Each page as one program, with the page's line numbers; notebooks; and the examples."""
    for name, page in {**PAGES, "readme": ROOT / "README.md"}.items():
        text = page.read_text(encoding="utf-8")
        program, end = "", 0
        for block in BLOCK.finditer(text):
            program += "\n" * text[end : block.start("code")].count("\n") + block["code"]
            end = block.end("code")
        (tmp_path / f"{name}.py").write_text(program, encoding="utf-8")
    for notebook in (ROOT / "examples" / "notebooks").glob("*.ipynb"):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        (tmp_path / f"{notebook.stem}.py").write_text("\n".join(code), encoding="utf-8")
    examples = [str(path) for path in (ROOT / "examples").glob("*.py")]
    command = [str(Path(sys.executable).parent / "pyright"), "--pythonpath", sys.executable, str(tmp_path), *examples]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'examples'}"},
    )
    assert done.returncode == 0, done.stdout
