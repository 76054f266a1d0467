"""Machine code in an exported package: compiled from kernels that Numba typed, and loaded into this process.

This file is part of the package that `plan.export` writes, where the kernels' language imports it as `object_code`.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm

_engines: list[Any] = []
"""The owners of loaded code, which stays for the life of the process."""

ENTRY = """\
declare i32 @"{symbol}"(ptr, ptr, ptr, ptr, i64, i64)

define void @{name}(ptr %buffers, ptr %sizes, i64 %start, i64 %stop) {{
  %result = alloca ptr
  %error = alloca ptr
  call i32 @"{symbol}"(ptr %result, ptr %error, ptr %buffers, ptr %sizes, i64 %start, i64 %stop)
  ret void
}}
"""
"""A C function around a function with Numba's calling convention. Kernels raise nothing, so the error is ignored."""


class Made(NamedTuple):
    """Object code, whether it was found ready, and the addresses of its functions."""

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


def compiled(code: str) -> bytes:
    """The object code of a text of LLVM code, optimized."""
    machine = _machine()
    module = llvm.parse_assembly(code)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    passes.getModulePassManager().run(module, passes)
    return bytes(machine.emit_object(module))


def loaded(parts: Iterable[bytes], names: Iterable[str]) -> dict[str, int]:
    """The addresses of functions of object code that is linked together."""
    _machine()
    target = llvm.Target.from_default_triple()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.create_target_machine(jit=True))
    for part in parts:
        engine.add_object_file(llvm.ObjectFileRef.from_data(part))
    engine.finalize_object()
    _engines.append(engine)
    return {name: engine.get_function_address(name) for name in names}


def made_or_kept(kind: str, files: Iterable[Any], make: Callable[[], bytes], names: Iterable[str]) -> Made:
    """Functions that the language's own modules make."""
    code = make()
    return Made(code, False, loaded([code], names))


def load_kernels(package: str, file: Path) -> dict[str, int]:
    """The addresses of the kernels of a file. Their machine code is kept beside them, for this CPU and these versions, so that
    the next process needs no Numba; a file that is damaged is made again."""
    kept = file.parent.parent / "machine_code" / f"{file.stem}.{_key(file)[:24]}.o"
    parts = _read(kept)
    if parts is None:
        parts = _made(importlib.import_module(f".kernels.{file.stem}", package))
        _write(kept, parts)
    return {name: loaded(codes, [symbol])[symbol] for name, symbol, codes in parts}


def _made(module: Any) -> list[tuple[str, str, list[bytes]]]:
    """(name, symbol, object code) of the kernels of a module, which Numba has typed on import."""
    rare = importlib.import_module(".elementary.rare", __package__)
    found = []
    for name, kernel in vars(module).items():
        if type(kernel).__name__ == "Compiled":
            outside = sorted({*re.findall(r'(?m)^declare [^@]*@"?((?!llvm\.)[\w.$]+)', kernel.library.get_llvm_str())})
            called = dict.fromkeys(rare.CODE[symbol] for symbol in outside if symbol in rare.CODE)
            entry = compiled(ENTRY.format(name=kernel.name, symbol=kernel.symbol))
            found.append((name, kernel.name, [kernel.library._get_compiled_object(), entry, *called]))
    return found


def _key(file: Path) -> str:
    """All that the machine code of a kernel depends on, as a hash."""
    features = sorted(llvm.get_host_cpu_features().items())
    numba = importlib.metadata.version("numba")
    digest = hashlib.sha256(f"{llvmlite.__version__} {numba} {sys.version} {llvm.get_host_cpu_name()} {features}".encode())
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
