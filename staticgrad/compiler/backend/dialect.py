"""The dialect of kernels: the names that generated files and the routines in `kernels/` import.

A kernel is `def name(buffers, sizes, start, stop)` under `@kernel`: `buffers` holds addresses, `sizes` int64
arguments, and `[start, stop)` is the range of outer iterations to run. `f32_at(buffers, 2)` is buffer 2 as a typed
pointer. Pointers of different numbers never overlap where one is written (the plan guarantees it), and loads and
stores carry that as scoped no-alias metadata: without it LLVM gives up vectorizing a loop over more than a handful of
arrays.

Source of the metadata: LLVM Language Reference, "noalias and alias.scope Metadata".
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from llvmlite.binding import create_new_module_pass_manager
from numba import njit, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu_options import FastMathOptions
from numba.core.registry import cpu_target
from numba.extending import intrinsic, lower_builtin, models, register_model

from .abi import MAX_BUFFERS
from .elementary import rare

BUFFERS = types.CPointer(types.voidptr)
SIZES = types.CPointer(types.int64)
SIGNATURE = types.void(BUFFERS, SIZES, types.int64, types.int64)

FLAGS = {"contract"}
"""A product and a sum may become one fused operation. Reassociation is not allowed: it would turn (x + x) - x into x, which is
not NaN where x is infinite."""

u8, i8, i16, i32, i64 = np.uint8, np.int8, np.int16, np.int32, np.int64
f32, f64 = np.float32, np.float64


class Compiled(NamedTuple):
    """A kernel as compiled by Numba: a function with Numba's calling convention, in a library of LLVM code."""

    name: str
    symbol: str
    library: Any


class Library(JITCodeLibrary):
    """LLVM code in which functions of vectors are inlined into the loops that call them; see `elementary.rare`."""

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        variants = [f for f in self._final_module.functions if f.name.startswith(rare.VARIANT)]
        if variants:
            for function in variants:
                function.linkage = "linkonce_odr"  # gone once nothing calls it
            passes = create_new_module_pass_manager()
            passes.add_always_inliner_pass()
            passes.add_global_dead_code_eliminate_pass()
            passes.run(self._final_module, self._codegen._pass_builder())


def kernel(fn: Any) -> Compiled:
    """Compile for the uniform signature. `kernel_cache.py` keeps and loads the machine code.

    Numba's wrappers for C and Python are left out: they hold the function a second time, and code for Python's errors.
    """
    flags: Any = Flags()
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    flags.fastmath = FastMathOptions(FLAGS)
    contexts = cpu_target.typing_context, cpu_target.target_context
    with global_compiler_lock:
        library = Library(cpu_target.target_context.codegen(), fn.__name__)
        library.enable_object_caching()
        made = compile_extra(*contexts, fn, SIGNATURE.args, SIGNATURE.return_type, flags, {}, library)
    return Compiled(fn.__name__, made.fndesc.llvm_func_name, made.library)


def inline(fn: Any) -> Any:
    """A helper that is inlined into the kernels that call it."""
    return njit(error_model="numpy", forceinline=True)(fn)


def merged(fn: Any) -> Any:
    """A helper that is inlined into the kernels that call it before types are inferred."""
    return njit(error_model="numpy", inline="always")(fn)


class Pointer(types.CPointer):
    """A pointer to one of the kernel's buffers: `scope` is the buffer's number."""

    def __init__(self, dtype: Any, scope: int):
        super().__init__(dtype)
        self.scope = scope
        self.name = f"buffer<{dtype}, {scope}>"

    @property
    def key(self) -> tuple[Any, int]:
        return self.dtype, self.scope


@register_model(Pointer)
class _PointerModel(models.PointerModel):
    pass


def _tag(module: Any, instruction: Any, scope: int) -> None:
    domain = module.add_metadata(["staticgrad"])
    scopes = [module.add_metadata([f"buffer {i}", domain]) for i in range(MAX_BUFFERS)]
    instruction.set_metadata("alias.scope", module.add_metadata([scopes[scope]]))
    instruction.set_metadata("noalias", module.add_metadata([s for i, s in enumerate(scopes) if i != scope]))


