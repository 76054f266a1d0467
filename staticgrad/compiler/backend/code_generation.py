"""LLVM without Numba: from its code to object code, and from that to addresses in this process.

This file imports nothing of the package: exported packages have a copy of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import Any

import llvmlite.binding as llvm

VARIANT = "staticgrad_lanes_"
"""How the names of functions of vectors begin that are inlined last."""

OPTIMIZED = {"opt": 3, "loop_vectorize": True, "slp_vectorize": False}
"""How much LLVM does. Scalars side by side need not become vectors: the loops of kernels do, and other code is written for
vectors."""

GENERATED = 'define void @"kernel"('
"""How a generated kernel begins. None of its strides is 1 in a run, so LLVM must not guess that one of them is, and leave all
others to a loop of single elements. Routines have strides of 1."""

WHOLE_VECTORS = "-prefer-256-bit"
"""LLVM halves the vectors of Intel's CPUs with AVX-512, lest a program with few wide instructions run at a lower clock for
them. Products compute with whole vectors anyway, and elementary functions take a third less time with them."""

_engines: list[Any] = []
"""The owners of loaded code, which stays for the life of the process."""


def processor() -> tuple[str, str]:
    """(name, features) of the CPU that code is for: this one, or the one that STATICGRAD_CPU names."""
    chosen = os.environ.get("STATICGRAD_CPU", "native")
    if chosen != "native":
        return chosen, WHOLE_VECTORS if chosen == "x86-64-v4" else ""
    features = llvm.get_host_cpu_features().flatten()
    return llvm.get_host_cpu_name(), f"{features},{WHOLE_VECTORS}" if "+avx512f" in features else features


@cache
def machine() -> Any:
    """The code generator for this CPU."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = processor()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=OPTIMIZED["opt"], reloc="default", codemodel="jitdefault", jit=True
    )


def compiled(code: str, inlined: Iterable[str] = ()) -> bytes:
    """The object code of a text of LLVM code, optimized. inlined: see `parsed`."""
    return bytes(machine().emit_object(optimized(code, inlined)))


def parsed(code: str, inlined: Iterable[str] = ()) -> Any:
    """The module of a text of LLVM code. inlined: texts of functions that it calls."""
    llvm.set_option("", f"-enable-mem-access-versioning={'false' if GENERATED in code else 'true'}")
    module = llvm.parse_assembly(code)
    for text in inlined:
        part = llvm.parse_assembly(text)
        part.triple, part.data_layout = module.triple, module.data_layout
        module.link_in(part)
    module.verify()
    return module


def optimized(code: str, inlined: Iterable[str] = ()) -> Any:
    """The module of a text of LLVM code, optimized. inlined: see `parsed`."""
    module = parsed(code, inlined)
    module.triple, module.data_layout = machine().triple, str(machine().target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=OPTIMIZED["opt"])
    options.loop_vectorization, options.slp_vectorization = OPTIMIZED["loop_vectorize"], OPTIMIZED["slp_vectorize"]
    passes = llvm.create_pass_builder(machine(), options)
    passes.getModulePassManager().run(module, passes)
    inline_variants(module, passes)
    return module


def inline_variants(module: Any, passes: Any) -> None:
    """Inline functions of vectors into the loops that call them, which are vectorized by now; see
    `elementary/primitives.py`."""
    variants = [function for function in module.functions if function.name.startswith(VARIANT)]
    if variants:
        for function in variants:
            function.linkage = "linkonce_odr"  # gone once nothing calls it
        inliner = llvm.create_new_module_pass_manager()
        inliner.add_always_inliner_pass()
        inliner.add_global_dead_code_eliminate_pass()
        inliner.run(module, passes)


def loaded(code: bytes, names: Iterable[str]) -> dict[str, int]:
    """The addresses of functions of object code. Each call has a namespace of its own."""
    machine()
    target = llvm.Target.from_default_triple()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.create_target_machine(jit=True))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return {name: engine.get_function_address(name) for name in names}
