"""Kernels as plain Python: the same loops, the same values."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from staticgrad.base.dtypes import DTYPES, SHORT
from staticgrad.base.types import TensorType, bool_, float32, float64, int64
from staticgrad.compiler.backend import kernel_cache
from staticgrad.compiler.codegen import loop_ir as ir
from staticgrad.compiler.codegen.loop_ir import ROW_I, Expr, Kernel, Load, Statement
from staticgrad.compiler.codegen.printers import KERNEL, PYTHON
from staticgrad.compiler.execute.unjitted import Pointer, run_unjitted
from staticgrad.errors import DTypeError
from staticgrad.ir import REGISTRY, OpDef, Pointwise
from staticgrad.ir.op import arity

FLOATS = np.array([0.0, -0.0, 1.5, -2.5, np.nan, np.inf, -np.inf, 3.0, 1e-30])
INTEGERS = np.array([0, 1, -1, 7, -128, 127, 40, -3, 2])
POSITIVE = np.array([2, 1, 7, 3, 1, 2, 3, 5, 4])
"""Divisors and exponents of integers are checked before a kernel runs."""


def kernel(body: list[Statement], *dtypes: np.dtype) -> Kernel:
    """A kernel over elements [start, stop) of buffers b0, b1, ... of these dtypes."""
    pointers = tuple(ir.Pointer(f"b{i}", dtype, "") for i, dtype in enumerate(dtypes))
    return Kernel("kernel", pointers, (), (ir.loop("i", ir.START, ir.STOP, body),))


def native(loops: Kernel, buffers: list[np.ndarray], sizes: list[int], stop: int) -> None:
    found = kernel_cache.load(KERNEL.kernel(loops))["kernel"]
    addresses, extents = np.array([b.ctypes.data for b in buffers], np.int64), np.array(sizes, np.int64)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(found)
    call(addresses.ctypes.data, extents.ctypes.data, 0, stop)


def both(loops: Kernel, buffers: list[np.ndarray], out: int, sizes: list[int], stop: int) -> tuple[np.ndarray, np.ndarray]:
    """Buffer `out` after the native run, and after the run in Python."""
    results = []
    for run in (native, lambda loops, buffers, sizes, stop: run_unjitted(loops, buffers, sizes, 0, stop)):
        copies = [b.copy() for b in buffers]
        run(loops, copies, sizes, stop)
        results.append(copies[out])
    return results[0], results[1]


def takes(op: OpDef, dtype: np.dtype) -> bool:
    """Whether kernels have this elementwise op for operands of this dtype."""
    if not isinstance(op.emit, Pointwise) or not isinstance(op.emit.scalar, str) or op.attrs or op.shape_only:
        return False
    if op.name in ("real", "imag", "complex"):  # of complex memory, which none of these dtypes is
        return False
    types = [TensorType((), dtype)] * arity(op)[0]
    try:
        return op.promote is None or all(t == dtype for t in op.promote(types)[1:] or op.promote(types))
    except DTypeError:
        return False


SCALARS = sorted({op for op in REGISTRY.values() if any(takes(op, dtype) for dtype in DTYPES)}, key=lambda op: op.name)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_python_means_what_machine_code_does(dtype: np.dtype):
    """Every scalar operation of the records, on special values; all operations of a dtype are in one kernel."""
    ops = [op for op in SCALARS if takes(op, dtype)]
    assert len(ops) > 5
    x, y = (FLOATS, FLOATS[::-1]) if dtype.kind == "f" else (INTEGERS, POSITIVE)
    x, y, condition = np.tile(x, 3).astype(dtype), np.repeat(y, 3).astype(dtype), np.arange(27) % 2 == 0
    body: list[Statement] = []
    out = [np.zeros((len(ops), x.size), kind) for kind in (dtype, bool_)]
    for row, op in enumerate(ops):
        operands: tuple[Expr, ...] = (Load("b0", ROW_I, dtype), Load("b1", ROW_I, dtype))[: arity(op)[0]]
        if arity(op)[0] == 3:
            operands = Load("b4", ROW_I, bool_), *operands
        result = op.infer(*(TensorType((), bool_ if o.pointer == "b4" else dtype) for o in operands)).dtype
        value = ir.scalar(op.emit.scalar, operands, dtype, result)
        body.append(ir.Store("b2" if result == dtype else "b3", ROW_I + row * x.size, value, result))
    loops = kernel(body, dtype, dtype, dtype, bool_, bool_)
    for kind in (2, 3):
        got = both(loops, [x, y, *(o.reshape(-1) for o in out), condition], kind, [], x.size)
        for op, expected, python in zip(ops, *(g.reshape(len(ops), -1) for g in got), strict=True):
            np.testing.assert_allclose(python, expected, rtol=1e-6 if dtype == float32 else 1e-14, err_msg=op.name)


@pytest.mark.parametrize("result", DTYPES, ids=str)
@pytest.mark.parametrize("dtype", [bool_, np.dtype(np.int8), int64], ids=str)
def test_casts_and_reductions(dtype: np.dtype, result: np.dtype):
    x = INTEGERS.astype(dtype)
    cast = ir.scalar("cast", [Load("b0", ROW_I, dtype)], dtype, result)
    step = "plus" if result != bool_ else "maximum"
    total = Load("b2", ir.ZERO, result)
    body = [ir.Store("b1", ROW_I, cast, result), ir.Accumulate(total, step, Load("b1", ROW_I, result), result)]
    for out in (1, 2):
        buffers = [x, np.zeros(x.size, result), np.zeros(1, result)]
        native_result, python = both(kernel(body, dtype, result, result), buffers, out, [], x.size)
        np.testing.assert_array_equal(python, native_result)


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_draws(name: str, dtype: np.dtype):
    draw = ir.Draw(name, "b0", ir.Integer(2), ROW_I, dtype, 30)
    out = both(kernel([ir.Store("b1", ROW_I, draw, dtype)], int64, dtype), [np.array([3, 5]), np.zeros(9, dtype)], 1, [], 9)
    np.testing.assert_allclose(*out, rtol=1e-6 if dtype == float32 else 1e-14)


@pytest.mark.parametrize("transposed", [False, True])
def test_matrix_vector_products(transposed: bool):
    rng = np.random.default_rng(0)
    place = ir.ZERO
    product = ir.MatrixVector(
        transposed, ("b2", place), ("b0", place), ("b1", place), ir.Integer(3), ir.Integer(5), ir.Integer(7), float32
    )
    out = np.zeros(5 if transposed else 3, np.float32)
    loops = kernel([product], float32, float32, float32)
    got = both(loops, [rng.normal(size=21).astype("f"), rng.normal(size=5).astype("f"), out], 2, [], 1)
    np.testing.assert_allclose(*got, rtol=1e-5)
    assert got[0].any()


def test_compensated_sums():
    add = ir.CompensatedAdd(Load("b1", ir.ZERO, float64), Load("b2", ir.ZERO, float64), Load("b0", ROW_I, float64))
    buffers = [np.array([1.0, 1e-20, 1e-20]), np.zeros(1), np.zeros(1)]
    for out, expected in ((1, 1.0), (2, 2e-20)):
        assert both(kernel([add], float64, float64, float64), buffers, out, [], 3) == (expected, expected)


def test_pointers_refuse_what_lies_outside():
    pointer = Pointer(np.arange(4.0), 1)
    assert pointer[-1] == 0
    pointer[2] = 9
    assert pointer.array.tolist() == [0, 1, 2, 9]
    for place in (-2, 3):
        with pytest.raises(IndexError, match="of a buffer of 4"):
            pointer[place]
        with pytest.raises(IndexError, match="of a buffer of 4"):
            pointer[place] = 0


def plus_one(dtype: np.dtype) -> Kernel:
    value = ir.scalar("add", [Load("b0", ROW_I, dtype), ir.Literal(1, dtype)], dtype, dtype)
    return kernel([ir.Store("b1", ROW_I, value, dtype)], dtype, dtype)


def test_buffers_have_the_dtype_that_the_kernel_reads():
    with pytest.raises(TypeError, match="buffer 0 holds float64, the kernel reads float32"):
        run_unjitted(plus_one(float32), [np.zeros(3)] * 2, [], 0, 3)


def test_a_range_of_rows():
    out = np.zeros(4)
    run_unjitted(plus_one(float64), [np.zeros(4), out], [], 1, 3)
    assert out.tolist() == [0, 1, 1, 0]


def test_functions_have_the_names_of_scalar_operations():
    value = ir.scalar("tanh", [Load("b0", ROW_I, float32)], float32, float32)
    loops = kernel([ir.Store("b1", ROW_I, value, float32)], float32, float32)
    assert "b1[i] = tanh(b0[i])" in PYTHON.kernel(loops)
    assert "b1[i] = tanh_f32(b0[i])" in KERNEL.kernel(loops)
    assert SHORT[float32] == "f32"


def test_it_compiles_nothing():
    program = (
        "import numpy as np\n"
        "def refuse(*a, **k): raise AssertionError('compiled')\n"
        "from staticgrad.compiler.codegen import loop_ir as ir\n"
        "from staticgrad.compiler.execute.unjitted import run_unjitted\n"
        "from staticgrad.compiler.backend import code_generation\n"
        "code_generation.compiled = refuse\n"
        "f8 = np.dtype(float)\n"
        "exp = ir.scalar('exp', [ir.Load('x', ir.ROW_I, f8)], f8, f8)\n"
        "loop = ir.loop('i', ir.START, ir.STOP, [ir.Store('y', ir.ROW_I, exp, f8)])\n"
        "loops = ir.Kernel('kernel', (ir.Pointer('x', f8, ''), ir.Pointer('y', f8, '')), (), (loop,))\n"
        "out = np.zeros(4)\nrun_unjitted(loops, [np.zeros(4), out], [], 0, 4)\n"
        "assert out.tolist() == [1, 1, 1, 1]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
