"""Machine code: compiled from LLVM code, kept in the kernel cache, loaded into this process. Nothing here needs Numba."""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm

from ...locks import unforked
from ...signals import uninterrupted
from . import blas_symbols, source_key
from . import disk_cache as disk

_engines: list[Any] = []
"""The owners of loaded code, which stays for the life of the process."""


class Made(NamedTuple):
    """Object code, whether it was in the kernel cache, and the addresses of its functions."""

    code: bytes
    found: bool
    addresses: dict[str, int]


@cache
def _machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=cpu, features=features, opt=2, reloc="default", codemodel="jitdefault", jit=True)


@cache
def cpu() -> str:
    """The CPU and the versions of the tools, which machine code depends on besides its source."""
    features = sorted(llvm.get_host_cpu_features().items())
    return f"{llvmlite.__version__} {sys.version} {llvm.get_host_cpu_name()} {features}"


def cpu_has(feature: str) -> bool:
    """Whether the CPU has an extension, by LLVM's name."""
    return bool(llvm.get_host_cpu_features().get(feature))


def compiled(code: str) -> bytes:
    """The object code of a text of LLVM code, optimized."""
    machine = _machine()
    module = llvm.parse_assembly(code)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    passes.getModulePassManager().run(module, passes)
    return bytes(machine.emit_object(module))


def known(name: str) -> bool:
    """Whether code can call a function of this name in every process: a C function, or a BLAS routine."""
    return name in map(blas_symbols.symbol, blas_symbols.ROUTINES) or hasattr(ctypes.CDLL(None), name)


def loaded(parts: Iterable[bytes], names: Iterable[str]) -> dict[str, int]:
    """The addresses of functions of object code that is linked together. Each call has a namespace of its own."""
    _machine()
    blas_symbols.bind()
    target = llvm.Target.from_default_triple()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.create_target_machine(jit=True))
    for part in parts:
        engine.add_object_file(llvm.ObjectFileRef.from_data(part))
    engine.finalize_object()
    _engines.append(engine)
    return {name: engine.get_function_address(name) for name in names}


def file_of(kind: str, files: Iterable[Path]) -> disk.File:
    """The file of one kind of object code. files: the modules that make it; those that they import belong to its key too."""
    digest = hashlib.sha256((cpu() + kind).encode())
    digest.update(source_key.digest(*files))
    key = digest.hexdigest()
    return disk.File(f"{kind}-{key[:24]}.o", key)


def made_or_kept(kind: str, files: Iterable[Path], make: Callable[[], bytes], names: Iterable[str]) -> Made:
    """Functions that the package's own modules make: object code of one kind. files: see `file_of`."""
    file = file_of(kind, files)

    def whole() -> Made:
        with unforked:
            code, found = disk.kept(*file, make)
            return Made(code, found, loaded([code], names))

    return uninterrupted(whole)
