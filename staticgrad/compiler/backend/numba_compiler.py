"""From the source of kernels and of the runtime to LLVM code, by Numba's own front end. `kernel_compiler.py` reads the same
language in a tenth of the time, and what either writes becomes object code in `numba_library.py`.

With `STATICGRAD_KERNELS=njit` all code comes through here. A function that a kernel calls becomes Numba's when the kernel is
compiled, and a builtin an intrinsic whose code is that of the builtin.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba import from_dtype, njit, types
from numba.core.compiler import Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu_options import FastMathOptions
from numba.core.registry import cpu_target
from numba.extending import intrinsic, lower_builtin, models, register_model

from . import kernel_types
from . import kernel_types as kinds
from .kernel_compiler import Kernel, Outlined
from .kernel_types import Builtin, Operand, Scopes, Type, Value
from .numba_library import Library, codegen

ENTRY = """
define {type} @{name}({parameters}) {{
  %result = alloca i64
  %error = alloca ptr
  call i32 @"{symbol}"(ptr %result, ptr %error, {parameters})
  %word = load i64, ptr %result
  ret {type}{value}
}}
"""
"""A C function around a function with Numba's calling convention. Kernels raise nothing, so the error is ignored."""

NUMBERS = {kinds.address: types.voidptr} | {ours: from_dtype(numpy) for numpy, ours in kinds.OF_NUMPY.items()}
OF_NUMBA = {numba: ours for ours, numba in NUMBERS.items()}


class _Pointer(types.CPointer):
    """A pointer to elements of one of the kernel's buffers."""

    def __init__(self, pointer: kinds.Pointer):
        super().__init__(NUMBERS[kinds.float32 if isinstance(pointer.dtype, kinds.Half) else pointer.dtype])
        self.pointer = pointer
        self.name = f"{pointer}, {pointer.scope}"

    @property
    def key(self) -> tuple[Any, int]:
        return self.pointer.dtype, self.pointer.scope


@register_model(_Pointer)
class _PointerModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: _Pointer):
        super().__init__(manager, kind, kind.pointer.llvm)


def _numba(kind: Type) -> Any:
    """Numba's type for one of ours."""
    if isinstance(kind, kinds.Pointer):
        return types.CPointer(NUMBERS[kind.dtype]) if kind.scope < 0 else _Pointer(kind)
    return NUMBERS[kind]


def _ours(numba: Any) -> Type:
    """Our type for one of Numba's."""
    plain = types.unliteral(numba)
    if isinstance(plain, _Pointer):
        return plain.pointer
    if isinstance(plain, types.CPointer):
        return {BUFFERS: kinds.BUFFERS, SIZES: kinds.SIZES}[plain]
    return OF_NUMBA[plain]


BUFFERS, SIZES = _numba(kinds.BUFFERS), _numba(kinds.SIZES)


class _Library(Library):
    """LLVM code as Numba's front end writes it, not optimized."""

    def _optimize_final_module(self) -> None:
        pass


