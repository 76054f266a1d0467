"""From the source of kernels to machine code, which is kept in the kernel cache with the source beside it for reading.

Both files are named by a hash of the source, the modules that write code of it, LLVM's version and the CPU.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache, partial
from types import ModuleType

from ...base import interpreter, logs
from ...base.interpreter import rlock
from ...errors import CompileError
from . import disk_cache as disk
from . import object_code
from .gemm_form import in_place

HEADER = """\
import math

import numpy as np

from staticgrad.compiler.backend.elementary import *
from staticgrad.compiler.backend.dialect import *

"""

COMPILER = os.path.dirname(os.path.dirname(__file__))
WRITERS = tuple(os.path.join(COMPILER, folder) for folder in ("backend", "runtime"))
"""The folders of the modules that write machine code."""

SPECIAL = {
    "row_products": ("dot_rows_", "add_rows_", "turn_rows_", "turn_back_"),
    "integer_division": ("floor_divide_", "remainder_", "pow_int"),
    "philox": ("uniform_", "normal_"),
}
"""Modules that few kernels need, with the names that occur in the text of those that do."""

SHARED = {f"in_place_{of}": (f"product_{of}(", f"multiply_{of}(", f"multiply_{of}_packed(") for of in ("f32", "f64")}
"""Functions that machine code of its own has, by name, and what occurs in the text of kernels that call them. A kernel calls
them by their addresses, so what many kernels have in common is compiled once."""

_lock = rlock()
_loaded: dict[str, dict[str, int]] = {}
"""The addresses of functions by name, by the keys of their files."""


class Counters:
    """Counts of kernels compiled and loaded by this process, with the runtime as one, for tests and reports."""

    compiled = 0
    from_disk = 0


@cache
def toolchain(compiler: str) -> str:
    """The tools that make machine code, and the modules that write it, as a hash: a change of any of them makes it again."""
    digest = hashlib.sha256(object_code.tools(compiler).encode())
    for folder in WRITERS:
        for place, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                if name.endswith(".py"):
                    with open(os.path.join(place, name), "rb") as stream:
                        digest.update(stream.read())
    return digest.hexdigest()


def load(body: str) -> dict[str, int]:
    """The addresses of the kernels of a source, by name, compiled or from the disk cache. Raises CompileError."""
    wanted = file(body)
    with _lock:
        found = _loaded.get(wanted.key)
        if found is None:
            content, kept = _kept(body, wanted)
            found = _loaded[wanted.key] = _counted(content, kept)
        return found


def stored(file: disk.File, name: str) -> int:
    """The address of a function in a file of the cache; 0 where the file is not there."""
    with _lock:
        found = _loaded.get(file.key)
        if found is None:
            content = disk.read(*file)
            if content is None:
                return 0
            found = _loaded[file.key] = _counted(content, True)
        return found.get(name, 0)


def _counted(content: bytes, kept: bool) -> dict[str, int]:
    """The functions of a file, loaded. kept: whether the cache had it."""
    found = object_code.loaded(content, {name: partial(_shared, name) for name in SHARED})
    if kept:
        Counters.from_disk += 1
    else:
        Counters.compiled += 1
    logs.debug("%d kernels %s: %s", len(found), "from the cache" if kept else "compiled", ", ".join(found))
    return found


def _shared(name: str) -> int:
    return load(in_place(name.rpartition("_")[2])[0])[name]


def shared(body: str) -> list[tuple[str, str]]:
    """The sources and names of shared functions that a kernel calls."""
    return [in_place(name.rpartition("_")[2]) for name, signs in SHARED.items() if any(sign in body for sign in signs)]


def header(body: str) -> str:
    """The imports of a kernel. Each costs compile time, so special modules are imported only where they are used."""
    needed = [module for module, names in SPECIAL.items() if any(name in body for name in names)]
    return HEADER + "".join(f"from staticgrad.compiler.backend.intrinsics.{module} import *\n\n" for module in needed)


def without_comments(source: str) -> str:
    """The identity of a kernel: comments name the user's lines, and equal layers share a kernel."""
    return re.sub(r"  # .*", "", source)


