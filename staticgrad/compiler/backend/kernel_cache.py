"""From the source of kernels to machine code, which is kept in the kernel cache with the source beside it for reading.

Both files are named by a hash of the source, the modules that it imports, LLVM's version and the CPU.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from ... import garbage, logs
from ...errors import CompileError
from ...locks import rlock
from . import disk_cache as disk
from . import object_code, source_key

HEADER = """\
import math

import numpy as np

from staticgrad.compiler.backend.elementary import *
from staticgrad.compiler.backend.dialect import *

"""

COMPILER = "STATICGRAD_KERNELS"
"""The environment variable that chooses the compiler of kernels: "direct", or "numba"."""

SPECIAL = {
    "row_products": ("dot_rows_", "add_rows_"),
    "integer_division": ("floor_divide_", "remainder_", "pow_int"),
    "philox": ("uniform_", "normal_"),
}
"""Modules that few kernels need, with the names that occur in the text of those that do."""

_lock = rlock()
_loaded: dict[str, dict[str, Kernel]] = {}
_by_key: dict[str, dict[str, Kernel]] = {}
"""Kernels of plans that were read, by the keys of their files."""


class Counters:
    """Counts of kernels compiled and loaded by this process, for tests and reports."""

    compiled = 0
    from_disk = 0


class Kernel(NamedTuple):
    """A kernel in memory."""

    name: str
    address: int


@cache
def toolchain(numba: bool) -> str:
    """The tools that make machine code, as a hash; `source_key.py` adds the modules. numba: see `by_numba`."""
    digest = hashlib.sha256(object_code.cpu().encode())
    digest.update(source_key.digest(Path(__file__)))
    if numba:
        found = importlib.util.find_spec("numba")  # finds it without loading it
        assert found is not None
        assert found.origin is not None
        digest.update(Path(found.origin).with_name("_version.py").read_bytes())
        digest.update(source_key.digest(Path(__file__).with_name("numba_compiler.py")))
    return digest.hexdigest()


def by_numba() -> bool:
    """Whether Numba compiles the kernels. Raises CompileError for an unknown setting."""
    chosen = os.environ.get(COMPILER, "direct")
    if chosen not in ("direct", "numba"):
        raise CompileError(f"{COMPILER}={chosen}: it is direct or numba")
    return chosen == "numba"


def load(body: str) -> dict[str, Kernel]:
    """The kernels of a source, by name, compiled or from the disk cache. Raises CompileError."""
    code = without_comments(body)
    with _lock:
        found = _loaded.get(code)
        if found is None:
            found = _loaded[code] = _load(header(body) + body)
        return found


def header(body: str) -> str:
    """The imports of a kernel. Each costs compile time, so special modules are imported only where they are used."""
    needed = [module for module, names in SPECIAL.items() if any(name in body for name in names)]
    return HEADER + "".join(f"from staticgrad.compiler.backend.intrinsics.{module} import *\n\n" for module in needed)


def without_comments(source: str) -> str:
    """The identity of a kernel: comments name the user's lines, and equal layers share a kernel."""
    return re.sub(r"  # .*", "", source)


def key_of(source: str) -> str:
    """Everything that the machine code of a source depends on, as a hash."""
    digest = hashlib.sha256((toolchain(by_numba()) + without_comments(source)).encode())
    digest.update(source_key.digest_of_imports(source))
    return digest.hexdigest()


def name_of(key: str) -> str:
    """The name of a kernel's files, without suffix."""
    return f"k{key[:24]}"


def file(body: str) -> disk.File:
    """The file of the machine code of a source."""
    key = key_of(header(body) + body)
    return disk.File(f"{name_of(key)}.o", key)


def made(body: str) -> bytes:
    """The content of that file."""
    return _kept(header(body) + body)[0]


def at_hand(body: str) -> bool:
    """Whether `load` has nothing to compile."""
    return without_comments(body) in _loaded or disk.at_hand(file(body))


def _kept(source: str) -> tuple[bytes, bool]:
    key = key_of(source)
    name = name_of(key)
    return disk.kept(f"{name}.o", key, lambda: object_code.undisturbed(lambda: _made(source, name)))


def stored(kind: str, file: disk.File, name: str) -> int:
    """The address of a function in a file of the cache; 0 where the file is not there. kind: "kernels" or "gemm"."""
    with _lock:
        found = _by_key.get(file.key)
        if found is None:
            content = disk.read(*file)
            if content is None:
                return 0
            one = {name: Kernel(name, object_code.loaded([content], [name])[name])} if kind == "gemm" else _unpacked(content)
            found = _by_key[file.key] = one
            Counters.from_disk += len(found)
        return found[name].address if name in found else 0


