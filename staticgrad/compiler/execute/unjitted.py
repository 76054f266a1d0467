"""Slow runs that look closely: kernels as plain Python for a debugger, and the replay that finds where a NaN came from.

`plan.run_unjitted(...)` runs the same loops with nothing compiled. Buffers are `Pointer`s, which raise where native code
would silently read or write outside their memory. Under `detect_anomaly` a run that ends in NaN is replayed by the evaluator
of graphs.
"""

from __future__ import annotations

import ctypes
import linecache
import zlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.dtypes import SHORT
from ...base.types import FLOATING, INEXACT
from ...errors import AnomalyError
from ...ir import REGISTRY, Cell, Node, OpDef, Pointwise, Subgraph
from ...ir.graph import interpret, watched
from ...ops.random import normal_op, stream_op, uniform_op
from ..backend.abi import COUNT, ENTER, EXIT, GO, GROWING, HEAD, MOVES, REVERSE, START, UNLESS, N, T
from ..codegen.loop_ir import Kernel
from ..codegen.printers import PYTHON
from ..lower.instructions import Instruction, memory_of

if TYPE_CHECKING:
    from .plan import Plan


class Pointer:
    """A pointer to element `at` of a flat array; indices of either sign are allowed. Raises IndexError outside the array."""

    __slots__ = ("array", "at")

    def __init__(self, array: np.ndarray, at: int = 0):
        self.array, self.at = array, at

    def _place(self, i: Any) -> int:
        place = self.at + int(i)
        if not 0 <= place < self.array.size:
            raise IndexError(f"element {place} of a buffer of {self.array.size}")
        return place

    def __getitem__(self, i: Any) -> Any:
        return self.array[self._place(i)]

    def __setitem__(self, i: Any, value: Any) -> None:
        self.array[self._place(i)] = value


def run_plan(plan: Plan, arrays: Sequence[np.ndarray], store: MutableMapping[Cell, np.ndarray]) -> list[np.ndarray]:
    """The results of a plan; see `Plan.run_unjitted`."""
    plan.bind(store)
    plan.read_numbers()
    arrays = plan.stage(arrays)
    at, kernel = 0, None
    while at < len(plan.instructions):
        instruction = plan.instructions[at]
        if instruction.kind == "shards":  # one after the other: they follow the instruction that jumps over them
            at += 2
            continue
        if 0 < instruction.control < START:
            at = next_instruction(instruction, at)
            continue
        if instruction.kind == "host":
            plan.call_host(instruction, arrays)
        elif instruction.kind in ("kernel", "fold"):
            kernel = instruction.kernel if instruction.kernel is not None else kernel  # a fold ends the kernel before it
            assert kernel is not None
            buffers = pointers(instruction.buffers, arrays)
            functions = {name: _scalar(node.op) for node in instruction.nodes if (name := _by_user(node))}
            run_unjitted(kernel, buffers, instruction.sizes, instruction.start, instruction.stop, functions)
        else:
            plan.run_one(at)
        at += 1
    return [buffer.array(arrays).copy() for buffer in plan.fetches]


def _by_user(node: Node) -> str:
    """The function of the user's by which kernels compute a node; "" for other nodes."""
    emit = node.op.emit
    return str(emit.scalar) if isinstance(emit, Pointwise) and emit.code else ""


def run_unjitted(
    kernel: Kernel, buffers: Sequence[Any], sizes: Sequence[int], start: int, stop: int,
    functions: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
) -> None:  # fmt: skip
    """Run rows [start, stop) of a kernel. `buffers`: flat arrays or Pointers, of the dtypes that it reads. functions: those of
    the user's, by their names in kernels."""
    source = PYTHON.kernel(kernel)
    names = {**vocabulary(), **functions}
    file = f"<{kernel.name} {zlib.crc32(source.encode()):08x}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file  # for the debugger
    exec(compile(source, file, "exec"), names)
    pointers = [b if isinstance(b, Pointer) else Pointer(b) for b in buffers]
    with np.errstate(all="ignore"):
        names[kernel.name](pointers, list(sizes), start, stop)


