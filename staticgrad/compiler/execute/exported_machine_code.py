"""Machine code in an exported package: compiled from its kernels, kept beside them, loaded into this process.

This file is part of the package that `plan.export` writes, as a module of the kernels' language. It keeps what the kernel cache
keeps (a line with the names of functions, then object code) after the SHA-256 of it.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import llvmlite

from ..backend.code_generation import compiled, loaded, processor


def load_kernels(package: str, file: Path) -> dict[str, int]:
    """The addresses of the kernels of a file. Their machine code is kept beside them, for this CPU and these versions, so that
    the next process compiles nothing; a file that is damaged is made again."""
    kept = file.parent.parent / "machine_code" / f"{file.stem}.{_key(file)[:24]}.o"
    content = _read(kept)
    if content is None:
        content = _made(importlib.import_module(f".kernels.{file.stem}", package))
        _write(kept, content)
    names, _, code = content.partition(b"\n")
    return loaded(code, names.decode().split())


def _made(module: Any) -> bytes:
    from ..backend.dialect import LINKED
    from ..backend.kernel_compiler import Kernel, translated

    kernels = [value for value in vars(module).values() if isinstance(value, Kernel)]
    names = " ".join(kernel.function.__name__ for kernel in kernels)
    code = translated(kernels)
    inlined = [text for symbol, texts in LINKED.items() if f'@"{symbol}"' in code for text in texts]
    return f"{names}\n".encode() + compiled(code, inlined)


def _key(file: Path) -> str:
    """All that the machine code of a kernel depends on, as a hash."""
    digest = hashlib.sha256(f"{llvmlite.__version__} {sys.version} {processor()}".encode())
    for path in [file, *sorted(Path(__file__).parent.rglob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read(kept: Path) -> bytes | None:
    """The content of such a file; None where it is missing or damaged."""
    try:
        data = kept.read_bytes()
    except OSError:
        return None
    return data[32:] if hashlib.sha256(data[32:]).digest() == data[:32] else None


def _write(kept: Path, content: bytes) -> None:
    """Write such a file, where the folder allows it."""
    with suppress(OSError):
        kept.parent.mkdir(exist_ok=True)
        temporary = kept.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_bytes(hashlib.sha256(content).digest() + content)
        os.replace(temporary, kept)
