"""Intrinsics of the driver: memory and functions by address."""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def call_kernel(typingctx, address, buffers, sizes, start, stop):
    def codegen(context, builder, sig, args):
        i64, p = ir.IntType(64), ir.IntType(8).as_pointer()
        kernel = ir.FunctionType(ir.VoidType(), [p.as_pointer(), i64.as_pointer(), i64, i64])
        builder.call(
            builder.inttoptr(args[0], kernel.as_pointer()),
            [builder.inttoptr(args[1], p.as_pointer()), builder.inttoptr(args[2], i64.as_pointer()), args[3], args[4]],
        )
        return context.get_dummy_value()

    i = types.int64
    return types.void(i, i, i, i, i), codegen


@intrinsic
def peek(typingctx, address):
    """The int64 at an address."""

    def codegen(context, builder, sig, args):
        return builder.load(builder.inttoptr(args[0], ir.IntType(64).as_pointer()))

    return types.int64(types.int64), codegen


@intrinsic
def poke(typingctx, address, value):
    """Write an int64 to an address."""

    def codegen(context, builder, sig, args):
        builder.store(args[1], builder.inttoptr(args[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def atomic_add(typingctx, address, value):
    """Add to the int64 at an address; returns what it was."""

    def codegen(context, builder, sig, args):
        place = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", place, args[1], "seq_cst")

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def call_get(typingctx, address):
    """Call `int f(void)`."""

    def codegen(context, builder, sig, args):
        kind = ir.FunctionType(ir.IntType(32), [])
        return builder.sext(builder.call(builder.inttoptr(args[0], kind.as_pointer()), []), ir.IntType(64))

    return types.int64(types.int64), codegen


@intrinsic
def call_set(typingctx, address, value):
    """Call `void f(int)`."""

    def codegen(context, builder, sig, args):
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)])
        function = builder.inttoptr(args[0], kind.as_pointer())
        builder.call(function, [builder.trunc(args[1], ir.IntType(32))])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def peek_shared(typingctx, address):
    """The int64 at an address that other threads write; nothing that follows is read before it."""

    def codegen(context, builder, sig, args):
        return builder.load_atomic(builder.inttoptr(args[0], ir.IntType(64).as_pointer()), "acquire", 8)

    return types.int64(types.int64), codegen


@intrinsic
def poke_shared(typingctx, address, value):
    """Write an int64 to an address that other threads read; all that went before is written by then."""

    def codegen(context, builder, sig, args):
        place = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        builder.store_atomic(args[1], place, "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def exchange(typingctx, address, value):
    """Put a value to the int64 at an address; returns what it was."""

    def codegen(context, builder, sig, args):
        place = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("xchg", place, args[1], "seq_cst")

    return types.int64(types.int64, types.int64), codegen


X86, ARM = ("x86_64", "AMD64", "i386", "i686"), ("aarch64", "arm64")


@intrinsic
def pause(typingctx):
    """Tell the CPU that this thread waits in a loop."""

    def codegen(context, builder, sig, args):
        machine, i32 = platform.machine(), ir.IntType(32)
        if machine in X86:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        elif machine in ARM:
            kind = ir.FunctionType(ir.VoidType(), [i32])
            hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.aarch64.hint")
            builder.call(hint, [i32(1)])  # yield
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def call_with(typingctx, address, first, second):
    """Call `int f(void*, void*)`; a function of one pointer ignores the second."""

    def codegen(context, builder, sig, args):
        p = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.IntType(32), [p, p])
        operands = [builder.inttoptr(a, p) for a in args[1:]]
        return builder.sext(builder.call(builder.inttoptr(args[0], kind.as_pointer()), operands), ir.IntType(64))

    return types.int64(types.int64, types.int64, types.int64), codegen


@intrinsic
def peek_byte(typingctx, address):
    """The byte at an address."""

    def codegen(context, builder, sig, args):
        byte = builder.load(builder.inttoptr(args[0], ir.IntType(8).as_pointer()))
        return builder.zext(byte, ir.IntType(64))

    return types.int64(types.int64), codegen


@intrinsic
def resize(typingctx, address, size):
    """C's `realloc`: memory of `size` bytes with the content of that at `address` (0: none)."""

    def codegen(context, builder, sig, args):
        i64, p = ir.IntType(64), ir.IntType(8).as_pointer()
        realloc = cgutils.get_or_insert_function(builder.module, ir.FunctionType(p, [p, i64]), "realloc")
        return builder.ptrtoint(builder.call(realloc, [builder.inttoptr(args[0], p), args[1]]), i64)

    return types.int64(types.int64, types.int64), codegen


def _call(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Call the C function at an address. Pointers and integers are passed, and come back, in 64 bits."""
    i64 = ir.IntType(64)
    kind = ir.FunctionType(i64, [i64] * (len(args) - 1))
    return builder.call(builder.inttoptr(args[0], kind.as_pointer()), list(args[1:]))


@intrinsic
def call_0(typingctx, address):
    return types.int64(types.int64), _call


@intrinsic
def call_1(typingctx, address, a):
    return types.int64(types.int64, types.int64), _call


@intrinsic
def call_2(typingctx, address, a, b):
    return types.int64(*[types.int64] * 3), _call


@intrinsic
def call_3(typingctx, address, a, b, c):
    return types.int64(*[types.int64] * 4), _call


@intrinsic
def call_8(typingctx, address, a, b, c, d, e, f, g, h):
    return types.int64(*[types.int64] * 9), _call


@intrinsic
def copy_bytes(typingctx, to, source, count):
    """Copy memory that does not overlap."""

    def codegen(context, builder, sig, args):
        p = ir.IntType(8).as_pointer()
        cgutils.raw_memcpy(builder, builder.inttoptr(args[0], p), builder.inttoptr(args[1], p), args[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen
