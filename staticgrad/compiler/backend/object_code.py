"""Object code becomes functions of this process, with the C library's and BLAS's routines bound to the names that kernels call.

A process whose code is all in the cache imports neither Numba nor LLVM, where the linker below can link the code. Otherwise
Numba's JIT compiles LLVM code, and LLVM loads it.
"""

from __future__ import annotations

import ctypes
import importlib.util
import mmap
import os
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple, TypeVar

import llvmlite

from ...base.interpreter import extension, folders, module, unforked, uninterrupted
from ...errors import CompileError
from .cpu import L2, description

# the BLAS and LAPACK that SciPy ships: the addresses of their routines ------------------------------------------------

# SciPy's wheels have an OpenBLAS beside them, which is loaded without SciPy: in 4 ms instead of 60. Elsewhere SciPy's
# modules of capsules tell the addresses.

BLAS, LAPACK = ("gemm", "trsm"), ("potrf", "potri", "getrf", "geqrf", "orgqr", "ungqr")
KINDS = {"orgqr": "sd", "ungqr": "cz"}
"""The letters of kinds of numbers, of routines that don't exist for all of them."""
ROUTINES = tuple([f"{letter}{name}" for name in (*BLAS, *LAPACK) for letter in KINDS.get(name, "sdcz")])
WHEELS = ("../scipy.libs", ".dylibs")
"""The folders of a wheel's libraries, as seen from SciPy's."""
PREFIX = "scipy_"
"""How the names of all functions begin in the OpenBLAS of the wheels."""


def symbol(name: str) -> str:
    """The symbol of a routine in kernels. Addresses differ from process to process, and machine code is kept on disk."""
    return f"staticgrad_{name}"


def bind(others: Mapping[str, int]) -> None:
    """Define the symbols, and these, for code that LLVM loads from now on."""
    import llvmlite.binding as binding

    for name, address in {**{symbol(name): address_of(name) for name in ROUTINES}, **others}.items():
        binding.add_symbol(name, address)


@cache
def openblas() -> ctypes.CDLL | None:
    """The library of SciPy's wheels, the very one that SciPy itself loads; None where SciPy was built otherwise."""
    for folder in folders():
        for place in WHEELS:
            where = os.path.realpath(os.path.join(folder, place))
            for name in sorted(os.listdir(where) if os.path.isdir(where) else ()):
                if not name.startswith("libscipy_openblas"):
                    continue
                library = ctypes.CDLL(os.path.join(where, name))
                if all(hasattr(library, f"{PREFIX}{name}_") for name in ROUTINES):  # not in one for 64-bit extents
                    return library
    return None


def thread_functions() -> list[Any] | None:
    """OpenBLAS's functions that get and set its number of threads; None where SciPy was built with another BLAS."""
    library = openblas()
    if library is not None:
        return [library[f"{PREFIX}openblas_{which}_num_threads"] for which in ("get", "set")]
    capsules("blas")
    for found in module("threadpoolctl").ThreadpoolController().lib_controllers:
        if found.internal_api == "openblas" and "scipy" in os.path.basename(os.path.dirname(found.filepath)):
            prefix, suffix = found._symbol_prefix, found._symbol_suffix
            return [getattr(found.dynlib, f"{prefix}openblas_{which}_num_threads{suffix}") for which in ("get", "set")]
    return None


def capsules(library: str) -> ModuleType:
    """SciPy's module of capsules of "blas" or "lapack"."""
    return extension(f"scipy.linalg.cython_{library}")


@cache
def address_of(name: str) -> int:
    """The address of a routine."""
    library = openblas()
    if library is not None:
        found: Any = ctypes.cast(library[f"{PREFIX}{name}_"], ctypes.c_void_p).value
        return int(found)
    capsule = capsules("lapack" if name[1:] in LAPACK else "blas").__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address: int = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return address


# the linker -----------------------------------------------------------------------------------------------------------

# Links object code into this process: what LLVM's linker does too, without the time that llvmlite takes to be imported.
#
# It knows the code that LLVM makes for x86-64 and ELF, whose references are whole addresses (the large code model). Other code
# is left to LLVM. Format: System V Application Binary Interface, AMD64 supplement, and ELF-64.

