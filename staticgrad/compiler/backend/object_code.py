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

VARIANT = "staticgrad_lanes_"
"""How the names of functions of vectors begin that are inlined last."""

_engines: list[Any] = []
"""The owners of loaded code, which stays for the life of the process."""


class Made(NamedTuple):
    """Object code, whether it was in the kernel cache, and the addresses of its functions."""

    code: bytes
    found: bool
    addresses: dict[str, int]


class Level(NamedTuple):
    """How much LLVM does for code. machine: the level of its code generator."""

    machine: int
    passes: int
    across: bool
    """Whether scalars side by side become vectors."""


ROUTINES, KERNELS = Level(2, 2, True), Level(3, 3, False)


@cache
def _machine(level: int = 2) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=cpu, features=features, opt=level, reloc="default", codemodel="jitdefault", jit=True)


@cache
def cpu() -> str:
    """The CPU and the versions of the tools, which machine code depends on besides its source."""
    features = sorted(llvm.get_host_cpu_features().items())
    return f"{llvmlite.__version__} {sys.version} {llvm.get_host_cpu_name()} {features}"


def compiled(code: str, level: Level = ROUTINES) -> bytes:
    """The object code of a text of LLVM code, optimized."""
    machine = _machine(level.machine)
    module = llvm.parse_assembly(code)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=level.passes)
    options.slp_vectorization = level.across
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    _inline_variants(module, passes)
    return bytes(machine.emit_object(module))


def _inline_variants(module: Any, passes: Any) -> None:
    """Inline functions of vectors into the loops that call them, which are vectorized by now; see `elementary/rare.py`."""
    variants = [function for function in module.functions if function.name.startswith(VARIANT)]
    if variants:
        for function in variants:
            function.linkage = "linkonce_odr"  # gone once nothing calls it
        inliner = llvm.create_new_module_pass_manager()
        inliner.add_always_inliner_pass()
        inliner.add_global_dead_code_eliminate_pass()
        inliner.run(module, passes)


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
