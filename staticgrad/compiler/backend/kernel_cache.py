"""Source to machine code: what Numba makes of a source is kept in the kernel cache, with the source beside it to be read.

Both are named by the hash of the source, of the modules that it imports, of Numba's version and the CPU. A kernel that is
found on disk is loaded without Numba.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import linecache
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ...errors import CompileError
from ...locks import rlock, unforked
from ...signals import uninterrupted
from . import disk_cache as disk
from . import object_code

HEADER = """\
import math

import numpy as np

from staticgrad.compiler.backend.elementary import *
from staticgrad.compiler.backend.dialect import *

"""

SPECIAL = {
    "row_products": ("dot_rows_", "add_rows_"),
    "integer_division": ("floor_divide_", "remainder_", "pow_int"),
    "philox": ("uniform_", "normal_"),
}
"""Modules that few kernels need, by what their text has when it needs them."""

IMPORTED = (
    "blas_symbols", "dialect", "disk_cache", "kernel_cache", "llvm", "object_code",
    *(f"intrinsics/{name}" for name in ("row_spans", "vector_tiles", *SPECIAL)),
)  # fmt: skip
"""The modules beside `elementary` that machine code depends on."""

_lock = rlock()
_loaded: dict[str, dict[str, Kernel]] = {}


class Counters:
    """What the compiler did in this process; tests count compilations with it."""

    compiled = 0
    from_disk = 0


class Kernel(NamedTuple):
    """A kernel in memory."""

    name: str
    address: int


@cache
def toolchain() -> str:
    """Hash of what machine code depends on besides the kernel's own source."""
    digest = hashlib.sha256(object_code.cpu().encode())
    folder = Path(__file__).parent
    for file in sorted([*(folder / f"{name}.py" for name in IMPORTED), *(folder / "elementary").glob("*.py")]):
        digest.update(file.read_bytes())
    numba = importlib.util.find_spec("numba")  # finds it without loading it
    assert numba is not None
    assert numba.origin is not None
    digest.update(Path(numba.origin).with_name("_version.py").read_bytes())
    return digest.hexdigest()


def load(body: str) -> dict[str, Kernel]:
    """The kernels of a source, by name, compiled or from the disk cache. Raises CompileError."""
    code = without_comments(body)
    with _lock:
        found = _loaded.get(code)
        if found is None:
            found = _loaded[code] = _load(header(body) + body)
        return found


def header(body: str) -> str:
    """The imports of a kernel: each costs compile time, so the special ones only where they are used."""
    needed = [module for module, names in SPECIAL.items() if any(name in body for name in names)]
    return HEADER + "".join(f"from staticgrad.compiler.backend.intrinsics.{module} import *\n\n" for module in needed)


def without_comments(source: str) -> str:
    """What makes a kernel: the lines that it came from don't, so equal layers share one."""
    return re.sub(r"  # .*", "", source)


def key_of(source: str) -> str:
    """What the machine code of a source depends on, as a hash."""
    return hashlib.sha256((toolchain() + without_comments(source)).encode()).hexdigest()


def name_of(key: str) -> str:
    """The name of a kernel's files, without suffix."""
    return f"k{key[:24]}"


def _load(source: str) -> dict[str, Kernel]:
    """Compiled or from disk. Numba and LLVM are not told of signals: they don't survive an exception at any place."""
    key = key_of(source)
    name = name_of(key)

    def whole() -> tuple[dict[str, Kernel], bool]:
        with unforked:
            content, found = disk.kept(f"{name}.o", key, lambda: _made(source, name))
            return _unpacked(content), found

    kernels, found = uninterrupted(whole)
    if found:
        Counters.from_disk += len(kernels)
    else:
        Counters.compiled += len(kernels)
    return kernels


def _made(source: str, name: str) -> bytes:
    """The machine code of a source, which is written beside it."""
    try:
        content = _packed(compiled(source, name))
    except (CompileError, MemoryError):
        raise
    except Exception as error:
        raise CompileError(f"a kernel does not compile: {type(error).__name__}: {error}", *source.splitlines()) from error
    disk.write(f"{name}.py", source.encode())
    return content


