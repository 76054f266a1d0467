"""Functions that users compile with Numba, as machine code of plans.

`Compiled.kernel` is a kernel that calls such a function for each item of a batch, by Numba's calling convention, and stops at
the first exception; Numba compiles it when a plan first needs its address. `Compiled.inline` is the LLVM code of a function of
numbers that raises nothing, which becomes part of the kernels that call it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import from_dtype, njit, types
from numba.core import cgutils, errors
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher, cpu_target
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import as_dtype

from . import kernel_cache, object_code

I64 = ir.IntType(64)
ERRORS = errors.NumbaError
PYTHON = re.compile(r"call [^@\n]*@(numba_gil_ensure|PyGILState_Ensure)\b")
"""A call that takes Python's lock, as `print` and errors of BLAS do."""
DRAWS = re.compile(r"@numba_(get_np_random_state|get_py_random_state|rnd_)")
DEAR, CALLS = 20, re.compile(r"(?m)^ *(?:%\S+ = )?(?:tail |musttail )?call ")
"""The cost of a call in additions."""


class OperandType(NamedTuple):
    """The type of an operand or of a result of a function: an array of this rank in row-major order, or a number."""

    dtype: np.dtype
    rank: int


class Unsupported(Exception):
    """Why a function is no operation."""


def is_compiled(function: Any) -> bool:
    """Whether a function is one under `@njit`."""
    return isinstance(function, CPUDispatcher)


def declared(function: Any) -> list[tuple[OperandType, ...]]:
    """The types of the operands in the signatures that a function was defined with; [] where it has none."""
    if function._can_compile:
        return []
    return [tuple(map(_kind, arguments)) for arguments in function.overloads]


def _kind(kind: Any) -> OperandType:
    if isinstance(kind, types.Array):
        return OperandType(as_dtype(kind.dtype), kind.ndim)
    if isinstance(kind, (types.Number, types.Boolean)):
        return OperandType(as_dtype(kind), 0)
    raise Unsupported(f"a value of type {kind} is neither a number nor an array of numbers")


class Compiled:
    """A function under `@njit`, compiled for operands of these types. Raises Unsupported, and Numba's errors."""

    def __init__(self, function: Any, operands: Sequence[OperandType], name: str):
        self.operands = tuple(operands)
        arguments = tuple(
            types.Array(from_dtype(dtype), rank, "C", readonly=True, aligned=True) if rank else from_dtype(dtype)
            for dtype, rank in operands
        )
        if not function._can_compile:  # it has signatures of its own, whose arrays it might change
            options = {name: value for name, value in function.targetoptions.items() if name != "nopython"}
            function = njit(**options)(function.py_func)
        function.compile(arguments)
        self.function: Any = function
        self.made = function.overloads[arguments]
        if self.made.objectmode or self.made.lifted:
            raise Unsupported("it runs in object mode, which is Python")
        result = self.made.signature.return_type
        self.several = isinstance(result, types.BaseTuple)
        self.results = tuple(map(_kind, result if self.several else [result]))
        code = str(self.made.library._get_module_for_linking())
        found = re.search(rf'(?ms)^define [^@\n]*@"?{re.escape(self.made.fndesc.llvm_func_name)}"?\(.*?^}}', code)
        if DRAWS.search(code):
            raise Unsupported("it draws random numbers, of which no seed of this library knows: make them operands")
        code = _without_entries(code)
        self.alone = PYTHON.search(code) is not None
        """Whether only the thread that runs a plan may call it."""
        self.body = "" if found is None else found[0]
        self.cost = max(self.body.count("\n") - 4, 1) + DEAR * len(CALLS.findall(self.body))
        self.digest = hashlib.sha256(f"{_anonymous(code)} {operands} {self.results}".encode()).hexdigest()
        self.symbol = f"{re.sub(r'[^A-Za-z0-9]', '_', name)}_{self.digest[:12]}"

    @property
    def raises(self) -> bool:
        """Whether it may raise an exception: whether it returns any other status than 0."""
        return not self.body or any(status != "0" for status in re.findall(r"(?m)^  ret i32 (\S+)", self.body))

    def inline(self, dtype: np.dtype) -> str:
        """The LLVM code of the function as one of numbers that returns its result in this dtype; "" where it takes or gives
        arrays, may raise, or calls what is not in every process."""
        if self.raises or self.several or any(kind.rank for kind in (*self.operands, *self.results)):
            return ""
        context, signature = cpu_target.target_context, self.made.signature
        result = from_dtype(dtype)
        with global_compiler_lock:
            operands = [context.get_value_type(kind) for kind in signature.args]
            writer = _Writer(self, self.symbol, operands, context.get_value_type(result))
            _, found = writer.call(writer.function.args)
            writer.builder.ret(context.cast(writer.builder, found, signature.return_type, result))
            text = str(writer.finished()._final_module)
        outside = {*re.findall(r'(?m)^declare [^@]*@"?((?!llvm\.)[\w.$]+)', text)}
        if not all(map(object_code.known, outside)):
            return ""
        return _anonymous(re.sub(r'(?m)^(@"?_ZN08NumbaEnv.*|; ModuleID.*|source_filename.*)\n', "", text))

    def kernel(self, dtype: np.dtype, axes: Sequence[Sequence[int]], checked: bool) -> Kernel:
        """The kernel of this function with results of this dtype. axes: of each operand, then of each result, the numbers of
        its extents in the sizes. checked: it has a status."""
        return Kernel(self, dtype, tuple(map(tuple, axes)), checked)