def _load(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    pointer = sig.args[0].pointer
    half = isinstance(pointer.dtype, kinds.Half)
    read = builder.load(builder.gep(args[0], [args[1]], inbounds=True))
    _scopes(builder.module).tag(read, pointer.scope)
    return pointer.dtype.widened(builder, read) if half else read


def _store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    pointer = sig.args[0].pointer
    written = context.cast(builder, args[2], sig.args[2], sig.args[0].dtype)
    if isinstance(pointer.dtype, kinds.Half):
        written = pointer.dtype.rounded(builder, written)
    _scopes(builder.module).tag(builder.store(written, builder.gep(args[0], [args[1]], inbounds=True)), pointer.scope)
    return context.get_dummy_value()


def _scopes(module: Any) -> Scopes:
    """The scopes of a module, made once for it."""
    if not hasattr(module, "staticgrad_scopes"):
        module.staticgrad_scopes = Scopes(module)
    return module.staticgrad_scopes


lower_builtin(operator.getitem, _Pointer, types.Integer)(_load)
lower_builtin(operator.setitem, _Pointer, types.Integer, types.Any)(_store)


def translated(kernels: Sequence[Kernel]) -> str:
    """The LLVM code of kernels. Raises Numba's errors."""
    flags: Any = Flags()
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
    flags.error_model = "numpy"
    flags.fastmath = FastMathOptions({*kernel_types.CONTRACT})
    contexts = cpu_target.typing_context, cpu_target.target_context
    texts = []
    with global_compiler_lock:
        library = _Library(codegen(), "kernels")
        made = [
            compile_extra(*contexts, _callable(k.function), [*map(_numba, k.operands)], _result_of(k), flags, {}, library)
            for k in kernels
        ]
        library._ensure_finalized()  # links what the kernels call
    for kernel, one in zip(kernels, made, strict=True):
        symbol = one.fndesc.llvm_func_name
        library._final_module.get_function(symbol).linkage = "internal"
        parameters = ", ".join(f"{_word(kind)} %operand{i}" for i, kind in enumerate(kernel.operands))
        shape = {"type": "i64", "value": " %word"} if kernel.words else {"type": "void", "value": ""}
        texts.append(ENTRY.format(name=kernel.function.__name__, symbol=symbol, parameters=parameters, **shape))
    return str(library._final_module) + "".join(texts)


def _result_of(kernel: Kernel) -> Any:
    return types.int64 if kernel.words else types.void


def _word(kind: Type) -> str:
    return "ptr" if isinstance(kind, kinds.Pointer) else "i64"


def _callable(function: FunctionType) -> FunctionType:
    """The function with the names that it uses as Numba knows them."""
    scope = {name: _known(value) for name, value in function.__globals__.items() if name in _names(function.__code__)}
    return FunctionType(function.__code__, {**scope, "__name__": __name__}, function.__name__)


def _names(code: Any) -> set[str]:
    return {*code.co_names}.union(*(_names(c) for c in code.co_consts if hasattr(c, "co_names")))


def _known(value: Any) -> Any:
    if isinstance(value, Builtin):
        return _intrinsic(value)
    if isinstance(value, (Kernel, Outlined)):
        value = value.function
    return _function(value) if isinstance(value, FunctionType) else value


@cache
def _function(function: FunctionType) -> Any:
    """A function that kernels call. Those of a kernel's own text get numbers and functions that are known where they are
    called, so they are inlined before Numba infers types."""
    own = function.__code__.co_filename.startswith("<")
    return njit(error_model="numpy", **({"inline": "always"} if own else {"forceinline": True}))(_callable(function))


@cache
def _intrinsic(builtin: Builtin) -> Any:
    """A builtin as Numba's intrinsic."""

    def typed(typingctx: Any, *given: Any) -> Any:
        if len(given) != len(builtin.operands):
            return None
        operands = []
        for kind, one in zip(builtin.operands, given, strict=True):
            if kind is int and not isinstance(one, types.IntegerLiteral):
                return None
            operands.append(one if kind is int else types.unliteral(one) if kind in (None, kinds.Pointer) else _numba(kind))
        signature = _result(builtin, tuple(operands))(*operands)

        def codegen(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
            found = _write(builtin, sig.args, builder, args)
            if isinstance(found, tuple):
                return context.make_tuple(builder, sig.return_type, [one.llvm for one in found])
            return context.get_dummy_value() if found is None else found.llvm

        return signature, codegen

    return _with_parameters(typed, len(builtin.operands), builtin.name)


def _with_parameters(typed: Callable[..., Any], count: int, name: str) -> Any:
    """An intrinsic with so many parameters, which Numba reads from the function's signature."""
    parameters = ", ".join(["typingctx", *(f"operand{i}" for i in range(count))])
    scope: dict[str, Any] = {"typed": typed}
    exec(f"def {name}({parameters}):\n    return typed({parameters})\n", scope)
    return intrinsic(prefer_literal=True)(scope[name])


def _write(builtin: Builtin, numba: Sequence[Any], builder: Any, args: Sequence[Any]) -> Operand:
    """Write a builtin's code for operands of Numba's types."""
    operands: list[Any] = []
    for kind, of, arg in zip(builtin.operands, numba, args, strict=True):
        if kind is int:
            operands.append(of.literal_value)
        else:
            operands.append(Value(_ours(of), arg) if kind in (None, kinds.Pointer) else arg)
    return builtin.write(builder, *operands)


@cache
def _result(builtin: Builtin, numba: tuple[Any, ...]) -> Any:
    """The type of a builtin's result, which its code tells: it is written into a module that is thrown away."""
    module = ir.Module()
    given = [ir.IntType(64) if kind is int else _ours(of).llvm for kind, of in zip(builtin.operands, numba, strict=True)]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), given), "typing")
    found = _write(builtin, numba, ir.IRBuilder(function.append_basic_block()), function.args)
    if isinstance(found, tuple):
        return types.Tuple([_numba(one.type) for one in found])
    return types.void if found is None else _numba(found.type)
