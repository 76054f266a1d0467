"""The driver that cuts the rows of a plan over OpenMP threads.

Chunk t of n covers the range [start + len * t // n, start + len * (t + 1) // n): for a given number of chunks the result does
not depend on which thread runs which. Kernels that accumulate have as many rows as chunks, and a closing row of their own.
"""

# kernels
from llvmlite import ir
from numba import njit, prange, types
from numba.extending import intrinsic

from staticgrad.compiler.table import ROW


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


@njit("int64(int64, int64, int64, int64)", nogil=True, parallel=True, cache=True)
def run_parallel(table: int, first: int, last: int, status: int) -> int:
    """Rows [first, last), each cut into its number of chunks. Returns the row that reported an error, or -1."""
    for r in range(first, last):
        row = table + 8 * ROW * r
        kernel, buffers, sizes, start, stop = peek(row), peek(row + 8), peek(row + 16), peek(row + 24), peek(row + 32)
        chunks = peek(row + 40)
        if chunks <= 1:
            call_kernel(kernel, buffers, sizes, start, stop)
        else:
            span = stop - start
            for t in prange(chunks):
                call_kernel(kernel, buffers, sizes, start + span * t // chunks, start + span * (t + 1) // chunks)
        if peek(row + 48) != 0 and peek(status) != 0:
            return r
    return -1
