"""The modules that belong to the key of cached machine code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from staticgrad.compiler.backend import source_key
from staticgrad.compiler.backend.gemm_form import kernel
from staticgrad.compiler.backend.kernel_cache import HEADER, SPECIAL, header
from staticgrad.compiler.backend.source_key import COMPILER, digest, digest_of_imports, modules
from staticgrad.compiler.runtime.loader import TEXT
from tests.processes import ended, start

MAKERS = {
    "kernel_cache": ("backend/kernel_cache.py", "backend.kernel_cache"),
    "products": ("backend/gemm_products.py", "backend.gemm_products"),
    "runtime": ("runtime/fastcall_body.py", "runtime.fastcall_body"),
    "dialect": ("backend/dialect.py", "backend.dialect"),
    "elementary": ("backend/elementary/__init__.py", "backend.elementary"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_all_imported_modules_belong_to_the_key(name: str):
    """An interpreter that imports the module has no other module of the compiler."""
    file, module = MAKERS[name]
    program = f"""
    import sys
    import importlib
    importlib.import_module("staticgrad.compiler.{module}")
    for name, module in sys.modules.items():
        if name.startswith("staticgrad.compiler."):
            print(module.__file__)
    """
    out, err = ended(start(program))
    assert not err
    found = modules(COMPILER / file)
    missing = {Path(line) for line in out.splitlines()} - set(found)
    assert {path for path in missing if path.read_text().count("\n") > 5} == set()  # not packages that only have a docstring


def test_modules_of_a_text():
    found = {path.name for path in modules(*source_key._imported(TEXT, COMPILER))}
    assert {"kernel_compiler.py", "runtime_builtins.py", "abi.py", "work_sharing.py", "worker.py"} <= found
    found = {path.name for path in modules(*source_key._imported(kernel("f32")[0], COMPILER))}
    assert {"gemm_products.py", "gemm_blocks.py", "gemm_in_place.py", "gemm_tiles.py", "gemm_form.py"} <= found


def test_modules_of_function_level_imports():
    found = {path.name for path in modules(COMPILER / "backend" / "kernel_cache.py")}
    assert {"kernel_compiler.py", "numba_compiler.py", "numba_library.py", "code_generation.py"} <= found


@pytest.mark.parametrize("special", SPECIAL)
def test_a_kernel_depends_on_what_it_imports(special: str):
    text = header(f"    {SPECIAL[special][0]}f32(")
    assert digest_of_imports(text) != digest_of_imports(HEADER)
    assert digest_of_imports(HEADER) != digest_of_imports("")


@pytest.mark.parametrize("file", ["backend/abi.py", "backend/elementary/exponential.py", "backend/dialect.py"])
def test_a_change_of_an_imported_module_changes_the_key(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    copied = tmp_path / "compiler"
    shutil.copytree(COMPILER / "backend", copied / "backend", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(source_key, "COMPILER", copied)
    imported = copied / "backend" / "dialect.py", copied / "backend" / "elementary" / "__init__.py"
    before = digest(*imported)
    changed = copied / file
    changed.write_text(changed.read_text() + "\nMORE = 1\n")
    source_key._text.cache_clear()
    source_key._imports.cache_clear()
    assert digest(*imported) != before