class Kernel:
    """A kernel that calls a function for items [start, stop) of a batch.

    Its buffers are the operands, the results one after another in one buffer, and the status. Its sizes are the step of each
    operand from item to item, in elements; the place of each result in the buffer, in elements; and the extents. The first item
    for which the function raises an exception, or gives a result of another shape, is the number in the status.
    """

    def __init__(self, of: Compiled, dtype: np.dtype, axes: tuple[tuple[int, ...], ...], checked: bool):
        self.of, self.dtype, self.axes, self.checked = of, dtype, axes, checked
        how = hashlib.sha256(f"{of.digest} {dtype} {axes} {checked}".encode()).hexdigest()
        self.symbol = f"{of.symbol}_{how[:8]}"
        kernel_cache.OWN.setdefault(self.symbol, self.address)

    @cache  # noqa: B019 - it lives as long as the process
    def address(self) -> int:
        """The address of its machine code."""
        return object_code.undisturbed(self._compiled)

    def _compiled(self) -> int:
        with global_compiler_lock:
            writer = _Writer(self.of, self.symbol, [I64.as_pointer(), I64.as_pointer(), I64, I64], ir.VoidType())
            start, stop = writer.function.args[2:]
            with cgutils.for_range_slice(writer.builder, start, stop, I64(1), I64) as (item, _):
                self._item(writer, item)
            writer.builder.ret_void()
            library = writer.finished()
            return int(library.get_pointer_to_function(self.symbol))

    def _item(self, w: _Writer, item: Any) -> None:
        buffers, sizes = w.function.args[:2]
        builder, context, of = w.builder, w.context, self.of
        count, results = len(of.operands), len(of.results)

        def size(number: int) -> Any:
            return builder.load(builder.gep(sizes, [I64(number)]))

        def start(number: int, kind: Any, first: Any) -> Any:
            """The address of an element of a buffer."""
            place = builder.inttoptr(
                builder.load(builder.gep(buffers, [I64(number)])), context.get_data_type(kind).as_pointer()
            )
            return builder.gep(place, [first])

        arguments = []
        for i, kind in enumerate(of.made.signature.args):
            shape = [size(count + results + axis) for axis in self.axes[i]]
            element = kind.dtype if of.operands[i].rank else kind
            place = start(i, element, builder.mul(size(i), item))
            arguments.append(w.array(kind, place, shape) if shape else w.load(kind, place))
        status, found = w.call(arguments)
        given = cgutils.unpack_tuple(builder, found) if of.several else [found]
        kinds = of.made.signature.return_type
        kinds = [*kinds] if of.several else [kinds]
        if self.checked:
            with builder.if_then(status.is_error, likely=False):
                self._stop(w, item)
        to = from_dtype(self.dtype)
        shapes = [[size(count + results + axis) for axis in axes] for axes in self.axes[count:]]
        wrong = cgutils.false_bit
        for kind, value, shape in zip(kinds, given, shapes, strict=True):
            extents = cgutils.unpack_tuple(builder, make_array(kind)(context, builder, value).shape) if shape else []
            for extent, expected in zip(extents, shape, strict=True):
                wrong = builder.or_(wrong, builder.icmp_signed("!=", extent, expected))
        if self.checked and wrong is not cgutils.false_bit:
            with builder.if_then(wrong, likely=False):
                w.release(found)
                self._stop(w, item)
        for i, (kind, value, shape) in enumerate(zip(kinds, given, shapes, strict=True)):
            size_of = I64(1)
            for extent in shape:
                size_of = builder.mul(size_of, extent)
            first = builder.add(size(count + i), builder.mul(item, size_of))
            w.store(kind, value, shape, to, start(count, to, first))
        w.release(found)

    def _stop(self, w: _Writer, item: Any) -> None:
        place = w.builder.load(w.builder.gep(w.function.args[0], [I64(len(self.of.operands) + 1)]))
        words = w.builder.inttoptr(place, I64.as_pointer())
        w.builder.store(I64(1), words)
        w.builder.store(item, w.builder.gep(words, [I64(1)]))
        w.builder.ret_void()


