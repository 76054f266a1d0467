"""From the source of kernels to machine code: kept on disk with the source beside it, and in this process while it is wanted.

`code(Wanted(text, "kernel"), when)` gives a `Code` whose address comes from the kernel cache, from a worker or from this
process. Both files of a kernel are named by a hash of the source, the modules that write code of it, LLVM's version and the
CPU.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Sequence
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from ...base import interpreter
from ...base.interpreter import module, rlock
from ...errors import CompileError
from . import disk_cache as disk
from . import object_code
from .abi import in_place

if TYPE_CHECKING:
    from .compile_pool import Job, Pool

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
    interpreter.debug("%d kernels %s: %s", len(found), "from the cache" if kept else "compiled", ", ".join(found))
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
    from .kernel_compiler import TEXT, Kernel

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


# code that is wanted: now, or as soon as a worker has made it ---------------------------------------------------------

# Machine code that instructions call, which may still have to be compiled: at once, or by the workers of
# `compile_pool.py`, which whoever runs it waits for.

TIERS = "STATICGRAD_TIERS"
"""The environment variable that has kernels compiled in this process, before the first run, where it is 0."""

NOW = -1.0
"""When code is compiled: at once, in this process. Any other time says when somebody is going to wait for it; see `Job`."""
SOON = 0.0
"""The time of a job for which somebody waits, or will at once."""

_jobs_lock = rlock()
_codes: dict[tuple[str, str], Code] = {}
_jobs: dict[str, Job] = {}
"""By the identities of their texts."""


OWN: dict[str, Callable[[], int]] = {}
"""By symbol, what finds the address of a kernel that calls a function of the user's; see `numba_functions.py`."""


def own(symbol: str) -> int:
    """The address of such a kernel; 0 where this process has none of this name."""
    find = OWN.get(symbol)
    return 0 if find is None else find()


def pool() -> Pool:
    """The workers of this process. One whose code is all in the cache does not import them."""
    found: Pool = module("staticgrad.compiler.backend.compile_pool").pool()
    return found


def tiers(due: float = SOON) -> float:
    """`NOW` where no workers compile, else that time."""
    return NOW if os.environ.get(TIERS, "1") == "0" else due


class Wanted(NamedTuple):
    """Machine code to call: a source (see `kernel_cache.py`), and the name of a function in it. Without a source, Numba has
    compiled a function of the user's in this process."""

    text: str
    name: str

    def find(self) -> int:
        """The address, after what has to be compiled is compiled in this process."""
        return load(self.text)[self.name] if self.text else own(self.name)


class Code:
    """The machine code of an instruction. address: 0 while a worker compiles it; shared: that of functions which it calls."""

    __slots__ = ("address", "job", "shared", "wanted")

    def __init__(self, wanted: Wanted, address: int = 0, job: Job | None = None, shared: Sequence[Code] = ()):
        self.wanted, self.address, self.job, self.shared = wanted, address, job, shared

    @property
    def over(self) -> bool:
        """Whether no worker is at it any more."""
        if any(not code.over for code in self.shared):
            return False
        if self.job is None or self.job.over:
            return True
        if self.job.pool is not pool():  # that of a parent, before it forked
            with _jobs_lock:
                self.job = _submitted(self.wanted, SOON, anew=True)
        return False

    def jobs(self) -> list[Job]:
        """Those of the workers of this process for it."""
        own = [] if self.job is None or self.job.pool is not pool() else [self.job]
        return [*own, *(job for code in self.shared for job in code.jobs())]

    def arrive(self) -> None:
        """Find the address, once the job is over. What no worker could compile is compiled now. Raises CompileError."""
        if self.address:
            return
        for code in self.shared:
            code.arrive()
        job = self.job
        if job is not None:
            for text in job.told:
                disk.tell(text, disk.where())  # workers warn of the folder alone
        ends = job is not None and job.pool is not None and job.pool.closed
        if ends and threading.current_thread() is not threading.main_thread():
            raise CompileError("the process ends")  # nobody waits for the kernels of another thread
        self.address = self.wanted.find()
        if job is not None and job.error and not ends:
            disk.tell(
                f"kernels are compiled in this process, which waits for them: {job.error}\n"
                f"  {TIERS}=0 does so without a warning",
                TIERS,
            )
        self.job = None
        with _jobs_lock:
            _jobs.pop(without_comments(self.wanted.text), None)


def code(wanted: Wanted, when: float) -> Code:
    """The machine code. when: it is compiled, where that has to be done: `NOW`, or see `Job.due`."""
    if when == NOW:
        return Code(wanted, wanted.find())
    key = without_comments(wanted.text), wanted.name
    with _jobs_lock:
        found = _codes.get(key)
        if found is None:
            if not wanted.text or at_hand(wanted.text):
                found = Code(wanted, wanted.find())
            else:
                parts = [code(Wanted(*each), when) for each in shared(wanted.text)]
                found = Code(wanted, 0, _submitted(wanted, when), parts)
            _codes[key] = found
        elif jobs := found.jobs():
            pool().hurry(jobs, when)
        return found


def arrive(codes: Sequence[Code]) -> None:
    """Wait for codes that workers compile, and find their addresses. Raises CompileError."""
    while left := [code for code in codes if not code.over]:
        pool().wait([job for code in left for job in code.jobs()])
    for code in codes:
        code.arrive()


def _submitted(wanted: Wanted, when: float, anew: bool = False) -> Job:
    """The job that compiles this. anew: the one there is belongs to another process."""
    key = without_comments(wanted.text)
    job = _jobs.get(key)
    if job is None or (anew and job.pool is not pool()):
        job = _jobs[key] = module("staticgrad.compiler.backend.compile_pool").Job(wanted.text, when)
        pool().submit(job)
    return job
