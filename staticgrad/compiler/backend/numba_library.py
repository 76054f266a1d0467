"""LLVM code becomes object code by Numba's JIT: its code generator and target machine, its passes, its code library.

This is all of Numba that kernels need whose types are known: `kernel_compiler.py` and Numba's own front end
(`numba_compiler.py`) both end here. Numba does not load the code: what is in the cache, or comes from a worker, is loaded by
`object_code.py`, without the time that Numba takes to be imported. Settings of Numba's (`NUMBA_OPT`, say) are for the functions
of the user; they don't change kernels.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock

from .code_generation import OPTIMIZED, inline_variants, parsed, processor


class Library(JITCodeLibrary):
    """Numba's library, which ends in an object file."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Numba's passes over functions shrink what its front end writes, which is done."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Numba's passes over modules, without those before them that are for its reference counts."""
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)
        inline_variants(self._final_module, builder)

    def _finalize_specific(self) -> None:
        """Nothing is loaded."""

    def object_code(self) -> bytes:
        self._ensure_finalized()
        return bytes(self._codegen._tm.emit_object(self._final_module))


class _Codegen(JITCPUCodegen):
    """Numba's code generator for this CPU."""

    _library_class = Library

    def _get_host_cpu_name(self) -> str:
        return processor()[0]

    def _get_host_cpu_features(self) -> str:
        return processor()[1]

    def _customize_tm_options(self, options: dict[str, Any]) -> None:
        super()._customize_tm_options(options)
        options["opt"] = OPTIMIZED["opt"]

    def _pass_builder(self, **settings: Any) -> Any:
        return super()._pass_builder(**settings | OPTIMIZED)

    def _add_module(self, module: Any) -> None:
        """Nothing is loaded."""


@cache
def codegen() -> _Codegen:
    """The code generator of this process."""
    return _Codegen("staticgrad")


def compiled(code: str, inlined: Iterable[str] = ()) -> bytes:
    """The object code of a text of LLVM code, optimized. inlined: see `code_generation.parsed`."""
    with global_compiler_lock:
        library = codegen().create_library("kernels")
        library.add_llvm_module(parsed(code, inlined))
        return library.object_code()