def _load(source: str) -> dict[str, Kernel]:
    """Compile a source, or load it from disk."""
    content, found = _kept(source)
    kernels = _unpacked(content)
    if found:
        Counters.from_disk += len(kernels)
    else:
        Counters.compiled += len(kernels)
    logs.debug("%d kernels %s: %s", len(kernels), "from the cache" if found else "compiled", ", ".join(kernels))
    return kernels


def _made(source: str, name: str) -> bytes:
    """Compile a source, and write it beside the machine code."""
    try:
        with garbage.paused():
            content = _packed(llvm_code(source, name))
    except (CompileError, MemoryError):
        raise
    except Exception as error:
        raise CompileError(f"a kernel does not compile: {type(error).__name__}: {error}", *source.splitlines()) from error
    disk.write(f"{name}.py", source.encode())
    return content


def llvm_code(source: str, name: str = "kernels") -> dict[str, str]:
    """The LLVM code of the kernels of a source, by name."""
    from .kernel_compiler import Kernel as Source
    from .kernel_definitions import TEXT

    if by_numba():
        from .numba_compiler import translated
    else:
        from .kernel_compiler import translated
    module = ModuleType(name)
    vars(module)[TEXT] = source
    exec(compile(source, f"<{name}.py>", "exec"), vars(module))
    kernels = [v for v in vars(module).values() if isinstance(v, Source)]
    return {kernel.function.__name__: translated(kernel) for kernel in kernels}


def prepare() -> None:
    """Import what compiles kernels, before there is one: a kernel without a line prepares LLVM, too."""
    body = "@kernel\ndef kernel(buffers, sizes, start, stop):\n    pass\n"
    _packed(llvm_code(header(body) + body))


def _packed(codes: dict[str, str]) -> bytes:
    """A line of JSON, then object code. The line has the name of each kernel, and the sizes of its code and of the functions
    that it calls."""
    from . import code_generation
    from .dialect import LINKED
    from .elementary import rare

    parts: list[tuple[str | int, ...]] = []
    contents: list[bytes] = []
    for name, code in codes.items():
        outside = {*re.findall(r'(?m)^declare [^@]*@"?((?!llvm\.)[\w.$]+)', code)}
        if unknown := [s for s in outside if not (s in rare.CODE or s in LINKED or object_code.known(s))]:
            raise CompileError(f"the kernel {name} calls {', '.join(sorted(unknown))}, which is not there")
        called = dict.fromkeys(rare.CODE[symbol] for symbol in sorted(outside) if symbol in rare.CODE)
        inlined = [LINKED[symbol] for symbol in sorted(outside) if symbol in LINKED]
        all_of = code_generation.compiled(code, code_generation.KERNELS, inlined), *called
        parts.append((name, *map(len, all_of)))
        contents += all_of
    return b"\n".join([json.dumps(parts).encode(), b"".join(contents)])


def _unpacked(content: bytes) -> dict[str, Kernel]:
    """The kernels of such bytes, loaded."""
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
"""The parameters of library kernels: `gather_f32_8` is the text of `gather_T_N`, with f32 for T and 8 for N."""


@cache
def library_source(name: str, kernel: str) -> str:
    """The source of one kernel of a file in `kernels/`, by a name that contains its parameters, with the code that the kernels
    of its file share. Other kernels of the file are left out."""
    common, kernels = _library(name)
    general, given = kernel, {}
    for letter, pattern in OPEN.items():
        if found := pattern.search(general):
            given[letter] = found[0]
            general = pattern.sub(letter, general)
    return common + re.sub(r"(?<![A-Za-z0-9])[TN](?![A-Za-z0-9])", lambda letter: given[letter[0]], kernels[general])


def library_kernels(name: str) -> list[str]:
    """The names of a file's kernels, with the letters of their parameters."""
    return [*_library(name)[1]]


@cache
def _library(name: str) -> tuple[str, dict[str, str]]:
    """The code that the kernels of a file share, and the text of each kernel."""
    parts = re.split(r"(?m)^(?=@(?:kernel|inline)\n)", _text(name))
    kernels = [part for part in parts if part.startswith("@kernel")]
    common = "".join(part for part in parts if part not in kernels)
    return common, {re.findall(r"def (\w+)", kernel)[0]: kernel for kernel in kernels}


def _text(name: str) -> str:
    return (Path(__file__).parent.parent / "kernels" / f"{name}.py").read_text().split("# kernels\n", 1)[1]
