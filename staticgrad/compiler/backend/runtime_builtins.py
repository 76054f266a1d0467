"""The builtins of the runtime's language: memory and functions by address, all in int64 words."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from .kernel_compiler import entry  # noqa: F401 - a name of the runtime
from .kernel_types import Builtin, Operand, Value, int64
from .llvm import I32, I64, function

BYTE_POINTER = ir.IntType(8).as_pointer()


def instruction(emit: Callable[..., Any]) -> Builtin:
    """Make a builtin of a function that appends LLVM instructions and returns the word that they compute, or None."""

    def write(builder: ir.IRBuilder, *operands: Any) -> Operand:
        result = emit(builder, *operands)
        return None if result is None else Value(int64, result)

    return Builtin(emit.__name__, (int64,) * (emit.__code__.co_argcount - 1), write, emit.__doc__)


def _word(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, I64.as_pointer())


def _pointer(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, BYTE_POINTER)


def _callee(builder: Any, address: Any, result: Any, operands: list[Any]) -> Any:
    return builder.inttoptr(address, ir.FunctionType(result, operands).as_pointer())


# memory


@instruction
def peek(builder: Any, address: Any) -> Any:
    """The int64 at an address."""
    return builder.load(_word(builder, address))


@instruction
def poke(builder: Any, address: Any, value: Any) -> Any:
    """Write an int64 to an address."""
    builder.store(value, _word(builder, address))


@instruction
def peek_byte(builder: Any, address: Any) -> Any:
    """The byte at an address."""
    return builder.zext(builder.load(_pointer(builder, address)), I64)


@instruction
def copy_bytes(builder: Any, to: Any, source: Any, count: Any) -> Any:
    """Copy memory that does not overlap."""
    kind = ir.FunctionType(BYTE_POINTER, [BYTE_POINTER, BYTE_POINTER, I64])
    builder.call(function(builder, "memcpy", kind), [_pointer(builder, to), _pointer(builder, source), count])


@instruction
def resize(builder: Any, address: Any, size: Any) -> Any:
    """C's `realloc`: memory of `size` bytes with the content of that at `address` (0: none); 0 without memory."""
    kind = ir.FunctionType(BYTE_POINTER, [BYTE_POINTER, I64])
    return builder.ptrtoint(builder.call(function(builder, "realloc", kind), [_pointer(builder, address), size]), I64)


# memory that threads share


@instruction
def peek_shared(builder: Any, address: Any) -> Any:
    """The int64 at an address that other threads write (acquire)."""
    return builder.load_atomic(_word(builder, address), "acquire", 8)


@instruction
def poke_shared(builder: Any, address: Any, value: Any) -> Any:
    """Write an int64 to an address that other threads read (release)."""
    builder.store_atomic(value, _word(builder, address), "release", 8)


@instruction
def atomic_add(builder: Any, address: Any, value: Any) -> Any:
    """Add to the int64 at an address, atomically. Returns the old value."""
    return builder.atomic_rmw("add", _word(builder, address), value, "seq_cst")


@instruction
def exchange(builder: Any, address: Any, value: Any) -> Any:
    """Replace the int64 at an address, atomically. Returns the old value."""
    return builder.atomic_rmw("xchg", _word(builder, address), value, "seq_cst")


X86, ARM = ("x86_64", "AMD64", "i386", "i686"), ("aarch64", "arm64")


@instruction
def pause(builder: Any) -> Any:
    """Tell the CPU that this thread waits in a loop."""
    machine = platform.machine()
    if machine in X86:
        builder.call(function(builder, "llvm.x86.sse2.pause", ir.FunctionType(ir.VoidType(), [])), [])
    elif machine in ARM:
        hint = function(builder, "llvm.aarch64.hint", ir.FunctionType(ir.VoidType(), [I32]))
        builder.call(hint, [I32(1)])  # yield


@instruction
def nanoseconds(builder: Any) -> Any:
    """The monotonic clock."""
    with builder.goto_entry_block():
        place = builder.alloca(I64, 2)
    kind = ir.FunctionType(I32, [I32, I64.as_pointer()])
    builder.call(function(builder, "clock_gettime", kind), [I32(time.CLOCK_MONOTONIC), place])
    seconds, rest = builder.load(place), builder.load(builder.gep(place, [I64(1)]))
    return builder.add(builder.mul(seconds, I64(10**9)), rest)


# functions


@instruction
def call_kernel(builder: Any, address: Any, buffers: Any, sizes: Any, start: Any, stop: Any) -> Any:
    """Call `void kernel(void** buffers, int64* sizes, int64 start, int64 stop)`."""
    kind = [BYTE_POINTER.as_pointer(), I64.as_pointer(), I64, I64]
    pointers = builder.inttoptr(buffers, kind[0]), builder.inttoptr(sizes, kind[1])
    builder.call(_callee(builder, address, ir.VoidType(), kind), [*pointers, start, stop])


@instruction
def call_get(builder: Any, address: Any) -> Any:
    """Call `int f(void)`."""
    return builder.sext(builder.call(_callee(builder, address, I32, []), []), I64)


@instruction
def call_set(builder: Any, address: Any, value: Any) -> Any:
    """Call `void f(int)`."""
    builder.call(_callee(builder, address, ir.VoidType(), [I32]), [builder.trunc(value, I32)])


@instruction
def call_with(builder: Any, address: Any, first: Any, second: Any) -> Any:
    """Call `int f(void*, void*)`; a function of one pointer ignores the second."""
    callee = _callee(builder, address, I32, [BYTE_POINTER, BYTE_POINTER])
    return builder.sext(builder.call(callee, [_pointer(builder, first), _pointer(builder, second)]), I64)


def _call(builder: Any, address: Any, *operands: Any) -> Any:
    """Call the C function at an address. Pointers and integers are passed, and come back, in 64 bits."""
    return builder.call(_callee(builder, address, I64, [I64] * len(operands)), operands)


@instruction
def call_0(builder: Any, address: Any) -> Any:
    return _call(builder, address)


@instruction
def call_1(builder: Any, address: Any, a: Any) -> Any:
    return _call(builder, address, a)


@instruction
def call_2(builder: Any, address: Any, a: Any, b: Any) -> Any:
    return _call(builder, address, a, b)


@instruction
def call_3(builder: Any, address: Any, a: Any, b: Any, c: Any) -> Any:
    return _call(builder, address, a, b, c)


@instruction
def call_8(builder: Any, address: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
    return _call(builder, address, a, b, c, d, e, f, g, h)
