"""The native driver: walks a plan's table and calls each row's kernel. The same compiled functions serve every plan.

A row of the table is ROW int64 numbers: kernel address, address of its buffer list, address of its sizes, start, stop, number
of chunks to cut the range into, whether to look at the status afterwards, and one to spare.
"""

# kernels
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from staticgrad.compiler.table import DATA_OFFSET, ROW


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


@njit("void(int64)", nogil=True, cache=True)
def hold_blas(hold: int) -> None:
    """Put BLAS at one thread while somebody holds it. hold: holders, threads before, get and set functions."""
    if atomic_add(hold, 1) == 0:
        poke(hold + 8, call_get(peek(hold + 16)))
        call_set(peek(hold + 24), 1)


@njit("void(int64)", nogil=True, cache=True)
def release_blas(hold: int) -> None:
    """The last holder restores the number of threads."""
    if atomic_add(hold, -1) == 1:
        call_set(peek(hold + 24), peek(hold + 8))


@njit("void(int64, int64, int64)", nogil=True, cache=True)
def bind(patches: int, count: int, objects: int) -> None:
    """Write the data pointers of the caller's arrays where kernels read them.

    patches: rows of (which object, address to write, bytes to add); objects: ids of the ndarrays.
    """
    for p in range(count):
        which, to, add = peek(patches + 24 * p), peek(patches + 24 * p + 8), peek(patches + 24 * p + 16)
        poke(to, peek(peek(objects + 8 * which) + DATA_OFFSET) + add)


@njit("int64(int64, int64, int64, int64)", nogil=True, cache=True)
def run(table: int, first: int, last: int, status: int) -> int:
    """Rows [first, last) in this thread. Returns the row that reported an error, or -1."""
    for r in range(first, last):
        row = table + 8 * ROW * r
        kernel, buffers, sizes, start, stop = peek(row), peek(row + 8), peek(row + 16), peek(row + 24), peek(row + 32)
        call_kernel(kernel, buffers, sizes, start, stop)
        if peek(row + 48) != 0 and peek(status) != 0:
            return r
    return -1


@njit("int64(int64, int64, int64, int64, int64, int64, int64, int64)", nogil=True, cache=True)
def step(patches: int, count: int, objects: int, table: int, first: int, last: int, status: int, hold: int) -> int:
    """`bind`, then `run`, with BLAS held where `hold` is not 0: the usual step in one call."""
    bind(patches, count, objects)
    if hold == 0:
        return run(table, first, last, status)
    hold_blas(hold)
    failed = run(table, first, last, status)
    release_blas(hold)
    return failed
