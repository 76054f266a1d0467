"""The builtins of the runtime's language: memory and functions by address, all in int64 words."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from .cpu import ARM, X86
from .kernel_compiler import entry  # noqa: F401 - a name of the runtime
from .kernel_types import Builtin, Operand, Value, int64
from .llvm import I32, I64, Int, function

BYTE = ir.IntType(8)
POINTER = BYTE.as_pointer()


def instruction(emit: Callable[..., Any]) -> Builtin:
    """Make a builtin of a function that appends LLVM instructions and returns the word that they compute, or None."""
    return _builtin(emit.__name__, emit.__code__.co_argcount - 1, emit)


def _builtin(name: str, count: int, emit: Callable[..., Any]) -> Builtin:
    def write(builder: ir.IRBuilder, *operands: Any) -> Operand:
        result = emit(builder, *(Int(builder, x) for x in operands))
        return None if result is None else Value(int64, result)

    return Builtin(name, (int64,) * count, write, emit.__doc__)


def _called(builder: Any, callee: str | Int, result: Any, kinds: Sequence[Any], *operands: Any) -> Any:
    """Call a C function, by its name or its address, with operands of these types."""
    kind = ir.FunctionType(result, kinds)
    found = callee.place(kind) if isinstance(callee, Int) else function(builder, callee, kind)
    return builder.call(found, operands)


# memory


@instruction
def peek(builder: Any, address: Int) -> Any:
    """The int64 at an address."""
    return address.word().value


@instruction
def poke(builder: Any, address: Int, value: Int) -> None:
    """Write an int64 to an address."""
    builder.store(value.value, address.place(I64))


@instruction
def peek_byte(builder: Any, address: Int) -> Any:
    """The byte at an address."""
    return builder.zext(builder.load(address.place(BYTE)), I64)


@instruction
def copy_bytes(builder: Any, to: Int, source: Int, count: Int) -> None:
    """Copy memory that does not overlap."""
    _called(builder, "memcpy", POINTER, [POINTER, POINTER, I64], to.place(BYTE), source.place(BYTE), count.value)


@instruction
def resize(builder: Any, address: Int, size: Int) -> Any:
    """C's `realloc`: memory of `size` bytes with the content of that at `address` (0: none); 0 without memory."""
    return builder.ptrtoint(_called(builder, "realloc", POINTER, [POINTER, I64], address.place(BYTE), size.value), I64)


# memory that threads share


@instruction
def peek_shared(builder: Any, address: Int) -> Any:
    """The int64 at an address that other threads write (acquire)."""
    return builder.load_atomic(address.place(I64), "acquire", 8)


@instruction
def poke_shared(builder: Any, address: Int, value: Int) -> None:
    """Write an int64 to an address that other threads read (release)."""
    builder.store_atomic(value.value, address.place(I64), "release", 8)


@instruction
def atomic_add(builder: Any, address: Int, value: Int) -> Any:
    """Add to the int64 at an address, atomically. Returns the old value."""
    return builder.atomic_rmw("add", address.place(I64), value.value, "seq_cst")


@instruction
def exchange(builder: Any, address: Int, value: Int) -> Any:
    """Replace the int64 at an address, atomically. Returns the old value."""
    return builder.atomic_rmw("xchg", address.place(I64), value.value, "seq_cst")


@instruction
def pause(builder: Any) -> None:
    """Tell the CPU that this thread waits in a loop."""
    machine = platform.machine()
    if machine in X86:
        _called(builder, "llvm.x86.sse2.pause", ir.VoidType(), [])
    elif machine in ARM:
        _called(builder, "llvm.aarch64.hint", ir.VoidType(), [I32], I32(1))  # yield


@instruction
def float_mode(builder: Any) -> Any:
    """How this thread rounds, and whether it takes subnormal numbers for 0: the register for that, 0 on CPUs unknown here."""
    if platform.machine() in ARM:
        return _called(builder, "llvm.aarch64.get.fpcr", I64, [])
    if platform.machine() not in X86:
        return I64(0)
    with builder.goto_entry_block():
        place = builder.alloca(I32)
    _called(builder, "llvm.x86.sse.stmxcsr", ir.VoidType(), [POINTER], builder.bitcast(place, POINTER))
    return builder.zext(builder.load(place), I64)


@instruction
def set_float_mode(builder: Any, mode: Int) -> None:
    """Have this thread compute as the one that read `mode`."""
    if platform.machine() in ARM:
        _called(builder, "llvm.aarch64.set.fpcr", ir.VoidType(), [I64], mode.value)
    elif platform.machine() in X86:
        with builder.goto_entry_block():
            place = builder.alloca(I32)
        builder.store(builder.trunc(mode.value, I32), place)
        _called(builder, "llvm.x86.sse.ldmxcsr", ir.VoidType(), [POINTER], builder.bitcast(place, POINTER))


@instruction
def yield_cpu(builder: Any) -> None:
    """Let the system run another thread."""
    _called(builder, "sched_yield", I32, [])


@instruction
def nanoseconds(builder: Any) -> Any:
    """The monotonic clock."""
    with builder.goto_entry_block():
        place = builder.alloca(I64, 2)
    _called(builder, "clock_gettime", I32, [I32, I64.as_pointer()], I32(time.CLOCK_MONOTONIC), place)
    seconds, rest = builder.load(place), builder.load(builder.gep(place, [I64(1)]))
    return builder.add(builder.mul(seconds, I64(10**9)), rest)


# functions


@instruction
def call_kernel(builder: Any, address: Int, buffers: Int, sizes: Int, start: Int, stop: Int) -> None:
    """Call `void kernel(void** buffers, int64* sizes, int64 start, int64 stop)`."""
    kinds = [POINTER.as_pointer(), I64.as_pointer(), I64, I64]
    _called(builder, address, ir.VoidType(), kinds, buffers.place(POINTER), sizes.place(I64), start.value, stop.value)


@instruction
def call_get(builder: Any, address: Int) -> Any:
    """Call `int f(void)`."""
    return builder.sext(_called(builder, address, I32, []), I64)


@instruction
def call_set(builder: Any, address: Int, value: Int) -> None:
    """Call `void f(int)`."""
    _called(builder, address, ir.VoidType(), [I32], builder.trunc(value.value, I32))


@instruction
def call_with(builder: Any, address: Int, first: Int, second: Int) -> Any:
    """Call `int f(void*, void*)`; a function of one pointer ignores the second."""
    return builder.sext(_called(builder, address, I32, [POINTER] * 2, first.place(BYTE), second.place(BYTE)), I64)


def _call(builder: Any, address: Int, *operands: Int) -> Any:
    """Call the C function at an address. Pointers and integers are passed, and come back, in 64 bits."""
    return _called(builder, address, I64, [I64] * len(operands), *(x.value for x in operands))


call_0, call_1, call_2, call_3, call_8 = (_builtin(f"call_{count}", 1 + count, _call) for count in (0, 1, 2, 3, 8))