def pointers(buffers: Sequence[tuple[Any, int]], arrays: Sequence[np.ndarray]) -> list[Pointer]:
    """Buffers of an instruction, (buffer, bytes to add) each, for `run_unjitted`; `arrays` are the plan's feeds."""
    result = []
    for buffer, add in buffers:
        memory = memory_of(buffer, arrays)
        result.append(Pointer(memory.reshape(-1), add // memory.itemsize))
    return result


def next_instruction(instruction: Instruction, at: int) -> int:
    """Run a control-flow instruction in Python (see `runtime/control_instructions.py`). Returns the number of the next one."""
    words = instruction.size_array
    if instruction.control == GO:
        return int(words[0])
    if instruction.control == UNLESS:
        return at + 1 if ctypes.c_uint8.from_address(int(instruction.pointers[0])).value else int(words[0])
    if instruction.control == ENTER and words[COUNT // 8] >= 0:
        words[N // 8] = ctypes.c_int64.from_address(int(instruction.pointers[words[COUNT // 8]])).value
    t, n = 0 if instruction.control == ENTER else int(words[T // 8]) + 1, int(words[N // 8])
    words[T // 8] = t
    _grow(instruction, t + 1 if n < 0 else n)
    if t == n:
        return int(words[EXIT // 8])
    place = n - 1 - t if words[REVERSE // 8] else t
    for target, buffer, step, add in _entries(words, MOVES):
        ctypes.c_int64.from_address(target).value = int(instruction.pointers[buffer]) + place * step + add
    return int(words[HEAD // 8])


def _grow(instruction: Instruction, places: int) -> None:
    realloc = ctypes.CDLL(None).realloc
    realloc.restype, realloc.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_size_t)
    for buffer, place, step, fills in _entries(instruction.size_array, GROWING):
        address, capacity = (ctypes.c_int64 * 2).from_address(place)
        if fills and places * step > capacity:
            address, capacity = realloc(address, places * step), places * step
            (ctypes.c_int64 * 2).from_address(place)[:] = [address, capacity]
        instruction.pointers[buffer] = address


def _entries(words: np.ndarray, at: int) -> list[list[int]]:
    n, address = words[at // 8 : at // 8 + 2].tolist()
    return np.array((ctypes.c_int64 * (4 * n)).from_address(address)).reshape(n, 4).tolist() if n else []


def vocabulary() -> dict[str, Any]:
    """The names that a kernel's text uses: scalar operations have the NumPy meaning of their records."""
    names: dict[str, Any] = {"np": np, "kernel": lambda fn: fn, **SCALARS, **DRAWS}
    for dtype in SHORT:
        names[f"{SHORT[dtype]}_at"] = _reader(dtype)
        names[SHORT[dtype]] = Number(dtype)
    return names


def _reader(dtype: np.dtype) -> Callable[[Sequence[Pointer], int], Pointer]:
    def read(buffers: Sequence[Pointer], i: int) -> Pointer:
        pointer = buffers[i]
        if pointer.array.dtype != dtype:
            raise TypeError(f"buffer {i} holds {pointer.array.dtype}, the kernel reads {dtype}")
        return pointer

    return read


class Number:
    """A cast as machine code does it: integers wrap around."""

    def __init__(self, dtype: np.dtype):
        self.dtype = dtype

    def __call__(self, x: Any) -> Any:
        return np.asarray(x).astype(self.dtype)[()]


def _scalar(op: OpDef) -> Callable[..., Any]:
    """The NumPy meaning of an elementwise op, of single numbers."""
    return lambda *operands: np.asarray(op.eval(*map(np.asarray, operands)))[()]


def _fma(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once."""
    exact = all(map(np.isfinite, (x, y, z)))
    return z.dtype.type(float(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)))) if exact else x * y + z


SCALARS: dict[str, Callable[..., Any]] = {"fma": _fma} | {
    op.emit.scalar: _scalar(op)
    for op in REGISTRY.values()
    if isinstance(op.emit, Pointwise) and isinstance(op.emit.scalar, str) and not op.attrs
}


def _draws(op: OpDef) -> Callable[..., Any]:
    """One element of a draw. The elements before it come with it, so they are kept for the next call."""

    @cache
    def first(seed: int, draw: int, n: int, dtype: np.dtype) -> np.ndarray:
        return np.asarray(op.eval(np.array([seed, draw]), shape=(n,), dtype=dtype, index=0))

    def drawn(seed: int, draw: int, element: int, number: Number) -> Any:
        return first(int(seed), int(draw), 1 << int(element).bit_length(), number.dtype)[int(element)]

    return drawn


def _seed(seed: int, draw: int, element: int, number: Number) -> Any:
    return stream_op.eval(np.array([seed, draw]), index=0)[int(element)]


DRAWS: dict[str, Callable[..., Any]] = {"uniform": _draws(uniform_op), "normal": _draws(normal_op), "uniform_seed": _seed}


# `detect_anomaly` for plans: a run that ends in NaN is replayed in NumPy, which names the operation -------------------

# Nothing is watched while a plan runs: its results and the variables that it wrote are looked at afterwards.

UNCHANGED = "nothing was changed by this run"
SHOWN = 4
"""Operands and results that an error describes."""


def run_watched(plan: Plan, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """`Plan.execute`, on bound state. Raises AnomalyError where a result or a variable is NaN afterwards; the variables have
    their former values then, and random numbers are given back."""
    before = [(plan.bound[cell], plan.bound[cell].copy()) for cell in plan.written]
    results = plan.execute(arrays)
    if not any(map(has_nan, results)) and not any(has_nan(array) for array, _ in before):
        return results
    for array, value in before:
        array[...] = value
    error = first_nan(plan, arrays)
    plan.give_back()
    raise error


def has_nan(value: Any) -> bool:
    """Whether an array, or one of several, has a NaN."""
    if isinstance(value, tuple):
        return any(map(has_nan, value))
    array = np.asarray(value)
    return array.dtype.kind in INEXACT and bool(np.isnan(array).any())


def first_nan(plan: Plan, arrays: Sequence[np.ndarray]) -> AnomalyError:
    """The error that names the operation from which the NaN of a run came, found by a replay in NumPy."""
    ends = [*plan.builder.fetched_nodes, *(value for _, value in plan.assigns)]
    values = replay(plan, arrays)
    bad = [node for node in dict.fromkeys(ends) if has_nan(values[node])]
    if not bad:
        return AnomalyError(
            "the compiled step returned nan values, and NumPy's replay of it did not",
            "this is a defect of the compiler, or an overflow that another order of operations avoids",
            UNCHANGED,
        )
    position = {node: i for i, node in enumerate(plan.ir.nodes)}
    guilty = min((_source(node, values) for node in bad), key=lambda node: position[node])
    reached = _reached(plan, bad)
    inner = _inside(guilty, values)
    if inner is not None:
        node, found, evaluations = inner
        place = f"in evaluation {evaluations} of the bodies of {_name(guilty)}" + (
            f" at {guilty.where}" if guilty.where else ""
        )
        return AnomalyError(_summary(node), *_operands(node, found), place, *reached, where=node.where or guilty.where)
    first = _infinite(guilty, values, plan)
    return AnomalyError(_summary(guilty), *_operands(guilty, values), *first, *reached, where=guilty.where)


def _source(node: Node, values: dict[Node, Any]) -> Node:
    """The operation from which a NaN came: no operand of it is NaN."""
    while True:
        above = next((operand for operand in node.inputs if has_nan(values[operand])), None)
        if above is None:
            return node
        node = above


def _summary(node: Node) -> str:
    if node.op.leaf:
        return f"{_name(node)} holds nan values before the compiled step"
    return f"{_name(node)} returned nan values, as the first operation of the compiled step"


class _Found(Exception):
    """The first NaN in a body, and the values so far."""

    def __init__(self, node: Node, values: dict[Node, Any]):
        self.node, self.values = node, values


def replay(plan: Plan, arrays: Sequence[np.ndarray]) -> dict[Node, Any]:
    """The values of all nodes of a plan on bound state, by NumPy. Raises the operations' errors, with the user's lines."""
    ends = [*plan.builder.fetched_nodes, *(value for _, value in plan.assigns)]
    fed = dict(zip(plan.feeds, arrays, strict=True))
    return interpret(plan.ir, ends, fed, lambda leaf: _leaf_value(plan, leaf), [UNCHANGED])


def _leaf_value(plan: Plan, leaf: Node) -> Any:
    """The value of a leaf of a plan on bound state."""
    builder, kind = plan.builder, leaf.op.leaf
    if kind == "variable":
        return plan.bound[leaf.attrs["cell"]]
    if kind == "argument":
        return np.asarray(builder.argument_values[builder.argument_index[leaf]], leaf.type.dtype)
    if kind == "generator":
        return builder.generator_state.copy()
    return leaf.op.eval(**leaf.attrs)


def _inside(node: Node, values: dict[Node, Any]) -> tuple[Node, dict[Node, Any], int] | None:
    """The operation in the bodies of a loop or branch that made the first NaN, the values around it, and which evaluation of a
    body it was; None for another operation."""
    if not any(isinstance(value, Subgraph) for value in node.attrs.values()):
        return None
    evaluations = 0

    def look() -> None:
        nonlocal evaluations
        evaluations += 1

    def seen(inner: Node, known: dict[Node, Any]) -> None:
        if has_nan(known[inner]) and not any(has_nan(known[operand]) for operand in inner.inputs):
            raise _Found(inner, known)

    try:
        with np.errstate(all="ignore"), watched(look, seen):
            node.op.eval(*[values[operand] for operand in node.inputs], **node.attrs)
    except _Found as found:
        deeper = _inside(found.node, found.values)
        return (found.node, found.values, evaluations) if deeper is None else (*deeper[:2], evaluations)
    return None


def _operands(node: Node, values: dict[Node, Any]) -> Iterator[str]:
    for i, operand in enumerate(node.inputs[:SHOWN]):
        yield f"operand {i}, {_name(operand)}: {_range(values[operand])}"
    yield f"{'value' if node.op.leaf else 'result'}: {_range(values[node])}"


def _infinite(node: Node, values: dict[Node, Any], plan: Plan) -> Iterator[str]:
    infinite = next((n for n in plan.ir.nodes if n in values and not n.op.leaf and _has_inf(values[n])), None)
    if infinite is not None and infinite is not node:
        yield f"infinity came first, from {_name(infinite)}" + (f" at {infinite.where}" if infinite.where is not None else "")


def _reached(plan: Plan, bad: Sequence[Node]) -> Iterator[str]:
    cells = [cell.name or "a variable" for cell, value in plan.assigns if value in bad]
    if cells:
        more = f" and {len(cells) - SHOWN} more" if len(cells) > SHOWN else ""
        yield f"it reached {', '.join(cells[:SHOWN])}{more}"
    yield UNCHANGED


def _name(node: Node) -> str:
    return f'{node.op.name} "{node.name}"' if node.name else node.op.name


def _has_inf(value: Any) -> bool:
    array = np.asarray(value) if not isinstance(value, tuple) else np.empty(0)
    return array.dtype.kind in INEXACT and bool(np.isinf(array).any())


def _range(value: Any) -> str:
    """Shape, range, and the count of NaN and infinite elements."""
    if isinstance(value, tuple):
        return f"{len(value)} values"
    array = np.asarray(value)
    shape = f"{array.dtype}{list(array.shape)}"
    if array.dtype.kind not in FLOATING or not array.size:
        return f"{shape} from {array.min()} to {array.max()}" if array.size and array.dtype.kind in "iub" else shape
    known = array[np.isfinite(array)].astype(np.float64)
    text = f"{shape} from {known.min():.6g} to {known.max():.6g}" if known.size else f"{shape} without a finite element"
    for what, where in (("nan", np.isnan(array)), ("inf", np.isinf(array))):
        if where.any():
            first = tuple(int(i) for i in np.argwhere(where)[0])
            text += f", {int(where.sum())} of {array.size} {what}" + (f", the first at {first}" if first else "")
    return text
