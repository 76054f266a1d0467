"""Machine code: made of LLVM code, kept in the kernel cache, loaded into this process. Nothing here needs Numba.

A file of the cache is the SHA-256 of what follows, then object code: damaged files are found before they run.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ..errors import CompileError
from . import capsules

DIGEST = 32

_engines: list[Any] = []
"""What holds loaded code: it stays for as long as the process."""


@cache
def _machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=cpu, features=features, opt=2, reloc="default", codemodel="jitdefault", jit=True)


@cache
def cpu() -> str:
    """What machine code depends on besides its source: the CPU, and who made it."""
    features = sorted(llvm.get_host_cpu_features().items())
    return f"{llvmlite.__version__} {sys.version} {llvm.get_host_cpu_name()} {features}"


def compiled(code: str) -> bytes:
    """Object code of a text of LLVM code, optimised."""
    machine = _machine()
    module = llvm.parse_assembly(code)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    passes.getModulePassManager().run(module, passes)
    return machine.emit_object(module)


def known(name: str) -> bool:
    """Whether code can call a function of this name in every process: one of C, or a BLAS routine."""
    return name in map(capsules.symbol, capsules.ROUTINES) or hasattr(ctypes.CDLL(None), name)


def loaded(parts: Iterable[bytes], names: Iterable[str]) -> dict[str, int]:
    """The addresses of functions of object code that is linked together. Each call has its names for itself."""
    _machine()
    capsules.bind()
    target = llvm.Target.from_default_triple()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.create_target_machine(jit=True))
    for part in parts:
        engine.add_object_file(llvm.ObjectFileRef.from_data(part))
    engine.finalize_object()
    _engines.append(engine)
    return {name: engine.get_function_address(name) for name in names}


def kept_for(folder: Path, kind: str, files: Iterable[Path], make: Callable[[], bytes]) -> tuple[bytes, bool]:
    """The object code of one kind that the library's own files make, as `kept` has it: named by what is in them."""
    digest = hashlib.sha256((cpu() + kind).encode())
    for file in files:
        digest.update(file.read_bytes())
    return kept(folder / f"{kind}{digest.hexdigest()[:24]}.o", make)


def kept(file: Path, make: Callable[[], bytes]) -> tuple[bytes, bool]:
    """The content of a file of the cache, made where it is missing or damaged; whether it was there."""
    try:
        content = file.read_bytes()
        if content[:DIGEST] == hashlib.sha256(content[DIGEST:]).digest():
            return content[DIGEST:], True
    except OSError:
        pass
    content = make()
    written(file, hashlib.sha256(content).digest() + content)
    return content, False


def written(file: Path, content: bytes) -> None:
    """Write a file whole: nobody sees half of it. Raises CompileError when it can't be written, and leaves nothing."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(temporary, file)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise unwritable(file.parent, error) from None


def unwritable(folder: Path, error: OSError) -> CompileError:
    return CompileError(
        f"the kernel cache can't be written: {folder}: {error.strerror}",
        "make room there, or set STATICGRAD_CACHE_DIR to a folder of yours that can be written",
    )
