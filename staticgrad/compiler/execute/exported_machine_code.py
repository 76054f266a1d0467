"""Machine code in an exported package: compiled from its kernels, kept beside them, loaded into this process.

This file is part of the package that `plan.export` writes, where the kernels' language imports it as `object_code`.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm

from ..backend.code_generation import KERNELS, compiled, loaded


class Made(NamedTuple):
    """Object code, whether it was found ready, and the addresses of its functions."""

    code: bytes
    found: bool
    addresses: dict[str, int]


def made_or_kept(kind: str, files: Iterable[Any], make: Callable[[], bytes], names: Iterable[str]) -> Made:
    """Functions that the language's own modules make."""
    code = make()
    return Made(code, False, loaded([code], names))


def load_kernels(package: str, file: Path) -> dict[str, int]:
    """The addresses of the kernels of a file. Their machine code is kept beside them, for this CPU and these versions, so that
    the next process compiles nothing; a file that is damaged is made again."""
    kept = file.parent.parent / "machine_code" / f"{file.stem}.{_key(file)[:24]}.o"
    parts = _read(kept)
    if parts is None:
        parts = _made(importlib.import_module(f".kernels.{file.stem}", package))
        _write(kept, parts)
    return {name: loaded(codes, [symbol])[symbol] for name, symbol, codes in parts}


def _made(module: Any) -> list[tuple[str, str, list[bytes]]]:
    """(name, symbol, object code) of the kernels of a module."""
    compiler, rare, dialect = (
        importlib.import_module(f".{name}", __package__) for name in ("kernel_compiler", "elementary.rare", "dialect")
    )
    found = []
    for name, kernel in vars(module).items():
        if isinstance(kernel, compiler.Kernel):
            code = compiler.translated(kernel)
            outside = sorted({*re.findall(r'(?m)^declare [^@]*@"?((?!llvm\.)[\w.$]+)', code)})
            called = dict.fromkeys(rare.CODE[symbol] for symbol in outside if symbol in rare.CODE)
            inlined = [dialect.LINKED[symbol] for symbol in outside if symbol in dialect.LINKED]
            found.append((name, kernel.function.__name__, [compiled(code, KERNELS, inlined), *called]))
    return found


def _key(file: Path) -> str:
    """All that the machine code of a kernel depends on, as a hash."""
    features = sorted(llvm.get_host_cpu_features().items())
    digest = hashlib.sha256(f"{llvmlite.__version__} {sys.version} {llvm.get_host_cpu_name()} {features}".encode())
    for path in [file, *sorted(Path(__file__).parent.rglob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read(kept: Path) -> list[tuple[str, str, list[bytes]]] | None:
    """The content of such a file; None where it is missing or damaged."""
    try:
        data = kept.read_bytes()
    except OSError:
        return None
    digest, content = data[:32], data[32:]
    if hashlib.sha256(content).digest() != digest:
        return None
    line, _, codes = content.partition(b"\n")
    found, at = [], 0
    for name, symbol, sizes in json.loads(line):
        parts = []
        for size in sizes:
            parts.append(codes[at : at + size])
            at += size
        found.append((name, symbol, parts))
    return found


def _write(kept: Path, parts: list[tuple[str, str, list[bytes]]]) -> None:
    """Write such a file, where the folder allows it."""
    line = json.dumps([(name, symbol, [len(code) for code in codes]) for name, symbol, codes in parts]).encode()
    content = line + b"\n" + b"".join(code for _, _, codes in parts for code in codes)
    with suppress(OSError):
        kept.parent.mkdir(exist_ok=True)
        temporary = kept.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_bytes(hashlib.sha256(content).digest() + content)
        os.replace(temporary, kept)