def key_of(source: str) -> str:
    """Everything that the machine code of a source depends on, as a hash."""
    return hashlib.sha256((toolchain(object_code.compiler()) + without_comments(source)).encode()).hexdigest()


def file(body: str) -> disk.File:
    """The file of the machine code of a source. The source is beside it."""
    key = key_of(header(body) + body)
    return disk.File(f"k{key[:24]}.o", key)


def made(body: str) -> bytes:
    """The content of that file."""
    return _kept(body, file(body))[0]


def at_hand(body: str) -> bool:
    """Whether `load` has nothing to compile."""
    wanted = file(body)
    return wanted.key in _loaded or (disk.at_hand(wanted) and all(at_hand(text) for text, _ in shared(body)))


def _kept(body: str, file: disk.File) -> tuple[bytes, bool]:
    make = partial(_made, header(body) + body, file.name.removesuffix(".o"))
    return disk.kept(*file, lambda: object_code.undisturbed(make))


def _made(source: str, name: str) -> bytes:
    """Compile a source, and write it beside the machine code."""
    try:
        with interpreter.paused():
            content = compiled(source, name)
    except (CompileError, MemoryError):
        raise
    except Exception as error:
        raise CompileError(f"a kernel does not compile: {type(error).__name__}: {error}", *source.splitlines()) from error
    disk.write(f"{name}.py", source.encode())
    return content


def compiled(source: str, name: str = "kernels") -> bytes:
    """The names of the kernels of a source, a line, and their object code; see `object_code.loaded`."""
    from .dialect import LINKED

    names, code = llvm_code(source, name)
    outside = sorted({*re.findall(r'(?m)^declare [^@]*@"?((?!llvm\.)[\w.$]+)', code)})
    if unknown := [symbol for symbol in outside if not (symbol in LINKED or symbol in SHARED or object_code.known(symbol))]:
        raise CompileError(f"the kernel {' '.join(names)} calls {', '.join(unknown)}, which is not there")
    inlined = [text for symbol in outside if symbol in LINKED for text in LINKED[symbol]]
    return f"{' '.join(names)}\n".encode() + object_code.compiled(code, inlined)


def llvm_code(source: str, name: str = "kernels") -> tuple[list[str], str]:
    """The names of the kernels of a source, and their LLVM code."""
    from .kernel_compiler import Kernel
    from .kernel_variables import TEXT

    if object_code.compiler() == "njit":
        from .numba_compiler import translated
    else:
        from .kernel_compiler import translated
    module = ModuleType(name)
    vars(module)[TEXT] = source
    exec(compile(source, f"<{name}.py>", "exec", dont_inherit=True), vars(module))
    kernels = [v for v in vars(module).values() if isinstance(v, Kernel)]
    return [kernel.function.__name__ for kernel in kernels], translated(kernels)


def prepare() -> None:
    """Import what compiles kernels, before there is one: a kernel without a line prepares LLVM, too."""
    body = "@kernel\ndef kernel(buffers, sizes, start, stop):\n    pass\n"
    compiled(header(body) + body)


OPEN = {"T": re.compile(r"(?<=_)[cfiu]\d+(?=_|$)"), "N": re.compile(r"(?<=_)\d+$")}
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
    text = common + kernels[general]
    return re.sub(r"(?<![A-Za-z0-9])[TN](?![A-Za-z0-9])", lambda letter: given.get(letter[0], letter[0]), text)


def library_kernels(name: str) -> list[str]:
    """The names of a file's kernels, with the letters of their parameters."""
    return [*_library(name)[1]]


@cache
def _library(name: str) -> tuple[str, dict[str, str]]:
    """The code that the kernels of a file share, and the text of each kernel."""
    parts = re.split(r"(?m)^(?=@(?:kernel|inline|outlined)\n)", _text(name))
    kernels = [part for part in parts if part.startswith("@kernel")]
    common = "".join(part for part in parts if part not in kernels)
    return common, {re.findall(r"def (\w+)", kernel)[0]: kernel for kernel in kernels}


def _text(name: str) -> str:
    with open(os.path.join(COMPILER, "kernels", f"{name}.py"), encoding="utf-8") as stream:
        return stream.read().split("# kernels\n", 1)[1]