def _load(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    value = builder.load(builder.gep(args[0], [args[1]], inbounds=True))
    _tag(builder.module, value, sig.args[0].scope)
    return value


def _store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    value = context.cast(builder, args[2], sig.args[2], sig.args[0].dtype)
    instruction = builder.store(value, builder.gep(args[0], [args[1]], inbounds=True))
    _tag(builder.module, instruction, sig.args[0].scope)
    return context.get_dummy_value()


lower_builtin(operator.getitem, Pointer, types.Integer)(_load)
lower_builtin(operator.setitem, Pointer, types.Integer, types.Any)(_store)


def _reader(element: Any, llvm: Any) -> Any:
    def read(typingctx: Any, buffers: Any, number: Any) -> Any:
        if not isinstance(number, types.IntegerLiteral):
            return None
        position = number.literal_value

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            pointer = builder.gep(args[0], [ir.Constant(ir.IntType(64), position)])
            return builder.bitcast(builder.load(pointer), llvm.as_pointer())

        return Pointer(element, position)(BUFFERS, number), codegen

    return intrinsic(prefer_literal=True)(read)


f32_at = _reader(types.float32, ir.FloatType())
f64_at = _reader(types.float64, ir.DoubleType())
u8_at = _reader(types.uint8, ir.IntType(8))
i8_at = _reader(types.int8, ir.IntType(8))
i16_at = _reader(types.int16, ir.IntType(16))
i32_at = _reader(types.int32, ir.IntType(32))
i64_at = _reader(types.int64, ir.IntType(64))
bool_at = u8_at  # NumPy keeps booleans in bytes


def _plus(number: Any) -> Any:
    """One step of a sum. The order of the steps is free, so that a loop of them is vectorized."""

    def plus(typingctx: Any, total: Any, x: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.fadd(*args, flags=("reassoc", "nsz", "contract"))

        return number(number, number), codegen

    return intrinsic(plus)


plus_f32 = _plus(types.float32)
plus_f64 = _plus(types.float64)


def _choice(relation: str) -> Any:
    """The lesser, or the greater, of two numbers. Python's `min` and `max`, which these replace in kernels, accept any tuple
    in Numba: that costs 0.1 s of compile time and makes code that raises."""

    def choice(typingctx: Any, x: Any, y: Any) -> Any:
        number = typingctx.unify_types(x, y)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            compare = builder.fcmp_ordered if isinstance(number, types.Float) else builder.icmp_signed
            return builder.select(compare(relation, *args), *args)

        return number(number, number), codegen

    return intrinsic(choice)


min = _choice("<")
max = _choice(">")


# Small functions of kernels; the transcendental ones are in `elementary`.


@inline
def relu_f32(x: Any) -> Any:
    return f32(0) if x <= f32(0) else x  # NaN is not <= 0, so it stays


@inline
def relu_f64(x: Any) -> Any:
    return f64(0) if x <= f64(0) else x


@inline
def relu_int(x: Any) -> Any:
    return 0 if x <= 0 else x


@inline
def sign_f32(x: Any) -> Any:
    return f32(1) if x > f32(0) else (f32(-1) if x < f32(0) else f32(0))


@inline
def sign_f64(x: Any) -> Any:
    return f64(1) if x > f64(0) else (f64(-1) if x < f64(0) else f64(0))


@inline
def sign_int(x: Any) -> Any:
    return 1 if x > 0 else (-1 if x < 0 else 0)


@inline
def plus_int(total: Any, x: Any) -> Any:
    return total + x


@inline
def maximum_int(x: Any, y: Any) -> Any:
    return x if x > y else y


@inline
def minimum_int(x: Any, y: Any) -> Any:
    return x if x < y else y


@inline
def maximum_bool(x: Any, y: Any) -> Any:
    return x | y


@inline
def minimum_bool(x: Any, y: Any) -> Any:
    return x & y