MAGIC = b"\x7fELF\x02\x01\x01"
"""64 bits, little-endian."""
HEADER = 64
"""Bytes of a file's header."""
RELOCATABLE, X86_64 = 1, 62
SYMBOLS, RELOCATIONS, ZEROS = 2, 4, 8
WRITABLE, LOADED = 1, 2
LOCAL = 0
ADDRESS, DISTANCE = 1, 24
"""Relocations: the address of a symbol, and its distance from the place."""
UNWINDING = 0x70000001
"""Sections with tables for exceptions, which nothing throws."""
WORD = struct.Struct("<Q")

_mappings: list[mmap.mmap] = []
"""The loaded code, which stays for the life of the process."""


class Section(NamedTuple):
    """A section's header."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class Symbol(NamedTuple):
    """An entry of a table of symbols."""

    name: str
    binding: int
    section: int
    value: int


class Unknown(Exception):
    """Code that this linker leaves to LLVM."""


class Part:
    """One object file. Raises Unknown."""

    def __init__(self, code: bytes):
        if len(code) < HEADER or code[:7] != MAGIC or struct.unpack_from("<HH", code, 16) != (RELOCATABLE, X86_64):
            raise Unknown
        self.code = code
        (table,), (count,) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<H", code, 60)
        self.sections = [Section._make(struct.unpack_from("<IIQQQQIIQQ", code, table + 64 * i)) for i in range(count)]
        loaded = {
            i: section for i, section in enumerate(self.sections)
            if section.flags & LOADED and section.size and section.kind != UNWINDING
        }  # fmt: skip
        if any(section.flags & WRITABLE or section.kind == ZEROS for section in loaded.values()):
            raise Unknown
        self.places: dict[int, int] = {}
        """Of sections, from the beginning of the mapping."""
        self.size = 0
        for i, section in loaded.items():
            align = max(section.align, 1)
            self.places[i] = -(-self.size // align) * align
            self.size = self.places[i] + section.size
        self.symbols = list(self._symbols())

    def _symbols(self) -> Iterator[Symbol]:
        for section in self.sections:
            if section.kind == SYMBOLS:
                names = self.sections[section.link].offset
                for at in range(section.offset, section.offset + section.size, 24):
                    name, info, _, where, value, _ = struct.unpack_from("<IBBHQQ", self.code, at)
                    end = self.code.index(b"\0", names + name)
                    yield Symbol(self.code[names + name : end].decode(), info >> 4, where, value)

    def relocations(self) -> Iterator[tuple[int, int, Symbol, int]]:
        """(place, kind, symbol, addend) of each reference."""
        for section in self.sections:
            if section.kind == RELOCATIONS and section.info in self.places:
                for at in range(section.offset, section.offset + section.size, 24):
                    offset, info, addend = struct.unpack_from("<QQq", self.code, at)
                    yield self.places[section.info] + offset, info & 0xFFFFFFFF, self.symbols[info >> 32], addend


def linked(code: bytes, outside: Callable[[str], int]) -> Mapping[str, int] | None:
    """The addresses of the functions of an object file; None where it is code for LLVM's linker.

    outside: the address of a function that the file does not have; 0 where there is none. Raises CompileError for such
    functions, and where the system does not let memory be executed.
    """
    try:
        part = Part(code)
        memory = mmap.mmap(-1, max(part.size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        _write(part, memory, start, outside)
    except Unknown:
        return None
    if _protect()(start, len(memory), mmap.PROT_READ | mmap.PROT_EXEC):
        raise CompileError("the system does not let machine code be executed: mprotect failed")
    _mappings.append(memory)
    return {
        symbol.name: start + part.places[symbol.section] + symbol.value
        for symbol in part.symbols
        if symbol.binding != LOCAL and symbol.section in part.places
    }


def _write(part: Part, memory: mmap.mmap, start: int, outside: Callable[[str], int]) -> None:
    """Copy the sections of a file, and fill in the addresses that they refer to. Raises Unknown."""
    for i, place in part.places.items():
        section = part.sections[i]
        memory[place : place + section.size] = part.code[section.offset : section.offset + section.size]
    for place, kind, symbol, addend in part.relocations():
        if symbol.section in part.places:
            address = start + part.places[symbol.section] + symbol.value
        elif symbol.binding == LOCAL:
            raise Unknown
        elif not (address := outside(symbol.name)):
            raise CompileError(f"machine code calls {symbol.name}, which is not there")
        if kind not in (ADDRESS, DISTANCE):
            raise Unknown
        value = address + addend - (start + place if kind == DISTANCE else 0)
        WORD.pack_into(memory, place, value & 0xFFFFFFFFFFFFFFFF)


@cache
def _protect() -> Callable[[int, int, int], int]:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    found: Callable[[int, int, int], int] = function
    return found


Result = TypeVar("Result")


COMPILER = "STATICGRAD_KERNELS"
"""The environment variable that chooses the compiler of kernels and of the runtime."""
COMPILERS = {
    "numba": "Numba's code library compiles what the package's own front end has typed",
    "njit": "Numba types and compiles",
    "llvm": "LLVM without Numba compiles what the package's own front end has typed",
}


DEFAULT = "numba"


def compiler() -> str:
    """The compiler by its name. Raises CompileError for an unknown one."""
    chosen = os.environ.get(COMPILER, DEFAULT)
    if chosen not in COMPILERS:
        raise CompileError(f"{COMPILER}={chosen}: it is {', '.join([*COMPILERS][:-1])} or {[*COMPILERS][-1]}")
    return chosen


@cache
def tools(compiler: str) -> str:
    """The CPU with its cache, and the versions of the tools, which machine code depends on besides its source."""
    found = f"{compiler} {llvmlite.__version__} {sys.version} {description()} {L2}"
    if compiler == "llvm":
        return found
    spec = importlib.util.find_spec("numba")  # finds it without loading it
    assert spec is not None
    assert spec.origin is not None
    with open(os.path.join(os.path.dirname(spec.origin), "_version.py")) as stream:
        return found + stream.read()


def compiled(code: str, inlined: Iterable[str] = ()) -> bytes:
    """The object code of a text of LLVM code. inlined: texts of functions that it calls."""
    if compiler() == "llvm":
        from .code_generation import compiled
    else:
        from .numba_library import compiled
    return compiled(code, inlined)


def known(name: str) -> bool:
    """Whether code can call a function of this name in every process: a C function, or a routine of BLAS or LAPACK."""
    return name in _routines() or hasattr(ctypes.CDLL(None), name)


@cache
def _routines() -> dict[str, str]:
    """Routines of BLAS and LAPACK by the symbols of kernels."""
    return {symbol(name): name for name in ROUTINES}


def _outside(name: str) -> int:
    """The address of a function that is no machine code of ours; 0 where there is none."""
    if name in _routines():
        return address_of(_routines()[name])
    function = getattr(ctypes.CDLL(None), name, None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def loaded(content: bytes, shared: Mapping[str, Callable[[], int]] = MappingProxyType({})) -> dict[str, int]:
    """The addresses of functions by their names: of a line with these names, and object code, which is linked with BLAS and the
    C library. Each call has a namespace of its own. shared: what finds the address of a function of other object code, by its
    name."""
    line, _, code = content.partition(b"\n")
    names = line.decode().split()
    others = {name: find() for name, find in shared.items() if name.encode() in code and name not in names}
    addresses = linked(code, lambda name: others.get(name) or _outside(name))
    if addresses is not None:
        return {name: addresses[name] for name in names}

    def by_llvm() -> dict[str, int]:
        from . import code_generation

        bind(others)
        return code_generation.loaded(code, names)

    return undisturbed(by_llvm)


def undisturbed(work: Callable[[], Result]) -> Result:
    """The result of work of LLVM's, which survives neither an exception of a signal handler at an arbitrary place nor a fork.
    Code that is in the cache and that `py` links needs no such care, nor the thread that it takes."""

    def whole() -> Result:
        with unforked:
            return work()

    return uninterrupted(whole)