class _Writer:
    """Writes one function that calls the user's into a library of Numba's."""

    def __init__(self, of: Compiled, name: str, operands: Sequence[Any], result: Any):
        self.of, self.context = of, cpu_target.target_context.subtarget(enable_nrt=True)
        self.library = self.context.codegen().create_library(name)
        self.module = self.library.create_ir_module(name)
        self.function = ir.Function(self.module, ir.FunctionType(result, operands), name)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))

    def call(self, arguments: Sequence[Any]) -> tuple[Any, Any]:
        """The status and the result."""
        made, convention = self.of.made, self.context.call_conv
        result, kinds = made.signature.return_type, made.signature.args
        callee = cgutils.get_or_insert_function(
            self.module, convention.get_function_type(result, kinds), made.fndesc.llvm_func_name
        )
        return convention.call_function(self.builder, callee, result, kinds, [*arguments])

    def load(self, kind: Any, place: Any) -> Any:
        return self.context.unpack_value(self.builder, kind, place)

    def array(self, kind: Any, place: Any, shape: Sequence[Any]) -> Any:
        """An array in row-major order."""
        item = I64(np.dtype(as_dtype(kind.dtype)).itemsize)
        strides = [item]
        for extent in reversed(shape[1:]):
            strides.insert(0, self.builder.mul(strides[0], extent))
        made = make_array(kind)(self.context, self.builder)
        populate_array(made, data=place, shape=shape, strides=strides, itemsize=item, meminfo=None)
        return made._getvalue()

    def store(self, kind: Any, value: Any, shape: Sequence[Any], to: Any, place: Any) -> None:
        """Store a result, cast to a dtype, in row-major order."""
        builder, context = self.builder, self.context
        if not shape:
            context.pack_value(builder, to, context.cast(builder, value, kind, to), place)
            return
        source = make_array(kind)(context, builder, value)
        with cgutils.loop_nest(builder, shape, I64) as indices:
            at = I64(0)
            for index, extent in zip(indices, shape, strict=True):
                at = builder.add(builder.mul(at, extent), index)
            read = cgutils.get_item_pointer(context, builder, kind, source, indices)
            element = context.cast(builder, context.unpack_value(builder, kind.dtype, read), kind.dtype, to)
            context.pack_value(builder, to, element, builder.gep(place, [at]))

    def release(self, found: Any) -> None:
        """Let go of the memory of a result."""
        self.context.nrt.decref(self.builder, self.of.made.signature.return_type, found)

    def finished(self) -> Any:
        """The library, compiled with the user's function."""
        self.context.post_lowering(self.module, self.library)
        self.library.add_ir_module(self.module)
        self.library.add_linking_library(self.of.made.library)
        self.library.finalize()
        return self.library


def _anonymous(code: str) -> str:
    """LLVM code without the numbers that Numba gives functions in the order in which a process compiles them."""
    names: dict[str, str] = {}
    return re.sub(r"_ZN[\w.$]+", lambda found: names.setdefault(found[0], f"_ZN{len(names)}"), code)


def _without_entries(code: str) -> str:
    """LLVM code without the functions by which Python calls what Numba compiled, and without their texts."""
    return re.sub(r'(?ms)^define [^@\n]*@"?(_ZN7cpython|cfunc\.).*?^}|^@"\.const\.missing Environment.*?$', "", code)