def compiled(source: str, name: str = "kernels") -> dict[str, Any]:
    """The kernels of a source, compiled by Numba, by name."""
    module = ModuleType(name)
    module.__file__ = f"<{name}.py>"
    lines = source.splitlines(keepends=True)
    linecache.cache[module.__file__] = len(source), None, lines, module.__file__  # tracebacks show it
    sys.modules[name] = module  # Numba looks it up there
    exec(compile(source, module.__file__, "exec"), vars(module))
    return {k: v for k, v in vars(module).items() if type(v).__name__ == "Compiled"}


ENTRY = """\
declare i32 @"{symbol}"(ptr, ptr, ptr, ptr, i64, i64)

define void @{name}(ptr %buffers, ptr %sizes, i64 %start, i64 %stop) {{
  %result = alloca ptr
  %error = alloca ptr
  call i32 @"{symbol}"(ptr %result, ptr %error, ptr %buffers, ptr %sizes, i64 %start, i64 %stop)
  ret void
}}
"""
"""A C function around a function of Numba's calling form. Kernels raise nothing: there is no error to look at."""


def _packed(kernels: dict[str, Any]) -> bytes:
    """A line of JSON, then object code: of each kernel its name, and the sizes of its code, its entry, and what it calls."""
    from .elementary import rare  # imports Numba, which is there by now

    parts: list[tuple[str | int, ...]] = []
    codes: list[bytes] = []
    for kernel in kernels.values():
        outside = {*re.findall(r'(?m)^declare [^@]*@"?((?!llvm\.)[\w.$]+)', kernel.library.get_llvm_str())}
        if unknown := [name for name in outside if not (name in rare.CODE or object_code.known(name))]:
            raise CompileError(f"the kernel {kernel.name} calls {', '.join(sorted(unknown))}, which is not there")
        called = dict.fromkeys(rare.CODE[name] for name in sorted(outside) if name in rare.CODE)
        all_of = kernel.library._get_compiled_object(), object_code.compiled(ENTRY.format(**kernel._asdict())), *called
        parts.append((kernel.name, *map(len, all_of)))
        codes += all_of
    return b"\n".join([json.dumps(parts).encode(), b"".join(codes)])


def _unpacked(content: bytes) -> dict[str, Kernel]:
    """The kernels of such bytes, in memory."""
    line, _, codes = content.partition(b"\n")
    kernels, at = {}, 0
    for name, *sizes in json.loads(line):
        parts = []
        for size in sizes:
            parts.append(codes[at : at + size])
            at += size
        kernels[name] = Kernel(name, object_code.loaded(parts, [name])[name])
    return kernels


OPEN = {"T": re.compile(r"(?<=_)[fiu]\d+(?=_|$)"), "N": re.compile(r"(?<=_)\d+$")}
"""What a kernel of the library leaves open: `gather_T_N` is the text of `gather_f32_8`, with f32 for T and 8 for N."""


def library(name: str, kernel: str) -> Kernel:
    """One kernel of a file in `library/`, by a name that says what is open in its text; the others are not compiled."""
    return load(library_source(name, kernel))[kernel]


@cache
def library_source(name: str, kernel: str) -> str:
    """The source of such a kernel, with what the kernels of its file share."""
    common, kernels = _library(name)
    general, given = kernel, {}
    for letter, pattern in OPEN.items():
        if found := pattern.search(general):
            given[letter] = found[0]
            general = pattern.sub(letter, general)
    return common + re.sub(r"(?<![A-Za-z0-9])[TN](?![A-Za-z0-9])", lambda letter: given[letter[0]], kernels[general])


@cache
def _library(name: str) -> tuple[str, dict[str, str]]:
    """What the kernels of a file share, and the text of each."""
    parts = re.split(r"(?m)^(?=@(?:kernel|inline|merged)\n)", _text(name))
    kernels = [part for part in parts if part.startswith("@kernel")]
    common = "".join(part for part in parts if part not in kernels)
    return common, {re.findall(r"def (\w+)", kernel)[0]: kernel for kernel in kernels}


def _text(name: str) -> str:
    return (Path(__file__).parent.parent / "kernels" / f"{name}.py").read_text().split("# kernels\n", 1)[1]
