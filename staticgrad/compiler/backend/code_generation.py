"""LLVM: from its code to object code, and from that to addresses in this process.

This file imports nothing of the package: exported packages have a copy of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import llvmlite.binding as llvm

VARIANT = "staticgrad_lanes_"
"""How the names of functions of vectors begin that are inlined last."""

_engines: list[Any] = []
"""The owners of loaded code, which stays for the life of the process."""


class Level(NamedTuple):
    """How much LLVM does for code. machine: the level of its code generator."""

    machine: int
    passes: int
    across: bool
    """Whether scalars side by side become vectors."""


WHOLE_VECTORS = "-prefer-256-bit"
"""LLVM halves the vectors of Intel's CPUs with AVX-512, lest a program with few wide instructions run at a lower clock for
them. Products compute with whole vectors anyway, and elementary functions take a third less time with them."""

ROUTINES, KERNELS = Level(2, 2, True), Level(3, 3, False)
"""Of code that is written for LLVM by hand, and of kernels, whose loops are to be vectorized."""


@cache
def machine(level: int = 2) -> Any:
    """The code generator for this CPU."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    if "+avx512f" in features:
        features += f",{WHOLE_VECTORS}"
    return target.create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="default", codemodel="jitdefault", jit=True
    )


def compiled(code: str, level: Level = ROUTINES, inlined: Iterable[str] = ()) -> bytes:
    """The object code of a text of LLVM code, optimized. inlined: texts of functions that it calls."""
    return bytes(machine(level.machine).emit_object(optimized(code, level, inlined)))


def optimized(code: str, level: Level = ROUTINES, inlined: Iterable[str] = ()) -> Any:
    """The module of a text of LLVM code, optimized. inlined: texts of functions that it calls."""
    target = machine(level.machine)
    module = llvm.parse_assembly(code)
    for text in inlined:
        part = llvm.parse_assembly(text)
        for function in part.functions:
            if not function.is_declaration:
                function.linkage = "linkonce_odr"  # gone once nothing calls it
                function.add_function_attribute("alwaysinline")
        module.link_in(part)
    module.triple, module.data_layout = target.triple, str(target.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=level.passes)
    options.slp_vectorization = level.across
    passes = llvm.create_pass_builder(target, options)
    passes.getModulePassManager().run(module, passes)
    _inline_variants(module, passes)
    return module


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


def loaded(parts: Iterable[bytes], names: Iterable[str]) -> dict[str, int]:
    """The addresses of functions of object code that is linked together. Each call has a namespace of its own."""
    machine()
    target = llvm.Target.from_default_triple()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.create_target_machine(jit=True))
    for part in parts:
        engine.add_object_file(llvm.ObjectFileRef.from_data(part))
    engine.finalize_object()
    _engines.append(engine)
    return {name: engine.get_function_address(name) for name in names}
